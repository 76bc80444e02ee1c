// The grammar of aup, for lemon. What each rule builds is in build.c; what the layout promises is in lexer.h: every item
// inside { } ends in NL or COMMA, newlines inside ( ) and [ ] are gone, a query's clause lines are joined, and words
// before `:` or after `.` are IDs.
//
// Why there are levels: `value` (may be a query) > `simple` (may be if or match) > `expr`. A query as an ordinary
// expression would make 160 conflicts, `if` as one 62. A statement starts with a keyword or a name (`pe`), never with a
// literal or bracket (`oe`), so that a block's brace is never taken for a record.
//
// Every list has an `error` production: after a mistake the parser drops that item and goes on behind its line.
%name Grammar
%token_prefix T_
%token_type {Token}
%default_type {Token}
%extra_argument {Parser *p}
%include {
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/syntax/build.h"
#include "runtime/base/mem.h"


static const Token NO_TOKEN = {0};
static const Name NO_NAME = {0};
}
%parse_accept { p->is_done = true; }
%parse_failure { p->is_done = true; }
%stack_overflow { p->is_overflown = true; }
%stack_size 0

%fallback ID
  APP USE TYPE ENUM RECORD STATE TABLE ERROR ROLE SETTING INPUT RECEIVE ACTION FN VIEW OUTPUT TIMER PAGE TEST ALWAYS START
  MIGRATE DROP EVERY AT KEY AUTO UNIQUE INDEX CHECK MIN MAX WAS ON CASCADE CLEAR RESTRICT EXPIRE AFTER WHERE ORDER GROUP BY
  SKIP TAKE ASC DESC SELECT PAGED EXPECT ADVANCE AS WITH SEND SOME UPDATE.

%left OR.
%left AND.
%right NOT.
%nonassoc EQEQ NE LT LE GT GE IN.
%right QQ.
%nonassoc DOTDOT.
%left PLUS MINUS.
%left STAR SLASH PERCENT.
%right UMINUS.

%type decl {Decl *}
%type optstr {Expr *}
%type string {Expr *}
%type sig {Signature}
%type body {Decl}
%type ret {TypeExpr *}
%type hmods {List}
%type wmods {List}
%type annots {List}
%type annot {Annot}
%type idlist {List}
%type params {List}
%type plist {List}
%type field {Field}
%type fields {List}
%type fmods {List}
%type titems {List}
%type titem {TableItem}
%type cases {List}
%type type {TypeExpr *}
%type targ {TypeExpr *}
%type targs {List}
%type pitem {PageEntry}
%type pitems {List}
%type block {StmtBlock}
%type stmts {List}
%type stmt {Stmt *}
%type ifchain {List}
%type ifhead {Token}
%type cond {Cond}
%type err {ErrorUse *}
%type sarms {List}
%type varms {List}
%type value {Expr *}
%type simple {Expr *}
%type expr {Expr *}
%type pe {Expr *}
%type oe {Expr *}
%type literal {Expr *}
%type insert {Expr *}
%type recordlit {Expr *}
%type rfields {List}
%type rfield {Member}
%type pattern {Pattern *}
%type pat1 {Pattern *}
%type binds {List}
%type bind {Name}
%type query {Expr *}
%type clauses {List}
%type clause {Clause}
%type groups {List}
%type group {GroupKey}
%type orders {List}
%type order {OrderKey}
%type interp {List}
%type args {ArgList}
%type arglist {List}
%type arg {Arg}
%type elems {List}
%type elist {List}

%start_symbol file
file ::= decls.
decls ::= .
decls ::= decls decl(D) NL. { build__add_decl(p, D); }
decls ::= decls error NL.

sep ::= NL.
sep ::= COMMA.

// ---- declarations -------------------------------------------------------------------------
decl(D) ::= APP(K) ID(N) optstr(T) annots(M). { D = build__decl(p, DECL_APP, K, N, M); if (D) D->title = T; }
decl(D) ::= USE(K) STRING(T). { D = build__titled(p, DECL_USE, K, T); }
decl(D) ::= TYPE(K) ID(N) EQ type(T) fmods(M). {
  Suffixes suffixes = build__suffixes(p, M);
  D = build__decl(p, DECL_TYPE, K, N, build__list(p));
  if (D) { D->type.type = T; D->type.mods = suffixes.mods; D->header.annots = suffixes.annots; }
}
decl(D) ::= ENUM(K) ID(N) hmods(M) LBRACE cases(C) RBRACE. { D = build__enum(p, K, N, M, C); }
decl(D) ::= RECORD(K) ID(N) hmods(M) LBRACE fields(F) RBRACE. { D = build__record_decl(p, K, N, M, F); }
decl(D) ::= STATE(K) field(F). { D = build__one_field(p, DECL_STATE, K, F); }
decl(D) ::= STATE(K) LBRACE fields(F) RBRACE. { D = build__state_decl(p, K, F); }
decl(D) ::= TABLE(K) ID(N) hmods(M) LBRACE titems(I) RBRACE. { D = build__table(p, K, N, M, I); }
decl(D) ::= ERROR(K) ID(N) params(P) string(T) wmods(M). { D = build__function(p, DECL_ERROR, K, (Signature){N, P, NULL, M}); if (D) D->title = T; }
decl(D) ::= ROLE(K) idlist(L) wmods(M). {
  Header *header = build__header(p, M);
  NameList names = build__defs(p, L);
  D = build__decl(p, DECL_ROLE, K, NO_TOKEN, build__list(p));
  if (D && header) { D->header = *header; D->role.names = names; }
}
decl(D) ::= ROLE(K) ID(N) EQ value(V). {
  List list = build__list(p);
  Name name = build__name(p, N);
  NameList names = build__defs(p, PUSH(list, name));
  D = build__decl(p, DECL_ROLE, K, NO_TOKEN, build__list(p));
  if (D) { D->role.names = names; D->role.value = V; }
}
decl(D) ::= SETTING(K) field(F). { D = build__one_field(p, DECL_SETTING, K, F); }
decl(D) ::= INPUT(K) sig(S) block(B). { D = build__function(p, DECL_INPUT, K, S); if (D) D->function.block = build__block_copy(p, B); }
decl(D) ::= RECEIVE(K) sig(S) block(B). { D = build__function(p, DECL_RECEIVE, K, S); if (D) D->function.block = build__block_copy(p, B); }
decl(D) ::= ACTION(K) sig(S) block(B). { D = build__function(p, DECL_ACTION, K, S); if (D) D->function.block = build__block_copy(p, B); }
decl(D) ::= FN(K) sig(S) EQ value(V). { D = build__function(p, DECL_FN, K, S); if (D) D->function.value = V; }
decl(D) ::= FN(K) sig(S) block(B). { D = build__function(p, DECL_FN, K, S); if (D) D->function.block = build__block_copy(p, B); }
decl(D) ::= VIEW(K) sig(S) EQ value(V). { D = build__function(p, DECL_VIEW, K, S); if (D) D->function.value = V; }
decl(D) ::= VIEW(K) sig(S) block(B). { D = build__function(p, DECL_VIEW, K, S); if (D) D->function.block = build__block_copy(p, B); }
decl(D) ::= OUTPUT(K) ID(N) params(P) hmods(M). { D = build__function(p, DECL_OUTPUT, K, (Signature){N, P, NULL, M}); }
decl(D) ::= TIMER(K) ID(N) wmods(M) EVERY expr(E) block(B). { D = build__decl(p, DECL_TIMER, K, N, M); if (D) { D->timer.every = E; D->timer.block = B; } }
decl(D) ::= TIMER(K) ID(N) wmods(M) EVERY expr(E) AT expr(A) block(B). { D = build__decl(p, DECL_TIMER, K, N, M); if (D) { D->timer.every = E; D->timer.at = A; D->timer.block = B; } }
decl(D) ::= TIMER(K) ID(N) wmods(M) FOR ID(R) IN ID(T) AT expr(A) block(B). {
  Name row = build__def(p, R), table = build__name(p, T);
  D = build__decl(p, DECL_TIMER, K, N, M);
  if (D) { D->timer.row = row; D->timer.table = table; D->timer.at = A; D->timer.block = B; }
}
decl(D) ::= PAGE(K) ID(N) optstr(T) hmods(M) LBRACE pitems(I) RBRACE. {
  PageEntryList items = FINISH(PageEntry, I);
  D = build__decl(p, DECL_PAGE, K, N, M);
  if (D) { D->title = T; D->page.items = items; }
}
decl(D) ::= TEST(K) STRING(T) block(B). { D = build__titled(p, DECL_TEST, K, T); if (D) D->function.block = build__block_copy(p, B); }
decl(D) ::= ALWAYS(K) STRING(T) EQ value(V). { D = build__titled(p, DECL_ALWAYS, K, T); if (D) D->function.value = V; }
decl(D) ::= START(K) block(B). { D = build__decl(p, DECL_START, K, NO_TOKEN, build__list(p)); if (D) D->function.block = build__block_copy(p, B); }
decl(D) ::= MIGRATE(K) migname(N) params(P) block(B). { D = build__migrate(p, K, N, P, B); }
decl(D) ::= MIGRATE(K) migname(N) FOR ID(R) IN ID(T) params(P) block(B). {
  Name row = build__def(p, R), table = build__name(p, T);
  D = build__migrate(p, K, N, P, B);
  if (D) { D->migrate.row = row; D->migrate.table = table; }
}
decl(D) ::= DROP(K) TABLE idlist(L). { NameList names = FINISH(Name, L); D = build__decl(p, DECL_DROP, K, NO_TOKEN, build__list(p)); if (D) D->drop.names = names; }
decl(D) ::= DROP(K) STATE idlist(L). { NameList names = FINISH(Name, L); D = build__decl(p, DECL_DROP, K, NO_TOKEN, build__list(p)); if (D) { D->drop.names = names; D->drop.is_state = true; } }

%type migname {TokenPair}
migname(R) ::= ID(N). { R.first = N; R.second = N; }
migname(R) ::= ID(N) ID(T). { R.first = N; R.second = T; }

optstr(R) ::= . { R = NULL; }
optstr(R) ::= STRING(T). { R = build__text(p, T); }
sig(R) ::= ID(N) params(P) ret(T) hmods(M). { R = (Signature){N, P, T, M}; }
ret(R) ::= . { R = NULL; }
ret(R) ::= ARROW type(T). { R = T; }

// What may follow the name in a header; wmods: only `was` and hints.
hmods(R) ::= . { R = build__list(p); }
hmods(R) ::= hmods(L) FOR(K) idlist(N). { R = build__suffix_names(p, L, SUFFIX_FOR, K, N); }
hmods(R) ::= hmods(L) WAS(K) ID(N). { R = build__suffix_name(p, L, SUFFIX_WAS, K, N); }
hmods(R) ::= hmods(L) PAGED(K) INT(N). { R = build__suffix(p, L, SUFFIX_PAGED, K, build__literal(p, N)); }
hmods(R) ::= hmods(L) EVERY(K) expr(E). { R = build__suffix(p, L, SUFFIX_EVERY, K, E); }
hmods(R) ::= hmods(L) MAX(K) expr(E). { R = build__suffix(p, L, SUFFIX_MAX, K, E); }
hmods(R) ::= hmods(L) annot(A). { R = build__suffix_annot(p, L, A); }
wmods(R) ::= . { R = build__list(p); }
wmods(R) ::= wmods(L) WAS(K) ID(N). { R = build__suffix_name(p, L, SUFFIX_WAS, K, N); }
wmods(R) ::= wmods(L) annot(A). { R = build__suffix_annot(p, L, A); }
annots(R) ::= . { R = build__list(p); }
annots(R) ::= annots(L) annot(A). { R = build__suffix_annot(p, L, A); }
annot(R) ::= ANNOT(N). { R = build__annot(p, N, (ArgList){0}); }
annot(R) ::= ANNOT(N) LPAREN args(A) RPAREN. { R = build__annot(p, N, A); }
idlist(R) ::= ID(N). { R = build__list(p); Name name = build__name(p, N); R = PUSH(R, name); }
idlist(R) ::= idlist(L) COMMA ID(N). { Name name = build__name(p, N); R = PUSH(L, name); }
params(R) ::= . { R = build__list(p); }
params(R) ::= LPAREN RPAREN. { R = build__list(p); }
params(R) ::= LPAREN plist(L) RPAREN. { R = L; }
params(R) ::= LPAREN plist(L) COMMA RPAREN. { R = L; }
plist(R) ::= field(F). { R = build__list(p); R = PUSH(R, F); }
plist(R) ::= plist(L) COMMA field(F). { R = PUSH(L, F); }

// ---- fields, types ------------------------------------------------------------------------
field(R) ::= ID(N) COLON type(T) fmods(M). { R = build__field(p, N, T, NULL, build__suffixes(p, M)); }
field(R) ::= ID(N) COLON type(T) fmods(M) EQ simple(V) fmods(L). {
  Suffixes after = build__suffixes(p, L);
  R = build__field(p, N, T, V, build__join(p, build__suffixes(p, M), after));
}
fields(R) ::= . { R = build__list(p); }
fields(R) ::= fields(L) field(F) sep. { R = build__entry_field(p, L, F); }
fields(R) ::= fields(L) DROP idlist(N) NL. { R = build__push_names(p, L, N); }
fields(R) ::= fields(L) error NL. { R = L; }
fmods(R) ::= . { R = build__list(p); }
fmods(R) ::= fmods(L) KEY(K). { R = build__mod(p, L, MOD_KEY, K, NULL); }
fmods(R) ::= fmods(L) AUTO(K). { R = build__mod(p, L, MOD_AUTO, K, NULL); }
fmods(R) ::= fmods(L) UNIQUE(K). { R = build__mod(p, L, MOD_UNIQUE, K, NULL); }
fmods(R) ::= fmods(L) INDEX(K). { R = build__mod(p, L, MOD_INDEX, K, NULL); }
fmods(R) ::= fmods(L) MIN(K) expr(E). { R = build__mod(p, L, MOD_MIN, K, E); }
fmods(R) ::= fmods(L) MAX(K) expr(E). { R = build__mod(p, L, MOD_MAX, K, E); }
fmods(R) ::= fmods(L) WAS(K) ID(N). { R = build__mod_was(p, L, K, N); }
fmods(R) ::= fmods(L) ON(K) DELETE CASCADE. { R = build__mod_on_delete(p, L, K, DELETE_CASCADE); }
fmods(R) ::= fmods(L) ON(K) DELETE CLEAR. { R = build__mod_on_delete(p, L, K, DELETE_CLEAR); }
fmods(R) ::= fmods(L) ON(K) DELETE RESTRICT. { R = build__mod_on_delete(p, L, K, DELETE_RESTRICT); }
fmods(R) ::= fmods(L) annot(A). { R = build__suffix_annot(p, L, A); }

titems(R) ::= . { R = build__list(p); }
titems(R) ::= titems(L) field(F) sep. { R = build__entry_field(p, L, F); }
titems(R) ::= titems(L) titem(I) NL. { R = build__entry_item(p, L, I); }
titems(R) ::= titems(L) DROP idlist(N) NL. { R = build__push_names(p, L, N); }
titems(R) ::= titems(L) error NL. { R = L; }
titem(R) ::= LET(K) ID(N) EQ value(V). { R = build__item(p, TABLE_LET, K); R.name = build__def(p, N); R.value = V; }
titem(R) ::= LET(K) ID(N) COLON type(T) EQ value(V). { R = build__item(p, TABLE_LET, K); R.name = build__def(p, N); R.type = T; R.value = V; }
titem(R) ::= KEY(K) idlist(L). { R = build__item(p, TABLE_KEY, K); R.names = FINISH(Name, L); }
titem(R) ::= UNIQUE(K) idlist(L). { R = build__item(p, TABLE_UNIQUE, K); R.names = FINISH(Name, L); }
titem(R) ::= UNIQUE(K) idlist(L) WHERE expr(E). { R = build__item(p, TABLE_UNIQUE, K); R.names = FINISH(Name, L); R.value = E; }
titem(R) ::= INDEX(K) orders(L). { R = build__item(p, TABLE_INDEX, K); R.orders = FINISH(OrderKey, L); }
titem(R) ::= CHECK(K) expr(E) ELSE err(X). { R = build__item(p, TABLE_CHECK, K); R.value = E; R.error = X; }
titem(R) ::= EXPIRE(K) ID(N) AFTER expr(E). { R = build__item(p, TABLE_EXPIRE, K); R.name = build__name(p, N); R.value = E; }

cases(R) ::= . { R = build__list(p); }
cases(R) ::= cases(L) ID(N) params(P) wmods(M) sep. { R = build__entry_case(p, L, N, P, M); }
cases(R) ::= cases(L) DROP ID(N) sep. { List one = build__list(p); Name name = build__name(p, N); R = build__push_names(p, L, PUSH(one, name)); }
cases(R) ::= cases(L) error NL. { R = L; }

type(R) ::= ID(N). { R = build__type_name(p, N, build__list(p)); }
type(R) ::= ID(N) LPAREN targs(A) RPAREN. { R = build__type_name(p, N, A); }
type(R) ::= LBRACK(K) type(T) RBRACK. { R = build__type(p, TYPE_EXPR_LIST, K.start); if (R) R->elem = T; }
type(R) ::= type(T) QUEST. { R = build__type(p, TYPE_EXPR_OPTIONAL, T ? T->span.start : 0); if (R) R->elem = T; }
type(R) ::= LBRACE(K) fields(F) RBRACE. { R = build__type_record(p, K, F); }
targs(R) ::= targ(T). { R = build__list(p); R = PUSH(R, T); }
targs(R) ::= targs(L) COMMA targ(T). { R = PUSH(L, T); }
targ(R) ::= type(T). { R = T; }
targ(R) ::= INT(N). { R = build__type_number(p, N); }

pitems(R) ::= . { R = build__list(p); }
pitems(R) ::= pitems(L) pitem(I) NL. { R = PUSH(L, I); }
pitems(R) ::= pitems(L) error NL. { R = L; }
pitem(R) ::= ID(W) idlist(N) annots(M). { R = build__page_item(p, W, M); R.names = FINISH(Name, N); }
pitem(R) ::= ID(W) optstr(T) annots(M). { R = build__page_item(p, W, M); R.title = T; }
pitem(R) ::= ID(W) optstr(T) annots(M) LBRACE pitems(I) RBRACE. { PageEntryList items = FINISH(PageEntry, I); R = build__page_item(p, W, M); R.title = T; R.items = items; }

// ---- statements ---------------------------------------------------------------------------
block(R) ::= LBRACE(K) stmts(L) RBRACE. { R = build__block(p, K, L); }
stmts(R) ::= . { R = build__list(p); }
stmts(R) ::= stmts(L) stmt(S) NL. { R = S ? PUSH(L, S) : L; }
stmts(R) ::= stmts(L) error NL. { R = L; }

stmt(R) ::= LET(K) ID(N) EQ value(V). { R = build__let(p, STMT_LET, K, N, NULL); if (R) R->let.value = V; }
stmt(R) ::= LET(K) ID(N) COLON type(T) EQ value(V). { R = build__let(p, STMT_LET, K, N, T); if (R) R->let.value = V; }
stmt(R) ::= LET(K) ID(N) EQ value(V) ELSE letelse(E). { R = build__let(p, STMT_LET, K, N, NULL); if (R) { R->let.value = V; build__let_else(R, E); } }
stmt(R) ::= LET(K) ID(N) COLON type(T) EQ value(V) ELSE letelse(E). { R = build__let(p, STMT_LET, K, N, T); if (R) { R->let.value = V; build__let_else(R, E); } }
stmt(R) ::= VAR(K) ID(N) EQ value(V). { R = build__let(p, STMT_VAR, K, N, NULL); if (R) R->let.value = V; }
stmt(R) ::= VAR(K) ID(N) COLON type(T) EQ value(V). { R = build__let(p, STMT_VAR, K, N, T); if (R) R->let.value = V; }
stmt(R) ::= pe(E). { R = build__value_stmt(p, STMT_EXPR, E ? E->span.start : 0, E); }
stmt(R) ::= pe(T) EQ(S) value(V). { R = build__assign(p, T, OPER_NOTHING, S, V); }
stmt(R) ::= pe(T) PLUSEQ(S) value(V). { R = build__assign(p, T, OPER_ADD, S, V); }
stmt(R) ::= pe(T) MINUSEQ(S) value(V). { R = build__assign(p, T, OPER_SUB, S, V); }
stmt(R) ::= pe(T) STAREQ(S) value(V). { R = build__assign(p, T, OPER_MUL, S, V); }
stmt(R) ::= ifhead(K) ifchain(L). { R = build__if_stmt(p, K, L, NULL); }
stmt(R) ::= ifhead(K) ifchain(L) ELSE block(B). { R = build__if_stmt(p, K, L, build__block_copy(p, B)); }
stmt(R) ::= FOR(K) ID(N) IN expr(E) clauses(L) block(B). { R = build__for(p, K, build__clause_from(p, N, N, E), L, B); }
stmt(R) ::= MATCH(K) expr(E) LBRACE sarms(A) RBRACE. { MatchArmList arms = FINISH(MatchArm, A); R = build__stmt(p, STMT_MATCH, K.start); if (R) { R->match.value = E; R->match.arms = arms; } }
stmt(R) ::= RETURN(K). { R = build__value_stmt(p, STMT_RETURN, K.start, NULL); }
stmt(R) ::= RETURN(K) value(V). { R = build__value_stmt(p, STMT_RETURN, K.start, V); }
stmt(R) ::= REJECT(K) err(E). { R = build__stmt(p, STMT_REJECT, K.start); if (R && E) R->error = *E; }
stmt(R) ::= REQUIRE(K) expr(C) ELSE err(E). { R = build__stmt(p, STMT_REQUIRE, K.start); if (R) { R->require.condition = C; R->require.error = E; } }
stmt(R) ::= insert(E). { R = build__value_stmt(p, STMT_EXPR, E ? E->span.start : 0, E); }
stmt(R) ::= DELETE(K) value(V). { R = build__value_stmt(p, STMT_DELETE, K.start, V); }
stmt(R) ::= UPDATE(K) pe(T) recordlit(V). { R = build__stmt(p, STMT_UPDATE, K.start); if (R) { R->update.target = T; R->update.record = V; } }
stmt(R) ::= SEND(K) ID(N) LPAREN args(A) RPAREN. { R = build__stmt(p, STMT_SEND, K.start); if (R) { R->send.name = build__name(p, N); R->send.args = A; } }
stmt(R) ::= RECEIVE(K) ID(N) LPAREN args(A) RPAREN. { R = build__stmt(p, STMT_RECEIVE, K.start); if (R) { R->send.name = build__name(p, N); R->send.args = A; } }
stmt(R) ::= EXPECT(K) expr(E). { R = build__value_stmt(p, STMT_EXPECT, K.start, E); }
stmt(R) ::= EXPECT(K) REJECT expected(C). { R = build__expect_reject(p, K, C, NO_TOKEN); }
stmt(R) ::= EXPECT(K) REJECT expected(C) WITH ID(N). { R = build__expect_reject(p, K, C, N); }
stmt(R) ::= ADVANCE(K) expr(E). { R = build__value_stmt(p, STMT_ADVANCE, K.start, E); }
stmt(R) ::= AS(K) elist(L) block(B). { ExprList who = FINISH(Expr, L); R = build__stmt(p, STMT_AS, K.start); if (R) { R->as.who = who; R->as.block = B; } }

%type expected {Expected}
expected(R) ::= pe(E). { R.call = E; R.is_receive = false; }
expected(R) ::= RECEIVE pe(E). { R.call = E; R.is_receive = true; }

%type letelse {OtherWay}
letelse(R) ::= REJECT err(E). { R = (OtherWay){LET_ELSE_REJECT, NULL, E}; }
letelse(R) ::= RETURN. { R = (OtherWay){LET_ELSE_RETURN, NULL, NULL}; }
letelse(R) ::= RETURN value(V). { R = (OtherWay){LET_ELSE_RETURN, V, NULL}; }
letelse(R) ::= insert(V). { R = (OtherWay){LET_ELSE_INSERT, V, NULL}; }

// `else if` is a list, so that a long chain is not deep.
ifhead(R) ::= IF(K). { R = K; }
ifchain(R) ::= cond(C) block(B). { R = build__list(p); IfBranch branch = {C.let, C.value, B}; R = PUSH(R, branch); }
ifchain(R) ::= ifchain(L) ELSE IF cond(C) block(B). { IfBranch branch = {C.let, C.value, B}; R = PUSH(L, branch); }
cond(R) ::= expr(E). { R = (Cond){NO_NAME, E}; }
cond(R) ::= LET ID(N) EQ expr(E). { R = (Cond){build__def(p, N), E}; }

err(R) ::= string(T). { R = build__error(p, T, NO_TOKEN, (ArgList){0}); }
err(R) ::= ID(N). { R = build__error(p, NULL, N, (ArgList){0}); }
err(R) ::= ID(N) LPAREN args(A) RPAREN. { R = build__error(p, NULL, N, A); }
sarms(R) ::= . { R = build__list(p); }
sarms(R) ::= sarms(L) pattern(P) FATARROW block(B) sep. { MatchArm arm = build__arm(p, P, NULL, B); R = PUSH(L, arm); }
sarms(R) ::= sarms(L) pattern(P) FATARROW stmt(S) NL. { MatchArm arm = build__arm(p, P, NULL, build__block_of(p, S)); R = PUSH(L, arm); }
sarms(R) ::= sarms(L) error NL. { R = L; }

// ---- values: what may stand after '=', 'return', '(' ---------------------------------------
value(R) ::= simple(E). { R = E; }
value(R) ::= query(E). { R = E; }
value(R) ::= insert(E). { R = E; }
insert(R) ::= INSERT(K) ID(T) recordlit(V). { R = build__insert(p, K, T, V); }
simple(R) ::= expr(E). { R = E; }
simple(R) ::= IF(K) cond(C) THEN simple(A) ELSE simple(B). { R = build__if(p, K, C, A, B); }
simple(R) ::= MATCH(K) expr(E) LBRACE varms(A) RBRACE. { R = build__match(p, K, E, A); }
varms(R) ::= . { R = build__list(p); }
varms(R) ::= varms(L) pattern(P) FATARROW simple(V) sep. { MatchArm arm = build__arm(p, P, V, (StmtBlock){0}); R = PUSH(L, arm); }
varms(R) ::= varms(L) error NL. { R = L; }

pattern(R) ::= pat1(P). { R = P; }
pattern(R) ::= pattern(A) PIPE pat1(B). { R = build__pattern_or(p, A, B); }
pat1(R) ::= UNDERSCORE(K). { R = build__pattern(p, PATTERN_ANY, K); }
pat1(R) ::= ID(N). { R = build__pattern_case(p, NO_TOKEN, N, build__list(p), false); }
pat1(R) ::= ID(T) DOT ID(N). { R = build__pattern_case(p, T, N, build__list(p), false); }
pat1(R) ::= ID(N) LPAREN binds(L) RPAREN. { R = build__pattern_case(p, NO_TOKEN, N, L, true); }
pat1(R) ::= ID(T) DOT ID(N) LPAREN binds(L) RPAREN. { R = build__pattern_case(p, T, N, L, true); }
pat1(R) ::= NONE(K). { R = build__pattern(p, PATTERN_NONE, K); }
pat1(R) ::= SOME(K) bind(N). { R = build__pattern(p, PATTERN_SOME, K); if (R) R->name = N; }
pat1(R) ::= literal(E). { R = build__pattern_literal(p, E); }
pat1(R) ::= MINUS(K) literal(E). { R = build__pattern_literal(p, build__minus_literal(p, K, E)); }
binds(R) ::= bind(N). { R = build__list(p); R = PUSH(R, N); }
binds(R) ::= binds(L) COMMA bind(N). { R = PUSH(L, N); }
bind(R) ::= ID(N). { R = build__def(p, N); }
bind(R) ::= UNDERSCORE(K). { R = NO_NAME; R.span = token_span(K); }

query(R) ::= FROM(K) ID(N) IN expr(E) clauses(L). { R = build__query(p, build__clause_from(p, K, N, E), L); }
clauses(R) ::= . { R = build__list(p); }
clauses(R) ::= clauses(L) clause(C). { R = PUSH(L, C); }
clause(R) ::= FROM(K) ID(N) IN expr(E). { R = build__clause_from(p, K, N, E); }
clause(R) ::= WHERE(K) expr(E). { R = build__clause(p, CLAUSE_WHERE, K, E); }
clause(R) ::= WITH(K) ID(N) EQ simple(E). { R = build__clause(p, CLAUSE_WITH, K, E); R.name = build__def(p, N); }
clause(R) ::= GROUP(K) BY groups(L). { GroupKeyList groups = FINISH(GroupKey, L); R = build__clause(p, CLAUSE_GROUP, K, NULL); R.groups = groups; }
clause(R) ::= ORDER(K) BY orders(L). { OrderKeyList orders = FINISH(OrderKey, L); R = build__clause(p, CLAUSE_ORDER, K, NULL); R.orders = orders; }
clause(R) ::= SKIP(K) expr(E). { R = build__clause(p, CLAUSE_SKIP, K, E); }
clause(R) ::= TAKE(K) expr(E). { R = build__clause(p, CLAUSE_TAKE, K, E); }
clause(R) ::= SELECT(K) simple(E). { R = build__clause(p, CLAUSE_SELECT, K, E); }
groups(R) ::= group(G). { R = build__list(p); R = PUSH(R, G); }
groups(R) ::= groups(L) COMMA group(G). { R = PUSH(L, G); }
group(R) ::= ID(N) EQ expr(E). { R = build__group_key(p, N, E); }
group(R) ::= expr(E). { R = build__group_key(p, NO_TOKEN, E); }
orders(R) ::= order(O). { R = build__list(p); R = PUSH(R, O); }
orders(R) ::= orders(L) COMMA order(O). { R = PUSH(L, O); }
order(R) ::= expr(E). { R = build__order(p, E, false); }
order(R) ::= expr(E) ASC. { R = build__order(p, E, false); }
order(R) ::= expr(E) DESC. { R = build__order(p, E, true); }

// ---- expressions --------------------------------------------------------------------------
expr(R) ::= pe(E). { R = E; }
expr(R) ::= oe(E). { R = E; }
expr(R) ::= expr(A) OR(S) expr(B). { R = build__binary(p, OPER_OR, S, A, B); }
expr(R) ::= expr(A) AND(S) expr(B). { R = build__binary(p, OPER_AND, S, A, B); }
expr(R) ::= NOT(S) expr(A). { R = build__unary(p, OPER_NOT, S, A); }
expr(R) ::= expr(A) EQEQ(S) expr(B). { R = build__binary(p, OPER_EQ, S, A, B); }
expr(R) ::= expr(A) NE(S) expr(B). { R = build__binary(p, OPER_NE, S, A, B); }
expr(R) ::= expr(A) LT(S) expr(B). { R = build__binary(p, OPER_LT, S, A, B); }
expr(R) ::= expr(A) LE(S) expr(B). { R = build__binary(p, OPER_LE, S, A, B); }
expr(R) ::= expr(A) GT(S) expr(B). { R = build__binary(p, OPER_GT, S, A, B); }
expr(R) ::= expr(A) GE(S) expr(B). { R = build__binary(p, OPER_GE, S, A, B); }
expr(R) ::= expr(A) IN(S) expr(B). { R = build__binary(p, OPER_IN, S, A, B); }
expr(R) ::= expr(A) QQ(S) expr(B). { R = build__binary(p, OPER_ELSE, S, A, B); }
expr(R) ::= expr(A) DOTDOT(S) expr(B). { R = build__binary(p, OPER_RANGE, S, A, B); }
expr(R) ::= expr(A) PLUS(S) expr(B). { R = build__binary(p, OPER_ADD, S, A, B); }
expr(R) ::= expr(A) MINUS(S) expr(B). { R = build__binary(p, OPER_SUB, S, A, B); }
expr(R) ::= expr(A) STAR(S) expr(B). { R = build__binary(p, OPER_MUL, S, A, B); }
expr(R) ::= expr(A) SLASH(S) expr(B). { R = build__binary(p, OPER_DIV, S, A, B); }
expr(R) ::= expr(A) PERCENT(S) expr(B). { R = build__binary(p, OPER_MOD, S, A, B); }
expr(R) ::= MINUS(S) expr(A). [UMINUS] { R = build__unary(p, OPER_NEG, S, A); }

// pe: starts with a name; the only thing a statement may start with besides a keyword
pe(R) ::= ID(N). { R = build__name_expr(p, N); }
pe(R) ::= pe(E) DOT ID(N). { R = build__field_expr(p, E, OPER_NOTHING, N); }
pe(R) ::= pe(E) QDOT ID(N). { R = build__field_expr(p, E, OPER_OPEN, N); }
pe(R) ::= pe(E) LBRACK args(A) RBRACK. { R = build__call(p, EXPR_INDEX, E, A); }
pe(R) ::= pe(E) LPAREN args(A) RPAREN. { R = build__call(p, EXPR_CALL, E, A); }
// oe: starts with anything else
oe(R) ::= literal(E). { R = E; }
oe(R) ::= NONE(K). { R = build__literal(p, K); }
oe(R) ::= STRBEG(K) interp(L) STREND(E). { R = build__interp(p, K, L, E); }
oe(R) ::= LPAREN(K) value(E) RPAREN. { R = build__parens(p, K, E); }
oe(R) ::= LBRACK(K) elems(L) RBRACK. { R = build__list_expr(p, K, L); }
oe(R) ::= recordlit(E). { R = E; }
oe(R) ::= oe(E) DOT ID(N). { R = build__field_expr(p, E, OPER_NOTHING, N); }
oe(R) ::= oe(E) QDOT ID(N). { R = build__field_expr(p, E, OPER_OPEN, N); }
oe(R) ::= oe(E) LBRACK args(A) RBRACK. { R = build__call(p, EXPR_INDEX, E, A); }
oe(R) ::= oe(E) LPAREN args(A) RPAREN. { R = build__call(p, EXPR_CALL, E, A); }
interp(R) ::= simple(E). { R = build__list(p); R = build__interp_part(p, R, NO_TOKEN, E); }
interp(R) ::= interp(L) STRMID(K) simple(E). { R = build__interp_part(p, L, K, E); }
string(R) ::= STRING(T). { R = build__text(p, T); }
string(R) ::= STRBEG(K) interp(L) STREND(E). { R = build__interp(p, K, L, E); }
literal(R) ::= INT(T). { R = build__literal(p, T); }
literal(R) ::= DECIMAL(T). { R = build__literal(p, T); }
literal(R) ::= STRING(T). { R = build__text(p, T); }
literal(R) ::= TRUE(T). { R = build__literal(p, T); }
literal(R) ::= FALSE(T). { R = build__literal(p, T); }
literal(R) ::= DURATION(T). { R = build__literal(p, T); }
literal(R) ::= TIME(T). { R = build__literal(p, T); }

args(R) ::= . { R = (ArgList){0}; }
args(R) ::= query(E). { R = build__query_arg(p, E); }
args(R) ::= arglist(L). { R = FINISH(Arg, L); }
args(R) ::= arglist(L) COMMA. { R = FINISH(Arg, L); }
arglist(R) ::= arg(A). { R = build__list(p); R = PUSH(R, A); }
arglist(R) ::= arglist(L) COMMA arg(A). { R = PUSH(L, A); }
arg(R) ::= simple(E). { R = (Arg){NO_NAME, E}; }
arg(R) ::= ID(N) COLON simple(E). { R = (Arg){build__name(p, N), E}; }
elems(R) ::= . { R = build__list(p); }
elems(R) ::= elist(L). { R = L; }
elems(R) ::= elist(L) COMMA. { R = L; }
elist(R) ::= simple(E). { R = build__list(p); R = PUSH(R, E); }
elist(R) ::= elist(L) COMMA simple(E). { R = PUSH(L, E); }
recordlit(R) ::= LBRACE(K) rfields(L) RBRACE. { R = build__record(p, K, L); }
rfields(R) ::= . { R = build__list(p); }
rfields(R) ::= rfields(L) rfield(M) sep. { R = PUSH(L, M); }
rfields(R) ::= rfields(L) error NL. { R = L; }
rfield(R) ::= ID(N) COLON simple(E). { R = build__member(p, N, E); }
rfield(R) ::= expr(E). { R = build__member(p, NO_TOKEN, E); }
rfield(R) ::= DOTDOT(K) expr(E). { R = build__rest(p, K, E); }

// ---- the automaton, for parser.c ----------------------------------------------------------
%code {
GrammarParser *grammar__new(void) { return GrammarAlloc(mem_alloc); }
void grammar__free(GrammarParser *grammar) { GrammarFree(grammar, mem_free); }
uint32_t grammar__depth(const GrammarParser *grammar) {
  const yyParser *parser = (const yyParser *)grammar;
  return (uint32_t)(parser->yytos - parser->yystack);
}
void grammar__feed(GrammarParser *grammar, Parser *p, Token token) { Grammar(grammar, token.kind, token, p); }

// Walks the automaton over the tokens without its actions: reductions pop from an overlay first, then from the real
// stack, which stays as it is. Nothing is copied, so this can be asked before every token.
bool grammar__accepts(const GrammarParser *grammar, const int *kinds, uint32_t count) {
  enum { OVERLAY_MAX = 256 };
  YYACTIONTYPE overlay[OVERLAY_MAX];
  uint32_t over = 0;
  const yyStackEntry *base = ((const yyParser *)grammar)->yytos;
  for (uint32_t at = 0; at < count;) {
    YYACTIONTYPE state = over ? overlay[over - 1] : base->stateno;
    YYACTIONTYPE action = yy_find_shift_action((YYCODETYPE)kinds[at], state);
    if (over == OVERLAY_MAX) return true;  // too deep to say; the real stack will tell
    if (action >= YY_MIN_REDUCE && action <= YY_MAX_REDUCE) {
      unsigned rule = (unsigned)(action - YY_MIN_REDUCE);
      for (int pop = -yyRuleInfoNRhs[rule]; pop > 0; pop--) {
        if (over) over--;
        else base--;
      }
      YYACTIONTYPE next = yy_find_reduce_action(over ? overlay[over - 1] : base->stateno, yyRuleInfoLhs[rule]);
      if (next == YY_ACCEPT_ACTION) return true;
      overlay[over++] = next;
      continue;
    }
    if (action > YY_MAX_SHIFTREDUCE) return action == YY_ACCEPT_ACTION;
    overlay[over++] = (YYACTIONTYPE)(action > YY_MAX_SHIFT ? action + YY_MIN_REDUCE - YY_MIN_SHIFTREDUCE : action);
    at++;
  }
  return true;
}
}
