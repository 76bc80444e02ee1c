// Random numbers of two kinds. Secrets come from the kernel through libsodium. Everything that must come out the same
// again when an input is replayed comes from a generator that is started with a saved seed.
//
// Owns:   nothing.
// Errors: rng_startup alone can fail, when the kernel gives no random bytes.
// Thread: rng_secret any, after rng_startup; a Rng one at a time.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/err.h"

// Once at the start of a program, before the second thread: lets libsodium choose its code for this processor.
Err rng_startup(void) MUST_USE;

// `len` bytes that nobody can guess.
void rng_secret(void *out_bytes, size_t len);
uint64_t rng_secret_u64(void);

// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2018), its state filled
// from the seed by splitmix64 as its authors advise. Small, fast, replayable; not for secrets. The numbers of a seed
// are part of what a saved input means, so this algorithm can never change.
typedef struct Rng { uint64_t state[4]; } Rng;

void rng_seed(Rng *rng, uint64_t seed);
uint64_t rng_next(Rng *rng);
uint64_t rng_below(Rng *rng, uint64_t bound);                    // 0 to bound - 1, each equally likely; bound > 0
int64_t rng_between(Rng *rng, int64_t lowest, int64_t highest);  // both included; lowest <= highest
double rng_unit(Rng *rng);                                       // 0 <= x < 1, 53 random bits
void rng_fill(Rng *rng, void *out_bytes, size_t len);            // little-endian words of rng_next
