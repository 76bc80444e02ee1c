// Writing values as JSON and as plain text. Both walk the value by its type; a text form is the JSON one without its
// outer quotes, so most of the two is the same code with a flag.
#include "runtime/value/json_value.h"

#include <assert.h>
#include <sodium.h>

#include "runtime/base/calendar_text.h"
#include "runtime/base/decimal.h"
#include "runtime/base/float_text.h"
#include "runtime/base/json.h"
#include "runtime/value/json_value_internal.h"

enum { UUID_TEXT_BYTES = 36 };

static void write_quoted(Buf *out, bool quoted, const char *text, size_t len) {
  if (quoted) buf_add_char(out, '"');
  buf_add(out, text, len);
  if (quoted) buf_add_char(out, '"');
}

static void write_uuid(const uint8_t *bytes, bool quoted, Buf *out) {
  char text[UUID_TEXT_BYTES];
  static const char DIGITS[] = "0123456789abcdef";
  size_t at = 0;
  for (int i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
    text[at++] = DIGITS[bytes[i] >> 4];
    text[at++] = DIGITS[bytes[i] & 15];
  }
  write_quoted(out, quoted, text, at);
}

// base64url without padding, straight into the buffer.
static void write_bytes(Str bytes, bool quoted, Buf *out) {
  size_t size = sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);  // a zero byte included
  if (quoted) buf_add_char(out, '"');
  char *room = bytes.len ? buf_room(out, size) : NULL;
  if (room) {
    sodium_bin2base64(room, size, (const uint8_t *)bytes.ptr, bytes.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    out->len += size - 1;
  }
  if (quoted) buf_add_char(out, '"');
}

static void write_decimal(__int128 units, unsigned scale, Buf *out) {
  char text[DECIMAL_TEXT_BYTES];
  buf_add(out, text, decimal_format(units, scale, text));
}

static void write_float(double number, Buf *out) {
  char text[FLOAT_TEXT_BYTES];
  buf_add(out, text, float_format(number, text));
}

static void write_calendar(TypeKind kind, int64_t number, bool quoted, Buf *out) {
  char text[CALENDAR_TEXT_BYTES];
  size_t len = kind == TYPE_TIME ? time_format(number, text) : kind == TYPE_DATE ? date_format(number, text) : duration_format(number, text);
  write_quoted(out, quoted, text, len);
}

static void write_fields(const TypeTable *types, uint32_t count, const FieldDef *fields, const Value *values, Buf *out) {
  buf_add_char(out, '{');
  for (uint32_t i = 0; i < count; i++) {
    if (i) buf_add_char(out, ',');
    json_add_text(out, fields[i].name);
    buf_add_char(out, ':');
    value_write_json(types, fields[i].type, record_field(values, i), out);
  }
  buf_add_char(out, '}');
}

static void write_enum(const TypeTable *types, const EnumDef *def, Value value, bool quoted, Buf *out) {
  uint32_t tag = def->plain ? (uint32_t)value.i : variant_tag(value.variant);
  assert(tag < def->case_count);
  const CaseDef *c = &def->cases[tag];
  if (c->field_count == 0 && !quoted) { buf_add_str(out, c->name); return; }
  if (c->field_count == 0) { json_add_text(out, c->name); return; }
  buf_add_char(out, '{');
  json_add_text(out, c->name);
  buf_add_char(out, ':');
  write_fields(types, c->field_count, c->fields, value.variant ? value.variant->fields : NULL, out);
  buf_add_char(out, '}');
}

static void write_map(const TypeTable *types, Type t, const List *map, Buf *out) {
  bool object = json_value__is_text(types, t.of);
  buf_add_char(out, object ? '{' : '[');
  for (uint32_t i = 0; i < list_count(map); i += 2) {
    if (i) buf_add_char(out, ',');
    if (!object) buf_add_char(out, '[');
    value_write_json(types, t.of, map->items[i], out);
    buf_add_char(out, object ? ':' : ',');
    value_write_json(types, t.to, map->items[i + 1], out);
    if (!object) buf_add_char(out, ']');
  }
  buf_add_char(out, object ? '}' : ']');
}

static void write_list(const TypeTable *types, TypeId item, const List *list, Buf *out) {
  buf_add_char(out, '[');
  for (uint32_t i = 0; i < list_count(list); i++) {
    if (i) buf_add_char(out, ',');
    value_write_json(types, item, list->items[i], out);
  }
  buf_add_char(out, ']');
}

static void write_any(const TypeTable *types, TypeId type, Value value, bool quoted, Buf *out);

// A composite reference: its parts as an array, or with commas between them in plain text.
static void write_key(const TypeTable *types, const RecordDef *def, const Value *key, bool quoted, Buf *out) {
  if (quoted) buf_add_char(out, '[');
  for (uint32_t i = 0; i < def->field_count; i++) {
    if (i) buf_add_char(out, ',');
    write_any(types, def->fields[i].type, record_field(key, i), quoted, out);
  }
  if (quoted) buf_add_char(out, ']');
}

static void write_reference(const TypeTable *types, TypeId type, Value value, bool quoted, Buf *out) {
  TypeId key = type_of_key(types, type);
  if (type_kind(types, key) == TYPE_RECORD) write_key(types, &types->records[types->types[key].of], value.record, quoted, out);
  else write_any(types, key, value, quoted, out);
}

static void write_optional(const TypeTable *types, TypeId type, Value value, bool quoted, Buf *out) {
  if (value_is_some(types, type, value)) write_any(types, types->types[type].of, value_open(types, type, value), quoted, out);
  else buf_add_text(out, quoted ? "null" : "none");
}

static void write_any(const TypeTable *types, TypeId type, Value value, bool quoted, Buf *out) {
  Type t = types->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: buf_add_text(out, value.i ? "true" : "false"); return;
    case TYPE_INT: buf_add_int(out, value.i); return;
    case TYPE_DECIMAL: write_decimal(value.dec, t.scale, out); return;
    case TYPE_FLOAT: write_float(value.f, out); return;
    case TYPE_TEXT: if (quoted) json_add_text(out, value.text); else buf_add_str(out, value.text); return;
    case TYPE_BYTES: write_bytes(value.text, quoted, out); return;
    case TYPE_UUID: write_uuid(value_uuid(value), quoted, out); return;
    case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: write_calendar((TypeKind)t.kind, value.i, quoted, out); return;
    case TYPE_ENUM: write_enum(types, &types->enums[t.of], value, quoted, out); return;
    case TYPE_RECORD: write_fields(types, types->records[t.of].field_count, types->records[t.of].fields, value.record, out); return;
    case TYPE_OPTIONAL: write_optional(types, type, value, quoted, out); return;
    case TYPE_LIST: case TYPE_SET: write_list(types, t.of, value.list, out); return;
    case TYPE_MAP: write_map(types, t, value.list, out); return;
    case TYPE_REF: write_reference(types, type, value, quoted, out); return;
    case TYPE_KIND_COUNT: break;
  }
  assert(false);
}

void value_write_json(const TypeTable *types, TypeId type, Value value, Buf *out) { write_any(types, type, value, true, out); }
void value_write_text(const TypeTable *types, TypeId type, Value value, Buf *out) { write_any(types, type, value, false, out); }

bool json_value__is_text(const TypeTable *types, TypeId type) {
  TypeId key = type_of_key(types, type);
  switch (type_kind(types, key)) {
    case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: return true;
    case TYPE_ENUM: return types->enums[types->types[key].of].plain;
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_RECORD: case TYPE_OPTIONAL: case TYPE_LIST: case TYPE_SET:
    case TYPE_MAP: case TYPE_REF: case TYPE_KIND_COUNT:
      return false;
  }
  return false;
}
