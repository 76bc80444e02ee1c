// The seam between the store and the operating system: every file call goes through this table of functions, so that
// tests can put a disk behind it that loses, tears and reorders writes and fails the n-th call. Names are relative to
// an open directory; there is no current directory and no path is looked up twice.
//
// Owns:   a File and a Dir belong to who opened them.
// Thread: the real one: any; a File one at a time, but for file_read_at.
// Errors: as err_from_errno. ERR_FULL for no space or quota; ERR_AGAIN never comes out (EINTR is retried inside);
//         write_at may write less than asked, and says how much.
// Limits: names of at most FILE_NAME_BYTES_MAX bytes without a slash.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum { FILE_NAME_BYTES_MAX = 200, FILE_IO_BYTES_MAX = 1 << 30 };  // one call moves at most a GiB (the kernel's own limit is 2)

typedef struct FileSystem FileSystem;
typedef struct Dir Dir;
typedef struct File File;

// How a file is opened. `FILE_CREATE_NEW` fails with ERR_EXISTS when it is there.
typedef enum FileMode { FILE_READ, FILE_WRITE, FILE_CREATE_NEW } FileMode;

// Called once a name, in no order; a result other than ERR_NONE stops the listing and is returned.
typedef Err (*FileVisit)(void *context, const char *name);

struct FileSystem {
  void *context;
  // A directory, by path (parent NULL) or by name in another one. `create`: made (one level) when it is not there.
  Err (*dir_open)(FileSystem *fs, Dir *parent, const char *name, bool create, Dir **out_dir);
  void (*dir_close)(FileSystem *fs, Dir *dir);
  Err (*dir_sync)(FileSystem *fs, Dir *dir);           // names made, renamed and removed in it are durable
  Err (*dir_list)(FileSystem *fs, Dir *dir, FileVisit visit, void *context);
  Err (*dir_free_bytes)(FileSystem *fs, Dir *dir, uint64_t *out_bytes);
  Err (*rename)(FileSystem *fs, Dir *dir, const char *from, const char *to);  // replaces `to`
  Err (*remove)(FileSystem *fs, Dir *dir, const char *name);
  Err (*open)(FileSystem *fs, Dir *dir, const char *name, FileMode mode, File **out_file);
  void (*close)(FileSystem *fs, File *file);
  Err (*read_at)(FileSystem *fs, File *file, uint64_t offset, void *out_bytes, uint64_t size, uint64_t *out_read);  // less only at the end
  Err (*write_at)(FileSystem *fs, File *file, uint64_t offset, const void *bytes, uint64_t size, uint64_t *out_written);
  Err (*sync)(FileSystem *fs, File *file);             // what was written, and the size, is durable (fdatasync)
  Err (*size)(FileSystem *fs, File *file, uint64_t *out_size);
  Err (*preallocate)(FileSystem *fs, File *file, uint64_t offset, uint64_t size);  // disk space and file size; reads as zeros
  Err (*truncate)(FileSystem *fs, File *file, uint64_t size);
  // Takes the one lock of the file or says ERR_BUSY. It ends with the file's closing or the process, however that ends.
  Err (*lock)(FileSystem *fs, File *file);
};

// The operating system's files. Static; its context is NULL.
FileSystem *file_system_real(void);

// ---- made of the calls above ------------------------------------------------------------------
// Writes all bytes: a short write re-issues the whole run at the same place, at most FILE_SHORT_WRITES_MAX times.
enum { FILE_SHORT_WRITES_MAX = 16 };
MUST_USE Err file_write_all(FileSystem *fs, File *file, uint64_t offset, const void *bytes, uint64_t size);
MUST_USE Err file_read_all(FileSystem *fs, File *file, uint64_t offset, void *out_bytes, uint64_t size);  // ERR_FORMAT: ends early
// Puts a file there whole or not at all: temporary name, write, sync, rename, sync of the directory.
MUST_USE Err file_replace(FileSystem *fs, Dir *dir, const char *name, Str bytes);
