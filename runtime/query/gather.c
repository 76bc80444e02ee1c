// ORDER: keeps every frame, sorts frame numbers by a bottom-up merge sort, gives the frames out again. The sort is
// written as a loop over pairs of runs with its place in the struct, so that it can stop at the end of a slice however
// many frames there are, and it is stable, so that equal keys keep the order in which the frames came.
#include <assert.h>
#include <string.h>

#include "runtime/query/query_internal.h"

enum { FIRST_FRAMES = 16, COMPARE_FUEL = 4, TRIM_MIN = 64 };  // TRIM_MIN: frames worth sorting at once

Gather *gather__new(Exec *exec, const Stage *stage) {
  Gather *gather = ARENA_NEW(&exec->arena, Gather);
  if (gather) gather->width = (uint32_t)stage->key_count + stage->carried_count;
  return gather;
}

void gather__reset(Gather *gather) {
  gather->count = gather->given = 0;
  gather->sorting = gather->has_worst = false;
  gather->limit = 0;
}

static bool grow(Exec *exec, Gather *gather) {
  uint64_t cap = gather->cap ? gather->cap * 2 : FIRST_FRAMES;
  if (cap > QUERY_ROWS_MAX && gather->cap >= QUERY_ROWS_MAX) return false;
  size_t frame_size = sizeof(Value) * (gather->width ? gather->width : 1);
  Value *values = arena_grow(&exec->arena, gather->values, gather->cap * frame_size, cap * frame_size);
  if (!values) return false;
  gather->values = values;
  gather->cap = cap;
  return true;
}

static int compare_frames(const TypeTable *types, const Function *function, const Stage *stage, const Value *a, const Value *b) {
  for (uint16_t i = 0; i < stage->key_count; i++) {
    int order = value_compare(types, function->registers[stage->keys[i]], a[i], b[i]);
    if (order) return stage->descending[i] ? -order : order;
  }
  return 0;
}

// Merges the runs [start, middle) and [middle, end) of `order` into `spare`.
static void merge_pair(Exec *exec, Gather *g, const Function *function, const Stage *stage, uint64_t middle, uint64_t end) {
  const TypeTable *types = exec__types(exec);
  uint64_t a = g->pair, b = middle;
  for (uint64_t to = g->pair; to < end; to++) {
    bool take_b = a == middle || (b < end && compare_frames(types, function, stage, g->values + (uint64_t)g->order[b] * g->width,
                                                           g->values + (uint64_t)g->order[a] * g->width) < 0);
    g->spare[to] = take_b ? g->order[b++] : g->order[a++];
  }
}

static bool begin_sort(Exec *exec, Gather *gather) {
  if (gather->order_cap < gather->count || !gather->order) {
    gather->order = arena_alloc(&exec->arena, sizeof(uint32_t) * (gather->cap + 1));
    gather->spare = arena_alloc(&exec->arena, sizeof(uint32_t) * (gather->cap + 1));
    if (!gather->order || !gather->spare) return false;
    gather->order_cap = gather->cap;
  }
  for (uint64_t i = 0; i < gather->count; i++) gather->order[i] = (uint32_t)i;
  gather->run = 1;
  gather->pair = 0;
  gather->sorting = true;
  return true;
}

GatherState gather__sort(Exec *exec, Gather *gather, const Function *function, const Stage *stage) {
  if (!gather->sorting && !begin_sort(exec, gather)) {
    vm_fault(exec, FAULT_BUDGET, "no memory to sort");
    return GATHER_FAILED;
  }
  while (stage->key_count && gather->run < gather->count) {
    if (exec->fuel_left <= 0) return GATHER_MORE;
    uint64_t middle = gather->pair + gather->run, end = middle + gather->run;
    if (middle > gather->count) middle = gather->count;
    if (end > gather->count) end = gather->count;
    if (!vm_charge(exec, (end - gather->pair) * COMPARE_FUEL)) {
      vm_fault(exec, FAULT_BUDGET, "too much to sort");
      return GATHER_FAILED;
    }
    merge_pair(exec, gather, function, stage, middle, end);
    gather->pair = end;
    if (gather->pair < gather->count) continue;
    uint32_t *sorted = gather->spare;
    gather->spare = gather->order;
    gather->order = sorted;
    gather->run *= 2;
    gather->pair = 0;
  }
  return GATHER_DONE;
}

// ---- adding -------------------------------------------------------------------------------------------

// Keeps the `limit` first of twice as many frames, in order, and forgets the rest. Short enough not to stop in.
static bool trim(Exec *exec, Gather *gather, const Function *function, const Stage *stage) {
  size_t frame = sizeof(Value) * gather->width;
  int64_t slice = exec->fuel_left;
  GatherState sorted;
  do {
    if (exec->fuel_left <= 0) exec->fuel_left = 1;
    sorted = gather__sort(exec, gather, function, stage);
  } while (sorted == GATHER_MORE);
  if (slice <= 0) exec->fuel_left = slice;
  if (!gather->other) gather->other = arena_alloc(&exec->arena, frame * gather->cap);
  if (sorted == GATHER_FAILED || !gather->other) return false;
  for (uint64_t i = 0; i < gather->limit; i++) memcpy(gather->other + i * gather->width, gather->values + gather->order[i] * (uint64_t)gather->width, frame);
  Value *kept = gather->other;
  gather->other = gather->values;
  gather->values = kept;
  gather->count = gather->limit;
  gather->sorting = false;
  gather->has_worst = true;
  return true;
}

static bool comes_before_worst(const Exec *exec, const Gather *gather, const Function *function, const Stage *stage, const Value *registers) {
  const Value *worst = gather->values + (gather->limit - 1) * gather->width;
  for (uint16_t i = 0; i < stage->key_count; i++) {
    uint16_t key = stage->keys[i];
    int order = value_compare(exec__types(exec), function->registers[key], registers[key], worst[i]);
    if (order) return stage->descending[i] ? order > 0 : order < 0;
  }
  return false;
}

bool gather__add(Exec *exec, Gather *gather, const Function *function, const Stage *stage, const Value *registers) {
  if (gather->has_worst && !comes_before_worst(exec, gather, function, stage, registers)) return true;
  if (gather->count == gather->cap && !grow(exec, gather)) {
    vm_fault(exec, FAULT_BUDGET, "too many rows to sort at once");
    return false;
  }
  Value *frame = gather->values + gather->count++ * gather->width;
  for (uint16_t i = 0; i < stage->key_count; i++) *frame++ = registers[stage->keys[i]];
  for (uint16_t i = 0; i < stage->carried_count; i++) *frame++ = registers[stage->carried[i]];
  if (!gather->limit || gather->count < (gather->limit < TRIM_MIN / 2 ? TRIM_MIN : 2 * gather->limit)) return true;
  if (trim(exec, gather, function, stage)) return true;
  vm_fault(exec, FAULT_BUDGET, "too many rows to sort at once");
  return false;
}

bool gather__next(Gather *gather, const Stage *stage, Value *registers) {
  if (gather->given == gather->count) return false;
  const Value *frame = gather->values + (uint64_t)gather->order[gather->given++] * gather->width;
  for (uint16_t i = 0; i < stage->key_count; i++) registers[stage->keys[i]] = *frame++;
  for (uint16_t i = 0; i < stage->carried_count; i++) registers[stage->carried[i]] = *frame++;
  return true;
}
