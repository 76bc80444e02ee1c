// One app over HTTP: requests in, answers and events out.
//
//   GET /                  a plain page         GET /app           the typed description (describe.h)
//   GET /views/NAME?a=v    a view's value; with Accept: text/event-stream its value now, then each new one
//   POST /inputs/NAME      an input; the body is a JSON object; answered when it is on disk
//
// Failures are application/problem+json (RFC 9457): type, title, status, code, detail, and field, errors, data, id where
// there is something to tell.
//
// Owns:   topics, subscribers and requests in hand; not the App, the Loop or connections.
// Thread: the loop's.
// Errors: told to the client.
// Limits: SERVE_*_MAX; those of the app and of net.
#pragma once
#include "runtime/app/app.h"
#include "runtime/net/conn.h"
#include "runtime/serve/metrics.h"

typedef struct Serve Serve;

enum {
  SERVE_PUSH_INTERVAL_MS = 10,     // a changed view is evaluated and sent at most this often
  SERVE_PUSH_US = 200,             // views of streams are evaluated for about so long at a stretch
  SERVE_RETRY_MS = 1000,           // what EventSource is told to wait before it connects again
  SERVE_STREAMS_MAX = 100000,
  SERVE_TOPICS_MAX = 10000,        // different (view, arguments) with subscribers; more is 503
  SERVE_QUERY_PAIRS_MAX = 200,     // name=value pairs of a query; more is 400
  SERVE_BODY_BYTES_MAX = 1 << 20,  // of an input; more is 413
  SERVE_GZIP_BYTES_MIN = 1024,     // smaller answers are not packed, nor are larger ones than the next: packing them would keep others waiting
  SERVE_GZIP_BYTES_MAX = 1 << 20,
};

// Zero means the default in brackets.
typedef struct ServeLimits {
  uint32_t requests_a_second;  // more are 429, after a burst of as many [no limit]
  uint32_t streams;            // open at once; more are 429 [SERVE_STREAMS_MAX]
} ServeLimits;

// `metrics` outlives it; NULL: nobody counts. Its requests get it as their label (conn_set_label), with a MetricsRoute.
MUST_USE Err serve_new(Loop *loop, App *app, const Log *log, ServeMetrics *metrics, Serve **out_serve);
void serve_limit(Serve *serve, const ServeLimits *limits);
void serve_welcome(Serve *serve, Str origins);  // see serve_admits; stay
void serve_free(Serve *serve);     // after its connections are gone

// `path` is the request's path below the app ("/views/total"), still encoded.
void serve_request(Serve *serve, Conn *conn, const HttpRequest *request, Str path);
// A connection with a request of serve_request in hand, or a stream, died.
void serve_closed(Conn *conn);
// The state that views see is that of a new commit: streams will be told.
void serve_published(Serve *serve);
// The app has another module: streams go on with its values, those of views that are gone end.
void serve_swapped(Serve *serve);
// Ends the app's streams with this problem; what waits is answered by app_close, then serve_free.
void serve_stop(Serve *serve, uint16_t status, const char *code, const char *detail);
// Neither streams nor requests in hand: it may be freed, and made again later.
bool serve_is_quiet(const Serve *serve);
uint32_t serve_stream_count(const Serve *serve);
bool serve_wants_turn(const Serve *serve);  // inputs were submitted since the app's last turn
void serve_turned(Serve *serve);

// The rules for browsers on this machine (a known Host; for what changes something no foreign Origin). False: answered.
// `origins`: sites whose pages are welcome all the same, as "https://example.com, https://example.org".
bool serve_admits(Conn *conn, const HttpRequest *request, bool changes, Str origins);
// Pages of those sites may read answers: lines for each answer to one, and the answer to a browser that asks beforehand.
bool serve_cors_allows(Str origins, const HttpRequest *request, Str *out_origin);
void serve_add_cors(Str origin, Buf *headers);
bool serve_is_preflight(const HttpRequest *request);
void serve_answer_preflight(Conn *conn);
// Writes a refusal of the connection as a problem: for ConnEvents.write_refusal.
void serve_write_refusal(void *context, const HttpRefusal *refusal, Str *out_content_type, Buf *body);
// Answers with a problem that has no app behind it ("there is no app of that name").
void serve_problem(Conn *conn, uint16_t status, const char *code, const char *detail);
