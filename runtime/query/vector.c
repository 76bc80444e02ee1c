// See vector.h. Each register that the block writes gets a slot with an array of 64-bit numbers (bools are 0 and 1, decimals
// their units, plain enums their case); a column that lies as 64-bit numbers in the leaf is used where it lies. Registers that
// the block only reads are one value for all rows. The loops are written so that the compiler turns them into SIMD code.
#include "runtime/query/vector.h"

#include <assert.h>

#include "runtime/module/opcode.h"

typedef enum SlotKind { SLOT_ONE, SLOT_ARRAY } SlotKind;

typedef struct Slot { SlotKind kind; const int64_t *values; int64_t one; } Slot;  // of one run

struct Vectors {
  Slot slots[VECTOR_SLOTS_MAX];
  int64_t arrays[VECTOR_SLOTS_MAX][VECTOR_ROWS];
};

// An operand: a slot, or a register that the block does not write.
enum { NO_SLOT = 0xFF };

struct VectorBlock {
  const Exec *exec;
  const Function *function;
  Block range;
  uint8_t slot_count;
  uint16_t registers[VECTOR_SLOTS_MAX];  // by slot
};

Vectors *vectors__new(Exec *exec) { return arena_alloc(&exec->arena, sizeof(Vectors)); }

static uint8_t find_slot(const VectorBlock *block, uint16_t reg) {
  for (uint8_t i = 0; i < block->slot_count; i++) {
    if (block->registers[i] == reg) return i;
  }
  return NO_SLOT;
}

// ---- which blocks ---------------------------------------------------------------------------------

static bool is_decimal(const VectorBlock *block, uint16_t reg) {
  return type_kind(exec__types(block->exec), block->function->registers[reg]) == TYPE_DECIMAL;
}

bool vector__knows(const VectorBlock *block, uint16_t reg) {
  const TypeTable *types = exec__types(block->exec);
  TypeId type = block->function->registers[reg];
  TypeKind kind = type_kind(types, type);
  return kind == TYPE_DECIMAL || (kind != TYPE_OPTIONAL && type_repr(types, type) == REPR_I64);
}

static bool operands_known(const VectorBlock *block, const Instruction *at) {
  switch (at->op) {
    case OP_INT: case OP_BOOL: case OP_ENUM: case OP_CONST: case OP_CURSOR_COLUMN: return true;
    case OP_MOVE: case OP_NOT: case OP_SCALE_D: case OP_INT_TO_D: case OP_FIT_D: case OP_NEG_I: case OP_NEG_D: return vector__knows(block, at->b);
    case OP_ADD_I: case OP_SUB_I: case OP_MUL_I: case OP_ADD_D: case OP_SUB_D: case OP_MUL_D: case OP_AND: case OP_OR:
    case OP_EQ_I: case OP_NE_I: case OP_LT_I: case OP_LE_I: case OP_EQ: case OP_NE: case OP_LT: case OP_LE:
      return vector__knows(block, at->b) && vector__knows(block, at->c);
    default: return false;
  }
}

static bool add_slot(VectorBlock *block, uint16_t reg) {
  if (!vector__knows(block, reg)) return false;
  if (find_slot(block, reg) != NO_SLOT) return true;
  if (block->slot_count == VECTOR_SLOTS_MAX) return false;
  block->registers[block->slot_count++] = reg;
  return true;
}

// Whether the instruction reads a register that the block writes later on: it would see the row before, as a counter does.
static bool reads_row_before(const VectorBlock *block, uint32_t pc) {
  const Instruction *at = &block->function->code[pc];
  if (at->op == OP_INT || at->op == OP_BOOL || at->op == OP_ENUM || at->op == OP_CONST || at->op == OP_CURSOR_COLUMN) return false;
  for (uint32_t i = pc; i + 1 < block->range.end; i++) {
    uint16_t written = block->function->code[i].a;
    if ((written == at->b || written == at->c) && find_slot(block, written) == NO_SLOT) return true;
  }
  return false;
}

VectorBlock *vector__prepare(Exec *exec, const Function *function, uint16_t plan, uint8_t stage, uint16_t index) {
  VectorBlock *block = ARENA_NEW(&exec->arena, VectorBlock);
  if (!block) return NULL;
  *block = (VectorBlock){.exec = exec, .function = function};
  if (index != NO_BLOCK) block->range = function->blocks[index];
  for (uint32_t pc = block->range.start; pc + 1 < block->range.end; pc++) {
    const Instruction *at = &function->code[pc];
    if (!operands_known(block, at) || reads_row_before(block, pc) || !add_slot(block, at->a)) return NULL;
    if (at->op == OP_CURSOR_COLUMN && (at->b != plan || at->x != stage)) return NULL;
  }
  return block;
}

// ---- what else reads a block's registers --------------------------------------------------------------

// How many registers an instruction reads from its base; as many as there are when that is not told here.
static uint32_t base_count(const VectorBlock *block, const Instruction *at) {
  const Module *module = block->exec->module;
  const TypeTable *types = exec__types(block->exec);
  switch (at->op) {
    case OP_RECORD_NEW: return types->records[types->types[block->function->registers[at->a]].of].field_count;
    case OP_CALL: case OP_CALL_VOID: return module->functions[at->b].param_count;
    case OP_TEXT_JOIN: case OP_LIST_NEW: return at->c;
    case OP_MAP_OF: return 2u * at->c;
    default: return UINT16_MAX;
  }
}

static bool any_slot(const VectorBlock *block, uint32_t from, uint32_t count) {
  for (uint8_t i = 0; i < block->slot_count; i++) {
    if (block->registers[i] >= from && block->registers[i] < from + count) return true;
  }
  return false;
}

static bool instruction_reads(const VectorBlock *block, const Instruction *at) {
  const OpcodeInfo *info = opcode_info(at->op);
  const uint8_t kinds[] = {info->a, info->b, info->c};
  const uint16_t operands[] = {at->a, at->b, at->c};
  for (int i = 0; i < 3; i++) {
    if (operand_is_read((OperandKind)kinds[i]) && any_slot(block, operands[i], 1)) return true;
    if (kinds[i] == OPERAND_base && any_slot(block, operands[i], base_count(block, at))) return true;
  }
  return false;
}

static bool any_slots(const VectorBlock *block, const uint16_t *registers, uint16_t count) {
  for (uint16_t i = 0; i < count; i++) if (any_slot(block, registers[i], 1)) return true;
  return false;
}

static bool stage_reads(const VectorBlock *block, const Stage *stage) {
  bool is_scan = stage->kind == STAGE_SCAN || stage->kind == STAGE_COUNT;
  uint32_t count = is_scan ? stage->equal_count + 2u : stage->kind == STAGE_NUMBERS ? 2u : 1u;
  if (stage->from != NO_REGISTER && any_slot(block, stage->from, count)) return true;
  if (any_slots(block, stage->keys, stage->key_count) || any_slots(block, stage->carried, stage->carried_count)) return true;
  for (uint16_t i = 0; i < stage->aggregate_count; i++) if (any_slot(block, stage->aggregates[i].from, 1)) return true;
  return false;
}

bool vector__leaves_values(const VectorBlock *block, const Stage *own) {
  const Function *function = block->function;
  for (uint32_t pc = 0; pc < function->code_count; pc++) {
    bool inside = pc >= block->range.start && pc < block->range.end;
    if (!inside && instruction_reads(block, &function->code[pc])) return true;
  }
  for (uint16_t plan = 0; plan < function->plan_count; plan++) {
    for (uint16_t i = 0; i < function->plans[plan].stage_count; i++) {
      const Stage *stage = &function->plans[plan].stages[i];
      if (stage != own && stage_reads(block, stage)) return true;
    }
  }
  return false;
}

// ---- operands ---------------------------------------------------------------------------------------

typedef struct Operand { const int64_t *values; int64_t one; } Operand;  // values NULL: `one` for all rows

static bool one_value(const VectorBlock *block, uint16_t reg, Value value, int64_t *out) {
  if (!is_decimal(block, reg)) { *out = value.i; return true; }
  *out = (int64_t)value.dec;
  return value.dec == (__int128)*out;
}

static bool operand(const VectorBlock *block, const Vectors *vectors, uint16_t reg, const Value *registers, Operand *out) {
  uint8_t slot = find_slot(block, reg);
  *out = (Operand){0};
  if (slot == NO_SLOT) return one_value(block, reg, registers[reg], &out->one);
  const Slot *from = &vectors->slots[slot];
  *out = (Operand){from->kind == SLOT_ARRAY ? from->values : NULL, from->one};
  return true;
}

const int64_t *vector__values(const VectorBlock *block, const Vectors *vectors, uint16_t reg, const Value *registers, int64_t *out_one) {
  Operand from;
  bool known = operand(block, vectors, reg, registers, &from);
  assert(known || !from.values);
  (void)known;
  *out_one = from.one;
  return from.values;
}

// ---- columns ----------------------------------------------------------------------------------------

static void widen_u8(const uint8_t *from, uint32_t count, int64_t *to) { for (uint32_t i = 0; i < count; i++) to[i] = from[i]; }
static void widen_u16(const uint16_t *from, uint32_t count, int64_t *to) { for (uint32_t i = 0; i < count; i++) to[i] = from[i]; }

static bool load_column(const LeafBatch *batch, uint16_t column, uint32_t first, uint32_t count, Slot *slot, int64_t *array) {
  BatchColumn from;
  if (!batch_column(batch, column, &from) || from.present) return false;
  slot->kind = SLOT_ARRAY;
  slot->values = array;
  if (from.kind == BATCH_I64) slot->values = (const int64_t *)from.values + first;
  else if (from.kind == BATCH_U8) widen_u8((const uint8_t *)from.values + first, count, array);
  else if (from.kind == BATCH_U16) widen_u16((const uint16_t *)from.values + first, count, array);
  else return false;
  return true;
}

// ---- arithmetic -------------------------------------------------------------------------------------

// One loop for each shape of operands; `OVER` gathers overflows, so that the loop has no branch.
#define LOOP(expression) for (uint32_t i = 0; i < count; i++) to[i] = (expression)
#define SHAPES(op) \
  if (a.values && b.values) LOOP(a.values[i] op b.values[i]); \
  else if (a.values) LOOP(a.values[i] op b.one); \
  else if (b.values) LOOP(a.one op b.values[i]); \
  else LOOP(a.one op b.one)

static void compare(uint8_t op, Operand a, Operand b, uint32_t count, int64_t *to) {
  switch (op) {
    case OP_EQ: case OP_EQ_I: SHAPES(==); return;
    case OP_NE: case OP_NE_I: SHAPES(!=); return;
    case OP_LT: case OP_LT_I: SHAPES(<); return;
    case OP_LE: case OP_LE_I: SHAPES(<=); return;
    case OP_AND: SHAPES(&); return;
    case OP_OR: SHAPES(|); return;
    default: assert(!"no comparison");
  }
}

static int64_t at_row(Operand from, uint32_t i) { return from.values ? from.values[i] : from.one; }

static bool calculate(uint8_t op, Operand a, Operand b, uint32_t count, int64_t *to) {
  bool over = false;
  for (uint32_t i = 0; i < count; i++) {
    int64_t x = at_row(a, i), y = at_row(b, i);
    switch (op) {
      case OP_ADD_I: case OP_ADD_D: over |= __builtin_add_overflow(x, y, &to[i]); break;
      case OP_SUB_I: case OP_SUB_D: over |= __builtin_sub_overflow(x, y, &to[i]); break;
      default: over |= __builtin_mul_overflow(x, y, &to[i]); break;
    }
  }
  return !over;
}

static bool scale_up(const VectorBlock *block, const Instruction *at, Operand a, uint32_t count, int64_t *to) {
  const TypeTable *types = exec__types(block->exec);
  unsigned from = at->op == OP_INT_TO_D ? 0 : types->types[block->function->registers[at->b]].scale;
  unsigned digits = types->types[block->function->registers[at->a]].scale - from;
  int64_t factor = 1;
  for (unsigned i = 0; i < digits; i++) factor *= 10;  // at most 18 digits: fits
  Operand by = {.one = factor};
  return calculate(OP_MUL_I, a, by, count, to);
}

// ---- running ----------------------------------------------------------------------------------------

static bool load_constant(const VectorBlock *block, const Instruction *at, Slot *slot) {
  slot->kind = SLOT_ONE;
  if (at->op == OP_INT) { slot->one = at->w; return true; }
  if (at->op == OP_BOOL || at->op == OP_ENUM) { slot->one = at->b; return true; }
  return one_value(block, at->a, block->exec->module->constants[at->k].value, &slot->one);
}

typedef struct Rows { const LeafBatch *batch; uint32_t first, count; } Rows;

static bool run_one(const VectorBlock *block, Vectors *vectors, const Instruction *at, Rows rows, const Value *registers) {
  uint8_t to = find_slot(block, at->a);
  Slot *slot = &vectors->slots[to];
  int64_t *array = vectors->arrays[to];
  Operand a, b;
  switch (at->op) {
    case OP_INT: case OP_BOOL: case OP_ENUM: case OP_CONST: return load_constant(block, at, slot);
    case OP_CURSOR_COLUMN: return load_column(rows.batch, at->c, rows.first, rows.count, slot, array);
    case OP_MOVE: case OP_FIT_D:
      if (!operand(block, vectors, at->b, registers, &a)) return false;
      if (a.values) memcpy(array, a.values, rows.count * sizeof *array);  // a copy: the other register may change
      *slot = (Slot){a.values ? SLOT_ARRAY : SLOT_ONE, array, a.one};
      return true;
    case OP_NOT: case OP_NEG_I: case OP_NEG_D:
      if (!operand(block, vectors, at->b, registers, &b)) return false;
      *slot = (Slot){SLOT_ARRAY, array, 0};
      if (at->op != OP_NOT) return calculate(OP_SUB_I, (Operand){0}, b, rows.count, array);
      compare(OP_EQ_I, (Operand){0}, b, rows.count, array);
      return true;
    case OP_SCALE_D: case OP_INT_TO_D:
      *slot = (Slot){SLOT_ARRAY, array, 0};
      return operand(block, vectors, at->b, registers, &a) && scale_up(block, at, a, rows.count, array);
    default:
      if (!operand(block, vectors, at->b, registers, &a) || !operand(block, vectors, at->c, registers, &b)) return false;
      *slot = (Slot){SLOT_ARRAY, array, 0};
      bool arithmetic = at->op >= OP_ADD_I && at->op <= OP_MUL_D;
      if (arithmetic) return calculate(at->op, a, b, rows.count, array);
      compare(at->op, a, b, rows.count, array);
      return true;
  }
}

bool vector__run(const VectorBlock *block, Vectors *vectors, const LeafBatch *batch, uint32_t first, uint32_t count, const Value *registers) {
  assert(count <= VECTOR_ROWS && first + count <= batch->count);
  Rows rows = {batch, first, count};
  for (uint32_t pc = block->range.start; pc + 1 < block->range.end; pc++) {
    if (!run_one(block, vectors, &block->function->code[pc], rows, registers)) return false;
  }
  return true;
}
