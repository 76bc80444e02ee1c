// aup serve: a source is compiled first, a module is taken as it is.
#include "cli/cli.h"
#include "cli/hosting.h"
#include "cli/program.h"
#include "runtime/base/mem.h"

static ExitCode serve_bytes(const Args *args, Str module_bytes) {
  Hosting hosting;
  ExitCode code = hosting_open(&hosting, args, module_bytes);
  if (code != CLI_OK) return code;
  code = hosting_run(&hosting);
  ExitCode closed = hosting_close(&hosting);
  return code != CLI_OK ? code : closed;
}

static ExitCode serve_source(const Args *args) {
  Program program;
  ExitCode code = program_load(&program, args->operand, false, RENDER_HUMAN);
  if (code != CLI_OK) return code;
  Str module_bytes = program.compile.module_bytes;
  char *copy = mem_alloc(module_bytes.len + 1);  // a host lives long, the compiler's memory should not
  if (copy) memcpy(copy, module_bytes.ptr, module_bytes.len);
  program_free(&program);
  if (!copy) return CLI_ENVIRONMENT;
  code = serve_bytes(args, (Str){copy, module_bytes.len});
  mem_free(copy);
  return code;
}

ExitCode cli_serve(const Args *args) {
  ExitCode code = hosting_check(args);
  if (code != CLI_OK) return code;
  Str bytes;
  ErrText text;
  if (file_read(args->operand, MODULE_BYTES_MAX, &bytes, &text) != ERR_NONE) {
    cli_say("%s", text.text);
    return CLI_ENVIRONMENT;
  }
  code = is_module_file(args->operand, bytes) ? serve_bytes(args, bytes) : serve_source(args);
  mem_free((char *)bytes.ptr);
  return code;
}
