// The machine: runs one call of a verified module's function, at most so many units of fuel at a time.
//
// An Exec holds everything of one call: its stack of frames, registers and arena. vm_run goes on until the call is done,
// rejected or at fault, or until the slice of fuel is used up; then it can be called again and goes on at the same
// instruction. Nothing of a call stands on the C stack in between, queries and their blocks included.
//
// What the machine cannot know (rows, queries, the caller, tests) it asks of a VmHost, that the query and app rooms install.
//
// Owns:   an Exec owns its stack and arena; results live in the arena until vm_finish.
// Thread: one at a time an Exec; many Execs may run one Module.
// Errors: see VmStatus; memory that runs out is fault BUDGET.
// Limits: VmLimits; CALL_DEPTH_MAX frames.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/module/module.h"

typedef enum VmStatus {
  VM_DONE,      // `result` is there
  VM_REJECTED,  // `rejection` says why
  VM_FAULT,     // `fault` says what and where
  VM_SLICE,     // the slice is used up: call vm_run again
} VmStatus;

typedef struct Rejection {
  uint16_t error;       // index into the module's errors
  Str message;
  uint16_t count;       // the error's parameters
  const Value *values;
  Str field;            // the argument or field it is about, or empty
} Rejection;
typedef struct VmFault { FaultKind kind; uint16_t function; uint32_t pc; Str note; } VmFault;  // note: more words, or empty

typedef struct Exec Exec;
// For the whole call. A unit of fuel is about the time of one plain instruction, 1.7 ns on the machine it was measured on.
typedef struct VmLimits { uint64_t fuel, memory_bytes; } VmLimits;

// How a host function ends. HOST_REJECT and HOST_FAULT have filled exec->rejection or exec->fault (kind, note).
typedef enum HostResult { HOST_OK, HOST_REJECT, HOST_FAULT } HostResult;
// What a query wants next of the machine (see runtime/query/query.h).
// QUERY_AGAIN: the slice is used up in the middle of long work (a scan, a sort); ask again when there is a new one.
typedef enum QueryStepKind { QUERY_FRAME, QUERY_END, QUERY_BLOCK, QUERY_AGAIN, QUERY_FAILED } QueryStepKind;
typedef struct QueryStep { QueryStepKind kind; uint16_t block; } QueryStep;

// All get `exec`, whose `host_context` is what was given to vm_start. Values they return may live in exec's arena.
typedef struct VmHost {
  HostResult (*state_get)(Exec *exec, uint16_t column, Value *out);
  HostResult (*state_set)(Exec *exec, uint16_t column, Value value);
  HostResult (*row_has)(Exec *exec, uint16_t table, Value key, bool *out);
  HostResult (*column_get)(Exec *exec, uint16_t table, Value key, uint16_t column, Value *out);
  HostResult (*column_set)(Exec *exec, uint16_t table, Value key, uint16_t column, Value value);
  HostResult (*insert)(Exec *exec, uint16_t table, const Value *columns, Value *out_key);
  HostResult (*delete_row)(Exec *exec, uint16_t table, Value key);
  // A function is on the stack once at most (calls are acyclic), so a query belongs to (Exec, function, plan). `*slot` is NULL
  // the first time and belongs to the query room; later openings find there what it left (an earlier run that has ended
  // or was closed) and may use its memory again. It lives in exec's arena. `registers` are the frame's; they do not move while
  // the query is open, yet each step brings them.
  HostResult (*query_open)(Exec *exec, const Function *function, uint16_t plan, void **slot);
  QueryStep (*query_next)(Exec *exec, void *slot, Value *registers);  // charges its own fuel; QUERY_FAILED: exec->fault is filled
  void (*query_close)(Exec *exec, void *slot);
  HostResult (*cursor_key)(Exec *exec, void *slot, uint8_t stage, Value *out);      // slot NULL or no row there: the zero
  HostResult (*cursor_column)(Exec *exec, void *slot, uint8_t stage, uint16_t column, Value *out);
  HostResult (*caller_is)(Exec *exec, uint16_t role, bool *out);
  HostResult (*send)(Exec *exec, uint16_t output, const Value *values);
  HostResult (*issue_token)(Exec *exec, Str subject, uint64_t roles, int64_t lasts_us, Value *out_text);
  // Tests only; NULL elsewhere (then they are fault EXPECT).
  HostResult (*call_entry)(Exec *exec, uint16_t entry, uint64_t given, const Value *args, Value *out);
  uint32_t (*mark)(Exec *exec);
  void (*undo)(Exec *exec, uint32_t mark);
  HostResult (*advance)(Exec *exec, int64_t duration_us);
  HostResult (*as_begin)(Exec *exec, Str caller, uint64_t roles);
  void (*as_end)(Exec *exec);
  HostResult (*sent)(Exec *exec, uint16_t output, TypeId list, Value *out);  // the messages that wait, as records
} VmHost;

// What is fixed for one call.
typedef struct VmCall {
  int64_t now_us;
  uint64_t seed;
  Str caller;                // ptr NULL: none
  uint64_t given;            // bits of the parameters that were sent
} VmCall;

typedef struct Frame Frame;
typedef struct VmStack VmStack;
enum { VM_CATCHES_MAX = 16 };  // CATCHes inside each other
struct Exec {
  const Module *module;
  const VmHost *host;
  void *host_context;
  VmCall call;
  VmLimits limits;
  uint64_t fuel_used;        // in all
  int64_t fuel_left;         // of the slice; host functions take theirs by vm_charge
  Arena arena;
  Value result;
  Rejection rejection;
  VmFault fault;
  Frame *frame;              // the innermost; private to the machine from here on
  VmStack *stack;
  int64_t fuel_granted;      // of the slice, when it began
  uint64_t random_state[4];
};

// An Exec for calls of one module. ERR_MEMORY only.
MUST_USE Err vm_start(Exec *exec, const Module *module, const VmHost *host, void *host_context, const VmLimits *limits);
// Prepares a call of function `function` with its `param_count` arguments (copied shallowly; they must live until the call
// ends). ERR_MEMORY: also when its stack alone is beyond the call's memory_bytes.
MUST_USE Err vm_call(Exec *exec, uint16_t function, const VmCall *call, const Value *args);
// Goes on for about `fuel_slice` (at least one instruction). Not again after VM_DONE, VM_REJECTED or VM_FAULT.
VmStatus vm_run(Exec *exec, uint64_t fuel_slice);
// After this the Exec can take another vm_call; results are gone.
void vm_reset(Exec *exec);
void vm_finish(Exec *exec);

// For host functions: takes fuel for work that grows with a size (it may bring the slice below zero; the machine stops at
// its next check). false: the call's whole budget is used up; the host function returns HOST_FAULT after vm_fault.
bool vm_charge(Exec *exec, uint64_t fuel);
HostResult vm_fault(Exec *exec, FaultKind kind, const char *note);
HostResult vm_reject(Exec *exec, BuiltinError error, Str field, const char *message);  // message NULL: the error's own
