// Options from elsewhere than the command line: a flag wins over the environment (AUP_LISTEN for --listen), that over aup.toml.
//
// Owns:   a Config owns its texts until config_free; the values of its args point into them and into argv.
// Thread: the main one, and the one that waits for signals (config_read reads the environment).
// Errors: said on standard error in one line with file and line.
// Limits: CONFIG_BYTES_MAX.
#pragma once
#include "cli/settings.h"
#include "runtime/base/arena.h"

enum { CONFIG_BYTES_MAX = 64 << 10 };

typedef struct Config {
  Args flags;                         // as they were given
  Args args;                          // with what was not given as a flag
  const char *sources[OPTION_COUNT];  // NULL: a flag, or not given
  CliSettings settings;               // of apps
  Arena arena;
} Config;

// Reads `--config FILE`, else aup.toml if it is there.
ExitCode config_read(const Args *flags, Config *out_config);
void config_print(const Config *config);
void config_free(Config *config);
