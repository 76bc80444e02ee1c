// Inside the serve room.
//
// Owns:   see serve.h.
// Thread: the loop's.
// Errors: see serve.h.
#pragma once
#include "runtime/app/args.h"
#include "runtime/net/http_uri.h"
#include "runtime/net/http_write.h"
#include "runtime/serve/serve.h"

typedef struct Topic Topic;
typedef struct Pending Pending;

enum { TOPIC_BUCKETS = 256 };

struct Serve {
  Loop *loop;
  App *app;
  const Log *log;
  ServeMetrics *metrics;          // or NULL
  RefBuf *description, *page;     // of the module as it is
  Pending *idle;                  // to be used again
  struct Reading *idle_readings;
  bool wants_turn, push_again;
  ServeLimits limits;
  Str origins;                    // of pages that are welcome
  uint32_t stream_count;
  int64_t next_us;                // of a request at an even rate (the leaky bucket as a meter: GCRA)
  uint32_t in_hand;               // inputs and views on their way
  uint32_t generation;            // goes up with each swap
  Topic *buckets[TOPIC_BUCKETS];
  uint32_t topic_count;
  LoopTimer push_timer;
  int64_t pushed_us;              // when streams were last told
  uint32_t push_round, push_at;   // topics of this round are told up to this bucket
};

// What a connection's user pointer leads to: a request in hand or a subscriber of a stream.
typedef enum HeldKind { HELD_INPUT, HELD_VIEW, HELD_STREAM } HeldKind;
typedef struct Held { Serve *serve; HeldKind kind; } Held;

// An input on its way through the app.
struct Pending {
  Held held;                      // first
  Conn *conn;                     // NULL: died meanwhile
  AppInput input;
  Arena arena;
  Pending *next;                  // in `idle`
};

// What a reader's request asks of the form of its answer (RFC 9110, 12 and 13).
typedef struct Wanted { Str none_match; bool gzip; } Wanted;

// A view on its way through the app.
typedef struct Reading Reading;
struct Reading {
  Held held;                      // first
  Conn *conn;                     // NULL: died meanwhile
  AppView view;
  Wanted wanted;
  Arena arena;
  Reading *next;                  // in `idle_readings`
};

// Who calls. Without tokens everybody who reaches a loopback address may read and write.
AppCaller serve__caller(void);

static inline void serve__note_refused(const Serve *serve, MetricsBudget budget) {
  if (serve->metrics) serve->metrics->refused[budget]++;
}

// ---- problem.c
void serve__problem_with(Conn *conn, uint16_t status, const char *code, const char *detail, Str headers);
void serve__answer_outcome(Conn *conn, const AppOutcome *outcome);
void serve__answer_problems(Conn *conn, const ValueProblems *problems);
void serve__write_outcome_problem(const AppOutcome *outcome, Buf *out);

// ---- negotiate.c
// False: answered (406). none_match points into the request.
bool serve__read_wanted(Conn *conn, const HttpRequest *request, Str type, Wanted *out_wanted);
// 200 with the body, packed if that is wanted, or 304 when the reader has it already.
void serve__answer_body(Conn *conn, const Wanted *wanted, Str type, Str headers, Str body);
// ---- views.c
// Decodes the query's pairs into `arena` (copies). ERR_FORMAT: problems say why.
MUST_USE Err serve__read_pairs(Str query, Arena *arena, ValueProblems *problems, ArgPair **out_pairs, uint32_t *out_count);
void serve__view(Serve *serve, Conn *conn, const HttpRequest *request, Str name);
void serve__view_closed(Reading *reading);
void serve__free_readings(Serve *serve);
// ---- inputs.c
void serve__input(Serve *serve, Conn *conn, const HttpRequest *request, Str name);
void serve__input_closed(Pending *pending);
// ---- push.c
void serve__stream(Serve *serve, Conn *conn, uint16_t entry, const ArgPair *pairs, uint32_t count, const Args *args);
void serve__stream_closed(Held *held);
void serve__push_init(Serve *serve);
void serve__push_free(Serve *serve);
