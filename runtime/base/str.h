// A Str is a piece of text or bytes that somebody else owns: a pointer and a length, with no zero byte promised.
//
// Owns:   nothing. Where a Str comes from says how long it lives.
// Thread: any.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Str { const char *ptr; size_t len; } Str;

#define STR(literal) ((Str){("" literal), sizeof(literal) - 1})
#define STR_FMT "%.*s"                           // with STR_ARG, for printf
#define STR_ARG(s) (int)(s).len, ((s).ptr ? (s).ptr : "")

static inline Str str_from(const char *zero_ended) { return (Str){zero_ended, strlen(zero_ended)}; }
static inline bool str_equal(Str a, Str b) { return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0); }
static inline bool str_is(Str a, const char *zero_ended) { return str_equal(a, str_from(zero_ended)); }
static inline bool str_starts(Str a, Str start) { return a.len >= start.len && memcmp(a.ptr, start.ptr, start.len) == 0; }
static inline Str str_part(Str a, size_t from, size_t to) { return (Str){a.ptr + from, to - from}; }

// Order by bytes: below, at or above zero, as memcmp; a prefix comes first.
static inline int str_compare(Str a, Str b) {
  size_t len = a.len < b.len ? a.len : b.len;
  int order = len ? memcmp(a.ptr, b.ptr, len) : 0;
  return order ? order : (a.len > b.len) - (a.len < b.len);
}
