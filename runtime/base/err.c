// Names and words of errors come from err.def; the rest formats one line.
#include "runtime/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const NAMES[ERR_COUNT] = {
#define ERR(name, words) #name,
#include "runtime/base/err.def"
#undef ERR
};
static const char *const WORDS[ERR_COUNT] = {
#define ERR(name, words) words,
#include "runtime/base/err.def"
#undef ERR
};

const char *err_name(Err err) { return (unsigned)err < ERR_COUNT ? NAMES[err] : "UNKNOWN"; }
const char *err_words(Err err) { return (unsigned)err < ERR_COUNT ? WORDS[err] : "unknown error"; }

// Steps back from a cut in the middle of a UTF-8 character.
static void cut_at_character(char *text, size_t len) {
  while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) len--;
  text[len] = 0;
}

Err err_say(Err err, ErrText *out_text, const char *format, ...) {
  if (!out_text) return err;
  char line[ERR_TEXT_BYTES + 4];
  va_list args;
  va_start(args, format);
  int len = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (len >= ERR_TEXT_BYTES) cut_at_character(line, ERR_TEXT_BYTES - 1);
  memcpy(out_text->text, line, strlen(line) + 1);
  return err;
}

Err err_from_errno(int error_number) {
  switch (error_number) {
    case 0: return ERR_NONE;
    case ENOMEM: return ERR_MEMORY;
    case ENOENT: return ERR_NOT_FOUND;
    case EEXIST: case EADDRINUSE: return ERR_EXISTS;
    case EACCES: case EPERM: case EROFS: return ERR_PERMISSION;
    case ENOSPC: case EDQUOT: return ERR_FULL;
    case EAGAIN: case EINTR: return ERR_AGAIN;
    case EMFILE: case ENFILE: return ERR_LIMIT;
    default: return ERR_IO;
  }
}
