// Streams. A topic is a view with its arguments; all who follow it share one evaluation and one encoded event. When a
// commit is published each topic is evaluated, at most once a push interval, and an event goes out if the value is another
// one than before. A slow subscriber has its waiting event replaced by the connection, never queued.
//
// A topic remembers its arguments as they were written, so that it can be read again under another module.
#include "runtime/base/json.h"
#include "runtime/base/hash.h"
#include "runtime/base/mem.h"
#include "runtime/serve/serve_internal.h"
#include "runtime/value/codec.h"

typedef struct Subscriber Subscriber;
struct Subscriber {
  Held held;             // first
  Conn *conn;
  Topic *topic;
  Subscriber *next, **link;
};

struct Topic {
  Serve *serve;
  Str key;               // entry name, then the arguments as bytes
  Str name;              // the view's
  uint32_t round;        // of pushing, in which it was last told
  uint32_t generation;   // the module under which `entry` and `args` were read
  uint16_t entry;
  const ArgPair *pairs;
  uint32_t pair_count;
  Args args;
  Arena arena, args_arena;  // of the texts above; of `args`
  RefBuf *event;         // the last one; its data is the present value as far as is known
  size_t data_at;        // where the value begins in it
  uint64_t commit;       // the state it was read from
  Subscriber *subscribers;
  Topic *next;
};

// ---- topics -----------------------------------------------------------------------------------------

static uint32_t bucket_of(Str key) { return hash_of(key).bytes[0] % TOPIC_BUCKETS; }

// Equal arguments have equal bytes, however they were written. Fails only for want of memory.
static bool write_key(const Module *module, const EntryDef *entry, const Args *args, Buf *out) {
  buf_add_str(out, entry->name);
  buf_add_char(out, 0);
  varint_write(out, args->given);
  for (uint16_t i = 0; i < entry->param_count; i++) {
    if (args->given >> i & 1) value_encode(&module->schema.types, entry->params[i].type, args->values[i], out);
  }
  return !out->failed;
}

static Topic *find_topic(Serve *serve, Str key) {
  Topic *topic = serve->buckets[bucket_of(key)];
  while (topic && !str_equal(topic->key, key)) topic = topic->next;
  return topic;
}

static void free_topic(Topic *topic) {
  refbuf_drop(topic->event);
  arena_free(&topic->arena);
  arena_free(&topic->args_arena);
  mem_free(topic);
}

static void remove_topic(Topic *topic) {
  Topic **link = &topic->serve->buckets[bucket_of(topic->key)];
  while (*link != topic) link = &(*link)->next;
  *link = topic->next;
  topic->serve->topic_count--;
  free_topic(topic);
}

static bool keep_pairs(Topic *topic, const ArgPair *pairs, uint32_t count) {
  ArgPair *kept = ARENA_ARRAY(&topic->arena, ArgPair, count + 1);
  if (!kept) return false;
  for (uint32_t i = 0; i < count; i++) {
    kept[i] = (ArgPair){arena_copy(&topic->arena, pairs[i].name), arena_copy(&topic->arena, pairs[i].value)};
    if (!kept[i].name.ptr || !kept[i].value.ptr) return false;
  }
  topic->pairs = kept;
  topic->pair_count = count;
  return true;
}

// Reads the topic's arguments under the app's module. False: it has no such view any more, or not these arguments.
static bool resolve_topic(Topic *topic) {
  const Module *module = app_module(topic->serve->app);
  int entry = module_find_entry(module, ENTRY_VIEW, topic->name);
  ValueProblems problems = {.arena = &topic->args_arena};
  if (entry < 0) return false;
  arena_reset(&topic->args_arena);
  topic->generation = topic->serve->generation;
  topic->entry = (uint16_t)entry;
  return args_read_pairs(module, &module->entries[entry], topic->pairs, topic->pair_count, &problems, &topic->args) == ERR_NONE;
}

static Topic *new_topic(Serve *serve, Str key, Str name, const ArgPair *pairs, uint32_t count) {
  Topic *topic = mem_alloc_zero(1, sizeof *topic);
  if (!topic) return NULL;
  topic->serve = serve;
  arena_init(&topic->arena, 0);
  arena_init(&topic->args_arena, 0);
  topic->key = arena_copy(&topic->arena, key);
  topic->name = arena_copy(&topic->arena, name);
  if (!topic->key.ptr || !topic->name.ptr || !keep_pairs(topic, pairs, count) || !resolve_topic(topic)) {
    free_topic(topic);
    return NULL;
  }
  Topic **bucket = &serve->buckets[bucket_of(key)];
  topic->next = *bucket;
  *bucket = topic;
  serve->topic_count++;
  return topic;
}

// ---- events -----------------------------------------------------------------------------------------

static RefBuf *make_event(uint64_t id, const char *type, Str data, size_t *out_data_at) {
  Buf bytes;
  buf_init(&bytes, 0);
  if (type) buf_add_format(&bytes, "event: %s\n", type);
  buf_add_format(&bytes, "id: %llu\ndata: ", (unsigned long long)id);
  *out_data_at = bytes.len;
  buf_add_str(&bytes, data);  // JSON has no line ends of its own, so that this is one line
  buf_add_text(&bytes, "\n\n");
  RefBuf *event = bytes.failed ? NULL : refbuf_copy(buf_str(&bytes));
  buf_free(&bytes);
  return event;
}

static Str event_data(const Topic *topic) {
  Str whole = refbuf_str(topic->event);
  return str_part(whole, topic->data_at, whole.len - 2);
}

typedef enum Evaluated { VALUE_SAME, VALUE_NEW, VALUE_REFUSED, VALUE_UNKNOWN } Evaluated;

// Brings topic->event up to the published state. REFUSED: the view rejects or is at fault; `outcome` says why.
static Evaluated evaluate(Topic *topic, Arena *arena, AppOutcome *outcome) {
  AppView view = {.entry = topic->entry, .given = topic->args.given, .args = topic->args.values, .caller = serve__caller(), .arena = arena};
  app_view(topic->serve->app, &view);
  *outcome = view.outcome;
  if (outcome->kind == APP_UNAVAILABLE) return VALUE_UNKNOWN;
  if (outcome->kind != APP_DONE) return VALUE_REFUSED;
  topic->commit = outcome->commit;
  if (topic->event && str_equal(event_data(topic), outcome->body)) return VALUE_SAME;
  size_t data_at;
  RefBuf *event = make_event(outcome->commit, NULL, outcome->body, &data_at);
  if (!event) return VALUE_UNKNOWN;
  refbuf_drop(topic->event);
  topic->event = event;
  topic->data_at = data_at;
  return VALUE_NEW;
}

// ---- subscribers ------------------------------------------------------------------------------------

static void subscribe(Topic *topic, Subscriber *subscriber) {
  subscriber->topic = topic;
  topic->serve->stream_count++;
  subscriber->next = topic->subscribers;
  subscriber->link = &topic->subscribers;
  if (subscriber->next) subscriber->next->link = &subscriber->next;
  topic->subscribers = subscriber;
}

static void unsubscribe(Subscriber *subscriber) {
  subscriber->topic->serve->stream_count--;
  *subscriber->link = subscriber->next;
  if (subscriber->next) subscriber->next->link = subscriber->link;
  mem_free(subscriber);
}

void serve__stream_closed(Held *held) {
  Subscriber *subscriber = (Subscriber *)held;
  Topic *topic = subscriber->topic;
  unsubscribe(subscriber);
  if (!topic->subscribers) remove_topic(topic);
}

// Tells everyone why there will be no more values, and ends. The subscribers go with their connections.
static void end_topic(Topic *topic, Str problem) {
  size_t unused;
  RefBuf *event = make_event(topic->commit, "error", problem, &unused);
  for (Subscriber *one = topic->subscribers; one;) {
    Subscriber *next = one->next;
    if (event) conn_stream_send(one->conn, event);
    conn_set_user(one->conn, NULL);
    conn_stream_end(one->conn);
    unsubscribe(one);
    one = next;
  }
  refbuf_drop(event);
  remove_topic(topic);
}

void serve_stop(Serve *serve, uint16_t status, const char *code, const char *detail) {
  AppOutcome outcome = {.problem = {.status = status, .code = str_from(code), .detail = str_from(detail)}};
  Buf problem;
  buf_init(&problem, 0);
  serve__write_outcome_problem(&outcome, &problem);
  for (uint32_t i = 0; i < TOPIC_BUCKETS; i++) {
    while (serve->buckets[i]) end_topic(serve->buckets[i], buf_str(&problem));
  }
  buf_free(&problem);
}

bool serve_is_quiet(const Serve *serve) { return serve->topic_count == 0 && serve->in_hand == 0; }

static void tell(const Serve *serve, Conn *conn, RefBuf *event) {
  bool replaced = conn_stream_send(conn, event);
  if (!serve->metrics) return;
  serve->metrics->events++;
  serve->metrics->coalesced += replaced;
}

static void tell_all(const Topic *topic) {
  for (const Subscriber *one = topic->subscribers; one; one = one->next) tell(topic->serve, one->conn, topic->event);
}

// The first event of a stream: how long to wait before connecting again, then the present value.
static RefBuf *first_event(const Topic *topic) {
  Buf bytes;
  buf_init(&bytes, 0);
  buf_add_format(&bytes, "retry: %d\n", SERVE_RETRY_MS);
  buf_add_str(&bytes, refbuf_str(topic->event));
  RefBuf *event = bytes.failed ? NULL : refbuf_copy(buf_str(&bytes));
  buf_free(&bytes);
  return event;
}

static void begin_stream(Serve *serve, Conn *conn, Topic *topic) {
  Subscriber *subscriber = mem_alloc_zero(1, sizeof *subscriber);
  if (!subscriber) {
    serve_problem(conn, 503, "unavailable", "no memory for a stream");
    if (!topic->subscribers) remove_topic(topic);
    return;
  }
  subscriber->held = (Held){.serve = serve, .kind = HELD_STREAM};
  subscriber->conn = conn;
  subscribe(topic, subscriber);
  conn_set_user(conn, &subscriber->held);
  ConnAnswer answer = {.status = 200, .content_type = STR("text/event-stream"),
                       .headers = STR("Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n")};
  RefBuf *first = first_event(topic);
  bool begun = conn_stream_begin(conn, &answer);
  if (begun) tell(serve, conn, first ? first : topic->event);
  refbuf_drop(first);
  if (begun) return;
  conn_set_user(conn, NULL);
  serve__stream_closed(&subscriber->held);
}

static Topic *topic_for(Serve *serve, uint16_t entry, const ArgPair *pairs, uint32_t count, const Args *args) {
  const Module *module = app_module(serve->app);
  Buf key;
  buf_init(&key, 0);
  bool written = write_key(module, &module->entries[entry], args, &key);
  Topic *topic = written ? find_topic(serve, buf_str(&key)) : NULL;
  if (written && !topic && serve->topic_count < SERVE_TOPICS_MAX) topic = new_topic(serve, buf_str(&key), module->entries[entry].name, pairs, count);
  buf_free(&key);
  return topic;
}

void serve__stream(Serve *serve, Conn *conn, uint16_t entry, const ArgPair *pairs, uint32_t count, const Args *args) {
  conn_set_label(conn, serve->metrics, ROUTE_STREAM);
  if (serve->stream_count >= (serve->limits.streams ? serve->limits.streams : SERVE_STREAMS_MAX)) {
    serve__note_refused(serve, BUDGET_STREAMS);
    serve__problem_with(conn, 429, "busy", "too many streams of this app are open (--app-streams)", STR("Retry-After: 5\r\n"));
    return;
  }
  Topic *topic = topic_for(serve, entry, pairs, count, args);
  if (!topic) {
    serve_problem(conn, 503, "busy", "too many different streams are open; try again later");
    return;
  }
  Arena arena;
  arena_init(&arena, 0);
  AppOutcome outcome = {0};
  Evaluated value = topic->event && topic->commit == app_commit(serve->app) ? VALUE_SAME : evaluate(topic, &arena, &outcome);
  if (value == VALUE_REFUSED || !topic->event) {
    serve__answer_outcome(conn, &outcome);
    if (!topic->subscribers) remove_topic(topic);
  } else {
    if (value == VALUE_NEW) tell_all(topic);
    begin_stream(serve, conn, topic);
  }
  arena_free(&arena);
}

// ---- after a commit ---------------------------------------------------------------------------------

static void push_topic(Topic *topic, Arena *arena) {
  AppOutcome outcome;
  if (topic->generation != topic->serve->generation && !resolve_topic(topic)) {
    outcome = (AppOutcome){.problem = {.status = 404, .code = STR("not_found"), .detail = STR("the app has no such view any more")}};
  } else {
    Evaluated value = evaluate(topic, arena, &outcome);
    if (value == VALUE_NEW) tell_all(topic);
    if (value != VALUE_REFUSED) return;
  }
  Buf problem;
  buf_init(&problem, 0);
  serve__write_outcome_problem(&outcome, &problem);
  end_topic(topic, buf_str(&problem));
  buf_free(&problem);
}

// A round tells all topics, for about SERVE_PUSH_US at a stretch, so that other apps have their turn.
static bool push_some(Serve *serve, Arena *arena) {
  const Clock *clock = loop_clock(serve->loop);
  int64_t until_us = clock_mono_us(clock) + SERVE_PUSH_US;
  for (; serve->push_at < TOPIC_BUCKETS; serve->push_at++) {
    for (Topic *topic = serve->buckets[serve->push_at], *next; topic; topic = next) {
      next = topic->next;
      if (topic->round == serve->push_round) continue;
      topic->round = serve->push_round;
      push_topic(topic, arena);
      arena_reset(arena);
      if (clock_mono_us(clock) >= until_us) return false;
    }
  }
  return true;
}

static void push_all(LoopTimer *timer) {
  Serve *serve = timer->ctx;
  Arena arena;
  arena_init(&arena, 0);
  if (serve->push_at == 0 || serve->push_at == TOPIC_BUCKETS) {  // else the round goes on
    serve->push_at = 0;
    serve->push_round++;
    serve->pushed_us = loop_now_us(serve->loop);
  }
  if (!push_some(serve, &arena)) loop_timer_start(serve->loop, timer, loop_now_us(serve->loop));
  else if (serve->push_again) serve_published(serve);
  arena_free(&arena);
}

void serve_published(Serve *serve) {
  bool within_round = serve->push_timer.running && serve->push_at > 0 && serve->push_at < TOPIC_BUCKETS;
  serve->push_again = within_round;  // topics told already have another value now
  if (serve->topic_count == 0 || serve->push_timer.running) return;
  int64_t due = serve->pushed_us + SERVE_PUSH_INTERVAL_MS * 1000, now = loop_now_us(serve->loop);
  loop_timer_start(serve->loop, &serve->push_timer, due > now ? due : now);
}

void serve__push_init(Serve *serve) {
  loop_timer_init(&serve->push_timer, push_all, serve);
  serve->pushed_us = INT64_MIN / 2;
}

void serve__push_free(Serve *serve) {
  if (serve->push_timer.running) loop_timer_stop(serve->loop, &serve->push_timer);
  for (uint32_t i = 0; i < TOPIC_BUCKETS; i++) {
    for (Topic *topic; (topic = serve->buckets[i]);) remove_topic(topic);
  }
}
