// The ways to show a list of diagnostics. The plain ones are here, the picture of a source line is in render_human.c, the
// two JSON forms are in render_json.c.
#include "compiler/render.h"

#include <assert.h>
#include <utf8proc.h>

#include "runtime/base/utf8.h"

bool render_find_format(Str name, RenderFormat *out_format) {
  static const char *const NAMES[] = {[RENDER_HUMAN] = "human", [RENDER_SHORT] = "short", [RENDER_JSON] = "json", [RENDER_GITHUB] = "github", [RENDER_SARIF] = "sarif"};
  for (size_t i = 0; i < countof(NAMES); i++) {
    if (!str_is(name, NAMES[i])) continue;
    *out_format = (RenderFormat)i;
    return true;
  }
  return false;
}

static bool is_visible(uint32_t point) {
  switch ((int)utf8proc_category((utf8proc_int32_t)point)) {
    case UTF8PROC_CATEGORY_CC: case UTF8PROC_CATEGORY_CF: case UTF8PROC_CATEGORY_CN: case UTF8PROC_CATEGORY_CO: case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_ZL: case UTF8PROC_CATEGORY_ZP: return false;
    default: return true;
  }
}

void render__visible(Buf *out, Str text) {
  while (text.len) {
    uint32_t point = 0;
    size_t len = utf8_decode(text, &point);
    if (!len) { buf_add_format(out, "\\x%02X", (uint8_t)*text.ptr); len = 1; }
    else if (is_visible(point)) buf_add(out, text.ptr, len);
    else if (point < 0x80) buf_add_format(out, "\\x%02X", point);
    else buf_add_format(out, "\\u{%X}", point);
    text = str_part(text, len, text.len);
  }
}

Region render__region(Render *r, Span span) {
  const Source *source = sources_find(r->sources, span.start);
  if (!source) return (Region){.name = STR("?"), .start = {1, 1}, .end = {1, 1}};
  if (r->lines.source != source) {
    if (!lines_init(&r->lines, source, &r->arena)) r->out->failed = true;
  }
  Region region = {&r->lines, source->name, lines_place(&r->lines, span.start), lines_place(&r->lines, span.end), span.start - source->base, span.end - source->base};
  return region;
}

static const char *level_of(const Diag *diag) { return diag->severity == SEVERITY_ERROR ? "error" : "warning"; }

static void render_short(Render *r, const Diag *diag) {
  Region region = render__region(r, diag->span);
  render__visible(r->out, region.name);
  buf_add_format(r->out, ":%u:%u: %s[%s]: ", region.start.line, region.start.column, level_of(diag), diag_code_name(diag->code));
  render__visible(r->out, diag->message);
  buf_add_char(r->out, '\n');
}

// GitHub's workflow commands take % and line breaks as %25 %0A %0D; in a property also : and , are escaped.
static void add_github(Buf *out, Str text, bool is_property) {
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    bool is_escaped = c == '%' || c == '\n' || c == '\r' || (is_property && (c == ':' || c == ','));
    if (is_escaped) buf_add_format(out, "%%%02X", (uint8_t)c);
    else buf_add_char(out, c);
  }
}

static void render_github(Render *r, const Diag *diag) {
  Region region = render__region(r, diag->span);
  Buf text;
  buf_init(&text, 0);
  render__visible(&text, region.name);
  buf_add_format(r->out, "::%s file=", level_of(diag));
  add_github(r->out, buf_str(&text), true);
  buf_add_format(r->out, ",line=%u,col=%u,endLine=%u,endColumn=%u,title=%s::", region.start.line, region.start.column, region.end.line, region.end.column, diag_code_name(diag->code));
  buf_clear(&text);
  render__visible(&text, diag->message);
  if (diag->help.len) {
    buf_add_char(&text, '\n');
    render__visible(&text, diag->help);
  }
  add_github(r->out, buf_str(&text), false);
  buf_add_char(r->out, '\n');
  r->out->failed |= text.failed;
  buf_free(&text);
}

static void add_count(Buf *out, uint32_t count, const char *word) { buf_add_format(out, "%u %s%s", count, word, count == 1 ? "" : "s"); }

static void render_summary(Render *r) {
  const DiagList *diags = r->diags;
  if (!diags->count) return;
  if (diags->error_count) add_count(r->out, diags->error_count + diags->errors_left_out, "error");
  if (diags->error_count && diags->warning_count) buf_add_text(r->out, ", ");
  if (diags->warning_count) add_count(r->out, diags->warning_count, "warning");
  if (diags->errors_left_out) buf_add_format(r->out, " (the first %u errors are shown)", diags->error_count);
  buf_add_char(r->out, '\n');
}

static void render_one(Render *r, RenderFormat format, const Diag *diag) {
  switch (format) {
    case RENDER_HUMAN: render__human(r, diag); break;
    case RENDER_SHORT: render_short(r, diag); break;
    case RENDER_JSON: render__json(r, diag); break;
    case RENDER_GITHUB: render_github(r, diag); break;
    case RENDER_SARIF: assert(!"it is one document"); break;
  }
}

void render_diags(const DiagList *diags, const Sources *sources, RenderFormat format, bool colour, Buf *out) {
  Render r = {.diags = diags, .sources = sources, .out = out, .colour = colour};
  arena_init(&r.arena, 0);
  if (format == RENDER_SARIF) render__sarif(&r);
  else
    for (uint32_t i = 0; i < diags->count; i++) render_one(&r, format, diags->items[i]);
  if (format == RENDER_HUMAN) render_summary(&r);
  arena_free(&r.arena);
}
