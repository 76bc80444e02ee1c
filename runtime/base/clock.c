// Three system clocks behind function pointers. clock_gettime runs in the vDSO for the first two (about 20 ns).
#include "runtime/base/clock.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

static int64_t read_us(clockid_t id) {
  struct timespec now;
  int failed = clock_gettime(id, &now);
  assert(!failed);
  (void)failed;
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t system_wall(void *ctx) { (void)ctx; return read_us(CLOCK_REALTIME); }
static int64_t system_mono(void *ctx) { (void)ctx; return read_us(CLOCK_MONOTONIC); }
static int64_t system_cpu(void *ctx) { (void)ctx; return read_us(CLOCK_THREAD_CPUTIME_ID); }

static const Clock SYSTEM = {NULL, system_wall, system_mono, system_cpu};

const Clock *clock_system(void) { return &SYSTEM; }

static int64_t fake_wall(void *ctx) { return ((const ClockFake *)ctx)->wall_us; }
static int64_t fake_mono(void *ctx) { return ((const ClockFake *)ctx)->mono_us; }
static int64_t fake_cpu(void *ctx) { return ((const ClockFake *)ctx)->cpu_us; }

void clock_fake_init(ClockFake *fake, int64_t wall_us) {
  *fake = (ClockFake){.clock = {fake, fake_wall, fake_mono, fake_cpu}, .wall_us = wall_us};
}

void clock_fake_advance(ClockFake *fake, int64_t by_us) {
  assert(by_us >= 0);
  fake->wall_us += by_us;
  fake->mono_us += by_us;
}
