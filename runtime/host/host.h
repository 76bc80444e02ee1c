// The host: many apps, each with its data in DATA/NAME, served by one or more workers until it is told to stop.
//
// Owns:   apps, connections, loops, threads, the lock of the data root.
// Thread: the one that calls host_run is worker 0 and the control; host_post and host_stop from any (host_stop from a signal
//         handler too).
// Errors: one line that says what and how to mend it; ERR_EXISTS port taken, ERR_NOT_FOUND, ERR_PERMISSION, ERR_BUSY (data in use) …
// Limits: HOST_*_MAX; those of serve and app.
#pragma once
#include "runtime/app/app.h"
#include "runtime/base/err.h"
#include "runtime/serve/serve.h"

typedef struct Host Host;

enum {
  HOST_APPS_MAX = 100000,
  HOST_NAME_BYTES_MAX = 100,       // of an app: it is a folder and a part of a path
  HOST_WORKERS_MAX = 64,
  HOST_MODULE_BYTES_MAX = 64 << 20,  // of a deployed module; more is 413
  HOST_DRAIN_MS = 10000,           // how long requests in hand may go on after host_stop
  HOST_SLEEP_AFTER_S = 300,
};

// The value of a setting of an app, as in AppSettings.
typedef struct HostSetting { Str app; AppSetting setting; } HostSetting;

typedef struct HostOptions {
  const char *listen;        // "127.0.0.1:8080"; port 0: any free one
  const char *data;          // directory of all data; ":memory:" keeps nothing
  const HostSetting *settings;  // stay until host_close
  uint32_t setting_count;
  AppLimits limits;          // of each app
  ServeLimits serve_limits;  // of each app
  uint32_t connections_max;  // 0: the default
  LoopKind loop;
  uint32_t workers;          // 0: one a core
  uint32_t sleep_after_s;    // an app that had nothing to do for so long gives its memory back; 0: HOST_SLEEP_AFTER_S, UINT32_MAX: never
  bool access_log;           // a line for each answer
  bool server_timing;        // each answer says how long it took
  const char *origins;       // of pages on other sites that are welcome: "https://example.com, https://example.org"; empty: none
  bool allow_remote;         // without a token file only loopback addresses may be listened on, unless this is set
} HostOptions;

// Locks the data and reads the list of apps that were deployed there.
MUST_USE Err host_open(const HostOptions *options, Host **out_host, ErrText *out_text);
// One app, served at /NAME/ (with one app in the host at / too). Empty bytes: the module saved with its data.
MUST_USE Err host_add_app(Host *host, Str name, Str module_bytes, ErrText *out_text);
// Opens what was deployed here before and is not open yet. One that cannot be opened is logged, and answers with 503 why.
void host_add_deployed(Host *host);
uint32_t host_app_count(const Host *host);
// The first app; empty when there is none.
Str host_first_app(const Host *host);
MUST_USE Err host_listen(Host *host, ErrText *out_text);
// On worker 0's thread (see host_post), for an app that lives there (the first one): replaces its module; streams go on.
MUST_USE Err host_swap_app(Host *host, Str name, Str module_bytes, ErrText *out_text);
const Module *host_module(const Host *host, Str name);  // before host_run, or as host_swap_app
uint16_t host_port(const Host *host);
// Runs `call` on worker 0's thread soon. The way in for a watcher's thread.
void host_post(Host *host, void (*call)(void *context), void *context);
// Serves until host_stop: then takes no new connections, finishes what is in flight (HOST_DRAIN_MS at most), ends streams.
MUST_USE Err host_run(Host *host, ErrText *out_text);
// From any thread: budgets of each app from now on (the memory of tables when it is opened next).
void host_limit(Host *host, const AppLimits *limits, const ServeLimits *serve_limits);
void host_stop(Host *host);   // a second call stops at once
MUST_USE Err host_close(Host *host, ErrText *out_text);
