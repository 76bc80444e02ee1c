// Reading values that are one word: numbers, texts, times, names of cases. JSON numbers and texts, query strings and
// the keys of maps all come through here, so each form is read by one piece of code and refused with one sentence.
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/calendar_text.h"
#include "runtime/base/json.h"
#include "runtime/base/utf8.h"
#include "runtime/value/json_value_internal.h"

// ---- problems ---------------------------------------------------------------------------------

enum { PATH_BYTES_MAX = 400, PATH_NAME_BYTES_MAX = 80, MESSAGE_BYTES_MAX = 400, PLACES_MAX = 2 * VALUE_DEPTH_MAX + 2 };

static Str keep(Arena *arena, const char *text, size_t len) {
  Str kept = arena_copy(arena, str_part((Str){text, len}, 0, utf8_cut((Str){text, len}, len)));
  return kept.ptr ? kept : STR("out of memory");
}

static void add_problem(ValueProblems *problems, Str path, const char *format, va_list args) {
  if (problems->count == VALUE_PROBLEMS_MAX) return;
  char message[MESSAGE_BYTES_MAX + 4];
  int len = vsnprintf(message, sizeof message, format, args);
  if (len < 0) len = 0;
  size_t cut = utf8_cut((Str){message, strlen(message)}, MESSAGE_BYTES_MAX);
  problems->items[problems->count++] = (ValueProblem){keep(problems->arena, path.ptr ? path.ptr : "", path.len), keep(problems->arena, message, cut)};
}

void value_problem_add(ValueProblems *problems, Str path, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add_problem(problems, path, format, args);
  va_end(args);
}

// "lines[3].quantity", the outermost place first. A name is cut where a client made it very long.
static void write_path(const Place *place, Buf *out) {
  const Place *places[PLACES_MAX];
  size_t count = 0;
  for (; place && count < PLACES_MAX; place = place->outer) places[count++] = place;
  while (count > 0 && !out->failed) {
    const Place *at = places[--count];
    if (at->index >= 0) { buf_add_format(out, "[%lld]", (long long)at->index); continue; }
    if (out->len && at->name.len) buf_add_char(out, '.');
    buf_add_str(out, str_part(at->name, 0, utf8_cut(at->name, PATH_NAME_BYTES_MAX)));
  }
}

Err json_value__refuse(ValueProblems *problems, const Place *place, const char *format, ...) {
  if (problems->count == VALUE_PROBLEMS_MAX) return ERR_FORMAT;
  Buf path;
  buf_init(&path, PATH_BYTES_MAX);
  write_path(place, &path);
  va_list args;
  va_start(args, format);
  add_problem(problems, buf_str(&path), format, args);
  va_end(args);
  buf_free(&path);
  return ERR_FORMAT;
}

// ---- one word each ----------------------------------------------------------------------------

typedef struct Word { const Reading *reading; Str text; const Place *place; } Word;

#define REFUSE(word, ...) json_value__refuse((word)->reading->problems, (word)->place, __VA_ARGS__)

static Err read_bool(const Word *word, Value *out) {
  bool is_true = str_is(word->text, "true");
  if (!is_true && !str_is(word->text, "false")) return REFUSE(word, "must be true or false");
  out->i = is_true;
  return ERR_NONE;
}

static Err read_int(const Word *word, Value *out) {
  Err err = json_number_int64(word->text, &out->i);
  if (err == ERR_RANGE) return REFUSE(word, "must be from -9223372036854775808 to 9223372036854775807");
  return err == ERR_NONE ? ERR_NONE : REFUSE(word, "must be a whole number");
}

static Err read_decimal(const Word *word, unsigned scale, Value *out) {
  int64_t units;
  JsonNumber parts;
  Err err = json_number_scaled(word->text, scale, &units);
  if (err == ERR_RANGE) return REFUSE(word, "is greater than a decimal(%u) can be", scale);
  if (err != ERR_NONE && json_number_parts(word->text, &parts) != ERR_NONE) return REFUSE(word, "must be a number");
  if (err != ERR_NONE && scale == 0) return REFUSE(word, "must be a whole number");
  if (err != ERR_NONE) return REFUSE(word, "must have at most %u digit%s after the point", scale, scale == 1 ? "" : "s");
  out->dec = units;
  return ERR_NONE;
}

static Err read_float(const Word *word, Value *out) {
  Err err = json_number_double(word->text, &out->f);
  out->f = err == ERR_NONE ? out->f + 0.0 : 0;  // -0 is 0: floats have one zero
  if (err == ERR_RANGE) return REFUSE(word, "is greater than a float can be");
  return err == ERR_NONE ? ERR_NONE : REFUSE(word, "must be a number");
}

// base64url; the padding may be there or not.
static Err read_bytes(const Word *word, Value *out) {
  Str text = word->text;
  int variant = text.len && text.ptr[text.len - 1] == '=' ? sodium_base64_VARIANT_URLSAFE : sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  size_t room = text.len / 4 * 3 + 3, len;
  char *bytes = arena_alloc(word->reading->problems->arena, room);
  if (!bytes) return ERR_MEMORY;
  if (sodium_base642bin((uint8_t *)bytes, room, text.ptr, text.len, NULL, &len, NULL, variant) != 0) return REFUSE(word, "must be base64url");
  out->text = (Str){bytes, len};
  return ERR_NONE;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_uuid(Str text, char *out_bytes) {
  if (text.len != 36) return false;
  size_t at = 0;
  for (int i = 0; i < 16; i++) {
    if ((i == 4 || i == 6 || i == 8 || i == 10) && text.ptr[at++] != '-') return false;
    int high = hex_digit(text.ptr[at]), low = hex_digit(text.ptr[at + 1]);
    if (high < 0 || low < 0) return false;
    out_bytes[i] = (char)(high << 4 | low);
    at += 2;
  }
  return true;
}

static Err read_uuid(const Word *word, Value *out) {
  char *bytes = arena_alloc(word->reading->problems->arena, 16);
  if (!bytes) return ERR_MEMORY;
  if (!parse_uuid(word->text, bytes)) return REFUSE(word, "must be a uuid such as \"123e4567-e89b-12d3-a456-426614174000\"");
  out->text = (Str){bytes, 16};
  return ERR_NONE;
}

static Err read_time(const Word *word, Value *out) {
  Err err = time_parse(word->text, &out->i);
  if (err == ERR_RANGE) return REFUSE(word, "must lie in the years 1 to 9999");
  return err == ERR_NONE ? ERR_NONE : REFUSE(word, "must be a time such as \"2026-10-04T09:00:00Z\", with at most 6 digits after the second");
}

static Err read_date(const Word *word, Value *out) {
  Err err = date_parse(word->text, &out->i);
  if (err == ERR_RANGE) return REFUSE(word, "must lie in the years 1 to 9999");
  return err == ERR_NONE ? ERR_NONE : REFUSE(word, "must be a date that exists, such as \"2026-10-04\"");
}

static Err read_duration(const Word *word, Value *out) {
  Err err = duration_parse(word->text, &out->i);
  if (err == ERR_RANGE) return REFUSE(word, "is longer than a duration can be");
  return err == ERR_NONE ? ERR_NONE : REFUSE(word, "must be a duration such as \"5min\" (us, ms, s, min, h, d, w)");
}

static Err refuse_case(const Word *word, const EnumDef *def) {
  enum { SHOWN_MAX = 12 };
  Buf names;
  buf_init(&names, MESSAGE_BYTES_MAX / 2);
  for (uint32_t i = 0; i < def->case_count && i < SHOWN_MAX; i++) buf_add_format(&names, "%s\"" STR_FMT "\"", i ? ", " : "", STR_ARG(def->cases[i].name));
  Err err = REFUSE(word, "must be one of " STR_FMT "%s", STR_ARG(buf_str(&names)), names.failed || def->case_count > SHOWN_MAX ? " …" : "");
  buf_free(&names);
  return err;
}

static Err read_case(const Word *word, const EnumDef *def, Value *out) {
  uint32_t tag = 0;
  while (tag < def->case_count && !str_equal(def->cases[tag].name, word->text)) tag++;
  if (tag == def->case_count) return refuse_case(word, def);
  if (def->plain) { out->i = tag; return ERR_NONE; }
  const CaseDef *c = &def->cases[tag];
  for (uint32_t i = 0; i < c->field_count; i++)
    if (!c->fields[i].has_default && type_kind(word->reading->types, c->fields[i].type) != TYPE_OPTIONAL)
      return REFUSE(word, "must be an object {\"" STR_FMT "\": {…}}, since that case has fields", STR_ARG(c->name));
  Variant *variant = variant_new(word->reading->problems->arena, tag, c->field_count);
  out->variant = variant;
  for (uint32_t i = 0; variant && i < c->field_count; i++)
    if (c->fields[i].fallback) variant->fields[i] = *c->fields[i].fallback;
  return variant ? ERR_NONE : ERR_MEMORY;
}

Err json_value__read_scalar(const Reading *reading, TypeId type, Str text, const Place *place, Value *out_value) {
  Word word = {reading, text, place};
  Type t = reading->types->types[type_of_key(reading->types, type)];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: return read_bool(&word, out_value);
    case TYPE_INT: return read_int(&word, out_value);
    case TYPE_DECIMAL: return read_decimal(&word, t.scale, out_value);
    case TYPE_FLOAT: return read_float(&word, out_value);
    case TYPE_TEXT: out_value->text = text.ptr ? text : STR(""); return ERR_NONE;
    case TYPE_BYTES: return read_bytes(&word, out_value);
    case TYPE_UUID: return read_uuid(&word, out_value);
    case TYPE_TIME: return read_time(&word, out_value);
    case TYPE_DATE: return read_date(&word, out_value);
    case TYPE_DURATION: return read_duration(&word, out_value);
    case TYPE_ENUM: return read_case(&word, &reading->types->enums[t.of], out_value);
    case TYPE_RECORD: case TYPE_OPTIONAL: case TYPE_LIST: case TYPE_SET: case TYPE_MAP: case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  return REFUSE(&word, "cannot be written so");
}
