// The generator is written out because its numbers are part of the saved format: a library's could change.
// rng_below refuses the few numbers that would make small results likelier (Lemire, "Fast random integer generation in
// an interval", 2019): one multiplication in the common case.
#include "runtime/base/rng.h"

#include <assert.h>
#include <sodium.h>

Err rng_startup(void) { return sodium_init() < 0 ? ERR_IO : ERR_NONE; }

void rng_secret(void *out_bytes, size_t len) { randombytes_buf(out_bytes, len); }

uint64_t rng_secret_u64(void) {
  uint64_t number;
  randombytes_buf(&number, sizeof number);
  return number;
}

void rng_seed(Rng *rng, uint64_t seed) {
  for (int i = 0; i < 4; i++) {
    uint64_t z = seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    rng->state[i] = z ^ z >> 31;
  }
}

static uint64_t rotate_left(uint64_t x, int by) { return x << by | x >> (64 - by); }

uint64_t rng_next(Rng *rng) {
  uint64_t *s = rng->state;
  uint64_t result = rotate_left(s[1] * 5, 7) * 9;
  uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

uint64_t rng_below(Rng *rng, uint64_t bound) {
  assert(bound > 0);
  unsigned __int128 wide = (unsigned __int128)rng_next(rng) * bound;
  if ((uint64_t)wide < bound) {
    uint64_t unfair = -bound % bound;
    while ((uint64_t)wide < unfair) wide = (unsigned __int128)rng_next(rng) * bound;
  }
  return (uint64_t)(wide >> 64);
}

int64_t rng_between(Rng *rng, int64_t lowest, int64_t highest) {
  assert(lowest <= highest);
  uint64_t span = (uint64_t)highest - (uint64_t)lowest;
  uint64_t offset = span == UINT64_MAX ? rng_next(rng) : rng_below(rng, span + 1);
  return (int64_t)((uint64_t)lowest + offset);
}

double rng_unit(Rng *rng) { return (double)(rng_next(rng) >> 11) * 0x1.0p-53; }

void rng_fill(Rng *rng, void *out_bytes, size_t len) {
  uint8_t *out = out_bytes;
  for (size_t i = 0; i < len;) {
    uint64_t word = rng_next(rng);
    for (int b = 0; b < 8 && i < len; b++, word >>= 8) out[i++] = (uint8_t)word;
  }
}
