// The loops around a plan: what the frames of a query are made into. All have one shape:
//
//         QUERY_OPEN plan
//   next: QUERY_NEXT plan, end
//         … the frame …
//         JUMP next
//   end:
//
// Aggregates that need every frame are a stage of the plan; those that may stop early (first, any, all) are loops here.
#include <assert.h>

#include "compiler/emit/lower.h"

// A query in work, with what must be put back behind it.
typedef struct Loop { Frames *frames; Reg outer_position, position; Label next, end; Cleanup cleanup; } Loop;

static bool loop_begin(Emit *e, Loop *loop, const HQuery *query, const Consumer *consumer) {
  *loop = (Loop){.frames = ARENA_NEW(&e->scratch, Frames), .outer_position = e->position, .position = NO_REGISTER};
  if (!loop->frames) {
    if (e->failed == ERR_NONE) e->failed = ERR_MEMORY;
    return false;
  }
  if (consumer->value && expr_has_position(consumer->value)) loop->position = reg_temp(e, e->type_int);
  e->position = NO_REGISTER;
  frames_begin(e, loop->frames, query, consumer);
  e->position = loop->position;
  return e->failed == ERR_NONE;
}

static void loop_open(Emit *e, Loop *loop) {
  if (loop->position != NO_REGISTER) code_wide(e, OP_INT, loop->position, 0);
  code_op(e, OP_QUERY_OPEN, loop->frames->plan, 0, 0);
}

static void loop_next(Emit *e, Loop *loop) {
  code_bind(e, &loop->next);
  code_jump(e, OP_QUERY_NEXT, loop->frames->plan, &loop->end);
  e->loop_depth++;
  frames_pending(e, loop->frames);
  frames_count(e, loop->position);
}

static void loop_close(Emit *e, Loop *loop) {
  e->loop_depth--;
  code_bind(e, &loop->end);
}

static void loop_finish(Emit *e, Loop *loop) {
  frames_end(e, loop->frames);
  if (loop->position != NO_REGISTER) reg_free(e, loop->position);
  e->position = loop->outer_position;
}

// ---- lists ------------------------------------------------------------------------------------------
static void list_frames(Emit *e, const HQuery *query, const HExpr *value, Reg dest) {
  Loop loop;
  if (!loop_begin(e, &loop, query, &(Consumer){.value = value, .sensitive = true})) return;
  code_op(e, OP_ZERO, dest, 0, 0);
  loop_open(e, &loop);
  loop_next(e, &loop);
  Operand item = lower_expr(e, value);
  code_op(e, OP_LIST_PUSH, dest, item.reg, 0);
  operand_free(e, item);
  code_jump(e, OP_JUMP, 0, &loop.next);
  loop_close(e, &loop);
  loop_finish(e, &loop);
}

// Lowers an expression over a query once for each of the two queries that it is decided between.
static bool lower_decided(Emit *e, const HExpr *expr, void (*lower)(Emit *e, const HExpr *expr, Reg dest), Reg dest) {
  Decision *decision = ARENA_NEW(&e->scratch, Decision);
  if (!decision || !query_decides(e, expr->query, decision)) return false;
  HExpr one = *expr, other = *expr;
  Label with = {0}, end = {0};
  one.query = &decision->without;
  other.query = &decision->with;
  e->decisions++;
  lower_branch(e, decision->test, false, &with);
  lower(e, &one, dest);
  code_jump(e, OP_JUMP, 0, &end);
  code_bind(e, &with);
  lower(e, &other, dest);
  code_bind(e, &end);
  e->decisions--;
  return true;
}

void lower_query_list(Emit *e, const HExpr *expr, Reg dest) {
  if (!lower_decided(e, expr, lower_query_list, dest)) list_frames(e, expr->query, expr->query->select, dest);
}

// ---- aggregates that stop early -----------------------------------------------------------------------
// The first value there is; values that are none are passed over.
static void first_frame(Emit *e, const HQuery *query, const Consumer *consumer, const HExpr *expr, Reg dest) {
  Loop loop;
  if (!loop_begin(e, &loop, query, consumer)) return;
  Label none = {0};
  loop_open(e, &loop);
  loop_next(e, &loop);
  Operand value = lower_expr(e, consumer->value);
  bool optional = type_kind(e->types, consumer->value->type) == TYPE_OPTIONAL;
  if (optional) code_jump(e, OP_JUMP_NONE, value.reg, &loop.next);
  code_op(e, consumer->value->type == expr->type ? OP_MOVE : OP_SOME, dest, value.reg, 0);
  operand_free(e, value);
  code_op(e, OP_QUERY_CLOSE, loop.frames->plan, 0, 0);
  code_jump(e, OP_JUMP, 0, &none);
  loop_close(e, &loop);
  code_op(e, OP_ZERO, dest, 0, 0);
  code_bind(e, &none);
  loop_finish(e, &loop);
}

// any: is one true? all: is none false? Without a value: is there a frame?
static void test_frames(Emit *e, const HExpr *expr, bool any, Reg dest) {
  Loop loop;
  if (!loop_begin(e, &loop, expr->query, &(Consumer){.value = expr->of, .first_only = !expr->of})) return;
  code_op(e, OP_BOOL, dest, !any, 0);
  loop_open(e, &loop);
  loop_next(e, &loop);
  if (expr->of) lower_branch(e, expr->of, !any, &loop.next);
  code_op(e, OP_BOOL, dest, any, 0);
  code_op(e, OP_QUERY_CLOSE, loop.frames->plan, 0, 0);
  loop_close(e, &loop);
  loop_finish(e, &loop);
}

// ---- aggregates over everything -------------------------------------------------------------------------
static void stage_aggregate(Emit *e, const HExpr *expr, Reg dest) {
  AggregateKind kind = (AggregateKind)expr->op;
  bool adds_floats = (kind == AGGREGATE_SUM || kind == AGGREGATE_AVG) && type_kind(e->types, expr->of->type) == TYPE_FLOAT;
  bool sensitive = kind == AGGREGATE_LAST || kind == AGGREGATE_DISTINCT || adds_floats || (expr->of && expr_has_position(expr->of));
  Loop loop;
  if (!loop_begin(e, &loop, expr->query, &(Consumer){.value = expr->of, .sensitive = sensitive})) return;
  loop.frames->position = loop.position;
  frames_aggregate(e, loop.frames, kind, dest);
  loop_open(e, &loop);
  code_jump(e, OP_QUERY_NEXT, loop.frames->plan, &loop.end);
  code_op(e, OP_QUERY_CLOSE, loop.frames->plan, 0, 0);
  code_bind(e, &loop.end);
  loop_finish(e, &loop);
}

static bool count_range(Emit *e, const HExpr *expr, Reg dest) {
  Frames *frames = ARENA_NEW(&e->scratch, Frames);
  if (!frames || !frames_counted(e, frames, expr->query, dest)) return false;
  Label end = {0};
  code_op(e, OP_QUERY_OPEN, frames->plan, 0, 0);
  code_jump(e, OP_QUERY_NEXT, frames->plan, &end);
  code_op(e, OP_QUERY_CLOSE, frames->plan, 0, 0);
  code_bind(e, &end);
  frames_end(e, frames);
  return true;
}

// min and max are the first value in the right order, when an index has that order.
static bool extreme_first(Emit *e, const HExpr *expr, Reg dest) {
  TypeId value_type = expr->of->type;
  if (type_kind(e->types, expr->type) != TYPE_OPTIONAL || expr->of->kind != H_COLUMN) return false;
  if (value_type != expr->type && e->types->types[expr->type].of != value_type) return false;
  uint32_t count = expr->query->clause_count;
  HQuery *ordered = ARENA_NEW(&e->scratch, HQuery);
  HClause *clauses = ARENA_ARRAY(&e->scratch, HClause, count + 1);
  HKey *key = ARENA_NEW(&e->scratch, HKey);
  if (!ordered || !clauses || !key) return false;
  memcpy(clauses, expr->query->clauses, count * sizeof *clauses);
  *key = (HKey){.local = NO_LOCAL, .value = expr->of, .descending = expr->op == AGGREGATE_MAX};
  clauses[count] = (HClause){.kind = HC_ORDER, .key_count = 1, .keys = key, .span = expr->span};
  *ordered = *expr->query;
  ordered->clauses = clauses;
  ordered->clause_count = count + 1;
  for (uint32_t i = 0; i < count; i++)
    if (clauses[i].kind == HC_ORDER) return false;
  if (!frames_min_in_order(e, ordered)) return false;
  first_frame(e, ordered, &(Consumer){.value = expr->of, .sensitive = true, .first_only = true, .any_of_ties = true}, expr, dest);
  return true;
}

void lower_aggregate(Emit *e, const HExpr *expr, Reg dest) {
  if (lower_decided(e, expr, lower_aggregate, dest)) return;
  switch ((AggregateKind)expr->op) {
    case AGGREGATE_COUNT: if (count_range(e, expr, dest)) return; break;
    case AGGREGATE_FIRST: first_frame(e, expr->query, &(Consumer){.value = expr->of, .sensitive = true, .first_only = true}, expr, dest); return;
    case AGGREGATE_ANY: case AGGREGATE_ALL: test_frames(e, expr, expr->op == AGGREGATE_ANY, dest); return;
    case AGGREGATE_LIST: list_frames(e, expr->query, expr->of, dest); return;
    case AGGREGATE_MIN: case AGGREGATE_MAX: if (extreme_first(e, expr, dest)) return; break;
    case AGGREGATE_COUNT_IF: case AGGREGATE_SUM: case AGGREGATE_AVG: case AGGREGATE_LAST: case AGGREGATE_DISTINCT: case AGGREGATE_KINDS: break;
  }
  stage_aggregate(e, expr, dest);
}

// ---- a row by a unique index ------------------------------------------------------------------------------
void lower_find_unique(Emit *e, const HExpr *expr, Reg dest) {
  assert(expr->args.count <= e->schema->tables[expr->table].indexes[expr->index].column_count);
  TypeId types[SCHEMA_INDEX_COLUMNS_MAX];
  for (uint32_t i = 0; i < expr->args.count; i++) types[i] = expr->args.items[i]->type;
  Reg base = run_take(e, types, expr->args.count), row = reg_temp(e, e->types->types[expr->type].of);
  for (uint32_t i = 0; i < expr->args.count; i++) lower_into(e, expr->args.items[i], (Reg)(base + i));
  uint16_t plan = plan_new(e);
  Stage *stage = ARENA_NEW(e->arena, Stage);
  if (!stage) {
    e->failed = ERR_MEMORY;
    return;
  }
  *stage = (Stage){.kind = STAGE_SCAN, .block = NO_BLOCK, .from = base, .to = row, .table = expr->table, .index = (uint16_t)expr->index,
    .equal_count = (uint16_t)expr->args.count};
  if (plan < e->plan_count) e->plans[plan] = (Plan){1, stage};
  if (e->cost < COST_POINT) e->cost = COST_POINT;
  Label none = {0}, end = {0};
  code_op(e, OP_QUERY_OPEN, plan, 0, 0);
  code_jump(e, OP_QUERY_NEXT, plan, &none);
  code_op(e, OP_SOME, dest, row, 0);
  code_op(e, OP_QUERY_CLOSE, plan, 0, 0);
  code_jump(e, OP_JUMP, 0, &end);
  code_bind(e, &none);
  code_op(e, OP_ZERO, dest, 0, 0);
  code_bind(e, &end);
  run_free(e, base, expr->args.count);
  reg_free(e, row);
}

// ---- for ----------------------------------------------------------------------------------------------------
// Rows that an earlier turn of the body deleted are passed over.
static void skip_deleted(Emit *e, Loop *loop, const HQuery *query) {
  uint32_t from = 0;
  for (uint32_t i = 0; i < query->clause_count; i++)
    if (query->clauses[i].kind == HC_GROUP) from = i;
  for (uint32_t i = from; i < query->clause_count; i++) {
    if (query->clauses[i].kind != HC_ROWS) continue;
    Reg there = reg_temp(e, e->type_bool);
    code_op(e, OP_ROW_HAS, there, local_reg(e, query->clauses[i].local), 0);
    code_jump(e, OP_JUMP_IF_NOT, there, &loop->next);
    reg_free(e, there);
  }
}

// A body that changes state gets its rows' references only, fixed before it runs, and reads their columns anew.
static void read_anew(Emit *e, const HQuery *query) {
  for (uint32_t i = 0; i < query->clause_count; i++)
    if (query->clauses[i].kind == HC_ROWS) e->locals[query->clauses[i].local].columns = NULL;
}

// The body, and a use of every row: skip_deleted needs them though the body may not name them.
static HStmts body_with_rows(Emit *e, const HQuery *query, const HStmts *body) {
  HStmt *items = ARENA_ARRAY(&e->scratch, HStmt, body->count + query->clause_count);
  HExpr *rows = ARENA_ARRAY(&e->scratch, HExpr, query->clause_count);
  if (!items || !rows) {
    if (e->failed == ERR_NONE) e->failed = ERR_MEMORY;
    return *body;
  }
  if (body->count) memcpy(items, body->items, body->count * sizeof *items);
  uint32_t count = body->count;
  for (uint32_t i = 0; i < query->clause_count; i++) {
    const HClause *clause = &query->clauses[i];
    if (clause->kind == HC_GROUP) count = body->count;
    if (clause->kind != HC_ROWS) continue;
    rows[i].kind = H_LOCAL;
    rows[i].local = clause->local;
    rows[i].type = e->function->locals[clause->local].type;
    items[count++] = (HStmt){.kind = HS_EXPR, .a = &rows[i]};
  }
  return (HStmts){count, items};
}

void lower_for(Emit *e, const HStmt *stmt) {
  bool deletes, writes = stmts_write(&stmt->body, &deletes);
  bool rows = false;
  for (uint32_t i = 0; i < stmt->query->clause_count; i++) rows = rows || stmt->query->clauses[i].kind == HC_ROWS;
  bool gather = writes && rows;
  HStmts used = gather && deletes ? body_with_rows(e, stmt->query, &stmt->body) : stmt->body;
  Loop loop;
  if (!loop_begin(e, &loop, stmt->query, &(Consumer){.body = &used, .sensitive = true, .gather = gather})) return;
  if (gather) read_anew(e, stmt->query);
  loop_open(e, &loop);
  loop_next(e, &loop);
  if (gather && deletes) skip_deleted(e, &loop, stmt->query);
  loop.cleanup = (Cleanup){e->cleanup, CLEANUP_QUERY, loop.frames->plan};
  e->cleanup = &loop.cleanup;
  lower_stmts(e, &stmt->body);
  e->cleanup = loop.cleanup.outer;
  if (!code_ended(e)) code_jump(e, OP_JUMP, 0, &loop.next);
  loop_close(e, &loop);
  loop_finish(e, &loop);
}
