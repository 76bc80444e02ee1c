// Where a value of one type stands in a place of another: what adapts in silence (T to T?, int to decimal, a smaller scale
// to a larger one, a literal to a float, a record to one with the same fields), and what is said of everything else.
#include "compiler/check/internal.h"

#include <assert.h>

#include "runtime/base/decimal.h"

const char *aup_article(Check *check, TypeId type) { return type_article(type_name(check, type)); }

// Values that cannot be wider than what they came from need no check.
HExpr *fit(Check *check, HExpr *a) {
  if (!types_is(&check->types, a->type, TYPE_DECIMAL)) return a;
  switch ((HExprKind)a->kind) {
    case H_LOCAL: if (a->op == LOCAL_IS_WIDE) break; return a;
    case H_STATE: case H_COLUMN: case H_CALL: case H_FIELD: case H_OPEN: return a;
    case H_CONVERT: if (a->op == CONVERT_FIT) return a; break;
    case H_CONST: case H_ARITH: case H_NEG: case H_COMPARE: case H_AND: case H_OR: case H_NOT: case H_HAS: case H_IF: case H_IF_SOME:
    case H_MATCH: case H_BUILTIN: case H_DIVIDE: case H_ROUND: case H_TEXT: case H_RECORD: case H_VARIANT: case H_LIST: case H_SET: case H_MAP:
    case H_JOIN: case H_RANGE: case H_ITEM: case H_LOOKUP: case H_COUNT: case H_IN: case H_FIND: case H_FIND_UNIQUE: case H_INSERT:
    case H_QUERY: case H_AGGREGATE: case H_NOW: case H_CALLER: case H_NEW_UUID: case H_CALLER_IS: case H_RANDOM: case H_GIVEN:
    case H_POSITION: case H_CALL_ENTRY: case H_SENT: case H_ISSUE_TOKEN: case H_KINDS: break;
  }
  return h_convert(check, CONVERT_FIT, a->type, a);
}

static HExpr *to_decimal(Check *check, HExpr *a, TypeId want) {
  unsigned to = check->types.types[want].scale;
  if (a->type == ID_INT) {
    HExpr *whole = h_convert(check, CONVERT_INT_TO_DECIMAL, types_decimal(&check->types, 0), a);
    return to == 0 || is_poison(whole) ? whole : h_convert(check, CONVERT_SCALE, want, whole);
  }
  if (!types_is(&check->types, a->type, TYPE_DECIMAL) || check->types.types[a->type].scale > to) return NULL;
  return h_convert(check, CONVERT_SCALE, want, a);
}

static HExpr *to_float(Check *check, HExpr *a) {
  if (a->type == ID_INT) return h_convert(check, CONVERT_INT_TO_FLOAT, ID_FLOAT, a);
  if (a->kind != H_CONST || !types_is(&check->types, a->type, TYPE_DECIMAL)) return NULL;
  return h_const(check, ID_FLOAT, (Value){.f = decimal_to_float(a->value.dec, check->types.types[a->type].scale)}, a->span);
}

// The same fields by name, each of which fits.
static HExpr *to_record(Check *check, HExpr *a, TypeId want) {
  if (!types_is(&check->types, a->type, TYPE_RECORD)) return NULL;
  const RecordDef *to = &check->types.records[types_of(&check->types, want)], *from = &check->types.records[types_of(&check->types, a->type)];
  const Sym *to_syms = check->types.infos[types_of(&check->types, want)].syms, *from_syms = check->types.infos[types_of(&check->types, a->type)].syms;
  if (to->field_count != from->field_count || to->field_count > 4096) return NULL;
  LocalId local;
  HExpr *whole = h_let_begin(check, a, &local), *made = h_args(check, H_RECORD, want, to->field_count, a->span);
  for (uint32_t i = 0; i < made->args.count; i++) {
    uint32_t k = 0;
    while (k < from->field_count && from_syms[k] != to_syms[i]) k++;
    if (k == from->field_count) return NULL;
    HExpr *field = h_unary(check, H_FIELD, from->fields[k].type, whole, a->span);
    field->index = k;
    HExpr *converted = try_convert(check, field, to->fields[i].type);
    if (!converted) return NULL;
    made->args.items[i] = fit(check, converted);
  }
  return h_let_end(check, local, a, made);
}

static HExpr *to_optional(Check *check, HExpr *a, TypeId want) {
  TypeId inside = types_of(&check->types, want);
  if (a->type == ID_NOTHING) return h_none(check, want, a->span);
  if (!types_is(&check->types, a->type, TYPE_OPTIONAL)) {
    HExpr *converted = try_convert(check, a, inside);
    return converted ? h_some(check, converted) : NULL;
  }
  LocalId local = local_hidden(check, types_of(&check->types, a->type), a->span);
  HExpr *converted = try_convert(check, h_local(check, local, a->span), inside);
  return converted ? h_if_some(check, local, a, h_some(check, converted), h_none(check, want, a->span)) : NULL;
}

static HExpr *to_empty(Check *check, HExpr *a, TypeId want) {
  TypeKind kind = (TypeKind)check->types.types[want].kind;
  return kind == TYPE_LIST || kind == TYPE_SET || kind == TYPE_MAP ? h_zero(check, want, a->span) : NULL;
}

HExpr *try_convert(Check *check, HExpr *a, TypeId want) {
  if (a->type == want || is_poison(a)) return a;
  if (!type_is_real(want)) return want == ID_POISON ? h_poison(check, a->span) : a;
  TypeKind kind = (TypeKind)check->types.types[want].kind;
  if (kind == TYPE_OPTIONAL) return check->body || a->kind == H_CONST ? to_optional(check, a, want) : NULL;
  if (a->type == ID_EMPTY) return to_empty(check, a, want);
  if (!type_is_real(a->type)) return NULL;
  if (kind == TYPE_DECIMAL) return to_decimal(check, a, want);
  if (kind == TYPE_FLOAT) return to_float(check, a);
  if (kind == TYPE_RECORD) return to_record(check, a, want);
  if (kind == TYPE_SET && types_is(&check->types, a->type, TYPE_LIST) && types_of(&check->types, a->type) == types_of(&check->types, want)) return h_unary(check, H_SET, want, a, a->span);
  if (kind == TYPE_REF && check->body && check->body->keys_as_refs && check->types.table.table_keys[types_of(&check->types, want)] == a->type)
    return h_convert(check, CONVERT_TO_REF, want, a);
  return NULL;
}

// ---- what is said -----------------------------------------------------------------------------

static void label_why(Check *check, Diag *diag, const Why *why, TypeId want) {
  if (!why || !why->what) return;
  Str type = type_name(check, want);
  if (span_is_none(why->span)) diag_note(check->diags, diag, "%s %s" STR_FMT, why->what, type_article(type), STR_ARG(type));
  else if (why->name) diag_label(check->diags, diag, why->span, "%s `" STR_FMT "` is %s" STR_FMT, why->what, SYM_ARG(check, why->name), type_article(type), STR_ARG(type));
  else diag_label(check->diags, diag, why->span, "%s %s" STR_FMT, why->what, type_article(type), STR_ARG(type));
}

static void say_scale(Check *check, const HExpr *a, TypeId want, const Why *why) {
  unsigned from = check->types.types[a->type].scale, to = check->types.types[want].scale;
  Diag *diag = diag_add(check->diags, DIAG_E203, a->span, "this has %u digits after the point, its place keeps %u", from, to);
  label_why(check, diag, why, want);
  if (a->kind == H_CONST) diag_help(check->diags, diag, "write %u digit%s, or round it: `round(…, %u)`", to, to == 1 ? "" : "s", to);
  else diag_help(check->diags, diag, "narrow it with `round(…, %u)`", to);
}

static void say_mismatch(Check *check, const HExpr *a, TypeId want, const Why *why) {
  TypeId open = types_open(&check->types, want);
  if (types_is(&check->types, a->type, TYPE_DECIMAL) && types_is(&check->types, open, TYPE_DECIMAL)) { say_scale(check, a, open, why); return; }
  Str found = type_name(check, a->type), wanted = type_name(check, want);
  if (types_is(&check->types, a->type, TYPE_OPTIONAL) && types_of(&check->types, a->type) == want) {
    Diag *diag = diag_add(check->diags, DIAG_E202, a->span, "this may be none, but %s" STR_FMT " is needed", type_article(wanted), STR_ARG(wanted));
    label_why(check, diag, why, want);
    diag_help(check->diags, diag, "open it: `?? …` gives another value, `let x = … else reject …` ends here, `if let x = …` goes on with it");
    return;
  }
  if (a->type == TYPE_NONE) {
    Diag *diag = diag_add(check->diags, DIAG_E201, a->span, "this gives no value, but %s" STR_FMT " is needed", type_article(wanted), STR_ARG(wanted));
    label_why(check, diag, why, want);
    return;
  }
  Diag *diag = diag_add(check->diags, DIAG_E201, a->span, "this is %s" STR_FMT ", but %s" STR_FMT " is needed", type_article(found), STR_ARG(found), type_article(wanted), STR_ARG(wanted));
  label_why(check, diag, why, want);
  if (a->type == ID_NOTHING) diag_help(check->diags, diag, "only what is declared with `?` can be none");
  else if (open == ID_TEXT) diag_help(check->diags, diag, "to make a text of it write \"{…}\"");
  else if (open == ID_INT && a->type == ID_FLOAT) diag_help(check->diags, diag, "`truncate(…)` gives its whole part");
  else if (open == ID_FLOAT && types_is(&check->types, a->type, TYPE_DECIMAL)) diag_help(check->diags, diag, "`to_float(…)` makes a float of it");
  else if (types_is(&check->types, open, TYPE_DECIMAL) && a->type == ID_FLOAT) diag_help(check->diags, diag, "`to_decimal(…, %u)` makes a decimal of it", check->types.types[open].scale);
  else if (open == ID_INT && a->type == ID_TEXT) diag_help(check->diags, diag, "`parse_int(…)` reads a number from a text");
  else if (types_is(&check->types, open, TYPE_REF)) diag_help(check->diags, diag, "look the row up: `" STR_FMT "[…]`", STR_ARG(check->types.table.table_names[types_of(&check->types, open)]));
}

HExpr *coerce(Check *check, HExpr *a, TypeId want, const Why *why) {
  if (want == TYPE_NONE || want == ID_POISON || is_poison(a)) return want == ID_POISON ? h_poison(check, a->span) : a;
  HExpr *converted = try_convert(check, a, want);
  if (converted) return fit(check, converted);
  say_mismatch(check, a, want, why);
  return h_poison(check, a->span);
}

HExpr *need_open(Check *check, HExpr *a, const char *where) {
  if (!types_is(&check->types, a->type, TYPE_OPTIONAL) && a->type != ID_NOTHING) return a;
  Diag *diag = diag_add(check->diags, DIAG_E202, a->span, "this may be none, so it cannot stand %s", where);
  diag_help(check->diags, diag, "open it: `?? …`, `if let x = … { }`, `let x = … else reject …`, or test `!= none` before");
  return h_poison(check, a->span);
}

// ---- one type for two values ------------------------------------------------------------------

static TypeId unify_numbers(Check *check, const HExpr *a, const HExpr *b) {
  const TypeBuilder *types = &check->types;
  bool a_dec = types_is(types, a->type, TYPE_DECIMAL), b_dec = types_is(types, b->type, TYPE_DECIMAL);
  if (a_dec && b_dec) return types->types[a->type].scale >= types->types[b->type].scale ? a->type : b->type;
  if (a_dec && b->type == ID_INT) return a->type;
  if (b_dec && a->type == ID_INT) return b->type;
  if (a->type == ID_FLOAT && (b->type == ID_INT || (b_dec && b->kind == H_CONST))) return ID_FLOAT;
  if (b->type == ID_FLOAT && (a->type == ID_INT || (a_dec && a->kind == H_CONST))) return ID_FLOAT;
  return ID_POISON;
}

TypeId unify(Check *check, const HExpr *a, const HExpr *b) {
  if (a->type == b->type) return a->type;
  if (is_poison(a) || is_poison(b)) return ID_POISON;
  if (a->type == ID_NOTHING) return type_is_real(b->type) ? types_optional(&check->types, b->type) : ID_POISON;
  if (b->type == ID_NOTHING) return type_is_real(a->type) ? types_optional(&check->types, a->type) : ID_POISON;
  if (a->type == ID_EMPTY) return b->type;
  if (b->type == ID_EMPTY) return a->type;
  if (!type_is_real(a->type) || !type_is_real(b->type)) return ID_POISON;
  bool a_opt = types_is(&check->types, a->type, TYPE_OPTIONAL), b_opt = types_is(&check->types, b->type, TYPE_OPTIONAL);
  if (a_opt || b_opt) {
    HExpr a_open = *a, b_open = *b;
    a_open.type = types_open(&check->types, a->type);
    b_open.type = types_open(&check->types, b->type);
    TypeId inside = unify(check, &a_open, &b_open);
    return inside == ID_POISON ? inside : types_optional(&check->types, inside);
  }
  if (types_is(&check->types, a->type, TYPE_RECORD) && types_is(&check->types, b->type, TYPE_RECORD)) return a->type;  // coerce says whether it fits
  return unify_numbers(check, a, b);
}
