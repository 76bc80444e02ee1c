// What every back end shares: the queue of operations to try, timers, the wake descriptor, and the round itself.
//
// Timers are a pairing heap (Fredman and others, 1986): nodes live in their users, so starting one never allocates and
// cannot fail; starting costs O(1), firing and stopping O(log n) amortised. Connections move their deadline without
// touching the heap (conn.c), so the heap sees one start a connection and not one a request.
#include "runtime/net/loop.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/net/loop_back.h"

enum { ATTEMPTS_A_ROUND = 128 };

// ---- Making and freeing

static Err open_wake(Loop *loop, ErrText *out_text) {
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return err_say(err_from_errno(errno), out_text, "cannot make an eventfd: %s", strerror(errno));
  loop->wake.fd = fd;
  Err err = loop->back->attach(loop, &loop->wake);
  return err ? err_say(err, out_text, "cannot watch an eventfd: %s", err_words(err)) : ERR_NONE;
}

Err loop_new(LoopKind kind, const Clock *clock, Loop **out_loop, ErrText *out_text) {
  Loop *loop = mem_alloc_zero(1, sizeof *loop);
  if (!loop) return err_say(ERR_MEMORY, out_text, "no memory for an event loop");
  loop->back = kind == LOOP_EPOLL ? &LOOP_BACK_EPOLL : &LOOP_BACK_URING;
  loop->clock = clock;
  loop->deferred_last = &loop->deferred;
  loop->now_us = clock_mono_us(clock);
  loop->wake.fd = -1;
  loop->shared = mem_alloc(LOOP_RECV_BYTES);
  if (loop->shared && kind == LOOP_AUTO && loop->back->open(loop, NULL) != ERR_NONE) loop->back = &LOOP_BACK_EPOLL;
  Err err = loop->state ? ERR_NONE : loop->shared ? loop->back->open(loop, out_text) : err_say(ERR_MEMORY, out_text, "no memory for an event loop");
  if (!err) err = open_wake(loop, out_text);
  if (err) {
    loop_free(loop);
    return err;
  }
  *out_loop = loop;
  return ERR_NONE;
}

void loop_free(Loop *loop) {
  if (!loop) return;
  if (loop->wake.fd >= 0) close(loop->wake.fd);
  if (loop->state) loop->back->close_all(loop);
  mem_free(loop->shared);
  mem_free(loop);
}

void loop_on_wake(Loop *loop, void (*on_wake)(void *ctx), void *ctx) {
  loop->on_wake = on_wake;
  loop->wake_ctx = ctx;
}

const Clock *loop_clock(const Loop *loop) { return loop->clock; }
int64_t loop_now_us(const Loop *loop) { return loop->now_us; }

void loop_wake(Loop *loop) {
  if (atomic_exchange(&loop->woken, true)) return;
  int error_before = errno;  // a signal handler must leave it alone
  ssize_t written = write(loop->wake.fd, &(uint64_t){1}, sizeof(uint64_t));
  (void)written;  // it can only fail when the counter is full, and then the loop wakes anyway
  errno = error_before;
}

void loop__woken(Loop *loop) {
  uint64_t count;
  ssize_t got = read(loop->wake.fd, &count, sizeof count);
  (void)got;
  atomic_store(&loop->woken, false);  // before on_wake looks, so that what comes during it wakes again
  if (loop->on_wake) loop->on_wake(loop->wake_ctx);
}

// ---- Operations

void loop__queue(Loop *loop, LoopOp *op) {
  op->next = NULL;
  if (loop->queue_last) loop->queue_last->next = op;
  else loop->queue_first = op;
  loop->queue_last = op;
}

void loop__complete(Loop *loop, LoopOp *op, int32_t result) {
  (void)loop;
  assert(op->pending && result != LOOP_PARKED);
  op->pending = false;
  op->done(op, result);
}

static void submit(Loop *loop, LoopSocket *socket, LoopOp *op, LoopOpKind kind) {
  assert(!op->pending && op->done);
  assert(socket->fd >= 0 && !socket->closer);
  op->socket = socket;
  op->kind = kind;
  op->pending = true;
  loop->back->submit(loop, op);
}

void loop_accept(Loop *loop, LoopSocket *listener, LoopOp *op) { submit(loop, listener, op, LOOP_OP_ACCEPT); }

void loop_recv(Loop *loop, LoopSocket *socket, LoopOp *op, char *bytes, size_t len) {
  assert(len > 0);
  op->bytes = bytes;
  op->len = len;
  submit(loop, socket, op, LOOP_OP_RECV);
}

void loop_recv_shared(Loop *loop, LoopSocket *socket, LoopOp *op) { submit(loop, socket, op, LOOP_OP_RECV_SHARED); }

void loop_send(Loop *loop, LoopSocket *socket, LoopOp *op, struct iovec *iov, unsigned count) {
  assert(count > 0);
  op->iov = iov;
  op->count = count;
  submit(loop, socket, op, LOOP_OP_SEND);
}

int32_t loop_send_now(Loop *loop, LoopSocket *socket, const struct iovec *iov, unsigned count) {
  assert(!socket->writer && !socket->closer && socket->fd >= 0);
  return loop->back->send_now(loop, socket, iov, count);
}

void loop_close(Loop *loop, LoopSocket *socket, LoopOp *op) { submit(loop, socket, op, LOOP_OP_CLOSE); }
void loop_defer(Loop *loop, LoopOp *op) {
  assert(!op->pending && op->done);
  *op = (LoopOp){.done = op->done, .ctx = op->ctx, .kind = LOOP_OP_DEFER, .pending = true};
  *loop->deferred_last = op;
  loop->deferred_last = &op->next;
}

Err loop_attach(Loop *loop, LoopSocket *socket, int fd) {
  *socket = (LoopSocket){.fd = fd};
  return loop->back->attach(loop, socket);
}

void loop_detach(Loop *loop, LoopSocket *socket) {
  assert(socket->fd >= 0 && !socket->reader && !socket->writer && !socket->closer);
  loop->back->detach(loop, socket);
}

// ---- Timers: a pairing heap. `previous` is the left neighbour, or the parent for a first child.

static LoopTimer *meld(LoopTimer *a, LoopTimer *b) {
  if (!a) return b;
  if (!b) return a;
  if (b->due_us < a->due_us) {
    LoopTimer *swap = a;
    a = b;
    b = swap;
  }
  b->next = a->child;
  if (b->next) b->next->previous = b;
  b->previous = a;
  a->child = b;
  a->next = a->previous = NULL;
  return a;
}

// Melds the children in pairs from the left, then the pairs from the right, without recursion.
static LoopTimer *meld_children(LoopTimer *first) {
  LoopTimer *pairs = NULL, *heap = NULL;
  while (first) {
    LoopTimer *a = first, *b = a->next;
    first = b ? b->next : NULL;
    a->next = a->previous = NULL;
    if (b) b->next = b->previous = NULL;
    LoopTimer *pair = meld(a, b);
    pair->next = pairs;
    pairs = pair;
  }
  while (pairs) {
    LoopTimer *pair = pairs;
    pairs = pair->next;
    pair->next = NULL;
    heap = meld(heap, pair);
  }
  return heap;
}

void loop_timer_stop(Loop *loop, LoopTimer *timer) {
  if (!timer->running) return;
  LoopTimer *children = meld_children(timer->child);
  if (timer == loop->timers) {
    loop->timers = children;
  } else {
    LoopTimer *previous = timer->previous;
    if (previous->child == timer) previous->child = timer->next;
    else previous->next = timer->next;
    if (timer->next) timer->next->previous = previous;
    loop->timers = meld(loop->timers, children);
  }
  timer->child = timer->next = timer->previous = NULL;
  timer->running = false;
}

void loop_timer_start(Loop *loop, LoopTimer *timer, int64_t due_us) {
  assert(timer->fire);
  loop_timer_stop(loop, timer);
  timer->due_us = due_us;
  timer->running = true;
  loop->timers = meld(loop->timers, timer);
}

// ---- The round

// What was deferred during the round before: not what these defer in turn, so that work which goes on in pieces takes turns
// with the sockets.
static void do_deferred(Loop *loop) {
  LoopOp *op = loop->deferred;
  loop->deferred = NULL;
  loop->deferred_last = &loop->deferred;
  for (LoopOp *next; op; op = next) {
    next = op->next;
    loop__complete(loop, op, 0);
  }
}

// What is queued, and some of what that queues again (a listener that has more connections to give); not all, so that nothing
// keeps the loop from looking at its sockets.
static void attempt_queued(Loop *loop) {
  for (unsigned left = ATTEMPTS_A_ROUND; loop->queue_first && left > 0; left--) {
    LoopOp *op = loop->queue_first;
    loop->queue_first = op->next;
    if (!loop->queue_first) loop->queue_last = NULL;
    int32_t result = loop->back->attempt(loop, op);
    if (result != LOOP_PARKED) loop__complete(loop, op, result);
  }
}

static void fire_due(Loop *loop) {
  int64_t now_us = loop->now_us;
  while (loop->timers && loop->timers->due_us <= now_us) {
    LoopTimer *timer = loop->timers;
    loop_timer_stop(loop, timer);
    timer->fire(timer);
  }
}

static int64_t time_to_wait(const Loop *loop, int64_t wait_us_max) {
  if (loop->queue_first || loop->deferred) return 0;
  if (!loop->timers) return wait_us_max;
  int64_t until_us = loop->timers->due_us - clock_mono_us(loop->clock);
  if (until_us < 0) until_us = 0;
  return wait_us_max < 0 || until_us < wait_us_max ? until_us : wait_us_max;
}

Err loop_turn(Loop *loop, int64_t wait_us_max) {
  TRY(loop->back->wait(loop, time_to_wait(loop, wait_us_max)));
  do_deferred(loop);
  attempt_queued(loop);
  loop->now_us = clock_mono_us(loop->clock);
  fire_due(loop);
  return ERR_NONE;
}
