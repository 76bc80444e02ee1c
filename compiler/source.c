// Takes the bytes of source files in and numbers their places. What is not text is refused here, once, so that every
// later phase may trust that a source is valid UTF-8 without zero bytes.
#include "compiler/source.h"

#include <assert.h>

#include "compiler/diag.h"
#include "runtime/base/utf8.h"

static const Str BYTE_ORDER_MARK = {"\xEF\xBB\xBF", 3};

void sources_init(Sources *sources, Arena *arena) {
  sources->arena = arena;
  sources->count = 0;
}

// The first place that is not text; text.len when all is.
static size_t find_damage(Str text) {
  size_t bad = utf8_invalid_at(text);
  const char *zero = memchr(text.ptr, 0, bad);
  return zero ? (size_t)(zero - text.ptr) : bad;
}

static void report_damage(DiagList *diags, uint32_t position, uint8_t byte) {
  Span span = {position, position};
  Diag *diag = byte == 0 ? diag_add(diags, DIAG_E021, span, "there is a zero byte here, so this file is not a text")
                         : diag_add(diags, DIAG_E021, span, "the byte 0x%02X here does not belong to UTF-8 text", byte);
  diag_help(diags, diag, "a source is UTF-8 text: save the file as UTF-8");
}

const Source *sources_add(Sources *sources, Str name, Str bytes, DiagList *diags) {
  assert(name.ptr && (bytes.ptr || bytes.len == 0));
  if (sources->count == SOURCES_MAX) return NULL;
  uint32_t base = 1;
  if (sources->count) {
    const Source *last = sources->items[sources->count - 1];
    base = last->base + (uint32_t)last->text.len + 1;  // the end of a source is a position of its own
  }
  if (UINT32_MAX - base <= SOURCE_BYTES_MAX) return NULL;

  bool too_large = bytes.len > SOURCE_BYTES_MAX;
  if (str_starts(bytes, BYTE_ORDER_MARK)) bytes = str_part(bytes, BYTE_ORDER_MARK.len, bytes.len);
  size_t damage_at = too_large || !bytes.len ? bytes.len : find_damage(bytes);
  Str text = too_large ? STR("") : str_part(bytes, 0, damage_at);
  Source *source = ARENA_NEW(sources->arena, Source);
  if (!source) return NULL;
  *source = (Source){arena_copy(sources->arena, name), arena_copy(sources->arena, text), base, !too_large && damage_at == bytes.len};
  if (!source->name.ptr || !source->text.ptr) return NULL;
  sources->items[sources->count++] = source;

  if (too_large)
    diag_add(diags, DIAG_E022, (Span){base, base}, "this file has more than %d MiB (SOURCE_BYTES_MAX)", SOURCE_BYTES_MAX >> 20);
  else if (!source->is_text)
    report_damage(diags, base + (uint32_t)damage_at, (uint8_t)bytes.ptr[damage_at]);
  return source;
}

const Source *sources_find(const Sources *sources, uint32_t position) {
  uint32_t low = 0, high = sources->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (sources->items[middle]->base <= position) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return NULL;
  const Source *source = sources->items[low - 1];
  return position - source->base <= source->text.len ? source : NULL;
}
