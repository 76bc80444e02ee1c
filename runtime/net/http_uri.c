// Paths are checked once, while the head is read; everything behind may then split and decode them without a thought for
// what an escape could hide. Decoding happens once: "%252e" is the text "%2e", never ".".
#include "runtime/net/http_uri.h"

#include "runtime/base/utf8.h"
#include "runtime/net/http.h"

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The byte at `at` of an encoded text, and its length there; -1 for a broken escape.
static int read_byte(Str raw, size_t at, size_t *out_len) {
  *out_len = 1;
  if (raw.ptr[at] != '%') return (uint8_t)raw.ptr[at];
  if (raw.len - at < 3) return -1;
  int high = hex_digit(raw.ptr[at + 1]), low = hex_digit(raw.ptr[at + 2]);
  *out_len = 3;
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

Err http_decode(Str raw, bool plus_is_space, Arena *arena, Str *out_text) {
  bool plain = !raw.len || (!memchr(raw.ptr, '%', raw.len) && !(plus_is_space && memchr(raw.ptr, '+', raw.len)));
  char *bytes = plain ? NULL : arena_alloc(arena, raw.len);
  if (!plain && !bytes) return ERR_MEMORY;
  size_t len = 0, step;
  for (size_t at = 0; !plain && at < raw.len; at += step) {
    int byte = read_byte(raw, at, &step);
    if (byte < 0) return ERR_FORMAT;
    if (plus_is_space && raw.ptr[at] == '+') byte = ' ';
    bytes[len++] = (char)byte;
  }
  Str text = plain ? raw : (Str){bytes, len};
  if (!utf8_valid(text) || (text.len && memchr(text.ptr, 0, text.len))) return ERR_FORMAT;
  *out_text = text;
  return ERR_NONE;
}

void http_add_encoded(Buf *buf, Str text) {
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) buf_add_char(buf, c);
    else buf_add_format(buf, "%%%02X", (uint8_t)c);
  }
}

bool http_path_next(Str *rest, Str *out_segment) {
  if (rest->len == 0) return false;
  const char *from = rest->ptr + (rest->ptr[0] == '/'), *end = rest->ptr + rest->len;
  const char *to = memchr(from, '/', (size_t)(end - from));
  if (!to) to = end;
  *out_segment = (Str){from, (size_t)(to - from)};
  *rest = (Str){to, (size_t)(end - to)};
  return true;
}

bool http_query_next(Str *rest, Str *out_name, Str *out_value) {
  const char *at = rest->ptr, *end = at + rest->len;
  while (at < end && *at == '&') at++;
  if (at == end) return false;
  const char *to = memchr(at, '&', (size_t)(end - at));
  if (!to) to = end;
  const char *equals = memchr(at, '=', (size_t)(to - at));
  *out_name = (Str){at, (size_t)((equals ? equals : to) - at)};
  *out_value = equals ? (Str){equals + 1, (size_t)(to - equals - 1)} : (Str){to, 0};
  *rest = (Str){to, (size_t)(end - to)};
  return true;
}

// One segment, decoded into bytes on the stack as far as it matters: dots, bad bytes, and whether it is UTF-8.
static const char *check_segment(Str segment) {
  char window[8];
  size_t held = 0, length = 0, dots = 0, step;
  for (size_t at = 0; at < segment.len; at += step) {
    int byte = read_byte(segment, at, &step);
    if (byte < 0) return "the path has a % that is not followed by two hexadecimal digits";
    if (byte < 0x20 || byte == 0x7F || byte == '\\' || byte == '/') return "the path has a character that it must not have";
    dots += byte == '.';
    length++;
    if (byte < 0x80 && held == 0) continue;
    window[held++] = (char)byte;
    uint32_t point;
    if (utf8_decode((Str){window, held}, &point)) held = 0;
    else if (held == UTF8_CHAR_BYTES_MAX) return "the path is not UTF-8";
  }
  if (held) return "the path is not UTF-8";
  return length == dots && (dots == 1 || dots == 2) ? "the path must not have . or .. in it" : NULL;
}

bool http_check_path(Str path, const char **out_reason) {
  const char *reason = path.len && path.ptr[0] == '/' ? NULL : "the path must start with /";
  unsigned count = 0;
  for (Str segment; !reason && http_path_next(&path, &segment);) {
    reason = ++count > HTTP_PATH_SEGMENTS_MAX ? "the path has more than 32 parts" : check_segment(segment);
  }
  if (reason) *out_reason = reason;
  return !reason;
}
