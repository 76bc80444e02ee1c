// The values of literals: what stands between quotes, behind an @, or in digits.
//
// Owns:   decoded texts are in the arena; one without escapes is a part of the source.
// Thread: one at a time.
// Errors: reported with the exact place (E012, E013, E014, E015, E016); a plain value is returned then.
// Limits: int64; decimals of 18 digits after the point; years 1 to 9999.
#pragma once
#include "compiler/diag.h"
#include "compiler/source.h"
#include "runtime/base/arena.h"

enum { DECIMAL_SCALE_MAX = 18 };

typedef struct Decoder { const Source *source; Arena *arena; DiagList *diags; } Decoder;

// 1_000. `out_is_2_63` is set for 9223372036854775808, which is an int only behind a minus; the value is then INT64_MIN.
int64_t literal_int(const Decoder *decoder, Span span, bool *out_is_2_63);
// 12.50 as 1250 with scale 2.
int64_t literal_decimal(const Decoder *decoder, Span span, uint8_t *out_scale);
// 5min in microseconds.
int64_t literal_duration(const Decoder *decoder, Span span);
// @2026-10-04 as days since 1970, or with a time of day as microseconds since 1970 UTC.
int64_t literal_time(const Decoder *decoder, Span span, bool *out_is_date);
// The inside of a text or of a part of one, without its quotes and braces.
Str literal_text(const Decoder *decoder, Span inside);
