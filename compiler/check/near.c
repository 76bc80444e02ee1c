// Near names: what a misspelt one may have meant.
#include "compiler/check/internal.h"

#include "compiler/suggest.h"
#include "runtime/module/builtins.h"

static void say(Check *check, Diag *diag, Span span, Suggest *suggest) {
  Str best = suggest->best;
  if (!best.len) return;
  diag_help(check->diags, diag, "did you mean `" STR_FMT "`?", STR_ARG(best));
  if (!span_is_none(span)) diag_fix(check->diags, diag, span, best);
}

static void add_space(Check *check, Suggest *suggest, Space space, bool functions_only, bool values_only) {
  if (space == SPACE_VALUE) {
    for (Sym sym = 1; sym < check->sym_count; sym++) {
      uint32_t number = space_find(check, space, sym);
      if (number == MAP_NOTHING) continue;
      bool is_function = check->values.items[number].kind == VALUE_FUNCTION;
      if ((functions_only && !is_function) || (values_only && is_function)) continue;
      suggest_try(suggest, sym_str(check, sym));
    }
    return;
  }
  for (Sym sym = 1; sym < check->sym_count; sym++)
    if (space_find(check, space, sym) != MAP_NOTHING) suggest_try(suggest, sym_str(check, sym));
}

static bool worth_it(Check *check, const Diag *diag) { return diag != &check->diags->spare; }

void near_space(Check *check, Diag *diag, Space space, Sym wanted) {
  if (!worth_it(check, diag)) return;
  static const char *const TYPES[] = {"bool", "int", "float", "text", "bytes", "uuid", "time", "date", "duration", "decimal", "set", "map"};
  static const char *const ERRORS[] = {"forbidden", "not_found", "duplicate", "in_use", "bad_argument", "limit"};
  Suggest suggest = suggest_start(sym_str(check, wanted));
  add_space(check, &suggest, space, false, false);
  for (size_t i = 0; space == SPACE_TYPE && i < countof(TYPES); i++) suggest_try(&suggest, str_from(TYPES[i]));
  for (size_t i = 0; space == SPACE_ERROR && i < countof(ERRORS); i++) suggest_try(&suggest, str_from(ERRORS[i]));
  say(check, diag, diag->span, &suggest);
}

void near_columns(Check *check, Diag *diag, const TableInfo *table, Name wanted) {
  if (!worth_it(check, diag)) return;
  Suggest suggest = suggest_start(sym_str(check, wanted.sym));
  for (uint32_t i = 0; i < table->column_count; i++)
    if (!table->columns[i].hidden) suggest_try(&suggest, sym_str(check, table->columns[i].sym));
  for (uint32_t i = 0; i < table->computed_count; i++) suggest_try(&suggest, sym_str(check, table->computed[i].sym));
  say(check, diag, wanted.span, &suggest);
}

void near_syms(Check *check, Diag *diag, Name wanted, const Sym *names, uint32_t count) {
  if (!worth_it(check, diag)) return;
  Suggest suggest = suggest_start(sym_str(check, wanted.sym));
  for (uint32_t i = 0; i < count; i++) suggest_try(&suggest, sym_str(check, names[i]));
  say(check, diag, wanted.span, &suggest);
}

void near_texts(Check *check, Diag *diag, Name wanted, const char *const *names, size_t count) {
  if (!worth_it(check, diag)) return;
  Suggest suggest = suggest_start(sym_str(check, wanted.sym));
  for (size_t i = 0; i < count; i++) suggest_try(&suggest, str_from(names[i]));
  say(check, diag, wanted.span, &suggest);
}

void near_values(Check *check, Diag *diag, Name wanted, bool functions) {
  if (!worth_it(check, diag)) return;
  Suggest suggest = suggest_start(sym_str(check, wanted.sym));
  add_space(check, &suggest, SPACE_VALUE, functions, !functions);
  if (functions) {
    for (int id = 0; id < BUILTIN_AND_FORM_COUNT_; id++) suggest_try(&suggest, str_from(builtin_info((BuiltinId)id)->name));
  } else {
    for (uint32_t i = 0; i < check->bindings.count; i++)
      if (check->binding[check->bindings.items[i].sym]) suggest_try(&suggest, sym_str(check, check->bindings.items[i].sym));
    suggest_try(&suggest, STR("now"));
    suggest_try(&suggest, STR("caller"));
    if (check->body && check->body->fn->self) {
      const TableInfo *table = check->body->fn->self;
      for (uint32_t i = 0; i < table->column_count; i++)
        if (!table->columns[i].hidden) suggest_try(&suggest, sym_str(check, table->columns[i].sym));
    }
  }
  say(check, diag, wanted.span, &suggest);
}
