// The bank's queries in SQLite `:memory:`, prepared once. usage: bank_sqlite ROUNDS
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/queries/bank.h"

typedef struct Bank { sqlite3 *db; sqlite3_stmt *query; } Bank;

static void run(Bank *bank, const char *sql) {
  if (sqlite3_exec(bank->db, sql, NULL, NULL, NULL) != SQLITE_OK) bench_fail("%s: %s", sql, sqlite3_errmsg(bank->db));
}

static sqlite3_stmt *prepare(Bank *bank, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v3(bank->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) bench_fail("%s: %s", sql, sqlite3_errmsg(bank->db));
  return statement;
}

static void put(sqlite3_stmt *statement, const int64_t *numbers, int count) {
  for (int i = 0; i < count; i++) sqlite3_bind_int64(statement, i + 1, numbers[i]);
  if (sqlite3_step(statement) != SQLITE_DONE) bench_fail("insert");
  sqlite3_reset(statement);
}

static void fill(Bank *bank) {
  run(bank, "create table branch(id integer primary key, region integer not null); create table account(id integer primary key, "
    "branch integer not null references branch, balance integer not null); create index by_branch on account(branch, balance desc); begin");
  sqlite3_stmt *branch = prepare(bank, "insert into branch values(?, ?)"), *account = prepare(bank, "insert into account values(?, ?, ?)");
  for (int64_t i = 0; i < BANK_BRANCHES; i++) put(branch, (int64_t[]){i, bank_region(i)}, 2);
  BankRandom random = {12345};
  for (int64_t i = 0; i < BANK_ACCOUNTS; i++) {
    int64_t row[3] = {i};
    bank_account(&random, &row[1], &row[2]);
    put(account, row, 3);
  }
  sqlite3_finalize(branch);
  sqlite3_finalize(account);
  run(bank, "commit; analyze");
}

static int64_t whole(void *context) {
  Bank *bank = context;
  BankCheck check = {0};
  int columns = sqlite3_column_count(bank->query);
  while (sqlite3_step(bank->query) == SQLITE_ROW)
    for (int c = 0; c < columns; c++) bank_check(&check, sqlite3_column_int64(bank->query, c));
  sqlite3_reset(bank->query);
  return check.sum;
}

// One question a number, each with one answer; the sum of all.
static int64_t ask_each(Bank *bank, int64_t count, int64_t (*argument)(int64_t)) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; i++) {
    sqlite3_bind_int64(bank->query, 1, argument(i));
    if (sqlite3_step(bank->query) != SQLITE_ROW) bench_fail("no row");
    sum += sqlite3_column_int64(bank->query, 0);
    sqlite3_reset(bank->query);
  }
  return sum;
}
static int64_t same(int64_t number) { return number; }
static int64_t of_branch(void *context) { return ask_each(context, BANK_BRANCHES, same); }
static int64_t lookup(void *context) { return ask_each(context, BANK_LOOKUPS, bank_lookup); }

int main(int count, char **words) {
  static const struct { const char *name, *sql; uint64_t operations; BenchWork work; } QUERIES[] = {
    {"per_branch", "select branch, count(*), sum(balance), max(balance) from account group by branch order by branch", 1, whole},
    {"in_credit", "select count(*) from account where balance > 0", 1, whole},
    {"large", "select id, branch, balance from account where balance >= 9000000 order by balance desc, id limit 100", 1, whole},
    {"ranks", "select id, balance from account order by balance desc, id limit 20", 1, whole},
    {"join", "select b.region, sum(a.balance) from account a join branch b on a.branch = b.id group by b.region order by b.region", 1, whole},
    {"of_branch", "select sum(balance) from account where branch = ?", BANK_BRANCHES, of_branch},
    {"lookup", "select balance from account where id = ?", BANK_LOOKUPS, lookup},
  };
  if (count != 2) bench_fail("usage: bank_sqlite ROUNDS");
  Bank bank;
  if (sqlite3_open(":memory:", &bank.db) != SQLITE_OK) bench_fail("sqlite3_open");
  fill(&bank);
  for (unsigned i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
    bank.query = prepare(&bank, QUERIES[i].sql);
    bench_run((BenchCase){QUERIES[i].name, QUERIES[i].operations, (unsigned)strtoul(words[1], NULL, 10), true}, QUERIES[i].work, &bank);
    sqlite3_finalize(bank.query);
  }
  return 0;
}
