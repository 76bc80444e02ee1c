// Makes stored state fit a module: a new store gets the module's schema and first state; stored state of another schema
// is moved over by names. What is moved without being looked at: tables, columns and state values of the same type
// (found by name, or by the name that `was` gives), enum cases added at the end, indexes added or gone. What is added: whole
// tables, and columns and state values that have a default or may be none. Everything else is refused with its reason;
// all reasons are told at once. Last, what is stored is held against limits (`min`, `max`) that the running module did not have.
#include <stdarg.h>
#include <stdio.h>

#include "runtime/app/app_internal.h"
#include "runtime/app/args.h"
#include "runtime/app/outbox.h"
#include "runtime/app/settings.h"

typedef struct Fit {
  App *app;
  const Module *module;
  const Schema *from, *to;
  Arena arena;
  Runner runner;        // for defaults; reads an empty state of the new shape
  VmCall call;
  ErrText *reasons;
  uint32_t reason_count;
  Err err;              // of memory or a default, not of the plan
} Fit;

enum { REASONS_SHOWN_MAX = 6, OFFENDERS_SHOWN_MAX = 5 };

static void refuse(Fit *fit, const char *format, ...) PRINTF(2, 3);
static void refuse(Fit *fit, const char *format, ...) {
  char line[200];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  fit->reason_count++;
  if (!fit->reasons || fit->reason_count > REASONS_SHOWN_MAX) return;
  ErrText before = fit->reasons ? *fit->reasons : (ErrText){{0}};
  (void)err_say(ERR_REFUSED, fit->reasons, "%s%s%s", fit->reason_count == 1 ? "" : before.text, fit->reason_count == 1 ? "" : "; ", line);
}

// ---- types of two modules -----------------------------------------------------------------------------

static bool same_type(const Fit *fit, TypeId a, TypeId b, unsigned depth);

static bool same_fields(const Fit *fit, uint16_t count, const FieldDef *a, const FieldDef *b, unsigned depth) {
  for (uint16_t i = 0; i < count; i++) {
    if (!str_equal(a[i].name, b[i].name) || !same_type(fit, a[i].type, b[i].type, depth)) return false;
  }
  return true;
}

// Cases may be added behind the old ones: what is stored keeps its number.
static bool same_enum(const Fit *fit, const EnumDef *a, const EnumDef *b, unsigned depth) {
  if (a->plain != b->plain || a->case_count > b->case_count) return false;
  for (uint16_t i = 0; i < a->case_count; i++) {
    const CaseDef *x = &a->cases[i], *y = &b->cases[i];
    if (!str_equal(x->name, y->name) || x->field_count != y->field_count || !same_fields(fit, x->field_count, x->fields, y->fields, depth)) return false;
  }
  return true;
}

static bool same_record(const Fit *fit, const RecordDef *a, const RecordDef *b, unsigned depth) {
  return a->field_count == b->field_count && same_fields(fit, a->field_count, a->fields, b->fields, depth);
}

static bool same_table(const Fit *fit, uint16_t a, uint16_t b);

static bool same_type(const Fit *fit, TypeId a, TypeId b, unsigned depth) {
  const TypeTable *from = &fit->from->types, *to = &fit->to->types;
  const Type *x = &from->types[a], *y = &to->types[b];
  if (x->kind != y->kind || x->scale != y->scale || depth == VALUE_DEPTH_MAX) return false;
  switch ((TypeKind)x->kind) {
    case TYPE_ENUM: return same_enum(fit, &from->enums[x->of], &to->enums[y->of], depth + 1);
    case TYPE_RECORD: return same_record(fit, &from->records[x->of], &to->records[y->of], depth + 1);
    case TYPE_OPTIONAL: case TYPE_LIST: case TYPE_SET: return same_type(fit, x->of, y->of, depth + 1);
    case TYPE_MAP: return same_type(fit, x->of, y->of, depth + 1) && same_type(fit, x->to, y->to, depth + 1);
    case TYPE_REF: return same_table(fit, x->of, y->of);
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: case TYPE_TIME:
    case TYPE_DATE: case TYPE_DURATION: case TYPE_KIND_COUNT: return true;
  }
  return false;
}

// ---- names ----------------------------------------------------------------------------------------------

static int find_was_table(const Fit *fit, uint16_t table) {
  uint32_t count;
  const NameWord *words = module_words(fit->module, (NameWord){.kind = WORD_TABLE, .owner = table}, &count);
  for (uint32_t i = 0; i < count; i++) {
    int found = schema_find_table(fit->from, words[i].old);
    if (found > 0) return found;
  }
  return -1;
}

static int find_was_column(const Fit *fit, const TableDef *from, uint16_t table, uint16_t column) {
  uint32_t count;
  const NameWord *words = module_words(fit->module, (NameWord){.kind = WORD_COLUMN, .owner = table, .part = column}, &count);
  for (uint32_t i = 0; i < count; i++) {
    int found = schema_find_column(from, words[i].old);
    if (found >= 0) return found;
  }
  return -1;
}

// The old table that the new one goes on with, or -1. A name that is there wins over what `was` says.
static int old_table(const Fit *fit, uint16_t table) {
  if (table == SCHEMA_STATE_TABLE) return SCHEMA_STATE_TABLE;
  int found = schema_find_table(fit->from, fit->to->tables[table].name);
  return found < 0 ? find_was_table(fit, table) : found;
}

static int old_column(const Fit *fit, const TableDef *from, uint16_t table, uint16_t column) {
  const ColumnDef *def = &fit->to->tables[table].columns[column];
  int found = schema_find_column(from, def->name);
  if (found >= 0 && settings_is_column(def->name) && !same_type(fit, from->columns[found].type, def->type, 0)) return -1;  // it is written anew
  return found < 0 ? find_was_column(fit, from, table, column) : found;
}

static bool same_table(const Fit *fit, uint16_t a, uint16_t b) { return old_table(fit, b) == a; }

static uint64_t rows_of(const Fit *fit, uint16_t old) { return reader_row_count(txn_reader(db_txn(store_db(fit->app->store))), old); }

// ---- columns --------------------------------------------------------------------------------------------

// "state value `count`" or "`Todo.title`".
static Str column_words(Fit *fit, const TableDef *table, const ColumnDef *column, bool is_state) {
  Str words = is_state ? arena_format(&fit->arena, "the state value `" STR_FMT "`", STR_ARG(column->name))
                       : arena_format(&fit->arena, "`" STR_FMT "." STR_FMT "`", STR_ARG(table->name), STR_ARG(column->name));
  return words.ptr ? words : column->name;
}

static void fill_default(Fit *fit, uint16_t function, TypeId type, Value *out) {
  Exec *exec;
  VmStatus status = runner_run(&fit->runner, RUN_INNER, function, &fit->call, NULL, &exec);
  if (status != VM_DONE || !value_copy(&fit->to->types, type, exec->result, &fit->arena, out)) fit->err = ERR_MEMORY;
}

static void plan_new_column(Fit *fit, uint16_t table, uint16_t column, uint64_t rows, ReshapeColumn *out) {
  const TableDef *def = &fit->to->tables[table];
  const ColumnDef *one = &def->columns[column];
  uint16_t function = fit->module->table_meta[table].columns[column].default_function;
  *out = (ReshapeColumn){.from = RESHAPE_NEW, .value = value_zero(&fit->to->types, one->type)};
  bool is_state = table == SCHEMA_STATE_TABLE;
  if (function != NO_FUNCTION) { fill_default(fit, function, one->type, &out->value); return; }
  if (is_state && one->hidden) return;  // the counter of a new table
  if (type_kind(&fit->to->types, one->type) == TYPE_OPTIONAL || rows == 0) return;
  if (one->hidden) {
    refuse(fit, "an index on a computed field of `" STR_FMT "` is new; not supported yet while the table has rows", STR_ARG(def->name));
    return;
  }
  Str words = column_words(fit, def, one, is_state);
  refuse(fit, STR_FMT " is new and %llu %s no value for it: give it a default, or make it optional with `?`", STR_ARG(words), (unsigned long long)rows,
         rows == 1 ? "row has" : "rows have");
}

static void plan_kept_column(Fit *fit, uint16_t table, uint16_t column, const TableDef *from, int old, ReshapeColumn *out) {
  const ColumnDef *one = &fit->to->tables[table].columns[column];
  *out = (ReshapeColumn){.from = (uint16_t)old};
  if (same_type(fit, from->columns[old].type, one->type, 0)) return;
  Buf before, after;
  buf_init(&before, 0);
  buf_init(&after, 0);
  type_write(&fit->from->types, from->columns[old].type, &before);
  type_write(&fit->to->types, one->type, &after);
  Str words = column_words(fit, &fit->to->tables[table], one, table == SCHEMA_STATE_TABLE);
  refuse(fit, STR_FMT " changes from " STR_FMT " to " STR_FMT ": not supported yet", STR_ARG(words), STR_ARG(buf_str(&before)), STR_ARG(buf_str(&after)));
  buf_free(&before);
  buf_free(&after);
}

static bool column_is_taken(const Fit *fit, uint16_t table, const TableDef *from, uint16_t old) {
  for (uint16_t i = 0; i < fit->to->tables[table].column_count; i++) {
    if (old_column(fit, from, table, i) == old) return true;
  }
  return false;
}

static void refuse_gone_columns(Fit *fit, uint16_t table, const TableDef *from) {
  bool is_state = table == SCHEMA_STATE_TABLE;
  for (uint16_t i = 0; i < from->column_count; i++) {
    if (from->columns[i].hidden || column_is_taken(fit, table, from, i)) continue;
    Str words = column_words(fit, from, &from->columns[i], is_state);
    refuse(fit, STR_FMT " is gone. Renamed? Write `was " STR_FMT "` behind its new name. Discarding it is not supported yet", STR_ARG(words), STR_ARG(from->columns[i].name));
  }
}

// ---- tables ---------------------------------------------------------------------------------------------

static bool same_key(const Fit *fit, const TableDef *from, uint16_t table) {
  const TableDef *to = &fit->to->tables[table];
  if (from->key_count != to->key_count || from->auto_key != to->auto_key) return false;
  for (uint16_t i = 0; i < to->key_count; i++) {
    if (old_column(fit, from, table, to->key[i]) != from->key[i]) return false;
  }
  return true;
}

static bool has_same_unique(const Fit *fit, const TableDef *from, uint16_t table, const IndexDef *index) {
  for (uint16_t i = 0; i < from->index_count; i++) {
    const IndexDef *old = &from->indexes[i];
    bool same = old->unique && old->column_count == index->column_count;
    for (uint16_t c = 0; same && c < index->column_count; c++) same = old_column(fit, from, table, index->columns[c].column) == old->columns[c].column;
    if (same) return true;
  }
  return false;
}

static void refuse_new_unique(Fit *fit, const TableDef *from, uint16_t table, uint64_t rows) {
  const TableDef *to = &fit->to->tables[table];
  for (uint16_t i = 0; i < to->index_count; i++) {
    if (rows < 2 || !to->indexes[i].unique || has_same_unique(fit, from, table, &to->indexes[i])) continue;
    refuse(fit, "a `unique` of `" STR_FMT "` is new and would have to be checked against %llu rows: not supported yet", STR_ARG(to->name), (unsigned long long)rows);
  }
}

static void plan_table(Fit *fit, uint16_t table, ReshapeTable *out) {
  const TableDef *to = &fit->to->tables[table];
  int old = old_table(fit, table);
  *out = (ReshapeTable){.from = RESHAPE_NEW};
  if (old < 0) return;
  const TableDef *from = &fit->from->tables[old];
  uint64_t rows = rows_of(fit, (uint16_t)old);
  ReshapeColumn *columns = ARENA_ARRAY(&fit->arena, ReshapeColumn, to->column_count);
  if (!columns) { fit->err = ERR_MEMORY; return; }
  *out = (ReshapeTable){.from = (uint16_t)old, .columns = columns};
  for (uint16_t i = 0; i < to->column_count; i++) {
    int column = old_column(fit, from, table, i);
    if (column < 0) plan_new_column(fit, table, i, rows, &columns[i]);
    else plan_kept_column(fit, table, i, from, column, &columns[i]);
  }
  refuse_gone_columns(fit, table, from);
  refuse_new_unique(fit, from, table, rows);
  if (!same_key(fit, from, table)) refuse(fit, "the key of `" STR_FMT "` changes: not supported yet", STR_ARG(to->name));
  if (to->rows_max && rows > to->rows_max) refuse(fit, "`" STR_FMT "` has %llu rows, more than its new `max`", STR_ARG(to->name), (unsigned long long)rows);
}

// Messages that wait for an output that is gone would wait for ever.
static void refuse_gone_outputs(Fit *fit, uint16_t outbox) {
  Range range = {.table = outbox, .index = SCHEMA_NO_INDEX};
  Cursor *cursor = NULL;
  uint64_t waiting = 0;
  Str first = {0};
  if (cursor_open(txn_reader(db_txn(store_db(fit->app->store))), &range, &fit->arena, &cursor) != ERR_NONE) { fit->err = ERR_MEMORY; return; }
  while (cursor_next(cursor)) {
    Value name;
    bool is_there = false;
    if (cursor_column(cursor, OUTBOX_OUTPUT, &fit->arena, &name) != ERR_NONE) { fit->err = ERR_MEMORY; return; }
    for (uint16_t i = 0; i < fit->module->output_count; i++) is_there |= str_equal(fit->module->outputs[i].name, name.text);
    if (is_there) continue;
    if (!waiting++) first = arena_copy(&fit->arena, name.text);
  }
  if (waiting) refuse(fit, "%llu messages wait for outputs that are gone, the first for `" STR_FMT "`: not supported yet", (unsigned long long)waiting, STR_ARG(first));
}

static void refuse_gone_tables(Fit *fit) {
  uint16_t outbox = outbox_find(fit->from);
  if (outbox != OUTBOX_NONE) refuse_gone_outputs(fit, outbox);
  for (uint16_t old = 1; old < fit->from->table_count; old++) {
    bool taken = false;
    for (uint16_t i = 1; i < fit->to->table_count; i++) taken |= old_table(fit, i) == old;
    Str name = fit->from->tables[old].name;
    bool is_kept = name.len && name.ptr[0] == '~';  // what a host keeps is of no use to an app without it: tokens end
    if (!taken && !is_kept) refuse(fit, "the table `" STR_FMT "` is gone. Renamed? Write `was " STR_FMT "` behind its new name. Discarding it is not supported yet", STR_ARG(name), STR_ARG(name));
  }
}

// ---- limits ---------------------------------------------------------------------------------------------

static bool same_limit(const Module *a, uint32_t x, const Module *b, uint32_t y) {
  if (x == NO_CONSTANT || y == NO_CONSTANT) return x == y;
  const Constant *p = &a->constants[x], *q = &b->constants[y];
  TypeKind kind = type_kind(&a->schema.types, p->type);
  return kind == type_kind(&b->schema.types, q->type) && a->schema.types.types[p->type].scale == b->schema.types.types[q->type].scale &&
         value_compare(&a->schema.types, p->type, p->value, q->value) == 0;
}

// May a stored value be outside of what the new module allows? Not where the running one allowed no more.
static bool may_be_outside(const Fit *fit, uint16_t table, uint16_t column, uint16_t old, uint16_t old_at) {
  const Module *to = fit->module, *from = fit->app->module ? fit->app->module->module : NULL;
  Limits limits = to->table_meta[table].columns[column].limits;
  if (to->schema.tables[table].columns[column].hidden) return false;
  if (to->limits_fields) return true;  // it may hold a record or case that has some
  if (limits.min == NO_CONSTANT && limits.max == NO_CONSTANT) return false;
  if (!from) return true;
  Limits before = from->table_meta[old].columns[old_at].limits;
  return !same_limit(from, before.min, to, limits.min) || !same_limit(from, before.max, to, limits.max);
}

typedef struct Outside { uint64_t rows; Buf keys; } Outside;

static Err find_outside(const Fit *fit, Cursor *cursor, uint16_t table, uint16_t column, uint16_t old_at, Outside *outside) {
  const ColumnDef *one = &fit->to->tables[table].columns[column];
  Arena arena;
  Err err = ERR_NONE;
  arena_init(&arena, 0);
  while (err == ERR_NONE && cursor_next(cursor)) {
    ValueProblems problems = {.arena = &arena};
    Value value, key;
    err = cursor_column(cursor, old_at, &arena, &value);
    if (err != ERR_NONE || limits_check(fit->module, one->type, fit->module->table_meta[table].columns[column].limits, value, one->name, &problems)) {
      arena_reset(&arena);
      continue;
    }
    err = cursor_key(cursor, &arena, &key);
    if (err == ERR_NONE && outside->rows++ < OFFENDERS_SHOWN_MAX) {
      if (outside->keys.len) buf_add_text(&outside->keys, ", ");
      value_write_json(&fit->to->types, fit->to->types.table_keys[table], key, &outside->keys);
    }
    arena_reset(&arena);
  }
  arena_free(&arena);
  return err;
}

static void check_column(Fit *fit, uint16_t table, uint16_t column, uint16_t old, uint16_t old_at) {
  const TableDef *def = &fit->to->tables[table];
  Range range = {.table = old, .index = SCHEMA_NO_INDEX};
  Outside outside = {0};
  Cursor *cursor = NULL;
  buf_init(&outside.keys, 0);
  Err err = cursor_open(txn_reader(db_txn(store_db(fit->app->store))), &range, &fit->arena, &cursor);
  if (err == ERR_NONE) err = find_outside(fit, cursor, table, column, old_at, &outside);
  if (err != ERR_NONE) fit->err = err;
  bool is_state = table == SCHEMA_STATE_TABLE;
  Str words = column_words(fit, def, &def->columns[column], is_state);
  if (outside.rows && is_state) refuse(fit, STR_FMT " is outside of its new limits", STR_ARG(words));
  else if (outside.rows)
    refuse(fit, STR_FMT ": %llu %s outside of its new limits, with the keys " STR_FMT "%s", STR_ARG(words), (unsigned long long)outside.rows,
           outside.rows == 1 ? "row is" : "rows are", STR_ARG(buf_str(&outside.keys)), outside.rows > OFFENDERS_SHOWN_MAX ? ", …" : "");
  buf_free(&outside.keys);
}

// What is stored keeps what the new module says of it. Types are the same by now.
static Err check_limits(Fit *fit, ErrText *out_text) {
  for (uint16_t table = 0; table < fit->to->table_count; table++) {
    int old = old_table(fit, table);
    for (uint16_t i = 0; old >= 0 && i < fit->to->tables[table].column_count; i++) {
      int at = old_column(fit, &fit->from->tables[old], table, i);
      if (at >= 0 && may_be_outside(fit, table, i, (uint16_t)old, (uint16_t)at)) check_column(fit, table, i, (uint16_t)old, (uint16_t)at);
    }
  }
  if (fit->reason_count) return ERR_REFUSED;
  return fit->err == ERR_NONE ? ERR_NONE : err_say(fit->err, out_text, "no memory to check what is stored");
}

// ---- doing it -------------------------------------------------------------------------------------------

static Err save_shape(App *app, const AppModule *module, const ReshapeTable *tables, ErrText *out_text) {
  TRY(store_save_module(app->store, module->module->hash, module->bytes, out_text));
  return store_set_schema(app->store, &module->module->schema, module->module->hash, tables, out_text);
}

static Err plan_and_move(Fit *fit, const AppModule *module, ErrText *out_text) {
  ReshapeTable *tables = ARENA_ARRAY(&fit->arena, ReshapeTable, fit->to->table_count);
  if (!tables) return err_say(ERR_MEMORY, out_text, "no memory to plan the change");
  for (uint16_t i = 0; i < fit->to->table_count; i++) plan_table(fit, i, &tables[i]);
  refuse_gone_tables(fit);
  if (fit->reason_count) return ERR_REFUSED;
  if (fit->err != ERR_NONE) return err_say(fit->err, out_text, "the default of a new field or state value could not be found out");
  TRY(check_limits(fit, out_text));
  return save_shape(fit->app, module, tables, out_text);
}

static Err move_state(App *app, const AppModule *module, ErrText *out_text) {
  Fit fit = {.app = app, .module = module->module, .from = store_schema(app->store), .to = &module->module->schema, .reasons = out_text};
  Db *empty;
  if (db_open(fit.to, 0, &empty) != ERR_NONE) return err_say(ERR_MEMORY, out_text, "no memory to plan the change");
  arena_init(&fit.arena, 0);
  runner_init(&fit.runner, &app->owner.limits, app->options.log);
  runner_use(&fit.runner, module->module, txn_reader(db_txn(empty)), NULL);
  fit.call = (VmCall){.now_us = app__now(app), .seed = app__seed(app)};
  Err err = plan_and_move(&fit, module, out_text);
  runner_free(&fit.runner);
  arena_free(&fit.arena);
  db_free(empty);
  return err;
}

static Err check_same_shape(App *app, const AppModule *module, ErrText *out_text) {
  Fit fit = {.app = app, .module = module->module, .from = store_schema(app->store), .to = &module->module->schema, .reasons = out_text};
  arena_init(&fit.arena, 0);
  Err err = check_limits(&fit, out_text);
  arena_free(&fit.arena);
  return err;
}

Err app__fit_state(App *app, const AppModule *module, ErrText *out_text) {
  const StoreInfo *info = store_info(app->store);
  if (info->is_new) return save_shape(app, module, NULL, out_text);
  if (memcmp(info->module_hash, module->module->hash, sizeof info->module_hash) == 0) return ERR_NONE;
  if (memcmp(info->schema_hash, module->module->schema_hash, sizeof info->schema_hash) != 0) return move_state(app, module, out_text);
  TRY(check_same_shape(app, module, out_text));
  return save_shape(app, module, NULL, out_text);
}

Err app__start_state(App *app, ErrText *out_text) {
  Arena arena;
  arena_init(&arena, 0);
  Txn *txn = db_txn(store_db(app->store));
  AppOutcome outcome = {0};
  VmCall call = {.now_us = app__now(app), .seed = app__seed(app)};
  runner_use(&app->owner, app->module->module, txn_reader(txn), txn);
  app->owner.context.caller = (AppCaller){0};
  VmStatus status = runner_start_state(&app->owner, &call, &outcome, &arena);
  Err err = ERR_NONE;
  if (status != VM_DONE) err = err_say(ERR_REFUSED, out_text, "the app's first state cannot be made: " STR_FMT, STR_ARG(outcome.problem.detail));
  uint64_t number;
  if (err == ERR_NONE) err = store_commit(app->store, NULL, 0, &number, out_text);
  if (err != ERR_NONE) txn_undo(txn, (TxnMark){0});
  else store_wait(app->store);
  arena_free(&arena);
  return err == ERR_NONE ? store_error(app->store, out_text) : err;
}

Err app__set_settings(App *app, bool is_new, ErrText *out_text) {
  AppModule *module = app->module;
  Txn *txn = db_txn(store_db(app->store));
  VmCall call = {.now_us = app__now(app), .seed = app__seed(app)};
  runner_use(&app->owner, module->module, txn_reader(txn), txn);
  app->owner.context.caller = (AppCaller){0};
  SettingsWrite write = {&app->owner, txn, &call, &module->arena};
  bool changed;
  uint64_t number;
  Err err = settings_write(&write, &module->settings, &changed, out_text);
  if (err == ERR_NONE && (!changed || is_new)) return ERR_NONE;
  if (err == ERR_NONE) err = store_commit(app->store, NULL, 0, &number, out_text);
  if (err != ERR_NONE) txn_undo(txn, (TxnMark){0});
  else store_wait(app->store);
  return err == ERR_NONE ? store_error(app->store, out_text) : err;
}
