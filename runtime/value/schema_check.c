// What the numbers of a schema mean: after this check, tables, planner and codecs may follow every index in it.
#include <stdlib.h>

#include "runtime/base/mem.h"
#include "runtime/base/utf8.h"
#include "runtime/value/schema.h"

#define SAY(...) err_say(ERR_FORMAT, out_text, __VA_ARGS__)

// ---- names ------------------------------------------------------------------------------------

static int order_names(const void *a, const void *b) { return str_compare(*(const Str *)a, *(const Str *)b); }

// Names of one space: UTF-8, not empty, no two the same. Sorts `names`. Read with a stride, since the names
// stand in arrays of several kinds.
static Err check_names(size_t count, const void *first, size_t stride, Str owner, ErrText *out_text) {
  Str *names = mem_alloc(count * sizeof *names + 1);
  if (!names) return err_say(ERR_MEMORY, out_text, "out of memory");
  for (size_t i = 0; i < count; i++) names[i] = *(const Str *)((const char *)first + i * stride);
  qsort(names, count, sizeof *names, order_names);
  Err err = ERR_NONE;
  for (size_t i = 0; i < count && err == ERR_NONE; i++) {
    if (names[i].len == 0) err = SAY("a part of " STR_FMT " has no name", STR_ARG(owner));
    else if (!utf8_valid(names[i])) err = SAY("a name in " STR_FMT " is not UTF-8", STR_ARG(owner));
    else if (i && str_equal(names[i - 1], names[i])) err = SAY("\"" STR_FMT "\" stands twice in " STR_FMT, STR_ARG(names[i]), STR_ARG(owner));
  }
  mem_free(names);
  return err;
}

static Err check_type_names(const TypeTable *types, ErrText *out_text) {
  for (uint32_t i = 0; i < types->record_count; i++) {
    const RecordDef *def = &types->records[i];
    if (!utf8_valid(def->name)) return SAY("the name of record %u is not UTF-8", i);
    TRY(check_names(def->field_count, def->fields, sizeof *def->fields, def->name.len ? def->name : STR("a record"), out_text));
  }
  for (uint32_t i = 0; i < types->enum_count; i++) {
    const EnumDef *def = &types->enums[i];
    if (!utf8_valid(def->name)) return SAY("the name of enum %u is not UTF-8", i);
    TRY(check_names(def->case_count, def->cases, sizeof *def->cases, def->name.len ? def->name : STR("an enum"), out_text));
    for (uint32_t c = 0; c < def->case_count; c++)
      TRY(check_names(def->cases[c].field_count, def->cases[c].fields, sizeof *def->cases[c].fields, def->cases[c].name, out_text));
  }
  return ERR_NONE;
}

// ---- tables -----------------------------------------------------------------------------------

static Err check_column(const TypeTable *types, const TableDef *table, const ColumnDef *column, ErrText *out_text) {
  if (column->type >= types->count) return SAY("column " STR_FMT "." STR_FMT " has no such type: %u", STR_ARG(table->name), STR_ARG(column->name), column->type);
  if (column->on_delete == ON_DELETE_RESTRICT) return ERR_NONE;
  bool optional = type_kind(types, column->type) == TYPE_OPTIONAL;
  TypeId inner = optional ? types->types[column->type].of : column->type;
  if (type_kind(types, inner) != TYPE_REF) return SAY("column " STR_FMT "." STR_FMT " has a rule for deleting but is no reference", STR_ARG(table->name), STR_ARG(column->name));
  if (column->on_delete == ON_DELETE_CLEAR && !optional) return SAY("column " STR_FMT "." STR_FMT " is to be cleared but is not optional", STR_ARG(table->name), STR_ARG(column->name));
  return ERR_NONE;
}

static Err check_ordered(const TypeTable *types, const TableDef *table, uint16_t column, const char *what, ErrText *out_text) {
  if (column >= table->column_count) return SAY("%s of table " STR_FMT " has no such column: %u", what, STR_ARG(table->name), column);
  if (!type_is_ordered(types, table->columns[column].type)) return SAY("%s of table " STR_FMT ": column " STR_FMT " has no order", what, STR_ARG(table->name), STR_ARG(table->columns[column].name));
  return ERR_NONE;
}

// The key's type is that of the one key column, or a record with the key columns' names and types in their order.
static bool key_type_fits(const TypeTable *types, const TableDef *table, TypeId key_type) {
  if (table->key_count == 1) return key_type == table->columns[table->key[0]].type;
  if (type_kind(types, key_type) != TYPE_RECORD) return false;
  const RecordDef *record = &types->records[types->types[key_type].of];
  if (record->field_count != table->key_count) return false;
  for (uint32_t i = 0; i < table->key_count; i++) {
    const ColumnDef *column = &table->columns[table->key[i]];
    if (record->fields[i].type != column->type || !str_equal(record->fields[i].name, column->name)) return false;
  }
  return true;
}

static Err check_key(const Schema *schema, uint32_t number, ErrText *out_text) {
  const TableDef *table = &schema->tables[number];
  if (table->key_count == 0 || table->key_count > SCHEMA_KEY_COLUMNS_MAX) return SAY("table " STR_FMT " has %u key columns; 1 to %d are possible", STR_ARG(table->name), table->key_count, SCHEMA_KEY_COLUMNS_MAX);
  for (uint32_t i = 0; i < table->key_count; i++) {
    TRY(check_ordered(&schema->types, table, table->key[i], "the key", out_text));
    for (uint32_t k = 0; k < i; k++)
      if (table->key[k] == table->key[i]) return SAY("table " STR_FMT " has a key column twice", STR_ARG(table->name));
  }
  if (!key_type_fits(&schema->types, table, schema->types.table_keys[number])) return SAY("the key type of table " STR_FMT " is not that of its key columns", STR_ARG(table->name));
  return ERR_NONE;
}

static Err check_auto_key(const Schema *schema, const TableDef *table, ErrText *out_text) {
  if (!table->auto_key) return ERR_NONE;
  const TableDef *state = &schema->tables[SCHEMA_STATE_TABLE];
  if (table == state || table->key_count != 1 || type_kind(&schema->types, table->columns[table->key[0]].type) != TYPE_INT)
    return SAY("table " STR_FMT " counts its keys, but its key is not one int", STR_ARG(table->name));
  if (table->auto_column == 0 || table->auto_column >= state->column_count) return SAY("the counter of table " STR_FMT " is missing", STR_ARG(table->name));
  const ColumnDef *counter = &state->columns[table->auto_column];
  if (!counter->hidden || type_kind(&schema->types, counter->type) != TYPE_INT) return SAY("the counter of table " STR_FMT " is not a hidden int", STR_ARG(table->name));
  return ERR_NONE;
}

static bool index_has(const TableDef *table, const IndexDef *index, uint16_t column) {
  for (uint32_t i = 0; i < index->column_count; i++)
    if (index->columns[i].column == column) return true;
  for (uint32_t i = 0; i < index->carried_count; i++)
    if (index->carried[i] == column) return true;
  for (uint32_t i = 0; i < table->key_count; i++)
    if (table->key[i] == column) return true;
  return false;
}

// `index` NULL: kept by the table's own tree.
static Err check_kept(const TypeTable *types, const TableDef *table, const IndexDef *index, ErrText *out_text) {
  uint32_t count = index ? index->kept_count : table->kept_count;
  const KeptDef *kept = index ? index->kept : table->kept;
  if (count > SCHEMA_KEPT_MAX) return SAY("%u columns of table " STR_FMT " are kept summed up; %d are possible", count, STR_ARG(table->name), SCHEMA_KEPT_MAX);
  for (uint32_t i = 0; i < count; i++) {
    if (kept[i].column >= table->column_count) return SAY("table " STR_FMT " keeps no such column: %u", STR_ARG(table->name), kept[i].column);
    const ColumnDef *column = &table->columns[kept[i].column];
    if (kept[i].kinds == 0 || kept[i].kinds & ~schema_keepable(types, column->type)) return SAY("column " STR_FMT "." STR_FMT " cannot be kept so: %u", STR_ARG(table->name), STR_ARG(column->name), kept[i].kinds);
    if (index && !index_has(table, index, kept[i].column)) return SAY("an index of table " STR_FMT " keeps a column that it does not carry: " STR_FMT, STR_ARG(table->name), STR_ARG(column->name));
    for (uint32_t k = 0; k < i; k++)
      if (kept[k].column == kept[i].column) return SAY("column " STR_FMT "." STR_FMT " is kept twice", STR_ARG(table->name), STR_ARG(column->name));
  }
  return ERR_NONE;
}

static Err check_index(const TypeTable *types, const TableDef *table, const IndexDef *index, ErrText *out_text) {
  if (index->column_count == 0 || index->column_count > SCHEMA_INDEX_COLUMNS_MAX) return SAY("an index of table " STR_FMT " has %u columns; 1 to %d are possible", STR_ARG(table->name), index->column_count, SCHEMA_INDEX_COLUMNS_MAX);
  for (uint32_t i = 0; i < index->column_count; i++) TRY(check_ordered(types, table, index->columns[i].column, "an index", out_text));
  if (index->condition != SCHEMA_NO_COLUMN) {
    if (index->condition >= table->column_count) return SAY("the condition of an index of table " STR_FMT " is missing", STR_ARG(table->name));
    if (type_kind(types, table->columns[index->condition].type) != TYPE_BOOL) return SAY("the condition of an index of table " STR_FMT " is no bool", STR_ARG(table->name));
  }
  if (index->carried_count > table->column_count) return SAY("an index of table " STR_FMT " carries more columns than there are", STR_ARG(table->name));
  for (uint32_t i = 0; i < index->carried_count; i++)
    if (index->carried[i] >= table->column_count) return SAY("an index of table " STR_FMT " carries no such column: %u", STR_ARG(table->name), index->carried[i]);
  return check_kept(types, table, index, out_text);
}

static Err check_table(const Schema *schema, uint32_t number, ErrText *out_text) {
  const TableDef *table = &schema->tables[number];
  if (table->column_count > SCHEMA_COLUMNS_MAX) return SAY("table " STR_FMT " has more than %d columns", STR_ARG(table->name), SCHEMA_COLUMNS_MAX);
  if (table->index_count > SCHEMA_INDEXES_MAX) return SAY("table " STR_FMT " has more than %d indexes", STR_ARG(table->name), SCHEMA_INDEXES_MAX);
  TRY(check_names(table->column_count, table->columns, sizeof *table->columns, table->name, out_text));
  for (uint32_t i = 0; i < table->column_count; i++) TRY(check_column(&schema->types, table, &table->columns[i], out_text));
  TRY(check_key(schema, number, out_text));
  TRY(check_auto_key(schema, table, out_text));
  for (uint32_t i = 0; i < table->index_count; i++) TRY(check_index(&schema->types, table, &table->indexes[i], out_text));
  return check_kept(&schema->types, table, NULL, out_text);
}

static Err check_state_table(const Schema *schema, ErrText *out_text) {
  const TableDef *state = &schema->tables[SCHEMA_STATE_TABLE];
  bool sound = state->column_count > 0 && state->key_count == 1 && state->key[0] == 0 && !state->auto_key &&
               state->columns[0].type < schema->types.count && type_kind(&schema->types, state->columns[0].type) == TYPE_INT;
  return sound ? ERR_NONE : SAY("the state table does not start with its int key");
}

Err schema_check(const Schema *schema, ErrText *out_text) {
  const TypeTable *types = &schema->types;
  if (schema->table_count == 0) return SAY("the state table is missing");
  if (schema->table_count > SCHEMA_TABLES_MAX) return SAY("more than %d tables", SCHEMA_TABLES_MAX);
  if (types->table_count != schema->table_count) return SAY("the tables do not match their keys");
  TRY(type_check_table(types, out_text));
  TRY(check_type_names(types, out_text));
  TRY(check_names(schema->table_count, schema->tables, sizeof *schema->tables, STR("the tables"), out_text));
  for (uint32_t i = 0; i < schema->table_count; i++)
    if (!str_equal(types->table_names[i], schema->tables[i].name)) return SAY("the tables do not match their names");
  TRY(check_state_table(schema, out_text));
  for (uint32_t i = 0; i < schema->table_count; i++) TRY(check_table(schema, i, out_text));
  return ERR_NONE;
}
