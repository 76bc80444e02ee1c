// From a path to what answers it. The rules that keep other people's pages out stand here: a browser on this machine may
// be shown a page from anywhere, and such a page must not be able to post to the app (RFC 6454's Origin, and the content type
// that a plain form cannot send).
#include <stdio.h>

#include "runtime/base/mem.h"
#include "runtime/serve/describe.h"
#include "runtime/serve/serve_internal.h"

AppCaller serve__caller(void) { return (AppCaller){.may_read = true, .may_write = true}; }

static RefBuf *described(const Module *module, void (*describe)(const Module *, Buf *)) {
  Buf bytes;
  buf_init(&bytes, 0);
  describe(module, &bytes);
  RefBuf *made = bytes.failed ? NULL : refbuf_copy(buf_str(&bytes));
  buf_free(&bytes);
  return made;
}

static Err describe_module(Serve *serve) {
  RefBuf *description = described(app_module(serve->app), describe_app), *page = described(app_module(serve->app), describe_page);
  if (!description || !page) {
    refbuf_drop(description);
    refbuf_drop(page);
    return ERR_MEMORY;
  }
  refbuf_drop(serve->description);
  refbuf_drop(serve->page);
  serve->description = description;
  serve->page = page;
  return ERR_NONE;
}

Err serve_new(Loop *loop, App *app, const Log *log, ServeMetrics *metrics, Serve **out_serve) {
  Serve *serve = mem_alloc_zero(1, sizeof *serve);
  if (!serve) return ERR_MEMORY;
  *serve = (Serve){.loop = loop, .app = app, .log = log, .metrics = metrics};
  serve__push_init(serve);
  Err err = describe_module(serve);
  if (err != ERR_NONE) serve_free(serve);
  else *out_serve = serve;
  return err;
}

void serve_free(Serve *serve) {
  serve__push_free(serve);
  serve__free_readings(serve);
  for (Pending *pending; (pending = serve->idle);) {
    serve->idle = pending->next;
    arena_free(&pending->arena);
    mem_free(pending);
  }
  refbuf_drop(serve->description);
  refbuf_drop(serve->page);
  mem_free(serve);
}

void serve_swapped(Serve *serve) {
  serve->generation++;
  if (describe_module(serve) != ERR_NONE) log_say(serve->log, LOG_WARN, "no memory to describe the new module");
  serve_published(serve);
}

uint32_t serve_stream_count(const Serve *serve) { return serve->stream_count; }
bool serve_wants_turn(const Serve *serve) { return serve->wants_turn; }
void serve_turned(Serve *serve) { serve->wants_turn = false; }

void serve_closed(Conn *conn) {
  Held *held = conn_user(conn);
  if (!held) return;
  switch (held->kind) {
    case HELD_INPUT: serve__input_closed((Pending *)held); return;
    case HELD_VIEW: serve__view_closed((Reading *)held); return;
    case HELD_STREAM: serve__stream_closed(held); return;
  }
}

// ---- who may knock ----------------------------------------------------------------------------------

// The host part of "host:port".
static Str without_port(Str host) {
  if (host.len && host.ptr[0] == '[') {
    const char *end = memchr(host.ptr, ']', host.len);
    return end ? (Str){host.ptr, (size_t)(end - host.ptr) + 1} : host;
  }
  const char *colon = memchr(host.ptr, ':', host.len);
  return colon ? (Str){host.ptr, (size_t)(colon - host.ptr)} : host;
}

// A page of another site carries its own Origin; the app's own page carries the Host's.
static bool is_foreign(const HttpRequest *request, Str origins) {
  Str origin;
  if (!http_field(request, STR("origin"), &origin) || serve_cors_allows(origins, request, &origin)) return false;
  for (size_t i = 0; i + 2 < origin.len; i++) {
    if (memcmp(origin.ptr + i, "://", 3) == 0) return !http_name_equal(str_part(origin, i + 3, origin.len), request->host);
  }
  return true;  // "null": a page from nowhere
}

// A name that somebody else's DNS leads here must not pass for this machine.
static bool is_known_host(const HttpRequest *request) {
  Str host = without_port(request->host);
  static const char *const KNOWN[] = {"", "localhost", "127.0.0.1", "[::1]"};
  for (size_t i = 0; i < countof(KNOWN); i++) {
    if (http_name_equal(host, str_from(KNOWN[i]))) return true;
  }
  // Any other address in numbers was meant by who typed it: rebinding needs a name.
  bool is_v6 = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
  const char *allowed = is_v6 ? "[]:.0123456789abcdefABCDEF" : ".0123456789";
  for (size_t i = 0; i < host.len; i++) {
    if (!strchr(allowed, host.ptr[i])) return false;
  }
  return true;
}

bool serve_admits(Conn *conn, const HttpRequest *request, bool changes, Str origins) {
  bool known = is_known_host(request);
  if (!known) serve_problem(conn, 403, "unknown_host", "this host does not answer to that name; use localhost or the address");
  else if (changes && is_foreign(request, origins)) serve_problem(conn, 403, "foreign_origin", "a page of another site may not do this");
  else return true;
  return false;
}

// Headers that promise what is not there yet: who relies on one must not be answered as if it had been kept.
static bool asks_too_much(Conn *conn, const HttpRequest *request) {
  static const char *const UNKEPT[] = {"Idempotency-Key", "Aup-At-Least"};
  Str value;
  for (size_t i = 0; i < countof(UNKEPT); i++) {
    if (!http_field(request, str_from(UNKEPT[i]), &value)) continue;
    char words[96];
    snprintf(words, sizeof words, "%s is not supported yet; nothing was done", UNKEPT[i]);
    serve_problem(conn, 501, "not_supported", words);
    return true;
  }
  return false;
}

// ---- routes -----------------------------------------------------------------------------------------

static void answer_shared(Conn *conn, const HttpRequest *request, const RefBuf *body, const char *type) {
  Wanted wanted;
  if (serve__read_wanted(conn, request, str_from(type), &wanted)) serve__answer_body(conn, &wanted, str_from(type), STR("X-Content-Type-Options: nosniff\r\n"), refbuf_str(body));
}

static bool is_read(const HttpRequest *request) { return request->method == HTTP_GET || request->method == HTTP_HEAD; }

// 405 with what is allowed; OPTIONS is told too.
static void answer_method(Conn *conn, const HttpRequest *request, const char *allowed) {
  Buf headers;
  buf_init(&headers, 0);
  http_add_field(&headers, STR("Allow"), str_from(allowed));
  if (request->method == HTTP_OPTIONS) {
    conn_respond(conn, &(ConnAnswer){.status = 204, .headers = buf_str(&headers)});
  } else {
    serve__problem_with(conn, 405, "method", "views are read with GET, inputs sent with POST", buf_str(&headers));
  }
  buf_free(&headers);
}

static void route_named(Serve *serve, Conn *conn, const HttpRequest *request, Str kind, Str name) {
  if (str_is(kind, "views")) {
    conn_set_label(conn, serve->metrics, ROUTE_VIEW);
    if (is_read(request)) serve__view(serve, conn, request, name);
    else answer_method(conn, request, "GET, HEAD, OPTIONS");
  } else if (str_is(kind, "inputs")) {
    conn_set_label(conn, serve->metrics, ROUTE_INPUT);
    if (request->method != HTTP_POST) answer_method(conn, request, "POST, OPTIONS");
    else if (is_foreign(request, serve->origins)) serve_problem(conn, 403, "foreign_origin", "a page of another site may not send inputs to this app");
    else serve__input(serve, conn, request, name);
  } else {
    serve_problem(conn, 404, "not_found", "there is nothing at this path; see GET /app");
  }
}

void serve_limit(Serve *serve, const ServeLimits *limits) {
  serve->limits = *limits;
  serve->next_us = 0;  // what was owed under another rate is forgiven
}

void serve_welcome(Serve *serve, Str origins) { serve->origins = origins; }

// Requests at a rate, and a burst of what a second allows. False: answered.
static bool is_within_rate(Serve *serve, Conn *conn) {
  uint32_t rate = serve->limits.requests_a_second;
  if (!rate) return true;
  int64_t now_us = loop_now_us(serve->loop), step_us = 1000000 / rate;
  if (serve->next_us < now_us) serve->next_us = now_us;
  if (serve->next_us - now_us < 1000000) {
    serve->next_us += step_us > 0 ? step_us : 1;
    return true;
  }
  serve__note_refused(serve, BUDGET_RATE);
  serve__problem_with(conn, 429, "busy", "too many requests for this app (--app-rate)", STR("Retry-After: 1\r\n"));
  return false;
}

void serve_request(Serve *serve, Conn *conn, const HttpRequest *request, Str path) {
  conn_set_user(conn, NULL);
  conn_set_label(conn, serve->metrics, ROUTE_OTHER);
  if (!serve_admits(conn, request, false, serve->origins) || asks_too_much(conn, request) || !is_within_rate(serve, conn)) return;
  Str first = {0}, second = {0}, third;
  http_path_next(&path, &first);
  bool has_second = http_path_next(&path, &second);
  if (has_second && second.len && !http_path_next(&path, &third)) {
    route_named(serve, conn, request, first, second);
  } else if (!has_second && (first.len == 0 || str_is(first, "app"))) {
    if (!is_read(request)) answer_method(conn, request, "GET, HEAD, OPTIONS");
    else if (first.len) answer_shared(conn, request, serve->description, "application/json");
    else answer_shared(conn, request, serve->page, "text/html; charset=utf-8");
  } else {
    serve_problem(conn, 404, "not_found", "there is nothing at this path; see GET /app");
  }
}
