// A long run of a store on the simulated disk, all of it decided by a seed: commits, swaps, closes, kills, power cuts (also in
// the middle of anything), calls that fail, short writes, full disks, repairs and backups, with checkpoints as often as they
// come. After each opening what was acknowledged is there, once and whole, and the rules of the tables hold.
//
// usage: store_long_run [STEPS [SEED]]    AUP_LONG_STEPS (100,000), AUP_SEED (of the clock, printed)
// The same seed does the same again. A program without a test library, so that it can run for days.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/store/tools.h"
#include "tests/unit/store/world.h"

enum { ROWS_MAX = 150, SEGMENT_BYTES = 16 << 10 };

typedef struct Run {
  uint64_t random, seed, steps, opens, crashes, checkpoints, swaps, repairs;
  Sim *sim;
  Store *store;
  int64_t acknowledged, tried;
} Run;

static uint64_t dice(Run *run, uint64_t bound) {
  uint64_t z = (run->random += 0x9E3779B97F4A7C15ull);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return (z ^ z >> 31) % bound;
}

static void must(const Run *run, bool holds, const char *what, const char *words) {
  if (holds) return;
  printf("not ok 1 - %s: %s (seed %" PRIu64 ", step %" PRIu64 ", %" PRId64 " acknowledged, %" PRId64 " tried)\n", what, words, run->seed, run->steps, run->acknowledged, run->tried);
  exit(1);
}

static void begin(Run *run) {
  if (run->store) store_abandon(run->store);
  if (run->sim) sim_free(run->sim);
  run->store = NULL;
  run->sim = sim_new();
  run->acknowledged = run->tried = 0;
}

// Opens until it goes: calls may be failing, and the power may go while it recovers.
static void open_store(Run *run) {
  ErrText text = {{0}};
  world_checkpoint_bytes = 512 * (2 + dice(run, 20));
  for (unsigned tries = 0; tries < 3 && !run->store; tries++) {
    if (dice(run, 4) == 0) sim_cut_nth(run->sim, 1 + dice(run, 60));
    else if (dice(run, 6) == 0) sim_fail_nth(run->sim, 1 + dice(run, 60), dice(run, 2), dice(run, 2) ? ERR_IO : ERR_FULL);
    if (world_open(sim_files(run->sim), SEGMENT_BYTES, true, &run->store, &text) == ERR_NONE) break;
    if (dice(run, 2)) sim_crash(run->sim, dice(run, UINT64_MAX));
    else sim_kill(run->sim);
    run->crashes++;
  }
  if (!run->store) {
    sim_fail_nth(run->sim, 0, false, ERR_NONE);
    sim_kill(run->sim);
    must(run, world_open(sim_files(run->sim), SEGMENT_BYTES, true, &run->store, &text) == ERR_NONE, "it does not open", text.text);
  }
  sim_fail_nth(run->sim, 0, false, ERR_NONE);
  sim_cut_nth(run->sim, 0);
  run->opens++;
  int64_t count = world_count(run->store);
  char found[32];
  snprintf(found, sizeof found, "%" PRId64 " are there", count);
  must(run, count == run->acknowledged || count == run->tried, "rows are lost, doubled or half there", found);
  must(run, !store_db(run->store) || reader_check(txn_reader(db_txn(store_db(run->store))), &text) == ERR_NONE, "a rule is broken", text.text);
  run->acknowledged = run->tried = count;
}

static void leave(Run *run) {
  ErrText text;
  if (dice(run, 3) == 0) {
    Err err = store_close(run->store, &text);
    (void)err;  // of what failed before; all that counts is what is there afterwards
  } else {
    store_abandon(run->store);
  }
  run->store = NULL;
  sim_short_writes(run->sim, 0);
  sim_space(run->sim, 0);
  if (dice(run, 2)) sim_crash(run->sim, dice(run, UINT64_MAX)), run->crashes++;
  else sim_kill(run->sim);
}

// A state in the past, of which every commit is known to be whole.
static void repair(Run *run) {
  ErrText text;
  uint64_t number = store_info(run->store)->number, back = dice(run, 6);
  leave(run);
  if (number <= back + 1) return;
  Err err = store_repair(sim_files(run->sim), WORLD_DIR, number - back, &text);
  if (err != ERR_NONE) return;  // before the older checkpoint, or a schema that had no rows yet
  world_checkpoint_bytes = UINT64_MAX;
  must(run, world_open(sim_files(run->sim), SEGMENT_BYTES, true, &run->store, &text) == ERR_NONE, "it does not open after a repair", text.text);
  int64_t count = world_count(run->store);
  must(run, count <= run->tried, "a repair made rows", "");
  run->acknowledged = run->tried = count;
  run->repairs++;
}

static void trouble(Run *run) {
  switch (dice(run, 8)) {
    case 0: sim_cut_nth(run->sim, 1 + dice(run, 40)); break;
    case 1: sim_fail_nth(run->sim, 1 + dice(run, 40), dice(run, 2), dice(run, 2) ? ERR_IO : ERR_FULL); break;
    case 2: sim_short_writes(run->sim, 1 + (unsigned)dice(run, 5)); break;
    case 3: sim_space(run->sim, sim_used(run->sim) + dice(run, 30000)); break;
    case 4: sim_space(run->sim, 0); break;
    default: break;
  }
}

static void step(Run *run) {
  ErrText text;
  if (!run->store) open_store(run);
  uint64_t before = store_info(run->store)->checkpoint;
  uint64_t what = dice(run, 40);
  if (what == 0) trouble(run);
  else if (what == 1) leave(run);
  else if (what == 2 && dice(run, 8) == 0) repair(run);
  else if (what < 5 || store_info(run->store)->is_new) {
    run->swaps += world_set_schema(run->store, 1 + (unsigned)dice(run, 2), &text) == ERR_NONE;
  } else {
    unsigned inputs = 1 + (unsigned)dice(run, 4);
    int64_t first = run->acknowledged + 1;
    if (run->tried > run->acknowledged || store_error(run->store, NULL) != ERR_NONE) {  // its outcome is not known: only opening tells
      leave(run);
      return;
    }
    Err err = world_commit(run->store, first, inputs, &text);
    if (err == ERR_NONE) run->acknowledged = first + inputs - 1;
    if (err == ERR_NONE || store_error(run->store, NULL) != ERR_NONE) run->tried = first + inputs - 1;  // else it was refused and undone
  }
  if (run->store && store_info(run->store)->checkpoint != before) run->checkpoints++;
  if (run->acknowledged > ROWS_MAX) begin(run);
}

int main(int count, char **words) {
  const char *steps_text = getenv("AUP_LONG_STEPS"), *seed_text = getenv("AUP_SEED");
  uint64_t steps = count > 1 ? strtoull(words[1], NULL, 10) : steps_text ? strtoull(steps_text, NULL, 10) : 100000;
  Run run = {.seed = count > 2 ? strtoull(words[2], NULL, 10) : seed_text ? strtoull(seed_text, NULL, 10) : (uint64_t)time(NULL)};
  run.random = run.seed;
  printf("1..1\n# seed %" PRIu64 "\n", run.seed);
  fflush(stdout);
  begin(&run);
  for (; run.steps < steps; run.steps++) step(&run);
  must(&run, steps < 10000 || (run.checkpoints && run.swaps && run.repairs && run.crashes), "too little happened", "");
  begin(&run);
  sim_free(run.sim);
  printf("ok 1 - %" PRIu64 " steps: %" PRIu64 " openings, %" PRIu64 " power cuts and failures, %" PRIu64 " checkpoints, %" PRIu64 " swaps, %" PRIu64 " repairs\n", steps, run.opens, run.crashes, run.checkpoints,
         run.swaps, run.repairs);
  return 0;
}
