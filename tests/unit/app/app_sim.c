// A whole app on the simulated disk, all of it decided by a seed: inputs one by one and several a commit, timers, expiry, clocks that
// go on and jump, swaps (also such as must be refused), checkpoints, calls of the disk that fail, full disks, failing allocations, kills
// and power cuts at any moment, also while it opens. A model knows what was answered: after each opening all of it is there, once
// and whole; what was in doubt is there as far as it came in order; counters agree with the rows; timers ran once.
//
// usage: app_sim [STEPS [SEED]]    AUP_LONG_STEPS (50,000), AUP_SEED (of the clock, printed)
// The same seed does the same again, which is tried first. A program without a test library, so that it can run for days.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/compile.h"
#include "runtime/app/app.h"
#include "runtime/base/calendar.h"
#include "runtime/base/mem.h"
#include "tests/unit/store/sim.h"

#define COMMON \
  "app sim\n" \
  "state total: int = 0\nstate dropped: int = 0\nstate ticks: int = 0\nstate fired: int = 0\nstate dice: int = 0\n" \
  "table Note { id: int key auto, at: time\n expire at after 1h }\n" \
  "output told(n: int)\n" \
  "timer tick every 5min { ticks += 1 }\n" \
  "timer ring for e in Entry at e.due { e.rung = true\n fired += 1\n send told(n: e.mark) }\n" \
  "input note() { insert Note { at: now } }\n" \
  "input drop(mark: int) {\n" \
  "  let found = first(from e in Entry where e.mark == mark) else reject \"there is none\"\n" \
  "  if found.rung { fired -= 1 }\n" \
  "  dice -= found.dice\n total -= 1\n dropped += 1\n delete found\n}\n" \
  "input fault(by: int) { total += 1\n dropped = 7 / (by - by) }\n" \
  "view marks(after: int = 0) = from e in Entry where e.mark > after order by e.mark take 500 select e.mark\n" \
  "view old_notes(by: time) @scan = count(from n in Note where n.at < by - 1h)\n" \
  "view overdue(by: time) @scan = count(from e in Entry where not e.rung and e.due <= by)\n" \
  "view sums @scan = [count(from e in Entry), sum(from e in Entry select e.dice), count(from e in Entry where e.rung), total, dice, fired, ticks, dropped]\n"
#define ADD(more) \
  "input add(mark: int, after: duration) -> int {\n" \
  "  require mark % 11 != 3 else \"this one is refused\"\n" \
  "  let d = random(1..6)\n" \
  "  insert Entry { mark, dice: d, due: now + after" more " }\n" \
  "  dice += d\n total += 1\n return total\n}\n"
#define ENTRY(more) "table Entry { id: int key auto, mark: int, dice: int, due: time, rung: bool = false" more "\n unique mark }\n"

// The second does otherwise, the third has one field more, which going back would lose.
enum { PROGRAMS = 3, WIDER = 2 };
static const char *const SOURCES[PROGRAMS] = {
  COMMON ENTRY("") ADD("") "view version = 0\n",
  COMMON ENTRY("") ADD("") "view version = 1\nview note_count = count(from n in Note)\n",
  COMMON ENTRY(", extra: int = 5") ADD(", extra: mark") "view version = 2\n",
};

enum { MARKS_MAX = 120, STEPS_A_DISK = 400, BATCH_MAX = 5 };
typedef enum Fate { UNKNOWN, THERE, GONE, ADD_IN_DOUBT, DROP_IN_DOUBT } Fate;
typedef enum What { ADD_ENTRY, DROP_ENTRY, ADD_NOTE, MAKE_FAULT, WHATS } What;
typedef struct Request { AppInput input; Arena arena; Value args[2]; What what; int mark; bool answered; } Request;

typedef struct Run {
  uint64_t random, seed, steps, disk_steps, digest, opens, crashes, swaps, refused_swaps, inputs, unknown, runs_of_timers;
  Rng seeds;
  Str modules[PROGRAMS];
  Sim *sim;
  ClockFake clock;
  App *app;
  Request requests[BATCH_MAX];
  Fate marks[MARKS_MAX];
  int doubts[2 * BATCH_MAX], doubt_count;     // marks, in the order in which they were sent
  int next_mark, program, swap_in_doubt;      // -1: none
  int64_t total, dropped, ticks_seen;
  bool troubled;                              // since it was opened
  bool no_memory;                             // for the last batch: each of its inputs may have met that
  bool memory_fails, clock_jumps;             // on this disk; timers that met that come at other times
} Run;

static uint64_t dice(Run *run, uint64_t bound) {
  uint64_t z = (run->random += 0x9E3779B97F4A7C15ull);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return (z ^ z >> 31) % bound;
}

static void must(const Run *run, bool holds, const char *what, const char *words) {
  if (holds) return;
  printf("not ok 1 - %s: %s (seed %" PRIu64 ", step %" PRIu64 ")\n", what, words, run->seed, run->steps);
  exit(1);
}

static void note(Run *run, int64_t number) { run->digest = (run->digest ^ (uint64_t)number) * 1099511628211ull; }

// ---- views ------------------------------------------------------------------------------------
enum { NUMBERS_MAX = 600 };

// The numbers that stand in the JSON of a view; 0: no argument.
static unsigned read_view(Run *run, const char *name, int64_t arg, int64_t *out_numbers) {
  Arena arena;
  arena_init(&arena, 0);
  int entry = module_find_entry(app_module(run->app), ENTRY_VIEW, str_from(name));
  must(run, entry >= 0, "a view is missing", name);
  Value args[1] = {{.i = arg}};
  AppView view = {.entry = (uint16_t)entry, .given = arg ? 1 : 0, .args = args, .caller = {.roles = UINT64_MAX, .may_read = true}, .arena = &arena};
  app_view(run->app, &view);
  must(run, view.outcome.kind == APP_DONE, "a view fails", name);
  unsigned count = 0;
  Str body = view.outcome.body;
  for (size_t i = 0; i < body.len && count < NUMBERS_MAX; i++) {
    if (body.ptr[i] != '-' && (body.ptr[i] < '0' || body.ptr[i] > '9')) continue;
    char *end;
    char text[24] = {0};
    memcpy(text, body.ptr + i, body.len - i < 23 ? body.len - i : 23);
    out_numbers[count++] = strtoll(text, &end, 10);
    i += (size_t)(end - text);
  }
  arena_free(&arena);
  return count;
}

static int64_t read_number(Run *run, const char *name, int64_t arg) {
  int64_t numbers[NUMBERS_MAX];
  must(run, read_view(run, name, arg, numbers) == 1, "a view gives no number", name);
  return numbers[0];
}

// ---- what must be true ------------------------------------------------------------------------
static void check_sums(Run *run) {
  enum { ROWS, DICE_OF_ROWS, RUNG_ROWS, TOTAL, DICE, FIRED, TICKS, DROPPED, SUMS };
  int64_t sums[NUMBERS_MAX];
  must(run, read_view(run, "sums", 0, sums) == SUMS, "sums", "not as many as there are");
  must(run, sums[ROWS] == sums[TOTAL] && sums[TOTAL] == run->total, "rows are lost, doubled or half there", "total");
  must(run, sums[DICE_OF_ROWS] == sums[DICE], "rows and counters differ", "dice");
  must(run, sums[RUNG_ROWS] == sums[FIRED], "a timer ran twice or half", "fired");
  must(run, sums[DROPPED] == run->dropped, "a deletion is lost, doubled or half there", "dropped");
  must(run, sums[TICKS] >= run->ticks_seen, "what was seen is gone", "ticks");
  run->ticks_seen = sums[TICKS];
  for (unsigned i = 0; i < SUMS; i++) note(run, sums[i]);
}

// After an opening: what was in doubt is decided, up to some point of the order in which it was sent.
static void settle_doubts(Run *run, const bool *is_there) {
  bool missing = false;
  for (int i = 0; i < run->doubt_count; i++) {
    int mark = run->doubts[i];
    bool add = run->marks[mark] == ADD_IN_DOUBT, applied = is_there[mark] == add;
    must(run, !applied || !missing || run->no_memory, "a later input is there, an earlier one is not", "in doubt");
    missing |= !applied;
    if (applied) run->total += add ? 1 : -1;
    if (applied && !add) run->dropped++;
    run->marks[mark] = is_there[mark] ? THERE : GONE;
  }
  run->doubt_count = 0;
}

static void check_opened(Run *run) {
  bool is_there[MARKS_MAX] = {0};
  int64_t numbers[NUMBERS_MAX];
  unsigned count = read_view(run, "marks", 0, numbers);
  for (unsigned i = 0; i < count; i++) {
    must(run, numbers[i] > 0 && numbers[i] < MARKS_MAX && !is_there[numbers[i]], "a row stands twice, or nobody sent it", "mark");
    is_there[numbers[i]] = true;
  }
  settle_doubts(run, is_there);
  for (int mark = 0; mark < MARKS_MAX; mark++) must(run, is_there[mark] == (run->marks[mark] == THERE), is_there[mark] ? "a row is there that was not to be" : "an acknowledged row is lost", "mark");
  int version = (int)read_number(run, "version", 0);
  must(run, version == run->program || version == run->swap_in_doubt, "another module", "");
  run->program = version;
  run->swap_in_doubt = -1;
  check_sums(run);
}

// ---- opening and leaving ----------------------------------------------------------------------
static Err try_open(Run *run, ErrText *text) {
  AppOptions options = {.files = sim_files(run->sim), .dir = "data", .clock = &run->clock.clock, .sync_inline = true, .seeds = &run->seeds,
                        .segment_bytes = 16 << 10, .checkpoint_bytes = 512 * (4 + dice(run, 40))};
  return app_open(&options, run->program < 0 ? run->modules[0] : (Str){0}, &run->app, text);
}

static void new_disk(Run *run) {
  if (run->sim) sim_free(run->sim);
  run->sim = sim_new();
  memset(run->marks, 0, sizeof run->marks);
  run->next_mark = 1;
  run->program = run->swap_in_doubt = -1;
  run->total = run->dropped = run->ticks_seen = 0;
  run->doubt_count = 0;
  run->disk_steps = 0;
  run->memory_fails = dice(run, 4) == 0;
  run->clock_jumps = dice(run, 2) == 0;
}

static void go_dark(Run *run) {
  if (dice(run, 2)) sim_crash(run->sim, dice(run, UINT64_MAX));
  else sim_kill(run->sim);
  run->crashes++;
}

// Opens until it goes: calls may be failing, and the power may go while it recovers.
static void open_app(Run *run) {
  ErrText text = {{0}};
  Err err = ERR_IO;
  for (unsigned tries = 0; tries < 3 && err != ERR_NONE; tries++) {
    if (dice(run, 4) == 0) sim_cut_nth(run->sim, 1 + dice(run, 60));
    else if (dice(run, 6) == 0) sim_fail_nth(run->sim, 1 + dice(run, 60), dice(run, 2), dice(run, 2) ? ERR_IO : ERR_FULL);
    err = try_open(run, &text);
    if (err == ERR_NONE && app_error(run->app, NULL) != ERR_NONE) {
      err = app_close(run->app, &text);
      err = ERR_IO;
    }
    if (err != ERR_NONE) go_dark(run);
  }
  if (err != ERR_NONE) {
    err = try_open(run, &text);
    must(run, err == ERR_NONE, "it does not open", text.text);
  }
  sim_fail_nth(run->sim, 0, false, ERR_NONE);
  sim_cut_nth(run->sim, 0);
  if (run->program < 0) run->program = 0;
  run->troubled = false;
  run->opens++;
  check_opened(run);
}

static void leave(Run *run) {
  ErrText text;
  if (dice(run, 3)) sim_fail_nth(run->sim, 1, true, ERR_IO);  // as a process that is gone
  Err err = app_close(run->app, &text);
  (void)err;  // of what failed before; all that counts is what is there afterwards
  run->app = NULL;
  sim_short_writes(run->sim, 0);
  sim_space(run->sim, 0);
  go_dark(run);
}

// ---- what happens -----------------------------------------------------------------------------
static void on_answer(AppInput *input) { ((Request *)input->context)->answered = true; }

// A mark at most once in a batch, so that what was in doubt can be told afterwards.
static void make_request(Run *run, Request *request) {
  static const char *const NAMES[WHATS] = {"add", "drop", "note", "fault"};
  uint64_t roll = dice(run, 20);
  *request = (Request){.what = roll < 12 ? ADD_ENTRY : roll < 17 ? DROP_ENTRY : roll < 19 ? ADD_NOTE : MAKE_FAULT};
  request->mark = request->what == ADD_ENTRY && run->next_mark < MARKS_MAX ? run->next_mark++ : 1 + (int)dice(run, (uint64_t)run->next_mark);
  if (request->mark >= MARKS_MAX) request->mark = MARKS_MAX - 1;
  for (const Request *other = run->requests; other < request; other++)
    if (other->mark == request->mark) request->what = ADD_NOTE;
  request->args[0].i = request->mark;
  request->args[1].i = (int64_t)dice(run, 40) * MINUTE - 2 * MINUTE;
  arena_init(&request->arena, 0);
  uint64_t given = request->what == ADD_ENTRY ? 3 : request->what == ADD_NOTE ? 0 : 1;
  int entry = module_find_entry(app_module(run->app), ENTRY_INPUT, str_from(NAMES[request->what]));
  must(run, entry >= 0, "an input is missing", NAMES[request->what]);
  request->input = (AppInput){.entry = (uint16_t)entry, .given = given, .args = request->args, .arena = &request->arena, .answered = on_answer, .context = request,
                              .caller = {.roles = UINT64_MAX, .may_read = true, .may_write = true}};
  must(run, app_submit(run->app, &request->input) == ERR_NONE, "an input is not taken", "");
}

static void take_done(Run *run, const Request *request) {
  if (request->what == ADD_ENTRY) {
    must(run, run->marks[request->mark] != THERE && request->mark % 11 != 3, "an input went through that was to be refused", "add");
    run->marks[request->mark] = THERE;
    run->total++;
    char body[24];
    snprintf(body, sizeof body, "%" PRId64, run->total);
    must(run, str_is(request->input.outcome.body, body), "an answer is not that of its place", body);
  } else if (request->what == DROP_ENTRY) {
    must(run, run->marks[request->mark] == THERE, "an input went through that was to be refused", "drop");
    run->marks[request->mark] = GONE;
    run->total--;
    run->dropped++;
  }
  must(run, request->what != MAKE_FAULT, "a fault went through", "");
}

static void take_refused(const Run *run, const Request *request) {
  bool there = run->marks[request->mark] == THERE;
  bool right = (request->what == ADD_ENTRY && (request->mark % 11 == 3 || there)) || (request->what == DROP_ENTRY && !there);
  must(run, right, "an input was refused that was to go through", "");
}

// The store has stopped: whether it is there will show.
static void take_doubt(Run *run, const Request *request) {
  bool there = run->marks[request->mark] == THERE, known = run->marks[request->mark] == THERE || run->marks[request->mark] == GONE || run->marks[request->mark] == UNKNOWN;
  if (!known || (request->what == ADD_ENTRY ? there || request->mark % 11 == 3 : request->what != DROP_ENTRY || !there)) return;
  run->marks[request->mark] = there ? DROP_IN_DOUBT : ADD_IN_DOUBT;
  run->doubts[run->doubt_count++] = request->mark;
  run->unknown++;
}

static void take_answer(Run *run, Request *request, bool no_memory) {
  AppOutcomeKind kind = request->input.outcome.kind;
  must(run, request->answered, "no answer came", "");
  if (kind == APP_DONE) take_done(run, request);
  else if (kind == APP_REJECTED) take_refused(run, request);
  else if (kind == APP_FAULT) must(run, request->what == MAKE_FAULT || no_memory, "a fault", request->input.outcome.problem.detail.ptr);
  else if (app_error(run->app, NULL) != ERR_NONE) take_doubt(run, request);
  note(run, (int64_t)kind);
  arena_free(&request->arena);
}

static void send_inputs(Run *run) {
  unsigned count = dice(run, 3) ? 1 : 2 + (unsigned)dice(run, BATCH_MAX - 1);
  for (unsigned i = 0; i < count; i++) make_request(run, &run->requests[i]);
  bool no_memory = run->no_memory = run->memory_fails && dice(run, 20) == 0;
  if (no_memory) mem_fail_nth(1 + dice(run, 40), false);
  bool all = false;
  for (unsigned turns = 0; turns < 20 && !all; turns++) {
    app_turn(run->app);
    all = true;
    for (unsigned i = 0; i < count; i++) all &= run->requests[i].answered;
    if (turns == 0 && no_memory) mem_fail_nth(0, false);
  }
  run->troubled |= no_memory;
  for (unsigned i = 0; i < count; i++) take_answer(run, &run->requests[i], no_memory);
  run->inputs += count;
}

static void settle(Run *run) {
  for (unsigned turns = 0; turns < 1000; turns++) {
    app_turn(run->app);
    if (app_wait_us(run->app) > 0 && !app_is_busy(run->app)) return;
  }
  must(run, app_error(run->app, NULL) != ERR_NONE, "it does not come to rest", "");
}

static void let_time_pass(Run *run) {
  settle(run);
  bool calm = !run->troubled && !run->memory_fails && !run->clock_jumps && app_error(run->app, NULL) == ERR_NONE;
  int64_t by_us = 1 + (int64_t)dice(run, dice(run, 4) ? 6 * (uint64_t)MINUTE : 3 * (uint64_t)HOUR), before = calm ? run->ticks_seen : 0;
  clock_fake_advance(&run->clock, by_us);
  settle(run);
  if (app_error(run->app, NULL) != ERR_NONE) return;
  int64_t seen = run->ticks_seen;
  check_sums(run);
  run->runs_of_timers += (uint64_t)(run->ticks_seen - seen);
  if (!calm) return;
  must(run, run->ticks_seen - before <= 2 && (by_us < 5 * MINUTE || run->ticks_seen > before), "a timer did not run, or ran more than once for what was missed", "tick");
  must(run, read_number(run, "overdue", run->clock.wall_us) == 0, "a timer did not run", "ring");
  must(run, read_number(run, "old_notes", run->clock.wall_us) == 0, "rows did not expire", "");
}

static void jump(Run *run) {
  if (!run->clock_jumps) return;
  run->clock.wall_us += (int64_t)dice(run, 2 * (uint64_t)HOUR) - HOUR;
}

static void swap(Run *run) {
  ErrText text;
  int to = (int)dice(run, PROGRAMS);
  bool loses = run->program == WIDER && to != WIDER;
  Err err = app_swap(run->app, run->modules[to], &text);
  run->swaps += err == ERR_NONE;
  run->refused_swaps += err == ERR_REFUSED;
  must(run, !loses || err != ERR_NONE, "a swap that loses a field went through", "");
  must(run, loses || err != ERR_REFUSED, "a swap is refused", text.text);
  if (err == ERR_NONE) run->program = to;
  else if (app_error(run->app, NULL) != ERR_NONE && !loses) run->swap_in_doubt = to;
  note(run, err);
  if (app_error(run->app, NULL) == ERR_NONE) check_sums(run);
}

static void make_trouble(Run *run) {
  run->troubled = true;
  switch (dice(run, 7)) {
    case 0: sim_cut_nth(run->sim, 1 + dice(run, 40)); break;
    case 1: sim_fail_nth(run->sim, 1 + dice(run, 40), dice(run, 2), dice(run, 2) ? ERR_IO : ERR_FULL); break;
    case 2: sim_short_writes(run->sim, 1 + (unsigned)dice(run, 5)); break;
    case 3: sim_space(run->sim, sim_used(run->sim) + dice(run, 60000)); break;
    default: sim_space(run->sim, 0); break;
  }
}

static void step(Run *run) {
  if (!run->app) open_app(run);
  uint64_t what = dice(run, 100);
  if (what < 3) make_trouble(run);
  else if (what < 5) swap(run);
  else if (what == 5) jump(run);
  else if (what < 20) let_time_pass(run);
  else send_inputs(run);
  if (what == 99 || app_error(run->app, NULL) != ERR_NONE) leave(run);
  if (++run->disk_steps < STEPS_A_DISK) return;
  if (run->app) leave(run);
  new_disk(run);
}

// ---- runs -------------------------------------------------------------------------------------
static Err read_source(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text) {
  (void)path, (void)arena, (void)out_text;
  *out_bytes = str_from(context);
  return ERR_NONE;
}

static Run run_steps(Compile *programs, uint64_t steps, uint64_t seed) {
  Run run = {.seed = seed, .random = seed};
  rng_seed(&run.seeds, seed);
  for (unsigned i = 0; i < PROGRAMS; i++) run.modules[i] = programs[i].module_bytes;
  clock_fake_init(&run.clock, 1767261600000000);
  new_disk(&run);
  for (; run.steps < steps; run.steps++) step(&run);
  if (run.app) leave(&run);
  sim_free(run.sim);
  return run;
}

int main(int count, char **words) {
  enum { STEPS_TWICE = 3000 };
  const char *steps_text = getenv("AUP_LONG_STEPS"), *seed_text = getenv("AUP_SEED");
  uint64_t steps = count > 1 ? strtoull(words[1], NULL, 10) : steps_text ? strtoull(steps_text, NULL, 10) : 50000;
  uint64_t seed = count > 2 ? strtoull(words[2], NULL, 10) : seed_text ? strtoull(seed_text, NULL, 10) : (uint64_t)time(NULL);
  static Compile programs[PROGRAMS];
  printf("1..2\n# seed %" PRIu64 "\n", seed);
  fflush(stdout);
  for (unsigned i = 0; i < PROGRAMS; i++) {
    CompileOptions options = {.read_file = read_source, .context = (void *)SOURCES[i]};
    compile_run(&programs[i], STR("sim.aup"), &options);
    if (!programs[i].module_bytes.ptr) printf("not ok 1 - program %u does not compile: %s\n", i, programs[i].diags.count ? programs[i].diags.items[0]->message.ptr : "no memory");
    if (!programs[i].module_bytes.ptr) return 1;
  }
  Run first = run_steps(programs, STEPS_TWICE, seed + 1), again = run_steps(programs, STEPS_TWICE, seed + 1);
  must(&first, first.digest == again.digest && first.digest, "the same seed does not do the same", "");
  printf("ok 1 - %d steps twice, all answers and sums the same\n", STEPS_TWICE);
  Run run = run_steps(programs, steps, seed);
  must(&run, steps < 20000 || (run.crashes && run.swaps && run.refused_swaps && run.unknown && run.runs_of_timers), "too little happened", "");
  printf("ok 2 - %" PRIu64 " steps: %" PRIu64 " inputs (%" PRIu64 " in doubt), %" PRIu64 " openings, %" PRIu64 " kills, power cuts and failures, %" PRIu64 " swaps, %" PRIu64 " refused, %" PRIu64 " ticks\n",
         steps, run.inputs, run.unknown, run.opens, run.crashes, run.swaps, run.refused_swaps, run.runs_of_timers);
  for (unsigned i = 0; i < PROGRAMS; i++) compile_free(&programs[i]);
  return 0;
}
