// The module's file, NAME.aupm: written, read and verified. docs/FORMAT.md has it byte by byte.
//
// module_write encodes a Module that a compiler put together; module_read copies the bytes, checks every offset, count,
// name and type, then verifies each function in one pass. What module_read has accepted can be executed without any
// further check. The compiler reads back what it wrote.
//
// Owns:   the Module lives in `arena`.
// Thread: any.
// Errors: ERR_FORMAT (with what and where), ERR_VERSION (made by another version: which), ERR_LIMIT, ERR_MEMORY.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/module/module.h"

enum { MODULE_FORMAT_VERSION = 3 };

// Computes schema_bytes and both hashes too.
MUST_USE Err module_write(const Module *module, Buf *out, ErrText *out_text);
MUST_USE Err module_read(Str bytes, Arena *arena, Module **out_module, ErrText *out_text);
// Verifies all functions and fills their `depth`; part of module_read.
MUST_USE Err module_verify(Module *module, ErrText *out_text);
// Everything in the module as lines of text: for `aup dump --module`.
void module_disassemble(const Module *module, Buf *out);
