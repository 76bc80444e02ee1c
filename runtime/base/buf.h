// A Buf is a growing run of bytes, for output whose length is not known before.
//
// Owns:   its bytes, until buf_free.
// Thread: one at a time.
// Errors: adding never fails in its return value; when memory or `bytes_max` runs out, `failed` is set, later
//         additions do nothing, and the writer asks once at the end.
// Limits: bytes_max (0: none).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/str.h"

typedef struct Buf { char *ptr; size_t len, cap, bytes_max; bool failed; } Buf;

void buf_init(Buf *buf, size_t bytes_max);
void buf_free(Buf *buf);
void buf_clear(Buf *buf);                         // keeps the room, clears `failed`
char *buf_room(Buf *buf, size_t size);            // room for `size` more bytes behind len, or NULL; len is not moved
void buf_add(Buf *buf, const void *bytes, size_t len);
void buf_add_str(Buf *buf, Str text);
void buf_add_text(Buf *buf, const char *zero_ended);
void buf_add_char(Buf *buf, char c);
void buf_add_int(Buf *buf, int64_t number);       // decimal digits
void buf_add_u16(Buf *buf, uint16_t number);      // little-endian, as every multi-byte number of aup's files
void buf_add_u32(Buf *buf, uint32_t number);
void buf_add_u64(Buf *buf, uint64_t number);
void buf_add_format(Buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline Str buf_str(const Buf *buf) { return (Str){buf->ptr, buf->len}; }
