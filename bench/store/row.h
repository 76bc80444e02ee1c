// The rows both contestants of bench/store keep: eight fields, the key among them. Row i is the same everywhere.
//
// Owns:   nothing; a row's texts live in the row.
// Thread: any.
#pragma once
#include "bench/lib/bench.h"

enum { ROW_BATCH = 64, ROW_TEXT_BYTES = 24 };

typedef struct BenchRow {
  int64_t id, a, b, amount, at;
  bool flag;
  char name[ROW_TEXT_BYTES], note[ROW_TEXT_BYTES];
  size_t name_len, note_len;
} BenchRow;

void row_make(uint32_t number, BenchRow *out_row);   // id: number + 1
uint64_t row_bytes(const BenchRow *row);             // of its values, raw

// What a program is asked for: usage: rows_… COUNT random|ordered
typedef struct RowPlan { uint32_t count; uint32_t *order; uint32_t *probes; } RowPlan;  // probes: numbers of rows, at random
RowPlan row_plan(int count, char **words);
void row_print_memory(const RowPlan *plan, uint64_t bytes);
