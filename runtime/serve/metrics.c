// Few statuses occur for an app, so a short list that is searched from its start finds the common ones first.
#include "runtime/serve/metrics.h"

#define ROUTE(id, name) name,
static const char *const ROUTES[] = {METRICS_ROUTES(ROUTE)};
#undef ROUTE
#define BUDGET(id, name) name,
static const char *const BUDGETS[] = {METRICS_BUDGETS(BUDGET)};
#undef BUDGET

const uint32_t METRICS_BOUNDS_US[METRICS_BUCKETS] = {100, 250, 500, 1000, 2500, 5000, 10000, 25000, 100000, 250000, 1000000, 5000000};

const char *metrics_route_name(MetricsRoute route) { return ROUTES[route]; }
const char *metrics_budget_name(MetricsBudget budget) { return BUDGETS[budget]; }
int metrics_timed(MetricsRoute route) { return route == ROUTE_VIEW ? 0 : route == ROUTE_INPUT ? 1 : -1; }

static void count_status(ServeMetrics *metrics, uint8_t route, uint16_t status) {
  for (unsigned i = 0; i < METRICS_STATUSES; i++) {
    StatusCount *one = &metrics->statuses[i];
    bool is_last = i == METRICS_STATUSES - 1;
    if (one->count && !is_last && (one->status != status || one->route != route)) continue;
    bool is_other = is_last && one->count && (one->status != status || one->route != route);
    *one = (StatusCount){one->count + 1, is_other ? 0 : status, is_other ? ROUTE_OTHER : route};
    return;
  }
}

void metrics_count(ServeMetrics *metrics, const ConnAnswered *answered) {
  count_status(metrics, answered->kind, answered->status);
  int timed = metrics_timed((MetricsRoute)answered->kind);
  if (timed < 0) return;
  metrics->answers[timed]++;
  metrics->took_us[timed] += answered->took_us;
  for (unsigned i = 0; i < METRICS_BUCKETS; i++) {
    if (answered->took_us > METRICS_BOUNDS_US[i]) continue;
    metrics->slower[timed][i]++;
    break;
  }
}
