// What is made of the seam's calls, the same for every file system.
#include "runtime/store/file.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

// A short write is not continued but repeated whole: what lies on disk is then what one call wrote, or nothing certain.
Err file_write_all(FileSystem *fs, File *file, uint64_t offset, const void *bytes, uint64_t size) {
  const uint8_t *from = bytes;
  while (size > 0) {
    uint64_t part = size < FILE_IO_BYTES_MAX ? size : FILE_IO_BYTES_MAX, written = 0;
    for (unsigned tries = 0; written < part; tries++) {
      if (tries == FILE_SHORT_WRITES_MAX) return ERR_IO;
      TRY(fs->write_at(fs, file, offset, from, part, &written));
      assert(written <= part);
    }
    offset += part;
    from += part;
    size -= part;
  }
  return ERR_NONE;
}

Err file_read_all(FileSystem *fs, File *file, uint64_t offset, void *out_bytes, uint64_t size) {
  uint8_t *to = out_bytes;
  while (size > 0) {
    uint64_t part = size < FILE_IO_BYTES_MAX ? size : FILE_IO_BYTES_MAX, got = 0;
    TRY(fs->read_at(fs, file, offset, to, part, &got));
    if (got < part) return ERR_FORMAT;
    offset += part;
    to += part;
    size -= part;
  }
  return ERR_NONE;
}

static Err write_new(FileSystem *fs, Dir *dir, const char *name, Str bytes) {
  File *file;
  Err err = fs->open(fs, dir, name, FILE_CREATE_NEW, &file);
  if (err == ERR_EXISTS) {  // left by a crash
    TRY(fs->remove(fs, dir, name));
    err = fs->open(fs, dir, name, FILE_CREATE_NEW, &file);
  }
  if (err != ERR_NONE) return err;
  err = file_write_all(fs, file, 0, bytes.ptr, bytes.len);
  if (err == ERR_NONE) err = fs->sync(fs, file);
  fs->close(fs, file);
  return err;
}

Err file_replace(FileSystem *fs, Dir *dir, const char *name, Str bytes) {
  char temporary[FILE_NAME_BYTES_MAX + 1];
  int len = snprintf(temporary, sizeof temporary, "%s.tmp", name);
  assert(len > 0 && (size_t)len < sizeof temporary);
  (void)len;
  Err err = write_new(fs, dir, temporary, bytes);
  if (err == ERR_NONE) err = fs->rename(fs, dir, temporary, name);
  if (err == ERR_NONE) return fs->dir_sync(fs, dir);
  Err removed = fs->remove(fs, dir, temporary);  // only tidiness: opening a store removes what a crash left
  (void)removed;
  return err;
}
