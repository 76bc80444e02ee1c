// What is noted about requests beside their answers, and shown: GET /metrics and /readyz, the access log.
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
// ---- notes.c
bool notes__begin(Worker *worker, Conn *conn, const HttpRequest *request);  // true: a browser asked beforehand (CORS), and is answered
void notes__answered(void *context, Conn *conn, const ConnAnswered *answered);  // ConnEvents.on_answered; context: the Worker
