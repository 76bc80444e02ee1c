// Ranges of every kind, both ways, standing still and while rows change under the cursor, against a filtered and sorted copy.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "runtime/table/batch.h"
#include "tests/unit/table/fixture.h"

// ---- what a range should give -----------------------------------------------------------------
static const TypeTable *types(void) { return &fixture_schema()->types; }

static unsigned order_columns(uint16_t table, uint16_t index, uint16_t *columns, bool *descending) {
  const TableDef *def = &fixture_schema()->tables[table];
  unsigned count = 0;
  if (index != SCHEMA_NO_INDEX)
    for (; count < def->indexes[index].column_count; count++) {
      columns[count] = def->indexes[index].columns[count].column;
      descending[count] = def->indexes[index].columns[count].descending;
    }
  for (unsigned k = 0; k < def->key_count; k++, count++) {
    columns[count] = def->key[k];
    descending[count] = false;
  }
  return count;
}

typedef struct Order { uint16_t table; unsigned count; uint16_t columns[8]; bool descending[8]; } Order;

static int compare_column(uint16_t table, uint16_t column, Value a, Value b) { return value_compare(types(), fixture_schema()->tables[table].columns[column].type, a, b); }

static int by_order(const void *left, const void *right, void *context) {
  const Order *order = context;
  const ModelRow *a = *(ModelRow *const *)left, *b = *(ModelRow *const *)right;
  for (unsigned i = 0; i < order->count; i++) {
    int n = compare_column(order->table, order->columns[i], a->columns[order->columns[i]], b->columns[order->columns[i]]);
    if (n) return order->descending[i] ? -n : n;
  }
  return 0;
}

static bool in_range(const Range *range, const Order *order, const ModelRow *row) {
  for (unsigned i = 0; i < range->equal_count; i++)
    if (compare_column(range->table, order->columns[i], row->columns[order->columns[i]], range->equal[i]) != 0) return false;
  uint16_t next = order->columns[range->equal_count];
  int low = range->has_low ? compare_column(range->table, next, row->columns[next], range->low) : 1;
  int high = range->has_high ? compare_column(range->table, next, row->columns[next], range->high) : -1;
  return (low > 0 || (low == 0 && range->low_inclusive)) && (high < 0 || (high == 0 && range->high_inclusive));
}

typedef struct Expected { ModelRow **rows; size_t count; Order order; } Expected;

static Expected expect(const Model *model, const Range *range) {
  const ModelTable *table = &model->tables[range->table];
  Expected expected = {.rows = malloc((table->count + 1) * sizeof(ModelRow *)), .order = {.table = range->table}};
  expected.order.count = order_columns(range->table, range->index, expected.order.columns, expected.order.descending);
  for (size_t i = 0; i < table->count; i++)
    if (in_range(range, &expected.order, table->rows[i])) expected.rows[expected.count++] = table->rows[i];
  qsort_r(expected.rows, expected.count, sizeof(ModelRow *), by_order, &expected.order);
  for (size_t i = 0; range->backward && i < expected.count / 2; i++) {
    ModelRow *swap = expected.rows[i];
    expected.rows[i] = expected.rows[expected.count - 1 - i];
    expected.rows[expected.count - 1 - i] = swap;
  }
  return expected;
}

// ---- random ranges ----------------------------------------------------------------------------
static void random_range(Random *random, Arena *arena, Range *out, Value *equal) {
  uint16_t table = (uint16_t)(1 + random_below(random, 3)), columns[8];
  const TableDef *def = &fixture_schema()->tables[table];
  bool descending[8];
  uint16_t index = (uint16_t)random_below(random, def->index_count + 1u);
  index = index == def->index_count ? SCHEMA_NO_INDEX : index;
  unsigned count = order_columns(table, index, columns, descending);
  Value a[COLUMNS_MAX], b[COLUMNS_MAX];
  random_row(random, table, 60, arena, a);
  random_row(random, table, 60, arena, b);
  *out = (Range){.table = table, .index = index, .equal_count = (uint16_t)random_below(random, count + 1), .equal = equal, .backward = random_below(random, 2)};
  for (unsigned i = 0; i < out->equal_count; i++) equal[i] = a[columns[i]];
  if (out->equal_count == count) return;
  uint16_t next = columns[out->equal_count];
  out->has_low = random_below(random, 2);
  out->has_high = random_below(random, 2);
  out->low_inclusive = random_below(random, 2);
  out->high_inclusive = random_below(random, 2);
  out->low = b[next];
  out->high = a[next];
}

static void assert_at(const Cursor *cursor, const ModelRow *row, uint16_t table, Arena *arena) {
  Value key;
  cr_assert(cursor_key(cursor, arena, &key) == ERR_NONE);
  const TableDef *def = &fixture_schema()->tables[table];
  for (unsigned k = 0; k < def->key_count; k++)
    cr_assert(compare_column(table, def->key[k], def->key_count == 1 ? key : key.record[k], row->columns[def->key[k]]) == 0, "another row of table %u", table);
}

static void fill(Db *db, Model *model, Random *random, unsigned rows) {
  Arena arena;
  arena_init(&arena, 0);
  for (unsigned i = 0; i < rows; i++) {
    Value columns[COLUMNS_MAX];
    uint16_t table = (uint16_t)(1 + i % 3);
    arena_reset(&arena);
    random_row(random, table, 60, &arena, columns);
    Err err = txn_insert(db_txn(db), table, columns);
    cr_assert_eq(err == ERR_NONE, model_insert(model, table, columns));
  }
  arena_free(&arena);
}

// ---- tests ------------------------------------------------------------------------------------
static void check_still(const Reader *reader, const Model *model, Random *random, Arena *arena) {
  Range range;
  Value equal[8];
  random_range(random, arena, &range, equal);
  Expected expected = expect(model, &range);
  cr_assert_eq(range_count(reader, &range), expected.count);
  Cursor *cursor = NULL;
  cr_assert(cursor_open(reader, &range, arena, &cursor) == ERR_NONE);
  const TableDef *def = &fixture_schema()->tables[range.table];
  for (size_t i = 0; i < expected.count; i++) {
    if (random_below(random, 4) == 0) {
      uint64_t skip = random_below(random, 5);
      cr_assert(cursor_skip(cursor, skip) == ERR_NONE);
      i += skip;
      if (i >= expected.count) break;
    }
    cr_assert(cursor_next(cursor));
    assert_at(cursor, expected.rows[i], range.table, arena);
    for (uint16_t c = 0; c < def->column_count; c++) {
      Value value;
      cr_assert(cursor_column(cursor, c, arena, &value) == ERR_NONE);
      cr_assert(value_equal(types(), def->columns[c].type, value, expected.rows[i]->columns[c]));
    }
  }
  cr_assert(!cursor_next(cursor));
  free(expected.rows);
}

Test(range, every_kind_agrees_with_a_filtered_copy) {
  for (unsigned size = 0; size < 4; size++) {
    Db *db;
    Model model;
    Random random = {size + 1};
    cr_assert(db_open(fixture_schema(), 0, &db) == ERR_NONE);
    model_init(&model);
    fill(db, &model, &random, (unsigned[]){0, 5, 60, 600}[size]);
    txn_seal(db_txn(db), 1);
    Snapshot *snapshot = db_snapshot_take(db);
    for (unsigned i = 0; i < 400; i++) {
      Arena arena;
      arena_init(&arena, 0);
      check_still(i % 2 ? snapshot_reader(snapshot) : txn_reader(db_txn(db)), &model, &random, &arena);
      arena_free(&arena);
    }
    snapshot_release(snapshot);
    model_free(&model);
    db_free(db);
  }
}

// One change to a row somewhere, also to the one the cursor stands on.
static void change_one(Db *db, Model *model, Random *random, uint16_t table, Value here, Arena *arena) {
  Value columns[COLUMNS_MAX];
  random_row(random, table, 60, arena, columns);
  if (random_below(random, 2)) {
    Err err = txn_insert(db_txn(db), table, columns);
    cr_assert_eq(err == ERR_NONE, model_insert(model, table, columns));
    return;
  }
  const ModelTable *rows = &model->tables[table];
  if (rows->count == 0) return;
  Value key = random_below(random, 3) == 0 ? here : row_key(table, rows->rows[random_below(random, rows->count)]->columns, arena);
  Err err = txn_delete(db_txn(db), table, key);
  cr_assert_eq(err == ERR_NONE, model_delete(model, table, key));
}

// The row that comes next: the first of the range, as it is now, that lies beyond the one the cursor stands on.
static ModelRow *next_expected(const Expected *expected, ModelRow *stands, bool backward) {
  for (size_t i = 0; i < expected->count; i++) {
    int order = stands ? by_order(&expected->rows[i], &stands, (void *)&expected->order) : 1;
    if (!stands || (backward ? order < 0 : order > 0)) return expected->rows[i];
  }
  return NULL;
}

static void check_moving(Db *db, Model *model, Random *random, Arena *arena) {
  Range range;
  Value equal[8], key;
  random_range(random, arena, &range, equal);
  Cursor *cursor = NULL;
  cr_assert(cursor_open(txn_reader(db_txn(db)), &range, arena, &cursor) == ERR_NONE);
  ModelRow *stands = NULL;
  for (unsigned i = 0; i < 60; i++) {
    if (stands && random_below(random, 3)) {
      cr_assert(cursor_key(cursor, arena, &key) == ERR_NONE);
      change_one(db, model, random, range.table, key, arena);
    }
    Expected expected = expect(model, &range);
    ModelRow *next = next_expected(&expected, stands, range.backward);
    bool moved = cursor_next(cursor);
    cr_assert_eq(moved, next != NULL);
    free(expected.rows);
    if (!moved) break;
    assert_at(cursor, next, range.table, arena);
    next->refs++;
    if (stands && --stands->refs == 0) {
      arena_free(&stands->arena);
      free(stands);
    }
    stands = next;
  }
  if (stands && --stands->refs == 0) {
    arena_free(&stands->arena);
    free(stands);
  }
}

Test(range, a_cursor_goes_on_while_rows_change) {
  Db *db;
  Model model;
  Random random = {77};
  cr_assert(db_open(fixture_schema(), 0, &db) == ERR_NONE);
  model_init(&model);
  fill(db, &model, &random, 300);
  for (unsigned i = 0; i < 300; i++) {
    Arena arena;
    arena_init(&arena, 0);
    check_moving(db, &model, &random, &arena);
    arena_free(&arena);
  }
  table__assert_db(db);
  model_assert_equal(&model, txn_reader(db_txn(db)));
  model_free(&model);
  db_free(db);
}

Test(range, batches_hold_the_same_rows) {
  Db *db;
  Model model;
  Random random = {5};
  cr_assert(db_open(fixture_schema(), 0, &db) == ERR_NONE);
  model_init(&model);
  fill(db, &model, &random, 900);
  for (unsigned i = 0; i < 300; i++) {
    Arena arena;
    Range range;
    Value equal[8];
    arena_init(&arena, 0);
    do random_range(&random, &arena, &range, equal);
    while (range.table != TABLE_INT);
    Expected expected = expect(&model, &range);
    Cursor *cursor = NULL;
    LeafBatch batch;
    size_t at = 0;
    cr_assert(cursor_open(txn_reader(db_txn(db)), &range, &arena, &cursor) == ERR_NONE);
    while (cursor_batch(cursor, &batch)) {
      BatchColumn id, c, b;
      bool has_c = batch_column(&batch, 3, &c), has_b = batch_column(&batch, 2, &b);
      cr_assert(batch_column(&batch, 0, &id) && id.kind == BATCH_I64 && id.stride == 8);
      cr_assert(!batch_column(&batch, 4, &(BatchColumn){0}));  // a list
      cr_assert_eq(has_c, range.index == SCHEMA_NO_INDEX || range.index == 2);
      for (uint32_t n = 0; n < batch.count; n++, at++) {
        uint32_t row = batch.backward ? batch.count - 1 - n : n;
        cr_assert(at < expected.count);
        const Value *columns = expected.rows[at]->columns;
        cr_assert_eq(((const int64_t *)id.values)[row], columns[0].i);
        if (has_c) cr_assert(c.present[row] == columns[3].opt.has && ((const int64_t *)c.values)[row] == (columns[3].opt.has ? columns[3].opt.i : 0));
        if (has_b) cr_assert(str_equal(batch_text(&batch, &b, row), columns[2].text));
      }
    }
    cr_assert_eq(at, expected.count);
    free(expected.rows);
    arena_free(&arena);
  }
  model_free(&model);
  db_free(db);
}

// ---- summed up --------------------------------------------------------------------------------
// The number of a kept column, and whether it is there.
static bool number_of(uint16_t table, uint16_t column, Value value, int64_t *out) {
  TypeId type = fixture_schema()->tables[table].columns[column].type;
  if (type_kind(types(), type) == TYPE_OPTIONAL) {
    if (!value_is_some(types(), type, value)) return false;
    value = value_open(types(), type, value);
    type = types()->types[type].of;
  }
  TypeKind kind = type_kind(types(), type);
  *out = kind == TYPE_DECIMAL ? (int64_t)value.dec : kind == TYPE_TEXT || kind == TYPE_REF ? 0 : value.i;
  return true;
}

// What rows [part.from, part.to) of the expected ones come to, against what was found.
static void assert_summary(const Summary *found, const Expected *expected, uint16_t column, RankSpan part, unsigned kinds) {
  Summary own = {.least = INT64_MAX, .greatest = INT64_MIN};
  for (uint64_t i = part.from; i < part.to; i++) {
    int64_t number;
    own.rows++;
    if (!number_of(expected->order.table, column, expected->rows[i]->columns[column], &number)) continue;
    own.count++;
    own.sum += number;
    if (number < own.least) own.least = number;
    if (number > own.greatest) own.greatest = number;
  }
  cr_assert(found->rows == own.rows && found->count == own.count, "column %u: %lu of %lu rows, not %lu of %lu", column, found->count, found->rows, own.count, own.rows);
  if (kinds & KEPT_SUM) cr_assert(found->sum == own.sum);
  if (kinds & KEPT_MIN) cr_assert_eq(found->least, own.least);
  if (kinds & KEPT_MAX) cr_assert_eq(found->greatest, own.greatest);
}

static void check_summaries(const Reader *reader, const Model *model, Random *random, Arena *arena) {
  Range range;
  Value equal[8];
  random_range(random, arena, &range, equal);
  Expected expected = expect(model, &range);
  RankSpan span = range_span(reader, &range);
  cr_assert_eq(span.to - span.from, expected.count);
  for (uint16_t c = 0; c < fixture_schema()->tables[range.table].column_count; c++) {
    unsigned kinds = schema_kept(&fixture_schema()->tables[range.table], range.index, c);
    Summary summary;
    cr_assert_eq(range_summary(reader, &range, c, &summary), kinds != 0);
    if (!kinds) continue;
    assert_summary(&summary, &expected, c, (RankSpan){0, expected.count}, kinds);
    RankSpan part = {random_below(random, expected.count + 1), expected.count};
    RankSpan ranks = {span.from + part.from, span.to};
    if (range.backward) ranks = (RankSpan){span.from, span.to - part.from};
    cr_assert(span_summary(reader, range.table, range.index, ranks, c, &summary));
    assert_summary(&summary, &expected, c, part, kinds);
  }
  free(expected.rows);
}

static unsigned rows_alike(const Expected *expected, size_t at, unsigned columns) {
  Order order = expected->order;
  order.count = columns;
  unsigned alike = 0;
  while (at + alike < expected->count && by_order(&expected->rows[at], &expected->rows[at + alike], &order) == 0) alike++;
  return alike;
}

// Groups and single rows in turn.
static void check_groups(const Reader *reader, const Model *model, Random *random, Arena *arena) {
  Range range;
  Value equal[8];
  random_range(random, arena, &range, equal);
  Expected expected = expect(model, &range);
  RankSpan span = range_span(reader, &range);
  uint16_t columns = (uint16_t)random_below(random, expected.order.count + 1);
  Cursor *cursor = NULL;
  cr_assert(cursor_open(reader, &range, arena, &cursor) == ERR_NONE);
  for (size_t at = 0; at < expected.count;) {
    if (random_below(random, 4) == 0) {
      cr_assert(cursor_next(cursor));
      assert_at(cursor, expected.rows[at++], range.table, arena);
      continue;
    }
    RankSpan group;
    unsigned alike = rows_alike(&expected, at, columns);
    cr_assert(cursor_next_group(cursor, columns, &group));
    assert_at(cursor, expected.rows[at], range.table, arena);
    cr_assert_eq(group.to - group.from, alike);
    cr_assert_eq(range.backward ? span.to - group.to : group.from - span.from, at);
    at += alike;
    if (random_below(random, 4)) continue;
    uint64_t skip = random_below(random, 4);
    cr_assert(cursor_skip(cursor, skip) == ERR_NONE);
    at += skip;
  }
  RankSpan none;
  cr_assert(!cursor_next_group(cursor, columns, &none));
  free(expected.rows);
}

Test(range, summaries_and_groups_agree_with_a_filtered_copy) {
  for (unsigned size = 0; size < 4; size++) {
    Db *db;
    Model model;
    Random random = {size + 11};
    cr_assert(db_open(fixture_schema(), 0, &db) == ERR_NONE);
    model_init(&model);
    fill(db, &model, &random, (unsigned[]){0, 5, 60, 600}[size]);
    txn_seal(db_txn(db), 1);
    Snapshot *snapshot = db_snapshot_take(db);
    for (unsigned i = 0; i < 400; i++) {
      Arena arena;
      arena_init(&arena, 0);
      const Reader *reader = i % 2 ? snapshot_reader(snapshot) : txn_reader(db_txn(db));
      check_summaries(reader, &model, &random, &arena);
      check_groups(reader, &model, &random, &arena);
      arena_free(&arena);
    }
    snapshot_release(snapshot);
    model_free(&model);
    db_free(db);
  }
}

// After a change the next group lies behind the one it stood on, even if that has become larger.
Test(range, groups_go_on_while_rows_change) {
  Db *db;
  Model model;
  Random random = {31};
  cr_assert(db_open(fixture_schema(), 0, &db) == ERR_NONE);
  model_init(&model);
  uint64_t groups = 0;
  for (unsigned i = 0; i < 200; i++) {
    Arena arena;
    arena_init(&arena, 0);
    if (i % 20 == 0) fill(db, &model, &random, 300);
    Range range = {.table = TABLE_INT, .index = 0, .backward = i % 2};
    Cursor *cursor = NULL;
    RankSpan group;
    int64_t last = 0;
    bool first = true;
    cr_assert(cursor_open(txn_reader(db_txn(db)), &range, &arena, &cursor) == ERR_NONE);
    while (cursor_next_group(cursor, 1, &group)) {
      Value a, key;
      cr_assert(cursor_column(cursor, 1, &arena, &a) == ERR_NONE && cursor_key(cursor, &arena, &key) == ERR_NONE);
      cr_assert(first || (range.backward ? a.i > last : a.i < last));  // the index goes downward
      Summary summary;
      cr_assert(span_summary(txn_reader(db_txn(db)), TABLE_INT, 0, group, 1, &summary));
      cr_assert(summary.sum == (__int128)a.i * (__int128)(group.to - group.from));
      last = a.i;
      first = false;
      groups++;
      change_one(db, &model, &random, TABLE_INT, key, &arena);
    }
    arena_free(&arena);
  }
  cr_assert_gt(groups, 1000);
  table__assert_db(db);
  model_assert_equal(&model, txn_reader(db_txn(db)));
  model_free(&model);
  db_free(db);
}
