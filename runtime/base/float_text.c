// A decimal of 15 digits survives the way through a double, so if 15 digits read back they are the shortest once their
// trailing zeros are gone. Else 16 are tried, and 17 always do. At powers of two the gap below a double is half that
// above, and there the nearest 16 digits may fail while the next ones up succeed, so these are tried as well.
#include "runtime/base/float_text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 17 };
typedef struct Digits { char text[DIGITS_MAX + 1]; int count, exponent; } Digits;  // 0.DDD * 10^exponent

static Digits digits_of(double number, int count) {
  char text[40];  // D.DDDDe+308
  snprintf(text, sizeof text, "%.*e", count - 1, number);
  Digits digits = {.count = count, .exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1};
  digits.text[0] = text[0];
  memcpy(digits.text + 1, text + 2, (size_t)count - 1);  // past the point, whatever the locale has there
  return digits;
}

static bool reads_back(const Digits *digits, double number) {
  char text[40];
  snprintf(text, sizeof text, "%.*se%d", digits->count, digits->text, digits->exponent - digits->count);
  return strtod(text, NULL) == number;
}

static Digits one_up(Digits digits) {
  int i = digits.count - 1;
  for (; i >= 0 && digits.text[i] == '9'; i--) digits.text[i] = '0';
  if (i >= 0) digits.text[i]++;
  else digits.text[0] = '1', digits.exponent++;
  return digits;
}

static Digits shortest(double number) {
  // Below the normal range a double has fewer than 53 bits, and fewer than 15 digits tell it apart.
  for (int count = number < 0x1p-1022 ? 1 : 15; count < DIGITS_MAX; count++) {
    Digits digits = digits_of(number, count);
    if (reads_back(&digits, number)) return digits;
    digits = one_up(digits);
    if (count == 16 && reads_back(&digits, number)) return digits;
  }
  return digits_of(number, DIGITS_MAX);
}

static size_t put(char *out, size_t len, const char *bytes, int count) {
  memcpy(out + len, bytes, (size_t)count);
  return len + (size_t)count;
}

static size_t lay_out(const Digits *d, size_t len, char *out) {
  static const char ZEROS[] = "000000000000000000000";
  if (d->exponent > 21 || d->exponent < -5) {
    out[len++] = d->text[0];
    if (d->count > 1) out[len++] = '.', len = put(out, len, d->text + 1, d->count - 1);
    return len + (size_t)snprintf(out + len, FLOAT_TEXT_BYTES - len, "e%+d", d->exponent - 1);
  }
  if (d->exponent <= 0) return put(out, put(out, put(out, len, "0.", 2), ZEROS, -d->exponent), d->text, d->count);
  if (d->exponent >= d->count) return put(out, put(out, len, d->text, d->count), ZEROS, d->exponent - d->count);
  len = put(out, len, d->text, d->exponent);
  out[len++] = '.';
  return put(out, len, d->text + d->exponent, d->count - d->exponent);
}

size_t float_format(double number, char out_text[FLOAT_TEXT_BYTES]) {
  assert(isfinite(number));
  size_t len = 0;
  if (number == 0) {
    out_text[len++] = '0';
  } else {
    if (number < 0) out_text[len++] = '-';
    Digits digits = shortest(fabs(number));
    while (digits.count > 1 && digits.text[digits.count - 1] == '0') digits.count--;
    len = lay_out(&digits, len, out_text);
  }
  assert(len < FLOAT_TEXT_BYTES);
  out_text[len] = 0;
  return len;
}
