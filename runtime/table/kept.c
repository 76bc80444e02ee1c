// See kept.h. A leaf's rows are added with one loop for each width of cell; everything above is a few cells a child.
#include "runtime/table/kept.h"

#include <assert.h>

#include "runtime/table/tree.h"

// ---- cells of inner pages ---------------------------------------------------------------------
static int64_t number_at(const TreeShape *shape, const Page *page, unsigned at, unsigned slot) {
  int64_t number;
  memcpy(&number, page_column(shape->inner, page, at) + 8 * (size_t)slot, 8);
  return number;
}

static void put_number(const TreeShape *shape, Page *page, unsigned at, unsigned slot, int64_t number) {
  memcpy(page_column(shape->inner, page, at) + 8 * (size_t)slot, &number, 8);
}

static __int128 sum_at(const TreeShape *shape, const Page *page, unsigned at, unsigned slot) {
  __int128 sum;
  memcpy(&sum, page_column(shape->inner, page, at) + 16 * (size_t)slot, 16);
  return sum;
}

static void put_sum(const TreeShape *shape, Page *page, unsigned at, unsigned slot, __int128 sum) {
  memcpy(page_column(shape->inner, page, at) + 16 * (size_t)slot, &sum, 16);
}

static void add_children(const TreeShape *shape, const KeptShape *kept, PageSlice slice, Summary *summary) {
  uint64_t rows = 0, count = 0;
  for (unsigned slot = slice.from; slot < slice.to; slot++) {
    rows += inner_rows(shape, slice.page, slot);
    if (kept->count_at != SCHEMA_NO_COLUMN) count += (uint64_t)number_at(shape, slice.page, kept->count_at, slot);
    if (kept->sum_at != SCHEMA_NO_COLUMN) summary->sum += sum_at(shape, slice.page, kept->sum_at, slot);
    if (kept->least_at != SCHEMA_NO_COLUMN) {
      int64_t least = number_at(shape, slice.page, kept->least_at, slot);
      if (least < summary->least) summary->least = least;
    }
    if (kept->greatest_at != SCHEMA_NO_COLUMN) {
      int64_t greatest = number_at(shape, slice.page, kept->greatest_at, slot);
      if (greatest > summary->greatest) summary->greatest = greatest;
    }
  }
  summary->rows += rows;
  summary->count += kept->count_at != SCHEMA_NO_COLUMN ? count : rows;
}

// ---- rows of leaves ---------------------------------------------------------------------------
static bool has_number(const KeptShape *kept) {
  return kept->sum_at != SCHEMA_NO_COLUMN || kept->least_at != SCHEMA_NO_COLUMN || kept->greatest_at != SCHEMA_NO_COLUMN;
}

static int64_t leaf_number(const TreeShape *shape, const Page *leaf, unsigned column, unsigned slot) {
  const LayoutColumn *cells = &shape->leaf->columns[column];
  const uint8_t *at = page_column(shape->leaf, leaf, column);
  if (cells->kind == CELL_U8) return at[slot];
  if (cells->kind == CELL_U16) return ((const uint16_t *)(const void *)at)[slot];
  assert(cells->kind == CELL_I64);
  return ((const int64_t *)(const void *)at)[slot];
}

static void add_number(Summary *summary, int64_t number) {
  summary->sum += number;
  if (number < summary->least) summary->least = number;
  if (number > summary->greatest) summary->greatest = number;
}

static void add_rows(const TreeShape *shape, const KeptShape *kept, PageSlice slice, Summary *summary) {
  const uint8_t *present = kept->present == SCHEMA_NO_COLUMN ? NULL : page_column(shape->leaf, slice.page, kept->present);
  bool numbers = has_number(kept);
  summary->rows += slice.to - slice.from;
  for (unsigned slot = slice.from; slot < slice.to; slot++) {
    if (present && !present[slot]) continue;
    summary->count++;
    if (numbers) add_number(summary, leaf_number(shape, slice.page, kept->value, slot));
  }
}

void kept_add(const TreeShape *shape, const KeptShape *kept, PageSlice slice, Summary *summary) {
  assert(slice.from <= slice.to && slice.to <= slice.page->count);
  if (slice.page->level > 0) add_children(shape, kept, slice, summary);
  else add_rows(shape, kept, slice, summary);
}

void kept_of_row(const TreeShape *shape, const Page *leaf, unsigned slot, KeptValue *out_values) {
  for (unsigned k = 0; k < shape->kept_count; k++) {
    const KeptShape *kept = &shape->kept[k];
    bool present = kept->present == SCHEMA_NO_COLUMN || page_column(shape->leaf, leaf, kept->present)[slot];
    out_values[k] = (KeptValue){.present = present};
    if (present && has_number(kept)) out_values[k].value = leaf_number(shape, leaf, kept->value, slot);
  }
}

// ---- writing ----------------------------------------------------------------------------------
static Cell sum_cell(__int128 sum) {
  Cell cell;
  memcpy(cell.uuid, &sum, sizeof sum);
  return cell;
}

void kept_cells(const TreeShape *shape, PageSlice slice, Cell *cells) {
  for (unsigned k = 0; k < shape->kept_count; k++) {
    const KeptShape *kept = &shape->kept[k];
    Summary summary = summary_none();
    kept_add(shape, kept, slice, &summary);
    if (kept->count_at != SCHEMA_NO_COLUMN) cells[kept->count_at] = (Cell){.i = (int64_t)summary.count};
    if (kept->sum_at != SCHEMA_NO_COLUMN) cells[kept->sum_at] = sum_cell(summary.sum);
    if (kept->least_at != SCHEMA_NO_COLUMN) cells[kept->least_at] = (Cell){.i = summary.least};
    if (kept->greatest_at != SCHEMA_NO_COLUMN) cells[kept->greatest_at] = (Cell){.i = summary.greatest};
  }
}

void kept_set(const TreeShape *shape, Page *parent, unsigned slot, PageSlice slice) {
  if (!shape->kept_count) return;
  Cell cells[INNER_CELLS_MAX];
  kept_cells(shape, slice, cells);
  for (unsigned c = shape->inner->key_count + 2u; c < shape->inner->column_count; c++) page_set_cell(shape->inner, parent, c, slot, cells[c]);
}

// An extreme stays unless it was this row's alone to have; then the child says what it is now.
typedef struct KeptChange { KeptValue before, after; Page *parent; unsigned slot; } KeptChange;

static void change_extreme(const TreeShape *shape, const KeptShape *kept, const KeptChange *change, bool least) {
  unsigned at = least ? kept->least_at : kept->greatest_at, slot = change->slot;
  Page *parent = change->parent;
  KeptValue before = change->before, after = change->after;
  int64_t now = number_at(shape, parent, at, slot);
  bool better = after.present && (least ? after.value <= now : after.value >= now);
  if (better) {
    put_number(shape, parent, at, slot, after.value);
    return;
  }
  if (!before.present || before.value != now) return;
  const Page *child = inner_child(shape, parent, slot);
  Summary summary = summary_none();
  kept_add(shape, kept, (PageSlice){child, 0, child->count}, &summary);
  put_number(shape, parent, at, slot, least ? summary.least : summary.greatest);
}

void kept_change(const TreeShape *shape, Page *parent, unsigned slot, const KeptValue *before, const KeptValue *after) {
  static const KeptValue ABSENT = {0};
  for (unsigned k = 0; k < shape->kept_count; k++) {
    const KeptShape *kept = &shape->kept[k];
    KeptValue old = before ? before[k] : ABSENT, new = after ? after[k] : ABSENT;
    KeptChange change = {old, new, parent, slot};
    if (kept->count_at != SCHEMA_NO_COLUMN) put_number(shape, parent, kept->count_at, slot, number_at(shape, parent, kept->count_at, slot) + new.present - old.present);
    if (kept->sum_at != SCHEMA_NO_COLUMN) put_sum(shape, parent, kept->sum_at, slot, sum_at(shape, parent, kept->sum_at, slot) + new.value - old.value);
    if (kept->least_at != SCHEMA_NO_COLUMN) change_extreme(shape, kept, &change, true);
    if (kept->greatest_at != SCHEMA_NO_COLUMN) change_extreme(shape, kept, &change, false);
  }
}
