// Decimals: whole numbers of units with a scale, the digits after the point, kept by the type. 12.50 as a decimal(2)
// is 1250 units. In an expression units have 128 bits; what is stored, passed or returned must fit 64 (decimal_fits).
// Nothing is rounded but by the functions that say how. Arithmetic is shared by interpreter and folding, as in num.h.
//
// Owns:   nothing.
// Thread: any.
// Errors: NumFault, or Err for texts; the result is untouched then.
// Limits: DECIMAL_DIGITS_MAX digits after the point in a type; a shift is at most DECIMAL_SHIFT_MAX.
#pragma once
#include "runtime/base/num.h"

enum { DECIMAL_DIGITS_MAX = 18, DECIMAL_SHIFT_MAX = 38 };
enum { DECIMAL_TEXT_BYTES = 48 };  // sign, 39 digits, point, zero byte, and some

typedef enum DecimalRounding {
  ROUND_HALF_EVEN,  // to the nearest; a half goes to the even neighbour
  ROUND_UP,         // away from zero
  ROUND_DOWN,       // towards zero
  ROUND_HALF_UP,    // to the nearest; a half goes away from zero
  DECIMAL_ROUNDING_COUNT
} DecimalRounding;

static inline bool decimal_fits(__int128 units) { return units == (int64_t)units; }

static inline MUST_USE NumFault decimal_fit(__int128 units, int64_t *out) {
  if (!decimal_fits(units)) return NUM_OVERFLOW;
  *out = (int64_t)units;
  return NUM_OK;
}

// Both of one scale.
static inline MUST_USE NumFault decimal_add(__int128 a, __int128 b, __int128 *out) {
  __int128 sum;
  if (__builtin_add_overflow(a, b, &sum)) return NUM_OVERFLOW;
  *out = sum;
  return NUM_OK;
}

static inline MUST_USE NumFault decimal_sub(__int128 a, __int128 b, __int128 *out) {
  __int128 difference;
  if (__builtin_sub_overflow(a, b, &difference)) return NUM_OVERFLOW;
  *out = difference;
  return NUM_OK;
}

// The result's scale is the sum of the two.
static inline MUST_USE NumFault decimal_mul(__int128 a, __int128 b, __int128 *out) {
  __int128 product;
  if (__builtin_mul_overflow(a, b, &product)) return NUM_OVERFLOW;
  *out = product;
  return NUM_OK;
}

static inline MUST_USE NumFault decimal_neg(__int128 a, __int128 *out) { return decimal_sub(0, a, out); }
static inline MUST_USE NumFault decimal_abs(__int128 a, __int128 *out) { return a < 0 ? decimal_neg(a, out) : decimal_add(a, 0, out); }

// 10 to the power of `digits`, 0 to DECIMAL_SHIFT_MAX.
__int128 decimal_power(unsigned digits);

// The same number with `digits` more digits after the point.
MUST_USE NumFault decimal_widen(__int128 units, unsigned digits, __int128 *out);
// The number with `digits` fewer digits after the point, rounded. Cannot overflow.
__int128 decimal_narrow(__int128 units, unsigned digits, DecimalRounding rounding);
// From one scale to another, whichever is greater.
MUST_USE NumFault decimal_rescale(__int128 units, unsigned from_scale, unsigned to_scale, DecimalRounding rounding, __int128 *out);

// a / b at the scale that the shift means: decimal_divide_shift(a's scale, b's, the result's). Exact at any length: the
// only overflow is that of the result.
MUST_USE NumFault decimal_divide(__int128 a, __int128 b, int shift, DecimalRounding rounding, __int128 *out);
static inline int decimal_divide_shift(unsigned a_scale, unsigned b_scale, unsigned scale) { return (int)scale + (int)b_scale - (int)a_scale; }
// 100 * part / whole, half even; 0 when whole is 0. The same shift.
MUST_USE NumFault decimal_percent(__int128 part, __int128 whole, int shift, __int128 *out);

// ---- float ------------------------------------------------------------------------------------

double decimal_to_float(__int128 units, unsigned scale);  // the nearest double
// From the exact value of the double.
MUST_USE NumFault decimal_from_float(double number, unsigned scale, DecimalRounding rounding, __int128 *out);

// ---- text -------------------------------------------------------------------------------------

// Always with all digits of the scale: 12.50, -0.05, 7 (scale 0). Returns the length; a zero byte follows.
size_t decimal_format(__int128 units, unsigned scale, char out_text[DECIMAL_TEXT_BYTES]);
// An optional `-`, digits, and perhaps a point and digits; no exponent. Digits that the scale has no room for must be
// zeros: 12.345 for scale 2 is ERR_FORMAT, never rounded. ERR_RANGE when it does not fit 64 bits.
MUST_USE Err decimal_parse(Str text, unsigned scale, int64_t *out_units);
// A literal: its scale is that of the digits written. `_` may stand between digits. ERR_RANGE: too many digits after the
// point, or more than 64 bits.
MUST_USE Err decimal_parse_literal(Str text, int64_t *out_units, unsigned *out_scale);
