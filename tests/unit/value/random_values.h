// Random types and values of them, for tests that go there and back.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/value/value.h"

typedef struct Random { uint64_t state; } Random;
uint64_t random_next(Random *random);
uint64_t random_below(Random *random, uint64_t bound);

// A table with every kind of type in it, the later ones made of the earlier; it passes type_check_table.
const TypeTable *random_types(Random *random, Arena *arena);
// Edges of the ranges come often; a decimal fits 64 bits.
Value random_value(Random *random, const TypeTable *types, TypeId type, Arena *arena);
