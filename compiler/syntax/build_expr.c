// The grammar's actions for expressions, queries, patterns and statements. Each node learns here how deep it is: the
// only place where depth grows, so the limit has one home.
#include <assert.h>

#include "compiler/syntax/build.h"
#include "compiler/syntax/literal.h"

static Decoder decoder(const Parser *p) { return (Decoder){p->source, p->arena, p->diags}; }

static Expr *new_expr(Parser *p, ExprKind kind, Span span) {
  Expr *expr = build__node(p, sizeof *expr);
  if (!expr) return NULL;
  expr->kind = kind;
  expr->id = ++p->ast->expr_count;
  expr->span = span;
  expr->depth = 1;
  return expr;
}

// `child` stands below `expr`.
static void put_below(Parser *p, Expr *expr, const Expr *child) {
  if (!child || child->depth < expr->depth) return;
  if (child->depth < EXPR_DEPTH_MAX) { expr->depth = (uint16_t)(child->depth + 1) & 0x7FFF; return; }
  expr->depth = EXPR_DEPTH_MAX;
  if (p->is_too_deep) return;
  p->is_too_deep = true;
  Span first = {expr->span.start, expr->span.start + 1};
  diag_add(p->diags, DIAG_E023, first, "this expression is more than %d operators deep (EXPR_DEPTH_MAX)", EXPR_DEPTH_MAX);
}

static uint32_t start_of(const Expr *expr) { return expr ? expr->span.start : 0; }

// 9223372036854775808 is an int only behind a minus; op marks one that still waits for it.
static Expr *check_whole(Parser *p, Expr *expr) {
  if (expr && expr->kind == EXPR_INT && expr->op == OPER_NEG) {
    Diag *diag = diag_add(p->diags, DIAG_E012, expr->span, "this number does not fit an int");
    diag_help(p->diags, diag, "an int is at most 9223372036854775807");
    expr->op = OPER_NOTHING;
  }
  return expr;
}

// ---- literals and texts -------------------------------------------------------------------

// True for 2^63 right behind a minus sign; whether that minus makes it negative is seen when it is folded.
static bool stands_behind_minus(const Parser *p, Span span) {
  const char *c = p->source->text.ptr + (span.start - p->source->base);
  while (c > p->source->text.ptr && (c[-1] == ' ' || c[-1] == '\t')) c--;
  return c > p->source->text.ptr && c[-1] == '-';
}

Expr *build__literal(Parser *p, Token token) {
  Decoder d = decoder(p);
  Span span = token_span(token);
  Expr *expr = new_expr(p, EXPR_NONE, span);
  if (!expr) return NULL;
  bool flag = false;
  switch (token.kind) {
    case T_INT:
      expr->kind = EXPR_INT;
      expr->number = literal_int(&d, span, &flag);
      if (flag) expr->op = OPER_NEG;
      if (flag && !stands_behind_minus(p, span)) check_whole(p, expr);
      break;
    case T_DECIMAL: expr->kind = EXPR_DECIMAL; expr->decimal.units = literal_decimal(&d, span, &expr->decimal.scale); break;
    case T_TRUE: case T_FALSE: expr->kind = EXPR_BOOL; expr->number = token.kind == T_TRUE; break;
    case T_DURATION: expr->kind = EXPR_DURATION; expr->number = literal_duration(&d, span); break;
    case T_TIME: expr->number = literal_time(&d, span, &flag); expr->kind = flag ? EXPR_DATE : EXPR_TIME; break;
    default: assert(token.kind == T_NONE); break;
  }
  return expr;
}

// The token's text without its first byte and its last, when that is one of `closing`.
static Span inside_of(const Parser *p, Token token, const char *closing) {
  Span span = {token.start + 1, token.end};
  const char *text = p->source->text.ptr - p->source->base;
  if (token.start == token.end) return (Span){token.start, token.start};
  bool is_closed = span.end > span.start && strchr(closing, text[span.end - 1]) && text[span.end - 1];
  if (is_closed) span.end--;
  return span;
}

Expr *build__text(Parser *p, Token token) {
  Decoder d = decoder(p);
  Expr *expr = new_expr(p, EXPR_TEXT, token_span(token));
  if (expr) expr->text = literal_text(&d, inside_of(p, token, "\"'`"));
  return expr;
}

static List push_text(Parser *p, List parts, Span inside) {
  if (inside.start == inside.end) return parts;
  Decoder d = decoder(p);
  Expr *expr = new_expr(p, EXPR_TEXT, inside);
  if (!expr) return parts;
  expr->text = literal_text(&d, inside);
  return PUSH(parts, expr);
}

List build__interp_part(Parser *p, List parts, Token text, Expr *value) {
  if (text.kind) parts = push_text(p, parts, inside_of(p, text, "{"));
  return value ? PUSH(parts, value) : parts;
}

Expr *build__interp(Parser *p, Token open, List parts, Token end) {
  parts = push_text(p, parts, inside_of(p, end, "\""));
  ExprList values = FINISH(Expr, parts);
  // The text before the first value was not yet known to be one when its list began.
  Span head = inside_of(p, open, "{");
  Expr *expr = new_expr(p, EXPR_INTERP, (Span){open.start, end.end});
  if (!expr || !values.items) return expr;
  List all = push_text(p, build__list(p), head);
  for (uint32_t i = 0; i < values.count; i++) {
    put_below(p, expr, values.items[i]);
    all = PUSH(all, values.items[i]);
  }
  expr->list = FINISH(Expr, all);
  return expr;
}

// ---- operators ----------------------------------------------------------------------------

Expr *build__name_expr(Parser *p, Token name) {
  Expr *expr = new_expr(p, EXPR_NAME, token_span(name));
  if (expr) expr->name = build__name(p, name);
  return expr;
}

Expr *build__field_expr(Parser *p, Expr *base, Oper op, Token name) {
  Expr *expr = new_expr(p, EXPR_FIELD, (Span){start_of(base), name.end});
  if (!expr || !base) return expr;
  expr->op = op;
  expr->field.base = check_whole(p, base);
  expr->field.name = build__name(p, name);
  put_below(p, expr, base);
  return expr;
}

static void put_args_below(Parser *p, Expr *expr, ArgList args) {
  for (uint32_t i = 0; args.items && i < args.count; i++) put_below(p, expr, args.items[i].value);
}

Expr *build__call(Parser *p, ExprKind kind, Expr *callee, ArgList args) {
  Expr *expr = new_expr(p, kind, build__since(p, start_of(callee)));
  if (!expr || !callee) return expr;
  expr->call.callee = check_whole(p, callee);
  expr->call.args = args;
  put_below(p, expr, callee);
  put_args_below(p, expr, args);
  return expr;
}

ArgList build__query_arg(Parser *p, Expr *query) {
  Arg *arg = build__node(p, sizeof *arg);
  if (!arg) return (ArgList){0};
  arg->value = query;
  return (ArgList){arg, 1};
}

// A minus before a number belongs to the number.
static bool fold_minus(Expr *operand) {
  if (operand->in_parens) return false;
  if (operand->kind == EXPR_INT && operand->op == OPER_NEG) { operand->op = OPER_NOTHING; return true; }  // -2^63
  if (operand->kind == EXPR_DECIMAL) { operand->decimal.units = -operand->decimal.units; return true; }
  bool has_number = operand->kind == EXPR_INT || operand->kind == EXPR_DURATION;
  if (has_number && operand->number != INT64_MIN) operand->number = -operand->number;
  return has_number;
}

Expr *build__unary(Parser *p, Oper op, Token sign, Expr *operand) {
  if (op == OPER_NEG && operand && fold_minus(operand)) {
    operand->span.start = sign.start;
    return operand;
  }
  Expr *expr = new_expr(p, EXPR_UNARY, build__since(p, sign.start));
  if (!expr) return NULL;
  expr->op = op;
  expr->unary = operand;
  put_below(p, expr, operand);
  return expr;
}

Expr *build__minus_literal(Parser *p, Token sign, Expr *literal) { return build__unary(p, OPER_NEG, sign, literal); }

Expr *build__binary(Parser *p, Oper op, Token sign, Expr *left, Expr *right) {
  Span span = {start_of(left), right ? right->span.end : sign.end};
  Expr *expr = new_expr(p, EXPR_BINARY, span);
  if (!expr) return NULL;
  expr->op = op;
  expr->binary.left = check_whole(p, left);
  expr->binary.right = check_whole(p, right);
  expr->binary.op_span = token_span(sign);
  put_below(p, expr, left);
  put_below(p, expr, right);
  return expr;
}

Expr *build__parens(Parser *p, Token open, Expr *inner) {
  if (!check_whole(p, inner)) return NULL;
  inner->in_parens = 1;
  inner->span = build__since(p, open.start);
  return inner;
}

Expr *build__if(Parser *p, Token first, Cond cond, Expr *then, Expr *otherwise) {
  Expr *expr = new_expr(p, EXPR_IF, build__since(p, first.start));
  if (!expr) return NULL;
  if (cond.let.sym) {
    expr->branch.let = build__node(p, sizeof(Name));
    if (expr->branch.let) *expr->branch.let = cond.let;
  }
  expr->branch.condition = cond.value;
  expr->branch.then = then;
  expr->branch.otherwise = otherwise;
  put_below(p, expr, cond.value);
  put_below(p, expr, then);
  put_below(p, expr, otherwise);
  return expr;
}

// ---- compound values ----------------------------------------------------------------------

MatchArm build__arm(Parser *p, Pattern *pattern, Expr *value, StmtBlock body) {
  return (MatchArm){pattern, value, body, build__since(p, pattern ? pattern->span.start : p->last_end)};
}

Expr *build__match(Parser *p, Token first, Expr *value, List arms) {
  MatchArmList list = FINISH(MatchArm, arms);
  Expr *expr = new_expr(p, EXPR_MATCH, build__since(p, first.start));
  if (!expr) return NULL;
  expr->match.value = value;
  expr->match.arms = list;
  put_below(p, expr, value);
  for (uint32_t i = 0; list.items && i < list.count; i++) put_below(p, expr, list.items[i].value);
  return expr;
}

static void put_clause_below(Parser *p, Expr *expr, const Clause *clause) {
  put_below(p, expr, clause->value);
  if (clause->kind == CLAUSE_GROUP)
    for (uint32_t i = 0; clause->groups.items && i < clause->groups.count; i++) put_below(p, expr, clause->groups.items[i].value);
  if (clause->kind == CLAUSE_ORDER)
    for (uint32_t i = 0; clause->orders.items && i < clause->orders.count; i++) put_below(p, expr, clause->orders.items[i].key);
}

// One list of a `from` and the clauses behind it.
static ClauseList join_clauses(Parser *p, Clause from, List clauses) {
  ClauseList rest = FINISH(Clause, clauses);
  if (!rest.items) rest.count = 0;
  ClauseList all = {arena_alloc(p->arena, (rest.count + 1) * sizeof(Clause)), rest.count + 1};
  if (!all.items) { p->diags->failed = true; return (ClauseList){0}; }
  all.items[0] = from;
  for (uint32_t i = 0; i < rest.count; i++) {
    all.items[i + 1] = rest.items[i];
    if (all.items[i].kind == CLAUSE_SELECT) {
      Span word = {rest.items[i].span.start, rest.items[i].span.start};
      Diag *diag = diag_add(p->diags, DIAG_E009, word, "`select` comes last in a query");
      diag_label(p->diags, diag, all.items[i].span, "this `select` ends it");
      diag_help(p->diags, diag, "move this clause before `select`; clauses are carried out in their order");
    }
  }
  return all;
}

Expr *build__query(Parser *p, Clause from, List clauses) {
  ClauseList list = join_clauses(p, from, clauses);
  Expr *expr = new_expr(p, EXPR_QUERY, build__since(p, from.span.start));
  if (!expr) return NULL;
  expr->clauses = list;
  for (uint32_t i = 0; i < list.count; i++) put_clause_below(p, expr, &list.items[i]);
  return expr;
}

Clause build__clause(Parser *p, ClauseKind kind, Token first, Expr *value) {
  return (Clause){.kind = kind, .span = build__since(p, first.start), .value = value};
}

Clause build__clause_from(Parser *p, Token first, Token name, Expr *value) {
  Clause clause = build__clause(p, CLAUSE_FROM, first, value);
  clause.name = build__def(p, name);
  return clause;
}

// The last name of `a` or `a.b.c`; sym 0 for anything else.
static Name last_name(const Expr *value) {
  if (value && !value->in_parens && value->kind == EXPR_NAME) return value->name;
  if (value && !value->in_parens && value->kind == EXPR_FIELD) return value->field.name;
  return (Name){0};
}

GroupKey build__group_key(Parser *p, Token name, Expr *value) {
  if (name.kind) return (GroupKey){build__def(p, name), value, false};
  GroupKey key = {last_name(value), value, true};
  if (key.name.sym) { key.name.id = ++p->ast->def_count; return key; }
  if (value) {
    Diag *diag = diag_add(p->diags, DIAG_E001, value->span, "this group needs a name");
    diag_help(p->diags, diag, "write `group by name = …`");
  }
  return key;
}

OrderKey build__order(Parser *p, Expr *key, bool descending) {
  return (OrderKey){key, descending, build__since(p, start_of(key))};
}

Expr *build__insert(Parser *p, Token first, Token table, Expr *record) {
  Expr *expr = new_expr(p, EXPR_INSERT, build__since(p, first.start));
  if (!expr) return NULL;
  expr->insert.table = build__name(p, table);
  expr->insert.record = record;
  put_below(p, expr, record);
  return expr;
}

Member build__member(Parser *p, Token name, Expr *value) {
  Member member = {.value = value};
  if (name.kind) {
    member.name = build__name(p, name);
    member.span = build__since(p, name.start);
    return member;
  }
  member.name = last_name(value);
  member.is_short = true;
  member.span = build__since(p, start_of(value));
  if (!member.name.sym && value) {
    Diag *diag = diag_add(p->diags, DIAG_E001, value->span, "this member of a record needs a name");
    diag_help(p->diags, diag, "write `name: value`; only a name or a field stands alone");
  }
  return member;
}

Member build__rest(Parser *p, Token dots, Expr *value) {
  return (Member){.value = value, .is_rest = true, .span = build__since(p, dots.start)};
}

Expr *build__record(Parser *p, Token open, List members) {
  MemberList list = FINISH(Member, members);
  Expr *expr = new_expr(p, EXPR_RECORD, build__since(p, open.start));
  if (!expr) return NULL;
  expr->members = list;
  for (uint32_t i = 0; list.items && i < list.count; i++) put_below(p, expr, list.items[i].value);
  return expr;
}

Expr *build__list_expr(Parser *p, Token open, List items) {
  ExprList list = FINISH(Expr, items);
  Expr *expr = new_expr(p, EXPR_LIST, build__since(p, open.start));
  if (!expr) return NULL;
  expr->list = list;
  for (uint32_t i = 0; list.items && i < list.count; i++) put_below(p, expr, list.items[i]);
  return expr;
}

// ---- patterns -----------------------------------------------------------------------------

static Pattern *new_pattern(Parser *p, PatternKind kind, uint32_t start) {
  Pattern *pattern = build__node(p, sizeof *pattern);
  if (!pattern) return NULL;
  pattern->kind = kind;
  pattern->span = build__since(p, start);
  return pattern;
}

Pattern *build__pattern(Parser *p, PatternKind kind, Token first) { return new_pattern(p, kind, first.start); }

Pattern *build__pattern_literal(Parser *p, Expr *literal) {
  if (!literal) return NULL;
  Pattern *pattern = new_pattern(p, PATTERN_LITERAL, literal->span.start);
  if (pattern) pattern->literal = check_whole(p, literal);
  return pattern;
}

Pattern *build__pattern_case(Parser *p, Token enum_name, Token name, List bindings, bool has_parens) {
  NameList list = FINISH(Name, bindings);
  Pattern *pattern = new_pattern(p, PATTERN_CASE, enum_name.kind ? enum_name.start : name.start);
  if (!pattern) return NULL;
  pattern->enum_name = build__name(p, enum_name);
  pattern->name = build__name(p, name);
  pattern->bindings = list;
  pattern->has_parens = has_parens;
  return pattern;
}

// The right one joins the left one's list, or begins one. Lists of alternatives are short, so they are copied.
Pattern *build__pattern_or(Parser *p, Pattern *left, Pattern *right) {
  if (!left || !right) return left;
  Pattern *both = left;
  if (left->kind != PATTERN_OR) {
    both = new_pattern(p, PATTERN_OR, left->span.start);
    if (!both) return NULL;
    both->alternatives.items = build__node(p, 2 * sizeof(Pattern *));
    if (!both->alternatives.items) return left;
    both->alternatives.items[both->alternatives.count++] = left;
  } else if ((left->alternatives.count & (left->alternatives.count - 1)) == 0) {  // full at 2, 4, 8 …
    size_t size = left->alternatives.count * sizeof(Pattern *);
    Pattern **items = arena_grow(p->arena, left->alternatives.items, size, size * 2);
    if (!items) { p->diags->failed = true; return left; }
    left->alternatives.items = items;
  }
  both->alternatives.items[both->alternatives.count++] = right;
  both->span.end = right->span.end;
  return both;
}

// ---- statements ---------------------------------------------------------------------------

Stmt *build__stmt(Parser *p, StmtKind kind, uint32_t start) {
  Stmt *stmt = build__node(p, sizeof *stmt);
  if (!stmt) return NULL;
  stmt->kind = kind;
  stmt->span = build__since(p, start);
  return stmt;
}

Stmt *build__value_stmt(Parser *p, StmtKind kind, uint32_t start, Expr *value) {
  Stmt *stmt = build__stmt(p, kind, start);
  if (stmt) stmt->value = value;
  return stmt;
}

Stmt *build__let(Parser *p, StmtKind kind, Token first, Token name, TypeExpr *type) {
  Stmt *stmt = build__stmt(p, kind, first.start);
  if (!stmt) return NULL;
  stmt->let.name = build__def(p, name);
  stmt->let.type = type;
  return stmt;
}

void build__let_else(Stmt *stmt, OtherWay other) {
  stmt->let_else = other.kind;
  stmt->let.else_value = other.value;
  stmt->let.else_error = other.error;
}

Stmt *build__assign(Parser *p, Expr *target, Oper op, Token sign, Expr *value) {
  Stmt *stmt = build__stmt(p, STMT_ASSIGN, start_of(target));
  if (!stmt) return NULL;
  stmt->op = op;
  stmt->assign.target = target;
  stmt->assign.value = value;
  stmt->assign.op_span = token_span(sign);
  return stmt;
}

Stmt *build__if_stmt(Parser *p, Token first, List branches, StmtBlock *otherwise) {
  IfBranchList list = FINISH(IfBranch, branches);
  Stmt *stmt = build__stmt(p, STMT_IF, first.start);
  if (!stmt) return NULL;
  stmt->branch.branches = list;
  stmt->branch.otherwise = otherwise;
  return stmt;
}

Stmt *build__for(Parser *p, Token first, Clause from, List clauses, StmtBlock block) {
  ClauseList list = join_clauses(p, from, clauses);
  Stmt *stmt = build__stmt(p, STMT_FOR, first.start);
  if (!stmt) return NULL;
  stmt->loop.clauses = list;
  stmt->loop.block = block;
  return stmt;
}

StmtBlock build__block_of(Parser *p, Stmt *stmt) {
  if (!stmt) return (StmtBlock){0};
  Stmt **items = build__node(p, sizeof(Stmt *));
  if (!items) return (StmtBlock){0};
  items[0] = stmt;
  return (StmtBlock){{items, 1}, stmt->span};
}

Stmt *build__expect_reject(Parser *p, Token first, Expected expected, Token error) {
  Stmt *stmt = build__stmt(p, STMT_EXPECT_REJECT, first.start);
  if (!stmt) return NULL;
  stmt->expect.call = expected.call;
  stmt->expect.error = build__name(p, error);
  stmt->expect.is_receive = expected.is_receive;
  return stmt;
}
