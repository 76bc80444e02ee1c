// The loop over io_uring(7), by liburing. Operations become entries of the submission ring and go to the kernel together, in
// the call that also waits: a round of many receives and sends is one system call.
//
// A receive into the loop's memory takes one of a ring of buffers when its bytes are there (provided buffers), so a
// connection that waits holds none. The buffer goes back as soon as its operation's call returns.
//
// The kernel does not wait for descriptors that are non-blocking, so they are made blocking while they are attached.
//
// A close cancels what is pending and happens when the last of it has come back; until then the kernel may still write where
// an operation points to.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/net/loop_back.h"

#ifdef AUP_HOSTILE
enum { RING_ENTRIES = 4, BUFFERS = 2, BUFFER_BYTES = LOOP_RECV_BYTES };
#else
enum { RING_ENTRIES = 512, BUFFERS = 64, BUFFER_BYTES = 16 * 1024 };
#endif
enum { COMPLETIONS_A_ROUND = 512, GROUP = 0, BUFFER_RING_ALIGNMENT = 4096 };
enum { TAG_NOTHING = 0, TAG_WAKE = 1 };  // user data that is no LoopOp

typedef struct Done { uint64_t tag; int32_t result; uint32_t flags; } Done;

typedef struct Uring {
  struct io_uring ring;
  struct io_uring_buf_ring *buffer_ring;
  void *ring_block;                      // the buffer ring is the whole page in it
  char *buffers;
  struct msghdr messages[RING_ENTRIES];  // of the entries that are not submitted yet: the kernel copies them then
  Done done[COMPLETIONS_A_ROUND];
} Uring;

// ---- making -----------------------------------------------------------------------------------------------

static void free_uring(Uring *uring, bool has_ring) {
  if (has_ring) io_uring_queue_exit(&uring->ring);
  mem_free(uring->ring_block);
  mem_free(uring->buffers);
  mem_free(uring);
}

static void provide(Uring *uring, unsigned number) {
  io_uring_buf_ring_add(uring->buffer_ring, uring->buffers + (size_t)number * BUFFER_BYTES, BUFFER_BYTES, (unsigned short)number, io_uring_buf_ring_mask(BUFFERS), 0);
  io_uring_buf_ring_advance(uring->buffer_ring, 1);
}

static int provide_all(Uring *uring) {
  uring->buffers = mem_alloc((size_t)BUFFERS * BUFFER_BYTES);
  uring->ring_block = mem_alloc_zero(2, BUFFER_RING_ALIGNMENT);
  if (!uring->buffers || !uring->ring_block) return -ENOMEM;
  uintptr_t page = ((uintptr_t)uring->ring_block + BUFFER_RING_ALIGNMENT - 1) & ~(uintptr_t)(BUFFER_RING_ALIGNMENT - 1);
  uring->buffer_ring = (struct io_uring_buf_ring *)page;
  _Static_assert(BUFFERS * sizeof(struct io_uring_buf) <= BUFFER_RING_ALIGNMENT, "the ring of buffers is one page");
  struct io_uring_buf_reg reg = {.ring_addr = (uint64_t)(uintptr_t)uring->buffer_ring, .ring_entries = BUFFERS, .bgid = GROUP};
  int failed = io_uring_register_buf_ring(&uring->ring, &reg, 0);
  if (failed) return failed;
  io_uring_buf_ring_init(uring->buffer_ring);
  for (unsigned i = 0; i < BUFFERS; i++) provide(uring, i);
  return 0;
}

static Err uring_open(Loop *loop, ErrText *out_text) {
  Uring *uring = mem_alloc_zero(1, sizeof *uring);
  if (!uring) return err_say(ERR_MEMORY, out_text, "no memory for an event loop");
  int failed = io_uring_queue_init(RING_ENTRIES, &uring->ring, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
  bool has_ring = failed == 0;
  if (has_ring) failed = provide_all(uring);
  if (failed) {
    free_uring(uring, has_ring);
    return err_say(err_from_errno(-failed), out_text, "io_uring cannot be used here (%s): --loop=epoll can", strerror(-failed));
  }
  loop->state = uring;
  return ERR_NONE;
}

static void uring_close_all(Loop *loop) {
  free_uring(loop->state, true);
  loop->state = NULL;
}

// ---- submitting -------------------------------------------------------------------------------------------

static struct io_uring_sqe *take_entry(Uring *uring) {
  struct io_uring_sqe *entry = io_uring_get_sqe(&uring->ring);
  while (!entry) {  // full: to the kernel with it
    io_uring_submit(&uring->ring);
    entry = io_uring_get_sqe(&uring->ring);
  }
  return entry;
}

static void watch_wake(Loop *loop) {
  struct io_uring_sqe *entry = take_entry(loop->state);
  io_uring_prep_poll_multishot(entry, loop->wake.fd, POLLIN);
  io_uring_sqe_set_data64(entry, TAG_WAKE);
}

static Err uring_attach(Loop *loop, LoopSocket *socket) {
  if (socket == &loop->wake) {
    watch_wake(loop);
    return ERR_NONE;
  }
  int flags = fcntl(socket->fd, F_GETFL);
  if (flags < 0 || ((flags & O_NONBLOCK) && fcntl(socket->fd, F_SETFL, flags & ~O_NONBLOCK) != 0)) return err_from_errno(errno);
  return ERR_NONE;
}

static void uring_detach(Loop *loop, LoopSocket *socket) {
  (void)loop;
  int flags = fcntl(socket->fd, F_GETFL);
  if (flags >= 0) (void)fcntl(socket->fd, F_SETFL, flags | O_NONBLOCK);
}

static void prepare_send(Uring *uring, struct io_uring_sqe *entry, const LoopOp *op) {
  if (op->count == 1) {
    io_uring_prep_send(entry, op->socket->fd, op->iov->iov_base, op->iov->iov_len, MSG_NOSIGNAL);
    return;
  }
  struct msghdr *message = &uring->messages[entry - uring->ring.sq.sqes];
  *message = (struct msghdr){.msg_iov = op->iov, .msg_iovlen = op->count};
  io_uring_prep_sendmsg(entry, op->socket->fd, message, MSG_NOSIGNAL);
}

static void submit_transfer(Loop *loop, LoopOp *op) {
  Uring *uring = loop->state;
  LoopSocket *socket = op->socket;
  struct io_uring_sqe *entry = take_entry(uring);
  bool is_shared = op->kind == LOOP_OP_RECV_SHARED;
  if (op->kind == LOOP_OP_SEND) prepare_send(uring, entry, op);
  else if (op->kind == LOOP_OP_ACCEPT) io_uring_prep_accept(entry, socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  else io_uring_prep_recv(entry, socket->fd, is_shared ? NULL : op->bytes, is_shared ? BUFFER_BYTES : op->len, 0);
  if (is_shared) {
    io_uring_sqe_set_flags(entry, IOSQE_BUFFER_SELECT);
    entry->buf_group = GROUP;
  }
  io_uring_sqe_set_data(entry, op);
  if (op->kind == LOOP_OP_SEND) socket->writer = op;
  else socket->reader = op;
}

static void cancel(Uring *uring, LoopOp *op) {
  if (!op) return;
  struct io_uring_sqe *entry = take_entry(uring);
  io_uring_prep_cancel(entry, op, 0);
  io_uring_sqe_set_data64(entry, TAG_NOTHING);
}

static void close_now(Loop *loop, LoopSocket *socket) {
  close(socket->fd);
  socket->fd = -1;
  loop__queue(loop, socket->closer);
}

static void uring_submit(Loop *loop, LoopOp *op) {
  LoopSocket *socket = op->socket;
  if (op->kind != LOOP_OP_CLOSE) {
    assert(op->kind == LOOP_OP_SEND ? !socket->writer : !socket->reader);
    submit_transfer(loop, op);
    return;
  }
  socket->closer = op;
  cancel(loop->state, socket->reader);
  cancel(loop->state, socket->writer);
  if (!socket->reader && !socket->writer) close_now(loop, socket);
}

// Only closes are in the queue: all that there is to be done for them is done.
static int32_t uring_attempt(Loop *loop, LoopOp *op) {
  (void)loop;
  (void)op;
  assert(op->kind == LOOP_OP_CLOSE);
  return 0;
}

// All sends go out with the next submission: copying a small answer costs less than a system call of its own.
static int32_t uring_send_now(Loop *loop, LoopSocket *socket, const struct iovec *iov, unsigned count) {
  (void)loop, (void)socket, (void)iov, (void)count;
  return -EAGAIN;
}

// ---- completing ---------------------------------------------------------------------------------------------

static void complete(Loop *loop, LoopOp *op, const Done *done) {
  Uring *uring = loop->state;
  LoopSocket *socket = op->socket;
  bool closing = socket->closer != NULL, has_buffer = done->flags & IORING_CQE_F_BUFFER;
  unsigned number = done->flags >> IORING_CQE_BUFFER_SHIFT;
  int32_t result = done->result;
  if (op->kind == LOOP_OP_SEND) socket->writer = NULL;
  else socket->reader = NULL;
  bool again = !closing && (result == -EINTR || result == -EAGAIN || (result == -ENOBUFS && op->kind == LOOP_OP_RECV_SHARED));
  if (again) {
    submit_transfer(loop, op);
    return;
  }
  if (closing && op->kind == LOOP_OP_ACCEPT && result >= 0) close(result);
  if (has_buffer) op->bytes = uring->buffers + (size_t)number * BUFFER_BYTES;
  loop__complete(loop, op, closing ? -ECANCELED : result);
  if (has_buffer) provide(uring, number);
  if (closing && !socket->reader && !socket->writer) close_now(loop, socket);
}

static void handle(Loop *loop, const Done *done) {
  if (done->tag == TAG_WAKE) {
    if (!(done->flags & IORING_CQE_F_MORE)) watch_wake(loop);
    loop__woken(loop);
  } else if (done->tag != TAG_NOTHING) {
    complete(loop, (LoopOp *)(uintptr_t)done->tag, done);
  }
}

// Copied out of the ring first: what is called here submits, and what is submitted may complete.
static unsigned take_completions(Uring *uring) {
  unsigned head, count = 0;
  struct io_uring_cqe *entry;
  io_uring_for_each_cqe(&uring->ring, head, entry) {
    uring->done[count++] = (Done){entry->user_data, entry->res, entry->flags};
    if (count == COMPLETIONS_A_ROUND) break;
  }
  io_uring_cq_advance(&uring->ring, count);
  return count;
}

static int submit_and_wait(Uring *uring, int64_t wait_us) {
  struct io_uring_cqe *entry;
  if (wait_us == 0) return io_uring_submit_and_get_events(&uring->ring);
  if (wait_us < 0) return io_uring_submit_and_wait(&uring->ring, 1);
  struct __kernel_timespec limit = {.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000};
  return io_uring_submit_and_wait_timeout(&uring->ring, &entry, 1, &limit, NULL);
}

static Err uring_wait(Loop *loop, int64_t wait_us) {
  Uring *uring = loop->state;
  int result = submit_and_wait(uring, wait_us);
  if (result < 0 && result != -EINTR && result != -ETIME && result != -EAGAIN && result != -EBUSY) return err_from_errno(-result);
  loop->now_us = clock_mono_us(loop->clock);
  unsigned count = take_completions(uring);
  for (unsigned i = 0; i < count; i++) handle(loop, &uring->done[i]);
  return ERR_NONE;
}

const LoopBack LOOP_BACK_URING = {
  .open = uring_open, .close_all = uring_close_all, .attach = uring_attach, .detach = uring_detach, .submit = uring_submit, .attempt = uring_attempt,
  .send_now = uring_send_now, .wait = uring_wait,
};
