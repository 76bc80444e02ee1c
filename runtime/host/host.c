// Opening and closing a host, and what its control knows: the apps, their homes, the list of them on disk.
#include "runtime/host/host.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/host/host_inner.h"
#include "runtime/host/notify.h"

// ---- apps -------------------------------------------------------------------------------------------

// A name is a folder of the data root and a part of a path; `lock` is the root's own.
bool host__name_fits(Str name) {
  if (!name.len || name.len > HOST_NAME_BYTES_MAX || str_is(name, "lock")) return false;
  for (size_t i = 0; i < name.len; i++) {
    char c = name.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && (i == 0 || (!(c >= '0' && c <= '9') && c != '_'))) return false;
  }
  return true;
}

HostApp *host__find(const Host *host, Str name) {
  for (uint32_t i = 0; i < host->app_count; i++) {
    if (str_equal(app__name(host->apps[i]), name)) return host->apps[i];
  }
  return NULL;
}

static Worker *least_used(Host *host) {
  Worker *least = &host->workers[0];
  for (uint32_t i = 1; i < host->worker_count; i++) {
    if (host->workers[i].app_count < least->app_count) least = &host->workers[i];
  }
  return least;
}

Err host__add(Host *host, HostApp *app, ErrText *out_text) {
  if (host->app_count == HOST_APPS_MAX) return err_say(ERR_LIMIT, out_text, "at most %d apps in a host (HOST_APPS_MAX)", HOST_APPS_MAX);
  if (host->app_count == host->app_room) {
    uint32_t room = host->app_room ? host->app_room * 2 : 4;
    HostApp **apps = mem_realloc(host->apps, room * sizeof *apps);
    if (!apps) return err_say(ERR_MEMORY, out_text, "no memory for another app");
    host->apps = apps;
    host->app_room = room;
  }
  Worker *home = least_used(host);
  if (worker__start(home, out_text) != ERR_NONE) home = &host->workers[0];
  app->home = home;
  home->app_count++;
  host->apps[host->app_count++] = app;
  return ERR_NONE;
}

void host__remove(Host *host, HostApp *app) {
  for (uint32_t i = 0; i < host->app_count; i++) {
    if (host->apps[i] != app) continue;
    host->apps[i] = host->apps[--host->app_count];
    app->home->app_count--;
    apps__drop(app);
    return;
  }
}

static Err open_here(HostApp *app, Str module_bytes, ErrText *out_text) {
  App *opened;
  TRY(apps__open(app, module_bytes, &app->home->limits, &opened, out_text));
  Err err = apps__begin(app, opened);
  if (err == ERR_NONE) return ERR_NONE;
  Err closed = app_close(opened, NULL);
  return err_say(closed == ERR_NONE ? err : closed, out_text, "no memory to serve the app");
}

static Err write_registry(Host *host, ErrText *out_text) {
  Buf content;
  buf_init(&content, 0);
  registry__content(host, &content);
  Err err = content.failed ? err_say(ERR_MEMORY, out_text, "no memory for the list of apps") : registry__write(host, buf_str(&content), out_text);
  buf_free(&content);
  return err;
}

Err host_add_app(Host *host, Str name, Str module_bytes, ErrText *out_text) {
  if (!host__name_fits(name)) return err_say(ERR_FORMAT, out_text, "`" STR_FMT "` cannot be an app's name in a host", STR_ARG(name));
  HostApp *app = host__find(host, name);
  bool is_new = !app;
  if (app && app->app) return err_say(ERR_EXISTS, out_text, "two modules are of the app `" STR_FMT "`", STR_ARG(name));
  if (is_new) {
    app = apps__new(host, name);
    if (!app) return err_say(ERR_MEMORY, out_text, "no memory for an app");
    Err err = host__add(host, app, out_text);
    if (err != ERR_NONE) {
      apps__drop(app);
      return err;
    }
  }
  Err err = open_here(app, module_bytes, out_text);
  if (err == ERR_NONE) app->is_listed = true;
  else if (is_new) host__remove(host, app);
  return err;
}

void host_add_deployed(Host *host) {
  for (uint32_t i = 0; i < host->app_count; i++) {
    HostApp *app = host->apps[i];
    ErrText text = {""};
    if (atomic_load(&app->state) == APP_OPENING && open_here(app, (Str){0}, &text) != ERR_NONE) apps__failed(app, &text);
  }
}

uint32_t host_app_count(const Host *host) { return host->app_count; }
Str host_first_app(const Host *host) { return host->app_count ? app__name(host->apps[0]) : (Str){0}; }

Err host_swap_app(Host *host, Str name, Str module_bytes, ErrText *out_text) {
  HostApp *app = host__find(host, name);
  if (!app || !app->app || app->home->index != 0) return err_say(ERR_NOT_FOUND, out_text, "there is no app of that name here");
  TRY(app_swap(app->app, module_bytes, out_text));
  serve_swapped(app->serve);
  return ERR_NONE;
}

const Module *host_module(const Host *host, Str name) {
  HostApp *app = host__find(host, name);
  return app && app->app ? app_module(app->app) : NULL;
}

uint16_t host_port(const Host *host) {
  const char *colon = strrchr(host->address, ':');
  unsigned port = 0;
  for (const char *at = colon ? colon + 1 : ""; *at >= '0' && *at <= '9'; at++) port = port * 10 + (unsigned)(*at - '0');
  return (uint16_t)port;
}

// ---- calls from other threads -------------------------------------------------------------------------

typedef struct Post { Message message; void (*call)(void *context); void *context; } Post;

static void run_post(Worker *worker, Message *message) {
  Post *post = (Post *)message;
  (void)worker;
  post->call(post->context);
  mem_free(post);
}

void host_post(Host *host, void (*call)(void *context), void *context) {
  Post *post = mem_alloc(sizeof *post);
  if (!post) return;
  *post = (Post){{.run = run_post}, call, context};
  worker__send(&host->workers[0], &post->message);
}

typedef struct NewLimits { Message message; AppLimits limits; ServeLimits serve_limits; } NewLimits;

static void take_limits(Worker *worker, Message *message) {
  NewLimits *new = (NewLimits *)message;
  worker->limits = new->limits;
  worker->serve_limits = new->serve_limits;
  for (HostApp *app = worker->awake; app; app = app->next) {
    app_limit(app->app, &new->limits);
    serve_limit(app->serve, &new->serve_limits);
  }
  mem_free(new);
}

// At the control: on to each worker. One that is not started yet has no thread that could be in the way.
static void spread_limits(Worker *control, Message *message) {
  Host *host = control->host;
  const NewLimits *new = (const NewLimits *)message;
  for (uint32_t i = host->worker_count; i-- > 0;) {
    NewLimits *copy = mem_alloc(sizeof *copy);
    if (!copy) break;
    *copy = *new;
    copy->message.run = take_limits;
    if (host->workers[i].has_thread) worker__send(&host->workers[i], &copy->message);
    else take_limits(&host->workers[i], &copy->message);
  }
  mem_free(message);
}

void host_limit(Host *host, const AppLimits *limits, const ServeLimits *serve_limits) {
  NewLimits *new = mem_alloc(sizeof *new);
  if (!new) return;
  *new = (NewLimits){{.run = spread_limits}, *limits, *serve_limits};
  worker__send(&host->workers[0], &new->message);
}

void host_stop(Host *host) {
  atomic_fetch_add(&host->stops, 1);
  loop_wake(host->workers[0].loop);
}

// ---- running ------------------------------------------------------------------------------------------

static Err say_remote(const char *address, ErrText *out_text) {
  return err_say(ERR_REFUSED, out_text, "%s can be reached from other machines, who could read and write everything, since this version has no tokens: listen on 127.0.0.1, or pass --allow-remote", address);
}

// A socket that a service manager opened.
static Err listen_on_socket(Host *host, int fd, ErrText *out_text) {
  listen_address_text(fd, false, host->address);
  Err err = !host->options.allow_remote && !listen_is_loopback(str_from(host->address)) ? say_remote(host->address, out_text) : conn_server_listen_on(host->workers[0].server, fd, out_text);
  if (err != ERR_NONE) close(fd);
  return err;
}

Err host_listen(Host *host, ErrText *out_text) {
  Str address = str_from(host->options.listen);
  int fd;
  TRY(notify_take_socket(&fd, out_text));
  if (fd >= 0) return listen_on_socket(host, fd, out_text);
  if (!host->options.allow_remote && !listen_is_loopback(address)) {
    return say_remote(host->options.listen, out_text);
  }
  return conn_server_listen(host->workers[0].server, address, host->address, out_text);
}

static Err start_threads(Host *host, ErrText *out_text) {
  if (directory__publish(host) != ERR_NONE) return err_say(ERR_MEMORY, out_text, "no memory for the names of the apps");
  TRY(write_registry(host, out_text));
  host->is_listening = true;  // from now on a worker that is started gets its thread
  for (uint32_t i = 1; i < host->worker_count; i++) {
    if (host->workers[i].is_started) TRY(worker__start(&host->workers[i], out_text));
  }
  return ERR_NONE;
}

// Threads end in the order in which they ask each other: workers, then the helper, whose last news are then taken in here. What
// still asks the helper afterwards (when apps are closed) is done by who asks.
static void end_threads(Host *host) {
  for (uint32_t i = 1; i < host->worker_count; i++) {
    Worker *worker = &host->workers[i];
    if (!worker->has_thread) continue;
    loop_wake(worker->loop);
    pthread_join(worker->thread, NULL);
    worker->has_thread = false;
  }
  for (uint32_t i = 0; i < host->worker_count; i++) host->workers[i].ended = true;
  task_pool_free(host->helper);
  host->helper = NULL;
  for (int rounds = 0; rounds < 4; rounds++) {  // a message may bring another; a call makes four ways at most
    for (uint32_t i = 0; i < host->worker_count; i++) worker__run_messages(&host->workers[i]);
  }
}

Err host_run(Host *host, ErrText *out_text) {
  Err err = start_threads(host, out_text);
  if (err == ERR_NONE) {
    notify_manager("READY=1");
    err = worker__run(&host->workers[0]);
    if (err != ERR_NONE) err_say(err, out_text, "the event loop failed: %s", err_words(err));
  }
  if (err != ERR_NONE) atomic_store(&host->stops, 2);
  end_threads(host);
  return err;
}

// ---- opening and closing --------------------------------------------------------------------------------

static uint32_t count_workers(const HostOptions *options) {
  long cores = options->workers ? (long)options->workers : sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 1 ? 1 : cores > HOST_WORKERS_MAX ? HOST_WORKERS_MAX : (uint32_t)cores;
}

static Err open_workers(Host *host, ErrText *out_text) {
  host->worker_count = count_workers(&host->options);
  host->workers = mem_alloc_zero(host->worker_count, sizeof *host->workers);
  if (!host->workers) return err_say(ERR_MEMORY, out_text, "no memory for workers");
  for (uint32_t i = 0; i < host->worker_count; i++) {
    host->workers[i].host = host;
    host->workers[i].index = i;
    host->workers[i].limits = host->options.limits;
    host->workers[i].serve_limits = host->options.serve_limits;
  }
  return worker__start(&host->workers[0], out_text);
}

static Err lock_data(Host *host, ErrText *out_text) {
  return host__keeps_nothing(host) ? ERR_NONE : store_lock(file_system_real(), host->options.data, &host->lock, out_text);
}

static void host_free(Host *host) {
  while (host->app_count) {
    HostApp *app = host->apps[0];
    if (app->home->loop) loop_timer_stop(app->home->loop, &app->due);
    host__remove(host, app);
  }
  for (uint32_t i = 0; i < host->worker_count && host->workers; i++) worker__free(&host->workers[i]);
  if (host->lock) store_unlock(host->lock);
  logs__free(host);
  task_pool_free(host->helper);
  task_pool_free(host->checkpoints);
  task_pool_free(host->syncs);
  pthread_mutex_destroy(&host->logs_lock);
  mem_free(host->workers);
  mem_free(host->apps);
  mem_free(host);
}

static Err make_pools(Host *host, ErrText *out_text) {
  Err err = task_pool_new(SYNC_THREADS, true, &host->syncs);
  if (err == ERR_NONE) err = task_pool_new(CHECKPOINT_THREADS, false, &host->checkpoints);
  if (err == ERR_NONE) err = task_pool_new(1, false, &host->helper);
  return err == ERR_NONE ? ERR_NONE : err_say(err, out_text, "no memory for threads");
}

Err host_open(const HostOptions *options, Host **out_host, ErrText *out_text) {
  Host *host = mem_alloc_zero(1, sizeof *host);
  if (!host) return err_say(ERR_MEMORY, out_text, "no memory for a host");
  host->options = *options;
  pthread_mutex_init(&host->logs_lock, NULL);
  log_init(&host->log, clock_system(), LOG_INFO);
  Err err = make_pools(host, out_text);
  if (err == ERR_NONE) err = lock_data(host, out_text);
  if (err == ERR_NONE) err = open_workers(host, out_text);
  if (err == ERR_NONE) err = registry__read(host, out_text);
  if (err == ERR_NONE) *out_host = host;
  else host_free(host);
  return err;
}

// Connections go first, since they lead to their apps; then the apps, and last what remembers which of them slept.
Err host_close(Host *host, ErrText *out_text) {
  Err err = ERR_NONE;
  bool ran = host->is_listening;
  for (uint32_t i = 0; i < host->worker_count; i++) worker__end_connections(&host->workers[i]);
  for (uint32_t i = 0; i < host->app_count; i++) {
    Err closed = apps__close(host->apps[i], err == ERR_NONE ? out_text : NULL);
    if (err == ERR_NONE) err = closed;
  }
  if (ran && write_registry(host, err == ERR_NONE ? out_text : NULL) != ERR_NONE && err == ERR_NONE) err = ERR_IO;
  host_free(host);
  return err;
}
