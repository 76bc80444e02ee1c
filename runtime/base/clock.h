// Time comes in through a Clock, so that a test or a simulation can drive it. Wall time may jump; everything that
// waits uses monotonic time.
//
// Owns:   nothing.
// Thread: the system's clock any; a fake clock one at a time.
#pragma once
#include <stdint.h>

typedef struct Clock {
  void *ctx;
  int64_t (*wall_us)(void *ctx);  // microseconds since 1970 in UTC, leap seconds not counted
  int64_t (*mono_us)(void *ctx);  // microseconds since some start; never goes back
  int64_t (*cpu_us)(void *ctx);   // microseconds of CPU that the calling thread has used
} Clock;

static inline int64_t clock_wall_us(const Clock *clock) { return clock->wall_us(clock->ctx); }
static inline int64_t clock_mono_us(const Clock *clock) { return clock->mono_us(clock->ctx); }
static inline int64_t clock_cpu_us(const Clock *clock) { return clock->cpu_us(clock->ctx); }

// The machine's clock. Static.
const Clock *clock_system(void);

// A clock that stands still until it is told to move. Must not be moved in memory after init, since `clock` points to it.
typedef struct ClockFake { Clock clock; int64_t wall_us, mono_us, cpu_us; } ClockFake;
void clock_fake_init(ClockFake *fake, int64_t wall_us);
void clock_fake_advance(ClockFake *fake, int64_t by_us);  // wall and monotonic time go on together
