// The loop over epoll(7). Each socket is registered once, edge-triggered, for both directions: no further epoll_ctl in
// its life. Edges are remembered in flags, so a receive that is submitted while nothing can be read costs no system
// call, and one that can be read is tried at its turn. A request so costs one recv, one send and its share of epoll_wait,
// as in the least server one could write.
//
// A receive that fills less than its buffer has emptied the socket, and the next byte makes a new edge (epoll(7)). Only
// an end or an error makes none, so once the kernel has told of one the socket counts as readable for ever.
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/net/loop_back.h"

enum { EVENTS_MAX = 512 };
enum { READABLE = 1, WRITABLE = 2, ENDED = 4 };  // LoopSocket.flags

typedef struct Epoll {
  int fd;
  int at, count;  // the events of this round that are still to be looked at
  struct epoll_event events[EVENTS_MAX];
} Epoll;

static Err epoll_open(Loop *loop, ErrText *out_text) {
  Epoll *epoll = mem_alloc_zero(1, sizeof *epoll);
  if (!epoll) return err_say(ERR_MEMORY, out_text, "no memory for an event loop");
  epoll->fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll->fd < 0) {
    mem_free(epoll);
    return err_say(err_from_errno(errno), out_text, "cannot make an epoll descriptor: %s", strerror(errno));
  }
  loop->state = epoll;
  return ERR_NONE;
}

static void epoll_close_all(Loop *loop) {
  Epoll *epoll = loop->state;
  close(epoll->fd);
  mem_free(epoll);
  loop->state = NULL;
}

static Err epoll_attach(Loop *loop, LoopSocket *socket) {
  Epoll *epoll = loop->state;
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = socket};
  return epoll_ctl(epoll->fd, EPOLL_CTL_ADD, socket->fd, &event) == 0 ? ERR_NONE : err_from_errno(errno);
}

static int32_t send_vectors(LoopSocket *socket, const struct iovec *iov, unsigned count) {
  struct msghdr message = {.msg_iov = (struct iovec *)iov, .msg_iovlen = count};
  ssize_t sent;
  do sent = sendmsg(socket->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent >= 0) return (int32_t)sent;
  if (errno == EAGAIN) socket->flags &= ~WRITABLE;
  return -errno;
}

static int32_t receive(LoopSocket *socket, char *bytes, size_t len) {
  ssize_t got;
  do got = recv(socket->fd, bytes, len, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  bool emptied = got < 0 ? errno == EAGAIN : (size_t)got < len;
  if (emptied && !(socket->flags & ENDED)) socket->flags &= ~READABLE;
  return got < 0 ? -errno : (int32_t)got;
}

static int32_t accept_one(LoopSocket *socket) {
  int fd;
  do fd = accept4(socket->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  if (fd < 0 && errno == EAGAIN) socket->flags &= ~READABLE;
  return fd < 0 ? -errno : fd;
}

// Tries the operation once: its result, or LOOP_PARKED with the operation noted at its socket.
static int32_t epoll_attempt(Loop *loop, LoopOp *op) {
  LoopSocket *socket = op->socket;
  int32_t result = -ECANCELED;
  if (socket->fd < 0) return op->kind == LOOP_OP_CLOSE ? 0 : result;
  switch ((LoopOpKind)op->kind) {
    case LOOP_OP_ACCEPT: result = accept_one(socket); break;
    case LOOP_OP_RECV: result = receive(socket, op->bytes, op->len); break;
    case LOOP_OP_RECV_SHARED:
      op->bytes = loop->shared;
      result = receive(socket, op->bytes, LOOP_RECV_BYTES);
      break;
    case LOOP_OP_SEND: result = send_vectors(socket, op->iov, op->count); break;
    case LOOP_OP_NONE: case LOOP_OP_CLOSE: case LOOP_OP_DEFER: assert(!"has no attempt"); break;
  }
  bool reads = op->kind != LOOP_OP_SEND;
  bool parked = result == -EAGAIN;
  if (reads) socket->reader = parked ? op : NULL;
  else socket->writer = parked ? op : NULL;
  return parked ? LOOP_PARKED : result;
}

// Takes the socket's events of this round away: it may be freed before they would be looked at.
static void forget_events(Epoll *epoll, const LoopSocket *socket) {
  for (int i = epoll->at; i < epoll->count; i++) {
    if (epoll->events[i].data.ptr == socket) epoll->events[i].data.ptr = NULL;
  }
}

static void epoll_detach(Loop *loop, LoopSocket *socket) {
  Epoll *epoll = loop->state;
  forget_events(epoll, socket);
  epoll_ctl(epoll->fd, EPOLL_CTL_DEL, socket->fd, NULL);
  socket->flags = 0;
}

static void queue_parked(Loop *loop, LoopOp **place) {
  if (*place) loop__queue(loop, *place);
  *place = NULL;
}

// Closing queues the parked operations first and the close itself last; all find the descriptor gone.
static void close_socket(Loop *loop, LoopSocket *socket, LoopOp *op) {
  forget_events(loop->state, socket);
  close(socket->fd);  // also takes it out of epoll, since nothing here duplicates descriptors
  socket->fd = -1;
  queue_parked(loop, &socket->reader);
  queue_parked(loop, &socket->writer);
  loop__queue(loop, op);
}

static void epoll_submit(Loop *loop, LoopOp *op) {
  LoopSocket *socket = op->socket;
  switch ((LoopOpKind)op->kind) {
    case LOOP_OP_CLOSE: close_socket(loop, socket, op); return;
    case LOOP_OP_ACCEPT: case LOOP_OP_RECV: case LOOP_OP_RECV_SHARED:
      assert(!socket->reader);
      if (socket->flags & READABLE) break;
      socket->reader = op;
      return;
    case LOOP_OP_SEND:
      assert(!socket->writer);
      if (socket->flags & WRITABLE) break;
      socket->writer = op;
      return;
    case LOOP_OP_NONE: case LOOP_OP_DEFER: break;
  }
  loop__queue(loop, op);
}

static int32_t epoll_send_now(Loop *loop, LoopSocket *socket, const struct iovec *iov, unsigned count) {
  (void)loop;
  return send_vectors(socket, iov, count);
}

static void attempt_parked(Loop *loop, LoopOp *op) {
  int32_t result = epoll_attempt(loop, op);
  if (result != LOOP_PARKED) loop__complete(loop, op, result);
}

// The writer first: what it frees the reader may use. The reader's call may close the socket, so it is the last.
static void handle_event(Loop *loop, const struct epoll_event *event) {
  LoopSocket *socket = event->data.ptr;
  if (!socket) return;
  if (socket == &loop->wake) {
    if (event->events & EPOLLIN) loop__woken(loop);
    return;
  }
  if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) socket->flags |= ENDED | READABLE;
  if (event->events & EPOLLIN) socket->flags |= READABLE;
  if (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) socket->flags |= WRITABLE;
  if ((socket->flags & WRITABLE) && socket->writer) queue_parked(loop, &socket->writer);
  if ((socket->flags & READABLE) && socket->reader) {
    LoopOp *reader = socket->reader;
    socket->reader = NULL;
    attempt_parked(loop, reader);
  }
}

// epoll_pwait2 has the resolution that timers promise; kernels before 5.11 get whole milliseconds, rounded up.
static int wait_for_events(Epoll *epoll, int64_t wait_us) {
  struct timespec limit = {wait_us / 1000000, wait_us % 1000000 * 1000};
  if (wait_us <= 0) return epoll_wait(epoll->fd, epoll->events, EVENTS_MAX, wait_us < 0 ? -1 : 0);
  int count = epoll_pwait2(epoll->fd, epoll->events, EVENTS_MAX, &limit, NULL);
  if (count >= 0 || errno != ENOSYS) return count;
  int64_t wait_ms = (wait_us + 999) / 1000;
  return epoll_wait(epoll->fd, epoll->events, EVENTS_MAX, wait_ms > INT32_MAX ? INT32_MAX : (int)wait_ms);
}

static Err epoll_wait_round(Loop *loop, int64_t wait_us) {
  Epoll *epoll = loop->state;
  int count = wait_for_events(epoll, wait_us);
  if (count < 0 && errno != EINTR) return err_from_errno(errno);
  loop->now_us = clock_mono_us(loop->clock);
  epoll->count = count > 0 ? count : 0;
  for (epoll->at = 0; epoll->at < epoll->count;) handle_event(loop, &epoll->events[epoll->at++]);
  epoll->count = epoll->at = 0;
  return ERR_NONE;
}

const LoopBack LOOP_BACK_EPOLL = {
  .open = epoll_open, .close_all = epoll_close_all, .attach = epoll_attach, .detach = epoll_detach, .submit = epoll_submit, .attempt = epoll_attempt,
  .send_now = epoll_send_now, .wait = epoll_wait_round,
};
