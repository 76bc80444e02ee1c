// What the requests for one app (or for the host itself) came to, counted where they are answered.
//
// Owns:   nothing.
// Thread: the loop's that answers.
// Errors: none.
// Limits: METRICS_STATUSES different statuses are told apart, more of them are counted together as status 0.
#pragma once
#include <stdint.h>

#include "runtime/net/conn.h"

// ROUTE(ID, "its name in the numbers")
#define METRICS_ROUTES(ROUTE) \
  ROUTE(OTHER, "other")       \
  ROUTE(VIEW, "view")         \
  ROUTE(INPUT, "input")       \
  ROUTE(STREAM, "stream")

// BUDGET(ID, "the flag that sets it")
#define METRICS_BUDGETS(BUDGET)  \
  BUDGET(RATE, "app-rate")       \
  BUDGET(STREAMS, "app-streams") \
  BUDGET(QUEUE, "app-queue")

#define ROUTE(id, name) ROUTE_##id,
typedef enum MetricsRoute { METRICS_ROUTES(ROUTE) ROUTE_COUNT } MetricsRoute;
#undef ROUTE
#define BUDGET(id, name) BUDGET_##id,
typedef enum MetricsBudget { METRICS_BUDGETS(BUDGET) BUDGET_COUNT } MetricsBudget;
#undef BUDGET

enum { METRICS_STATUSES = 16, METRICS_BUCKETS = 12, METRICS_TIMED = 2 };

typedef struct StatusCount { uint64_t count; uint16_t status; uint8_t route; } StatusCount;

typedef struct ServeMetrics {
  StatusCount statuses[METRICS_STATUSES];            // used ones first
  uint64_t slower[METRICS_TIMED][METRICS_BUCKETS];   // of views and inputs: answers that took up to the bucket's bound, and more than the one before
  uint64_t answers[METRICS_TIMED], took_us[METRICS_TIMED];
  uint64_t events, coalesced;                        // sent to streams, the second kind replaced before they left
  uint64_t refused[BUDGET_COUNT];                    // for want of a budget
} ServeMetrics;

extern const uint32_t METRICS_BOUNDS_US[METRICS_BUCKETS];
const char *metrics_route_name(MetricsRoute route);
const char *metrics_budget_name(MetricsBudget budget);
// Views and inputs are timed: their place in `slower`, or -1.
int metrics_timed(MetricsRoute route);
void metrics_count(ServeMetrics *metrics, const ConnAnswered *answered);
