// SIGINT and SIGTERM are blocked before any thread starts, and one thread waits for them: a handler would need a global.
#include "cli/hosting.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/config.h"
#include "runtime/module/format.h"
#include "runtime/net/http.h"

// ---- options ----------------------------------------------------------------------------------------
static bool read_number(const char *text, uint32_t most, uint32_t *out_number) {
  uint64_t number = 0;
  if (!*text) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    number = number * 10 + (uint64_t)(*text - '0');
    if (number > most) return false;
  }
  *out_number = (uint32_t)number;
  return true;
}

static const char *listen_of(const Args *args) { return args_has(args, OPTION_LISTEN) ? args->values[OPTION_LISTEN] : "127.0.0.1:8080"; }

// Options that are numbers, from 1.
static const struct { OptionId option; const char *name; uint32_t most; } NUMBERS[] = {
  {OPTION_CONNECTIONS, "--connections", 1000000}, {OPTION_WORKERS, "--workers", HOST_WORKERS_MAX}, {OPTION_SLEEP_AFTER, "--sleep-after", INT32_MAX},
  {OPTION_APP_FUEL, "--app-fuel", 1000000}, {OPTION_APP_CALL_MEMORY, "--app-call-memory", 1 << 20}, {OPTION_APP_STATE, "--app-state", 1 << 20},
  {OPTION_APP_QUEUE, "--app-queue", 1000000}, {OPTION_APP_RATE, "--app-rate", 1000000}, {OPTION_APP_STREAMS, "--app-streams", 1000000},
};

static bool read_loop(const Args *args, LoopKind *out_kind) {
  const char *name = args->values[OPTION_LOOP];
  *out_kind = !name || strcmp(name, "auto") == 0 ? LOOP_AUTO : strcmp(name, "io_uring") == 0 ? LOOP_URING : LOOP_EPOLL;
  return *out_kind != LOOP_EPOLL || strcmp(name, "epoll") == 0;
}

// 0: not given.
static uint32_t number_of(const Args *args, OptionId option) {
  uint32_t number = 0;
  if (args_has(args, option)) (void)read_number(args->values[option], UINT32_MAX, &number);
  return number;
}

// An origin is a scheme, a host and maybe a port, as a browser writes it: small letters, no path.
static bool is_origin(Str text) {
  size_t scheme = str_starts(text, STR("https://")) ? 8 : str_starts(text, STR("http://")) ? 7 : 0;
  for (size_t i = scheme; i < text.len; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !strchr(".-:[]", c)) return false;
  }
  return scheme && text.len > scheme;
}

static ExitCode check_origins(const Args *args) {
  Str list = str_from(args_has(args, OPTION_CORS) ? args->values[OPTION_CORS] : "");
  for (Str one; http_list_next(&list, &one);) {
    if (!is_origin(one)) return cli_usage(args->command, "`--cors " STR_FMT "` is no origin as browsers write it, as in https://example.com or http://localhost:5173 (there is no *: say whose pages are welcome)", STR_ARG(one));
  }
  return CLI_OK;
}

ExitCode hosting_check(const Args *args) {
  const char *listen = listen_of(args), *colon = strrchr(listen, ':');
  uint32_t number;
  if (!colon || colon == listen || !read_number(colon + 1, 65535, &number)) return cli_usage(args->command, "`--listen %s` is no address and port, as in 127.0.0.1:8080", listen);
  for (size_t i = 0; i < countof(NUMBERS); i++) {
    const char *text = args->values[NUMBERS[i].option];
    if (!text || (NUMBERS[i].option == OPTION_SLEEP_AFTER && strcmp(text, "never") == 0)) continue;
    if (!read_number(text, NUMBERS[i].most, &number) || number == 0) return cli_usage(args->command, "`%s %s` is no number from 1 to %u", NUMBERS[i].name, text, NUMBERS[i].most);
  }
  LoopKind kind;
  if (!read_loop(args, &kind)) return cli_usage(args->command, "`--loop %s` is none of auto, io_uring and epoll", args->values[OPTION_LOOP]);
  if (args_has(args, OPTION_DATA) && !*args->values[OPTION_DATA]) return cli_usage(args->command, "`--data` needs the name of a folder");
  return check_origins(args);
}

ExitCode hosting_config(const Args *flags, Config *out_config, bool *out_done) {
  *out_done = args_has(flags, OPTION_PRINT_CONFIG);
  ExitCode code = config_read(flags, out_config);
  if (code != CLI_OK) return code;
  code = hosting_check(&out_config->args);
  if (code == CLI_OK && *out_done) config_print(out_config);
  if (code != CLI_OK || *out_done) config_free(out_config);
  return code;
}

static HostOptions make_options(const Args *args, const char *data) {
  HostOptions options = {.listen = listen_of(args), .data = data, .allow_remote = args_has(args, OPTION_ALLOW_REMOTE), .access_log = args_has(args, OPTION_ACCESS_LOG), .origins = args_has(args, OPTION_CORS) ? args->values[OPTION_CORS] : ""};
  options.server_timing = args->command == COMMAND_WATCH;
  options.connections_max = number_of(args, OPTION_CONNECTIONS);
  options.workers = number_of(args, OPTION_WORKERS);
  (void)read_loop(args, &options.loop);
  const char *sleep_after = args->values[OPTION_SLEEP_AFTER];
  options.sleep_after_s = sleep_after && strcmp(sleep_after, "never") == 0 ? UINT32_MAX : number_of(args, OPTION_SLEEP_AFTER);
  options.limits.input_fuel = options.limits.view_fuel = 1000000ull * number_of(args, OPTION_APP_FUEL);
  options.limits.memory_bytes = (uint64_t)number_of(args, OPTION_APP_CALL_MEMORY) << 20;
  options.limits.state_bytes = (uint64_t)number_of(args, OPTION_APP_STATE) << 20;
  options.limits.queue_max = number_of(args, OPTION_APP_QUEUE);
  options.serve_limits = (ServeLimits){number_of(args, OPTION_APP_RATE), number_of(args, OPTION_APP_STREAMS)};
  return options;
}

// ---- opening ----------------------------------------------------------------------------------------
static ExitCode say_err(Err err, const ErrText *text) {
  cli_say("%s", text->text);
  return err == ERR_FORMAT || err == ERR_REFUSED ? CLI_PROGRAM : CLI_ENVIRONMENT;
}

static void block_signals(sigset_t *out_set) {
  sigemptyset(out_set);
  sigaddset(out_set, SIGINT);
  sigaddset(out_set, SIGTERM);
  sigaddset(out_set, SIGHUP);
  sigaddset(out_set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, out_set, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, as a full disk is
}

// The app's name, from a module read for that alone.
static ExitCode read_name(Hosting *hosting, const HostedModule *hosted, Str *out_name) {
  Arena arena;
  arena_init(&arena, 0);
  Module *module;
  ErrText text;
  Err err = module_read(hosted->bytes, &arena, &module, &text);
  *out_name = err == ERR_NONE ? arena_copy(&hosting->arena, module->name) : (Str){0};
  arena_free(&arena);
  if (err != ERR_NONE) {
    cli_say("%s: %s", hosted->path, text.text);
    return err == ERR_MEMORY ? CLI_ENVIRONMENT : CLI_PROGRAM;
  }
  return out_name->ptr ? CLI_OK : CLI_ENVIRONMENT;
}

static ExitCode add_app(Hosting *hosting, const HostedModule *hosted) {
  Str name;
  ExitCode code = read_name(hosting, hosted, &name);
  if (code != CLI_OK) return code;
  ErrText text = {""};
  Err err = host_add_app(hosting->host, name, hosted->bytes, &text);
  return err == ERR_NONE ? CLI_OK : say_err(err, &text);
}

static ExitCode add_apps(Hosting *hosting, const HostedModule *modules, int count) {
  ExitCode code = CLI_OK;
  int added = 0;
  for (int i = 0; i < count; i++) {
    ExitCode one = add_app(hosting, &modules[i]);
    if (one == CLI_OK) added++;
    else code = one;
  }
  if (count > 0 && added == 0) return code;
  host_add_deployed(hosting->host);
  ErrText text = {""};
  Err err = host_listen(hosting->host, &text);
  return err == ERR_NONE ? CLI_OK : say_err(err, &text);
}

// The folder of the state: that of the one app, unless another is asked for.
static ExitCode data_of(Hosting *hosting, const Args *args, const HostedModule *modules, int count, const char **out_data) {
  *out_data = args->values[OPTION_DATA];
  if (*out_data) return CLI_OK;
  if (count != 1) return cli_usage(args->command, "`--data` is needed: the folder for the state of all apps");
  Str name;
  ExitCode code = read_name(hosting, &modules[0], &name);
  if (code == CLI_OK) *out_data = arena_format(&hosting->arena, STR_FMT ".data", STR_ARG(name)).ptr;
  return code == CLI_OK && !*out_data ? CLI_ENVIRONMENT : code;
}

// A setting without an app is that of the one that is served.
static ExitCode settings_of(Hosting *hosting, const Config *config, const HostedModule *modules, int count, HostOptions *options) {
  const CliSettings *given = &config->settings;
  HostSetting *settings = ARENA_ARRAY(&hosting->arena, HostSetting, given->count + 1);
  if (!settings) return CLI_ENVIRONMENT;
  Str only = {0};
  for (uint32_t i = 0; i < given->count; i++) {
    const CliSetting *one = &given->items[i];
    if (!one->app.len && count != 1)
      return cli_usage(config->args.command, "the setting `" STR_FMT "` (%s): of which app? Write APP." STR_FMT, STR_ARG(one->name), one->source ? one->source : "--set", STR_ARG(one->name));
    ExitCode code = one->app.len || only.len ? CLI_OK : read_name(hosting, &modules[0], &only);
    if (code != CLI_OK) return code;
    settings[i] = (HostSetting){one->app.len ? one->app : only, {one->name, one->value}};
  }
  options->settings = settings;
  options->setting_count = given->count;
  return CLI_OK;
}

static ExitCode open_host(Hosting *hosting, const Config *config, const HostedModule *modules, int count) {
  const Args *args = &config->args;
  const char *data;
  ExitCode code = data_of(hosting, args, modules, count, &data);
  if (code != CLI_OK) return code;
  HostOptions options = make_options(args, data);
  code = settings_of(hosting, config, modules, count, &options);
  if (code != CLI_OK) return code;
  ErrText text = {""};
  Err err = host_open(&options, &hosting->host, &text);
  if (err != ERR_NONE) return say_err(err, &text);
  code = add_apps(hosting, modules, count);
  if (code == CLI_OK) return CLI_OK;
  err = host_close(hosting->host, &text);
  return err == ERR_NONE ? code : say_err(err, &text);
}

// The first view and input, as a person would try them.
static void print_examples(const Module *module, unsigned port, Str below) {
  bool shown[ENTRY_KINDS] = {0};
  for (uint16_t i = 0; module && i < module->entry_count; i++) {
    const EntryDef *entry = &module->entries[i];
    if (shown[entry->kind]) continue;
    shown[entry->kind] = true;
    if (entry->kind == ENTRY_VIEW) printf("  curl localhost:%u" STR_FMT "/views/" STR_FMT "\n", port, STR_ARG(below), STR_ARG(entry->name));
    else if (entry->kind == ENTRY_INPUT) printf("  curl --json '{}' localhost:%u" STR_FMT "/inputs/" STR_FMT "\n", port, STR_ARG(below), STR_ARG(entry->name));
  }
}

static void print_ready(Hosting *hosting) {
  unsigned port = host_port(hosting->host);
  uint32_t count = host_app_count(hosting->host);
  hosting->name = host_first_app(hosting->host);
  if (count == 0) printf("serving nothing on http://127.0.0.1:%u/ yet: `aup deploy FILE http://127.0.0.1:%u` installs an app\n", port, port);
  else if (count == 1) printf("serving " STR_FMT " on http://127.0.0.1:%u/\n", STR_ARG(hosting->name), port);
  else printf("serving %u apps on http://127.0.0.1:%u/, listed at http://127.0.0.1:%u/_host/apps\n", count, port, port);
  if (count == 1) print_examples(host_module(hosting->host, hosting->name), port, (Str){0});
  fflush(stdout);
}

ExitCode hosting_open(Hosting *hosting, const Config *config, const HostedModule *modules, int count) {
  *hosting = (Hosting){.flags = &config->flags};
  arena_init(&hosting->arena, 0);
  sigset_t set;
  block_signals(&set);
  ExitCode code = open_host(hosting, config, modules, count);
  if (code == CLI_OK) print_ready(hosting);
  else arena_free(&hosting->arena);
  return code;
}

// ---- running ----------------------------------------------------------------------------------------
// HUP: the budgets of apps from aup.toml again. What else stands there takes a start.
static void reread(Hosting *hosting) {
  Config config;
  if (config_read(hosting->flags, &config) != CLI_OK) {
    cli_say("the settings stay as they were");
    return;
  }
  if (hosting_check(&config.args) == CLI_OK) {
    HostOptions options = make_options(&config.args, "");
    host_limit(hosting->host, &options.limits, &options.serve_limits);
    cli_say("settings reread");
  }
  config_free(&config);
}

static void *wait_for_signals(void *context) {
  sigset_t set;
  block_signals(&set);
  Hosting *hosting = context;
  for (int number; sigwait(&set, &number) == 0 && number != SIGUSR1;) {
    if (number == SIGHUP) reread(hosting);
    else host_stop(hosting->host);
  }
  return NULL;
}

ExitCode hosting_run(Hosting *hosting) {
  pthread_t waiter;
  if (pthread_create(&waiter, NULL, wait_for_signals, hosting) != 0) {
    cli_say("cannot start a thread");
    return CLI_ENVIRONMENT;
  }
  ErrText text = {""};
  Err err = host_run(hosting->host, &text);
  pthread_kill(waiter, SIGUSR1);
  pthread_join(waiter, NULL);
  return err == ERR_NONE ? CLI_OK : say_err(err, &text);
}

ExitCode hosting_close(Hosting *hosting) {
  ErrText text = {""};
  Err err = host_close(hosting->host, &text);
  arena_free(&hosting->arena);
  return err == ERR_NONE ? CLI_OK : say_err(err, &text);
}
