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

bool limits_check(const Module *module, TypeId type, Limits limits, Value value, Str path, ValueProblems *problems) {
  const TypeTable *types = &module->schema.types;
  if (type_kind(types, type) == TYPE_OPTIONAL) {
    if (!value_is_some(types, type, value)) return true;
    value = value_open(types, type, value);
    type = types->types[type].of;
  }
  const Constant *min = limits.min == NO_CONSTANT ? NULL : &module->constants[limits.min];
  const Constant *max = limits.max == NO_CONSTANT ? NULL : &module->constants[limits.max];
  bool below = min && compare_limit(module, type, min, value) < 0;
  bool above = !below && max && compare_limit(module, type, max, value) > 0;
  if (below || above) add_limit_problem(module, type, below ? min : max, below, path, problems);
  return !below && !above;
}

// ---- parameters -----------------------------------------------------------------------------------

static int find_param(const EntryDef *entry, Str name) {
  for (uint16_t i = 0; i < entry->param_count; i++) {
    if (str_equal(entry->params[i].name, name)) return i;
  }
  return -1;
}

static bool may_be_left_out(const Module *module, const ParamDef *param) {
  return param->default_function != NO_FUNCTION || type_kind(&module->schema.types, param->type) == TYPE_OPTIONAL;
}

// What every way of sending ends with: limits of what was given, and what is missing.
static Err finish(const Module *module, const EntryDef *entry, ValueProblems *problems, const Args *args, uint64_t bad) {
  for (uint16_t i = 0; i < entry->param_count; i++) {
    const ParamDef *param = &entry->params[i];
    if (bad >> i & 1) continue;
    if (args->given >> i & 1) limits_check(module, param->type, param->limits, args->values[i], param->name, problems);
    else if (!may_be_left_out(module, param)) value_problem_add(problems, param->name, "is missing");
  }
  return problems->count ? ERR_FORMAT : ERR_NONE;
}

static Err begin(const EntryDef *entry, ValueProblems *problems, Args *args) {
  *args = (Args){.values = ARENA_ARRAY(problems->arena, Value, entry->param_count + 1)};
  return args->values ? ERR_NONE : ERR_MEMORY;
}

// One member of the object; its key was just read. `seen` has the parameters met so far, `bad` those with a problem.
static Err read_member(const Module *module, const EntryDef *entry, JsonReader *reader, ValueProblems *problems, Args *args, uint64_t *seen, uint64_t *bad) {
  Str name;
  TRY(json_text(reader, problems->arena, &name));
  int index = find_param(entry, name);
  if (index < 0) {
    value_problem_add(problems, name, "is no parameter of `" STR_FMT "`", STR_ARG(entry->name));
    return json_skip(reader, NULL);
  }
  const ParamDef *param = &entry->params[index];
  uint64_t bit = (uint64_t)1 << index;
  if (*seen & bit) {
    value_problem_add(problems, name, "is there twice");
    *bad |= bit;
    return json_skip(reader, NULL);
  }
  *seen |= bit;
  JsonReader ahead = *reader;
  bool optional = type_kind(&module->schema.types, param->type) == TYPE_OPTIONAL;
  if (json_next(&ahead) == JSON_NULL && (optional || may_be_left_out(module, param))) {
    *reader = ahead;
    return ERR_NONE;
  }
  uint16_t before = problems->count;
  Err err = value_read_json(&module->schema.types, param->type, reader, param->name, problems, &args->values[index]);
  if (err == ERR_FORMAT && reader->event == JSON_ERROR) return err;
  if (err != ERR_NONE && err != ERR_FORMAT) return err;
  if (problems->count > before || err != ERR_NONE) *bad |= bit;
  else args->given |= bit;
  return ERR_NONE;
}

static Err broken(const JsonReader *reader, ValueProblems *problems) {
  ErrText why;
  Err err = json_say_error(reader, &why);
  problems->count = 0;  // what was found before is no use to who sent no JSON
  value_problem_add(problems, (Str){0}, "the body is not JSON: %s", why.text);
  return err;
}

Err args_read_json(const Module *module, const EntryDef *entry, Str body, ValueProblems *problems, Args *out_args) {
  TRY(begin(entry, problems, out_args));
  uint64_t seen = 0, bad = 0;
  JsonReader reader;
  json_open(&reader, body);
  JsonEvent event = json_next(&reader);
  if (event == JSON_ERROR) return broken(&reader, problems);
  if (event != JSON_OBJECT) {
    value_problem_add(problems, (Str){0}, "the body must be a JSON object with a member for each parameter");
    return ERR_FORMAT;
  }
  while (json_next(&reader) == JSON_KEY) {
    Err err = read_member(module, entry, &reader, problems, out_args, &seen, &bad);
    if (reader.event == JSON_ERROR) return broken(&reader, problems);
    if (err != ERR_NONE) return err;
  }
  if (reader.event == JSON_OBJECT_END) json_next(&reader);
  if (reader.event != JSON_END) return broken(&reader, problems);
  return finish(module, entry, problems, out_args, bad);
}

// ---- query strings ----------------------------------------------------------------------------------

// The items of a list parameter: all pairs with its name, or one that is a JSON array.
static Err read_items(const Module *module, const ParamDef *param, const ArgPair *pairs, uint32_t count, ValueProblems *problems, Value *out) {
  const TypeTable *types = &module->schema.types;
  TypeId type = type_kind(types, param->type) == TYPE_OPTIONAL ? types->types[param->type].of : param->type;
  TypeId item = types->types[type].of;
  List *list = arena_alloc(problems->arena, sizeof(List) + sizeof(Value) * count);
  if (!list) return ERR_MEMORY;
  *list = (List){.cap = count};
  for (uint32_t i = 0; i < count; i++) {
    if (!str_equal(pairs[i].name, param->name)) continue;
    TRY(value_read_text(types, item, pairs[i].value, param->name, problems, &list->items[list->count++]));
  }
  *out = (Value){.list = list};
  if (type != param->type) *out = value_some(types, param->type, *out);
  return ERR_NONE;
}

static Err read_pair(const Module *module, const EntryDef *entry, int index, const ArgPair *pairs, uint32_t count, uint32_t at, ValueProblems *problems, Value *out) {
  const ParamDef *param = &entry->params[index];
  const TypeTable *types = &module->schema.types;
  TypeId type = type_kind(types, param->type) == TYPE_OPTIONAL ? types->types[param->type].of : param->type;
  bool is_json = pairs[at].value.len && pairs[at].value.ptr[0] == '[';
  if (type_kind(types, type) == TYPE_LIST && !is_json) return read_items(module, param, pairs, count, problems, out);
  return value_read_text(types, param->type, pairs[at].value, param->name, problems, out);
}

Err args_read_pairs(const Module *module, const EntryDef *entry, const ArgPair *pairs, uint32_t count, ValueProblems *problems, Args *out_args) {
  TRY(begin(entry, problems, out_args));
  uint64_t seen = 0, bad = 0;
  for (uint32_t i = 0; i < count; i++) {
    int index = find_param(entry, pairs[i].name);
    if (index < 0) {
      value_problem_add(problems, pairs[i].name, "is no parameter of `" STR_FMT "`", STR_ARG(entry->name));
      continue;
    }
    uint64_t bit = (uint64_t)1 << index;
    const TypeTable *types = &module->schema.types;
    TypeId type = entry->params[index].type;
    if (type_kind(types, type) == TYPE_OPTIONAL) type = types->types[type].of;
    if (seen & bit) {
      if (type_kind(types, type) == TYPE_LIST) continue;  // repetition: read with the first
      value_problem_add(problems, pairs[i].name, "is there twice");
      bad |= bit;
      continue;
    }
    seen |= bit;
    Err err = read_pair(module, entry, index, pairs, count, i, problems, &out_args->values[index]);
    if (err != ERR_NONE && err != ERR_FORMAT) return err;
    if (err == ERR_NONE) out_args->given |= bit;
    else bad |= bit;
  }
  return finish(module, entry, problems, out_args, bad);
}
