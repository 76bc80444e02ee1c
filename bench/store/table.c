// Tables in memory against SQLite's `:memory:`, in one run, turn by turn: a million rows of an int key and seven more int
// columns, in random order. What both do is the same work through their C interface, with prepared statements there.
//
//   table [ROWS]     prints ns a row of each, the ratio, and the memory a row
//
// Build: see bench/store/README.md.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/table/batch.h"
#include "runtime/table/table.h"

enum { COLUMNS = 8, BATCH = 64 };

// ---- the same table twice ---------------------------------------------------------------------
static const Type TYPES[] = {{.kind = TYPE_INT}};
static const TypeId KEYS[] = {0, 0};
static const Str NAMES[] = {STR("state"), STR("T")};
static const ColumnDef STATE[] = {{.name = STR("key"), .type = 0}};
static const ColumnDef COLUMN_DEFS[COLUMNS] = {{.name = STR("id")}, {.name = STR("a")}, {.name = STR("b")}, {.name = STR("c")}, {.name = STR("d")}, {.name = STR("e")}, {.name = STR("f")}, {.name = STR("g")}};
static const uint16_t KEY[] = {0};
static const TableDef TABLES[] = {
  {.name = STR("state"), .column_count = 1, .columns = STATE, .key_count = 1, .key = KEY},
  {.name = STR("T"), .column_count = COLUMNS, .columns = COLUMN_DEFS, .key_count = 1, .key = KEY},
};
static const Schema SCHEMA = {.types = {.types = TYPES, .count = 1, .table_keys = KEYS, .table_names = NAMES, .table_count = 2}, .table_count = 2, .tables = TABLES};

typedef struct Sides { Db *db; sqlite3 *sql; sqlite3_stmt *insert, *read, *update, *sum, *count, *range; int64_t rows; uint32_t *order; uint64_t number; } Sides;

static void must(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "table: %s failed\n", what);
  exit(1);
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static sqlite3_stmt *prepare(Sides *sides, const char *text) {
  sqlite3_stmt *statement;
  must(sqlite3_prepare_v2(sides->sql, text, -1, &statement, NULL) == SQLITE_OK, text);
  return statement;
}

static void open_sides(Sides *sides) {
  must(db_open(&SCHEMA, 0, &sides->db) == ERR_NONE, "open");
  must(sqlite3_open(":memory:", &sides->sql) == SQLITE_OK, "open");
  must(sqlite3_exec(sides->sql, "create table t(id integer primary key,a int,b int,c int,d int,e int,f int,g int)", NULL, NULL, NULL) == SQLITE_OK, "create");
  sides->insert = prepare(sides, "insert into t values(?,?,?,?,?,?,?,?)");
  sides->read = prepare(sides, "select a,b,c,d,e,f,g from t where id=?");
  sides->update = prepare(sides, "update t set c=? where id=?");
  sides->sum = prepare(sides, "select sum(d) from t");
  sides->count = prepare(sides, "select count(*) from t");
  sides->range = prepare(sides, "select count(*) from t where id between ? and ?");
}

static void shuffle(Sides *sides, uint64_t seed) {
  for (int64_t i = 0; i < sides->rows; i++) sides->order[i] = (uint32_t)i;
  for (int64_t i = sides->rows - 1; i > 0; i--) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    int64_t j = (int64_t)((seed >> 33) % (uint64_t)(i + 1));
    uint32_t swap = sides->order[i];
    sides->order[i] = sides->order[j];
    sides->order[j] = swap;
  }
}

// ---- ours -------------------------------------------------------------------------------------
static int64_t sink;

static void our_insert(Sides *sides) {
  Txn *txn = db_txn(sides->db);
  for (int64_t i = 0; i < sides->rows; i++) {
    Value row[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) row[c].i = sides->order[i] + c;
    must(txn_insert(txn, 1, row) == ERR_NONE, "insert");
    if (i % BATCH == BATCH - 1) txn_seal(txn, ++sides->number);
  }
  txn_seal(txn, ++sides->number);
}

static void our_read(Sides *sides) {
  const Reader *reader = txn_reader(db_txn(sides->db));
  for (int64_t i = 0; i < sides->rows; i++) {
    Row row;
    Value value;
    must(row_find(reader, 1, (Value){.i = sides->order[i]}, &row), "find");
    for (uint16_t c = 1; c < COLUMNS; c++) {
      must(row_column(&row, c, NULL, &value) == ERR_NONE, "column");
      sink += value.i;
    }
  }
}

static void our_update(Sides *sides) {
  Txn *txn = db_txn(sides->db);
  uint16_t column = 3;
  for (int64_t i = 0; i < sides->rows; i++) {
    Value value = {.i = i};
    must(txn_update(txn, 1, (Value){.i = sides->order[i]}, 1, &column, &value) == ERR_NONE, "update");
    if (i % BATCH == BATCH - 1) txn_seal(txn, ++sides->number);
  }
  txn_seal(txn, ++sides->number);
}

static void our_sum(Sides *sides) {
  Arena arena;
  arena_init(&arena, 0);
  Range all = {.table = 1, .index = SCHEMA_NO_INDEX};
  Cursor *cursor = NULL;
  LeafBatch batch;
  int64_t sum = 0;
  Snapshot *snapshot = db_snapshot_take(sides->db);  // as a view reads
  must(snapshot && cursor_open(snapshot_reader(snapshot), &all, &arena, &cursor) == ERR_NONE, "cursor");
  while (cursor_batch(cursor, &batch)) {
    BatchColumn column;
    must(batch_column(&batch, 4, &column), "column");
    const int64_t *values = column.values;
    for (uint32_t i = 0; i < batch.count; i++) sum += values[i];
  }
  sink += sum;
  snapshot_release(snapshot);
  arena_free(&arena);
}

static void our_range(Sides *sides) {
  for (int i = 0; i < 1000; i++) {
    Range range = {.table = 1, .index = SCHEMA_NO_INDEX, .has_low = true, .has_high = true, .low_inclusive = true, .high_inclusive = true};
    range.low.i = sides->order[i] / 2;
    range.high.i = sides->rows / 2 + sides->order[i] / 2;
    sink += (int64_t)range_count(txn_reader(db_txn(sides->db)), &range);
  }
}

// ---- SQLite's ---------------------------------------------------------------------------------
static void sql_do(Sides *sides, const char *text) { must(sqlite3_exec(sides->sql, text, NULL, NULL, NULL) == SQLITE_OK, text); }

static void sql_step(sqlite3_stmt *statement) {
  must(sqlite3_step(statement) == SQLITE_DONE, "step");
  sqlite3_reset(statement);
}

static void sql_insert(Sides *sides) {
  for (int64_t i = 0; i < sides->rows; i++) {
    if (i % BATCH == 0) sql_do(sides, "begin");
    for (int c = 0; c < COLUMNS; c++) sqlite3_bind_int64(sides->insert, c + 1, sides->order[i] + c);
    sql_step(sides->insert);
    if (i % BATCH == BATCH - 1 || i + 1 == sides->rows) sql_do(sides, "commit");
  }
}

static void sql_read(Sides *sides) {
  sql_do(sides, "begin");
  for (int64_t i = 0; i < sides->rows; i++) {
    sqlite3_bind_int64(sides->read, 1, sides->order[i]);
    must(sqlite3_step(sides->read) == SQLITE_ROW, "row");
    for (int c = 0; c < COLUMNS - 1; c++) sink += sqlite3_column_int64(sides->read, c);
    sqlite3_reset(sides->read);
  }
  sql_do(sides, "commit");
}

static void sql_update(Sides *sides) {
  for (int64_t i = 0; i < sides->rows; i++) {
    if (i % BATCH == 0) sql_do(sides, "begin");
    sqlite3_bind_int64(sides->update, 1, i);
    sqlite3_bind_int64(sides->update, 2, sides->order[i]);
    sql_step(sides->update);
    if (i % BATCH == BATCH - 1 || i + 1 == sides->rows) sql_do(sides, "commit");
  }
}

static void sql_sum(Sides *sides) {
  must(sqlite3_step(sides->sum) == SQLITE_ROW, "sum");
  sink += sqlite3_column_int64(sides->sum, 0);
  sqlite3_reset(sides->sum);
}

static void sql_range(Sides *sides) {
  for (int i = 0; i < 10; i++) {  // a hundredth of ours
    sqlite3_bind_int64(sides->range, 1, sides->order[i] / 2);
    sqlite3_bind_int64(sides->range, 2, sides->rows / 2 + sides->order[i] / 2);
    must(sqlite3_step(sides->range) == SQLITE_ROW, "range");
    sink += sqlite3_column_int64(sides->range, 0);
    sqlite3_reset(sides->range);
  }
}

// ---- running ----------------------------------------------------------------------------------
typedef struct Work { const char *name; void (*ours)(Sides *), (*theirs)(Sides *); int rounds; double our_share, their_share; } Work;

static int by_value(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static void run(Sides *sides, const Work *work) {
  double ours[9], theirs[9];
  for (int i = 0; i < work->rounds; i++) {
    shuffle(sides, (uint64_t)i * 77 + 5);
    for (int side = 0; side < 2; side++) {
      bool us = (side + i) % 2 == 0;
      double start = now_ns();
      (us ? work->ours : work->theirs)(sides);
      (us ? ours : theirs)[i] = (now_ns() - start) / ((double)sides->rows * (us ? work->our_share : work->their_share));
    }
  }
  qsort(ours, (size_t)work->rounds, sizeof ours[0], by_value);
  qsort(theirs, (size_t)work->rounds, sizeof theirs[0], by_value);
  double a = ours[work->rounds / 2], b = theirs[work->rounds / 2];
  printf("%-28s %10.2f ns   (%.2f to %.2f)   SQLite %12.1f ns   %8.1f times\n", work->name, a, ours[0], ours[work->rounds - 1], b, b / a);
}

int main(int argc, char **argv) {
  Sides sides = {.rows = argc > 1 ? atoll(argv[1]) : 1000000};
  sides.order = malloc((size_t)sides.rows * sizeof sides.order[0]);
  must(sides.order != NULL && sides.rows >= 1000, "rows");
  open_sides(&sides);
  double all = 1.0, each = 1000.0 / (double)sides.rows;
  run(&sides, &(Work){"insert, random order", our_insert, sql_insert, 1, all, all});
  printf("memory a row                 %10.1f bytes of %d\n", (double)db_bytes(sides.db) / (double)sides.rows, 8 * COLUMNS);
  run(&sides, &(Work){"read 7 columns by key", our_read, sql_read, 5, all, all});
  run(&sides, &(Work){"update 1 column, 64 a batch", our_update, sql_update, 5, all, all});
  run(&sides, &(Work){"sum of a column", our_sum, sql_sum, 9, all, all});
  run(&sides, &(Work){"count of a key range", our_range, sql_range, 5, each, each / 100});
  fprintf(stderr, "%lld\n", (long long)sink);
  return 0;
}
