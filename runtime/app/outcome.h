// How a call of an app ended, ready to be sent: JSON bytes or a problem. And who called.
//
// Owns:   texts live in the arena that came with the call.
// Thread: any.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/module/module.h"

// `subject` ptr NULL: nobody in particular. Roles are bits of module roles, from the token.
typedef struct AppCaller { Str subject; uint64_t roles; bool may_read, may_write, signed_in; } AppCaller;

typedef enum AppOutcomeKind {
  APP_DONE,         // `body` is the result as JSON; empty: it has none
  APP_REJECTED,     // `problem`, status 4xx
  APP_FAULT,        // `problem`, status 500 (or 503), with an id that stands in the log too
  APP_UNAVAILABLE,  // `problem`, status 503: nothing was changed, or (said in detail) the outcome is unknown
} AppOutcomeKind;

// RFC 9457's members; `code` is the error's name in the app.
typedef struct AppProblem {
  uint16_t status;
  Str code, detail;
  Str field;        // the one argument or field it is about, or empty
  Str data;         // the error's parameters as a JSON object, or empty
  Str id;           // of a fault
  uint16_t error;   // index into the module's errors; 0xFFFF: none of them
} AppProblem;

typedef struct AppOutcome {
  AppOutcomeKind kind;
  uint64_t commit;
  Str body;
  AppProblem problem;
} AppOutcome;
