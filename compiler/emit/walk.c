// Questions about expressions and statements, all by one walk over their parts. The walk goes down the first part of an
// expression in a loop, so that a chain of thousands of operators needs no stack.
#include "compiler/emit/lower.h"

typedef enum Shape { SHAPE_LEAF, SHAPE_ONE, SHAPE_TWO, SHAPE_THREE, SHAPE_MATCH, SHAPE_ARGS, SHAPE_QUERY } Shape;
static const uint8_t SHAPES[H_KINDS] = {
  [H_CONST] = SHAPE_LEAF, [H_LOCAL] = SHAPE_LEAF, [H_STATE] = SHAPE_LEAF, [H_ARITH] = SHAPE_TWO, [H_NEG] = SHAPE_ONE, [H_COMPARE] = SHAPE_TWO,
  [H_AND] = SHAPE_TWO, [H_OR] = SHAPE_TWO, [H_NOT] = SHAPE_ONE, [H_CONVERT] = SHAPE_ONE, [H_OPEN] = SHAPE_ONE, [H_HAS] = SHAPE_ONE,
  [H_IF] = SHAPE_THREE, [H_IF_SOME] = SHAPE_THREE, [H_MATCH] = SHAPE_MATCH, [H_CALL] = SHAPE_ARGS, [H_BUILTIN] = SHAPE_ARGS, [H_DIVIDE] = SHAPE_TWO,
  [H_ROUND] = SHAPE_ONE, [H_TEXT] = SHAPE_ARGS, [H_RECORD] = SHAPE_ARGS, [H_FIELD] = SHAPE_ONE, [H_VARIANT] = SHAPE_ARGS, [H_LIST] = SHAPE_ARGS,
  [H_SET] = SHAPE_ONE, [H_MAP] = SHAPE_ARGS, [H_JOIN] = SHAPE_TWO, [H_RANGE] = SHAPE_TWO, [H_ITEM] = SHAPE_TWO, [H_LOOKUP] = SHAPE_TWO,
  [H_COUNT] = SHAPE_ONE, [H_IN] = SHAPE_TWO, [H_FIND] = SHAPE_ONE, [H_FIND_UNIQUE] = SHAPE_ARGS, [H_COLUMN] = SHAPE_ONE, [H_INSERT] = SHAPE_ARGS,
  [H_QUERY] = SHAPE_QUERY, [H_AGGREGATE] = SHAPE_QUERY, [H_NOW] = SHAPE_LEAF, [H_CALLER] = SHAPE_LEAF, [H_NEW_UUID] = SHAPE_LEAF,
  [H_CALLER_IS] = SHAPE_LEAF, [H_RANDOM] = SHAPE_TWO, [H_GIVEN] = SHAPE_LEAF, [H_POSITION] = SHAPE_LEAF, [H_CALL_ENTRY] = SHAPE_ARGS, [H_SENT] = SHAPE_LEAF,
  [H_ISSUE_TOKEN] = SHAPE_ARGS,
};

static bool walk_exprs(const Walk *walk, const HExprs *exprs) {
  for (uint32_t i = 0; i < exprs->count; i++)
    if (!walk_expr(walk, exprs->items[i])) return false;
  return true;
}

static bool walk_arms(const Walk *walk, const HArms *arms) {
  for (uint32_t i = 0; i < arms->count; i++) {
    const HArm *arm = &arms->items[i];
    for (uint32_t j = 0; j < arm->pattern_count; j++)
      if (!walk_expr(walk, arm->patterns[j].value)) return false;
    if (!walk_expr(walk, arm->value) || !walk_stmts(walk, &arm->body)) return false;
  }
  return true;
}

bool walk_expr(const Walk *walk, const HExpr *expr) {
  while (expr) {
    WalkStep step = walk->expr(walk->context, expr);
    if (step != WALK_INTO) return step == WALK_OVER;
    switch ((Shape)SHAPES[expr->kind]) {
      case SHAPE_LEAF: return true;
      case SHAPE_THREE: if (!walk_expr(walk, expr->c)) return false; __attribute__((fallthrough));
      case SHAPE_TWO: if (!walk_expr(walk, expr->b)) return false; __attribute__((fallthrough));
      case SHAPE_ONE: expr = expr->a; break;
      case SHAPE_MATCH: if (!walk_arms(walk, &expr->arms)) return false; expr = expr->matched; break;
      case SHAPE_ARGS: return walk_exprs(walk, &expr->args);
      case SHAPE_QUERY:
        if (!walk_clauses(walk, expr->query, 0)) return false;
        expr = expr->kind == H_AGGREGATE ? expr->of : expr->query->select;
        break;
    }
  }
  return true;
}

bool walk_clauses(const Walk *walk, const HQuery *query, uint32_t from_clause) {
  for (uint32_t i = from_clause; i < query->clause_count; i++) {
    const HClause *clause = &query->clauses[i];
    if (!walk_expr(walk, clause->a) || !walk_expr(walk, clause->b)) return false;
    for (uint32_t j = 0; j < clause->key_count; j++)
      if (!walk_expr(walk, clause->keys[j].value)) return false;
    for (uint32_t j = 0; j < clause->aggregate_count; j++)
      if (!walk_expr(walk, clause->aggregates[j].value)) return false;
  }
  return true;
}

bool walk_stmts(const Walk *walk, const HStmts *stmts) {
  for (uint32_t i = 0; i < stmts->count; i++) {
    const HStmt *stmt = &stmts->items[i];
    if (walk->stmt && !walk->stmt(walk->context, stmt)) return false;
    if (!walk_expr(walk, stmt->a) || !walk_expr(walk, stmt->b) || !walk_exprs(walk, &stmt->args)) return false;
    if (stmt->query && !walk_clauses(walk, stmt->query, 0)) return false;
    if (!walk_arms(walk, &stmt->arms) || !walk_stmts(walk, &stmt->body) || !walk_stmts(walk, &stmt->other)) return false;
  }
  return true;
}

// ---- can it fail, is it simple ------------------------------------------------------------------
static bool kind_can_fail(HExprKind kind) {
  switch (kind) {
    case H_CONST: case H_LOCAL: case H_STATE: case H_COMPARE: case H_AND: case H_OR: case H_NOT: case H_OPEN: case H_HAS: case H_IF: case H_IF_SOME:
    case H_MATCH: case H_TEXT: case H_RECORD: case H_FIELD: case H_VARIANT: case H_LIST: case H_ITEM: case H_LOOKUP: case H_COUNT: case H_IN:
    case H_FIND: case H_FIND_UNIQUE: case H_NOW: case H_CALLER: case H_CALLER_IS: case H_GIVEN: case H_POSITION:
      return false;
    case H_ARITH: case H_NEG: case H_CONVERT: case H_CALL: case H_BUILTIN: case H_DIVIDE: case H_ROUND: case H_SET: case H_MAP: case H_JOIN: case H_RANGE:
    case H_COLUMN: case H_INSERT: case H_QUERY: case H_AGGREGATE: case H_NEW_UUID: case H_RANDOM: case H_CALL_ENTRY: case H_SENT: case H_ISSUE_TOKEN: case H_KINDS:
      return true;
  }
  return true;
}

static WalkStep step_can_fail(void *context, const HExpr *expr) {
  (void)context;
  bool harmless = expr->kind == H_CONVERT && (expr->op == CONVERT_SOME || expr->op == CONVERT_TO_KEY || expr->op == CONVERT_TO_REF || expr->op == CONVERT_INT_TO_DECIMAL);
  return harmless || !kind_can_fail((HExprKind)expr->kind) ? WALK_INTO : WALK_STOP;
}

bool expr_can_fail(const HExpr *expr) { return !walk_expr(&(Walk){.expr = step_can_fail}, expr); }

typedef struct Simple { const Emit *emit; uint32_t parts; } Simple;
enum { SIMPLE_PARTS_MAX = 8 };

static WalkStep step_simple(void *context, const HExpr *expr) {
  Simple *simple = context;
  if (++simple->parts > SIMPLE_PARTS_MAX) return WALK_STOP;
  if (invariant_find(simple->emit, expr)) return WALK_OVER;
  switch (expr->kind) {
    case H_CONST: case H_LOCAL: case H_GIVEN: return WALK_OVER;
    case H_COMPARE: case H_AND: case H_OR: case H_NOT: case H_OPEN: case H_HAS: case H_FIELD: return WALK_INTO;
    case H_COLUMN:  // at a cursor or carried: no look-up
      if (expr->a->kind != H_LOCAL) return WALK_STOP;
      return simple->emit->locals[expr->a->local].at_cursor || simple->emit->locals[expr->a->local].columns ? WALK_OVER : WALK_STOP;
    default: return WALK_STOP;
  }
}

bool expr_is_simple(const Emit *e, const HExpr *expr) { return walk_expr(&(Walk){.expr = step_simple, .context = &(Simple){.emit = e}}, expr); }

// ---- locals of a query, position, writes --------------------------------------------------------
typedef struct UsesQuery { const Emit *emit; uint32_t query, clause; } UsesQuery;

static WalkStep step_uses_query(void *context, const HExpr *expr) {
  const UsesQuery *uses = context;
  if (expr->kind != H_LOCAL) return WALK_INTO;
  const LocalState *local = &uses->emit->locals[expr->local];
  return local->query == uses->query && local->clause >= uses->clause ? WALK_STOP : WALK_OVER;
}

bool expr_uses_query(const Emit *e, const HExpr *expr, uint32_t query, uint32_t clause) {
  return !walk_expr(&(Walk){.expr = step_uses_query, .context = &(UsesQuery){e, query, clause}}, expr);
}

// A query inside has a position of its own.
static WalkStep step_position(void *context, const HExpr *expr) {
  (void)context;
  if (expr->kind == H_QUERY || expr->kind == H_AGGREGATE) return WALK_OVER;
  return expr->kind == H_POSITION ? WALK_STOP : WALK_INTO;
}

bool expr_has_position(const HExpr *expr) { return !walk_expr(&(Walk){.expr = step_position}, expr); }

typedef struct Writes { bool writes, deletes; } Writes;

static WalkStep step_writes(void *context, const HExpr *expr) {
  Writes *writes = context;
  if (expr->kind == H_INSERT) writes->writes = true;
  if (expr->kind == H_CALL_ENTRY || (expr->kind == H_CALL && (expr->function->effects & EFFECT_WRITES))) writes->writes = writes->deletes = true;
  return WALK_INTO;
}

static bool stmt_writes(void *context, const HStmt *stmt) {
  Writes *writes = context;
  switch (stmt->kind) {
    case HS_SET_STATE: case HS_SET_COLUMN: case HS_SEND: writes->writes = true; break;
    case HS_DELETE: case HS_ADVANCE: case HS_EXPECT_REJECT: writes->writes = writes->deletes = true; break;
    case HS_EXPR: case HS_SET: case HS_IF: case HS_IF_SOME: case HS_FOR: case HS_MATCH: case HS_RETURN: case HS_REJECT: case HS_EXPECT: case HS_AS: break;
  }
  return true;
}

bool stmts_write(const HStmts *stmts, bool *out_deletes) {
  Writes writes = {0};
  walk_stmts(&(Walk){step_writes, stmt_writes, &writes}, stmts);
  *out_deletes = writes.deletes;
  return writes.writes;
}
