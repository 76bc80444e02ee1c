// The host's own log: one line an event, for a person on a terminal, as a JSON object (RFC 8259) for a machine.
//
//   12:30:05 warn  cannot accept: no descriptors left  app=shop held=64
//   {"time":"2026-01-31T12:30:05.123456Z","level":"warn","message":"cannot accept: …","app":"shop","held":64}
//
// Control bytes and broken UTF-8 in a value are shown as escapes, never sent to a terminal.
//
// Owns:   nothing; a Log lives with its maker.
// Thread: any, when the sink is (the standard one makes one write call a line). `level` is set before the second thread.
// Errors: none; a line that cannot be written is lost.
// Limits: LOG_LINE_BYTES_MAX; a longer line is cut at a character and ends in "…".
#pragma once
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum { LOG_LINE_BYTES_MAX = 4096 };

typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF } LogLevel;

typedef struct Log {
  const Clock *clock;
  LogLevel level;                       // lines below it are not made
  bool json;
  void (*sink)(void *ctx, Str line);    // gets a whole line with its line end
  void *ctx;
} Log;

// Lines to standard error, as text when it is a terminal and as JSON otherwise.
void log_init(Log *log, const Clock *clock, LogLevel level);

// A named value beside the message.
typedef struct LogField { const char *name; enum { LOG_FIELD_TEXT, LOG_FIELD_INT } kind; Str text; int64_t number; } LogField;
#define LOG_TEXT(field_name, str) ((LogField){.name = (field_name), .kind = LOG_FIELD_TEXT, .text = (str)})
#define LOG_INT(field_name, value) ((LogField){.name = (field_name), .kind = LOG_FIELD_INT, .number = (value)})

// `log` may be NULL: nothing is written then.
void log_event(const Log *log, LogLevel level, Str message, const LogField *fields, size_t count);
void log_say(const Log *log, LogLevel level, const char *format, ...) PRINTF(3, 4);
#define LOG_EVENT(log, level, message, ...) \
  log_event((log), (level), STR(message), (const LogField[]){__VA_ARGS__}, countof(((const LogField[]){__VA_ARGS__})))

const char *log_level_name(LogLevel level);
bool log_level_parse(Str name, LogLevel *out_level);  // "debug", "info", "warn", "error", "off"
