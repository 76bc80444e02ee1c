// Blocks over a leaf at a time. A filter's or aggregate's block is code for one row; where it is straight-line code over
// columns and numbers it can be run for many rows at once: the same instructions, each a loop over arrays. One code, so
// the compiler knows nothing of it, and what a vector cannot do exactly (an overflow, a decimal past 64 bits) is left
// to the machine, row by row.
//
// Owns:   everything is in the Exec's arena.
// Thread: that of the Exec.
// Errors: NULL or false: do it row by row. No fault is raised here.
// Limits: VECTOR_SLOTS_MAX registers written in a block; VECTOR_ROWS rows at a time.
#pragma once
#include "runtime/query/query_internal.h"
#include "runtime/table/batch.h"

enum { VECTOR_SLOTS_MAX = 16, VECTOR_ROWS = 256 };

typedef struct Vectors Vectors;          // working arrays, shared by the blocks of one scan
typedef struct VectorBlock VectorBlock;

// NULL: the block cannot be run so, or there is no memory. `plan` and `stage` name the scan whose rows are the vectors.
Vectors *vectors__new(Exec *exec);
VectorBlock *vector__prepare(Exec *exec, const Function *function, uint16_t plan, uint8_t stage, uint16_t block);
// Whether something outside of the block, but for the stage `own` whose block it is, reads what it computes (a `with`, say): then it
// must also be run for each row that goes on, since vectors leave nothing in the registers.
bool vector__leaves_values(const VectorBlock *block, const Stage *own);

// Runs the block for rows [first, first + count) of the batch, count at most VECTOR_ROWS, and afterwards gives a register's
// values: an array, or one value for all rows (`*out_all`).
bool vector__run(const VectorBlock *block, Vectors *vectors, const LeafBatch *batch, uint32_t first, uint32_t count, const Value *registers);
const int64_t *vector__values(const VectorBlock *block, const Vectors *vectors, uint16_t reg, const Value *registers, int64_t *out_one);
// Whether vector__values can be asked for the register: an int, bool, time … or a decimal.
bool vector__knows(const VectorBlock *block, uint16_t reg);
