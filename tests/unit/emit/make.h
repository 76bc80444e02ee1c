// Checked programs by hand for the tests of emit, over the types and tables of tests/unit/module/build.h.
//
// Owns:   everything stands in the Make's Build.
// Thread: one at a time.
// Errors: aborts; it is a test's own.
#pragma once
#include "compiler/emit/emit.h"
#include "tests/unit/module/build.h"

enum { MAKE_LOCALS_MAX = 8192, MAKE_FUNCTIONS_MAX = 8 };

typedef struct Make {
  Build build;
  HProgram program;
  DiagList diags;
  Sources sources;
  HFunction *functions[MAKE_FUNCTIONS_MAX];
  HFunction *function;  // the one being made
  Buf bytes;
} Make;

void make_init(Make *make);
void make_free(Make *make);
HFunction *make_function(Make *make, FunctionKind kind, uint8_t effects, TypeId result);
LocalId make_local(Make *make, TypeId type);    // the first ones are the parameters, when make_params says so
void make_params(Make *make, uint32_t count);
void make_body(Make *make, uint32_t count, const HStmt *stmts);

HExpr *make_expr(Make *make, HExprKind kind, TypeId type);
HExpr *make_one(Make *make, HExprKind kind, uint8_t op, TypeId type, HExpr *a);
HExpr *make_two(Make *make, HExprKind kind, uint8_t op, TypeId type, HExpr *a, HExpr *b);
HExpr *make_number(Make *make, int64_t number);
HExpr *make_text(Make *make, const char *text);
HExpr *make_use(Make *make, LocalId local);
HExpr *make_column(Make *make, LocalId row, uint32_t column);  // of Item
HExpr *make_query(Make *make, TypeId type, uint32_t count, const HClause *clauses, HExpr *select);
HExpr *make_aggregate(Make *make, AggregateKind kind, TypeId type, HExpr *query, HExpr *of);
HClause make_rows(LocalId row, uint16_t table);
HClause make_where(HExpr *condition);
HClause make_order(Make *make, HExpr *key, bool descending);
HStmts make_stmts(Make *make, uint32_t count, const HStmt *stmts);

Err make_emit(Make *make);                      // into make->bytes
Module *make_read(Make *make);                  // emits, reads, verifies; aborts with the reason
Str make_disassembly(Make *make);               // of the functions only, of what make_read gives
