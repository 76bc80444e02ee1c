// A diagnostic as a picture:
//
//   error[E004]: `=` gives a value to something; to compare, write `==`
//     --> counter.aup:3:8
//      |
//    3 |   if x = 3 { n += 1 }
//      |        ^
//      = help: …
//
// The underline must stand under what it means in any script: cells are counted as a terminal draws them (wide characters
// are two, combining marks none, a tab goes to the next multiple of four), and what a terminal would obey is shown as its
// code. Of a long line only a window around the place is shown.
#include <assert.h>
#include <utf8proc.h>

#include "compiler/render.h"
#include "runtime/base/utf8.h"

enum { TAB_CELLS = 4, WINDOW_BEFORE = 60 };

typedef struct Style { const char *on, *off; } Style;
typedef enum Part { PART_ERROR, PART_WARNING, PART_FRAME, PART_BOLD, PART_HELP } Part;

static Style style(const Render *r, Part part) {
  static const char *const ON[] = {[PART_ERROR] = "\033[1;31m", [PART_WARNING] = "\033[1;33m", [PART_FRAME] = "\033[1;34m", [PART_BOLD] = "\033[1m", [PART_HELP] = "\033[1;36m"};
  return r->colour ? (Style){ON[part], "\033[0m"} : (Style){"", ""};
}

static Part part_of(const Diag *diag) { return diag->severity == SEVERITY_ERROR ? PART_ERROR : PART_WARNING; }

// ---- cells --------------------------------------------------------------------------------

// Adds one character of a source line as a terminal may get it; returns the cells it takes from `cell` on.
static size_t add_character(Buf *out, Str text, size_t cell, size_t *out_len) {
  uint32_t point = 0;
  *out_len = utf8_decode(text, &point);
  if (point == '\t') {
    size_t cells = TAB_CELLS - cell % TAB_CELLS;
    for (size_t i = 0; i < cells; i++) buf_add_char(out, ' ');
    return cells;
  }
  size_t before = out->len;
  if (!*out_len) *out_len = 1;
  render__visible(out, str_part(text, 0, *out_len));
  bool is_itself = out->len - before == *out_len && memcmp(out->ptr + before, text.ptr, *out_len) == 0;
  if (!is_itself) return out->len - before;  // a code of ASCII letters
  int width = utf8proc_charwidth((utf8proc_int32_t)point);
  return width < 0 ? 0 : (size_t)width;
}

// The part of a line that is shown, and where in it the mark begins and ends (bytes).
typedef struct Window { Str text; size_t from, to; bool is_cut_left, is_cut_right; } Window;

static Window window_of(Str line, size_t from, size_t to) {
  if (from > line.len) from = line.len;
  if (to > line.len) to = line.len;
  if (line.len <= RENDER_WIDTH) return (Window){line, from, to, false, false};
  size_t start = from > WINDOW_BEFORE ? from - WINDOW_BEFORE : 0;
  while (start > 0 && start < line.len && ((uint8_t)line.ptr[start] & 0xC0) == 0x80) start--;
  size_t len = utf8_cut(str_part(line, start, line.len), RENDER_WIDTH), end = start + len;
  if (to > end) to = end;
  return (Window){str_part(line, start, end), from - start, to - start, start > 0, end < line.len};
}

// ---- the parts of a picture ---------------------------------------------------------------

static void add_frame(Render *r, uint32_t width, uint32_t line) {
  Style frame = style(r, PART_FRAME);
  if (line) buf_add_format(r->out, "%s%*u |%s", frame.on, (int)width, line, frame.off);
  else buf_add_format(r->out, "%s%*s |%s", frame.on, (int)width, "", frame.off);
}

static uint32_t digits_of(uint32_t number) {
  uint32_t digits = 1;
  for (; number >= 10; number /= 10) digits++;
  return digits;
}

// The line, then the underline with its label.
static void add_mark(Render *r, uint32_t width, const Region *region, char sign, Part part, Str label) {
  Str line = lines_text(region->lines, region->start.line);
  size_t from = utf8_offset(line, region->start.column - 1);
  size_t to = region->end.line == region->start.line ? utf8_offset(line, region->end.column - 1) : line.len;
  Window window = window_of(line, from, to);
  add_frame(r, width, region->start.line);
  buf_add_text(r->out, window.is_cut_left ? " …" : " ");
  size_t cell = window.is_cut_left ? 1 : 0, mark_from = 0, mark_to = 0;
  for (size_t at = 0, len; at < window.text.len; at += len) {
    if (at == window.from) mark_from = cell;
    if (at == window.to) mark_to = cell;
    cell += add_character(r->out, str_part(window.text, at, window.text.len), cell, &len);
  }
  if (window.from >= window.text.len) mark_from = cell;
  if (window.to >= window.text.len) mark_to = cell;
  if (window.is_cut_right) buf_add_text(r->out, "…");
  buf_add_char(r->out, '\n');

  Style mark = style(r, part);
  add_frame(r, width, 0);
  buf_add_format(r->out, " %*s%s", (int)mark_from, "", mark.on);
  for (size_t i = mark_from; i == mark_from || i < mark_to; i++) buf_add_char(r->out, sign);
  if (label.len) {
    buf_add_char(r->out, ' ');
    render__visible(r->out, label);
  }
  buf_add_format(r->out, "%s\n", mark.off);
}

static void add_remark(Render *r, uint32_t width, const char *word, Str text) {
  Style help = style(r, PART_HELP);
  buf_add_format(r->out, "%*s = %s%s%s: ", (int)width, "", help.on, word, help.off);
  render__visible(r->out, text);
  buf_add_char(r->out, '\n');
}

static void add_fix(Render *r, uint32_t width, const Diag *diag) {
  Region region = render__region(r, diag->fix_span);
  if (!region.lines) return;
  Str old = str_part(region.lines->source->text, region.byte_start, region.byte_end);
  Str shown = {diag->fix_text.ptr, diag->fix_text.len};
  while (shown.len && *shown.ptr == ' ') shown = str_part(shown, 1, shown.len);
  while (shown.len && shown.ptr[shown.len - 1] == ' ') shown.len--;
  Buf text;
  buf_init(&text, 0);
  if (!old.len) buf_add_format(&text, "add `" STR_FMT "` at column %u of line %u", STR_ARG(shown), region.start.column, region.start.line);
  else if (!shown.len) buf_add_format(&text, "remove `" STR_FMT "`", STR_ARG(old));
  else buf_add_format(&text, "write `" STR_FMT "` for `" STR_FMT "`", STR_ARG(shown), STR_ARG(old));
  add_remark(r, width, "fix", buf_str(&text));
  r->out->failed |= text.failed;
  buf_free(&text);
}

void render__human(Render *r, const Diag *diag) {
  Style level = style(r, part_of(diag)), bold = style(r, PART_BOLD), frame = style(r, PART_FRAME);
  buf_add_format(r->out, "%s%s[%s]%s%s: ", level.on, diag->severity == SEVERITY_ERROR ? "error" : "warning", diag_code_name(diag->code), level.off, bold.on);
  render__visible(r->out, diag->message);
  buf_add_format(r->out, "%s\n", bold.off);

  Region region = render__region(r, diag->span);
  uint32_t width = digits_of(region.start.line);
  for (uint32_t i = 0; i < diag->label_count; i++) {
    uint32_t digits = digits_of(render__region(r, diag->labels[i].span).start.line);
    if (digits > width) width = digits;
  }
  width++;
  region = render__region(r, diag->span);  // the lines are again of its source
  buf_add_format(r->out, "%*s%s-->%s ", (int)width, "", frame.on, frame.off);
  render__visible(r->out, region.name);
  buf_add_format(r->out, ":%u:%u\n", region.start.line, region.start.column);
  if (region.lines) {
    add_frame(r, width, 0);
    buf_add_char(r->out, '\n');
    add_mark(r, width, &region, '^', part_of(diag), STR(""));
  }
  for (uint32_t i = 0; i < diag->label_count; i++) {
    Region place = render__region(r, diag->labels[i].span);
    if (!place.lines) continue;
    if (!str_equal(place.name, region.name)) {
      buf_add_format(r->out, "%*s%s:::%s ", (int)width, "", frame.on, frame.off);
      render__visible(r->out, place.name);
      buf_add_format(r->out, ":%u:%u\n", place.start.line, place.start.column);
    }
    add_mark(r, width, &place, '-', PART_FRAME, diag->labels[i].text);
  }
  if (diag->note.len) add_remark(r, width, "note", diag->note);
  if (diag->help.len) add_remark(r, width, "help", diag->help);
  if (diag->has_fix) add_fix(r, width, diag);
  buf_add_char(r->out, '\n');
}
