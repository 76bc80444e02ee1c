// Dates, times and durations: numbers with a calendar. A date is a count of days since 1970-01-01 in the Gregorian
// calendar (carried back before 1582 as RFC 3339 does), a time microseconds since 1970 in UTC without leap seconds, a
// duration microseconds. (Not named time.h, which would hide the C library's from the files of this room.)
//
// Owns:   nothing; a Zone's transitions belong to the module they stand in.
// Thread: any.
// Errors: NumFault; the result is untouched then. Values outside of the limits never crash a function, they are
//         NUM_OVERFLOW where a result would be one; the functions without an error take any int64.
// Limits: results lie from DATE_MIN to DATE_MAX and TIME_MIN to TIME_MAX: the years 1 to 9999, those RFC 3339 can write.
#pragma once
#include "runtime/base/num.h"

#define MICROSECOND INT64_C(1)
#define MILLISECOND INT64_C(1000)
#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define WEEK (7 * DAY)

#define DATE_MIN INT64_C(-719162)            // 0001-01-01
#define DATE_MAX INT64_C(2932896)            // 9999-12-31
#define TIME_MIN (DATE_MIN * DAY)
#define TIME_MAX (DATE_MAX * DAY + DAY - 1)

static inline bool date_in_range(int64_t date) { return date >= DATE_MIN && date <= DATE_MAX; }
static inline bool time_in_range(int64_t time) { return time >= TIME_MIN && time <= TIME_MAX; }

// ---- dates ------------------------------------------------------------------------------------

typedef struct Civil { int64_t year; int month, day; } Civil;  // month 1 to 12, day 1 to 31

Civil date_civil(int64_t date);                                       // of any int64
MUST_USE NumFault date_from_civil(Civil civil, int64_t *out_date);    // NUM_RANGE: there is no such day
int date_days_in_month(int64_t year, int month);
int date_weekday(int64_t date);                                       // 1 is Monday, 7 Sunday

// `days` are a duration of whole days; another one is NUM_RANGE.
MUST_USE NumFault date_add(int64_t date, int64_t days, int64_t *out_date);
MUST_USE NumFault date_sub(int64_t a, int64_t b, int64_t *out_duration);
// The same day of the month, or the last one of a shorter month.
MUST_USE NumFault date_add_months(int64_t date, int64_t months, int64_t *out_date);
int64_t date_age(int64_t born, int64_t on);                           // whole years; below zero before birth

typedef enum TimeUnit { UNIT_MINUTE, UNIT_HOUR, UNIT_DAY, UNIT_WEEK, UNIT_MONTH, UNIT_YEAR, TIME_UNIT_COUNT } TimeUnit;

// The first day of the week (Monday), month or year that holds the date; of smaller units the date itself.
MUST_USE NumFault date_start_of(int64_t date, TimeUnit unit, int64_t *out_date);
MUST_USE NumFault date_end_of(int64_t date, TimeUnit unit, int64_t *out_date);  // the first day after it

// ---- times ------------------------------------------------------------------------------------

MUST_USE NumFault time_add(int64_t time, int64_t duration, int64_t *out_time);
MUST_USE NumFault time_sub(int64_t a, int64_t b, int64_t *out_duration);
// The last whole multiple of the step since 1970 at or before the time. A step of zero is NUM_DIVIDE_BY_ZERO, one below NUM_RANGE.
MUST_USE NumFault time_floor(int64_t time, int64_t step, int64_t *out_time);

// ---- zones ------------------------------------------------------------------------------------

// From `at` on, local time is UTC plus offset_s. Sorted by `at`. Before the first one the zone's first_offset_s holds.
typedef struct ZoneTransition { int64_t at; int32_t offset_s; } ZoneTransition;
typedef struct Zone { Str name; int32_t first_offset_s; uint32_t count; const ZoneTransition *transitions; } Zone;
enum { ZONE_OFFSET_MAX_S = 26 * 3600 };
extern const Zone ZONE_UTC;

bool zone_is_sound(const Zone *zone);                                 // sorted, offsets within ±ZONE_OFFSET_MAX_S
int32_t zone_offset_s(const Zone *zone, int64_t time);
// Local microseconds since 1970 of a time, and back. A local time that a clock put forward leaves out is taken with the
// offset before (so it comes out as much later as the clock jumped); one that comes twice is the first of the two.
MUST_USE NumFault zone_local(const Zone *zone, int64_t time, int64_t *out_local);
MUST_USE NumFault zone_time(const Zone *zone, int64_t local, int64_t *out_time);

MUST_USE NumFault zone_date_of(const Zone *zone, int64_t time, int64_t *out_date);
MUST_USE NumFault zone_time_of(const Zone *zone, int64_t date, int64_t at, int64_t *out_time);  // `at`: since midnight by the clock, 0 up to a day
// The first moment of the unit that holds the time, and that of the next one.
MUST_USE NumFault zone_start_of(const Zone *zone, int64_t time, TimeUnit unit, int64_t *out_time);
MUST_USE NumFault zone_end_of(const Zone *zone, int64_t time, TimeUnit unit, int64_t *out_time);
