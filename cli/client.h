// One HTTP request to a host, for the commands that administer it. Blocking.
//
// By hand: libcurl would cost each start of `aup` more than a compilation takes (it loads some forty libraries), for one request
// over a connection that is closed after it. Hosts behind TLS are reached through their proxy's machine or a tunnel.
//
// Owns:   an Answer owns its bytes until client_free.
// Thread: any.
// Errors: one line.
// Limits: CLIENT_ANSWER_BYTES_MAX; CLIENT_TIMEOUT_S without progress.
#pragma once
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

enum { CLIENT_ANSWER_BYTES_MAX = 16 << 20, CLIENT_TIMEOUT_S = 60 };

typedef struct Answer { Buf bytes; unsigned status; Str body; } Answer;

// `base` is "http://HOST[:PORT][/]", `path` begins with a slash.
MUST_USE Err client_ask(const char *method, const char *base, const char *path, Str body, Answer *out_answer, ErrText *out_text);
void client_free(Answer *answer);
