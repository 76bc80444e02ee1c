// A state machine over bytes, so that a chunk may be cut anywhere. Only the bytes of lines go through it one by one; data
// is moved in runs.
#include <string.h>

#include "runtime/net/http.h"

typedef enum State {
  SIZE,           // hexadecimal digits
  EXT_NAME_START, EXT_NAME, EXT_VALUE_START, EXT_VALUE, EXT_QUOTED, EXT_ESCAPED, EXT_QUOTED_END,  // ;name, ;name=value, ;name="value"
  SIZE_LF,        // CR was seen
  DATA,
  DATA_CR, DATA_LF,
  TRAILER_START,  // the start of a line behind the last chunk
  TRAILER_NAME, TRAILER_VALUE,
  TRAILER_LF,     // CR of a trailer line was seen
  END_LF,         // CR of the empty line was seen
  FINISHED,
} State;

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_line_byte(char c) { return ((uint8_t)c >= 0x20 && c != 0x7F) || c == '\t'; }

static bool is_token_byte(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

// The state behind the byte, or a refusal.
static const char *step_size(HttpChunks *k, char c) {
  int digit = hex_digit(c);
  if (digit >= 0) {
    if (++k->digits > HTTP_CHUNK_SIZE_DIGITS_MAX) return "a chunk's size has more than 15 digits";
    k->left = k->left << 4 | (uint64_t)digit;
    return NULL;
  }
  if (k->digits == 0) return "a chunk must start with its size";
  if (c == ';') k->state = EXT_NAME_START;
  else if (c == '\r') k->state = SIZE_LF;
  else return "a chunk's size must be hexadecimal digits";
  return NULL;
}

// What may stand behind a name or a value: the next extension, or the end of the line.
static bool step_extension_end(HttpChunks *k, char c) {
  k->state = c == ';' ? EXT_NAME_START : SIZE_LF;
  return c == ';' || c == '\r';
}

// RFC 9112, 7.1.1, without white space. Extensions are checked and passed over.
static const char *step_extension(HttpChunks *k, char c) {
  if (++k->extension_bytes > HTTP_CHUNK_EXTENSION_BYTES_MAX + 1) return "a chunk's extension is longer than 256 bytes";
  bool fits = false;
  switch ((State)k->state) {
    case EXT_NAME_START: k->state = EXT_NAME, fits = is_token_byte(c); break;
    case EXT_NAME:
      if (c == '=') k->state = EXT_VALUE_START, fits = true;
      else fits = is_token_byte(c) || step_extension_end(k, c);
      break;
    case EXT_VALUE_START: k->state = c == '"' ? EXT_QUOTED : EXT_VALUE, fits = c == '"' || is_token_byte(c); break;
    case EXT_VALUE: fits = is_token_byte(c) || step_extension_end(k, c); break;
    case EXT_QUOTED:
      if (c == '"') k->state = EXT_QUOTED_END;
      if (c == '\\') k->state = EXT_ESCAPED;
      fits = is_line_byte(c);
      break;
    case EXT_ESCAPED: k->state = EXT_QUOTED, fits = is_line_byte(c); break;
    case EXT_QUOTED_END: fits = step_extension_end(k, c); break;
    case SIZE: case SIZE_LF: case DATA: case DATA_CR: case DATA_LF: case TRAILER_START: case TRAILER_NAME: case TRAILER_VALUE:
    case TRAILER_LF: case END_LF: case FINISHED: break;
  }
  return fits ? NULL : "a chunk's extension must be ;name or ;name=value";
}

static const char *step_trailer(HttpChunks *k, char c) {
  if (++k->trailer_bytes > HTTP_TRAILER_BYTES_MAX) return "the fields behind the body are longer than 4 KiB";
  switch ((State)k->state) {
    case TRAILER_START:
      if (c == '\r') return k->state = END_LF, NULL;
      k->state = TRAILER_NAME;
      return is_token_byte(c) ? NULL : "a field behind the body has no name";
    case TRAILER_NAME:
      if (c == ':') return k->state = TRAILER_VALUE, NULL;
      return is_token_byte(c) ? NULL : "a field's name must be followed by a colon";
    case TRAILER_VALUE:
      if (c == '\r') return k->state = TRAILER_LF, NULL;
      return is_line_byte(c) ? NULL : "a field behind the body has a character that it must not have";
    case TRAILER_LF:
      k->state = TRAILER_START;
      return c == '\n' ? NULL : "CR must be followed by LF";
    case END_LF:
      k->state = FINISHED;
      return c == '\n' ? NULL : "CR must be followed by LF";
    case SIZE: case EXT_NAME_START: case EXT_NAME: case EXT_VALUE_START: case EXT_VALUE: case EXT_QUOTED: case EXT_ESCAPED:
    case EXT_QUOTED_END: case SIZE_LF: case DATA: case DATA_CR: case DATA_LF: case FINISHED: break;
  }
  return "unreachable";
}

static const char *step_size_end(HttpChunks *k, char c) {
  if (c != '\n') return "CR must be followed by LF";
  k->state = k->left ? DATA : TRAILER_START;
  k->digits = 0;
  k->extension_bytes = 0;
  return NULL;
}

static const char *step(HttpChunks *k, char c) {
  switch ((State)k->state) {
    case SIZE: return step_size(k, c);
    case EXT_NAME_START: case EXT_NAME: case EXT_VALUE_START: case EXT_VALUE: case EXT_QUOTED: case EXT_ESCAPED: case EXT_QUOTED_END:
      return step_extension(k, c);
    case SIZE_LF: return step_size_end(k, c);
    case DATA_CR:
      k->state = DATA_LF;
      return c == '\r' ? NULL : "a chunk is longer than its size";
    case DATA_LF:
      k->state = SIZE;
      return c == '\n' ? NULL : "CR must be followed by LF";
    case TRAILER_START: case TRAILER_NAME: case TRAILER_VALUE: case TRAILER_LF: case END_LF: return step_trailer(k, c);
    case DATA: case FINISHED: break;
  }
  return "unreachable";
}

HttpRead http_chunks_decode(HttpChunks *k, char *bytes, uint32_t len, HttpRefusal *out_refusal) {
  uint32_t at = 0, produced = 0;
  while (at < len && k->state != FINISHED) {
    if (k->state == DATA) {
      uint32_t run = k->left < len - at ? (uint32_t)k->left : len - at;
      memmove(bytes + produced, bytes + at, run);
      produced += run;
      at += run;
      k->left -= run;
      if (k->left == 0) k->state = DATA_CR;
      continue;
    }
    const char *reason = step(k, bytes[at++]);
    if (!reason) continue;
    *out_refusal = (HttpRefusal){400, reason};
    return HTTP_REFUSED;
  }
  k->consumed = at;
  k->produced = produced;
  return k->state == FINISHED ? HTTP_DONE : HTTP_MORE;
}
