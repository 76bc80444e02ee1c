// A tree made of rows that come in the order of its keys: each level has one open page that is filled to its end, so a row
// costs what it takes to write it, and pages are as full as they can be.
//
// Owns:   nothing; the pages are the Db's, made in its present epoch, and stay in its list of those when a call fails.
// Thread: the owner.
// Errors: ERR_MEMORY; ERR_EXISTS for a row that is not above the one before; ERR_LIMIT for a key that is too long.
#pragma once
#include "runtime/table/tree.h"

typedef struct Bulk {
  Db *db;
  const TreeShape *shape;
  Page *open[TREE_HEIGHT_MAX];  // by level; [0]: the leaf
  uint64_t rows, leaves;
  uint64_t heap_bytes;          // of all rows
} Bulk;

void bulk_start(Bulk *bulk, Db *db, const TreeShape *shape);
// Texts of `cells` are copied, long ones into pages of their own (the cells then point there).
MUST_USE Err bulk_add(Bulk *bulk, Cell *cells);
// The rows of a leaf of another layout at once, column by column: by cell of the new layout, which cell of the old one it takes
// or SCHEMA_NO_COLUMN for the default. `out_done` false: they do not fit one page as they are; add them one by one.
typedef struct BulkMap { const Layout *layout; const uint16_t *from; const Cell *defaults; } BulkMap;
MUST_USE Err bulk_add_leaf(Bulk *bulk, const BulkMap *map, const Page *leaf, bool *out_done);
MUST_USE Err bulk_finish(Bulk *bulk, TreeRoot *out_root);
// Long texts of a row go into pages of their own, and the cells point there.
MUST_USE Err bulk_keep_large(Db *db, const Layout *layout, Cell *cells);
