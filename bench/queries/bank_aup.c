// The bank's queries through a whole app in this process, in memory: accounts come in by inputs, answers come out of app_view
// as JSON, as they would for a request. What HTTP adds is measured by bench/http.
// usage: bank_aup MODULE VIEW ROUNDS
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/queries/bank.h"
#include "runtime/app/app.h"

typedef struct Bank {
  App *app;
  uint16_t view;
  Arena arena;            // takes answers
  uint32_t answered;
} Bank;

static void check(Err err, const ErrText *text, const char *what) {
  if (err) bench_fail("%s: %s: %s", what, err_name(err), text ? text->text : "");
}

static Str read_file(const char *path) {
  enum { BYTES_MAX = 1 << 20 };
  FILE *file = fopen(path, "rb");
  if (!file) bench_fail("%s cannot be read", path);
  char *bytes = bench_alloc(BYTES_MAX);
  Str text = {bytes, fread(bytes, 1, BYTES_MAX, file)};
  fclose(file);
  return text;
}

// ---- filling ----------------------------------------------------------------------------------
static void input_answered(AppInput *input) {
  Bank *bank = input->context;
  if (input->outcome.kind != APP_DONE) bench_fail("input: " STR_FMT, STR_ARG(input->outcome.problem.detail));
  bank->answered++;
}

// Inputs are given in batches and the app does them all in one commit.
static void submit_all(Bank *bank, const char *name, uint32_t count, const Value *values, unsigned width) {
  enum { BATCH = APP_BATCH_INPUTS_MAX };
  static AppInput inputs[BATCH];
  Arena arena;
  arena_init(&arena, 0);
  int entry = module_find_entry(app_module(bank->app), ENTRY_INPUT, str_from(name));
  if (entry < 0) bench_fail("no input %s", name);
  for (uint32_t first = 0; first < count; first += BATCH) {
    uint32_t batch = count - first < BATCH ? count - first : BATCH;
    bank->answered = 0;
    for (uint32_t i = 0; i < batch; i++) {
      inputs[i] = (AppInput){.entry = (uint16_t)entry, .given = (1u << width) - 1, .args = values + (size_t)(first + i) * width,
        .caller = {.may_read = true, .may_write = true}, .arena = &arena, .answered = input_answered, .context = bank};
      check(app_submit(bank->app, &inputs[i]), NULL, "submit");
    }
    while (bank->answered < batch) app_turn(bank->app);
    arena_reset(&arena);
  }
  arena_free(&arena);
}

static void fill(Bank *bank) {
  Value *branches = bench_alloc(BANK_BRANCHES * 2 * sizeof(Value)), *accounts = bench_alloc(BANK_ACCOUNTS * 3 * sizeof(Value));
  for (int64_t i = 0; i < BANK_BRANCHES; i++) {
    branches[i * 2].i = i;
    branches[i * 2 + 1].i = bank_region(i);
  }
  BankRandom random = {12345};
  for (int64_t i = 0; i < BANK_ACCOUNTS; i++) {
    int64_t branch, cents;
    bank_account(&random, &branch, &cents);
    accounts[i * 3].i = i;
    accounts[i * 3 + 1].i = branch;
    accounts[i * 3 + 2].dec = cents;
  }
  submit_all(bank, "open_branch", BANK_BRANCHES, branches, 2);
  double start_s = bench_cpu_s();
  submit_all(bank, "open", BANK_ACCOUNTS, accounts, 3);
  printf("{\"name\":\"fill\",\"ns\":[%.1f],\"result\":0}\n", (bench_cpu_s() - start_s) * 1e9 / BANK_ACCOUNTS);
  free(branches);
  free(accounts);
}

// ---- asking -----------------------------------------------------------------------------------
// The numbers of an answer in order; a decimal's point is left out, so that it is in cents.
static int64_t check_json(Str body) {
  BankCheck sum = {0};
  for (size_t at = 0; at < body.len;) {
    bool negative = body.ptr[at] == '-';
    size_t from = at + negative;
    if (from >= body.len || !isdigit((unsigned char)body.ptr[from])) {
      // A name is letters, so no number of it is taken for one of the answer.
      at++;
      continue;
    }
    int64_t number = 0;
    for (at = from; at < body.len && (isdigit((unsigned char)body.ptr[at]) || body.ptr[at] == '.'); at++)
      if (body.ptr[at] != '.') number = number * 10 + (body.ptr[at] - '0');
    bank_check(&sum, negative ? -number : number);
  }
  return sum.sum;
}

static Str ask(Bank *bank, uint64_t given, const Value *args) {
  arena_reset(&bank->arena);
  AppView view = {.entry = bank->view, .given = given, .args = args, .caller = {.may_read = true, .may_write = true}, .arena = &bank->arena};
  app_view(bank->app, &view);
  if (view.outcome.kind != APP_DONE) bench_fail("view: " STR_FMT, STR_ARG(view.outcome.problem.detail));
  return view.outcome.body;
}

static int64_t whole(void *context) {
  Value none[1] = {{.i = 0}};
  return check_json(ask(context, 0, none));
}

static int64_t ask_each(Bank *bank, int64_t count, int64_t (*argument)(int64_t)) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; i++) sum += check_json(ask(bank, 1, &(Value){.i = argument(i)}));
  return sum;
}
static int64_t same(int64_t number) { return number; }
static int64_t of_branch(void *context) { return ask_each(context, BANK_BRANCHES, same); }
static int64_t lookup(void *context) { return ask_each(context, BANK_LOOKUPS, bank_lookup); }

int main(int count, char **words) {
  if (count != 4) bench_fail("usage: bank_aup MODULE VIEW ROUNDS");
  Bank bank = {0};
  ErrText text = {{0}};
  AppOptions options = {0};
  arena_init(&bank.arena, 0);
  check(app_open(&options, read_file(words[1]), &bank.app, &text), &text, "open");
  int view = module_find_entry(app_module(bank.app), ENTRY_VIEW, str_from(words[2]));
  if (view < 0) bench_fail("no view %s", words[2]);
  bank.view = (uint16_t)view;
  fill(&bank);
  unsigned rounds = (unsigned)strtoul(words[3], NULL, 10);
  BenchWork work = strcmp(words[2], "lookup") == 0 ? lookup : strcmp(words[2], "of_branch") == 0 ? of_branch : whole;
  uint64_t operations = work == lookup ? BANK_LOOKUPS : work == of_branch ? BANK_BRANCHES : 1;
  bench_run((BenchCase){words[2], operations, rounds, true}, work, &bank);
  check(app_close(bank.app, &text), &text, "close");
  return 0;
}
