// aup build: a program into a module file. The file appears whole or not at all.
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "runtime/base/mem.h"

// NAME.aup becomes NAME.aupm beside it; any other name gets .aupm behind it.
static char *default_output(const char *path) {
  size_t len = strlen(path);
  bool is_aup = len > 4 && strcmp(path + len - 4, ".aup") == 0;
  char *name = mem_alloc(len + 6);
  if (name) snprintf(name, len + 6, "%s%s", path, is_aup ? "m" : ".aupm");
  return name;
}

static ExitCode write_module(const char *path, Str bytes) {
  ErrText text;
  if (file_write_whole(path, bytes, &text) == ERR_NONE) return CLI_OK;
  cli_say("%s", text.text);
  return CLI_ENVIRONMENT;
}

ExitCode cli_build(const Args *args) {
  RenderFormat format;
  Program program;
  if (!program_format(args, &format)) return CLI_USAGE;
  ExitCode code = program_load(&program, args->operand, false, format);
  if (code != CLI_OK) return code;
  char *made = args_has(args, OPTION_OUTPUT) ? NULL : default_output(args->operand);
  const char *output = made ? made : args->values[OPTION_OUTPUT];
  code = output ? write_module(output, program.compile.module_bytes) : CLI_ENVIRONMENT;
  mem_free(made);
  program_free(&program);
  return code;
}
