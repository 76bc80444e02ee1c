// Diagnostics are collected here and shown elsewhere. Two rules keep a list readable: an error that starts inside a
// region that recovery skipped is not the programmer's mistake but ours, so it is dropped; and a position gets one error.
#include "compiler/diag.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct DiagFacts { const char *name; DiagSeverity severity; const char *title, *explanation; } DiagFacts;

static const DiagFacts FACTS[] = {
#define DIAG(code, severity, title, explanation) {#code, SEVERITY_##severity, title, explanation},
#include "compiler/diag.def"
#undef DIAG
};
_Static_assert(countof(FACTS) == DIAG_CODE_COUNT, "one row a code");

const char *diag_code_name(DiagCode code) { assert(code < DIAG_CODE_COUNT); return FACTS[code].name; }
const char *diag_title(DiagCode code) { assert(code < DIAG_CODE_COUNT); return FACTS[code].title; }
const char *diag_explanation(DiagCode code) { assert(code < DIAG_CODE_COUNT); return FACTS[code].explanation; }
DiagSeverity diag_severity(DiagCode code) { assert(code < DIAG_CODE_COUNT); return FACTS[code].severity; }

bool diag_find_code(Str name, DiagCode *out_code) {
  for (size_t i = 0; i < countof(FACTS); i++) {
    if (!str_is(name, FACTS[i].name)) continue;
    *out_code = (DiagCode)i;
    return true;
  }
  return false;
}

void diag_init(DiagList *diags, Arena *arena) { *diags = (DiagList){.arena = arena}; }

static Str format_text(DiagList *diags, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int len = vsnprintf(NULL, 0, format, args);
  char *text = len < 0 ? NULL : arena_alloc(diags->arena, (size_t)len + 1);
  if (text) vsnprintf(text, (size_t)len + 1, format, again);
  else diags->failed = true;
  va_end(again);
  return text ? (Str){text, (size_t)len} : STR("");
}

static bool is_repeated(const DiagList *diags, Span span) {
  for (uint32_t i = 0; i < diags->poisoned_count; i++)
    if (span.start >= diags->poisoned[i].start && span.start < diags->poisoned[i].end) return true;
  for (uint32_t i = 0; i < diags->count; i++)
    if (diags->items[i]->severity == SEVERITY_ERROR && diags->items[i]->span.start == span.start) return true;
  return false;
}

// Where the next diagnostic goes: a kept one, or the spare.
static Diag *take_place(DiagList *diags, DiagSeverity severity, Span span) {
  diags->spare = (Diag){.span = span};
  if (severity == SEVERITY_ERROR) {
    if (is_repeated(diags, span)) return &diags->spare;
    if (diags->error_count == DIAG_ERRORS_MAX) { diags->errors_left_out++; return &diags->spare; }
  } else if (diags->warning_count == DIAG_WARNINGS_MAX) {
    return &diags->spare;
  }
  Diag *diag = ARENA_NEW(diags->arena, Diag);
  if (!diag) { diags->failed = true; return &diags->spare; }
  if (severity == SEVERITY_ERROR) diags->error_count++;
  else diags->warning_count++;
  diags->items[diags->count++] = diag;
  assert(diags->count == diags->error_count + diags->warning_count);
  return diag;
}

Diag *diag_add(DiagList *diags, DiagCode code, Span span, const char *format, ...) {
  assert(code < DIAG_CODE_COUNT && span.start <= span.end);
  Diag *diag = take_place(diags, FACTS[code].severity, span);
  diag->code = code;
  diag->severity = FACTS[code].severity;
  diag->span = span;
  if (diag == &diags->spare) return diag;
  va_list args;
  va_start(args, format);
  diag->message = format_text(diags, format, args);
  va_end(args);
  return diag;
}

void diag_label(DiagList *diags, Diag *diag, Span span, const char *format, ...) {
  if (diag == &diags->spare || diag->label_count == DIAG_LABELS_MAX) return;
  va_list args;
  va_start(args, format);
  diag->labels[diag->label_count++] = (DiagLabel){span, format_text(diags, format, args)};
  va_end(args);
}

void diag_note(DiagList *diags, Diag *diag, const char *format, ...) {
  if (diag == &diags->spare) return;
  va_list args;
  va_start(args, format);
  diag->note = format_text(diags, format, args);
  va_end(args);
}

void diag_help(DiagList *diags, Diag *diag, const char *format, ...) {
  if (diag == &diags->spare) return;
  va_list args;
  va_start(args, format);
  diag->help = format_text(diags, format, args);
  va_end(args);
}

void diag_fix(DiagList *diags, Diag *diag, Span span, Str replacement) {
  if (diag == &diags->spare) return;
  diag->fix_text = arena_copy(diags->arena, replacement);
  if (!diag->fix_text.ptr) { diags->failed = true; diag->fix_text = STR(""); return; }
  diag->has_fix = true;
  diag->fix_span = span;
}

void diag_poison(DiagList *diags, Span region) {
  if (diags->poisoned_count < DIAG_ERRORS_MAX) diags->poisoned[diags->poisoned_count++] = region;
}

bool diag_has_errors(const DiagList *diags) { return diags->failed || diags->error_count > 0; }

void diag_drop_errors_in(DiagList *diags, Span region) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < diags->count; i++) {
    Diag *diag = diags->items[i];
    bool is_dropped = diag->severity == SEVERITY_ERROR && diag->span.start >= region.start && diag->span.start < region.end;
    if (is_dropped) diags->error_count--;
    else diags->items[kept++] = diag;
  }
  diags->count = kept;
}

bool diag_has_error_in(const DiagList *diags, Span region) {
  for (uint32_t i = 0; i < diags->count; i++) {
    const Diag *diag = diags->items[i];
    if (diag->severity == SEVERITY_ERROR && diag->span.start >= region.start && diag->span.start < region.end) return true;
  }
  return false;
}

static bool comes_before(const Diag *a, const Diag *b) {
  if (a->span.start != b->span.start) return a->span.start < b->span.start;
  return a->code < b->code;
}

// Insertion: the list is short and nearly sorted.
void diag_sort(DiagList *diags) {
  for (uint32_t i = 1; i < diags->count; i++) {
    Diag *diag = diags->items[i];
    uint32_t at = i;
    for (; at > 0 && comes_before(diag, diags->items[at - 1]); at--) diags->items[at] = diags->items[at - 1];
    diags->items[at] = diag;
  }
}
