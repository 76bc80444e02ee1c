// Another shape for the same data: new trees are built beside the old ones, row by row and in key order, and take their
// place at the end; a table or index whose rows are stored as before is not touched but shared. A table keeps its key, so it
// is written from end to end, a leaf at a time (bulk.h); only new indexes, whose entries come in any order, are put in one by one. When
// something fails on the way, the new trees are let go like those of an undone input.
#include <assert.h>

#include "runtime/base/mem.h"
#include "runtime/table/bulk.h"
#include "runtime/table/db.h"
#include "runtime/table/tree.h"

// The Db with the new shape while its trees are being filled; it borrows pool and epoch of the old one.
typedef struct Reshape {
  Db *db;
  Db next;
  const Schema *schema;
  const ReshapeTable *tables;
  bool *shared;             // by tree of the new shape: its pages are those of an old tree
  bool *kept;               // by tree of the old shape: its pages live on
} Reshape;

// ---- what can be shared -----------------------------------------------------------------------
// What is kept must be kept of the same columns, and lie alike.
static bool same_kept(const Reshape *reshape, uint16_t table, const TreeShape *now, const TreeShape *before) {
  if (now->kept_count != before->kept_count || !layout_equal(now->inner, before->inner)) return false;
  for (unsigned k = 0; k < now->kept_count; k++) {
    KeptShape as_before = now->kept[k];
    as_before.column = reshape->tables[table].columns[as_before.column].from;
    if (memcmp(&as_before, &before->kept[k], sizeof as_before) != 0) return false;
  }
  return true;
}

static bool same_tree(const Reshape *reshape, uint16_t table, uint32_t now, uint32_t before) {
  const TreeShape *new_tree = &reshape->next.shape->trees[now], *old_tree = &reshape->db->shape->trees[before];
  return layout_equal(new_tree->leaf, old_tree->leaf) && same_kept(reshape, table, new_tree, old_tree);
}

static bool same_columns(const Reshape *reshape, uint16_t table) {
  const ReshapeTable *plan = &reshape->tables[table];
  const TableDef *now = &reshape->schema->tables[table], *before = &reshape->db->shape->schema->tables[plan->from];
  if (now->column_count != before->column_count) return false;
  for (unsigned c = 0; c < now->column_count; c++)
    if (plan->columns[c].from != c) return false;
  return same_tree(reshape, table, reshape->next.shape->tables[table].tree, reshape->db->shape->tables[plan->from].tree);
}

static bool same_index(const Reshape *reshape, uint16_t table, const IndexDef *now, const IndexDef *before) {
  const ReshapeTable *plan = &reshape->tables[table];
  if (now->column_count != before->column_count || now->carried_count != before->carried_count) return false;
  for (unsigned c = 0; c < now->column_count; c++)
    if (plan->columns[now->columns[c].column].from != before->columns[c].column || now->columns[c].descending != before->columns[c].descending) return false;
  for (unsigned c = 0; c < now->carried_count; c++)
    if (plan->columns[now->carried[c]].from != before->carried[c]) return false;
  return true;
}

static void share_tree(Reshape *reshape, uint32_t now, uint32_t before) {
  if (reshape->kept[before]) return;  // already given to another tree
  reshape->shared[now] = reshape->kept[before] = true;
  reshape->next.txn.roots[now] = reshape->db->txn.roots[before];
}

static void share_trees(Reshape *reshape, uint16_t table) {
  uint16_t from = reshape->tables[table].from;
  const Shape *new_shape = reshape->next.shape, *old_shape = reshape->db->shape;
  const TableDef *now = &reshape->schema->tables[table], *before = &old_shape->schema->tables[from];
  uint32_t new_tree = new_shape->tables[table].tree, old_tree = old_shape->tables[from].tree;
  if (same_columns(reshape, table)) share_tree(reshape, new_tree, old_tree);
  for (unsigned i = 0; i < now->index_count; i++)
    for (unsigned k = 0; k < before->index_count && !reshape->shared[new_tree + 1 + i]; k++)
      if (same_index(reshape, table, &now->indexes[i], &before->indexes[k]) && same_tree(reshape, table, new_tree + 1 + i, old_tree + 1 + k))
        share_tree(reshape, new_tree + 1 + i, old_tree + 1 + k);
}

// ---- copying ----------------------------------------------------------------------------------
// For a while both states are there: the new one alone must fit.
static Err within_budget(const Reshape *reshape) {
  uint64_t before = reshape->db->pool.bytes_used, most = reshape->db->bytes_max;
  return most && reshape->next.pool.bytes_used - before > most ? ERR_FULL : ERR_NONE;
}

static Err add_row(Reshape *reshape, uint32_t tree, Cell *cells) {
  const TreeShape *shape = &reshape->next.shape->trees[tree];
  TreeNeed need = {0};
  const Page *page;
  unsigned slot;
  if (tree_find_row(shape, reshape->next.txn.roots[tree], cells, &page, &slot)) return ERR_EXISTS;  // keys that were two became one
  if (cells_key_bytes(shape->leaf, cells) > TABLE_KEY_BYTES_MAX) return ERR_LIMIT;
  TRY(bulk_keep_large(&reshape->next, shape->leaf, cells));
  tree_need(shape, reshape->next.txn.roots[tree], cells_heap_bytes(shape->leaf, cells), &need);
  TRY(within_budget(reshape));
  for (unsigned class = 0; class < PAGE_CLASSES; class++)
    if (need.blocks[class]) TRY(pool_reserve(&reshape->next.pool, class, need.blocks[class]));
  tree_insert(&reshape->next, tree, NULL, cells);
  return ERR_NONE;
}

// A key is made of the columns it was made of, so rows come in the order of the new tree.
static bool same_key(const Reshape *reshape, uint16_t table) {
  const ReshapeTable *plan = &reshape->tables[table];
  const TableDef *now = &reshape->schema->tables[table], *before = &reshape->db->shape->schema->tables[plan->from];
  if (now->key_count != before->key_count) return false;
  for (unsigned k = 0; k < now->key_count; k++)
    if (plan->columns[now->key[k]].from != before->key[k]) return false;
  return true;
}

// A column may only take one that is stored alike.
static bool alike(const Reshape *reshape, uint16_t table) {
  const ReshapeTable *plan = &reshape->tables[table];
  const TableShape *now = &reshape->next.shape->tables[table], *before = &reshape->db->shape->tables[plan->from];
  const Layout *layout = reshape->next.shape->trees[now->tree].leaf, *old = reshape->db->shape->trees[before->tree].leaf;
  for (unsigned c = 0; c < reshape->schema->tables[table].column_count; c++) {
    if (plan->columns[c].from == RESHAPE_NEW) continue;
    const ColumnShape *to = &now->columns[c], *from = &before->columns[plan->columns[c].from];
    if (to->count != from->count) return false;
    for (unsigned n = 0; n < to->count; n++)
      if (layout->columns[to->at + n].kind != old->columns[from->at + n].kind) return false;
  }
  return true;
}

// The row's cells in the new layout: those of old columns as they are, new ones from their value.
static void row_cells(Reshape *reshape, uint16_t table, const Page *page, unsigned slot, const Cell *defaults) {
  const ReshapeTable *plan = &reshape->tables[table];
  const TableShape *now = &reshape->next.shape->tables[table];
  const TableShape *before = plan->from == RESHAPE_NEW ? NULL : &reshape->db->shape->tables[plan->from];
  for (unsigned c = 0; c < reshape->schema->tables[table].column_count; c++) {
    const ColumnShape *column = &now->columns[c];
    if (plan->columns[c].from == RESHAPE_NEW) {
      memcpy(reshape->next.cells + column->at, defaults + column->at, column->count * sizeof(Cell));
      continue;
    }
    const ColumnShape *old = &before->columns[plan->columns[c].from];
    const Layout *layout = reshape->db->shape->trees[before->tree].leaf;
    for (unsigned n = 0; n < column->count; n++) reshape->next.cells[column->at + n] = page_cell(layout, page, old->at + n, slot);
  }
}

static Err fill_indexes(Reshape *reshape, uint16_t table) {
  const TableShape *shape = &reshape->next.shape->tables[table];
  for (unsigned i = 0; i < shape->index_count; i++) {
    uint32_t tree = shape->tree + 1 + i;
    const TreeShape *index = &reshape->next.shape->trees[tree];
    if (reshape->shared[tree]) continue;
    for (unsigned c = 0; c < index->leaf->column_count; c++) reshape->next.entries[c] = reshape->next.cells[index->source[c]];
    TRY(add_row(reshape, tree, reshape->next.entries));
  }
  return ERR_NONE;
}

static bool all_shared(const Reshape *reshape, uint16_t table) {
  const TableShape *shape = &reshape->next.shape->tables[table];
  for (unsigned i = 0; i <= shape->index_count; i++)
    if (!reshape->shared[shape->tree + i]) return false;
  return true;
}

// By cell of the new layout, the old cell that it takes.
static uint16_t *map_cells(const Reshape *reshape, uint16_t table, Arena *arena) {
  const TableShape *now = &reshape->next.shape->tables[table], *before = &reshape->db->shape->tables[reshape->tables[table].from];
  uint16_t *from = arena_alloc(arena, reshape->next.shape->cells_max * sizeof *from);
  for (unsigned c = 0; from && c < reshape->schema->tables[table].column_count; c++) {
    uint16_t old = reshape->tables[table].columns[c].from;
    for (unsigned n = 0; n < now->columns[c].count; n++) from[now->columns[c].at + n] = old == RESHAPE_NEW ? SCHEMA_NO_COLUMN : (uint16_t)(before->columns[old].at + n);
  }
  return from;
}

// The rows of the old table, in order, as the new ones and their entries in the indexes that are to be filled.
typedef struct Copy { Reshape *reshape; const Cell *defaults; BulkMap map; Bulk bulk; uint16_t table; bool rows, entries; } Copy;

static Err copy_leaf(Copy *copy, const Page *leaf) {
  bool done = !copy->rows;
  TRY(within_budget(copy->reshape));
  if (copy->rows) TRY(bulk_add_leaf(&copy->bulk, &copy->map, leaf, &done));
  if (done && !copy->entries) return ERR_NONE;
  for (unsigned slot = 0; slot < leaf->count; slot++) {
    row_cells(copy->reshape, copy->table, leaf, slot, copy->defaults);
    if (copy->entries) TRY(fill_indexes(copy->reshape, copy->table));  // before the row's own tree, which moves long texts to pages of its own
    if (!done) TRY(bulk_add(&copy->bulk, copy->reshape->next.cells));
  }
  return ERR_NONE;
}

static Err copy_rows(Reshape *reshape, uint16_t table, const Cell *defaults, Arena *arena) {
  const TableShape *before = &reshape->db->shape->tables[reshape->tables[table].from], *now = &reshape->next.shape->tables[table];
  const TreeShape *rows = &reshape->db->shape->trees[before->tree];
  TreeRoot root = reshape->db->txn.roots[before->tree];
  Copy copy = {.reshape = reshape, .defaults = defaults, .table = table, .rows = !reshape->shared[now->tree]};
  for (unsigned i = 0; i < now->index_count; i++) copy.entries = copy.entries || !reshape->shared[now->tree + 1 + i];
  copy.map = (BulkMap){.layout = rows->leaf, .from = map_cells(reshape, table, arena), .defaults = defaults};
  if (!copy.map.from) return ERR_MEMORY;
  bulk_start(&copy.bulk, &reshape->next, &reshape->next.shape->trees[now->tree]);
  Path path;
  tree_seek_rank(rows, root, 0, &path);
  for (uint64_t left = root.rows; left > 0;) {
    const Page *leaf = path.pages[path.height - 1];
    TRY(copy_leaf(&copy, leaf));
    left -= leaf->count;
    path.slots[path.height - 1] = (uint16_t)(leaf->count - 1);
    path_next(rows, &path);
  }
  return copy.rows ? bulk_finish(&copy.bulk, &reshape->next.txn.roots[now->tree]) : ERR_NONE;
}

// The state table's one row is there even when the table is new.
static Err fill_table(Reshape *reshape, uint16_t table, Arena *arena) {
  const ReshapeTable *plan = &reshape->tables[table];
  const TableDef *def = &reshape->schema->tables[table];
  const Shape *shape = reshape->next.shape;
  Cell *defaults = ARENA_ARRAY(arena, Cell, shape->cells_max);
  if (!defaults) return ERR_MEMORY;
  for (unsigned c = 0; c < def->column_count; c++)
    if (plan->from == RESHAPE_NEW || plan->columns[c].from == RESHAPE_NEW) {
      const ColumnShape *column = &shape->tables[table].columns[c];
      Value value = plan->from == RESHAPE_NEW && !plan->columns ? value_zero(&reshape->schema->types, column->type) : plan->columns[c].value;
      TRY(cells_from_column(shape, column, value, arena, defaults + column->at));
    }
  if (plan->from != RESHAPE_NEW) return copy_rows(reshape, table, defaults, arena);
  if (table != SCHEMA_STATE_TABLE) return ERR_NONE;
  memcpy(reshape->next.cells, defaults, shape->cells_max * sizeof(Cell));
  return add_row(reshape, shape->tables[table].tree, reshape->next.cells);
}

static Err fill_tables(Reshape *reshape) {
  Arena arena;
  arena_init(&arena, 0);
  Err err = ERR_NONE;
  for (uint16_t t = 0; t < reshape->schema->table_count; t++) {
    if (reshape->tables[t].from == RESHAPE_NEW) continue;
    if (!same_key(reshape, t) || !alike(reshape, t)) err = ERR_REFUSED;
    else share_trees(reshape, t);
  }
  for (uint16_t t = 0; t < reshape->schema->table_count && err == ERR_NONE; t++)
    if (!all_shared(reshape, t)) err = fill_table(reshape, t, &arena);
  arena_free(&arena);
  return err;
}

// ---- the change -------------------------------------------------------------------------------
static Err next_rooms(Db *next, const Shape *shape) {
  next->txn.roots = mem_alloc_zero(shape->tree_count, sizeof(TreeRoot));
  next->txn.root_epochs = mem_alloc_zero(shape->tree_count, sizeof(uint64_t));
  next->sealed = mem_alloc_zero(shape->tree_count, sizeof(TreeRoot));
  next->cells = mem_alloc(shape->cells_max * sizeof(Cell));
  next->entries = mem_alloc(shape->entries_max * sizeof(Cell));
  next->columns = mem_alloc(shape->cells_max * sizeof(uint16_t));
  if (!next->txn.roots || !next->txn.root_epochs || !next->sealed || !next->cells || !next->entries || !next->columns) return ERR_MEMORY;
  for (uint32_t t = 0; t < shape->tree_count; t++) next->txn.root_epochs[t] = next->epoch;  // nothing to undo: roots need no noting
  return ERR_NONE;
}

static void free_rooms(Db *db) {
  mem_free(db->txn.roots);
  mem_free(db->txn.root_epochs);
  mem_free(db->sealed);
  mem_free(db->cells);
  mem_free(db->entries);
  mem_free(db->columns);
}

// Old trees that nothing shares die, the new ones are the sealed state.
static void take_over(Reshape *reshape) {
  Db *db = reshape->db, *next = &reshape->next;
  for (uint32_t t = 0; t < db->shape->tree_count; t++)
    if (!reshape->kept[t]) db__retire_tree(next, &db->shape->trees[t], db->txn.roots[t]);
  free_rooms(db);
  shape_release(db->shape);
  db->shape = next->shape;
  db->pool = next->pool;
  db->dead = next->dead;
  db->born = next->born;
  db->sealed = next->sealed;
  db->cells = next->cells;
  db->entries = next->entries;
  db->columns = next->columns;
  db->txn.roots = next->txn.roots;
  db->txn.root_epochs = next->txn.root_epochs;
  db->txn.reader = (Reader){.shape = db->shape, .roots = db->txn.roots, .version = &db->txn.version};
  db->txn.version++;
  memcpy(db->sealed, db->txn.roots, db->shape->tree_count * sizeof(TreeRoot));
  db__seal_pages(db);
}

static void give_up(Reshape *reshape) {
  Db *next = &reshape->next;
  while (next->born) {
    Page *page = next->born;
    next->born = page->born_next;
    pool_give(&next->pool, page);
  }
  reshape->db->pool = next->pool;
  free_rooms(next);
  if (next->shape) shape_release(next->shape);
}

Err db_reshape(Db *db, const Schema *schema, const ReshapeTable *tables, ErrText *out_text) {
  assert(db->txn.change_count == 0 && !db->dead);
  Reshape reshape = {.db = db, .schema = schema, .tables = tables};
  reshape.next = (Db){.epoch = db->epoch, .pool = db->pool, .bytes_max = db->bytes_max};
  reshape.kept = mem_alloc_zero(db->shape->tree_count, sizeof(bool));
  Err err = reshape.kept ? shape_build(schema, &reshape.next.shape) : ERR_MEMORY;
  if (err == ERR_NONE) {
    reshape.shared = mem_alloc_zero(reshape.next.shape->tree_count, sizeof(bool));
    err = reshape.shared ? next_rooms(&reshape.next, reshape.next.shape) : ERR_MEMORY;
  }
  if (err == ERR_NONE) err = fill_tables(&reshape);
  if (err == ERR_NONE) take_over(&reshape);
  else give_up(&reshape);
  mem_free(reshape.kept);
  mem_free(reshape.shared);
  if (err != ERR_NONE) return err_say(err, out_text, "the tables cannot take their new shape: %s", err_words(err));
  return ERR_NONE;
}
