// A queue under one lock. Tasks here take microseconds to seconds and come a few thousand times a second at most, so the
// lock is not what they wait for.
#include "runtime/base/task_pool.h"

#include <assert.h>
#include <pthread.h>

#include "runtime/base/mem.h"
#include "runtime/base/thread.h"

enum { STACK_BYTES = 1 << 20 };

struct TaskPool {
  pthread_mutex_t lock;
  pthread_cond_t come;
  Task *first, **last;
  uint32_t waiting;            // tasks in the queue
  uint32_t idle;               // threads that wait for one
  uint32_t threads_max, thread_count;
  bool soon, ends;
  pthread_t threads[];
};

Err task_pool_new(uint32_t threads_max, bool soon, TaskPool **out_pool) {
  assert(threads_max > 0 && threads_max <= TASK_POOL_THREADS_MAX);
  TaskPool *pool = mem_alloc_zero(1, sizeof *pool + threads_max * sizeof pool->threads[0]);
  if (!pool) return ERR_MEMORY;
  pool->last = &pool->first;
  pool->threads_max = threads_max;
  pool->soon = soon;
  if (pthread_mutex_init(&pool->lock, NULL) != 0) {
    mem_free(pool);
    return ERR_MEMORY;
  }
  if (pthread_cond_init(&pool->come, NULL) != 0) {
    pthread_mutex_destroy(&pool->lock);
    mem_free(pool);
    return ERR_MEMORY;
  }
  *out_pool = pool;
  return ERR_NONE;
}

static Task *take(TaskPool *pool) {
  Task *task = pool->first;
  pool->first = task->next;
  if (!pool->first) pool->last = &pool->first;
  pool->waiting--;
  return task;
}

static void *work(void *context) {
  TaskPool *pool = context;
  if (pool->soon) thread_run_soon();
  pthread_mutex_lock(&pool->lock);
  while (pool->first || !pool->ends) {
    if (!pool->first) {
      pool->idle++;
      pthread_cond_wait(&pool->come, &pool->lock);
      pool->idle--;
      continue;
    }
    Task *task = take(pool);
    pthread_mutex_unlock(&pool->lock);
    task->run(task);
    pthread_mutex_lock(&pool->lock);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

// With the lock held.
static void start_thread(TaskPool *pool) {
  pthread_attr_t small;
  if (pthread_attr_init(&small) != 0) return;
  pthread_attr_setstacksize(&small, STACK_BYTES);
  if (pthread_create(&pool->threads[pool->thread_count], &small, work, pool) == 0) pool->thread_count++;
  pthread_attr_destroy(&small);
}

void task_pool_ask(TaskPool *pool, Task *task) {
  pthread_mutex_lock(&pool->lock);
  assert(!pool->ends || pool->thread_count);
  if (pool->waiting >= pool->idle && pool->thread_count < pool->threads_max) start_thread(pool);
  bool is_possible = pool->thread_count > 0;
  if (is_possible) {
    task->next = NULL;
    *pool->last = task;
    pool->last = &task->next;
    pool->waiting++;
    pthread_cond_signal(&pool->come);
  }
  pthread_mutex_unlock(&pool->lock);
  if (!is_possible) task->run(task);
}

void task_pool_free(TaskPool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->ends = true;
  pthread_cond_broadcast(&pool->come);
  uint32_t count = pool->thread_count;
  pthread_mutex_unlock(&pool->lock);
  for (uint32_t i = 0; i < count; i++) pthread_join(pool->threads[i], NULL);
  assert(!pool->first);
  pthread_cond_destroy(&pool->come);
  pthread_mutex_destroy(&pool->lock);
  mem_free(pool);
}
