// Modules from any bytes, with the hash set right: refused with a reason, or sound; then disassembled, written, read again
// and every function run on zeros with little fuel.
#include <stdlib.h>

#include "runtime/module/layout.h"
#include "tests/unit/vm/zero_host.h"

enum { FUEL = 5000, SLICE = 300 };

static void must(bool holds) {
  if (!holds) abort();
}

static void use(const Module *module, Arena *arena) {
  Buf words, bytes;
  ErrText text = {{0}};
  Module *again;
  buf_init(&words, 0);
  buf_init(&bytes, 0);
  module_disassemble(module, &words);
  must(!words.failed);
  must(module_write(module, &bytes, &text) == ERR_NONE);
  must(module_read(buf_str(&bytes), arena, &again, &text) == ERR_NONE);
  must(again->function_count == module->function_count);
  zero_run_all(module, FUEL, SLICE);
  buf_free(&words);
  buf_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = malloc(size + 1);
  must(bytes != NULL);
  memcpy(bytes, data, size);
  if (size >= LAYOUT_HEADER_BYTES) {
    uint32_t len = (uint32_t)size;
    memcpy(bytes, LAYOUT_MAGIC, sizeof LAYOUT_MAGIC - 1);
    memcpy(bytes + LAYOUT_SIZE_AT, &len, sizeof len);
    Hash hash = layout_hash((Str){bytes, size});
    memcpy(bytes + LAYOUT_HASH_AT, hash.bytes, sizeof hash.bytes);
  }
  Arena arena;
  Module *module;
  ErrText text = {{0}};
  arena_init(&arena, 0);
  Err err = module_read((Str){bytes, size}, &arena, &module, &text);
  must(err == ERR_NONE || text.text[0]);
  must(arena.bytes_used <= 64 * size + 65536);
  if (err == ERR_NONE) use(module, &arena);
  arena_free(&arena);
  free(bytes);
  return 0;
}
