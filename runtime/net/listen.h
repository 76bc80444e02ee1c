// Addresses to listen on, written as people write them: "127.0.0.1:8080", "[::1]:8080", ":8080" (every address of this
// machine, IPv6 and IPv4), port 0 for one that the system chooses. Numbers only: a name would need a resolver that blocks.
//
// Owns:   nothing; descriptors belong to the caller.
// Thread: any.
// Errors: one line that says what to do ("port 8080 is in use: choose another with --listen …").
#pragma once
#include <stdbool.h>

#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum { ADDRESS_TEXT_BYTES = 64, LISTEN_BACKLOG = 4096, LISTEN_TRIES = 25, LISTEN_TRY_AFTER_MS = 20 };

// A listening TCP socket: non-blocking, closed on exec, TCP_NODELAY handed on to its connections.
// ERR_FORMAT: the address is not in one of the forms. ERR_EXISTS: in use. ERR_PERMISSION, ERR_IO.
Err listen_on(Str address, int *out_fd, ErrText *out_text) MUST_USE;
// "127.0.0.1:8080" of the own side (`peer` false) or the other; "?" when there is none.
void listen_address_text(int fd, bool peer, char out_text[ADDRESS_TEXT_BYTES]);
// Whether only this machine can reach an address that listen_on takes.
bool listen_is_loopback(Str address);
