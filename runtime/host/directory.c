// The directory is made anew for each app that comes or goes, which is rare, so that finding a name, which is not, needs
// neither a lock nor an atomic operation. 10,000 names cost some 50 µs to lay out.
#include "runtime/base/hash.h"
#include "runtime/base/mem.h"
#include "runtime/host/host_inner.h"

// FNV-1a: names are administrators' own, nobody floods this table.
static uint32_t slot_of(const Directory *directory, Str name) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < name.len; i++) hash = (hash ^ (uint8_t)name.ptr[i]) * 16777619u;
  return hash & (directory->slots - 1);
}

HostApp *directory__find(const Directory *directory, Str name) {
  if (!directory) return NULL;
  for (uint32_t at = slot_of(directory, name); directory->table[at]; at = (at + 1) & (directory->slots - 1)) {
    if (str_equal(app__name(directory->table[at]), name)) return directory->table[at];
  }
  return NULL;
}

void directory__drop(Directory *directory) {
  if (!directory || atomic_fetch_sub(&directory->holders, 1) > 1) return;
  for (uint32_t i = 0; i < directory->slots; i++) {
    if (directory->table[i]) apps__drop(directory->table[i]);
  }
  mem_free(directory);
}

static Directory *make(const Host *host) {
  uint32_t slots = 4;
  while (slots < host->app_count * 2) slots *= 2;
  Directory *made = mem_alloc_zero(1, sizeof *made + slots * sizeof(HostApp *));
  if (!made) return NULL;
  atomic_init(&made->holders, 1);
  made->slots = slots;
  for (uint32_t i = 0; i < host->app_count; i++) {
    HostApp *app = host->apps[i];
    if (!app->is_listed) continue;
    uint32_t at = slot_of(made, app__name(app));
    while (made->table[at]) at = (at + 1) & (slots - 1);
    made->table[at] = app;
    apps__hold(app);
    made->only = made->count++ == 0 ? app : NULL;
  }
  return made;
}

// ---- to the workers ---------------------------------------------------------------------------------

typedef struct News { Message message; Directory *directory; } News;

static void take(Worker *worker, Message *message) {
  News *news = (News *)message;
  directory__drop(worker->directory);
  worker->directory = news->directory;
  mem_free(news);
}

static Err tell(Worker *worker, Directory *directory) {
  News *news = mem_alloc(sizeof *news);
  if (!news) return ERR_MEMORY;
  atomic_fetch_add(&directory->holders, 1);
  *news = (News){{.run = take}, directory};
  if (worker->index == 0 || !worker->has_thread) take(worker, &news->message);
  else worker__send(worker, &news->message);
  return ERR_NONE;
}

Err directory__publish(Host *host) {
  Directory *made = make(host);
  if (!made) return ERR_MEMORY;
  Err err = ERR_NONE;
  for (uint32_t i = 0; i < host->worker_count && err == ERR_NONE; i++) {
    if (host->workers[i].is_started) err = tell(&host->workers[i], made);
  }
  directory__drop(made);
  return err;
}
