// Inside the query room: a query's own state, and what gathers frames.
//
// Owns:   everything is in the Exec's arena and goes with it.
// Thread: that of the Exec.
// Errors: GATHER_FAILED and NULL mean that the Exec's fault is filled.
#pragma once
#include "runtime/query/query.h"

static inline const TypeTable *exec__types(const Exec *exec) { return &exec->module->schema.types; }
static inline QueryContext *exec__context(const Exec *exec) { return exec->host_context; }

// A value that was read from a page, safe to keep: what a Txn shows can change under it, so it is copied then; a
// snapshot stands still. NULL memory is fault BUDGET.
HostResult value__settle(Exec *exec, TypeId type, Value *value);

// ---- gather.c: frames kept for sorting ---------------------------------------------------------
// A kept frame is the values of the stage's keys, then of its carried registers.
typedef struct Gather {
  uint32_t width;           // values a frame
  uint64_t count, cap;
  Value *values;
  uint32_t *order, *spare;  // frame numbers, sorted so far; the other half of the merge
  uint64_t run, pair;       // the merge's place: length of sorted runs, start of the next pair
  uint64_t given;           // frames given out
  uint64_t order_cap;       // of `order` and `spare`
  bool sorting;
  uint64_t limit;           // only so many of the first frames are wanted; 0: all
  Value *other;             // room for as many frames, once it was trimmed
  bool has_worst;           // frame limit - 1 is the last wanted so far: what does not come before it is not kept
} Gather;
enum { GATHER_LIMIT_MAX = 8192 };     // a larger limit is not worth keeping sorted
Gather *gather__new(Exec *exec, const Stage *stage);
void gather__reset(Gather *gather);   // empty, with its room
bool gather__add(Exec *exec, Gather *gather, const Function *function, const Stage *stage, const Value *registers);
typedef enum GatherState { GATHER_DONE, GATHER_MORE, GATHER_FAILED } GatherState;
// Sorts for as long as the slice lasts. Stable.
GatherState gather__sort(Exec *exec, Gather *gather, const Function *function, const Stage *stage);
bool gather__next(Gather *gather, const Stage *stage, Value *registers);  // false after the last

// ---- group.c: frames folded into groups ---------------------------------------------------------
typedef struct Groups Groups;
Groups *groups__new(Exec *exec, const Function *function, const Stage *stage);
void groups__reset(Groups *groups);   // empty, with its room
bool groups__add(Exec *exec, Groups *groups, const Value *registers);
// Brings the groups into key order; an AGGREGATE without any frame gets its one.
bool groups__finish(Exec *exec, Groups *groups);
// 1: registers are filled; 0: there is no more; -1: fault.
int groups__next(Exec *exec, Groups *groups, Value *registers);

// Rows at once: numbers by row (NULL: `one` for all), of the key (GROUP by one) and of each aggregate; `selected` rows count.
typedef struct RowNumbers { const int64_t *values; int64_t one; } RowNumbers;
typedef struct RowSet { const uint16_t *selected; uint32_t count; RowNumbers key; RowNumbers aggregates[PLAN_AGGREGATES_MAX]; } RowSet;
// Whether all its keys and aggregates can be had from numbers.
bool groups__take_rows(const Function *function, const TypeTable *types, const Stage *stage);
bool groups__add_rows(Exec *exec, Groups *groups, const RowSet *rows, Value *registers);

// ---- bag.c: a set of encoded values --------------------------------------------------------------
// Numbers values 0, 1, 2 … by first time; equal values (of one run of types) get the same number.
typedef struct Bag { uint32_t count, slots; uint32_t *table; Str *keys; uint32_t cap; } Bag;                                  // all zeros at first
void bag__reset(Bag *bag);                                        // empty, with its room
Buf *bag__begin(Exec *exec);                                      // a new value is encoded into this
bool bag__number(Exec *exec, Bag *bag, uint32_t *out_number, bool *out_is_new);
