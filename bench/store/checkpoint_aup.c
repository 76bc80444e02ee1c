// What a checkpoint does to inputs, and how long waking takes, on real files.
// usage: checkpoint_aup DIRECTORY MIB
//   Fills a store with about so many MiB of pages without a checkpoint; then commits 64 updates at a time, first as a measure
//   without and then during a checkpoint of all of it; then wakes from the page file, and once from the log alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/bench.h"
#include "runtime/store/store.h"

enum { T_INT, T_TEXT, TYPES, ROWS_TABLE = 1, CHANGES = 64, TEXT_BYTES = 80 };
static const Type TYPE_LIST_ALL[TYPES] = {[T_INT] = {.kind = TYPE_INT}, [T_TEXT] = {.kind = TYPE_TEXT}};
static const TypeId KEYS[] = {T_INT, T_INT};
static const Str NAMES[] = {STR("state"), STR("Row")};
static const ColumnDef STATE[] = {{.name = STR("key"), .type = T_INT}};
static const ColumnDef COLUMNS[] = {{.name = STR("id"), .type = T_INT}, {.name = STR("value"), .type = T_INT}, {.name = STR("text"), .type = T_TEXT}};
static const uint16_t KEY[] = {0}, VALUE[] = {1};
static const TableDef TABLES[] = {{.name = STR("state"), .column_count = 1, .columns = STATE, .key_count = 1, .key = KEY},
  {.name = STR("Row"), .column_count = 3, .columns = COLUMNS, .key_count = 1, .key = KEY}};
static const Schema SCHEMA = {.types = {.types = TYPE_LIST_ALL, .count = TYPES, .table_keys = KEYS, .table_names = NAMES, .table_count = 2},
  .table_count = 2, .tables = TABLES};

static void check(Err err, const ErrText *text) {
  if (err) bench_fail("%s: %s", err_name(err), text->text);
}

static Store *open_store(const char *dir, uint64_t checkpoint_bytes, double *out_seconds) {
  StoreOptions options = {.files = file_system_real(), .dir = dir, .checkpoint_bytes = checkpoint_bytes};
  Store *store;
  ErrText text = {{0}};
  uint64_t start = bench_now_ns();
  check(store_open(&options, &store, &text), &text);
  *out_seconds = (double)(bench_now_ns() - start) / 1e9;
  return store;
}

static void commit(Store *store) {
  StoreInput input = {.name = STR("add"), .now_us = 1700000000000000};
  ErrText text = {{0}};
  uint64_t number;
  check(store_commit(store, &input, 1, &number, &text), &text);
  store_wait(store);
}

static int64_t fill(Store *store, uint64_t bytes) {
  char text[TEXT_BYTES];
  ErrText none = {{0}};
  int64_t id = 0;
  memset(text, 'x', sizeof text);
  while (db_bytes(store_db(store)) < bytes) {
    for (unsigned i = 0; i < 20000; i++) check(txn_insert(db_txn(store_db(store)), ROWS_TABLE, (Value[]){{.i = ++id}, {.i = 0}, {.text = {text, sizeof text}}}), &none);
    commit(store);
  }
  return id;
}

typedef struct Result { double rate, p50_ms, p99_ms, most_ms, seconds; } Result;

// Until the time is over, and then as long as `until` says.
static Result update_all(Store *store, int64_t rows, double seconds, bool until_checkpoint) {
  static BenchHistogram latency;
  memset(&latency, 0, sizeof latency);
  BenchRandom random = {.state = 7};
  ErrText none = {{0}};
  uint64_t start = bench_now_ns(), now = start, most = 0;
  uint64_t checkpoint = store_info(store)->checkpoint;
  while (until_checkpoint ? store_info(store)->checkpoint == checkpoint : (double)(now - start) < seconds * 1e9) {
    for (unsigned i = 0; i < CHANGES; i++) {
      Value value = {.i = (int64_t)now};
      check(txn_update(db_txn(store_db(store)), ROWS_TABLE, (Value){.i = 1 + (int64_t)bench_random_below(&random, (uint64_t)rows)}, 1, VALUE, &value), &none);
    }
    commit(store);
    uint64_t done = bench_now_ns();
    if (done - now > most) most = done - now;
    bench_histogram_add(&latency, (done - now) / 100);
    now = done;
    if (store_info(store)->checkpoint_err != ERR_NONE) bench_fail("the checkpoint failed: %s", err_name(store_info(store)->checkpoint_err));
  }
  double took = (double)(now - start) / 1e9;
  return (Result){.rate = (double)latency.count / took, .p50_ms = (double)bench_histogram_at(&latency, 0.5) / 1e4, .p99_ms = (double)bench_histogram_at(&latency, 0.99) / 1e4,
                  .most_ms = (double)most / 1e6, .seconds = took};
}

static void print(const char *name, Result result) {
  printf("{\"name\":\"%s\",\"commits_s\":%.0f,\"p50_ms\":%.2f,\"p99_ms\":%.2f,\"most_ms\":%.1f,\"seconds\":%.2f}\n", name, result.rate, result.p50_ms, result.p99_ms, result.most_ms, result.seconds);
  fflush(stdout);
}

int main(int count, char **words) {
  if (count != 3) bench_fail("usage: checkpoint_aup DIRECTORY MIB");
  double seconds, log_seconds;
  ErrText text = {{0}};
  uint8_t hash[STORE_HASH_BYTES] = {0};
  Store *store = open_store(words[1], UINT64_MAX, &seconds);
  check(store_set_schema(store, &SCHEMA, hash, NULL, &text), &text);
  int64_t rows = fill(store, strtoull(words[2], NULL, 10) << 20);
  print("without", update_all(store, rows, 2, false));
  store_abandon(store);
  store = open_store(words[1], 0, &log_seconds);
  uint64_t bytes = db_bytes(store_db(store)), log_bytes = store_info(store)->log_bytes;
  print("during", update_all(store, rows, 0, true));
  check(store_close(store, &text), &text);
  store = open_store(words[1], UINT64_MAX, &seconds);
  uint64_t loaded = db_bytes(store_db(store));
  if (reader_row_count(txn_reader(db_txn(store_db(store))), ROWS_TABLE) != (uint64_t)rows) bench_fail("rows are missing");
  printf("{\"name\":\"waking\",\"mib\":%.0f,\"loaded_mib\":%.0f,\"from_pages_s\":%.2f,\"s_a_gib\":%.2f,\"from_log_s\":%.2f,\"log_mib\":%.0f}\n", (double)bytes / (1 << 20), (double)loaded / (1 << 20), seconds,
         seconds / ((double)bytes / (1 << 30)), log_seconds, (double)log_bytes / (1 << 20));
  check(store_close(store, &text), &text);
  return 0;
}
