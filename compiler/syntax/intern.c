// Open addressing over a power of two, at most half full. FNV-1a is enough here: who chooses the names also chooses to
// wait for the compiler.
#include "compiler/syntax/intern.h"

#include <assert.h>

enum { INTERN_START = 256 };

static uint32_t hash_name(Str text) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < text.len; i++) hash = (hash ^ (uint8_t)text.ptr[i]) * 16777619u;
  return hash ^ hash >> 15;
}

bool intern_init(Intern *intern, Arena *arena) {
  *intern = (Intern){.arena = arena, .count = 1, .room = INTERN_START, .slot_count = INTERN_START * 2};
  intern->texts = ARENA_ARRAY(arena, Str, intern->room);
  intern->hashes = ARENA_ARRAY(arena, uint32_t, intern->room);
  intern->slots = ARENA_ARRAY(arena, uint32_t, intern->slot_count);
  return intern->texts && intern->hashes && intern->slots;
}

// The slot that holds the text, or the free one where it belongs.
static uint32_t find_slot(const Intern *intern, Str text, uint32_t hash) {
  uint32_t mask = intern->slot_count - 1, at = hash & mask;
  for (uint32_t sym; (sym = intern->slots[at]) != 0; at = (at + 1) & mask)
    if (intern->hashes[sym] == hash && str_equal(intern->texts[sym], text)) break;
  return at;
}

static bool grow(Intern *intern) {
  uint32_t room = intern->room;
  Str *texts = arena_grow(intern->arena, intern->texts, room * sizeof *texts, 2 * room * sizeof *texts);
  uint32_t *hashes = arena_grow(intern->arena, intern->hashes, room * sizeof *hashes, 2 * room * sizeof *hashes);
  uint32_t *slots = ARENA_ARRAY(intern->arena, uint32_t, intern->slot_count * 2);
  if (texts) intern->texts = texts;
  if (hashes) intern->hashes = hashes;
  if (!texts || !hashes || !slots) return false;
  intern->slots = slots;
  intern->slot_count *= 2;
  intern->room *= 2;
  for (uint32_t sym = 1; sym < intern->count; sym++)
    slots[find_slot(intern, intern->texts[sym], intern->hashes[sym])] = sym;
  return true;
}

Sym intern_add(Intern *intern, Str text) {
  assert(intern->count < intern->slot_count);
  uint32_t hash = hash_name(text), slot = find_slot(intern, text, hash);
  if (intern->slots[slot]) return intern->slots[slot];
  if (intern->count == intern->room) {
    if (!grow(intern)) return 0;
    slot = find_slot(intern, text, hash);
  }
  Sym sym = intern->count++;
  intern->texts[sym] = text;
  intern->hashes[sym] = hash;
  intern->slots[slot] = sym;
  return sym;
}

Sym intern_find(const Intern *intern, Str text) { return intern->slots[find_slot(intern, text, hash_name(text))]; }
