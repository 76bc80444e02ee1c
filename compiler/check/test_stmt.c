// Statements that only tests have. `expect a == b` keeps both sides in locals, so that a failure can show them without
// evaluating anything twice.
#include "compiler/check/internal.h"

#include <assert.h>

static const uint32_t ANY_ERROR = 0xFFFF;

static Str source_words(Check *check, Span span) {
  const Source *source = sources_find(check->sources, span.start);
  if (!source || span.end < span.start || span.end - source->base > source->text.len) return STR("");
  return source_text(source, span);
}

static HExpr *kept(Check *check, HStmtList *out, HExpr *value) {
  if (h_is_simple(value) || !type_is_real(value->type)) return value;
  LocalId local = local_hidden(check, value->type, value->span);
  HStmt *set = stmt_add(check, out, HS_SET, value->span);
  if (!set) return value;
  set->local = local;
  set->a = fit(check, value);
  return h_local(check, local, value->span);
}

static HExpr *join_text(Check *check, HExpr **parts, uint32_t count, Span span) {
  HExpr *made = h_args(check, H_TEXT, ID_TEXT, count, span);
  for (uint32_t i = 0; i < made->args.count; i++) made->args.items[i] = parts[i];
  return made;
}

static HExpr *shown(Check *check, HExpr *value, Span span) {
  return type_is_real(value->type) ? h_to_text(check, value) : h_text(check, value->type == ID_NOTHING ? STR("none") : STR("[]"), span);
}

static void check_expect(Check *check, const Stmt *stmt, HStmtList *out) {
  const Expr *expr = stmt->value;
  Str words = source_words(check, expr->span);
  bool compares = expr->kind == EXPR_BINARY && expr->op >= OPER_EQ && expr->op <= OPER_GE;
  HExpr *condition, *message = h_text(check, words, expr->span);
  if (compares) {
    HExpr *a = kept(check, out, check_expr(check, expr->binary.left, TYPE_NONE));
    HExpr *b = kept(check, out, check_expr(check, expr->binary.right, type_is_real(a->type) ? types_open(&check->types, a->type) : TYPE_NONE));
    condition = comparison(check, expr->op, a, b, expr->span);
    if (is_poison(condition)) return;
    HExpr *parts[] = {message, h_text(check, STR("\n  left:  "), expr->span), shown(check, a, expr->span), h_text(check, STR("\n  right: "), expr->span), shown(check, b, expr->span)};
    message = join_text(check, parts, countof(parts), expr->span);
  } else {
    condition = check_condition(check, expr, "what is expected is");
    if (is_poison(condition)) return;
    facts_learn(check, condition, true);
  }
  HStmt *made = stmt_add(check, out, HS_EXPECT, stmt->span);
  if (!made) return;
  made->a = condition;
  made->b = message;
}

static void check_expect_reject(Check *check, const Stmt *stmt, HStmtList *out) {
  uint16_t index = (uint16_t)ANY_ERROR;
  if (stmt->expect.error.sym) {
    ErrorInfo *error = error_find(check, stmt->expect.error.sym, &index);
    if (error) error->used = true;
    if (index == ANY_ERROR) {
      Diag *diag = diag_add(check->diags, DIAG_E306, stmt->expect.error.span, "there is no error called `" STR_FMT "`", SYM_ARG(check, stmt->expect.error.sym));
      near_space(check, diag, SPACE_ERROR, stmt->expect.error.sym);
    }
  }
  HExpr *call = check_expr(check, stmt->expect.call, TYPE_NONE);
  if (is_poison(call)) return;
  HStmtList body = {0};
  HStmt *inner = stmt_add(check, &body, HS_EXPR, stmt->expect.call->span), *made = stmt_add(check, out, HS_EXPECT_REJECT, stmt->span);
  if (!inner || !made) return;
  inner->a = call;
  made->index = index;
  made->body = (HStmts){.count = body.count, .items = body.items};
  Str words = arena_format(check->arena, STR_FMT "\n  was not rejected", STR_ARG(source_words(check, stmt->expect.call->span)));
  if (index != ANY_ERROR) words = arena_format(check->arena, STR_FMT " with " STR_FMT, STR_ARG(words), SYM_ARG(check, stmt->expect.error.sym));
  made->b = h_text(check, words, stmt->span);
}

static void check_as(Check *check, const Stmt *stmt, HStmtList *out) {
  HExpr *caller = NULL;
  uint64_t roles = 0;
  for (uint32_t i = 0; i < stmt->as.who.count; i++) {
    const Expr *who = stmt->as.who.items[i];
    uint32_t role = who->kind == EXPR_NAME && local_find(check, who->name.sym) == MAP_NOTHING ? space_find(check, SPACE_ROLE, who->name.sym) : MAP_NOTHING;
    if (role != MAP_NOTHING) { roles |= (uint64_t)1 << (role % MODULE_ROLES_MAX); continue; }
    bool unknown = who->kind == EXPR_NAME && local_find(check, who->name.sym) == MAP_NOTHING && space_find(check, SPACE_VALUE, who->name.sym) == MAP_NOTHING;
    if (unknown) {
      Diag *diag = diag_add(check->diags, DIAG_E306, who->span, "there is no role called `" STR_FMT "`", SYM_ARG(check, who->name.sym));
      near_space(check, diag, SPACE_ROLE, who->name.sym);
      continue;
    }
    HExpr *name = check_value(check, who, ID_TEXT, &(Why){.what = "a caller has a name, which is"});
    if (caller) diag_help(check->diags, diag_add(check->diags, DIAG_E206, who->span, "there is one caller"), "write one name, then roles");
    caller = name;
  }
  HStmts body;
  facts_kill_state(check);
  check_block(check, &stmt->as.block, &body);
  HStmt *made = stmt_add(check, out, HS_AS, stmt->span);
  if (!made) return;
  made->a = caller ? caller : h_text(check, STR(""), stmt->span);
  made->roles = roles;
  made->body = body;
}

static void check_receive(Check *check, const Stmt *stmt, HStmtList *out) {
  Name name = stmt->send.name;
  uint32_t number = space_find(check, SPACE_VALUE, name.sym);
  Fn *fn = number != MAP_NOTHING && check->values.items[number].kind == VALUE_FUNCTION ? check->values.items[number].fn : NULL;
  if (!fn || fn->decl->kind != DECL_RECEIVE) {
    Diag *diag = diag_add(check->diags, DIAG_E101, name.span, "there is no `receive` called `" STR_FMT "`", SYM_ARG(check, name.sym));
    near_space(check, diag, SPACE_VALUE, name.sym);
    return;
  }
  Expr call = {.kind = EXPR_CALL, .span = stmt->span};
  call.call.args = stmt->send.args;
  HExpr *value = check_call(check, &call, name, NULL, TYPE_NONE);
  HStmt *made = is_poison(value) ? NULL : stmt_add(check, out, HS_EXPR, stmt->span);
  if (made) made->a = value;
}

void check_test_stmt(Check *check, const Stmt *stmt, HStmtList *out) {
  if (!check->body->in_test) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E313, stmt->span, "this belongs into a test"), "write `test \"…\" { … }`");
    return;
  }
  effect_note(check, EFFECT_TEST, stmt->span, "a statement of tests");
  switch (stmt->kind) {
    case STMT_EXPECT: check_expect(check, stmt, out); return;
    case STMT_EXPECT_REJECT: check_expect_reject(check, stmt, out); return;
    case STMT_ADVANCE: {
      HExpr *by = check_value(check, stmt->value, ID_DURATION, &(Why){.what = "the clock advances by"});
      facts_kill_state(check);
      HStmt *made = stmt_add(check, out, HS_ADVANCE, stmt->span);
      if (made) made->a = by;
      return;
    }
    case STMT_AS: check_as(check, stmt, out); return;
    case STMT_RECEIVE: check_receive(check, stmt, out); return;
    case STMT_LET: case STMT_VAR: case STMT_EXPR: case STMT_ASSIGN: case STMT_IF: case STMT_FOR: case STMT_MATCH: case STMT_RETURN:
    case STMT_REJECT: case STMT_REQUIRE: case STMT_DELETE: case STMT_UPDATE: case STMT_SEND: return;
  }
}
