// The checked program: what compiler/check makes of the syntax tree and compiler/emit makes a module of. Every name is
// resolved, every expression has a type, every conversion is written out, every default is filled in, and whatever the
// language offers in several ways stands here in one. Nothing in it can be wrong any more: errors were reported before.
//
//   check:  Ast -> HProgram      (names, types, effects, schema, access, hints)
//   emit:   HProgram -> Module   (plans, registers, code), written by module_write
//
// Types are those of the module: `HProgram.module.schema.types` is filled by check and only read by emit.
//
// Owns:   everything is in the arena of the compile.
// Thread: one at a time.
// Limits: those of module.h and function.h; check reports what goes past them, emit only registers and code size.
#pragma once
#include "compiler/diag.h"
#include "compiler/source.h"
#include "runtime/module/module.h"

typedef struct HExpr HExpr;
typedef struct HStmt HStmt;
typedef struct HQuery HQuery;
typedef struct HFunction HFunction;
typedef struct HExprs { uint32_t count; HExpr **items; } HExprs;
typedef struct HStmts { uint32_t count; HStmt *items; } HStmts;

// A local of a function: parameters first. Rows of queries, `with` values, group keys and aggregates are locals too.
typedef uint32_t LocalId;  // index into HFunction.locals
typedef struct HLocal { Str name; TypeId type; Span span; } HLocal;

typedef enum HExprKind {
  H_CONST,        // value
  H_LOCAL,        // local
  H_STATE,        // column of the state table
  H_ARITH,        // op, a, b: both of the type that the instruction needs (MUL of decimals: scales add up; DIV only int, float, duration)
  H_NEG,          // a
  H_COMPARE,      // op, a, b of one type
  H_AND, H_OR,    // a, b: b is evaluated only when it matters
  H_NOT,          // a
  H_CONVERT,      // convert, a
  H_OPEN,         // a: an optional known to hold something here
  H_HAS,          // a: an optional; is it not none?
  H_IF,           // a, b, c: if a then b else c
  H_IF_SOME,      // local, a, b, c: if a holds something, b with it in `local`, else c.  `x ?? y` and `x?.f` are this too
  H_MATCH,        // a, arms; covers everything
  H_CALL,         // function, args (all parameters)
  H_BUILTIN,      // builtin, args (all parameters)
  H_DIVIDE,       // a / b (decimals or ints as decimals), at the scale of `type`, half even; b zero is a fault
  H_ROUND,        // a at the scale of `type`, `rounding`
  H_TEXT,         // args: texts to join
  H_RECORD,       // args: the fields in order
  H_FIELD,        // a, index
  H_VARIANT,      // index: the case, args: its fields (of a plain enum: an H_CONST)
  H_LIST,         // args
  H_SET,          // a: a list
  H_MAP,          // args: key, value, key, value
  H_JOIN,         // a + b of lists
  H_RANGE,        // [a, … b]
  H_ITEM,         // a[b] of a list -> optional
  H_LOOKUP,       // a[b] of a map -> optional
  H_COUNT,        // a: list, set or map
  H_IN,           // a in b (list, set or keys of a map)
  H_FIND,         // table, a: its key -> optional reference
  H_FIND_UNIQUE,  // table, index, args: values of the index's columns -> optional reference
  H_COLUMN,       // a: a reference, index: the column. Faults when the row is gone
  H_INSERT,       // table, args: one a column (an auto key's is NULL) -> reference
  H_QUERY,        // query -> list of its select
  H_AGGREGATE,    // aggregate, query: over its select; the type says whether it may be none. COUNT needs no select
  H_NOW, H_CALLER, H_NEW_UUID,
  H_CALLER_IS,    // index: the role
  H_RANDOM,       // a, b
  H_GIVEN,        // index: the parameter
  H_POSITION,     // the number of the query's frame, from 1 (in a select)
  H_CALL_ENTRY,   // tests: index: the entry, args, given (bits); type TYPE_NONE when it has no result
  H_SENT,         // tests: index: the output -> list of records
  H_ISSUE_TOKEN,  // args: subject, roles (an int of bits), lasts -> text
  H_KINDS
} HExprKind;

typedef enum HOp { HOP_ADD, HOP_SUB, HOP_MUL, HOP_DIV, HOP_MOD, HOP_EQ, HOP_NE, HOP_LT, HOP_LE, HOP_GT, HOP_GE } HOp;
typedef enum HConvert {
  CONVERT_SOME,            // T -> T?
  CONVERT_INT_TO_DECIMAL, CONVERT_SCALE,  // to a larger or equal scale
  CONVERT_FIT,             // a decimal that is stored, passed or returned must fit 64 bits
  CONVERT_INT_TO_FLOAT,
  CONVERT_TO_TEXT,
  CONVERT_TO_KEY, CONVERT_TO_REF,         // a reference and its key
  CONVERT_ENUM_TO_INT,
} HConvert;

// Patterns of one arm are alternatives. `value` of HPAT_VALUE is compared for equality.
typedef enum HPatKind { HPAT_ANY, HPAT_CASE, HPAT_NONE, HPAT_SOME, HPAT_VALUE } HPatKind;
typedef struct HPattern { HPatKind kind; uint16_t tag; uint32_t bind_count; const LocalId *binds; HExpr *value; } HPattern;  // binds: fields of the case (NO_LOCAL: not wanted), or what is in SOME
static const LocalId NO_LOCAL = 0xFFFFFFFF;
typedef struct HArm { uint32_t pattern_count; HPattern *patterns; HExpr *value; HStmts body; } HArm;  // value in H_MATCH, body in HS_MATCH
typedef struct HArms { uint32_t count; HArm *items; } HArms;

struct HExpr {
  uint8_t kind, op;                    // op: HOp, HConvert, DecimalRounding or AggregateKind, as the kind says
  TypeId type;
  uint16_t table;
  uint32_t index;                      // field, column, case, role, parameter, entry, builtin, index of a table …
  Span span;
  union {
    Value value;
    struct { HExpr *a, *b, *c; LocalId local; };
    struct { HExpr *matched; HArms arms; };
    struct { HExprs args; HFunction *function; uint64_t given; };
    struct { HQuery *query; HExpr *of; };  // H_AGGREGATE: `of` is what is aggregated (NULL for COUNT)
  };
};

// ---- queries ----------------------------------------------------------------------------------
typedef enum HClauseKind {
  HC_ROWS,      // local: a reference to each row of `table`, in key order
  HC_ITEMS,     // local: each item of the list or set `a`
  HC_NUMBERS,   // local: each int from `a` to `b`
  HC_WHERE,     // a
  HC_WITH,      // local = a
  HC_GROUP,     // keys (local = value), aggregates; only these locals are used afterwards
  HC_ORDER,     // keys
  HC_SKIP, HC_TAKE,  // a: does not depend on a frame
} HClauseKind;
typedef struct HKey { LocalId local; HExpr *value; bool descending; } HKey;
typedef struct HAggregate { uint8_t kind; LocalId local; HExpr *value; } HAggregate;  // AggregateKind; the local's type says whether it may be none; value NULL for COUNT
typedef struct HClause {
  HClauseKind kind;
  uint16_t table;
  LocalId local;
  HExpr *a, *b;
  uint32_t key_count, aggregate_count;
  HKey *keys;
  HAggregate *aggregates;
  Span span;
} HClause;
// Clauses in written order, which is the order of execution. `select` is never NULL (a query without one selects its last row name).
struct HQuery { uint32_t clause_count; HClause *clauses; HExpr *select; Span span; bool accepts_scan; };

// ---- statements -------------------------------------------------------------------------------
typedef enum HStmtKind {
  HS_EXPR,            // a, its value dropped
  HS_SET,             // local = a  (let, var and assignment; a `let` in a loop is set anew each time)
  HS_SET_STATE,       // index: the column = a
  HS_SET_COLUMN,      // b: a reference, index: the column, = a
  HS_IF,              // a, body, other
  HS_IF_SOME,         // local, a, body, other
  HS_FOR,             // query (its select is not used), body. Set and order of the frames are fixed when it starts; columns read in the body are current; rows deleted meanwhile are skipped
  HS_MATCH,           // a, arms
  HS_RETURN,          // a or NULL
  HS_REJECT,          // index: the error, a: the message (text), args: its parameters
  HS_DELETE,          // a
  HS_SEND,            // index: the output, args
  HS_EXPECT,          // a: bool; b: a text that says both sides, evaluated only when a is false
  HS_EXPECT_REJECT,   // body: must reject; index: with this error (BuiltinError or the app's), or 0xFFFF: any; b: the text when it does not
  HS_ADVANCE,         // a
  HS_AS,              // a: the caller, value: bits of roles; body
} HStmtKind;
struct HStmt {
  HStmtKind kind;
  uint32_t index;
  LocalId local;
  HExpr *a, *b;
  HQuery *query;
  HExprs args;
  HArms arms;
  HStmts body, other;
  uint64_t roles;
  Span span;
};

struct HFunction {
  Str name;
  uint8_t kind, effects;       // FunctionKind, EFFECT_*
  uint16_t index;              // in the module
  uint32_t param_count, local_count;
  HLocal *locals;
  TypeId result;
  HStmts body;                 // `= value` is one HS_RETURN. Every way through it returns, or falls off the end of a function without a result
  Span span;
};

// `module` has everything but functions, constants' array and hashes; Limits and the like name constants by their index here.
// `functions` are in an order in which each calls only earlier ones; functions[i].index == i.
typedef struct HProgram {
  Module module;
  uint32_t function_count;
  HFunction **functions;
  uint32_t constant_count, constant_cap;
  Constant *constants;
  struct Map *constant_map;    // of hir_constant, which makes it
  Arena *arena;
  const Sources *sources;
} HProgram;

// The index of the constant (found again when it is there already). NO_CONSTANT: no memory.
uint32_t hir_constant(HProgram *program, TypeId type, Value value);
