// The outbox is an ordinary table, so that a message is saved, undone and kept over a restart with what it tells about.
// Who takes messages out of it and delivers them is not here.
#include "runtime/app/outbox.h"

#include "runtime/base/json.h"
#include "runtime/value/json_value.h"

uint16_t outbox_find(const Schema *schema) {
  static const TypeKind KINDS[OUTBOX_COLUMNS] = {[OUTBOX_ID] = TYPE_INT, [OUTBOX_OUTPUT] = TYPE_TEXT, [OUTBOX_AT] = TYPE_TIME, [OUTBOX_BODY] = TYPE_TEXT};
  int found = schema_find_table(schema, STR("~outbox"));
  if (found < 0) return OUTBOX_NONE;
  const TableDef *def = &schema->tables[found];
  bool sound = def->column_count == OUTBOX_COLUMNS && def->auto_key && def->key[0] == OUTBOX_ID;
  for (uint16_t i = 0; sound && i < OUTBOX_COLUMNS; i++) sound = type_kind(&schema->types, def->columns[i].type) == KINDS[i];
  return sound ? (uint16_t)found : OUTBOX_NONE;
}

// ---- sending ----------------------------------------------------------------------------------------

static void write_body(const Module *module, const OutputDef *output, const Value *values, Buf *out) {
  JsonWriter writer = json_writer(out);
  json_write_object(&writer);
  for (uint16_t i = 0; i < output->field_count; i++) {
    json_write_key(&writer, output->fields[i].name);
    value_write_json(&module->schema.types, output->fields[i].type, values[i], out);
    writer.comma = true;
  }
  json_write_object_end(&writer);
}

static Err next_id(Txn *txn, const TableDef *def, int64_t *out_id) {
  Row row;
  Value key = {.i = 0}, number;
  if (!row_find(txn_reader(txn), SCHEMA_STATE_TABLE, key, &row)) return ERR_NOT_FOUND;
  TRY(row_column(&row, def->auto_column, NULL, &number));
  if (number.i == INT64_MAX) return ERR_LIMIT;
  number.i++;
  *out_id = number.i;
  return txn_update(txn, SCHEMA_STATE_TABLE, key, 1, &def->auto_column, &number);
}

static HostResult put(Exec *exec, Txn *txn, uint16_t table, Str output, Str body) {
  int64_t id = 0;
  Err err = next_id(txn, &exec->module->schema.tables[table], &id);
  Value columns[OUTBOX_COLUMNS] = {[OUTBOX_ID] = {.i = id}, [OUTBOX_OUTPUT] = {.text = output}, [OUTBOX_AT] = {.i = exec->call.now_us}, [OUTBOX_BODY] = {.text = body}};
  if (err == ERR_NONE) err = txn_insert(txn, table, columns);
  if (err == ERR_NONE) return HOST_OK;
  if (err == ERR_LIMIT || err == ERR_FULL) return vm_reject(exec, ERROR_LIMIT, (Str){0}, "There is no room for another message.");
  return vm_fault(exec, err == ERR_MEMORY ? FAULT_BUDGET : FAULT_STORE, err_words(err));
}

HostResult outbox_send(Exec *exec, Txn *txn, uint16_t table, uint16_t output, const Value *values) {
  if (!txn || table == OUTBOX_NONE) return vm_fault(exec, FAULT_STORE, "there is no outbox to put a message into");
  if (reader_row_count(txn_reader(txn), table) >= APP_OUTBOX_MESSAGES_MAX) {
    return vm_reject(exec, ERROR_LIMIT, (Str){0}, "The outbox is full: 100000 messages wait (APP_OUTBOX_MESSAGES_MAX).");
  }
  const OutputDef *def = &exec->module->outputs[output];
  Buf body;
  buf_init(&body, APP_MESSAGE_BYTES_MAX + 1);
  write_body(exec->module, def, values, &body);
  HostResult result;
  if (body.failed || body.len > APP_MESSAGE_BYTES_MAX) result = vm_reject(exec, ERROR_LIMIT, def->name, "A message has at most 65536 bytes (APP_MESSAGE_BYTES_MAX).");
  else if (!vm_charge(exec, body.len / 8)) result = vm_fault(exec, FAULT_BUDGET, "too much work for one call");
  else result = put(exec, txn, table, def->name, buf_str(&body));
  buf_free(&body);
  return result;
}

// ---- listing ----------------------------------------------------------------------------------------

static HostResult add_message(Exec *exec, Cursor *cursor, TypeId type, Value *out) {
  Value body;
  ValueProblems problems = {.arena = &exec->arena};
  JsonReader reader;
  if (cursor_column(cursor, OUTBOX_BODY, &exec->arena, &body) != ERR_NONE) return vm_fault(exec, FAULT_BUDGET, "no memory for a message");
  Str copy = arena_copy(&exec->arena, body.text);  // texts of what is read point into it
  if (!copy.ptr) return vm_fault(exec, FAULT_BUDGET, "no memory for a message");
  json_open(&reader, copy);
  Err err = value_read_json(&exec->module->schema.types, type, &reader, (Str){0}, &problems, out);
  return err == ERR_NONE ? HOST_OK : vm_fault(exec, FAULT_STORE, "a message in the outbox cannot be read");
}

HostResult outbox_list(Exec *exec, const Reader *reader, uint16_t table, uint16_t output, TypeId list_type, Value *out) {
  if (table == OUTBOX_NONE) return vm_fault(exec, FAULT_STORE, "there is no outbox");
  Range range = {.table = table, .index = SCHEMA_NO_INDEX};
  Cursor *cursor = NULL;
  List *list = list_new(&exec->arena, (uint32_t)reader_row_count(reader, table));
  if (!list || cursor_open(reader, &range, &exec->arena, &cursor) != ERR_NONE) return vm_fault(exec, FAULT_BUDGET, "no memory for the messages");
  uint32_t count = 0;
  while (cursor_next(cursor)) {
    Value name;
    if (cursor_column(cursor, OUTBOX_OUTPUT, &exec->arena, &name) != ERR_NONE) return vm_fault(exec, FAULT_BUDGET, "no memory for a message");
    if (!str_equal(name.text, exec->module->outputs[output].name)) continue;
    HostResult result = add_message(exec, cursor, exec->module->schema.types.types[list_type].of, &list->items[count]);
    if (result != HOST_OK) return result;
    count++;
  }
  list->count = count;
  out->list = list;
  return HOST_OK;
}
