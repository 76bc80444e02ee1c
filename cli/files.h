// Files for the commands: whole ones, bounded, with one line that says what is wrong and how to mend it.
//
// Owns:   what is read belongs to the caller (mem_free).
// Thread: any.
// Errors: ERR_NOT_FOUND, ERR_PERMISSION, ERR_REFUSED (a folder, a pipe), ERR_LIMIT, ERR_IO, ERR_FULL, ERR_MEMORY, each with its line.
// Limits: bytes_max.
#pragma once
#include "runtime/base/err.h"
#include "runtime/base/str.h"

// At most bytes_max bytes; a longer file is ERR_LIMIT. A zero byte stands behind the bytes.
MUST_USE Err file_read(const char *path, size_t bytes_max, Str *out_bytes, ErrText *out_text);
// As file_read, but of a longer file the first bytes_max + 1 bytes come back: who reads a source says itself that it is too large.
MUST_USE Err file_read_start(const char *path, size_t bytes_max, Str *out_bytes, ErrText *out_text);
// Under another name beside it, then renamed: the path has either the old content or the whole new one.
MUST_USE Err file_write_whole(const char *path, Str bytes, ErrText *out_text);
// What tells whether a file changed: 0 when it is not there.
typedef struct FileStamp { uint64_t inode, size; int64_t time_ns; } FileStamp;
FileStamp file_stamp(const char *path);
static inline bool file_stamp_equal(FileStamp a, FileStamp b) { return a.inode == b.inode && a.size == b.size && a.time_ns == b.time_ns; }
