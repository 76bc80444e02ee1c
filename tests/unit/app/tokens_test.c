// Tokens that an app issues: found by their hash until their time is over, over restarts and swaps, and by nothing that is saved.
#include <criterion/criterion.h>

#include "runtime/app/app_internal.h"
#include "runtime/app/tokens.h"
#include "runtime/base/calendar.h"
#include "tests/unit/app/served.h"

static const char ISSUING[] =
  "app t\nrole teller, auditor\nstate n: int = 0\nview total for everyone = n\n"
  "input sign_in(who: text, days: int = 1) -> text for everyone { n += 1\n return issue_token(who, [auditor], days * 1d) }\n"
  "input refuse(who: text) -> text for everyone { let t = issue_token(who, [teller], 1d)\n reject forbidden }\n";

// The text of a new token, without the quotes of JSON.
static Str sign_in(Served *s, const char *args, Posted *out_posted) {
  *out_posted = served_post(s, NULL, "sign_in", args);
  cr_assert_eq(out_posted->kind, APP_DONE, "%s", out_posted->code);
  cr_assert_eq(strlen(out_posted->body), 45, "%s", out_posted->body);
  return (Str){out_posted->body + 1, 43};
}

static bool finds(Served *s, Str text, Arena *arena, AppToken *out_token) {
  Hash hash = hash_of(text);
  return app_find_token(s->app, &hash, clock_wall_us(&s->clock.clock), arena, out_token);
}

Test(tokens, are_found_by_their_text_until_their_time_is_over) {
  Served s;
  Arena arena;
  AppToken token;
  Posted posted, other;
  arena_init(&arena, 0);
  served_open(&s, ISSUING);
  Str text = sign_in(&s, "{\"who\":\"ann\"}", &posted), longer = sign_in(&s, "{\"who\":\"bob\",\"days\":3}", &other);
  for (int round = 0; round < 2; round++) {
    cr_assert(finds(&s, text, &arena, &token));
    cr_assert(str_is(token.subject, "ann"));
    cr_assert_eq(token.roles, 2);
    cr_assert_eq(token.expires_us, SERVED_START_US + DAY);
    cr_assert(!finds(&s, STR("another"), &arena, &token));
    served_kill(&s);
    served_open_again(&s, NULL);
  }
  clock_fake_advance(&s.clock, DAY - 1);
  cr_assert(finds(&s, text, &arena, &token));
  clock_fake_advance(&s.clock, 1);
  cr_assert(!finds(&s, text, &arena, &token));
  cr_assert(finds(&s, longer, &arena, &token));
  served_close(&s);
  served_free(&s);
  arena_free(&arena);
}

Test(tokens, of_a_rejected_input_are_none) {
  Served s;
  served_open(&s, ISSUING);
  Posted posted = served_post(&s, NULL, "refuse", "{\"who\":\"ann\"}");
  cr_assert_eq(posted.kind, APP_REJECTED);
  cr_assert_str_eq(posted.body, "");
  served_close(&s);
  served_free(&s);
}

// A role that is gone is had no more; one that has another number is the same.
Test(tokens, keep_their_roles_by_name) {
  static const char OTHERS[] =
    "app t\nrole clerk, teller, auditor\nstate n: int = 0\ninput sign_in(who: text) -> text for everyone { n += 1\n return issue_token(who, [clerk], 1d) }\n";
  static const char WITHOUT[] = "app t\nstate n: int = 0\nrole auditor = caller == \"zoe\"\ninput sign_in(who: text) -> text for everyone { n += 1\n return issue_token(who, [], 1d) }\n";
  static const char NO_TOKENS[] = "app t\nstate n: int = 0\nview total for everyone = n\n";
  Served s;
  Arena arena;
  AppToken token;
  Posted posted;
  ErrText why;
  arena_init(&arena, 0);
  served_open(&s, ISSUING);
  Str text = sign_in(&s, "{\"who\":\"ann\"}", &posted);
  cr_assert_eq(served_swap(&s, OTHERS, &why), ERR_NONE, "%s", why.text);
  cr_assert(finds(&s, text, &arena, &token));
  cr_assert_eq(token.roles, 4);
  cr_assert_eq(served_swap(&s, WITHOUT, &why), ERR_NONE, "%s", why.text);
  cr_assert(finds(&s, text, &arena, &token));
  cr_assert_eq(token.roles, 0);
  cr_assert_eq(served_swap(&s, NO_TOKENS, &why), ERR_NONE, "%s", why.text);
  cr_assert(!finds(&s, text, &arena, &token));
  served_close(&s);
  served_free(&s);
  arena_free(&arena);
}

// Those that are over go when others are issued, so that the table does not grow for ever.
Test(tokens, that_are_over_are_removed) {
  Served s;
  Posted posted;
  served_open(&s, ISSUING);
  for (int i = 0; i < 20; i++) sign_in(&s, "{\"who\":\"ann\"}", &posted);
  clock_fake_advance(&s.clock, DAY);
  const Schema *schema = &app_module(s.app)->schema;
  uint16_t table = tokens_find(schema);
  cr_assert_neq(table, TOKENS_NONE);
  for (int i = 0; i < 3; i++) sign_in(&s, "{\"who\":\"ann\"}", &posted);
  cr_assert_eq(reader_row_count(snapshot_reader(s.app->published->snapshot), table), 3);
  served_close(&s);
  served_free(&s);
}

// Neither the log nor the pages hold a token's text.
Test(tokens, stand_nowhere_on_the_disk) {
  Served s;
  Posted posted;
  served_open(&s, ISSUING);
  Str text = sign_in(&s, "{\"who\":\"annabella\"}", &posted);
  served_close(&s);
  cr_assert(served_disk_holds(&s, "annabella", 9));
  cr_assert(!served_disk_holds(&s, text.ptr, text.len));
  served_free(&s);
}
