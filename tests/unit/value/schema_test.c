#include <criterion/criterion.h>

#include "runtime/value/schema.h"
#include "tests/unit/value/random_values.h"

enum { INT, TEXT, BOOL, REF_TEAM, OPT_TEAM, LIST, KEY_PAIR, TYPES };
static const Type TYPE_ROWS[TYPES] = {
  [INT] = {TYPE_INT}, [TEXT] = {TYPE_TEXT}, [BOOL] = {TYPE_BOOL}, [REF_TEAM] = {TYPE_REF, .of = 1}, [OPT_TEAM] = {TYPE_OPTIONAL, .of = REF_TEAM},
  [LIST] = {TYPE_LIST, .of = TEXT}, [KEY_PAIR] = {TYPE_RECORD, .of = 0}};

#define NAME(text) {text, sizeof(text) - 1}

// A schema whose every part a row of a test can spoil.
typedef struct Draft {
  FieldDef key_fields[2];
  RecordDef record;
  CaseDef cases[2];
  EnumDef level;
  ColumnDef state_columns[3], team_columns[2], player_columns[5];
  IndexColumn index_columns[2];
  IndexDef index;
  uint16_t zero[1], player_key[2], carried[1];
  KeptDef kept[2], index_kept[2];
  TableDef tables[3];
  TypeId keys[3];
  Str names[3];
  Schema schema;
} Draft;

static void draft_make(Draft *d) {
  *d = (Draft){
    .key_fields = {{NAME("team"), REF_TEAM, false}, {NAME("name"), TEXT, false}}, .cases = {{.name = NAME("low")}, {.name = NAME("high")}},
    .state_columns = {{NAME("key"), INT, 0, true}, {NAME("total"), INT, 0, false}, {NAME("Team.id"), INT, 0, true}},
    .team_columns = {{NAME("id"), INT, 0, false}, {NAME("title"), TEXT, 0, false}},
    .player_columns = {{NAME("name"), TEXT, 0, false}, {NAME("team"), REF_TEAM, ON_DELETE_CASCADE, false}, {NAME("tags"), LIST, 0, false},
                       {NAME("open"), BOOL, 0, true}, {NAME("former"), OPT_TEAM, ON_DELETE_CLEAR, false}},
    .index_columns = {{1, true}, {0, false}}, .player_key = {1, 0}, .carried = {2}, .keys = {INT, INT, KEY_PAIR}, .names = {NAME("state"), NAME("Team"), NAME("Player")}};
  d->record = (RecordDef){STR(""), 2, d->key_fields};
  d->level = (EnumDef){STR("Level"), 2, true, d->cases};
  d->kept[0] = (KeptDef){4, KEPT_COUNT};
  d->kept[1] = (KeptDef){1, KEPT_SUM | KEPT_MAX};
  d->index_kept[0] = (KeptDef){1, KEPT_MIN};
  d->index = (IndexDef){2, d->index_columns, true, 3, 1, d->carried, 1, d->index_kept};
  d->tables[0] = (TableDef){.name = d->names[0], .column_count = 3, .columns = d->state_columns, .key_count = 1, .key = d->zero};
  d->tables[1] = (TableDef){.name = d->names[1], .column_count = 2, .columns = d->team_columns, .key_count = 1, .key = d->zero, .auto_key = true, .auto_column = 2, .rows_max = 1000};
  d->tables[2] = (TableDef){.name = d->names[2], .column_count = 5, .columns = d->player_columns, .key_count = 2, .key = d->player_key, .index_count = 1, .indexes = &d->index, .kept_count = 2, .kept = d->kept};
  d->schema = (Schema){{.types = TYPE_ROWS, .count = TYPES, .records = &d->record, .record_count = 1, .enums = &d->level, .enum_count = 1,
                        .table_keys = d->keys, .table_names = d->names, .table_count = 3}, 3, d->tables};
}

Test(schema, comes_back_from_its_bytes) {
  Draft draft;
  draft_make(&draft);
  ErrText text = {""};
  cr_assert_eq(schema_check(&draft.schema, &text), ERR_NONE, "%s", text.text);
  Buf first, second;
  buf_init(&first, 0);
  buf_init(&second, 0);
  schema_encode(&draft.schema, &first);
  Arena arena;
  arena_init(&arena, 0);
  Schema back;
  cr_assert_eq(schema_decode(buf_str(&first), &arena, &back, &text), ERR_NONE, "%s", text.text);
  schema_encode(&back, &second);
  cr_assert(str_equal(buf_str(&first), buf_str(&second)));
  cr_assert_eq(schema_find_table(&back, STR("Player")), 2);
  cr_assert_eq(schema_find_table(&back, STR("player")), -1);
  cr_assert_eq(schema_find_column(&back.tables[2], STR("open")), 3);
  cr_assert_eq(back.tables[1].rows_max, 1000);
  cr_assert(back.tables[2].indexes[0].columns[0].descending);
  cr_assert_eq(schema_kept(&back.tables[2], SCHEMA_NO_INDEX, 1), KEPT_SUM | KEPT_MAX);
  cr_assert_eq(schema_kept(&back.tables[2], 0, 1), KEPT_MIN);
  cr_assert_eq(schema_kept(&back.tables[2], 0, 4), 0);
  uint8_t a[32], b[32];
  schema_hash(buf_str(&first), a);
  second.ptr[second.len - 1] ^= 1;
  schema_hash(buf_str(&second), b);
  cr_assert_neq(memcmp(a, b, 32), 0);
  buf_free(&first);
  buf_free(&second);
  arena_free(&arena);
}

static void spoil_state_key(Draft *d) { d->state_columns[0].type = TEXT; d->keys[0] = TEXT; }
static void spoil_no_tables(Draft *d) { d->schema.table_count = 0; d->schema.types.table_count = 0; }
static void spoil_column_type(Draft *d) { d->team_columns[1].type = TYPES; }
static void spoil_column_twice(Draft *d) { d->team_columns[1].name = STR("id"); }
static void spoil_column_name(Draft *d) { d->team_columns[1].name = STR(""); }
static void spoil_name_bytes(Draft *d) { d->team_columns[1].name = STR("\xff"); }
static void spoil_table_twice(Draft *d) { d->tables[2].name = d->names[2] = STR("Team"); }
static void spoil_case_twice(Draft *d) { d->cases[1].name = STR("low"); }
static void spoil_key_order(Draft *d) { d->player_key[0] = 2; }
static void spoil_key_type(Draft *d) { d->player_key[0] = 0, d->player_key[1] = 1; }
static void spoil_key_twice(Draft *d) { d->player_key[0] = 0; }
static void spoil_key_column(Draft *d) { d->player_key[1] = 5; }
static void spoil_key_none(Draft *d) { d->tables[2].key_count = 0; }
static void spoil_counter(Draft *d) { d->tables[1].auto_column = 1; }
static void spoil_counter_place(Draft *d) { d->tables[1].auto_column = 3; }
static void spoil_index_list(Draft *d) { d->index_columns[1].column = 2; }
static void spoil_index_column(Draft *d) { d->index_columns[1].column = 9; }
static void spoil_index_empty(Draft *d) { d->index.column_count = 0; }
static void spoil_condition(Draft *d) { d->index.condition = 0; }
static void spoil_condition_place(Draft *d) { d->index.condition = 5; }
static void spoil_carried(Draft *d) { d->carried[0] = 5; }
static void spoil_kept_column(Draft *d) { d->kept[0].column = 5; }
static void spoil_kept_kinds(Draft *d) { d->kept[0].kinds = KEPT_SUM | KEPT_COUNT | KEPT_MIN | KEPT_MAX | 16; }
static void spoil_kept_nothing(Draft *d) { d->kept[0].kinds = 0; }
static void spoil_kept_count(Draft *d) { d->kept[1].kinds = KEPT_COUNT; }
static void spoil_kept_text(Draft *d) { d->kept[0] = (KeptDef){0, KEPT_MIN}; }
static void spoil_kept_twice(Draft *d) { d->kept[0].column = 1, d->kept[0].kinds = KEPT_MIN; }
static void spoil_kept_many(Draft *d) { d->tables[2].kept_count = SCHEMA_KEPT_MAX + 1; }
static void spoil_kept_not_carried(Draft *d) { d->index_kept[0] = (KeptDef){4, KEPT_COUNT}; }
static void spoil_cascade(Draft *d) { d->player_columns[0].on_delete = ON_DELETE_CASCADE; }
static void spoil_clear(Draft *d) { d->player_columns[1].on_delete = ON_DELETE_CLEAR; }

Test(schema, the_check_refuses_each_unsound_part) {
  static const struct { void (*spoil)(Draft *); const char *words; } ROWS[] = {
    {spoil_state_key, "state table"}, {spoil_no_tables, "state table is missing"}, {spoil_column_type, "no such type"}, {spoil_column_twice, "stands twice in Team"},
    {spoil_column_name, "has no name"}, {spoil_name_bytes, "not UTF-8"}, {spoil_table_twice, "stands twice"}, {spoil_case_twice, "stands twice in Level"},
    {spoil_key_order, "has no order"}, {spoil_key_type, "key type"}, {spoil_key_twice, "key column twice"}, {spoil_key_column, "no such column"},
    {spoil_key_none, "0 key columns"}, {spoil_counter, "not a hidden int"}, {spoil_counter_place, "counter of table Team is missing"}, {spoil_index_list, "tags has no order"},
    {spoil_index_column, "no such column"}, {spoil_index_empty, "0 columns"}, {spoil_condition, "is no bool"}, {spoil_condition_place, "condition"},
    {spoil_carried, "carries no such column"}, {spoil_kept_column, "keeps no such column: 5"}, {spoil_kept_kinds, "cannot be kept so"}, {spoil_kept_nothing, "cannot be kept so: 0"},
    {spoil_kept_count, "cannot be kept so: 1"}, {spoil_kept_text, "cannot be kept so"}, {spoil_kept_twice, "kept twice"}, {spoil_kept_many, "33 columns of table Player are kept summed up; 32 are possible"},
    {spoil_kept_not_carried, "does not carry: former"}, {spoil_cascade, "no reference"}, {spoil_clear, "not optional"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Draft draft;
    draft_make(&draft);
    ROWS[i].spoil(&draft);
    ErrText text = {""};
    cr_assert_eq(schema_check(&draft.schema, &text), ERR_FORMAT, "row %zu", i);
    cr_assert(strstr(text.text, ROWS[i].words) != NULL, "row %zu: %s", i, text.text);
  }
}

Test(schema, decoding_changed_bytes_refuses_or_gives_a_sound_schema) {
  Draft draft;
  draft_make(&draft);
  Buf whole;
  buf_init(&whole, 0);
  schema_encode(&draft.schema, &whole);
  Random random = {4};
  uint64_t sound = 0;
  for (int i = 0; i < 20000; i++) {
    Arena arena;
    arena_init(&arena, 1 << 20);
    char bytes[512];
    cr_assert_lt(whole.len, sizeof bytes);
    memcpy(bytes, whole.ptr, whole.len);
    size_t len = i < (int)whole.len ? (size_t)i : whole.len;  // first each cut, then changes
    if (len == whole.len) bytes[random_below(&random, len)] = (char)random_next(&random);
    Schema schema;
    ErrText text;
    Err err = schema_decode((Str){bytes, len}, &arena, &schema, &text);
    if (len < whole.len) cr_assert_eq(err, ERR_FORMAT, "cut at %zu", len);
    if (err == ERR_NONE) {
      sound++;
      cr_assert_eq(schema_check(&schema, &text), ERR_NONE);
    }
    arena_free(&arena);
  }
  cr_assert_gt(sound, 100);
  buf_free(&whole);
}
