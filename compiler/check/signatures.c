// Parameters, results, defaults and limits of everything that has them, so that bodies can be checked in any order.
#include "compiler/check/internal.h"

#include <assert.h>

enum { MICROSECONDS = 1000000 };

// A default is a function without parameters; `was` and the rest of the field's mods are read in assemble.c.
Fn *default_fn(Check *check, const Decl *decl, const Field *field, TypeId type) {
  if (!field->initial) return NULL;
  Fn *fn = fn_new(check, FUNCTION_DEFAULT, decl, field->name);
  if (!fn) return NULL;
  fn->used = fn->result_known = true;
  fn->value = field->initial;
  fn->h.result = type;
  return fn;
}

// `names`: somebody outside knows the parameter by its name, so it may have had another.
static void refuse_field_mods(Check *check, const Field *field, bool names) {
  for (uint32_t i = 0; i < field->mods.count; i++) {
    const Mod *mod = &field->mods.items[i];
    if (mod->kind == MOD_MIN || mod->kind == MOD_MAX || (mod->kind == MOD_WAS && names)) continue;
    Diag *diag = diag_add(check->diags, DIAG_E311, mod->span, mod->kind == MOD_WAS ? "nobody outside of the app knows this parameter, so its old name means nothing" : "only a field of a table can be this");
    diag_help(check->diags, diag, "remove it");
  }
}

// ---- parameters -------------------------------------------------------------------------------

static void say_twice(Check *check, Name name, Span first) {
  Diag *diag = diag_add(check->diags, DIAG_E104, name.span, "a parameter called `" STR_FMT "` stands here already", SYM_ARG(check, name.sym));
  diag_label(check->diags, diag, first, "here");
}

static bool few_enough(Check *check, const Decl *decl, uint32_t count) {
  if (count <= ENTRY_PARAMS_MAX) return true;
  diag_add(check->diags, DIAG_E026, decl->name.span, "`" STR_FMT "` has %u parameters, at most %d are possible (ENTRY_PARAMS_MAX)", SYM_ARG(check, decl->name.sym), count, ENTRY_PARAMS_MAX);
  return false;
}

static Param *params_of(Check *check, const Decl *decl, const FieldList *fields) {
  if (!few_enough(check, decl, fields->count)) return NULL;
  Param *params = CHECK_ARRAY(check, Param, fields->count);
  if (!params) return NULL;
  for (uint32_t i = 0; i < fields->count; i++) {
    const Field *field = &fields->items[i];
    TypeId type = type_resolve(check, field->type);
    refuse_field_mods(check, field, decl->kind != DECL_FN && decl->kind != DECL_ACTION);
    params[i] = (Param){.sym = field->name.sym, .span = field->name.span, .type = type, .field = field,
                        .initial = default_fn(check, decl, field, type), .limits = limits_of(check, field, type)};
    for (uint32_t k = 0; k < i; k++)
      if (params[k].sym == params[i].sym) { say_twice(check, field->name, params[k].span); break; }
  }
  return params;
}

static FieldDef *param_fields(Check *check, const Param *params, uint32_t count) {
  FieldDef *fields = CHECK_ARRAY(check, FieldDef, count);
  for (uint32_t i = 0; fields && i < count; i++) fields[i] = (FieldDef){.name = sym_str(check, params[i].sym), .type = params[i].type};
  return fields;
}

static void function_signature(Check *check, Fn *fn) {
  const Decl *decl = fn->decl;
  fn->params = params_of(check, decl, &decl->function.params);
  fn->param_count = fn->params ? decl->function.params.count : 0;
  if (decl->function.result) {
    fn->h.result = type_resolve(check, decl->function.result);
    fn->result_known = true;
  } else if (fn->h.kind != FUNCTION_VIEW) {
    fn->result_known = true;
    if (fn->h.kind == FUNCTION_FN) {
      Diag *diag = diag_add(check->diags, DIAG_E216, decl->name.span, "the function `" STR_FMT "` does not say what it gives", SYM_ARG(check, decl->name.sym));
      diag_help(check->diags, diag, "write the type of its result: `fn " STR_FMT "(…) -> int`; what changes state is an `action`", SYM_ARG(check, decl->name.sym));
      fn->h.result = ID_POISON;
    }
  }
}

// ---- errors, outputs, settings ----------------------------------------------------------------

static void error_signature(Check *check, ErrorInfo *error) {
  const Decl *decl = error->decl;
  error->params = params_of(check, decl, &decl->function.params);
  error->param_count = error->params ? decl->function.params.count : 0;
  error->fields = param_fields(check, error->params, error->param_count);
  if (decl->title && decl->title->kind == EXPR_INTERP) {  // the message is a function of the parameters
    error->message = fn_new(check, FUNCTION_FN, decl, decl->name);
    if (!error->message) return;
    error->message->params = error->params;
    error->message->param_count = error->param_count;
    error->message->value = decl->title;
    error->message->used = error->message->result_known = true;
    error->message->h.result = ID_TEXT;
  }
  const Annot *status = annot_find(check, &decl->header.annots, "status");
  if (status) {
    const Expr *number = status->args.count == 1 ? status->args.items[0].value : NULL;
    if (number && number->kind == EXPR_INT && number->number >= 400 && number->number <= 499) error->status = (uint16_t)number->number;
    else diag_help(check->diags, diag_add(check->diags, DIAG_E312, status->span, "the status of an error is a number from 400 to 499"), "write `@status(409)`, for example");
  }
  const Annot *field = annot_find(check, &decl->header.annots, "field");
  if (field) {
    const Expr *name = field->args.count == 1 ? field->args.items[0].value : NULL;
    if (name && name->kind == EXPR_NAME) error->field = name->name.sym;
    else diag_help(check->diags, diag_add(check->diags, DIAG_E312, field->span, "`@field` names the field that an error is about"), "write `@field(name)`");
  }
}

static void output_signature(Check *check, OutputInfo *output) {
  output->params = params_of(check, output->decl, &output->decl->function.params);
  output->param_count = output->params ? output->decl->function.params.count : 0;
  output->fields = param_fields(check, output->params, output->param_count);
  Sym *syms = CHECK_ARRAY(check, Sym, output->param_count);
  bool sound = syms && output->fields;
  for (uint32_t i = 0; sound && i < output->param_count; i++) {
    syms[i] = output->params[i].sym;
    sound &= type_is_real(output->params[i].type);
  }
  if (sound) output->record = types_shape(&check->types, output->param_count, output->fields, syms);
}

static void setting_signature(Check *check, SettingInfo *setting) {
  setting->type = type_resolve(check, setting->field->type);
  setting->initial = default_fn(check, NULL, setting->field, setting->type);
  setting->limits = limits_of(check, setting->field, setting->type);
  kept_setting(check, setting);
}

static void role_signature(Check *check, RoleInfo *role) {
  if (!role->decl->role.value) return;
  role->fn = fn_new(check, FUNCTION_ROLE, role->decl, (Name){.sym = role->sym, .span = role->span});
  if (!role->fn) return;
  role->fn->used = role->fn->result_known = true;
  role->fn->value = role->decl->role.value;
  role->fn->h.result = ID_BOOL;
}

// ---- timers -----------------------------------------------------------------------------------

static bool duration_of(Check *check, const Expr *expr, int64_t *out_us) {
  if (!const_int(check, expr, ID_DURATION, out_us)) return false;
  if (*out_us > 0) return true;
  diag_help(check->diags, diag_add(check->diags, DIAG_E213, expr->span, "a timer needs a time above zero"), "write `1h`, for example");
  return false;
}

// "02:00" as microseconds after midnight.
static bool time_of_day(Check *check, const Expr *expr, int64_t *out_us) {
  Str t = expr->kind == EXPR_TEXT ? expr->text : STR("");
  bool digits = t.len == 5 && t.ptr[2] == ':';
  for (int i = 0; digits && i < 5; i++) digits = i == 2 || (t.ptr[i] >= '0' && t.ptr[i] <= '9');
  int hour = digits ? (t.ptr[0] - '0') * 10 + t.ptr[1] - '0' : 99, minute = digits ? (t.ptr[3] - '0') * 10 + t.ptr[4] - '0' : 99;
  if (hour < 24 && minute < 60) { *out_us = (hour * 60LL + minute) * 60 * MICROSECONDS; return true; }
  diag_help(check->diags, diag_add(check->diags, DIAG_E213, expr->span, "`at` names a time of the day"), "write `at \"02:00\"`");
  return false;
}

static void time_column(Check *check, TableInfo *table, Name name, TimerInfo *timer) {
  uint32_t column = column_find(check, table, name.sym);
  if (column == MAP_NOTHING) {
    Diag *diag = diag_add(check->diags, DIAG_E102, name.span, "the table `" STR_FMT "` has no field `" STR_FMT "`", STR_ARG(table->name), SYM_ARG(check, name.sym));
    near_columns(check, diag, table, name);
    return;
  }
  TypeId type = table->columns[column].type;
  if (type != ID_POISON && types_open(&check->types, type) != ID_TIME) {
    Str found = type_name(check, type);
    Diag *diag = diag_add(check->diags, DIAG_E201, name.span, "a time is needed here, this is %s" STR_FMT, type_article(found), STR_ARG(found));
    diag_label(check->diags, diag, table->columns[column].span, "it is declared here");
    return;
  }
  timer->table = table;
  timer->column = (uint16_t)column;
}

static void rows_timer(Check *check, TimerInfo *timer) {
  const Decl *decl = timer->decl;
  timer->kind = TIMER_ROWS;
  TableInfo *table = table_find(check, decl->timer.table.sym);
  if (!table) {
    Diag *diag = diag_add(check->diags, DIAG_E107, decl->timer.table.span, "there is no table called `" STR_FMT "`", SYM_ARG(check, decl->timer.table.sym));
    near_space(check, diag, SPACE_TYPE, decl->timer.table.sym);
    return;
  }
  Param *row = CHECK_NEW(check, Param);
  if (!row) return;
  *row = (Param){.sym = decl->timer.row.sym, .span = decl->timer.row.span, .type = table->ref, .limits = {NO_CONSTANT, NO_CONSTANT}};
  timer->fn->params = row;
  timer->fn->param_count = 1;
  const Expr *at = decl->timer.at;
  if (at && at->kind == EXPR_FIELD && at->field.base->kind == EXPR_NAME && at->field.base->name.sym == row->sym) time_column(check, table, at->field.name, timer);
  else diag_help(check->diags, diag_add(check->diags, DIAG_E213, at ? at->span : decl->span, "a timer for rows waits for a time that is a field of the row"),
                 "write `at " STR_FMT ".field`; a time that is computed goes into a field of its own", SYM_ARG(check, row->sym));
}

static void timer_signature(Check *check, TimerInfo *timer) {
  const Decl *decl = timer->decl;
  timer->fn = fn_new(check, FUNCTION_TIMER, decl, decl->name);
  if (!timer->fn) return;
  timer->fn->used = timer->fn->result_known = true;
  timer->fn->block = &decl->timer.block;
  if (decl->timer.row.sym) { rows_timer(check, timer); return; }
  timer->kind = decl->timer.at ? TIMER_DAILY : TIMER_EVERY;
  if (!duration_of(check, decl->timer.every, &timer->period_us) || !decl->timer.at) return;
  time_of_day(check, decl->timer.at, &timer->at_us);
  int64_t day = 86400LL * MICROSECONDS;
  if (timer->period_us % day) diag_help(check->diags, diag_add(check->diags, DIAG_E213, decl->timer.every->span, "with a time of the day the rhythm is whole days"), "write `every 1d at …`");
}

static void expire_timers(Check *check, TableInfo *table) {
  for (uint32_t i = 0; i < table->decl->table.items.count; i++) {
    const TableItem *item = &table->decl->table.items.items[i];
    if (item->kind != TABLE_EXPIRE) continue;
    TimerInfo *timer = LIST_ADD(check, &check->timers);
    if (!timer) return;
    Str name = arena_format(check->arena, STR_FMT "." STR_FMT, STR_ARG(table->name), SYM_ARG(check, item->name.sym));
    *timer = (TimerInfo){.decl = table->decl, .kind = TIMER_EXPIRE, .name = name};
    duration_of(check, item->value, &timer->period_us);
    time_column(check, table, item->name, timer);
  }
}

// ---- tables and state -------------------------------------------------------------------------

static void column_signatures(Check *check, TableInfo *table) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    ColumnInfo *column = &table->columns[i];
    if (!column->field) continue;
    column->limits = limits_of(check, column->field, column->type);
    column->initial = default_fn(check, table->decl, column->field, column->type);
    bool must = !table->decl && !column->initial && !types_is(&check->types, column->type, TYPE_OPTIONAL) && column->type != ID_POISON;
    if (must) {
      Diag *diag = diag_add(check->diags, DIAG_E205, column->span, "the state value `" STR_FMT "` needs a first value", SYM_ARG(check, column->sym));
      diag_help(check->diags, diag, "write `= …` behind its type, or make it optional with `?`");
    }
  }
}

static Fn *table_fn(Check *check, TableInfo *table, FunctionKind kind, const char *what) {
  Fn *fn = fn_new(check, kind, table->decl, (Name){.span = table->decl->name.span});
  if (!fn) return NULL;
  fn->h.name = arena_format(check->arena, STR_FMT " %s", STR_ARG(table->name), what);
  fn->self = table;
  fn->used = fn->result_known = true;
  return fn;
}

static void rules_signature(Check *check, TableInfo *table) {
  if (table_has_rules(table)) table->rules = table_fn(check, table, FUNCTION_CHECK, "check");
}

// Called once the hidden columns are known.
void insert_signatures(Check *check) {
  for (uint32_t i = 1; i < check->tables.count; i++) {
    TableInfo *table = check->tables.items[i];
    if (!table->has_hidden) continue;
    Fn *fn = table->insert = table_fn(check, table, FUNCTION_ACTION, "insert");
    if (!fn) return;
    uint32_t count = 0;
    while (count < table->column_count && !table->columns[count].hidden) count++;
    fn->self_is_params = true;
    fn->h.result = table->ref;
    fn->params = CHECK_ARRAY(check, Param, count);
    if (!fn->params) return;
    fn->param_count = count;
    for (uint32_t c = 0; c < count; c++)
      fn->params[c] = (Param){.sym = table->columns[c].sym, .span = table->columns[c].span, .type = table->columns[c].type, .limits = {NO_CONSTANT, NO_CONSTANT}};
  }
}

// ---- tests, invariants ------------------------------------------------------------------------

// An example that calls what gives nothing, or no bool, is a statement that must not fail; any other is an expectation.
static bool is_call_only(const Check *check, const Expr *example) {
  if (example->kind != EXPR_CALL || example->call.callee->kind != EXPR_NAME) return false;
  uint32_t value = space_find(check, SPACE_VALUE, example->call.callee->name.sym);
  const Fn *fn = value == MAP_NOTHING || check->values.items[value].kind != VALUE_FUNCTION ? NULL : check->values.items[value].fn;
  return fn && (fn->h.kind == FUNCTION_INPUT || fn->h.kind == FUNCTION_ACTION) && fn->h.result != ID_BOOL;
}

static StmtBlock *examples_of(Check *check, const Doc *doc) {
  StmtBlock *block = CHECK_NEW(check, StmtBlock);
  Stmt *stmts = CHECK_ARRAY(check, Stmt, doc->examples.count);
  Stmt **items = CHECK_ARRAY(check, Stmt *, doc->examples.count);
  if (!block || !stmts || !items) return NULL;
  for (uint32_t i = 0; i < doc->examples.count; i++) {
    Expr *example = doc->examples.items[i];
    stmts[i] = (Stmt){.kind = is_call_only(check, example) ? STMT_EXPR : STMT_EXPECT, .span = example->span, .value = example};
    items[i] = &stmts[i];
  }
  *block = (StmtBlock){.stmts = {.items = items, .count = doc->examples.count}, .span = doc->span};
  return block;
}

static void named_functions(Check *check) {
  for (uint32_t i = 0; i < check->tests.count + check->always.count; i++) {
    bool is_test = i < check->tests.count;
    FnRef *ref = is_test ? &check->tests.items[i] : &check->always.items[i - check->tests.count];
    ref->name = ref->decl->title && ref->decl->title->kind == EXPR_TEXT ? ref->decl->title->text : STR("");
    ref->fn = fn_new(check, is_test ? FUNCTION_TEST : FUNCTION_ALWAYS, ref->decl, (Name){.span = ref->decl->span});
    if (!ref->fn) return;
    ref->fn->h.name = ref->name;
    ref->fn->used = ref->fn->result_known = true;
    if (ref->of_doc) {
      ref->name = ref->fn->h.name = sym_str(check, ref->decl->name.sym);
      ref->fn->block = examples_of(check, ref->decl->doc);
      if (!ref->fn->block) check->failed = true;
      continue;
    }
    ref->fn->block = ref->decl->function.block;
    ref->fn->value = ref->decl->function.value;
    if (!is_test) ref->fn->h.result = ID_BOOL;
  }
}

void signatures_all(Check *check) {
  uint32_t declared = check->functions.count;
  for (uint32_t i = 0; i < declared && !check->failed; i++) {
    Fn *fn = check->functions.items[i];
    if (!fn->self && fn->h.kind != FUNCTION_START) function_signature(check, fn);
  }
  fields_settle(check);
  for (uint32_t i = 0; i < check->errors.count; i++) error_signature(check, &check->errors.items[i]);
  for (uint32_t i = 0; i < check->outputs.count; i++) output_signature(check, &check->outputs.items[i]);
  for (uint32_t i = 0; i < check->settings.count; i++) setting_signature(check, &check->settings.items[i]);
  for (uint32_t i = 0; i < check->roles.count; i++) role_signature(check, &check->roles.items[i]);
  uint32_t timer_count = check->timers.count;
  for (uint32_t i = 0; i < timer_count; i++) timer_signature(check, &check->timers.items[i]);
  for (uint32_t i = 0; i < check->tables.count && !check->failed; i++) column_signatures(check, check->tables.items[i]);
  for (uint32_t i = 1; i < check->tables.count && !check->failed; i++) {
    expire_timers(check, check->tables.items[i]);
    rules_signature(check, check->tables.items[i]);
  }
  named_functions(check);
}
