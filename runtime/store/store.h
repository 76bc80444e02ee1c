// The data of one app on disk: `DIR/log-*` (every commit, in order), `DIR/pages` (the state as of the last checkpoint)
// and `DIR/modules/HASH.aupm`. Opening one recovers the Db from them, without any module. Formats, invariants and the
// fault model: docs/STORE.md.
//
//   owner:  apply inputs -> store_commit (encodes, seals, hands over) -> apply the next inputs … -> store_commit …
//   sync:   write the record, sync it, store_durable_number goes up, `synced` is called
//
// Owns:   a Store owns its Db, its schema and its files, until store_close.
// Thread: the owner only; `synced` is called on a thread of `syncs` (or, after an error, inside store_commit);
//         store_durable_number and store_error: any.
// Errors: with one line that names the directory or file: ERR_NOT_FOUND, ERR_PERMISSION, ERR_FULL, ERR_BUSY,
//         ERR_VERSION (made by a newer or an older aup), ERR_DAMAGED (file and offset), ERR_IO, ERR_MEMORY.
//         ERR_FULL from store_commit: nothing was written, sealed or lost; undo the batch, later ones may work.
//         Any error of a write or sync that was begun stops the store for good: store_commit says ERR_CLOSED from then on.
// Limits: STORE_*_MAX.
#pragma once
#include "runtime/base/err.h"
#include "runtime/base/task_pool.h"
#include "runtime/store/file.h"
#include "runtime/table/table.h"

enum {
  STORE_RECORD_BYTES_MAX = 1 << 30,   // a commit's record; more is ERR_LIMIT, and nothing is changed
  STORE_INPUTS_MAX = 1 << 16,         // in one commit
  STORE_SEGMENT_BYTES = 64 << 20,     // when the log goes on in a new file
  STORE_CHECKPOINT_BYTES_MIN = 4 << 20,
  STORE_MODULE_BYTES_MAX = 64 << 20,
  STORE_HASH_BYTES = 32,
};

typedef struct Store Store;

// Called when commit `number` is on disk (err ERR_NONE) or when its outcome is unknown and the store has stopped; of one that was
// written inside store_commit only the latter.
typedef void (*StoreSynced)(void *context, uint64_t number, Err err);

typedef struct StoreOptions {
  FileSystem *files;       // file_system_real(), or a test's; NULL: `:memory:`, the same code with no files
  const char *dir;         // made when it is not there (its parent must be); unused in memory
  uint64_t bytes_max;      // of the Db; 0: none
  uint64_t segment_bytes;  // 0: STORE_SEGMENT_BYTES
  uint64_t checkpoint_bytes;  // of the log since the last checkpoint, that begin one; 0: STORE_CHECKPOINT_BYTES_MIN, or an eighth of the state when that is more
  uint64_t record_bytes_max;  // of a commit's record; 0: STORE_RECORD_BYTES_MAX. Less, as what follows, so that a test can meet the limit
  uint32_t page_units_max;    // of the page file; 0: all that a place can name, 2 TiB
  bool sync_inline;        // no threads at all: write, sync and checkpoint inside store_commit (always so in memory)
  TaskPool *syncs;             // writes and syncs records, of many stores; outlives the store. NULL: a thread of its own
  TaskPool *checkpoints;       // the same for checkpoints
  bool read_only;          // to look at it: nothing on disk is made, wiped or removed, a missing store is ERR_NOT_FOUND, commits are ERR_REFUSED
  uint64_t stop_after;     // 0, or the commit to stop at: as if it were the last one. Not read_only: all after it is lost for good
  bool older;              // read_only: from the checkpoint before the newest, if there is one
  StoreSynced synced;      // may be NULL
  void *context;
} StoreOptions;

MUST_USE Err store_open(const StoreOptions *options, Store **out_store, ErrText *out_text);
// Waits for the commit in flight, writes the end mark, gives everything back. No snapshot may be held.
// The error is the one that stopped the store, or that of the end mark; everything is closed in any case.
MUST_USE Err store_close(Store *store, ErrText *out_text);
// The same without an end mark and without waiting for more than the write in flight: for a fault in the app's own state.
void store_abandon(Store *store);

// What opening found.
typedef struct StoreInfo {
  bool is_new;             // no schema yet: store_set_schema comes first, and store_db is NULL until then
  bool was_clean;          // the last one to use it wrote its end mark
  uint64_t number;         // the last commit
  uint64_t dropped_at;     // after a crash: where in the newest log file a cut last record was dropped, or 0
  int64_t now_us;          // the greatest `now` any commit had: the app's clock never goes below it
  uint8_t module_hash[STORE_HASH_BYTES];
  uint8_t schema_hash[STORE_HASH_BYTES];
  uint64_t records;        // replayed
  uint64_t checkpoint;     // the last commit in the newest checkpoint, or 0
  uint64_t checkpoint_before;  // the same of the one before it, or 0
  bool fell_back;          // the newest checkpoint could not be read: the one before it and the log made up for it
  Err checkpoint_err;      // how the last try of a checkpoint ended; after an error the log goes on growing, and it is tried again
  uint64_t log_bytes;      // nearly: what the last checkpoint made unneeded may not be gone yet
} StoreInfo;
const StoreInfo *store_info(const Store *store);  // number, now_us and the hashes are kept up to date

uint64_t store_disk_bytes(const Store *store);  // of log and page file, space set aside included; nearly: a checkpoint may be at it

Db *store_db(Store *store);
// The store's own copy of the schema, equal (and so with equal type ids) to the one last set.
const Schema *store_schema(const Store *store);

// The first schema of a new store, or another module's: changes the Db, and writes and syncs a schema record (a commit
// number of its own; `synced` as for any). Publish no snapshot of it before this returns without an error.
// `tables` (by table of the new schema, see db_reshape) may be NULL when the store is new or the schema is the same.
// Nothing may be unsealed; waits for the commit in flight. On an error before the write the store and Db are as before.
MUST_USE Err store_set_schema(Store *store, const Schema *schema, const uint8_t module_hash[STORE_HASH_BYTES],
                              const ReshapeTable *tables, ErrText *out_text);

// One input as the log remembers it, so that it can be looked at and replayed.
typedef struct StoreInput {
  Str name, caller;        // caller: empty when there is none
  int64_t now_us;
  uint64_t seed;
  Str args;                // a value's encoding, without @secret arguments
  uint8_t status;          // the app's own code of how it ended
} StoreInput;

// Makes everything changed since the last seal commit number store_info()->number + 1: encodes it with its inputs, seals
// the Txn and hands the record over. ERR_AGAIN while the last one is not durable yet (store_busy): go on applying inputs
// and commit them together later. Any error: nothing was sealed.
MUST_USE Err store_commit(Store *store, const StoreInput *inputs, uint32_t count, uint64_t *out_number, ErrText *out_text);
// From the next commit on: write and sync inside store_commit, which costs half the CPU of handing over, but makes the owner's
// thread wait for the disk. Nothing else changes.
void store_sync_inline(Store *store, bool is_inline);
bool store_busy(const Store *store);
void store_wait(Store *store);                       // until nothing is in flight
uint64_t store_durable_number(const Store *store);   // no answer of a later commit may leave
Err store_error(const Store *store, ErrText *out_text);  // what stopped the store, or ERR_NONE

// ---- modules ----------------------------------------------------------------------------------
// Kept under the hash that names them; saved durably before a schema record names it.
MUST_USE Err store_save_module(Store *store, const uint8_t hash[STORE_HASH_BYTES], Str bytes, ErrText *out_text);
MUST_USE Err store_load_module(Store *store, const uint8_t hash[STORE_HASH_BYTES], Arena *arena, Str *out_bytes, ErrText *out_text);

// ---- the lock of a data root ------------------------------------------------------------------
// One host (or tool) at a time uses a data root. A lock left by a killed process does not block.
typedef struct StoreLock StoreLock;
MUST_USE Err store_lock(FileSystem *files, const char *root, StoreLock **out_lock, ErrText *out_text);  // makes the root when missing
void store_unlock(StoreLock *lock);
