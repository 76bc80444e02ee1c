// Random changes, marks, undo, seals and snapshots against a plain sorted array; every invariant after every step.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/table/fixture.h"

enum { HELD_MAX = 4 };

typedef struct World {
  Db *db;
  Txn *txn;
  Model model, sealed, marked;
  TxnMark mark;
  uint64_t number;
  Snapshot *held[HELD_MAX];
  Model held_models[HELD_MAX];
  Random random;
  uint64_t keys;
} World;

static void world_open(World *world, uint64_t seed, uint64_t keys) {
  *world = (World){.random = {seed}, .keys = keys};
  cr_assert(db_open(fixture_schema(), 0, &world->db) == ERR_NONE);
  world->txn = db_txn(world->db);
  model_init(&world->model);
  model_copy(&world->model, &world->sealed);
  model_copy(&world->model, &world->marked);
}

static void replace(Model *to, const Model *from) {
  model_free(to);
  model_copy(from, to);
}

static void world_close(World *world) {
  for (unsigned i = 0; i < HELD_MAX; i++)
    if (world->held[i]) {
      model_assert_equal(&world->held_models[i], snapshot_reader(world->held[i]));
      snapshot_release(world->held[i]);
      model_free(&world->held_models[i]);
    }
  model_free(&world->model);
  model_free(&world->sealed);
  model_free(&world->marked);
  db_free(world->db);
}

static void do_insert(World *world, uint16_t table, Arena *arena) {
  Value columns[COLUMNS_MAX];
  random_row(&world->random, table, world->keys, arena, columns);
  Err err = txn_insert(world->txn, table, columns);
  bool there = !model_insert(&world->model, table, columns);
  cr_assert_eq(err, there ? ERR_EXISTS : ERR_NONE);
}

// A key that is there, three times of four.
static Value any_key(World *world, uint16_t table, Arena *arena) {
  const ModelTable *rows = &world->model.tables[table];
  Value columns[COLUMNS_MAX];
  if (rows->count && random_below(&world->random, 4)) return row_key(table, rows->rows[random_below(&world->random, rows->count)]->columns, arena);
  random_row(&world->random, table, world->keys, arena, columns);
  return row_key(table, columns, arena);
}

static void do_update(World *world, uint16_t table, Arena *arena) {
  const TableDef *def = &fixture_schema()->tables[table];
  Value key = any_key(world, table, arena), fresh[COLUMNS_MAX], values[COLUMNS_MAX];
  uint16_t columns[COLUMNS_MAX], count = 0;
  random_row(&world->random, table, world->keys, arena, fresh);
  for (uint16_t c = 0; c < def->column_count; c++) {
    bool is_key = false;
    for (unsigned k = 0; k < def->key_count; k++) is_key = is_key || def->key[k] == c;
    if (is_key || random_below(&world->random, 2)) continue;
    columns[count] = c;
    values[count++] = fresh[c];
  }
  Err err = txn_update(world->txn, table, key, count, columns, values);
  cr_assert_eq(err, model_update(&world->model, table, key, count, columns, values) ? ERR_NONE : ERR_NOT_FOUND);
}

static void do_delete(World *world, uint16_t table, Arena *arena) {
  Value key = any_key(world, table, arena);
  Err err = txn_delete(world->txn, table, key);
  cr_assert_eq(err, model_delete(&world->model, table, key) ? ERR_NONE : ERR_NOT_FOUND);
}

// The net effect of the batch takes a second Db from the last seal to here.
static void check_changes(World *world) {
  Buf bytes;
  buf_init(&bytes, 0);
  txn_encode_changes(world->txn, (TxnMark){0}, &bytes);
  cr_assert(!bytes.failed);
  Db *other;
  ErrText text;
  Arena arena;
  arena_init(&arena, 0);
  cr_assert(db_open(fixture_schema(), 0, &other) == ERR_NONE);
  for (uint16_t t = 0; t < TABLE_COUNT; t++)
    for (size_t i = 0; i < world->sealed.tables[t].count; i++) {
      const Value *columns = world->sealed.tables[t].rows[i]->columns;
      uint16_t rest[] = {1, 2};
      if (t) cr_assert(txn_insert(db_txn(other), t, columns) == ERR_NONE);
      else cr_assert(txn_update(db_txn(other), t, columns[0], 2, rest, columns + 1) == ERR_NONE);
    }
  txn_seal(db_txn(other), 1);
  Err err = txn_apply_changes(db_txn(other), buf_str(&bytes), &text);
  cr_assert(err == ERR_NONE, "%s", text.text);
  table__assert_db(other);
  model_assert_equal(&world->model, txn_reader(db_txn(other)));
  arena_free(&arena);
  db_free(other);
  buf_free(&bytes);
}

static void do_snapshot(World *world) {
  unsigned i = (unsigned)random_below(&world->random, HELD_MAX);
  if (world->held[i]) {
    model_assert_equal(&world->held_models[i], snapshot_reader(world->held[i]));
    snapshot_release(world->held[i]);
    model_free(&world->held_models[i]);
    world->held[i] = NULL;
    return;
  }
  world->held[i] = db_snapshot_take(world->db);
  cr_assert(world->held[i]);
  model_copy(&world->sealed, &world->held_models[i]);
}

static void world_step(World *world, unsigned insert_weight) {
  Arena arena;
  arena_init(&arena, 0);
  uint16_t table = (uint16_t)(1 + random_below(&world->random, 3));
  uint64_t dice = random_below(&world->random, 100);
  if (dice < insert_weight) do_insert(world, table, &arena);
  else if (dice < 70) do_delete(world, table, &arena);
  else if (dice < 88) do_update(world, random_below(&world->random, 8) ? table : TABLE_STATE, &arena);
  else if (dice < 91) {
    world->mark = txn_mark(world->txn);
    replace(&world->marked, &world->model);
  } else if (dice < 94) {
    txn_undo(world->txn, world->mark);
    replace(&world->model, &world->marked);
  } else if (dice < 95) {
    txn_undo(world->txn, (TxnMark){0});
    world->mark = (TxnMark){0};
    replace(&world->model, &world->sealed);
    replace(&world->marked, &world->sealed);
  } else if (dice < 97) {
    check_changes(world);
    txn_seal(world->txn, ++world->number);
    world->mark = (TxnMark){0};
    replace(&world->sealed, &world->model);
    replace(&world->marked, &world->model);
  } else {
    do_snapshot(world);
  }
  arena_free(&arena);
}

static void run_model(uint64_t seed, unsigned steps, uint64_t keys) {
  World world;
  world_open(&world, seed, keys);
  for (unsigned i = 0; i < steps; i++) {
    world_step(&world, i / 400 % 2 ? 25 : 50);  // grows and shrinks in turn
    if (i % 16 == 0) table__assert_db(world.db);
    if (i % 64 == 0) model_assert_equal(&world.model, txn_reader(world.txn));
  }
  model_assert_equal(&world.model, txn_reader(world.txn));
  table__assert_db(world.db);
  world_close(&world);
}

Test(model, random_changes_agree_with_a_sorted_array) {
  static const struct { uint64_t keys; unsigned steps; } ROWS[] = {{4, 600}, {60, 1500}, {1000, 2000}};
  for (unsigned i = 0; i < countof(ROWS); i++)
    for (uint64_t seed = 1; seed <= 3; seed++) run_model(seed * 1000 + i, ROWS[i].steps, ROWS[i].keys);
}
