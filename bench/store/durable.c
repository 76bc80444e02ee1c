// The loop and the clock of durable commits.
#include "bench/store/durable.h"

#include <stdio.h>

void durable_run(const DurableWay *way, double seconds) {
  static BenchHistogram latency;  // in tenths of a microsecond
  BenchRandom random = {.state = 1};
  double cpu_s = bench_cpu_s();
  uint64_t start_ns = bench_now_ns(), now_ns = start_ns, end_ns = start_ns + (uint64_t)(seconds * 1e9);
  while (now_ns < end_ns) {
    uint32_t rows[DURABLE_CHANGES];
    for (unsigned i = 0; i < DURABLE_CHANGES; i++) rows[i] = (uint32_t)bench_random_below(&random, DURABLE_ROWS);
    way->commit(way->context, rows);
    uint64_t done_ns = bench_now_ns();
    bench_histogram_add(&latency, (done_ns - now_ns) / 100);
    now_ns = done_ns;
  }
  double commits = (double)latency.count;
  printf("{\"rate\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"cpu_us\":%.2f}\n", commits / ((double)(now_ns - start_ns) / 1e9),
         (double)bench_histogram_at(&latency, 0.5) / 10, (double)bench_histogram_at(&latency, 0.99) / 10, (bench_cpu_s() - cpu_s) / commits * 1e6);
}
