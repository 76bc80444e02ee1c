// Durable commits of the peers, each at its own best way to be as durable as ours: nothing acknowledged is lost to a power cut.
// usage: durable_peers raw DIRECTORY SECONDS BYTES    BYTES a commit into a file filled with zeros before, then fdatasync
//        durable_peers lmdb|sqlite DIRECTORY SECONDS  a transaction a commit (LMDB as it comes; SQLite WAL, synchronous=FULL)
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/store/durable.h"

// ---- raw --------------------------------------------------------------------------------------
enum { RAW_FILE_BYTES = 64 << 20 };
typedef struct Raw { int fd; off_t at; size_t size; char *record; } Raw;

static void raw_commit(void *context, const uint32_t *rows) {
  Raw *raw = context;
  memcpy(raw->record, rows, sizeof rows[0]);
  if (raw->at + (off_t)raw->size > RAW_FILE_BYTES) raw->at = 0;
  if (pwrite(raw->fd, raw->record, raw->size, raw->at) != (ssize_t)raw->size || fdatasync(raw->fd) < 0) bench_fail("raw: %s", strerror(errno));
  raw->at += (off_t)raw->size;
}

static void run_raw(const char *dir, double seconds, size_t size) {
  char path[512];
  snprintf(path, sizeof path, "%s/raw", dir);
  Raw raw = {.fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644), .size = size, .record = bench_alloc(size + 1)};
  char *zeros = bench_alloc(1 << 20);
  if (raw.fd < 0 || !size) bench_fail("raw: %s", size ? strerror(errno) : "how many bytes?");
  for (off_t at = 0; at < RAW_FILE_BYTES; at += 1 << 20)
    if (pwrite(raw.fd, zeros, 1 << 20, at) != 1 << 20) bench_fail("raw: cannot fill the file");
  fsync(raw.fd);
  durable_run(&(DurableWay){.context = &raw, .commit = raw_commit}, seconds);
}

// ---- LMDB -------------------------------------------------------------------------------------
typedef struct Lmdb { MDB_env *env; MDB_dbi dbi; } Lmdb;

static void lmdb_check(int code) {
  if (code) bench_fail("lmdb: %s", mdb_strerror(code));
}

static void lmdb_commit(void *context, const uint32_t *rows) {
  Lmdb *lmdb = context;
  MDB_txn *txn;
  lmdb_check(mdb_txn_begin(lmdb->env, NULL, 0, &txn));
  for (unsigned i = 0; i < DURABLE_CHANGES; i++) {
    uint32_t id = rows[i];
    MDB_val key = {sizeof id, &id}, value;
    lmdb_check(mdb_get(txn, lmdb->dbi, &key, &value));
    int64_t number;
    memcpy(&number, value.mv_data, sizeof number);
    number++;
    value = (MDB_val){sizeof number, &number};
    lmdb_check(mdb_put(txn, lmdb->dbi, &key, &value, 0));
  }
  lmdb_check(mdb_txn_commit(txn));
}

static void run_lmdb(const char *dir, double seconds) {
  Lmdb lmdb;
  MDB_txn *txn;
  lmdb_check(mdb_env_create(&lmdb.env));
  lmdb_check(mdb_env_set_mapsize(lmdb.env, 1 << 28));
  lmdb_check(mdb_env_open(lmdb.env, dir, 0, 0644));
  lmdb_check(mdb_txn_begin(lmdb.env, NULL, 0, &txn));
  lmdb_check(mdb_dbi_open(txn, NULL, MDB_CREATE | MDB_INTEGERKEY, &lmdb.dbi));
  for (uint32_t id = 0; id < DURABLE_ROWS; id++) {
    int64_t number = 0;
    lmdb_check(mdb_put(txn, lmdb.dbi, &(MDB_val){sizeof id, &id}, &(MDB_val){sizeof number, &number}, MDB_APPEND));
  }
  lmdb_check(mdb_txn_commit(txn));
  durable_run(&(DurableWay){.context = &lmdb, .commit = lmdb_commit}, seconds);
}

// ---- SQLite -----------------------------------------------------------------------------------
typedef struct Sqlite { sqlite3 *db; sqlite3_stmt *begin, *update, *commit; } Sqlite;

static sqlite3_stmt *prepare(Sqlite *sqlite, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(sqlite->db, sql, -1, &statement, NULL) != SQLITE_OK) bench_fail("%s: %s", sql, sqlite3_errmsg(sqlite->db));
  return statement;
}

static void step(Sqlite *sqlite, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) bench_fail("sqlite: %s", sqlite3_errmsg(sqlite->db));
  sqlite3_reset(statement);
}

static void sqlite_commit(void *context, const uint32_t *rows) {
  Sqlite *sqlite = context;
  step(sqlite, sqlite->begin);
  for (unsigned i = 0; i < DURABLE_CHANGES; i++) {
    sqlite3_bind_int64(sqlite->update, 1, rows[i]);
    step(sqlite, sqlite->update);
  }
  step(sqlite, sqlite->commit);
}

static void run_sqlite(const char *dir, double seconds) {
  char path[512];
  snprintf(path, sizeof path, "%s/sqlite", dir);
  Sqlite sqlite;
  const char *setup = "pragma journal_mode=WAL; pragma synchronous=FULL; create table row(id integer primary key, value integer);"
    "with recursive n(i) as (select 0 union all select i + 1 from n where i < 9999) insert into row select i, 0 from n";
  if (sqlite3_open(path, &sqlite.db) != SQLITE_OK || sqlite3_exec(sqlite.db, setup, NULL, NULL, NULL) != SQLITE_OK)
    bench_fail("sqlite: %s", sqlite3_errmsg(sqlite.db));
  sqlite.begin = prepare(&sqlite, "begin immediate");
  sqlite.update = prepare(&sqlite, "update row set value = value + 1 where id = ?");
  sqlite.commit = prepare(&sqlite, "commit");
  durable_run(&(DurableWay){.context = &sqlite, .commit = sqlite_commit}, seconds);
}

int main(int count, char **words) {
  if (count < 4) bench_fail("usage: durable_peers raw|lmdb|sqlite DIRECTORY SECONDS [BYTES]");
  double seconds = strtod(words[3], NULL);
  if (strcmp(words[1], "raw") == 0) run_raw(words[2], seconds, count > 4 ? strtoul(words[4], NULL, 10) : 0);
  else if (strcmp(words[1], "lmdb") == 0) run_lmdb(words[2], seconds);
  else if (strcmp(words[1], "sqlite") == 0) run_sqlite(words[2], seconds);
  else bench_fail("raw, lmdb or sqlite, not %s", words[1]);
  return 0;
}
