// aup dump: what a stage of the compiler made of a program, as text. --module takes a module file too.
#include <stdio.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "cli/store_dir.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/parser.h"
#include "runtime/base/mem.h"
#include "runtime/module/format.h"

static void print_buf(Buf *out) {
  if (out->len) fwrite(out->ptr, 1, out->len, stdout);
  if (out->failed) cli_say("no memory left");
  buf_free(out);
}

// The stages before checking need no more than the source itself; messages follow what could be made.
static ExitCode dump_source(const Args *args, Str bytes) {
  Program program = {.path = args->operand};
  Compile *compile = &program.compile;
  arena_init(&compile->arena, 0);
  sources_init(&compile->sources, &compile->arena);
  diag_init(&compile->diags, &compile->arena);
  const Source *source = sources_add(&compile->sources, str_from(args->operand), bytes, &compile->diags);
  Buf out;
  buf_init(&out, 0);
  if (source && args_has(args, OPTION_TOKENS)) {
    tokens_dump(source, &compile->arena, &compile->diags, &out);
  } else if (source) {
    Ast *ast = syntax_parse(source, &compile->arena, &compile->diags);
    if (ast) ast_dump(ast, &out);
  }
  print_buf(&out);
  diag_sort(&compile->diags);
  program_show(&program, RENDER_HUMAN);
  ExitCode code = diag_has_errors(&compile->diags) ? CLI_PROGRAM : CLI_OK;
  arena_free(&compile->arena);
  return code;
}

static ExitCode dump_module_file(const char *path, Str bytes) {
  Arena arena;
  arena_init(&arena, 0);
  Module *module;
  ErrText text;
  Err err = module_read(bytes, &arena, &module, &text);
  if (err == ERR_NONE) {
    Buf out;
    buf_init(&out, 0);
    module_disassemble(module, &out);
    print_buf(&out);
  } else {
    cli_say("%s: %s", path, text.text);
  }
  arena_free(&arena);
  return err == ERR_NONE ? CLI_OK : CLI_PROGRAM;
}

static ExitCode dump_module(const char *path) {
  Program program;
  ExitCode code = program_load(&program, path, true, RENDER_HUMAN);
  if (code != CLI_OK) return code;
  Buf out;
  buf_init(&out, 0);
  module_disassemble(program.compile.module, &out);
  print_buf(&out);
  program_free(&program);
  return CLI_OK;
}

ExitCode cli_dump(const Args *args) {
  if (is_folder(args->operand)) return dump_data(args);
  int stages = args_has(args, OPTION_TOKENS) + args_has(args, OPTION_AST) + args_has(args, OPTION_MODULE);
  if (stages != 1) return cli_usage(args->command, "which stage? one of --tokens, --ast, --module");
  Str bytes;
  ErrText text;
  if (file_read(args->operand, MODULE_BYTES_MAX, &bytes, &text) != ERR_NONE) {
    cli_say("%s", text.text);
    return CLI_ENVIRONMENT;
  }
  ExitCode code;
  if (!args_has(args, OPTION_MODULE)) code = dump_source(args, bytes);
  else if (is_module_file(args->operand, bytes)) code = dump_module_file(args->operand, bytes);
  else code = dump_module(args->operand);
  mem_free((char *)bytes.ptr);
  return code;
}
