// JSON in place (RFC 8259, strictly): a cursor that walks over bytes and hands out one event a call. It allocates
// nothing, never recurses and looks at each byte once; only a text with an escape in it is decoded, into an arena.
//
//   JsonReader r;
//   json_open(&r, body);
//   if (json_next(&r) != JSON_OBJECT) …
//   while (json_next(&r) == JSON_KEY) { … r.text is the name … json_next(&r) is the value, or json_skip(&r, &raw) }
//   if (r.event == JSON_ERROR) … r.reason, r.reason_offset …
//
// Names that come twice are two JSON_KEY events; the caller refuses them, since only it knows its fields. Texts that
// are no UTF-8, lone surrogates (as \u escapes too), a byte order mark and anything behind the value are refused.
//
// Owns:   nothing. Slices point into the bytes, which must stay.
// Thread: one at a time. A JsonReader can be copied: the copy is a bookmark.
// Errors: JSON_ERROR with reason and byte offset; once seen, every later call gives it again.
// Limits: JSON_DEPTH_MAX arrays and objects around a value ("nested more than 64 deep").
//
// By hand, since a library costs more than the whole of a small request: for 144 bytes cJSON took 668 ns and jansson
// 2,413, both build a tree, and both lose the digits of a number.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum { JSON_DEPTH_MAX = 64 };

typedef enum JsonEvent {
  JSON_ERROR, JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_TEXT,
  JSON_ARRAY, JSON_ARRAY_END, JSON_OBJECT, JSON_KEY, JSON_OBJECT_END,
  JSON_END,  // the value is whole and nothing but white space follows
} JsonEvent;

typedef struct JsonReader {
  const char *start, *at, *end;
  uint64_t is_object;    // one bit a level, the innermost lowest
  uint8_t depth;
  uint8_t expect;        // what may come next (json.c)
  bool escaped;          // `text` has escapes: use json_text or json_text_is
  JsonEvent event;       // the last one given
  Str text;              // of JSON_KEY and JSON_TEXT: between the quotes, as written; of JSON_NUMBER: its characters
  const char *reason;    // static; what stands behind "at byte N: "
  size_t reason_offset;
} JsonReader;

void json_open(JsonReader *reader, Str bytes);
JsonEvent json_next(JsonReader *reader);

// The whole value whose event was just given: goes to behind its end when it is an array or object. `out_raw` (may be
// NULL) gets its characters as written. ERR_FORMAT with the reader in JSON_ERROR, also when the event was no value.
Err json_finish(JsonReader *reader, Str *out_raw) MUST_USE;
// json_next and json_finish: after JSON_KEY, goes over the value.
Err json_skip(JsonReader *reader, Str *out_raw) MUST_USE;

// The decoded text of the last JSON_KEY or JSON_TEXT: in place, or in the arena when it has escapes. ERR_MEMORY.
Err json_text(const JsonReader *reader, Arena *arena, Str *out_text) MUST_USE;
// Whether the decoded text is `text`, without decoding it anywhere: "\u006e" is "n".
bool json_text_is(const JsonReader *reader, Str text);

// Writes the line "REASON at byte N" and returns ERR_FORMAT.
Err json_say_error(const JsonReader *reader, ErrText *out_text);

// A number as it was written, taken apart: (-1)^negative * INTEGER.FRACTION * 10^exponent. Slices without sign or dot.
typedef struct JsonNumber { bool negative; Str integer, fraction; int32_t exponent; } JsonNumber;
enum { JSON_EXPONENT_MAX = 1000000000 };  // greater exponents, either side of zero, are held here

// Takes any text; ERR_FORMAT when it is not a whole JSON number (so a number sent as a text can be read too).
Err json_number_parts(Str number, JsonNumber *out_parts) MUST_USE;
// The value times 10^scale, exactly. ERR_RANGE when it does not fit, ERR_FORMAT when digits other than zero would be
// lost. With scale 0 this is the rule for int fields: 1.0 and 1e2 are ints (1 and 100), 1.5 and 1e-1 are not, -0 is 0.
// Time is bound by the number's length, whatever its exponent.
Err json_number_scaled(Str number, unsigned scale, int64_t *out_value) MUST_USE;
static inline MUST_USE Err json_number_int64(Str number, int64_t *out_value) { return json_number_scaled(number, 0, out_value); }
// The nearest double. ERR_RANGE when it is beyond the greatest; too small a number is zero.
Err json_number_double(Str number, double *out_value) MUST_USE;

// Writing. The writer puts commas and colons; a Buf's own `failed` tells at the end whether there was room.
typedef struct JsonWriter { Buf *buf; bool comma; } JsonWriter;

static inline JsonWriter json_writer(Buf *buf) { return (JsonWriter){buf, false}; }
void json_write_array(JsonWriter *writer);
void json_write_array_end(JsonWriter *writer);
void json_write_object(JsonWriter *writer);
void json_write_key(JsonWriter *writer, Str name);
void json_write_object_end(JsonWriter *writer);
void json_write_null(JsonWriter *writer);
void json_write_bool(JsonWriter *writer, bool value);
void json_write_int(JsonWriter *writer, int64_t value);
void json_write_double(JsonWriter *writer, double value);  // fewest digits that read back the same; null if not finite
void json_write_text(JsonWriter *writer, Str text);        // valid UTF-8 expected
void json_write_raw(JsonWriter *writer, Str json);         // a whole value that is JSON already

// The pieces below the writer.
void json_add_text(Buf *buf, Str text);       // with its quotes; escapes ", \ and U+0000 to U+001F, nothing else
void json_add_double(Buf *buf, double value);
