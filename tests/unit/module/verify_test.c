// The verifier: for every rule an instruction that fits and one that breaks exactly it, then control flow, plans, calls,
// effects and declarations, each with a module that is wrong in one place.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "runtime/module/opcode.h"
#include "tests/unit/module/build.h"

// Register n has type n; behind them stand runs of registers for instructions that take several.
enum { RX = T_BASE_COUNT };  // RX: int text int text text int text dec2 time int int
static const TypeId RUN[] = {T_INT, T_TEXT, T_INT, T_TEXT, T_TEXT, T_INT, T_TEXT, T_DEC2, T_TIME, T_INT, T_INT};
enum { REGISTERS = RX + countof(RUN) };

typedef struct Row { Opcode op; uint32_t a, b, c; const char *part; uint8_t x; } Row;  // part NULL: accepted

// Function 0: fn(int) -> int; 1: a test; 2: the one under test, with plan 0 (a scan of Item, a filter) and entry 0 (view, int -> int).
static void build_row(Build *b, const Row *row) {
  build_init(b);
  build_constant(b, T_INT, (Value){.i = 1});
  build_constant(b, T_TEXT, (Value){.text = STR("x")});
  build_begin(b, FUNCTION_VIEW, T_INT);
  build_param(b, T_INT);
  build_emit(b, OP_RETURN, 0, 0, 0);
  build_end(b);
  build_entry(b, ENTRY_VIEW, "v", 0);
  build_begin(b, FUNCTION_TEST, TYPE_NONE);
  build_emit(b, OP_RETURN_VOID, 0, 0, 0);
  build_end(b);
  build_begin(b, FUNCTION_TEST, T_INT);
  for (uint16_t i = 0; i < T_BASE_COUNT; i++) build_register(b, i);
  for (size_t i = 0; i < countof(RUN); i++) build_register(b, RUN[i]);
  build_plan(b, 2, (Stage[]){{.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = SCHEMA_NO_INDEX, .block = NO_BLOCK, .from = NO_REGISTER, .to = T_ITEM},
                             {.kind = STAGE_FILTER, .block = NO_BLOCK, .from = T_BOOL, .to = NO_REGISTER}});
  build_emit_x(b, row->op, row->x, row->a, row->b, row->c);
  if (row->op != OP_RETURN && row->op != OP_RETURN_VOID) build_emit(b, OP_RETURN, T_INT, 0, 0);
  build_end(b);
}

static void check_rows(const Row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Build *b = malloc(sizeof *b);
    ErrText text = {{0}};
    build_row(b, &rows[i]);
    Err err = build_try(b, &text);
    const char *name = opcode_info(rows[i].op)->name;
    cr_assert_eq(err, rows[i].part ? ERR_FORMAT : ERR_NONE, "row %zu (%s): %s", i, name, text.text);
    if (rows[i].part) {
      cr_assert(strstr(text.text, rows[i].part), "row %zu (%s): %s", i, name, text.text);
      cr_assert(strstr(text.text, name), "row %zu names %s: %s", i, name, text.text);
    }
    build_free(b);
    free(b);
  }
}

static const Row RULES[] = {
  {OP_MOVE, T_INT, RX, 0, NULL}, {OP_MOVE, T_INT, T_TEXT, 0, "different types"},
  {OP_BOOL, T_BOOL, 1, 0, NULL}, {OP_BOOL, T_BOOL, 2, 0, "neither 0 nor 1"},
  {OP_ENUM, T_COLOR, 2, 0, NULL}, {OP_ENUM, T_COLOR, 3, 0, "case 3 of 3"}, {OP_ENUM, T_SHAPE, 0, 0, "has fields"},
  {OP_INT, T_INT, 0xFFFFFFFF, 0, NULL}, {OP_INT, T_TIME, 0, 0, "not an int"},
  {OP_CONST, T_INT, 0, 0, NULL}, {OP_CONST, T_INT, 1, 0, "does not have a's type"}, {OP_CONST, T_INT, 2, 0, "number 2 of 2"},
  {OP_ZERO, T_POINT, 0, 0, NULL}, {OP_ZERO, T_POINT, 1, 0, "b is unused"}, {OP_ZERO, T_POINT, 0, 1, "c is unused"}, {OP_ZERO, REGISTERS, 0, 0, "registers"},
  {OP_ZERO, T_POINT, 0, 0, "x is unused", .x = 1},
  {OP_SOME, T_OPT_INT, T_INT, 0, NULL}, {OP_SOME, T_OPT_INT, T_TEXT, 0, "not an optional of"}, {OP_SOME, T_INT, T_INT, 0, "not an optional"},
  {OP_OPEN, T_INT, T_OPT_INT, 0, NULL}, {OP_OPEN, T_TEXT, T_OPT_INT, 0, "not an optional of"},
  {OP_HAS, T_BOOL, T_OPT_POINT, 0, NULL}, {OP_HAS, T_BOOL, T_POINT, 0, "not an optional"},
  {OP_JUMP, 0, 1, 0, NULL}, {OP_JUMP, 0, 2, 0, "number 2 of 2"}, {OP_JUMP_IF, T_INT, 1, 0, "not a bool"}, {OP_JUMP_NONE, T_OPT_TEXT, 1, 0, NULL},
  {OP_CALL, T_INT, 0, T_INT, NULL}, {OP_CALL, T_TEXT, 0, T_INT, "type of the result"}, {OP_CALL, T_INT, 0, T_TEXT, "type of parameter 0"},
  {OP_CALL, T_INT, 0, REGISTERS, "needs 1 registers"}, {OP_CALL_VOID, 0, 0, T_INT, NULL}, {OP_CALL_VOID, 0, 1, 0, "test cannot be called"}, {OP_CALL_VOID, 0, 3, 0, "number 3 of 3"},
  {OP_RETURN, T_INT, 0, 0, NULL}, {OP_RETURN, T_TEXT, 0, 0, "type of result"}, {OP_RETURN_VOID, 0, 0, 0, "type of result"},
  {OP_REJECT, 0, T_TEXT, 0, NULL}, {OP_REJECT, BUILTIN_ERROR_COUNT, RX + 1, 0, NULL}, {OP_REJECT, BUILTIN_ERROR_COUNT, RX + 3, 0, "type of field 0"},
  {OP_REJECT, 0, T_INT, 0, "not of type text"}, {OP_REJECT, BUILTIN_ERROR_COUNT + 1, T_TEXT, 0, "number 9 of 9"},
  {OP_BLOCK_END, 0, 0, 0, "not the last instruction of a block"},
  {OP_ADD_I, T_TIME, T_TIME, T_DURATION, NULL}, {OP_ADD_I, T_INT, T_INT, T_BOOL, "not an int, time"}, {OP_ADD_I, T_COLOR, T_INT, T_INT, "not an int, time"},
  {OP_ADD_D, T_DEC2, RX + 7, T_DEC2, NULL}, {OP_ADD_D, T_DEC2, T_DEC2, T_DEC4, "different types"}, {OP_ADD_D, T_DEC2, T_INT, T_DEC2, "not a decimal"},
  {OP_MUL_D, T_DEC4, T_DEC2, T_DEC2, NULL}, {OP_MUL_D, T_DEC2, T_DEC2, T_DEC2, "not the sum"},
  {OP_NEG_D, T_DEC2, RX + 7, 0, NULL}, {OP_NEG_D, T_DEC2, T_DEC4, 0, "different types"},
  {OP_SCALE_D, T_DEC4, T_DEC2, 0, NULL}, {OP_SCALE_D, T_DEC2, T_DEC4, 0, "smaller than"},
  {OP_ROUND_D, T_DEC2, T_DEC4, 3, NULL}, {OP_ROUND_D, T_DEC2, T_DEC4, 4, "no way of rounding"},
  {OP_FIT_D, T_DEC2, T_DEC4, 0, "different types"}, {OP_DIV_D, T_DEC6, T_DEC2, T_DEC18, NULL}, {OP_INT_TO_D, T_DEC6, T_INT, 0, NULL},
  {OP_ADD_F, T_FLOAT, T_FLOAT, T_FLOAT, NULL}, {OP_ADD_F, T_FLOAT, T_FLOAT, T_INT, "not a float"}, {OP_INT_TO_F, T_FLOAT, T_DEC2, 0, "not an int"},
  {OP_NOT, T_BOOL, T_BOOL, 0, NULL}, {OP_AND, T_BOOL, T_BOOL, T_INT, "not a bool"},
  {OP_EQ_I, T_BOOL, T_COLOR, T_COLOR, NULL}, {OP_EQ_I, T_BOOL, T_INT, T_TIME, "different types"}, {OP_EQ_I, T_BOOL, T_SHAPE, T_SHAPE, "plain enum"},
  {OP_EQ, T_BOOL, T_SHAPE, T_SHAPE, NULL}, {OP_EQ, T_BOOL, T_OPT_INT, T_INT, "different types"},
  {OP_LT, T_BOOL, T_OPT_TEXT, T_OPT_TEXT, NULL}, {OP_LT, T_BOOL, T_SHAPE, T_SHAPE, "no order"}, {OP_LT, T_BOOL, T_LIST_INT, T_LIST_INT, "no order"}, {OP_LE, T_BOOL, T_INT, T_TEXT, "different types"},
  {OP_TO_TEXT, T_TEXT, T_MAP, 0, NULL}, {OP_TEXT_JOIN, T_TEXT, RX + 3, 2, NULL}, {OP_TEXT_JOIN, T_TEXT, RX + 3, 3, "not of type text"}, {OP_TEXT_JOIN, T_TEXT, REGISTERS - 1, 2, "needs 2 registers"},
  {OP_TEXT_JOIN, T_TEXT, 0, 0, NULL},
  {OP_BUILTIN, T_INT, 0, T_INT, NULL}, {OP_BUILTIN, T_INT, 0, T_TEXT, "does not fit parameter 0"}, {OP_BUILTIN, T_TEXT, 0, T_INT, "result of abs"},
  {OP_BUILTIN, T_INT, 0, REGISTERS, "needs 1 registers"}, {OP_BUILTIN, T_INT, 65535, T_INT, "number 65535"},
  {OP_RECORD_NEW, T_POINT, T_INT, 0, NULL}, {OP_RECORD_NEW, T_POINT, RX, 0, "type of field 1"}, {OP_RECORD_NEW, T_POINT, REGISTERS - 1, 0, "needs 2 registers"}, {OP_RECORD_NEW, T_INT, T_INT, 0, "not a record"},
  {OP_RECORD_GET, T_DEC2, T_POINT, 1, NULL}, {OP_RECORD_GET, T_DEC2, T_POINT, 0, "type of field 0"}, {OP_RECORD_GET, T_DEC2, T_POINT, 2, "field 2 of 2"},
  {OP_VARIANT_NEW, T_SHAPE, 2, RX, NULL}, {OP_VARIANT_NEW, T_SHAPE, 0, REGISTERS, NULL}, {OP_VARIANT_NEW, T_SHAPE, 2, RX + 1, "type of field 0"}, {OP_VARIANT_NEW, T_SHAPE, 3, RX, "case 3 of 3"}, {OP_VARIANT_NEW, T_COLOR, 0, RX, "no fields"},
  {OP_ENUM_TAG, T_INT, T_SHAPE, 0, NULL}, {OP_ENUM_TAG, T_INT, T_COLOR, 0, NULL}, {OP_ENUM_TAG, T_INT, T_INT, 0, "not an enum"},
  {OP_VARIANT_GET, T_TEXT, T_SHAPE, 1, NULL, .x = 2}, {OP_VARIANT_GET, T_TEXT, T_SHAPE, 1, "field 1 of 1", .x = 1}, {OP_VARIANT_GET, T_TEXT, T_SHAPE, 1, "case 3 of 3", .x = 3},
  {OP_VARIANT_GET, T_INT, T_SHAPE, 1, "type of field 1", .x = 2}, {OP_VARIANT_GET, T_INT, T_COLOR, 0, "no fields"},
  {OP_LIST_NEW, T_LIST_INT, RX + 9, 2, NULL}, {OP_LIST_NEW, T_LIST_INT, RX + 8, 2, "items' type"}, {OP_LIST_NEW, T_LIST_INT, RX + 9, 3, "needs 3 registers"}, {OP_LIST_NEW, T_SET_INT, RX + 9, 2, "not a list"},
  {OP_LIST_PUSH, T_LIST_OPT, T_OPT_INT, 0, NULL}, {OP_LIST_PUSH, T_LIST_OPT, T_INT, 0, "a's items"},
  {OP_LIST_JOIN, T_LIST_INT, T_LIST_INT, T_LIST_INT, NULL}, {OP_LIST_JOIN, T_LIST_INT, T_LIST_INT, T_LIST_OPT, "different types"},
  {OP_LIST_GET, T_OPT_INT, T_LIST_INT, T_INT, NULL}, {OP_LIST_GET, T_OPT_INT, T_LIST_OPT, T_INT, NULL}, {OP_LIST_GET, T_INT, T_LIST_INT, T_INT, "not an optional"}, {OP_LIST_GET, T_OPT_TEXT, T_LIST_INT, T_INT, "not an optional of"},
  {OP_LIST_AT, T_INT, T_LIST_INT, T_INT, NULL}, {OP_LIST_AT, T_OPT_INT, T_LIST_INT, T_INT, "b's items"},
  {OP_COUNT, T_INT, T_MAP, 0, NULL}, {OP_COUNT, T_INT, T_TEXT, 0, "not a list, set or map"},
  {OP_RANGE, T_LIST_INT, T_INT, T_INT, NULL}, {OP_RANGE, T_LIST_TEXT, T_INT, T_INT, "list of ints"},
  {OP_CONTAINS, T_BOOL, T_TEXT, T_MAP, NULL}, {OP_CONTAINS, T_BOOL, T_INT, T_MAP, "c's items"}, {OP_CONTAINS, T_BOOL, T_INT, T_SET_INT, NULL},
  {OP_SET_OF, T_SET_INT, T_LIST_INT, 0, NULL}, {OP_SET_OF, T_SET_INT, T_LIST_TEXT, 0, "set of b's items"}, {OP_SET_OF, T_LIST_INT, T_LIST_INT, 0, "set of b's items"},
  {OP_MAP_OF, T_MAP, RX + 1, 1, NULL}, {OP_MAP_OF, T_MAP, RX + 1, 2, "pair 1"}, {OP_MAP_OF, T_SET_INT, RX + 1, 1, "not a map"}, {OP_MAP_OF, T_MAP, RX + 1, 40000, "needs 80000"},
  {OP_MAP_GET, T_OPT_INT, T_MAP, T_TEXT, NULL}, {OP_MAP_GET, T_OPT_INT, T_MAP, T_INT, "not a map with keys"}, {OP_MAP_GET, T_OPT_TEXT, T_MAP, T_TEXT, "b's values"},
  {OP_STATE_GET, T_INT, STATE_COUNT, 0, NULL}, {OP_STATE_GET, T_INT, STATE_NAME, 0, "type of the column"}, {OP_STATE_GET, T_INT, 4, 0, "column 4 of 4"},
  {OP_STATE_SET, T_INT, STATE_COUNT, 0, NULL}, {OP_STATE_SET, T_INT, 0, 0, "not the app's"}, {OP_STATE_SET, T_INT, STATE_COUNTER, 0, "not the app's"},
  {OP_TO_REF, T_ITEM, T_INT, 0, NULL}, {OP_TO_REF, T_PAIR, T_PAIR_KEY, 0, NULL}, {OP_TO_REF, T_ITEM, T_TEXT, 0, "table's key"},
  {OP_TO_KEY, T_INT, T_ITEM, 0, NULL}, {OP_TO_KEY, T_TEXT, T_ITEM, 0, "table's key"},
  {OP_ROW_FIND, T_OPT_ITEM, T_INT, 0, NULL}, {OP_ROW_FIND, T_OPT_ITEM, T_TEXT, 0, "table's key"}, {OP_ROW_FIND, T_OPT_INT, T_INT, 0, "optional reference"},
  {OP_ROW_HAS, T_BOOL, T_PAIR, 0, NULL}, {OP_ROW_HAS, T_BOOL, T_INT, 0, "not a reference"},
  {OP_COLUMN_GET, T_TEXT, T_ITEM, ITEM_TITLE, NULL}, {OP_COLUMN_GET, T_TEXT, T_ITEM, ITEM_ID, "type of the column"}, {OP_COLUMN_GET, T_TEXT, T_ITEM, 4, "column 4 of 4"},
  {OP_COLUMN_SET, T_TEXT, T_ITEM, ITEM_TITLE, NULL}, {OP_COLUMN_SET, T_INT, T_ITEM, ITEM_ID, "part of the key"}, {OP_COLUMN_SET, T_INT, T_ITEM, ITEM_TITLE, "type of the column"},
  {OP_INSERT, T_ITEM, TABLE_ITEM, RX + 5, NULL}, {OP_INSERT, T_ITEM, TABLE_ITEM, RX, "type of column"}, {OP_INSERT, T_ITEM, TABLE_PAIR, RX, "reference to table 2"}, {OP_INSERT, T_ITEM, TABLE_ITEM, REGISTERS - 2, "needs 4"},
  {OP_INSERT, T_ITEM, SCHEMA_STATE_TABLE, RX, "reference to table 0"}, {OP_INSERT, T_PAIR, TABLE_PAIR, RX, NULL}, {OP_INSERT, T_ITEM, 3, RX, "number 3 of 3"},
  {OP_DELETE, T_PAIR, 0, 0, NULL}, {OP_DELETE, T_INT, 0, 0, "not a reference"},
  {OP_QUERY_OPEN, 0, 0, 0, NULL}, {OP_QUERY_OPEN, 1, 0, 0, "number 1 of 1"}, {OP_QUERY_NEXT, 0, 1, 0, NULL}, {OP_QUERY_NEXT, 0, 5, 0, "number 5 of 2"}, {OP_QUERY_CLOSE, 2, 0, 0, "number 2 of 1"},
  {OP_CURSOR_KEY, T_ITEM, 0, 0, NULL}, {OP_CURSOR_KEY, T_PAIR, 0, 0, "scan's table"}, {OP_CURSOR_KEY, T_ITEM, 0, 0, "no scan", .x = 1}, {OP_CURSOR_KEY, T_ITEM, 0, 0, "no scan", .x = 2},
  {OP_CURSOR_COLUMN, T_TEXT, 0, ITEM_TITLE, NULL}, {OP_CURSOR_COLUMN, T_TEXT, 0, 4, "column 4 of 4"}, {OP_CURSOR_COLUMN, T_INT, 0, ITEM_TITLE, "type of the column"}, {OP_CURSOR_COLUMN, T_INT, 0, ITEM_TITLE, "no scan", .x = 1},
  {OP_NOW, T_TIME, 0, 0, NULL}, {OP_NOW, T_INT, 0, 0, "not of type time"}, {OP_CALLER, T_OPT_TEXT, 0, 0, NULL}, {OP_CALLER, T_OPT_INT, 0, 0, "not text?"},
  {OP_CALLER_IS, T_BOOL, 0, 0, NULL}, {OP_CALLER_IS, T_BOOL, 1, 0, "number 1 of 1"}, {OP_RANDOM, T_INT, T_INT, T_INT, NULL}, {OP_NEW_UUID, T_UUID, 0, 0, NULL}, {OP_NEW_UUID, T_BYTES, 0, 0, "not of type uuid"},
  {OP_GIVEN, T_BOOL, 0, 0, "not in a function"},
  {OP_SEND, 0, 0, RX + 1, NULL}, {OP_SEND, 0, 0, RX, "type of field 0"}, {OP_SEND, 0, 1, RX, "number 1 of 1"},
  {OP_CALL_ENTRY, T_INT, 0, RX + 9, NULL}, {OP_CALL_ENTRY, T_TEXT, 0, RX + 9, "type of the result"}, {OP_CALL_ENTRY, T_INT, 0, RX + 8, "not of type int"}, {OP_CALL_ENTRY, T_INT, 0, RX, "type of parameter 0"},
  {OP_CALL_ENTRY, T_INT, 0, REGISTERS - 1, "needs 1 registers"}, {OP_CALL_ENTRY_VOID, 0, 0, RX + 9, NULL}, {OP_CALL_ENTRY_VOID, 0, 1, RX + 9, "number 1 of 1"},
  {OP_CATCH, T_INT, 1, 0, NULL}, {OP_CATCH, T_TEXT, 1, 0, "not an int"}, {OP_CATCH, T_INT, 2, 0, "number 2 of 2"}, {OP_CATCH_END, 0, 0, 0, NULL},
  {OP_EXPECT_FAILED, T_TEXT, 0, 0, NULL}, {OP_EXPECT_FAILED, T_INT, 0, 0, "not a text"}, {OP_ADVANCE, T_DURATION, 0, 0, NULL}, {OP_ADVANCE, T_INT, 0, 0, "not of type duration"},
  {OP_AS_BEGIN, T_TEXT, 0, 0, NULL}, {OP_AS_BEGIN, T_TEXT, 1, 0, "not an int"}, {OP_AS_END, 0, 0, 0, NULL},
  {OP_SENT, T_LIST_NOTE, 0, 0, NULL}, {OP_SENT, T_LIST_INT, 0, 0, "list of records"}, {OP_SENT, T_LIST_NOTE, 1, 0, "number 1 of 1"}, {OP_SENT, T_LIST_POINT, 0, 0, "fields of output"},
  {OP_ISSUE_TOKEN, T_TEXT, RX, 0, "not of type"}, {OP_ISSUE_TOKEN, T_INT, RX, 0, "not a text"}, {OP_ISSUE_TOKEN, T_TEXT, REGISTERS - 1, 0, "not of type text"},
};

Test(verify, rules) { check_rows(RULES, countof(RULES)); }

// Every rule is broken by a row above or (CATCH, PARAM in blocks and inputs) below.
Test(verify, every_rule_and_opcode_has_rows) {
  bool broken[RULE_COUNT_] = {false}, used[OP_COUNT_] = {false};
  for (size_t i = 0; i < countof(RULES); i++) {
    if (RULES[i].part) broken[opcode_info(RULES[i].op)->rule] = true;
    used[RULES[i].op] = true;
  }
  for (int rule = 1; rule < RULE_COUNT_; rule++) cr_assert(broken[rule] || rule == RULE_SAME_AB, "rule %d", rule);
  for (int op = 0; op < OP_COUNT_; op++) {
    OpcodeRule rule = (OpcodeRule)opcode_info((uint8_t)op)->rule;
    bool shares = rule == RULE_NONE || rule == RULE_SAME_ABC || rule == RULE_SAME_BC;  // with an instruction that has rows
    cr_assert(used[op] || shares, "%s has no row", opcode_info((uint8_t)op)->name);
  }
}

Test(verify, unknown_opcodes) {
  for (int op = 0; op < 256; op++) {
    Build *b = malloc(sizeof *b);
    ErrText text = {{0}};
    build_row(b, &(Row){OP_ADVANCE, T_DURATION, 0, 0, NULL});
    ((Instruction *)b->functions[2].code)[0].op = (uint8_t)op;
    Err err = build_try(b, &text);
    if (op >= OP_COUNT_) cr_assert(err == ERR_FORMAT && strstr(text.text, "there is no instruction"), "%s", text.text);
    build_free(b);
    free(b);
  }
}

// ---- control flow, plans, calls, effects, declarations ----------------------------------------

// Function 0: view() -> int with two blocks and a plan that uses them; 1: input(int), writes; 2: default -> int; 3: check(ref), 4: computed(ref) -> int,
// 5: role -> bool, 6: timer, 7: test, 8: always -> bool, 9: start, 10: row timer(ref).
enum { F_VIEW, F_INPUT, F_DEFAULT, F_CHECK, F_COMPUTED, F_ROLE, F_TIMER, F_TEST, F_ALWAYS, F_START, F_ROW_TIMER };

static void build_simple(Build *b, FunctionKind kind, TypeId param, TypeId result) {
  build_begin(b, kind, result);
  if (param != TYPE_NONE) build_param(b, param);
  if (result == TYPE_NONE) build_emit(b, OP_RETURN_VOID, 0, 0, 0);
  else build_emit(b, OP_RETURN, build_register(b, result), 0, 0);
  build_end(b);
}

enum { V_ROW, V_YES, V_N, V_PRICE, V_TITLE, V_TIME, V_FLOAT, V_LIST, V_M, V_OPT };

static void build_view(Build *b) {
  build_begin(b, FUNCTION_VIEW, T_INT);
  static const TypeId types[] = {T_ITEM, T_BOOL, T_INT, T_DEC2, T_TEXT, T_TIME, T_FLOAT, T_LIST_INT, T_INT, T_OPT_INT};
  for (size_t i = 0; i < countof(types); i++) build_register(b, types[i]);
  build_emit(b, OP_QUERY_OPEN, 0, 0, 0);                                      // 0
  build_emit(b, OP_QUERY_NEXT, 0, 3, 0);                                      // 1
  build_emit(b, OP_JUMP, 0, 1, 0);                                            // 2
  build_emit(b, OP_RETURN, V_N, 0, 0);                                        // 3
  uint16_t first = build_block_begin(b);
  build_emit(b, OP_BOOL, V_YES, 1, 0);                                        // 4
  build_block_end(b);                                                         // 5
  uint16_t second = build_block_begin(b);
  build_emit(b, OP_JUMP_IF, V_YES, 8, 0);                                     // 6
  build_emit(b, OP_INT, V_N, 1, 0);                                           // 7
  build_block_end(b);                                                         // 8
  build_plan(b, 4, (Stage[]){
    {.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = 0, .block = NO_BLOCK, .from = V_TITLE, .to = V_ROW, .equal_count = 1, .flags = SCAN_HAS_LOW},
    {.kind = STAGE_FILTER, .block = first, .from = V_YES, .to = NO_REGISTER},
    {.kind = STAGE_GROUP, .block = second, .from = NO_REGISTER, .to = NO_REGISTER, .key_count = 1, .keys = (uint16_t[]){V_PRICE}, .aggregate_count = 1, .aggregates = (Aggregate[]){{AGGREGATE_SUM, V_N, V_M}}},
    {.kind = STAGE_ORDER, .block = NO_BLOCK, .from = NO_REGISTER, .to = NO_REGISTER, .key_count = 1, .keys = (uint16_t[]){V_M}, .descending = (uint8_t[]){1}, .carried_count = 1, .carried = (uint16_t[]){V_PRICE}}});
  build_end(b);
}

static void build_whole(Build *b) {
  build_init(b);
  Module *m = &b->module;
  build_constant(b, T_INT, (Value){.i = 1});
  build_constant(b, T_TEXT, (Value){.text = STR("x")});
  build_view(b);
  build_begin(b, FUNCTION_INPUT, TYPE_NONE);
  uint16_t n = build_param(b, T_INT), given = build_register(b, T_BOOL);
  build_emit(b, OP_GIVEN, given, 0, 0);
  build_emit(b, OP_STATE_SET, n, STATE_COUNT, 0);
  build_emit(b, OP_RETURN_VOID, 0, 0, 0);
  build_end(b);
  build_simple(b, FUNCTION_DEFAULT, TYPE_NONE, T_INT);
  build_simple(b, FUNCTION_CHECK, T_ITEM, TYPE_NONE);
  build_simple(b, FUNCTION_COMPUTED, T_ITEM, T_INT);
  build_simple(b, FUNCTION_ROLE, TYPE_NONE, T_BOOL);
  build_simple(b, FUNCTION_TIMER, TYPE_NONE, TYPE_NONE);
  build_simple(b, FUNCTION_TEST, TYPE_NONE, TYPE_NONE);
  build_simple(b, FUNCTION_ALWAYS, TYPE_NONE, T_BOOL);
  build_simple(b, FUNCTION_START, TYPE_NONE, TYPE_NONE);
  build_simple(b, FUNCTION_TIMER, T_ITEM, TYPE_NONE);
  build_entry(b, ENTRY_VIEW, "v", F_VIEW);
  EntryDef *input = build_entry(b, ENTRY_INPUT, "i", F_INPUT);
  ((ParamDef *)input->params)[0].default_function = F_DEFAULT;
  b->table_meta[TABLE_ITEM].check_function = F_CHECK;
  static const ComputedDef COMPUTED[] = {{{"rich", 4}, F_COMPUTED, {0}}};
  b->table_meta[TABLE_ITEM].computed = COMPUTED;
  b->table_meta[TABLE_ITEM].computed_count = 1;
  b->columns[TABLE_ITEM][ITEM_ID].default_function = F_DEFAULT;
  b->roles[1] = (RoleDef){STR("boss"), F_ROLE};
  m->role_count = 2;
  build_timed_tables(b);
  b->timers[0] = (TimerDef){.kind = TIMER_EVERY, .name = STR("tick"), .period_us = 5, .function = F_TIMER, .kept = STATE_TICK};
  b->timers[1] = (TimerDef){.kind = TIMER_ROWS, .name = STR("due"), .table = TABLE_ITEM, .column = ITEM_DUE, .function = F_ROW_TIMER, .kept = ITEM_KEPT, .tries = ITEM_TRIES, .begun = STATE_BEGUN};
  b->timers[2] = (TimerDef){.kind = TIMER_DAILY, .name = STR("daily"), .period_us = DAY, .at_us = HOUR, .function = F_TIMER, .kept = STATE_TICK};
  b->timers[3] = (TimerDef){.kind = TIMER_EXPIRE, .name = STR("old"), .period_us = 1, .table = TABLE_ITEM, .column = ITEM_DUE, .function = NO_FUNCTION};
  m->timer_count = 4;
  b->tests[0] = (NamedFunction){STR("t"), F_TEST};
  m->test_count = 1;
  b->always[0] = (NamedFunction){STR("a"), F_ALWAYS};
  m->always_count = 1;
  b->settings[0] = (SettingDef){.name = STR("s"), .type = T_INT, .default_function = F_DEFAULT};
  m->setting_count = 1;
  m->start_function = F_START;
}

static Instruction *code(Build *b, uint32_t function, uint32_t pc) { return (Instruction *)&b->functions[function].code[pc]; }
static Stage *stage(Build *b, uint32_t number) { return (Stage *)&b->functions[F_VIEW].plans[0].stages[number]; }
static Aggregate *aggregate(Build *b) { return (Aggregate *)stage(b, 2)->aggregates; }
static ParamDef *param(Build *b) { return (ParamDef *)b->entries[1].params; }
static void set(Build *b, uint32_t function, uint32_t pc, Opcode op, uint32_t a, uint32_t b_operand, uint32_t c) {
  *code(b, function, pc) = (Instruction){.op = op, .a = (uint16_t)a, .b = (uint16_t)b_operand, .c = (uint16_t)c};
}

#define BREAKS(X) \
  X(jump_into_block, "jumps into or out of", code(b, F_VIEW, 2)->k = 4) \
  X(jump_out_of_block, "jumps into or out of", code(b, F_VIEW, 6)->k = 1) \
  X(jump_between_blocks, "jumps into or out of", code(b, F_VIEW, 6)->k = 4) \
  X(runs_into_block, "runs on into", set(b, F_VIEW, 3, OP_INT, V_N, 0, 0)) \
  X(runs_over_end, "runs on over its end", set(b, F_VIEW, 8, OP_INT, V_N, 0, 0); b->functions[F_VIEW].block_count = 1; stage(b, 2)->block = NO_BLOCK; code(b, F_VIEW, 6)->k = 7) \
  X(no_code, "runs on over its end", b->functions[F_DEFAULT].code_count = 0) \
  X(block_without_end, "does not end in BLOCK_END", set(b, F_VIEW, 5, OP_INT, V_N, 0, 0)) \
  X(block_end_inside, "not the last instruction", set(b, F_VIEW, 7, OP_BLOCK_END, 0, 0, 0)) \
  X(blocks_out_of_order, "out of order", ((Block *)b->functions[F_VIEW].blocks)[1].start = 5) \
  X(block_empty, "out of order", ((Block *)b->functions[F_VIEW].blocks)[1] = (Block){6, 6}) \
  X(block_outside, "out of order", ((Block *)b->functions[F_VIEW].blocks)[1].end = 10) \
  X(block_at_start, "out of order", ((Block *)b->functions[F_VIEW].blocks)[0].start = 0) \
  X(return_in_block, "from within a block", set(b, F_VIEW, 7, OP_RETURN, V_N, 0, 0)) \
  X(own_query_in_block, "a query runs in its own block", set(b, F_VIEW, 4, OP_QUERY_OPEN, 0, 0, 0)) \
  X(own_close_in_block, "a query runs in its own block", set(b, F_VIEW, 4, OP_QUERY_CLOSE, 0, 0, 0)) \
  X(shared_block, "belongs to another stage", stage(b, 2)->block = 0) \
  X(no_such_block, "block 2 of 2", stage(b, 2)->block = 2) \
  X(no_stages, "has 0 stages", ((Plan *)b->functions[F_VIEW].plans)->stage_count = 0) \
  X(begins_with_filter, "makes frames", stage(b, 0)->kind = STAGE_EVAL) \
  X(unknown_stage, "no stage of kind 11", stage(b, 1)->kind = STAGE_KINDS) \
  X(unknown_flags, "unknown flags", stage(b, 0)->flags = 32) \
  X(no_such_table, "no table 3", stage(b, 0)->table = 3) \
  X(state_table, "no table 0", stage(b, 0)->table = 0) \
  X(no_such_index, "index 3 of 3", stage(b, 0)->index = 3) \
  X(too_many_bounds, "bounds for more", stage(b, 0)->equal_count = 2) \
  X(bound_type, "of another type", stage(b, 0)->from = V_PRICE) \
  X(bound_register, "registers", stage(b, 0)->from = 10) \
  X(row_register, "not of type reference", stage(b, 0)->to = V_N) \
  X(row_table, "refers to another table", ((TypeId *)b->functions[F_VIEW].registers)[V_ROW] = T_PAIR) \
  X(filter_type, "not of type bool", stage(b, 1)->from = V_N) \
  X(take_type, "not of type int", stage(b, 1)->kind = STAGE_TAKE) \
  X(list_kind, "neither list nor set", stage(b, 1)->kind = STAGE_LIST) \
  X(list_item, "of another type", stage(b, 1)->kind = STAGE_LIST; stage(b, 1)->from = V_LIST; stage(b, 1)->to = V_TITLE) \
  X(numbers_kind, "not of type int", stage(b, 1)->kind = STAGE_NUMBERS; stage(b, 1)->from = V_N; stage(b, 1)->to = V_M) \
  X(count_not_first, "only the first", stage(b, 1)->kind = STAGE_COUNT) \
  X(group_key, "a key is r10", ((uint16_t *)stage(b, 2)->keys)[0] = 10) \
  X(order_key, "has no order", ((uint16_t *)stage(b, 3)->keys)[0] = V_LIST) \
  X(order_direction, "direction", ((uint8_t *)stage(b, 3)->descending)[0] = 2) \
  X(order_carried, "a carried value", ((uint16_t *)stage(b, 3)->carried)[0] = 10) \
  X(unused_keys, "does not use", stage(b, 3)->kind = STAGE_EVAL) \
  X(aggregate_kind, "no aggregate of kind", aggregate(b)->kind = AGGREGATE_KINDS) \
  X(aggregate_from, "what is aggregated", aggregate(b)->from = NO_REGISTER) \
  X(aggregate_to, "an aggregate is", aggregate(b)->to = 10) \
  X(sum_of_text, "do not fit", aggregate(b)->from = V_TITLE) \
  X(sum_to_other, "do not fit", aggregate(b)->to = V_PRICE) \
  X(avg_of_int, "do not fit", aggregate(b)->kind = AGGREGATE_AVG) \
  X(count_to_bool, "do not fit", aggregate(b)->kind = AGGREGATE_COUNT; aggregate(b)->to = V_YES) \
  X(list_to_int, "do not fit", aggregate(b)->kind = AGGREGATE_LIST) \
  X(any_of_int, "do not fit", aggregate(b)->kind = AGGREGATE_ANY) \
  X(max_of_list, "do not fit", aggregate(b)->kind = AGGREGATE_MAX; aggregate(b)->from = V_LIST; aggregate(b)->to = V_LIST) \
  X(calls_itself, "calls itself", set(b, F_INPUT, 0, OP_CALL_VOID, 0, F_INPUT, 0)) \
  X(writing_view, "has effects", set(b, F_VIEW, 0, OP_DELETE, V_ROW, 0, 0)) \
  X(view_that_says_it_writes, "may only have", set(b, F_VIEW, 0, OP_DELETE, V_ROW, 0, 0); b->functions[F_VIEW].effects = EFFECT_WRITES) \
  X(effects_too_many, "has effects", b->functions[F_DEFAULT].effects = EFFECT_NOW) \
  X(now_in_check, "has effects", b->functions[F_CHECK].effects = EFFECT_NOW) \
  X(test_op_in_input, "has effects", set(b, F_INPUT, 0, OP_AS_END, 0, 0, 0)) \
  X(no_such_kind, "no known kind", b->functions[F_TIMER].kind = FUNCTION_KINDS) \
  X(params_beyond, "more parameters than registers", b->functions[F_TIMER].param_count = 1) \
  X(register_type, "r0 has type", ((TypeId *)b->functions[F_VIEW].registers)[0] = 60000) \
  X(result_type, "its result has type", b->functions[F_VIEW].result = 60000) \
  X(given_beyond, "parameter 1 of 1", code(b, F_INPUT, 0)->b = 1) \
  X(app_name, "has no name", b->module.name = STR("")) \
  X(control_in_name, "control character", b->entries[0].name = STR("a\nb")) \
  X(entry_twice, "stands twice", b->entries[0].kind = ENTRY_INPUT; b->entries[0].name = STR("i")) \
  X(entry_kind, "no known kind", b->entries[0].kind = ENTRY_KINDS) \
  X(entry_function, "names function", b->entries[0].function = 11) \
  X(entry_function_kind, "of another kind", b->entries[0].function = F_INPUT) \
  X(entry_result, "another result", b->entries[0].result = T_TEXT) \
  X(entry_param, "another type in its function", param(b)->type = T_DEC2; param(b)->default_function = NO_FUNCTION) \
  X(entry_roles, "roles that are not there", b->entries[0].access.roles = 4) \
  X(entry_paged, "has pages", b->entries[0].paged = 5) \
  X(entry_every, "`every`", b->entries[1].every_us = 5) \
  X(param_name, "has no name", param(b)->name = STR("")) \
  X(param_default, "of another kind", param(b)->default_function = F_ROLE) \
  X(param_limit, "limit is of another type", param(b)->limits.min = 1) \
  X(param_limit_constant, "constant 2 of 2", param(b)->limits.max = 2) \
  X(param_item_limit, "items", param(b)->item_limits.max = 0) \
  X(check_takes, "does not take a row", b->table_meta[TABLE_PAIR].check_function = F_CHECK) \
  X(check_of_state, "neither check nor computed", b->table_meta[SCHEMA_STATE_TABLE].check_function = F_CHECK) \
  X(check_kind, "of another kind", b->table_meta[TABLE_ITEM].check_function = F_ROW_TIMER) \
  X(computed_kind, "of another kind", b->functions[F_COMPUTED].kind = FUNCTION_FN) \
  X(column_default, "another result", b->columns[TABLE_ITEM][ITEM_TITLE].default_function = F_DEFAULT) \
  X(role_kind, "of another kind", b->roles[1].function = F_DEFAULT) \
  X(role_result, "does not give a bool", b->functions[F_ROLE].result = T_INT; ((TypeId *)b->functions[F_ROLE].registers)[0] = T_INT) \
  X(role_twice, "stands twice", b->roles[1].name = STR("clerk")) \
  X(timer_period, "not above zero", b->timers[0].period_us = 0) \
  X(timer_function, "takes other parameters", b->timers[0].function = F_ROW_TIMER) \
  X(timer_row, "does not take a row", b->timers[1].function = F_TIMER) \
  X(timer_column, "not a time", b->timers[1].column = ITEM_ID) \
  X(timer_no_column, "not there", b->timers[1].column = 6) \
  X(timer_kept, "no hidden column", b->timers[0].kept = STATE_COUNT) \
  X(timer_kept_type, "no hidden column", b->timers[2].kept = STATE_BEGUN) \
  X(timer_kept_beyond, "no hidden column", b->timers[0].kept = SCHEMA_NO_COLUMN) \
  X(timer_row_kept, "no hidden column", b->timers[1].kept = ITEM_TRIES) \
  X(timer_row_kept_type, "does not keep a time", b->types[T_OPT_TIME].of = T_INT) \
  X(timer_row_tries, "no hidden column", b->timers[1].tries = ITEM_KEPT) \
  X(timer_row_begun, "no hidden column", b->timers[1].begun = STATE_TICK) \
  X(timer_index, "has no index", b->timers[3].column = ITEM_KEPT; static TableDef T[3]; memcpy(T, b->module.schema.tables, sizeof T); T[1].index_count = 1; b->module.schema.tables = T) \
  X(timer_day, "time of day", b->timers[2].at_us = DAY) \
  X(timer_expire, "no function", b->timers[3].function = F_TIMER) \
  X(timer_kind, "no known kind", b->timers[0].kind = TIMER_KINDS) \
  X(test_kind, "of another kind", b->tests[0].function = F_TIMER) \
  X(always_kind, "of another kind", b->always[0].function = F_ROLE) \
  X(setting_type, "has type", b->settings[0].type = 60000) \
  X(setting_default, "another result", b->settings[0].type = T_TEXT) \
  X(start_kind, "of another kind", b->module.start_function = F_TIMER) \
  X(errors_missing, "built-in errors are missing", b->module.error_count = BUILTIN_ERROR_COUNT - 1) \
  X(error_name, "is not the built-in error", b->errors[1].name = STR("nope")) \
  X(error_status, "has status 200", b->errors[BUILTIN_ERROR_COUNT].status = 200) \
  X(zone_order, "zone", static const ZoneTransition T[] = {{5, 0}, {4, 0}}; b->module.zone = (Zone){STR("Z"), 0, 2, T}) \
  X(ref_to_state, "rows of the state", b->types[T_PAIR].of = SCHEMA_STATE_TABLE)
#define X(name, part, ...) static void break_##name(Build *b) { __VA_ARGS__; }
BREAKS(X)
#undef X

static const struct { const char *name, *part; void (*change)(Build *b); } BREAKINGS[] = {
#define X(name, part, ...) {#name, part, break_##name},
  BREAKS(X)
#undef X
};

Test(verify, structure) {
  Build *b = malloc(sizeof *b);
  ErrText text = {{0}};
  build_whole(b);
  cr_assert_eq(build_try(b, &text), ERR_NONE, "%s", text.text);
  build_free(b);
  for (size_t i = 0; i < countof(BREAKINGS); i++) {
    build_whole(b);
    BREAKINGS[i].change(b);
    text.text[0] = 0;
    cr_assert_eq(build_try(b, &text), ERR_FORMAT, "%s: %s", BREAKINGS[i].name, text.text);
    cr_assert(strstr(text.text, BREAKINGS[i].part), "%s: %s", BREAKINGS[i].name, text.text);
    build_free(b);
  }
  free(b);
}

Test(verify, catch_in_block) {
  Build *b = malloc(sizeof *b);
  ErrText text = {{0}};
  build_whole(b);
  b->functions[F_VIEW].kind = FUNCTION_TEST;
  b->functions[F_VIEW].effects = EFFECT_TEST;
  set(b, F_VIEW, 4, OP_CATCH_END, 0, 0, 0);
  cr_assert_eq(build_try(b, &text), ERR_FORMAT);
  cr_assert(strstr(text.text, "in a block"), "%s", text.text);
  build_free(b);
  free(b);
}

// ---- limits at their edges --------------------------------------------------------------------

static Err try_nested_queries(uint32_t depth, ErrText *out_text) {
  Build *b = malloc(sizeof *b);
  build_init(b);
  build_begin(b, FUNCTION_VIEW, T_INT);
  uint16_t n = build_register(b, T_INT), last = build_register(b, T_INT);
  (void)last;
  build_emit(b, OP_QUERY_OPEN, 0, 0, 0);
  build_emit(b, OP_RETURN, n, 0, 0);
  for (uint32_t i = 0; i < depth; i++) {
    build_block_begin(b);
    if (i + 1 < depth) build_emit(b, OP_QUERY_OPEN, i + 1, 0, 0);
    build_block_end(b);
    build_plan(b, 1, (Stage[]){{.kind = STAGE_NUMBERS, .block = (uint16_t)i, .from = n, .to = n}});
  }
  build_end(b);
  Err err = build_try(b, out_text);
  build_free(b);
  free(b);
  return err;
}

Test(verify, queries_nest_to_a_limit) {
  ErrText text = {{0}};
  cr_assert_eq(try_nested_queries(16, &text), ERR_NONE, "%s", text.text);
  cr_assert_eq(try_nested_queries(17, &text), ERR_FORMAT);
  cr_assert(strstr(text.text, "PLAN_NESTING_MAX"), "%s", text.text);
}

Test(verify, names_have_a_limit) {
  for (size_t len = MODULE_NAME_BYTES_MAX - 1; len <= MODULE_NAME_BYTES_MAX + 1; len++) {
    Build *b = malloc(sizeof *b);
    char *name = malloc(len);
    ErrText text = {{0}};
    build_whole(b);
    memset(name, 'n', len);
    b->entries[0].name = (Str){name, len};
    cr_assert_eq(build_try(b, &text), len > MODULE_NAME_BYTES_MAX ? ERR_FORMAT : ERR_NONE);
    if (len > MODULE_NAME_BYTES_MAX) cr_assert(strstr(text.text, "MODULE_NAME_BYTES_MAX"), "%s", text.text);
    build_free(b);
    free(name);
    free(b);
  }
}
