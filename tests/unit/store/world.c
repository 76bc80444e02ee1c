#include "tests/unit/store/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/table/tree.h"

const char WORLD_DIR[] = "app";

enum { T_INT, T_TEXT, T_OPT, TYPES };
static const Type TYPE_LIST_ALL[TYPES] = {{.kind = TYPE_INT}, {.kind = TYPE_TEXT}, {.kind = TYPE_OPTIONAL, .of = T_INT}};
static const TypeId KEYS[] = {T_INT, T_INT};
static const Str NAMES[] = {STR("state"), STR("Row")};
static const ColumnDef STATE[] = {{.name = STR("key"), .type = T_INT}, {.name = STR("total"), .type = T_INT}};
static const ColumnDef ROW[] = {{.name = STR("id"), .type = T_INT}, {.name = STR("text"), .type = T_TEXT}, {.name = STR("more"), .type = T_OPT}};
static const uint16_t KEY[] = {0};
static const IndexColumn BY_TEXT[] = {{1, false}};
static const IndexDef INDEXES[] = {{.column_count = 1, .columns = BY_TEXT, .condition = 0xFFFF}};
#define TABLES(count) { \
  {.name = STR("state"), .column_count = 2, .columns = STATE, .key_count = 1, .key = KEY}, \
  {.name = STR("Row"), .column_count = (count), .columns = ROW, .key_count = 1, .key = KEY, .index_count = 1, .indexes = INDEXES}}
static const TableDef TABLES_1[] = TABLES(2), TABLES_2[] = TABLES(3);
#define SCHEMA(of) { \
  .types = {.types = TYPE_LIST_ALL, .count = TYPES, .table_keys = KEYS, .table_names = NAMES, .table_count = 2}, .table_count = 2, .tables = (of)}
static const Schema SCHEMAS[] = {SCHEMA(TABLES_1), SCHEMA(TABLES_2)};

const Schema *world_schema(unsigned version) { return &SCHEMAS[version - 1]; }

uint64_t world_checkpoint_bytes = 3000;

Err world_open(FileSystem *fs, uint64_t segment_bytes, bool inline_sync, Store **out_store, ErrText *out_text) {
  StoreOptions options = {.files = fs, .dir = WORLD_DIR, .segment_bytes = segment_bytes, .sync_inline = inline_sync, .checkpoint_bytes = inline_sync ? world_checkpoint_bytes : 0};
  return store_open(&options, out_store, out_text);
}

Err world_set_schema(Store *store, unsigned version, ErrText *out_text) {
  static const ReshapeColumn STATE_FROM[] = {{.from = 0}, {.from = 1}};
  ReshapeColumn row_from[] = {{.from = 0}, {.from = 1}, {.from = RESHAPE_NEW, .value = {.opt = {7, 1}}}};
  ReshapeTable tables[] = {{.from = 0, .columns = STATE_FROM}, {.from = 1, .columns = row_from}};
  uint8_t hash[STORE_HASH_BYTES] = {(uint8_t)version};
  bool is_new = store_info(store)->is_new;
  if (!is_new && store_schema(store)->tables[1].column_count == 3) row_from[2] = (ReshapeColumn){.from = 2};
  return store_set_schema(store, world_schema(version), hash, is_new ? NULL : tables, out_text);
}

static Err apply(Txn *txn, int64_t id) {
  char text[64];
  int len = snprintf(text, sizeof text, "input %lld%.*s", (long long)id, (int)(id % 40), "........................................");
  Value row[3] = {{.i = id}, {.text = {text, (size_t)len}}, {.opt = {id, 1}}};
  Row state;
  Value total;
  uint16_t column = 1;
  TRY(txn_insert(txn, 1, row));
  if (!row_find(txn_reader(txn), SCHEMA_STATE_TABLE, (Value){.i = 0}, &state)) return ERR_NOT_FOUND;
  TRY(row_column(&state, 1, NULL, &total));
  total.i++;
  return txn_update(txn, SCHEMA_STATE_TABLE, (Value){.i = 0}, 1, &column, &total);
}

Err world_commit(Store *store, int64_t first, unsigned count, ErrText *out_text) {
  StoreInput inputs[64];
  Txn *txn = db_txn(store_db(store));
  Err err = ERR_NONE;
  uint64_t number;
  for (unsigned i = 0; i < count && err == ERR_NONE; i++) {
    inputs[i] = (StoreInput){.name = STR("add"), .caller = STR("me"), .now_us = 1000 * (first + i), .seed = (uint64_t)first, .args = STR("\x01")};
    err = apply(txn, first + i);
  }
  if (err == ERR_NONE) err = store_commit(store, inputs, count, &number, out_text);
  if (err != ERR_NONE) {
    txn_undo(txn, (TxnMark){0});
    return err;
  }
  store_wait(store);
  if (store_durable_number(store) < number) return store_error(store, out_text);
  return ERR_NONE;
}

// Also for programs without a test library.
static void must(bool holds, const char *what, int64_t id) {
  if (holds) return;
  fprintf(stderr, "world: %s (%lld)\n", what, (long long)id);
  abort();
}

int64_t world_count(Store *store) {
  if (!store_db(store)) return 0;
  table__assert_db(store_db(store));
  const Reader *reader = txn_reader(db_txn(store_db(store)));
  uint64_t rows = reader_row_count(reader, 1);
  Row row;
  Value value;
  must(row_find(reader, SCHEMA_STATE_TABLE, (Value){.i = 0}, &row) && row_column(&row, 1, NULL, &value) == ERR_NONE, "no counter", 0);
  must((uint64_t)value.i == rows, "the counter and the rows differ", value.i);
  for (uint64_t id = 1; id <= rows; id++) {
    must(row_find(reader, 1, (Value){.i = (int64_t)id}, &row), "an input is missing", (int64_t)id);
    char text[64];
    int len = snprintf(text, sizeof text, "input %lld%.*s", (long long)id, (int)(id % 40), "........................................");
    must(row_column(&row, 1, NULL, &value) == ERR_NONE && str_equal(value.text, (Str){text, (size_t)len}), "another text", (int64_t)id);
    if (store_schema(store)->tables[1].column_count < 3) continue;
    must(row_column(&row, 2, NULL, &value) == ERR_NONE && value.opt.has && (value.opt.i == 7 || value.opt.i == (int64_t)id), "another number", (int64_t)id);
  }
  return (int64_t)rows;
}
