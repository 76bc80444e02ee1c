#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/base/rng.h"
#include "runtime/net/listen.h"
#include "runtime/net/loop.h"
#include "tests/unit/net/kind.h"

static Loop *new_loop(const Clock *clock) {
  Loop *loop = NULL;
  ErrText text;
  cr_assert_eq(loop_new(test_loop_kind(), clock, &loop, &text), ERR_NONE, "%s", text.text);
  return loop;
}

typedef struct Seen { int count; int32_t result; char bytes[256]; } Seen;

static void note(LoopOp *op, int32_t result) {
  Seen *seen = op->ctx;
  seen->count++;
  seen->result = result;
  if (result > 0 && op->bytes && result < (int32_t)sizeof seen->bytes) memcpy(seen->bytes, op->bytes, (size_t)result);
}

static void note_plain(LoopOp *op, int32_t result) {
  Seen *seen = op->ctx;
  seen->count++;
  seen->result = result;
}

static void turn_until(Loop *loop, const int *count, int want) {
  for (int i = 0; i < 1000 && *count < want; i++) cr_assert_eq(loop_turn(loop, 10000), ERR_NONE);
  cr_assert_eq(*count, want);
}

static void make_pair(Loop *loop, LoopSocket *near, int *far) {
  int fds[2];
  cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  cr_assert_eq(loop_attach(loop, near, fds[0]), ERR_NONE);
  *far = fds[1];
}

static void close_now(Loop *loop, LoopSocket *socket) {
  Seen closed = {0};
  LoopOp op;
  loop_op_init(&op, note_plain, &closed);
  loop_close(loop, socket, &op);
  turn_until(loop, &closed.count, 1);
}

Test(loop, receives_what_came_before_and_after_the_receive) {
  Loop *loop = new_loop(clock_system());
  LoopSocket near;
  int far;
  make_pair(loop, &near, &far);
  Seen seen = {0};
  LoopOp op;
  loop_op_init(&op, note, &seen);
  for (int shared = 0; shared < 2; shared++) {
    for (int before = 0; before < 2; before++) {
      char bytes[16];
      if (before) cr_assert_eq(write(far, "hello", 5), 5);
      cr_assert_eq(loop_turn(loop, 0), ERR_NONE);
      seen.count = 0;
      if (shared) loop_recv_shared(loop, &near, &op);
      else loop_recv(loop, &near, &op, bytes, sizeof bytes);
      cr_assert_eq(seen.count, 0, "never inside the submitting call");
      cr_assert_eq(loop_turn(loop, 0), ERR_NONE);
      if (!before) cr_assert_eq(write(far, "hello", 5), 5);
      turn_until(loop, &seen.count, 1);
      cr_assert_eq(seen.result, 5);
      cr_assert_arr_eq(seen.bytes, "hello", 5);
    }
  }
  close_now(loop, &near);
  close(far);
  loop_free(loop);
}

Test(loop, the_end_that_comes_with_the_last_bytes_is_not_lost) {
  Loop *loop = new_loop(clock_system());
  LoopSocket near;
  int far;
  make_pair(loop, &near, &far);
  Seen seen = {0};
  LoopOp op;
  loop_op_init(&op, note, &seen);
  cr_assert_eq(write(far, "x", 1), 1);
  close(far);
  loop_recv_shared(loop, &near, &op);
  turn_until(loop, &seen.count, 1);
  cr_assert_eq(seen.result, 1);
  loop_recv_shared(loop, &near, &op);
  turn_until(loop, &seen.count, 2);
  cr_assert_eq(seen.result, 0);
  close_now(loop, &near);
  loop_free(loop);
}

Test(loop, a_send_waits_for_a_slow_reader_and_a_gone_one_is_an_error) {
  Loop *loop = new_loop(clock_system());
  LoopSocket near;
  int far;
  make_pair(loop, &near, &far);
  static char big[1 << 20];
  struct iovec iov[2] = {{big, sizeof big}, {big, sizeof big}};
  if (test_loop_kind() == LOOP_URING) {  // which sends nothing at once
    while (send(near.fd, big, sizeof big, MSG_DONTWAIT) > 0) {}
  } else {
    int32_t first = loop_send_now(loop, &near, iov, 2);
    cr_assert(first > 0 && first < 2 << 20);
  }
  cr_assert_eq(loop_send_now(loop, &near, iov, 2), -EAGAIN);
  Seen seen = {0};
  LoopOp op;
  loop_op_init(&op, note_plain, &seen);
  loop_send(loop, &near, &op, iov, 2);
  for (int i = 0; i < 3; i++) cr_assert_eq(loop_turn(loop, 1000), ERR_NONE);
  cr_assert_eq(seen.count, 0);
  while (read(far, big, sizeof big) > 0) {}
  turn_until(loop, &seen.count, 1);
  cr_assert_gt(seen.result, 0);
  while (read(far, big, sizeof big) > 0) {}
  close(far);
  loop_send(loop, &near, &op, iov, 1);
  turn_until(loop, &seen.count, 2);
  cr_assert_eq(seen.result, -EPIPE);
  close_now(loop, &near);
  loop_free(loop);
}

static int order;
static void note_order(LoopOp *op, int32_t result) {
  Seen *seen = op->ctx;
  seen->count = ++order;
  seen->result = result;
}

Test(loop, closing_cancels_what_is_pending_and_is_done_last) {
  Loop *loop = new_loop(clock_system());
  LoopSocket near;
  int far;
  make_pair(loop, &near, &far);
  static char big[1 << 20];
  struct iovec iov[1] = {{big, sizeof big}};
  while (loop_send_now(loop, &near, iov, 1) > 0) {}
  Seen receive = {0}, send = {0}, closed = {0};
  LoopOp receive_op, send_op, close_op;
  loop_op_init(&receive_op, note_order, &receive);
  loop_op_init(&send_op, note_order, &send);
  loop_op_init(&close_op, note_order, &closed);
  loop_recv_shared(loop, &near, &receive_op);
  loop_send(loop, &near, &send_op, iov, 1);
  loop_close(loop, &near, &close_op);
  cr_assert_eq(order, 0);
  for (int i = 0; i < 3; i++) cr_assert_eq(loop_turn(loop, 0), ERR_NONE);
  cr_assert_eq(receive.result, -ECANCELED);
  cr_assert_eq(send.result, -ECANCELED);
  cr_assert_eq(closed.result, 0);
  cr_assert_eq(order, 3);
  cr_assert_eq(closed.count, 3, "the close is the last");
  cr_assert_eq(read(far, big, 1), 1);
  close(far);
  loop_free(loop);
}

typedef struct Both { Loop *loop; LoopSocket sockets[2]; LoopOp receive[2], close[2]; int received, closed; } Both;

static void both_closed(LoopOp *op, int32_t result) { ((Both *)op->ctx)->closed += result == 0; }
static void close_the_other(LoopOp *op, int32_t result) {
  Both *both = op->ctx;
  if (result == -ECANCELED) return;
  both->received++;
  int other = op == &both->receive[0];
  loop_close(both->loop, &both->sockets[other], &both->close[other]);
}

Test(loop, a_socket_closed_in_the_round_of_its_event_hears_nothing_of_it) {
  Both both = {.loop = new_loop(clock_system())};
  int far[2];
  for (int i = 0; i < 2; i++) {
    make_pair(both.loop, &both.sockets[i], &far[i]);
    loop_op_init(&both.receive[i], close_the_other, &both);
    loop_op_init(&both.close[i], both_closed, &both);
    loop_recv_shared(both.loop, &both.sockets[i], &both.receive[i]);
  }
  for (int i = 0; i < 3; i++) cr_assert_eq(loop_turn(both.loop, 0), ERR_NONE);
  for (int i = 0; i < 2; i++) cr_assert_eq(write(far[i], "x", 1), 1);
  turn_until(both.loop, &both.closed, 1);
  cr_assert_eq(both.received, 1);
  close_now(both.loop, &both.sockets[both.sockets[0].fd < 0]);
  close(far[0]);
  close(far[1]);
  loop_free(both.loop);
}

typedef struct Fired { int64_t last_us; int count; ClockFake *clock; } Fired;
static void fire(LoopTimer *timer) {
  Fired *fired = timer->ctx;
  cr_assert_geq(timer->due_us, fired->last_us, "in order");
  cr_assert_leq(timer->due_us, fired->clock->mono_us, "not early");
  fired->last_us = timer->due_us;
  fired->count++;
}

Test(loop, timers_fire_in_order_once_and_not_when_stopped) {
  enum { COUNT = 500 };
  ClockFake clock;
  clock_fake_init(&clock, 0);
  Loop *loop = new_loop(&clock.clock);
  static LoopTimer timers[COUNT];
  Fired fired = {.clock = &clock};
  Rng rng;
  rng_seed(&rng, 1);
  int expected = 0;
  for (int i = 0; i < COUNT; i++) {
    loop_timer_init(&timers[i], fire, &fired);
    loop_timer_start(loop, &timers[i], (int64_t)rng_below(&rng, 10000));
  }
  uint64_t allocations = mem_allocations();
  for (int i = 0; i < COUNT; i++) {
    uint64_t what = rng_below(&rng, 3);
    if (what == 0) loop_timer_stop(loop, &timers[i]);
    if (what == 1) loop_timer_start(loop, &timers[i], (int64_t)rng_below(&rng, 10000));
    if (what == 0) loop_timer_stop(loop, &timers[i]);
    expected += what != 0;
  }
  for (int i = 0; i < 101; i++) {
    cr_assert_eq(loop_turn(loop, 0), ERR_NONE);
    clock_fake_advance(&clock, 100);
  }
  cr_assert_eq(fired.count, expected);
  cr_assert_eq(mem_allocations(), allocations);
  loop_free(loop);
}

static int again;
static void fire_again(LoopTimer *timer) {
  if (++again < 3) loop_timer_start(timer->ctx, timer, loop_now_us(timer->ctx) + 1000);
}

Test(loop, a_timer_may_start_itself_and_ends_the_wait) {
  Loop *loop = new_loop(clock_system());
  LoopTimer timer;
  loop_timer_init(&timer, fire_again, loop);
  loop_timer_start(loop, &timer, loop_now_us(loop) + 1000);
  for (int i = 0; i < 20 && again < 3; i++) cr_assert_eq(loop_turn(loop, -1), ERR_NONE);
  cr_assert_eq(again, 3);
  loop_free(loop);
}

static void on_wake(void *ctx) { ++*(int *)ctx; }
static void *wake_from_elsewhere(void *loop) {
  loop_wake(loop);
  return NULL;
}

Test(loop, another_thread_can_wake_it) {
  Loop *loop = new_loop(clock_system());
  int woken = 0;
  loop_on_wake(loop, on_wake, &woken);
  for (int want = 1; want < 4; want++) {
    pthread_t thread;
    pthread_create(&thread, NULL, wake_from_elsewhere, loop);
    while (woken < want) cr_assert_eq(loop_turn(loop, -1), ERR_NONE);
    pthread_join(thread, NULL);
  }
  loop_wake(loop);
  loop_wake(loop);
  cr_assert_eq(loop_turn(loop, -1), ERR_NONE);
  cr_assert_eq(woken, 4, "two calls, one wake");
  loop_free(loop);
}

static void defer_again(LoopOp *op, int32_t result) {
  Both *both = op->ctx;
  cr_assert_eq(result, 0);
  both->received++;
  if (!both->closed) loop_defer(both->loop, op);
}

Test(loop, deferred_work_runs_without_waiting_and_never_for_ever_in_one_round) {
  Both both = {.loop = new_loop(clock_system())};
  LoopOp op;
  loop_op_init(&op, defer_again, &both);
  loop_defer(both.loop, &op);
  cr_assert_eq(both.received, 0);
  for (int round = 1; round <= 3; round++) {
    int before = both.received;
    cr_assert_eq(loop_turn(both.loop, -1), ERR_NONE);
    cr_assert_gt(both.received, before);
  }
  both.closed = 1;
  cr_assert_eq(loop_turn(both.loop, -1), ERR_NONE);
  loop_free(both.loop);
}

Test(loop, says_when_there_is_no_memory) {
  for (uint64_t nth = 1; nth <= 3; nth++) {
    uint64_t held = mem_blocks_held();
    Loop *loop = NULL;
    mem_fail_nth(nth, 0);
    cr_assert_eq(loop_new(test_loop_kind(), clock_system(), &loop, NULL), ERR_MEMORY, "%d", (int)nth);
    cr_assert_eq(mem_blocks_held(), held);
  }
}

Test(listen, takes_numbers_and_says_what_is_wrong) {
  static const struct { const char *address; Err err; const char *words; } ROWS[] = {
    {"127.0.0.1:0", ERR_NONE, ""}, {"[::1]:0", ERR_NONE, ""}, {":0", ERR_NONE, ""}, {"localhost:80", ERR_FORMAT, "is no address"},
    {"127.0.0.1", ERR_FORMAT, "is no address"}, {"127.0.0.1:", ERR_FORMAT, "is no address"}, {"127.0.0.1:65536", ERR_FORMAT, "is no address"},
    {"127.0.0.1:80x", ERR_FORMAT, "is no address"}, {"::1:80", ERR_FORMAT, "is no address"}, {"", ERR_FORMAT, "is no address"},
    {"999.0.0.1:80", ERR_FORMAT, "is no address"}, {"203.0.113.7:0", ERR_IO, "this machine has no address"}, {"127.0.0.1:-1", ERR_FORMAT, "is no address"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    int fd = -1;
    ErrText text = {""};
    cr_expect_eq(listen_on(str_from(ROWS[i].address), &fd, &text), ROWS[i].err, "%s", ROWS[i].address);
    cr_expect(strstr(text.text, ROWS[i].words), "%s: %s", ROWS[i].address, text.text);
    if (fd >= 0) close(fd);
  }
  cr_expect(listen_is_loopback(STR("127.9.0.1:80")) && listen_is_loopback(STR("[::1]:0")));
  cr_expect_not(listen_is_loopback(STR(":80")) || listen_is_loopback(STR("10.0.0.1:80")) || listen_is_loopback(STR("[::]:80")));
}

Test(listen, a_port_in_use_is_one_line) {
  int first, second;
  ErrText text;
  char address[ADDRESS_TEXT_BYTES];
  cr_assert_eq(listen_on(STR("127.0.0.1:0"), &first, &text), ERR_NONE);
  listen_address_text(first, false, address);
  cr_assert_eq(listen_on(str_from(address), &second, &text), ERR_EXISTS);
  cr_assert(strstr(text.text, "is in use"), "%s", text.text);
  close(first);
}

static void *close_soon(void *fd) {
  usleep(60000);
  close(*(int *)fd);
  return NULL;
}

Test(listen, waits_for_a_port_that_a_killed_process_still_has_for_a_moment) {
  int first, second = -1;
  ErrText text;
  char address[ADDRESS_TEXT_BYTES];
  pthread_t thread;
  cr_assert_eq(listen_on(STR("127.0.0.1:0"), &first, &text), ERR_NONE);
  listen_address_text(first, false, address);
  pthread_create(&thread, NULL, close_soon, &first);
  cr_assert_eq(listen_on(str_from(address), &second, &text), ERR_NONE, "%s", text.text);
  pthread_join(thread, NULL);
  close(second);
}

Test(loop, accepts_one_connection_an_operation) {
  Loop *loop = new_loop(clock_system());
  int fd;
  ErrText text;
  cr_assert_eq(listen_on(STR("127.0.0.1:0"), &fd, &text), ERR_NONE);
  struct sockaddr_storage address;
  socklen_t len = sizeof address;
  getsockname(fd, (struct sockaddr *)&address, &len);
  LoopSocket listener;
  cr_assert_eq(loop_attach(loop, &listener, fd), ERR_NONE);
  int clients[3];
  for (int i = 0; i < 3; i++) {
    clients[i] = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(clients[i], (struct sockaddr *)&address, len), 0);
  }
  Seen seen = {0};
  LoopOp op;
  loop_op_init(&op, note_plain, &seen);
  for (int i = 0; i < 3; i++) {
    loop_accept(loop, &listener, &op);
    turn_until(loop, &seen.count, i + 1);
    cr_assert_geq(seen.result, 0);
    close(seen.result);
  }
  loop_accept(loop, &listener, &op);
  for (int i = 0; i < 3; i++) cr_assert_eq(loop_turn(loop, 100), ERR_NONE);
  cr_assert_eq(seen.count, 3);
  close_now(loop, &listener);
  cr_assert_eq(seen.result, -ECANCELED);
  for (int i = 0; i < 3; i++) close(clients[i]);
  loop_free(loop);
}
