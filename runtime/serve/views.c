// GET /views/NAME: arguments from the query string, the value as JSON, or a stream of values.
#include <stdio.h>

#include "runtime/base/mem.h"
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

// ---- a view on its way ------------------------------------------------------------------------------

static Reading *take_reading(Serve *serve) {
  Reading *reading = serve->idle_readings;
  if (reading) {
    serve->idle_readings = reading->next;
    return reading;
  }
  reading = mem_alloc_zero(1, sizeof *reading);
  if (!reading) return NULL;
  reading->held = (Held){serve, HELD_VIEW};
  arena_init(&reading->arena, 0);
  return reading;
}

// One is kept: most views are answered before the next is asked for.
static void give_back(Reading *reading) {
  Serve *serve = reading->held.serve;
  reading->conn = NULL;
  if (serve->idle_readings) {
    arena_free(&reading->arena);
    mem_free(reading);
    return;
  }
  arena_reset(&reading->arena);
  reading->next = NULL;
  serve->idle_readings = reading;
}

void serve__free_readings(Serve *serve) {
  for (Reading *reading; (reading = serve->idle_readings);) {
    serve->idle_readings = reading->next;
    arena_free(&reading->arena);
    mem_free(reading);
  }
}

// Its value is still to come; whoever asked will not hear it.
void serve__view_closed(Reading *reading) { reading->conn = NULL; }

static void answer_outcome(Conn *conn, const Reading *reading) {
  const AppOutcome *outcome = &reading->view.outcome;
  if (outcome->kind != APP_DONE || !outcome->body.len) {
    serve__answer_outcome(conn, outcome);
    return;
  }
  char commit[48];
  int len = snprintf(commit, sizeof commit, "Aup-Commit: %llu\r\n", (unsigned long long)outcome->commit);
  serve__answer_body(conn, &reading->wanted, STR("application/json"), (Str){commit, (size_t)len}, outcome->body);
}

static void answered(AppView *view) {
  Reading *reading = view->context;
  Conn *conn = reading->conn;
  reading->held.serve->in_hand--;
  if (conn) conn_set_user(conn, NULL);
  if (conn) answer_outcome(conn, reading);
  give_back(reading);
}

static void answer_value(Serve *serve, Reading *reading, uint16_t entry, const Args *args) {
  Conn *conn = reading->conn;
  reading->view = (AppView){.entry = entry, .given = args->given, .args = args->values, .caller = serve__caller(), .arena = &reading->arena,
                            .answered = answered, .context = reading};
  conn_set_user(conn, &reading->held);
  serve->in_hand++;
  Err err = app_view_start(serve->app, &reading->view);
  if (err == ERR_NONE) return;
  serve->in_hand--;
  conn_set_user(conn, NULL);
  give_back(reading);
  if (err == ERR_LIMIT) serve__note_refused(serve, BUDGET_QUEUE);
  if (err == ERR_LIMIT) serve__problem_with(conn, 503, "busy", "too many views wait already (--app-queue); try again soon", STR("Retry-After: 1\r\n"));
  else serve_problem(conn, 503, "unavailable", "no memory for this request");
}

// ---- requests -----------------------------------------------------------------------------------------

// False: answered, and the reading is the caller's again.
static bool answer(Serve *serve, Reading *reading, const HttpRequest *request, Str encoded_name) {
  const Module *module = app_module(serve->app);
  Arena *arena = &reading->arena;
  Conn *conn = reading->conn;
  ValueProblems problems = {.arena = arena};
  Str name;
  int entry = http_decode(encoded_name, false, arena, &name) == ERR_NONE ? module_find_entry(module, ENTRY_VIEW, name) : -1;
  if (entry < 0) {
    serve_problem(conn, 404, "not_found", "there is no such view; see GET /app");
    return false;
  }
  ArgPair *pairs;
  uint32_t count;
  Args args;
  Err err = serve__read_pairs(request->query, arena, &problems, &pairs, &count);
  if (err == ERR_NONE) err = args_read_pairs(module, &module->entries[entry], pairs, count, &problems, &args);
  if (err == ERR_NONE && !wants_stream(request)) {
    if (!serve__read_wanted(conn, request, STR("application/json"), &reading->wanted)) return false;
    reading->wanted.none_match = arena_copy(arena, reading->wanted.none_match);
    answer_value(serve, reading, (uint16_t)entry, &args);
    return true;
  }
  if (err == ERR_FORMAT) serve__answer_problems(conn, &problems);
  else if (err != ERR_NONE) serve_problem(conn, 503, "unavailable", "no memory for this request");
  else serve__stream(serve, conn, (uint16_t)entry, pairs, count, &args);
  return false;
}

void serve__view(Serve *serve, Conn *conn, const HttpRequest *request, Str encoded_name) {
  Reading *reading = take_reading(serve);
  if (!reading) {
    serve_problem(conn, 503, "unavailable", "no memory for this request");
    return;
  }
  reading->conn = conn;
  if (!answer(serve, reading, request, encoded_name)) give_back(reading);
}
