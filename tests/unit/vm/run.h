// Running a function of a Build to its end, in one go or in slices.
//
// Owns:   a Run owns its Exec; run_end gives it back.
// Thread: one at a time.
#pragma once
#include "tests/unit/module/build.h"
#include "tests/unit/vm/fake_host.h"

typedef struct Run { Exec exec; FakeHost host; VmStatus status; uint32_t slices; } Run;
static const VmCall RUN_CALL = {.now_us = 1234567, .seed = 42, .caller = {"ann", 3}, .given = 5};

// `slice` 0: all at once. The call has 1,000,000 units of fuel and 1 MiB.
static inline VmStatus run_on(Run *run, const Module *module, uint16_t function, const Value *args, uint64_t slice) {
  const VmLimits limits = {1000000, 1 << 20};
  if (vm_start(&run->exec, module, &FAKE_HOST, &run->host, &limits) != ERR_NONE) return VM_FAULT;
  if (vm_call(&run->exec, function, &RUN_CALL, args) != ERR_NONE) return VM_FAULT;
  run->slices = 0;
  do {
    run->status = vm_run(&run->exec, slice ? slice : limits.fuel);
    run->slices++;
  } while (run->status == VM_SLICE);
  return run->status;
}
static inline void run_end(Run *run) { vm_finish(&run->exec); }
