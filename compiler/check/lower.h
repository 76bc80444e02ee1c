// How the checked program is built: expressions one node at a time, conversions, and the checks of each kind of syntax.
// An expression is checked with the type its place wants (`want`, or TYPE_NONE): literals adapt to it, and coerce() turns
// what came out into it or says why it cannot.
//
// Owns:   nothing; all memory is in the compile's arena.
// Thread: one at a time.
// Errors: reported; the result is then an expression of type ID_POISON, which fits everywhere and says nothing more.
#pragma once
#include "compiler/check/state.h"

// ---- body.c: scopes, locals, what is known not to be none -------------------------------------
void body_check(Check *check, Fn *fn);             // once; a call of a function whose result is not written comes here too
void bodies_all(Check *check);
LocalId local_add(Check *check, Name name, LocalKind kind, TypeId type);      // binds the name; E105
LocalId local_hidden(Check *check, TypeId type, Span span);
LocalInfo *local_info(Check *check, LocalId local);
uint32_t local_find(const Check *check, Sym sym);  // MAP_NOTHING
typedef struct ScopeMark { uint32_t bindings, facts; } ScopeMark;
ScopeMark scope_open(Check *check);
void scope_close(Check *check, ScopeMark mark);
void fact_add(Check *check, const HExpr *path);
bool fact_holds(const Check *check, const HExpr *path);
void facts_kill_local(Check *check, LocalId local);
void facts_kill_column(Check *check, uint16_t table, uint32_t column);
void facts_kill_field(Check *check, Sym sym);
void facts_kill_state(Check *check);               // all that a write elsewhere could change
void facts_enter_loop(Check *check);
// Learns what holds when `condition` is `truth`.
void facts_learn(Check *check, const HExpr *condition, bool truth);
bool depth_enter(Check *check, Span span);         // false: E023 was said
void depth_leave(Check *check);
void effect_note(Check *check, uint8_t effect, Span span, const char *words);
void call_note(Check *check, Fn *to, Span span);

// ---- build.c: expressions of the checked program ----------------------------------------------
HExpr *h_new(Check *check, HExprKind kind, TypeId type, Span span);
HExpr *h_poison(Check *check, Span span);
HExpr *h_const(Check *check, TypeId type, Value value, Span span);
HExpr *h_int(Check *check, int64_t number, Span span);
HExpr *h_bool(Check *check, bool value, Span span);
HExpr *h_text(Check *check, Str text, Span span);
HExpr *h_none(Check *check, TypeId optional, Span span);
HExpr *h_local(Check *check, LocalId local, Span span);
HExpr *h_unary(Check *check, HExprKind kind, TypeId type, HExpr *a, Span span);
HExpr *h_binary(Check *check, HExprKind kind, HOp op, TypeId type, HExpr *a, HExpr *b, Span span);
HExpr *h_convert(Check *check, HConvert convert, TypeId type, HExpr *a);
HExpr *h_some(Check *check, HExpr *a);             // as an optional; of an optional: itself
HExpr *h_open(Check *check, HExpr *a);
HExpr *h_if(Check *check, HExpr *a, HExpr *b, HExpr *c);
HExpr *h_if_some(Check *check, LocalId local, HExpr *a, HExpr *b, HExpr *c);
HExpr *h_args(Check *check, HExprKind kind, TypeId type, uint32_t count, Span span);  // args.items has room
HExpr *h_to_text(Check *check, HExpr *a);
HExpr *h_zero(Check *check, TypeId type, Span span);
bool h_is_simple(const HExpr *a);                  // a constant or local: may be evaluated twice
bool h_equal(const Check *check, const HExpr *a, const HExpr *b);  // surely the same value (false: not known)
// `value` evaluated once and called `*out_name`; wrap what uses the name with h_let_end.
HExpr *h_let_begin(Check *check, HExpr *value, LocalId *out_local);
HExpr *h_let_end(Check *check, LocalId local, HExpr *value, HExpr *inner);
bool is_poison(const HExpr *a);

enum { LOCAL_IS_WIDE = 1 };  // in the op of an H_LOCAL: a sum of decimals, which may have 128 bits

// ---- convert.c --------------------------------------------------------------------------------
HExpr *coerce(Check *check, HExpr *a, TypeId want, const Why *why);
HExpr *try_convert(Check *check, HExpr *a, TypeId want);    // NULL: does not fit
HExpr *fit(Check *check, HExpr *a);                          // a decimal that leaves its expression
TypeId unify(Check *check, const HExpr *a, const HExpr *b);  // the type that both can have; ID_POISON: none (nothing is said)
HExpr *need_open(Check *check, HExpr *a, const char *where); // E202 when it is optional
const char *aup_article(Check *check, TypeId type);

// ---- expr.c and its neighbours ----------------------------------------------------------------
HExpr *check_expr(Check *check, const Expr *expr, TypeId want);
HExpr *check_value(Check *check, const Expr *expr, TypeId want, const Why *why);  // check_expr, coerce
HExpr *check_condition(Check *check, const Expr *expr, const char *where);
HExpr *check_name(Check *check, const Expr *expr, TypeId want);
HExpr *read_path(Check *check, HExpr *a);          // opens it when it is known to hold something
HExpr *check_postfix(Check *check, const Expr *expr, TypeId want);                 // access.c
HExpr *field_of(Check *check, HExpr *base, Name name, Span span);
HExpr *column_of(Check *check, HExpr *row, TableInfo *table, uint32_t column, Span span);
HExpr *check_binary(Check *check, const Expr *expr, TypeId want);                  // operate.c
HExpr *check_unary(Check *check, const Expr *expr, TypeId want);
HExpr *arithmetic(Check *check, Oper op, HExpr *a, HExpr *b, Span span, Span op_span);
HExpr *comparison(Check *check, Oper op, HExpr *a, HExpr *b, Span span);
HExpr *check_record(Check *check, const Expr *expr, TypeId want);                  // record.c
bool has_members(Check *check, const HExpr *rest, Span span);                     // of what `..` copies; false: E201 was said
bool has_member(Check *check, TypeId type, Sym sym);                               // of a record or row
HExpr *check_list(Check *check, const Expr *expr, TypeId want);
HExpr *check_insert(Check *check, const Expr *expr);
HExpr *check_match(Check *check, const Expr *expr, TypeId want);                   // match.c
bool check_match_stmt(Check *check, const Stmt *stmt, HStmt *out);                   // true when no way leads past it
HExpr *check_query(Check *check, const Expr *expr, TypeId want);                   // query.c: as a list
HQuery *query_of(Check *check, const Expr *expr);
HQuery *query_loop(Check *check, const Stmt *stmt);                                // leaves its names visible
HQuery *query_over_list(Check *check, HExpr *list, LocalId *out_item);
HExpr *check_call(Check *check, const Expr *call, Name name, HExpr *receiver, TypeId want);      // call.c
HExpr *check_case(Check *check, const Expr *call, Name name, uint16_t enum_index);               // Kind.case(…)
// What is called: its name where it is called, and its parameters.
typedef struct Callee { Name name; const Param *params; uint32_t count; } Callee;
bool check_args(Check *check, const ArgList *args, HExpr *receiver, const Callee *callee, HExpr **out, uint64_t *out_given);
HExpr *call_fn(Check *check, Fn *fn, HExpr **args, uint32_t count, Span span);
HExpr *default_value(Check *check, Fn *initial, TypeId type, Span span);           // NULL initial: none
HExpr *check_builtin(Check *check, const Expr *call, Name name, HExpr *receiver, TypeId want, bool *out_found);  // builtin.c
bool builtin_is(Str name);
HExpr *check_form(Check *check, int form, const Expr *call, Name name, HExpr *receiver, TypeId want);            // form.c
HExpr *check_aggregate(Check *check, const Expr *call, Name name, HExpr *receiver, TypeId want, bool *out_found);      // aggregate.c
typedef struct HStmtList { HStmt *items; uint32_t count, room; } HStmtList;  // statements of the checked program, growing
void error_use(Check *check, const ErrorUse *use, HStmtList *out);                 // call.c: what ends in an HS_REJECT

// ---- stmt.c -----------------------------------------------------------------------------------
// True when no way leads past the block.
bool check_block(Check *check, const StmtBlock *block, HStmts *out);
void check_return(Check *check, const Expr *written, Span span, HStmtList *out);   // written: NULL for a plain `return`
void check_test_stmt(Check *check, const Stmt *stmt, HStmtList *out);              // test_stmt.c
HStmt *stmt_add(Check *check, HStmtList *list, HStmtKind kind, Span span);

// ---- rules.c: the check function of a table ---------------------------------------------------
bool table_has_rules(const TableInfo *table);
void rules_body(Check *check, Fn *fn);
void insert_body(Check *check, Fn *fn);
// Rejections for values past the limits of their parameters: `values` are simple; and those of a function, put before its body.
void args_rules(Check *check, const Param *params, HExpr **values, uint32_t count, HStmtList *out);
void param_rules(Check *check, Fn *fn);

// ---- fold.c -----------------------------------------------------------------------------------
HExpr *fold(Check *check, HExpr *a);               // the constant it always is, or itself; E214

// ---- kept.c: what the host keeps for the app in its schema --------------------------------------
void kept_columns(Check *check);
void kept_setting(Check *check, SettingInfo *setting);
// The tables that a host keeps for the app, behind the app's own: how many (at most KEPT_TABLES_MAX).
enum { KEPT_TABLES_MAX = 3 };
uint32_t kept_tables(Check *check, TableDef *out_tables, TableMeta *out_metas);
// Does a timer wait for the time in this column?
bool kept_follows(const TableInfo *table, uint32_t column);
HExpr *kept_due(Check *check, HExpr *value, Span span);
// What stands before an assignment to such a column. Row and value are simple.
typedef struct KeptWrite { HExpr *row, *value; uint32_t column; Span span; } KeptWrite;
void kept_write(Check *check, HStmtList *out, const TableInfo *table, const KeptWrite *write);
