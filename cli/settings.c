// A list that is looked through from its start: there are a few settings, once.
#include "cli/settings.h"

#include <stdio.h>

extern char **environ;

bool settings_is_name(Str text) {
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return text.len > 0;
}

static const CliSetting *find(const CliSettings *settings, Str app, Str name) {
  for (uint32_t i = 0; i < settings->count; i++)
    if (str_equal(settings->items[i].app, app) && str_equal(settings->items[i].name, name)) return &settings->items[i];
  return NULL;
}

ExitCode settings_add(CliSettings *settings, Arena *arena, const CliSetting *one) {
  if (find(settings, one->app, one->name)) return CLI_OK;
  if (!settings->items) settings->items = ARENA_ARRAY(arena, CliSetting, CLI_SETTINGS_MAX);
  if (!settings->items) return CLI_ENVIRONMENT;
  if (settings->count == CLI_SETTINGS_MAX) {
    cli_say("at most %d settings (CLI_SETTINGS_MAX)", CLI_SETTINGS_MAX);
    return CLI_USAGE;
  }
  settings->items[settings->count++] = *one;
  return CLI_OK;
}

// "NAME" or "APP.NAME".
static bool read_place(Str text, CliSetting *out) {
  const char *point = text.len ? memchr(text.ptr, '.', text.len) : NULL;
  size_t at = point ? (size_t)(point - text.ptr) : 0;
  out->app = point ? str_part(text, 0, at) : (Str){0};
  out->name = point ? str_part(text, at + 1, text.len) : text;
  return (!point || settings_is_name(out->app)) && settings_is_name(out->name);
}

ExitCode settings_add_flags(CliSettings *settings, Arena *arena, const Args *args) {
  for (int i = 0; i < args->set_count; i++) {
    Str text = str_from(args->sets[i]);
    const char *equals = memchr(text.ptr, '=', text.len);
    size_t at = equals ? (size_t)(equals - text.ptr) : text.len;
    CliSetting one = {0};
    // The value is not repeated: it may be a secret, and what is said may be kept.
    if (!equals || !read_place(str_part(text, 0, at), &one)) return cli_usage(args->command, "`--set` takes NAME=VALUE or APP.NAME=VALUE");
    one.value = str_part(text, at + 1, text.len);
    if (find(settings, one.app, one.name)) return cli_usage(args->command, "`--set %.*s` is there twice", (int)at, text.ptr);
    ExitCode code = settings_add(settings, arena, &one);
    if (code != CLI_OK) return code;
  }
  return CLI_OK;
}

// "NAME" or "APP__NAME": a point cannot stand in the name of a variable.
static bool read_variable(Str text, CliSetting *out) {
  const char *bars = text.len ? memmem(text.ptr + 1, text.len - 1, "__", 2) : NULL;
  size_t at = bars ? (size_t)(bars - text.ptr) : 0;
  out->app = bars ? str_part(text, 0, at) : (Str){0};
  out->name = bars ? str_part(text, at + 2, text.len) : text;
  return (!bars || settings_is_name(out->app)) && settings_is_name(out->name);
}

ExitCode settings_add_environment(CliSettings *settings, Arena *arena) {
  static const char PREFIX[] = "AUP_SET_";
  for (char **at = environ; at && *at; at++) {
    Str text = str_from(*at);
    const char *equals = memchr(text.ptr, '=', text.len);
    if (text.len < sizeof PREFIX || memcmp(text.ptr, PREFIX, sizeof PREFIX - 1) != 0 || !equals) continue;
    Str variable = arena_copy(arena, str_part(text, 0, (size_t)(equals - text.ptr)));
    CliSetting one = {.source = variable.ptr, .value = str_from(equals + 1)};
    if (!variable.ptr) return CLI_ENVIRONMENT;
    if (!read_variable(str_part(variable, sizeof PREFIX - 1, variable.len), &one)) {
      cli_say("%s: a setting is AUP_SET_NAME or AUP_SET_APP__NAME", variable.ptr);
      return CLI_USAGE;
    }
    ExitCode code = settings_add(settings, arena, &one);
    if (code != CLI_OK) return code;
  }
  return CLI_OK;
}

void settings_print(const CliSettings *settings) {
  for (uint32_t i = 0; i < settings->count; i++) {
    const CliSetting *one = &settings->items[i];
    printf("# set " STR_FMT "%s" STR_FMT ": given  # %s\n", STR_ARG(one->app), one->app.len ? "." : "", STR_ARG(one->name), one->source ? one->source : "flag");
  }
}
