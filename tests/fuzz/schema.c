// Schemas from any bytes: refused with a line, or sound and then encoded to bytes that say the same.
#include <stdlib.h>

#include "runtime/value/schema.h"

static void must(bool holds) {
  if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena arena;
  arena_init(&arena, 64 << 20);
  Schema schema, again;
  ErrText text = {{0}};
  if (schema_decode((Str){(const char *)data, size}, &arena, &schema, &text) == ERR_NONE) {
    Buf first, second;
    buf_init(&first, 0);
    buf_init(&second, 0);
    schema_encode(&schema, &first);
    must(!first.failed && schema_decode(buf_str(&first), &arena, &again, &text) == ERR_NONE);
    schema_encode(&again, &second);
    must(str_equal(buf_str(&first), buf_str(&second)));
    buf_free(&first);
    buf_free(&second);
  } else {
    must(text.text[0] != 0);
  }
  arena_free(&arena);
  return 0;
}
