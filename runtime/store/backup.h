// A backup: one file with everything of a store, whole and consistent, taken while its host runs or not.
//
//   0 "AUPBACK\n" · 8 u32 version · 12 u32 0 · 16 one zstd stream (with its checksum) of entries: u8 kind, u64 bytes, the bytes
//     1 what it is:  id of the store (16), u64 last commit, u64 last commit of the checkpoint, u8 is there a checkpoint, u64 bytes of the page file
//     2 a module:    its hash (32), its file
//     3 the page file's first 512 bytes, then the root of its newest slot (512)
//     4 pages:       u32 place, then the units from there on
//     5 a record:    u8 kind, u64 number, its body
//     6 the end:     BLAKE2b (32) of everything before it in the stream
//
// Taking one needs no lock and stops nobody: the state that a slot names is not written over while the slot stands, and the
// log since then is kept as long; so what was read while the slot stayed the same is consistent. Else it begins anew.
//
// Owns:   nothing beyond the call.
// Thread: any one.
// Errors: those of store_open; of the stream's functions; ERR_AGAIN when checkpoints came faster than reading, several times;
//         ERR_FORMAT, ERR_DAMAGED, ERR_VERSION for files that are no backup, damaged, or of another version.
// Limits: an entry of at most BACKUP_ENTRY_BYTES_MAX.
#pragma once
#include "runtime/store/store.h"

// The version rises with those of the log and of the page file, whose bytes are in it.
enum { BACKUP_VERSION = 2, BACKUP_TRIES = 8 };
static const uint64_t BACKUP_ENTRY_BYTES_MAX = (1ull << 30) + 64;

// Where bytes go, and where they come from (out_got less than asked: the end). `restart`: what was written is void.
typedef struct BackupOut { void *context; Err (*write)(void *context, const void *bytes, size_t size); Err (*restart)(void *context); } BackupOut;
typedef struct BackupIn { void *context; Err (*read)(void *context, void *out_bytes, size_t size, size_t *out_got); } BackupIn;

typedef struct BackupInfo { uint64_t number, checkpoint, modules, records; } BackupInfo;
MUST_USE Err backup_take(FileSystem *files, const char *dir, const BackupOut *out, BackupInfo *out_info, ErrText *out_text);
// Makes a store in `dir`, where none may be, and proves all of it. `at`: 0, or the commit to stop at, which must not lie before
// the backup's checkpoint. On an error what was made is removed again.
MUST_USE Err backup_restore(FileSystem *files, const char *dir, const BackupIn *in, uint64_t at, BackupInfo *out_info, ErrText *out_text);
