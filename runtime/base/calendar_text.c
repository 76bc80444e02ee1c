// Reading goes through a Scan, a place in the text that remembers whether all went well so far; so each form reads as
// the list of its parts.
#include "runtime/base/calendar_text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct Scan { const char *at, *end; bool good; } Scan;

static Scan scan_of(Str text) { return (Scan){text.ptr, text.ptr + text.len, text.len > 0}; }
static char scan_peek(const Scan *scan) { return scan->good && scan->at < scan->end ? *scan->at : 0; }
static bool scan_done(const Scan *scan) { return scan->good && scan->at == scan->end; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static int scan_number(Scan *scan, int digits) {
  int number = 0;
  for (int i = 0; i < digits; i++) {
    char c = scan_peek(scan);
    scan->good = scan->good && is_digit(c);
    if (!scan->good) return 0;
    number = number * 10 + (c - '0');
    scan->at++;
  }
  return number;
}

static bool scan_try(Scan *scan, char c) {
  if (!c || scan_peek(scan) != c) return false;
  scan->at++;
  return true;
}

static void scan_expect(Scan *scan, char c) { scan->good = scan_try(scan, c); }

static Civil scan_civil(Scan *scan) {
  Civil civil = {.year = scan_number(scan, 4)};
  scan_expect(scan, '-');
  civil.month = scan_number(scan, 2);
  scan_expect(scan, '-');
  civil.day = scan_number(scan, 2);
  return civil;
}

// The fraction of a second in microseconds; digits behind the sixth must be zeros.
static int64_t scan_fraction(Scan *scan) {
  int64_t fraction = 0;
  int digits = 0;
  for (; is_digit(scan_peek(scan)); scan->at++, digits++) {
    if (digits < 6) fraction = fraction * 10 + (*scan->at - '0');
    else if (*scan->at != '0') scan->good = false;
  }
  scan->good = scan->good && digits > 0;
  for (; digits < 6; digits++) fraction *= 10;
  return fraction;
}

// hh:mm[:ss[.fraction]], since midnight.
static int64_t scan_clock(Scan *scan) {
  int hour = scan_number(scan, 2);
  scan_expect(scan, ':');
  int minute = scan_number(scan, 2), second = 0;
  int64_t fraction = 0;
  if (scan_try(scan, ':')) {
    second = scan_number(scan, 2);
    if (scan_try(scan, '.')) fraction = scan_fraction(scan);
  }
  scan->good = scan->good && hour < 24 && minute < 60 && second < 60;
  return hour * HOUR + minute * MINUTE + second * SECOND + fraction;
}

static int64_t scan_offset(Scan *scan) {
  if (scan_try(scan, 'Z') || scan_try(scan, 'z')) return 0;
  bool west = scan_try(scan, '-');
  if (!west) scan_expect(scan, '+');
  int hour = scan_number(scan, 2);
  scan_expect(scan, ':');
  int minute = scan_number(scan, 2);
  scan->good = scan->good && hour < 24 && minute < 60;
  int64_t offset = hour * HOUR + minute * MINUTE;
  return west ? -offset : offset;
}

Err date_parse(Str text, int64_t *out_date) {
  Scan scan = scan_of(text);
  Civil civil = scan_civil(&scan);
  if (!scan_done(&scan)) return ERR_FORMAT;
  if (civil.year == 0) return ERR_RANGE;
  return date_from_civil(civil, out_date) == NUM_OK ? ERR_NONE : ERR_FORMAT;
}

Err time_parse(Str text, int64_t *out_time) {
  Scan scan = scan_of(text);
  Civil civil = scan_civil(&scan);
  if (!scan_try(&scan, 't')) scan_expect(&scan, 'T');
  int64_t clock = scan_clock(&scan), offset = scan_offset(&scan), date;
  if (!scan_done(&scan)) return ERR_FORMAT;
  if (civil.year == 0) return ERR_RANGE;
  if (date_from_civil(civil, &date) != NUM_OK) return ERR_FORMAT;
  int64_t time = date * DAY + clock - offset;
  if (!time_in_range(time)) return ERR_RANGE;
  *out_time = time;
  return ERR_NONE;
}

Err clock_parse(Str text, int64_t *out_at) {
  Scan scan = scan_of(text);
  int64_t at = scan_clock(&scan);
  if (!scan_done(&scan)) return ERR_FORMAT;
  *out_at = at;
  return ERR_NONE;
}

// ---- durations --------------------------------------------------------------------------------

static const struct Unit { const char *name; int64_t size; } UNITS[] = {  // greatest first
  {"w", WEEK}, {"d", DAY}, {"h", HOUR}, {"min", MINUTE}, {"s", SECOND}, {"ms", MILLISECOND}, {"us", MICROSECOND}};

size_t duration_format(int64_t duration, char out_text[CALENDAR_TEXT_BYTES]) {
  size_t unit = 0;
  if (duration == 0) unit = 4;
  while (duration % UNITS[unit].size != 0) unit++;
  int len = snprintf(out_text, CALENDAR_TEXT_BYTES, "%lld%s", (long long)(duration / UNITS[unit].size), UNITS[unit].name);
  assert(len > 0 && len < CALENDAR_TEXT_BYTES);
  return (size_t)len;
}

Err duration_parse(Str text, int64_t *out_duration) {
  size_t digits = text.len > 0 && text.ptr[0] == '-';
  while (digits < text.len && is_digit(text.ptr[digits])) digits++;
  for (size_t i = 0; i < countof(UNITS); i++) {
    if (!str_is(str_part(text, digits, text.len), UNITS[i].name)) continue;
    int64_t number, duration;
    TRY(int_parse(str_part(text, 0, digits), &number));
    if (int_mul(number, UNITS[i].size, &duration) != NUM_OK) return ERR_RANGE;
    *out_duration = duration;
    return ERR_NONE;
  }
  return ERR_FORMAT;
}

// ---- writing ----------------------------------------------------------------------------------

static size_t write_date(int64_t date, char *out) {
  Civil civil = date_civil(date);
  const char *format = civil.year < 0 ? "%05lld-%02d-%02d" : civil.year > 9999 ? "+%lld-%02d-%02d" : "%04lld-%02d-%02d";
  int len = snprintf(out, CALENDAR_TEXT_BYTES, format, (long long)civil.year, civil.month, civil.day);
  return (size_t)len;
}

size_t date_format(int64_t date, char out_text[CALENDAR_TEXT_BYTES]) {
  size_t len = write_date(date, out_text);
  assert(len < CALENDAR_TEXT_BYTES);
  return len;
}

// A time taken apart: the day, and the microseconds of it.
static int64_t split_day(int64_t time, int64_t *out_date) {
  int64_t rest = time % DAY, date = time / DAY;
  if (rest < 0) rest += DAY, date--;
  *out_date = date;
  return rest;
}

size_t time_format(int64_t time, char out_text[CALENDAR_TEXT_BYTES]) {
  int64_t date, rest = split_day(time, &date);
  size_t len = write_date(date, out_text);
  int fraction = (int)(rest % SECOND), seconds = (int)(rest / SECOND);
  len += (size_t)snprintf(out_text + len, CALENDAR_TEXT_BYTES - len, "T%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (fraction) {
    len += (size_t)snprintf(out_text + len, CALENDAR_TEXT_BYTES - len, ".%06d", fraction);
    while (out_text[len - 1] == '0') len--;
  }
  assert(len + 1 < CALENDAR_TEXT_BYTES);
  memcpy(out_text + len, "Z", 2);
  return len + 1;
}

typedef struct Part { const char *mark; int digits; int64_t number; } Part;

void time_format_pattern(const Zone *zone, int64_t time, Str pattern, Buf *out) {
  int64_t local, date;
  if (zone_local(zone, time, &local) != NUM_OK) local = time;
  int64_t rest = split_day(local, &date), second = rest / SECOND;
  Civil civil = date_civil(date);
  const Part parts[] = {{"yyyy", 4, civil.year}, {"MM", 2, civil.month}, {"dd", 2, civil.day}, {"HH", 2, second / 3600}, {"mm", 2, second / 60 % 60},
                        {"ss", 2, second % 60}, {"M", 1, civil.month}, {"d", 1, civil.day}, {"H", 1, second / 3600}};
  for (size_t at = 0; at < pattern.len;) {
    Str left = str_part(pattern, at, pattern.len);
    const Part *part = parts, *end = parts + countof(parts);
    while (part < end && !str_starts(left, str_from(part->mark))) part++;
    if (part < end) buf_add_format(out, "%0*lld", part->digits, (long long)part->number);
    else buf_add_char(out, left.ptr[0]);
    at += part < end ? strlen(part->mark) : 1;
  }
}
