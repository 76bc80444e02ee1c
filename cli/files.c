// Plain system calls. A file is opened without waiting, so that a pipe with no writer cannot hang a command, and only
// ordinary files are read.
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/mem.h"

static Err say_errno(const char *path, const char *doing, ErrText *out_text) {
  int error = errno;
  switch (error) {
    case ENOENT: return err_say(ERR_NOT_FOUND, out_text, "%s: there is no such file", path);
    case ENOTDIR: return err_say(ERR_NOT_FOUND, out_text, "%s: a part of this path is a file, not a folder", path);
    case EACCES: case EPERM: return err_say(ERR_PERMISSION, out_text, "%s: no permission to %s it; look at `ls -l` of it and its folder", path, doing);
    case EISDIR: return err_say(ERR_REFUSED, out_text, "%s: a folder, not a file", path);
    case ENOSPC: case EDQUOT: return err_say(ERR_FULL, out_text, "%s: no space left to %s it", path, doing);
    case ENAMETOOLONG: return err_say(ERR_LIMIT, out_text, "%.60s…: the name is too long", path);
    default: return err_say(err_from_errno(error), out_text, "%s: cannot %s it: %s", path, doing, strerror(error));
  }
}

static Err check_kind(const char *path, const struct stat *info, ErrText *out_text) {
  if (S_ISDIR(info->st_mode)) return err_say(ERR_REFUSED, out_text, "%s: a folder, not a file", path);
  if (!S_ISREG(info->st_mode)) return err_say(ERR_REFUSED, out_text, "%s: a pipe or device, not a file", path);
  return ERR_NONE;
}

// Reads up to `size` bytes; fewer only at the end of the file.
static Err read_bytes(int fd, const char *path, char *bytes, size_t size, size_t *out_len, ErrText *out_text) {
  size_t len = 0;
  while (len < size) {
    ssize_t got = read(fd, bytes + len, size - len);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return say_errno(path, "read", out_text);
    if (got == 0) break;
    len += (size_t)got;
  }
  *out_len = len;
  return ERR_NONE;
}

static Err read_open(int fd, const char *path, size_t bytes_max, Str *out_bytes, ErrText *out_text) {
  struct stat info;
  if (fstat(fd, &info) != 0) return say_errno(path, "read", out_text);
  TRY(check_kind(path, &info, out_text));
  size_t size = info.st_size > 0 ? (size_t)info.st_size + 1 : 65536;  // one more: to see that nothing was added meanwhile
  if (size > bytes_max + 1) size = bytes_max + 1;
  char *bytes = mem_alloc(size + 1);
  if (!bytes) return err_say(ERR_MEMORY, out_text, "%s: no memory to read it", path);
  size_t len = 0;
  Err err = read_bytes(fd, path, bytes, size, &len, out_text);
  if (err != ERR_NONE) {
    mem_free(bytes);
    return err;
  }
  bytes[len] = 0;
  *out_bytes = (Str){bytes, len};
  return ERR_NONE;
}

Err file_read_start(const char *path, size_t bytes_max, Str *out_bytes, ErrText *out_text) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return say_errno(path, "read", out_text);
  Err err = read_open(fd, path, bytes_max, out_bytes, out_text);
  close(fd);
  return err;
}

Err file_read(const char *path, size_t bytes_max, Str *out_bytes, ErrText *out_text) {
  Str bytes;
  TRY(file_read_start(path, bytes_max, &bytes, out_text));
  if (bytes.len > bytes_max) {
    mem_free((char *)bytes.ptr);
    return err_say(ERR_LIMIT, out_text, "%s: larger than %zu bytes, which is the most", path, bytes_max);
  }
  *out_bytes = bytes;
  return ERR_NONE;
}

static Err write_bytes(int fd, const char *path, Str bytes, ErrText *out_text) {
  for (size_t at = 0; at < bytes.len;) {
    ssize_t put = write(fd, bytes.ptr + at, bytes.len - at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return say_errno(path, "write", out_text);
    at += (size_t)put;
  }
  return ERR_NONE;
}

Err file_write_whole(const char *path, Str bytes, ErrText *out_text) {
  struct stat info;
  if (stat(path, &info) == 0) TRY(check_kind(path, &info, out_text));
  char temporary[4096];
  int len = snprintf(temporary, sizeof temporary, "%s.%ld.new", path, (long)getpid());
  if (len < 0 || (size_t)len >= sizeof temporary) return err_say(ERR_LIMIT, out_text, "%.60s…: the name is too long", path);
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return say_errno(path, "write", out_text);
  Err err = write_bytes(fd, path, bytes, out_text);
  if (close(fd) != 0 && err == ERR_NONE) err = say_errno(path, "write", out_text);
  if (err == ERR_NONE && rename(temporary, path) != 0) err = say_errno(path, "write", out_text);
  if (err != ERR_NONE) unlink(temporary);
  return err;
}

FileStamp file_stamp(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return (FileStamp){0};
  return (FileStamp){(uint64_t)info.st_ino, (uint64_t)info.st_size, (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec};
}
