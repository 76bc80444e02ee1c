// Numbers keep their digits as they were written until somebody says which type they are for. Going to an int or a
// decimal is exact: the digits without outer zeros are counted first, and only numbers of at most 19 digits are ever
// computed, so an exponent of a billion costs nothing.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/json.h"

enum {
  INT64_DIGITS_MAX = 19,
  DOUBLE_DIGITS_MAX = 800,  // more than the 767 that can decide how a double is rounded; later ones count as "not zero"
  EXACT_POWER_MAX = 22,     // 10^22 is the greatest power of ten that a double holds exactly
};

Err json_number_parts(Str number, JsonNumber *out_parts) {
  JsonReader reader;
  json_open(&reader, number);
  bool plain = number.len > 0 && (number.ptr[0] == '-' || (number.ptr[0] >= '0' && number.ptr[0] <= '9'));
  if (!plain || json_next(&reader) != JSON_NUMBER || reader.at != reader.end) return ERR_FORMAT;
  JsonNumber parts = {.negative = number.ptr[0] == '-'};
  const char *at = number.ptr + parts.negative, *end = number.ptr + number.len, *from = at;
  while (at < end && *at >= '0' && *at <= '9') at++;
  parts.integer = (Str){from, (size_t)(at - from)};
  if (at < end && *at == '.') {
    from = ++at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    parts.fraction = (Str){from, (size_t)(at - from)};
  }
  if (at < end) {
    at++;
    bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    int64_t exponent = 0;
    for (; at < end; at++) {
      exponent = exponent * 10 + (*at - '0');
      if (exponent > JSON_EXPONENT_MAX) exponent = JSON_EXPONENT_MAX;
    }
    parts.exponent = (int32_t)(negative ? -exponent : exponent);
  }
  *out_parts = parts;
  return ERR_NONE;
}

// The digits of integer and fraction as one run, without outer zeros: value = digits * 10^exponent.
typedef struct Digits { const JsonNumber *parts; size_t from, to; int64_t exponent; } Digits;

static char digit_at(const JsonNumber *parts, size_t i) {
  return i < parts->integer.len ? parts->integer.ptr[i] : parts->fraction.ptr[i - parts->integer.len];
}

static Digits digits_of(const JsonNumber *parts) {
  Digits digits = {parts, 0, parts->integer.len + parts->fraction.len, (int64_t)parts->exponent - (int64_t)parts->fraction.len};
  while (digits.to > 0 && digit_at(parts, digits.to - 1) == '0') digits.to--, digits.exponent++;
  while (digits.from < digits.to && digit_at(parts, digits.from) == '0') digits.from++;
  return digits;
}

static size_t digits_count(const Digits *digits) { return digits->to - digits->from; }

static uint64_t digits_value(const Digits *digits) {
  uint64_t value = 0;
  for (size_t i = digits->from; i < digits->to; i++) value = value * 10 + (uint64_t)(digit_at(digits->parts, i) - '0');
  return value;
}

Err json_number_scaled(Str number, unsigned scale, int64_t *out_value) {
  JsonNumber parts;
  TRY(json_number_parts(number, &parts));
  Digits digits = digits_of(&parts);
  if (digits_count(&digits) == 0) {
    *out_value = 0;
    return ERR_NONE;
  }
  int64_t exponent = digits.exponent + scale;
  if (exponent < 0) return ERR_FORMAT;
  if (digits_count(&digits) > INT64_DIGITS_MAX || exponent > INT64_DIGITS_MAX - (int64_t)digits_count(&digits)) return ERR_RANGE;
  uint64_t value = digits_value(&digits);  // at most 19 digits, and 10^19 < 2^64
  for (; exponent > 0; exponent--) value *= 10;
  if (value > (uint64_t)INT64_MAX + parts.negative) return ERR_RANGE;
  *out_value = (int64_t)(parts.negative ? -value : value);
  return ERR_NONE;
}

// Digits and exponent without a point, so that strtod does not ask for the locale's.
static Err read_slowly(const Digits *digits, double *out_value) {
  char text[DOUBLE_DIGITS_MAX + 32];
  size_t len = 0, at = digits->from;
  int64_t exponent = digits->exponent;
  while (at < digits->to && len < DOUBLE_DIGITS_MAX) text[len++] = digit_at(digits->parts, at++);
  exponent += (int64_t)(digits->to - at);
  if (at < digits->to) {
    text[len++] = '1';  // stands for all that was left out, which is not zero
    exponent--;
  }
  snprintf(text + len, sizeof text - len, "e%lld", (long long)exponent);
  double value = strtod(text, NULL);
  if (value > 0x1.fffffffffffffp1023) return ERR_RANGE;
  *out_value = value;
  return ERR_NONE;
}

Err json_number_double(Str number, double *out_value) {
  static const double POWERS[EXACT_POWER_MAX + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
                                                     1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  JsonNumber parts;
  TRY(json_number_parts(number, &parts));
  Digits digits = digits_of(&parts);
  double value = 0;
  if (digits_count(&digits) == 0) value = 0;
  else if (digits_count(&digits) <= 15 && digits.exponent >= -EXACT_POWER_MAX && digits.exponent <= EXACT_POWER_MAX) {
    // Both factors are exact, so one rounding gives the nearest double.
    value = (double)digits_value(&digits);
    value = digits.exponent < 0 ? value / POWERS[-digits.exponent] : value * POWERS[digits.exponent];
  } else {
    TRY(read_slowly(&digits, &value));
  }
  *out_value = parts.negative ? -value : value;
  return ERR_NONE;
}
