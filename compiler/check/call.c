// Calls of what the app declares, the arguments of anything that has parameters, and `reject`.
#include "compiler/check/internal.h"

#include <assert.h>

// ---- arguments --------------------------------------------------------------------------------

static HExpr *constant_of(const Fn *initial) {
  if (initial->progress != PROGRESS_DONE || initial->h.body.count != 1 || !initial->h.body.items[0].a) return NULL;
  HExpr *value = initial->h.body.items[0].a;
  return value->kind == H_CONST ? value : NULL;
}

HExpr *default_value(Check *check, Fn *initial, TypeId type, Span span) {
  if (!type_is_real(type)) return h_poison(check, span);
  if (!initial) return h_none(check, type, span);
  body_check(check, initial);
  HExpr *constant = constant_of(initial);
  if (constant) return h_const(check, constant->type, constant->value, span);
  return call_fn(check, initial, NULL, 0, span);
}

static uint32_t find_param(const Param *params, uint32_t count, Sym sym) {
  for (uint32_t i = 0; i < count; i++)
    if (params[i].sym == sym) return i;
  return MAP_NOTHING;
}

static void say_unknown_arg(Check *check, const Callee *callee, Name name) {
  Diag *diag = diag_add(check->diags, DIAG_E206, name.span, "`" STR_FMT "` has no parameter `" STR_FMT "`", SYM_ARG(check, callee->name.sym), SYM_ARG(check, name.sym));
  Sym *syms = CHECK_ARRAY(check, Sym, callee->count);
  for (uint32_t i = 0; syms && i < callee->count; i++) syms[i] = callee->params[i].sym;
  if (syms) near_syms(check, diag, name, syms, callee->count);
}

// Which parameter the i-th argument is for; MAP_NOTHING: none, and it was said.
typedef enum ArgOrder { ARGS_BY_POSITION, ARGS_BY_NAME, ARGS_SAID } ArgOrder;
static uint32_t place_of(Check *check, const Arg *arg, uint32_t position, ArgOrder *order, const Callee *callee) {
  if (arg->name.sym) {
    if (*order == ARGS_BY_POSITION) *order = ARGS_BY_NAME;
    uint32_t place = find_param(callee->params, callee->count, arg->name.sym);
    if (place == MAP_NOTHING) say_unknown_arg(check, callee, arg->name);
    return place;
  }
  if (*order == ARGS_SAID) return MAP_NOTHING;
  if (*order == ARGS_BY_NAME) {
    *order = ARGS_SAID;
    diag_help(check->diags, diag_add(check->diags, DIAG_E206, arg->value->span, "an argument without a name stands behind one with a name"), "write the name before it");
    return MAP_NOTHING;
  }
  if (position < callee->count) return position;
  Diag *diag = diag_add(check->diags, DIAG_E206, arg->value->span, "`" STR_FMT "` takes %u argument%s, this is one too many", SYM_ARG(check, callee->name.sym), callee->count, callee->count == 1 ? "" : "s");
  *order = ARGS_SAID;
  diag_help(check->diags, diag, "remove it");
  return MAP_NOTHING;
}

static void say_missing(Check *check, const Param *param, const Callee *callee) {
  Str type = type_name(check, param->type);
  Diag *diag = diag_add(check->diags, DIAG_E206, callee->name.span, "the argument `" STR_FMT "` is missing", SYM_ARG(check, param->sym));
  if (!span_is_none(param->span)) diag_label(check->diags, diag, param->span, "it is %s" STR_FMT " without a default", type_article(type), STR_ARG(type));
}

static bool fill_missing(Check *check, const Callee *callee, HExpr **out, bool is_entry) {
  bool sound = true, said = false;
  for (uint32_t i = 0; i < callee->count; i++) {
    if (out[i]) continue;
    if (callee->params[i].fallback) { out[i] = callee->params[i].fallback; sound &= !is_poison(out[i]); continue; }
    bool optional = callee->params[i].initial || types_is(&check->types, callee->params[i].type, TYPE_OPTIONAL);
    if (!optional && callee->params[i].type != ID_POISON) { if (!said) say_missing(check, &callee->params[i], callee); said = true; }
    sound &= optional;
    out[i] = !optional ? h_poison(check, callee->name.span) : is_entry ? h_zero(check, callee->params[i].type, callee->name.span) : default_value(check, callee->params[i].initial, callee->params[i].type, callee->name.span);
  }
  return sound;
}

// `out_given` is set for calls of entries, which fill in their defaults themselves.
bool check_args(Check *check, const ArgList *args, HExpr *receiver, const Callee *callee, HExpr **out, uint64_t *out_given) {
  bool sound = true;
  ArgOrder order = ARGS_BY_POSITION;
  uint32_t position = 0;
  for (uint32_t i = 0; i < callee->count; i++) out[i] = NULL;
  if (receiver) {
    position = 1;
    if (callee->count) out[0] = coerce(check, receiver, callee->params[0].type, &(Why){.what = "the parameter", .name = callee->params[0].sym, .span = callee->params[0].span});
    else if (!is_poison(receiver)) { diag_add(check->diags, DIAG_E206, receiver->span, "`" STR_FMT "` takes no argument", SYM_ARG(check, callee->name.sym)); sound = false; }
    sound &= !is_poison(receiver) && (!callee->count || !is_poison(out[0]));
  }
  for (uint32_t i = 0; i < args->count; i++) {
    const Arg *arg = &args->items[i];
    uint32_t place = place_of(check, arg, position++, &order, callee);
    bool twice = place != MAP_NOTHING && out[place];
    if (twice) diag_add(check->diags, DIAG_E206, arg->value->span, "`" STR_FMT "` is given twice", SYM_ARG(check, callee->params[place].sym));
    if (place == MAP_NOTHING || twice) { check_expr(check, arg->value, TYPE_NONE); sound = false; continue; }
    out[place] = check_value(check, arg->value, callee->params[place].type, &(Why){.what = "the parameter", .name = callee->params[place].sym, .span = callee->params[place].span});
    sound &= !is_poison(out[place]);
    if (out_given) *out_given |= (uint64_t)1 << place;
  }
  return (sound || args->count == 0 ? fill_missing(check, callee, out, out_given != NULL) : false) && sound;
}

// ---- functions --------------------------------------------------------------------------------

HExpr *call_fn(Check *check, Fn *fn, HExpr **args, uint32_t count, Span span) {
  if (!fn->result_known && fn->progress == PROGRESS_NEW) body_check(check, fn);
  if (!fn->result_known && fn->progress == PROGRESS_BUSY) {
    Diag *diag = diag_add(check->diags, DIAG_E108, span, "`" STR_FMT "` needs its own result", STR_ARG(fn->h.name));
    diag_label(check->diags, diag, fn->name_span, "it starts here");
    return h_poison(check, span);
  }
  call_note(check, fn, span);
  if (fn->h.kind == FUNCTION_ACTION && check->body) facts_kill_state(check);
  if (fn->h.result == ID_POISON) return h_poison(check, span);
  HExpr *made = h_args(check, H_CALL, fn->h.result, count, span);
  for (uint32_t i = 0; i < made->args.count; i++) made->args.items[i] = args[i];
  made->function = &fn->h;
  return made;
}

static HExpr *call_entry(Check *check, Fn *fn, const Expr *call, Name name, HExpr *receiver) {
  HExpr *args[ENTRY_PARAMS_MAX];
  uint64_t given = receiver ? 1 : 0;
  bool outer = check->body->keys_as_refs;
  check->body->keys_as_refs = true;
  bool sound = check_args(check, &call->call.args, receiver, &(Callee){name, fn->params, fn->param_count}, args, &given);
  check->body->keys_as_refs = outer;
  if (!fn->result_known) body_check(check, fn);
  if (!sound || fn->h.result == ID_POISON) return h_poison(check, call->span);
  effect_note(check, EFFECT_TEST, call->span, "a call as a request");
  facts_kill_state(check);
  fn->used = true;
  HExpr *made = h_args(check, H_CALL_ENTRY, fn->h.result, fn->param_count, call->span);
  for (uint32_t i = 0; i < made->args.count; i++) made->args.items[i] = args[i];
  made->index = fn->entry;
  made->given = given;
  return made;
}

static HExpr *call_declared(Check *check, Fn *fn, const Expr *call, Name name, HExpr *receiver) {
  if (check->body && check->body->in_test && fn->is_entry) return call_entry(check, fn, call, name, receiver);
  HExpr *args[ENTRY_PARAMS_MAX];
  bool sound = check_args(check, &call->call.args, receiver, &(Callee){name, fn->params, fn->param_count}, args, NULL);
  if (fn->is_entry && fn->h.kind == FUNCTION_INPUT) {
    Diag *diag = diag_add(check->diags, DIAG_E109, name.span, "`" STR_FMT "` is an input, which only callers from outside and tests can call", SYM_ARG(check, name.sym));
    diag_label(check->diags, diag, fn->name_span, "it is declared here");
    diag_help(check->diags, diag, "move what both need into an `action`");
    return h_poison(check, call->span);
  }
  return sound ? call_fn(check, fn, args, fn->param_count, call->span) : h_poison(check, call->span);
}

static void check_rest(Check *check, const ArgList *args) {
  for (uint32_t i = 0; i < args->count; i++) check_expr(check, args->items[i].value, TYPE_NONE);
}

// Part of the language, but nothing that this compiler can make code of yet.
static bool is_known_later(Str name) {
  static const char *const LATER[] = {"password_hash", "password_check", "random_bytes", "zip", "to_text"};
  for (size_t i = 0; i < countof(LATER); i++)
    if (str_is(name, LATER[i])) return true;
  return false;
}

static HExpr *say_no_function(Check *check, const Expr *call, Name name, const HExpr *receiver) {
  check_rest(check, &call->call.args);
  if (receiver && is_poison(receiver)) return h_poison(check, call->span);
  if (is_known_later(sym_str(check, name.sym))) {
    diag_add(check->diags, DIAG_E900, name.span, "not supported yet: %.*s", SYM_ARG(check, name.sym));
  } else if (!check__first_time(check, DIAG_E101, SPACE_VALUE, name.sym)) {
    return h_poison(check, call->span);
  } else if (local_find(check, name.sym) != MAP_NOTHING || space_find(check, SPACE_VALUE, name.sym) != MAP_NOTHING) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E109, name.span, "`" STR_FMT "` is a value, it cannot be called", SYM_ARG(check, name.sym)), "remove the parentheses");
  } else if (space_find(check, SPACE_TYPE, name.sym) != MAP_NOTHING) {
    Diag *diag = diag_add(check->diags, DIAG_E109, name.span, "`" STR_FMT "` is a type, it cannot be called", SYM_ARG(check, name.sym));
    diag_help(check->diags, diag, "a record is written `{ … }`, a row is looked up with `" STR_FMT "[key]`", SYM_ARG(check, name.sym));
  } else {
    Diag *diag = diag_add(check->diags, DIAG_E101, name.span, "there is no function called `" STR_FMT "`", SYM_ARG(check, name.sym));
    near_values(check, diag, name, true);
  }
  return h_poison(check, call->span);
}

static HExpr *check_sent(Check *check, const Expr *call, Name name, HExpr *receiver) {
  const ArgList *args = &call->call.args;
  if (receiver || args->count != 1 || args->items[0].value->kind != EXPR_NAME) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E206, name.span, "`sent` lists the messages of one output"), "write `sent(output)`");
    return h_poison(check, call->span);
  }
  Name output = args->items[0].value->name;
  uint32_t number = space_find(check, SPACE_OUTPUT, output.sym);
  if (number == MAP_NOTHING) {
    Diag *diag = diag_add(check->diags, DIAG_E306, output.span, "there is no output called `" STR_FMT "`", SYM_ARG(check, output.sym));
    near_space(check, diag, SPACE_OUTPUT, output.sym);
    return h_poison(check, call->span);
  }
  effect_note(check, EFFECT_TEST, call->span, "sent");
  HExpr *made = h_new(check, H_SENT, types_list(&check->types, check->outputs.items[number].record), call->span);
  made->index = number;
  return made;
}

HExpr *check_call(Check *check, const Expr *call, Name name, HExpr *receiver, TypeId want) {
  uint32_t number = space_find(check, SPACE_VALUE, name.sym);
  Fn *fn = number != MAP_NOTHING && check->values.items[number].kind == VALUE_FUNCTION ? check->values.items[number].fn : NULL;
  // An input can be called by tests only, so elsewhere it does not hide a builtin.
  bool hidden = fn && fn->h.kind == FUNCTION_INPUT && !(check->body && check->body->in_test) && builtin_is(sym_str(check, name.sym));
  if (fn && !hidden) return call_declared(check, fn, call, name, receiver);
  bool found = false;
  HExpr *made = check_aggregate(check, call, name, receiver, want, &found);
  if (!found) made = check_builtin(check, call, name, receiver, want, &found);
  if (found) return made;
  if (check->body && check->body->in_test && str_is(sym_str(check, name.sym), "sent")) return check_sent(check, call, name, receiver);
  return say_no_function(check, call, name, receiver);
}

// ---- cases with fields ------------------------------------------------------------------------

HExpr *check_case(Check *check, const Expr *call, Name name, uint16_t number) {
  uint32_t tag = member_find(check, OWNER_ENUM, number, name.sym);
  const CaseDef *def = &check->types.enums[number].cases[tag];
  const Case *written = &check->types.enum_decls[number]->enumeration.cases.items[tag];
  TypeId type = types_get(&check->types, (Type){.kind = TYPE_ENUM, .of = number});
  if (!call || !def->field_count || def->field_count > ENTRY_PARAMS_MAX) {
    Diag *diag = diag_add(check->diags, DIAG_E206, call ? call->span : name.span, def->field_count ? "the case `" STR_FMT "` has fields, which must be given" : "the case `" STR_FMT "` has no fields", SYM_ARG(check, name.sym));
    diag_label(check->diags, diag, written->name.span, "it is declared here");
    if (call) check_rest(check, &call->call.args);
    return h_poison(check, name.span);
  }
  Param params[ENTRY_PARAMS_MAX];
  for (uint32_t i = 0; i < def->field_count; i++)
    params[i] = (Param){.sym = written->fields.items[i].name.sym, .span = written->fields.items[i].name.span, .type = def->fields[i].type,
                        .fallback = written->fields.items[i].initial ? field_default(check, (FieldRule){.owner = number, .tag = (uint16_t)tag, .field = (uint16_t)i}, &written->fields.items[i], def->fields[i].type, call->span) : NULL};
  HExpr *made = h_args(check, H_VARIANT, type, def->field_count, call->span);
  made->index = tag;
  if (!made->args.count || !check_args(check, &call->call.args, NULL, &(Callee){name, params, def->field_count}, made->args.items, NULL)) return h_poison(check, call->span);
  Fn *maker = case_maker(check, number, (uint16_t)tag);
  return maker && check->body ? call_fn(check, maker, made->args.items, made->args.count, call->span) : made;
}

// ---- reject -----------------------------------------------------------------------------------

static const struct { uint16_t status; const char *message; } BUILTIN_ERRORS[] = {
#define BUILTIN_ERROR(name, aup_name, status, message) [ERROR_##name] = {status, message},
#include "runtime/module/errors.def"
#undef BUILTIN_ERROR
};

static void add_reject(Check *check, HStmtList *out, uint16_t index, HExpr *message, HExprs args, Span span) {
  HStmt *stmt = stmt_add(check, out, HS_REJECT, span);
  if (!stmt) return;
  stmt->index = index;
  stmt->a = message;
  stmt->args = args;
}

// The arguments stand in the rejection and in its message, so each is evaluated before, once.
static HExpr *keep_in_local(Check *check, HStmtList *out, HExpr *value) {
  if (h_is_simple(value)) return value;
  LocalId local = local_hidden(check, value->type, value->span);
  HStmt *stmt = stmt_add(check, out, HS_SET, value->span);
  if (!stmt) return value;
  stmt->local = local;
  stmt->a = value;
  return h_local(check, local, value->span);
}

static void reject_declared(Check *check, const ErrorUse *use, ErrorInfo *error, uint16_t index, HStmtList *out) {
  HExprs args = {.count = error->param_count, .items = CHECK_ARRAY(check, HExpr *, error->param_count)};
  error->used = true;
  if (!args.items || !check_args(check, &use->args, NULL, &(Callee){use->name, error->params, error->param_count}, args.items, NULL)) return;
  for (uint32_t i = 0; i < args.count; i++) args.items[i] = keep_in_local(check, out, args.items[i]);
  args_rules(check, error->params, args.items, args.count, out);
  HExpr *message = error->message ? call_fn(check, error->message, args.items, args.count, use->span) : h_text(check, error->decl->title ? error->decl->title->text : STR(""), use->span);
  add_reject(check, out, index, message, args, use->span);
}

void error_use(Check *check, const ErrorUse *use, HStmtList *out) {
  if (use->text) {
    HExpr *text = check_value(check, use->text, ID_TEXT, &(Why){.what = "a rejection says why in"});
    add_reject(check, out, ERROR_REJECTED, text, (HExprs){0}, use->span);
    return;
  }
  uint16_t index;
  ErrorInfo *error = error_find(check, use->name.sym, &index);
  if (error) { reject_declared(check, use, error, index, out); return; }
  check_rest(check, &use->args);
  if (index == 0xFFFF) {
    Diag *diag = diag_add(check->diags, DIAG_E306, use->name.span, "there is no error called `" STR_FMT "`", SYM_ARG(check, use->name.sym));
    near_space(check, diag, SPACE_ERROR, use->name.sym);
    if (!diag->help.len) diag_help(check->diags, diag, "declare it: `error " STR_FMT " \"…\"`, or reject with a text", SYM_ARG(check, use->name.sym));
    return;
  }
  if (use->args.count) diag_help(check->diags, diag_add(check->diags, DIAG_E206, use->span, "`" STR_FMT "` takes no arguments", SYM_ARG(check, use->name.sym)), "remove them");
  add_reject(check, out, index, h_text(check, str_from(BUILTIN_ERRORS[index].message), use->span), (HExprs){0}, use->span);
}
