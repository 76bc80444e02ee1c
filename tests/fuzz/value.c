// Values from hostile bytes, in all three forms. The first byte chooses a table of types, the second a type of it; the
// rest is a binary encoding, then a JSON text, then a plain text. What is taken must write and read back as it was.
#include <stdlib.h>

#include "runtime/base/json.h"
#include "runtime/value/codec.h"
#include "runtime/value/json_value.h"
#include "tests/unit/value/random_values.h"

static void check_back(const TypeTable *types, TypeId type, Value value, Arena *arena) {
  Buf bytes, json;
  buf_init(&bytes, 0);
  buf_init(&json, 0);
  value_encode(types, type, value, &bytes);
  value_write_json(types, type, value, &json);
  Str rest = buf_str(&bytes);
  Value back;
  if (value_decode(types, type, &rest, arena, false, &back) != ERR_NONE || rest.len || !value_equal(types, type, value, back)) abort();
  JsonReader reader;
  json_open(&reader, buf_str(&json));
  while (json_next(&reader) != JSON_END)
    if (reader.event == JSON_ERROR) abort();
  buf_free(&bytes);
  buf_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  Arena arena;
  arena_init(&arena, 0);
  Random random = {data[0]};
  const TypeTable *types = random_types(&random, &arena);
  TypeId type = data[1] % types->count;
  Str input = {(const char *)data + 2, size - 2}, bytes = input;
  Value value;
  if (value_decode(types, type, &bytes, &arena, size % 2, &value) == ERR_NONE) check_back(types, type, value, &arena);
  ValueProblems problems = {.arena = &arena};
  JsonReader reader;
  json_open(&reader, input);
  Err err = value_read_json(types, type, &reader, STR("p"), &problems, &value);
  if (err == ERR_NONE) check_back(types, type, value, &arena);
  else if (problems.count == 0 && reader.event != JSON_ERROR) abort();
  problems.count = 0;
  if (value_read_text(types, type, input, STR("p"), &problems, &value) == ERR_NONE) check_back(types, type, value, &arena);
  arena_free(&arena);
  return 0;
}
