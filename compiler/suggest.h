// Near names: of the names that would fit, the one that was most likely meant.
//
// Owns:   nothing; the best name is one of those that were tried.
// Thread: one at a time.
// Limits: names above SUGGEST_BYTES_MAX are never near.
#pragma once
#include <stdint.h>

#include "runtime/base/str.h"

enum { SUGGEST_BYTES_MAX = 64 };

typedef struct Suggest {
  Str wanted, best;      // best.len is 0 while nothing is near
  uint32_t distance_max; // what still counts as near; shrinks to the best one's distance
} Suggest;

// How many letters must be changed, added, left out or swapped with their neighbour to make `a` of `b`; more than
// `limit` comes back as limit + 1. Upper and lower case of ASCII count as equal. Works on bytes.
uint32_t suggest_distance(Str a, Str b, uint32_t limit);

Suggest suggest_start(Str wanted);
void suggest_try(Suggest *suggest, Str candidate);
