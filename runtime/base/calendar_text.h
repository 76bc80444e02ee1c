// Dates, times and durations as text.
//
// Owns:   nothing.
// Thread: any.
// Errors: ERR_FORMAT: not of the form, or no such day or hour; ERR_RANGE: of the form but beyond the limits of
//         calendar.h or of int64. The result is untouched then.
#pragma once
#include "runtime/base/buf.h"
#include "runtime/base/calendar.h"

enum { CALENDAR_TEXT_BYTES = 48 };

// "2026-10-04". Outside of the years 1 to 9999 a date is written with more digits or a sign (and cannot be read back).
size_t date_format(int64_t date, char out_text[CALENDAR_TEXT_BYTES]);
MUST_USE Err date_parse(Str text, int64_t *out_date);

// RFC 3339 in UTC: "2026-10-04T09:00:00Z", with as many digits of a second's fraction as it has, up to six.
size_t time_format(int64_t time, char out_text[CALENDAR_TEXT_BYTES]);
// RFC 3339 with any offset; seconds may be left out ("2026-10-04T09:00+09:00"). More than six digits after the second
// are read only when they are zeros: nothing is rounded. A 60th second is refused, since a time cannot hold it.
MUST_USE Err time_parse(Str text, int64_t *out_time);
// A clock's hour and minute (and second): "02:00", as the duration since midnight, below a day.
MUST_USE Err clock_parse(Str text, int64_t *out_at);

// A whole number and its greatest unit that divides the duration: us ms s min h d w. 90 minutes are "90min", zero "0s".
size_t duration_format(int64_t duration, char out_text[CALENDAR_TEXT_BYTES]);
// An optional `-`, digits, a unit.
MUST_USE Err duration_parse(Str text, int64_t *out_duration);

// The time in the zone as the pattern says: yyyy year, MM month, dd day, HH hour, mm minute, ss second, M d H without the
// zero before; other characters stand for themselves.
void time_format_pattern(const Zone *zone, int64_t time, Str pattern, Buf *out);
