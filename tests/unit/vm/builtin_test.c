// Every builtin with its usual and its odd arguments; arguments and results are written as in a query string.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "runtime/module/builtins.h"
#include "runtime/value/json_value.h"
#include "tests/unit/vm/run.h"

typedef struct Arg { TypeId type; const char *text; } Arg;
typedef struct Row { BuiltinId id; TypeId result; const char *wanted; Arg args[3]; } Row;  // wanted "!F05": that fault

#define MIN "-9223372036854775808"
#define MAX "9223372036854775807"
#define I(text) {T_INT, text}
#define T(text) {T_TEXT, text}
#define F(text) {T_FLOAT, text}
#define D2(text) {T_DEC2, text}

static const Row ROWS[] = {
  // ---- numbers
  {BUILTIN_ABS, T_INT, "5", {I("-5")}}, {BUILTIN_ABS, T_INT, MAX, {I("-9223372036854775807")}}, {BUILTIN_ABS, T_INT, "!F01", {I(MIN)}}, {BUILTIN_ABS, T_DEC2, "1.50", {D2("-1.50")}},
  {BUILTIN_ABS, T_FLOAT, "2.5", {F("-2.5")}}, {BUILTIN_ABS, T_DURATION, "5min", {{T_DURATION, "-5min"}}},
  {BUILTIN_SIGN, T_INT, "-1", {I(MIN)}}, {BUILTIN_SIGN, T_INT, "0", {D2("0.00")}}, {BUILTIN_SIGN, T_INT, "1", {F("0.1")}},
  {BUILTIN_MIN_OF, T_INT, "2", {I("3"), I("2")}}, {BUILTIN_MIN_OF, T_TEXT, "a", {T("a"), T("b")}}, {BUILTIN_MAX_OF, T_INT, "3", {I("3"), I("2")}}, {BUILTIN_MAX_OF, T_COLOR, "blue", {{T_COLOR, "blue"}, {T_COLOR, "red"}}},
  {BUILTIN_CLAMP, T_INT, "5", {I("9"), I("1"), I("5")}}, {BUILTIN_CLAMP, T_INT, "1", {I("-9"), I("1"), I("5")}}, {BUILTIN_CLAMP, T_INT, "3", {I("3"), I("1"), I("5")}}, {BUILTIN_CLAMP, T_INT, "!F05", {I("3"), I("5"), I("1")}},
  {BUILTIN_DIV_FLOOR, T_INT, "-4", {I("-7"), I("2")}}, {BUILTIN_DIV_FLOOR, T_INT, "!F02", {I("1"), I("0")}}, {BUILTIN_DIV_FLOOR, T_INT, "!F01", {I(MIN), I("-1")}},
  {BUILTIN_MOD_FLOOR, T_INT, "1", {I("-7"), I("2")}}, {BUILTIN_MOD_FLOOR, T_INT, "-1", {I("7"), I("-2")}}, {BUILTIN_MOD_FLOOR, T_INT, "0", {I(MIN), I("-1")}}, {BUILTIN_MOD_FLOOR, T_INT, "!F02", {I("1"), I("0")}},
  {BUILTIN_POW, T_INT, "1024", {I("2"), I("10")}}, {BUILTIN_POW, T_INT, "1", {I("0"), I("0")}}, {BUILTIN_POW, T_INT, "!F01", {I("2"), I("63")}}, {BUILTIN_POW, T_INT, MIN, {I("-2"), I("63")}}, {BUILTIN_POW, T_INT, "!F05", {I("2"), I("-1")}}, {BUILTIN_POW, T_INT, "1", {I("-1"), I("9223372036854775806")}},
  {BUILTIN_SQRT, T_FLOAT, "3", {F("9")}}, {BUILTIN_SQRT, T_FLOAT, "!F05", {F("-1")}}, {BUILTIN_TRUNCATE, T_INT, "-2", {F("-2.9")}}, {BUILTIN_TRUNCATE, T_INT, "!F01", {F("9.3e18")}},
  {BUILTIN_TO_FLOAT, T_FLOAT, "12.5", {D2("12.50")}}, {BUILTIN_TO_FLOAT, T_FLOAT, "3", {I("3")}}, {BUILTIN_TO_FLOAT, T_FLOAT, "0.5", {F("0.5")}},
  // ---- texts
  {BUILTIN_TEXT_LEN, T_INT, "5", {T("grüße")}}, {BUILTIN_TEXT_LEN, T_INT, "0", {T("")}}, {BUILTIN_TEXT_LEN, T_INT, "1", {T("😀")}},
  {BUILTIN_TRIM, T_TEXT, "a b", {T(" \t\n a b \r\n")}}, {BUILTIN_TRIM, T_TEXT, "", {T("  ")}}, {BUILTIN_TRIM, T_TEXT, "é", {T("\u00A0\u3000é\u2003")}}, {BUILTIN_TRIM, T_TEXT, "", {T("")}},
  {BUILTIN_LOWER, T_TEXT, "äöü abc", {T("ÄÖÜ ABC")}}, {BUILTIN_UPPER, T_TEXT, "ÄÉ 1Z", {T("äé 1z")}}, {BUILTIN_UPPER, T_TEXT, "", {T("")}}, {BUILTIN_UPPER, T_TEXT, "Ɐ", {T("ɐ")}},
  {BUILTIN_STARTS_WITH, T_BOOL, "true", {T("grüße"), T("grü")}}, {BUILTIN_STARTS_WITH, T_BOOL, "true", {T(""), T("")}}, {BUILTIN_STARTS_WITH, T_BOOL, "false", {T("a"), T("ab")}},
  {BUILTIN_ENDS_WITH, T_BOOL, "true", {T("grüße"), T("ße")}}, {BUILTIN_ENDS_WITH, T_BOOL, "false", {T("e"), T("ße")}}, {BUILTIN_ENDS_WITH, T_BOOL, "true", {T("e"), T("")}},
  {BUILTIN_CONTAINS_TEXT, T_BOOL, "true", {T("hallo"), T("ll")}}, {BUILTIN_CONTAINS_TEXT, T_BOOL, "true", {T(""), T("")}}, {BUILTIN_CONTAINS_TEXT, T_BOOL, "false", {T(""), T("x")}},
  {BUILTIN_REPLACE, T_TEXT, "b-b-", {T("a-a-"), T("a"), T("b")}}, {BUILTIN_REPLACE, T_TEXT, "aaa", {T("aaa"), T(""), T("b")}}, {BUILTIN_REPLACE, T_TEXT, "", {T("aaa"), T("a"), T("")}}, {BUILTIN_REPLACE, T_TEXT, "aaaa", {T("aa"), T("a"), T("aa")}},
  {BUILTIN_SPLIT, T_LIST_TEXT, "[\"a\",\"\",\"b\"]", {T("a,,b"), T(",")}}, {BUILTIN_SPLIT, T_LIST_TEXT, "[\"\"]", {T(""), T(",")}}, {BUILTIN_SPLIT, T_LIST_TEXT, "[\"\",\"\"]", {T(","), T(",")}}, {BUILTIN_SPLIT, T_LIST_TEXT, "!F05", {T("a"), T("")}},
  {BUILTIN_JOIN, T_TEXT, "a, b", {{T_LIST_TEXT, "[\"a\",\"b\"]"}, T(", ")}}, {BUILTIN_JOIN, T_TEXT, "", {{T_LIST_TEXT, "[]"}, T(", ")}},
  {BUILTIN_TEXT_FIRST, T_TEXT, "gr", {T("grüße"), I("2")}}, {BUILTIN_TEXT_FIRST, T_TEXT, "grüße", {T("grüße"), I(MAX)}}, {BUILTIN_TEXT_FIRST, T_TEXT, "!F05", {T("grüße"), I("-1")}}, {BUILTIN_TEXT_FIRST, T_TEXT, "", {T(""), I("0")}},
  {BUILTIN_TEXT_LAST, T_TEXT, "ße", {T("grüße"), I("2")}}, {BUILTIN_TEXT_LAST, T_TEXT, "grüße", {T("grüße"), I("9")}}, {BUILTIN_TEXT_LAST, T_TEXT, "", {T("grüße"), I("0")}}, {BUILTIN_TEXT_LAST, T_TEXT, "!F05", {T(""), I(MIN)}},
  {BUILTIN_SLICE, T_TEXT, "üß", {T("grüße"), I("2"), I("2")}}, {BUILTIN_SLICE, T_TEXT, "", {T("grüße"), I("9"), I("2")}}, {BUILTIN_SLICE, T_TEXT, "e", {T("grüße"), I("4"), I(MAX)}}, {BUILTIN_SLICE, T_TEXT, "!F05", {T("grüße"), I("0"), I("-1")}},
  {BUILTIN_PAD, T_TEXT, "007", {T("7"), I("3"), T("0")}}, {BUILTIN_PAD, T_TEXT, "üßü7", {T("7"), I("4"), T("üß")}}, {BUILTIN_PAD, T_TEXT, "1234", {T("1234"), I("3"), T("0")}}, {BUILTIN_PAD, T_TEXT, "!F05", {T("1"), I("3"), T("")}}, {BUILTIN_PAD, T_TEXT, "!F05", {T("1"), I("-3"), T("0")}}, {BUILTIN_PAD, T_TEXT, "!F04", {T("1"), I(MAX), T("0")}},
  {BUILTIN_REPEAT, T_TEXT, "ababab", {T("ab"), I("3")}}, {BUILTIN_REPEAT, T_TEXT, "", {T("ab"), I("0")}}, {BUILTIN_REPEAT, T_TEXT, "", {T(""), I(MAX)}}, {BUILTIN_REPEAT, T_TEXT, "!F04", {T("ab"), I(MAX)}}, {BUILTIN_REPEAT, T_TEXT, "!F05", {T("ab"), I("-1")}}, {BUILTIN_REPEAT, T_TEXT, "!F04", {T("ab"), I("2000000")}},
  {BUILTIN_LINES, T_LIST_TEXT, "[\"a\",\"\",\"b\"]", {T("a\n\r\nb\n")}}, {BUILTIN_LINES, T_LIST_TEXT, "[]", {T("")}}, {BUILTIN_LINES, T_LIST_TEXT, "[\"\"]", {T("\n")}}, {BUILTIN_LINES, T_LIST_TEXT, "[\"a\"]", {T("a")}},
  {BUILTIN_NFC, T_TEXT, "j\u00FCrgen", {T("ju\u0308rgen")}}, {BUILTIN_NFC, T_TEXT, "\uD55C\uAE00", {T("\u1112\u1161\u11AB\u1100\u1173\u11AF")}}, {BUILTIN_NFC, T_TEXT, "plain", {T("plain")}}, {BUILTIN_NFC, T_TEXT, "", {T("")}},
  {BUILTIN_FOLD, T_TEXT, "j\u00FCrgen", {T("JU\u0308RGEN")}}, {BUILTIN_FOLD, T_TEXT, "strasse", {T("Straße")}}, {BUILTIN_FOLD, T_TEXT, "abc", {T("ABC")}},
  {BUILTIN_PARSE_INT, T_OPT_INT, "-12", {T("-12")}}, {BUILTIN_PARSE_INT, T_OPT_INT, "none", {T("12x")}}, {BUILTIN_PARSE_INT, T_OPT_INT, "none", {T("")}}, {BUILTIN_PARSE_INT, T_OPT_INT, "none", {T("9223372036854775808")}},
  {BUILTIN_SLUG, T_TEXT, "creme-brulee-2", {T("  Crème  Brûlée -- №2! ")}}, {BUILTIN_SLUG, T_TEXT, "strasse", {T("Straße")}}, {BUILTIN_SLUG, T_TEXT, "東京-タワー", {T("東京 タワー")}}, {BUILTIN_SLUG, T_TEXT, "e", {T("e\u0301")}}, {BUILTIN_SLUG, T_TEXT, "", {T("---")}},
  {BUILTIN_IS_EMAIL, T_BOOL, "true", {T("ann@example.com")}}, {BUILTIN_IS_EMAIL, T_BOOL, "false", {T("ann@example")}}, {BUILTIN_IS_EMAIL, T_BOOL, "false", {T("a b@example.com")}}, {BUILTIN_IS_EMAIL, T_BOOL, "false", {T("@example.com")}}, {BUILTIN_IS_EMAIL, T_BOOL, "false", {T("a@b@c.de")}}, {BUILTIN_IS_EMAIL, T_BOOL, "false", {T("a@.de")}}, {BUILTIN_IS_EMAIL, T_BOOL, "false", {T("")}},
  {BUILTIN_IS_URL, T_BOOL, "true", {T("https://example.com:8080/a?b#c")}}, {BUILTIN_IS_URL, T_BOOL, "true", {T("http://localhost")}}, {BUILTIN_IS_URL, T_BOOL, "false", {T("ftp://example.com")}}, {BUILTIN_IS_URL, T_BOOL, "false", {T("https://")}}, {BUILTIN_IS_URL, T_BOOL, "false", {T("https://a b")}}, {BUILTIN_IS_URL, T_BOOL, "false", {T("https://a:b")}},
  {BUILTIN_MATCHES, T_BOOL, "true", {T("report-2026.pdf"), T("*-????.pdf")}}, {BUILTIN_MATCHES, T_BOOL, "false", {T("report.pdf"), T("*.txt")}}, {BUILTIN_MATCHES, T_BOOL, "true", {T(""), T("*")}}, {BUILTIN_MATCHES, T_BOOL, "false", {T("a"), T("")}}, {BUILTIN_MATCHES, T_BOOL, "true", {T("üü"), T("??")}}, {BUILTIN_MATCHES, T_BOOL, "true", {T("aaab"), T("*a*b")}},
  // ---- time, in Europe/Berlin: +1h, +2h from 2026-03-29T01:00Z on
  {BUILTIN_DATE_OF, T_DATE, "2026-01-02", {{T_TIME, "2026-01-01T23:30:00Z"}}}, {BUILTIN_TIME_OF, T_TIME, "2026-01-01T01:00:00Z", {{T_DATE, "2026-01-01"}, {T_DURATION, "2h"}}}, {BUILTIN_START_OF_DATE, T_TIME, "2026-07-01T22:00:00Z", {{T_DATE, "2026-07-02"}}}, {BUILTIN_END_OF_DATE, T_TIME, "2026-07-02T22:00:00Z", {{T_DATE, "2026-07-02"}}},
  {BUILTIN_FLOOR_TIME, T_TIME, "2026-01-01T10:00:00Z", {{T_TIME, "2026-01-01T10:59:59Z"}, {T_DURATION, "1h"}}}, {BUILTIN_FLOOR_TIME, T_TIME, "!F02", {{T_TIME, "2026-01-01T10:59:59Z"}, {T_DURATION, "0s"}}}, {BUILTIN_FLOOR_TIME, T_TIME, "!F05", {{T_TIME, "2026-01-01T10:59:59Z"}, {T_DURATION, "-1s"}}},
  {BUILTIN_WEEKDAY, T_INT, "7", {{T_DATE, "2026-10-04"}}}, {BUILTIN_YEAR, T_INT, "2026", {{T_DATE, "2026-10-04"}}}, {BUILTIN_MONTH, T_INT, "10", {{T_DATE, "2026-10-04"}}}, {BUILTIN_DAY, T_INT, "4", {{T_DATE, "2026-10-04"}}},
  {BUILTIN_HOUR, T_INT, "0", {{T_TIME, "2026-01-01T23:30:00Z"}}}, {BUILTIN_HOUR, T_INT, "1", {{T_TIME, "2026-06-01T23:30:00Z"}}}, {BUILTIN_MINUTE, T_INT, "30", {{T_TIME, "2026-01-01T23:30:00Z"}}}, {BUILTIN_HOUR, T_INT, "22", {{T_TIME, "1969-12-31T21:00:00Z"}}},
  {BUILTIN_ADD_MONTHS, T_DATE, "2026-02-28", {{T_DATE, "2026-01-31"}, I("1")}}, {BUILTIN_ADD_MONTHS, T_DATE, "!F01", {{T_DATE, "2026-01-31"}, I(MAX)}},
  {BUILTIN_FORMAT_TIME, T_TEXT, "02.01.2026 00:30", {{T_TIME, "2026-01-01T23:30:00Z"}, T("dd.MM.yyyy HH:mm")}}, {BUILTIN_AGE, T_INT, "25", {{T_DATE, "2000-10-05"}, {T_DATE, "2026-10-04"}}},
  // ---- lists
  {BUILTIN_LIST_FIRST, T_OPT_INT, "1", {{T_LIST_INT, "[1,2]"}}}, {BUILTIN_LIST_FIRST, T_OPT_INT, "none", {{T_LIST_INT, "[]"}}}, {BUILTIN_LIST_FIRST, T_OPT_INT, "none", {{T_LIST_OPT, "[null,2]"}}}, {BUILTIN_LIST_LAST, T_OPT_INT, "2", {{T_LIST_OPT, "[null,2]"}}}, {BUILTIN_LIST_LAST, T_OPT_INT, "none", {{T_LIST_INT, "[]"}}},
  {BUILTIN_LIST_SUM, T_INT, "6", {{T_LIST_INT, "[1,2,3]"}}}, {BUILTIN_LIST_SUM, T_INT, "0", {{T_LIST_INT, "[]"}}}, {BUILTIN_LIST_SUM, T_INT, "!F01", {{T_LIST_INT, "[" MAX ",1]"}}}, {BUILTIN_LIST_SUM, T_INT, MAX, {{T_LIST_INT, "[" MAX ",1,-1]"}}}, {BUILTIN_LIST_SUM, T_DEC2, "3.75", {{T_LIST_DEC2, "[1.50,2.25]"}}}, {BUILTIN_LIST_SUM, T_FLOAT, "0.75", {{T_LIST_FLOAT, "[0.5,0.25]"}}}, {BUILTIN_LIST_SUM, T_FLOAT, "!F01", {{T_LIST_FLOAT, "[1e308,1e308]"}}},
  {BUILTIN_LIST_MIN, T_OPT_INT, "-1", {{T_LIST_INT, "[3,-1,2]"}}}, {BUILTIN_LIST_MAX, T_OPT_INT, "3", {{T_LIST_INT, "[3,-1,2]"}}}, {BUILTIN_LIST_MAX, T_OPT_INT, "none", {{T_LIST_INT, "[]"}}},
  {BUILTIN_LIST_DISTINCT, T_LIST_INT, "[3,1,2]", {{T_LIST_INT, "[3,1,3,2,1,3]"}}}, {BUILTIN_LIST_DISTINCT, T_LIST_INT, "[]", {{T_LIST_INT, "[]"}}}, {BUILTIN_LIST_DISTINCT, T_LIST_TEXT, "[\"b\",\"a\"]", {{T_LIST_TEXT, "[\"b\",\"a\",\"b\"]"}}},
  {BUILTIN_LIST_ANY, T_BOOL, "true", {{T_LIST_BOOL, "[false,true]"}}}, {BUILTIN_LIST_ANY, T_BOOL, "false", {{T_LIST_BOOL, "[]"}}}, {BUILTIN_LIST_ALL, T_BOOL, "true", {{T_LIST_BOOL, "[]"}}}, {BUILTIN_LIST_ALL, T_BOOL, "false", {{T_LIST_BOOL, "[true,false]"}}}, {BUILTIN_LIST_ALL, T_BOOL, "true", {{T_LIST_BOOL, "[true,true]"}}}, {BUILTIN_LIST_ANY, T_BOOL, "false", {{T_LIST_BOOL, "[false]"}}},
  {BUILTIN_LIST_SLICE, T_LIST_INT, "[2,3]", {{T_LIST_INT, "[1,2,3]"}, I("1"), I("9")}}, {BUILTIN_LIST_SLICE, T_LIST_INT, "[]", {{T_LIST_INT, "[1,2,3]"}, I("3"), I("1")}}, {BUILTIN_LIST_SLICE, T_LIST_INT, "!F05", {{T_LIST_INT, "[1,2,3]"}, I("-1"), I("1")}}, {BUILTIN_LIST_SLICE, T_LIST_INT, "[]", {{T_LIST_INT, "[]"}, I(MAX), I(MAX)}},
  {BUILTIN_MAP_HAS, T_BOOL, "true", {{T_MAP, "{\"a\":1}"}, T("a")}}, {BUILTIN_MAP_HAS, T_BOOL, "false", {{T_MAP, "{}"}, T("a")}}, {BUILTIN_MAP_GET, T_OPT_INT, "2", {{T_MAP, "{\"b\":2,\"a\":1}"}, T("b")}}, {BUILTIN_MAP_GET, T_OPT_INT, "none", {{T_MAP, "{\"b\":2,\"a\":1}"}, T("c")}}, {BUILTIN_MAP_GET, T_OPT_INT, "none", {{T_MAP, "{}"}, T("")}}, {BUILTIN_MAP_KEYS, T_LIST_TEXT, "[\"a\",\"b\"]", {{T_MAP, "{\"b\":2,\"a\":1}"}}}, {BUILTIN_MAP_VALUES, T_LIST_INT, "[1,2]", {{T_MAP, "{\"b\":2,\"a\":1}"}}}, {BUILTIN_MAP_VALUES, T_LIST_INT, "[]", {{T_MAP, "{}"}}},
  {BUILTIN_MAP_PUT, T_MAP, "{\"a\":1}", {{T_MAP, "{}"}, T("a"), I("1")}}, {BUILTIN_MAP_PUT, T_MAP, "{\"a\":1,\"b\":3,\"c\":2}", {{T_MAP, "{\"a\":1,\"c\":2}"}, T("b"), I("3")}},
  {BUILTIN_MAP_PUT, T_MAP, "{\"a\":1,\"c\":3}", {{T_MAP, "{\"a\":1,\"c\":2}"}, T("c"), I("3")}}, {BUILTIN_MAP_WITHOUT, T_MAP, "{\"c\":2}", {{T_MAP, "{\"a\":1,\"c\":2}"}, T("a")}},
  {BUILTIN_MAP_WITHOUT, T_MAP, "{\"a\":1,\"c\":2}", {{T_MAP, "{\"a\":1,\"c\":2}"}, T("b")}}, {BUILTIN_MAP_WITHOUT, T_MAP, "{}", {{T_MAP, "{}"}, T("b")}},
  {BUILTIN_SET_UNION, T_SET_INT, "[1,2,3,4]", {{T_SET_INT, "[3,1]"}, {T_SET_INT, "[2,3,4]"}}}, {BUILTIN_SET_UNION, T_SET_INT, "[]", {{T_SET_INT, "[]"}, {T_SET_INT, "[]"}}},
  // ---- bytes: FIPS 180-4, RFC 7693 and RFC 4231's examples
  {BUILTIN_HEX, T_TEXT, "616263", {{T_BYTES, "YWJj"}}}, {BUILTIN_HEX, T_TEXT, "", {{T_BYTES, ""}}}, {BUILTIN_BASE64, T_TEXT, "YWJj", {{T_BYTES, "YWJj"}}}, {BUILTIN_BASE64, T_TEXT, "", {{T_BYTES, ""}}}, {BUILTIN_TO_BYTES, T_BYTES, "w7w", {T("ü")}},
  {BUILTIN_SHA256, T_BYTES, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0", {{T_BYTES, "YWJj"}}}, {BUILTIN_BLAKE2B, T_BYTES, "vd2BPGNCOXIxce8_7phXm5SWTjuxyz5CcmLIwGjVIxk", {{T_BYTES, "YWJj"}}},
  {BUILTIN_HMAC_SHA256, T_BYTES, "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM", {{T_BYTES, "SmVmZQ"}, {T_BYTES, "d2hhdCBkbyB5YSB3YW50IGZvciBub3RoaW5nPw"}}},
  {BUILTIN_CONSTANT_EQUAL, T_BOOL, "true", {{T_BYTES, "YWJj"}, {T_BYTES, "YWJj"}}}, {BUILTIN_CONSTANT_EQUAL, T_BOOL, "false", {{T_BYTES, "YWJj"}, {T_BYTES, "YWJk"}}}, {BUILTIN_CONSTANT_EQUAL, T_BOOL, "false", {{T_BYTES, "YWJj"}, {T_BYTES, "YWI"}}}, {BUILTIN_CONSTANT_EQUAL, T_BOOL, "true", {{T_BYTES, ""}, {T_BYTES, ""}}},
  {BUILTIN_URL_ENCODE, T_TEXT, "a%20%2F%C3%BC-_.~", {T("a /ü-_.~")}}, {BUILTIN_URL_DECODE, T_OPT_TEXT, "a /ü", {T("a%20%2f%C3%BC")}}, {BUILTIN_URL_DECODE, T_OPT_TEXT, "none", {T("a%2")}}, {BUILTIN_URL_DECODE, T_OPT_TEXT, "none", {T("%ff")}}, {BUILTIN_URL_DECODE, T_OPT_TEXT, "", {T("")}}, {BUILTIN_URL_DECODE, T_OPT_TEXT, "none", {T("%zz")}},
  {BUILTIN_TO_JSON, T_TEXT, "[1,2]", {{T_LIST_INT, "[1,2]"}}}, {BUILTIN_TO_JSON, T_TEXT, "\"a\\\"b\"", {T("a\"b")}}, {BUILTIN_TO_JSON, T_TEXT, "null", {{T_OPT_INT, ""}}},
};

static const char *const FAULT_CODES[FAULT_KINDS] = {
#define FAULT(name, code, words, mend) [FAULT_##name] = code,
#include "runtime/module/faults.def"
#undef FAULT
};

static uint16_t put_arg(Build *b, const Arg *arg) {
  ValueProblems problems = {.arena = &b->arena};
  Value value;
  Err err = value_read_text(&b->module.schema.types, arg->type, str_from(arg->text), STR("arg"), &problems, &value);
  cr_assert_eq(err, ERR_NONE, "%s: %.*s", arg->text, STR_ARG(problems.items[0].message));
  uint16_t r = build_register(b, arg->type);
  build_emit(b, OP_CONST, r, build_constant(b, arg->type, value), 0);
  return r;
}

static void check_row(size_t number, const Row *row) {
  static const ZoneTransition BERLIN[] = {{INT64_C(1774746000000000), 7200}};
  Build *b = malloc(sizeof *b);
  BuiltinSignature signature;
  build_init(b);
  b->module.zone = (Zone){STR("Europe/Berlin"), 3600, 1, BERLIN};
  builtin_signature(row->id, &signature);
  build_begin(b, FUNCTION_FN, T_TEXT);
  uint16_t first = 0;
  for (uint32_t i = 0; i < signature.param_count; i++) {
    uint16_t r = put_arg(b, &row->args[i]);
    if (i == 0) first = r;
  }
  uint16_t result = build_register(b, row->result), text = build_register(b, T_TEXT);
  build_emit(b, OP_BUILTIN, result, row->id, first);
  build_emit(b, OP_TO_TEXT, text, result, 0);
  build_emit(b, OP_RETURN, text, 0, 0);
  build_end(b);
  Module *m = build_finish(b);
  Run run = {0};
  run_on(&run, m, 0, NULL, 0);
  const char *name = builtin_info(row->id)->name;
  if (row->wanted[0] == '!') {
    cr_assert_eq(run.status, VM_FAULT, "row %zu, %s gave %.*s", number, name, STR_ARG(run.exec.result.text));
    cr_assert_str_eq(FAULT_CODES[run.exec.fault.kind], row->wanted + 1, "row %zu, %s", number, name);
  } else {
    cr_assert_eq(run.status, VM_DONE, "row %zu, %s: %s %.*s", number, name, FAULT_CODES[run.exec.fault.kind], STR_ARG(run.exec.fault.note));
    cr_assert(str_is(run.exec.result.text, row->wanted), "row %zu, %s: %.*s", number, name, STR_ARG(run.exec.result.text));
  }
  run_end(&run);
  build_free(b);
  free(b);
}

Test(builtin, examples) {
  for (size_t i = 0; i < countof(ROWS); i++) check_row(i, &ROWS[i]);
}

Test(builtin, every_one_has_an_example) {
  bool seen[BUILTIN_COUNT_] = {false};
  for (size_t i = 0; i < countof(ROWS); i++) seen[ROWS[i].id] = true;
  for (int id = 0; id < BUILTIN_COUNT_; id++) cr_assert(seen[id], "%s (%d)", builtin_info((BuiltinId)id)->name, id);
}

// A run of marks whose order must be found costs the square of its length, in fuel as in time.
Test(builtin, runs_of_marks_are_paid_for) {
  Build *b = malloc(sizeof *b);
  size_t len = 1 + 4 * 4000;
  char *marks = malloc(len);
  marks[0] = 'e';
  for (size_t i = 0; i < 4000; i++) memcpy(marks + 1 + 4 * i, i % 2 ? "\u0301\u0323" : "\u0315\u0301", 4);
  build_init(b);
  build_begin(b, FUNCTION_FN, T_TEXT);
  uint16_t r = build_register(b, T_TEXT);
  build_emit(b, OP_CONST, r, build_constant(b, T_TEXT, (Value){.text = {marks, len}}), 0);
  build_emit(b, OP_BUILTIN, r, BUILTIN_NFC, r);
  build_emit(b, OP_RETURN, r, 0, 0);
  build_end(b);
  Module *m = build_finish(b);
  Run run = {0};
  cr_assert_eq(run_on(&run, m, 0, NULL, 0), VM_FAULT);
  cr_assert_eq(run.exec.fault.kind, FAULT_BUDGET);
  run_end(&run);
  build_free(b);
  free(marks);
  free(b);
}
