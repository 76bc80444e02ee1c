// A dump reads rows through cursors and a load puts them in through the same checked changes as everything else, a thousand a
// commit. Who wants all or nothing loads into a store in memory first: then the second time only the disk can fail.
#include "runtime/store/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/json.h"
#include "runtime/value/json_value.h"

// ---- out --------------------------------------------------------------------------------------
static void add_hex(JsonWriter *writer, Str bytes) {
  static const char DIGITS[] = "0123456789abcdef";
  buf_add_char(writer->buf, '"');
  for (size_t i = 0; i < bytes.len; i++) {
    buf_add_char(writer->buf, DIGITS[(uint8_t)bytes.ptr[i] >> 4]);
    buf_add_char(writer->buf, DIGITS[(uint8_t)bytes.ptr[i] & 15]);
  }
  buf_add_char(writer->buf, '"');
  writer->comma = true;
}

static void write_member(JsonWriter *writer, const char *name, int64_t value) {
  json_write_key(writer, str_from(name));
  json_write_int(writer, value);
}

static void write_head(Store *store, Buf *line) {
  JsonWriter writer = json_writer(line);
  const StoreInfo *info = store_info(store);
  Buf schema;
  buf_init(&schema, 0);
  schema_encode(store_schema(store), &schema);
  if (schema.failed) line->failed = true;
  json_write_object(&writer);
  write_member(&writer, "aup_dump", LINES_VERSION);
  write_member(&writer, "commit", (int64_t)info->number);
  write_member(&writer, "now", info->now_us);
  json_write_key(&writer, STR("module"));
  add_hex(&writer, (Str){(const char *)info->module_hash, STORE_HASH_BYTES});
  json_write_key(&writer, STR("schema"));
  add_hex(&writer, buf_str(&schema));
  json_write_object_end(&writer);
  buf_add_char(line, '\n');
  buf_free(&schema);
}

static Err write_row(Cursor *cursor, const Schema *schema, uint16_t table, Arena *arena, Buf *line) {
  const TableDef *def = &schema->tables[table];
  JsonWriter writer = json_writer(line);
  json_write_object(&writer);
  json_write_key(&writer, STR("table"));
  json_write_text(&writer, def->name);
  json_write_key(&writer, STR("row"));
  json_write_object(&writer);
  for (uint16_t c = 0; c < def->column_count; c++) {
    Value value;
    TRY(cursor_column(cursor, c, arena, &value));
    json_write_key(&writer, def->columns[c].name);
    value_write_json(&schema->types, def->columns[c].type, value, line);
    writer.comma = true;
  }
  json_write_object_end(&writer);
  json_write_object_end(&writer);
  buf_add_char(line, '\n');
  return line->failed ? ERR_MEMORY : ERR_NONE;
}

typedef struct Dump { Store *store; LinesWrite write; void *context; Buf line; Arena arena, row; } Dump;

static Err dump_table(Dump *dump, uint16_t table) {
  const Schema *schema = store_schema(dump->store);
  Cursor *cursor = NULL;
  Range all = {.table = table, .index = SCHEMA_NO_INDEX};
  arena_reset(&dump->arena);
  TRY(cursor_open(txn_reader(db_txn(store_db(dump->store))), &all, &dump->arena, &cursor));
  while (cursor_next(cursor)) {
    buf_clear(&dump->line);
    arena_reset(&dump->row);
    TRY(write_row(cursor, schema, table, &dump->row, &dump->line));
    TRY(dump->write(dump->context, buf_str(&dump->line)));
  }
  return ERR_NONE;
}

Err lines_dump(Store *store, LinesWrite write, void *context) {
  Dump dump = {.store = store, .write = write, .context = context};
  if (!store_db(store)) return ERR_NONE;
  buf_init(&dump.line, 0);
  arena_init(&dump.arena, 0);
  arena_init(&dump.row, 0);
  write_head(store, &dump.line);
  Err err = dump.line.failed ? ERR_MEMORY : write(context, buf_str(&dump.line));
  for (uint16_t t = 0; t < store_schema(store)->table_count && err == ERR_NONE; t++) err = dump_table(&dump, t);
  buf_free(&dump.line);
  arena_free(&dump.arena);
  arena_free(&dump.row);
  return err;
}

// ---- in ---------------------------------------------------------------------------------------
static Err say(const LinesLoad *load, Err err, ErrText *out_text, const char *format, ...) PRINTF(4, 5);
static Err say(const LinesLoad *load, Err err, ErrText *out_text, const char *format, ...) {
  char words[ERR_TEXT_BYTES / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  return err_say(err, out_text, "line %llu: %s", (unsigned long long)load->line, words);
}

Err lines_load_begin(LinesLoad *load, Store *store, ErrText *out_text) {
  *load = (LinesLoad){.store = store, .is_new = store_info(store)->is_new};
  if (load->is_new) return ERR_NONE;
  const Schema *schema = store_schema(store);
  for (uint16_t t = 1; t < schema->table_count; t++)
    if (reader_row_count(txn_reader(db_txn(store_db(store))), t))
      return err_say(ERR_EXISTS, out_text, "the store is not empty: table " STR_FMT " has rows", STR_ARG(schema->tables[t].name));
  return ERR_NONE;
}

static Err read_hex(Str text, Arena *arena, Str *out_bytes) {
  char *bytes = text.len % 2 ? NULL : arena_alloc(arena, text.len / 2 + 1);
  if (!bytes) return text.len % 2 ? ERR_FORMAT : ERR_MEMORY;
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return ERR_FORMAT;
    unsigned digit = (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    bytes[i / 2] = (char)(i % 2 ? (uint8_t)bytes[i / 2] | digit : digit << 4);
  }
  *out_bytes = (Str){bytes, text.len / 2};
  return ERR_NONE;
}

typedef struct Head { int64_t version, now_us; Str module, schema; } Head;

static Err read_head_member(JsonReader *json, Head *head, Arena *arena) {
  bool is_version = json_text_is(json, STR("aup_dump")), is_now = json_text_is(json, STR("now"));
  bool is_module = json_text_is(json, STR("module")), is_schema = json_text_is(json, STR("schema"));
  if (!is_version && !is_now && !is_module && !is_schema) return json_skip(json, NULL);
  JsonEvent event = json_next(json);
  if (is_version || is_now) return event == JSON_NUMBER ? json_number_int64(json->text, is_version ? &head->version : &head->now_us) : ERR_FORMAT;
  return event == JSON_TEXT ? read_hex(json->text, arena, is_module ? &head->module : &head->schema) : ERR_FORMAT;
}

static Err take_schema(LinesLoad *load, const Head *head, Arena *arena, ErrText *out_text) {
  Schema schema;
  ErrText text = {{0}};
  if (!head->schema.len) return say(load, ERR_FORMAT, out_text, "no schema, and the store is new");
  Err err = schema_decode(head->schema, arena, &schema, &text);
  if (err != ERR_NONE) return say(load, err, out_text, "the schema: %s", text.text[0] ? text.text : err_words(err));
  return store_set_schema(load->store, &schema, (const uint8_t *)head->module.ptr, NULL, out_text);
}

static Err load_head(LinesLoad *load, Str line, Arena *arena, ErrText *out_text) {
  JsonReader json;
  Head head = {0};
  json_open(&json, line);
  Err err = json_next(&json) == JSON_OBJECT ? ERR_NONE : ERR_FORMAT;
  while (err == ERR_NONE && json_next(&json) == JSON_KEY) err = read_head_member(&json, &head, arena);
  if (err == ERR_NONE && (json.event != JSON_OBJECT_END || json_next(&json) != JSON_END)) err = ERR_FORMAT;
  if (err == ERR_NONE && head.version > LINES_VERSION) return say(load, ERR_VERSION, out_text, "a dump of a newer aup");
  if (err != ERR_NONE || head.version != LINES_VERSION || head.module.len != STORE_HASH_BYTES) return say(load, err == ERR_MEMORY ? err : ERR_FORMAT, out_text, "this is not the first line of a dump");
  load->now_us = (uint64_t)head.now_us;
  return load->is_new ? take_schema(load, &head, arena, out_text) : ERR_NONE;
}

// ---- rows -------------------------------------------------------------------------------------
typedef struct RowLine { const LinesLoad *load; JsonReader json; int table; bool has_row; Value *values; bool *given; Arena *arena; ErrText *text; } RowLine;

static Err say_json(const RowLine *line) {
  ErrText text;
  Err err = json_say_error(&line->json, &text);
  return say(line->load, err, line->text, "%s", text.text);
}

static Err read_field(RowLine *line, const Schema *schema, const TableDef *def) {
  Str name;
  TRY(json_text(&line->json, line->arena, &name));
  int column = schema_find_column(def, name);
  if (column < 0) return say(line->load, ERR_FORMAT, line->text, "table " STR_FMT " has no field " STR_FMT, STR_ARG(def->name), STR_ARG(name));
  if (line->given[column]) return say(line->load, ERR_FORMAT, line->text, STR_FMT " stands there twice", STR_ARG(name));
  line->given[column] = true;
  ValueProblems problems = {.arena = line->arena};
  Err err = value_read_json(&schema->types, def->columns[column].type, &line->json, name, &problems, &line->values[column]);
  if (err != ERR_FORMAT) return err;
  if (line->json.event == JSON_ERROR) return say_json(line);
  if (problems.count == 0) return say(line->load, err, line->text, STR_FMT " cannot be read", STR_ARG(name));
  return say(line->load, err, line->text, STR_FMT ": " STR_FMT, STR_ARG(problems.items[0].path), STR_ARG(problems.items[0].message));
}

static Err read_fields(RowLine *line, const Schema *schema) {
  const TableDef *def = &schema->tables[line->table];
  line->values = ARENA_ARRAY(line->arena, Value, def->column_count);
  line->given = ARENA_ARRAY(line->arena, bool, def->column_count);
  if (!line->values || !line->given) return ERR_MEMORY;
  memset(line->given, 0, def->column_count * sizeof(bool));
  if (json_next(&line->json) != JSON_OBJECT) return say(line->load, ERR_FORMAT, line->text, "the row is no object");
  while (json_next(&line->json) == JSON_KEY) TRY(read_field(line, schema, def));
  if (line->json.event == JSON_ERROR) return say_json(line);
  for (uint16_t c = 0; c < def->column_count; c++)
    if (!line->given[c]) return say(line->load, ERR_FORMAT, line->text, "field " STR_FMT " of table " STR_FMT " is missing", STR_ARG(def->columns[c].name), STR_ARG(def->name));
  line->has_row = true;
  return ERR_NONE;
}

static Err read_member(RowLine *line, const Schema *schema) {
  if (json_text_is(&line->json, STR("table")) && line->table < 0) {
    Str name;
    if (json_next(&line->json) != JSON_TEXT) return say(line->load, ERR_FORMAT, line->text, "the table is no name");
    TRY(json_text(&line->json, line->arena, &name));
    line->table = schema_find_table(schema, name);
    return line->table >= 0 ? ERR_NONE : say(line->load, ERR_FORMAT, line->text, "there is no table " STR_FMT, STR_ARG(name));
  }
  if (json_text_is(&line->json, STR("row")) && line->table >= 0 && !line->has_row) return read_fields(line, schema);
  return say(line->load, ERR_FORMAT, line->text, "a row is {\"table\":…,\"row\":{…}}");
}

static Err put_state(Txn *txn, const TableDef *def, const Value *values, Arena *arena) {
  uint16_t *columns = ARENA_ARRAY(arena, uint16_t, def->column_count);
  if (!columns) return ERR_MEMORY;
  for (uint16_t c = 1; c < def->column_count; c++) columns[c - 1] = c;
  return txn_update(txn, SCHEMA_STATE_TABLE, (Value){.i = 0}, def->column_count - 1u, columns, values + 1);
}

static Err commit(LinesLoad *load, ErrText *out_text) {
  uint64_t number;
  UniqueClash clash;
  Txn *txn = db_txn(store_db(load->store));
  if (load->pending == 0) return ERR_NONE;
  Err err = txn_check_unique(txn, (TxnMark){0}, &clash);
  if (err == ERR_EXISTS) return say(load, ERR_FORMAT, out_text, "two rows of table " STR_FMT " are alike where they must not be", STR_ARG(store_schema(load->store)->tables[clash.table].name));
  if (err != ERR_NONE) return say(load, err, out_text, "%s", err_words(err));
  StoreInput input = {.name = STR("~load"), .now_us = (int64_t)load->now_us};
  store_wait(load->store);
  TRY(store_commit(load->store, &input, 1, &number, out_text));
  store_wait(load->store);
  load->pending = 0;
  return store_error(load->store, out_text);
}

static Err load_row(LinesLoad *load, Str bytes, Arena *arena, ErrText *out_text) {
  const Schema *schema = store_schema(load->store);
  RowLine line = {.load = load, .table = -1, .arena = arena, .text = out_text};
  Txn *txn = db_txn(store_db(load->store));
  json_open(&line.json, bytes);
  if (json_next(&line.json) != JSON_OBJECT) return line.json.event == JSON_ERROR ? say_json(&line) : say(load, ERR_FORMAT, out_text, "this is no row");
  while (json_next(&line.json) == JSON_KEY) TRY(read_member(&line, schema));
  if (line.json.event == JSON_ERROR || json_next(&line.json) != JSON_END) return say_json(&line);
  if (!line.has_row) return say(load, ERR_FORMAT, out_text, "there is no row");
  const TableDef *def = &schema->tables[line.table];
  Err err = line.table == SCHEMA_STATE_TABLE ? put_state(txn, def, line.values, arena) : txn_insert(txn, (uint16_t)line.table, line.values);
  if (err == ERR_EXISTS) return say(load, ERR_FORMAT, out_text, "table " STR_FMT " has a row with this key already", STR_ARG(def->name));
  if (err != ERR_NONE) return say(load, err, out_text, "%s", err_words(err));
  load->rows++;
  load->pending++;
  return load->pending >= LINES_BATCH ? commit(load, out_text) : ERR_NONE;
}

Err lines_load_line(LinesLoad *load, Str line, ErrText *out_text) {
  Arena arena;
  load->line++;
  if (out_text) out_text->text[0] = 0;
  if (line.len > LINES_LINE_BYTES_MAX) return say(load, ERR_LIMIT, out_text, "more than %d bytes in a line", LINES_LINE_BYTES_MAX);
  arena_init(&arena, 0);
  Err err = load->line == 1 ? load_head(load, line, &arena, out_text) : load_row(load, line, &arena, out_text);
  if (err != ERR_NONE && out_text && !out_text->text[0]) err = say(load, err, out_text, "%s", err_words(err));
  arena_free(&arena);
  return err;
}

// ---- references -------------------------------------------------------------------------------
static Err check_reference(const Reader *reader, TypeId type, Value value, bool *out_leads) {
  const TypeTable *types = &reader_schema(reader)->types;
  *out_leads = true;
  if (types->types[type].kind == TYPE_OPTIONAL) {
    if (!value_is_some(types, type, value)) return ERR_NONE;
    value = value_open(types, type, value);
    type = types->types[type].of;
  }
  Row row;
  if (types->types[type].kind == TYPE_REF) *out_leads = row_find(reader, types->types[type].of, value, &row);
  return ERR_NONE;
}

static bool is_reference(const TypeTable *types, TypeId type) {
  if (types->types[type].kind == TYPE_OPTIONAL) type = types->types[type].of;
  return types->types[type].kind == TYPE_REF;
}

static Err check_column(const Reader *reader, uint16_t table, uint16_t column, ErrText *out_text) {
  const TableDef *def = &reader_schema(reader)->tables[table];
  Range all = {.table = table, .index = SCHEMA_NO_INDEX};
  Arena arena, row;
  Cursor *cursor = NULL;
  arena_init(&arena, 0);
  arena_init(&row, 0);
  Err err = cursor_open(reader, &all, &arena, &cursor);
  while (err == ERR_NONE && cursor_next(cursor)) {
    Value value;
    bool leads = true;
    arena_reset(&row);
    err = cursor_column(cursor, column, &row, &value);
    if (err == ERR_NONE) err = check_reference(reader, def->columns[column].type, value, &leads);
    if (err == ERR_NONE && !leads) err = err_say(ERR_FORMAT, out_text, "a " STR_FMT " of table " STR_FMT " leads to no row", STR_ARG(def->columns[column].name), STR_ARG(def->name));
  }
  arena_free(&arena);
  arena_free(&row);
  return err;
}

Err lines_load_end(LinesLoad *load, ErrText *out_text) {
  if (load->line == 0) return err_say(ERR_FORMAT, out_text, "the dump is empty");
  TRY(commit(load, out_text));
  const Schema *schema = store_schema(load->store);
  const Reader *reader = txn_reader(db_txn(store_db(load->store)));
  for (uint16_t t = 1; t < schema->table_count; t++)
    for (uint16_t c = 0; c < schema->tables[t].column_count; c++)
      if (is_reference(&schema->types, schema->tables[t].columns[c].type)) TRY(check_column(reader, t, c, out_text));
  return ERR_NONE;
}
