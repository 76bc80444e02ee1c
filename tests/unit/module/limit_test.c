// Every limit of the format: at it a module is accepted, one above it is refused by a message that names the limit.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/module/build.h"

// What a test needs for as long as its Build: cleared memory in its arena.
static void *room(Build *b, size_t count, size_t size) {
  void *memory = arena_alloc_zero(&b->arena, count + 1, size);
  cr_assert(memory);
  return memory;
}

static Str number_name(Build *b, uint32_t i) { return arena_format(&b->arena, "n%u", i); }

// ---- one function -----------------------------------------------------------------------------
// Function 0 is `fn() -> int` with registers int, int; each of these makes something of it that counts n.

static void registers(Build *b, uint32_t n) {
  TypeId *types = room(b, n, sizeof *types);
  for (uint32_t i = 0; i < n; i++) types[i] = T_INT;
  b->functions[0].registers = types;
  b->functions[0].register_count = (uint16_t)n;
}

static void instructions(Build *b, uint32_t n) {
  Instruction *code = room(b, n, sizeof *code);
  for (uint32_t i = 0; i < n; i++) code[i] = (Instruction){.op = OP_MOVE};
  code[n - 1] = (Instruction){.op = OP_RETURN};
  b->functions[0].code = code;
  b->functions[0].code_count = n;
}

static void blocks(Build *b, uint32_t n) {
  Block *all = room(b, n, sizeof *all);
  Instruction *code = room(b, n + 1, sizeof *code);
  code[0] = (Instruction){.op = OP_RETURN};
  for (uint32_t i = 0; i < n; i++) {
    all[i] = (Block){i + 1, i + 2};
    code[i + 1] = (Instruction){.op = OP_BLOCK_END};
  }
  b->functions[0].code = code;
  b->functions[0].code_count = n + 1;
  b->functions[0].blocks = all;
  b->functions[0].block_count = (uint16_t)n;
}

static Stage *stages_of(Build *b, uint32_t n) {
  Plan *plan = room(b, 1, sizeof *plan);
  Stage *stages = room(b, n, sizeof *stages);
  for (uint32_t i = 0; i < n; i++) stages[i] = (Stage){.kind = STAGE_NUMBERS, .block = NO_BLOCK};
  *plan = (Plan){(uint16_t)n, stages};
  b->functions[0].plans = plan;
  b->functions[0].plan_count = 1;
  return stages;
}

static void stages(Build *b, uint32_t n) { stages_of(b, n); }

static void plans(Build *b, uint32_t n) {
  Plan *all = room(b, n, sizeof *all);
  stages_of(b, 1);
  for (uint32_t i = 0; i < n; i++) all[i] = b->functions[0].plans[0];
  b->functions[0].plans = all;
  b->functions[0].plan_count = (uint16_t)n;
}

static void keys(Build *b, uint32_t n) {
  Stage *order = &stages_of(b, 2)[1];
  *order = (Stage){.kind = STAGE_ORDER, .block = NO_BLOCK, .key_count = (uint16_t)n, .keys = room(b, n, sizeof(uint16_t)), .descending = room(b, n, 1)};
}

static void carried(Build *b, uint32_t n) {
  Stage *order = &stages_of(b, 2)[1];
  *order = (Stage){.kind = STAGE_ORDER, .block = NO_BLOCK, .carried_count = (uint16_t)n, .carried = room(b, n, sizeof(uint16_t))};
}

static void aggregates(Build *b, uint32_t n) {
  Stage *group = &stages_of(b, 2)[1];
  *group = (Stage){.kind = STAGE_AGGREGATE, .block = NO_BLOCK, .aggregate_count = (uint16_t)n, .aggregates = room(b, n, sizeof(Aggregate))};
}

// ---- the module -------------------------------------------------------------------------------

static void roles(Build *b, uint32_t n) {
  RoleDef *all = room(b, n, sizeof *all);
  for (uint32_t i = 0; i < n; i++) all[i] = (RoleDef){number_name(b, i), NO_FUNCTION};
  b->module.roles = all;
  b->module.role_count = (uint16_t)n;
}

static void parameters(Build *b, uint32_t n) {
  registers(b, n);
  b->functions[0].param_count = (uint16_t)n;
  b->functions[0].kind = FUNCTION_VIEW;
  build_entry(b, ENTRY_VIEW, "v", 0);
}

static void entries(Build *b, uint32_t n) {
  EntryDef *all = room(b, n, sizeof *all);
  b->functions[0].kind = FUNCTION_VIEW;
  build_entry(b, ENTRY_VIEW, "v", 0);
  for (uint32_t i = 0; i < n; i++) {
    all[i] = b->entries[0];
    all[i].name = number_name(b, i);
  }
  b->module.entries = all;
  b->module.entry_count = (uint16_t)n;
}

static void transitions(Build *b, uint32_t n) {
  ZoneTransition *all = room(b, n, sizeof *all);
  for (uint32_t i = 0; i < n; i++) all[i].at = i;
  b->module.zone = (Zone){STR("Zone"), 0, n, all};
}

static void functions(Build *b, uint32_t n) {
  Function *all = room(b, n, sizeof *all);
  for (uint32_t i = 0; i < n; i++) all[i] = b->functions[0];
  b->module.functions = all;
  b->module.function_count = (uint16_t)n;
}

static const struct { const char *name; uint32_t max; void (*make)(Build *b, uint32_t n); } LIMITS[] = {
#define LIMIT(name, make) {#name, name, make}
  LIMIT(FUNCTION_REGISTERS_MAX, registers), LIMIT(FUNCTION_CODE_MAX, instructions), LIMIT(FUNCTION_BLOCKS_MAX, blocks), LIMIT(FUNCTION_PLANS_MAX, plans),
  LIMIT(PLAN_STAGES_MAX, stages), LIMIT(PLAN_KEYS_MAX, keys), LIMIT(PLAN_CARRIED_MAX, carried), LIMIT(PLAN_AGGREGATES_MAX, aggregates),
  LIMIT(MODULE_ROLES_MAX, roles), LIMIT(ENTRY_PARAMS_MAX, parameters), LIMIT(MODULE_ENTRIES_MAX, entries), LIMIT(MODULE_ZONE_TRANSITIONS_MAX, transitions), LIMIT(FUNCTION_COUNT_MAX, functions),
};

static Err try_limit(size_t limit, uint32_t n, ErrText *out_text) {
  Build *b = malloc(sizeof *b);
  build_init(b);
  build_begin(b, FUNCTION_FN, T_INT);
  build_register(b, T_INT);
  build_register(b, T_INT);
  build_emit(b, OP_RETURN, 0, 0, 0);
  build_end(b);
  LIMITS[limit].make(b, n);
  Err err = build_try(b, out_text);
  build_free(b);
  free(b);
  return err;
}

Test(limit, each_at_its_edge) {
  for (size_t i = 0; i < countof(LIMITS); i++) {
    ErrText text = {{0}};
    cr_assert_eq(try_limit(i, LIMITS[i].max - 1, &text), ERR_NONE, "%s: %s", LIMITS[i].name, text.text);
    cr_assert_eq(try_limit(i, LIMITS[i].max, &text), ERR_NONE, "%s: %s", LIMITS[i].name, text.text);
    cr_assert_eq(try_limit(i, LIMITS[i].max + 1, &text), ERR_LIMIT, "%s: %s", LIMITS[i].name, text.text);
    cr_assert(strstr(text.text, LIMITS[i].name), "%s: %s", LIMITS[i].name, text.text);
  }
}

Test(limit, bytes_of_a_module) {
  char *bytes = calloc(MODULE_BYTES_MAX + 1, 1);
  memcpy(bytes, "AUPM", 4);
  bytes[4] = MODULE_FORMAT_VERSION;
  for (size_t len = MODULE_BYTES_MAX; len <= MODULE_BYTES_MAX + 1; len++) {
    Arena arena;
    Module *module;
    ErrText text = {{0}};
    arena_init(&arena, 0);
    Err err = module_read((Str){bytes, len}, &arena, &module, &text);
    cr_assert_eq(err, len > MODULE_BYTES_MAX ? ERR_LIMIT : ERR_FORMAT);
    cr_assert_eq(strstr(text.text, "MODULE_BYTES_MAX") != NULL, len > MODULE_BYTES_MAX, "%s", text.text);
    arena_free(&arena);
  }
  free(bytes);
}

Test(limit, names_are_whole_texts) {
  static const struct { Str name; const char *part; } rows[] = {{{"a\0b", 3}, "zero byte"}, {{"\xff", 1}, "not UTF-8"}, {{"\xed\xa0\x80", 3}, "not UTF-8"}, {{"\xc3", 1}, "not UTF-8"}};
  for (size_t i = 0; i < countof(rows); i++) {
    Build *b = malloc(sizeof *b);
    ErrText text = {{0}};
    build_init(b);
    b->module.title = rows[i].name;
    cr_assert_eq(build_try(b, &text), ERR_FORMAT);
    cr_assert(strstr(text.text, rows[i].part) && strstr(text.text, "section names"), "%s", text.text);
    build_free(b);
    free(b);
  }
}
