#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/json.h"
#include "runtime/net/http.h"
#include "runtime/net/http_uri.h"
#include "runtime/net/http_write.h"

static HttpRequest request;

// The status that a head is refused with, 0 when it is taken, 1 when more is needed.
static unsigned read_status(Str bytes) {
  HttpRefusal refusal = {0, NULL};
  HttpRead read = http_read_head(bytes, &request, &refusal);
  if (read == HTTP_REFUSED) cr_assert(refusal.status >= 400 && refusal.reason);
  return read == HTTP_DONE ? 0 : read == HTTP_MORE ? 1 : refusal.status;
}

static unsigned status_with(const char *format, const char *line) {
  static char bytes[40000];
  snprintf(bytes, sizeof bytes, format, line);
  return read_status(str_from(bytes));
}

Test(http, reads_a_request_whole) {
  Str bytes = STR("\r\nPOST /inputs/add?x=1&y HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length:5\r\nA:  \t b c \t\r\nExpect: 100-Continue\r\n\r\n{\"a\"}");
  cr_assert_eq(read_status(bytes), 0);
  cr_assert_eq(request.method, HTTP_POST);
  cr_assert(str_is(request.method_text, "POST") && str_is(request.target, "/inputs/add?x=1&y") && str_is(request.path, "/inputs/add"));
  cr_assert(str_is(request.query, "x=1&y") && str_is(request.host, "localhost:8080") && request.minor == 1 && request.keep_alive);
  cr_assert(request.content_length == 5 && !request.chunked && request.expects_continue && request.field_count == 4);
  Str value;
  cr_assert(http_field(&request, STR("a"), &value) == 1 && str_is(value, "b c"));
  cr_assert_eq(http_field(&request, STR("b"), NULL), 0);
  cr_assert(str_is(str_part(bytes, request.head_bytes, bytes.len), "{\"a\"}"));
}

Test(http, knows_the_forms_of_a_target) {
  static const struct { const char *line; unsigned status; const char *path, *query, *host; } ROWS[] = {
    {"GET / HTTP/1.1", 0, "/", "", "h"}, {"GET /a%20b?c=%2e HTTP/1.1", 0, "/a%20b", "c=%2e", "h"}, {"GET http://x.y:8?z HTTP/1.1", 0, "/", "z", "x.y:8"},
    {"GET HTTPS://[::1]/p HTTP/1.0", 0, "/p", "", "[::1]"}, {"OPTIONS * HTTP/1.1", 0, "*", "", "h"}, {"GET /?a={\"b\":[1|2]} HTTP/1.1", 0, "/", "a={\"b\":[1|2]}", "h"},
    {"GET * HTTP/1.1", 400, 0, 0, 0}, {"GET a HTTP/1.1", 400, 0, 0, 0}, {"GET http:/// HTTP/1.1", 400, 0, 0, 0}, {"GET http://u@h/ HTTP/1.1", 400, 0, 0, 0},
    {"GET ftp://h/ HTTP/1.1", 400, 0, 0, 0}, {"GET /#f HTTP/1.1", 400, 0, 0, 0}, {"GET /\xC3\xA9 HTTP/1.1", 400, 0, 0, 0}, {"GET  / HTTP/1.1", 400, 0, 0, 0},
    {"GET /  HTTP/1.1", 400, 0, 0, 0}, {"GET / HTTP/1.1 ", 400, 0, 0, 0}, {"GET /\tHTTP/1.1", 400, 0, 0, 0}, {"GET /", 400, 0, 0, 0}, {" GET / HTTP/1.1", 400, 0, 0, 0},
    {"G=T / HTTP/1.1", 400, 0, 0, 0}, {"CONNECT h:1 HTTP/1.1", 501, 0, 0, 0}, {"GET / HTTP/2.0", 505, 0, 0, 0}, {"PRI * HTTP/2.0", 400, 0, 0, 0},
    {"GET / HTTP/1.2", 505, 0, 0, 0}, {"GET / HTTP/0.9", 505, 0, 0, 0}, {"GET / http/1.1", 400, 0, 0, 0}, {"GET / HTTP/1", 400, 0, 0, 0}, {"GET / HTTP/11.1", 400, 0, 0, 0},
    {"GET / ICE/1.0", 400, 0, 0, 0}, {"BREW /pot HTTP/1.1", 0, "/pot", "", "h"}, {"\x16\x03\x01", 400, 0, 0, 0},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    cr_expect_eq(status_with("%s\r\nHost: h\r\n\r\n", ROWS[i].line), ROWS[i].status, "%s", ROWS[i].line);
    if (!ROWS[i].status) cr_expect(str_is(request.path, ROWS[i].path) && str_is(request.query, ROWS[i].query) && str_is(request.host, ROWS[i].host), "%s", ROWS[i].line);
  }
}

Test(http, lengths_are_plain_digits_once) {
  static const struct { const char *lines; unsigned status; uint64_t length; } ROWS[] = {
    {"Content-Length: 5", 0, 5}, {"Content-Length:\t 5 \t", 0, 5}, {"content-length: 010", 0, 10}, {"Content-Length: 0", 0, 0},
    {"Content-Length: 18446744073709551615", 0, UINT64_MAX}, {"Content-Length: 18446744073709551616", 400, 0}, {"Content-Length: +5", 400, 0},
    {"Content-Length: -5", 400, 0}, {"Content-Length: 5,5", 400, 0}, {"Content-Length: 5,10", 400, 0}, {"Content-Length: 5, 5", 400, 0}, {"Content-Length: 0x10", 400, 0},
    {"Content-Length: 1_0", 400, 0}, {"Content-Length:", 400, 0}, {"Content-Length: ", 400, 0}, {"Content-Length: 5 5", 400, 0}, {"Content-Length: 5\r\nContent-Length: 5", 400, 0},
    {"Content-Length: 5.0", 400, 0}, {"Content-Length: five", 400, 0}, {"Content-Length : 5", 400, 0}, {"Content Length: 5", 400, 0}, {"Content-Length\t: 5", 400, 0},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    cr_expect_eq(status_with("POST / HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n", ROWS[i].lines), ROWS[i].status, "%s", ROWS[i].lines);
    if (!ROWS[i].status) cr_expect_eq(request.content_length, ROWS[i].length, "%s", ROWS[i].lines);
  }
}

Test(http, codings_are_chunked_once_and_never_beside_a_length) {
  static const struct { const char *lines; unsigned status; } ROWS[] = {
    {"Transfer-Encoding: chunked", 0}, {"transfer-encoding: CHUNKED", 0}, {"Transfer-Encoding: chunked\r\nContent-Length: 5", 400},
    {"Content-Length: 5\r\nTransfer-Encoding: chunked", 400}, {"Content-Length: 0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive", 400},
    {"Transfer-Encoding: gzip, chunked", 501}, {"Transfer-Encoding: chunked, gzip", 400}, {"Transfer-Encoding: chunked, chunked", 400}, {"Transfer-Encoding: gzip", 400},
    {"Transfer-Encoding: identity", 400}, {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400}, {"Transfer-Encoding:", 400}, {"Transfer-Encoding: xchunked", 400},
    {"Transfer-Encoding: \"chunked\"", 400}, {"Transfer-Encoding: chunked;q=1", 400}, {"Transfer-Encoding:\x0b" "chunked", 400}, {"Transfer-Encoding : chunked", 400},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    cr_expect_eq(status_with("POST / HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n", ROWS[i].lines), ROWS[i].status, "%s", ROWS[i].lines);
  }
  cr_expect(status_with("POST / HTTP/1.1\r\n%s\r\n\r\n", "Transfer-Encoding: chunked") == 0 && request.chunked);
  cr_expect_eq(status_with("POST / HTTP/1.0\r\n%s\r\n\r\n", "Transfer-Encoding: chunked"), 400);
}

Test(http, connection_tokens_have_no_case_and_come_in_lists) {
  static const struct { const char *version, *lines; bool keep_alive; } ROWS[] = {
    {"1.1", "A: b", true}, {"1.1", "Connection: Keep-Alive", true}, {"1.1", "Connection: close", false}, {"1.1", "Connection: CLOSE", false}, {"1.1", "Connection: close, x", false},
    {"1.1", "Connection: x ,Close", false}, {"1.1", "Connection: x-custom", true}, {"1.1", "Connection: closed", true}, {"1.1", "Connection: keep-alive, close", false},
    {"1.1", "Connection: keep-alive\r\nConnection: close", false}, {"1.0", "A: b", false}, {"1.0", "Connection: keep-alive", true}, {"1.0", "Connection: KEEP-ALIVE", true},
    {"1.0", "Connection: Keep-Alive, x", true}, {"1.0", "Connection: close", false}, {"1.0", "Connection: keep-alive, close", false}, {"1.0", "Connection: x-custom", false},
    {"1.0", "Connection: ,, ,keep-alive,,", true},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    char bytes[200];
    snprintf(bytes, sizeof bytes, "GET / HTTP/%s\r\nHost: h\r\n%s\r\n\r\n", ROWS[i].version, ROWS[i].lines);
    cr_assert_eq(read_status(str_from(bytes)), 0);
    cr_expect_eq(request.keep_alive, ROWS[i].keep_alive, "%s %s", ROWS[i].version, ROWS[i].lines);
  }
}

Test(http, fields_are_read_strictly) {
  static const struct { Str lines; unsigned status; } ROWS[] = {
    {STR("A: b\r\n c"), 400}, {STR("A: b\r\n\tc"), 400}, {STR("A: b\rc"), 400}, {STR("A: b\nB: c"), 400}, {STR("A: b\0c"), 400}, {STR("A: b\x7F"), 400}, {STR("A: \x01"), 400},
    {STR("A : b"), 400}, {STR(": b"), 400}, {STR("A"), 400}, {STR("A\0: b"), 400}, {STR("\xC3\xA9: b"), 400}, {STR("A(: b"), 400}, {STR("A: \xC3\xA9\xFF \t!~"), 0}, {STR("A:"), 0},
    {STR("A: 1234567\x7F"), 400}, {STR("A: 12345678\x1F"), 400}, {STR("A: 1234567\xFF\t9012345678"), 0}, {STR("A: 123\r4567890"), 400}, {STR("!#$%&'*+-.^_`|~09aZ: x"), 0},
    {STR("Expect: 100-continue"), 0}, {STR("Expect: tea"), 417},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Buf bytes;
    buf_init(&bytes, 0);
    buf_add_text(&bytes, "GET / HTTP/1.1\r\nHost: h\r\n");
    buf_add_str(&bytes, ROWS[i].lines);
    buf_add_text(&bytes, "\r\n\r\n");
    cr_expect_eq(read_status(buf_str(&bytes)), ROWS[i].status, "row %zu", i);
    buf_free(&bytes);
  }
}

Test(http, one_host_with_a_host_name) {
  static const struct { const char *version, *lines; bool fine; } ROWS[] = {
    {"1.1", "Host: a.b:80", true}, {"1.1", "Host: [::1]:80", true}, {"1.1", "Host:", true}, {"1.1", "A: b", false}, {"1.0", "A: b", true}, {"1.1", "Host: a\r\nHost: a", false},
    {"1.1", "Host: a/b", false}, {"1.1", "Host: a@b", false}, {"1.1", "Host: a, b", false}, {"1.0", "Host: a\r\nHost: b", false},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    char bytes[200];
    HttpRefusal refusal = {0, NULL};
    snprintf(bytes, sizeof bytes, "GET / HTTP/%s\r\n%s\r\n\r\n", ROWS[i].version, ROWS[i].lines);
    cr_assert_eq(read_status(str_from(bytes)), 0);
    cr_expect_eq(http_check_host(&request, &refusal), ROWS[i].fine, "%s %s", ROWS[i].version, ROWS[i].lines);
    cr_expect_eq(refusal.status, ROWS[i].fine ? 0 : 400);
  }
}

static Str filled(const char *before, size_t count, const char *after) {
  static char bytes[60000];
  size_t len = strlen(before);
  memcpy(bytes, before, len);
  memset(bytes + len, 'a', count);
  memcpy(bytes + len + count, after, strlen(after));
  return (Str){bytes, len + count + strlen(after)};
}

Test(http, every_limit_holds_at_its_edge) {
  cr_expect_eq(read_status(filled("GET /", HTTP_TARGET_BYTES_MAX - 1, " HTTP/1.1\r\n\r\n")), 0);
  cr_expect_eq(read_status(filled("GET /", HTTP_TARGET_BYTES_MAX, " HTTP/1.1\r\n\r\n")), 414);
  cr_expect_eq(read_status(filled("GET /", HTTP_TARGET_BYTES_MAX, "")), 414, "as soon as it is seen");
  size_t rest = sizeof "GET / HTTP/1.1\r\nA: \r\n\r\n" - 1;
  cr_expect_eq(read_status(filled("GET / HTTP/1.1\r\nA: ", HTTP_HEAD_BYTES_MAX - rest, "\r\n\r\n")), 0);
  cr_expect_eq(read_status(filled("GET / HTTP/1.1\r\nA: ", HTTP_HEAD_BYTES_MAX - rest + 1, "\r\n\r\n")), 431);
  cr_expect_eq(read_status(filled("GET / HTTP/1.1\r\nA: ", HTTP_HEAD_BYTES_MAX - rest, "\r\n")), 1);
  cr_expect_eq(read_status(filled("GET / HTTP/1.1\r\nA: ", 50000, "")), 431);
  cr_expect_eq(read_status(filled("", HTTP_METHOD_BYTES_MAX, " / HTTP/1.1\r\n\r\n")), 0);
  cr_expect_eq(read_status(filled("", HTTP_METHOD_BYTES_MAX + 1, " / HTTP/1.1\r\n\r\n")), 501);
  for (int count = HTTP_FIELDS_MAX - 1; count <= HTTP_FIELDS_MAX + 1; count++) {
    Buf bytes;
    buf_init(&bytes, 0);
    buf_add_text(&bytes, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < count; i++) buf_add_text(&bytes, "a: b\r\n");
    buf_add_text(&bytes, "\r\n");
    cr_expect_eq(read_status(buf_str(&bytes)), count <= HTTP_FIELDS_MAX ? 0 : 431, "%d", count);
    buf_free(&bytes);
  }
}

Test(http, paths_that_hide_something_are_refused) {
  static const char *const BAD[] = {"/%2e%2e/", "/..%2f", "/a/..", "/../a", "/./a", "/.", "/%2E", "/a/%2e./b", "/%c0%ae", "/%2fetc%2fpasswd", "/a%00b", "/a%5cb", "/%",
                                    "/%2", "/%zz", "/a%0d%0ab", "/%7f", "/%ff", "/%e2%82", "/%ed%a0%80", "a", ""};
  static const char *const GOOD[] = {"/", "/a/b", "//", "/a//b/", "/...", "/.a", "/a.", "/%252e%252e%252f", "/%C3%BC", "/%e2%82%acx", "/a%20b", "/..a/b..", "/%f0%9f%94%a5%41"};
  const char *reason;
  for (size_t i = 0; i < countof(BAD); i++) cr_expect_not(http_check_path(str_from(BAD[i]), &reason), "%s", BAD[i]);
  for (size_t i = 0; i < countof(GOOD); i++) cr_expect(http_check_path(str_from(GOOD[i]), &reason), "%s: %s", GOOD[i], reason);
  cr_expect_eq(read_status(STR("GET /a\\..\\b HTTP/1.1\r\n\r\n")), 400);
  char deep[2 * HTTP_PATH_SEGMENTS_MAX + 3];
  for (size_t i = 0; i < sizeof deep; i++) deep[i] = i % 2 ? 'a' : '/';
  cr_expect(http_check_path((Str){deep, 2 * HTTP_PATH_SEGMENTS_MAX}, &reason));
  cr_expect_not(http_check_path((Str){deep, 2 * HTTP_PATH_SEGMENTS_MAX + 1}, &reason));
}

Test(http, paths_and_queries_are_split_and_decoded_once) {
  Arena arena;
  arena_init(&arena, 0);
  static const struct { const char *raw; bool plus; const char *text; } ROWS[] = {
    {"plain", true, "plain"}, {"a+b", true, "a b"}, {"a+b", false, "a+b"}, {"%252e", false, "%2e"}, {"%C3%BC%2f", false, "ü/"}, {"%2B", true, "+"}, {"", true, ""},
    {"%00", true, NULL}, {"%", true, NULL}, {"%4", true, NULL}, {"%4g", true, NULL}, {"%ff", true, NULL}, {"\xFF", true, NULL}, {"%E2%82", true, NULL},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Str text = STR("untouched");
    Err err = http_decode(str_from(ROWS[i].raw), ROWS[i].plus, &arena, &text);
    cr_expect_eq(err, ROWS[i].text ? ERR_NONE : ERR_FORMAT, "%s", ROWS[i].raw);
    cr_expect(str_is(text, ROWS[i].text ? ROWS[i].text : "untouched"), "%s", ROWS[i].raw);
  }
  Buf out;
  buf_init(&out, 0);
  Str rest = STR("/a//b%2F/"), segment, name, value;
  while (http_path_next(&rest, &segment)) buf_add_format(&out, "[" STR_FMT "]", STR_ARG(segment));
  rest = STR("&&a=1&b&=c&d==e&&f=%26&");
  while (http_query_next(&rest, &name, &value)) buf_add_format(&out, " " STR_FMT ":" STR_FMT, STR_ARG(name), STR_ARG(value));
  rest = STR("");
  cr_expect_not(http_query_next(&rest, &name, &value));
  cr_expect_not(http_path_next(&rest, &segment));
  http_add_encoded(&out, STR(" é/~"));
  cr_expect(str_is(buf_str(&out), "[a][][b%2F][] a:1 b: :c d:=e f:%26%20%C3%A9%2F~"), STR_FMT, STR_ARG(buf_str(&out)));
  buf_free(&out);
  arena_free(&arena);
}

Test(http, answers_cannot_be_split) {
  Buf out;
  buf_init(&out, 0);
  http_add_status_line(&out, 200);
  http_add_status_line(&out, 422);
  http_add_status_line(&out, 299);
  http_add_field(&out, STR("X"), STR("a\r\nSet-Cookie: b\0\x7F"));
  http_add_field_int(&out, STR("Content-Length"), 12);
  HttpDate date = {0};
  http_add_date(&out, &date, 784111777000000);
  http_add_date(&out, &date, 784111777999999);
  http_add_date(&out, &date, 784111778000000);
  cr_assert(str_is(buf_str(&out), "HTTP/1.1 200 OK\r\nHTTP/1.1 422 Unprocessable Content\r\nHTTP/1.1 299 Status\r\nX: a  Set-Cookie: b  \r\nContent-Length: 12\r\n"
                                  "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:49:38 GMT\r\n"),
            STR_FMT, STR_ARG(buf_str(&out)));
  buf_free(&out);
}

// ---- Chunks

// Decodes in pieces of `step` bytes; the status (0 whole, 1 more), the body in `out`, what was left over in *out_left.
static unsigned decode(Str bytes, size_t step, Buf *out, size_t *out_left) {
  HttpChunks chunks = http_chunks_new();
  buf_clear(out);
  for (size_t at = 0; at < bytes.len;) {
    size_t len = bytes.len - at < step ? bytes.len - at : step;
    char *piece = malloc(len);
    memcpy(piece, bytes.ptr + at, len);
    HttpRefusal refusal = {0, NULL};
    HttpRead read = http_chunks_decode(&chunks, piece, (uint32_t)len, &refusal);
    if (read != HTTP_REFUSED) buf_add(out, piece, chunks.produced);
    free(piece);
    if (read == HTTP_REFUSED) return refusal.status;
    at += chunks.consumed;
    *out_left = bytes.len - at;
    if (read == HTTP_DONE) return 0;
    cr_assert_eq(chunks.consumed, len);
  }
  return 1;
}

Test(http, chunks_are_read_strictly_wherever_they_are_cut) {
  static const struct { Str bytes; unsigned status; const char *body; size_t left; } ROWS[] = {
    {STR("5\r\nhello\r\n0\r\n\r\n"), 0, "hello", 0}, {STR("0\r\n\r\nGET /"), 0, "", 5}, {STR("a\r\n0123456789\r\n3;x=\"y\"\r\nabc\r\n00\r\nTrailer: yes\r\nB:\r\n\r\nX"), 0, "0123456789abc", 1},
    {STR("00000000000000A\r\n0123456789\r\n0\r\n\r\n"), 0, "0123456789", 0}, {STR("5\r\nhel"), 1, "hel", 0}, {STR("0\r\n"), 1, "", 0},
    {STR("0x1\r\na\r\n"), 400, 0, 0}, {STR("+1\r\na\r\n"), 400, 0, 0}, {STR("-1\r\n"), 400, 0, 0}, {STR("1_0\r\n"), 400, 0, 0}, {STR("\r\n"), 400, 0, 0}, {STR(";a\r\n"), 400, 0, 0},
    {STR("00000000000000000005\r\nhello"), 400, 0, 0}, {STR("FFFFFFFFFFFFFFFFFFFF\r\n"), 400, 0, 0}, {STR("1 ;a=b\r\na\r\n"), 400, 0, 0}, {STR(" 1\r\na\r\n"), 400, 0, 0}, {STR("1 \r\na\r\n"), 400, 0, 0},
    {STR("1\na\n0\n\n"), 400, 0, 0}, {STR("1\r\nab\r\n"), 400, 0, 0}, {STR("1\r\na\n"), 400, 0, 0}, {STR("1\r\na\r0"), 400, 0, 0}, {STR("1\rX"), 400, 0, 0}, {STR("1;a\nb\r\n"), 400, 0, 0}, {STR("1;\0\r\n"), 400, 0, 0},
    {STR("0\r\nA b\r\n\r\n"), 400, 0, 0}, {STR("0\r\n: b\r\n\r\n"), 400, 0, 0}, {STR("0\r\nA: b\n\r\n"), 400, 0, 0}, {STR("0\r\n x\r\n\r\n"), 400, 0, 0}, {STR("0\r\nA: b\r\n\rX"), 400, 0, 0}, {STR("g\r\n"), 400, 0, 0},
  };
  Buf out;
  buf_init(&out, 0);
  for (size_t i = 0; i < countof(ROWS); i++) {
    for (size_t step = 1; step <= ROWS[i].bytes.len; step++) {
      size_t left = 0;
      cr_expect_eq(decode(ROWS[i].bytes, step, &out, &left), ROWS[i].status, "row %zu in %zu", i, step);
      if (ROWS[i].status > 1) continue;
      cr_expect(str_is(buf_str(&out), ROWS[i].body), "row %zu in %zu", i, step);
      cr_expect_eq(left, ROWS[i].left, "row %zu in %zu", i, step);
    }
  }
  size_t left;
  cr_expect_eq(decode(filled("1;", HTTP_CHUNK_EXTENSION_BYTES_MAX, "\r\nb\r\n0\r\n\r\n"), 9, &out, &left), 0);
  cr_expect_eq(decode(filled("1;", HTTP_CHUNK_EXTENSION_BYTES_MAX + 1, "\r\nb\r\n0\r\n\r\n"), 9, &out, &left), 400);
  cr_expect_eq(decode(filled("1;", 10000, "\r\nb\r\n0\r\n\r\n"), 9, &out, &left), 400);
  cr_expect_eq(decode(filled("0\r\nA:", HTTP_TRAILER_BYTES_MAX - 6, "\r\n\r\n"), 99, &out, &left), 0);
  cr_expect_eq(decode(filled("0\r\nA:", HTTP_TRAILER_BYTES_MAX - 5, "\r\n\r\n"), 99, &out, &left), 400);
  buf_free(&out);
}

// ---- Every cut, before a page that cannot be read

Test(http, a_head_cut_anywhere_waits_for_more_and_never_reads_on) {
  static const Str HEADS[] = {
    STR("GET /views/total?by=5 HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: text/event-stream\r\nLast-Event-ID: 0123456789abcdef\r\n\r\n"),
    STR("\r\n\r\nPOST http://a.b/inputs/add HTTP/1.0\r\nContent-Length: 9\r\nConnection: keep-alive\r\nX:\r\n\r\n"),
  };
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert_neq(pages, MAP_FAILED);
  cr_assert_eq(mprotect(pages + page, page, PROT_NONE), 0);
  for (size_t i = 0; i < countof(HEADS); i++) {
    for (size_t len = 0; len <= HEADS[i].len; len++) {
      char *at = pages + page - len;
      memcpy(at, HEADS[i].ptr, len);
      cr_expect_eq(read_status((Str){at, len}), len < HEADS[i].len ? 1 : 0, "head %zu at %zu", i, len);
    }
  }
  munmap(pages, 2 * page);
}

// ---- The outside cases of github.com/nodejs/llhttp

// What a server makes of a whole input: true when it refused something, or had to pass over bytes behind the last request.
static bool is_refused(char *bytes, size_t len) {
  for (;;) {
    HttpRefusal refusal;
    HttpRead read = http_read_head((Str){bytes, len}, &request, &refusal);
    if (read != HTTP_DONE) return read == HTTP_REFUSED;
    bytes += request.head_bytes;
    len -= request.head_bytes;
    if (request.chunked) {
      HttpChunks chunks = http_chunks_new();
      read = http_chunks_decode(&chunks, bytes, (uint32_t)len, &refusal);
      if (read != HTTP_DONE) return read == HTTP_REFUSED;
      bytes += chunks.consumed;
      len -= chunks.consumed;
    } else {
      if (request.content_length > len) return false;
      bytes += request.content_length;
      len -= (size_t)request.content_length;
    }
    while (len && !request.keep_alive && (*bytes == '\r' || *bytes == '\n')) bytes++, len--;
    if (!request.keep_alive) return len > 0;
  }
}

typedef struct Case { Str title, type, error; char bytes[8192]; size_t len; } Case;

static void read_case(JsonReader *reader, Arena *arena, Case *c) {
  Str raw;
  while (json_next(reader) == JSON_KEY) {
    bool title = json_text_is(reader, STR("title")), type = json_text_is(reader, STR("type")), error = json_text_is(reader, STR("expect_error"));
    bool is_raw = json_text_is(reader, STR("raw_b64"));
    JsonEvent event = json_next(reader);
    Str text = STR("");
    if (event == JSON_TEXT) cr_assert_eq(json_text(reader, arena, &text), ERR_NONE);
    if (title) c->title = text;
    if (type) c->type = text;
    if (is_raw) cr_assert_eq(sodium_base642bin((uint8_t *)c->bytes, sizeof c->bytes, text.ptr, text.len, NULL, &c->len, NULL, sodium_base64_VARIANT_ORIGINAL), 0);
    cr_assert_eq(json_finish(reader, &raw), ERR_NONE);
    if (error) c->error = event == JSON_NULL ? STR("") : raw;
  }
}

// Where this server means to differ, with the reason.
static const char *difference(Str title) {
  static const struct { const char *title, *why; } ROWS[] = {
    {"HTTP protocol and ANNOUNCE method", "methods are for whoever answers to know"},
    {"Invalid method", "methods are for whoever answers to know"},
    {"M-SEARCH request", "only OPTIONS may have * as its target"},
    {"SOURCE request with ICE", "only HTTP is spoken here"},
    {"OPTIONS request with RTSP", "only HTTP is spoken here"},
    {"ANNOUNCE request with RTSP", "only HTTP is spoken here"},
    {"No HTTP version", "HTTP/0.9 is not spoken here"},
    {"POST with `chunked` as last transfer-encoding", "no coding but chunked is understood"},
    {"POST with `chunked` as last transfer-encoding (multiple headers)", "no coding but chunked is understood"},
    {"Fragment in URI", "a fragment is never sent (RFC 9112, 3.2)"},
    {"`host:port` and basic auth", "http addresses have no user (RFC 9110, 4.2.4)"},
  };
  for (size_t i = 0; i < countof(ROWS); i++) if (str_is(title, ROWS[i].title)) return ROWS[i].why;
  return NULL;
}

Test(http, takes_and_refuses_what_the_outside_cases_say) {
  const char *vectors = getenv("AUP_VECTORS");
  if (!vectors) cr_skip_test("AUP_VECTORS is not set");
  char path[400];
  snprintf(path, sizeof path, "%s/http-llhttp/request_cases.json", vectors);
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s", path);
  static char json[1 << 20];
  size_t len = fread(json, 1, sizeof json, file);
  fclose(file);
  Arena arena;
  arena_init(&arena, 0);
  JsonReader reader;
  json_open(&reader, (Str){json, len});
  cr_assert_eq(json_next(&reader), JSON_ARRAY);
  int seen = 0;
  while (json_next(&reader) == JSON_OBJECT) {
    static Case c;
    read_case(&reader, &arena, &c);
    if (!str_is(c.type, "request") || difference(c.title)) continue;
    size_t digit = 0;  // codes 21 to 23 are pauses before another protocol, and say nothing here
    while (digit < c.error.len && c.error.ptr[digit] != '"') digit++;
    if (c.error.len - digit > 3 && c.error.ptr[digit + 1] == '2' && c.error.ptr[digit + 3] == '"') continue;
    bool wanted = c.error.len > 0;
    seen++;
    static char copy[sizeof c.bytes + 4];
    memcpy(copy, c.bytes, c.len);
    bool refused = is_refused(copy, c.len);
    if (wanted && !refused) {  // some inputs stop in the middle of a line; here its end decides
      memcpy(copy, c.bytes, c.len);
      memcpy(copy + c.len, "\r\n\r\n", 4);
      refused = is_refused(copy, c.len + 4);
    }
    cr_expect_eq(refused, wanted, STR_FMT ": " STR_FMT "\n%.*s", STR_ARG(c.title), STR_ARG(c.error), (int)c.len, c.bytes);
  }
  cr_assert_eq(reader.event, JSON_ARRAY_END);
  cr_assert_geq(seen, 100);
  arena_free(&arena);
}
