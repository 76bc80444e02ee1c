// See bulk.h. A page that is full is entered in the open page one level up, which may be full in turn; at the end the open
// pages are entered from the leaf up, and the highest of them is the root.
#include "runtime/table/bulk.h"

#include <assert.h>

#include "runtime/table/kept.h"

void bulk_start(Bulk *bulk, Db *db, const TreeShape *shape) { *bulk = (Bulk){.db = db, .shape = shape}; }

static Err new_page(Bulk *bulk, unsigned class, Page **out_page) {
  TRY(pool_reserve(&bulk->db->pool, class, 1));
  *out_page = db__page_new(bulk->db, class);
  return ERR_NONE;
}

Err bulk_keep_large(Db *db, const Layout *layout, Cell *cells) {
  for (unsigned c = 0; layout->text_count && c < layout->column_count; c++) {
    if (!cell_overflows(layout, c, cells[c].text.len)) continue;
    Page *page = db__page_new_large(db, cells[c].text.len);
    if (!page) return ERR_MEMORY;
    memcpy((char *)page + PAGE_HEADER_BYTES, cells[c].text.ptr, cells[c].text.len);
    cells[c].text.ptr = (char *)page + PAGE_HEADER_BYTES;
  }
  return ERR_NONE;
}

// What an inner page says of a child.
static void child_cells(const TreeShape *shape, const Page *child, Cell *cells) {
  const Layout *layout = child->level ? shape->inner : shape->leaf;
  uint64_t rows = child->level ? 0 : child->count;
  for (unsigned i = 0; child->level && i < child->count; i++) rows += inner_rows(shape, child, i);
  for (unsigned c = 0; c < layout->key_count; c++) cells[c] = page_cell(layout, child, c, 0);
  cells[layout->key_count] = (Cell){.i = (int64_t)(intptr_t)child};
  cells[layout->key_count + 1] = (Cell){.i = (int64_t)rows};
  kept_cells(shape, (PageSlice){child, 0, child->count}, cells);
}

// Enters a finished page in the open one above it, and what that fills in the one above that.
static Err enter(Bulk *bulk, Page *child) {
  const Layout *inner = bulk->shape->inner;
  Cell cells[INNER_CELLS_MAX];
  while (child) {
    unsigned level = child->level + 1u;
    if (level == TREE_HEIGHT_MAX) return ERR_LIMIT;
    child_cells(bulk->shape, child, cells);
    uint32_t heap = cells_heap_bytes(inner, cells);
    Page *page = bulk->open[level], *full = NULL;
    if (page && !page_fits(inner, page, 1, heap)) full = page;
    if (!page || full) {
      TRY(new_page(bulk, inner->class_max, &page));
      page_format(inner, page, level, 1, heap);
      bulk->open[level] = page;
    }
    page_insert(inner, page, page->count, cells);
    child = full;
  }
  return ERR_NONE;
}

static bool is_above_last(const Bulk *bulk, const Cell *cells) {
  const Page *leaf = bulk->open[0];
  return !leaf || page_compare(bulk->shape->leaf, leaf, leaf->count - 1u, cells, bulk->shape->leaf->key_count) < 0;
}

// A leaf of the largest class, with as much room for texts as the rows so far have needed; the first takes its own measure.
static Err start_leaf(Bulk *bulk, uint32_t heap, Page **out_page) {
  const Layout *layout = bulk->shape->leaf;
  uint64_t mean = (bulk->heap_bytes + heap + bulk->rows) / (bulk->rows + 1);
  if (mean < heap) mean = (mean + heap) / 2;
  TRY(new_page(bulk, layout->class_max, out_page));
  uint32_t room = (*out_page)->size - PAGE_HEADER_BYTES;
  uint32_t rows = room / (layout->row_bytes + (uint32_t)mean);
  uint32_t texts = rows ? room - rows * layout->row_bytes : 0;
  page_format(layout, *out_page, 0, rows && texts >= heap ? rows : 1, rows && texts >= heap ? texts : heap);
  bulk->open[0] = *out_page;
  return ERR_NONE;
}

// The open leaf over again, with its free room shared out so that a row of `heap` bytes fits.
static Err format_again(Bulk *bulk, uint32_t heap) {
  const Layout *layout = bulk->shape->leaf;
  Page *leaf = bulk->open[0], *again;
  TRY(new_page(bulk, layout->class_max, &again));
  uint32_t texts = leaf->size - leaf->heap_at + heap, rows = leaf->count + 1u;
  uint32_t spare = again->size - PAGE_HEADER_BYTES - rows * layout->row_bytes - texts;
  uint32_t each = layout->row_bytes + (texts + rows - 1) / rows;
  page_format(layout, again, 0, rows + spare / each, texts + spare / each * (each - layout->row_bytes));
  page_append(layout, again, leaf, 0, leaf->count);
  db__page_retire(bulk->db, leaf);
  bulk->open[0] = again;
  return ERR_NONE;
}

Err bulk_add(Bulk *bulk, Cell *cells) {
  const Layout *layout = bulk->shape->leaf;
  if (!is_above_last(bulk, cells)) return ERR_EXISTS;
  TRY(bulk_keep_large(bulk->db, layout, cells));
  uint32_t heap = cells_heap_bytes(layout, cells);
  Page *leaf = bulk->open[0], *full = NULL;
  if (leaf && !page_fits(layout, leaf, 1, heap)) {
    bool has_room = page_used(layout, leaf) + layout->row_bytes + heap <= layout->page_bytes_max / 32 * 31 && leaf->count < layout->rows_max;
    if (has_room) TRY(format_again(bulk, heap));
    else full = leaf;
    leaf = bulk->open[0];
  }
  if (!leaf || full) {
    TRY(start_leaf(bulk, heap, &leaf));
    bulk->leaves++;
  }
  page_insert(layout, leaf, leaf->count, cells);
  bulk->rows++;
  bulk->heap_bytes += heap;
  return full ? enter(bulk, full) : ERR_NONE;
}

// What the texts of a column take in the heap of the new page; UINT32_MAX when one is, or is to be, a page of its own.
static uint32_t column_heap_bytes(const Layout *layout, unsigned c, const BulkMap *map, const Page *leaf) {
  uint64_t bytes = 0;
  for (unsigned slot = 0; slot < leaf->count; slot++) {
    size_t len = map->defaults[c].text.len;
    if (map->from[c] != SCHEMA_NO_COLUMN) {
      if (page_overflow(map->layout, leaf, map->from[c], slot)) return UINT32_MAX;
      len = handle_len(page_column(map->layout, leaf, map->from[c]) + 16 * (size_t)slot);
    }
    if (cell_overflows(layout, c, len)) return UINT32_MAX;
    if (len > PAGE_TEXT_INLINE_MAX) bytes += len;
  }
  return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static bool leaf_fits(const Layout *layout, const BulkMap *map, const Page *leaf, uint32_t *out_heap) {
  uint64_t heap = 0, rows = (uint64_t)leaf->count * layout->row_bytes;
  for (unsigned c = 0; layout->text_count && c < layout->column_count; c++) {
    if (layout->columns[c].kind != CELL_TEXT) continue;
    uint32_t bytes = column_heap_bytes(layout, c, map, leaf);
    if (bytes == UINT32_MAX) return false;
    heap += bytes;
  }
  *out_heap = (uint32_t)heap;
  return leaf->count <= layout->rows_max && PAGE_HEADER_BYTES + rows + heap <= layout->page_bytes_max;
}

Err bulk_add_leaf(Bulk *bulk, const BulkMap *map, const Page *leaf, bool *out_done) {
  const Layout *layout = bulk->shape->leaf;
  uint32_t heap;
  *out_done = leaf_fits(layout, map, leaf, &heap);
  if (!*out_done) return ERR_NONE;
  Page *page, *before = bulk->open[0];
  TRY(new_page(bulk, page_class_for(PAGE_HEADER_BYTES + leaf->count * layout->row_bytes + heap), &page));
  page_format(layout, page, 0, leaf->count, heap);
  for (unsigned c = 0; c < layout->column_count; c++) {
    if (map->from[c] == SCHEMA_NO_COLUMN) page_fill_column(layout, page, c, leaf->count, map->defaults[c]);
    else page_take_column(layout, page, c, (PageColumn){map->layout, leaf, map->from[c]});
  }
  page->count = leaf->count;
  bulk->open[0] = page;
  bulk->leaves++;
  bulk->rows += leaf->count;
  bulk->heap_bytes += heap;
  return before ? enter(bulk, before) : ERR_NONE;
}

// The last leaf in the class that fits it, so that a small table stays small.
static Err shrink_last(Bulk *bulk) {
  const Layout *layout = bulk->shape->leaf;
  Page *leaf = bulk->open[0], *fit;
  uint32_t heap = leaf->size - leaf->heap_at - leaf->heap_dead;
  unsigned class = page_class_for(page_used(layout, leaf));
  if (class >= leaf->class) return ERR_NONE;
  TRY(new_page(bulk, class, &fit));
  page_format(layout, fit, 0, leaf->count, heap);
  page_append(layout, fit, leaf, 0, leaf->count);
  db__page_retire(bulk->db, leaf);
  bulk->open[0] = fit;
  return ERR_NONE;
}

Err bulk_finish(Bulk *bulk, TreeRoot *out_root) {
  *out_root = (TreeRoot){0};
  if (!bulk->rows) return ERR_NONE;
  TRY(shrink_last(bulk));
  unsigned level = 0;
  if (bulk->leaves > 1)
    for (; level == 0 || bulk->open[level + 1]; level++) TRY(enter(bulk, bulk->open[level]));
  assert(level == 0 || bulk->open[level]->count > 1);
  *out_root = (TreeRoot){.page = bulk->open[level], .rows = bulk->rows, .height = level + 1};
  return ERR_NONE;
}
