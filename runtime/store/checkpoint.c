// When a checkpoint is made, and what happens around it: the log rolls, so that its old part can go; a snapshot is taken of a
// state whose record is on disk; a task writes it while inputs go on; and segments of the log that neither slot needs are
// removed. Nothing rests on its success: the log holds everything until a root is on disk.
//
// The log may grow by an eighth of the state between two checkpoints, so that waking is short and the files stay bounded: two
// slots of at most five quarters of the state together, the pages of the next one, and the log of two rounds.
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/store/pages_write.h"
#include "runtime/store/state.h"

static uint64_t log_bytes(const Store *store) { return store->log.bytes_before + store->log.offset; }

static uint64_t bytes_between(const Store *store) {
  if (store->options.checkpoint_bytes) return store->options.checkpoint_bytes;
  uint64_t eighth = db_bytes(store->db) / 8;
  return eighth > STORE_CHECKPOINT_BYTES_MIN ? eighth : STORE_CHECKPOINT_BYTES_MIN;
}

static bool is_due(const Store *store) {
  uint64_t bytes = log_bytes(store);
  return bytes - store->checkpoint.log_at >= bytes_between(store) && bytes >= store->checkpoint.retry_at;
}

// ---- the work ---------------------------------------------------------------------------------
// [S22] What is removed is in every state that opening may choose.
static Err remove_log(Store *store) {
  uint64_t number = UINT64_MAX;
  for (int slot = 0; slot < 2; slot++)
    if (store->pages.slots[slot] == SLOT_GOOD && store->pages.roots[slot].number < number) number = store->pages.roots[slot].number;
  assert(number != UINT64_MAX);  // one has just been written
  return log_remove_before(store->options.files, store->dir, number);
}

static void work(Store *store, bool paced) {
  Checkpoint *checkpoint = &store->checkpoint;
  PagesJob job = {.snapshot = checkpoint->snapshot, .root = checkpoint->root, .schema = buf_str(&checkpoint->schema), .paced = paced};
  checkpoint->err = pages_write_state(&store->pages, &job);
  if (checkpoint->err == ERR_NONE) {
    Err left = remove_log(store);  // what stays is removed by the next one
    (void)left;
  }
}

static void set_finished(Store *store, bool finished) {
  pthread_mutex_lock(&store->lock);
  store->checkpoint.finished = finished;
  pthread_cond_broadcast(&store->changed);
  pthread_mutex_unlock(&store->lock);
}

static bool is_finished(Store *store) {
  pthread_mutex_lock(&store->lock);
  bool finished = store->checkpoint.finished;
  pthread_mutex_unlock(&store->lock);
  return finished;
}

// Its last act is to say that it has ended: the store may be gone then.
static void work_in_pool(Task *task) {
  Store *store = (Store *)((char *)task - offsetof(Store, checkpoint.task));
  work(store, true);
  set_finished(store, true);
}

static void take_root(Store *store) {
  PagesRoot *root = &store->checkpoint.root;
  *root = (PagesRoot){.number = store->info.number, .log_sum = store->log.sum, .now_us = store->info.now_us};
  memcpy(root->module_hash, store->info.module_hash, STORE_HASH_BYTES);
  memcpy(root->schema_hash, store->info.schema_hash, STORE_HASH_BYTES);
}

static Err begin(Store *store, bool in_pool) {
  Checkpoint *checkpoint = &store->checkpoint;
  buf_init(&checkpoint->schema, 0);
  schema_encode(db_schema(store->db), &checkpoint->schema);
  checkpoint->snapshot = checkpoint->schema.failed ? NULL : db_snapshot_take(store->db);
  if (!checkpoint->snapshot) {
    buf_free(&checkpoint->schema);
    return ERR_MEMORY;
  }
  take_root(store);
  set_finished(store, !in_pool);
  checkpoint->running = true;
  checkpoint->task.run = work_in_pool;
  if (in_pool) task_pool_ask(store->checkpoints, &checkpoint->task);
  else work(store, false);
  return ERR_NONE;
}

static void finish(Store *store) {
  Checkpoint *checkpoint = &store->checkpoint;
  pthread_mutex_lock(&store->lock);
  while (!checkpoint->finished) pthread_cond_wait(&store->changed, &store->lock);
  pthread_mutex_unlock(&store->lock);
  checkpoint->running = false;
  buf_free(&checkpoint->schema);
  store->info.checkpoint_err = checkpoint->err;
  if (checkpoint->err == ERR_NONE) store->info.checkpoint = checkpoint->root.number;
}

// Pages that only the checkpoint still saw are given back a few at a time: all of them at once would make inputs wait (measured:
// 0.5 s after a checkpoint of 1 GiB). True: nothing is left of it.
static bool let_go(Store *store) {
  enum { PAGES_AT_ONCE = 2000 };
  Checkpoint *checkpoint = &store->checkpoint;
  if (checkpoint->snapshot && snapshot_release_part(checkpoint->snapshot, PAGES_AT_ONCE)) checkpoint->snapshot = NULL;
  return checkpoint->snapshot == NULL;
}

static void let_all_go(Store *store) {
  while (!let_go(store)) continue;
}

// ---- the owner's part -------------------------------------------------------------------------
static void note_failure(Store *store, Err err) {
  store->info.checkpoint_err = err;
  store->checkpoint.retry_at = log_bytes(store) + bytes_between(store) / 4;
}

static void see_end(Store *store) {
  finish(store);
  store->page_bytes = store->pages.size;
  if (store->checkpoint.err == ERR_NONE) {
    store->checkpoint.log_from = store->checkpoint.begun_at;
    store->checkpoint.begun_at = store->checkpoint.log_at;
    return;
  }
  store->checkpoint.log_at = 0;  // what it would have covered still counts
  note_failure(store, store->checkpoint.err);
}

// The log is the owner's here: nothing is in flight, and nothing is being set aside.
Err store__tend_checkpoint(Store *store, ErrText *out_text) {
  if (store->checkpoint.running && is_finished(store)) see_end(store);
  if (store->checkpoint.running || !let_go(store)) return ERR_NONE;
  if (!store->options.files || !is_due(store)) return ERR_NONE;
  store_wait(store);
  if (store_error(store, out_text) != ERR_NONE) return ERR_CLOSED;  // space could not be set aside meanwhile
  Err err = log_roll(&store->log);
  // A full disk needs the checkpoint most: without the roll it frees less, but it may free something.
  if (err != ERR_NONE && err != ERR_FULL && err != ERR_MEMORY) return store__stop_now(store, err, out_text);
  uint64_t at = log_bytes(store);
  bool in_pool = store->checkpoints != NULL;
  err = begin(store, in_pool);
  if (err != ERR_NONE) {
    note_failure(store, err);
    return ERR_NONE;
  }
  store->checkpoint.log_at = at;
  if (!in_pool) {
    see_end(store);
    let_all_go(store);
  }
  return ERR_NONE;
}

void store__end_checkpoint(Store *store) {
  if (store->checkpoint.running) see_end(store);
  let_all_go(store);
}

void store__last_checkpoint(Store *store) {
  if (!store->options.files || store->options.read_only || !store->db || store->log.ended) return;
  uint64_t bytes = log_bytes(store) - store->checkpoint.log_at, worth = bytes_between(store) / 4;
  if (bytes < worth || store_error(store, NULL) != ERR_NONE) return;
  Err err = log_roll(&store->log);
  if (err != ERR_NONE && err != ERR_FULL && err != ERR_MEMORY) {
    ErrText text;
    err = store__stop_now(store, err, &text);
    return;
  }
  if (begin(store, false) != ERR_NONE) return;
  see_end(store);
  let_all_go(store);
}
