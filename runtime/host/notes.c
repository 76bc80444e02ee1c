// What is noted about each request beside its answer: numbers, the line of the access log, its name (X-Request-Id) and trace, and
// whether a page of another site may read the answer.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/rng.h"
#include "runtime/host/host_inner.h"
#include "runtime/net/http_write.h"

// A name that a request brings along is kept when it can do no harm in a header or a log.
static bool is_request_id(Str id) {
  enum { REQUEST_ID_BYTES_MAX = 128 };
  if (!id.len || id.len > REQUEST_ID_BYTES_MAX) return false;
  for (size_t i = 0; i < id.len; i++) {
    if (!isalnum((unsigned char)id.ptr[i]) && !strchr("-_.", id.ptr[i])) return false;
  }
  return true;
}

// W3C Trace Context, version 00: 00-32 digits-16 digits-2 digits, hexadecimal in small letters.
static bool is_trace(Str text) {
  static const char SHAPE[] = "00-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
  if (text.len != sizeof SHAPE - 1) return false;
  for (size_t i = 0; i < text.len; i++) {
    bool fits = SHAPE[i] == 'h' ? text.ptr[i] && strchr("0123456789abcdef", text.ptr[i]) : text.ptr[i] == SHAPE[i];
    if (!fits) return false;
  }
  return true;
}

// The line of the access log has the path without the query, which may hold what is nobody's matter; then, each behind a zero byte,
// the request's name and the trace that it belongs to.
static void write_note(const HttpRequest *request, Str id, Buf *note) {
  Str trace = {0};
  buf_add_str(note, request->method_text);
  buf_add_char(note, ' ');
  buf_add_str(note, request->path);
  buf_add_char(note, 0);
  buf_add_str(note, id);
  buf_add_char(note, 0);
  if (http_field(request, STR("traceparent"), &trace) == 1 && is_trace(trace)) buf_add_str(note, trace);
}

// What every answer to this request carries, and what the log will say of it.
static void set_extra(Worker *worker, Conn *conn, const HttpRequest *request) {
  const HostOptions *options = &worker->host->options;
  Str origin, id;
  char made[17];
  bool is_welcome = serve_cors_allows(str_from(options->origins), request, &origin);
  bool has_id = http_field(request, STR("x-request-id"), &id) == 1 && is_request_id(id);
  if (!is_welcome && !has_id && !options->access_log) return;
  Buf note, headers;
  buf_init(&note, 0);
  buf_init(&headers, 0);
  if (is_welcome) serve_add_cors(origin, &headers);
  if (!has_id) id = (Str){made, (size_t)snprintf(made, sizeof made, "%016" PRIx64, rng_secret_u64())};
  if (has_id || options->access_log) http_add_field(&headers, STR("X-Request-Id"), id);
  if (options->access_log) write_note(request, id, &note);
  if (!note.failed && !headers.failed) conn_set_extra(conn, buf_str(&note), buf_str(&headers));
  buf_free(&note);
  buf_free(&headers);
}

static Str next_of_note(Str *note) {
  const char *end = note->len ? memchr(note->ptr, 0, note->len) : NULL;
  Str part = str_part(*note, 0, end ? (size_t)(end - note->ptr) : note->len);
  *note = end ? str_part(*note, part.len + 1, note->len) : (Str){0};
  return part;
}

bool notes__begin(Worker *worker, Conn *conn, const HttpRequest *request) {
  Str origin;
  set_extra(worker, conn, request);
  bool is_asked = serve_is_preflight(request) && serve_cors_allows(str_from(worker->host->options.origins), request, &origin);
  if (is_asked) serve_answer_preflight(conn);
  return is_asked;
}

void notes__answered(void *context, Conn *conn, const ConnAnswered *answered) {
  Worker *worker = context;
  metrics_count(answered->label ? answered->label : &worker->metrics, answered);
  if (!worker->host->options.access_log) return;
  char peer[ADDRESS_TEXT_BYTES];
  conn_peer_text(conn, peer);
  Str note = answered->note, request = next_of_note(&note), id = next_of_note(&note);
  LOG_EVENT(&worker->host->log, LOG_INFO, "answered", LOG_TEXT("request", request.len ? request : STR("(unread)")), LOG_INT("status", answered->status),
            LOG_INT("bytes", (int64_t)answered->body_bytes), LOG_INT("us", answered->took_us), LOG_TEXT("peer", str_from(peer)), LOG_TEXT("id", id), LOG_TEXT("trace", note));
}
