#include <criterion/criterion.h>
#include <time.h>

#include "runtime/base/calendar_text.h"

static int64_t date_at(const char *text) {
  int64_t date = 0;
  cr_assert_eq(date_parse(str_from(text), &date), ERR_NONE, "%s", text);
  return date;
}

static int64_t time_at(const char *text) {
  int64_t time = 0;
  cr_assert_eq(time_parse(str_from(text), &time), ERR_NONE, "%s", text);
  return time;
}

static void check_date(int64_t date, const char *expected) {
  char text[CALENDAR_TEXT_BYTES];
  cr_assert_eq(date_format(date, text), strlen(text));
  cr_assert_str_eq(text, expected);
}

static void check_time(int64_t time, const char *expected) {
  char text[CALENDAR_TEXT_BYTES];
  cr_assert_eq(time_format(time, text), strlen(text));
  cr_assert_str_eq(text, expected);
}

Test(calendar, agrees_with_the_c_library) {
  for (int64_t date = DATE_MIN; date <= DATE_MAX; date += 37) {
    time_t seconds = (time_t)(date * 86400);
    struct tm tm;
    cr_assert_not_null(gmtime_r(&seconds, &tm));
    Civil civil = date_civil(date);
    cr_assert(civil.year == tm.tm_year + 1900 && civil.month == tm.tm_mon + 1 && civil.day == tm.tm_mday, "%lld", (long long)date);
    cr_assert_eq(date_weekday(date) % 7, tm.tm_wday);
    int64_t back;
    cr_assert(date_from_civil(civil, &back) == NUM_OK && back == date);
  }
}

Test(calendar, dates_that_are_and_are_not) {
  static const struct { const char *text; Err err; } ROWS[] = {
    {"2026-10-04", ERR_NONE}, {"0001-01-01", ERR_NONE}, {"9999-12-31", ERR_NONE}, {"2024-02-29", ERR_NONE}, {"2000-02-29", ERR_NONE}, {"1970-01-01", ERR_NONE},
    {"2023-02-29", ERR_FORMAT}, {"1900-02-29", ERR_FORMAT}, {"2026-13-01", ERR_FORMAT}, {"2026-00-10", ERR_FORMAT}, {"2026-04-31", ERR_FORMAT}, {"2026-04-00", ERR_FORMAT},
    {"0000-01-01", ERR_RANGE}, {"2026-1-1", ERR_FORMAT}, {"2026/10/04", ERR_FORMAT}, {"10000-01-01", ERR_FORMAT}, {"-2026-10-04", ERR_FORMAT}, {"2026-10-04 ", ERR_FORMAT}, {"", ERR_FORMAT}, {"2026-10-", ERR_FORMAT}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t date;
    cr_assert_eq(date_parse(str_from(ROWS[i].text), &date), ROWS[i].err, "%s", ROWS[i].text);
    if (ROWS[i].err == ERR_NONE) check_date(date, ROWS[i].text);
  }
  check_date(DATE_MAX + 1, "+10000-01-01");
  check_date(DATE_MIN - 366, "0000-01-01");
  check_date(DATE_MIN - 367, "-0001-12-31");
  char text[CALENDAR_TEXT_BYTES];
  cr_assert_lt(date_format(INT64_MIN, text), CALENDAR_TEXT_BYTES);
  cr_assert_lt(date_format(INT64_MAX, text), CALENDAR_TEXT_BYTES);
}

Test(calendar, times_of_rfc_3339) {
  static const struct { const char *text, *expected; Err err; } ROWS[] = {
    {"2026-10-04T09:00:00Z", "2026-10-04T09:00:00Z", ERR_NONE}, {"2026-10-04T09:00+09:00", "2026-10-04T00:00:00Z", ERR_NONE}, {"2026-10-04t09:00:00.5z", "2026-10-04T09:00:00.5Z", ERR_NONE},
    {"2026-10-04T09:00:00.000001-05:30", "2026-10-04T14:30:00.000001Z", ERR_NONE}, {"2026-10-04T09:00:00.120000000Z", "2026-10-04T09:00:00.12Z", ERR_NONE},
    {"1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z", ERR_NONE}, {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", ERR_NONE},
    {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", ERR_NONE}, {"2026-10-04T09:00:00-00:00", "2026-10-04T09:00:00Z", ERR_NONE},
    {"2026-10-04T09:00:00.1234567Z", NULL, ERR_FORMAT}, {"2026-10-04T24:00:00Z", NULL, ERR_FORMAT}, {"2016-12-31T23:59:60Z", NULL, ERR_FORMAT}, {"2026-10-04T09:60:00Z", NULL, ERR_FORMAT},
    {"2026-10-04T09:00:00", NULL, ERR_FORMAT}, {"2026-10-04T09:00:00.Z", NULL, ERR_FORMAT}, {"2026-10-04 09:00:00Z", NULL, ERR_FORMAT}, {"2026-02-30T09:00:00Z", NULL, ERR_FORMAT},
    {"2026-10-04T09:00:00+9:00", NULL, ERR_FORMAT}, {"2026-10-04T09:00:00+24:00", NULL, ERR_FORMAT}, {"2026-10-04", NULL, ERR_FORMAT}, {"", NULL, ERR_FORMAT},
    {"0001-01-01T00:00:00+00:01", NULL, ERR_RANGE}, {"9999-12-31T23:59:59-00:01", NULL, ERR_RANGE}, {"0000-12-31T23:59:59Z", NULL, ERR_RANGE}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t time;
    cr_assert_eq(time_parse(str_from(ROWS[i].text), &time), ROWS[i].err, "%s", ROWS[i].text);
    if (ROWS[i].err == ERR_NONE) check_time(time, ROWS[i].expected);
  }
  char text[CALENDAR_TEXT_BYTES];
  check_time(INT64_MAX, "+294247-01-10T04:00:54.775807Z");
  cr_assert_lt(time_format(INT64_MIN, text), CALENDAR_TEXT_BYTES);
}

Test(calendar, durations_take_their_greatest_unit) {
  static const struct { int64_t duration; const char *text; } ROWS[] = {
    {5 * MINUTE, "5min"}, {90 * MINUTE, "90min"}, {2 * HOUR, "2h"}, {DAY, "1d"}, {7 * DAY, "1w"}, {8 * DAY, "8d"}, {0, "0s"}, {250 * MILLISECOND, "250ms"}, {1, "1us"}, {1500, "1500us"},
    {-5 * MINUTE, "-5min"}, {INT64_MAX, "9223372036854775807us"}, {INT64_MIN, "-9223372036854775808us"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    char text[CALENDAR_TEXT_BYTES];
    cr_assert_eq(duration_format(ROWS[i].duration, text), strlen(ROWS[i].text));
    cr_assert_str_eq(text, ROWS[i].text);
    int64_t back;
    cr_assert(duration_parse(str_from(text), &back) == ERR_NONE && back == ROWS[i].duration, "%s", text);
  }
  static const struct { const char *text; Err err; } REFUSED[] = {
    {"", ERR_FORMAT}, {"5", ERR_FORMAT}, {"min", ERR_FORMAT}, {"-min", ERR_FORMAT}, {"5 min", ERR_FORMAT}, {"1.5h", ERR_FORMAT}, {"1h30min", ERR_FORMAT}, {"5minutes", ERR_FORMAT}, {"5M", ERR_FORMAT},
    {"15250285w", ERR_RANGE}, {"9223372036854775808us", ERR_RANGE}, {"99999999999999999999s", ERR_RANGE}};
  for (size_t i = 0; i < countof(REFUSED); i++) {
    int64_t out;
    cr_assert_eq(duration_parse(str_from(REFUSED[i].text), &out), REFUSED[i].err, "%s", REFUSED[i].text);
  }
}

Test(calendar, months_keep_the_day_where_they_can) {
  static const struct { const char *from; int64_t months; const char *to; } ROWS[] = {
    {"2026-01-31", 1, "2026-02-28"}, {"2024-01-31", 1, "2024-02-29"}, {"2026-03-31", -1, "2026-02-28"}, {"2026-12-15", 1, "2027-01-15"}, {"2026-01-15", -1, "2025-12-15"},
    {"2026-01-15", 0, "2026-01-15"}, {"2024-02-29", 12, "2025-02-28"}, {"0001-01-01", 119987, "9999-12-01"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t date;
    cr_assert_eq(date_add_months(date_at(ROWS[i].from), ROWS[i].months, &date), NUM_OK, "row %zu", i);
    check_date(date, ROWS[i].to);
  }
  int64_t date = 5;
  static const int64_t TOO_FAR[] = {-1, 119988, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < countof(TOO_FAR); i++) cr_assert_eq(date_add_months(DATE_MIN, TOO_FAR[i], &date), NUM_OVERFLOW);
  cr_assert_eq(date_add_months(INT64_MAX, 1, &date), NUM_OVERFLOW);
  cr_assert_eq(date, 5);
  cr_assert_eq(date_age(date_at("2000-02-29"), date_at("2018-02-28")), 17);
  cr_assert_eq(date_age(date_at("2000-02-29"), date_at("2018-03-01")), 18);
  cr_assert_eq(date_age(date_at("2000-06-15"), date_at("2000-06-14")), -1);
}

Test(calendar, arithmetic_stays_within_its_limits) {
  int64_t out = 5;
  cr_assert_eq(date_add(DATE_MAX, DAY, &out), NUM_OVERFLOW);
  cr_assert_eq(date_add(DATE_MIN, -DAY, &out), NUM_OVERFLOW);
  cr_assert_eq(date_add(0, HOUR, &out), NUM_RANGE);
  cr_assert_eq(date_sub(INT64_MAX, -1, &out), NUM_OVERFLOW);
  cr_assert_eq(date_sub(INT64_MAX, 0, &out), NUM_OVERFLOW);
  cr_assert_eq(time_add(TIME_MAX, 1, &out), NUM_OVERFLOW);
  cr_assert_eq(time_add(INT64_MAX, INT64_MAX, &out), NUM_OVERFLOW);
  cr_assert_eq(time_sub(INT64_MIN, 1, &out), NUM_OVERFLOW);
  cr_assert_eq(time_floor(0, 0, &out), NUM_DIVIDE_BY_ZERO);
  cr_assert_eq(time_floor(0, -1, &out), NUM_RANGE);
  cr_assert_eq(time_floor(INT64_MIN, INT64_MAX, &out), NUM_OVERFLOW);
  cr_assert_eq(out, 5);
  cr_assert(date_add(0, 3 * DAY, &out) == NUM_OK && out == 3);
  cr_assert(time_floor(-1, HOUR, &out) == NUM_OK && out == -HOUR);
  cr_assert(time_floor(time_at("2026-10-04T09:59:59Z"), HOUR, &out) == NUM_OK && out == time_at("2026-10-04T09:00Z"));
  cr_assert(date_sub(date_at("2026-10-04"), date_at("2026-09-27"), &out) == NUM_OK && out == WEEK);
}

Test(calendar, starts_and_ends_of_units) {
  static const struct { const char *date; TimeUnit unit; const char *start, *end; } ROWS[] = {
    {"2026-10-04", UNIT_WEEK, "2026-09-28", "2026-10-05"}, {"2026-10-05", UNIT_WEEK, "2026-10-05", "2026-10-12"}, {"2026-10-04", UNIT_MONTH, "2026-10-01", "2026-11-01"},
    {"2026-12-31", UNIT_MONTH, "2026-12-01", "2027-01-01"}, {"2024-02-29", UNIT_YEAR, "2024-01-01", "2025-01-01"}, {"2026-10-04", UNIT_DAY, "2026-10-04", "2026-10-05"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t start, end;
    cr_assert_eq(date_start_of(date_at(ROWS[i].date), ROWS[i].unit, &start), NUM_OK);
    cr_assert_eq(date_end_of(date_at(ROWS[i].date), ROWS[i].unit, &end), NUM_OK);
    check_date(start, ROWS[i].start);
    check_date(end, ROWS[i].end);
  }
  int64_t out;
  cr_assert_eq(date_end_of(DATE_MAX, UNIT_DAY, &out), NUM_OVERFLOW);
  cr_assert_eq(date_start_of(INT64_MIN, UNIT_WEEK, &out), NUM_OVERFLOW);
}

// Berlin in 2026: summer time from 29 March 01:00 UTC to 25 October 01:00 UTC.
static const ZoneTransition BERLIN_ROWS[] = {{1774746000 * SECOND, 7200}, {1792890000 * SECOND, 3600}};
static const Zone BERLIN = {.name = {"Europe/Berlin", 13}, .first_offset_s = 3600, .count = 2, .transitions = BERLIN_ROWS};

Test(calendar, zones_have_gaps_and_doubles) {
  static const struct { const char *local, *time; } ROWS[] = {  // `local` is written as if it were UTC
    {"2026-01-01T00:00Z", "2025-12-31T23:00Z"}, {"2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z"}, {"2026-03-29T02:30Z", "2026-03-29T01:30Z"},  // the gap: as 03:30
    {"2026-03-29T03:00Z", "2026-03-29T01:00Z"}, {"2026-10-25T02:30Z", "2026-10-25T00:30Z"},  // twice: the first
    {"2026-10-25T03:00Z", "2026-10-25T02:00Z"}, {"2026-10-25T01:59:59Z", "2026-10-24T23:59:59Z"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t time = 0;
    cr_assert_eq(zone_time(&BERLIN, time_at(ROWS[i].local), &time), NUM_OK, "row %zu", i);
    cr_assert_eq(time, time_at(ROWS[i].time), "row %zu", i);
  }
  cr_assert_eq(zone_offset_s(&BERLIN, time_at("2026-03-29T00:59:59.999999Z")), 3600);
  cr_assert_eq(zone_offset_s(&BERLIN, time_at("2026-03-29T01:00:00Z")), 7200);
  cr_assert(zone_is_sound(&BERLIN) && zone_is_sound(&ZONE_UTC));
  static const ZoneTransition TWICE[] = {{5, 0}, {5, 3600}}, FAR[] = {{5, ZONE_OFFSET_MAX_S + 1}};
  cr_assert_not(zone_is_sound(&(Zone){.count = 2, .transitions = TWICE}));
  cr_assert_not(zone_is_sound(&(Zone){.count = 1, .transitions = FAR}));
}

Test(calendar, days_and_units_of_a_zone) {
  int64_t out;
  cr_assert(zone_date_of(&BERLIN, time_at("2026-10-03T22:30Z"), &out) == NUM_OK && out == date_at("2026-10-04"));
  cr_assert(zone_time_of(&BERLIN, date_at("2026-10-04"), 9 * HOUR, &out) == NUM_OK && out == time_at("2026-10-04T07:00Z"));
  cr_assert_eq(zone_time_of(&BERLIN, 0, DAY, &out), NUM_RANGE);
  cr_assert_eq(zone_time_of(&BERLIN, INT64_MAX, 0, &out), NUM_OVERFLOW);
  static const struct { const char *time; TimeUnit unit; const char *start, *end; } ROWS[] = {
    {"2026-03-29T12:00Z", UNIT_DAY, "2026-03-28T23:00Z", "2026-03-29T22:00Z"},    // a day of 23 hours
    {"2026-10-25T12:00Z", UNIT_DAY, "2026-10-24T22:00Z", "2026-10-25T23:00Z"},    // of 25
    {"2026-10-25T01:30Z", UNIT_HOUR, "2026-10-25T01:00Z", "2026-10-25T02:00Z"},   // the second 02:30
    {"2026-10-25T00:30Z", UNIT_HOUR, "2026-10-25T00:00Z", "2026-10-25T01:00Z"},
    {"2026-10-04T12:00Z", UNIT_WEEK, "2026-09-27T22:00Z", "2026-10-04T22:00Z"}, {"2026-06-30T22:30Z", UNIT_MONTH, "2026-06-30T22:00Z", "2026-07-31T22:00Z"},
    {"2026-06-30T22:30:31Z", UNIT_MINUTE, "2026-06-30T22:30Z", "2026-06-30T22:31Z"}, {"2026-06-01T00:00Z", UNIT_YEAR, "2025-12-31T23:00Z", "2026-12-31T23:00Z"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t start, end;
    cr_assert_eq(zone_start_of(&BERLIN, time_at(ROWS[i].time), ROWS[i].unit, &start), NUM_OK);
    cr_assert_eq(zone_end_of(&BERLIN, time_at(ROWS[i].time), ROWS[i].unit, &end), NUM_OK);
    cr_assert_eq(start, time_at(ROWS[i].start), "row %zu", i);
    cr_assert_eq(end, time_at(ROWS[i].end), "row %zu", i);
  }
}

Test(calendar, patterns) {
  static const struct { const char *pattern, *text; } ROWS[] = {
    {"yyyy-MM-dd HH:mm:ss", "2026-10-04 09:05:07"}, {"d.M.yyyy", "4.10.2026"}, {"H:mm", "9:05"}, {"", ""}, {"yyy", "yyy"}, {"Uhr é", "Uhr é"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    Buf out;
    buf_init(&out, 0);
    time_format_pattern(&BERLIN, time_at("2026-10-04T07:05:07Z"), str_from(ROWS[i].pattern), &out);
    cr_assert(str_equal(buf_str(&out), str_from(ROWS[i].text)), "row %zu", i);
    buf_free(&out);
  }
  int64_t at;
  cr_assert(clock_parse(STR("02:00"), &at) == ERR_NONE && at == 2 * HOUR);
  cr_assert(clock_parse(STR("23:59:59.5"), &at) == ERR_NONE && at == DAY - SECOND / 2);
  cr_assert_eq(clock_parse(STR("24:00"), &at), ERR_FORMAT);
  cr_assert_eq(clock_parse(STR("2:00"), &at), ERR_FORMAT);
}
