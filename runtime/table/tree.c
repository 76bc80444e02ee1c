// Changing goes down once to find the place, and then makes the path its own from the root: pages of an older epoch are
// copied (into the class that fits them now), pages of this one are used as they are. A full page is first built anew in
// a larger class, up to the layout's largest, and then split; a row put behind the last one of the tree gets a page of its
// own, so that rows that come in order fill their pages. A page that falls under a quarter is joined with a neighbour.
//
// Splitting by bytes, with room for four rows in every largest page, makes one split enough for any row, so that what a
// change can need is known before it starts (tree_need).
#include "runtime/table/tree.h"

#include <assert.h>

#include "runtime/table/kept.h"

// ---- reading ----------------------------------------------------------------------------------
enum { SEARCH_BYTES = 448 };  // of a page, from its start, that a search is likely to look at: asked for in one go

static const Layout *layout_at(const TreeShape *shape, unsigned level_from_root, unsigned height) {
  return level_from_root + 1 == height ? shape->leaf : shape->inner;
}

// The child that holds the key: the last whose separator is not above it.
static unsigned child_of(const TreeShape *shape, const Page *page, const Cell *key, unsigned count, bool after) {
  return page_search(shape->inner, page, 1, key, count, after) - 1;
}

bool tree_find_row(const TreeShape *shape, TreeRoot root, const Cell *key, const Page **out_page, unsigned *out_slot) {
  const Page *page = root.page;
  if (!page) return false;
  for (unsigned level = 1; level < root.height; level++) {
    page = inner_child(shape, page, child_of(shape, page, key, shape->inner->key_count, true));
    page_fetch(page, SEARCH_BYTES);
  }
  unsigned slot = page_search(shape->leaf, page, 0, key, shape->leaf->key_count, false);
  if (slot == page->count || page_compare(shape->leaf, page, slot, key, shape->leaf->key_count) != 0) return false;
  *out_page = page;
  *out_slot = slot;
  return true;
}

bool tree_find(const TreeShape *shape, TreeRoot root, const Cell *key, Path *out_path) {
  out_path->height = root.height;
  Page *page = root.page;
  if (!page) return false;
  for (unsigned level = 0; level + 1 < root.height; level++) {
    unsigned slot = child_of(shape, page, key, shape->inner->key_count, true);
    out_path->pages[level] = page;
    out_path->slots[level] = (uint16_t)slot;
    page = inner_child(shape, page, slot);
    page_fetch(page, SEARCH_BYTES);
  }
  unsigned slot = page_search(shape->leaf, page, 0, key, shape->leaf->key_count, false);
  out_path->pages[root.height - 1] = page;
  out_path->slots[root.height - 1] = (uint16_t)slot;
  return slot < page->count && page_compare(shape->leaf, page, slot, key, shape->leaf->key_count) == 0;
}

// A leaf's end is the start of the next leaf, when there is one.
static void leave_end(const TreeShape *shape, Path *path) {
  Page *leaf = path->pages[path->height - 1];
  if (path->slots[path->height - 1] < leaf->count) return;
  path->slots[path->height - 1] = leaf->count ? (uint16_t)(leaf->count - 1) : 0;
  if (!path_next(shape, path)) path->slots[path->height - 1] = path->pages[path->height - 1]->count;
}

static uint64_t rows_before(const TreeShape *shape, const Page *page, unsigned slot) {
  uint64_t rows = 0;
  for (unsigned i = 0; i < slot; i++) rows += inner_rows(shape, page, i);
  return rows;
}

uint64_t tree_rank(const TreeShape *shape, TreeRoot root, const Cell *key, unsigned count, bool after, Path *out_path) {
  uint64_t rank = 0;
  Page *page = root.page;
  out_path->height = root.height;
  if (!page) return 0;
  for (unsigned level = 0; level + 1 < root.height; level++) {
    unsigned slot = child_of(shape, page, key, count, after);
    rank += rows_before(shape, page, slot);
    out_path->pages[level] = page;
    out_path->slots[level] = (uint16_t)slot;
    page = inner_child(shape, page, slot);
  }
  unsigned slot = page_search(shape->leaf, page, 0, key, count, after);
  out_path->pages[root.height - 1] = page;
  out_path->slots[root.height - 1] = (uint16_t)slot;
  leave_end(shape, out_path);
  return rank + slot;
}

void tree_seek_rank(const TreeShape *shape, TreeRoot root, uint64_t rank, Path *out_path) {
  assert(rank <= root.rows);
  Page *page = root.page;
  out_path->height = root.height;
  if (!page) return;
  for (unsigned level = 0; level + 1 < root.height; level++) {
    unsigned slot = 0;
    while (slot + 1u < page->count && rank >= inner_rows(shape, page, slot)) rank -= inner_rows(shape, page, slot++);
    out_path->pages[level] = page;
    out_path->slots[level] = (uint16_t)slot;
    page = inner_child(shape, page, slot);
  }
  assert(rank <= page->count);
  out_path->pages[root.height - 1] = page;
  out_path->slots[root.height - 1] = (uint16_t)rank;
}

// From the page at `level` down to its first or last row.
static void go_down(const TreeShape *shape, Path *path, unsigned level, bool last) {
  for (; level + 1 < path->height; level++) {
    Page *child = inner_child(shape, path->pages[level], path->slots[level]);
    path->pages[level + 1] = child;
    path->slots[level + 1] = last ? (uint16_t)(child->count - 1) : 0;
  }
}

bool path_next(const TreeShape *shape, Path *path) {
  unsigned level = path->height;
  while (level-- > 0)
    if (path->slots[level] + 1u < path->pages[level]->count) {
      path->slots[level]++;
      go_down(shape, path, level, false);
      return true;
    }
  if (path->height) path->slots[path->height - 1] = path->pages[path->height - 1]->count;
  return false;
}

bool path_back(const TreeShape *shape, Path *path) {
  unsigned level = path->height;
  while (level-- > 0)
    if (path->slots[level] > 0) {
      path->slots[level]--;
      go_down(shape, path, level, true);
      return true;
    }
  return false;
}

// ---- what a change may need -------------------------------------------------------------------
static uint32_t smaller(uint64_t a, uint32_t b) { return a < b ? (uint32_t)a : b; }

void tree_need(const TreeShape *shape, TreeRoot root, uint32_t heap_bytes, TreeNeed *need) {
  uint64_t leaf_bytes = PAGE_HEADER_BYTES + shape->leaf->row_bytes + heap_bytes;
  if (root.height == 1) leaf_bytes = (leaf_bytes + root.page->size) * 9 / 8;  // built anew with some room to spare
  if (root.height > 1) leaf_bytes = shape->leaf->page_bytes_max;
  unsigned leaf_class = page_class_for(smaller(leaf_bytes, shape->leaf->page_bytes_max));
  bool may_split = leaf_bytes >= shape->leaf->page_bytes_max || shape->leaf->rows_max < 64;
  need->blocks[leaf_class] += may_split ? 4 : 2;
  if (!may_split) return;
  uint32_t inner = 4 * root.height + 2;
  need->blocks[shape->inner->class_max] += inner;
}

// ---- changing ---------------------------------------------------------------------------------
// A change under way: the tree, and the path from its root to the row.
typedef struct Edit { Db *db; const TreeShape *shape; TreeRoot *root; Path path; } Edit;

static void edit_start(Edit *edit, Db *db, uint32_t tree) {
  db__note_root(db, tree);
  edit->db = db;
  edit->shape = &db->shape->trees[tree];
  edit->root = &db->txn.roots[tree];
}

// The place of the key: the given one, or found. A path is only as long as the tree is high.
static void edit_seek(Edit *edit, const Path *path, const Cell *key, bool is_there) {
  bool found = is_there;
  if (!path) {
    found = tree_find(edit->shape, *edit->root, key, &edit->path);
  } else {
    assert(path->height == edit->root->height && (!path->height || path->pages[0] == edit->root->page));
    edit->path.height = path->height;
    memcpy(edit->path.pages, path->pages, path->height * sizeof path->pages[0]);
    memcpy(edit->path.slots, path->slots, path->height * sizeof path->slots[0]);
  }
  assert(found == is_there);
  (void)found;
}

static const Layout *edit_layout(const Edit *edit, unsigned level) { return layout_at(edit->shape, level, edit->path.height); }

static void set_child(const Edit *edit, unsigned level, Page *child) {
  if (level == 0) {
    edit->root->page = child;
    return;
  }
  Page *parent = edit->path.pages[level - 1];
  assert(parent->born == edit->db->epoch);
  page_set_cell(edit->shape->inner, parent, edit->shape->inner->key_count, edit->path.slots[level - 1], (Cell){.i = (int64_t)(intptr_t)child});
}

static void set_rows(const Edit *edit, Page *page, unsigned slot, uint64_t rows) {
  page_set_cell(edit->shape->inner, page, edit->shape->inner->key_count + 1u, slot, (Cell){.i = (int64_t)rows});
}

static unsigned class_within(const Layout *layout, uint64_t bytes) {
  return page_class_for(smaller(bytes, layout->page_bytes_max));
}

// Rows of a page: [first, first + count).
typedef struct Rows { const Page *page; unsigned first, count; } Rows;
static Rows all_rows(const Page *page) { return (Rows){page, 0, page->count}; }

// A page of the right class with these rows, and room for more.
static Page *build_page(const Edit *edit, Rows of, unsigned rows, uint32_t heap_bytes) {
  const Page *from = of.page;
  unsigned first = of.first, count = of.count;
  const Layout *layout = from->level ? edit->shape->inner : edit->shape->leaf;
  uint32_t heap = heap_bytes;
  if (count == from->count) heap += from->size - from->heap_at - from->heap_dead;
  else for (unsigned i = 0; i < count; i++) heap += page_row_heap_bytes(layout, from, first + i);
  uint32_t bytes = PAGE_HEADER_BYTES + (count + rows) * layout->row_bytes + heap;
  assert(bytes <= layout->page_bytes_max);
  Page *page = db__page_new(edit->db, page_class_for(bytes));
  page_format(layout, page, from->level, count + rows, heap);
  page_append(layout, page, from, first, count);
  return page;
}

// Puts `page` in the place of the one on the path.
static void replace_page(Edit *edit, unsigned level, Page *page) {
  Page *old = edit->path.pages[level];
  set_child(edit, level, page);
  edit->path.pages[level] = page;
  db__page_retire(edit->db, old);
}

// The same page over again; free slots and free heap are not copied, which is a third of a usual page.
static Page *copy_page(Edit *edit, const Layout *layout, const Page *from) {
  Page *page = db__page_new(edit->db, page_class_for(from->size));
  assert(page->size >= from->size);
  page->size = from->size;
  page->heap_at = from->heap_at;
  page->heap_dead = from->heap_dead;
  page->place = 0;
  page->count = from->count;
  page->cap = from->cap;
  page->level = from->level;
  for (unsigned c = 0; c < layout->column_count; c++) memcpy(page_column(layout, page, c), page_column(layout, from, c), (size_t)from->count * layout->columns[c].width);
  if (from->heap_at < from->size) memcpy((uint8_t *)page + from->heap_at, (const uint8_t *)from + from->heap_at, from->size - from->heap_at);
  return page;
}

// The page at `level` (its parent owned already) becomes one that may be changed.
static void own_page(Edit *edit, unsigned level) {
  Page *page = edit->path.pages[level];
  if (page->born != edit->db->epoch) replace_page(edit, level, copy_page(edit, edit_layout(edit, level), page));
}

static void own_inner(Edit *edit) {
  for (unsigned level = 0; level + 1 < edit->path.height; level++) own_page(edit, level);
}

// A row came (delta 1), went (-1) or changed (0) in the leaf of the path; `before` and `after`: what is kept of it.
static void count_row(const Edit *edit, int delta, const KeptValue *before, const KeptValue *after) {
  edit->root->rows = edit->root->rows + (uint64_t)(int64_t)delta;
  for (unsigned level = edit->path.height - 1; level-- > 0;) {
    Page *page = edit->path.pages[level];
    unsigned slot = edit->path.slots[level];
    if (delta) set_rows(edit, page, slot, inner_rows(edit->shape, page, slot) + (uint64_t)(int64_t)delta);
    if (edit->shape->kept_count) kept_change(edit->shape, page, slot, before, after);
  }
}

static uint64_t rows_of(const TreeShape *shape, const Page *page) {
  return page->level == 0 ? page->count : rows_before(shape, page, page->count);
}

static void read_key(const Layout *layout, const Page *page, unsigned slot, Cell *out_key) {
  for (unsigned c = 0; c < layout->key_count; c++) out_key[c] = page_cell(layout, page, c, slot);
}

// A new root above the only page, so that it can be split.
static void grow_root(Edit *edit) {
  Path *path = &edit->path;
  assert(path->height < TREE_HEIGHT_MAX);
  const Layout *inner = edit->shape->inner;
  Page *old = path->pages[0];
  Cell cells[INNER_CELLS_MAX];
  read_key(edit_layout(edit, 0), old, 0, cells);
  cells[inner->key_count] = (Cell){.i = (int64_t)(intptr_t)old};
  cells[inner->key_count + 1] = (Cell){.i = (int64_t)edit->root->rows};
  kept_cells(edit->shape, (PageSlice){old, 0, old->count}, cells);
  uint32_t heap = cells_heap_bytes(inner, cells);
  Page *root = db__page_new(edit->db, class_within(inner, PAGE_HEADER_BYTES + 4ull * (inner->row_bytes + heap)));
  page_format(inner, root, old->level + 1u, 4, 4 * heap);
  page_insert(inner, root, 0, cells);
  memmove(path->pages + 1, path->pages, path->height * sizeof path->pages[0]);
  memmove(path->slots + 1, path->slots, path->height * sizeof path->slots[0]);
  path->pages[0] = root;
  path->slots[0] = 0;
  path->height++;
  edit->root->page = root;
  edit->root->height++;
}

// Where to cut a full page: behind its last row when the new one goes there and nothing is to the right; else so that
// both halves have about the same bytes.
static unsigned split_point(const Edit *edit, unsigned level) {
  const Path *path = &edit->path;
  const Page *page = path->pages[level];
  bool is_last = path->slots[level] == page->count || (page->level > 0 && path->slots[level] + 1u == page->count);
  for (unsigned above = 0; above < level; above++) is_last = is_last && path->slots[above] + 1u == path->pages[above]->count;
  if (is_last) return page->count - (page->level > 0 ? 1u : 0u);
  const Layout *layout = edit_layout(edit, level);
  if (!layout->text_count) return page->count / 2;
  uint32_t half = (page_used(layout, page) - PAGE_HEADER_BYTES) / 2, bytes = 0;
  unsigned middle = 0;
  while (middle < page->count && bytes < half) bytes += layout->row_bytes + page_row_heap_bytes(layout, page, middle++);
  if (middle < 1) middle = 1;
  return middle < page->count ? middle : page->count - 1u;
}

static void make_room(Edit *edit, unsigned *level, uint32_t rows, uint32_t heap_bytes, const Cell *key);

// Cuts the page at `*level` in two and leaves the path on the half where its slot is. `rows`: to come; `key`: of that row.
static void split(Edit *edit, unsigned *level, uint32_t rows, const Cell *key) {
  Path *path = &edit->path;
  if (*level == 0) {
    grow_root(edit);
    ++*level;
  }
  const Layout *layout = edit_layout(edit, *level), *inner = edit->shape->inner;
  Page *page = path->pages[*level];
  unsigned slot = path->slots[*level], at = split_point(edit, *level);
  bool leaf_end = at == page->count;
  Cell cells[INNER_CELLS_MAX];
  if (leaf_end) memcpy(cells, key, inner->key_count * sizeof cells[0]);
  else read_key(layout, page, at, cells);
  unsigned parent = *level - 1;
  uint32_t heap = cells_heap_bytes(inner, cells);  // address and rows are no texts
  make_room(edit, &parent, 1, heap, cells);
  *level = parent + 1;

  Page *right = build_page(edit, (Rows){page, at, page->count - at}, 1, 0);
  uint64_t right_rows = rows_of(edit->shape, right), both_rows = rows_of(edit->shape, page);
  cells[inner->key_count] = (Cell){.i = (int64_t)(intptr_t)right};
  cells[inner->key_count + 1] = (Cell){.i = (int64_t)right_rows};
  kept_cells(edit->shape, (PageSlice){right, 0, right->count}, cells);
  Page *above = path->pages[parent];
  unsigned above_slot = path->slots[parent];
  page_insert(inner, above, above_slot + 1u, cells);
  set_rows(edit, above, above_slot, both_rows - right_rows);
  if (!leaf_end) kept_set(edit->shape, above, above_slot, (PageSlice){page, 0, at});
  // A row that is to come in front of the first of the right half lies below its separator.
  bool goes_left = page->level == 0 && rows > 0 && !leaf_end ? slot <= at : slot < at;
  if (!leaf_end) replace_page(edit, *level, build_page(edit, (Rows){page, 0, at}, 1, 0));
  if (!goes_left) {
    path->pages[*level] = right;
    path->slots[*level] = (uint16_t)(slot - at);
    path->slots[parent]++;
  }
}

// The page at `*level` of the path becomes an owned one with room for `rows` more rows of `heap_bytes`. Levels above it
// must be owned; the path may grow at the top.
static void make_room(Edit *edit, unsigned *level, uint32_t rows, uint32_t heap_bytes, const Cell *key) {
  const Layout *layout = edit_layout(edit, *level);
  for (unsigned tries = 0;; tries++) {
    assert(tries < 4);
    Page *page = edit->path.pages[*level];
    bool fits = page_fits(layout, page, rows, heap_bytes) && page->count + rows <= layout->rows_max;
    if (fits) {
      own_page(edit, *level);
      if (page_fits(layout, edit->path.pages[*level], rows, heap_bytes)) return;
      page = edit->path.pages[*level];
    }
    uint64_t bytes = page_used(layout, page) + (uint64_t)rows * layout->row_bytes + heap_bytes;
    if (bytes <= layout->page_bytes_max && page->count + rows <= layout->rows_max) {
      // some room to spare, or the next row would build it anew again
      uint64_t spare = bytes / 8 + bytes <= layout->page_bytes_max ? bytes / 8 : layout->page_bytes_max - bytes;
      uint32_t heap = layout->text_count ? heap_bytes + (uint32_t)(spare / 2) : heap_bytes;
      if (PAGE_HEADER_BYTES + (page->count + rows) * layout->row_bytes + heap > layout->page_bytes_max) heap = heap_bytes;
      replace_page(edit, *level, build_page(edit, all_rows(page), rows, heap));
      return;
    }
    split(edit, level, rows, key);
  }
}

static void plant(Edit *edit, const Cell *cells) {
  const Layout *leaf = edit->shape->leaf;
  uint32_t heap = cells_heap_bytes(leaf, cells);
  Page *page = db__page_new(edit->db, class_within(leaf, PAGE_HEADER_BYTES + leaf->row_bytes + heap));
  page_format(leaf, page, 0, 1, heap);
  page_insert(leaf, page, 0, cells);
  *edit->root = (TreeRoot){.page = page, .rows = 1, .height = 1};
}

void tree_insert(Db *db, uint32_t tree, const Path *path, const Cell *cells) {
  Edit edit;
  edit_start(&edit, db, tree);
  edit_seek(&edit, path, cells, false);
  if (edit.path.height == 0) {
    plant(&edit, cells);
    return;
  }
  own_inner(&edit);
  unsigned level = edit.path.height - 1;
  make_room(&edit, &level, 1, cells_heap_bytes(edit.shape->leaf, cells), cells);
  page_insert(edit.shape->leaf, edit.path.pages[level], edit.path.slots[level], cells);
  KeptValue after[SCHEMA_KEPT_MAX];
  kept_of_row(edit.shape, edit.path.pages[level], edit.path.slots[level], after);
  count_row(&edit, 1, NULL, after);
}

static void retire_overflow(Edit *edit, const Page *page, unsigned slot, unsigned column) {
  Page *text = page_overflow(edit->shape->leaf, page, column, slot);
  if (text) db__page_retire(edit->db, text);
}

// ---- deleting ---------------------------------------------------------------------------------
// Takes the page at `level` out of its parent, and so on upward while parents become empty. The level that keeps some.
static unsigned unlink_page(Edit *edit, unsigned level) {
  for (;;) {
    db__page_retire(edit->db, edit->path.pages[level]);
    if (level == 0) {
      *edit->root = (TreeRoot){0};
      return 0;
    }
    level--;
    page_remove(edit->shape->inner, edit->path.pages[level], edit->path.slots[level]);
    if (edit->path.pages[level]->count > 0) return level;
  }
}

// Bytes of two neighbours together, and whether that leaves enough room to be worth joining.
static bool may_join(const Layout *layout, const Page *left, const Page *right) {
  uint64_t bytes = (uint64_t)page_used(layout, left) + page_used(layout, right) - PAGE_HEADER_BYTES;
  return bytes <= layout->page_bytes_max * 3ull / 4 && (left->count + right->count) * 4u <= layout->rows_max * 3u;
}

// The right of two neighbours is put behind the left; `slot` is the left one's in the parent at `level` - 1.
static void join(Edit *edit, unsigned level, unsigned slot) {
  const Layout *layout = edit_layout(edit, level), *inner = edit->shape->inner;
  Page *parent = edit->path.pages[level - 1];
  Page *left = inner_child(edit->shape, parent, slot), *right = inner_child(edit->shape, parent, slot + 1);
  uint64_t rows = inner_rows(edit->shape, parent, slot) + inner_rows(edit->shape, parent, slot + 1);
  Cell key[INNER_CELLS_MAX] = {0};
  read_key(inner, parent, slot + 1, key);
  // The first key of an inner page is never looked at and may be out of date; in the middle of a page it counts.
  uint32_t heap = right->level ? cells_heap_bytes(inner, key) : 0;
  for (unsigned i = 0; i < right->count; i++) heap += page_row_heap_bytes(layout, right, i);
  Page *both = build_page(edit, all_rows(left), right->count, heap);
  unsigned seam = both->count;
  page_append(layout, both, right, 0, right->count);
  for (unsigned c = 0; right->level && c < inner->key_count; c++) page_set_cell(inner, both, c, seam, key[c]);
  db__page_retire(edit->db, left);
  db__page_retire(edit->db, right);
  page_set_cell(inner, parent, inner->key_count, slot, (Cell){.i = (int64_t)(intptr_t)both});
  set_rows(edit, parent, slot, rows);
  kept_set(edit->shape, parent, slot, (PageSlice){both, 0, both->count});
  page_remove(inner, parent, slot + 1);
}

static bool is_underfull(const Layout *layout, const Page *page) {
  return page_used(layout, page) * 4ull < layout->page_bytes_max || page->count * 4u < (layout->rows_max < 64 ? layout->rows_max : 0);
}

static void join_upward(Edit *edit, unsigned level) {
  for (; level > 0; level--) {
    Page *parent = edit->path.pages[level - 1], *page = edit->path.pages[level];
    const Layout *layout = edit_layout(edit, level);
    if (!is_underfull(layout, page)) return;
    unsigned slot = edit->path.slots[level - 1];
    if (slot > 0 && may_join(layout, inner_child(edit->shape, parent, slot - 1), page)) join(edit, level, slot - 1);
    else if (slot + 1u < parent->count && may_join(layout, page, inner_child(edit->shape, parent, slot + 1))) join(edit, level, slot);
    else return;
  }
}

static void lower_root(Edit *edit) {
  while (edit->root->height > 1 && edit->root->page->count == 1) {
    Page *old = edit->root->page;
    edit->root->page = inner_child(edit->shape, old, 0);
    edit->root->height--;
    db__page_retire(edit->db, old);
  }
}

// A leaf that is copied anyway, or has shrunk a lot, goes into the class that fits it.
static void shrink_leaf(Edit *edit, unsigned level) {
  const Layout *leaf = edit->shape->leaf;
  Page *page = edit->path.pages[level];
  uint32_t used = page_used(leaf, page);
  if (used * 2ull > page->size || page->class == 0) return;
  replace_page(edit, level, build_page(edit, all_rows(page), 1, 0));
}

void tree_delete(Db *db, uint32_t tree, const Path *path, const Cell *key) {
  Edit edit;
  edit_start(&edit, db, tree);
  edit_seek(&edit, path, key, true);
  unsigned level = edit.path.height - 1;
  own_inner(&edit);
  own_page(&edit, level);
  Page *leaf = edit.path.pages[level];
  for (unsigned c = 0; c < edit.shape->leaf->column_count; c++) retire_overflow(&edit, leaf, edit.path.slots[level], c);
  KeptValue before[SCHEMA_KEPT_MAX];
  kept_of_row(edit.shape, leaf, edit.path.slots[level], before);
  page_remove(edit.shape->leaf, leaf, edit.path.slots[level]);
  count_row(&edit, -1, before, NULL);
  if (leaf->count == 0) level = unlink_page(&edit, level);
  else shrink_leaf(&edit, level);
  join_upward(&edit, level);
  lower_root(&edit);
}

// ---- updating ---------------------------------------------------------------------------------
static uint32_t new_heap_bytes(const Layout *leaf, TreeUpdate update) {
  uint32_t bytes = 0;
  for (unsigned i = 0; i < update.count; i++) {
    if (leaf->columns[update.columns[i]].kind != CELL_TEXT) continue;
    size_t len = update.cells[i].text.len;
    if (len > PAGE_TEXT_INLINE_MAX && !cell_overflows(leaf, update.columns[i], len)) bytes += (uint32_t)len;
  }
  return bytes;
}

static void set_cells(Edit *edit, Page *page, unsigned slot, TreeUpdate update) {
  const Layout *leaf = edit->shape->leaf;
  for (unsigned i = 0; i < update.count; i++) {
    assert(update.columns[i] >= leaf->key_count);
    retire_overflow(edit, page, slot, update.columns[i]);
    page_set_cell(leaf, page, update.columns[i], slot, update.cells[i]);
  }
}

void tree_update(Db *db, uint32_t tree, const Path *path, const Cell *key, TreeUpdate update) {
  Edit edit;
  edit_start(&edit, db, tree);
  edit_seek(&edit, path, key, true);
  own_inner(&edit);
  unsigned level = edit.path.height - 1;
  uint32_t heap = new_heap_bytes(edit.shape->leaf, update);
  if (heap) make_room(&edit, &level, 0, heap, key);
  else own_page(&edit, level);
  Page *page = edit.path.pages[level];
  unsigned slot = edit.path.slots[level];
  KeptValue before[SCHEMA_KEPT_MAX], after[SCHEMA_KEPT_MAX];
  kept_of_row(edit.shape, page, slot, before);
  set_cells(&edit, page, slot, update);
  if (!edit.shape->kept_count) return;
  kept_of_row(edit.shape, page, slot, after);
  bool differs = false;
  for (unsigned k = 0; k < edit.shape->kept_count; k++) differs = differs || before[k].value != after[k].value || before[k].present != after[k].present;
  if (differs) count_row(&edit, 0, before, after);
}
