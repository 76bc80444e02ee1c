#include <criterion/criterion.h>

#include "runtime/base/arena.h"
#include "runtime/base/mem.h"

Test(arena, gives_aligned_blocks_and_takes_all_back) {
  uint64_t held = mem_blocks_held();
  Arena arena;
  arena_init(&arena, 0);
  for (size_t size = 0; size < 5000; size += 7) {
    uint8_t *block = arena_alloc(&arena, size);
    cr_assert_not_null(block);
    cr_assert_eq((uintptr_t)block % 16, 0);
    memset(block, 0xAB, size);
  }
  arena_free(&arena);
  cr_assert_eq(mem_blocks_held(), held);
}

Test(arena, refuses_at_its_limit_and_not_before) {
  Arena arena;
  arena_init(&arena, 64);
  cr_assert_not_null(arena_alloc(&arena, 48));
  cr_assert_null(arena_alloc(&arena, 17));
  cr_assert_not_null(arena_alloc(&arena, 16));
  cr_assert_null(arena_alloc(&arena, 1));
  arena_free(&arena);
}

Test(arena, growing_keeps_the_bytes_and_release_goes_back) {
  Arena arena;
  arena_init(&arena, 0);
  char *text = arena_alloc(&arena, 5);
  memcpy(text, "hello", 5);
  ArenaMark mark = arena_mark(&arena);
  char *grown = arena_grow(&arena, text, 5, 5000);
  cr_assert_eq(memcmp(grown, "hello", 5), 0);
  arena_release(&arena, mark);
  cr_assert_eq(arena.bytes_used, 16);
  cr_assert_eq(memcmp(text, "hello", 5), 0);
  arena_free(&arena);
}

// Past a mebibyte the chunks are mapped, one huge page each; blocks that fit none of them have their own.
Test(arena, goes_on_in_huge_pages_and_takes_all_back) {
  enum { BLOCK = 60000, COUNT = 100, TOO_LARGE = 3 * 1024 * 1024 };
  uint64_t held = mem_blocks_held();
  Arena arena;
  arena_init(&arena, 0);
  uint8_t *blocks[COUNT];
  for (int i = 0; i < COUNT; i++) {
    blocks[i] = arena_alloc(&arena, BLOCK);
    cr_assert_not_null(blocks[i]);
    cr_assert_eq((uintptr_t)blocks[i] % 16, 0);
    memset(blocks[i], i, BLOCK);
  }
  cr_assert_lt(mem_blocks_held() - held, 16, "not a chunk a block");
  ArenaMark mark = arena_mark(&arena);
  size_t used = arena.bytes_used;
  memset(arena_alloc(&arena, TOO_LARGE), 0xEE, TOO_LARGE);
  // The size at which a chunk of the heap would be as large as a mapped one.
  for (size_t size = 2 * 1024 * 1024 - 64; size < 2 * 1024 * 1024 + 64; size += 16) memset(arena_alloc(&arena, size), 0xEE, size);
  arena_release(&arena, mark);
  cr_assert_eq(arena.bytes_used, used);
  for (int i = 0; i < COUNT; i++) cr_assert(blocks[i][0] == i && blocks[i][BLOCK - 1] == i);
  arena_free(&arena);
  cr_assert_eq(mem_blocks_held(), held);
}
