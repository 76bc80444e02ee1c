#include "tests/unit/table/fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

// ---- schema -----------------------------------------------------------------------------------
enum { T_INT, T_TEXT, T_BOOL, T_DECIMAL, T_FLOAT, T_UUID, T_OPT_DECIMAL, T_OPT_TEXT, T_LIST, T_RECORD, T_COLOUR, T_REF_PAIR, T_OPT_REF, T_PAIR_KEY, T_TEXT_KEY, TYPES };

static const FieldDef POINT[] = {{STR("x"), T_INT, false}, {STR("label"), T_TEXT, false}};
static const FieldDef PAIR_KEY[] = {{STR("x"), T_INT, false}, {STR("y"), T_TEXT, false}};
static const RecordDef RECORDS[] = {{STR("Point"), 2, POINT}, {STR(""), 2, PAIR_KEY}};
static const CaseDef COLOURS[] = {{STR("red"), 0, NULL}, {STR("green"), 0, NULL}, {STR("blue"), 0, NULL}};
static const EnumDef ENUMS[] = {{STR("Colour"), 3, true, COLOURS}};
static const Type TYPE_LIST_ALL[TYPES] = {
  [T_INT] = {.kind = TYPE_INT}, [T_TEXT] = {.kind = TYPE_TEXT}, [T_BOOL] = {.kind = TYPE_BOOL}, [T_DECIMAL] = {.kind = TYPE_DECIMAL, .scale = 2},
  [T_FLOAT] = {.kind = TYPE_FLOAT}, [T_UUID] = {.kind = TYPE_UUID}, [T_OPT_DECIMAL] = {.kind = TYPE_OPTIONAL, .of = T_DECIMAL},
  [T_OPT_TEXT] = {.kind = TYPE_OPTIONAL, .of = T_TEXT}, [T_LIST] = {.kind = TYPE_LIST, .of = T_INT}, [T_RECORD] = {.kind = TYPE_RECORD, .of = 0},
  [T_COLOUR] = {.kind = TYPE_ENUM, .of = 0}, [T_REF_PAIR] = {.kind = TYPE_REF, .of = TABLE_PAIR}, [T_OPT_REF] = {.kind = TYPE_OPTIONAL, .of = T_REF_PAIR},
  [T_PAIR_KEY] = {.kind = TYPE_RECORD, .of = 1}, [T_TEXT_KEY] = {.kind = TYPE_TEXT},
};
static const TypeId TABLE_KEYS[TABLE_COUNT] = {T_INT, T_INT, T_TEXT, T_PAIR_KEY};
static const Str TABLE_NAMES[TABLE_COUNT] = {STR("state"), STR("Int"), STR("Text"), STR("Pair")};

static const ColumnDef STATE_COLUMNS[] = {{.name = STR("key"), .type = T_INT}, {.name = STR("total"), .type = T_INT}, {.name = STR("title"), .type = T_TEXT}};
static const ColumnDef INT_COLUMNS[] = {{.name = STR("id"), .type = T_INT}, {.name = STR("a"), .type = T_INT}, {.name = STR("b"), .type = T_TEXT},
  {.name = STR("c"), .type = T_OPT_DECIMAL}, {.name = STR("d"), .type = T_LIST}, {.name = STR("e"), .type = T_BOOL}, {.name = STR("f"), .type = T_OPT_REF}};
static const ColumnDef TEXT_COLUMNS[] = {{.name = STR("note"), .type = T_OPT_TEXT}, {.name = STR("name"), .type = T_TEXT}, {.name = STR("at"), .type = T_RECORD},
  {.name = STR("colour"), .type = T_COLOUR}};
static const ColumnDef PAIR_COLUMNS[] = {{.name = STR("y"), .type = T_TEXT}, {.name = STR("x"), .type = T_INT}, {.name = STR("amount"), .type = T_DECIMAL},
  {.name = STR("weight"), .type = T_FLOAT}, {.name = STR("id"), .type = T_UUID}};

static const IndexColumn BY_A_B[] = {{1, true}, {2, false}}, BY_B[] = {{2, false}}, BY_C[] = {{3, true}}, BY_F[] = {{6, false}}, BY_COLOUR[] = {{3, false}, {2, true}}, BY_AMOUNT[] = {{2, true}},
  BY_UUID[] = {{4, false}};
static const uint16_t CARRY_E[] = {5}, CARRY_B[] = {2, 1};
static const KeptDef KEEP_INT[] = {{0, KEPT_MIN | KEPT_MAX}, {1, KEPT_SUM | KEPT_MIN | KEPT_MAX}, {3, KEPT_ALL}, {5, KEPT_SUM}},
  KEEP_A_B[] = {{5, KEPT_SUM}, {0, KEPT_MAX}, {1, KEPT_SUM}}, KEEP_C[] = {{1, KEPT_MIN}, {3, KEPT_SUM}}, KEEP_F[] = {{6, KEPT_COUNT}},
  KEEP_TEXT[] = {{0, KEPT_COUNT}, {3, KEPT_MIN | KEPT_MAX}}, KEEP_COLOUR[] = {{3, KEPT_MAX}}, KEEP_PAIR[] = {{2, KEPT_SUM | KEPT_MIN | KEPT_MAX}, {1, KEPT_SUM}};
static const IndexDef INT_INDEXES[] = {
  {.column_count = 2, .columns = BY_A_B, .condition = 0xFFFF, .carried_count = 1, .carried = CARRY_E, .kept_count = 3, .kept = KEEP_A_B},
  {.column_count = 1, .columns = BY_B, .unique = true, .condition = 5},
  {.column_count = 1, .columns = BY_C, .unique = true, .condition = 0xFFFF, .carried_count = 2, .carried = CARRY_B, .kept_count = 2, .kept = KEEP_C},
  {.column_count = 1, .columns = BY_F, .condition = 0xFFFF, .kept_count = 1, .kept = KEEP_F},
};
static const IndexDef TEXT_INDEXES[] = {{.column_count = 2, .columns = BY_COLOUR, .condition = 0xFFFF, .kept_count = 1, .kept = KEEP_COLOUR}};
static const IndexDef PAIR_INDEXES[] = {{.column_count = 1, .columns = BY_AMOUNT, .condition = 0xFFFF}, {.column_count = 1, .columns = BY_UUID, .condition = 0xFFFF}};
static const uint16_t KEY_0[] = {0}, KEY_1[] = {1}, KEY_PAIR[] = {1, 0};

static const TableDef TABLES[TABLE_COUNT] = {
  {.name = STR("state"), .column_count = 3, .columns = STATE_COLUMNS, .key_count = 1, .key = KEY_0},
  {.name = STR("Int"), .column_count = 7, .columns = INT_COLUMNS, .key_count = 1, .key = KEY_0, .index_count = 4, .indexes = INT_INDEXES, .kept_count = 4, .kept = KEEP_INT},
  {.name = STR("Text"), .column_count = 4, .columns = TEXT_COLUMNS, .key_count = 1, .key = KEY_1, .index_count = 1, .indexes = TEXT_INDEXES, .kept_count = 2, .kept = KEEP_TEXT},
  {.name = STR("Pair"), .column_count = 5, .columns = PAIR_COLUMNS, .key_count = 2, .key = KEY_PAIR, .index_count = 2, .indexes = PAIR_INDEXES, .kept_count = 2, .kept = KEEP_PAIR},
};
static const Schema SCHEMA = {
  .types = {.types = TYPE_LIST_ALL, .count = TYPES, .records = RECORDS, .record_count = 2, .enums = ENUMS, .enum_count = 1, .table_keys = TABLE_KEYS, .table_names = TABLE_NAMES, .table_count = TABLE_COUNT},
  .table_count = TABLE_COUNT, .tables = TABLES,
};
const Schema *fixture_schema(void) { return &SCHEMA; }

// ---- random values ----------------------------------------------------------------------------
uint64_t random_next(Random *random) {
  uint64_t z = (random->state += 0x9E3779B97F4A7C15ull);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

uint64_t random_below(Random *random, uint64_t bound) { return random_next(random) % bound; }

// Lengths around every border: in place, in the heap, overflowing.
static Str random_text(Random *random, uint64_t choices, size_t len_max, Arena *arena) {
  static const size_t LENS[] = {0, 1, 4, 11, 12, 13, 20, 64, 65, 100, 300, 512, 513, 700, 3000};
  size_t len = LENS[random_below(random, countof(LENS))];
  if (len > len_max) len = random_below(random, len_max + 1);
  char *text = arena_alloc(arena, len + 1);
  uint64_t seed = random_below(random, choices);
  for (size_t i = 0; i < len; i++) text[i] = (char)('a' + (seed * 7 + i / 5 * (seed + 1)) % 26);
  return (Str){text, len};
}

static Value text_of(Random *random, uint64_t choices, size_t len_max, Arena *arena) { return (Value){.text = random_text(random, choices, len_max, arena)}; }

static Value random_list(Random *random, Arena *arena) {
  uint32_t count = (uint32_t)(random_below(random, 8) == 0 ? random_below(random, 300) : random_below(random, 6));
  List *list = arena_alloc(arena, sizeof *list + count * sizeof(Value));
  *list = (List){.count = count, .cap = count};
  for (uint32_t i = 0; i < count; i++) list->items[i] = (Value){.i = (int64_t)random_next(random) >> random_below(random, 64)};
  return (Value){.list = list};
}

static Value pair(Value x, Value y, Arena *arena) {
  Value *parts = ARENA_ARRAY(arena, Value, 2);
  parts[0] = x;
  parts[1] = y;
  return (Value){.record = parts};
}

static Value some_if(Random *random, TypeId type, Value inside) {
  return random_below(random, 3) ? value_some(&SCHEMA.types, type, inside) : value_none(&SCHEMA.types, type);
}

void random_row(Random *random, uint16_t table, uint64_t keys, Arena *arena, Value *out) {
  int64_t small = (int64_t)random_below(random, keys) - (int64_t)keys / 2;
  switch (table) {
    case TABLE_STATE:
      out[0] = (Value){.i = 0};
      out[1] = (Value){.i = small};
      out[2] = text_of(random, 9, 3000, arena);
      break;
    case TABLE_INT:
      out[0] = (Value){.i = small};
      out[1] = (Value){.i = (int64_t)random_below(random, 10) - 5};
      out[2] = text_of(random, 20, 300, arena);
      out[3] = some_if(random, T_OPT_DECIMAL, (Value){.dec = (int64_t)random_below(random, 50) - 25});
      out[4] = random_list(random, arena);
      out[5] = (Value){.i = (int64_t)random_below(random, 2)};
      out[6] = some_if(random, T_OPT_REF, pair((Value){.i = (int64_t)random_below(random, 4)}, text_of(random, 3, 20, arena), arena));
      break;
    case TABLE_TEXT:
      out[0] = some_if(random, T_OPT_TEXT, text_of(random, 5, 3000, arena));
      out[1] = text_of(random, keys / 4 + 1, 700, arena);
      out[2] = pair((Value){.i = (int64_t)random_below(random, 5)}, text_of(random, 4, 100, arena), arena);
      out[3] = (Value){.i = (int64_t)random_below(random, 3)};
      break;
    case TABLE_PAIR: {
      uint8_t *uuid = arena_alloc(arena, 16);
      memset(uuid, (int)random_below(random, 5), 16);
      out[0] = text_of(random, 4, 100, arena);
      out[1] = (Value){.i = (int64_t)random_below(random, keys / 8 + 1)};
      out[2] = (Value){.dec = (int64_t)random_below(random, 20) - 10};
      out[3] = (Value){.f = (double)random_below(random, 100) / 7 - 5};
      out[4] = (Value){.text = {(const char *)uuid, 16}};
      break;
    }
    default: cr_assert(false);
  }
}

Value row_key(uint16_t table, const Value *columns, Arena *arena) {
  const TableDef *def = &TABLES[table];
  return def->key_count == 1 ? columns[def->key[0]] : pair(columns[def->key[0]], columns[def->key[1]], arena);
}

// ---- model ------------------------------------------------------------------------------------
static ModelRow *row_new(uint16_t table, const Value *columns) {
  ModelRow *row = calloc(1, sizeof *row);
  arena_init(&row->arena, 0);
  row->refs = 1;
  for (unsigned c = 0; c < TABLES[table].column_count; c++)
    cr_assert(value_copy(&SCHEMA.types, TABLES[table].columns[c].type, columns[c], &row->arena, &row->columns[c]));
  return row;
}

static void row_release(ModelRow *row) {
  if (--row->refs) return;
  arena_free(&row->arena);
  free(row);
}

static void put_row(ModelTable *table, size_t at, ModelRow *row) {
  table->rows = realloc(table->rows, (table->count + 1) * sizeof(ModelRow *));
  memmove(table->rows + at + 1, table->rows + at, (table->count - at) * sizeof(ModelRow *));
  table->rows[at] = row;
  table->count++;
}

void model_init(Model *model) {
  *model = (Model){0};
  Value zeros[3] = {{.i = 0}, {.i = 0}, {.text = STR("")}};
  put_row(&model->tables[TABLE_STATE], 0, row_new(TABLE_STATE, zeros));
}

void model_copy(const Model *from, Model *to) {
  *to = (Model){0};
  for (unsigned t = 0; t < TABLE_COUNT; t++)
    for (size_t i = 0; i < from->tables[t].count; i++) {
      from->tables[t].rows[i]->refs++;
      put_row(&to->tables[t], i, from->tables[t].rows[i]);
    }
}

void model_free(Model *model) {
  for (unsigned t = 0; t < TABLE_COUNT; t++) {
    for (size_t i = 0; i < model->tables[t].count; i++) row_release(model->tables[t].rows[i]);
    free(model->tables[t].rows);
  }
  *model = (Model){0};
}

static int key_order(uint16_t table, const ModelRow *row, Value key) {
  const TableDef *def = &TABLES[table];
  for (unsigned k = 0; k < def->key_count; k++) {
    Value part = def->key_count == 1 ? key : key.record[k];
    int order = value_compare(&SCHEMA.types, def->columns[def->key[k]].type, row->columns[def->key[k]], part);
    if (order) return order;
  }
  return 0;
}

bool model_find(const Model *model, uint16_t table, Value key, size_t *out_at) {
  size_t low = 0, high = model->tables[table].count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (key_order(table, model->tables[table].rows[middle], key) < 0) low = middle + 1;
    else high = middle;
  }
  *out_at = low;
  return low < model->tables[table].count && key_order(table, model->tables[table].rows[low], key) == 0;
}

bool model_insert(Model *model, uint16_t table, const Value *columns) {
  Arena arena;
  arena_init(&arena, 0);
  size_t at;
  bool found = model_find(model, table, row_key(table, columns, &arena), &at);
  if (!found) put_row(&model->tables[table], at, row_new(table, columns));
  arena_free(&arena);
  return !found;
}

bool model_delete(Model *model, uint16_t table, Value key) {
  size_t at;
  ModelTable *rows = &model->tables[table];
  if (!model_find(model, table, key, &at)) return false;
  row_release(rows->rows[at]);
  memmove(rows->rows + at, rows->rows + at + 1, (rows->count - at - 1) * sizeof(ModelRow *));
  rows->count--;
  return true;
}

bool model_update(Model *model, uint16_t table, Value key, uint16_t count, const uint16_t *columns, const Value *values) {
  size_t at;
  if (!model_find(model, table, key, &at)) return false;
  ModelRow *old = model->tables[table].rows[at];
  Value all[COLUMNS_MAX];
  memcpy(all, old->columns, sizeof all);
  for (unsigned i = 0; i < count; i++) all[columns[i]] = values[i];
  model->tables[table].rows[at] = row_new(table, all);
  row_release(old);
  return true;
}

// ---- comparing --------------------------------------------------------------------------------
static void assert_row(uint16_t table, const ModelRow *row, const Reader *reader, Value key) {
  Arena arena;
  arena_init(&arena, 0);
  Row found;
  cr_assert(row_find(reader, table, key, &found), "a row of table %u is missing", table);
  for (uint16_t c = 0; c < TABLES[table].column_count; c++) {
    Value value;
    cr_assert(row_column(&found, c, &arena, &value) == ERR_NONE);
    cr_assert(value_equal(&SCHEMA.types, TABLES[table].columns[c].type, value, row->columns[c]), "table %u column %u differs", table, c);
  }
  arena_free(&arena);
}

void model_assert_equal(const Model *model, const Reader *reader) {
  Arena arena;
  arena_init(&arena, 0);
  for (uint16_t t = 0; t < TABLE_COUNT; t++) {
    const ModelTable *rows = &model->tables[t];
    cr_assert_eq(reader_row_count(reader, t), rows->count);
    Range range = {.table = t, .index = SCHEMA_NO_INDEX};
    Cursor *cursor = NULL;
    cr_assert(cursor_open(reader, &range, &arena, &cursor) == ERR_NONE);
    for (size_t i = 0; i < rows->count; i++) {
      Value key;
      cr_assert(cursor_next(cursor));
      cr_assert(cursor_key(cursor, &arena, &key) == ERR_NONE);
      cr_assert(key_order(t, rows->rows[i], key) == 0, "table %u: row %zu is another one", t, i);
      assert_row(t, rows->rows[i], reader, key);
    }
    cr_assert(!cursor_next(cursor));
  }
  arena_free(&arena);
}
