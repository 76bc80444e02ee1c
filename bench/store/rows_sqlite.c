// The same rows and questions in SQLite `:memory:`: prepared statements, the C API, a transaction every 64 changes.
#include <sqlite3.h>
#include <stdio.h>

#include "bench/store/row.h"

enum { RANGES = 20 };  // SQLite counts a range row by row

typedef struct Rows {
  RowPlan plan;
  sqlite3 *db;
  int64_t fresh;
  sqlite3_stmt *begin, *commit, *insert, *update, *read_one, *read_whole, *scan, *count_all, *count_range, *sum_range;
} Rows;

static sqlite3_stmt *prepare(Rows *rows, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v3(rows->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) bench_fail("%s: %s", sql, sqlite3_errmsg(rows->db));
  return statement;
}

static void step(Rows *rows, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) bench_fail("%s", sqlite3_errmsg(rows->db));
  sqlite3_reset(statement);
}

static void insert_row(Rows *rows, const BenchRow *row) {
  sqlite3_stmt *s = rows->insert;
  const int64_t numbers[] = {row->id, row->a, row->b, row->amount, row->flag, row->at};
  for (int i = 0; i < 6; i++) sqlite3_bind_int64(s, i + 1, numbers[i]);
  sqlite3_bind_text(s, 7, row->name, (int)row->name_len, SQLITE_STATIC);
  sqlite3_bind_text(s, 8, row->note, (int)row->note_len, SQLITE_STATIC);
  step(rows, s);
}

static int64_t insert_all(void *context) {
  Rows *rows = context;
  step(rows, rows->begin);
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    BenchRow row;
    row_make(rows->plan.order[i], &row);
    insert_row(rows, &row);
    if (i % ROW_BATCH == ROW_BATCH - 1) {
      step(rows, rows->commit);
      step(rows, rows->begin);
    }
  }
  step(rows, rows->commit);
  return rows->plan.count;
}

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

static int64_t update_all(void *context) {
  Rows *rows = context;
  step(rows, rows->begin);
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    sqlite3_bind_int64(rows->update, 1, rows->fresh++);
    sqlite3_bind_int64(rows->update, 2, (int64_t)rows->plan.probes[i] + 1);
    step(rows, rows->update);
    if (i % ROW_BATCH == ROW_BATCH - 1) {
      step(rows, rows->commit);
      step(rows, rows->begin);
    }
  }
  step(rows, rows->commit);
  return 0;
}

static int64_t read_one(void *context) {
  Rows *rows = context;
  int64_t sum = 0;
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    sqlite3_bind_int64(rows->read_one, 1, (int64_t)rows->plan.probes[i] + 1);
    if (sqlite3_step(rows->read_one) != SQLITE_ROW) bench_fail("row %u is missing", rows->plan.probes[i]);
    sum += sqlite3_column_int64(rows->read_one, 0);
    sqlite3_reset(rows->read_one);
  }
  return sum;
}

static int64_t read_whole(void *context) {
  Rows *rows = context;
  sqlite3_stmt *s = rows->read_whole;
  int64_t sum = 0;
  for (uint32_t i = 0; i < rows->plan.count; i++) {
    sqlite3_bind_int64(s, 1, (int64_t)rows->plan.probes[i] + 1);
    if (sqlite3_step(s) != SQLITE_ROW) bench_fail("row %u is missing", rows->plan.probes[i]);
    volatile int64_t unused = 0;
    for (int c = 0; c < 6; c++) unused += sqlite3_column_int64(s, c);
    sum += sqlite3_column_int64(s, 1) + sqlite3_column_bytes(s, 6) + sqlite3_column_text(s, 7)[0];
    sqlite3_reset(s);
  }
  return sum;
}

static int64_t number_of(const Rows *rows, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_ROW) bench_fail("%s", sqlite3_errmsg(rows->db));
  int64_t number = sqlite3_column_int64(statement, 0);
  sqlite3_reset(statement);
  return number;
}

static int64_t scan(void *context) { return number_of(context, ((Rows *)context)->scan); }

static int64_t count_all(void *context) {
  Rows *rows = context;
  int64_t sum = 0;
  for (int i = 0; i < RANGES; i++) sum += number_of(rows, rows->count_all);
  return sum / RANGES;
}

static int64_t over_ranges(const Rows *rows, sqlite3_stmt *statement) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < RANGES; i++) {
    int64_t from = rows->plan.probes[i % rows->plan.count];
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int64(statement, 2, from + rows->plan.count / 10);
    sum += number_of(rows, statement) / RANGES;
  }
  return sum;
}

static int64_t count_range(void *context) { return over_ranges(context, ((Rows *)context)->count_range); }
static int64_t sum_range(void *context) { return over_ranges(context, ((Rows *)context)->sum_range); }

static void open_db(Rows *rows) {
  if (sqlite3_open(":memory:", &rows->db) != SQLITE_OK) bench_fail("sqlite3_open");
  const char *create = "create table row(id integer primary key, a integer, b integer, amount integer, flag integer, at integer, name text, note text)";
  if (sqlite3_exec(rows->db, create, NULL, NULL, NULL) != SQLITE_OK) bench_fail("%s", sqlite3_errmsg(rows->db));
  rows->begin = prepare(rows, "begin");
  rows->commit = prepare(rows, "commit");
  rows->insert = prepare(rows, "insert into row values(?, ?, ?, ?, ?, ?, ?, ?)");
  rows->update = prepare(rows, "update row set a = ? where id = ?");
  rows->read_one = prepare(rows, "select a from row where id = ?");
  rows->read_whole = prepare(rows, "select * from row where id = ?");
  rows->scan = prepare(rows, "select sum(a) from row");
  rows->count_all = prepare(rows, "select count(*) from row");
  rows->sum_range = prepare(rows, "select sum(amount) from row where id >= ? and id < ?");
  rows->count_range = prepare(rows, "select count(*) from row where id >= ? and id < ?");
}

int main(int count, char **words) {
  Rows *rows = bench_alloc(sizeof *rows);
  rows->plan = row_plan(count, words);
  uint32_t n = rows->plan.count;
  open_db(rows);
  bench_run((BenchCase){"make", n, 1, false}, make_all, rows);
  bench_run((BenchCase){"insert", n, 1, false}, insert_all, rows);
  row_print_memory(&rows->plan, (uint64_t)sqlite3_memory_used());
  bench_run((BenchCase){"read_one", n, 3, false}, read_one, rows);
  bench_run((BenchCase){"read_whole", n, 3, false}, read_whole, rows);
  bench_run((BenchCase){"scan", n, 5, true}, scan, rows);
  bench_run((BenchCase){"count_all", RANGES, 3, true}, count_all, rows);
  bench_run((BenchCase){"count_range", RANGES, 3, true}, count_range, rows);
  bench_run((BenchCase){"sum_range", RANGES, 3, true}, sum_range, rows);
  bench_run((BenchCase){"update", n, 3, false}, update_all, rows);
  return 0;
}
