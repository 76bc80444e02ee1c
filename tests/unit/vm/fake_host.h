// A VmHost for tests of the machine: state and rows in small arrays, queries that run a script, and a record of calls.
//
// Owns:   nothing but its own struct.
// Thread: one at a time.
#pragma once
#include "runtime/vm/vm.h"

enum { FAKE_STATE = 8, FAKE_ROWS = 16, FAKE_STEPS = 64 };

typedef struct FakeRow { bool stands; int64_t id; Value columns[4]; } FakeRow;
// What the queries answer, one step after the other; a FRAME writes its number into the register `to` of the plan's first stage.
typedef struct FakeHost {
  Value state[FAKE_STATE];
  FakeRow rows[FAKE_ROWS];
  uint32_t row_count;
  int64_t frames;              // of each query: blocks of all stages run before each frame
  bool again;                  // answers QUERY_AGAIN before each frame
  uint32_t opened, closed, steps, marks, undone, sent, deleted;
  int64_t advanced;
  Str as;
  uint64_t as_roles, given;
  uint16_t entry, called;
  HostResult entry_result;
  BuiltinError entry_error;
  uint64_t charge;             // by each state_get
} FakeHost;

extern const VmHost FAKE_HOST;  // host_context is a FakeHost
