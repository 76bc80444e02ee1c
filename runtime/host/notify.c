// The manager's address and the sockets come in the environment; both protocols are promised to stay as they are.
#include "runtime/host/notify.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

void notify_manager(const char *state) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t len = path ? strlen(path) : 0;
  if (len < 2 || len >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) return;
  memcpy(address.sun_path, path, len);
  if (path[0] == '@') address.sun_path[0] = 0;  // a name that is in no folder
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
  (void)sent;
  close(fd);
}

Err notify_take_socket(int *out_fd, ErrText *out_text) {
  const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
  *out_fd = -1;
  if (!pid || !count || strtol(pid, NULL, 10) != (long)getpid() || strtol(count, NULL, 10) < 1) return ERR_NONE;
  int listens = 0, flags = fcntl(FIRST_FD, F_GETFL);
  socklen_t len = sizeof listens;
  if (flags < 0 || getsockopt(FIRST_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0 || !listens)
    return err_say(ERR_FORMAT, out_text, "the service manager handed over descriptor %d, which is no socket to listen on", FIRST_FD);
  if (fcntl(FIRST_FD, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) != 0)
    return err_say(ERR_IO, out_text, "the handed-over socket cannot be used");
  *out_fd = FIRST_FD;
  return ERR_NONE;
}
