// Which back end the tests of the loop and of connections run on: AUP_LOOP=io_uring or epoll, as for a host.
//
// Owns: nothing. Thread: any. Errors: none.
#pragma once
#include <stdlib.h>
#include <string.h>

#include "runtime/net/loop.h"

static inline LoopKind test_loop_kind(void) {
  const char *name = getenv("AUP_LOOP");
  return name && strcmp(name, "io_uring") == 0 ? LOOP_URING : LOOP_EPOLL;
}
