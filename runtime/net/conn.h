// The connections of a server: requests come out whole, answers go in, in order. This room knows HTTP, nothing of what is
// asked or answered.
//
//            ┌──────────── answered, keep-alive ────────────┐
//   accept ─▶ READING ── on_request ─▶ HANDLING ── conn_respond ─┘
//                │                        │   └─ conn_stream_begin ─▶ STREAMING ── conn_stream_end ─▶ ENDING
//                ├─ refused, 4xx ─▶ ENDING ◀─ conn_respond, close         (dies at any point ─▶ on_close)
//                ├─ route: CONN_WAIT ─▶ WAITING ── conn_resume ─▶ READING
//                └─ route: CONN_ELSEWHERE ─▶ on_moved ── conn_server_adopt, on another loop ─▶ READING there
//
// One request of a connection is in hand at a time: those that were sent behind it wait, so answers are in order and a
// request sees what the one before it did. An answer may be given inside on_request or any time later. A connection that
// waits for its next request holds no buffer. Sending never blocks: what the socket does not take is kept, at most one
// answer; a stream keeps at most one event that is being sent and ONE that waits, which a newer one replaces.
//
// Owns:   sockets, buffers; a hold on each RefBuf it still has to send.
// Thread: the loop's.
// Errors: a client's mistakes are answered here (ConnEvents.write_refusal) and close the connection; when memory runs out
//         the connection dies.
// Limits: ConnSettings; those of http.h.
#pragma once
#include <stdatomic.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/log.h"
#include "runtime/base/refbuf.h"
#include "runtime/net/http.h"
#include "runtime/net/loop.h"

typedef struct Conn Conn;
typedef struct ConnServer ConnServer;

typedef struct ConnSettings {
  atomic_uint *open_shared;    // NULL, or counts the connections of all servers that share it; connections_max is then for all of them
  uint32_t connections_max;    // more wait in the kernel's queue; lowered to the process's descriptors less CONN_DESCRIPTORS_KEPT
  uint32_t body_bytes_max;     // 413 above it
  uint32_t head_timeout_ms;    // from the first byte of a request, or from the start of a connection, to its whole head: 408
  uint32_t body_timeout_ms;    // from its head to its last byte: 408
  uint32_t idle_timeout_ms;    // between two requests: closed
  uint32_t send_timeout_ms;    // without CONN_PROGRESS_BYTES taken by the client, or all there is: closed
  uint32_t stream_beat_ms;     // a stream that sent nothing for so long sends `stream_beat`; 0: never
  Str stream_beat;             // static
  bool server_timing;          // each answer says how long it took (Server-Timing)
  const Log *log;              // may be NULL
} ConnSettings;

enum {
  CONN_DESCRIPTORS_KEPT = 32,      // of the process's limit, for everything that is not a connection
  CONN_PROGRESS_BYTES = 4096,
  CONN_BODY_BYTES_CEILING = 1 << 30,  // body_bytes_max is lowered to it: a body is one run of memory
  CONN_LISTENERS_MAX = 4,
  CONN_LINGER_MS = 2000,           // how long a refused client may go on sending before its connection is reset
  CONN_ACCEPT_PAUSE_MS = 100,      // before trying again when descriptors or memory ran out
  CONN_IDLE_WHEN_FULL_MS = 5000,   // the idle time-out while connections_max are open, looked at every
  CONN_FULL_LOOK_MS = 1000,
  CONN_MOVES_MAX = 3,              // of a connection for one request; then it is handled where it is
  CONN_ROUND_US = 200,             // requests of one connection are handled at a stretch for about so long, then it is the others' turn
};

// 10,000 connections, 1 MiB, 10 s, 30 s, 75 s, 30 s, 15 s with ": \n\n".
ConnSettings conn_settings_default(void);

// Where a request belongs.
typedef enum ConnRoute {
  CONN_HERE,
  CONN_ELSEWHERE,  // on another loop: the connection moves there with its bytes, once all answers before are out
  CONN_WAIT,       // not yet: nothing is read of it until conn_resume
} ConnRoute;

// How a request was answered. What the answer is about is for the room above to know: see conn_set_label.
typedef struct ConnAnswered {
  uint16_t status;
  uint8_t kind;            // of conn_set_label
  void *label;             // of conn_set_label, or NULL
  uint32_t took_us;        // from the whole request to this answer (a stream: to its beginning), by the monotonic clock; wraps after an hour
  uint64_t body_bytes;     // before it is sent; a stream: 0
  Str note;                // of conn_set_extra, or empty
} ConnAnswered;

typedef struct ConnEvents {
  void *ctx;
  // Asked when a request's head is read, maybe more than once; NULL: all belong here. For CONN_ELSEWHERE `out_where` is what on_moved gets.
  ConnRoute (*route)(void *ctx, Conn *conn, const HttpRequest *head, void **out_where);
  // The connection is no longer of this server nor of its loop: hand it to the thread of another, which calls conn_server_adopt.
  void (*on_moved)(void *ctx, Conn *conn, void *where);
  // As many connections are open as are allowed, and more wait: other servers that share the limit may conn_server_make_room.
  void (*on_full)(void *ctx);
  // A whole request. It and its slices are gone when this returns; `conn` stays until answered or on_close.
  void (*on_request)(void *ctx, Conn *conn, const HttpRequest *request);
  // The connection died before its request was answered, while it waited (CONN_WAIT), or while its stream was open. Never called inside a function
  // of this header; until it comes, calls on the dying connection do nothing. The Conn is gone afterwards.
  void (*on_close)(void *ctx, Conn *conn);
  // The request in hand (or a refused one) is answered; NULL: nobody counts. Gives no answers itself.
  void (*on_answered)(void *ctx, Conn *conn, const ConnAnswered *answered);
  // The body limit of this request, whose head is read; NULL: body_bytes_max for all. Never above body_bytes_max.
  uint32_t (*body_limit)(void *ctx, const HttpRequest *head);
  // Writes the body of a refusal and says its type; NULL: the reason as plain text.
  void (*write_refusal)(void *ctx, const HttpRefusal *refusal, Str *out_content_type, Buf *body);
} ConnEvents;

Err conn_server_new(Loop *loop, const ConnSettings *settings, const ConnEvents *events, ConnServer **out_server) MUST_USE;
// Up to CONN_LISTENERS_MAX addresses. `out_address` (may be NULL) gets the address with the port that was given for 0.
Err conn_server_listen(ConnServer *server, Str address, char out_address[64], ErrText *out_text) MUST_USE;
// The same with a socket that listens already. An error: it is still the caller's.
Err conn_server_listen_on(ConnServer *server, int fd, ErrText *out_text) MUST_USE;
// Takes over a connected socket, for tests and connections that come from elsewhere. ERR_MEMORY, ERR_LIMIT: still the caller's.
Err conn_server_add(ConnServer *server, int fd) MUST_USE;
// Takes over a connection that another server gave away; it goes on with the request that made it move.
void conn_server_adopt(ConnServer *server, Conn *conn);
void conn_discard(Conn *conn);  // the same, when there is no server any more: closes it
// What waits because of CONN_WAIT is routed again, soon.
void conn_resume(Conn *conn);
void conn_server_make_room(ConnServer *server);  // closes connections that have asked nothing for CONN_IDLE_WHEN_FULL_MS
// Stops accepting, closes what waits, lets requests in hand be answered, ends streams; what is still open after `grace_ms`
// is cut. Then `on_stopped`. A second call makes the grace shorter.
void conn_server_stop(ConnServer *server, uint32_t grace_ms, void (*on_stopped)(void *ctx), void *ctx);
void conn_server_free(ConnServer *server);  // after on_stopped; or never used

typedef struct ConnStats { uint64_t accepted, requests, refused, timed_out, events_sent, events_replaced; uint32_t open, streams; } ConnStats;
const ConnStats *conn_server_stats(const ConnServer *server);

typedef struct ConnAnswer {
  uint16_t status;
  Str content_type;   // empty: no such line
  Str headers;        // further lines, each whole with its CR LF (http_write.h)
  Str body;           // copied as far as needed; not sent to HEAD, nor with 204 and 304
  RefBuf *shared;     // or a shared body; the connection takes its own hold
  bool close;         // close the connection after it
} ConnAnswer;

// Answers the request in hand. Date, Content-Length and Connection are written here.
void conn_respond(Conn *conn, const ConnAnswer *answer);

// Begins an answer without end: status, content_type and headers are sent, events follow. False when the request was a HEAD
// (then it is answered) or the connection is dying.
bool conn_stream_begin(Conn *conn, const ConnAnswer *answer);
// Sends `event`, or lets it wait when the one before is not out yet; one that waited is dropped (true). Takes its own hold.
bool conn_stream_send(Conn *conn, RefBuf *event);
// Sends what waits and the end of the stream, then closes; on_close comes as for every stream.
void conn_stream_end(Conn *conn);

void conn_set_user(Conn *conn, void *user);  // what the room above keeps about the request in hand or the stream
void *conn_user(const Conn *conn);
// Of the request in hand, and forgotten with it: a label and a note for on_answered, and further lines (each whole with its CR LF)
// for the head of its answer. Texts are copied, and left out when there is no memory.
void conn_set_label(Conn *conn, void *label, uint8_t kind);
void conn_set_extra(Conn *conn, Str note, Str headers);
void conn_peer_text(const Conn *conn, char out_text[64]);
