// One thread for what may take long and must not keep a loop waiting: reading an app's data when it wakes, closing it when
// it falls asleep, writing the list of apps. Started when it is first needed.
#include "runtime/host/host_inner.h"

static void *help(void *context) {
  Host *host = context;
  pthread_mutex_lock(&host->tasks_lock);
  while (host->tasks || !host->helper_ends) {
    Message *task = host->tasks;
    if (!task) {
      pthread_cond_wait(&host->tasks_come, &host->tasks_lock);
      continue;
    }
    host->tasks = task->next;
    if (!host->tasks) host->tasks_last = &host->tasks;
    pthread_mutex_unlock(&host->tasks_lock);
    task->run(NULL, task);
    pthread_mutex_lock(&host->tasks_lock);
  }
  pthread_mutex_unlock(&host->tasks_lock);
  return NULL;
}

void helper__ask(Host *host, Message *task) {
  pthread_mutex_lock(&host->tasks_lock);
  if (!host->has_helper) host->has_helper = pthread_create(&host->helper, NULL, help, host) == 0;
  bool has_helper = host->has_helper;
  if (has_helper) {
    task->next = NULL;
    *host->tasks_last = task;
    host->tasks_last = &task->next;
    pthread_cond_signal(&host->tasks_come);
  }
  pthread_mutex_unlock(&host->tasks_lock);
  if (!has_helper) task->run(NULL, task);  // no thread to be had: then it takes its time here
}

void helper__end(Host *host) {
  pthread_mutex_lock(&host->tasks_lock);
  host->helper_ends = true;
  pthread_cond_signal(&host->tasks_come);
  pthread_mutex_unlock(&host->tasks_lock);
  if (host->has_helper) pthread_join(host->helper, NULL);
  host->has_helper = false;
}
