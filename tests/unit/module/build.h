// A small assembler for tests: a module with a fixed set of types and tables, to which a test adds functions by emitting
// instructions. Also seals bytes that a test has changed, so that the reader looks past the hash.
//
// Owns:   everything stands in the Build's arena.
// Thread: one at a time.
// Errors: aborts; it is a test's own.
// Limits: BUILD_*_MAX.
#pragma once
#include "runtime/base/buf.h"
#include "runtime/module/format.h"

// The types, in the order of the table.
enum {
  T_BOOL, T_INT, T_DEC2, T_DEC4, T_FLOAT, T_TEXT, T_BYTES, T_UUID, T_TIME, T_DATE, T_DURATION,
  T_COLOR,      // enum { red, green, blue }
  T_SHAPE,      // enum { dot, circle(r: int), box(w: int, label: text) }
  T_POINT,      // record { x: int, y: dec2 }
  T_OPT_INT, T_OPT_TEXT, T_OPT_DEC2, T_OPT_POINT, T_OPT_FLOAT, T_LIST_INT, T_LIST_TEXT, T_LIST_OPT, T_LIST_BOOL, T_LIST_DEC2, T_LIST_FLOAT, T_LIST_LIST,
  T_SET_INT, T_SET_TEXT, T_MAP,  // map(text, int)
  T_ITEM, T_OPT_ITEM, T_PAIR, T_PAIR_KEY,  // references to tables Item and Pair; Pair's key is the record { a: int, b: text }
  T_DEC0, T_DEC6, T_OPT_BOOL, T_DEC18, T_OPT_TIME,
  T_NOTE, T_LIST_NOTE, T_LIST_POINT,  // note: the record of output 0
  T_BASE_COUNT
};
// Tables: 0 the state (key, count: int, name: text, hidden counter), 1 Item (id: int key auto, title: text, price: dec2, due: time; index 0: title, due),
// 2 Pair (a: int, b: text; key a, b).
enum { STATE_COUNT = 1, STATE_NAME, STATE_COUNTER, TABLE_ITEM = 1, TABLE_PAIR, ITEM_ID = 0, ITEM_TITLE, ITEM_PRICE, ITEM_DUE };
// The same tables with what timers need, put in by build_timed_tables: behind the others, Item has the hidden columns `~due`: time?
// and `~tries`: int, and an index each on `~due` and `due`; the state has `~tick`: time and `~begun`: bool.
enum { ITEM_KEPT = 4, ITEM_TRIES, STATE_TICK = 4, STATE_BEGUN };
enum { BUILD_FUNCTIONS_MAX = 256, BUILD_CODE_MAX = 4096, BUILD_REGISTERS_MAX = 512, BUILD_BLOCKS_MAX = 32, BUILD_PLANS_MAX = 32, BUILD_CONSTANTS_MAX = 256 };

typedef struct Build {
  Arena arena;
  Module module;
  Type types[T_BASE_COUNT + 64];
  Function functions[BUILD_FUNCTIONS_MAX];
  Constant constants[BUILD_CONSTANTS_MAX];
  ErrorDef errors[BUILTIN_ERROR_COUNT + 8];
  EntryDef entries[16];
  RoleDef roles[8];
  OutputDef outputs[8];
  NamedFunction tests[8], always[8];
  TimerDef timers[8];
  SettingDef settings[8];
  PageDef pages[4];
  TableMeta table_meta[3];
  ColumnMeta columns[3][8];
  Function *function;            // the one being made
  Instruction code[BUILD_CODE_MAX];
  TypeId registers[BUILD_REGISTERS_MAX];
  Block blocks[BUILD_BLOCKS_MAX];
  Plan plans[BUILD_PLANS_MAX];
  LineEntry lines[64];
} Build;

// The plain module: app "test", errors (the built-in ones, and error 8 `full(have: int)`), role 0 `clerk`, output 0 `note(words: text, n: int)`.
void build_init(Build *build);
void build_free(Build *build);
void build_timed_tables(Build *build);

uint16_t build_type(Build *build, Type type);
uint32_t build_constant(Build *build, TypeId type, Value value);
// Begins function number `function_count`; registers are added by build_register, the first `param_count` before any other.
uint16_t build_begin(Build *build, FunctionKind kind, TypeId result);
uint16_t build_register(Build *build, TypeId type);
uint16_t build_param(Build *build, TypeId type);
uint32_t build_emit(Build *build, Opcode op, uint32_t a, uint32_t b, uint32_t c);   // returns its position; wide operands take b whole
uint32_t build_emit_x(Build *build, Opcode op, uint8_t x, uint32_t a, uint32_t b, uint32_t c);
void build_patch(Build *build, uint32_t pc);                                        // the jump at pc goes to here
uint32_t build_here(const Build *build);
uint16_t build_block_begin(Build *build);
void build_block_end(Build *build);                                                 // emits BLOCK_END
uint16_t build_plan(Build *build, uint16_t stage_count, const Stage *stages);       // copied with their arrays
void build_line(Build *build, uint32_t line);                                       // for what follows
void build_end(Build *build);                                                       // effects are set from the instructions and calls
// An entry over a function: its parameters are named p0, p1 …
EntryDef *build_entry(Build *build, EntryKind kind, const char *name, uint16_t function);

// module_write and module_read; the result lives in the Build's arena. Aborts with the reason when refused.
Module *build_finish(Build *build);
Err build_try(Build *build, ErrText *out_text);
Buf build_bytes(Build *build);
void build_seal(char *bytes, size_t len);                                           // sets the hash (and nothing else) right
