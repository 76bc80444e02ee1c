// The legal forms are those of RFC 3629, section 4: the first byte says the length and the range that the second
// byte may have; all later ones are 80..BF. So one look at two bytes refuses overlong forms and surrogates, and no
// decoded number needs to be checked again.
#include "runtime/base/utf8.h"

#include <string.h>

static const uint64_t HIGH_BITS = 0x8080808080808080u;

static uint64_t load_word(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// The range that the second byte may have after the first byte `lead`, and the length; 0 for no lead byte.
static size_t lead_length(uint8_t lead, uint8_t *out_low, uint8_t *out_high) {
  *out_low = 0x80;
  *out_high = 0xBF;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead == 0xE0) *out_low = 0xA0;
  if (lead == 0xED) *out_high = 0x9F;
  if (lead < 0xF0) return 3;
  if (lead == 0xF0) *out_low = 0x90;
  if (lead == 0xF4) *out_high = 0x8F;
  return lead < 0xF5 ? 4 : 0;
}

size_t utf8_decode(Str bytes, uint32_t *out_point) {
  if (bytes.len == 0) return 0;
  const uint8_t *at = (const uint8_t *)bytes.ptr;
  if (at[0] < 0x80) {
    *out_point = at[0];
    return 1;
  }
  uint8_t low, high;
  size_t len = lead_length(at[0], &low, &high);
  if (len == 0 || bytes.len < len || at[1] < low || at[1] > high) return 0;
  uint32_t point = (uint32_t)(at[0] & (0xFF >> (len + 1))) << 6 | (at[1] & 0x3Fu);
  for (size_t i = 2; i < len; i++) {
    if (!is_continuation(at[i])) return 0;
    point = point << 6 | (at[i] & 0x3Fu);
  }
  *out_point = point;
  return len;
}

size_t utf8_invalid_at(Str text) {
  size_t at = 0;
  while (at < text.len) {
    if (text.len - at >= 8 && (load_word(text.ptr + at) & HIGH_BITS) == 0) {
      at += 8;
      continue;
    }
    uint32_t point;
    size_t len = utf8_decode((Str){text.ptr + at, text.len - at}, &point);
    if (len == 0) return at;
    at += len;
  }
  return at;
}

size_t utf8_encode(uint32_t point, char out_bytes[UTF8_CHAR_BYTES_MAX]) {
  uint8_t *out = (uint8_t *)out_bytes;
  if (point < 0x80) {
    out[0] = (uint8_t)point;
    return 1;
  }
  if ((point >= 0xD800 && point < 0xE000) || point > 0x10FFFF) return 0;
  size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t i = len - 1; i > 0; i--, point >>= 6) out[i] = (uint8_t)(0x80 | (point & 0x3F));
  out[0] = (uint8_t)((0xF00u >> len & 0xFF) | point);
  return len;
}

size_t utf8_count(Str text) {
  size_t count = 0, at = 0;
  for (; text.len - at >= 8; at += 8) {
    uint64_t word = load_word(text.ptr + at);
    // Bit 7 of a byte is set in `follows` where the byte is 10xxxxxx.
    uint64_t follows = word & ~(word << 1) & HIGH_BITS;
    count += 8 - (size_t)__builtin_popcountll(follows);
  }
  for (; at < text.len; at++) count += !is_continuation((uint8_t)text.ptr[at]);
  return count;
}

size_t utf8_offset(Str text, size_t index) {
  size_t at = 0;
  while (at < text.len) {
    if (index >= 8 && text.len - at >= 8 && (load_word(text.ptr + at) & HIGH_BITS) == 0) {
      at += 8;
      index -= 8;
      continue;
    }
    if (!is_continuation((uint8_t)text.ptr[at]) && index-- == 0) return at;
    at++;
  }
  return text.len;
}

size_t utf8_cut(Str text, size_t bytes_max) {
  if (text.len <= bytes_max) return text.len;
  size_t len = bytes_max;
  while (len > 0 && is_continuation((uint8_t)text.ptr[len])) len--;
  return len;
}
