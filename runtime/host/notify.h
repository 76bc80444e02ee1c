// What a service manager is told and what it hands over: readiness (sd_notify(3)) and listening sockets (sd_listen_fds(3)).
//
// By hand: each is a line over a socket and two numbers in the environment; libsystemd would bring itself and four libraries into
// every process.
//
// Owns:   nothing; a handed-over descriptor belongs to the caller.
// Thread: any; the environment is only read.
// Errors: telling cannot fail in a way that matters; a handed-over socket that is none to listen on is ERR_FORMAT.
#pragma once
#include "runtime/base/err.h"

void notify_manager(const char *state);  // "READY=1", "STOPPING=1", "RELOADING=1"; nothing without a manager
// The first handed-over socket, now non-blocking and closed on exec; -1: none was handed over.
MUST_USE Err notify_take_socket(int *out_fd, ErrText *out_text);
