// Values as bytes: compact, self-contained by type, the same on every machine. Used in log records, columns that hold
// lists and records, cursors and the module's constants.
//
//   bool, plain enum: varint · int, time, date, duration: zigzag varint · decimal: zigzag varint of 64 bits (an error
//   if it does not fit) · float: 8 bytes · text, bytes: varint length, bytes · uuid: 16 bytes · optional: 0, or 1 and
//   the value · record: fields in order · enum with fields: varint case, fields · list, set: varint count, items ·
//   map: varint entries, key value … · a record or case without fields: one zero byte after all (so that every value
//   takes at least a byte, and a short text of bytes cannot stand for an endless list)
//
// Owns:   decoded values live in the arena (texts point into `bytes` when `share` is set).
// Thread: any.
// Errors: ERR_FORMAT for bytes that do not hold a value of the type (cut, out of range, not UTF-8, a float that is not
//         finite or is -0.0, a set or map out of order), ERR_MEMORY. Encoding a decimal beyond 64 bits sets out->failed.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/value/value.h"

void value_encode(const TypeTable *types, TypeId type, Value value, Buf *out);  // out->failed when there is no room
// Reads one value from the start of `*bytes` and moves it past. The depth of types is bounded by VALUE_DEPTH_MAX.
MUST_USE Err value_decode(const TypeTable *types, TypeId type, Str *bytes, Arena *arena, bool share, Value *out_value);

// Varints (LEB128, at most 10 bytes), shared by the log and the module format.
void varint_write(Buf *out, uint64_t number);
MUST_USE Err varint_read(Str *bytes, uint64_t *out_number);
static inline uint64_t zigzag(int64_t n) { return ((uint64_t)n << 1) ^ (uint64_t)(n >> 63); }
static inline int64_t unzigzag(uint64_t n) { return (int64_t)(n >> 1) ^ -(int64_t)(n & 1); }
