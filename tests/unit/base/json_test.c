#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/json.h"
#include "runtime/base/mem.h"
#include "runtime/base/rng.h"

// Reads all of it; the events as letters, or "! REASON".
static const char *events_of(Str bytes, char out[256]) {
  static const char LETTERS[] = "!nftNT[]{K}.";
  JsonReader reader;
  json_open(&reader, bytes);
  for (size_t len = 0; len < 255; len++) {
    JsonEvent event = json_next(&reader);
    if (event == JSON_ERROR) {
      snprintf(out, 256, "! %s @%zu", reader.reason, reader.reason_offset);
      return out;
    }
    out[len] = LETTERS[event];
    out[len + 1] = 0;
    if (event == JSON_END) return out;
  }
  return out;
}

static bool accepts(Str bytes) {
  JsonReader reader;
  json_open(&reader, bytes);
  return json_skip(&reader, NULL) == ERR_NONE && json_next(&reader) == JSON_END;
}

Test(json, gives_events_in_order) {
  static const struct { const char *text, *events; } ROWS[] = {
    {" {\"a\" : [1, -2.5e3,true,false , null], \"b\":{} , \"\":\"x\"}\n", "{K[NNtfn]K{}KT}."},
    {"[]", "[]."}, {"{}", "{}."}, {"\"\"", "T."}, {"0", "N."}, {"[[[]],[{}]]", "[[[]][{}]]."},
    {"", "! expected a value, but the text ends @0"}, {"  ", "! expected a value, but the text ends @2"},
    {"[1,]", "! expected a value @3"}, {"[1 2]", "! expected , or ] after a value @3"}, {"{\"a\":1,}", "! expected a name in quotes @7"},
    {"{\"a\" 1}", "! expected : after a name @5"}, {"{\"a\":1 \"b\"}", "! expected , or } after a value @7"},
    {"{a:1}", "! expected a name in quotes @1"}, {"01", "! a number must not start with 0 @0"}, {"-", "! a number needs a digit after its sign @1"},
    {"1.", "! a number needs a digit after its point @2"}, {"1e+", "! a number needs a digit in its exponent @3"},
    {"+1", "! expected a value @0"}, {".5", "! expected a value @0"}, {"nul", "! expected a value: an unknown word @0"},
    {"1 1", "! something follows the value @2"}, {"[1]]", "! something follows the value @3"}, {"[}", "! expected a value @1"},
    {"\"a", "! the text does not end @2"}, {"\"\\x\"", "! unknown escape in a text @1"}, {"\"\t\"", "! a control character in a text must be written as an escape @1"},
    {"\"\xFF\"", "! the text is not UTF-8 @1"}, {"\xEF\xBB\xBF{}", "! expected a value @0"}, {"\"\\u12\"", "! \\u needs four hexadecimal digits @1"},
    {"\"\\", "! the text does not end @1"}, {"'a'", "! expected a value @0"}, {"[1,\f2]", "! expected a value @3"}, {"NaN", "! expected a value @0"},
  };
  char out[256];
  for (size_t i = 0; i < countof(ROWS); i++) cr_expect_str_eq(events_of(str_from(ROWS[i].text), out), ROWS[i].events, "%s", ROWS[i].text);
}

Test(json, an_error_stays_and_says_where) {
  JsonReader reader;
  json_open(&reader, STR("[1,?"));
  while (json_next(&reader) != JSON_ERROR) {}
  cr_assert_eq(json_next(&reader), JSON_ERROR);
  cr_assert_eq(json_finish(&reader, NULL), ERR_FORMAT);
  ErrText line;
  cr_assert_eq(json_say_error(&reader, &line), ERR_FORMAT);
  cr_assert_str_eq(line.text, "expected a value at byte 3");
}

Test(json, nests_as_deep_as_its_limit_and_no_deeper) {
  static char deep[200001];
  for (int depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX + 1; depth++) {
    memset(deep, '[', (size_t)depth);
    memset(deep + depth, ']', (size_t)depth);
    cr_expect_eq(accepts((Str){deep, 2 * (size_t)depth}), depth <= JSON_DEPTH_MAX, "%d", depth);
  }
  memset(deep, '[', sizeof deep);
  char out[256];
  cr_expect_str_eq(events_of((Str){deep, sizeof deep}, out), "! nested more than 64 deep @64");
}

Test(json, every_start_of_a_value_is_refused_and_read_no_further) {
  Str whole = STR("{\"a\\u00e9\":[1.5e-3,true,\"\\ud83d\\udd25é\",{\"b\":null}],\"c\":false}");
  cr_assert(accepts(whole));
  for (size_t len = 0; len < whole.len; len++) {
    char *exact = malloc(len ? len : 1);  // so that the sanitizer sees a read behind the end
    memcpy(exact, whole.ptr, len);
    cr_expect_not(accepts((Str){exact, len}), "%zu", len);
    free(exact);
  }
}

Test(json, surrogates_come_in_pairs_or_not_at_all) {
  static const struct { const char *text, *value; } ROWS[] = {
    {"\"\\ud83d\\udd25\"", "🔥"}, {"\"\\uD83D\\uDE00\"", "😀"}, {"\"\\uD83d\\uDe00!\"", "😀!"}, {"\"\\u00E9\\u00e9\"", "éé"},
    {"\"\\uFFFF\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\xEF\xBF\xBF\"\\/\b\f\n\r\t"}, {"\"plain\"", "plain"},
    {"\"\\udc00\"", NULL}, {"\"\\ud800\"", NULL}, {"\"\\ud800\\ud800\"", NULL}, {"\"\\ud800\\u0041\"", NULL}, {"\"\\ud800x\"", NULL},
    {"\"\\ud800\\n\"", NULL}, {"\"\xED\xA0\x80\"", NULL}, {"\"\\ud83d\\ude0\"", NULL}, {"\"\\udc00\\ud800\"", NULL},
  };
  Arena arena;
  arena_init(&arena, 0);
  for (size_t i = 0; i < countof(ROWS); i++) {
    JsonReader reader;
    json_open(&reader, str_from(ROWS[i].text));
    if (json_next(&reader) != JSON_TEXT) {
      cr_expect_null(ROWS[i].value, "%s", ROWS[i].text);
      continue;
    }
    Str value;
    cr_assert_not_null(ROWS[i].value, "%s", ROWS[i].text);
    cr_assert_eq(json_text(&reader, &arena, &value), ERR_NONE);
    cr_expect(str_is(value, ROWS[i].value), "%s", ROWS[i].text);
    cr_expect(json_text_is(&reader, value));
    cr_expect_not(json_text_is(&reader, str_part(value, 0, value.len - 1)));
    // The same as a name.
    char object[80];
    snprintf(object, sizeof object, "{%s:1}", ROWS[i].text);
    json_open(&reader, str_from(object));
    json_next(&reader);
    cr_expect(json_next(&reader) == JSON_KEY && json_text_is(&reader, value));
  }
  arena_free(&arena);
}

Test(json, a_name_that_comes_twice_is_seen_twice_however_it_is_written) {
  JsonReader reader;
  json_open(&reader, STR("{\"n\":1,\"\\u006e\":2}"));
  int seen = 0;
  cr_assert_eq(json_next(&reader), JSON_OBJECT);
  while (json_next(&reader) == JSON_KEY) {
    seen += json_text_is(&reader, STR("n"));
    cr_assert_eq(json_skip(&reader, NULL), ERR_NONE);
  }
  cr_assert_eq(reader.event, JSON_OBJECT_END);
  cr_assert_eq(seen, 2);
}

Test(json, a_text_with_escapes_needs_memory_and_says_when_there_is_none) {
  Arena arena;
  arena_init(&arena, 1);
  JsonReader reader;
  json_open(&reader, STR("\"a long enough text\\n\""));
  json_next(&reader);
  Str value;
  cr_assert_eq(json_text(&reader, &arena, &value), ERR_MEMORY);
  arena_free(&arena);
}

Test(json, skips_whole_values_and_gives_them_as_written) {
  JsonReader reader;
  Str raw;
  json_open(&reader, STR("{\"a\": [1, {\"x\":[]}] ,\"b\":\"t\\n\",\"c\":-1e5,\"d\":null,\"e\":false,\"f\":{}}"));
  static const char *const RAW[] = {"[1, {\"x\":[]}]", "\"t\\n\"", "-1e5", "null", "false", "{}"};
  json_next(&reader);
  for (size_t i = 0; i < countof(RAW); i++) {
    cr_assert_eq(json_next(&reader), JSON_KEY);
    cr_assert_eq(json_skip(&reader, &raw), ERR_NONE);
    cr_expect(str_is(raw, RAW[i]), STR_FMT, STR_ARG(raw));
  }
  cr_assert_eq(json_next(&reader), JSON_OBJECT_END);
  cr_assert_eq(json_next(&reader), JSON_END);
  cr_assert_eq(json_finish(&reader, NULL), ERR_FORMAT);
}

Test(json, ints_are_exact_or_refused) {
  static const struct { const char *text; unsigned scale; Err err; int64_t value; } ROWS[] = {
    {"9007199254740993", 0, ERR_NONE, 9007199254740993}, {"9223372036854775807", 0, ERR_NONE, INT64_MAX}, {"-9223372036854775808", 0, ERR_NONE, INT64_MIN},
    {"9223372036854775808", 0, ERR_RANGE, 0}, {"-9223372036854775809", 0, ERR_RANGE, 0}, {"18446744073709551616", 0, ERR_RANGE, 0},
    {"-0", 0, ERR_NONE, 0}, {"0", 0, ERR_NONE, 0}, {"1.0", 0, ERR_NONE, 1}, {"1e2", 0, ERR_NONE, 100}, {"1E0000000001", 0, ERR_NONE, 10}, {"1.5", 0, ERR_FORMAT, 0},
    {"1e-1", 0, ERR_FORMAT, 0}, {"1500e-2", 0, ERR_NONE, 15}, {"1e18", 0, ERR_NONE, 1000000000000000000}, {"1e19", 0, ERR_RANGE, 0},
    {"0e99999999999999999999", 0, ERR_NONE, 0}, {"0.000e-21474836311", 0, ERR_NONE, 0}, {"1e-21474836311", 0, ERR_FORMAT, 0}, {"1e-400", 0, ERR_FORMAT, 0},
    {"1e99999999999999999999", 0, ERR_RANGE, 0}, {"12.50", 2, ERR_NONE, 1250}, {"12.505", 2, ERR_FORMAT, 0}, {"-0.01", 2, ERR_NONE, -1}, {"1e-2", 2, ERR_NONE, 1},
    {"92233720368547758.07", 2, ERR_NONE, INT64_MAX}, {"92233720368547758.08", 2, ERR_RANGE, 0}, {"12345678901234567890123456789012345678", 2, ERR_RANGE, 0},
    {"0.00000000000000000000000000000000001", 2, ERR_FORMAT, 0}, {"1.00000000000000000000000000000000000", 2, ERR_NONE, 100},
    {"01", 0, ERR_FORMAT, 0}, {"", 0, ERR_FORMAT, 0}, {" 1", 0, ERR_FORMAT, 0}, {"1 ", 0, ERR_FORMAT, 0}, {"+1", 0, ERR_FORMAT, 0},
    {"0x1", 0, ERR_FORMAT, 0}, {"\"1\"", 0, ERR_FORMAT, 0}, {"1,", 0, ERR_FORMAT, 0}, {"-", 0, ERR_FORMAT, 0},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    int64_t value = 77;
    cr_expect_eq(json_number_scaled(str_from(ROWS[i].text), ROWS[i].scale, &value), ROWS[i].err, "%s", ROWS[i].text);
    cr_expect_eq(value, ROWS[i].err ? 77 : ROWS[i].value, "%s", ROWS[i].text);
  }
}

Test(json, a_number_can_be_taken_apart) {
  JsonNumber parts;
  cr_assert_eq(json_number_parts(STR("-12.340E+0000000005"), &parts), ERR_NONE);
  cr_assert(parts.negative && str_is(parts.integer, "12") && str_is(parts.fraction, "340") && parts.exponent == 5);
  cr_assert_eq(json_number_parts(STR("1e-21474836311"), &parts), ERR_NONE);
  cr_assert_eq(parts.exponent, -JSON_EXPONENT_MAX);
}

Test(json, doubles_are_read_to_the_nearest_and_written_short) {
  static const char *const ROWS[] = {"0", "-0", "1", "0.1", "1e22", "1e23", "123456789012345680", "5e-324", "2.2250738585072014e-308", "1.7976931348623157e+308",
                                     "9007199254740993", "0.30000000000000004", "-1.5", "1e-7", "4.35", "2e-320"};
  Buf out;
  buf_init(&out, 0);
  for (size_t i = 0; i < countof(ROWS); i++) {
    double value = 1, back = 2;
    cr_assert_eq(json_number_double(str_from(ROWS[i]), &value), ERR_NONE);
    cr_expect_eq(value, strtod(ROWS[i], NULL), "%s", ROWS[i]);
    buf_clear(&out);
    json_add_double(&out, value);
    cr_assert_eq(json_number_double(buf_str(&out), &back), ERR_NONE, STR_FMT, STR_ARG(buf_str(&out)));
    cr_expect_eq(back, value);
    cr_expect_leq(out.len, strlen(ROWS[i]) + 5);
  }
  double value = 1;
  cr_expect_eq(json_number_double(STR("1e309"), &value), ERR_RANGE);
  cr_expect_eq(json_number_double(STR("-1e99999999999"), &value), ERR_RANGE);
  cr_expect(json_number_double(STR("1e-400"), &value) == ERR_NONE && value == 0);
  cr_expect(json_number_double(STR("-0.0"), &value) == ERR_NONE && signbit(value));
  Rng rng;
  rng_seed(&rng, 3);
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = rng_next(&rng);
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    double back = 0;
    buf_clear(&out);
    json_add_double(&out, value);
    cr_assert_eq(json_number_double(buf_str(&out), &back), ERR_NONE);
    cr_assert_eq(back, value);
  }
  buf_clear(&out);
  json_add_double(&out, NAN);
  json_add_double(&out, -INFINITY);
  cr_expect(str_is(buf_str(&out), "nullnull"));
  buf_free(&out);
}

Test(json, a_double_of_very_many_digits_is_rounded_by_all_of_them) {
  static char text[5000];
  // Half way between two doubles (2^53 + 1), then one digit far behind that decides.
  size_t len = (size_t)snprintf(text, sizeof text, "9007199254740993.");
  memset(text + len, '0', 3000);
  double even = 0, up = 0;
  cr_assert_eq(json_number_double((Str){text, len + 3000}, &even), ERR_NONE);
  text[len + 2999] = '1';
  cr_assert_eq(json_number_double((Str){text, len + 3000}, &up), ERR_NONE);
  cr_assert_eq(even, 9007199254740992.0);
  cr_assert_eq(up, 9007199254740994.0);
}

Test(json, the_writer_puts_commas_and_escapes) {
  Buf out;
  buf_init(&out, 0);
  JsonWriter w = json_writer(&out);
  json_write_object(&w);
  json_write_key(&w, STR("a\"b"));
  json_write_array(&w);
  json_write_int(&w, INT64_MIN);
  json_write_double(&w, 0.1);
  json_write_bool(&w, true);
  json_write_null(&w);
  json_write_array(&w);
  json_write_array_end(&w);
  json_write_array_end(&w);
  json_write_key(&w, STR("t"));
  json_write_text(&w, ((Str){"\0\x1f\\\n\r\t\b\f/é\x7f", 12}));
  json_write_key(&w, STR("r"));
  json_write_raw(&w, STR("{}"));
  json_write_object_end(&w);
  cr_assert(str_is(buf_str(&out), "{\"a\\\"b\":[-9223372036854775808,0.1,true,null,[]],\"t\":\"\\u0000\\u001f\\\\\\n\\r\\t\\b\\f/é\x7f\",\"r\":{}}"),
            STR_FMT, STR_ARG(buf_str(&out)));
  cr_assert(accepts(buf_str(&out)));
  buf_free(&out);
}

static Str read_file(const char *dir, const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s", path);
  static char bytes[1 << 20];
  size_t len = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  return (Str){bytes, len};
}

// The outside suite github.com/nst/JSONTestSuite, test_parsing: y_ must be taken, n_ refused, i_ is ours to choose.
// AUP_VECTORS names the folder that holds it; without it this test says nothing.
Test(json, takes_and_refuses_what_the_outside_suite_says) {
  const char *vectors = getenv("AUP_VECTORS");
  if (!vectors) cr_skip_test("AUP_VECTORS is not set");
  char dir[400];
  snprintf(dir, sizeof dir, "%s/json-test-suite/test_parsing", vectors);
  DIR *open_dir = opendir(dir);
  cr_assert_not_null(open_dir, "%s", dir);
  int seen = 0;
  for (struct dirent *entry; (entry = readdir(open_dir));) {
    if (entry->d_name[0] == '.') continue;
    bool taken = accepts(read_file(dir, entry->d_name));
    seen++;
    if (entry->d_name[0] == 'y') cr_expect(taken, "%s", entry->d_name);
    if (entry->d_name[0] == 'n') cr_expect_not(taken, "%s", entry->d_name);
    if (getenv("AUP_VECTORS_SHOW") && entry->d_name[0] == 'i') fprintf(stderr, "%s %s\n", taken ? "takes  " : "refuses", entry->d_name);
  }
  closedir(open_dir);
  cr_assert_geq(seen, 300);
}
