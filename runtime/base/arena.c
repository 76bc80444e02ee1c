// Chunks in a list, newest first, each twice the size of the last (bounded), so that small uses stay small and large
// ones need few calls to the heap. An arena that has become large (a compiler's) goes on in chunks of a huge page each: the
// kernel clears one of those in the time it takes for some thirty small pages, one fault for each.
#include "runtime/base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/mem.h"

struct ArenaChunk { ArenaChunk *older; size_t size; };

enum { CHUNK_MIN = 1024, CHUNK_MAX = 256 * 1024, HUGE_FROM = 1024 * 1024, HUGE_BYTES = 2 * 1024 * 1024, ALIGN = 16 };
static const size_t HUGE_SIZE = HUGE_BYTES - sizeof(ArenaChunk);  // of a chunk that is mapped; no other chunk has this size
_Static_assert(sizeof(ArenaChunk) % ALIGN == 0, "the first block of a chunk is aligned");

static uint8_t *chunk_start(ArenaChunk *chunk) { return (uint8_t *)(chunk + 1); }

void arena_init(Arena *arena, size_t bytes_max) { *arena = (Arena){.bytes_max = bytes_max}; }

static void free_until(Arena *arena, const ArenaChunk *stop) {
  while (arena->chunk != stop) {
    ArenaChunk *chunk = arena->chunk;
    arena->chunk = chunk->older;
    if (chunk->size == HUGE_SIZE) mem_unmap(chunk, HUGE_BYTES);
    else mem_free(chunk);
  }
}

void arena_free(Arena *arena) {
  free_until(arena, NULL);
  arena_init(arena, arena->bytes_max);
}

void arena_reset(Arena *arena) {
  ArenaChunk *first = arena->chunk;
  while (first && first->older) first = first->older;
  free_until(arena, first);
  arena->at = first ? chunk_start(first) : NULL;
  arena->end = first ? arena->at + first->size : NULL;
  arena->bytes_used = 0;
}

// What the next chunk holds when `size` bytes are asked for.
static size_t next_size(const Arena *arena, size_t size) {
  if (arena->bytes_used >= HUGE_FROM && size <= HUGE_SIZE) return HUGE_SIZE;
  size_t next = arena->chunk ? arena->chunk->size * 2 : CHUNK_MIN;
  if (next > CHUNK_MAX) next = CHUNK_MAX;
  if (next < size) next = size;
  return next == HUGE_SIZE ? next + ALIGN : next;
}

static bool add_chunk(Arena *arena, size_t size) {
  size_t next = next_size(arena, size);
  ArenaChunk *chunk = next == HUGE_SIZE ? mem_map_huge(HUGE_BYTES) : mem_alloc(sizeof *chunk + next);
  if (!chunk) return false;
  *chunk = (ArenaChunk){.older = arena->chunk, .size = next};
  arena->chunk = chunk;
  arena->at = chunk_start(chunk);
  arena->end = arena->at + next;
  return true;
}

void *arena_alloc(Arena *arena, size_t size) {
  if (size > SIZE_MAX / 2) return NULL;
  size_t padded = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  if (padded == 0) padded = ALIGN;
  if (arena->bytes_max && padded > arena->bytes_max - arena->bytes_used) return NULL;
  if (padded > (size_t)(arena->end - arena->at) && !add_chunk(arena, padded)) return NULL;
  void *block = arena->at;
  arena->at += padded;
  arena->bytes_used += padded;
  return block;
}

void *arena_alloc_zero(Arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  void *block = arena_alloc(arena, bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

void *arena_grow(Arena *arena, void *old, size_t old_size, size_t new_size) {
  assert(new_size >= old_size);
  size_t old_padded = (old_size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  bool is_newest = old_size && (uint8_t *)old + old_padded == arena->at;
  size_t more = ((new_size + ALIGN - 1) & ~(size_t)(ALIGN - 1)) - old_padded;
  bool fits = more <= (size_t)(arena->end - arena->at) && (!arena->bytes_max || more <= arena->bytes_max - arena->bytes_used);
  if (is_newest && fits) {
    arena->at += more;
    arena->bytes_used += more;
    return old;
  }
  void *block = arena_alloc(arena, new_size);
  if (block && old_size) memcpy(block, old, old_size);
  return block;
}

Str arena_copy(Arena *arena, Str text) {
  char *copy = arena_alloc(arena, text.len + 1);
  if (!copy) return (Str){0};
  if (text.len) memcpy(copy, text.ptr, text.len);
  copy[text.len] = 0;
  return (Str){copy, text.len};
}

Str arena_format(Arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int len = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = len < 0 ? NULL : arena_alloc(arena, (size_t)len + 1);
  if (!text) return (Str){0};
  va_start(args, format);
  vsnprintf(text, (size_t)len + 1, format, args);
  va_end(args);
  return (Str){text, (size_t)len};
}

ArenaMark arena_mark(const Arena *arena) { return (ArenaMark){arena->chunk, arena->at, arena->bytes_used}; }

void arena_release(Arena *arena, ArenaMark mark) {
  if (!mark.chunk) { arena_reset(arena); return; }
  free_until(arena, mark.chunk);
  arena->at = mark.at;
  arena->end = chunk_start(mark.chunk) + mark.chunk->size;
  arena->bytes_used = mark.bytes_used;
}
