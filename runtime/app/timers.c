// A periodic timer keeps the moment that its last run was for, always a multiple of its rhythm behind the first one, so it does
// not drift, and what was missed is one run. A row's timer keeps in the row when it is due; the app's own code arms it where
// the field is written (compiler/check/kept.c). An expiry keeps nothing: the rows themselves say when they are too old.
//
// While the wall clock is behind the app's time (somebody set it back), the app's time stands still. What waits for a time of
// the day then waits for it; what runs every five minutes goes on by the monotonic clock.
#include "runtime/app/timers.h"

#include <assert.h>

#include "runtime/base/mem.h"

static const Value STATE_KEY = {.i = 0};

// ---- states -----------------------------------------------------------------------------------------

Err timers_bind(Timers *timers, const Module *module, int64_t mono_us) {
  TimerState *states = mem_alloc_zero(module->timer_count + 1u, sizeof *states);
  if (!states) return ERR_MEMORY;
  for (uint16_t i = 0; i < module->timer_count; i++) states[i].ran_mono_us = mono_us;
  mem_free(timers->states);
  *timers = (Timers){module, states};
  return ERR_NONE;
}

void timers_free(Timers *timers) {
  mem_free(timers->states);
  *timers = (Timers){0};
}

void timers_begin_turn(Timers *timers) {
  for (uint16_t i = 0; i < timers->module->timer_count; i++) timers->states[i].runs = 0;
}

// ---- times ------------------------------------------------------------------------------------------

static int64_t add_or_never(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// The day whose time `at` is the last one that is not after the moment.
static bool slot_day(const Module *module, const TimerDef *timer, int64_t moment, int64_t *out_day) {
  int64_t local;
  if (zone_local(&module->zone, moment, &local) != NUM_OK) return false;
  *out_day = floor_divide(local - timer->at_us, DAY);
  return true;
}

static int64_t time_of_slot(const Module *module, const TimerDef *timer, int64_t day) {
  int64_t at;
  return zone_time_of(&module->zone, day, timer->at_us, &at) == NUM_OK ? at : INT64_MAX;
}

// When a timer whose last run was for `kept` is due again.
static int64_t next_slot(const Module *module, const TimerDef *timer, int64_t kept) {
  int64_t day;
  if (timer->kind == TIMER_EVERY) return add_or_never(kept, timer->period_us);
  return slot_day(module, timer, kept, &day) ? time_of_slot(module, timer, day + timer->period_us / DAY) : INT64_MAX;
}

// The last moment up to now that its rhythm has; all that were missed before it are this one run.
static int64_t last_slot(const Module *module, const TimerDef *timer, int64_t kept, int64_t now) {
  if (now < next_slot(module, timer, kept)) return now;  // by the monotonic clock: the rhythm starts anew
  if (timer->kind == TIMER_EVERY) return kept + (now - kept) / timer->period_us * timer->period_us;
  int64_t from, to, days = timer->period_us / DAY;
  if (!slot_day(module, timer, kept, &from) || !slot_day(module, timer, now, &to)) return now;
  int64_t slot = time_of_slot(module, timer, from + (to - from) / days * days);
  return slot <= now ? slot : now;
}

// ---- reading ----------------------------------------------------------------------------------------

static bool read_state(const Reader *reader, uint16_t column, Value *out) {
  Row row;
  return row_find(reader, SCHEMA_STATE_TABLE, STATE_KEY, &row) && row_column(&row, column, NULL, out) == ERR_NONE;
}

// The range of rows by the times in a column, up to `until`; none is not among them.
static Range range_by_time(const Module *module, const TimerDef *timer, int64_t from, int64_t until) {
  uint16_t column = timer->kind == TIMER_ROWS ? timer->kept : timer->column;
  const TableDef *def = &module->schema.tables[timer->table];
  const TypeTable *types = &module->schema.types;
  TypeId type = def->columns[column].type;
  bool optional = type_kind(types, type) == TYPE_OPTIONAL;
  Range range = {.table = timer->table, .index = SCHEMA_NO_INDEX, .has_low = true, .has_high = true, .low_inclusive = true, .high_inclusive = true};
  range.low = optional ? value_some(types, type, (Value){.i = from}) : (Value){.i = from};
  range.high = optional ? value_some(types, type, (Value){.i = until}) : (Value){.i = until};
  if (def->key[0] == column) return range;
  for (uint16_t i = 0; i < def->index_count; i++) {
    if (def->indexes[i].columns[0].column != column) continue;
    range.index = i;
    range.backward = def->indexes[i].columns[0].descending;
    return range;
  }
  assert(!"the verifier has seen the index");
  return range;
}

static int64_t time_at(const Module *module, const TimerDef *timer, Cursor *cursor, Arena *arena) {
  uint16_t column = timer->kind == TIMER_ROWS ? timer->kept : timer->column;
  TypeId type = module->schema.tables[timer->table].columns[column].type;
  Value value;
  if (cursor_column(cursor, column, arena, &value) != ERR_NONE) return INT64_MAX;
  return type_kind(&module->schema.types, type) == TYPE_OPTIONAL ? value_open(&module->schema.types, type, value).i : value.i;
}

// The row with the earliest time. False: there is none, or no memory to look (the next turn looks again).
static bool first_row(const Module *module, const TimerDef *timer, const Reader *reader, Arena *arena, int64_t *out_at, Value *out_key) {
  Range range = range_by_time(module, timer, INT64_MIN, INT64_MAX);
  Cursor *cursor = NULL;
  if (cursor_open(reader, &range, arena, &cursor) != ERR_NONE || !cursor_next(cursor)) return false;
  *out_at = time_at(module, timer, cursor, arena);
  if (!out_key) return true;
  TypeId key_type = module->schema.types.table_keys[timer->table];
  Value key;
  return cursor_key(cursor, arena, &key) == ERR_NONE && value_copy(&module->schema.types, key_type, key, arena, out_key);
}

// When the timer is due by the wall clock, rests aside.
static int64_t due_at(const Timers *timers, uint16_t index, const Reader *reader, Arena *arena, Value *out_key) {
  const TimerDef *timer = &timers->module->timers[index];
  Value kept;
  int64_t at;
  switch ((TimerKind)timer->kind) {
    case TIMER_EVERY: case TIMER_DAILY: return read_state(reader, timer->kept, &kept) ? next_slot(timers->module, timer, kept.i) : INT64_MAX;
    case TIMER_ROWS: return first_row(timers->module, timer, reader, arena, &at, out_key) ? at : INT64_MAX;
    case TIMER_EXPIRE:
      if (timers->states[index].passing) return INT64_MIN;
      return first_row(timers->module, timer, reader, arena, &at, NULL) ? add_or_never(at, timer->period_us) : INT64_MAX;
    case TIMER_KINDS: break;
  }
  return INT64_MAX;
}

// ---- what is next -----------------------------------------------------------------------------------

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
static bool is_resting(const TimerState *state, const TimerNow *now) { return state->rest_until_mono_us > now->mono_us; }
static bool is_behind(const TimerNow *now) { return now->wall_us < now->now_us; }

TimerWait timers_wait(const Timers *timers, const Reader *reader, const TimerNow *now) {
  TimerWait wait = {INT64_MAX, INT64_MAX, INT64_MAX};
  Arena arena;
  arena_init(&arena, 0);
  for (uint16_t i = 0; i < timers->module->timer_count; i++) {
    const TimerState *state = &timers->states[i];
    if (is_resting(state, now)) { wait.mono_us = lesser(wait.mono_us, state->rest_until_mono_us); continue; }
    wait.wall_us = lesser(wait.wall_us, due_at(timers, i, reader, &arena, NULL));
    const TimerDef *timer = &timers->module->timers[i];
    if (timer->kind == TIMER_EVERY) wait.behind_mono_us = lesser(wait.behind_mono_us, add_or_never(state->ran_mono_us, timer->period_us));
    arena_reset(&arena);
  }
  arena_free(&arena);
  return wait;
}

static int64_t left_until(int64_t until, int64_t now) {
  int64_t left;
  if (until == INT64_MAX) return INT64_MAX;
  if (until <= now) return 0;
  return __builtin_sub_overflow(until, now, &left) ? INT64_MAX : left;
}

// What is due by the app's time is due, also when the wall clock is behind it.
int64_t timers_wait_left(const TimerWait *wait, const TimerNow *now) {
  if (wait->wall_us <= now->now_us) return 0;
  int64_t left = lesser(left_until(wait->wall_us, now->wall_us), left_until(wait->mono_us, now->mono_us));
  return is_behind(now) ? lesser(left, left_until(wait->behind_mono_us, now->mono_us)) : left;
}

static bool is_due_behind(const Timers *timers, uint16_t index, const TimerNow *now) {
  const TimerDef *timer = &timers->module->timers[index];
  return timer->kind == TIMER_EVERY && is_behind(now) && add_or_never(timers->states[index].ran_mono_us, timer->period_us) <= now->mono_us;
}

bool timers_find(const Timers *timers, const Reader *reader, const TimerNow *now, Arena *arena, TimerDue *out_due) {
  bool found = false;
  for (uint16_t i = 0; i < timers->module->timer_count; i++) {
    const TimerState *state = &timers->states[i];
    if (state->runs >= TIMER_RUNS_MAX || is_resting(state, now)) continue;
    TimerDue due = {.timer = i};
    due.at_us = due_at(timers, i, reader, arena, &due.key);
    if (due.at_us > now->now_us && is_due_behind(timers, i, now)) due.at_us = now->now_us;
    if (due.at_us > now->now_us || (found && due.at_us >= out_due->at_us)) continue;
    *out_due = due;
    found = true;
  }
  return found;
}

// ---- rows older than their timer --------------------------------------------------------------------

static Err arm_row(const Module *module, const TimerDef *timer, Txn *txn, Cursor *cursor, Arena *arena) {
  const TypeTable *types = &module->schema.types;
  const TableDef *def = &module->schema.tables[timer->table];
  Value key, copy, due;
  TRY(cursor_key(cursor, arena, &key));
  if (!value_copy(types, types->table_keys[timer->table], key, arena, &copy)) return ERR_MEMORY;
  TRY(cursor_column(cursor, timer->column, arena, &due));
  TypeId from = def->columns[timer->column].type, to = def->columns[timer->kept].type;
  if (type_kind(types, from) == TYPE_OPTIONAL) due = value_open(types, from, due);
  due = value_some(types, to, due);
  return txn_update(txn, timer->table, copy, 1, &timer->kept, &due);
}

static bool is_still_to_come(const Module *module, const TimerDef *timer, Cursor *cursor, Arena *arena, int64_t now_us) {
  TypeId type = module->schema.tables[timer->table].columns[timer->column].type;
  bool optional = type_kind(&module->schema.types, type) == TYPE_OPTIONAL;
  Value value;
  if (cursor_column(cursor, timer->column, arena, &value) != ERR_NONE) return false;
  if (optional && !value_is_some(&module->schema.types, type, value)) return false;
  return (optional ? value_open(&module->schema.types, type, value).i : value.i) > now_us;
}

static Err arm_rows(const Module *module, const TimerDef *timer, Txn *txn, int64_t now_us) {
  Arena place, arena;  // of the cursor, and of one row
  arena_init(&place, 0);
  arena_init(&arena, 0);
  Range range = {.table = timer->table, .index = SCHEMA_NO_INDEX};
  Cursor *cursor = NULL;
  Err err = cursor_open(txn_reader(txn), &range, &place, &cursor);
  while (err == ERR_NONE && cursor_next(cursor)) {
    if (is_still_to_come(module, timer, cursor, &arena, now_us)) err = arm_row(module, timer, txn, cursor, &arena);
    arena_reset(&arena);
  }
  arena_free(&arena);
  arena_free(&place);
  Value begun = {.i = 1};
  return err == ERR_NONE ? txn_update(txn, SCHEMA_STATE_TABLE, STATE_KEY, 1, &timer->begun, &begun) : err;
}

Err timers_begin(const Module *module, Txn *txn, int64_t now_us, bool *out_changed) {
  *out_changed = false;
  for (uint16_t i = 0; i < module->timer_count; i++) {
    const TimerDef *timer = &module->timers[i];
    Value begun;
    if (timer->kind != TIMER_ROWS || !read_state(txn_reader(txn), timer->begun, &begun) || begun.i) continue;
    TRY(arm_rows(module, timer, txn, now_us));
    *out_changed = true;
  }
  return ERR_NONE;
}

// ---- running ----------------------------------------------------------------------------------------

static Txn *txn_of(const TimerRun *run) { return run->runner->context.query.txn; }

static VmStatus run_function(const TimerDef *timer, const Value *args, TimerRun *run, TxnMark mark) {
  VmStatus status = runner_call_function(run->runner, timer->function, &run->call, args, &run->outcome, run->arena);
  if (status == VM_DONE) status = runner_check_end(run->runner, mark, &run->call, &run->outcome, run->arena);
  if (status != VM_DONE) txn_undo(txn_of(run), mark);
  return status;
}

static TimersEnd no_room(TimerRun *run, TxnMark mark) {
  txn_undo(txn_of(run), mark);
  return TIMERS_NO_ROOM;
}

// However it ended, it counts as run.
static TimersEnd run_periodic(const Module *module, const TimerDef *timer, TimerRun *run) {
  TxnMark mark = txn_mark(txn_of(run));
  Value kept;
  if (!read_state(run->runner->context.query.reader, timer->kept, &kept)) return TIMERS_NO_ROOM;
  run_function(timer, NULL, run, mark);
  if (run->outcome.kind == APP_UNAVAILABLE) return no_room(run, mark);
  Value slot = {.i = last_slot(module, timer, kept.i, run->now.now_us)};
  Err err = txn_update(txn_of(run), SCHEMA_STATE_TABLE, STATE_KEY, 1, &timer->kept, &slot);
  return err == ERR_NONE ? TIMERS_RAN : no_room(run, mark);
}

static bool keep_row(const Module *module, const TimerDef *timer, TimerRun *run, Value key, const Value *due, int64_t tries) {
  const uint16_t columns[] = {timer->kept, timer->tries};
  TypeId type = module->schema.tables[timer->table].columns[timer->kept].type;
  Value values[] = {due ? value_some(&module->schema.types, type, *due) : value_none(&module->schema.types, type), {.i = tries}};
  return txn_update(txn_of(run), timer->table, key, 2, columns, values) == ERR_NONE;
}

static bool read_tries(const TimerDef *timer, TimerRun *run, Value key, int64_t *out_tries) {
  Row row;
  Value tries;
  if (!row_find(run->runner->context.query.reader, timer->table, key, &row) || row_column(&row, timer->tries, NULL, &tries) != ERR_NONE) return false;
  *out_tries = tries.i;
  return true;
}

static int64_t doubled(int64_t first, int64_t most, int64_t times) {
  for (; times > 0 && first < most; times--) first *= 2;
  return first < most ? first : most;
}

// The row is disarmed before its function runs, so that the function can arm it again.
static TimersEnd run_row(const Module *module, const TimerDef *timer, Value key, TimerRun *run) {
  TxnMark mark = txn_mark(txn_of(run));
  int64_t tries;
  if (!read_tries(timer, run, key, &tries) || !keep_row(module, timer, run, key, NULL, 0)) return no_room(run, mark);
  VmStatus status = run_function(timer, &key, run, mark);
  if (run->outcome.kind == APP_UNAVAILABLE) return no_room(run, mark);
  if (status == VM_DONE) return TIMERS_RAN;
  Value later = {.i = add_or_never(run->now.now_us, doubled(TIMER_RETRY_FIRST, TIMER_RETRY_MAX, tries))};
  bool again = status == VM_FAULT;
  bool kept = keep_row(module, timer, run, key, again ? &later : NULL, again ? tries + 1 : 0);
  return kept ? TIMERS_RAN : no_room(run, mark);
}

// ---- expiry -----------------------------------------------------------------------------------------

typedef struct OldRow { Value key; int64_t at_us; bool stays; } OldRow;
typedef struct Batch { OldRow rows[TIMER_EXPIRE_ROWS_MAX]; uint32_t count; bool more; } Batch;

static bool gather_old(const Module *module, const TimerDef *timer, const TimerState *state, TimerRun *run, Batch *batch) {
  int64_t until;
  Cursor *cursor = NULL;
  if (__builtin_sub_overflow(run->now.now_us, timer->period_us, &until)) return true;
  Range range = range_by_time(module, timer, state->passing ? state->pass_from_us : INT64_MIN, until);
  if (cursor_open(run->runner->context.query.reader, &range, run->arena, &cursor) != ERR_NONE) return false;
  if (state->passing && cursor_skip(cursor, state->pass_skip) != ERR_NONE) return false;
  while (cursor_next(cursor)) {
    batch->more = batch->count == TIMER_EXPIRE_ROWS_MAX;
    if (batch->more) return true;
    OldRow *row = &batch->rows[batch->count++];
    Value key;
    if (cursor_key(cursor, run->arena, &key) != ERR_NONE) return false;
    if (!value_copy(&module->schema.types, module->schema.types.table_keys[timer->table], key, run->arena, &row->key)) return false;
    row->at_us = time_at(module, timer, cursor, run->arena);
  }
  return true;
}

// One row in a transaction of its own: what one of them cannot do does not keep the others.
static bool delete_old(const TimerDef *timer, Value key, TimerRun *run) {
  Row row;
  if (!row_find(run->runner->context.query.reader, timer->table, key, &row)) return true;  // went with another one
  TxnMark mark = txn_mark(txn_of(run));
  VmStatus status = runner_delete_row(run->runner, timer->table, key, &run->call, &run->outcome, run->arena);
  if (status == VM_DONE) status = runner_check_end(run->runner, mark, &run->call, &run->outcome, run->arena);
  if (status != VM_DONE) txn_undo(txn_of(run), mark);
  else run->rows++;
  return status == VM_DONE;
}

// A pass goes over the old rows once, part by part. Rows that are still in use stay; then the next pass comes later.
static void end_part(TimerState *state, const Batch *batch, const TimerRun *run) {
  if (batch->more) {
    int64_t last_us = batch->rows[batch->count - 1].at_us;
    if (!state->passing || last_us != state->pass_from_us) state->pass_skip = 0;
    for (uint32_t i = 0; i < batch->count; i++) state->pass_skip += batch->rows[i].stays && batch->rows[i].at_us == last_us;
    state->pass_from_us = last_us;
  }
  state->passing = batch->more;
  if (state->passing) return;
  state->rests = state->met_in_use ? state->rests + 1 : 0;
  if (state->met_in_use) state->rest_until_mono_us = run->now.mono_us + doubled(TIMER_IN_USE_FIRST, TIMER_IN_USE_MAX, state->rests - 1);
  state->met_in_use = false;
}

static TimersEnd run_expire(const Module *module, const TimerDef *timer, TimerState *state, TimerRun *run) {
  Batch *batch = arena_alloc_zero(run->arena, 1, sizeof *batch);
  if (!batch || !gather_old(module, timer, state, run, batch)) return TIMERS_NO_ROOM;
  AppOutcome refused = {.kind = APP_DONE};
  for (uint32_t i = 0; i < batch->count; i++) {
    if (delete_old(timer, batch->rows[i].key, run)) continue;
    state->met_in_use = batch->rows[i].stays = true;
    if (refused.kind == APP_DONE) refused = run->outcome;
  }
  run->outcome = refused;
  end_part(state, batch, run);
  return TIMERS_RAN;
}

TimersEnd timers_run(Timers *timers, const TimerDue *due, TimerRun *run) {
  const TimerDef *timer = &timers->module->timers[due->timer];
  TimerState *state = &timers->states[due->timer];
  TimersEnd end = TIMERS_NO_ROOM;
  run->outcome = (AppOutcome){.kind = APP_DONE};
  run->rows = 0;
  switch ((TimerKind)timer->kind) {
    case TIMER_EVERY: case TIMER_DAILY: end = run_periodic(timers->module, timer, run); break;
    case TIMER_ROWS: end = run_row(timers->module, timer, due->key, run); break;
    case TIMER_EXPIRE: end = run_expire(timers->module, timer, state, run); break;
    case TIMER_KINDS: break;
  }
  state->runs++;
  state->ran_mono_us = run->now.mono_us;
  return end;
}
