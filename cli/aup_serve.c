// aup-serve: the host alone, for production. It links no compiler and takes modules only.
#include <stdio.h>
#include <string.h>

#include "cli/files.h"
#include "cli/hosting.h"
#include "runtime/base/mem.h"

static ExitCode serve(const Args *args) {
  ExitCode code = hosting_check(args);
  if (code != CLI_OK) return code;
  Str bytes;
  ErrText text;
  if (file_read(args->operand, MODULE_BYTES_MAX, &bytes, &text) != ERR_NONE) {
    cli_say("%s", text.text);
    return CLI_ENVIRONMENT;
  }
  Hosting hosting;
  code = hosting_open(&hosting, args, bytes);
  mem_free((char *)bytes.ptr);
  if (code != CLI_OK) return code;
  code = hosting_run(&hosting);
  ExitCode closed = hosting_close(&hosting);
  return code != CLI_OK ? code : closed;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("aup-serve " AUP_VERSION "\n");
    return CLI_OK;
  }
  Args args;
  ExitCode code;
  return args_read(COMMAND_HOST, argc - 1, argv + 1, &args, &code) ? serve(&args) : code;
}
