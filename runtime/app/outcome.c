// Outcomes from what the machine says: results as JSON, rejections and faults as problems. Where the memory for the
// words runs out the outcome says so; it never lacks a status.
#include "runtime/base/json.h"
#include "runtime/base/rng.h"
#include "runtime/app/call.h"
#include "runtime/value/json_value.h"

static const struct { const char *name; uint16_t status; const char *message; } ERRORS[BUILTIN_ERROR_COUNT] = {
#define BUILTIN_ERROR(name, aup_name, status, message) {aup_name, status, message},
#include "runtime/module/errors.def"
#undef BUILTIN_ERROR
};
static const struct { const char *code, *words, *mend; } FAULTS[FAULT_KINDS] = {
#define FAULT(name, code, words, mend) {code, words, mend},
#include "runtime/module/faults.def"
#undef FAULT
};

void outcome_unavailable(AppOutcome *outcome, const char *detail) {
  *outcome = (AppOutcome){.kind = APP_UNAVAILABLE,
                          .problem = {.status = 503, .code = STR("unavailable"), .detail = str_from(detail), .error = UINT16_MAX}};
}

void outcome_reject(AppOutcome *outcome, BuiltinError error, Str field, const char *detail) {
  *outcome = (AppOutcome){.kind = APP_REJECTED,
                          .problem = {.status = ERRORS[error].status, .code = str_from(ERRORS[error].name),
                                      .detail = str_from(detail ? detail : ERRORS[error].message), .field = field, .error = error}};
}

// Moves what was written into the arena.
static bool take_bytes(Buf *buf, Arena *arena, Str *out) {
  bool whole = !buf->failed;
  *out = whole ? arena_copy(arena, buf_str(buf)) : (Str){0};
  buf_free(buf);
  return whole && out->ptr;
}

void outcome_done(AppOutcome *outcome, const Module *module, TypeId type, Value value, Arena *arena) {
  *outcome = (AppOutcome){.kind = APP_DONE};
  if (type == TYPE_NONE) return;
  Buf json;
  buf_init(&json, 0);
  value_write_json(&module->schema.types, type, value, &json);
  if (!take_bytes(&json, arena, &outcome->body)) outcome_unavailable(outcome, "no memory for the answer");
}

static void write_data(const Module *module, const ErrorDef *error, const Rejection *rejection, Buf *out) {
  JsonWriter writer = json_writer(out);
  json_write_object(&writer);
  for (uint16_t i = 0; i < rejection->count && i < error->field_count; i++) {
    json_write_key(&writer, error->fields[i].name);
    value_write_json(&module->schema.types, error->fields[i].type, rejection->values[i], out);
    writer.comma = true;
  }
  json_write_object_end(&writer);
}

void outcome_rejected(AppOutcome *outcome, const Module *module, const Rejection *rejection, Arena *arena) {
  const ErrorDef *error = &module->errors[rejection->error];
  AppProblem problem = {.status = error->status, .code = error->name, .error = rejection->error,
                        .field = rejection->field.len ? rejection->field : error->field};
  problem.detail = arena_copy(arena, rejection->message);
  problem.field = arena_copy(arena, problem.field);
  if (rejection->count) {
    Buf json;
    buf_init(&json, 0);
    write_data(module, error, rejection, &json);
    if (!take_bytes(&json, arena, &problem.data)) problem.data = (Str){0};
  }
  *outcome = (AppOutcome){.kind = APP_REJECTED, .problem = problem};
}

void outcome_fault(AppOutcome *outcome, const Module *module, const VmFault *fault, const Log *log, Arena *arena) {
  SourcePlace place = function_place(module, &module->functions[fault->function], fault->pc);
  Str id = arena_format(arena, "%016llx", (unsigned long long)rng_secret_u64());
  bool budget = fault->kind == FAULT_BUDGET;
  Str note = fault->note.len ? fault->note : str_from(FAULTS[fault->kind].words);
  LOG_EVENT(log, LOG_ERROR, "fault in the app", LOG_TEXT("app", module->name), LOG_TEXT("fault", str_from(FAULTS[fault->kind].code)),
            LOG_TEXT("id", id), LOG_TEXT("in", module->functions[fault->function].name), LOG_TEXT("file", place.file),
            LOG_INT("line", place.line), LOG_TEXT("why", note));
  Str file = place.file.len ? place.file : STR("?");
  Str detail = arena_format(arena, "%s (" STR_FMT ":%u)", FAULTS[fault->kind].words, STR_ARG(file), place.line);
  *outcome = (AppOutcome){.kind = APP_FAULT,
                          .problem = {.status = budget ? 503 : 500, .code = str_from(FAULTS[fault->kind].code), .detail = detail, .id = id, .error = UINT16_MAX}};
}
