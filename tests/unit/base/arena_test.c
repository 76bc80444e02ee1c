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
