// Lines and columns of a source. Both start at 1; a column counts code points, so that it is what an editor shows.
//
// Owns:   the table of line starts (arena).
// Thread: read-only after lines_init, any.
// Errors: lines_init gives false when there is no memory; every place is then line 1.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "compiler/source.h"
#include "runtime/base/arena.h"

typedef struct Lines {
  const Source *source;
  uint32_t *starts;  // offsets in the text
  uint32_t count;
} Lines;

typedef struct Place { uint32_t line, column; } Place;

bool lines_init(Lines *lines, const Source *source, Arena *arena);
// The place of a position in this source; one behind its end counts as its end.
Place lines_place(const Lines *lines, uint32_t position);
// A line (from 1) without its line break; empty beyond the last.
Str lines_text(const Lines *lines, uint32_t line);
