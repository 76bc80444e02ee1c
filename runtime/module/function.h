// A function of a module: typed registers, instructions, and the plans of its queries.
//
// Registers have one fixed type for the whole function and start at that type's zero; the first `param_count` hold the
// arguments. So a verified function needs no type check at run time.
//
// A *plan* is a pipeline of stages that maps frames to frames; a frame is the function's own registers plus the cursors of
// the plan's scans. Where a stage needs an expression it names a *block*: a run of the function's instructions that ends in
// BLOCK_END, works on the same registers, and is run by the machine when the query asks for it (see runtime/query/query.h).
// Code never jumps into or out of a block.
//
// Owns:   nothing; all stands in the module's memory.
// Thread: any, read only.
// Limits: FUNCTION_*_MAX, PLAN_*_MAX.
#pragma once
#include "runtime/base/str.h"
#include "runtime/value/type.h"

enum {
  FUNCTION_REGISTERS_MAX = 4096, FUNCTION_CODE_MAX = 1 << 20, FUNCTION_COUNT_MAX = 65000, FUNCTION_PLANS_MAX = 1024,
  FUNCTION_BLOCKS_MAX = 8192, PLAN_STAGES_MAX = 64, PLAN_KEYS_MAX = 16, PLAN_CARRIED_MAX = 256, PLAN_AGGREGATES_MAX = 64,
  CALL_DEPTH_MAX = 200,            // frames on the stack at once; calls are acyclic, so the verifier knows
};

typedef enum Opcode {
#define OP(name, fuel, a, b, c, rule, words) OP_##name,
#include "runtime/module/opcodes.def"
#undef OP
  OP_COUNT_
} Opcode;

typedef struct Instruction {
  uint8_t op, x;
  uint16_t a;
  union {
    struct { uint16_t b, c; };
    uint32_t k;   // wide: constants and code positions
    int32_t w;    // wide: a signed number
  };
} Instruction;
_Static_assert(sizeof(Instruction) == 8, "the module format stores instructions as they are");

typedef struct Block { uint32_t start, end; } Block;  // [start, end): the last instruction is BLOCK_END
static const uint16_t NO_BLOCK = 0xFFFF, NO_REGISTER = 0xFFFF;

typedef enum AggregateKind {
  AGGREGATE_COUNT, AGGREGATE_COUNT_IF, AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX, AGGREGATE_AVG, AGGREGATE_FIRST, AGGREGATE_LAST,
  AGGREGATE_LIST, AGGREGATE_DISTINCT, AGGREGATE_ANY, AGGREGATE_ALL, AGGREGATE_KINDS
} AggregateKind;
// `from` is read once a frame (NO_REGISTER for COUNT); `to` is written when the group is given out. Types: COUNT and
// COUNT_IF int; SUM, MIN, MAX, FIRST, LAST: `to` is from's type T, or T? (none over nothing); AVG: a decimal of any scale for
// int and decimal, float for int and float, duration for duration, or their optionals; LIST and DISTINCT: [T]; ANY and ALL: bool.
// Where from is of T?, all of them pass over what is none.
typedef struct Aggregate { uint8_t kind; uint16_t from, to; } Aggregate;

typedef enum StageKind {
  STAGE_SCAN,       // rows of a table or index range; opened anew for each frame that reaches it
  STAGE_LIST,       // items of the list or set in `from`, one after the other into `to`; likewise
  STAGE_NUMBERS,    // the ints from register `from` to register `from + 1`, into `to`; likewise
  STAGE_FILTER,     // frames where the bool register `from` is true after the block
  STAGE_EVAL,       // runs the block, lets every frame pass
  STAGE_SKIP,       // drops the first n frames; n is the int register `from`, computed by the block once, when the query opens
  STAGE_TAKE,       // lets the first n pass; likewise
  STAGE_ORDER,      // gathers all frames, sorts them by `keys` (stable), gives them out with keys and `carried` restored; no keys: only gathers
  STAGE_GROUP,      // gathers by `keys`, gives out one frame a group in key order: keys and the aggregates' `to`
  STAGE_AGGREGATE,  // one frame, always, when the input is at its end
  STAGE_COUNT,      // one frame: register `to` = the number of rows in the range, from kept counts; the first stage if there
  STAGE_KINDS
} StageKind;

enum { SCAN_HAS_LOW = 1, SCAN_HAS_HIGH = 2, SCAN_LOW_INCLUSIVE = 4, SCAN_HIGH_INCLUSIVE = 8, SCAN_BACKWARD = 16 };

// `block` runs before a SCAN, LIST, NUMBERS or COUNT opens (it computes the bounds), and once for each frame in FILTER, EVAL, ORDER,
// GROUP and AGGREGATE. SCAN and COUNT: the range's equal values stand in registers from `from` on (`equal_count` of them, typed as the
// leading columns), then low and high where the flags have them (both columns' own type).  `to`: the row's reference, or NO_REGISTER.
typedef struct Stage {
  uint8_t kind, flags;
  uint16_t block, from, to;
  uint16_t table, index, equal_count;             // SCAN, COUNT; index SCHEMA_NO_INDEX: the table in key order
  uint16_t key_count, carried_count, aggregate_count;
  const uint16_t *keys;                           // registers
  const uint8_t *descending;                      // of ORDER, one a key
  const uint16_t *carried;                        // registers
  const Aggregate *aggregates;
} Stage;
typedef struct Plan { uint16_t stage_count; const Stage *stages; } Plan;

typedef enum FunctionKind {
  FUNCTION_FN, FUNCTION_VIEW, FUNCTION_INPUT, FUNCTION_ACTION, FUNCTION_DEFAULT, FUNCTION_COMPUTED, FUNCTION_CHECK, FUNCTION_ALWAYS,
  FUNCTION_ROLE, FUNCTION_TIMER, FUNCTION_START, FUNCTION_MIGRATE, FUNCTION_TEST, FUNCTION_KINDS
} FunctionKind;
enum { EFFECT_WRITES = 1, EFFECT_NOW = 2, EFFECT_RANDOM = 4, EFFECT_CALLER = 8, EFFECT_TEST = 16 };  // of a function and all it calls

typedef struct LineEntry { uint32_t pc, line; uint16_t file; } LineEntry;  // from pc on; ascending

typedef struct Function {
  Str name;
  uint8_t kind, effects;
  uint16_t param_count, register_count;
  const TypeId *registers;
  TypeId result;                    // TYPE_NONE: none
  uint32_t code_count;
  const Instruction *code;
  uint16_t block_count, plan_count;
  const Block *blocks;              // ascending, disjoint or nested never: a block holds no other
  const Plan *plans;
  uint32_t line_count;
  const LineEntry *lines;
  uint16_t depth;                   // frames it needs at most, itself included; computed by the verifier
  uint32_t stack_registers;         // registers of those frames together; likewise
} Function;
