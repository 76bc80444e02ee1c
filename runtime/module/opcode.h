// What is known of each instruction, made from opcodes.def: name, fuel, operands, rule, words.
//
// Owns:   nothing; const tables.
// Thread: any.
#pragma once
#include "runtime/module/function.h"

// Named as in opcodes.def: OPERAND_wB is a bool register that is written, OPERAND_con a constant.
#define REGISTER_CLASSES(X) X(B) X(I) X(N) X(D) X(F) X(T) X(O) X(L) X(A) X(R) X(E) X(K) X(V) X(Y)
typedef enum OperandKind {
  OPERAND__,
#define X(class) OPERAND_w##class,
  REGISTER_CLASSES(X)
#undef X
#define X(class) OPERAND_r##class,
  REGISTER_CLASSES(X)
#undef X
  OPERAND_i16, OPERAND_w32, OPERAND_jmp, OPERAND_con, OPERAND_fun, OPERAND_plan, OPERAND_table, OPERAND_err, OPERAND_role,
  OPERAND_param, OPERAND_out, OPERAND_entry, OPERAND_blt, OPERAND_col, OPERAND_field, OPERAND_tag, OPERAND_base,
  OPERAND_KINDS
} OperandKind;

typedef enum OpcodeRule {
#define RULE(name, words) RULE_##name,
#include "runtime/module/rules.def"
#undef RULE
  RULE_COUNT_
} OpcodeRule;

typedef struct OpcodeInfo {
  const char *name, *words;
  uint8_t fuel, a, b, c;  // a, b, c: OperandKind
  uint8_t rule;
} OpcodeInfo;

const OpcodeInfo *opcode_info(uint8_t op);  // NULL: there is no such instruction
const char *operand_words(OperandKind kind);
const char *opcode_rule_words(OpcodeRule rule);
static inline bool operand_is_written(OperandKind kind) { return kind >= OPERAND_wB && kind <= OPERAND_wY; }
static inline bool operand_is_read(OperandKind kind) { return kind >= OPERAND_rB && kind <= OPERAND_rY; }
static inline bool operand_is_wide(OperandKind kind) { return kind == OPERAND_w32 || kind == OPERAND_jmp || kind == OPERAND_con; }
// The register class (that of OPERAND_w…) of a register that is read or written.
static inline OperandKind operand_class(OperandKind kind) { return operand_is_read(kind) ? (OperandKind)(kind - OPERAND_rB + OPERAND_wB) : kind; }

// The next instruction is never reached from this one by going on.
static inline bool opcode_leaves(uint8_t op) {
  return op == OP_JUMP || op == OP_RETURN || op == OP_RETURN_VOID || op == OP_REJECT || op == OP_BLOCK_END || op == OP_EXPECT_FAILED;
}
uint8_t opcode_effects(uint8_t op);  // EFFECT_* of the instruction itself
