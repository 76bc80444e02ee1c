// The operating system's files. Every call works on an open directory or descriptor, so that nothing that happens to
// paths meanwhile can lead it elsewhere, and EINTR is never seen outside.
//
// fdatasync and not fsync: it writes the data and what is needed to read it back (the size), which is all the store asks.
// flock and not fcntl locks: it belongs to the open file and not to the process, and goes with it however that ends.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/store/file.h"

struct Dir { int fd; };
struct File { int fd; };

static Err last_error(void) { return err_from_errno(errno); }

// ---- directories ------------------------------------------------------------------------------
static Err sync_fd(int fd) {
  while (fsync(fd) != 0)
    if (errno != EINTR) return last_error();
  return ERR_NONE;
}

// A directory that was just made must not be forgotten with its content.
static Err sync_parent(int parent_fd, const char *name) {
  char above[4096];
  int len = snprintf(above, sizeof above, "%s/..", name);
  if (len < 0 || (size_t)len >= sizeof above) return ERR_LIMIT;
  int fd = openat(parent_fd, above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return last_error();
  Err err = sync_fd(fd);
  close(fd);
  return err;
}

static Err real_dir_open(FileSystem *fs, Dir *parent, const char *name, bool create, Dir **out_dir) {
  (void)fs;
  int parent_fd = parent ? parent->fd : AT_FDCWD;
  bool made = create && mkdirat(parent_fd, name, 0700) == 0;
  if (create && !made && errno != EEXIST) return last_error();
  int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return last_error();
  Dir *dir = mem_alloc(sizeof *dir);
  Err err = !dir ? ERR_MEMORY : made ? sync_parent(parent_fd, name) : ERR_NONE;
  if (err != ERR_NONE) {
    mem_free(dir);
    close(fd);
    return err;
  }
  dir->fd = fd;
  *out_dir = dir;
  return ERR_NONE;
}

static void real_dir_close(FileSystem *fs, Dir *dir) {
  (void)fs;
  close(dir->fd);
  mem_free(dir);
}

static Err real_dir_sync(FileSystem *fs, Dir *dir) {
  (void)fs;
  return sync_fd(dir->fd);
}

static Err real_dir_list(FileSystem *fs, Dir *dir, FileVisit visit, void *context) {
  (void)fs;
  int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // a place of its own in the listing
  if (fd < 0) return last_error();
  DIR *stream = fdopendir(fd);
  if (!stream) {
    Err err = last_error();
    close(fd);
    return err;
  }
  Err err = ERR_NONE;
  errno = 0;
  for (struct dirent *entry; err == ERR_NONE && (entry = readdir(stream)); errno = 0)
    if (entry->d_name[0] != '.') err = visit(context, entry->d_name);
  if (err == ERR_NONE && errno) err = last_error();
  closedir(stream);
  return err;
}

static Err real_dir_free_bytes(FileSystem *fs, Dir *dir, uint64_t *out_bytes) {
  (void)fs;
  struct statvfs info;
  if (fstatvfs(dir->fd, &info) != 0) return last_error();
  *out_bytes = (uint64_t)info.f_bavail * info.f_frsize;
  return ERR_NONE;
}

static Err real_rename(FileSystem *fs, Dir *dir, const char *from, const char *to) {
  (void)fs;
  return renameat(dir->fd, from, dir->fd, to) == 0 ? ERR_NONE : last_error();
}

static Err real_remove(FileSystem *fs, Dir *dir, const char *name) {
  (void)fs;
  return unlinkat(dir->fd, name, 0) == 0 ? ERR_NONE : last_error();
}

// ---- files ------------------------------------------------------------------------------------
static Err real_open(FileSystem *fs, Dir *dir, const char *name, FileMode mode, File **out_file) {
  (void)fs;
  int flags = O_CLOEXEC | (mode == FILE_READ ? O_RDONLY : mode == FILE_WRITE ? O_RDWR : O_RDWR | O_CREAT | O_EXCL);
  File *file = mem_alloc(sizeof *file);
  if (!file) return ERR_MEMORY;
  do file->fd = openat(dir->fd, name, flags, 0600);
  while (file->fd < 0 && errno == EINTR);
  if (file->fd < 0) {
    Err err = last_error();
    mem_free(file);
    return err;
  }
  *out_file = file;
  return ERR_NONE;
}

static void real_close(FileSystem *fs, File *file) {
  (void)fs;
  close(file->fd);
  mem_free(file);
}

static Err real_read_at(FileSystem *fs, File *file, uint64_t offset, void *out_bytes, uint64_t size, uint64_t *out_read) {
  (void)fs;
  uint64_t done = 0;
  while (done < size) {
    ssize_t got = pread(file->fd, (char *)out_bytes + done, size - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return last_error();
    if (got == 0) break;
    done += (uint64_t)got;
  }
  *out_read = done;
  return ERR_NONE;
}

static Err real_write_at(FileSystem *fs, File *file, uint64_t offset, const void *bytes, uint64_t size, uint64_t *out_written) {
  (void)fs;
  for (;;) {
    ssize_t wrote = pwrite(file->fd, bytes, size, (off_t)offset);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return last_error();
    *out_written = (uint64_t)wrote;
    return ERR_NONE;
  }
}

static Err real_sync(FileSystem *fs, File *file) {
  (void)fs;
  while (fdatasync(file->fd) != 0)
    if (errno != EINTR) return last_error();
  return ERR_NONE;
}

static Err real_size(FileSystem *fs, File *file, uint64_t *out_size) {
  (void)fs;
  struct stat info;
  if (fstat(file->fd, &info) != 0) return last_error();
  *out_size = (uint64_t)info.st_size;
  return ERR_NONE;
}

// Where the file system cannot set space aside, the zeros that the store writes afterwards do it.
static Err real_preallocate(FileSystem *fs, File *file, uint64_t offset, uint64_t size) {
  (void)fs;
  while (fallocate(file->fd, 0, (off_t)offset, (off_t)size) != 0) {
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return last_error();
    return ftruncate(file->fd, (off_t)(offset + size)) == 0 ? ERR_NONE : last_error();
  }
  return ERR_NONE;
}

static Err real_truncate(FileSystem *fs, File *file, uint64_t size) {
  (void)fs;
  while (ftruncate(file->fd, (off_t)size) != 0)
    if (errno != EINTR) return last_error();
  return ERR_NONE;
}

static Err real_lock(FileSystem *fs, File *file) {
  (void)fs;
  while (flock(file->fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? ERR_BUSY : last_error();
  }
  return ERR_NONE;
}

FileSystem *file_system_real(void) {
  static const FileSystem REAL = {
    .dir_open = real_dir_open, .dir_close = real_dir_close, .dir_sync = real_dir_sync, .dir_list = real_dir_list, .dir_free_bytes = real_dir_free_bytes,
    .rename = real_rename, .remove = real_remove, .open = real_open, .close = real_close, .read_at = real_read_at, .write_at = real_write_at,
    .sync = real_sync, .size = real_size, .preallocate = real_preallocate, .truncate = real_truncate, .lock = real_lock,
  };
  return (FileSystem *)&REAL;  // nothing writes to it: it has no context
}
