// What instructions and builtins share: memory and fuel of the call, faults from arithmetic, texts of unknown length.
#include <assert.h>

#include "runtime/base/float_text.h"
#include "runtime/value/json_value.h"
#include "runtime/vm/machine.h"

enum { BYTES_A_FUEL = 64, ITEMS_A_FUEL = 4 };  // copying or comparing that much takes about as long as a plain instruction

HostResult vm__no_memory(Exec *exec) {
  exec->fault = (VmFault){.kind = FAULT_BUDGET, .note = STR("the memory for one call is used up")};
  return HOST_FAULT;
}

HostResult vm__num_fault(Exec *exec, NumFault fault) {
  switch (fault) {
    case NUM_OK: return HOST_OK;
    case NUM_OVERFLOW: return vm_fault(exec, FAULT_OVERFLOW, NULL);
    case NUM_DIVIDE_BY_ZERO: return vm_fault(exec, FAULT_DIVISION, NULL);
    case NUM_RANGE: break;
  }
  return vm_fault(exec, FAULT_RANGE, NULL);
}

HostResult vm__charge(Exec *exec, uint64_t fuel) {
  return vm_charge(exec, fuel) ? HOST_OK : vm_fault(exec, FAULT_BUDGET, "too much work for one call");
}

void *vm__alloc(Exec *exec, size_t size) {
  if (vm__charge(exec, size / BYTES_A_FUEL) != HOST_OK) return NULL;
  void *memory = arena_alloc(&exec->arena, size);
  if (!memory) vm__no_memory(exec);
  return memory;
}

List *vm__list(Exec *exec, uint64_t count) {
  enum { LIST_COUNT_MAX = 1 << 30 };  // far beyond any budget of memory, and no count overflows
  if (count > LIST_COUNT_MAX) { vm__no_memory(exec); return NULL; }
  if (vm__charge(exec, count / ITEMS_A_FUEL) != HOST_OK) return NULL;
  List *list = list_new(&exec->arena, (uint32_t)count);
  if (!list) vm__no_memory(exec);
  return list;
}

HostResult vm__fit_run(Exec *exec, const TypeId *types, const Value *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (!vm__fits(exec, types[i], values[i])) return vm_fault(exec, FAULT_OVERFLOW, NULL);
  return HOST_OK;
}

// ---- weighing ---------------------------------------------------------------------------------

static bool weigh(Exec *exec, TypeId type, Value value);

static bool weigh_fields(Exec *exec, uint32_t count, const FieldDef *fields, const Value *values) {
  if (!vm_charge(exec, 1 + count / ITEMS_A_FUEL)) return false;
  for (uint32_t i = 0; i < count; i++)
    if (!weigh(exec, fields[i].type, values[i])) return false;
  return true;
}

static bool is_flat(const TypeTable *types, TypeId type) { return type_repr(types, type) < REPR_STR; }

static bool weigh_list(Exec *exec, Type t, const List *list) {
  const TypeTable *types = exec__types(exec);
  if (!vm_charge(exec, 1 + list->count / ITEMS_A_FUEL)) return false;
  bool is_map = t.kind == TYPE_MAP;
  if (is_flat(types, t.of) && (!is_map || is_flat(types, t.to))) return true;
  for (uint32_t i = 0; i < list->count; i++)
    if (!weigh(exec, is_map && i & 1 ? t.to : t.of, list->items[i])) return false;
  return true;
}

static bool weigh_parts(Exec *exec, TypeId type, Value value) {
  const TypeTable *types = exec__types(exec);
  Type t = types->types[type_of_key(types, type)];
  if (!value.list) return true;
  if (t.kind == TYPE_RECORD) return weigh_fields(exec, types->records[t.of].field_count, types->records[t.of].fields, value.record);
  if (t.kind != TYPE_ENUM) return weigh_list(exec, t, value.list);
  const CaseDef *def = &types->enums[t.of].cases[value.variant->tag];
  return weigh_fields(exec, def->field_count, def->fields, value.variant->fields);
}

// Recurses once a level of the type, at most TYPE_DEPTH_MAX.
static bool weigh(Exec *exec, TypeId type, Value value) {
  const TypeTable *types = exec__types(exec);
  switch (type_repr(types, type)) {
    case REPR_I64: case REPR_F64: case REPR_DEC: case REPR_OF: return true;
    case REPR_STR: return value.text.len < BYTES_A_FUEL || vm_charge(exec, value.text.len / BYTES_A_FUEL);
    case REPR_PTR: break;
  }
  if (type_kind(types, type) == TYPE_OPTIONAL) type = types->types[type].of;
  return weigh_parts(exec, type, value);
}

HostResult vm__weigh(Exec *exec, TypeId type, Value value) {
  return weigh(exec, type, value) ? HOST_OK : vm_fault(exec, FAULT_BUDGET, "too much work for one call");
}

// ---- texts ------------------------------------------------------------------------------------

Buf *vm__scratch(Exec *exec) {
  enum { SCRATCH_KEPT_MAX = 64 * 1024, SCRATCH_MIN = 64 };
  Buf *scratch = &exec->stack->scratch;
  if (scratch->cap > SCRATCH_KEPT_MAX) buf_free(scratch);
  buf_clear(scratch);
  size_t used = exec->arena.bytes_used, max = exec->arena.bytes_max;
  scratch->bytes_max = max == 0 ? 0 : max - used > SCRATCH_MIN ? max - used : SCRATCH_MIN;
  return scratch;
}

HostResult vm__take_scratch(Exec *exec, Value *out) {
  const Buf *scratch = &exec->stack->scratch;
  if (scratch->failed) return vm__no_memory(exec);
  char *copy = vm__alloc(exec, scratch->len);
  if (!copy) return HOST_FAULT;
  if (scratch->len) memcpy(copy, scratch->ptr, scratch->len);
  out->text = (Str){copy, scratch->len};
  return HOST_OK;
}

static HostResult int_text(Exec *exec, int64_t number, Value *out) {
  char digits[24];
  char *at = digits + sizeof digits;
  uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
  do *--at = (char)('0' + rest % 10); while (rest /= 10);
  if (number < 0) *--at = '-';
  size_t len = (size_t)(digits + sizeof digits - at);
  char *copy = vm__alloc(exec, len);
  if (!copy) return HOST_FAULT;
  memcpy(copy, at, len);
  out->text = (Str){copy, len};
  return HOST_OK;
}

HostResult vm__text(Exec *exec, TypeId type, Value value, Value *out) {
  const TypeTable *types = exec__types(exec);
  TypeKind kind = type_kind(types, type);
  if (kind == TYPE_TEXT) { *out = value; return HOST_OK; }
  if (kind == TYPE_INT) return int_text(exec, value.i, out);
  HostResult result = vm__weigh(exec, type, value);
  if (result != HOST_OK) return result;
  value_write_text(types, type, value, vm__scratch(exec));
  return vm__take_scratch(exec, out);
}
