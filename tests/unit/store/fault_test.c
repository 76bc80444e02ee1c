// Every call of the disk fails once and for ever, the power goes at every call, and every allocation fails: whatever
// happens, what was acknowledged is there once, and nothing is half there.
#include <criterion/criterion.h>

#include "runtime/base/mem.h"
#include "tests/unit/store/world.h"

enum { SEGMENT = 4096, ROUNDS = 3, COMMITS = 7 };

typedef struct Run { int64_t acknowledged, tried; } Run;

// Opens, changes the schema, commits, closes, three times; stops at the first thing that fails. What was acknowledged and
// what was tried are noted as it goes. With `undo_on_full` a refused commit is tried again.
static Err scenario(Sim *sim, Run *run) {
  for (unsigned round = 0; round < ROUNDS; round++) {
    Store *store;
    ErrText text;
    TRY(world_open(sim_files(sim), SEGMENT, true, &store, &text));
    Err err = ERR_NONE;
    cr_assert(world_count(store) >= run->acknowledged, "%lld are there, %lld were acknowledged", (long long)world_count(store), (long long)run->acknowledged);
    if (round < 2) err = world_set_schema(store, round + 1, &text);
    int64_t next = world_count(store) + 1;
    for (unsigned i = 0; i < COMMITS && err == ERR_NONE; i++) {
      run->tried = next + i % 3;
      err = world_commit(store, next, 1 + i % 3, &text);
      if (err == ERR_NONE) run->acknowledged = run->tried;
      next = run->tried + 1;
    }
    if (err != ERR_NONE) {
      store_abandon(store);
      return err;
    }
    TRY(store_close(store, &text));
  }
  return ERR_NONE;
}

static void check(Sim *sim, const Run *run, const char *what, uint64_t n) {
  Store *store;
  ErrText text;
  Err err = world_open(sim_files(sim), SEGMENT, true, &store, &text);
  cr_assert(err == ERR_NONE, "%s %llu: %s", what, (unsigned long long)n, text.text);
  int64_t count = world_count(store);
  cr_assert(count >= run->acknowledged, "%s %llu: %lld are there, %lld were acknowledged", what, (unsigned long long)n, (long long)count, (long long)run->acknowledged);
  cr_assert(count <= run->tried, "%s %llu: %lld are there, %lld were tried", what, (unsigned long long)n, (long long)count, (long long)run->tried);
  bool whole = count == run->acknowledged || count == run->tried;
  cr_assert(whole, "%s %llu: %lld are there: a commit is half there", what, (unsigned long long)n, (long long)count);
  if (!store_info(store)->is_new) cr_assert(world_commit(store, count + 1, 1, &text) == ERR_NONE, "%s", text.text);
  cr_assert(store_close(store, &text) == ERR_NONE, "%s", text.text);
}

Test(fault, the_nth_call_fails_once_or_for_ever) {
  static const Err ERRS[] = {ERR_IO, ERR_FULL, ERR_PERMISSION};
  for (unsigned e = 0; e < countof(ERRS); e++)
    for (int for_ever = 0; for_ever < 2; for_ever++)
      for (uint64_t n = 1;; n++) {
        Sim *sim = sim_new();
        Run run = {0};
        sim_fail_nth(sim, n, for_ever, ERRS[e]);
        Err err = scenario(sim, &run);
        bool reached = sim_calls(sim) >= n;
        sim_fail_nth(sim, 0, false, ERR_NONE);
        sim_kill(sim);
        Sim *lost = sim_copy(sim);
        check(lost, &run, "a failed call, then a kill", n);
        sim_free(lost);
        sim_crash(sim, n * 31 + e);
        check(sim, &run, "a failed call, then a power cut", n);
        sim_free(sim);
        if (!reached) {
          cr_assert(err == ERR_NONE);
          break;
        }
      }
}

Test(fault, the_power_goes_at_every_call) {
  for (uint64_t n = 1;; n++) {
    bool reached = false;
    for (uint64_t seed = 1; seed <= 6; seed++) {
      Sim *sim = sim_new();
      Run run = {0};
      sim_short_writes(sim, seed % 3 == 0 ? 5 : 0);
      sim_cut_nth(sim, n);
      Err err = scenario(sim, &run);
      reached = sim_calls(sim) >= n;
      cr_assert(reached || err == ERR_NONE);
      sim_crash(sim, n * 101 + seed);
      check(sim, &run, "a power cut", n);
      sim_free(sim);
    }
    if (!reached) break;
  }
}

// The power goes while the store recovers from the first cut, and then again at the next call.
Test(fault, the_power_goes_again_during_recovery) {
  for (uint64_t first = 20; first < 400; first += 7)
    for (uint64_t second = 1; second < 60; second += 3) {
      Sim *sim = sim_new();
      Run run = {0};
      sim_cut_nth(sim, first);
      Err err = scenario(sim, &run);
      (void)err;
      sim_crash(sim, first);
      sim_cut_nth(sim, second);
      Store *store;
      ErrText text;
      if (world_open(sim_files(sim), SEGMENT, true, &store, &text) == ERR_NONE) store_abandon(store);
      sim_crash(sim, first * 7 + second);
      check(sim, &run, "a second power cut", second);
      sim_free(sim);
    }
}

Test(fault, every_allocation_fails) {
  for (int for_ever = 0; for_ever < 2; for_ever++)
    for (uint64_t n = 1;; n++) {
      Sim *sim = sim_new();
      Run run = {0};
      uint64_t before = mem_allocations(), held = mem_blocks_held();
      mem_fail_nth(n, for_ever);
      Err err = scenario(sim, &run);
      mem_fail_nth(0, 0);
      bool reached = mem_allocations() - before >= n;
      cr_assert_eq(mem_blocks_held(), held, "a leak when allocation %llu fails", (unsigned long long)n);
      check(sim, &run, "a failed allocation", n);
      sim_free(sim);
      if (!reached) {
        cr_assert(err == ERR_NONE);
        break;
      }
    }
}
