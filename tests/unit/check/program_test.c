// What the checker makes of a program: the text form of functions, line by line.
#include "tests/unit/check/support.h"

typedef struct Row { const char *source, *part; } Row;

static void expect_rows(const Row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Checked c;
    checked_open(&c, "test.aup", str_from(rows[i].source));
    Buf out;
    buf_init(&out, 0);
    if (c.program) hir_dump(c.program, &out);
    else render_diags(&c.diags, &c.sources, RENDER_SHORT, false, &out);
    buf_add_char(&out, 0);
    cr_expect(c.program && strstr(out.ptr, rows[i].part), "%s\n--- has no\n%s\n--- but\n%s", rows[i].source, rows[i].part, out.ptr);
    buf_free(&out);
    checked_close(&c);
  }
}

Test(check_program, literals_adapt_and_constants_are_computed) {
  static const Row ROWS[] = {
    {"view v = 2 + 3 * 4", "return 14"},
    {"view v = 1.50 * 2", "return 3.00"},
    {"view v -> decimal(3) = 1", "return 1.000"},
    {"view v -> float = 1.5", "return 1.5"},
    {"view v = -9_223_372_036_854_775_808", "return -9223372036854775808"},
    {"view v = round(2.5, 0)", "return 2"},
    {"view v = round_half_up(2.5, 0)", "return 3"},
    {"view v = round(-0.5, 0)", "return 0"},
    {"view v = round(999.95, 1)", "return 1000.0"},
    {"view v = 1d + 2h", "return 93600000000"},
    {"view v(x: decimal(2)) = x * 3", "(arith * x%0 3)"},
    {"view v(x: decimal(2), y: int) = x + y", "(arith + x%0 (convert scale decimal(2) (convert decimal decimal(0) y%1)))"},
    {"view v(x: int) = divide(x, 3, 2)", "(divide (convert decimal decimal(0) x%0) 3)"},
    {"view v = not (1 > 2)", "return true"},
  };
  expect_rows(ROWS, countof(ROWS));
}

Test(check_program, optionals_are_opened_where_they_are_known) {
  static const Row ROWS[] = {
    {"view v(x: int?) = x != none and x > 1", "(and (has x%0) (compare > (open x%0) 1))"},
    {"view v(x: int?) = x == none or x > 1", "(or (not (has x%0)) (compare > (open x%0) 1))"},
    {"view v(x: int?) = if x == none then 0 else x", "(if (not (has x%0)) 0 (open x%0))"},
    {"view v(x: int?) = x ?? 3", "(if_some %1 x%0 %1 3)"},
    {"view v(x: int?) { require x != none else \"no\"\n return x }", "return (open x%0)"},
    {"view v(x: int?) { if x == none { return 0 }\n return x }", "return (open x%0)"},
    {"view v(x: int?) { let y = x else return 0\n return y }", "if_some y%1 x%0"},
    {"view v(x: int?, y: int) = x == y", "(compare == x%0 (convert some int? y%1))"},
    {"table T { id: int key, n: int?, m: int }\ninput i { for t in T where t.n != none { t.m = t.n } }", "set_column T.m t%0 (open (column T.n t%0))"},
    {"table T { id: int key auto, o: T? }\nview v(t: T?) = t?.o?.id", "(if_some %1 t%0 (if_some %2 (column T.o %1) (convert some int? (column T.id %2)) none) none)"},
    {"table T { id: text key max 9 }\nview v(x: text?) = T[x]", "(if_some %1 x%0 (find T %1) none)"},
  };
  expect_rows(ROWS, countof(ROWS));
}

Test(check_program, facts_end_with_an_assignment) {
  static const char *const BAD[] = {
    "input i { var x: int? = 1\n require x != none else \"no\"\n x = none\n let y: int = x }",
    "state s: int? = none\ninput i { require s != none else \"no\"\n s = none\n let y: int = s }",
    "table T { id: int key auto, n: int? }\ninput i(a: T, b: T) { require a.n != none else \"no\"\n b.n = none\n let y: int = a.n }",
    "state s: int? = none\naction clear() { s = none }\ninput i { require s != none else \"no\"\n clear()\n let y: int = s }",
    "input i { var x: int? = 1\n require x != none else \"no\"\n for k in 1..3 { let y: int = x\n x = none } }",
    "table T { id: int key, n: int? }\ninput i(o: T) { for t in T where t.n != none { let y: int = t.n\n o.n = none } }",
    "input i { var x: int? = 1\n require x != none else \"no\"\n if 1 > 0 { x = none }\n let y: int = x }",
  };
  for (size_t i = 0; i < countof(BAD); i++) {
    Checked c;
    checked_open(&c, "test.aup", str_from(BAD[i]));
    bool found = false;
    for (uint32_t k = 0; k < c.diags.count; k++) found |= c.diags.items[k]->code == DIAG_E202;
    cr_expect(c.diags.error_count == 1 && found, "%s: %u errors", BAD[i], c.diags.error_count);
    checked_close(&c);
  }
}

Test(check_program, queries_and_groups) {
  static const Row ROWS[] = {
    {"table T { id: int key auto, n: int }\nview v = from t in T group by k = t.n order by count(t) select { k, n: count(t) }",
     "(query (rows t%0 T) (group k%1=(column T.n t%0) %2=count) (order %2) (select (record k%1 %2)))"},
    {"view v = sum(from i in 1..3 select i * 2)", "(aggregate sum (numbers i%0 1 3) (select (arith * i%0 2)))"},
    {"view v = max(from i in [1, 2] select i)", "(aggregate max (items i%0 (list 1 2)) (select i%0))"},
    {"view v = any(from i in 1..3 where i > 2)", "(aggregate any (numbers i%0 1 3) (where (compare > i%0 2)) (select true))"},
    {"table T { id: int key auto, n: int? }\nview v = sum(from t in T select t.n)", "(where (has %1)) (select (open %1))"},
    {"view v(xs: [int]) = count(xs)", "(count xs%0)"},
  };
  expect_rows(ROWS, countof(ROWS));
}

Test(check_program, tables_get_the_indexes_they_need) {
  static const Row ROWS[] = {
    {"table A { id: int key auto }\ntable B { id: int key auto, a: A }", "table B\n  id: int key auto\n  a: A\n  index a\n"},
    {"table A { id: int key auto }\ntable B { id: int key auto, n: int, a: A\n index a, n desc }", "  a: A\n  index a n desc\n"},
    {"table A { id: int key auto }\ntable B { a: A, n: int\n key a, n }", "table B\n  a: A key\n  n: int key\n"},
    {"table A { id: int key auto, n: int\n let d = n * 2\n index d }", "  ~d: int hidden\n  index ~d\n"},
    {"table A { id: int key auto, n: int, c: time?\n unique n where c == none }", "  unique n where ~3\n"},
    {"state a: int = 0\ntable A { id: int key auto }", "table ~state\n  ~key: int key hidden\n  a: int\n  A.id: int hidden\n"},
    {"table S { id: int key, at: time\n expire at after 1d }", "  index at\n"},
  };
  expect_rows(ROWS, countof(ROWS));
}

Test(check_program, hidden_columns_follow_their_row) {
  static const Row ROWS[] = {
    {"table A { id: int key auto, n: int\n let d = n * 2\n index d }\ninput i { insert A { n: 3 } }", "do (call A insert 0 3)"},
    {"table A { id: int key auto, n: int\n let d = n * 2\n index d }\ninput i { insert A { n: 3 } }", "return (insert A auto %1 (arith * %1 2))"},
    {"table A { id: int key auto, n: int\n let d = n * 2\n index d }\ninput i(a: A) { a.n = 3 }", "set_column A.n a%0 3\n  set_column A.~d a%0 (call d a%0)"},
    {"table A { id: int key auto, n: int\n let d = n * 2\n index d }\nview v = from a in A order by a.d select a.id", "(order (column A.~d a%0))"},
  };
  expect_rows(ROWS, countof(ROWS));
}
