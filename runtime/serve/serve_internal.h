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
  RefBuf *description, *page;     // of the module as it is
  Pending *idle;                  // to be used again
  bool wants_turn;
  uint32_t in_hand;               // inputs on their way
  uint32_t generation;            // goes up with each swap
  Topic *buckets[TOPIC_BUCKETS];
  uint32_t topic_count;
  LoopTimer push_timer;
  int64_t pushed_us;              // when streams were last told
};

// What a connection's user pointer leads to: a request in hand or a subscriber of a stream.
typedef struct Held { Serve *serve; bool is_stream; } Held;

// An input on its way through the app.
struct Pending {
  Held held;                      // first
  Conn *conn;                     // NULL: died meanwhile
  AppInput input;
  Arena arena;
  Pending *next;                  // in `idle`
};

// Who calls. Without tokens everybody who reaches a loopback address may read and write.
AppCaller serve__caller(void);

// ---- problem.c
void serve__problem_with(Conn *conn, uint16_t status, const char *code, const char *detail, Str headers);
void serve__answer_outcome(Conn *conn, const AppOutcome *outcome);
void serve__answer_problems(Conn *conn, const ValueProblems *problems);
void serve__write_outcome_problem(const AppOutcome *outcome, Buf *out);

// ---- views.c
// Decodes the query's pairs into `arena` (copies). ERR_FORMAT: problems say why.
MUST_USE Err serve__read_pairs(Str query, Arena *arena, ValueProblems *problems, ArgPair **out_pairs, uint32_t *out_count);
void serve__view(Serve *serve, Conn *conn, const HttpRequest *request, Str name);
// ---- inputs.c
void serve__input(Serve *serve, Conn *conn, const HttpRequest *request, Str name);
void serve__input_closed(Pending *pending);
// ---- push.c
void serve__stream(Serve *serve, Conn *conn, uint16_t entry, const ArgPair *pairs, uint32_t count, const Args *args);
void serve__stream_closed(Held *held);
void serve__push_init(Serve *serve);
void serve__push_free(Serve *serve);
