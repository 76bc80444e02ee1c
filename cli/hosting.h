// What serve, watch and aup-serve share: the host with its options, its ready lines, and stopping by a signal. Knows no compiler.
//
// Owns:   a Hosting owns its host until hosting_run returns.
// Thread: the main one; a thread of its own waits for signals.
// Errors: said on standard error; CLI_USAGE, CLI_ENVIRONMENT, or CLI_PROGRAM for a module that is not sound.
#pragma once
#include "cli/config.h"
#include "runtime/host/host.h"

typedef struct Hosting {
  Host *host;
  Arena arena;
  Str name;            // of the first app
  const Args *flags;   // as they were given
} Hosting;

// Are the options well-formed? Says what is not.
ExitCode hosting_check(const Args *args);
// The options with those of the environment and of aup.toml, checked. Anything but CLI_OK: done, nothing is left to free
// (`--print-config` has shown them: CLI_OK with `out_done`).
ExitCode hosting_config(const Args *flags, Config *out_config, bool *out_done);
// A module to serve: its bytes belong to the caller.
typedef struct HostedModule { const char *path; Str bytes; } HostedModule;
// Opens data and port and prints where to go. Anything but CLI_OK: nothing is left open.
// One module that cannot be served ends it; of several the others are served.
// The config stays until hosting_close.
ExitCode hosting_open(Hosting *hosting, const Config *config, const HostedModule *modules, int count);
// Serves until SIGINT or SIGTERM (a second one stops at once), then closes.
ExitCode hosting_run(Hosting *hosting);
ExitCode hosting_close(Hosting *hosting);
