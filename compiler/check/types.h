// The table of types while it is being built: equal types get one number, so that later phases compare numbers.
//
// Declared records and enums are each a type of their own; written and inferred records `{ … }` are equal when their
// fields are, in order. Three numbers above all real ones stand for what is no type of the module: something wrong that
// was reported (it fits everything), `none` and `[]` whose place has not said yet what they hold.
//
// Owns:   everything is in the arena.
// Thread: one at a time.
// Errors: ID_POISON with `bad` set when a limit is passed, with `failed` when memory ran out.
// Limits: TYPE_COUNT_MAX, TYPE_WIDTH_MAX, TYPE_DEPTH_MAX.
#pragma once
#include "compiler/check/map.h"
#include "compiler/source.h"
#include "compiler/syntax/ast.h"
#include "runtime/value/type.h"

// The simple types are always the first, in this order.
enum { ID_BOOL, ID_INT, ID_FLOAT, ID_TEXT, ID_BYTES, ID_UUID, ID_TIME, ID_DATE, ID_DURATION, ID_SIMPLE_COUNT };
static const TypeId ID_POISON = 0xFFFE, ID_NOTHING = 0xFFFD, ID_EMPTY = 0xFFFC;  // wrong, `none`, `[]`

// decl: NULL for `{ … }`; fields: as they are written, NULL where none has a default or limit; settled: fields.c has looked at them.
typedef struct RecordInfo { const Sym *syms; const Decl *decl; const FieldList *fields; bool settled; } RecordInfo;

typedef struct TypeBuilder {
  Arena *arena;
  TypeTable table;        // always current; its arrays are those below
  Type *types;
  RecordDef *records;
  EnumDef *enums;
  RecordInfo *infos;      // beside records
  const Decl **enum_decls;
  uint32_t type_room, record_room, enum_room;
  Map numbers, shapes;
  // What walking over a type costs: the parts that it has, each as often as it would be written, and how deep they are.
  uint32_t *widths;
  uint8_t *depths;
  Span at, bad_at;        // where a type is being made; where the first one was that went past a limit
  const char *bad;        // which limit that was, in words; NULL: none
  bool failed;
} TypeBuilder;

bool types_init(TypeBuilder *types, Arena *arena);
TypeId types_get(TypeBuilder *types, Type type);
// A declared one; its fields or cases are set later, in the table's own entry, and types_settle called then.
TypeId types_new_record(TypeBuilder *types, Str name, const Decl *decl);
TypeId types_new_enum(TypeBuilder *types, Str name, const Decl *decl);
void types_settle(TypeBuilder *types, TypeId type);
void types_settle_key(TypeBuilder *types, TypeId ref, TypeId key);  // once the key of a table is known
// `fields` and `syms` must live as long as the table.
TypeId types_shape(TypeBuilder *types, uint32_t count, const FieldDef *fields, const Sym *syms);
// The same, for itself alone: its fields have defaults or limits.
TypeId types_ruled_shape(TypeBuilder *types, const FieldList *written, const FieldDef *fields, const Sym *syms);

TypeId types_optional(TypeBuilder *types, TypeId of);  // of an optional: itself
TypeId types_list(TypeBuilder *types, TypeId of);
TypeId types_decimal(TypeBuilder *types, unsigned scale);
TypeId types_ref(TypeBuilder *types, uint32_t table);

static inline bool type_is_real(TypeId type) { return type < ID_EMPTY; }
static inline bool types_is(const TypeBuilder *types, TypeId type, TypeKind kind) {
  return type_is_real(type) && types->types[type].kind == kind;
}
static inline TypeId types_of(const TypeBuilder *types, TypeId type) { return types->types[type].of; }
// What is inside an optional; of another type, itself.
static inline TypeId types_open(const TypeBuilder *types, TypeId type) {
  return types_is(types, type, TYPE_OPTIONAL) ? types->types[type].of : type;
}
