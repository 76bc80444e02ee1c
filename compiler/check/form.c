// Functions that the compiler lowers itself: digits that a literal names, the caller, chance.
#include "compiler/check/internal.h"

#include <assert.h>

#include "runtime/base/decimal.h"
#include "runtime/module/builtins.h"

enum { FORM_ARGS_MAX = 3 };

typedef struct FormCall {
  const Expr *call;
  Name name;
  int form;
  HExpr *receiver;
  const Expr *args[FORM_ARGS_MAX];  // by parameter; the first is NULL when there is a receiver
} FormCall;

static HExpr *say_form(Check *check, const FormCall *f) {
  Diag *diag = diag_add(check->diags, DIAG_E206, f->name.span, "the arguments do not fit `" STR_FMT "`", SYM_ARG(check, f->name.sym));
  diag_help(check->diags, diag, "it is `" STR_FMT "%s`", SYM_ARG(check, f->name.sym), builtin_info((BuiltinId)f->form)->signature);
  return h_poison(check, f->call->span);
}

static bool place_args(Check *check, FormCall *f) {
  BuiltinSignature signature;
  builtin_signature((BuiltinId)f->form, &signature);
  const ArgList *args = &f->call->call.args;
  uint32_t position = f->receiver != NULL;
  for (uint32_t i = 0; i < args->count; i++) {
    uint32_t place = position++;
    if (args->items[i].name.sym) {
      place = 0;
      while (place < signature.param_count && !str_equal(signature.params[place].name, sym_str(check, args->items[i].name.sym)) &&
             !(str_is(signature.params[place].name, "s") && str_is(sym_str(check, args->items[i].name.sym), "scale"))) place++;
    }
    if (place >= signature.param_count || place >= FORM_ARGS_MAX || f->args[place] || (f->receiver && place == 0)) return false;
    f->args[place] = args->items[i].value;
  }
  for (uint32_t i = f->receiver != NULL; i < signature.required_count; i++)
    if (!f->args[i]) return false;
  return true;
}

// ---- digits -----------------------------------------------------------------------------------

static bool scale_of(Check *check, const Expr *expr, unsigned *out) {
  int64_t scale;
  if (!const_int(check, expr, ID_INT, &scale)) return false;
  if (scale >= 0 && scale <= DECIMAL_SCALE_MAX) { *out = (unsigned)scale; return true; }
  diag_add(check->diags, DIAG_E203, expr->span, "a decimal keeps 0 to %d digits after the point (DECIMAL_SCALE_MAX)", DECIMAL_SCALE_MAX);
  return false;
}

// An argument that is an int or decimal, as a decimal.
static HExpr *decimal_arg(Check *check, const FormCall *f, uint32_t i) {
  HExpr *a = i == 0 && f->receiver ? f->receiver : check_expr(check, f->args[i], TYPE_NONE);
  a = need_open(check, a, "as an argument");
  if (is_poison(a) || types_is(&check->types, a->type, TYPE_DECIMAL)) return a;
  if (a->type == ID_INT) return try_convert(check, a, types_decimal(&check->types, 0));
  Str name = type_name(check, a->type);
  Diag *diag = diag_add(check->diags, DIAG_E201, a->span, "`" STR_FMT "` works on decimals, this is %s" STR_FMT, SYM_ARG(check, f->name.sym), type_article(name), STR_ARG(name));
  if (a->type == ID_FLOAT) diag_help(check->diags, diag, "`to_decimal(…, 2)` makes a decimal of it");
  return h_poison(check, a->span);
}

static HExpr *round_to(Check *check, HExpr *a, unsigned scale, DecimalRounding rounding, Span span) {
  unsigned from = check->types.types[a->type].scale;
  TypeId type = types_decimal(&check->types, scale);
  if (scale >= from) return scale == from ? a : h_convert(check, CONVERT_SCALE, type, a);
  if (a->kind == H_CONST) return h_const(check, type, (Value){.dec = decimal_narrow(a->value.dec, from - scale, rounding)}, span);
  HExpr *made = h_unary(check, H_ROUND, type, a, span);
  made->op = (uint8_t)rounding;
  return made;
}

static HExpr *check_round(Check *check, const FormCall *f, DecimalRounding rounding) {
  unsigned scale = 0;
  HExpr *a = decimal_arg(check, f, 0);
  bool known = scale_of(check, f->args[1], &scale);
  return is_poison(a) || !known ? h_poison(check, f->call->span) : round_to(check, a, scale, rounding, f->call->span);
}

static HExpr *divide_at(Check *check, HExpr *a, HExpr *b, unsigned scale, Span span) {
  if (b->kind == H_CONST && b->value.dec == 0) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E214, b->span, "this always divides by zero"), "divide by another number");
    return h_poison(check, span);
  }
  return h_binary(check, H_DIVIDE, HOP_DIV, types_decimal(&check->types, scale), a, b, span);
}

static HExpr *check_divide(Check *check, const FormCall *f) {
  unsigned scale = 0;
  HExpr *a = decimal_arg(check, f, 0), *b = decimal_arg(check, f, 1);
  bool known = scale_of(check, f->args[2], &scale);
  return is_poison(a) || is_poison(b) || !known ? h_poison(check, f->call->span) : divide_at(check, a, b, scale, f->call->span);
}

// if whole == 0 then 0 else divide(100 * part, whole, s)
static HExpr *check_percent(Check *check, const FormCall *f) {
  unsigned scale = 1;
  Span span = f->call->span;
  HExpr *part = decimal_arg(check, f, 0), *whole = decimal_arg(check, f, 1);
  bool known = !f->args[2] || scale_of(check, f->args[2], &scale);
  if (is_poison(part) || is_poison(whole) || !known) return h_poison(check, span);
  LocalId local;
  HExpr *named = h_let_begin(check, whole, &local);
  HExpr *zero = comparison(check, OPER_EQ, named, h_int(check, 0, span), span);
  HExpr *hundred = arithmetic(check, OPER_MUL, h_int(check, 100, span), part, span, span);
  if (is_poison(hundred) || is_poison(zero)) return h_poison(check, span);
  TypeId type = types_decimal(&check->types, scale);
  HExpr *none = h_const(check, type, (Value){.dec = 0}, span);
  if (zero->kind == H_CONST) return zero->value.i ? none : divide_at(check, hundred, named, scale, span);
  return h_let_end(check, local, whole, h_if(check, zero, none, h_binary(check, H_DIVIDE, HOP_DIV, type, hundred, named, span)));
}

static HExpr *check_to_decimal(Check *check, const FormCall *f) {
  unsigned scale = 0;
  HExpr *a = f->receiver ? f->receiver : check_expr(check, f->args[0], TYPE_NONE);
  bool known = scale_of(check, f->args[1], &scale);
  if (a->type == ID_FLOAT) { diag_add(check->diags, DIAG_E900, f->call->span, "not supported yet: to_decimal of a float"); return h_poison(check, f->call->span); }
  FormCall same = *f;
  same.receiver = a;
  a = decimal_arg(check, &same, 0);
  return is_poison(a) || !known ? h_poison(check, f->call->span) : round_to(check, a, scale, ROUND_HALF_EVEN, f->call->span);
}

// ---- the call's surroundings ------------------------------------------------------------------

static HExpr *check_given(Check *check, const FormCall *f) {
  const Expr *arg = f->args[0];
  uint32_t local = arg && arg->kind == EXPR_NAME ? local_find(check, arg->name.sym) : MAP_NOTHING;
  if (local == MAP_NOTHING || !check->body->fn->is_entry || local_info(check, local)->kind != LOCAL_PARAM) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E206, f->call->span, "`given` asks about a parameter of the input or view itself"), "write `given(name)`");
    return h_poison(check, f->call->span);
  }
  local_info(check, local)->used = true;
  HExpr *made = h_new(check, H_GIVEN, ID_BOOL, f->call->span);
  made->index = local_info(check, local)->param;
  return made;
}

static HExpr *check_caller_is(Check *check, const FormCall *f) {
  const Expr *arg = f->args[0];
  uint32_t role = arg && arg->kind == EXPR_NAME ? space_find(check, SPACE_ROLE, arg->name.sym) : MAP_NOTHING;
  if (role == MAP_NOTHING) {
    Diag *diag = diag_add(check->diags, DIAG_E306, arg ? arg->span : f->call->span, "`caller_is` asks for a declared role");
    if (arg && arg->kind == EXPR_NAME) near_space(check, diag, SPACE_ROLE, arg->name.sym);
    if (!diag->help.len) diag_help(check->diags, diag, "declare it: `role name`");
    return h_poison(check, f->call->span);
  }
  effect_note(check, EFFECT_CALLER, f->call->span, "caller_is");
  HExpr *made = h_new(check, H_CALLER_IS, ID_BOOL, f->call->span);
  made->index = role;
  return made;
}

// Roles that a token can carry: a list of names, known when the app is compiled.
static bool token_roles(Check *check, const Expr *list, uint64_t *out) {
  *out = 0;
  if (list->kind != EXPR_LIST) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E306, list->span, "the roles of a token are a list of their names"), "write `[teller, auditor]`, for example, or `[]`");
    return false;
  }
  bool sound = true;
  for (uint32_t i = 0; i < list->list.count; i++) {
    const Expr *one = list->list.items[i];
    uint32_t role = one->kind == EXPR_NAME ? space_find(check, SPACE_ROLE, one->name.sym) : MAP_NOTHING;
    if (role != MAP_NOTHING && !check->roles.items[role].decl->role.value) { *out |= (uint64_t)1 << (role % MODULE_ROLES_MAX); continue; }
    sound = false;
    if (role != MAP_NOTHING) {
      diag_help(check->diags, diag_add(check->diags, DIAG_E306, one->span, "`" STR_FMT "` is worked out from the state, no token gives it", SYM_ARG(check, one->name.sym)), "leave it out: who has it has it with any token");
      continue;
    }
    Diag *diag = diag_add(check->diags, DIAG_E306, one->span, "a token carries declared roles");
    if (one->kind == EXPR_NAME) near_space(check, diag, SPACE_ROLE, one->name.sym);
    if (!diag->help.len) diag_help(check->diags, diag, "declare it: `role name`");
  }
  return sound;
}

static HExpr *check_issue_token(Check *check, const FormCall *f) {
  enum { ARGS = 3 };
  Why subject = {.what = "the subject of a token is"}, lasts = {.what = "how long a token lasts is"};
  uint64_t roles = 0;
  HExpr *first = f->receiver ? coerce(check, f->receiver, ID_TEXT, &subject) : check_value(check, f->args[0], ID_TEXT, &subject);
  bool sound = token_roles(check, f->args[1], &roles);
  HExpr *last = check_value(check, f->args[2], ID_DURATION, &lasts);
  effect_note(check, EFFECT_WRITES, f->call->span, "this issues a token");
  effect_note(check, EFFECT_RANDOM, f->call->span, "issue_token");
  if (!sound || is_poison(first) || is_poison(last)) return h_poison(check, f->call->span);
  check->issues_tokens = true;
  HExpr *made = h_args(check, H_ISSUE_TOKEN, ID_TEXT, ARGS, f->call->span);
  if (made->args.count != ARGS) return made;
  made->args.items[0] = first;
  made->args.items[1] = h_int(check, (int64_t)roles, f->args[1]->span);
  made->args.items[2] = last;
  return made;
}

static HExpr *check_random(Check *check, const FormCall *f) {
  const Expr *range = f->args[0];
  effect_note(check, EFFECT_RANDOM, f->call->span, "random");
  if (!range || range->kind != EXPR_BINARY || range->op != OPER_RANGE) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E206, f->call->span, "`random` gives one number of a range"), "write `random(1..6)`");
    return h_poison(check, f->call->span);
  }
  Why why = {.what = "a range goes from one int to another; it is"};
  HExpr *low = check_value(check, range->binary.left, ID_INT, &why), *high = check_value(check, range->binary.right, ID_INT, &why);
  return is_poison(low) || is_poison(high) ? h_poison(check, f->call->span) : h_binary(check, H_RANDOM, HOP_EQ, ID_INT, low, high, f->call->span);
}

static HExpr *check_position(Check *check, const FormCall *f) {
  if (check->body && check->body->query && check->body->query->has_position) return h_new(check, H_POSITION, ID_INT, f->call->span);
  diag_help(check->diags, diag_add(check->diags, DIAG_E217, f->call->span, "`position()` numbers the results of a query"), "use it in its `select`");
  return h_poison(check, f->call->span);
}

static HExpr *say_aggregate(Check *check, const FormCall *f) {
  HExpr *a = f->receiver ? f->receiver : f->args[0] ? check_expr(check, f->args[0], TYPE_NONE) : NULL;
  if (a && is_poison(a)) return a;
  Str name = a ? type_name(check, a->type) : STR("nothing");
  Diag *diag = diag_add(check->diags, DIAG_E107, a ? a->span : f->name.span, "`" STR_FMT "` works on a query, a list or the rows of a group, this is %s" STR_FMT, SYM_ARG(check, f->name.sym), type_article(name), STR_ARG(name));
  if (a && a->type == ID_TEXT) diag_help(check->diags, diag, "the length of a text is `len(…)`");
  return h_poison(check, f->call->span);
}

HExpr *check_form(Check *check, int form, const Expr *call, Name name, HExpr *receiver, TypeId want) {
  (void)want;
  FormCall f = {.call = call, .name = name, .form = form, .receiver = receiver};
  if (!place_args(check, &f)) {
    for (uint32_t i = 0; i < call->call.args.count; i++) check_expr(check, call->call.args.items[i].value, TYPE_NONE);
    return say_form(check, &f);
  }
  switch (form) {
    case FORM_ROUND: return check_round(check, &f, ROUND_HALF_EVEN);
    case FORM_ROUND_UP: return check_round(check, &f, ROUND_UP);
    case FORM_ROUND_DOWN: return check_round(check, &f, ROUND_DOWN);
    case FORM_ROUND_HALF_UP: return check_round(check, &f, ROUND_HALF_UP);
    case FORM_DIVIDE: return check_divide(check, &f);
    case FORM_PERCENT: return check_percent(check, &f);
    case FORM_TO_DECIMAL: return check_to_decimal(check, &f);
    case FORM_POSITION: return check_position(check, &f);
    case FORM_GIVEN: return check_given(check, &f);
    case FORM_CALLER_IS: return check_caller_is(check, &f);
    case FORM_RANDOM: return check_random(check, &f);
    case FORM_ISSUE_TOKEN: return check_issue_token(check, &f);
    case FORM_NEW_UUID: effect_note(check, EFFECT_RANDOM, call->span, "new_uuid"); return h_new(check, H_NEW_UUID, ID_UUID, call->span);
    case FORM_COUNT: case FORM_COUNT_IF: case FORM_AVG: case FORM_LIST: return say_aggregate(check, &f);
    default: break;
  }
  for (uint32_t i = 0; i < call->call.args.count; i++) check_expr(check, call->call.args.items[i].value, TYPE_NONE);
  diag_add(check->diags, DIAG_E900, call->span, "not supported yet: " STR_FMT, SYM_ARG(check, name.sym));
  return h_poison(check, call->span);
}
