// aup check: what is wrong with a program, and on request what its views and inputs cost and who may use them.
#include <stdio.h>

#include "cli/cli.h"
#include "cli/program.h"

static const char *const KIND_WORDS[ENTRY_KINDS] = {[ENTRY_INPUT] = "input", [ENTRY_VIEW] = "view", [ENTRY_RECEIVE] = "receive"};
static const char *const COST_WORDS[COST_CLASSES] = {
  [COST_UNTOUCHED] = "untouched: reads no state",
  [COST_POINT] = "point: single values and rows by their key",
  [COST_ORDERED] = "ordered: a range of a table or index",
  [COST_COUNTED] = "counted: from kept counts",
  [COST_SCAN] = "scan: a whole table",
};

static void show_costs(const Module *module) {
  for (uint16_t i = 0; i < module->entry_count; i++) {
    const EntryDef *entry = &module->entries[i];
    printf("%-8s" STR_FMT "  %s%s\n", KIND_WORDS[entry->kind], STR_ARG(entry->name), COST_WORDS[entry->cost],
      entry->kind != ENTRY_VIEW ? "" : entry->per_caller ? "; per caller" : "; shared");
  }
}

static void show_access(const Module *module, const EntryDef *entry) {
  const Access *access = &entry->access;
  if (access->everyone) printf("everyone");
  else if (access->signed_in) printf("signed_in");
  else if (!access->roles) printf(entry->kind == ENTRY_VIEW ? "tokens with read" : entry->kind == ENTRY_INPUT ? "tokens with write" : "deliveries");
  bool first = true;
  for (uint16_t i = 0; i < module->role_count; i++) {
    if (!(access->roles >> i & 1)) continue;
    printf("%s" STR_FMT, first ? "" : ", ", STR_ARG(module->roles[i].name));
    first = false;
  }
}

static void show_permissions(const Module *module) {
  for (uint16_t i = 0; i < module->entry_count; i++) {
    printf("%-8s" STR_FMT "  ", KIND_WORDS[module->entries[i].kind], STR_ARG(module->entries[i].name));
    show_access(module, &module->entries[i]);
    putchar('\n');
  }
}

ExitCode cli_check(const Args *args) {
  RenderFormat format;
  Program program;
  if (!program_format(args, &format)) return CLI_USAGE;
  ExitCode code = program_load(&program, args->operand, true, format);
  if (code != CLI_OK) return code;
  if (args_has(args, OPTION_COST)) show_costs(program.compile.module);
  if (args_has(args, OPTION_PERMISSIONS)) show_permissions(program.compile.module);
  program_free(&program);
  return CLI_OK;
}
