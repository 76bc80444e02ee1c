// An arena hands out memory that is freed all at once: one per compile, request and turn.
//
// Owns:   every block it gave, until arena_reset or arena_free.
// Thread: one at a time.
// Errors: NULL when the heap is empty or `bytes_max` would be passed; nothing is lost then.
// Limits: bytes_max, given at init (0: none).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/str.h"

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
  ArenaChunk *chunk;  // the newest
  uint8_t *at, *end;  // free space in it
  size_t bytes_used;  // handed out, with padding
  size_t bytes_max;   // 0: no limit
} Arena;

void arena_init(Arena *arena, size_t bytes_max);
void arena_free(Arena *arena);   // gives everything back; the arena is empty and usable again
void arena_reset(Arena *arena);  // the same, but keeps the first chunk for the next turn

// 16-byte aligned, not cleared. A size of 0 gives a valid pointer.
void *arena_alloc(Arena *arena, size_t size);
void *arena_alloc_zero(Arena *arena, size_t count, size_t size);  // cleared; NULL when count * size overflows
// Grows the block `old` of `old_size` bytes, in place when it is the newest one; the bytes are kept.
void *arena_grow(Arena *arena, void *old, size_t old_size, size_t new_size);
// A copy with a zero byte behind it. ptr is NULL when there is no memory.
Str arena_copy(Arena *arena, Str text);
// Formats into the arena; the text has a zero byte behind it. ptr is NULL when there is no memory.
Str arena_format(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A place to come back to: everything given after the mark is taken back.
typedef struct ArenaMark { ArenaChunk *chunk; uint8_t *at; size_t bytes_used; } ArenaMark;
ArenaMark arena_mark(const Arena *arena);
void arena_release(Arena *arena, ArenaMark mark);

#define ARENA_NEW(arena, type) ((type *)arena_alloc_zero((arena), 1, sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_alloc_zero((arena), (count), sizeof(type)))
