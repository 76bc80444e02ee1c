// What the grammar's actions call: a parser's state, lists under construction, and one function a construct. Only
// grammar.y, build*.c, expect.c and parser.c include this.
//
// Owns:   scratch, until parser__free. Nodes are in the tree's arena.
// Thread: one at a time.
// Errors: no memory sets diags->failed; functions then return something that can be passed on (NULL, empty).
#pragma once
#include "compiler/diag.h"
#include "compiler/syntax/ast.h"
#include "compiler/syntax/lexer.h"

// A list that grows: a run of items on the scratch stack. Inner lists are finished before the next item of an outer one
// is pushed, so one stack serves them all; what an error left behind above a run is overwritten.
typedef struct List { uint32_t start, count; } List;

enum { PARSER_HISTORY = 4 };
typedef struct GrammarParser GrammarParser;

typedef struct Parser {
  Ast *ast;
  Arena *arena;
  const Source *source;
  DiagList *diags;
  Lexer lexer;
  GrammarParser *grammar;
  Token current;         // the token being fed
  Token history[PARSER_HISTORY];  // fed before it, the newest first
  uint32_t last_end;     // where the last token before it ended
  char *scratch;
  size_t scratch_len, scratch_room;
  List decls;            // finished declarations
  bool is_too_deep, is_done, is_overflown;
} Parser;

// ---- lists --------------------------------------------------------------------------------
List build__list(Parser *p);                                                   // empty
List build__push(Parser *p, List list, const void *item, size_t size);
void *build__finish(Parser *p, List list, size_t size);                        // a copy in the arena, NULL when empty
#define PUSH(list, item) build__push(p, (list), &(item), sizeof(item))
#define FINISH(T, list) ((T##List){build__finish(p, (list), sizeof(*((T##List *)0)->items)), (list).count})

// What may stand in a body: one list holds them in order, the finished parts are sorted out of it.
typedef enum EntryKind { ENTRY_FIELD, ENTRY_ITEM, ENTRY_CASE, ENTRY_DROP } EntryKind;
typedef struct Entry { EntryKind kind; union { Field field; TableItem item; Case a_case; Name name; }; } Entry;

// What may stand behind a name or a type, in any order.
typedef enum SuffixKind { SUFFIX_MOD, SUFFIX_ANNOT, SUFFIX_FOR, SUFFIX_WAS, SUFFIX_PAGED, SUFFIX_EVERY, SUFFIX_MAX } SuffixKind;
typedef struct Suffix { SuffixKind kind; Span span; Name name; Expr *value; Mod mod; Annot annot; } Suffix;

// ---- names and small parts ----------------------------------------------------------------
Name build__name(Parser *p, Token token);   // a use
Name build__def(Parser *p, Token token);    // a declaring place
NameList build__defs(Parser *p, List names);                                   // uses made declaring places
const Doc *build__doc(Parser *p, uint32_t start);
Span build__since(const Parser *p, uint32_t start);                            // up to the last token
Annot build__annot(Parser *p, Token name, ArgList args);
ErrorUse *build__error(Parser *p, Expr *text, Token name, ArgList args);
StmtBlock build__block(Parser *p, Token open, List stmts);
StmtBlock *build__block_copy(Parser *p, StmtBlock block);
List build__push_names(Parser *p, List entries, List names);                   // as ENTRY_DROP

// ---- types and fields ---------------------------------------------------------------------
TypeExpr *build__type(Parser *p, TypeExprKind kind, uint32_t start);
TypeExpr *build__type_name(Parser *p, Token name, List args);
TypeExpr *build__type_number(Parser *p, Token number);
TypeExpr *build__type_record(Parser *p, Token open, List entries);
List build__mod(Parser *p, List suffixes, ModKind kind, Token first, Expr *value);
List build__mod_was(Parser *p, List suffixes, Token first, Token name);
List build__mod_on_delete(Parser *p, List suffixes, Token first, DeleteRule what);
List build__suffix(Parser *p, List suffixes, SuffixKind kind, Token first, Expr *value);
List build__suffix_names(Parser *p, List suffixes, SuffixKind kind, Token first, List names);
List build__suffix_name(Parser *p, List suffixes, SuffixKind kind, Token first, Token name);
List build__suffix_annot(Parser *p, List suffixes, Annot annot);
typedef struct Suffixes { ModList mods; AnnotList annots; } Suffixes;
Suffixes build__suffixes(Parser *p, List suffixes);                            // mods and annots
Field build__field(Parser *p, Token name, TypeExpr *type, Expr *initial, Suffixes suffixes);
Suffixes build__join(Parser *p, Suffixes before, Suffixes after);
Header *build__header(Parser *p, List suffixes);
List build__entry_field(Parser *p, List entries, Field field);
List build__entry_item(Parser *p, List entries, TableItem item);
List build__entry_case(Parser *p, List entries, Token name, List params, List suffixes);
TableItem build__item(Parser *p, TableItemKind kind, Token first);

// A condition, or `let name = value`.
typedef struct Cond { Name let; Expr *value; } Cond;

// ---- expressions --------------------------------------------------------------------------
Expr *build__literal(Parser *p, Token token);
Expr *build__text(Parser *p, Token token);                                     // a whole text
Expr *build__interp(Parser *p, Token open, List parts, Token end);
List build__interp_part(Parser *p, List parts, Token text, Expr *value);       // the text before, then the value
Expr *build__name_expr(Parser *p, Token name);
Expr *build__field_expr(Parser *p, Expr *base, Oper op, Token name);
Expr *build__call(Parser *p, ExprKind kind, Expr *callee, ArgList args);
Expr *build__unary(Parser *p, Oper op, Token sign, Expr *operand);
Expr *build__binary(Parser *p, Oper op, Token sign, Expr *left, Expr *right);
Expr *build__if(Parser *p, Token first, Cond cond, Expr *then, Expr *otherwise);
Expr *build__match(Parser *p, Token first, Expr *value, List arms);
MatchArm build__arm(Parser *p, Pattern *pattern, Expr *value, StmtBlock body);
Expr *build__query(Parser *p, Clause from, List clauses);
Expr *build__insert(Parser *p, Token first, Token table, Expr *record);
Expr *build__record(Parser *p, Token open, List members);
Expr *build__list_expr(Parser *p, Token open, List items);
Expr *build__parens(Parser *p, Token open, Expr *inner);
Member build__member(Parser *p, Token name, Expr *value);                      // name.kind 0: short
Member build__rest(Parser *p, Token dots, Expr *value);
ArgList build__query_arg(Parser *p, Expr *query);
Clause build__clause(Parser *p, ClauseKind kind, Token first, Expr *value);
Clause build__clause_from(Parser *p, Token first, Token name, Expr *value);
OrderKey build__order(Parser *p, Expr *key, bool descending);
GroupKey build__group_key(Parser *p, Token name, Expr *value);                 // name.kind 0: short
Pattern *build__pattern(Parser *p, PatternKind kind, Token first);
Pattern *build__pattern_case(Parser *p, Token enum_name, Token name, List bindings, bool has_parens);
Pattern *build__pattern_literal(Parser *p, Expr *literal);
Pattern *build__pattern_or(Parser *p, Pattern *left, Pattern *right);
Expr *build__minus_literal(Parser *p, Token sign, Expr *literal);

// ---- statements and declarations ----------------------------------------------------------
Stmt *build__stmt(Parser *p, StmtKind kind, uint32_t start);
Stmt *build__let(Parser *p, StmtKind kind, Token first, Token name, TypeExpr *type);  // the value is still to be set
Stmt *build__value_stmt(Parser *p, StmtKind kind, uint32_t start, Expr *value);
typedef struct OtherWay { LetElse kind; Expr *value; ErrorUse *error; } OtherWay;
void build__let_else(Stmt *stmt, OtherWay other);
Stmt *build__if_stmt(Parser *p, Token first, List branches, StmtBlock *otherwise);
Stmt *build__for(Parser *p, Token first, Clause from, List clauses, StmtBlock block);
typedef struct Expected { Expr *call; bool is_receive; } Expected;
Stmt *build__expect_reject(Parser *p, Token first, Expected expected, Token error);
StmtBlock build__block_of(Parser *p, Stmt *stmt);
Stmt *build__assign(Parser *p, Expr *target, Oper op, Token sign, Expr *value);
Decl *build__decl(Parser *p, DeclKind kind, Token first, Token name, List suffixes);  // name.kind 0: none
typedef struct Signature { Token name; List params; TypeExpr *result; List suffixes; } Signature;
Decl *build__function(Parser *p, DeclKind kind, Token first, Signature signature);
typedef struct TokenPair { Token first, second; } TokenPair;
Decl *build__titled(Parser *p, DeclKind kind, Token first, Token title);
Decl *build__record_decl(Parser *p, Token first, Token name, List suffixes, List entries);
Decl *build__state_decl(Parser *p, Token first, List entries);
Decl *build__migrate(Parser *p, Token first, TokenPair names, List params, StmtBlock block);
PageEntry build__page_item(Parser *p, Token word, List annots);
Decl *build__one_field(Parser *p, DeclKind kind, Token first, Field field);
Decl *build__table(Parser *p, Token first, Token name, List suffixes, List entries);
Decl *build__enum(Parser *p, Token first, Token name, List suffixes, List entries);
void build__add_decl(Parser *p, Decl *decl);

// A cleared node of the tree, or NULL.
void *build__node(Parser *p, size_t size);
// The expression of a doc line `/// > expr`, or NULL when it has errors. (parser.c)
Expr *parser__example(Parser *p, Span part);

// ---- the automaton, from the generated file -----------------------------------------------
enum { PARSER_STACK_MAX = 30000 };
GrammarParser *grammar__new(void);
void grammar__free(GrammarParser *grammar);
uint32_t grammar__depth(const GrammarParser *grammar);  // of its stack
void grammar__feed(GrammarParser *grammar, Parser *p, Token token);
// Would the automaton shift these token kinds, one after the other, from where it stands?
bool grammar__accepts(const GrammarParser *grammar, const int *kinds, uint32_t count);
