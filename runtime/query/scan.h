// A scan that runs over vectors: the leaf's rows that pass the filters behind it, and, where everything up to a GROUP or
// AGGREGATE can be had from numbers, whole leaves folded into groups without a step a row.
//
// Owns:   everything is in the Exec's arena.
// Thread: that of the Exec.
// Errors: see vector.h: what vectors cannot do is done row by row, and the stages behind are then told to do their own work.
#pragma once
#include "runtime/query/vector.h"

enum { SCAN_FILTERS_MAX = 8 };

typedef struct VectorScan VectorScan;

// Looks at the stages from `stage` (a SCAN) on. NULL: nothing to gain, or no memory.
VectorScan *scan__prepare(Exec *exec, const Function *function, uint16_t plan, uint8_t stage);
void scan__start(VectorScan *scan, Cursor *cursor);

typedef enum ScanNext { SCAN_ROW, SCAN_END, SCAN_AGAIN, SCAN_FAILED } ScanNext;
// The next row of the cursor that passes; it stands on it. `groups` is that of the fused stage, or NULL.
ScanNext scan__next(Exec *exec, VectorScan *scan, Groups *groups, Value *registers);
// The number of filters behind the scan whose work is done for the present row.
uint8_t scan__filters_done(const VectorScan *scan);
// The stage, counted from the scan, that takes whole leaves, or 0.
uint8_t scan__fused(const VectorScan *scan);
