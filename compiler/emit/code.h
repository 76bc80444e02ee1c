// The state of one run of emit and of the function in work; registers, instructions, jumps, constants and lines.
//
// Registers have one type each for the whole function. A *temporary* is taken from a stack of free ones of its type and
// given back; a *run* is a row of neighbouring registers for an instruction's `base`. A local has a register of its own.
// Whatever stays alive while a query is asked for its next frame is taken before the query's blocks are lowered, since
// blocks run at that moment and use temporaries too.
//
// Code is built in *segments*: the prologue (constants that loops and blocks use), the main code, and one for each block;
// they are laid behind one another at the end.
//
// Owns:   results in Emit.arena; the rest in Emit.scratch, emptied after each function.
// Thread: that of emit_module.
// Errors: the first failure is kept in Emit.failed; everything goes on harmlessly until the end.
#pragma once
#include "compiler/emit/emit.h"
#include "runtime/value/value.h"

typedef uint16_t Reg;
typedef struct Operand { Reg reg; bool temp; } Operand;
typedef struct Label { uint32_t position, pending; bool bound; } Label;  // pending: 1 + the last jump that waits for it
typedef struct LineMark { uint32_t pc, place; } LineMark;
typedef struct Segment { Instruction *code; uint32_t count, cap, landing; LineMark *lines; uint32_t line_count, line_cap; } Segment;  // landing: 1 + the last place that a jump goes forward to
enum { SEGMENT_PROLOGUE, SEGMENT_MAIN, SEGMENT_BLOCKS };  // block i is segment SEGMENT_BLOCKS + i

typedef struct ColumnReg { struct ColumnReg *next; uint16_t column; Reg reg; } ColumnReg;
// Where a local's value is. A row of a scan that stands on it is read through the plan's cursor.
typedef struct LocalState {
  Reg reg;                 // NO_REGISTER: none yet
  bool at_cursor;
  uint16_t plan;
  uint8_t stage;
  uint32_t query, clause;  // the query (its serial) and clause that bind it; 0: none
  ColumnReg *columns;      // columns that a gathering stage carried
} LocalState;

// A part of a query's conditions that was computed in front of it.
typedef struct Invariant { struct Invariant *outer; const HExpr *expr; Reg reg; } Invariant;
typedef struct HoistedConst { uint32_t constant; Reg reg; } HoistedConst;
typedef struct FreeRun { Reg base; uint16_t count; uint32_t hash; } FreeRun;
typedef struct LinePlace { uint32_t start, end, line; uint16_t file; } LinePlace;  // the places of one line
// What a `return` must end on its way out.
typedef enum CleanupKind { CLEANUP_QUERY, CLEANUP_CATCH, CLEANUP_AS } CleanupKind;
typedef struct Cleanup { struct Cleanup *outer; CleanupKind kind; uint16_t plan; } Cleanup;
enum { HOISTED_MAX = 128 };

typedef struct Emit {
  HProgram *program;
  DiagList *diags;
  Arena *arena;
  Arena scratch;
  const Schema *schema;
  const TypeTable *types;
  TypeId type_bool, type_int, type_text;
  Err failed;
  uint32_t *constant_slots, constant_slot_count;  // a hash table of constants: 1 + index
  LinePlace last_line;
  uint32_t **line_starts;                         // by source, made when first asked for
  uint8_t *costs;                                 // CostClass, by function
  // the function in work
  HFunction *function;
  bool limit_told;
  Segment *segments;
  uint32_t segment_count, segment_cap, segment;   // segment: the one that is written
  uint32_t loop_depth;                            // in a loop or block: constants are hoisted
  Span span;                                      // the place of what is lowered, for the line table
  TypeId *reg_types;
  uint32_t *reg_next;                             // the next free register of the type, or whether a local's (REG_LOCAL)
  uint32_t reg_count;
  Reg *free_by_type;
  TypeId *touched;                                // types with an entry in free_by_type
  uint32_t touched_count;
  FreeRun *free_runs;
  uint32_t free_run_count, free_run_cap;
  LocalState *locals;
  HoistedConst hoisted[HOISTED_MAX];
  uint32_t hoisted_count;
  Plan *plans;
  uint32_t plan_count, plan_cap;
  uint32_t query_serial;
  Reg position;                                   // the counter of position() in the innermost query
  Cleanup *cleanup;
  Invariant *invariants;                          // of the queries around what is lowered
  uint32_t decisions;                             // of decide.c, around what is lowered
  CostClass cost;
  uint32_t warned_place;                          // of the last W304: the same query may be lowered twice
} Emit;

// ---- code.c: registers, instructions, jumps ---------------------------------------------------
bool code_begin_function(Emit *e, HFunction *function);
bool code_end_function(Emit *e, Function *out_function);
void code_free(Emit *e);
void code_limit(Emit *e, Span span, const char *what, uint32_t most);  // E026, once a function
Reg reg_temp(Emit *e, TypeId type);
void reg_free(Emit *e, Reg reg);
Reg reg_fixed(Emit *e, TypeId type);             // never given back
bool reg_is_fixed(const Emit *e, Reg reg);
Reg run_take(Emit *e, const TypeId *types, uint32_t count);
void run_free(Emit *e, Reg base, uint32_t count);
Reg local_reg(Emit *e, LocalId local);
static inline void operand_free(Emit *e, Operand operand) { if (operand.temp) reg_free(e, operand.reg); }

void code_op(Emit *e, Opcode op, Reg a, uint16_t b, uint16_t c);
void code_op_x(Emit *e, Opcode op, uint8_t x, Reg a, uint32_t bc);   // bc: b in the lower half, c in the upper
void code_wide(Emit *e, Opcode op, Reg a, uint32_t k);
void code_jump(Emit *e, Opcode op, Reg a, Label *label);
void code_bind(Emit *e, Label *label);
bool code_ended(const Emit *e);                  // nothing can come here: the last instruction leaves and no jump ends here
uint16_t code_block_begin(Emit *e);
void code_block_end(Emit *e, uint32_t outer_segment);
uint32_t const_index(Emit *e, TypeId type, Value value);
uint32_t place_line(Emit *e, uint32_t place, uint16_t *out_file);
