// Inside the host room: workers, apps, the directory of names, and messages between threads.
//
//   control (worker 0): names, homes, the list of deployed apps, the admin API
//   home worker:        everything an app does while it is awake
//   helper:             what may take long: opening data, closing it, writing the list
//
// A request meets no lock: names are looked up in a directory that never changes once it is made and that each worker holds
// its own reference to; a new one comes by message.
//
// Owns:   each struct says so.
// Thread: each struct says so.
// Errors: see host.h.
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "runtime/base/task_pool.h"
#include "runtime/host/host.h"
#include "runtime/host/metrics.h"
#include "runtime/net/conn.h"
#include "runtime/net/listen.h"
#include "runtime/serve/serve.h"

typedef struct Worker Worker;
typedef struct HostApp HostApp;
typedef struct Message Message;
typedef struct Call Call;

enum {
  HOST_LOGS_KEPT = 500,
  SYNC_THREADS = 8,       // of all apps together, begun when as many syncs wait: the disk does several at once
  CHECKPOINT_THREADS = 2, // so that one large state does not make all others wait
};

// What one thread asks of another. Belongs to the receiver from worker__send or helper__ask on; `run` frees it.
struct Message {
  void (*run)(Worker *worker, Message *message);  // worker: NULL on the helper's thread
  Message *next;
  Task task;
};

// ASLEEP: nothing is in memory. OPENING: with the helper, on its way in or out. STOPPED: by an administrator. FAILED: its data cannot be opened.
typedef enum AppState { APP_ASLEEP, APP_OPENING, APP_AWAKE, APP_STOPPED, APP_FAILED } AppState;

struct HostApp {
  Host *host;
  Worker *home;
  atomic_uint holders;        // directories and the control
  atomic_int state;           // written by the home worker, or before it runs
  atomic_bool saved;          // a commit is durable, or the app wants a turn
  bool is_listed;             // the control's: in the directory
  bool has_call;              // the control's: an administrator's call is under way
  // The home worker's:
  App *app;
  Serve *serve;
  Call *call;                 // waits for the helper
  RefBuf *problem;            // why it FAILED, in words
  AppLoad load;               // as of when it was last asked for
  HostMetrics *metrics;       // from its first waking on; NULL: no memory, nobody counts
  HostApp *next, **link;      // of the worker's awake apps
  LoopTimer due;              // while asleep: when it has something to do
  int64_t used_us;            // when it last had a request, by the loop's clock
  uint32_t waiting;           // connections that wait for it to wake
  Log log;                    // tells the ring (logs.c) too
  AppSettings settings;       // those of the host's options that are this app's
  char name[];                // with a zero byte
};

// Names to apps. Never changed; a hash table with open addressing.
typedef struct Directory { atomic_uint holders; uint32_t count, slots; HostApp *only; HostApp *table[]; } Directory;

// A connection whose app is waking.
typedef struct Waiting { Conn *conn; HostApp *app; struct Waiting *next; } Waiting;

struct Worker {
  Host *host;
  uint32_t index;
  uint32_t app_count;         // the control's: how many call it home
  pthread_t thread;
  bool is_started, has_thread;
  bool ended;                 // its loop is over; what still comes is undone by who closes the host
  _Atomic(Message *) inbox;   // newest first
  atomic_bool some_saved;
  Loop *loop;
  ConnServer *server;
  Directory *directory;
  AppLimits limits;
  ServeLimits serve_limits;
  HostApp *awake;
  Waiting *waiting;
  ServeMetrics metrics;       // of requests for no app
  LoopTimer look;             // for apps that may sleep
  bool stopping, stopped;
  Err err;
};

struct Host {
  HostOptions options;
  Log log;
  StoreLock *lock;
  Worker *workers;
  uint32_t worker_count;
  atomic_uint connections;
  atomic_int stops;
  int stops_seen;
  // The control's:
  HostApp **apps;
  uint32_t app_count, app_room;
  Call *calls;                // of administrators, under way
  struct Scrape *scrapes;     // under way (metrics.c)
  pthread_mutex_t logs_lock;
  char *logs[HOST_LOGS_KEPT];  // each a name, a zero byte, a line
  uint32_t logs_at;
  char address[ADDRESS_TEXT_BYTES];
  bool is_listening;
  TaskPool *syncs, *checkpoints;  // of all apps
  TaskPool *helper;               // one thread
};

// ---- worker.c
void worker__send(Worker *worker, Message *message);   // from any thread
void worker__run_messages(Worker *worker);
MUST_USE Err worker__start(Worker *worker, ErrText *out_text);  // loop and connections; its thread too, but for worker 0
MUST_USE Err worker__run(Worker *worker);              // until stopped
void worker__stop(Worker *worker, bool at_once);
void worker__end_connections(Worker *worker);
void worker__free(Worker *worker);                     // its thread has ended
void helper__ask(Host *host, Message *message);        // run(NULL, message) on the helper's thread
// ---- apps.c
MUST_USE Err apps__open(HostApp *app, Str module_bytes, const AppLimits *limits, App **out_app, ErrText *out_text);  // on any one thread
MUST_USE Err apps__begin(HostApp *app, App *opened);   // on the home worker: AWAKE from here
void apps__wake(HostApp *app);                         // ASLEEP: asks the helper to open it
void apps__open_for(HostApp *app, Call *call);         // the same with a call's module; call_done follows
MUST_USE Err apps__close(HostApp *app, ErrText *out_text);  // streams end, what waits is answered; state is the caller's
void apps__failed(HostApp *app, const ErrText *why);
void apps__run(Worker *worker);
int64_t apps__wait_us(const Worker *worker);
void apps__look(Worker *worker);                       // puts to sleep who may
void apps__wait_for(HostApp *app, Conn *conn);         // until it is awake, or cannot be
bool apps__forget_waiting(Worker *worker, const Conn *conn);
HostApp *apps__new(Host *host, Str name);
void apps__hold(HostApp *app);
void apps__drop(HostApp *app);
// ---- directory.c
MUST_USE Err directory__publish(Host *host);           // from host->apps to all workers
HostApp *directory__find(const Directory *directory, Str name);
void directory__drop(Directory *directory);
// ---- admin.c
void admin__request(Worker *control, Conn *conn, const HttpRequest *request, Str path);
bool admin__forget(Worker *control, const Conn *conn);
void admin__call_done(HostApp *app, Call *call, Err err, const ErrText *text);  // from the home worker
void admin__call_at_home(HostApp *app, Call *call);    // on the home worker, not while OPENING
Str admin__module_of(const Call *call);
bool admin__admits(Worker *control, Conn *conn, const HttpRequest *request);  // is it an administrator? false: answered
// ---- logs.c
void logs__take(void *context, Str line);              // a Log's sink; context: the HostApp
void logs__write(Host *host, Str name, Buf *out);      // the last lines about an app
void logs__free(Host *host);
// ---- registry.c
MUST_USE Err registry__read(Host *host, ErrText *out_text);
MUST_USE Err registry__write(Host *host, Str content, ErrText *out_text);  // on the helper's thread, or before and after host_run
void registry__content(const Host *host, Buf *out);    // on the control
// ---- host.c
HostApp *host__find(const Host *host, Str name);       // the control's
MUST_USE Err host__add(Host *host, HostApp *app, ErrText *out_text);   // gives it a home; not in the directory yet
void host__remove(Host *host, HostApp *app);
bool host__name_fits(Str name);
static inline bool host__keeps_nothing(const Host *host) { return str_is(STR(":memory:"), host->options.data); }
static inline Str app__name(const HostApp *app) { return str_from(app->name); }
