// The JSON reader on any bytes: it ends, it counts every byte it was given, and what it decodes is UTF-8 again.
#include <stdlib.h>

#include "runtime/base/json.h"
#include "runtime/base/utf8.h"

static void must(bool holds) {
  if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena arena;
  arena_init(&arena, 1 << 20);
  JsonReader reader;
  json_open(&reader, (Str){(const char *)data, size});
  size_t events = 0;
  for (JsonEvent event = json_next(&reader); event != JSON_END && event != JSON_ERROR; event = json_next(&reader)) {
    must(++events <= 2 * size + 2);
    must(reader.at >= reader.start && reader.at <= reader.end);
    Str text;
    if ((event == JSON_KEY || event == JSON_TEXT) && json_text(&reader, &arena, &text) == ERR_NONE) {
      must(utf8_valid(text));
      must(json_text_is(&reader, text));
    }
    int64_t whole;
    double real;
    if (event == JSON_NUMBER && json_number_int64(reader.text, &whole) == ERR_NONE) must(json_number_double(reader.text, &real) == ERR_NONE);
  }
  must(reader.event == JSON_END || json_next(&reader) == JSON_ERROR);

  JsonReader again;
  Str raw;
  json_open(&again, (Str){(const char *)data, size});
  bool whole = json_skip(&again, &raw) == ERR_NONE && json_next(&again) == JSON_END;
  must(whole == (reader.event == JSON_END));
  arena_free(&arena);
  return 0;
}
