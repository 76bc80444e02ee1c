// The owner's part of what an app does by itself. Each run is a transaction of its own in the open batch, like an input: it
// is recorded under its timer's name and saved with the batch. A turn runs at most so much that inputs are not kept waiting.
#include <assert.h>

#include "runtime/app/app_internal.h"
#include "runtime/value/codec.h"

static TimerNow app_times(App *app) {
  int64_t wall = clock_wall_us(app->clock);
  if (wall > app->last_now_us) app->last_now_us = wall;
  return (TimerNow){app->last_now_us, wall, clock_mono_us(app->clock)};
}

Err app__begin_timers(App *app, ErrText *out_text) {
  if (timers_bind(&app->timers, app_module(app), clock_mono_us(app->clock)) != ERR_NONE) return err_say(ERR_MEMORY, out_text, "no memory for timers");
  app->wait_known = false;
  Txn *txn = db_txn(store_db(app->store));
  bool changed;
  Err err = timers_begin(app_module(app), txn, app__now(app), &changed);
  if (err != ERR_NONE) err = err_say(err, out_text, "the rows of a new timer could not be armed: %s", err_words(err));
  uint64_t number;
  if (err == ERR_NONE && changed) err = store_commit(app->store, NULL, 0, &number, out_text);
  if (err != ERR_NONE) txn_undo(txn, (TxnMark){0});
  else if (changed) store_wait(app->store);
  return err == ERR_NONE ? store_error(app->store, out_text) : err;
}

// ---- runs ---------------------------------------------------------------------------------------------

// "timer remind": no entry is called so, since names hold no space. The arguments are the row's key, or how many rows went.
static void record_run(App *app, const TimerDue *due, const TimerRun *run) {
  const Module *module = app_module(app);
  const TimerDef *timer = &module->timers[due->timer];
  Buf args;
  buf_init(&args, 0);
  if (timer->kind == TIMER_ROWS) value_encode(&module->schema.types, module->schema.types.table_keys[timer->table], due->key, &args);
  if (timer->kind == TIMER_EXPIRE) varint_write(&args, run->rows);
  Str name = arena_format(&app->batch_arena, "%s " STR_FMT, timer->kind == TIMER_EXPIRE ? "expire" : "timer", STR_ARG(timer->name));
  assert(app->record_count < app->record_room);
  app->records[app->record_count++] = (StoreInput){.name = name, .now_us = run->call.now_us, .seed = run->call.seed,
                                                   .args = args.failed ? (Str){0} : arena_copy(&app->batch_arena, buf_str(&args)), .status = (uint8_t)run->outcome.kind};
  buf_free(&args);
  app->batch_runs++;
  app->batch_changes = true;
}

static void log_refusal(const App *app, const TimerDue *due, const TimerRun *run) {
  const TimerDef *timer = &app_module(app)->timers[due->timer];
  if (run->outcome.kind == APP_DONE || run->outcome.kind == APP_FAULT) return;  // a fault is in the log already
  LOG_EVENT(app->options.log, LOG_WARN, "a timer was rejected", LOG_TEXT("app", app_module(app)->name), LOG_TEXT("timer", timer->name),
            LOG_TEXT("code", run->outcome.problem.code), LOG_TEXT("why", run->outcome.problem.detail));
}

static void rest(App *app, const TimerNow *now) {
  int64_t wait = APP_TIMER_REST_FIRST;
  for (uint32_t i = 0; i < app->timer_rests && wait < APP_TIMER_REST_MAX; i++) wait *= 2;
  app->timers_rest_until_us = now->mono_us + (wait < APP_TIMER_REST_MAX ? wait : APP_TIMER_REST_MAX);
  app->timer_rests++;
}

void app__rest_timers(App *app) {
  TimerNow now = app_times(app);
  rest(app, &now);
  app->wait_known = false;
}

// Two runs never have the same `now`: a row that arms itself for a moment ago has another time each time.
static int64_t next_run_now(App *app) {
  if (app->last_run_us >= app->last_now_us) app->last_now_us = app->last_run_us + 1;
  app->last_run_us = app->last_now_us;
  return app->last_now_us;
}

static TimersEnd run_one(App *app, Arena *arena, bool *out_found) {
  const Module *module = app_module(app);
  Txn *txn = db_txn(store_db(app->store));
  TimerDue due;
  TimerRun run = {.runner = &app->owner, .now = app_times(app), .arena = arena};
  *out_found = timers_find(&app->timers, txn_reader(txn), &run.now, arena, &due);
  if (!*out_found) return TIMERS_RAN;
  run.call = (VmCall){.now_us = next_run_now(app), .seed = app__seed(app)};
  run.now.now_us = run.call.now_us;
  runner_use(&app->owner, module, txn_reader(txn), txn);
  app->owner.context.caller = (AppCaller){0};
  TimersEnd end = timers_run(&app->timers, &due, &run);
  log_refusal(app, &due, &run);
  if (end == TIMERS_RAN) record_run(app, &due, &run);
  else rest(app, &run.now);
  return end;
}

static bool may_run(App *app) { return app->batch_runs < APP_TIMER_RUNS_MAX && app__has_record_room(app); }

void app__run_due(App *app) {
  app->wait_known = false;
  if (!app_module(app)->timer_count || clock_mono_us(app->clock) < app->timers_rest_until_us) return;
  Arena arena;
  arena_init(&arena, 0);
  timers_begin_turn(&app->timers);
  int64_t until_us = clock_mono_us(app->clock) + APP_TURN_US;  // what is left is due in the next turn
  for (bool found = true; found && may_run(app) && clock_mono_us(app->clock) <= until_us;) {
    if (run_one(app, &arena, &found) == TIMERS_NO_ROOM) break;
    arena_reset(&arena);
  }
  arena_free(&arena);
}

int64_t app_wait_us(App *app) {
  if (app->running || app->has_more || app->views.count) return 0;
  if (app->waiting.first && app->waiting.first->alone && !app->applied.count && !app->batch_changes) return 0;
  if (!app_module(app)->timer_count || app->stopped || !may_run(app)) return INT64_MAX;  // a full batch goes on when it is saved
  TimerNow now = app_times(app);
  if (now.mono_us < app->timers_rest_until_us) return app->timers_rest_until_us - now.mono_us;
  if (!app->wait_known) app->wait = timers_wait(&app->timers, txn_reader(db_txn(store_db(app->store))), &now);
  app->wait_known = true;
  return timers_wait_left(&app->wait, &now);
}
