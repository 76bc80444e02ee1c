// Clocks, /proc, random numbers and histograms for the measuring programs. CPU time comes from the kernel's own account
// (getrusage, /proc/PID/stat), which a noisy neighbour disturbs far less than it disturbs rates.
#include "bench/lib/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t bench_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double bench_cpu_s(void) {
  struct timespec t;  // finer than getrusage, which counts the same
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void bench_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

void *bench_alloc(size_t size) {
  void *block = calloc(1, size ? size : 1);
  if (!block) bench_fail("no memory for %zu bytes", size);
  return block;
}

// ---- other processes --------------------------------------------------------------------------
static double cpu_of(const char *pid) {
  char path[64], line[1024];
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  double seconds = 0;
  // The name in brackets may hold anything; the fields begin behind the last bracket.
  const char *fields = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  unsigned long user, kernel;
  if (fields && sscanf(fields + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) == 2)
    seconds = (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
  fclose(file);
  return seconds;
}

static double kib_of(const char *pid, const char *key) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  double kib = 0;
  while (fgets(line, sizeof line, file))
    if (strncmp(line, key, strlen(key)) == 0) kib = strtod(line + strlen(key), NULL);
  fclose(file);
  return kib;
}

static double sum_of(const char *pids, const char *key) {
  double sum = 0;
  char pid[16];
  while (*pids) {
    size_t len = strcspn(pids, ",");
    snprintf(pid, sizeof pid, "%.*s", (int)len, pids);
    sum += key ? kib_of(pid, key) : cpu_of(pid);
    pids += len + (pids[len] == ',');
  }
  return sum;
}

double bench_process_cpu_s(const char *pids) { return sum_of(pids, NULL); }
double bench_process_kib(const char *pids, const char *key) { return sum_of(pids, key); }

// ---- random numbers ---------------------------------------------------------------------------
uint64_t bench_random(BenchRandom *random) {
  uint64_t z = (random->state += 0x9E3779B97F4A7C15u);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

void bench_shuffle(BenchRandom *random, uint32_t *numbers, uint32_t count) {
  for (uint32_t i = count; i > 1; i--) {
    uint32_t j = (uint32_t)bench_random_below(random, i), other = numbers[j];
    numbers[j] = numbers[i - 1];
    numbers[i - 1] = other;
  }
}

// ---- histogram --------------------------------------------------------------------------------
static unsigned slot_of(uint64_t value) {
  if (value < 128) return (unsigned)value;
  unsigned shift = 57 - (unsigned)__builtin_clzll(value);
  return shift * 64 + (unsigned)(value >> shift);
}

static uint64_t value_of(unsigned slot) {
  if (slot < 128) return slot;
  unsigned shift = slot / 64 - 1;
  return (uint64_t)(slot - shift * 64) << shift;
}

void bench_histogram_add(BenchHistogram *histogram, uint64_t value) {
  histogram->count++;
  histogram->sum += value;
  if (value > histogram->max) histogram->max = value;
  histogram->slots[slot_of(value)]++;
}

uint64_t bench_histogram_at(const BenchHistogram *histogram, double part) {
  uint64_t wanted = (uint64_t)((double)histogram->count * part), seen = 0;
  for (unsigned slot = 0; slot < BENCH_HISTOGRAM_SLOTS; slot++) {
    seen += histogram->slots[slot];
    if (seen > wanted) return value_of(slot);
  }
  return histogram->max;
}

// ---- rounds -----------------------------------------------------------------------------------
void bench_run(BenchCase what, BenchWork work, void *context) {
  int64_t result = what.warm ? work(context) : 0;
  printf("{\"name\":\"%s\",\"operations\":%llu,\"ns\":[", what.name, (unsigned long long)what.operations * (what.rounds + what.warm));
  for (unsigned i = 0; i < what.rounds; i++) {
    double start_s = bench_cpu_s();
    result = work(context);
    printf("%s%.2f", i ? "," : "", (bench_cpu_s() - start_s) * 1e9 / (double)what.operations);
  }
  printf("],\"result\":%lld}\n", (long long)result);
  fflush(stdout);
}
