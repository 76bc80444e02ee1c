// SIGINT and SIGTERM are blocked before any thread starts, and one thread waits for them: a handler would need a global.
#include "cli/hosting.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/module/format.h"

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

ExitCode hosting_check(const Args *args) {
  const char *listen = listen_of(args), *colon = strrchr(listen, ':');
  uint32_t number;
  if (!colon || colon == listen || !read_number(colon + 1, 65535, &number)) return cli_usage(args->command, "`--listen %s` is no address and port, as in 127.0.0.1:8080", listen);
  const char *connections = args->values[OPTION_CONNECTIONS];
  if (connections && (!read_number(connections, 1000000, &number) || number == 0)) return cli_usage(args->command, "`--connections %s` is no number from 1 to 1000000", connections);
  if (args_has(args, OPTION_DATA) && !*args->values[OPTION_DATA]) return cli_usage(args->command, "`--data` needs the name of a folder");
  return CLI_OK;
}

static HostOptions make_options(const Args *args, const char *data) {
  HostOptions options = {.listen = listen_of(args), .data = data, .allow_remote = args_has(args, OPTION_ALLOW_REMOTE)};
  if (args_has(args, OPTION_CONNECTIONS)) (void)read_number(args->values[OPTION_CONNECTIONS], 1000000, &options.connections_max);
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
  sigaddset(out_set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, out_set, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, as a full disk is
}

// The app's name, from a module read for that alone.
static ExitCode read_name(Hosting *hosting, const char *path, Str module_bytes) {
  Arena arena;
  arena_init(&arena, 0);
  Module *module;
  ErrText text;
  Err err = module_read(module_bytes, &arena, &module, &text);
  if (err == ERR_NONE) hosting->name = arena_copy(&hosting->arena, module->name);
  arena_free(&arena);
  if (err != ERR_NONE) {
    cli_say("%s: %s", path, text.text);
    return err == ERR_MEMORY ? CLI_ENVIRONMENT : CLI_PROGRAM;
  }
  return hosting->name.ptr ? CLI_OK : CLI_ENVIRONMENT;
}

static ExitCode open_host(Hosting *hosting, const Args *args, Str module_bytes) {
  Str made = arena_format(&hosting->arena, STR_FMT ".data", STR_ARG(hosting->name));
  const char *data = args_has(args, OPTION_DATA) ? args->values[OPTION_DATA] : made.ptr;
  if (!data) return CLI_ENVIRONMENT;
  HostOptions options = make_options(args, data);
  ErrText text = {""};
  Err err = host_open(&options, &hosting->host, &text);
  if (err != ERR_NONE) return say_err(err, &text);
  err = host_add_app(hosting->host, hosting->name, module_bytes, &text);
  if (err == ERR_NONE) return CLI_OK;
  ExitCode code = say_err(err, &text);
  err = host_close(hosting->host, &text);
  return err == ERR_NONE ? code : say_err(err, &text);
}

// The first view and input, as a person would try them.
static void print_ready(const Hosting *hosting) {
  unsigned port = host_port(hosting->host);
  const Module *module = host_module(hosting->host, hosting->name);
  printf("serving " STR_FMT " on http://127.0.0.1:%u/\n", STR_ARG(hosting->name), port);
  bool shown[ENTRY_KINDS] = {0};
  for (uint16_t i = 0; module && i < module->entry_count; i++) {
    const EntryDef *entry = &module->entries[i];
    if (shown[entry->kind]) continue;
    shown[entry->kind] = true;
    if (entry->kind == ENTRY_VIEW) printf("  curl localhost:%u/views/" STR_FMT "\n", port, STR_ARG(entry->name));
    else if (entry->kind == ENTRY_INPUT) printf("  curl --json '{}' localhost:%u/inputs/" STR_FMT "\n", port, STR_ARG(entry->name));
  }
  fflush(stdout);
}

ExitCode hosting_open(Hosting *hosting, const Args *args, Str module_bytes) {
  *hosting = (Hosting){0};
  arena_init(&hosting->arena, 0);
  sigset_t set;
  block_signals(&set);
  ExitCode code = read_name(hosting, args->operand, module_bytes);
  if (code == CLI_OK) code = open_host(hosting, args, module_bytes);
  if (code == CLI_OK) print_ready(hosting);
  else arena_free(&hosting->arena);
  return code;
}

// ---- running ----------------------------------------------------------------------------------------
static void *wait_for_signals(void *context) {
  sigset_t set;
  block_signals(&set);
  for (int number; sigwait(&set, &number) == 0 && number != SIGUSR1;) host_stop(context);
  return NULL;
}

ExitCode hosting_run(Hosting *hosting) {
  pthread_t waiter;
  if (pthread_create(&waiter, NULL, wait_for_signals, hosting->host) != 0) {
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
