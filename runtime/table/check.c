// The rules of trees, proved from the rows. The tests run it after every step of the model, and `aup store check` on what a
// file held, so it is written to be plain rather than fast: nothing that a page says of others is believed.
#include "runtime/table/tree.h"

#include <assert.h>

#include "runtime/table/kept.h"

typedef struct Check {
  const Reader *reader;
  const TreeShape *shape;
  ErrText *text;
} Check;

// The state of the owner is the only one whose pages must all be alive.
static bool is_current(const Check *check) { return check->reader->version != NULL; }

static Err wrong(const Check *check, const char *what) {
  const TableDef *table = &check->reader->shape->schema->tables[check->shape->table];
  if (check->shape->index == SCHEMA_NO_INDEX) return err_say(ERR_DAMAGED, check->text, "table " STR_FMT ": %s", STR_ARG(table->name), what);
  return err_say(ERR_DAMAGED, check->text, "index %u of table " STR_FMT ": %s", check->shape->index, STR_ARG(table->name), what);
}

#define RULE(holds, what) do { if (!(holds)) return wrong(check, what); } while (0)

// ---- one page ---------------------------------------------------------------------------------
static Err check_page(const Check *check, const Layout *layout, const Page *page) {
  RULE(page->cap <= layout->rows_max && page->count <= page->cap && page->count > 0, "a page has an impossible number of rows");
  uint64_t end = PAGE_HEADER_BYTES + (uint64_t)page->cap * layout->row_bytes;
  RULE(end <= page->heap_at && page->heap_at <= page->size && page->size <= layout->page_bytes_max, "a page's parts do not fit it");
  uint64_t live = 0;
  for (unsigned slot = 0; slot < page->count; slot++) live += page_row_heap_bytes(layout, page, slot);
  RULE(live + page->heap_dead == page->size - page->heap_at, "a page's texts are not as long as it counts");
  RULE(!is_current(check) || page->died == PAGE_ALIVE, "a page that stands is marked dead");
  return ERR_NONE;
}

static void read_key(const Layout *layout, const Page *page, unsigned slot, Cell *out_key) {
  for (unsigned c = 0; c < layout->key_count; c++) out_key[c] = page_cell(layout, page, c, slot);
}

static Err check_order(const Check *check, const Layout *layout, const Page *page, unsigned first) {
  Cell key[LAYOUT_KEY_MAX];
  for (unsigned slot = first + 1; slot < page->count; slot++) {
    read_key(layout, page, slot, key);
    RULE(page_compare(layout, page, slot - 1, key, layout->key_count) < 0, "two rows are not in order");
  }
  return ERR_NONE;
}

static Err check_overflow(const Check *check, const Page *leaf) {
  const Layout *layout = check->shape->leaf;
  for (unsigned c = 0; c < layout->column_count; c++)
    for (unsigned slot = 0; slot < leaf->count; slot++) {
      const Page *text = page_overflow(layout, leaf, c, slot);
      if (!text) continue;
      RULE(text->level == PAGE_OVERFLOW && text->born <= leaf->born && (!is_current(check) || text->died == PAGE_ALIVE), "a long text is not a page of its own");
      RULE(text->size - PAGE_HEADER_BYTES == page_cell(layout, leaf, c, slot).text.len, "a long text is not as long as its row says");
    }
  return ERR_NONE;
}

// ---- a child under its parent -----------------------------------------------------------------
// Every key of the child's first and last row against the separators around it.
static Err check_between(const Check *check, const Page *parent, unsigned slot, const Page *child) {
  const Layout *inner = check->shape->inner, *layout = child->level ? inner : check->shape->leaf;
  Cell key[LAYOUT_KEY_MAX];
  unsigned first = child->level ? 1 : 0;
  if (first >= child->count) return ERR_NONE;
  if (slot > 0) {
    read_key(inner, parent, slot, key);
    RULE(page_compare(layout, child, first, key, layout->key_count) >= 0, "a row stands left of where its page begins");
  }
  if (slot + 1u < parent->count) {
    read_key(inner, parent, slot + 1, key);
    RULE(page_compare(layout, child, child->count - 1u, key, layout->key_count) < 0, "a row stands right of where its page ends");
  }
  return ERR_NONE;
}

static uint64_t subtree_rows(const TreeShape *shape, const Page *page) {
  if (page->level == 0) return page->count;
  uint64_t rows = 0;
  for (unsigned i = 0; i < page->count; i++) rows += inner_rows(shape, page, i);
  return rows;
}

// One kept column of a child. Leaves are read cell by cell, so that this does not rest on what wrote it.
static Summary child_summary(const TreeShape *shape, const KeptShape *kept, const Page *child) {
  Summary summary = summary_none();
  if (child->level > 0) {
    kept_add(shape, kept, (PageSlice){child, 0, child->count}, &summary);
    return summary;
  }
  bool number = kept->sum_at != SCHEMA_NO_COLUMN || kept->least_at != SCHEMA_NO_COLUMN || kept->greatest_at != SCHEMA_NO_COLUMN;
  for (unsigned slot = 0; slot < child->count; slot++) {
    if (kept->present != SCHEMA_NO_COLUMN && !page_cell(shape->leaf, child, kept->present, slot).i) continue;
    summary.count++;
    if (!number) continue;
    int64_t value = page_cell(shape->leaf, child, kept->value, slot).i;
    summary.sum += value;
    if (value < summary.least) summary.least = value;
    if (value > summary.greatest) summary.greatest = value;
  }
  return summary;
}

static Err check_kept(const Check *check, const Page *parent, unsigned slot, const Page *child) {
  const TreeShape *shape = check->shape;
  for (unsigned k = 0; k < shape->kept_count; k++) {
    const KeptShape *kept = &shape->kept[k];
    Summary own = child_summary(shape, kept, child);
    __int128 sum = 0;
    if (kept->sum_at != SCHEMA_NO_COLUMN) memcpy(&sum, page_cell(shape->inner, parent, kept->sum_at, slot).uuid, sizeof sum);
    RULE(kept->count_at == SCHEMA_NO_COLUMN || (uint64_t)page_cell(shape->inner, parent, kept->count_at, slot).i == own.count, "a kept count is wrong");
    RULE(kept->sum_at == SCHEMA_NO_COLUMN || sum == own.sum, "a kept sum is wrong");
    RULE(kept->least_at == SCHEMA_NO_COLUMN || page_cell(shape->inner, parent, kept->least_at, slot).i == own.least, "a kept least value is wrong");
    RULE(kept->greatest_at == SCHEMA_NO_COLUMN || page_cell(shape->inner, parent, kept->greatest_at, slot).i == own.greatest, "a kept greatest value is wrong");
  }
  return ERR_NONE;
}

static Err check_child(const Check *check, const Page *parent, unsigned slot, const Page *child) {
  RULE(child->level + 1 == parent->level && child->born <= parent->born, "a page is on the wrong level, or younger than the one above it");
  RULE(subtree_rows(check->shape, child) == inner_rows(check->shape, parent, slot), "the rows below a page are not as many as it counts");
  TRY(check_between(check, parent, slot, child));
  return check_kept(check, parent, slot, child);
}

// ---- trees ------------------------------------------------------------------------------------
static Err check_own(const Check *check, const Page *page) {
  const Layout *layout = page->level ? check->shape->inner : check->shape->leaf;
  TRY(check_page(check, layout, page));
  TRY(check_order(check, layout, page, page->level ? 1 : 0));
  return page->level ? ERR_NONE : check_overflow(check, page);
}

static Err check_tree(const Check *check, TreeRoot root) {
  if (!root.page) {
    RULE(root.rows == 0 && root.height == 0, "it has rows but no page");
    return ERR_NONE;
  }
  RULE(root.height > 0 && root.height <= TREE_HEIGHT_MAX && root.page->level + 1u == root.height, "it is not as high as it says");
  RULE(subtree_rows(check->shape, root.page) == root.rows, "its rows are not as many as it counts");
  RULE(root.height == 1 || root.page->count > 1, "its top page has one child");
  Path path = {.height = root.height};
  path.pages[0] = root.page;
  unsigned level = 0;
  for (;;) {
    Page *page = path.pages[level];
    if (path.slots[level] == 0) TRY(check_own(check, page));
    if (page->level && path.slots[level] < page->count) {
      unsigned slot = path.slots[level]++;
      Page *child = inner_child(check->shape, page, slot);
      TRY(check_child(check, page, slot, child));
      path.pages[++level] = child;
      path.slots[level] = 0;
      continue;
    }
    if (level == 0) return ERR_NONE;
    level--;
  }
}

// ---- indexes ----------------------------------------------------------------------------------
static Err check_entry(const Check *check, TreeRoot entries, const Layout *rows, PageRow row) {
  const TreeShape *index = check->shape;
  const Page *entry = NULL;
  unsigned at = 0;
  Cell key[LAYOUT_KEY_MAX];
  for (unsigned c = 0; c < index->leaf->key_count; c++) key[c] = page_cell(rows, row.page, index->source[c], row.slot);
  RULE(tree_find_row(index, entries, key, &entry, &at), "a row has no entry");
  for (unsigned c = 0; c < index->leaf->column_count; c++)
    RULE(cell_compare(&index->leaf->columns[c], page_cell(index->leaf, entry, c, at), page_cell(rows, row.page, index->source[c], row.slot)) == 0, "an entry is not equal to its row");
  return ERR_NONE;
}

// As many entries as rows, and one for each row: so there is no other.
static Err check_index(const Check *check, const TreeShape *rows, TreeRoot root, TreeRoot entries) {
  RULE(entries.rows == root.rows, "there are not as many entries as rows");
  if (!root.rows) return ERR_NONE;
  Path path;
  tree_seek_rank(rows, root, 0, &path);
  for (uint64_t left = root.rows; left > 0; left--, path_next(rows, &path))
    TRY(check_entry(check, entries, rows->leaf, (PageRow){path.pages[path.height - 1], path.slots[path.height - 1]}));
  return ERR_NONE;
}

Err reader_check(const Reader *reader, ErrText *out_text) {
  const Shape *shape = reader->shape;
  for (uint32_t tree = 0; tree < shape->tree_count; tree++) TRY(check_tree(&(Check){reader, &shape->trees[tree], out_text}, reader->roots[tree]));
  for (uint32_t tree = 0; tree < shape->tree_count; tree++) {
    if (shape->trees[tree].index == SCHEMA_NO_INDEX) continue;
    uint32_t rows = shape->tables[shape->trees[tree].table].tree;
    TRY(check_index(&(Check){reader, &shape->trees[tree], out_text}, &shape->trees[rows], reader->roots[rows], reader->roots[tree]));
  }
  return ERR_NONE;
}

void table__assert_db(const Db *db) {
  ErrText text;
  Err err = reader_check(&db->txn.reader, &text);
  assert(err == ERR_NONE);
  (void)err;
}
