// A query at work: a chain of stages, walked forward with a frame and back for the next one.
//
//   at ──────►  [ SCAN ] ─► [ FILTER ] ─► [ ORDER ] ─► [ TAKE ] ─► frame
//                  ▲            │ no          │ keeps it
//                  └────────────┴─────────────┘ back for another; after the last, the first stage that still
//                                               gathers is told (EXHAUSTED) and begins to give out
//
// Each stage is a function of the event that reaches it and answers where to go. All that it must remember stands in its
// StageState, nothing on the C stack, so that a query stops and goes on after any row: when a block must run (the machine
// runs it on the same registers) and when the slice of fuel is used up.
#include <assert.h>

#include "runtime/query/query_host.h"
#include "runtime/query/scan.h"

typedef enum Event { EVENT_FORWARD, EVENT_BACK, EVENT_BLOCK_RAN, EVENT_EXHAUSTED, EVENT_AGAIN } Event;
typedef enum Move { MOVE_FORWARD, MOVE_BACK, MOVE_BLOCK, MOVE_DONE, MOVE_AGAIN, MOVE_FAILED } Move;  // DONE: this stage gives nothing more

typedef struct StageState {
  bool ready;            // SKIP, TAKE: `left` is computed; ORDER, GROUP, AGGREGATE: gives out
  int64_t at, left;      // LIST, NUMBERS: the next and the last; SKIP, TAKE: left
  const List *list;
  Cursor *cursor;
  Range range;
  Value *equal;          // the range's own copies
  VectorScan *vectors;   // SCAN: how it runs over whole leaves, or NULL
  bool looked;           // SCAN: whether it can was looked at; ORDER: how many frames are wanted is known
  uint16_t limit_stage;  // ORDER: the TAKE or SKIP whose count is being computed, or 0
  Gather *gather;
  Groups *groups;
} StageState;

typedef struct Query {
  const Function *function;
  const Plan *plan;
  uint16_t plan_index;
  uint16_t block;        // to run when a stage answers MOVE_BLOCK
  uint16_t at;
  Event event;           // what reaches stage `at` next
  bool given;            // a frame was given; the next step goes back from the end
  bool ended;
  StageState states[];
} Query;

enum { ROW_FUEL = 4 };

void query_context_init(QueryContext *context, const Reader *reader, Txn *txn) {
  *context = (QueryContext){.reader = reader, .txn = txn};
}

void query_context_free(QueryContext *context) { buf_free(&context->scratch); }

HostResult value__settle(Exec *exec, TypeId type, Value *value) {
  if (!reader_moves(exec__context(exec)->reader)) return HOST_OK;
  if (!vm_charge(exec, 1) || !value_copy(exec__types(exec), type, *value, &exec->arena, value)) {
    return vm_fault(exec, FAULT_BUDGET, "no memory for a value");
  }
  return HOST_OK;
}

// A query inside a loop is opened again and again: what its stages hold is used again, so that the arena does not grow.
static void begin_again(StageState *state) {
  state->ready = false;
  if (state->gather) state->looked = false;
  state->limit_stage = 0;
  if (state->gather) gather__reset(state->gather);
  if (state->groups) groups__reset(state->groups);
}

HostResult query__open(Exec *exec, const Function *function, uint16_t plan_index, void **slot) {
  assert(plan_index < function->plan_count);
  const Plan *plan = &function->plans[plan_index];
  Query *query = *slot;
  if (!query) query = arena_alloc_zero(&exec->arena, 1, sizeof *query + sizeof(StageState) * plan->stage_count);
  if (!query) return vm_fault(exec, FAULT_BUDGET, "no memory for a query");
  *query = (Query){.function = function, .plan = plan, .plan_index = plan_index, .event = EVENT_FORWARD};
  for (uint16_t i = 0; i < plan->stage_count; i++) begin_again(&query->states[i]);
  *slot = query;
  return HOST_OK;
}

void query__close(Exec *exec, void *slot) {
  (void)exec;
  if (slot) ((Query *)slot)->ended = true;
}

// ---- generators: stages that make frames --------------------------------------------------------

static bool fill_range(Exec *exec, const Stage *stage, StageState *state, const Value *registers) {
  if (!state->equal && stage->equal_count) state->equal = ARENA_ARRAY(&exec->arena, Value, stage->equal_count);
  if (stage->equal_count && !state->equal) return false;
  for (uint16_t i = 0; i < stage->equal_count; i++) state->equal[i] = registers[stage->from + i];
  const Value *bounds = registers + stage->from + stage->equal_count;
  Range *range = &state->range;
  *range = (Range){.table = stage->table, .index = stage->index, .equal_count = stage->equal_count, .equal = state->equal,
                   .has_low = stage->flags & SCAN_HAS_LOW, .has_high = stage->flags & SCAN_HAS_HIGH,
                   .low_inclusive = stage->flags & SCAN_LOW_INCLUSIVE, .high_inclusive = stage->flags & SCAN_HIGH_INCLUSIVE,
                   .backward = stage->flags & SCAN_BACKWARD};
  if (range->has_low) range->low = *bounds++;
  if (range->has_high) range->high = *bounds;
  return true;
}

static Move out_of_memory(Exec *exec, const char *for_what) {
  vm_fault(exec, FAULT_BUDGET, for_what);
  return MOVE_FAILED;
}

// The next row over vectors. Rows that a fused GROUP or AGGREGATE has taken do not come out.
static Move vector_advance(Exec *exec, Query *query, StageState *state, Value *registers) {
  uint8_t fused = scan__fused(state->vectors);
  Groups **groups = fused ? &query->states[query->at + fused].groups : NULL;
  if (groups && !*groups) *groups = groups__new(exec, query->function, &query->plan->stages[query->at + fused]);
  if (groups && !*groups) return out_of_memory(exec, "no memory to group");
  switch (scan__next(exec, state->vectors, groups ? *groups : NULL, registers)) {
    case SCAN_ROW: return MOVE_FORWARD;
    case SCAN_END: return MOVE_BACK;
    case SCAN_AGAIN: return MOVE_AGAIN;
    case SCAN_FAILED: return MOVE_FAILED;
  }
  return MOVE_FAILED;
}

static Move scan_advance(Exec *exec, Query *query, const Stage *stage, StageState *state, Value *registers) {
  if (!vm_charge(exec, ROW_FUEL)) return out_of_memory(exec, "too many rows visited");
  if (state->vectors) {
    Move move = vector_advance(exec, query, state, registers);
    if (move != MOVE_FORWARD) return move;
  } else if (!cursor_next(state->cursor)) {
    return MOVE_BACK;
  }
  if (stage->to == NO_REGISTER) return MOVE_FORWARD;
  Value *key = &registers[stage->to];
  if (cursor_key(state->cursor, &exec->arena, key) != ERR_NONE) return out_of_memory(exec, "no memory for a key");
  return value__settle(exec, query->function->registers[stage->to], key) == HOST_OK ? MOVE_FORWARD : MOVE_FAILED;
}

static bool open_scan(Exec *exec, Query *query, const Stage *stage, StageState *state, const Value *registers) {
  if (!fill_range(exec, stage, state, registers)) return false;
  if (cursor_open(exec__context(exec)->reader, &state->range, &exec->arena, &state->cursor) != ERR_NONE) return false;
  if (!state->looked) state->vectors = scan__prepare(exec, query->function, query->plan_index, (uint8_t)query->at);
  state->looked = true;
  if (state->vectors) scan__start(state->vectors, state->cursor);
  return true;
}

static Move scan_step(Exec *exec, Query *query, const Stage *stage, StageState *state, Value *registers) {
  if (query->event == EVENT_FORWARD && stage->block != NO_BLOCK) return MOVE_BLOCK;
  bool opens = query->event == EVENT_FORWARD || query->event == EVENT_BLOCK_RAN;
  if (opens && !open_scan(exec, query, stage, state, registers)) return out_of_memory(exec, "no memory to read a table");
  return scan_advance(exec, query, stage, state, registers);
}

static Move list_step(Exec *exec, const Stage *stage, StageState *state, Value *registers, Event event) {
  if (event == EVENT_FORWARD && stage->block != NO_BLOCK) return MOVE_BLOCK;
  if (event == EVENT_FORWARD || event == EVENT_BLOCK_RAN) {
    state->list = registers[stage->from].list;
    state->at = 0;
    state->left = state->list ? state->list->count : 0;
  }
  if (state->at >= state->left) return MOVE_BACK;
  if (!vm_charge(exec, 1)) return out_of_memory(exec, "too many items visited");
  registers[stage->to] = state->list->items[state->at++];
  return MOVE_FORWARD;
}

// `left` is the last number; an empty range has it below the first.
static Move numbers_step(Exec *exec, const Stage *stage, StageState *state, Value *registers, Event event) {
  if (event == EVENT_FORWARD && stage->block != NO_BLOCK) return MOVE_BLOCK;
  if (event == EVENT_FORWARD || event == EVENT_BLOCK_RAN) {
    state->at = registers[stage->from].i;
    state->left = registers[stage->from + 1].i;
    state->ready = state->at <= state->left;
  }
  if (!state->ready) return MOVE_BACK;
  if (!vm_charge(exec, 1)) return out_of_memory(exec, "too many numbers visited");
  registers[stage->to].i = state->at;
  if (state->at == state->left) state->ready = false;  // the last one; its successor might not be an int
  else state->at++;
  return MOVE_FORWARD;
}

static Move count_step(Exec *exec, const Stage *stage, StageState *state, Value *registers, Event event) {
  if (event == EVENT_BACK) return MOVE_BACK;
  if (event == EVENT_FORWARD && stage->block != NO_BLOCK) return MOVE_BLOCK;
  if (!fill_range(exec, stage, state, registers)) return out_of_memory(exec, "no memory for a range");
  registers[stage->to].i = (int64_t)range_count(exec__context(exec)->reader, &state->range);
  return MOVE_FORWARD;
}

// ---- stages that pass frames on -----------------------------------------------------------------

// Whether the scan before has already tested its row with this filter.
static bool is_done(const Query *query) {
  for (uint16_t back = 1; back <= SCAN_FILTERS_MAX && back <= query->at; back++) {
    const StageState *scan = &query->states[query->at - back];
    if (query->plan->stages[query->at - back].kind == STAGE_SCAN) return scan->vectors && scan__filters_done(scan->vectors) >= back;
  }
  return false;
}

static Move filter_step(const Query *query, const Stage *stage, const Value *registers) {
  Event event = query->event;
  if (event == EVENT_BACK) return MOVE_BACK;
  if (event == EVENT_FORWARD && stage->kind == STAGE_FILTER && is_done(query)) return MOVE_FORWARD;
  if (event == EVENT_FORWARD && stage->block != NO_BLOCK) return MOVE_BLOCK;
  return stage->kind == STAGE_EVAL || registers[stage->from].i ? MOVE_FORWARD : MOVE_BACK;
}

static Move limit_step(const Stage *stage, StageState *state, const Value *registers, Event event) {
  bool takes = stage->kind == STAGE_TAKE;
  if (event == EVENT_BACK) return takes && state->left <= 0 ? MOVE_DONE : MOVE_BACK;
  if (!state->ready) {
    if (event == EVENT_FORWARD && stage->block != NO_BLOCK) return MOVE_BLOCK;
    state->left = registers[stage->from].i;
    state->ready = true;
  }
  if (state->left <= 0) return takes ? MOVE_DONE : MOVE_FORWARD;
  state->left--;
  return takes ? MOVE_FORWARD : MOVE_BACK;
}

// ---- stages that gather -------------------------------------------------------------------------

static Move order_give(const Stage *stage, StageState *state, Value *registers) {
  return gather__next(state->gather, stage, registers) ? MOVE_FORWARD : MOVE_DONE;
}

// How many of the sorted frames will be asked for: what the SKIPs and the TAKE that follow say. Their counts do not depend on a
// frame, so that they can be computed before the first is kept. BLOCK: a count's block must run first; FORWARD: known.
static Move find_limit(Query *query, StageState *state, const Value *registers) {
  if (state->limit_stage) {
    StageState *counted = &query->states[state->limit_stage];
    counted->left = registers[query->plan->stages[state->limit_stage].from].i;
    counted->ready = true;
  }
  int64_t wanted = 0;
  for (uint16_t i = query->at + 1; i < query->plan->stage_count; i++) {
    const Stage *stage = &query->plan->stages[i];
    if (stage->kind == STAGE_EVAL) continue;
    if (stage->kind != STAGE_SKIP && stage->kind != STAGE_TAKE) break;
    if (!query->states[i].ready && stage->block != NO_BLOCK) {
      state->limit_stage = i;
      query->block = stage->block;
      return MOVE_BLOCK;
    }
    int64_t count = query->states[i].ready ? query->states[i].left : registers[stage->from].i;
    if (count < 0) count = 0;
    if (count > GATHER_LIMIT_MAX || wanted + count > GATHER_LIMIT_MAX) break;
    wanted += count;
    if (stage->kind == STAGE_TAKE) {
      state->gather->limit = (uint64_t)wanted;
      break;
    }
  }
  state->limit_stage = 0;
  state->looked = true;
  return MOVE_FORWARD;
}

static Move order_step(Exec *exec, Query *query, const Stage *stage, StageState *state, Value *registers) {
  Event event = query->event;
  if (!state->gather) state->gather = gather__new(exec, stage);
  if (!state->gather) return out_of_memory(exec, "no memory to sort");
  if (event == EVENT_BACK) return order_give(stage, state, registers);
  if (event == EVENT_EXHAUSTED || event == EVENT_AGAIN) {
    GatherState sorted = gather__sort(exec, state->gather, query->function, stage);
    if (sorted != GATHER_DONE) return sorted == GATHER_MORE ? MOVE_AGAIN : MOVE_FAILED;
    state->ready = true;
    return order_give(stage, state, registers);
  }
  if (!state->looked) {
    if (find_limit(query, state, registers) == MOVE_BLOCK) return MOVE_BLOCK;
    event = EVENT_FORWARD;
  }
  if (event == EVENT_FORWARD && stage->block != NO_BLOCK) return MOVE_BLOCK;
  return gather__add(exec, state->gather, query->function, stage, registers) ? MOVE_BACK : MOVE_FAILED;
}

static Move group_step(Exec *exec, const Function *function, const Stage *stage, StageState *state, Value *registers, Event event) {
  if (!state->groups) state->groups = groups__new(exec, function, stage);
  if (!state->groups) return out_of_memory(exec, "no memory to group");
  if (event == EVENT_FORWARD && stage->block != NO_BLOCK) return MOVE_BLOCK;
  if (event == EVENT_FORWARD || event == EVENT_BLOCK_RAN) return groups__add(exec, state->groups, registers) ? MOVE_BACK : MOVE_FAILED;
  if (event == EVENT_EXHAUSTED) {
    state->ready = true;
    if (!groups__finish(exec, state->groups)) return MOVE_FAILED;
  }
  int next = groups__next(exec, state->groups, registers);
  return next > 0 ? MOVE_FORWARD : next == 0 ? MOVE_DONE : MOVE_FAILED;
}

// ---- walking --------------------------------------------------------------------------------------

static bool gathers(const Stage *stage) {
  return stage->kind == STAGE_ORDER || stage->kind == STAGE_GROUP || stage->kind == STAGE_AGGREGATE;
}

static Move stage_step(Exec *exec, Query *query, Value *registers) {
  const Stage *stage = &query->plan->stages[query->at];
  StageState *state = &query->states[query->at];
  query->block = stage->block;
  switch ((StageKind)stage->kind) {
    case STAGE_SCAN: return scan_step(exec, query, stage, state, registers);
    case STAGE_LIST: return list_step(exec, stage, state, registers, query->event);
    case STAGE_NUMBERS: return numbers_step(exec, stage, state, registers, query->event);
    case STAGE_COUNT: return count_step(exec, stage, state, registers, query->event);
    case STAGE_FILTER: case STAGE_EVAL: return filter_step(query, stage, registers);
    case STAGE_SKIP: case STAGE_TAKE: return limit_step(stage, state, registers, query->event);
    case STAGE_ORDER: return order_step(exec, query, stage, state, registers);
    case STAGE_GROUP: case STAGE_AGGREGATE: return group_step(exec, query->function, stage, state, registers, query->event);
    case STAGE_KINDS: break;
  }
  assert(!"the verifier lets no other kind of stage through");
  return MOVE_FAILED;
}

// Stages up to `at` give nothing more: the next one that still gathers may begin to give out.
static void after_last(Query *query) {
  for (uint16_t i = query->at + 1; i < query->plan->stage_count; i++) {
    if (!gathers(&query->plan->stages[i]) || query->states[i].ready) continue;
    query->at = i;
    query->event = EVENT_EXHAUSTED;
    return;
  }
  query->ended = true;
}

static void walk(Query *query, Move move) {
  switch (move) {
    case MOVE_FORWARD:
      query->at++;
      query->event = EVENT_FORWARD;
      query->given = query->at == query->plan->stage_count;
      return;
    case MOVE_BACK:
      if (query->at == 0) { after_last(query); return; }
      query->at--;
      query->event = EVENT_BACK;
      return;
    case MOVE_DONE: after_last(query); return;
    case MOVE_BLOCK: query->event = EVENT_BLOCK_RAN; return;
    case MOVE_AGAIN: query->event = EVENT_AGAIN; return;
    case MOVE_FAILED: query->ended = true; return;
  }
}

QueryStep query__next(Exec *exec, void *slot, Value *registers) {
  Query *query = slot;
  if (!query) return (QueryStep){QUERY_END, 0};
  if (query->given) {
    query->given = false;
    query->at--;
    query->event = EVENT_BACK;
  }
  while (!query->ended) {
    if (exec->fuel_left <= 0) return (QueryStep){QUERY_AGAIN, 0};
    Move move = stage_step(exec, query, registers);
    walk(query, move);
    if (move == MOVE_FAILED) return (QueryStep){QUERY_FAILED, 0};
    if (move == MOVE_AGAIN) return (QueryStep){QUERY_AGAIN, 0};
    if (move == MOVE_BLOCK) return (QueryStep){QUERY_BLOCK, query->block};
    if (query->given) return (QueryStep){QUERY_FRAME, 0};
  }
  return (QueryStep){QUERY_END, 0};
}

// ---- rows under cursors ----------------------------------------------------------------------------

static StageState *scanning(void *slot, uint8_t stage) {
  Query *query = slot;
  if (!query || stage >= query->plan->stage_count || query->plan->stages[stage].kind != STAGE_SCAN) return NULL;
  return query->states[stage].cursor ? &query->states[stage] : NULL;
}

HostResult query__cursor_key(Exec *exec, void *slot, uint8_t stage, Value *out) {
  StageState *state = scanning(slot, stage);
  TypeId type = exec__types(exec)->table_keys[state ? state->range.table : 0];
  *out = (Value){0};
  if (!state) return HOST_OK;
  if (cursor_key(state->cursor, &exec->arena, out) != ERR_NONE) return vm_fault(exec, FAULT_BUDGET, "no memory for a key");
  return value__settle(exec, type, out);
}

HostResult query__cursor_column(Exec *exec, void *slot, uint8_t stage, uint16_t column, Value *out) {
  StageState *state = scanning(slot, stage);
  *out = (Value){0};
  if (!state) return HOST_OK;
  if (cursor_column(state->cursor, column, &exec->arena, out) != ERR_NONE) return vm_fault(exec, FAULT_BUDGET, "no memory for a column");
  return value__settle(exec, exec->module->schema.tables[state->range.table].columns[column].type, out);
}
