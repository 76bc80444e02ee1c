// From the checked program to the bytes of a module: plans for its queries, registers and instructions for its functions.
//
//   HProgram -> emit_module -> module_write
//
// One pass a function. plan.c chooses how rows are found, query.c makes a plan's stages and blocks, expr.c and stmt.c
// make instructions, code.c holds registers, jumps and the line table.
//
// Owns:   what it makes lives in `arena`; `out_bytes` is the caller's Buf.
// Thread: one at a time.
// Errors: ERR_MEMORY; ERR_REFUSED when something was reported to `diags` (a limit).
// Limits: those of function.h; going past one is a located diagnostic (E026).
#pragma once
#include "compiler/check/hir.h"
#include "runtime/base/buf.h"

// Reads all of `program` but changes only its constants (more are added) and the cost of its entries (in a copy).
MUST_USE Err emit_module(HProgram *program, DiagList *diags, Arena *arena, Buf *out_bytes);
