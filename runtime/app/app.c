// The app and its owner. The one rule that shapes it: nothing that rests on unsaved state gets out. While commit k is being
// synced the owner applies the inputs that come in to an open batch; only when k is durable are its answers released,
// its state published to views, and the open batch committed as k + 1.
//
//   waiting ──apply──► applied (open batch) ──store_commit──► saving ──durable──► answered
//
// Rejections and faults changed nothing, but they read state that may not be saved yet, so they wait in the batch too.
#include "runtime/app/app.h"

#include <assert.h>

#include "runtime/app/app_internal.h"
#include "runtime/base/mem.h"
#include "runtime/base/rng.h"
#include "runtime/module/format.h"
#include "runtime/value/codec.h"

// ---- modules ----------------------------------------------------------------------------------------

Err app_module_new(Str bytes, AppModule **out_module, ErrText *out_text) {
  AppModule *made = mem_alloc_zero(1, sizeof *made);
  if (!made) return err_say(ERR_MEMORY, out_text, "no memory for a module");
  arena_init(&made->arena, 0);
  made->holders = 1;
  Err err = module_read(bytes, &made->arena, &made->module, out_text);
  if (err == ERR_NONE) made->bytes = arena_copy(&made->arena, bytes);
  if (err == ERR_NONE && !made->bytes.ptr) err = err_say(ERR_MEMORY, out_text, "no memory for a module");
  if (err != ERR_NONE) app_module_drop(made);
  else *out_module = made;
  return err;
}

const Module *app_module(const App *app) { return app->module->module; }
const Module *app_module_get(const AppModule *held) { return held->module; }

AppModule *app_module_hold(App *app) {
  app->module->holders++;
  return app->module;
}

void app_module_drop(AppModule *held) {
  if (!held || --held->holders > 0) return;
  arena_free(&held->arena);
  mem_free(held);
}

// ---- queues -----------------------------------------------------------------------------------------

static void queue_init(InputQueue *queue) { *queue = (InputQueue){.last = &queue->first}; }

static void queue_put(InputQueue *queue, AppInput *input) {
  input->next = NULL;
  *queue->last = input;
  queue->last = &input->next;
  queue->count++;
}

static AppInput *queue_take(InputQueue *queue) {
  AppInput *input = queue->first;
  if (!input) return NULL;
  queue->first = input->next;
  if (!queue->first) queue->last = &queue->first;
  queue->count--;
  return input;
}

static void queue_move(InputQueue *from, InputQueue *to) {
  assert(to->count == 0);
  queue_init(to);
  for (AppInput *input; (input = queue_take(from));) queue_put(to, input);
}

static void answer_all(InputQueue *queue, const char *unavailable) {
  for (AppInput *input; (input = queue_take(queue));) {
    if (unavailable) outcome_unavailable(&input->outcome, unavailable);
    input->answered(input);
  }
}

// ---- opening ----------------------------------------------------------------------------------------

int64_t app__now(App *app) {
  int64_t now = clock_wall_us(app->clock);
  if (now > app->last_now_us) app->last_now_us = now;
  return app->last_now_us;
}

uint64_t app__seed(App *app) { return app->options.seeds ? rng_next(app->options.seeds) : rng_secret_u64(); }

static void store_synced(void *context, uint64_t number, Err err) {
  App *app = context;
  (void)number;
  (void)err;
  if (app->options.wake) app->options.wake(app->options.context);
}

static VmLimits limits_of(uint64_t fuel, uint64_t fuel_default, uint64_t memory) {
  return (VmLimits){fuel ? fuel : fuel_default, memory ? memory : APP_CALL_MEMORY};
}

void app_limit(App *app, const AppLimits *limits) {
  app->options.limits = *limits;
  app->owner.limits = limits_of(limits->input_fuel, APP_INPUT_FUEL, limits->memory_bytes);
  app->viewer.limits = limits_of(limits->view_fuel, APP_VIEW_FUEL, limits->memory_bytes);
}

static Err app_new(const AppOptions *options, App **out_app, ErrText *out_text) {
  App *app = mem_alloc_zero(1, sizeof *app);
  if (!app) return err_say(ERR_MEMORY, out_text, "no memory for an app");
  app->options = *options;
  app->clock = options->clock ? options->clock : clock_system();
  app->counts = options->counts ? options->counts : &app->own_counts;
  arena_init(&app->batch_arena, 0);
  app->views.last = &app->views.first;
  queue_init(&app->waiting);
  queue_init(&app->applied);
  queue_init(&app->saving);
  const AppLimits *limits = &options->limits;
  VmLimits input = limits_of(limits->input_fuel, APP_INPUT_FUEL, limits->memory_bytes);
  VmLimits view = limits_of(limits->view_fuel, APP_VIEW_FUEL, limits->memory_bytes);
  runner_init(&app->owner, &input, options->log);
  runner_init(&app->viewer, &view, options->log);
  *out_app = app;
  return ERR_NONE;
}

static void app_free(App *app) {
  runner_free(&app->owner);
  runner_free(&app->viewer);
  timers_free(&app->timers);
  arena_free(&app->batch_arena);
  app_module_drop(app->module);
  mem_free(app->records);
  mem_free(app);
}

static Err open_store(App *app, ErrText *out_text) {
  const AppLimits *limits = &app->options.limits;
  StoreOptions options = {.files = app->options.files, .dir = app->options.dir, .sync_inline = app->options.sync_inline,
                          .segment_bytes = app->options.segment_bytes, .checkpoint_bytes = app->options.checkpoint_bytes,
                          .syncs = app->options.syncs, .checkpoints = app->options.checkpoints,
                          .bytes_max = limits->state_bytes ? limits->state_bytes : APP_STATE_BYTES, .synced = store_synced, .context = app};
  TRY(store_open(&options, &app->store, out_text));
  app->last_now_us = store_info(app->store)->now_us;
  return ERR_NONE;
}

// The module asked for, or the one saved with the data.
static Err open_module(App *app, Str bytes, AppModule **out_module, ErrText *out_text) {
  if (bytes.len) return app_module_new(bytes, out_module, out_text);
  const StoreInfo *info = store_info(app->store);
  if (info->is_new) return err_say(ERR_NOT_FOUND, out_text, "there is no module with this data yet; name one");
  Arena arena;
  arena_init(&arena, 0);
  Str saved;
  Err err = store_load_module(app->store, info->module_hash, &arena, &saved, out_text);
  if (err == ERR_NONE) err = app_module_new(saved, out_module, out_text);
  arena_free(&arena);
  return err;
}

static Err fit_module(App *app, AppModule *module, ErrText *out_text) {
  bool is_new = store_info(app->store)->number <= 1;  // no commit, or that of the first schema alone: the first state is still to be made
  Err err = app__fit_state(app, module, out_text);
  if (err != ERR_NONE) return err;
  app_module_drop(app->module);
  app->module = module;
  module->holders++;
  app->owner.settings = &module->settings;
  TRY(app__set_settings(app, is_new, out_text));
  if (is_new) TRY(app__start_state(app, out_text));
  return app__begin_timers(app, out_text);
}

static Err app_begin(App *app, Str module_bytes, ErrText *out_text) {
  TRY(open_store(app, out_text));
  AppModule *module = NULL;
  Err err = open_module(app, module_bytes, &module, out_text);
  if (err == ERR_NONE) err = settings_read(module->module, &app->options.settings, &module->arena, &module->settings, out_text);
  if (err == ERR_NONE) err = fit_module(app, module, out_text);
  app_module_drop(module);
  if (err != ERR_NONE) return err;
  app__publish(app);
  return app->published ? ERR_NONE : err_say(ERR_MEMORY, out_text, "no memory for the first snapshot");
}

static void close_store(App *app, Err *err, ErrText *out_text) {
  app__end_views(app);
  app__drop_published(app->published);
  app->published = NULL;
  if (!app->store) return;
  Err closed = store_close(app->store, *err == ERR_NONE ? out_text : NULL);
  if (*err == ERR_NONE) *err = closed;
  app->store = NULL;
}

Err app_open(const AppOptions *options, Str module_bytes, App **out_app, ErrText *out_text) {
  App *app = NULL;
  TRY(app_new(options, &app, out_text));
  Err err = app_begin(app, module_bytes, out_text);
  if (err == ERR_NONE) {
    *out_app = app;
    return ERR_NONE;
  }
  close_store(app, &err, out_text);
  app_free(app);
  return err;
}

// Something of the batches is not on disk yet.
static bool is_saving(const App *app) { return app->saving_commit || app->running || app->applied.count || app->batch_changes; }
static void turn(App *app, bool with_timers);

Err app_close(App *app, ErrText *out_text) {
  while (is_saving(app) && !app->stopped) {
    store_wait(app->store);
    turn(app, false);
  }
  answer_all(&app->waiting, "the app is closing");
  Err err = ERR_NONE;
  close_store(app, &err, out_text);
  app_free(app);
  return err;
}

// ---- applying ---------------------------------------------------------------------------------------

Err app_submit(App *app, AppInput *input) {
  uint32_t most = app->options.limits.queue_max ? app->options.limits.queue_max : APP_QUEUE_MAX;
  if (app->waiting.count >= most) return ERR_LIMIT;
  queue_put(&app->waiting, input);
  return ERR_NONE;
}

// What the log keeps of an input: which parameters came, then each of them by its type.
static Str encode_args(App *app, const EntryDef *entry, const AppInput *input) {
  Buf bytes;
  buf_init(&bytes, 0);
  varint_write(&bytes, input->given);
  for (uint16_t i = 0; i < entry->param_count; i++) {
    if (input->given >> i & 1) value_encode(&app_module(app)->schema.types, entry->params[i].type, input->args[i], &bytes);
  }
  Str copy = bytes.failed ? (Str){0} : arena_copy(&app->batch_arena, buf_str(&bytes));
  buf_free(&bytes);
  return copy;
}

// Room for the record of one more input or run in the batch: without it none is applied.
bool app__has_record_room(App *app) {
  enum { RECORD_ROOM_FIRST = 16 };
  if (app->record_count < app->record_room) return true;
  uint32_t room = app->record_room ? app->record_room * 2 : RECORD_ROOM_FIRST;
  if (room > APP_BATCH_INPUTS_MAX) return false;
  StoreInput *records = mem_realloc(app->records, room * sizeof *records);
  if (!records) return false;
  app->records = records;
  app->record_room = room;
  return true;
}

static void record_input(App *app, const EntryDef *entry, const AppInput *input, const VmCall *call) {
  assert(app->record_count < app->record_room);
  app->records[app->record_count++] = (StoreInput){
      .name = entry->name, .caller = arena_copy(&app->batch_arena, input->caller.subject), .now_us = call->now_us, .seed = call->seed,
      .args = encode_args(app, entry, input), .status = (uint8_t)input->outcome.kind};
  app->batch_changes = true;
}

// The whole of an input, or its first slice. VM_SLICE: it is longer than that.
static VmStatus begin_input(App *app, AppInput *input, VmCall *out_call) {
  const Module *module = app_module(app);
  Txn *txn = db_txn(store_db(app->store));
  if (!input->alone) {
    input->now_us = app__now(app);
    input->seed = app__seed(app);
  }
  *out_call = (VmCall){.now_us = input->now_us, .seed = input->seed, .caller = input->caller.subject, .given = input->given};
  app->wait_known = false;
  runner_use(&app->owner, module, txn_reader(txn), txn);
  app->owner.context.caller = input->caller;
  VmStatus status = runner_begin_entry(&app->owner, &module->entries[input->entry], out_call, input->args, &input->outcome, input->arena);
  return status == VM_SLICE ? runner_go_on(&app->owner, APP_SLICE_FUEL, &input->outcome, input->arena) : status;
}

// The end of an input whose body has ended.
static void end_input(App *app, AppInput *input, TxnMark mark, const VmCall *call, VmStatus status) {
  const Module *module = app_module(app);
  const EntryDef *entry = &module->entries[input->entry];
  app->counts->input_fuel += app->owner.main.fuel_used;
  if (status == VM_DONE) status = runner_check_end(&app->owner, mark, call, &input->outcome, input->arena);
  if (status == VM_DONE) outcome_done(&input->outcome, module, entry->result, app->owner.main.result, input->arena);
  if (status == VM_DONE && input->outcome.kind == APP_DONE) record_input(app, entry, input, call);
  else txn_undo(db_txn(store_db(app->store)), mark);
  app->counts->inputs[input->outcome.kind]++;
  queue_put(&app->applied, input);
}

// Undone, to be run again alone. What was applied before it is saved first.
static void put_back(App *app, AppInput *input, TxnMark mark) {
  runner_rest(&app->owner);
  txn_undo(db_txn(store_db(app->store)), mark);
  input->alone = true;
  input->next = app->waiting.first;
  if (!input->next) app->waiting.last = &input->next;
  app->waiting.first = input;
  app->waiting.count++;
}

static void apply_input(App *app, AppInput *input) {
  TxnMark mark = txn_mark(db_txn(store_db(app->store)));
  VmCall call;
  VmStatus status = begin_input(app, input, &call);
  if (status != VM_SLICE) end_input(app, input, mark, &call, status);
  else if (input->alone) app->running = input;
  else put_back(app, input, mark);
}

static bool is_batch_open(const App *app) { return app->applied.count || app->batch_changes; }

// Another slice of the long input. The batch is its own, so that the mark is the batch's beginning.
static void go_on_running(App *app) {
  AppInput *input = app->running;
  VmCall call = {.now_us = input->now_us, .seed = input->seed, .caller = input->caller.subject, .given = input->given};
  VmStatus status = runner_go_on(&app->owner, APP_SLICE_FUEL, &input->outcome, input->arena);
  if (status == VM_SLICE) return;
  app->running = NULL;
  end_input(app, input, (TxnMark){0}, &call, status);
}

static void apply_waiting(App *app) {
  int64_t until_us = clock_mono_us(app->clock) + APP_TURN_US;
  app->has_more = false;
  while (app->waiting.count && app->applied.count < APP_BATCH_INPUTS_MAX && app__has_record_room(app)) {
    if (app->waiting.first->alone && is_batch_open(app)) return;  // when the batch is saved
    apply_input(app, queue_take(&app->waiting));
    if (app->running || (app->applied.first && app->applied.first->alone)) return;
    app->has_more = clock_mono_us(app->clock) >= until_us;
    if (app->has_more) return;
  }
}

// ---- saving -----------------------------------------------------------------------------------------

static void forget_batch(App *app) {
  app->record_count = app->batch_runs = 0;
  app->batch_changes = false;
  arena_reset(&app->batch_arena);
}

static void stop_running(App *app) {
  if (!app->running) return;
  runner_rest(&app->owner);
  queue_put(&app->applied, app->running);
  app->running = NULL;
}

// The store has failed: what is being saved may or may not be there after a restart, and nothing more is taken.
static void stop_inputs(App *app) {
  if (!app->stopped) {
    ErrText why;
    Err err = store_error(app->store, &why);
    log_say(app->options.log, LOG_ERROR, STR_FMT ": inputs are stopped: %s", STR_ARG(app_module(app)->name), err ? why.text : "the store is closed");
  }
  app->stopped = true;
  app->saving_commit = 0;
  stop_running(app);
  txn_undo(db_txn(store_db(app->store)), (TxnMark){0});
  forget_batch(app);
  answer_all(&app->saving, "the data could not be saved; after a restart this input may or may not be there");
  answer_all(&app->applied, "the data cannot be saved; nothing was changed");
  answer_all(&app->waiting, "the data cannot be saved; nothing was changed");
}

// Nothing in the batch was saved or changed: there is no room. Later ones may find some.
static void undo_batch(App *app, const char *why) {
  txn_undo(db_txn(store_db(app->store)), (TxnMark){0});
  if (app->batch_runs) app__rest_timers(app);
  forget_batch(app);
  log_say(app->options.log, LOG_WARN, STR_FMT ": %s", STR_ARG(app_module(app)->name), why);
  answer_all(&app->applied, "there is no space to save this; nothing was changed");
}

static void set_commit(InputQueue *queue, uint64_t commit) {
  for (AppInput *input = queue->first; input; input = input->next) {
    if (input->outcome.kind != APP_UNAVAILABLE) input->outcome.commit = commit;
  }
}

// Hands the open batch to the store, if it is free. A batch that changed nothing only waits for what it has read.
static void save_batch(App *app) {
  if ((!app->applied.count && !app->batch_changes) || app->saving_commit || store_busy(app->store)) return;
  if (!app->batch_changes) {
    set_commit(&app->applied, app->published->commit);
    answer_all(&app->applied, NULL);
    forget_batch(app);
    return;
  }
  uint64_t number;
  ErrText why;
  int64_t since_us = clock_mono_us(app->clock);
  Err err = store_commit(app->store, app->records, app->record_count, &number, &why);
  if (err == ERR_AGAIN) return;
  if (err == ERR_CLOSED) { stop_inputs(app); return; }
  if (err != ERR_NONE) { undo_batch(app, why.text); return; }
  set_commit(&app->applied, number);
  queue_move(&app->applied, &app->saving);
  app->saving_commit = number;
  app->saving_since_us = since_us;
  app->counts->commits++;
  app->counts->committed_inputs += app->record_count;
  if (app->batch_runs) app->timer_rests = 0;
  forget_batch(app);
}

// The one exit: answers of a commit leave here and only once it is durable.
static void release_saved(App *app) {
  if (app->unpublished && !app->stopped && !is_saving(app)) app__publish(app);
  if (!app->saving_commit) return;
  if (store_durable_number(app->store) < app->saving_commit) return;
  app__publish(app);
  assert(app->saving_commit <= store_durable_number(app->store));
  uint64_t commit = app->saving_commit;
  app->saving_commit = 0;
  app->counts->sync_us += (uint64_t)(clock_mono_us(app->clock) - app->saving_since_us);
  answer_all(&app->saving, NULL);
  if (app->options.published) app->options.published(app->options.context, commit);
}

// The long input comes before timers, which would open the batch that it must have for itself.
static bool is_alone_next(const App *app) { return app->waiting.first && app->waiting.first->alone; }

static void turn(App *app, bool with_timers) {
  release_saved(app);
  if (app->stopped || store_error(app->store, NULL) != ERR_NONE) {
    stop_inputs(app);
    return;
  }
  if (app->running) {
    go_on_running(app);
  } else {
    if (with_timers && !is_alone_next(app)) app__run_due(app);
    apply_waiting(app);
  }
  if (!app->running) save_batch(app);
  release_saved(app);  // a store that syncs inline is done already
}

void app_turn(App *app) {
  turn(app, true);
  app__run_views(app);
}
AppLoad app_load(const App *app) {
  return (AppLoad){.waiting = app->waiting.count + app->applied.count, .state_bytes = db_bytes(store_db(app->store)), .disk_bytes = store_disk_bytes(app->store)};
}
void app_sync_inline(App *app, bool is_inline) { store_sync_inline(app->store, is_inline); }
bool app_is_busy(const App *app) { return app->waiting.count || app->views.count || is_saving(app); }

// ---- swapping ---------------------------------------------------------------------------------------

static void drain(App *app) {
  while ((app->waiting.count || is_saving(app)) && !app->stopped) {
    store_wait(app->store);
    turn(app, false);
  }
}

// The data lies under the app's name: another name would be another app's module, and after a restart an empty one.
static Err check_name(const App *app, const AppModule *module, ErrText *out_text) {
  Str old = app_module(app)->name, new = module->module->name;
  if (str_equal(old, new)) return ERR_NONE;
  return err_say(ERR_REFUSED, out_text, "this is the app `" STR_FMT "`, and here runs `" STR_FMT "`: its data would stay behind. Keep the name, or stop, rename the folder of the data, and start again",
                 STR_ARG(new), STR_ARG(old));
}

Err app_swap(App *app, Str module_bytes, ErrText *out_text) {
  AppModule *module;
  TRY(app_module_new(module_bytes, &module, out_text));
  Err err = check_name(app, module, out_text);
  if (err == ERR_NONE) err = settings_read(module->module, &app->options.settings, &module->arena, &module->settings, out_text);
  if (err == ERR_NONE) drain(app);
  if (err == ERR_NONE && app->stopped) err = err_say(ERR_CLOSED, out_text, "the app's data cannot be saved; restart the host");
  if (err == ERR_NONE) err = fit_module(app, module, out_text);
  app_module_drop(module);
  if (err == ERR_NONE) app__publish(app);
  return err;
}

uint64_t app_commit(const App *app) { return app->published->commit; }
Err app_error(const App *app, ErrText *out_text) { return store_error(app->store, out_text); }
const StoreInfo *app_store_info(const App *app) { return store_info(app->store); }
