// What this machine charges for the small things everything else is made of: a system call, a message over loopback, a
// hand-over to another thread, a miss of the cache. Prints {"name":…,"ns":[…]} for each, nanoseconds of wall time each.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/lib/bench.h"

enum { ROUNDS = 9, CHASE_SLOTS = 1 << 24 };

typedef struct Costs { int pair[2], epoll, ask, answer; uint32_t *chase; } Costs;

static void report(const char *name, uint32_t times, void (*work)(Costs *, uint32_t), Costs *costs) {
  printf("{\"name\":\"%s\",\"ns\":[", name);
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t start_ns = bench_now_ns();
    work(costs, times);
    printf("%s%.2f", round ? "," : "", (double)(bench_now_ns() - start_ns) / times);
  }
  printf("]}\n");
}

static void clock_reads(Costs *costs, uint32_t times) {
  (void)costs;
  while (times--) bench_now_ns();
}

static void system_calls(Costs *costs, uint32_t times) {
  (void)costs;
  while (times--) syscall(SYS_getppid);
}

static void loopback(Costs *costs, uint32_t times) {
  char bytes[128] = {0};
  while (times--)
    if (send(costs->pair[0], bytes, sizeof bytes, 0) < 0 || recv(costs->pair[1], bytes, sizeof bytes, 0) < 0) bench_fail("loopback");
}

static void empty_reads(Costs *costs, uint32_t times) {
  char bytes[128];
  while (times--)
    if (recv(costs->pair[1], bytes, sizeof bytes, MSG_DONTWAIT) >= 0) bench_fail("the socket is not empty");
}

static void empty_waits(Costs *costs, uint32_t times) {
  struct epoll_event event;
  while (times--) epoll_wait(costs->epoll, &event, 1, 0);
}

static void handovers(Costs *costs, uint32_t times) {
  eventfd_t value;
  while (times--)
    if (eventfd_write(costs->ask, 1) < 0 || eventfd_read(costs->answer, &value) < 0) bench_fail("eventfd");
}

static void *answer_all(void *context) {
  Costs *costs = context;
  eventfd_t value;
  for (;;)
    if (eventfd_read(costs->ask, &value) < 0 || eventfd_write(costs->answer, 1) < 0) bench_fail("eventfd");
}

// Each place says where to go next, all over 64 MiB, so nothing can be fetched ahead.
static void chase(Costs *costs, uint32_t times) {
  uint32_t at = 0;
  while (times--) at = costs->chase[at];
  if (at == CHASE_SLOTS) bench_fail("out of the ring");
}

static void make_chase(Costs *costs) {
  uint32_t *order = bench_alloc(CHASE_SLOTS * sizeof *order);
  costs->chase = bench_alloc(CHASE_SLOTS * sizeof *costs->chase);
  for (uint32_t i = 0; i < CHASE_SLOTS; i++) order[i] = i;
  bench_shuffle(&(BenchRandom){.state = 1}, order, CHASE_SLOTS);
  for (uint32_t i = 0; i < CHASE_SLOTS; i++) costs->chase[order[i]] = order[(i + 1) % CHASE_SLOTS];
  free(order);
}

static void make_pair(int *pair) {
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  if (bind(listener, (struct sockaddr *)&at, size) < 0 || listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&at, &size) < 0) bench_fail("listen");
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(pair[0], (struct sockaddr *)&at, size) < 0) bench_fail("connect");
  pair[1] = accept(listener, NULL, NULL);
  for (int i = 0; i < 2; i++) setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  close(listener);
}

int main(void) {
  Costs costs = {.epoll = epoll_create1(0), .ask = eventfd(0, 0), .answer = eventfd(0, 0)};
  make_pair(costs.pair);
  make_chase(&costs);
  epoll_ctl(costs.epoll, EPOLL_CTL_ADD, costs.pair[1], &(struct epoll_event){.events = EPOLLIN});
  pthread_t thread;
  if (pthread_create(&thread, NULL, answer_all, &costs)) bench_fail("no thread");
  report("reading the clock", 200000, clock_reads, &costs);
  report("a system call", 200000, system_calls, &costs);
  report("loopback TCP: send 128 bytes and receive them", 20000, loopback, &costs);
  report("loopback TCP: receive, nothing there", 50000, empty_reads, &costs);
  report("epoll_wait, nothing ready", 50000, empty_waits, &costs);
  report("to another thread and back (eventfd)", 10000, handovers, &costs);
  report("a cache miss (64 MiB, one after the other)", 1000000, chase, &costs);
  return 0;
}
