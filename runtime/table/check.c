// The invariants of trees, said as asserts. Used by the tests after every step of the model, so it is written to be
// plain rather than fast. Assertions that are off in a release build make these functions empty.
#include "runtime/table/tree.h"

#include <assert.h>

#ifdef NDEBUG
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

static void assert_page(const Layout *layout, const Page *page) {
  assert(page->cap <= layout->rows_max && page->count <= page->cap && page->count > 0);
  uint64_t end = PAGE_HEADER_BYTES + (uint64_t)page->cap * layout->row_bytes;
  assert(end <= page->heap_at && page->heap_at <= page->size && page->size <= layout->page_bytes_max);
  uint64_t live = 0;
  for (unsigned slot = 0; slot < page->count; slot++) live += page_row_heap_bytes(layout, page, slot);
  assert(live + page->heap_dead == page->size - page->heap_at);
  assert(page->died == PAGE_ALIVE);
}

static void assert_order(const Layout *layout, const Page *page, unsigned first) {
  Cell key[LAYOUT_KEY_MAX];
  for (unsigned slot = first + 1; slot < page->count; slot++) {
    for (unsigned c = 0; c < layout->key_count; c++) key[c] = page_cell(layout, page, c, slot);
    assert(page_compare(layout, page, slot - 1, key, layout->key_count) < 0);
  }
}

// Every key of the subtree's first and last row against the separators around it.
static void assert_between(const TreeShape *shape, const Page *parent, unsigned slot, const Page *child) {
  const Layout *layout = child->level ? shape->inner : shape->leaf;
  Cell key[LAYOUT_KEY_MAX];
  unsigned first = child->level ? 1 : 0;
  if (slot > 0 && first < child->count) {
    for (unsigned c = 0; c < layout->key_count; c++) key[c] = page_cell(shape->inner, parent, c, slot);
    assert(page_compare(layout, child, first, key, layout->key_count) >= 0);
  }
  if (slot + 1u < parent->count) {
    for (unsigned c = 0; c < layout->key_count; c++) key[c] = page_cell(shape->inner, parent, c, slot + 1);
    if (first < child->count) assert(page_compare(layout, child, child->count - 1u, key, layout->key_count) < 0);
  }
}

static uint64_t subtree_rows(const TreeShape *shape, const Page *page) {
  if (page->level == 0) return page->count;
  uint64_t rows = 0;
  for (unsigned i = 0; i < page->count; i++) rows += inner_rows(shape, page, i);
  return rows;
}

static void assert_overflow(const TreeShape *shape, const Page *leaf) {
  for (unsigned c = 0; c < shape->leaf->column_count; c++)
    for (unsigned slot = 0; slot < leaf->count; slot++) {
      const Page *text = page_overflow(shape->leaf, leaf, c, slot);
      if (!text) continue;
      assert(text->level == PAGE_OVERFLOW && text->died == PAGE_ALIVE && text->born <= leaf->born);
      assert(text->size - PAGE_HEADER_BYTES == page_cell(shape->leaf, leaf, c, slot).text.len);
    }
}

void table__assert_tree(const Db *db, const TreeShape *shape, TreeRoot root) {
  (void)db;
  if (!root.page) {
    assert(root.rows == 0 && root.height == 0);
    return;
  }
  assert(subtree_rows(shape, root.page) == root.rows && root.page->level + 1u == root.height);
  assert(root.height == 1 || root.page->count > 1);
  Path path = {.height = root.height};
  path.pages[0] = root.page;
  unsigned level = 0;
  for (;;) {
    Page *page = path.pages[level];
    const Layout *layout = page->level ? shape->inner : shape->leaf;
    if (path.slots[level] == 0) {
      assert_page(layout, page);
      assert_order(layout, page, page->level ? 1 : 0);
      if (!page->level) assert_overflow(shape, page);
    }
    if (page->level && path.slots[level] < page->count) {
      unsigned slot = path.slots[level]++;
      Page *child = inner_child(shape, page, slot);
      assert(child->level + 1 == page->level && child->born <= page->born);
      assert(subtree_rows(shape, child) == inner_rows(shape, page, slot));
      assert_between(shape, page, slot, child);
      path.pages[++level] = child;
      path.slots[level] = 0;
      continue;
    }
    if (level == 0) return;
    level--;
  }
}

// Every index has one entry a row, equal to the row's cells.
static void assert_indexes(const Db *db, const TableShape *table) {
  const TreeShape *rows = &db->shape->trees[table->tree];
  TreeRoot root = db->txn.roots[table->tree];
  for (unsigned i = 0; i < table->index_count; i++) {
    const TreeShape *index = &db->shape->trees[table->tree + 1 + i];
    TreeRoot entries = db->txn.roots[table->tree + 1 + i];
    assert(entries.rows == root.rows);
    Path path;
    tree_seek_rank(rows, root, 0, &path);
    for (uint64_t left = root.rows; left > 0; left--, path_next(rows, &path)) {
      const Page *row = path.pages[path.height - 1], *entry = NULL;
      unsigned slot = path.slots[path.height - 1], at = 0;
      Cell key[LAYOUT_KEY_MAX];
      for (unsigned c = 0; c < index->leaf->key_count; c++) key[c] = page_cell(rows->leaf, row, index->source[c], slot);
      bool found = tree_find_row(index, entries, key, &entry, &at);
      assert(found);
      for (unsigned c = 0; found && c < index->leaf->column_count; c++)
        assert(cell_compare(&index->leaf->columns[c], page_cell(index->leaf, entry, c, at), page_cell(rows->leaf, row, index->source[c], slot)) == 0);
    }
  }
}

void table__assert_db(const Db *db) {
  for (uint32_t tree = 0; tree < db->shape->tree_count; tree++) table__assert_tree(db, &db->shape->trees[tree], db->txn.roots[tree]);
  for (uint16_t t = 0; t < db->shape->schema->table_count; t++) assert_indexes(db, &db->shape->tables[t]);
}
