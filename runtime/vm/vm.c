// Calls from outside: making an Exec, beginning a call, slices of fuel, and how faults and rejections are told. The loop
// over instructions is interpret.c, what they need beyond a line or two is in ops.c, builtins are split by subject.
#include "runtime/vm/vm.h"

#include <assert.h>

#include "runtime/base/mem.h"
#include "runtime/base/rng.h"
#include "runtime/vm/machine.h"

Err vm_start(Exec *exec, const Module *module, const VmHost *host, void *host_context, const VmLimits *limits) {
  *exec = (Exec){.module = module, .host = host, .host_context = host_context, .limits = *limits};
  arena_init(&exec->arena, limits->memory_bytes);
  exec->stack = mem_alloc_zero(1, sizeof *exec->stack);
  return exec->stack ? ERR_NONE : ERR_MEMORY;
}

static Err make_stack(Exec *exec, const Function *function) {
  VmStack *stack = exec->stack;
  size_t bytes = (size_t)function->depth * FRAME_BYTES + (size_t)function->stack_registers * sizeof(Value);
  if (exec->limits.memory_bytes && bytes > exec->limits.memory_bytes) return ERR_MEMORY;
  if (bytes > stack->bytes) {
    uint8_t *block = mem_alloc(bytes);
    if (!block) return ERR_MEMORY;
    mem_free(stack->block);
    stack->block = block;
    stack->bytes = bytes;
  }
  stack->at = stack->block;
  return ERR_NONE;
}

Err vm_call(Exec *exec, uint16_t function, const VmCall *call, const Value *args) {
  assert(function < exec->module->function_count);
  assert(!exec->frame && "vm_reset comes before a second call");
  const Function *callee = &exec->module->functions[function];
  assert(callee->depth > 0 && "only verified modules run");
  TRY(make_stack(exec, callee));
  exec->call = *call;
  exec->stack->entry = function;
  rng_seed((Rng *)exec->random_state, call->seed);
  vm__push_frame(exec, callee, args);
  return ERR_NONE;
}

Frame *vm__push_frame(Exec *exec, const Function *function, const Value *args) {
  VmStack *stack = exec->stack;
  Frame *frame = (Frame *)(void *)stack->at;
  stack->at += FRAME_BYTES + function->register_count * sizeof(Value);
  assert(stack->at <= stack->block + stack->bytes && "the verifier knows how deep calls go");
  *frame = (Frame){.function = function, .caller = exec->frame, .pc = function->code, .active_plan = NO_ACTIVE_PLAN};
  Value *registers = frame__registers(frame);
  for (uint32_t i = 0; i < function->param_count; i++) register_copy(&registers[i], &args[i]);
  memset(registers + function->param_count, 0, (size_t)(function->register_count - function->param_count) * sizeof(Value));
  exec->frame = frame;
  return frame;
}

static void close_plans(Exec *exec, Frame *frame) {
  for (uint32_t i = 0; i < frame->function->plan_count; i++) {
    PlanState *plan = &frame->plans[i];
    if (plan->is_open) exec->host->query_close(exec, plan->slot);
    plan->is_open = false;
  }
}

void vm__pop_frame(Exec *exec) {
  Frame *frame = exec->frame;
  VmStack *stack = exec->stack;
  if (frame->plans) close_plans(exec, frame);
  while (stack->catch_count && stack->catches[stack->catch_count - 1].frame == frame) stack->catch_count--;
  stack->at = (uint8_t *)frame;
  exec->frame = frame->caller;
}

// ---- running ----------------------------------------------------------------------------------

static VmStatus budget_fault(Exec *exec) {
  vm_fault(exec, FAULT_BUDGET, "too much work for one call");
  exec->fault.function = (uint16_t)(exec->frame->function - exec->module->functions);
  exec->fault.pc = (uint32_t)(exec->frame->pc - exec->frame->function->code);
  return VM_FAULT;
}

static int64_t slice_size(const Exec *exec, uint64_t fuel_slice) {
  uint64_t left = exec->limits.fuel > exec->fuel_used ? exec->limits.fuel - exec->fuel_used : 0;
  if (fuel_slice == 0) fuel_slice = 1;
  if (fuel_slice > left) fuel_slice = left;
  return fuel_slice > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)fuel_slice;
}

VmStatus vm_run(Exec *exec, uint64_t fuel_slice) {
  assert(exec->frame && "there is a call to go on with");
  exec->fuel_granted = exec->fuel_left = slice_size(exec, fuel_slice);
  VmStatus status = vm__interpret(exec);
  exec->fuel_used += (uint64_t)(exec->fuel_granted - exec->fuel_left);
  exec->fuel_granted = exec->fuel_left = 0;
  if (status == VM_SLICE && exec->fuel_used >= exec->limits.fuel) status = budget_fault(exec);
  if (status != VM_SLICE)
    while (exec->frame) vm__pop_frame(exec);
  return status;
}

void vm_reset(Exec *exec) {
  while (exec->frame) vm__pop_frame(exec);
  arena_reset(&exec->arena);
  exec->fuel_used = 0;
  exec->fuel_left = exec->fuel_granted = 0;
  exec->result = (Value){.text = {0}};
  exec->rejection = (Rejection){0};
  exec->fault = (VmFault){0};
  exec->stack->plans = NULL;
  exec->stack->catch_count = 0;
}

void vm_finish(Exec *exec) {
  if (!exec->stack) return;
  vm_reset(exec);
  arena_free(&exec->arena);
  buf_free(&exec->stack->scratch);
  mem_free(exec->stack->block);
  mem_free(exec->stack);
  exec->stack = NULL;
}

// ---- for host functions -----------------------------------------------------------------------

bool vm_charge(Exec *exec, uint64_t fuel) {
  if (fuel > INT64_MAX / 4) fuel = INT64_MAX / 4;
  if (exec->fuel_left > INT64_MIN / 2) exec->fuel_left -= (int64_t)fuel;
  uint64_t used = exec->fuel_used + (uint64_t)(exec->fuel_granted - exec->fuel_left);
  return used <= exec->limits.fuel;
}

HostResult vm_fault(Exec *exec, FaultKind kind, const char *note) {
  exec->fault = (VmFault){.kind = kind, .note = note ? arena_copy(&exec->arena, str_from(note)) : (Str){0}};
  return HOST_FAULT;
}

static const char *const ERROR_MESSAGES[BUILTIN_ERROR_COUNT] = {
#define BUILTIN_ERROR(id, aup_name, http, message) [ERROR_##id] = message,
#include "runtime/module/errors.def"
#undef BUILTIN_ERROR
};

HostResult vm_reject(Exec *exec, BuiltinError error, Str field, const char *message) {
  Rejection rejection = {.error = error};
  rejection.message = arena_copy(&exec->arena, str_from(message ? message : ERROR_MESSAGES[error]));
  rejection.field = field.len ? arena_copy(&exec->arena, field) : (Str){0};
  if (!rejection.message.ptr || (field.len && !rejection.field.ptr)) return vm__no_memory(exec);
  exec->rejection = rejection;
  return HOST_REJECT;
}
