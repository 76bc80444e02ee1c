// A store with a table of numbered rows and a counter, and what must be true of it whatever happened: input n puts row n
// and adds one to the counter, so that a lost, doubled or half-done input shows.
#pragma once
#include "runtime/store/store.h"
#include "tests/unit/store/sim.h"

extern const char WORLD_DIR[];
extern uint64_t world_checkpoint_bytes;           // of the log, between two checkpoints, when syncing inline; 3000 at first

const Schema *world_schema(unsigned version);     // 1: id and text; 2: one more column
MUST_USE Err world_open(FileSystem *fs, uint64_t segment_bytes, bool inline_sync, Store **out_store, ErrText *out_text);
MUST_USE Err world_set_schema(Store *store, unsigned version, ErrText *out_text);
// Inputs `first` to `first + count - 1` as one commit. On an error they are undone.
MUST_USE Err world_commit(Store *store, int64_t first, unsigned count, ErrText *out_text);
// How many inputs the Db holds; asserts that they are whole.
int64_t world_count(Store *store);
