// `was` and `drop` as the module carries them: what everything was called before, and what may be lost. The planner of swaps
// reads them when a running app gets the module; here it only matters that they name nothing that is still there.
#include "compiler/check/internal.h"

#include <stdlib.h>

typedef struct Words { Check *check; LIST_OF(NameWord) list; } Words;

static void add(Words *w, NameWord word, Str old) {
  NameWord *made = LIST_ADD(w->check, &w->list);
  if (!made) return;
  word.old = old;
  *made = word;
}

static void add_names(Words *w, NameWord word, const NameList *names) {
  for (uint32_t i = 0; i < names->count; i++) add(w, word, sym_str(w->check, names->items[i].sym));
}

static void add_mods(Words *w, NameWord word, const Field *field) {
  for (uint32_t i = 0; field && i < field->mods.count; i++)
    if (field->mods.items[i].kind == MOD_WAS) add(w, word, sym_str(w->check, field->mods.items[i].name.sym));
}

static void add_fields(Words *w, NameWord word, const FieldList *fields, bool in_case) {
  for (uint32_t i = 0; i < fields->count; i++) {
    *(in_case ? &word.field : &word.part) = (uint16_t)i;
    add_mods(w, word, &fields->items[i]);
  }
}

// ---- tables and types -------------------------------------------------------------------------

static void table_words(Words *w, const TableInfo *table) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    const ColumnInfo *column = &table->columns[i];
    NameWord word = {.kind = WORD_COLUMN, .owner = table->id, .part = (uint16_t)i};
    if (column->was.len) add(w, word, column->was);
    else add_mods(w, word, column->field);
  }
  if (!table->decl) return;
  add_names(w, (NameWord){.kind = WORD_TABLE, .owner = table->id}, &table->decl->header.was);
  add_names(w, (NameWord){.kind = WORD_DROP_COLUMN, .owner = table->id}, &table->decl->table.drops);
}

static void record_words(Words *w, const NamedType *named) {
  uint16_t number = types_of(&w->check->types, named->type);
  const Decl *decl = named->decl;
  add_names(w, (NameWord){.kind = WORD_RECORD, .owner = number}, &decl->header.was);
  add_fields(w, (NameWord){.kind = WORD_FIELD, .owner = number}, &decl->record.fields, false);
  add_names(w, (NameWord){.kind = WORD_DROP_FIELD, .owner = number}, &decl->record.drops);
}

static void enum_words(Words *w, const NamedType *named) {
  uint16_t number = types_of(&w->check->types, named->type);
  const Decl *decl = named->decl;
  add_names(w, (NameWord){.kind = WORD_ENUM, .owner = number}, &decl->header.was);
  for (uint32_t i = 0; i < decl->enumeration.cases.count; i++) {
    const Case *one = &decl->enumeration.cases.items[i];
    add_names(w, (NameWord){.kind = WORD_CASE, .owner = number, .part = (uint16_t)i}, &one->was);
    add_fields(w, (NameWord){.kind = WORD_CASE_FIELD, .owner = number, .part = (uint16_t)i}, &one->fields, true);
  }
  add_names(w, (NameWord){.kind = WORD_DROP_CASE, .owner = number}, &decl->enumeration.drops);
}

static void type_words(Words *w) {
  for (uint32_t i = 0; i < w->check->named.count; i++) {
    const NamedType *named = &w->check->named.items[i];
    if (!type_is_real(named->type)) continue;
    if (named->kind == NAMED_RECORD) record_words(w, named);
    if (named->kind == NAMED_ENUM) enum_words(w, named);
  }
}

// ---- the rest ---------------------------------------------------------------------------------

static void drop_words(Words *w) {
  for (uint32_t i = 0; i < w->check->drops.count; i++) {
    const Decl *decl = w->check->drops.items[i];
    add_names(w, (NameWord){.kind = decl->drop.is_state ? WORD_DROP_COLUMN : WORD_DROP_TABLE}, &decl->drop.names);
  }
}

static void declared_words(Words *w) {
  Check *check = w->check;
  for (uint32_t i = 0; i < check->entries.count; i++) {
    add_names(w, (NameWord){.kind = WORD_ENTRY, .owner = (uint16_t)i}, &check->entries.items[i]->decl->header.was);
    add_fields(w, (NameWord){.kind = WORD_PARAM, .owner = (uint16_t)i}, &check->entries.items[i]->decl->function.params, false);
  }
  for (uint32_t i = 0; i < check->outputs.count; i++) {
    add_names(w, (NameWord){.kind = WORD_OUTPUT, .owner = (uint16_t)i}, &check->outputs.items[i].decl->header.was);
    add_fields(w, (NameWord){.kind = WORD_OUTPUT_FIELD, .owner = (uint16_t)i}, &check->outputs.items[i].decl->function.params, false);
  }
  for (uint32_t i = 0; i < check->errors.count; i++) {
    uint16_t owner = (uint16_t)(BUILTIN_ERROR_COUNT + i);
    add_names(w, (NameWord){.kind = WORD_ERROR, .owner = owner}, &check->errors.items[i].decl->header.was);
    add_fields(w, (NameWord){.kind = WORD_ERROR_FIELD, .owner = owner}, &check->errors.items[i].decl->function.params, false);
  }
  for (uint32_t i = 0; i < check->roles.count; i++) add_names(w, (NameWord){.kind = WORD_ROLE, .owner = (uint16_t)i}, &check->roles.items[i].decl->header.was);
  for (uint32_t i = 0; i < check->timers.count; i++)
    if (check->timers.items[i].decl->kind == DECL_TIMER) add_names(w, (NameWord){.kind = WORD_TIMER, .owner = (uint16_t)i}, &check->timers.items[i].decl->header.was);
}

static int compare_words(const void *a, const void *b) { return word_compare(a, b); }

void words_fill(Check *check, Module *module) {
  Words w = {.check = check};
  for (uint32_t i = 0; i < check->tables.count; i++) table_words(&w, check->tables.items[i]);
  type_words(&w);
  drop_words(&w);
  declared_words(&w);
  if (w.list.count) qsort(w.list.items, w.list.count, sizeof(NameWord), compare_words);
  module->words = w.list.items;
  module->word_count = w.list.count;
}

// ---- what is dropped is not declared ----------------------------------------------------------

static void check_gone(Check *check, bool is_there, Name name, const char *what) {
  if (!is_there) return;
  Diag *diag = diag_add(check->diags, DIAG_E104, name.span, "the %s `" STR_FMT "` is dropped, but it is still declared", what, SYM_ARG(check, name.sym));
  diag_help(check->diags, diag, "remove the declaration or the `drop`");
}

static void check_type_drops(Check *check, const NamedType *named) {
  if (!type_is_real(named->type) || (named->kind != NAMED_RECORD && named->kind != NAMED_ENUM)) return;
  bool is_enum = named->kind == NAMED_ENUM;
  const NameList *drops = is_enum ? &named->decl->enumeration.drops : &named->decl->record.drops;
  uint16_t number = types_of(&check->types, named->type);
  for (uint32_t i = 0; i < drops->count; i++) {
    bool is_there = member_find(check, is_enum ? OWNER_ENUM : OWNER_RECORD, number, drops->items[i].sym) != MAP_NOTHING;
    check_gone(check, is_there, drops->items[i], is_enum ? "case" : "field");
  }
}

void words_check(Check *check) {
  for (uint32_t i = 0; i < check->tables.count; i++) {
    const TableInfo *table = check->tables.items[i];
    for (uint32_t k = 0; table->decl && k < table->decl->table.drops.count; k++) {
      Name name = table->decl->table.drops.items[k];
      check_gone(check, column_find(check, table, name.sym) != MAP_NOTHING, name, "field");
    }
  }
  for (uint32_t i = 0; i < check->named.count; i++) check_type_drops(check, &check->named.items[i]);
  for (uint32_t i = 0; i < check->drops.count; i++) {
    const Decl *decl = check->drops.items[i];
    for (uint32_t k = 0; k < decl->drop.names.count; k++) {
      Name name = decl->drop.names.items[k];
      bool is_there = decl->drop.is_state ? column_find(check, check->tables.items[SCHEMA_STATE_TABLE], name.sym) != MAP_NOTHING : table_find(check, name.sym) != NULL;
      check_gone(check, is_there, name, decl->drop.is_state ? "state value" : "table");
    }
  }
}
