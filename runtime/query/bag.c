// A hash table over the codec's bytes. The bytes of equal values are equal, so groups and distinct values need no hash
// or comparison by type. Keys come from users, so that the hash is SipHash, keyed with the bag's address, which the
// system picks at random: nobody outside can make keys meet in one slot. No answer depends on it.
#include <assert.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/query/query_internal.h"

enum { FIRST_SLOTS = 16 };

void bag__reset(Bag *bag) {
  if (bag->slots) memset(bag->table, 0, sizeof *bag->table * bag->slots);
  bag->count = 0;
}

Buf *bag__begin(Exec *exec) {
  Buf *scratch = &exec__context(exec)->scratch;
  buf_clear(scratch);
  return scratch;
}

static uint64_t hash_bytes(const Bag *bag, Str bytes) {
  ChecksumKey key = {{0}};
  memcpy(key.bytes, &bag, sizeof bag);
  return checksum(&key, bytes.ptr, bytes.len);
}

static uint32_t *find_slot(Bag *bag, Str bytes) {
  uint32_t mask = bag->slots - 1;
  uint32_t at = (uint32_t)hash_bytes(bag, bytes) & mask;
  while (bag->table[at] && !str_equal(bag->keys[bag->table[at] - 1], bytes)) at = (at + 1) & mask;
  return &bag->table[at];
}

static bool rehash(Exec *exec, Bag *bag) {
  uint32_t slots = bag->slots ? bag->slots * 2 : FIRST_SLOTS;
  uint32_t *table = ARENA_ARRAY(&exec->arena, uint32_t, slots);
  Str *keys = arena_alloc(&exec->arena, sizeof(Str) * (slots / 2));
  if (!table || !keys) return false;
  if (bag->count) memcpy(keys, bag->keys, sizeof(Str) * bag->count);
  bag->table = table;
  bag->keys = keys;
  bag->slots = slots;
  bag->cap = slots / 2;
  for (uint32_t i = 0; i < bag->count; i++) *find_slot(bag, keys[i]) = i + 1;
  return true;
}

bool bag__number(Exec *exec, Bag *bag, uint32_t *out_number, bool *out_is_new) {
  const Buf *scratch = &exec__context(exec)->scratch;
  Str bytes = buf_str(scratch);
  if (scratch->failed) return false;
  if (bag->count == bag->cap && !rehash(exec, bag)) return false;
  uint32_t *slot = find_slot(bag, bytes);
  *out_is_new = *slot == 0;
  if (*out_is_new) {
    Str copy = arena_copy(&exec->arena, bytes);
    if (!copy.ptr) return false;
    assert(bag->count < bag->cap);
    bag->keys[bag->count++] = copy;
    *slot = bag->count;
  }
  *out_number = *slot - 1;
  return true;
}
