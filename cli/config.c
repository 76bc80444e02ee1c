// aup.toml is a small part of TOML: lines of `key = value`, where a key is an option's name (or, in a section, a setting's) and a value is a
// text in quotes, a number, true or false. By hand: Debian 12 has no TOML reader for C that is kept up.
#include "cli/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files.h"
#include "runtime/base/mem.h"

static const char FILE_DEFAULT[] = "aup.toml";

static bool is_ours(const Args *args, OptionId option) {
  return args_takes(args->command, option) && option != OPTION_HELP && option != OPTION_SET && option != OPTION_CONFIG && option != OPTION_PRINT_CONFIG;
}

// An option without a value is switched on or off.
static ExitCode set(Config *config, OptionId option, Str text, const char *source) {
  bool is_switch = !args_option_value(option);
  if (is_switch && (str_is(text, "false") || str_is(text, "0") || !text.len)) return CLI_OK;
  if (is_switch && !str_is(text, "true") && !str_is(text, "1")) {
    cli_say("%s: `" STR_FMT "` is neither true nor false", source, STR_ARG(text));
    return CLI_USAGE;
  }
  config->args.values[option] = is_switch ? "" : arena_copy(&config->arena, text).ptr;
  config->sources[option] = source;
  return config->args.values[option] ? CLI_OK : CLI_ENVIRONMENT;
}

// ---- the environment ------------------------------------------------------------------------------------

static ExitCode read_environment(Config *config) {
  for (OptionId option = 0; option < OPTION_COUNT; option++) {
    char name[64] = "AUP_";
    if (!is_ours(&config->args, option) || args_has(&config->args, option)) continue;
    size_t len = 4;
    for (const char *at = args_option_name(option) + 2; *at && len < sizeof name - 1; at++) name[len++] = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    const char *value = getenv(name);
    if (!value) continue;
    Str source = arena_copy(&config->arena, (Str){name, len});
    ExitCode code = source.ptr ? set(config, option, str_from(value), source.ptr) : CLI_ENVIRONMENT;
    if (code != CLI_OK) return code;
  }
  return CLI_OK;
}

// ---- the file ---------------------------------------------------------------------------------------------

static Str trim(Str text) {
  while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) text = str_part(text, 1, text.len);
  while (text.len && strchr(" \t\r", text.ptr[text.len - 1])) text.len--;
  return text;
}

// A value with what may stand behind it.
static bool read_value(Str text, Str *out) {
  bool quoted = text.len && text.ptr[0] == '"';
  const char *end;
  if (quoted) {
    end = memchr(text.ptr + 1, '"', text.len - 1);
    if (!end || memchr(text.ptr, '\\', (size_t)(end - text.ptr))) return false;
    *out = (Str){text.ptr + 1, (size_t)(end - text.ptr) - 1};
    text = trim(str_part(text, out->len + 2, text.len));
    return !text.len || text.ptr[0] == '#';
  }
  end = memchr(text.ptr, '#', text.len);
  *out = trim((Str){text.ptr, end ? (size_t)(end - text.ptr) : text.len});
  for (size_t i = 0; i < out->len; i++) {
    if (!isdigit((unsigned char)out->ptr[i]) && !isalpha((unsigned char)out->ptr[i]) && !strchr(".+-", out->ptr[i])) return false;
  }
  return out->len > 0;
}

static bool find_option(const Args *args, Str key, OptionId *out_option) {
  for (OptionId option = 0; option < OPTION_COUNT; option++) {
    if (!is_ours(args, option) || !str_is(key, args_option_name(option) + 2)) continue;
    *out_option = option;
    return true;
  }
  return false;
}

// The lines behind `[settings]` or `[app.NAME.settings]` are settings of an app.
typedef struct Section { bool is_settings; Str app; } Section;

static bool read_section(Config *config, Str line, Section *out) {
  static const char FIRST[] = "app.", LAST[] = ".settings";
  const char *end = memchr(line.ptr, ']', line.len);
  Str name = end ? trim((Str){line.ptr + 1, (size_t)(end - line.ptr) - 1}) : (Str){0};
  Str rest = end ? trim(str_part(line, (size_t)(end - line.ptr) + 1, line.len)) : (Str){0};
  *out = (Section){.is_settings = true};
  if (rest.len && rest.ptr[0] != '#') return false;
  if (str_is(name, "settings")) return true;
  size_t first = sizeof FIRST - 1, last = sizeof LAST - 1;
  if (name.len <= first + last || memcmp(name.ptr, FIRST, first) != 0 || memcmp(name.ptr + name.len - last, LAST, last) != 0) return false;
  out->app = arena_copy(&config->arena, str_part(name, first, name.len - last));
  return out->app.ptr && settings_is_name(out->app);
}

static ExitCode read_setting(Config *config, const Section *section, Str key, Str value, const char *source) {
  CliSetting one = {.app = section->app, .name = arena_copy(&config->arena, key), .value = arena_copy(&config->arena, value), .source = source};
  if (!one.name.ptr || !one.value.ptr) return CLI_ENVIRONMENT;
  if (settings_is_name(key)) return settings_add(&config->settings, &config->arena, &one);
  cli_say("%s: `" STR_FMT "` cannot be a setting's name", source, STR_ARG(key));
  return CLI_USAGE;
}

static ExitCode read_line(Config *config, const char *path, unsigned number, Str line, Section *section) {
  line = trim(line);
  if (!line.len || line.ptr[0] == '#') return CLI_OK;
  if (line.ptr[0] == '[') {
    if (read_section(config, line, section)) return CLI_OK;
    cli_say("%s:%u: a section is `[settings]` or `[app.NAME.settings]`", path, number);
    return CLI_USAGE;
  }
  const char *equals = memchr(line.ptr, '=', line.len);
  Str key = equals ? trim((Str){line.ptr, (size_t)(equals - line.ptr)}) : line, value;
  OptionId option;
  if (!equals || !read_value(trim(str_part(line, (size_t)(equals - line.ptr) + 1, line.len)), &value)) {
    cli_say("%s:%u: write `key = \"text\"`, `key = 12` or `key = true`", path, number);
    return CLI_USAGE;
  }
  if (section->is_settings) {
    Str where = arena_format(&config->arena, "%s:%u", path, number);
    return where.ptr ? read_setting(config, section, key, value, where.ptr) : CLI_ENVIRONMENT;
  }
  if (!find_option(&config->args, key, &option)) {
    cli_say("%s:%u: there is no setting `" STR_FMT "` (`--print-config` lists them)", path, number, STR_ARG(key));
    return CLI_USAGE;
  }
  if (args_has(&config->args, option)) return CLI_OK;
  Str source = arena_format(&config->arena, "%s:%u", path, number);
  return source.ptr ? set(config, option, value, source.ptr) : CLI_ENVIRONMENT;
}

static ExitCode read_file(Config *config, const char *path, bool must_be) {
  Str bytes;
  ErrText text;
  Err err = file_read(path, CONFIG_BYTES_MAX, &bytes, &text);
  if (err == ERR_NOT_FOUND && !must_be) return CLI_OK;
  if (err != ERR_NONE) {
    cli_say("%s", text.text);
    return CLI_ENVIRONMENT;
  }
  ExitCode code = CLI_OK;
  unsigned number = 0;
  Section section = {0};
  for (Str rest = bytes; rest.len && code == CLI_OK;) {
    const char *end = memchr(rest.ptr, '\n', rest.len);
    size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
    code = read_line(config, path, ++number, (Str){rest.ptr, len}, &section);
    rest = str_part(rest, len + (end ? 1 : 0), rest.len);
  }
  mem_free((char *)bytes.ptr);
  return code;
}

// ---- all of it ----------------------------------------------------------------------------------------------

ExitCode config_read(const Args *flags, Config *out_config) {
  *out_config = (Config){.flags = *flags, .args = *flags};
  arena_init(&out_config->arena, 0);
  ExitCode code = settings_add_flags(&out_config->settings, &out_config->arena, flags);
  if (code == CLI_OK) code = settings_add_environment(&out_config->settings, &out_config->arena);
  if (code == CLI_OK) code = read_environment(out_config);
  const char *path = flags->values[OPTION_CONFIG];
  if (code == CLI_OK) code = read_file(out_config, path ? path : FILE_DEFAULT, path != NULL);
  if (code != CLI_OK) config_free(out_config);
  return code;
}

void config_print(const Config *config) {
  for (OptionId option = 0; option < OPTION_COUNT; option++) {
    if (!is_ours(&config->args, option)) continue;
    const char *name = args_option_name(option) + 2, *value = config->args.values[option];
    if (!value) printf("# %s: %s\n", name, args_option_words(option));
    else if (!args_option_value(option)) printf("%s = true  # %s\n", name, config->sources[option] ? config->sources[option] : "flag");
    else printf("%s = \"%s\"  # %s\n", name, value, config->sources[option] ? config->sources[option] : "flag");
  }
  settings_print(&config->settings);
}

void config_free(Config *config) { arena_free(&config->arena); }
