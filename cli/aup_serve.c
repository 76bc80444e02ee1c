// aup-serve: the host alone, for production. It links no compiler and takes modules only; without any it serves what was
// deployed to its data, and waits for more.
#include <stdio.h>
#include <string.h>

#include "cli/modules.h"

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("aup-serve " AUP_VERSION "\n");
    return CLI_OK;
  }
  Args args;
  ExitCode code;
  return args_read(COMMAND_HOST, argc - 1, argv + 1, &args, &code) ? modules_serve(&args, NULL) : code;
}
