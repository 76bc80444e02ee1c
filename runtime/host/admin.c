// The administrator's API. A change of an app is a Call that travels: from the control to the app's home worker, maybe to the
// helper and back, and to the control again, where the list is written (by the helper) before the answer leaves. One call an
// app at a time; another one meanwhile is refused.
//
//   GET    /_host/apps              the apps and how they are          GET  /_host/apps/NAME       one of them
//   PUT    /_host/apps/NAME         installs or replaces; the body is a module
//   DELETE /_host/apps/NAME         takes it off the list; its data stays on disk
//   POST   /_host/apps/NAME/stop    …/start                            GET  /_host/apps/NAME/logs  its last log lines
#include <stdio.h>

#include "runtime/base/json.h"
#include "runtime/base/mem.h"
#include "runtime/host/host_inner.h"
#include "runtime/net/http_uri.h"

typedef enum CallKind { CALL_PUT, CALL_START, CALL_STOP, CALL_REMOVE } CallKind;

struct Call {
  Message message;
  CallKind kind;
  Conn *conn;              // the control's; NULL: who asked has gone
  HostApp *app;            // held
  Str module;              // owned
  Buf list;                // what the helper writes
  Err err;
  ErrText text;
  bool is_new;
  Call *next;              // of host->calls
};

Str admin__module_of(const Call *call) { return call->kind == CALL_PUT ? call->module : (Str){0}; }

bool admin__forget(Worker *control, const Conn *conn) {
  for (Call *call = control->host->calls; call; call = call->next) {
    if (call->conn != conn) continue;
    call->conn = NULL;
    return true;
  }
  return false;
}

static void free_call(Call *call) {
  Host *host = call->app->host;
  for (Call **link = &host->calls; *link; link = &(*link)->next) {
    if (*link != call) continue;
    *link = call->next;
    break;
  }
  call->app->has_call = false;
  apps__drop(call->app);
  buf_free(&call->list);
  mem_free((char *)call->module.ptr);
  mem_free(call);
}

// ---- answers --------------------------------------------------------------------------------------------

static const char *state_word(const HostApp *app) {
  switch ((AppState)atomic_load_explicit(&app->state, memory_order_relaxed)) {
    case APP_ASLEEP: return "asleep";
    case APP_OPENING: return "opening";
    case APP_AWAKE: return "awake";
    case APP_STOPPED: return "stopped";
    case APP_FAILED: return "failed";
  }
  return "?";
}

static void write_app(const HostApp *app, JsonWriter *w) {
  json_write_object(w);
  json_write_key(w, STR("name"));
  json_write_text(w, app__name(app));
  json_write_key(w, STR("state"));
  json_write_text(w, str_from(state_word(app)));
  json_write_key(w, STR("worker"));
  json_write_int(w, app->home->index);
  json_write_object_end(w);
}

static void answer_json(Conn *conn, uint16_t status, Buf *body) {
  if (body->failed) serve_problem(conn, 503, "unavailable", "no memory for this request");
  else conn_respond(conn, &(ConnAnswer){.status = status, .content_type = STR("application/json"), .headers = STR("Cache-Control: no-store\r\n"), .body = buf_str(body)});
  buf_free(body);
}

static void answer_app(Conn *conn, uint16_t status, const HostApp *app) {
  Buf body;
  buf_init(&body, 0);
  JsonWriter w = json_writer(&body);
  write_app(app, &w);
  answer_json(conn, status, &body);
}

static void answer_list(const Host *host, Conn *conn) {
  Buf body;
  buf_init(&body, 0);
  JsonWriter w = json_writer(&body);
  json_write_object(&w);
  json_write_key(&w, STR("apps"));
  json_write_array(&w);
  for (uint32_t i = 0; i < host->app_count; i++) {
    if (host->apps[i]->is_listed) write_app(host->apps[i], &w);
  }
  json_write_array_end(&w);
  json_write_object_end(&w);
  answer_json(conn, 200, &body);
}

static void answer_logs(Host *host, Conn *conn, Str name) {
  Buf body;
  buf_init(&body, 0);
  logs__write(host, name, &body);
  conn_respond(conn, &(ConnAnswer){.status = 200, .content_type = STR("text/plain; charset=utf-8"), .headers = STR("Cache-Control: no-store\r\n"), .body = buf_str(&body)});
  buf_free(&body);
}

static void answer_error(Conn *conn, Err err, const char *text) {
  if (err == ERR_FORMAT || err == ERR_VERSION) serve_problem(conn, 422, "bad_module", text);
  else if (err == ERR_REFUSED) serve_problem(conn, 409, "refused", text);
  else if (err == ERR_FULL) serve_problem(conn, 507, "no_space", text);
  else serve_problem(conn, 503, "unavailable", text);
}

// ---- the way of a call ------------------------------------------------------------------------------------

static void answer_call(Call *call) {
  Conn *conn = call->conn;
  call->conn = NULL;
  if (!conn) return;
  if (call->err != ERR_NONE) answer_error(conn, call->err, call->text.text);
  else if (call->kind == CALL_REMOVE) conn_respond(conn, &(ConnAnswer){.status = 204});
  else answer_app(conn, call->is_new ? 201 : 200, call->app);
}

// At the control, the list is written: the end.
static void written(Worker *control, Message *message) {
  Call *call = (Call *)message;
  (void)control;
  answer_call(call);
  free_call(call);
}

static void write_list(Worker *none, Message *message) {
  Call *call = (Call *)message;
  (void)none;
  call->err = registry__write(call->app->host, buf_str(&call->list), &call->text);
  call->message.run = written;
  worker__send(&call->app->host->workers[0], &call->message);
}

static void say_done(const Call *call) {
  static const char *const WORDS[] = {[CALL_PUT] = "deployed", [CALL_START] = "started", [CALL_STOP] = "stopped", [CALL_REMOVE] = "removed"};
  if (call->err == ERR_NONE) LOG_EVENT(&call->app->log, LOG_INFO, "an app was changed", LOG_TEXT("app", app__name(call->app)), LOG_TEXT("how", str_from(WORDS[call->kind])));
}

// At the control, the home has done its part.
static void done_at_control(Worker *control, Message *message) {
  Call *call = (Call *)message;
  Host *host = control->host;
  HostApp *app = call->app;
  bool was_listed = app->is_listed;
  if (call->err == ERR_NONE) app->is_listed = call->kind != CALL_REMOVE;
  if (!app->is_listed) host__remove(host, app);
  say_done(call);
  if (call->err == ERR_NONE && was_listed != app->is_listed) call->err = directory__publish(host);
  if (call->err != ERR_NONE) {
    written(control, message);
    return;
  }
  registry__content(host, &call->list);
  call->message.run = write_list;
  helper__ask(host, &call->message);
}

void admin__call_done(HostApp *app, Call *call, Err err, const ErrText *text) {
  call->err = err;
  if (err != ERR_NONE) call->text = *text;
  call->message.run = done_at_control;
  worker__send(&app->host->workers[0], &call->message);
}

static void swap_at_home(HostApp *app, Call *call) {
  ErrText text = {""};
  Err err = app_swap(app->app, call->module, &text);
  if (err == ERR_NONE) serve_swapped(app->serve);
  admin__call_done(app, call, err, &text);
}

static void stop_at_home(HostApp *app, Call *call) {
  ErrText text = {""};
  Err err = apps__close(app, &text);
  loop_timer_stop(app->home->loop, &app->due);
  atomic_store(&app->state, APP_STOPPED);
  if (err != ERR_NONE) log_say(&app->log, LOG_WARN, "%s: %s", app->name, text.text);  // it is stopped all the same
  admin__call_done(app, call, ERR_NONE, &text);
}

void admin__call_at_home(HostApp *app, Call *call) {
  AppState state = (AppState)atomic_load(&app->state);
  if (state == APP_OPENING) app->call = call;  // settle() comes back
  else if (call->kind == CALL_STOP || call->kind == CALL_REMOVE) stop_at_home(app, call);
  else if (call->kind == CALL_PUT && state == APP_AWAKE) swap_at_home(app, call);
  else if (call->kind == CALL_START && (state == APP_AWAKE || state == APP_ASLEEP)) admin__call_done(app, call, ERR_NONE, NULL);
  else apps__open_for(app, call);
}

static void call_arrives(Worker *home, Message *message) {
  Call *call = (Call *)message;
  (void)home;
  admin__call_at_home(call->app, call);
}

// ---- requests -----------------------------------------------------------------------------------------------

static void begin_call(Worker *control, Conn *conn, CallKind kind, HostApp *app, Str module, bool is_new) {
  Call *call = mem_alloc_zero(1, sizeof *call);
  char *copy = module.len ? mem_alloc(module.len) : NULL;
  if (!call || (module.len && !copy)) {
    mem_free(call);
    mem_free(copy);
    if (is_new) host__remove(control->host, app);
    serve_problem(conn, 503, "unavailable", "no memory for this request");
    return;
  }
  if (module.len) memcpy(copy, module.ptr, module.len);
  *call = (Call){.message = {.run = call_arrives}, .kind = kind, .conn = conn, .app = app, .module = {copy, module.len}, .is_new = is_new, .next = control->host->calls};
  buf_init(&call->list, 0);
  control->host->calls = call;
  app->has_call = true;
  apps__hold(app);
  worker__send(app->home, &call->message);
}

static HostApp *make_app(Worker *control, Conn *conn, Str name) {
  Host *host = control->host;
  ErrText text = {"an app's name has small letters, digits and underscores, begins with a letter, and is not `lock`"};
  HostApp *app = NULL;
  if (!host__name_fits(name)) {
    serve_problem(conn, 400, "bad_argument", text.text);
    return NULL;
  }
  app = apps__new(host, name);
  Err err = app ? host__add(host, app, &text) : err_say(ERR_MEMORY, &text, "no memory for an app");
  if (err == ERR_NONE) return app;
  if (app) apps__drop(app);
  serve_problem(conn, 503, "unavailable", text.text);
  return NULL;
}

static void answer_allow(Conn *conn, const char *allow) {
  Buf headers;
  buf_init(&headers, 0);
  buf_add_format(&headers, "Allow: %s\r\n", allow);
  conn_respond(conn, &(ConnAnswer){.status = 405, .headers = buf_str(&headers)});
  buf_free(&headers);
}

static void change(Worker *control, Conn *conn, CallKind kind, Str name, Str module) {
  HostApp *app = host__find(control->host, name);
  bool is_new = !app;
  if (app && app->has_call) {
    serve_problem(conn, 409, "busy", "another change of this app is under way");
    return;
  }
  if (kind == CALL_PUT && !module.len) {
    serve_problem(conn, 400, "bad_argument", "the body must be a module: the file that `aup build` makes");
    return;
  }
  if (!app && kind == CALL_PUT) app = make_app(control, conn, name);
  else if (!app) serve_problem(conn, 404, "not_found", "there is no app of that name here");
  if (app) begin_call(control, conn, kind, app, module, is_new);
}

static bool is_read(const HttpRequest *request) { return request->method == HTTP_GET || request->method == HTTP_HEAD; }

static void route_app(Worker *control, Conn *conn, const HttpRequest *request, Str name) {
  HostApp *app = host__find(control->host, name);
  if (request->method == HTTP_PUT) change(control, conn, CALL_PUT, name, request->body);
  else if (request->method == HTTP_DELETE) change(control, conn, CALL_REMOVE, name, (Str){0});
  else if (!is_read(request)) answer_allow(conn, "GET, HEAD, PUT, DELETE");
  else if (app && app->is_listed) answer_app(conn, 200, app);
  else serve_problem(conn, 404, "not_found", "there is no app of that name here");
}

static void route_verb(Worker *control, Conn *conn, const HttpRequest *request, Str name, Str verb) {
  bool stops = str_is(verb, "stop"), starts = str_is(verb, "start");
  if (str_is(verb, "logs") && is_read(request)) answer_logs(control->host, conn, name);
  else if (str_is(verb, "logs")) answer_allow(conn, "GET, HEAD");
  else if (!stops && !starts) serve_problem(conn, 404, "not_found", "there is nothing at this path; see GET /_host/apps");
  else if (request->method != HTTP_POST) answer_allow(conn, "POST");
  else change(control, conn, stops ? CALL_STOP : CALL_START, name, (Str){0});
}

// Without tokens an administrator is who sits at this machine.
static bool is_from_here(Conn *conn) {
  char peer[ADDRESS_TEXT_BYTES];
  conn_peer_text(conn, peer);
  return str_starts(str_from(peer), STR("127.")) || str_starts(str_from(peer), STR("[::1]")) || str_starts(str_from(peer), STR("[::ffff:127."));
}

bool admin__admits(Worker *control, Conn *conn, const HttpRequest *request) {
  (void)control;
  if (!serve_admits(conn, request, !is_read(request), (Str){0})) return false;
  if (is_from_here(conn)) return true;
  serve_problem(conn, 403, "forbidden", "the host is administered from the machine it runs on");
  return false;
}

void admin__request(Worker *control, Conn *conn, const HttpRequest *request, Str path) {
  Str what = {0}, name = {0}, verb = {0}, more;
  if (!admin__admits(control, conn, request)) return;
  bool has_what = http_path_next(&path, &what), has_name = has_what && http_path_next(&path, &name), has_verb = has_name && http_path_next(&path, &verb);
  if (!str_is(what, "apps") || (has_verb && http_path_next(&path, &more))) serve_problem(conn, 404, "not_found", "there is nothing at this path; see GET /_host/apps");
  else if (has_verb) route_verb(control, conn, request, name, verb);
  else if (has_name && name.len) route_app(control, conn, request, name);
  else if (is_read(request)) answer_list(control->host, conn);
  else answer_allow(conn, "GET, HEAD");
}
