// The whole compiler on any bytes, and what it makes: compiling ends, a program is refused with a message or its module is
// sound, and its own tests run to their end within their budget.
#include <stdlib.h>

#include "compiler/compile.h"
#include "runtime/app/app_test.h"
#include "runtime/module/format.h"

static void must(bool holds) {
  if (!holds) abort();
}

typedef struct Bytes { const uint8_t *data; size_t size; } Bytes;

static Err give_source(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text) {
  const Bytes *bytes = context;
  if (!str_is(path, "fuzz.aup")) return err_say(ERR_NOT_FOUND, out_text, "there is no such file");
  *out_bytes = arena_copy(arena, (Str){(const char *)bytes->data, bytes->size});
  return out_bytes->ptr ? ERR_NONE : ERR_MEMORY;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes bytes = {data, size};
  CompileOptions options = {.read_file = give_source, .context = &bytes, .with_tests = true};
  Compile compile = {0};
  compile_run(&compile, STR("fuzz.aup"), &options);
  must(diag_has_errors(&compile.diags) == (compile.module_bytes.ptr == NULL));
  for (uint16_t i = 0; compile.module && i < compile.module->test_count && i < 4; i++) {
    Arena arena;
    arena_init(&arena, 0);
    AppTestResult result;
    Err err = app_test_run(compile.module, &(AppSettings){0}, i, &arena, &result);
    must(err == ERR_NONE || err == ERR_REFUSED);  // a setting has no value
    arena_free(&arena);
  }
  compile_free(&compile);
  return 0;
}
