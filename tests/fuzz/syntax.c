// The front end on any bytes: it ends, every message has a place in the source, what is shown holds no byte that a terminal
// would obey, and a program without errors can be dumped.
#include <stdlib.h>

#include "compiler/render.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/parser.h"

static void must(bool holds) {
  if (!holds) abort();
}

static void check_messages(const DiagList *diags, const Sources *sources, const Source *source) {
  must(diags->error_count <= DIAG_ERRORS_MAX);
  for (uint32_t i = 0; i < diags->count; i++) {
    const Diag *diag = diags->items[i];
    must(diag->message.len > 0 && diag->span.start <= diag->span.end);
    must(sources_find(sources, diag->span.start) == source && sources_find(sources, diag->span.end) == source);
  }
  for (int format = RENDER_HUMAN; format <= RENDER_SARIF; format++) {
    Buf out;
    buf_init(&out, 0);
    render_diags(diags, sources, (RenderFormat)format, false, &out);
    for (size_t i = 0; i < out.len; i++) must((uint8_t)out.ptr[i] >= 0x20 || out.ptr[i] == '\n');
    buf_free(&out);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena arena;
  arena_init(&arena, 0);
  DiagList diags;
  diag_init(&diags, &arena);
  Sources sources;
  sources_init(&sources, &arena);
  const Source *source = sources_add(&sources, STR("fuzz.aup"), (Str){(const char *)data, size}, &diags);
  must(source != NULL);
  Ast *ast = syntax_parse(source, &arena, &diags);
  must(ast != NULL && !diags.failed);
  diag_sort(&diags);
  check_messages(&diags, &sources, source);
  Buf out;
  buf_init(&out, 0);
  if (!diag_has_errors(&diags)) ast_dump(ast, &out);
  DiagList again;
  diag_init(&again, &arena);
  if (source->is_text) tokens_dump(source, &arena, &again, &out);
  must(!out.failed);
  buf_free(&out);
  arena_free(&arena);
  return 0;
}
