// The command line as values. Commands and options stand in commands.def and options.def, from which parsing and help
// are made.
//
// Owns:   nothing; values point into argv.
// Thread: the main one.
// Errors: said on standard error in one line; the exit code comes back.
// Limits: ARGS_OPERANDS_MAX operands, ARGS_SETS_MAX settings; a command's operands are read from how they are written: "FILE [URL]" is one or two,
//         "FILE…" at least one.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/err.h"

// What a program ends with.
typedef enum ExitCode {
  CLI_OK = 0,
  CLI_PROGRAM = 1,      // the app has errors, or a test of it fails
  CLI_USAGE = 2,
  CLI_ENVIRONMENT = 3,  // a file, folder, port or the like is not as it must be
} ExitCode;

typedef enum CommandId {
#define COMMAND(id, name, operands, function, words) COMMAND_##id,
#include "cli/commands.def"
#undef COMMAND
  COMMAND_HOST,  // the whole of aup-serve
  COMMAND_COUNT
} CommandId;
enum {
  FOR_CHECK = 1 << COMMAND_CHECK, FOR_BUILD = 1 << COMMAND_BUILD, FOR_TEST = 1 << COMMAND_TEST, FOR_SERVE = 1 << COMMAND_SERVE, FOR_WATCH = 1 << COMMAND_WATCH,
  FOR_EXPLAIN = 1 << COMMAND_EXPLAIN, FOR_DUMP = 1 << COMMAND_DUMP, FOR_HOST = 1 << COMMAND_HOST,
  FOR_RESTORE = 1 << COMMAND_RESTORE, FOR_STORE = 1 << COMMAND_STORE, FOR_ALL = -1,
};
typedef enum OptionId {
#define OPTION(id, name, letter, value, commands, words) OPTION_##id,
#include "cli/options.def"
#undef OPTION
  OPTION_COUNT
} OptionId;

enum { ARGS_OPERANDS_MAX = 1000, ARGS_SETS_MAX = 500 };
typedef struct Args {
  CommandId command;
  const char *values[OPTION_COUNT];  // NULL: not given; an option without a value has "" when given
  const char *sets[ARGS_SETS_MAX];   // each `--set`
  int set_count;
  const char *operand;               // the first: the file or code; NULL when there is none
  const char *operands[ARGS_OPERANDS_MAX];
  int operand_count;
} Args;

typedef struct CommandInfo { const char *name, *operands, *words; } CommandInfo;
const CommandInfo *args_command(CommandId command);
// The command with this name; false: none, and the near one (or NULL) is in `out_near`.
bool args_find_command(const char *name, CommandId *out_command, const char **out_near);

// Reads what stands behind the command's name. False: done already, with `out_code` (help was shown, or a mistake said).
bool args_read(CommandId command, int count, char **words, Args *out_args, ExitCode *out_code);
// What options.def says of an option.
const char *args_option_name(OptionId option);   // with its dashes
const char *args_option_value(OptionId option);  // NULL: it is a switch
const char *args_option_words(OptionId option);
bool args_takes(CommandId command, OptionId option);
static inline bool args_has(const Args *args, OptionId option) { return args->values[option] != 0; }

// "aup: …" on standard error, one line.
void cli_say(const char *format, ...) PRINTF(1, 2);
ExitCode cli_usage(CommandId command, const char *format, ...) PRINTF(2, 3);  // says it, and where help is
