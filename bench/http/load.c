// Keep-alive HTTP/1.1 load over loopback: so many connections, each sending its next request as soon as it has its answer.
// One thread and one epoll, so that on a second core it is never slower than the servers it measures; its own CPU is
// printed, since a load that is busy all the time has measured itself.
//
// usage: load -p PORT -c CONNECTIONS -d SECONDS [-w WARM_SECONDS] -r "METHOD PATH [BODY]" [-H "Name: value"] [-P PID,…] [-l LABEL]
//             [-R "METHOD PATH [BODY]" -m PERCENT]   (a second request, sent for so many percent)
// A number is put in for "%d" in PATH: random, below -n N. Prints one line of JSON; latencies are in microseconds.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/lib/bench.h"

enum {
  HEAD_BYTES = 4096,
  NUMBERED = 256,  // requests written out beforehand, each with its random number
};

typedef struct Request { char *bytes; size_t len; } Request;

// One connection: what it sends, and how far it has read the answer. `left` is -1 until the head is whole.
typedef struct Connection {
  int fd, kind;
  const Request *request;
  size_t sent, got;
  int64_t left;
  bool chunked;
  uint64_t start_ns;
  char head[HEAD_BYTES];
} Connection;

typedef struct Options {
  int port, connections, percent, numbers;
  double seconds, warm_s;
  const char *requests[2], *header, *pids, *label;
} Options;

typedef struct Load {
  Options options;
  int epoll;
  bool measuring;
  BenchRandom random;
  Request requests[2][NUMBERED];
  BenchHistogram latency[2];  // in tenths of a microsecond
  uint64_t errors, refused, bytes;
} Load;

// ---- requests ---------------------------------------------------------------------------------
static Request write_request(const Options *options, const char *words, unsigned number) {
  char method[16], path[512], full[600];
  int body_at = 0;
  if (sscanf(words, "%15s %511s %n", method, path, &body_at) < 2) bench_fail("a request is \"METHOD PATH [BODY]\", not \"%s\"", words);
  const char *body = body_at ? words + body_at : "", *mark = strstr(path, "%d");
  if (mark) snprintf(full, sizeof full, "%.*s%u%s", (int)(mark - path), path, number, mark + 2);
  else snprintf(full, sizeof full, "%s", path);
  size_t size = 1024 + strlen(full) + strlen(options->header) + strlen(body);
  Request request = {.bytes = bench_alloc(size)};
  bool has_body = strcmp(method, "GET") != 0;
  int len = snprintf(request.bytes, size, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s%s", method, full, options->port, options->header,
                     *options->header ? "\r\n" : "");
  if (has_body) len += snprintf(request.bytes + len, size - (size_t)len, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
  len += snprintf(request.bytes + len, size - (size_t)len, "\r\n%s", has_body ? body : "");
  request.len = (size_t)len;
  return request;
}

// ---- connections ------------------------------------------------------------------------------
static int dial(int port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) bench_fail("connect to port %d: %s", port, strerror(errno));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

static void watch(Load *load, Connection *c, int how, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = c};
  epoll_ctl(load->epoll, how, c->fd, &event);
}

static void push(Load *load, Connection *c) {
  while (c->sent < c->request->len) {
    ssize_t sent = send(c->fd, c->request->bytes + c->sent, c->request->len - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EAGAIN) watch(load, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
      return;  // any other error shows when reading
    }
    c->sent += (size_t)sent;
  }
}

static void fire(Load *load, Connection *c) {
  c->kind = load->options.requests[1] && bench_random_below(&load->random, 100) < (uint64_t)load->options.percent;
  c->request = &load->requests[c->kind][bench_random_below(&load->random, NUMBERED)];
  c->sent = c->got = 0;
  c->left = -1;
  c->chunked = false;
  c->start_ns = bench_now_ns();
  push(load, c);
}

static void begin(Load *load, Connection *c) {
  c->fd = dial(load->options.port);
  watch(load, c, EPOLL_CTL_ADD, EPOLLIN);
  fire(load, c);
}

static void again(Load *load, Connection *c) {
  load->errors++;
  close(c->fd);
  begin(load, c);
}

static void answered(Load *load, Connection *c) {
  if (load->measuring) bench_histogram_add(&load->latency[c->kind], (bench_now_ns() - c->start_ns) / 100);
  fire(load, c);
}

// ---- answers ----------------------------------------------------------------------------------
// Reads the head's lines that say how long the body is. True when the head is whole.
static bool read_head(Load *load, Connection *c) {
  char *end = memmem(c->head, c->got, "\r\n\r\n", 4);
  if (!end) return false;
  if (c->head[9] != '2' && load->measuring && load->refused++ == 0) fprintf(stderr, "refused: %.*s\n", (int)c->got, c->head);
  int64_t body = 0;
  for (char *line = c->head; line && line < end; line = memchr(line, '\n', (size_t)(end + 2 - line))) {
    if (*line == '\n') line++;
    if ((line[0] | 32) == 'c' && !strncasecmp(line, "content-length:", 15)) body = strtoll(line + 15, NULL, 10);
    if ((line[0] | 32) == 't' && !strncasecmp(line, "transfer-encoding:", 18)) c->chunked = true;
  }
  c->left = body - ((int64_t)c->got - (end + 4 - c->head));
  return true;
}

// The end of a chunked body: only its last bytes are kept.
static void read_chunks(Load *load, Connection *c) {
  if (c->got >= 5 && memcmp(c->head + c->got - 5, "0\r\n\r\n", 5) == 0) {
    answered(load, c);
  } else if (c->got > HEAD_BYTES - 1024) {
    memmove(c->head, c->head + c->got - 8, 8);
    c->got = 8;
  }
}

static void pull(Load *load, Connection *c) {
  static char body[1 << 20];
  bool in_head = c->left < 0 || c->chunked;
  char *into = in_head ? c->head + c->got : body;
  size_t room = in_head ? HEAD_BYTES - 1 - c->got : sizeof body;
  ssize_t got = recv(c->fd, into, room, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    again(load, c);
    return;
  }
  if (load->measuring) load->bytes += (uint64_t)got;
  if (!in_head) {
    c->left -= got;
  } else {
    c->got += (size_t)got;
    if (c->left < 0 && !read_head(load, c)) return;
    if (c->chunked) {
      c->left = 0;
      read_chunks(load, c);
      return;
    }
  }
  if (c->left <= 0) answered(load, c);
}

// ---- the run ----------------------------------------------------------------------------------
static void turn(Load *load) {
  struct epoll_event events[256];
  int count = epoll_wait(load->epoll, events, 256, 100);
  for (int i = 0; i < count; i++) {
    Connection *c = events[i].data.ptr;
    if (events[i].events & EPOLLOUT) {
      push(load, c);
      if (c->sent == c->request->len) watch(load, c, EPOLL_CTL_MOD, EPOLLIN);
    }
    if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) pull(load, c);
  }
}

static void run_until(Load *load, uint64_t end_ns) {
  while (bench_now_ns() < end_ns) turn(load);
}

static double us(const BenchHistogram *latency, double part) { return (double)bench_histogram_at(latency, part) / 10; }

static void print(const Load *load, double elapsed_s, double server_s, double own_s) {
  const BenchHistogram *first = &load->latency[0], *second = &load->latency[1];
  double total = (double)(first->count + second->count);
  printf("{\"label\":\"%s\",\"connections\":%d,\"rate\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,",
         load->options.label, load->options.connections, total / elapsed_s, us(first, 0.5), us(first, 0.99), us(first, 0.999), (double)first->max / 10);
  if (load->options.requests[1])
    printf("\"second_rate\":%.1f,\"second_p50_us\":%.1f,\"second_p99_us\":%.1f,", (double)second->count / elapsed_s, us(second, 0.5), us(second, 0.99));
  printf("\"server_us\":%.3f,\"server_busy\":%.3f,\"load_busy\":%.3f,\"bytes_per_answer\":%.1f,\"errors\":%llu,\"refused\":%llu}\n",
         total > 0 ? server_s / total * 1e6 : 0, server_s / elapsed_s, own_s / elapsed_s, total > 0 ? (double)load->bytes / total : 0,
         (unsigned long long)load->errors, (unsigned long long)load->refused);
}

static void measure(Load *load) {
  Connection *connections = bench_alloc((size_t)load->options.connections * sizeof *connections);
  for (int i = 0; i < load->options.connections; i++) begin(load, &connections[i]);
  run_until(load, bench_now_ns() + (uint64_t)(load->options.warm_s * 1e9));
  load->measuring = true;
  uint64_t start_ns = bench_now_ns();
  double server_s = bench_process_cpu_s(load->options.pids), own_s = bench_cpu_s();
  run_until(load, start_ns + (uint64_t)(load->options.seconds * 1e9));
  double elapsed_s = (double)(bench_now_ns() - start_ns) / 1e9;
  print(load, elapsed_s, bench_process_cpu_s(load->options.pids) - server_s, bench_cpu_s() - own_s);
}

static Options read_options(int count, char **words) {
  Options options = {.connections = 64, .numbers = 10000, .seconds = 3, .warm_s = 0.4, .requests = {"GET /", NULL}, .header = "", .pids = "", .label = ""};
  int option;
  while ((option = getopt(count, words, "p:c:d:w:r:R:m:n:H:P:l:")) > 0) switch (option) {
      case 'p': options.port = (int)strtol(optarg, NULL, 10); break;
      case 'c': options.connections = (int)strtol(optarg, NULL, 10); break;
      case 'd': options.seconds = strtod(optarg, NULL); break;
      case 'w': options.warm_s = strtod(optarg, NULL); break;
      case 'r': options.requests[0] = optarg; break;
      case 'R': options.requests[1] = optarg; break;
      case 'm': options.percent = (int)strtol(optarg, NULL, 10); break;
      case 'n': options.numbers = (int)strtol(optarg, NULL, 10); break;
      case 'H': options.header = optarg; break;
      case 'P': options.pids = optarg; break;
      case 'l': options.label = optarg; break;
      default: bench_fail("the options stand on top of bench/http/load.c");
    }
  return options;
}

int main(int count, char **words) {
  Load *load = bench_alloc(sizeof *load);
  load->options = read_options(count, words);
  load->random.state = 12345;
  load->epoll = epoll_create1(0);
  for (int kind = 0; kind < 2 && load->options.requests[kind]; kind++)
    for (int i = 0; i < NUMBERED; i++)
      load->requests[kind][i] = write_request(&load->options, load->options.requests[kind], (unsigned)bench_random_below(&load->random, (uint64_t)load->options.numbers));
  measure(load);
  return 0;
}
