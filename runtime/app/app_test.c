// Tests of an app. A test is a function of the module that the machine runs like any other; what it does to the app goes
// through call_entry, which is the very path of a request: permission, limits, references, body, checks, undo. The state is
// a Db in memory without a store, since nothing of a test outlives it.
#include "runtime/app/app_test.h"

#include "runtime/app/args.h"
#include "runtime/app/call.h"
#include "runtime/app/outbox.h"
#include "runtime/app/settings.h"
#include "runtime/app/timers.h"

enum { TEST_AS_DEPTH_MAX = 16, TEST_FUEL = 2000000000, TEST_MEMORY_BYTES = 512 << 20, TEST_TIMER_RUNS_MAX = 100000 };

typedef struct TestRun {
  Db *db;
  Runner test, entries;
  Timers timers;
  Arena arena;                // what calls leave behind; as long as the test
  int64_t now_us;
  uint64_t calls;             // each has a seed of its own
  AppCaller callers[TEST_AS_DEPTH_MAX];
  uint32_t caller_count;
  Settings settings;
} TestRun;

static TestRun *run_of(Exec *exec) { return ((CallContext *)exec->host_context)->test; }

static HostResult reject_from(Exec *exec, const AppOutcome *outcome) {
  const AppProblem *problem = &outcome->problem;
  uint16_t error = problem->error < exec->module->error_count ? problem->error : ERROR_REJECTED;
  exec->rejection = (Rejection){.error = error, .message = arena_copy(&exec->arena, problem->detail), .field = arena_copy(&exec->arena, problem->field)};
  return HOST_REJECT;
}

static HostResult fault_from(Exec *exec, const TestRun *run, const AppOutcome *outcome) {
  exec->fault.kind = run->entries.main.fault.kind;
  exec->fault.note = arena_copy(&exec->arena, outcome->problem.detail);
  return HOST_FAULT;
}

static bool within_limits(Exec *exec, TestRun *run, const EntryDef *entry, uint64_t given, const Value *args, AppOutcome *outcome) {
  ValueProblems problems = {.arena = &run->arena};
  for (uint16_t i = 0; i < entry->param_count; i++) {
    if (given >> i & 1) limits_check(exec->module, entry->params[i].type, entry->params[i].limits, args[i], entry->params[i].name, &problems);
  }
  if (!problems.count) return true;
  Str words = arena_format(&run->arena, STR_FMT " " STR_FMT, STR_ARG(problems.items[0].path), STR_ARG(problems.items[0].message));
  outcome_reject(outcome, ERROR_BAD_ARGUMENT, problems.items[0].path, words.ptr);
  return false;
}

// Every `always` of the app, on the state as it is. `after` is what changed it last.
static HostResult invariants_hold(Exec *exec, TestRun *run, Str after) {
  const Module *module = exec->module;
  VmCall call = {.now_us = run->now_us};
  for (uint16_t i = 0; i < module->always_count; i++) {
    Exec *asked;
    VmStatus status = runner_run(&run->entries, RUN_INNER, module->always[i].function, &call, NULL, &asked);
    if (status == VM_DONE && asked->result.i) continue;
    Str words = arena_format(&exec->arena, "`always \"" STR_FMT "\"` %s after `" STR_FMT "`", STR_ARG(module->always[i].name),
                             status == VM_DONE ? "does not hold" : "cannot be worked out", STR_ARG(after));
    exec->fault = (VmFault){.kind = FAULT_EXPECT, .note = words};
    return HOST_FAULT;
  }
  return HOST_OK;
}

static HostResult test_call_entry(Exec *exec, uint16_t index, uint64_t given, const Value *args, Value *out) {
  TestRun *run = run_of(exec);
  const EntryDef *entry = &exec->module->entries[index];
  Txn *txn = db_txn(run->db);
  TxnMark mark = txn_mark(txn);
  AppOutcome outcome = {0};
  VmCall call = {.now_us = run->now_us, .seed = ++run->calls, .given = given};
  bool delivered = entry->kind == ENTRY_RECEIVE;  // by nobody who has a token
  run->entries.context.caller = delivered ? (AppCaller){.may_write = true} : run->callers[run->caller_count - 1];
  call.caller = run->entries.context.caller.subject;
  runner_use(&run->entries, exec->module, txn_reader(txn), entry->kind == ENTRY_VIEW ? NULL : txn);
  VmStatus status = VM_REJECTED;
  if (within_limits(exec, run, entry, given, args, &outcome)) status = runner_call_entry(&run->entries, entry, &call, args, &outcome, &run->arena);
  if (status == VM_DONE && entry->kind != ENTRY_VIEW) status = runner_check_end(&run->entries, mark, &call, &outcome, &run->arena);
  if (status != VM_DONE) txn_undo(txn, mark);
  if (status == VM_REJECTED) return reject_from(exec, &outcome);
  if (status != VM_DONE) return fault_from(exec, run, &outcome);
  Value result = run->entries.main.result;
  if (entry->kind != ENTRY_VIEW && invariants_hold(exec, run, entry->name) != HOST_OK) return HOST_FAULT;
  if (entry->result == TYPE_NONE) return HOST_OK;
  if (value_copy(&exec->module->schema.types, entry->result, result, &exec->arena, out)) return HOST_OK;
  return vm_fault(exec, FAULT_BUDGET, "no memory for a result");
}

static uint32_t test_mark(Exec *exec) { return txn_mark(db_txn(run_of(exec)->db)).change; }
static void test_undo(Exec *exec, uint32_t mark) { txn_undo(db_txn(run_of(exec)->db), (TxnMark){mark}); }

// ---- the clock --------------------------------------------------------------------------------------

static TimerNow test_now(const TestRun *run) { return (TimerNow){run->now_us, run->now_us, run->now_us}; }

// One run of what is due now. A rejection is part of an app's life, a fault is a bug that the test has found.
static HostResult run_due(Exec *exec, TestRun *run, Arena *arena) {
  Txn *txn = db_txn(run->db);
  TimerDue due;
  TimerNow now = test_now(run);
  timers_begin_turn(&run->timers);
  runner_use(&run->entries, exec->module, txn_reader(txn), txn);
  run->entries.context.caller = (AppCaller){0};
  if (!timers_find(&run->timers, txn_reader(txn), &now, arena, &due)) return vm_fault(exec, FAULT_BUDGET, "no memory for a timer");
  TimerRun one = {.runner = &run->entries, .call = {.now_us = run->now_us, .seed = ++run->calls}, .now = now, .arena = arena};
  TimersEnd end = timers_run(&run->timers, &due, &one);
  if (end == TIMERS_NO_ROOM) return vm_fault(exec, FAULT_BUDGET, "no memory for a timer");
  if (one.outcome.kind != APP_FAULT) return invariants_hold(exec, run, exec->module->timers[due.timer].name);
  Str words = arena_format(&exec->arena, "the timer `" STR_FMT "`: " STR_FMT, STR_ARG(exec->module->timers[due.timer].name), STR_ARG(one.outcome.problem.detail));
  exec->fault = (VmFault){.kind = run->entries.main.fault.kind, .note = words};
  return HOST_FAULT;
}

// Goes from one thing that falls due to the next, each at its own time.
static HostResult run_until(Exec *exec, TestRun *run, int64_t until_us) {
  Arena arena;
  HostResult result = HOST_OK;
  arena_init(&arena, 0);
  for (uint32_t runs = 0; result == HOST_OK; runs++) {
    TimerNow now = test_now(run);
    TimerWait wait = timers_wait(&run->timers, txn_reader(db_txn(run->db)), &now);
    int64_t left = timers_wait_left(&wait, &now);
    if (left > until_us - run->now_us) break;
    run->now_us += left;
    if (runs == TEST_TIMER_RUNS_MAX) result = vm_fault(exec, FAULT_RANGE, "timers ran 100000 times in one `advance` (TEST_TIMER_RUNS_MAX): advance by less");
    else result = run_due(exec, run, &arena);
    arena_reset(&arena);
  }
  arena_free(&arena);
  return result;
}

static HostResult test_advance(Exec *exec, int64_t duration_us) {
  TestRun *run = run_of(exec);
  int64_t until_us;
  if (duration_us < 0 || __builtin_add_overflow(run->now_us, duration_us, &until_us) || !time_in_range(until_us)) {
    return vm_fault(exec, FAULT_RANGE, "a test's clock only goes on, and not past the year 9999");
  }
  HostResult result = run_until(exec, run, until_us);
  run->now_us = exec->call.now_us = until_us;
  return result;
}

static HostResult test_sent(Exec *exec, uint16_t output, TypeId list, Value *out) {
  TestRun *run = run_of(exec);
  return outbox_list(exec, txn_reader(db_txn(run->db)), run->test.outbox, output, list, out);
}

// ---- who calls --------------------------------------------------------------------------------------

static void set_caller(Exec *exec, TestRun *run) {
  const AppCaller *caller = &run->callers[run->caller_count - 1];
  exec->call.caller = caller->subject;
  run->test.context.caller = *caller;
}

static HostResult test_as_begin(Exec *exec, Str caller, uint64_t roles) {
  TestRun *run = run_of(exec);
  if (run->caller_count == TEST_AS_DEPTH_MAX) return vm_fault(exec, FAULT_BUDGET, "`as` inside `as` too many times");
  Str name = arena_copy(&run->arena, caller);
  if (!name.ptr) return vm_fault(exec, FAULT_BUDGET, "no memory for a caller");
  run->callers[run->caller_count++] = (AppCaller){.subject = name, .roles = roles, .may_read = true, .may_write = true, .signed_in = true};
  set_caller(exec, run);
  return HOST_OK;
}

static void test_as_end(Exec *exec) {
  TestRun *run = run_of(exec);
  if (run->caller_count > 1) run->caller_count--;
  set_caller(exec, run);
}

// ---- running ----------------------------------------------------------------------------------------

static Err begin(TestRun *run, const Module *module) {
  *run = (TestRun){.now_us = APP_TEST_NOW_US, .caller_count = 1};
  TRY(db_open(&module->schema, 0, &run->db));
  Err err = timers_bind(&run->timers, module, run->now_us);
  if (err != ERR_NONE) {
    db_free(run->db);
    return err;
  }
  VmLimits limits = {TEST_FUEL, TEST_MEMORY_BYTES};
  runner_init(&run->test, &limits, NULL);
  runner_init(&run->entries, &limits, NULL);
  arena_init(&run->arena, 0);
  run->callers[0] = (AppCaller){.roles = UINT64_MAX, .may_read = true, .may_write = true, .signed_in = true};
  VmHost *host = &run->test.host;
  host->call_entry = test_call_entry;
  host->mark = test_mark;
  host->undo = test_undo;
  host->advance = test_advance;
  host->as_begin = test_as_begin;
  host->as_end = test_as_end;
  host->sent = test_sent;
  run->test.context.test = run;
  run->test.context.caller = run->callers[0];
  return ERR_NONE;
}

static void end(TestRun *run) {
  runner_free(&run->test);
  runner_free(&run->entries);
  arena_free(&run->arena);
  timers_free(&run->timers);
  db_free(run->db);
}

static void fail(AppTestResult *result, Arena *arena, const Module *module, const VmFault *place, Str message) {
  SourcePlace where = function_place(module, &module->functions[place->function], place->pc);
  *result = (AppTestResult){.message = arena_copy(arena, message), .file = where.file, .line = where.line};
}

static void run_test(TestRun *run, const Module *module, uint16_t test, Arena *arena, AppTestResult *result) {
  Txn *txn = db_txn(run->db);
  VmCall call = {.now_us = run->now_us, .seed = 1};
  AppOutcome outcome = {0};
  Exec *exec;
  *result = (AppTestResult){.passed = true};
  runner_use(&run->entries, module, txn_reader(txn), txn);
  ErrText why;
  bool changed;
  SettingsWrite write = {&run->entries, txn, &call, &run->arena};
  if (settings_write(&write, &run->settings, &changed, &why) != ERR_NONE) {
    *result = (AppTestResult){.message = arena_format(arena, "%s", why.text)};
    return;
  }
  if (runner_start_state(&run->entries, &call, &outcome, &run->arena) != VM_DONE) {
    *result = (AppTestResult){.message = arena_format(arena, "the first state cannot be made: " STR_FMT, STR_ARG(outcome.problem.detail))};
    return;
  }
  runner_use(&run->test, module, txn_reader(txn), txn);
  VmStatus status = runner_run(&run->test, RUN_MAIN, module->tests[test].function, &call, NULL, &exec);
  if (status == VM_FAULT) {
    fail(result, arena, module, &exec->fault, exec->fault.note.len ? exec->fault.note : STR("fault"));
  } else if (status == VM_REJECTED) {
    Str words = arena_format(arena, "rejected: " STR_FMT " (" STR_FMT ")", STR_ARG(exec->rejection.message), STR_ARG(module->errors[exec->rejection.error].name));
    fail(result, arena, module, &exec->fault, words);
  }
}

Err app_test_settings(const Module *module, const AppSettings *settings, ErrText *out_text) {
  Arena arena;
  Settings read;
  arena_init(&arena, 0);
  Err err = settings_read(module, settings, &arena, &read, out_text);
  arena_free(&arena);
  return err;
}

Err app_test_run(const Module *module, const AppSettings *settings, uint16_t test, Arena *arena, AppTestResult *out_result) {
  TestRun run;
  ErrText why;
  TRY(begin(&run, module));
  Err err = settings_read(module, settings, &run.arena, &run.settings, &why);
  run.test.settings = run.entries.settings = &run.settings;
  if (err == ERR_NONE) run_test(&run, module, test, arena, out_result);
  end(&run);
  return err;
}
