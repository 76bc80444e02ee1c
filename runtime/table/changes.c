// What a batch did, seen from outside: the rows it touched, the unique rules it broke, and its net effect as bytes.
//
// The net effect is not kept while changing: the state at the mark still stands (epochs), so each touched row is looked
// up before and after, and what differs is written. A row that came and went writes nothing.
//
//   per table with changes: varint table + 1, varint rows, and per row
//     1 insert   every column, in order
//     2 update   the key's columns, varint count, then count times: varint column, value
//     3 delete   the key's columns
//   varint 0
#include <assert.h>
#include <stdlib.h>

#include "runtime/base/mem.h"
#include "runtime/table/db.h"
#include "runtime/table/tree.h"
#include "runtime/value/codec.h"

enum { CHANGE_INSERT = 1, CHANGE_UPDATE = 2, CHANGE_DELETE = 3 };

// ---- rows touched, each once ------------------------------------------------------------------
static uint64_t change_hash(const Txn *txn, const Change *change) {
  uint64_t hash = 14695981039346656037ull ^ change->table;
  for (uint32_t i = 0; i < change->len; i++) hash = (hash ^ (uint8_t)txn->keys.ptr[change->at + i]) * 1099511628211ull;
  hash = (hash ^ (uint64_t)change->number) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 32;
}

static bool same_row(const Txn *txn, const Change *a, const Change *b) {
  return a->table == b->table && a->number == b->number && a->len == b->len && (a->len == 0 || memcmp(txn->keys.ptr + a->at, txn->keys.ptr + b->at, a->len) == 0);
}

typedef struct Touched { uint32_t *rows; uint32_t count; } Touched;  // numbers of changes, by table and first touch

static int by_table(const void *left, const void *right, void *context) {
  const Txn *txn = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  uint16_t table_a = txn->changes[a].table, table_b = txn->changes[b].table;
  return table_a != table_b ? (table_a > table_b) - (table_a < table_b) : (a > b) - (a < b);
}

static Err touched_collect(const Txn *txn, TxnMark since, Touched *out) {
  uint32_t changes = txn->change_count - since.change;
  uint64_t slots = 4;
  while (slots < 2ull * changes) slots *= 2;
  uint32_t *set = mem_alloc_zero(slots, sizeof *set);
  out->rows = mem_alloc(changes * sizeof out->rows[0]);
  out->count = 0;
  if (!set || !out->rows) {
    mem_free(set);
    mem_free(out->rows);
    return ERR_MEMORY;
  }
  for (uint32_t i = since.change; i < txn->change_count; i++) {
    uint64_t at = change_hash(txn, &txn->changes[i]) & (slots - 1);
    while (set[at] && !same_row(txn, &txn->changes[set[at] - 1], &txn->changes[i])) at = (at + 1) & (slots - 1);
    if (set[at]) continue;
    set[at] = i + 1;
    out->rows[out->count++] = i;
  }
  mem_free(set);
  qsort_r(out->rows, out->count, sizeof out->rows[0], by_table, (void *)txn);
  return ERR_NONE;
}

// The key of a change as cells and, if asked, as a value. Parts live in the arena or in the list of keys.
static Err change_key(const Txn *txn, const Change *change, Arena *arena, Cell *out_cells, Value *out_key) {
  const Shape *shape = txn->reader.shape;
  const TableShape *table = &shape->tables[change->table];
  const TableDef *def = &shape->schema->tables[change->table];
  Value *parts = ARENA_ARRAY(arena, Value, def->key_count);
  if (!parts) return ERR_MEMORY;
  Str bytes = change->len ? (Str){txn->keys.ptr + change->at, change->len} : (Str){0};
  if (change->len == 0) {
    out_cells[0] = (Cell){.i = change->number};
    TRY(value_from_cells(shape, &table->columns[def->key[0]], out_cells, arena, &parts[0]));
  } else {
    unsigned at = 0;
    for (unsigned k = 0; k < def->key_count; k++) {
      const ColumnShape *column = &table->columns[def->key[k]];
      TRY(value_decode(&shape->schema->types, column->type, &bytes, arena, true, &parts[k]));
      TRY(cells_from_column(shape, column, parts[k], arena, out_cells + at));
      at += column->count;
    }
  }
  if (def->key_count == 1) *out_key = parts[0];
  else out_key->record = parts;
  return ERR_NONE;
}

// page NULL: no such row.
static PageRow find_place(const Txn *txn, uint16_t table, TreeRoot root, const Cell *key) {
  PageRow place = {0};
  const TreeShape *tree = &txn->reader.shape->trees[txn->reader.shape->tables[table].tree];
  if (!tree_find_row(tree, root, key, &place.page, &place.slot)) place.page = NULL;
  return place;
}

static PageRow place_now(const Txn *txn, uint16_t table, const Cell *key) {
  return find_place(txn, table, txn->roots[txn->reader.shape->tables[table].tree], key);
}

// Calls `visit` for each touched row with an arena that is empty each time.
typedef Err (*EachTouched)(const Txn *txn, const Change *change, const Cell *key, Value value, Arena *arena, void *context);

static Err each_touched(const Txn *txn, TxnMark since, EachTouched visit, void *context) {
  assert(since.change <= txn->change_count);
  if (since.change == txn->change_count) return ERR_NONE;
  Touched touched;
  TRY(touched_collect(txn, since, &touched));
  Arena arena;
  arena_init(&arena, 0);
  Err err = ERR_NONE;
  for (uint32_t i = 0; i < touched.count && err == ERR_NONE; i++) {
    const Change *change = &txn->changes[touched.rows[i]];
    Cell cells[LAYOUT_KEY_MAX];
    Value key = {0};
    arena_reset(&arena);
    err = change_key(txn, change, &arena, cells, &key);
    if (err == ERR_NONE) err = visit(txn, change, cells, key, &arena, context);
  }
  arena_free(&arena);
  mem_free(touched.rows);
  return err;
}

typedef struct VisitCall { TxnVisit visit; void *context; } VisitCall;

static Err call_visit(const Txn *txn, const Change *change, const Cell *cells, Value key, Arena *arena, void *context) {
  (void)arena;
  VisitCall *call = context;
  return call->visit(call->context, change->table, key, place_now(txn, change->table, cells).page != NULL);
}

Err txn_touched(const Txn *txn, TxnMark since, TxnVisit visit, void *context) {
  VisitCall call = {visit, context};
  return each_touched(txn, since, call_visit, &call);
}

// ---- unique rules -----------------------------------------------------------------------------
static bool condition_holds(const Txn *txn, uint16_t table, const IndexDef *index, PageRow place) {
  if (index->condition == SCHEMA_NO_COLUMN) return true;
  const TableShape *shape = &txn->reader.shape->tables[table];
  return page_cell(txn->reader.shape->trees[shape->tree].leaf, place.page, shape->columns[index->condition].at, place.slot).i != 0;
}

// The index columns of the row as cells; false when one of them is none, which never collides.
static bool unique_prefix(const Txn *txn, uint16_t table, unsigned i, PageRow place, Cell *out_cells, unsigned *out_count) {
  const Shape *shape = txn->reader.shape;
  const IndexDef *index = &shape->schema->tables[table].indexes[i];
  const TreeShape *tree = &shape->trees[shape->tables[table].tree + 1 + i];
  const Layout *rows = shape->trees[shape->tables[table].tree].leaf;
  *out_count = 0;
  for (unsigned c = 0; c < index->column_count; c++) {
    const ColumnShape *column = &shape->tables[table].columns[index->columns[c].column];
    bool optional = type_kind(&shape->schema->types, column->type) == TYPE_OPTIONAL;
    if (optional && page_cell(rows, place.page, column->at, place.slot).i == 0) return false;
    for (unsigned n = 0; n < column->count; n++, ++*out_count) out_cells[*out_count] = page_cell(rows, place.page, tree->source[*out_count], place.slot);
  }
  return true;
}

// Another row than `key` with the same index columns, for which the condition holds too?
static bool has_double(const Txn *txn, uint16_t table, unsigned i, const Cell *key, const Cell *prefix, unsigned count) {
  const Shape *shape = txn->reader.shape;
  const TableShape *def = &shape->tables[table];
  uint32_t number = def->tree + 1 + i;
  const TreeShape *tree = &shape->trees[number];
  Path path, other;
  uint64_t low = tree_rank(tree, txn->roots[number], prefix, count, false, &path);
  uint64_t high = tree_rank(tree, txn->roots[number], prefix, count, true, &other);
  unsigned at = tree->leaf->key_count - def->key_cells;
  for (uint64_t left = high - low; left > 0; left--, path_next(tree, &path)) {
    Cell cells[LAYOUT_KEY_MAX];
    int order = 0;
    for (unsigned c = 0; c < def->key_cells; c++) {
      cells[c] = page_cell(tree->leaf, path.pages[path.height - 1], at + c, path.slots[path.height - 1]);
      if (!order) order = cell_compare(&tree->leaf->columns[at + c], cells[c], key[c]);
    }
    if (!order) continue;
    const IndexDef *index = &shape->schema->tables[table].indexes[i];
    if (index->condition == SCHEMA_NO_COLUMN || condition_holds(txn, table, index, place_now(txn, table, cells))) return true;
  }
  return false;
}

static Err check_row(const Txn *txn, const Change *change, const Cell *cells, Value key, Arena *arena, void *context) {
  (void)arena;
  UniqueClash *out = context;
  const TableDef *def = &txn->reader.shape->schema->tables[change->table];
  PageRow place = place_now(txn, change->table, cells);
  for (unsigned i = 0; place.page && i < def->index_count; i++) {
    Cell prefix[LAYOUT_KEY_MAX];
    unsigned count;
    if (!def->indexes[i].unique || !condition_holds(txn, change->table, &def->indexes[i], place)) continue;
    if (!unique_prefix(txn, change->table, i, place, prefix, &count)) continue;
    if (!has_double(txn, change->table, i, cells, prefix, count)) continue;
    *out = (UniqueClash){.table = change->table, .index = (uint16_t)i};
    // For the caller to look at: it lives until the next change, like any value that is read.
    Arena *scratch = &txn_db(txn)->scratch;
    const TypeTable *types = &txn->reader.shape->schema->types;
    return value_copy(types, types->table_keys[change->table], key, scratch, &out->key) ? ERR_EXISTS : ERR_MEMORY;
  }
  return ERR_NONE;
}

Err txn_check_unique(const Txn *txn, TxnMark since, UniqueClash *out_clash) { return each_touched(txn, since, check_row, out_clash); }

// ---- net effect -------------------------------------------------------------------------------
typedef struct Encoder {
  Buf *out;
  TxnMark since;
  int64_t table;            // whose rows are being written; -1: none yet
  TreeRoot before;
  Buf rows;                 // of that table
  uint64_t row_count;
} Encoder;

static void flush_table(Encoder *encoder) {
  if (encoder->row_count) {
    varint_write(encoder->out, (uint64_t)encoder->table + 1);
    varint_write(encoder->out, encoder->row_count);
    buf_add_str(encoder->out, buf_str(&encoder->rows));
  }
  if (encoder->rows.failed) encoder->out->failed = true;
  buf_clear(&encoder->rows);
  encoder->row_count = 0;
}

static Err write_column(const Txn *txn, uint16_t table, unsigned column, PageRow place, Arena *arena, Buf *out) {
  const Shape *shape = txn->reader.shape;
  const ColumnShape *def = &shape->tables[table].columns[column];
  Value value;
  TRY(value_from_page(shape, def, (CellRun){shape->trees[shape->tables[table].tree].leaf, place, def->at}, arena, &value));
  value_encode(&shape->schema->types, def->type, value, out);
  return ERR_NONE;
}

static bool column_differs(const Txn *txn, uint16_t table, unsigned column, PageRow before, PageRow after) {
  const Shape *shape = txn->reader.shape;
  const Layout *layout = shape->trees[shape->tables[table].tree].leaf;
  const ColumnShape *def = &shape->tables[table].columns[column];
  for (unsigned c = def->at; c < def->at + def->count; c++)
    if (cell_compare(&layout->columns[c], page_cell(layout, before.page, c, before.slot), page_cell(layout, after.page, c, after.slot)) != 0) return true;
  return false;
}

static Err write_key(const Txn *txn, uint16_t table, PageRow place, Arena *arena, Buf *out) {
  const TableDef *def = &txn->reader.shape->schema->tables[table];
  for (unsigned k = 0; k < def->key_count; k++) TRY(write_column(txn, table, def->key[k], place, arena, out));
  return ERR_NONE;
}

static Err write_update(const Txn *txn, uint16_t table, PageRow before, PageRow after, Arena *arena, Encoder *encoder) {
  const TableDef *def = &txn->reader.shape->schema->tables[table];
  uint64_t count = 0;
  for (unsigned c = 0; c < def->column_count; c++) count += column_differs(txn, table, c, before, after);
  if (count == 0) return ERR_NONE;
  buf_add_char(&encoder->rows, CHANGE_UPDATE);
  TRY(write_key(txn, table, after, arena, &encoder->rows));
  varint_write(&encoder->rows, count);
  for (unsigned c = 0; c < def->column_count; c++) {
    if (!column_differs(txn, table, c, before, after)) continue;
    varint_write(&encoder->rows, c);
    TRY(write_column(txn, table, c, after, arena, &encoder->rows));
  }
  encoder->row_count++;
  return ERR_NONE;
}

static Err write_row(const Txn *txn, const Change *change, const Cell *cells, Value key, Arena *arena, void *context) {
  (void)key;
  Encoder *encoder = context;
  uint16_t table = change->table;
  if (encoder->table != table) {
    flush_table(encoder);
    encoder->table = table;
    encoder->before = db__root_at(txn_db(txn), txn->reader.shape->tables[table].tree, encoder->since);
  }
  PageRow before = find_place(txn, table, encoder->before, cells), after = place_now(txn, table, cells);
  if (before.page && after.page) return write_update(txn, table, before, after, arena, encoder);
  if (!before.page && !after.page) return ERR_NONE;
  encoder->row_count++;
  buf_add_char(&encoder->rows, after.page ? CHANGE_INSERT : CHANGE_DELETE);
  if (before.page) return write_key(txn, table, before, arena, &encoder->rows);
  for (unsigned c = 0; c < txn->reader.shape->schema->tables[table].column_count; c++) TRY(write_column(txn, table, c, after, arena, &encoder->rows));
  return ERR_NONE;
}

void txn_encode_changes(const Txn *txn, TxnMark since, Buf *out) {
  Encoder encoder = {.out = out, .since = since, .table = -1};
  buf_init(&encoder.rows, 0);
  if (each_touched(txn, since, write_row, &encoder) != ERR_NONE) out->failed = true;
  flush_table(&encoder);
  buf_free(&encoder.rows);
  varint_write(out, 0);
}

// ---- replay -----------------------------------------------------------------------------------
typedef struct Replay { Txn *txn; Str bytes; Arena arena; uint16_t table; ErrText *out_text; } Replay;

static Err read_column(Replay *replay, unsigned column, Value *out_value) {
  const Shape *shape = replay->txn->reader.shape;
  return value_decode(&shape->schema->types, shape->tables[replay->table].columns[column].type, &replay->bytes, &replay->arena, true, out_value);
}

static Err read_key(Replay *replay, Value *out_key) {
  const TableDef *def = &replay->txn->reader.shape->schema->tables[replay->table];
  if (def->key_count == 1) return read_column(replay, def->key[0], out_key);
  Value *parts = ARENA_ARRAY(&replay->arena, Value, def->key_count);
  if (!parts) return ERR_MEMORY;
  for (unsigned k = 0; k < def->key_count; k++) TRY(read_column(replay, def->key[k], &parts[k]));
  out_key->record = parts;
  return ERR_NONE;
}

static Err apply_insert(Replay *replay) {
  const TableDef *def = &replay->txn->reader.shape->schema->tables[replay->table];
  Value *values = ARENA_ARRAY(&replay->arena, Value, def->column_count);
  if (!values) return ERR_MEMORY;
  for (unsigned c = 0; c < def->column_count; c++) TRY(read_column(replay, c, &values[c]));
  return txn_insert(replay->txn, replay->table, values);
}

static Err apply_update(Replay *replay) {
  const TableDef *def = &replay->txn->reader.shape->schema->tables[replay->table];
  Value key;
  uint64_t count, column, last = 0;
  TRY(read_key(replay, &key));
  TRY(varint_read(&replay->bytes, &count));
  if (count == 0 || count > def->column_count) return ERR_FORMAT;
  uint16_t *columns = ARENA_ARRAY(&replay->arena, uint16_t, count);
  Value *values = ARENA_ARRAY(&replay->arena, Value, count);
  if (!columns || !values) return ERR_MEMORY;
  for (uint64_t i = 0; i < count; i++) {
    TRY(varint_read(&replay->bytes, &column));
    if (column >= def->column_count || (i && column <= last)) return ERR_FORMAT;
    last = column;
    columns[i] = (uint16_t)column;
    TRY(read_column(replay, (unsigned)column, &values[i]));
  }
  return txn_update(replay->txn, replay->table, key, (uint16_t)count, columns, values);
}

static Err apply_row(Replay *replay) {
  if (replay->bytes.len == 0) return ERR_FORMAT;
  uint8_t what = (uint8_t)replay->bytes.ptr[0];
  replay->bytes = str_part(replay->bytes, 1, replay->bytes.len);
  arena_reset(&replay->arena);
  if (what == CHANGE_INSERT) return apply_insert(replay);
  if (what == CHANGE_UPDATE) return apply_update(replay);
  if (what != CHANGE_DELETE) return ERR_FORMAT;
  Value key;
  TRY(read_key(replay, &key));
  return txn_delete(replay->txn, replay->table, key);
}

static Err apply_all(Replay *replay) {
  const Schema *schema = replay->txn->reader.shape->schema;
  for (;;) {
    uint64_t table, rows;
    TRY(varint_read(&replay->bytes, &table));
    if (table == 0) return replay->bytes.len ? ERR_FORMAT : ERR_NONE;
    if (table > schema->table_count) return ERR_FORMAT;
    replay->table = (uint16_t)(table - 1);
    TRY(varint_read(&replay->bytes, &rows));
    for (uint64_t i = 0; i < rows; i++) {
      Err err = apply_row(replay);
      if (err == ERR_NONE) continue;
      Str name = schema->tables[replay->table].name;
      if (err == ERR_MEMORY || err == ERR_LIMIT || err == ERR_FULL) return err;
      return err_say(ERR_FORMAT, replay->out_text, "row %llu of table \"" STR_FMT "\" does not fit what is there (%s)", (unsigned long long)i + 1, STR_ARG(name), err_words(err));
    }
  }
}

Err txn_apply_changes(Txn *txn, Str bytes, ErrText *out_text) {
  Replay replay = {.txn = txn, .bytes = bytes, .out_text = out_text};
  if (out_text) out_text->text[0] = 0;
  arena_init(&replay.arena, 0);
  txn->applying = true;
  Err err = apply_all(&replay);
  txn->applying = false;
  arena_free(&replay.arena);
  if (err != ERR_NONE && out_text && !out_text->text[0]) return err_say(err, out_text, "changes cannot be applied: %s", err_words(err));
  return err;
}
