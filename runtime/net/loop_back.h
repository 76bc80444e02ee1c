// Inside the net room: what a back end of the loop provides, and what it finds in the loop.
//
// A back end gets operations and says when they are complete. It may put an operation into the loop's queue, to be
// tried once more in this round (epoll does so with everything), or complete it itself in `wait` (as io_uring will).
//
// Owns:   `state`, made by open and freed by close_all.
// Thread: the loop's.
#pragma once
#include <stdatomic.h>

#include "runtime/net/loop.h"

typedef enum LoopOpKind { LOOP_OP_NONE, LOOP_OP_ACCEPT, LOOP_OP_RECV, LOOP_OP_RECV_SHARED, LOOP_OP_SEND, LOOP_OP_CLOSE, LOOP_OP_DEFER } LoopOpKind;

enum { LOOP_PARKED = INT32_MIN };  // "not complete yet", beside counts and -errno

typedef struct LoopBack {
  Err (*open)(Loop *loop, ErrText *out_text);
  void (*close_all)(Loop *loop);
  Err (*attach)(Loop *loop, LoopSocket *socket);
  void (*detach)(Loop *loop, LoopSocket *socket);       // nothing of it is pending
  void (*submit)(Loop *loop, LoopOp *op);               // op is filled in and pending
  int32_t (*attempt)(Loop *loop, LoopOp *op);           // a queued operation: its result, or LOOP_PARKED
  int32_t (*send_now)(Loop *loop, LoopSocket *socket, const struct iovec *iov, unsigned count);
  Err (*wait)(Loop *loop, int64_t wait_us);             // negative: as long as it takes
} LoopBack;

extern const LoopBack LOOP_BACK_EPOLL, LOOP_BACK_URING;

struct Loop {
  const LoopBack *back;
  void *state;
  const Clock *clock;
  int64_t now_us;
  LoopOp *queue_first, *queue_last;   // to be attempted in this round
  LoopOp *deferred, **deferred_last;  // to be done in the next
  LoopTimer *timers;                  // a pairing heap, the earliest on top
  LoopSocket wake;
  atomic_bool woken;
  void (*on_wake)(void *ctx);
  void *wake_ctx;
  char *shared;                       // LOOP_RECV_BYTES
};

void loop__queue(Loop *loop, LoopOp *op);
void loop__complete(Loop *loop, LoopOp *op, int32_t result);  // calls done
void loop__woken(Loop *loop);                                 // the wake descriptor can be read
