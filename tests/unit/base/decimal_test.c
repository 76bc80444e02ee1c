#include <criterion/criterion.h>
#include <float.h>

#include "runtime/base/decimal.h"
#include "tests/unit/base/decimal_quotients.h"

#define LARGEST ((__int128)(((unsigned __int128)1 << 127) - 1))
#define SMALLEST (-LARGEST - 1)

static const char *text_of(__int128 units, unsigned scale) {
  static char text[DECIMAL_TEXT_BYTES];
  cr_assert_eq(decimal_format(units, scale, text), strlen(text));
  return text;
}

Test(decimal, is_written_with_all_its_digits) {
  static const struct { int64_t units; unsigned scale; const char *text; } ROWS[] = {
    {1250, 2, "12.50"}, {0, 0, "0"}, {0, 2, "0.00"}, {-5, 2, "-0.05"}, {5, 18, "0.000000000000000005"}, {INT64_MIN, 0, "-9223372036854775808"},
    {INT64_MIN, 18, "-9.223372036854775808"}, {INT64_MAX, 2, "92233720368547758.07"}, {7, 0, "7"}, {-100, 2, "-1.00"}, {1000, 1, "100.0"}};
  for (size_t i = 0; i < countof(ROWS); i++) cr_assert_str_eq(text_of(ROWS[i].units, ROWS[i].scale), ROWS[i].text, "row %zu", i);
  cr_assert_str_eq(text_of(SMALLEST, 36), "-170.141183460469231731687303715884105728");
}

Test(decimal, is_read_exactly_or_refused) {
  static const struct { const char *text; unsigned scale; Err err; int64_t units; } ROWS[] = {
    {"12.5", 2, ERR_NONE, 1250}, {"12.50", 2, ERR_NONE, 1250}, {"12.500000", 2, ERR_NONE, 1250}, {"12.345", 2, ERR_FORMAT, 0}, {"12", 2, ERR_NONE, 1200},
    {"-0.05", 2, ERR_NONE, -5}, {"-0", 2, ERR_NONE, 0}, {"-0.00", 2, ERR_NONE, 0}, {"92233720368547758.07", 2, ERR_NONE, INT64_MAX},
    {"92233720368547758.08", 2, ERR_RANGE, 0}, {"-92233720368547758.08", 2, ERR_NONE, INT64_MIN}, {"-92233720368547758.09", 2, ERR_RANGE, 0},
    {"9.3", 18, ERR_RANGE, 0}, {"9.223372036854775807", 18, ERR_NONE, INT64_MAX}, {"99999999999999999999999999999999999999", 2, ERR_RANGE, 0},
    {"", 2, ERR_FORMAT, 0}, {"-", 2, ERR_FORMAT, 0}, {".5", 2, ERR_FORMAT, 0}, {"5.", 2, ERR_FORMAT, 0}, {"1e2", 2, ERR_FORMAT, 0}, {"1,5", 2, ERR_FORMAT, 0},
    {"1_0", 2, ERR_FORMAT, 0}, {"1.2.3", 2, ERR_FORMAT, 0}, {"+1", 2, ERR_FORMAT, 0}, {"1.-5", 2, ERR_FORMAT, 0}, {"7.0", 0, ERR_NONE, 7}, {"7.1", 0, ERR_FORMAT, 0}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t units = 0;
    cr_assert_eq(decimal_parse(str_from(ROWS[i].text), ROWS[i].scale, &units), ROWS[i].err, "%s", ROWS[i].text);
    cr_assert_eq(units, ROWS[i].units, "%s", ROWS[i].text);
  }
}

Test(decimal, a_literal_has_the_scale_of_its_digits) {
  static const struct { const char *text; Err err; int64_t units; unsigned scale; } ROWS[] = {
    {"12.50", ERR_NONE, 1250, 2}, {"1_000", ERR_NONE, 1000, 0}, {"1_000.000_5", ERR_NONE, 10000005, 4}, {"0.000000000000000001", ERR_NONE, 1, 18},
    {"0.0000000000000000001", ERR_RANGE, 0, 0}, {"9223372036854775808", ERR_RANGE, 0, 0}, {"_1", ERR_FORMAT, 0, 0}, {"1_", ERR_FORMAT, 0, 0}, {"1__0", ERR_FORMAT, 0, 0}, {"1_.5", ERR_FORMAT, 0, 0}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t units = 0;
    unsigned scale = 0;
    cr_assert_eq(decimal_parse_literal(str_from(ROWS[i].text), &units, &scale), ROWS[i].err, "%s", ROWS[i].text);
    cr_assert(units == ROWS[i].units && scale == ROWS[i].scale, "%s", ROWS[i].text);
  }
}

// Carries reach the digit in front: 999.9 is 1000, never 100.0.
Test(decimal, rounds_each_way) {
  static const struct { int64_t units; unsigned digits; int64_t half_even, up, down, half_up; } ROWS[] = {
    {9999, 1, 1000, 1000, 999, 1000}, {999, 2, 10, 10, 9, 10}, {5, 1, 0, 1, 0, 1}, {-5, 1, 0, -1, 0, -1}, {15, 1, 2, 2, 1, 2}, {25, 1, 2, 3, 2, 3},
    {-25, 1, -2, -3, -2, -3}, {-15, 1, -2, -2, -1, -2}, {24, 1, 2, 3, 2, 2}, {26, 1, 3, 3, 2, 3}, {251, 2, 3, 3, 2, 3}, {250, 2, 2, 3, 2, 3}, {350, 2, 4, 4, 3, 4},
    {0, 5, 0, 0, 0, 0}, {1, 18, 0, 1, 0, 0}, {-1, 18, 0, -1, 0, 0}, {INT64_MIN, 18, -9, -10, -9, -9}, {INT64_MAX, 0, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    cr_assert(decimal_narrow(ROWS[i].units, ROWS[i].digits, ROUND_HALF_EVEN) == ROWS[i].half_even, "row %zu", i);
    cr_assert(decimal_narrow(ROWS[i].units, ROWS[i].digits, ROUND_UP) == ROWS[i].up, "row %zu", i);
    cr_assert(decimal_narrow(ROWS[i].units, ROWS[i].digits, ROUND_DOWN) == ROWS[i].down, "row %zu", i);
    cr_assert(decimal_narrow(ROWS[i].units, ROWS[i].digits, ROUND_HALF_UP) == ROWS[i].half_up, "row %zu", i);
  }
  cr_assert(decimal_narrow(SMALLEST, 38, ROUND_UP) == -2);
}

Test(decimal, arithmetic_refuses_what_passes_128_bits) {
  __int128 out = 7;
  int64_t small = 7;
  cr_assert_eq(decimal_add(LARGEST, 1, &out), NUM_OVERFLOW);
  cr_assert_eq(decimal_sub(SMALLEST, 1, &out), NUM_OVERFLOW);
  cr_assert_eq(decimal_mul(SMALLEST, -1, &out), NUM_OVERFLOW);
  cr_assert_eq(decimal_neg(SMALLEST, &out), NUM_OVERFLOW);
  cr_assert_eq(decimal_abs(SMALLEST, &out), NUM_OVERFLOW);
  cr_assert_eq(decimal_widen((__int128)INT64_MAX * INT64_MAX, 2, &out), NUM_OVERFLOW);
  cr_assert_eq(decimal_fit((__int128)INT64_MAX + 1, &small), NUM_OVERFLOW);
  cr_assert(out == 7 && small == 7);
  cr_assert(decimal_mul(INT64_MIN, INT64_MIN, &out) == NUM_OK && out == (__int128)1 << 126);
  cr_assert(decimal_fit(INT64_MIN, &small) == NUM_OK && small == INT64_MIN);
  for (unsigned n = 0; n < DECIMAL_SHIFT_MAX; n++) cr_assert(decimal_power(n + 1) == decimal_power(n) * 10);
}

static __int128 wide(Wide w) { return (__int128)((unsigned __int128)(__int128)w.high << 64 | w.low); }

Test(decimal, quotients_are_exact_at_any_length) {
  for (size_t i = 0; i < countof(QUOTIENTS); i++) {
    __int128 out = 7;
    NumFault fault = decimal_divide(wide(QUOTIENTS[i].a), wide(QUOTIENTS[i].b), QUOTIENTS[i].shift, QUOTIENTS[i].rounding, &out);
    cr_assert_eq(fault, QUOTIENTS[i].fits ? NUM_OK : NUM_OVERFLOW, "row %zu", i);
    cr_assert(out == (QUOTIENTS[i].fits ? wide(QUOTIENTS[i].quotient) : 7), "row %zu", i);
  }
}

Test(decimal, division_and_shares) {
  static const struct { int64_t a, b; unsigned a_scale, b_scale, scale; const char *text; } ROWS[] = {
    {100, 3, 2, 0, 2, "0.33"}, {200, 3, 2, 0, 2, "0.67"}, {1, 8, 0, 0, 2, "0.12"}, {3, 8, 0, 0, 2, "0.38"}, {-1, 8, 0, 0, 2, "-0.12"}, {1, 3, 0, 0, 18, "0.333333333333333333"},
    {999900, 100, 2, 0, 0, "100"}, {12345, 100, 4, 2, 1, "1.2"}, {INT64_MIN, -1, 0, 0, 0, "9223372036854775808"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    __int128 out;
    int shift = decimal_divide_shift(ROWS[i].a_scale, ROWS[i].b_scale, ROWS[i].scale);
    cr_assert_eq(decimal_divide(ROWS[i].a, ROWS[i].b, shift, ROUND_HALF_EVEN, &out), NUM_OK);
    cr_assert_str_eq(text_of(out, ROWS[i].scale), ROWS[i].text, "row %zu", i);
  }
  __int128 out = 7;
  cr_assert_eq(decimal_divide(1, 0, 2, ROUND_HALF_EVEN, &out), NUM_DIVIDE_BY_ZERO);
  cr_assert(out == 7);
  cr_assert(decimal_percent(1, 0, 1, &out) == NUM_OK && out == 0);
  cr_assert(decimal_percent(1, 3, 1, &out) == NUM_OK && out == 333);
  cr_assert(decimal_percent(2, 3, 0, &out) == NUM_OK && out == 67);
}

Test(decimal, from_and_to_floats) {
  static const struct { double x; unsigned scale; DecimalRounding rounding; const char *text; } ROWS[] = {
    {0.1, 2, ROUND_HALF_EVEN, "0.10"}, {0.5, 0, ROUND_HALF_EVEN, "0"}, {1.5, 0, ROUND_HALF_EVEN, "2"}, {-2.5, 0, ROUND_HALF_EVEN, "-2"}, {2.675, 2, ROUND_HALF_UP, "2.67"},
    {0.1, 18, ROUND_HALF_EVEN, "0.100000000000000006"}, {5e-324, 18, ROUND_UP, "0.000000000000000001"}, {5e-324, 18, ROUND_HALF_EVEN, "0.000000000000000000"},
    {0, 2, ROUND_UP, "0.00"}, {9007199254740992, 2, ROUND_HALF_EVEN, "9007199254740992.00"}, {1e20, 0, ROUND_DOWN, "100000000000000000000"}, {-0x1p127, 0, ROUND_DOWN, "-170141183460469231731687303715884105728"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    __int128 out;
    cr_assert_eq(decimal_from_float(ROWS[i].x, ROWS[i].scale, ROWS[i].rounding, &out), NUM_OK, "row %zu", i);
    cr_assert_str_eq(text_of(out, ROWS[i].scale), ROWS[i].text, "row %zu", i);
  }
  __int128 out;
  cr_assert_eq(decimal_from_float(0x1p127, 0, ROUND_DOWN, &out), NUM_OVERFLOW);
  cr_assert_eq(decimal_from_float(DBL_MAX, 18, ROUND_DOWN, &out), NUM_OVERFLOW);
  cr_assert_eq(decimal_to_float(1250, 2), 12.5);
  cr_assert_eq(decimal_to_float(INT64_MAX, 0), 0x1p63);
  cr_assert_eq(decimal_to_float(INT64_MIN, 18), -9.223372036854775808);
  cr_assert_eq(decimal_to_float(9007199254740993, 0), 9007199254740992.0);
  cr_assert_eq(decimal_to_float(10000000000000001, 17), 0.10000000000000001);
}
