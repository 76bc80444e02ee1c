// Rows out of a row's number, and the order in which they are put in and asked for.
#include "bench/store/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void row_make(uint32_t number, BenchRow *out_row) {
  BenchRandom random = {.state = number};
  BenchRow row = {.id = (int64_t)number + 1};
  row.a = (int64_t)bench_random_below(&random, 1000000);
  row.b = (int64_t)bench_random(&random) >> 8;
  row.amount = (int64_t)bench_random_below(&random, 10000000);
  row.at = 1700000000000000 + (int64_t)number * 1000;
  row.flag = row.a & 1;
  row.name_len = (size_t)snprintf(row.name, sizeof row.name, "user-%u", number);
  row.note_len = (size_t)snprintf(row.note, sizeof row.note, "note %.*s", (int)bench_random_below(&random, 16), "abcdefghijklmnopq");
  *out_row = row;
}

uint64_t row_bytes(const BenchRow *row) { return 5 * sizeof(int64_t) + 1 + row->name_len + row->note_len; }

RowPlan row_plan(int count, char **words) {
  if (count != 3) bench_fail("usage: %s COUNT random|ordered", words[0]);
  RowPlan plan = {.count = (uint32_t)strtoul(words[1], NULL, 10)};
  if (!plan.count) bench_fail("COUNT must be above zero");
  plan.order = bench_alloc(plan.count * sizeof(uint32_t));
  plan.probes = bench_alloc(plan.count * sizeof(uint32_t));
  for (uint32_t i = 0; i < plan.count; i++) plan.order[i] = plan.probes[i] = i;
  BenchRandom random = {.state = 1};
  if (strcmp(words[2], "random") == 0) bench_shuffle(&random, plan.order, plan.count);
  bench_shuffle(&random, plan.probes, plan.count);
  return plan;
}

void row_print_memory(const RowPlan *plan, uint64_t bytes) {
  uint64_t raw = 0;
  for (uint32_t i = 0; i < plan->count; i++) {
    BenchRow row;
    row_make(i, &row);
    raw += row_bytes(&row);
  }
  printf("{\"name\":\"memory\",\"bytes_per_row\":%.2f,\"raw_per_row\":%.2f}\n", (double)bytes / plan->count, (double)raw / plan->count);
}
