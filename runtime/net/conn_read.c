// From bytes to requests. Bytes arrive in the loop's shared buffer and most requests are whole there: they are read, handled
// and answered without being copied. What is left (a cut request, or further ones while one is in hand) goes into a buffer
// of the connection's own, which is freed as soon as it is empty.
//
// The own buffer always begins with the request that is not finished. When a body is cut, only its measures are kept and
// the head is read again when it is whole, since slices would not survive the buffer's growth.
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/base/mem.h"
#include "runtime/net/conn_inner.h"

enum { LINGER_BYTES_MAX = 1 << 20 };

// The bytes at hand: in the shared buffer or in the own one.
typedef struct In { char *bytes; uint32_t len; bool own; } In;

static void received(LoopOp *op, int32_t result);

// ---- Buffers

static bool make_room(Conn *conn, uint32_t cap) {
  if (conn->in_cap >= cap) return true;
  uint32_t grown = conn->in_cap ? conn->in_cap : CONN_IN_BYTES_FIRST;
  while (grown < cap) grown *= 2;
  char *in = mem_realloc(conn->in, grown);
  if (!in) return false;
  conn->in = in;
  conn->in_cap = grown;
  return true;
}

// Not while a receive may still write there: then it goes with the connection.
static void drop_input(Conn *conn) {
  if (conn->recv.pending) return;
  mem_free(conn->in);
  conn->in = NULL;
  conn->in_len = conn->in_cap = 0;
  conn->head_bytes = 0;
}

// Keeps what is left of `in` at the start of the own buffer.
static void keep_input(Conn *conn, In in) {
  if (in.len == 0) {
    drop_input(conn);
    return;
  }
  if (!in.own && !make_room(conn, in.len)) {
    conn__die(conn);
    return;
  }
  memmove(conn->in, in.bytes, in.len);
  conn->in_len = in.len;
}

// ---- Refusals

void conn__refuse(Conn *conn, HttpRefusal refusal) {
  ConnServer *server = conn->server;
  Buf body;
  buf_init(&body, 0);
  ConnAnswer answer = {.status = refusal.status, .content_type = STR("text/plain; charset=utf-8"), .close = true};
  if (server->events.write_refusal) {
    server->events.write_refusal(server->events.ctx, &refusal, &answer.content_type, &body);
  } else {
    buf_add_text(&body, refusal.reason);
    buf_add_char(&body, '\n');
  }
  answer.body = buf_str(&body);
  server->stats.refused++;
  conn__begin_counting(conn);
  conn->state = CONN_HANDLING;
  conn->head_only = false;
  conn->old = false;
  conn->linger = true;
  conn_respond(conn, &answer);
  buf_free(&body);
}

// The client may be in the middle of sending: closing now would reset the connection and with it our last words.
void conn__linger(Conn *conn) {
  shutdown(conn->socket.fd, SHUT_WR);
  drop_input(conn);
  conn->state = CONN_LINGERING;
  conn->body_len = 0;
  conn__set_timeout(conn, CONN_LINGER_MS);
  if (!conn->recv.pending) conn__read_on(conn);
}

// ---- Requests

// Reads the head at the start of `in` and takes the measures of its body. HTTP_REFUSED: answered.
static HttpRead begin_request(Conn *conn, const In *in) {
  ConnServer *server = conn->server;
  HttpRequest *q = &server->request;
  HttpRefusal refusal;
  HttpRead read = http_read_head((Str){in->bytes, in->len}, q, &refusal);
  if (read == HTTP_DONE && !http_check_host(q, &refusal)) read = HTTP_REFUSED;
  if (read == HTTP_DONE) {
    uint32_t limit = server->settings.body_bytes_max;
    if (server->events.body_limit && (q->chunked || q->content_length)) {
      uint32_t own_limit = server->events.body_limit(server->events.ctx, q);
      if (own_limit < limit) limit = own_limit;
    }
    conn->body_max = limit;
    if (q->content_length > limit) {
      refusal = (HttpRefusal){413, "the request's body is larger than is taken here"};
      read = HTTP_REFUSED;
    }
  }
  if (read == HTTP_REFUSED) conn__refuse(conn, refusal);
  if (read != HTTP_DONE) return read;
  conn->head_bytes = q->head_bytes;
  conn->chunked = q->chunked;
  conn->body_wanted = (uint32_t)q->content_length;
  conn->body_len = 0;
  conn->chunks = http_chunks_new();
  return HTTP_DONE;
}

// Decodes what is new of a body in chunks, in place behind the head. `out_end` is where the request ends.
static HttpRead read_chunks(Conn *conn, In *in, uint32_t *out_end) {
  HttpRefusal refusal = {413, "the request's body is larger than is taken here"};
  uint32_t from = conn->head_bytes + conn->body_len;
  HttpRead read = http_chunks_decode(&conn->chunks, in->bytes + from, in->len - from, &refusal);
  if (read != HTTP_REFUSED && conn->chunks.produced > conn->body_max - conn->body_len) read = HTTP_REFUSED;
  if (read == HTTP_REFUSED) {
    conn__refuse(conn, refusal);
    return read;
  }
  conn->body_len += conn->chunks.produced;
  if (read == HTTP_MORE) in->len = conn->head_bytes + conn->body_len;
  else *out_end = from + conn->chunks.consumed;
  return read;
}

static HttpRead read_body(Conn *conn, In *in, uint32_t *out_end) {
  if (conn->chunked) return read_chunks(conn, in, out_end);
  if (in->len - conn->head_bytes < conn->body_wanted) return HTTP_MORE;
  conn->body_len = conn->body_wanted;
  *out_end = conn->head_bytes + conn->body_wanted;
  return HTTP_DONE;
}

static void hand_over(Conn *conn, const In *in) {
  ConnServer *server = conn->server;
  HttpRequest *q = &server->request;
  q->body = (Str){in->bytes + conn->head_bytes, conn->body_len};
  conn->head_bytes = 0;
  conn->keep_alive = q->keep_alive && !server->stopping;
  conn->head_only = q->method == HTTP_HEAD;
  conn->old = q->minor == 0;
  conn->state = CONN_HANDLING;
  conn->phase = PHASE_IDLE;
  conn->moves = 0;
  conn->served = conn->unanswered = conn->in_callback = true;
  conn__begin_counting(conn);
  server->stats.requests++;
  server->events.on_request(server->events.ctx, conn, q);
  conn->in_callback = false;
}

// Does the request belong here? If not, nothing of it is taken; it will be read again from its head.
static bool belongs_here(Conn *conn) {
  const ConnEvents *events = &conn->server->events;
  if (!events->route || conn->moves >= CONN_MOVES_MAX) return true;
  conn->where = NULL;
  ConnRoute route = events->route(events->ctx, conn, &conn->server->request, &conn->where);
  if (route == CONN_HERE) return true;
  conn->head_bytes = 0;
  if (route == CONN_ELSEWHERE) {
    conn->moving = true;
  } else {
    conn->state = CONN_WAITING;
    conn->unanswered = true;
  }
  return false;
}

// Takes one request from the start of `in` and hands it over. False when it is not whole, or was refused.
static bool take_request(Conn *conn, In *in) {
  bool begins = conn->head_bytes == 0;
  if (begins) {
    HttpRead read = begin_request(conn, in);
    if (read == HTTP_MORE) conn->phase = PHASE_HEAD;
    if (read != HTTP_DONE || !belongs_here(conn)) return false;
  }
  uint32_t end = 0;
  HttpRead read = read_body(conn, in, &end);
  if (read == HTTP_REFUSED) return false;
  if (read == HTTP_MORE) {
    conn->phase = PHASE_BODY;
    if (begins && conn->server->request.expects_continue) conn__gather(conn, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    return false;
  }
  if (!begins) {
    HttpRefusal refusal;
    HttpRead again = http_read_head((Str){in->bytes, conn->head_bytes}, &conn->server->request, &refusal);
    assert(again == HTTP_DONE);
    (void)again;
  }
  hand_over(conn, in);
  in->bytes += end;
  in->len -= end;
  return true;
}

// ---- Going on

// After the bytes at hand: a deadline for what is missing, counted from when the phase began.
static void set_reading_deadline(Conn *conn, ConnPhase phase_before, bool took_one) {
  const ConnSettings *settings = &conn->server->settings;
  if (conn->in_len == 0) {
    conn->phase = PHASE_IDLE;
    if (took_one) conn__set_timeout(conn, settings->idle_timeout_ms);
    return;
  }
  if (took_one || phase_before != conn->phase) {
    bool first = !conn->served && conn->phase == PHASE_HEAD;  // its deadline runs since the connection began
    if (!first) conn__set_timeout(conn, conn->phase == PHASE_BODY ? settings->body_timeout_ms : settings->head_timeout_ms);
  }
}

static void receive_more(Conn *conn) {
  Loop *loop = conn->server->loop;
  loop_op_init(&conn->recv, received, conn);
  bool reading = conn->state == CONN_READING && conn->in_len > 0;
  if (!reading) {
    loop_recv_shared(loop, &conn->socket, &conn->recv);
    return;
  }
  // A body of known length gets all of its room as it fills up; a head, or a body in chunks, grows.
  uint32_t wanted = conn->head_bytes && !conn->chunked ? conn->head_bytes + conn->body_wanted : conn->in_len + 1;
  uint32_t cap = conn->in_len * 2 < wanted ? conn->in_len * 2 : wanted;
  if (cap <= conn->in_len) cap = conn->in_len + 1;
  if (!make_room(conn, cap)) {
    conn__die(conn);
    return;
  }
  loop_recv(loop, &conn->socket, &conn->recv, conn->in + conn->in_len, conn->in_cap - conn->in_len);
}

// One who sends many requests at once must not keep the others waiting.
static bool is_over(Conn *conn, int64_t *until_us) {
  int64_t now_us = clock_mono_us(loop_clock(conn->server->loop));
  if (*until_us == INT64_MAX) *until_us = now_us + CONN_ROUND_US;
  return now_us >= *until_us;
}

// Reads requests from the bytes at hand until they are used up, one stays in hand, or answers wait for a slow client.
static void advance(Conn *conn, In in) {
  ConnPhase phase_before = (ConnPhase)conn->phase;
  bool took_one = false;
  int64_t until_us = INT64_MAX;  // known from the second request on: one alone needs no look at the clock
  bool others_turn = false;
  while (in.len > 0 && conn->state == CONN_READING && !conn->iov_count && !others_turn && take_request(conn, &in)) {
    took_one = true;
    if (conn->server->out.len > CONN_FLUSH_BYTES) conn__flush(conn);
    if (in.len) others_turn = is_over(conn, &until_us);
  }
  conn->linger |= conn->state == CONN_ENDING && in.len > 0;
  conn__flush(conn);
  if (conn->state == CONN_ENDING && !conn->iov_count) conn__drained(conn);
  bool moving = conn->moving;
  conn->moving = false;
  switch ((ConnState)conn->state) {
    case CONN_READING:
      keep_input(conn, in);
      if (conn->state == CONN_DYING || conn->iov_count) return;
      if (moving) {
        conn__move_away(conn, conn->where);
        return;
      }
      if (others_turn) {
        conn__read_on(conn);
        return;
      }
      set_reading_deadline(conn, phase_before, took_one);
      receive_more(conn);
      return;
    case CONN_HANDLING: case CONN_WAITING:
      keep_input(conn, in);
      if (!conn->iov_count) conn->deadline_us = INT64_MAX;
      return;
    case CONN_STREAMING:
      drop_input(conn);
      receive_more(conn);
      return;
    case CONN_ENDING: drop_input(conn); return;
    case CONN_LINGERING: case CONN_DYING: return;
  }
}

static void go_on(LoopOp *op, int32_t result) {
  (void)result;
  Conn *conn = op->ctx;
  if (conn->state == CONN_READING && !conn->iov_count) advance(conn, (In){conn->in, conn->in_len, true});
}

void conn__read_on(Conn *conn) {
  if (conn->recv.pending) return;
  if (conn->state == CONN_READING && conn->in_len > 0) {
    // Not from here: the room above may be in the middle of giving many answers.
    loop_op_init(&conn->recv, go_on, conn);
    loop_defer(conn->server->loop, &conn->recv);
    return;
  }
  if (conn->state == CONN_READING && conn->server->stopping) {
    conn__die(conn);
    return;
  }
  if (conn->state == CONN_READING && conn->served) conn__set_timeout(conn, conn->server->settings.idle_timeout_ms);
  if (conn->state != CONN_READING) drop_input(conn);
  receive_more(conn);
}

// What a client sends behind its last words, or while it is listening to a stream, is dropped, within bounds.
static void drop_received(Conn *conn, int32_t count) {
  conn->body_len += (uint32_t)count;
  if (conn->body_len > LINGER_BYTES_MAX) conn__die(conn);
  else receive_more(conn);
}

static void received(LoopOp *op, int32_t result) {
  Conn *conn = op->ctx;
  if (conn->state == CONN_DYING) return;
  if (result <= 0) {
    conn__die(conn);
    return;
  }
  if (conn->state != CONN_READING) {
    drop_received(conn, result);
    return;
  }
  if (conn->in && op->bytes == conn->in + conn->in_len) {
    conn->in_len += (uint32_t)result;
    advance(conn, (In){conn->in, conn->in_len, true});
  } else {
    advance(conn, (In){op->bytes, (uint32_t)result, false});
  }
}
