// Bodies: each function is checked once, with its own locals; a function whose result is inferred is checked when its
// first caller needs to know. Here are the scopes, the locals, and the facts: what is known not to be none.
#include "compiler/check/internal.h"

#include <assert.h>

// ---- depth ------------------------------------------------------------------------------------

bool depth_enter(Check *check, Span span) {
  if (check->depth < CHECK_DEPTH_MAX) { check->depth++; return true; }
  if (!check->said_depth) {
    Diag *diag = diag_add(check->diags, DIAG_E023, span, "this is nested too deeply: at most %d levels (CHECK_DEPTH_MAX)", CHECK_DEPTH_MAX);
    diag_help(check->diags, diag, "give a part a name with `let`, or make it a `fn`");
  }
  check->said_depth = true;
  return false;
}

void depth_leave(Check *check) { check->depth--; }

// ---- effects ----------------------------------------------------------------------------------

void effect_note(Check *check, uint8_t effect, Span span, const char *words) {
  if (!check->body) return;
  Fn *fn = check->body->fn;
  for (int i = 0; i < OWN_EFFECTS; i++) {
    if (!(effect >> i & 1) || fn->own_effects >> i & 1) continue;
    fn->effect_spans[i] = span;
    fn->effect_words[i] = words;
  }
  fn->own_effects |= effect;
}

void call_note(Check *check, Fn *to, Span span) {
  to->used = true;
  if (!check->body) return;
  Fn *fn = check->body->fn;
  Call *call = check__list_add(check, &fn->calls, &fn->call_count, &fn->call_room, sizeof *call);
  if (call) *call = (Call){to, span};
}

// ---- scopes and locals ------------------------------------------------------------------------

ScopeMark scope_open(Check *check) { return (ScopeMark){check->bindings.count, check->facts.count}; }

static void warn_unused(Check *check, const LocalInfo *local) {
  if (local->used || local->quiet || !local->sym || sym_str(check, local->sym).ptr[0] == '_') return;
  if (local->kind != LOCAL_LET && local->kind != LOCAL_VAR && local->kind != LOCAL_WITH) return;
  Diag *diag = diag_add(check->diags, DIAG_W106, local->h.span, "`" STR_FMT "` is never used", SYM_ARG(check, local->sym));
  diag_help(check->diags, diag, "remove it, or call it `_" STR_FMT "`", SYM_ARG(check, local->sym));
}

void scope_close(Check *check, ScopeMark mark) {
  while (check->bindings.count > mark.bindings) {
    Binding *binding = &check->bindings.items[--check->bindings.count];
    warn_unused(check, &check->locals.items[check->body->local_base + check->binding[binding->sym] - 1]);
    check->binding[binding->sym] = binding->before;
  }
  check->facts.count = mark.facts;
}

LocalInfo *local_info(Check *check, LocalId local) { return &check->locals.items[check->body->local_base + local]; }

uint32_t local_find(const Check *check, Sym sym) {
  return check->body && sym < check->sym_count && check->binding[sym] ? check->binding[sym] - 1 : MAP_NOTHING;
}

// A local may have the name of a function, since functions are called, but not that of another value.
static void check_shadow(Check *check, Name name) {
  Span other = {0};
  uint32_t local = local_find(check, name.sym);
  const char *what = "local";
  if (local != MAP_NOTHING) {
    other = local_info(check, local)->h.span;
  } else {
    uint32_t number = space_find(check, SPACE_VALUE, name.sym);
    if (number == MAP_NOTHING || check->values.items[number].kind == VALUE_FUNCTION) return;
    what = check->values.items[number].kind == VALUE_STATE ? "state value" : "setting";
    other = check->values.items[number].span;
  }
  Diag *diag = diag_add(check->diags, DIAG_E105, name.span, "`" STR_FMT "` hides a %s with the same name", SYM_ARG(check, name.sym), what);
  diag_label(check->diags, diag, other, "this one");
  diag_help(check->diags, diag, "give it another name");
}

LocalId local_hidden(Check *check, TypeId type, Span span) {
  LocalInfo *local = LIST_ADD(check, &check->locals);
  if (!local) return 0;
  *local = (LocalInfo){.h = {.name = STR(""), .type = type, .span = span}, .kind = LOCAL_HIDDEN};
  return check->locals.count - 1 - check->body->local_base;
}

LocalId local_add(Check *check, Name name, LocalKind kind, TypeId type) {
  LocalId id = local_hidden(check, type, name.span);
  if (check->failed || !name.sym) return id;
  check_shadow(check, name);
  LocalInfo *local = local_info(check, id);
  local->h.name = sym_str(check, name.sym);
  local->sym = name.sym;
  local->kind = kind;
  local->query = check->body->query;
  Binding *binding = LIST_ADD(check, &check->bindings);
  if (!binding) return id;
  *binding = (Binding){.sym = name.sym, .before = check->binding[name.sym]};
  check->binding[name.sym] = id + 1;
  return id;
}

// ---- facts ------------------------------------------------------------------------------------

static bool is_path(const HExpr *a) {
  for (;; a = a->a) {
    if (a->kind == H_LOCAL || a->kind == H_STATE) return true;
    if (a->kind != H_COLUMN && a->kind != H_FIELD && a->kind != H_OPEN) return false;
  }
}

static bool same_path(const HExpr *a, const HExpr *b) {
  for (;; a = a->a, b = b->a) {
    if (a->kind != b->kind) return false;
    if (a->kind == H_LOCAL) return a->local == b->local;
    if (a->kind != H_OPEN && (a->index != b->index || a->table != b->table)) return false;
    if (a->kind == H_STATE) return true;
  }
}

void fact_add(Check *check, const HExpr *path) {
  if (!is_path(path) || fact_holds(check, path)) return;
  Fact *fact = LIST_ADD(check, &check->facts);
  if (fact) fact->path = path;
}

bool fact_holds(const Check *check, const HExpr *path) {
  if (!check->body || !is_path(path)) return false;
  for (uint32_t i = check->facts.count; i-- > check->body->fact_base;)
    if (!check->facts.items[i].dead && same_path(check->facts.items[i].path, path)) return true;
  return false;
}

// A dead fact stays dead behind the block that killed it.
void facts_kill_local(Check *check, LocalId local) {
  for (uint32_t i = check->body->fact_base; i < check->facts.count; i++) {
    const HExpr *a = check->facts.items[i].path;
    while (a->kind != H_LOCAL && a->kind != H_STATE) a = a->a;
    if (a->kind == H_LOCAL && a->local == local) check->facts.items[i].dead = true;
  }
}

void facts_kill_column(Check *check, uint16_t table, uint32_t column) {
  for (uint32_t i = check->body->fact_base; i < check->facts.count; i++)
    for (const HExpr *a = check->facts.items[i].path; a->kind != H_LOCAL && a->kind != H_STATE; a = a->a)
      if (a->kind == H_COLUMN && a->table == table && a->index == column) check->facts.items[i].dead = true;
}

// A column of this name, of any table.
void facts_kill_field(Check *check, Sym sym) {
  for (uint32_t i = check->body->fact_base; i < check->facts.count; i++)
    for (const HExpr *a = check->facts.items[i].path; a->kind != H_LOCAL && a->kind != H_STATE; a = a->a)
      if (a->kind == H_COLUMN && check->tables.items[a->table]->columns[a->index].sym == sym) check->facts.items[i].dead = true;
}

void facts_kill_state(Check *check) {
  for (uint32_t i = check->body->fact_base; i < check->facts.count; i++)
    for (const HExpr *a = check->facts.items[i].path; a->kind != H_LOCAL; a = a->a) {
      if (a->kind == H_COLUMN || a->kind == H_STATE) check->facts.items[i].dead = true;
      if (a->kind == H_STATE) break;
    }
}

// The body of a loop may have changed things when it starts again.
void facts_enter_loop(Check *check) {
  facts_kill_state(check);
  for (uint32_t i = check->body->fact_base; i < check->facts.count; i++) {
    const HExpr *a = check->facts.items[i].path;
    while (a->kind != H_LOCAL && a->kind != H_STATE) a = a->a;
    if (a->kind == H_LOCAL && local_info(check, a->local)->kind == LOCAL_VAR) check->facts.items[i].dead = true;
  }
}

void facts_learn(Check *check, const HExpr *condition, bool truth) {
  for (;;) {
    if (condition->kind == H_NOT) { condition = condition->a; truth = !truth; continue; }
    if (condition->kind == H_HAS && truth) { fact_add(check, condition->a); return; }
    bool both = (condition->kind == H_AND && truth) || (condition->kind == H_OR && !truth);
    if (!both) return;
    facts_learn(check, condition->b, truth);
    condition = condition->a;
  }
}

// ---- bodies -----------------------------------------------------------------------------------

static void add_params(Check *check, Fn *fn) {
  if (fn->self && !fn->self_is_params) {
    check->body->self = local_hidden(check, fn->self->ref, fn->name_span);
    return;
  }
  for (uint32_t i = 0; i < fn->param_count; i++) {
    Param *param = &fn->params[i];
    Name name = {.sym = fn->self ? 0 : param->sym, .span = param->span};
    LocalId local = local_add(check, name, LOCAL_PARAM, param->type);
    if (!check->failed) local_info(check, local)->param = (uint16_t)i;
  }
}

static void say_no_result(Check *check, Fn *fn) {
  Str type = type_name(check, fn->h.result);
  Diag *diag = diag_add(check->diags, DIAG_E216, (Span){fn->block->span.end - 1, fn->block->span.end}, "there is a way to this end without a `return`");
  diag_label(check->diags, diag, fn->decl->function.result ? fn->decl->function.result->span : fn->name_span, "%s" STR_FMT " is promised here", type_article(type), STR_ARG(type));
  diag_help(check->diags, diag, "return a value on every way");
}

static void check_value_body(Check *check, Fn *fn) {
  HStmt *stmt = CHECK_NEW(check, HStmt);
  if (!stmt) return;
  Why why = {.what = fn->h.kind == FUNCTION_DEFAULT ? "the default's place is" : fn->h.kind == FUNCTION_ROLE ? "a role is" : fn->h.kind == FUNCTION_ALWAYS ? "`always` states" : "the result is",
             .span = fn->h.kind == FUNCTION_DEFAULT || (fn->decl && fn->decl->function.result && fn->is_entry) ? fn->name_span : (Span){0}};
  HExpr *value = fn->result_known ? check_value(check, fn->value, fn->h.result, &why) : fit(check, check_expr(check, fn->value, TYPE_NONE));
  if (!fn->result_known) {
    if (!type_is_real(value->type) && !is_poison(value)) {
      diag_help(check->diags, diag_add(check->diags, DIAG_E212, fn->value->span, "the type of this cannot be known"), "write the type of the result: `-> [int]`");
      value = h_poison(check, fn->value->span);
    }
    fn->h.result = value->type;
  }
  *stmt = (HStmt){.kind = HS_RETURN, .a = value, .span = fn->value->span};
  fn->h.body = (HStmts){.count = 1, .items = stmt};
}

static void check_block_body(Check *check, Fn *fn) {
  bool ends = check_block(check, fn->block, &fn->h.body);
  if (!fn->result_known) {
    fn->h.result = check->body->result;
    if (!check->body->has_return) {
      Diag *diag = diag_add(check->diags, DIAG_E216, fn->name_span, "the view `" STR_FMT "` returns nothing", SYM_ARG(check, fn->sym));
      diag_help(check->diags, diag, "end it with `return …`");
      fn->h.result = ID_POISON;
      return;
    }
  }
  if (!ends && fn->h.result != TYPE_NONE && fn->h.result != ID_POISON) say_no_result(check, fn);
}

static void check_body_of(Check *check, Fn *fn) {
  if (fn->makes_case) {
    maker_body(check, fn);
  } else if (fn->self && !fn->value) {
    if (fn->h.kind == FUNCTION_CHECK) rules_body(check, fn);
    else insert_body(check, fn);
  } else if (fn->value) {
    check_value_body(check, fn);
  } else if (fn->block) {
    check_block_body(check, fn);
  }
}

static void keep_locals(Check *check, Fn *fn) {
  uint32_t count = check->locals.count - check->body->local_base;
  fn->h.locals = CHECK_ARRAY(check, HLocal, count);
  if (!fn->h.locals) return;
  for (uint32_t i = 0; i < count; i++) fn->h.locals[i] = check->locals.items[check->body->local_base + i].h;
  fn->h.local_count = count;
}

// The names of a function that is waiting for another one are not seen in that one.
static void hide_names(Check *check, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    Binding *binding = &check->bindings.items[i];
    binding->hidden = check->binding[binding->sym];
    check->binding[binding->sym] = 0;
  }
}

static void show_names(Check *check, uint32_t from, uint32_t to) {
  for (uint32_t i = to; i-- > from;) check->binding[check->bindings.items[i].sym] = check->bindings.items[i].hidden;
}

void body_check(Check *check, Fn *fn) {
  if (fn->progress != PROGRESS_NEW || check->failed) return;
  if (!depth_enter(check, fn->name_span)) { if (!fn->result_known) fn->h.result = ID_POISON; return; }
  fn->progress = PROGRESS_BUSY;
  Body body = {.outer = check->body, .fn = fn, .local_base = check->locals.count, .fact_base = check->facts.count, .result = fn->h.result,
               .result_known = fn->result_known, .in_test = fn->h.kind == FUNCTION_TEST};
  if (fn->decl && fn->decl->kind != DECL_TABLE && fn->decl->kind < DECL_OUTPUT && fn->decl->function.result) body.result_span = fn->decl->function.result->span;
  check->body = &body;
  body.binding_base = check->bindings.count;
  if (body.outer) hide_names(check, body.outer->binding_base, body.binding_base);
  ScopeMark mark = scope_open(check);
  add_params(check, fn);
  fn->h.param_count = fn->self && !fn->self_is_params ? 1 : fn->param_count;
  check_body_of(check, fn);
  param_rules(check, fn);
  scope_close(check, mark);
  keep_locals(check, fn);
  if (body.outer) show_names(check, body.outer->binding_base, body.binding_base);
  check->locals.count = body.local_base;
  check->body = body.outer;
  fn->progress = PROGRESS_DONE;
  depth_leave(check);
}

void bodies_all(Check *check) {
  for (uint32_t i = 0; i < check->functions.count && !check->failed && !diag_is_full(check->diags); i++) body_check(check, check->functions.items[i]);
}
