// The checker: from the syntax tree of an app to the checked program (hir.h). It resolves names, gives every expression a
// type, writes conversions and defaults out, lays out the tables, and proves who may change state, read the clock and
// call whom. Everything that is wrong with a program is said here.
//
// Phases, each in files of its own: declare (names) → named (types) → tables (schema) → signatures → bodies
// (expressions, statements, queries) → effects (calls, order) → assemble (the Module's tables).
//
// Owns:   the program is in the arena, as the tree is.
// Thread: one at a time.
// Errors: diagnostics; NULL when there was one or memory ran out.
// Limits: those of type.h, schema.h, module.h; CHECK_DEPTH_MAX.
#pragma once
#include "compiler/check/hir.h"
#include "compiler/syntax/ast.h"

// Expressions, blocks, and views that are looked into because another needs the type of their result, one in another.
enum { CHECK_DEPTH_MAX = 1000 };

// `with_tests`: keep the functions of tests; they are checked in any case.
HProgram *check_program(Ast *ast, const Sources *sources, DiagList *diags, Arena *arena, bool with_tests);

// A stable text form of a checked program, for tests and `aup dump`.
void hir_dump(const HProgram *program, Buf *out);
