// malloc with counters and an injected failure. The counters cost two relaxed atomic additions a call, which is
// nothing beside malloc itself, and let tests assert that warm paths allocate nothing.
#include "runtime/base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static atomic_uint_fast64_t allocations, frees, fail_at;
static atomic_int fail_for_ever;

static bool may_allocate(void) {
  uint64_t number = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed) + 1;
  uint64_t at = atomic_load_explicit(&fail_at, memory_order_relaxed);
  if (at == 0 || number < at) return true;
  return number > at && !atomic_load_explicit(&fail_for_ever, memory_order_relaxed);
}

// A block that was not given counts as given and freed.
static void *counted(void *block) {
  if (!block) atomic_fetch_add_explicit(&frees, 1, memory_order_relaxed);
  return block;
}

void *mem_alloc(size_t size) { return counted(may_allocate() ? malloc(size ? size : 1) : NULL); }

void *mem_alloc_zero(size_t count, size_t size) {
  return counted(may_allocate() ? calloc(count ? count : 1, size ? size : 1) : NULL);
}

void *mem_realloc(void *block, size_t size) {
  if (!block) return mem_alloc(size);
  bool may = may_allocate();
  atomic_fetch_add_explicit(&frees, 1, memory_order_relaxed);  // the old block, or the failed try, no longer counts
  return may ? realloc(block, size ? size : 1) : NULL;
}

void mem_free(void *block) {
  if (!block) return;
  atomic_fetch_add_explicit(&frees, 1, memory_order_relaxed);
  free(block);
}

// Twice the size holds an aligned block; what lies in front of it and behind goes back at once.
static void *map_aligned(size_t size) {
  if (size > SIZE_MAX / 2) return NULL;
  char *all = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return NULL;
  size_t before = (size_t)(-(uintptr_t)all & (size - 1));
  if (before) (void)munmap(all, before);
  (void)munmap(all + before + size, size - before);
  return all + before;
}

void *mem_map(size_t size) { return counted(may_allocate() ? map_aligned(size) : NULL); }

void *mem_map_huge(size_t size) {
  void *block = mem_map(size);
  if (block) (void)madvise(block, size, MADV_HUGEPAGE);  // a system without them maps small pages
  return block;
}

void mem_unmap(void *block, size_t size) {
  if (!block) return;
  atomic_fetch_add_explicit(&frees, 1, memory_order_relaxed);
  (void)munmap(block, size);
}

uint64_t mem_blocks_held(void) { return atomic_load(&allocations) - atomic_load(&frees); }
uint64_t mem_allocations(void) { return atomic_load(&allocations); }

void mem_fail_nth(uint64_t nth, int for_ever) {
  atomic_store(&fail_for_ever, for_ever);
  atomic_store(&fail_at, nth ? atomic_load(&allocations) + nth : 0);
}
