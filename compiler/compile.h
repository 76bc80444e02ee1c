// The compiler as one pure function: sources in, a module's bytes or diagnostics out. No files, no printing, no globals.
// `use` needs other files: the caller gives a function that reads one.
//
// Owns:   all results live in the Compile's arena until compile_free.
// Thread: one at a time a Compile.
// Errors: diagnostics; `failed` in the DiagList when memory ran out.
// Limits: those of source.h, lexer.h, module.h.
#pragma once
#include "compiler/diag.h"
#include "compiler/source.h"
#include "compiler/syntax/ast.h"
#include "runtime/module/module.h"

// Reads the file `path` as named by `use` (or the first one) for the compiler. An error becomes a located diagnostic.
typedef Err (*CompileReadFile)(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text);

typedef struct CompileOptions {
  CompileReadFile read_file;
  void *context;
  bool with_tests;         // keep tests in the module (aup test); a served module has none
} CompileOptions;

typedef struct Compile {
  Arena arena;
  Sources sources;
  DiagList diags;
  Ast *ast;                // NULL when there is none
  Str module_bytes;        // ptr NULL when there are errors
  const Module *module;    // read back and verified from module_bytes
} Compile;

void compile_run(Compile *compile, Str path, const CompileOptions *options);  // sorts the diagnostics
void compile_free(Compile *compile);
