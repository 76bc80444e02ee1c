// A disk in memory that does what real ones do when things go wrong: what was not synced is lost, torn at 512 bytes or
// reordered when the power goes; the n-th call fails once or for ever; writes are short; space runs out; and what a failed
// sync did not write is not written by a later one that succeeds.
#pragma once
#include "runtime/store/file.h"

typedef struct Sim Sim;
Sim *sim_new(void);
void sim_free(Sim *sim);
FileSystem *sim_files(Sim *sim);

// Calls that can fail, counted from the last sim_reset_calls.
uint64_t sim_calls(const Sim *sim);
void sim_reset_calls(Sim *sim);
// The call number `nth` (1 is the next one) fails with `err`; when `for_ever`, all after it too. 0: none.
void sim_fail_nth(Sim *sim, uint64_t nth, bool for_ever, Err err);
// The call number `nth` is the last to reach the disk, perhaps only in part; it and all after it fail.
void sim_cut_nth(Sim *sim, uint64_t nth);
void sim_short_writes(Sim *sim, unsigned every);     // each `every`-th write does only a part
void sim_space(Sim *sim, uint64_t bytes);            // of all files; 0: without end
uint64_t sim_used(const Sim *sim);

// The power goes and comes back: what is on disk now is one of the many states that the writes since the last syncs allow.
void sim_crash(Sim *sim, uint64_t seed);
// The process dies and the kernel goes on: everything written is there, locks are gone.
void sim_kill(Sim *sim);

// The bytes of a file (of "dir/name" or "dir/sub/name"), to look at and to spoil; NULL when there is none. sim_resize keeps what fits.
uint8_t *sim_bytes(Sim *sim, const char *path, uint64_t *out_size);
void sim_resize(Sim *sim, const char *path, uint64_t size);
void sim_remove(Sim *sim, const char *path);
void sim_swap(Sim *sim, const char *path, const char *other);
// The n-th file there is, or NULL.
const char *sim_path(Sim *sim, unsigned n);
Sim *sim_copy(Sim *sim);                             // of the durable state
