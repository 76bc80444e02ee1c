// Every instruction by itself: numbers with pairs of boundary values against 128-bit arithmetic, the rest with examples.
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/base/decimal.h"
#include "runtime/module/opcode.h"
#include "runtime/value/value.h"
#include "tests/unit/vm/run.h"

static const int64_t EDGES[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};

// A function (b, c) -> a of one instruction; `c` TYPE_NONE: of one operand.
static Module *build_op(Build *b, Opcode op, uint8_t x, TypeId a, TypeId left, TypeId right, uint32_t c) {
  build_init(b);
  build_begin(b, FUNCTION_FN, a);
  uint16_t rb = build_param(b, left), rc = right == TYPE_NONE ? 0 : build_param(b, right), ra = build_register(b, a);
  build_emit_x(b, op, x, ra, rb, right == TYPE_NONE ? c : rc);
  build_emit(b, OP_RETURN, ra, 0, 0);
  build_end(b);
  return build_finish(b);
}

// ---- ints -------------------------------------------------------------------------------------

typedef struct Expected { bool faults; FaultKind fault; __int128 value; } Expected;

static Expected expect_int(Opcode op, __int128 b, __int128 c) {
  __int128 value = 0;
  switch ((int)op) {
    case OP_ADD_I: value = b + c; break;
    case OP_SUB_I: value = b - c; break;
    case OP_MUL_I: value = b * c; break;
    case OP_NEG_I: value = -b; break;
    case OP_DIV_I: case OP_MOD_I:
      if (c == 0) return (Expected){true, FAULT_DIVISION, 0};
      value = op == OP_DIV_I ? b / c : b % c;
      break;
    case OP_EQ_I: value = b == c; break;
    case OP_NE_I: value = b != c; break;
    case OP_LT_I: value = b < c; break;
    case OP_LE_I: value = b <= c; break;
    default: cr_assert_fail("no such row");
  }
  if (value != (int64_t)value) return (Expected){true, FAULT_OVERFLOW, 0};
  return (Expected){false, 0, value};
}

Test(opcode, ints_at_every_boundary) {
  static const struct { Opcode op; TypeId result; } rows[] = {{OP_ADD_I, T_INT}, {OP_SUB_I, T_INT}, {OP_MUL_I, T_INT}, {OP_DIV_I, T_INT}, {OP_MOD_I, T_INT}, {OP_NEG_I, T_INT},
                                                             {OP_EQ_I, T_BOOL}, {OP_NE_I, T_BOOL}, {OP_LT_I, T_BOOL}, {OP_LE_I, T_BOOL}};
  for (size_t i = 0; i < countof(rows); i++) {
    Build b;
    Module *m = build_op(&b, rows[i].op, 0, rows[i].result, T_INT, rows[i].op == OP_NEG_I ? TYPE_NONE : T_INT, 0);
    for (size_t k = 0; k < countof(EDGES) * countof(EDGES); k++) {
      int64_t left = EDGES[k / countof(EDGES)], right = EDGES[k % countof(EDGES)];
      Expected expected = expect_int(rows[i].op, left, right);
      Run run = {0};
      run_on(&run, m, 0, (const Value[]){{.i = left}, {.i = right}}, 0);
      cr_assert_eq(run.status, expected.faults ? VM_FAULT : VM_DONE, "%s %ld %ld", opcode_info(rows[i].op)->name, left, right);
      if (expected.faults) cr_assert_eq(run.exec.fault.kind, expected.fault);
      else cr_assert_eq(run.exec.result.i, (int64_t)expected.value);
      run_end(&run);
    }
    build_free(&b);
  }
}

// ---- decimals ---------------------------------------------------------------------------------

#define MAX128 ((__int128)(((unsigned __int128)1 << 127) - 1))

Test(opcode, decimals) {
  const struct { Opcode op; TypeId a, b, c; uint32_t c_value; __int128 left, right, value; bool faults; FaultKind fault; } rows[] = {
    {OP_ADD_D, T_DEC2, T_DEC2, T_DEC2, 0, 1050, -50, 1000, false, 0},
    {OP_ADD_D, T_DEC2, T_DEC2, T_DEC2, 0, INT64_MAX, 1, 0, true, FAULT_OVERFLOW},  // when returned
    {OP_ADD_D, T_DEC2, T_DEC2, T_DEC2, 0, MAX128, 1, 0, true, FAULT_OVERFLOW},
    {OP_SUB_D, T_DEC2, T_DEC2, T_DEC2, 0, INT64_MIN, -1, INT64_MIN + 1, false, 0},
    {OP_SUB_D, T_DEC2, T_DEC2, T_DEC2, 0, -MAX128, 2, 0, true, FAULT_OVERFLOW},
    {OP_MUL_D, T_DEC4, T_DEC2, T_DEC2, 0, 150, 150, 22500, false, 0},
    {OP_MUL_D, T_DEC4, T_DEC2, T_DEC2, 0, MAX128, 2, 0, true, FAULT_OVERFLOW},
    {OP_NEG_D, T_DEC2, T_DEC2, TYPE_NONE, 0, 5, 0, -5, false, 0},
    {OP_NEG_D, T_DEC2, T_DEC2, TYPE_NONE, 0, INT64_MIN, 0, 0, true, FAULT_OVERFLOW},
    {OP_SCALE_D, T_DEC4, T_DEC2, TYPE_NONE, 0, 150, 0, 15000, false, 0},
    {OP_SCALE_D, T_DEC4, T_DEC2, TYPE_NONE, 0, MAX128, 0, 0, true, FAULT_OVERFLOW},
    {OP_ROUND_D, T_DEC2, T_DEC4, TYPE_NONE, ROUND_HALF_EVEN, 12350, 0, 124, false, 0},
    {OP_ROUND_D, T_DEC2, T_DEC4, TYPE_NONE, ROUND_HALF_EVEN, 12450, 0, 124, false, 0},
    {OP_ROUND_D, T_DEC2, T_DEC4, TYPE_NONE, ROUND_UP, 12401, 0, 125, false, 0},
    {OP_ROUND_D, T_DEC2, T_DEC4, TYPE_NONE, ROUND_DOWN, -12499, 0, -124, false, 0},
    {OP_ROUND_D, T_DEC2, T_DEC4, TYPE_NONE, ROUND_HALF_UP, -12450, 0, -125, false, 0},
    {OP_ROUND_D, T_DEC0, T_DEC2, TYPE_NONE, ROUND_HALF_EVEN, 99990, 0, 1000, false, 0},
    {OP_ROUND_D, T_DEC4, T_DEC2, TYPE_NONE, ROUND_UP, 5, 0, 500, false, 0},
    {OP_FIT_D, T_DEC2, T_DEC2, TYPE_NONE, 0, INT64_MAX, 0, INT64_MAX, false, 0},
    {OP_FIT_D, T_DEC2, T_DEC2, TYPE_NONE, 0, (__int128)INT64_MAX + 1, 0, 0, true, FAULT_OVERFLOW},
    {OP_FIT_D, T_DEC2, T_DEC2, TYPE_NONE, 0, (__int128)INT64_MIN - 1, 0, 0, true, FAULT_OVERFLOW},
    {OP_DIV_D, T_DEC2, T_DEC2, T_DEC2, 0, 100, 300, 33, false, 0},
    {OP_DIV_D, T_DEC2, T_DEC2, T_DEC4, 0, 100, 20000, 50, false, 0},
    {OP_DIV_D, T_DEC6, T_DEC0, T_DEC0, 0, 2, 3, 666667, false, 0},
    {OP_DIV_D, T_DEC2, T_DEC2, T_DEC2, 0, 1, 0, 0, true, FAULT_DIVISION},
    {OP_DIV_D, T_DEC18, T_DEC0, T_DEC18, 0, MAX128, 1, 0, true, FAULT_OVERFLOW},
    {OP_INT_TO_D, T_DEC2, T_INT, TYPE_NONE, 0, 7, 0, 700, false, 0},
    {OP_INT_TO_D, T_DEC2, T_INT, TYPE_NONE, 0, INT64_MIN, 0, 0, true, FAULT_OVERFLOW},
  };
  for (size_t i = 0; i < countof(rows); i++) {
    Build b;
    Module *m = build_op(&b, rows[i].op, 0, rows[i].a, rows[i].b, rows[i].c, rows[i].c_value);
    Run run = {0};
    run_on(&run, m, 0, (const Value[]){{.dec = rows[i].left}, {.dec = rows[i].right}}, 0);
    cr_assert_eq(run.status, rows[i].faults ? VM_FAULT : VM_DONE, "row %zu", i);
    if (rows[i].faults) cr_assert_eq(run.exec.fault.kind, rows[i].fault, "row %zu", i);
    else cr_assert(run.exec.result.dec == rows[i].value, "row %zu", i);
    run_end(&run);
    build_free(&b);
  }
}

Test(opcode, floats) {
  const struct { Opcode op; TypeId b, c, a; double left, right, value; bool faults; FaultKind fault; } rows[] = {
    {OP_ADD_F, T_FLOAT, T_FLOAT, T_FLOAT, 0.5, 0.25, 0.75, false, 0}, {OP_ADD_F, T_FLOAT, T_FLOAT, T_FLOAT, DBL_MAX, DBL_MAX, 0, true, FAULT_OVERFLOW},
    {OP_SUB_F, T_FLOAT, T_FLOAT, T_FLOAT, 1, 3, -2, false, 0}, {OP_SUB_F, T_FLOAT, T_FLOAT, T_FLOAT, -DBL_MAX, DBL_MAX, 0, true, FAULT_OVERFLOW},
    {OP_MUL_F, T_FLOAT, T_FLOAT, T_FLOAT, 3, -2, -6, false, 0}, {OP_MUL_F, T_FLOAT, T_FLOAT, T_FLOAT, DBL_MAX, 2, 0, true, FAULT_OVERFLOW},
    {OP_DIV_F, T_FLOAT, T_FLOAT, T_FLOAT, 1, 4, 0.25, false, 0}, {OP_DIV_F, T_FLOAT, T_FLOAT, T_FLOAT, 1, 0, 0, true, FAULT_DIVISION}, {OP_DIV_F, T_FLOAT, T_FLOAT, T_FLOAT, DBL_MAX, DBL_MIN, 0, true, FAULT_OVERFLOW},
    {OP_NEG_F, T_FLOAT, TYPE_NONE, T_FLOAT, 0, 0, 0, false, 0}, {OP_NEG_F, T_FLOAT, TYPE_NONE, T_FLOAT, 2.5, 0, -2.5, false, 0},
  };
  for (size_t i = 0; i < countof(rows); i++) {
    Build b;
    Module *m = build_op(&b, rows[i].op, 0, rows[i].a, rows[i].b, rows[i].c, 0);
    Run run = {0};
    run_on(&run, m, 0, (const Value[]){{.f = rows[i].left}, {.f = rows[i].right}}, 0);
    cr_assert_eq(run.status, rows[i].faults ? VM_FAULT : VM_DONE, "row %zu", i);
    if (rows[i].faults) cr_assert_eq(run.exec.fault.kind, rows[i].fault);
    else cr_assert(run.exec.result.f == rows[i].value && !signbit(run.exec.result.f) == !(rows[i].value < 0), "row %zu", i);
    run_end(&run);
    build_free(&b);
  }
}

Test(opcode, bools_and_conversions) {
  for (int64_t k = 0; k < 4; k++) {
    const struct { Opcode op; TypeId c; int64_t value; } rows[] = {{OP_AND, T_BOOL, (k & 1) & (k >> 1)}, {OP_OR, T_BOOL, (k & 1) | (k >> 1)}, {OP_NOT, TYPE_NONE, !(k & 1)}};
    for (size_t i = 0; i < countof(rows); i++) {
      Build b;
      Module *m = build_op(&b, rows[i].op, 0, T_BOOL, T_BOOL, rows[i].c, 0);
      Run run = {0};
      cr_assert_eq(run_on(&run, m, 0, (const Value[]){{.i = k & 1}, {.i = k >> 1}}, 0), VM_DONE);
      cr_assert_eq(run.exec.result.i, rows[i].value);
      run_end(&run);
      build_free(&b);
    }
  }
  for (size_t i = 0; i < countof(EDGES); i++) {
    Build b;
    Module *m = build_op(&b, OP_INT_TO_F, 0, T_FLOAT, T_INT, TYPE_NONE, 0);
    Run run = {0};
    cr_assert_eq(run_on(&run, m, 0, &(Value){.i = EDGES[i]}, 0), VM_DONE);
    cr_assert(run.exec.result.f == (double)EDGES[i]);
    run_end(&run);
    build_free(&b);
  }
}

// ---- values with parts ------------------------------------------------------------------------

// Runs a function of the module under way and compares its text result.
static void expect_text(Build *b, const char *wanted, const char *what) {
  Module *m = build_finish(b);
  for (uint64_t slice = 0; slice < 2; slice++) {
    Run run = {0};
    VmStatus status = run_on(&run, m, 0, NULL, slice);
    cr_assert_eq(status, VM_DONE, "%s: %d %.*s", what, (int)run.exec.fault.kind, STR_ARG(run.exec.fault.note));
    cr_assert(str_is(run.exec.result.text, wanted), "%s: %.*s", what, STR_ARG(run.exec.result.text));
    run_end(&run);
  }
}

static uint16_t put_int(Build *b, int64_t n) {
  uint16_t r = build_register(b, T_INT);
  build_emit(b, OP_CONST, r, build_constant(b, T_INT, (Value){.i = n}), 0);
  return r;
}
static uint16_t put_text(Build *b, const char *text) {
  uint16_t r = build_register(b, T_TEXT);
  build_emit(b, OP_CONST, r, build_constant(b, T_TEXT, (Value){.text = str_from(text)}), 0);
  return r;
}
static uint16_t put_list(Build *b, int64_t first, int64_t last) {
  uint16_t from = put_int(b, first), to = put_int(b, last), list = build_register(b, T_LIST_INT);
  build_emit(b, OP_RANGE, list, from, to);
  return list;
}
static void return_text_of(Build *b, uint16_t r) {
  uint16_t text = build_register(b, T_TEXT);
  build_emit(b, OP_TO_TEXT, text, r, 0);
  build_emit(b, OP_RETURN, text, 0, 0);
  build_end(b);
}

typedef struct Example { const char *name, *wanted; uint16_t (*make)(Build *b); } Example;
#define EXAMPLES(X) \
  X(record, "{\"x\":3,\"y\":0.00}", uint16_t n = put_int(b, 3); build_register(b, T_DEC2); uint16_t p = build_register(b, T_POINT); build_emit(b, OP_RECORD_NEW, p, n, 0); return p) \
  X(record_field, "3", uint16_t n = put_int(b, 3); build_register(b, T_DEC2); uint16_t p = build_register(b, T_POINT); build_emit(b, OP_RECORD_NEW, p, n, 0); uint16_t f = build_register(b, T_INT); build_emit(b, OP_RECORD_GET, f, p, 0); return f) \
  X(record_zero, "0.00", uint16_t p = build_register(b, T_POINT); uint16_t f = build_register(b, T_DEC2); build_emit(b, OP_RECORD_GET, f, p, 1); return f) \
  X(variant, "{\"box\":{\"w\":4,\"label\":\"\"}}", uint16_t n = put_int(b, 4); build_register(b, T_TEXT); uint16_t s = build_register(b, T_SHAPE); build_emit(b, OP_VARIANT_NEW, s, 2, n); return s) \
  X(variant_tag, "2", uint16_t n = put_int(b, 4); build_register(b, T_TEXT); uint16_t s = build_register(b, T_SHAPE); build_emit(b, OP_VARIANT_NEW, s, 2, n); uint16_t t = build_register(b, T_INT); build_emit(b, OP_ENUM_TAG, t, s, 0); return t) \
  X(variant_field, "4", uint16_t n = put_int(b, 4); build_register(b, T_TEXT); uint16_t s = build_register(b, T_SHAPE); build_emit(b, OP_VARIANT_NEW, s, 2, n); uint16_t t = build_register(b, T_INT); build_emit_x(b, OP_VARIANT_GET, 2, t, s, 0); return t) \
  X(variant_other, "0", uint16_t n = put_int(b, 4); build_register(b, T_TEXT); uint16_t s = build_register(b, T_SHAPE); build_emit(b, OP_VARIANT_NEW, s, 2, n); uint16_t t = build_register(b, T_INT); build_emit_x(b, OP_VARIANT_GET, 1, t, s, 0); return t) \
  X(variant_zero, "dot", return build_register(b, T_SHAPE)) \
  X(plain_enum, "blue", uint16_t c = build_register(b, T_COLOR); build_emit(b, OP_ENUM, c, 2, 0); return c) \
  X(plain_tag, "2", uint16_t c = build_register(b, T_COLOR); build_emit(b, OP_ENUM, c, 2, 0); uint16_t t = build_register(b, T_INT); build_emit(b, OP_ENUM_TAG, t, c, 0); return t) \
  X(list, "[1,2]", uint16_t n = put_int(b, 1); build_register(b, T_INT); build_emit(b, OP_INT, n + 1u, 2, 0); uint16_t l = build_register(b, T_LIST_INT); build_emit(b, OP_LIST_NEW, l, n, 2); return l) \
  X(list_empty, "[]", uint16_t l = build_register(b, T_LIST_INT); build_emit(b, OP_LIST_NEW, l, 0, 0); return l) \
  X(push, "[7,7,7,7,7,7]", uint16_t n = put_int(b, 7); uint16_t l = build_register(b, T_LIST_INT); for (int i = 0; i < 6; i++) build_emit(b, OP_LIST_PUSH, l, n, 0); return l) \
  X(push_onto_constant, "[[1],[1]]", static const struct { List list; Value items[1]; } ONE = {{1, 1}, {{.i = 1}}}; uint32_t k = build_constant(b, T_LIST_INT, (Value){.list = &ONE.list}); \
    uint16_t l = build_register(b, T_LIST_INT); uint16_t all = build_register(b, T_LIST_LIST); uint16_t n = put_int(b, 5); \
    for (int i = 0; i < 2; i++) { build_emit(b, OP_CONST, l, k, 0); build_emit(b, OP_LIST_PUSH, all, l, 0); build_emit(b, OP_LIST_PUSH, l, n, 0); } return all) \
  X(join, "[1,2,3,1,2,3]", uint16_t l = put_list(b, 1, 3); build_emit(b, OP_LIST_JOIN, l, l, l); return l) \
  X(join_empty, "[]", uint16_t l = build_register(b, T_LIST_INT); build_emit(b, OP_LIST_JOIN, l, l, l); return l) \
  X(get, "2", uint16_t l = put_list(b, 1, 3); uint16_t i = put_int(b, 1); uint16_t o = build_register(b, T_OPT_INT); build_emit(b, OP_LIST_GET, o, l, i); return o) \
  X(get_beyond, "none", uint16_t l = put_list(b, 1, 3); uint16_t i = put_int(b, 3); uint16_t o = build_register(b, T_OPT_INT); build_emit(b, OP_LIST_GET, o, l, i); return o) \
  X(get_below, "none", uint16_t l = put_list(b, 1, 3); uint16_t i = put_int(b, INT64_MIN); uint16_t o = build_register(b, T_OPT_INT); build_emit(b, OP_LIST_GET, o, l, i); return o) \
  X(at, "3", uint16_t l = put_list(b, 1, 3); uint16_t i = put_int(b, 2); build_emit(b, OP_LIST_AT, i, l, i); return i) \
  X(range_down, "[]", return put_list(b, 3, 1)) \
  X(range_one, "[9223372036854775807]", return put_list(b, INT64_MAX, INT64_MAX)) \
  X(range_edge, "[-9223372036854775808,-9223372036854775807]", return put_list(b, INT64_MIN, INT64_MIN + 1)) \
  X(count, "3", uint16_t l = put_list(b, 1, 3); uint16_t n = build_register(b, T_INT); build_emit(b, OP_COUNT, n, l, 0); return n) \
  X(contains, "true", uint16_t l = put_list(b, 1, 3); uint16_t n = put_int(b, 3); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_CONTAINS, y, n, l); return y) \
  X(contains_not, "false", uint16_t l = put_list(b, 1, 3); uint16_t n = put_int(b, 4); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_CONTAINS, y, n, l); return y) \
  X(set, "[1,2,3]", uint16_t l = put_list(b, 1, 3); build_emit(b, OP_LIST_JOIN, l, l, l); uint16_t s = build_register(b, T_SET_INT); build_emit(b, OP_SET_OF, s, l, 0); return s) \
  X(set_contains, "true", uint16_t l = put_list(b, 1, 3); uint16_t s = build_register(b, T_SET_INT); build_emit(b, OP_SET_OF, s, l, 0); uint16_t n = put_int(b, 2); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_CONTAINS, y, n, s); return y) \
  X(map, "{\"a\":2,\"b\":1}", uint16_t k = put_text(b, "b"); put_int(b, 1); put_text(b, "a"); put_int(b, 1); put_text(b, "a"); put_int(b, 2); uint16_t m = build_register(b, T_MAP); build_emit(b, OP_MAP_OF, m, k, 3); return m) \
  X(map_count, "1", uint16_t k = put_text(b, "b"); put_int(b, 1); uint16_t m = build_register(b, T_MAP); build_emit(b, OP_MAP_OF, m, k, 1); uint16_t n = build_register(b, T_INT); build_emit(b, OP_COUNT, n, m, 0); return n) \
  X(map_get, "1", uint16_t k = put_text(b, "b"); put_int(b, 1); uint16_t m = build_register(b, T_MAP); build_emit(b, OP_MAP_OF, m, k, 1); uint16_t o = build_register(b, T_OPT_INT); build_emit(b, OP_MAP_GET, o, m, k); return o) \
  X(map_get_none, "none", uint16_t k = put_text(b, "b"); uint16_t m = build_register(b, T_MAP); uint16_t o = build_register(b, T_OPT_INT); build_emit(b, OP_MAP_GET, o, m, k); return o) \
  X(map_has_key, "true", uint16_t k = put_text(b, "b"); put_int(b, 1); uint16_t m = build_register(b, T_MAP); build_emit(b, OP_MAP_OF, m, k, 1); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_CONTAINS, y, k, m); return y) \
  X(some_empty_text, "true", uint16_t t = build_register(b, T_TEXT); uint16_t o = build_register(b, T_OPT_TEXT); build_emit(b, OP_SOME, o, t, 0); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_HAS, y, o, 0); return y) \
  X(has_not, "false", uint16_t o = build_register(b, T_OPT_TEXT); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_HAS, y, o, 0); return y) \
  X(open, "5", uint16_t n = put_int(b, 5); uint16_t o = build_register(b, T_OPT_INT); build_emit(b, OP_SOME, o, n, 0); build_emit(b, OP_INT, n, 6, 0); build_emit(b, OP_OPEN, n, o, 0); return n) \
  X(open_none, "0", uint16_t n = put_int(b, 5); uint16_t o = build_register(b, T_OPT_INT); build_emit(b, OP_OPEN, n, o, 0); return n) \
  X(zero, "0", uint16_t n = put_int(b, 5); build_emit(b, OP_ZERO, n, 0, 0); return n) \
  X(jump_none, "1", uint16_t n = put_int(b, 1); uint16_t o = build_register(b, T_OPT_INT); uint32_t j = build_emit(b, OP_JUMP_NONE, o, 0, 0); build_emit(b, OP_INT, n, 2, 0); build_patch(b, j); return n) \
  X(equal_texts, "true", uint16_t t = put_text(b, "ab"); uint16_t u = put_text(b, "ab"); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_EQ, y, t, u); return y) \
  X(unequal_texts, "true", uint16_t t = put_text(b, "ab"); uint16_t u = put_text(b, "abc"); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_NE, y, t, u); return y) \
  X(equal_lists, "true", uint16_t t = put_list(b, 1, 3); uint16_t u = put_list(b, 1, 3); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_EQ, y, t, u); return y) \
  X(less, "true", uint16_t t = put_text(b, "a"); uint16_t u = put_text(b, "b"); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_LT, y, t, u); return y) \
  X(less_equal, "false", uint16_t t = put_text(b, "b"); uint16_t u = put_text(b, "a"); uint16_t y = build_register(b, T_BOOL); build_emit(b, OP_LE, y, t, u); return y) \
  X(text_join, "a-b", uint16_t t = put_text(b, "a"); put_text(b, "-"); put_text(b, "b"); uint16_t y = build_register(b, T_TEXT); build_emit(b, OP_TEXT_JOIN, y, t, 3); return y) \
  X(text_join_none, "", uint16_t y = build_register(b, T_TEXT); build_emit(b, OP_TEXT_JOIN, y, 0, 0); return y) \
  X(least_int, "-9223372036854775808", return put_int(b, INT64_MIN)) \
  X(to_ref_and_key, "5", uint16_t n = put_int(b, 5); uint16_t k = build_register(b, T_ITEM); build_emit(b, OP_TO_REF, k, n, 0); build_emit(b, OP_TO_KEY, n, k, 0); return n) \
  X(now, "1970-01-01T00:00:01.234567Z", uint16_t t = build_register(b, T_TIME); build_emit(b, OP_NOW, t, 0, 0); return t) \
  X(caller, "ann", uint16_t t = build_register(b, T_OPT_TEXT); build_emit(b, OP_CALLER, t, 0, 0); return t)
#define X(name, wanted, ...) static uint16_t make_##name(Build *b) { __VA_ARGS__; }
EXAMPLES(X)
#undef X
static const Example EXAMPLE_ROWS[] = {
#define X(name, wanted, ...) {#name, wanted, make_##name},
  EXAMPLES(X)
#undef X
};

Test(opcode, examples) {
  Build *b = malloc(sizeof *b);
  for (size_t i = 0; i < countof(EXAMPLE_ROWS); i++) {
    build_init(b);
    build_begin(b, FUNCTION_FN, T_TEXT);
    return_text_of(b, EXAMPLE_ROWS[i].make(b));
    expect_text(b, EXAMPLE_ROWS[i].wanted, EXAMPLE_ROWS[i].name);
    build_free(b);
  }
  free(b);
}

// ---- faults of the rest -----------------------------------------------------------------------

typedef struct Faulting { const char *name; FaultKind kind; void (*make)(Build *b); } Faulting;
#define FAULTS(X) \
  X(at_beyond, FAULT_RANGE, uint16_t l = put_list(b, 1, 3); uint16_t n = put_int(b, 3); build_emit(b, OP_LIST_AT, n, l, n)) \
  X(at_below, FAULT_RANGE, uint16_t l = put_list(b, 1, 3); uint16_t n = put_int(b, -1); build_emit(b, OP_LIST_AT, n, l, n)) \
  X(range_endless, FAULT_BUDGET, put_list(b, INT64_MIN, INT64_MAX)) \
  X(range_too_long, FAULT_BUDGET, put_list(b, 0, 100000)) \
  X(random_empty, FAULT_RANGE, uint16_t n = put_int(b, 2); uint16_t m = put_int(b, 1); build_emit(b, OP_RANDOM, n, n, m)) \
  X(row_gone, FAULT_ROW_GONE, uint16_t k = build_register(b, T_ITEM); uint16_t t = build_register(b, T_TEXT); build_emit(b, OP_COLUMN_GET, t, k, ITEM_TITLE)) \
  X(row_gone_set, FAULT_ROW_GONE, uint16_t k = build_register(b, T_ITEM); uint16_t t = build_register(b, T_TEXT); build_emit(b, OP_COLUMN_SET, t, k, ITEM_TITLE)) \
  X(row_gone_delete, FAULT_ROW_GONE, uint16_t k = build_register(b, T_ITEM); build_emit(b, OP_DELETE, k, 0, 0)) \
  X(expect, FAULT_EXPECT, uint16_t t = put_text(b, "no"); build_emit(b, OP_EXPECT_FAILED, t, 0, 0)) \
  X(too_large_in_list, FAULT_OVERFLOW, uint16_t d = build_register(b, T_DEC2); uint16_t n = put_int(b, INT64_MAX); build_emit(b, OP_INT_TO_D, d, n, 0); uint16_t l = build_register(b, T_LIST_DEC2); build_emit(b, OP_LIST_PUSH, l, d, 0)) \
  X(too_large_in_new_list, FAULT_OVERFLOW, uint16_t d = build_register(b, T_DEC2); uint16_t n = put_int(b, INT64_MAX); build_emit(b, OP_INT_TO_D, d, n, 0); uint16_t l = build_register(b, T_LIST_DEC2); build_emit(b, OP_LIST_NEW, l, d, 1)) \
  X(too_large_in_some, FAULT_OVERFLOW, uint16_t d = build_register(b, T_DEC2); uint16_t n = put_int(b, INT64_MAX); build_emit(b, OP_INT_TO_D, d, n, 0); uint16_t o = build_register(b, T_OPT_DEC2); build_emit(b, OP_SOME, o, d, 0)) \
  X(too_large_in_record, FAULT_OVERFLOW, uint16_t n = put_int(b, INT64_MAX); uint16_t d = build_register(b, T_DEC2); build_emit(b, OP_INT_TO_D, d, n, 0); uint16_t p = build_register(b, T_POINT); build_emit(b, OP_RECORD_NEW, p, n, 0)) \
  X(too_large_in_column, FAULT_OVERFLOW, uint16_t n = put_int(b, INT64_MAX); uint16_t d = build_register(b, T_DEC2); build_emit(b, OP_INT_TO_D, d, n, 0); uint16_t k = build_register(b, T_ITEM); build_emit(b, OP_COLUMN_SET, d, k, ITEM_PRICE))
#define X(name, kind, ...) static void fault_##name(Build *b) { __VA_ARGS__; }
FAULTS(X)
#undef X
static const Faulting FAULT_ROWS[] = {
#define X(name, kind, ...) {#name, kind, fault_##name},
  FAULTS(X)
#undef X
};

Test(opcode, faults) {
  Build *b = malloc(sizeof *b);
  for (size_t i = 0; i < countof(FAULT_ROWS); i++) {
    build_init(b);
    build_begin(b, FUNCTION_TEST, TYPE_NONE);
    FAULT_ROWS[i].make(b);
    build_emit(b, OP_RETURN_VOID, 0, 0, 0);
    build_end(b);
    Module *m = build_finish(b);
    Run run = {0};
    cr_assert_eq(run_on(&run, m, 0, NULL, 0), VM_FAULT, "%s", FAULT_ROWS[i].name);
    cr_assert_eq(run.exec.fault.kind, FAULT_ROWS[i].kind, "%s", FAULT_ROWS[i].name);
    cr_assert_eq(run.exec.fault.pc, b->functions[0].code_count - 2, "%s", FAULT_ROWS[i].name);
    run_end(&run);
    build_free(b);
  }
  free(b);
}

// ---- state, surroundings, tests ---------------------------------------------------------------

Test(opcode, state_and_rows) {
  Build b;
  build_init(&b);
  build_begin(&b, FUNCTION_INPUT, T_INT);
  uint16_t n = build_register(&b, T_INT), item = build_register(&b, T_ITEM), id = build_register(&b, T_INT), title = build_register(&b, T_TEXT), price = build_register(&b, T_DEC2);
  uint16_t due = build_register(&b, T_TIME), found = build_register(&b, T_OPT_ITEM), yes = build_register(&b, T_BOOL), one = build_register(&b, T_INT), words = build_register(&b, T_TEXT), number = build_register(&b, T_INT);
  (void)due;
  build_emit(&b, OP_STATE_GET, n, STATE_COUNT, 0);
  build_emit(&b, OP_INT, one, 1, 0);
  build_emit(&b, OP_ADD_I, n, n, one);
  build_emit(&b, OP_STATE_SET, n, STATE_COUNT, 0);
  build_emit(&b, OP_INSERT, item, TABLE_ITEM, id);
  build_emit(&b, OP_INT_TO_D, price, n, 0);
  build_emit(&b, OP_COLUMN_SET, price, item, ITEM_PRICE);
  build_emit(&b, OP_ROW_FIND, found, one, 0);
  build_emit(&b, OP_OPEN, item, found, 0);
  build_emit(&b, OP_ROW_HAS, yes, item, 0);
  uint32_t ok = build_emit(&b, OP_JUMP_IF, yes, 0, 0);
  build_emit(&b, OP_REJECT, ERROR_REJECTED, title, 0);
  build_patch(&b, ok);
  build_emit(&b, OP_DELETE, item, 0, 0);
  build_emit(&b, OP_ROW_FIND, found, one, 0);
  build_emit(&b, OP_HAS, yes, found, 0);
  uint32_t gone = build_emit(&b, OP_JUMP_IF_NOT, yes, 0, 0);
  build_emit(&b, OP_REJECT, ERROR_REJECTED, title, 0);
  build_patch(&b, gone);
  build_emit(&b, OP_INT, number, 5, 0);
  build_emit(&b, OP_SEND, 0, 0, words);
  build_emit(&b, OP_RETURN, n, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  for (uint64_t slice = 0; slice < 2; slice++) {
    Run run = {0};
    run.host.state[STATE_COUNT].i = 41;
    cr_assert_eq(run_on(&run, m, 0, NULL, slice), VM_DONE);
    cr_assert_eq(run.exec.result.i, 42);
    cr_assert_eq(run.host.state[STATE_COUNT].i, 42);
    cr_assert(run.host.rows[0].columns[ITEM_PRICE].dec == 4200);
    cr_assert_eq(run.host.deleted, 1);
    cr_assert_eq(run.host.sent, 5);
    run_end(&run);
  }
  build_free(&b);
}

Test(opcode, surroundings_and_tests) {
  Build b;
  build_init(&b);
  build_begin(&b, FUNCTION_INPUT, T_INT);
  build_param(&b, T_INT);
  build_emit(&b, OP_RETURN, 0, 0, 0);
  build_end(&b);
  build_entry(&b, ENTRY_INPUT, "i", 0);
  build_begin(&b, FUNCTION_TEST, T_INT);
  uint16_t n = build_register(&b, T_INT), bits = build_register(&b, T_INT), arg = build_register(&b, T_INT), yes = build_register(&b, T_BOOL), long_time = build_register(&b, T_DURATION);
  build_emit(&b, OP_CALLER_IS, yes, 0, 0);
  build_emit(&b, OP_CONST, bits, build_constant(&b, T_INT, (Value){.i = 1}), 0);
  build_emit(&b, OP_INT, arg, 8, 0);
  build_emit(&b, OP_AS_BEGIN, put_text(&b, "bob"), build_constant(&b, T_INT, (Value){.i = 6}), 0);
  build_emit(&b, OP_CALL_ENTRY, n, 0, bits);
  build_emit(&b, OP_CALL_ENTRY_VOID, 0, 0, bits);
  build_emit(&b, OP_CONST, long_time, build_constant(&b, T_DURATION, (Value){.i = 77}), 0);
  build_emit(&b, OP_ADVANCE, long_time, 0, 0);
  uint16_t notes = build_register(&b, T_LIST_NOTE);
  build_emit(&b, OP_SENT, notes, 0, 0);
  build_emit(&b, OP_COUNT, bits, notes, 0);
  build_emit(&b, OP_ADD_I, n, n, bits);
  build_emit(&b, OP_RETURN, n, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  Run run = {0};
  cr_assert_eq(run_on(&run, m, 1, NULL, 1), VM_DONE);
  cr_assert_eq(run.exec.result.i, 9 + 3);
  cr_assert_eq(run.host.called, 2);
  cr_assert_eq(run.host.given, 1);
  cr_assert_eq(run.host.advanced, 77);
  cr_assert(str_is(run.host.as, "bob"));
  cr_assert_eq(run.host.as_roles, 6);
  run_end(&run);
  run = (Run){.host = {.entry_result = HOST_REJECT, .entry_error = ERROR_IN_USE}};
  cr_assert_eq(run_on(&run, m, 1, NULL, 0), VM_REJECTED);
  cr_assert_eq(run.exec.rejection.error, ERROR_IN_USE);
  cr_assert(str_is(run.exec.rejection.field, "p0"));
  cr_assert(str_is(run.exec.rejection.message, "That is still in use."));
  run_end(&run);
  build_free(&b);
}

Test(opcode, a_token_is_asked_of_the_host) {
  Build b;
  build_init(&b);
  build_begin(&b, FUNCTION_INPUT, T_TEXT);
  uint16_t text = build_register(&b, T_TEXT), subject = put_text(&b, "ann"), roles = put_int(&b, 5), lasts = build_register(&b, T_DURATION);
  uint16_t run = build_register(&b, T_TEXT);
  build_register(&b, T_INT);
  build_register(&b, T_DURATION);
  build_emit(&b, OP_CONST, lasts, build_constant(&b, T_DURATION, (Value){.i = 60}), 0);
  build_emit(&b, OP_MOVE, run, subject, 0);
  build_emit(&b, OP_MOVE, (uint16_t)(run + 1), roles, 0);
  build_emit(&b, OP_MOVE, (uint16_t)(run + 2), lasts, 0);
  build_emit(&b, OP_ISSUE_TOKEN, text, run, 0);
  build_emit(&b, OP_RETURN, text, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  Run with_host = {0};
  cr_assert_eq(run_on(&with_host, m, 0, NULL, 0), VM_DONE);
  cr_assert(str_is(with_host.exec.result.text, "ann 5 60"));
  run_end(&with_host);
  build_free(&b);
}

Test(opcode, random_is_replayed) {
  Build b;
  build_init(&b);
  build_begin(&b, FUNCTION_INPUT, T_TEXT);
  uint16_t id = build_register(&b, T_UUID), low = put_int(&b, -3), high = put_int(&b, 3), n = build_register(&b, T_INT), texts = build_register(&b, T_TEXT), second = build_register(&b, T_TEXT);
  build_emit(&b, OP_NEW_UUID, id, 0, 0);
  build_emit(&b, OP_RANDOM, n, low, high);
  build_emit(&b, OP_TO_TEXT, texts, id, 0);
  build_emit(&b, OP_TO_TEXT, second, n, 0);
  build_emit(&b, OP_TEXT_JOIN, texts, texts, 2);
  build_emit(&b, OP_RETURN, texts, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  Run first = {0}, again = {0};
  cr_assert_eq(run_on(&first, m, 0, NULL, 0), VM_DONE);
  cr_assert_eq(run_on(&again, m, 0, NULL, 1), VM_DONE);
  cr_assert(str_equal(first.exec.result.text, again.exec.result.text));
  cr_assert_eq(first.exec.result.text.ptr[14], '4', "version 4: %.*s", STR_ARG(first.exec.result.text));
  run_end(&first);
  run_end(&again);
  build_free(&b);
}

Test(opcode, given) {
  for (uint32_t p = 0; p < 3; p++) {
    Build b;
    build_init(&b);
    build_begin(&b, FUNCTION_INPUT, T_BOOL);
    for (int i = 0; i < 3; i++) build_param(&b, T_INT);
    uint16_t yes = build_register(&b, T_BOOL);
    build_emit(&b, OP_GIVEN, yes, p, 0);
    build_emit(&b, OP_RETURN, yes, 0, 0);
    build_end(&b);
    Module *m = build_finish(&b);
    Run run = {0};
    cr_assert_eq(run_on(&run, m, 0, (const Value[]){{.i = 0}, {.i = 0}, {.i = 0}}, 0), VM_DONE);
    cr_assert_eq(run.exec.result.i, RUN_CALL.given >> p & 1);
    run_end(&run);
    build_free(&b);
  }
}

// Parts that are shared make a value that is endless to walk: 40 levels of pairs of the level below.
Test(opcode, shared_parts_meet_the_budget) {
  static const Opcode OPS[] = {OP_EQ, OP_TO_TEXT, OP_RETURN};
  for (size_t k = 0; k < countof(OPS); k++) {
    Build b;
    build_init(&b);
    TypeId type = T_LIST_INT, types[41] = {T_LIST_INT};
    for (int i = 1; i <= 40; i++) types[i] = type = build_type(&b, (Type){.kind = TYPE_LIST, .of = type});
    build_begin(&b, FUNCTION_FN, OPS[k] == OP_RETURN ? type : T_BOOL);
    uint16_t yes = build_register(&b, T_BOOL), text = build_register(&b, T_TEXT), below = put_list(&b, 1, 2), one = build_register(&b, type), other = build_register(&b, type);
    for (int i = 1; i <= 40; i++) {
      uint16_t list = build_register(&b, types[i]);
      build_emit(&b, OP_LIST_PUSH, list, below, 0);
      build_emit(&b, OP_LIST_PUSH, list, below, 0);
      below = list;
    }
    build_emit(&b, OP_LIST_JOIN, one, below, other);
    build_emit(&b, OP_MOVE, other, below, 0);
    if (OPS[k] == OP_EQ) build_emit(&b, OP_EQ, yes, one, other);
    if (OPS[k] == OP_TO_TEXT) build_emit(&b, OP_TO_TEXT, text, one, 0);
    build_emit(&b, OP_RETURN, OPS[k] == OP_RETURN ? one : yes, 0, 0);
    build_end(&b);
    Module *m = build_finish(&b);
    Run run = {0};
    cr_assert_eq(run_on(&run, m, 0, NULL, 0), VM_FAULT, "%s", opcode_info(OPS[k])->name);
    cr_assert_eq(run.exec.fault.kind, FAULT_BUDGET);
    run_end(&run);
    build_free(&b);
  }
}
