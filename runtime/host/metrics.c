// GET /metrics in Prometheus' text format (version 0.0.4), and GET /readyz. Nothing on a request's way is shared between threads: each
// app's numbers belong to its home worker, so a scrape travels as a message from worker to worker, takes down the rows of the apps
// that live there, and is written out at the control, where it began.
#include "runtime/host/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/mem.h"
#include "runtime/host/host_inner.h"

typedef struct AppRow { HostApp *app; AppState state; HostMetrics of; AppLoad load; uint32_t streams; } AppRow;

typedef struct Scrape Scrape;
struct Scrape {
  Message message;
  Conn *conn;              // the control's; NULL: who asked has gone
  Host *host;
  uint32_t at;             // the worker whose turn it is
  AppRow *rows;
  uint32_t row_count, row_room;
  ServeMetrics own;        // of requests for no app
  bool failed;             // no memory
  Scrape *next;            // of host->scrapes
};

// ---- gathering --------------------------------------------------------------------------------------------

static AppRow *add_row(Scrape *scrape) {
  if (scrape->row_count == scrape->row_room) {
    uint32_t room = scrape->row_room ? scrape->row_room * 2 : 16;
    AppRow *rows = mem_realloc(scrape->rows, room * sizeof *rows);
    if (!rows) return NULL;
    scrape->rows = rows;
    scrape->row_room = room;
  }
  return &scrape->rows[scrape->row_count++];
}

static void take_row(Scrape *scrape, HostApp *app) {
  AppRow *row = add_row(scrape);
  scrape->failed |= !row;
  if (!row) return;
  *row = (AppRow){.app = app, .state = (AppState)atomic_load_explicit(&app->state, memory_order_relaxed)};
  apps__hold(app);
  // While it is OPENING the helper may be at its numbers.
  if (app->metrics && row->state != APP_OPENING) row->of = *app->metrics;
  if (app->app) app->load = app_load(app->app);
  row->load = app->load;
  if (!app->app) row->load.waiting = 0, row->load.state_bytes = 0;
  if (app->serve) row->streams = serve_stream_count(app->serve);
}

static void add_own(ServeMetrics *sum, const ServeMetrics *one) {
  for (unsigned i = 0; i < METRICS_STATUSES; i++) {
    const StatusCount *from = &one->statuses[i];
    for (unsigned k = 0; k < METRICS_STATUSES && from->count; k++) {
      StatusCount *to = &sum->statuses[k];
      if (to->count && (to->status != from->status || to->route != from->route) && k < METRICS_STATUSES - 1) continue;
      *to = (StatusCount){to->count + from->count, from->status, from->route};
      break;
    }
  }
}

static void gather(Scrape *scrape, const Worker *worker) {
  add_own(&scrape->own, &worker->metrics);
  const Directory *directory = worker->directory;
  for (uint32_t i = 0; directory && i < directory->slots; i++) {
    HostApp *app = directory->table[i];
    if (app && app->home == worker) take_row(scrape, app);
  }
}

// ---- writing ----------------------------------------------------------------------------------------------

static void family(Buf *out, const char *name, const char *type, const char *help) {
  buf_add_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void sample(Buf *out, const char *name, const AppRow *row, double value) {
  bool is_whole = value == (double)(uint64_t)value;
  if (is_whole) buf_add_format(out, "%s{app=\"%s\"} %" PRIu64 "\n", name, row->app->name, (uint64_t)value);
  else buf_add_format(out, "%s{app=\"%s\"} %.6f\n", name, row->app->name, value);
}

static void write_values(const Scrape *scrape, Buf *out) {
  const AppRow *rows = scrape->rows, *end = rows + scrape->row_count;
#define METRIC(name, type, help, expression) \
  family(out, name, #type, help);            \
  for (const AppRow *row = rows; row != end; row++) sample(out, name, row, (double)(expression));
#include "runtime/host/metrics.def"
#undef METRIC
}

static void write_statuses(const char *app, const ServeMetrics *of, Buf *out) {
  for (unsigned i = 0; i < METRICS_STATUSES && of->statuses[i].count; i++) {
    const StatusCount *one = &of->statuses[i];
    buf_add_format(out, "aup_http_requests_total{app=\"%s\",route=\"%s\",status=\"%u\"} %" PRIu64 "\n", app, metrics_route_name(one->route), one->status, one->count);
  }
}

static void write_times(const AppRow *row, MetricsRoute route, Buf *out) {
  int timed = metrics_timed(route);
  const ServeMetrics *of = &row->of.serve;
  const char *name = row->app->name, *word = metrics_route_name(route);
  uint64_t so_far = 0;
  if (timed < 0 || !of->answers[timed]) return;
  for (unsigned i = 0; i < METRICS_BUCKETS; i++) {
    so_far += of->slower[timed][i];
    buf_add_format(out, "aup_http_request_duration_seconds_bucket{app=\"%s\",route=\"%s\",le=\"%g\"} %" PRIu64 "\n", name, word, METRICS_BOUNDS_US[i] / 1e6, so_far);
  }
  buf_add_format(out, "aup_http_request_duration_seconds_bucket{app=\"%s\",route=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, word, of->answers[timed]);
  buf_add_format(out, "aup_http_request_duration_seconds_sum{app=\"%s\",route=\"%s\"} %.6f\n", name, word, (double)of->took_us[timed] / 1e6);
  buf_add_format(out, "aup_http_request_duration_seconds_count{app=\"%s\",route=\"%s\"} %" PRIu64 "\n", name, word, of->answers[timed]);
}

static void write_requests(const Scrape *scrape, Buf *out) {
  family(out, "aup_http_requests_total", "counter", "Answers by route and status; app is empty for what is no app's, status 0 stands for rarer ones.");
  write_statuses("", &scrape->own, out);
  for (uint32_t i = 0; i < scrape->row_count; i++) write_statuses(scrape->rows[i].app->name, &scrape->rows[i].of.serve, out);
  family(out, "aup_http_request_duration_seconds", "histogram", "From the whole request to its answer.");
  for (uint32_t i = 0; i < scrape->row_count; i++) {
    for (MetricsRoute route = 0; route < ROUTE_COUNT; route++) write_times(&scrape->rows[i], route, out);
  }
  family(out, "aup_budget_refusals_total", "counter", "Requests that were refused since a budget of the app was used up.");
  for (uint32_t i = 0; i < scrape->row_count; i++) {
    for (MetricsBudget budget = 0; budget < BUDGET_COUNT; budget++)
      buf_add_format(out, "aup_budget_refusals_total{app=\"%s\",budget=\"%s\"} %" PRIu64 "\n", scrape->rows[i].app->name, metrics_budget_name(budget), scrape->rows[i].of.serve.refused[budget]);
  }
}

static void write_number(Buf *out, const char *name, const char *type, const char *help, double value) {
  family(out, name, type, help);
  buf_add_format(out, "%s %.17g\n", name, value);
}

static long resident_pages(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  if (file) fclose(file);
  return pages;
}

static void write_host(const Host *host, Buf *out) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  write_number(out, "aup_apps", "gauge", "Apps in this host.", host->app_count);
  write_number(out, "aup_connections", "gauge", "Open connections.", atomic_load(&host->connections));
  write_number(out, "aup_workers", "gauge", "Workers at most.", host->worker_count);
  write_number(out, "process_cpu_seconds_total", "counter", "CPU time of the process, user and system.",
               (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
  write_number(out, "process_resident_memory_bytes", "gauge", "Resident memory of the process.", (double)resident_pages() * (double)sysconf(_SC_PAGESIZE));
  family(out, "aup_build_info", "gauge", "The version, as a label.");
  buf_add_format(out, "aup_build_info{version=\"%s\"} 1\n", AUP_VERSION);
}

static void answer(Scrape *scrape) {
  Buf body;
  buf_init(&body, 0);
  write_host(scrape->host, &body);
  write_values(scrape, &body);
  write_requests(scrape, &body);
  if (body.failed || scrape->failed) serve_problem(scrape->conn, 503, "unavailable", "no memory for this request");
  else conn_respond(scrape->conn, &(ConnAnswer){.status = 200, .content_type = STR("text/plain; version=0.0.4; charset=utf-8"), .headers = STR("Cache-Control: no-store\r\n"), .body = buf_str(&body)});
  buf_free(&body);
}

// ---- the way of a scrape ------------------------------------------------------------------------------------

static void free_scrape(Scrape *scrape) {
  for (Scrape **link = &scrape->host->scrapes; *link; link = &(*link)->next) {
    if (*link != scrape) continue;
    *link = scrape->next;
    break;
  }
  for (uint32_t i = 0; i < scrape->row_count; i++) apps__drop(scrape->rows[i].app);
  mem_free(scrape->rows);
  mem_free(scrape);
}

static void end_at_control(Worker *control, Message *message) {
  Scrape *scrape = (Scrape *)message;
  (void)control;
  Conn *conn = scrape->conn;
  if (conn) answer(scrape);
  free_scrape(scrape);
}

static void arrive(Worker *worker, Message *message) {
  Scrape *scrape = (Scrape *)message;
  Host *host = scrape->host;
  gather(scrape, worker);
  do scrape->at++;
  while (scrape->at < host->worker_count && !host->workers[scrape->at].has_thread);
  bool over = scrape->at >= host->worker_count || worker->ended;
  if (over) scrape->message.run = end_at_control;
  worker__send(&host->workers[over ? 0 : scrape->at], &scrape->message);
}

void metrics__request(Worker *control, Conn *conn, const HttpRequest *request) {
  if (!admin__admits(control, conn, request)) return;
  Scrape *scrape = mem_alloc_zero(1, sizeof *scrape);
  if (!scrape) {
    serve_problem(conn, 503, "unavailable", "no memory for this request");
    return;
  }
  *scrape = (Scrape){.message = {.run = arrive}, .conn = conn, .host = control->host, .next = control->host->scrapes};
  control->host->scrapes = scrape;
  worker__send(control, &scrape->message);
}

bool metrics__forget(Worker *control, const Conn *conn) {
  for (Scrape *scrape = control->host->scrapes; scrape; scrape = scrape->next) {
    if (scrape->conn != conn) continue;
    scrape->conn = NULL;
    return true;
  }
  return false;
}

// Ready: no app is still being opened that was there when the host began, and the host is not on its way out.
void metrics__answer_ready(const Worker *control, Conn *conn) {
  const Host *host = control->host;
  uint32_t failed = 0;
  for (uint32_t i = 0; i < host->app_count; i++) failed += atomic_load_explicit(&host->apps[i]->state, memory_order_relaxed) == APP_FAILED;
  char words[96];
  if (control->stopping) snprintf(words, sizeof words, "stopping\n");
  else if (failed) snprintf(words, sizeof words, "%u of %u apps cannot be opened\n", failed, host->app_count);
  else snprintf(words, sizeof words, "ok\n");
  bool ready = !control->stopping && !failed;
  conn_respond(conn, &(ConnAnswer){.status = ready ? 200 : 503, .content_type = STR("text/plain"), .headers = STR("Cache-Control: no-store\r\n"), .body = str_from(words)});
}
