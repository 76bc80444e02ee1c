// Linear probing at a load of at most one half.
#include "compiler/check/map.h"

#include <assert.h>

enum { MAP_SLOTS_FIRST = 64 };

void map_init(Map *map, Arena *arena) { *map = (Map){.arena = arena}; }

static uint32_t slot_of(const Map *map, uint64_t key) {
  uint64_t hash = key * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
  uint32_t at = (uint32_t)hash & (map->slot_count - 1);
  while (map->slots[at].used && map->slots[at].key != key) at = (at + 1) & (map->slot_count - 1);
  return at;
}

uint32_t map_get(const Map *map, uint64_t key) {
  if (!map->slot_count) return MAP_NOTHING;
  const MapSlot *slot = &map->slots[slot_of(map, key)];
  return slot->used ? slot->value : MAP_NOTHING;
}

static bool grow(Map *map) {
  MapSlot *old = map->slots;
  uint32_t old_count = map->slot_count, wanted = old_count ? 2 * old_count : MAP_SLOTS_FIRST;
  MapSlot *slots = ARENA_ARRAY(map->arena, MapSlot, wanted);
  if (!slots) return false;
  map->slots = slots;
  map->slot_count = wanted;
  for (uint32_t i = 0; i < old_count; i++)
    if (old[i].used) map->slots[slot_of(map, old[i].key)] = old[i];
  return true;
}

bool map_put(Map *map, uint64_t key, uint32_t value) {
  if (2 * (map->count + 1) > map->slot_count && !grow(map)) return false;
  MapSlot *slot = &map->slots[slot_of(map, key)];
  if (!slot->used) map->count++;
  *slot = (MapSlot){key, value, true};
  return true;
}
