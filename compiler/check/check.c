// check_program reads as the list of phases. A phase that found errors does not stop the next ones: what is wrong has
// type ID_POISON and says nothing more, so a run finds all mistakes at once. Only the last phase needs a sound program.
#include "compiler/check/internal.h"

#include <string.h>

void *check__alloc(Check *check, size_t count, size_t size) {
  void *block = arena_alloc_zero(check->arena, count, size);
  if (!block) check->failed = true;
  return block;
}

void *check__list_add(Check *check, void *items, uint32_t *count, uint32_t *room, size_t size) {
  void *array;
  memcpy(&array, items, sizeof array);
  if (*count == *room) {
    uint32_t wanted = *room ? 2 * *room : 2;
    array = arena_grow(check->arena, array, *room * size, wanted * size);
    if (!array) { check->failed = true; return NULL; }
    memcpy(items, &array, sizeof array);
    *room = wanted;
  }
  void *item = (char *)array + (*count)++ * size;
  memset(item, 0, size);
  return item;
}

// A name that is missing is missed wherever it is used, but that is one mistake.
bool check__first_time(Check *check, DiagCode code, uint32_t owner, Sym sym) {
  uint64_t key = map_pair((uint32_t)code << 24 ^ owner, sym);
  if (map_get(&check->said, key) != MAP_NOTHING) return false;
  if (!map_put(&check->said, key, 0)) check->failed = true;
  return true;
}

static void find_words(Check *check) {
  static const char *const SIMPLE[ID_SIMPLE_COUNT] = {"bool", "int", "float", "text", "bytes", "uuid", "time", "date", "duration"};
  for (int i = 0; i < ID_SIMPLE_COUNT; i++) check->simple[i] = ast_sym(check->ast, SIMPLE[i]);
  check->word.self = ast_sym(check->ast, "self");
  check->word.caller = ast_sym(check->ast, "caller");
  check->word.now = ast_sym(check->ast, "now");
  check->word.everyone = ast_sym(check->ast, "everyone");
  check->word.signed_in = ast_sym(check->ast, "signed_in");
  check->word.forbidden = ast_sym(check->ast, "forbidden");
  check->word.decimal = ast_sym(check->ast, "decimal");
  check->word.set = ast_sym(check->ast, "set");
  check->word.map = ast_sym(check->ast, "map");
  check->word.count = ast_sym(check->ast, "count");
  check->word.count_if = ast_sym(check->ast, "count_if");
  check->word.sender = ast_sym(check->ast, "sender");
}

static bool init(Check *check) {
  map_init(&check->members, check->arena);
  map_init(&check->said, check->arena);
  map_init(&check->rule_numbers, check->arena);
  map_init(&check->makers, check->arena);
  find_words(check);
  check->sym_count = check->ast->names.count + 1;
  for (int i = 0; i < SPACE_COUNT; i++) check->spaces[i] = CHECK_ARRAY(check, uint32_t, check->sym_count);
  check->binding = CHECK_ARRAY(check, uint32_t, check->sym_count);
  check->program = CHECK_NEW(check, HProgram);
  if (check->program) check->program->arena = check->arena;
  return types_init(&check->types, check->arena) && !check->failed;
}

static void run(Check *check) {
  declare_all(check);
  tables_declare(check);
  named_resolve_all(check);
  tables_columns(check);
  signatures_all(check);
  kept_columns(check);
  tables_indexes(check);
  insert_signatures(check);
  bodies_all(check);
  fields_settle(check);
  effects_all(check);
  check_outside(check);
  words_check(check);
  if (check->types.bad) diag_add(check->diags, DIAG_E026, check->types.bad_at, "%s", check->types.bad);
}

// What looks unused may be used by what is wrong, so of a program with errors only they are told.
static void drop_doubtful(DiagList *diags) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < diags->count; i++) {
    bool doubtful = diags->items[i]->code == DIAG_W106 || diags->items[i]->code == DIAG_W107;
    if (doubtful) diags->warning_count--;
    else diags->items[kept++] = diags->items[i];
  }
  diags->count = kept;
}

HProgram *check_program(Ast *ast, const Sources *sources, DiagList *diags, Arena *arena, bool with_tests) {
  Check check = {.ast = ast, .arena = arena, .diags = diags, .sources = sources, .with_tests = with_tests};
  if (init(&check)) run(&check);
  if (check.failed || check.types.failed) diags->failed = true;
  if (!diag_has_errors(diags)) assemble_module(&check);
  if (check.failed || check.types.failed) diags->failed = true;
  if (!diag_has_errors(diags)) return check.program;
  drop_doubtful(diags);
  return NULL;
}
