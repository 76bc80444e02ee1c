// Aggregates: over a query, over a list, and over the rows of a group. They skip none.
#include "compiler/check/internal.h"

#include <assert.h>

typedef struct AggregateName { const char *name; AggregateKind kind; } AggregateName;
static const AggregateName NAMES[] = {
  {"count", AGGREGATE_COUNT}, {"count_if", AGGREGATE_COUNT_IF}, {"sum", AGGREGATE_SUM}, {"min", AGGREGATE_MIN}, {"max", AGGREGATE_MAX},
  {"avg", AGGREGATE_AVG}, {"first", AGGREGATE_FIRST}, {"last", AGGREGATE_LAST}, {"list", AGGREGATE_LIST}, {"distinct", AGGREGATE_DISTINCT},
  {"any", AGGREGATE_ANY}, {"all", AGGREGATE_ALL}};

static int kind_of(Str name) {
  for (size_t i = 0; i < countof(NAMES); i++)
    if (str_is(name, NAMES[i].name)) return NAMES[i].kind;
  return -1;
}

static const char *name_of(AggregateKind kind) {
  for (size_t i = 0; i < countof(NAMES); i++)
    if (NAMES[i].kind == kind) return NAMES[i].name;
  return "";
}

// ---- what may be aggregated -------------------------------------------------------------------

static bool suits(Check *check, AggregateKind kind, const HExpr *a) {
  TypeId type = a->type;
  bool number = type == ID_INT || type == ID_FLOAT || type == ID_DURATION || types_is(&check->types, type, TYPE_DECIMAL), fits = true;
  const char *needs = "";
  switch (kind) {
    case AGGREGATE_SUM: case AGGREGATE_AVG: fits = number; needs = "numbers or durations"; break;
    case AGGREGATE_MIN: case AGGREGATE_MAX: fits = type_is_ordered(&check->types.table, type); needs = "values with an order"; break;
    case AGGREGATE_ANY: case AGGREGATE_ALL: case AGGREGATE_COUNT_IF: fits = type == ID_BOOL; needs = "conditions"; break;
    case AGGREGATE_COUNT: case AGGREGATE_FIRST: case AGGREGATE_LAST: case AGGREGATE_LIST: case AGGREGATE_DISTINCT: case AGGREGATE_KINDS: break;
  }
  if (fits) return true;
  Str name = type_name(check, type);
  Diag *diag = diag_add(check->diags, DIAG_E201, a->span, "`%s` works on %s, this is %s" STR_FMT, name_of(kind), needs, type_article(name), STR_ARG(name));
  if (type == ID_BOOL && kind == AGGREGATE_SUM) diag_help(check->diags, diag, "`count_if` counts what is true");
  else if (kind == AGGREGATE_ALL || kind == AGGREGATE_ANY) diag_help(check->diags, diag, "end the query with `select` and a condition");
  return false;
}

// The type of the result; `may_be_empty`: over a query, which may have no row.
static TypeId result_of(Check *check, AggregateKind kind, TypeId type, bool may_be_empty) {
  TypeBuilder *types = &check->types;
  switch (kind) {
    case AGGREGATE_COUNT: case AGGREGATE_COUNT_IF: return ID_INT;
    case AGGREGATE_SUM: return type;
    case AGGREGATE_AVG:
      if (type == ID_INT) type = ID_FLOAT;
      return may_be_empty ? types_optional(types, type) : type;
    case AGGREGATE_MIN: case AGGREGATE_MAX: case AGGREGATE_FIRST: case AGGREGATE_LAST:
      return may_be_empty ? types_optional(types, type) : type;
    case AGGREGATE_LIST: case AGGREGATE_DISTINCT: return types_list(types, type);
    case AGGREGATE_ANY: case AGGREGATE_ALL: return ID_BOOL;
    case AGGREGATE_KINDS: break;
  }
  return ID_POISON;
}

// ---- over a query -----------------------------------------------------------------------------

static void add_where(HQuery *query, HExpr *condition) {
  query->clauses[query->clause_count++] = (HClause){.kind = HC_WHERE, .local = NO_LOCAL, .a = condition, .span = condition->span};
}

// Rows whose value is none do not count.
static void skip_none(Check *check, HQuery *query) {
  HExpr *select = query->select;
  if (!types_is(&check->types, select->type, TYPE_OPTIONAL)) return;
  if (!h_is_simple(select)) {
    LocalId local = local_hidden(check, select->type, select->span);
    query->clauses[query->clause_count++] = (HClause){.kind = HC_WITH, .local = local, .a = select, .span = select->span};
    select = h_local(check, local, select->span);
  }
  add_where(query, h_unary(check, H_HAS, ID_BOOL, select, select->span));
  query->select = h_open(check, select);
}

static HExpr *over_frames(Check *check, AggregateKind kind, HQuery *query, TypeId mean, Span span) {
  skip_none(check, query);
  if (!suits(check, kind, query->select)) return h_poison(check, span);
  if (kind == AGGREGATE_COUNT_IF) { add_where(query, query->select); kind = AGGREGATE_COUNT; }
  TypeId type = mean == TYPE_NONE ? result_of(check, kind, query->select->type, true) : types_optional(&check->types, mean);
  HExpr *made = h_new(check, kind == AGGREGATE_LIST ? H_QUERY : H_AGGREGATE, type, span);
  made->op = (uint8_t)(kind == AGGREGATE_LIST ? 0 : kind);
  made->query = query;
  made->of = kind == AGGREGATE_COUNT || kind == AGGREGATE_LIST ? NULL : query->select;
  return made;
}

// `avg(x, s)`: the type of a mean with that many digits. TYPE_NONE: it was said why there is none.
static TypeId mean_type(Check *check, const Expr *written, const HExpr *value) {
  int64_t scale;
  if (!const_int(check, written, ID_INT, &scale)) return TYPE_NONE;
  if (scale < 0 || scale > DECIMAL_SCALE_MAX) { diag_add(check->diags, DIAG_E203, written->span, "a decimal keeps 0 to %d digits after the point (DECIMAL_SCALE_MAX)", DECIMAL_SCALE_MAX); return TYPE_NONE; }
  TypeId open = types_open(&check->types, value->type);
  if (open == ID_INT || types_is(&check->types, open, TYPE_DECIMAL)) return types_decimal(&check->types, (unsigned)scale);
  if (is_poison(value)) return TYPE_NONE;
  Str name = type_name(check, open);
  Diag *diag = diag_add(check->diags, DIAG_E201, value->span, "a mean with digits is one of ints or decimals, this is %s" STR_FMT, type_article(name), STR_ARG(name));
  diag_help(check->diags, diag, "leave out the number of digits");
  return TYPE_NONE;
}

static bool selects(const Expr *query) {
  return query->clauses.items[query->clauses.count - 1].kind == CLAUSE_SELECT;
}

static HExpr *over_query(Check *check, AggregateKind kind, const Expr *written, const Expr *scale, Span span) {
  HQuery *query = query_of(check, written);
  if (!query) return h_poison(check, span);
  TypeId mean = scale ? mean_type(check, scale, query->select) : TYPE_NONE;
  if (scale && mean == TYPE_NONE) return h_poison(check, span);
  if (kind == AGGREGATE_ANY && !selects(written) && query->select->type != ID_BOOL) query->select = h_bool(check, true, span);  // is there one?
  return over_frames(check, kind, query, mean, span);
}

// ---- over a list ------------------------------------------------------------------------------

static bool is_collection(const Check *check, TypeId type) {
  return types_is(&check->types, type, TYPE_LIST) || types_is(&check->types, type, TYPE_SET) || types_is(&check->types, type, TYPE_MAP);
}

static HExpr *over_list(Check *check, AggregateKind kind, HExpr *list, const Expr *scale, Span span) {
  if (kind == AGGREGATE_COUNT) return h_unary(check, H_COUNT, ID_INT, list, span);
  if (kind == AGGREGATE_LIST && types_is(&check->types, list->type, TYPE_LIST)) return list;
  if (types_is(&check->types, list->type, TYPE_MAP)) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E107, list->span, "`%s` works on a list", name_of(kind)), "the values of a map: `values(…)`");
    return h_poison(check, span);
  }
  LocalId item;
  HQuery *query = query_over_list(check, list, &item);
  TypeId mean = query && scale ? mean_type(check, scale, query->select) : TYPE_NONE;
  if (!query || (scale && mean == TYPE_NONE)) return h_poison(check, span);
  return over_frames(check, kind, query, mean, span);
}

// ---- over a group -----------------------------------------------------------------------------

// The machine passes over what is none; a condition that is none does not hold, and does not stand against `all`.
static HExpr *skip_none_in_group(Check *check, AggregateKind *kind, HExpr *value) {
  if (!types_is(&check->types, value->type, TYPE_OPTIONAL)) return value;
  if (*kind == AGGREGATE_COUNT) { *kind = AGGREGATE_COUNT_IF; return h_unary(check, H_HAS, ID_BOOL, value, value->span); }
  bool condition = *kind == AGGREGATE_ANY || *kind == AGGREGATE_ALL || *kind == AGGREGATE_COUNT_IF;
  if (!condition || types_of(&check->types, value->type) != ID_BOOL) return value;
  LocalId local = local_hidden(check, ID_BOOL, value->span);
  return h_if_some(check, local, value, h_local(check, local, value->span), h_bool(check, *kind == AGGREGATE_ALL, value->span));
}

static HExpr *group_local(Check *check, HClause *group, AggregateKind kind, HExpr *value, TypeId type, Span span) {
  for (uint32_t i = 0; i < group->aggregate_count; i++) {
    const HAggregate *known = &group->aggregates[i];
    bool same = known->kind == kind && (known->value == value || (known->value && value && h_equal(check, known->value, value)));
    if (!same) continue;
    HExpr *made = h_local(check, known->local, span);
    if (made->type == type) return made;  // a mean with other digits is another aggregate
  }
  if (group->aggregate_count == PLAN_AGGREGATES_MAX) {
    diag_add(check->diags, DIAG_E026, span, "a group has at most %d aggregates (PLAN_AGGREGATES_MAX)", PLAN_AGGREGATES_MAX);
    return h_poison(check, span);
  }
  HAggregate *grown = CHECK_ARRAY(check, HAggregate, group->aggregate_count + 1);  // few, so a copy each time is cheap
  if (!grown) return h_poison(check, span);
  if (group->aggregate_count) memcpy(grown, group->aggregates, group->aggregate_count * sizeof *grown);
  group->aggregates = grown;
  LocalId local = local_hidden(check, type, span);
  group->aggregates[group->aggregate_count++] = (HAggregate){.kind = (uint8_t)kind, .local = local, .value = value};
  return h_local(check, local, span);
}

static HExpr *over_group(Check *check, AggregateKind kind, HExpr *value, const Expr *scale, Span span) {
  QueryScope *scope = check->body->query;
  if (is_poison(value)) return value;
  TypeId mean = scale ? mean_type(check, scale, value) : TYPE_NONE;
  if (scale && mean == TYPE_NONE) return h_poison(check, span);
  HExpr *counted = skip_none_in_group(check, &kind, value);
  HExpr inside = *counted;
  inside.type = types_open(&check->types, counted->type);
  if (!suits(check, kind, &inside)) return h_poison(check, span);
  TypeId type = mean == TYPE_NONE ? result_of(check, kind, inside.type, inside.type != counted->type)
                                  : inside.type == counted->type ? mean : types_optional(&check->types, mean);
  HExpr *made = group_local(check, scope->group, kind, kind == AGGREGATE_COUNT ? NULL : fit(check, counted), type, span);
  if (made->kind == H_LOCAL && kind == AGGREGATE_SUM) made->op = LOCAL_IS_WIDE;
  return made;
}

// ---- which of the three -----------------------------------------------------------------------

static HExpr *in_group(Check *check, AggregateKind kind, const Expr *written, const Expr *scale, Span span, bool *out_found) {
  QueryScope *scope = check->body ? check->body->query : NULL;
  if (!scope || !scope->group || scope->lifted) return NULL;
  scope->lifted = true;
  scope->touched = false;
  HExpr *value = check_expr(check, written, TYPE_NONE);
  scope->lifted = false;
  *out_found = true;
  if (scope->touched) return over_group(check, kind, value, scale, span);
  if (is_poison(value) || is_collection(check, value->type)) return is_poison(value) ? value : over_list(check, kind, value, scale, span);
  Diag *diag = diag_add(check->diags, DIAG_E209, written->span, "`%s` works on the rows of the group, and this uses none of them", name_of(kind));
  diag_help(check->diags, diag, "name a row: `%s(x.field)`", name_of(kind));
  return h_poison(check, span);
}

HExpr *check_aggregate(Check *check, const Expr *call, Name name, HExpr *receiver, TypeId want, bool *out_found) {
  (void)want;
  int kind = kind_of(sym_str(check, name.sym));
  const ArgList *args = &call->call.args;
  uint32_t count = args->count + (receiver != NULL);
  bool with_scale = kind == AGGREGATE_AVG && count == 2;
  if (kind < 0 || (count != 1 && !with_scale) || !check->body) return NULL;
  const Expr *scale = with_scale ? args->items[args->count - 1].value : NULL;
  if (receiver) {
    if (!is_collection(check, receiver->type)) return NULL;
    *out_found = true;
    return over_list(check, (AggregateKind)kind, receiver, scale, call->span);
  }
  const Expr *written = args->items[0].value;
  if (args->items[0].name.sym) return NULL;
  if (written->kind == EXPR_QUERY) {
    *out_found = true;
    return over_query(check, (AggregateKind)kind, written, scale, call->span);
  }
  HExpr *made = in_group(check, (AggregateKind)kind, written, scale, call->span, out_found);
  if (*out_found) return made;
  HExpr *value = check_expr(check, written, TYPE_NONE);
  *out_found = true;
  if (is_poison(value)) return value;
  if (is_collection(check, value->type)) return over_list(check, (AggregateKind)kind, value, scale, call->span);
  if (value->type == ID_EMPTY) return kind == AGGREGATE_COUNT ? h_int(check, 0, call->span) : value;
  Str found = type_name(check, value->type);
  Diag *diag = diag_add(check->diags, DIAG_E107, value->span, "`" STR_FMT "` works on a query, a list or the rows of a group, this is %s" STR_FMT, SYM_ARG(check, name.sym), type_article(found), STR_ARG(found));
  if (value->type == ID_TEXT) diag_help(check->diags, diag, "the length of a text is `len(…)`");
  if (types_is(&check->types, value->type, TYPE_OPTIONAL)) diag_help(check->diags, diag, "it may be none: open it before, `?? []`");
  if ((kind == AGGREGATE_MIN || kind == AGGREGATE_MAX) && !diag->help.len) diag_help(check->diags, diag, "of two values: `%s_of(a, b)`", name_of((AggregateKind)kind));
  return h_poison(check, call->span);
}
