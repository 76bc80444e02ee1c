// What inner pages keep of the rows below a child: counts, sums, the least and the greatest of some columns (table.h's
// Summary, schema.h's KEPT_*). Counts and sums go by difference; an extreme is looked for again, in the child alone, only
// when the row that had it lost it.
//
// Owns:   nothing.
// Thread: as pages.
// Errors: none.
#pragma once
#include "runtime/table/shape.h"
#include "runtime/table/table.h"

// A kept column of one row.
typedef struct KeptValue { int64_t value; bool present; } KeptValue;

static inline Summary summary_none(void) { return (Summary){.least = INT64_MAX, .greatest = INT64_MIN}; }
// Adds rows [from, to) of a leaf, or the children [from, to) of an inner page.
void kept_add(const TreeShape *shape, const KeptShape *kept, PageSlice slice, Summary *summary);
// The kept cells of an inner page's row, from cells[key_count + 2] on, for a child with these rows or children.
void kept_cells(const TreeShape *shape, PageSlice slice, Cell *cells);
void kept_set(const TreeShape *shape, Page *parent, unsigned slot, PageSlice slice);
// The kept columns of a leaf's row, kept_count of them.
void kept_of_row(const TreeShape *shape, const Page *leaf, unsigned slot, KeptValue *out_values);
// A row below the child (which is up to date already) went from `before` to `after`; NULL: was not, or is not, there.
void kept_change(const TreeShape *shape, Page *parent, unsigned slot, const KeptValue *before, const KeptValue *after);
