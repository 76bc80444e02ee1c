// Little-endian numbers at fixed places of a block.
//
// Owns:   nothing.
// Thread: any.
// Errors: none; the caller knows that the bytes are there.
#pragma once
#include <stdint.h>

static inline void put_u32(uint8_t *at, uint32_t n) {
  for (unsigned i = 0; i < 4; i++) at[i] = (uint8_t)(n >> (8 * i));
}
static inline void put_u64(uint8_t *at, uint64_t n) {
  for (unsigned i = 0; i < 8; i++) at[i] = (uint8_t)(n >> (8 * i));
}
static inline uint32_t get_u32(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }
static inline uint64_t get_u64(const uint8_t *at) { return (uint64_t)get_u32(at) | (uint64_t)get_u32(at + 4) << 32; }
