// Problems as RFC 9457 says, and answers from an app's outcomes.
#include "runtime/base/json.h"
#include "runtime/serve/serve_internal.h"

static const Str PROBLEM_TYPE = {"application/problem+json", sizeof "application/problem+json" - 1};

static void member(JsonWriter *w, const char *name, Str text) {
  if (!text.len) return;
  json_write_key(w, str_from(name));
  json_write_text(w, text);
}

static void begin_problem(JsonWriter *w, uint16_t status, Str code, Str detail) {
  json_write_object(w);
  member(w, "type", STR("about:blank"));
  member(w, "title", str_from(http_status_words(status)));
  json_write_key(w, STR("status"));
  json_write_int(w, status);
  member(w, "code", code);
  member(w, "detail", detail);
}

static void respond_problem(Conn *conn, uint16_t status, Buf *body, Str headers) {
  ConnAnswer answer = {.status = status, .content_type = PROBLEM_TYPE, .headers = headers};
  if (!body->failed) answer.body = buf_str(body);
  conn_respond(conn, &answer);
  buf_free(body);
}

void serve__problem_with(Conn *conn, uint16_t status, const char *code, const char *detail, Str headers) {
  Buf body;
  buf_init(&body, 0);
  JsonWriter w = json_writer(&body);
  begin_problem(&w, status, str_from(code), str_from(detail));
  json_write_object_end(&w);
  respond_problem(conn, status, &body, headers);
}

void serve_problem(Conn *conn, uint16_t status, const char *code, const char *detail) {
  serve__problem_with(conn, status, code, detail, (Str){0});
}

void serve_write_refusal(void *context, const HttpRefusal *refusal, Str *out_content_type, Buf *body) {
  (void)context;
  JsonWriter w = json_writer(body);
  begin_problem(&w, refusal->status, STR("bad_request"), str_from(refusal->reason));
  json_write_object_end(&w);
  *out_content_type = PROBLEM_TYPE;
}

void serve__write_outcome_problem(const AppOutcome *outcome, Buf *out) {
  const AppProblem *problem = &outcome->problem;
  JsonWriter w = json_writer(out);
  begin_problem(&w, problem->status, problem->code, problem->detail);
  member(&w, "field", problem->field);
  member(&w, "id", problem->id);
  if (problem->data.len) {
    json_write_key(&w, STR("data"));
    json_write_raw(&w, problem->data);
  }
  json_write_object_end(&w);
}

void serve__answer_problems(Conn *conn, const ValueProblems *problems) {
  Buf body, detail;
  buf_init(&body, 0);
  buf_init(&detail, 0);
  const ValueProblem *first = &problems->items[0];
  buf_add_format(&detail, STR_FMT "%s" STR_FMT, STR_ARG(first->path), first->path.len ? " " : "", STR_ARG(first->message));
  if (problems->count > 1) buf_add_format(&detail, " (and %u more)", problems->count - 1u);
  JsonWriter w = json_writer(&body);
  begin_problem(&w, 400, STR("bad_argument"), buf_str(&detail));
  member(&w, "field", first->path);
  json_write_key(&w, STR("errors"));
  json_write_array(&w);
  for (uint16_t i = 0; i < problems->count; i++) {
    json_write_object(&w);
    json_write_key(&w, STR("field"));
    json_write_text(&w, problems->items[i].path);
    member(&w, "detail", problems->items[i].message);
    json_write_object_end(&w);
  }
  json_write_array_end(&w);
  json_write_object_end(&w);
  buf_free(&detail);
  respond_problem(conn, 400, &body, (Str){0});
}

void serve__answer_outcome(Conn *conn, const AppOutcome *outcome) {
  Buf headers;
  buf_init(&headers, 0);
  if (outcome->commit) http_add_field_int(&headers, STR("Aup-Commit"), (int64_t)outcome->commit);
  if (outcome->kind == APP_UNAVAILABLE) http_add_field_int(&headers, STR("Retry-After"), 1);
  if (outcome->kind != APP_DONE) {
    Buf body;
    buf_init(&body, 0);
    serve__write_outcome_problem(outcome, &body);
    respond_problem(conn, outcome->problem.status, &body, buf_str(&headers));
  } else {
    ConnAnswer answer = {.status = outcome->body.len ? 200 : 204, .headers = buf_str(&headers), .body = outcome->body};
    if (outcome->body.len) answer.content_type = STR("application/json");
    conn_respond(conn, &answer);
  }
  buf_free(&headers);
}
