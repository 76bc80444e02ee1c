// The rows of a store as lines of JSON, by the names of tables and fields, without any module; and back.
//
//   {"aup_dump":1,"commit":42,"now":1700000000000000,"module":"HEX","schema":"HEX"}
//   {"table":"state","row":{"key":0,"total":7,"Row.id":3}}
//   {"table":"Row","row":{"id":1,"text":"x"}}
//
// Names that no program can write (`Row.id`, the counter of an auto key; `~outbox`) are those of the host: they are part of the
// state. Values are written as runtime/value/json_value.h says.
//
// Owns:   LinesLoad what it has open, until lines_load_end.
// Thread: that of the store's owner.
// Errors: ERR_FORMAT with "line N: …"; those of the store.
// Limits: LINES_LINE_BYTES_MAX a line.
#pragma once
#include "runtime/store/store.h"

enum { LINES_VERSION = 1, LINES_LINE_BYTES_MAX = 64 << 20, LINES_BATCH = 1000 };

// `write` gets a line at a time, with its end.
typedef Err (*LinesWrite)(void *context, Str line);
MUST_USE Err lines_dump(Store *store, LinesWrite write, void *context);

typedef struct LinesLoad { Store *store; uint64_t line, rows, now_us; uint32_t pending; bool is_new; } LinesLoad;
// The store is new (then it takes its schema from the first line) or holds no rows but its state's.
MUST_USE Err lines_load_begin(LinesLoad *load, Store *store, ErrText *out_text);
MUST_USE Err lines_load_line(LinesLoad *load, Str line, ErrText *out_text);
// The last rows are committed, and every reference must lead to a row.
MUST_USE Err lines_load_end(LinesLoad *load, ErrText *out_text);
