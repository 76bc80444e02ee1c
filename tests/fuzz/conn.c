// A whole connection fed any bytes in pieces of any size: it keeps what it promises about its callbacks, and
// leaves neither memory nor connections behind. The first byte chooses the size of the pieces; paths
// choose whether a request is answered at once, later, or by a stream.
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/net/conn.h"

enum { HELD_MAX = 8 };

typedef struct World { Conn *held[HELD_MAX]; bool is_stream[HELD_MAX]; int held_count, stopped; } World;

static void must(bool holds) {
  if (!holds) abort();
}

static void on_request(void *ctx, Conn *conn, const HttpRequest *q) {
  World *w = ctx;
  must(q->path.len > 0 && q->body.len <= 2000);
  bool later = str_starts(q->path, STR("/l")), stream = str_starts(q->path, STR("/s"));
  if ((later || stream) && w->held_count < HELD_MAX) {
    if (stream && !conn_stream_begin(conn, &(ConnAnswer){.status = 200})) return;
    w->is_stream[w->held_count] = stream;
    w->held[w->held_count++] = conn;
    return;
  }
  conn_respond(conn, &(ConnAnswer){.status = 200, .body = q->body});
}

static void drop_held(World *w, int i) {
  w->held_count--;
  w->held[i] = w->held[w->held_count];
  w->is_stream[i] = w->is_stream[w->held_count];
}

static void on_close(void *ctx, Conn *conn) {
  World *w = ctx;
  for (int i = 0; i < w->held_count; i++) {
    if (w->held[i] != conn) continue;
    drop_held(w, i);
    return;
  }
  abort();  // it was never given out, or was answered
}

static void stopped(void *ctx) { ((World *)ctx)->stopped++; }

static void turn(Loop *loop) { must(loop_turn(loop, 0) == ERR_NONE); }

// What is in hand gets an answer; streams get an event.
static void answer_held(World *w, RefBuf *event) {
  for (int i = w->held_count - 1; i >= 0; i--) {
    Conn *conn = w->held[i];
    if (w->is_stream[i]) {
      conn_stream_send(conn, event);
      continue;
    }
    drop_held(w, i);
    conn_respond(conn, &(ConnAnswer){.status = 404, .shared = event});
  }
}

static void feed(World *w, Loop *loop, int fd, Str bytes) {
  size_t step = 1 + (uint8_t)bytes.ptr[0];
  char answers[4096];
  RefBuf *event = refbuf_copy(STR("data: x\n\n"));
  must(event != NULL);
  for (size_t at = 1; at < bytes.len; at += step) {
    size_t len = bytes.len - at < step ? bytes.len - at : step;
    if (send(fd, bytes.ptr + at, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    turn(loop);
    if (w->held_count && bytes.ptr[at] == 'S') conn_stream_end(w->held[0]);
    if (bytes.ptr[at] & 1) answer_held(w, event);
    while (recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0) {}
  }
  for (int i = 0; i < 4; i++) {
    answer_held(w, event);
    turn(loop);
    while (recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0) {}
  }
  refbuf_drop(event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  uint64_t held = mem_blocks_held();
  World w = {0};
  Loop *loop;
  ConnServer *server;
  ConnSettings settings = conn_settings_default();
  settings.body_bytes_max = 2000;
  ConnEvents events = {.ctx = &w, .on_request = on_request, .on_close = on_close};
  int fds[2];
  must(loop_new(LOOP_EPOLL, clock_system(), &loop, NULL) == ERR_NONE);
  must(conn_server_new(loop, &settings, &events, &server) == ERR_NONE);
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0 && conn_server_add(server, fds[0]) == ERR_NONE);
  feed(&w, loop, fds[1], (Str){(const char *)data, size});
  if (data[0] & 1) close(fds[1]);
  conn_server_stop(server, 0, stopped, &w);
  for (int i = 0; i < 8; i++) turn(loop);
  must(w.stopped == 1 && w.held_count == 0 && conn_server_stats(server)->open == 0 && conn_server_stats(server)->streams == 0);
  if (!(data[0] & 1)) close(fds[1]);
  conn_server_free(server);
  loop_free(loop);
  must(mem_blocks_held() == held);
  return 0;
}
