// What stands behind table.h, shared by the files of this room.
//
// **Epochs.** A number that only grows: every seal and every mark that follows a change starts a new one. A page is
// changed in place only in the epoch that made it, and copied otherwise. So the roots of the trees at the start of an
// epoch are a whole state that stands as long as its pages do, which gives three things at once: a snapshot is a set
// of roots; undo puts roots back, allocates nothing and so cannot fail; and a page that lived in [born, died) is free
// as soon as no held snapshot's epoch and no mark that can be gone back to lies in there.
//
//   sealed ----epoch 7 (input 1)----mark----epoch 8 (input 2)----mark----epoch 9 …
//     roots kept by seal         root_changes: (8, tree 3, its root before)
//
// Owns:   Db all pages, the lists below, and a count on its shape.
// Thread: the owner.
// Errors: ERR_MEMORY and ERR_LIMIT, from db__reserve_lists alone.
#pragma once
#include "runtime/table/shape.h"
#include "runtime/table/table.h"

enum { TREE_HEIGHT_MAX = 40 };

typedef struct TreeRoot { Page *page; uint64_t rows; uint32_t height; } TreeRoot;  // height 0: empty, 1: a leaf

struct Reader {
  const Shape *shape;
  const TreeRoot *roots;
  const uint64_t *version;  // of a Txn: goes up with every change, so that cursors find their place again; NULL: never changes
};

struct Snapshot {
  Reader reader;
  Db *db;
  Shape *shape;
  uint64_t epoch, number;
  uint32_t refs;
  Page *dead;               // pages that this is the newest held snapshot to see
  Snapshot *older, *newer;
  TreeRoot roots[];
};

typedef struct RootChange { uint64_t epoch; uint32_t tree; TreeRoot before; } RootChange;
// A row that was changed. Its key: `number` when it is one cell of an integer kind, else encoded at [at, at + len) of keys.
typedef struct Change { uint64_t epoch, bytes; int64_t number; uint64_t at; uint32_t len; uint16_t table; } Change;  // bytes: of all so far

struct Txn {
  Reader reader;            // first: a const Txn is read through it
  uint64_t version;
  TreeRoot *roots;          // by tree
  uint64_t *root_epochs;    // by tree: the last epoch that noted its root
  RootChange *root_changes;
  uint32_t root_change_count, root_change_cap;
  Change *changes;
  uint32_t change_count, change_cap;
  Buf keys;
  bool applying;            // replaying a log: rows_max was checked when it was written
};

struct Db {
  Txn txn;
  Shape *shape;
  PagePool pool;
  uint64_t bytes_max;
  uint64_t epoch;           // the current one
  uint64_t sealed_epoch, sealed_number;
  TreeRoot *sealed;         // by tree
  Page *born;               // pages made since the last seal, newest first
  Page *dead;               // pages that died since the last seal, newest first
  Snapshot *newest;         // held snapshots, newest first
  Cell *cells, *entries;    // room for one row of the widest table, and for the entries of all its indexes
  uint16_t *columns;
  Arena scratch;            // encodings of the change being made
};

static inline Db *txn_db(const Txn *txn) { return (Db *)txn; }
_Static_assert(offsetof(Db, txn) == 0, "a Txn is the start of its Db");

MUST_USE Err db__new(const Schema *schema, uint64_t bytes_max, Db **out_db);  // with no rows at all, not even the state's

// ---- pages of the batch (db.c) ----------------------------------------------------------------
Page *db__page_new(Db *db, unsigned class);           // within what was reserved
Page *db__page_new_large(Db *db, uint64_t bytes);     // NULL: no memory
void db__page_retire(Db *db, Page *page);             // no longer part of the owner's state
MUST_USE Err db__reserve_lists(Db *db, uint32_t trees); // room for one more root change a tree, and one more change
void db__note_root(Db *db, uint32_t tree);            // before the first change of a tree in an epoch
void db__retire_tree(Db *db, const TreeShape *shape, TreeRoot root);
void db__seal_pages(Db *db);                          // what the batch made stays, what it replaced goes or waits for a snapshot
// The root of a tree as it was at a mark.
TreeRoot db__root_at(const Db *db, uint32_t tree, TxnMark mark);

static inline const TableShape *reader_table(const Reader *reader, uint16_t table) { return &reader->shape->tables[table]; }
