// The checked program as text, one statement a line, expressions as prefix forms. Numbers of locals stand behind names,
// so that two locals of one name can be told apart; types stand where they are made.
#include "compiler/check/check.h"

#include <assert.h>

#include "runtime/base/decimal.h"

typedef struct Dump { const HProgram *program; const TypeTable *types; const HFunction *function; Buf *out; } Dump;

static const char *const KIND_NAMES[H_KINDS] = {
  [H_CONST] = "const", [H_LOCAL] = "local", [H_STATE] = "state", [H_ARITH] = "arith", [H_NEG] = "neg", [H_COMPARE] = "compare", [H_AND] = "and",
  [H_OR] = "or", [H_NOT] = "not", [H_CONVERT] = "convert", [H_OPEN] = "open", [H_HAS] = "has", [H_IF] = "if", [H_IF_SOME] = "if_some", [H_MATCH] = "match",
  [H_CALL] = "call", [H_BUILTIN] = "builtin", [H_DIVIDE] = "divide", [H_ROUND] = "round", [H_TEXT] = "text", [H_RECORD] = "record", [H_FIELD] = "field",
  [H_VARIANT] = "variant", [H_LIST] = "list", [H_SET] = "set", [H_MAP] = "map", [H_JOIN] = "join", [H_RANGE] = "range", [H_ITEM] = "item",
  [H_LOOKUP] = "lookup", [H_COUNT] = "count", [H_IN] = "in", [H_FIND] = "find", [H_FIND_UNIQUE] = "find_unique", [H_COLUMN] = "column",
  [H_INSERT] = "insert", [H_QUERY] = "query", [H_AGGREGATE] = "aggregate", [H_NOW] = "now", [H_CALLER] = "caller", [H_NEW_UUID] = "new_uuid",
  [H_CALLER_IS] = "caller_is", [H_RANDOM] = "random", [H_GIVEN] = "given", [H_POSITION] = "position", [H_CALL_ENTRY] = "call_entry", [H_SENT] = "sent",
  [H_ISSUE_TOKEN] = "issue_token"};
static const char *const OP_NAMES[] = {
  [HOP_ADD] = "+", [HOP_SUB] = "-", [HOP_MUL] = "*", [HOP_DIV] = "/", [HOP_MOD] = "%", [HOP_EQ] = "==", [HOP_NE] = "!=", [HOP_LT] = "<", [HOP_LE] = "<=", [HOP_GT] = ">", [HOP_GE] = ">="};
static const char *const CONVERT_NAMES[] = {
  [CONVERT_SOME] = "some", [CONVERT_INT_TO_DECIMAL] = "decimal", [CONVERT_SCALE] = "scale", [CONVERT_FIT] = "fit", [CONVERT_INT_TO_FLOAT] = "float",
  [CONVERT_TO_TEXT] = "to_text", [CONVERT_TO_KEY] = "to_key", [CONVERT_TO_REF] = "to_ref", [CONVERT_ENUM_TO_INT] = "to_int"};
static const char *const AGGREGATE_NAMES[] = {
  [AGGREGATE_COUNT] = "count", [AGGREGATE_COUNT_IF] = "count_if", [AGGREGATE_SUM] = "sum", [AGGREGATE_MIN] = "min", [AGGREGATE_MAX] = "max", [AGGREGATE_AVG] = "avg",
  [AGGREGATE_FIRST] = "first", [AGGREGATE_LAST] = "last", [AGGREGATE_LIST] = "list", [AGGREGATE_DISTINCT] = "distinct", [AGGREGATE_ANY] = "any", [AGGREGATE_ALL] = "all"};

static void dump_expr(Dump *d, const HExpr *a);
static void dump_stmts(Dump *d, const HStmts *stmts, int depth);

static void line(Dump *d, int depth) {
  buf_add_char(d->out, '\n');
  for (int i = 0; i < depth; i++) buf_add_text(d->out, "  ");
}

static void dump_local(Dump *d, LocalId local) {
  if (local == NO_LOCAL) { buf_add_char(d->out, '_'); return; }
  Str name = local < d->function->local_count ? d->function->locals[local].name : STR("?");
  buf_add_format(d->out, STR_FMT "%%%u", STR_ARG(name), local);
}

static void dump_value(Dump *d, TypeId type, Value value) {
  Type t = d->types->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: buf_add_text(d->out, value.i ? "true" : "false"); return;
    case TYPE_TEXT: buf_add_format(d->out, "\"" STR_FMT "\"", STR_ARG(value.text)); return;
    case TYPE_FLOAT: buf_add_format(d->out, "%.17g", value.f); return;
    case TYPE_DECIMAL: {
      char text[DECIMAL_TEXT_BYTES];
      decimal_format(value.dec, t.scale, text);
      buf_add_text(d->out, text);
      return;
    }
    case TYPE_ENUM:
      if (d->types->enums[t.of].plain) { buf_add_str(d->out, d->types->enums[t.of].cases[value.i].name); return; }
      break;
    case TYPE_OPTIONAL:
      if (!value_is_some(d->types, type, value)) { buf_add_text(d->out, "none"); return; }
      dump_value(d, t.of, value_open(d->types, type, value));
      return;
    case TYPE_INT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: buf_add_int(d->out, value.i); return;
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: buf_add_format(d->out, "[%u]", value.list ? value.list->count : 0); return;
    case TYPE_BYTES: case TYPE_UUID: case TYPE_RECORD: case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  buf_add_char(d->out, '?');
}

static void dump_args(Dump *d, const HExprs *args) {
  for (uint32_t i = 0; i < args->count; i++) {
    buf_add_char(d->out, ' ');
    if (args->items[i]) dump_expr(d, args->items[i]);
    else buf_add_text(d->out, "auto");
  }
}

static void dump_column(Dump *d, uint16_t table, uint32_t column) {
  const TableDef *def = &d->program->module.schema.tables[table];
  buf_add_format(d->out, " " STR_FMT "." STR_FMT, STR_ARG(def->name), STR_ARG(def->columns[column].name));
}

static void dump_pattern(Dump *d, const HPattern *pattern) {
  static const char *const NAMES[] = {[HPAT_ANY] = "_", [HPAT_CASE] = "case", [HPAT_NONE] = "none", [HPAT_SOME] = "some", [HPAT_VALUE] = "value"};
  buf_add_format(d->out, " %s", NAMES[pattern->kind]);
  if (pattern->kind == HPAT_CASE) buf_add_format(d->out, " %u", pattern->tag);
  for (uint32_t i = 0; i < pattern->bind_count; i++) { buf_add_char(d->out, ' '); dump_local(d, pattern->binds[i]); }
  if (pattern->value) { buf_add_char(d->out, ' '); dump_expr(d, pattern->value); }
}

static void dump_clause(Dump *d, const HClause *clause) {
  static const char *const NAMES[] = {[HC_ROWS] = "rows", [HC_ITEMS] = "items", [HC_NUMBERS] = "numbers", [HC_WHERE] = "where", [HC_WITH] = "with",
                                      [HC_GROUP] = "group", [HC_ORDER] = "order", [HC_SKIP] = "skip", [HC_TAKE] = "take"};
  buf_add_format(d->out, " (%s", NAMES[clause->kind]);
  if (clause->local != NO_LOCAL) { buf_add_char(d->out, ' '); dump_local(d, clause->local); }
  if (clause->kind == HC_ROWS) buf_add_format(d->out, " " STR_FMT, STR_ARG(d->program->module.schema.tables[clause->table].name));
  if (clause->a) { buf_add_char(d->out, ' '); dump_expr(d, clause->a); }
  if (clause->b) { buf_add_char(d->out, ' '); dump_expr(d, clause->b); }
  for (uint32_t i = 0; i < clause->key_count; i++) {
    buf_add_char(d->out, ' ');
    if (clause->keys[i].local != NO_LOCAL) { dump_local(d, clause->keys[i].local); buf_add_char(d->out, '='); }
    dump_expr(d, clause->keys[i].value);
    if (clause->keys[i].descending) buf_add_text(d->out, " desc");
  }
  for (uint32_t i = 0; i < clause->aggregate_count; i++) {
    buf_add_char(d->out, ' ');
    dump_local(d, clause->aggregates[i].local);
    buf_add_format(d->out, "=%s", AGGREGATE_NAMES[clause->aggregates[i].kind]);
    if (clause->aggregates[i].value) { buf_add_char(d->out, ' '); dump_expr(d, clause->aggregates[i].value); }
  }
  buf_add_char(d->out, ')');
}

static void dump_query(Dump *d, const HQuery *query) {
  for (uint32_t i = 0; i < query->clause_count; i++) dump_clause(d, &query->clauses[i]);
  buf_add_text(d->out, " (select ");
  dump_expr(d, query->select);
  buf_add_char(d->out, ')');
}

static void dump_parts(Dump *d, const HExpr *a) {
  switch ((HExprKind)a->kind) {
    case H_ARITH: case H_COMPARE: buf_add_format(d->out, " %s", OP_NAMES[a->op]); break;
    case H_CONVERT: buf_add_format(d->out, " %s ", CONVERT_NAMES[a->op]); type_write(d->types, a->type, d->out); break;
    case H_AGGREGATE: buf_add_format(d->out, " %s", AGGREGATE_NAMES[a->op]); dump_query(d, a->query); return;
    case H_QUERY: dump_query(d, a->query); return;
    case H_STATE: dump_column(d, SCHEMA_STATE_TABLE, a->index); return;
    case H_COLUMN: dump_column(d, a->table, a->index); break;
    case H_FIND: buf_add_format(d->out, " " STR_FMT, STR_ARG(d->program->module.schema.tables[a->table].name)); break;
    case H_FIND_UNIQUE: case H_INSERT: buf_add_format(d->out, " " STR_FMT, STR_ARG(d->program->module.schema.tables[a->table].name)); dump_args(d, &a->args); return;
    case H_CALL: buf_add_format(d->out, " " STR_FMT, STR_ARG(a->function->name)); dump_args(d, &a->args); return;
    case H_CALL_ENTRY: buf_add_format(d->out, " " STR_FMT " given:%llx", STR_ARG(d->program->module.entries[a->index].name), (unsigned long long)a->given); dump_args(d, &a->args); return;
    case H_BUILTIN: case H_VARIANT: buf_add_format(d->out, " %u", a->index); dump_args(d, &a->args); return;
    case H_TEXT: case H_RECORD: case H_LIST: case H_MAP: case H_ISSUE_TOKEN: dump_args(d, &a->args); return;
    case H_IF_SOME: buf_add_char(d->out, ' '); dump_local(d, a->local); break;
    case H_MATCH:
      buf_add_char(d->out, ' ');
      dump_expr(d, a->matched);
      for (uint32_t i = 0; i < a->arms.count; i++) {
        buf_add_text(d->out, " (");
        for (uint32_t k = 0; k < a->arms.items[i].pattern_count; k++) dump_pattern(d, &a->arms.items[i].patterns[k]);
        buf_add_text(d->out, " => ");
        dump_expr(d, a->arms.items[i].value);
        buf_add_char(d->out, ')');
      }
      return;
    case H_FIELD: case H_CALLER_IS: case H_GIVEN: case H_SENT: buf_add_format(d->out, " %u", a->index); break;
    case H_CONST: case H_LOCAL: case H_NEG: case H_AND: case H_OR: case H_NOT: case H_OPEN: case H_HAS: case H_IF: case H_DIVIDE: case H_ROUND:
    case H_SET: case H_JOIN: case H_RANGE: case H_ITEM: case H_LOOKUP: case H_COUNT: case H_IN: case H_NOW: case H_CALLER: case H_NEW_UUID:
    case H_RANDOM: case H_POSITION: case H_KINDS: break;
  }
  const HExpr *parts[] = {a->a, a->b, a->c};
  for (size_t i = 0; i < countof(parts); i++)
    if (parts[i]) { buf_add_char(d->out, ' '); dump_expr(d, parts[i]); }
}

static void dump_expr(Dump *d, const HExpr *a) {
  if (a->kind == H_CONST) { dump_value(d, a->type, a->value); return; }
  if (a->kind == H_LOCAL) { dump_local(d, a->local); return; }
  buf_add_format(d->out, "(%s", KIND_NAMES[a->kind]);
  dump_parts(d, a);
  buf_add_char(d->out, ')');
}

static void dump_part(Dump *d, const HExpr *a) {
  if (!a) return;
  buf_add_char(d->out, ' ');
  dump_expr(d, a);
}

static void dump_stmt(Dump *d, const HStmt *stmt, int depth) {
  static const char *const NAMES[] = {[HS_EXPR] = "do", [HS_SET] = "set", [HS_SET_STATE] = "set_state", [HS_SET_COLUMN] = "set_column", [HS_IF] = "if",
    [HS_IF_SOME] = "if_some", [HS_FOR] = "for", [HS_MATCH] = "match", [HS_RETURN] = "return", [HS_REJECT] = "reject", [HS_DELETE] = "delete",
    [HS_SEND] = "send", [HS_EXPECT] = "expect", [HS_EXPECT_REJECT] = "expect_reject", [HS_ADVANCE] = "advance", [HS_AS] = "as"};
  line(d, depth);
  buf_add_text(d->out, NAMES[stmt->kind]);
  if (stmt->kind == HS_SET || stmt->kind == HS_IF_SOME) { buf_add_char(d->out, ' '); dump_local(d, stmt->local); }
  if (stmt->kind == HS_SET_STATE) dump_column(d, SCHEMA_STATE_TABLE, stmt->index);
  if (stmt->kind == HS_SET_COLUMN) {
    dump_column(d, d->types->types[stmt->b->type].of, stmt->index);
    dump_part(d, stmt->b);
  }
  if (stmt->kind == HS_REJECT || stmt->kind == HS_SEND || stmt->kind == HS_EXPECT_REJECT) buf_add_format(d->out, " %u", stmt->index);
  if (stmt->kind == HS_AS) buf_add_format(d->out, " roles:%llx", (unsigned long long)stmt->roles);
  if (stmt->query) dump_query(d, stmt->query);
  dump_part(d, stmt->a);
  dump_args(d, &stmt->args);
  dump_stmts(d, &stmt->body, depth + 1);
  for (uint32_t i = 0; i < stmt->arms.count; i++) {
    line(d, depth + 1);
    buf_add_text(d->out, "arm");
    for (uint32_t k = 0; k < stmt->arms.items[i].pattern_count; k++) dump_pattern(d, &stmt->arms.items[i].patterns[k]);
    dump_stmts(d, &stmt->arms.items[i].body, depth + 2);
  }
  if (!stmt->other.count) return;
  line(d, depth);
  buf_add_text(d->out, "else");
  dump_stmts(d, &stmt->other, depth + 1);
}

static void dump_stmts(Dump *d, const HStmts *stmts, int depth) {
  for (uint32_t i = 0; i < stmts->count; i++) dump_stmt(d, &stmts->items[i], depth);
}

static void dump_function(Dump *d, const HFunction *function) {
  static const char *const KINDS[FUNCTION_KINDS] = {"fn", "view", "input", "action", "default", "computed", "check", "always", "role", "timer", "start", "migrate", "test"};
  d->function = function;
  buf_add_format(d->out, "%u %s " STR_FMT "(", function->index, KINDS[function->kind], STR_ARG(function->name));
  for (uint32_t i = 0; i < function->param_count; i++) {
    if (i) buf_add_text(d->out, ", ");
    dump_local(d, i);
    buf_add_text(d->out, ": ");
    type_write(d->types, function->locals[i].type, d->out);
  }
  buf_add_char(d->out, ')');
  if (function->result != TYPE_NONE) { buf_add_text(d->out, " -> "); type_write(d->types, function->result, d->out); }
  dump_stmts(d, &function->body, 1);
  buf_add_char(d->out, '\n');
}

static void dump_table(Dump *d, const TableDef *table) {
  buf_add_format(d->out, "table " STR_FMT "\n", STR_ARG(table->name));
  for (uint32_t i = 0; i < table->column_count; i++) {
    buf_add_format(d->out, "  " STR_FMT ": ", STR_ARG(table->columns[i].name));
    type_write(d->types, table->columns[i].type, d->out);
    for (uint32_t k = 0; k < table->key_count; k++)
      if (table->key[k] == i) buf_add_text(d->out, table->auto_key ? " key auto" : " key");
    if (table->columns[i].hidden) buf_add_text(d->out, " hidden");
    if (table->columns[i].on_delete != ON_DELETE_RESTRICT) buf_add_text(d->out, table->columns[i].on_delete == ON_DELETE_CASCADE ? " cascade" : " clear");
    buf_add_char(d->out, '\n');
  }
  for (uint32_t i = 0; i < table->index_count; i++) {
    const IndexDef *index = &table->indexes[i];
    buf_add_text(d->out, index->unique ? "  unique" : "  index");
    for (uint32_t k = 0; k < index->column_count; k++) buf_add_format(d->out, " " STR_FMT "%s", STR_ARG(table->columns[index->columns[k].column].name), index->columns[k].descending ? " desc" : "");
    if (index->condition != SCHEMA_NO_COLUMN) buf_add_format(d->out, " where " STR_FMT, STR_ARG(table->columns[index->condition].name));
    buf_add_char(d->out, '\n');
  }
}

void hir_dump(const HProgram *program, Buf *out) {
  Dump d = {.program = program, .types = &program->module.schema.types, .out = out};
  for (uint32_t i = 0; i < program->module.schema.table_count; i++) dump_table(&d, &program->module.schema.tables[i]);
  for (uint32_t i = 0; i < program->function_count; i++) dump_function(&d, program->functions[i]);
}
