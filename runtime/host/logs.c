// The last lines that were logged about each app, for `aup logs`. They are rare (faults, refusals, changes of the app), so one
// ring under one lock serves all; each line is also written where the host's log goes.
#include "runtime/base/mem.h"
#include "runtime/host/host_inner.h"

void logs__take(void *context, Str line) {
  HostApp *app = context;
  Host *host = app->host;
  host->log.sink(host->log.ctx, line);
  size_t name_len = strlen(app->name);
  char *kept = mem_alloc(name_len + 1 + line.len + 1);
  if (!kept) return;
  memcpy(kept, app->name, name_len + 1);
  memcpy(kept + name_len + 1, line.ptr, line.len);
  kept[name_len + 1 + line.len] = 0;
  pthread_mutex_lock(&host->logs_lock);
  char **place = &host->logs[host->logs_at++ % HOST_LOGS_KEPT];
  mem_free(*place);
  *place = kept;
  pthread_mutex_unlock(&host->logs_lock);
}

void logs__write(Host *host, Str name, Buf *out) {
  pthread_mutex_lock(&host->logs_lock);
  for (uint32_t i = 0; i < HOST_LOGS_KEPT; i++) {
    const char *kept = host->logs[(host->logs_at + i) % HOST_LOGS_KEPT];
    if (kept && str_is(name, kept)) buf_add_text(out, kept + name.len + 1);
  }
  pthread_mutex_unlock(&host->logs_lock);
}

void logs__free(Host *host) {
  for (uint32_t i = 0; i < HOST_LOGS_KEPT; i++) mem_free(host->logs[i]);
}
