// The directory of a store, and its modules. A store is there when its page file is: that is the last file to be made,
// so that a crash while one is being made leaves nothing that looks like one.
#include <stdio.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/base/rng.h"
#include "runtime/store/state.h"

Err store__say(const Store *store, Err err, ErrText *out_text, const char *what) {
  return err_say(err, out_text, "%s: %s: %s", store->dir_name ? store->dir_name : ":memory:", what, err_words(err));
}

// ---- the directory ----------------------------------------------------------------------------
typedef struct Listing { Store *store; bool has_pages, has_log, has_modules; char temporary[FILE_NAME_BYTES_MAX + 1]; } Listing;

static bool ends_with(const char *name, const char *end) {
  size_t len = strlen(name), end_len = strlen(end);
  return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

static Err look_at(void *context, const char *name) {
  Listing *listing = context;
  if (strcmp(name, PAGES_NAME) == 0) listing->has_pages = true;
  if (strcmp(name, "modules") == 0) listing->has_modules = true;
  if (strncmp(name, "log-", 4) == 0 && !ends_with(name, ".tmp")) listing->has_log = true;
  size_t len = strlen(name);
  if (ends_with(name, ".tmp") && len < sizeof listing->temporary) memcpy(listing->temporary, name, len + 1);
  return ERR_NONE;
}

// Temporary files are those of a crash: nothing refers to them.
static Err list_dir(Store *store, Listing *listing) {
  for (;;) {
    *listing = (Listing){.store = store};
    TRY(store->options.files->dir_list(store->options.files, store->dir, look_at, listing));
    if (!listing->temporary[0] || store->options.read_only) return ERR_NONE;
    TRY(store->options.files->remove(store->options.files, store->dir, listing->temporary));
  }
}

// Before the page file there is at most the first, empty segment of a store whose making was cut off.
static Err first_log_is_empty(Store *store, bool *out_empty) {
  Log log = store->log;
  LogRecord record;
  ErrText text;
  FileSystem *fs = store->options.files;
  File *file;
  uint8_t block[LOG_BLOCK_BYTES];
  char name[] = "log-0000000000000001";
  *out_empty = false;
  Err err = fs->open(fs, store->dir, name, FILE_READ, &file);
  if (err == ERR_NOT_FOUND) return ERR_NONE;
  if (err != ERR_NONE) return err;
  err = file_read_all(fs, file, 0, block, sizeof block);
  fs->close(fs, file);
  if (err == ERR_FORMAT) return ERR_NONE;
  if (err != ERR_NONE) return err;
  memcpy(log.id.bytes, block + 16, LOG_ID_BYTES);  // there is no page file to say it
  bool end = false;
  err = log_open(&log, 0, 0, &text);
  if (err == ERR_NONE && log.segment_count == 1) err = log_read_next(&log, &record, &end, &text);
  *out_empty = err == ERR_NONE && end && !log.dropped_at && log.segment_count == 1;
  log_close(&log);
  return err == ERR_MEMORY || err == ERR_IO ? err : ERR_NONE;
}

static Err make_store(Store *store, const Listing *listing, ErrText *out_text) {
  bool unfinished = false;
  if (listing->has_log) {
    Err err = first_log_is_empty(store, &unfinished);
    if (err != ERR_NONE) return store__say(store, err, out_text, "the log cannot be read");
    if (!unfinished) return err_say(ERR_DAMAGED, out_text, "%s/%s: the file is missing, but there is a log", store->dir_name, PAGES_NAME);
  }
  rng_secret(store->log.id.bytes, LOG_ID_BYTES);
  TRY(log_create(&store->log, out_text));
  store->pages.id = store->log.id;
  Err err = pages_create(&store->pages);
  if (err != ERR_NONE) return store__say(store, err, out_text, "the page file cannot be made");
  store->info.is_new = true;
  store->info.was_clean = true;
  return ERR_NONE;
}

Err store__open_files(Store *store, ErrText *out_text) {
  FileSystem *fs = store->options.files;
  Listing listing;
  bool read_only = store->options.read_only;
  Err err = fs->dir_open(fs, NULL, store->dir_name, !read_only, &store->dir);
  if (err == ERR_NONE) err = list_dir(store, &listing);
  if (err != ERR_NONE) return err_say(err, out_text, "data directory \"%s\" cannot be used: %s", store->dir_name, err_words(err));
  store->log.fs = fs;
  store->log.dir = store->dir;
  store->log.dir_name = store->dir_name;
  store->log.segment_bytes = store->options.segment_bytes;
  store->log.read_only = read_only;
  store->log.stop_after = store->options.stop_after;
  if (!listing.has_pages && !listing.has_log && listing.has_modules)
    return err_say(ERR_DAMAGED, out_text, "%s: its page file and its log are missing, but there are modules", store->dir_name);
  store->pages.fs = fs;
  store->pages.dir = store->dir;
  store->pages.dir_name = store->dir_name;
  store->pages.read_only = read_only;
  if (listing.has_pages) {
    TRY(pages_open(&store->pages, out_text));
    store->log.id = store->pages.id;
    return ERR_NONE;
  }
  if (read_only && !listing.has_log) return err_say(ERR_NOT_FOUND, out_text, "%s: there is no store", store->dir_name);
  if (read_only) return err_say(ERR_DAMAGED, out_text, "%s/%s: the file is missing, but there is a log", store->dir_name, PAGES_NAME);
  return make_store(store, &listing, out_text);
}

void store__close_files(Store *store) {
  FileSystem *fs = store->options.files;
  log_close(&store->log);
  pages_close(&store->pages);
  if (store->modules) fs->dir_close(fs, store->modules);
  if (store->dir) fs->dir_close(fs, store->dir);
}

// ---- modules ----------------------------------------------------------------------------------
void store__module_name(const uint8_t hash[STORE_HASH_BYTES], char out_name[STORE_HASH_BYTES * 2 + 8]) {
  for (unsigned i = 0; i < STORE_HASH_BYTES; i++) snprintf(out_name + 2 * i, 3, "%02x", hash[i]);
  memcpy(out_name + 2 * STORE_HASH_BYTES, ".aupm", sizeof ".aupm");
}

// The hash that a file is named by; false: it is no module's name.
bool store__module_hash(const char *name, uint8_t out_hash[STORE_HASH_BYTES]) {
  for (unsigned i = 0; i < STORE_HASH_BYTES; i++) {
    unsigned byte = 0;
    for (unsigned n = 0; n < 2; n++) {
      char c = name[2 * i + n];
      if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
      byte = byte * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    out_hash[i] = (uint8_t)byte;
  }
  return strcmp(name + 2 * STORE_HASH_BYTES, ".aupm") == 0;
}

static Err modules_dir(Store *store) {
  if (store->modules) return ERR_NONE;
  FileSystem *fs = store->options.files;
  return fs->dir_open(fs, store->dir, "modules", !store->options.read_only, &store->modules);
}

static Err say_module(const Store *store, Err err, const char *name, ErrText *out_text) {
  return err_say(err, out_text, "%s/modules/%s: %s", store->dir_name, name, err_words(err));
}

Err store_save_module(Store *store, const uint8_t hash[STORE_HASH_BYTES], Str bytes, ErrText *out_text) {
  char name[STORE_HASH_BYTES * 2 + 8];
  if (!store->options.files) return ERR_NONE;
  store__module_name(hash, name);
  if (store->options.read_only) return say_module(store, ERR_REFUSED, name, out_text);
  if (bytes.len > STORE_MODULE_BYTES_MAX) return say_module(store, ERR_LIMIT, name, out_text);
  Err err = modules_dir(store);
  if (err == ERR_NONE) err = file_replace(store->options.files, store->modules, name, bytes);
  return err == ERR_NONE ? ERR_NONE : say_module(store, err, name, out_text);
}

static Err read_module(Store *store, const char *name, Arena *arena, Str *out_bytes) {
  FileSystem *fs = store->options.files;
  File *file;
  uint64_t size;
  TRY(modules_dir(store));
  TRY(fs->open(fs, store->modules, name, FILE_READ, &file));
  Err err = fs->size(fs, file, &size);
  if (err == ERR_NONE && size > STORE_MODULE_BYTES_MAX) err = ERR_LIMIT;
  char *bytes = err == ERR_NONE ? arena_alloc(arena, size) : NULL;
  if (err == ERR_NONE) err = bytes ? file_read_all(fs, file, 0, bytes, size) : ERR_MEMORY;
  fs->close(fs, file);
  if (err == ERR_NONE) *out_bytes = (Str){bytes, size};
  return err;
}

Err store_load_module(Store *store, const uint8_t hash[STORE_HASH_BYTES], Arena *arena, Str *out_bytes, ErrText *out_text) {
  char name[STORE_HASH_BYTES * 2 + 8];
  if (!store->options.files) return err_say(ERR_NOT_FOUND, out_text, ":memory: keeps no modules");
  store__module_name(hash, name);
  Err err = read_module(store, name, arena, out_bytes);
  return err == ERR_NONE ? ERR_NONE : say_module(store, err, name, out_text);
}
