// aup explain: the long words for a message's code.
#include <stdio.h>

#include "cli/cli.h"
#include "compiler/diag.h"
#include "compiler/suggest.h"

enum { EXPLAIN_WIDTH = 80 };

// Words as lines of at most EXPLAIN_WIDTH bytes.
static void print_wrapped(const char *text) {
  size_t column = 0;
  while (*text) {
    size_t len = strcspn(text, " ");
    if (column && column + 1 + len > EXPLAIN_WIDTH) {
      putchar('\n');
      column = 0;
    }
    if (column) putchar(' ');
    printf("%.*s", (int)len, text);
    column += len + (column > 0);
    text += len;
    text += strspn(text, " ");
  }
  putchar('\n');
}

static ExitCode say_unknown(const Args *args) {
  Suggest near = suggest_start(str_from(args->operand));
  for (int code = 0; code < DIAG_CODE_COUNT; code++) suggest_try(&near, str_from(diag_code_name((DiagCode)code)));
  if (near.best.len) return cli_usage(args->command, "there is no message `%s`; is it `" STR_FMT "`?", args->operand, STR_ARG(near.best));
  return cli_usage(args->command, "there is no message `%s`: codes are E or W and three digits, as in E101", args->operand);
}

ExitCode cli_explain(const Args *args) {
  char name[8] = {0};
  DiagCode code;
  for (size_t i = 0; i < sizeof name - 1 && args->operand[i]; i++) name[i] = (char)(args->operand[i] >= 'a' && args->operand[i] <= 'z' ? args->operand[i] - 32 : args->operand[i]);
  if (strlen(args->operand) >= sizeof name || !diag_find_code(str_from(name), &code)) return say_unknown(args);
  printf("%s: %s\n\n", diag_code_name(code), diag_title(code));
  print_wrapped(diag_explanation(code));
  return CLI_OK;
}
