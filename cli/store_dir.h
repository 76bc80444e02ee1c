// The folder of an app's data, for the commands that work on it.
//
// Owns:   StoreDir the lock, until store_dir_close.
// Thread: the main one.
// Errors: said on standard error; the exit code comes back.
#pragma once
#include "cli/cli.h"
#include "runtime/store/store.h"

enum { STORE_DIR_BYTES_MAX = 4096 };

bool is_folder(const char *path);
ExitCode dump_data(const Args *args);  // of cli_dump, when its operand is a folder

typedef struct StoreDir { char path[STORE_DIR_BYTES_MAX]; StoreLock *lock; } StoreDir;
// `path` is the folder of an app's data, or that of a host with one app in it.
ExitCode store_dir_find(const char *path, StoreDir *out_dir);
// The lock of the root that the folder is in, so that no host uses it meanwhile.
ExitCode store_dir_lock(StoreDir *dir);
void store_dir_make_root(const char *path);  // the folder above, when it is not there
void store_dir_close(StoreDir *dir);
ExitCode store_say(Err err, const ErrText *text);
// A number of a commit, from 1 on; false: it is none.
bool read_commit(const char *text, uint64_t *out_number);
