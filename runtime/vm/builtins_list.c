// Lists, sets and maps. Values are shared, never copied; what is new is the array that holds them.
#include <assert.h>

#include "runtime/base/decimal.h"
#include "runtime/vm/machine.h"

#define TYPES exec__types(call->exec)
#define OK(expression) do { HostResult result_ = (expression); if (result_ != HOST_OK) return result_; } while (0)
static Type list_type(const BuiltinCall *call) { return TYPES->types[call->types[0]]; }

static HostResult weigh(const BuiltinCall *call, uint32_t arg) { return vm__weigh(call->exec, call->types[arg], call->args[arg]); }

// `item` as the result T?; when T is optional itself, it is that already.
static Value as_optional(const BuiltinCall *call, TypeId item, Value value) {
  return type_kind(TYPES, item) == TYPE_OPTIONAL ? value : value_some(TYPES, call->result, value);
}

// ---- one item ---------------------------------------------------------------------------------

static HostResult give_item(const BuiltinCall *call, uint32_t index) {
  const List *list = call->args[0].list;
  *call->out = index < list_count(list) ? as_optional(call, list_type(call).of, list->items[index]) : value_none(TYPES, call->result);
  return HOST_OK;
}

HostResult builtin__LIST_FIRST(const BuiltinCall *call) { return give_item(call, 0); }
HostResult builtin__LIST_LAST(const BuiltinCall *call) { return give_item(call, list_count(call->args[0].list) - 1); }

// The first of the items that are least in the order times `sign`.
static HostResult give_extreme(const BuiltinCall *call, int sign) {
  const List *list = call->args[0].list;
  TypeId item = list_type(call).of;
  uint32_t best = 0;
  OK(weigh(call, 0));
  for (uint32_t i = 1; i < list_count(list); i++)
    if (value_compare(TYPES, item, list->items[i], list->items[best]) * sign < 0) best = i;
  return give_item(call, best);
}

HostResult builtin__LIST_MIN(const BuiltinCall *call) { return give_extreme(call, 1); }
HostResult builtin__LIST_MAX(const BuiltinCall *call) { return give_extreme(call, -1); }

// ---- sums -------------------------------------------------------------------------------------

static HostResult sum_floats(const BuiltinCall *call, const List *list) {
  double sum = 0;
  for (uint32_t i = 0; i < list_count(list); i++)
    if (float_add(sum, list->items[i].f, &sum) != NUM_OK) return vm_fault(call->exec, FAULT_OVERFLOW, NULL);
  call->out->f = sum;
  return HOST_OK;
}

// 2^32 items of 64 bits cannot leave 128.
static HostResult sum_units(const BuiltinCall *call, const List *list, bool is_decimal) {
  __int128 sum = 0;
  for (uint32_t i = 0; i < list_count(list); i++) sum += is_decimal ? list->items[i].dec : list->items[i].i;
  if (!decimal_fits(sum)) return vm_fault(call->exec, FAULT_OVERFLOW, NULL);
  if (is_decimal) call->out->dec = sum;
  else call->out->i = (int64_t)sum;
  return HOST_OK;
}

HostResult builtin__LIST_SUM(const BuiltinCall *call) {
  TypeKind kind = type_kind(TYPES, list_type(call).of);
  OK(weigh(call, 0));
  return kind == TYPE_FLOAT ? sum_floats(call, call->args[0].list) : sum_units(call, call->args[0].list, kind == TYPE_DECIMAL);
}

static HostResult find_bool(const BuiltinCall *call, bool wanted) {
  const List *list = call->args[0].list;
  bool found = false;
  OK(weigh(call, 0));
  for (uint32_t i = 0; !found && i < list_count(list); i++) found = (list->items[i].i != 0) == wanted;
  call->out->i = found == wanted;
  return HOST_OK;
}

HostResult builtin__LIST_ANY(const BuiltinCall *call) { return find_bool(call, true); }
HostResult builtin__LIST_ALL(const BuiltinCall *call) { return find_bool(call, false); }

// ---- new lists --------------------------------------------------------------------------------

// Every `step`th item of the list from `from` on.
static HostResult give_part(const BuiltinCall *call, uint64_t from, uint64_t count, uint32_t step) {
  const List *list = call->args[0].list;
  List *part = vm__list(call->exec, count);
  if (!part) return HOST_FAULT;
  for (uint64_t i = 0; i < count; i++) part->items[i] = list->items[from + i * step];
  call->out->list = part;
  return HOST_OK;
}

HostResult builtin__LIST_SLICE(const BuiltinCall *call) {
  int64_t from = call->args[1].i, n = call->args[2].i;
  if (from < 0 || n < 0) return vm_fault(call->exec, FAULT_RANGE, "slice: a number below zero");
  uint64_t count = list_count(call->args[0].list), start = (uint64_t)from < count ? (uint64_t)from : count;
  uint64_t left = count - start;
  return give_part(call, start, (uint64_t)n < left ? (uint64_t)n : left, 1);
}

HostResult builtin__MAP_KEYS(const BuiltinCall *call) { return give_part(call, 0, list_count(call->args[0].list) / 2, 2); }
HostResult builtin__MAP_VALUES(const BuiltinCall *call) { return give_part(call, 1, list_count(call->args[0].list) / 2, 2); }

HostResult builtin__MAP_HAS(const BuiltinCall *call) {
  OK(weigh(call, 1));
  call->out->i = list_find(TYPES, call->types[0], call->args[0].list, call->args[1]) >= 0;
  return HOST_OK;
}

HostResult builtin__MAP_GET(const BuiltinCall *call) {
  OK(weigh(call, 1));
  const List *map = call->args[0].list;
  int64_t at = list_find(TYPES, call->types[0], map, call->args[1]);
  *call->out = at < 0 ? value_none(TYPES, call->result) : as_optional(call, list_type(call).to, map->items[at + 1]);
  return HOST_OK;
}

// Where the key stands in the map, or would: the first place whose key is not below it.
static uint32_t place_of_key(const BuiltinCall *call, bool *out_found) {
  const List *map = call->args[0].list;
  uint32_t low = 0, high = list_count(map) / 2;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (value_compare(TYPES, list_type(call).of, map->items[2 * middle], call->args[1]) < 0) low = middle + 1;
    else high = middle;
  }
  *out_found = 2 * low < list_count(map) && value_compare(TYPES, list_type(call).of, map->items[2 * low], call->args[1]) == 0;
  return 2 * low;
}

// The map with `put` words at the key's place instead of those that it has.
static HostResult change_map(const BuiltinCall *call, uint32_t put) {
  const List *map = call->args[0].list;
  OK(weigh(call, 1));
  bool found;
  uint32_t place = place_of_key(call, &found), behind = place + (found ? 2 : 0), left = list_count(map) - behind;
  List *made = vm__list(call->exec, (uint64_t)place + put + left);
  if (!made) return HOST_FAULT;
  for (uint32_t i = 0; i < place; i++) made->items[i] = map->items[i];
  for (uint32_t i = 0; i < put; i++) made->items[place + i] = call->args[1 + i];
  for (uint32_t i = 0; i < left; i++) made->items[place + put + i] = map->items[behind + i];
  call->out->list = made;
  return HOST_OK;
}

HostResult builtin__MAP_PUT(const BuiltinCall *call) { return change_map(call, 2); }
HostResult builtin__MAP_WITHOUT(const BuiltinCall *call) { return change_map(call, 0); }

HostResult builtin__SET_UNION(const BuiltinCall *call) {
  const List *a = call->args[0].list, *b = call->args[1].list;
  uint32_t a_count = list_count(a), b_count = list_count(b), i = 0, k = 0, count = 0;
  OK(weigh(call, 0));
  OK(weigh(call, 1));
  List *both = vm__list(call->exec, (uint64_t)a_count + b_count);
  if (!both) return HOST_FAULT;
  while (i < a_count || k < b_count) {
    int order = i == a_count ? 1 : k == b_count ? -1 : value_compare(TYPES, list_type(call).of, a->items[i], b->items[k]);
    both->items[count++] = order <= 0 ? a->items[i] : b->items[k];
    i += order <= 0;
    k += order >= 0;
  }
  both->count = both->cap = count;
  call->out->list = both;
  return HOST_OK;
}

// ---- distinct ---------------------------------------------------------------------------------
// Item numbers are sorted by their items (merging, stable), so the first of a run of equals is the one that came first.

typedef struct Numbers { const TypeTable *types; TypeId item; const List *list; uint32_t *in, *out; } Numbers;

// The runs [from, middle) and [middle, to) of `in` as one of `out`.
static void merge(const Numbers *n, uint64_t from, uint64_t middle, uint64_t to) {
  uint64_t a = from, b = middle;
  for (uint64_t at = from; at < to; at++) {
    bool take_a = a < middle && (b >= to || value_compare(n->types, n->item, n->list->items[n->in[a]], n->list->items[n->in[b]]) <= 0);
    n->out[at] = take_a ? n->in[a++] : n->in[b++];
  }
}

static const uint32_t *sort_numbers(Numbers n) {
  uint64_t count = list_count(n.list);
  for (uint32_t i = 0; i < count; i++) n.in[i] = i;
  for (uint64_t run = 1; run < count; run *= 2) {
    for (uint64_t from = 0; from < count; from += 2 * run) {
      uint64_t middle = from + run < count ? from + run : count, to = from + 2 * run < count ? from + 2 * run : count;
      merge(&n, from, middle, to);
    }
    uint32_t *swap = n.in;
    n.in = n.out;
    n.out = swap;
  }
  return n.in;
}

HostResult builtin__LIST_DISTINCT(const BuiltinCall *call) {
  const List *list = call->args[0].list;
  TypeId item = list_type(call).of;
  uint64_t count = list_count(list);
  for (uint64_t rounds = count; rounds; rounds /= 2) OK(weigh(call, 0));
  OK(vm__charge(call->exec, count));
  uint32_t *numbers = vm__alloc(call->exec, 2 * count * sizeof *numbers);
  uint8_t *is_first = vm__alloc(call->exec, count);
  List *kept = vm__list(call->exec, count);
  if (!numbers || !is_first || !kept) return HOST_FAULT;
  const uint32_t *sorted = sort_numbers((Numbers){TYPES, item, list, numbers, numbers + count});
  for (uint64_t i = 0; i < count; i++)
    is_first[sorted[i]] = i == 0 || value_compare(TYPES, item, list->items[sorted[i - 1]], list->items[sorted[i]]) != 0;
  uint32_t at = 0;
  for (uint64_t i = 0; i < count; i++)
    if (is_first[i]) kept->items[at++] = list->items[i];
  kept->count = kept->cap = at;
  call->out->list = kept;
  return HOST_OK;
}
