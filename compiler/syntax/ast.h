// The syntax tree of an app: what was written, with a span on every node, before names or types mean anything.
//
// How to use it:
// - `Ast.decls` holds the declarations of all parsed sources in order. When the DiagList holds an error after parsing,
//   the tree is partial (broken items are left out): show the diagnostics and stop.
// - Every Expr has a dense `id` (1..expr_count), every Name in a declaring position (declaration, field, case,
//   parameter, let, for, from, with, group key, pattern binding) a dense `id` (1..def_count); a Name that only uses
//   something has id 0. Later phases keep side tables indexed by them and never change the tree.
// - Names are interned: equal `sym` means equal name (in Unicode's NFC). `ast_str(ast, sym)` gives the text, for known
//   words compare with a sym from `ast_sym`. sym 0: there is no name here.
// - Lists are arrays: `for (uint32_t i = 0; i < list.count; i++) list.items[i]`.
// - An optional part is NULL, an optional Name has sym 0, an optional list has count 0.
// - Recursion: brackets nest at most NESTING_MAX deep (lexer.h); an expression tree is at most EXPR_DEPTH_MAX deep
//   (`depth` says how deep below a node). Only left spines of operators, `.f` and `[…]` reach that; a walk that uses
//   much stack a level should follow `left` in a loop. `else if` in statements is flat.
//
// Names of this tree keep clear of those of runtime/value and runtime/module (TYPE_, OP_, OnDelete), which later phases
// include beside it: operators are OPER_, kinds of written types TYPE_EXPR_, rules of deletion DELETE_, `{ … }` a StmtBlock, a line of a page a PageEntry.
//
// Owns:   everything is in the arena given to the parser. Texts are NFC copies (names), decoded copies (literals) or
//         parts of the source.
// Thread: read-only after parsing, any.
// Limits: EXPR_DEPTH_MAX.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "compiler/source.h"
#include "compiler/syntax/intern.h"
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/str.h"

enum { EXPR_DEPTH_MAX = 5000 };

// Gives the type `T##List`. PACKED enums take one byte and keep their type for -Wswitch.
#define AST_LIST(T) typedef struct T##List { T *items; uint32_t count; } T##List
#define AST_REF_LIST(T) typedef struct T##List { T **items; uint32_t count; } T##List
#define PACKED __attribute__((packed))

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct Decl Decl;
typedef struct TypeExpr TypeExpr;
typedef struct Pattern Pattern;
AST_REF_LIST(Expr);
AST_REF_LIST(Stmt);
AST_REF_LIST(Decl);
AST_REF_LIST(TypeExpr);
AST_REF_LIST(Pattern);

// ---- small parts --------------------------------------------------------------------------

typedef struct Name { Sym sym; Span span; uint32_t id; } Name;
AST_LIST(Name);

// The `///` lines above a declaration, field or case: without the slashes and one space, joined by \n.
// `examples` are its lines `/// > expr`, to be run as expectations.
typedef struct Doc { Str text; Span span; ExprList examples; } Doc;

// `value` or `name: value` in a call, an index, a hint.
typedef struct Arg { Name name; Expr *value; } Arg;
AST_LIST(Arg);

// `@name` or `@name(args)`.
typedef struct Annot { Name name; ArgList args; Span span; } Annot;
AST_LIST(Annot);

typedef struct StmtBlock { StmtList stmts; Span span; } StmtBlock;  // the span has both braces

// What follows `reject`, or `else` in require and check: a text, or a declared error with its arguments.
typedef struct ErrorUse { Expr *text; Name name; ArgList args; Span span; } ErrorUse;  // text is NULL or name.sym is 0

typedef struct OrderKey { Expr *key; bool descending; Span span; } OrderKey;
AST_LIST(OrderKey);

// ---- types --------------------------------------------------------------------------------

typedef enum PACKED TypeExprKind {
  TYPE_EXPR_NAME,      // int, Money, decimal(2), set(T), map(K, V): name, args
  TYPE_EXPR_NUMBER,    // the 2 in decimal(2); only as an argument: number
  TYPE_EXPR_LIST,      // [T]: elem
  TYPE_EXPR_OPTIONAL,  // T?: elem
  TYPE_EXPR_RECORD,    // { a: int }: fields
} TypeExprKind;

// What may stand behind a field's type, in any order, before and after the default.
typedef enum PACKED ModKind { MOD_KEY, MOD_AUTO, MOD_UNIQUE, MOD_INDEX, MOD_MIN, MOD_MAX, MOD_WAS, MOD_ON_DELETE } ModKind;
typedef enum PACKED DeleteRule { DELETE_CASCADE, DELETE_CLEAR, DELETE_RESTRICT } DeleteRule;
typedef struct Mod {
  ModKind kind;
  DeleteRule on_delete;  // MOD_ON_DELETE
  Span span;
  Expr *value;         // MOD_MIN, MOD_MAX
  Name name;           // MOD_WAS
} Mod;
AST_LIST(Mod);

// `name: type = default min 0 max 9 @label("…")`: a state value, setting, table or record field, or parameter.
typedef struct Field {
  Name name;
  TypeExpr *type;
  Expr *initial;  // the default
  ModList mods;
  AnnotList annots;
  const Doc *doc;
  Span span;
} Field;
AST_LIST(Field);

struct TypeExpr {
  TypeExprKind kind;
  Span span;
  union {
    struct { Name name; TypeExprList args; } named;
    int64_t number;
    TypeExpr *elem;
    FieldList fields;
  };
};

// ---- expressions --------------------------------------------------------------------------

typedef enum PACKED ExprKind {
  EXPR_INT,       // 1_000: number (always ≥ 0 unless a minus was folded in: -5 is one literal)
  EXPR_DECIMAL,   // 12.50: decimal.units = 1250, decimal.scale = 2
  EXPR_TEXT,      // "a\n": text, decoded
  EXPR_BOOL,      // true: number 0 or 1
  EXPR_NONE,      // none
  EXPR_DURATION,  // 5min: number in microseconds
  EXPR_DATE,      // @2026-10-04: number in days since 1970-01-01
  EXPR_TIME,      // @2026-10-04T09:00Z: number in microseconds since 1970-01-01T00:00Z
  EXPR_INTERP,    // "a{x}b": list; odd and even parts as written, empty texts left out
  EXPR_NAME,      // x: name (self, caller, now and types in `Status.active` too)
  EXPR_FIELD,     // x.f: field.base, field.name; op is OPER_OPEN for x?.f, else OPER_NOTHING
  EXPR_CALL,      // f(a, b: c), x.f(a): call.callee (a NAME or FIELD mostly), call.args
  EXPR_INDEX,     // xs[i], Table[k1, k2], Table[field: v]: call.callee, call.args
  EXPR_UNARY,     // -x, not x: op, unary
  EXPR_BINARY,    // a + b: op, binary.left, binary.right, binary.op_span
  EXPR_IF,        // if c then a else b; if let x = c then a else b
  EXPR_MATCH,     // match x { p => e … }
  EXPR_QUERY,     // from a in T where … select …: clauses; the first is always a CLAUSE_FROM
  EXPR_INSERT,    // insert T { … }: insert.table, insert.record (an EXPR_RECORD)
  EXPR_RECORD,    // { a: 1, b, c.d, ..rest }: members
  EXPR_LIST,      // [a, b]: list
} ExprKind;

typedef enum PACKED Oper {
  OPER_NOTHING,
  OPER_OR, OPER_AND, OPER_EQ, OPER_NE, OPER_LT, OPER_LE, OPER_GT, OPER_GE, OPER_IN, OPER_ELSE /* ?? */, OPER_RANGE /* a..b */,
  OPER_ADD, OPER_SUB, OPER_MUL, OPER_DIV, OPER_MOD,  // EXPR_BINARY, and ASSIGN with `+= -= *=`
  OPER_NOT, OPER_NEG,                          // EXPR_UNARY
  OPER_OPEN,                                 // ?. in EXPR_FIELD
} Oper;

// A member of a record literal. `a: v` has a name; `a` and `x.a` are short for `a: a` and `a: x.a` (the name is then
// filled in, its span is that of the last part); `..x` takes the members of x that are not written.
typedef struct Member { Name name; Expr *value; bool is_rest, is_short; Span span; } Member;
AST_LIST(Member);

typedef struct MatchArm { Pattern *pattern; Expr *value; StmtBlock body; Span span; } MatchArm;  // value: EXPR_MATCH; body: STMT_MATCH
AST_LIST(MatchArm);

typedef enum PACKED ClauseKind {
  CLAUSE_FROM,    // from name in value
  CLAUSE_WHERE,   // where value
  CLAUSE_WITH,    // with name = value
  CLAUSE_GROUP,   // group by groups
  CLAUSE_ORDER,   // order by orders
  CLAUSE_SKIP,    // skip value
  CLAUSE_TAKE,    // take value
  CLAUSE_SELECT,  // select value
} ClauseKind;

// `k = e`, or `a.branch` (is_short), whose last name is then the name.
typedef struct GroupKey { Name name; Expr *value; bool is_short; } GroupKey;
AST_LIST(GroupKey);

typedef struct Clause {
  ClauseKind kind;
  Span span;
  Name name;    // FROM, WITH
  Expr *value;  // FROM, WHERE, WITH, SKIP, TAKE, SELECT
  union {
    GroupKeyList groups;
    OrderKeyList orders;
  };
} Clause;
AST_LIST(Clause);

struct Expr {
  ExprKind kind;
  Oper op;
  uint16_t depth : 15;     // 1 for a leaf; at most EXPR_DEPTH_MAX
  uint16_t in_parens : 1;  // written in ( ), which the span then includes
  uint32_t id;
  Span span;
  union {
    int64_t number;
    struct { int64_t units; uint8_t scale; } decimal;
    Str text;
    Name name;
    ExprList list;
    ClauseList clauses;
    MemberList members;
    Expr *unary;
    struct { Expr *base; Name name; } field;
    struct { Expr *callee; ArgList args; } call;
    struct { Expr *left, *right; Span op_span; } binary;
    struct { Name *let; Expr *condition, *then, *otherwise; } branch;  // EXPR_IF; let is NULL for a plain if
    struct { Expr *value; MatchArmList arms; } match;
    struct { Name table; Expr *record; } insert;
  };
};
_Static_assert(sizeof(Expr) == 48, "expressions are the bulk of a tree");

typedef enum PACKED PatternKind {
  PATTERN_ANY,      // _
  PATTERN_CASE,     // low, Kind.low, circle(r, _): enum_name?, name, bindings (an unused one, `_`, has sym 0)
  PATTERN_NONE,     // none
  PATTERN_SOME,     // some x: name
  PATTERN_LITERAL,  // 1, -1, "a", true, @2026-01-01: literal
  PATTERN_OR,       // a | b: alternatives
} PatternKind;
struct Pattern {
  PatternKind kind;
  bool has_parens;  // PATTERN_CASE
  Span span;
  Name enum_name, name;
  NameList bindings;
  Expr *literal;
  PatternList alternatives;
};

// ---- statements ---------------------------------------------------------------------------

typedef enum PACKED StmtKind {
  STMT_LET,            // let n: T = v [else …]: let
  STMT_VAR,            // var n: T = v: let
  STMT_EXPR,           // f(x) or insert T { … }: value
  STMT_ASSIGN,         // a = v, a += v: assign (op OPER_NOTHING, OPER_ADD, OPER_SUB, OPER_MUL)
  STMT_IF,             // if, else if, else: branches, otherwise
  STMT_FOR,            // for x in T where … { }: loop; clauses as in a query, the first a CLAUSE_FROM
  STMT_MATCH,          // match x { p => … }: match
  STMT_RETURN,         // return [v]: value or NULL
  STMT_REJECT,         // reject err: error
  STMT_REQUIRE,        // require c else err: require
  STMT_DELETE,         // delete r; delete from x in T where …: value (then an EXPR_QUERY)
  STMT_UPDATE,         // update row { … }: update
  STMT_SEND,           // send out(…): send
  STMT_EXPECT,         // expect e: value
  STMT_EXPECT_REJECT,  // expect reject call [with err]: expect
  STMT_ADVANCE,        // advance 1h: value
  STMT_AS,             // as "ann", teller { }: as
  STMT_RECEIVE,        // receive name(…): send
} StmtKind;

typedef enum PACKED LetElse { LET_ELSE_NOTHING, LET_ELSE_REJECT, LET_ELSE_RETURN, LET_ELSE_INSERT } LetElse;

// `if c { }` or `if let x = c { }` (let.sym set)
typedef struct IfBranch { Name let; Expr *condition; StmtBlock block; } IfBranch;
AST_LIST(IfBranch);

struct Stmt {
  StmtKind kind;
  LetElse let_else;  // STMT_LET
  Oper op;             // STMT_ASSIGN
  Span span;
  union {
    Expr *value;
    ErrorUse error;
    struct { Name name; TypeExpr *type; Expr *value; Expr *else_value; ErrorUse *else_error; } let;  // else_value: RETURN (or NULL), INSERT
    struct { Expr *target, *value; Span op_span; } assign;
    struct { IfBranchList branches; StmtBlock *otherwise; } branch;
    struct { ClauseList clauses; StmtBlock block; } loop;
    struct { Expr *value; MatchArmList arms; } match;
    struct { Expr *condition; ErrorUse *error; } require;
    struct { Expr *target, *record; } update;
    struct { Name name; ArgList args; } send;
    struct { Expr *call; Name error; bool is_receive; } expect;  // is_receive: `expect reject receive name(…)`
    struct { ExprList who; StmtBlock block; } as;  // a text (the caller) and names of roles, in any order
  };
};

// ---- declarations -------------------------------------------------------------------------

typedef enum PACKED DeclKind {
  DECL_APP,         // app n "title" @…: name, title, header.annots
  DECL_USE,         // use "file.aup": title
  DECL_TYPE,        // type Money = decimal(2) min 0: name, type (mods and annots in it)
  DECL_ENUM,        // enum K { a, b(x: int) }: name, header, enumeration
  DECL_RECORD,      // record R { … }: name, header, record
  DECL_STATE,       // state n: int = 0, state { … }: record (no name)
  DECL_TABLE,       // table T max 1_000 { … }: name, header, table
  DECL_ERROR,       // error e(…) "message" @status(409): name, function.params, title (NULL or a text with slots)
  DECL_ROLE,        // role a, b; role a = expr: role
  DECL_SETTING,     // setting k: text @secret: record (one field; no name)
  DECL_INPUT, DECL_RECEIVE, DECL_ACTION, DECL_FN, DECL_VIEW,  // name, header, function
  DECL_OUTPUT,      // output o(…): name, header, function.params
  DECL_TIMER,       // timer t every 1d at "02:00" { }, timer t for r in T at r.due { }: name, header, timer
  DECL_PAGE,        // page p "Title" { show v … }: name, title, header, page
  DECL_TEST,        // test "…" { }: title, function.block
  DECL_ALWAYS,      // always "…" = e: title, function.value
  DECL_START,       // start { }: function.block
  DECL_MIGRATE,     // migrate n(old: { … }) { }, migrate n T for p in Person(old: …) { }: name, migrate
  DECL_DROP,        // drop table A, B; drop state x: drop
} DeclKind;

// What may follow a name: `for a, b`, `was old`, `paged 50`, `every 1min`, `max 1_000`, `@hints`.
typedef struct Header {
  NameList roles;       // for …
  NameList was;
  AnnotList annots;
  Expr *every, *paged, *max;
  Span for_span;        // none when there is no `for`
} Header;

typedef struct Case { Name name; FieldList fields; NameList was; AnnotList annots; const Doc *doc; Span span; } Case;
AST_LIST(Case);

typedef enum PACKED TableItemKind {
  TABLE_LET,     // let n[: T] = e: name, type, value
  TABLE_KEY,     // key a, b: names
  TABLE_UNIQUE,  // unique a, b [where e]: names, value
  TABLE_INDEX,   // index a, b desc: orders (keys are names, or paths into a record)
  TABLE_CHECK,   // check e else err: value, error
  TABLE_EXPIRE,  // expire a after 30d: name, value
} TableItemKind;
typedef struct TableItem {
  TableItemKind kind;
  Span span;
  Name name;
  TypeExpr *type;
  Expr *value;
  NameList names;
  OrderKeyList orders;
  ErrorUse *error;
  const Doc *doc;
} TableItem;
AST_LIST(TableItem);

// `show V @columns(…)`, `form I`, `button I`, `text V`, `group "Title" { … }`: the word, what it shows, hints.
typedef struct PageEntry PageEntry;
AST_LIST(PageEntry);
struct PageEntry { Name word; NameList names; Expr *title; AnnotList annots; PageEntryList items; Span span; };

struct Decl {
  DeclKind kind;
  Span span;
  Name name;
  Expr *title;      // EXPR_TEXT, or EXPR_INTERP for an error's message
  const Doc *doc;
  Header header;
  union {
    struct { TypeExpr *type; ModList mods; } type;
    struct { CaseList cases; NameList drops; } enumeration;
    struct { FieldList fields; NameList drops; } record;
    struct { FieldList fields; TableItemList items; NameList drops; } table;
    struct { NameList names; Expr *value; } role;
    struct { FieldList params; TypeExpr *result; Expr *value; StmtBlock *block; } function;  // one of value and block
    struct { Expr *every, *at; Name row, table; StmtBlock block; } timer;  // row.sym: `for row in table at at`
    struct { PageEntryList items; } page;
    struct { Name target, row, table; FieldList params; StmtBlock block; } migrate;  // target: what is filled; row, table: the `for`
    struct { bool is_state; NameList names; } drop;
  };
};

typedef struct Ast {
  Arena *arena;
  DeclList decls;
  uint32_t expr_count, def_count;
  Intern names;
} Ast;

// An empty tree. NULL when there is no memory.
Ast *ast_new(Arena *arena);
// The text of an interned name; empty for 0. And the sym of a text that may be looked for (0: no memory).
Str ast_str(const Ast *ast, Sym sym);
Sym ast_sym(Ast *ast, const char *word);

// A stable text form of the tree, one node a line (syntax/dump.c).
void ast_dump(const Ast *ast, Buf *out);
