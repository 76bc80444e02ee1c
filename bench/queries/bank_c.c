// The bank's queries in plain C: what the processor needs when all is known beforehand. As rows (an array of structs, as one
// writes it) and as columns (an array a field, summed into four places at once so that one does not wait for the other).
// usage: bank_c rows|columns ROUNDS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/queries/bank.h"

typedef struct Account { int64_t id, cents; int32_t branch; } Account;
typedef struct Sum { int64_t count, sum, max; } Sum;

typedef struct Bank {
  Account *accounts;
  int64_t *cents;
  uint8_t *branches;
  uint32_t *by_branch, branch_start[BANK_BRANCHES + 1];  // accounts' places, by branch
  uint32_t *slots;                                       // a hash table of ids: place + 1
} Bank;

enum { SLOTS = 1 << 18 };
static uint32_t slot_of(int64_t id) { return (uint32_t)id * 2654435761u >> 14; }

static void fill(Bank *bank) {
  *bank = (Bank){.accounts = bench_alloc(BANK_ACCOUNTS * sizeof(Account)), .cents = bench_alloc(BANK_ACCOUNTS * sizeof(int64_t)),
    .branches = bench_alloc(BANK_ACCOUNTS), .by_branch = bench_alloc(BANK_ACCOUNTS * sizeof(uint32_t)), .slots = bench_alloc(SLOTS * sizeof(uint32_t))};
  BankRandom random = {12345};
  for (uint32_t i = 0; i < BANK_ACCOUNTS; i++) {
    int64_t branch, cents;
    bank_account(&random, &branch, &cents);
    bank->accounts[i] = (Account){i, cents, (int32_t)branch};
    bank->cents[i] = cents;
    bank->branches[i] = (uint8_t)branch;
    uint32_t slot = slot_of(i);
    while (bank->slots[slot]) slot = (slot + 1) % SLOTS;
    bank->slots[slot] = i + 1;
  }
  uint32_t at = 0;
  for (int b = 0; b < BANK_BRANCHES; b++) {
    bank->branch_start[b] = at;
    for (uint32_t i = 0; i < BANK_ACCOUNTS; i++)
      if (bank->branches[i] == b) bank->by_branch[at++] = i;
  }
  bank->branch_start[BANK_BRANCHES] = at;
}

// ---- answers ----------------------------------------------------------------------------------
static int64_t check_sums(const Sum *sums) {
  BankCheck check = {0};
  for (int b = 0; b < BANK_BRANCHES; b++) {
    bank_check(&check, b);
    bank_check(&check, sums[b].count);
    bank_check(&check, sums[b].sum);
    bank_check(&check, sums[b].max);
  }
  return check.sum;
}

static int64_t check_regions(const int64_t *sums) {
  BankCheck check = {0};
  for (int r = 0; r < BANK_REGIONS; r++) {
    bank_check(&check, r);
    bank_check(&check, sums[r]);
  }
  return check.sum;
}

// The greatest so far, in order; equal ones by id, which comes in order.
typedef struct Top { uint32_t places[BANK_LARGE_MAX + 1]; int count, most; } Top;
static inline void top_offer(const Bank *bank, Top *top, uint32_t place, int64_t cents) {
  if (top->count == top->most && cents <= bank->cents[top->places[top->count - 1]]) return;
  if (top->count < top->most) top->count++;
  int at = top->count - 1;
  for (; at > 0 && bank->cents[top->places[at - 1]] < cents; at--) top->places[at] = top->places[at - 1];
  top->places[at] = place;
}

static int64_t check_top(const Bank *bank, const Top *top, bool with_branch) {
  BankCheck check = {0};
  for (int i = 0; i < top->count; i++) {
    bank_check(&check, top->places[i]);
    if (with_branch) bank_check(&check, bank->branches[top->places[i]]);
    bank_check(&check, bank->cents[top->places[i]]);
  }
  return check.sum;
}

// ---- rows -------------------------------------------------------------------------------------
static int64_t rows_per_branch(void *context) {
  const Bank *bank = context;
  Sum sums[BANK_BRANCHES];
  for (int b = 0; b < BANK_BRANCHES; b++) sums[b] = (Sum){0, 0, INT64_MIN};
  for (int i = 0; i < BANK_ACCOUNTS; i++) {
    const Account *account = &bank->accounts[i];
    Sum *sum = &sums[account->branch];
    sum->count++;
    sum->sum += account->cents;
    if (account->cents > sum->max) sum->max = account->cents;
  }
  return check_sums(sums);
}

static int64_t rows_in_credit(void *context) {
  const Bank *bank = context;
  BankCheck check = {0};
  int64_t count = 0;
  for (int i = 0; i < BANK_ACCOUNTS; i++) count += bank->accounts[i].cents > 0;
  bank_check(&check, count);
  return check.sum;
}

static int64_t rows_large(void *context) {
  const Bank *bank = context;
  Top top = {.most = BANK_LARGE_MAX};
  for (uint32_t i = 0; i < BANK_ACCOUNTS; i++)
    if (bank->accounts[i].cents >= BANK_LARGE_CENTS) top_offer(bank, &top, i, bank->accounts[i].cents);
  return check_top(bank, &top, true);
}

static int64_t rows_ranks(void *context) {
  const Bank *bank = context;
  Top top = {.most = BANK_RANKS};
  for (uint32_t i = 0; i < BANK_ACCOUNTS; i++) top_offer(bank, &top, i, bank->accounts[i].cents);
  return check_top(bank, &top, false);
}

static int64_t rows_join(void *context) {
  const Bank *bank = context;
  int64_t sums[BANK_REGIONS] = {0};
  for (int i = 0; i < BANK_ACCOUNTS; i++) sums[bank_region(bank->accounts[i].branch)] += bank->accounts[i].cents;
  return check_regions(sums);
}

static int64_t rows_of_branch(void *context) {
  const Bank *bank = context;
  int64_t all = 0;
  for (int b = 0; b < BANK_BRANCHES; b++) {
    int64_t sum = 0;
    for (uint32_t i = bank->branch_start[b]; i < bank->branch_start[b + 1]; i++) sum += bank->accounts[bank->by_branch[i]].cents;
    all += sum;
  }
  return all;
}

static int64_t rows_lookup(void *context) {
  const Bank *bank = context;
  int64_t sum = 0;
  for (int i = 0; i < BANK_LOOKUPS; i++) {
    int64_t id = bank_lookup(i);
    uint32_t slot = slot_of(id);
    while (bank->accounts[bank->slots[slot] - 1].id != id) slot = (slot + 1) % SLOTS;
    sum += bank->accounts[bank->slots[slot] - 1].cents;
  }
  return sum;
}

// ---- columns ----------------------------------------------------------------------------------
static int64_t columns_per_branch(void *context) {
  const Bank *bank = context;
  Sum sums[BANK_BRANCHES];
  for (int b = 0; b < BANK_BRANCHES; b++) sums[b] = (Sum){0, 0, INT64_MIN};
  for (int i = 0; i < BANK_ACCOUNTS; i++) {
    Sum *sum = &sums[bank->branches[i]];
    sum->count++;
    sum->sum += bank->cents[i];
    sum->max = bank->cents[i] > sum->max ? bank->cents[i] : sum->max;
  }
  return check_sums(sums);
}

static int64_t columns_in_credit(void *context) {
  const Bank *bank = context;
  BankCheck check = {0};
  int64_t count = 0;
  for (int i = 0; i < BANK_ACCOUNTS; i++) count += bank->cents[i] > 0;
  bank_check(&check, count);
  return check.sum;
}

static int64_t columns_large(void *context) {
  const Bank *bank = context;
  Top top = {.most = BANK_LARGE_MAX};
  for (uint32_t i = 0; i < BANK_ACCOUNTS; i++)
    if (bank->cents[i] >= BANK_LARGE_CENTS) top_offer(bank, &top, i, bank->cents[i]);
  return check_top(bank, &top, true);
}

static int64_t columns_ranks(void *context) {
  const Bank *bank = context;
  Top top = {.most = BANK_RANKS};
  for (uint32_t i = 0; i < BANK_ACCOUNTS; i++) top_offer(bank, &top, i, bank->cents[i]);
  return check_top(bank, &top, false);
}

static int64_t columns_join(void *context) {
  const Bank *bank = context;
  int64_t by_branch[4][BANK_BRANCHES] = {{0}}, sums[BANK_REGIONS] = {0};
  for (int i = 0; i < BANK_ACCOUNTS; i += 4)
    for (int k = 0; k < 4; k++) by_branch[k][bank->branches[i + k]] += bank->cents[i + k];
  for (int b = 0; b < BANK_BRANCHES; b++) sums[bank_region(b)] += by_branch[0][b] + by_branch[1][b] + by_branch[2][b] + by_branch[3][b];
  return check_regions(sums);
}

int main(int count, char **words) {
  if (count != 3) bench_fail("usage: bank_c rows|columns ROUNDS");
  unsigned rounds = (unsigned)strtoul(words[2], NULL, 10);
  Bank bank;
  fill(&bank);
  if (strcmp(words[1], "columns") == 0) {
    bench_run((BenchCase){"per_branch", 1, rounds, true}, columns_per_branch, &bank);
    bench_run((BenchCase){"in_credit", 1, rounds, true}, columns_in_credit, &bank);
    bench_run((BenchCase){"large", 1, rounds, true}, columns_large, &bank);
    bench_run((BenchCase){"ranks", 1, rounds, true}, columns_ranks, &bank);
    bench_run((BenchCase){"join", 1, rounds, true}, columns_join, &bank);
    return 0;
  }
  bench_run((BenchCase){"per_branch", 1, rounds, true}, rows_per_branch, &bank);
  bench_run((BenchCase){"in_credit", 1, rounds, true}, rows_in_credit, &bank);
  bench_run((BenchCase){"large", 1, rounds, true}, rows_large, &bank);
  bench_run((BenchCase){"ranks", 1, rounds, true}, rows_ranks, &bank);
  bench_run((BenchCase){"join", 1, rounds, true}, rows_join, &bank);
  bench_run((BenchCase){"of_branch", BANK_BRANCHES, rounds, true}, rows_of_branch, &bank);
  bench_run((BenchCase){"lookup", BANK_LOOKUPS, rounds, true}, rows_lookup, &bank);
  return 0;
}
