// Statements. What the language offers in several ways becomes one here: `require` is an `if` with a rejection, `update` a
// row of assignments, `let … else` an opened optional.
#include "compiler/check/internal.h"

#include <assert.h>

HStmt *stmt_add(Check *check, HStmtList *list, HStmtKind kind, Span span) {
  HStmt *stmt = check__list_add(check, &list->items, &list->count, &list->room, sizeof *stmt);
  if (stmt) { stmt->kind = kind; stmt->span = span; stmt->local = NO_LOCAL; }
  return stmt;
}

static HStmts stmts_of(const HStmtList *list) { return (HStmts){.count = list->count, .items = list->items}; }

static void add_set(Check *check, HStmtList *out, LocalId local, HExpr *value, Span span) {
  HStmt *stmt = stmt_add(check, out, HS_SET, span);
  if (!stmt) return;
  stmt->local = local;
  stmt->a = value;
}

// The value under a name, so that it can stand in several statements.
static HExpr *name_value(Check *check, HStmtList *out, HExpr *value) {
  if (h_is_simple(value) || is_poison(value)) return value;
  LocalId local = local_hidden(check, value->type, value->span);
  add_set(check, out, local, value, value->span);
  return h_local(check, local, value->span);
}

// ---- let --------------------------------------------------------------------------------------

static void say_untyped(Check *check, const Stmt *stmt, const HExpr *value) {
  if (value->type == TYPE_NONE) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E201, value->span, "this gives no value, so there is nothing to name"), "call it without `let`");
    return;
  }
  Diag *diag = diag_add(check->diags, DIAG_E212, stmt->let.name.span, "the type of `" STR_FMT "` cannot be known from %s", SYM_ARG(check, stmt->let.name.sym), value->type == ID_EMPTY ? "an empty list" : "`none`");
  diag_help(check->diags, diag, "write it: `%s " STR_FMT ": %s = …`", stmt->kind == STMT_VAR ? "var" : "let", SYM_ARG(check, stmt->let.name.sym), value->type == ID_EMPTY ? "[int]" : "int?");
}

static void check_let_else(Check *check, const Stmt *stmt, HExpr *value, TypeId want, HStmtList *out) {
  if (!is_poison(value) && !types_is(&check->types, value->type, TYPE_OPTIONAL)) {
    Str name = type_name(check, value->type);
    diag_help(check->diags, diag_add(check->diags, DIAG_E201, value->span, "`else` is for what may be none, this is %s" STR_FMT, type_article(name), STR_ARG(name)), "remove `else …`");
    value = h_poison(check, value->span);
  }
  TypeId inside = is_poison(value) ? ID_POISON : types_of(&check->types, value->type);
  TypeId type = want != TYPE_NONE ? want : inside;
  HStmtList other = {0};
  HExpr *otherwise = NULL;
  switch (stmt->let_else) {
    case LET_ELSE_REJECT: error_use(check, stmt->let.else_error, &other); break;
    case LET_ELSE_RETURN: check_return(check, stmt->let.else_value, stmt->span, &other); break;
    case LET_ELSE_INSERT: otherwise = check_value(check, stmt->let.else_value, type, &(Why){.what = "the other value is", .span = value->span}); break;
    case LET_ELSE_NOTHING: break;
  }
  LocalId local = local_add(check, stmt->let.name, LOCAL_LET, type);
  if (check->failed) return;
  local_info(check, local)->quiet = true;
  if (is_poison(value)) return;
  if (otherwise) add_set(check, &other, local, otherwise, stmt->span);
  HStmtList body = {0};
  LocalId opened = local;
  if (type != inside) {  // `let x: decimal(2) = …`: converted after it is opened
    opened = local_hidden(check, inside, value->span);
    add_set(check, &body, local, coerce(check, h_local(check, opened, value->span), type, NULL), stmt->span);
  }
  HStmt *made = stmt_add(check, out, HS_IF_SOME, stmt->span);
  if (!made) return;
  made->local = opened;
  made->a = value;
  made->body = stmts_of(&body);
  made->other = stmts_of(&other);
}

static void check_let(Check *check, const Stmt *stmt, HStmtList *out) {
  TypeId want = stmt->let.type ? type_resolve(check, stmt->let.type) : TYPE_NONE;
  bool is_var = stmt->kind == STMT_VAR, with_else = stmt->kind == STMT_LET && stmt->let_else != LET_ELSE_NOTHING;
  HExpr *value = check_expr(check, stmt->let.value, with_else && type_is_real(want) ? types_optional(&check->types, want) : want);
  if (with_else) { check_let_else(check, stmt, value, want, out); return; }
  if (want != TYPE_NONE) value = coerce(check, value, want, &(Why){.what = "the local", .name = stmt->let.name.sym, .span = stmt->let.name.span});
  else if (!is_poison(value) && !type_is_real(value->type)) { say_untyped(check, stmt, value); value = h_poison(check, value->span); }
  value = fit(check, value);
  LocalId local = local_add(check, stmt->let.name, is_var ? LOCAL_VAR : LOCAL_LET, want != TYPE_NONE ? want : value->type);
  if (value->kind == H_CALL_ENTRY || value->kind == H_INSERT || value->kind == H_CALL) local_info(check, local)->quiet = true;  // it does something
  add_set(check, out, local, value, stmt->span);
}

// ---- assignment -------------------------------------------------------------------------------

static void say_fixed(Check *check, Span span, Span declared, const char *what, const char *help) {
  Diag *diag = diag_add(check->diags, DIAG_E211, span, "%s cannot be changed", what);
  if (!span_is_none(declared)) diag_label(check->diags, diag, declared, "it is declared here");
  if (help) diag_help(check->diags, diag, "%s", help);
}

static HExpr *new_value(Check *check, const Stmt *stmt, HExpr *current, TypeId type, const Why *why) {
  if (stmt->op == OPER_NOTHING) return check_value(check, stmt->assign.value, type, why);
  HExpr *by = check_expr(check, stmt->assign.value, types_is(&check->types, type, TYPE_LIST) ? type : TYPE_NONE);
  HExpr *result = arithmetic(check, stmt->op, current, by, span_join(stmt->assign.target->span, stmt->assign.value->span), stmt->assign.op_span);
  return coerce(check, result, type, why);
}

static void assign_local(Check *check, const Stmt *stmt, LocalId local, HStmtList *out) {
  LocalInfo info = *local_info(check, local);
  Why why = {.what = "the local", .name = info.sym, .span = info.h.span};
  HExpr *current = stmt->op == OPER_NOTHING ? NULL : read_path(check, h_local(check, local, stmt->assign.target->span));
  HExpr *value = new_value(check, stmt, current, info.h.type, &why);
  if (info.kind != LOCAL_VAR) {
    say_fixed(check, stmt->assign.target->span, info.h.span, info.kind == LOCAL_PARAM ? "a parameter" : info.kind == LOCAL_LET ? "what `let` names" : "this", "declare it with `var`");
    return;
  }
  facts_kill_local(check, local);
  add_set(check, out, local, value, stmt->span);
}

static void assign_state(Check *check, const Stmt *stmt, const ValueDecl *decl, HStmtList *out) {
  const ColumnInfo *column = &check->tables.items[SCHEMA_STATE_TABLE]->columns[decl->index];
  effect_note(check, EFFECT_WRITES, stmt->assign.target->span, "it changes a state value");
  HExpr *current = h_new(check, H_STATE, column->type, stmt->assign.target->span);
  current->index = decl->index;
  HExpr *value = new_value(check, stmt, read_path(check, current), column->type, &(Why){.what = "the state value", .name = column->sym, .span = column->span});
  facts_kill_state(check);
  HStmt *made = stmt_add(check, out, HS_SET_STATE, stmt->span);
  if (!made) return;
  made->index = decl->index;
  made->a = value;
}

static void add_set_column(Check *check, HStmtList *out, HExpr *row, uint32_t column, HExpr *value, Span span) {
  HStmt *made = stmt_add(check, out, HS_SET_COLUMN, span);
  if (!made) return;
  made->b = row;
  made->index = column;
  made->a = value;
  facts_kill_column(check, types_of(&check->types, row->type), column);
}

// What is kept in hidden columns follows its row.
static void refresh_hidden(Check *check, HStmtList *out, TableInfo *table, HExpr *row, Span span) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    if (!table->columns[i].hidden || !table->columns[i].computed) continue;
    HExpr *args[] = {row};
    add_set_column(check, out, row, i, call_fn(check, table->columns[i].computed, args, 1, span), span);
  }
}

// A field that may be changed: its column, or MAP_NOTHING and why not was said.
static uint32_t changeable(Check *check, TableInfo *table, Name name) {
  uint32_t column = column_find(check, table, name.sym);
  if (column == MAP_NOTHING) {
    ComputedInfo *computed = computed_find(check, table, name.sym);
    if (computed) { say_fixed(check, name.span, computed->span, "a computed field", "change the fields that it is computed from"); return MAP_NOTHING; }
    if (!check__first_time(check, DIAG_E102, table->ref, name.sym)) return MAP_NOTHING;
    Diag *diag = diag_add(check->diags, DIAG_E102, name.span, "the table `" STR_FMT "` has no field `" STR_FMT "`", STR_ARG(table->name), SYM_ARG(check, name.sym));
    near_columns(check, diag, table, name);
    return MAP_NOTHING;
  }
  for (uint32_t i = 0; i < table->key_count; i++) {
    if (table->key[i] != column) continue;
    say_fixed(check, name.span, table->columns[column].span, "a field of the key", "delete the row and insert another");
    return MAP_NOTHING;
  }
  return column;
}

static void assign_field(Check *check, const Stmt *stmt, HStmtList *out) {
  const Expr *target = stmt->assign.target;
  HExpr *base = check_expr(check, target->field.base, TYPE_NONE);
  TableInfo *table = table_of(check, base->type);
  uint32_t column = MAP_NOTHING;
  if (table) column = changeable(check, table, target->field.name);
  else if (types_is(&check->types, base->type, TYPE_OPTIONAL)) need_open(check, base, "before a field that is changed");
  else if (!is_poison(base)) say_fixed(check, target->span, (Span){0}, "a field of a value", "only fields of rows are changed; make a new value");
  if (column == MAP_NOTHING) { check_expr(check, stmt->assign.value, TYPE_NONE); return; }
  const ColumnInfo *info = &table->columns[column];
  effect_note(check, EFFECT_WRITES, target->span, "it changes a row");
  HExpr *row = stmt->op == OPER_NOTHING && !table->has_hidden ? base : name_value(check, out, base);
  HExpr *current = stmt->op == OPER_NOTHING ? NULL : column_of(check, row, table, column, target->span);
  HExpr *value = new_value(check, stmt, current, info->type, &(Why){.what = "the field", .name = info->sym, .span = info->span});
  if (kept_follows(table, column) && !is_poison(value)) {
    value = name_value(check, out, value);
    kept_write(check, out, table, &(KeptWrite){row, value, column, stmt->span});
  }
  add_set_column(check, out, row, column, value, stmt->span);
  if (table->has_hidden) refresh_hidden(check, out, table, row, stmt->span);
}

static void check_assign(Check *check, const Stmt *stmt, HStmtList *out) {
  const Expr *target = stmt->assign.target;
  if (target->kind == EXPR_FIELD && target->op == OPER_NOTHING) { assign_field(check, stmt, out); return; }
  if (target->kind == EXPR_NAME) {
    uint32_t local = local_find(check, target->name.sym);
    if (local != MAP_NOTHING) { assign_local(check, stmt, local, out); return; }
    uint32_t number = space_find(check, SPACE_VALUE, target->name.sym);
    if (number != MAP_NOTHING && check->values.items[number].kind == VALUE_STATE) {
      if (check->values.items[number].index) assign_state(check, stmt, &check->values.items[number], out);
      return;
    }
  }
  HExpr *found = check_expr(check, target, TYPE_NONE);
  check_expr(check, stmt->assign.value, TYPE_NONE);
  if (!is_poison(found)) say_fixed(check, target->span, (Span){0}, "this", "what can be changed: a `var`, a state value, a field of a row");
}

// An `update` on its way: the columns that it sets, and their values.
typedef struct Update { Check *check; HStmtList *out; TableInfo *table; HExpr *row; const MemberList *members; uint32_t count, *columns; HExpr **values; } Update;

static void update_member(Update *u, const Member *member) {
  Check *check = u->check;
  uint32_t column = u->table ? changeable(check, u->table, member->name) : MAP_NOTHING;
  if (column == MAP_NOTHING) { check_expr(check, member->value, TYPE_NONE); return; }
  const ColumnInfo *info = &u->table->columns[column];
  HExpr *value = check_value(check, member->value, info->type, &(Why){.what = "the field", .name = info->sym, .span = info->span});
  if (u->members->count > 1 || kept_follows(u->table, column)) value = name_value(check, u->out, value);
  u->columns[u->count] = column;
  u->values[u->count++] = value;
}

// `..x`: the fields of x that are not written and that the row has, but for its key, which stays.
static void update_rest(Update *u, const Member *member) {
  Check *check = u->check;
  HExpr *rest = need_open(check, check_expr(check, member->value, TYPE_NONE), "behind `..`");
  if (!has_members(check, rest, member->span) || !u->table) return;
  rest = name_value(check, u->out, rest);
  for (uint32_t c = 0; c < u->table->column_count; c++) {
    const ColumnInfo *info = &u->table->columns[c];
    bool written = info->hidden || info->is_key || !has_member(check, rest->type, info->sym);
    for (uint32_t i = 0; !written && i < u->members->count; i++) written = !u->members->items[i].is_rest && u->members->items[i].name.sym == info->sym;
    if (written) continue;
    HExpr *value = field_of(check, rest, (Name){.sym = info->sym, .span = member->span}, member->span);
    value = coerce(check, value, info->type, &(Why){.what = "the field", .name = info->sym, .span = info->span});
    u->columns[u->count] = c;
    u->values[u->count++] = name_value(check, u->out, value);
  }
}

static void check_update(Check *check, const Stmt *stmt, HStmtList *out) {
  HExpr *base = need_open(check, check_expr(check, stmt->update.target, TYPE_NONE), "behind `update`");
  TableInfo *table = table_of(check, base->type);
  if (!table && !is_poison(base)) {
    Str name = type_name(check, base->type);
    diag_add(check->diags, DIAG_E201, base->span, "`update` changes a row, this is %s" STR_FMT, type_article(name), STR_ARG(name));
  }
  if (table) effect_note(check, EFFECT_WRITES, stmt->span, "it changes a row");
  HExpr *row = name_value(check, out, base);
  Update update = {.check = check, .out = out, .table = table, .row = row, .members = &stmt->update.record->members};
  uint32_t most = update.members->count + (table ? table->column_count : 0);
  update.columns = CHECK_ARRAY(check, uint32_t, most);
  update.values = CHECK_ARRAY(check, HExpr *, most);
  if (!update.columns || !update.values) return;
  for (uint32_t i = 0; i < update.members->count; i++) {  // all values first: `update r { a: r.b, b: r.a }` swaps
    const Member *member = &update.members->items[i];
    if (member->is_rest) update_rest(&update, member);
    else update_member(&update, member);
  }
  for (uint32_t i = 0; i < update.count; i++) {
    uint32_t column = update.columns[i];
    HExpr *value = update.values[i];
    if (kept_follows(table, column) && !is_poison(value)) kept_write(check, out, table, &(KeptWrite){row, value, column, value->span});
    add_set_column(check, out, row, column, value, value->span);
  }
  if (table && table->has_hidden) refresh_hidden(check, out, table, row, stmt->span);
}

// ---- if, for ----------------------------------------------------------------------------------

static HStmt *add_branch(Check *check, const IfBranch *branch, HStmtList *out, HExpr **out_condition) {
  bool is_let = branch->let.sym != 0;
  HExpr *a = is_let ? check_expr(check, branch->condition, TYPE_NONE) : check_condition(check, branch->condition, "the condition of `if` is");
  if (is_let && !is_poison(a) && !types_is(&check->types, a->type, TYPE_OPTIONAL)) {
    Str name = type_name(check, a->type);
    diag_help(check->diags, diag_add(check->diags, DIAG_E201, a->span, "`if let` opens an optional, this is %s" STR_FMT, type_article(name), STR_ARG(name)), "use a plain `if`");
    a = h_poison(check, a->span);
  }
  HStmt *made = stmt_add(check, out, is_let ? HS_IF_SOME : HS_IF, branch->condition->span);
  if (made) made->a = a;
  *out_condition = a;
  return made;
}

static bool check_if(Check *check, const Stmt *stmt, HStmtList *out) {
  uint32_t count = stmt->branch.branches.count;
  bool all_end = true;
  if (count > CHECK_DEPTH_MAX) { diag_add(check->diags, DIAG_E023, stmt->span, "an `if` has at most %d branches (CHECK_DEPTH_MAX)", CHECK_DEPTH_MAX); return false; }
  ScopeMark outer = scope_open(check);
  HStmtList *list = out;
  HExpr *condition = NULL;
  for (uint32_t i = 0; i < count; i++) {
    const IfBranch *branch = &stmt->branch.branches.items[i];
    HStmt *made = add_branch(check, branch, list, &condition);
    if (!made) return false;
    ScopeMark mark = scope_open(check);
    if (made->kind == HS_IF) facts_learn(check, condition, true);
    else made->local = local_add(check, branch->let, LOCAL_LET, is_poison(condition) ? ID_POISON : types_of(&check->types, condition->type));
    HStmts body;
    bool ends = check_block(check, &branch->block, &body);
    scope_close(check, mark);
    all_end &= ends;
    made = &list->items[list->count - 1];
    made->body = body;
    if (made->kind == HS_IF) facts_learn(check, condition, false);
    bool last = i + 1 == count;
    if (last && stmt->branch.otherwise) all_end &= check_block(check, stmt->branch.otherwise, &made->other);
    if (last) break;
    HStmtList *inner = CHECK_NEW(check, HStmtList);  // the next branch is the `else` of this one
    HStmt *room = inner ? stmt_add(check, inner, HS_IF, branch->condition->span) : NULL;
    if (!room) return false;
    inner->count = 0;
    made->other = (HStmts){.count = 1, .items = inner->items};
    list = inner;
  }
  bool guard = count == 1 && !stmt->branch.otherwise && all_end;  // `if x == none { return }`
  scope_close(check, outer);
  if (guard && condition) facts_learn(check, condition, false);
  return all_end && stmt->branch.otherwise;
}

static bool calls_action(const Check *check, const Expr *call) {
  if (call->kind != EXPR_CALL) return false;
  const Expr *callee = call->call.callee;
  Sym sym = callee->kind == EXPR_NAME ? callee->name.sym : callee->kind == EXPR_FIELD ? callee->field.name.sym : 0;
  uint32_t number = space_find(check, SPACE_VALUE, sym);
  return number != MAP_NOTHING && check->values.items[number].fn && check->values.items[number].fn->h.kind == FUNCTION_ACTION;
}

// Forgets what was known of fields that a statement of the block, at any depth, may change.
static void forget_changes(Check *check, const StmtBlock *block, uint32_t depth) {
  if (depth > CHECK_DEPTH_MAX) { facts_kill_state(check); return; }
  for (uint32_t i = 0; i < block->stmts.count; i++) {
    const Stmt *stmt = block->stmts.items[i];
    switch (stmt->kind) {
      case STMT_ASSIGN: if (stmt->assign.target->kind == EXPR_FIELD) facts_kill_field(check, stmt->assign.target->field.name.sym); break;
      case STMT_UPDATE:
        for (uint32_t m = 0; m < stmt->update.record->members.count; m++) facts_kill_field(check, stmt->update.record->members.items[m].name.sym);
        break;
      case STMT_EXPR: if (calls_action(check, stmt->value)) facts_kill_state(check); break;
      case STMT_LET: case STMT_VAR: if (calls_action(check, stmt->let.value)) facts_kill_state(check); break;
      case STMT_IF:
        for (uint32_t b = 0; b < stmt->branch.branches.count; b++) forget_changes(check, &stmt->branch.branches.items[b].block, depth + 1);
        if (stmt->branch.otherwise) forget_changes(check, stmt->branch.otherwise, depth + 1);
        break;
      case STMT_FOR: forget_changes(check, &stmt->loop.block, depth + 1); break;
      case STMT_MATCH:
        for (uint32_t a = 0; a < stmt->match.arms.count; a++) forget_changes(check, &stmt->match.arms.items[a].body, depth + 1);
        break;
      case STMT_AS: case STMT_ADVANCE: case STMT_RECEIVE: facts_kill_state(check); break;
      case STMT_RETURN: case STMT_REJECT: case STMT_REQUIRE: case STMT_DELETE: case STMT_SEND: case STMT_EXPECT: case STMT_EXPECT_REJECT: break;
    }
  }
}

static void check_for(Check *check, const Stmt *stmt, HStmtList *out) {
  facts_enter_loop(check);
  ScopeMark mark = scope_open(check);
  HQuery *query = query_loop(check, stmt);
  // Which rows the loop visits is fixed before it starts; what `where` knew of them may have changed since, by its own body.
  if (query) forget_changes(check, &stmt->loop.block, 0);
  HStmts body;
  check_block(check, &stmt->loop.block, &body);
  scope_close(check, mark);
  HStmt *made = query ? stmt_add(check, out, HS_FOR, stmt->span) : NULL;
  if (!made) return;
  made->query = query;
  made->body = body;
}

// ---- leaving ----------------------------------------------------------------------------------

static void infer_result(Check *check, HExpr *value) {
  Body *body = check->body;
  if (!is_poison(value) && !type_is_real(value->type)) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E212, value->span, "the type of this cannot be known"), "write the type of the result: `-> [int]`");
    value = h_poison(check, value->span);
  }
  if (!body->has_return) { body->result = value->type; body->result_span = value->span; }
  body->has_return = true;
}

void check_return(Check *check, const Expr *written, Span span, HStmtList *out) {
  Body *body = check->body;
  HExpr *value = NULL;
  bool gives = body->result != TYPE_NONE || (!body->result_known && !body->has_return);
  if (written && !gives) {
    check_expr(check, written, TYPE_NONE);
    diag_help(check->diags, diag_add(check->diags, DIAG_E216, written->span, "nothing is returned from here"), "remove the value, or write the type of the result in the header: `-> int`");
    return;
  }
  if (!written && gives) {
    Str name = type_name(check, body->result);
    Diag *diag = diag_add(check->diags, DIAG_E216, span, "a value is returned from here");
    if (!span_is_none(body->result_span)) diag_label(check->diags, diag, body->result_span, "%s" STR_FMT " is promised here", type_article(name), STR_ARG(name));
    return;
  }
  if (written && !body->result_known && !body->has_return) {
    value = fit(check, check_expr(check, written, TYPE_NONE));
    infer_result(check, value);
  } else if (written) {
    value = check_value(check, written, body->result, &(Why){.what = body->result_known ? "the result is" : "another `return` gives", .span = body->result_span});
  }
  HStmt *made = stmt_add(check, out, HS_RETURN, span);
  if (made) made->a = value;
}

static void check_require(Check *check, const Stmt *stmt, HStmtList *out) {
  HExpr *condition = check_condition(check, stmt->require.condition, "what is required is");
  HStmtList other = {0};
  ScopeMark mark = scope_open(check);
  if (!is_poison(condition)) facts_learn(check, condition, false);
  error_use(check, stmt->require.error, &other);
  scope_close(check, mark);
  if (is_poison(condition)) return;
  facts_learn(check, condition, true);
  HStmt *made = stmt_add(check, out, HS_IF, stmt->span);
  if (!made) return;
  made->a = h_unary(check, H_NOT, ID_BOOL, condition, condition->span);
  made->body = stmts_of(&other);
}

// ---- rows -------------------------------------------------------------------------------------

static void delete_query(Check *check, const Stmt *stmt, HStmtList *out) {
  HQuery *query = query_of(check, stmt->value);
  if (!query) return;
  if (!table_of(check, query->select->type)) {
    Str name = type_name(check, query->select->type);
    diag_add(check->diags, DIAG_E201, query->select->span, "`delete from` deletes rows, this gives %s" STR_FMT, type_article(name), STR_ARG(name));
    return;
  }
  HStmt *made = stmt_add(check, out, HS_FOR, stmt->span);
  HStmtList body = {0};
  HStmt *inner = stmt_add(check, &body, HS_DELETE, stmt->span);
  if (!made || !inner) return;
  inner->a = query->select;
  made->query = query;
  made->body = stmts_of(&body);
}

static void check_delete(Check *check, const Stmt *stmt, HStmtList *out) {
  effect_note(check, EFFECT_WRITES, stmt->span, "it deletes rows");
  if (stmt->value->kind == EXPR_QUERY) { delete_query(check, stmt, out); return; }
  HExpr *row = need_open(check, check_expr(check, stmt->value, TYPE_NONE), "behind `delete`");
  if (is_poison(row)) return;
  if (!table_of(check, row->type)) {
    Str name = type_name(check, row->type);
    diag_help(check->diags, diag_add(check->diags, DIAG_E201, row->span, "`delete` removes a row, this is %s" STR_FMT, type_article(name), STR_ARG(name)), "several rows: `delete from x in T where …`");
    return;
  }
  HStmt *made = stmt_add(check, out, HS_DELETE, stmt->span);
  if (made) made->a = row;
}

static void check_send(Check *check, const Stmt *stmt, HStmtList *out) {
  Name name = stmt->send.name;
  uint32_t number = space_find(check, SPACE_OUTPUT, name.sym);
  effect_note(check, EFFECT_WRITES, stmt->span, "it sends a message");
  if (number == MAP_NOTHING) {
    for (uint32_t i = 0; i < stmt->send.args.count; i++) check_expr(check, stmt->send.args.items[i].value, TYPE_NONE);
    Diag *diag = diag_add(check->diags, DIAG_E306, name.span, "there is no output called `" STR_FMT "`", SYM_ARG(check, name.sym));
    near_space(check, diag, SPACE_OUTPUT, name.sym);
    if (!diag->help.len) diag_help(check->diags, diag, "declare it: `output " STR_FMT "(…)`", SYM_ARG(check, name.sym));
    return;
  }
  OutputInfo *output = &check->outputs.items[number];
  output->used = true;
  HExprs args = {.count = output->param_count, .items = CHECK_ARRAY(check, HExpr *, output->param_count)};
  if (!args.items || !check_args(check, &stmt->send.args, NULL, &(Callee){name, output->params, output->param_count}, args.items, NULL)) return;
  bool has_limits = false;
  for (uint32_t i = 0; i < args.count; i++) has_limits |= limits_any(output->params[i].limits);
  for (uint32_t i = 0; has_limits && i < args.count; i++) args.items[i] = name_value(check, out, args.items[i]);
  args_rules(check, output->params, args.items, args.count, out);
  HStmt *made = stmt_add(check, out, HS_SEND, stmt->span);
  if (!made) return;
  made->index = number;
  made->args = args;
}

static bool does_something(const HExpr *a) {
  switch ((HExprKind)a->kind) {
    case H_CALL: case H_CALL_ENTRY: case H_INSERT: case H_ISSUE_TOKEN: return true;
    case H_IF_SOME: return does_something(a->a) || does_something(a->b) || does_something(a->c);
    case H_CONVERT: return does_something(a->a);
    case H_CONST: case H_LOCAL: case H_STATE: case H_ARITH: case H_NEG: case H_COMPARE: case H_AND: case H_OR: case H_NOT: case H_OPEN:
    case H_HAS: case H_IF: case H_MATCH: case H_BUILTIN: case H_DIVIDE: case H_ROUND: case H_TEXT: case H_RECORD: case H_FIELD: case H_VARIANT:
    case H_LIST: case H_SET: case H_MAP: case H_JOIN: case H_RANGE: case H_ITEM: case H_LOOKUP: case H_COUNT: case H_IN: case H_FIND:
    case H_FIND_UNIQUE: case H_COLUMN: case H_QUERY: case H_AGGREGATE: case H_NOW: case H_CALLER: case H_NEW_UUID: case H_CALLER_IS:
    case H_RANDOM: case H_GIVEN: case H_POSITION: case H_SENT: case H_KINDS: break;
  }
  return false;
}

static void check_expr_stmt(Check *check, const Stmt *stmt, HStmtList *out) {
  HExpr *value = check_expr(check, stmt->value, TYPE_NONE);
  if (is_poison(value)) return;
  if (!does_something(value)) {
    Diag *diag = diag_add(check->diags, DIAG_W107, stmt->span, "the value of this is not used, so the line does nothing");
    diag_help(check->diags, diag, "remove it, or give it a name with `let`");
    if (!type_is_real(value->type)) return;
  }
  HStmt *made = stmt_add(check, out, HS_EXPR, stmt->span);
  if (made) made->a = value;
}

// ---- blocks -----------------------------------------------------------------------------------

// True when no way leads past the statement.
static bool check_stmt(Check *check, const Stmt *stmt, HStmtList *out) {
  bool ends = false;
  switch (stmt->kind) {
    case STMT_LET: case STMT_VAR: check_let(check, stmt, out); return false;
    case STMT_EXPR: check_expr_stmt(check, stmt, out); return false;
    case STMT_ASSIGN: check_assign(check, stmt, out); return false;
    case STMT_IF: return check_if(check, stmt, out);
    case STMT_FOR: check_for(check, stmt, out); return false;
    case STMT_MATCH: {
      HStmt made = {.kind = HS_MATCH, .span = stmt->span, .local = NO_LOCAL};
      ends = check_match_stmt(check, stmt, &made);
      HStmt *slot = made.a && !is_poison(made.a) ? stmt_add(check, out, HS_MATCH, stmt->span) : NULL;
      if (slot) *slot = made;
      return ends;
    }
    case STMT_RETURN: check_return(check, stmt->value, stmt->span, out); return true;
    case STMT_REJECT: error_use(check, &stmt->error, out); return true;
    case STMT_REQUIRE: check_require(check, stmt, out); return false;
    case STMT_DELETE: check_delete(check, stmt, out); return false;
    case STMT_UPDATE: check_update(check, stmt, out); return false;
    case STMT_SEND: check_send(check, stmt, out); return false;
    case STMT_EXPECT: case STMT_EXPECT_REJECT: case STMT_ADVANCE: case STMT_AS: case STMT_RECEIVE:
      check_test_stmt(check, stmt, out);
      return false;
  }
  return ends;
}

bool check_block(Check *check, const StmtBlock *block, HStmts *out) {
  *out = (HStmts){0};
  if (check->failed || !depth_enter(check, block->span)) return false;
  ScopeMark mark = scope_open(check);
  HStmtList list = {0};
  bool ends = false;
  for (uint32_t i = 0; i < block->stmts.count && !check->failed; i++) {
    if (ends) {
      diag_help(check->diags, diag_add(check->diags, DIAG_W107, block->stmts.items[i]->span, "nothing reaches this line"), "remove it");
      break;
    }
    ends = check_stmt(check, block->stmts.items[i], &list);
  }
  scope_close(check, mark);
  *out = stmts_of(&list);
  depth_leave(check);
  return ends;
}
