// The one place where records reach the disk. At most one is in flight; a task of a pool that many stores share writes and syncs it,
// raises the durable number, tells the owner, and then sets space aside for later ones, so that the owner hardly ever waits for
// that. Or the owner does it all itself, inside store_commit: while nobody else waits for its thread that is cheaper.
//
// After the first error nothing is written any more: whether the record that failed is on disk is not known, and a later
// sync that succeeds would say nothing about it.
#include <assert.h>
#include <stddef.h>

#include "runtime/store/state.h"

static bool must_stop(Err err) { return err != ERR_NONE && err != ERR_FULL && err != ERR_MEMORY; }

// With the lock held, or before there is a thread.
void store__stop(Store *store, Err err, const char *what) {
  assert(store->stopped == ERR_NONE);  // [S4] nothing is written after the first
  store->stopped = err;
  Err said = err_say(err, &store->stopped_text, "%s/%s: %s: %s; nothing more is written", store->dir_name, store->log.name, what, err_words(err));
  (void)said;
}

static void lock(Store *store) { pthread_mutex_lock(&store->lock); }
static void unlock(Store *store) { pthread_mutex_unlock(&store->lock); }

// Writes the record in flight; without the lock. Who waited for it here sees for himself that it is durable, or has failed.
static void write_record(Store *store, bool tell) {
  uint64_t number = store->number;
  Err err = store->options.files ? log_write(&store->log, &store->record) : ERR_NONE;
  lock(store);
  if (err != ERR_NONE) store__stop(store, err, "a record could not be written");
  else atomic_store_explicit(&store->durable, number, memory_order_release);
  store->busy = false;
  store->extending = err == ERR_NONE && store->syncs && log_is_low(&store->log);
  pthread_cond_broadcast(&store->changed);
  unlock(store);
  if ((tell || err != ERR_NONE) && store->options.synced) store->options.synced(store->options.context, number, err);
}

// Ahead of need. A full disk is no error yet: the owner meets it when it needs the space.
static void extend(Store *store) {
  Err err = log_extend(&store->log, 0);
  lock(store);
  if (must_stop(err)) store__stop(store, err, "space could not be set aside");
  store->extending = false;
  pthread_cond_broadcast(&store->changed);
  unlock(store);
}

static bool is_set(Store *store, const bool *flag) {
  lock(store);
  bool set = *flag;
  unlock(store);
  return set;
}

// One round of the task. When the owner handed over the next record meanwhile the task waits for its turn again, behind those of
// other stores. Its last act is to say that it has ended: the store may be gone then.
static void sync_round(Task *task) {
  Store *store = (Store *)((char *)task - offsetof(Store, sync));
  if (is_set(store, &store->busy)) write_record(store, true);
  if (is_set(store, &store->extending)) extend(store);
  lock(store);
  bool again = store->busy;
  store->working = again;
  if (!again) pthread_cond_broadcast(&store->changed);
  unlock(store);
  if (again) task_pool_ask(store->syncs, task);
}

static Err own_or_shared(TaskPool *shared, bool soon, TaskPool **out_pool) {
  *out_pool = shared;
  return shared ? ERR_NONE : task_pool_new(1, soon, out_pool);
}

Err store__start_syncing(Store *store) {
  int failed = pthread_mutex_init(&store->lock, NULL) | pthread_cond_init(&store->changed, NULL);
  assert(!failed);  // neither does, without attributes, on Linux
  (void)failed;
  store->has_lock = true;
  store->sync.run = sync_round;
  if (store->options.sync_inline || store->options.read_only || !store->options.files) return ERR_NONE;
  TRY(own_or_shared(store->options.syncs, true, &store->syncs));
  return own_or_shared(store->options.checkpoints, false, &store->checkpoints);
}

// Nothing is in flight; the task may still be on its way out.
void store__end_syncing(Store *store) {
  if (!store->has_lock) return;
  lock(store);
  while (store->working) pthread_cond_wait(&store->changed, &store->lock);
  unlock(store);
  if (!store->options.syncs) task_pool_free(store->syncs);
  if (!store->options.checkpoints) task_pool_free(store->checkpoints);
  pthread_cond_destroy(&store->changed);
  pthread_mutex_destroy(&store->lock);
  store->has_lock = false;
}

void store_sync_inline(Store *store, bool is_inline) { store->is_inline = is_inline; }

// Asks for the task, if it has ended; with the lock held. True: it must be put into the pool.
static bool wake_task(Store *store) {
  bool was_working = store->working;
  store->working = true;
  return !was_working;
}

void store__submit(Store *store, uint64_t number) {
  lock(store);
  store->busy = true;
  store->number = number;
  bool here = !store->syncs || (store->is_inline && !store->working && !store->checkpoint.running);  // a checkpoint makes the disk slow
  bool ask = !here && wake_task(store);
  unlock(store);
  if (here) write_record(store, false);
  if (here && is_set(store, &store->extending)) {
    lock(store);
    ask = wake_task(store);
    unlock(store);
  }
  if (ask) task_pool_ask(store->syncs, &store->sync);
}

Err store__stop_now(Store *store, Err err, ErrText *out_text) {
  lock(store);
  store__stop(store, err, "space could not be set aside");
  unlock(store);
  return store_error(store, out_text), ERR_CLOSED;
}

// The log is the owner's again once nothing is being set aside.
Err store__reserve(Store *store, uint64_t record_bytes, ErrText *out_text) {
  lock(store);
  while (store->extending) pthread_cond_wait(&store->changed, &store->lock);
  Err stopped = store->stopped;
  unlock(store);
  if (stopped != ERR_NONE) return store_error(store, out_text), ERR_CLOSED;
  Err err = log_reserve(&store->log, record_bytes);
  if (err == ERR_NONE) return ERR_NONE;
  if (must_stop(err)) return store__stop_now(store, err, out_text);
  return err_say(err, out_text, "%s: no space for the log: %s", store->dir_name, err_words(err));
}

bool store_busy(const Store *store) {
  Store *shared = (Store *)store;
  lock(shared);
  bool busy = store->busy;
  unlock(shared);
  return busy;
}

void store_wait(Store *store) {
  lock(store);
  while (store->busy || store->extending) pthread_cond_wait(&store->changed, &store->lock);
  unlock(store);
}

uint64_t store_durable_number(const Store *store) { return atomic_load_explicit(&store->durable, memory_order_acquire); }

Err store_error(const Store *store, ErrText *out_text) {
  Store *shared = (Store *)store;
  lock(shared);
  Err err = store->stopped;
  if (err != ERR_NONE && out_text) *out_text = store->stopped_text;
  unlock(shared);
  return err;
}
