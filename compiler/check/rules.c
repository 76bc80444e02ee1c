// Functions that a table gets from the checker: the one that proves its rules for a row, and, where it keeps hidden
// columns, the one that makes a row. Lengths, `min` and `max` of fields are rules like those that are written.
#include "compiler/check/internal.h"

#include <assert.h>

#include "runtime/module/builtins.h"

static bool has_limits(const ColumnInfo *column) { return column->limits.min != NO_CONSTANT || column->limits.max != NO_CONSTANT; }

bool table_has_rules(const TableInfo *table) {
  for (uint32_t i = 0; i < table->column_count; i++)
    if (has_limits(&table->columns[i])) return true;
  for (uint32_t i = 0; i < table->decl->table.items.count; i++)
    if (table->decl->table.items.items[i].kind == TABLE_CHECK) return true;
  return false;
}

static void reject_if(Check *check, HStmtList *out, HExpr *condition, HStmtList *other, Span span) {
  HStmt *made = stmt_add(check, out, HS_IF, span);
  if (!made) return;
  made->a = condition;
  made->body = (HStmts){.count = other->count, .items = other->items};
}

// ---- min and max ------------------------------------------------------------------------------

static HExpr *measured(Check *check, HExpr *value) {
  if (value->type == ID_TEXT || value->type == ID_BYTES) {
    if (value->type == ID_BYTES) return NULL;
    HExpr *length = h_args(check, H_BUILTIN, ID_INT, 1, value->span);
    if (length->args.count) length->args.items[0] = value;
    length->index = BUILTIN_TEXT_LEN;
    return length;
  }
  bool counts = types_is(&check->types, value->type, TYPE_LIST) || types_is(&check->types, value->type, TYPE_SET) || types_is(&check->types, value->type, TYPE_MAP);
  return counts ? h_unary(check, H_COUNT, ID_INT, value, value->span) : value;
}

// A value and the limits that it must keep; `error`: what it rejects with when it does not.
typedef struct Limited { Sym sym; Span span; Limits limits; uint16_t error; } Limited;

static void reject_limit(Check *check, HStmtList *out, const Limited *of, bool is_min) {
  HStmt *made = stmt_add(check, out, HS_REJECT, of->span);
  if (!made) return;
  const Constant *limit = &check->program->constants[is_min ? of->limits.min : of->limits.max];
  HExpr *parts = h_args(check, H_TEXT, ID_TEXT, 3, of->span);
  if (!parts->args.count) return;
  parts->args.items[0] = h_text(check, sym_str(check, of->sym), of->span);
  parts->args.items[1] = h_text(check, is_min ? STR(" must be at least ") : STR(" must be at most "), of->span);
  parts->args.items[2] = h_to_text(check, h_const(check, limit->type, limit->value, of->span));
  made->index = of->error;
  made->a = parts;
}

static void add_limit(Check *check, HStmtList *out, const Limited *of, HExpr *value, bool is_min) {
  uint32_t constant = is_min ? of->limits.min : of->limits.max;
  if (constant == NO_CONSTANT) return;
  const Constant *limit = &check->program->constants[constant];
  HExpr *bad = comparison(check, is_min ? OPER_LT : OPER_GT, value, h_const(check, limit->type, limit->value, of->span), of->span);
  HStmtList body = {0};
  if (is_poison(bad)) return;
  reject_limit(check, &body, of, is_min);
  reject_if(check, out, bad, &body, of->span);
}

// `value` is simple, or read once.
static void add_limits(Check *check, HStmtList *out, const Limited *of, HExpr *value) {
  bool optional = types_is(&check->types, value->type, TYPE_OPTIONAL);
  HStmtList inner = {0}, *list = optional ? &inner : out;
  LocalId local = optional ? local_hidden(check, types_of(&check->types, value->type), of->span) : NO_LOCAL;
  HExpr *size = measured(check, optional ? h_local(check, local, of->span) : value);
  if (!size) return;
  add_limit(check, list, of, size, true);
  add_limit(check, list, of, size, false);
  if (!optional) return;
  HStmt *made = stmt_add(check, out, HS_IF_SOME, of->span);
  if (!made) return;
  made->local = local;
  made->a = value;
  made->body = (HStmts){.count = inner.count, .items = inner.items};
}

static void limit_rules(Check *check, Fn *fn, HStmtList *out) {
  for (uint32_t i = 0; i < fn->self->column_count; i++) {
    const ColumnInfo *column = &fn->self->columns[i];
    if (!has_limits(column) || column->type == ID_POISON) continue;
    HExpr *value = column_of(check, h_local(check, check->body->self, column->span), fn->self, i, column->span);
    add_limits(check, out, &(Limited){column->sym, column->span, column->limits, ERROR_CHECK_FAILED}, value);
  }
}

// ---- parameters -------------------------------------------------------------------------------

void args_rules(Check *check, const Param *params, HExpr **values, uint32_t count, HStmtList *out) {
  for (uint32_t i = 0; i < count; i++) {
    const Param *param = &params[i];
    if (!limits_any(param->limits) || param->type == ID_POISON || is_poison(values[i])) continue;
    add_limits(check, out, &(Limited){param->sym, param->span, param->limits, ERROR_BAD_ARGUMENT}, values[i]);
  }
}

// Inputs and receives are called from outside alone, where their arguments are looked at all at once (runtime/app/args.c).
void param_rules(Check *check, Fn *fn) {
  if (fn->self || (fn->h.kind != FUNCTION_FN && fn->h.kind != FUNCTION_ACTION && fn->h.kind != FUNCTION_VIEW)) return;
  HStmtList list = {0};
  for (uint32_t i = 0; i < fn->param_count; i++) {
    HExpr *value = h_local(check, i, fn->params[i].span);
    args_rules(check, &fn->params[i], &value, 1, &list);
  }
  if (!list.count) return;
  for (uint32_t i = 0; i < fn->h.body.count; i++) {
    HStmt *stmt = stmt_add(check, &list, fn->h.body.items[i].kind, fn->h.body.items[i].span);
    if (!stmt) return;
    *stmt = fn->h.body.items[i];
  }
  fn->h.body = (HStmts){.count = list.count, .items = list.items};
}

// ---- written rules ----------------------------------------------------------------------------

static void written_rule(Check *check, const TableItem *item, HStmtList *out) {
  HExpr *condition = check_condition(check, item->value, "a check is");
  HStmtList body = {0};
  if (item->error) error_use(check, item->error, &body);
  if (is_poison(condition)) return;
  reject_if(check, out, h_unary(check, H_NOT, ID_BOOL, condition, condition->span), &body, item->span);
}

void rules_body(Check *check, Fn *fn) {
  HStmtList list = {0};
  limit_rules(check, fn, &list);
  const TableItemList *items = &fn->decl->table.items;
  for (uint32_t i = 0; i < items->count; i++)
    if (items->items[i].kind == TABLE_CHECK) written_rule(check, &items->items[i], &list);
  fn->h.body = (HStmts){.count = list.count, .items = list.items};
}

// ---- rows with hidden columns -----------------------------------------------------------------

void insert_body(Check *check, Fn *fn) {
  TableInfo *table = fn->self;
  HExpr *made = h_args(check, H_INSERT, table->ref, table->column_count, fn->name_span);
  HStmt *stmt = CHECK_NEW(check, HStmt);
  if (!stmt || !made->args.count) return;
  for (uint32_t i = 0; i < table->column_count; i++) {
    const ColumnInfo *column = &table->columns[i];
    if (table->auto_key && table->key[0] == i) continue;
    if (column->follows) { made->args.items[i] = kept_due(check, h_local(check, column->follows - 1, column->span), fn->name_span); continue; }
    if (column->hidden && !column->computed) { made->args.items[i] = h_zero(check, column->type, fn->name_span); continue; }
    made->args.items[i] = column->computed ? check_value(check, column->computed->value, column->type, NULL) : h_local(check, i, column->span);
  }
  made->table = table->id;
  *stmt = (HStmt){.kind = HS_RETURN, .a = made, .span = fn->name_span, .local = NO_LOCAL};
  effect_note(check, EFFECT_WRITES, fn->name_span, "it inserts a row");
  fn->h.body = (HStmts){.count = 1, .items = stmt};
}
