// The host on one thread: a loop, a server of connections, the apps. A turn is: what the loop brought, then each app whose
// inputs wait or whose commit was saved. Work from other threads (a sync that is done, a watcher's new module) comes in by
// a list of posts and one wake of the loop.
#include "runtime/host/host.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/net/conn.h"
#include "runtime/net/http_uri.h"
#include "runtime/net/listen.h"
#include "runtime/serve/serve.h"

enum { HOST_APPS_MAX = 1, HOST_DUE_WAIT_MAX_US = 60000000 };  // many apps in a host: later

typedef struct HostApp { Host *host; Str name; App *app; Serve *serve; } HostApp;
typedef struct Post Post;
struct Post { void (*call)(void *context); void *context; Post *next; };

struct Host {
  HostOptions options;
  Log log;
  Loop *loop;
  ConnServer *server;
  StoreLock *lock;
  Arena arena;                  // names and paths
  HostApp apps[HOST_APPS_MAX];
  uint32_t app_count;
  char address[ADDRESS_TEXT_BYTES];
  atomic_bool app_saved;        // some app's commit is durable
  atomic_int stops;
  bool stopping, stopped;
  pthread_mutex_t posts_lock;
  Post *posts, **posts_last;
};

// ---- requests ---------------------------------------------------------------------------------------

// With one app the paths of an app come first, so that an app called `views` is not in its own way.
static bool is_app_path(Str first) { return str_is(first, "views") || str_is(first, "inputs") || str_is(first, "app"); }

// The app that a path is about, and the rest of the path: /NAME/views/… or, with one app, /views/… too.
static HostApp *find_app(Host *host, Str path, Str *out_rest) {
  Str rest = path, first;
  *out_rest = path;
  if (http_path_next(&rest, &first) && !(host->app_count == 1 && is_app_path(first))) {
    for (uint32_t i = 0; i < host->app_count; i++) {
      if (!str_equal(host->apps[i].name, first)) continue;
      size_t used = 1 + first.len;
      *out_rest = used < path.len ? str_part(path, used, path.len) : STR("/");
      return &host->apps[i];
    }
  }
  return host->app_count == 1 ? &host->apps[0] : NULL;
}

static void on_request(void *context, Conn *conn, const HttpRequest *request) {
  Host *host = context;
  Str rest;
  HostApp *app = find_app(host, request->path, &rest);
  if (app) serve_request(app->serve, conn, request, rest);
  else serve_problem(conn, 404, "not_found", "there is no app of that name here");
}

static void on_close(void *context, Conn *conn) {
  (void)context;
  serve_closed(conn);
}

// ---- news from elsewhere ----------------------------------------------------------------------------

static void app_wakes(void *context) {
  HostApp *app = context;
  atomic_store(&app->host->app_saved, true);
  loop_wake(app->host->loop);
}

static void app_published(void *context, uint64_t commit) {
  HostApp *app = context;
  (void)commit;
  if (app->serve) serve_published(app->serve);
}

void host_post(Host *host, void (*call)(void *context), void *context) {
  Post *post = mem_alloc(sizeof *post);
  if (!post) return;
  *post = (Post){call, context, NULL};
  pthread_mutex_lock(&host->posts_lock);
  *host->posts_last = post;
  host->posts_last = &post->next;
  pthread_mutex_unlock(&host->posts_lock);
  loop_wake(host->loop);
}

static void run_posts(Host *host) {
  pthread_mutex_lock(&host->posts_lock);
  Post *posts = host->posts;
  host->posts = NULL;
  host->posts_last = &host->posts;
  pthread_mutex_unlock(&host->posts_lock);
  for (Post *next; posts; posts = next) {
    next = posts->next;
    posts->call(posts->context);
    mem_free(posts);
  }
}

static void run_apps(Host *host) {
  bool saved = atomic_exchange(&host->app_saved, false);
  for (uint32_t i = 0; i < host->app_count; i++) {
    HostApp *app = &host->apps[i];
    if (!saved && !serve_wants_turn(app->serve) && app_wait_us(app->app) > 0) continue;
    serve_turned(app->serve);
    app_turn(app->app);
  }
}

// ---- stopping ---------------------------------------------------------------------------------------

void host_stop(Host *host) {
  atomic_fetch_add(&host->stops, 1);
  loop_wake(host->loop);
}

static void on_stopped(void *context) { ((Host *)context)->stopped = true; }

static void check_stop(Host *host) {
  int stops = atomic_load(&host->stops);
  if (stops == 0 || (host->stopping && stops < 2)) return;
  conn_server_stop(host->server, stops > 1 ? 0 : HOST_DRAIN_MS, on_stopped, host);
  host->stopping = true;
  if (stops > 1) atomic_store(&host->stops, 1);
}

// ---- running ----------------------------------------------------------------------------------------

// Until an app has something to do by itself: not longer than a minute, since the wall clock may be set meanwhile.
static int64_t wait_of_apps(const Host *host) {
  int64_t wait = INT64_MAX;
  for (uint32_t i = 0; i < host->app_count; i++) {
    int64_t one = app_wait_us(host->apps[i].app);
    if (one < wait) wait = one;
  }
  return wait == INT64_MAX ? -1 : wait < HOST_DUE_WAIT_MAX_US ? wait : HOST_DUE_WAIT_MAX_US;
}

Err host_run(Host *host, ErrText *out_text) {
  while (!host->stopped) {
    Err err = loop_turn(host->loop, wait_of_apps(host));
    if (err != ERR_NONE) return err_say(err, out_text, "the event loop failed: %s", err_words(err));
    run_posts(host);
    run_apps(host);
    check_stop(host);
  }
  return ERR_NONE;
}

static Err listen_all(Host *host, ErrText *out_text) {
  Str address = str_from(host->options.listen);
  if (!host->options.allow_remote && !listen_is_loopback(address)) {
    return err_say(ERR_REFUSED, out_text, "%s can be reached from other machines, and there is no token file: listen on 127.0.0.1, or pass --allow-remote", host->options.listen);
  }
  return conn_server_listen(host->server, address, host->address, out_text);
}

static Err open_server(Host *host, ErrText *out_text) {
  TRY(loop_new(LOOP_EPOLL, clock_system(), &host->loop, out_text));
  ConnSettings settings = conn_settings_default();
  if (host->options.connections_max) settings.connections_max = host->options.connections_max;
  settings.body_bytes_max = SERVE_BODY_BYTES_MAX;
  settings.log = &host->log;
  ConnEvents events = {.ctx = host, .on_request = on_request, .on_close = on_close, .write_refusal = serve_write_refusal};
  Err err = conn_server_new(host->loop, &settings, &events, &host->server);
  return err == ERR_NONE ? ERR_NONE : err_say(err, out_text, "no memory for connections");
}

static bool keeps_nothing(const Host *host) { return strcmp(host->options.data, ":memory:") == 0; }

static Err lock_data(Host *host, ErrText *out_text) {
  return keeps_nothing(host) ? ERR_NONE : store_lock(file_system_real(), host->options.data, &host->lock, out_text);
}

static void host_free(Host *host) {
  if (host->server) conn_server_free(host->server);
  if (host->loop) loop_free(host->loop);
  if (host->lock) store_unlock(host->lock);
  pthread_mutex_destroy(&host->posts_lock);
  arena_free(&host->arena);
  mem_free(host);
}

Err host_open(const HostOptions *options, Host **out_host, ErrText *out_text) {
  Host *host = mem_alloc_zero(1, sizeof *host);
  if (!host) return err_say(ERR_MEMORY, out_text, "no memory for a host");
  host->options = *options;
  host->posts_last = &host->posts;
  arena_init(&host->arena, 0);
  pthread_mutex_init(&host->posts_lock, NULL);
  log_init(&host->log, clock_system(), LOG_INFO);
  Err err = lock_data(host, out_text);
  if (err == ERR_NONE) err = open_server(host, out_text);
  if (err == ERR_NONE) *out_host = host;
  else host_free(host);
  return err;
}

static Err open_app(Host *host, HostApp *app, Str module_bytes, ErrText *out_text) {
  Str dir = keeps_nothing(host) ? (Str){0} : arena_format(&host->arena, "%s/" STR_FMT, host->options.data, STR_ARG(app->name));
  AppOptions options = {.files = keeps_nothing(host) ? NULL : file_system_real(), .dir = dir.ptr, .limits = host->options.limits,
                        .log = &host->log, .wake = app_wakes, .published = app_published, .context = app};
  TRY(app_open(&options, module_bytes, &app->app, out_text));
  Err err = serve_new(host->loop, app->app, &host->log, &app->serve);
  if (err == ERR_NONE) return ERR_NONE;
  Err closed = app_close(app->app, NULL);
  return err_say(closed == ERR_NONE ? err : closed, out_text, "no memory to serve the app");
}

Err host_add_app(Host *host, Str name, Str module_bytes, ErrText *out_text) {
  if (host->app_count == HOST_APPS_MAX) return err_say(ERR_LIMIT, out_text, "this host serves one app");
  HostApp *app = &host->apps[host->app_count];
  *app = (HostApp){.host = host, .name = arena_copy(&host->arena, name)};
  TRY(open_app(host, app, module_bytes, out_text));
  host->app_count++;
  return host->app_count == 1 ? listen_all(host, out_text) : ERR_NONE;
}

static HostApp *app_named(const Host *host, Str name) {
  for (uint32_t i = 0; i < host->app_count; i++) {
    if (str_equal(host->apps[i].name, name)) return (HostApp *)&host->apps[i];
  }
  return NULL;
}

Err host_swap_app(Host *host, Str name, Str module_bytes, ErrText *out_text) {
  HostApp *app = app_named(host, name);
  if (!app) return err_say(ERR_NOT_FOUND, out_text, "there is no app of that name here");
  TRY(app_swap(app->app, module_bytes, out_text));
  serve_swapped(app->serve);
  return ERR_NONE;
}

const Module *host_module(const Host *host, Str name) {
  HostApp *app = app_named(host, name);
  return app ? app_module(app->app) : NULL;
}

uint16_t host_port(const Host *host) {
  const char *colon = strrchr(host->address, ':');
  unsigned port = 0;
  for (const char *at = colon ? colon + 1 : ""; *at >= '0' && *at <= '9'; at++) port = port * 10 + (unsigned)(*at - '0');
  return (uint16_t)port;
}

// Connections that a failed host_run left open are cut first.
static void stop_connections(Host *host) {
  if (!host->app_count || host->stopped) return;
  conn_server_stop(host->server, 0, on_stopped, host);
  while (!host->stopped && loop_turn(host->loop, 10000) == ERR_NONE) {}
}

Err host_close(Host *host, ErrText *out_text) {
  Err err = ERR_NONE;
  stop_connections(host);
  run_posts(host);
  for (uint32_t i = 0; i < host->app_count; i++) {
    Err closed = app_close(host->apps[i].app, err == ERR_NONE ? out_text : NULL);
    if (err == ERR_NONE) err = closed;
    serve_free(host->apps[i].serve);
  }
  host_free(host);
  return err;
}
