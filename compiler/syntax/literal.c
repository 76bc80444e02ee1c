// Literals are decoded when the grammar takes them, so a text that recovery skips is never looked at.
#include "compiler/syntax/literal.h"

#include <assert.h>

#include "runtime/base/utf8.h"

// ---- numbers ------------------------------------------------------------------------------

// Adds the digits of `text` to `*number`; underscores and one point are passed over. False: more than 64 bits.
static bool read_digits(Str text, uint64_t *number) {
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] < '0' || text.ptr[i] > '9') continue;
    uint64_t digit = (uint64_t)(text.ptr[i] - '0');
    if (__builtin_mul_overflow(*number, 10u, number) || __builtin_add_overflow(*number, digit, number)) return false;
  }
  return true;
}

int64_t literal_int(const Decoder *decoder, Span span, bool *out_is_2_63) {
  uint64_t number = 0;
  bool fits = read_digits(source_text(decoder->source, span), &number) && number <= (uint64_t)INT64_MAX + 1;
  *out_is_2_63 = fits && number == (uint64_t)INT64_MAX + 1;
  if (fits) return (int64_t)number;
  Diag *diag = diag_add(decoder->diags, DIAG_E012, span, "this number does not fit an int");
  diag_help(decoder->diags, diag, "an int is at most 9223372036854775807");
  return 0;
}

int64_t literal_decimal(const Decoder *decoder, Span span, uint8_t *out_scale) {
  Str text = source_text(decoder->source, span);
  const char *point = memchr(text.ptr, '.', text.len);
  assert(point);
  size_t scale = 0;
  for (const char *c = point + 1; c < text.ptr + text.len; c++) scale += *c != '_';
  uint64_t number = 0;
  *out_scale = (uint8_t)(scale > DECIMAL_SCALE_MAX ? DECIMAL_SCALE_MAX : scale);
  if (scale > DECIMAL_SCALE_MAX) {
    diag_add(decoder->diags, DIAG_E012, span, "this number has %zu digits after the point, a decimal has at most %d", scale, DECIMAL_SCALE_MAX);
    return 0;
  }
  if (read_digits(text, &number) && number <= INT64_MAX) return (int64_t)number;
  diag_add(decoder->diags, DIAG_E012, span, "this number has too many digits for a decimal(%zu), which has 64 bits", scale);
  return 0;
}

int64_t literal_duration(const Decoder *decoder, Span span) {
  static const struct { const char *unit; int64_t us; } UNITS[] = {
    {"us", 1}, {"ms", 1000}, {"s", 1000000}, {"min", 60000000}, {"h", 3600000000}, {"d", 86400000000}, {"w", 604800000000}};
  Str text = source_text(decoder->source, span);
  size_t digits = 0;
  while (digits < text.len && (text.ptr[digits] == '_' || (text.ptr[digits] >= '0' && text.ptr[digits] <= '9'))) digits++;
  Str unit = str_part(text, digits, text.len);
  for (size_t i = 0; i < countof(UNITS); i++) {
    if (!str_is(unit, UNITS[i].unit)) continue;
    uint64_t number = 0;
    int64_t us;
    if (read_digits(str_part(text, 0, digits), &number) && !__builtin_mul_overflow(number, UNITS[i].us, &us)) return us;
    diag_add(decoder->diags, DIAG_E012, span, "this duration does not fit 64 bits of microseconds");
    return 0;
  }
  assert(!"the scanner knows the same units");
  return 0;
}

// ---- dates and times ----------------------------------------------------------------------

static int64_t digits_at(Str text, size_t from, size_t len) {
  int64_t number = 0;
  for (size_t i = from; i < from + len; i++) number = number * 10 + (text.ptr[i] - '0');
  return number;
}

// Days since 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date
// algorithms", days_from_civil).
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  int64_t era = year / 400;
  int64_t year_of_era = year - era * 400;
  int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

static bool read_date(Str text, int64_t *out_days) {
  int64_t year = digits_at(text, 0, 4), month = digits_at(text, 5, 2), day = digits_at(text, 8, 2);
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  int64_t next_year = month == 12 ? year + 1 : year, next_month = month == 12 ? 1 : month + 1;
  *out_days = days_from_civil(year, month, day);
  return *out_days < days_from_civil(next_year, next_month, 1);
}

// "T09:00:30.5+02:00" behind the date, as microseconds to add to its midnight. At most six digits of a second count.
static bool read_time_of_day(Str text, int64_t *out_us) {
  int64_t hour = digits_at(text, 1, 2), minute = digits_at(text, 4, 2), second = 0, fraction = 0;
  size_t at = 6;
  if (text.ptr[at] == ':') { second = digits_at(text, 7, 2); at = 9; }
  if (text.ptr[at] == '.') {
    size_t from = ++at;
    while (text.ptr[at] >= '0' && text.ptr[at] <= '9') at++;
    if (at - from > 6) return false;
    fraction = digits_at(text, from, at - from);
    for (size_t i = at - from; i < 6; i++) fraction *= 10;
  }
  int64_t zone_minutes = 0;
  if (text.ptr[at] != 'Z') {
    int64_t zone_hour = digits_at(text, at + 1, 2), zone_minute = digits_at(text, at + 4, 2);
    if (zone_hour > 23 || zone_minute > 59) return false;
    zone_minutes = (zone_hour * 60 + zone_minute) * (text.ptr[at] == '-' ? -1 : 1);
  }
  if (hour > 23 || minute > 59 || second > 59) return false;
  *out_us = ((hour * 60 + minute - zone_minutes) * 60 + second) * 1000000 + fraction;
  return true;
}

int64_t literal_time(const Decoder *decoder, Span span, bool *out_is_date) {
  enum { DATE_LEN = 10 };
  Str text = source_text(decoder->source, span);
  text = str_part(text, 1, text.len);  // without the @
  *out_is_date = text.len == DATE_LEN;
  int64_t days = 0, us = 0;
  // The scanner has reported a text of another form already.
  bool has_form = text.len >= DATE_LEN && text.ptr[4] == '-' && text.ptr[7] == '-' && (text.len == DATE_LEN || text.ptr[DATE_LEN] == 'T');
  if (!has_form) return 0;
  if (!read_date(text, &days)) {
    diag_add(decoder->diags, DIAG_E014, span, "there is no such day");
    return 0;
  }
  if (*out_is_date) return days;
  if (!read_time_of_day(str_part(text, DATE_LEN, text.len), &us)) {
    Diag *diag = diag_add(decoder->diags, DIAG_E014, span, "there is no such time of day");
    diag_note(decoder->diags, diag, "hours go from 00 to 23, minutes and seconds to 59, a second has at most six digits after the point");
    return 0;
  }
  return days * 86400000000 + us;
}

// ---- texts --------------------------------------------------------------------------------

static void report_escape(const Decoder *decoder, Str inside, Span span, size_t from, size_t to, const char *words) {
  if (to > inside.len) to = inside.len;
  Span where = {span.start + (uint32_t)from, span.start + (uint32_t)to};
  Diag *diag = diag_add(decoder->diags, DIAG_E015, where, "%s", words);
  diag_help(decoder->diags, diag, "the escapes are \\n \\t \\\" \\\\ \\{ \\} and \\u{1F600}");
}

// \u{…} at `at`. The number of bytes it takes in the source; writes the character.
static size_t decode_point(const Decoder *decoder, Str inside, Span span, size_t at, char **out) {
  size_t end = at + 2;
  uint32_t point = 0;
  bool is_hex = end < inside.len && inside.ptr[end] == '{';
  for (end++; is_hex && end < inside.len && inside.ptr[end] != '}'; end++) {
    char c = inside.ptr[end];
    uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : (c | 32) >= 'a' && (c | 32) <= 'f' ? (uint32_t)((c | 32) - 'a' + 10) : 16;
    is_hex = digit < 16 && end - at - 3 < 6;
    point = point * 16 + digit;
  }
  size_t digits = end - at - 3;
  size_t len = 0;
  if (is_hex && end < inside.len && digits) len = utf8_encode(point, *out);
  if (!len) {
    report_escape(decoder, inside, span, at, end + 1, "a character by its number is \\u{…} with 1 to 6 hexadecimal digits, at most 10FFFF and no surrogate");
    return 2;
  }
  *out += len;
  return end + 1 - at;
}

static size_t decode_escape(const Decoder *decoder, Str inside, Span span, size_t at, char **out) {
  char c = at + 1 < inside.len ? inside.ptr[at + 1] : 0;
  switch (c) {
    case 'n': *(*out)++ = '\n'; return 2;
    case 't': *(*out)++ = '\t'; return 2;
    case '"': case '\\': case '{': case '}': *(*out)++ = c; return 2;
    case 'u': return decode_point(decoder, inside, span, at, out);
    default: break;
  }
  size_t to = at + 2;
  while (to < inside.len && (inside.ptr[to] & 0xC0) == 0x80) to++;  // the whole character
  report_escape(decoder, inside, span, at, to, "this escape is unknown");
  return to - at;
}

static bool is_plain(Str inside) {
  for (size_t i = 0; i < inside.len; i++) {
    uint8_t c = (uint8_t)inside.ptr[i];
    if (c == '\\' || (c < 0x20 && c != '\t') || c == 0x7F) return false;
  }
  return true;
}

Str literal_text(const Decoder *decoder, Span inside_span) {
  Str inside = source_text(decoder->source, inside_span);
  if (is_plain(inside)) return inside;
  char *text = arena_alloc(decoder->arena, inside.len + UTF8_CHAR_BYTES_MAX);  // an escape is never shorter than its character
  if (!text) { decoder->diags->failed = true; return STR(""); }
  char *out = text;
  for (size_t at = 0; at < inside.len;) {
    uint8_t c = (uint8_t)inside.ptr[at];
    if (c == '\\') { at += decode_escape(decoder, inside, inside_span, at, &out); continue; }
    if ((c < 0x20 && c != '\t') || c == 0x7F) {
      Span where = {inside_span.start + (uint32_t)at, inside_span.start + (uint32_t)at + 1};
      Diag *diag = diag_add(decoder->diags, DIAG_E016, where, "a text holds no control characters as they are");
      diag_help(decoder->diags, diag, "write \\u{%X}", c);
    }
    *out++ = (char)c;
    at++;
  }
  return (Str){text, (size_t)(out - text)};
}
