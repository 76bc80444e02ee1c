// Constants are computed with the very functions that the machine uses (runtime/base/num.h, decimal.h), so that folding
// and running cannot differ. What would be a fault at run time is said here, where it is written.
#include "compiler/check/internal.h"

#include <assert.h>

#include "runtime/base/decimal.h"
#include "runtime/base/num.h"

static HExpr *say_fault(Check *check, const HExpr *a, NumFault fault) {
  if (fault == NUM_DIVIDE_BY_ZERO) diag_help(check->diags, diag_add(check->diags, DIAG_E214, a->span, "this always divides by zero"), "divide by another number");
  else diag_help(check->diags, diag_add(check->diags, DIAG_E214, a->span, "this is always past what its type can hold"), "use smaller numbers, or a wider type");
  return h_poison(check, a->span);
}

static NumFault int_arith(HOp op, int64_t a, int64_t b, Value *out) {
  switch (op) {
    case HOP_ADD: return int_add(a, b, &out->i);
    case HOP_SUB: return int_sub(a, b, &out->i);
    case HOP_MUL: return int_mul(a, b, &out->i);
    case HOP_DIV: return int_div(a, b, &out->i);
    case HOP_MOD: return int_mod(a, b, &out->i);
    case HOP_EQ: case HOP_NE: case HOP_LT: case HOP_LE: case HOP_GT: case HOP_GE: break;
  }
  return NUM_OVERFLOW;
}

static NumFault decimal_arith(HOp op, __int128 a, __int128 b, Value *out) {
  __int128 result = 0;
  NumFault fault = op == HOP_ADD ? decimal_add(a, b, &result) : op == HOP_SUB ? decimal_sub(a, b, &result) : decimal_mul(a, b, &result);
  out->dec = result;
  return fault;
}

static NumFault float_arith(HOp op, double a, double b, Value *out) {
  switch (op) {
    case HOP_ADD: return float_add(a, b, &out->f);
    case HOP_SUB: return float_sub(a, b, &out->f);
    case HOP_MUL: return float_mul(a, b, &out->f);
    case HOP_DIV: return float_div(a, b, &out->f);
    case HOP_MOD: case HOP_EQ: case HOP_NE: case HOP_LT: case HOP_LE: case HOP_GT: case HOP_GE: break;
  }
  return NUM_OVERFLOW;
}

static HExpr *fold_arith(Check *check, HExpr *a) {
  if (a->a->kind != H_CONST || a->b->kind != H_CONST) return a;
  Value value = {.dec = 0};
  NumFault fault;
  if (types_is(&check->types, a->type, TYPE_DECIMAL)) fault = decimal_arith((HOp)a->op, a->a->value.dec, a->b->value.dec, &value);
  else if (a->type == ID_FLOAT) fault = float_arith((HOp)a->op, a->a->value.f, a->b->value.f, &value);
  else fault = int_arith((HOp)a->op, a->a->value.i, a->b->value.i, &value);
  return fault == NUM_OK ? h_const(check, a->type, value, a->span) : say_fault(check, a, fault);
}

static HExpr *fold_neg(Check *check, HExpr *a) {
  if (a->a->kind != H_CONST) return a;
  Value value = {.dec = 0};
  NumFault fault;
  __int128 wide = 0;
  if (types_is(&check->types, a->type, TYPE_DECIMAL)) { fault = decimal_neg(a->a->value.dec, &wide); value.dec = wide; }
  else if (a->type == ID_FLOAT) fault = float_neg(a->a->value.f, &value.f);
  else fault = int_neg(a->a->value.i, &value.i);
  return fault == NUM_OK ? h_const(check, a->type, value, a->span) : say_fault(check, a, fault);
}

static HExpr *fold_compare(Check *check, HExpr *a) {
  if (a->a->kind != H_CONST || a->b->kind != H_CONST || !type_is_real(a->a->type)) return a;
  int order = value_compare(&check->types.table, a->a->type, a->a->value, a->b->value);
  switch ((HOp)a->op) {
    case HOP_EQ: return h_bool(check, order == 0, a->span);
    case HOP_NE: return h_bool(check, order != 0, a->span);
    case HOP_LT: return h_bool(check, order < 0, a->span);
    case HOP_LE: return h_bool(check, order <= 0, a->span);
    case HOP_GT: return h_bool(check, order > 0, a->span);
    case HOP_GE: return h_bool(check, order >= 0, a->span);
    case HOP_ADD: case HOP_SUB: case HOP_MUL: case HOP_DIV: case HOP_MOD: break;
  }
  return a;
}

static unsigned scale_of(const Check *check, TypeId type) { return check->types.types[type].scale; }

static HExpr *fold_convert(Check *check, HExpr *a) {
  if (a->a->kind != H_CONST || !type_is_real(a->a->type)) return a;
  Value from = a->a->value, value = {.dec = 0};
  __int128 wide = 0;
  NumFault fault = NUM_OK;
  switch ((HConvert)a->op) {
    case CONVERT_SOME: value = value_some(&check->types.table, a->type, from); break;
    case CONVERT_INT_TO_DECIMAL: fault = decimal_widen(from.i, scale_of(check, a->type), &wide); value.dec = wide; break;
    case CONVERT_SCALE: fault = decimal_widen(from.dec, scale_of(check, a->type) - scale_of(check, a->a->type), &wide); value.dec = wide; break;
    case CONVERT_FIT: value = from; if (!decimal_fits(from.dec)) fault = NUM_OVERFLOW; break;
    case CONVERT_INT_TO_FLOAT: value.f = float_from_int(from.i); break;
    case CONVERT_TO_TEXT: {
      if (a->a->type != ID_INT) return a;
      Str text = arena_format(check->arena, "%lld", (long long)from.i);
      if (!text.ptr) { check->failed = true; return a; }
      value.text = text;
      break;
    }
    case CONVERT_TO_KEY: case CONVERT_TO_REF: case CONVERT_ENUM_TO_INT: return a;
  }
  return fault == NUM_OK ? h_const(check, a->type, value, a->span) : say_fault(check, a, fault);
}

static HExpr *fold_logic(Check *check, HExpr *a) {
  if (a->kind == H_NOT && a->a->kind == H_NOT) return a->a->a;
  if (a->a->kind != H_CONST) return a;
  bool left = a->a->value.i != 0;
  if (a->kind == H_NOT) return h_bool(check, !left, a->span);
  if (a->kind == H_AND) return left ? a->b : a->a;
  return left ? a->a : a->b;
}

// A divisor that is always zero is a mistake even where the other side is not known.
static bool divides_by_zero(const Check *check, const HExpr *a) {
  if (a->kind != H_ARITH || (a->op != HOP_DIV && a->op != HOP_MOD) || a->b->kind != H_CONST) return false;
  return a->b->type == ID_FLOAT ? a->b->value.f == 0 : !types_is(&check->types, a->b->type, TYPE_DECIMAL) && a->b->value.i == 0;
}

HExpr *fold(Check *check, HExpr *a) {
  if (check->failed || is_poison(a) || (a->a && is_poison(a->a))) return a;
  if (divides_by_zero(check, a)) return say_fault(check, a, NUM_DIVIDE_BY_ZERO);
  switch ((HExprKind)a->kind) {
    case H_ARITH: return fold_arith(check, a);
    case H_NEG: return fold_neg(check, a);
    case H_COMPARE: return fold_compare(check, a);
    case H_CONVERT: return fold_convert(check, a);
    case H_NOT: case H_AND: case H_OR: return fold_logic(check, a);
    case H_HAS: return a->a->kind == H_CONST ? h_bool(check, value_is_some(&check->types.table, a->a->type, a->a->value), a->span) : a;
    case H_OPEN: return a->a->kind == H_CONST ? h_const(check, a->type, value_open(&check->types.table, a->a->type, a->a->value), a->span) : a;
    case H_CONST: case H_LOCAL: case H_STATE: case H_IF: case H_IF_SOME: case H_MATCH: case H_CALL: case H_BUILTIN: case H_DIVIDE:
    case H_ROUND: case H_TEXT: case H_RECORD: case H_FIELD: case H_VARIANT: case H_LIST: case H_SET: case H_MAP: case H_JOIN: case H_RANGE:
    case H_ITEM: case H_LOOKUP: case H_COUNT: case H_IN: case H_FIND: case H_FIND_UNIQUE: case H_COLUMN: case H_INSERT: case H_QUERY:
    case H_AGGREGATE: case H_NOW: case H_CALLER: case H_NEW_UUID: case H_CALLER_IS: case H_RANDOM: case H_GIVEN: case H_POSITION:
    case H_CALL_ENTRY: case H_SENT: case H_ISSUE_TOKEN: case H_KINDS: break;
  }
  return a;
}
