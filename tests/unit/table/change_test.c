// What a batch says of itself, limits at their edge, another shape, and every allocation failing.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/mem.h"
#include "tests/unit/table/fixture.h"

static Db *open_ok(uint64_t bytes_max) {
  Db *db;
  cr_assert(db_open(fixture_schema(), bytes_max, &db) == ERR_NONE);
  return db;
}

static Err put(Db *db, int64_t id, int64_t a, const char *b, int64_t c, bool e) {
  static const List EMPTY = {0};
  Value columns[7] = {{.i = id}, {.i = a}, {.text = str_from(b)}, {.opt = {c, c != 0}}, {.list = &EMPTY}, {.i = e}, {.record = NULL}};
  return txn_insert(db_txn(db), TABLE_INT, columns);
}

typedef struct Seen { int64_t ids[16]; bool stands[16]; unsigned count; Err answer; } Seen;

static Err see(void *context, uint16_t table, Value key, bool stands) {
  Seen *seen = context;
  cr_assert_eq(table, TABLE_INT);
  seen->ids[seen->count] = key.i;
  seen->stands[seen->count++] = stands;
  return seen->answer;
}

Test(change, touched_rows_come_once_in_order) {
  Db *db = open_ok(0);
  Txn *txn = db_txn(db);
  cr_assert(put(db, 1, 0, "one", 0, false) == ERR_NONE && put(db, 2, 0, "two", 0, false) == ERR_NONE);
  txn_seal(txn, 1);
  TxnMark mark = txn_mark(txn);
  uint16_t column = 1;
  Value nine = {.i = 9};
  cr_assert(put(db, 7, 0, "", 0, false) == ERR_NONE);
  cr_assert(txn_update(txn, TABLE_INT, (Value){.i = 2}, 1, &column, &nine) == ERR_NONE);
  cr_assert(txn_delete(txn, TABLE_INT, (Value){.i = 7}) == ERR_NONE);
  cr_assert(txn_update(txn, TABLE_INT, (Value){.i = 1}, 1, &column, &nine) == ERR_NONE);
  Seen seen = {0};
  cr_assert(txn_touched(txn, mark, see, &seen) == ERR_NONE);
  cr_assert(seen.count == 3 && seen.ids[0] == 7 && seen.ids[1] == 2 && seen.ids[2] == 1);
  cr_assert(!seen.stands[0] && seen.stands[1] && seen.stands[2]);
  Seen stopped = {.answer = ERR_REFUSED};
  cr_assert(txn_touched(txn, mark, see, &stopped) == ERR_REFUSED && stopped.count == 1);
  TxnMark later = txn_mark(txn);
  cr_assert_eq(txn_changed_bytes(txn, later), 0);
  cr_assert(put(db, 8, 0, "", 0, false) == ERR_NONE);
  cr_assert_gt(txn_changed_bytes(txn, later), 0);
  Seen rest = {0};
  cr_assert(txn_touched(txn, later, see, &rest) == ERR_NONE && rest.count == 1 && rest.ids[0] == 8);
  db_free(db);
}

// Index 1: text unique where `e`; index 2: the optional decimal unique, none never collides.
Test(change, unique_rules) {
  static const struct { const char *b[2]; int64_t c[2]; bool e[2]; int clash; } ROWS[] = {
    {{"x", "y"}, {0, 0}, {true, true}, -1},  {{"x", "x"}, {0, 0}, {true, true}, 1}, {{"x", "x"}, {0, 0}, {true, false}, -1},
    {{"x", "x"}, {0, 0}, {false, true}, -1}, {{"", ""}, {5, 5}, {false, false}, 2}, {{"", ""}, {5, 6}, {false, false}, -1},
    {{"a longer text than fits in place", "a longer text than fits in place"}, {1, 2}, {true, true}, 1},
  };
  for (unsigned i = 0; i < countof(ROWS); i++) {
    Db *db = open_ok(0);
    Txn *txn = db_txn(db);
    UniqueClash clash;
    cr_assert(put(db, 1, 0, ROWS[i].b[0], ROWS[i].c[0], ROWS[i].e[0]) == ERR_NONE);
    cr_assert(txn_check_unique(txn, (TxnMark){0}, &clash) == ERR_NONE);
    TxnMark mark = txn_mark(txn);
    cr_assert(put(db, 2, 0, ROWS[i].b[1], ROWS[i].c[1], ROWS[i].e[1]) == ERR_NONE);
    Err err = txn_check_unique(txn, mark, &clash);
    cr_assert_eq(err, ROWS[i].clash < 0 ? ERR_NONE : ERR_EXISTS, "row %u", i);
    if (err) cr_assert(clash.table == TABLE_INT && clash.index == ROWS[i].clash && clash.key.i == 2);
    txn_undo(txn, mark);
    cr_assert(txn_check_unique(txn, (TxnMark){0}, &clash) == ERR_NONE);
    db_free(db);
  }
}

Test(change, keys_have_a_limit) {
  static const struct { size_t len; Err err; } ROWS[] = {{0, ERR_NONE}, {TABLE_KEY_BYTES_MAX, ERR_NONE}, {TABLE_KEY_BYTES_MAX + 1, ERR_LIMIT}, {100000, ERR_LIMIT}};
  for (unsigned i = 0; i < countof(ROWS); i++) {
    Db *db = open_ok(0);
    char *text = malloc(ROWS[i].len + 1);
    memset(text, 'k', ROWS[i].len);
    // The index by colour and place also holds the key, so the row as a whole meets the limit a little earlier.
    Value columns[4] = {{.text = {NULL, 0}}, {.text = {text, ROWS[i].len}}, {.record = NULL}, {.i = 0}};
    Err err = txn_insert(db_txn(db), TABLE_TEXT, columns);
    bool near = ROWS[i].len == TABLE_KEY_BYTES_MAX;
    cr_assert(err == (near ? ERR_LIMIT : ROWS[i].err), "length %zu: %s", ROWS[i].len, err_name(err));
    cr_assert_eq(reader_row_count(txn_reader(db_txn(db)), TABLE_TEXT), err == ERR_NONE);
    if (near) {
      columns[1].text.len = TABLE_KEY_BYTES_MAX - 1 - 8;  // enum 1, int 8; the text of the place is empty
      cr_assert(txn_insert(db_txn(db), TABLE_TEXT, columns) == ERR_NONE);
      columns[1].text.len++;
      cr_assert(txn_insert(db_txn(db), TABLE_TEXT, columns) == ERR_LIMIT);
    }
    table__assert_db(db);
    free(text);
    db_free(db);
  }
}

Test(change, the_budget_refuses_and_changes_nothing) {
  Db *db = open_ok(100000);
  int64_t id = 1;
  Err err;
  while ((err = put(db, id, id, "some text that takes its place", id, false)) == ERR_NONE) id++;
  cr_assert_eq(err, ERR_FULL);
  cr_assert_gt(id, 50);
  cr_assert_leq(db_bytes(db), 100000 + 64 * 1024);  // the pages of one change
  cr_assert_eq(reader_row_count(txn_reader(db_txn(db)), TABLE_INT), (uint64_t)id - 1);
  table__assert_db(db);
  uint16_t column = 1;
  Value nine = {.i = 9};
  cr_assert(txn_update(db_txn(db), TABLE_INT, (Value){.i = 1}, 1, &column, &nine) == ERR_NONE);
  for (int64_t gone = 1; gone < id; gone++) cr_assert(txn_delete(db_txn(db), TABLE_INT, (Value){.i = gone}) == ERR_NONE);
  cr_assert(put(db, 1, 1, "", 0, false) == ERR_NONE);
  txn_undo(db_txn(db), (TxnMark){0});
  db_free(db);
}

// What only a snapshot sees counts too: changes of numbers go on until a quarter more is used, deletes always, and all is
// well again once the snapshots are gone.
Test(change, held_snapshots_count_towards_the_budget) {
  enum { ROWS = 600, HELD_MAX = 64 };
  Db *db = open_ok(0);
  Snapshot *held[HELD_MAX];
  unsigned count = 0;
  uint64_t number = 0;
  for (int64_t id = 1; id <= ROWS; id++) cr_assert(put(db, id, id, "some text", id, false) == ERR_NONE);
  txn_seal(db_txn(db), ++number);
  uint64_t bytes_max = db->bytes_max = 2 * db_bytes(db);
  Err err = ERR_NONE;
  uint16_t column = 1;
  while (err == ERR_NONE) {
    cr_assert_lt(count, HELD_MAX);
    held[count++] = db_snapshot_take(db);
    for (int64_t id = 1; id <= ROWS && err == ERR_NONE; id++) err = txn_update(db_txn(db), TABLE_INT, (Value){.i = id}, 1, &column, &(Value){.i = (int64_t)number});
    txn_seal(db_txn(db), ++number);
    cr_assert_leq(db_bytes(db), bytes_max + bytes_max / 4 + 64 * 1024);
  }
  cr_assert_eq(err, ERR_FULL);
  cr_assert_gt(db_bytes(db), bytes_max);
  cr_assert(put(db, ROWS + 1, 1, "more", 1, false) == ERR_FULL);
  cr_assert(txn_delete(db_txn(db), TABLE_INT, (Value){.i = 1}) == ERR_NONE);
  txn_seal(db_txn(db), ++number);
  while (count) snapshot_release(held[--count]);
  cr_assert_leq(db_bytes(db), bytes_max);
  cr_assert(txn_update(db_txn(db), TABLE_INT, (Value){.i = 2}, 1, &column, &(Value){.i = -1}) == ERR_NONE);
  cr_assert(put(db, ROWS + 1, 1, "more", 1, false) == ERR_NONE);
  table__assert_db(db);
  db_free(db);
}

// What was saved once is taken back whatever the budget says now.
Test(change, a_replay_does_not_ask_the_budget) {
  Db *db = open_ok(0), *small = open_ok(20000);
  Buf bytes;
  ErrText text;
  buf_init(&bytes, 0);
  for (int64_t id = 1; id <= 1000; id++) cr_assert(put(db, id, id, "some text that takes its place", id, false) == ERR_NONE);
  txn_encode_changes(db_txn(db), (TxnMark){0}, &bytes);
  cr_assert(txn_apply_changes(db_txn(small), buf_str(&bytes), &text) == ERR_NONE, "%s", text.text);
  cr_assert_eq(reader_row_count(txn_reader(db_txn(small)), TABLE_INT), 1000);
  cr_assert(put(small, 1001, 1, "", 1, false) == ERR_FULL);
  buf_free(&bytes);
  db_free(db);
  db_free(small);
}

// A state that has been large and is small again gives its memory back, chunks of huge pages included.
Test(change, memory_goes_back_when_a_table_shrinks) {
  enum { ROWS = 12000, BATCH = 500 };
  Db *db = open_ok(0);
  char long_text[400];
  memset(long_text, 'x', sizeof long_text);
  uint64_t number = 0, held = mem_blocks_held(), pages = db_bytes(db);
  for (unsigned round = 0; round < 2; round++) {
    for (int64_t id = 1; id <= ROWS; id++) {
      snprintf(long_text, 20, "%08lld", (long long)id);
      Value columns[4] = {{.text = {NULL, 0}}, {.text = {long_text, 300}}, {.record = NULL}, {.i = 0}};
      cr_assert(txn_insert(db_txn(db), TABLE_TEXT, columns) == ERR_NONE);
      if (id % BATCH == 0) txn_seal(db_txn(db), ++number);
    }
    cr_assert_gt(db_bytes(db), POOL_CHUNKS_FROM + 2 * POOL_CHUNK_BYTES);
    for (int64_t id = 1; id <= ROWS; id++) {
      snprintf(long_text, 20, "%08lld", (long long)id);
      cr_assert(txn_delete(db_txn(db), TABLE_TEXT, (Value){.text = {long_text, 300}}) == ERR_NONE);
      if (id % BATCH == 0) txn_seal(db_txn(db), ++number);
    }
    table__assert_db(db);
    cr_assert_eq(db_bytes(db), pages);
    cr_assert_leq(db->pool.bytes_free, 64 * 1024 + POOL_CHUNK_BYTES);
    cr_assert_lt(mem_blocks_held(), held + 1500, "%llu blocks", (unsigned long long)(mem_blocks_held() - held));
  }
  db_free(db);
}

Test(change, keys_change_only_to_themselves) {
  Db *db = open_ok(0);
  cr_assert(put(db, 1, 1, "", 0, false) == ERR_NONE);
  uint16_t columns[] = {0, 1};
  Value same[] = {{.i = 1}, {.i = 5}}, other[] = {{.i = 2}, {.i = 6}};
  cr_assert(txn_update(db_txn(db), TABLE_INT, (Value){.i = 1}, 2, columns, same) == ERR_NONE);
  cr_assert(txn_update(db_txn(db), TABLE_INT, (Value){.i = 1}, 2, columns, other) == ERR_REFUSED);
  db_free(db);
}

// Memory of a Db that grows and shrinks comes back; a held snapshot keeps only its own pages.
Test(change, pages_are_freed_as_soon_as_nothing_sees_them) {
  Db *db = open_ok(0);
  uint64_t empty = db_bytes(db);
  for (int64_t id = 1; id <= 2000; id++) cr_assert(put(db, id, id % 7, "text of a row", id, false) == ERR_NONE);
  txn_seal(db_txn(db), 1);
  uint64_t full = db_bytes(db);
  Snapshot *snapshot = db_snapshot_take(db);
  uint16_t column = 1;
  for (uint64_t n = 2; n < 60; n++) {
    for (int64_t id = 1; id <= 2000; id += 3) {
      Value value = {.i = (int64_t)n * id % 1000};
      cr_assert(txn_update(db_txn(db), TABLE_INT, (Value){.i = id}, 1, &column, &value) == ERR_NONE);
    }
    txn_seal(db_txn(db), n);
  }
  cr_assert_lt(db_bytes(db), 3 * full, "%llu bytes for two versions of %llu", (unsigned long long)db_bytes(db), (unsigned long long)full);
  snapshot_release(snapshot);
  cr_assert_lt(db_bytes(db), 2 * full);
  for (int64_t id = 1; id <= 2000; id++) cr_assert(txn_delete(db_txn(db), TABLE_INT, (Value){.i = id}) == ERR_NONE);
  txn_seal(db_txn(db), 100);
  cr_assert_eq(db_bytes(db), empty);
  db_free(db);
}

// ---- another shape ----------------------------------------------------------------------------
static const ReshapeColumn SAME[] = {{.from = 0}, {.from = 1}, {.from = 2}, {.from = 3}, {.from = 4}, {.from = 5}, {.from = 6}};

// The fixture's schema with the columns of Int turned round, `a` let go, and a new text with a default in front.
static const Schema *turned(void) {
  static ColumnDef columns[7];
  static TableDef tables[TABLE_COUNT];
  static Schema schema;
  static const uint16_t KEY[] = {6};
  static const IndexColumn BY_B[] = {{4, false}};
  static const KeptDef KEEP[] = {{4, KEPT_ALL}, {2, KEPT_SUM}, {6, KEPT_MIN | KEPT_MAX}}, KEEP_INDEX[] = {{4, KEPT_SUM | KEPT_MAX}};
  static const IndexDef INDEXES[] = {{.column_count = 1, .columns = BY_B, .condition = 0xFFFF, .kept_count = 1, .kept = KEEP_INDEX}};
  const Schema *old = fixture_schema();
  const TableDef *def = &old->tables[TABLE_INT];
  memcpy(tables, old->tables, sizeof tables);
  columns[0] = (ColumnDef){.name = STR("added"), .type = def->columns[2].type};
  for (unsigned c = 1; c < 6; c++) columns[c] = def->columns[7 - c];
  columns[6] = def->columns[0];
  tables[TABLE_INT].columns = columns;
  tables[TABLE_INT].key = KEY;
  tables[TABLE_INT].index_count = 1;
  tables[TABLE_INT].indexes = INDEXES;
  tables[TABLE_INT].kept_count = 3;
  tables[TABLE_INT].kept = KEEP;
  schema = *old;
  schema.tables = tables;
  return &schema;
}

static void fill(Db *db, unsigned rows, uint64_t seed) {
  Random random = {seed};
  Arena arena;
  arena_init(&arena, 0);
  for (unsigned i = 0; i < rows; i++) {
    Value columns[COLUMNS_MAX];
    random_row(&random, (uint16_t)(1 + i % 3), 1000, &arena, columns);
    Err err = txn_insert(db_txn(db), (uint16_t)(1 + i % 3), columns);
    cr_assert(err == ERR_NONE || err == ERR_EXISTS);
  }
  arena_free(&arena);
  txn_seal(db_txn(db), 1);
}

static Err reshape_turned(Db *db, ErrText *text) {
  static const ReshapeColumn TURNED[] = {{.from = RESHAPE_NEW, .value = {.text = STR("a default longer than twelve bytes")}}, {.from = 6}, {.from = 5}, {.from = 4}, {.from = 3}, {.from = 2}, {.from = 0}};
  static const ReshapeTable TABLES[] = {{0, SAME}, {TABLE_INT, TURNED}, {TABLE_TEXT, SAME}, {TABLE_PAIR, SAME}};
  return db_reshape(db, turned(), TABLES, text);
}

Test(reshape, rows_keep_their_values_and_other_tables_their_pages) {
  for (unsigned rows = 0; rows <= 900; rows += 300) {
    Db *db = open_ok(0);
    ErrText text;
    fill(db, rows, 3);
    Snapshot *before = db_snapshot_take(db);
    TreeRoot shared = db->txn.roots[db->shape->tables[TABLE_TEXT].tree];
    cr_assert(reshape_turned(db, &text) == ERR_NONE, "%s", text.text);
    cr_assert_eq(db->txn.roots[db->shape->tables[TABLE_TEXT].tree].page, shared.page);
    table__assert_db(db);
    Arena arena;
    arena_init(&arena, 0);
    Range all = {.table = TABLE_INT, .index = SCHEMA_NO_INDEX};
    Cursor *cursor = NULL;
    cr_assert(cursor_open(snapshot_reader(before), &all, &arena, &cursor) == ERR_NONE);
    cr_assert_eq(reader_row_count(txn_reader(db_txn(db)), TABLE_INT), reader_row_count(snapshot_reader(before), TABLE_INT));
    while (cursor_next(cursor)) {
      Value key, old, now;
      Row row;
      cr_assert(cursor_key(cursor, &arena, &key) == ERR_NONE && row_find(txn_reader(db_txn(db)), TABLE_INT, key, &row));
      for (uint16_t c = 2; c < 7; c++) {
        cr_assert(cursor_column(cursor, c, &arena, &old) == ERR_NONE && row_column(&row, (uint16_t)(7 - c), &arena, &now) == ERR_NONE);
        cr_assert(value_equal(&fixture_schema()->types, fixture_schema()->tables[TABLE_INT].columns[c].type, old, now));
      }
      cr_assert(row_column(&row, 0, &arena, &now) == ERR_NONE && str_is(now.text, "a default longer than twelve bytes"));
    }
    arena_free(&arena);
    snapshot_release(before);
    txn_seal(db_txn(db), 2);
    table__assert_db(db);
    db_free(db);
  }
}

// For a while both states are there; the budget is for the new one, and when that is too large the old one stays.
Test(reshape, the_budget_is_for_the_new_state) {
  Db *db = open_ok(0);
  ErrText text;
  fill(db, 600, 3);
  uint64_t bytes = db_bytes(db);
  db_set_bytes_max(db, bytes / 16);
  cr_assert(reshape_turned(db, &text) == ERR_FULL);
  cr_assert_eq(db_bytes(db), bytes);
  table__assert_db(db);
  db_set_bytes_max(db, bytes * 3 / 2);
  cr_assert(reshape_turned(db, &text) == ERR_NONE, "%s", text.text);
  table__assert_db(db);
  db_free(db);
}

Test(reshape, what_is_stored_otherwise_is_refused) {
  static const ReshapeColumn WRONG[] = {{.from = 1}, {.from = 2}, {.from = 2}, {.from = 3}, {.from = 4}, {.from = 5}, {.from = 6}};
  static const ReshapeTable TABLES[] = {{0, SAME}, {TABLE_INT, WRONG}, {TABLE_TEXT, SAME}, {TABLE_PAIR, SAME}};
  Db *db = open_ok(0);
  ErrText text;
  fill(db, 100, 4);
  uint64_t bytes = db_bytes(db);
  static const ReshapeColumn OTHER_KEY[] = {{.from = 1}, {.from = 0}, {.from = 2}, {.from = 3}, {.from = 4}, {.from = 5}, {.from = 6}};
  static const ReshapeTable KEYS[] = {{0, SAME}, {TABLE_INT, OTHER_KEY}, {TABLE_TEXT, SAME}, {TABLE_PAIR, SAME}};
  cr_assert(db_reshape(db, fixture_schema(), TABLES, &text) == ERR_REFUSED);
  cr_assert(db_reshape(db, fixture_schema(), KEYS, &text) == ERR_REFUSED);
  cr_assert_eq(db_bytes(db), bytes);
  table__assert_db(db);
  db_free(db);
}

// ---- the proof --------------------------------------------------------------------------------
static TreeShape *int_tree(Db *db, unsigned number) { return &db->shape->trees[db->shape->tables[TABLE_INT].tree + number]; }
static Page *int_root(Db *db, unsigned number) { return db->txn.roots[db->shape->tables[TABLE_INT].tree + number].page; }

static Page *first_leaf(Db *db, unsigned number) {
  Page *page = int_root(db, number);
  while (page->level) page = inner_child(int_tree(db, number), page, 0);
  return page;
}

static void add_to_kept(Db *db, unsigned number, unsigned cells) { page_column(int_tree(db, number)->inner, int_root(db, number), cells)[0] ^= 1; }
static void hurt_sum(Db *db) { add_to_kept(db, 0, int_tree(db, 0)->kept[1].sum_at); }
static void hurt_least(Db *db) { add_to_kept(db, 0, int_tree(db, 0)->kept[2].least_at); }
static void hurt_greatest(Db *db) { add_to_kept(db, 1, int_tree(db, 1)->kept[1].greatest_at); }
static void hurt_count(Db *db) { add_to_kept(db, 4, int_tree(db, 4)->kept[0].count_at); }
static void hurt_rows(Db *db) { add_to_kept(db, 0, int_tree(db, 0)->inner->key_count + 1u); }
static void hurt_total(Db *db) { db->txn.roots[db->shape->tables[TABLE_INT].tree].rows++; }
static void hurt_key(Db *db) { page_column(int_tree(db, 0)->leaf, first_leaf(db, 0), 0)[7] ^= 0x40; }
static void hurt_carried(Db *db) { page_column(int_tree(db, 1)->leaf, first_leaf(db, 1), int_tree(db, 1)->entry_at[5])[0] ^= 1; }
static void hurt_entry(Db *db) { page_column(int_tree(db, 4)->leaf, first_leaf(db, 4), 0)[0] ^= 1; }
static void hurt_heap(Db *db) { first_leaf(db, 0)->heap_dead++; }
static void hurt_birth(Db *db) { first_leaf(db, 0)->born = db->epoch + 1; }

Test(check, each_kind_of_damage_is_named) {
  static const struct { void (*hurt)(Db *); const char *words; } ROWS[] = {
    {hurt_sum, "table Int: a kept sum"}, {hurt_least, "table Int: a kept least"}, {hurt_greatest, "index 0 of table Int: a kept greatest"}, {hurt_count, "index 3 of table Int: a kept count"},
    {hurt_rows, "table Int: "}, {hurt_total, "table Int: its rows"}, {hurt_key, "table Int: "}, {hurt_carried, "index 0 of table Int: "}, {hurt_entry, "index 3 of table Int: "},
    {hurt_heap, "table Int: a page's texts"}, {hurt_birth, "table Int: a page is"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Db *db = open_ok(0);
    ErrText text = {""};
    fill(db, 3000, 5);
    cr_assert(int_root(db, 0)->level > 0 && int_root(db, 1)->level > 0 && int_root(db, 4)->level > 0);
    cr_assert(reader_check(txn_reader(db_txn(db)), &text) == ERR_NONE, "%s", text.text);
    TreeRoot root = db->txn.roots[db->shape->tables[TABLE_INT].tree];
    ROWS[i].hurt(db);
    cr_assert_eq(reader_check(txn_reader(db_txn(db)), &text), ERR_DAMAGED, "row %zu", i);
    cr_assert(strstr(text.text, ROWS[i].words) == text.text, "row %zu: %s", i, text.text);
    db->txn.roots[db->shape->tables[TABLE_INT].tree] = root;
    db_free(db);
  }
}

// ---- every allocation fails -------------------------------------------------------------------
// A batch of every kind of change. The first error ends it; what it did is undone.
static Err work(Db *db, Random *random, Model *model) {
  Arena arena;
  arena_init(&arena, 0);
  mem_fail_nth(0, 0);  // the model and the values are not what is tested
  for (unsigned i = 0; i < 30; i++) {
    uint16_t table = (uint16_t)(1 + i % 3);
    Value values[COLUMNS_MAX];
    random_row(random, table, 20, &arena, values);
    Err err = txn_insert(db_txn(db), table, values);
    if (err == ERR_NONE) model_insert(model, table, values);
    else if (err != ERR_EXISTS) {
      arena_free(&arena);
      return err;
    }
  }
  arena_free(&arena);
  return ERR_NONE;
}

typedef enum Step { STEP_INSERT, STEP_UPDATE, STEP_DELETE, STEP_ENCODE, STEP_SNAPSHOT, STEP_RESHAPE, STEP_UNIQUE, STEP_APPLY, STEPS } Step;

static Err one_step(Db *db, Step step, const Value *row, const Value *other, Str changes) {
  static const uint16_t COLUMNS[] = {1, 2, 3, 4, 5, 6};
  ErrText text;
  UniqueClash clash;
  Err err = ERR_NONE;
  switch (step) {
    case STEP_INSERT: return txn_insert(db_txn(db), TABLE_INT, row);
    case STEP_UPDATE: return txn_update(db_txn(db), TABLE_INT, other[0], 6, COLUMNS, row + 1);
    case STEP_DELETE: return txn_delete(db_txn(db), TABLE_INT, other[0]);
    case STEP_ENCODE: {
      Buf out;
      buf_init(&out, 0);
      txn_encode_changes(db_txn(db), (TxnMark){0}, &out);
      err = out.failed ? ERR_MEMORY : ERR_NONE;
      buf_free(&out);
      return err;
    }
    case STEP_SNAPSHOT: {
      Snapshot *snapshot = db_snapshot_take(db);
      if (snapshot) snapshot_release(snapshot);
      return snapshot ? ERR_NONE : ERR_MEMORY;
    }
    case STEP_RESHAPE:
      txn_seal(db_txn(db), db->sealed_number + 1);
      err = reshape_turned(db, &text);
      return err;
    case STEP_UNIQUE:
      err = txn_check_unique(db_txn(db), (TxnMark){0}, &clash);
      return err == ERR_EXISTS ? ERR_NONE : err;
    case STEP_APPLY: return txn_apply_changes(db_txn(db), changes, &text);
    case STEPS: break;
  }
  return ERR_NONE;
}

Test(memory, every_allocation_fails_and_nothing_changes) {
  for (Step step = 0; step < STEPS; step++)
    for (int for_ever = 0; for_ever < 2; for_ever++)
      for (uint64_t n = 1;; n++) {
        uint64_t held = mem_blocks_held();
        Random random = {step + 9};
        Model model;
        Db *db = open_ok(0);
        Arena arena;
        Value row[COLUMNS_MAX], other[COLUMNS_MAX];
        Buf changes;
        arena_init(&arena, 0);
        buf_init(&changes, 0);
        model_init(&model);
        cr_assert(work(db, &random, &model) == ERR_NONE);
        txn_encode_changes(db_txn(db), (TxnMark){0}, &changes);
        if (step == STEP_APPLY) {
          txn_undo(db_txn(db), (TxnMark){0});
          model_free(&model);
          model_init(&model);
        } else if (step != STEP_ENCODE && step != STEP_UNIQUE) {
          txn_seal(db_txn(db), 1);
        }
        random_row(&random, TABLE_INT, 1000, &arena, row);
        row[0].i = 5000;
        if (step != STEP_APPLY) memcpy(other, model.tables[TABLE_INT].rows[2]->columns, sizeof other);
        mem_fail_nth(n, for_ever);
        uint64_t before = mem_allocations();
        Err err = one_step(db, step, row, other, buf_str(&changes));
        bool reached = mem_allocations() - before >= n;
        mem_fail_nth(0, 0);
        cr_assert(err == ERR_NONE || err == ERR_MEMORY, "step %u, allocation %llu: %s", step, (unsigned long long)n, err_name(err));
        cr_assert(reached || err == ERR_NONE);
        if (err == ERR_MEMORY && step == STEP_APPLY) txn_undo(db_txn(db), (TxnMark){0});
        if (err == ERR_MEMORY) model_assert_equal(&model, txn_reader(db_txn(db)));
        if (err == ERR_MEMORY && step <= STEP_DELETE) {  // and an input that goes on after it is undone to the same state
          TxnMark mark = txn_mark(db_txn(db));
          cr_assert(one_step(db, step, row, other, buf_str(&changes)) == ERR_NONE);
          txn_undo(db_txn(db), mark);
          model_assert_equal(&model, txn_reader(db_txn(db)));
        }
        table__assert_db(db);
        model_free(&model);
        arena_free(&arena);
        buf_free(&changes);
        db_free(db);
        cr_assert_eq(mem_blocks_held(), held, "step %u, allocation %llu: a leak", step, (unsigned long long)n);
        if (!reached) break;
      }
}
