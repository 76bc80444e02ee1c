// Arithmetic that is exact or refuses. One rule for every operator: the result is the mathematically right one, or a
// NumFault. So INT64_MIN / -1 overflows, but INT64_MIN % -1 is 0. The interpreter and the compiler's folding both call
// these functions, so a constant expression and the same expression at run time cannot differ.
//
// A float is always finite and never -0.0: an operation that would give infinity or no number is NUM_OVERFLOW, and a
// zero is always the positive one, so equal floats are the same bits.
//
// Owns:   nothing.
// Thread: any.
// Errors: a NumFault; the result is untouched then.
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/err.h"
#include "runtime/base/str.h"

// NUM_RANGE: an argument the function does not take, as the root of a number below zero.
typedef enum NumFault { NUM_OK, NUM_OVERFLOW, NUM_DIVIDE_BY_ZERO, NUM_RANGE } NumFault;

// ---- int --------------------------------------------------------------------------------------

static inline MUST_USE NumFault int_add(int64_t a, int64_t b, int64_t *out) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return NUM_OVERFLOW;
  *out = sum;
  return NUM_OK;
}

static inline MUST_USE NumFault int_sub(int64_t a, int64_t b, int64_t *out) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference)) return NUM_OVERFLOW;
  *out = difference;
  return NUM_OK;
}

static inline MUST_USE NumFault int_mul(int64_t a, int64_t b, int64_t *out) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return NUM_OVERFLOW;
  *out = product;
  return NUM_OK;
}

// Towards zero.
static inline MUST_USE NumFault int_div(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return NUM_DIVIDE_BY_ZERO;
  if (a == INT64_MIN && b == -1) return NUM_OVERFLOW;
  *out = a / b;
  return NUM_OK;
}

// The rest of int_div: it has the sign of a. The processor's own instruction would trap for INT64_MIN % -1.
static inline MUST_USE NumFault int_mod(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return NUM_DIVIDE_BY_ZERO;
  *out = b == -1 ? 0 : a % b;
  return NUM_OK;
}

// Towards minus infinity.
static inline MUST_USE NumFault int_div_floor(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return NUM_DIVIDE_BY_ZERO;
  if (a == INT64_MIN && b == -1) return NUM_OVERFLOW;
  *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return NUM_OK;
}

// The rest of int_div_floor: it has the sign of b.
static inline MUST_USE NumFault int_mod_floor(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return NUM_DIVIDE_BY_ZERO;
  int64_t rest = b == -1 ? 0 : a % b;
  *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  return NUM_OK;
}

static inline MUST_USE NumFault int_neg(int64_t a, int64_t *out) { return int_sub(0, a, out); }
static inline MUST_USE NumFault int_abs(int64_t a, int64_t *out) { return a < 0 ? int_neg(a, out) : int_add(a, 0, out); }
static inline int64_t int_sign(int64_t a) { return (a > 0) - (a < 0); }

// 1 for n = 0. A negative n is NUM_RANGE. At most 64 multiplications.
MUST_USE NumFault int_pow(int64_t x, int64_t n, int64_t *out);

// What a person or a program wrote: an optional `-`, then digits and nothing else. ERR_FORMAT, ERR_RANGE.
MUST_USE Err int_parse(Str text, int64_t *out);

// ---- float ------------------------------------------------------------------------------------

// Makes a float of the result of an operation; `+ 0.0` turns -0.0 into 0.0.
static inline MUST_USE NumFault float_finish(double result, double *out) {
  if (!isfinite(result)) return NUM_OVERFLOW;
  *out = result + 0.0;
  return NUM_OK;
}

static inline MUST_USE NumFault float_add(double a, double b, double *out) { return float_finish(a + b, out); }
static inline MUST_USE NumFault float_sub(double a, double b, double *out) { return float_finish(a - b, out); }
static inline MUST_USE NumFault float_mul(double a, double b, double *out) { return float_finish(a * b, out); }
static inline MUST_USE NumFault float_neg(double a, double *out) { return float_finish(-a, out); }
static inline MUST_USE NumFault float_abs(double a, double *out) { return float_finish(fabs(a), out); }

static inline MUST_USE NumFault float_div(double a, double b, double *out) {
  return b == 0 ? NUM_DIVIDE_BY_ZERO : float_finish(a / b, out);
}

// NUM_RANGE below zero.
static inline MUST_USE NumFault float_sqrt(double a, double *out) { return a < 0 ? NUM_RANGE : float_finish(sqrt(a), out); }

// The whole part, towards zero.
static inline MUST_USE NumFault float_to_int(double a, int64_t *out) {
  if (!(a >= -0x1p63 && a < 0x1p63)) return NUM_OVERFLOW;
  *out = (int64_t)a;
  return NUM_OK;
}

static inline double float_from_int(int64_t a) { return (double)a; }  // the nearest, halves to even
