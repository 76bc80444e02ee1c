#include "tests/unit/syntax/support.h"

static const Expr *value_of(const Front *f, uint32_t decl) { return f->ast->decls.items[decl]->function.value; }

Test(parser, literals_have_their_values) {
  static const struct { const char *text; ExprKind kind; int64_t number; } ROWS[] = {
    {"0", EXPR_INT, 0},
    {"1_000", EXPR_INT, 1000},
    {"9223372036854775807", EXPR_INT, INT64_MAX},
    {"-9223372036854775808", EXPR_INT, INT64_MIN},
    {"- 5", EXPR_INT, -5},
    {"12.50", EXPR_DECIMAL, 1250},
    {"-0.05", EXPR_DECIMAL, -5},
    {"250us", EXPR_DURATION, 250},
    {"5min", EXPR_DURATION, 300000000},
    {"1w", EXPR_DURATION, 604800000000},
    {"-2h", EXPR_DURATION, -7200000000},
    {"true", EXPR_BOOL, 1},
    {"@1970-01-02", EXPR_DATE, 1},
    {"@2000-03-01", EXPR_DATE, 11017},
    {"@0001-01-01", EXPR_DATE, -719162},
    {"@1970-01-01T00:00Z", EXPR_TIME, 0},
    {"@1970-01-01T09:00+09:00", EXPR_TIME, 0},
    {"@1970-01-01T00:00:01.5-00:30", EXPR_TIME, 1801500000},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    char text[100];
    snprintf(text, sizeof text, "view v = %s", ROWS[i].text);
    Front f;
    front_parse(&f, "t.aup", str_from(text));
    cr_expect(!diag_has_errors(&f.diags), "%s", text);
    const Expr *value = value_of(&f, 0);
    cr_expect_eq(value->kind, ROWS[i].kind, "%s", text);
    cr_expect_eq(value->kind == EXPR_DECIMAL ? value->decimal.units : value->number, ROWS[i].number, "%s", text);
    front_close(&f);
  }
}

Test(parser, texts_are_decoded) {
  static const struct { const char *text, *expected; } ROWS[] = {
    {"\"\"", ""}, {"\"a\"", "a"}, {"\"\\n\\t\\\"\\\\\\{\\}\"", "\n\t\"\\{}"}, {"\"\\u{41}\\u{e9}\\u{1F600}\"", "A\xC3\xA9\xF0\x9F\x98\x80"}, {"\"a\tb\"", "a\tb"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    char text[100];
    snprintf(text, sizeof text, "view v = %s", ROWS[i].text);
    Front f;
    front_parse(&f, "t.aup", str_from(text));
    cr_expect(!diag_has_errors(&f.diags), "%s", text);
    cr_expect(str_is(value_of(&f, 0)->text, ROWS[i].expected), "%s", text);
    front_close(&f);
  }
}

Test(parser, names_are_equal_in_nfc) {
  Front f;
  front_parse(&f, "t.aup", STR("view j\xC3\xBCrgen = 1\nview ju\xCC\x88rgen = 2\nview jurgen = 3"));
  cr_assert(!diag_has_errors(&f.diags));
  cr_expect_eq(f.ast->decls.items[0]->name.sym, f.ast->decls.items[1]->name.sym);
  cr_expect_neq(f.ast->decls.items[0]->name.sym, f.ast->decls.items[2]->name.sym);
  front_close(&f);
}

Test(parser, docs_belong_to_what_follows) {
  Front f;
  front_parse(&f, "t.aup", STR("/// A table.\n/// Of things.\ntable T {\n  /// The key.\n  id: int key\n  a: int\n}\n"
                               "/// The state.\nstate s: int = 0\n/// Adds.\n/// > f(1) == 2\nfn f(\n  /// In.\n  x: int) -> int = x + 1\n"));
  cr_assert(!diag_has_errors(&f.diags));
  Decl *const *decls = f.ast->decls.items;
  cr_expect(str_is(decls[0]->doc->text, "A table.\nOf things."));
  cr_expect(str_is(decls[0]->table.fields.items[0].doc->text, "The key."));
  cr_expect_null(decls[0]->table.fields.items[1].doc);
  cr_expect(str_is(decls[1]->record.fields.items[0].doc->text, "The state."));
  cr_expect(str_is(decls[2]->doc->text, "Adds."));
  cr_assert_eq(decls[2]->doc->examples.count, 1);
  cr_expect_eq(decls[2]->doc->examples.items[0]->op, OPER_EQ);
  cr_expect(str_is(decls[2]->function.params.items[0].doc->text, "In."));
  front_close(&f);
}

Test(parser, every_expression_has_its_span) {
  static const struct { const char *text, *expected; } ROWS[] = {
    {"a + (b * c)", "a + (b * c)"}, {"(a)", "(a)"}, {"(a + b).c", "(a + b).c"}, {"f(1, 2) ", "f(1, 2)"}, {"not x ", "not x"},
    {"[1, 2]", "[1, 2]"}, {"{ a: 1 }", "{ a: 1 }"}, {"\"a{b}c\"", "\"a{b}c\""}, {"if a then b else c", "if a then b else c"}, {"- x", "- x"},
    {"from x in T where x.a select x.b ", "from x in T where x.a select x.b"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    char text[100];
    snprintf(text, sizeof text, "view v = %s\n", ROWS[i].text);
    Front f;
    front_parse(&f, "t.aup", str_from(text));
    Str got = source_text(f.source, value_of(&f, 0)->span);
    cr_expect(str_is(got, ROWS[i].expected), "%s: " STR_FMT, text, STR_ARG(got));
    front_close(&f);
  }
}

Test(parser, operators_bind_as_they_should) {
  static const struct { const char *text, *same; } ROWS[] = {
    {"a or b and c", "a or (b and c)"}, {"not a == b", "not (a == b)"}, {"a + b * c", "a + (b * c)"}, {"a - b - c", "(a - b) - c"},
    {"a ?? b ?? c", "a ?? (b ?? c)"}, {"a == b ?? c", "a == (b ?? c)"}, {"-a * b", "(-a) * b"}, {"a..b + 1", "a..(b + 1)"}, {"x in a..b", "x in (a..b)"},
    {"a ?? b + c", "a ?? (b + c)"}, {"-a.b", "-(a.b)"}, {"a < b and c < d", "(a < b) and (c < d)"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Buf trees[2];
    for (int k = 0; k < 2; k++) {
      char text[100];
      snprintf(text, sizeof text, "view v = %s\n", k ? ROWS[i].same : ROWS[i].text);
      Front f;
      front_parse(&f, "t.aup", str_from(text));
      cr_expect(!diag_has_errors(&f.diags), "%s", text);
      buf_init(&trees[k], 0);
      ast_dump(f.ast, &trees[k]);
      front_close(&f);
    }
    cr_expect(str_equal(buf_str(&trees[0]), buf_str(&trees[1])), "%s", ROWS[i].text);
    buf_free(&trees[0]);
    buf_free(&trees[1]);
  }
}

// A source made of `before`, then `count` times `middle`, a core, `count` times `after`.
static Str repeated(const char *before, const char *middle, const char *core, const char *after, int count) {
  Buf out;
  buf_init(&out, 0);
  buf_add_text(&out, before);
  for (int i = 0; i < count; i++) buf_add_text(&out, middle);
  buf_add_text(&out, core);
  for (int i = 0; i < count; i++) buf_add_text(&out, after);
  return buf_str(&out);
}

static void check_limit(Str text, DiagCode code, const char *limit) {
  Front f;
  front_parse(&f, "t.aup", text);
  if (!limit) {
    cr_expect(!diag_has_errors(&f.diags), "%.60s", text.ptr);
  } else {
    cr_expect_eq(f.diags.count, 1, "%.60s", text.ptr);
    cr_expect_eq(f.diags.items[0]->code, code, "%.60s", text.ptr);
    cr_expect(strstr(f.diags.items[0]->message.ptr, limit) != NULL, STR_FMT, STR_ARG(f.diags.items[0]->message));
  }
  front_close(&f);
  mem_free((void *)(uintptr_t)text.ptr);
}

Test(parser, nesting_ends_at_its_limit) {
  static const struct { const char *before, *middle, *core, *after; int outer; } ROWS[] = {
    {"view v = ", "(", "1", ")", 0},
    {"view v = ", "[", "1", "]", 0},
    {"view v = ", "{ a: ", "1", " }", 0},
    {"view v = ", "f(", "1", ")", 0},
    {"view v = ", "\"{", "1", "}\"", 0},
    {"input i() ", "{ if a ", "{ }", " }", 1},
    {"state s: ", "[", "int", "]", 0},
    {"state s: ", "{ a: ", "int", " }", 0},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    check_limit(repeated(ROWS[i].before, ROWS[i].middle, ROWS[i].core, ROWS[i].after, NESTING_MAX - ROWS[i].outer), DIAG_E023, NULL);
    check_limit(repeated(ROWS[i].before, ROWS[i].middle, ROWS[i].core, ROWS[i].after, NESTING_MAX + 1), DIAG_E023, "NESTING_MAX");
    check_limit(repeated(ROWS[i].before, ROWS[i].middle, ROWS[i].core, "", 100000), DIAG_E023, "NESTING_MAX");
  }
}

Test(parser, depth_of_an_expression_ends_at_its_limit) {
  static const struct { const char *before, *middle; } ROWS[] = {
    {"view v = ", "a + "}, {"view v = ", "a ?? "}, {"view v = ", "not "}, {"view v = ", "- "}, {"view v = ", "if a then b else "}, {"view v = a", ".b"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    const char *core = ROWS[i].middle[0] == '.' ? "" : "a";
    check_limit(repeated(ROWS[i].before, ROWS[i].middle, core, "", EXPR_DEPTH_MAX - 1), DIAG_E023, NULL);
    check_limit(repeated(ROWS[i].before, ROWS[i].middle, core, "", EXPR_DEPTH_MAX), DIAG_E023, "EXPR_DEPTH_MAX");
    check_limit(repeated(ROWS[i].before, ROWS[i].middle, core, "", EXPR_DEPTH_MAX * 10), DIAG_E023, "EXPR_DEPTH_MAX");
  }
  // `else if` is a list: as long as one likes.
  check_limit(repeated("input i() { if a { }", " else if a { }", " }", "", EXPR_DEPTH_MAX * 4), DIAG_E023, NULL);
}

Test(parser, names_end_at_their_limit) {
  check_limit(repeated("view ", "n", " = 1", "", NAME_BYTES_MAX), DIAG_E025, NULL);
  check_limit(repeated("view ", "n", " = 1", "", NAME_BYTES_MAX + 1), DIAG_E025, "NAME_BYTES_MAX");
}

Test(parser, sources_end_at_their_limit) {
  check_limit(repeated("view v = 1", " ", "", "", SOURCE_BYTES_MAX - 10), DIAG_E022, NULL);
  check_limit(repeated("view v = 1", " ", "", "", SOURCE_BYTES_MAX - 9), DIAG_E022, "SOURCE_BYTES_MAX");
}

Test(parser, what_is_not_text_is_refused_where_it_begins) {
  static const struct { const char *bytes; size_t len, at; } ROWS[] = {
    {"view a = 1\n\0view b = 2", 22, 11}, {"\0", 1, 0}, {"view \xC3(", 7, 5}, {"\xFF\xFE" "v\0", 4, 0}, {"a\xED\xA0\x80", 4, 1}, {"\x7F" "ELF\0", 5, 4}, {"a\xC0\x80", 3, 1},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Front f;
    front_parse(&f, "t.aup", (Str){ROWS[i].bytes, ROWS[i].len});
    cr_assert_eq(f.diags.count, 1, "%zu", i);
    cr_expect_eq(f.diags.items[0]->code, DIAG_E021);
    cr_expect_eq(f.diags.items[0]->span.start - f.source->base, ROWS[i].at, "%zu", i);
    front_close(&f);
  }
}

Test(parser, floods_give_few_errors_fast) {
  static const char *const PIECES[] = {"{", "[", "(", "\"", "}", ")", "]", ";", "x\n", "\\", "'", "`", "/*", "\"{", "@", "\n", "///\n", "view v = 1\n", "a.", "\xEF\xBB\xBF", "1..", "if ", "let ", "from x in ", "#\n"};
  for (size_t i = 0; i < countof(PIECES); i++) {
    Str text = repeated("", PIECES[i], "", "", (int)((1 << 18) / strlen(PIECES[i])));
    Front f;
    front_parse(&f, "t.aup", text);
    cr_expect_leq(f.diags.error_count, DIAG_ERRORS_MAX);
    front_close(&f);
    mem_free((void *)(uintptr_t)text.ptr);
  }
}

Test(parser, errors_are_sorted_and_end_at_twenty) {
  Str text = repeated("", "veiw a = 1\nview b = \"\\q\"\n", "", "", 15);
  Front f;
  front_parse(&f, "t.aup", text);
  cr_assert_eq(f.diags.count, DIAG_ERRORS_MAX);
  for (uint32_t i = 1; i < f.diags.count; i++) cr_expect_leq(f.diags.items[i - 1]->span.start, f.diags.items[i]->span.start);
  front_close(&f);
  mem_free((void *)(uintptr_t)text.ptr);
}

Test(parser, several_sources_share_one_tree) {
  Front f;
  front_parse(&f, "a.aup", STR("view a = 1\n"));
  const Source *second = sources_add(&f.sources, STR("b.aup"), STR("view b = a\nview a = 3\n"), &f.diags);
  cr_assert(syntax_parse_into(f.ast, second, &f.diags));
  cr_assert_eq(f.ast->decls.count, 3);
  cr_expect_eq(f.ast->decls.items[0]->name.sym, f.ast->decls.items[2]->name.sym);
  cr_expect_eq(f.ast->decls.items[1]->function.value->name.sym, f.ast->decls.items[0]->name.sym);
  cr_expect_eq(sources_find(&f.sources, f.ast->decls.items[1]->span.start), second);
  cr_expect_eq(sources_find(&f.sources, f.ast->decls.items[0]->span.start), f.source);
  front_close(&f);
}

Test(parser, without_memory_it_fails_and_nothing_else) {
  Str text = STR("/// Doc.\n/// > a == 1\nview a = (from x in T where x.y == \"q{z}\" select { x.a, b: [1, 2.5] })\ntable T { y: text key, index y }\ninput i(p: int min 1 = 2) { if p > 1 { a += 1 } }");
  bool passed = false;
  for (uint64_t nth = 1; !passed; nth++) {
    cr_assert_lt(nth, 10000);
    uint64_t held = mem_blocks_held();
    Arena arena;
    arena_init(&arena, 0);
    mem_fail_nth(nth, 1);
    DiagList diags;
    diag_init(&diags, &arena);
    Sources sources;
    sources_init(&sources, &arena);
    const Source *source = sources_add(&sources, STR("t.aup"), text, &diags);
    Ast *ast = source ? syntax_parse(source, &arena, &diags) : NULL;
    mem_fail_nth(0, 0);
    passed = ast && !diag_has_errors(&diags);
    if (source) cr_expect(passed || diags.failed, "allocation %d failed in silence", (int)nth);
    arena_free(&arena);
    cr_expect_eq(mem_blocks_held(), held);
  }
}
