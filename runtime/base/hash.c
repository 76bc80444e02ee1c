// Thin covers over libsodium, so that the rest of the tree never sees its types and its choice stays in one place.
#include "runtime/base/hash.h"

#include <assert.h>
#include <sodium.h>

_Static_assert(sizeof(HashState) >= sizeof(crypto_generichash_state), "HashState holds libsodium's state");
_Static_assert(CHECKSUM_KEY_BYTES == crypto_shorthash_KEYBYTES, "key of SipHash-2-4");
_Static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "result of SipHash-2-4");

static crypto_generichash_state *inner(HashState *state) { return (crypto_generichash_state *)(void *)state->opaque; }

Hash hash_of(Str content) {
  Hash hash;
  crypto_generichash(hash.bytes, HASH_BYTES, (const uint8_t *)content.ptr, content.len, NULL, 0);
  return hash;
}

void hash_begin(HashState *state) { crypto_generichash_init(inner(state), NULL, 0, HASH_BYTES); }

void hash_add(HashState *state, const void *bytes, size_t len) { crypto_generichash_update(inner(state), bytes, len); }

Hash hash_end(HashState *state) {
  Hash hash;
  crypto_generichash_final(inner(state), hash.bytes, HASH_BYTES);
  return hash;
}

bool hash_equal(const Hash *a, const Hash *b) { return sodium_memcmp(a->bytes, b->bytes, HASH_BYTES) == 0; }

void hash_hex(const Hash *hash, char out_text[HASH_HEX_BYTES]) {
  sodium_bin2hex(out_text, HASH_HEX_BYTES, hash->bytes, HASH_BYTES);
}

ChecksumKey checksum_key_random(void) {
  ChecksumKey key;
  crypto_shorthash_keygen(key.bytes);
  return key;
}

uint64_t checksum(const ChecksumKey *key, const void *bytes, size_t len) {
  uint8_t out[8];
  crypto_shorthash(out, bytes, len, key->bytes);
  uint64_t sum = 0;
  for (int i = 7; i >= 0; i--) sum = sum << 8 | out[i];
  return sum;
}
