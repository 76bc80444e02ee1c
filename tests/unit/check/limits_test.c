// Each named limit at its edge, and long programs in linear time.
#include <time.h>

#include "tests/unit/check/support.h"

static double cpu_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void repeat(Buf *out, const char *before, const char *part, int count, const char *after) {
  buf_add_text(out, before);
  for (int i = 0; i < count; i++) buf_add_format(out, part, i, i + 1, i);
  buf_add_text(out, after);
}

typedef struct Row { const char *before, *part; int count; const char *after; DiagCode code; } Row;
static const DiagCode FINE = DIAG_CODE_COUNT;

static void expect_code(const Row *row) {
  Buf text;
  buf_init(&text, 0);
  repeat(&text, row->before, row->part, row->count, row->after);
  Checked c;
  checked_open(&c, "test.aup", buf_str(&text));
  if (row->code == FINE) cr_expect_not_null(c.program, "%d of `%s`: %s", row->count, row->part, c.diags.count ? c.diags.items[0]->message.ptr : "");
  else cr_expect(c.diags.error_count && c.diags.items[0]->code == row->code, "%d of `%s`: %s", row->count, row->part, c.diags.count ? diag_code_name(c.diags.items[0]->code) : "nothing");
  checked_close(&c);
  buf_free(&text);
}

Test(check_limits, are_met_at_their_edge) {
  static const Row ROWS[] = {
    {"view v = 1", " + 1", 4095, "", FINE},
    {"view v(b: bool) = ", "not ", 998, "b", FINE},
    {"view v(b: bool) = ", "not ", 999, "b", DIAG_E023},
    {"view v(b: bool) = ", "not ", 20000, "b", DIAG_E023},
    {"view v(n: int) = ", "- ", 998, "n", FINE},
    {"view v(n: int) = ", "- ", 999, "n", DIAG_E023},
    {"view v(n: int) = ", "- ", 20000, "n", DIAG_E023},
    {"input i(", "p%d: int, ", 63, ") { }", FINE},
    {"input i(", "p%d: int, ", 64, ") { }", DIAG_E026},
    {"table T { id: int key, ", "f%d: int, ", 999, "}", FINE},
    {"table T { id: int key, ", "f%d: int, ", 1000, "}", DIAG_E026},
    {"table T { id: int key, ", "f%d: int, ", 100000, "}", DIAG_E026},
    {"", "table T%d { id: int key }\n", 9996, "", FINE},
    {"", "table T%d { id: int key }\n", 10000, "", DIAG_E026},
    {"record R { ", "f%d: int, ", 64999, "}", FINE},
    {"record R { ", "f%d: int, ", 65000, "}", DIAG_E026},
    {"record R { ", "f%d: int, ", 65001, "}", DIAG_E026},
    {"enum E { ", "c%d, ", 65000, "}", FINE},
    {"enum E { ", "c%d, ", 65001, "}", DIAG_E026},
    {"", "role r%d\n", 64, "", FINE},
    {"", "role r%d\n", 65, "", DIAG_E026},
    {"", "view v%d = 1\n", 10000, "", FINE},
    {"", "view v%d = 1\n", 10001, "", DIAG_E026},
    {"table T { id: int key, a: int\n", "index a\n", 64, "}", FINE},
    {"table T { id: int key, a: int\n", "index a\n", 65, "}", DIAG_E026},
  };
  for (size_t i = 0; i < countof(ROWS); i++) expect_code(&ROWS[i]);
}

// Chains of calls and of types: deep ones are refused, not followed until the stack ends.
Test(check_limits, chains_of_declarations_end) {
  static const Row ROWS[] = {
    {"", "view v%d = v%d()\n", 190, "view v190 = 1", FINE},
    {"", "view v%d = v%d()\n", 5000, "view v5000 = 1", DIAG_E023},
    {"", "fn f%d() -> int = f%d()\n", 198, "fn f198() -> int = 1\nview v = f0()", FINE},
    {"", "fn f%d() -> int = f%d()\n", 199, "fn f199() -> int = 1\nview v = f0()", DIAG_E023},
    {"", "fn f%d() -> int = f%d()\n", 5000, "fn f5000() -> int = 1\nview v = f0()", DIAG_E023},
    {"", "record R%d { r: R%d }\n", 60, "record R60 { x: int }", FINE},
    {"", "record R%d { r: R%d }\n", 5000, "record R5000 { x: int }", DIAG_E023},
    {"record R0 { a: int }\n", "record R%2$d { a: R%1$d, b: R%1$d }\n", 14, "", FINE},
    {"record R0 { a: int }\n", "record R%2$d { a: R%1$d, b: R%1$d }\n", 60, "", DIAG_E026},
    {"view v0 = { a: 1 }\n", "view v%2$d = { a: v%1$d(), b: v%1$d() }\n", 60, "", DIAG_E026},
    {"table T0 { id: int key }\n", "table T%2$d { a: T%1$d, b: T%1$d\n key a, b }\n", 60, "", DIAG_E311},
    {"table T { a: T, b: T, c: T\n key a, b, c }\n", "", 1, "", DIAG_E108},
    {"", "type A%d = A%d\n", 5000, "type A5000 = int", DIAG_E023},
    {"", "table T%d { k: T%d key }\n", 5000, "table T5000 { id: int key }", DIAG_E023},
  };
  for (size_t i = 0; i < countof(ROWS); i++) expect_code(&ROWS[i]);
}

static double time_of(const char *before, const char *part, int count, const char *after) {
  Buf text;
  buf_init(&text, 0);
  repeat(&text, before, part, count, after);
  Checked c;
  double start = cpu_ms();
  checked_open(&c, "test.aup", buf_str(&text));
  double took = cpu_ms() - start;
  cr_expect_not_null(c.program, "`%s`: %s", part, c.diags.count ? c.diags.items[0]->message.ptr : "no memory");
  checked_close(&c);
  buf_free(&text);
  return took;
}

// Four times as much may take no more than about four times as long; a square would take sixteen.
Test(check_limits, time_is_linear) {
  static const Row ROWS[] = {
    {"input i(x: int) {\n", "let a%d = x + 1\nrequire a%1$d > 0 else \"no\"\n", 1500, "}", FINE},
    {"table T { id: int key, n: int }\n", "view v%d @scan = from t in T where t.n > 3 order by t.n select { t.id, t.n }\n", 1500, "", FINE},
    {"", "state s%d: int = 0\n", 240, "", FINE},
    {"", "fn f%d(x: int?) -> bool = x == none or x > 1\n", 2000, "", FINE},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    double one = time_of(ROWS[i].before, ROWS[i].part, ROWS[i].count, ROWS[i].after);
    double four = time_of(ROWS[i].before, ROWS[i].part, 4 * ROWS[i].count, ROWS[i].after);
    cr_expect(four < 9 * one + 30, "`%s`: %.1f ms for %d, %.1f ms for four times that", ROWS[i].part, one, ROWS[i].count, four);
  }
}
