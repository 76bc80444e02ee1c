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

static void reject_limit(Check *check, HStmtList *out, const ColumnInfo *column, bool is_min, Span span) {
  HStmt *made = stmt_add(check, out, HS_REJECT, span);
  if (!made) return;
  const Constant *limit = &check->program->constants[is_min ? column->limits.min : column->limits.max];
  HExpr *parts = h_args(check, H_TEXT, ID_TEXT, 3, span);
  if (!parts->args.count) return;
  parts->args.items[0] = h_text(check, sym_str(check, column->sym), span);
  parts->args.items[1] = h_text(check, is_min ? STR(" must be at least ") : STR(" must be at most "), span);
  parts->args.items[2] = h_to_text(check, h_const(check, limit->type, limit->value, span));
  made->index = ERROR_CHECK_FAILED;
  made->a = parts;
}

static void add_limit(Check *check, HStmtList *out, const ColumnInfo *column, HExpr *value, bool is_min) {
  uint32_t constant = is_min ? column->limits.min : column->limits.max;
  if (constant == NO_CONSTANT) return;
  const Constant *limit = &check->program->constants[constant];
  HExpr *bad = comparison(check, is_min ? OPER_LT : OPER_GT, value, h_const(check, limit->type, limit->value, column->span), column->span);
  HStmtList body = {0};
  if (is_poison(bad)) return;
  reject_limit(check, &body, column, is_min, column->span);
  reject_if(check, out, bad, &body, column->span);
}

static void limit_rules(Check *check, Fn *fn, HStmtList *out) {
  for (uint32_t i = 0; i < fn->self->column_count; i++) {
    const ColumnInfo *column = &fn->self->columns[i];
    if (!has_limits(column) || column->type == ID_POISON) continue;
    HExpr *value = column_of(check, h_local(check, check->body->self, column->span), fn->self, i, column->span);
    bool optional = types_is(&check->types, value->type, TYPE_OPTIONAL);
    HStmtList inner = {0}, *list = optional ? &inner : out;
    LocalId local = optional ? local_hidden(check, types_of(&check->types, value->type), column->span) : NO_LOCAL;
    HExpr *size = measured(check, optional ? h_local(check, local, column->span) : value);
    if (!size) continue;
    add_limit(check, list, column, size, true);
    add_limit(check, list, column, size, false);
    if (!optional) continue;
    HStmt *made = stmt_add(check, out, HS_IF_SOME, column->span);
    if (!made) return;
    made->local = local;
    made->a = value;
    made->body = (HStmts){.count = inner.count, .items = inner.items};
  }
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
