// What stands behind store.h, shared by the files of this room.
//
//   closed -> recovering -> ready -> (store_commit) busy -> ready … ; from busy or ready -> stopped, for good
//
// Owns:   see store.h.
// Thread: fields above `lock` are the owner's; `log` is the sync task's while busy or extending, else the owner's;
//         fields below `lock` are read and written under it.
// Errors: those of store.h.
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "runtime/base/task_pool.h"
#include "runtime/store/log.h"
#include "runtime/store/pages.h"
#include "runtime/store/store.h"

// A schema that the Db or a held snapshot may still use.
typedef struct SchemaHold { Arena arena; Schema schema; struct SchemaHold *older; } SchemaHold;

// A state being written into the page file.
typedef struct Checkpoint {
  bool running;                // the owner's: it was begun, and its end not seen yet
  Task task;
  Snapshot *snapshot;
  PagesRoot root;
  Buf schema;
  uint64_t log_at;             // bytes of the log when the last one that succeeded was begun
  uint64_t log_from;           // the log before so many is gone, nearly: what the last two do not need
  uint64_t begun_at;           // bytes of the log when the last one that succeeded, and is over, was begun
  uint64_t retry_at;           // after a failure: not before so many
  Err err;                     // of the last one
  bool finished;               // under the store's lock
} Checkpoint;

struct Store {
  StoreOptions options;
  char *dir_name;
  Dir *dir, *modules;
  Db *db;
  SchemaHold *schema;          // newest first
  StoreInfo info;
  Log log;                     // in memory: unused
  Buf record;                  // the one in flight
  PageFile pages;              // the checkpoint's while one is running
  uint64_t page_bytes;         // the file's size as of the last checkpoint
  Checkpoint checkpoint;

  TaskPool *syncs, *checkpoints;   // NULL: all is done inside store_commit
  bool is_inline;              // records are, though there is a pool
  bool has_lock;

  pthread_mutex_t lock;
  pthread_cond_t changed;
  Task sync;
  bool working;                // `sync` was asked for, and has not ended
  bool busy;                   // a record is to be written, or being written
  bool extending;              // space is being set aside
  uint64_t number;             // of the record in flight
  Err stopped;                 // what stopped the store
  ErrText stopped_text;
  atomic_uint_fast64_t durable;
};

// ---- files.c ----------------------------------------------------------------------------------
// Opens the directory and says whether there is a store in it; makes an empty one when there is not.
MUST_USE Err store__open_files(Store *store, ErrText *out_text);
void store__close_files(Store *store);
void store__module_name(const uint8_t hash[STORE_HASH_BYTES], char out_name[STORE_HASH_BYTES * 2 + 8]);
bool store__module_hash(const char *name, uint8_t out_hash[STORE_HASH_BYTES]);
MUST_USE Err store__say(const Store *store, Err err, ErrText *out_text, const char *what);

// ---- checkpoint.c ------------------------------------------------------------------------------
// At a moment with nothing in flight: begins a checkpoint when the log has grown long enough, and looks after one that runs.
MUST_USE Err store__tend_checkpoint(Store *store, ErrText *out_text);
void store__end_checkpoint(Store *store);    // waits for the one that runs
void store__last_checkpoint(Store *store);   // at a clean stop, when it saves more than it costs

// ---- recover.c --------------------------------------------------------------------------------
MUST_USE Err store__recover(Store *store, ErrText *out_text);
void store__drop_schemas(Store *store, bool all);

// ---- sync.c -----------------------------------------------------------------------------------
MUST_USE Err store__start_syncing(Store *store);
void store__end_syncing(Store *store);
// Hands store->record over; it is written before this returns when there is no pool, or not for now.
void store__submit(Store *store, uint64_t number);
MUST_USE Err store__reserve(Store *store, uint64_t record_bytes, ErrText *out_text);
void store__stop(Store *store, Err err, const char *what);   // with the lock held
Err store__stop_now(Store *store, Err err, ErrText *out_text);  // without it; ERR_CLOSED
