// The host: takes modules, opens their data, listens, serves until it is told to stop.
//
// Owns:   apps, connections, the loop.
// Thread: the one that calls host_run; host_post and host_stop from any (host_stop from a signal handler too).
// Errors: one line that says what and how to mend it; ERR_EXISTS port taken, ERR_NOT_FOUND, ERR_PERMISSION, ERR_BUSY (data in use) …
// Limits: those of serve and app.
#pragma once
#include "runtime/app/app.h"
#include "runtime/base/err.h"

typedef struct Host Host;

typedef struct HostOptions {
  const char *listen;        // "127.0.0.1:8080"; port 0: any free one
  const char *data;          // directory of all data; ":memory:" keeps nothing
  AppLimits limits;
  uint32_t connections_max;  // 0: the default
  bool allow_remote;         // without a token file only loopback addresses may be listened on, unless this is set
} HostOptions;

MUST_USE Err host_open(const HostOptions *options, Host **out_host, ErrText *out_text);
// One app, served at / (and at /NAME/ too). Its data lies in DATA/NAME.
MUST_USE Err host_add_app(Host *host, Str name, Str module_bytes, ErrText *out_text);
// On the host's thread (see host_post): replaces the app's module; streams go on with its values.
MUST_USE Err host_swap_app(Host *host, Str name, Str module_bytes, ErrText *out_text);
const Module *host_module(const Host *host, Str name);
uint16_t host_port(const Host *host);
// Runs `call` on the host's thread soon. The way in for a watcher's thread.
void host_post(Host *host, void (*call)(void *context), void *context);
// Serves until host_stop: then takes no new connections, finishes what is in flight (HOST_DRAIN_MS at most), ends streams.
MUST_USE Err host_run(Host *host, ErrText *out_text);
void host_stop(Host *host);   // a second call stops at once
MUST_USE Err host_close(Host *host, ErrText *out_text);
enum { HOST_DRAIN_MS = 10000 };
