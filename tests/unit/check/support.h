// What the tests of the checker share: one source checked, with its diagnostics and its program.
#pragma once
#include "compiler/check/check.h"
#include "tests/unit/syntax/support.h"

typedef struct Checked {
  Arena arena;
  DiagList diags;
  Sources sources;
  const Source *source;
  Ast *ast;
  HProgram *program;
} Checked;

static inline void checked_open(Checked *c, const char *name, Str text) {
  memset(c, 0, sizeof *c);
  arena_init(&c->arena, 0);
  diag_init(&c->diags, &c->arena);
  sources_init(&c->sources, &c->arena);
  c->source = sources_add(&c->sources, str_from(name), text, &c->diags);
  if (c->source && !diag_has_errors(&c->diags)) c->ast = syntax_parse(c->source, &c->arena, &c->diags);
  if (c->ast && !diag_has_errors(&c->diags)) c->program = check_program(c->ast, &c->sources, &c->diags, &c->arena, true);
  diag_sort(&c->diags);
}

static inline void checked_close(Checked *c) { arena_free(&c->arena); }

static inline uint32_t checked_line(const Checked *c, uint32_t position) {
  uint32_t line = 1;
  for (uint32_t i = 0; position > c->source->base && i < position - c->source->base && i < c->source->text.len; i++) line += c->source->text.ptr[i] == '\n';
  return line;
}
