// One call of an app's code, wherever it comes from: an input, a view, a test, a default, a check, a role. A Runner has the
// Execs that a call can need at once (what is called, and inside it a check or default, and inside that a role), so
// that a warm app allocates none.
//
// Owns:   a Runner owns its Execs; results live in them until the next call of the same kind.
// Thread: one at a time.
// Errors: an AppOutcome; ERR_MEMORY for setting up.
// Limits: those given to runner_init, for each call.
#pragma once
#include "runtime/app/app.h"
#include "runtime/query/query.h"
#include "runtime/vm/vm.h"

typedef struct CallContext {
  QueryContext query;         // first: query_install's functions find it here
  AppCaller caller;
  struct Runner *runner;
  struct TestRun *test;       // of a test's own call, else NULL
} CallContext;

typedef struct Runner {
  const Module *module;
  VmLimits limits;
  CallContext context;
  VmHost host;
  HostResult (*state_get)(Exec *exec, uint16_t column, Value *out);  // that of the queries
  Exec main, inner, role;     // one inside the other
  bool main_ready, inner_ready, role_ready;
  const Log *log;
  uint16_t outbox, tokens;    // tables of `module`, or OUTBOX_NONE, TOKENS_NONE
  const struct Settings *settings;  // of the app, or NULL: then no value of a secret one is known
  bool issued_token;          // by the entry that was begun last
} Runner;

void runner_init(Runner *runner, const VmLimits *limits, const Log *log);
void runner_free(Runner *runner);
// Everything that follows reads `reader` and changes `txn` (NULL: nothing) under `module`.
void runner_use(Runner *runner, const Module *module, const Reader *reader, Txn *txn);

// Runs a function to its end on the given Exec of the runner. ERR_MEMORY: no memory to begin.
typedef enum RunnerLevel { RUN_MAIN, RUN_INNER, RUN_ROLE } RunnerLevel;
VmStatus runner_run(Runner *runner, RunnerLevel level, uint16_t function, const VmCall *call, const Value *args, Exec **out_exec);

bool runner_has_role(Runner *runner, uint16_t role);
// May the caller use the entry?
bool runner_may(Runner *runner, const EntryDef *entry);

// The whole of an entry's call but the end of an input's transaction: permission, references, defaults, body.
// DONE: the result is in runner->main.result.
VmStatus runner_call_entry(Runner *runner, const EntryDef *entry, const VmCall *call, const Value *args, AppOutcome *outcome, Arena *arena);
// The same in pieces: everything before the body (VM_SLICE: it can begin, or how it ended already), then the body for about so much
// fuel at a time (VM_SLICE: not done yet). `args` stay until the end.
VmStatus runner_begin_entry(Runner *runner, const EntryDef *entry, const VmCall *call, const Value *args, AppOutcome *outcome, Arena *arena);
VmStatus runner_go_on(Runner *runner, uint64_t slice_fuel, AppOutcome *outcome, Arena *arena);
void runner_rest(Runner *runner);   // closes what a call has open, and gives its memory back
// The body of a timer: no caller, no parameters but `args`.
VmStatus runner_call_function(Runner *runner, uint16_t function, const VmCall *call, const Value *args, AppOutcome *outcome, Arena *arena);
// Deletes a row as the app's own `delete` would, with what its references say.
VmStatus runner_delete_row(Runner *runner, uint16_t table, Value key, const VmCall *call, AppOutcome *outcome, Arena *arena);
// What must hold at the end of an input, for the rows touched since `mark`: limits, checks, unique rules.
VmStatus runner_check_end(Runner *runner, TxnMark mark, const VmCall *call, AppOutcome *outcome, Arena *arena);

// The first state of an app: the defaults of its state values, then its `start`, then the checks.
VmStatus runner_start_state(Runner *runner, const VmCall *call, AppOutcome *outcome, Arena *arena);

// ---- outcomes -----------------------------------------------------------------------------------
void outcome_done(AppOutcome *outcome, const Module *module, TypeId type, Value value, Arena *arena);
void outcome_rejected(AppOutcome *outcome, const Module *module, const Rejection *rejection, Arena *arena);
// Logs the fault with a new id, file, line.
void outcome_fault(AppOutcome *outcome, const Module *module, const VmFault *fault, const Log *log, Arena *arena);
void outcome_unavailable(AppOutcome *outcome, const char *detail);
// One of the built-in errors; `detail` NULL: its own message.
void outcome_reject(AppOutcome *outcome, BuiltinError error, Str field, const char *detail);
