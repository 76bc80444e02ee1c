// The least a server can do here for a durable counter: one thread, epoll, no parsing beyond what frames a request. It is
// the line our server is measured against; nothing that has types, rules, tables or many apps can be quicker on this kernel.
//
// usage: limit PORT DIRECTORY COMMIT
//   each    every POST appends 8 bytes and waits for its own fdatasync
//   turn    one fdatasync for all POSTs of a turn of the loop, on the loop's thread
//   thread  a second thread syncs what waits, all at once, while the loop goes on: the commit path of our server
// turn and thread write into a file that was filled before, so a sync writes no file size and no extents.
//
//   GET /views/small  64 bytes        GET /views/total  the count; with Accept: text/event-stream a stream of it
//   POST /inputs/add  adds one, answers once it is on disk, and tells the streams
// A request must come whole within INPUT_BYTES.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/lib/bench.h"

enum { INPUT_BYTES = 16384, WAITING_MAX = 65536, FILE_BYTES = 64 << 20, FILL_BYTES = 1 << 20 };

typedef enum CommitWay { COMMIT_EACH, COMMIT_TURN, COMMIT_THREAD } CommitWay;

typedef struct Client {
  int fd;
  size_t got, out_len, out_sent;
  char *in, *out;           // out: what the socket did not take
  struct Client *next;      // in the list of those to be used again
} Client;

typedef struct Waiting { Client *client; uint64_t value; } Waiting;

typedef struct Server {
  int epoll, listener, file, done_fd;
  CommitWay way;
  off_t at;                 // where the next record goes
  uint64_t total;
  char small[256];
  size_t small_len;
  Client *unused;
  Client **streams;
  size_t stream_count, stream_cap;
  Waiting batch[WAITING_MAX];
  uint32_t batch_count;
  // Between the loop and the sync thread, under the lock.
  pthread_mutex_t lock;
  pthread_cond_t wanted;
  Waiting todo[WAITING_MAX], done[WAITING_MAX];
  uint32_t todo_count, done_count;
} Server;

// ---- the file ---------------------------------------------------------------------------------
static int open_file(const char *dir, CommitWay way) {
  char path[512];
  snprintf(path, sizeof path, "%s/limit.log", dir);
  int fd = open(path, O_CREAT | O_RDWR | O_TRUNC | (way == COMMIT_EACH ? O_APPEND : 0), 0644);
  if (fd < 0) bench_fail("%s: %s", path, strerror(errno));
  if (way == COMMIT_EACH) return fd;
  char *zeros = bench_alloc(FILL_BYTES);
  for (off_t at = 0; at < FILE_BYTES; at += FILL_BYTES)
    if (pwrite(fd, zeros, FILL_BYTES, at) != FILL_BYTES) bench_fail("%s: cannot be filled", path);
  free(zeros);
  if (fsync(fd) < 0) bench_fail("%s: %s", path, strerror(errno));
  return fd;
}

static void save(Server *server, const void *bytes, size_t size) {
  if (server->at + (off_t)size > FILE_BYTES) server->at = 0;
  ssize_t written = server->way == COMMIT_EACH ? write(server->file, bytes, size) : pwrite(server->file, bytes, size, server->at);
  if (written != (ssize_t)size || fdatasync(server->file) < 0) bench_fail("the log cannot be written");
  server->at += (off_t)size;
}

static void save_batch(Server *server, const Waiting *batch, uint32_t count) {
  static uint64_t values[WAITING_MAX];
  for (uint32_t i = 0; i < count; i++) values[i] = batch[i].value;
  save(server, values, count * sizeof *values);
}

// ---- answers ----------------------------------------------------------------------------------
static void send_out(Server *server, Client *client, const char *bytes, size_t len) {
  size_t sent = 0;
  if (client->out_len == 0) {
    ssize_t now = send(client->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    sent = now > 0 ? (size_t)now : 0;
    if (sent == len) return;
  }
  client->out = realloc(client->out, client->out_len + len - sent);
  if (!client->out) bench_fail("no memory");
  memcpy(client->out + client->out_len, bytes + sent, len - sent);
  client->out_len += len - sent;
  epoll_ctl(server->epoll, EPOLL_CTL_MOD, client->fd, &(struct epoll_event){.events = EPOLLIN | EPOLLOUT, .data.ptr = client});
}

static void flush(Server *server, Client *client) {
  ssize_t now = send(client->fd, client->out + client->out_sent, client->out_len - client->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (now > 0) client->out_sent += (size_t)now;
  if (client->out_sent < client->out_len) return;
  free(client->out);
  client->out = NULL;
  client->out_len = client->out_sent = 0;
  epoll_ctl(server->epoll, EPOLL_CTL_MOD, client->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = client});
}

static size_t write_number(char *out, uint64_t number) {
  char digits[20];
  size_t count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  for (size_t i = 0; i < count; i++) out[i] = digits[count - 1 - i];
  return count;
}

static void answer_number(Server *server, Client *client, uint64_t number) {
  static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
  char digits[20], out[128];
  size_t count = write_number(digits, number), len = sizeof head - 1;
  memcpy(out, head, len);
  len += write_number(out + len, count);
  memcpy(out + len, "\r\n\r\n", 4);
  memcpy(out + len + 4, digits, count);
  send_out(server, client, out, len + 4 + count);
}

static void tell_streams(Server *server) {
  if (!server->stream_count) return;
  char event[64];
  int len = snprintf(event, sizeof event, "data: %llu\n\n", (unsigned long long)server->total);
  for (size_t i = 0; i < server->stream_count; i++) send_out(server, server->streams[i], event, (size_t)len);
}

static void open_stream(Server *server, Client *client) {
  char out[128];
  int len = snprintf(out, sizeof out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: %llu\n\n", (unsigned long long)server->total);
  if (server->stream_count == server->stream_cap) {
    server->stream_cap = server->stream_cap ? server->stream_cap * 2 : 1024;
    server->streams = realloc(server->streams, server->stream_cap * sizeof *server->streams);
    if (!server->streams) bench_fail("no memory");
  }
  server->streams[server->stream_count++] = client;
  free(client->in);  // a stream reads no more
  client->in = NULL;
  send_out(server, client, out, (size_t)len);
}

// ---- commits ----------------------------------------------------------------------------------
static void *sync_thread(void *context) {
  Server *server = context;
  static Waiting batch[WAITING_MAX];
  for (;;) {
    pthread_mutex_lock(&server->lock);
    while (!server->todo_count) pthread_cond_wait(&server->wanted, &server->lock);
    uint32_t count = server->todo_count;
    memcpy(batch, server->todo, count * sizeof *batch);
    server->todo_count = 0;
    pthread_mutex_unlock(&server->lock);
    save_batch(server, batch, count);
    pthread_mutex_lock(&server->lock);
    memcpy(server->done + server->done_count, batch, count * sizeof *batch);
    server->done_count += count;
    pthread_mutex_unlock(&server->lock);
    if (eventfd_write(server->done_fd, 1) < 0) bench_fail("eventfd");
  }
}

static void add(Server *server, Client *client) {
  Waiting waiting = {client, ++server->total};
  if (server->way == COMMIT_EACH) {
    save(server, &waiting.value, sizeof waiting.value);
    answer_number(server, client, waiting.value);
    tell_streams(server);
  } else if (server->batch_count < WAITING_MAX) {
    server->batch[server->batch_count++] = waiting;
  }
}

static void answer_batch(Server *server, const Waiting *batch, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) answer_number(server, batch[i].client, batch[i].value);
  tell_streams(server);
}

static void end_turn(Server *server) {
  uint32_t count = server->batch_count;
  if (!count) return;
  server->batch_count = 0;
  if (server->way == COMMIT_TURN) {
    save_batch(server, server->batch, count);
    answer_batch(server, server->batch, count);
    return;
  }
  pthread_mutex_lock(&server->lock);
  memcpy(server->todo + server->todo_count, server->batch, count * sizeof *server->batch);
  server->todo_count += count;
  pthread_mutex_unlock(&server->lock);
  pthread_cond_signal(&server->wanted);
}

static void take_done(Server *server) {
  static Waiting batch[WAITING_MAX];
  eventfd_t ignored;
  if (eventfd_read(server->done_fd, &ignored) < 0) return;
  pthread_mutex_lock(&server->lock);
  uint32_t count = server->done_count;
  memcpy(batch, server->done, count * sizeof *batch);
  server->done_count = 0;
  pthread_mutex_unlock(&server->lock);
  answer_batch(server, batch, count);
}

// ---- requests ---------------------------------------------------------------------------------
static bool starts(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

// Answers the whole request at the start of what came and says how long it is; 0: it is not whole yet.
static size_t handle(Server *server, Client *client) {
  client->in[client->got] = 0;
  char *end = strstr(client->in, "\r\n\r\n");
  if (!end) return 0;
  size_t len = (size_t)(end + 4 - client->in);
  *end = 0;
  const char *length = *client->in == 'P' ? strcasestr(client->in, "\r\ncontent-length:") : NULL;
  if (length) len += strtoul(length + 17, NULL, 10);
  bool is_stream = *client->in == 'G' && strstr(client->in, "text/event-stream");
  *end = '\r';
  if (client->got < len) return 0;
  if (starts(client->in, "POST /inputs/add ")) add(server, client);
  else if (is_stream) open_stream(server, client);
  else if (starts(client->in, "GET /views/total ")) answer_number(server, client, server->total);
  else if (starts(client->in, "GET /views/small ")) send_out(server, client, server->small, server->small_len);
  else send_out(server, client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 45);
  return len;
}

static void drop(Server *server, Client *client) {
  for (size_t i = 0; i < server->stream_count; i++)
    if (server->streams[i] == client) server->streams[i] = server->streams[--server->stream_count];
  close(client->fd);
  free(client->out);
  client->out = NULL;
  client->next = server->unused;
  server->unused = client;
}

static void read_client(Server *server, Client *client) {
  char nothing[64];
  ssize_t got = client->in ? recv(client->fd, client->in + client->got, INPUT_BYTES - 1 - client->got, MSG_DONTWAIT)
                           : recv(client->fd, nothing, sizeof nothing, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    drop(server, client);
    return;
  }
  client->got += client->in ? (size_t)got : 0;
  for (size_t used; client->in && client->got && (used = handle(server, client));) {
    client->got -= used;
    if (client->got && client->in) memmove(client->in, client->in + used, client->got);
  }
}

static void accept_all(Server *server) {
  for (int fd, one = 1; (fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    Client *client = server->unused;
    if (client) server->unused = client->next;
    else client = bench_alloc(sizeof *client);
    *client = (Client){.fd = fd, .in = client->in ? client->in : bench_alloc(INPUT_BYTES)};
    epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = client});
  }
}

static void serve(Server *server) {
  struct epoll_event events[512];
  for (;;) {
    int count = epoll_wait(server->epoll, events, 512, -1);
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == &server->listener) accept_all(server);
      else if (events[i].data.ptr == &server->done_fd) take_done(server);
      else {
        if (events[i].events & EPOLLOUT) flush(server, events[i].data.ptr);
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_client(server, events[i].data.ptr);
      }
    }
    end_turn(server);
  }
}

static int listen_on(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 16384) < 0) bench_fail("port %d: %s", port, strerror(errno));
  return fd;
}

int main(int count, char **words) {
  if (count != 4) bench_fail("usage: limit PORT DIRECTORY each|turn|thread");
  signal(SIGPIPE, SIG_IGN);
  Server *server = bench_alloc(sizeof *server);
  server->way = !strcmp(words[3], "each") ? COMMIT_EACH : !strcmp(words[3], "turn") ? COMMIT_TURN : COMMIT_THREAD;
  server->file = open_file(words[2], server->way);
  server->small_len = (size_t)snprintf(server->small, sizeof server->small,
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 66\r\n\r\n\"%064d\"", 0);
  server->listener = listen_on((int)strtol(words[1], NULL, 10));
  server->done_fd = eventfd(0, EFD_NONBLOCK);
  server->epoll = epoll_create1(0);
  epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &server->listener});
  epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->done_fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &server->done_fd});
  pthread_mutex_init(&server->lock, NULL);
  pthread_cond_init(&server->wanted, NULL);
  pthread_t thread;
  if (server->way == COMMIT_THREAD && pthread_create(&thread, NULL, sync_thread, server)) bench_fail("no thread");
  serve(server);
}
