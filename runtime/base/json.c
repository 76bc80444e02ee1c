// The reader is a small state machine: `expect` says what may come next, and one bit for each open level says whether
// that level is an object. So the depth is bounded by a word, a bookmark is a copy of the struct, and a caller that
// knows its types asks for the next event instead of walking a tree.
//
// Texts are nearly always plain ASCII, so they are scanned eight bytes a step for the four things that matter: a quote,
// a backslash, a control byte, a byte above 7F. Everything after that is rare and may be slow.
#include "runtime/base/json.h"

#include <assert.h>

#include "runtime/base/utf8.h"

typedef enum Expect {
  EXPECT_VALUE,         // at the start, after a comma in an array
  EXPECT_COLON_VALUE,   // after a name
  EXPECT_FIRST_VALUE,   // after [
  EXPECT_FIRST_KEY,     // after {
  EXPECT_COMMA,         // after a value in an array or object
  EXPECT_NOTHING,       // after the whole value
} Expect;

static const uint64_t ONES = 0x0101010101010101u, HIGH_BITS = 0x8080808080808080u;

void json_open(JsonReader *reader, Str bytes) {
  const char *start = bytes.ptr ? bytes.ptr : "";
  *reader = (JsonReader){.start = start, .at = start, .end = start + bytes.len, .expect = EXPECT_VALUE, .event = JSON_NULL};
}

static JsonEvent fail(JsonReader *reader, const char *at, const char *reason) {
  reader->reason = reason;
  reader->reason_offset = (size_t)(at - reader->start);
  return reader->event = JSON_ERROR;
}

static void skip_space(JsonReader *reader) {
  const char *at = reader->at;
  while (at < reader->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
  reader->at = at;
}

// What follows a value depends on the level it stands in.
static void value_done(JsonReader *reader) { reader->expect = reader->depth ? EXPECT_COMMA : EXPECT_NOTHING; }

static bool in_object(const JsonReader *reader) { return reader->depth && (reader->is_object & 1); }

// ---- Texts

// Bit 7 of each byte that ends a plain run; only the lowest one that is set is exact.
static uint64_t special_bytes(uint64_t word) {
  uint64_t quote = word ^ ONES * '"', backslash = word ^ ONES * '\\';
  return (((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash) | ((word - ONES * 0x20) & ~word) | word) & HIGH_BITS;
}

static const char *skip_plain(const char *at, const char *end) {
  while (end - at >= 8) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    uint64_t special = special_bytes(word);
    if (special) return at + (__builtin_ctzll(special) >> 3);
    at += 8;
  }
  while (at < end && *at != '"' && *at != '\\' && (uint8_t)*at >= 0x20 && (uint8_t)*at < 0x80) at++;
  return at;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reads \uXXXX at `at`; false when it is not there whole.
static bool read_unit(const char *at, const char *end, uint32_t *out_unit) {
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return false;
  uint32_t unit = 0;
  for (int i = 2; i < 6; i++) {
    int digit = hex_digit(at[i]);
    if (digit < 0) return false;
    unit = unit << 4 | (uint32_t)digit;
  }
  *out_unit = unit;
  return true;
}

static char escape_meaning(char c) {
  switch (c) {
    case '"': case '\\': case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
  }
}

// Reads the escape at `at` (a backslash): its length, and the code point it means. 0 and a reason when there is none.
static size_t read_escape(const char *at, const char *end, uint32_t *out_point, const char **out_reason) {
  if (end - at < 2) return *out_reason = "the text does not end", 0;
  if (at[1] != 'u') {
    char meaning = escape_meaning(at[1]);
    if (!meaning) return *out_reason = "unknown escape in a text", 0;
    *out_point = (uint8_t)meaning;
    return 2;
  }
  uint32_t high, low;
  if (!read_unit(at, end, &high)) return *out_reason = "\\u needs four hexadecimal digits", 0;
  *out_point = high;
  if (high < 0xD800 || high > 0xDFFF) return 6;
  if (high > 0xDBFF || !read_unit(at + 6, end, &low) || low < 0xDC00 || low > 0xDFFF) {
    return *out_reason = "half of a surrogate pair without the other", 0;
  }
  *out_point = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  return 12;
}

// Goes over a text whose opening quote is at reader->at; sets `text` and `escaped`.
static bool scan_text(JsonReader *reader) {
  const char *start = reader->at + 1, *at = start;
  reader->escaped = false;
  for (;;) {
    at = skip_plain(at, reader->end);
    if (at == reader->end) return fail(reader, at, "the text does not end"), false;
    if (*at == '"') break;
    uint32_t point;
    size_t len;
    if (*at == '\\') {
      const char *reason = NULL;
      len = read_escape(at, reader->end, &point, &reason);
      if (len == 0) return fail(reader, at, reason), false;
      reader->escaped = true;
    } else if ((uint8_t)*at < 0x20) {
      return fail(reader, at, "a control character in a text must be written as an escape"), false;
    } else {
      len = utf8_decode((Str){at, (size_t)(reader->end - at)}, &point);
      if (len == 0) return fail(reader, at, "the text is not UTF-8"), false;
    }
    at += len;
  }
  reader->text = (Str){start, (size_t)(at - start)};
  reader->at = at + 1;
  return true;
}

// Decodes one character of a text that scan_text has found right; its bytes go to `out_bytes`.
static size_t next_decoded(const char **at, const char *end, char out_bytes[UTF8_CHAR_BYTES_MAX]) {
  if (**at != '\\') {
    out_bytes[0] = *(*at)++;
    return 1;
  }
  uint32_t point = 0;
  const char *reason;
  size_t len = read_escape(*at, end, &point, &reason);
  assert(len > 0);
  *at += len;
  return utf8_encode(point, out_bytes);
}

Err json_text(const JsonReader *reader, Arena *arena, Str *out_text) {
  assert(reader->event == JSON_KEY || reader->event == JSON_TEXT);
  if (!reader->escaped) {
    *out_text = reader->text;
    return ERR_NONE;
  }
  char *bytes = arena_alloc(arena, reader->text.len);  // an escape is never shorter than what it means
  if (!bytes) return ERR_MEMORY;
  size_t len = 0;
  const char *at = reader->text.ptr, *end = at + reader->text.len;
  while (at < end) {
    char one[UTF8_CHAR_BYTES_MAX];
    size_t size = next_decoded(&at, end, one);
    memcpy(bytes + len, one, size);
    len += size;
  }
  *out_text = (Str){bytes, len};
  return ERR_NONE;
}

bool json_text_is(const JsonReader *reader, Str text) {
  assert(reader->event == JSON_KEY || reader->event == JSON_TEXT);
  if (!reader->escaped) return str_equal(reader->text, text);
  size_t matched = 0;
  const char *at = reader->text.ptr, *end = at + reader->text.len;
  while (at < end) {
    char one[UTF8_CHAR_BYTES_MAX];
    size_t size = next_decoded(&at, end, one);
    if (text.len - matched < size || memcmp(text.ptr + matched, one, size) != 0) return false;
    matched += size;
  }
  return matched == text.len;
}

// ---- Numbers

static const char *skip_digits(const char *at, const char *end) {
  while (at < end && *at >= '0' && *at <= '9') at++;
  return at;
}

static JsonEvent scan_number(JsonReader *reader) {
  const char *start = reader->at, *end = reader->end;
  const char *at = start + (*start == '-'), *digits = at;
  at = skip_digits(at, end);
  if (at == digits) return fail(reader, at, "a number needs a digit after its sign");
  if (*digits == '0' && at - digits > 1) return fail(reader, digits, "a number must not start with 0");
  if (at < end && *at == '.') {
    digits = ++at;
    at = skip_digits(at, end);
    if (at == digits) return fail(reader, at, "a number needs a digit after its point");
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '+' || *at == '-')) at++;
    digits = at;
    at = skip_digits(at, end);
    if (at == digits) return fail(reader, at, "a number needs a digit in its exponent");
  }
  reader->text = (Str){start, (size_t)(at - start)};
  reader->escaped = false;
  reader->at = at;
  value_done(reader);
  return reader->event = JSON_NUMBER;
}

// ---- Values

static JsonEvent scan_word(JsonReader *reader, Str word, JsonEvent event) {
  Str rest = {reader->at, (size_t)(reader->end - reader->at)};
  if (!str_starts(rest, word)) return fail(reader, reader->at, "expected a value: an unknown word");
  reader->at += word.len;
  value_done(reader);
  return reader->event = event;
}

static JsonEvent open_level(JsonReader *reader, bool object) {
  if (reader->depth == JSON_DEPTH_MAX) return fail(reader, reader->at, "nested more than 64 deep");
  _Static_assert(JSON_DEPTH_MAX == 64, "the message names the limit; is_object has a bit for each level");
  reader->depth++;
  reader->is_object = reader->is_object << 1 | object;
  reader->expect = object ? EXPECT_FIRST_KEY : EXPECT_FIRST_VALUE;
  reader->at++;
  return reader->event = object ? JSON_OBJECT : JSON_ARRAY;
}

static JsonEvent close_level(JsonReader *reader) {
  assert(reader->depth > 0);
  bool object = in_object(reader);
  reader->depth--;
  reader->is_object >>= 1;
  reader->at++;
  value_done(reader);
  return reader->event = object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static JsonEvent scan_value(JsonReader *reader) {
  if (reader->at == reader->end) return fail(reader, reader->at, "expected a value, but the text ends");
  switch (*reader->at) {
    case '{': return open_level(reader, true);
    case '[': return open_level(reader, false);
    case 't': return scan_word(reader, STR("true"), JSON_TRUE);
    case 'f': return scan_word(reader, STR("false"), JSON_FALSE);
    case 'n': return scan_word(reader, STR("null"), JSON_NULL);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
      return scan_number(reader);
    case '"':
      if (!scan_text(reader)) return JSON_ERROR;
      value_done(reader);
      return reader->event = JSON_TEXT;
    default: return fail(reader, reader->at, "expected a value");
  }
}

static JsonEvent scan_key(JsonReader *reader) {
  if (reader->at == reader->end || *reader->at != '"') return fail(reader, reader->at, "expected a name in quotes");
  if (!scan_text(reader)) return JSON_ERROR;
  reader->expect = EXPECT_COLON_VALUE;
  return reader->event = JSON_KEY;
}

// After a value inside an array or object: a comma and the next one, or the end.
static JsonEvent scan_after_value(JsonReader *reader) {
  bool object = in_object(reader);
  if (reader->at < reader->end && *reader->at == (object ? '}' : ']')) return close_level(reader);
  if (reader->at == reader->end || *reader->at != ',') {
    return fail(reader, reader->at, object ? "expected , or } after a value" : "expected , or ] after a value");
  }
  reader->at++;
  skip_space(reader);
  return object ? scan_key(reader) : scan_value(reader);
}

JsonEvent json_next(JsonReader *reader) {
  if (reader->event == JSON_ERROR) return JSON_ERROR;
  skip_space(reader);
  switch ((Expect)reader->expect) {
    case EXPECT_VALUE: return scan_value(reader);
    case EXPECT_COLON_VALUE:
      if (reader->at == reader->end || *reader->at != ':') return fail(reader, reader->at, "expected : after a name");
      reader->at++;
      skip_space(reader);
      return scan_value(reader);
    case EXPECT_FIRST_VALUE:
      return reader->at < reader->end && *reader->at == ']' ? close_level(reader) : scan_value(reader);
    case EXPECT_FIRST_KEY:
      return reader->at < reader->end && *reader->at == '}' ? close_level(reader) : scan_key(reader);
    case EXPECT_COMMA: return scan_after_value(reader);
    case EXPECT_NOTHING: break;
  }
  if (reader->at != reader->end) return fail(reader, reader->at, "something follows the value");
  return reader->event = JSON_END;
}

// Where the value whose event was just given begins; NULL when the event is no value.
static const char *value_start(const JsonReader *reader) {
  switch (reader->event) {
    case JSON_NULL: case JSON_TRUE: return reader->at - 4;
    case JSON_FALSE: return reader->at - 5;
    case JSON_NUMBER: return reader->text.ptr;
    case JSON_TEXT: return reader->text.ptr - 1;
    case JSON_ARRAY: case JSON_OBJECT: return reader->at - 1;
    case JSON_ERROR: case JSON_ARRAY_END: case JSON_KEY: case JSON_OBJECT_END: case JSON_END: break;
  }
  return NULL;
}

Err json_finish(JsonReader *reader, Str *out_raw) {
  const char *start = value_start(reader);
  if (!start) {
    if (reader->event != JSON_ERROR) fail(reader, reader->at, "expected a value");
    return ERR_FORMAT;
  }
  if (reader->event == JSON_ARRAY || reader->event == JSON_OBJECT) {
    uint8_t outside = (uint8_t)(reader->depth - 1);
    while (reader->depth > outside) {
      if (json_next(reader) == JSON_ERROR) return ERR_FORMAT;
    }
  }
  if (out_raw) *out_raw = (Str){start, (size_t)(reader->at - start)};
  return ERR_NONE;
}

Err json_skip(JsonReader *reader, Str *out_raw) {
  json_next(reader);
  return json_finish(reader, out_raw);
}

Err json_say_error(const JsonReader *reader, ErrText *out_text) {
  assert(reader->event == JSON_ERROR);
  return err_say(ERR_FORMAT, out_text, "%s at byte %zu", reader->reason, reader->reason_offset);
}
