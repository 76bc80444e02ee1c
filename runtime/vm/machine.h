// Inside the machine: frames, what a plan at work remembers, and the helpers that the interpreter's longer instructions
// and the builtins share.
//
// Owns:   see vm.h. Frames and registers stand in one block that is large enough for the deepest path of calls.
// Thread: that of the Exec.
// Errors: HostResult; HOST_FAULT means that exec->fault is filled (its place excepted, which the interpreter knows).
#pragma once
#include "runtime/base/buf.h"
#include "runtime/base/num.h"
#include "runtime/module/builtins.h"
#include "runtime/vm/vm.h"

// `waiting`: the QUERY_NEXT that asked for the block that runs now; `outer`: the plan whose block was running before.
typedef struct PlanState { void *slot; const Instruction *waiting; uint16_t outer; bool is_open; } PlanState;

struct Frame {
  const Function *function;
  Frame *caller;
  const Instruction *pc;   // where to go on; behind the CALL while a callee runs
  PlanState *plans;        // NULL until a query is opened
  uint16_t active_plan;    // the plan whose block runs, or NO_ACTIVE_PLAN
};
static const uint16_t NO_ACTIVE_PLAN = 0xFFFF;
enum { FRAME_BYTES = (sizeof(struct Frame) + sizeof(Value) - 1) / sizeof(Value) * sizeof(Value) };

typedef struct Catch { Frame *frame; uint32_t target, mark; uint16_t to; } Catch;

struct VmStack {
  uint8_t *block, *at;     // frames; `at` is where the next one goes
  size_t bytes;
  PlanState **plans;       // by function; NULL until a query is opened in this call
  uint16_t entry;          // the function that was called
  uint32_t catch_count;
  Catch catches[VM_CATCHES_MAX];
  Buf scratch;             // for texts whose length is not known before
};

static inline const TypeTable *exec__types(const Exec *exec) { return &exec->module->schema.types; }
static inline Value *frame__registers(Frame *frame) { return (Value *)(void *)((uint8_t *)frame + FRAME_BYTES); }

// Copies a register by its two words. A register that was just written is often half written (an int is one word), and
// a load of 16 bytes over a store of 8 waits until the store has reached the cache, some 12 cycles.
static inline void register_copy(Value *to, const Value *from) {
  int64_t low = from->opt.i, high = from->opt.has;
  __asm__("" : "+r"(low), "+r"(high));  // else the compiler makes one load of them again
  to->opt.i = low;
  to->opt.has = high;
}

VmStatus vm__interpret(Exec *exec);
Frame *vm__push_frame(Exec *exec, const Function *function, const Value *args);
void vm__pop_frame(Exec *exec);                       // closes its queries

// ---- helpers ----------------------------------------------------------------------------------
HostResult vm__num_fault(Exec *exec, NumFault fault);  // NUM_OK: HOST_OK
HostResult vm__no_memory(Exec *exec);
// Memory of the call, charged for. NULL: the fault is filled.
void *vm__alloc(Exec *exec, size_t size);
HostResult vm__charge(Exec *exec, uint64_t fuel);      // HOST_FAULT when the call's budget is used up
// Charges for all parts of a value, before work that goes over them all. Values share parts, so a small one in memory can
// be endless to walk; here that ends with the budget.
HostResult vm__weigh(Exec *exec, TypeId type, Value value);
// Only what fits 64 bits may leave a register of type decimal for a list, a record, the state or the caller.
static inline bool vm__fits(const Exec *exec, TypeId type, Value value) {
  return exec__types(exec)->types[type].kind != TYPE_DECIMAL || value.dec == (int64_t)value.dec;
}
HostResult vm__fit_run(Exec *exec, const TypeId *types, const Value *values, uint32_t count);
Buf *vm__scratch(Exec *exec);                          // empty, bounded by the memory that is left
HostResult vm__take_scratch(Exec *exec, Value *out);   // its text, in the arena
HostResult vm__text(Exec *exec, TypeId type, Value value, Value *out);
List *vm__list(Exec *exec, uint64_t count);            // of that many zeros, charged for

// ---- builtins ---------------------------------------------------------------------------------
typedef struct BuiltinCall { Exec *exec; const TypeId *types; const Value *args; TypeId result; Value *out; } BuiltinCall;
typedef HostResult (*BuiltinFunction)(const BuiltinCall *call);
extern const BuiltinFunction VM__BUILTINS[BUILTIN_COUNT_];
#define BUILTIN(name, aup_name, signature, fuel, words) HostResult builtin__##name(const BuiltinCall *call);
#define FORM(name, aup_name, signature, words)
#include "runtime/module/builtins.def"
#undef BUILTIN
#undef FORM

// ---- the longer instructions (ops.c) ----------------------------------------------------------
typedef struct Op { Exec *exec; const Function *function; Value *registers; Instruction at; } Op;
#define VM__OPS(X) \
  X(SOME) X(TEXT_JOIN) X(RECORD_NEW) X(VARIANT_NEW) X(LIST_NEW) X(LIST_PUSH) X(LIST_JOIN) X(LIST_GET) X(LIST_AT) X(RANGE) X(CONTAINS) \
  X(SET_OF) X(MAP_OF) X(MAP_GET) X(EQ) X(NE) X(LT) X(LE) X(REJECT) X(STATE_GET) X(STATE_SET) X(TO_REF) X(ROW_FIND) X(ROW_HAS) X(COLUMN_GET) \
  X(COLUMN_SET) X(INSERT) X(DELETE) X(CURSOR_KEY) X(CURSOR_COLUMN) X(CALLER_IS) X(RANDOM) X(NEW_UUID) X(SEND) X(CALL_ENTRY) X(CALL_ENTRY_VOID) \
  X(CATCH) X(CATCH_END) X(EXPECT_FAILED) X(ADVANCE) X(AS_BEGIN) X(AS_END) X(SENT) X(ISSUE_TOKEN)
#define X(name) HostResult vm__##name(const Op *op);
VM__OPS(X)
#undef X
