// The instruction builder: registers by type, segments of code, jumps that are patched when their label is bound, and
// the line table. Everything is linear in the size of the function: free registers are found by type in one step, free
// runs among the few that are free, labels through a chain in the jumps themselves.
#include <assert.h>

#include "compiler/emit/code.h"
#include "runtime/base/mem.h"

// What stands in reg_next of a register: the next free one of its type, or one of these.
static const uint32_t REG_NONE = 0xFFFFFFFF, REG_LOCAL = 0xFFFFFFFE, REG_TAKEN = 0xFFFFFFFD;
// In free_by_type: the type had a free register in this function, and has none now (NO_REGISTER: it never had).
static const Reg FREE_EMPTY = 0xFFFE;

static void run_out(Emit *e) { if (e->failed == ERR_NONE) e->failed = ERR_MEMORY; }

// Makes room for one more item; false (and failed) when there is no memory.
static bool grow(Emit *e, void *array_pointer, uint32_t count, uint32_t *cap, size_t size) {
  if (count < *cap) return true;
  uint32_t more = *cap ? *cap * 2 : 16;
  void *bigger = mem_realloc(*(void **)array_pointer, more * size);
  if (!bigger) {
    run_out(e);
    return false;
  }
  *(void **)array_pointer = bigger;
  *cap = more;
  return true;
}

void code_limit(Emit *e, Span span, const char *what, uint32_t most) {
  if (e->limit_told) return;
  e->limit_told = true;
  Diag *diag = diag_add(e->diags, DIAG_E026, span, "`%.*s` needs more than %u %s", STR_ARG(e->function->name), most, what);
  diag_help(e->diags, diag, "move a part of it into a `fn` or an `action` of its own");
}

// ---- registers --------------------------------------------------------------------------------
static bool reg_new(Emit *e, TypeId type, uint32_t state, Reg *out_reg) {
  assert(type < e->types->count);
  if (e->reg_count >= FUNCTION_REGISTERS_MAX) {
    code_limit(e, e->span, "registers", FUNCTION_REGISTERS_MAX);
    *out_reg = 0;
    return false;
  }
  e->reg_types[e->reg_count] = type;
  e->reg_next[e->reg_count] = state;
  *out_reg = (Reg)e->reg_count++;
  return true;
}

Reg reg_fixed(Emit *e, TypeId type) {
  Reg reg;
  reg_new(e, type, REG_LOCAL, &reg);
  return reg;
}

bool reg_is_fixed(const Emit *e, Reg reg) { return e->reg_next[reg] == REG_LOCAL; }

Reg reg_temp(Emit *e, TypeId type) {
  assert(type < e->types->count);
  Reg free = e->free_by_type[type];
  if (free >= FREE_EMPTY) {
    reg_new(e, type, REG_TAKEN, &free);
    return free;
  }
  uint32_t next = e->reg_next[free];
  e->free_by_type[type] = next == REG_NONE ? FREE_EMPTY : (Reg)next;
  e->reg_next[free] = REG_TAKEN;
  return free;
}

void reg_free(Emit *e, Reg reg) {
  if (e->limit_told) return;  // register 0 was handed out for all
  assert(e->reg_next[reg] == REG_TAKEN && "only a temporary that is taken can be given back");
  TypeId type = e->reg_types[reg];
  Reg first = e->free_by_type[type];
  if (first == NO_REGISTER) e->touched[e->touched_count++] = type;
  e->reg_next[reg] = first >= FREE_EMPTY ? REG_NONE : first;
  e->free_by_type[type] = reg;
}

static uint32_t types_hash(const TypeId *types, uint32_t count) {
  uint32_t hash = 2166136261u ^ count;
  for (uint32_t i = 0; i < count; i++) hash = (hash ^ types[i]) * 16777619u;
  return hash;
}

Reg run_take(Emit *e, const TypeId *types, uint32_t count) {
  if (count == 0) return 0;
  if (count == 1) return reg_temp(e, types[0]);
  uint32_t hash = types_hash(types, count);
  for (uint32_t i = e->free_run_count; i-- > 0;) {
    FreeRun run = e->free_runs[i];
    if (run.hash != hash || run.count != count || memcmp(&e->reg_types[run.base], types, count * sizeof *types) != 0) continue;
    e->free_runs[i] = e->free_runs[--e->free_run_count];
    return run.base;
  }
  if (e->reg_count + count > FUNCTION_REGISTERS_MAX) {
    code_limit(e, e->span, "registers", FUNCTION_REGISTERS_MAX);
    return 0;
  }
  Reg base = (Reg)e->reg_count, reg;
  for (uint32_t i = 0; i < count; i++) reg_new(e, types[i], REG_TAKEN, &reg);
  return base;
}

void run_free(Emit *e, Reg base, uint32_t count) {
  if (count == 0 || e->limit_told) return;
  if (count == 1) {
    reg_free(e, base);
    return;
  }
  if (!grow(e, &e->free_runs, e->free_run_count, &e->free_run_cap, sizeof *e->free_runs)) return;
  e->free_runs[e->free_run_count++] = (FreeRun){base, (uint16_t)count, types_hash(&e->reg_types[base], count)};
}

Reg local_reg(Emit *e, LocalId local) {
  assert(local < e->function->local_count);
  LocalState *state = &e->locals[local];
  if (state->reg == NO_REGISTER && !e->limit_told) {
    Span outer = e->span;
    if (!span_is_none(e->function->locals[local].span)) e->span = e->function->locals[local].span;
    state->reg = reg_fixed(e, e->function->locals[local].type);
    e->span = outer;
  }
  return state->reg == NO_REGISTER ? 0 : state->reg;
}

// ---- instructions -----------------------------------------------------------------------------
static Segment *segment_now(Emit *e) { return &e->segments[e->segment]; }

static void mark_line(Emit *e, Segment *segment) {
  uint32_t place = e->span.start;
  if (place == 0 || (segment->line_count && segment->lines[segment->line_count - 1].place == place)) return;
  if (!grow(e, &segment->lines, segment->line_count, &segment->line_cap, sizeof *segment->lines)) return;
  segment->lines[segment->line_count++] = (LineMark){segment->count, place};
}

static void add(Emit *e, Instruction instruction) {
  Segment *segment = segment_now(e);
  if (segment->count >= FUNCTION_CODE_MAX) {
    code_limit(e, e->span, "instructions", FUNCTION_CODE_MAX);
    return;
  }
  if (!grow(e, &segment->code, segment->count, &segment->cap, sizeof *segment->code)) return;
  mark_line(e, segment);
  segment->code[segment->count++] = instruction;
}

void code_op(Emit *e, Opcode op, Reg a, uint16_t b, uint16_t c) { add(e, (Instruction){.op = (uint8_t)op, .a = a, .b = b, .c = c}); }
void code_op_x(Emit *e, Opcode op, uint8_t x, Reg a, uint32_t bc) {
  add(e, (Instruction){.op = (uint8_t)op, .x = x, .a = a, .b = (uint16_t)bc, .c = (uint16_t)(bc >> 16)});
}
void code_wide(Emit *e, Opcode op, Reg a, uint32_t k) { add(e, (Instruction){.op = (uint8_t)op, .a = a, .k = k}); }

// A jump to a label that is not bound yet keeps the jump before it in its place; binding walks that chain.
void code_jump(Emit *e, Opcode op, Reg a, Label *label) {
  uint32_t at = segment_now(e)->count;
  code_wide(e, op, a, label->bound ? label->position : label->pending);
  if (!label->bound && segment_now(e)->count > at) label->pending = at + 1;
}

void code_bind(Emit *e, Label *label) {
  Segment *segment = segment_now(e);
  assert(!label->bound);
  label->bound = true;
  label->position = segment->count;
  if (label->pending) segment->landing = label->position + 1;
  for (uint32_t at = label->pending; at != 0;) {
    Instruction *jump = &segment->code[at - 1];
    at = jump->k;
    jump->k = label->position;
  }
}

static bool op_jumps(uint8_t op) {
  return op == OP_JUMP || op == OP_JUMP_IF || op == OP_JUMP_IF_NOT || op == OP_JUMP_NONE || op == OP_QUERY_NEXT || op == OP_CATCH;
}

static bool op_leaves(uint8_t op) { return op == OP_RETURN || op == OP_RETURN_VOID || op == OP_REJECT || op == OP_JUMP; }

bool code_ended(const Emit *e) {
  const Segment *segment = &e->segments[e->segment];
  return segment->count > 0 && op_leaves(segment->code[segment->count - 1].op) && segment->landing != segment->count + 1;
}

// ---- blocks -----------------------------------------------------------------------------------
static bool segment_new(Emit *e) {
  if (!grow(e, &e->segments, e->segment_count, &e->segment_cap, sizeof *e->segments)) return false;
  e->segments[e->segment_count++] = (Segment){0};
  return true;
}

uint16_t code_block_begin(Emit *e) {
  uint32_t index = e->segment_count - SEGMENT_BLOCKS;
  if (index >= FUNCTION_BLOCKS_MAX) code_limit(e, e->span, "blocks in queries", FUNCTION_BLOCKS_MAX);
  if (index < NO_BLOCK && segment_new(e)) e->segment = e->segment_count - 1;
  e->loop_depth++;
  return (uint16_t)index;
}

void code_block_end(Emit *e, uint32_t outer_segment) {
  code_op(e, OP_BLOCK_END, 0, 0, 0);
  e->segment = outer_segment;
  e->loop_depth--;
}

// ---- constants --------------------------------------------------------------------------------
static uint32_t const_hash(const Emit *e, TypeId type, Value value) {
  uint64_t hash = type * 0x9E3779B97F4A7C15u;
  Repr repr = type_repr(e->types, type);
  if (repr == REPR_STR && value.text.ptr) {
    for (size_t i = 0; i < value.text.len; i++) hash = (hash ^ (uint8_t)value.text.ptr[i]) * 1099511628211u;
  } else if (repr != REPR_PTR && repr != REPR_STR) {
    hash ^= (uint64_t)value.i * 0xD6E8FEB86659FD93u;
  }
  return (uint32_t)(hash ^ (hash >> 32));
}

static bool const_same(const Emit *e, const Constant *constant, TypeId type, Value value) {
  if (constant->type != type) return false;
  if (type_kind(e->types, type) == TYPE_FLOAT) return memcmp(&constant->value.f, &value.f, sizeof value.f) == 0;  // -0 is not 0
  return value_equal(e->types, type, constant->value, value);
}

static void const_put(Emit *e, uint32_t index) {
  const Constant *constant = &e->program->constants[index];
  uint32_t at = const_hash(e, constant->type, constant->value) & (e->constant_slot_count - 1);
  while (e->constant_slots[at]) at = (at + 1) & (e->constant_slot_count - 1);
  e->constant_slots[at] = index + 1;
}

static bool const_make_room(Emit *e) {
  HProgram *program = e->program;
  if (program->constant_count == program->constant_cap) {
    uint32_t cap = program->constant_cap ? program->constant_cap * 2 : 64;
    Constant *bigger = arena_alloc(e->arena, cap * sizeof *bigger);
    if (!bigger) return false;
    if (program->constant_count) memcpy(bigger, program->constants, program->constant_count * sizeof *bigger);
    program->constants = bigger;
    program->constant_cap = cap;
  }
  if ((program->constant_count + 1) * 2 <= e->constant_slot_count) return true;
  uint32_t slots = e->constant_slot_count ? e->constant_slot_count * 2 : 256;
  while (slots < (program->constant_count + 1) * 2) slots *= 2;
  mem_free(e->constant_slots);
  e->constant_slots = mem_alloc_zero(slots, sizeof *e->constant_slots);
  e->constant_slot_count = e->constant_slots ? slots : 0;
  if (!e->constant_slots) return false;
  for (uint32_t i = 0; i < program->constant_count; i++) const_put(e, i);
  return true;
}

uint32_t const_index(Emit *e, TypeId type, Value value) {
  if (!const_make_room(e)) {
    run_out(e);
    return 0;
  }
  HProgram *program = e->program;
  for (uint32_t at = const_hash(e, type, value) & (e->constant_slot_count - 1); e->constant_slots[at]; at = (at + 1) & (e->constant_slot_count - 1))
    if (const_same(e, &program->constants[e->constant_slots[at] - 1], type, value)) return e->constant_slots[at] - 1;
  program->constants[program->constant_count++] = (Constant){type, value};
  const_put(e, program->constant_count - 1);
  return program->constant_count - 1;
}

// ---- lines ------------------------------------------------------------------------------------
static const uint32_t *source_lines(Emit *e, uint32_t index) {
  if (e->line_starts[index]) return e->line_starts[index];
  const Source *source = e->program->sources->items[index];
  uint32_t count = 1;
  for (size_t i = 0; i < source->text.len; i++) count += source->text.ptr[i] == '\n';
  uint32_t *starts = arena_alloc(e->arena, (count + 1) * sizeof *starts);
  if (!starts) {
    run_out(e);
    return NULL;
  }
  starts[0] = count;
  starts[1] = source->base;
  uint32_t line = 2;
  for (size_t i = 0; i < source->text.len; i++)
    if (source->text.ptr[i] == '\n') starts[line++] = source->base + (uint32_t)i + 1;
  return e->line_starts[index] = starts;
}

uint32_t place_line(Emit *e, uint32_t place, uint16_t *out_file) {
  const Sources *sources = e->program->sources;
  *out_file = e->last_line.file;
  if (place >= e->last_line.start && place < e->last_line.end) return e->last_line.line;  // most places are near the one before
  *out_file = 0;
  if (!sources || sources->count == 0) return 0;
  uint32_t file = sources->count - 1;
  while (file > 0 && sources->items[file]->base > place) file--;
  *out_file = (uint16_t)file;
  const uint32_t *starts = source_lines(e, file);
  if (!starts) return 0;
  uint32_t low = 1, high = starts[0];
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (starts[middle] <= place) low = middle; else high = middle - 1;
  }
  e->last_line = (LinePlace){starts[low], low < starts[0] ? starts[low + 1] : starts[low] + 1, low, (uint16_t)file};
  return low;
}

// ---- a whole function -------------------------------------------------------------------------
static bool registers_begin(Emit *e) {
  if (!e->free_by_type) {
    e->free_by_type = mem_alloc(e->types->count * sizeof *e->free_by_type);
    e->touched = mem_alloc(FUNCTION_REGISTERS_MAX * sizeof *e->touched);
    e->reg_types = mem_alloc((FUNCTION_REGISTERS_MAX + 1) * sizeof *e->reg_types);
    e->reg_next = mem_alloc((FUNCTION_REGISTERS_MAX + 1) * sizeof *e->reg_next);
    if (!e->free_by_type || !e->touched || !e->reg_types || !e->reg_next) return false;
    memset(e->free_by_type, 0xFF, e->types->count * sizeof *e->free_by_type);
  }
  for (uint32_t i = 0; i < e->touched_count; i++) e->free_by_type[e->touched[i]] = NO_REGISTER;
  e->touched_count = 0;
  e->free_run_count = 0;
  e->reg_count = 0;
  e->reg_next[0] = REG_LOCAL;
  return true;
}

bool code_begin_function(Emit *e, HFunction *function) {
  e->function = function;
  e->limit_told = false;
  e->span = function->span;
  e->hoisted_count = 0;
  e->plan_count = 0;
  e->loop_depth = 0;
  e->position = NO_REGISTER;
  e->cleanup = NULL;
  e->invariants = NULL;
  e->decisions = 0;
  e->cost = COST_UNTOUCHED;
  e->locals = arena_alloc_zero(&e->scratch, function->local_count, sizeof *e->locals);
  if (!registers_begin(e) || !e->locals) {
    run_out(e);
    return false;
  }
  for (uint32_t i = 0; i < function->local_count; i++) e->locals[i].reg = NO_REGISTER;
  for (uint32_t i = 0; i < function->param_count; i++) local_reg(e, i);
  e->segment_count = 0;
  if (!segment_new(e) || !segment_new(e)) return false;
  e->segment = SEGMENT_MAIN;
  return true;
}

static void segments_free(Emit *e) {
  for (uint32_t i = 0; i < e->segment_count; i++) {
    mem_free(e->segments[i].code);
    mem_free(e->segments[i].lines);
  }
  e->segment_count = 0;
}

static uint32_t lay_code(const Emit *e, Instruction *code, Block *blocks) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < e->segment_count; i++) {
    const Segment *segment = &e->segments[i];
    if (i >= SEGMENT_BLOCKS) blocks[i - SEGMENT_BLOCKS] = (Block){at, at + segment->count};
    for (uint32_t j = 0; j < segment->count; j++) {
      code[at + j] = segment->code[j];
      if (op_jumps(segment->code[j].op)) code[at + j].k += at;
    }
    at += segment->count;
  }
  return at;
}

static uint32_t lay_lines(Emit *e, LineEntry *lines) {
  uint32_t count = 0, at = 0;
  for (uint32_t i = 0; i < e->segment_count; i++) {
    const Segment *segment = &e->segments[i];
    for (uint32_t j = 0; j < segment->line_count; j++) {
      LineEntry entry = {.pc = at + segment->lines[j].pc};
      entry.line = place_line(e, segment->lines[j].place, &entry.file);
      if (entry.line == 0 || (count && lines[count - 1].line == entry.line && lines[count - 1].file == entry.file)) continue;
      if (count && lines[count - 1].pc == entry.pc) count--;
      lines[count++] = entry;
    }
    at += segment->count;
  }
  return count;
}

static bool lay_function(Emit *e, Function *out) {
  uint32_t code_count = 0, line_count = 0, block_count = e->segment_count - SEGMENT_BLOCKS;
  for (uint32_t i = 0; i < e->segment_count; i++) {
    code_count += e->segments[i].count;
    line_count += e->segments[i].line_count;
  }
  if (code_count > FUNCTION_CODE_MAX) {
    code_limit(e, e->function->span, "instructions", FUNCTION_CODE_MAX);
    return false;
  }
  Instruction *code = ARENA_ARRAY(e->arena, Instruction, code_count);
  Block *blocks = ARENA_ARRAY(e->arena, Block, block_count);
  LineEntry *lines = ARENA_ARRAY(e->arena, LineEntry, line_count);
  Plan *plans = ARENA_ARRAY(e->arena, Plan, e->plan_count);
  TypeId *registers = ARENA_ARRAY(e->arena, TypeId, e->reg_count);
  if (!code || !blocks || !lines || !plans || !registers) {
    run_out(e);
    return false;
  }
  if (e->reg_count) memcpy(registers, e->reg_types, e->reg_count * sizeof *registers);
  if (e->plan_count) memcpy(plans, e->plans, e->plan_count * sizeof *plans);
  const HFunction *function = e->function;
  *out = (Function){.name = function->name, .kind = function->kind, .effects = function->effects, .param_count = (uint16_t)function->param_count,
    .register_count = (uint16_t)e->reg_count, .registers = registers, .result = function->result, .code_count = lay_code(e, code, blocks), .code = code,
    .block_count = (uint16_t)block_count, .plan_count = (uint16_t)e->plan_count, .blocks = blocks, .plans = plans, .lines = lines};
  out->line_count = lay_lines(e, lines);
  return true;
}

bool code_end_function(Emit *e, Function *out_function) {
  bool done = e->failed == ERR_NONE && !e->limit_told && lay_function(e, out_function);
  segments_free(e);
  arena_reset(&e->scratch);
  return done;
}

void code_free(Emit *e) {
  segments_free(e);
  mem_free(e->segments);
  mem_free(e->plans);
  mem_free(e->free_runs);
  mem_free(e->constant_slots);
  mem_free(e->free_by_type);
  mem_free(e->touched);
  mem_free(e->reg_types);
  mem_free(e->reg_next);
  arena_free(&e->scratch);
}
