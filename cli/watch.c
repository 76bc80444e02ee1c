// aup watch: serves a program; a thread looks every few milliseconds whether one of its files changed, compiles, and hands
// the module to the host's thread, which swaps it. Files are looked at by their path: editors replace a file by another,
// and whole folders are replaced too, which a watch on the file itself (inotify) would lose; a look costs 2 µs.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/hosting.h"
#include "cli/program.h"
#include "runtime/base/clock.h"
#include "runtime/base/mem.h"

enum { WATCH_EVERY_MS = 20, WATCH_SETTLE_MS = 10 };

typedef struct Watched { char *path; FileStamp stamp; } Watched;
typedef struct Watcher {
  const char *path;
  Hosting *hosting;
  Watched files[SOURCES_MAX];
  uint32_t file_count;
  atomic_bool stop;
} Watcher;
typedef struct Swap { Hosting *hosting; Str bytes; int64_t start_us; } Swap;

static void sleep_ms(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }

// ---- which files ------------------------------------------------------------------------------------
static void forget_files(Watched *files, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) mem_free(files[i].path);
}

// A file that is watched already keeps its stamp, which is older than its last reading: a save in between is not missed.
static void add_file(Watcher *watcher, Str path, const Watched *before, uint32_t before_count) {
  char *copy = mem_alloc(path.len + 1);
  if (!copy || watcher->file_count == SOURCES_MAX) {
    mem_free(copy);
    return;
  }
  memcpy(copy, path.ptr, path.len);
  copy[path.len] = 0;
  FileStamp stamp = file_stamp(copy);
  for (uint32_t i = 0; i < before_count; i++)
    if (strcmp(before[i].path, copy) == 0) stamp = before[i].stamp;
  watcher->files[watcher->file_count++] = (Watched){copy, stamp};
}

static void note_files(Watcher *watcher, const Program *program) {
  Watched before[SOURCES_MAX];
  uint32_t before_count = watcher->file_count;
  memcpy(before, watcher->files, before_count * sizeof *before);
  watcher->file_count = 0;
  add_file(watcher, str_from(watcher->path), before, before_count);
  const Sources *sources = &program->compile.sources;
  for (uint32_t i = 1; i < sources->count; i++) add_file(watcher, sources->items[i]->name, before, before_count);
  forget_files(before, before_count);
}

static bool has_changed(Watcher *watcher) {
  bool changed = false;
  for (uint32_t i = 0; i < watcher->file_count; i++) {
    FileStamp now = file_stamp(watcher->files[i].path);
    if (now.inode == 0 || file_stamp_equal(now, watcher->files[i].stamp)) continue;
    watcher->files[i].stamp = now;
    changed = true;
  }
  return changed;
}

// ---- swapping ---------------------------------------------------------------------------------------
static void swap_on_host(void *context) {
  Swap *swap = context;
  ErrText text = {""};
  Err err = host_swap_app(swap->hosting->host, swap->hosting->name, swap->bytes, &text);
  if (err == ERR_NONE) {
    int64_t took_us = clock_mono_us(clock_system()) - swap->start_us;
    printf("swapped " STR_FMT " in %lld ms\n", STR_ARG(swap->hosting->name), (long long)(took_us / 1000));
    fflush(stdout);
  } else {
    cli_say("not swapped, the module before runs on: %s", text.text);
  }
  mem_free((char *)swap->bytes.ptr);
  mem_free(swap);
}

static void post_swap(Watcher *watcher, Str module_bytes, int64_t start_us) {
  Swap *swap = mem_alloc(sizeof *swap);
  char *copy = mem_alloc(module_bytes.len + 1);
  if (!swap || !copy) {
    mem_free(swap);
    mem_free(copy);
    cli_say("not swapped: no memory");
    return;
  }
  memcpy(copy, module_bytes.ptr, module_bytes.len);
  *swap = (Swap){watcher->hosting, {copy, module_bytes.len}, start_us};
  host_post(watcher->hosting->host, swap_on_host, swap);
}

static void compile_and_swap(Watcher *watcher) {
  Program program;
  int64_t start_us = clock_mono_us(clock_system());
  ExitCode code = program_compile(&program, watcher->path, false);
  if (code == CLI_ENVIRONMENT) return;
  program_show(&program, RENDER_HUMAN);
  if (code == CLI_OK) post_swap(watcher, program.compile.module_bytes, start_us);
  else cli_say("not swapped, the module before runs on");
  note_files(watcher, &program);
  program_free(&program);
}

static void *watch(void *context) {
  Watcher *watcher = context;
  while (!atomic_load(&watcher->stop)) {
    sleep_ms(WATCH_EVERY_MS);
    if (!has_changed(watcher)) continue;
    do sleep_ms(WATCH_SETTLE_MS); while (has_changed(watcher));  // an editor that writes in pieces
    compile_and_swap(watcher);
  }
  return NULL;
}

// ---- the command ------------------------------------------------------------------------------------
static ExitCode serve_and_watch(Watcher *watcher) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, watcher) != 0) {
    cli_say("cannot start a thread");
    return CLI_ENVIRONMENT;
  }
  ExitCode code = hosting_run(watcher->hosting);
  atomic_store(&watcher->stop, true);
  pthread_join(thread, NULL);
  return code;
}

static ExitCode open_and_watch(const Config *config, Watcher *watcher) {
  Program program;
  ExitCode code = program_load(&program, watcher->path, false, RENDER_HUMAN);
  if (code != CLI_OK) return code;
  note_files(watcher, &program);
  code = hosting_open(watcher->hosting, config, &(HostedModule){watcher->path, program.compile.module_bytes}, 1);
  program_free(&program);
  if (code != CLI_OK) return code;
  code = serve_and_watch(watcher);
  ExitCode closed = hosting_close(watcher->hosting);
  return code != CLI_OK ? code : closed;
}

ExitCode cli_watch(const Args *args) {
  Config config;
  bool done;
  ExitCode code = hosting_config(args, &config, &done);
  if (code != CLI_OK || done) return code;
  Hosting hosting;
  Watcher watcher = {.path = args->operand, .hosting = &hosting};
  add_file(&watcher, str_from(args->operand), NULL, 0);
  code = open_and_watch(&config, &watcher);
  config_free(&config);
  forget_files(watcher.files, watcher.file_count);
  return code;
}
