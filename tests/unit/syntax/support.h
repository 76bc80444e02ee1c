// What the tests of the front end share: one source parsed, with its diagnostics.
#pragma once
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/diag.h"
#include "compiler/render.h"
#include "compiler/source.h"
#include "compiler/syntax/ast.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/parser.h"
#include "runtime/base/mem.h"

typedef struct Front {
  Arena arena;
  DiagList diags;
  Sources sources;
  const Source *source;
  Ast *ast;
} Front;

static inline void front_open(Front *f, const char *name, Str text) {
  memset(f, 0, sizeof *f);
  arena_init(&f->arena, 0);
  diag_init(&f->diags, &f->arena);
  sources_init(&f->sources, &f->arena);
  f->source = sources_add(&f->sources, str_from(name), text, &f->diags);
  cr_assert_not_null(f->source);
}

static inline void front_parse(Front *f, const char *name, Str text) {
  front_open(f, name, text);
  f->ast = syntax_parse(f->source, &f->arena, &f->diags);
  diag_sort(&f->diags);
  cr_assert_not_null(f->ast);
}

static inline void front_close(Front *f) { arena_free(&f->arena); }

static inline void front_render(Front *f, RenderFormat format, Buf *out) { render_diags(&f->diags, &f->sources, format, false, out); }

// A whole file; the caller frees it with mem_free.
static inline Str read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return (Str){NULL, 0};
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  char *bytes = mem_alloc(size + 1);
  size_t got = fread(bytes, 1, size, file);
  fclose(file);
  return (Str){bytes, got};
}
