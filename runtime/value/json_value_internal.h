// What the files that read and write values as JSON share.
//
// Owns:   nothing; parts read live in the arena of the problems.
// Thread: any.
// Errors: as json_value.h.
#pragma once
#include "runtime/value/json_value.h"

// Where in what a client sent a value stands. The outermost place has the path the caller gave. Made into a text only
// when there is something to say about it.
typedef struct Place {
  const struct Place *outer;
  Str name;
  int64_t index;  // below zero: a member of that name
} Place;

typedef struct Reading { const TypeTable *types; JsonReader *json; ValueProblems *problems; } Reading;

// Adds a problem and returns ERR_FORMAT, so that a reader ends in one statement.
Err json_value__refuse(ValueProblems *problems, const Place *place, const char *format, ...) PRINTF(3, 4);

// Is the value of every such key a text in JSON? Then a map with such keys is an object.
bool json_value__is_text(const TypeTable *types, TypeId type);

// Reads the one value whose text this is: any type that is neither composite nor optional, and cases without fields.
MUST_USE Err json_value__read_scalar(const Reading *reading, TypeId type, Str text, const Place *place, Value *out_value);
// Reads the value whose first event the reader has just given, to its end.
MUST_USE Err json_value__read(const Reading *reading, TypeId type, const Place *place, Value *out_value);
