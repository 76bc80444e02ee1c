// What serve, watch and aup-serve share: the host with its options, its ready lines, and stopping by a signal. Knows no compiler.
//
// Owns:   a Hosting owns its host until hosting_run returns.
// Thread: the main one; a thread of its own waits for signals.
// Errors: said on standard error; CLI_USAGE, CLI_ENVIRONMENT, or CLI_PROGRAM for a module that is not sound.
#pragma once
#include "cli/args.h"
#include "runtime/host/host.h"

typedef struct Hosting {
  Host *host;
  Arena arena;
  Str name;            // of the first app
} Hosting;

// Are --listen and --connections well-formed? Says what is not.
ExitCode hosting_check(const Args *args);
// A module to serve: its bytes belong to the caller.
typedef struct HostedModule { const char *path; Str bytes; } HostedModule;
// Opens data and port and prints where to go. Anything but CLI_OK: nothing is left open.
// One module that cannot be served ends it; of several the others are served.
ExitCode hosting_open(Hosting *hosting, const Args *args, const HostedModule *modules, int count);
// Serves until SIGINT or SIGTERM (a second one stops at once), then closes.
ExitCode hosting_run(Hosting *hosting);
ExitCode hosting_close(Hosting *hosting);
