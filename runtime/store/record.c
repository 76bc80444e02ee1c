// Bodies are varints, texts with their length, and the encodings of other rooms. A body's checksum is checked before it
// is read; it is read with every check all the same, since the data outlives the program that wrote it.
#include "runtime/store/record.h"

#include "runtime/value/codec.h"

// ---- commits ----------------------------------------------------------------------------------
static void write_text(Buf *out, Str text) {
  varint_write(out, text.len);
  buf_add_str(out, text);
}

static Err read_text(Str *bytes, Str *out_text) {
  uint64_t len;
  TRY(varint_read(bytes, &len));
  if (len > bytes->len) return ERR_FORMAT;
  *out_text = (Str){bytes->ptr, len};
  *bytes = str_part(*bytes, len, bytes->len);
  return ERR_NONE;
}

void record_write_commit(Buf *out, const StoreInput *inputs, uint32_t count, const Txn *txn) {
  varint_write(out, count);
  for (uint32_t i = 0; i < count; i++) {
    write_text(out, inputs[i].name);
    write_text(out, inputs[i].caller);
    varint_write(out, zigzag(inputs[i].now_us));
    varint_write(out, inputs[i].seed);
    write_text(out, inputs[i].args);
    buf_add_char(out, (char)inputs[i].status);
  }
  txn_encode_changes(txn, (TxnMark){0}, out);
}

static Err read_input(Str *bytes, StoreInput *out) {
  uint64_t now;
  TRY(read_text(bytes, &out->name));
  TRY(read_text(bytes, &out->caller));
  TRY(varint_read(bytes, &now));
  out->now_us = unzigzag(now);
  TRY(varint_read(bytes, &out->seed));
  TRY(read_text(bytes, &out->args));
  if (bytes->len == 0) return ERR_FORMAT;
  out->status = (uint8_t)bytes->ptr[0];
  *bytes = str_part(*bytes, 1, bytes->len);
  return ERR_NONE;
}

Err record_read_commit(Str body, RecordVisit visit, void *context, RecordCommit *out_commit) {
  uint64_t count;
  RecordCommit commit = {.now_us = INT64_MIN};
  TRY(varint_read(&body, &count));
  if (count > STORE_INPUTS_MAX) return ERR_FORMAT;
  for (uint64_t i = 0; i < count; i++) {
    StoreInput input = {0};
    TRY(read_input(&body, &input));
    if (input.now_us > commit.now_us) commit.now_us = input.now_us;
    if (visit) TRY(visit(context, &input));
  }
  commit.input_count = (uint32_t)count;
  commit.changes = body;
  *out_commit = commit;
  return ERR_NONE;
}

// ---- schemas ----------------------------------------------------------------------------------
static void write_table_mapping(Buf *out, const Schema *schema, unsigned t, const ReshapeTable *table) {
  varint_write(out, table->from == RESHAPE_NEW ? 0 : table->from + 1u);
  bool with_columns = table->columns && (table->from != RESHAPE_NEW || t == SCHEMA_STATE_TABLE);
  buf_add_char(out, with_columns);
  const TableDef *def = &schema->tables[t];
  for (unsigned c = 0; with_columns && c < def->column_count; c++) {
    const ReshapeColumn *column = &table->columns[c];
    varint_write(out, column->from == RESHAPE_NEW ? 0 : column->from + 1u);
    if (column->from == RESHAPE_NEW) value_encode(&schema->types, def->columns[c].type, column->value, out);
  }
}

void record_write_schema(Buf *out, const RecordSchema *record, const Schema *schema) {
  buf_add(out, record->module_hash, STORE_HASH_BYTES);
  write_text(out, record->schema);
  buf_add_char(out, record->tables != NULL);
  for (unsigned t = 0; record->tables && t < schema->table_count; t++) write_table_mapping(out, schema, t, &record->tables[t]);
}

Err record_read_schema(Str body, Arena *arena, Schema *out_schema, RecordSchema *out_record, Str *out_mapping, ErrText *out_text) {
  if (body.len < STORE_HASH_BYTES) return ERR_FORMAT;
  memcpy(out_record->module_hash, body.ptr, STORE_HASH_BYTES);
  body = str_part(body, STORE_HASH_BYTES, body.len);
  TRY(read_text(&body, &out_record->schema));
  if (body.len == 0) return ERR_FORMAT;
  bool has_mapping = body.ptr[0];
  *out_mapping = has_mapping ? str_part(body, 1, body.len) : (Str){0};
  if (!has_mapping && body.len != 1) return ERR_FORMAT;
  Str kept = arena_copy(arena, out_record->schema);  // names of the schema may point into its bytes
  if (!kept.ptr) return ERR_MEMORY;
  out_record->schema = kept;
  return schema_decode(kept, arena, out_schema, out_text);
}

static Err read_from(Str *bytes, uint64_t count, uint16_t *out_from) {
  uint64_t from;
  TRY(varint_read(bytes, &from));
  if (from > count) return ERR_FORMAT;
  *out_from = from ? (uint16_t)(from - 1) : RESHAPE_NEW;
  return ERR_NONE;
}

// A column may only take one that is stored alike; the Db checks that again row by row.
static Err read_columns(Str *bytes, const TableDef *from, const Schema *to, const TableDef *def, Arena *arena, ReshapeTable *out) {
  ReshapeColumn *columns = ARENA_ARRAY(arena, ReshapeColumn, def->column_count);
  if (!columns) return ERR_MEMORY;
  for (unsigned c = 0; c < def->column_count; c++) {
    TRY(read_from(bytes, from ? from->column_count : 0, &columns[c].from));
    if (columns[c].from == RESHAPE_NEW) TRY(value_decode(&to->types, def->columns[c].type, bytes, arena, false, &columns[c].value));
  }
  out->columns = columns;
  return ERR_NONE;
}

Err record_read_mapping(Str mapping, const Schema *from, const Schema *to, Arena *arena, const ReshapeTable **out_tables) {
  ReshapeTable *tables = ARENA_ARRAY(arena, ReshapeTable, to->table_count);
  if (!tables) return ERR_MEMORY;
  for (unsigned t = 0; t < to->table_count; t++) {
    TRY(read_from(&mapping, from->table_count, &tables[t].from));
    if (mapping.len == 0) return ERR_FORMAT;
    bool with_columns = mapping.ptr[0];
    mapping = str_part(mapping, 1, mapping.len);
    const TableDef *old = tables[t].from == RESHAPE_NEW ? NULL : &from->tables[tables[t].from];
    if (old && !with_columns) return ERR_FORMAT;
    if (with_columns) TRY(read_columns(&mapping, old, to, &to->tables[t], arena, &tables[t]));
  }
  if (mapping.len) return ERR_FORMAT;
  *out_tables = tables;
  return ERR_NONE;
}
