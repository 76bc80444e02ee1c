// GET /views/NAME: arguments from the query string, the value as JSON, or a stream of values.
#include "runtime/serve/serve_internal.h"

static Err read_pair(Str raw_name, Str raw_value, Arena *arena, ValueProblems *problems, ArgPair *out) {
  Str name, value;
  Err err = http_decode(raw_name, true, arena, &name);
  if (err == ERR_NONE) err = http_decode(raw_value, true, arena, &value);
  if (err == ERR_FORMAT) value_problem_add(problems, (Str){0}, "the query has a broken %% escape or is not UTF-8");
  if (err != ERR_NONE) return err;
  *out = (ArgPair){arena_copy(arena, name), arena_copy(arena, value)};
  return out->name.ptr && out->value.ptr ? ERR_NONE : ERR_MEMORY;
}

Err serve__read_pairs(Str query, Arena *arena, ValueProblems *problems, ArgPair **out_pairs, uint32_t *out_count) {
  *out_count = 0;
  *out_pairs = NULL;
  if (!query.len) return ERR_NONE;
  *out_pairs = ARENA_ARRAY(arena, ArgPair, SERVE_QUERY_PAIRS_MAX);
  if (!*out_pairs) return ERR_MEMORY;
  for (Str rest = query, name, value; http_query_next(&rest, &name, &value);) {
    if (*out_count == SERVE_QUERY_PAIRS_MAX) {
      value_problem_add(problems, (Str){0}, "the query has more than %d arguments", SERVE_QUERY_PAIRS_MAX);
      return ERR_FORMAT;
    }
    TRY(read_pair(name, value, arena, problems, &(*out_pairs)[(*out_count)++]));
  }
  return ERR_NONE;
}

static bool wants_stream(const HttpRequest *request) {
  Str accept;
  if (!http_field(request, STR("accept"), &accept)) return false;
  for (Str one; http_list_next(&accept, &one);) {
    const char *semicolon = memchr(one.ptr, ';', one.len);
    if (semicolon) one.len = (size_t)(semicolon - one.ptr);
    if (http_name_equal(one, STR("text/event-stream"))) return true;
  }
  return false;
}

static void answer_value(Serve *serve, Conn *conn, uint16_t entry, const Args *args, Arena *arena) {
  AppView view = {.entry = entry, .given = args->given, .args = args->values, .caller = serve__caller(), .arena = arena};
  app_view(serve->app, &view);
  serve__answer_outcome(conn, &view.outcome);
}

static void answer(Serve *serve, Conn *conn, const HttpRequest *request, Str encoded_name, Arena *arena) {
  const Module *module = app_module(serve->app);
  ValueProblems problems = {.arena = arena};
  Str name;
  int entry = http_decode(encoded_name, false, arena, &name) == ERR_NONE ? module_find_entry(module, ENTRY_VIEW, name) : -1;
  if (entry < 0) {
    serve_problem(conn, 404, "not_found", "there is no such view; see GET /app");
    return;
  }
  ArgPair *pairs;
  uint32_t count;
  Args args;
  Err err = serve__read_pairs(request->query, arena, &problems, &pairs, &count);
  if (err == ERR_NONE) err = args_read_pairs(module, &module->entries[entry], pairs, count, &problems, &args);
  if (err == ERR_FORMAT) serve__answer_problems(conn, &problems);
  else if (err != ERR_NONE) serve_problem(conn, 503, "unavailable", "no memory for this request");
  else if (wants_stream(request)) serve__stream(serve, conn, (uint16_t)entry, pairs, count, &args);
  else answer_value(serve, conn, (uint16_t)entry, &args, arena);
}

void serve__view(Serve *serve, Conn *conn, const HttpRequest *request, Str encoded_name) {
  Arena arena;
  arena_init(&arena, 0);
  answer(serve, conn, request, encoded_name, &arena);
  arena_free(&arena);
}
