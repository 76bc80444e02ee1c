// getaddrinfo does the reading of numbers, with every flag that could make it ask a server switched off.
#include "runtime/net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct Parts { char host[INET6_ADDRSTRLEN + 16]; char port[8]; } Parts;

// Splits HOST:PORT or [HOST]:PORT.
static bool split(Str address, Parts *out_parts) {
  size_t colon = address.len;
  while (colon > 0 && address.ptr[colon - 1] != ':') colon--;
  if (colon == 0) return false;
  Str host = str_part(address, 0, colon - 1), port = str_part(address, colon, address.len);
  if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']') host = str_part(host, 1, host.len - 1);
  else if (memchr(host.ptr, ':', host.len)) return false;  // an IPv6 address needs its brackets
  if (host.len >= sizeof out_parts->host || port.len == 0 || port.len > 5) return false;
  unsigned number = 0;
  for (size_t i = 0; i < port.len; i++) {
    if (port.ptr[i] < '0' || port.ptr[i] > '9') return false;
    number = number * 10 + (unsigned)(port.ptr[i] - '0');
  }
  if (number > UINT16_MAX) return false;
  memcpy(out_parts->host, host.ptr, host.len);
  out_parts->host[host.len] = 0;
  memcpy(out_parts->port, port.ptr, port.len);
  out_parts->port[port.len] = 0;
  return true;
}

static struct addrinfo *resolve(const Parts *parts) {
  struct addrinfo hints = {.ai_family = parts->host[0] ? AF_UNSPEC : AF_INET6, .ai_socktype = SOCK_STREAM,
                           .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
  struct addrinfo *info = NULL;
  return getaddrinfo(parts->host[0] ? parts->host : NULL, parts->port, &hints, &info) == 0 ? info : NULL;
}

static int open_socket(const struct addrinfo *info, bool any_family) {
  int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, off = 0;
  if (fd < 0) return -1;
  bool fine = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
  if (info->ai_family == AF_INET6) fine = fine && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, any_family ? &off : &on, sizeof on) == 0;
  if (fine && bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, LISTEN_BACKLOG) == 0) return fd;
  int error_number = errno;
  close(fd);
  errno = error_number;
  return -1;
}

// The kernel takes a killed process's ring apart a moment after the process is gone, and until then its listening socket is
// there: who is started again at once finds the port in use, and free a few milliseconds later.
static int open_patiently(const struct addrinfo *info, bool any_family) {
  int fd = open_socket(info, any_family);
  for (unsigned tries = 0; fd < 0 && errno == EADDRINUSE && tries < LISTEN_TRIES; tries++) {
    nanosleep(&(struct timespec){.tv_nsec = LISTEN_TRY_AFTER_MS * 1000000L}, NULL);
    fd = open_socket(info, any_family);
  }
  return fd;
}

static Err say_why(Str address, const char *port, int error_number, ErrText *out_text) {
  Err err = err_from_errno(error_number);
  switch (error_number) {
    case EADDRINUSE: return err_say(err, out_text, "port %s is in use: another program listens on " STR_FMT, port, STR_ARG(address));
    case EACCES: return err_say(err, out_text, "no permission to listen on port %s: ports below 1024 belong to the system", port);
    case EADDRNOTAVAIL: return err_say(err, out_text, "this machine has no address " STR_FMT, STR_ARG(address));
    default: return err_say(err, out_text, "cannot listen on " STR_FMT ": %s", STR_ARG(address), strerror(error_number));
  }
}

Err listen_on(Str address, int *out_fd, ErrText *out_text) {
  Parts parts;
  struct addrinfo *info = split(address, &parts) ? resolve(&parts) : NULL;
  if (!info) {
    return err_say(ERR_FORMAT, out_text, "\"" STR_FMT "\" is no address to listen on: write 127.0.0.1:8080, [::1]:8080 or :8080", STR_ARG(address));
  }
  int fd = open_patiently(info, !parts.host[0]);
  int error_number = errno;
  freeaddrinfo(info);
  if (fd < 0 && !parts.host[0] && error_number == EAFNOSUPPORT) {  // a machine without IPv6
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(parts.port, NULL, 10))};
    struct addrinfo four = {.ai_family = AF_INET, .ai_addr = (struct sockaddr *)&any, .ai_addrlen = sizeof any};
    fd = open_socket(&four, false);
    error_number = errno;
  }
  if (fd < 0) return say_why(address, parts.port, error_number, out_text);
  *out_fd = fd;
  return ERR_NONE;
}

bool listen_is_loopback(Str address) {
  Parts parts;
  struct in_addr four;
  struct in6_addr six;
  if (!split(address, &parts)) return false;
  if (inet_pton(AF_INET, parts.host, &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return inet_pton(AF_INET6, parts.host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

void listen_address_text(int fd, bool peer, char out_text[ADDRESS_TEXT_BYTES]) {
  struct sockaddr_storage address;
  socklen_t len = sizeof address;
  char host[INET6_ADDRSTRLEN] = "";
  int failed = peer ? getpeername(fd, (struct sockaddr *)&address, &len) : getsockname(fd, (struct sockaddr *)&address, &len);
  if (!failed && address.ss_family == AF_INET) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
    inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
    snprintf(out_text, ADDRESS_TEXT_BYTES, "%s:%u", host, ntohs(four->sin_port));
  } else if (!failed && address.ss_family == AF_INET6) {
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
    inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
    snprintf(out_text, ADDRESS_TEXT_BYTES, "[%s]:%u", host, ntohs(six->sin6_port));
  } else {
    snprintf(out_text, ADDRESS_TEXT_BYTES, "?");
  }
}
