// The in-memory half of bench/store through runtime/table, as the app room uses it: changes through the Txn, a seal and a
// new snapshot every 64 inputs, reads from a snapshot.
#include <stdio.h>

#include "bench/store/row.h"
#include "runtime/table/batch.h"

enum { T_INT, T_TEXT, T_BOOL, T_DECIMAL, T_TIME, TYPES };
enum { COLUMN_ID, COLUMN_A, COLUMN_B, COLUMN_AMOUNT, COLUMN_FLAG, COLUMN_AT, COLUMN_NAME, COLUMN_NOTE, COLUMNS };
enum { TABLE_ROWS = 1, RANGES = 100000 };

static const Type TYPE_LIST_ALL[TYPES] = {[T_INT] = {.kind = TYPE_INT}, [T_TEXT] = {.kind = TYPE_TEXT}, [T_BOOL] = {.kind = TYPE_BOOL},
  [T_DECIMAL] = {.kind = TYPE_DECIMAL, .scale = 2}, [T_TIME] = {.kind = TYPE_TIME}};
static const TypeId KEYS[] = {T_INT, T_INT};
static const Str NAMES[] = {STR("state"), STR("Row")};
static const ColumnDef STATE[] = {{.name = STR("key"), .type = T_INT}};
static const ColumnDef COLUMN_LIST[COLUMNS] = {{.name = STR("id"), .type = T_INT}, {.name = STR("a"), .type = T_INT}, {.name = STR("b"), .type = T_INT},
  {.name = STR("amount"), .type = T_DECIMAL}, {.name = STR("flag"), .type = T_BOOL}, {.name = STR("at"), .type = T_TIME},
  {.name = STR("name"), .type = T_TEXT}, {.name = STR("note"), .type = T_TEXT}};
static const uint16_t KEY[] = {0};
static const KeptDef KEPT[] = {{COLUMN_AMOUNT, KEPT_SUM}};
static const TableDef TABLES[] = {{.name = STR("state"), .column_count = 1, .columns = STATE, .key_count = 1, .key = KEY},
  {.name = STR("Row"), .column_count = COLUMNS, .columns = COLUMN_LIST, .key_count = 1, .key = KEY, .kept_count = 1, .kept = KEPT}};
static const Schema SCHEMA = {.types = {.types = TYPE_LIST_ALL, .count = TYPES, .table_keys = KEYS, .table_names = NAMES, .table_count = 2},
  .table_count = 2, .tables = TABLES};

typedef struct Rows {
  RowPlan plan;
  Db *db;
  Snapshot *snapshot;
  uint64_t commit;
  int64_t fresh;
  Arena arena;
} Rows;

static void check(Err err, const char *what) {
  if (err) bench_fail("%s: %s", what, err_name(err));
}

static void publish(Rows *rows) {
  txn_seal(db_txn(rows->db), ++rows->commit);
  if (rows->snapshot) snapshot_release(rows->snapshot);
  rows->snapshot = db_snapshot_take(rows->db);
  if (!rows->snapshot) bench_fail("no memory for a snapshot");
}

// ---- changes ----------------------------------------------------------------------------------
static int64_t insert_all(void *context) {
  Rows *rows = context;
  Txn *txn = db_txn(rows->db);
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    BenchRow row;
    row_make(rows->plan.order[i], &row);
    Value columns[COLUMNS] = {[COLUMN_ID] = {.i = row.id}, [COLUMN_A] = {.i = row.a}, [COLUMN_B] = {.i = row.b}, [COLUMN_AMOUNT] = {.dec = row.amount},
      [COLUMN_FLAG] = {.i = row.flag}, [COLUMN_AT] = {.i = row.at}, [COLUMN_NAME] = {.text = {row.name, row.name_len}}, [COLUMN_NOTE] = {.text = {row.note, row.note_len}}};
    check(txn_insert(txn, TABLE_ROWS, columns), "insert");
    if (i % ROW_BATCH == ROW_BATCH - 1) publish(rows);
  }
  publish(rows);
  return (int64_t)reader_row_count(snapshot_reader(rows->snapshot), TABLE_ROWS);
}

// What making the rows costs by itself, to be taken off.
static int64_t make_all(void *context) {
  Rows *rows = context;
  int64_t sum = 0;
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    BenchRow row;
    row_make(rows->plan.order[i], &row);
    sum += row.a;
  }
  return sum;
}

static int64_t update(Rows *rows, bool one_input_each) {
  static const uint16_t COLUMN[] = {COLUMN_A};
  Txn *txn = db_txn(rows->db);
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    if (one_input_each) txn_mark(txn);
    Value value = {.i = rows->fresh++};  // never what is there: writing that would cost nothing
    check(txn_update(txn, TABLE_ROWS, (Value){.i = (int64_t)rows->plan.probes[i] + 1}, 1, COLUMN, &value), "update");
    if (i % ROW_BATCH == ROW_BATCH - 1) publish(rows);
  }
  publish(rows);
  return 0;
}
static int64_t update_all(void *context) { return update(context, false); }
static int64_t update_marked(void *context) { return update(context, true); }

// ---- reads ------------------------------------------------------------------------------------
static int64_t read_one(void *context) {
  Rows *rows = context;
  const Reader *reader = snapshot_reader(rows->snapshot);
  int64_t sum = 0;
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    Row row;
    Value value;
    if (!row_find(reader, TABLE_ROWS, (Value){.i = (int64_t)rows->plan.probes[i] + 1}, &row)) bench_fail("row %u is missing", rows->plan.probes[i]);
    check(row_column(&row, COLUMN_A, &rows->arena, &value), "column");
    sum += value.i;
  }
  return sum;
}

static int64_t read_whole(void *context) {
  Rows *rows = context;
  const Reader *reader = snapshot_reader(rows->snapshot);
  int64_t sum = 0;
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    Row row;
    Value values[COLUMNS];
    if (!row_find(reader, TABLE_ROWS, (Value){.i = (int64_t)rows->plan.probes[i] + 1}, &row)) bench_fail("row %u is missing", rows->plan.probes[i]);
    for (uint16_t c = 0; c < COLUMNS; c++) check(row_column(&row, c, &rows->arena, &values[c]), "column");
    sum += values[COLUMN_A].i + (int64_t)values[COLUMN_NAME].text.len + values[COLUMN_NOTE].text.ptr[0];
  }
  return sum;
}

static int64_t scan(void *context) {
  Rows *rows = context;
  Range range = {.table = TABLE_ROWS, .index = SCHEMA_NO_INDEX};
  Cursor *cursor = NULL;
  ArenaMark mark = arena_mark(&rows->arena);
  check(cursor_open(snapshot_reader(rows->snapshot), &range, &rows->arena, &cursor), "cursor");
  int64_t sum = 0;
  LeafBatch batch;
  while (cursor_batch(cursor, &batch)) {
    BatchColumn column;
    if (!batch_column(&batch, COLUMN_A, &column)) bench_fail("the column is no array");
    const int64_t *values = column.values;
    if (column.stride != sizeof *values) bench_fail("stride %u", column.stride);
    for (uint32_t i = 0; i < batch.count; i++) sum += values[i];
  }
  arena_release(&rows->arena, mark);
  return sum;
}

static int64_t count_all(void *context) {
  Rows *rows = context;
  int64_t sum = 0;
  for (int i = 0; i < RANGES; i++) sum += (int64_t)reader_row_count(snapshot_reader(rows->snapshot), TABLE_ROWS);
  return sum / RANGES;
}

static int64_t count_range(void *context) {
  Rows *rows = context;
  int64_t sum = 0;
  for (uint32_t i = 0; i < RANGES; i++) {
    int64_t from = rows->plan.probes[i % rows->plan.count];
    Range range = {.table = TABLE_ROWS, .index = SCHEMA_NO_INDEX, .has_low = true, .low_inclusive = true, .low = {.i = from},
      .has_high = true, .high = {.i = from + rows->plan.count / 10}};
    sum += (int64_t)range_count(snapshot_reader(rows->snapshot), &range);
  }
  return sum / RANGES;
}

static int64_t sum_range(void *context) {
  Rows *rows = context;
  int64_t sum = 0;
  for (uint32_t i = 0; i < RANGES; i++) {
    int64_t from = rows->plan.probes[i % rows->plan.count];
    Range range = {.table = TABLE_ROWS, .index = SCHEMA_NO_INDEX, .has_low = true, .low_inclusive = true, .low = {.i = from},
      .has_high = true, .high = {.i = from + rows->plan.count / 10}};
    Summary summary;
    if (!range_summary(snapshot_reader(rows->snapshot), &range, COLUMN_AMOUNT, &summary)) bench_fail("the sum is not kept");
    sum += (int64_t)summary.sum / RANGES;
  }
  return sum;
}

int main(int count, char **words) {
  Rows *rows = bench_alloc(sizeof *rows);
  rows->plan = row_plan(count, words);
  uint32_t n = rows->plan.count;
  arena_init(&rows->arena, 0);
  check(db_open(&SCHEMA, 0, &rows->db), "open");
  bench_run((BenchCase){"make", n, 1, false}, make_all, rows);
  bench_run((BenchCase){"insert", n, 1, false}, insert_all, rows);
  row_print_memory(&rows->plan, db_bytes(rows->db));
  bench_run((BenchCase){"read_one", n, 3, false}, read_one, rows);
  bench_run((BenchCase){"read_whole", n, 3, false}, read_whole, rows);
  bench_run((BenchCase){"scan", n, 5, true}, scan, rows);
  bench_run((BenchCase){"count_all", RANGES, 3, true}, count_all, rows);
  bench_run((BenchCase){"count_range", RANGES, 3, true}, count_range, rows);
  bench_run((BenchCase){"sum_range", RANGES, 3, true}, sum_range, rows);
  bench_run((BenchCase){"update", n, 3, false}, update_all, rows);
  bench_run((BenchCase){"update_inputs", n, 3, false}, update_marked, rows);
  snapshot_release(rows->snapshot);
  db_free(rows->db);
  arena_free(&rows->arena);
  return 0;
}
