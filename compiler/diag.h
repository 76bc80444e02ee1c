// Diagnostics: what the compiler has to say about a program, as data. render.h makes text of them.
//
// How to report: `Diag *d = diag_add(diags, DIAG_E101, span, "there is no `%.*s` here", STR_ARG(name))`, then
// `diag_label`, `diag_note`, `diag_help`, `diag_fix` on it. One cause, one fix: a message names what was found and what
// to do, never "invalid", "illegal" or "token".
// One mistake gives one message: an error that starts inside a region given to diag_poison, or where an error already
// stands, is dropped, as are all after DIAG_ERRORS_MAX; `d` is then a spare Diag that nobody sees, never NULL.
//
// Owns:   DiagList owns its texts (arena).
// Thread: one at a time.
// Errors: when there is no memory `failed` is set and the run counts as one with errors.
// Limits: DIAG_ERRORS_MAX errors, DIAG_WARNINGS_MAX warnings, DIAG_LABELS_MAX labels each.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "compiler/source.h"
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum { DIAG_ERRORS_MAX = 20, DIAG_WARNINGS_MAX = 100, DIAG_LABELS_MAX = 4 };

typedef enum DiagSeverity { SEVERITY_ERROR, SEVERITY_WARNING } DiagSeverity;

typedef enum DiagCode {
#define DIAG(code, severity, title, explanation) DIAG_##code,
#include "compiler/diag.def"
#undef DIAG
  DIAG_CODE_COUNT
} DiagCode;

typedef struct DiagLabel { Span span; Str text; } DiagLabel;

typedef struct Diag {
  DiagCode code;
  DiagSeverity severity;
  Span span;               // what is underlined with ^
  Str message;             // one sentence without a full stop
  Str note;                // why, in one sentence; may be empty
  Str help;                // what to do; may be empty
  DiagLabel labels[DIAG_LABELS_MAX];
  uint32_t label_count;
  bool has_fix;            // then replacing fix_span with fix_text mends it
  Span fix_span;
  Str fix_text;
} Diag;

typedef struct DiagList {
  Arena *arena;
  Diag *items[DIAG_ERRORS_MAX + DIAG_WARNINGS_MAX];  // sorted after diag_sort
  uint32_t count;
  uint32_t error_count;    // kept errors
  uint32_t errors_left_out;
  uint32_t warning_count;
  Span poisoned[DIAG_ERRORS_MAX];
  uint32_t poisoned_count;
  bool failed;
  Diag spare;
} DiagList;

void diag_init(DiagList *diags, Arena *arena);
Diag *diag_add(DiagList *diags, DiagCode code, Span span, const char *format, ...) PRINTF(4, 5);
void diag_label(DiagList *diags, Diag *diag, Span span, const char *format, ...) PRINTF(4, 5);  // beyond the limit: dropped
void diag_note(DiagList *diags, Diag *diag, const char *format, ...) PRINTF(3, 4);
void diag_help(DiagList *diags, Diag *diag, const char *format, ...) PRINTF(3, 4);
void diag_fix(DiagList *diags, Diag *diag, Span span, Str replacement);

// Errors that start in this region are results of one that is reported already.
void diag_poison(DiagList *diags, Span region);
// True once an error was reported (or memory ran out): the phase's result is not to be used.
bool diag_has_errors(const DiagList *diags);
// Takes back the errors that start in this region: what was just found explains them.
void diag_drop_errors_in(DiagList *diags, Span region);
// True when an error starts in the region.
bool diag_has_error_in(const DiagList *diags, Span region);
// No further error would be kept: a phase may stop.
static inline bool diag_is_full(const DiagList *diags) { return diags->failed || diags->error_count == DIAG_ERRORS_MAX; }
// By position, then code. Stable.
void diag_sort(DiagList *diags);

// "E101", and what `aup explain` prints. Static texts.
const char *diag_code_name(DiagCode code);
const char *diag_title(DiagCode code);
const char *diag_explanation(DiagCode code);
DiagSeverity diag_severity(DiagCode code);
// The code with this name ("E101"); false when there is none.
bool diag_find_code(Str name, DiagCode *out_code);
