// Inside the app room: the App itself.
//
// Owns:   see app.h.
// Thread: the owner's.
// Errors: see app.h.
#pragma once
#include "runtime/app/settings.h"
#include "runtime/app/timers.h"

enum { APP_TIMER_RUNS_MAX = 256 };                // in one commit, so that inputs have room beside them
#define APP_TIMER_REST_FIRST (1 * SECOND)         // when what a run did could not be kept; then twice as long each time
#define APP_TIMER_REST_MAX (1 * MINUTE)

struct AppModule { Arena arena; Module *module; Str bytes; uint32_t holders; Settings settings; };

// Reads and verifies a module into a holder of its own, held once.
MUST_USE Err app_module_new(Str bytes, AppModule **out_module, ErrText *out_text);

// What views read: a state, and the module whose shape it has. The last durable one, or one that a view still holds.
typedef struct Published { Snapshot *snapshot; AppModule *module; uint64_t commit; uint32_t holders; } Published;

// A view that waits or is under way.
typedef struct ViewRun { struct ViewRun *next; AppView *view; Published *published; int64_t begun_us; bool has_begun; Runner runner; } ViewRun;
typedef struct ViewQueue { ViewRun *first, **last; uint32_t count; } ViewQueue;
enum { APP_VIEW_FUEL_LEAST = 1200 };  // what a view takes of its app's round beside its fuel: some 2 µs

// Inputs in the order in which they came.
typedef struct InputQueue { AppInput *first, **last; uint32_t count; } InputQueue;

struct App {
  AppOptions options;
  const Clock *clock;
  AppModule *module;
  Store *store;
  Published *published;
  bool unpublished;          // what is durable is newer than that, for there was no memory
  ViewQueue views;
  ViewRun *idle_run;
  uint64_t view_fuel_left;   // of the round
  AppInput *running;         // the long input that is under way, alone in the open batch
  bool has_more;             // the turn ended before everything was applied
  InputQueue waiting, applied, saving;  // not yet run; run in the open batch; in the commit that is being synced
  uint64_t saving_commit;    // 0: none is being synced
  int64_t saving_since_us;
  AppCounts own_counts;
  AppCounts *counts;
  StoreInput *records;       // of the open batch
  uint32_t record_count, record_room;
  Arena batch_arena;         // their arguments
  bool batch_changes;        // the open batch changed something
  bool stopped;              // the store failed: reads only
  Runner owner, viewer;
  int64_t last_now_us;       // no input has an earlier time
  Timers timers;
  TimerWait wait;            // what is next, while wait_known
  bool wait_known;
  uint32_t batch_runs;       // of timers, in the open batch
  int64_t last_run_us;       // `now` of the last run
  int64_t timers_rest_until_us;  // by the monotonic clock
  uint32_t timer_rests;      // in a row
};

// The part of app_open and app_swap that makes the stored state fit the module. ERR_REFUSED: out_text says each reason.
MUST_USE Err app__fit_state(App *app, const AppModule *module, ErrText *out_text);
// Writes the settings of app->module where they changed; committed and synced, but for a new store, whose first state follows.
MUST_USE Err app__set_settings(App *app, bool is_new, ErrText *out_text);
// First state of a new store, committed and synced.
MUST_USE Err app__start_state(App *app, ErrText *out_text);
int64_t app__now(App *app);
uint64_t app__seed(App *app);      // of an input or a run
bool app__has_record_room(App *app);

// ---- app_views.c
void app__publish(App *app);      // makes the state as of the last seal the one that views see
void app__drop_published(Published *published);
void app__run_views(App *app);    // a round
void app__end_views(App *app);

// ---- app_timers.c
// After the module or the state has another shape: arms the rows of new timers, committed and synced.
MUST_USE Err app__begin_timers(App *app, ErrText *out_text);
void app__run_due(App *app);     // into the open batch
void app__rest_timers(App *app); // the batch could not be kept
