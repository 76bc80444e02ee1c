// Life and death of pages: making them in a batch, undoing to a mark, sealing, and freeing what no snapshot sees.
//
// Dead pages wait in the list of the newest held snapshot that sees them; when that is released, each either moves to
// the next older one that sees it too or is freed. So a page is looked at once a snapshot and not once a seal, and a
// snapshot held for long keeps only the pages of its own state.
#include "runtime/table/db.h"

#include <assert.h>

#include "runtime/base/mem.h"
#include "runtime/table/tree.h"

enum { POOL_BYTES_MIN = 64 * 1024 };

// ---- opening ----------------------------------------------------------------------------------
static Err db_rooms(Db *db, const Shape *shape) {
  db->txn.roots = mem_alloc_zero(shape->tree_count, sizeof(TreeRoot));
  db->txn.root_epochs = mem_alloc_zero(shape->tree_count, sizeof(uint64_t));
  db->sealed = mem_alloc_zero(shape->tree_count, sizeof(TreeRoot));
  db->cells = mem_alloc(shape->cells_max * sizeof(Cell));
  db->entries = mem_alloc(shape->entries_max * sizeof(Cell));
  db->columns = mem_alloc(shape->cells_max * sizeof(uint16_t));
  bool all = db->txn.roots && db->txn.root_epochs && db->sealed && db->cells && db->entries && db->columns;
  return all ? ERR_NONE : ERR_MEMORY;
}

static Err put_state_row(Db *db) {
  const TableDef *state = &db->shape->schema->tables[SCHEMA_STATE_TABLE];
  Value *zeros = mem_alloc_zero(state->column_count, sizeof(Value));
  if (!zeros) return ERR_MEMORY;
  for (unsigned c = 0; c < state->column_count; c++) zeros[c] = value_zero(&db->shape->schema->types, state->columns[c].type);
  Err err = txn_insert(&db->txn, SCHEMA_STATE_TABLE, zeros);
  mem_free(zeros);
  return err;
}

Err db__new(const Schema *schema, uint64_t bytes_max, Db **out_db) {
  Db *db = mem_alloc_zero(1, sizeof *db);
  if (!db) return ERR_MEMORY;
  db->bytes_max = bytes_max;
  db->epoch = 1;
  arena_init(&db->scratch, 0);
  buf_init(&db->txn.keys, 0);
  Err err = shape_build(schema, &db->shape);
  if (err == ERR_NONE) err = db_rooms(db, db->shape);
  if (err != ERR_NONE) {
    db_free(db);
    return err;
  }
  db->txn.reader = (Reader){.shape = db->shape, .roots = db->txn.roots, .version = &db->txn.version};
  *out_db = db;
  return ERR_NONE;
}

Err db_open(const Schema *schema, uint64_t bytes_max, Db **out_db) {
  Db *db;
  TRY(db__new(schema, bytes_max, &db));
  Err err = put_state_row(db);
  if (err != ERR_NONE) {
    db_free(db);
    return err;
  }
  txn_seal(&db->txn, 0);
  *out_db = db;
  return ERR_NONE;
}

static void free_list(Db *db, Page *dead) {
  while (dead) {
    Page *next = dead->dead_next;
    pool_give(&db->pool, dead);
    dead = next;
  }
}

void db_free(Db *db) {
  if (!db) return;
  assert(!db->newest);
  if (db->shape && db->txn.roots) {
    txn_undo(&db->txn, (TxnMark){0});
    for (uint32_t tree = 0; tree < db->shape->tree_count; tree++) db__retire_tree(db, &db->shape->trees[tree], db->txn.roots[tree]);
    free_list(db, db->dead);
  }
  pool_free(&db->pool);
  if (db->shape) shape_release(db->shape);
  mem_free(db->txn.roots);
  mem_free(db->txn.root_epochs);
  mem_free(db->txn.root_changes);
  mem_free(db->txn.changes);
  buf_free(&db->txn.keys);
  mem_free(db->sealed);
  mem_free(db->cells);
  mem_free(db->entries);
  mem_free(db->columns);
  arena_free(&db->scratch);
  mem_free(db);
}

const Schema *db_schema(const Db *db) { return db->shape->schema; }
void db_set_bytes_max(Db *db, uint64_t bytes_max) { db->bytes_max = bytes_max; }
uint64_t db_bytes(const Db *db) { return db->pool.bytes_used; }
Txn *db_txn(Db *db) { return &db->txn; }
const Reader *txn_reader(const Txn *txn) { return &txn->reader; }
const Schema *reader_schema(const Reader *reader) { return reader->shape->schema; }

// ---- pages of the batch -----------------------------------------------------------------------
static Page *link_born(Db *db, Page *page) {
  page->born = db->epoch;
  page->died = PAGE_ALIVE;
  page->born_prev = NULL;
  page->born_next = db->born;
  page->dead_next = NULL;
  if (db->born) db->born->born_prev = page;
  db->born = page;
  return page;
}

Page *db__page_new(Db *db, unsigned class) {
  Page *page = pool_take(&db->pool, class);
  assert(page);  // reserved before the change began
  return link_born(db, page);
}

Page *db__page_new_large(Db *db, uint64_t bytes) {
  Page *page = pool_take_large(&db->pool, bytes);
  return page ? link_born(db, page) : NULL;
}

static void unlink_born(Db *db, Page *page) {
  if (page->born_prev) page->born_prev->born_next = page->born_next;
  else db->born = page->born_next;
  if (page->born_next) page->born_next->born_prev = page->born_prev;
}

// A page of this epoch was never seen by a mark or a snapshot.
void db__page_retire(Db *db, Page *page) {
  assert(page->died == PAGE_ALIVE);
  if (page->born == db->epoch) {
    unlink_born(db, page);
    pool_give(&db->pool, page);
    return;
  }
  page->died = db->epoch;
  page->dead_next = db->dead;
  db->dead = page;
}

static void *grow_list(void *list, uint32_t *cap, uint32_t need, size_t item) {
  if (need <= *cap) return list;
  uint32_t next = *cap ? *cap : 16;
  while (next < need) {
    if (next > UINT32_MAX / 2) return NULL;
    next *= 2;
  }
  void *grown = mem_realloc(list, next * item);
  if (grown) *cap = next;
  return grown;
}

Err db__reserve_lists(Db *db, uint32_t trees) {
  Txn *txn = &db->txn;
  if (trees > UINT32_MAX - txn->root_change_count || txn->change_count == UINT32_MAX) return ERR_LIMIT;
  RootChange *roots = grow_list(txn->root_changes, &txn->root_change_cap, txn->root_change_count + trees, sizeof *roots);
  if (!roots) return ERR_MEMORY;
  txn->root_changes = roots;
  Change *changes = grow_list(txn->changes, &txn->change_cap, txn->change_count + 1, sizeof *changes);
  if (!changes) return ERR_MEMORY;
  txn->changes = changes;
  return ERR_NONE;
}

void db__note_root(Db *db, uint32_t tree) {
  Txn *txn = &db->txn;
  if (txn->root_epochs[tree] == db->epoch) return;
  assert(txn->root_change_count < txn->root_change_cap);
  txn->root_changes[txn->root_change_count++] = (RootChange){.epoch = db->epoch, .tree = tree, .before = txn->roots[tree]};
  txn->root_epochs[tree] = db->epoch;
}

static void retire_page(Db *db, const TreeShape *shape, Page *page) {
  if (page->level == 0 && shape->leaf->text_count)
    for (unsigned c = shape->leaf->key_count; c < shape->leaf->column_count; c++)
      for (unsigned slot = 0; slot < page->count; slot++) {
        Page *text = page_overflow(shape->leaf, page, c, slot);
        if (text) db__page_retire(db, text);
      }
  db__page_retire(db, page);
}

// Children before parents, with a path instead of recursion.
void db__retire_tree(Db *db, const TreeShape *shape, TreeRoot root) {
  if (!root.page) return;
  Path path = {.height = root.height};
  path.pages[0] = root.page;
  path.slots[0] = 0;
  unsigned level = 0;
  for (;;) {
    Page *page = path.pages[level];
    if (page->level > 0 && path.slots[level] < page->count) {
      path.pages[level + 1] = inner_child(shape, page, path.slots[level]++);
      path.slots[++level] = 0;
      continue;
    }
    retire_page(db, shape, page);
    if (level == 0) return;
    level--;
  }
}

// ---- marks, undo, seal ------------------------------------------------------------------------
static uint64_t mark_epoch(const Txn *txn, TxnMark mark) {
  assert(mark.change <= txn->change_count);
  return mark.change ? txn->changes[mark.change - 1].epoch : txn_db(txn)->sealed_epoch;
}

// What comes after the mark goes into an epoch of its own.
TxnMark txn_mark(const Txn *txn) {
  Db *db = txn_db(txn);
  if (txn->change_count && txn->changes[txn->change_count - 1].epoch == db->epoch) db->epoch++;
  return (TxnMark){txn->change_count};
}

void txn_undo(Txn *txn, TxnMark mark) {
  Db *db = txn_db(txn);
  if (mark.change == txn->change_count && mark.change) return;
  uint64_t epoch = mark_epoch(txn, mark);
  assert(mark.change == txn->change_count || txn->changes[mark.change].epoch > epoch);  // the mark was taken here
  while (txn->root_change_count && txn->root_changes[txn->root_change_count - 1].epoch > epoch) {
    const RootChange *change = &txn->root_changes[--txn->root_change_count];
    txn->roots[change->tree] = change->before;
  }
  while (db->dead && db->dead->died > epoch) {  // alive again
    Page *page = db->dead;
    db->dead = page->dead_next;
    page->died = PAGE_ALIVE;
    page->dead_next = NULL;
  }
  while (db->born && db->born->born > epoch) {
    Page *page = db->born;
    unlink_born(db, page);
    pool_give(&db->pool, page);
  }
  if (mark.change < txn->change_count) txn->keys.len = txn->changes[mark.change].at;
  txn->change_count = mark.change;
  txn->version++;
  db->epoch++;
}

TreeRoot db__root_at(const Db *db, uint32_t tree, TxnMark mark) {
  const Txn *txn = &db->txn;
  uint64_t epoch = mark_epoch(txn, mark);
  for (uint32_t i = 0; i < txn->root_change_count; i++)
    if (txn->root_changes[i].tree == tree && txn->root_changes[i].epoch > epoch) return txn->root_changes[i].before;
  return txn->roots[tree];
}

uint64_t txn_changed_bytes(const Txn *txn, TxnMark since) {
  uint64_t all = txn->change_count ? txn->changes[txn->change_count - 1].bytes : 0;
  return all - (since.change ? txn->changes[since.change - 1].bytes : 0);
}

// A page that died in the batch is seen by held snapshots from its birth on; the newest of them keeps it.
static void bury(Db *db, Snapshot *from, Page *page) {
  if (from && page->born <= from->epoch) {
    page->dead_next = from->dead;
    from->dead = page;
  } else {
    pool_give(&db->pool, page);
  }
}

void db__seal_pages(Db *db) {
  for (Page *page = db->dead; page;) {
    Page *next = page->dead_next;
    if (page->born > db->sealed_epoch) pool_give(&db->pool, page);  // lived and died in the batch
    else bury(db, db->newest, page);
    page = next;
  }
  db->dead = NULL;
  db->born = NULL;  // their links mean nothing any more
  db->sealed_epoch = db->epoch++;
  pool_trim(&db->pool, db->pool.bytes_used / 16 > POOL_BYTES_MIN ? db->pool.bytes_used / 16 : POOL_BYTES_MIN);
}

// The lists of a large batch are not kept for the small ones that follow.
enum { LIST_KEPT_MAX = 16384, KEYS_KEPT_BYTES_MAX = 1 << 20 };

static void shorten_lists(Txn *txn) {
  if (txn->change_cap > LIST_KEPT_MAX) {
    mem_free(txn->changes);
    txn->changes = NULL;
    txn->change_cap = 0;
  }
  if (txn->root_change_cap > LIST_KEPT_MAX) {
    mem_free(txn->root_changes);
    txn->root_changes = NULL;
    txn->root_change_cap = 0;
  }
  if (txn->keys.cap > KEYS_KEPT_BYTES_MAX) buf_free(&txn->keys);
  else buf_clear(&txn->keys);
}

void txn_seal(Txn *txn, uint64_t number) {
  Db *db = txn_db(txn);
  assert(number > db->sealed_number || number == 0);
  for (uint32_t i = 0; i < txn->root_change_count; i++) db->sealed[txn->root_changes[i].tree] = txn->roots[txn->root_changes[i].tree];
  db__seal_pages(db);
  txn->root_change_count = txn->change_count = 0;
  shorten_lists(txn);
  db->sealed_number = number;
}

// ---- snapshots --------------------------------------------------------------------------------
Snapshot *db_snapshot_take(Db *db) {
  if (db->newest && db->newest->epoch == db->sealed_epoch) {
    db->newest->refs++;
    return db->newest;
  }
  size_t bytes = db->shape->tree_count * sizeof(TreeRoot);
  Snapshot *snapshot = mem_alloc(sizeof *snapshot + bytes);
  if (!snapshot) return NULL;
  *snapshot = (Snapshot){.db = db, .shape = db->shape, .epoch = db->sealed_epoch, .number = db->sealed_number, .refs = 1, .older = db->newest};
  snapshot->reader = (Reader){.shape = db->shape, .roots = snapshot->roots};
  if (bytes) memcpy(snapshot->roots, db->sealed, bytes);
  db->shape->refs++;
  if (db->newest) db->newest->newer = snapshot;
  db->newest = snapshot;
  return snapshot;
}

void snapshot_release(Snapshot *snapshot) {
  assert(snapshot->refs > 0);
  if (--snapshot->refs) return;
  Db *db = snapshot->db;
  for (Page *page = snapshot->dead; page;) {
    Page *next = page->dead_next;
    bury(db, snapshot->older, page);
    page = next;
  }
  if (snapshot->newer) snapshot->newer->older = snapshot->older;
  else db->newest = snapshot->older;
  if (snapshot->older) snapshot->older->newer = snapshot->newer;
  shape_release(snapshot->shape);
  mem_free(snapshot);
}

bool snapshot_release_part(Snapshot *snapshot, uint32_t pages_max) {
  uint32_t pages = 0;
  while (snapshot->refs == 1 && snapshot->dead && pages++ < pages_max) {  // nobody can take it again: the state has gone on
    Page *page = snapshot->dead;
    snapshot->dead = page->dead_next;
    bury(snapshot->db, snapshot->older, page);
  }
  if (snapshot->refs == 1 && snapshot->dead) return false;
  snapshot_release(snapshot);
  return true;
}

bool db_has_snapshots(const Db *db) { return db->newest != NULL; }
uint64_t snapshot_number(const Snapshot *snapshot) { return snapshot->number; }
const Reader *snapshot_reader(const Snapshot *snapshot) { return &snapshot->reader; }
