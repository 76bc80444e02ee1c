// Views, a slice of fuel at a time. A view that is done within what its app has left of the round is answered at once; what is
// longer goes on in later rounds, in turn with the other views of the app, and meanwhile holds the state it began with. So
// neither another app nor a short view of the same one waits for longer than some slices.
#include <assert.h>

#include "runtime/app/app_internal.h"
#include "runtime/base/mem.h"

// ---- what views read ------------------------------------------------------------------------------------

void app__publish(App *app) {
  Published *made = mem_alloc_zero(1, sizeof *made);
  Snapshot *snapshot = made ? db_snapshot_take(store_db(app->store)) : NULL;
  app->unpublished = !snapshot;
  if (!snapshot) {  // no memory: views go on with the state before, the next turn tries again
    mem_free(made);
    return;
  }
  *made = (Published){.snapshot = snapshot, .module = app_module_hold(app), .commit = snapshot_number(snapshot), .holders = 1};
  app__drop_published(app->published);
  app->published = made;
}

void app__drop_published(Published *published) {
  if (!published || --published->holders > 0) return;
  snapshot_release(published->snapshot);
  app_module_drop(published->module);
  mem_free(published);
}

// ---- one at a time ----------------------------------------------------------------------------------------

static VmStatus begin(Runner *runner, const Published *published, AppView *view, int64_t now_us) {
  const Module *module = published->module->module;
  VmCall call = {.now_us = now_us, .caller = view->caller.subject, .given = view->given};
  runner_use(runner, module, snapshot_reader(published->snapshot), NULL);
  runner->settings = &published->module->settings;
  runner->context.caller = view->caller;
  return runner_begin_entry(runner, &module->entries[view->entry], &call, view->args, &view->outcome, view->arena);
}

static void finish(Runner *runner, const Published *published, AppView *view, VmStatus status) {
  const Module *module = published->module->module;
  if (status == VM_DONE) outcome_done(&view->outcome, module, module->entries[view->entry].result, runner->main.result, view->arena);
  view->outcome.commit = published->commit;
}

void app_view(App *app, AppView *view) {
  VmStatus status = begin(&app->viewer, app->published, view, app__now(app));
  while (status == VM_SLICE) status = runner_go_on(&app->viewer, APP_SLICE_FUEL, &view->outcome, view->arena);
  finish(&app->viewer, app->published, view, status);
}

// ---- in turn ------------------------------------------------------------------------------------------------

static ViewRun *take_run(App *app) {
  ViewRun *run = app->idle_run;
  if (run) {
    app->idle_run = run->next;
    return run;
  }
  run = mem_alloc_zero(1, sizeof *run);
  if (run) runner_init(&run->runner, &app->viewer.limits, app->options.log);
  return run;
}

// One is kept, so that an app whose views are all short makes none anew.
static void give_back(App *app, ViewRun *run) {
  app__drop_published(run->published);
  run->published = NULL;
  if (app->idle_run) {
    runner_free(&run->runner);
    mem_free(run);
    return;
  }
  runner_rest(&run->runner);
  run->next = NULL;
  app->idle_run = run;
}

static void put_last(ViewQueue *queue, ViewRun *run) {
  run->next = NULL;
  *queue->last = run;
  queue->last = &run->next;
  queue->count++;
}

static ViewRun *take_first(ViewQueue *queue) {
  ViewRun *run = queue->first;
  if (!run) return NULL;
  queue->first = run->next;
  if (!queue->first) queue->last = &queue->first;
  queue->count--;
  return run;
}

// Goes on with a view for what is left of the round. True: it is done, and answered.
static bool go_on(App *app, ViewRun *run) {
  AppView *view = run->view;
  VmStatus status = VM_SLICE;
  uint64_t before = run->has_begun ? run->runner.main.fuel_used : 0;
  if (!run->has_begun) status = begin(&run->runner, run->published, view, app__now(app));
  run->has_begun = true;
  if (status == VM_SLICE) status = runner_go_on(&run->runner, app->view_fuel_left, &view->outcome, view->arena);
  uint64_t used = run->runner.main.fuel_used - before + APP_VIEW_FUEL_LEAST;
  app->counts->view_fuel += run->runner.main.fuel_used - before;
  app->view_fuel_left = used < app->view_fuel_left ? app->view_fuel_left - used : 0;
  bool too_long = status == VM_SLICE && clock_mono_us(app->clock) - run->begun_us > APP_VIEW_HOLD_MAX_S * 1000000;
  if (status == VM_SLICE && !too_long) return false;
  if (too_long) outcome_unavailable(&view->outcome, "the view took too long (APP_VIEW_HOLD_MAX_S)");
  finish(&run->runner, run->published, view, status);
  if (too_long) view->outcome.commit = 0;
  app->counts->views[view->outcome.kind]++;
  give_back(app, run);
  view->answered(view);
  return true;
}

Err app_view_start(App *app, AppView *view) {
  assert(view->answered);
  uint32_t most = app->options.limits.queue_max ? app->options.limits.queue_max : APP_VIEWS_MAX;
  if (app->views.count >= most) return ERR_LIMIT;
  ViewRun *run = take_run(app);
  if (!run) return ERR_MEMORY;
  run->view = view;
  run->published = app->published;
  run->published->holders++;
  run->has_begun = false;
  run->begun_us = clock_mono_us(app->clock);
  if (app->view_fuel_left > 0 && app->views.count == 0 && go_on(app, run)) return ERR_NONE;
  put_last(&app->views, run);
  return ERR_NONE;
}

// The first few of the queue are the ones under way; one that is not done goes behind them, not behind all that wait, so
// that at most APP_VIEWS_BEGUN_MAX hold memory and a state.
static void put_behind_begun(ViewQueue *queue, ViewRun *run) {
  ViewRun **place = &queue->first;
  for (uint32_t i = 1; *place && i < APP_VIEWS_BEGUN_MAX; i++) place = &(*place)->next;
  run->next = *place;
  *place = run;
  if (!run->next) queue->last = &run->next;
  queue->count++;
}

void app__run_views(App *app) {
  app->view_fuel_left = APP_SLICE_FUEL;
  while (app->view_fuel_left > 0 && app->views.count) {
    ViewRun *run = take_first(&app->views);
    if (!go_on(app, run)) put_behind_begun(&app->views, run);
  }
}

void app__end_views(App *app) {
  for (ViewRun *run; (run = take_first(&app->views));) {
    AppView *view = run->view;
    outcome_unavailable(&view->outcome, "the app is closing");
    give_back(app, run);
    view->answered(view);
  }
  for (ViewRun *run = app->idle_run; run; run = NULL) {
    runner_free(&run->runner);
    mem_free(run);
  }
  app->idle_run = NULL;
}
