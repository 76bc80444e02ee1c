// One file, `lock`, in the root of the data, locked as long as its owner lives. Its content only helps a person.
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/store/store.h"

struct StoreLock { FileSystem *files; Dir *root; File *file; };

static Err take(StoreLock *lock) {
  FileSystem *fs = lock->files;
  Err err = fs->open(fs, lock->root, "lock", FILE_WRITE, &lock->file);
  if (err == ERR_NOT_FOUND) err = fs->open(fs, lock->root, "lock", FILE_CREATE_NEW, &lock->file);
  if (err == ERR_EXISTS) err = fs->open(fs, lock->root, "lock", FILE_WRITE, &lock->file);  // made by another one meanwhile
  if (err != ERR_NONE) return err;
  return fs->lock(fs, lock->file);
}

// Who holds it, as far as it can be read.
static void holder(const StoreLock *lock, char out_text[32]) {
  uint64_t got = 0;
  out_text[0] = 0;
  if (!lock->file || lock->files->read_at(lock->files, lock->file, 0, out_text, 31, &got) != ERR_NONE) got = 0;
  uint64_t digits = 0;
  while (digits < got && out_text[digits] >= '0' && out_text[digits] <= '9') digits++;
  out_text[digits] = 0;
}

static Err say_lock(Err err, const StoreLock *lock, const char *root, ErrText *out_text) {
  char process[32];
  if (err != ERR_BUSY) return err_say(err, out_text, "data directory \"%s\" cannot be used: %s", root, err_words(err));
  holder(lock, process);
  return err_say(err, out_text, "data directory \"%s\" is in use by another process%s%s", root, process[0] ? ", number " : "", process);
}

Err store_lock(FileSystem *files, const char *root, StoreLock **out_lock, ErrText *out_text) {
  StoreLock *lock = mem_alloc_zero(1, sizeof *lock);
  if (!lock) return err_say(ERR_MEMORY, out_text, "data directory \"%s\": out of memory", root);
  lock->files = files;
  Err err = files->dir_open(files, NULL, root, true, &lock->root);
  if (err == ERR_NONE) err = take(lock);
  if (err != ERR_NONE) {
    err = say_lock(err, lock, root, out_text);
    store_unlock(lock);
    return err;
  }
  char text[32] = {0};
  uint64_t written;
  snprintf(text, sizeof text, "%ld\n", (long)getpid());
  Err noted = files->write_at(files, lock->file, 0, text, sizeof text, &written);  // for people; a full disk does not matter
  (void)noted;
  *out_lock = lock;
  return ERR_NONE;
}

void store_unlock(StoreLock *lock) {
  if (!lock) return;
  if (lock->file) lock->files->close(lock->files, lock->file);
  if (lock->root) lock->files->dir_close(lock->files, lock->root);
  mem_free(lock);
}
