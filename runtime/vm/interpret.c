// The loop over instructions. One switch by computed goto; the next instruction's code ends every instruction's, so that
// the processor predicts each jump by itself. Fuel is one counter, taken down by each instruction and looked at before
// the next, so a slice can end between any two. The frame's registers and the position are in local variables; they are
// put into the frame (`SAVE`) wherever somebody else may look: calls, faults, the host.
//
// Nothing is checked here that the verifier has checked: registers, types, jumps, depth of calls.
#include <assert.h>

#include "runtime/base/decimal.h"
#include "runtime/vm/machine.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum {
#define OP(name, fuel, a, b, c, rule, words) FUEL_##name = fuel,
#include "runtime/module/opcodes.def"
#undef OP
};

static const uint8_t BUILTIN_FUEL[BUILTIN_COUNT_] = {
#define BUILTIN(name, aup_name, signature, fuel, words) [BUILTIN_##name] = fuel,
#define FORM(name, aup_name, signature, words)
#include "runtime/module/builtins.def"
#undef BUILTIN
#undef FORM
};

const BuiltinFunction VM__BUILTINS[BUILTIN_COUNT_] = {
#define BUILTIN(name, aup_name, signature, fuel, words) [BUILTIN_##name] = builtin__##name,
#define FORM(name, aup_name, signature, words)
#include "runtime/module/builtins.def"
#undef BUILTIN
#undef FORM
};

// A rejection goes to the innermost CATCH: frames above its own are left, its frame's queries that wait for a block are
// closed, and what was changed since is undone.
static bool catch_rejection(Exec *exec) {
  VmStack *stack = exec->stack;
  if (!stack->catch_count) return false;
  Catch caught = stack->catches[stack->catch_count - 1];
  while (exec->frame != caught.frame) vm__pop_frame(exec);
  stack->catch_count--;
  Frame *frame = exec->frame;
  for (; frame->active_plan != NO_ACTIVE_PLAN; frame->active_plan = frame->plans[frame->active_plan].outer) {
    PlanState *plan = &frame->plans[frame->active_plan];
    exec->host->query_close(exec, plan->slot);
    plan->is_open = false;
  }
  if (exec->host->undo) exec->host->undo(exec, caught.mark);
  frame__registers(frame)[caught.to].i = exec->rejection.error;
  frame->pc = frame->function->code + caught.target;
  return true;
}

static VmStatus place_fault(Exec *exec) {
  const Frame *frame = exec->frame;
  exec->fault.function = (uint16_t)(frame->function - exec->module->functions);
  exec->fault.pc = (uint32_t)(frame->pc - 1 - frame->function->code);
  return VM_FAULT;
}

static HostResult no_queries(Exec *exec) { return vm_fault(exec, FAULT_STORE, "there is no state here"); }

static HostResult find_plans(Exec *exec, Frame *frame) {
  VmStack *stack = exec->stack;
  uint16_t index = (uint16_t)(frame->function - exec->module->functions);
  if (!stack->plans) stack->plans = ARENA_ARRAY(&exec->arena, PlanState *, exec->module->function_count);
  if (!stack->plans) return vm__no_memory(exec);
  if (!stack->plans[index]) stack->plans[index] = ARENA_ARRAY(&exec->arena, PlanState, frame->function->plan_count);
  if (!stack->plans[index]) return vm__no_memory(exec);
  frame->plans = stack->plans[index];
  return HOST_OK;
}

static HostResult open_query(Exec *exec, Frame *frame, uint16_t plan) {
  if (!exec->host->query_open) return no_queries(exec);
  if (!frame->plans) {
    HostResult result = find_plans(exec, frame);
    if (result != HOST_OK) return result;
  }
  PlanState *state = &frame->plans[plan];
  if (state->is_open) exec->host->query_close(exec, state->slot);
  state->is_open = false;
  HostResult result = exec->host->query_open(exec, frame->function, plan, &state->slot);
  state->is_open = result == HOST_OK;
  return result;
}

static void close_query(Exec *exec, Frame *frame, uint16_t plan) {
  if (!frame->plans || !frame->plans[plan].is_open) return;
  exec->host->query_close(exec, frame->plans[plan].slot);
  frame->plans[plan].is_open = false;
}

static HostResult call_builtin(const Op *op) {
  const BuiltinCall call = {.exec = op->exec, .types = op->function->registers + op->at.c, .args = op->registers + op->at.c,
                            .result = op->function->registers[op->at.a], .out = &op->registers[op->at.a]};
  return VM__BUILTINS[op->at.b](&call);
}

VmStatus vm__interpret(Exec *exec) {
  static const void *const LABELS[OP_COUNT_] = {
#define OP(name, fuel, a, b, c, rule, words) [OP_##name] = &&op_##name,
#include "runtime/module/opcodes.def"
#undef OP
  };
  const TypeTable *types = exec__types(exec);
  Frame *frame = exec->frame;
  const Function *function = frame->function;
  Value *regs = frame__registers(frame);
  const Instruction *pc = frame->pc;
  int64_t fuel = exec->fuel_left;
  NumFault num;
  HostResult result;
  Instruction at;

#define A regs[at.a]
#define B regs[at.b]
#define C regs[at.c]
#define TYPE(r) types->types[function->registers[r]]
#define SCALE(r) TYPE(r).scale
#define NEXT do { if (UNLIKELY(fuel <= 0)) goto slice; at = *pc++; goto *LABELS[at.op]; } while (0)
#define CASE(name) op_##name: fuel -= FUEL_##name;
#define SAVE (frame->pc = pc, exec->fuel_left = fuel)
#define LOAD (frame = exec->frame, function = frame->function, regs = frame__registers(frame), pc = frame->pc)
#define NUM(call) do { num = (call); if (UNLIKELY(num != NUM_OK)) goto num_fault; } while (0)
#define HELP(call) do { SAVE; result = (call); fuel = exec->fuel_left; if (UNLIKELY(result != HOST_OK)) goto failed; } while (0)
#define BY_HELP(name) CASE(name) HELP(vm__##name(&(Op){exec, function, regs, at})); NEXT;

  NEXT;

  // ---- moving
  CASE(MOVE) register_copy(&A, &B); NEXT;
  CASE(INT) A.i = at.w; NEXT;
  CASE(BOOL) A.i = at.b; NEXT;
  CASE(ENUM) A.i = at.b; NEXT;
  CASE(CONST) A = exec->module->constants[at.k].value; NEXT;
  CASE(ZERO) A = value_zero(types, function->registers[at.a]); NEXT;
  BY_HELP(SOME)
  CASE(OPEN) A = value_open(types, function->registers[at.b], B); NEXT;
  CASE(HAS) A.i = value_is_some(types, function->registers[at.b], B); NEXT;

  // ---- going on elsewhere
  CASE(JUMP) pc = function->code + at.k; NEXT;
  CASE(JUMP_IF) if (A.i) pc = function->code + at.k;
    NEXT;
  CASE(JUMP_IF_NOT) if (!A.i) pc = function->code + at.k;
    NEXT;
  CASE(JUMP_NONE) if (!value_is_some(types, function->registers[at.a], A)) pc = function->code + at.k;
    NEXT;
  CASE(CALL) goto call;
  CASE(CALL_VOID) goto call;
  CASE(RETURN) {
    Value value;
    register_copy(&value, &A);
    SAVE;
    if (UNLIKELY(!frame->caller)) {
      HELP(vm__fits(exec, function->result, value) ? vm__weigh(exec, function->result, value) : vm_fault(exec, FAULT_OVERFLOW, NULL));
      exec->result = value;
      return VM_DONE;
    }
    vm__pop_frame(exec);
    LOAD;
    if (pc[-1].op == OP_CALL) regs[pc[-1].a] = value;
    NEXT;
  }
  CASE(RETURN_VOID)
    SAVE;
    if (UNLIKELY(!frame->caller)) return VM_DONE;
    vm__pop_frame(exec);
    LOAD;
    NEXT;
  BY_HELP(REJECT)
  CASE(BLOCK_END) {
    PlanState *plan = &frame->plans[frame->active_plan];
    pc = plan->waiting;
    frame->active_plan = plan->outer;
    NEXT;
  }

  // ---- numbers
  CASE(ADD_I) NUM(int_add(B.i, C.i, &A.i)); NEXT;
  CASE(SUB_I) NUM(int_sub(B.i, C.i, &A.i)); NEXT;
  CASE(MUL_I) NUM(int_mul(B.i, C.i, &A.i)); NEXT;
  CASE(DIV_I) NUM(int_div(B.i, C.i, &A.i)); NEXT;
  CASE(MOD_I) NUM(int_mod(B.i, C.i, &A.i)); NEXT;
  CASE(NEG_I) NUM(int_neg(B.i, &A.i)); NEXT;
  CASE(ADD_D) NUM(decimal_add(B.dec, C.dec, &A.dec)); NEXT;
  CASE(SUB_D) NUM(decimal_sub(B.dec, C.dec, &A.dec)); NEXT;
  CASE(MUL_D) NUM(decimal_mul(B.dec, C.dec, &A.dec)); NEXT;
  CASE(NEG_D) NUM(decimal_neg(B.dec, &A.dec)); NEXT;
  CASE(SCALE_D) NUM(decimal_widen(B.dec, (unsigned)(SCALE(at.a) - SCALE(at.b)), &A.dec)); NEXT;
  CASE(ROUND_D) NUM(decimal_rescale(B.dec, SCALE(at.b), SCALE(at.a), (DecimalRounding)at.c, &A.dec)); NEXT;
  CASE(FIT_D) if (UNLIKELY(!decimal_fits(B.dec))) goto overflow;
    A = B;
    NEXT;
  CASE(DIV_D) NUM(decimal_divide(B.dec, C.dec, decimal_divide_shift(SCALE(at.b), SCALE(at.c), SCALE(at.a)), ROUND_HALF_EVEN, &A.dec)); NEXT;
  CASE(INT_TO_D) NUM(decimal_widen(B.i, SCALE(at.a), &A.dec)); NEXT;
  CASE(ADD_F) NUM(float_add(B.f, C.f, &A.f)); NEXT;
  CASE(SUB_F) NUM(float_sub(B.f, C.f, &A.f)); NEXT;
  CASE(MUL_F) NUM(float_mul(B.f, C.f, &A.f)); NEXT;
  CASE(DIV_F) NUM(float_div(B.f, C.f, &A.f)); NEXT;
  CASE(NEG_F) NUM(float_neg(B.f, &A.f)); NEXT;
  CASE(INT_TO_F) A.f = float_from_int(B.i); NEXT;

  // ---- comparing
  CASE(NOT) A.i = !B.i; NEXT;
  CASE(AND) A.i = B.i & C.i; NEXT;
  CASE(OR) A.i = B.i | C.i; NEXT;
  CASE(EQ_I) A.i = B.i == C.i; NEXT;
  CASE(NE_I) A.i = B.i != C.i; NEXT;
  CASE(LT_I) A.i = B.i < C.i; NEXT;
  CASE(LE_I) A.i = B.i <= C.i; NEXT;
  BY_HELP(EQ)
  BY_HELP(NE)
  BY_HELP(LT)
  BY_HELP(LE)

  // ---- texts, lists, records, enums
  CASE(TO_TEXT) HELP(vm__text(exec, function->registers[at.b], B, &A)); NEXT;
  BY_HELP(TEXT_JOIN)
  CASE(BUILTIN) fuel -= BUILTIN_FUEL[at.b];
    HELP(call_builtin(&(Op){exec, function, regs, at}));
    NEXT;
  BY_HELP(RECORD_NEW)
  CASE(RECORD_GET) A = record_field(B.record, at.c); NEXT;
  BY_HELP(VARIANT_NEW)
  CASE(ENUM_TAG) A.i = types->enums[TYPE(at.b).of].plain ? B.i : variant_tag(B.variant); NEXT;
  CASE(VARIANT_GET)
    if (variant_tag(B.variant) == at.x) A = variant_field(B.variant, at.c);
    else A = value_zero(types, function->registers[at.a]);
    NEXT;
  BY_HELP(LIST_NEW)
  BY_HELP(LIST_PUSH)
  BY_HELP(LIST_JOIN)
  BY_HELP(LIST_GET)
  BY_HELP(LIST_AT)
  CASE(COUNT) A.i = list_count(B.list) / (TYPE(at.b).kind == TYPE_MAP ? 2 : 1); NEXT;
  BY_HELP(RANGE)
  BY_HELP(CONTAINS)
  BY_HELP(SET_OF)
  BY_HELP(MAP_OF)
  BY_HELP(MAP_GET)

  // ---- state
  BY_HELP(STATE_GET)
  BY_HELP(STATE_SET)
  BY_HELP(TO_REF)
  CASE(TO_KEY) register_copy(&A, &B); NEXT;
  BY_HELP(ROW_FIND)
  BY_HELP(ROW_HAS)
  BY_HELP(COLUMN_GET)
  BY_HELP(COLUMN_SET)
  BY_HELP(INSERT)
  BY_HELP(DELETE)

  // ---- queries
  CASE(QUERY_OPEN) HELP(open_query(exec, frame, at.a)); NEXT;
  CASE(QUERY_NEXT) {
    PlanState *plan = frame->plans ? &frame->plans[at.a] : NULL;
    if (!plan || !plan->is_open) { pc = function->code + at.k; NEXT; }
    SAVE;
    QueryStep step = exec->host->query_next(exec, plan->slot, regs);
    fuel = exec->fuel_left;
    switch (step.kind) {
      case QUERY_FRAME: NEXT;
      case QUERY_END:
        plan->is_open = false;
        pc = function->code + at.k;
        NEXT;
      case QUERY_BLOCK:
        assert(step.block < function->block_count);
        plan->waiting = pc - 1;
        plan->outer = frame->active_plan;
        frame->active_plan = at.a;
        pc = function->code + function->blocks[step.block].start;
        NEXT;
      case QUERY_AGAIN:
        pc--;
        goto slice;
      case QUERY_FAILED:
        result = HOST_FAULT;
        goto failed;
    }
    NEXT;
  }
  CASE(QUERY_CLOSE) close_query(exec, frame, at.a); NEXT;
  BY_HELP(CURSOR_KEY)
  BY_HELP(CURSOR_COLUMN)

  // ---- the call's surroundings
  CASE(NOW) A.i = exec->call.now_us; NEXT;
  CASE(CALLER) A = exec->call.caller.ptr ? (Value){.text = exec->call.caller} : (Value){.text = {0}}; NEXT;
  BY_HELP(CALLER_IS)
  BY_HELP(RANDOM)
  BY_HELP(NEW_UUID)
  CASE(GIVEN) A.i = exec->call.given >> at.b & 1; NEXT;
  BY_HELP(SEND)
  BY_HELP(ISSUE_TOKEN)

  // ---- tests only
  BY_HELP(CALL_ENTRY)
  BY_HELP(CALL_ENTRY_VOID)
  BY_HELP(CATCH)
  BY_HELP(CATCH_END)
  BY_HELP(EXPECT_FAILED)
  BY_HELP(ADVANCE)
  BY_HELP(AS_BEGIN)
  BY_HELP(AS_END)
  BY_HELP(SENT)

call:
  SAVE;
  vm__push_frame(exec, &exec->module->functions[at.b], regs + at.c);
  LOAD;
  fuel -= function->register_count / 16;
  NEXT;

overflow:
  num = NUM_OVERFLOW;
num_fault:
  SAVE;
  vm__num_fault(exec, num);
  return place_fault(exec);

failed:
  if (result == HOST_FAULT) return place_fault(exec);
  if (!catch_rejection(exec)) return VM_REJECTED;
  LOAD;
  NEXT;

slice:
  SAVE;
  return VM_SLICE;
}
