// Interning: a type is 64 bits once kind, scale and the two numbers are packed, so that is its key. Shapes of records are
// found by a hash of their fields; when two different shapes meet in one hash the key is moved on.
#include "compiler/check/types.h"

#include <assert.h>
#include <string.h>

static uint64_t pack(Type type) {
  return (uint64_t)type.kind << 40 | (uint64_t)type.scale << 32 | (uint64_t)type.of << 16 | type.to;
}

// Makes room for one more item; the array moves when it is full.
static bool make_room(Arena *arena, void *array, uint32_t count, uint32_t *room, size_t size) {
  if (count < *room) return true;
  uint32_t wanted = *room ? 2 * *room : 64;
  void *grown = arena_alloc_zero(arena, wanted, size);
  if (!grown) return false;
  void *old;
  memcpy(&old, array, sizeof old);
  if (count) memcpy(grown, old, count * size);
  memcpy(array, &grown, sizeof grown);
  *room = wanted;
  return true;
}

// ---- how large --------------------------------------------------------------------------------

static TypeId say_bad(TypeBuilder *types, const char *words) {
  if (!types->bad) { types->bad = words; types->bad_at = types->at; }
  return ID_POISON;
}

typedef struct Extent { uint64_t width; uint32_t depth; } Extent;

static void add_part(const TypeBuilder *types, Extent *extent, TypeId part) {
  if (!type_is_real(part)) return;
  extent->width += types->widths[part];
  if (types->depths[part] > extent->depth) extent->depth = types->depths[part];
}

static void add_fields(const TypeBuilder *types, Extent *extent, uint32_t count, const FieldDef *fields) {
  extent->width += 1;
  for (uint32_t i = 0; i < count; i++) add_part(types, extent, fields[i].type);
}

// Counts as type_check_table does.
static Extent extent_of(const TypeBuilder *types, Type type) {
  Extent extent = {0};
  switch ((TypeKind)type.kind) {
    case TYPE_OPTIONAL: case TYPE_LIST: case TYPE_SET: add_part(types, &extent, type.of); break;
    case TYPE_MAP: extent.width = 1; add_part(types, &extent, type.of); add_part(types, &extent, type.to); break;
    case TYPE_RECORD: add_fields(types, &extent, types->records[type.of].field_count, types->records[type.of].fields); break;
    case TYPE_ENUM:
      extent.width = 1;
      for (uint32_t i = 0; i < types->enums[type.of].case_count && !types->enums[type.of].plain; i++)
        add_fields(types, &extent, types->enums[type.of].cases[i].field_count, types->enums[type.of].cases[i].fields);
      break;
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: case TYPE_TIME:
    case TYPE_DATE: case TYPE_DURATION: case TYPE_REF: case TYPE_KIND_COUNT: extent.width = 1; break;
  }
  extent.depth++;
  return extent;
}

static bool measure(TypeBuilder *types, TypeId id, Extent extent) {
  bool fits = true;
  if (extent.width > TYPE_WIDTH_MAX) { say_bad(types, "a type has at most 65,000 parts, those of its parts included (TYPE_WIDTH_MAX)"); fits = false; }
  if (extent.depth > TYPE_DEPTH_MAX - 2) { say_bad(types, "types nest at most 62 deep (TYPE_DEPTH_MAX less two)"); fits = false; }
  types->widths[id] = fits ? (uint32_t)extent.width : 1;
  types->depths[id] = fits ? (uint8_t)extent.depth : 1;
  return fits;
}

void types_settle(TypeBuilder *types, TypeId type) {
  if (type_is_real(type)) measure(types, type, extent_of(types, types->types[type]));
}

void types_settle_key(TypeBuilder *types, TypeId ref, TypeId key) {
  if (type_is_real(ref) && type_is_real(key)) measure(types, ref, (Extent){types->widths[key], types->depths[key] + 1u});
}

// ---- interning --------------------------------------------------------------------------------

static TypeId add(TypeBuilder *types, Type type) {
  uint32_t count = types->table.count, room = types->type_room, depth_room = types->type_room;
  if (count >= TYPE_COUNT_MAX) return say_bad(types, "an app has at most 60,000 types (TYPE_COUNT_MAX)");
  if (!make_room(types->arena, &types->types, count, &types->type_room, sizeof(Type)) || !make_room(types->arena, &types->widths, count, &room, sizeof(uint32_t)) ||
      !make_room(types->arena, &types->depths, count, &depth_room, sizeof(uint8_t))) { types->failed = true; return ID_POISON; }
  if (!measure(types, (TypeId)count, extent_of(types, type))) return ID_POISON;
  types->types[count] = type;
  types->table.types = types->types;
  return types->table.count++;
}

TypeId types_get(TypeBuilder *types, Type type) {
  uint32_t known = map_get(&types->numbers, pack(type));
  if (known != MAP_NOTHING) return (TypeId)known;
  TypeId id = add(types, type);
  if (id != ID_POISON && !map_put(&types->numbers, pack(type), id)) types->failed = true;
  return id;
}

bool types_init(TypeBuilder *types, Arena *arena) {
  static const uint8_t KINDS[ID_SIMPLE_COUNT] = {
    [ID_BOOL] = TYPE_BOOL, [ID_INT] = TYPE_INT, [ID_FLOAT] = TYPE_FLOAT, [ID_TEXT] = TYPE_TEXT, [ID_BYTES] = TYPE_BYTES,
    [ID_UUID] = TYPE_UUID, [ID_TIME] = TYPE_TIME, [ID_DATE] = TYPE_DATE, [ID_DURATION] = TYPE_DURATION};
  *types = (TypeBuilder){.arena = arena};
  map_init(&types->numbers, arena);
  map_init(&types->shapes, arena);
  for (TypeId id = 0; id < ID_SIMPLE_COUNT; id++) {
    TypeId got = types_get(types, (Type){.kind = KINDS[id]});
    assert(got == id || types->failed);
    (void)got;
  }
  return !types->failed;
}

static TypeId add_record(TypeBuilder *types, RecordDef def, RecordInfo info) {
  uint32_t room = types->record_room, count = types->table.record_count;
  if (count >= TYPE_COUNT_MAX) return say_bad(types, "an app has at most 60,000 records and enums (TYPE_COUNT_MAX)");
  if (!make_room(types->arena, &types->records, count, &types->record_room, sizeof def) ||
      !make_room(types->arena, &types->infos, count, &room, sizeof info)) { types->failed = true; return ID_POISON; }
  types->records[count] = def;
  types->infos[count] = info;
  types->table.records = types->records;
  types->table.record_count++;
  return types_get(types, (Type){.kind = TYPE_RECORD, .of = (uint16_t)count});
}

TypeId types_new_record(TypeBuilder *types, Str name, const Decl *decl) {
  return add_record(types, (RecordDef){.name = name}, (RecordInfo){.decl = decl, .fields = &decl->record.fields});
}

TypeId types_new_enum(TypeBuilder *types, Str name, const Decl *decl) {
  uint32_t room = types->enum_room, count = types->table.enum_count;
  if (count >= TYPE_COUNT_MAX) return say_bad(types, "an app has at most 60,000 records and enums (TYPE_COUNT_MAX)");
  if (!make_room(types->arena, &types->enums, count, &types->enum_room, sizeof(EnumDef)) ||
      !make_room(types->arena, &types->enum_decls, count, &room, sizeof(Decl *))) { types->failed = true; return ID_POISON; }
  types->enums[count] = (EnumDef){.name = name};
  types->enum_decls[count] = decl;
  types->table.enums = types->enums;
  types->table.enum_count++;
  return types_get(types, (Type){.kind = TYPE_ENUM, .of = (uint16_t)count});
}

static bool same_shape(const TypeBuilder *types, uint32_t record, uint32_t count, const FieldDef *fields, const Sym *syms) {
  const RecordDef *def = &types->records[record];
  if (def->field_count != count) return false;
  for (uint32_t i = 0; i < count; i++)
    if (types->infos[record].syms[i] != syms[i] || def->fields[i].type != fields[i].type || def->fields[i].has_default != fields[i].has_default) return false;
  return true;
}

TypeId types_shape(TypeBuilder *types, uint32_t count, const FieldDef *fields, const Sym *syms) {
  assert(count <= FIELD_COUNT_MAX);
  uint64_t key = count;
  for (uint32_t i = 0; i < count; i++) {
    key = (key ^ map_pair(syms[i], (uint32_t)fields[i].type << 1 | fields[i].has_default)) * 0x9E3779B97F4A7C15u;
    key ^= key >> 29;
  }
  for (uint32_t known; (known = map_get(&types->shapes, key)) != MAP_NOTHING; key++)
    if (same_shape(types, known, count, fields, syms)) return types_get(types, (Type){.kind = TYPE_RECORD, .of = (uint16_t)known});
  uint32_t record = types->table.record_count;
  TypeId id = add_record(types, (RecordDef){.field_count = (uint16_t)count, .fields = fields}, (RecordInfo){.syms = syms});
  if (id != ID_POISON && !map_put(&types->shapes, key, record)) types->failed = true;
  return id;
}

TypeId types_ruled_shape(TypeBuilder *types, const FieldList *written, const FieldDef *fields, const Sym *syms) {
  return add_record(types, (RecordDef){.field_count = (uint16_t)written->count, .fields = fields}, (RecordInfo){.syms = syms, .fields = written});
}

TypeId types_optional(TypeBuilder *types, TypeId of) {
  if (!type_is_real(of) || types_is(types, of, TYPE_OPTIONAL)) return of;
  return types_get(types, (Type){.kind = TYPE_OPTIONAL, .of = of});
}

TypeId types_list(TypeBuilder *types, TypeId of) {
  return type_is_real(of) ? types_get(types, (Type){.kind = TYPE_LIST, .of = of}) : ID_POISON;
}

TypeId types_decimal(TypeBuilder *types, unsigned scale) {
  assert(scale <= DECIMAL_SCALE_MAX);
  return types_get(types, (Type){.kind = TYPE_DECIMAL, .scale = (uint8_t)scale});
}

TypeId types_ref(TypeBuilder *types, uint32_t table) { return types_get(types, (Type){.kind = TYPE_REF, .of = (uint16_t)table}); }
