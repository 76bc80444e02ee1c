// A Shape is a schema made ready for the trees: for each table its layout of stored columns, for each index the layout
// of its entries, and how a column's value is taken apart into cells and put together again.
//
// Records are taken apart into their fields, at any depth; an optional is a presence byte and then what is inside;
// references are the key they hold; lists, sets, maps and enums with fields are one text cell with their encoding.
//
// Owns:   itself; counted, since snapshots keep the shape they were taken under. The schema is the Db's user's.
// Thread: any, read only once built; the count is the owner's.
// Errors: ERR_LIMIT when a table has more than LAYOUT_COLUMNS_MAX stored columns or a key more than LAYOUT_KEY_MAX.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/table/cell.h"
#include "runtime/value/schema.h"

// A column whose value is one cell, so that reading it is one step.
typedef enum FlatKind { FLAT_NOT, FLAT_INT, FLAT_DECIMAL, FLAT_FLOAT, FLAT_TEXT, FLAT_UUID } FlatKind;

typedef struct ColumnShape { TypeId type; uint16_t at, count; uint8_t flat; bool optional, is_array; } ColumnShape;  // cells [at, at + count) of the table's layout; type: references replaced; is_array: but for presence, one cell that is the value

// What is kept of a column: where it lies in a leaf's row (present: of an optional, else SCHEMA_NO_COLUMN; value: when sum,
// least or greatest are kept), and where in that of an inner page (SCHEMA_NO_COLUMN: not kept).
typedef struct KeptShape { uint16_t column, present, value, count_at, sum_at, least_at, greatest_at; } KeptShape;

typedef struct TreeShape {
  Layout *leaf, *inner;      // inner: the key, then the child's address, then its rows, then what is kept of it
  uint16_t kept_count;
  KeptShape *kept;
  uint16_t table, index;     // SCHEMA_NO_INDEX: the table itself
  uint16_t *source;          // of an index: by stored column of the entry, that of the table
  uint16_t *entry_at;        // of an index: by column of the table, where its cells start in the entry, or SCHEMA_NO_COLUMN
} TreeShape;

typedef struct TableShape {
  uint32_t tree;             // its indexes' follow
  uint16_t index_count;
  ColumnShape *columns;
  TypeId key_type;           // of the one key column, or of none when the key is a record of several
  uint16_t key_cells;
} TableShape;

typedef struct Shape {
  const Schema *schema;
  uint32_t refs;
  uint32_t tree_count;
  uint32_t cells_max;        // of the widest table
  uint32_t entries_max;      // of the widest table's indexes together
  TableShape *tables;
  TreeShape *trees;
  Arena arena;
} Shape;

MUST_USE Err shape_build(const Schema *schema, Shape **out_shape);
void shape_release(Shape *shape);
// Do two trees (of one shape or two) store their rows alike?
bool layout_equal(const Layout *a, const Layout *b);

// ---- values and cells -------------------------------------------------------------------------
// A column's value as cells. Texts point to where they were; encodings live in `arena`. ERR_MEMORY; ERR_LIMIT for a
// decimal beyond 64 bits or a text beyond 4 GiB.
MUST_USE Err cells_from_column(const Shape *shape, const ColumnShape *column, Value value, Arena *arena, Cell *out_cells);
// A whole key. Needs no memory, since what a key is made of is never encoded.
MUST_USE Err cells_from_key(const Shape *shape, const TableShape *table, Value key, Cell *out_cells);
// Bytes of a key or entry against TABLE_KEY_BYTES_MAX.
uint32_t cells_key_bytes(const Layout *layout, const Cell *cells);
// And back: from cells, or from a row of a page, where the column's cells start at `at` of the layout.
MUST_USE Err value_from_cells(const Shape *shape, const ColumnShape *column, const Cell *cells, Arena *arena, Value *out_value);
typedef struct CellRun { const Layout *layout; PageRow row; unsigned at; } CellRun;
MUST_USE Err value_from_page(const Shape *shape, const ColumnShape *column, CellRun run, Arena *arena, Value *out_value);
