// One pass over a module that anybody may have made. Registers have one fixed type, so an instruction can be checked by
// itself: operands by their kinds (from opcodes.def), then its rule. Control flow needs three facts beside: jumps stay
// in their region (the body, or one block), nothing runs on over the end of its region, and calls form no cycle. All is
// linear in the size of the module but for the look-up of a fixed number of things.
//
//   module_verify = tables, then for each function: registers, blocks, plans, code; then calls; then declarations.
//
// docs/FORMAT.md says for every rule in which file it stands.
#include "runtime/module/verify.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/mem.h"

static Err fail_text(const Verifier *v, bool with_instruction, const char *format, va_list args) {
  char words[ERR_TEXT_BYTES / 2];
  vsnprintf(words, sizeof words, format, args);
  if (!with_instruction) return err_say(ERR_FORMAT, v->out_text, "function \"" STR_FMT "\": %s", STR_ARG(v->function->name), words);
  const OpcodeInfo *info = opcode_info(v->at.op);
  return err_say(ERR_FORMAT, v->out_text, "function \"" STR_FMT "\", instruction %u (%s): %s", STR_ARG(v->function->name), v->pc, info ? info->name : "?", words);
}

Err verify__fail(const Verifier *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  Err err = fail_text(v, true, format, args);
  va_end(args);
  return err;
}

Err verify__function_fail(const Verifier *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  Err err = fail_text(v, false, format, args);
  va_end(args);
  return err;
}

// ---- register classes -------------------------------------------------------------------------

static uint16_t class_bit(OperandKind class) { return (uint16_t)(1u << (class - OPERAND_wB)); }

static uint16_t classes_of(const TypeTable *types, Type type) {
  uint16_t any = class_bit(OPERAND_wY);
  switch ((TypeKind)type.kind) {
    case TYPE_BOOL: return any | class_bit(OPERAND_wB) | class_bit(OPERAND_wV);
    case TYPE_INT: return any | class_bit(OPERAND_wI) | class_bit(OPERAND_wN) | class_bit(OPERAND_wV);
    case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: return any | class_bit(OPERAND_wN) | class_bit(OPERAND_wV);
    case TYPE_DECIMAL: return any | class_bit(OPERAND_wD);
    case TYPE_FLOAT: return any | class_bit(OPERAND_wF);
    case TYPE_TEXT: return any | class_bit(OPERAND_wT);
    case TYPE_ENUM: return any | class_bit(OPERAND_wE) | (types->enums[type.of].plain ? class_bit(OPERAND_wV) : 0);
    case TYPE_RECORD: return any | class_bit(OPERAND_wR);
    case TYPE_OPTIONAL: return any | class_bit(OPERAND_wO);
    case TYPE_LIST: return any | class_bit(OPERAND_wL) | class_bit(OPERAND_wA);
    case TYPE_SET: case TYPE_MAP: return any | class_bit(OPERAND_wA);
    case TYPE_REF: return any | class_bit(OPERAND_wK);
    case TYPE_BYTES: case TYPE_UUID: case TYPE_KIND_COUNT: break;
  }
  return any;
}

// ---- operands ---------------------------------------------------------------------------------

// How many there are of what an index operand names; 0 for operands that are not such.
static uint32_t index_bound(const Verifier *v, OperandKind kind) {
  const Module *m = v->module;
  switch ((int)kind) {
    case OPERAND_fun: return m->function_count;
    case OPERAND_plan: return v->function->plan_count;
    case OPERAND_table: return m->schema.table_count;
    case OPERAND_err: return m->error_count;
    case OPERAND_role: return m->role_count;
    case OPERAND_out: return m->output_count;
    case OPERAND_entry: return m->entry_count;
    case OPERAND_blt: return BUILTIN_COUNT_;
    case OPERAND_con: return m->constant_count;
    case OPERAND_jmp: return v->function->code_count;
    default: return 0;
  }
}

static Err check_operand(const Verifier *v, const char *which, OperandKind kind, uint32_t value) {
  if (kind == OPERAND__) return value == 0 ? ERR_NONE : verify__fail(v, "%s is unused and not 0", which);
  if (operand_is_read(kind) || operand_is_written(kind)) {
    if (value >= v->function->register_count) return verify__fail(v, "%s is r%u of %u registers", which, value, v->function->register_count);
    bool fits = verify__has_class(v, verify__register(v, value), operand_class(kind));
    return fits ? ERR_NONE : verify__fail(v, "%s (r%u) is not %s", which, value, operand_words(kind));
  }
  bool is_index = (kind >= OPERAND_jmp && kind <= OPERAND_role) || kind == OPERAND_out || kind == OPERAND_entry || kind == OPERAND_blt;
  if (is_index && value >= index_bound(v, kind)) return verify__fail(v, "%s is number %u of %u of %s", which, value, index_bound(v, kind), operand_words(kind));
  if (kind == OPERAND_jmp && v->regions[value] != v->regions[v->pc]) return verify__fail(v, "jumps into or out of a block");
  return ERR_NONE;
}

static Err check_operands(const Verifier *v, const OpcodeInfo *info) {
  bool is_wide = operand_is_wide((OperandKind)info->b), has_x = info->rule == RULE_VARIANT_GET || info->rule == RULE_CURSOR_KEY || info->rule == RULE_CURSOR_COLUMN;
  if (!has_x && v->at.x) return verify__fail(v, "x is unused and not 0");
  TRY(check_operand(v, "a", (OperandKind)info->a, v->at.a));
  TRY(check_operand(v, "b", (OperandKind)info->b, is_wide ? v->at.k : v->at.b));
  return is_wide ? ERR_NONE : check_operand(v, "c", (OperandKind)info->c, v->at.c);
}

// ---- one function -----------------------------------------------------------------------------

static Err check_registers(Verifier *v) {
  const Function *f = v->function;
  if (f->kind >= FUNCTION_KINDS) return verify__function_fail(v, "of no known kind: %u", f->kind);
  if (f->param_count > f->register_count) return verify__function_fail(v, "has more parameters than registers");
  if (f->result != TYPE_NONE && f->result >= v->types->count) return verify__function_fail(v, "its result has type %u of %u", f->result, v->types->count);
  for (uint32_t i = 0; i < f->register_count; i++)
    if (f->registers[i] >= v->types->count) return verify__function_fail(v, "r%u has type %u of %u", i, f->registers[i], v->types->count);
  return ERR_NONE;
}

// Also fills `regions`.
static Err check_blocks(Verifier *v) {
  const Function *f = v->function;
  uint32_t last_end = 1;  // the function begins outside of blocks
  for (uint32_t i = 0; i < f->code_count; i++) v->regions[i] = NO_BLOCK;
  for (uint32_t i = 0; i < f->block_count; i++) {
    Block block = f->blocks[i];
    if (block.start < last_end || block.start >= block.end || block.end > f->code_count) return verify__function_fail(v, "block %u is out of order or outside of the code", i);
    if (f->code[block.end - 1].op != OP_BLOCK_END) return verify__function_fail(v, "block %u does not end in BLOCK_END", i);
    if (!opcode_leaves(f->code[block.start - 1].op)) return verify__function_fail(v, "the code before block %u runs on into it", i);
    for (uint32_t pc = block.start; pc < block.end; pc++) v->regions[pc] = (uint16_t)i;
    v->block_plans[i] = NO_PLAN;
    last_end = block.end;
  }
  if (f->code_count == 0 || !opcode_leaves(f->code[f->code_count - 1].op)) return verify__function_fail(v, "the code runs on over its end");
  return ERR_NONE;
}

static void note_edges(Verifier *v, uint32_t function_index) {
  Instruction at = v->at;
  v->own_effects[function_index] |= opcode_effects(at.op);
  if (at.op == OP_CALL || at.op == OP_CALL_VOID) v->calls[v->call_count++] = (CallEdge){at.b};
  bool drives_plan = at.op == OP_QUERY_OPEN || at.op == OP_QUERY_NEXT || at.op == OP_QUERY_CLOSE;
  uint16_t block = v->regions[v->pc];
  if (drives_plan && block != NO_BLOCK && v->block_plans[block] != NO_PLAN) v->plan_edges[v->plan_edge_count++] = (PlanEdge){v->block_plans[block], at.a};
}

static Err check_code(Verifier *v, uint32_t function_index) {
  const Function *f = v->function;
  v->plan_edge_count = 0;
  for (v->pc = 0; v->pc < f->code_count; v->pc++) {
    v->at = f->code[v->pc];
    const OpcodeInfo *info = opcode_info(v->at.op);
    if (!info) return verify__fail(v, "there is no instruction %u", v->at.op);
    TRY(check_operands(v, info));
    TRY(VERIFY__RULES[info->rule](v));
    note_edges(v, function_index);
  }
  return ERR_NONE;
}

static Err check_function(Verifier *v, uint32_t index) {
  v->function = &v->module->functions[index];
  v->call_starts[index] = v->call_count;
  TRY(check_registers(v));
  TRY(check_blocks(v));
  TRY(verify__plans(v));
  TRY(check_code(v, index));
  return verify__plan_nesting(v);
}

// ---- calls ------------------------------------------------------------------------------------
// A walk over the graph of calls, deepest first, with a stack of its own. When a function is left, those it calls are
// known: its depth, its stack and its effects follow.

enum { CALLS_NOT_SEEN, CALLS_OPEN, CALLS_DONE };
typedef struct CallWalk { uint16_t function; uint32_t next; } CallWalk;

static const uint8_t EFFECTS_ALLOWED[FUNCTION_KINDS] = {
  [FUNCTION_FN] = EFFECT_NOW | EFFECT_RANDOM | EFFECT_CALLER,
  [FUNCTION_VIEW] = EFFECT_NOW | EFFECT_CALLER,
  [FUNCTION_INPUT] = EFFECT_WRITES | EFFECT_NOW | EFFECT_RANDOM | EFFECT_CALLER,
  [FUNCTION_ACTION] = EFFECT_WRITES | EFFECT_NOW | EFFECT_RANDOM | EFFECT_CALLER,
  [FUNCTION_DEFAULT] = EFFECT_NOW | EFFECT_RANDOM | EFFECT_CALLER,
  [FUNCTION_COMPUTED] = 0,
  [FUNCTION_CHECK] = 0,
  [FUNCTION_ALWAYS] = 0,
  [FUNCTION_ROLE] = EFFECT_NOW | EFFECT_CALLER,
  [FUNCTION_TIMER] = EFFECT_WRITES | EFFECT_NOW | EFFECT_RANDOM | EFFECT_CALLER,
  [FUNCTION_START] = EFFECT_WRITES | EFFECT_NOW | EFFECT_RANDOM | EFFECT_CALLER,
  [FUNCTION_MIGRATE] = EFFECT_WRITES | EFFECT_NOW | EFFECT_RANDOM,
  [FUNCTION_TEST] = EFFECT_WRITES | EFFECT_NOW | EFFECT_RANDOM | EFFECT_CALLER | EFFECT_TEST,
};

static Err finish_function(Verifier *v, uint16_t index, uint8_t *effects) {
  Function *f = (Function *)&v->module->functions[index];  // the verifier alone fills what it computes
  uint32_t depth = 0, registers = 0;
  v->function = f;
  effects[index] = v->own_effects[index];
  for (uint32_t i = v->call_starts[index]; i < v->call_starts[index + 1]; i++) {
    const Function *callee = &v->module->functions[v->calls[i].callee];
    if (callee->depth > depth) depth = callee->depth;
    if (callee->stack_registers > registers) registers = callee->stack_registers;
    effects[index] |= effects[v->calls[i].callee];
  }
  if (depth + 1 > CALL_DEPTH_MAX) return verify__function_fail(v, "calls go deeper than %d (CALL_DEPTH_MAX)", CALL_DEPTH_MAX);
  if (effects[index] != f->effects) return verify__function_fail(v, "has effects %u and says %u", effects[index], f->effects);
  if (effects[index] & ~EFFECTS_ALLOWED[f->kind]) return verify__function_fail(v, "has effects %u, of which its kind may only have %u", effects[index], EFFECTS_ALLOWED[f->kind]);
  f->depth = (uint16_t)(depth + 1);
  f->stack_registers = registers + f->register_count;
  return ERR_NONE;
}

// `walk` has room for CALL_DEPTH_MAX entries: a path longer than that is refused whether or not it is a cycle.
static Err walk_calls(Verifier *v, uint16_t root, uint8_t *seen, uint8_t *effects, CallWalk *walk) {
  uint32_t depth = 0;
  walk[depth++] = (CallWalk){root, v->call_starts[root]};
  seen[root] = CALLS_OPEN;
  while (depth) {
    CallWalk *top = &walk[depth - 1];
    v->function = &v->module->functions[top->function];
    if (top->next == v->call_starts[top->function + 1]) {
      TRY(finish_function(v, top->function, effects));
      seen[top->function] = CALLS_DONE;
      depth--;
      continue;
    }
    uint16_t callee = v->calls[top->next++].callee;
    if (seen[callee] == CALLS_OPEN) return verify__function_fail(v, "calls itself, through \"" STR_FMT "\"", STR_ARG(v->module->functions[callee].name));
    if (seen[callee] == CALLS_DONE) continue;
    if (depth == CALL_DEPTH_MAX) return verify__function_fail(v, "calls go deeper than %d (CALL_DEPTH_MAX)", CALL_DEPTH_MAX);
    walk[depth++] = (CallWalk){callee, v->call_starts[callee]};
    seen[callee] = CALLS_OPEN;
  }
  return ERR_NONE;
}

static Err check_calls(Verifier *v) {
  uint32_t count = v->module->function_count;
  uint8_t *seen = mem_alloc_zero(2 * (size_t)count + 1, 1);
  CallWalk *walk = mem_alloc_zero(CALL_DEPTH_MAX, sizeof *walk);
  Err err = seen && walk ? ERR_NONE : err_say(ERR_MEMORY, v->out_text, "no memory to verify the module");
  for (uint32_t i = 0; i < count && !err; i++)
    if (seen[i] == CALLS_NOT_SEEN) err = walk_calls(v, (uint16_t)i, seen, seen + count, walk);
  mem_free(seen);
  mem_free(walk);
  return err;
}

// ---- the whole --------------------------------------------------------------------------------

static bool alloc_scratch(Verifier *v) {
  size_t code_max = 1, code_total = 1, functions = v->module->function_count;
  for (size_t i = 0; i < functions; i++) {
    size_t code = v->module->functions[i].code_count;
    code_total += code;
    if (code > code_max) code_max = code;
  }
  v->type_classes = mem_alloc_zero((size_t)v->types->count + 1, sizeof *v->type_classes);
  v->regions = mem_alloc_zero(code_max, sizeof *v->regions);
  v->block_plans = mem_alloc_zero(FUNCTION_BLOCKS_MAX, sizeof *v->block_plans);
  v->plan_edges = mem_alloc_zero(code_max, sizeof *v->plan_edges);
  v->calls = mem_alloc_zero(code_total, sizeof *v->calls);
  v->call_starts = mem_alloc_zero(functions + 1, sizeof *v->call_starts);
  v->own_effects = mem_alloc_zero(functions + 1, 1);
  v->signatures = mem_alloc_zero(BUILTIN_COUNT_, sizeof *v->signatures);
  return v->type_classes && v->regions && v->block_plans && v->plan_edges && v->calls && v->call_starts && v->own_effects && v->signatures;
}

static void free_scratch(Verifier *v) {
  void *const blocks[] = {v->type_classes, v->regions, v->block_plans, v->plan_edges, v->calls, v->call_starts, v->own_effects, v->signatures};
  for (size_t i = 0; i < countof(blocks); i++) mem_free(blocks[i]);
}

static Err verify_all(Verifier *v) {
  for (uint32_t i = 0; i < v->types->count; i++) v->type_classes[i] = classes_of(v->types, v->types->types[i]);
  TRY(verify__tables(v));
  for (uint32_t i = 0; i < v->module->function_count; i++) TRY(check_function(v, i));
  v->call_starts[v->module->function_count] = v->call_count;
  TRY(check_calls(v));
  return verify__declarations(v);
}

Err module_verify(Module *module, ErrText *out_text) {
  Verifier v = {.module = module, .types = &module->schema.types, .out_text = out_text};
  if (module->function_count > FUNCTION_COUNT_MAX) return err_say(ERR_LIMIT, out_text, "more than %d functions (FUNCTION_COUNT_MAX)", FUNCTION_COUNT_MAX);
  Err err = alloc_scratch(&v) ? verify_all(&v) : err_say(ERR_MEMORY, out_text, "no memory to verify the module");
  free_scratch(&v);
  return err;
}
