// A few threads that run tasks, each begun when it is first needed: for what may take long and must not keep a loop waiting.
//
//   tasks wait in order; one that comes while all threads are busy starts another thread, up to the pool's number
//
// Owns:   its threads; a task belongs to who asked, who keeps it until it has run.
// Thread: task_pool_ask any, tasks included; task_pool_new and task_pool_free one.
// Errors: task_pool_new ERR_MEMORY. When no thread can be had, task_pool_ask runs the task itself.
// Limits: TASK_POOL_THREADS_MAX.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/err.h"

enum { TASK_POOL_THREADS_MAX = 64 };

typedef struct TaskPool TaskPool;
typedef struct Task Task;
struct Task { void (*run)(Task *task); Task *next; };  // in its owner; `run` may free it or ask for it again

// `soon`: its tasks are short and others wait for them, see thread_run_soon.
MUST_USE Err task_pool_new(uint32_t threads_max, bool soon, TaskPool **out_pool);
void task_pool_ask(TaskPool *pool, Task *task);
void task_pool_free(TaskPool *pool);  // when all that was asked for is done; NULL is fine
