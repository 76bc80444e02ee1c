// UTF-8 (RFC 3629): checking, walking, counting and cutting text. Surrogates, overlong forms and code points above
// U+10FFFF are never accepted. ASCII takes a fast path of eight bytes a step.
//
// Owns:   nothing.
// Thread: any.
// Errors: told by the return value of each function.
//
// By hand: utf8proc has no check of a whole text and decodes one character a call.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/str.h"

enum { UTF8_CHAR_BYTES_MAX = 4 };

// The offset of the first byte that does not belong to a whole, legal character; text.len when all is well.
size_t utf8_invalid_at(Str text);
static inline bool utf8_valid(Str text) { return utf8_invalid_at(text) == text.len; }

// Reads the character at the start of `bytes`: its length (1 to 4), or 0 when there is none or it is not legal.
// `out_point` is untouched then.
size_t utf8_decode(Str bytes, uint32_t *out_point);

// Writes a code point; its length, or 0 for a surrogate or a number above U+10FFFF.
size_t utf8_encode(uint32_t point, char out_bytes[UTF8_CHAR_BYTES_MAX]);

// Code points in a valid text; in other bytes, the number of bytes that do not continue a character.
size_t utf8_count(Str text);

// The offset of code point number `index` of a valid text; text.len when it has fewer.
size_t utf8_offset(Str text, size_t index);

// The longest start of at most `bytes_max` bytes that does not split a character of a valid text.
size_t utf8_cut(Str text, size_t bytes_max);
