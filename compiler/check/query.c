// Queries: clauses in written order, which is the order of execution. Row names, `with` values and group keys are locals of
// the function; behind a `group by` the earlier ones stand for many rows and are refused outside of aggregates.
#include "compiler/check/internal.h"

#include <assert.h>

typedef struct QueryBuild {
  HQuery *query;
  QueryScope *scope;
  uint32_t first_local;       // of this query
  LocalId row;                // the last row name
  bool has_rows, is_ordered, is_grouped, poisoned;
  const HClause *keys;        // the last group
} QueryBuild;

enum { SPARE_CLAUSES = 3 };   // what aggregate.c may add

static HClause *add_clause(QueryBuild *q, HClauseKind kind, Span span) {
  HClause *clause = &q->query->clauses[q->query->clause_count++];
  clause->kind = kind;
  clause->span = span;
  clause->local = NO_LOCAL;
  return clause;
}

// ---- from -------------------------------------------------------------------------------------

static TableInfo *table_named(Check *check, const Expr *value) {
  if (value->kind != EXPR_NAME || local_find(check, value->name.sym) != MAP_NOTHING) return NULL;
  uint32_t number = space_find(check, SPACE_VALUE, value->name.sym);
  if (number != MAP_NOTHING && check->values.items[number].kind != VALUE_FUNCTION) return NULL;
  return table_find(check, value->name.sym);
}

static TypeId say_no_rows(Check *check, const HExpr *value) {
  if (is_poison(value)) return ID_POISON;
  Str name = type_name(check, value->type);
  if (types_is(&check->types, value->type, TYPE_OPTIONAL) || value->type == ID_NOTHING) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E202, value->span, "this may be none, so it cannot be gone through"), "open it: `?? []`, or `if let` before");
    return ID_POISON;
  }
  Diag *diag = diag_add(check->diags, DIAG_E107, value->span, "rows come from a table, list, set, range or query, this is %s" STR_FMT, type_article(name), STR_ARG(name));
  if (types_is(&check->types, value->type, TYPE_MAP)) diag_help(check->diags, diag, "its keys: `keys(…)`");
  if (types_is(&check->types, value->type, TYPE_REF)) diag_help(check->diags, diag, "all rows: `from x in " STR_FMT "`", STR_ARG(name));
  return ID_POISON;
}

static TypeId say_no_table(Check *check, const Expr *value, bool *out_said) {
  *out_said = false;
  if (value->kind != EXPR_NAME || local_find(check, value->name.sym) != MAP_NOTHING) return TYPE_NONE;
  Sym sym = value->name.sym;
  if (space_find(check, SPACE_VALUE, sym) != MAP_NOTHING || (check->body->fn->self && column_find(check, check->body->fn->self, sym) != MAP_NOTHING)) return TYPE_NONE;
  *out_said = true;
  if (!check__first_time(check, DIAG_E101, SPACE_TYPE, sym)) return ID_POISON;
  Diag *diag;
  if (space_find(check, SPACE_TYPE, sym) != MAP_NOTHING) {
    diag = diag_add(check->diags, DIAG_E107, value->span, "`" STR_FMT "` is a type without rows", SYM_ARG(check, sym));
    return ID_POISON;
  }
  diag = diag_add(check->diags, DIAG_E101, value->span, "there is no table or list called `" STR_FMT "`", SYM_ARG(check, sym));
  near_space(check, diag, SPACE_TYPE, sym);
  if (!diag->help.len) near_values(check, diag, value->name, false);
  return ID_POISON;
}

static TypeId from_value(Check *check, QueryBuild *q, const Expr *value, HClause *clause) {
  TableInfo *table = table_named(check, value);
  if (table) {
    clause->kind = HC_ROWS;
    clause->table = table->id;
    q->has_rows = true;
    q->is_ordered = false;
    return table->ref;
  }
  if (value->kind == EXPR_BINARY && value->op == OPER_RANGE) {
    clause->kind = HC_NUMBERS;
    Why why = {.what = "a range goes from one int to another; it is"};
    clause->a = check_value(check, value->binary.left, ID_INT, &why);
    clause->b = check_value(check, value->binary.right, ID_INT, &why);
    return is_poison(clause->a) || is_poison(clause->b) ? ID_POISON : ID_INT;
  }
  clause->kind = HC_ITEMS;
  bool said;
  if (say_no_table(check, value, &said) == ID_POISON && said) return ID_POISON;
  clause->a = check_expr(check, value, TYPE_NONE);
  if (types_is(&check->types, clause->a->type, TYPE_LIST) || types_is(&check->types, clause->a->type, TYPE_SET)) return types_of(&check->types, clause->a->type);
  return say_no_rows(check, clause->a);
}

static void check_from(Check *check, QueryBuild *q, const Clause *written) {
  HClause *clause = add_clause(q, HC_ROWS, written->span);
  TypeId type = from_value(check, q, written->value, clause);
  q->poisoned |= type == ID_POISON;
  q->row = clause->local = local_add(check, written->name, LOCAL_ROW, type);
}

// ---- the other clauses ------------------------------------------------------------------------

static void check_where(Check *check, QueryBuild *q, const Clause *written) {
  HExpr *a = check_condition(check, written->value, "`where` is");
  q->poisoned |= is_poison(a);
  add_clause(q, HC_WHERE, written->span)->a = a;
  facts_learn(check, a, true);
}

static void check_with(Check *check, QueryBuild *q, const Clause *written) {
  HExpr *a = fit(check, check_expr(check, written->value, TYPE_NONE));
  if (!is_poison(a) && !type_is_real(a->type)) {
    diag_add(check->diags, DIAG_E212, a->span, "the type of this cannot be known");
    a = h_poison(check, a->span);
  }
  q->poisoned |= is_poison(a);
  HClause *clause = add_clause(q, HC_WITH, written->span);
  clause->a = a;
  clause->local = local_add(check, written->name, LOCAL_WITH, a->type);
}

static bool is_ordered_type(Check *check, const HExpr *a, const char *what) {
  if (is_poison(a) || (type_is_real(a->type) && type_is_ordered(&check->types.table, a->type))) return true;
  Str name = type_name(check, a->type);
  diag_add(check->diags, DIAG_E201, a->span, "%s" STR_FMT " has no order, so it cannot be %s", type_article(name), STR_ARG(name), what);
  return false;
}

static void group_frames(Check *check, QueryBuild *q) {
  for (uint32_t i = q->first_local; i < check->locals.count - check->body->local_base; i++) {
    LocalInfo *local = local_info(check, i);
    if (local->query == q->scope && local->sym) local->is_grouped = true;
  }
  q->scope->group = NULL;
}

static void check_group(Check *check, QueryBuild *q, const Clause *written) {
  HClause *clause = add_clause(q, HC_GROUP, written->span);
  uint32_t count = written->groups.count;
  clause->keys = CHECK_ARRAY(check, HKey, count);
  if (!clause->keys) return;
  if (count > PLAN_KEYS_MAX) { diag_add(check->diags, DIAG_E026, written->span, "a group has at most %d keys (PLAN_KEYS_MAX)", PLAN_KEYS_MAX); q->poisoned = true; count = 0; }
  for (uint32_t i = 0; i < count; i++) {
    HExpr *a = fit(check, check_expr(check, written->groups.items[i].value, TYPE_NONE));
    if (!is_ordered_type(check, a, "the key of a group")) a = h_poison(check, a->span);
    q->poisoned |= is_poison(a);
    clause->keys[i] = (HKey){.value = a};
  }
  clause->key_count = count;
  group_frames(check, q);
  for (uint32_t i = 0; i < count; i++) clause->keys[i].local = local_add(check, written->groups.items[i].name, LOCAL_KEY, clause->keys[i].value->type);
  q->scope->group = clause;
  q->keys = clause;
  q->is_grouped = q->is_ordered = true;
}

static void check_order(Check *check, QueryBuild *q, const Clause *written) {
  HClause *clause = add_clause(q, HC_ORDER, written->span);
  uint32_t count = written->orders.count;
  clause->keys = CHECK_ARRAY(check, HKey, count);
  if (!clause->keys) return;
  if (count > PLAN_KEYS_MAX) { diag_add(check->diags, DIAG_E026, written->span, "an order has at most %d keys (PLAN_KEYS_MAX)", PLAN_KEYS_MAX); q->poisoned = true; count = 0; }
  for (uint32_t i = 0; i < count; i++) {
    const OrderKey *key = &written->orders.items[i];
    HExpr *a = fit(check, check_expr(check, key->key, TYPE_NONE));
    if (!is_ordered_type(check, a, "the key of an order")) a = h_poison(check, a->span);
    q->poisoned |= is_poison(a);
    clause->keys[i] = (HKey){.local = NO_LOCAL, .value = a, .descending = key->descending};
  }
  clause->key_count = count;
  q->is_ordered = true;
}

static void check_count(Check *check, QueryBuild *q, const Clause *written) {
  bool is_take = written->kind == CLAUSE_TAKE;
  q->scope->no_frames = true;
  HExpr *a = check_value(check, written->value, ID_INT, &(Why){.what = is_take ? "`take` counts rows; it is" : "`skip` counts rows; it is"});
  q->scope->no_frames = false;
  q->poisoned |= is_poison(a);
  if (q->has_rows && !q->is_ordered) {
    Diag *diag = diag_add(check->diags, DIAG_E303, written->span, "which rows are %s is left to chance without an order", is_take ? "taken" : "skipped");
    diag_help(check->diags, diag, "write `order by …` before it");
  }
  add_clause(q, is_take ? HC_TAKE : HC_SKIP, written->span)->a = a;
}

static HExpr *select_keys(Check *check, const QueryBuild *q, Span span) {
  const HClause *group = q->keys;
  if (group->key_count == 1) return h_local(check, group->keys[0].local, span);
  FieldDef *fields = CHECK_ARRAY(check, FieldDef, group->key_count);
  Sym *syms = CHECK_ARRAY(check, Sym, group->key_count);
  if (!fields || !syms) return h_poison(check, span);
  HExpr *made = h_args(check, H_RECORD, ID_POISON, group->key_count, span);
  for (uint32_t i = 0; i < made->args.count; i++) {
    const LocalInfo *local = local_info(check, group->keys[i].local);
    syms[i] = local->sym;
    fields[i] = (FieldDef){.name = local->h.name, .type = local->h.type};
    made->args.items[i] = h_local(check, group->keys[i].local, span);
  }
  made->type = types_shape(&check->types, group->key_count, fields, syms);
  return made;
}

static void check_select(Check *check, QueryBuild *q, const Expr *written, TypeId want) {
  q->scope->has_position = true;
  HExpr *a = fit(check, check_expr(check, written, want));
  q->scope->has_position = false;
  if (type_is_real(want)) { HExpr *converted = try_convert(check, a, want); if (converted) a = fit(check, converted); }
  if (!is_poison(a) && !type_is_real(a->type)) {
    diag_add(check->diags, DIAG_E212, a->span, "the type of what is selected cannot be known");
    a = h_poison(check, a->span);
  }
  q->query->select = a;
}

static void check_clause(Check *check, QueryBuild *q, const Clause *written, TypeId want) {
  switch (written->kind) {
    case CLAUSE_FROM: check_from(check, q, written); return;
    case CLAUSE_WHERE: check_where(check, q, written); return;
    case CLAUSE_WITH: check_with(check, q, written); return;
    case CLAUSE_GROUP: check_group(check, q, written); return;
    case CLAUSE_ORDER: check_order(check, q, written); return;
    case CLAUSE_SKIP: case CLAUSE_TAKE: check_count(check, q, written); return;
    case CLAUSE_SELECT: check_select(check, q, written->value, want); return;
  }
}

// ---- whole queries ----------------------------------------------------------------------------

static bool accepts_scan(Check *check) {
  const Fn *fn = check->body ? check->body->fn : NULL;
  return fn && fn->decl && annot_find(check, &fn->decl->header.annots, "scan") != NULL;
}

// Checks the clauses into a new query and leaves its names visible. NULL: something was wrong and said.
static HQuery *build(Check *check, const ClauseList *clauses, QueryScope *scope, TypeId want, Span span) {
  QueryBuild q = {.scope = scope, .row = NO_LOCAL, .first_local = check->locals.count - check->body->local_base};
  q.query = CHECK_NEW(check, HQuery);
  if (!q.query) return NULL;
  q.query->clauses = CHECK_ARRAY(check, HClause, clauses->count + SPARE_CLAUSES);
  if (!q.query->clauses) return NULL;
  q.query->span = span;
  q.query->accepts_scan = accepts_scan(check);
  scope->outer = check->body->query;
  check->body->query = scope;
  if (clauses->count > PLAN_STAGES_MAX - SPARE_CLAUSES) {
    diag_add(check->diags, DIAG_E026, span, "a query has at most %d clauses (PLAN_STAGES_MAX)", PLAN_STAGES_MAX - SPARE_CLAUSES);
    return NULL;
  }
  for (uint32_t i = 0; i < clauses->count && !check->failed; i++) check_clause(check, &q, &clauses->items[i], want);
  if (!q.query->select && !check->failed && q.row != NO_LOCAL)
    q.query->select = q.is_grouped && local_info(check, q.row)->is_grouped ? select_keys(check, &q, span) : h_local(check, q.row, span);
  if (check->failed || !q.query->select || is_poison(q.query->select) || q.poisoned) return NULL;
  return q.query;
}

static HQuery *query_wanting(Check *check, const Expr *expr, TypeId want) {
  QueryScope *scope = CHECK_NEW(check, QueryScope), *outer = check->body ? check->body->query : NULL;
  if (!scope) return NULL;
  if (!check->body) { diag_add(check->diags, DIAG_E215, expr->span, "this must be known when the app is compiled"); return NULL; }
  ScopeMark mark = scope_open(check);
  HQuery *query = build(check, &expr->clauses, scope, want, expr->span);
  scope_close(check, mark);
  check->body->query = outer;
  return query;
}

HQuery *query_of(Check *check, const Expr *expr) { return query_wanting(check, expr, TYPE_NONE); }

HExpr *check_query(Check *check, const Expr *expr, TypeId want) {
  TypeId open = types_open(&check->types, want);
  HQuery *query = query_wanting(check, expr, types_is(&check->types, open, TYPE_LIST) ? types_of(&check->types, open) : TYPE_NONE);
  if (!query) return h_poison(check, expr->span);
  HExpr *made = h_new(check, H_QUERY, types_list(&check->types, query->select->type), expr->span);
  made->query = query;
  return made;
}

HQuery *query_loop(Check *check, const Stmt *stmt) {
  QueryScope *scope = CHECK_NEW(check, QueryScope);
  if (!scope) return NULL;
  QueryScope *outer = check->body->query;
  HQuery *query = build(check, &stmt->loop.clauses, scope, TYPE_NONE, stmt->span);
  check->body->query = outer;
  return query;
}

HQuery *query_over_list(Check *check, HExpr *list, LocalId *out_item) {
  HQuery *query = CHECK_NEW(check, HQuery);
  HClause *clauses = CHECK_ARRAY(check, HClause, 1 + SPARE_CLAUSES);
  if (!query || !clauses) return NULL;
  *out_item = local_hidden(check, types_of(&check->types, list->type), list->span);
  clauses[0] = (HClause){.kind = HC_ITEMS, .local = *out_item, .a = list, .span = list->span};
  *query = (HQuery){.clause_count = 1, .clauses = clauses, .select = h_local(check, *out_item, list->span), .span = list->span};
  return query;
}
