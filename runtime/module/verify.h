// What the files of the verifier share. verify.c walks the functions and their calls, verify_rules.c has one function a
// rule of rules.def, verify_plans.c the stages of queries, verify_declarations.c everything that is not code.
//
// Owns:   a Verifier owns its scratch arrays until module_verify returns.
// Thread: one at a time.
// Errors: ERR_FORMAT with function, position, instruction and what is wrong; ERR_LIMIT; ERR_MEMORY.
#pragma once
#include "runtime/module/builtins.h"
#include "runtime/module/format.h"
#include "runtime/module/opcode.h"

enum { PLAN_NESTING_MAX = 16 };  // queries at work inside each other's blocks, in one function

typedef struct CallEdge { uint16_t callee; } CallEdge;
typedef struct PlanEdge { uint16_t outer, inner; } PlanEdge;

typedef struct Verifier {
  Module *module;
  const TypeTable *types;
  ErrText *out_text;
  const Function *function;      // the one being checked, and the instruction
  uint32_t pc;
  Instruction at;
  uint16_t *type_classes;        // by type: bits of the register classes it belongs to (1 << (OPERAND_w… - OPERAND_wB))
  uint16_t *regions;             // by code position of this function: its block, or NO_BLOCK
  uint16_t *block_plans;         // by block of this function: the plan whose stage names it, or NO_PLAN
  PlanEdge *plan_edges;          // of this function
  uint32_t plan_edge_count;
  CallEdge *calls;               // of all functions, those of one together
  uint32_t call_count;
  uint32_t *call_starts;         // by function, one more at the end
  uint8_t *own_effects;          // by function: of its instructions alone
  BuiltinSignature *signatures;  // by BuiltinId; parsed when first met (node_count is 0 until then)
} Verifier;
static const uint16_t NO_PLAN = 0xFFFF;

// Says what is wrong with the instruction (or, when verify__function_fail, the function) at hand.
Err verify__fail(const Verifier *v, const char *format, ...) PRINTF(2, 3);
Err verify__function_fail(const Verifier *v, const char *format, ...) PRINTF(2, 3);

typedef Err (*RuleCheck)(Verifier *v);
extern const RuleCheck VERIFY__RULES[RULE_COUNT_];
Err verify__plans(Verifier *v);         // of the function at hand; before its code
Err verify__plan_nesting(Verifier *v);  // after its code
Err verify__tables(Verifier *v);        // before all functions: types and errors, on which rules rely
Err verify__declarations(Verifier *v);  // after all functions

// ---- small questions about registers and types
static inline TypeId verify__register(const Verifier *v, uint32_t index) { return v->function->registers[index]; }
static inline Type verify__type(const Verifier *v, TypeId id) { return v->types->types[id]; }
// Is `optional` the type of an optional of `inside`? An optional in an optional is that one itself.
static inline bool verify__is_optional_of(const Verifier *v, TypeId optional, TypeId inside) {
  if (verify__type(v, inside).kind == TYPE_OPTIONAL) return optional == inside;
  return verify__type(v, optional).kind == TYPE_OPTIONAL && verify__type(v, optional).of == inside;
}
static inline bool verify__has_class(const Verifier *v, TypeId type, OperandKind class) {
  return v->type_classes[type] & (1u << (class - OPERAND_wB));
}
