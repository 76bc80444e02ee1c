// A schema with every kind of key and column, rows of it at random, and a plain sorted array to compare a Db with.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/table/db.h"
#include "runtime/table/table.h"
#include "runtime/table/tree.h"

enum { TABLE_STATE, TABLE_INT, TABLE_TEXT, TABLE_PAIR, TABLE_COUNT, COLUMNS_MAX = 8 };

const Schema *fixture_schema(void);

// The same seed gives the same numbers.
typedef struct Random { uint64_t state; } Random;
uint64_t random_next(Random *random);
uint64_t random_below(Random *random, uint64_t bound);

// All columns of a row of the table, with a key out of a small space so that keys meet. Parts live in the arena.
void random_row(Random *random, uint16_t table, uint64_t keys, Arena *arena, Value *out_columns);
Value row_key(uint16_t table, const Value *columns, Arena *arena);

// ---- the model --------------------------------------------------------------------------------
typedef struct ModelRow { Arena arena; uint32_t refs; Value columns[COLUMNS_MAX]; } ModelRow;
typedef struct ModelTable { ModelRow **rows; size_t count; } ModelTable;
typedef struct Model { ModelTable tables[TABLE_COUNT]; } Model;

void model_init(Model *model);
void model_copy(const Model *from, Model *to);
void model_free(Model *model);
// Where the key is or would be; true: it is there.
bool model_find(const Model *model, uint16_t table, Value key, size_t *out_at);
bool model_insert(Model *model, uint16_t table, const Value *columns);
bool model_delete(Model *model, uint16_t table, Value key);
bool model_update(Model *model, uint16_t table, Value key, uint16_t count, const uint16_t *columns, const Value *values);

// Every row and every order of the Db against the model; Criterion asserts say what differs.
void model_assert_equal(const Model *model, const Reader *reader);
