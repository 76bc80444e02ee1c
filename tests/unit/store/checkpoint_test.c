// The page file: what is there again from it, what it takes of the disk, and what happens when it is damaged.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/world.h"

static Store *open_ok(Sim *sim, uint64_t checkpoint_bytes) {
  Store *store = NULL;
  ErrText text;
  world_checkpoint_bytes = checkpoint_bytes;
  Err err = world_open(sim_files(sim), 0, true, &store, &text);
  cr_assert(err == ERR_NONE, "%s", text.text);
  return store;
}

static void close_ok(Store *store) {
  ErrText text;
  Err err = store_close(store, &text);
  cr_assert(err == ERR_NONE, "%s", text.text);
}

static void commit_ok(Store *store, int64_t first, unsigned count) {
  ErrText text;
  Err err = world_commit(store, first, count, &text);
  cr_assert(err == ERR_NONE, "%s", text.text);
}

static uint64_t log_files(Sim *sim) {
  uint64_t count = 0;
  for (unsigned n = 0; sim_path(sim, n); n++) count += strstr(sim_path(sim, n), "/log-") != NULL;
  return count;
}

Test(checkpoint, a_state_comes_from_the_page_file_and_the_log_since) {
  for (unsigned commits = 1; commits < 60; commits += 7)
    for (int clean = 0; clean < 2; clean++) {
      Sim *sim = sim_new();
      ErrText text;
      Store *store = open_ok(sim, 4000);
      cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
      for (unsigned i = 0; i < commits; i++) commit_ok(store, 1 + 2 * (int64_t)i, 2);
      uint64_t checkpoint = store_info(store)->checkpoint, number = store_info(store)->number;
      cr_assert(store_info(store)->checkpoint_err == ERR_NONE);
      cr_assert(commits < 20 || checkpoint > 0);
      if (clean) close_ok(store);
      else store_abandon(store);
      cr_assert(log_files(sim) <= 4);
      store = open_ok(sim, 4000);
      cr_assert_eq(world_count(store), 2 * commits);
      cr_assert(!store_info(store)->fell_back && store_info(store)->checkpoint >= checkpoint);
      cr_assert(store_info(store)->records <= number - store_info(store)->checkpoint + 1, "records of the checkpoint were read again");
      cr_assert_eq(store_info(store)->now_us, 2000 * commits);
      cr_assert(world_set_schema(store, 2, &text) == ERR_NONE, "%s", text.text);
      for (unsigned i = 0; i < 20; i++) commit_ok(store, 1 + 2 * (int64_t)(commits + i), 2);
      close_ok(store);
      store = open_ok(sim, 4000);
      cr_assert_eq(world_count(store), 2 * (commits + 20));
      cr_assert_eq(store_schema(store)->tables[1].column_count, 3);
      close_ok(store);
      sim_free(sim);
    }
}

// Changes and deletions without end: the files stay within 2.5 times the pages in memory and a few MiB.
Test(checkpoint, the_files_stay_bounded) {
#ifdef AUP_HOSTILE
  enum { ROWS = 2000, ROUNDS = 8, UNITS_OF_TINY_PAGES = 4, LEAST = 0 };  // a page of some 200 bytes takes 512 in the file
#else
  enum { ROWS = 16000, ROUNDS = 28, UNITS_OF_TINY_PAGES = 1, LEAST = 2 };
#endif
  Sim *sim = sim_new();
  ErrText text;
  Store *store = open_ok(sim, 0);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  Txn *txn = db_txn(store_db(store));
  char long_text[200];
  memset(long_text, 'x', sizeof long_text);
  uint64_t number, checkpoints = 0, last = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    for (int64_t id = round % 4; id < ROWS; id += 4) {
      Value row[2] = {{.i = id}, {.text = {long_text, 20 + (size_t)(id + round) % 180}}};
      uint16_t column = 1;
      Err err = round < 4 ? txn_insert(txn, 1, row) : txn_update(txn, 1, row[0], 1, &column, &row[1]);
      cr_assert(err == ERR_NONE);
      if (id % 512 == round % 4) cr_assert(store_commit(store, NULL, 0, &number, &text) == ERR_NONE);
    }
    cr_assert(store_commit(store, NULL, 0, &number, &text) == ERR_NONE);
    cr_assert(store_info(store)->checkpoint_err == ERR_NONE);
    checkpoints += store_info(store)->checkpoint != last;
    last = store_info(store)->checkpoint;
    uint64_t bound = db_bytes(store_db(store)) * UNITS_OF_TINY_PAGES * 5 / 2 + (16u << 20);
    cr_assert(sim_used(sim) < bound, "round %u: %llu bytes of files, %llu of pages", round, (unsigned long long)sim_used(sim), (unsigned long long)db_bytes(store_db(store)));
  }
  cr_assert(checkpoints + 1 > LEAST, "%llu", (unsigned long long)checkpoints);
  close_ok(store);
  store = open_ok(sim, 100000);
  cr_assert_eq(reader_row_count(txn_reader(db_txn(store_db(store))), 1), ROWS);
  cr_assert(reader_check(txn_reader(db_txn(store_db(store))), &text) == ERR_NONE, "%s", text.text);
  txn = db_txn(store_db(store));
  for (int64_t id = 0; id < ROWS - 10; id++) {
    cr_assert(txn_delete(txn, 1, (Value){.i = id}) == ERR_NONE);
    if (id % 64 == 0) cr_assert(store_commit(store, NULL, 0, &number, &text) == ERR_NONE);
  }
  for (unsigned i = 0; i < 600; i++) {  // enough for some more checkpoints
    uint16_t column = 1;
    Value value = {.text = {long_text, i % 200}};
    cr_assert(txn_update(txn, 1, (Value){.i = ROWS - 1}, 1, &column, &value) == ERR_NONE);
    cr_assert(store_commit(store, NULL, 0, &number, &text) == ERR_NONE);
  }
  cr_assert(sim_used(sim) < (10u << 20), "%llu bytes for ten rows", (unsigned long long)sim_used(sim));
  close_ok(store);
  sim_free(sim);
}

// [S23] Every byte of the page file, with one checkpoint in it (then damage is named) and with two (then the one before the
// newest and the log make up for it, but for pages that both have).
Test(checkpoint, a_flipped_byte_is_never_served) {
  for (unsigned two = 0; two < 2; two++) {
    Sim *sim = sim_new();
    ErrText text;
    Store *store = open_ok(sim, 3000);
    int64_t rows = two ? 14 : 7;
    cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
    for (int64_t id = 1; id <= rows; id++) commit_ok(store, id, 1);
    cr_assert(store_info(store)->checkpoint > 0);
    store_abandon(store);
    uint64_t size, refused = 0, fell_back = 0;
    sim_bytes(sim, "app/pages", &size);
    for (uint64_t at = 0; at < size; at++) {
      if (at % 4096 == 600 && at < 8192 + 4096) at += 4096 - 600 - 100;  // nothing lies between header, slots and pages
      Sim *copy = sim_copy(sim);
      sim_bytes(copy, "app/pages", &size)[at] ^= (uint8_t)(1u << at % 8);
      Store *flipped;
      text.text[0] = 0;
      Err err = world_open(sim_files(copy), 0, true, &flipped, &text);
      if (err == ERR_NONE) {
        cr_assert_eq(world_count(flipped), rows, "at %llu", (unsigned long long)at);
        fell_back += store_info(flipped)->fell_back;
        store_abandon(flipped);
      } else {
        refused++;
        cr_assert(err == ERR_DAMAGED && strstr(text.text, "app/"), "at %llu: %s", (unsigned long long)at, text.text);
      }
      sim_free(copy);
    }
    if (two) cr_assert(fell_back > 100 && fell_back > refused / 2, "%llu fell back", (unsigned long long)fell_back);
    else cr_assert(refused > 1000, "%llu were refused", (unsigned long long)refused);
    sim_free(sim);
  }
}

Test(checkpoint, a_failed_one_is_told_and_tried_again) {
  Sim *sim = sim_new();
  ErrText text;
  Store *store = open_ok(sim, 6000);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  int64_t id = 1;
  sim_space(sim, sim_used(sim) + 2000);  // enough for the log's first segment, not for pages or another segment
  bool failed = false;
  for (; id <= 60 && !failed; id++) {
    commit_ok(store, id, 1);
    failed = store_info(store)->checkpoint_err == ERR_FULL;
  }
  cr_assert(failed);
  sim_space(sim, 0);
  for (; id <= 90; id++) commit_ok(store, id, 1);
  cr_assert(store_info(store)->checkpoint_err == ERR_NONE && store_info(store)->checkpoint > 60);
  close_ok(store);
  store = open_ok(sim, 6000);
  cr_assert_eq(world_count(store), 90);
  close_ok(store);
  sim_free(sim);
}
