// All that is wrong with the settings of an app is told in one line, since who starts it would else find out one by one.
#include "runtime/app/settings.h"

#include "runtime/app/args.h"
#include "runtime/app/call.h"

enum { NEAR_WORD_MAX = 40, NEAR_DISTANCE_MAX = 3 };

bool settings_is_column(Str name) {
  static const char PREFIX[] = "~setting ";
  return name.len >= sizeof PREFIX - 1 && memcmp(name.ptr, PREFIX, sizeof PREFIX - 1) == 0;
}

static int column_of(const Module *module, Str setting, Arena *arena) {
  Str name = arena_format(arena, "~setting " STR_FMT, STR_ARG(setting));
  return name.ptr ? schema_find_column(&module->schema.tables[SCHEMA_STATE_TABLE], name) : -1;
}

// ---- names ------------------------------------------------------------------------------------------

// Letters to change, add or leave out.
static unsigned distance(Str a, Str b) {
  if (a.len > NEAR_WORD_MAX || b.len > NEAR_WORD_MAX) return NEAR_WORD_MAX;
  unsigned row[NEAR_WORD_MAX + 1];
  for (unsigned j = 0; j <= b.len; j++) row[j] = j;
  for (unsigned i = 1; i <= a.len; i++) {
    unsigned corner = row[0];
    row[0] = i;
    for (unsigned j = 1; j <= b.len; j++) {
      unsigned best = corner + (a.ptr[i - 1] != b.ptr[j - 1]);
      corner = row[j];
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[b.len];
}

static int find_setting(const Module *module, Str name) {
  for (uint16_t i = 0; i < module->setting_count; i++)
    if (str_equal(module->settings[i].name, name)) return i;
  return -1;
}

static Str near_setting(const Module *module, Str name) {
  unsigned best = NEAR_DISTANCE_MAX;
  Str near = {0};
  for (uint16_t i = 0; i < module->setting_count; i++) {
    unsigned far = distance(name, module->settings[i].name);
    if (far >= best) continue;
    best = far;
    near = module->settings[i].name;
  }
  return near;
}

// ---- reading ----------------------------------------------------------------------------------------

static void add_words(Buf *wrong) {
  if (wrong->len) buf_add_text(wrong, "; ");
}

static void add_unknown(const Module *module, Str name, Buf *wrong) {
  Str near = near_setting(module, name);
  add_words(wrong);
  buf_add_format(wrong, "there is no setting `" STR_FMT "`", STR_ARG(name));
  if (near.len) buf_add_format(wrong, ", is it `" STR_FMT "`?", STR_ARG(near));
}

// The text of a secret might be part of what is said about it.
static void add_problems(const SettingDef *def, const ValueProblems *problems, Buf *wrong) {
  for (uint16_t i = 0; i < problems->count; i++) {
    add_words(wrong);
    if (def->secret) buf_add_format(wrong, "the setting `" STR_FMT "` is not what it must be", STR_ARG(def->name));
    else buf_add_format(wrong, "the setting `" STR_FMT "` " STR_FMT, STR_ARG(problems->items[i].path), STR_ARG(problems->items[i].message));
    if (def->secret) return;
  }
}

static Limits limits_of(const Module *module, const SettingValue *one) { return module->table_meta[SCHEMA_STATE_TABLE].columns[one->column].limits; }

static Err read_one(const Module *module, const AppSetting *given, Arena *arena, Settings *settings, Buf *wrong) {
  int index = find_setting(module, given->name);
  if (index < 0) {
    add_unknown(module, given->name, wrong);
    return ERR_NONE;
  }
  const SettingDef *def = &module->settings[index];
  SettingValue *one = &settings->items[index];
  ValueProblems problems = {.arena = arena};
  Value value;
  Str text = arena_copy(arena, given->value);  // texts of what is read point into it
  if (!text.ptr) return ERR_MEMORY;
  Err err = value_read_text(&module->schema.types, def->type, text, def->name, &problems, &value);
  if (err == ERR_NONE && limits_check(module, def->type, limits_of(module, one), value, def->name, &problems)) one->value = value;
  add_problems(def, &problems, wrong);
  one->given = true;  // and maybe wrong, which was said
  return err == ERR_FORMAT ? ERR_NONE : err;
}

static void add_missing(const Module *module, const Settings *settings, Buf *wrong) {
  uint32_t missing = 0;
  Str first = {0};
  for (uint16_t i = 0; i < module->setting_count; i++) {
    const SettingDef *def = &module->settings[i];
    bool optional = type_kind(&module->schema.types, def->type) == TYPE_OPTIONAL;
    if (settings->items[i].given || optional || def->default_function != NO_FUNCTION) continue;
    if (!missing++) {
      add_words(wrong);
      first = def->name;
    }
    buf_add_format(wrong, missing == 1 ? "settings without a value: `" STR_FMT "`" : ", `" STR_FMT "`", STR_ARG(def->name));
  }
  if (missing) buf_add_format(wrong, " (`--set " STR_FMT "=VALUE`)", STR_ARG(first));
}

static Err find_columns(const Module *module, Arena *arena, Settings *settings, ErrText *out_text) {
  for (uint16_t i = 0; i < module->setting_count; i++) {
    const SettingDef *def = &module->settings[i];
    int column = column_of(module, def->name, arena);
    bool sound = column > 0 && module->schema.tables[SCHEMA_STATE_TABLE].columns[column].type == def->type && module->schema.tables[SCHEMA_STATE_TABLE].columns[column].hidden;
    if (!sound) return err_say(ERR_REFUSED, out_text, "the module keeps no place for its setting `" STR_FMT "`: compile it again", STR_ARG(def->name));
    settings->items[i] = (SettingValue){.column = (uint16_t)column, .secret = def->secret, .value = value_zero(&module->schema.types, def->type)};
    settings->secret_count += def->secret;
  }
  return ERR_NONE;
}

Err settings_read(const Module *module, const AppSettings *given, Arena *arena, Settings *out_settings, ErrText *out_text) {
  *out_settings = (Settings){.count = module->setting_count, .items = ARENA_ARRAY(arena, SettingValue, module->setting_count + 1)};
  if (!out_settings->items) return err_say(ERR_MEMORY, out_text, "no memory for the settings");
  TRY(find_columns(module, arena, out_settings, out_text));
  Buf wrong;
  buf_init(&wrong, ERR_TEXT_BYTES);  // what does not fit the line is cut
  Err err = ERR_NONE;
  for (uint32_t i = 0; err == ERR_NONE && i < given->count; i++) err = read_one(module, &given->items[i], arena, out_settings, &wrong);
  if (err == ERR_NONE) add_missing(module, out_settings, &wrong);
  if (err != ERR_NONE) err = err_say(err, out_text, "no memory for the settings");
  else if (wrong.len || wrong.failed) err = err_say(ERR_REFUSED, out_text, STR_FMT, STR_ARG(buf_str(&wrong)));
  buf_free(&wrong);
  return err;
}

// ---- writing ----------------------------------------------------------------------------------------

static Err take_default(const SettingsWrite *write, const SettingDef *def, SettingValue *one, ErrText *out_text) {
  const Module *module = write->runner->module;
  if (one->given || def->default_function == NO_FUNCTION) return ERR_NONE;
  ValueProblems problems = {.arena = write->arena};
  Exec *exec;
  VmStatus status = runner_run(write->runner, RUN_INNER, def->default_function, write->call, NULL, &exec);
  if (status != VM_DONE) return err_say(ERR_REFUSED, out_text, "the default of the setting `" STR_FMT "` could not be worked out", STR_ARG(def->name));
  if (!value_copy(&module->schema.types, def->type, exec->result, write->arena, &one->value)) return err_say(ERR_MEMORY, out_text, "no memory for the settings");
  if (limits_check(module, def->type, limits_of(module, one), one->value, def->name, &problems)) return ERR_NONE;
  return err_say(ERR_REFUSED, out_text, "the default of the setting `" STR_FMT "` " STR_FMT, STR_ARG(def->name), STR_ARG(problems.items[0].message));
}

// Secrets stay out of the state.
static Err put(const SettingsWrite *write, const SettingDef *def, const SettingValue *one, bool *out_changed) {
  if (one->secret) return ERR_NONE;
  Value key = {.i = 0}, before;
  Row row;
  if (!row_find(txn_reader(write->txn), SCHEMA_STATE_TABLE, key, &row)) return ERR_NOT_FOUND;
  TRY(row_column(&row, one->column, write->arena, &before));
  if (value_equal(&write->runner->module->schema.types, def->type, before, one->value)) return ERR_NONE;
  *out_changed = true;
  return txn_update(write->txn, SCHEMA_STATE_TABLE, key, 1, &one->column, &one->value);
}

Err settings_write(const SettingsWrite *write, Settings *settings, bool *out_changed, ErrText *out_text) {
  const Module *module = write->runner->module;
  *out_changed = false;
  for (uint16_t i = 0; i < settings->count; i++) {
    TRY(take_default(write, &module->settings[i], &settings->items[i], out_text));
    Err err = put(write, &module->settings[i], &settings->items[i], out_changed);
    if (err != ERR_NONE) return err_say(err, out_text, "the settings could not be kept: %s", err_words(err));
  }
  return ERR_NONE;
}
