#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "runtime/base/float_text.h"

Test(float_text, is_the_shortest_that_reads_back) {
  static const struct { double x; const char *text; } ROWS[] = {
    {0, "0"}, {-0.0, "0"}, {1, "1"}, {-1, "-1"}, {0.1, "0.1"}, {0.1 + 0.2, "0.30000000000000004"}, {100, "100"}, {123456789, "123456789"}, {1e20, "100000000000000000000"},
    {1e21, "1e+21"}, {1.5e300, "1.5e+300"}, {1e-6, "0.000001"}, {1e-7, "1e-7"}, {1.25e-9, "1.25e-9"}, {5e-324, "5e-324"}, {DBL_MAX, "1.7976931348623157e+308"},
    {DBL_MIN, "2.2250738585072014e-308"}, {0x1p-44, "5.684341886080802e-14"}, {9007199254740993.0, "9007199254740992"}, {1.0 / 3, "0.3333333333333333"}, {2.0 / 3, "0.6666666666666666"},
    {123.456, "123.456"}, {-0.000123, "-0.000123"}, {4.35, "4.35"}, {1e23, "1e+23"}, {0x1p-1074 * 3, "1.5e-323"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    char text[FLOAT_TEXT_BYTES];
    size_t len = float_format(ROWS[i].x, text);
    cr_assert_str_eq(text, ROWS[i].text);
    cr_assert_eq(len, strlen(text));
  }
}

Test(float_text, any_double_comes_back) {
  uint64_t state = 99;
  for (int i = 0; i < 30000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = state ^ state >> 29;
    double x;
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x)) continue;
    char text[FLOAT_TEXT_BYTES];
    float_format(x, text);
    cr_assert_eq(strtod(text, NULL), x, "%s", text);
  }
}
