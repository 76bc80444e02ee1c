// One copy-on-write B+tree: finding, counting and changing. All of it works on cells and knows nothing of values.
//
//   inner page: (key, child, rows of child) …; for each slot above 0: keys of the child to the left < key <= keys of the child
//
// Owns:   nothing; pages are the Db's.
// Thread: changing: the owner; reading a root whose pages are not changed any more: any.
// Errors: changes cannot fail once tree_reserve has said so.
#pragma once
#include "runtime/table/db.h"

typedef struct Path { Page *pages[TREE_HEIGHT_MAX]; uint16_t slots[TREE_HEIGHT_MAX]; unsigned height; } Path;  // [height - 1]: the leaf

// The row with exactly this key. Fills the path to where it is or would be (height 0: the tree is empty).
bool tree_find(const TreeShape *shape, TreeRoot root, const Cell *key, Path *out_path);
// Only the leaf and slot, for readers.
bool tree_find_row(const TreeShape *shape, TreeRoot root, const Cell *key, const Page **out_page, unsigned *out_slot);
// How many rows lie before the first whose first `count` cells are >= the key (after: > the key), and the path to it.
// At the end of the tree the leaf's slot is its count.
uint64_t tree_rank(const TreeShape *shape, TreeRoot root, const Cell *key, unsigned count, bool after, Path *out_path);
void tree_seek_rank(const TreeShape *shape, TreeRoot root, uint64_t rank, Path *out_path);  // rank <= rows
bool path_next(const TreeShape *shape, Path *path);   // to the next row; false at the end (the path then stands behind the last)
bool path_back(const TreeShape *shape, Path *path);

// What one change of a tree may need, so that many trees can be asked for at once.
typedef struct TreeNeed { uint32_t blocks[PAGE_CLASSES]; } TreeNeed;
void tree_need(const TreeShape *shape, TreeRoot root, uint32_t heap_bytes, TreeNeed *need);

// `path`: as tree_find filled it since the tree's last change, or NULL to find the place again.
void tree_insert(Db *db, uint32_t tree, const Path *path, const Cell *cells);  // the key must not be there
void tree_delete(Db *db, uint32_t tree, const Path *path, const Cell *key);    // it must be there
// Sets cells of the row that is there; none of them in the key.
typedef struct TreeUpdate { unsigned count; const uint16_t *columns; const Cell *cells; } TreeUpdate;
void tree_update(Db *db, uint32_t tree, const Path *path, const Cell *key, TreeUpdate update);

// Child and rows of an inner page.
static inline Page *const *inner_children(const TreeShape *shape, const Page *page) {
  return (Page *const *)(const void *)page_column(shape->inner, page, shape->inner->key_count);
}
static inline Page *inner_child(const TreeShape *shape, const Page *page, unsigned slot) { return inner_children(shape, page)[slot]; }
static inline uint64_t inner_rows(const TreeShape *shape, const Page *page, unsigned slot) {
  return ((const uint64_t *)(const void *)page_column(shape->inner, page, shape->inner->key_count + 1u))[slot];
}

// reader_check of the owner's state, by assert; for tests.
void table__assert_db(const Db *db);
