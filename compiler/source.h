// Source files as the compiler sees them, and places in them.
//
// A place is a Span of two positions. Positions number the bytes of all sources of one compile in one row: the first
// source starts at 1, each further one behind the one before it, so that a span is 8 bytes and still says its file.
// Position 0 is no place at all.
//
// Owns:   Sources owns its copies of the texts (arena). A Source never moves and never changes.
// Thread: one at a time.
// Errors: a source that cannot be read as text is refused with a located diagnostic (see diag.def).
// Limits: SOURCE_BYTES_MAX a source, SOURCES_MAX sources, all together below 4 GiB.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum { SOURCE_BYTES_MAX = 16 << 20, SOURCES_MAX = 200 };

typedef struct Span { uint32_t start, end; } Span;  // [start, end) in positions

typedef struct Source {
  Str name;       // the path as it is shown to a person
  Str text;       // without a byte order mark; a zero byte stands behind it (not counted)
  uint32_t base;  // the position of text.ptr[0]
  bool is_text;   // false: refused with a diagnostic; text is what stands before the damage
} Source;

typedef struct Sources {
  Arena *arena;
  Source *items[SOURCES_MAX];
  uint32_t count;
} Sources;

struct DiagList;

void sources_init(Sources *sources, Arena *arena);

// Copies `bytes` into the arena and checks them: at most SOURCE_BYTES_MAX, valid UTF-8, no zero byte (E022, E021). A byte
// order mark is dropped. That there is nothing in it (E020) is found by the parser. Returns the source even when the check found something (the diagnostic needs its place);
// NULL when there is no memory or SOURCES_MAX or 4 GiB are passed.
const Source *sources_add(Sources *sources, Str name, Str bytes, struct DiagList *diags);

// The source that holds the position (its end included), or NULL.
const Source *sources_find(const Sources *sources, uint32_t position);

// The text of a span within one source.
static inline Str source_text(const Source *source, Span span) {
  return str_part(source->text, span.start - source->base, span.end - source->base);
}
static inline bool span_is_none(Span span) { return span.start == 0; }
static inline Span span_join(Span a, Span b) { return (Span){a.start, b.end}; }
