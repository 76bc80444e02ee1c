// A server and its clients in one thread, over socket pairs, under a clock that only moves when told.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/net/conn.h"
#include "runtime/net/listen.h"
#include "tests/unit/net/kind.h"

enum { HELD_MAX = 64 };

typedef struct World {
  ClockFake clock;
  Loop *loop;
  ConnServer *server;
  Conn *held[HELD_MAX];  // requests in hand and streams
  int held_count, closed, stopped;
  RefBuf *big;
  Buf got;
} World;

static void respond_text(Conn *conn, unsigned status, Str body) {
  conn_respond(conn, &(ConnAnswer){.status = (uint16_t)status, .content_type = STR("text/plain"), .body = body});
}

static void on_request(void *ctx, Conn *conn, const HttpRequest *q) {
  World *w = ctx;
  conn_set_user(conn, w);
  if (str_is(q->path, "/later") || str_is(q->path, "/stream")) {
    cr_assert_lt(w->held_count, HELD_MAX);
    w->held[w->held_count++] = conn;
    if (str_is(q->path, "/stream") && !conn_stream_begin(conn, &(ConnAnswer){.status = 200, .content_type = STR("text/event-stream")})) w->held_count--;
  } else if (str_is(q->path, "/echo")) {
    respond_text(conn, 200, q->body);
  } else if (str_is(q->path, "/big")) {
    conn_respond(conn, &(ConnAnswer){.status = 200, .shared = w->big});
  } else if (str_is(q->path, "/copy")) {
    conn_respond(conn, &(ConnAnswer){.status = 200, .body = refbuf_str(w->big)});
  } else if (str_is(q->path, "/none")) {
    conn_respond(conn, &(ConnAnswer){.status = 204, .headers = STR("A: b\r\n")});
  } else if (str_is(q->path, "/same")) {
    conn_respond(conn, &(ConnAnswer){.status = 304});
  } else if (str_is(q->path, "/close")) {
    conn_respond(conn, &(ConnAnswer){.status = 200, .close = true});
  } else if (str_is(q->path, "/release")) {  // answers the others first
    while (w->held_count) respond_text(w->held[--w->held_count], 200, STR("released"));
    respond_text(conn, 200, STR("releaser"));
  } else {
    respond_text(conn, 404, q->path);
  }
}

static void on_close(void *ctx, Conn *conn) {
  World *w = ctx;
  cr_assert_eq(conn_user(conn), w);
  w->closed++;
  for (int i = 0; i < w->held_count; i++) {
    if (w->held[i] != conn) continue;
    w->held[i] = w->held[--w->held_count];
    return;
  }
}

static uint32_t body_limit(void *ctx, const HttpRequest *head) {
  (void)ctx;
  return str_is(head->path, "/small") ? 4 : UINT32_MAX;
}

static ConnSettings settings_for_tests(void) {
  ConnSettings settings = conn_settings_default();
  settings.body_bytes_max = 1000;
  return settings;
}

static void open_world(World *w, const ConnSettings *settings) {
  ConnSettings chosen = settings ? *settings : settings_for_tests();
  *w = (World){.big = refbuf_new(3000000)};
  clock_fake_init(&w->clock, 784111777000000);
  for (size_t i = 0; i < w->big->len; i++) w->big->bytes[i] = (char)('a' + i % 26);
  buf_init(&w->got, 0);
  cr_assert_eq(loop_new(test_loop_kind(), &w->clock.clock, &w->loop, NULL), ERR_NONE);
  ConnEvents events = {.ctx = w, .on_request = on_request, .on_close = on_close, .body_limit = body_limit};
  cr_assert_eq(conn_server_new(w->loop, &chosen, &events, &w->server), ERR_NONE);
}

static void pump(World *w) {
  int rounds = test_loop_kind() == LOOP_URING ? 64 : 8;  // there each operation takes one
  for (int i = 0; i < rounds; i++) cr_assert_eq(loop_turn(w->loop, 0), ERR_NONE);
}

static void stopped(void *ctx) { ((World *)ctx)->stopped++; }

static void close_world(World *w) {
  conn_server_stop(w->server, 0, stopped, w);
  pump(w);
  cr_assert_eq(w->stopped, 1);
  conn_server_free(w->server);
  loop_free(w->loop);
  refbuf_drop(w->big);
  buf_free(&w->got);
}

static int add_client(World *w) {
  int fds[2];
  cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  cr_assert_eq(conn_server_add(w->server, fds[0]), ERR_NONE);
  return fds[1];
}

static void say(int fd, Str bytes) { cr_assert_eq(send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL), (ssize_t)bytes.len); }

// Everything that came, in w->got, ended by a zero byte; true when the server has closed.
static bool hear(World *w, int fd) {
  static char bytes[65536];
  buf_clear(&w->got);
  for (;;) {
    pump(w);
    ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    if (got <= 0) {
      bool closed = got == 0 || errno != EAGAIN;
      buf_add_char(&w->got, 0);
      w->got.len--;
      return closed;
    }
    buf_add(&w->got, bytes, (size_t)got);
  }
}

#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
#define TEXT(length) DATE "Content-Type: text/plain\r\nContent-Length: " #length "\r\n"

static bool heard(World *w, int fd, const char *expected) {
  bool closed = hear(w, fd);
  cr_assert_str_eq(w->got.ptr, expected);
  return closed;
}

Test(conn, answers_pipelined_requests_in_order_wherever_they_are_cut) {
  World w;
  open_world(&w, NULL);
  Str requests = STR("GET /a HTTP/1.1\r\nHost: h\r\n\r\n" "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
                     "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: v\r\n\r\n" "\r\nGET /none HTTP/1.1\r\nHost: h\r\n\r\n");
  for (size_t cut = 0; cut <= requests.len; cut++) {
    int fd = add_client(&w);
    say(fd, str_part(requests, 0, cut));
    pump(&w);
    say(fd, str_part(requests, cut, requests.len));
    cr_assert_not(heard(&w, fd, "HTTP/1.1 404 Not Found\r\n" TEXT(2) "\r\n/a" "HTTP/1.1 200 OK\r\n" TEXT(5) "\r\nhello"
                                "HTTP/1.1 200 OK\r\n" TEXT(5) "\r\nabcde" "HTTP/1.1 204 No Content\r\n" DATE "A: b\r\n\r\n"));
    close(fd);
    pump(&w);
  }
  cr_assert_eq(conn_server_stats(w.server)->open, 0);
  cr_assert_eq(conn_server_stats(w.server)->requests, 4 * (requests.len + 1));
  close_world(&w);
}

Test(conn, byte_by_byte_is_the_same) {
  World w;
  open_world(&w, NULL);
  int fd = add_client(&w);
  Str request = STR("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\nPOST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
  for (size_t i = 0; i < request.len; i++) {
    say(fd, str_part(request, i, i + 1));
    pump(&w);
  }
  cr_assert_not(heard(&w, fd, "HTTP/1.1 200 OK\r\n" TEXT(5) "\r\nabcde" "HTTP/1.1 200 OK\r\n" TEXT(2) "\r\nhi"));
  close(fd);
  close_world(&w);
}

Test(conn, a_request_answered_later_holds_back_those_behind_it) {
  World w;
  open_world(&w, NULL);
  int fd = add_client(&w);
  say(fd, STR("GET /x HTTP/1.1\r\nHost: h\r\n\r\nGET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /y HTTP/1.1\r\nHost: h\r\n\r\nGET /later HTTP/1.1\r\nHost: h\r\n\r\n"));
  heard(&w, fd, "HTTP/1.1 404 Not Found\r\n" TEXT(2) "\r\n/x");
  cr_assert_eq(w.held_count, 1);
  respond_text(w.held[--w.held_count], 200, STR("late"));
  cr_assert_eq(conn_server_stats(w.server)->requests, 2, "the next is not read inside the answer");
  heard(&w, fd, "HTTP/1.1 200 OK\r\n" TEXT(4) "\r\nlate" "HTTP/1.1 404 Not Found\r\n" TEXT(2) "\r\n/y");
  cr_assert_eq(w.held_count, 1);
  close(fd);  // the client is gone while its request is in hand
  pump(&w);
  respond_text(w.held[--w.held_count], 200, STR("to nobody"));
  pump(&w);
  cr_assert_eq(conn_server_stats(w.server)->open, 0);
  close_world(&w);
}

Test(conn, answers_for_others_may_come_from_inside_a_request) {
  World w;
  open_world(&w, NULL);
  int clients[4];
  for (int i = 0; i < 4; i++) {
    clients[i] = add_client(&w);
    say(clients[i], i < 3 ? STR("GET /later HTTP/1.1\r\nHost: h\r\n\r\n") : STR("GET /x HTTP/1.1\r\nHost: h\r\n\r\nGET /release HTTP/1.1\r\nHost: h\r\n\r\nGET /y HTTP/1.1\r\nHost: h\r\n\r\n"));
    pump(&w);
  }
  for (int i = 0; i < 3; i++) heard(&w, clients[i], "HTTP/1.1 200 OK\r\n" TEXT(8) "\r\nreleased");
  heard(&w, clients[3], "HTTP/1.1 404 Not Found\r\n" TEXT(2) "\r\n/x" "HTTP/1.1 200 OK\r\n" TEXT(8) "\r\nreleaser" "HTTP/1.1 404 Not Found\r\n" TEXT(2) "\r\n/y");
  for (int i = 0; i < 4; i++) close(clients[i]);
  close_world(&w);
}

Test(conn, keeps_or_closes_as_the_versions_say) {
  static const struct { const char *request, *answer; bool closed; } ROWS[] = {
    {"GET /echo HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\n" TEXT(0) "\r\n", false},
    {"GET /echo HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n", "HTTP/1.1 200 OK\r\n" TEXT(0) "Connection: close\r\n\r\n", true},
    {"GET /echo HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n" TEXT(0) "Connection: close\r\n\r\n", true},
    {"GET /echo HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "HTTP/1.1 200 OK\r\n" TEXT(0) "Connection: keep-alive\r\n\r\n", false},
    {"HEAD /abc HTTP/1.1\r\nHost: h\r\n\r\nHEAD /big HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 404 Not Found\r\n" TEXT(4) "\r\nHTTP/1.1 200 OK\r\n" DATE "Content-Length: 3000000\r\n\r\n", false},
    {"HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\n" DATE "Content-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n", false},
    {"GET /same HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n" DATE "\r\n", false},
    {"GET /close HTTP/1.1\r\nHost: h\r\n\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\n" DATE "Content-Length: 0\r\nConnection: close\r\n\r\n", true},
  };
  World w;
  open_world(&w, NULL);
  for (size_t i = 0; i < countof(ROWS); i++) {
    int fd = add_client(&w);
    say(fd, str_from(ROWS[i].request));
    cr_expect_eq(heard(&w, fd, ROWS[i].answer), ROWS[i].closed, "%s", ROWS[i].request);
    close(fd);
    pump(&w);
  }
  cr_assert_eq(conn_server_stats(w.server)->open, 0);
  close_world(&w);
}

Test(conn, mistakes_are_answered_once_and_close) {
  static const struct { const char *request; unsigned status; } ROWS[] = {
    {"hello\r\n\r\n", 400}, {"GET / HTTP/1.1\r\n\r\n", 400}, {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400}, {"GET /../x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n", 413}, {"POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", 413},
    {"POST /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n", 413}, {"POST /small HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", 413},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\n", 400}, {"GET / HTTP/2.0\r\n\r\n", 505},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501}, {"GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", 417},
  };
  World w;
  open_world(&w, NULL);
  for (size_t i = 0; i < countof(ROWS); i++) {
    for (int bytewise = 0; bytewise < 2; bytewise++) {
      int fd = add_client(&w);
      Str request = str_from(ROWS[i].request);
      for (size_t at = 0; bytewise && at < request.len; at++) {
        send(fd, request.ptr + at, 1, MSG_NOSIGNAL);
        pump(&w);
      }
      if (!bytewise) say(fd, request);
      char line[32];
      snprintf(line, sizeof line, "HTTP/1.1 %u ", ROWS[i].status);
      cr_expect(hear(&w, fd), "closed: %s", ROWS[i].request);
      cr_expect(str_starts(buf_str(&w.got), str_from(line)), "%s: %s", ROWS[i].request, w.got.ptr);
      cr_expect_null(strstr(strstr(w.got.ptr, "Date: ") + 1, "Date: "), "one answer: %s", ROWS[i].request);
      cr_expect(strstr(w.got.ptr, "Connection: close\r\n"));
      close(fd);
      pump(&w);
    }
  }
  cr_assert_eq(conn_server_stats(w.server)->open, 0);
  cr_assert_eq(conn_server_stats(w.server)->requests, 0);
  close_world(&w);
}

Test(conn, a_client_that_asks_first_is_told_to_go_on) {
  World w;
  open_world(&w, NULL);
  int fd = add_client(&w);
  say(fd, STR("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"));
  heard(&w, fd, "HTTP/1.1 100 Continue\r\n\r\n");
  say(fd, STR("abc"));
  heard(&w, fd, "HTTP/1.1 200 OK\r\n" TEXT(3) "\r\nabc");
  say(fd, STR("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"));
  heard(&w, fd, "HTTP/1.1 200 OK\r\n" TEXT(3) "\r\nabc");
  close(fd);
  close_world(&w);
}

Test(conn, the_body_limit_holds_at_its_edge) {
  World w;
  open_world(&w, NULL);
  for (int over = 0; over < 2; over++) {
    for (int chunked = 0; chunked < 2; chunked++) {
      int fd = add_client(&w), size = 1000 + over;
      char head[200], body[1100];
      memset(body, 'x', sizeof body);
      snprintf(head, sizeof head, chunked ? "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", (unsigned)size);
      say(fd, str_from(head));
      pump(&w);
      send(fd, body, (size_t)size, MSG_NOSIGNAL);
      send(fd, "\r\n0\r\n\r\n", chunked ? 7 : 0, MSG_NOSIGNAL);
      cr_expect_eq(hear(&w, fd), over);
      cr_expect(str_starts(buf_str(&w.got), over ? STR("HTTP/1.1 413") : STR("HTTP/1.1 200")), "%d %d", over, chunked);
      close(fd);
    }
  }
  close_world(&w);
}

static void wait_ms(World *w, int64_t ms) {
  pump(w);
  clock_fake_advance(&w->clock, ms * 1000);
  pump(w);
}

Test(conn, slow_clients_are_cut) {
  World w;
  open_world(&w, NULL);
  static const struct { const char *said, *answer; int limit_ms; } ROWS[] = {
    {"", "", 10000}, {"GET / HT", "HTTP/1.1 408", 10000}, {"GET / HTTP/1.1\r\nHost: h\r\n", "HTTP/1.1 408", 10000},
    {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc", "HTTP/1.1 408", 30000}, {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab", "HTTP/1.1 408", 30000},
    {"GET /none HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 204", 75000}, {"GET /none HTTP/1.1\r\nHost: h\r\n\r\nGET /", "HTTP/1.1 204", 10000},
  };
  size_t rows = countof(ROWS) - (test_loop_kind() == LOOP_URING);  // there the last one's time begins a round later, when the answer before is out
  for (size_t i = 0; i < rows; i++) {
    int fd = add_client(&w);
    say(fd, str_from(ROWS[i].said));
    wait_ms(&w, ROWS[i].limit_ms - 1);
    cr_assert_eq(conn_server_stats(w.server)->open, 1, "%s", ROWS[i].said);
    wait_ms(&w, 1);
    cr_expect(hear(&w, fd), "%s", ROWS[i].said);
    cr_expect(str_starts(buf_str(&w.got), str_from(ROWS[i].answer)), "%s: %s", ROWS[i].said, w.got.ptr);
    close(fd);
    pump(&w);
    cr_assert_eq(conn_server_stats(w.server)->open, 0, "%s", ROWS[i].said);
  }
  cr_assert_eq(conn_server_stats(w.server)->timed_out, rows);
  close_world(&w);
}

Test(conn, a_header_line_now_and_then_does_not_help) {
  World w;
  open_world(&w, NULL);
  int fd = add_client(&w);
  say(fd, STR("GET / HTTP/1.1\r\n"));
  for (int i = 0; i < 4; i++) {
    wait_ms(&w, 2600);
    send(fd, "A: b\r\n", 6, MSG_NOSIGNAL);
  }
  cr_assert(hear(&w, fd));
  cr_assert(str_starts(buf_str(&w.got), STR("HTTP/1.1 408")));
  close(fd);
  // An unfinished linger ends too.
  fd = add_client(&w);
  say(fd, STR("bad\r\n\r\n"));
  pump(&w);
  cr_assert_eq(conn_server_stats(w.server)->open, 1);
  wait_ms(&w, CONN_LINGER_MS);
  cr_assert_eq(conn_server_stats(w.server)->open, 0);
  close(fd);
  close_world(&w);
}

Test(conn, a_request_in_hand_has_no_deadline_here) {
  World w;
  open_world(&w, NULL);
  int fd = add_client(&w);
  say(fd, STR("GET /later HTTP/1.1\r\nHost: h\r\n\r\n"));
  wait_ms(&w, 3600000);
  cr_assert_eq(w.held_count, 1);
  respond_text(w.held[--w.held_count], 200, STR("x"));
  cr_assert_not(hear(&w, fd));
  wait_ms(&w, 74000);
  cr_assert_eq(conn_server_stats(w.server)->open, 1);
  wait_ms(&w, 1000);
  cr_assert_eq(conn_server_stats(w.server)->open, 0);
  close(fd);
  close_world(&w);
}

Test(conn, large_answers_reach_slow_readers_whole) {
  static const char *const PATHS[] = {"/big", "/copy"};
  World w;
  open_world(&w, NULL);
  for (int i = 0; i < 2; i++) {
    int fd = add_client(&w);
    char request[200];
    snprintf(request, sizeof request, "GET /x HTTP/1.1\r\nHost: h\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\nGET /y HTTP/1.1\r\nHost: h\r\n\r\n", PATHS[i]);
    say(fd, str_from(request));
    pump(&w);
    cr_assert_eq(conn_server_stats(w.server)->requests, (uint64_t)i * 3 + 2, "the third waits until the second is out");
    cr_assert_not(hear(&w, fd));
    const char *body = strstr(w.got.ptr, "Content-Length: 3000000\r\n\r\n");
    cr_assert_not_null(body);
    cr_assert_eq(memcmp(body + 27, w.big->bytes, w.big->len), 0);
    cr_assert(strstr(body + 27 + w.big->len, "404") && !strncmp(body + 27 + w.big->len, "HTTP/1.1 404", 12));
    close(fd);
    pump(&w);
  }
  close_world(&w);
}

Test(conn, a_reader_that_stops_is_cut_and_one_that_goes_is_no_harm) {
  World w;
  open_world(&w, NULL);
  int stuck = add_client(&w), gone = add_client(&w), slow = add_client(&w);
  say(stuck, STR("GET /big HTTP/1.1\r\nHost: h\r\n\r\n"));
  say(gone, STR("GET /big HTTP/1.1\r\nHost: h\r\n\r\n"));
  say(slow, STR("GET /big HTTP/1.1\r\nHost: h\r\n\r\n"));
  pump(&w);
  close(gone);
  pump(&w);
  cr_assert_eq(conn_server_stats(w.server)->open, 2);
  char bytes[100000];
  for (int i = 0; i < 4; i++) {
    wait_ms(&w, 9000);
    cr_assert_gt(recv(slow, bytes, sizeof bytes, 0), 0);
  }
  pump(&w);
  cr_assert_eq(conn_server_stats(w.server)->open, 1, "the stuck one is cut after 30 s, the slow one goes on");
  wait_ms(&w, 30001);
  cr_assert_eq(conn_server_stats(w.server)->open, 0);
  cr_assert_eq(w.big->holders, 1);
  close(stuck);
  close(slow);
  close_world(&w);
}

// ---- Streams

static RefBuf *event_of(int number, size_t len) {
  RefBuf *event = refbuf_new(len);
  cr_assert_not_null(event);
  memset(event->bytes, 'x', len);
  event->bytes[0] = (char)('0' + number);
  return event;
}

static void send_to_all(World *w, int number, size_t len) {
  RefBuf *event = event_of(number, len);
  for (int i = 0; i < w->held_count; i++) conn_stream_send(w->held[i], event);
  refbuf_drop(event);
}

Test(conn, streams_send_events_in_chunks_or_plainly) {
  World w;
  open_world(&w, NULL);
  int new_one = add_client(&w), old_one = add_client(&w);
  say(new_one, STR("GET /stream HTTP/1.1\r\nHost: h\r\n\r\nGET /dropped HTTP/1.1\r\nHost: h\r\n\r\n"));
  say(old_one, STR("GET /stream HTTP/1.0\r\n\r\n"));
  pump(&w);
  send_to_all(&w, 1, 17);
  send_to_all(&w, 2, 1);
  cr_assert_not(heard(&w, new_one, "HTTP/1.1 200 OK\r\n" DATE "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n1xxxxxxxxxxxxxxxx\r\n1\r\n2\r\n"));
  cr_assert_not(heard(&w, old_one, "HTTP/1.1 200 OK\r\n" DATE "Content-Type: text/event-stream\r\nConnection: close\r\n\r\n1xxxxxxxxxxxxxxxx2"));
  wait_ms(&w, 15000);
  cr_assert_not(heard(&w, new_one, "4\r\n: \n\n\r\n"));
  cr_assert_not(heard(&w, old_one, ": \n\n"));
  wait_ms(&w, 10000);
  send_to_all(&w, 3, 1);
  wait_ms(&w, 10000);
  cr_assert_not(heard(&w, new_one, "1\r\n3\r\n"));
  cr_assert_eq(conn_server_stats(w.server)->streams, 2);
  conn_stream_end(w.held[0]);
  conn_stream_end(w.held[1]);
  cr_assert_eq(w.closed, 0, "not from inside");
  cr_assert(heard(&w, new_one, "0\r\n\r\n"));
  cr_assert(heard(&w, old_one, "3"));
  cr_assert_eq(w.closed, 2);
  cr_assert_eq(conn_server_stats(w.server)->streams, 0);
  close(new_one);
  close(old_one);
  close_world(&w);
}

Test(conn, a_slow_subscriber_has_one_event_that_waits_and_it_is_the_newest) {
  World w;
  open_world(&w, NULL);
  int fd = add_client(&w);
  say(fd, STR("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
  pump(&w);
  uint64_t held = 0;
  for (int i = 0; i < 10; i++) {
    send_to_all(&w, i, 1000000);
    if (i == 1) held = mem_blocks_held();
  }
  cr_assert_eq(mem_blocks_held(), held, "memory stays at the event under way and one more");
  cr_assert_eq(conn_server_stats(w.server)->events_replaced, 8);
  conn_stream_end(w.held[0]);
  cr_assert(hear(&w, fd));
  const char *first = strstr(w.got.ptr, "\r\n\r\nf4240\r\n0xx"), *last = strstr(w.got.ptr + 1000000, "\r\nf4240\r\n9xx");
  cr_assert(first && last);
  cr_assert_str_eq(last + 9 + 1000000, "\r\n0\r\n\r\n");
  close(fd);
  close_world(&w);
}

Test(conn, streams_end_when_the_client_goes_or_reads_nothing) {
  World w;
  open_world(&w, NULL);
  int gone = add_client(&w), stuck = add_client(&w), talker = add_client(&w);
  say(gone, STR("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
  say(stuck, STR("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
  say(talker, STR("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
  pump(&w);
  cr_assert_eq(w.held_count, 3);
  close(gone);
  pump(&w);
  cr_assert_eq(w.held_count, 2);
  send_to_all(&w, 1, 2000000);
  char bytes[65536] = {0};
  while (send(talker, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) pump(&w);
  for (int i = 0; i < 1000 && w.held_count > 1; i++) {
    ssize_t more = send(talker, bytes, sizeof bytes, MSG_NOSIGNAL);
    (void)more;
    pump(&w);
  }
  cr_assert_eq(w.held_count, 1, "a subscriber that sends a megabyte is cut");
  wait_ms(&w, 30000);
  cr_assert_eq(w.held_count, 0);
  cr_assert_eq(w.closed, 3);
  close(stuck);
  close(talker);
  close_world(&w);
}

// ---- Stopping

Test(conn, a_stop_lets_answers_out_and_ends_streams) {
  World w;
  open_world(&w, NULL);
  int idle = add_client(&w), stream = add_client(&w), in_hand = add_client(&w), half = add_client(&w);
  say(idle, STR("GET /none HTTP/1.1\r\nHost: h\r\n\r\n"));
  say(stream, STR("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
  pump(&w);
  say(in_hand, STR("GET /later HTTP/1.1\r\nHost: h\r\n\r\n"));
  say(half, STR("GET /none HTTP/1.1\r\n"));
  pump(&w);
  conn_server_stop(w.server, 5000, stopped, &w);
  cr_assert(hear(&w, idle));
  cr_assert(hear(&w, stream));
  cr_assert(str_is(str_part(buf_str(&w.got), w.got.len - 5, w.got.len), "0\r\n\r\n"));
  cr_assert_eq(w.stopped, 0);
  say(half, STR("Host: h\r\n\r\n"));
  cr_assert(heard(&w, half, "HTTP/1.1 204 No Content\r\n" DATE "A: b\r\nConnection: close\r\n\r\n"));
  cr_assert_eq(w.held_count, 1);
  respond_text(w.held[0], 200, STR("done"));
  cr_assert(heard(&w, in_hand, "HTTP/1.1 200 OK\r\n" TEXT(4) "Connection: close\r\n\r\ndone"));
  cr_assert_eq(w.stopped, 1);
  close(idle), close(stream), close(in_hand), close(half);
  w.stopped = 0;
  close_world(&w);
}

Test(conn, what_does_not_end_is_cut_after_the_grace) {
  World w;
  open_world(&w, NULL);
  int in_hand = add_client(&w), half = add_client(&w);
  say(in_hand, STR("GET /later HTTP/1.1\r\nHost: h\r\n\r\n"));
  say(half, STR("GET / HTTP/1.1\r\n"));
  pump(&w);
  conn_server_stop(w.server, 5000, stopped, &w);
  wait_ms(&w, 4999);
  cr_assert_eq(w.stopped, 0);
  wait_ms(&w, 1);
  cr_assert_eq(w.stopped, 1);
  cr_assert_eq(w.closed, 1);
  close(in_hand), close(half);
  w.stopped = 0;
  close_world(&w);
}

// ---- Accepting

static int connect_to(const char *address) {
  struct sockaddr_storage peer = {0};
  unsigned port = (unsigned)strtoul(strrchr(address, ':') + 1, NULL, 10);
  uint16_t port_bytes = __builtin_bswap16((uint16_t)port);
  peer.ss_family = AF_INET;
  memcpy((char *)&peer + 2, &port_bytes, 2);
  memcpy((char *)&peer + 4, "\x7f\0\0\1", 4);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  cr_assert_geq(fd, 0);
  int failed = connect(fd, (struct sockaddr *)&peer, 16);
  cr_assert(!failed || errno == EINPROGRESS);
  return fd;
}

Test(conn, no_more_than_allowed_are_open_and_the_others_come_in_later) {
  World w;
  ConnSettings settings = settings_for_tests();
  settings.connections_max = 2;
  open_world(&w, &settings);
  char address[64];
  ErrText text;
  cr_assert_eq(conn_server_listen(w.server, STR("127.0.0.1:0"), address, &text), ERR_NONE, "%s", text.text);
  int clients[4];
  for (int i = 0; i < 4; i++) clients[i] = connect_to(address);
  for (int i = 0; i < 4; i++) say(clients[i], STR("GET /none HTTP/1.1\r\nHost: h\r\n\r\n"));
  pump(&w);
  cr_assert_eq(conn_server_stats(w.server)->open, 2);
  hear(&w, clients[0]);
  cr_assert_gt(w.got.len, 0);
  hear(&w, clients[3]);
  cr_assert_eq(w.got.len, 0);
  close(clients[0]);
  close(clients[1]);
  pump(&w);
  hear(&w, clients[3]);
  cr_assert_gt(w.got.len, 0);
  cr_assert_eq(conn_server_stats(w.server)->accepted, 4);
  close(clients[2]);
  close(clients[3]);
  close_world(&w);
}

Test(conn, when_full_those_idle_for_long_make_room) {
  World w;
  ConnSettings settings = settings_for_tests();
  settings.connections_max = 2;
  open_world(&w, &settings);
  char address[64];
  cr_assert_eq(conn_server_listen(w.server, STR("127.0.0.1:0"), address, NULL), ERR_NONE);
  int idle = connect_to(address), busy = connect_to(address), waiting = connect_to(address);
  say(idle, STR("GET /none HTTP/1.1\r\nHost: h\r\n\r\n"));
  pump(&w);
  say(waiting, STR("GET /none HTTP/1.1\r\nHost: h\r\n\r\n"));
  for (int i = 0; i < 5; i++) {
    cr_assert_eq(conn_server_stats(w.server)->accepted, 2);
    wait_ms(&w, 990);
    say(busy, STR("GET /none HTTP/1.1\r\nHost: h\r\n\r\n"));
    pump(&w);
  }
  wait_ms(&w, 990);
  cr_assert_eq(conn_server_stats(w.server)->accepted, 3);
  cr_assert(hear(&w, idle));
  cr_assert_not(hear(&w, busy));
  cr_assert_not(hear(&w, waiting));
  cr_assert_gt(w.got.len, 0);
  close(idle), close(busy), close(waiting);
  close_world(&w);
}

Test(conn, without_descriptors_it_waits_and_does_not_spin) {
  World w;
  open_world(&w, NULL);
  char address[64];
  cr_assert_eq(conn_server_listen(w.server, STR("127.0.0.1:0"), address, NULL), ERR_NONE);
  int client = connect_to(address), filler[1024], count = 0;
  struct rlimit limit = {64, 64};
  setrlimit(RLIMIT_NOFILE, &limit);
  while (count < 64 && (filler[count] = dup(client)) >= 0) count++;
  pump(&w);
  cr_assert_eq(conn_server_stats(w.server)->accepted, 0);
  int64_t before_us = clock_mono_us(clock_system());
  cr_assert_eq(loop_turn(w.loop, 30000), ERR_NONE);
  cr_assert_geq(clock_mono_us(clock_system()) - before_us, 25000, "the loop sleeps");
  while (count > 0) close(filler[--count]);
  wait_ms(&w, CONN_ACCEPT_PAUSE_MS);
  cr_assert_eq(conn_server_stats(w.server)->accepted, 1);
  close(client);
  close_world(&w);
}

Test(conn, the_process_keeps_descriptors_for_itself) {
  struct rlimit limit = {64, 64};
  setrlimit(RLIMIT_NOFILE, &limit);
  World w;
  open_world(&w, NULL);
  char address[64];
  cr_assert_eq(conn_server_listen(w.server, STR("127.0.0.1:0"), address, NULL), ERR_NONE);
  int clients[16];
  for (int i = 0; i < 16; i++) clients[i] = connect_to(address);
  for (int i = 0; i < 16; i++) pump(&w);  // a round may accept one
  cr_assert_eq(conn_server_stats(w.server)->open, 16);
  for (int i = 0; i < 16; i++) close(clients[i]);
  close_world(&w);
}

// ---- Memory

static void converse(World *w) {
  int fd = add_client(w), stream = add_client(w);
  say(stream, STR("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
  pump(w);
  for (int i = 0; i < 3; i++) {
    say(fd, STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"));
    pump(w);
    say(fd, STR("GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\nGET /big HTTP/1.1\r\nHost: h\r\nA"));
    pump(w);
    if (w->held_count > 1) respond_text(w->held[--w->held_count], 200, STR("x"));
    for (int k = 0; k < 2 && w->held_count; k++) {
      RefBuf *event = refbuf_copy(STR("event"));
      if (event) conn_stream_send(w->held[0], event);
      refbuf_drop(event);
    }
    pump(w);
    send(fd, ": b\r\n\r\n", 7, MSG_NOSIGNAL);
    hear(w, fd);
  }
  close(fd);
  close(stream);
  pump(w);
}

Test(conn, without_memory_connections_die_and_nothing_leaks) {
  uint64_t held = mem_blocks_held();
  World w;
  for (uint64_t nth = 1; nth < 40; nth++) {
    open_world(&w, NULL);
    buf_add(&w.got, "warm", 4);
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    mem_fail_nth(nth, nth % 2);
    if (conn_server_add(w.server, fds[0]) == ERR_NONE) {
      send(fds[1], "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel", 54, MSG_NOSIGNAL);
      pump(&w);
      send(fds[1], "loGET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\n", 63, MSG_NOSIGNAL);
      pump(&w);
      if (w.held_count) respond_text(w.held[--w.held_count], 200, STR("x"));
      pump(&w);
      send(fds[1], "GET /copy HTTP/1.1\r\nHost: h\r\n\r\n", 32, MSG_NOSIGNAL);
      pump(&w);
    } else {
      close(fds[0]);
    }
    mem_fail_nth(0, 0);
    close(fds[1]);
    pump(&w);
    cr_assert_eq(conn_server_stats(w.server)->open, 0);
    close_world(&w);
  }
  cr_assert_eq(mem_blocks_held(), held);
}

#ifndef AUP_HOSTILE  // there no request is ever whole in the shared buffer
Test(conn, a_warm_server_allocates_nothing_for_whole_requests) {
  if (test_loop_kind() == LOOP_URING) return;  // an answer is copied, so that many go out in one call
  World w;
  open_world(&w, NULL);
  int fd = add_client(&w);
  uint64_t allocations = 0;
  for (int i = 0; i < 20; i++) {
    say(fd, STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /x HTTP/1.1\r\nHost: h\r\n\r\n"));
    hear(&w, fd);
    if (i == 2) allocations = mem_allocations();
  }
  cr_assert_eq(mem_allocations(), allocations);
  close(fd);
  close_world(&w);
}
#endif

Test(conn, all_memory_comes_back) {
  uint64_t held = mem_blocks_held();
  World w;
  open_world(&w, NULL);
  for (int i = 0; i < 3; i++) converse(&w);
  cr_assert_eq(conn_server_stats(w.server)->open, 0);
  close_world(&w);
  cr_assert_eq(mem_blocks_held(), held);
}
