// The types of a module: one flat table, so that a type is a small number wherever it is named.
// Compiler, verifier, machine, codecs and the planner of swaps all read this one description.
//
// Owns:   a TypeTable owns nothing; its arrays live as long as the module (or the arena) they stand in.
// Thread: any, read only once built.
// Errors: type_check_table alone finds faults; every other function here and in value.h, codec.h and json_value.h
//         trusts a table that has passed it (or that the compiler made).
// Limits: TYPE_COUNT_MAX types, FIELD_COUNT_MAX fields in a record or case, CASE_COUNT_MAX cases in an enum,
//         TYPE_DEPTH_MAX types inside each other, TYPE_WIDTH_MAX parts in a type written out.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/err.h"
#include "runtime/base/str.h"

typedef enum TypeKind {
#define TYPE(name, words, repr) TYPE_##name,
#include "runtime/value/types.def"
#undef TYPE
  TYPE_KIND_COUNT
} TypeKind;

typedef enum Repr { REPR_I64, REPR_F64, REPR_DEC, REPR_STR, REPR_PTR, REPR_OF } Repr;

enum { TYPE_COUNT_MAX = 60000, FIELD_COUNT_MAX = 65000, CASE_COUNT_MAX = 65000, DECIMAL_SCALE_MAX = 18 };
// A type that contains itself has no depth and is refused, so walking a value by its type always ends.
enum { TYPE_DEPTH_MAX = 64, TYPE_WIDTH_MAX = 65000 };

typedef uint16_t TypeId;
static const TypeId TYPE_NONE = 0xFFFF;  // "no result"; never a register's type

// `of`: the element of OPTIONAL, LIST, SET; the key of MAP; the index of an EnumDef, RecordDef or (REF) table.
// `to`: the value type of MAP.   `scale`: of DECIMAL, 0..18.
typedef struct Type { uint8_t kind, scale; uint16_t of, to; } Type;

// has_default: may be absent in JSON, which then means `fallback` (NULL: the zero of the type). The fallback is the module's, not the schema's.
typedef struct FieldDef { Str name; TypeId type; bool has_default; const union Value *fallback; } FieldDef;
typedef struct RecordDef { Str name; uint16_t field_count; const FieldDef *fields; } RecordDef;  // name is empty for `{ … }`
typedef struct CaseDef { Str name; uint16_t field_count; const FieldDef *fields; } CaseDef;
typedef struct EnumDef { Str name; uint16_t case_count; bool plain; const CaseDef *cases; } EnumDef;  // plain: no case has fields

typedef struct TypeTable {
  const Type *types;
  uint16_t count;
  const RecordDef *records;
  uint16_t record_count;
  const EnumDef *enums;
  uint16_t enum_count;
  const TypeId *table_keys;  // by table: the type of its key: that of the one key column, or a record of the key columns
  const Str *table_names;
  uint16_t table_count;
} TypeTable;

// How a register of the type is laid out. For an OPTIONAL it is that of what is inside; for REF that of the table's key.
Repr type_repr(const TypeTable *table, TypeId type);
const char *type_kind_words(TypeKind kind);
static inline TypeKind type_kind(const TypeTable *table, TypeId type) { return (TypeKind)table->types[type].kind; }
// Every index within its bounds, every limit kept, no optional in an optional, no type inside itself.
// ERR_FORMAT with a line that says what is wrong; ERR_MEMORY. Linear in the size of the table.
MUST_USE Err type_check_table(const TypeTable *table, ErrText *out_text);
// The type with references replaced by their table's key type (again and again), nothing else opened.
TypeId type_of_key(const TypeTable *table, TypeId type);

// May values of the type be compared with < (and so order queries and stand in an index)?
// bool, int, decimal, float, text, bytes, uuid, time, date, duration, plain enums, references to such, records of such, optionals of such.
bool type_is_ordered(const TypeTable *table, TypeId type);

// The name as a person writes it: `decimal(2)`, `[text]`, `Account?`. Into `out`, cut at `size`.
typedef struct Buf Buf;
void type_write(const TypeTable *table, TypeId type, Buf *out);
