// Errors are values. A function that can fail returns an Err; ERR_NONE (zero) is success. One that has something
// to tell the person takes an ErrText as its last parameter and fills it only when it fails.
//
// Owns:   nothing.
// Thread: any.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Err {
#define ERR(name, words) ERR_##name,
#include "runtime/base/err.def"
#undef ERR
  ERR_COUNT
} Err;

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define countof(array) (sizeof(array) / sizeof((array)[0]))

// Room for one line that says what went wrong, where, and how to mend it. Always ends in a zero byte.
enum { ERR_TEXT_BYTES = 512 };
typedef struct ErrText { char text[ERR_TEXT_BYTES]; } ErrText;

// The name in lower case ("not_found") and the words of an error. Static.
const char *err_name(Err err);
const char *err_words(Err err);

// Writes the line (cut at a whole UTF-8 character when too long) and returns `err`, so that a failing function
// ends in one statement. `out_text` may be NULL.
Err err_say(Err err, ErrText *out_text, const char *format, ...) PRINTF(3, 4);

// The error for an errno value of a file or socket call.
Err err_from_errno(int error_number);

// The one macro that hides a return: leaves the function with the error of `call`, if there is one.
#define TRY(call) \
  do { Err try_err_ = (call); if (try_err_ != ERR_NONE) return try_err_; } while (0)
