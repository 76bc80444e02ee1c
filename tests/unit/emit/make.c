// See make.h.
#include "tests/unit/emit/make.h"

#include <stdio.h>
#include <stdlib.h>

#define MUST(holds) do { if (!(holds)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds); abort(); } } while (0)

static const char SOURCE[] = "app test\nview one\nview two\n";

void make_init(Make *m) {
  memset(m, 0, sizeof *m);
  build_init(&m->build);
  diag_init(&m->diags, &m->build.arena);
  sources_init(&m->sources, &m->build.arena);
  MUST(sources_add(&m->sources, STR("test.aup"), str_from(SOURCE), &m->diags));
  m->program = (HProgram){.module = m->build.module, .functions = m->functions, .arena = &m->build.arena, .sources = &m->sources};
  buf_init(&m->bytes, 0);
}

void make_free(Make *m) {
  buf_free(&m->bytes);
  build_free(&m->build);
}

static void *keep(Make *m, const void *bytes, size_t size) {
  void *copy = arena_alloc(&m->build.arena, size + 1);
  MUST(copy);
  if (size) memcpy(copy, bytes, size);
  return copy;
}

HFunction *make_function(Make *m, FunctionKind kind, uint8_t effects, TypeId result) {
  uint16_t index = (uint16_t)m->program.function_count++;
  HFunction *f = ARENA_NEW(&m->build.arena, HFunction);
  MUST(f && index < MAKE_FUNCTIONS_MAX);
  *f = (HFunction){.name = arena_format(&m->build.arena, "f%u", index), .kind = (uint8_t)kind, .effects = effects, .index = index, .result = result, .span = {10, 14}};
  f->locals = ARENA_ARRAY(&m->build.arena, HLocal, MAKE_LOCALS_MAX);
  MUST(f->locals);
  m->functions[index] = f;
  return m->function = f;
}

LocalId make_local(Make *m, TypeId type) {
  HFunction *f = m->function;
  MUST(f->local_count < MAKE_LOCALS_MAX);
  f->locals[f->local_count] = (HLocal){.type = type, .span = {19, 23}};
  return f->local_count++;
}

void make_params(Make *m, uint32_t count) { m->function->param_count = count; }
HStmts make_stmts(Make *m, uint32_t count, const HStmt *stmts) { return (HStmts){count, keep(m, stmts, count * sizeof *stmts)}; }
void make_body(Make *m, uint32_t count, const HStmt *stmts) { m->function->body = make_stmts(m, count, stmts); }

HExpr *make_expr(Make *m, HExprKind kind, TypeId type) {
  HExpr *expr = ARENA_NEW(&m->build.arena, HExpr);
  MUST(expr);
  expr->kind = (uint8_t)kind;
  expr->type = type;
  expr->span = (Span){19, 23};
  return expr;
}

HExpr *make_one(Make *m, HExprKind kind, uint8_t op, TypeId type, HExpr *a) { return make_two(m, kind, op, type, a, NULL); }

HExpr *make_two(Make *m, HExprKind kind, uint8_t op, TypeId type, HExpr *a, HExpr *b) {
  HExpr *expr = make_expr(m, kind, type);
  expr->op = op;
  expr->a = a;
  expr->b = b;
  return expr;
}

HExpr *make_number(Make *m, int64_t number) {
  HExpr *expr = make_expr(m, H_CONST, T_INT);
  expr->value.i = number;
  return expr;
}

HExpr *make_text(Make *m, const char *text) {
  HExpr *expr = make_expr(m, H_CONST, T_TEXT);
  expr->value.text = str_from(text);
  return expr;
}

HExpr *make_use(Make *m, LocalId local) {
  HExpr *expr = make_expr(m, H_LOCAL, m->function->locals[local].type);
  expr->local = local;
  return expr;
}

HExpr *make_column(Make *m, LocalId row, uint32_t column) {
  HExpr *expr = make_one(m, H_COLUMN, 0, m->program.module.schema.tables[TABLE_ITEM].columns[column].type, make_use(m, row));
  expr->index = column;
  return expr;
}

HExpr *make_query(Make *m, TypeId type, uint32_t count, const HClause *clauses, HExpr *select) {
  HExpr *expr = make_expr(m, H_QUERY, type);
  expr->query = ARENA_NEW(&m->build.arena, HQuery);
  MUST(expr->query);
  *expr->query = (HQuery){.clause_count = count, .clauses = keep(m, clauses, count * sizeof *clauses), .select = select, .span = {19, 23}};
  return expr;
}

HExpr *make_aggregate(Make *m, AggregateKind kind, TypeId type, HExpr *query, HExpr *of) {
  HExpr *expr = make_expr(m, H_AGGREGATE, type);
  expr->op = (uint8_t)kind;
  expr->query = query->query;
  expr->of = of;
  return expr;
}

HClause make_rows(LocalId row, uint16_t table) { return (HClause){.kind = HC_ROWS, .table = table, .local = row, .span = {10, 14}}; }
HClause make_where(HExpr *condition) { return (HClause){.kind = HC_WHERE, .a = condition, .local = NO_LOCAL, .span = {19, 23}}; }

HClause make_order(Make *m, HExpr *key, bool descending) {
  HKey item = {NO_LOCAL, key, descending};
  return (HClause){.kind = HC_ORDER, .local = NO_LOCAL, .key_count = 1, .keys = keep(m, &item, sizeof item), .span = {19, 23}};
}

Err make_emit(Make *m) { return emit_module(&m->program, &m->diags, &m->build.arena, &m->bytes); }

Module *make_read(Make *m) {
  Module *module = NULL;
  ErrText text = {""};
  Err err = make_emit(m);
  if (err && m->diags.count) fprintf(stderr, "%.*s\n", STR_ARG(m->diags.items[0]->message));
  MUST(err == ERR_NONE);
  err = module_read(buf_str(&m->bytes), &m->build.arena, &module, &text);
  if (err) fprintf(stderr, "%s\n", text.text);
  MUST(err == ERR_NONE);
  return module;
}

Str make_disassembly(Make *m) {
  Buf out;
  buf_init(&out, 0);
  module_disassemble(make_read(m), &out);
  Str text = arena_copy(&m->build.arena, buf_str(&out));
  buf_free(&out);
  return text;
}
