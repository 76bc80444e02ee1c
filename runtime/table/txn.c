// A change of a row is done in two halves. The first may fail and changes nothing: values become cells, limits are
// checked, the row is looked up, and everything that the trees may need is reserved: pages, list entries, overflow pages
// for long texts. The second cannot fail: the row's tree and those of its indexes are changed, and the change is noted.
#include <assert.h>

#include "runtime/base/mem.h"
#include "runtime/table/db.h"
#include "runtime/table/tree.h"
#include "runtime/value/codec.h"

// What the first half has made ready.
typedef struct Plan {
  Db *db;
  const TableShape *table;
  const TableDef *def;
  const TreeShape *rows;
  uint16_t number;          // of the table
  Path path;                // of the row in the table's tree
  TreeNeed need;
  uint64_t bytes;           // that the change adds to txn_changed_bytes
  bool grows, takes_away;   // what the budget has to say (is_full)
  Page *overflow;           // made for it, by dead_next
  uint64_t keys_len;        // to go back to
} Plan;

static void plan_start(Plan *plan, Txn *txn, uint16_t table) {
  Db *db = txn_db(txn);
  assert(table < db->shape->schema->table_count);
  const TableShape *shape = &db->shape->tables[table];
  arena_reset(&db->scratch);
  plan->db = db;
  plan->table = shape;
  plan->def = &db->shape->schema->tables[table];
  plan->rows = &db->shape->trees[shape->tree];
  plan->number = table;
  plan->need = (TreeNeed){0};
  plan->bytes = 0;
  plan->grows = plan->takes_away = false;
  plan->overflow = NULL;
  plan->keys_len = txn->keys.len;
}

static Err plan_fail(Plan *plan, Err err) {
  while (plan->overflow) {
    Page *next = plan->overflow->dead_next;
    plan->overflow->dead_next = NULL;
    db__page_retire(plan->db, plan->overflow);
    plan->overflow = next;
  }
  plan->db->txn.keys.len = plan->keys_len;
  plan->db->txn.keys.failed = false;
  return err;
}

// Texts may point into pages that the change is about to move: they are copied out, long ones into their overflow page.
static Err keep_text(Plan *plan, const Layout *layout, unsigned column, Cell *cell) {
  if (layout->columns[column].kind != CELL_TEXT) return ERR_NONE;
  if (cell_overflows(layout, column, cell->text.len)) {
    if (plan->db->bytes_max && !plan->db->txn.applying && cell->text.len > plan->db->bytes_max) return ERR_FULL;
    Page *page = db__page_new_large(plan->db, cell->text.len);
    if (!page) return ERR_MEMORY;
    page->dead_next = plan->overflow;
    plan->overflow = page;
    memcpy((char *)page + PAGE_HEADER_BYTES, cell->text.ptr, cell->text.len);
    cell->text.ptr = (char *)page + PAGE_HEADER_BYTES;
  } else if (cell->text.len) {
    cell->text = arena_copy(&plan->db->scratch, cell->text);
    if (!cell->text.ptr) return ERR_MEMORY;
  }
  return ERR_NONE;
}

static Err keep_texts(Plan *plan, const Layout *layout, Cell *cells) {
  for (unsigned c = 0; layout->text_count && c < layout->column_count; c++) TRY(keep_text(plan, layout, c, &cells[c]));
  return ERR_NONE;
}

// Changes that only set numbers need no more room, but copy pages that a held snapshot still sees: they may go so far over
// the budget that an app that is full can still be worked with, and no further. Taking away is always allowed, and so is what
// was saved once.
static bool is_full(const Plan *plan) {
  const Db *db = plan->db;
  if (!db->bytes_max || db->txn.applying || plan->takes_away) return false;
  uint64_t most = plan->grows ? db->bytes_max : db->bytes_max + db->bytes_max / 4;
  return db->pool.bytes_used + plan->bytes > most;
}

// Pages and list entries for all that follows. The budget is looked at before and not counted to the last page: what a
// change may need at worst is far more than what it takes, and a small app would be refused long before it is full.
static Err plan_reserve(Plan *plan) {
  Db *db = plan->db;
  if (is_full(plan)) return ERR_FULL;
  for (unsigned class = 0; class < PAGE_CLASSES; class++)
    if (plan->need.blocks[class] > db->pool.count[class]) TRY(pool_reserve(&db->pool, class, plan->need.blocks[class]));
  return db__reserve_lists(db, 1u + plan->table->index_count);
}

// The key as the list of changes remembers it.
static Err note_key(Plan *plan, const Cell *cells, Change *out) {
  Txn *txn = &plan->db->txn;
  const Layout *layout = plan->rows->leaf;
  *out = (Change){.table = plan->number, .at = txn->keys.len};
  if (layout->key_count == 1 && layout->columns[0].kind != CELL_TEXT && layout->columns[0].kind != CELL_UUID) {
    out->number = cells[0].i;
    return ERR_NONE;
  }
  unsigned at = 0;
  for (unsigned k = 0; k < plan->def->key_count; k++) {
    const ColumnShape *column = &plan->table->columns[plan->def->key[k]];
    Value value;
    TRY(value_from_cells(plan->db->shape, column, cells + at, &plan->db->scratch, &value));
    value_encode(&plan->db->shape->schema->types, column->type, value, &txn->keys);
    at += column->count;
  }
  if (txn->keys.failed) return ERR_MEMORY;
  out->len = (uint32_t)(txn->keys.len - out->at);
  return ERR_NONE;
}

// The second half starts here.
static void plan_done(Plan *plan, Change change) {
  Txn *txn = &plan->db->txn;
  assert(txn->change_count < txn->change_cap);
  change.epoch = plan->db->epoch;
  change.bytes = plan->bytes + (txn->change_count ? txn->changes[txn->change_count - 1].bytes : 0);
  txn->changes[txn->change_count++] = change;
  txn->version++;
  for (Page *page = plan->overflow; page;) {
    Page *next = page->dead_next;
    page->dead_next = NULL;
    page = next;
  }
}

static uint64_t cells_bytes(const Layout *layout, const Cell *cells) {
  uint64_t bytes = layout->row_bytes;
  for (unsigned c = 0; layout->text_count && c < layout->column_count; c++)
    if (layout->columns[c].kind == CELL_TEXT) bytes += cells[c].text.len;
  return bytes;
}

// Where the entries of the table's indexes lie in db->entries.
static Cell *next_entry(Cell *entry, const TreeShape *index) { return entry + index->leaf->column_count; }

// The leaf is about to be copied whole.
static void fetch_leaf(const Plan *plan) {
  if (!plan->path.height) return;
  const Page *leaf = plan->path.pages[plan->path.height - 1];
  if (leaf->born != plan->db->epoch) page_fetch(leaf, leaf->size);
}

// ---- insert -----------------------------------------------------------------------------------
static Err insert_cells(Plan *plan, const Value *columns, Cell *cells) {
  for (unsigned c = 0; c < plan->def->column_count; c++) {
    const ColumnShape *column = &plan->table->columns[c];
    TRY(cells_from_column(plan->db->shape, column, columns[c], &plan->db->scratch, cells + column->at));
  }
  return cells_key_bytes(plan->rows->leaf, cells) > TABLE_KEY_BYTES_MAX ? ERR_LIMIT : ERR_NONE;
}

static Err insert_entries(Plan *plan, const Cell *cells) {
  Cell *entry = plan->db->entries;
  for (unsigned i = 0; i < plan->table->index_count; i++) {
    uint32_t tree = plan->table->tree + 1 + i;
    const TreeShape *index = &plan->db->shape->trees[tree];
    for (unsigned c = 0; c < index->leaf->column_count; c++) entry[c] = cells[index->source[c]];
    if (cells_key_bytes(index->leaf, entry) > TABLE_KEY_BYTES_MAX) return ERR_LIMIT;
    TRY(keep_texts(plan, index->leaf, entry));
    tree_need(index, plan->db->txn.roots[tree], cells_heap_bytes(index->leaf, entry), &plan->need);
    entry = next_entry(entry, index);
  }
  return ERR_NONE;
}

static Err insert_plan(Plan *plan, const Value *columns, Change *change) {
  Db *db = plan->db;
  TreeRoot root = db->txn.roots[plan->table->tree];
  TRY(insert_cells(plan, columns, db->cells));
  if (tree_find(plan->rows, root, db->cells, &plan->path)) return ERR_EXISTS;
  fetch_leaf(plan);
  if (plan->def->rows_max && root.rows >= plan->def->rows_max && !db->txn.applying) return ERR_LIMIT;
  plan->bytes = cells_bytes(plan->rows->leaf, db->cells);
  plan->grows = true;
  TRY(keep_texts(plan, plan->rows->leaf, db->cells));
  tree_need(plan->rows, root, cells_heap_bytes(plan->rows->leaf, db->cells), &plan->need);
  TRY(insert_entries(plan, db->cells));
  TRY(note_key(plan, db->cells, change));
  return plan_reserve(plan);
}

Err txn_insert(Txn *txn, uint16_t table, const Value *columns) {
  Plan plan;
  plan_start(&plan, txn, table);
  Change change;
  Err err = insert_plan(&plan, columns, &change);
  if (err != ERR_NONE) return plan_fail(&plan, err);
  plan_done(&plan, change);
  tree_insert(plan.db, plan.table->tree, &plan.path, plan.db->cells);
  const Cell *entry = plan.db->entries;
  for (unsigned i = 0; i < plan.table->index_count; i++) {
    uint32_t tree = plan.table->tree + 1 + i;
    tree_insert(plan.db, tree, NULL, entry);
    entry += plan.db->shape->trees[tree].leaf->column_count;
  }
  return ERR_NONE;
}

// ---- delete -----------------------------------------------------------------------------------
static void entry_key(const Layout *rows, const TreeShape *index, const Page *page, unsigned slot, Cell *out_key) {
  for (unsigned c = 0; c < index->leaf->key_count; c++) out_key[c] = page_cell(rows, page, index->source[c], slot);
}

static Err find_plan(Plan *plan, Value key, Cell *cells, const Page **page, unsigned *slot) {
  TRY(cells_from_key(plan->db->shape, plan->table, key, cells));
  if (!tree_find(plan->rows, plan->db->txn.roots[plan->table->tree], cells, &plan->path)) return ERR_NOT_FOUND;
  fetch_leaf(plan);
  *page = plan->path.pages[plan->path.height - 1];
  *slot = plan->path.slots[plan->path.height - 1];
  for (unsigned c = 0; plan->rows->leaf->key_text_count && c < plan->table->key_cells; c++) TRY(keep_text(plan, plan->rows->leaf, c, &cells[c]));
  return ERR_NONE;
}

static Err delete_plan(Plan *plan, Value key, Cell *cells, Change *change, const Page **page, unsigned *slot) {
  TRY(find_plan(plan, key, cells, page, slot));
  plan->bytes = plan->rows->leaf->row_bytes;
  plan->takes_away = true;
  for (unsigned i = 0; i <= plan->table->index_count; i++) {
    uint32_t tree = plan->table->tree + i;
    tree_need(&plan->db->shape->trees[tree], plan->db->txn.roots[tree], 0, &plan->need);
  }
  TRY(note_key(plan, cells, change));
  return plan_reserve(plan);
}

Err txn_delete(Txn *txn, uint16_t table, Value key) {
  Plan plan;
  plan_start(&plan, txn, table);
  Change change;
  Cell cells[LAYOUT_KEY_MAX], old[LAYOUT_KEY_MAX];
  const Page *page;
  unsigned slot;
  Err err = delete_plan(&plan, key, cells, &change, &page, &slot);
  if (err != ERR_NONE) return plan_fail(&plan, err);
  plan_done(&plan, change);
  for (unsigned i = 0; i < plan.table->index_count; i++) {
    uint32_t tree = plan.table->tree + 1 + i;
    entry_key(plan.rows->leaf, &plan.db->shape->trees[tree], page, slot, old);
    tree_delete(plan.db, tree, NULL, old);
  }
  tree_delete(plan.db, plan.table->tree, &plan.path, cells);
  return ERR_NONE;
}

// ---- update -----------------------------------------------------------------------------------
// The cells that change, in the table's layout: db->columns names them and db->cells holds them.
typedef struct Update { const Page *page; unsigned slot, count; Cell key[LAYOUT_KEY_MAX]; } Update;

static bool same_as_row(const Layout *layout, const Update *update, unsigned column, Cell cell) {
  return cell_compare(&layout->columns[column], page_cell(layout, update->page, column, update->slot), cell) == 0;
}

static Err update_cells(Plan *plan, Update *update, uint16_t count, const uint16_t *columns, const Value *values) {
  Db *db = plan->db;
  const Layout *layout = plan->rows->leaf;
  for (unsigned i = 0; i < count; i++) {
    assert(columns[i] < plan->def->column_count);
    const ColumnShape *column = &plan->table->columns[columns[i]];
    Cell *cells = db->cells + update->count;
    assert(update->count + column->count <= db->shape->cells_max);
    TRY(cells_from_column(db->shape, column, values[i], &db->scratch, cells));
    unsigned kept = 0;
    for (unsigned c = 0; c < column->count; c++) {
      unsigned at = column->at + c;
      if (same_as_row(layout, update, at, cells[c])) continue;
      if (at < layout->key_count) return ERR_REFUSED;
      cells[kept] = cells[c];
      db->columns[update->count + kept++] = (uint16_t)at;
    }
    update->count += kept;
  }
  return ERR_NONE;
}

static const Cell *changed_cell(const Db *db, const Update *update, unsigned column) {
  for (unsigned i = 0; i < update->count; i++)
    if (db->columns[i] == column) return &db->cells[i];
  return NULL;
}

typedef enum Touch { TOUCH_NONE, TOUCH_CARRIED, TOUCH_KEY } Touch;

static Touch index_touch(const Db *db, const Update *update, const TreeShape *index) {
  Touch touch = TOUCH_NONE;
  for (unsigned c = 0; c < index->leaf->column_count; c++) {
    if (!changed_cell(db, update, index->source[c])) continue;
    if (c < index->leaf->key_count) return TOUCH_KEY;
    touch = TOUCH_CARRIED;
  }
  return touch;
}

// The whole new entry; only the carried cells that are new need texts of their own when the key stays.
static Err update_entry(Plan *plan, const Update *update, uint32_t tree, Cell *entry) {
  const TreeShape *index = &plan->db->shape->trees[tree];
  Touch touch = index_touch(plan->db, update, index);
  if (touch == TOUCH_NONE) return ERR_NONE;
  for (unsigned c = 0; c < index->leaf->column_count; c++) {
    const Cell *changed = changed_cell(plan->db, update, index->source[c]);
    entry[c] = changed ? *changed : page_cell(plan->rows->leaf, update->page, index->source[c], update->slot);
    bool own = touch == TOUCH_KEY || changed;
    if (own) TRY(keep_text(plan, index->leaf, c, &entry[c]));
  }
  if (cells_key_bytes(index->leaf, entry) > TABLE_KEY_BYTES_MAX) return ERR_LIMIT;
  TreeRoot root = plan->db->txn.roots[tree];
  tree_need(index, root, cells_heap_bytes(index->leaf, entry), &plan->need);
  if (touch == TOUCH_KEY) tree_need(index, root, 0, &plan->need);
  return ERR_NONE;
}

static Err update_plan(Plan *plan, Update *update, Change *change) {
  Db *db = plan->db;
  const Layout *layout = plan->rows->leaf;
  uint32_t heap = 0;
  for (unsigned i = 0; i < update->count; i++) {
    unsigned column = db->columns[i];
    plan->bytes += layout->columns[column].width;
    if (layout->columns[column].kind != CELL_TEXT) continue;
    size_t len = db->cells[i].text.len;
    plan->bytes += len;
    plan->grows = true;
    if (!cell_overflows(layout, column, len)) heap += (uint32_t)len;
    TRY(keep_text(plan, layout, column, &db->cells[i]));
  }
  tree_need(plan->rows, db->txn.roots[plan->table->tree], heap, &plan->need);
  Cell *entry = db->entries;
  for (unsigned i = 0; i < plan->table->index_count; i++) {
    uint32_t tree = plan->table->tree + 1 + i;
    TRY(update_entry(plan, update, tree, entry));
    entry = next_entry(entry, &db->shape->trees[tree]);
  }
  TRY(note_key(plan, update->key, change));
  return plan_reserve(plan);
}

static void update_index(Plan *plan, const Update *update, uint32_t tree, const Cell *entry) {
  Db *db = plan->db;
  const TreeShape *index = &db->shape->trees[tree];
  Touch touch = index_touch(db, update, index);
  if (touch == TOUCH_KEY) {
    Cell old[LAYOUT_KEY_MAX];
    entry_key(plan->rows->leaf, index, update->page, update->slot, old);
    tree_delete(db, tree, NULL, old);
    tree_insert(db, tree, NULL, entry);
  } else if (touch == TOUCH_CARRIED) {
    for (unsigned c = index->leaf->key_count; c < index->leaf->column_count; c++) {
      uint16_t column = (uint16_t)c;
      if (changed_cell(db, update, index->source[c])) tree_update(db, tree, NULL, entry, (TreeUpdate){1, &column, &entry[c]});
    }
  }
}

Err txn_update(Txn *txn, uint16_t table, Value key, uint16_t count, const uint16_t *columns, const Value *values) {
  Plan plan;
  plan_start(&plan, txn, table);
  Update update;
  Change change;
  update.count = 0;
  Err err = find_plan(&plan, key, update.key, &update.page, &update.slot);
  if (err == ERR_NONE) err = update_cells(&plan, &update, count, columns, values);
  if (err == ERR_NONE && update.count == 0) return ERR_NONE;
  if (err == ERR_NONE) err = update_plan(&plan, &update, &change);
  if (err != ERR_NONE) return plan_fail(&plan, err);
  plan_done(&plan, change);
  const Cell *entry = plan.db->entries;
  for (unsigned i = 0; i < plan.table->index_count; i++) {
    uint32_t tree = plan.table->tree + 1 + i;
    update_index(&plan, &update, tree, entry);
    entry += plan.db->shape->trees[tree].leaf->column_count;
  }
  tree_update(plan.db, plan.table->tree, &plan.path, update.key, (TreeUpdate){update.count, plan.db->columns, plan.db->cells});
  return ERR_NONE;
}
