// Reading JSON by type. A value whose JSON is of another kind is passed over whole, and reading goes on behind it, so
// that one answer can name everything that is wrong. ERR_FORMAT therefore means "bad, but the reader stands behind it"
// unless the reader itself is at JSON_ERROR; then the JSON is broken and nothing further can be read.
#include <assert.h>

#include "runtime/base/json.h"
#include "runtime/base/utf8.h"
#include "runtime/value/json_value_internal.h"

static bool is_broken(const Reading *r) { return r->json->event == JSON_ERROR; }
// Whether a part's error ends the reading of the whole.
static bool ends(const Reading *r, Err err) { return is_broken(r) || (err != ERR_NONE && err != ERR_FORMAT); }

// Goes to behind the value whose first event was just given.
static Err pass_over(const Reading *r) { return json_finish(r->json, NULL); }

// What the type is in JSON, for the sentence "must be …".
static const char *words_for(const TypeTable *types, TypeId type) {
  switch (type_kind(types, type_of_key(types, type))) {
    case TYPE_BOOL: return "true or false";
    case TYPE_INT: return "a whole number";
    case TYPE_DECIMAL: case TYPE_FLOAT: return "a number";
    case TYPE_TEXT: return "a text";
    case TYPE_BYTES: return "a text in base64url";
    case TYPE_UUID: return "a uuid such as \"123e4567-e89b-12d3-a456-426614174000\"";
    case TYPE_TIME: return "a time such as \"2026-10-04T09:00:00Z\"";
    case TYPE_DATE: return "a date such as \"2026-10-04\"";
    case TYPE_DURATION: return "a duration such as \"5min\"";
    case TYPE_ENUM: return "the name of a case, or an object {\"case\": {…}}";
    case TYPE_RECORD: return type_kind(types, type) == TYPE_REF ? "an array of the key's parts" : "an object";
    case TYPE_LIST: case TYPE_SET: return "an array";
    case TYPE_MAP: return json_value__is_text(types, types->types[type].of) ? "an object" : "an array of [key, value] pairs";
    case TYPE_OPTIONAL: case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  return "another kind of value";
}

static const char *words_for_event(JsonEvent event) {
  switch (event) {
    case JSON_NULL: return "null";
    case JSON_FALSE: return "false";
    case JSON_TRUE: return "true";
    case JSON_NUMBER: return "a number";
    case JSON_TEXT: return "a text";
    case JSON_ARRAY: return "an array";
    case JSON_OBJECT: return "an object";
    case JSON_ERROR: case JSON_ARRAY_END: case JSON_KEY: case JSON_OBJECT_END: case JSON_END: break;
  }
  return "nothing";
}

static Err refuse_kind(const Reading *r, TypeId type, const Place *place) {
  JsonEvent event = r->json->event;
  TRY(pass_over(r));
  return json_value__refuse(r->problems, place, "must be %s, not %s", words_for(r->types, type), words_for_event(event));
}

// ---- objects by field -------------------------------------------------------------------------

typedef struct Fields { uint32_t count; const FieldDef *defs; bool *seen; Value *values; } Fields;

static bool fields_begin(const Reading *r, uint32_t count, const FieldDef *defs, Value *values, Fields *out_fields) {
  *out_fields = (Fields){count, defs, ARENA_ARRAY(r->problems->arena, bool, count), values};
  return values && out_fields->seen;
}

// Members mostly come in the order of the fields, so the search starts behind the last one found.
static uint32_t find_field(const Reading *r, const Fields *fields, uint32_t start) {
  for (uint32_t n = 0; n < fields->count; n++) {
    uint32_t i = start + n < fields->count ? start + n : start + n - fields->count;
    if (json_text_is(r->json, fields->defs[i].name)) return i;
  }
  return fields->count;
}

static Err refuse_member(const Reading *r, const Place *place, const char *words) {
  Str name;
  TRY(json_text(r->json, r->problems->arena, &name));
  TRY(json_skip(r->json, NULL));
  return json_value__refuse(r->problems, &(Place){place, name, -1}, "%s", words);
}

static Err read_member(const Reading *r, const Fields *fields, uint32_t *at, const Place *place) {
  uint32_t field = find_field(r, fields, *at);
  if (field == fields->count) return refuse_member(r, place, "is not known here");
  if (fields->seen[field]) return refuse_member(r, place, "is there twice");
  fields->seen[field] = true;
  *at = field + 1 < fields->count ? field + 1 : 0;
  const FieldDef *def = &fields->defs[field];
  if (json_next(r->json) == JSON_NULL && def->has_default) {  // null is as absent
    if (def->fallback) fields->values[field] = *def->fallback;
    return ERR_NONE;
  }
  return json_value__read(r, def->type, &(Place){place, def->name, -1}, &fields->values[field]);
}

static Err fill_missing(const Reading *r, const Fields *fields, const Place *place) {
  Err worst = ERR_NONE;
  for (uint32_t i = 0; i < fields->count; i++) {
    const FieldDef *def = &fields->defs[i];
    if (!fields->seen[i] && def->fallback) fields->values[i] = *def->fallback;
    if (fields->seen[i] || def->has_default || type_kind(r->types, def->type) == TYPE_OPTIONAL) continue;
    worst = json_value__refuse(r->problems, &(Place){place, def->name, -1}, "is missing");
  }
  return worst;
}

// The members of an object that was just opened, into fields->values.
static Err read_fields(const Reading *r, const Fields *fields, const Place *place) {
  Err worst = ERR_NONE;
  uint32_t at = 0;
  while (json_next(r->json) == JSON_KEY) {
    Err err = read_member(r, fields, &at, place);
    if (ends(r, err)) return err;
    if (err != ERR_NONE) worst = err;
  }
  if (is_broken(r)) return ERR_FORMAT;
  Err missing = fill_missing(r, fields, place);
  return missing != ERR_NONE ? missing : worst;
}

static Err read_record(const Reading *r, const RecordDef *def, const Place *place, Value *out_value) {
  Value *record = record_new(r->problems->arena, def->field_count);
  Fields fields;
  if (!fields_begin(r, def->field_count, def->fields, record, &fields)) return ERR_MEMORY;
  out_value->record = record;
  return read_fields(r, &fields, place);
}

// ---- enums ------------------------------------------------------------------------------------

static uint32_t find_case(const Reading *r, const EnumDef *def) {
  uint32_t tag = 0;
  while (tag < def->case_count && !json_text_is(r->json, def->cases[tag].name)) tag++;
  return tag;
}

// {"circle": {…}}: the object was just opened and its key read.
static Err read_case_fields(const Reading *r, const EnumDef *def, const Place *place, Value *out_value) {
  uint32_t tag = find_case(r, def);
  if (tag == def->case_count) return refuse_member(r, place, "is no case of this enum");
  const CaseDef *c = &def->cases[tag];
  Place inner = {place, c->name, -1};
  if (json_next(r->json) != JSON_OBJECT) {
    TRY(pass_over(r));
    return json_value__refuse(r->problems, &inner, "must be an object of the case's fields");
  }
  if (def->plain) out_value->i = tag;
  Variant *variant = variant_new(r->problems->arena, tag, c->field_count);
  Fields fields;
  if (!variant || !fields_begin(r, c->field_count, c->fields, variant->fields, &fields)) return ERR_MEMORY;
  if (!def->plain) out_value->variant = variant;
  return read_fields(r, &fields, &inner);
}

static Err read_enum_object(const Reading *r, const EnumDef *def, const Place *place, Value *out_value) {
  Err err;
  if (json_next(r->json) == JSON_OBJECT_END) return json_value__refuse(r->problems, place, "must name one case");
  if (is_broken(r)) return ERR_FORMAT;
  err = read_case_fields(r, def, place, out_value);
  if (ends(r, err)) return err;
  if (json_next(r->json) == JSON_OBJECT_END) return err;
  while (!is_broken(r) && r->json->event == JSON_KEY) {
    TRY(json_skip(r->json, NULL));
    json_next(r->json);
  }
  return is_broken(r) ? ERR_FORMAT : json_value__refuse(r->problems, place, "must name one case only");
}

// ---- lists ------------------------------------------------------------------------------------

static List *grow(const Reading *r, List *list) {
  if (list->count < list->cap) return list;
  uint32_t cap = list->cap * 2;
  size_t old_bytes = sizeof(List) + (size_t)list->cap * sizeof(Value), new_bytes = sizeof(List) + (size_t)cap * sizeof(Value);
  if (list->cap > UINT32_MAX / 4) return NULL;
  list = arena_grow(r->problems->arena, list, old_bytes, new_bytes);
  if (list) list->cap = cap;
  return list;
}

static List *list_begin(const Reading *r) {
  enum { FIRST_ITEMS = 4 };
  List *list = list_new(r->problems->arena, FIRST_ITEMS);
  if (list) list->count = 0;
  return list;
}

static Err read_pair(const Reading *r, Type map, const Place *place, Value *out_pair);

// The items of an array that was just opened; those of a MAP are pairs.
static Err read_items(const Reading *r, Type t, const Place *place, List **out_list) {
  Err worst = ERR_NONE;
  List *list = list_begin(r);
  for (int64_t index = 0; list && json_next(r->json) != JSON_ARRAY_END; index++) {
    if (is_broken(r)) return ERR_FORMAT;
    Place item = {place, {0}, index};
    Value values[2] = {{.text = {0}}, {.text = {0}}};
    Err err = t.kind == TYPE_MAP ? read_pair(r, t, &item, values) : json_value__read(r, t.of, &item, &values[0]);
    if (ends(r, err)) return err;
    if (err != ERR_NONE) worst = err;
    for (int i = 0; i < (t.kind == TYPE_MAP ? 2 : 1) && (list = grow(r, list)); i++) list->items[list->count++] = values[i];
  }
  *out_list = list;
  return list ? worst : ERR_MEMORY;
}

// [key, value]
static Err read_pair(const Reading *r, Type map, const Place *place, Value *out_pair) {
  Err worst = ERR_NONE;
  int64_t index = 0;
  if (r->json->event != JSON_ARRAY) {
    TRY(pass_over(r));
    return json_value__refuse(r->problems, place, "must be an array of a key and a value");
  }
  for (; json_next(r->json) != JSON_ARRAY_END; index++) {
    if (is_broken(r)) return ERR_FORMAT;
    Err err = index < 2 ? json_value__read(r, index ? map.to : map.of, &(Place){place, {0}, index}, &out_pair[index]) : pass_over(r);
    if (ends(r, err)) return err;
    if (err != ERR_NONE) worst = err;
  }
  return index == 2 ? worst : json_value__refuse(r->problems, place, "must be an array of a key and a value");
}

// An object whose member names are the keys.
static Err read_map_object(const Reading *r, Type t, const Place *place, List **out_list) {
  Err worst = ERR_NONE;
  List *list = list_begin(r);
  while (list && json_next(r->json) == JSON_KEY) {
    Str name;
    Value key = {.text = {0}}, value = {.text = {0}};
    TRY(json_text(r->json, r->problems->arena, &name));
    Place member = {place, name, -1};
    Err err = json_value__read_scalar(r, t.of, name, &member, &key);
    if (ends(r, err)) return err;
    json_next(r->json);
    Err inner = json_value__read(r, t.to, &member, &value);
    if (ends(r, inner)) return inner;
    if (err != ERR_NONE || inner != ERR_NONE) worst = ERR_FORMAT;
    if ((list = grow(r, list))) list->items[list->count++] = key;
    if (list && (list = grow(r, list))) list->items[list->count++] = value;
  }
  *out_list = list;
  if (!list) return ERR_MEMORY;
  return is_broken(r) ? ERR_FORMAT : worst;
}

// A set may name an item twice and holds it once; a map must not name a key twice, since one of two values would be lost.
static Err finish_sorted(const Reading *r, TypeId type, List *list, const Place *place) {
  uint32_t doubles;
  if (!list_sort_unique(r->types, type, list, r->problems->arena, &doubles)) return ERR_MEMORY;
  bool is_map = type_kind(r->types, type) == TYPE_MAP;
  return doubles && is_map ? json_value__refuse(r->problems, place, "has a key twice") : ERR_NONE;
}

static Err read_list(const Reading *r, TypeId type, const Place *place, Value *out_value) {
  Type t = r->types->types[type];
  List *list = NULL;
  TRY(r->json->event == JSON_OBJECT ? read_map_object(r, t, place, &list) : read_items(r, t, place, &list));
  if (t.kind != TYPE_LIST) TRY(finish_sorted(r, type, list, place));
  out_value->list = list;
  return ERR_NONE;
}

// ---- references -------------------------------------------------------------------------------

// A composite key: an array with one item for each part.
static Err read_key(const Reading *r, const RecordDef *def, const Place *place, Value *out_value) {
  Err worst = ERR_NONE;
  uint32_t count = 0;
  Value *key = record_new(r->problems->arena, def->field_count);
  if (!key) return ERR_MEMORY;
  for (; json_next(r->json) != JSON_ARRAY_END; count++) {
    if (is_broken(r)) return ERR_FORMAT;
    Place part = {place, {0}, count};
    Err err = count < def->field_count ? json_value__read(r, def->fields[count].type, &part, &key[count]) : pass_over(r);
    if (ends(r, err)) return err;
    if (err != ERR_NONE) worst = err;
  }
  if (count != def->field_count) return json_value__refuse(r->problems, place, "must have the %u parts of the key", def->field_count);
  out_value->record = key;
  return worst;
}

// ---- any --------------------------------------------------------------------------------------

static Err read_optional(const Reading *r, TypeId type, const Place *place, Value *out_value) {
  if (r->json->event == JSON_NULL) return ERR_NONE;  // all bits zero: none
  Value inside = {.text = {0}};
  TRY(json_value__read(r, r->types->types[type].of, place, &inside));
  *out_value = value_some(r->types, type, inside);
  return ERR_NONE;
}

// A word of JSON: a text (numbers may be sent as one too), a number, true or false.
static Err read_word(const Reading *r, TypeId type, const Place *place, Value *out_value) {
  JsonEvent event = r->json->event;
  TypeKind kind = type_kind(r->types, type_of_key(r->types, type));
  bool is_number = kind == TYPE_INT || kind == TYPE_DECIMAL || kind == TYPE_FLOAT;
  if (event == JSON_TEXT && kind != TYPE_BOOL) {
    Str text;
    TRY(json_text(r->json, r->problems->arena, &text));
    return json_value__read_scalar(r, type, text, place, out_value);
  }
  if (event == JSON_NUMBER && is_number) return json_value__read_scalar(r, type, r->json->text, place, out_value);
  if ((event == JSON_TRUE || event == JSON_FALSE) && kind == TYPE_BOOL) { out_value->i = event == JSON_TRUE; return ERR_NONE; }
  return refuse_kind(r, type, place);
}

Err json_value__read(const Reading *r, TypeId type, const Place *place, Value *out_value) {
  const TypeTable *types = r->types;
  JsonEvent event = r->json->event;
  if (is_broken(r)) return ERR_FORMAT;
  TypeId key = type_of_key(types, type);
  Type t = types->types[key];
  switch ((TypeKind)t.kind) {
    case TYPE_OPTIONAL: return read_optional(r, key, place, out_value);
    case TYPE_RECORD:
      if (key != type) return event == JSON_ARRAY ? read_key(r, &types->records[t.of], place, out_value) : refuse_kind(r, type, place);
      return event == JSON_OBJECT ? read_record(r, &types->records[t.of], place, out_value) : refuse_kind(r, type, place);
    case TYPE_ENUM:
      if (event == JSON_OBJECT) return read_enum_object(r, &types->enums[t.of], place, out_value);
      return read_word(r, type, place, out_value);
    case TYPE_LIST: case TYPE_SET: return event == JSON_ARRAY ? read_list(r, type, place, out_value) : refuse_kind(r, type, place);
    case TYPE_MAP:
      if (event == JSON_ARRAY || (event == JSON_OBJECT && json_value__is_text(types, t.of))) return read_list(r, type, place, out_value);
      return refuse_kind(r, type, place);
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID:
    case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION:
      return read_word(r, type, place, out_value);
    case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  assert(false);
  return ERR_FORMAT;
}

Err value_read_json(const TypeTable *types, TypeId type, JsonReader *reader, Str path, ValueProblems *problems, Value *out_value) {
  Reading reading = {types, reader, problems};
  Place place = {NULL, path, -1};
  Value value = {.text = {0}};
  json_next(reader);
  TRY(json_value__read(&reading, type, &place, &value));
  *out_value = value;
  return ERR_NONE;
}

// ---- the text form ----------------------------------------------------------------------------

// The parts of a composite reference, `w,d`, of all keys inside it too: takes as many from *rest as the key has.
static Err read_key_parts(const Reading *r, TypeId type, Str *rest, const Place *place, Value *out_value) {
  TypeId key_type = type_of_key(r->types, type);
  Type t = r->types->types[key_type];
  if (t.kind != TYPE_RECORD) {
    if (!rest->ptr) return json_value__refuse(r->problems, place, "must have all parts of the key, with commas between them");
    const char *comma = rest->len ? memchr(rest->ptr, ',', rest->len) : NULL;
    Str part = str_part(*rest, 0, comma ? (size_t)(comma - rest->ptr) : rest->len);
    *rest = comma ? str_part(*rest, part.len + 1, rest->len) : (Str){0};
    return json_value__read_scalar(r, key_type, part, place, out_value);
  }
  const RecordDef *def = &r->types->records[t.of];
  Value *key = record_new(r->problems->arena, def->field_count);
  if (!key) return ERR_MEMORY;
  for (uint32_t i = 0; i < def->field_count; i++) TRY(read_key_parts(r, def->fields[i].type, rest, place, &key[i]));
  out_value->record = key;
  return ERR_NONE;
}

static Err read_whole_key(const Reading *r, TypeId type, Str text, const Place *place, Value *out_value) {
  Str rest = {text.ptr ? text.ptr : "", text.len};
  TRY(read_key_parts(r, type, &rest, place, out_value));
  return rest.ptr ? json_value__refuse(r->problems, place, "has more parts than the key") : ERR_NONE;
}

static Err read_json_text(const Reading *r, TypeId type, Str text, const Place *place, Value *out_value) {
  uint16_t before = r->problems->count;
  json_open(r->json, text);
  json_next(r->json);
  Err err = json_value__read(r, type, place, out_value);
  if (!is_broken(r)) json_next(r->json);  // JSON_END, or an error when more follows
  if (!is_broken(r)) return err;
  ErrText why;
  Err broken = json_say_error(r->json, &why);
  (void)broken;
  r->problems->count = before;  // what was found in something that is no JSON is no use
  return json_value__refuse(r->problems, place, "must be %s, as JSON: %s", words_for(r->types, type), why.text);
}

static Err read_text_any(const Reading *r, TypeId type, Str text, const Place *place, Value *out_value) {
  const TypeTable *types = r->types;
  TypeId key = type_of_key(types, type);
  char first = text.len ? text.ptr[0] : 0;
  switch (type_kind(types, key)) {
    case TYPE_RECORD: if (key != type && first != '[') return read_whole_key(r, type, text, place, out_value); break;
    case TYPE_ENUM: if (first != '{') return json_value__read_scalar(r, type, text, place, out_value); break;
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: break;
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID:
    case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: case TYPE_OPTIONAL: case TYPE_REF: case TYPE_KIND_COUNT:
      return json_value__read_scalar(r, type, text, place, out_value);
  }
  return read_json_text(r, type, text, place, out_value);
}

Err value_read_text(const TypeTable *types, TypeId type, Str text, Str path, ValueProblems *problems, Value *out_value) {
  JsonReader json = {0};
  Reading reading = {types, &json, problems};
  Place place = {NULL, path, -1};
  Value value = {.text = {0}};
  json_open(&json, text);
  bool optional = type_kind(types, type) == TYPE_OPTIONAL;
  TypeId inner = optional ? types->types[type].of : type;
  TypeKind kind = type_kind(types, type_of_key(types, inner));
  if (!utf8_valid(text)) return json_value__refuse(problems, &place, "is not UTF-8");
  if (!optional || text.len || kind == TYPE_TEXT) {
    TRY(read_text_any(&reading, inner, text, &place, &value));
    if (optional) value = value_some(types, type, value);
  }
  *out_value = value;
  return ERR_NONE;
}
