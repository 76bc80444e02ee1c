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
void *mem_realloc(void *block, size_t size);      // as realloc; the old block stays valid when NULL comes back
void mem_free(void *block);                       // NULL is fine
// Straight from the system, aligned to its size (a power of two of whole pages), cleared: for large blocks that must go back
// when they are let go, which malloc does not promise. mem_unmap takes the size again; NULL is fine.
void *mem_map(size_t size);
void *mem_map_huge(size_t size);  // the same, on huge pages where the system has them: for what is filled soon and whole
void mem_unmap(void *block, size_t size);

// Blocks allocated and not yet freed, and allocations made since the start of the process.
uint64_t mem_blocks_held(void);
uint64_t mem_allocations(void);

// For fault tests: from now on the allocation number `nth` (1 is the next one) fails, and when `for_ever` is set
// every one after it too. 0 switches this off.
void mem_fail_nth(uint64_t nth, int for_ever);
