// A host keeps its apps in folders of one root, whose lock is a file there. A tool takes either; where it changes something it
// takes the lock as a host would.
#include "cli/store_dir.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

ExitCode store_say(Err err, const ErrText *text) {
  cli_say("%s", text->text[0] ? text->text : err_words(err));
  return CLI_ENVIRONMENT;
}

bool read_commit(const char *text, uint64_t *out_number) {
  uint64_t number = 0;
  if (!*text) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9' || number > (UINT64_MAX - 9) / 10) return false;
    number = number * 10 + (uint64_t)(*text - '0');
  }
  *out_number = number;
  return number > 0;
}

static bool has_pages(const char *path) {
  char pages[STORE_DIR_BYTES_MAX + 8];
  struct stat info;
  snprintf(pages, sizeof pages, "%s/pages", path);
  return stat(pages, &info) == 0;
}

static bool has_log(const char *path) {
  char log[STORE_DIR_BYTES_MAX + 32];
  struct stat info;
  snprintf(log, sizeof log, "%s/log-0000000000000001", path);
  return stat(log, &info) == 0;
}

// How many apps are in a root; the last one's folder is in `out_path`.
static unsigned count_apps(const char *root, char out_path[STORE_DIR_BYTES_MAX]) {
  unsigned count = 0;
  DIR *stream = opendir(root);
  if (!stream) return 0;
  for (struct dirent *entry; (entry = readdir(stream));) {
    char path[STORE_DIR_BYTES_MAX];
    int len = snprintf(path, sizeof path, "%s/%s", root, entry->d_name);
    if (entry->d_name[0] == '.' || len < 0 || (size_t)len >= sizeof path || !has_pages(path)) continue;
    memcpy(out_path, path, sizeof path);
    count++;
  }
  closedir(stream);
  return count;
}

ExitCode store_dir_find(const char *path, StoreDir *out_dir) {
  *out_dir = (StoreDir){.lock = NULL};
  int len = snprintf(out_dir->path, sizeof out_dir->path, "%s", path);
  if (len < 0 || (size_t)len >= sizeof out_dir->path) {
    cli_say("the name of the folder is too long");
    return CLI_USAGE;
  }
  if (has_pages(path) || has_log(path) || !is_folder(path)) return CLI_OK;
  unsigned apps = count_apps(path, out_dir->path);
  if (apps == 1) return CLI_OK;
  cli_say(apps ? "%s: there are %u apps in it; name the folder of one" : "%s: there is no data of an app in it", path, apps);
  return CLI_ENVIRONMENT;
}

// The folder above may have to be made: a host's root that is not there yet.
void store_dir_make_root(const char *path) {
  char root[STORE_DIR_BYTES_MAX];
  snprintf(root, sizeof root, "%s", path);
  char *slash = strrchr(root, '/');
  if (slash && slash > root) *slash = 0;
  if (slash) (void)mkdir(root, 0700);  // what is wrong with it shows when the folder in it is made
}

ExitCode store_dir_lock(StoreDir *dir) {
  char root[STORE_DIR_BYTES_MAX + 4], lock[STORE_DIR_BYTES_MAX + 16];
  struct stat info;
  snprintf(root, sizeof root, "%s/..", dir->path);
  snprintf(lock, sizeof lock, "%s/lock", root);
  if (stat(lock, &info) != 0) return CLI_OK;  // no host's folder
  ErrText text = {{0}};
  Err err = store_lock(file_system_real(), root, &dir->lock, &text);
  return err == ERR_NONE ? CLI_OK : store_say(err, &text);
}

void store_dir_close(StoreDir *dir) {
  if (dir->lock) store_unlock(dir->lock);
  dir->lock = NULL;
}
