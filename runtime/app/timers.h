// What an app does by itself when its time comes: periodic timers, timers of rows, expiry. docs/design/003-timers.md says
// what is promised. All that must outlive a restart stands in hidden columns of the app's tables (TimerDef); here is how to
// find what is due and how to run it, for a served app and for the tests of one alike.
//
// Owns:   Timers owns its states.
// Thread: the owner's.
// Errors: a run ends in an AppOutcome; TIMERS_NO_ROOM: nothing could be kept, try again later.
// Limits: TIMER_*.
#pragma once
#include "runtime/app/call.h"
#include "runtime/base/calendar.h"

enum {
  TIMER_RUNS_MAX = 32,            // of one timer in a turn, so that it does not keep the others and inputs waiting
  TIMER_EXPIRE_ROWS_MAX = 256,    // rows in one run of an expiry
};
#define TIMER_RETRY_FIRST (1 * SECOND)     // after the first fault of a row's timer; then twice as long each time
#define TIMER_RETRY_MAX (1 * HOUR)
#define TIMER_IN_USE_FIRST (1 * MINUTE)    // after an expiry that met rows which are still in use; likewise
#define TIMER_IN_USE_MAX (1 * HOUR)

// What is known of a timer only while the app is awake.
typedef struct TimerState {
  int64_t ran_mono_us;            // when it ran last, or was first seen
  int64_t rest_until_mono_us;     // EXPIRE: not before
  int64_t pass_from_us;           // EXPIRE: where the pass that is under way goes on: at this time,
  uint64_t pass_skip;             //   behind so many rows of that time that stay
  bool passing, met_in_use;
  uint32_t rests;
  uint32_t runs;                  // in this turn
} TimerState;

typedef struct Timers { const Module *module; TimerState *states; } Timers;

// now_us: the app's, which never goes back; wall_us: the clock's own, below it after the clock was set back.
typedef struct TimerNow { int64_t now_us, wall_us, mono_us; } TimerNow;

// Follows a module; states begin anew. ERR_MEMORY.
MUST_USE Err timers_bind(Timers *timers, const Module *module, int64_t mono_us);
void timers_free(Timers *timers);

// Arms the rows that were there before their timer, unless that is done: all whose time is still to come. Changes the
// Txn; `*out_changed` says whether it did. Work is that of visiting each row of such a table once.
MUST_USE Err timers_begin(const Module *module, Txn *txn, int64_t now_us, bool *out_changed);

// When something is due, as far as nothing changes: by the wall clock, by the monotonic one, and by the monotonic one only
// while the wall clock is behind the app's time. INT64_MAX: never.
typedef struct TimerWait { int64_t wall_us, mono_us, behind_mono_us; } TimerWait;
TimerWait timers_wait(const Timers *timers, const Reader *reader, const TimerNow *now);
int64_t timers_wait_left(const TimerWait *wait, const TimerNow *now);  // microseconds, 0: due

void timers_begin_turn(Timers *timers);
typedef struct TimerDue { uint16_t timer; int64_t at_us; Value key; } TimerDue;  // key: of ROWS, in the arena
// The earliest that is due and has not run TIMER_RUNS_MAX times in this turn.
bool timers_find(const Timers *timers, const Reader *reader, const TimerNow *now, Arena *arena, TimerDue *out_due);

typedef enum TimersEnd { TIMERS_RAN, TIMERS_NO_ROOM } TimersEnd;
typedef struct TimerRun {
  Runner *runner;                 // set up by runner_use for the Txn
  VmCall call;
  TimerNow now;
  Arena *arena;
  AppOutcome outcome;             // of the timer's function
  uint32_t rows;                  // EXPIRE: deleted
} TimerRun;
// Runs it as a transaction of its own on top of what the Txn holds, and keeps that it ran.
TimersEnd timers_run(Timers *timers, const TimerDue *due, TimerRun *run);
