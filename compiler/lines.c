// One table of line starts a source, then a binary search a place.
#include "compiler/lines.h"

#include <assert.h>

#include "runtime/base/utf8.h"

static uint32_t count_lines(Str text) {
  uint32_t count = 1;
  for (const char *c = text.ptr; (c = memchr(c, '\n', (size_t)(text.ptr + text.len - c))) != NULL; c++) count++;
  return count;
}

bool lines_init(Lines *lines, const Source *source, Arena *arena) {
  Str text = source->text;
  *lines = (Lines){.source = source, .starts = ARENA_ARRAY(arena, uint32_t, count_lines(text))};
  if (!lines->starts) return false;
  lines->count = 1;  // starts[0] is 0
  for (const char *c = text.ptr; (c = memchr(c, '\n', (size_t)(text.ptr + text.len - c))) != NULL; c++)
    lines->starts[lines->count++] = (uint32_t)(c + 1 - text.ptr);
  return true;
}

Place lines_place(const Lines *lines, uint32_t position) {
  uint32_t offset = position < lines->source->base ? 0 : position - lines->source->base;
  if (offset > lines->source->text.len) offset = (uint32_t)lines->source->text.len;
  if (!lines->count) return (Place){1, 1};
  uint32_t low = 0, high = lines->count;  // starts[low] <= offset < starts[high]
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (lines->starts[middle] <= offset) low = middle;
    else high = middle;
  }
  assert(lines->starts[low] <= offset);
  Str before = str_part(lines->source->text, lines->starts[low], offset);
  return (Place){low + 1, (uint32_t)utf8_count(before) + 1};
}

Str lines_text(const Lines *lines, uint32_t line) {
  if (line == 0 || line > lines->count) return STR("");
  size_t start = lines->starts[line - 1], end = line < lines->count ? lines->starts[line] - 1 : lines->source->text.len;
  Str text = str_part(lines->source->text, start, end);
  if (text.len && text.ptr[text.len - 1] == '\r') text.len--;
  return text;
}
