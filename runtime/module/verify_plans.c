// Plans: the stages of a function's queries. Each stage kind reads and writes registers of types that follow from its
// tables, lists and aggregates; the query room trusts what was checked here. Blocks are run for one stage each, and a
// query may only be driven from the body or from blocks of other queries, in a graph without cycles, so that the machine
// needs one place to remember for each plan.
#include <assert.h>

#include "runtime/module/verify.h"

// What is wrong is said with plan and stage.
typedef struct StageCheck { Verifier *v; const Stage *stage; uint32_t plan, number; } StageCheck;

#define BAD(check, format, ...) verify__function_fail((check)->v, "plan %u, stage %u: " format, (check)->plan, (check)->number, ##__VA_ARGS__)

static Err need_register(const StageCheck *c, uint32_t index, const char *what) {
  uint32_t count = c->v->function->register_count;
  return index < count ? ERR_NONE : BAD(c, "%s is r%u of %u registers", what, index, count);
}

static Err need_type(const StageCheck *c, uint32_t index, TypeId type, const char *what) {
  TRY(need_register(c, index, what));
  return verify__register(c->v, index) == type ? ERR_NONE : BAD(c, "%s (r%u) is of another type", what, index);
}

static Err need_kind(const StageCheck *c, uint32_t index, TypeKind kind, const char *what) {
  TRY(need_register(c, index, what));
  Type type = verify__type(c->v, verify__register(c->v, index));
  return type.kind == kind ? ERR_NONE : BAD(c, "%s (r%u) is not of type %s", what, index, type_kind_words(kind));
}

// ---- scans ------------------------------------------------------------------------------------

// The number of columns that lead the range, and one of them.
static uint32_t range_columns(const TableDef *table, uint16_t index) {
  return index == SCHEMA_NO_INDEX ? table->key_count : table->indexes[index].column_count;
}
static uint32_t range_column(const TableDef *table, uint16_t index, uint32_t place) {
  return index == SCHEMA_NO_INDEX ? table->key[place] : table->indexes[index].columns[place].column;
}

static Err check_range(const StageCheck *c) {
  const Stage *stage = c->stage;
  const Schema *schema = &c->v->module->schema;
  if (stage->table >= schema->table_count || stage->table == SCHEMA_STATE_TABLE) return BAD(c, "no table %u to read", stage->table);
  const TableDef *table = &schema->tables[stage->table];
  if (stage->index != SCHEMA_NO_INDEX && stage->index >= table->index_count) return BAD(c, "index %u of %u", stage->index, table->index_count);
  uint32_t columns = range_columns(table, stage->index), bounds = !!(stage->flags & SCAN_HAS_LOW) + !!(stage->flags & SCAN_HAS_HIGH);
  if (stage->flags >= SCAN_BACKWARD * 2) return BAD(c, "unknown flags %u", stage->flags);
  if ((uint32_t)stage->equal_count + (bounds > 0) > columns) return BAD(c, "bounds for more than the %u columns", columns);
  for (uint32_t i = 0; i < stage->equal_count + bounds; i++) {
    uint32_t place = i < stage->equal_count ? i : stage->equal_count;
    TRY(need_type(c, stage->from + i, table->columns[range_column(table, stage->index, place)].type, "a bound"));
  }
  return ERR_NONE;
}

static Err check_scan(const StageCheck *c) {
  TRY(check_range(c));
  if (c->stage->to == NO_REGISTER) return ERR_NONE;
  TRY(need_kind(c, c->stage->to, TYPE_REF, "the row"));
  return verify__type(c->v, verify__register(c->v, c->stage->to)).of == c->stage->table ? ERR_NONE : BAD(c, "r%u refers to another table", c->stage->to);
}

static Err check_count(const StageCheck *c) {
  if (c->number != 0) return BAD(c, "COUNT is only the first stage");
  TRY(check_range(c));
  return need_kind(c, c->stage->to, TYPE_INT, "the count");
}

static Err check_list(const StageCheck *c) {
  TRY(need_register(c, c->stage->from, "the list"));
  Type list = verify__type(c->v, verify__register(c->v, c->stage->from));
  if (list.kind != TYPE_LIST && list.kind != TYPE_SET) return BAD(c, "r%u is neither list nor set", c->stage->from);
  return need_type(c, c->stage->to, list.of, "the item");
}

static Err check_numbers(const StageCheck *c) {
  TRY(need_kind(c, c->stage->from, TYPE_INT, "the first number"));
  TRY(need_kind(c, c->stage->from + 1u, TYPE_INT, "the last number"));
  return need_kind(c, c->stage->to, TYPE_INT, "the number");
}

// ---- gathering --------------------------------------------------------------------------------

static Err check_keys(const StageCheck *c, bool must_be_ordered) {
  for (uint32_t i = 0; i < c->stage->key_count; i++) {
    TRY(need_register(c, c->stage->keys[i], "a key"));
    if (must_be_ordered && !type_is_ordered(c->v->types, verify__register(c->v, c->stage->keys[i]))) return BAD(c, "r%u has no order", c->stage->keys[i]);
    if (must_be_ordered && c->stage->descending[i] > 1) return BAD(c, "a direction is neither 0 nor 1");
  }
  return ERR_NONE;
}

static Err check_carried(const StageCheck *c) {
  for (uint32_t i = 0; i < c->stage->carried_count; i++) TRY(need_register(c, c->stage->carried[i], "a carried value"));
  return ERR_NONE;
}

static bool is_number(TypeKind kind) { return kind == TYPE_INT || kind == TYPE_DECIMAL || kind == TYPE_FLOAT || kind == TYPE_DURATION; }

// `to` is of type `type`, or an optional of it.
static bool gives(const StageCheck *c, TypeId to, TypeId type) {
  return to == type || (verify__type(c->v, to).kind == TYPE_OPTIONAL && verify__type(c->v, to).of == type);
}
static bool gives_kind(const StageCheck *c, TypeId to, TypeKind kind) {
  Type type = verify__type(c->v, to);
  return type.kind == kind || (type.kind == TYPE_OPTIONAL && verify__type(c->v, type.of).kind == kind);
}

// The mean of ints is a float or a decimal, of decimals one of any scale, of others of their own type.
static bool gives_mean(const StageCheck *c, TypeId to, TypeId inside, TypeKind kind) {
  if (kind == TYPE_INT) return gives_kind(c, to, TYPE_FLOAT) || gives_kind(c, to, TYPE_DECIMAL);
  return kind == TYPE_DECIMAL ? gives_kind(c, to, TYPE_DECIMAL) : gives(c, to, inside);
}

static bool aggregate_fits(const StageCheck *c, const Aggregate *aggregate, TypeId to) {
  TypeTable const *types = c->v->types;
  if (aggregate->kind == AGGREGATE_COUNT) return type_kind(types, to) == TYPE_INT;
  TypeId from = verify__register(c->v, aggregate->from);
  TypeId inside = type_kind(types, from) == TYPE_OPTIONAL ? types->types[from].of : from;  // none is passed over
  TypeKind kind = type_kind(types, inside);
  switch ((AggregateKind)aggregate->kind) {
    case AGGREGATE_COUNT_IF: return type_kind(types, from) == TYPE_BOOL && type_kind(types, to) == TYPE_INT;
    case AGGREGATE_SUM: return is_number(kind) && gives(c, to, inside);
    case AGGREGATE_MIN: case AGGREGATE_MAX: return type_is_ordered(types, inside) && gives(c, to, inside);
    case AGGREGATE_FIRST: case AGGREGATE_LAST: return gives(c, to, inside);
    case AGGREGATE_AVG: return is_number(kind) && gives_mean(c, to, inside, kind);
    case AGGREGATE_LIST: case AGGREGATE_DISTINCT: return type_kind(types, to) == TYPE_LIST && types->types[to].of == inside;
    case AGGREGATE_ANY: case AGGREGATE_ALL: return type_kind(types, from) == TYPE_BOOL && type_kind(types, to) == TYPE_BOOL;
    case AGGREGATE_COUNT: case AGGREGATE_KINDS: break;
  }
  return false;
}

static Err check_aggregates(const StageCheck *c) {
  for (uint32_t i = 0; i < c->stage->aggregate_count; i++) {
    const Aggregate *aggregate = &c->stage->aggregates[i];
    if (aggregate->kind >= AGGREGATE_KINDS) return BAD(c, "no aggregate of kind %u", aggregate->kind);
    bool needs_from = aggregate->kind != AGGREGATE_COUNT || aggregate->from != NO_REGISTER;
    if (needs_from) TRY(need_register(c, aggregate->from, "what is aggregated"));
    TRY(need_register(c, aggregate->to, "an aggregate"));
    if (!aggregate_fits(c, aggregate, verify__register(c->v, aggregate->to))) return BAD(c, "aggregate %u has types that do not fit", i);
  }
  return ERR_NONE;
}

// ---- stages -----------------------------------------------------------------------------------

static Err check_kind(const StageCheck *c) {
  switch ((StageKind)c->stage->kind) {
    case STAGE_SCAN: return check_scan(c);
    case STAGE_LIST: return check_list(c);
    case STAGE_NUMBERS: return check_numbers(c);
    case STAGE_FILTER: return need_kind(c, c->stage->from, TYPE_BOOL, "the condition");
    case STAGE_EVAL: return ERR_NONE;
    case STAGE_SKIP: case STAGE_TAKE: return need_kind(c, c->stage->from, TYPE_INT, "the number of frames");
    case STAGE_ORDER:
      TRY(check_keys(c, true));
      return check_carried(c);
    case STAGE_GROUP:
      TRY(check_keys(c, false));
      return check_aggregates(c);
    case STAGE_AGGREGATE: return check_aggregates(c);
    case STAGE_COUNT: return check_count(c);
    case STAGE_KINDS: break;
  }
  return BAD(c, "no stage of kind %u", c->stage->kind);
}

// A list that a stage kind has no use for must be empty, so that nothing unchecked stands in a plan.
static Err check_unused(const StageCheck *c) {
  StageKind kind = (StageKind)c->stage->kind;
  bool has_keys = kind == STAGE_ORDER || kind == STAGE_GROUP, has_aggregates = kind == STAGE_GROUP || kind == STAGE_AGGREGATE;
  if (c->stage->key_count && !has_keys) return BAD(c, "has keys, which its kind does not use");
  if (c->stage->carried_count && kind != STAGE_ORDER) return BAD(c, "carries registers, which its kind does not do");
  if (c->stage->aggregate_count && !has_aggregates) return BAD(c, "has aggregates, which its kind does not use");
  return ERR_NONE;
}

static Err check_stage(const StageCheck *c) {
  Verifier *v = c->v;
  TRY(check_kind(c));
  TRY(check_unused(c));
  if (c->stage->block == NO_BLOCK) return ERR_NONE;
  if (c->stage->block >= v->function->block_count) return BAD(c, "block %u of %u", c->stage->block, v->function->block_count);
  if (v->block_plans[c->stage->block] != NO_PLAN) return BAD(c, "block %u belongs to another stage already", c->stage->block);
  v->block_plans[c->stage->block] = (uint16_t)c->plan;
  return ERR_NONE;
}

static bool makes_frames(uint8_t kind) { return kind == STAGE_SCAN || kind == STAGE_LIST || kind == STAGE_NUMBERS || kind == STAGE_COUNT; }

Err verify__plans(Verifier *v) {
  for (uint32_t p = 0; p < v->function->plan_count; p++) {
    const Plan *plan = &v->function->plans[p];
    if (plan->stage_count == 0 || plan->stage_count > PLAN_STAGES_MAX) return verify__function_fail(v, "plan %u has %u stages", p, plan->stage_count);
    if (!makes_frames(plan->stages[0].kind)) return verify__function_fail(v, "plan %u does not begin with a stage that makes frames", p);
    for (uint32_t s = 0; s < plan->stage_count; s++) {
      StageCheck check = {v, &plan->stages[s], p, s};
      TRY(check_stage(&check));
    }
  }
  return ERR_NONE;
}

// How many queries are at work around each one, settled in rounds: after round n those with less than n around them are
// right, and one in a cycle has n at least. So there are as many rounds as PLAN_NESTING_MAX at most.
Err verify__plan_nesting(Verifier *v) {
  uint8_t around[FUNCTION_PLANS_MAX] = {0};
  bool changed = v->plan_edge_count > 0;
  while (changed) {
    changed = false;
    for (uint32_t i = 0; i < v->plan_edge_count; i++) {
      PlanEdge edge = v->plan_edges[i];
      if (around[edge.inner] > around[edge.outer]) continue;
      around[edge.inner] = (uint8_t)(around[edge.outer] + 1);
      if (around[edge.inner] == PLAN_NESTING_MAX) return verify__function_fail(v, "a query runs in its own block, or queries are nested deeper than %d (PLAN_NESTING_MAX)", PLAN_NESTING_MAX);
      changed = true;
    }
  }
  return ERR_NONE;
}
