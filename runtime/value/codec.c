// Encoding trusts the value, decoding trusts nothing: every count is held against the bytes that are left (each value
// takes at least one), every number against its range, and each value has one encoding only, so that equal values have
// equal bytes and a decoded value encodes to the bytes it came from.
#include "runtime/value/codec.h"

#include <assert.h>
#include <math.h>

#include "runtime/base/utf8.h"

enum { VARINT_BYTES_MAX = 10 };

void varint_write(Buf *out, uint64_t number) {
  char bytes[VARINT_BYTES_MAX];
  size_t len = 0;
  for (; number >= 0x80; number >>= 7) bytes[len++] = (char)(number | 0x80);
  bytes[len++] = (char)number;
  buf_add(out, bytes, len);
}

Err varint_read(Str *bytes, uint64_t *out_number) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes->len && i < VARINT_BYTES_MAX; i++) {
    uint8_t byte = (uint8_t)bytes->ptr[i];
    if (i == VARINT_BYTES_MAX - 1 && byte > 1) return ERR_FORMAT;  // the tenth byte holds bit 63
    number |= (uint64_t)(byte & 0x7F) << (7 * i);
    if (byte & 0x80) continue;
    if (byte == 0 && i > 0) return ERR_FORMAT;  // longer than needed
    *bytes = str_part(*bytes, i + 1, bytes->len);
    *out_number = number;
    return ERR_NONE;
  }
  return ERR_FORMAT;
}

static TypeId item_type(Type list, uint64_t index) { return list.kind == TYPE_MAP && (index & 1) ? list.to : list.of; }

// ---- encoding ---------------------------------------------------------------------------------

static void encode_int(Buf *out, int64_t number) { varint_write(out, zigzag(number)); }

static void encode_decimal(Buf *out, __int128 units) {
  if (units != (int64_t)units) { out->failed = true; return; }
  encode_int(out, (int64_t)units);
}

static void encode_float(Buf *out, double number) {
  uint64_t bits;
  number += 0.0;  // the one zero that floats have
  memcpy(&bits, &number, sizeof bits);
  buf_add_u64(out, bits);
}

static void encode_text(Buf *out, Str text) {
  varint_write(out, text.len);
  buf_add(out, text.ptr, text.len);
}

static void encode_list(const TypeTable *types, Type t, const List *list, Buf *out) {
  uint32_t count = list_count(list);
  varint_write(out, t.kind == TYPE_MAP ? count / 2 : count);
  for (uint32_t i = 0; i < count; i++) value_encode(types, item_type(t, i), list->items[i], out);
}

static void encode_record(const TypeTable *types, const RecordDef *def, const Value *record, Buf *out) {
  if (def->field_count == 0) buf_add_char(out, 0);
  for (uint32_t i = 0; i < def->field_count; i++) value_encode(types, def->fields[i].type, record_field(record, i), out);
}

static void encode_enum(const TypeTable *types, const EnumDef *def, Value value, Buf *out) {
  if (def->plain) { varint_write(out, (uint64_t)value.i); return; }
  uint32_t tag = variant_tag(value.variant);
  varint_write(out, tag);
  const CaseDef *c = &def->cases[tag];
  for (uint32_t i = 0; i < c->field_count; i++) value_encode(types, c->fields[i].type, variant_field(value.variant, i), out);
}

static void encode_optional(const TypeTable *types, TypeId type, Value value, Buf *out) {
  bool some = value_is_some(types, type, value);
  buf_add_char(out, some);
  if (some) value_encode(types, types->types[type].of, value_open(types, type, value), out);
}

void value_encode(const TypeTable *types, TypeId type, Value value, Buf *out) {
  type = type_of_key(types, type);
  Type t = types->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: varint_write(out, (uint64_t)value.i); return;
    case TYPE_INT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: encode_int(out, value.i); return;
    case TYPE_DECIMAL: encode_decimal(out, value.dec); return;
    case TYPE_FLOAT: encode_float(out, value.f); return;
    case TYPE_TEXT: case TYPE_BYTES: encode_text(out, value.text); return;
    case TYPE_UUID: buf_add(out, value_uuid(value), 16); return;
    case TYPE_ENUM: encode_enum(types, &types->enums[t.of], value, out); return;
    case TYPE_RECORD: encode_record(types, &types->records[t.of], value.record, out); return;
    case TYPE_OPTIONAL: encode_optional(types, type, value, out); return;
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: encode_list(types, t, value.list, out); return;
    case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  assert(false);
}

// ---- decoding ---------------------------------------------------------------------------------

typedef struct Decoder { const TypeTable *types; Str *bytes; Arena *arena; bool share; } Decoder;

static Err decode_value(const Decoder *d, TypeId type, Value *out_value);

static Err decode_below(const Decoder *d, uint64_t bound, int64_t *out_number) {
  uint64_t number;
  TRY(varint_read(d->bytes, &number));
  if (number >= bound) return ERR_FORMAT;
  *out_number = (int64_t)number;
  return ERR_NONE;
}

static Err decode_int(const Decoder *d, int64_t *out_number) {
  uint64_t number;
  TRY(varint_read(d->bytes, &number));
  *out_number = unzigzag(number);
  return ERR_NONE;
}

static Err decode_decimal(const Decoder *d, Value *out_value) {
  int64_t units;
  TRY(decode_int(d, &units));
  out_value->dec = units;
  return ERR_NONE;
}

static Err decode_float(const Decoder *d, Value *out_value) {
  uint64_t bits = 0;
  if (d->bytes->len < 8) return ERR_FORMAT;
  for (int i = 7; i >= 0; i--) bits = bits << 8 | (uint8_t)d->bytes->ptr[i];
  double number;
  memcpy(&number, &bits, sizeof number);
  if (!isfinite(number) || (number == 0 && bits != 0)) return ERR_FORMAT;  // nor is there a -0.0
  *d->bytes = str_part(*d->bytes, 8, d->bytes->len);
  out_value->f = number;
  return ERR_NONE;
}

static Err decode_run(const Decoder *d, uint64_t len, Str *out_run) {
  if (len > d->bytes->len) return ERR_FORMAT;
  Str run = str_part(*d->bytes, 0, (size_t)len);
  *d->bytes = str_part(*d->bytes, (size_t)len, d->bytes->len);
  *out_run = d->share ? run : arena_copy(d->arena, run);
  return out_run->ptr ? ERR_NONE : ERR_MEMORY;
}

static Err decode_text(const Decoder *d, TypeKind kind, Value *out_value) {
  uint64_t len;
  TRY(varint_read(d->bytes, &len));
  if (len > d->bytes->len) return ERR_FORMAT;
  if (kind == TYPE_TEXT && !utf8_valid(str_part(*d->bytes, 0, (size_t)len))) return ERR_FORMAT;
  return decode_run(d, len, &out_value->text);
}

// Sets and maps stand in order, with no doubles: then and only then is each item above the one before.
static bool is_in_order(const Decoder *d, Type t, const List *list, uint32_t index) {
  uint32_t step = t.kind == TYPE_MAP ? 2 : 1;
  if (t.kind == TYPE_LIST || index < step || index % step) return true;
  return value_compare(d->types, t.of, list->items[index - step], list->items[index]) < 0;
}

static Err decode_list(const Decoder *d, Type t, Value *out_value) {
  uint64_t count;
  TRY(varint_read(d->bytes, &count));
  uint64_t step = t.kind == TYPE_MAP ? 2 : 1;
  if (count > d->bytes->len / step || count > UINT32_MAX / step) return ERR_FORMAT;
  List *list = list_new(d->arena, (uint32_t)(count * step));
  if (!list) return ERR_MEMORY;
  for (uint32_t i = 0; i < list->count; i++) {
    TRY(decode_value(d, item_type(t, i), &list->items[i]));
    if (!is_in_order(d, t, list, i)) return ERR_FORMAT;
  }
  out_value->list = list;
  return ERR_NONE;
}

static Err decode_fields(const Decoder *d, uint32_t count, const FieldDef *fields, Value *out_values) {
  for (uint32_t i = 0; i < count; i++) TRY(decode_value(d, fields[i].type, &out_values[i]));
  return ERR_NONE;
}

static Err decode_record(const Decoder *d, const RecordDef *def, Value *out_value) {
  int64_t filler;
  if (def->field_count == 0) TRY(decode_below(d, 1, &filler));
  if (def->field_count > d->bytes->len) return ERR_FORMAT;
  Value *record = record_new(d->arena, def->field_count);
  if (!record) return ERR_MEMORY;
  out_value->record = record;
  return decode_fields(d, def->field_count, def->fields, record);
}

static Err decode_enum(const Decoder *d, const EnumDef *def, Value *out_value) {
  int64_t tag;
  TRY(decode_below(d, def->case_count, &tag));
  if (def->plain) { out_value->i = tag; return ERR_NONE; }
  const CaseDef *c = &def->cases[tag];
  if (c->field_count > d->bytes->len) return ERR_FORMAT;
  Variant *variant = variant_new(d->arena, (uint32_t)tag, c->field_count);
  if (!variant) return ERR_MEMORY;
  out_value->variant = variant;
  return decode_fields(d, c->field_count, c->fields, variant->fields);
}

static Err decode_optional(const Decoder *d, TypeId type, Value *out_value) {
  int64_t some;
  TRY(decode_below(d, 2, &some));
  if (!some) return ERR_NONE;  // all bits zero: none
  Value inside = {.text = {0}};
  TRY(decode_value(d, d->types->types[type].of, &inside));
  *out_value = value_some(d->types, type, inside);
  return ERR_NONE;
}

// `*out_value` is all zeros when this is called.
static Err decode_value(const Decoder *d, TypeId type, Value *out_value) {
  type = type_of_key(d->types, type);
  Type t = d->types->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: return decode_below(d, 2, &out_value->i);
    case TYPE_INT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: return decode_int(d, &out_value->i);
    case TYPE_DECIMAL: return decode_decimal(d, out_value);
    case TYPE_FLOAT: return decode_float(d, out_value);
    case TYPE_TEXT: case TYPE_BYTES: return decode_text(d, (TypeKind)t.kind, out_value);
    case TYPE_UUID: return decode_run(d, 16, &out_value->text);
    case TYPE_ENUM: return decode_enum(d, &d->types->enums[t.of], out_value);
    case TYPE_RECORD: return decode_record(d, &d->types->records[t.of], out_value);
    case TYPE_OPTIONAL: return decode_optional(d, type, out_value);
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return decode_list(d, t, out_value);
    case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  assert(false);
  return ERR_FORMAT;
}

Err value_decode(const TypeTable *types, TypeId type, Str *bytes, Arena *arena, bool share, Value *out_value) {
  Str rest = *bytes;
  Value value = {.text = {0}};
  TRY(decode_value(&(Decoder){types, &rest, arena, share}, type, &value));
  *bytes = rest;
  *out_value = value;
  return ERR_NONE;
}
