// Days and civil dates go over by the method of 400-year eras of 146,097 days with years that start in March, so that the
// leap day is the last of its year (Howard Hinnant, "chrono-compatible low-level date algorithms").
#include "runtime/base/calendar.h"

#include <assert.h>
#include <stddef.h>

enum { ERA_DAYS = 146097, ERA_YEARS = 400, MARCH_OFFSET_DAYS = 719468 };  // from 0000-03-01 to 1970-01-01

const Zone ZONE_UTC = {.name = {"UTC", 3}};

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }  // b > 0
static int64_t floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

// ---- dates ------------------------------------------------------------------------------------

Civil date_civil(int64_t date) {
  int64_t era = floor_div(date, ERA_DAYS), day = floor_mod(date, ERA_DAYS) + MARCH_OFFSET_DAYS;  // apart, so that no date overflows
  era += day / ERA_DAYS;
  day %= ERA_DAYS;
  int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  int64_t day_of_year = day - (365 * year + year / 4 - year / 100);  // from the first of March
  int month = (int)((5 * day_of_year + 2) / 153);
  Civil civil = {.day = (int)(day_of_year - (153 * month + 2) / 5 + 1), .month = month < 10 ? month + 3 : month - 9};
  civil.year = era * ERA_YEARS + year + (civil.month <= 2);
  return civil;
}

int date_days_in_month(int64_t year, int month) {
  static const int8_t DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  assert(month >= 1 && month <= 12);
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return DAYS[month - 1] + (month == 2 && leap);
}

NumFault date_from_civil(Civil civil, int64_t *out_date) {
  if (civil.year < 1 || civil.year > 9999 || civil.month < 1 || civil.month > 12) return NUM_RANGE;
  if (civil.day < 1 || civil.day > date_days_in_month(civil.year, civil.month)) return NUM_RANGE;
  int64_t year = civil.year - (civil.month <= 2), era = year / ERA_YEARS, year_of_era = year % ERA_YEARS;
  int64_t month = civil.month > 2 ? civil.month - 3 : civil.month + 9;
  int64_t day_of_year = (153 * month + 2) / 5 + civil.day - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  *out_date = era * ERA_DAYS + day_of_era - MARCH_OFFSET_DAYS;
  return NUM_OK;
}

int date_weekday(int64_t date) { return (int)((floor_mod(date, 7) + 3) % 7) + 1; }  // 1970-01-01 was a Thursday

static NumFault give_date(int64_t date, int64_t *out_date) {
  if (!date_in_range(date)) return NUM_OVERFLOW;
  *out_date = date;
  return NUM_OK;
}

NumFault date_add(int64_t date, int64_t days, int64_t *out_date) {
  int64_t sum;
  if (days % DAY != 0) return NUM_RANGE;
  return int_add(date, days / DAY, &sum) == NUM_OK ? give_date(sum, out_date) : NUM_OVERFLOW;
}

NumFault date_sub(int64_t a, int64_t b, int64_t *out_duration) {
  int64_t days;
  return int_sub(a, b, &days) == NUM_OK ? int_mul(days, DAY, out_duration) : NUM_OVERFLOW;
}

NumFault date_add_months(int64_t date, int64_t months, int64_t *out_date) {
  enum { MONTHS_MAX = 12 * 10000 };  // more than that leaves the calendar from anywhere in it
  if (!date_in_range(date) || months > MONTHS_MAX || months < -MONTHS_MAX) return NUM_OVERFLOW;
  Civil civil = date_civil(date);
  int64_t month = civil.year * 12 + civil.month - 1 + months;
  civil.year = floor_div(month, 12);
  civil.month = (int)floor_mod(month, 12) + 1;
  int days = date_days_in_month(civil.year, civil.month);
  if (civil.day > days) civil.day = days;
  return date_from_civil(civil, out_date) == NUM_OK ? NUM_OK : NUM_OVERFLOW;
}

int64_t date_age(int64_t born, int64_t on) {
  Civil from = date_civil(born), to = date_civil(on);
  bool before_birthday = to.month < from.month || (to.month == from.month && to.day < from.day);
  return to.year - from.year - before_birthday;
}

NumFault date_start_of(int64_t date, TimeUnit unit, int64_t *out_date) {
  if (!date_in_range(date)) return NUM_OVERFLOW;
  switch (unit) {
    case UNIT_WEEK: return give_date(date - (date_weekday(date) - 1), out_date);
    case UNIT_MONTH: return give_date(date - (date_civil(date).day - 1), out_date);
    case UNIT_YEAR: return date_from_civil((Civil){date_civil(date).year, 1, 1}, out_date);
    case UNIT_MINUTE: case UNIT_HOUR: case UNIT_DAY: case TIME_UNIT_COUNT: break;
  }
  return give_date(date, out_date);
}

NumFault date_end_of(int64_t date, TimeUnit unit, int64_t *out_date) {
  int64_t start;
  NumFault fault = date_start_of(date, unit, &start);
  if (fault != NUM_OK) return fault;
  switch (unit) {
    case UNIT_WEEK: return give_date(start + 7, out_date);
    case UNIT_MONTH: return date_add_months(start, 1, out_date);
    case UNIT_YEAR: return date_add_months(start, 12, out_date);
    case UNIT_MINUTE: case UNIT_HOUR: case UNIT_DAY: case TIME_UNIT_COUNT: break;
  }
  return give_date(start + 1, out_date);
}

// ---- times ------------------------------------------------------------------------------------

static NumFault give_time(int64_t time, int64_t *out_time) {
  if (!time_in_range(time)) return NUM_OVERFLOW;
  *out_time = time;
  return NUM_OK;
}

NumFault time_add(int64_t time, int64_t duration, int64_t *out_time) {
  int64_t sum;
  return int_add(time, duration, &sum) == NUM_OK ? give_time(sum, out_time) : NUM_OVERFLOW;
}

NumFault time_sub(int64_t a, int64_t b, int64_t *out_duration) { return int_sub(a, b, out_duration); }

NumFault time_floor(int64_t time, int64_t step, int64_t *out_time) {
  if (step <= 0) return step == 0 ? NUM_DIVIDE_BY_ZERO : NUM_RANGE;
  int64_t floored;
  return int_sub(time, floor_mod(time, step), &floored) == NUM_OK ? give_time(floored, out_time) : NUM_OVERFLOW;
}

// ---- zones ------------------------------------------------------------------------------------

static bool offset_is_sound(int32_t offset_s) { return offset_s >= -ZONE_OFFSET_MAX_S && offset_s <= ZONE_OFFSET_MAX_S; }

bool zone_is_sound(const Zone *zone) {
  if (!offset_is_sound(zone->first_offset_s)) return false;
  for (uint32_t i = 0; i < zone->count; i++) {
    if (!offset_is_sound(zone->transitions[i].offset_s)) return false;
    if (i && zone->transitions[i].at <= zone->transitions[i - 1].at) return false;
  }
  return true;
}

// How many transitions lie at or before the time: the number of the last one, from 1.
static uint32_t transitions_before(const Zone *zone, int64_t time) {
  uint32_t low = 0, high = zone->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (zone->transitions[middle].at <= time) low = middle + 1; else high = middle;
  }
  return low;
}

static int32_t offset_after(const Zone *zone, uint32_t transition) {
  return transition ? zone->transitions[transition - 1].offset_s : zone->first_offset_s;
}

int32_t zone_offset_s(const Zone *zone, int64_t time) { return offset_after(zone, transitions_before(zone, time)); }

NumFault zone_local(const Zone *zone, int64_t time, int64_t *out_local) { return int_add(time, zone_offset_s(zone, time) * SECOND, out_local); }

// Tries the transitions around the local time from the earliest on: the first offset under which the clock showed that
// local time wins. In a gap there is none, and the offset before the gap is taken.
NumFault zone_time(const Zone *zone, int64_t local, int64_t *out_time) {
  int64_t earliest, time;
  if (int_sub(local, ZONE_OFFSET_MAX_S * SECOND, &earliest) != NUM_OK) return NUM_OVERFLOW;
  for (uint32_t i = transitions_before(zone, earliest);; i++) {
    if (int_sub(local, offset_after(zone, i) * SECOND, &time) != NUM_OK) return NUM_OVERFLOW;
    // Either this offset still held then, or the next one began before the clock could show the local time: the gap.
    if (i == zone->count || time < zone->transitions[i].at) break;
    int64_t next_local;
    if (int_add(zone->transitions[i].at, offset_after(zone, i + 1) * SECOND, &next_local) != NUM_OK) return NUM_OVERFLOW;
    if (local < next_local) break;
  }
  return give_time(time, out_time);
}

NumFault zone_date_of(const Zone *zone, int64_t time, int64_t *out_date) {
  int64_t local;
  if (zone_local(zone, time, &local) != NUM_OK) return NUM_OVERFLOW;
  return give_date(floor_div(local, DAY), out_date);
}

NumFault zone_time_of(const Zone *zone, int64_t date, int64_t at, int64_t *out_time) {
  if (at < 0 || at >= DAY) return NUM_RANGE;
  if (!date_in_range(date)) return NUM_OVERFLOW;
  return zone_time(zone, date * DAY + at, out_time);
}

// Hours and minutes go by the offset in force at the time itself, so that both hours of a clock put back are told apart.
static NumFault floor_local(const Zone *zone, int64_t time, int64_t step, int64_t *out_time) {
  int64_t local, back;
  if (zone_local(zone, time, &local) != NUM_OK) return NUM_OVERFLOW;
  back = floor_mod(local, step);
  return int_sub(time, back, out_time) == NUM_OK ? give_time(*out_time, out_time) : NUM_OVERFLOW;
}

NumFault zone_start_of(const Zone *zone, int64_t time, TimeUnit unit, int64_t *out_time) {
  if (unit == UNIT_MINUTE) return floor_local(zone, time, MINUTE, out_time);
  if (unit == UNIT_HOUR) return floor_local(zone, time, HOUR, out_time);
  int64_t date;
  NumFault fault = zone_date_of(zone, time, &date);
  if (fault == NUM_OK) fault = date_start_of(date, unit, &date);
  return fault == NUM_OK ? zone_time_of(zone, date, 0, out_time) : fault;
}

NumFault zone_end_of(const Zone *zone, int64_t time, TimeUnit unit, int64_t *out_time) {
  int64_t date, start;
  if (unit == UNIT_MINUTE || unit == UNIT_HOUR) {
    NumFault fault = zone_start_of(zone, time, unit, &start);
    return fault == NUM_OK ? time_add(start, unit == UNIT_MINUTE ? MINUTE : HOUR, out_time) : fault;
  }
  NumFault fault = zone_date_of(zone, time, &date);
  if (fault == NUM_OK) fault = date_end_of(date, unit, &date);
  return fault == NUM_OK ? zone_time_of(zone, date, 0, out_time) : fault;
}
