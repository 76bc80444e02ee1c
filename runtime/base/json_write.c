// Writing goes straight into a Buf; the only state is whether a comma is due.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/json.h"

static bool is_plain(uint8_t c) { return c >= 0x20 && c != '"' && c != '\\'; }

static void add_escape(Buf *buf, uint8_t c) {
  static const char SHORT[] = "\b\t\n\f\r\"\\", LETTERS[] = "btnfr\"\\";
  const char *found = c ? strchr(SHORT, c) : NULL;
  char escape[8] = {'\\', found ? LETTERS[found - SHORT] : 'u'};
  int len = found ? 2 : snprintf(escape, sizeof escape, "\\u%04x", c);
  buf_add(buf, escape, (size_t)len);
}

void json_add_text(Buf *buf, Str text) {
  buf_add_char(buf, '"');
  size_t from = 0;
  for (size_t at = 0; at < text.len; at++) {
    if (is_plain((uint8_t)text.ptr[at])) continue;
    buf_add(buf, text.ptr + from, at - from);
    add_escape(buf, (uint8_t)text.ptr[at]);
    from = at + 1;
  }
  if (text.len > from) buf_add(buf, text.ptr + from, text.len - from);
  buf_add_char(buf, '"');
}

// 15 digits always survive the way to a double and back, 17 always bring one back; numbers near zero keep fewer, so
// for them the search begins at one.
void json_add_double(Buf *buf, double value) {
  char text[40];
  if (!isfinite(value)) {
    buf_add_text(buf, "null");
    return;
  }
  int precision = fabs(value) < 0x1p-1022 ? 1 : 15, len;
  do {
    len = snprintf(text, sizeof text, "%.*g", precision, value);
  } while (strtod(text, NULL) != value && ++precision <= 17);
  for (int i = 0; i < len; i++) if (text[i] == ',') text[i] = '.';  // some locales
  buf_add(buf, text, (size_t)len);
}

static void begin_value(JsonWriter *writer) {
  if (writer->comma) buf_add_char(writer->buf, ',');
  writer->comma = true;
}

static void begin_level(JsonWriter *writer, char c) {
  begin_value(writer);
  buf_add_char(writer->buf, c);
  writer->comma = false;
}

static void end_level(JsonWriter *writer, char c) {
  buf_add_char(writer->buf, c);
  writer->comma = true;
}

void json_write_array(JsonWriter *writer) { begin_level(writer, '['); }
void json_write_array_end(JsonWriter *writer) { end_level(writer, ']'); }
void json_write_object(JsonWriter *writer) { begin_level(writer, '{'); }
void json_write_object_end(JsonWriter *writer) { end_level(writer, '}'); }

void json_write_key(JsonWriter *writer, Str name) {
  begin_value(writer);
  json_add_text(writer->buf, name);
  buf_add_char(writer->buf, ':');
  writer->comma = false;
}

void json_write_null(JsonWriter *writer) { json_write_raw(writer, STR("null")); }
void json_write_bool(JsonWriter *writer, bool value) { json_write_raw(writer, value ? STR("true") : STR("false")); }

void json_write_int(JsonWriter *writer, int64_t value) {
  begin_value(writer);
  buf_add_int(writer->buf, value);
}

void json_write_double(JsonWriter *writer, double value) {
  begin_value(writer);
  json_add_double(writer->buf, value);
}

void json_write_text(JsonWriter *writer, Str text) {
  begin_value(writer);
  json_add_text(writer->buf, text);
}

void json_write_raw(JsonWriter *writer, Str json) {
  begin_value(writer);
  buf_add_str(writer->buf, json);
}
