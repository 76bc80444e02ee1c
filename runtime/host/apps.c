// One app at its home worker: awake, asleep, and the ways between. What reads or closes data is done by the helper; meanwhile
// the app is OPENING, connections that ask for it wait unread, and an administrator's call waits in `call`.
//
//   FAILED ◄── helper opens ──► AWAKE ── nothing to do for a while ──► helper closes ──► ASLEEP ── a request, a timer ──► helper opens
//   STOPPED: only an administrator wakes it
//
// An app asleep is a HostApp and nothing else.
#include <assert.h>
#include <malloc.h>

#include "runtime/base/mem.h"
#include "runtime/host/host_inner.h"
#include "runtime/module/format.h"

enum { PROBLEM_BYTES_MAX = ERR_TEXT_BYTES };

// ---- making -------------------------------------------------------------------------------------------

static void due(LoopTimer *timer) { apps__wake(timer->ctx); }

// False: no memory.
static bool take_settings(HostApp *app, const HostOptions *options) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < options->setting_count; i++) count += str_equal(options->settings[i].app, app__name(app));
  AppSetting *items = count ? mem_alloc(count * sizeof *items) : NULL;
  if (count && !items) return false;
  app->settings = (AppSettings){.items = items};
  for (uint32_t i = 0; i < options->setting_count; i++)
    if (str_equal(options->settings[i].app, app__name(app))) items[app->settings.count++] = options->settings[i].setting;
  return true;
}

HostApp *apps__new(Host *host, Str name) {
  HostApp *app = mem_alloc_zero(1, sizeof *app + name.len + 1);
  if (!app) return NULL;
  app->host = host;
  atomic_init(&app->holders, 1);
  atomic_init(&app->state, APP_ASLEEP);
  memcpy(app->name, name.ptr, name.len);
  loop_timer_init(&app->due, due, app);
  app->log = (Log){.clock = host->log.clock, .level = host->log.level, .json = host->log.json, .sink = logs__take, .ctx = app};
  if (take_settings(app, &host->options)) return app;
  mem_free(app);
  return NULL;
}

void apps__hold(HostApp *app) { atomic_fetch_add(&app->holders, 1); }

void apps__drop(HostApp *app) {
  if (atomic_fetch_sub(&app->holders, 1) > 1) return;
  assert(!app->app && !app->due.running);
  refbuf_drop(app->problem);
  mem_free((void *)app->settings.items);
  mem_free(app->metrics);
  mem_free(app);
}

static AppState state_of(const HostApp *app) { return (AppState)atomic_load_explicit(&app->state, memory_order_relaxed); }
static void set_state(HostApp *app, AppState state) { atomic_store_explicit(&app->state, (int)state, memory_order_relaxed); }

// ---- opening ------------------------------------------------------------------------------------------

static void app_wakes(void *context) {
  HostApp *app = context;
  atomic_store(&app->saved, true);
  atomic_store(&app->home->some_saved, true);
  loop_wake(app->home->loop);
}

static void app_published(void *context, uint64_t commit) {
  HostApp *app = context;
  (void)commit;
  if (app->serve) serve_published(app->serve);
}

// The data lies under the app's name, so a module of another name must not get there.
static Err check_name(const HostApp *app, Str module_bytes, ErrText *out_text) {
  Arena arena;
  arena_init(&arena, 0);
  Module *module;
  Err err = module_read(module_bytes, &arena, &module, out_text);
  if (err == ERR_NONE && !str_equal(module->name, app__name(app)))
    err = err_say(ERR_REFUSED, out_text, "this is a module of the app `" STR_FMT "`, not of `%s`", STR_ARG(module->name), app->name);
  arena_free(&arena);
  return err;
}

Err apps__open(HostApp *app, Str module_bytes, const AppLimits *limits, App **out_app, ErrText *out_text) {
  Host *host = app->host;
  if (module_bytes.len) TRY(check_name(app, module_bytes, out_text));
  if (!app->metrics) app->metrics = mem_alloc_zero(1, sizeof *app->metrics);
  Arena arena;
  arena_init(&arena, 0);
  bool in_memory = host__keeps_nothing(host);
  Str dir = in_memory ? (Str){0} : arena_format(&arena, "%s/%s", host->options.data, app->name);
  AppOptions options = {.files = in_memory ? NULL : file_system_real(), .dir = dir.ptr, .limits = *limits, .settings = app->settings, .log = &app->log, .syncs = host->syncs, .checkpoints = host->checkpoints,
                        .counts = app->metrics ? &app->metrics->app : NULL,
                        .wake = app_wakes, .published = app_published, .context = app};
  Err err = in_memory || dir.ptr ? app_open(&options, module_bytes, out_app, out_text) : err_say(ERR_MEMORY, out_text, "no memory for an app");
  arena_free(&arena);
  return err;
}

static void resume_waiting(HostApp *app) {
  for (Waiting **link = &app->home->waiting; app->waiting;) {
    Waiting *one = *link;
    if (one->app != app) {
      link = &one->next;
      continue;
    }
    *link = one->next;
    app->waiting--;
    conn_resume(one->conn);
    mem_free(one);
  }
}

Err apps__begin(HostApp *app, App *opened) {
  Worker *home = app->home;
  TRY(serve_new(home->loop, opened, &app->log, app->metrics ? &app->metrics->serve : NULL, &app->serve));
  serve_limit(app->serve, &home->serve_limits);
  serve_welcome(app->serve, str_from(app->host->options.origins));
  app->app = opened;
  refbuf_drop(app->problem);
  app->problem = NULL;
  loop_timer_stop(home->loop, &app->due);
  app->used_us = loop_now_us(home->loop);
  app->next = home->awake;
  app->link = &home->awake;
  if (app->next) app->next->link = &app->next;
  home->awake = app;
  set_state(app, APP_AWAKE);
  atomic_store(&app->saved, true);  // a timer may be due
  resume_waiting(app);
  return ERR_NONE;
}

void apps__failed(HostApp *app, const ErrText *why) {
  log_say(&app->log, LOG_ERROR, "%s: not opened: %s", app->name, why->text);
  refbuf_drop(app->problem);
  app->problem = refbuf_copy((Str){why->text, strlen(why->text) + 1});
  set_state(app, APP_FAILED);
  resume_waiting(app);
}

// ---- with the helper ------------------------------------------------------------------------------------

// One way of an app through the helper and back to its home.
typedef struct Trip {
  Message message;
  HostApp *app;
  App *opened;             // to be closed, or as it was opened
  Call *call;              // for which it is opened, or NULL
  AppState before;
  AppLimits limits;
  Err err;
  ErrText text;
} Trip;

static void settle(HostApp *app) {
  Call *call = app->call;
  app->call = NULL;
  if (call) admin__call_at_home(app, call);
  else if (app->waiting && state_of(app) == APP_ASLEEP) apps__wake(app);
}

static void opened_at_home(Worker *worker, Message *message) {
  Trip *trip = (Trip *)message;
  HostApp *app = trip->app;
  (void)worker;
  if (trip->err == ERR_NONE) {
    trip->err = apps__begin(app, trip->opened);
    if (trip->err != ERR_NONE) {
      Err closed = app_close(trip->opened, NULL);
      trip->err = err_say(closed == ERR_NONE ? trip->err : closed, &trip->text, "no memory to serve the app");
    }
  }
  if (trip->err != ERR_NONE && trip->call) {
    set_state(app, trip->before);
    resume_waiting(app);
  } else if (trip->err != ERR_NONE) {
    apps__failed(app, &trip->text);
  }
  if (trip->call) admin__call_done(app, trip->call, trip->err, &trip->text);
  settle(app);
  apps__drop(app);
  mem_free(trip);
}

static void open_in_helper(Worker *none, Message *message) {
  Trip *trip = (Trip *)message;
  (void)none;
  trip->err = apps__open(trip->app, trip->call ? admin__module_of(trip->call) : (Str){0}, &trip->limits, &trip->opened, &trip->text);
  trip->message.run = opened_at_home;
  worker__send(trip->app->home, &trip->message);
}

static void begin_trip(HostApp *app, void (*run)(Worker *, Message *), App *opened, Call *call) {
  Trip *trip = mem_alloc_zero(1, sizeof *trip);
  if (!trip) {
    ErrText text;
    Err err = err_say(ERR_MEMORY, &text, "no memory to open the app");
    if (call) admin__call_done(app, call, err, &text);
    else apps__failed(app, &text);
    return;
  }
  *trip = (Trip){.message = {.run = run}, .app = app, .opened = opened, .call = call, .before = state_of(app), .limits = app->home->limits};
  apps__hold(app);
  set_state(app, APP_OPENING);
  helper__ask(app->host, &trip->message);
}

void apps__wake(HostApp *app) {
  if (state_of(app) != APP_ASLEEP) return;
  loop_timer_stop(app->home->loop, &app->due);
  begin_trip(app, open_in_helper, NULL, NULL);
}

void apps__open_for(HostApp *app, Call *call) {
  loop_timer_stop(app->home->loop, &app->due);
  begin_trip(app, open_in_helper, NULL, call);
}

// ---- closing --------------------------------------------------------------------------------------------

static void unlink_awake(HostApp *app) {
  *app->link = app->next;
  if (app->next) app->next->link = app->link;
  app->next = NULL;
}

Err apps__close(HostApp *app, ErrText *out_text) {
  if (!app->app) return ERR_NONE;
  unlink_awake(app);
  serve_stop(app->serve, 503, "stopped", "this app was stopped");
  Err err = app_close(app->app, out_text);
  serve_free(app->serve);
  app->app = NULL;
  app->serve = NULL;
  return err;
}

static void asleep_at_home(Worker *worker, Message *message) {
  Trip *trip = (Trip *)message;
  (void)worker;
  if (trip->err != ERR_NONE) apps__failed(trip->app, &trip->text);
  else set_state(trip->app, APP_ASLEEP);
  settle(trip->app);
  apps__drop(trip->app);
  mem_free(trip);
}

static void close_in_helper(Worker *none, Message *message) {
  Trip *trip = (Trip *)message;
  (void)none;
  trip->err = app_close(trip->opened, &trip->text);
  malloc_trim(0);  // the C library would keep what an app had for the next one that may never come
  trip->message.run = asleep_at_home;
  worker__send(trip->app->home, &trip->message);
}

static void fall_asleep(HostApp *app, int64_t wait_us) {
  Trip *trip = mem_alloc_zero(1, sizeof *trip);
  if (!trip) return;
  unlink_awake(app);
  serve_free(app->serve);
  *trip = (Trip){.message = {.run = close_in_helper}, .app = app, .opened = app->app};
  app->app = NULL;
  app->serve = NULL;
  apps__hold(app);
  set_state(app, APP_OPENING);
  if (wait_us != INT64_MAX) loop_timer_start(app->home->loop, &app->due, loop_now_us(app->home->loop) + wait_us);
  helper__ask(app->host, &trip->message);
}

void apps__look(Worker *worker) {
  uint32_t after_s = worker->host->options.sleep_after_s;
  int64_t now_us = loop_now_us(worker->loop), after_us = (int64_t)(after_s ? after_s : HOST_SLEEP_AFTER_S) * 1000000;
  if (host__keeps_nothing(worker->host)) return;  // what sleeps would be gone
  for (HostApp *app = worker->awake, *next; app; app = next) {
    next = app->next;
    if (now_us - app->used_us < after_us || app_is_busy(app->app) || !serve_is_quiet(app->serve)) continue;
    if (app_error(app->app, NULL) != ERR_NONE) continue;  // it must go on saying so
    int64_t wait_us = app_wait_us(app->app);
    if (wait_us > after_us) fall_asleep(app, wait_us);
  }
}

// ---- waiting ----------------------------------------------------------------------------------------------

void apps__wait_for(HostApp *app, Conn *conn) {
  Waiting *one = mem_alloc(sizeof *one);
  if (!one) return;  // it then waits for its client's patience alone
  Worker *home = app->home;
  *one = (Waiting){conn, app, home->waiting};
  home->waiting = one;
  app->waiting++;
}

bool apps__forget_waiting(Worker *worker, const Conn *conn) {
  for (Waiting **link = &worker->waiting; *link; link = &(*link)->next) {
    Waiting *one = *link;
    if (one->conn != conn) continue;
    *link = one->next;
    one->app->waiting--;
    mem_free(one);
    return true;
  }
  return false;
}

// ---- turns --------------------------------------------------------------------------------------------------

int64_t apps__wait_us(const Worker *worker) {
  int64_t least = INT64_MAX;
  for (HostApp *app = worker->awake; app; app = app->next) {
    int64_t one = serve_wants_turn(app->serve) ? 0 : app_wait_us(app->app);
    if (one < least) least = one;
  }
  return least;
}

// While an app is the only one awake here, nobody else minds that the worker waits for its disk.
void apps__run(Worker *worker) {
  bool some_saved = atomic_exchange(&worker->some_saved, false), alone = worker->awake && !worker->awake->next;
  for (HostApp *app = worker->awake, *next; app; app = next) {
    next = app->next;
    bool saved = some_saved && atomic_exchange(&app->saved, false);
    if (!saved && !serve_wants_turn(app->serve) && app_wait_us(app->app) > 0) continue;
    serve_turned(app->serve);
    app_sync_inline(app->app, alone);
    app_turn(app->app);
  }
}
