// Parts of a query's conditions that are the same for every row (`p == none`, `words ?? ""`, a column of a parameter) are
// computed once, in front of the query, into registers of their own. A filter's block is then a few instructions over
// columns and registers, which the query room can run for a leaf at a time.
//
// Only what cannot fail is taken out, since a condition before it may have kept it from being computed. A column of a row
// that a parameter names is such in a function that changes nothing: no row can go away there.
#include "compiler/emit/lower.h"

enum { INVARIANTS_MAX = 16 };

typedef struct Ask { const Emit *emit; uint32_t query; } Ask;

static bool kind_is_safe(const Emit *e, const HExpr *expr) {
  switch (expr->kind) {
    case H_CONST: case H_LOCAL: case H_STATE: case H_COMPARE: case H_AND: case H_OR: case H_NOT: case H_OPEN: case H_HAS: case H_FIELD: case H_NOW: case H_CALLER:
    case H_CALLER_IS: case H_GIVEN: case H_COUNT:
      return true;
    case H_CONVERT: return expr->op == CONVERT_SOME || expr->op == CONVERT_TO_KEY || expr->op == CONVERT_TO_REF || expr->op == CONVERT_INT_TO_DECIMAL;
    case H_COLUMN: return !(e->function->effects & EFFECT_WRITES) && expr->a->kind == H_LOCAL;
    default: return false;
  }
}

static WalkStep step_invariant(void *context, const HExpr *expr) {
  const Ask *ask = context;
  if (!kind_is_safe(ask->emit, expr)) return WALK_STOP;
  if (expr->kind == H_LOCAL && ask->emit->locals[expr->local].query == ask->query) return WALK_STOP;
  return WALK_INTO;
}

static bool is_invariant(const Emit *e, const HExpr *expr, uint32_t query) {
  return walk_expr(&(Walk){.expr = step_invariant, .context = &(Ask){e, query}}, expr);
}

static void take_out(Emit *e, Frames *frames, const HExpr *expr) {
  Invariant *made = ARENA_NEW(&e->scratch, Invariant);
  if (!made) {
    if (e->failed == ERR_NONE) e->failed = ERR_MEMORY;
    return;
  }
  Reg reg = reg_temp(e, expr->type);
  frames_hold(e, frames, reg, 1);
  lower_into(e, expr, reg);
  *made = (Invariant){e->invariants, expr, reg};
  e->invariants = made;
  frames->invariant_count++;
}

// The largest parts first; below a part that was taken out there is nothing more to do.
static void look_into(Emit *e, Frames *frames, const HExpr *expr) {
  for (; expr && frames->invariant_count < INVARIANTS_MAX; expr = expr->a) {
    if (expr->kind == H_CONST || expr->kind == H_LOCAL) return;
    if (is_invariant(e, expr, frames->serial)) {
      take_out(e, frames, expr);
      return;
    }
    switch (expr->kind) {
      case H_COMPARE: case H_AND: case H_OR: case H_ARITH: look_into(e, frames, expr->b); break;
      case H_NOT: case H_HAS: case H_OPEN: case H_CONVERT: case H_NEG: break;
      default: return;
    }
  }
}

void invariants_begin(Emit *e, Frames *frames) {
  for (uint32_t i = 0; i < frames->conjunct_count; i++) look_into(e, frames, frames->conjuncts[i].expr);
}

void invariants_end(Emit *e, const Frames *frames) { e->invariants = frames->outer_invariants; }

const Invariant *invariant_find(const Emit *e, const HExpr *expr) {
  for (const Invariant *at = e->invariants; at; at = at->outer)
    if (at->expr == expr) return at;
  return NULL;
}
