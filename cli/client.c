// Says what it wants, reads until the server closes, takes the answer apart.
#include "cli/client.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "runtime/net/http.h"

typedef struct Url { char host[256], port[8]; bool is_v6; } Url;

static Err read_url(const char *base, Url *out, ErrText *out_text) {
  const char *at = base;
  *out = (Url){.port = "80"};
  if (strncmp(at, "https://", 8) == 0) return err_say(ERR_FORMAT, out_text, "%s: hosts are administered over http, from their own machine or through a tunnel (ssh -L)", base);
  if (strncmp(at, "http://", 7) == 0) at += 7;
  out->is_v6 = *at == '[';
  const char *end = out->is_v6 ? strchr(at, ']') : at + strcspn(at, ":/");
  if (out->is_v6) at++;
  size_t len = end ? (size_t)(end - at) : 0;
  if (!len || len >= sizeof out->host) return err_say(ERR_FORMAT, out_text, "`%s` is no address of a host, as http://127.0.0.1:8080 is", base);
  memcpy(out->host, at, len);
  at = end + (out->is_v6 ? 1 : 0);
  if (*at == ':') {
    size_t digits = strspn(++at, "0123456789");
    if (!digits || digits >= sizeof out->port) return err_say(ERR_FORMAT, out_text, "`%s`: the port is no number", base);
    memcpy(out->port, at, digits);
    out->port[digits] = 0;
    at += digits;
  }
  return strcmp(at, "") == 0 || strcmp(at, "/") == 0 ? ERR_NONE : err_say(ERR_FORMAT, out_text, "`%s`: a host's address has no path", base);
}

static int connect_to(const Url *url) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *info = NULL;
  if (getaddrinfo(url->host, url->port, &hints, &info) != 0) return -1;
  int fd = -1;
  for (struct addrinfo *one = info; one && fd < 0; one = one->ai_next) {
    fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = CLIENT_TIMEOUT_S};
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) != 0) {
      int error_number = errno;
      close(fd);
      errno = error_number;
      fd = -1;
    }
  }
  freeaddrinfo(info);
  return fd;
}

static bool send_all(int fd, Str bytes) {
  while (bytes.len) {
    ssize_t sent = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = str_part(bytes, (size_t)sent, bytes.len);
  }
  return true;
}

static bool receive_all(int fd, Buf *out) {
  for (;;) {
    char *room = buf_room(out, 16384);
    if (!room) return false;
    ssize_t got = recv(fd, room, 16384, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return out->len > 0;  // a reset behind the answer to a body that was refused
    if (got == 0) return true;
    out->len += (size_t)got;
  }
}

static bool has_field(Str head, const char *field) {
  size_t len = strlen(field);
  for (size_t i = 0; i + len <= head.len; i++) {
    if (strncasecmp(head.ptr + i, field, len) == 0) return true;
  }
  return false;
}

static Err take_apart(const char *base, Answer *answer, ErrText *out_text) {
  Str all = buf_str(&answer->bytes);
  const char *end = all.len ? memmem(all.ptr, all.len, "\r\n\r\n", 4) : NULL;
  if (!end || all.len < 12 || strncmp(all.ptr, "HTTP/1.", 7) != 0) return err_say(ERR_FORMAT, out_text, "%s gave no HTTP answer", base);
  Str head = {all.ptr, (size_t)(end - all.ptr)};
  for (size_t i = 9; i < 12; i++) answer->status = answer->status * 10 + (unsigned)(all.ptr[i] - '0');
  answer->body = str_part(all, head.len + 4, all.len);
  if (!has_field(head, "\r\nTransfer-Encoding: chunked")) return ERR_NONE;
  HttpChunks chunks = http_chunks_new();
  HttpRefusal refusal;
  char *body = answer->bytes.ptr + head.len + 4;
  if (http_chunks_decode(&chunks, body, (uint32_t)answer->body.len, &refusal) != HTTP_DONE) return err_say(ERR_FORMAT, out_text, "%s gave an answer that is cut", base);
  answer->body.len = chunks.produced;
  return ERR_NONE;
}

static Err exchange(int fd, const char *base, Str head, Str body, Answer *answer, ErrText *out_text) {
  bool sent = send_all(fd, head) && send_all(fd, body);  // a refusal may come before all is sent
  if (!receive_all(fd, &answer->bytes) || (!sent && !answer->bytes.len)) return err_say(ERR_IO, out_text, "%s does not answer: %s", base, strerror(errno));
  return take_apart(base, answer, out_text);
}

Err client_ask(const char *method, const char *base, const char *path, Str body, Answer *out_answer, ErrText *out_text) {
  Url url;
  *out_answer = (Answer){0};
  buf_init(&out_answer->bytes, CLIENT_ANSWER_BYTES_MAX);
  TRY(read_url(base, &url, out_text));
  errno = 0;
  int fd = connect_to(&url);
  if (fd < 0) return err_say(ERR_NOT_FOUND, out_text, "%s cannot be reached: %s", base, errno ? strerror(errno) : "there is no such machine");
  Buf head;
  buf_init(&head, 0);
  buf_add_format(&head, "%s %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nConnection: close\r\nAccept: application/json\r\nContent-Length: %zu\r\n\r\n", method, path,
                 url.is_v6 ? "[" : "", url.host, url.is_v6 ? "]" : "", url.port, body.len);
  Err err = head.failed ? err_say(ERR_MEMORY, out_text, "no memory") : exchange(fd, base, buf_str(&head), body, out_answer, out_text);
  buf_free(&head);
  close(fd);
  if (err != ERR_NONE) client_free(out_answer);
  return err;
}

void client_free(Answer *answer) { buf_free(&answer->bytes); }
