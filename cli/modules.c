// Operands are read before anything is opened, so that a mistake in one of them leaves no half-started host.
#include "cli/modules.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/files.h"
#include "runtime/base/mem.h"
#include "runtime/module/format.h"

static bool ends_in(const char *path, const char *end) {
  size_t len = strlen(path), end_len = strlen(end);
  return len > end_len && strcmp(path + len - end_len, end) == 0;
}

static bool is_module(const char *path, Str bytes) { return str_starts(bytes, STR("AUPM")) || ends_in(path, ".aupm"); }

static ExitCode add(Modules *modules, const char *path, Str bytes) {
  if (modules->count == modules->room) {
    int room = modules->room ? modules->room * 2 : 4;
    HostedModule *items = modules->count < MODULES_MAX ? mem_realloc(modules->items, (size_t)room * sizeof *items) : NULL;
    if (!items) {
      cli_say("at most %d modules, as far as there is memory", MODULES_MAX);
      mem_free((char *)bytes.ptr);
      return CLI_ENVIRONMENT;
    }
    modules->items = items;
    modules->room = room;
  }
  modules->items[modules->count++] = (HostedModule){path, bytes};
  return CLI_OK;
}

static ExitCode read_file(Modules *modules, const char *path, CompileSource compile) {
  Str bytes;
  ErrText text;
  if (file_read(path, MODULE_BYTES_MAX, &bytes, &text) != ERR_NONE) {
    cli_say("%s", text.text);
    return CLI_ENVIRONMENT;
  }
  if (!compile || is_module(path, bytes)) return add(modules, path, bytes);
  mem_free((char *)bytes.ptr);
  ExitCode code = compile(path, &bytes);
  return code == CLI_OK ? add(modules, path, bytes) : code;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

// All files of a folder that look like modules (or sources), in the order of their names.
static ExitCode read_folder(Modules *modules, const char *path, CompileSource compile) {
  enum { NAMES_MAX = MODULES_MAX };
  DIR *dir = opendir(path);
  if (!dir) {
    cli_say("%s: the folder cannot be read", path);
    return CLI_ENVIRONMENT;
  }
  const char **names = ARENA_ARRAY(&modules->arena, const char *, NAMES_MAX);
  int count = 0;
  for (struct dirent *entry; names && count < NAMES_MAX && (entry = readdir(dir));) {
    if (entry->d_name[0] == '.' || !(ends_in(entry->d_name, ".aupm") || (compile && ends_in(entry->d_name, ".aup")))) continue;
    names[count] = arena_format(&modules->arena, "%s/%s", path, entry->d_name).ptr;
    if (names[count]) count++;
  }
  closedir(dir);
  if (count) qsort(names, (size_t)count, sizeof *names, by_name);
  for (int i = 0; i < count; i++) {
    ExitCode code = read_file(modules, names[i], compile);
    if (code != CLI_OK) cli_say("%s is not served", names[i]);
  }
  return CLI_OK;
}

ExitCode modules_read(const Args *args, CompileSource compile, Modules *out_modules) {
  *out_modules = (Modules){0};
  arena_init(&out_modules->arena, 0);
  ExitCode code = CLI_OK;
  for (int i = 0; i < args->operand_count; i++) {
    struct stat info;
    bool is_folder = stat(args->operands[i], &info) == 0 && S_ISDIR(info.st_mode);
    ExitCode one = is_folder ? read_folder(out_modules, args->operands[i], compile) : read_file(out_modules, args->operands[i], compile);
    if (one != CLI_OK) code = one;
  }
  if (out_modules->count == 0 && code == CLI_OK && args->operand_count) {
    cli_say("there is no module in %s", args->operand);
    code = CLI_ENVIRONMENT;
  }
  if (out_modules->count > 0 && args->operand_count > 1) code = CLI_OK;
  if (code != CLI_OK) modules_free(out_modules);
  return code;
}

void modules_free(Modules *modules) {
  for (int i = 0; i < modules->count; i++) mem_free((char *)modules->items[i].bytes.ptr);
  mem_free(modules->items);
  arena_free(&modules->arena);
}

static ExitCode serve(const Config *config, CompileSource compile) {
  Modules modules;
  Hosting hosting;
  ExitCode code = modules_read(&config->args, compile, &modules);
  if (code != CLI_OK) return code;
  code = hosting_open(&hosting, config, modules.items, modules.count);
  modules_free(&modules);
  if (code != CLI_OK) return code;
  code = hosting_run(&hosting);
  ExitCode closed = hosting_close(&hosting);
  return code != CLI_OK ? code : closed;
}

ExitCode modules_serve(const Args *args, CompileSource compile) {
  Config config;
  bool done;
  ExitCode code = hosting_config(args, &config, &done);
  if (code != CLI_OK || done) return code;
  code = serve(&config, compile);
  config_free(&config);
  return code;
}
