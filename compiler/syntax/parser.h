// Text to tree. The grammar is grammar.y (lemon), the tokens come from lexer.h, the messages from expect.c.
//
// Owns:   the tree is in its arena; all else is given back before parsing returns.
// Thread: one parse at a time per Ast and DiagList.
// Errors: reported to the DiagList, at most DIAG_ERRORS_MAX, not sorted (diag_sort does); the tree is then partial.
// Limits: NESTING_MAX, EXPR_DEPTH_MAX, NAME_BYTES_MAX; PARSER_STACK_MAX inside (E023 names it too).
#pragma once
#include "compiler/diag.h"
#include "compiler/source.h"
#include "compiler/syntax/ast.h"

// Parses one source into a new tree: syntax_parse_into(ast_new(…)). NULL only when there is no memory.
Ast *syntax_parse(const Source *source, Arena *arena, DiagList *diags);

// Parses a further source of the same app (`use`) and appends its declarations. False when there were errors.
bool syntax_parse_into(Ast *ast, const Source *source, DiagList *diags);
