// The code that the examples become, as text. Run with AUP_GOLDEN_UPDATE=1 to write the expectations anew, then read the
// diff: it shows what a change of the planner or of the lowering does to whole programs.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/compile.h"
#include "runtime/base/mem.h"
#include "runtime/module/format.h"

static bool read_file(const char *path, Buf *out) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  char bytes[4096];
  for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;) buf_add(out, bytes, got);
  fclose(file);
  return true;
}

static Err read_source(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text) {
  (void)context;
  char full[1000];
  snprintf(full, sizeof full, SOURCE_ROOT "/" STR_FMT, STR_ARG(path));
  Buf buf;
  buf_init(&buf, 0);
  if (!read_file(full, &buf)) return err_say(ERR_NOT_FOUND, out_text, "%s is missing", full);
  *out_bytes = arena_copy(arena, buf_str(&buf));
  buf_free(&buf);
  return ERR_NONE;
}

// Plans and code only: the tables are shown elsewhere, and the head has the compiler's version.
static Str code_of(Str text) {
  const char *start = memmem(text.ptr, text.len, "\n\n", 2);
  return start ? str_part(text, (size_t)(start - text.ptr) + 2, text.len) : text;
}

static void check_example(const char *name) {
  char path[1000], expected_path[1000];
  snprintf(path, sizeof path, "%s.aup", name);
  const char *base = strrchr(name, '/') + 1;
  snprintf(expected_path, sizeof expected_path, SOURCE_ROOT "/tests/golden/emit/%s.code", base);
  Compile compile;
  compile_run(&compile, str_from(path), &(CompileOptions){.read_file = read_source});
  cr_assert(compile.module, "%s does not compile: " STR_FMT, name, STR_ARG(compile.diags.count ? compile.diags.items[0]->message : STR("no memory")));
  Buf out, expected;
  buf_init(&out, 0);
  buf_init(&expected, 0);
  module_disassemble(compile.module, &out);
  Str code = code_of(buf_str(&out));
  if (getenv("AUP_GOLDEN_UPDATE")) {
    FILE *file = fopen(expected_path, "wb");
    cr_assert_not_null(file);
    fwrite(code.ptr, 1, code.len, file);
    fclose(file);
  }
  cr_expect(read_file(expected_path, &expected), "%s has no expectation", name);
  cr_expect(str_equal(buf_str(&expected), code), "%s: expected\n" STR_FMT "\n--- but got\n" STR_FMT, name, STR_ARG(buf_str(&expected)), STR_ARG(code));
  buf_free(&out);
  buf_free(&expected);
  compile_free(&compile);
}

Test(golden, examples_become_the_code_that_is_expected) {
  static const char *const NAMES[] = {"examples/counter", "examples/scoreboard", "examples/todo", "tests/golden/emit/queries"};
  for (size_t i = 0; i < countof(NAMES); i++) check_example(NAMES[i]);
}
