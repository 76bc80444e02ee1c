// One loop over the words of a command line, against the table of options. getopt_long would need its own copy of the
// table and prints its own messages; help is made from the same lines here.
#include "cli/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct OptionInfo { const char *name; char letter; const char *value; int commands; const char *words; } OptionInfo;
static const OptionInfo OPTIONS[OPTION_COUNT] = {
#define OPTION(id, option_name, option_letter, option_value, option_commands, option_words) \
  [OPTION_##id] = {option_name, option_letter, option_value, option_commands, option_words},
#include "cli/options.def"
#undef OPTION
};
static const CommandInfo COMMANDS[COMMAND_COUNT] = {
#define COMMAND(id, command_name, command_operands, function, command_words) [COMMAND_##id] = {command_name, command_operands, command_words},
#include "cli/commands.def"
#undef COMMAND
  [COMMAND_HOST] = {"", "[FILE.aupm|DIR…]", "serve compiled programs over HTTP, their state kept in a folder"},
};

const char *args_option_name(OptionId option) { return OPTIONS[option].name; }
const char *args_option_value(OptionId option) { return OPTIONS[option].value; }
const char *args_option_words(OptionId option) { return OPTIONS[option].words; }
bool args_takes(CommandId command, OptionId option) { return OPTIONS[option].commands & (1 << command); }
const CommandInfo *args_command(CommandId command) { return &COMMANDS[command]; }

// ---- saying -------------------------------------------------------------------------------------
void cli_say(const char *format, ...) {
  char line[2 * ERR_TEXT_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  for (char *at = line; *at; at++)
    if ((unsigned char)*at < 0x20 || *at == 0x7F) *at = '?';  // names of files may hold anything; a line stays a line
  fprintf(stderr, "aup: %s\n", line);
}

static const char *full_name(CommandId command) { return command == COMMAND_HOST ? "aup-serve" : COMMANDS[command].name; }

ExitCode cli_usage(CommandId command, const char *format, ...) {
  char line[ERR_TEXT_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  cli_say("%s (`%s%s --help` shows how)", line, command == COMMAND_HOST ? "" : "aup ", full_name(command));
  return CLI_USAGE;
}

static void show_help(CommandId command) {
  const CommandInfo *info = &COMMANDS[command];
  printf("%s%s [options] %s: %s\n\n", command == COMMAND_HOST ? "" : "aup ", full_name(command), info->operands, info->words);
  for (int i = 0; i < OPTION_COUNT; i++) {
    const OptionInfo *option = &OPTIONS[i];
    if (!(option->commands & (1 << command))) continue;
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
    if (option->letter) printf("  -%c, %-24s %s\n", option->letter, left, option->words);
    else printf("      %-24s %s\n", left, option->words);
  }
}

// ---- reading ------------------------------------------------------------------------------------
// Letters to change, add or leave out, at most; enough for words of a few letters.
static unsigned distance(const char *a, const char *b) {
  enum { WORD_MAX = 15 };
  size_t la = strlen(a), lb = strlen(b);
  if (la > WORD_MAX || lb > WORD_MAX) return WORD_MAX;
  unsigned row[WORD_MAX + 1];
  for (unsigned j = 0; j <= lb; j++) row[j] = j;
  for (unsigned i = 1; i <= la; i++) {
    unsigned corner = row[0];
    row[0] = i;
    for (unsigned j = 1; j <= lb; j++) {
      unsigned best = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[lb];
}

bool args_find_command(const char *name, CommandId *out_command, const char **out_near) {
  unsigned best = 3;
  *out_near = NULL;
  for (int i = 0; i < COMMAND_HOST; i++) {
    unsigned far = distance(name, COMMANDS[i].name);
    if (far == 0) {
      *out_command = (CommandId)i;
      return true;
    }
    if (far >= best) continue;
    best = far;
    *out_near = COMMANDS[i].name;
  }
  return false;
}

// Does the word name this option? `*out_value` points behind its `=`, or is NULL.
static bool names_option(const OptionInfo *option, const char *word, const char **out_value) {
  size_t len = strlen(option->name);
  *out_value = NULL;
  if (strncmp(word, option->name, len) == 0 && (word[len] == 0 || word[len] == '=')) {
    if (word[len] == '=') *out_value = word + len + 1;
    return true;
  }
  return option->letter && word[0] == '-' && word[1] == option->letter && word[2] == 0;
}

static int find_option(CommandId command, const char *word, const char **out_value) {
  for (int i = 0; i < OPTION_COUNT; i++)
    if ((OPTIONS[i].commands & (1 << command)) && names_option(&OPTIONS[i], word, out_value)) return i;
  return -1;
}

// Reads the option at `words[*at]`, its value too when that is the next word.
static ExitCode read_option(Args *args, int count, char **words, int *at) {
  const char *word = words[*at], *value;
  int option = find_option(args->command, word, &value);
  if (option < 0) return cli_usage(args->command, "there is no option `%s`", word);
  if (!OPTIONS[option].value) {
    if (value) return cli_usage(args->command, "`%s` takes no value", OPTIONS[option].name);
    args->values[option] = "";
    return CLI_OK;
  }
  if (!value) {
    if (++*at >= count) return cli_usage(args->command, "`%s` needs a value: %s", OPTIONS[option].name, OPTIONS[option].value);
    value = words[*at];
  }
  args->values[option] = value;
  if (option != OPTION_SET) return CLI_OK;
  if (args->set_count == ARGS_SETS_MAX) return cli_usage(args->command, "at most %d `--set` (ARGS_SETS_MAX)", ARGS_SETS_MAX);
  args->sets[args->set_count++] = value;
  return CLI_OK;
}

// "FILE [URL]": at least one, at most two; "…" at the end: any number.
static int operands_least(const char *operands) {
  int words = operands[0] ? 1 : 0;
  for (const char *at = operands; *at && *at != '['; at++) words += *at == ' ' && at[1] != '[';
  return operands[0] == '[' ? 0 : words;
}

static int operands_most(const char *operands) {
  int words = operands[0] ? 1 : 0;
  if (strstr(operands, "…")) return ARGS_OPERANDS_MAX;
  for (const char *at = operands; *at; at++) words += *at == ' ';
  return words;
}

static ExitCode read_word(Args *args, int count, char **words, int *at, bool *only_operands) {
  const char *word = words[*at];
  if (!*only_operands && strcmp(word, "--") == 0) {
    *only_operands = true;
    return CLI_OK;
  }
  if (!*only_operands && word[0] == '-' && word[1]) return read_option(args, count, words, at);
  const char *operands = COMMANDS[args->command].operands;
  if (args->operand_count == operands_most(operands)) {
    if (args->operand_count == 1) return cli_usage(args->command, "one %s is enough, `%s` is too many", operands, word);
    return cli_usage(args->command, "`%s` is too many: %s is enough", word, operands);
  }
  if (args->operand_count == 0) args->operand = word;
  args->operands[args->operand_count++] = word;
  return CLI_OK;
}

bool args_read(CommandId command, int count, char **words, Args *out_args, ExitCode *out_code) {
  *out_args = (Args){.command = command};
  *out_code = CLI_OK;
  bool only_operands = false;
  for (int at = 0; at < count && *out_code == CLI_OK; at++) *out_code = read_word(out_args, count, words, &at, &only_operands);
  if (*out_code != CLI_OK) return false;
  if (args_has(out_args, OPTION_HELP)) {
    show_help(command);
    return false;
  }
  if (out_args->operand_count >= operands_least(COMMANDS[command].operands)) return true;
  *out_code = cli_usage(command, "which %s?", COMMANDS[command].operands);
  return false;
}
