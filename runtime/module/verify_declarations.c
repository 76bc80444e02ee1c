// Everything in a module that is not code: names, who calls which function with what, limits, roles, timers. The host
// acts on these without looking again.
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/mem.h"
#include "runtime/module/verify.h"

static const struct { const char *name; uint16_t status; } BUILTIN_ERRORS[BUILTIN_ERROR_COUNT] = {
#define BUILTIN_ERROR(id, aup_name, http, message) [ERROR_##id] = {aup_name, http},
#include "runtime/module/errors.def"
#undef BUILTIN_ERROR
};
enum { STATUS_MIN = 400, STATUS_MAX = 599 };

static Err bad(const Verifier *v, const char *what, Str name, const char *format, ...) PRINTF(4, 5);
static Err bad(const Verifier *v, const char *what, Str name, const char *format, ...) {
  char words[ERR_TEXT_BYTES / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  return err_say(ERR_FORMAT, v->out_text, "%s \"" STR_FMT "\": %s", what, STR_ARG(name), words);
}

// ---- names ------------------------------------------------------------------------------------

// A name of the language: never empty, never with control characters (it reaches terminals, addresses and headers).
static Err check_name(const Verifier *v, const char *what, Str name) {
  if (name.len == 0) return bad(v, what, name, "has no name");
  if (name.len > MODULE_NAME_BYTES_MAX) return bad(v, what, str_part(name, 0, 20), "its name is longer than %d bytes (MODULE_NAME_BYTES_MAX)", MODULE_NAME_BYTES_MAX);
  for (size_t i = 0; i < name.len; i++)
    if ((uint8_t)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f) return bad(v, what, (Str){0}, "there is a control character in its name");
  return ERR_NONE;
}

static int compare_names(const void *a, const void *b) { return str_compare(*(const Str *)a, *(const Str *)b); }

// `names` lie `stride` bytes apart, as the first member of the things they name or anywhere in them.
static Err check_unique(const Verifier *v, const char *what, uint32_t count, const Str *first, size_t stride) {
  if (count < 2) return count ? check_name(v, what, *first) : ERR_NONE;
  Str *names = mem_alloc(count * sizeof *names);
  if (!names) return err_say(ERR_MEMORY, v->out_text, "no memory to verify the module");
  Err err = ERR_NONE;
  for (uint32_t i = 0; i < count; i++) names[i] = *(const Str *)(const void *)((const char *)first + i * stride);
  for (uint32_t i = 0; i < count && !err; i++) err = check_name(v, what, names[i]);
  qsort(names, count, sizeof *names, compare_names);
  for (uint32_t i = 1; i < count && !err; i++)
    if (str_equal(names[i - 1], names[i])) err = bad(v, what, names[i], "stands twice");
  mem_free(names);
  return err;
}
#define UNIQUE(v, what, count, items) check_unique((v), (what), (count), (items) ? &(items)->name : NULL, sizeof *(items))

// ---- types and functions ----------------------------------------------------------------------

static Err check_type(const Verifier *v, const char *what, Str name, TypeId type) {
  return type < v->types->count ? ERR_NONE : bad(v, what, name, "has type %u of %u", type, v->types->count);
}

static Err check_fields(const Verifier *v, const char *what, Str name, uint32_t count, const FieldDef *fields) {
  TRY(UNIQUE(v, "a field", count, fields));
  for (uint32_t i = 0; i < count; i++) TRY(check_type(v, what, name, fields[i].type));
  return ERR_NONE;
}

// What a use of a function asks of it.
typedef struct Wanted { FunctionKind kind; TypeId param, result; bool any_result; } Wanted;  // param TYPE_NONE: no parameter

static Err check_function_use(const Verifier *v, const char *what, Str name, uint16_t index, Wanted wanted) {
  if (index >= v->module->function_count) return bad(v, what, name, "names function %u of %u", index, v->module->function_count);
  const Function *f = &v->module->functions[index];
  if (f->kind != wanted.kind) return bad(v, what, name, "its function is of another kind");
  uint32_t params = wanted.param == TYPE_NONE ? 0 : 1;
  if (f->param_count != params || (params && f->registers[0] != wanted.param)) return bad(v, what, name, "its function takes other parameters");
  if (!wanted.any_result && f->result != wanted.result) return bad(v, what, name, "its function has another result");
  if (wanted.any_result && f->result == TYPE_NONE) return bad(v, what, name, "its function has no result");
  return ERR_NONE;
}

static Err check_default(const Verifier *v, const char *what, Str name, uint16_t index, TypeId type) {
  if (index == NO_FUNCTION) return ERR_NONE;
  return check_function_use(v, what, name, index, (Wanted){FUNCTION_DEFAULT, TYPE_NONE, type, false});
}

// The type of a reference to the table; TYPE_NONE when no value of the module is one.
static TypeId find_ref(const Verifier *v, uint32_t table) {
  for (uint32_t i = 0; i < v->types->count; i++)
    if (v->types->types[i].kind == TYPE_REF && v->types->types[i].of == table) return (TypeId)i;
  return TYPE_NONE;
}

// Functions that take one row: the parameter must be a reference to the table, whichever number that type has.
static Err check_row_function(const Verifier *v, const char *what, Str name, uint16_t index, FunctionKind kind, uint32_t table, bool any_result) {
  if (index >= v->module->function_count) return bad(v, what, name, "names function %u of %u", index, v->module->function_count);
  const Function *f = &v->module->functions[index];
  bool takes_ref = f->param_count == 1 && verify__type(v, f->registers[0]).kind == TYPE_REF && verify__type(v, f->registers[0]).of == table;
  if (!takes_ref) return bad(v, what, name, "its function does not take a row of the table");
  return check_function_use(v, what, name, index, (Wanted){kind, f->registers[0], TYPE_NONE, any_result});
}

// ---- limits -----------------------------------------------------------------------------------

static bool counts_parts(TypeKind kind) { return kind == TYPE_TEXT || kind == TYPE_BYTES || kind == TYPE_LIST || kind == TYPE_SET || kind == TYPE_MAP; }

static Err check_limit(const Verifier *v, const char *what, Str name, uint32_t constant, TypeId type) {
  if (constant == NO_CONSTANT) return ERR_NONE;
  if (constant >= v->module->constant_count) return bad(v, what, name, "a limit is constant %u of %u", constant, v->module->constant_count);
  if (verify__type(v, type).kind == TYPE_OPTIONAL) type = verify__type(v, type).of;
  TypeId limit = v->module->constants[constant].type;
  bool fits = counts_parts(type_kind(v->types, type)) ? type_kind(v->types, limit) == TYPE_INT : limit == type && type_is_ordered(v->types, type);
  return fits ? ERR_NONE : bad(v, what, name, "a limit is of another type");
}

static Err check_limits(const Verifier *v, const char *what, Str name, Limits limits, TypeId type) {
  TRY(check_limit(v, what, name, limits.min, type));
  return check_limit(v, what, name, limits.max, type);
}

// NULL: the rule is of a field that is not there.
static const FieldDef *rule_field(const TypeTable *types, const FieldRule *rule) {
  const FieldDef *fields = NULL;
  uint32_t count = 0;
  if (rule->tag == NO_CASE && rule->owner < types->record_count) {
    fields = types->records[rule->owner].fields;
    count = types->records[rule->owner].field_count;
  } else if (rule->tag != NO_CASE && rule->owner < types->enum_count && rule->tag < types->enums[rule->owner].case_count) {
    fields = types->enums[rule->owner].cases[rule->tag].fields;
    count = types->enums[rule->owner].cases[rule->tag].field_count;
  }
  return rule->field < count ? &fields[rule->field] : NULL;
}

static Err check_field_rules(const Verifier *v) {
  const Module *m = v->module;
  for (uint32_t i = 0; i < m->field_rule_count; i++) {
    const FieldRule *one = &m->field_rules[i];
    const FieldDef *field = rule_field(v->types, one);
    if (!field) return bad(v, "rule of a field", m->name, "there is no field %u of %s %u", one->field, one->tag == NO_CASE ? "record" : "enum", one->owner);
    TRY(check_limits(v, "field", field->name, one->limits, field->type));
    if (one->fallback == NO_CONSTANT) continue;
    if (one->fallback >= m->constant_count || m->constants[one->fallback].type != field->type || !field->has_default)
      return bad(v, "field", field->name, "its default is no constant of its type");
  }
  return ERR_NONE;
}

static Err check_no_limits(const Verifier *v, const char *what, Str name, Limits limits) {
  return limits.min == NO_CONSTANT && limits.max == NO_CONSTANT ? ERR_NONE : bad(v, what, name, "limits of items are not in use yet");
}

// ---- before the functions ---------------------------------------------------------------------

static Err check_errors(const Verifier *v) {
  const Module *m = v->module;
  if (m->error_count < BUILTIN_ERROR_COUNT) return err_say(ERR_FORMAT, v->out_text, "the built-in errors are missing");
  TRY(UNIQUE(v, "error", m->error_count, m->errors));
  for (uint32_t i = 0; i < m->error_count; i++) {
    const ErrorDef *error = &m->errors[i];
    bool is_builtin = i < BUILTIN_ERROR_COUNT;
    if (is_builtin && (!str_is(error->name, BUILTIN_ERRORS[i].name) || error->status != BUILTIN_ERRORS[i].status || error->field_count))
      return bad(v, "error", error->name, "is not the built-in error \"%s\"", BUILTIN_ERRORS[i].name);
    if (error->status < STATUS_MIN || error->status > STATUS_MAX) return bad(v, "error", error->name, "has status %u, not one of %d to %d", error->status, STATUS_MIN, STATUS_MAX);
    TRY(check_fields(v, "error", error->name, error->field_count, error->fields));
  }
  return ERR_NONE;
}

// What rules rely on: constants, errors, outputs and entries have sound types. The schema checked its own.
Err verify__tables(Verifier *v) {
  const Module *m = v->module;
  if (find_ref(v, SCHEMA_STATE_TABLE) != TYPE_NONE) return err_say(ERR_FORMAT, v->out_text, "a type refers to rows of the state");
  for (uint32_t i = 0; i < m->constant_count; i++)
    if (m->constants[i].type >= v->types->count) return err_say(ERR_FORMAT, v->out_text, "constant %u has type %u of %u", i, m->constants[i].type, v->types->count);
  TRY(check_errors(v));
  TRY(UNIQUE(v, "output", m->output_count, m->outputs));
  for (uint32_t i = 0; i < m->output_count; i++) TRY(check_fields(v, "output", m->outputs[i].name, m->outputs[i].field_count, m->outputs[i].fields));
  for (uint32_t i = 0; i < m->entry_count; i++) {
    const EntryDef *entry = &m->entries[i];
    if (entry->param_count > ENTRY_PARAMS_MAX) return bad(v, "entry", entry->name, "has more than %d parameters (ENTRY_PARAMS_MAX)", ENTRY_PARAMS_MAX);
    TRY(UNIQUE(v, "a parameter", entry->param_count, entry->params));
    for (uint32_t k = 0; k < entry->param_count; k++) TRY(check_type(v, "entry", entry->name, entry->params[k].type));
    if (entry->result != TYPE_NONE) TRY(check_type(v, "entry", entry->name, entry->result));
  }
  return ERR_NONE;
}

// ---- after the functions ----------------------------------------------------------------------

static Err check_entry_function(const Verifier *v, const EntryDef *entry) {
  if (entry->function >= v->module->function_count) return bad(v, "entry", entry->name, "names function %u of %u", entry->function, v->module->function_count);
  const Function *f = &v->module->functions[entry->function];
  FunctionKind kind = entry->kind == ENTRY_VIEW ? FUNCTION_VIEW : FUNCTION_INPUT;
  if (f->kind != kind) return bad(v, "entry", entry->name, "its function is of another kind");
  if (f->param_count != entry->param_count || f->result != entry->result) return bad(v, "entry", entry->name, "its function has other parameters or another result");
  for (uint32_t i = 0; i < entry->param_count; i++)
    if (f->registers[i] != entry->params[i].type) return bad(v, "entry", entry->name, "parameter %u has another type in its function", i);
  if (entry->kind == ENTRY_VIEW && f->effects & EFFECT_NOW && entry->every_us <= 0) return bad(v, "entry", entry->name, "reads the time and does not say how fresh");
  return ERR_NONE;
}

static Err check_params(const Verifier *v, const EntryDef *entry) {
  for (uint32_t i = 0; i < entry->param_count; i++) {
    const ParamDef *param = &entry->params[i];
    TRY(check_default(v, "parameter", param->name, param->default_function, param->type));
    TRY(check_limits(v, "parameter", param->name, param->limits, param->type));
    TRY(check_no_limits(v, "parameter", param->name, param->item_limits));
  }
  return ERR_NONE;
}

static Err check_entry(const Verifier *v, const EntryDef *entry) {
  uint64_t roles = v->module->role_count == 64 ? UINT64_MAX : (UINT64_C(1) << v->module->role_count) - 1;
  if (entry->kind >= ENTRY_KINDS || entry->cost >= COST_CLASSES) return bad(v, "entry", entry->name, "is of no known kind or cost");
  if (entry->access.roles & ~roles) return bad(v, "entry", entry->name, "names roles that are not there");
  TRY(check_entry_function(v, entry));
  bool is_view = entry->kind == ENTRY_VIEW;
  if (is_view && entry->result == TYPE_NONE) return bad(v, "entry", entry->name, "a view has a result");
  if (entry->paged && (!is_view || type_kind(v->types, entry->result) != TYPE_LIST)) return bad(v, "entry", entry->name, "only a view that is a list has pages");
  if (entry->every_us < 0 || (entry->every_us && !is_view)) return bad(v, "entry", entry->name, "a wrong `every`");
  return check_params(v, entry);
}

// Inputs and receives share the names that a caller can use; views have their own.
static Err check_entries(const Verifier *v) {
  const Module *m = v->module;
  if (m->entry_count > MODULE_ENTRIES_MAX) return err_say(ERR_LIMIT, v->out_text, "more than %d entries (MODULE_ENTRIES_MAX)", MODULE_ENTRIES_MAX);
  Str *names = mem_alloc((size_t)m->entry_count * sizeof *names + 1);
  if (!names) return err_say(ERR_MEMORY, v->out_text, "no memory to verify the module");
  Err err = ERR_NONE;
  for (int kind = 0; kind < ENTRY_KINDS && !err; kind++) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->entry_count; i++)
      if (m->entries[i].kind == kind) names[count++] = m->entries[i].name;
    err = check_unique(v, "entry", count, names, sizeof *names);
  }
  mem_free(names);
  for (uint32_t i = 0; i < m->entry_count && !err; i++) err = check_entry(v, &m->entries[i]);
  return err;
}

static Err check_roles(const Verifier *v) {
  const Module *m = v->module;
  if (m->role_count > MODULE_ROLES_MAX) return err_say(ERR_LIMIT, v->out_text, "more than %d roles (MODULE_ROLES_MAX)", MODULE_ROLES_MAX);
  TRY(UNIQUE(v, "role", m->role_count, m->roles));
  for (uint32_t i = 0; i < m->role_count; i++) {
    const RoleDef *role = &m->roles[i];
    if (role->function == NO_FUNCTION) continue;
    TRY(check_function_use(v, "role", role->name, role->function, (Wanted){FUNCTION_ROLE, TYPE_NONE, TYPE_NONE, true}));
    if (type_kind(v->types, m->functions[role->function].result) != TYPE_BOOL) return bad(v, "role", role->name, "its function does not give a bool");
  }
  return ERR_NONE;
}

static Err check_columns(const Verifier *v, const TableDef *table, const TableMeta *meta) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    const ColumnDef *column = &table->columns[i];
    if (!column->hidden) TRY(check_name(v, "column", column->name));
    TRY(check_default(v, "column", column->name, meta->columns[i].default_function, column->type));
    TRY(check_limits(v, "column", column->name, meta->columns[i].limits, column->type));
  }
  return ERR_NONE;
}

static Err check_table(const Verifier *v, uint32_t index) {
  const TableDef *table = &v->module->schema.tables[index];
  const TableMeta *meta = &v->module->table_meta[index];
  TRY(check_columns(v, table, meta));
  if (index == SCHEMA_STATE_TABLE) {
    bool is_plain = meta->check_function == NO_FUNCTION && meta->computed_count == 0;
    return is_plain ? ERR_NONE : bad(v, "table", table->name, "the state has neither check nor computed fields");
  }
  if (meta->check_function != NO_FUNCTION) TRY(check_row_function(v, "the check of table", table->name, meta->check_function, FUNCTION_CHECK, index, false));
  TRY(UNIQUE(v, "computed field", meta->computed_count, meta->computed));
  for (uint32_t i = 0; i < meta->computed_count; i++)
    TRY(check_row_function(v, "computed field", meta->computed[i].name, meta->computed[i].function, FUNCTION_COMPUTED, index, true));
  return ERR_NONE;
}

static Err check_timer_column(const Verifier *v, const TimerDef *timer) {
  const Schema *schema = &v->module->schema;
  if (timer->table >= schema->table_count || timer->table == SCHEMA_STATE_TABLE || timer->column >= schema->tables[timer->table].column_count)
    return bad(v, "timer", timer->name, "names a column that is not there");
  Type type = verify__type(v, schema->tables[timer->table].columns[timer->column].type);
  if (type.kind == TYPE_OPTIONAL) type = verify__type(v, type.of);
  return type.kind == TYPE_TIME ? ERR_NONE : bad(v, "timer", timer->name, "its column is not a time");
}

// A hidden column that the timer keeps something in.
static Err check_kept(const Verifier *v, const TimerDef *timer, uint16_t table, uint16_t column, TypeKind kind) {
  const TableDef *def = &v->module->schema.tables[table];
  bool is_hidden = column > 0 && column < def->column_count && def->columns[column].hidden;
  if (!is_hidden || verify__type(v, def->columns[column].type).kind != kind) return bad(v, "timer", timer->name, "has no hidden column for what it keeps");
  return ERR_NONE;
}

static Err check_timer_index(const Verifier *v, const TimerDef *timer, uint16_t column) {
  const TableDef *def = &v->module->schema.tables[timer->table];
  if (def->key[0] == column) return ERR_NONE;
  for (uint32_t i = 0; i < def->index_count; i++)
    if (def->indexes[i].columns[0].column == column) return ERR_NONE;
  return bad(v, "timer", timer->name, "has no index that starts with what it waits for");
}

static Err check_row_timer(const Verifier *v, const TimerDef *timer) {
  TRY(check_timer_column(v, timer));
  TRY(check_kept(v, timer, timer->table, timer->kept, TYPE_OPTIONAL));
  TypeId kept = v->module->schema.tables[timer->table].columns[timer->kept].type;
  if (verify__type(v, verify__type(v, kept).of).kind != TYPE_TIME) return bad(v, "timer", timer->name, "does not keep a time");
  TRY(check_kept(v, timer, timer->table, timer->tries, TYPE_INT));
  TRY(check_kept(v, timer, SCHEMA_STATE_TABLE, timer->begun, TYPE_BOOL));
  TRY(check_timer_index(v, timer, timer->kept));
  return check_row_function(v, "timer", timer->name, timer->function, FUNCTION_TIMER, timer->table, false);
}

static Err check_timer(const Verifier *v, const TimerDef *timer) {
  static const int64_t DAY_US = INT64_C(86400000000);
  Wanted wanted = {FUNCTION_TIMER, TYPE_NONE, TYPE_NONE, false};
  switch ((TimerKind)timer->kind) {
    case TIMER_EVERY:
      if (timer->period_us <= 0) return bad(v, "timer", timer->name, "its period is not above zero");
      TRY(check_kept(v, timer, SCHEMA_STATE_TABLE, timer->kept, TYPE_TIME));
      return check_function_use(v, "timer", timer->name, timer->function, wanted);
    case TIMER_DAILY:
      if (timer->period_us <= 0 || timer->period_us % DAY_US || timer->at_us < 0 || timer->at_us >= DAY_US) return bad(v, "timer", timer->name, "its days or its time of day are wrong");
      TRY(check_kept(v, timer, SCHEMA_STATE_TABLE, timer->kept, TYPE_TIME));
      return check_function_use(v, "timer", timer->name, timer->function, wanted);
    case TIMER_ROWS: return check_row_timer(v, timer);
    case TIMER_EXPIRE:
      if (timer->period_us < 0 || timer->function != NO_FUNCTION) return bad(v, "timer", timer->name, "an expiry has an age and no function");
      TRY(check_timer_column(v, timer));
      return check_timer_index(v, timer, timer->column);
    case TIMER_KINDS: break;
  }
  return bad(v, "timer", timer->name, "is of no known kind");
}

static Err check_timers(const Verifier *v) {
  TRY(UNIQUE(v, "timer", v->module->timer_count, v->module->timers));
  for (uint32_t i = 0; i < v->module->timer_count; i++) TRY(check_timer(v, &v->module->timers[i]));
  return ERR_NONE;
}

static Err check_settings(const Verifier *v) {
  const Module *m = v->module;
  TRY(UNIQUE(v, "setting", m->setting_count, m->settings));
  for (uint32_t i = 0; i < m->setting_count; i++) {
    TRY(check_type(v, "setting", m->settings[i].name, m->settings[i].type));
    TRY(check_default(v, "setting", m->settings[i].name, m->settings[i].default_function, m->settings[i].type));
  }
  return ERR_NONE;
}

static Err check_named(const Verifier *v, const char *what, uint32_t count, const NamedFunction *items, FunctionKind kind, bool gives_bool) {
  for (uint32_t i = 0; i < count; i++) {
    TRY(check_name(v, what, items[i].name));
    TRY(check_function_use(v, what, items[i].name, items[i].function, (Wanted){kind, TYPE_NONE, TYPE_NONE, gives_bool}));
    if (gives_bool && type_kind(v->types, v->module->functions[items[i].function].result) != TYPE_BOOL) return bad(v, what, items[i].name, "its function does not give a bool");
  }
  return ERR_NONE;
}

Err verify__declarations(Verifier *v) {
  const Module *m = v->module;
  TRY(check_name(v, "app", m->name));
  if (!zone_is_sound(&m->zone)) return bad(v, "zone", m->zone.name, "its transitions are out of order or its offsets too large");
  TRY(check_roles(v));
  TRY(check_entries(v));
  for (uint32_t i = 0; i < m->schema.table_count; i++) TRY(check_table(v, i));
  TRY(check_timers(v));
  TRY(check_settings(v));
  TRY(UNIQUE(v, "page", m->page_count, m->pages));
  TRY(check_named(v, "test", m->test_count, m->tests, FUNCTION_TEST, false));
  TRY(check_named(v, "always", m->always_count, m->always, FUNCTION_ALWAYS, true));
  TRY(check_field_rules(v));
  uint32_t word;
  if (!words_are_sound(m, &word)) return err_say(ERR_FORMAT, v->out_text, "old name %u is of nothing that is there, empty, or out of order", word);
  if (m->start_function == NO_FUNCTION) return ERR_NONE;
  return check_function_use(v, "start of", m->name, m->start_function, (Wanted){FUNCTION_START, TYPE_NONE, TYPE_NONE, false});
}
