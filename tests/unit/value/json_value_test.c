#include <criterion/criterion.h>

#include "runtime/base/json.h"
#include "runtime/base/mem.h"
#include "runtime/value/json_value.h"
#include "tests/unit/value/random_values.h"

enum { BOOL, INT, TEXT, UUID, BYTES, DEC, FLOAT, TIME, DATE, DURATION, LEVEL, SHAPE, OPT_INT, OPT_TEXT, LIST, SET, MAP, PAIRS, POINT, LINES, LINE, REF, DISTRICT, ORDER, ORDER_KEY, LEVELS, OPT_SHAPE, OPT_DISTRICT, TYPES };
static const Type TYPE_ROWS[TYPES] = {
  [BOOL] = {TYPE_BOOL}, [INT] = {TYPE_INT}, [TEXT] = {TYPE_TEXT}, [UUID] = {TYPE_UUID}, [BYTES] = {TYPE_BYTES}, [DEC] = {TYPE_DECIMAL, .scale = 2}, [FLOAT] = {TYPE_FLOAT},
  [TIME] = {TYPE_TIME}, [DATE] = {TYPE_DATE}, [DURATION] = {TYPE_DURATION}, [LEVEL] = {TYPE_ENUM, .of = 0}, [SHAPE] = {TYPE_ENUM, .of = 1},
  [OPT_INT] = {TYPE_OPTIONAL, .of = INT}, [OPT_TEXT] = {TYPE_OPTIONAL, .of = TEXT}, [LIST] = {TYPE_LIST, .of = INT}, [SET] = {TYPE_SET, .of = INT},
  [MAP] = {TYPE_MAP, .of = TEXT, .to = INT}, [PAIRS] = {TYPE_MAP, .of = INT, .to = TEXT}, [POINT] = {TYPE_RECORD, .of = 0}, [LINES] = {TYPE_LIST, .of = LINE},
  [LINE] = {TYPE_RECORD, .of = 1}, [REF] = {TYPE_REF, .of = 0}, [DISTRICT] = {TYPE_REF, .of = 1}, [ORDER] = {TYPE_REF, .of = 2}, [ORDER_KEY] = {TYPE_RECORD, .of = 2},
  [LEVELS] = {TYPE_MAP, .of = LEVEL, .to = INT}, [OPT_SHAPE] = {TYPE_OPTIONAL, .of = SHAPE}, [OPT_DISTRICT] = {TYPE_OPTIONAL, .of = DISTRICT}};
static const FieldDef POINT_FIELDS[] = {{{"x", 1}, INT, false}, {{"y", 1}, INT, false}};
static const FieldDef LINE_FIELDS[] = {{{"sensor", 6}, REF, false}, {{"quantity", 8}, DEC, false}, {{"note", 4}, OPT_TEXT, true}};
static const FieldDef ORDER_FIELDS[] = {{{"district", 8}, DISTRICT, false}, {{"id", 2}, INT, false}};
static const RecordDef RECORDS[] = {{{"Point", 5}, 2, POINT_FIELDS}, {{"Line", 4}, 3, LINE_FIELDS}, {{"", 0}, 2, ORDER_FIELDS}};
static const FieldDef CIRCLE_FIELDS[] = {{{"r", 1}, INT, false}};
static const CaseDef LEVEL_CASES[] = {{.name = {"low", 3}}, {.name = {"high", 4}}};
static const CaseDef SHAPE_CASES[] = {{{"circle", 6}, 1, CIRCLE_FIELDS}, {.name = {"dot", 3}}};
static const EnumDef ENUMS[] = {{{"Level", 5}, 2, true, LEVEL_CASES}, {{"Shape", 5}, 2, false, SHAPE_CASES}};
static const TypeId KEYS[] = {TEXT, POINT, ORDER_KEY};
static const Str TABLES[] = {{"Sensor", 6}, {"District", 8}, {"Order", 5}};
static const TypeTable TABLE = {.types = TYPE_ROWS, .count = TYPES, .records = RECORDS, .record_count = 3, .enums = ENUMS, .enum_count = 2,
                                .table_keys = KEYS, .table_names = TABLES, .table_count = 3};

// Reads `json`, and says either the value as JSON or the problems, `path: message` with ` | ` between them.
static const char *read_and_write(TypeId type, Str json, bool as_text) {
  static char said[4096];
  Arena arena;
  arena_init(&arena, 0);
  ValueProblems problems = {.arena = &arena};
  JsonReader reader;
  Value value;
  Buf out;
  buf_init(&out, 0);
  json_open(&reader, json);
  Err err = as_text ? value_read_text(&TABLE, type, json, STR("p"), &problems, &value) : value_read_json(&TABLE, type, &reader, STR("p"), &problems, &value);
  if (!as_text && json_next(&reader) != JSON_END) {
    cr_assert_eq(reader.event, JSON_ERROR, "not passed over whole: " STR_FMT, STR_ARG(json));
    buf_add_format(&out, "broken: %s", reader.reason);
  } else if (err == ERR_NONE) {
    cr_assert_eq(problems.count, 0);
    value_write_json(&TABLE, type, value, &out);
  } else {
    cr_assert_eq(err, ERR_FORMAT);
    cr_assert_gt(problems.count, 0);
    for (uint16_t i = 0; i < problems.count; i++)
      buf_add_format(&out, "%s" STR_FMT ": " STR_FMT, i ? " | " : "", STR_ARG(problems.items[i].path), STR_ARG(problems.items[i].message));
  }
  cr_assert_lt(out.len, sizeof said);
  memcpy(said, out.ptr, out.len);
  said[out.len] = 0;
  buf_free(&out);
  arena_free(&arena);
  return said;
}

typedef struct Case { TypeId type; const char *json, *expected; } Case;

static void check_cases(size_t count, const Case *cases, bool as_text) {
  for (size_t i = 0; i < count; i++) {
    const char *said = read_and_write(cases[i].type, str_from(cases[i].json), as_text);
    cr_assert(strncmp(said, cases[i].expected, strlen(cases[i].expected)) == 0 && (strchr(cases[i].expected, ':') || strlen(said) == strlen(cases[i].expected)),
              "row %zu: %s gave %s, not %s", i, cases[i].json, said, cases[i].expected);
  }
}

Test(json_value, numbers_are_exact_or_refused) {
  static const Case CASES[] = {
    {INT, "9007199254740993", "9007199254740993"}, {INT, "9223372036854775807", "9223372036854775807"}, {INT, "-9223372036854775808", "-9223372036854775808"},
    {INT, "18446744073709551616", "p: must be from -9223372036854775808"}, {INT, "9223372036854775808", "p: must be from"}, {INT, "-0", "0"}, {INT, "1.0", "1"}, {INT, "1e2", "100"},
    {INT, "1.5", "p: must be a whole number"}, {INT, "1e-1", "p: must be a whole number"}, {INT, "10e-1", "1"}, {INT, "\"42\"", "42"}, {INT, "\"4 2\"", "p: must be a whole number"},
    {INT, "\"\"", "p: must be a whole number"}, {INT, "1e-21474836311", "p: must be a whole number"}, {INT, "0e-21474836311", "0"}, {INT, "1E+0000000001", "10"},
    {INT, "1e99999999999999999999", "p: must be from"}, {INT, "null", "p: must be a whole number, not null"}, {INT, "[[1]]", "p: must be a whole number, not an array"},
    {DEC, "12.5", "12.50"}, {DEC, "12.345", "p: must have at most 2 digits after the point"}, {DEC, "12.500", "12.50"}, {DEC, "\"12.5\"", "12.50"}, {DEC, "-0", "0.00"}, {DEC, "1e2", "100.00"},
    {DEC, "92233720368547758.07", "92233720368547758.07"}, {DEC, "92233720368547758.08", "p: is greater than a decimal(2) can be"}, {DEC, "1e-400", "p: must have at most 2 digits"},
    {DEC, "\"abc\"", "p: must be a number"}, {DEC, "99999999999999999999999999999999999999", "p: is greater"}, {DEC, "true", "p: must be a number, not true"},
    {FLOAT, "1e-400", "0"}, {FLOAT, "-0", "0"}, {FLOAT, "1e400", "p: is greater than a float can be"}, {FLOAT, "0.1", "0.1"}, {FLOAT, "1e2", "100"}, {FLOAT, "\"0.5\"", "0.5"}};
  check_cases(countof(CASES), CASES, false);
}

Test(json_value, words_of_every_kind) {
  static const Case CASES[] = {
    {BOOL, "true", "true"}, {BOOL, "1", "p: must be true or false, not a number"}, {BOOL, "\"true\"", "p: must be true or false, not a text"},
    {TEXT, "\"\\ud83d\\udd25\"", "\"🔥\""}, {TEXT, "\"\\uD83D\\uDe00\"", "\"😀\""}, {TEXT, "\"\\udc00\"", "broken:"}, {TEXT, "\"\\ud800\"", "broken:"}, {TEXT, "5", "p: must be a text, not a number"},
    {TEXT, "\"j\xc3\xbcrgen\"", "\"j\xc3\xbcrgen\""}, {TEXT, "\"ju\xcc\x88rgen\"", "\"ju\xcc\x88rgen\""}, {TEXT, "\"\\u0000\"", "\"\\u0000\""}, {TEXT, "\"\"", "\"\""},
    {UUID, "\"123E4567-e89b-12d3-a456-426614174000\"", "\"123e4567-e89b-12d3-a456-426614174000\""}, {UUID, "\"123e4567e89b12d3a456426614174000\"", "p: must be a uuid"},
    {UUID, "\"123e4567-e89b-12d3-a456-42661417400g\"", "p: must be a uuid"}, {UUID, "7", "p: must be a uuid"},
    {BYTES, "\"AQID_w\"", "\"AQID_w\""}, {BYTES, "\"AQID_w==\"", "\"AQID_w\""}, {BYTES, "\"\"", "\"\""}, {BYTES, "\"AQID/w\"", "p: must be base64url"}, {BYTES, "\"A\"", "p: must be base64url"}, {BYTES, "\"AR\"", "p: must be base64url"},
    {TIME, "\"2026-10-04T09:00:00+09:00\"", "\"2026-10-04T00:00:00Z\""}, {TIME, "\"2026-10-04\"", "p: must be a time"}, {TIME, "\"0000-10-04T00:00:00Z\"", "p: must lie in the years"}, {TIME, "1", "p: must be a time"},
    {DATE, "\"2026-10-04\"", "\"2026-10-04\""}, {DATE, "\"2026-02-30\"", "p: must be a date that exists"}, {DURATION, "\"90min\"", "\"90min\""}, {DURATION, "\"7d\"", "\"1w\""}, {DURATION, "\"5\"", "p: must be a duration"},
    {LEVEL, "\"high\"", "\"high\""}, {LEVEL, "\"mid\"", "p: must be one of \"low\", \"high\""}, {LEVEL, "{\"high\":{}}", "\"high\""}, {LEVEL, "1", "p: must be the name of a case"},
    {SHAPE, "{\"circle\":{\"r\":3}}", "{\"circle\":{\"r\":3}}"}, {SHAPE, "\"dot\"", "\"dot\""}, {SHAPE, "{\"dot\":{}}", "\"dot\""}, {SHAPE, "\"circle\"", "p: must be an object {\"circle\": {…}}"},
    {SHAPE, "{\"circle\":{}}", "p.circle.r: is missing"}, {SHAPE, "{\"square\":{\"a\":[]}}", "p.square: is no case"}, {SHAPE, "{}", "p: must name one case"}, {SHAPE, "{\"dot\":{},\"circle\":{\"r\":1}}", "p: must name one case only"},
    {SHAPE, "{\"circle\":3}", "p.circle: must be an object"}, {OPT_INT, "null", "null"}, {OPT_INT, "0", "0"}, {OPT_TEXT, "\"\"", "\"\""}, {OPT_SHAPE, "null", "null"}, {OPT_SHAPE, "\"dot\"", "\"dot\""}};
  check_cases(countof(CASES), CASES, false);
}

Test(json_value, lists_maps_records_and_references) {
  static const Case CASES[] = {
    {LIST, "[]", "[]"}, {LIST, "[3,1,2,1,5,6,7,8,9]", "[3,1,2,1,5,6,7,8,9]"}, {LIST, "[1,\"x\",true]", "p[1]: must be a whole number | p[2]: must be a whole number, not true"}, {LIST, "{}", "p: must be an array, not an object"},
    {SET, "[3,1,2,1]", "[1,2,3]"}, {MAP, "{\"b\":2,\"a\":1}", "{\"a\":1,\"b\":2}"}, {MAP, "{\"a\":2,\"\\u0061\":1}", "p: has a key twice"}, {MAP, "[[\"a\",1]]", "{\"a\":1}"}, {MAP, "{\"a\":\"x\"}", "p.a: must be a whole number"},
    {PAIRS, "[[2,\"b\"],[1,\"a\"]]", "[[1,\"a\"],[2,\"b\"]]"}, {PAIRS, "{\"1\":\"a\"}", "p: must be an array of [key, value] pairs"}, {PAIRS, "[[1]]", "p[0]: must be an array of a key and a value"}, {PAIRS, "[[1,\"a\",[2]]]", "p[0]: must be an array of a key"},
    {PAIRS, "[7]", "p[0]: must be an array of a key"}, {LEVELS, "{\"high\":1,\"low\":2}", "{\"low\":2,\"high\":1}"}, {LEVELS, "{\"mid\":1}", "p.mid: must be one of"},
    {POINT, "{\"y\":2,\"x\":1}", "{\"x\":1,\"y\":2}"}, {POINT, "{\"x\":1}", "p.y: is missing"}, {POINT, "{\"x\":1,\"y\":2,\"z\":{\"q\":[1]}}", "p.z: is not known here"}, {POINT, "{\"x\":1,\"\\u0078\":2,\"y\":2}", "p.x: is there twice"},
    {POINT, "{}", "p.x: is missing | p.y: is missing"}, {POINT, "[1,2]", "p: must be an object, not an array"},
    {LINES, "[{\"sensor\":\"a\",\"quantity\":1},{\"sensor\":\"b\",\"quantity\":2.5,\"note\":null}]", "[{\"sensor\":\"a\",\"quantity\":1.00,\"note\":null},{\"sensor\":\"b\",\"quantity\":2.50,\"note\":null}]"},
    {LINES, "[{\"sensor\":1,\"quantity\":\"x\"},{\"quantity\":0.001,\"note\":\"n\"}]",
     "p[0].sensor: must be a text, not a number | p[0].quantity: must be a number | p[1].quantity: must have at most 2 digits after the point | p[1].sensor: is missing"},
    {DISTRICT, "[3,4]", "[3,4]"}, {DISTRICT, "[3]", "p: must have the 2 parts of the key"}, {DISTRICT, "[3,4,{}]", "p: must have the 2 parts"}, {DISTRICT, "[3,\"x\"]", "p[1]: must be a whole number"}, {DISTRICT, "3", "p: must be an array of the key's parts"},
    {ORDER, "[[3,4],5]", "[[3,4],5]"}, {OPT_DISTRICT, "null", "null"}, {OPT_DISTRICT, "[1,2]", "[1,2]"},
    {LIST, "[1,2", "broken:"}, {LIST, "[1,2]]", "broken:"}, {LIST, "[\"x\",}", "broken:"}, {POINT, "{\"x\":", "broken:"}, {MAP, "{\"a\"}", "broken:"}, {PAIRS, "[[1,\"a\"", "broken:"}, {SHAPE, "{\"dot\":{}", "broken:"}, {DISTRICT, "[1", "broken:"}, {INT, "", "broken:"}};
  check_cases(countof(CASES), CASES, false);
}

Test(json_value, the_text_form) {
  static const Case CASES[] = {
    {INT, "5", "5"}, {INT, "", "p: must be a whole number"}, {INT, " 5", "p: must be a whole number"}, {DEC, "12.5", "12.50"}, {BOOL, "true", "true"}, {BOOL, "yes", "p: must be true or false"}, {TEXT, "a b", "\"a b\""}, {TEXT, "", "\"\""},
    {TEXT, "null", "\"null\""}, {LEVEL, "low", "\"low\""}, {DATE, "2026-10-04", "\"2026-10-04\""}, {OPT_INT, "", "null"}, {OPT_INT, "0", "0"}, {OPT_TEXT, "", "\"\""}, {LIST, "[1,2]", "[1,2]"}, {LIST, "1,2", "p: must be an array, as JSON:"},
    {LIST, "[1,2] x", "p: must be an array, as JSON:"}, {POINT, "{\"x\":1,\"y\":2}", "{\"x\":1,\"y\":2}"}, {POINT, "{\"x\":1}", "p.y: is missing"}, {DISTRICT, "3,4", "[3,4]"}, {DISTRICT, "3", "p: must have all parts of the key"},
    {DISTRICT, "3,4,5", "p: has more parts"}, {DISTRICT, "[3,4]", "[3,4]"}, {DISTRICT, "", "p: must be a whole number"}, {ORDER, "3,4,5", "[[3,4],5]"}, {ORDER, "[[3,4],5]", "[[3,4],5]"}, {SHAPE, "dot", "\"dot\""}, {SHAPE, "{\"circle\":{\"r\":1}}", "{\"circle\":{\"r\":1}}"},
    {OPT_DISTRICT, "1,2", "[1,2]"}, {OPT_DISTRICT, "", "null"}, {REF, "a,b", "\"a,b\""}, {TEXT, "\xff", "p: is not UTF-8"}, {UUID, "123e4567-e89b-12d3-a456-426614174000", "\"123e4567-e89b-12d3-a456-426614174000\""}};
  check_cases(countof(CASES), CASES, true);
}

Test(json_value, a_person_reads_it_without_quotes) {
  Arena arena;
  arena_init(&arena, 0);
  static const struct { TypeId type; const char *text; } ROWS[] = {{TEXT, "a \"b\""}, {INT, "-5"}, {DEC, "12.50"}, {DATE, "2026-10-04"}, {DURATION, "5min"}, {LEVEL, "high"}, {DISTRICT, "3,4"}, {ORDER, "3,4,5"},
                                                                  {LIST, "[1,2]"}, {SHAPE, "dot"}, {BYTES, "AQID_w"}, {TIME, "2026-10-04T00:00:00Z"}, {BOOL, "true"}, {MAP, "{\"a\":1}"}, {REF, "a,b"}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    ValueProblems problems = {.arena = &arena};
    Value value;
    Buf out;
    buf_init(&out, 0);
    cr_assert_eq(value_read_text(&TABLE, ROWS[i].type, str_from(ROWS[i].text), STR("p"), &problems, &value), ERR_NONE, "row %zu", i);
    value_write_text(&TABLE, ROWS[i].type, value, &out);
    cr_assert(str_is(buf_str(&out), ROWS[i].text), "row %zu", i);
    buf_free(&out);
  }
  Buf out;
  buf_init(&out, 0);
  value_write_text(&TABLE, OPT_INT, (Value){.text = {0}}, &out);
  cr_assert(str_is(buf_str(&out), "none"));
  buf_free(&out);
  arena_free(&arena);
}

// VALUE_PROBLEMS_MAX are kept, and what is said is whole UTF-8 however long a name the client made up.
Test(json_value, problems_are_bounded) {
  Arena arena;
  arena_init(&arena, 0);
  Buf json;
  buf_init(&json, 0);
  buf_add_char(&json, '[');
  for (int i = 0; i < VALUE_PROBLEMS_MAX + 1; i++) buf_add_format(&json, "%s\"x\"", i ? "," : "");
  buf_add_char(&json, ']');
  ValueProblems problems = {.arena = &arena};
  JsonReader reader;
  Value value;
  json_open(&reader, buf_str(&json));
  cr_assert_eq(value_read_json(&TABLE, LIST, &reader, STR("p"), &problems, &value), ERR_FORMAT);
  cr_assert_eq(problems.count, VALUE_PROBLEMS_MAX);
  cr_assert_eq(json_next(&reader), JSON_END);
  buf_clear(&json);
  buf_add_text(&json, "{\"");
  for (int i = 0; i < 5000; i++) buf_add_text(&json, "é");
  buf_add_text(&json, "\":1}");
  problems.count = 0;
  json_open(&reader, buf_str(&json));
  cr_assert_eq(value_read_json(&TABLE, POINT, &reader, STR("p"), &problems, &value), ERR_FORMAT);
  cr_assert_eq(problems.count, 3);
  cr_assert_eq(problems.items[0].path.len, 2 + 80);
  buf_free(&json);
  arena_free(&arena);
}

static void check_back(const TypeTable *types, TypeId type, Value value, Arena *arena) {
  Buf json, again;
  buf_init(&json, 0);
  buf_init(&again, 0);
  value_write_json(types, type, value, &json);
  JsonReader reader;
  ValueProblems problems = {.arena = arena};
  Value back;
  json_open(&reader, buf_str(&json));
  Err err = value_read_json(types, type, &reader, STR("p"), &problems, &back);
  cr_assert_eq(err, ERR_NONE, STR_FMT ": " STR_FMT, STR_ARG(buf_str(&json)), STR_ARG(problems.count ? problems.items[0].message : STR("")));
  cr_assert_eq(json_next(&reader), JSON_END);
  cr_assert(value_equal(types, type, value, back), STR_FMT, STR_ARG(buf_str(&json)));
  value_write_json(types, type, back, &again);
  cr_assert(str_equal(buf_str(&json), buf_str(&again)));
  buf_free(&json);
  buf_free(&again);
}

Test(json_value, any_value_of_any_type_comes_back) {
  Random random = {6};
  for (int round = 0; round < 40; round++) {
    Arena arena;
    arena_init(&arena, 0);
    const TypeTable *types = random_types(&random, &arena);
    for (TypeId type = 0; type < types->count; type++) {
      for (int i = 0; i < 4; i++) check_back(types, type, random_value(&random, types, type, &arena), &arena);
      check_back(types, type, (Value){.text = {0}}, &arena);
    }
    arena_free(&arena);
  }
}

// Whatever a client sends: a value that writes and reads back, or a problem, or broken JSON; nothing else, nothing kept.
Test(json_value, never_trusts_what_is_sent) {
  Random random = {7};
  uint64_t held = mem_blocks_held(), taken = 0, refused = 0, broken = 0;
  for (int round = 0; round < 30; round++) {
    Arena arena;
    arena_init(&arena, 0);
    const TypeTable *types = random_types(&random, &arena);
    for (int i = 0; i < 600; i++) {
      TypeId type = (TypeId)random_below(&random, types->count), other = i % 3 ? type : (TypeId)random_below(&random, types->count);
      Buf json;
      buf_init(&json, 0);
      value_write_json(types, other, random_value(&random, types, other, &arena), &json);
      if (json.len && i % 2) json.ptr[random_below(&random, json.len)] = "[]{}\",:019-e.tn \\\x80"[random_below(&random, 18)];
      if (json.len && i % 7 == 0) json.len = random_below(&random, json.len);
      JsonReader reader;
      ValueProblems problems = {.arena = &arena};
      Value value;
      json_open(&reader, buf_str(&json));
      Err err = value_read_json(types, type, &reader, STR("p"), &problems, &value);
      cr_assert(err == ERR_NONE || (err == ERR_FORMAT && (problems.count > 0 || reader.event == JSON_ERROR)));
      if (err == ERR_NONE) check_back(types, type, value, &arena);
      if (reader.event == JSON_ERROR) broken++;
      else if (err == ERR_NONE) taken++;
      else refused++;
      problems.count = 0;
      if (value_read_text(types, type, buf_str(&json), STR("p"), &problems, &value) == ERR_NONE) check_back(types, type, value, &arena);
      buf_free(&json);
    }
    arena_free(&arena);
  }
  cr_assert(taken > 2000 && refused > 500 && broken > 500, "%llu %llu %llu", (unsigned long long)taken, (unsigned long long)refused, (unsigned long long)broken);
  cr_assert_eq(mem_blocks_held(), held);
}

Test(json_value, no_memory_is_an_error_not_a_crash) {
  static const char JSON[] = "[{\"sensor\":\"\\u0061\",\"quantity\":1},{\"sensor\":\"b\",\"quantity\":2.5,\"note\":\"x\"},{\"sensor\":3}]";
  for (size_t limit = 16; limit < 2000; limit += 16) {
    Arena arena;
    arena_init(&arena, limit);
    ValueProblems problems = {.arena = &arena};
    JsonReader reader;
    Value value;
    json_open(&reader, str_from(JSON));
    Err err = value_read_json(&TABLE, LINES, &reader, STR("p"), &problems, &value);
    cr_assert(err == ERR_MEMORY || (err == ERR_FORMAT && problems.count == 2), "%zu", limit);
    arena_free(&arena);
  }
}
