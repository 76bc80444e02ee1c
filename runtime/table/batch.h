// Rows a leaf at a time, by column, so that an expression can run over a vector instead of row by row.
//
// Owns:   nothing: a batch and its columns are good until the cursor moves or the Txn changes.
// Thread: that of the cursor.
// Errors: none.
#pragma once
#include "runtime/table/table.h"

typedef enum BatchKind { BATCH_I64, BATCH_F64, BATCH_U8, BATCH_U16, BATCH_UUID, BATCH_TEXT } BatchKind;  // decimals: I64, unscaled; bool, plain enum: U8 or U16

typedef struct LeafBatch {
  Cursor *cursor;
  const void *page;
  uint32_t first, count;  // slots of the leaf
  bool backward;          // the range goes backward: rows are to be taken from the last to the first
} LeafBatch;

// One array element a row of the batch, `stride` bytes apart.
typedef struct BatchColumn {
  BatchKind kind;
  uint32_t stride;
  const void *values;
  const uint8_t *present;  // of an optional: a byte a row, 0 where it is none (its value is a zero then); else NULL
} BatchColumn;

// Moves to the rest of the leaf that holds the next row of the range, as far as it lies in the range. The cursor then
// stands on the last row of the batch (in its direction). false: no more rows.
bool cursor_batch(Cursor *cursor, LeafBatch *out_batch);
// false: the column does not lie in the leaf as one array (a record, list, set, map, enum with fields; or it is not in the
// index): read such rows with cursor_next and cursor_column.
bool batch_column(const LeafBatch *batch, uint16_t column, BatchColumn *out_column);
Str batch_text(const LeafBatch *batch, const BatchColumn *column, uint32_t row);  // row: from 0 to count
// Lets the cursor stand on a row of its last batch, so that cursor_key and cursor_column read that one. Before the next
// batch it must stand on the batch's last row (in its direction) again, where cursor_batch has left it.
void batch_stand(const LeafBatch *batch, uint32_t row);
