// Numbers for Prometheus, and whether the host is well: GET /metrics and /readyz.
//
// Owns:   scrapes under way (of the host).
// Thread: the control's, but for what a scrape does at each worker.
// Errors: answered.
#pragma once
#include "runtime/app/app.h"
#include "runtime/serve/metrics.h"

typedef struct Worker Worker;

// What an app came to since the host began, over its sleeps.
typedef struct HostMetrics { ServeMetrics serve; AppCounts app; } HostMetrics;

void metrics__request(Worker *control, Conn *conn, const HttpRequest *request);
bool metrics__forget(Worker *control, const Conn *conn);
void metrics__answer_ready(const Worker *control, Conn *conn);
