// Programs whose lines say what is to be said of them: `// expect E101` at the end of a line, several codes with spaces
// between. Every diagnostic must be expected on the line where it starts, and every expected one must come.
#include <dirent.h>

#include "tests/unit/check/support.h"

enum { FILES_MAX = 200, FOUND_MAX = 400 };
typedef struct Found { uint32_t line; char code[8]; } Found;
typedef struct FoundList { Found items[FOUND_MAX]; uint32_t count; } FoundList;

static int by_line(const void *a, const void *b) {
  const Found *x = a, *y = b;
  return x->line != y->line ? (x->line > y->line) - (x->line < y->line) : strcmp(x->code, y->code);
}

static void add(FoundList *list, uint32_t line, const char *code, size_t len) {
  cr_assert_lt(list->count, FOUND_MAX);
  Found *found = &list->items[list->count++];
  *found = (Found){.line = line};
  memcpy(found->code, code, len < 7 ? len : 7);
}

static void read_expected(Str text, FoundList *out) {
  uint32_t line = 1;
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] == '\n') line++;
    if (!str_starts(str_part(text, i, text.len), STR("// expect "))) continue;
    size_t at = i + 10;
    while (at < text.len && (text.ptr[at] == 'E' || text.ptr[at] == 'W')) {
      add(out, line, text.ptr + at, 4);
      at += 4;
      if (at < text.len && text.ptr[at] == ' ') at++;
    }
  }
  qsort(out->items, out->count, sizeof *out->items, by_line);
}

static void read_found(const Checked *c, FoundList *out) {
  for (uint32_t i = 0; i < c->diags.count; i++) add(out, checked_line(c, c->diags.items[i]->span.start), diag_code_name(c->diags.items[i]->code), 4);
  qsort(out->items, out->count, sizeof *out->items, by_line);
}

static bool seen[DIAG_CODE_COUNT];

static void check_messages(const Checked *c, const char *name) {
  static const char *const FORBIDDEN[] = {"invalid", "Invalid", "illegal", " token"};
  for (uint32_t i = 0; i < c->diags.count; i++) {
    const Diag *diag = c->diags.items[i];
    seen[diag->code] = true;
    for (size_t k = 0; k < countof(FORBIDDEN); k++) cr_expect_null(strstr(diag->message.ptr, FORBIDDEN[k]), "%s: " STR_FMT, name, STR_ARG(diag->message));
    cr_expect_gt(diag->message.len, 5);
  }
}

static void check_file(const char *folder, const char *name) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  Str text = read_file(path);
  cr_assert_not_null(text.ptr, "%s cannot be read", path);
  Checked c;
  checked_open(&c, name, text);
  static FoundList expected, found;
  expected.count = found.count = 0;
  read_expected(text, &expected);
  read_found(&c, &found);
  bool same = expected.count == found.count && (!found.count || memcmp(expected.items, found.items, found.count * sizeof(Found)) == 0);
  Buf out;
  buf_init(&out, 0);
  if (!same) render_diags(&c.diags, &c.sources, RENDER_SHORT, false, &out);
  cr_expect(same, "%s: %u expected, %u found:\n" STR_FMT, name, expected.count, found.count, STR_ARG(buf_str(&out)));
  for (uint32_t i = 0, k = 0; !same && (i < expected.count || k < found.count);) {  // the first difference
    int order = i == expected.count ? 1 : k == found.count ? -1 : by_line(&expected.items[i], &found.items[k]);
    if (order == 0) { i++; k++; continue; }
    const Found *odd = order < 0 ? &expected.items[i++] : &found.items[k++];
    cr_log_error("%s:%u: %s %s", name, odd->line, odd->code, order < 0 ? "is missing" : "was not expected");
  }
  check_messages(&c, name);
  buf_free(&out);
  checked_close(&c);
  mem_free((void *)(uintptr_t)text.ptr);
}

Test(check_golden, every_mistake_is_said_where_it_is) {
  DIR *dir = opendir(SOURCE_ROOT "/tests/golden/check");
  cr_assert_not_null(dir);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    size_t len = strlen(entry->d_name);
    if (len < 5 || strcmp(entry->d_name + len - 4, ".aup") != 0) continue;
    check_file(SOURCE_ROOT "/tests/golden/check", entry->d_name);
    cr_assert_leq(++count, FILES_MAX);
  }
  closedir(dir);
  cr_assert_geq(count, 12);
  // What the checker can say is said somewhere; the others belong to the parser, the planner and the loader.
  static const char *const ELSEWHERE[] = {"W304", "E401", "E402", "E901"};
  for (int code = DIAG_E101; code < DIAG_CODE_COUNT; code++) {
    bool elsewhere = false;
    for (size_t i = 0; i < countof(ELSEWHERE); i++) elsewhere |= strcmp(diag_code_name((DiagCode)code), ELSEWHERE[i]) == 0;
    cr_expect(seen[code] || elsewhere, "no golden file has %s", diag_code_name((DiagCode)code));
  }
}

Test(check_golden, every_example_has_no_mistake) {
  static const char *const NAMES[] = {"counter", "scoreboard", "todo", "bank", "booking", "chat", "survey", "tpcc"};
  for (size_t i = 0; i < countof(NAMES); i++) {
    char path[1000];
    snprintf(path, sizeof path, SOURCE_ROOT "/examples/%s.aup", NAMES[i]);
    Str text = read_file(path);
    Checked c;
    checked_open(&c, NAMES[i], text);
    Buf out;
    buf_init(&out, 0);
    render_diags(&c.diags, &c.sources, RENDER_SHORT, false, &out);
    cr_expect_not_null(c.program, "%s:\n" STR_FMT, NAMES[i], STR_ARG(buf_str(&out)));
    cr_expect_eq(c.diags.count, 0, "%s:\n" STR_FMT, NAMES[i], STR_ARG(buf_str(&out)));
    buf_free(&out);
    checked_close(&c);
    mem_free((void *)(uintptr_t)text.ptr);
  }
}
