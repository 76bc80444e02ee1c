// Expressions of the checked program, made one node at a time. Each operation on constants is carried out here at once
// (fold.c), so that no later phase meets one.
#include "compiler/check/internal.h"

#include <assert.h>

HExpr *h_new(Check *check, HExprKind kind, TypeId type, Span span) {
  static HExpr spare;  // without memory the result is never used, but there must be one
  HExpr *a = arena_alloc_zero(check->arena, 1, sizeof(HExpr));
  if (!a) { check->failed = true; return &spare; }
  a->kind = (uint8_t)kind;
  a->type = type;
  a->span = span;
  return a;
}

bool is_poison(const HExpr *a) { return a->type == ID_POISON; }

HExpr *h_poison(Check *check, Span span) { return h_const(check, ID_POISON, (Value){.i = 0}, span); }

HExpr *h_const(Check *check, TypeId type, Value value, Span span) {
  HExpr *a = h_new(check, H_CONST, type, span);
  a->value = value;
  return a;
}

HExpr *h_int(Check *check, int64_t number, Span span) { return h_const(check, ID_INT, (Value){.i = number}, span); }
HExpr *h_bool(Check *check, bool value, Span span) { return h_const(check, ID_BOOL, (Value){.i = value}, span); }
HExpr *h_text(Check *check, Str text, Span span) { return h_const(check, ID_TEXT, (Value){.text = text.ptr ? text : STR("")}, span); }

HExpr *h_zero(Check *check, TypeId type, Span span) {
  return type_is_real(type) ? h_const(check, type, value_zero(&check->types.table, type), span) : h_poison(check, span);
}

HExpr *h_none(Check *check, TypeId optional, Span span) {
  assert(types_is(&check->types, optional, TYPE_OPTIONAL));
  return h_zero(check, optional, span);
}

HExpr *h_local(Check *check, LocalId local, Span span) {
  HExpr *a = h_new(check, H_LOCAL, local_info(check, local)->h.type, span);
  a->local = local;
  return a;
}

HExpr *h_unary(Check *check, HExprKind kind, TypeId type, HExpr *a, Span span) {
  HExpr *made = h_new(check, kind, type, span);
  made->a = a;
  return fold(check, made);
}

HExpr *h_binary(Check *check, HExprKind kind, HOp op, TypeId type, HExpr *a, HExpr *b, Span span) {
  HExpr *made = h_new(check, kind, type, span);
  made->op = (uint8_t)op;
  made->a = a;
  made->b = b;
  return fold(check, made);
}

HExpr *h_convert(Check *check, HConvert convert, TypeId type, HExpr *a) {
  HExpr *made = h_new(check, H_CONVERT, type, a->span);
  made->op = (uint8_t)convert;
  made->a = a;
  return fold(check, made);
}

HExpr *h_some(Check *check, HExpr *a) {
  if (is_poison(a) || types_is(&check->types, a->type, TYPE_OPTIONAL)) return a;
  if (a->kind == H_OPEN) return a->a;
  return h_convert(check, CONVERT_SOME, types_optional(&check->types, a->type), fit(check, a));
}

HExpr *h_open(Check *check, HExpr *a) { return h_unary(check, H_OPEN, types_open(&check->types, a->type), a, a->span); }

HExpr *h_if(Check *check, HExpr *a, HExpr *b, HExpr *c) {
  HExpr *made = h_new(check, H_IF, b->type, a->span);
  made->a = a;
  made->b = b;
  made->c = c;
  return made;
}

HExpr *h_if_some(Check *check, LocalId local, HExpr *a, HExpr *b, HExpr *c) {
  HExpr *made = h_new(check, H_IF_SOME, b->type, a->span);
  made->local = local;
  made->a = a;
  made->b = b;
  made->c = c;
  return made;
}

HExpr *h_args(Check *check, HExprKind kind, TypeId type, uint32_t count, Span span) {
  HExpr *made = h_new(check, kind, type, span);
  made->args = (HExprs){.count = count, .items = CHECK_ARRAY(check, HExpr *, count)};
  if (!made->args.items) made->args.count = 0;
  return made;
}

HExpr *h_to_text(Check *check, HExpr *a) {
  if (a->type == ID_TEXT || is_poison(a)) return a;
  return h_convert(check, CONVERT_TO_TEXT, ID_TEXT, a);
}

bool h_is_simple(const HExpr *a) { return a->kind == H_CONST || a->kind == H_LOCAL || (a->kind == H_OPEN && a->a->kind == H_LOCAL); }

// The language has no name for a value inside an expression, but an optional that always holds something gives one.
HExpr *h_let_begin(Check *check, HExpr *value, LocalId *out_local) {
  *out_local = NO_LOCAL;
  if (h_is_simple(value) || is_poison(value) || !type_is_real(value->type)) return value;
  *out_local = local_hidden(check, value->type, value->span);
  return h_local(check, *out_local, value->span);
}

HExpr *h_let_end(Check *check, LocalId local, HExpr *value, HExpr *inner) {
  if (local == NO_LOCAL || is_poison(inner)) return inner;
  assert(!types_is(&check->types, value->type, TYPE_OPTIONAL));
  return h_if_some(check, local, h_some(check, value), inner, h_zero(check, inner->type, inner->span));
}

static bool same_args(const Check *check, const HExprs *a, const HExprs *b) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (!h_equal(check, a->items[i], b->items[i])) return false;
  return true;
}

bool h_equal(const Check *check, const HExpr *a, const HExpr *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->op != b->op || a->type != b->type || a->table != b->table || a->index != b->index) return false;
  switch ((HExprKind)a->kind) {
    case H_CONST: return type_is_real(a->type) && value_equal(&check->types.table, a->type, a->value, b->value);
    case H_LOCAL: return a->local == b->local;
    case H_STATE: return true;
    case H_COLUMN: case H_FIELD: case H_OPEN: case H_HAS: case H_NOT: case H_NEG: case H_CONVERT: case H_COUNT:
      return h_equal(check, a->a, b->a);
    case H_ARITH: case H_COMPARE: case H_AND: case H_OR: case H_IN: return h_equal(check, a->a, b->a) && h_equal(check, a->b, b->b);
    case H_BUILTIN: return same_args(check, &a->args, &b->args);
    case H_CALL: return a->function == b->function && same_args(check, &a->args, &b->args);
    case H_IF: case H_IF_SOME: case H_MATCH: case H_DIVIDE: case H_ROUND: case H_TEXT: case H_RECORD: case H_VARIANT: case H_LIST: case H_SET:
    case H_MAP: case H_JOIN: case H_RANGE: case H_ITEM: case H_LOOKUP: case H_FIND: case H_FIND_UNIQUE: case H_INSERT: case H_QUERY:
    case H_AGGREGATE: case H_NOW: case H_CALLER: case H_NEW_UUID: case H_CALLER_IS: case H_RANDOM: case H_GIVEN: case H_POSITION:
    case H_CALL_ENTRY: case H_SENT: case H_ISSUE_TOKEN: case H_KINDS: break;
  }
  return false;
}
