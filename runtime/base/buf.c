// Doubling growth; a failed addition leaves what was there.
#include "runtime/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/mem.h"

enum { FIRST_CAP = 64 };

void buf_init(Buf *buf, size_t bytes_max) { *buf = (Buf){.bytes_max = bytes_max}; }

void buf_free(Buf *buf) {
  mem_free(buf->ptr);
  buf_init(buf, buf->bytes_max);
}

void buf_clear(Buf *buf) {
  buf->len = 0;
  buf->failed = false;
}

static bool grow(Buf *buf, size_t need) {
  size_t cap = buf->cap ? buf->cap : FIRST_CAP;
  while (cap < need) cap *= 2;
  char *ptr = mem_realloc(buf->ptr, cap);
  if (!ptr) return false;
  buf->ptr = ptr;
  buf->cap = cap;
  return true;
}

char *buf_room(Buf *buf, size_t size) {
  if (buf->failed) return NULL;
  bool fits = size <= SIZE_MAX / 4 - buf->len && (!buf->bytes_max || buf->len + size <= buf->bytes_max);
  if (!fits || (buf->len + size > buf->cap && !grow(buf, buf->len + size))) {
    buf->failed = true;
    return NULL;
  }
  return buf->ptr + buf->len;
}

void buf_add(Buf *buf, const void *bytes, size_t len) {
  if (len == 0) return;
  char *room = buf_room(buf, len);
  if (!room) return;
  memcpy(room, bytes, len);
  buf->len += len;
}

void buf_add_str(Buf *buf, Str text) { buf_add(buf, text.ptr, text.len); }
void buf_add_text(Buf *buf, const char *zero_ended) { buf_add(buf, zero_ended, strlen(zero_ended)); }
void buf_add_char(Buf *buf, char c) { buf_add(buf, &c, 1); }

// By hand: snprintf takes five times as long, and numbers are most of what a server writes.
void buf_add_int(Buf *buf, int64_t number) {
  char digits[20];
  size_t at = sizeof digits;
  uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
  do digits[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (number < 0) digits[--at] = '-';
  buf_add(buf, digits + at, sizeof digits - at);
}

static void add_little_endian(Buf *buf, uint64_t number, size_t bytes) {
  uint8_t out[8];
  for (size_t i = 0; i < bytes; i++) out[i] = (uint8_t)(number >> (8 * i));
  buf_add(buf, out, bytes);
}

void buf_add_u16(Buf *buf, uint16_t number) { add_little_endian(buf, number, 2); }
void buf_add_u32(Buf *buf, uint32_t number) { add_little_endian(buf, number, 4); }
void buf_add_u64(Buf *buf, uint64_t number) { add_little_endian(buf, number, 8); }

void buf_add_format(Buf *buf, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int len = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *room = len < 0 ? NULL : buf_room(buf, (size_t)len + 1);
  if (!room) return;
  va_start(args, format);
  vsnprintf(room, (size_t)len + 1, format, args);
  va_end(args);
  buf->len += (size_t)len;
}
