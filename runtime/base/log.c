// A line is made in a buffer on the stack and handed to the sink in one piece, so lines of two threads never mix and
// logging works when memory has run out.
#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/utf8.h"

static const char *const LEVELS[] = {"debug", "info", "warn", "error", "off"};
static const char CUT[] = "…";
enum { MICROSECONDS = 1000000, TAIL_BYTES = 16 };  // TAIL_BYTES: room for the cut mark, a quote, a brace, the line end

typedef struct Line { size_t len; bool cut; char bytes[LOG_LINE_BYTES_MAX]; } Line;

// Adds whole pieces only (a character, an escape, a fixed word), so a cut never splits one.
static void add(Line *line, const char *bytes, size_t len) {
  if (line->cut) return;
  if (line->len + len > LOG_LINE_BYTES_MAX - TAIL_BYTES) {
    line->cut = true;
    bytes = CUT;
    len = sizeof CUT - 1;
  }
  memcpy(line->bytes + line->len, bytes, len);
  line->len += len;
}

static void add_word(Line *line, const char *word) { add(line, word, strlen(word)); }

static void add_tail(Line *line, const char *word) {
  size_t len = strlen(word);
  if (line->len + len > LOG_LINE_BYTES_MAX) return;
  memcpy(line->bytes + line->len, word, len);
  line->len += len;
}

static void add_escaped_byte(Line *line, uint8_t byte, bool json) {
  char escape[8];
  const char *form = json ? "\\u%04x" : "\\x%02x";
  add(line, escape, (size_t)snprintf(escape, sizeof escape, form, byte));
}

// C0, DEL and C1 controls can steer a terminal.
static bool is_control(uint32_t point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }

static void add_value(Line *line, Str text, bool json) {
  for (size_t at = 0; at < text.len && !line->cut;) {
    uint32_t point = 0;
    size_t len = utf8_decode((Str){text.ptr + at, text.len - at}, &point);
    if (len == 0 || is_control(point)) {
      size_t bytes = len ? len : 1;
      if (json && len) add_escaped_byte(line, (uint8_t)point, true);
      else if (json) add_word(line, "\\ufffd");
      else for (size_t i = 0; i < bytes; i++) add_escaped_byte(line, (uint8_t)text.ptr[at + i], false);
      at += bytes;
      continue;
    }
    if (json && (point == '"' || point == '\\')) add(line, (char[]){'\\', (char)point}, 2);
    else add(line, text.ptr + at, len);
    at += len;
  }
}

static void add_text_head(Line *line, int64_t wall_us, LogLevel level) {
  time_t seconds = (time_t)(wall_us / MICROSECONDS);
  struct tm when;
  char head[64];
  if (!localtime_r(&seconds, &when)) when = (struct tm){0};
  int len = snprintf(head, sizeof head, "%02d:%02d:%02d %-5s ", when.tm_hour, when.tm_min, when.tm_sec, LEVELS[level]);
  add(line, head, (size_t)len);
}

static void add_json_head(Line *line, int64_t wall_us, LogLevel level) {
  time_t seconds = (time_t)(wall_us / MICROSECONDS);
  struct tm when;
  char head[128];
  if (!gmtime_r(&seconds, &when)) when = (struct tm){0};
  int len = snprintf(head, sizeof head, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%06dZ\",\"level\":\"%s\",\"message\":\"",
                     when.tm_year + 1900, when.tm_mon + 1, when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec,
                     (int)(wall_us % MICROSECONDS), LEVELS[level]);
  add(line, head, (size_t)len);
}

static void add_number(Line *line, int64_t number) {
  char digits[24];
  add(line, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number));
}

static void add_text_field(Line *line, const LogField *field, bool first) {
  add_word(line, first ? "  " : " ");
  add_word(line, field->name);
  add_word(line, "=");
  if (field->kind == LOG_FIELD_INT) add_number(line, field->number);
  else add_value(line, field->text, false);
}

// A field goes in whole or not at all, so that a cut line is still a JSON object.
static void add_json_field(Line *line, const LogField *field) {
  size_t before = line->len;
  if (line->cut) return;
  add_word(line, ",\"");
  add_word(line, field->name);
  add_word(line, "\":");
  if (field->kind == LOG_FIELD_INT) add_number(line, field->number);
  else {
    add_word(line, "\"");
    add_value(line, field->text, true);
    add_word(line, "\"");
  }
  if (line->cut) line->len = before;
}

void log_event(const Log *log, LogLevel level, Str message, const LogField *fields, size_t count) {
  if (!log || level < log->level || level >= LOG_OFF) return;
  Line line;
  line.len = 0;
  line.cut = false;
  int64_t wall_us = clock_wall_us(log->clock);
  if (wall_us < 0) wall_us = 0;
  if (log->json) add_json_head(&line, wall_us, level);
  else add_text_head(&line, wall_us, level);
  add_value(&line, message, log->json);
  if (log->json) add_tail(&line, "\"");
  for (size_t i = 0; i < count; i++) {
    if (log->json) add_json_field(&line, &fields[i]);
    else add_text_field(&line, &fields[i], i == 0);
  }
  add_tail(&line, log->json ? "}\n" : "\n");
  log->sink(log->ctx, (Str){line.bytes, line.len});
}

void log_say(const Log *log, LogLevel level, const char *format, ...) {
  if (!log || level < log->level) return;
  char message[LOG_LINE_BYTES_MAX];
  va_list args;
  va_start(args, format);
  int len = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (len < 0) return;
  size_t kept = (size_t)len < sizeof message ? (size_t)len : sizeof message - 1;
  log_event(log, level, (Str){message, utf8_cut((Str){message, sizeof message}, kept)}, NULL, 0);
}

static void sink_standard_error(void *ctx, Str line) {
  (void)ctx;
  ssize_t written = write(STDERR_FILENO, line.ptr, line.len);
  (void)written;  // there is nowhere to report a lost log line
}

void log_init(Log *log, const Clock *clock, LogLevel level) {
  *log = (Log){.clock = clock, .level = level, .json = !isatty(STDERR_FILENO), .sink = sink_standard_error};
}

const char *log_level_name(LogLevel level) { return (unsigned)level <= LOG_OFF ? LEVELS[level] : "off"; }

bool log_level_parse(Str name, LogLevel *out_level) {
  for (unsigned i = 0; i < countof(LEVELS); i++) {
    if (!str_is(name, LEVELS[i])) continue;
    *out_level = (LogLevel)i;
    return true;
  }
  return false;
}
