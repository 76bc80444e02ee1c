// The one way to the heap. Counts what is held, and lets a test make the n-th allocation fail.
//
// Owns:   nothing; each block belongs to who asked for it.
// Thread: any (the counters are atomic).
// Errors: NULL when there is no memory. Sizes are known again when freeing only to the C library.
#pragma once
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size);                     // not cleared
void *mem_alloc_zero(size_t count, size_t size);  // cleared; NULL when count * size overflows
void *mem_alloc_aligned(size_t alignment, size_t size);  // a power of two; not cleared
void *mem_realloc(void *block, size_t size);      // as realloc; the old block stays valid when NULL comes back
void mem_free(void *block);                       // NULL is fine

// Blocks allocated and not yet freed, and allocations made since the start of the process.
uint64_t mem_blocks_held(void);
uint64_t mem_allocations(void);

// For fault tests: from now on the allocation number `nth` (1 is the next one) fails, and when `for_ever` is set
// every one after it too. 0 switches this off.
void mem_fail_nth(uint64_t nth, int for_ever);
