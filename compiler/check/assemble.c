// The last phase: what was checked becomes the tables of a Module. Only sound programs come here.
#include "compiler/check/internal.h"

#include <assert.h>

static uint16_t index_of(const Fn *fn) { return fn ? fn->h.index : NO_FUNCTION; }

// ---- schema -----------------------------------------------------------------------------------

static Str column_name(Check *check, const TableInfo *table, uint32_t i) {
  const ColumnInfo *column = &table->columns[i];
  if (!column->hidden) return sym_str(check, column->sym);
  if (column->name.len) return column->name;
  if (!table->decl && i == 0) return STR("~key");
  if (column->sym) return arena_format(check->arena, "~" STR_FMT, SYM_ARG(check, column->sym));
  return arena_format(check->arena, "~%u", i);
}

static void name_counters(Check *check, ColumnDef *columns) {
  for (uint32_t t = 1; t < check->tables.count; t++) {
    const TableInfo *table = check->tables.items[t];
    if (table->auto_key) columns[table->auto_column].name = arena_format(check->arena, STR_FMT "." STR_FMT, STR_ARG(table->name), SYM_ARG(check, table->columns[table->key[0]].sym));
  }
}

static void fill_indexes(Check *check, const TableInfo *table, TableDef *out) {
  IndexDef *indexes = CHECK_ARRAY(check, IndexDef, table->index_count);
  if (!indexes) return;
  for (uint32_t i = 0; i < table->index_count; i++) {
    const IndexInfo *index = &table->indexes[i];
    indexes[i] = (IndexDef){.column_count = (uint16_t)index->column_count, .columns = index->columns, .unique = index->unique, .condition = index->condition};
  }
  out->indexes = indexes;
  out->index_count = (uint16_t)table->index_count;
}

static void fill_table(Check *check, const TableInfo *table, TableDef *out) {
  ColumnDef *columns = CHECK_ARRAY(check, ColumnDef, table->column_count);
  if (!columns) return;
  for (uint32_t i = 0; i < table->column_count; i++) {
    const ColumnInfo *column = &table->columns[i];
    columns[i] = (ColumnDef){.name = column_name(check, table, i), .type = column->type, .on_delete = column->on_delete, .hidden = column->hidden};
  }
  if (!table->decl) name_counters(check, columns);
  *out = (TableDef){.name = table->name, .column_count = (uint16_t)table->column_count, .columns = columns, .key_count = (uint16_t)table->key_count,
                    .key = table->key, .auto_key = table->auto_key, .auto_column = table->auto_column, .rows_max = table->rows_max};
  fill_indexes(check, table, out);
}

static const ColumnMeta *column_metas(Check *check, const TableInfo *table) {
  ColumnMeta *metas = CHECK_ARRAY(check, ColumnMeta, table->column_count);
  for (uint32_t i = 0; metas && i < table->column_count; i++) {
    const ColumnInfo *column = &table->columns[i];
    metas[i] = (ColumnMeta){.default_function = index_of(column->initial), .limits = column->setting ? check->settings.items[column->setting - 1].limits : column->limits,
                            .hints = hints_of(check, column->field ? &column->field->annots : NULL, column->field ? column->field->doc : NULL)};
  }
  return metas;
}

static void fill_table_meta(Check *check, const TableInfo *table, TableMeta *out) {
  ComputedDef *computed = CHECK_ARRAY(check, ComputedDef, table->computed_count);
  for (uint32_t i = 0; computed && i < table->computed_count; i++)
    computed[i] = (ComputedDef){.name = sym_str(check, table->computed[i].sym), .function = index_of(table->computed[i].fn), .hints = hints_of(check, NULL, table->computed[i].item->doc)};
  *out = (TableMeta){.columns = column_metas(check, table), .check_function = index_of(table->rules), .computed_count = (uint16_t)table->computed_count, .computed = computed,
                     .hints = hints_of(check, table->decl ? &table->decl->header.annots : NULL, table->decl ? table->decl->doc : NULL)};
}

static void fill_schema(Check *check, Module *module) {
  uint32_t count = check->tables.count;
  TableDef *tables = CHECK_ARRAY(check, TableDef, count + KEPT_TABLES_MAX);
  TableMeta *metas = CHECK_ARRAY(check, TableMeta, count + KEPT_TABLES_MAX);
  if (!tables || !metas) return;
  for (uint32_t i = 0; i < count; i++) {
    fill_table(check, check->tables.items[i], &tables[i]);
    fill_table_meta(check, check->tables.items[i], &metas[i]);
  }
  count += kept_tables(check, &tables[count], &metas[count]);
  module->schema = (Schema){.types = check->types.table, .table_count = (uint16_t)count, .tables = tables};
  module->table_meta = metas;
}

// ---- entries ----------------------------------------------------------------------------------

static Access access_of(Check *check, const Decl *decl) {
  Access access = {0};
  for (uint32_t i = 0; i < decl->header.roles.count; i++) {
    Name name = decl->header.roles.items[i];
    uint32_t role = space_find(check, SPACE_ROLE, name.sym);
    if (name.sym == check->word.everyone) access.everyone = true;
    else if (name.sym == check->word.signed_in) access.signed_in = true;
    else if (role != MAP_NOTHING) access.roles |= (uint64_t)1 << (role % MODULE_ROLES_MAX);
  }
  return access;
}

static const ParamDef *params_of(Check *check, const Fn *fn) {
  ParamDef *params = CHECK_ARRAY(check, ParamDef, fn->param_count);
  for (uint32_t i = 0; params && i < fn->param_count; i++) {
    const Param *param = &fn->params[i];
    params[i] = (ParamDef){.name = sym_str(check, param->sym), .type = param->type, .default_function = index_of(param->initial), .limits = param->limits,
                           .item_limits = {NO_CONSTANT, NO_CONSTANT}, .hints = hints_of(check, &param->field->annots, param->field->doc)};
  }
  return params;
}

static bool has_take(const Expr *query) {
  for (uint32_t i = 0; i < query->clauses.count; i++)
    if (query->clauses.items[i].kind == CLAUSE_TAKE) return true;
  return false;
}

enum { PAGE_ROWS = 100 };  // a list without `take` is sent in pages of that many

static uint32_t paged_of(Check *check, const Fn *fn) {
  const Decl *decl = fn->decl;
  int64_t rows = 0;
  if (decl->header.paged) return const_int(check, decl->header.paged, ID_INT, &rows) ? (uint32_t)rows : 0;
  const Expr *value = decl->function.value;
  return value && value->kind == EXPR_QUERY && !has_take(value) ? PAGE_ROWS : 0;
}

static void fill_entry(Check *check, const Fn *fn, EntryDef *out) {
  const Decl *decl = fn->decl;
  bool is_view = decl->kind == DECL_VIEW;
  *out = (EntryDef){.kind = decl->kind == DECL_INPUT ? ENTRY_INPUT : is_view ? ENTRY_VIEW : ENTRY_RECEIVE, .name = sym_str(check, decl->name.sym),
                    .function = fn->h.index, .param_count = (uint16_t)fn->param_count, .params = params_of(check, fn),
                    .result = fn->h.result, .access = access_of(check, decl), .per_caller = fn->total_effects & EFFECT_CALLER,
                    .hints = hints_of(check, &decl->header.annots, decl->doc)};
  if (is_view) out->paged = paged_of(check, fn);
  if (decl->header.every) const_int(check, decl->header.every, ID_DURATION, &out->every_us);
}

static void fill_entries(Check *check, Module *module) {
  EntryDef *entries = CHECK_ARRAY(check, EntryDef, check->entries.count);
  for (uint32_t i = 0; entries && i < check->entries.count; i++) fill_entry(check, check->entries.items[i], &entries[i]);
  module->entries = entries;
  module->entry_count = (uint16_t)check->entries.count;
}

// ---- the rest ---------------------------------------------------------------------------------

static void fill_errors(Check *check, Module *module) {
  static const ErrorDef BUILTIN[] = {
#define BUILTIN_ERROR(id, aup_name, http_status, message) [ERROR_##id] = {.name = {aup_name, sizeof aup_name - 1}, .status = http_status},
#include "runtime/module/errors.def"
#undef BUILTIN_ERROR
  };
  ErrorDef *errors = CHECK_ARRAY(check, ErrorDef, BUILTIN_ERROR_COUNT + check->errors.count);
  if (!errors) return;
  memcpy(errors, BUILTIN, sizeof BUILTIN);
  for (uint32_t i = 0; i < check->errors.count; i++) {
    const ErrorInfo *error = &check->errors.items[i];
    errors[BUILTIN_ERROR_COUNT + i] = (ErrorDef){.name = sym_str(check, error->sym), .status = error->status, .field_count = (uint16_t)error->param_count, .fields = error->fields,
                                                 .field = error->field ? sym_str(check, error->field) : STR("")};
  }
  module->errors = errors;
  module->error_count = (uint16_t)(BUILTIN_ERROR_COUNT + check->errors.count);
}

static void fill_roles(Check *check, Module *module) {
  RoleDef *roles = CHECK_ARRAY(check, RoleDef, check->roles.count);
  for (uint32_t i = 0; roles && i < check->roles.count; i++) roles[i] = (RoleDef){sym_str(check, check->roles.items[i].sym), index_of(check->roles.items[i].fn)};
  module->roles = roles;
  module->role_count = (uint16_t)check->roles.count;
}

static void fill_outputs(Check *check, Module *module) {
  OutputDef *outputs = CHECK_ARRAY(check, OutputDef, check->outputs.count);
  for (uint32_t i = 0; outputs && i < check->outputs.count; i++) {
    const OutputInfo *output = &check->outputs.items[i];
    outputs[i] = (OutputDef){sym_str(check, output->sym), (uint16_t)output->param_count, output->fields, hints_of(check, &output->decl->header.annots, output->decl->doc)};
  }
  module->outputs = outputs;
  module->output_count = (uint16_t)check->outputs.count;
}

static void fill_timers(Check *check, Module *module) {
  TimerDef *timers = CHECK_ARRAY(check, TimerDef, check->timers.count);
  for (uint32_t i = 0; timers && i < check->timers.count; i++) {
    const TimerInfo *timer = &check->timers.items[i];
    timers[i] = (TimerDef){.kind = timer->kind, .name = timer->name.len ? timer->name : sym_str(check, timer->sym), .period_us = timer->period_us, .at_us = timer->at_us,
                           .table = timer->table ? timer->table->id : 0, .column = timer->column, .function = index_of(timer->fn),
                           .kept = timer->kept, .tries = timer->tries, .begun = timer->begun};
  }
  module->timers = timers;
  module->timer_count = (uint16_t)check->timers.count;
}

static void fill_settings(Check *check, Module *module) {
  SettingDef *settings = CHECK_ARRAY(check, SettingDef, check->settings.count);
  for (uint32_t i = 0; settings && i < check->settings.count; i++) {
    const SettingInfo *setting = &check->settings.items[i];
    settings[i] = (SettingDef){.name = sym_str(check, setting->sym), .type = setting->type, .default_function = index_of(setting->initial),
                               .secret = annot_find(check, &setting->field->annots, "secret") != NULL, .hints = hints_of(check, &setting->field->annots, setting->field->doc)};
  }
  module->settings = settings;
  module->setting_count = (uint16_t)check->settings.count;
}

static const NamedFunction *named_functions(Check *check, const FnRef *refs, uint32_t count) {
  NamedFunction *out = CHECK_ARRAY(check, NamedFunction, count);
  for (uint32_t i = 0; out && i < count; i++) out[i] = (NamedFunction){refs[i].name, index_of(refs[i].fn)};
  return out;
}

// ---- the app's own line -----------------------------------------------------------------------

// "+01:00" as seconds; false: it is written otherwise.
static bool fixed_offset(Str name, int32_t *out) {
  if (name.len != 6 || (name.ptr[0] != '+' && name.ptr[0] != '-') || name.ptr[3] != ':') return false;
  int digits[4] = {name.ptr[1] - '0', name.ptr[2] - '0', name.ptr[4] - '0', name.ptr[5] - '0'};
  for (int i = 0; i < 4; i++)
    if (digits[i] < 0 || digits[i] > 9) return false;
  int hours = digits[0] * 10 + digits[1], minutes = digits[2] * 10 + digits[3];
  *out = (hours * 60 + minutes) * 60 * (name.ptr[0] == '-' ? -1 : 1);
  return hours <= 14 && minutes < 60;
}

static void read_zone(Check *check) {
  const Annot *annot = check->app ? annot_find(check, &check->app->header.annots, "zone") : NULL;
  if (!annot) return;
  const Expr *name = annot->args.count == 1 ? annot->args.items[0].value : NULL;
  if (!name || name->kind != EXPR_TEXT) { diag_help(check->diags, diag_add(check->diags, DIAG_E312, annot->span, "`@zone` names a time zone"), "write `@zone(\"+01:00\")`"); return; }
  int32_t offset = 0;
  if (!str_is(name->text, "UTC") && !fixed_offset(name->text, &offset)) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E900, name->span, "not supported yet: a zone with summer time"), "write its offset: `@zone(\"+01:00\")`");
    return;
  }
  check->program->module.zone = (Zone){.name = name->text, .first_offset_s = offset};
}

static void fill_app(Check *check, Module *module) {
  const Decl *app = check->app;
  module->name = app ? sym_str(check, app->name.sym) : STR("app");
  module->title = app && app->title && app->title->kind == EXPR_TEXT ? app->title->text : module->name;
  if (!app) return;
  module->hints = hints_of(check, &app->header.annots, app->doc);
}

static void check_names_of_roles(Check *check) {
  for (uint32_t i = 0; i < check->entries.count; i++) {
    const NameList *roles = &check->entries.items[i]->decl->header.roles;
    for (uint32_t k = 0; k < roles->count; k++) {
      Name name = roles->items[k];
      if (name.sym == check->word.everyone || name.sym == check->word.signed_in || space_find(check, SPACE_ROLE, name.sym) != MAP_NOTHING) continue;
      Diag *diag = diag_add(check->diags, DIAG_E306, name.span, "there is no role called `" STR_FMT "`", SYM_ARG(check, name.sym));
      near_space(check, diag, SPACE_ROLE, name.sym);
      if (!diag->help.len) diag_help(check->diags, diag, "declare it: `role " STR_FMT "`", SYM_ARG(check, name.sym));
    }
  }
}

static void check_headers(Check *check) {
  for (uint32_t i = 0; i < check->entries.count; i++) {
    const Fn *fn = check->entries.items[i];
    const Header *header = &fn->decl->header;
    int64_t number;
    if (header->paged && const_int(check, header->paged, ID_INT, &number) && (number < 1 || number > 100000))
      diag_help(check->diags, diag_add(check->diags, DIAG_E213, header->paged->span, "a page has 1 to 100000 rows"), "write `paged 50`, for example");
    if (header->paged && fn->decl->kind == DECL_VIEW && type_is_real(fn->h.result) && !types_is(&check->types, fn->h.result, TYPE_LIST))
      diag_help(check->diags, diag_add(check->diags, DIAG_E201, header->paged->span, "only a list is sent in pages"), "remove `paged`");
    if (header->every && const_int(check, header->every, ID_DURATION, &number) && number <= 0)
      diag_help(check->diags, diag_add(check->diags, DIAG_E213, header->every->span, "`every` needs a time above zero"), "write `every 1min`, for example");
  }
}

// What stands in headers, hints and pages.
void check_outside(Check *check) {
  read_zone(check);
  check_names_of_roles(check);
  check_headers(check);
  hints_check_say(check);
  pages_check(check);
}

// A served module has no tests. Nothing calls them, so the others keep their order.
static void number_functions(Check *check, HProgram *program) {
  program->functions = CHECK_ARRAY(check, HFunction *, check->functions.count);
  for (uint32_t i = 0; program->functions && i < check->functions.count; i++) {
    Fn *fn = check->functions.items[i];
    if (fn->h.kind == FUNCTION_TEST && !check->with_tests) continue;
    fn->h.effects = fn->total_effects;
    fn->h.index = (uint16_t)program->function_count;
    program->functions[program->function_count++] = &fn->h;
  }
}

void assemble_module(Check *check) {
  HProgram *program = check->program;
  Module *module = &program->module;
  number_functions(check, program);
  fill_app(check, module);
  fill_schema(check, module);
  fill_entries(check, module);
  fill_errors(check, module);
  fill_roles(check, module);
  fill_outputs(check, module);
  fill_timers(check, module);
  words_fill(check, module);
  module->field_rules = check->field_rules.items;
  module->field_rule_count = check->field_rules.count;
  fill_settings(check, module);
  pages_fill(check, module);
  module->tests = named_functions(check, check->tests.items, check->tests.count);
  module->test_count = check->with_tests ? (uint16_t)check->tests.count : 0;
  module->always = named_functions(check, check->always.items, check->always.count);
  module->always_count = (uint16_t)check->always.count;
  module->start_function = index_of(check->start);
  program->arena = check->arena;
  program->sources = check->sources;
}
