// Statements, tests included.
#include <assert.h>

#include "compiler/emit/lower.h"

// ---- runs of statement arguments ------------------------------------------------------------------
typedef struct StmtRun { Reg base; uint32_t count; } StmtRun;

// `first` (may be NULL) and the statement's arguments in neighbouring registers.
static StmtRun lower_args(Emit *e, const HExpr *first, const HExprs *args) {
  uint32_t extra = first ? 1 : 0, count = args->count + extra;
  TypeId *types = ARENA_ARRAY(&e->scratch, TypeId, count);
  if (!types) {
    if (e->failed == ERR_NONE) e->failed = ERR_MEMORY;
    return (StmtRun){0};
  }
  if (first) types[0] = first->type;
  for (uint32_t i = 0; i < args->count; i++) types[i + extra] = args->items[i]->type;
  StmtRun run = {run_take(e, types, count), count};
  if (e->limit_told) return run;
  if (first) lower_into(e, first, run.base);
  for (uint32_t i = 0; i < args->count; i++) lower_into(e, args->items[i], (Reg)(run.base + extra + i));
  return run;
}

static void lower_reject(Emit *e, const HStmt *stmt) {
  StmtRun run = lower_args(e, stmt->a, &stmt->args);
  code_op(e, OP_REJECT, (uint16_t)stmt->index, run.base, 0);
  run_free(e, run.base, run.count);
}

static void lower_send(Emit *e, const HStmt *stmt) {
  StmtRun run = lower_args(e, NULL, &stmt->args);
  code_op(e, OP_SEND, 0, (uint16_t)stmt->index, run.base);
  run_free(e, run.base, run.count);
}

// ---- choices ----------------------------------------------------------------------------------------
static void lower_if_stmt(Emit *e, const HStmt *stmt) {
  Label end = {0};
  for (;;) {  // else if …
    Label other = {0};
    e->span = stmt->span;
    lower_branch(e, stmt->a, false, &other);
    lower_stmts(e, &stmt->body);
    bool more = stmt->other.count > 0;
    if (more && !code_ended(e)) code_jump(e, OP_JUMP, 0, &end);
    code_bind(e, &other);
    if (!more || stmt->other.count != 1 || stmt->other.items[0].kind != HS_IF) break;
    stmt = &stmt->other.items[0];
  }
  lower_stmts(e, &stmt->other);
  code_bind(e, &end);
}

static void lower_if_some_stmt(Emit *e, const HStmt *stmt) {
  Label none = {0}, end = {0};
  Operand value = lower_expr(e, stmt->a);
  code_jump(e, OP_JUMP_NONE, value.reg, &none);
  if (stmt->local != NO_LOCAL) code_op(e, OP_OPEN, local_reg(e, stmt->local), value.reg, 0);
  operand_free(e, value);
  lower_stmts(e, &stmt->body);
  if (stmt->other.count && !code_ended(e)) code_jump(e, OP_JUMP, 0, &end);
  code_bind(e, &none);
  lower_stmts(e, &stmt->other);
  code_bind(e, &end);
}

static void lower_match_stmt(Emit *e, const HStmt *stmt) {
  Operand matched = lower_expr(e, stmt->a), tag = lower_match_tag(e, stmt->a, &stmt->arms, matched);
  Label end = {0};
  for (uint32_t i = 0; i < stmt->arms.count; i++) {
    Label next_arm = {0};
    e->span = stmt->span;
    lower_patterns(e, &stmt->arms.items[i], matched, tag, &next_arm);
    lower_stmts(e, &stmt->arms.items[i].body);
    if (i + 1 < stmt->arms.count && !code_ended(e)) code_jump(e, OP_JUMP, 0, &end);
    code_bind(e, &next_arm);
  }
  code_bind(e, &end);
  operand_free(e, matched);
  operand_free(e, tag);
}

// ---- leaving ------------------------------------------------------------------------------------------
static void lower_return(Emit *e, const HStmt *stmt) {
  Operand value = {0};
  if (stmt->a) value = lower_expr(e, stmt->a);
  for (const Cleanup *at = e->cleanup; at; at = at->outer) {
    switch (at->kind) {
      case CLEANUP_QUERY: code_op(e, OP_QUERY_CLOSE, at->plan, 0, 0); break;
      case CLEANUP_CATCH: code_op(e, OP_CATCH_END, 0, 0, 0); break;
      case CLEANUP_AS: code_op(e, OP_AS_END, 0, 0, 0); break;
    }
  }
  if (stmt->a) code_op(e, OP_RETURN, value.reg, 0, 0);
  else code_op(e, OP_RETURN_VOID, 0, 0, 0);
  operand_free(e, value);
}

// ---- changes --------------------------------------------------------------------------------------------
static void lower_set_state(Emit *e, const HStmt *stmt) {
  Operand value = lower_expr(e, stmt->a);
  if (e->cost < COST_POINT) e->cost = COST_POINT;
  code_op(e, OP_STATE_SET, value.reg, (uint16_t)stmt->index, 0);
  operand_free(e, value);
}

static void lower_set_column(Emit *e, const HStmt *stmt) {
  Operand row = lower_expr(e, stmt->b), value = lower_expr(e, stmt->a);
  if (e->cost < COST_POINT) e->cost = COST_POINT;
  code_op(e, OP_COLUMN_SET, value.reg, row.reg, (uint16_t)stmt->index);
  operand_free(e, value);
  operand_free(e, row);
}

static void lower_delete(Emit *e, const HStmt *stmt) {
  Operand row = lower_expr(e, stmt->a);
  if (e->cost < COST_POINT) e->cost = COST_POINT;
  code_op(e, OP_DELETE, row.reg, 0, 0);
  operand_free(e, row);
}

// ---- tests ------------------------------------------------------------------------------------------------
static void fail_with(Emit *e, const HExpr *words) {
  Operand text = lower_expr(e, words);
  code_op(e, OP_EXPECT_FAILED, text.reg, 0, 0);
  operand_free(e, text);
}

static void lower_expect(Emit *e, const HStmt *stmt) {
  Label holds = {0};
  lower_branch(e, stmt->a, true, &holds);
  e->span = stmt->span;
  fail_with(e, stmt->b);
  code_bind(e, &holds);
}

//         CATCH error, caught
//         … the body …
//         CATCH_END
//         JUMP fail
// caught: is it the error that is expected? JUMP_IF fine
// fail:   EXPECT_FAILED
// fine:
static void lower_expect_reject(Emit *e, const HStmt *stmt) {
  Label caught = {0}, fail = {0}, fine = {0};
  Reg error = reg_temp(e, e->type_int);
  code_jump(e, OP_CATCH, error, &caught);
  Cleanup cleanup = {e->cleanup, CLEANUP_CATCH, 0};
  e->cleanup = &cleanup;
  lower_stmts(e, &stmt->body);
  e->cleanup = cleanup.outer;
  e->span = stmt->span;
  code_op(e, OP_CATCH_END, 0, 0, 0);
  code_jump(e, OP_JUMP, 0, &fail);
  code_bind(e, &caught);
  if (stmt->index == 0xFFFF) {
    code_jump(e, OP_JUMP, 0, &fine);
  } else {
    Reg wanted = reg_temp(e, e->type_int), same = reg_temp(e, e->type_bool);
    code_wide(e, OP_INT, wanted, stmt->index);
    code_op(e, OP_EQ_I, same, error, wanted);
    code_jump(e, OP_JUMP_IF, same, &fine);
    reg_free(e, wanted);
    reg_free(e, same);
  }
  reg_free(e, error);
  code_bind(e, &fail);
  fail_with(e, stmt->b);
  code_bind(e, &fine);
}

static void lower_as(Emit *e, const HStmt *stmt) {
  Operand caller = lower_expr(e, stmt->a);
  code_wide(e, OP_AS_BEGIN, caller.reg, const_index(e, e->type_int, (Value){.i = (int64_t)stmt->roles}));
  operand_free(e, caller);
  Cleanup cleanup = {e->cleanup, CLEANUP_AS, 0};
  e->cleanup = &cleanup;
  lower_stmts(e, &stmt->body);
  e->cleanup = cleanup.outer;
  code_op(e, OP_AS_END, 0, 0, 0);
}

static void lower_advance(Emit *e, const HStmt *stmt) {
  Operand by = lower_expr(e, stmt->a);
  code_op(e, OP_ADVANCE, by.reg, 0, 0);
  operand_free(e, by);
}

// ---- every kind -----------------------------------------------------------------------------------------------
static void lower_stmt(Emit *e, const HStmt *stmt) {
  switch (stmt->kind) {
    case HS_EXPR: lower_drop(e, stmt->a); return;
    case HS_SET: lower_into(e, stmt->a, local_reg(e, stmt->local)); return;
    case HS_SET_STATE: lower_set_state(e, stmt); return;
    case HS_SET_COLUMN: lower_set_column(e, stmt); return;
    case HS_IF: lower_if_stmt(e, stmt); return;
    case HS_IF_SOME: lower_if_some_stmt(e, stmt); return;
    case HS_FOR: lower_for(e, stmt); return;
    case HS_MATCH: lower_match_stmt(e, stmt); return;
    case HS_RETURN: lower_return(e, stmt); return;
    case HS_REJECT: lower_reject(e, stmt); return;
    case HS_DELETE: lower_delete(e, stmt); return;
    case HS_SEND: lower_send(e, stmt); return;
    case HS_EXPECT: lower_expect(e, stmt); return;
    case HS_EXPECT_REJECT: lower_expect_reject(e, stmt); return;
    case HS_ADVANCE: lower_advance(e, stmt); return;
    case HS_AS: lower_as(e, stmt); return;
  }
  assert(!"every kind of statement stands above");
}

void lower_stmts(Emit *e, const HStmts *stmts) {
  for (uint32_t i = 0; i < stmts->count && e->failed == ERR_NONE && !e->limit_told; i++) {
    const HStmt *stmt = &stmts->items[i];
    if (!span_is_none(stmt->span)) e->span = stmt->span;
    lower_stmt(e, stmt);
  }
}
