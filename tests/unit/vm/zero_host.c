// See zero_host.h.
#include "tests/unit/vm/zero_host.h"

#include <stdlib.h>

enum { FRAMES = 3, CHARGE = 5 };

static HostResult give_zero(Exec *exec, Value *out) {
  *out = (Value){.text = {0}};
  return vm_charge(exec, CHARGE) ? HOST_OK : vm_fault(exec, FAULT_BUDGET, "zero");
}
static HostResult state_get(Exec *exec, uint16_t column, Value *out) { (void)column; return give_zero(exec, out); }
static HostResult state_set(Exec *exec, uint16_t column, Value value) { (void)exec, (void)column, (void)value; return HOST_OK; }
static HostResult row_has(Exec *exec, uint16_t table, Value key, bool *out) { (void)exec, (void)table, (void)key; *out = true; return HOST_OK; }
static HostResult column_get(Exec *exec, uint16_t table, Value key, uint16_t column, Value *out) { (void)table, (void)key, (void)column; return give_zero(exec, out); }
static HostResult column_set(Exec *exec, uint16_t table, Value key, uint16_t column, Value value) { (void)exec, (void)table, (void)key, (void)column, (void)value; return HOST_OK; }
static HostResult insert(Exec *exec, uint16_t table, const Value *columns, Value *out_key) { (void)table, (void)columns; return give_zero(exec, out_key); }
static HostResult delete_row(Exec *exec, uint16_t table, Value key) { (void)exec, (void)table, (void)key; return HOST_OK; }

typedef struct ZeroQuery { const Plan *plan; uint32_t given, stage; bool again; } ZeroQuery;

static HostResult query_open(Exec *exec, const Function *function, uint16_t plan, void **slot) {
  ZeroQuery *query = *slot ? *slot : arena_alloc(&exec->arena, sizeof *query);
  if (!query) return vm_fault(exec, FAULT_BUDGET, NULL);
  *query = (ZeroQuery){.plan = &function->plans[plan]};
  *slot = query;
  return HOST_OK;
}
static QueryStep query_next(Exec *exec, void *slot, Value *registers) {
  ZeroQuery *query = slot;
  (void)registers;
  if (query->given == FRAMES) return (QueryStep){QUERY_END, 0};
  if (!vm_charge(exec, CHARGE)) { vm_fault(exec, FAULT_BUDGET, NULL); return (QueryStep){QUERY_FAILED, 0}; }
  query->again = !query->again;
  if (query->again) return (QueryStep){QUERY_AGAIN, 0};
  while (query->stage < query->plan->stage_count) {
    uint16_t block = query->plan->stages[query->stage++].block;
    if (block != NO_BLOCK) return (QueryStep){QUERY_BLOCK, block};
  }
  query->stage = 0;
  query->given++;
  return (QueryStep){QUERY_FRAME, 0};
}
static void query_close(Exec *exec, void *slot) {
  (void)exec;
  if (!slot) abort();  // only what is open is closed
}
static HostResult cursor_key(Exec *exec, void *slot, uint8_t stage, Value *out) { (void)slot, (void)stage; return give_zero(exec, out); }
static HostResult cursor_column(Exec *exec, void *slot, uint8_t stage, uint16_t column, Value *out) { (void)slot, (void)stage, (void)column; return give_zero(exec, out); }
static HostResult caller_is(Exec *exec, uint16_t role, bool *out) { (void)exec, (void)role; *out = true; return HOST_OK; }
static HostResult send(Exec *exec, uint16_t output, const Value *values) { (void)exec, (void)output, (void)values; return HOST_OK; }
static HostResult call_entry(Exec *exec, uint16_t entry, uint64_t given, const Value *args, Value *out) {
  (void)entry, (void)args;
  if (given & 1) return vm_reject(exec, ERROR_IN_USE, (Str){0}, NULL);
  return give_zero(exec, out);
}
static uint32_t mark(Exec *exec) { (void)exec; return 0; }
static void undo(Exec *exec, uint32_t to) { (void)exec, (void)to; }
static HostResult advance(Exec *exec, int64_t duration_us) { (void)exec, (void)duration_us; return HOST_OK; }
static HostResult issue_token(Exec *exec, Str subject, uint64_t roles, int64_t lasts, Value *out) { (void)subject, (void)roles, (void)lasts; return give_zero(exec, out); }
static HostResult as_begin(Exec *exec, Str caller, uint64_t roles) { (void)exec, (void)caller, (void)roles; return HOST_OK; }
static void as_end(Exec *exec) { (void)exec; }
static HostResult sent(Exec *exec, uint16_t output, TypeId list, Value *out) { (void)output, (void)list; return give_zero(exec, out); }

const VmHost ZERO_HOST = {
  state_get, state_set, row_has, column_get, column_set, insert, delete_row, query_open, query_next, query_close, cursor_key, cursor_column,
  caller_is, send, issue_token, call_entry, mark, undo, advance, as_begin, as_end, sent,
};

uint32_t zero_run_all(const Module *module, uint64_t fuel, uint64_t slice) {
  static const VmCall CALL = {.seed = 1, .caller = {"ann", 3}};
  const VmLimits limits = {fuel, 1 << 20};
  uint32_t done = 0;
  Exec exec;
  Value *args = calloc(FUNCTION_REGISTERS_MAX, sizeof *args);
  if (!args || vm_start(&exec, module, &ZERO_HOST, NULL, &limits) != ERR_NONE) abort();
  for (uint32_t i = 0; i < module->function_count; i++) {
    if (vm_call(&exec, (uint16_t)i, &CALL, args) == ERR_NONE) {
      VmStatus status;
      do status = vm_run(&exec, slice); while (status == VM_SLICE);
      done += status == VM_DONE;
      if (status == VM_FAULT && (exec.fault.kind >= FAULT_KINDS || exec.fault.function >= module->function_count ||
                                 exec.fault.pc >= module->functions[exec.fault.function].code_count)) abort();
    }
    vm_reset(&exec);
  }
  vm_finish(&exec);
  free(args);
  return done;
}
