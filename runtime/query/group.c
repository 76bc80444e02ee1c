// GROUP and AGGREGATE: frames folded into groups as they come. A group is found by the encoded bytes of its keys; its
// accumulators are updated in frame order, so that first, last, list and float sums are the same at every replay.
// Sums run in 128 bits. A value of an optional type that is none is passed over by every aggregate but count.
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/decimal.h"
#include "runtime/query/query_internal.h"
#include "runtime/value/codec.h"

typedef struct Accumulator {
  uint64_t count;      // values taken
  __int128 sum;
  double float_sum;
  Value value;         // MIN, MAX, FIRST, LAST: so far
  List *list;          // LIST, DISTINCT
  Bag *bag;            // DISTINCT
} Accumulator;

struct Groups {
  const Function *function;
  const Stage *stage;
  Bag bag;
  uint32_t count, cap, given;
  Value *keys;                 // key_count a group
  Accumulator *accumulators;   // aggregate_count a group
  struct IntIndex *by_int;     // groups by a key that is a number; NULL until rows come at once
  uint32_t *order;
};

enum { FIRST_GROUPS = 8, FRAME_FUEL = 6, ITEM_FUEL = 2 };

static bool out_of_memory(Exec *exec) {
  vm_fault(exec, FAULT_BUDGET, "too many values to group at once");
  return false;
}

Groups *groups__new(Exec *exec, const Function *function, const Stage *stage) {
  Groups *groups = ARENA_NEW(&exec->arena, Groups);
  if (!groups) return NULL;
  groups->function = function;
  groups->stage = stage;
  return groups;
}

void groups__reset(Groups *groups) {
  bag__reset(&groups->bag);
  groups->count = groups->given = 0;
  groups->by_int = NULL;
}

static bool grow(Exec *exec, Groups *groups) {
  uint32_t cap = groups->cap ? groups->cap * 2 : FIRST_GROUPS;
  size_t key_size = sizeof(Value) * groups->stage->key_count, acc_size = sizeof(Accumulator) * groups->stage->aggregate_count;
  Value *keys = arena_grow(&exec->arena, groups->keys, groups->cap * key_size, cap * key_size);
  Accumulator *accumulators = arena_grow(&exec->arena, groups->accumulators, groups->cap * acc_size, cap * acc_size);
  if (!keys || !accumulators) return false;
  groups->keys = keys;
  groups->accumulators = accumulators;
  groups->cap = cap;
  return true;
}

// The group of the frame in `registers`, made when it is the first of its kind.
static bool find_group(Exec *exec, Groups *groups, const Value *registers, uint32_t *out_group) {
  const Stage *stage = groups->stage;
  Buf *scratch = bag__begin(exec);
  for (uint16_t i = 0; i < stage->key_count; i++) {
    uint16_t key = stage->keys[i];
    value_encode(exec__types(exec), groups->function->registers[key], registers[key], scratch);
  }
  bool is_new;
  if (!bag__number(exec, &groups->bag, out_group, &is_new)) return false;
  if (!is_new) return true;
  assert(*out_group == groups->count);
  if (groups->count == groups->cap && !grow(exec, groups)) return false;
  for (uint16_t i = 0; i < stage->key_count; i++) {
    groups->keys[(size_t)groups->count * stage->key_count + i] = registers[stage->keys[i]];
  }
  memset(groups->accumulators + (size_t)groups->count * stage->aggregate_count, 0, sizeof(Accumulator) * stage->aggregate_count);
  groups->count++;
  return true;
}

static bool list_add(Exec *exec, List **list, Value value) {
  uint32_t count = *list ? (*list)->count : 0, cap = *list ? (*list)->cap : 0;
  if (count == cap) {
    if (cap > UINT32_MAX / 2) return false;
    uint32_t more = cap ? cap * 2 : 4;
    List *grown = arena_grow(&exec->arena, *list, *list ? sizeof(List) + sizeof(Value) * cap : 0, sizeof(List) + sizeof(Value) * more);
    if (!grown) return false;
    grown->count = count;
    grown->cap = more;
    *list = grown;
  }
  (*list)->items[(*list)->count++] = value;
  return true;
}

static bool add_distinct(Exec *exec, Accumulator *acc, TypeId type, Value value) {
  if (!acc->bag) {
    acc->bag = ARENA_NEW(&exec->arena, Bag);
    if (!acc->bag) return false;
  }
  uint32_t number;
  bool is_new;
  value_encode(exec__types(exec), type, value, bag__begin(exec));
  if (!bag__number(exec, acc->bag, &number, &is_new)) return false;
  return !is_new || list_add(exec, &acc->list, value);
}

// The sum's three shapes: float, decimal (128 bits already), int or duration. False: it went past 128 bits.
static bool add_sum(Accumulator *acc, TypeKind kind, Value value) {
  if (kind == TYPE_FLOAT) { acc->float_sum += value.f; return isfinite(acc->float_sum); }
  return !__builtin_add_overflow(acc->sum, kind == TYPE_DECIMAL ? value.dec : (__int128)value.i, &acc->sum);
}

static bool take_value(Exec *exec, Accumulator *acc, const Aggregate *aggregate, TypeId type, Value value) {
  const TypeTable *types = exec__types(exec);
  TypeKind kind = type_kind(types, type);
  bool first = acc->count++ == 0;
  switch ((AggregateKind)aggregate->kind) {
    case AGGREGATE_COUNT: return true;
    case AGGREGATE_COUNT_IF: case AGGREGATE_ANY: case AGGREGATE_ALL: acc->sum += value.i != 0; return true;
    case AGGREGATE_SUM: case AGGREGATE_AVG:
      if (!add_sum(acc, kind, value)) { vm_fault(exec, FAULT_OVERFLOW, "in a sum"); return false; }
      return true;
    case AGGREGATE_MIN: if (first || value_compare(types, type, value, acc->value) < 0) acc->value = value; return true;
    case AGGREGATE_MAX: if (first || value_compare(types, type, value, acc->value) > 0) acc->value = value; return true;
    case AGGREGATE_FIRST: if (first) acc->value = value; return true;
    case AGGREGATE_LAST: acc->value = value; return true;
    case AGGREGATE_LIST: return list_add(exec, &acc->list, value) || out_of_memory(exec);
    case AGGREGATE_DISTINCT: return add_distinct(exec, acc, type, value) || out_of_memory(exec);
    case AGGREGATE_KINDS: break;
  }
  assert(!"the verifier lets no other aggregate through");
  return false;
}

bool groups__add(Exec *exec, Groups *groups, const Value *registers) {
  const Stage *stage = groups->stage;
  const TypeTable *types = exec__types(exec);
  uint32_t group;
  if (!vm_charge(exec, FRAME_FUEL + (uint64_t)ITEM_FUEL * stage->aggregate_count)) {
    vm_fault(exec, FAULT_BUDGET, "too many rows visited");
    return false;
  }
  if (!find_group(exec, groups, registers, &group)) return out_of_memory(exec);
  for (uint16_t i = 0; i < stage->aggregate_count; i++) {
    const Aggregate *aggregate = &stage->aggregates[i];
    Accumulator *acc = &groups->accumulators[(size_t)group * stage->aggregate_count + i];
    if (aggregate->from == NO_REGISTER) { acc->count++; continue; }
    TypeId type = groups->function->registers[aggregate->from];
    Value value = registers[aggregate->from];
    if (type_kind(types, type) == TYPE_OPTIONAL) {
      if (!value_is_some(types, type, value)) continue;
      value = value_open(types, type, value);
      type = types->types[type].of;
    }
    if (!take_value(exec, acc, aggregate, type, value)) return false;
  }
  return true;
}

// ---- rows at once -----------------------------------------------------------------------------------

// Numbers to groups, open addressing; a group's number is kept plus one.
typedef struct IntIndex { uint32_t slots, count; int64_t *keys; uint32_t *groups; } IntIndex;
enum { FIRST_INT_SLOTS = 64 };

static bool is_number(const Function *function, const TypeTable *types, uint16_t reg) {
  TypeKind kind = type_kind(types, function->registers[reg]);
  return kind == TYPE_DECIMAL || (kind != TYPE_OPTIONAL && type_repr(types, function->registers[reg]) == REPR_I64);
}

bool groups__take_rows(const Function *function, const TypeTable *types, const Stage *stage) {
  if (stage->kind != STAGE_AGGREGATE && !(stage->kind == STAGE_GROUP && stage->key_count == 1)) return false;
  if (stage->key_count == 1 && !is_number(function, types, stage->keys[0])) return false;
  for (uint16_t i = 0; i < stage->aggregate_count; i++) {
    uint8_t kind = stage->aggregates[i].kind;
    if (kind == AGGREGATE_LIST || kind == AGGREGATE_DISTINCT) return false;
    if (stage->aggregates[i].from != NO_REGISTER && !is_number(function, types, stage->aggregates[i].from)) return false;
  }
  return true;
}

static Value number_value(const TypeTable *types, TypeId type, int64_t number) {
  return type_kind(types, type) == TYPE_DECIMAL ? (Value){.dec = number} : (Value){.i = number};
}

static int64_t number_at(const RowNumbers *numbers, uint16_t row) { return numbers->values ? numbers->values[row] : numbers->one; }

static uint32_t *int_slot(const IntIndex *index, int64_t key) {
  uint32_t mask = index->slots - 1, at = (uint32_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 32) & mask;
  while (index->groups[at] && index->keys[at] != key) at = (at + 1) & mask;
  index->keys[at] = key;
  return &index->groups[at];
}

static bool grow_ints(Exec *exec, IntIndex *index) {
  IntIndex more = {.slots = index->slots ? index->slots * 2 : FIRST_INT_SLOTS, .count = index->count};
  more.keys = ARENA_ARRAY(&exec->arena, int64_t, more.slots);
  more.groups = ARENA_ARRAY(&exec->arena, uint32_t, more.slots);
  if (!more.keys || !more.groups) return false;
  for (uint32_t i = 0; i < index->slots; i++) {
    if (index->groups[i]) *int_slot(&more, index->keys[i]) = index->groups[i];
  }
  *index = more;
  return true;
}

// Which group a row belongs to; the first of its kind makes it, by way of the register like any other frame.
static bool group_of_number(Exec *exec, Groups *groups, int64_t key, Value *registers, uint32_t *out_group) {
  const Stage *stage = groups->stage;
  IntIndex *index = groups->by_int;
  if (!index) index = groups->by_int = ARENA_NEW(&exec->arena, IntIndex);
  if (!index || (index->count * 2 >= index->slots && !grow_ints(exec, index))) return false;
  uint32_t *slot = int_slot(index, key);
  if (!*slot) {
    registers[stage->keys[0]] = number_value(exec__types(exec), groups->function->registers[stage->keys[0]], key);
    if (!find_group(exec, groups, registers, out_group)) return false;
    *slot = *out_group + 1;
    index->count++;
  }
  *out_group = *slot - 1;
  return true;
}

static bool take_number(Exec *exec, Accumulator *acc, const Aggregate *aggregate, TypeId type, int64_t number) {
  switch (aggregate->kind) {
    case AGGREGATE_SUM: case AGGREGATE_AVG: acc->count++; acc->sum += number; return true;  // 2^64 rows of 2^63 fit 128 bits
    case AGGREGATE_COUNT: acc->count++; return true;
    default: return take_value(exec, acc, aggregate, type, number_value(exec__types(exec), type, number));
  }
}

static bool add_row(Exec *exec, Groups *groups, const RowSet *rows, uint16_t row, uint32_t group) {
  const Stage *stage = groups->stage;
  Accumulator *acc = &groups->accumulators[(size_t)group * stage->aggregate_count];
  for (uint16_t i = 0; i < stage->aggregate_count; i++, acc++) {
    const Aggregate *aggregate = &stage->aggregates[i];
    if (aggregate->from == NO_REGISTER) { acc->count++; continue; }
    if (!take_number(exec, acc, aggregate, groups->function->registers[aggregate->from], number_at(&rows->aggregates[i], row))) return false;
  }
  return true;
}

// The commonest by far: counting and summing all rows into the one group.
static bool add_column(Exec *exec, Groups *groups, const RowSet *rows, uint16_t index) {
  const Aggregate *aggregate = &groups->stage->aggregates[index];
  const RowNumbers *numbers = &rows->aggregates[index];
  Accumulator *acc = &groups->accumulators[index];
  bool sums = aggregate->kind == AGGREGATE_SUM || aggregate->kind == AGGREGATE_AVG;
  if (aggregate->from == NO_REGISTER || aggregate->kind == AGGREGATE_COUNT) { acc->count += rows->count; return true; }
  for (uint32_t i = 0; sums && i < rows->count; i++) acc->sum += number_at(numbers, rows->selected[i]);
  if (sums) { acc->count += rows->count; return true; }
  TypeId type = groups->function->registers[aggregate->from];
  for (uint32_t i = 0; i < rows->count; i++) {
    if (!take_number(exec, acc, aggregate, type, number_at(numbers, rows->selected[i]))) return false;
  }
  return true;
}

bool groups__add_rows(Exec *exec, Groups *groups, const RowSet *rows, Value *registers) {
  const Stage *stage = groups->stage;
  uint32_t group = 0;
  if (rows->count == 0) return true;
  if (stage->kind == STAGE_AGGREGATE) {
    if (!groups->count && !find_group(exec, groups, registers, &group)) return out_of_memory(exec);
    for (uint16_t i = 0; i < stage->aggregate_count; i++) {
      if (!add_column(exec, groups, rows, i)) return false;
    }
    return true;
  }
  for (uint32_t i = 0; i < rows->count; i++) {
    uint16_t row = rows->selected[i];
    if (!group_of_number(exec, groups, number_at(&rows->key, row), registers, &group)) return out_of_memory(exec);
    if (!add_row(exec, groups, rows, row, group)) return false;
  }
  return true;
}

// ---- giving out -------------------------------------------------------------------------------------

typedef struct OrderContext { const TypeTable *types; const Groups *groups; } OrderContext;

static int compare_groups(const void *a, const void *b, void *context) {
  const OrderContext *order = context;
  const Stage *stage = order->groups->stage;
  const Value *x = order->groups->keys + (size_t)*(const uint32_t *)a * stage->key_count;
  const Value *y = order->groups->keys + (size_t)*(const uint32_t *)b * stage->key_count;
  for (uint16_t i = 0; i < stage->key_count; i++) {
    int result = value_compare(order->types, order->groups->function->registers[stage->keys[i]], x[i], y[i]);
    if (result) return result;
  }
  return 0;
}

bool groups__finish(Exec *exec, Groups *groups) {
  if (groups->stage->kind == STAGE_AGGREGATE && groups->count == 0) {
    if (!groups->cap && !grow(exec, groups)) return out_of_memory(exec);
    memset(groups->accumulators, 0, sizeof(Accumulator) * groups->stage->aggregate_count);
    groups->count = 1;
  }
  groups->order = arena_alloc(&exec->arena, sizeof(uint32_t) * (groups->count + 1));
  if (!groups->order) return out_of_memory(exec);
  for (uint32_t i = 0; i < groups->count; i++) groups->order[i] = i;
  if (!vm_charge(exec, (uint64_t)groups->count * 8)) { vm_fault(exec, FAULT_BUDGET, "too many groups"); return false; }
  OrderContext context = {exec__types(exec), groups};
  if (groups->stage->key_count) qsort_r(groups->order, groups->count, sizeof *groups->order, compare_groups, &context);
  return true;
}

// ---- results --------------------------------------------------------------------------------------

// The mean of what was summed: of decimals, durations, and ints when it is to be a decimal, half even in the units of the result.
static bool mean(const Accumulator *acc, Type from, Type to, Value *out) {
  TypeKind kind = (TypeKind)from.kind;
  if (kind == TYPE_FLOAT) { out->f = acc->float_sum / (double)acc->count; return true; }
  if (kind == TYPE_INT && to.kind == TYPE_FLOAT) { out->f = (double)acc->sum / (double)acc->count; return true; }
  __int128 units;
  int shift = kind == TYPE_DURATION ? 0 : decimal_divide_shift(kind == TYPE_INT ? 0 : from.scale, 0, to.scale);
  if (decimal_divide(acc->sum, (__int128)acc->count, shift, ROUND_HALF_EVEN, &units) != NUM_OK) return false;
  if (to.kind == TYPE_DECIMAL) { out->dec = units; return decimal_fits(units); }
  out->i = (int64_t)units;
  return true;
}

static bool sum_value(const Accumulator *acc, TypeKind kind, Value *out) {
  if (kind == TYPE_FLOAT) { out->f = acc->float_sum; return true; }
  if (kind == TYPE_DECIMAL) { out->dec = acc->sum; return true; }
  out->i = (int64_t)acc->sum;
  return acc->sum >= INT64_MIN && acc->sum <= INT64_MAX;
}

static TypeId opened(const TypeTable *types, TypeId type) {
  return type_kind(types, type) == TYPE_OPTIONAL ? types->types[type].of : type;
}

// The value of an aggregate over something, of the type inside `to`.
static bool result_value(const TypeTable *types, const Accumulator *acc, const Aggregate *aggregate, TypeId from, TypeId to, Value *out) {
  TypeKind kind = type_kind(types, from);
  switch ((AggregateKind)aggregate->kind) {
    case AGGREGATE_COUNT: out->i = (int64_t)acc->count; return true;
    case AGGREGATE_COUNT_IF: out->i = (int64_t)acc->sum; return true;
    case AGGREGATE_ANY: out->i = acc->sum > 0; return true;
    case AGGREGATE_ALL: out->i = acc->sum == (__int128)acc->count; return true;
    case AGGREGATE_SUM: return sum_value(acc, kind, out);
    case AGGREGATE_AVG: return mean(acc, types->types[from], types->types[to], out);
    case AGGREGATE_MIN: case AGGREGATE_MAX: case AGGREGATE_FIRST: case AGGREGATE_LAST: *out = acc->value; return true;
    case AGGREGATE_LIST: case AGGREGATE_DISTINCT: out->list = acc->list; return true;
    case AGGREGATE_KINDS: break;
  }
  return false;
}

// Aggregates that have no value over nothing.
static bool may_be_none(uint8_t kind) {
  return kind == AGGREGATE_MIN || kind == AGGREGATE_MAX || kind == AGGREGATE_AVG || kind == AGGREGATE_FIRST || kind == AGGREGATE_LAST;
}

static bool write_result(Exec *exec, const Groups *groups, const Accumulator *acc, const Aggregate *aggregate, Value *registers) {
  const TypeTable *types = exec__types(exec);
  TypeId to = groups->function->registers[aggregate->to];
  TypeId from = aggregate->from == NO_REGISTER ? to : groups->function->registers[aggregate->from];
  from = opened(types, from);
  Value *out = &registers[aggregate->to];
  if (may_be_none(aggregate->kind) && acc->count == 0) { *out = value_zero(types, to); return true; }
  bool wraps = may_be_none(aggregate->kind) && type_kind(types, to) == TYPE_OPTIONAL;
  Value value = {0};
  if (!result_value(types, acc, aggregate, from, wraps ? types->types[to].of : to, &value)) {
    vm_fault(exec, FAULT_OVERFLOW, "in an aggregate");
    return false;
  }
  *out = wraps ? value_some(types, to, value) : value;
  return true;
}

int groups__next(Exec *exec, Groups *groups, Value *registers) {
  const Stage *stage = groups->stage;
  if (groups->given == groups->count) return 0;
  uint32_t group = groups->order[groups->given++];
  for (uint16_t i = 0; i < stage->key_count; i++) registers[stage->keys[i]] = groups->keys[(size_t)group * stage->key_count + i];
  for (uint16_t i = 0; i < stage->aggregate_count; i++) {
    const Accumulator *acc = &groups->accumulators[(size_t)group * stage->aggregate_count + i];
    if (!write_result(exec, groups, acc, &stage->aggregates[i], registers)) return -1;
  }
  return 1;
}
