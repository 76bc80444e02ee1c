// The event loop of one thread. Its shape is "submit an operation, be called when it is complete", which io_uring has by
// nature and epoll can imitate, so that users do not change with the back end.
//
//   op submitted ──▶ pending ──▶ done(op, result)      never inside the call that submitted it
//                       └─ loop_close ──▶ done(op, -ECANCELED), then the close operation's own done
//
// A LoopOp, LoopSocket or LoopTimer belongs to its user and stays where it is until it is done. Each kind of operation
// may be pending once a socket: one accept or receive, one send, one close.
//
// Owns:   the epoll or ring descriptor, the wake descriptor, the shared receive buffer; descriptors of attached sockets.
// Thread: the loop's own; only loop_wake may come from anywhere, signal handlers included.
// Errors: results are counts, or -errno as the kernel gave it.
// Limits: LOOP_RECV_BYTES a shared receive; nothing is allocated after loop_new.
//
// By hand: libuv and libevent have no io_uring sockets in Debian 12, and both allocate a request for each write.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "runtime/base/clock.h"
#include "runtime/base/err.h"

typedef struct Loop Loop;
typedef struct LoopOp LoopOp;
typedef struct LoopSocket LoopSocket;
typedef struct LoopTimer LoopTimer;
typedef void LoopDone(LoopOp *op, int32_t result);

#ifdef AUP_HOSTILE
enum { LOOP_RECV_BYTES = 61 };
#else
enum { LOOP_RECV_BYTES = 64 * 1024 };  // four times a request's greatest head; one for the whole loop
#endif

typedef enum LoopKind { LOOP_EPOLL, LOOP_URING, LOOP_AUTO } LoopKind;  // AUTO: io_uring where the system allows it, else epoll

struct LoopOp {
  LoopDone *done;
  void *ctx;            // the user's
  LoopSocket *socket;
  LoopOp *next;
  union {
    struct { char *bytes; size_t len; };           // receive; bytes of a shared one are set when it is done
    struct { struct iovec *iov; unsigned count; }; // send
  };
  uint8_t kind;
  bool pending;
};

struct LoopSocket {
  int fd;
  uint8_t flags;        // what the back end knows of it
  LoopOp *reader, *writer, *closer;
};

struct LoopTimer {
  int64_t due_us;
  void (*fire)(LoopTimer *timer);
  void *ctx;            // the user's
  LoopTimer *child, *next, *previous;
  bool running;
};

// `clock` drives timers. `on_wake` (may be NULL) runs on the loop's thread some time after loop_wake.
Err loop_new(LoopKind kind, const Clock *clock, Loop **out_loop, ErrText *out_text) MUST_USE;
void loop_free(Loop *loop);  // every socket must be closed before
void loop_on_wake(Loop *loop, void (*on_wake)(void *ctx), void *ctx);
const Clock *loop_clock(const Loop *loop);

// One round: waits until something is complete or a timer is due, at most `wait_us_max` (negative: no limit), then
// calls everything that is due. A host does its own end-of-turn work between two rounds.
Err loop_turn(Loop *loop, int64_t wait_us_max) MUST_USE;
// Monotonic microseconds, read once a round.
int64_t loop_now_us(const Loop *loop);
// Makes the loop's thread come out of its wait. Many calls before the round are one. Async-signal-safe.
void loop_wake(Loop *loop);

// Takes over `fd`, which must not block. ERR_LIMIT or ERR_MEMORY: the caller still has it.
Err loop_attach(Loop *loop, LoopSocket *socket, int fd) MUST_USE;
// Gives the descriptor back (socket->fd keeps its number), so that another loop can take it. Nothing may be pending.
void loop_detach(Loop *loop, LoopSocket *socket);
static inline void loop_op_init(LoopOp *op, LoopDone *done, void *ctx) { *op = (LoopOp){.done = done, .ctx = ctx}; }

// Result: the new connection's descriptor, non-blocking and closed on exec.
void loop_accept(Loop *loop, LoopSocket *listener, LoopOp *op);
// Result: bytes received, 0 when the peer ended its side.
void loop_recv(Loop *loop, LoopSocket *socket, LoopOp *op, char *bytes, size_t len);
// The same into a buffer of the loop's, found in op->bytes when it is done and gone after that call: a connection that
// waits needs no memory for it.
void loop_recv_shared(Loop *loop, LoopSocket *socket, LoopOp *op);
// Result: bytes sent, which can be fewer than asked. Vectors and bytes stay until it is done. Never raises SIGPIPE.
void loop_send(Loop *loop, LoopSocket *socket, LoopOp *op, struct iovec *iov, unsigned count);
// A send without waiting, where the back end has one: bytes sent, or -EAGAIN (then use loop_send). Not while one is pending.
int32_t loop_send_now(Loop *loop, LoopSocket *socket, const struct iovec *iov, unsigned count);
// Cancels what is pending, closes the descriptor, and is done after everything else of the socket is: only then may
// its memory be used for something else.
void loop_close(Loop *loop, LoopSocket *socket, LoopOp *op);
// Is done (result 0) later in this round or the next, without waiting: for work that must not run inside a callback.
void loop_defer(Loop *loop, LoopOp *op);

// Fires once, at or after `due_us` of the loop's clock. Starting a running timer moves it.
static inline void loop_timer_init(LoopTimer *timer, void (*fire)(LoopTimer *timer), void *ctx) { *timer = (LoopTimer){.fire = fire, .ctx = ctx}; }
void loop_timer_start(Loop *loop, LoopTimer *timer, int64_t due_us);
void loop_timer_stop(Loop *loop, LoopTimer *timer);  // also when it does not run
