// The form of an answer: is JSON welcome, does the reader have it already, may it be packed; and may a page of another site
// read it (the Fetch standard's CORS protocol).
//
// The ETag is a hash of the value, not the number of a commit: it stays the same when a commit changed something else, over a
// restart, a swap and a backup put back, and it is right for views that look at the clock or at the caller. The price is that a 304
// saves the sending, not the evaluation.
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "runtime/base/hash.h"
#include "runtime/base/mem.h"
#include "runtime/serve/serve_internal.h"

enum { GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 1, GZIP_MEMORY = 8, TAG_BYTES = 16, TAG_TEXT_BYTES = 2 * TAG_BYTES + 6 };

// The most specific range counts (RFC 9110, 12.5.1).
static bool accepts(const HttpRequest *request, Str type) {
  Str accept;
  if (!http_field(request, STR("accept"), &accept)) return true;
  const char *slash = memchr(type.ptr, '/', type.len);
  char range[32];
  size_t len = slash ? (size_t)(slash - type.ptr) + 1 : 0;
  if (!len || len + 1 > sizeof range) return true;
  memcpy(range, type.ptr, len);
  range[len] = '*';
  int weight = http_weight(accept, type);
  if (weight < 0) weight = http_weight(accept, (Str){range, len + 1});
  if (weight < 0) weight = http_weight(accept, STR("*/*"));
  return weight > 0;
}

static bool accepts_gzip(const HttpRequest *request) {
  Str accept;
  if (!http_field(request, STR("accept-encoding"), &accept)) return false;
  int weight = http_weight(accept, STR("gzip"));
  return weight > 0 || (weight < 0 && http_weight(accept, STR("*")) > 0);
}

bool serve__read_wanted(Conn *conn, const HttpRequest *request, Str type, Wanted *out_wanted) {
  *out_wanted = (Wanted){.gzip = accepts_gzip(request)};
  (void)http_field(request, STR("if-none-match"), &out_wanted->none_match);
  // "text/html; charset=…" is asked for by its first part.
  const char *semicolon = memchr(type.ptr, ';', type.len);
  if (semicolon) type = str_part(type, 0, (size_t)(semicolon - type.ptr));
  if (accepts(request, type)) return true;
  char words[96];
  snprintf(words, sizeof words, "this is given as " STR_FMT "; the request's Accept does not allow that", STR_ARG(type));
  serve_problem(conn, 406, "not_acceptable", words);
  return false;
}

static void write_tag(Str body, bool packed, char out[TAG_TEXT_BYTES]) {
  static const char HEX[] = "0123456789abcdef";
  Hash hash = hash_of(body);
  char *at = out;
  *at++ = '"';
  for (int i = 0; i < TAG_BYTES; i++) {
    *at++ = HEX[hash.bytes[i] >> 4];
    *at++ = HEX[hash.bytes[i] & 15];
  }
  memcpy(at, packed ? "-gz\"" : "\"", packed ? 5 : 2);
}

// Weak comparison, as If-None-Match asks for (RFC 9110, 13.1.2).
static bool matches(Str none_match, Str tag) {
  for (Str one; http_list_next(&none_match, &one);) {
    if (str_starts(one, STR("W/"))) one = str_part(one, 2, one.len);
    if (str_is(one, "*") || str_equal(one, tag)) return true;
  }
  return false;
}

static void *allocate(void *none, unsigned count, unsigned size) { return (void)none, mem_alloc_zero(count, size); }
static void give_back(void *none, void *block) { (void)none, mem_free(block); }

// False: no memory, or it does not get smaller.
static bool pack(Str body, Buf *out) {
  z_stream stream = {.zalloc = allocate, .zfree = give_back, .next_in = (Bytef *)(uintptr_t)body.ptr, .avail_in = (unsigned)body.len};
  if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) return false;
  char *room = buf_room(out, body.len);
  bool fits = room != NULL;
  stream.next_out = (Bytef *)room;
  stream.avail_out = (unsigned)body.len;
  bool done = fits && deflate(&stream, Z_FINISH) == Z_STREAM_END;
  if (done) out->len = stream.total_out;
  deflateEnd(&stream);
  return done;
}

void serve__answer_body(Conn *conn, const Wanted *wanted, Str type, Str headers, Str body) {
  Buf lines, packed;
  buf_init(&lines, 0);
  buf_init(&packed, 0);
  bool is_packed = wanted->gzip && body.len >= SERVE_GZIP_BYTES_MIN && body.len <= SERVE_GZIP_BYTES_MAX && pack(body, &packed);
  char tag[TAG_TEXT_BYTES];
  write_tag(body, is_packed, tag);
  buf_add_str(&lines, headers);
  http_add_field(&lines, STR("ETag"), str_from(tag));
  buf_add_str(&lines, STR("Vary: Accept, Accept-Encoding, Authorization\r\nCache-Control: private, no-cache\r\n"));
  bool has_it = matches(wanted->none_match, str_from(tag));
  if (is_packed && !has_it) buf_add_str(&lines, STR("Content-Encoding: gzip\r\n"));
  ConnAnswer answer = {.status = has_it ? 304 : 200, .headers = buf_str(&lines)};
  if (!has_it) {
    answer.content_type = type;
    answer.body = is_packed ? buf_str(&packed) : body;
  }
  conn_respond(conn, &answer);
  buf_free(&lines);
  buf_free(&packed);
}

// ---- pages of other sites ---------------------------------------------------------------------------

bool serve_cors_allows(Str origins, const HttpRequest *request, Str *out_origin) {
  if (!origins.len || http_field(request, STR("origin"), out_origin) != 1) return false;
  for (Str one; http_list_next(&origins, &one);) {
    if (str_equal(one, *out_origin)) return true;
  }
  return false;
}

void serve_add_cors(Str origin, Buf *headers) {
  http_add_field(headers, STR("Access-Control-Allow-Origin"), origin);
  buf_add_str(headers, STR("Vary: Origin\r\nAccess-Control-Expose-Headers: Aup-Commit, ETag, Retry-After, X-Request-Id\r\n"));
}

bool serve_is_preflight(const HttpRequest *request) {
  return request->method == HTTP_OPTIONS && http_field(request, STR("access-control-request-method"), NULL);
}

void serve_answer_preflight(Conn *conn) {
  conn_respond(conn, &(ConnAnswer){.status = 204, .headers = STR("Access-Control-Allow-Methods: GET, HEAD, POST, OPTIONS\r\n"
                                                                 "Access-Control-Allow-Headers: Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Aup-At-Least, X-Request-Id\r\n"
                                                                 "Access-Control-Max-Age: 600\r\n")});
}
