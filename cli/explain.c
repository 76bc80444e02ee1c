// aup explain: the long words for a message's code, with an example. The texts are those of the pages in docs/diagnostics:
// tools/diagnostics.py makes both out of one source, this one at build time.
#include <stdio.h>

#include "cli/cli.h"
#include "compiler/suggest.h"

enum { EXPLAIN_WIDTH = 80, CODE_BYTES_MAX = 7 };

typedef struct Explained {
  const char *code, *title, *words;
  const char *wrong, *mended;  // programs; empty where there is no example
  int line;                    // of the wrong one, where the message points at
} Explained;

static const Explained EXPLAINED[] = {
#include "cli/explain_rows.inc"
};

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

// A program, indented; `>` stands before the line `marked` (counted from 1; 0: none).
static void print_program(const char *title, const char *text, int marked) {
  printf("\n%s:\n\n", title);
  for (int line = 1; *text; line++) {
    size_t len = strcspn(text, "\n");
    printf("  %s%.*s\n", line == marked ? "> " : len ? "  " : "", (int)len, text);
    text += len;
    text += *text == '\n';
  }
}

static ExitCode say_unknown(const Args *args) {
  Suggest near = suggest_start(str_from(args->operand));
  for (size_t i = 0; i < countof(EXPLAINED); i++) suggest_try(&near, str_from(EXPLAINED[i].code));
  if (near.best.len) return cli_usage(args->command, "there is no message `%s`; is it `" STR_FMT "`?", args->operand, STR_ARG(near.best));
  return cli_usage(args->command, "there is no message `%s`: codes are E or W and three digits, as in E101, or F and two", args->operand);
}

static const Explained *find_code(const char *operand) {
  char name[CODE_BYTES_MAX + 1] = {0};
  if (strlen(operand) > CODE_BYTES_MAX) return NULL;
  for (size_t i = 0; operand[i]; i++) name[i] = (char)(operand[i] >= 'a' && operand[i] <= 'z' ? operand[i] - 'a' + 'A' : operand[i]);
  for (size_t i = 0; i < countof(EXPLAINED); i++)
    if (strcmp(name, EXPLAINED[i].code) == 0) return &EXPLAINED[i];
  return NULL;
}

ExitCode cli_explain(const Args *args) {
  const Explained *found = find_code(args->operand);
  if (!found) return say_unknown(args);
  printf("%s: %s\n\n", found->code, found->title);
  print_wrapped(found->words);
  if (!*found->wrong) return CLI_OK;
  print_program("Wrong", found->wrong, found->line);
  print_program("Mended", found->mended, 0);
  return CLI_OK;
}
