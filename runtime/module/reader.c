// Bytes from anybody as a Module. The file is copied once, so that nobody can change it behind our back; then an Input
// walks over it, section by section. An Input that has met something wrong stays failed: its later reads give zeros and
// loops over counts end, so that the code below reads like the format and every reader asks once.
//
// A count is checked against the bytes that are left before anything of its size is allocated, so memory is bounded by
// a small multiple of the file's size. What stands in the file as an index is only copied here; module_verify checks it.
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/utf8.h"
#include "runtime/module/layout.h"
#include "runtime/value/codec.h"

typedef struct Input {
  Str left;
  const char *section, *start;
  Arena *arena;
  Module *module;
  const Str *names;
  uint32_t name_count;
  Err err;
  ErrText *out_text;
} Input;

static void fail(Input *in, Err err, const char *format, ...) PRINTF(3, 4);
static void fail(Input *in, Err err, const char *format, ...) {
  if (in->err) return;
  char words[ERR_TEXT_BYTES / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  in->err = err_say(err, in->out_text, "section %s, byte %zu: %s", in->section, (size_t)(in->left.ptr - in->start), words);
}

// ---- pieces -----------------------------------------------------------------------------------

static const char *take(Input *in, size_t size) {
  if (!in->err && in->left.len < size) fail(in, ERR_FORMAT, "the section ends too early");
  if (in->err) return NULL;
  const char *at = in->left.ptr;
  in->left = str_part(in->left, size, in->left.len);
  return at;
}

static uint8_t get_u8(Input *in) {
  const char *at = take(in, 1);
  return at ? (uint8_t)*at : 0;
}
static uint16_t get_u16(Input *in) {
  uint16_t number = 0;
  const char *at = take(in, sizeof number);
  if (at) memcpy(&number, at, sizeof number);
  return number;
}
static uint32_t get_u32(Input *in) {
  uint32_t number = 0;
  const char *at = take(in, sizeof number);
  if (at) memcpy(&number, at, sizeof number);
  return number;
}
static uint64_t get_u64(Input *in) {
  uint64_t number = 0;
  const char *at = take(in, sizeof number);
  if (at) memcpy(&number, at, sizeof number);
  return number;
}
static bool get_bool(Input *in) {
  uint8_t number = get_u8(in);
  if (number > 1) fail(in, ERR_FORMAT, "%u where 0 or 1 belongs", number);
  return number == 1;
}
static uint64_t get_varint(Input *in) {
  uint64_t number = 0;
  if (!in->err && varint_read(&in->left, &number)) fail(in, ERR_FORMAT, "a number is cut or too long");
  return in->err ? 0 : number;
}

static Str get_name(Input *in) {
  uint32_t index = get_u32(in);
  if (!in->err && index >= in->name_count) fail(in, ERR_FORMAT, "name %u of %u", index, in->name_count);
  return in->err ? STR("") : in->names[index];
}

// The count that was just read, when as many things of at least `bytes_min` each can still follow; else 0 and failed.
static uint32_t fit_count(Input *in, uint32_t count, uint32_t max, const char *max_name, size_t bytes_min, const char *what) {
  if (in->err) return 0;
  if (count > max) { fail(in, ERR_LIMIT, "%u %s, more than %u (%s)", count, what, max, max_name); return 0; }
  if (count > in->left.len / bytes_min) { fail(in, ERR_FORMAT, "%u %s do not fit into the %zu bytes that are left", count, what, in->left.len); return 0; }
  return count;
}

#define LIMIT(name) name, #name

static void *get_array(Input *in, uint32_t count, size_t size) {
  if (in->err) return NULL;
  void *array = arena_alloc_zero(in->arena, count, size);
  if (!array) fail(in, ERR_MEMORY, "no memory");
  return array;
}
#define ARRAY(in, type, count) ((type *)get_array((in), (count), sizeof(type)))

// `count` things of `size` bytes as they stand.
static const void *get_bytes(Input *in, uint32_t count, size_t size) {
  const char *at = take(in, (size_t)count * size);
  void *copy = at ? get_array(in, count, size) : NULL;
  if (copy && count) memcpy(copy, at, (size_t)count * size);
  return copy;
}

static void section_open(Input *in, LayoutSection section, Str bytes) {
  in->section = LAYOUT_SECTION_NAMES[section];
  in->left = bytes;
  in->start = bytes.ptr;
}

static void section_close(Input *in) {
  if (!in->err && in->left.len) fail(in, ERR_FORMAT, "%zu bytes too many", in->left.len);
}

// ---- shared parts -----------------------------------------------------------------------------

static Hints get_hints(Input *in) {
  Hints hints = {.count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 8, "hints")};
  Hint *items = ARRAY(in, Hint, hints.count);
  for (uint32_t i = 0; i < hints.count && !in->err; i++) {
    items[i].name = get_name(in);
    items[i].arguments = get_name(in);
  }
  hints.items = items;
  hints.doc = get_name(in);
  return hints;
}

static Limits get_limits(Input *in) {
  Limits limits;
  limits.min = get_u32(in);
  limits.max = get_u32(in);
  return limits;
}

static const FieldDef *get_fields(Input *in, uint16_t *out_count) {
  *out_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(FIELD_COUNT_MAX), 7, "fields");
  FieldDef *fields = ARRAY(in, FieldDef, *out_count);
  for (uint32_t i = 0; i < *out_count && !in->err; i++) {
    fields[i].name = get_name(in);
    fields[i].type = get_u16(in);
    fields[i].has_default = get_bool(in);
  }
  return fields;
}

static const NamedFunction *get_named_functions(Input *in, uint16_t *out_count) {
  *out_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(FUNCTION_COUNT_MAX), 6, "functions");
  NamedFunction *items = ARRAY(in, NamedFunction, *out_count);
  for (uint32_t i = 0; i < *out_count && !in->err; i++) {
    items[i].name = get_name(in);
    items[i].function = get_u16(in);
  }
  return items;
}

static void read_field_rules(Input *in) {
  Module *m = in->module;
  m->field_rule_count = fit_count(in, get_u32(in), LIMIT(FIELD_RULES_MAX), 18, "rules of fields");
  FieldRule *items = ARRAY(in, FieldRule, m->field_rule_count);
  for (uint32_t i = 0; i < m->field_rule_count && !in->err; i++) {
    items[i].owner = get_u16(in);
    items[i].tag = get_u16(in);
    items[i].field = get_u16(in);
    items[i].limits = get_limits(in);
    items[i].fallback = get_u32(in);
    m->limits_fields |= items[i].limits.min != NO_CONSTANT || items[i].limits.max != NO_CONSTANT;
  }
  m->field_rules = items;
}

static const NameWord *get_words(Input *in, uint32_t *out_count) {
  *out_count = fit_count(in, get_u32(in), LIMIT(MODULE_WORDS_MAX), 11, "old names");
  NameWord *items = ARRAY(in, NameWord, *out_count);
  for (uint32_t i = 0; i < *out_count && !in->err; i++) {
    items[i].kind = get_u8(in);
    items[i].owner = get_u16(in);
    items[i].part = get_u16(in);
    items[i].field = get_u16(in);
    items[i].old = get_name(in);
  }
  return items;
}

// ---- names, schema, app, constants ------------------------------------------------------------

static void read_names(Input *in) {
  uint32_t count = fit_count(in, get_u32(in), LIMIT(UINT32_MAX), 4, "names");
  Str *names = ARRAY(in, Str, count);
  for (uint32_t i = 0; i < count && !in->err; i++) {
    uint32_t len = get_u32(in);
    const char *at = take(in, len);
    if (!at) break;
    names[i] = (Str){at, len};
    if (memchr(at, 0, len)) fail(in, ERR_FORMAT, "name %u holds a zero byte", i);
    else if (!utf8_valid(names[i])) fail(in, ERR_FORMAT, "name %u is not UTF-8", i);
  }
  in->names = names;
  in->name_count = count;
}

static void read_schema(Input *in) {
  ErrText text = {{0}};
  in->module->schema_bytes = in->left;
  Err err = schema_decode(in->left, in->arena, &in->module->schema, &text);
  if (err) fail(in, err, "%s", text.text);
  schema_hash(in->module->schema_bytes, in->module->schema_hash);
  in->left.len = 0;
}

static void read_zone(Input *in) {
  Zone *zone = &in->module->zone;
  zone->name = get_name(in);
  zone->first_offset_s = (int32_t)get_u32(in);
  zone->count = fit_count(in, get_u32(in), LIMIT(MODULE_ZONE_TRANSITIONS_MAX), 12, "zone transitions");
  ZoneTransition *transitions = ARRAY(in, ZoneTransition, zone->count);
  for (uint32_t i = 0; i < zone->count && !in->err; i++) {
    transitions[i].at = (int64_t)get_u64(in);
    transitions[i].offset_s = (int32_t)get_u32(in);
  }
  zone->transitions = transitions;
}

static void read_app(Input *in) {
  Module *m = in->module;
  m->name = get_name(in);
  m->title = get_name(in);
  m->hints = get_hints(in);
  m->start_function = get_u16(in);
  m->file_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 4, "files");
  Str *files = ARRAY(in, Str, m->file_count);
  for (uint32_t i = 0; i < m->file_count && !in->err; i++) files[i] = get_name(in);
  m->files = files;
  read_zone(in);
}

static void read_constants(Input *in) {
  Module *m = in->module;
  m->constant_count = fit_count(in, get_u32(in), LIMIT(UINT32_MAX), 3, "constants");
  Constant *constants = ARRAY(in, Constant, m->constant_count);
  for (uint32_t i = 0; i < m->constant_count && !in->err; i++) {
    constants[i].type = get_u16(in);
    if (in->err) break;
    if (constants[i].type >= m->schema.types.count) { fail(in, ERR_FORMAT, "constant %u has type %u, of %u", i, constants[i].type, m->schema.types.count); break; }
    Err err = value_decode(&m->schema.types, constants[i].type, &in->left, in->arena, true, &constants[i].value);
    if (err) fail(in, err, "constant %u is not a value of its type", i);
  }
  m->constants = constants;
}

// ---- functions --------------------------------------------------------------------------------

static void read_aggregates(Input *in, Stage *stage) {
  fit_count(in, stage->aggregate_count, LIMIT(PLAN_AGGREGATES_MAX), 5, "aggregates");
  Aggregate *aggregates = ARRAY(in, Aggregate, in->err ? 0 : stage->aggregate_count);
  for (uint32_t i = 0; !in->err && i < stage->aggregate_count; i++) {
    aggregates[i].kind = get_u8(in);
    aggregates[i].from = get_u16(in);
    aggregates[i].to = get_u16(in);
  }
  stage->aggregates = aggregates;
}

static void read_stage(Input *in, Stage *stage) {
  stage->kind = get_u8(in);
  stage->flags = get_u8(in);
  uint16_t *const numbers[] = {&stage->block, &stage->from, &stage->to, &stage->table, &stage->index, &stage->equal_count,
                               &stage->key_count, &stage->carried_count, &stage->aggregate_count};
  for (size_t i = 0; i < countof(numbers); i++) *numbers[i] = get_u16(in);
  fit_count(in, stage->key_count, LIMIT(PLAN_KEYS_MAX), 3, "keys");
  stage->keys = get_bytes(in, stage->key_count, sizeof(uint16_t));
  stage->descending = get_bytes(in, stage->key_count, 1);
  fit_count(in, stage->carried_count, LIMIT(PLAN_CARRIED_MAX), 2, "carried registers");
  stage->carried = get_bytes(in, stage->carried_count, sizeof(uint16_t));
  read_aggregates(in, stage);
}

static void read_plans(Input *in, Function *function) {
  Plan *plans = ARRAY(in, Plan, function->plan_count);
  for (uint32_t i = 0; i < function->plan_count && !in->err; i++) {
    plans[i].stage_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(PLAN_STAGES_MAX), 20, "stages");
    Stage *stages = ARRAY(in, Stage, plans[i].stage_count);
    for (uint32_t k = 0; k < plans[i].stage_count && !in->err; k++) read_stage(in, &stages[k]);
    plans[i].stages = stages;
  }
  function->plans = plans;
}

static void read_lines(Input *in, Function *function) {
  function->line_count = fit_count(in, get_u32(in), LIMIT(FUNCTION_CODE_MAX), 3, "lines");
  LineEntry *lines = ARRAY(in, LineEntry, function->line_count);
  uint64_t pc = 0, line = 0;
  for (uint32_t i = 0; i < function->line_count && !in->err; i++) {
    uint64_t step = get_varint(in);
    line += (uint64_t)unzigzag(get_varint(in));
    uint64_t file = get_varint(in);
    if ((i && step == 0) || step >= function->code_count || (pc += step) >= function->code_count) fail(in, ERR_FORMAT, "line %u of a function is out of order or behind its code", i);
    if (line > UINT32_MAX || file >= in->module->file_count) fail(in, ERR_FORMAT, "line %u of a function names no place", i);
    lines[i] = (LineEntry){.pc = (uint32_t)pc, .line = (uint32_t)line, .file = (uint16_t)file};
  }
  function->lines = lines;
}

static void read_function(Input *in, Function *function) {
  function->name = get_name(in);
  function->kind = get_u8(in);
  function->effects = get_u8(in);
  function->param_count = get_u16(in);
  uint16_t register_count = get_u16(in);
  function->result = get_u16(in);
  uint16_t block_count = get_u16(in), plan_count = get_u16(in);
  uint32_t code_count = get_u32(in);
  function->register_count = (uint16_t)fit_count(in, register_count, LIMIT(FUNCTION_REGISTERS_MAX), sizeof(TypeId), "registers");
  function->registers = get_bytes(in, function->register_count, sizeof(TypeId));
  function->code_count = fit_count(in, code_count, LIMIT(FUNCTION_CODE_MAX), sizeof(Instruction), "instructions");
  function->code = get_bytes(in, function->code_count, sizeof(Instruction));
  function->block_count = (uint16_t)fit_count(in, block_count, LIMIT(FUNCTION_BLOCKS_MAX), sizeof(Block), "blocks");
  function->blocks = get_bytes(in, function->block_count, sizeof(Block));
  function->plan_count = (uint16_t)fit_count(in, plan_count, LIMIT(FUNCTION_PLANS_MAX), 2, "plans");
  read_plans(in, function);
  read_lines(in, function);
}

static void read_functions(Input *in) {
  Module *m = in->module;
  m->function_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(FUNCTION_COUNT_MAX), 24, "functions");
  Function *functions = ARRAY(in, Function, m->function_count);
  for (uint32_t i = 0; i < m->function_count && !in->err; i++) read_function(in, &functions[i]);
  m->functions = functions;
}

// ---- declarations -----------------------------------------------------------------------------

static void read_param(Input *in, ParamDef *param) {
  param->name = get_name(in);
  param->type = get_u16(in);
  param->default_function = get_u16(in);
  param->limits = get_limits(in);
  param->item_limits = get_limits(in);
  param->hints = get_hints(in);
}

static void read_entry(Input *in, EntryDef *entry) {
  entry->kind = get_u8(in);
  entry->cost = get_u8(in);
  entry->name = get_name(in);
  entry->function = get_u16(in);
  entry->result = get_u16(in);
  entry->access.everyone = get_bool(in);
  entry->access.signed_in = get_bool(in);
  entry->access.roles = get_u64(in);
  entry->paged = get_u32(in);
  entry->every_us = (int64_t)get_u64(in);
  entry->per_caller = get_bool(in);
  entry->hints = get_hints(in);
  entry->param_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(ENTRY_PARAMS_MAX), 30, "parameters");
  ParamDef *params = ARRAY(in, ParamDef, entry->param_count);
  for (uint32_t i = 0; i < entry->param_count && !in->err; i++) read_param(in, &params[i]);
  entry->params = params;
}

static void read_entries(Input *in) {
  Module *m = in->module;
  m->entry_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(MODULE_ENTRIES_MAX), 41, "entries");
  EntryDef *entries = ARRAY(in, EntryDef, m->entry_count);
  for (uint32_t i = 0; i < m->entry_count && !in->err; i++) read_entry(in, &entries[i]);
  m->entries = entries;
}

static void read_errors(Input *in) {
  Module *m = in->module;
  m->error_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 12, "errors");
  ErrorDef *errors = ARRAY(in, ErrorDef, m->error_count);
  for (uint32_t i = 0; i < m->error_count && !in->err; i++) {
    errors[i].name = get_name(in);
    errors[i].status = get_u16(in);
    errors[i].field = get_name(in);
    errors[i].fields = get_fields(in, &errors[i].field_count);
  }
  m->errors = errors;
}

static void read_roles(Input *in) {
  Module *m = in->module;
  m->role_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(MODULE_ROLES_MAX), 6, "roles");
  RoleDef *roles = ARRAY(in, RoleDef, m->role_count);
  for (uint32_t i = 0; i < m->role_count && !in->err; i++) {
    roles[i].name = get_name(in);
    roles[i].function = get_u16(in);
  }
  m->roles = roles;
}

static void read_computed(Input *in, TableMeta *meta) {
  meta->computed_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(SCHEMA_COLUMNS_MAX), 12, "computed fields");
  ComputedDef *computed = ARRAY(in, ComputedDef, meta->computed_count);
  for (uint32_t i = 0; i < meta->computed_count && !in->err; i++) {
    computed[i].name = get_name(in);
    computed[i].function = get_u16(in);
    computed[i].hints = get_hints(in);
  }
  meta->computed = computed;
}

static void read_table(Input *in, const TableDef *table, TableMeta *meta) {
  fit_count(in, table->column_count, LIMIT(SCHEMA_COLUMNS_MAX), 16, "columns");
  ColumnMeta *columns = ARRAY(in, ColumnMeta, table->column_count);
  for (uint32_t i = 0; i < table->column_count && !in->err; i++) {
    columns[i].default_function = get_u16(in);
    columns[i].limits = get_limits(in);
    columns[i].hints = get_hints(in);
  }
  meta->columns = columns;
  meta->check_function = get_u16(in);
  meta->hints = get_hints(in);
  read_computed(in, meta);
}

static void read_tables(Input *in) {
  Module *m = in->module;
  TableMeta *meta = ARRAY(in, TableMeta, m->schema.table_count);
  for (uint32_t i = 0; i < m->schema.table_count && !in->err; i++) read_table(in, &m->schema.tables[i], &meta[i]);
  m->table_meta = meta;
}

static void read_outputs(Input *in) {
  Module *m = in->module;
  m->output_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 12, "outputs");
  OutputDef *outputs = ARRAY(in, OutputDef, m->output_count);
  for (uint32_t i = 0; i < m->output_count && !in->err; i++) {
    outputs[i].name = get_name(in);
    outputs[i].fields = get_fields(in, &outputs[i].field_count);
    outputs[i].hints = get_hints(in);
  }
  m->outputs = outputs;
}

static void read_timers(Input *in) {
  Module *m = in->module;
  m->timer_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 33, "timers");
  TimerDef *timers = ARRAY(in, TimerDef, m->timer_count);
  for (uint32_t i = 0; i < m->timer_count && !in->err; i++) {
    timers[i].kind = get_u8(in);
    timers[i].name = get_name(in);
    timers[i].period_us = (int64_t)get_u64(in);
    timers[i].at_us = (int64_t)get_u64(in);
    timers[i].table = get_u16(in);
    timers[i].column = get_u16(in);
    timers[i].function = get_u16(in);
    timers[i].kept = get_u16(in);
    timers[i].tries = get_u16(in);
    timers[i].begun = get_u16(in);
  }
  m->timers = timers;
}

static void read_settings(Input *in) {
  Module *m = in->module;
  m->setting_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 15, "settings");
  SettingDef *settings = ARRAY(in, SettingDef, m->setting_count);
  for (uint32_t i = 0; i < m->setting_count && !in->err; i++) {
    settings[i].name = get_name(in);
    settings[i].type = get_u16(in);
    settings[i].default_function = get_u16(in);
    settings[i].secret = get_bool(in);
    settings[i].hints = get_hints(in);
  }
  m->settings = settings;
}

static void read_page(Input *in, PageDef *page) {
  page->name = get_name(in);
  page->title = get_name(in);
  page->hints = get_hints(in);
  page->item_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 12, "page items");
  PageItem *items = ARRAY(in, PageItem, page->item_count);
  for (uint32_t i = 0; i < page->item_count && !in->err; i++) {
    items[i].word = get_name(in);
    items[i].hints = get_hints(in);
    items[i].target_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 4, "targets");
    Str *targets = ARRAY(in, Str, items[i].target_count);
    for (uint32_t k = 0; k < items[i].target_count && !in->err; k++) targets[k] = get_name(in);
    items[i].targets = targets;
  }
  page->items = items;
}

static void read_pages(Input *in) {
  Module *m = in->module;
  m->page_count = (uint16_t)fit_count(in, get_u16(in), LIMIT(UINT16_MAX), 16, "pages");
  PageDef *pages = ARRAY(in, PageDef, m->page_count);
  for (uint32_t i = 0; i < m->page_count && !in->err; i++) read_page(in, &pages[i]);
  m->pages = pages;
}

static void read_section(Input *in, LayoutSection section) {
  Module *m = in->module;
  switch (section) {
    case SECTION_NAMES: read_names(in); break;
    case SECTION_SCHEMA: read_schema(in); break;
    case SECTION_APP: read_app(in); break;
    case SECTION_CONSTANTS: read_constants(in); break;
    case SECTION_FUNCTIONS: read_functions(in); break;
    case SECTION_ENTRIES: read_entries(in); break;
    case SECTION_ERRORS: read_errors(in); break;
    case SECTION_ROLES: read_roles(in); break;
    case SECTION_TABLES: read_tables(in); break;
    case SECTION_OUTPUTS: read_outputs(in); break;
    case SECTION_TIMERS: read_timers(in); break;
    case SECTION_SETTINGS: read_settings(in); break;
    case SECTION_PAGES: read_pages(in); break;
    case SECTION_TESTS: m->tests = get_named_functions(in, &m->test_count); break;
    case SECTION_ALWAYS: m->always = get_named_functions(in, &m->always_count); break;
    case SECTION_FIELDS: read_field_rules(in); break;
    case SECTION_WORDS: m->words = get_words(in, &m->word_count); break;
    case SECTION_COUNT_: break;
  }
}

// ---- header and contents ----------------------------------------------------------------------

static uint32_t u32_at(Str bytes, size_t at) {
  uint32_t number;
  memcpy(&number, bytes.ptr + at, sizeof number);
  return number;
}

// The version of the compiler is shown to people, so only plain characters of it are taken.
static Err read_compiler_version(Str file, Arena *arena, Str *out, ErrText *out_text) {
  const char *at = file.ptr + LAYOUT_COMPILER_AT;
  size_t len = strnlen(at, LAYOUT_COMPILER_BYTES);
  for (size_t i = 0; i < LAYOUT_COMPILER_BYTES; i++)
    if (i < len ? at[i] < 0x21 || at[i] > 0x7e : at[i] != 0) return err_say(ERR_FORMAT, out_text, "not a module: the compiler's version is not a text");
  *out = arena_copy(arena, (Str){at, len});
  return out->ptr ? ERR_NONE : err_say(ERR_MEMORY, out_text, "no memory");
}

static Err check_header(Str file, Arena *arena, Module *module, ErrText *out_text) {
  if (file.len < sizeof LAYOUT_MAGIC - 1 || memcmp(file.ptr, LAYOUT_MAGIC, sizeof LAYOUT_MAGIC - 1))
    return err_say(ERR_FORMAT, out_text, "not a module: it does not begin with \"" LAYOUT_MAGIC "\"");
  if (file.len > MODULE_BYTES_MAX) return err_say(ERR_LIMIT, out_text, "the module has %zu bytes, more than %d (MODULE_BYTES_MAX)", file.len, MODULE_BYTES_MAX);
  if (file.len < LAYOUT_HEADER_BYTES) return err_say(ERR_FORMAT, out_text, "the module is cut: it ends within its header");
  TRY(read_compiler_version(file, arena, &module->compiler_version, out_text));
  uint32_t version = u32_at(file, LAYOUT_VERSION_AT) & 0xFFFF;
  if (version != MODULE_FORMAT_VERSION)
    return err_say(ERR_VERSION, out_text, "the module has format version %u (made by aup " STR_FMT "); this is aup " AUP_VERSION ", which reads version %d: compile it again",
                   version, STR_ARG(module->compiler_version), MODULE_FORMAT_VERSION);
  if (u32_at(file, LAYOUT_VERSION_AT) >> 16) return err_say(ERR_VERSION, out_text, "the module has flags that this version of aup does not know");
  if (u32_at(file, LAYOUT_SIZE_AT) != file.len)
    return err_say(ERR_FORMAT, out_text, "the module is cut or lengthened: it should have %u bytes and has %zu", u32_at(file, LAYOUT_SIZE_AT), file.len);
  Hash hash = layout_hash(file);
  if (memcmp(hash.bytes, file.ptr + LAYOUT_HASH_AT, sizeof hash.bytes)) return err_say(ERR_FORMAT, out_text, "the module is damaged: its bytes do not have the hash that it names");
  memcpy(module->hash, hash.bytes, sizeof module->hash);
  return ERR_NONE;
}

// Sections stand one behind the other in the one order, so none can overlap another or hide something between them.
static Err read_contents(Str file, Str out_sections[SECTION_COUNT_], ErrText *out_text) {
  size_t at = LAYOUT_HEADER_BYTES + SECTION_COUNT_ * LAYOUT_ENTRY_BYTES;
  if (file.len < at || u32_at(file, LAYOUT_SIZE_AT + 4) != SECTION_COUNT_) return err_say(ERR_FORMAT, out_text, "the table of contents does not have %d sections", SECTION_COUNT_);
  for (uint32_t i = 0; i < SECTION_COUNT_; i++) {
    size_t entry = LAYOUT_HEADER_BYTES + i * LAYOUT_ENTRY_BYTES;
    uint32_t id = u32_at(file, entry), offset = u32_at(file, entry + 4), size = u32_at(file, entry + 8);
    if (id != i || offset != at || u32_at(file, entry + 12)) return err_say(ERR_FORMAT, out_text, "section %s is not where it belongs", LAYOUT_SECTION_NAMES[i]);
    if (size > file.len - at) return err_say(ERR_FORMAT, out_text, "section %s goes past the end of the module", LAYOUT_SECTION_NAMES[i]);
    out_sections[i] = str_part(file, at, at + size);
    at += size;
    for (; at % LAYOUT_ALIGN; at++)
      if (at == file.len || file.ptr[at]) return err_say(ERR_FORMAT, out_text, "no zeros stand behind section %s", LAYOUT_SECTION_NAMES[i]);
  }
  if (at != file.len) return err_say(ERR_FORMAT, out_text, "%zu bytes too many at the end of the module", file.len - at);
  return ERR_NONE;
}

// The defaults of fields stand beside the schema, which has them where JSON is read.
static void bind_fallbacks(Module *module) {
  const TypeTable *types = &module->schema.types;
  for (uint32_t i = 0; i < module->field_rule_count; i++) {
    const FieldRule *rule = &module->field_rules[i];
    if (rule->fallback == NO_CONSTANT) continue;
    const FieldDef *fields = rule->tag == NO_CASE ? types->records[rule->owner].fields : types->enums[rule->owner].cases[rule->tag].fields;
    ((FieldDef *)fields)[rule->field].fallback = &module->constants[rule->fallback].value;  // our own copy, made by schema_decode
  }
}

Err module_read(Str bytes, Arena *arena, Module **out_module, ErrText *out_text) {
  Str sections[SECTION_COUNT_];
  Module *module = ARENA_NEW(arena, Module);
  Str file = bytes.len <= MODULE_BYTES_MAX ? arena_copy(arena, bytes) : bytes;
  if (!module || !file.ptr) return err_say(ERR_MEMORY, out_text, "no memory for the module");
  TRY(check_header(file, arena, module, out_text));
  TRY(read_contents(file, sections, out_text));
  Input in = {.arena = arena, .module = module, .out_text = out_text};
  for (uint32_t i = 0; i < SECTION_COUNT_ && !in.err; i++) {
    section_open(&in, (LayoutSection)i, sections[i]);
    read_section(&in, (LayoutSection)i);
    section_close(&in);
  }
  TRY(in.err);
  TRY(module_verify(module, out_text));
  bind_fallbacks(module);
  *out_module = module;
  return ERR_NONE;
}
