#include <criterion/criterion.h>
#include <float.h>

#include "runtime/base/num.h"

static const int64_t EDGES[] = {INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, -4611686018427387905, -3, -2, -1, 0, 1, 2, 3, 7, 4611686018427387904, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};

static __int128 wide_div_floor(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

typedef NumFault (*IntOp)(int64_t, int64_t, int64_t *);
static __int128 right_add(__int128 a, __int128 b) { return a + b; }
static __int128 right_sub(__int128 a, __int128 b) { return a - b; }
static __int128 right_mul(__int128 a, __int128 b) { return a * b; }
static __int128 right_div(__int128 a, __int128 b) { return a / b; }
static __int128 right_mod(__int128 a, __int128 b) { return a % b; }
static __int128 right_mod_floor(__int128 a, __int128 b) { return a - b * wide_div_floor(a, b); }

// One rule: the exact result where it fits, a fault where it does not.
Test(num, every_operator_is_exact_or_refuses_at_every_boundary) {
  static const struct { const char *name; IntOp op; __int128 (*right)(__int128, __int128); bool divides; } OPS[] = {
    {"+", int_add, right_add, false}, {"-", int_sub, right_sub, false}, {"*", int_mul, right_mul, false}, {"/", int_div, right_div, true},
    {"%", int_mod, right_mod, true}, {"div_floor", int_div_floor, wide_div_floor, true}, {"mod_floor", int_mod_floor, right_mod_floor, true}};
  for (size_t o = 0; o < countof(OPS); o++)
    for (size_t i = 0; i < countof(EDGES); i++)
      for (size_t k = 0; k < countof(EDGES); k++) {
        int64_t a = EDGES[i], b = EDGES[k], result = 4711;
        NumFault fault = OPS[o].op(a, b, &result);
        NumFault expected = OPS[o].divides && b == 0 ? NUM_DIVIDE_BY_ZERO : NUM_OK;
        __int128 right = expected == NUM_OK ? OPS[o].right(a, b) : 4711;
        if (right != (int64_t)right) expected = NUM_OVERFLOW, right = 4711;  // a result is untouched by a fault
        cr_assert_eq(fault, expected, "%lld %s %lld", (long long)a, OPS[o].name, (long long)b);
        cr_assert_eq(result, (int64_t)right, "%lld %s %lld", (long long)a, OPS[o].name, (long long)b);
      }
}

Test(num, the_smallest_int) {
  int64_t out = 5;
  cr_assert_eq(int_div(INT64_MIN, -1, &out), NUM_OVERFLOW);
  cr_assert_eq(int_neg(INT64_MIN, &out), NUM_OVERFLOW);
  cr_assert_eq(int_abs(INT64_MIN, &out), NUM_OVERFLOW);
  cr_assert_eq(out, 5);
  cr_assert_eq(int_mod(INT64_MIN, -1, &out), NUM_OK);
  cr_assert_eq(out, 0);
  cr_assert_eq(int_abs(INT64_MIN + 1, &out), NUM_OK);
  cr_assert_eq(out, INT64_MAX);
}

Test(num, powers) {
  static const struct { int64_t x, n; NumFault fault; int64_t result; } ROWS[] = {
    {2, 62, NUM_OK, INT64_C(1) << 62}, {2, 63, NUM_OVERFLOW, 0}, {-2, 63, NUM_OK, INT64_MIN}, {-2, 64, NUM_OVERFLOW, 0}, {0, 0, NUM_OK, 1}, {7, 0, NUM_OK, 1},
    {0, INT64_MAX, NUM_OK, 0}, {1, INT64_MAX, NUM_OK, 1}, {-1, INT64_MAX, NUM_OK, -1}, {-1, INT64_MAX - 1, NUM_OK, 1}, {2, INT64_MAX, NUM_OVERFLOW, 0},
    {3, 39, NUM_OK, 4052555153018976267}, {3, 40, NUM_OVERFLOW, 0}, {INT64_MIN, 1, NUM_OK, INT64_MIN}, {INT64_MAX, 1, NUM_OK, INT64_MAX}, {5, -1, NUM_RANGE, 0}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t out = 0;
    cr_assert_eq(int_pow(ROWS[i].x, ROWS[i].n, &out), ROWS[i].fault, "row %zu", i);
    cr_assert_eq(out, ROWS[i].result, "row %zu", i);
  }
}

Test(num, ints_are_read_whole_or_not_at_all) {
  static const struct { const char *text; Err err; int64_t number; } ROWS[] = {
    {"0", ERR_NONE, 0}, {"-0", ERR_NONE, 0}, {"007", ERR_NONE, 7}, {"9007199254740993", ERR_NONE, 9007199254740993}, {"9223372036854775807", ERR_NONE, INT64_MAX},
    {"-9223372036854775808", ERR_NONE, INT64_MIN}, {"9223372036854775808", ERR_RANGE, 0}, {"-9223372036854775809", ERR_RANGE, 0}, {"18446744073709551616", ERR_RANGE, 0},
    {"99999999999999999999999999999999x", ERR_FORMAT, 0}, {"", ERR_FORMAT, 0}, {"-", ERR_FORMAT, 0}, {"+1", ERR_FORMAT, 0}, {" 1", ERR_FORMAT, 0}, {"1 ", ERR_FORMAT, 0},
    {"1.0", ERR_FORMAT, 0}, {"1e2", ERR_FORMAT, 0}, {"1_0", ERR_FORMAT, 0}, {"0x1", ERR_FORMAT, 0}, {"--1", ERR_FORMAT, 0}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t out = 0;
    cr_assert_eq(int_parse(str_from(ROWS[i].text), &out), ROWS[i].err, "%s", ROWS[i].text);
    cr_assert_eq(out, ROWS[i].number, "%s", ROWS[i].text);
  }
}

Test(num, floats_stay_finite_and_have_one_zero) {
  double out = 3;
  cr_assert_eq(float_add(DBL_MAX, DBL_MAX, &out), NUM_OVERFLOW);
  cr_assert_eq(float_mul(DBL_MAX, -2, &out), NUM_OVERFLOW);
  cr_assert_eq(float_div(1, 0, &out), NUM_DIVIDE_BY_ZERO);
  cr_assert_eq(float_div(0, 0, &out), NUM_DIVIDE_BY_ZERO);
  cr_assert_eq(float_div(DBL_MAX, 0.5, &out), NUM_OVERFLOW);
  cr_assert_eq(float_sqrt(-1, &out), NUM_RANGE);
  cr_assert_eq(out, 3.0);
  cr_assert(float_neg(0, &out) == NUM_OK && !signbit(out));
  cr_assert(float_mul(-1, 0, &out) == NUM_OK && !signbit(out));
  cr_assert(float_mul(-1e-300, 1e-300, &out) == NUM_OK && !signbit(out));
  cr_assert(float_sqrt(2.25, &out) == NUM_OK && out == 1.5);
}

Test(num, a_float_becomes_an_int_only_where_it_fits) {
  static const struct { double x; NumFault fault; int64_t result; } ROWS[] = {
    {2.9, NUM_OK, 2}, {-2.9, NUM_OK, -2}, {-0x1p63, NUM_OK, INT64_MIN}, {0x1p63, NUM_OVERFLOW, 0}, {-0x1.0000000000001p63, NUM_OVERFLOW, 0},
    {0x1.fffffffffffffp62, NUM_OK, 9223372036854774784}, {DBL_MAX, NUM_OVERFLOW, 0}, {5e-324, NUM_OK, 0}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t out = 0;
    cr_assert_eq(float_to_int(ROWS[i].x, &out), ROWS[i].fault, "row %zu", i);
    cr_assert_eq(out, ROWS[i].result, "row %zu", i);
  }
}
