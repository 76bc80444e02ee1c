// A worker: a loop, its connections, and the apps that call it home. All workers are alike; the first also accepts
// connections and is the control.
//
// A connection begins at the first worker and moves, at a request for an app that lives elsewhere, to that app's home with its
// bytes and nothing in flight; there the request is parsed, applied, batched and answered on one thread. One that asks several
// apps in turn (a proxy's) moves each time: one hand-over a request, where a message to the app and one back would be two, and
// answers are in order by themselves.
#include <assert.h>
#include <stddef.h>

#include "runtime/base/mem.h"
#include "runtime/host/host_inner.h"
#include "runtime/host/notify.h"
#include "runtime/net/http_uri.h"

enum { LOOK_EVERY_MS = 500, WAIT_MAX_US = 60000000 };  // a minute: the wall clock may be set meanwhile

// ---- messages -----------------------------------------------------------------------------------------

void worker__send(Worker *worker, Message *message) {
  Message *newest = atomic_load_explicit(&worker->inbox, memory_order_relaxed);
  do message->next = newest;
  while (!atomic_compare_exchange_weak_explicit(&worker->inbox, &newest, message, memory_order_release, memory_order_relaxed));
  loop_wake(worker->loop);
}

void worker__run_messages(Worker *worker) {
  if (!atomic_load_explicit(&worker->inbox, memory_order_relaxed)) return;
  Message *newest = atomic_exchange_explicit(&worker->inbox, NULL, memory_order_acquire), *oldest = NULL;
  for (Message *next; newest; newest = next) {
    next = newest->next;
    newest->next = oldest;
    oldest = newest;
  }
  for (Message *next; oldest; oldest = next) {
    next = oldest->next;
    oldest->run(worker, oldest);
  }
}

static void run_in_helper(Task *task) {
  Message *message = (Message *)((char *)task - offsetof(Message, task));
  message->run(NULL, message);
}

void helper__ask(Host *host, Message *message) {
  message->task = (Task){.run = run_in_helper};
  if (host->helper) task_pool_ask(host->helper, &message->task);
  else message->run(NULL, message);
}

// ---- connections --------------------------------------------------------------------------------------

typedef struct Moved { Message message; Conn *conn; } Moved;

static void take_conn(Worker *worker, Message *message) {
  Moved *moved = (Moved *)message;
  if (worker->ended) conn_discard(moved->conn);
  else conn_server_adopt(worker->server, moved->conn);
  mem_free(moved);
}

static void on_moved(void *context, Conn *conn, void *where) {
  (void)context;
  Moved *moved = mem_alloc(sizeof *moved);
  if (!moved) {
    conn_discard(conn);
    return;
  }
  *moved = (Moved){{.run = take_conn}, conn};
  worker__send(where, &moved->message);
}

static bool is_own_path(Str first) { return str_is(first, "_host"); }
// With one app the paths of an app come first, so that an app called `views` is not in its own way.
static bool is_app_path(Str first) { return str_is(first, "views") || str_is(first, "inputs") || str_is(first, "app"); }

// The app that a path is about, and the rest of the path: /NAME/views/… or, with one app, /views/… too.
static HostApp *find_app(const Worker *worker, Str path, Str *out_rest) {
  const Directory *directory = worker->directory;
  Str rest = path, first;
  *out_rest = path;
  if (!directory || !directory->count) return NULL;
  if (http_path_next(&rest, &first) && !(directory->only && is_app_path(first))) {
    HostApp *app = directory__find(directory, first);
    size_t used = 1 + first.len;
    if (app) *out_rest = used < path.len ? str_part(path, used, path.len) : STR("/");
    if (app) return app;
  }
  return directory->only;
}

// The host's own paths: below /_host all, beside it these three, exactly (so that an app of such a name has the paths below).
typedef enum HostPath { PATH_OF_APPS, PATH_ADMIN, PATH_METRICS, PATH_LIVE, PATH_READY } HostPath;

static HostPath host_path(Str path, Str *out_rest) {
  static const struct { const char *path; HostPath is; } OWN[] = {{"/metrics", PATH_METRICS}, {"/livez", PATH_LIVE}, {"/readyz", PATH_READY}};
  for (size_t i = 0; i < countof(OWN); i++) {
    if (str_is(path, OWN[i].path)) return OWN[i].is;
  }
  Str first;
  *out_rest = path;
  return http_path_next(out_rest, &first) && is_own_path(first) ? PATH_ADMIN : PATH_OF_APPS;
}

static ConnRoute route(void *context, Conn *conn, const HttpRequest *head, void **out_where) {
  Worker *worker = context;
  Str rest;
  if (host_path(head->path, &rest) != PATH_OF_APPS) {
    *out_where = &worker->host->workers[0];
    return worker->index == 0 ? CONN_HERE : CONN_ELSEWHERE;
  }
  HostApp *app = find_app(worker, head->path, &rest);
  if (!app) return CONN_HERE;
  *out_where = app->home;
  if (app->home != worker) return CONN_ELSEWHERE;
  app->used_us = loop_now_us(worker->loop);
  int state = atomic_load_explicit(&app->state, memory_order_relaxed);
  if (state == APP_ASLEEP) apps__wake(app);
  if (state != APP_ASLEEP && state != APP_OPENING) return CONN_HERE;
  apps__wait_for(app, conn);
  return CONN_WAIT;
}

static void answer_unable(const HostApp *app, Conn *conn) {
  int state = atomic_load_explicit(&app->state, memory_order_relaxed);
  if (state == APP_STOPPED) serve_problem(conn, 503, "stopped", "this app is stopped");
  else if (state == APP_FAILED && app->problem) serve_problem(conn, 503, "unavailable", app->problem->bytes);
  else serve_problem(conn, 503, "unavailable", "this app is not ready; try again");
}

static void answer_own(Worker *control, Conn *conn, const HttpRequest *request, HostPath path, Str rest) {
  bool is_read = request->method == HTTP_GET || request->method == HTTP_HEAD;
  if (path == PATH_ADMIN) admin__request(control, conn, request, rest);
  else if (!is_read) conn_respond(conn, &(ConnAnswer){.status = 405, .headers = STR("Allow: GET, HEAD\r\n")});
  else if (path == PATH_METRICS) metrics__request(control, conn, request);
  else if (path == PATH_READY) metrics__answer_ready(control, conn);
  else conn_respond(conn, &(ConnAnswer){.status = 200, .content_type = STR("text/plain"), .headers = STR("Cache-Control: no-store\r\n"), .body = STR("ok\n")});
}

static void on_request(void *context, Conn *conn, const HttpRequest *request) {
  Worker *worker = context;
  Str rest;
  conn_set_user(conn, NULL);
  if (notes__begin(worker, conn, request)) return;
  HostPath own = host_path(request->path, &rest);
  if (own != PATH_OF_APPS && worker->index == 0) {
    answer_own(worker, conn, request, own, rest);
    return;
  }
  HostApp *app = find_app(worker, request->path, &rest);
  if (!app) {
    if (serve_admits(conn, request, false, str_from(worker->host->options.origins))) serve_problem(conn, 404, "not_found", "there is no app of that name here");
  } else if (app->home == worker && atomic_load_explicit(&app->state, memory_order_relaxed) == APP_AWAKE) {
    serve_request(app->serve, conn, request, rest);
  } else {
    answer_unable(app, conn);
  }
}

static void on_close(void *context, Conn *conn) {
  Worker *worker = context;
  if (worker->index == 0 && (admin__forget(worker, conn) || metrics__forget(worker, conn))) return;
  if (worker->waiting && apps__forget_waiting(worker, conn)) return;
  serve_closed(conn);
}

// Only a module that is deployed may be larger than an input.
static uint32_t body_limit(void *context, const HttpRequest *head) {
  (void)context;
  Str rest;
  return host_path(head->path, &rest) == PATH_ADMIN ? HOST_MODULE_BYTES_MAX : SERVE_BODY_BYTES_MAX;
}

static void make_room(Worker *worker, Message *message) {
  if (!worker->ended) conn_server_make_room(worker->server);
  mem_free(message);
}

static void on_full(void *context) {
  Worker *worker = context;
  for (uint32_t i = 0; i < worker->host->worker_count; i++) {
    Worker *other = &worker->host->workers[i];
    if (other == worker || !other->is_started) continue;
    Message *message = mem_alloc_zero(1, sizeof *message);
    if (!message) return;
    message->run = make_room;
    worker__send(other, message);
  }
}

// ---- running ------------------------------------------------------------------------------------------

static void look(LoopTimer *timer) {
  Worker *worker = timer->ctx;
  apps__look(worker);
  loop_timer_start(worker->loop, timer, loop_now_us(worker->loop) + LOOK_EVERY_MS * 1000);
}

static Err turn(Worker *worker) {
  int64_t wait_us = apps__wait_us(worker);
  if (wait_us > WAIT_MAX_US) wait_us = WAIT_MAX_US;
  TRY(loop_turn(worker->loop, wait_us));
  worker__run_messages(worker);
  apps__run(worker);
  return ERR_NONE;
}

static void on_stopped(void *context) { ((Worker *)context)->stopped = true; }

void worker__stop(Worker *worker, bool at_once) {
  if (worker->stopped || worker->ended) return;
  worker->stopping = true;
  loop_timer_stop(worker->loop, &worker->look);
  conn_server_stop(worker->server, at_once ? 0 : HOST_DRAIN_MS, on_stopped, worker);
}

// The signals that stop a host only wake worker 0, which tells the others.
static void check_stop(Worker *control) {
  Host *host = control->host;
  int stops = atomic_load(&host->stops);
  if (stops == host->stops_seen) return;
  bool at_once = stops > 1;
  host->stops_seen = stops;
  notify_manager("STOPPING=1");
  worker__stop(control, at_once);
  for (uint32_t i = 1; i < host->worker_count; i++) {
    if (host->workers[i].has_thread) loop_wake(host->workers[i].loop);
  }
}

static void follow_stop(Worker *worker) {
  int stops = atomic_load(&worker->host->stops);
  if (stops > 0 && !worker->stopping) worker__stop(worker, false);
  if (stops > 1) worker__stop(worker, true);
}

Err worker__run(Worker *worker) {
  while (!worker->stopped) {
    Err err = turn(worker);
    if (err != ERR_NONE) return err;
    if (worker->index == 0) check_stop(worker);
    else follow_stop(worker);
  }
  return ERR_NONE;
}

static void *run_thread(void *context) {
  Worker *worker = context;
  worker->err = worker__run(worker);
  if (worker->err != ERR_NONE) {
    log_say(&worker->host->log, LOG_ERROR, "the event loop of a worker failed: %s", err_words(worker->err));
    host_stop(worker->host);
  }
  return NULL;
}

static Err open_loop(Worker *worker, ErrText *out_text) {
  Host *host = worker->host;
  TRY(loop_new(host->options.loop, clock_system(), &worker->loop, out_text));
  ConnSettings settings = conn_settings_default();
  settings.server_timing = host->options.server_timing;
  if (host->options.connections_max) settings.connections_max = host->options.connections_max;
  settings.body_bytes_max = HOST_MODULE_BYTES_MAX;
  settings.log = &host->log;
  settings.open_shared = &host->connections;
  ConnEvents events = {.ctx = worker, .route = route, .on_moved = on_moved, .on_full = on_full, .on_request = on_request,
                       .on_close = on_close, .on_answered = notes__answered, .body_limit = body_limit, .write_refusal = serve_write_refusal};
  Err err = conn_server_new(worker->loop, &settings, &events, &worker->server);
  if (err != ERR_NONE) return err_say(err, out_text, "no memory for connections");
  loop_timer_init(&worker->look, look, worker);
  if (host->options.sleep_after_s != UINT32_MAX) loop_timer_start(worker->loop, &worker->look, loop_now_us(worker->loop) + LOOK_EVERY_MS * 1000);
  return ERR_NONE;
}

Err worker__start(Worker *worker, ErrText *out_text) {
  if (!worker->is_started) TRY(open_loop(worker, out_text));
  worker->is_started = true;
  if (worker->index == 0 || worker->has_thread || !worker->host->is_listening) return ERR_NONE;
  worker->has_thread = pthread_create(&worker->thread, NULL, run_thread, worker) == 0;
  return worker->has_thread ? ERR_NONE : err_say(ERR_LIMIT, out_text, "cannot start a thread for another worker");
}

// Connections that a failed loop left open are cut.
void worker__end_connections(Worker *worker) {
  if (!worker->server || worker->stopped) return;
  loop_timer_stop(worker->loop, &worker->look);
  conn_server_stop(worker->server, 0, on_stopped, worker);
  while (!worker->stopped && loop_turn(worker->loop, 10000) == ERR_NONE) {}
}

void worker__free(Worker *worker) {
  worker__end_connections(worker);
  if (worker->server) conn_server_free(worker->server);
  directory__drop(worker->directory);
  if (worker->loop) loop_free(worker->loop);
}
