// The one place where records reach the disk. At most one is in flight; the thread writes and syncs it, raises the durable
// number, tells the owner, and then sets space aside for later ones, so that the owner hardly ever waits for that.
//
// After the first error nothing is written any more: whether the record that failed is on disk is not known, and a later
// sync that succeeds would say nothing about it.
#include <string.h>

#include "runtime/base/thread.h"
#include "runtime/store/state.h"

static bool must_stop(Err err) { return err != ERR_NONE && err != ERR_FULL && err != ERR_MEMORY; }

// With the lock held, or before there is a thread.
void store__stop(Store *store, Err err, const char *what) {
  if (store->stopped != ERR_NONE) return;
  store->stopped = err;
  Err said = err_say(err, &store->stopped_text, "%s/%s: %s: %s; nothing more is written", store->dir_name, store->log.name, what, err_words(err));
  (void)said;
}

static void lock(Store *store) { pthread_mutex_lock(&store->lock); }
static void unlock(Store *store) { pthread_mutex_unlock(&store->lock); }

// Writes the record in flight; without the lock.
static void write_record(Store *store) {
  uint64_t number = store->number;
  Err err = store->options.files ? log_write(&store->log, &store->record) : ERR_NONE;
  lock(store);
  if (err != ERR_NONE) store__stop(store, err, "a record could not be written");
  else atomic_store_explicit(&store->durable, number, memory_order_release);
  store->busy = false;
  store->extending = err == ERR_NONE && store->has_thread && log_is_low(&store->log);
  pthread_cond_broadcast(&store->changed);
  unlock(store);
  if (store->options.synced) store->options.synced(store->options.context, number, err);
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

static void *sync_thread(void *context) {
  Store *store = context;
  thread_run_soon();
  lock(store);
  while (!store->leaving) {
    if (store->busy) {
      unlock(store);
      write_record(store);
      if (store->extending) extend(store);
      lock(store);
      continue;
    }
    pthread_cond_wait(&store->changed, &store->lock);
  }
  unlock(store);
  return NULL;
}

Err store__start_thread(Store *store) {
  if (pthread_mutex_init(&store->lock, NULL) != 0) return ERR_MEMORY;
  if (pthread_cond_init(&store->changed, NULL) != 0) {
    pthread_mutex_destroy(&store->lock);
    return ERR_MEMORY;
  }
  store->has_lock = true;
  if (store->options.sync_inline || store->options.read_only || !store->options.files) return ERR_NONE;
  pthread_attr_t small;
  if (pthread_attr_init(&small) != 0) return ERR_MEMORY;
  pthread_attr_setstacksize(&small, 256 << 10);
  int failed = pthread_create(&store->thread, &small, sync_thread, store);
  pthread_attr_destroy(&small);
  store->has_thread = !failed;
  return failed ? ERR_LIMIT : ERR_NONE;
}

void store__end_thread(Store *store) {
  if (store->has_thread) {
    lock(store);
    store->leaving = true;
    pthread_cond_broadcast(&store->changed);
    unlock(store);
    pthread_join(store->thread, NULL);
    store->has_thread = false;
  }
  if (!store->has_lock) return;
  pthread_cond_destroy(&store->changed);
  pthread_mutex_destroy(&store->lock);
  store->has_lock = false;
}

void store__submit(Store *store, uint64_t number) {
  lock(store);
  store->busy = true;
  store->number = number;
  pthread_cond_broadcast(&store->changed);
  unlock(store);
  if (!store->has_thread) write_record(store);
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
