// Life and death of connections. Three rules keep it simple:
//
//   - A Conn is freed in one place, when the loop says that its socket's operations are all done (closed). Everything else
//     only marks it dying, so any function may hold a Conn across a call that kills it.
//   - Each connection has one deadline and one timer. The timer may fire early and is then moved, so that a request changes
//     a number and not the loop's heap.
//   - Running out of descriptors is normal: accepting pauses and goes on when a connection closes, or shortly after.
#include "runtime/net/conn.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/net/conn_inner.h"
#include "runtime/net/listen.h"

enum { WARN_EVERY_US = 60 * 1000000, DESCRIPTORS_WHEN_UNLIMITED = 1 << 20 };

ConnSettings conn_settings_default(void) {
  return (ConnSettings){
    .connections_max = 10000, .body_bytes_max = 1 << 20, .head_timeout_ms = 10000, .body_timeout_ms = 30000, .idle_timeout_ms = 75000,
    .send_timeout_ms = 30000, .stream_beat_ms = 15000, .stream_beat = STR(": \n\n"),
  };
}

// ---- Deadlines

void conn__set_deadline(Conn *conn, int64_t due_us) {
  conn->deadline_us = due_us;
  if (due_us == INT64_MAX || (conn->timer.running && conn->timer.due_us <= due_us)) return;
  loop_timer_start(conn->server->loop, &conn->timer, due_us);
}

void conn__set_timeout(Conn *conn, uint32_t timeout_ms) {
  conn__set_deadline(conn, loop_now_us(conn->server->loop) + (int64_t)timeout_ms * 1000);
}

static void reading_timed_out(Conn *conn) {
  conn->server->stats.timed_out++;
  if (conn->iov_count || conn->phase == PHASE_IDLE || conn->in_len == 0) conn__die(conn);
  else conn__refuse(conn, (HttpRefusal){408, conn->phase == PHASE_HEAD ? "the request's head took too long" : "the request's body took too long"});
}

static void stream_timed_out(Conn *conn) {
  if (conn->iov_count) {
    conn->server->stats.timed_out++;
    conn__die(conn);
    return;
  }
  RefBuf *beat = refbuf_copy(conn->server->settings.stream_beat);
  if (beat) conn__send_event(conn, beat);
  else conn__die(conn);
}

static void timer_fired(LoopTimer *timer) {
  Conn *conn = timer->ctx;
  if (conn->deadline_us == INT64_MAX) return;
  if (conn->deadline_us > loop_now_us(conn->server->loop)) {
    loop_timer_start(conn->server->loop, timer, conn->deadline_us);
    return;
  }
  conn->deadline_us = INT64_MAX;
  switch ((ConnState)conn->state) {
    case CONN_READING: reading_timed_out(conn); break;
    case CONN_STREAMING: stream_timed_out(conn); break;
    case CONN_HANDLING: case CONN_ENDING:  // only while the answer before is being sent
      conn->server->stats.timed_out++;
      conn__die(conn);
      break;
    case CONN_LINGERING: conn__die(conn); break;
    case CONN_WAITING: case CONN_DYING: break;
  }
}

// ---- Making and freeing a connection

static void link_open(Conn *conn) {
  ConnServer *server = conn->server;
  conn->next = server->open;
  if (conn->next) conn->next->previous = conn;
  server->open = conn;
  server->stats.open++;
  if (server->settings.open_shared) atomic_fetch_add(server->settings.open_shared, 1);
}

static void unlink_open(Conn *conn) {
  ConnServer *server = conn->server;
  if (conn->next) conn->next->previous = conn->previous;
  if (conn->previous) conn->previous->next = conn->next;
  else server->open = conn->next;
  conn->next = conn->previous = NULL;
  server->stats.open--;
  if (server->settings.open_shared) atomic_fetch_sub(server->settings.open_shared, 1);
}

static Conn *take_spare(ConnServer *server) {
  Conn *conn = server->spare;
  if (!conn) return mem_alloc(sizeof *conn);
  server->spare = conn->next;
  server->spare_count--;
  return conn;
}

static void give_spare(ConnServer *server, Conn *conn) {
  if (server->spare_count == CONN_SPARE_MAX || server->stopping) {
    mem_free(conn);
    return;
  }
  conn->next = server->spare;
  server->spare = conn;
  server->spare_count++;
}

static void resume_accepting(ConnServer *server);
static void check_stopped(ConnServer *server);

// The socket's operations are done: the only place where a connection goes.
static void closed(LoopOp *op, int32_t result) {
  (void)result;
  Conn *conn = op->ctx;
  ConnServer *server = conn->server;
  if (conn->recv.pending) {  // deferred, and so done after this: once more behind it
    loop_defer(server->loop, &conn->close);
    return;
  }
  assert(!conn->recv.pending && !conn->send.pending && conn->state == CONN_DYING);
  refbuf_drop(conn->hold);
  refbuf_drop(conn->queued);
  refbuf_drop(conn->next_event);
  mem_free(conn->in);
  mem_free(conn->extra);
  unlink_open(conn);
  if (conn->unanswered && server->events.on_close) server->events.on_close(server->events.ctx, conn);
  give_spare(server, conn);
  if (server->stopping) check_stopped(server);
  else resume_accepting(server);
}

void conn__die(Conn *conn) {
  if (conn->state == CONN_DYING) return;
  ConnServer *server = conn->server;
  if (conn->state == CONN_STREAMING || conn->ending_stream) server->stats.streams--;
  if (server->gathering == conn) {
    buf_clear(&server->out);
    server->gathering = NULL;
  }
  conn->state = CONN_DYING;
  loop_timer_stop(server->loop, &conn->timer);
  loop_close(server->loop, &conn->socket, &conn->close);
}

Err conn_server_add(ConnServer *server, int fd) {
  Conn *conn = take_spare(server);
  if (!conn) return ERR_MEMORY;
  *conn = (Conn){.server = server, .state = CONN_READING, .phase = PHASE_HEAD};
  Err err = loop_attach(server->loop, &conn->socket, fd);
  if (err) {
    give_spare(server, conn);
    return err;
  }
  loop_op_init(&conn->close, closed, conn);
  loop_op_init(&conn->send, conn__sent, conn);
  loop_timer_init(&conn->timer, timer_fired, conn);
  link_open(conn);
  conn__set_timeout(conn, server->settings.head_timeout_ms);
  conn__read_on(conn);
  return ERR_NONE;
}

// ---- Moving between servers

void conn__move_away(Conn *conn, void *where) {
  ConnServer *server = conn->server;
  assert(conn->state == CONN_READING && !conn->iov_count && !conn->recv.pending && !conn->send.pending);
  loop_timer_stop(server->loop, &conn->timer);
  loop_detach(server->loop, &conn->socket);
  unlink_open(conn);
  conn->server = NULL;
  conn->moves++;
  server->events.on_moved(server->events.ctx, conn, where);
  if (server->stopping) check_stopped(server);
  else resume_accepting(server);
}

void conn_discard(Conn *conn) {
  close(conn->socket.fd);
  mem_free(conn->in);
  mem_free(conn->extra);
  mem_free(conn);
}

void conn_server_adopt(ConnServer *server, Conn *conn) {
  int fd = conn->socket.fd;
  conn->server = server;
  if (loop_attach(server->loop, &conn->socket, fd) != ERR_NONE) {
    conn->socket.fd = fd;
    conn_discard(conn);
    return;
  }
  link_open(conn);
  conn->phase = PHASE_HEAD;
  conn__set_timeout(conn, server->settings.head_timeout_ms);
  conn__read_on(conn);
}

void conn_resume(Conn *conn) {
  if (conn->state != CONN_WAITING) return;
  conn->state = CONN_READING;
  conn->unanswered = false;
  conn->phase = PHASE_HEAD;
  conn__set_timeout(conn, conn->server->settings.head_timeout_ms);
  conn__read_on(conn);
}

void conn_set_user(Conn *conn, void *user) { conn->user = user; }
void *conn_user(const Conn *conn) { return conn->user; }
void conn_peer_text(const Conn *conn, char out_text[64]) { listen_address_text(conn->socket.fd, true, out_text); }

// ---- Accepting

static bool is_full(const ConnServer *server) {
  uint32_t open = server->settings.open_shared ? atomic_load_explicit(server->settings.open_shared, memory_order_relaxed) : server->stats.open;
  return open >= server->settings.connections_max;
}

static void resume_accepting(ConnServer *server) {
  if (!server->paused || is_full(server) || server->stopping) return;
  server->paused = false;
  loop_timer_stop(server->loop, &server->retry);
  for (unsigned i = 0; i < server->listener_count; i++) {
    if (!server->listeners[i].accept.pending) loop_accept(server->loop, &server->listeners[i].socket, &server->listeners[i].accept);
  }
}

static bool has_long_been_idle(const Conn *conn) {
  if (conn->state != CONN_READING || conn->phase != PHASE_IDLE || conn->in_len || conn->iov_count || !conn->served) return false;
  int64_t idle_since_us = conn->deadline_us - (int64_t)conn->server->settings.idle_timeout_ms * 1000;
  return loop_now_us(conn->server->loop) - idle_since_us >= CONN_IDLE_WHEN_FULL_MS * 1000;
}

void conn_server_make_room(ConnServer *server) {
  for (Conn *conn = server->open; conn; conn = conn->next) if (has_long_been_idle(conn)) conn__die(conn);
}

// As long as all places are taken, those who have asked nothing for a while make room.
static void retry_accepting(LoopTimer *timer) {
  ConnServer *server = timer->ctx;
  if (!is_full(server)) {
    resume_accepting(server);
    return;
  }
  conn_server_make_room(server);
  if (server->events.on_full) server->events.on_full(server->events.ctx);
  loop_timer_start(server->loop, timer, loop_now_us(server->loop) + CONN_FULL_LOOK_MS * 1000);
}

static void warn_full(ConnServer *server, const char *why) {
  int64_t now_us = loop_now_us(server->loop);
  if (server->warned_us && now_us - server->warned_us < WARN_EVERY_US) return;
  server->warned_us = now_us;
  LOG_EVENT(server->settings.log, LOG_WARN, "new connections wait", LOG_TEXT("reason", str_from(why)), LOG_INT("open", server->stats.open));
}

// Descriptors or memory ran out: goes on when a connection closes, or after a moment, since others use them too.
static void pause_accepting(ConnServer *server, int error_number) {
  server->paused = true;
  warn_full(server, strerror(error_number));
  loop_timer_start(server->loop, &server->retry, loop_now_us(server->loop) + CONN_ACCEPT_PAUSE_MS * 1000);
}

static bool is_out_of_something(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS || error_number == ENOMEM || error_number == ENOSPC;
}

static void accepted(LoopOp *op, int32_t result) {
  ConnListener *listener = op->ctx;
  ConnServer *server = listener->server;
  if (result == -ECANCELED) return;
  int error_number = result < 0 ? -result : 0;
  if (result >= 0) {
    server->stats.accepted++;
    if (conn_server_add(server, result) != ERR_NONE) {
      close(result);
      error_number = ENOMEM;
    }
  }
  if (server->stopping) return;
  if (is_out_of_something(error_number)) {
    pause_accepting(server, error_number);
  } else if (is_full(server)) {
    server->paused = true;  // until one closes
    loop_timer_start(server->loop, &server->retry, loop_now_us(server->loop) + CONN_FULL_LOOK_MS * 1000);
    warn_full(server, "as many are open as are allowed");
  } else if (!server->paused) {
    loop_accept(server->loop, &listener->socket, op);  // after any other error too: it was that one client's
  }
}

// ---- The server

static uint32_t limit_by_descriptors(uint32_t connections_max) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > DESCRIPTORS_WHEN_UNLIMITED) limit.rlim_cur = DESCRIPTORS_WHEN_UNLIMITED;
  uint32_t rest = limit.rlim_cur > 2 * CONN_DESCRIPTORS_KEPT ? (uint32_t)limit.rlim_cur - CONN_DESCRIPTORS_KEPT : (uint32_t)limit.rlim_cur / 2;
  return connections_max < rest ? connections_max : rest;
}

Err conn_server_new(Loop *loop, const ConnSettings *settings, const ConnEvents *events, ConnServer **out_server) {
  assert(events->on_request);
  ConnServer *server = mem_alloc_zero(1, sizeof *server);
  if (!server) return ERR_MEMORY;
  server->loop = loop;
  server->settings = *settings;
  server->settings.connections_max = limit_by_descriptors(settings->connections_max);
  if (server->settings.body_bytes_max > CONN_BODY_BYTES_CEILING) server->settings.body_bytes_max = CONN_BODY_BYTES_CEILING;
  server->events = *events;
  buf_init(&server->out, 0);
  loop_timer_init(&server->retry, retry_accepting, server);
  *out_server = server;
  return ERR_NONE;
}

Err conn_server_listen_on(ConnServer *server, int fd, ErrText *out_text) {
  if (server->listener_count == CONN_LISTENERS_MAX) return err_say(ERR_LIMIT, out_text, "at most %d addresses to listen on", CONN_LISTENERS_MAX);
  ConnListener *listener = &server->listeners[server->listener_count];
  listener->server = server;
  Err err = loop_attach(server->loop, &listener->socket, fd);
  if (err) return err_say(err, out_text, "cannot watch a listening socket: %s", err_words(err));
  loop_op_init(&listener->accept, accepted, listener);
  server->listener_count++;
  server->listeners_open++;
  loop_accept(server->loop, &listener->socket, &listener->accept);
  return ERR_NONE;
}

Err conn_server_listen(ConnServer *server, Str address, char out_address[64], ErrText *out_text) {
  int fd;
  TRY(listen_on(address, &fd, out_text));
  if (out_address) listen_address_text(fd, false, out_address);
  Err err = conn_server_listen_on(server, fd, out_text);
  if (err != ERR_NONE) close(fd);
  return err;
}

const ConnStats *conn_server_stats(const ConnServer *server) { return &server->stats; }

// ---- Stopping

static void check_stopped(ConnServer *server) {
  if (server->open || server->listeners_open || !server->on_stopped) return;
  void (*on_stopped)(void *ctx) = server->on_stopped;
  server->on_stopped = NULL;
  loop_timer_stop(server->loop, &server->stop_timer);
  on_stopped(server->stopped_ctx);
}

static void listener_closed(LoopOp *op, int32_t result) {
  (void)result;
  ConnServer *server = op->ctx;
  server->listeners_open--;
  check_stopped(server);
}

static void cut_all(LoopTimer *timer) {
  ConnServer *server = timer->ctx;
  for (Conn *conn = server->open; conn; conn = conn->next) conn__die(conn);
  check_stopped(server);
}

static void ask_to_end(Conn *conn) {
  conn->keep_alive = false;
  if (conn->state == CONN_STREAMING) conn_stream_end(conn);
  else if (conn->state == CONN_READING && !conn->in_len && !conn->iov_count) conn__die(conn);
}

void conn_server_stop(ConnServer *server, uint32_t grace_ms, void (*on_stopped)(void *ctx), void *ctx) {
  server->on_stopped = on_stopped;
  server->stopped_ctx = ctx;
  if (!server->stopping) {
    server->stopping = true;
    loop_timer_stop(server->loop, &server->retry);
    loop_timer_init(&server->stop_timer, cut_all, server);
    for (unsigned i = 0; i < server->listener_count; i++) {
      loop_op_init(&server->listeners[i].close, listener_closed, server);
      loop_close(server->loop, &server->listeners[i].socket, &server->listeners[i].close);
    }
    for (Conn *conn = server->open; conn; conn = conn->next) ask_to_end(conn);
  }
  // Also without anything open the answer comes from the loop, never from inside this call.
  int64_t due_us = loop_now_us(server->loop) + (server->open ? (int64_t)grace_ms * 1000 : 0);
  if (!server->stop_timer.running || due_us < server->stop_timer.due_us) loop_timer_start(server->loop, &server->stop_timer, due_us);
}

void conn_server_free(ConnServer *server) {
  if (!server) return;
  assert(!server->open && !server->listeners_open);
  while (server->spare) mem_free(take_spare(server));
  loop_timer_stop(server->loop, &server->retry);
  loop_timer_stop(server->loop, &server->stop_timer);
  buf_free(&server->out);
  mem_free(server);
}
