// Tables made from opcodes.def and rules.def, and the two facts about control flow and effects that these lines do not
// carry.
#include "runtime/module/opcode.h"

static const OpcodeInfo OPCODES[OP_COUNT_] = {
#define OP(op_name, op_fuel, a_kind, b_kind, c_kind, op_rule, op_words) \
  [OP_##op_name] = {.name = #op_name, .words = op_words, .fuel = op_fuel, .a = OPERAND_##a_kind, .b = OPERAND_##b_kind, .c = OPERAND_##c_kind, .rule = RULE_##op_rule},
#include "runtime/module/opcodes.def"
#undef OP
};
_Static_assert(OP_COUNT_ <= 256, "an opcode is one byte");

static const char *const RULES[RULE_COUNT_] = {
#define RULE(name, words) [RULE_##name] = words,
#include "runtime/module/rules.def"
#undef RULE
};

static const char *const OPERANDS[OPERAND_KINDS] = {
  [OPERAND__] = "zero",
  [OPERAND_wB] = "a bool", [OPERAND_wI] = "an int", [OPERAND_wN] = "an int, time, date or duration", [OPERAND_wD] = "a decimal",
  [OPERAND_wF] = "a float", [OPERAND_wT] = "a text", [OPERAND_wO] = "an optional", [OPERAND_wL] = "a list",
  [OPERAND_wA] = "a list, set or map", [OPERAND_wR] = "a record", [OPERAND_wE] = "an enum", [OPERAND_wK] = "a reference",
  [OPERAND_wV] = "an int, bool, time, date, duration or plain enum", [OPERAND_wY] = "any type",
  [OPERAND_i16] = "a number", [OPERAND_w32] = "a number of 32 bits", [OPERAND_jmp] = "a code position", [OPERAND_con] = "a constant",
  [OPERAND_fun] = "a function", [OPERAND_plan] = "a plan", [OPERAND_table] = "a table", [OPERAND_err] = "an error", [OPERAND_role] = "a role",
  [OPERAND_param] = "a parameter", [OPERAND_out] = "an output", [OPERAND_entry] = "an entry", [OPERAND_blt] = "a builtin",
  [OPERAND_col] = "a column", [OPERAND_field] = "a field", [OPERAND_tag] = "a case", [OPERAND_base] = "the first of some registers",
};

const OpcodeInfo *opcode_info(uint8_t op) { return op < OP_COUNT_ ? &OPCODES[op] : NULL; }
const char *operand_words(OperandKind kind) { return OPERANDS[operand_class(kind)]; }
const char *opcode_rule_words(OpcodeRule rule) { return RULES[rule]; }

uint8_t opcode_effects(uint8_t op) {
  if (op >= OP_CALL_ENTRY && op <= OP_SENT) return EFFECT_TEST;
  switch (op) {
    case OP_ISSUE_TOKEN: return EFFECT_WRITES | EFFECT_RANDOM;
    case OP_STATE_SET: case OP_COLUMN_SET: case OP_INSERT: case OP_DELETE: case OP_SEND: return EFFECT_WRITES;
    case OP_NOW: return EFFECT_NOW;
    case OP_RANDOM: case OP_NEW_UUID: return EFFECT_RANDOM;
    case OP_CALLER: case OP_CALLER_IS: return EFFECT_CALLER;
    default: return 0;
  }
}
