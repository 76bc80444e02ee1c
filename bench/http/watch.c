// Live readers: many subscribers of one server-sent-events stream and one writer who changes what it shows, on one thread.
// Tells how long a write takes until subscribers see it, what an event costs the server, and what a subscriber weighs.
//
// The stream shows a number that every write makes one greater. A subscriber has seen write k when it was sent a number of
// at least (the first one shown) + k: a server may leave out numbers that are old already, as ours does.
//
// usage: watch -p PORT -n SUBSCRIBERS -f WRITES_PER_SECOND -d SECONDS -s PATH -r PATH [-b BODY] [-P PID,…] [-l LABEL]
// Prints one line of JSON: `sent`: from sending a write to a subscriber's seeing it; `answered`: the same from its answer
// (0 when it was seen before); `last`: from the answer to the last subscriber's seeing it. In milliseconds.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/lib/bench.h"

enum { READ_BYTES = 65536, TAIL_BYTES = 128, SUBSCRIBE_S = 30, SETTLE_NS = 500000000 };

typedef struct Options {
  int port, subscribers;
  double rate, seconds;
  const char *stream, *write, *body, *pids, *label;
} Options;

typedef struct Subscriber {
  int fd;
  bool in_body;
  int64_t seen;               // -1: nothing yet
  size_t tail_len;
  char tail[TAIL_BYTES];      // the start of a line that has not come whole
} Subscriber;

typedef struct Write { uint64_t sent_ns, answered_ns, last_ns; int seen_by; } Write;

typedef struct Watch {
  Options options;
  int epoll, writer;
  Subscriber *subscribers;
  int subscribed, lost;
  int64_t base;               // the number shown before the first write; -1: not known yet
  Write *writes;              // from 1
  int64_t write_max, written, answered;
  uint64_t late, events;
  BenchHistogram since_sent, since_answer;  // in units of 10 µs
} Watch;

static int dial(int port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  for (int tries = 0; connect(fd, (struct sockaddr *)&to, sizeof to) < 0; tries++) {
    if (tries == 200) bench_fail("connect to port %d: %s", port, strerror(errno));
    usleep(10000);
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

// ---- what subscribers see ---------------------------------------------------------------------
static void note_write(Watch *watch, int64_t number, uint64_t now_ns) {
  Write *write = &watch->writes[number];
  bench_histogram_add(&watch->since_sent, (now_ns - write->sent_ns) / 10000);
  bool after_answer = number <= watch->answered && now_ns > write->answered_ns;
  bench_histogram_add(&watch->since_answer, after_answer ? (now_ns - write->answered_ns) / 10000 : 0);
  write->last_ns = now_ns;
  write->seen_by++;
}

static void see(Watch *watch, Subscriber *s, int64_t value, uint64_t now_ns) {
  if (watch->base < 0) watch->base = value;
  if (s->seen < 0) {
    s->seen = value;
    watch->subscribed++;
    return;
  }
  watch->events++;
  for (int64_t seen = s->seen + 1; seen <= value; seen++) {
    int64_t number = seen - watch->base;
    if (number >= 1 && number <= watch->written) note_write(watch, number, now_ns);
  }
  if (value > s->seen) s->seen = value;
}

static void keep_tail(Subscriber *s, const char *at, const char *end) {
  s->tail_len = (size_t)(end - at) < TAIL_BYTES ? (size_t)(end - at) : 0;
  memcpy(s->tail, at, s->tail_len);
}

// The whole lines of what has come; what is left is kept for the next time.
static void see_lines(Watch *watch, Subscriber *s, const char *at, const char *end) {
  uint64_t now_ns = bench_now_ns();
  for (const char *line_end; (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1)
    if (end - at > 5 && memcmp(at, "data:", 5) == 0) see(watch, s, strtoll(at + 5, NULL, 10), now_ns);
  keep_tail(s, at, end);
}

static void lose(Watch *watch, Subscriber *s) {
  watch->lost++;
  epoll_ctl(watch->epoll, EPOLL_CTL_DEL, s->fd, NULL);
}

static void read_subscriber(Watch *watch, Subscriber *s) {
  static char bytes[READ_BYTES + TAIL_BYTES + 1];
  memcpy(bytes, s->tail, s->tail_len);
  ssize_t got = recv(s->fd, bytes + s->tail_len, READ_BYTES, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    lose(watch, s);
    return;
  }
  char *start = bytes, *end = bytes + s->tail_len + got;
  *end = 0;
  if (!s->in_body) {
    if (s->tail_len == 0 && memcmp(bytes, "HTTP/1.1 200", 12) != 0) bench_fail("the stream was refused: %.60s", bytes);
    char *head_end = strstr(bytes, "\r\n\r\n");
    if (!head_end) {
      keep_tail(s, end - bytes < 3 ? bytes : end - 3, end);  // a head that comes in pieces: its end may be cut too
      return;
    }
    start = head_end + 4;
    s->in_body = true;
  }
  see_lines(watch, s, start, end);
}

// ---- the writer -------------------------------------------------------------------------------
static void send_write(Watch *watch) {
  char request[1024];
  const Options *options = &watch->options;
  int len = snprintf(request, sizeof request, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     options->write, options->port, strlen(options->body), options->body);
  watch->writes[++watch->written].sent_ns = bench_now_ns();
  if (send(watch->writer, request, (size_t)len, MSG_NOSIGNAL) != len) bench_fail("the writer's connection is gone");
}

static void read_writer(Watch *watch) {
  char answer[4096];
  ssize_t got = recv(watch->writer, answer, sizeof answer, MSG_DONTWAIT);
  if (got == 0) bench_fail("the server closed the writer's connection");
  if (got < 0 || watch->answered == watch->written) return;
  if (memcmp(answer, "HTTP/1.1 2", 10) != 0) bench_fail("a write was refused: %.60s", answer);
  watch->writes[watch->written].answered_ns = bench_now_ns();
  watch->answered = watch->written;
}

// ---- the run ----------------------------------------------------------------------------------
static void turn(Watch *watch, int wait_ms) {
  struct epoll_event events[1024];
  int count = epoll_wait(watch->epoll, events, 1024, wait_ms);
  for (int i = 0; i < count; i++)
    if (events[i].data.ptr) read_subscriber(watch, events[i].data.ptr);
    else read_writer(watch);
}

static void subscribe_all(Watch *watch) {
  char request[512];
  const Options *options = &watch->options;
  int len = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: text/event-stream\r\n\r\n", options->stream, options->port);
  for (int i = 0; i < options->subscribers; i++) {
    Subscriber *s = &watch->subscribers[i];
    *s = (Subscriber){.fd = dial(options->port), .seen = -1};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    epoll_ctl(watch->epoll, EPOLL_CTL_ADD, s->fd, &event);
    if (send(s->fd, request, (size_t)len, MSG_NOSIGNAL) != len) bench_fail("a subscriber's connection is gone");
    if (i % 50 == 49) turn(watch, 0);
  }
  uint64_t end_ns = bench_now_ns() + SUBSCRIBE_S * 1000000000ull;
  while (watch->subscribed < options->subscribers && bench_now_ns() < end_ns) turn(watch, 100);
  if (watch->subscribed < options->subscribers) bench_fail("only %d of %d subscribed", watch->subscribed, options->subscribers);
}

static void write_and_watch(Watch *watch) {
  uint64_t step_ns = (uint64_t)(1e9 / watch->options.rate), start_ns = bench_now_ns(), next_ns = start_ns + step_ns / 2;
  uint64_t end_ns = start_ns + (uint64_t)(watch->options.seconds * 1e9);
  for (uint64_t now_ns; (now_ns = bench_now_ns()) < end_ns + SETTLE_NS;) {
    bool waiting = watch->answered < watch->written;
    if (!waiting && now_ns >= next_ns && now_ns < end_ns && watch->written < watch->write_max) {
      send_write(watch);
      watch->late += now_ns > next_ns + step_ns;
      next_ns = next_ns + step_ns < now_ns ? now_ns : next_ns + step_ns;
      waiting = true;
    }
    turn(watch, waiting || now_ns >= end_ns ? 50 : next_ns > now_ns ? (int)((next_ns - now_ns) / 1000000) : 0);
  }
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Milliseconds from each write's answer to the last subscriber's seeing it: at the median and at 99%.
static void last_seen(const Watch *watch, double *out_p50, double *out_p99) {
  double *delays = bench_alloc((size_t)(watch->answered + 1) * sizeof *delays);
  int64_t count = 0;
  for (int64_t i = 1; i <= watch->answered; i++) {
    const Write *write = &watch->writes[i];
    if (write->seen_by == watch->options.subscribers)
      delays[count++] = write->last_ns > write->answered_ns ? (double)(write->last_ns - write->answered_ns) / 1e6 : 0;
  }
  qsort(delays, (size_t)count, sizeof *delays, compare);
  *out_p50 = count ? delays[count / 2] : 0;
  *out_p99 = count ? delays[count * 99 / 100] : 0;
  free(delays);
}

static double ms(const BenchHistogram *histogram, double part) { return (double)bench_histogram_at(histogram, part) / 100; }

static void print(const Watch *watch, double server_s, double own_busy, double rss_kib) {
  double last_p50, last_p99;
  last_seen(watch, &last_p50, &last_p99);
  printf("{\"label\":\"%s\",\"subscribers\":%d,\"rate\":%g,\"writes\":%lld,\"late\":%llu,\"events\":%llu,\"lost\":%d,", watch->options.label,
         watch->options.subscribers, watch->options.rate, (long long)watch->answered, (unsigned long long)watch->late, (unsigned long long)watch->events, watch->lost);
  printf("\"sent_p50_ms\":%.2f,\"sent_p99_ms\":%.2f,\"answered_p50_ms\":%.2f,\"answered_p99_ms\":%.2f,\"last_p50_ms\":%.2f,\"last_p99_ms\":%.2f,",
         ms(&watch->since_sent, 0.5), ms(&watch->since_sent, 0.99), ms(&watch->since_answer, 0.5), ms(&watch->since_answer, 0.99), last_p50, last_p99);
  printf("\"server_us\":%.3f,\"load_busy\":%.3f,\"kib_per_subscriber\":%.3f}\n", watch->events ? server_s / (double)watch->events * 1e6 : 0, own_busy,
         rss_kib / watch->options.subscribers);
}

static Options read_options(int count, char **words) {
  Options options = {.subscribers = 1000, .rate = 10, .seconds = 5, .stream = "/", .write = "/", .body = "{}", .pids = "", .label = ""};
  int option;
  while ((option = getopt(count, words, "p:n:f:d:s:r:b:P:l:")) > 0) switch (option) {
      case 'p': options.port = (int)strtol(optarg, NULL, 10); break;
      case 'n': options.subscribers = (int)strtol(optarg, NULL, 10); break;
      case 'f': options.rate = strtod(optarg, NULL); break;
      case 'd': options.seconds = strtod(optarg, NULL); break;
      case 's': options.stream = optarg; break;
      case 'r': options.write = optarg; break;
      case 'b': options.body = optarg; break;
      case 'P': options.pids = optarg; break;
      case 'l': options.label = optarg; break;
      default: bench_fail("the options stand on top of bench/http/watch.c");
    }
  if (options.subscribers < 1 || options.rate <= 0) bench_fail("subscribers and rate must be above zero");
  return options;
}

int main(int count, char **words) {
  Watch *watch = bench_alloc(sizeof *watch);
  watch->options = read_options(count, words);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){200000, 200000});
  watch->write_max = (int64_t)(watch->options.rate * watch->options.seconds) + 2;
  watch->writes = bench_alloc((size_t)(watch->write_max + 1) * sizeof *watch->writes);
  watch->subscribers = bench_alloc((size_t)watch->options.subscribers * sizeof *watch->subscribers);
  watch->base = -1;
  watch->epoll = epoll_create1(0);
  double before_kib = bench_process_kib(watch->options.pids, "Rss:");
  subscribe_all(watch);
  double rss_kib = bench_process_kib(watch->options.pids, "Rss:") - before_kib;
  watch->writer = dial(watch->options.port);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->writer, &event);
  double server_s = bench_process_cpu_s(watch->options.pids), own_s = bench_cpu_s();
  write_and_watch(watch);
  print(watch, bench_process_cpu_s(watch->options.pids) - server_s, (bench_cpu_s() - own_s) / (watch->options.seconds + SETTLE_NS / 1e9), rss_kib);
  return 0;
}
