// Diagnostics as text, for people and for other programs.
//
//   human   the line, what is underlined, labels, notes, help; with colours when asked for
//   short   file:line:column: error[E101]: message
//   json    one object a line in the shape of rustc's --error-format=json
//   github  workflow commands: ::error file=…,line=…::message
//   sarif   one SARIF 2.1.0 document
//
// Nothing of a source reaches a terminal as a control or invisible character: such are shown as their code.
//
// Owns:   nothing. Thread: any. Errors: out->failed when there was no memory.
// Limits: RENDER_WIDTH cells of a source line are shown around what is underlined.
#pragma once
#include "compiler/diag.h"
#include "compiler/lines.h"
#include "compiler/source.h"
#include "runtime/base/buf.h"

enum { RENDER_WIDTH = 140 };

typedef enum RenderFormat { RENDER_HUMAN, RENDER_SHORT, RENDER_JSON, RENDER_GITHUB, RENDER_SARIF } RenderFormat;

// "human", "short", "json", "github", "sarif"; false for any other.
bool render_find_format(Str name, RenderFormat *out_format);

// All of the list, in its order (diag_sort first). `colour` is for human only.
void render_diags(const DiagList *diags, const Sources *sources, RenderFormat format, bool colour, Buf *out);

// ---- within the renderer ------------------------------------------------------------------
typedef struct Render {
  const DiagList *diags;
  const Sources *sources;
  Buf *out;
  bool colour;
  Arena arena;
  Lines lines;  // of the source that was asked for last
} Render;
typedef struct Region { const Lines *lines; Str name; Place start, end; uint32_t byte_start, byte_end; } Region;
Region render__region(Render *r, Span span);
void render__visible(Buf *out, Str text);             // control and invisible characters as codes
void render__human(Render *r, const Diag *diag);
void render__json(Render *r, const Diag *diag);
void render__sarif(Render *r);
