// The values of apps' settings from the command line (`--set`), the environment (AUP_SET_NAME, AUP_SET_APP__NAME) and aup.toml
// (`[settings]`, `[app.NAME.settings]`). What they mean is the app's matter (runtime/app/settings.h).
//
// Owns:   a list owns nothing; texts live in the arena or where they were given.
// Thread: the main one.
// Errors: said on standard error in one line.
// Limits: CLI_SETTINGS_MAX.
#pragma once
#include "cli/args.h"
#include "runtime/base/arena.h"

enum { CLI_SETTINGS_MAX = 1000 };

// `app` empty: of the one app that is served. `source`: where it stands, NULL for a flag.
typedef struct CliSetting { Str app, name, value; const char *source; } CliSetting;
typedef struct CliSettings { CliSetting *items; uint32_t count; } CliSettings;

// Adds one unless it is there already: what was added first wins.
ExitCode settings_add(CliSettings *settings, Arena *arena, const CliSetting *one);
// The `--set`s: `NAME=VALUE` or `APP.NAME=VALUE`. A name twice is a mistake.
ExitCode settings_add_flags(CliSettings *settings, Arena *arena, const Args *args);
ExitCode settings_add_environment(CliSettings *settings, Arena *arena);
// A word as names of apps and settings are.
bool settings_is_name(Str text);
// Which there are, and from where; never their values, since one may be secret.
void settings_print(const CliSettings *settings);
