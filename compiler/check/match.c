// `match`, as an expression and as a statement: patterns, what they bind, and whether they cover everything.
#include "compiler/check/internal.h"

#include <stdio.h>

typedef struct Matching {
  TypeId type;           // of what is matched
  HExpr *value;
  uint64_t *cases;       // bits of the enum's cases that are covered
  uint32_t case_count;
  bool any, none, some, is_true, is_false;
  bool poisoned;
} Matching;

// ---- patterns ---------------------------------------------------------------------------------

static bool say_pattern(Check *check, Matching *m, Span span, const char *what) {
  m->poisoned = true;
  Str name = type_name(check, m->type);
  Diag *diag = diag_add(check->diags, DIAG_E201, span, "%s does not match %s" STR_FMT, what, type_article(name), STR_ARG(name));
  diag_label(check->diags, diag, m->value->span, "this is matched");
  if (types_is(&check->types, m->type, TYPE_OPTIONAL)) diag_help(check->diags, diag, "match `none` and `some x`, or open it before");
  return false;
}

static bool case_binds(Check *check, const Pattern *written, const CaseDef *def, HPattern *out) {
  if (!written->has_parens) return true;
  if (written->bindings.count != def->field_count) {
    diag_add(check->diags, DIAG_E206, written->span, "the case `" STR_FMT "` has %u field%s, here %s %u", STR_ARG(def->name), def->field_count, def->field_count == 1 ? "" : "s",
             written->bindings.count == 1 ? "is" : "are", written->bindings.count);
    return false;
  }
  LocalId *binds = CHECK_ARRAY(check, LocalId, def->field_count);
  if (!binds) return false;
  for (uint32_t i = 0; i < def->field_count; i++)
    binds[i] = written->bindings.items[i].sym ? local_add(check, written->bindings.items[i], LOCAL_KEY, def->fields[i].type) : NO_LOCAL;
  out->bind_count = def->field_count;
  out->binds = binds;
  return true;
}

static bool check_case_pattern(Check *check, Matching *m, const Pattern *written, HPattern *out) {
  if (!types_is(&check->types, m->type, TYPE_ENUM)) return say_pattern(check, m, written->span, "a case");
  uint32_t number = types_of(&check->types, m->type);
  const EnumDef *def = &check->types.enums[number];
  if (written->enum_name.sym && !str_equal(sym_str(check, written->enum_name.sym), def->name)) return say_pattern(check, m, written->enum_name.span, "a case of another enum");
  uint32_t tag = member_find(check, OWNER_ENUM, number, written->name.sym);
  if (tag == MAP_NOTHING) {
    m->poisoned = true;
    Diag *diag = diag_add(check->diags, DIAG_E103, written->name.span, "the enum `" STR_FMT "` has no case `" STR_FMT "`", STR_ARG(def->name), SYM_ARG(check, written->name.sym));
    const CaseList *cases = &check->types.enum_decls[number]->enumeration.cases;
    Sym *syms = CHECK_ARRAY(check, Sym, cases->count);
    for (uint32_t i = 0; syms && i < cases->count; i++) syms[i] = cases->items[i].name.sym;
    if (syms) near_syms(check, diag, written->name, syms, cases->count);
    return false;
  }
  *out = (HPattern){.kind = HPAT_CASE, .tag = (uint16_t)tag};
  m->cases[tag / 64] |= (uint64_t)1 << tag % 64;
  if (!case_binds(check, written, &def->cases[tag], out)) m->poisoned = true;
  return true;
}

static bool check_literal(Check *check, Matching *m, const Pattern *written, HPattern *out) {
  TypeId open = types_open(&check->types, m->type);
  if (open != m->type) return say_pattern(check, m, written->span, "a value");
  HExpr *value = check_value(check, written->literal, open, &(Why){.what = "what is matched is", .span = m->value->span});
  if (is_poison(value)) { m->poisoned = true; return false; }
  *out = (HPattern){.kind = HPAT_VALUE, .value = value};
  if (open == ID_BOOL && value->kind == H_CONST) { if (value->value.i) m->is_true = true; else m->is_false = true; }
  return true;
}

static bool check_some(Check *check, Matching *m, const Pattern *written, HPattern *out) {
  if (!types_is(&check->types, m->type, TYPE_OPTIONAL)) return say_pattern(check, m, written->span, "`some`");
  LocalId *bind = CHECK_NEW(check, LocalId);
  if (!bind) return false;
  *bind = written->name.sym ? local_add(check, written->name, LOCAL_KEY, types_of(&check->types, m->type)) : NO_LOCAL;
  *out = (HPattern){.kind = HPAT_SOME, .bind_count = 1, .binds = bind};
  m->some = true;
  return true;
}

static bool check_pattern(Check *check, Matching *m, const Pattern *written, HPattern *out) {
  switch (written->kind) {
    case PATTERN_ANY: *out = (HPattern){.kind = HPAT_ANY}; m->any = true; return true;
    case PATTERN_CASE: return check_case_pattern(check, m, written, out);
    case PATTERN_NONE:
      if (!types_is(&check->types, m->type, TYPE_OPTIONAL)) return say_pattern(check, m, written->span, "`none`");
      *out = (HPattern){.kind = HPAT_NONE};
      m->none = true;
      return true;
    case PATTERN_SOME: return check_some(check, m, written, out);
    case PATTERN_LITERAL: return check_literal(check, m, written, out);
    case PATTERN_OR: break;
  }
  return false;
}

static bool binds_something(const Pattern *pattern) {
  if (pattern->kind == PATTERN_SOME) return pattern->name.sym != 0;
  for (uint32_t i = 0; i < pattern->bindings.count; i++)
    if (pattern->bindings.items[i].sym) return true;
  return false;
}

static void arm_patterns(Check *check, Matching *m, const Pattern *written, HArm *out) {
  bool several = written->kind == PATTERN_OR;
  uint32_t count = several ? written->alternatives.count : 1;
  out->patterns = CHECK_ARRAY(check, HPattern, count);
  if (!out->patterns) return;
  for (uint32_t i = 0; i < count; i++) {
    const Pattern *one = several ? written->alternatives.items[i] : written;
    if (several && binds_something(one)) {
      diag_help(check->diags, diag_add(check->diags, DIAG_E206, one->span, "alternatives cannot bind names"), "write an arm for each, or `_` for the fields");
      m->poisoned = true;
    }
    if (check_pattern(check, m, one, &out->patterns[out->pattern_count])) out->pattern_count++;
  }
}

// ---- coverage ---------------------------------------------------------------------------------

static bool begin(Check *check, Matching *m, const Expr *value) {
  m->value = fit(check, check_expr(check, value, TYPE_NONE));
  m->type = m->value->type;
  if (is_poison(m->value)) return false;
  if (!type_is_real(m->type)) { diag_add(check->diags, DIAG_E212, value->span, "the type of this cannot be known"); return false; }
  m->case_count = types_is(&check->types, m->type, TYPE_ENUM) ? check->types.enums[types_of(&check->types, m->type)].case_count : 0;
  m->cases = CHECK_ARRAY(check, uint64_t, m->case_count / 64 + 1);
  return m->cases != NULL;
}

static void check_cover(Check *check, const Matching *m, Span span) {
  if (m->any || m->poisoned || (m->none && m->some) || (m->is_true && m->is_false)) return;
  char missing[160];
  size_t len = 0;
  uint32_t left_out = 0;
  for (uint32_t i = 0; i < m->case_count; i++) {
    if (m->cases[i / 64] >> (i % 64) & 1) continue;
    Str name = check->types.enums[types_of(&check->types, m->type)].cases[i].name;
    if (len + name.len + 4 < sizeof missing) len += (size_t)snprintf(missing + len, sizeof missing - len, "%s`" STR_FMT "`", len ? ", " : "", STR_ARG(name));
    left_out++;
  }
  if (m->case_count && !left_out) return;
  if (!m->case_count) snprintf(missing, sizeof missing, "%s", types_is(&check->types, m->type, TYPE_OPTIONAL) ? (m->none ? "`some x`" : m->some ? "`none`" : "`none`, `some x`") : m->type == ID_BOOL ? (m->is_true ? "`false`" : "`true`") : "all other values");
  Diag *diag = diag_add(check->diags, DIAG_E207, span, "this `match` does not cover %s", missing);
  diag_help(check->diags, diag, "add an arm for it, or `_ => …` for the rest");
}

// ---- both forms -------------------------------------------------------------------------------

static HExpr *join_arms(Check *check, HExpr *made, TypeId want) {
  HArms *arms = &made->arms;
  HExpr so_far = *arms->items[0].value;
  for (uint32_t i = 1; i < arms->count; i++) {
    TypeId both = unify(check, &so_far, arms->items[i].value);
    if (both == ID_POISON) break;  // coerce says which one does not fit
    so_far.type = both;
  }
  TypeId type = so_far.type;
  bool all_want = type_is_real(want);
  for (uint32_t i = 0; i < arms->count && all_want; i++) all_want = try_convert(check, arms->items[i].value, want) != NULL;
  if (all_want) type = want;
  if (!type_is_real(type)) { diag_add(check->diags, DIAG_E212, made->span, "the type of this `match` cannot be known"); return h_poison(check, made->span); }
  for (uint32_t i = 0; i < arms->count; i++) {
    arms->items[i].value = coerce(check, arms->items[i].value, type, &(Why){.what = "the first arm is", .span = arms->items[0].value->span});
    if (is_poison(arms->items[i].value)) return arms->items[i].value;
  }
  made->type = type;
  return made;
}

HExpr *check_match(Check *check, const Expr *expr, TypeId want) {
  Matching m = {.type = ID_POISON};
  bool known = begin(check, &m, expr->match.value);
  uint32_t count = expr->match.arms.count;
  HExpr *made = h_new(check, H_MATCH, ID_POISON, expr->span);
  made->matched = m.value;
  made->arms = (HArms){.count = count, .items = CHECK_ARRAY(check, HArm, count)};
  if (!made->arms.items) return h_poison(check, expr->span);
  for (uint32_t i = 0; i < count; i++) {
    const MatchArm *arm = &expr->match.arms.items[i];
    ScopeMark mark = scope_open(check);
    if (known) arm_patterns(check, &m, arm->pattern, &made->arms.items[i]);
    if (known) made->arms.items[i].value = check_expr(check, arm->value, want);
    scope_close(check, mark);
    if (known) m.poisoned |= is_poison(made->arms.items[i].value);
  }
  if (!known || !count) return h_poison(check, expr->span);
  check_cover(check, &m, (Span){expr->span.start, expr->match.value->span.end});
  return m.poisoned ? h_poison(check, expr->span) : join_arms(check, made, want);
}

bool check_match_stmt(Check *check, const Stmt *stmt, HStmt *out) {
  Matching m = {.type = ID_POISON};
  bool known = begin(check, &m, stmt->match.value), all_end = true;
  uint32_t count = stmt->match.arms.count;
  out->a = m.value;
  out->arms = (HArms){.count = count, .items = CHECK_ARRAY(check, HArm, count)};
  if (!out->arms.items) return false;
  for (uint32_t i = 0; i < count; i++) {
    const MatchArm *arm = &stmt->match.arms.items[i];
    ScopeMark mark = scope_open(check);
    if (known) arm_patterns(check, &m, arm->pattern, &out->arms.items[i]);
    if (known) all_end &= check_block(check, &arm->body, &out->arms.items[i].body);
    scope_close(check, mark);
  }
  if (known) check_cover(check, &m, (Span){stmt->span.start, stmt->match.value->span.end});
  return known && all_end && count;
}
