// Indexes and unique rules. A reference gets an index (deleting a row must find those who point at it) unless the key or
// an index starts with it, and so does what timers and `expire` watch. A computed field in an index, and the condition of
// a partial `unique`, are kept in hidden columns, so they may use nothing but the row itself.
#include "compiler/check/internal.h"

#include <assert.h>

enum { ENTRY_BYTES_MAX = 1024, CODE_POINT_BYTES_MAX = 4, FIXED_BYTES = 17, BYTES_ENOUGH = 1 << 24 };  // TABLE_KEY_BYTES_MAX of runtime/table/table.h

// ---- what may stand in one --------------------------------------------------------------------

static int64_t length_max(const Check *check, const ColumnInfo *column) {
  if (column->limits.max == NO_CONSTANT) return -1;
  int64_t max = check->program->constants[column->limits.max].value.i;
  return max < 0 ? 0 : max > BYTES_ENOUGH ? BYTES_ENOUGH : max;
}

static int64_t key_bytes(const Check *check, TableInfo *table);

// How many bytes a column takes in a key at most; -1: nothing says.
static int64_t entry_bytes(const Check *check, const ColumnInfo *column) {
  TypeId open = types_open(&check->types, column->type);
  if (types_is(&check->types, open, TYPE_TEXT)) { int64_t max = length_max(check, column); return max < 0 ? -1 : max * CODE_POINT_BYTES_MAX + 2; }
  if (types_is(&check->types, open, TYPE_BYTES)) return length_max(check, column);
  return types_is(&check->types, open, TYPE_REF) ? key_bytes(check, check->tables.items[types_of(&check->types, open)]) : FIXED_BYTES;
}

// Once a table. What is wrong with a key is said where that key is, so it counts as something small here.
static int64_t key_bytes(const Check *check, TableInfo *table) {
  if (table->key_bytes) return table->key_bytes;
  table->key_bytes = FIXED_BYTES;  // of a key that refers to itself, too
  int64_t sum = 0;
  for (uint32_t i = 0; i < table->key_count; i++) {
    int64_t bytes = entry_bytes(check, &table->columns[table->key[i]]);
    if (bytes < 0) return FIXED_BYTES;
    sum += bytes;
    if (sum > BYTES_ENOUGH) sum = BYTES_ENOUGH;
  }
  return table->key_bytes = sum ? sum : FIXED_BYTES;
}

static void check_entry(Check *check, const TableInfo *table, uint32_t count, const uint16_t *columns, Span span, const char *what) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ColumnInfo *column = &table->columns[columns[i]];
    int64_t bytes = entry_bytes(check, column);
    if (bytes < 0) {
      Diag *diag = diag_add(check->diags, DIAG_E311, column->hidden ? span : column->span, "`" STR_FMT "` is in %s, so its length needs a `max`", SYM_ARG(check, column->sym), what);
      diag_help(check->diags, diag, "an entry has at most %d bytes (TABLE_KEY_BYTES_MAX), a character up to 4: write `max 200`, for example", ENTRY_BYTES_MAX);
      return;
    }
    sum += bytes;
  }
  if (sum > ENTRY_BYTES_MAX) {
    Diag *diag = diag_add(check->diags, DIAG_E311, span, "%s can grow to %lld bytes, an entry has at most %d (TABLE_KEY_BYTES_MAX)", what, (long long)sum, ENTRY_BYTES_MAX);
    diag_help(check->diags, diag, "lower the `max` of its texts; a character takes up to 4 bytes");
  }
}

static bool may_be_indexed(Check *check, const ColumnInfo *column, Span span) {
  if (column->type == ID_POISON || type_is_ordered(&check->types.table, column->type)) return true;
  Str name = type_name(check, column->type);
  diag_add(check->diags, DIAG_E311, span, "%s" STR_FMT " has no order, so it cannot be in an index", type_article(name), STR_ARG(name));
  return false;
}

// ---- hidden columns ---------------------------------------------------------------------------

// Only the row's own columns decide the value: then it can be kept up to date where they change.
static bool depends_on_row_only(const HExpr *a, uint32_t depth) {
  if (!a) return true;
  if (depth > CHECK_DEPTH_MAX) return false;
  switch ((HExprKind)a->kind) {
    case H_CONST: case H_LOCAL: return true;
    case H_COLUMN: return a->a->kind == H_LOCAL;
    case H_ARITH: case H_COMPARE: case H_AND: case H_OR: case H_IN:
      return depends_on_row_only(a->a, depth + 1) && depends_on_row_only(a->b, depth + 1);
    case H_NEG: case H_NOT: case H_CONVERT: case H_OPEN: case H_HAS: case H_ROUND: case H_FIELD: case H_COUNT:
      return depends_on_row_only(a->a, depth + 1);
    case H_IF: case H_IF_SOME:
      return depends_on_row_only(a->a, depth + 1) && depends_on_row_only(a->b, depth + 1) && depends_on_row_only(a->c, depth + 1);
    case H_BUILTIN: case H_TEXT: case H_RECORD:
      for (uint32_t i = 0; i < a->args.count; i++)
        if (!depends_on_row_only(a->args.items[i], depth + 1)) return false;
      return true;
    case H_DIVIDE: return depends_on_row_only(a->a, depth + 1) && depends_on_row_only(a->b, depth + 1);
    case H_STATE: case H_MATCH: case H_CALL: case H_VARIANT: case H_LIST: case H_SET: case H_MAP: case H_JOIN: case H_RANGE: case H_ITEM:
    case H_LOOKUP: case H_FIND: case H_FIND_UNIQUE: case H_INSERT: case H_QUERY: case H_AGGREGATE: case H_NOW: case H_CALLER: case H_NEW_UUID:
    case H_CALLER_IS: case H_RANDOM: case H_GIVEN: case H_POSITION: case H_CALL_ENTRY: case H_SENT: case H_ISSUE_TOKEN: case H_KINDS:
      break;
  }
  return false;
}

static uint32_t add_hidden(Check *check, TableInfo *table, Fn *fn, Sym sym, Span span) {
  body_check(check, fn);
  const HStmts *body = &fn->h.body;
  if (fn->h.result == ID_POISON || body->count != 1) return MAP_NOTHING;
  if (!depends_on_row_only(body->items[0].a, 0)) {
    Diag *diag = diag_add(check->diags, DIAG_E311, span, "this looks at more than the row itself, so it cannot be kept in an index");
    diag_help(check->diags, diag, "use only fields of the row");
    return MAP_NOTHING;
  }
  if (table->column_count >= SCHEMA_COLUMNS_MAX) { diag_add(check->diags, DIAG_E026, span, "a table has at most %d columns (SCHEMA_COLUMNS_MAX), hidden ones included", SCHEMA_COLUMNS_MAX); return MAP_NOTHING; }
  ColumnInfo *column = table__add_column(check, table);
  if (!column) return MAP_NOTHING;
  column->sym = sym;
  column->span = span;
  column->type = fn->h.result;
  column->hidden = true;
  column->computed = fn;
  table->has_hidden = true;
  return table->column_count - 1;
}

static uint32_t hidden_of_computed(Check *check, TableInfo *table, ComputedInfo *computed, Span span) {
  if (computed->hidden) return computed->hidden - 1;
  uint32_t column = add_hidden(check, table, computed->fn, computed->sym, span);
  if (column != MAP_NOTHING) computed->hidden = column + 1;
  return column;
}

// ---- declared indexes -------------------------------------------------------------------------

static uint32_t index_column(Check *check, TableInfo *table, Name name) {
  uint32_t column = column_find(check, table, name.sym);
  if (column != MAP_NOTHING) return may_be_indexed(check, &table->columns[column], name.span) ? column : MAP_NOTHING;
  ComputedInfo *computed = computed_find(check, table, name.sym);
  if (computed) {
    column = hidden_of_computed(check, table, computed, name.span);
    return column != MAP_NOTHING && may_be_indexed(check, &table->columns[column], name.span) ? column : MAP_NOTHING;
  }
  if (!check__first_time(check, DIAG_E102, table->ref, name.sym)) return MAP_NOTHING;
  Diag *diag = diag_add(check->diags, DIAG_E102, name.span, "the table `" STR_FMT "` has no field `" STR_FMT "`", STR_ARG(table->name), SYM_ARG(check, name.sym));
  near_columns(check, diag, table, name);
  return MAP_NOTHING;
}

static bool room_for_index(Check *check, const TableInfo *table, Span span, uint32_t column_count) {
  if (column_count > SCHEMA_INDEX_COLUMNS_MAX) { diag_add(check->diags, DIAG_E026, span, "an index has at most %d fields (SCHEMA_INDEX_COLUMNS_MAX)", SCHEMA_INDEX_COLUMNS_MAX); return false; }
  if (table->index_count < SCHEMA_INDEXES_MAX) return true;
  diag_add(check->diags, DIAG_E026, span, "a table has at most %d indexes (SCHEMA_INDEXES_MAX), those for references included", SCHEMA_INDEXES_MAX);
  return false;
}

static IndexInfo *add_index(Check *check, TableInfo *table, uint32_t count, const IndexColumn *columns, bool unique, Span span) {
  if (!room_for_index(check, table, span, count)) return NULL;
  IndexInfo *index = table__add_index(check, table, count);
  if (!index) return NULL;
  uint16_t numbers[SCHEMA_INDEX_COLUMNS_MAX];
  for (uint32_t i = 0; i < count; i++) { index->columns[i] = columns[i]; numbers[i] = columns[i].column; }
  index->unique = unique;
  index->span = span;
  check_entry(check, table, count, numbers, span, unique ? "a `unique`" : "an index");
  return index;
}

static void declared_index(Check *check, TableInfo *table, const TableItem *item) {
  IndexColumn columns[SCHEMA_INDEX_COLUMNS_MAX];
  uint32_t count = item->orders.count;
  if (!room_for_index(check, table, item->span, count)) return;
  for (uint32_t i = 0; i < count; i++) {
    const OrderKey *key = &item->orders.items[i];
    if (key->key->kind != EXPR_NAME) { diag_add(check->diags, DIAG_E900, key->key->span, "not supported yet: an index over a part of a field"); return; }
    uint32_t column = index_column(check, table, key->key->name);
    if (column == MAP_NOTHING) return;
    columns[i] = (IndexColumn){.column = (uint16_t)column, .descending = key->descending};
  }
  add_index(check, table, count, columns, false, item->span);
}

static uint16_t unique_condition(Check *check, TableInfo *table, const TableItem *item) {
  Fn *fn = fn_new(check, FUNCTION_COMPUTED, table->decl, (Name){.span = item->value->span});
  if (!fn) return SCHEMA_NO_COLUMN;
  fn->h.name = STR("unique");
  fn->used = fn->result_known = true;
  fn->self = table;
  fn->value = item->value;
  fn->h.result = ID_BOOL;
  uint32_t column = add_hidden(check, table, fn, 0, item->value->span);
  return column == MAP_NOTHING ? SCHEMA_NO_COLUMN : (uint16_t)column;
}

static void declared_unique(Check *check, TableInfo *table, const TableItem *item) {
  IndexColumn columns[SCHEMA_INDEX_COLUMNS_MAX];
  if (!room_for_index(check, table, item->span, item->names.count)) return;
  for (uint32_t i = 0; i < item->names.count; i++) {
    uint32_t column = index_column(check, table, item->names.items[i]);
    if (column == MAP_NOTHING) return;
    columns[i] = (IndexColumn){.column = (uint16_t)column};
  }
  uint16_t condition = item->value ? unique_condition(check, table, item) : SCHEMA_NO_COLUMN;
  IndexInfo *index = add_index(check, table, item->names.count, columns, true, item->span);
  if (index) index->condition = condition;
}

static void field_indexes(Check *check, TableInfo *table) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    const Field *field = table->columns[i].field;
    if (!field) continue;
    for (uint32_t m = 0; m < field->mods.count; m++) {
      const Mod *mod = &field->mods.items[m];
      if (mod->kind != MOD_UNIQUE && mod->kind != MOD_INDEX) continue;
      if (!may_be_indexed(check, &table->columns[i], mod->span)) continue;
      add_index(check, table, 1, &(IndexColumn){.column = (uint16_t)i}, mod->kind == MOD_UNIQUE, mod->span);
    }
  }
}

// ---- indexes that nobody wrote ----------------------------------------------------------------

static bool is_led_by(const TableInfo *table, uint32_t column) {
  if (table->key_count && table->key[0] == column) return true;
  for (uint32_t i = 0; i < table->index_count; i++)
    if (table->indexes[i].columns[0].column == column && table->indexes[i].condition == SCHEMA_NO_COLUMN) return true;
  return false;
}

static void reference_indexes(Check *check, TableInfo *table) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    ColumnInfo *column = &table->columns[i];
    if (!types_is(&check->types, types_open(&check->types, column->type), TYPE_REF) || is_led_by(table, i)) continue;
    add_index(check, table, 1, &(IndexColumn){.column = (uint16_t)i}, false, column->span);
  }
}

static void watched_indexes(Check *check) {
  for (uint32_t i = 0; i < check->timers.count; i++) {
    const TimerInfo *timer = &check->timers.items[i];
    uint16_t column = timer->kind == TIMER_ROWS ? timer->kept : timer->column;
    if (!timer->table || column >= timer->table->column_count || is_led_by(timer->table, column)) continue;
    add_index(check, timer->table, 1, &(IndexColumn){.column = column}, false, timer->table->columns[column].span);
  }
}

void tables_indexes(Check *check) {
  for (uint32_t i = 1; i < check->tables.count && !check->failed; i++) {
    TableInfo *table = check->tables.items[i];
    check_entry(check, table, table->key_count, table->key, table->decl->name.span, "the key");
    field_indexes(check, table);
    for (uint32_t k = 0; k < table->decl->table.items.count; k++) {
      const TableItem *item = &table->decl->table.items.items[k];
      if (item->kind == TABLE_INDEX) declared_index(check, table, item);
      if (item->kind == TABLE_UNIQUE) declared_unique(check, table, item);
    }
    reference_indexes(check, table);
  }
  watched_indexes(check);
}
