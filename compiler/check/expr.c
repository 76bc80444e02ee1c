// Expressions: the dispatch, literals, names, `if`. Operators are in operate.c, what follows a `.` or stands in brackets
// in access.c, calls in call.c, records and lists in record.c, `match` in match.c, queries in query.c.
#include "compiler/check/internal.h"

#include <assert.h>

// ---- literals ---------------------------------------------------------------------------------

static HExpr *check_text_parts(Check *check, const Expr *expr) {
  HExpr *made = h_args(check, H_TEXT, ID_TEXT, expr->list.count, expr->span);
  bool poisoned = false;
  for (uint32_t i = 0; i < made->args.count; i++) {
    HExpr *part = need_open(check, check_expr(check, expr->list.items[i], TYPE_NONE), "in a text");
    if (!is_poison(part) && !type_is_real(part->type)) {
      diag_add(check->diags, DIAG_E212, part->span, "this has nothing to show in a text");
      part = h_poison(check, part->span);
    }
    poisoned |= is_poison(part);
    made->args.items[i] = h_to_text(check, fit(check, part));
  }
  return poisoned ? h_poison(check, expr->span) : made;
}

// ---- names ------------------------------------------------------------------------------------

HExpr *read_path(Check *check, HExpr *a) {
  return types_is(&check->types, a->type, TYPE_OPTIONAL) && fact_holds(check, a) ? h_open(check, a) : a;
}

static HExpr *say_group(Check *check, const Expr *expr, Sym sym, const LocalInfo *local) {
  Diag *diag = diag_add(check->diags, DIAG_E209, expr->span, "after `group by`, `" STR_FMT "` stands for all the rows of a group", SYM_ARG(check, sym));
  diag_label(check->diags, diag, local->h.span, "it is one row only before `group by`");
  diag_help(check->diags, diag, "use a key of the group, or an aggregate: count(" STR_FMT "), sum(…), first(…)", SYM_ARG(check, sym));
  return h_poison(check, expr->span);
}

static HExpr *use_local(Check *check, const Expr *expr, LocalId id) {
  LocalInfo *local = local_info(check, id);
  local->used = true;
  if (local->query && local->query->no_frames) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E217, expr->span, "`skip` and `take` are the same for the whole query, so `" STR_FMT "` is not known here", SYM_ARG(check, local->sym)), "use a parameter or a number");
    return h_poison(check, expr->span);
  }
  if (local->is_grouped) {
    if (!local->query->lifted) return say_group(check, expr, local->sym, local);
    local->query->touched = true;
  }
  return read_path(check, h_local(check, id, expr->span));
}

HExpr *column_of(Check *check, HExpr *row, TableInfo *table, uint32_t column, Span span) {
  HExpr *made = h_unary(check, H_COLUMN, table->columns[column].type, row, span);
  made->table = table->id;
  made->index = column;
  return read_path(check, made);
}

// In a table's own rules its fields are names.
static HExpr *self_field(Check *check, const Expr *expr, Sym sym) {
  Body *body = check->body;
  TableInfo *table = body ? body->fn->self : NULL;
  if (!table) return NULL;
  uint32_t column = column_find(check, table, sym);
  if (column != MAP_NOTHING) {
    if (!body->fn->self_is_params) return column_of(check, h_local(check, body->self, expr->span), table, column, expr->span);
    if (table->auto_key && table->key[0] == column) {
      diag_add(check->diags, DIAG_E311, expr->span, "an `auto` key is not known before the row is there, so it cannot be used in an index or a condition of `unique`");
      return h_poison(check, expr->span);
    }
    return h_local(check, column, expr->span);
  }
  ComputedInfo *computed = computed_find(check, table, sym);
  if (computed && body->fn->self_is_params) return check_expr(check, computed->item->value, computed->fn->h.result);
  if (computed) return field_of(check, h_local(check, body->self, expr->span), (Name){.sym = sym, .span = expr->span}, expr->span);
  if (sym != check->word.self || body->fn->self_is_params) return NULL;
  return h_local(check, body->self, expr->span);
}

static HExpr *say_unknown(Check *check, const Expr *expr, Sym sym) {
  Diag *diag;
  uint32_t where = check->body ? check->body->fn->name_span.start + SPACE_COUNT : 0;
  if (!check__first_time(check, DIAG_E101, where & 0xFFFFFF, sym)) return h_poison(check, expr->span);
  if (space_find(check, SPACE_TYPE, sym) != MAP_NOTHING) {
    diag = diag_add(check->diags, DIAG_E110, expr->span, "`" STR_FMT "` is a type, a value is needed here", SYM_ARG(check, sym));
    NamedType *named = named_find(check, sym);
    if (named->kind == NAMED_TABLE) diag_help(check->diags, diag, "its rows: `from x in " STR_FMT "`; one of them: `" STR_FMT "[key]`", SYM_ARG(check, sym), SYM_ARG(check, sym));
    else if (named->kind == NAMED_ENUM) diag_help(check->diags, diag, "name a case: `" STR_FMT ".…`", SYM_ARG(check, sym));
  } else if (sym == check->word.sender && check->body && check->body->fn->decl && check->body->fn->decl->kind == DECL_RECEIVE) {
    diag_add(check->diags, DIAG_E900, expr->span, "not supported yet: sender");
  } else {
    diag = diag_add(check->diags, DIAG_E101, expr->span, "there is nothing called `" STR_FMT "` here", SYM_ARG(check, sym));
    near_values(check, diag, expr->name, false);
  }
  return h_poison(check, expr->span);
}

static HExpr *state_value(Check *check, uint32_t number, Span span) {
  if (!number || number == SCHEMA_NO_COLUMN) return h_poison(check, span);
  HExpr *made = h_new(check, H_STATE, check->tables.items[SCHEMA_STATE_TABLE]->columns[number].type, span);
  made->index = number;
  return made->type == ID_POISON ? h_poison(check, span) : read_path(check, made);
}

static HExpr *use_value(Check *check, const Expr *expr, ValueDecl *value) {
  switch (value->kind) {
    case VALUE_STATE: return state_value(check, value->index, expr->span);
    case VALUE_SETTING: return state_value(check, check->settings.items[value->index].column, expr->span);
    case VALUE_FUNCTION: break;
  }
  Diag *diag = diag_add(check->diags, DIAG_E110, expr->span, "`" STR_FMT "` is not a value by itself", SYM_ARG(check, expr->name.sym));
  diag_label(check->diags, diag, value->span, "it is declared here");
  diag_help(check->diags, diag, "call it: `" STR_FMT "(…)`", SYM_ARG(check, expr->name.sym));
  return h_poison(check, expr->span);
}

HExpr *check_name(Check *check, const Expr *expr, TypeId want) {
  (void)want;
  Sym sym = expr->name.sym;
  uint32_t local = local_find(check, sym);
  if (local != MAP_NOTHING) return use_local(check, expr, local);
  HExpr *own = self_field(check, expr, sym);
  if (own) return own;
  uint32_t number = space_find(check, SPACE_VALUE, sym);
  if (number != MAP_NOTHING && check->values.items[number].kind != VALUE_FUNCTION) return use_value(check, expr, &check->values.items[number]);
  if (sym == check->word.now) {
    effect_note(check, EFFECT_NOW, expr->span, "now");
    return h_new(check, H_NOW, ID_TIME, expr->span);
  }
  if (sym == check->word.caller) {
    effect_note(check, EFFECT_CALLER, expr->span, "caller");
    return read_path(check, h_new(check, H_CALLER, types_optional(&check->types, ID_TEXT), expr->span));
  }
  return number != MAP_NOTHING ? use_value(check, expr, &check->values.items[number]) : say_unknown(check, expr, sym);
}

// ---- if ---------------------------------------------------------------------------------------

// Both branches as one type, or E201.
static HExpr *join_branches(Check *check, HExpr *made, HExpr **then, HExpr **otherwise, TypeId want) {
  if (is_poison(*then) || is_poison(*otherwise)) return h_poison(check, made->span);
  TypeId type = type_is_real(want) && try_convert(check, *then, want) && try_convert(check, *otherwise, want) ? want : unify(check, *then, *otherwise);
  if (type == ID_POISON || type == TYPE_NONE) {
    Str left = type_name(check, (*then)->type), right = type_name(check, (*otherwise)->type);
    Diag *diag = diag_add(check->diags, DIAG_E201, (*otherwise)->span, "this is %s" STR_FMT ", the other branch is %s" STR_FMT, type_article(right), STR_ARG(right), type_article(left), STR_ARG(left));
    diag_label(check->diags, diag, (*then)->span, "the other branch");
    diag_help(check->diags, diag, "both must have one type");
    return h_poison(check, made->span);
  }
  *then = coerce(check, *then, type, NULL);
  *otherwise = coerce(check, *otherwise, type, NULL);
  made->type = type;
  return made;
}

static HExpr *check_if_let(Check *check, const Expr *expr, TypeId want) {
  HExpr *value = check_expr(check, expr->branch.condition, TYPE_NONE);
  if (!is_poison(value) && !types_is(&check->types, value->type, TYPE_OPTIONAL)) {
    Str name = type_name(check, value->type);
    diag_help(check->diags, diag_add(check->diags, DIAG_E201, value->span, "`if let` opens an optional, this is %s" STR_FMT, type_article(name), STR_ARG(name)), "use a plain `if`");
    value = h_poison(check, value->span);
  }
  ScopeMark mark = scope_open(check);
  LocalId local = local_add(check, *expr->branch.let, LOCAL_LET, is_poison(value) ? ID_POISON : types_of(&check->types, value->type));
  HExpr *then = check_expr(check, expr->branch.then, want);
  scope_close(check, mark);
  HExpr *otherwise = check_expr(check, expr->branch.otherwise, want);
  if (is_poison(value)) return value;
  HExpr *made = h_if_some(check, local, value, then, otherwise);
  made->span = expr->span;
  return join_branches(check, made, &made->b, &made->c, want);
}

static HExpr *check_if(Check *check, const Expr *expr, TypeId want) {
  if (expr->branch.let) return check_if_let(check, expr, want);
  HExpr *condition = check_condition(check, expr->branch.condition, "the condition of `if` is");
  ScopeMark mark = scope_open(check);
  facts_learn(check, condition, true);
  HExpr *then = check_expr(check, expr->branch.then, want);
  scope_close(check, mark);
  facts_learn(check, condition, false);
  HExpr *otherwise = check_expr(check, expr->branch.otherwise, want);
  scope_close(check, mark);
  if (is_poison(condition)) return condition;
  HExpr *made = h_if(check, condition, then, otherwise);
  made->span = expr->span;
  made = join_branches(check, made, &made->b, &made->c, want);
  if (made->kind == H_IF && condition->kind == H_CONST) return condition->value.i ? made->b : made->c;
  return made;
}

// ---- the dispatch -----------------------------------------------------------------------------

static HExpr *dispatch(Check *check, const Expr *expr, TypeId want) {
  switch (expr->kind) {
    case EXPR_INT: return h_int(check, expr->number, expr->span);
    case EXPR_DECIMAL: return h_const(check, types_decimal(&check->types, expr->decimal.scale), (Value){.dec = expr->decimal.units}, expr->span);
    case EXPR_TEXT: return h_text(check, expr->text, expr->span);
    case EXPR_BOOL: return h_bool(check, expr->number != 0, expr->span);
    case EXPR_NONE: return h_const(check, ID_NOTHING, (Value){.i = 0}, expr->span);
    case EXPR_DURATION: return h_const(check, ID_DURATION, (Value){.i = expr->number}, expr->span);
    case EXPR_DATE: return h_const(check, ID_DATE, (Value){.i = expr->number}, expr->span);
    case EXPR_TIME: return h_const(check, ID_TIME, (Value){.i = expr->number}, expr->span);
    case EXPR_INTERP: return check_text_parts(check, expr);
    case EXPR_NAME: return check_name(check, expr, want);
    case EXPR_FIELD: case EXPR_CALL: case EXPR_INDEX: return check_postfix(check, expr, want);
    case EXPR_UNARY: return check_unary(check, expr, want);
    case EXPR_BINARY: return check_binary(check, expr, want);
    case EXPR_IF: return check_if(check, expr, want);
    case EXPR_MATCH: return check_match(check, expr, want);
    case EXPR_QUERY: return check_query(check, expr, want);
    case EXPR_INSERT: return check_insert(check, expr);
    case EXPR_RECORD: return check_record(check, expr, want);
    case EXPR_LIST: return check_list(check, expr, want);
  }
  return h_poison(check, expr->span);
}

HExpr *check_expr(Check *check, const Expr *expr, TypeId want) {
  if (check->failed || !depth_enter(check, expr->span)) return h_poison(check, expr->span);
  check->types.at = expr->span;
  HExpr *made = dispatch(check, expr, want);
  depth_leave(check);
  return made;
}

HExpr *check_value(Check *check, const Expr *expr, TypeId want, const Why *why) {
  return coerce(check, check_expr(check, expr, want), want, why);
}

HExpr *check_condition(Check *check, const Expr *expr, const char *where) {
  Why why = {.what = where};
  return check_value(check, expr, ID_BOOL, &why);
}

bool const_int(Check *check, const Expr *expr, TypeId type, int64_t *out) {
  HExpr *value = check_value(check, expr, type, &(Why){.what = "it is"});
  if (is_poison(value)) return false;
  if (value->kind == H_CONST) { *out = value->value.i; return true; }
  diag_help(check->diags, diag_add(check->diags, DIAG_E215, expr->span, "this must be known when the app is compiled"), "write it out");
  return false;
}
