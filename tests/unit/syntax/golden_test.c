// Programs with what is to be said of them. Run with AUP_GOLDEN_UPDATE=1 to write the expectations anew, then read the diff.
#include <dirent.h>

#include "tests/unit/syntax/support.h"

typedef void (*GoldenMake)(Front *f, Buf *out);

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void check_file(const char *folder, const char *name, const char *ending, GoldenMake make) {
  char path[1000], expected_path[1000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  snprintf(expected_path, sizeof expected_path, "%s/%.*s%s", folder, (int)strlen(name) - 4, name, ending);
  Str text = read_file(path);
  Front f;
  front_parse(&f, name, text);
  Buf out;
  buf_init(&out, 0);
  make(&f, &out);
  if (getenv("AUP_GOLDEN_UPDATE")) {
    FILE *file = fopen(expected_path, "wb");
    cr_assert_not_null(file);
    if (out.len) fwrite(out.ptr, 1, out.len, file);
    fclose(file);
  }
  Str expected = read_file(expected_path);
  cr_expect_not_null(expected.ptr, "%s has no expectation", name);
  cr_expect(str_equal(expected, buf_str(&out)), "%s: expected\n" STR_FMT "\n--- but got\n" STR_FMT, name, STR_ARG(expected), STR_ARG(buf_str(&out)));
  buf_free(&out);
  mem_free((void *)(uintptr_t)expected.ptr);
  mem_free((void *)(uintptr_t)text.ptr);
  front_close(&f);
}

static int check_folder(const char *folder, const char *ending, GoldenMake make) {
  DIR *dir = opendir(folder);
  cr_assert_not_null(dir, "%s is missing", folder);
  char *names[500];
  int count = 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    size_t len = strlen(entry->d_name);
    if (len > 4 && strcmp(entry->d_name + len - 4, ".aup") == 0) names[count++] = strdup(entry->d_name);
    cr_assert_lt(count, 500);
  }
  closedir(dir);
  qsort(names, (size_t)count, sizeof *names, by_name);
  for (int i = 0; i < count; i++) {
    check_file(folder, names[i], ending, make);
    free(names[i]);
  }
  return count;
}

static bool seen[DIAG_CODE_COUNT];

static void make_messages(Front *f, Buf *out) {
  for (uint32_t i = 0; i < f->diags.count; i++) seen[f->diags.items[i]->code] = true;
  front_render(f, RENDER_SHORT, out);
  buf_add_char(out, '\n');
  front_render(f, RENDER_HUMAN, out);
}

static void make_tree(Front *f, Buf *out) {
  cr_expect(!diag_has_errors(&f->diags));
  front_render(f, RENDER_SHORT, out);
  ast_dump(f->ast, out);
}

static void make_verdict(Front *f, Buf *out) {
  front_render(f, RENDER_SHORT, out);
  cr_expect_eq(out->len, 0, STR_FMT, STR_ARG(buf_str(out)));
}

Test(golden, every_mistake_gets_its_message) {
  cr_assert_geq(check_folder(SOURCE_ROOT "/tests/golden/errors", ".expected", make_messages), 40);
  // Every code of the front end has a program here, but for what others report or what is too large to keep.
  for (int code = DIAG_E001; code < DIAG_E101; code++) {
    bool is_elsewhere = code == DIAG_E022 || code == DIAG_E024 || code == DIAG_E026;  // E026 is of later phases
    cr_expect(seen[code] || is_elsewhere, "%s has no program in tests/golden/errors", diag_code_name((DiagCode)code));
  }
}
Test(golden, every_construct_gives_its_tree) { cr_assert_geq(check_folder(SOURCE_ROOT "/tests/golden/syntax", ".tree", make_tree), 3); }

Test(golden, every_example_parses) {
  DIR *dir = opendir(SOURCE_ROOT "/examples");
  int count = 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    size_t len = strlen(entry->d_name);
    if (len < 5 || strcmp(entry->d_name + len - 4, ".aup") != 0) continue;
    char path[1000];
    snprintf(path, sizeof path, SOURCE_ROOT "/examples/%s", entry->d_name);
    Str text = read_file(path);
    Front f;
    front_parse(&f, entry->d_name, text);
    Buf out;
    buf_init(&out, 0);
    make_verdict(&f, &out);
    buf_free(&out);
    mem_free((void *)(uintptr_t)text.ptr);
    front_close(&f);
    count++;
  }
  closedir(dir);
  cr_assert_geq(count, 8);
}
