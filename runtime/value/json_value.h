// Values as JSON text, by type, both ways, as docs/language.md's HTTP section says:
//   int: a number (text accepted; 1.0 and 1e2 are ints, 1.5 is none) · decimal: a number with all its digits, `12.50`
//   (text accepted), read exactly: digits the scale has no room for are refused, never rounded · float: shortest that
//   reads back · text: the bytes as they are, no NFC · bytes: base64url · uuid: canonical text · time: RFC 3339 in UTC ·
//   date: "2026-10-04" · duration: "5min" · enum case: "low"; with fields: {"circle": {"r": 1}} · none: null (an absent
//   member reads as none) · a reference: its key; composite: an array · list, set: array (a set may name an item twice) ·
//   map: object where its keys are texts in JSON (text, uuid, date, plain enum …), else an array of [key, value] pairs ·
//   record: object. Unknown members, and any name or key that comes twice, are refused.
//
// Errors of reading are collected, all of them: each names the path (`lines[3].quantity`) and one sentence.
// Owns:   read values live in the arena; texts may point into the JSON text, which must live as long.
// Thread: any.
// Errors: ERR_FORMAT as above; ERR_MEMORY.
// Limits: nesting JSON_DEPTH_MAX of runtime/base/json.h; VALUE_PROBLEMS_MAX problems are kept.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/value/value.h"

typedef struct JsonReader JsonReader;

enum { VALUE_PROBLEMS_MAX = 20 };
typedef struct ValueProblem { Str path, message; } ValueProblem;
typedef struct ValueProblems { Arena *arena; uint16_t count; ValueProblem items[VALUE_PROBLEMS_MAX]; } ValueProblems;
void value_problem_add(ValueProblems *problems, Str path, const char *format, ...) PRINTF(3, 4);

void value_write_json(const TypeTable *types, TypeId type, Value value, Buf *out);

// Reads the JSON value at the reader (whatever it is; it is always passed over whole). ERR_FORMAT: problems were added
// or the JSON itself is broken (then reader->event is JSON_ERROR and the reader says where). `path` names the value in problems.
MUST_USE Err value_read_json(const TypeTable *types, TypeId type, JsonReader *reader, Str path, ValueProblems *problems, Value *out_value);

// The text form used in a query string or a form: what stands in JSON without its quotes (`5`, `low`, `2026-10-04`);
// lists and records are JSON text; a composite reference is `w,d` (or JSON). An empty text is none for an
// optional, but for a text? it is the empty text. The same problems.
MUST_USE Err value_read_text(const TypeTable *types, TypeId type, Str text, Str path, ValueProblems *problems, Value *out_value);
// As a person reads it: texts bare, none as `none`, the rest as in JSON without quotes. What "{x}" in an aup text gives.
void value_write_text(const TypeTable *types, TypeId type, Value value, Buf *out);
