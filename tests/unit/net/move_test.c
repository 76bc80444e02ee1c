// Connections that move between two loops, and such that wait: answers stay in order whatever the cuts, and nothing is lost
// when either side goes.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/net/conn.h"
#include "tests/unit/net/kind.h"

typedef struct Side Side;
typedef struct Pair Pair;
struct Side { Pair *pair; char letter; Loop *loop; ConnServer *server; int stopped; };
struct Pair { Side sides[2]; Conn *waiting; bool ready; int moves, closed; };

// /a… belongs to side a, /b… to side b, /w… waits until `ready`.
static ConnRoute route(void *ctx, Conn *conn, const HttpRequest *head, void **out_where) {
  Side *side = ctx;
  Pair *pair = side->pair;
  char first = head->path.len > 1 ? head->path.ptr[1] : 0;
  if (first == 'w' && !pair->ready) {
    pair->waiting = conn;
    return CONN_WAIT;
  }
  if ((first != 'a' && first != 'b') || first == side->letter) return CONN_HERE;
  *out_where = &pair->sides[first - 'a'];
  return CONN_ELSEWHERE;
}

static void on_moved(void *ctx, Conn *conn, void *where) {
  ((Side *)ctx)->pair->moves++;
  conn_server_adopt(((Side *)where)->server, conn);
}

static void on_request(void *ctx, Conn *conn, const HttpRequest *request) {
  Side *side = ctx;
  char text[64];
  int len = snprintf(text, sizeof text, "%c%.*s%.*s;", side->letter, STR_ARG(request->path), STR_ARG(request->body));
  conn_respond(conn, &(ConnAnswer){.status = 200, .body = {text, (size_t)len}});
}

static void on_close(void *ctx, Conn *conn) {
  Pair *pair = ((Side *)ctx)->pair;
  pair->closed++;
  if (pair->waiting == conn) pair->waiting = NULL;
}

static void open_pair(Pair *pair) {
  *pair = (Pair){0};
  for (int i = 0; i < 2; i++) {
    Side *side = &pair->sides[i];
    *side = (Side){.pair = pair, .letter = (char)('a' + i)};
    cr_assert_eq(loop_new(test_loop_kind(), clock_system(), &side->loop, NULL), ERR_NONE);
    ConnSettings settings = conn_settings_default();
    ConnEvents events = {.ctx = side, .route = route, .on_moved = on_moved, .on_request = on_request, .on_close = on_close};
    cr_assert_eq(conn_server_new(side->loop, &settings, &events, &side->server), ERR_NONE);
  }
}

static void pump(Pair *pair) {
  for (int i = 0; i < 8; i++) {
    for (int s = 0; s < 2; s++) cr_assert_eq(loop_turn(pair->sides[s].loop, 0), ERR_NONE);
  }
}

static void stopped(void *ctx) { ((Side *)ctx)->stopped++; }

static void close_pair(Pair *pair) {
  for (int s = 0; s < 2; s++) conn_server_stop(pair->sides[s].server, 0, stopped, &pair->sides[s]);
  for (int i = 0; i < 100 && !(pair->sides[0].stopped && pair->sides[1].stopped); i++) pump(pair);
  for (int s = 0; s < 2; s++) {
    cr_assert_eq(pair->sides[s].stopped, 1);
    conn_server_free(pair->sides[s].server);
    loop_free(pair->sides[s].loop);
  }
}

static int add_client(Pair *pair) {
  int fds[2];
  cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  cr_assert_eq(conn_server_add(pair->sides[0].server, fds[0]), ERR_NONE);
  return fds[1];
}

// The bodies of all answers so far, one behind the other.
static void hear(Pair *pair, int fd, char *out, size_t size) {
  static char bytes[1 << 16];
  size_t len = 0, out_len = 0;
  for (int idle = 0; idle < 3;) {
    pump(pair);
    ssize_t got = recv(fd, bytes + len, sizeof bytes - 1 - len, MSG_DONTWAIT);
    idle = got > 0 ? 0 : idle + 1;
    if (got > 0) len += (size_t)got;
  }
  bytes[len] = 0;
  for (char *at = bytes; (at = strstr(at, "\r\n\r\n"));) {
    at += 4;
    size_t body = strcspn(at, ";") + 1;
    cr_assert_lt(out_len + body, size);
    memcpy(out + out_len, at, body);
    out_len += body;
  }
  out[out_len] = 0;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"
#define POST(path, body) "POST " path " HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n" body

Test(move, requests_go_where_they_belong_in_order_however_they_are_cut) {
  static const char SAID[] = GET("/a1") GET("/b2") POST("/b3", "xyz") GET("/x4") GET("/a5") POST("/b6", "uvw") GET("/a7");
  static const char WANT[] = "a/a1;b/b2;b/b3xyz;b/x4;a/a5;b/b6uvw;a/a7;";
  for (size_t cut = 0; cut < sizeof SAID; cut += 3) {
    Pair pair;
    char heard[256];
    open_pair(&pair);
    int fd = add_client(&pair);
    cr_assert_eq(send(fd, SAID, cut, 0), (ssize_t)cut);
    pump(&pair);
    cr_assert_eq(send(fd, SAID + cut, sizeof SAID - 1 - cut, 0), (ssize_t)(sizeof SAID - 1 - cut));
    hear(&pair, fd, heard, sizeof heard);
    cr_assert_str_eq(heard, WANT, "cut at %zu", cut);
    cr_assert_eq(pair.moves, 4);
    close(fd);
    close_pair(&pair);
  }
}

Test(move, one_that_waits_is_read_on_when_it_is_resumed) {
  Pair pair;
  char heard[256];
  open_pair(&pair);
  int fd = add_client(&pair);
  static const char SAID[] = GET("/a1") POST("/w2", "xyz") GET("/b3");
  cr_assert_eq(send(fd, SAID, sizeof SAID - 1, 0), (ssize_t)sizeof SAID - 1);
  hear(&pair, fd, heard, sizeof heard);
  cr_assert_str_eq(heard, "a/a1;");
  cr_assert_not_null(pair.waiting);
  pair.ready = true;
  conn_resume(pair.waiting);
  hear(&pair, fd, heard, sizeof heard);
  cr_assert_str_eq(heard, "a/w2xyz;b/b3;");
  close(fd);
  close_pair(&pair);
}

Test(move, one_that_waits_may_be_cut_and_tells_so) {
  uint64_t held = mem_blocks_held();
  Pair pair;
  open_pair(&pair);
  int fd = add_client(&pair);
  static const char SAID[] = GET("/w1");
  cr_assert_eq(send(fd, SAID, sizeof SAID - 1, 0), (ssize_t)sizeof SAID - 1);
  pump(&pair);
  cr_assert_not_null(pair.waiting);
  close_pair(&pair);
  cr_assert_eq(pair.closed, 1);
  cr_assert_null(pair.waiting);
  close(fd);
  cr_assert_eq(mem_blocks_held(), held);
}
