// Parts of a request's target: segments of a path, arguments of a query, percent-encoding (RFC 3986).
//
// Owns:   nothing; decoded texts live in the arena, or where they were when nothing was to decode.
// Thread: any.
// Errors: ERR_FORMAT for broken escapes, NUL and bytes that are no UTF-8; ERR_MEMORY.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/str.h"

// The text that `raw` means. In a query "+" is a space.
Err http_decode(Str raw, bool plus_is_space, Arena *arena, Str *out_text) MUST_USE;
// Adds `text` with everything but unreserved characters (RFC 3986, 2.3) as %XX.
void http_add_encoded(Buf *buf, Str text);

// Whether a path is one that two programs cannot understand in two ways: it starts with "/", has at most
// HTTP_PATH_SEGMENTS_MAX segments, none of them "." or ".." once decoded, and no encoded slash, no backslash, no NUL or other
// control byte, no broken escape and nothing that is not UTF-8. `out_reason` gets a static sentence.
bool http_check_path(Str path, const char **out_reason);

// The next segment of a path, still encoded: "/a//b/" has "a", "", "b", "". False at the end.
//   for (Str rest = request->path, segment; http_path_next(&rest, &segment);) …
bool http_path_next(Str *rest, Str *out_segment);
// The next NAME=VALUE of a query, still encoded; the value is empty without "=". Empty parts are passed over.
bool http_query_next(Str *rest, Str *out_name, Str *out_value);
