// The examples, damaged: cut after a byte, a token left out, doubled, or swapped with the next. Each must parse or get
// located errors, whatever it is; with those of the check room ten thousand. AUP_TEST_FULL=1 tries every place instead of every n-th.
#include <dirent.h>

#include "tests/unit/syntax/support.h"

enum { CUT_STRIDE = 16, TOKEN_STRIDE = 12, TRIED_MIN = 1700, TOKENS_MAX = 5000 };

static size_t tried;  // a Criterion test is a process of its own

static size_t stride(size_t usual) { return getenv("AUP_TEST_FULL") ? 1 : usual; }

static void check_damaged(const char *name, Str text) {
  Front f;
  tried++;
  front_parse(&f, name, text);
  bool fine = !f.diags.failed && f.diags.error_count <= DIAG_ERRORS_MAX;
  for (uint32_t i = 0; i < f.diags.count; i++) {
    const Diag *diag = f.diags.items[i];
    fine &= sources_find(&f.sources, diag->span.start) == f.source && diag->span.end >= diag->span.start && diag->message.len > 0;
  }
  cr_expect(fine, "%s, number %zu: a message without a place or words, too many, or no memory", name, tried);
  Buf out;
  buf_init(&out, 0);
  front_render(&f, RENDER_HUMAN, &out);
  if (!diag_has_errors(&f.diags)) ast_dump(f.ast, &out);
  buf_free(&out);
  front_close(&f);
}

static void cut_everywhere(const char *name, Str text) {
  for (size_t len = 0; len < text.len; len += stride(CUT_STRIDE)) check_damaged(name, str_part(text, 0, len));
}

static void damage_tokens(const char *name, Str text) {
  Front f;
  front_open(&f, name, text);
  static Token tokens[TOKENS_MAX];
  size_t count = 0;
  Lexer lexer;
  lexer_init(&lexer, f.source, (Span){0}, &f.arena, &f.diags);
  for (Token token; (token = lexer_next(&lexer)).kind != T_END && count < TOKENS_MAX;)
    if (token.end > token.start) tokens[count++] = token;
  uint32_t base = f.source->base;
  Buf changed;
  buf_init(&changed, 0);
  for (size_t i = 0; i + 1 < count; i += stride(TOKEN_STRIDE)) {
    size_t from = tokens[i].start - base, to = tokens[i].end - base, next = tokens[i + 1].start - base, next_end = tokens[i + 1].end - base;
    for (int kind = 0; kind < 3; kind++) {
      buf_clear(&changed);
      buf_add(&changed, text.ptr, from);
      if (kind == 1) buf_add_str(&changed, str_part(text, from, to));
      if (kind == 1) buf_add_char(&changed, ' ');
      if (kind == 1) buf_add_str(&changed, str_part(text, from, to));
      if (kind == 2) buf_add_str(&changed, str_part(text, next, next_end));
      if (kind == 2) buf_add_char(&changed, ' ');
      if (kind == 2) buf_add_str(&changed, str_part(text, from, to));
      size_t rest = kind == 2 ? next_end : to;
      buf_add_str(&changed, str_part(text, rest, text.len));
      check_damaged(name, buf_str(&changed));
    }
  }
  buf_free(&changed);
  front_close(&f);
}

static void for_each_example(void (*act)(const char *name, Str text)) {
  DIR *dir = opendir(SOURCE_ROOT "/examples");
  cr_assert_not_null(dir);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    size_t len = strlen(entry->d_name);
    if (len < 5 || strcmp(entry->d_name + len - 4, ".aup") != 0) continue;
    char path[1000];
    snprintf(path, sizeof path, SOURCE_ROOT "/examples/%s", entry->d_name);
    Str text = read_file(path);
    act(entry->d_name, text);
    mem_free((void *)(uintptr_t)text.ptr);
    count++;
  }
  closedir(dir);
  cr_assert_geq(count, 8);
  cr_expect_geq(tried, TRIED_MIN, "only %zu", tried);
}

Test(mutation, cut_examples_get_located_errors) { for_each_example(cut_everywhere); }
Test(mutation, examples_with_damaged_tokens_get_located_errors) { for_each_example(damage_tokens); }
