// Values are walked by their types. Every walk recurses once a level of the type, and type_check_table has bounded
// those levels, so recursion here is never deeper than VALUE_DEPTH_MAX, whatever the data.
//
// Parts that are not there (NULL) read as zeros everywhere, so that registers, records and rows can start as zero bytes.
#include "runtime/value/value.h"

#include <assert.h>
#include <stddef.h>

#include "runtime/base/arena.h"

const uint8_t UUID_ZERO[16] = {0};

// The zeros a present but empty optional points to: an empty list, a record or variant all of whose fields are zero.
// As large as the widest record; in .bss, so that it costs address space only.
static const Value ZEROS[FIELD_COUNT_MAX + 1] __attribute__((section(".bss.value_zeros"))) = {{.i = 0}};

// ---- making -----------------------------------------------------------------------------------

List *list_new(Arena *arena, uint32_t count) {
  List *list = arena_alloc_zero(arena, (size_t)count + 1, sizeof(Value));  // the head takes the room of one Value
  _Static_assert(offsetof(List, items) == sizeof(Value), "a list's head is one value wide");
  if (list) list->count = list->cap = count;
  return list;
}

Value *record_new(Arena *arena, uint32_t field_count) { return arena_alloc_zero(arena, field_count, sizeof(Value)); }

Variant *variant_new(Arena *arena, uint32_t tag, uint32_t field_count) {
  Variant *variant = arena_alloc_zero(arena, (size_t)field_count + 1, sizeof(Value));
  _Static_assert(offsetof(Variant, fields) == sizeof(Value), "a variant's head is one value wide");
  if (variant) variant->tag = tag;
  return variant;
}

Value value_zero(const TypeTable *types, TypeId type) {
  if (type_kind(types, type) == TYPE_OPTIONAL) return value_none(types, type);
  Type t = types->types[type_of_key(types, type)];
  switch ((TypeKind)t.kind) {
    case TYPE_TEXT: case TYPE_BYTES: return (Value){.text = STR("")};
    case TYPE_UUID: return (Value){.text = {(const char *)UUID_ZERO, sizeof UUID_ZERO}};
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return (Value){.list = (const List *)ZEROS};
    case TYPE_ENUM: if (!types->enums[t.of].plain) return (Value){.variant = (const Variant *)ZEROS}; break;
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION:
    case TYPE_RECORD: case TYPE_OPTIONAL: case TYPE_REF: case TYPE_KIND_COUNT:
      break;
  }
  return (Value){.text = {0}};
}

// ---- optionals --------------------------------------------------------------------------------

bool value_is_some(const TypeTable *types, TypeId type, Value value) {
  assert(type_kind(types, type) == TYPE_OPTIONAL);
  switch (type_repr(types, type)) {
    case REPR_I64: case REPR_F64: case REPR_DEC: return value.opt.has != 0;
    case REPR_STR: return value.text.ptr != NULL;
    case REPR_PTR: return value.list != NULL;
    case REPR_OF: break;
  }
  return false;
}

Value value_none(const TypeTable *types, TypeId type) {
  assert(type_kind(types, type) == TYPE_OPTIONAL);
  (void)types, (void)type;
  return (Value){.text = {0}};
}

Value value_some(const TypeTable *types, TypeId type, Value inside) {
  assert(type_kind(types, type) == TYPE_OPTIONAL);
  switch (type_repr(types, type)) {
    case REPR_I64: case REPR_F64: return (Value){.opt = {inside.i, 1}};
    case REPR_DEC:
      assert(inside.dec == (int64_t)inside.dec);
      return (Value){.opt = {(int64_t)inside.dec, 1}};
    case REPR_STR: return inside.text.ptr ? inside : value_zero(types, types->types[type].of);
    case REPR_PTR: return inside.list ? inside : (Value){.list = (const List *)ZEROS};
    case REPR_OF: break;
  }
  return inside;
}

Value value_open(const TypeTable *types, TypeId type, Value optional) {
  assert(type_kind(types, type) == TYPE_OPTIONAL);
  if (!value_is_some(types, type, optional)) return value_zero(types, types->types[type].of);
  switch (type_repr(types, type)) {
    case REPR_I64: case REPR_F64: return (Value){.opt = {optional.opt.i, 0}};
    case REPR_DEC: return (Value){.dec = optional.opt.i};
    case REPR_STR: case REPR_PTR: case REPR_OF: break;
  }
  return optional;
}

// ---- order ------------------------------------------------------------------------------------

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static TypeId item_type(Type list, uint32_t index) { return list.kind == TYPE_MAP && (index & 1) ? list.to : list.of; }

static int compare_lists(const TypeTable *types, Type t, const List *a, const List *b) {
  if (a == b) return 0;
  uint32_t a_count = list_count(a), b_count = list_count(b);
  for (uint32_t i = 0; i < a_count && i < b_count; i++) {
    int order = value_compare(types, item_type(t, i), a->items[i], b->items[i]);
    if (order) return order;
  }
  return ORDER(a_count, b_count);
}

static int compare_records(const TypeTable *types, const RecordDef *def, const Value *a, const Value *b) {
  if (a == b) return 0;
  for (uint32_t i = 0; i < def->field_count; i++) {
    int order = value_compare(types, def->fields[i].type, record_field(a, i), record_field(b, i));
    if (order) return order;
  }
  return 0;
}

static int compare_enums(const TypeTable *types, const EnumDef *def, Value a, Value b) {
  if (def->plain) return ORDER(a.i, b.i);
  uint32_t a_tag = variant_tag(a.variant), b_tag = variant_tag(b.variant);
  if (a.variant == b.variant || a_tag != b_tag) return ORDER(a_tag, b_tag);
  const CaseDef *c = &def->cases[a_tag];
  for (uint32_t i = 0; i < c->field_count; i++) {
    int order = value_compare(types, c->fields[i].type, variant_field(a.variant, i), variant_field(b.variant, i));
    if (order) return order;
  }
  return 0;
}

static int compare_optionals(const TypeTable *types, TypeId type, Value a, Value b) {
  bool a_some = value_is_some(types, type, a), b_some = value_is_some(types, type, b);
  if (!a_some || !b_some) return ORDER(a_some, b_some);
  return value_compare(types, types->types[type].of, value_open(types, type, a), value_open(types, type, b));
}

int value_compare(const TypeTable *types, TypeId type, Value a, Value b) {
  type = type_of_key(types, type);
  Type t = types->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: case TYPE_INT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: return ORDER(a.i, b.i);
    case TYPE_DECIMAL: return ORDER(a.dec, b.dec);
    case TYPE_FLOAT: return ORDER(a.f, b.f);
    case TYPE_TEXT: case TYPE_BYTES: return ORDER(str_compare(a.text, b.text), 0);
    case TYPE_UUID: return ORDER(memcmp(value_uuid(a), value_uuid(b), 16), 0);
    case TYPE_ENUM: return compare_enums(types, &types->enums[t.of], a, b);
    case TYPE_RECORD: return compare_records(types, &types->records[t.of], a.record, b.record);
    case TYPE_OPTIONAL: return compare_optionals(types, type, a, b);
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return compare_lists(types, t, a.list, b.list);
    case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  assert(false);
  return 0;
}

bool value_equal(const TypeTable *types, TypeId type, Value a, Value b) {
  TypeKind kind = type_kind(types, type);
  if (kind == TYPE_TEXT || kind == TYPE_BYTES) return str_equal(a.text, b.text);  // a length tells sooner than bytes
  return value_compare(types, type, a, b) == 0;
}

// ---- copying and measuring --------------------------------------------------------------------

static bool copy_fields(const TypeTable *types, uint32_t count, const FieldDef *fields, const Value *from, Arena *arena, Value *to) {
  for (uint32_t i = 0; i < count; i++)
    if (!value_copy(types, fields[i].type, from[i], arena, &to[i])) return false;
  return true;
}

static bool copy_list(const TypeTable *types, Type t, const List *list, Arena *arena, Value *out_value) {
  List *copy = list_new(arena, list->count);
  if (!copy) return false;
  for (uint32_t i = 0; i < list->count; i++)
    if (!value_copy(types, item_type(t, i), list->items[i], arena, &copy->items[i])) return false;
  out_value->list = copy;
  return true;
}

static bool copy_variant(const TypeTable *types, const EnumDef *def, const Variant *variant, Arena *arena, Value *out_value) {
  const CaseDef *c = &def->cases[variant->tag];
  Variant *copy = variant_new(arena, variant->tag, c->field_count);
  out_value->variant = copy;
  return copy && copy_fields(types, c->field_count, c->fields, variant->fields, arena, copy->fields);
}

static bool copy_record(const TypeTable *types, const RecordDef *def, const Value *record, Arena *arena, Value *out_value) {
  Value *copy = record_new(arena, def->field_count);
  out_value->record = copy;
  return copy && copy_fields(types, def->field_count, def->fields, record, arena, copy);
}

bool value_copy(const TypeTable *types, TypeId type, Value value, Arena *arena, Value *out_value) {
  if (type_kind(types, type) == TYPE_OPTIONAL) {
    if (value_is_some(types, type, value) && type_repr(types, type) >= REPR_STR) return value_copy(types, types->types[type].of, value, arena, out_value);
    *out_value = value;
    return true;
  }
  Type t = types->types[type_of_key(types, type)];
  *out_value = value;
  switch ((TypeKind)t.kind) {
    case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID:
      if (!value.text.ptr) { *out_value = value_zero(types, type); return true; }
      out_value->text = arena_copy(arena, value.text);
      return out_value->text.ptr != NULL;
    case TYPE_ENUM:
      return types->enums[t.of].plain || !value.variant || copy_variant(types, &types->enums[t.of], value.variant, arena, out_value);
    case TYPE_RECORD: return !value.record || copy_record(types, &types->records[t.of], value.record, arena, out_value);
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return !value.list || copy_list(types, t, value.list, arena, out_value);
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION:
    case TYPE_OPTIONAL: case TYPE_REF: case TYPE_KIND_COUNT:
      return true;
  }
  return true;
}

static uint64_t fields_size(const TypeTable *types, uint32_t count, const FieldDef *fields, const Value *values) {
  uint64_t size = (uint64_t)count * sizeof(Value);
  for (uint32_t i = 0; i < count; i++) size += value_size(types, fields[i].type, values[i]);
  return size;
}

static uint64_t list_size(const TypeTable *types, Type t, const List *list) {
  uint64_t size = sizeof(List) + (uint64_t)list->count * sizeof(Value);
  for (uint32_t i = 0; i < list->count; i++) size += value_size(types, item_type(t, i), list->items[i]);
  return size;
}

static uint64_t variant_size(const TypeTable *types, const EnumDef *def, const Variant *variant) {
  const CaseDef *c = &def->cases[variant->tag];
  return sizeof(Variant) + fields_size(types, c->field_count, c->fields, variant->fields);
}

uint64_t value_size(const TypeTable *types, TypeId type, Value value) {
  if (type_kind(types, type) == TYPE_OPTIONAL) {
    if (type_repr(types, type) < REPR_STR || !value_is_some(types, type, value)) return 0;
    type = types->types[type].of;
  }
  Type t = types->types[type_of_key(types, type)];
  switch ((TypeKind)t.kind) {
    case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: return value.text.len;
    case TYPE_ENUM:
      return types->enums[t.of].plain || !value.variant ? 0 : variant_size(types, &types->enums[t.of], value.variant);
    case TYPE_RECORD: return !value.record ? 0 : fields_size(types, types->records[t.of].field_count, types->records[t.of].fields, value.record);
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return !value.list ? 0 : list_size(types, t, value.list);
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION:
    case TYPE_OPTIONAL: case TYPE_REF: case TYPE_KIND_COUNT:
      return 0;
  }
  return 0;
}

// ---- sets and maps ----------------------------------------------------------------------------

// A bottom-up merge sort of entries (of `step` Values each) between two arrays that change roles each round.
typedef struct Sort { const TypeTable *types; TypeId key; uint32_t step, count; const Value *from; Value *to; } Sort;

// Merges the runs [start, middle) and [middle, end); equal entries keep their order.
static void merge_runs(const Sort *s, uint32_t start, uint32_t middle, uint32_t end) {
  uint32_t a = start, b = middle;
  for (uint32_t at = start; at < end; at++) {
    bool take_a = a < middle && (b >= end || value_compare(s->types, s->key, s->from[a * s->step], s->from[b * s->step]) <= 0);
    memcpy(&s->to[at * s->step], &s->from[(take_a ? a++ : b++) * s->step], s->step * sizeof(Value));
  }
}

static uint32_t capped(uint64_t place, uint32_t count) { return place < count ? (uint32_t)place : count; }

// Returns whichever of the two arrays holds the result.
static const Value *sort_entries(Sort *s, Value *items, Value *room) {
  for (uint64_t run = 1; run < s->count; run *= 2) {
    s->from = items;
    s->to = room;
    for (uint64_t start = 0; start < s->count; start += 2 * run)
      merge_runs(s, (uint32_t)start, capped(start + run, s->count), capped(start + 2 * run, s->count));
    Value *swap = items;
    items = room;
    room = swap;
  }
  return items;
}

bool list_sort_unique(const TypeTable *types, TypeId type, List *list, Arena *arena, uint32_t *out_doubles) {
  Type t = types->types[type];
  assert(t.kind == TYPE_SET || t.kind == TYPE_MAP);
  uint32_t step = t.kind == TYPE_MAP ? 2 : 1, count = list->count / step;
  ArenaMark mark = arena_mark(arena);
  Value *room = arena_alloc(arena, (size_t)list->count * sizeof(Value));
  if (!room) return false;
  Sort sort = {.types = types, .key = t.of, .step = step, .count = count};
  const Value *sorted = sort_entries(&sort, list->items, room);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool is_double = kept && value_compare(types, t.of, list->items[(kept - 1) * step], sorted[i * step]) == 0;
    if (is_double) kept--;
    memmove(&list->items[kept++ * step], &sorted[i * step], step * sizeof(Value));
  }
  list->count = kept * step;
  if (out_doubles) *out_doubles = count - kept;
  if (mark.chunk) arena_release(arena, mark);
  return true;
}

int64_t list_find(const TypeTable *types, TypeId type, const List *list, Value item) {
  Type t = types->types[type];
  uint32_t step = t.kind == TYPE_MAP ? 2 : 1, low = 0, high = list_count(list) / step;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = value_compare(types, t.of, list->items[middle * step], item);
    if (order == 0) return (int64_t)middle * step;
    if (order < 0) low = middle + 1; else high = middle;
  }
  return -1;
}
