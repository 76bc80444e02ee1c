// `where p == none or x.f == p`: the left side says the same for every row, so it is decided before the query is planned.
// Where the right side alone would find its rows by an index, two queries are made of the one: without the condition for
// when the left side holds, and with the right side alone for when it does not. `caller_is(r) or x.owner == caller` is the
// same case. Otherwise the condition stays a filter.
#include <assert.h>

#include "compiler/emit/lower.h"

enum { DECISIONS_MAX = 2, TERMS_TRIED_MAX = 8 };  // in one query: each decision doubles its code

static const HClause *rows_of(const HQuery *query) {
  return query->clause_count && query->clauses[0].kind == HC_ROWS ? &query->clauses[0] : NULL;
}

// A copy whose clause `at` has another condition (NULL: none, it is a `true`).
static bool copy_with(Emit *e, const HQuery *query, uint32_t at, HExpr *condition, HQuery *out) {
  HClause *clauses = ARENA_ARRAY(&e->scratch, HClause, query->clause_count);
  if (!clauses) return false;
  memcpy(clauses, query->clauses, query->clause_count * sizeof *clauses);
  uint32_t count = query->clause_count;
  if (condition) {
    clauses[at].a = condition;
  } else {
    memmove(&clauses[at], &clauses[at + 1], (count - at - 1) * sizeof *clauses);
    count--;
  }
  *out = *query;
  out->clauses = clauses;
  out->clause_count = count;
  return true;
}

// The conjunction without one of its terms (or with `other` in its place). NULL: nothing is left.
static HExpr *replace_term(Emit *e, HExpr *all, const HExpr *term, HExpr *other) {
  if (all == term) return other;
  if (all->kind != H_AND) return all;
  HExpr *a = replace_term(e, all->a, term, other), *b = replace_term(e, all->b, term, other);
  if (!a || !b) return a ? a : b;
  if (a == all->a && b == all->b) return all;
  HExpr *made = ARENA_NEW(&e->scratch, HExpr);
  if (!made) return all;
  *made = *all;
  made->a = a;
  made->b = b;
  return made;
}

static bool finds_more(const Way *with, const Way *without) {
  if (with->equal_count != without->equal_count) return with->equal_count > without->equal_count;
  return (with->low || with->high) && !without->low && !without->high;
}

static bool try_term(Emit *e, const HQuery *query, uint32_t clause, HExpr *term, Decision *out) {
  if (term->kind != H_OR || expr_can_fail(term->a) || frames_bind(e, query, term->a)) return false;
  HExpr *whole = query->clauses[clause].a;
  if (!copy_with(e, query, clause, replace_term(e, whole, term, NULL), &out->without)) return false;
  if (!copy_with(e, query, clause, replace_term(e, whole, term, term->b), &out->with)) return false;
  Way with, without;
  frames_way(e, &out->with, &with);
  frames_way(e, &out->without, &without);
  out->test = term->a;
  return finds_more(&with, &without);
}

bool query_decides(Emit *e, const HQuery *query, Decision *out) {
  if (e->decisions >= DECISIONS_MAX || !rows_of(query)) return false;
  uint32_t tried = 0;
  for (uint32_t i = 1; i < query->clause_count && query->clauses[i].kind == HC_WHERE; i++) {
    for (HExpr *at = query->clauses[i].a; at && tried < TERMS_TRIED_MAX; at = at->kind == H_AND ? at->a : NULL) {
      HExpr *term = at->kind == H_AND ? at->b : at;
      tried += term->kind == H_OR;
      if (try_term(e, query, i, term, out)) return true;
    }
  }
  return false;
}
