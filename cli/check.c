// aup check: what is wrong with a program, and on request what its views and inputs cost and who may use them.
#include <stdio.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "runtime/base/mem.h"

static const char *const KIND_WORDS[ENTRY_KINDS] = {[ENTRY_INPUT] = "input", [ENTRY_VIEW] = "view", [ENTRY_RECEIVE] = "receive"};
static const char *const COST_WORDS[COST_CLASSES] = {
  [COST_UNTOUCHED] = "untouched: reads no state",
  [COST_POINT] = "point: single values and rows by their key",
  [COST_ORDERED] = "ordered: a range of a table or index",
  [COST_COUNTED] = "counted: from kept counts",
  [COST_SCAN] = "scan: a whole table",
};

static void show_columns(const TableDef *table, uint16_t index) {
  uint16_t count = index == SCHEMA_NO_INDEX ? table->key_count : table->indexes[index].column_count;
  for (uint16_t i = 0; i < count; i++) {
    IndexColumn column = index == SCHEMA_NO_INDEX ? (IndexColumn){table->key[i], false} : table->indexes[index].columns[i];
    printf("%s" STR_FMT "%s", i ? ", " : "", STR_ARG(table->columns[column.column].name), column.descending ? " desc" : "");
  }
}

// One line a range that a query reads: which, by what, how much of it.
static void show_range(const Module *module, const Stage *stage) {
  const TableDef *table = &module->schema.tables[stage->table];
  printf("        %s " STR_FMT " by %s (", stage->kind == STAGE_COUNT ? "counts" : "reads", STR_ARG(table->name), stage->index == SCHEMA_NO_INDEX ? "key" : "index");
  show_columns(table, stage->index);
  printf("): ");
  bool range = stage->flags & (SCAN_HAS_LOW | SCAN_HAS_HIGH);
  if (!stage->equal_count && !range) printf("all of it");
  if (stage->equal_count) printf("%u equal", stage->equal_count);
  if (range) printf("%sa range", stage->equal_count ? ", " : "");
  printf("%s\n", stage->flags & SCAN_BACKWARD ? ", backwards" : "");
}

// What a function and those it calls read. Calls form no circle; `seen` keeps each function to one mention.
static void show_reads(const Module *module, uint16_t index, bool *seen) {
  if (seen[index]) return;
  seen[index] = true;
  const Function *function = &module->functions[index];
  for (uint16_t i = 0; i < function->plan_count; i++)
    for (uint16_t j = 0; j < function->plans[i].stage_count; j++)
      if (function->plans[i].stages[j].kind == STAGE_SCAN || function->plans[i].stages[j].kind == STAGE_COUNT) show_range(module, &function->plans[i].stages[j]);
  for (uint32_t i = 0; i < function->code_count; i++)
    if (function->code[i].op == OP_CALL || function->code[i].op == OP_CALL_VOID) show_reads(module, function->code[i].b, seen);
}

static void show_costs(const Module *module) {
  bool *seen = mem_alloc(module->function_count + 1u);
  if (!seen) {
    cli_say("no memory left");
    return;
  }
  for (uint16_t i = 0; i < module->entry_count; i++) {
    const EntryDef *entry = &module->entries[i];
    printf("%-8s" STR_FMT "  %s%s\n", KIND_WORDS[entry->kind], STR_ARG(entry->name), COST_WORDS[entry->cost],
      entry->kind != ENTRY_VIEW ? "" : entry->per_caller ? "; per caller" : "; shared");
    memset(seen, 0, module->function_count);
    show_reads(module, entry->function, seen);
  }
  mem_free(seen);
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
