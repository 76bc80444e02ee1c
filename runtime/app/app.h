// One app alive: its module, its state, and its owner, who applies inputs one after the other and lets no answer out
// before what it rests on is on disk. The only room that joins queries and store. It knows no network: who has a request
// hands over typed arguments and is called back.
//
// Timers and expiry run in app_turn too, each run a transaction of its own in the batch.
//
//   app_submit … app_submit -> app_turn: apply all that wait -> one store_commit -> (synced) -> app_turn: publish the
//   snapshot, call `answered` for each input of the batch, call `published` once
//
// Owns:   an App owns its Store and modules. An AppInput belongs to the caller and must stay until `answered` is called.
// Thread: the owner's loop, but for `wake`, which is called on any thread.
// Errors: ErrText lines for opening and swapping; inputs and views end in an AppOutcome.
// Limits: AppLimits; APP_BATCH_INPUTS_MAX inputs in a commit; APP_SLICE_FUEL at a stretch: a longer view goes on in later turns, a longer
//         input is undone and run again alone, in as many turns as it takes.
#pragma once
#include "runtime/app/outcome.h"
#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/base/rng.h"
#include "runtime/store/store.h"

enum {
  APP_BATCH_INPUTS_MAX = 1024,
  APP_QUEUE_MAX = 65536,
  APP_SLICE_FUEL = 120000,       // some 200 µs
  APP_TURN_US = 200,             // inputs and timers of one turn are run for about so long
  APP_VIEWS_MAX = 10000,         // views that wait or are under way
  APP_VIEWS_BEGUN_MAX = 16,      // of them under way
  APP_VIEW_HOLD_MAX_S = 60,      // a view may hold a state for so long
};

typedef struct App App;

// Zero means the default in brackets.
typedef struct AppLimits {
  uint64_t input_fuel;      // for one input [APP_INPUT_FUEL]
  uint64_t view_fuel;       // for one view [APP_VIEW_FUEL]
  uint64_t memory_bytes;    // for one call [APP_CALL_MEMORY]
  uint64_t state_bytes;     // of all tables [APP_STATE_BYTES]
  uint32_t queue_max;       // inputs that wait, and as many views [APP_QUEUE_MAX, APP_VIEWS_MAX]
} AppLimits;
enum { APP_INPUT_FUEL = 200000000, APP_VIEW_FUEL = 200000000, APP_CALL_MEMORY = 64 << 20 };
static const uint64_t APP_STATE_BYTES = (uint64_t)4 << 30;

// What whoever runs the app gives for its settings: texts as in a query string.
typedef struct AppSetting { Str name, value; } AppSetting;
typedef struct AppSettings { uint32_t count; const AppSetting *items; } AppSettings;

// What an app has done, for who watches it.
typedef struct AppCounts {
  uint64_t inputs[4];       // by AppOutcomeKind
  uint64_t views[4];
  uint64_t commits, committed_inputs;  // runs of timers are inputs here
  uint64_t input_fuel, view_fuel;
  uint64_t sync_us;         // from handing a commit over until it was seen to be durable
} AppCounts;

typedef struct AppOptions {
  FileSystem *files;        // NULL: in memory
  const char *dir;
  const Clock *clock;       // NULL: the system's
  const Log *log;           // may be NULL
  AppLimits limits;
  AppSettings settings;     // stay until app_close
  AppCounts *counts;        // gone on with, by the owner's thread; outlives the app. NULL: nobody counts
  bool sync_inline;         // no threads at all
  uint64_t segment_bytes, checkpoint_bytes;  // of the store, see there; 0: its own
  Rng *seeds;               // where inputs and timers take theirs from, so that a simulation does the same again; NULL: secrets
  TaskPool *syncs, *checkpoints;  // shared with other apps, see store.h; NULL: the app's own
  void (*wake)(void *context);                                // app_turn is wanted; called on any thread
  void (*published)(void *context, uint64_t commit);          // the state that views see is now that of `commit`
  void *context;
} AppOptions;

// Opens the data and the module. `module_bytes` empty: the one saved with the data (ERR_NOT_FOUND when there is none).
// Another module than the saved one is a swap (see app_swap). ERR_REFUSED also when a setting has no value, or what was given is unknown or wrong.
MUST_USE Err app_open(const AppOptions *options, Str module_bytes, App **out_app, ErrText *out_text);
// Waits for what is being saved, answers what still waits with APP_UNAVAILABLE, closes the store.
MUST_USE Err app_close(App *app, ErrText *out_text);

// The module and its arena, shared by who still reads under it. Hold it across a swap with app_module_hold.
typedef struct AppModule AppModule;
const Module *app_module(const App *app);
AppModule *app_module_hold(App *app);
const Module *app_module_get(const AppModule *held);
void app_module_drop(AppModule *held);

// Replaces the module and moves the state over to its schema, by names. Refused (ERR_REFUSED, with each reason) when
// something would be lost or is not covered; then everything stays as it was. Inputs that wait are applied and saved before.
MUST_USE Err app_swap(App *app, Str module_bytes, ErrText *out_text);

// ---- inputs -----------------------------------------------------------------------------------
typedef struct AppInput AppInput;
struct AppInput {
  uint16_t entry;             // of app_module, an input
  uint64_t given;             // bits of the parameters that were sent
  const Value *args;          // one a parameter; what was not given is not read
  AppCaller caller;
  Arena *arena;               // takes the answer
  void (*answered)(AppInput *input);
  void *context;
  AppOutcome outcome;         // filled when `answered` is called
  AppInput *next;             // the app's own, as what follows
  int64_t now_us;
  uint64_t seed;
  bool alone;                 // it was longer than a slice: the same once more, in a batch of its own
};
// ERR_LIMIT: APP_QUEUE_MAX inputs wait already (503). Otherwise `answered` will be called once, never inside app_submit.
MUST_USE Err app_submit(App *app, AppInput *input);
void app_turn(App *app);
void app_sync_inline(App *app, bool is_inline);  // from the next turn on: app_turn itself waits for the disk, see store_sync_inline
bool app_is_busy(const App *app);     // something waits or is being saved
typedef struct AppLoad { uint32_t waiting; uint64_t state_bytes, disk_bytes; } AppLoad;
AppLoad app_load(const App *app);     // inputs that wait, memory of the tables, space on disk
// Microseconds until app_turn has something to do by itself (a timer, an expiry); 0: now; INT64_MAX: nothing. The wall clock may
// jump meanwhile: ask again after a minute at the latest.
int64_t app_wait_us(App *app);

// ---- tokens -----------------------------------------------------------------------------------
// What a token says that the app itself issued (`issue_token`) and whose text has this BLAKE2b hash (hash_of), as of the published
// state. Who has it may read and write, and is signed in. false: there is none, its time is over at `now_us` (wall clock), or no memory.
// The subject lives in the arena. Look again at each request: an app can swap roles away. The owner's thread.
typedef struct AppToken { Str subject; uint64_t roles; int64_t expires_us; } AppToken;
bool app_find_token(const App *app, const Hash *hash, int64_t now_us, Arena *arena, AppToken *out_token);

// ---- views ------------------------------------------------------------------------------------
typedef struct AppView {
  uint16_t entry;             // of app_module, a view
  uint64_t given;
  const Value *args;
  AppCaller caller;
  Arena *arena;               // takes the answer
  AppOutcome outcome;         // commit: the state it was read from
  void (*answered)(struct AppView *view);  // of app_view_start
  void *context;
} AppView;
// Reads the published state, in turn with what else there is to do: `answered` is called once, maybe inside. The view and what it
// points to stay until then. ERR_LIMIT: APP_VIEWS_MAX wait already; ERR_MEMORY.
MUST_USE Err app_view_start(App *app, AppView *view);
// The same at once, to its end within the app's limits, however long that keeps the others waiting.
void app_view(App *app, AppView *view);
void app_limit(App *app, const AppLimits *limits);  // for calls from now on; the memory of tables stays as it was
uint64_t app_commit(const App *app);  // the published one
Err app_error(const App *app, ErrText *out_text);  // what stopped the app's inputs, or ERR_NONE
const StoreInfo *app_store_info(const App *app);
