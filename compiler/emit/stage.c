// A query's clauses become the stages of a plan, in their order. Bounds of the first scan and the numbers of SKIP and
// TAKE are computed by the code in front of QUERY_OPEN; everything that depends on a frame stands in blocks.
//
// While a scan stands on a row, its columns are read through the cursor. A stage that gathers (ORDER, GROUP) takes the
// cursor away, so its block loads what is used behind it into registers that the stage carries.
#include <assert.h>

#include "compiler/emit/lower.h"
#include "runtime/base/mem.h"

static void run_out(Emit *e) { if (e->failed == ERR_NONE) e->failed = ERR_MEMORY; }

// ---- plans and stages ---------------------------------------------------------------------------
uint16_t plan_new(Emit *e) {
  if (e->plan_count >= FUNCTION_PLANS_MAX) {
    code_limit(e, e->span, "queries", FUNCTION_PLANS_MAX);
    return 0;
  }
  if (e->plan_count == e->plan_cap) {
    uint32_t cap = e->plan_cap ? e->plan_cap * 2 : 16;
    Plan *bigger = mem_realloc(e->plans, cap * sizeof *bigger);
    if (!bigger) {
      run_out(e);
      return 0;
    }
    e->plans = bigger;
    e->plan_cap = cap;
  }
  e->plans[e->plan_count] = (Plan){0};
  return (uint16_t)e->plan_count++;
}

static Stage *stage_new(Emit *e, Frames *frames, StageKind kind) {
  if (frames->stage_count == frames->stage_cap) {
    code_limit(e, frames->query->span, "steps in one query", PLAN_STAGES_MAX);
    frames->stage_count--;
  }
  Stage *stage = &frames->stages[frames->stage_count++];
  *stage = (Stage){.kind = (uint8_t)kind, .block = NO_BLOCK, .from = NO_REGISTER, .to = NO_REGISTER, .index = SCHEMA_NO_INDEX};
  return stage;
}

void frames_hold(Emit *e, Frames *frames, Reg base, uint32_t count) {
  Held *held = ARENA_NEW(&e->scratch, Held);
  if (!held) {
    run_out(e);
    return;
  }
  *held = (Held){frames->held, base, count};
  frames->held = held;
}

static Reg hold_operand(Emit *e, Frames *frames, Operand operand) {
  if (operand.temp) frames_hold(e, frames, operand.reg, 1);
  return operand.reg;
}

void frames_count(Emit *e, Reg position) {
  if (position == NO_REGISTER) return;
  Reg one = reg_temp(e, e->type_int);
  code_wide(e, OP_INT, one, 1);
  code_op(e, OP_ADD_I, position, position, one);
  reg_free(e, one);
}

// `position()` stands in the select, and so in a WITH that holds the select's value for the clauses that pass over none.
static void lower_counted(Emit *e, const Frames *frames, const HExpr *value, Reg dest) {
  if (!expr_has_position(value)) {
    lower_into(e, value, dest);
    return;
  }
  Reg outer = e->position;
  e->position = frames->position;
  frames_count(e, frames->position);
  lower_into(e, value, dest);
  e->position = outer;
}

void frames_pending(Emit *e, Frames *frames) {
  uint32_t count = frames->pending_count;
  frames->pending_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    const HClause *clause = &frames->query->clauses[frames->pending[i]];
    lower_counted(e, frames, clause->a, local_reg(e, clause->local));
  }
}

static void begin_position(Emit *e, Frames *frames) {
  for (uint32_t i = 0; i < frames->query->clause_count; i++) {
    const HClause *clause = &frames->query->clauses[i];
    if (clause->kind != HC_WITH || !expr_has_position(clause->a)) continue;
    frames->position = reg_temp(e, e->type_int);
    frames_hold(e, frames, frames->position, 1);
    code_wide(e, OP_INT, frames->position, 0);
    return;
  }
}

static void flush_pending(Emit *e, Frames *frames) {
  if (frames->pending_count == 0) return;
  uint32_t outer = e->segment;
  Stage *stage = stage_new(e, frames, STAGE_EVAL);
  stage->block = code_block_begin(e);
  frames_pending(e, frames);
  code_block_end(e, outer);
}

// The code before a source opens: in front of the query for the first one, else in the stage's block.
typedef struct Before { uint32_t outer; bool block; } Before;
static Before before_open(Emit *e, Frames *frames, bool needed, uint16_t *out_block) {
  Before before = {e->segment, frames->stage_count > 1 && (needed || frames->pending_count)};
  if (before.block) *out_block = code_block_begin(e);
  frames_pending(e, frames);
  return before;
}
static void before_close(Emit *e, Before before) { if (before.block) code_block_end(e, before.outer); }

// ---- sources ------------------------------------------------------------------------------------
static bool kind_is_source(HClauseKind kind) { return kind == HC_ROWS || kind == HC_ITEMS || kind == HC_NUMBERS; }

static bool aggregate_sensitive(const Emit *e, AggregateKind kind, const HExpr *value) {
  switch (kind) {
    case AGGREGATE_FIRST: case AGGREGATE_LAST: case AGGREGATE_LIST: case AGGREGATE_DISTINCT: return true;
    case AGGREGATE_SUM: case AGGREGATE_AVG: {
      TypeId type = value->type;
      if (type_kind(e->types, type) == TYPE_OPTIONAL) type = e->types->types[type].of;
      return type_kind(e->types, type) == TYPE_FLOAT;
    }
    case AGGREGATE_COUNT: case AGGREGATE_COUNT_IF: case AGGREGATE_MIN: case AGGREGATE_MAX: case AGGREGATE_ANY: case AGGREGATE_ALL: case AGGREGATE_KINDS: break;
  }
  return false;
}

static bool group_sensitive(const Emit *e, const HClause *clause) {
  for (uint32_t i = 0; i < clause->aggregate_count; i++)
    if (aggregate_sensitive(e, (AggregateKind)clause->aggregates[i].kind, clause->aggregates[i].value)) return true;
  return false;
}

// Does the order of the frames that leave clause `at` make a difference?
static bool sensitive_behind(const Emit *e, const Frames *frames, uint32_t at) {
  for (uint32_t i = at + 1; i < frames->query->clause_count; i++) {
    const HClause *clause = &frames->query->clauses[i];
    if (clause->kind == HC_GROUP) return group_sensitive(e, clause);
    if (clause->kind == HC_ORDER || clause->kind == HC_SKIP || clause->kind == HC_TAKE) return true;
  }
  return frames->consumer.sensitive;
}

// The ORDER clause that the scan of clause `at` could make unnecessary: no other source in between.
static uint32_t find_order(const Frames *frames, uint32_t at) {
  const HQuery *query = frames->query;
  for (uint32_t i = at + 1; i < query->clause_count; i++) {
    if (query->clauses[i].kind == HC_ORDER) return i;
    if (query->clauses[i].kind != HC_WHERE && query->clauses[i].kind != HC_WITH) break;
  }
  return query->clause_count;
}

static PlanQuestion make_question(const Emit *e, const Frames *frames, uint32_t at) {
  const HQuery *query = frames->query;
  PlanQuestion question = {.query = query, .serial = frames->serial, .clause = at, .conjuncts = frames->conjuncts, .conjunct_count = frames->conjunct_count};
  if (frames->source_count > 0) {
    question.need_key_order = sensitive_behind(e, frames, at);
    return question;
  }
  uint32_t order = find_order(frames, at);
  if (order == query->clause_count) return question;
  question.order = query->clauses[order].keys;
  question.order_count = query->clauses[order].key_count;
  question.ties_matter = !frames->consumer.any_of_ties;
  question.take_follows = frames->consumer.first_only;
  for (uint32_t i = order + 1; i < query->clause_count && (query->clauses[i].kind == HC_SKIP || query->clauses[i].kind == HC_TAKE); i++)
    if (query->clauses[i].kind == HC_TAKE) question.take_follows = true;
  return question;
}

// ---- what it costs --------------------------------------------------------------------------------
static void cost_at_least(Emit *e, CostClass cost) { if (cost > e->cost) e->cost = cost; }

// Groups by leading index columns that are only counted: an index walk, with nothing better to advise.
static bool is_counted_group(const Emit *e, const Frames *frames, const HClause *rows) {
  const HQuery *query = frames->query;
  if (query->clause_count < 2 || query->clauses[1].kind != HC_GROUP) return false;
  const HClause *group = &query->clauses[1];
  const TableDef *table = &e->schema->tables[rows->table];
  for (uint32_t i = 0; i < group->aggregate_count; i++)
    if (group->aggregates[i].kind != AGGREGATE_COUNT) return false;
  for (uint16_t i = 0; i < table->index_count; i++) {
    uint32_t key = 0;
    while (key < group->key_count && key < table->indexes[i].column_count && group->keys[key].value->kind == H_COLUMN &&
           group->keys[key].value->index == table->indexes[i].columns[key].column) key++;
    if (key == group->key_count) return true;
  }
  return false;
}

static bool should_warn(const Emit *e, const Frames *frames, const PlanQuestion *question, const Way *way) {
  static const bool WARNED[FUNCTION_KINDS] = {[FUNCTION_FN] = true, [FUNCTION_VIEW] = true, [FUNCTION_INPUT] = true, [FUNCTION_ACTION] = true,
    [FUNCTION_CHECK] = true, [FUNCTION_COMPUTED] = true, [FUNCTION_ROLE] = true};
  const HClause *rows = &frames->query->clauses[question->clause];
  if (!WARNED[e->function->kind] || frames->query->accepts_scan || e->warned_place == rows->span.start) return false;
  if (is_counted_group(e, frames, rows)) return false;
  // A list as the table or an index has it: it is sent in pages.
  bool paged = frames->consumer.sensitive && frames->consumer.value && !frames->consumer.first_only && e->function->kind == FUNCTION_VIEW;
  return !(paged && frames->conjunct_count == 0 && (!question->order || way->ordered) && frames->query->clause_count <= 2);
}

static void warn_scan(Emit *e, const PlanQuestion *question) {
  const HClause *rows = &question->query->clauses[question->clause];
  Str table = e->schema->tables[rows->table].name, words = plan_suggest_index(e, question);
  Span span = span_is_none(rows->span) ? question->query->span : rows->span;
  e->warned_place = rows->span.start;
  Diag *diag = diag_add(e->diags, DIAG_W304, span, "this visits every row of `%.*s`", STR_ARG(table));
  if (words.len) diag_help(e->diags, diag, "add `%.*s` to table %.*s, or accept it with `@scan` on the header", STR_ARG(words), STR_ARG(table));
  else diag_help(e->diags, diag, "accept it with `@scan` on the header, or cap the table: `table %.*s max 1_000`", STR_ARG(table));
}

static void note_cost(Emit *e, const Frames *frames, const PlanQuestion *question, const Way *way) {
  const HClause *rows = &frames->query->clauses[question->clause];
  if (way->point) {
    cost_at_least(e, COST_POINT);
    return;
  }
  bool bounded = way->equal_count > 0 || way->low || way->high || e->schema->tables[rows->table].rows_max > 0;
  if (!bounded && way->ordered && question->take_follows && frames->conjunct_count == 0) bounded = true;
  cost_at_least(e, bounded ? COST_ORDERED : COST_SCAN);
  if (!bounded && should_warn(e, frames, question, way)) warn_scan(e, question);
}

// ---- a scan -----------------------------------------------------------------------------------------
static uint32_t bound_types(const Way *way, TypeId *types) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < way->equal_count; i++) types[count++] = way->equal[i]->type;
  if (way->low) types[count++] = way->low->type;
  if (way->high) types[count++] = way->high->type;
  return count;
}

static uint8_t bound_flags(const Way *way) {
  return (uint8_t)((way->low ? SCAN_HAS_LOW : 0) | (way->high ? SCAN_HAS_HIGH : 0) | (way->low && way->low_inclusive ? SCAN_LOW_INCLUSIVE : 0) |
                   (way->high && way->high_inclusive ? SCAN_HIGH_INCLUSIVE : 0) | (way->backward ? SCAN_BACKWARD : 0));
}

static void fill_scan(Emit *e, Frames *frames, Stage *stage, uint16_t table, const Way *way) {
  stage->table = table;
  stage->index = way->index;
  stage->equal_count = way->equal_count;
  stage->flags = bound_flags(way);
  TypeId types[SCHEMA_INDEX_COLUMNS_MAX + 2];
  uint32_t count = bound_types(way, types), at = 0;
  Reg base = run_take(e, types, count);
  if (count) {
    frames_hold(e, frames, base, count);
    stage->from = base;
  }
  Before before = before_open(e, frames, count > 0, &stage->block);
  for (uint32_t i = 0; i < way->equal_count; i++) lower_into(e, way->equal[i], (Reg)(base + at++));
  if (way->low) lower_into(e, way->low, (Reg)(base + at++));
  if (way->high) lower_into(e, way->high, (Reg)(base + at++));
  before_close(e, before);
}

static void consume(Frames *frames, const Way *way) {
  for (uint32_t i = 0; i < way->used_count; i++) frames->conjuncts[way->used[i]].consumed = true;
}

// True when the ORDER clause that follows is done by this scan.
static bool add_rows(Emit *e, Frames *frames, uint32_t at) {
  const HClause *clause = &frames->query->clauses[at];
  PlanQuestion question = make_question(e, frames, at);
  Way way;
  plan_choose(e, &question, &way);
  note_cost(e, frames, &question, &way);
  consume(frames, &way);
  Stage *stage = stage_new(e, frames, STAGE_SCAN);
  LocalState *row = &e->locals[clause->local];
  uint8_t number = (uint8_t)(frames->stage_count - 1);
  fill_scan(e, frames, stage, clause->table, &way);
  row->at_cursor = true;
  row->plan = frames->plan;
  row->stage = number;
  if (!way.ordered && !way.key_ordered && frames->source_count == 0) frames->unsorted = clause->local;
  frames->source_count++;
  frames->streaming = true;
  return way.ordered;
}

static void add_items(Emit *e, Frames *frames, const HClause *clause) {
  Stage *stage = stage_new(e, frames, STAGE_LIST);
  stage->to = local_reg(e, clause->local);
  Before before = before_open(e, frames, true, &stage->block);
  if (frames->consumer.body) {  // the body may assign to the local that the list came from
    stage->from = reg_temp(e, clause->a->type);
    frames_hold(e, frames, stage->from, 1);
    lower_into(e, clause->a, stage->from);
  } else {
    stage->from = hold_operand(e, frames, lower_expr(e, clause->a));
  }
  before_close(e, before);
  frames->source_count++;
  frames->streaming = true;
}

static void add_numbers(Emit *e, Frames *frames, const HClause *clause) {
  Stage *stage = stage_new(e, frames, STAGE_NUMBERS);
  stage->to = local_reg(e, clause->local);
  TypeId types[2] = {clause->a->type, clause->b->type};
  stage->from = run_take(e, types, 2);
  frames_hold(e, frames, stage->from, 2);
  Before before = before_open(e, frames, true, &stage->block);
  lower_into(e, clause->a, stage->from);
  lower_into(e, clause->b, (Reg)(stage->from + 1));
  before_close(e, before);
  frames->source_count++;
  frames->streaming = true;
}

// ---- filters ------------------------------------------------------------------------------------------
static void add_term(Emit *e, const HExpr *term, Reg result, bool first, Label *end) {
  if (first) {
    lower_into(e, term, result);
  } else if (expr_is_simple(e, term)) {
    Operand operand = lower_expr(e, term);
    code_op(e, OP_AND, result, result, operand.reg);
    operand_free(e, operand);
  } else {
    code_jump(e, OP_JUMP_IF_NOT, result, end);
    lower_into(e, term, result);
  }
}

// Neighbouring WHERE clauses are one filter; conditions that a range makes true are left out.
static uint32_t add_filter(Emit *e, Frames *frames, uint32_t at) {
  uint32_t end = at;
  while (end < frames->query->clause_count && frames->query->clauses[end].kind == HC_WHERE) end++;
  Stage *stage = NULL;
  uint32_t outer = e->segment;
  Label label = {0};
  for (uint32_t i = 0; i < frames->conjunct_count; i++) {
    const Conjunct *conjunct = &frames->conjuncts[i];
    if (conjunct->consumed || conjunct->clause < at || conjunct->clause >= end) continue;
    bool first = !stage;
    if (first) {
      stage = stage_new(e, frames, STAGE_FILTER);
      stage->from = reg_temp(e, conjunct->expr->type);
      frames_hold(e, frames, stage->from, 1);
      stage->block = code_block_begin(e);
      frames_pending(e, frames);
    }
    add_term(e, conjunct->expr, stage->from, first, &label);
  }
  if (!stage) return end;
  code_bind(e, &label);
  code_block_end(e, outer);
  frames->streaming = true;
  return end;
}

// ---- gathering ------------------------------------------------------------------------------------------
// What is used behind a gathering stage: a local as a whole, or one column of a row.
static const uint32_t WHOLE = 0xFFFFFFFF;
typedef struct Use { LocalId local; uint32_t column; } Use;
typedef struct Uses { Emit *emit; uint32_t serial, clause, count, cap; Use *items; bool columns_anew; } Uses;

static void add_use(Uses *uses, LocalId local, uint32_t column) {
  for (uint32_t i = 0; i < uses->count; i++)
    if (uses->items[i].local == local && uses->items[i].column == column) return;
  if (uses->count == uses->cap) {
    uint32_t cap = uses->cap ? uses->cap * 2 : 16;
    Use *bigger = arena_grow(&uses->emit->scratch, uses->items, uses->cap * sizeof *bigger, cap * sizeof *bigger);
    if (!bigger) {
      run_out(uses->emit);
      return;
    }
    uses->items = bigger;
    uses->cap = cap;
  }
  uses->items[uses->count++] = (Use){local, column};
}

static bool uses_local(const Uses *uses, LocalId local) {
  const LocalState *state = &uses->emit->locals[local];
  return state->query == uses->serial && state->clause < uses->clause;
}

static WalkStep step_use(void *context, const HExpr *expr) {
  Uses *uses = context;
  const LocalState *locals = uses->emit->locals;
  if (expr->kind == H_COLUMN && expr->a->kind == H_LOCAL && uses_local(uses, expr->a->local) && !uses->columns_anew) {
    const LocalState *row = &locals[expr->a->local];
    if (row->at_cursor || row->columns) {
      add_use(uses, expr->a->local, expr->index);
      return WALK_OVER;
    }
  }
  if (expr->kind == H_LOCAL && uses_local(uses, expr->local)) add_use(uses, expr->local, WHOLE);
  return WALK_INTO;
}

// WITH clauses that are pending need nothing carried: the gathering stage's own block evaluates them.
static bool collect_uses(Emit *e, const Frames *frames, uint32_t behind, Uses *out_uses) {
  *out_uses = (Uses){.emit = e, .serial = frames->serial, .clause = behind};
  Walk walk = {.expr = step_use, .context = out_uses};
  walk_clauses(&walk, frames->query, behind);
  walk_expr(&walk, frames->consumer.value);
  out_uses->columns_anew = frames->consumer.gather;
  if (frames->consumer.body) walk_stmts(&walk, frames->consumer.body);
  return e->failed == ERR_NONE;
}

static ColumnReg *find_column(const LocalState *row, uint32_t column) {
  for (ColumnReg *at = row->columns; at; at = at->next)
    if (at->column == column) return at;
  return NULL;
}

static void put_column(Emit *e, LocalState *row, uint32_t column, Reg reg) {
  ColumnReg *carried = ARENA_NEW(&e->scratch, ColumnReg);
  if (!carried) {
    run_out(e);
    return;
  }
  *carried = (ColumnReg){row->columns, (uint16_t)column, reg};
  row->columns = carried;
}

static TypeId column_type(const Emit *e, LocalId row, uint32_t column) {
  TypeId type = e->function->locals[row].type;
  assert(type_kind(e->types, type) == TYPE_REF);
  return e->schema->tables[e->types->types[type].of].columns[column].type;
}

// In the block of the gathering stage: brings what one use needs into the register that is carried.
static Reg load_use(Emit *e, Frames *frames, const Use *use) {
  LocalState *state = &e->locals[use->local];
  if (use->column == WHOLE) {
    Reg reg = local_reg(e, use->local);
    if (state->at_cursor) code_op_x(e, OP_CURSOR_KEY, state->stage, reg, state->plan);
    return reg;
  }
  ColumnReg *known = find_column(state, use->column);
  if (known) return known->reg;
  Reg reg = reg_temp(e, column_type(e, use->local, use->column));
  frames_hold(e, frames, reg, 1);
  if (state->at_cursor) code_op_x(e, OP_CURSOR_COLUMN, state->stage, reg, state->plan | use->column << 16);
  else code_op(e, OP_COLUMN_GET, reg, local_reg(e, use->local), (uint16_t)use->column);
  put_column(e, state, use->column, reg);
  return reg;
}

static bool is_key_reg(const uint16_t *keys, uint32_t count, Reg reg) {
  for (uint32_t i = 0; i < count; i++)
    if (keys[i] == reg) return true;
  return false;
}

static void load_carried(Emit *e, Frames *frames, Stage *stage, const Uses *uses) {
  uint16_t *carried = ARENA_ARRAY(e->arena, uint16_t, uses->count);
  if (!carried) {
    run_out(e);
    return;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < uses->count; i++) {
    bool is_last_key = uses->items[i].column == WHOLE && uses->items[i].local == frames->unsorted;
    if (is_last_key) continue;  // it was loaded as a key
    Reg reg = load_use(e, frames, &uses->items[i]);
    if (!is_key_reg(stage->keys, stage->key_count, reg)) carried[count++] = reg;
  }
  if (count > PLAN_CARRIED_MAX) code_limit(e, frames->query->span, "values kept for each row of one query", PLAN_CARRIED_MAX);
  stage->carried = carried;
  stage->carried_count = (uint16_t)count;
}

// Rows lose their cursors.
static void leave_cursors(Emit *e, Frames *frames) {
  for (uint32_t i = 0; i < frames->query->clause_count; i++)
    if (frames->query->clauses[i].kind == HC_ROWS) e->locals[frames->query->clauses[i].local].at_cursor = false;
  frames->unsorted = NO_LOCAL;
  frames->streaming = false;
}

static Reg order_key(Emit *e, Frames *frames, const HExpr *value) {
  const HExpr *row = value->kind == H_COLUMN && value->a->kind == H_LOCAL ? value->a : NULL;
  if (row && e->locals[row->local].query == frames->serial && e->locals[row->local].at_cursor) return load_use(e, frames, &(Use){row->local, value->index});
  return hold_operand(e, frames, lower_expr(e, value));
}

// Sorts by the clause's keys (NULL: only gathers), and, where the scan is not in key order, by the row at last.
static void add_order(Emit *e, Frames *frames, const HClause *clause, uint32_t behind) {
  uint32_t key_count = clause ? clause->key_count : 0, outer = e->segment;
  if (key_count + 1 > PLAN_KEYS_MAX) {
    code_limit(e, frames->query->span, "keys to sort by in one query", PLAN_KEYS_MAX - 1);
    return;
  }
  Uses uses;
  uint16_t *keys = ARENA_ARRAY(e->arena, uint16_t, key_count + 1);
  uint8_t *descending = ARENA_ARRAY(e->arena, uint8_t, key_count + 1);
  if (!keys || !descending || !collect_uses(e, frames, behind, &uses)) {
    run_out(e);
    return;
  }
  Stage *stage = stage_new(e, frames, STAGE_ORDER);
  stage->keys = keys;
  stage->descending = descending;
  stage->block = code_block_begin(e);
  frames_pending(e, frames);
  for (uint32_t i = 0; i < key_count; i++) {
    keys[stage->key_count] = order_key(e, frames, clause->keys[i].value);
    descending[stage->key_count++] = clause->keys[i].descending;
  }
  if (frames->unsorted != NO_LOCAL) keys[stage->key_count++] = load_use(e, frames, &(Use){frames->unsorted, WHOLE});
  load_carried(e, frames, stage, &uses);
  code_block_end(e, outer);
  leave_cursors(e, frames);
}

static void settle_order(Emit *e, Frames *frames, uint32_t behind) { if (frames->unsorted != NO_LOCAL) add_order(e, frames, NULL, behind); }

static void add_group(Emit *e, Frames *frames, const HClause *clause, uint32_t at) {
  if (group_sensitive(e, clause)) settle_order(e, frames, at);
  if (clause->key_count > PLAN_KEYS_MAX) code_limit(e, clause->span, "keys to group by in one query", PLAN_KEYS_MAX);
  if (clause->aggregate_count > PLAN_AGGREGATES_MAX) code_limit(e, clause->span, "aggregates in one query", PLAN_AGGREGATES_MAX);
  uint16_t *keys = ARENA_ARRAY(e->arena, uint16_t, clause->key_count);
  Aggregate *aggregates = ARENA_ARRAY(e->arena, Aggregate, clause->aggregate_count);
  if (!keys || !aggregates) {
    run_out(e);
    return;
  }
  uint32_t outer = e->segment;
  Stage *stage = stage_new(e, frames, STAGE_GROUP);
  stage->keys = keys;
  stage->key_count = (uint16_t)clause->key_count;
  stage->aggregates = aggregates;
  stage->aggregate_count = (uint16_t)clause->aggregate_count;
  for (uint32_t i = 0; i < clause->key_count; i++) keys[i] = local_reg(e, clause->keys[i].local);
  stage->block = code_block_begin(e);
  frames_pending(e, frames);
  for (uint32_t i = 0; i < clause->key_count; i++) lower_into(e, clause->keys[i].value, keys[i]);
  for (uint32_t i = 0; i < clause->aggregate_count; i++) {
    const HAggregate *aggregate = &clause->aggregates[i];
    aggregates[i] = (Aggregate){.kind = aggregate->kind, .from = NO_REGISTER, .to = local_reg(e, aggregate->local)};
    if (aggregate->value) aggregates[i].from = hold_operand(e, frames, lower_expr(e, aggregate->value));
  }
  code_block_end(e, outer);
  leave_cursors(e, frames);
}

void frames_aggregate(Emit *e, Frames *frames, AggregateKind kind, Reg dest) {
  Aggregate *aggregate = ARENA_NEW(e->arena, Aggregate);
  if (!aggregate) {
    run_out(e);
    return;
  }
  *aggregate = (Aggregate){.kind = (uint8_t)kind, .from = NO_REGISTER, .to = dest};
  Stage *stage = stage_new(e, frames, STAGE_AGGREGATE);
  stage->aggregates = aggregate;
  stage->aggregate_count = 1;
  const HExpr *value = kind == AGGREGATE_COUNT ? NULL : frames->consumer.value;
  if (!value && frames->pending_count == 0) return;
  uint32_t outer = e->segment;
  stage->block = code_block_begin(e);
  frames_pending(e, frames);
  if (value && expr_has_position(value)) {
    aggregate->from = reg_temp(e, value->type);
    frames_hold(e, frames, aggregate->from, 1);
    lower_counted(e, frames, value, aggregate->from);
  } else if (value) {
    aggregate->from = hold_operand(e, frames, lower_expr(e, value));
  }
  code_block_end(e, outer);
}

// ---- all clauses ------------------------------------------------------------------------------------------
static void bind_local(Emit *e, const Frames *frames, LocalId local, uint32_t clause) {
  LocalState *state = &e->locals[local];
  *state = (LocalState){.reg = state->reg, .query = frames->serial, .clause = clause};
}

static void bind_locals(Emit *e, const Frames *frames) {
  for (uint32_t i = 0; i < frames->query->clause_count; i++) {
    const HClause *clause = &frames->query->clauses[i];
    if (kind_is_source(clause->kind) || clause->kind == HC_WITH) bind_local(e, frames, clause->local, i);
    if (clause->kind != HC_GROUP) continue;
    for (uint32_t j = 0; j < clause->key_count; j++) bind_local(e, frames, clause->keys[j].local, i);
    for (uint32_t j = 0; j < clause->aggregate_count; j++) bind_local(e, frames, clause->aggregates[j].local, i);
  }
}

// The numbers of frames to skip or take, before the query opens: in registers taken before those of any block.
static void compute_cuts(Emit *e, Frames *frames) {
  const HQuery *query = frames->query;
  for (uint32_t i = 0; i < query->clause_count; i++) {
    if (query->clauses[i].kind != HC_SKIP && query->clauses[i].kind != HC_TAKE) continue;
    if (!frames->cuts) frames->cuts = ARENA_ARRAY(&e->scratch, Reg, query->clause_count);
    if (!frames->cuts) {
      run_out(e);
      return;
    }
    frames->cuts[i] = hold_operand(e, frames, lower_expr(e, query->clauses[i].a));
  }
}

static void add_cut(Emit *e, Frames *frames, uint32_t at) {
  Stage *stage = stage_new(e, frames, frames->query->clauses[at].kind == HC_SKIP ? STAGE_SKIP : STAGE_TAKE);
  stage->from = frames->cuts[at];
}

static void frames_start(Emit *e, Frames *frames, const HQuery *query, const Consumer *consumer) {
  *frames = (Frames){.query = query, .consumer = *consumer, .serial = ++e->query_serial, .plan = plan_new(e), .unsorted = NO_LOCAL, .position = NO_REGISTER, .outer_invariants = e->invariants};
  frames->conjunct_count = plan_split_where(e, query, &frames->conjuncts);
  frames->pending = ARENA_ARRAY(&e->scratch, uint32_t, query->clause_count);
  frames->stage_cap = query->clause_count * 2 + 4 < PLAN_STAGES_MAX ? query->clause_count * 2 + 4 : PLAN_STAGES_MAX;
  frames->stages = ARENA_ARRAY(&e->scratch, Stage, frames->stage_cap);
  if (!frames->pending || !frames->stages) run_out(e);
  bind_locals(e, frames);
}

void frames_begin(Emit *e, Frames *frames, const HQuery *query, const Consumer *consumer) {
  frames_start(e, frames, query, consumer);
  compute_cuts(e, frames);
  begin_position(e, frames);
  invariants_begin(e, frames);
  bool ordered = false;
  for (uint32_t i = 0; i < query->clause_count && e->failed == ERR_NONE; i++) {
    const HClause *clause = &query->clauses[i];
    if (!span_is_none(clause->span)) e->span = clause->span;
    switch (clause->kind) {
      case HC_ROWS: ordered = add_rows(e, frames, i); break;
      case HC_ITEMS: add_items(e, frames, clause); break;
      case HC_NUMBERS: add_numbers(e, frames, clause); break;
      case HC_WHERE: i = add_filter(e, frames, i) - 1; break;
      case HC_WITH:
        frames->pending[frames->pending_count++] = i;
        frames->streaming = true;
        break;
      case HC_GROUP: add_group(e, frames, clause, i); break;
      case HC_ORDER:
        if (!ordered) add_order(e, frames, clause, i + 1);
        ordered = false;
        break;
      case HC_SKIP: case HC_TAKE:
        settle_order(e, frames, i);
        flush_pending(e, frames);
        add_cut(e, frames, i);
        break;
    }
  }
  if (consumer->gather && frames->streaming) add_order(e, frames, NULL, query->clause_count);
  else if (consumer->sensitive) settle_order(e, frames, query->clause_count);
}

void frames_end(Emit *e, Frames *frames) {
  invariants_end(e, frames);
  Stage *stages = ARENA_ARRAY(e->arena, Stage, frames->stage_count);
  if (!stages) {
    run_out(e);
    return;
  }
  memcpy(stages, frames->stages, frames->stage_count * sizeof *stages);
  if (frames->plan < e->plan_count) e->plans[frames->plan] = (Plan){(uint16_t)frames->stage_count, stages};
  for (Held *held = frames->held; held; held = held->next) run_free(e, held->base, held->count);
}

// ---- shapes that need no frames -----------------------------------------------------------------------------
static bool clauses_only_filter(const HQuery *query) {
  if (query->clause_count == 0 || query->clauses[0].kind != HC_ROWS) return false;
  for (uint32_t i = 1; i < query->clause_count; i++)
    if (query->clauses[i].kind != HC_WHERE && query->clauses[i].kind != HC_ORDER) return false;
  return true;
}

bool frames_counted(Emit *e, Frames *frames, const HQuery *query, Reg dest) {
  if (!clauses_only_filter(query)) return false;
  static const Consumer COUNTING = {0};
  uint32_t plan_count = e->plan_count;
  frames_start(e, frames, query, &COUNTING);
  PlanQuestion question = {.query = query, .serial = frames->serial, .conjuncts = frames->conjuncts, .conjunct_count = frames->conjunct_count};
  Way way;
  plan_choose(e, &question, &way);
  if (way.used_count != frames->conjunct_count || e->limit_told || e->failed != ERR_NONE) {
    e->plan_count = plan_count;
    return false;
  }
  cost_at_least(e, way.point ? COST_POINT : COST_COUNTED);
  Stage *stage = stage_new(e, frames, STAGE_COUNT);
  fill_scan(e, frames, stage, query->clauses[0].table, &way);
  stage->to = dest;
  return true;
}

bool frames_min_in_order(Emit *e, const HQuery *query) {
  if (!clauses_only_filter(query)) return false;
  static const Consumer FIRST = {.first_only = true, .any_of_ties = true};
  uint32_t plan_count = e->plan_count;
  Frames frames;
  frames_start(e, &frames, query, &FIRST);
  PlanQuestion question = make_question(e, &frames, 0);
  Way way;
  plan_choose(e, &question, &way);
  e->plan_count = plan_count;
  return way.ordered && e->failed == ERR_NONE;
}

void frames_way(Emit *e, const HQuery *query, Way *out_way) {
  static const Consumer ANY_ORDER = {0};
  uint32_t plan_count = e->plan_count;
  Frames *frames = ARENA_NEW(&e->scratch, Frames);
  *out_way = (Way){.index = SCHEMA_NO_INDEX};
  if (!frames) return;
  frames_start(e, frames, query, &ANY_ORDER);
  PlanQuestion question = make_question(e, frames, 0);
  plan_choose(e, &question, out_way);
  e->plan_count = plan_count;
}

bool frames_bind(Emit *e, const HQuery *query, const HExpr *expr) {
  static const Consumer NOBODY = {0};
  uint32_t plan_count = e->plan_count;
  Frames *frames = ARENA_NEW(&e->scratch, Frames);
  if (!frames) return true;
  frames_start(e, frames, query, &NOBODY);
  e->plan_count = plan_count;
  return expr_uses_query(e, expr, frames->serial, 0) || expr_has_position(expr);
}
