// What threads ask of the scheduler.
//
// Owns: nothing. Thread: any. Errors: none; where the kernel does not know it (before Linux 6.12), nothing changes.
#pragma once

// For a thread that does little and whose little others wait for: when it wakes it runs before those that compute, as far as its
// fair share goes. Needs no right.
void thread_run_soon(void);
