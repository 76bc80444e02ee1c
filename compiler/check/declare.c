// The first phase: who is declared, in which space, under which number. Nothing is looked into yet, so that the order of
// declarations does not matter.
#include "compiler/check/internal.h"

#include <assert.h>

uint32_t member_find(const Check *check, Owner kind, uint32_t owner, Sym sym) {
  return map_get(&check->members, map_pair(owner_number(kind, owner), sym));
}

bool member_add(Check *check, Owner kind, uint32_t owner, Sym sym, uint32_t number) {
  uint64_t key = map_pair(owner_number(kind, owner), sym);
  if (map_get(&check->members, key) != MAP_NOTHING) return false;
  if (!map_put(&check->members, key, number)) check->failed = true;
  return true;
}

static const char *const SPACE_WORDS[SPACE_COUNT] = {
  [SPACE_VALUE] = "value or function", [SPACE_TYPE] = "type", [SPACE_ERROR] = "error", [SPACE_ROLE] = "role",
  [SPACE_OUTPUT] = "output", [SPACE_TIMER] = "timer", [SPACE_PAGE] = "page"};

static Span space_span(const Check *check, Space space, uint32_t number) {
  switch (space) {
    case SPACE_VALUE: return check->values.items[number].span;
    case SPACE_TYPE: return check->named.items[number].decl->name.span;
    case SPACE_ERROR: return check->errors.items[number].decl->name.span;
    case SPACE_ROLE: return check->roles.items[number].span;
    case SPACE_OUTPUT: return check->outputs.items[number].decl->name.span;
    case SPACE_TIMER: return check->timers.items[number].decl->name.span;
    case SPACE_PAGE: return check->pages.items[number]->name.span;
    case SPACE_COUNT: break;
  }
  return (Span){0};
}

static void declare(Check *check, Space space, Name name, uint32_t number) {
  if (!name.sym) return;
  assert(name.sym < check->sym_count);
  uint32_t *slot = &check->spaces[space][name.sym];
  if (!*slot) { *slot = number + 1; return; }
  Diag *diag = diag_add(check->diags, DIAG_E104, name.span, "a %s called `" STR_FMT "` is declared already", SPACE_WORDS[space], SYM_ARG(check, name.sym));
  diag_label(check->diags, diag, space_span(check, space, *slot - 1), "it was declared here");
  diag_help(check->diags, diag, "give one of them another name");
}

// ---- functions --------------------------------------------------------------------------------

Fn *fn_new(Check *check, FunctionKind kind, const Decl *decl, Name name) {
  Fn *fn = CHECK_NEW(check, Fn), **slot = LIST_ADD(check, &check->functions);
  if (!fn || !slot) return NULL;
  *fn = (Fn){.h = {.name = sym_str(check, name.sym), .kind = (uint8_t)kind, .result = TYPE_NONE, .span = name.span},
             .decl = decl, .sym = name.sym, .name_span = name.span};
  return *slot = fn;
}

static Fn *declare_function(Check *check, const Decl *decl, FunctionKind kind) {
  Fn *fn = fn_new(check, kind, decl, decl->name);
  ValueDecl *value = LIST_ADD(check, &check->values);
  if (!fn || !value) return NULL;
  *value = (ValueDecl){.kind = VALUE_FUNCTION, .span = decl->name.span, .fn = fn};
  declare(check, SPACE_VALUE, decl->name, check->values.count - 1);
  fn->value = decl->function.value;
  fn->block = decl->function.block;
  return fn;
}

static void declare_entry(Check *check, const Decl *decl, FunctionKind kind) {
  Fn *fn = declare_function(check, decl, kind), **slot = LIST_ADD(check, &check->entries);
  if (!fn || !slot) return;
  fn->is_entry = fn->used = true;
  fn->entry = (uint16_t)(check->entries.count - 1);
  *slot = fn;
  if (check->entries.count == MODULE_ENTRIES_MAX + 1)
    diag_add(check->diags, DIAG_E026, decl->name.span, "an app has at most %d inputs, views and receives (MODULE_ENTRIES_MAX)", MODULE_ENTRIES_MAX);
}

// ---- the others -------------------------------------------------------------------------------

static void declare_states(Check *check, const Decl *decl) {
  for (uint32_t i = 0; i < decl->record.fields.count; i++) {
    const Field *field = &decl->record.fields.items[i];
    ValueDecl *value = LIST_ADD(check, &check->values);
    if (!value) return;
    *value = (ValueDecl){.kind = VALUE_STATE, .index = 0, .span = field->name.span};
    declare(check, SPACE_VALUE, field->name, check->values.count - 1);
  }
}

static void declare_settings(Check *check, const Decl *decl) {
  for (uint32_t i = 0; i < decl->record.fields.count; i++) {
    const Field *field = &decl->record.fields.items[i];
    ValueDecl *value = LIST_ADD(check, &check->values);
    SettingInfo *setting = LIST_ADD(check, &check->settings);
    if (!value || !setting) return;
    *setting = (SettingInfo){.sym = field->name.sym, .field = field, .type = ID_POISON};
    *value = (ValueDecl){.kind = VALUE_SETTING, .index = check->settings.count - 1, .span = field->name.span};
    declare(check, SPACE_VALUE, field->name, check->values.count - 1);
  }
}

static void declare_type(Check *check, const Decl *decl, NamedKind kind) {
  NamedType *named = LIST_ADD(check, &check->named);
  if (!named) return;
  *named = (NamedType){.kind = kind, .decl = decl, .type = ID_POISON};
  declare(check, SPACE_TYPE, decl->name, check->named.count - 1);
}

static void declare_roles(Check *check, const Decl *decl) {
  check->has_roles = true;
  NameList one = {.items = (Name *)&decl->name, .count = 1};
  const NameList *names = decl->role.names.count ? &decl->role.names : &one;
  for (uint32_t i = 0; i < names->count; i++) {
    Name name = names->items[i];
    RoleInfo *role = LIST_ADD(check, &check->roles);
    if (!role) return;
    *role = (RoleInfo){.sym = name.sym, .span = name.span, .decl = decl};
    if (name.sym == check->word.everyone || name.sym == check->word.signed_in) {
      Diag *diag = diag_add(check->diags, DIAG_E104, name.span, "`" STR_FMT "` is a word of the language after `for`", SYM_ARG(check, name.sym));
      diag_help(check->diags, diag, "give the role another name");
    }
    declare(check, SPACE_ROLE, name, check->roles.count - 1);
    if (check->roles.count == MODULE_ROLES_MAX + 1)
      diag_add(check->diags, DIAG_E026, name.span, "an app has at most %d roles (MODULE_ROLES_MAX)", MODULE_ROLES_MAX);
  }
}

static void declare_error(Check *check, const Decl *decl) {
  ErrorInfo *error = LIST_ADD(check, &check->errors);
  if (!error) return;
  *error = (ErrorInfo){.sym = decl->name.sym, .decl = decl, .status = 422};
  declare(check, SPACE_ERROR, decl->name, check->errors.count - 1);
}

// The lines `/// > …` above a declaration are one test.
static void declare_examples(Check *check, const Decl *decl) {
  if (!decl->doc || !decl->doc->examples.count) return;
  FnRef *ref = LIST_ADD(check, &check->tests);
  if (ref) *ref = (FnRef){.decl = decl, .of_doc = true};
}

static void declare_one(Check *check, const Decl *decl) {
  declare_examples(check, decl);
  switch (decl->kind) {
    case DECL_APP:
      if (check->app) diag_label(check->diags, diag_add(check->diags, DIAG_E104, decl->span, "the app has a name already"), check->app->span, "it was named here");
      else check->app = decl;
      return;
    case DECL_USE: return;
    case DECL_TYPE: declare_type(check, decl, NAMED_ALIAS); return;
    case DECL_ENUM: declare_type(check, decl, NAMED_ENUM); return;
    case DECL_RECORD: declare_type(check, decl, NAMED_RECORD); return;
    case DECL_TABLE: declare_type(check, decl, NAMED_TABLE); return;
    case DECL_STATE: declare_states(check, decl); return;
    case DECL_SETTING: declare_settings(check, decl); return;
    case DECL_ERROR: declare_error(check, decl); return;
    case DECL_ROLE: declare_roles(check, decl); return;
    case DECL_INPUT: declare_entry(check, decl, FUNCTION_INPUT); return;
    case DECL_RECEIVE: declare_entry(check, decl, FUNCTION_INPUT); return;
    case DECL_VIEW: declare_entry(check, decl, FUNCTION_VIEW); return;
    case DECL_ACTION: declare_function(check, decl, FUNCTION_ACTION); return;
    case DECL_FN: declare_function(check, decl, FUNCTION_FN); return;
    case DECL_OUTPUT: {
      OutputInfo *output = LIST_ADD(check, &check->outputs);
      if (output) *output = (OutputInfo){.sym = decl->name.sym, .decl = decl, .record = ID_POISON};
      declare(check, SPACE_OUTPUT, decl->name, check->outputs.count - 1);
      return;
    }
    case DECL_TIMER: {
      TimerInfo *timer = LIST_ADD(check, &check->timers);
      if (timer) *timer = (TimerInfo){.sym = decl->name.sym, .decl = decl};
      declare(check, SPACE_TIMER, decl->name, check->timers.count - 1);
      return;
    }
    case DECL_PAGE: {
      const Decl **page = LIST_ADD(check, &check->pages);
      if (page) *page = decl;
      declare(check, SPACE_PAGE, decl->name, check->pages.count - 1);
      return;
    }
    case DECL_TEST: case DECL_ALWAYS: {
      FnRef *ref = decl->kind == DECL_TEST ? LIST_ADD(check, &check->tests) : LIST_ADD(check, &check->always);
      if (ref) *ref = (FnRef){.decl = decl};
      return;
    }
    case DECL_START:
      if (check->start) diag_label(check->diags, diag_add(check->diags, DIAG_E104, decl->span, "there is a `start` already"), check->start->name_span, "here");
      else {
        check->start = fn_new(check, FUNCTION_START, decl, (Name){.span = decl->span});
        if (check->start) { check->start->block = decl->function.block; check->start->h.name = STR("start"); check->start->used = check->start->result_known = true; }
      }
      return;
    case DECL_MIGRATE: diag_add(check->diags, DIAG_E900, decl->span, "not supported yet: migrate"); return;
    case DECL_DROP: {
      const Decl **drop = LIST_ADD(check, &check->drops);
      if (drop) *drop = decl;
      return;
    }
  }
}

void declare_all(Check *check) {
  for (uint32_t i = 0; i < check->ast->decls.count && !check->failed; i++) declare_one(check, check->ast->decls.items[i]);
}

// ---- errors -----------------------------------------------------------------------------------

ErrorInfo *error_find(Check *check, Sym sym, uint16_t *out_index) {
  static const char *const BUILTIN[] = {
#define BUILTIN_ERROR(name, aup_name, status, message) aup_name,
#include "runtime/module/errors.def"
#undef BUILTIN_ERROR
  };
  uint32_t number = space_find(check, SPACE_ERROR, sym);
  if (number != MAP_NOTHING) {
    *out_index = (uint16_t)(BUILTIN_ERROR_COUNT + number);
    return &check->errors.items[number];
  }
  *out_index = 0xFFFF;
  for (uint16_t i = ERROR_REJECTED + 1; i < BUILTIN_ERROR_COUNT; i++)
    if (str_is(sym_str(check, sym), BUILTIN[i])) *out_index = i;
  return NULL;
}
