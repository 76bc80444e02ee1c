// aup serve: a source is compiled first, a module is taken as it is, of a folder both.
#include "cli/cli.h"
#include "cli/modules.h"
#include "cli/program.h"
#include "runtime/base/mem.h"

// A host lives long, the compiler's memory should not: the module alone is kept.
static ExitCode compile_module(const char *path, Str *out_module) {
  Program program;
  ExitCode code = program_load(&program, path, false, RENDER_HUMAN);
  if (code != CLI_OK) return code;
  Str bytes = program.compile.module_bytes;
  char *copy = mem_alloc(bytes.len + 1);
  if (copy) memcpy(copy, bytes.ptr, bytes.len);
  program_free(&program);
  *out_module = (Str){copy, bytes.len};
  return copy ? CLI_OK : CLI_ENVIRONMENT;
}

ExitCode cli_serve(const Args *args) { return modules_serve(args, compile_module); }
