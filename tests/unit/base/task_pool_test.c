// A pool of threads: each task runs once, as many at once as it has threads, and all before it is gone.
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "runtime/base/mem.h"
#include "runtime/base/task_pool.h"

typedef struct Work { Task task; TaskPool *pool; int left; atomic_int runs; } Work;

static void run(Task *task) {
  Work *work = (Work *)task;
  atomic_fetch_add(&work->runs, 1);
  if (work->left-- > 0) task_pool_ask(work->pool, task);
}

Test(task_pool, every_task_runs_and_may_ask_again) {
  uint64_t held = mem_blocks_held();
  for (uint32_t threads = 1; threads <= 4; threads++) {
    enum { COUNT = 200, AGAIN = 3 };
    TaskPool *pool;
    cr_assert(task_pool_new(threads, threads % 2, &pool) == ERR_NONE);
    static Work works[COUNT];
    for (int i = 0; i < COUNT; i++) {
      works[i] = (Work){.task = {.run = run}, .pool = pool, .left = AGAIN};
      task_pool_ask(pool, &works[i].task);
    }
    task_pool_free(pool);
    for (int i = 0; i < COUNT; i++) cr_assert_eq(atomic_load(&works[i].runs), 1 + AGAIN);
  }
  cr_assert_eq(mem_blocks_held(), held);
}

// Two tasks that wait for each other end only when each has a thread.
typedef struct Meeting { pthread_barrier_t barrier; } Meeting;
typedef struct Guest { Task task; Meeting *meeting; } Guest;

static void meet(Task *task) { pthread_barrier_wait(&((Guest *)task)->meeting->barrier); }

Test(task_pool, tasks_run_at_once) {
  TaskPool *pool;
  Meeting meeting;
  Guest guests[3] = {{{.run = meet}, &meeting}, {{.run = meet}, &meeting}, {{.run = meet}, &meeting}};
  pthread_barrier_init(&meeting.barrier, NULL, countof(guests));
  cr_assert(task_pool_new(countof(guests), false, &pool) == ERR_NONE);
  for (size_t i = 0; i < countof(guests); i++) task_pool_ask(pool, &guests[i].task);
  task_pool_free(pool);
  pthread_barrier_destroy(&meeting.barrier);
}

Test(task_pool, without_anything_to_do_has_no_thread) {
  TaskPool *pool;
  cr_assert(task_pool_new(TASK_POOL_THREADS_MAX, false, &pool) == ERR_NONE);
  task_pool_free(pool);
  task_pool_free(NULL);
  mem_fail_nth(1, 0);
  cr_assert(task_pool_new(1, false, &pool) == ERR_MEMORY);
  mem_fail_nth(0, 0);
}
