// Interned names: each different text has one number, so that later phases compare and index by number.
//
// Owns:   the texts and the table (arena of the tree).
// Thread: one at a time while adding, any when only reading.
// Errors: 0 when there is no memory.
// Limits: as many names as a source has bytes.
#pragma once
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/str.h"

typedef uint32_t Sym;  // 0: no name

typedef struct Intern {
  Arena *arena;
  Str *texts;           // by sym; texts[0] is empty
  uint32_t *hashes;     // by sym
  uint32_t *slots;      // open addressing, slot_count is a power of two; 0: free
  uint32_t count, room, slot_count;
} Intern;

bool intern_init(Intern *intern, Arena *arena);
// The number of the text; the bytes are not copied and must live as long as the arena.
Sym intern_add(Intern *intern, Str text);
Sym intern_find(const Intern *intern, Str text);  // 0 when it was never added
