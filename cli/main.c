// aup: finds the command and hands over. Each command has a file of its own.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

typedef ExitCode (*CommandFunction)(const Args *args);
static const CommandFunction FUNCTIONS[COMMAND_COUNT] = {
#define COMMAND(id, name, operands, function, words) [COMMAND_##id] = function,
#include "cli/commands.def"
#undef COMMAND
};

static ExitCode show_help(void) {
  printf("aup " AUP_VERSION ": apps from one file\n\n");
  for (int i = 0; i < COMMAND_HOST; i++) printf("  aup %-8s %-24s %s\n", args_command((CommandId)i)->name, args_command((CommandId)i)->operands, args_command((CommandId)i)->words);
  printf("\n`aup COMMAND --help` shows a command's options. Exit codes: 0 well, 1 the program has errors, 2 usage, 3 environment.\n");
  return CLI_OK;
}

static ExitCode find_and_run(int count, char **words) {
  CommandId command;
  const char *near;
  if (!args_find_command(words[0], &command, &near)) {
    if (near) cli_say("there is no command `%s`; did you mean `aup %s`?", words[0], near);
    else cli_say("there is no command `%s` (`aup help` lists them)", words[0]);
    return CLI_USAGE;
  }
  Args args;
  ExitCode code;
  return args_read(command, count - 1, words + 1, &args, &code) ? FUNCTIONS[command](&args) : code;
}

static bool is_help(const char *word) { return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0; }

int main(int argc, char **argv) {
  if (argc < 2) {
    cli_say("which command? (`aup help` lists them)");
    return CLI_USAGE;
  }
  if (is_help(argv[1]) && argc == 2) return show_help();
  if (strcmp(argv[1], "--version") == 0) {
    printf("aup " AUP_VERSION "\n");
    return CLI_OK;
  }
  char help[] = "--help", *words[] = {argc > 2 ? argv[2] : NULL, help};
  if (strcmp(argv[1], "help") == 0) return find_and_run(2, words);  // aup help build
  return find_and_run(argc - 1, argv + 1);
}
