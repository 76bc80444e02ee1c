// What of the arithmetic is too long to be inlined.
#include "runtime/base/num.h"

NumFault int_pow(int64_t x, int64_t n, int64_t *out) {
  if (n < 0) return NUM_RANGE;
  int64_t result = 1;
  for (;;) {  // square and multiply; the last square is not taken, since it may overflow though it is not needed
    if ((n & 1) && int_mul(result, x, &result) != NUM_OK) return NUM_OVERFLOW;
    n >>= 1;
    if (n == 0) break;
    if (int_mul(x, x, &x) != NUM_OK) return NUM_OVERFLOW;
  }
  *out = result;
  return NUM_OK;
}

Err int_parse(Str text, int64_t *out) {
  bool negative = text.len > 0 && text.ptr[0] == '-';
  if (text.len == negative) return ERR_FORMAT;
  int64_t number = 0;
  bool fits = true;
  for (size_t i = negative; i < text.len; i++) {
    char c = text.ptr[i];
    if (c < '0' || c > '9') return ERR_FORMAT;
    int digit = negative ? -(c - '0') : c - '0';
    fits = fits && !__builtin_mul_overflow(number, 10, &number) && !__builtin_add_overflow(number, digit, &number);
  }
  if (!fits) return ERR_RANGE;
  *out = number;
  return ERR_NONE;
}
