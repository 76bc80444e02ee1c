// How the rows of a `from` are found. The conjuncts of the WHERE clauses behind it are read as conditions on single
// columns (`column op value`, where the value does not depend on the row or on anything bound after it). For the table in
// key order and for each index we count how many leading columns they pin to one value, whether they bound the next one,
// and whether the order of what is left is the one that the query asks for; the best count wins.
//
// A bound is computed once, before the rows are met, a filter once a row. So that no fault appears that a filter would
// not have met, a value that can fail is taken as a bound only when no condition without the row (a guard such as `n != 0`)
// stands before it.
//
// Order without `order by` is that of the table's keys. Of two rows that are equal for an `order by` the one with the
// smaller key comes first; an index gives that too when only the key stands behind the columns asked for.
#include <assert.h>

#include "compiler/emit/lower.h"

typedef struct Sarg { uint16_t column; HOp op; HExpr *value; bool exact; uint32_t conjunct; } Sarg;
enum { SARGS_MAX = 256, ORDER_COLUMNS_MAX = SCHEMA_INDEX_COLUMNS_MAX + SCHEMA_KEY_COLUMNS_MAX };
typedef struct Sargs {
  Emit *emit;
  const PlanQuestion *question;
  const TableDef *table;
  uint16_t table_index;
  LocalId row;
  uint32_t count;
  Sarg items[SARGS_MAX];
} Sargs;

// ---- the WHERE clauses as single conditions -----------------------------------------------------
static uint32_t count_terms(const HExpr *expr) {
  uint32_t count = 1;
  for (; expr->kind == H_AND; expr = expr->a) count += count_terms(expr->b);
  return count;
}

static void put_terms(HExpr *expr, uint32_t clause, Conjunct *conjuncts, uint32_t *end) {
  for (; expr->kind == H_AND; expr = expr->a) put_terms(expr->b, clause, conjuncts, end);
  conjuncts[--*end] = (Conjunct){expr, clause, false};
}

uint32_t plan_split_where(Emit *e, const HQuery *query, Conjunct **out_conjuncts) {
  uint32_t count = 0, at = 0;
  for (uint32_t i = 0; i < query->clause_count; i++)
    if (query->clauses[i].kind == HC_WHERE) count += count_terms(query->clauses[i].a);
  Conjunct *conjuncts = ARENA_ARRAY(&e->scratch, Conjunct, count);
  *out_conjuncts = conjuncts;
  if (!conjuncts) {
    if (e->failed == ERR_NONE) e->failed = ERR_MEMORY;
    return 0;
  }
  for (uint32_t i = 0; i < query->clause_count; i++) {
    if (query->clauses[i].kind != HC_WHERE) continue;
    uint32_t end = at + count_terms(query->clauses[i].a), next = end;
    put_terms(query->clauses[i].a, i, conjuncts, &end);
    assert(end == at);
    at = next;
  }
  return count;
}

// ---- conditions on columns ----------------------------------------------------------------------
static HExpr *make_expr(Emit *e, HExprKind kind, TypeId type, HExpr *a) {
  HExpr *expr = ARENA_NEW(&e->scratch, HExpr);
  if (!expr) {
    if (e->failed == ERR_NONE) e->failed = ERR_MEMORY;
    return a;
  }
  expr->kind = (uint8_t)kind;
  expr->type = type;
  if (a) {
    expr->span = a->span;
    expr->a = a;
  }
  return expr;
}

static HExpr *make_convert(Emit *e, HConvert convert, TypeId type, HExpr *a) {
  HExpr *expr = make_expr(e, H_CONVERT, type, a);
  if (expr != a) expr->op = (uint8_t)convert;
  return expr;
}

static HExpr *make_const(Emit *e, TypeId type, int64_t number, Span span) {
  HExpr *expr = make_expr(e, H_CONST, type, NULL);
  if (!expr) return NULL;
  expr->value = (Value){.i = number};
  expr->span = span;
  return expr;
}

static void add_sarg(Sargs *sargs, uint16_t column, HOp op, HExpr *value, uint32_t conjunct) {
  bool exact = !(conjunct & 0x80000000u);
  if (!value || sargs->count == SARGS_MAX || value->type != sargs->table->columns[column].type) return;
  sargs->items[sargs->count++] = (Sarg){column, op, value, exact, conjunct & 0x7FFFFFFFu};
}

static bool is_row(const Sargs *sargs, const HExpr *expr) { return expr->kind == H_LOCAL && expr->local == sargs->row; }

static bool is_column(const Sargs *sargs, const HExpr *expr) { return expr->kind == H_COLUMN && is_row(sargs, expr->a); }

// The key of the table that a type refers to, when it is one column; else TYPE_NONE.
static uint16_t single_key(const Emit *e, TypeId type) {
  if (type_kind(e->types, type) != TYPE_REF) return SCHEMA_NO_COLUMN;
  const TableDef *table = &e->schema->tables[e->types->types[type].of];
  return table->key_count == 1 ? table->key[0] : SCHEMA_NO_COLUMN;
}

// The row itself is compared: its key columns are.
static void add_row_sargs(Sargs *sargs, HOp op, HExpr *value, uint32_t conjunct) {
  Emit *e = sargs->emit;
  const TableDef *table = sargs->table;
  TypeId key_type = e->types->table_keys[sargs->table_index];
  if (type_kind(e->types, value->type) != TYPE_REF || e->types->types[value->type].of != sargs->table_index) return;
  HExpr *key = make_convert(e, CONVERT_TO_KEY, key_type, value);
  if (table->key_count == 1) {
    add_sarg(sargs, table->key[0], op, key, conjunct);
    return;
  }
  if (op != HOP_EQ) return;
  for (uint16_t i = 0; i < table->key_count; i++) {
    HExpr *part = make_expr(e, H_FIELD, table->columns[table->key[i]].type, key);
    if (part != key) part->index = i;
    add_sarg(sargs, table->key[i], HOP_EQ, part, conjunct | 0x80000000u);
  }
}

// `side op value`: is `side` the row, a column of it, or the key of a reference that is a column of it?
static void add_side_sargs(Sargs *sargs, HExpr *side, HOp op, HExpr *value, uint32_t conjunct) {
  Emit *e = sargs->emit;
  if (side->kind == H_CONVERT && side->op == CONVERT_SOME && op == HOP_EQ) {
    // `T? == T`: none finds nothing; the comparison stays as a filter, since an opened none looks like a zero.
    TypeId inside = side->a->type;
    if (value->kind == H_CONVERT && value->op == CONVERT_SOME) add_side_sargs(sargs, side->a, op, value->a, conjunct);
    else add_side_sargs(sargs, side->a, op, make_expr(e, H_OPEN, inside, value), conjunct | 0x80000000u);
    return;
  }
  if (is_row(sargs, side)) {
    add_row_sargs(sargs, op, value, conjunct);
  } else if (is_column(sargs, side)) {
    add_sarg(sargs, (uint16_t)side->index, op, value, conjunct);
  } else if (side->kind == H_CONVERT && side->op == CONVERT_TO_KEY && is_column(sargs, side->a)) {
    add_sarg(sargs, (uint16_t)side->a->index, op, make_convert(e, CONVERT_TO_REF, side->a->type, value), conjunct);
  } else if (side->kind == H_CONVERT && side->op == CONVERT_TO_KEY && is_row(sargs, side->a) && sargs->table->key_count == 1) {
    add_sarg(sargs, sargs->table->key[0], op, value, conjunct);
  } else if (side->kind == H_COLUMN && is_column(sargs, side->a) && single_key(e, side->a->type) == side->index && value->type == side->type) {
    add_sarg(sargs, (uint16_t)side->a->index, op, make_convert(e, CONVERT_TO_REF, side->a->type, value), conjunct);
  }
}

static HOp op_turned(HOp op) {
  switch (op) {
    case HOP_LT: return HOP_GT;
    case HOP_LE: return HOP_GE;
    case HOP_GT: return HOP_LT;
    case HOP_GE: return HOP_LE;
    case HOP_ADD: case HOP_SUB: case HOP_MUL: case HOP_DIV: case HOP_MOD: case HOP_EQ: case HOP_NE: break;
  }
  return op;
}

static void read_conjunct(Sargs *sargs, HExpr *expr, uint32_t conjunct, bool guarded) {
  const PlanQuestion *question = sargs->question;
  Emit *e = sargs->emit;
  bool negated = expr->kind == H_NOT;
  HExpr *inner = negated ? expr->a : expr;
  if (is_column(sargs, inner)) {  // a bool column alone
    add_sarg(sargs, (uint16_t)inner->index, HOP_EQ, make_const(e, inner->type, !negated, inner->span), conjunct);
    return;
  }
  if (negated && inner->kind == H_HAS && is_column(sargs, inner->a)) {  // `column == none`
    add_sarg(sargs, (uint16_t)inner->a->index, HOP_EQ, make_const(e, inner->a->type, 0, inner->span), conjunct);
    return;
  }
  if (expr->kind != H_COMPARE || expr->op == HOP_NE) return;
  for (int turned = 0; turned < 2; turned++) {
    HExpr *side = turned ? expr->b : expr->a, *value = turned ? expr->a : expr->b;
    if (expr_uses_query(e, value, question->serial, question->clause) || expr_has_position(value)) continue;
    if (guarded && expr_can_fail(value)) continue;
    add_side_sargs(sargs, side, turned ? op_turned((HOp)expr->op) : (HOp)expr->op, value, conjunct);
  }
}

// Conditions behind the rows' own clause, up to where the set of frames changes its meaning.
static void read_conjuncts(Sargs *sargs) {
  const PlanQuestion *question = sargs->question;
  uint32_t end = question->clause + 1;
  while (end < question->query->clause_count) {
    HClauseKind kind = question->query->clauses[end].kind;
    if (kind == HC_GROUP || kind == HC_SKIP || kind == HC_TAKE) break;
    end++;
  }
  bool guarded = false;
  for (uint32_t i = 0; i < question->conjunct_count; i++) {
    const Conjunct *conjunct = &question->conjuncts[i];
    if (conjunct->clause < question->clause || conjunct->clause >= end || conjunct->consumed) continue;
    read_conjunct(sargs, conjunct->expr, i, guarded);
    guarded = guarded || !expr_uses_query(sargs->emit, conjunct->expr, question->serial, question->clause);
  }
}

static bool sargs_begin(Emit *e, const PlanQuestion *question, Sargs *sargs) {
  const HClause *rows = &question->query->clauses[question->clause];
  assert(rows->kind == HC_ROWS);
  sargs->emit = e;
  sargs->question = question;
  sargs->table_index = rows->table;
  sargs->table = &e->schema->tables[rows->table];
  sargs->row = rows->local;
  sargs->count = 0;
  read_conjuncts(sargs);
  return e->failed == ERR_NONE;
}

// ---- one way to the rows --------------------------------------------------------------------------
static IndexColumn way_column(const TableDef *table, uint16_t index, uint32_t place) {
  return index == SCHEMA_NO_INDEX ? (IndexColumn){table->key[place], false} : table->indexes[index].columns[place];
}

static uint32_t way_count(const TableDef *table, uint16_t index) {
  return index == SCHEMA_NO_INDEX ? table->key_count : table->indexes[index].column_count;
}

static bool is_pinned(const TableDef *table, const Way *way, uint16_t column) {
  for (uint32_t i = 0; i < way->equal_count; i++)
    if (way_column(table, way->index, i).column == column) return true;
  return false;
}

static void use(Way *way, const Sarg *sarg) {
  if (sarg->exact) way->used[way->used_count++] = sarg->conjunct;
}

static void take_bounds(const Sargs *sargs, Way *way) {
  uint32_t columns = way_count(sargs->table, way->index);
  while (way->equal_count < columns) {
    uint16_t column = way_column(sargs->table, way->index, way->equal_count).column;
    const Sarg *found = NULL;
    for (uint32_t i = 0; i < sargs->count && !found; i++)
      if (sargs->items[i].column == column && sargs->items[i].op == HOP_EQ) found = &sargs->items[i];
    if (!found) break;
    way->equal[way->equal_count++] = found->value;
    use(way, found);
  }
  if (way->equal_count == columns) return;
  uint16_t column = way_column(sargs->table, way->index, way->equal_count).column;
  for (uint32_t i = 0; i < sargs->count; i++) {
    const Sarg *sarg = &sargs->items[i];
    if (sarg->column != column) continue;
    if (!way->low && (sarg->op == HOP_GT || sarg->op == HOP_GE)) {
      way->low = sarg->value;
      way->low_inclusive = sarg->op == HOP_GE;
      use(way, sarg);
    } else if (!way->high && (sarg->op == HOP_LT || sarg->op == HOP_LE)) {
      way->high = sarg->value;
      way->high_inclusive = sarg->op == HOP_LE;
      use(way, sarg);
    }
  }
}

// The columns that still differ between the rows of the range, in the order in which the way gives them. The last
// `key_part` of them are the table's key.
static uint32_t way_order(const TableDef *table, const Way *way, IndexColumn *out, uint32_t *out_key_start) {
  uint32_t count = 0;
  if (way->index != SCHEMA_NO_INDEX)
    for (uint32_t i = way->equal_count; i < table->indexes[way->index].column_count; i++) out[count++] = table->indexes[way->index].columns[i];
  *out_key_start = count;
  for (uint16_t i = 0; i < table->key_count; i++)
    if (!is_pinned(table, way, table->key[i])) out[count++] = (IndexColumn){table->key[i], false};
  return count;
}

// Is what stands in `order` from `at` on the same as the key order of rows that agree in all columns before?
static bool rest_is_key(const TableDef *table, const Way *way, const IndexColumn *order, uint32_t count, uint32_t at) {
  for (uint16_t i = 0; i < table->key_count; i++) {
    uint16_t column = table->key[i];
    bool settled = is_pinned(table, way, column);
    for (uint32_t j = 0; j < at && !settled; j++) settled = order[j].column == column;
    if (settled) continue;
    while (at < count && order[at].column != column) {
      bool known = false;
      for (uint32_t j = 0; j < at && !known; j++) known = order[j].column == order[at].column;
      if (!known) return false;
      at++;
    }
    if (at == count || order[at].descending) return false;
    at++;
  }
  return true;
}

static uint16_t key_column(const Sargs *sargs, const HExpr *expr) {
  const TableDef *table = sargs->table;
  if (is_column(sargs, expr)) return (uint16_t)expr->index;
  if (expr->kind == H_CONVERT && expr->op == CONVERT_TO_KEY) expr = expr->a;
  if (is_row(sargs, expr) && table->key_count == 1) return table->key[0];
  return is_column(sargs, expr) ? (uint16_t)expr->index : SCHEMA_NO_COLUMN;  // the key of a reference orders as the reference
}

static void check_order(const Sargs *sargs, Way *way) {
  const PlanQuestion *question = sargs->question;
  IndexColumn order[ORDER_COLUMNS_MAX];
  uint32_t key_start, count = way_order(sargs->table, way, order, &key_start), at = 0;
  way->key_ordered = rest_is_key(sargs->table, way, order, count, 0);
  if (!question->order) return;
  bool turned = false, first = true;
  for (uint32_t i = 0; i < question->order_count && at < count; i++) {
    uint16_t column = key_column(sargs, question->order[i].value);
    if (column == SCHEMA_NO_COLUMN) return;
    if (is_pinned(sargs->table, way, column)) continue;
    while (at < count && order[at].column != column && at > 0) {  // a column that came before decides nothing any more
      bool known = false;
      for (uint32_t j = 0; j < at && !known; j++) known = order[j].column == order[at].column;
      if (!known) return;
      at++;
    }
    if (at == count) break;
    bool known = false;
    for (uint32_t j = 0; j < at && !known; j++) known = order[j].column == column;
    if (known) continue;
    if (order[at].column != column) return;
    bool against = order[at].descending != question->order[i].descending;
    if (!first && against != turned) return;
    turned = against;
    first = false;
    at++;
  }
  bool total = at == count;
  if (!total && question->ties_matter && (turned || !rest_is_key(sargs->table, way, order, count, at))) return;
  way->ordered = true;
  way->backward = turned;
}

static bool pins_unique(const TableDef *table, const Way *way) {
  if (way->index == SCHEMA_NO_INDEX) return way->equal_count == table->key_count;
  const IndexDef *index = &table->indexes[way->index];
  return index->unique && index->condition == SCHEMA_NO_COLUMN && way->equal_count == index->column_count;
}

static int way_score(const Sargs *sargs, const Way *way) {
  const PlanQuestion *question = sargs->question;
  if (question->need_key_order && !way->key_ordered) return -1;
  int score = way->point ? 100000 : way->equal_count * 1000;
  if (way->ordered) score += question->take_follows ? 500 : 300;
  if (way->low || way->high) score += way->low && way->high ? 450 : 400;
  if (way->key_ordered) score += 50;
  if (way->index == SCHEMA_NO_INDEX) score += 20;
  return score - (int)way_count(sargs->table, way->index);
}

void plan_choose(Emit *e, const PlanQuestion *question, Way *out_access) {
  *out_access = (Way){.index = SCHEMA_NO_INDEX, .key_ordered = true};
  Sargs *sargs = arena_alloc(&e->scratch, sizeof *sargs);  // not cleared: it is large
  if (!sargs || !sargs_begin(e, question, sargs)) return;
  int best = -1;
  for (uint32_t i = 0; i <= sargs->table->index_count; i++) {
    Way way = {.index = i == 0 ? SCHEMA_NO_INDEX : (uint16_t)(i - 1)};
    take_bounds(sargs, &way);
    way.point = pins_unique(sargs->table, &way);
    check_order(sargs, &way);
    int score = way_score(sargs, &way);
    if (score <= best) continue;
    best = score;
    *out_access = way;
  }
}

// ---- the index that would help --------------------------------------------------------------------
static void suggest_column(const Sargs *sargs, Buf *buf, uint64_t *seen, uint16_t column, bool descending) {
  if (column < 64 && (*seen & (1ull << column))) return;
  if (column < 64) *seen |= 1ull << column;
  const ColumnDef *def = &sargs->table->columns[column];
  if (def->hidden) return;
  buf_add_text(buf, buf->len ? ", " : "index ");
  buf_add_str(buf, def->name);
  if (descending) buf_add_text(buf, " desc");
}

Str plan_suggest_index(Emit *e, const PlanQuestion *question) {
  Sargs *sargs = arena_alloc(&e->scratch, sizeof *sargs);  // not cleared: it is large
  if (!sargs || !sargs_begin(e, question, sargs)) return (Str){0};
  Buf buf;
  buf_init(&buf, 0);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < sargs->count; i++)
    if (sargs->items[i].op == HOP_EQ) suggest_column(sargs, &buf, &seen, sargs->items[i].column, false);
  bool ranged = false;
  for (uint32_t i = 0; i < sargs->count && !ranged; i++) {
    if (sargs->items[i].op == HOP_EQ) continue;
    bool descending = false;
    for (uint32_t j = 0; j < question->order_count; j++)
      if (key_column(sargs, question->order[j].value) == sargs->items[i].column) descending = question->order[j].descending;
    suggest_column(sargs, &buf, &seen, sargs->items[i].column, descending);
    ranged = true;
  }
  for (uint32_t i = 0; i < question->order_count; i++) {
    uint16_t column = key_column(sargs, question->order[i].value);
    bool is_behind = sargs->table->key_count == 1 && column == sargs->table->key[0] && !question->order[i].descending;
    if (column == SCHEMA_NO_COLUMN || is_behind) break;  // the key stands behind the columns of every index
    suggest_column(sargs, &buf, &seen, column, question->order[i].descending);
  }
  Str words = arena_copy(e->arena, buf_str(&buf));
  buf_free(&buf);
  return words;
}
