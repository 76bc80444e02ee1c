// What every measuring program here needs: time, CPU, memory of a process, random numbers that come out the same each
// time, and a histogram. Results leave a program as lines of JSON; bench/lib/harness.py makes ratios of them.
//
// Owns:   nothing, but for what says so.
// Thread: any; a BenchHistogram one at a time.
// Errors: a program that cannot measure ends with one line and code 1 (bench_fail).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t bench_now_ns(void);
double bench_cpu_s(void);                                     // user and system time of this process
double bench_process_cpu_s(const char *pids);                 // of others: "12" or "12,13"; all their threads
double bench_process_kib(const char *pids, const char *key);  // a line of /proc/PID/smaps_rollup, say "Rss:"
void bench_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *bench_alloc(size_t size);                               // cleared; ends the program when there is no memory

// splitmix64: small, good enough to scatter keys, and the same on every machine.
typedef struct BenchRandom { uint64_t state; } BenchRandom;
uint64_t bench_random(BenchRandom *random);
static inline uint64_t bench_random_below(BenchRandom *random, uint64_t bound) { return bench_random(random) % bound; }
void bench_shuffle(BenchRandom *random, uint32_t *numbers, uint32_t count);

// Counts by size: exact below 128, then 64 steps for each doubling, so a percentile is off by 1.6% at most.
enum { BENCH_HISTOGRAM_SLOTS = 64 * 64 };
typedef struct BenchHistogram { uint64_t count, sum, max, slots[BENCH_HISTOGRAM_SLOTS]; } BenchHistogram;
void bench_histogram_add(BenchHistogram *histogram, uint64_t value);
uint64_t bench_histogram_at(const BenchHistogram *histogram, double part);  // part: 0.5 for the median

// Does `work` some times and prints {"name":…,"operations":…,"ns":[…],"result":…}: how many operations in all, and CPU
// nanoseconds an operation, a round an entry. bench/instructions counts what runs inside this function.
// The result (the last round's) lets contestants be compared: a quick wrong answer is no answer.
typedef int64_t (*BenchWork)(void *context);
typedef struct BenchCase {
  const char *name;
  uint64_t operations;  // that one call of `work` does
  unsigned rounds;
  bool warm;            // do it once before, uncounted; not for work that cannot be done twice
} BenchCase;
void bench_run(BenchCase what, BenchWork work, void *context);
