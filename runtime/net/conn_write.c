// From answers to bytes. Answers given while requests are being read are gathered in the server's one buffer and go out in
// one system call, tried at once. Only what the socket does not take is kept: shared bodies by a hold, the rest as a copy.
//
// What is to be sent stands in three places, in this order: `iov` (under way), `queued` (an answer that came meanwhile),
// `next_event` (of a stream; replaceable). No answer is taken while `queued` is used, since no request is read then.
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/net/conn_inner.h"

static char LINE_END[] = "\r\n";

// ---- Sending

static size_t left_to_send(const Conn *conn) {
  size_t left = 0;
  for (unsigned i = conn->iov_at; i < conn->iov_count; i++) left += conn->iov[i].iov_len;
  return left;
}

// Moves past `count` sent bytes; true when nothing is left.
static bool move_past(Conn *conn, size_t count) {
  while (conn->iov_at < conn->iov_count) {
    struct iovec *iov = &conn->iov[conn->iov_at];
    size_t step = count < iov->iov_len ? count : iov->iov_len;
    iov->iov_base = (char *)iov->iov_base + step;
    iov->iov_len -= step;
    count -= step;
    if (iov->iov_len) return false;
    conn->iov_at++;
  }
  assert(count == 0);
  conn->iov_at = conn->iov_count = 0;
  refbuf_drop(conn->hold);
  conn->hold = NULL;
  return true;
}

// Sends what it can at once; true when that was all.
static bool try_to_send(Conn *conn) {
  int32_t sent = loop_send_now(conn->server->loop, &conn->socket, conn->iov, conn->iov_count);
  if (sent >= 0) return move_past(conn, (size_t)sent);
  if (sent != -EAGAIN) {
    refbuf_drop(conn->hold);
    conn->hold = NULL;
    conn->iov_at = conn->iov_count = 0;
    conn__die(conn);
  }
  return false;
}

static void submit_rest(Conn *conn) {
  loop_send(conn->server->loop, &conn->socket, &conn->send, conn->iov + conn->iov_at, (unsigned)(conn->iov_count - conn->iov_at));
}

static void start_deadline(Conn *conn) {
  conn->progress = 0;
  conn__set_timeout(conn, conn->server->settings.send_timeout_ms);
}

static void send_later(Conn *conn) {
  start_deadline(conn);
  submit_rest(conn);
}

// Puts what is left into bytes of its own, since those it points to will change. False: no memory, the connection dies.
static bool copy_rest(Conn *conn) {
  RefBuf *copy = refbuf_new(left_to_send(conn));
  if (!copy) {
    conn->iov_at = conn->iov_count = 0;
    conn__die(conn);
    return false;
  }
  size_t len = 0;
  for (unsigned i = conn->iov_at; i < conn->iov_count; i++) {
    memcpy(copy->bytes + len, conn->iov[i].iov_base, conn->iov[i].iov_len);
    len += conn->iov[i].iov_len;
  }
  refbuf_drop(conn->hold);
  conn->hold = copy;
  conn->iov[0] = (struct iovec){copy->bytes, len};
  conn->iov_at = 0;
  conn->iov_count = 1;
  return true;
}

// Something is under way already: the new bytes wait behind it.
static void queue_behind(Conn *conn, Str first, Str second) {
  assert(!conn->queued);
  RefBuf *copy = refbuf_new(first.len + second.len);
  if (!copy) {
    conn__die(conn);
    return;
  }
  memcpy(copy->bytes, first.ptr, first.len);
  if (second.len) memcpy(copy->bytes + first.len, second.ptr, second.len);
  conn->queued = copy;
}

// Sends what is gathered, and `body` behind it; `shared` (or NULL) holds the body's bytes.
static void send_gathered(Conn *conn, Str body, RefBuf *shared) {
  ConnServer *server = conn->server;
  Buf *out = &server->out;
  assert(server->gathering == conn);
  server->gathering = NULL;
  if (out->failed) {
    conn__die(conn);
  } else if (conn->iov_count) {
    queue_behind(conn, buf_str(out), body);
  } else if (out->len) {
    conn->iov[0] = (struct iovec){out->ptr, out->len};
    conn->iov[1] = (struct iovec){(void *)(uintptr_t)body.ptr, body.len};
    conn->iov_at = 0;
    conn->iov_count = body.len ? 2 : 1;
    conn->hold = shared ? refbuf_hold(shared) : NULL;
    if (!try_to_send(conn) && conn->state != CONN_DYING) {
      bool stable = conn->hold && conn->iov_at == 1;  // only the shared body is left
      if (stable || copy_rest(conn)) send_later(conn);
    }
  }
  if (out->cap > CONN_OUT_BYTES_KEPT) buf_free(out);
  buf_clear(out);
}

void conn__flush(Conn *conn) {
  if (conn->server->gathering != conn) return;
  send_gathered(conn, STR(""), NULL);
  if (!conn->iov_count) conn__drained(conn);
}

static Buf *start_gathering(Conn *conn) {
  ConnServer *server = conn->server;
  if (server->gathering && server->gathering != conn) conn__flush(server->gathering);
  server->gathering = conn;
  return &server->out;
}

void conn__gather(Conn *conn, Str bytes) { buf_add_str(start_gathering(conn), bytes); }

// A whole event, framed as a chunk for HTTP/1.1. All that is pointed to stays, so nothing is ever copied.
void conn__send_event(Conn *conn, RefBuf *event) {
  static const char HEX[] = "0123456789abcdef";
  assert(!conn->iov_count && conn->state != CONN_DYING);
  size_t at = sizeof conn->chunk_head, len = event->len;
  conn->chunk_head[--at] = '\n';
  conn->chunk_head[--at] = '\r';
  do conn->chunk_head[--at] = HEX[len & 15];
  while ((len >>= 4) && at > 0);
  assert(len == 0);
  conn->hold = event;
  conn->iov[0] = (struct iovec){conn->chunk_head + at, sizeof conn->chunk_head - at};
  conn->iov[1] = (struct iovec){event->bytes, event->len};
  conn->iov[2] = (struct iovec){LINE_END, 2};
  conn->iov_at = 0;
  conn->iov_count = 3;
  if (conn->old) {  // an answer to HTTP/1.0 has no chunks and ends with its connection
    conn->iov[0] = conn->iov[1];
    conn->iov_count = 1;
  }
  conn->server->stats.events_sent++;
  if (try_to_send(conn)) conn__drained(conn);
  else if (conn->state != CONN_DYING) send_later(conn);
}

// The queued answer, then the newest event. True when one of them is on its way.
static bool send_waiting(Conn *conn) {
  RefBuf *queued = conn->queued;
  if (queued) {
    conn->queued = NULL;
    conn->hold = queued;
    conn->iov[0] = (struct iovec){queued->bytes, queued->len};
    conn->iov_at = 0;
    conn->iov_count = 1;
    if (!try_to_send(conn)) {
      if (conn->state != CONN_DYING) send_later(conn);
      return true;
    }
  }
  RefBuf *event = conn->next_event;
  conn->next_event = NULL;
  if (event) conn__send_event(conn, event);
  return event != NULL;
}

static void end_stream(Conn *conn) {
  conn->ending_stream = false;
  conn->server->stats.streams--;
  if (conn->old) {
    conn__drained(conn);
    return;
  }
  conn__gather(conn, STR("0\r\n\r\n"));
  conn__flush(conn);
}

// Goes on with what waits, or with what the connection's state asks for.
void conn__drained(Conn *conn) {
  if (send_waiting(conn)) return;
  uint32_t beat_ms = conn->server->settings.stream_beat_ms;
  switch ((ConnState)conn->state) {
    case CONN_ENDING:
      if (conn->in_callback) return;  // advance() comes back, when nobody looks at the input any more
      if (conn->ending_stream) end_stream(conn);
      else if (conn->linger) conn__linger(conn);
      else conn__die(conn);
      return;
    case CONN_STREAMING:
      if (beat_ms) conn__set_timeout(conn, beat_ms);
      else conn__set_deadline(conn, INT64_MAX);
      return;
    case CONN_HANDLING: case CONN_WAITING: conn__set_deadline(conn, INT64_MAX); return;
    case CONN_READING: case CONN_LINGERING: case CONN_DYING: return;
  }
}

void conn__sent(LoopOp *op, int32_t result) {
  Conn *conn = op->ctx;
  if (conn->state == CONN_DYING) return;
  if (result < 0) {
    conn__die(conn);
    return;
  }
  conn->progress += (uint32_t)result;
  if (!move_past(conn, (size_t)result)) {
    if (conn->progress >= CONN_PROGRESS_BYTES) start_deadline(conn);
    submit_rest(conn);
    return;
  }
  conn__drained(conn);
  if (conn->state == CONN_READING && !conn->iov_count) conn__read_on(conn);
}

// ---- Answers

static bool has_no_body(const Conn *conn, unsigned status) { return conn->head_only || status == 204 || status == 304; }

static uint32_t now_low_us(const Conn *conn) { return (uint32_t)clock_mono_us(loop_clock(conn->server->loop)); }

static void forget_extra(Conn *conn) {
  mem_free(conn->extra);
  conn->extra = NULL;
}

void conn__begin_counting(Conn *conn) {
  conn->label = NULL;
  conn->kind = 0;
  forget_extra(conn);
  conn->asked_us = now_low_us(conn);
}

static void tell_answered(Conn *conn, uint16_t status, size_t body_bytes) {
  const ConnEvents *events = &conn->server->events;
  if (!events->on_answered) return;
  ConnAnswered answered = {.status = status, .kind = conn->kind, .label = conn->label, .took_us = now_low_us(conn) - conn->asked_us,
                           .body_bytes = body_bytes, .note = conn->extra ? (Str){conn->extra->bytes, conn->extra->note_len} : (Str){0}};
  events->on_answered(events->ctx, conn, &answered);
}

void conn_set_label(Conn *conn, void *label, uint8_t kind) {
  conn->label = label;
  conn->kind = kind;
}

void conn_set_extra(Conn *conn, Str note, Str headers) {
  forget_extra(conn);
  if (note.len > UINT32_MAX / 4 || headers.len > UINT32_MAX / 4) return;
  ConnExtra *extra = mem_alloc(sizeof *extra + note.len + headers.len);
  if (!extra) return;
  *extra = (ConnExtra){(uint32_t)note.len, (uint32_t)headers.len};
  if (note.len) memcpy(extra->bytes, note.ptr, note.len);
  if (headers.len) memcpy(extra->bytes + note.len, headers.ptr, headers.len);
  conn->extra = extra;
}

static void add_head(Conn *conn, Buf *out, const ConnAnswer *answer) {
  ConnServer *server = conn->server;
  http_add_status_line(out, answer->status);
  http_add_date(out, &server->date, clock_wall_us(loop_clock(server->loop)));
  if (answer->content_type.len) http_add_field(out, STR("Content-Type"), answer->content_type);
  buf_add_str(out, answer->headers);
  if (server->settings.server_timing) buf_add_format(out, "Server-Timing: app;dur=%.3f\r\n", (now_low_us(conn) - conn->asked_us) / 1000.0);
  if (conn->extra) buf_add_str(out, (Str){conn->extra->bytes + conn->extra->note_len, conn->extra->headers_len});
}

void conn_respond(Conn *conn, const ConnAnswer *answer) {
  if (conn->state == CONN_DYING) return;
  assert(conn->state == CONN_HANDLING && answer->status >= 200);
  conn->unanswered = false;
  if (answer->close) conn->keep_alive = false;
  Str body = answer->shared ? refbuf_str(answer->shared) : answer->body;
  tell_answered(conn, answer->status, has_no_body(conn, answer->status) ? 0 : body.len);
  Buf *out = start_gathering(conn);
  add_head(conn, out, answer);
  if (answer->status != 204 && answer->status != 304) http_add_field_int(out, STR("Content-Length"), (int64_t)body.len);
  if (!conn->keep_alive) buf_add_str(out, STR("Connection: close\r\n"));
  else if (conn->old) buf_add_str(out, STR("Connection: keep-alive\r\n"));
  buf_add_str(out, STR("\r\n"));
  conn->state = conn->keep_alive ? CONN_READING : CONN_ENDING;
  bool large = !has_no_body(conn, answer->status) && body.len > CONN_GATHER_BODY_BYTES_MAX;
  if (!large && !has_no_body(conn, answer->status)) buf_add_str(out, body);
  if (large) {
    send_gathered(conn, body, answer->shared);
    if (!conn->iov_count && conn->state != CONN_DYING) conn__drained(conn);
  }
  if (conn->in_callback) return;  // advance() goes on
  conn__flush(conn);
  if (conn->state == CONN_READING && !conn->iov_count) conn__read_on(conn);
}

// ---- Streams

bool conn_stream_begin(Conn *conn, const ConnAnswer *answer) {
  if (conn->state == CONN_DYING) return false;
  assert(conn->state == CONN_HANDLING);
  if (conn->head_only) {
    conn_respond(conn, &(ConnAnswer){.status = answer->status, .content_type = answer->content_type, .headers = answer->headers});
    return false;
  }
  Buf *out = start_gathering(conn);
  add_head(conn, out, answer);
  buf_add_str(out, conn->old ? STR("Connection: close\r\n\r\n") : STR("Transfer-Encoding: chunked\r\n\r\n"));
  conn->keep_alive = false;
  conn->state = CONN_STREAMING;
  tell_answered(conn, answer->status, 0);
  conn->body_len = 0;
  conn->server->stats.streams++;
  conn__flush(conn);
  if (conn->state == CONN_DYING) return false;
  if (!conn->in_callback) conn__read_on(conn);
  return true;
}

bool conn_stream_send(Conn *conn, RefBuf *event) {
  if (conn->state != CONN_STREAMING) return false;
  if (event->len == 0) return false;  // an empty chunk would be the end
  if (!conn->iov_count) {
    conn__send_event(conn, refbuf_hold(event));
    return false;
  }
  bool replaces = conn->next_event != NULL;
  if (replaces) conn->server->stats.events_replaced++;
  refbuf_drop(conn->next_event);
  conn->next_event = refbuf_hold(event);
  return replaces;
}

void conn_stream_end(Conn *conn) {
  if (conn->state != CONN_STREAMING) return;
  conn->state = CONN_ENDING;
  conn->ending_stream = true;
  if (!conn->iov_count) conn__drained(conn);
}
