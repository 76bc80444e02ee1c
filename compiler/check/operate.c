// Operators. Long chains are walked along their left side in a loop, so that a chain of thousands needs no deep stack.
#include "compiler/check/internal.h"

#include <stdio.h>

static const int64_t DAY_US = 86400000000;

static bool is_decimal(const Check *check, TypeId type) { return types_is(&check->types, type, TYPE_DECIMAL); }
static bool is_number(const Check *check, TypeId type) { return type == ID_INT || type == ID_FLOAT || is_decimal(check, type); }

static const char *oper_sign(Oper op) {
  switch (op) {
    case OPER_ADD: return "+";
    case OPER_SUB: return "-";
    case OPER_MUL: return "*";
    case OPER_DIV: return "/";
    case OPER_MOD: return "%";
    case OPER_EQ: return "==";
    case OPER_NE: return "!=";
    case OPER_LT: return "<";
    case OPER_LE: return "<=";
    case OPER_GT: return ">";
    case OPER_GE: return ">=";
    case OPER_OR: return "or";
    case OPER_AND: return "and";
    case OPER_IN: return "in";
    case OPER_ELSE: return "??";
    case OPER_RANGE: return "..";
    case OPER_NOT: return "not";
    case OPER_NEG: return "-";
    case OPER_OPEN: return "?.";
    case OPER_NOTHING: break;
  }
  return "";
}

static HOp arith_op(Oper op) {
  return op == OPER_ADD ? HOP_ADD : op == OPER_SUB ? HOP_SUB : op == OPER_MUL ? HOP_MUL : op == OPER_DIV ? HOP_DIV : HOP_MOD;
}

// ---- arithmetic -------------------------------------------------------------------------------

static HExpr *say_no_arith(Check *check, Oper op, const HExpr *a, const HExpr *b, Span span, Span op_span) {
  Str left = type_name(check, a->type), right = type_name(check, b->type);
  if (op == OPER_ADD && (a->type == ID_TEXT || b->type == ID_TEXT)) {
    Diag *diag = diag_add(check->diags, DIAG_E210, op_span, "texts are not added with `+`");
    diag_help(check->diags, diag, "write one text: \"{…}{…}\"");
    return h_poison(check, span);
  }
  Diag *diag = diag_add(check->diags, DIAG_E201, op_span, "`%s` does not work on %s" STR_FMT " and %s" STR_FMT, oper_sign(op), type_article(left), STR_ARG(left), type_article(right), STR_ARG(right));
  diag_label(check->diags, diag, a->span, STR_FMT, STR_ARG(left));
  diag_label(check->diags, diag, b->span, STR_FMT, STR_ARG(right));
  if ((a->type == ID_FLOAT && is_decimal(check, b->type)) || (b->type == ID_FLOAT && is_decimal(check, a->type)))
    diag_help(check->diags, diag, "say which one is meant: `to_float(…)` or `to_decimal(…, 2)`");
  return h_poison(check, span);
}

static HExpr *decimal_arith(Check *check, Oper op, HExpr *a, HExpr *b, Span span, Span op_span) {
  if (op == OPER_DIV) {
    Diag *diag = diag_add(check->diags, DIAG_E204, op_span, "a division of decimals must say how many digits its result has");
    diag_help(check->diags, diag, "write `divide(a, b, 2)`; for shares `percent(part, whole)`");
    return h_poison(check, span);
  }
  if (op == OPER_MOD) return say_no_arith(check, op, a, b, span, op_span);
  if (op == OPER_MUL) {
    unsigned scale = (is_decimal(check, a->type) ? check->types.types[a->type].scale : 0u) + (is_decimal(check, b->type) ? check->types.types[b->type].scale : 0u);
    if (scale > DECIMAL_SCALE_MAX) {
      Diag *diag = diag_add(check->diags, DIAG_E203, op_span, "the product has %u digits after the point, %d are possible (DECIMAL_SCALE_MAX)", scale, DECIMAL_SCALE_MAX);
      diag_help(check->diags, diag, "round one side before: `round(…, 2)`");
      return h_poison(check, span);
    }
    TypeId whole = types_decimal(&check->types, 0);
    if (a->type == ID_INT) a = try_convert(check, a, whole);
    if (b->type == ID_INT) b = try_convert(check, b, whole);
    return is_poison(a) || is_poison(b) ? h_poison(check, span) : h_binary(check, H_ARITH, HOP_MUL, types_decimal(&check->types, scale), a, b, span);
  }
  TypeId type = unify(check, a, b);
  a = try_convert(check, a, type);
  b = try_convert(check, b, type);
  return is_poison(a) || is_poison(b) ? h_poison(check, span) : h_binary(check, H_ARITH, arith_op(op), type, a, b, span);
}

static HExpr *number_arith(Check *check, Oper op, HExpr *a, HExpr *b, Span span, Span op_span) {
  TypeId type = unify(check, a, b);
  if (type == ID_POISON) return say_no_arith(check, op, a, b, span, op_span);
  if (is_decimal(check, type)) return decimal_arith(check, op, a, b, span, op_span);
  if (type == ID_FLOAT && op == OPER_MOD) return say_no_arith(check, op, a, b, span, op_span);
  return h_binary(check, H_ARITH, arith_op(op), type, try_convert(check, a, type), try_convert(check, b, type), span);
}

// A date and a duration: whole days.
static HExpr *date_and_duration(Check *check, Oper op, HExpr *date, HExpr *duration, Span span) {
  if (duration->kind == H_CONST && duration->value.i % DAY_US) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E201, duration->span, "a date moves by whole days"), "for a time of the day use `start_of(…) + 2h`");
    return h_poison(check, span);
  }
  HExpr *days = h_binary(check, H_ARITH, HOP_DIV, ID_INT, duration, h_const(check, ID_DURATION, (Value){.i = DAY_US}, duration->span), duration->span);
  return h_binary(check, H_ARITH, arith_op(op), ID_DATE, date, days, span);
}

// NULL: these do not go together.
static HExpr *time_arith(Check *check, Oper op, HExpr *a, HExpr *b, Span span) {
  bool add = op == OPER_ADD, sub = op == OPER_SUB;
  TypeId left = a->type, right = b->type;
  if (left == ID_DURATION && right == ID_DURATION) {
    if (add || sub || op == OPER_MOD) return h_binary(check, H_ARITH, arith_op(op), ID_DURATION, a, b, span);
    return op == OPER_DIV ? h_binary(check, H_ARITH, HOP_DIV, ID_INT, a, b, span) : NULL;
  }
  if (left == ID_TIME && right == ID_TIME && sub) return h_binary(check, H_ARITH, HOP_SUB, ID_DURATION, a, b, span);
  if (left == ID_DATE && right == ID_DATE && sub) {
    HExpr *days = h_binary(check, H_ARITH, HOP_SUB, ID_INT, a, b, span);
    return h_binary(check, H_ARITH, HOP_MUL, ID_DURATION, days, h_const(check, ID_DURATION, (Value){.i = DAY_US}, span), span);
  }
  if (left == ID_TIME && right == ID_DURATION && (add || sub)) return h_binary(check, H_ARITH, arith_op(op), ID_TIME, a, b, span);
  if (left == ID_DURATION && right == ID_TIME && add) return h_binary(check, H_ARITH, HOP_ADD, ID_TIME, b, a, span);
  if (left == ID_DATE && right == ID_DURATION && (add || sub)) return date_and_duration(check, op, a, b, span);
  if (left == ID_DURATION && right == ID_DATE && add) return date_and_duration(check, op, b, a, span);
  if (left == ID_DURATION && right == ID_INT && (op == OPER_MUL || op == OPER_DIV)) return h_binary(check, H_ARITH, arith_op(op), ID_DURATION, a, b, span);
  if (left == ID_INT && right == ID_DURATION && op == OPER_MUL) return h_binary(check, H_ARITH, HOP_MUL, ID_DURATION, b, a, span);
  return NULL;
}

static HExpr *list_join(Check *check, HExpr *a, HExpr *b, Span span) {
  TypeId type = unify(check, a, b);
  if (!types_is(&check->types, type, TYPE_LIST)) return NULL;
  return h_binary(check, H_JOIN, HOP_ADD, type, try_convert(check, a, type), try_convert(check, b, type), span);
}

HExpr *arithmetic(Check *check, Oper op, HExpr *a, HExpr *b, Span span, Span op_span) {
  char where[32];
  snprintf(where, sizeof where, "beside `%s`", oper_sign(op));
  a = need_open(check, a, where);
  b = need_open(check, b, where);
  if (is_poison(a) || is_poison(b)) return h_poison(check, span);
  if (is_number(check, a->type) && is_number(check, b->type)) return number_arith(check, op, a, b, span, op_span);
  HExpr *made = time_arith(check, op, a, b, span);
  bool lists = (types_is(&check->types, a->type, TYPE_LIST) || a->type == ID_EMPTY) && (types_is(&check->types, b->type, TYPE_LIST) || b->type == ID_EMPTY);
  if (!made && op == OPER_ADD && lists) made = list_join(check, a, b, span);
  return made ? made : say_no_arith(check, op, a, b, span, op_span);
}

// ---- comparison -------------------------------------------------------------------------------

static HOp compare_op(Oper op) {
  switch (op) {
    case OPER_EQ: return HOP_EQ;
    case OPER_NE: return HOP_NE;
    case OPER_LT: return HOP_LT;
    case OPER_LE: return HOP_LE;
    case OPER_GT: return HOP_GT;
    case OPER_GE: return HOP_GE;
    case OPER_NOTHING: case OPER_OR: case OPER_AND: case OPER_IN: case OPER_ELSE: case OPER_RANGE: case OPER_ADD: case OPER_SUB: case OPER_MUL:
    case OPER_DIV: case OPER_MOD: case OPER_NOT: case OPER_NEG: case OPER_OPEN: break;
  }
  return HOP_EQ;
}

// `a == none`. What is known to hold something is never none, and said only where nothing was tested before.
static HExpr *compare_none(Check *check, Oper op, HExpr *a, Span span) {
  if (a->kind == H_OPEN) return h_bool(check, op == OPER_NE, span);
  if (a->type == ID_NOTHING) return h_bool(check, op == OPER_EQ, span);
  if (!types_is(&check->types, a->type, TYPE_OPTIONAL)) {
    Str name = type_name(check, a->type);
    Diag *diag = diag_add(check->diags, DIAG_E208, a->span, "this is %s" STR_FMT ", it is never none", type_article(name), STR_ARG(name));
    diag_help(check->diags, diag, "only what is declared with `?` can be none");
    return h_poison(check, span);
  }
  HExpr *has = h_unary(check, H_HAS, ID_BOOL, a, span);
  return op == OPER_EQ ? h_unary(check, H_NOT, ID_BOOL, has, span) : has;
}

static HExpr *say_never(Check *check, Oper op, const HExpr *a, const HExpr *b, Span span) {
  Str left = type_name(check, a->type), right = type_name(check, b->type);
  bool equality = op == OPER_EQ || op == OPER_NE;
  Diag *diag = diag_add(check->diags, equality ? DIAG_E208 : DIAG_E201, span, equality ? "%s" STR_FMT " and %s" STR_FMT " are never equal" : "%s" STR_FMT " and %s" STR_FMT " have no order between them",
                        type_article(left), STR_ARG(left), type_article(right), STR_ARG(right));
  diag_label(check->diags, diag, a->span, STR_FMT, STR_ARG(left));
  diag_label(check->diags, diag, b->span, STR_FMT, STR_ARG(right));
  if (types_is(&check->types, a->type, TYPE_REF) && check->types.table.table_keys[types_of(&check->types, a->type)] == types_open(&check->types, b->type))
    diag_help(check->diags, diag, "compare its key: `.id`, or the field that is the key of `" STR_FMT "`", STR_ARG(left));
  return h_poison(check, span);
}

HExpr *comparison(Check *check, Oper op, HExpr *a, HExpr *b, Span span) {
  if (is_poison(a) || is_poison(b)) return h_poison(check, span);
  bool equality = op == OPER_EQ || op == OPER_NE;
  if (equality && b->type == ID_NOTHING) return compare_none(check, op, a, span);
  if (equality && a->type == ID_NOTHING) return compare_none(check, op, b, span);
  if (!equality) {
    char where[32];
    snprintf(where, sizeof where, "beside `%s`", oper_sign(op));
    a = need_open(check, a, where);
    b = need_open(check, b, where);
    if (is_poison(a) || is_poison(b)) return h_poison(check, span);
  }
  TypeId type = unify(check, a, b);
  if (!type_is_real(type)) return say_never(check, op, a, b, span);
  HExpr *left = try_convert(check, a, type), *right = try_convert(check, b, type);
  if (!left || !right) return say_never(check, op, a, b, span);
  if (!equality && !type_is_ordered(&check->types.table, type)) {
    Str name = type_name(check, type);
    diag_help(check->diags, diag_add(check->diags, DIAG_E201, span, "%s" STR_FMT " has no order", type_article(name), STR_ARG(name)), "compare parts of it");
    return h_poison(check, span);
  }
  return h_binary(check, H_COMPARE, compare_op(op), ID_BOOL, left, right, span);
}

// ---- in, ??, .. -------------------------------------------------------------------------------

static HExpr *in_range(Check *check, HExpr *item, const Expr *range, Span span) {
  LocalId local;
  HExpr *low = need_open(check, check_expr(check, range->binary.left, item->type), "in a range");
  HExpr *high = need_open(check, check_expr(check, range->binary.right, item->type), "in a range");
  HExpr *named = h_let_begin(check, item, &local);
  HExpr *above = comparison(check, OPER_GE, named, low, span), *below = comparison(check, OPER_LE, named, high, span);
  if (is_poison(above) || is_poison(below)) return h_poison(check, span);
  return h_let_end(check, local, item, h_binary(check, H_AND, HOP_EQ, ID_BOOL, above, below, span));
}

static HExpr *check_in(Check *check, const Expr *expr) {
  HExpr *item = need_open(check, check_expr(check, expr->binary.left, TYPE_NONE), "beside `in`");
  const Expr *right = expr->binary.right;
  if (right->kind == EXPR_BINARY && right->op == OPER_RANGE) return is_poison(item) ? item : in_range(check, item, right, expr->span);
  TypeId want = type_is_real(item->type) ? types_list(&check->types, item->type) : TYPE_NONE;
  HExpr *all = need_open(check, check_expr(check, right, want), "beside `in`");
  if (is_poison(item) || is_poison(all)) return h_poison(check, expr->span);
  bool holds = types_is(&check->types, all->type, TYPE_LIST) || types_is(&check->types, all->type, TYPE_SET) || types_is(&check->types, all->type, TYPE_MAP);
  if (!holds) {
    Str name = type_name(check, all->type);
    diag_help(check->diags, diag_add(check->diags, DIAG_E107, all->span, "`in` looks into a list, set, map or range, this is %s" STR_FMT, type_article(name), STR_ARG(name)), "part of a text: `contains(text, part)`");
    return h_poison(check, expr->span);
  }
  HExpr *converted = try_convert(check, item, types_of(&check->types, all->type));
  if (!converted) return say_never(check, OPER_EQ, item, &(HExpr){.kind = H_LOCAL, .type = types_of(&check->types, all->type), .span = all->span}, expr->span);
  return h_binary(check, H_IN, HOP_EQ, ID_BOOL, fit(check, converted), all, expr->span);
}

static HExpr *check_else(Check *check, const Expr *expr, TypeId want) {
  HExpr *a = check_expr(check, expr->binary.left, type_is_real(want) ? types_optional(&check->types, want) : want);
  TypeId inside = types_open(&check->types, a->type);
  HExpr *b = check_expr(check, expr->binary.right, a->type == ID_NOTHING || is_poison(a) ? want : inside);
  if (is_poison(a) || is_poison(b)) return h_poison(check, expr->span);
  if (a->type == ID_NOTHING || a->kind == H_OPEN) return a->kind == H_OPEN ? a : b;
  if (!types_is(&check->types, a->type, TYPE_OPTIONAL)) {
    Str name = type_name(check, a->type);
    Diag *diag = diag_add(check->diags, DIAG_E201, expr->binary.op_span, "`??` stands behind an optional, this is %s" STR_FMT, type_article(name), STR_ARG(name));
    diag_label(check->diags, diag, a->span, "never none");
    diag_help(check->diags, diag, "remove `?? …`");
    return h_poison(check, expr->span);
  }
  LocalId local = local_hidden(check, inside, a->span);
  HExpr *opened = h_local(check, local, a->span);
  TypeId type = unify(check, opened, b);
  HExpr *some = type_is_real(type) ? try_convert(check, opened, type) : NULL, *none = type_is_real(type) ? try_convert(check, b, type) : NULL;
  if (!some || !none) {
    coerce(check, b, inside, &(Why){.what = "what stands before `??` is", .span = a->span});
    return h_poison(check, expr->span);
  }
  HExpr *made = h_if_some(check, local, a, fit(check, some), fit(check, none));
  made->span = expr->span;
  return made;
}

static HExpr *check_range(Check *check, const Expr *expr) {
  Why why = {.what = "a range goes from one int to another; it is"};
  HExpr *a = check_value(check, expr->binary.left, ID_INT, &why), *b = check_value(check, expr->binary.right, ID_INT, &why);
  if (is_poison(a) || is_poison(b)) return h_poison(check, expr->span);
  return h_binary(check, H_RANGE, HOP_EQ, types_list(&check->types, ID_INT), a, b, expr->span);
}

// ---- chains -----------------------------------------------------------------------------------

static bool is_arith(Oper op) { return op >= OPER_ADD && op <= OPER_MOD; }
static bool goes_on(const Expr *left, Oper op) {
  if (left->kind != EXPR_BINARY) return false;
  return is_arith(op) ? is_arith(left->op) : left->op == op;
}

// The nodes of a left-leaning chain, outermost first.
static uint32_t chain_of(Check *check, const Expr *expr, const Expr ***out) {
  uint32_t count = 1;
  for (const Expr *e = expr; goes_on(e->binary.left, expr->op); e = e->binary.left) count++;
  *out = CHECK_ARRAY(check, const Expr *, count);
  if (!*out) return 0;
  const Expr *e = expr;
  for (uint32_t i = 0; i < count; i++, e = e->binary.left) (*out)[i] = e;
  return count;
}

static HExpr *check_arith_chain(Check *check, const Expr *expr, TypeId want) {
  const Expr **chain;
  uint32_t count = chain_of(check, expr, &chain);
  if (!count) return h_poison(check, expr->span);
  TypeId hint = types_is(&check->types, want, TYPE_LIST) ? want : TYPE_NONE;
  HExpr *a = check_expr(check, chain[count - 1]->binary.left, hint);
  for (uint32_t i = count; i-- > 0;) {
    HExpr *b = check_expr(check, chain[i]->binary.right, types_is(&check->types, a->type, TYPE_LIST) ? a->type : TYPE_NONE);
    a = arithmetic(check, chain[i]->op, a, b, chain[i]->span, chain[i]->binary.op_span);
  }
  return a;
}

static HExpr *check_logic_chain(Check *check, const Expr *expr) {
  const Expr **chain;
  uint32_t count = chain_of(check, expr, &chain);
  if (!count) return h_poison(check, expr->span);
  bool is_and = expr->op == OPER_AND, poisoned = false;
  const char *where = is_and ? "both sides of `and` are" : "both sides of `or` are";
  uint32_t facts = check->facts.count;
  HExpr *a = check_condition(check, chain[count - 1]->binary.left, where), *last = a;
  for (uint32_t i = count; i-- > 0;) {
    facts_learn(check, last, is_and);
    HExpr *b = check_condition(check, chain[i]->binary.right, where);
    poisoned |= is_poison(a) || is_poison(b);
    last = b;
    a = poisoned ? b : h_binary(check, is_and ? H_AND : H_OR, HOP_EQ, ID_BOOL, a, b, chain[i]->span);
  }
  check->facts.count = facts;
  return poisoned ? h_poison(check, expr->span) : a;
}

HExpr *check_binary(Check *check, const Expr *expr, TypeId want) {
  switch (expr->op) {
    case OPER_ADD: case OPER_SUB: case OPER_MUL: case OPER_DIV: case OPER_MOD: return check_arith_chain(check, expr, want);
    case OPER_AND: case OPER_OR: return check_logic_chain(check, expr);
    case OPER_EQ: case OPER_NE: case OPER_LT: case OPER_LE: case OPER_GT: case OPER_GE: {
      HExpr *a = check_expr(check, expr->binary.left, TYPE_NONE);
      HExpr *b = check_expr(check, expr->binary.right, type_is_real(a->type) ? types_open(&check->types, a->type) : TYPE_NONE);
      return comparison(check, expr->op, a, b, expr->span);
    }
    case OPER_IN: return check_in(check, expr);
    case OPER_ELSE: return check_else(check, expr, want);
    case OPER_RANGE: return check_range(check, expr);
    case OPER_NOTHING: case OPER_NOT: case OPER_NEG: case OPER_OPEN: break;
  }
  return h_poison(check, expr->span);
}

HExpr *check_unary(Check *check, const Expr *expr, TypeId want) {
  if (expr->op == OPER_NOT) {
    HExpr *a = check_condition(check, expr->unary, "`not` turns round");
    return is_poison(a) ? a : h_unary(check, H_NOT, ID_BOOL, a, expr->span);
  }
  HExpr *a = need_open(check, check_expr(check, expr->unary, want), "behind `-`");
  if (is_poison(a)) return a;
  if (is_number(check, a->type) || a->type == ID_DURATION) return h_unary(check, H_NEG, a->type, a, expr->span);
  Str name = type_name(check, a->type);
  diag_add(check->diags, DIAG_E201, expr->span, "`-` turns the sign of a number, this is %s" STR_FMT, type_article(name), STR_ARG(name));
  return h_poison(check, expr->span);
}
