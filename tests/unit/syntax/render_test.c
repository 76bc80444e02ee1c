#include "compiler/suggest.h"
#include "runtime/base/json.h"
#include "tests/unit/syntax/support.h"

static void check_render(const char *text, RenderFormat format, const char *expected) {
  Front f;
  front_parse(&f, "t.aup", str_from(text));
  Buf out;
  buf_init(&out, 0);
  front_render(&f, format, &out);
  cr_expect(str_is(buf_str(&out), expected), "expected\n%s\ngot\n" STR_FMT, expected, STR_ARG(buf_str(&out)));
  buf_free(&out);
  front_close(&f);
}

Test(render, short_and_github) {
  check_render("view v = 1\nview \xC3\xA9 = 2 = 3", RENDER_SHORT, "t.aup:2:12: error[E004]: `=` gives a value to something; to compare, write `==`\n");
  check_render("view v = 1 = 3", RENDER_GITHUB, "::error file=t.aup,line=1,col=12,endLine=1,endColumn=13,title=E004::`=` gives a value to something; to compare, write `==`\n");
}

Test(render, underlines_stand_under_what_they_mean) {
  static const struct { const char *before, *shown; int cells; } ROWS[] = {
    {"a", "a", 1},
    {"\xED\x9A\x8C", "\xED\x9A\x8C", 2},          // a wide letter
    {"e\xCC\x81", "e\xCC\x81", 1},                // a combining mark
    {"a\t", "a   ", 4},                           // to the next stop (the line starts 9 cells before)
    {"\"\xE2\x80\x8D\"", "\"\\u{200D}\"", 10},    // invisible
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    char text[100], expected[300];
    snprintf(text, sizeof text, "view v =%s = 3", ROWS[i].before);
    int tab = ROWS[i].before[strlen(ROWS[i].before) - 1] == '\t' ? 3 : ROWS[i].cells;
    snprintf(expected, sizeof expected, "   |\n 1 | view v =%.*s = 3\n   | %*s^\n", tab == 3 ? 4 : 100, ROWS[i].shown, 8 + (tab == 3 ? 4 : ROWS[i].cells) + 1, "");
    Front f;
    front_parse(&f, "t.aup", str_from(text));
    Buf out;
    buf_init(&out, 0);
    front_render(&f, RENDER_HUMAN, &out);
    buf_add_char(&out, 0);
    cr_expect(strstr(out.ptr, expected) != NULL, "expected\n%s\nin\n%s", expected, out.ptr);
    buf_free(&out);
    front_close(&f);
  }
}

Test(render, nothing_that_a_terminal_obeys_gets_through) {
  static const char *const TEXTS[] = {"view v = \x1b[31m", "view \x07", "view v = \"\x1b]0;x\x07\"", "view v = 1 \xE2\x80\xAE 2", "view v = \"\xC2\x9B 31m", "\x7F", "view v = \r 1"};
  for (size_t i = 0; i < countof(TEXTS); i++) {
    for (int format = RENDER_HUMAN; format <= RENDER_SARIF; format++) {
      Front f;
      front_parse(&f, "t\x1b.aup", str_from(TEXTS[i]));
      cr_expect(diag_has_errors(&f.diags), "%zu", i);
      Buf out;
      buf_init(&out, 0);
      front_render(&f, (RenderFormat)format, &out);
      for (size_t k = 0; k < out.len; k++) {
        uint8_t c = (uint8_t)out.ptr[k];
        bool is_for_programs = format == RENDER_JSON || format == RENDER_SARIF;  // JSON lets 0x7F stand
        cr_expect((c >= 0x20 && (c != 0x7F || is_for_programs)) || c == '\n', "text %zu, format %d, byte %02x", i, format, c);
      }
      buf_free(&out);
      front_close(&f);
    }
  }
}

Test(render, a_long_line_is_shown_in_part) {
  Buf text;
  buf_init(&text, 0);
  buf_add_text(&text, "view v = 1");
  for (int i = 0; i < 1000; i++) buf_add_text(&text, " + \xC3\xA9");
  buf_add_text(&text, " = 2");
  for (int i = 0; i < 1000; i++) buf_add_text(&text, " + \xC3\xA9");
  Front f;
  front_parse(&f, "t.aup", buf_str(&text));
  cr_assert_eq(f.diags.count, 1);
  Buf out;
  buf_init(&out, 0);
  front_render(&f, RENDER_HUMAN, &out);
  cr_expect_lt(out.len, 1000);
  buf_free(&out);
  buf_free(&text);
  front_close(&f);
}

Test(render, json_is_one_object_a_line_and_sarif_one) {
  Front f;
  front_parse(&f, "t.aup", STR("view v = 1 = 3\nview w = (1\nview x = \"\\q\"\n"));
  cr_assert_eq(f.diags.count, 3);
  Buf out;
  buf_init(&out, 0);
  front_render(&f, RENDER_JSON, &out);
  size_t lines = 0;
  for (size_t i = 0; i < out.len; i++) lines += out.ptr[i] == '\n';
  cr_expect_eq(lines, 3);
  buf_add_char(&out, 0);
  static const char *const PARTS[] = {"{\"message\":\"`=` gives a value", "\"code\":{\"code\":\"E004\"", "\"level\":\"error\"", "\"file_name\":\"t.aup\",\"byte_start\":11,\"byte_end\":12,\"line_start\":1,\"line_end\":1,\"column_start\":12,\"column_end\":13,\"is_primary\":true",
                                      "\"suggested_replacement\":\"==\"", "\"label\":\"it is still open here", "\"rendered\":\"error[E004]"};
  for (size_t i = 0; i < countof(PARTS); i++) cr_expect(strstr(out.ptr, PARTS[i]) != NULL, "%s in %s", PARTS[i], out.ptr);
  buf_clear(&out);
  front_render(&f, RENDER_SARIF, &out);
  buf_add_char(&out, 0);
  static const char *const SARIF[] = {"\"version\":\"2.1.0\"", "\"ruleId\":\"E002\"", "\"startLine\":1,\"startColumn\":12", "\"insertedContent\":{\"text\":\"==\"}", "\"rules\":[{\"id\":\"E002\""};
  for (size_t i = 0; i < countof(SARIF); i++) cr_expect(strstr(out.ptr, SARIF[i]) != NULL, "%s in %s", SARIF[i], out.ptr);
  buf_free(&out);
  front_close(&f);
}

Test(render, every_code_can_be_explained) {
  for (int code = 0; code < DIAG_CODE_COUNT; code++) {
    DiagCode found;
    cr_expect(diag_find_code(str_from(diag_code_name((DiagCode)code)), &found));
    cr_expect_eq((int)found, code);
    cr_expect_gt(strlen(diag_title((DiagCode)code)), 5);
    cr_expect_gt(strlen(diag_explanation((DiagCode)code)), 20);
    cr_expect_eq(diag_severity((DiagCode)code) == SEVERITY_WARNING, diag_code_name((DiagCode)code)[0] == 'W');
    static const char *const AVOIDED[] = {"invalid", "illegal", "token "};
    for (size_t i = 0; i < countof(AVOIDED); i++) cr_expect_null(strstr(diag_title((DiagCode)code), AVOIDED[i]));
  }
  DiagCode found;
  cr_expect(!diag_find_code(STR("E999"), &found));
}

Test(render, one_mistake_gives_one_message) {
  Arena arena;
  arena_init(&arena, 0);
  DiagList diags;
  diag_init(&diags, &arena);
  Diag *first = diag_add(&diags, DIAG_E101, (Span){5, 6}, "first");
  cr_assert_neq(first, &diags.spare);
  cr_expect_eq(diag_add(&diags, DIAG_E201, (Span){5, 9}, "the same place"), &diags.spare);
  diag_poison(&diags, (Span){10, 20});
  cr_expect_eq(diag_add(&diags, DIAG_E201, (Span){10, 11}, "inside"), &diags.spare);
  cr_expect_eq(diag_add(&diags, DIAG_E201, (Span){19, 30}, "inside"), &diags.spare);
  cr_expect_neq(diag_add(&diags, DIAG_E201, (Span){20, 21}, "behind"), &diags.spare);
  cr_expect_neq(diag_add(&diags, DIAG_W106, (Span){5, 6}, "a warning there"), &diags.spare);
  for (uint32_t i = 0; i < 30; i++) diag_add(&diags, DIAG_E101, (Span){100 - i, 101}, "more");
  cr_expect_eq(diags.error_count, DIAG_ERRORS_MAX);
  cr_expect_eq(diags.errors_left_out, 12);
  for (int i = 0; i < 6; i++) diag_label(&diags, first, (Span){1, 2}, "label");
  cr_expect_eq(first->label_count, DIAG_LABELS_MAX);
  diag_sort(&diags);
  for (uint32_t i = 1; i < diags.count; i++) cr_expect_leq(diags.items[i - 1]->span.start, diags.items[i]->span.start);
  arena_free(&arena);
}

Test(suggest, near_names_are_found) {
  static const struct { const char *wanted, *candidates[4], *best; } ROWS[] = {
    {"veiw", {"view", "table", "use"}, "view"}, {"stat", {"start", "state", "test"}, "start"}, {"xyzzy", {"view", "state"}, ""}, {"Ballance", {"balance", "branch"}, "balance"},
    {"a", {"b", "c"}, ""}, {"to", {"so"}, ""}, {"owenr", {"owner", "owned"}, "owner"}, {"pointz", {"points", "point"}, "points"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Suggest suggest = suggest_start(str_from(ROWS[i].wanted));
    for (size_t k = 0; k < 4 && ROWS[i].candidates[k]; k++) suggest_try(&suggest, str_from(ROWS[i].candidates[k]));
    cr_expect(str_is(suggest.best, ROWS[i].best), "%s: " STR_FMT, ROWS[i].wanted, STR_ARG(suggest.best));
  }
  static const struct { const char *a, *b; uint32_t distance; } PAIRS[] = {{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"ABC", "abc", 0}};
  for (size_t i = 0; i < countof(PAIRS); i++) cr_expect_eq(suggest_distance(str_from(PAIRS[i].a), str_from(PAIRS[i].b), 9), PAIRS[i].distance, "%s", PAIRS[i].a);
}
