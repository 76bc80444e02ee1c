// Rows by key, and ranges: a cursor counts the rows it still has to give, from the ranks of its two ends, so that it
// never compares with a bound on the way, and skipping and counting are a descent each.
//
// A cursor on a Txn remembers the key it stands on, and finds its place again when the Txn has changed since.
#include <assert.h>

#include "runtime/table/batch.h"
#include "runtime/table/db.h"
#include "runtime/table/kept.h"
#include "runtime/table/tree.h"

// ---- rows -------------------------------------------------------------------------------------
bool reader_moves(const Reader *reader) { return reader->version != NULL; }

uint64_t reader_row_count(const Reader *reader, uint16_t table) { return reader->roots[reader_table(reader, table)->tree].rows; }

static const TreeShape *table_tree(const Reader *reader, uint16_t table) { return &reader->shape->trees[reader_table(reader, table)->tree]; }

// Who looks for a row reads it next, most often more than one column: each lies in a line of its own, asked for together.
enum { FETCH_COLUMNS = 12 };

__attribute__((always_inline)) static inline void fetch_row(const Layout *layout, const Page *page, unsigned slot) {
  unsigned count = layout->column_count < FETCH_COLUMNS ? layout->column_count : FETCH_COLUMNS;
  for (unsigned c = layout->key_count; c < count; c++) __builtin_prefetch(page_column(layout, page, c) + (size_t)slot * layout->columns[c].width);
}

static bool find_cells(const Reader *reader, uint16_t table, const Cell *key, Row *out_row) {
  const Page *page;
  unsigned slot;
  if (!tree_find_row(table_tree(reader, table), reader->roots[reader_table(reader, table)->tree], key, &page, &slot)) return false;
  fetch_row(table_tree(reader, table)->leaf, page, slot);
  *out_row = (Row){.page = page, .reader = reader, .slot = slot, .table = table};
  return true;
}

bool row_find(const Reader *reader, uint16_t table, Value key, Row *out_row) {
  Cell cells[LAYOUT_KEY_MAX];
  return cells_from_key(reader->shape, reader_table(reader, table), key, cells) == ERR_NONE && find_cells(reader, table, cells, out_row);
}

Err row_column(const Row *row, uint16_t column, Arena *arena, Value *out_value) {
  const TableShape *table = reader_table(row->reader, row->table);
  const ColumnShape *shape = &table->columns[column];
  return value_from_page(row->reader->shape, shape, (CellRun){row->reader->shape->trees[table->tree].leaf, {row->page, row->slot}, shape->at}, arena, out_value);
}

// ---- ranges -----------------------------------------------------------------------------------
// The two ends as cells, in the order of the tree.
typedef struct Bounds {
  Cell low[LAYOUT_KEY_MAX], high[LAYOUT_KEY_MAX];
  unsigned low_count, high_count;
  bool low_after, high_after;      // the end lies behind all rows that begin with these cells
} Bounds;

static uint16_t order_column(const Reader *reader, uint16_t table, uint16_t number, unsigned position) {
  const TableDef *def = &reader->shape->schema->tables[table];
  if (number == SCHEMA_NO_INDEX) return def->key[position];
  const IndexDef *index = &def->indexes[number];
  return position < index->column_count ? index->columns[position].column : def->key[position - index->column_count];
}

static bool range_descending(const Reader *reader, const Range *range, unsigned position) {
  if (range->index == SCHEMA_NO_INDEX) return false;
  const IndexDef *index = &reader->shape->schema->tables[range->table].indexes[range->index];
  return position < index->column_count && index->columns[position].descending;
}

static uint32_t range_tree(const Reader *reader, const Range *range) {
  return reader_table(reader, range->table)->tree + (range->index == SCHEMA_NO_INDEX ? 0 : 1u + range->index);
}

static Err add_bound(const Reader *reader, const Range *range, unsigned position, Value value, Cell *cells, unsigned *count) {
  const ColumnShape *column = &reader_table(reader, range->table)->columns[order_column(reader, range->table, range->index, position)];
  assert(*count + column->count <= LAYOUT_KEY_MAX);
  TRY(cells_from_column(reader->shape, column, value, NULL, cells + *count));
  *count += column->count;
  return ERR_NONE;
}

static Err range_bounds(const Reader *reader, const Range *range, Bounds *out) {
  unsigned count = 0;
  for (unsigned i = 0; i < range->equal_count; i++) TRY(add_bound(reader, range, i, range->equal[i], out->low, &count));
  memcpy(out->high, out->low, count * sizeof(Cell));
  out->low_count = out->high_count = count;
  out->low_after = false;
  out->high_after = true;
  bool turned = (range->has_low || range->has_high) && range_descending(reader, range, range->equal_count);
  bool has_first = turned ? range->has_high : range->has_low, has_last = turned ? range->has_low : range->has_high;
  if (has_first) {
    TRY(add_bound(reader, range, range->equal_count, turned ? range->high : range->low, out->low, &out->low_count));
    out->low_after = !(turned ? range->high_inclusive : range->low_inclusive);
  }
  if (has_last) {
    TRY(add_bound(reader, range, range->equal_count, turned ? range->low : range->high, out->high, &out->high_count));
    out->high_after = turned ? range->low_inclusive : range->high_inclusive;
  }
  return ERR_NONE;
}

static uint64_t low_rank(const TreeShape *tree, TreeRoot root, const Bounds *bounds, Path *path) {
  return tree_rank(tree, root, bounds->low, bounds->low_count, bounds->low_after, path);
}

static uint64_t high_rank(const TreeShape *tree, TreeRoot root, const Bounds *bounds, Path *path) {
  return tree_rank(tree, root, bounds->high, bounds->high_count, bounds->high_after, path);
}

// The rows of the range, and the paths to its first row and to the one behind its last.
static RankSpan range_paths(const Reader *reader, const Range *range, Path *from, Path *to) {
  Bounds bounds;
  uint32_t number = range_tree(reader, range);
  const TreeShape *tree = &reader->shape->trees[number];
  TreeRoot root = reader->roots[number];
  RankSpan span = {0, root.rows};
  if (!range->equal_count && !range->has_low && !range->has_high) {
    tree_seek_rank(tree, root, 0, from);
    tree_seek_rank(tree, root, root.rows, to);
    return span;
  }
  if (range_bounds(reader, range, &bounds) != ERR_NONE) return (RankSpan){0};
  span = (RankSpan){low_rank(tree, root, &bounds, from), high_rank(tree, root, &bounds, to)};
  if (span.to < span.from) span.to = span.from;
  return span;
}

RankSpan range_span(const Reader *reader, const Range *range) {
  if (!range->equal_count && !range->has_low && !range->has_high) return (RankSpan){0, reader->roots[range_tree(reader, range)].rows};
  Path from, to;
  return range_paths(reader, range, &from, &to);
}

uint64_t range_count(const Reader *reader, const Range *range) {
  RankSpan span = range_span(reader, range);
  return span.to - span.from;
}

// ---- summing up -------------------------------------------------------------------------------
// Whole children between the two paths, from the page down where they part; at their two edges, what lies inside.
static void sum_between(const TreeShape *tree, const KeptShape *kept, const Path *from, const Path *to, Summary *summary) {
  unsigned level = 0, leaf = from->height - 1;
  while (level < leaf && from->slots[level] == to->slots[level]) level++;
  unsigned first = from->slots[level] + (level < leaf ? 1u : 0u);
  kept_add(tree, kept, (PageSlice){from->pages[level], first, to->slots[level]}, summary);
  while (++level <= leaf) {
    const Page *left = from->pages[level], *right = to->pages[level];
    kept_add(tree, kept, (PageSlice){left, from->slots[level] + (level < leaf ? 1u : 0u), left->count}, summary);
    kept_add(tree, kept, (PageSlice){right, 0, to->slots[level]}, summary);
  }
}

static const KeptShape *find_kept(const TreeShape *tree, uint16_t column) {
  for (unsigned k = 0; k < tree->kept_count; k++)
    if (tree->kept[k].column == column) return &tree->kept[k];
  return NULL;
}

bool range_summary(const Reader *reader, const Range *range, uint16_t column, Summary *out_summary) {
  const TreeShape *tree = &reader->shape->trees[range_tree(reader, range)];
  const KeptShape *kept = find_kept(tree, column);
  Path from, to;
  if (!kept) return false;
  *out_summary = summary_none();
  RankSpan span = range_paths(reader, range, &from, &to);
  if (span.to > span.from) sum_between(tree, kept, &from, &to, out_summary);
  return true;
}

bool span_summary(const Reader *reader, uint16_t table, uint16_t index, RankSpan span, uint16_t column, Summary *out_summary) {
  uint32_t number = reader_table(reader, table)->tree + (index == SCHEMA_NO_INDEX ? 0 : 1u + index);
  const TreeShape *tree = &reader->shape->trees[number];
  const KeptShape *kept = find_kept(tree, column);
  Path from, to;
  if (!kept) return false;
  assert(span.from <= span.to && span.to <= reader->roots[number].rows);
  *out_summary = summary_none();
  if (span.to == span.from) return true;
  tree_seek_rank(tree, reader->roots[number], span.from, &from);
  tree_seek_rank(tree, reader->roots[number], span.to, &to);
  sum_between(tree, kept, &from, &to, out_summary);
  return true;
}

// ---- cursors ----------------------------------------------------------------------------------
struct Cursor {
  const Reader *reader;
  const TreeShape *tree;
  uint32_t number;          // of the tree
  bool backward;
  bool stands;              // on a row; else before the first (or behind the last)
  bool whole;               // no bounds at all
  bool jumped;              // beyond the rest of a group: the path is not at the row before the one to come
  unsigned place_cells;     // rows that begin with so many cells of the key are behind it: all of them, or a group's
  uint64_t left;            // rows still to come
  uint64_t rank;            // of the row to come; going backward: one more than it
  uint64_t version;
  Path path;                // to the row it stands on; before the first: to the row to come
  Bounds *bounds;           // NULL when whole
  const Page *parent;       // of the leaf, when what lies ahead is known
  Page *const *children, *const *cousins;  // of the parent, and of the next one
  unsigned cousin_count;
  Cell *key;                // of a Txn's cursor: the entry's key it stands on
  char *key_text;
};

static TreeRoot cursor_root(const Cursor *cursor) { return cursor->reader->roots[cursor->number]; }

static uint64_t cursor_low(const Cursor *cursor, Path *path) { return cursor->whole ? 0 : low_rank(cursor->tree, cursor_root(cursor), cursor->bounds, path); }
static uint64_t cursor_high(const Cursor *cursor, Path *path) {
  return cursor->whole ? cursor_root(cursor).rows : high_rank(cursor->tree, cursor_root(cursor), cursor->bounds, path);
}

// Finds the rows still to come: all, or those beyond the key it stood on.
static void cursor_seek(Cursor *cursor) {
  cursor->parent = NULL;
  Path other;
  uint64_t low, high;
  const TreeShape *tree = cursor->tree;
  TreeRoot root = cursor_root(cursor);
  if (cursor->stands && !cursor->backward) low = tree_rank(tree, root, cursor->key, cursor->place_cells, true, &cursor->path);
  else low = cursor_low(cursor, cursor->backward ? &other : &cursor->path);
  if (cursor->stands && cursor->backward) high = tree_rank(tree, root, cursor->key, cursor->place_cells, false, &cursor->path);
  else high = cursor_high(cursor, cursor->backward ? &cursor->path : &other);
  if (cursor->whole && !cursor->stands) tree_seek_rank(tree, root, cursor->backward ? high : low, &cursor->path);
  cursor->left = high > low ? high - low : 0;
  cursor->rank = cursor->backward ? high : low;
  cursor->version = cursor->reader->version ? *cursor->reader->version : 0;
}

static bool cursor_stale(const Cursor *cursor) { return cursor->reader->version && *cursor->reader->version != cursor->version; }

// What a cursor needs beside itself; kept when it is opened again.
static Err cursor_memory(Cursor *cursor, const Reader *reader, Arena *arena) {
  const Layout *leaf = cursor->tree->leaf;
  if (!cursor->whole && !cursor->bounds) cursor->bounds = arena_alloc(arena, sizeof *cursor->bounds);
  if (!cursor->whole && !cursor->bounds) return ERR_MEMORY;
  if (!reader->version) return ERR_NONE;
  if (!cursor->key) cursor->key = ARENA_ARRAY(arena, Cell, leaf->key_count);
  if (!cursor->key_text && leaf->key_text_count) cursor->key_text = arena_alloc(arena, TABLE_KEY_BYTES_MAX);
  return cursor->key && (cursor->key_text || !leaf->key_text_count) ? ERR_NONE : ERR_MEMORY;
}

Err cursor_open(const Reader *reader, const Range *range, Arena *arena, Cursor **out_cursor) {
  Cursor *cursor = *out_cursor ? *out_cursor : ARENA_NEW(arena, Cursor);
  if (!cursor) return ERR_MEMORY;
  assert(!*out_cursor || (cursor->reader == reader && cursor->number == range_tree(reader, range)));
  cursor->reader = reader;
  cursor->number = range_tree(reader, range);
  cursor->tree = &reader->shape->trees[cursor->number];
  cursor->backward = range->backward;
  cursor->stands = cursor->jumped = false;
  cursor->whole = !range->equal_count && !range->has_low && !range->has_high;
  TRY(cursor_memory(cursor, reader, arena));
  if (!cursor->whole) TRY(range_bounds(reader, range, cursor->bounds));
  cursor_seek(cursor);
  *out_cursor = cursor;
  return ERR_NONE;
}

static const Page *cursor_page(const Cursor *cursor) { return cursor->path.pages[cursor->path.height - 1]; }
static unsigned cursor_slot(const Cursor *cursor) { return cursor->path.slots[cursor->path.height - 1]; }

static CellRun cursor_run(const Cursor *cursor, unsigned at) { return (CellRun){cursor->tree->leaf, {cursor_page(cursor), cursor_slot(cursor)}, at}; }

static void keep_place(Cursor *cursor) {
  cursor->stands = true;
  cursor->jumped = false;
  cursor->place_cells = cursor->tree->leaf->key_count;
  if (!cursor->key) return;
  const Layout *leaf = cursor->tree->leaf;
  char *text = cursor->key_text;
  for (unsigned c = 0; c < leaf->key_count; c++) {
    cursor->key[c] = page_cell(leaf, cursor_page(cursor), c, cursor_slot(cursor));
    if (leaf->columns[c].kind != CELL_TEXT) continue;
    size_t len = cursor->key[c].text.len;
    assert((size_t)(text - cursor->key_text) + len <= TABLE_KEY_BYTES_MAX);
    if (len) memcpy(text, cursor->key[c].text.ptr, len);
    cursor->key[c].text.ptr = text;
    text += len;
  }
}

// Moves the path to the row to come.
static bool advance(Cursor *cursor) {
  bool at_next = !cursor->stands;  // the path is at the row to come (backward: behind it)
  if (cursor_stale(cursor)) {
    cursor_seek(cursor);
    at_next = true;
  } else if (cursor->jumped && cursor->left) {
    tree_seek_rank(cursor->tree, cursor_root(cursor), cursor->rank, &cursor->path);
    at_next = true;
  }
  if (cursor->left == 0) return false;
  bool moved = cursor->backward ? path_back(cursor->tree, &cursor->path) : at_next || path_next(cursor->tree, &cursor->path);
  assert(moved);
  (void)moved;
  cursor->left--;
  cursor->rank = cursor->backward ? cursor->rank - 1 : cursor->rank + 1;
  return true;
}

bool cursor_next(Cursor *cursor) {
  if (!advance(cursor)) return false;
  keep_place(cursor);
  return true;
}

Err cursor_skip(Cursor *cursor, uint64_t rows) {
  if (cursor_stale(cursor)) cursor_seek(cursor);
  if (rows > cursor->left) rows = cursor->left;
  if (rows == 0) return ERR_NONE;
  cursor->left -= rows;
  cursor->rank = cursor->backward ? cursor->rank - rows : cursor->rank + rows;
  tree_seek_rank(cursor->tree, cursor_root(cursor), cursor->backward ? cursor->rank : cursor->rank - 1, &cursor->path);
  keep_place(cursor);
  return ERR_NONE;
}

bool cursor_next_group(Cursor *cursor, uint16_t columns, RankSpan *out_group) {
  if (!cursor_next(cursor)) return false;
  Cell key[LAYOUT_KEY_MAX];
  unsigned cells = 0;
  for (unsigned i = 0; i < columns; i++) cells += reader_table(cursor->reader, cursor->tree->table)->columns[order_column(cursor->reader, cursor->tree->table, cursor->tree->index, i)].count;
  assert(cells <= cursor->tree->leaf->key_count);
  for (unsigned c = 0; c < cells; c++) key[c] = page_cell(cursor->tree->leaf, cursor_page(cursor), c, cursor_slot(cursor));
  Path path;
  uint64_t end = tree_rank(cursor->tree, cursor_root(cursor), key, cells, !cursor->backward, &path);
  RankSpan group = {cursor->rank - 1, cursor->rank + cursor->left};
  if (cursor->backward) group = (RankSpan){cursor->rank - cursor->left, cursor->rank + 1};
  if (cursor->backward && end > group.from) group.from = end;
  if (!cursor->backward && end < group.to) group.to = end;
  cursor->left -= group.to - group.from - 1;
  cursor->rank = cursor->backward ? group.from : group.to;
  cursor->place_cells = cells;
  cursor->jumped = true;
  *out_group = group;
  return true;
}

// The row's key: in the table's tree the first cells, in an index those behind its own columns.
static Err key_value(const Cursor *cursor, Arena *arena, Value *out_key) {
  const Shape *shape = cursor->reader->shape;
  const TableShape *table = &shape->tables[cursor->tree->table];
  const TableDef *def = &shape->schema->tables[cursor->tree->table];
  bool in_page = !cursor->key;
  unsigned at = cursor->tree->leaf->key_count - table->key_cells;
  Value *parts = def->key_count == 1 ? out_key : ARENA_ARRAY(arena, Value, def->key_count);
  if (!parts) return ERR_MEMORY;
  for (unsigned k = 0; k < def->key_count; k++) {
    const ColumnShape *column = &table->columns[def->key[k]];
    if (in_page) TRY(value_from_page(shape, column, cursor_run(cursor, at), arena, &parts[k]));
    else TRY(value_from_cells(shape, column, cursor->key + at, arena, &parts[k]));
    at += column->count;
  }
  if (def->key_count > 1) out_key->record = parts;
  return ERR_NONE;
}

Err cursor_key(const Cursor *cursor, Arena *arena, Value *out_key) {
  assert(cursor->stands);
  return key_value(cursor, arena, out_key);
}

static Err column_by_key(Cursor *cursor, uint16_t column, Arena *arena, Value *out_value) {
  uint16_t table = cursor->tree->table;
  unsigned at = cursor->tree->leaf->key_count - reader_table(cursor->reader, table)->key_cells;
  Cell cells[LAYOUT_KEY_MAX];
  const Cell *key = cursor->key ? cursor->key + at : cells;
  for (unsigned c = 0; !cursor->key && c < reader_table(cursor->reader, table)->key_cells; c++)
    cells[c] = page_cell(cursor->tree->leaf, cursor_page(cursor), at + c, cursor_slot(cursor));
  Row row;
  if (!find_cells(cursor->reader, table, key, &row)) return ERR_NOT_FOUND;
  return row_column(&row, column, arena, out_value);
}

Err cursor_column(Cursor *cursor, uint16_t column, Arena *arena, Value *out_value) {
  assert(cursor->stands);
  const TableShape *table = reader_table(cursor->reader, cursor->tree->table);
  const ColumnShape *shape = &table->columns[column];
  uint16_t at = cursor->tree->index == SCHEMA_NO_INDEX ? shape->at : cursor->tree->entry_at[column];
  if (at == SCHEMA_NO_COLUMN || cursor_stale(cursor)) return column_by_key(cursor, column, arena, out_value);
  return value_from_page(cursor->reader->shape, shape, cursor_run(cursor, at), arena, out_value);
}

// ---- a leaf at a time -------------------------------------------------------------------------
// As page_fetch.
#define FETCH __attribute__((always_inline)) inline

// Leaves lie anywhere in memory, so the processor cannot guess the next one. A scan asks early: for the head of a leaf eight
// steps before it is reached, and for the column that is being read (and the key that a Txn's cursor keeps) three before.
// The leaves to come are the children of this parent, and then those of the next.
enum { AHEAD_HEAD = 8, AHEAD_COLUMN = 3 };

static void look_ahead(Cursor *cursor) {
  const Path *path = &cursor->path;
  if (path->height < 2 || cursor->parent == path->pages[path->height - 2]) return;
  unsigned level = path->height - 2;
  const Page *next = NULL;
  if (level > 0 && path->slots[level - 1] + 1u < path->pages[level - 1]->count) next = inner_child(cursor->tree, path->pages[level - 1], path->slots[level - 1] + 1u);
  cursor->parent = path->pages[level];
  cursor->children = inner_children(cursor->tree, cursor->parent);
  cursor->cousins = next ? inner_children(cursor->tree, next) : NULL;
  cursor->cousin_count = next ? next->count : 0;
}

static const Page *leaf_ahead(const Cursor *cursor, unsigned ahead) {
  if (cursor->path.height < 2) return NULL;
  unsigned slot = cursor->path.slots[cursor->path.height - 2] + ahead, count = cursor->parent->count;
  if (slot < count) return cursor->children[slot];
  return slot - count < cursor->cousin_count ? cursor->cousins[slot - count] : NULL;
}

FETCH static void fetch_column(const Cursor *cursor, unsigned column) {
  const Page *leaf = leaf_ahead(cursor, AHEAD_COLUMN);
  if (!leaf) return;
  const Layout *layout = cursor->tree->leaf;
  const uint8_t *from = page_column(layout, leaf, column), *to = from + (size_t)leaf->count * layout->columns[column].width;
  for (; from < to; from += 64) __builtin_prefetch(from);
  if (cursor->key) __builtin_prefetch(page_column(layout, leaf, 0) + (size_t)(leaf->count - 1) * layout->columns[0].width);
}

// The usual step: from the last row of a leaf to the next leaf under the same parent.
static bool step_leaf(Cursor *cursor) {
  Path *path = &cursor->path;
  if (cursor->backward || !cursor->stands || cursor->jumped || cursor->left == 0 || path->height < 2 || cursor_stale(cursor)) return false;
  unsigned leaf = path->height - 1;
  const Page *parent = path->pages[leaf - 1];
  unsigned next = path->slots[leaf - 1] + 1u;
  if (path->slots[leaf] + 1u < path->pages[leaf]->count || next >= parent->count || cursor->parent != parent) return false;
  path->slots[leaf - 1] = (uint16_t)next;
  path->pages[leaf] = cursor->children[next];
  path->slots[leaf] = 0;
  cursor->left--;
  cursor->rank++;
  return true;
}

bool cursor_batch(Cursor *cursor, LeafBatch *out_batch) {
  if (!step_leaf(cursor)) {
    if (!advance(cursor)) return false;
    if (!cursor->backward) look_ahead(cursor);
  }
  if (!cursor->backward) {
    const Page *leaf = leaf_ahead(cursor, AHEAD_HEAD);
    if (leaf) __builtin_prefetch(leaf);
  }
  unsigned here = cursor_slot(cursor);
  uint64_t more = cursor->backward ? here : cursor_page(cursor)->count - 1u - here;
  if (more > cursor->left) more = cursor->left;
  unsigned first = cursor->backward ? here - (unsigned)more : here;
  *out_batch = (LeafBatch){.cursor = cursor, .page = cursor_page(cursor), .first = first, .count = (uint32_t)more + 1, .backward = cursor->backward};
  cursor->path.slots[cursor->path.height - 1] = (uint16_t)(cursor->backward ? first : here + more);
  cursor->left -= more;
  cursor->rank = cursor->backward ? cursor->rank - more : cursor->rank + more;
  keep_place(cursor);
  return true;
}

void batch_stand(const LeafBatch *batch, uint32_t row) {
  Cursor *cursor = batch->cursor;
  assert(row < batch->count && cursor_page(cursor) == batch->page);
  cursor->path.slots[cursor->path.height - 1] = (uint16_t)(batch->first + row);
  keep_place(cursor);
}

_Static_assert((int)CELL_I64 == BATCH_I64 && (int)CELL_F64 == BATCH_F64 && (int)CELL_U8 == BATCH_U8 && (int)CELL_U16 == BATCH_U16 && (int)CELL_UUID == BATCH_UUID && (int)CELL_TEXT == BATCH_TEXT, "a cell's kind is that of a batch");

bool batch_column(const LeafBatch *batch, uint16_t column, BatchColumn *out_column) {
  const Cursor *cursor = batch->cursor;
  const ColumnShape *def = &cursor->reader->shape->tables[cursor->tree->table].columns[column];
  uint16_t at = cursor->tree->index == SCHEMA_NO_INDEX ? def->at : cursor->tree->entry_at[column];
  if (at == SCHEMA_NO_COLUMN || !def->is_array) return false;
  const Layout *layout = cursor->tree->leaf;
  unsigned value = at + (def->optional ? 1u : 0u);
  const LayoutColumn *cells = &layout->columns[value];
  *out_column = (BatchColumn){.kind = (BatchKind)cells->kind, .stride = cells->width};
  out_column->values = page_column(layout, batch->page, value) + (size_t)batch->first * cells->width;
  if (!cursor->backward) fetch_column(cursor, value);
  out_column->present = def->optional ? page_column(layout, batch->page, at) + batch->first : NULL;
  return true;
}

Str batch_text(const LeafBatch *batch, const BatchColumn *column, uint32_t row) {
  assert(column->kind == BATCH_TEXT && row < batch->count);
  return page_text(batch->page, (const uint8_t *)column->values + 16 * (size_t)row);
}
