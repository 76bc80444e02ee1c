// From expressions, queries and statements to code: what the files that lower them ask of one another.
//
//   stmt.c -> expr.c -> query.c (loops around plans) -> stage.c (clauses to stages) -> plan.c (ways to rows);  walk.c is asked by all.
//
// Owns:   all it makes lives in Emit.arena (what the module keeps) or Emit.scratch.
// Thread: that of emit_module.
// Errors: as in code.h: kept in the Emit, or told as diagnostics.
#pragma once
#include "compiler/emit/code.h"

// ---- walk.c: questions about expressions ------------------------------------------------------
typedef enum WalkStep { WALK_INTO, WALK_OVER, WALK_STOP } WalkStep;
typedef struct Walk {
  WalkStep (*expr)(void *context, const HExpr *expr);  // before its parts
  bool (*stmt)(void *context, const HStmt *stmt);      // may be NULL; false stops
  void *context;
} Walk;
bool walk_expr(const Walk *walk, const HExpr *expr);   // false: stopped; NULL is fine
bool walk_clauses(const Walk *walk, const HQuery *query, uint32_t from_clause);  // all from that number on, not the select
bool walk_stmts(const Walk *walk, const HStmts *stmts);
bool expr_is_simple(const Emit *e, const HExpr *expr);      // cannot fail and costs next to nothing
bool expr_can_fail(const HExpr *expr);
bool expr_uses_query(const Emit *e, const HExpr *expr, uint32_t query, uint32_t clause);  // a local bound there by this clause or a later one
bool expr_has_position(const HExpr *expr);
bool stmts_write(const HStmts *stmts, bool *out_deletes);

// ---- plan.c: how rows are found ---------------------------------------------------------------
typedef struct Conjunct { HExpr *expr; uint32_t clause; bool consumed; } Conjunct;
typedef struct Way {
  uint16_t index, equal_count;
  HExpr *equal[SCHEMA_INDEX_COLUMNS_MAX], *low, *high;
  bool low_inclusive, high_inclusive, backward;
  bool ordered;      // gives the order that the query asks for
  bool key_ordered;  // gives rows in key order
  bool point;        // at most one row
  uint32_t used_count;
  uint32_t used[SCHEMA_INDEX_COLUMNS_MAX + 2];  // conjuncts that it makes true
} Way;
typedef struct PlanQuestion {
  const HQuery *query;
  uint32_t serial, clause;          // the HC_ROWS in question
  Conjunct *conjuncts;
  uint32_t conjunct_count;
  const HKey *order;                // the order wanted, or NULL
  uint32_t order_count;
  bool ties_matter, take_follows;   // of the order
  bool need_key_order;              // only key order will do (or `order`)
} PlanQuestion;
uint32_t plan_split_where(Emit *e, const HQuery *query, Conjunct **out_conjuncts);
void plan_choose(Emit *e, const PlanQuestion *question, Way *out_access);
// Words of the index that would help, as `index a, b desc`; empty when none would.
Str plan_suggest_index(Emit *e, const PlanQuestion *question);

// ---- stage.c: a query becomes a plan's stages ------------------------------------------------------
// Who takes the frames: `value` is evaluated for each, or `body` runs for each.
typedef struct Consumer {
  const HExpr *value;
  const HStmts *body;
  bool sensitive;    // the order of the frames matters
  bool gather;       // all frames are fixed before the first is given out, and the body reads columns anew
  bool first_only;   // stops early
  bool any_of_ties;  // an ORDER that was put in for min or max: among equals any will do
} Consumer;
typedef struct Held { struct Held *next; Reg base; uint32_t count; } Held;
typedef struct Frames {
  const HQuery *query;
  Consumer consumer;
  uint32_t serial;
  uint16_t plan;
  Stage *stages;                     // room for two a clause and a few
  uint32_t stage_count, stage_cap, source_count;
  Conjunct *conjuncts;
  uint32_t conjunct_count;
  Invariant *outer_invariants;
  uint32_t invariant_count;
  Reg *cuts;                         // by clause: the numbers of SKIP and TAKE
  uint32_t *pending, pending_count;  // WITH clauses that are not lowered yet: they go into the next block, or the loop
  Held *held;                        // registers that live as long as the query
  LocalId unsorted;                  // a row whose scan is not in key order, or NO_LOCAL
  bool streaming;                    // frames come one by one since the last gathering
  Reg position;                      // what counts the frames for a WITH or the aggregate that asks for position(), or NO_REGISTER
} Frames;
void frames_begin(Emit *e, Frames *frames, const HQuery *query, const Consumer *consumer);  // lowers all stages
void frames_pending(Emit *e, Frames *frames);    // evaluates what WITH clauses left over, in the code that is written now
void frames_aggregate(Emit *e, Frames *frames, AggregateKind kind, Reg dest);  // one more stage
void frames_count(Emit *e, Reg position);        // one more; nothing for NO_REGISTER
void frames_end(Emit *e, Frames *frames);        // stores the plan, gives registers back
void frames_hold(Emit *e, Frames *frames, Reg base, uint32_t count);
bool frames_counted(Emit *e, Frames *frames, const HQuery *query, Reg dest);   // the whole query is one STAGE_COUNT: made so
bool frames_min_in_order(Emit *e, const HQuery *query);  // its last clause, an order, comes from an index
void frames_way(Emit *e, const HQuery *query, Way *out_way);             // how its first rows would be found
bool frames_bind(Emit *e, const HQuery *query, const HExpr *expr);       // does the expression depend on the query's frames?
uint16_t plan_new(Emit *e);

// ---- invariant.c: what is the same for every row, computed once ------------------------------------------
void invariants_begin(Emit *e, Frames *frames);
void invariants_end(Emit *e, const Frames *frames);
const Invariant *invariant_find(const Emit *e, const HExpr *expr);  // NULL: it was not taken out

// ---- decide.c: conditions that are the same for every row ----------------------------------------------
typedef struct Decision { const HExpr *test; HQuery without, with; } Decision;
// `without` is the query when `test` holds, `with` when not. False: nothing would be gained.
bool query_decides(Emit *e, const HQuery *query, Decision *out_decision);

// ---- query.c: the loops that take a plan's frames ---------------------------------------------------
void lower_query_list(Emit *e, const HExpr *expr, Reg dest);
void lower_aggregate(Emit *e, const HExpr *expr, Reg dest);
void lower_find_unique(Emit *e, const HExpr *expr, Reg dest);
void lower_for(Emit *e, const HStmt *stmt);

// ---- expr.c, stmt.c -----------------------------------------------------------------------------
Operand lower_expr(Emit *e, const HExpr *expr);
void lower_into(Emit *e, const HExpr *expr, Reg dest);
void lower_drop(Emit *e, const HExpr *expr);                       // its value is not wanted
void lower_branch(Emit *e, const HExpr *expr, bool sense, Label *label);  // goes to the label if expr == sense
void lower_patterns(Emit *e, const HArm *arm, Operand matched, Operand tag, Label *next_arm);  // shared by both kinds of match
Operand lower_match_tag(Emit *e, const HExpr *matched, const HArms *arms, Operand value);
void lower_stmts(Emit *e, const HStmts *stmts);
