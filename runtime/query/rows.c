// Rows for the machine: what reads and changes one row or state value at a time, and the rules that hold across rows
// when one goes (on delete restrict, cascade, clear). Installed into the VmHost together with the queries.
#include "runtime/query/query_internal.h"
#include "runtime/query/query_host.h"

static const int64_t STATE_KEY = 0;

static const TableDef *table_of(const Exec *exec, uint16_t table) { return &exec->module->schema.tables[table]; }

// The answer for an error of the tables.
static HostResult failed(Exec *exec, uint16_t table, Err err) {
  const TableDef *def = table_of(exec, table);
  if (err == ERR_NONE) return HOST_OK;
  if (err == ERR_NOT_FOUND) return vm_fault(exec, FAULT_ROW_GONE, NULL);
  if (err == ERR_EXISTS) return vm_reject(exec, ERROR_DUPLICATE, def->columns[def->key[0]].name, NULL);
  if (err == ERR_LIMIT) return vm_reject(exec, ERROR_LIMIT, (Str){0}, "This is full: it has as many rows as it may, or a key is too long.");
  if (err == ERR_FULL) return vm_reject(exec, ERROR_LIMIT, (Str){0}, "The app's data takes all the memory that it may.");
  return vm_fault(exec, err == ERR_MEMORY ? FAULT_BUDGET : FAULT_STORE, err_words(err));
}

static HostResult read_column(Exec *exec, uint16_t table, Value key, uint16_t column, Value *out) {
  Row row;
  if (!row_find(exec__context(exec)->reader, table, key, &row)) return vm_fault(exec, FAULT_ROW_GONE, NULL);
  Err err = row_column(&row, column, &exec->arena, out);
  if (err != ERR_NONE) return failed(exec, table, err);
  return value__settle(exec, table_of(exec, table)->columns[column].type, out);
}

static bool fits_column(const Exec *exec, TypeId type, Value value) {
  if (type_kind(exec__types(exec), type) != TYPE_DECIMAL) return true;
  return value.dec >= INT64_MIN && value.dec <= INT64_MAX;
}

// A reference that is stored must lead to a row.
static bool leads_somewhere(const Exec *exec, TypeId type, Value value) {
  const TypeTable *types = exec__types(exec);
  if (type_kind(types, type) == TYPE_OPTIONAL) {
    if (!value_is_some(types, type, value)) return true;
    value = value_open(types, type, value);
    type = types->types[type].of;
  }
  Row row;
  return type_kind(types, type) != TYPE_REF || row_find(exec__context(exec)->reader, types->types[type].of, value, &row);
}

static HostResult check_value(Exec *exec, TypeId type, Value value) {
  if (!fits_column(exec, type, value)) return vm_fault(exec, FAULT_OVERFLOW, "a decimal that is stored must fit 64 bits");
  if (!leads_somewhere(exec, type, value)) return vm_fault(exec, FAULT_ROW_GONE, "a reference to a row that is not there cannot be stored");
  return HOST_OK;
}

static HostResult write_column(Exec *exec, uint16_t table, Value key, uint16_t column, Value value) {
  Txn *txn = exec__context(exec)->txn;
  if (!txn) return vm_fault(exec, FAULT_STORE, "nothing may be changed here");
  HostResult checked = check_value(exec, table_of(exec, table)->columns[column].type, value);
  if (checked != HOST_OK) return checked;
  return failed(exec, table, txn_update(txn, table, key, 1, &column, &value));
}

static HostResult state_get(Exec *exec, uint16_t column, Value *out) {
  return read_column(exec, SCHEMA_STATE_TABLE, (Value){.i = STATE_KEY}, column, out);
}

static HostResult state_set(Exec *exec, uint16_t column, Value value) {
  return write_column(exec, SCHEMA_STATE_TABLE, (Value){.i = STATE_KEY}, column, value);
}

static HostResult row_has(Exec *exec, uint16_t table, Value key, bool *out) {
  Row row;
  *out = row_find(exec__context(exec)->reader, table, key, &row);
  return HOST_OK;
}

// Takes the next number of an auto key. The counter starts at zero, the first key is 1; a key is never given twice.
static HostResult next_key(Exec *exec, const TableDef *def, Value *out_key) {
  Value counter;
  HostResult result = state_get(exec, def->auto_column, &counter);
  if (result != HOST_OK) return result;
  if (counter.i == INT64_MAX) return vm_fault(exec, FAULT_OVERFLOW, "the keys of this table are used up");
  out_key->i = counter.i + 1;
  return state_set(exec, def->auto_column, *out_key);
}

static HostResult key_of_columns(Exec *exec, const TableDef *def, const Value *columns, Value *out_key) {
  if (def->key_count == 1) {
    *out_key = columns[def->key[0]];
    return HOST_OK;
  }
  Value *key = ARENA_ARRAY(&exec->arena, Value, def->key_count);
  if (!key) return vm_fault(exec, FAULT_BUDGET, "no memory for a key");
  for (uint16_t i = 0; i < def->key_count; i++) key[i] = columns[def->key[i]];
  out_key->record = key;
  return HOST_OK;
}

static HostResult insert(Exec *exec, uint16_t table, const Value *columns, Value *out_key) {
  Txn *txn = exec__context(exec)->txn;
  const TableDef *def = table_of(exec, table);
  if (!txn) return vm_fault(exec, FAULT_STORE, "nothing may be changed here");
  Value *row = arena_alloc(&exec->arena, sizeof(Value) * def->column_count);
  if (!row) return vm_fault(exec, FAULT_BUDGET, "no memory for a row");
  memcpy(row, columns, sizeof(Value) * def->column_count);
  if (def->auto_key) {
    HostResult result = next_key(exec, def, &row[def->key[0]]);
    if (result != HOST_OK) return result;
  }
  for (uint16_t i = 0; i < def->column_count; i++) {
    HostResult result = check_value(exec, def->columns[i].type, row[i]);
    if (result != HOST_OK) return result;
  }
  HostResult inserted = failed(exec, table, txn_insert(txn, table, row));
  return inserted == HOST_OK ? key_of_columns(exec, def, row, out_key) : inserted;
}

// ---- deleting ---------------------------------------------------------------------------------------

// Rows that must go, found while going; a list instead of recursion, since cascades can be as deep as the data.
typedef struct Doomed { uint16_t table; Value key; } Doomed;
typedef struct DoomedList { Doomed *items; uint32_t count, cap; } DoomedList;

static HostResult doom(Exec *exec, DoomedList *list, uint16_t table, Value key) {
  if (list->count == list->cap) {
    uint32_t cap = list->cap ? list->cap * 2 : 8;
    Doomed *items = arena_grow(&exec->arena, list->items, sizeof(Doomed) * list->cap, sizeof(Doomed) * cap);
    if (!items) return vm_fault(exec, FAULT_BUDGET, "too many rows to delete at once");
    list->items = items;
    list->cap = cap;
  }
  list->items[list->count++] = (Doomed){table, key};
  return HOST_OK;
}

// The index whose first column is the reference; the compiler makes one for every stored reference that does not lead the key.
static uint16_t index_on(const TableDef *def, uint16_t column) {
  for (uint16_t i = 0; i < def->index_count; i++) {
    if (def->indexes[i].columns[0].column == column) return i;
  }
  return SCHEMA_NO_INDEX;
}

static bool refers_to(const TypeTable *types, TypeId type, uint16_t table, bool *out_optional) {
  *out_optional = type_kind(types, type) == TYPE_OPTIONAL;
  if (*out_optional) type = types->types[type].of;
  return type_kind(types, type) == TYPE_REF && types->types[type].of == table;
}

// Deals with the rows of `from` whose `column` is the deleted row.
static HostResult release_column(Exec *exec, const Doomed *gone, uint16_t from, uint16_t column, DoomedList *list) {
  const TypeTable *types = exec__types(exec);
  const TableDef *def = table_of(exec, from);
  TypeId type = def->columns[column].type;
  Value target = type_kind(types, type) == TYPE_OPTIONAL ? value_some(types, type, gone->key) : gone->key;
  Range range = {.table = from, .index = index_on(def, column), .equal_count = 1, .equal = &target};
  if (range.index == SCHEMA_NO_INDEX && def->key[0] != column) return vm_fault(exec, FAULT_STORE, "a reference has no index");
  Cursor *cursor = NULL;
  if (cursor_open(exec__context(exec)->reader, &range, &exec->arena, &cursor) != ERR_NONE) return vm_fault(exec, FAULT_BUDGET, "no memory to delete");
  while (cursor_next(cursor)) {
    if (!vm_charge(exec, 8)) return vm_fault(exec, FAULT_BUDGET, "too many rows to delete at once");
    Value key;
    if (cursor_key(cursor, &exec->arena, &key) != ERR_NONE || value__settle(exec, types->table_keys[from], &key) != HOST_OK) {
      return vm_fault(exec, FAULT_BUDGET, "no memory to delete");
    }
    OnDelete rule = def->columns[column].on_delete;
    if (rule == ON_DELETE_RESTRICT) return vm_reject(exec, ERROR_IN_USE, def->name, NULL);
    HostResult result = rule == ON_DELETE_CASCADE ? doom(exec, list, from, key) : write_column(exec, from, key, column, value_none(types, type));
    if (result != HOST_OK) return result;
  }
  return HOST_OK;
}

static HostResult release_row(Exec *exec, const Doomed *gone, DoomedList *list) {
  const Schema *schema = &exec->module->schema;
  for (uint16_t table = 1; table < schema->table_count; table++) {
    for (uint16_t column = 0; column < schema->tables[table].column_count; column++) {
      bool optional;
      if (schema->tables[table].columns[column].hidden) continue;
      if (!refers_to(&schema->types, schema->tables[table].columns[column].type, gone->table, &optional)) continue;
      HostResult result = release_column(exec, gone, table, column, list);
      if (result != HOST_OK) return result;
    }
  }
  return HOST_OK;
}

// The row goes first, then what refers to it, so that a row that refers to itself, or a ring of them, ends.
static HostResult delete_row(Exec *exec, uint16_t table, Value key) {
  Txn *txn = exec__context(exec)->txn;
  if (!txn) return vm_fault(exec, FAULT_STORE, "nothing may be changed here");
  DoomedList list = {0};
  HostResult result = doom(exec, &list, table, key);
  for (uint32_t i = 0; result == HOST_OK && i < list.count; i++) {
    Doomed gone = list.items[i];
    Err err = txn_delete(txn, gone.table, gone.key);
    if (err == ERR_NOT_FOUND && i > 0) continue;  // two ways led to it
    result = failed(exec, gone.table, err);
    if (result == HOST_OK) result = release_row(exec, &gone, &list);
  }
  return result;
}

void query_install(VmHost *host) {
  host->state_get = state_get;
  host->state_set = state_set;
  host->row_has = row_has;
  host->column_get = read_column;
  host->column_set = write_column;
  host->insert = insert;
  host->delete_row = delete_row;
  host->query_open = query__open;
  host->query_next = query__next;
  host->query_close = query__close;
  host->cursor_key = query__cursor_key;
  host->cursor_column = query__cursor_column;
}
