// POST /inputs/NAME: the body becomes typed arguments here, on the connection's own turn, so that the app's owner is
// never handed anything unsound. The request then waits in a Pending until the app has saved it.
#include "runtime/base/mem.h"
#include "runtime/serve/serve_internal.h"

static Pending *take_pending(Serve *serve) {
  Pending *pending = serve->idle;
  if (pending) {
    serve->idle = pending->next;
    return pending;
  }
  pending = mem_alloc_zero(1, sizeof *pending);
  if (!pending) return NULL;
  pending->held.serve = serve;
  arena_init(&pending->arena, 0);
  return pending;
}

static void give_back(Pending *pending) {
  Serve *serve = pending->held.serve;
  if (pending->conn) conn_set_user(pending->conn, NULL);
  pending->conn = NULL;
  arena_reset(&pending->arena);
  pending->next = serve->idle;
  serve->idle = pending;
}

// The answer is still to come; whoever asked will not hear it.
void serve__input_closed(Pending *pending) { pending->conn = NULL; }

static void answered(AppInput *input) {
  Pending *pending = input->context;
  Conn *conn = pending->conn;
  pending->held.serve->in_hand--;
  if (conn) conn_set_user(conn, NULL);
  if (conn) serve__answer_outcome(conn, &input->outcome);
  pending->conn = NULL;
  give_back(pending);
}

static bool is_json(const HttpRequest *request) {
  Str type;
  if (!http_field(request, STR("content-type"), &type)) return false;
  const char *semicolon = memchr(type.ptr, ';', type.len);
  if (semicolon) type.len = (size_t)(semicolon - type.ptr);
  while (type.len && (type.ptr[type.len - 1] == ' ' || type.ptr[type.len - 1] == '\t')) type.len--;
  return http_name_equal(type, STR("application/json"));
}

static void submit(Serve *serve, Conn *conn, Pending *pending, int entry, const Args *args) {
  pending->conn = conn;
  pending->input = (AppInput){.entry = (uint16_t)entry, .given = args->given, .args = args->values, .caller = serve__caller(),
                              .arena = &pending->arena, .answered = answered, .context = pending};
  conn_set_user(conn, &pending->held);
  serve->in_hand++;
  if (app_submit(serve->app, &pending->input) == ERR_NONE) {
    serve->wants_turn = true;
    return;
  }
  serve->in_hand--;
  give_back(pending);
  serve__note_refused(serve, BUDGET_QUEUE);
  serve__problem_with(conn, 503, "busy", "too many inputs wait already (--app-queue); try again soon", STR("Retry-After: 1\r\n"));
}

void serve__input(Serve *serve, Conn *conn, const HttpRequest *request, Str encoded_name) {
  if (!is_json(request)) {
    serve_problem(conn, 415, "content_type", "send the arguments as a JSON object with Content-Type: application/json");
    return;
  }
  Pending *pending = take_pending(serve);
  if (!pending) {
    serve_problem(conn, 503, "unavailable", "no memory for this request");
    return;
  }
  const Module *module = app_module(serve->app);
  Str name, body = arena_copy(&pending->arena, request->body);  // the request's own bytes go when this returns
  ValueProblems problems = {.arena = &pending->arena};
  Args args;
  int entry = http_decode(encoded_name, false, &pending->arena, &name) == ERR_NONE ? module_find_entry(module, ENTRY_INPUT, name) : -1;
  Err err = entry < 0 || !body.ptr ? ERR_NOT_FOUND : args_read_json(module, &module->entries[entry], body, &problems, &args);
  if (err == ERR_NONE) {
    submit(serve, conn, pending, entry, &args);
    return;
  }
  if (entry < 0) serve_problem(conn, 404, "not_found", "there is no such input; see GET /app");
  else if (err == ERR_FORMAT) serve__answer_problems(conn, &problems);
  else serve_problem(conn, 503, "unavailable", "no memory for this request");
  give_back(pending);
}
