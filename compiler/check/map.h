// A hash map from 64-bit keys to 32-bit numbers, in an arena. Keys are pairs of dense numbers (an owner and a name), so a
// multiplication spreads them well enough; nobody outside chooses them.
//
// Owns:   its slots (arena).
// Thread: one at a time.
// Errors: map_put gives false when there is no memory.
// Limits: 2^31 entries.
#pragma once
#include "runtime/base/arena.h"

static const uint32_t MAP_NOTHING = 0xFFFFFFFF;

typedef struct MapSlot { uint64_t key; uint32_t value; bool used; } MapSlot;
typedef struct Map { Arena *arena; MapSlot *slots; uint32_t count, slot_count; } Map;

static inline uint64_t map_pair(uint32_t a, uint32_t b) { return (uint64_t)a << 32 | b; }
void map_init(Map *map, Arena *arena);
uint32_t map_get(const Map *map, uint64_t key);  // MAP_NOTHING when it is not there
bool map_put(Map *map, uint64_t key, uint32_t value);
