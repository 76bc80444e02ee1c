// Durable commits: each contestant changes DURABLE_CHANGES random rows of DURABLE_ROWS, makes them durable at once, and
// begins again. A contestant is two functions; the clock, the order of rows and the printing are the same for all.
//
// Owns:   nothing.
// Thread: one.
#pragma once
#include "bench/lib/bench.h"

enum { DURABLE_ROWS = 10000, DURABLE_CHANGES = 64 };

typedef struct DurableWay {
  void *context;
  void (*commit)(void *context, const uint32_t *rows);  // adds one to each of DURABLE_CHANGES rows; returns when they are on disk
} DurableWay;

// Commits for so many seconds and prints {"rate":…,"p50_us":…,"p99_us":…,"cpu_us":…}, all by commit.
void durable_run(const DurableWay *way, double seconds);
