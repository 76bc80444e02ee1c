// Timers and expiry of a served app: over restarts, crashes, clock jumps, swaps, faults and a full disk.
#include <criterion/criterion.h>

#include "runtime/app/outbox.h"
#include "runtime/base/calendar.h"
#include "tests/unit/app/served.h"

static const char PERIODIC[] =
  "app p @zone(\"+01:00\")\n"
  "state n: int = 0\nstate last: time = @2000-01-01T00:00Z\nstate nights: int = 0\n"
  "timer tick every 5min { n += 1\n last = now }\n"
  "timer night every 1d at \"02:00\" { nights += 1 }\n"
  "view total = n\nview night_count = nights\nview since = last - @2026-01-01T10:00Z\n"
  "view minutes = (last - @2026-01-01T10:00Z) / 1min\n";

Test(timers, periodic_runs_at_its_times_and_once_for_all_that_were_missed) {
  Served s;
  served_open(&s, PERIODIC);
  served_settle(&s, 10);
  cr_assert_eq(served_number(&s, "total"), 0);
  cr_assert_eq(app_wait_us(s.app), 5 * MINUTE);
  for (int i = 1; i <= 3; i++) {
    served_advance(&s, 5 * MINUTE);
    cr_assert_eq(served_number(&s, "total"), i);
  }
  served_kill(&s);
  clock_fake_advance(&s.clock, 3 * HOUR + 2 * MINUTE);  // to 13:17
  served_open_again(&s, NULL);
  served_settle(&s, 10);
  cr_assert_eq(served_number(&s, "total"), 4);
  cr_assert_eq(served_number(&s, "minutes"), 197);
  cr_assert_eq(app_wait_us(s.app), 3 * MINUTE);  // the rhythm is kept: 13:20
  served_close(&s);
  served_free(&s);
}

Test(timers, daily_is_a_time_of_the_day_in_the_zone) {
  Served s;
  served_open(&s, PERIODIC);
  served_advance(&s, 15 * HOUR - 1);  // 01:59:59.999999 there
  cr_assert_eq(served_number(&s, "night_count"), 0);
  served_advance(&s, 1);
  cr_assert_eq(served_number(&s, "night_count"), 1);
  served_kill(&s);
  clock_fake_advance(&s.clock, 10 * DAY + HOUR);
  served_open_again(&s, NULL);
  served_settle(&s, 10);
  cr_assert_eq(served_number(&s, "night_count"), 2);
  served_advance(&s, 22 * HOUR);
  cr_assert_eq(served_number(&s, "night_count"), 2);
  served_advance(&s, 1 * HOUR);
  cr_assert_eq(served_number(&s, "night_count"), 3);
  served_close(&s);
  served_free(&s);
}

// The power may go between the record of the first schema and that of the first state.
Test(start, first_values_are_there_whenever_the_power_goes) {
  static const char SOURCE[] = "app f\nstate n: int = 7\nview total = n\ninput set(to: int) { n = to }\n";
  for (uint64_t nth = 0; nth < 40; nth++) {
    Served s = {.sim = sim_new()};
    clock_fake_init(&s.clock, SERVED_START_US);
    if (nth) sim_cut_nth(s.sim, nth);
    if (served_try_open(&s, SOURCE)) served_close(&s);
    sim_crash(s.sim, nth);
    served_open_again(&s, SOURCE);
    cr_assert_eq(served_number(&s, "total"), 7, "cut at call %llu", (unsigned long long)nth);
    served_input(&s, "set", "{\"to\": 8}");
    served_kill(&s);
    served_open_again(&s, NULL);
    cr_assert_eq(served_number(&s, "total"), 8);
    served_close(&s);
    served_free(&s);
  }
}

// The wall clock jumps; the monotonic one goes on.
Test(timers, clock_jumps_neither_stop_nor_flood) {
  static const int64_t JUMPS[] = {-HOUR, -DAY, DAY, -SERVED_START_US, 12 * 365 * DAY, 74 * 365 * DAY};
  for (size_t i = 0; i < countof(JUMPS); i++) {
    Served s;
    served_open(&s, PERIODIC);
    served_advance(&s, 5 * MINUTE);
    s.clock.wall_us += JUMPS[i];
    served_settle(&s, 100);
    int64_t before = served_number(&s, "total");
    cr_assert_leq(before, 2, "jump %zu", i);
    for (int k = 0; k < 12; k++) served_advance(&s, 5 * MINUTE);
    cr_assert_eq(served_number(&s, "total"), before + 12, "jump %zu: %lld", i, (long long)served_number(&s, "total"));
    int64_t wait = app_wait_us(s.app);
    cr_assert(wait > 0 && wait <= 5 * MINUTE, "jump %zu", i);
    served_close(&s);
    served_free(&s);
  }
}

static const char ROWS[] =
  "app r\n"
  "state calls: int = 0\nstate broken: bool = false\nstate refusing: bool = false\n"
  "table R { id: int key auto, due: time, fired: int = 0, back: int = 0 }\n"
  "output told(n: int)\n"
  "timer ring for r in R at r.due {\n"
  "  require not refusing else \"not now\"\n"
  "  r.fired += 1\n"
  "  send told(n: r.fired)\n"
  "  if r.back > 0 { r.back -= 1\n r.due = now - 1s }\n"
  "  if broken { let zero = 0\n r.fired = 1 / zero }\n"
  "}\n"
  "input later(after: duration, back: int = 0) { insert R { due: now + after, back } }\n"
  "input set_broken(is: bool) { broken = is }\ninput set_refusing(is: bool) { refusing = is }\n"
  "view fired @scan = sum(from r in R select r.fired)\n";

Test(timers, rows_fire_once_over_a_restart) {
  Served s;
  served_open(&s, ROWS);
  cr_assert_eq(served_input(&s, "later", "{\"after\": \"1h\"}"), APP_DONE);
  cr_assert_eq(served_input(&s, "later", "{\"after\": \"-1h\"}"), APP_DONE);
  served_settle(&s, 10);
  cr_assert_eq(served_number(&s, "fired"), 1);  // the one in the past, at once
  served_kill(&s);
  clock_fake_advance(&s.clock, 2 * HOUR);
  served_open_again(&s, NULL);
  served_settle(&s, 10);
  cr_assert_eq(served_number(&s, "fired"), 2);
  served_kill(&s);
  served_open_again(&s, NULL);
  served_advance(&s, DAY);
  cr_assert_eq(served_number(&s, "fired"), 2);
  cr_assert_eq(app_wait_us(s.app), INT64_MAX);
  served_close(&s);
  served_free(&s);
}

Test(timers, arming_for_a_moment_ago_goes_on_a_thousand_times) {
  Served s;
  served_open(&s, ROWS);
  served_input(&s, "later", "{\"after\": \"0s\", \"back\": 1000}");
  served_settle(&s, 2000);
  cr_assert_eq(served_number(&s, "fired"), 1001);
  cr_assert_gt(s.turns, 1000 / 32);  // in parts, not all at once
  served_close(&s);
  served_free(&s);
}

Test(timers, a_fault_is_tried_again_later_and_later_a_rejection_never) {
  Served s;
  served_open(&s, ROWS);
  served_input(&s, "set_broken", "{\"is\": true}");
  served_input(&s, "later", "{\"after\": \"0s\"}");
  served_settle(&s, 10);
  int64_t waited = 0;
  for (int i = 0; i < 14; i++) {
    int64_t wait = app_wait_us(s.app);
    int64_t expected = SECOND << i < HOUR ? SECOND << i : HOUR;
    cr_assert(wait > expected - 100 && wait <= expected + 100, "try %d waits %lld", i, (long long)wait);
    waited += wait;
    if (i == 5) {  // it is not forgotten
      served_kill(&s);
      served_open_again(&s, NULL);
    }
    served_advance(&s, app_wait_us(s.app));
  }
  cr_assert_eq(served_number(&s, "fired"), 0);
  served_input(&s, "set_broken", "{\"is\": false}");
  served_advance(&s, HOUR);
  cr_assert_eq(served_number(&s, "fired"), 1);
  served_input(&s, "set_refusing", "{\"is\": true}");
  served_input(&s, "later", "{\"after\": \"0s\"}");
  served_advance(&s, HOUR);
  cr_assert_eq(app_wait_us(s.app), INT64_MAX);
  served_input(&s, "set_refusing", "{\"is\": false}");
  served_advance(&s, DAY);
  cr_assert_eq(served_number(&s, "fired"), 1);
  served_close(&s);
  served_free(&s);
}

// Wherever the power goes, in the end the row has fired once, and once only.
Test(timers, a_crash_anywhere_fires_once) {
  for (uint64_t nth = 1; nth < 12; nth++) {
    Served s;
    served_open(&s, ROWS);
    served_input(&s, "later", "{\"after\": \"1s\"}");
    clock_fake_advance(&s.clock, SECOND);
    sim_cut_nth(s.sim, nth);
    served_settle(&s, 3);
    served_close(&s);
    sim_crash(s.sim, nth * 77);
    served_open_again(&s, NULL);
    served_settle(&s, 10);
    cr_assert_eq(served_number(&s, "fired"), 1, "cut at call %llu", (unsigned long long)nth);
    served_close(&s);
    served_free(&s);
  }
}

Test(timers, a_full_disk_is_no_storm) {
  Served s;
  served_open(&s, PERIODIC);
  sim_space(s.sim, 1);
  for (int i = 0; i < 200000 && served_number(&s, "total") == i; i++) {
    clock_fake_advance(&s.clock, 5 * MINUTE);
    served_settle(&s, 50);
    cr_assert_lt(s.turns, 50);
    if (app_wait_us(s.app) > 0 && app_wait_us(s.app) <= SECOND) break;
  }
  int64_t kept = served_number(&s, "total");
  cr_assert(app_wait_us(s.app) > 0);
  sim_space(s.sim, 0);
  served_advance(&s, 2 * MINUTE);
  cr_assert_eq(served_number(&s, "total"), kept + 1);
  served_close(&s);
  served_free(&s);
}

// ---- swaps ------------------------------------------------------------------------------------

#define BEFORE "app w\ntable R { id: int key auto, due: time, fired: int = 0 }\nstate n: int = 0\n" \
  "input later(after: duration) { insert R { due: now + after } }\nview fired @scan = sum(from r in R select r.fired)\nview total = n\n"
#define RING "timer ring for r in R at r.due { r.fired += 1 }\n"

Test(timers, a_new_timer_fires_for_no_time_that_is_past) {
  Served s;
  ErrText text;
  served_open(&s, BEFORE);
  served_input(&s, "later", "{\"after\": \"1h\"}");
  served_input(&s, "later", "{\"after\": \"3h\"}");
  served_advance(&s, 2 * HOUR);
  cr_assert_eq(served_swap(&s, BEFORE RING "timer tick every 1h { n += 1 }\n", &text), ERR_NONE);
  served_settle(&s, 10);
  cr_assert_eq(served_number(&s, "fired"), 0);
  cr_assert_eq(served_number(&s, "total"), 0);
  served_kill(&s);
  served_open_again(&s, NULL);
  served_advance(&s, HOUR);
  cr_assert_eq(served_number(&s, "fired"), 1);
  cr_assert_eq(served_number(&s, "total"), 1);
  served_advance(&s, 59 * MINUTE);
  cr_assert_eq(served_swap(&s, BEFORE RING "timer tick every 10min { n += 1 }\n", &text), ERR_NONE);
  served_settle(&s, 10);
  cr_assert_eq(served_number(&s, "total"), 1);  // another rhythm starts anew
  served_advance(&s, 10 * MINUTE);
  cr_assert_eq(served_number(&s, "total"), 2);
  cr_assert_eq(served_swap(&s, BEFORE RING "timer tock was tick every 10min { n += 100 }\n", &text), ERR_NONE);
  served_advance(&s, 10 * MINUTE);
  cr_assert_eq(served_number(&s, "total"), 102);
  cr_assert_eq(served_number(&s, "fired"), 1);
  served_close(&s);
  served_free(&s);
}

Test(timers, outputs_with_messages_do_not_go) {
  Served s;
  ErrText text;
  served_open(&s, ROWS);
  served_input(&s, "later", "{\"after\": \"0s\"}");
  served_settle(&s, 10);
  static const char WITHOUT[] = "app r\nstate calls: int = 0\nstate broken: bool = false\nstate refusing: bool = false\n"
    "table R { id: int key auto, due: time, fired: int = 0, back: int = 0 }\ninput later(after: duration) { insert R { due: now + after } }\n";
  cr_assert_eq(served_swap(&s, WITHOUT, &text), ERR_REFUSED);
  cr_assert(strstr(text.text, "1 messages wait") && strstr(text.text, "told"), "%s", text.text);
  served_close(&s);
  served_free(&s);
}

// ---- expiry -----------------------------------------------------------------------------------

static const char EXPIRY[] =
  "app e\n"
  "table S { id: int key auto, seen: time = now\n expire seen after 1h }\n"
  "table H { id: int key auto, s: S }\n"
  "input many(n: int) { for i in 1..n { insert S {} } }\n"
  "input hold(n: int) { for i in 1..n {\n let s = insert S {}\n insert H { s }\n } }\ninput release { delete from h in H }\n"
  "view left @scan = count(from s in S)\n";

Test(timers, old_rows_go_in_parts) {
  Served s;
  served_open(&s, EXPIRY);
  served_input(&s, "many", "{\"n\": 1000}");
  served_advance(&s, HOUR - 1);
  cr_assert_eq(served_number(&s, "left"), 1000);
  clock_fake_advance(&s.clock, 1);
  served_settle(&s, 100);
  cr_assert_eq(served_number(&s, "left"), 0);
  cr_assert_eq(app_wait_us(s.app), INT64_MAX);
  served_close(&s);
  served_free(&s);
}

Test(timers, old_rows_in_use_wait_and_keep_no_others) {
  Served s;
  served_open(&s, EXPIRY);
  served_input(&s, "hold", "{\"n\": 600}");
  served_input(&s, "many", "{\"n\": 10}");
  served_advance(&s, HOUR);
  cr_assert_eq(served_number(&s, "left"), 600);
  cr_assert_lt(s.turns, 10);
  cr_assert_eq(app_wait_us(s.app), MINUTE);
  served_advance(&s, MINUTE);
  cr_assert_eq(app_wait_us(s.app), 2 * MINUTE);
  served_input(&s, "release", "{}");
  served_advance(&s, 2 * MINUTE);
  cr_assert_eq(served_number(&s, "left"), 0);
  served_close(&s);
  served_free(&s);
}
