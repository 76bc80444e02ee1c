#include <criterion/criterion.h>

#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "tests/unit/value/random_values.h"

enum { BOOL, INT, TEXT, UUID, DEC, FLOAT, OPT_INT, OPT_TEXT, OPT_DEC, OPT_LIST, LIST_INT, SET_INT, MAP, PLAIN, SHAPE, POINT, OPT_POINT, REF, OPT_REF, COMPOSITE, OPT_UUID, TYPES };
static const Type TYPE_ROWS[TYPES] = {
  [BOOL] = {TYPE_BOOL}, [INT] = {TYPE_INT}, [TEXT] = {TYPE_TEXT}, [UUID] = {TYPE_UUID}, [DEC] = {TYPE_DECIMAL, .scale = 2}, [FLOAT] = {TYPE_FLOAT},
  [OPT_INT] = {TYPE_OPTIONAL, .of = INT}, [OPT_TEXT] = {TYPE_OPTIONAL, .of = TEXT}, [OPT_DEC] = {TYPE_OPTIONAL, .of = DEC},
  [OPT_LIST] = {TYPE_OPTIONAL, .of = LIST_INT}, [LIST_INT] = {TYPE_LIST, .of = INT}, [SET_INT] = {TYPE_SET, .of = INT},
  [MAP] = {TYPE_MAP, .of = TEXT, .to = INT}, [PLAIN] = {TYPE_ENUM, .of = 0}, [SHAPE] = {TYPE_ENUM, .of = 1}, [POINT] = {TYPE_RECORD, .of = 0},
  [OPT_POINT] = {TYPE_OPTIONAL, .of = POINT}, [REF] = {TYPE_REF, .of = 0}, [OPT_REF] = {TYPE_OPTIONAL, .of = REF}, [COMPOSITE] = {TYPE_REF, .of = 1},
  [OPT_UUID] = {TYPE_OPTIONAL, .of = UUID},
};
static const FieldDef POINT_FIELDS[] = {{{"x", 1}, INT, false}, {{"name", 4}, TEXT, false}, {{"id", 2}, UUID, false}};
static const RecordDef RECORDS[] = {{{"Point", 5}, 3, POINT_FIELDS}, {{"", 0}, 2, POINT_FIELDS}};
static const FieldDef CIRCLE_FIELDS[] = {{{"r", 1}, INT, false}};
static const CaseDef PLAIN_CASES[] = {{.name = {"low", 3}}, {.name = {"high", 4}}};
static const CaseDef SHAPE_CASES[] = {{{"circle", 6}, 1, CIRCLE_FIELDS}, {.name = {"dot", 3}}};
static const EnumDef ENUMS[] = {{{"Level", 5}, 2, true, PLAIN_CASES}, {{"Shape", 5}, 2, false, SHAPE_CASES}};
static const TypeId KEYS[] = {TEXT, POINT};
static const Str TABLES[] = {{"Player", 6}, {"District", 8}};
static const TypeTable TABLE = {.types = TYPE_ROWS, .count = TYPES, .records = RECORDS, .record_count = 2, .enums = ENUMS, .enum_count = 2,
                                .table_keys = KEYS, .table_names = TABLES, .table_count = 2};

Test(type, knows_layout_and_order) {
  static const struct { TypeId type; Repr repr; bool ordered; const char *name; } ROWS[] = {
    {BOOL, REPR_I64, true, "bool"}, {DEC, REPR_DEC, true, "decimal(2)"}, {FLOAT, REPR_F64, true, "float"}, {OPT_INT, REPR_I64, true, "int?"},
    {OPT_TEXT, REPR_STR, true, "text?"}, {LIST_INT, REPR_PTR, false, "[int]"}, {SET_INT, REPR_PTR, false, "set(int)"}, {MAP, REPR_PTR, false, "map(text, int)"},
    {PLAIN, REPR_I64, true, "Level"}, {SHAPE, REPR_PTR, false, "Shape"}, {POINT, REPR_PTR, true, "Point"}, {REF, REPR_STR, true, "Player"},
    {OPT_REF, REPR_STR, true, "Player?"}, {COMPOSITE, REPR_PTR, true, "District"}, {OPT_LIST, REPR_PTR, false, "[int]?"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    cr_assert_eq(type_repr(&TABLE, ROWS[i].type), ROWS[i].repr, "row %zu", i);
    cr_assert_eq(type_is_ordered(&TABLE, ROWS[i].type), ROWS[i].ordered, "row %zu", i);
    Buf out;
    buf_init(&out, 0);
    type_write(&TABLE, ROWS[i].type, &out);
    cr_assert(str_is(buf_str(&out), ROWS[i].name), "row %zu", i);
    buf_free(&out);
  }
  cr_assert_eq(type_of_key(&TABLE, REF), TEXT);
}

Test(type, the_check_refuses_unsound_tables) {
  static const FieldDef NEXT[] = {{{"next", 4}, 1, false}};
  static const RecordDef SELF = {{"Node", 4}, 1, NEXT};
  static const EnumDef NONE = {.name = {"E", 1}, .plain = true};
  static const struct { const char *words; Type types[3]; } ROWS[] = {
    {"no known kind", {{TYPE_KIND_COUNT}}}, {"19 digits", {{TYPE_DECIMAL, .scale = 19}}}, {"not there", {{TYPE_LIST, .of = 3}}},
    {"not there", {{TYPE_REF, .of = 0}}}, {"optional in an optional", {{TYPE_OPTIONAL, .of = 1}, {TYPE_OPTIONAL, .of = 2}}},
    {"contains itself", {{TYPE_LIST, .of = 0}}}, {"contains itself", {{TYPE_INT}, {TYPE_OPTIONAL, .of = 2}, {TYPE_RECORD, .of = 0}}},
    {"not there", {{TYPE_MAP, .of = 1, .to = 9}}},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    TypeTable table = {.types = ROWS[i].types, .count = 3, .records = &SELF, .record_count = 1};
    ErrText text = {""};
    cr_assert_eq(type_check_table(&table, &text), ERR_FORMAT, "row %zu", i);
    cr_assert(strstr(text.text, ROWS[i].words) != NULL, "row %zu: %s", i, text.text);
  }
  TypeTable empty_enum = {.enums = &NONE, .enum_count = 1};
  ErrText text;
  cr_assert_eq(type_check_table(&empty_enum, &text), ERR_FORMAT);
  cr_assert_eq(type_check_table(&TABLE, &text), ERR_NONE);
}

static Err check_nested(uint16_t depth, ErrText *out_text) {
  Type types[TYPE_DEPTH_MAX + 1] = {{TYPE_INT}};
  for (uint16_t i = 1; i < depth; i++) types[i] = (Type){TYPE_LIST, .of = (TypeId)(i - 1)};
  TypeTable table = {.types = types, .count = depth};
  return type_check_table(&table, out_text);
}

Test(type, depth_and_width_are_limited_just_there) {
  ErrText text;
  cr_assert_eq(check_nested(TYPE_DEPTH_MAX, &text), ERR_NONE);
  cr_assert_eq(check_nested(TYPE_DEPTH_MAX + 1, &text), ERR_FORMAT);
  cr_assert(strstr(text.text, "64 types deep") != NULL);
  static FieldDef fields[TYPE_WIDTH_MAX];
  for (uint32_t wide = TYPE_WIDTH_MAX - 1; wide <= TYPE_WIDTH_MAX; wide++) {
    RecordDef record = {.field_count = (uint16_t)wide, .fields = fields};
    static const Type TWO[] = {{TYPE_INT}, {TYPE_RECORD, .of = 0}};
    TypeTable table = {.types = TWO, .count = 2, .records = &record, .record_count = 1};
    cr_assert_eq(type_check_table(&table, &text), wide < TYPE_WIDTH_MAX ? ERR_NONE : ERR_FORMAT, "%u", wide);
  }
  cr_assert(strstr(text.text, "65000 parts") != NULL, "%s", text.text);
}

Test(value, some_zero_is_not_none) {
  static const TypeId OPTIONALS[] = {OPT_INT, OPT_TEXT, OPT_DEC, OPT_LIST, OPT_POINT, OPT_REF, OPT_UUID};
  for (size_t i = 0; i < countof(OPTIONALS); i++) {
    TypeId type = OPTIONALS[i], inner = TABLE.types[type].of;
    Value none = value_none(&TABLE, type), zero = {.text = {0}};
    Value some = value_some(&TABLE, type, zero);
    cr_assert_not(value_is_some(&TABLE, type, none));
    cr_assert(value_is_some(&TABLE, type, some), "row %zu", i);
    cr_assert_lt(value_compare(&TABLE, type, none, some), 0, "row %zu", i);
    cr_assert(value_equal(&TABLE, inner, value_open(&TABLE, type, some), zero), "row %zu", i);
    cr_assert(value_equal(&TABLE, inner, value_open(&TABLE, type, none), value_zero(&TABLE, inner)), "row %zu", i);
  }
  Value point = value_some(&TABLE, OPT_POINT, (Value){.record = NULL});
  cr_assert_eq(point.record[0].i, 0);
  Value negative = value_some(&TABLE, OPT_DEC, (Value){.dec = -7});
  cr_assert(value_open(&TABLE, OPT_DEC, negative).dec == -7);
}

Test(value, order_is_by_bytes_and_as_declared) {
  static const struct { Str a, b; int order; } TEXTS[] = {
    {{"", 0}, {"a", 1}, -1}, {{"a", 1}, {"ab", 2}, -1}, {{"Z", 1}, {"a", 1}, -1}, {{"a\0b", 3}, {"a", 1}, 1},
    {{"j\xc3\xbcrgen", 7}, {"ju\xcc\x88rgen", 8}, 1},  // composed and decomposed are two texts: no NFC is applied
    {{"\xf0\x9f\x94\xa5", 4}, {"\xef\xbf\xbd", 3}, 1}, // by code point, unlike UTF-16
  };
  for (size_t i = 0; i < countof(TEXTS); i++) {
    Value a = {.text = TEXTS[i].a}, b = {.text = TEXTS[i].b};
    cr_assert_eq(value_compare(&TABLE, TEXT, a, b), TEXTS[i].order, "row %zu", i);
    cr_assert_eq(value_compare(&TABLE, TEXT, b, a), -TEXTS[i].order, "row %zu", i);
    cr_assert_not(value_equal(&TABLE, TEXT, a, b));
  }
  cr_assert_lt(value_compare(&TABLE, INT, (Value){.i = INT64_MIN}, (Value){.i = INT64_MAX}), 0);
  cr_assert_eq(value_compare(&TABLE, FLOAT, (Value){.f = -0.0}, (Value){.f = 0.0}), 0);
  cr_assert_lt(value_compare(&TABLE, DEC, (Value){.dec = (__int128)INT64_MIN * 4}, (Value){.dec = INT64_MIN}), 0);
}

static Value ints(Arena *arena, TypeId type, uint32_t count, const int64_t *numbers) {
  List *list = list_new(arena, count);
  for (uint32_t i = 0; i < count; i++) list->items[i].i = numbers[i];
  if (type == SET_INT) cr_assert(list_sort_unique(&TABLE, type, list, arena, NULL));
  return (Value){.list = list};
}

Test(value, sets_are_sorted_and_found_in) {
  Random random = {5};
  Arena arena;
  arena_init(&arena, 0);
  for (int round = 0; round < 200; round++) {
    int64_t numbers[40];
    uint32_t count = (uint32_t)random_below(&random, countof(numbers));
    for (uint32_t i = 0; i < count; i++) numbers[i] = (int64_t)random_below(&random, 50);
    Value set = ints(&arena, SET_INT, count, numbers);
    for (uint32_t i = 1; i < set.list->count; i++) cr_assert_lt(set.list->items[i - 1].i, set.list->items[i].i);
    for (int64_t n = 0; n < 50; n++) {
      bool expected = false;
      for (uint32_t i = 0; i < count; i++) expected |= numbers[i] == n;
      int64_t at = list_find(&TABLE, SET_INT, set.list, (Value){.i = n});
      cr_assert_eq(at >= 0, expected);
      if (at >= 0) cr_assert_eq(set.list->items[at].i, n);
    }
  }
  arena_free(&arena);
}

Test(value, a_maps_last_entry_of_a_key_stays) {
  Arena arena;
  arena_init(&arena, 0);
  List *map = list_new(&arena, 8);
  static const char *const KEYS_IN[] = {"b", "a", "b", "c"};
  for (uint32_t i = 0; i < 4; i++) map->items[2 * i].text = str_from(KEYS_IN[i]), map->items[2 * i + 1].i = i;
  uint32_t doubles;
  cr_assert(list_sort_unique(&TABLE, MAP, map, &arena, &doubles));
  cr_assert_eq(doubles, 1);
  cr_assert_eq(map->count, 6);
  int64_t at = list_find(&TABLE, MAP, map, (Value){.text = STR("b")});
  cr_assert_eq(at, 2);
  cr_assert_eq(map->items[at + 1].i, 2);
  cr_assert_eq(list_find(&TABLE, MAP, NULL, (Value){.text = STR("b")}), -1);
  arena_free(&arena);
}

Test(value, size_counts_what_lies_outside) {
  Arena arena;
  arena_init(&arena, 0);
  Value list = ints(&arena, LIST_INT, 3, (const int64_t[]){1, 2, 3});
  Value record = {.record = (const Value[]){{.i = 1}, {.text = STR("four")}, {.text = {0}}}};
  static const struct { TypeId type; int which; uint64_t size; } ROWS[] = {{INT, 0, 0}, {LIST_INT, 1, 64}, {OPT_LIST, 1, 64}, {POINT, 2, 52}, {TEXT, 3, 3}, {OPT_TEXT, 4, 0}};
  Value values[] = {{.i = 9}, list, record, {.text = STR("abc")}, {.text = {0}}};
  for (size_t i = 0; i < countof(ROWS); i++) cr_assert_eq(value_size(&TABLE, ROWS[i].type, values[ROWS[i].which]), ROWS[i].size, "row %zu", i);
  arena_free(&arena);
}
