// Settings of a served app: read when it is opened and when it gets another module, kept where a state can be read later, secrets nowhere.
#include <criterion/criterion.h>

#include "runtime/app/settings.h"
#include "tests/unit/app/served.h"

static const char BASE[] =
  "app s\nsetting fee: int = 5 min 1 max 50\nsetting name: text max 8\nsetting key: text @secret min 3\nstate first: int = 0\nstart { first = fee }\n"
  "view now_fee = fee\nview first_fee = first\nview letters = len(name)\nview key_letters = len(key)\ninput nothing { first += 0 }\n";

#define SETTINGS(...) (AppSettings){.count = sizeof((AppSetting[]){__VA_ARGS__}) / sizeof(AppSetting), .items = (AppSetting[]){__VA_ARGS__}}
#define ONE(name, value) {{name, sizeof(name) - 1}, {value, sizeof(value) - 1}}

Test(settings, what_is_wrong_is_told_at_once) {
  static const struct { const char *name, *value, *says; } ROWS[] = {
    {"fee", "7", "settings without a value: `name`, `key` (`--set name=VALUE`)"},
    {"fee", "0", "the setting `fee` must be at least 1; settings without a value: `name`, `key`"},
    {"fee", "51", "the setting `fee` must be at most 50"},
    {"fee", "many", "the setting `fee` must be a whole number"},
    {"fees", "7", "there is no setting `fees`, is it `fee`?"},
    {"colour", "7", "there is no setting `colour`; settings"},
    {"key", "xy", "the setting `key` is not what it must be; settings without a value: `name`"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Served s = {0};
    ErrText why = {{0}};
    AppSetting one = {str_from(ROWS[i].name), str_from(ROWS[i].value)};
    served_new(&s);
    s.settings = (AppSettings){1, &one};
    cr_assert_eq(served_open_says(&s, BASE, &why), ERR_REFUSED);
    cr_assert(strstr(why.text, ROWS[i].says), "%s: %s", ROWS[i].value, why.text);
    cr_assert(!strstr(why.text, "xy"), "%s", why.text);
    served_free(&s);
  }
}

Test(settings, hold_from_the_start_and_follow_what_is_given) {
  Served s = {0};
  served_new(&s);
  s.settings = SETTINGS(ONE("name", "Ann"), ONE("key", "secret-text"), ONE("fee", "9"));
  served_open_again(&s, BASE);
  cr_assert_eq(served_number(&s, "now_fee"), 9);
  cr_assert_eq(served_number(&s, "first_fee"), 9);
  cr_assert_eq(served_number(&s, "letters"), 3);
  cr_assert_eq(served_number(&s, "key_letters"), 11);
  uint64_t commit = app_commit(s.app);
  served_kill(&s);
  served_open_again(&s, NULL);
  cr_assert_eq(app_commit(s.app), commit, "what did not change is not written again");
  served_kill(&s);
  s.settings = SETTINGS(ONE("name", "Annabel"), ONE("key", "another"));
  served_open_again(&s, NULL);
  cr_assert_eq(served_number(&s, "now_fee"), 5);
  cr_assert_eq(served_number(&s, "first_fee"), 9);
  cr_assert_eq(served_number(&s, "letters"), 7);
  cr_assert_eq(served_number(&s, "key_letters"), 7);
  cr_assert_eq(app_commit(s.app), commit + 1);
  cr_assert(served_disk_holds(&s, "Annabel", 7));
  cr_assert(!served_disk_holds(&s, "secret-text", 11));
  cr_assert(!served_disk_holds(&s, "another", 7));
  served_close(&s);
  served_free(&s);
}

// Another module may ask for others, of other types: refused when one has no value, and nothing is moved before.
Test(settings, of_another_module_are_read_before_it_runs) {
  static const char MORE[] = "app s\nsetting fee: text = \"none\"\nsetting city: text\nstate first: int = 0\nview letters = len(fee)\ninput nothing { first += 0 }\n";
  static const char OTHER[] = "app s\nsetting fee: decimal(1) = 0.5\nsetting name: text max 8\nsetting key: bytes?\nstate first: int = 0\nview letters = len(name)\nview first_fee = first\ninput nothing { first += 0 }\n";
  Served s = {0};
  ErrText why = {{0}};
  served_new(&s);
  s.settings = SETTINGS(ONE("name", "Ann"), ONE("key", "abcd"), ONE("fee", "9"));
  served_open_again(&s, BASE);
  cr_assert_eq(served_swap(&s, MORE, &why), ERR_REFUSED);
  cr_assert(strstr(why.text, "there is no setting `name`"), "%s", why.text);
  cr_assert(strstr(why.text, "settings without a value: `city`"), "%s", why.text);
  cr_assert_eq(served_number(&s, "key_letters"), 4);
  cr_assert_eq(served_input(&s, "nothing", "{}"), APP_DONE);
  cr_assert_eq(served_swap(&s, OTHER, &why), ERR_NONE, "%s", why.text);
  cr_assert_eq(served_number(&s, "letters"), 3);
  cr_assert_eq(served_number(&s, "first_fee"), 9);
  served_close(&s);
  served_free(&s);
}
