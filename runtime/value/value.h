// A Value is what one register of the machine, one argument or one column holds. It does not know its type; who holds
// it does. 16 bytes, so that 128-bit decimals and texts fit without a second place.
//
//   none of an optional: I64, F64 and DEC keep a presence word beside the payload (`opt.has`; an optional decimal
//   therefore holds 64 bits); STR and PTR use a NULL pointer. An empty text or list has a pointer that is not NULL
//   wherever it stands in an optional (value_some sees to that).
//
// Owns:   nothing. Texts and pointers live in the arena, page or module they came from.
// Thread: any.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/str.h"
#include "runtime/value/type.h"

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

typedef struct Arena Arena;

// The zero of a type: 0, "", false, the first case, an empty list, none. A record's zero is NULL (its readers take that as all zeros).
Value value_zero(const TypeTable *types, TypeId type);

// Optionals. `type` is the OPTIONAL's type id.
bool value_is_some(const TypeTable *types, TypeId type, Value value);
Value value_none(const TypeTable *types, TypeId type);
Value value_some(const TypeTable *types, TypeId type, Value inside);   // a decimal must fit 64 bits
Value value_open(const TypeTable *types, TypeId type, Value optional); // the zero of what is inside when it is none

// Total order of two values of one type; none first, enum cases as declared, texts and bytes by bytes, records and
// lists by their parts. Works for every type (lists and maps too), without recursion deeper than VALUE_DEPTH_MAX.
enum { VALUE_DEPTH_MAX = 64 };
int value_compare(const TypeTable *types, TypeId type, Value a, Value b);
bool value_equal(const TypeTable *types, TypeId type, Value a, Value b);

// A deep copy whose texts and parts live in the arena. false: no memory.
bool value_copy(const TypeTable *types, TypeId type, Value value, Arena *arena, Value *out_value);
// Bytes of memory the value holds outside its 16: for budgets and fuel.
uint64_t value_size(const TypeTable *types, TypeId type, Value value);
