// Apps of several files.
#include "compiler/compile.h"
#include "tests/unit/syntax/support.h"

typedef struct File { const char *path, *text; } File;
typedef struct Files { const File *items; size_t count; } Files;

static Err give_file(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text) {
  (void)arena;
  const Files *files = context;
  for (size_t i = 0; i < files->count; i++) {
    if (!str_is(path, files->items[i].path)) continue;
    *out_bytes = str_from(files->items[i].text);
    return ERR_NONE;
  }
  return err_say(ERR_NOT_FOUND, out_text, "there is no file " STR_FMT, STR_ARG(path));
}

// The code of the first error, or DIAG_CODE_COUNT.
static DiagCode compile_files(const File *items, size_t count) {
  Files files = {items, count};
  Compile c;
  CompileOptions options = {.read_file = give_file, .context = &files};
  compile_run(&c, str_from(items[0].path), &options);
  DiagCode code = c.diags.error_count ? c.diags.items[0]->code : DIAG_CODE_COUNT;
  cr_expect_eq(c.module != NULL, code == DIAG_CODE_COUNT, "%s", c.diags.count ? c.diags.items[0]->message.ptr : "");
  if (c.module) cr_expect_eq(c.module->test_count, 0);
  compile_free(&c);
  return code;
}

Test(use, joins_the_files_of_an_app) {
  const File one[] = {{"dir/a.aup", "use \"b.aup\"\nview v = f(1)\ntest \"t\" { expect v() == 2 }"}, {"dir/b.aup", "fn f(x: int) -> int = x + 1"}};
  cr_expect_eq(compile_files(one, countof(one)), DIAG_CODE_COUNT);
  const File diamond[] = {{"a.aup", "use \"b.aup\"\nuse \"c.aup\"\nview v = f() + g()"}, {"b.aup", "use \"d.aup\"\nfn f() -> int = h()"},
                          {"c.aup", "use \"d.aup\"\nfn g() -> int = h()"}, {"d.aup", "fn h() -> int = 1"}};
  cr_expect_eq(compile_files(diamond, countof(diamond)), DIAG_CODE_COUNT);
}

Test(use, refuses_what_it_cannot_join) {
  const File missing[] = {{"a.aup", "use \"b.aup\"\nview v = 1"}};
  cr_expect_eq(compile_files(missing, countof(missing)), DIAG_E024);
  const File itself[] = {{"a.aup", "use \"a.aup\"\nview v = 1"}};
  cr_expect_eq(compile_files(itself, countof(itself)), DIAG_E024);
  const File circle[] = {{"a.aup", "use \"b.aup\"\nuse \"c.aup\"\nview v = 1"}, {"b.aup", "use \"c.aup\"\nview w = 1"}, {"c.aup", "use \"b.aup\"\nview x = 1"}};
  cr_expect_eq(compile_files(circle, countof(circle)), DIAG_E024);
  const File twice[] = {{"a.aup", "use \"b.aup\"\nview v = 1"}, {"b.aup", "view v = 2"}};
  cr_expect_eq(compile_files(twice, countof(twice)), DIAG_E104);
  const File broken[] = {{"a.aup", "use \"b.aup\"\nview v = 1"}, {"b.aup", "view = 2"}};
  cr_expect_neq(compile_files(broken, countof(broken)), DIAG_CODE_COUNT);
}
