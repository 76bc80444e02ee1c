// Instructions that need more than a line: each is a function of the Exec, the registers and the instruction. They charge
// for what grows with a size before they do it, so none runs for longer than the budget that it takes from.
#include <assert.h>

#include "runtime/base/rng.h"
#include "runtime/vm/machine.h"

#define A (op->registers[op->at.a])
#define B (op->registers[op->at.b])
#define C (op->registers[op->at.c])
#define TYPE_A (op->function->registers[op->at.a])
#define TYPE_B (op->function->registers[op->at.b])
#define TYPE_C (op->function->registers[op->at.c])
#define HOST_CALL(name, ...) (op->exec->host->name ? op->exec->host->name(op->exec, __VA_ARGS__) : vm_fault(op->exec, FAULT_STORE, "there is no state here"))
#define OK(call) do { HostResult result_ = (call); if (result_ != HOST_OK) return result_; } while (0)

static const TypeTable *types_of(const Op *op) { return exec__types(op->exec); }
static Type type_at(const Op *op, TypeId id) { return types_of(op)->types[id]; }
static const TypeId *run_types(const Op *op, uint32_t base) { return op->function->registers + base; }
static HostResult check_fits(const Op *op, TypeId type, Value value) {
  return vm__fits(op->exec, type, value) ? HOST_OK : vm_fault(op->exec, FAULT_OVERFLOW, NULL);
}
// For the state or the outside: fits, and is worth its copy.
static HostResult check_leaving(const Op *op, TypeId type, Value value) {
  OK(check_fits(op, type, value));
  return vm__weigh(op->exec, type, value);
}
static HostResult check_leaving_run(const Op *op, uint32_t base, uint32_t count) {
  OK(vm__charge(op->exec, count / 4));
  for (uint32_t i = 0; i < count; i++) OK(check_leaving(op, run_types(op, base)[i], op->registers[base + i]));
  return HOST_OK;
}

HostResult vm__SOME(const Op *op) {
  OK(check_fits(op, TYPE_B, B));
  A = value_some(types_of(op), TYPE_A, B);
  return HOST_OK;
}

// ---- comparing --------------------------------------------------------------------------------

static HostResult compare(const Op *op, int *out_order) {
  OK(vm__weigh(op->exec, TYPE_B, B));
  OK(vm__weigh(op->exec, TYPE_C, C));
  *out_order = value_compare(types_of(op), TYPE_B, B, C);
  return HOST_OK;
}

static HostResult equal(const Op *op, bool *out_equal) {
  TypeKind kind = type_kind(types_of(op), TYPE_B);
  if (kind == TYPE_TEXT && B.text.len != C.text.len) { *out_equal = false; return HOST_OK; }
  int order;
  OK(compare(op, &order));
  *out_equal = order == 0;
  return HOST_OK;
}

HostResult vm__EQ(const Op *op) {
  bool is_equal;
  OK(equal(op, &is_equal));
  A.i = is_equal;
  return HOST_OK;
}
HostResult vm__NE(const Op *op) {
  bool is_equal;
  OK(equal(op, &is_equal));
  A.i = !is_equal;
  return HOST_OK;
}
HostResult vm__LT(const Op *op) {
  int order;
  OK(compare(op, &order));
  A.i = order < 0;
  return HOST_OK;
}
HostResult vm__LE(const Op *op) {
  int order;
  OK(compare(op, &order));
  A.i = order <= 0;
  return HOST_OK;
}

// ---- texts, records, enums --------------------------------------------------------------------

HostResult vm__TEXT_JOIN(const Op *op) {
  size_t len = 0;
  const Value *parts = &op->registers[op->at.b];
  OK(vm__charge(op->exec, op->at.c));
  for (uint32_t i = 0; i < op->at.c; i++)
    if (__builtin_add_overflow(len, parts[i].text.len, &len)) return vm__no_memory(op->exec);
  char *text = vm__alloc(op->exec, len);
  if (!text) return HOST_FAULT;
  char *at = text;
  for (uint32_t i = 0; i < op->at.c; i++) {
    if (parts[i].text.len) memcpy(at, parts[i].text.ptr, parts[i].text.len);
    at += parts[i].text.len;
  }
  A.text = (Str){text, len};
  return HOST_OK;
}

HostResult vm__RECORD_NEW(const Op *op) {
  uint32_t count = types_of(op)->records[type_at(op, TYPE_A).of].field_count;
  OK(vm__charge(op->exec, count / 4));
  OK(vm__fit_run(op->exec, run_types(op, op->at.b), &op->registers[op->at.b], count));
  Value *record = record_new(&op->exec->arena, count);
  if (!record) return vm__no_memory(op->exec);
  memcpy(record, &op->registers[op->at.b], count * sizeof *record);
  A.record = record;
  return HOST_OK;
}

HostResult vm__VARIANT_NEW(const Op *op) {
  uint32_t count = types_of(op)->enums[type_at(op, TYPE_A).of].cases[op->at.b].field_count;
  OK(vm__charge(op->exec, count / 4));
  OK(vm__fit_run(op->exec, run_types(op, op->at.c), &op->registers[op->at.c], count));
  Variant *variant = variant_new(&op->exec->arena, op->at.b, count);
  if (!variant) return vm__no_memory(op->exec);
  if (count) memcpy(variant->fields, &op->registers[op->at.c], count * sizeof(Value));
  A.variant = variant;
  return HOST_OK;
}

// ---- lists, sets, maps ------------------------------------------------------------------------

static HostResult list_of_run(const Op *op, uint32_t base, uint32_t count, List **out_list) {
  OK(vm__fit_run(op->exec, run_types(op, base), &op->registers[base], count));
  List *list = vm__list(op->exec, count);
  if (!list) return HOST_FAULT;
  if (count) memcpy(list->items, &op->registers[base], count * sizeof(Value));
  *out_list = list;
  return HOST_OK;
}

HostResult vm__LIST_NEW(const Op *op) {
  List *list;
  OK(list_of_run(op, op->at.b, op->at.c, &list));
  A.list = list;
  return HOST_OK;
}

// A list with room is one that this instruction made in this call; all others have none and are copied. So nothing that
// came from a module or a page is ever written to.
HostResult vm__LIST_PUSH(const Op *op) {
  enum { FIRST_CAP = 4 };
  List *list = (List *)A.list;
  uint32_t count = list_count(list);
  OK(check_fits(op, TYPE_B, B));
  if (!list || list->cap == count) {
    List *grown = vm__list(op->exec, count ? (uint64_t)count * 2 : FIRST_CAP);
    if (!grown) return HOST_FAULT;
    if (count) memcpy(grown->items, list->items, count * sizeof(Value));
    list = grown;
  }
  list->items[count] = B;
  list->count = count + 1;
  A.list = list;
  return HOST_OK;
}

HostResult vm__LIST_JOIN(const Op *op) {
  uint32_t left = list_count(B.list), right = list_count(C.list);
  List *list = vm__list(op->exec, (uint64_t)left + right);
  if (!list) return HOST_FAULT;
  if (left) memcpy(list->items, B.list->items, left * sizeof(Value));
  if (right) memcpy(list->items + left, C.list->items, right * sizeof(Value));
  A.list = list;
  return HOST_OK;
}

// An item as an optional; one that is optional itself is that already.
static Value item_as_optional(const Op *op, TypeId item, Value value) {
  return type_at(op, item).kind == TYPE_OPTIONAL ? value : value_some(types_of(op), TYPE_A, value);
}

HostResult vm__LIST_GET(const Op *op) {
  bool is_there = C.i >= 0 && C.i < list_count(B.list);
  A = is_there ? item_as_optional(op, type_at(op, TYPE_B).of, B.list->items[C.i]) : value_none(types_of(op), TYPE_A);
  return HOST_OK;
}

HostResult vm__LIST_AT(const Op *op) {
  if (C.i < 0 || C.i >= list_count(B.list)) return vm_fault(op->exec, FAULT_RANGE, "the list has no such item");
  A = B.list->items[C.i];
  return HOST_OK;
}

HostResult vm__RANGE(const Op *op) {
  int64_t first = B.i, last = C.i;
  uint64_t count = first <= last ? (uint64_t)last - (uint64_t)first : 0;
  if (count != UINT64_MAX) count += first <= last;
  List *list = vm__list(op->exec, count);
  if (!list) return HOST_FAULT;
  for (uint64_t i = 0; i < count; i++) list->items[i].i = (int64_t)((uint64_t)first + i);
  A.list = list;
  return HOST_OK;
}

HostResult vm__CONTAINS(const Op *op) {
  Type of = type_at(op, TYPE_C);
  const List *list = C.list;
  OK(vm__weigh(op->exec, TYPE_B, B));
  OK(vm__weigh(op->exec, TYPE_C, C));
  bool found = false;
  if (of.kind != TYPE_LIST) found = list_find(types_of(op), TYPE_C, list, B) >= 0;
  for (uint32_t i = 0; of.kind == TYPE_LIST && !found && i < list_count(list); i++) found = value_equal(types_of(op), of.of, list->items[i], B);
  A.i = found;
  return HOST_OK;
}

// Sorting compares each item about log2(count) times.
static HostResult sort_list(const Op *op, TypeId type, List *list) {
  unsigned rounds = 64 - (unsigned)__builtin_clzll((uint64_t)list->count | 1);
  for (unsigned i = 0; i < rounds; i++) OK(vm__weigh(op->exec, type, (Value){.list = list}));
  OK(vm__charge(op->exec, (uint64_t)list->count * rounds));
  return list_sort_unique(types_of(op), type, list, &op->exec->arena, NULL) ? HOST_OK : vm__no_memory(op->exec);
}

HostResult vm__SET_OF(const Op *op) {
  uint32_t count = list_count(B.list);
  List *list = vm__list(op->exec, count);
  if (!list) return HOST_FAULT;
  if (count) memcpy(list->items, B.list->items, count * sizeof(Value));
  OK(sort_list(op, TYPE_A, list));
  list->cap = list->count;  // what was doubled is no room to push into
  A.list = list;
  return HOST_OK;
}

HostResult vm__MAP_OF(const Op *op) {
  List *list;
  OK(list_of_run(op, op->at.b, 2u * op->at.c, &list));
  OK(sort_list(op, TYPE_A, list));
  list->cap = list->count;
  A.list = list;
  return HOST_OK;
}

HostResult vm__MAP_GET(const Op *op) {
  OK(vm__weigh(op->exec, TYPE_C, C));
  int64_t place = list_find(types_of(op), TYPE_B, B.list, C);
  A = place < 0 ? value_none(types_of(op), TYPE_A) : item_as_optional(op, type_at(op, TYPE_B).to, B.list->items[place + 1]);
  return HOST_OK;
}

// ---- rejecting --------------------------------------------------------------------------------

HostResult vm__REJECT(const Op *op) {
  const ErrorDef *error = &op->exec->module->errors[op->at.a];
  OK(check_leaving_run(op, op->at.b, error->field_count + 1u));
  Value *values = vm__alloc(op->exec, error->field_count * sizeof *values);
  if (!values) return HOST_FAULT;
  memcpy(values, &op->registers[op->at.b + 1], error->field_count * sizeof *values);
  op->exec->rejection = (Rejection){.error = op->at.a, .message = B.text, .count = error->field_count, .values = values, .field = error->field};
  return HOST_REJECT;
}

// ---- state ------------------------------------------------------------------------------------

HostResult vm__STATE_GET(const Op *op) { return HOST_CALL(state_get, op->at.b, &A); }

HostResult vm__STATE_SET(const Op *op) {
  OK(check_leaving(op, TYPE_A, A));
  return HOST_CALL(state_set, op->at.b, A);
}

HostResult vm__TO_REF(const Op *op) {
  OK(check_fits(op, TYPE_B, B));
  A = B;
  return HOST_OK;
}

static HostResult has_row(const Op *op, uint16_t table, TypeId key_type, Value key, bool *out_has) {
  OK(check_leaving(op, key_type, key));
  return HOST_CALL(row_has, table, key, out_has);
}

HostResult vm__ROW_FIND(const Op *op) {
  bool has = false;
  OK(has_row(op, type_at(op, type_at(op, TYPE_A).of).of, TYPE_B, B, &has));
  A = has ? value_some(types_of(op), TYPE_A, B) : value_none(types_of(op), TYPE_A);
  return HOST_OK;
}

HostResult vm__ROW_HAS(const Op *op) {
  bool has = false;
  OK(has_row(op, type_at(op, TYPE_B).of, TYPE_B, B, &has));
  A.i = has;
  return HOST_OK;
}

HostResult vm__COLUMN_GET(const Op *op) { return HOST_CALL(column_get, type_at(op, TYPE_B).of, B, op->at.c, &A); }

HostResult vm__COLUMN_SET(const Op *op) {
  OK(check_leaving(op, TYPE_A, A));
  return HOST_CALL(column_set, type_at(op, TYPE_B).of, B, op->at.c, A);
}

HostResult vm__INSERT(const Op *op) {
  OK(check_leaving_run(op, op->at.c, op->exec->module->schema.tables[op->at.b].column_count));
  return HOST_CALL(insert, op->at.b, &C, &A);
}

HostResult vm__DELETE(const Op *op) { return HOST_CALL(delete_row, type_at(op, TYPE_A).of, A); }

// ---- queries ----------------------------------------------------------------------------------

static void *open_slot(const Op *op) {
  const Frame *frame = op->exec->frame;
  return frame->plans && frame->plans[op->at.b].is_open ? frame->plans[op->at.b].slot : NULL;
}

HostResult vm__CURSOR_KEY(const Op *op) {
  void *slot = open_slot(op);
  if (!slot) { A = (Value){.text = {0}}; return HOST_OK; }
  return HOST_CALL(cursor_key, slot, op->at.x, &A);
}

HostResult vm__CURSOR_COLUMN(const Op *op) {
  void *slot = open_slot(op);
  if (!slot) { A = (Value){.text = {0}}; return HOST_OK; }
  return HOST_CALL(cursor_column, slot, op->at.x, op->at.c, &A);
}

// ---- the call's surroundings ------------------------------------------------------------------

HostResult vm__CALLER_IS(const Op *op) {
  bool is = false;
  OK(HOST_CALL(caller_is, op->at.b, &is));
  A.i = is;
  return HOST_OK;
}

HostResult vm__RANDOM(const Op *op) {
  if (B.i > C.i) return vm_fault(op->exec, FAULT_RANGE, "the range of random numbers is empty");
  A.i = rng_between((Rng *)op->exec->random_state, B.i, C.i);
  return HOST_OK;
}

// Version 4 of RFC 9562: random bits, with the version and the variant set.
HostResult vm__NEW_UUID(const Op *op) {
  uint8_t *bytes = vm__alloc(op->exec, 16);
  if (!bytes) return HOST_FAULT;
  rng_fill((Rng *)op->exec->random_state, bytes, 16);
  bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
  bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
  A.text = (Str){(const char *)bytes, 16};
  return HOST_OK;
}

HostResult vm__SEND(const Op *op) {
  OK(check_leaving_run(op, op->at.c, op->exec->module->outputs[op->at.b].field_count));
  return HOST_CALL(send, op->at.b, &C);
}

HostResult vm__ISSUE_TOKEN(const Op *op) {
  const Value *from = &B;
  OK(check_leaving(op, TYPE_B, B));
  return HOST_CALL(issue_token, from[0].text, (uint64_t)from[1].i, from[2].i, &A);
}

// ---- tests ------------------------------------------------------------------------------------

static HostResult only_in_tests(const Op *op) { return vm_fault(op->exec, FAULT_EXPECT, "only a test can do that"); }

static HostResult call_entry(const Op *op, Value *out) {
  if (!op->exec->host->call_entry) return only_in_tests(op);
  OK(check_leaving_run(op, op->at.c, op->exec->module->entries[op->at.b].param_count + 1u));
  return op->exec->host->call_entry(op->exec, op->at.b, (uint64_t)C.i, &C + 1, out);
}

HostResult vm__CALL_ENTRY(const Op *op) { return call_entry(op, &A); }
HostResult vm__CALL_ENTRY_VOID(const Op *op) {
  Value dropped;
  return call_entry(op, &dropped);
}

HostResult vm__CATCH(const Op *op) {
  VmStack *stack = op->exec->stack;
  if (!op->exec->host->mark) return only_in_tests(op);
  if (stack->catch_count == VM_CATCHES_MAX) return vm_fault(op->exec, FAULT_EXPECT, "expectations of rejections are nested too deep");
  stack->catches[stack->catch_count++] = (Catch){op->exec->frame, op->at.k, op->exec->host->mark(op->exec), op->at.a};
  return HOST_OK;
}

HostResult vm__CATCH_END(const Op *op) {
  VmStack *stack = op->exec->stack;
  bool is_ours = stack->catch_count && stack->catches[stack->catch_count - 1].frame == op->exec->frame;
  if (!is_ours) return vm_fault(op->exec, FAULT_EXPECT, "the end of an expectation that did not begin");
  stack->catch_count--;
  return HOST_OK;
}

HostResult vm__EXPECT_FAILED(const Op *op) {
  op->exec->fault = (VmFault){.kind = FAULT_EXPECT, .note = A.text};
  return HOST_FAULT;
}

HostResult vm__ADVANCE(const Op *op) { return op->exec->host->advance ? op->exec->host->advance(op->exec, A.i) : only_in_tests(op); }

HostResult vm__AS_BEGIN(const Op *op) {
  if (!op->exec->host->as_begin) return only_in_tests(op);
  return op->exec->host->as_begin(op->exec, A.text, (uint64_t)op->exec->module->constants[op->at.k].value.i);
}

HostResult vm__AS_END(const Op *op) {
  if (!op->exec->host->as_end) return only_in_tests(op);
  op->exec->host->as_end(op->exec);
  return HOST_OK;
}

HostResult vm__SENT(const Op *op) {
  if (!op->exec->host->sent) return only_in_tests(op);
  return op->exec->host->sent(op->exec, op->at.b, op->function->registers[op->at.a], &A);
}
