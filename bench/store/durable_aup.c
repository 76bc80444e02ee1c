// Durable commits through runtime/store: 64 inputs a commit, each changing one row, encoded, written and synced.
// usage: durable_aup inline|thread DIRECTORY SECONDS
//   inline  written and synced inside store_commit      thread  by the store's thread, waited for
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/store/durable.h"
#include "runtime/store/store.h"

enum { T_INT, TYPES, TABLE_ROWS = 1 };
static const Type TYPE_LIST_ALL[TYPES] = {[T_INT] = {.kind = TYPE_INT}};
static const TypeId KEYS[] = {T_INT, T_INT};
static const Str NAMES[] = {STR("state"), STR("Row")};
static const ColumnDef STATE[] = {{.name = STR("key"), .type = T_INT}};
static const ColumnDef COLUMNS[] = {{.name = STR("id"), .type = T_INT}, {.name = STR("value"), .type = T_INT}};
static const uint16_t KEY[] = {0}, VALUE[] = {1};
static const TableDef TABLES[] = {{.name = STR("state"), .column_count = 1, .columns = STATE, .key_count = 1, .key = KEY},
  {.name = STR("Row"), .column_count = 2, .columns = COLUMNS, .key_count = 1, .key = KEY}};
static const Schema SCHEMA = {.types = {.types = TYPE_LIST_ALL, .count = TYPES, .table_keys = KEYS, .table_names = NAMES, .table_count = 2},
  .table_count = 2, .tables = TABLES};

typedef struct Durable { Store *store; Arena arena; StoreInput inputs[DURABLE_CHANGES]; } Durable;

static void check(Err err, const ErrText *text) {
  if (err) bench_fail("%s: %s", err_name(err), text->text);
}

static void change(Durable *durable, uint32_t id) {
  Txn *txn = db_txn(store_db(durable->store));
  Value key = {.i = id}, value;
  Row row;
  ErrText none = {{0}};
  txn_mark(txn);  // every input can be undone by itself
  if (!row_find(txn_reader(txn), TABLE_ROWS, key, &row)) bench_fail("row %u is missing", id);
  check(row_column(&row, VALUE[0], &durable->arena, &value), &none);
  value.i++;
  check(txn_update(txn, TABLE_ROWS, key, 1, VALUE, &value), &none);
}

static void commit(void *context, const uint32_t *rows) {
  Durable *durable = context;
  ErrText text = {{0}};
  uint64_t number;
  for (unsigned i = 0; i < DURABLE_CHANGES; i++) change(durable, rows[i]);
  check(store_commit(durable->store, durable->inputs, DURABLE_CHANGES, &number, &text), &text);
  store_wait(durable->store);
  if (store_durable_number(durable->store) != number) bench_fail("commit %llu is not durable", (unsigned long long)number);
}

static void fill(Durable *durable) {
  ErrText text = {{0}};
  uint64_t number;
  for (uint32_t id = 0; id < DURABLE_ROWS; id++)
    check(txn_insert(db_txn(store_db(durable->store)), TABLE_ROWS, (Value[]){{.i = id}, {.i = 0}}), &text);
  check(store_commit(durable->store, durable->inputs, 1, &number, &text), &text);
  store_wait(durable->store);
}

// Opening the store again tells what was written.
static void print_bytes(Durable *durable, const StoreOptions *options) {
  ErrText text = {{0}};
  check(store_open(options, &durable->store, &text), &text);
  const StoreInfo *info = store_info(durable->store);
  printf("{\"bytes\":%.1f}\n", (double)info->log_bytes / (double)(info->records ? info->records : 1));
  check(store_close(durable->store, &text), &text);
}

int main(int count, char **words) {
  if (count != 4) bench_fail("usage: durable_aup inline|thread DIRECTORY SECONDS");
  Durable *durable = bench_alloc(sizeof *durable);
  ErrText text = {{0}};
  arena_init(&durable->arena, 0);
  StoreOptions options = {.files = file_system_real(), .dir = words[2], .sync_inline = strcmp(words[1], "inline") == 0, .checkpoint_bytes = UINT64_MAX};  // commits alone
  check(store_open(&options, &durable->store, &text), &text);
  uint8_t hash[STORE_HASH_BYTES] = {0};
  check(store_set_schema(durable->store, &SCHEMA, hash, NULL, &text), &text);
  for (unsigned i = 0; i < DURABLE_CHANGES; i++)  // as the counter's `add` is remembered
    durable->inputs[i] = (StoreInput){.name = STR("add"), .now_us = 1700000000000000, .seed = i, .args = STR("\x02\x01")};
  fill(durable);
  durable_run(&(DurableWay){.context = durable, .commit = commit}, strtod(words[3], NULL));
  check(store_close(durable->store, &text), &text);
  print_bytes(durable, &options);
  return 0;
}
