// Division is long division by decimal digits, so that no intermediate is longer than the remainder: a quotient that
// fits comes out right even where a * 10^shift would need 256 bits. All work is on magnitudes; signs are put on last.
#include "runtime/base/decimal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 Magnitude;

static const Magnitude MAGNITUDE_MAX = (Magnitude)1 << 127;  // of the most negative number

static Magnitude magnitude(__int128 units) { return units < 0 ? -(Magnitude)units : (Magnitude)units; }

static NumFault with_sign(Magnitude m, bool negative, __int128 *out) {
  if (m > MAGNITUDE_MAX - !negative) return NUM_OVERFLOW;
  *out = negative ? (__int128)-m : (__int128)m;
  return NUM_OK;
}

static const int64_t POWERS[19] = {
  1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
  10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000};

__int128 decimal_power(unsigned digits) {
  assert(digits <= DECIMAL_SHIFT_MAX);
  __int128 power = POWERS[digits % 19];
  return digits < 19 ? power : digits < 38 ? power * POWERS[18] * 10 : (__int128)POWERS[18] * POWERS[18] * 100;
}

NumFault decimal_widen(__int128 units, unsigned digits, __int128 *out) { return decimal_mul(units, decimal_power(digits), out); }

// Whether a quotient is to grow by one, given the remainder of a division by `by`.
static bool rounds_away(Magnitude quotient, Magnitude rest, Magnitude by, DecimalRounding rounding) {
  Magnitude other = by - rest;  // compared with it instead of doubling, which could overflow
  switch (rounding) {
    case ROUND_HALF_EVEN: return rest > other || (rest == other && (quotient & 1));
    case ROUND_HALF_UP: return rest >= other;
    case ROUND_UP: return rest != 0;
    case ROUND_DOWN: case DECIMAL_ROUNDING_COUNT: return false;
  }
  return false;
}

__int128 decimal_narrow(__int128 units, unsigned digits, DecimalRounding rounding) {
  if (digits == 0) return units;
  Magnitude m = magnitude(units), by = (Magnitude)decimal_power(digits);
  Magnitude quotient = m / by;
  quotient += rounds_away(quotient, m % by, by, rounding);
  return units < 0 ? -(__int128)quotient : (__int128)quotient;
}

NumFault decimal_rescale(__int128 units, unsigned from_scale, unsigned to_scale, DecimalRounding rounding, __int128 *out) {
  if (to_scale >= from_scale) return decimal_widen(units, to_scale - from_scale, out);
  *out = decimal_narrow(units, from_scale - to_scale, rounding);
  return NUM_OK;
}

// ---- division ---------------------------------------------------------------------------------

// The next decimal digit of a quotient whose remainder so far is *rest (< by); *rest becomes that of ten times it.
static unsigned next_digit(Magnitude *rest, Magnitude by) {
  if (*rest <= ~(Magnitude)0 / 10) {
    Magnitude tenfold = *rest * 10;
    *rest = tenfold % by;
    return (unsigned)(tenfold / by);
  }
  unsigned digit = 0;
  Magnitude sum = 0, room = by - *rest;
  for (int i = 0; i < 10; i++) {  // sum += rest, modulo by, without ever passing 128 bits
    if (sum >= room) sum -= room, digit++;
    else sum += *rest;
  }
  *rest = sum;
  return digit;
}

// For a negative shift the divisor grows instead. False: it passed 128 bits, and a quotient is below a half of its unit.
static bool widen_divisor(Magnitude *by, unsigned digits) {
  for (; digits > 0; digits--)
    if (__builtin_mul_overflow(*by, (Magnitude)10, by)) return false;
  return true;
}

NumFault decimal_divide(__int128 a, __int128 b, int shift, DecimalRounding rounding, __int128 *out) {
  assert(shift >= -DECIMAL_SHIFT_MAX && shift <= DECIMAL_SHIFT_MAX + 2);
  if (b == 0) return NUM_DIVIDE_BY_ZERO;
  bool negative = (a < 0) != (b < 0);
  Magnitude m = magnitude(a), by = magnitude(b);
  if (shift < 0 && !widen_divisor(&by, (unsigned)-shift)) return with_sign(m != 0 && rounding == ROUND_UP, negative, out);
  Magnitude quotient = m / by, rest = m % by;
  for (; shift > 0; shift--) {
    unsigned digit = next_digit(&rest, by);
    if (__builtin_mul_overflow(quotient, (Magnitude)10, &quotient) || __builtin_add_overflow(quotient, digit, &quotient)) return NUM_OVERFLOW;
  }
  if (__builtin_add_overflow(quotient, rounds_away(quotient, rest, by, rounding), &quotient)) return NUM_OVERFLOW;
  return with_sign(quotient, negative, out);
}

NumFault decimal_percent(__int128 part, __int128 whole, int shift, __int128 *out) {
  if (whole == 0) { *out = 0; return NUM_OK; }
  return decimal_divide(part, whole, shift + 2, ROUND_HALF_EVEN, out);
}

// ---- float ------------------------------------------------------------------------------------

double decimal_to_float(__int128 units, unsigned scale) {
  // Both exact, so that the one division rounds once.
  if (magnitude(units) <= (Magnitude)1 << 53 && scale <= 18) return (double)(int64_t)units / (double)POWERS[scale];
  char text[DECIMAL_TEXT_BYTES + 8];
  size_t len = decimal_format(units, 0, text);
  // Digits and an exponent: strtod would look for the locale's point.
  text[len++] = 'e', text[len++] = '-', text[len++] = (char)('0' + scale / 10), text[len++] = (char)('0' + scale % 10), text[len] = 0;
  return strtod(text, NULL);
}

NumFault decimal_from_float(double number, unsigned scale, DecimalRounding rounding, __int128 *out) {
  assert(scale <= DECIMAL_DIGITS_MAX && isfinite(number));
  int exponent;
  double fraction = frexp(fabs(number), &exponent);
  Magnitude m = (Magnitude)(uint64_t)ldexp(fraction, 53) * (Magnitude)POWERS[scale];  // exact: below 2^53 * 2^60
  exponent -= 53;
  if (exponent > 127) return NUM_OVERFLOW;
  if (exponent >= 0) {
    if (m != 0 && m > MAGNITUDE_MAX >> exponent) return NUM_OVERFLOW;
    return with_sign(m << exponent, number < 0, out);
  }
  if (exponent < -126) exponent = -126, m = 1;  // far below a half; all that counts is that it is not zero
  Magnitude by = (Magnitude)1 << -exponent, quotient = m >> -exponent;
  quotient += rounds_away(quotient, m & (by - 1), by, rounding);
  return with_sign(quotient, number < 0, out);
}

// ---- text -------------------------------------------------------------------------------------

size_t decimal_format(__int128 units, unsigned scale, char out_text[DECIMAL_TEXT_BYTES]) {
  assert(scale <= DECIMAL_SHIFT_MAX);
  char reversed[DECIMAL_TEXT_BYTES];
  size_t len = 0, digits = 0;
  for (Magnitude m = magnitude(units); m != 0 || digits <= scale; m /= 10) {
    if (digits == scale && scale > 0) reversed[len++] = '.';
    reversed[len++] = (char)('0' + (unsigned)(m % 10));
    digits++;
  }
  if (units < 0) reversed[len++] = '-';
  assert(len < DECIMAL_TEXT_BYTES);
  for (size_t i = 0; i < len; i++) out_text[i] = reversed[len - 1 - i];
  out_text[len] = 0;
  return len;
}

// A text taken apart at its point.
typedef struct Written { bool negative; Str whole, fraction; } Written;

static bool is_digits(Str text, bool underscores) {
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    bool between = underscores && c == '_' && i > 0 && i + 1 < text.len && text.ptr[i - 1] != '_';
    if (!between && (c < '0' || c > '9')) return false;
  }
  return text.len > 0;
}

static Err take_apart(Str text, bool underscores, Written *out) {
  bool negative = text.len > 0 && text.ptr[0] == '-';
  Str rest = str_part(text, negative, text.len);
  const char *point = rest.len ? memchr(rest.ptr, '.', rest.len) : NULL;
  size_t at = point ? (size_t)(point - rest.ptr) : rest.len;
  Str whole = str_part(rest, 0, at), fraction = point ? str_part(rest, at + 1, rest.len) : (Str){0};
  if (!is_digits(whole, underscores) || (point && !is_digits(fraction, underscores))) return ERR_FORMAT;
  *out = (Written){negative, whole, fraction};
  return ERR_NONE;
}

// Puts the digits behind those of *units, which is kept negative, since that side reaches one further.
static bool add_digits(Str digits, int64_t *units) {
  for (size_t i = 0; i < digits.len; i++) {
    if (digits.ptr[i] == '_') continue;
    if (__builtin_mul_overflow(*units, 10, units) || __builtin_sub_overflow(*units, digits.ptr[i] - '0', units)) return false;
  }
  return true;
}

static Err finish_parse(const Written *written, bool fits, int64_t units, int64_t *out_units) {
  if (!fits || (!written->negative && int_neg(units, &units) != NUM_OK)) return ERR_RANGE;
  *out_units = units;
  return ERR_NONE;
}

Err decimal_parse(Str text, unsigned scale, int64_t *out_units) {
  assert(scale <= DECIMAL_DIGITS_MAX);
  Written written;
  TRY(take_apart(text, false, &written));
  while (written.fraction.len > scale && written.fraction.ptr[written.fraction.len - 1] == '0') written.fraction.len--;
  if (written.fraction.len > scale) return ERR_FORMAT;
  static const char ZEROS[] = "000000000000000000";
  int64_t units = 0;
  bool fits = add_digits(written.whole, &units) && add_digits(written.fraction, &units) && add_digits((Str){ZEROS, scale - written.fraction.len}, &units);
  return finish_parse(&written, fits, units, out_units);
}

Err decimal_parse_literal(Str text, int64_t *out_units, unsigned *out_scale) {
  Written written;
  TRY(take_apart(text, true, &written));
  size_t scale = 0;
  for (size_t i = 0; i < written.fraction.len; i++) scale += written.fraction.ptr[i] != '_';
  if (scale > DECIMAL_DIGITS_MAX) return ERR_RANGE;
  int64_t units = 0;
  bool fits = add_digits(written.whole, &units) && add_digits(written.fraction, &units);
  TRY(finish_parse(&written, fits, units, out_units));
  *out_scale = (unsigned)scale;
  return ERR_NONE;
}
