// See scan.h. A leaf is worked through in chunks of VECTOR_ROWS: run the filters, keep the numbers of the rows that pass,
// then either fold them or give them out one by one. A chunk that cannot be run over vectors is given out whole, and for its
// rows filters_done is 0.
#include "runtime/query/scan.h"

#include <assert.h>

enum { CHUNK_FUEL = 8 };

struct VectorScan {
  const Function *function;
  const Stage *fused_stage;                // NULL: none
  Vectors *vectors;
  VectorBlock *filters[SCAN_FILTERS_MAX], *input;  // input: the fused stage's block
  uint16_t filter_registers[SCAN_FILTERS_MAX];
  uint8_t filter_count, fused;
  uint8_t filters_done;                    // of them: the last is run again for the rows that pass when others read what it computes
  Cursor *cursor;
  LeafBatch batch;
  bool has_batch, by_row;                  // by_row: the present chunk could not be run over vectors
  uint32_t done;                           // rows of the batch that chunks have taken, in the cursor's direction
  uint32_t first, count;                   // of the present chunk
  uint32_t selected_count, given;
  uint16_t selected[VECTOR_ROWS];          // in the cursor's direction
};

uint8_t scan__filters_done(const VectorScan *scan) { return scan->by_row ? 0 : scan->filters_done; }
uint8_t scan__fused(const VectorScan *scan) { return scan->fused; }

static bool take_filters(Exec *exec, VectorScan *scan, const Plan *plan, uint16_t plan_index, uint8_t stage) {
  for (uint16_t i = stage + 1; i < plan->stage_count && plan->stages[i].kind == STAGE_FILTER && scan->filter_count < SCAN_FILTERS_MAX; i++) {
    VectorBlock *block = vector__prepare(exec, scan->function, plan_index, stage, plan->stages[i].block);
    if (!block || !vector__knows(block, plan->stages[i].from)) break;
    scan->filters[scan->filter_count] = block;
    scan->filter_registers[scan->filter_count++] = plan->stages[i].from;
    if (vector__leaves_values(block, &plan->stages[i])) break;
    scan->filters_done++;
  }
  return scan->filter_count > 0;
}

static bool take_groups(Exec *exec, VectorScan *scan, const Plan *plan, uint16_t plan_index, uint8_t stage) {
  uint16_t next = stage + 1 + scan->filter_count;
  if (stage != 0 || next >= plan->stage_count || scan->filters_done < scan->filter_count || !groups__take_rows(scan->function, exec__types(exec), &plan->stages[next])) return false;
  scan->input = vector__prepare(exec, scan->function, plan_index, stage, plan->stages[next].block);
  if (!scan->input) return false;
  scan->fused_stage = &plan->stages[next];
  scan->fused = (uint8_t)(1 + scan->filter_count);
  return true;
}

VectorScan *scan__prepare(Exec *exec, const Function *function, uint16_t plan_index, uint8_t stage) {
  VectorScan *scan = arena_alloc(&exec->arena, sizeof *scan);
  if (!scan) return NULL;
  const Plan *plan = &function->plans[plan_index];
  *scan = (VectorScan){.function = function};
  bool filters = take_filters(exec, scan, plan, plan_index, stage), groups = take_groups(exec, scan, plan, plan_index, stage);
  if (!filters && !groups) return NULL;
  scan->vectors = vectors__new(exec);
  return scan->vectors ? scan : NULL;
}

void scan__start(VectorScan *scan, Cursor *cursor) {
  scan->cursor = cursor;
  scan->has_batch = scan->by_row = false;
  scan->selected_count = scan->given = 0;
}

// ---- chunks -----------------------------------------------------------------------------------------

static void select_all(VectorScan *scan) {
  for (uint32_t i = 0; i < scan->count; i++) scan->selected[i] = (uint16_t)i;
  scan->selected_count = scan->count;
}

// Keeps the selected rows whose flag is set; branch-free, since which rows pass is not to be foreseen.
static void keep_selected(VectorScan *scan, const int64_t *flags) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < scan->selected_count; i++) {
    uint16_t row = scan->selected[i];
    scan->selected[kept] = row;
    kept += flags[row] != 0;
  }
  scan->selected_count = kept;
}

static bool run_filters(VectorScan *scan, const Value *registers) {
  for (uint8_t i = 0; i < scan->filter_count; i++) {
    if (!vector__run(scan->filters[i], scan->vectors, &scan->batch, scan->first, scan->count, registers)) return false;
    int64_t one;
    const int64_t *flags = vector__values(scan->filters[i], scan->vectors, scan->filter_registers[i], registers, &one);
    if (flags) keep_selected(scan, flags);
    else if (!one) scan->selected_count = 0;
    if (!scan->selected_count) return true;
  }
  return true;
}

static void turn_selected(VectorScan *scan) {
  for (uint32_t i = 0, j = scan->selected_count; i + 1 < j; i++) {
    j--;
    uint16_t row = scan->selected[i];
    scan->selected[i] = scan->selected[j];
    scan->selected[j] = row;
  }
}

static void begin_chunk(VectorScan *scan, const Value *registers) {
  uint32_t left = scan->batch.count - scan->done;
  scan->count = left < VECTOR_ROWS ? left : VECTOR_ROWS;
  scan->first = scan->batch.backward ? left - scan->count : scan->done;
  scan->done += scan->count;
  scan->given = 0;
  select_all(scan);
  scan->by_row = !run_filters(scan, registers);
  if (scan->by_row) select_all(scan);
  if (scan->batch.backward) turn_selected(scan);
}

static RowNumbers numbers_of(const VectorScan *scan, uint16_t reg, const Value *registers) {
  RowNumbers numbers = {0};
  if (reg != NO_REGISTER) numbers.values = vector__values(scan->input, scan->vectors, reg, registers, &numbers.one);
  return numbers;
}

// Folds the selected rows. 1: done; 0: this chunk's numbers cannot be had so; -1: fault.
static int fold_chunk(Exec *exec, VectorScan *scan, Groups *groups, Value *registers) {
  if (!scan->selected_count) return 1;
  if (!vector__run(scan->input, scan->vectors, &scan->batch, scan->first, scan->count, registers)) return 0;
  const Stage *stage = scan->fused_stage;
  RowSet rows = {.selected = scan->selected, .count = scan->selected_count};
  if (stage->key_count) rows.key = numbers_of(scan, stage->keys[0], registers);
  for (uint16_t i = 0; i < stage->aggregate_count; i++) rows.aggregates[i] = numbers_of(scan, stage->aggregates[i].from, registers);
  if (!groups__add_rows(exec, groups, &rows, registers)) return -1;
  scan->selected_count = 0;
  return 1;
}

static uint32_t last_row(const LeafBatch *batch) { return batch->backward ? 0 : batch->count - 1; }

static bool next_batch(VectorScan *scan) {
  if (scan->has_batch) batch_stand(&scan->batch, last_row(&scan->batch));
  scan->has_batch = cursor_batch(scan->cursor, &scan->batch);
  scan->done = 0;
  return scan->has_batch;
}

ScanNext scan__next(Exec *exec, VectorScan *scan, Groups *groups, Value *registers) {
  for (;;) {
    if (scan->given < scan->selected_count) {
      batch_stand(&scan->batch, scan->first + scan->selected[scan->given++]);
      return SCAN_ROW;
    }
    if (exec->fuel_left <= 0) return SCAN_AGAIN;
    if ((!scan->has_batch || scan->done == scan->batch.count) && !next_batch(scan)) return SCAN_END;
    begin_chunk(scan, registers);
    if (!vm_charge(exec, CHUNK_FUEL + scan->count)) {
      vm_fault(exec, FAULT_BUDGET, "too many rows visited");
      return SCAN_FAILED;
    }
    int folded = groups && !scan->by_row ? fold_chunk(exec, scan, groups, registers) : 1;
    if (folded < 0) return SCAN_FAILED;
    if (folded == 0) {
      scan->by_row = true;  // filters will be run again for these rows; that changes nothing
      select_all(scan);
      if (scan->batch.backward) turn_selected(scan);
    }
  }
}
