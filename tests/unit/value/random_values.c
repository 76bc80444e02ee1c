// A table starts with the simple kinds; then come types made of what is there already, so that none contains itself.
#include "tests/unit/value/random_values.h"

#include <float.h>

enum { SIMPLE_TYPES = TYPE_DURATION + 1, MADE_TYPES = 24, RECORDS = 6, ENUMS = 4, TABLES = 3 };

uint64_t random_next(Random *random) {  // splitmix64
  uint64_t z = (random->state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t random_below(Random *random, uint64_t bound) { return random_next(random) % bound; }

static const FieldDef *random_fields(Random *random, Arena *arena, TypeId types, uint16_t count) {
  static const char *const NAMES[] = {"a", "b", "größe", "d", "e"};
  FieldDef *fields = ARENA_ARRAY(arena, FieldDef, count);
  for (uint16_t i = 0; i < count; i++) fields[i] = (FieldDef){str_from(NAMES[i]), (TypeId)random_below(random, types), false};
  return fields;
}

static const EnumDef *random_enums(Random *random, Arena *arena) {
  static const char *const NAMES[] = {"low", "mid", "high", "top"};
  EnumDef *enums = ARENA_ARRAY(arena, EnumDef, ENUMS);
  for (uint16_t e = 0; e < ENUMS; e++) {
    bool plain = e < ENUMS / 2;
    CaseDef *cases = ARENA_ARRAY(arena, CaseDef, 4);
    for (uint16_t c = 0; c < 4; c++) {
      uint16_t fields = plain ? 0 : c == 0 ? 1 : (uint16_t)random_below(random, 4);
      cases[c] = (CaseDef){str_from(NAMES[c]), fields, random_fields(random, arena, SIMPLE_TYPES, fields)};
    }
    enums[e] = (EnumDef){plain ? STR("Plain") : STR("Shape"), (uint16_t)(1 + random_below(random, 4)), plain, cases};
  }
  return enums;
}

static Type random_type(Random *random, const Type *types, uint16_t count, uint16_t *records) {
  TypeId any = (TypeId)random_below(random, count), other = (TypeId)random_below(random, count);
  switch (random_below(random, 7)) {
    case 0: return (Type){.kind = TYPE_LIST, .of = any};
    case 1: return (Type){.kind = TYPE_SET, .of = any};
    case 2: return (Type){.kind = TYPE_MAP, .of = any, .to = other};
    case 3: return (Type){.kind = TYPE_ENUM, .of = (uint16_t)random_below(random, ENUMS)};
    case 4: return (Type){.kind = TYPE_REF, .of = (uint16_t)random_below(random, TABLES)};
    case 5: if (*records < RECORDS) return (Type){.kind = TYPE_RECORD, .of = (*records)++}; break;
    default: break;
  }
  return types[any].kind == TYPE_OPTIONAL ? (Type){.kind = TYPE_LIST, .of = any} : (Type){.kind = TYPE_OPTIONAL, .of = any};
}

const TypeTable *random_types(Random *random, Arena *arena) {
  Type *types = ARENA_ARRAY(arena, Type, SIMPLE_TYPES + MADE_TYPES);
  RecordDef *records = ARENA_ARRAY(arena, RecordDef, RECORDS);
  TypeId *keys = ARENA_ARRAY(arena, TypeId, TABLES);
  Str *names = ARENA_ARRAY(arena, Str, TABLES);
  uint16_t count = 0, record_count = 0;
  for (; count < SIMPLE_TYPES; count++) types[count] = (Type){.kind = (uint8_t)count, .scale = count == TYPE_DECIMAL ? (uint8_t)random_below(random, 19) : 0};
  for (uint16_t i = 0; i < TABLES; i++) keys[i] = (TypeId)random_below(random, SIMPLE_TYPES), names[i] = STR("Table");
  for (; count < SIMPLE_TYPES + MADE_TYPES; count++) {
    uint16_t before = record_count;
    types[count] = random_type(random, types, count, &record_count);
    if (record_count > before) {
      uint16_t fields = (uint16_t)random_below(random, 6);
      records[before] = (RecordDef){before % 2 ? STR("Record") : STR(""), fields, random_fields(random, arena, count, fields)};
    }
  }
  TypeTable *table = ARENA_NEW(arena, TypeTable);
  *table = (TypeTable){.types = types, .count = count, .records = records, .record_count = record_count, .enums = random_enums(random, arena),
                       .enum_count = ENUMS, .table_keys = keys, .table_names = names, .table_count = TABLES};
  return table;
}

static int64_t random_int(Random *random) {
  static const int64_t EDGES[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, 63, 64, -64, -65, 9007199254740993, INT64_MAX - 1, INT64_MAX};
  if (random_below(random, 3) == 0) return EDGES[random_below(random, countof(EDGES))];
  return (int64_t)random_next(random) >> random_below(random, 64);
}

static double random_float(Random *random) {
  static const double EDGES[] = {0.0, -0.0, 0.1, 1e21, 1e-7, DBL_MAX, DBL_MIN, -DBL_MAX, 5e-324};
  if (random_below(random, 2)) return EDGES[random_below(random, countof(EDGES))];
  return (double)random_int(random) / 1024;
}

static Str random_text(Random *random, Arena *arena) {
  static const char *const PIECES[] = {"a", "\"", "\\", "\n", "é", "€", "🔥", "e\xcc\x81", "한", "\x01", " "};
  size_t count = random_below(random, 12), len = 0;
  char *text = arena_alloc(arena, 64);
  for (size_t i = 0; i < count; i++) {
    const char *piece = PIECES[random_below(random, countof(PIECES))];
    memcpy(text + len, piece, strlen(piece));
    len += strlen(piece);
  }
  return (Str){text, len};
}

static Str random_bytes_of(Random *random, Arena *arena, size_t len) {
  char *bytes = arena_alloc(arena, len);
  for (size_t i = 0; i < len; i++) bytes[i] = (char)random_next(random);
  return (Str){bytes, len};
}

static Value random_list(Random *random, const TypeTable *types, TypeId type, Arena *arena) {
  Type t = types->types[type];
  uint32_t step = t.kind == TYPE_MAP ? 2 : 1, entries = (uint32_t)random_below(random, 4);
  List *list = list_new(arena, entries * step);
  for (uint32_t i = 0; i < entries * step; i++) list->items[i] = random_value(random, types, i % step ? t.to : t.of, arena);
  if (t.kind != TYPE_LIST && !list_sort_unique(types, type, list, arena, NULL)) return (Value){0};
  return (Value){.list = list};
}

static void random_values(Random *random, const TypeTable *types, uint32_t count, const FieldDef *fields, Arena *arena, Value *out_values) {
  for (uint32_t i = 0; i < count; i++) out_values[i] = random_value(random, types, fields[i].type, arena);
}

static Value random_enum(Random *random, const TypeTable *types, const EnumDef *def, Arena *arena) {
  uint32_t tag = (uint32_t)random_below(random, def->case_count);
  if (def->plain) return (Value){.i = tag};
  Variant *variant = variant_new(arena, tag, def->cases[tag].field_count);
  random_values(random, types, def->cases[tag].field_count, def->cases[tag].fields, arena, variant->fields);
  return (Value){.variant = variant};
}

static Value random_record(Random *random, const TypeTable *types, const RecordDef *def, Arena *arena) {
  if (random_below(random, 5) == 0) return (Value){.record = NULL};  // all zeros
  Value *record = record_new(arena, def->field_count);
  random_values(random, types, def->field_count, def->fields, arena, record);
  return (Value){.record = record};
}

Value random_value(Random *random, const TypeTable *types, TypeId type, Arena *arena) {
  enum { TIME_MAX = 253402300799 };  // the last second of year 9999
  if (type_kind(types, type) == TYPE_OPTIONAL) {
    if (random_below(random, 3) == 0) return value_none(types, type);
    return value_some(types, type, random_value(random, types, types->types[type].of, arena));
  }
  type = type_of_key(types, type);
  Type t = types->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: return (Value){.i = (int64_t)random_below(random, 2)};
    case TYPE_INT: case TYPE_DURATION: return (Value){.i = random_int(random)};
    case TYPE_TIME: return (Value){.i = (int64_t)(random_next(random) >> 12) % (TIME_MAX * 1000000)};
    case TYPE_DATE: return (Value){.i = (int64_t)random_below(random, 2932896)};
    case TYPE_DECIMAL: return (Value){.dec = random_int(random)};
    case TYPE_FLOAT: return (Value){.f = random_float(random)};
    case TYPE_TEXT: return (Value){.text = random_text(random, arena)};
    case TYPE_BYTES: return (Value){.text = random_bytes_of(random, arena, random_below(random, 9))};
    case TYPE_UUID: return (Value){.text = random_bytes_of(random, arena, 16)};
    case TYPE_ENUM: return random_enum(random, types, &types->enums[t.of], arena);
    case TYPE_RECORD: return random_record(random, types, &types->records[t.of], arena);
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return random_list(random, types, type, arena);
    case TYPE_OPTIONAL: case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  return (Value){0};
}
