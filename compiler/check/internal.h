// What the files of the checker share: its state, and the functions that one file offers the others.
//
// Order of reading: declare.c, named.c, tables.c, signatures.c; body.c, then expr.c and its neighbours; effects.c,
// assemble.c. An expression is checked with the type its place wants (`want`, or TYPE_NONE): literals adapt to it, and
// coerce() turns what came out into it or says why it cannot.
//
// Owns:   all memory is in the compile's arena.
// Thread: one at a time.
// Errors: reported; the result is then an expression of type ID_POISON, which fits everywhere and says nothing more.
#pragma once
#include "compiler/check/check.h"
#include "compiler/check/map.h"
#include "compiler/check/types.h"

typedef struct Check Check;
typedef struct Fn Fn;
typedef struct Body Body;
typedef struct TableInfo TableInfo;
typedef struct QueryScope QueryScope;

// ---- declared things --------------------------------------------------------------------------
// Each space maps a Sym to a number in its array, + 1; 0: not declared.
typedef enum Space { SPACE_VALUE, SPACE_TYPE, SPACE_ERROR, SPACE_ROLE, SPACE_OUTPUT, SPACE_TIMER, SPACE_PAGE, SPACE_COUNT } Space;

typedef enum ValueKind { VALUE_STATE, VALUE_SETTING, VALUE_FUNCTION } ValueKind;
typedef struct ValueDecl { ValueKind kind; uint32_t index; Span span; Fn *fn; } ValueDecl;  // index: column of the state table, setting

typedef enum NamedKind { NAMED_ALIAS, NAMED_ENUM, NAMED_RECORD, NAMED_TABLE } NamedKind;
typedef enum Progress { PROGRESS_NEW, PROGRESS_BUSY, PROGRESS_DONE } Progress;
typedef struct NamedType {
  NamedKind kind;
  Progress progress;
  const Decl *decl;
  TypeId type;
  TableInfo *table;
  const Mod *min, *max;  // of an alias
} NamedType;

typedef struct Param {
  Sym sym;
  Span span;
  TypeId type;
  const Field *field;    // NULL: made by the checker
  Fn *initial;           // FUNCTION_DEFAULT, or NULL
  Limits limits;
} Param;

typedef struct Call { Fn *to; Span span; } Call;
enum { OWN_EFFECTS = 5 };  // bits of EFFECT_*

// A function: declared, or made for a default, a computed field, a role … How its body is made depends on what is set.
struct Fn {
  HFunction h;           // first: an HFunction of the checker is an Fn
  const Decl *decl;      // the declaration it is or stands in
  Sym sym;               // its name, or what it is the default of; 0: none
  Span name_span;
  Progress progress;
  bool used, result_known, is_entry;
  uint32_t param_count;
  Param *params;
  const Expr *value;     // one of value, block; neither: `rules` of the table
  const StmtBlock *block;
  TableInfo *self;       // names of its columns are values in the body
  bool self_is_params;   // its parameters are the columns of a row that is not there yet
  uint16_t entry;        // when is_entry
  uint32_t call_count, call_room;
  Call *calls;
  uint8_t own_effects, total_effects;
  Span effect_spans[OWN_EFFECTS];  // where each own effect is first
  const char *effect_words[OWN_EFFECTS];
  Fn *next_on_path;      // for the chain of a message
  uint32_t order_mark, depth;
};

typedef struct ColumnInfo {
  Sym sym;
  Span span;
  const Field *field;    // NULL: made by the checker
  TypeId type;
  OnDelete on_delete;
  bool hidden, is_key, is_auto;
  Fn *initial;           // default
  Limits limits;
  Fn *computed;          // hidden: gives its value
} ColumnInfo;
typedef struct ComputedInfo { Sym sym; Span span; const TableItem *item; TypeId type; Fn *fn; uint32_t hidden; } ComputedInfo;  // hidden: column + 1
typedef struct IndexInfo { uint32_t column_count; IndexColumn *columns; bool unique; uint16_t condition; Span span; } IndexInfo;
struct TableInfo {
  uint16_t id;           // in the schema
  Sym sym;
  const Decl *decl;      // NULL: the state table
  Str name;
  TypeId ref, key_type;
  Progress key_progress;
  uint32_t column_count, column_room, computed_count, index_count, index_room, key_count;
  ColumnInfo *columns;
  ComputedInfo *computed;
  IndexInfo *indexes;
  uint16_t *key;
  bool auto_key, has_hidden;
  uint16_t auto_column;
  uint64_t rows_max;
  Fn *rules;             // the check function, or NULL
  Fn *insert;            // with hidden columns: makes a row from the others
};

typedef struct ErrorInfo { Sym sym; const Decl *decl; Param *params; uint32_t param_count; uint16_t status; Sym field; bool used; FieldDef *fields; Fn *message; } ErrorInfo;
typedef struct RoleInfo { Sym sym; Span span; const Decl *decl; Fn *fn; } RoleInfo;
typedef struct OutputInfo { Sym sym; const Decl *decl; Param *params; uint32_t param_count; FieldDef *fields; TypeId record; bool used; } OutputInfo;
typedef struct SettingInfo { Sym sym; const Field *field; TypeId type; Fn *initial; } SettingInfo;
typedef struct TimerInfo { Sym sym; Str name; const Decl *decl; uint8_t kind; int64_t period_us, at_us; TableInfo *table; uint16_t column; Fn *fn; } TimerInfo;
typedef struct FnRef { const Decl *decl; Fn *fn; Str name; } FnRef;

// A growing array in the arena.
#define LIST_OF(T) struct { T *items; uint32_t count, room; }
// Room for one more at the end, cleared; NULL without memory (then `check->failed`).
#define LIST_ADD(check, list) ((__typeof__((list)->items))check__list_add((check), &(list)->items, &(list)->count, &(list)->room, sizeof *(list)->items))

// ---- bodies -----------------------------------------------------------------------------------
typedef enum LocalKind { LOCAL_PARAM, LOCAL_LET, LOCAL_VAR, LOCAL_ROW, LOCAL_WITH, LOCAL_KEY, LOCAL_HIDDEN } LocalKind;
typedef struct LocalInfo {
  HLocal h;
  Sym sym;
  LocalKind kind;
  bool used, quiet, is_grouped;   // quiet: no warning when it is not used; grouped: it stands for many rows now
  uint16_t param;
  QueryScope *query;              // of ROW, WITH, KEY
} LocalInfo;

typedef struct Binding { Sym sym; uint32_t before, hidden; } Binding;  // what `binding[sym]` was before, and while another body is checked

// `path` is known not to be none.
typedef struct Fact { const HExpr *path; bool dead; } Fact;

struct QueryScope {
  QueryScope *outer;
  HClause *group;         // the last `group by`, whose aggregates may still grow
  bool lifted, touched;   // in an aggregate's argument; it used a row of the group
  bool no_frames;         // in skip and take: its rows are not known
  bool has_position;      // position() may stand here
};

struct Body {
  Body *outer;
  Fn *fn;
  uint32_t local_base, binding_base, fact_base;
  TypeId result;          // TYPE_NONE: none, or not known yet
  Span result_span;
  bool result_known, has_return, in_test, keys_as_refs, caller_set;
  LocalId self;
  QueryScope *query;
  uint32_t loop_depth;
};

// Why a place wants its type, for the label of E201: "the parameter `x` is an int".
typedef struct Why { const char *what; Sym name; Span span; } Why;

struct Check {
  Ast *ast;
  Arena *arena;
  DiagList *diags;
  const Sources *sources;
  HProgram *program;
  TypeBuilder types;
  uint32_t sym_count;
  uint32_t *spaces[SPACE_COUNT];
  Map members;            // (kind and number of the owner, sym) -> number of field, case, column or computed field
  Map constants;          // hash of a constant -> its number
  LIST_OF(ValueDecl) values;
  LIST_OF(NamedType) named;
  LIST_OF(TableInfo *) tables;
  LIST_OF(Fn *) functions;
  LIST_OF(Fn *) entries;
  LIST_OF(ErrorInfo) errors;
  LIST_OF(RoleInfo) roles;
  LIST_OF(OutputInfo) outputs;
  LIST_OF(SettingInfo) settings;
  LIST_OF(TimerInfo) timers;
  LIST_OF(const Decl *) pages;
  LIST_OF(FnRef) tests;
  LIST_OF(FnRef) always;
  Fn *start;
  const Decl *app;
  // bodies
  Body *body;
  uint32_t *binding;      // by sym: local of the current body + 1
  LIST_OF(LocalInfo) locals;
  LIST_OF(Binding) bindings;
  LIST_OF(Fact) facts;
  uint32_t depth;
  uint32_t type_depth, case_owners;
  bool failed, has_roles, said_depth, with_tests;
  // words that are looked for
  Sym simple[ID_SIMPLE_COUNT];
  struct { Sym self, caller, now, everyone, signed_in, forbidden, decimal, set, map, count, count_if, sender; } word;
};

void *check__list_add(Check *check, void *items, uint32_t *count, uint32_t *room, size_t size);
// Cleared memory; NULL sets `failed`.
void *check__alloc(Check *check, size_t count, size_t size);
#define CHECK_NEW(check, T) ((T *)check__alloc((check), 1, sizeof(T)))
#define CHECK_ARRAY(check, T, count) ((T *)check__alloc((check), (count), sizeof(T)))
static inline Str sym_str(const Check *check, Sym sym) { return ast_str(check->ast, sym); }
#define SYM_ARG(check, sym) STR_ARG(sym_str((check), (sym)))

// ---- declare.c --------------------------------------------------------------------------------
void declare_all(Check *check);
// The number in the space's array, or MAP_NOTHING.
static inline uint32_t space_find(const Check *check, Space space, Sym sym) {
  return sym < check->sym_count && check->spaces[space][sym] ? check->spaces[space][sym] - 1 : MAP_NOTHING;
}
Fn *fn_new(Check *check, FunctionKind kind, const Decl *decl, Name name);
ErrorInfo *error_find(Check *check, Sym sym, uint16_t *out_index);  // built-in ones too (then NULL, with the index); index 0xFFFF: none

typedef enum Owner { OWNER_RECORD, OWNER_ENUM, OWNER_COLUMN, OWNER_COMPUTED, OWNER_CASE } Owner;
static inline uint32_t owner_number(Owner kind, uint32_t index) { return (uint32_t)kind << 28 | index; }
uint32_t member_find(const Check *check, Owner kind, uint32_t owner, Sym sym);  // MAP_NOTHING
bool member_add(Check *check, Owner kind, uint32_t owner, Sym sym, uint32_t number);

// ---- named.c: types as they are written -------------------------------------------------------
void named_resolve_all(Check *check);
TypeId type_resolve(Check *check, const TypeExpr *written);
Str type_name(Check *check, TypeId type);          // as a person writes it
const char *type_article(Str name);                // "a " or "an "
Limits limits_of(Check *check, const Field *field, TypeId type);
NamedType *named_find(Check *check, Sym sym);

// ---- tables.c ---------------------------------------------------------------------------------
void tables_declare(Check *check);                 // numbers and references
void tables_columns(Check *check);                 // columns, keys, computed fields
void tables_indexes(Check *check);                 // indexes, unique rules, hidden columns
TableInfo *table_find(Check *check, Sym sym);
TableInfo *table_of(Check *check, TypeId ref);
uint32_t column_find(const Check *check, const TableInfo *table, Sym sym);    // MAP_NOTHING
ComputedInfo *computed_find(const Check *check, const TableInfo *table, Sym sym);
ColumnInfo *table__add_column(Check *check, TableInfo *table);
IndexInfo *table__add_index(Check *check, TableInfo *table, uint32_t column_count);

// ---- signatures.c -----------------------------------------------------------------------------
void signatures_all(Check *check);
void insert_signatures(Check *check);
Fn *default_fn(Check *check, const Decl *decl, const Field *field, TypeId type);

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
bool check_args(Check *check, const ArgList *args, HExpr *receiver, const Param *params, uint32_t count, Name callee, HExpr **out, uint64_t *out_given);
HExpr *call_fn(Check *check, Fn *fn, HExpr **args, uint32_t count, Span span);
HExpr *default_value(Check *check, Fn *initial, TypeId type, Span span);           // NULL initial: none
HExpr *check_builtin(Check *check, const Expr *call, Name name, HExpr *receiver, TypeId want, bool *out_found);  // builtin.c
bool builtin_is(Str name);
HExpr *check_form(Check *check, int form, const Expr *call, Name name, HExpr *receiver, TypeId want);            // form.c
HExpr *check_aggregate(Check *check, const Expr *call, Name name, HExpr *receiver, TypeId want, bool *out_found);      // aggregate.c
HExpr *aggregate_over(Check *check, AggregateKind kind, HQuery *query, Span span);
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

// ---- effects.c, assemble.c, hints.c -----------------------------------------------------------
void effects_all(Check *check);                    // order of functions, E108, E301, E302
void check_effects(Check *check, Fn *fn);
void check_outside(Check *check);                  // headers, hints, pages
void assemble_module(Check *check);
void pages_check(Check *check);                    // pages.c
void pages_fill(Check *check, Module *module);
Hints hints_of(Check *check, const AnnotList *annots, const Doc *doc);
const Annot *annot_find(Check *check, const AnnotList *annots, const char *name);
void hints_check_say(Check *check);
bool const_int(Check *check, const Expr *expr, TypeId type, int64_t *out);         // a constant int or duration; E215

// ---- fold.c -----------------------------------------------------------------------------------
HExpr *fold(Check *check, HExpr *a);               // the constant it always is, or itself; E214

// ---- near names -------------------------------------------------------------------------------
// Each adds the help "did you mean `x`?" when something is near enough.
void near_space(Check *check, Diag *diag, Space space, Sym wanted);
void near_columns(Check *check, Diag *diag, const TableInfo *table, Name wanted);
void near_syms(Check *check, Diag *diag, Name wanted, const Sym *names, uint32_t count);
void near_values(Check *check, Diag *diag, Name wanted, bool functions);  // locals, columns of self, values or functions, builtins
