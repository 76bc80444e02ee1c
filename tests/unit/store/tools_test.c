// Looking at a store, giving up its damaged end, and backups.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/store/backup.h"
#include "runtime/store/tools.h"
#include "tests/unit/store/world.h"

// A file in memory for a backup.
typedef struct Tape { Buf bytes; size_t at; } Tape;

static Err tape_write(void *context, const void *bytes, size_t size) {
  Tape *tape = context;
  buf_add(&tape->bytes, bytes, size);
  return tape->bytes.failed ? ERR_MEMORY : ERR_NONE;
}

static Err tape_restart(void *context) {
  buf_clear(&((Tape *)context)->bytes);
  return ERR_NONE;
}

static Err tape_read(void *context, void *out_bytes, size_t size, size_t *out_got) {
  Tape *tape = context;
  *out_got = tape->bytes.len - tape->at < size ? tape->bytes.len - tape->at : size;
  memcpy(out_bytes, tape->bytes.ptr + tape->at, *out_got);
  tape->at += *out_got;
  return ERR_NONE;
}

// A store with `commits` commits of two inputs, with another schema in the middle and a module, left as after a kill.
static Sim *make_store(unsigned commits, uint64_t checkpoint_bytes) {
  Sim *sim = sim_new();
  Store *store;
  ErrText text;
  uint8_t hash[32] = {7};
  world_checkpoint_bytes = checkpoint_bytes;
  cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  cr_assert(store_save_module(store, hash, STR("a module"), &text) == ERR_NONE);
  for (unsigned i = 0; i < commits; i++) {
    if (i == commits / 2) cr_assert(world_set_schema(store, 2, &text) == ERR_NONE);
    cr_assert(world_commit(store, 1 + 2 * (int64_t)i, 2, &text) == ERR_NONE, "%s", text.text);
  }
  store_abandon(store);
  return sim;
}

static int64_t count_of(Sim *sim) {
  Store *store;
  ErrText text;
  Err err = world_open(sim_files(sim), 0, true, &store, &text);
  cr_assert(err == ERR_NONE, "%s", text.text);
  int64_t count = world_count(store);
  store_abandon(store);
  return count;
}

static Err take(Sim *sim, Tape *tape, BackupInfo *info, ErrText *text) {
  buf_init(&tape->bytes, 0);
  tape->at = 0;
  text->text[0] = 0;
  return backup_take(sim_files(sim), WORLD_DIR, &(BackupOut){tape, tape_write, tape_restart}, info, text);
}

static Err restore(Sim *sim, Tape *tape, uint64_t at, ErrText *text) {
  BackupInfo info;
  tape->at = 0;
  text->text[0] = 0;
  return backup_restore(sim_files(sim), WORLD_DIR, &(BackupIn){tape, tape_read}, at, &info, text);
}

Test(tools, a_check_reads_everything) {
  for (unsigned checkpoints = 0; checkpoints < 2; checkpoints++) {
    Sim *sim = make_store(40, checkpoints ? 4000 : UINT64_MAX);
    StoreReport report;
    ErrText text;
    Err err = store_check(sim_files(sim), WORLD_DIR, &report, &text);
    cr_assert(err == ERR_NONE, "%s", text.text);
    cr_assert_eq(report.rows, 80);
    cr_assert_eq(report.info.number, 42);
    cr_assert_eq(report.modules, 1);
    cr_assert_eq(report.older_checked, checkpoints);
    cr_assert_eq(report.info.checkpoint > 0, checkpoints);
    sim_free(sim);
  }
}

Test(tools, a_damaged_end_can_be_given_up) {
  for (unsigned checkpoints = 0; checkpoints < 2; checkpoints++) {
    Sim *sim = make_store(30, checkpoints ? 9000 : UINT64_MAX);
    ErrText text;
    StoreReport report;
    cr_assert(store_check(sim_files(sim), WORLD_DIR, &report, &text) == ERR_NONE, "%s", text.text);
    uint64_t last = report.info.number, number = report.info.checkpoint > 2 ? report.info.checkpoint : last - 9;
    cr_assert(store_repair(sim_files(sim), WORLD_DIR, last + 1, &text) == ERR_NOT_FOUND, "%s", text.text);
    cr_assert(store_repair(sim_files(sim), WORLD_DIR, 0, &text) == ERR_REFUSED);
    if (checkpoints) {  // older than all that is kept
      cr_assert(store_repair(sim_files(sim), WORLD_DIR, 1, &text) == ERR_DAMAGED, "%s", text.text);
      cr_assert_eq(count_of(sim), 60);
    }
    Err err = store_repair(sim_files(sim), WORLD_DIR, number, &text);
    cr_assert(err == ERR_NONE, "%s", text.text);
    int64_t count = count_of(sim);
    cr_assert_eq(count, 2 * ((int64_t)number - 2));
    Store *store;
    cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE, "%s", text.text);
    cr_assert(world_commit(store, count + 1, 2, &text) == ERR_NONE, "%s", text.text);
    cr_assert(store_close(store, &text) == ERR_NONE);
    cr_assert_eq(count_of(sim), count + 2);
    sim_free(sim);
  }
}

Test(tools, a_backup_is_restored_whole_or_up_to_a_commit) {
  for (unsigned checkpoints = 0; checkpoints < 2; checkpoints++) {
    Sim *sim = make_store(33, checkpoints ? 6000 : UINT64_MAX);
    Tape tape;
    BackupInfo info;
    ErrText text;
    Err err = take(sim, &tape, &info, &text);
    cr_assert(err == ERR_NONE, "%s", text.text);
    cr_assert_eq(info.number, 35);
    cr_assert_eq(info.modules, 1);
    cr_assert_eq(info.checkpoint > 0, checkpoints);
    for (uint64_t at = info.checkpoint ? info.checkpoint : 2; at <= info.number + 1; at++) {
      Sim *other = sim_new();
      err = restore(other, &tape, at, &text);
      if (at > info.number) cr_assert(err == ERR_NOT_FOUND && !sim_path(other, 0), "%s", text.text);
      else {
        cr_assert(err == ERR_NONE, "at %llu: %s", (unsigned long long)at, text.text);
        int64_t commits = (int64_t)at - 1 - (at >= 18);
        cr_assert_eq(count_of(other), 2 * commits, "at %llu: %lld", (unsigned long long)at, (long long)count_of(other));
      }
      sim_free(other);
    }
    Sim *other = sim_new();
    cr_assert(restore(other, &tape, 0, &text) == ERR_NONE, "%s", text.text);
    cr_assert(restore(other, &tape, 0, &text) == ERR_EXISTS);
    cr_assert_eq(count_of(other), 66);
    StoreReport report;
    cr_assert(store_check(sim_files(other), WORLD_DIR, &report, &text) == ERR_NONE && report.modules == 1, "%s", text.text);
    sim_free(other);
    buf_free(&tape.bytes);
    sim_free(sim);
  }
}

Test(tools, a_damaged_backup_is_refused_and_leaves_nothing) {
  Sim *sim = make_store(12, 4000);
  Tape tape;
  BackupInfo info;
  ErrText text;
  cr_assert(take(sim, &tape, &info, &text) == ERR_NONE);
  size_t whole = tape.bytes.len;
  for (size_t at = 0; at < whole; at++) {
    Sim *other = sim_new();
    tape.bytes.ptr[at] ^= (char)(1u << at % 8);
    Err err = restore(other, &tape, 0, &text);
    tape.bytes.ptr[at] ^= (char)(1u << at % 8);
    // A bit of the frame's head that says nothing may be either way; then all is as it was.
    if (err == ERR_NONE) cr_assert_eq(count_of(other), 24);
    else cr_assert((err == ERR_DAMAGED || err == ERR_FORMAT || err == ERR_VERSION) && text.text[0] && !sim_path(other, 0), "at %zu: %s, left: %s", at, text.text, sim_path(other, 0));
    sim_free(other);
  }
  for (size_t cut = 0; cut < whole; cut += whole - cut > 40 ? 7 : 1) {  // each of the last ones: there the frame's checksum lies
    Sim *other = sim_new();
    tape.bytes.len = cut;
    cr_assert(restore(other, &tape, 0, &text) != ERR_NONE && !sim_path(other, 0), "cut at %zu", cut);
    sim_free(other);
  }
  tape.bytes.len = whole;
  buf_free(&tape.bytes);
  sim_free(sim);
}

Test(tools, a_restore_that_fails_on_the_way_leaves_no_store) {
  Sim *sim = make_store(12, 4000);
  Tape tape;
  BackupInfo info;
  ErrText text;
  cr_assert(take(sim, &tape, &info, &text) == ERR_NONE);
  for (unsigned what = 0; what < 2; what++)
    for (uint64_t n = 1;; n++) {
      Sim *other = sim_new();
      uint64_t before = mem_allocations(), held = mem_blocks_held();
      if (what == 0) sim_fail_nth(other, n, false, ERR_IO);
      else mem_fail_nth(n, 0);
      Err err = restore(other, &tape, 0, &text);
      mem_fail_nth(0, 0);
      bool reached = what == 0 ? sim_calls(other) >= n : mem_allocations() - before >= n;
      cr_assert_eq(mem_blocks_held(), held, "a leak at %llu", (unsigned long long)n);
      sim_kill(other);
      if (err == ERR_NONE) cr_assert_eq(count_of(other), 24);
      else cr_assert(!strcmp(text.text, "") == 0, "no words at %llu", (unsigned long long)n);
      sim_free(other);
      if (!reached) {
        cr_assert(err == ERR_NONE, "%s", text.text);
        break;
      }
    }
  for (uint64_t n = 1;; n++) {  // and taking one
    sim_reset_calls(sim);
    sim_fail_nth(sim, n, false, ERR_IO);
    Tape other;
    Err err = take(sim, &other, &info, &text);
    bool reached = sim_calls(sim) >= n;
    sim_kill(sim);
    if (err == ERR_NONE) cr_assert(other.bytes.len > 0);
    buf_free(&other.bytes);
    if (!reached) break;
  }
  buf_free(&tape.bytes);
  sim_free(sim);
}
