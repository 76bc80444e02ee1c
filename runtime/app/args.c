// Arguments from JSON and from query strings, by the entry's own description. All that is wrong is found in one pass.
#include "runtime/app/args.h"

#include "runtime/base/json.h"
#include "runtime/base/utf8.h"
#include "runtime/value/codec.h"

// ---- limits ---------------------------------------------------------------------------------------

static bool is_counted(TypeKind kind) { return kind == TYPE_LIST || kind == TYPE_SET || kind == TYPE_MAP; }

// What a limit is compared with: characters, items, or the value itself.
static int64_t size_of(TypeKind kind, Value value) {
  if (kind == TYPE_TEXT) return (int64_t)utf8_count(value.text);
  if (kind == TYPE_BYTES) return (int64_t)value.text.len;
  return value.list ? value.list->count / (kind == TYPE_MAP ? 2 : 1) : 0;
}

static void add_limit_problem(const Module *module, TypeId type, const Constant *limit, bool below, Str path, ValueProblems *problems) {
  TypeKind kind = type_kind(&module->schema.types, type);
  Buf words;
  buf_init(&words, 0);
  bool sized = kind == TYPE_TEXT || kind == TYPE_BYTES || is_counted(kind);
  value_write_text(&module->schema.types, limit->type, limit->value, &words);
  const char *unit = kind == TYPE_TEXT ? " characters" : kind == TYPE_BYTES ? " bytes" : is_counted(kind) ? " items" : "";
  Str shown = words.failed ? STR("the limit") : buf_str(&words);
  if (sized && kind == TYPE_TEXT && below && limit->value.i == 1) value_problem_add(problems, path, "must not be empty");
  else value_problem_add(problems, path, "must %s " STR_FMT "%s", below ? (sized ? "have at least" : "be at least") : (sized ? "have at most" : "be at most"), STR_ARG(shown), unit);
  buf_free(&words);
}

static int compare_limit(const Module *module, TypeId type, const Constant *limit, Value value) {
  TypeKind kind = type_kind(&module->schema.types, type);
  if (kind == TYPE_TEXT || kind == TYPE_BYTES || is_counted(kind)) {
    int64_t size = size_of(kind, value);
    return (size > limit->value.i) - (size < limit->value.i);
  }
  return value_compare(&module->schema.types, type, value, limit->value);
}

static bool within_limits(const Module *module, TypeId type, Limits limits, Value value, Str path, ValueProblems *problems) {
  const Constant *min = limits.min == NO_CONSTANT ? NULL : &module->constants[limits.min];
  const Constant *max = limits.max == NO_CONSTANT ? NULL : &module->constants[limits.max];
  bool below = min && compare_limit(module, type, min, value) < 0;
  bool above = !below && max && compare_limit(module, type, max, value) > 0;
  if (below || above) add_limit_problem(module, type, below ? min : max, below, path, problems);
  return !below && !above;
}

static Limits field_limits(const Module *module, FieldRule of) {
  for (uint32_t i = 0; i < module->field_rule_count; i++) {
    const FieldRule *one = &module->field_rules[i];
    if (one->owner == of.owner && one->tag == of.tag && one->field == of.field) return one->limits;
  }
  return (Limits){NO_CONSTANT, NO_CONSTANT};
}

// Of a record, or of a case: `of` says which.
static bool fields_within(const Module *module, FieldRule of, const Value *values, Str path, ValueProblems *problems) {
  const TypeTable *types = &module->schema.types;
  const CaseDef *one = of.tag == NO_CASE ? NULL : &types->enums[of.owner].cases[of.tag];
  const FieldDef *fields = one ? one->fields : types->records[of.owner].fields;
  uint16_t count = one ? one->field_count : types->records[of.owner].field_count;
  bool within = true;
  for (of.field = 0; of.field < count; of.field++) {
    Str inside = arena_format(problems->arena, STR_FMT "%s" STR_FMT, STR_ARG(path), path.len ? "." : "", STR_ARG(fields[of.field].name));
    within &= limits_check(module, fields[of.field].type, field_limits(module, of), record_field(values, of.field), inside, problems);
  }
  return within;
}

static bool variant_within(const Module *module, uint16_t number, const Variant *variant, Str path, ValueProblems *problems) {
  const EnumDef *def = &module->schema.types.enums[number];
  uint16_t tag = (uint16_t)variant_tag(variant);
  Str inside = arena_format(problems->arena, STR_FMT "%s" STR_FMT, STR_ARG(path), path.len ? "." : "", STR_ARG(def->cases[tag].name));
  return fields_within(module, (FieldRule){.owner = number, .tag = tag}, variant ? variant->fields : NULL, inside, problems);
}

static bool items_within(const Module *module, TypeId item, const List *list, Str path, ValueProblems *problems) {
  bool within = true;
  for (uint32_t i = 0; i < list_count(list); i++) {
    Str inside = arena_format(problems->arena, STR_FMT "[%u]", STR_ARG(path), i);
    within &= limits_check(module, item, (Limits){NO_CONSTANT, NO_CONSTANT}, list->items[i], inside, problems);
  }
  return within;
}

// Types nest at most TYPE_DEPTH_MAX deep, and so does this. Where no field has limits the parts need not be looked at.
bool limits_check(const Module *module, TypeId type, Limits limits, Value value, Str path, ValueProblems *problems) {
  const TypeTable *types = &module->schema.types;
  if (type_kind(types, type) == TYPE_OPTIONAL) {
    if (!value_is_some(types, type, value)) return true;
    value = value_open(types, type, value);
    type = types->types[type].of;
  }
  bool within = within_limits(module, type, limits, value, path, problems);
  if (!module->limits_fields || !within) return within;
  TypeKind kind = type_kind(types, type);
  if (kind == TYPE_RECORD) return fields_within(module, (FieldRule){.owner = types->types[type].of, .tag = NO_CASE}, value.record, path, problems);
  if (kind == TYPE_ENUM && !types->enums[types->types[type].of].plain) return variant_within(module, types->types[type].of, value.variant, path, problems);
  if (kind == TYPE_LIST || kind == TYPE_SET) return items_within(module, types->types[type].of, value.list, path, problems);
  return true;
}

// ---- parameters -----------------------------------------------------------------------------------

// One reading of arguments: what is read into, and which parameters (bits) were met, and which had a problem.
typedef struct Reading {
  const Module *module;
  const EntryDef *entry;
  ValueProblems *problems;
  Args *args;
  uint64_t seen, bad;
} Reading;

static const TypeTable *types_of(const Reading *reading) { return &reading->module->schema.types; }

// The type inside an optional.
static TypeId opened(const Reading *reading, TypeId type) {
  const TypeTable *types = types_of(reading);
  return type_kind(types, type) == TYPE_OPTIONAL ? types->types[type].of : type;
}

static int find_param(const EntryDef *entry, Str name) {
  for (uint16_t i = 0; i < entry->param_count; i++) {
    if (str_equal(entry->params[i].name, name)) return i;
  }
  return -1;
}

static bool may_be_left_out(const Reading *reading, const ParamDef *param) {
  return param->default_function != NO_FUNCTION || type_kind(types_of(reading), param->type) == TYPE_OPTIONAL;
}

static Err begin(Reading *reading) {
  *reading->args = (Args){.values = ARENA_ARRAY(reading->problems->arena, Value, reading->entry->param_count + 1)};
  return reading->args->values ? ERR_NONE : ERR_MEMORY;
}

// What every way of sending ends with: limits of what was given, and what is missing.
static Err finish(Reading *reading) {
  for (uint16_t i = 0; i < reading->entry->param_count; i++) {
    const ParamDef *param = &reading->entry->params[i];
    bool given = reading->args->given >> i & 1;
    if (reading->bad >> i & 1) continue;
    if (given) limits_check(reading->module, param->type, param->limits, reading->args->values[i], param->name, reading->problems);
    else if (!may_be_left_out(reading, param)) value_problem_add(reading->problems, param->name, "is missing");
  }
  return reading->problems->count ? ERR_FORMAT : ERR_NONE;
}

static void add_unknown(const Reading *reading, Str name) {
  value_problem_add(reading->problems, name, "is no parameter of `" STR_FMT "`", STR_ARG(reading->entry->name));
}

static void add_twice(Reading *reading, int index) {
  value_problem_add(reading->problems, reading->entry->params[index].name, "is there twice");
  reading->bad |= (uint64_t)1 << index;
}

// ---- JSON -------------------------------------------------------------------------------------------

static Err read_value(Reading *reading, JsonReader *reader, int index) {
  const ParamDef *param = &reading->entry->params[index];
  uint16_t before = reading->problems->count;
  JsonReader ahead = *reader;
  if (json_next(&ahead) == JSON_NULL && may_be_left_out(reading, param)) {
    *reader = ahead;
    return ERR_NONE;
  }
  Err err = value_read_json(types_of(reading), param->type, reader, param->name, reading->problems, &reading->args->values[index]);
  if (reader->event == JSON_ERROR) return ERR_FORMAT;
  if (err != ERR_NONE && err != ERR_FORMAT) return err;
  if (reading->problems->count > before || err != ERR_NONE) reading->bad |= (uint64_t)1 << index;
  else reading->args->given |= (uint64_t)1 << index;
  return ERR_NONE;
}

// One member of the object; its key was just read.
static Err read_member(Reading *reading, JsonReader *reader) {
  Str name;
  TRY(json_text(reader, reading->problems->arena, &name));
  int index = find_param(reading->entry, name);
  if (index < 0) add_unknown(reading, name);
  else if (reading->seen >> index & 1) add_twice(reading, index);
  if (index < 0 || reading->seen >> index & 1) return json_skip(reader, NULL);
  reading->seen |= (uint64_t)1 << index;
  return read_value(reading, reader, index);
}

static Err broken(const JsonReader *reader, ValueProblems *problems) {
  ErrText why;
  Err err = json_say_error(reader, &why);
  problems->count = 0;  // what was found before is no use to who sent no JSON
  value_problem_add(problems, (Str){0}, "the body is not JSON: %s", why.text);
  return err;
}

Err args_read_json(const Module *module, const EntryDef *entry, Str body, ValueProblems *problems, Args *out_args) {
  Reading reading = {.module = module, .entry = entry, .problems = problems, .args = out_args};
  TRY(begin(&reading));
  JsonReader reader;
  json_open(&reader, body);
  JsonEvent event = json_next(&reader);
  if (event == JSON_ERROR) return broken(&reader, problems);
  if (event != JSON_OBJECT) {
    value_problem_add(problems, (Str){0}, "the body must be a JSON object with a member for each parameter");
    return ERR_FORMAT;
  }
  while (json_next(&reader) == JSON_KEY) {
    Err err = read_member(&reading, &reader);
    if (reader.event == JSON_ERROR) return broken(&reader, problems);
    if (err != ERR_NONE) return err;
  }
  if (reader.event == JSON_OBJECT_END) json_next(&reader);
  if (reader.event != JSON_END) return broken(&reader, problems);
  return finish(&reading);
}

// ---- query strings ----------------------------------------------------------------------------------

typedef struct Pairs { const ArgPair *items; uint32_t count; } Pairs;

// The items of a list parameter: all pairs with its name.
static Err read_items(Reading *reading, const ParamDef *param, Pairs pairs, Value *out) {
  TypeId type = opened(reading, param->type);
  TypeId item = types_of(reading)->types[type].of;
  List *list = arena_alloc(reading->problems->arena, sizeof(List) + sizeof(Value) * pairs.count);
  if (!list) return ERR_MEMORY;
  *list = (List){.cap = pairs.count};
  for (uint32_t i = 0; i < pairs.count; i++) {
    if (!str_equal(pairs.items[i].name, param->name)) continue;
    TRY(value_read_text(types_of(reading), item, pairs.items[i].value, param->name, reading->problems, &list->items[list->count++]));
  }
  *out = (Value){.list = list};
  if (type != param->type) *out = value_some(types_of(reading), param->type, *out);
  return ERR_NONE;
}

static bool is_list(const Reading *reading, int index) {
  return type_kind(types_of(reading), opened(reading, reading->entry->params[index].type)) == TYPE_LIST;
}

static Err read_pair(Reading *reading, int index, Pairs pairs, const ArgPair *pair) {
  const ParamDef *param = &reading->entry->params[index];
  Value *out = &reading->args->values[index];
  bool is_json = pair->value.len && pair->value.ptr[0] == '[';
  Err err = is_list(reading, index) && !is_json ? read_items(reading, param, pairs, out)
                                                : value_read_text(types_of(reading), param->type, pair->value, param->name, reading->problems, out);
  if (err == ERR_NONE) reading->args->given |= (uint64_t)1 << index;
  if (err == ERR_FORMAT) reading->bad |= (uint64_t)1 << index;
  return err == ERR_FORMAT ? ERR_NONE : err;
}

Err args_read_pairs(const Module *module, const EntryDef *entry, const ArgPair *items, uint32_t count, ValueProblems *problems, Args *out_args) {
  Reading reading = {.module = module, .entry = entry, .problems = problems, .args = out_args};
  Pairs pairs = {items, count};
  TRY(begin(&reading));
  for (uint32_t i = 0; i < count; i++) {
    int index = find_param(entry, items[i].name);
    if (index < 0) {
      add_unknown(&reading, items[i].name);
    } else if (reading.seen >> index & 1) {
      if (!is_list(&reading, index)) add_twice(&reading, index);  // a list's items were all read with the first
    } else {
      reading.seen |= (uint64_t)1 << index;
      TRY(read_pair(&reading, index, pairs, &items[i]));
    }
  }
  return finish(&reading);
}
