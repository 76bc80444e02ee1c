// The encoding lists types, records, enums and tables, each with a count before it. Decoding reads through an In, which
// remembers the first failure and then gives zeros, so that the readers below need no check a line; no count is
// believed that the bytes left cannot hold. What the numbers mean is checked afterwards, by schema_check.
#include "runtime/value/schema.h"

#include <assert.h>

#include "runtime/base/hash.h"
#include "runtime/value/codec.h"

// ---- writing ----------------------------------------------------------------------------------

static void write_str(Buf *out, Str text) {
  varint_write(out, text.len);
  buf_add_str(out, text);
}

static void write_fields(Buf *out, uint32_t count, const FieldDef *fields) {
  varint_write(out, count);
  for (uint32_t i = 0; i < count; i++) {
    write_str(out, fields[i].name);
    varint_write(out, fields[i].type);
    buf_add_char(out, fields[i].has_default);
  }
}

static void write_enum(Buf *out, const EnumDef *def) {
  write_str(out, def->name);
  buf_add_char(out, def->plain);
  varint_write(out, def->case_count);
  for (uint32_t i = 0; i < def->case_count; i++) {
    write_str(out, def->cases[i].name);
    write_fields(out, def->cases[i].field_count, def->cases[i].fields);
  }
}

static void write_types(Buf *out, const TypeTable *types) {
  varint_write(out, types->count);
  for (uint32_t i = 0; i < types->count; i++) {
    buf_add_char(out, (char)types->types[i].kind);
    buf_add_char(out, (char)types->types[i].scale);
    varint_write(out, types->types[i].of);
    varint_write(out, types->types[i].to);
  }
  varint_write(out, types->record_count);
  for (uint32_t i = 0; i < types->record_count; i++) {
    write_str(out, types->records[i].name);
    write_fields(out, types->records[i].field_count, types->records[i].fields);
  }
  varint_write(out, types->enum_count);
  for (uint32_t i = 0; i < types->enum_count; i++) write_enum(out, &types->enums[i]);
}

static void write_columns(Buf *out, uint32_t count, const uint16_t *columns) {
  varint_write(out, count);
  for (uint32_t i = 0; i < count; i++) varint_write(out, columns[i]);
}

static void write_kept(Buf *out, uint32_t count, const KeptDef *kept) {
  varint_write(out, count);
  for (uint32_t i = 0; i < count; i++) {
    varint_write(out, kept[i].column);
    buf_add_char(out, (char)kept[i].kinds);
  }
}

static void write_index(Buf *out, const IndexDef *index) {
  varint_write(out, index->column_count);
  for (uint32_t i = 0; i < index->column_count; i++) {
    varint_write(out, index->columns[i].column);
    buf_add_char(out, index->columns[i].descending);
  }
  buf_add_char(out, index->unique);
  varint_write(out, index->condition);
  write_columns(out, index->carried_count, index->carried);
  write_kept(out, index->kept_count, index->kept);
}

static void write_table(Buf *out, const TableDef *table, TypeId key_type) {
  write_str(out, table->name);
  varint_write(out, key_type);
  varint_write(out, table->column_count);
  for (uint32_t i = 0; i < table->column_count; i++) {
    const ColumnDef *column = &table->columns[i];
    write_str(out, column->name);
    varint_write(out, column->type);
    buf_add_char(out, (char)column->on_delete);
    buf_add_char(out, column->hidden);
  }
  write_columns(out, table->key_count, table->key);
  buf_add_char(out, table->auto_key);
  varint_write(out, table->auto_key ? table->auto_column : 0);
  varint_write(out, table->index_count);
  for (uint32_t i = 0; i < table->index_count; i++) write_index(out, &table->indexes[i]);
  varint_write(out, table->rows_max);
  write_kept(out, table->kept_count, table->kept);
}

void schema_encode(const Schema *schema, Buf *out) {
  assert(schema->types.table_count == schema->table_count);
  write_types(out, &schema->types);
  varint_write(out, schema->table_count);
  for (uint32_t i = 0; i < schema->table_count; i++) write_table(out, &schema->tables[i], schema->types.table_keys[i]);
}

// ---- reading ----------------------------------------------------------------------------------

typedef struct In { Str bytes; Arena *arena; Err err; } In;

static uint64_t read_up_to(In *in, uint64_t most) {
  uint64_t number = 0;
  if (in->err == ERR_NONE) in->err = varint_read(&in->bytes, &number);
  if (in->err == ERR_NONE && number > most) in->err = ERR_FORMAT;
  return in->err == ERR_NONE ? number : 0;
}

static uint16_t read_u16(In *in) { return (uint16_t)read_up_to(in, UINT16_MAX); }
static bool read_bool(In *in) { return read_up_to(in, 1) != 0; }

static uint8_t read_byte(In *in) {
  if (in->err == ERR_NONE && in->bytes.len == 0) in->err = ERR_FORMAT;
  if (in->err != ERR_NONE) return 0;
  uint8_t byte = (uint8_t)in->bytes.ptr[0];
  in->bytes = str_part(in->bytes, 1, in->bytes.len);
  return byte;
}

static Str read_str(In *in) {
  uint64_t len = read_up_to(in, in->bytes.len);
  if (in->err != ERR_NONE || len > in->bytes.len) { in->err = in->err ? in->err : ERR_FORMAT; return (Str){0}; }
  Str name = arena_copy(in->arena, str_part(in->bytes, 0, (size_t)len));
  in->bytes = str_part(in->bytes, (size_t)len, in->bytes.len);
  if (!name.ptr) in->err = ERR_MEMORY;
  return name;
}

// A count of elements that take at least `bytes_each` bytes, and the array for them. NULL, and 0, when that fails.
static void *read_array(In *in, uint64_t most, size_t bytes_each, size_t size, uint16_t *out_count) {
  *out_count = 0;
  uint64_t count = read_up_to(in, most);
  if (in->err == ERR_NONE && count > in->bytes.len / bytes_each) in->err = ERR_FORMAT;
  void *array = in->err == ERR_NONE ? arena_alloc_zero(in->arena, (size_t)count, size) : NULL;
  if (in->err == ERR_NONE && !array) in->err = ERR_MEMORY;
  if (array) *out_count = (uint16_t)count;
  return array;
}

static const FieldDef *read_fields(In *in, uint16_t *out_count) {
  FieldDef *fields = read_array(in, FIELD_COUNT_MAX, 3, sizeof *fields, out_count);
  for (uint32_t i = 0; i < *out_count && in->err == ERR_NONE; i++) {
    fields[i].name = read_str(in);
    fields[i].type = read_u16(in);
    fields[i].has_default = read_bool(in);
  }
  return fields;
}

static const CaseDef *read_cases(In *in, uint16_t *out_count) {
  CaseDef *cases = read_array(in, CASE_COUNT_MAX, 2, sizeof *cases, out_count);
  for (uint32_t i = 0; i < *out_count && in->err == ERR_NONE; i++) {
    cases[i].name = read_str(in);
    cases[i].fields = read_fields(in, &cases[i].field_count);
  }
  return cases;
}

static void read_types(In *in, TypeTable *types) {
  Type *array = read_array(in, TYPE_COUNT_MAX, 4, sizeof *array, &types->count);
  for (uint32_t i = 0; i < types->count && in->err == ERR_NONE; i++) {
    array[i].kind = read_byte(in);
    array[i].scale = read_byte(in);
    array[i].of = read_u16(in);
    array[i].to = read_u16(in);
  }
  types->types = array;
  RecordDef *records = read_array(in, UINT16_MAX, 2, sizeof *records, &types->record_count);
  for (uint32_t i = 0; i < types->record_count && in->err == ERR_NONE; i++) {
    records[i].name = read_str(in);
    records[i].fields = read_fields(in, &records[i].field_count);
  }
  types->records = records;
  EnumDef *enums = read_array(in, UINT16_MAX, 3, sizeof *enums, &types->enum_count);
  for (uint32_t i = 0; i < types->enum_count && in->err == ERR_NONE; i++) {
    enums[i].name = read_str(in);
    enums[i].plain = read_bool(in);
    enums[i].cases = read_cases(in, &enums[i].case_count);
  }
  types->enums = enums;
}

static const uint16_t *read_columns(In *in, uint64_t most, uint16_t *out_count) {
  uint16_t *columns = read_array(in, most, 1, sizeof *columns, out_count);
  for (uint32_t i = 0; i < *out_count && in->err == ERR_NONE; i++) columns[i] = read_u16(in);
  return columns;
}

static const KeptDef *read_kept(In *in, uint16_t *out_count) {
  KeptDef *kept = read_array(in, SCHEMA_KEPT_MAX, 2, sizeof *kept, out_count);
  for (uint32_t i = 0; i < *out_count && in->err == ERR_NONE; i++) {
    kept[i].column = read_u16(in);
    kept[i].kinds = (uint8_t)read_up_to(in, KEPT_ALL);
  }
  return kept;
}

static void read_index(In *in, IndexDef *index) {
  IndexColumn *columns = read_array(in, SCHEMA_INDEX_COLUMNS_MAX, 2, sizeof *columns, &index->column_count);
  for (uint32_t i = 0; i < index->column_count && in->err == ERR_NONE; i++) {
    columns[i].column = read_u16(in);
    columns[i].descending = read_bool(in);
  }
  index->columns = columns;
  index->unique = read_bool(in);
  index->condition = read_u16(in);
  index->carried = read_columns(in, SCHEMA_COLUMNS_MAX, &index->carried_count);
  index->kept = read_kept(in, &index->kept_count);
}

static void read_table(In *in, TableDef *table, TypeId *out_key_type) {
  table->name = read_str(in);
  *out_key_type = read_u16(in);
  ColumnDef *columns = read_array(in, SCHEMA_COLUMNS_MAX, 4, sizeof *columns, &table->column_count);
  for (uint32_t i = 0; i < table->column_count && in->err == ERR_NONE; i++) {
    columns[i].name = read_str(in);
    columns[i].type = read_u16(in);
    columns[i].on_delete = (OnDelete)read_up_to(in, ON_DELETE_CLEAR);
    columns[i].hidden = read_bool(in);
  }
  table->columns = columns;
  table->key = read_columns(in, SCHEMA_KEY_COLUMNS_MAX, &table->key_count);
  table->auto_key = read_bool(in);
  table->auto_column = (uint16_t)read_up_to(in, table->auto_key ? SCHEMA_COLUMNS_MAX : 0);
  IndexDef *indexes = read_array(in, SCHEMA_INDEXES_MAX, 5, sizeof *indexes, &table->index_count);
  for (uint32_t i = 0; i < table->index_count && in->err == ERR_NONE; i++) read_index(in, &indexes[i]);
  table->indexes = indexes;
  table->rows_max = read_up_to(in, UINT64_MAX);
  table->kept = read_kept(in, &table->kept_count);
}

static void read_tables(In *in, Schema *schema) {
  TableDef *tables = read_array(in, SCHEMA_TABLES_MAX, 9, sizeof *tables, &schema->table_count);
  uint16_t count = schema->table_count;
  TypeId *keys = arena_alloc_zero(in->arena, count, sizeof *keys);
  Str *names = arena_alloc_zero(in->arena, count, sizeof *names);
  if (in->err == ERR_NONE && (!keys || !names)) in->err = ERR_MEMORY;
  for (uint32_t i = 0; i < count && in->err == ERR_NONE; i++) {
    read_table(in, &tables[i], &keys[i]);
    names[i] = tables[i].name;
  }
  schema->tables = tables;
  schema->types.table_count = count;
  schema->types.table_keys = keys;
  schema->types.table_names = names;
}

Err schema_decode(Str bytes, Arena *arena, Schema *out_schema, ErrText *out_text) {
  In in = {bytes, arena, ERR_NONE};
  Schema schema = {0};
  read_types(&in, &schema.types);
  read_tables(&in, &schema);
  if (in.err == ERR_NONE && in.bytes.len) in.err = ERR_FORMAT;
  if (in.err == ERR_MEMORY) return err_say(ERR_MEMORY, out_text, "out of memory while reading a schema");
  if (in.err != ERR_NONE) return err_say(in.err, out_text, "the schema is damaged near its byte %zu of %zu", bytes.len - in.bytes.len, bytes.len);
  TRY(schema_check(&schema, out_text));
  *out_schema = schema;
  return ERR_NONE;
}

void schema_hash(Str encoded, uint8_t out_hash[32]) {
  Hash hash = hash_of(encoded);
  memcpy(out_hash, hash.bytes, sizeof hash.bytes);
}

int schema_find_table(const Schema *schema, Str name) {
  for (int i = 0; i < schema->table_count; i++)
    if (str_equal(schema->tables[i].name, name)) return i;
  return -1;
}

int schema_find_column(const TableDef *table, Str name) {
  for (int i = 0; i < table->column_count; i++)
    if (str_equal(table->columns[i].name, name)) return i;
  return -1;
}

unsigned schema_kept(const TableDef *table, uint16_t index, uint16_t column) {
  uint32_t count = index == SCHEMA_NO_INDEX ? table->kept_count : table->indexes[index].kept_count;
  const KeptDef *kept = index == SCHEMA_NO_INDEX ? table->kept : table->indexes[index].kept;
  for (uint32_t i = 0; i < count; i++)
    if (kept[i].column == column) return kept[i].kinds;
  return 0;
}

unsigned schema_keepable(const TypeTable *types, TypeId type) {
  type = type_of_key(types, type);
  unsigned optional = 0;
  if (types->types[type].kind == TYPE_OPTIONAL) {
    optional = KEPT_COUNT;
    type = type_of_key(types, types->types[type].of);
  }
  switch ((TypeKind)types->types[type].kind) {
    case TYPE_INT: case TYPE_DECIMAL: case TYPE_DURATION: return optional | KEPT_SUM | KEPT_MIN | KEPT_MAX;
    case TYPE_BOOL: return optional | KEPT_SUM;
    case TYPE_TIME: case TYPE_DATE: return optional | KEPT_MIN | KEPT_MAX;
    case TYPE_ENUM: return types->enums[types->types[type].of].plain ? optional | KEPT_MIN | KEPT_MAX : optional;
    case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: case TYPE_LIST: case TYPE_SET: case TYPE_MAP: case TYPE_RECORD: return optional;
    case TYPE_OPTIONAL: case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  return 0;
}
