// Numbers: one builtin serves ints, decimals, floats and durations alike and looks at the type of its argument.

#include "runtime/base/decimal.h"
#include "runtime/vm/machine.h"

#define TYPES exec__types(call->exec)
static TypeKind kind_of(const BuiltinCall *call) { return type_kind(TYPES, call->types[0]); }
static HostResult finish(const BuiltinCall *call, NumFault fault) { return vm__num_fault(call->exec, fault); }

HostResult builtin__ABS(const BuiltinCall *call) {
  Value x = call->args[0];
  if (kind_of(call) == TYPE_DECIMAL) return finish(call, decimal_abs(x.dec, &call->out->dec));
  if (kind_of(call) == TYPE_FLOAT) return finish(call, float_abs(x.f, &call->out->f));
  return finish(call, int_abs(x.i, &call->out->i));
}

HostResult builtin__SIGN(const BuiltinCall *call) {
  Value x = call->args[0];
  TypeKind kind = kind_of(call);
  call->out->i = kind == TYPE_DECIMAL ? (x.dec > 0) - (x.dec < 0) : kind == TYPE_FLOAT ? (x.f > 0) - (x.f < 0) : int_sign(x.i);
  return HOST_OK;
}

static HostResult weigh_args(const BuiltinCall *call, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    HostResult result = vm__weigh(call->exec, call->types[i], call->args[i]);
    if (result != HOST_OK) return result;
  }
  return HOST_OK;
}

static int order(const BuiltinCall *call, uint32_t a, uint32_t b) { return value_compare(TYPES, call->types[0], call->args[a], call->args[b]); }

HostResult builtin__MIN_OF(const BuiltinCall *call) {
  HostResult result = weigh_args(call, 2);
  if (result == HOST_OK) *call->out = call->args[order(call, 1, 0) < 0 ? 1 : 0];
  return result;
}

HostResult builtin__MAX_OF(const BuiltinCall *call) {
  HostResult result = weigh_args(call, 2);
  if (result == HOST_OK) *call->out = call->args[order(call, 1, 0) > 0 ? 1 : 0];
  return result;
}

HostResult builtin__CLAMP(const BuiltinCall *call) {
  HostResult result = weigh_args(call, 3);
  if (result != HOST_OK) return result;
  if (order(call, 1, 2) > 0) return vm_fault(call->exec, FAULT_RANGE, "clamp: low is above high");
  *call->out = call->args[order(call, 0, 1) < 0 ? 1 : order(call, 0, 2) > 0 ? 2 : 0];
  return HOST_OK;
}

HostResult builtin__DIV_FLOOR(const BuiltinCall *call) { return finish(call, int_div_floor(call->args[0].i, call->args[1].i, &call->out->i)); }
HostResult builtin__MOD_FLOOR(const BuiltinCall *call) { return finish(call, int_mod_floor(call->args[0].i, call->args[1].i, &call->out->i)); }

HostResult builtin__POW(const BuiltinCall *call) {
  if (call->args[1].i < 0) return vm_fault(call->exec, FAULT_RANGE, "pow: the exponent is below zero");
  return finish(call, int_pow(call->args[0].i, call->args[1].i, &call->out->i));
}

HostResult builtin__SQRT(const BuiltinCall *call) {
  if (call->args[0].f < 0) return vm_fault(call->exec, FAULT_RANGE, "sqrt: of a number below zero");
  return finish(call, float_sqrt(call->args[0].f, &call->out->f));
}

HostResult builtin__TRUNCATE(const BuiltinCall *call) { return finish(call, float_to_int(call->args[0].f, &call->out->i)); }

// A duration counts its microseconds.
HostResult builtin__TO_FLOAT(const BuiltinCall *call) {
  Value x = call->args[0];
  TypeKind kind = kind_of(call);
  if (kind == TYPE_DECIMAL) call->out->f = decimal_to_float(x.dec, TYPES->types[call->types[0]].scale);
  else if (kind == TYPE_FLOAT) call->out->f = x.f;
  else call->out->f = float_from_int(x.i);
  return HOST_OK;
}
