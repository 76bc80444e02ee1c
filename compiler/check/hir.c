// The constants of a program. A map finds one that is there already: a program of ten thousand lines has thousands.
#include "compiler/check/hir.h"

#include <assert.h>

#include "compiler/check/map.h"

static uint64_t mix(uint64_t hash, uint64_t part) {
  hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_of_value(const TypeTable *types, TypeId type, Value value) {
  uint64_t hash = mix(0, type);
  switch (type_repr(types, type)) {
    case REPR_I64: case REPR_F64: return mix(hash, (uint64_t)value.i);
    case REPR_DEC: return mix(hash, (uint64_t)value.dec);
    case REPR_STR:
      for (size_t i = 0; i < value.text.len; i++) hash = mix(hash, (uint8_t)value.text.ptr[i]);
      return hash;
    case REPR_PTR: case REPR_OF: break;
  }
  return hash;
}

static Map *map_of(HProgram *program) {
  if (program->constant_map) return program->constant_map;
  Map *map = ARENA_NEW(program->arena, Map);
  if (map) map_init(map, program->arena);
  return program->constant_map = map;
}

static bool grow(HProgram *program) {
  if (program->constant_count < program->constant_cap) return true;
  uint32_t wanted = program->constant_cap ? 2 * program->constant_cap : 64;
  Constant *grown = arena_grow(program->arena, program->constants, program->constant_cap * sizeof(Constant), wanted * sizeof(Constant));
  if (!grown) return false;
  program->constants = grown;
  program->constant_cap = wanted;
  return true;
}

// Values that share a hash are tried one after the other; of values that are no scalars only a few, since they are rare
// and a double costs nothing but its place.
uint32_t hir_constant(HProgram *program, TypeId type, Value value) {
  enum { TRIES_MAX = 16 };
  assert(program->arena);
  Map *map = map_of(program);
  const TypeTable *types = &program->module.schema.types;
  uint64_t key = hash_of_value(types, type, value);
  uint32_t known = MAP_NOTHING;
  for (int tries = 0; map && tries < TRIES_MAX && (known = map_get(map, key)) != MAP_NOTHING; tries++, key++) {
    const Constant *constant = &program->constants[known];
    if (constant->type == type && value_equal(types, type, constant->value, value)) return known;
  }
  if (!map || !grow(program)) return NO_CONSTANT;
  program->constants[program->constant_count] = (Constant){type, value};
  if (known == MAP_NOTHING && !map_put(map, key, program->constant_count)) return NO_CONSTANT;
  return program->constant_count++;
}
