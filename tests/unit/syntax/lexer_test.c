#include "tests/unit/syntax/support.h"

// The tokens of a source in one line: kinds as the grammar names them, `;` for a line end.
static void list_tokens(Str text, Buf *out) {
  Front f;
  front_open(&f, "t.aup", text);
  Lexer lexer;
  lexer_init(&lexer, f.source, (Span){0}, &f.arena, &f.diags);
  for (Token token; (token = lexer_next(&lexer)).kind != T_END;) {
    if (out->len) buf_add_char(out, ' ');
    buf_add_text(out, token.kind == T_NL ? ";" : token_name(token.kind));
  }
  buf_add_char(out, 0);
  front_close(&f);
}

static void check_tokens(const char *text, const char *expected) {
  Buf out;
  buf_init(&out, 0);
  list_tokens(str_from(text), &out);
  cr_expect_str_eq(out.ptr, expected, "%s", text);
  buf_free(&out);
}

typedef struct TokenRow { const char *text, *expected; } TokenRow;
static void check_rows(const TokenRow *rows, size_t count) {
  for (size_t i = 0; i < count; i++) check_tokens(rows[i].text, rows[i].expected);
}

Test(lexer, line_ends_count_only_where_a_statement_ends) {
  static const TokenRow ROWS[] = {
    {"a\nb", "ID ; ID ;"},
    {"a\r\nb\r\n", "ID ; ID ;"},
    {"\n\n a \n\n\n b \n\n", "ID ; ID ;"},
    {"f(\na,\nb\n)\nc", "ID LPAREN ID COMMA ID RPAREN ; ID ;"},
    {"[1\n2\n]", "LBRACK INT INT RBRACK ;"},
    {"a +\nb", "ID PLUS ID ;"},
    {"a\n+ b", "ID PLUS ID ;"},
    {"a\n- b", "ID ; MINUS ID ;"},
    {"a\n.b\n?.c", "ID DOT ID QDOT ID ;"},
    {"a =\nb", "ID EQ ID ;"},
    {"if a\nthen b\nelse c", "IF ID THEN ID ELSE ID ;"},
    {"a\n@h", "ID ANNOT ;"},
    {"a\n-> b\n{\n}", "ID ARROW ID LBRACE RBRACE ;"},
    {"{ a }", "LBRACE ID ; RBRACE ;"},
    {"{ a, }", "LBRACE ID COMMA RBRACE ;"},
    {"{ a\n}", "LBRACE ID ; RBRACE ;"},
    {"a // c\nb", "ID ; ID ;"},
    {"from x in T\nwhere y\norder by\nz\nselect x\nb", "FROM ID IN ID WHERE ID ORDER BY ID SELECT ID ; ID ;"},
    {"from x in T\norder = 4", "FROM ID IN ID ; ORDER EQ INT ;"},
    {"where y\nselect x", "WHERE ID ; SELECT ID ;"},
    {"{\n..a\n..b }", "LBRACE DOTDOT ID ; DOTDOT ID ; RBRACE ;"},
    {"{ a: 1 +\nb: 2 }", "LBRACE ID COLON INT PLUS ; ID COLON INT ; RBRACE ;"},
    {"view a = 1 +\nview b = 2", "VIEW ID EQ INT PLUS ; VIEW ID EQ INT ;"},
    {"view x", "VIEW ID ;"},
    {"", ""},
  };
  check_rows(ROWS, countof(ROWS));
}

Test(lexer, words_are_names_where_no_keyword_fits) {
  static const TokenRow ROWS[] = {
    {"in: a", "ID COLON ID ;"},
    {"x.from.match", "ID DOT ID DOT ID ;"},
    {"from", "ID ;"},
    {"from x in y", "FROM ID IN ID ;"},
    {"from x", "ID ID ;"},
    {"_ __ _a", "UNDERSCORE ID ID ;"},
    {"send(1)", "ID LPAREN INT RPAREN ;"},
    {"send a(1)", "SEND ID LPAREN INT RPAREN ;"},
    {"expect = 1", "ID EQ INT ;"},
    {"expect a", "EXPECT ID ;"},
    {"as.x", "ID DOT ID ;"},
    {"\xed\x9a\x8c\xec\x9b\x90 na\xc3\xafve x\xcc\x81", "ID ID ID ;"},
  };
  check_rows(ROWS, countof(ROWS));
}

Test(lexer, numbers_texts_and_signs) {
  static const TokenRow ROWS[] = {
    {"1 1_000 1.5 1..2 1.x", "INT INT DECIMAL INT DOTDOT INT INT DOT ID ;"},
    {"250us 250ms 30s 5min 2h 7d 1w", "DURATION DURATION DURATION DURATION DURATION DURATION DURATION ;"},
    {"@2026-10-04 @2026-10-04T09:00Z @2026-10-04..@2026-10-05 @x", "TIME TIME TIME DOTDOT TIME ANNOT ;"},
    {"\"a\" \"a{b}c{d}e\" \"{f(\"g\")}\"", "STRING STRBEG ID STRMID ID STREND STRBEG ID LPAREN STRING RPAREN STREND ;"},
    {"\"\\u{41}\" \"\\{\" \"\\\\\"", "STRING STRING STRING ;"},
    {"\"{ {a: 1} }\"", "STRBEG LBRACE ID COLON INT ; RBRACE STREND ;"},
    {"a?.b ?? c ? d", "ID QDOT ID QQ ID QUEST ID ;"},
    {"a+=b-=c*=d=>e->f", "ID PLUSEQ ID MINUSEQ ID STAREQ ID FATARROW ID ARROW ID ;"},
    {"a<=b>=c==d!=e|f", "ID LE ID GE ID EQEQ ID NE ID PIPE ID ;"},
  };
  check_rows(ROWS, countof(ROWS));
}

Test(lexer, a_mark_and_carriage_returns_change_nothing) {
  const char *plain = "app a\n\n/// Doc.\nview v = {\n  x: 1\n  y: \"z\"\n}\n";
  char changed[200] = "\xEF\xBB\xBF";
  size_t len = 3;
  for (const char *c = plain; *c; c++) {
    if (*c == '\n') changed[len++] = '\r';
    changed[len++] = *c;
  }
  len -= 2;  // and no line end at the end
  Buf trees[2];
  for (int i = 0; i < 2; i++) {
    Front f;
    front_parse(&f, "t.aup", i ? (Str){changed, len} : str_from(plain));
    cr_assert(!diag_has_errors(&f.diags));
    buf_init(&trees[i], 0);
    ast_dump(f.ast, &trees[i]);
    front_close(&f);
  }
  cr_assert(str_equal(buf_str(&trees[0]), buf_str(&trees[1])));
  cr_assert_gt(trees[0].len, 20);
  buf_free(&trees[0]);
  buf_free(&trees[1]);
}

Test(lexer, comments_are_kept_when_asked_for) {
  Front f;
  front_open(&f, "t.aup", STR("// one\nview v = 1 // two\n/// three\nview w = 2"));
  Lexer lexer;
  lexer_init(&lexer, f.source, (Span){0}, &f.arena, &f.diags);
  lexer.keep_comments = true;
  while (lexer_next(&lexer).kind != T_END) {}
  static const char *const EXPECTED[] = {"// one", "// two", "/// three"};
  cr_assert_eq(lexer.comment_count, countof(EXPECTED));
  for (size_t i = 0; i < countof(EXPECTED); i++) cr_expect(str_is(source_text(f.source, lexer.comments[i]), EXPECTED[i]));
  front_close(&f);
}

Test(lexer, tokens_are_dumped_with_their_places) {
  Front f;
  front_open(&f, "t.aup", STR("view v = {\n  a\n}"));
  Buf out;
  buf_init(&out, 0);
  tokens_dump(f.source, &f.arena, &f.diags, &out);
  cr_assert(str_is(buf_str(&out), "1:1 VIEW view\n1:6 ID v\n1:8 EQ =\n1:10 LBRACE {\n2:3 ID a\n2:4 NL (put in)\n3:1 RBRACE }\n3:2 NL (put in)\n3:2 END\n"),
            STR_FMT, STR_ARG(buf_str(&out)));
  buf_free(&out);
  front_close(&f);
}
