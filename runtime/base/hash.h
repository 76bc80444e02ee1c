// Hashes, all from libsodium: BLAKE2b names content (modules, schemas, tokens, bodies), a keyed SipHash-2-4 guards
// records and spreads keys that a stranger chose.
//
// Owns:   nothing.
// Thread: any; a HashState one at a time.
// Limits: none.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/str.h"

enum { HASH_BYTES = 32, HASH_HEX_BYTES = 2 * HASH_BYTES + 1, CHECKSUM_KEY_BYTES = 16 };

// BLAKE2b with 256 bits (RFC 7693): nobody can find two contents with one hash.
typedef struct Hash { uint8_t bytes[HASH_BYTES]; } Hash;
Hash hash_of(Str content);

// The same over content that comes in pieces.
typedef struct HashState { _Alignas(64) uint8_t opaque[384]; } HashState;
void hash_begin(HashState *state);
void hash_add(HashState *state, const void *bytes, size_t len);
Hash hash_end(HashState *state);

bool hash_equal(const Hash *a, const Hash *b);  // in constant time, so a secret's hash can be compared
void hash_hex(const Hash *hash, char out_text[HASH_HEX_BYTES]);

// SipHash-2-4: 64 bits, 1.3 GB/s. With a random key a text that a client chose cannot be made to pass for a record,
// nor many keys be made to fall into one bucket, which a CRC would allow. It is no proof against who knows the key.
typedef struct ChecksumKey { uint8_t bytes[CHECKSUM_KEY_BYTES]; } ChecksumKey;
ChecksumKey checksum_key_random(void);
uint64_t checksum(const ChecksumKey *key, const void *bytes, size_t len);
