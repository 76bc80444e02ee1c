// What follows a value: `.field`, `?.field`, `.f(…)`, `[…]`. A chain is walked in a loop from its start. A `?.` opens what
// stands before it for the whole rest of the chain: `a?.b[0].c` is none when `a` is.
#include "compiler/check/internal.h"

#include <assert.h>

// ---- fields -----------------------------------------------------------------------------------

static HExpr *computed_of(Check *check, HExpr *row, TableInfo *table, ComputedInfo *computed, Span span) {
  if (computed->hidden) return column_of(check, row, table, computed->hidden - 1, span);
  Fn *fn = computed->fn;
  if (!fn->result_known && fn->progress == PROGRESS_BUSY) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E108, span, "the value of `" STR_FMT "` needs itself", SYM_ARG(check, computed->sym)), "if that is meant otherwise, write its type: `let " STR_FMT ": int = …`", SYM_ARG(check, computed->sym));
    return h_poison(check, span);
  }
  if (!fn->result_known) body_check(check, fn);
  HExpr *args[] = {row};
  return call_fn(check, fn, args, 1, span);
}

static HExpr *say_no_field(Check *check, const HExpr *base, Name name) {
  if (!check__first_time(check, DIAG_E102, base->type, name.sym)) return h_poison(check, name.span);
  Str type = type_name(check, base->type);
  Diag *diag = diag_add(check->diags, DIAG_E102, name.span, "%s" STR_FMT " has no field `" STR_FMT "`", type_article(type), STR_ARG(type), SYM_ARG(check, name.sym));
  TableInfo *table = table_of(check, base->type);
  if (table) near_columns(check, diag, table, name);
  else if (types_is(&check->types, base->type, TYPE_RECORD)) {
    uint32_t record = types_of(&check->types, base->type);
    near_syms(check, diag, name, check->types.infos[record].syms, check->types.records[record].field_count);
  }
  if (!diag->help.len && (builtin_is(sym_str(check, name.sym)) || space_find(check, SPACE_VALUE, name.sym) != MAP_NOTHING))
    diag_help(check->diags, diag, "to call it write `." STR_FMT "()`", SYM_ARG(check, name.sym));
  return h_poison(check, name.span);
}

static uint32_t record_field_find(const Check *check, uint32_t record, Sym sym) {
  const RecordDef *def = &check->types.records[record];
  const Sym *syms = check->types.infos[record].syms;
  if (check->types.infos[record].decl) return member_find(check, OWNER_RECORD, record, sym);
  for (uint32_t i = 0; i < def->field_count; i++)
    if (syms[i] == sym) return i;
  return MAP_NOTHING;
}

HExpr *field_of(Check *check, HExpr *base, Name name, Span span) {
  if (is_poison(base)) return base;
  TableInfo *table = table_of(check, base->type);
  if (table) {
    uint32_t column = column_find(check, table, name.sym);
    if (column != MAP_NOTHING) return column_of(check, base, table, column, span);
    ComputedInfo *computed = computed_find(check, table, name.sym);
    return computed ? computed_of(check, base, table, computed, span) : say_no_field(check, base, name);
  }
  if (types_is(&check->types, base->type, TYPE_RECORD)) {
    uint32_t record = types_of(&check->types, base->type), field = record_field_find(check, record, name.sym);
    if (field == MAP_NOTHING) return say_no_field(check, base, name);
    HExpr *made = h_unary(check, H_FIELD, check->types.records[record].fields[field].type, base, span);
    made->index = field;
    return made->type == ID_POISON ? h_poison(check, span) : read_path(check, made);
  }
  if (types_is(&check->types, base->type, TYPE_OPTIONAL)) {
    Diag *diag = diag_add(check->diags, DIAG_E202, base->span, "this may be none, so `." STR_FMT "` needs it opened", SYM_ARG(check, name.sym));
    diag_help(check->diags, diag, "write `?." STR_FMT "`, or open it before: `let x = … else reject …`, `if let x = … { }`", SYM_ARG(check, name.sym));
    return h_poison(check, span);
  }
  return say_no_field(check, base, name);
}

// ---- items ------------------------------------------------------------------------------------

static HExpr *one_arg(Check *check, const Expr *expr, TypeId want, const char *what) {
  const ArgList *args = &expr->call.args;
  if (args->count == 1 && !args->items[0].name.sym) return check_value(check, args->items[0].value, want, &(Why){.what = what});
  for (uint32_t i = 0; i < args->count; i++) check_expr(check, args->items[i].value, TYPE_NONE);
  diag_add(check->diags, DIAG_E206, expr->span, "one value stands in the brackets, here are %u", args->count);
  return h_poison(check, expr->span);
}

static HExpr *item_of(Check *check, HExpr *base, const Expr *expr) {
  if (types_is(&check->types, base->type, TYPE_LIST)) {
    HExpr *at = one_arg(check, expr, ID_INT, "items are numbered from 0; the number is");
    TypeId of = types_of(&check->types, base->type);
    if (is_poison(at)) return at;
    return h_binary(check, H_ITEM, HOP_EQ, types_optional(&check->types, of), base, at, expr->span);
  }
  if (types_is(&check->types, base->type, TYPE_MAP)) {
    Type map = check->types.types[base->type];
    HExpr *key = one_arg(check, expr, map.of, "the key of this map is");
    return is_poison(key) ? key : h_binary(check, H_LOOKUP, HOP_EQ, types_optional(&check->types, map.to), base, key, expr->span);
  }
  for (uint32_t i = 0; i < expr->call.args.count; i++) check_expr(check, expr->call.args.items[i].value, TYPE_NONE);
  if (is_poison(base)) return base;
  Str name = type_name(check, base->type);
  Diag *diag = diag_add(check->diags, DIAG_E107, base->span, "only lists, maps and tables have items, this is %s" STR_FMT, type_article(name), STR_ARG(name));
  if (types_is(&check->types, base->type, TYPE_OPTIONAL)) diag_help(check->diags, diag, "it may be none: open it before with `??` or `if let`");
  if (base->type == ID_TEXT) diag_help(check->diags, diag, "a part of a text: `slice(text, from, n)`");
  return h_poison(check, expr->span);
}

// ---- rows -------------------------------------------------------------------------------------

typedef struct KeyParts {
  HExpr *values[SCHEMA_KEY_COLUMNS_MAX], *optional[SCHEMA_KEY_COLUMNS_MAX];
  LocalId locals[SCHEMA_KEY_COLUMNS_MAX];
  uint32_t count;
  bool poisoned;
} KeyParts;

// A key that is none finds nothing, so an optional is opened here and not asked of the writer.
static void add_key_part(Check *check, KeyParts *parts, const Expr *written, const ColumnInfo *column) {
  uint32_t i = parts->count++;
  TypeId want = types_open(&check->types, column->type);
  HExpr *value = check_expr(check, written, want);
  parts->optional[i] = NULL;
  if (types_is(&check->types, value->type, TYPE_OPTIONAL)) {
    parts->optional[i] = value;
    parts->locals[i] = local_hidden(check, types_of(&check->types, value->type), value->span);
    value = h_local(check, parts->locals[i], value->span);
  }
  value = coerce(check, value, want, &(Why){.what = "the field", .name = column->sym, .span = column->span});
  parts->poisoned |= is_poison(value);
  parts->values[i] = value;
}

static HExpr *end_key_parts(Check *check, const KeyParts *parts, HExpr *found) {
  for (uint32_t i = parts->count; i-- > 0;)
    if (parts->optional[i]) found = h_if_some(check, parts->locals[i], parts->optional[i], found, h_none(check, found->type, found->span));
  return found;
}

static HExpr *find_by_key(Check *check, TableInfo *table, const Expr *expr) {
  const ArgList *args = &expr->call.args;
  KeyParts parts = {.count = 0};
  if (args->count != table->key_count) {
    for (uint32_t i = 0; i < args->count; i++) check_expr(check, args->items[i].value, TYPE_NONE);
    if (!table->key_count) return h_poison(check, expr->span);
    Diag *diag = diag_add(check->diags, DIAG_E206, expr->span, "the key of `" STR_FMT "` has %u part%s, here %s %u", STR_ARG(table->name), table->key_count, table->key_count == 1 ? "" : "s", args->count == 1 ? "is" : "are", args->count);
    diag_label(check->diags, diag, table->columns[table->key[0]].span, "the key");
    return h_poison(check, expr->span);
  }
  for (uint32_t i = 0; i < args->count; i++) add_key_part(check, &parts, args->items[i].value, &table->columns[table->key[i]]);
  if (parts.poisoned) return h_poison(check, expr->span);
  HExpr *key = parts.values[0];
  if (parts.count > 1) {
    key = h_args(check, H_RECORD, table->key_type, parts.count, expr->span);
    for (uint32_t i = 0; i < key->args.count; i++) key->args.items[i] = parts.values[i];
  }
  HExpr *found = h_unary(check, H_FIND, types_optional(&check->types, table->ref), key, expr->span);
  found->table = table->id;
  return end_key_parts(check, &parts, found);
}

static uint32_t unique_index(const TableInfo *table, const ArgList *args) {
  for (uint32_t i = 0; i < table->index_count; i++) {
    const IndexInfo *index = &table->indexes[i];
    if (!index->unique || index->condition != SCHEMA_NO_COLUMN || index->column_count != args->count) continue;
    uint32_t same = 0;
    for (uint32_t k = 0; k < args->count; k++)
      for (uint32_t c = 0; c < index->column_count; c++) same += table->columns[index->columns[c].column].sym == args->items[k].name.sym;
    if (same == args->count) return i;
  }
  return MAP_NOTHING;
}

static HExpr *find_by_unique(Check *check, TableInfo *table, const Expr *expr) {
  const ArgList *args = &expr->call.args;
  uint32_t number = unique_index(table, args);
  if (number == MAP_NOTHING) {
    for (uint32_t i = 0; i < args->count; i++) check_expr(check, args->items[i].value, TYPE_NONE);
    Diag *diag = diag_add(check->diags, DIAG_E206, expr->span, "`" STR_FMT "` has no `unique` rule over just this", STR_ARG(table->name));
    diag_help(check->diags, diag, "look for it with a query: `first(from x in " STR_FMT " where …)`, or add `unique` to the table", STR_ARG(table->name));
    return h_poison(check, expr->span);
  }
  const IndexInfo *index = &table->indexes[number];
  KeyParts parts = {.count = 0};
  for (uint32_t c = 0; c < index->column_count; c++)
    for (uint32_t k = 0; k < args->count; k++)
      if (table->columns[index->columns[c].column].sym == args->items[k].name.sym) add_key_part(check, &parts, args->items[k].value, &table->columns[index->columns[c].column]);
  if (parts.poisoned) return h_poison(check, expr->span);
  HExpr *found = h_args(check, H_FIND_UNIQUE, types_optional(&check->types, table->ref), parts.count, expr->span);
  for (uint32_t i = 0; i < found->args.count; i++) {
    TypeId type = table->columns[index->columns[i].column].type;
    found->args.items[i] = types_is(&check->types, type, TYPE_OPTIONAL) ? h_some(check, parts.values[i]) : parts.values[i];
  }
  found->table = table->id;
  found->index = number;
  return end_key_parts(check, &parts, found);
}

static HExpr *find_row(Check *check, TableInfo *table, const Expr *expr) {
  bool named = expr->call.args.count && expr->call.args.items[0].name.sym;
  return named && expr->call.args.count <= SCHEMA_KEY_COLUMNS_MAX ? find_by_unique(check, table, expr) : find_by_key(check, table, expr);
}

// ---- enums ------------------------------------------------------------------------------------

static HExpr *say_no_case(Check *check, uint16_t number, Name name) {
  if (!check__first_time(check, DIAG_E103, number, name.sym)) return h_poison(check, name.span);
  const EnumDef *def = &check->types.enums[number];
  Diag *diag = diag_add(check->diags, DIAG_E103, name.span, "the enum `" STR_FMT "` has no case `" STR_FMT "`", STR_ARG(def->name), SYM_ARG(check, name.sym));
  const CaseList *cases = &check->types.enum_decls[number]->enumeration.cases;
  Sym *syms = CHECK_ARRAY(check, Sym, cases->count);
  for (uint32_t i = 0; syms && i < cases->count; i++) syms[i] = cases->items[i].name.sym;
  if (syms) near_syms(check, diag, name, syms, cases->count);
  return h_poison(check, name.span);
}

static HExpr *case_of(Check *check, NamedType *named, const Expr *node) {
  bool is_call = node->kind == EXPR_CALL;
  Name name = is_call ? node->call.callee->field.name : node->field.name;
  if (named->type == ID_POISON) return h_poison(check, node->span);
  uint16_t number = types_of(&check->types, named->type);
  uint32_t tag = member_find(check, OWNER_ENUM, number, name.sym);
  if (tag == MAP_NOTHING) return say_no_case(check, number, name);
  const CaseDef *def = &check->types.enums[number].cases[tag];
  if (def->field_count || is_call) return check_case(check, is_call ? node : NULL, name, number);
  if (check->types.enums[number].plain) return h_const(check, named->type, (Value){.i = tag}, node->span);
  HExpr *made = h_args(check, H_VARIANT, named->type, 0, node->span);
  made->index = tag;
  return made;
}

// ---- chains -----------------------------------------------------------------------------------

static const Expr *before(const Expr *node) {
  if (node->kind == EXPR_FIELD) return node->field.base;
  if (node->kind == EXPR_INDEX) return node->call.callee;
  if (node->kind == EXPR_CALL && node->call.callee->kind == EXPR_FIELD && !node->call.callee->in_parens) return node->call.callee->field.base;
  return NULL;
}

static bool is_link(const Expr *node) { return !node->in_parens && before(node) != NULL; }

// A name that can only mean a type here.
static NamedType *type_named(Check *check, const Expr *leaf) {
  if (leaf->kind != EXPR_NAME || local_find(check, leaf->name.sym) != MAP_NOTHING) return NULL;
  TableInfo *self = check->body ? check->body->fn->self : NULL;
  if (self && (column_find(check, self, leaf->name.sym) != MAP_NOTHING || computed_find(check, self, leaf->name.sym))) return NULL;
  uint32_t number = space_find(check, SPACE_VALUE, leaf->name.sym);
  if (number != MAP_NOTHING && check->values.items[number].kind != VALUE_FUNCTION) return NULL;
  return named_find(check, leaf->name.sym);
}

static HExpr *check_start(Check *check, const Expr *leaf, const Expr *first, bool *out_used_first) {
  NamedType *named = type_named(check, leaf);
  *out_used_first = true;
  if (named && named->kind == NAMED_TABLE && first->kind == EXPR_INDEX) return named->table ? find_row(check, named->table, first) : h_poison(check, first->span);
  if (named && named->kind == NAMED_ENUM && first->kind != EXPR_INDEX) return case_of(check, named, first);
  *out_used_first = false;
  if (leaf->kind == EXPR_CALL && leaf->call.callee->kind == EXPR_NAME) return check_call(check, leaf, leaf->call.callee->name, NULL, TYPE_NONE);
  return check_expr(check, leaf, TYPE_NONE);
}

typedef struct Opened { LocalId local; HExpr *value; } Opened;

// Behind another `?.` of the chain a second one may be superfluous: `a?.b` alone would be optional.
static HExpr *open_for_rest(Check *check, HExpr *a, Opened *out, bool is_open) {
  out->value = NULL;
  if (is_poison(a) || a->kind == H_OPEN || (is_open && !types_is(&check->types, a->type, TYPE_OPTIONAL))) return a;
  if (!types_is(&check->types, a->type, TYPE_OPTIONAL)) {
    Str name = type_name(check, a->type);
    Diag *diag = diag_add(check->diags, DIAG_E201, a->span, "`?.` opens an optional, this is %s" STR_FMT " and never none", type_article(name), STR_ARG(name));
    diag_help(check->diags, diag, "write `.`");
    return h_poison(check, a->span);
  }
  out->local = local_hidden(check, types_of(&check->types, a->type), a->span);
  out->value = a;
  return h_local(check, out->local, a->span);
}

static HExpr *step(Check *check, HExpr *a, const Expr *node, TypeId want) {
  switch (node->kind) {
    case EXPR_FIELD: return field_of(check, a, node->field.name, node->span);
    case EXPR_INDEX: return item_of(check, a, node);
    case EXPR_CALL: return check_call(check, node, node->call.callee->field.name, a, want);
    case EXPR_INT: case EXPR_DECIMAL: case EXPR_TEXT: case EXPR_BOOL: case EXPR_NONE: case EXPR_DURATION: case EXPR_DATE: case EXPR_TIME:
    case EXPR_INTERP: case EXPR_NAME: case EXPR_UNARY: case EXPR_BINARY: case EXPR_IF: case EXPR_MATCH: case EXPR_QUERY: case EXPR_INSERT:
    case EXPR_RECORD: case EXPR_LIST: break;
  }
  return a;
}

static bool opens(const Expr *node) {
  return (node->kind == EXPR_FIELD && node->op == OPER_OPEN) || (node->kind == EXPR_CALL && node->call.callee->op == OPER_OPEN);
}

static HExpr *close_chain(Check *check, HExpr *a, const Opened *opened, uint32_t count, Span span) {
  bool any = false;
  for (uint32_t i = 0; i < count; i++) any |= opened[i].value != NULL;
  if (!any || is_poison(a)) return a;
  if (!type_is_real(a->type)) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E202, span, "this gives no value, so there is nothing to be none"), "use `if let x = … { }`");
    return h_poison(check, span);
  }
  a = h_some(check, a);
  for (uint32_t i = count; i-- > 0;)
    if (opened[i].value) { a = h_if_some(check, opened[i].local, opened[i].value, a, h_none(check, a->type, span)); a->span = span; }
  return a;
}

HExpr *check_postfix(Check *check, const Expr *expr, TypeId want) {
  if (expr->kind == EXPR_CALL && expr->call.callee->kind == EXPR_NAME) return check_call(check, expr, expr->call.callee->name, NULL, want);
  if (!before(expr)) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E109, expr->span, "this cannot be called"), "a function is called by its name");
    return h_poison(check, expr->span);
  }
  uint32_t count = 1;
  const Expr *leaf = before(expr);
  while (is_link(leaf)) { leaf = before(leaf); count++; }
  const Expr **nodes = CHECK_ARRAY(check, const Expr *, count);
  Opened *opened = CHECK_ARRAY(check, Opened, count);
  if (!nodes || !opened) return h_poison(check, expr->span);
  const Expr *node = expr;
  for (uint32_t i = count; i-- > 0; node = before(node)) nodes[i] = node;
  bool used_first, is_open = false;
  HExpr *a = check_start(check, leaf, nodes[0], &used_first);
  for (uint32_t i = used_first; i < count; i++) {
    if (opens(nodes[i])) { a = open_for_rest(check, a, &opened[i], is_open); is_open = true; }
    a = step(check, a, nodes[i], i + 1 == count ? want : TYPE_NONE);
  }
  return close_chain(check, a, opened, count, expr->span);
}
