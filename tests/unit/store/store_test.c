// Opening, committing and finding everything again; what a person is told when it does not go.
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/store/world.h"

static Store *open_ok(FileSystem *fs, uint64_t segment_bytes, bool inline_sync) {
  Store *store = NULL;
  ErrText text;
  Err err = world_open(fs, segment_bytes, inline_sync, &store, &text);
  cr_assert(err == ERR_NONE, "%s", text.text);
  return store;
}

static void close_ok(Store *store) {
  ErrText text;
  Err err = store_close(store, &text);
  cr_assert(err == ERR_NONE, "%s", text.text);
}

Test(store, what_was_committed_is_there_again) {
  for (int inline_sync = 0; inline_sync < 2; inline_sync++)
    for (uint64_t segment = 0; segment <= 8192; segment += 4096) {
      Sim *sim = sim_new();
      ErrText text;
      Store *store = open_ok(sim_files(sim), segment, inline_sync);
      cr_assert(store_info(store)->is_new && !store_db(store));
      cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
      int64_t next = 1;
      for (unsigned i = 0; i < 60; next += 1 + i % 3, i++) cr_assert(world_commit(store, next, 1 + i % 3, &text) == ERR_NONE);
      cr_assert(world_set_schema(store, 2, &text) == ERR_NONE, "%s", text.text);
      cr_assert(world_commit(store, next, 2, &text) == ERR_NONE);
      cr_assert_eq(store_durable_number(store), 63);
      close_ok(store);
      for (unsigned again = 0; again < 3; again++) {
        store = open_ok(sim_files(sim), segment, inline_sync);
        cr_assert(store_info(store)->was_clean && !store_info(store)->is_new && !store_info(store)->dropped_at);
        cr_assert_eq(world_count(store), next + 1);
        cr_assert_eq(store_info(store)->now_us, 1000 * (next + 1));
        cr_assert_eq(store_info(store)->module_hash[0], 2);
        cr_assert_eq(store_schema(store)->tables[1].column_count, 3);
        close_ok(store);
      }
      sim_free(sim);
    }
}

Test(store, memory_keeps_nothing_but_works_alike) {
  Store *store;
  ErrText text;
  StoreOptions options = {0};
  cr_assert(store_open(&options, &store, &text) == ERR_NONE);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  cr_assert(world_commit(store, 1, 5, &text) == ERR_NONE);
  cr_assert_eq(world_count(store), 5);
  cr_assert_eq(store_durable_number(store), 2);
  close_ok(store);
}

static void count_synced(void *context, uint64_t number, Err err) {
  atomic_uint_fast64_t *last = context;
  if (err == ERR_NONE) atomic_store(last, number);
}

Test(store, the_next_batch_is_applied_while_one_is_synced) {
  Sim *sim = sim_new();
  atomic_uint_fast64_t last = 0;
  StoreOptions options = {.files = sim_files(sim), .dir = WORLD_DIR, .synced = count_synced, .context = &last};
  Store *store;
  ErrText text;
  cr_assert(store_open(&options, &store, &text) == ERR_NONE);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  for (int64_t id = 1; id <= 300;) {
    Value row[2] = {{.i = id}, {.text = STR("x")}};
    uint64_t number;
    Txn *txn = db_txn(store_db(store));
    cr_assert(txn_insert(txn, 1, row) == ERR_NONE);
    id++;
    Err err = store_commit(store, NULL, 0, &number, &text);  // refused while the last one is on its way: it goes with the next
    cr_assert(err == ERR_NONE || err == ERR_AGAIN);
    cr_assert(store_durable_number(store) <= store_info(store)->number);
  }
  store_wait(store);
  store_wait(store);
  close_ok(store);
  store = open_ok(sim_files(sim), 0, true);
  uint64_t rows = reader_row_count(txn_reader(db_txn(store_db(store))), 1);
  cr_assert(rows > 0 && rows <= 300);
  close_ok(store);
  sim_free(sim);
}

Test(store, the_tail_of_a_log_is_ignored) {
  world_checkpoint_bytes = UINT64_MAX;
  Sim *sim = sim_new();
  ErrText text;
  Store *store = open_ok(sim_files(sim), 0, true);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  for (int64_t id = 1; id <= 9; id++) cr_assert(world_commit(store, id, 1, &text) == ERR_NONE);
  store_abandon(store);
  const char path[] = "app/log-0000000000000001";
  for (unsigned what = 0; what < 3; what++)
    for (unsigned kib = 1; kib <= 64; kib *= 4) {
      Sim *copy = sim_copy(sim);
      uint64_t size;
      sim_bytes(copy, path, &size);
      sim_resize(copy, path, size + 1024 * kib);
      uint8_t *bytes = sim_bytes(copy, path, &size);
      uint8_t *tail = bytes + size - 1024 * kib;
      for (unsigned i = 0; what == 1 && i < 1024 * kib; i++) tail[i] = (uint8_t)(i * 2654435761u >> 13);
      if (what == 2) memcpy(tail, bytes + 512, 1024);  // an old block
      store = open_ok(sim_files(copy), 0, true);
      cr_assert_eq(world_count(store), 9);
      cr_assert(!store_info(store)->was_clean && !store_info(store)->dropped_at);
      cr_assert(world_commit(store, 10, 1, &text) == ERR_NONE);
      close_ok(store);
      store = open_ok(sim_files(copy), 0, true);
      cr_assert_eq(world_count(store), 10);
      close_ok(store);
      sim_free(copy);
    }
  sim_free(sim);
}

Test(store, missing_cut_and_swapped_files_are_named) {
  world_checkpoint_bytes = UINT64_MAX;
  Sim *sim = sim_new();
  ErrText text;
  Store *store = open_ok(sim_files(sim), 4096, true);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  for (int64_t id = 1; id <= 30; id++) cr_assert(world_commit(store, id, 1, &text) == ERR_NONE);
  cr_assert(store_save_module(store, (uint8_t[32]){1}, STR("module"), &text) == ERR_NONE);
  close_ok(store);
  Sim *other = sim_new();
  store = open_ok(sim_files(other), 4096, true);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  close_ok(store);
  unsigned files = 0;
  char path[300];
  while (sim_path(sim, files)) files++;
  cr_assert(files > 5);
  for (unsigned n = 0; n < files; n++) {
    strcpy(path, sim_path(sim, n));
    if (strstr(path, "modules")) continue;
    for (unsigned what = 0; what < 4; what++) {
      Sim *copy = sim_copy(sim);
      uint64_t size;
      sim_bytes(copy, path, &size);
      if (what == 0) sim_remove(copy, path);
      if (what == 1) sim_resize(copy, path, 0);
      if (what == 2) sim_resize(copy, path, size / 2);
      if (what == 3) {  // the file of another app
        uint64_t other_size;
        const char *name = strstr(path, "pages") ? "app/pages" : "app/log-0000000000000001";
        uint8_t *from = sim_bytes(other, name, &other_size);
        sim_resize(copy, path, other_size);
        memcpy(sim_bytes(copy, path, &size), from, other_size);
      }
      Store *damaged;
      text.text[0] = 0;
      Err err = world_open(sim_files(copy), 4096, true, &damaged, &text);
      cr_assert(err == ERR_DAMAGED, "%s, case %u: %s", path, what, err == ERR_NONE ? "opened" : text.text);
      bool named = strstr(text.text, "app/") != NULL;
      cr_assert(named, "%s", text.text);
      sim_free(copy);
    }
  }
  sim_free(other);
  sim_free(sim);
}

// Every bit of every byte would take long; one bit a byte finds what does not look at a byte at all.
Test(store, a_flipped_byte_is_found_or_only_the_last_record_goes) {
  Sim *sim = sim_new();
  ErrText text;
  Store *store = open_ok(sim_files(sim), 0, true);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  for (int64_t id = 1; id <= 6; id++) cr_assert(world_commit(store, id, 1, &text) == ERR_NONE);
  store_abandon(store);
  char path[300];
  for (unsigned n = 0; sim_path(sim, n); n++) {
    strcpy(path, sim_path(sim, n));
    uint64_t size;
    sim_bytes(sim, path, &size);
    for (uint64_t at = 0; at < size && at < 5120; at++) {
      Sim *copy = sim_copy(sim);
      sim_bytes(copy, path, &size)[at] ^= (uint8_t)(1u << at % 8);
      Store *flipped;
      Err err = world_open(sim_files(copy), 0, true, &flipped, &text);
      if (err == ERR_NONE) {
        int64_t count = world_count(flipped);
        cr_assert(count == 6 || (count == 5 && store_info(flipped)->dropped_at > 0), "%s at %llu: %lld", path, (unsigned long long)at, (long long)count);
        close_ok(flipped);
      } else {
        cr_assert(err == ERR_DAMAGED || err == ERR_VERSION, "%s at %llu: %s", path, (unsigned long long)at, text.text);
      }
      sim_free(copy);
    }
  }
  sim_free(sim);
}

Test(store, a_newer_format_is_refused) {
  Sim *sim = sim_new();
  ErrText text;
  close_ok(open_ok(sim_files(sim), 0, true));
  uint64_t size;
  sim_bytes(sim, "app/log-0000000000000001", &size)[8] = 9;
  Store *store;
  cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_VERSION);
  cr_assert(strstr(text.text, "newer") != NULL, "%s", text.text);
  sim_free(sim);
}

Test(store, a_full_disk_refuses_and_goes_on_when_there_is_space) {
  Sim *sim = sim_new();
  ErrText text;
  Store *store = open_ok(sim_files(sim), 16384, true);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  sim_space(sim, sim_used(sim) + 100000);
  int64_t next = 1;
  Err err = ERR_NONE;
  while (err == ERR_NONE && next < 5000) {
    err = world_commit(store, next, 3, &text);
    if (err == ERR_NONE) next += 3;
  }
  cr_assert_eq(err, ERR_FULL, "%s", text.text);
  cr_assert_eq(world_count(store), next - 1);
  cr_assert(world_commit(store, next, 3, &text) == ERR_FULL);
  Sim *copy = sim_copy(sim);
  Store *again = open_ok(sim_files(copy), 16384, true);  // a start on the full disk
  cr_assert_eq(world_count(again), next - 1);
  store_abandon(again);
  sim_free(copy);
  sim_space(sim, 0);
  cr_assert(world_commit(store, next, 3, &text) == ERR_NONE, "%s", text.text);
  close_ok(store);
  store = open_ok(sim_files(sim), 16384, true);
  cr_assert_eq(world_count(store), next + 2);
  close_ok(store);
  sim_free(sim);
}

// Looking changes no byte of any file, also where an ordinary opening would wipe a cut record and remove temporary files.
Test(store, a_store_can_be_looked_at_without_changing_it) {
  world_checkpoint_bytes = UINT64_MAX;
  Sim *sim = sim_new();
  ErrText text;
  StoreOptions look = {.files = sim_files(sim), .dir = WORLD_DIR, .read_only = true};
  Store *store;
  cr_assert(store_open(&look, &store, &text) == ERR_NOT_FOUND && !sim_path(sim, 0));
  store = open_ok(sim_files(sim), 4096, true);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  for (int64_t id = 1; id <= 20; id++) cr_assert(world_commit(store, id, 1, &text) == ERR_NONE);
  store_abandon(store);
  char newest[300] = "";  // segment: the one with the greatest name
  unsigned files = 0;
  for (; sim_path(sim, files); files++)
    if (strstr(sim_path(sim, files), "log-") && strcmp(sim_path(sim, files), newest) > 0) strcpy(newest, sim_path(sim, files));
  uint64_t size;
  uint8_t *last = sim_bytes(sim, newest, &size);
  uint64_t end = 512;
  while (end < size && memcmp(last + end, "AUPR", 4) == 0) end += 512;
  memset(last + end, 0x5a, 100);  // what a cut record leaves
  Sim *before = sim_copy(sim);
  for (unsigned again = 0; again < 2; again++) {
    uint8_t hash[32] = {9};
    cr_assert(store_open(&look, &store, &text) == ERR_NONE, "%s", text.text);
    cr_assert_eq(world_count(store), 20);
    cr_assert_eq(store_info(store)->dropped_at, end);
    cr_assert(world_commit(store, 21, 1, &text) == ERR_REFUSED);
    cr_assert(world_set_schema(store, 2, &text) == ERR_REFUSED);
    cr_assert(store_save_module(store, hash, STR("m"), &text) == ERR_REFUSED);
    close_ok(store);
  }
  unsigned same = 0;
  for (; sim_path(sim, same); same++) {
    char path[300];
    uint64_t old_size, now_size;
    strcpy(path, sim_path(sim, same));
    const uint8_t *old = sim_bytes(before, path, &old_size), *now = sim_bytes(sim, path, &now_size);
    cr_assert(old && old_size == now_size && memcmp(old, now, now_size) == 0, "%s changed", path);
  }
  cr_assert_eq(same, files);
  sim_free(before);
  sim_free(sim);
}

Test(store, modules_are_kept_by_their_hash) {
  Sim *sim = sim_new();
  ErrText text;
  Arena arena;
  Str bytes;
  arena_init(&arena, 0);
  Store *store = open_ok(sim_files(sim), 0, true);
  uint8_t hash[32] = {0xab, 1};
  cr_assert(store_load_module(store, hash, &arena, &bytes, &text) == ERR_NOT_FOUND);
  for (unsigned i = 0; i < 2; i++) {
    cr_assert(store_save_module(store, hash, STR("some module"), &text) == ERR_NONE);
    cr_assert(store_load_module(store, hash, &arena, &bytes, &text) == ERR_NONE);
    cr_assert(str_is(bytes, "some module"));
  }
  close_ok(store);
  arena_free(&arena);
  sim_free(sim);
}

// On the machine's own file system, with a process that dies.
Test(store, one_host_a_root_and_real_files) {
  char root[] = "/tmp/aup-store-XXXXXX", dir[100], command[150];
  cr_assert(mkdtemp(root));
  StoreLock *lock, *second;
  ErrText text;
  pid_t child = fork();
  if (child == 0) {
    StoreLock *held;
    if (store_lock(file_system_real(), root, &held, NULL) != ERR_NONE) _exit(1);
    _exit(0);  // with the lock held
  }
  int status;
  waitpid(child, &status, 0);
  cr_assert_eq(status, 0);
  cr_assert(store_lock(file_system_real(), root, &lock, &text) == ERR_NONE, "%s", text.text);
  cr_assert(store_lock(file_system_real(), root, &second, &text) == ERR_BUSY);
  cr_assert(strstr(text.text, "in use") != NULL, "%s", text.text);
  snprintf(dir, sizeof dir, "%s/shop", root);
  StoreOptions options = {.files = file_system_real(), .dir = dir, .segment_bytes = 65536};
  int64_t next = 1;
  for (unsigned again = 0; again < 3; again++) {
    Store *store;
    cr_assert(store_open(&options, &store, &text) == ERR_NONE, "%s", text.text);
    if (store_info(store)->is_new) cr_assert(world_set_schema(store, 1, &text) == ERR_NONE, "%s", text.text);
    cr_assert_eq(world_count(store), next - 1);
    for (unsigned i = 0; i < 40; i++, next += 3) cr_assert(world_commit(store, next, 3, &text) == ERR_NONE, "%s", text.text);
    if (again == 1) store_abandon(store);
    else close_ok(store);
  }
  store_unlock(lock);
  snprintf(command, sizeof command, "rm -r %s", root);
  cr_assert_eq(system(command), 0);
  StoreOptions nowhere = {.files = file_system_real(), .dir = "/nonexistent/x"};
  Store *store;
  cr_assert(store_open(&nowhere, &store, &text) == ERR_NOT_FOUND);
  cr_assert(strstr(text.text, "/nonexistent/x") != NULL);
}
