// The bank every contestant of bench/queries keeps: 100 branches in 10 regions, 100,000 accounts; balances in cents.
// An answer becomes one number (bank_check over its numbers in order), so that contestants can be compared.
//
// Owns:   nothing.
// Thread: any.
#pragma once
#include "bench/lib/bench.h"

enum { BANK_BRANCHES = 100, BANK_REGIONS = 10, BANK_ACCOUNTS = 100000, BANK_LOOKUPS = 1000, BANK_LARGE_CENTS = 9000000, BANK_LARGE_MAX = 100, BANK_RANKS = 20 };

// The minimal standard generator of Park and Miller, since Lua can do it exactly in doubles.
typedef struct BankRandom { int64_t seed; } BankRandom;
static inline int64_t bank_random(BankRandom *random, int64_t bound) {
  random->seed = random->seed * 16807 % 2147483647;
  return random->seed % bound;
}
static inline void bank_account(BankRandom *random, int64_t *out_branch, int64_t *out_cents) {
  *out_branch = bank_random(random, BANK_BRANCHES);
  *out_cents = bank_random(random, 20000000) - 10000000;
}
static inline int64_t bank_region(int64_t branch) { return branch % BANK_REGIONS; }
static inline int64_t bank_lookup(int64_t number) { return number * 7919 % BANK_ACCOUNTS; }

typedef struct BankCheck { int64_t sum; unsigned count; } BankCheck;
static inline void bank_check(BankCheck *check, int64_t number) { check->sum += number * (int64_t)(check->count++ % 7 + 1); }
