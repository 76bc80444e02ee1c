// A Value is what one register of the machine, one argument or one column holds. It does not know its type; who holds
// it does. 16 bytes, so that 128-bit decimals and texts fit without a second place.
//
//   none of an optional: I64, F64 and DEC keep a presence word beside the payload (`opt.has`; an optional decimal
//   therefore holds 64 bits); STR and PTR use a NULL pointer. An empty text or list has a pointer that is not NULL
//   wherever it stands in an optional (value_some sees to that).
//
//   All bits zero is the zero value of every type: no text, no list, no record, no variant (pointer NULL) is an empty
//   one, all of whose fields are zero; a uuid without bytes is the one of 16 zero bytes. So a frame of registers is
//   made by memset. The inline readers below take such values; who reads pointers directly looks for NULL.
//
// Owns:   nothing. Texts and pointers live in the arena, page or module they came from.
// Thread: any.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/str.h"
#include "runtime/value/type.h"

typedef struct Arena Arena;
typedef struct List List;
typedef struct Variant Variant;
typedef union Value Value;

union Value {
  int64_t i;                               // BOOL 0/1, INT, TIME µs since 1970 UTC, DATE days since 1970-01-01, DURATION µs, plain ENUM case number
  double f;                                // always finite
  __int128 dec;                            // unscaled units
  struct { int64_t i; int64_t has; } opt;  // OPTIONAL of an I64, F64 (bits) or DEC payload: has is 0 or 1
  Str text;                                // TEXT, BYTES, UUID (len 16)
  const List *list;                        // LIST in order; SET sorted, no doubles; MAP as key, value, key, value …, sorted by key
  const Value *record;                     // RECORD: one Value a field, in declared order
  const Variant *variant;                  // ENUM that has a case with fields
};
_Static_assert(sizeof(Value) == 16, "a register is two words");

struct List { uint32_t count, cap; Value items[]; };  // count of Values (a MAP: twice its entries); cap: room while it is being built
struct Variant { uint32_t tag; Value fields[]; };

static inline uint32_t list_count(const List *list) { return list ? list->count : 0; }
static inline uint32_t variant_tag(const Variant *variant) { return variant ? variant->tag : 0; }
static inline Value record_field(const Value *record, uint32_t field) { return record ? record[field] : (Value){.text = {0}}; }
static inline Value variant_field(const Variant *variant, uint32_t field) { return variant ? variant->fields[field] : (Value){.text = {0}}; }
extern const uint8_t UUID_ZERO[16];
static inline const uint8_t *value_uuid(Value value) { return value.text.ptr ? (const uint8_t *)value.text.ptr : UUID_ZERO; }

// New parts in the arena, all of whose values are zero. NULL: no memory.
List *list_new(Arena *arena, uint32_t count);
Value *record_new(Arena *arena, uint32_t field_count);
Variant *variant_new(Arena *arena, uint32_t tag, uint32_t field_count);

// The zero of a type: 0, "", false, the first case, an empty list, none. A record's zero is NULL (its readers take that as all zeros).
Value value_zero(const TypeTable *types, TypeId type);

// Optionals. `type` is the OPTIONAL's type id.
bool value_is_some(const TypeTable *types, TypeId type, Value value);
Value value_none(const TypeTable *types, TypeId type);
Value value_some(const TypeTable *types, TypeId type, Value inside);   // a decimal must fit 64 bits
Value value_open(const TypeTable *types, TypeId type, Value optional); // the zero of what is inside when it is none

// Total order of two values of one type; none first, enum cases as declared, texts and bytes by bytes, records and
// lists by their parts. Works for every type (lists and maps too), without recursion deeper than VALUE_DEPTH_MAX.
// Floats by their size, so that -0.0 and 0.0 are one.
enum { VALUE_DEPTH_MAX = TYPE_DEPTH_MAX };
int value_compare(const TypeTable *types, TypeId type, Value a, Value b);
bool value_equal(const TypeTable *types, TypeId type, Value a, Value b);

// A deep copy whose texts and parts live in the arena. false: no memory.
bool value_copy(const TypeTable *types, TypeId type, Value value, Arena *arena, Value *out_value);
// Bytes of memory the value holds outside its 16: for budgets and fuel.
uint64_t value_size(const TypeTable *types, TypeId type, Value value);

// Makes what a SET or MAP must be of a list filled in any order: sorts it by item (MAP: by key) with value_compare, and
// takes out doubles (of a MAP's equal keys the last one put in stays). `*out_doubles` (may be NULL): how many went.
// false: no memory for the work.
bool list_sort_unique(const TypeTable *types, TypeId type, List *list, Arena *arena, uint32_t *out_doubles);
// The place (of a MAP: of the key) of an item in a sorted SET or MAP; -1 when it is not there.
int64_t list_find(const TypeTable *types, TypeId type, const List *list, Value item);
