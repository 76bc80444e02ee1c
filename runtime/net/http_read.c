// The head is read in one pass from left to right. Characters are looked up in one table of classes; field values, the
// bulk of every head, are passed eight bytes a step.
//
// An incomplete head is read again from its start when more bytes came. That is quadratic in the number of packets, but
// bounded: reading 16 KiB takes about as long as the two system calls that brought the packet, and connections have a
// deadline. In return there is no state to get wrong.
#include "runtime/net/http.h"

#include <assert.h>

#include "runtime/net/http_uri.h"

enum { TOKEN = 1, TARGET = 2, VALUE = 4, HOST = 8 };  // classes of characters

#define ALPHA_NUMERIC \
  ['0' ... '9'] = TOKEN | TARGET | VALUE | HOST, ['A' ... 'Z'] = TOKEN | TARGET | VALUE | HOST, ['a' ... 'z'] = TOKEN | TARGET | VALUE | HOST

// TOKEN: RFC 9110, 5.6.2. TARGET: visible ASCII but "#" (a fragment is never sent); browsers leave some characters of a query
// unencoded that RFC 3986 would have encoded, and none of them can break the line; paths are checked again. VALUE: RFC 9110, 5.5, with tab and
// obs-text. HOST: registered names, addresses with their brackets, and a port.
static const uint8_t CLASS[256] = {
  ALPHA_NUMERIC, ['\t'] = VALUE, [' '] = VALUE, [0x80 ... 0xFF] = VALUE,
  ['!'] = TOKEN | TARGET | VALUE | HOST, ['"'] = TARGET | VALUE, ['#'] = TOKEN | VALUE, ['$'] = TOKEN | TARGET | VALUE | HOST,
  ['%'] = TOKEN | TARGET | VALUE | HOST, ['&'] = TOKEN | TARGET | VALUE | HOST, ['\''] = TOKEN | TARGET | VALUE | HOST,
  ['('] = TARGET | VALUE | HOST, [')'] = TARGET | VALUE | HOST, ['*'] = TOKEN | TARGET | VALUE | HOST, ['+'] = TOKEN | TARGET | VALUE | HOST,
  [','] = TARGET | VALUE, ['-'] = TOKEN | TARGET | VALUE | HOST, ['.'] = TOKEN | TARGET | VALUE | HOST, ['/'] = TARGET | VALUE,
  [':'] = TARGET | VALUE | HOST, [';'] = TARGET | VALUE | HOST, ['<'] = TARGET | VALUE, ['='] = TARGET | VALUE | HOST, ['>'] = TARGET | VALUE,
  ['?'] = TARGET | VALUE, ['@'] = TARGET | VALUE, ['['] = TARGET | VALUE | HOST, ['\\'] = TARGET | VALUE, [']'] = TARGET | VALUE | HOST,
  ['^'] = TOKEN | TARGET | VALUE, ['_'] = TOKEN | TARGET | VALUE | HOST, ['`'] = TOKEN | TARGET | VALUE, ['{'] = TARGET | VALUE,
  ['|'] = TOKEN | TARGET | VALUE, ['}'] = TARGET | VALUE, ['~'] = TOKEN | TARGET | VALUE | HOST,
};

static bool is(char c, uint8_t class) { return CLASS[(uint8_t)c] & class; }

typedef struct Reader {
  const char *at, *end;
  bool cut;              // `end` is where HTTP_HEAD_BYTES_MAX ends, not where the bytes end
  bool close, keep_alive, has_length, has_coding;  // what the fields so far said
  HttpRefusal *refusal;
} Reader;

static HttpRead refuse(Reader *r, uint16_t status, const char *reason) {
  *r->refusal = (HttpRefusal){status, reason};
  return HTTP_REFUSED;
}

// There are no more bytes here: wait for them, or the head is too long.
static HttpRead more(Reader *r) {
  return r->cut ? refuse(r, 431, "the request's head is longer than 16 KiB") : HTTP_MORE;
}

static const char *skip(const char *at, const char *end, uint8_t class) {
  while (at < end && is(*at, class)) at++;
  return at;
}

// Goes on over bytes of VALUE; bytes from 20 to 7E and from 80 need no table.
static const char *skip_value(const char *at, const char *end) {
  const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    uint64_t low = word & ~high;               // without obs-text
    uint64_t del = low ^ (ones * 0x7F);
    uint64_t controls = (ones * 0x1F + high - low) | ((del - ones) & ~del);  // bit 7: at most 1F, or 7F
    if ((controls & high & ~word)) break;
  }
  return skip(at, end, VALUE);
}

// CRLF, and nothing else, ends a line.
static HttpRead read_line_end(Reader *r) {
  if (r->at == r->end) return more(r);
  if (*r->at == '\n') return refuse(r, 400, "a line must end with CR LF");
  if (*r->at != '\r') return refuse(r, 400, "a header line has a character that it must not have");
  if (r->end - r->at < 2) return more(r);
  if (r->at[1] != '\n') return refuse(r, 400, "CR must be followed by LF");
  r->at += 2;
  return HTTP_DONE;
}

// ---- The request line

static HttpMethod method_of(Str text) {
  static const Str NAMES[] = {{"GET", 3}, {"HEAD", 4}, {"POST", 4}, {"PUT", 3}, {"DELETE", 6}, {"OPTIONS", 7}, {"PATCH", 5}};
  for (unsigned i = 0; i < countof(NAMES); i++) if (str_equal(text, NAMES[i])) return (HttpMethod)i;
  return HTTP_OTHER;
}

static HttpRead read_method(Reader *r, HttpRequest *q) {
  const char *from = r->at;
  r->at = skip(from, r->end, TOKEN);
  q->method_text = (Str){from, (size_t)(r->at - from)};
  if (q->method_text.len > HTTP_METHOD_BYTES_MAX) return refuse(r, 501, "the method's name is longer than 32 characters");
  if (r->at == r->end) return more(r);
  if (*r->at != ' ' || q->method_text.len == 0) return refuse(r, 400, "the request does not start with a method");
  r->at++;
  q->method = method_of(q->method_text);
  return HTTP_DONE;
}

static bool split_absolute(HttpRequest *q, Str rest) {
  size_t len = 0;
  while (len < rest.len && is(rest.ptr[len], HOST)) len++;
  if (len == 0 || (len < rest.len && rest.ptr[len] != '/' && rest.ptr[len] != '?')) return false;
  q->host = str_part(rest, 0, len);
  q->path = str_part(rest, len, rest.len);
  return true;
}

// RFC 9112, 3.2: "/path", "http://host/path" and, for OPTIONS, "*".
static HttpRead split_target(Reader *r, HttpRequest *q) {
  Str target = q->target;
  q->host = STR("");
  q->path = target;
  if (q->method == HTTP_OPTIONS && str_is(target, "*")) {
    q->query = STR("");
    return HTTP_DONE;
  }
  if (target.ptr[0] != '/') {
    size_t scheme = target.len >= 7 && http_name_equal(str_part(target, 0, 7), STR("http://")) ? 7
                  : target.len >= 8 && http_name_equal(str_part(target, 0, 8), STR("https://")) ? 8 : 0;
    if (!scheme || !split_absolute(q, str_part(target, scheme, target.len))) {
      return refuse(r, 400, "the request's target must be a path or an http address");
    }
  }
  const char *mark = q->path.len ? memchr(q->path.ptr, '?', q->path.len) : NULL;
  q->query = mark ? (Str){mark + 1, (size_t)(q->path.ptr + q->path.len - mark - 1)} : STR("");
  if (mark) q->path.len = (size_t)(mark - q->path.ptr);
  if (q->path.len == 0) q->path = STR("/");
  const char *reason;
  return http_check_path(q->path, &reason) ? HTTP_DONE : refuse(r, 400, reason);
}

static HttpRead read_target(Reader *r, HttpRequest *q) {
  const char *from = r->at;
  r->at = skip(from, r->end, TARGET);
  q->target = (Str){from, (size_t)(r->at - from)};
  if (q->target.len > HTTP_TARGET_BYTES_MAX) return refuse(r, 414, "the request's target is longer than 8 KiB");
  if (r->at == r->end) return more(r);
  if (*r->at != ' ' || q->target.len == 0) return refuse(r, 400, "the request's target has a character that it must not have");
  r->at++;
  if (str_is(q->method_text, "CONNECT")) return refuse(r, 501, "CONNECT is for proxies, and this is none");
  return split_target(r, q);
}

// The bytes so far must be the start of a version line; then its digits decide.
static HttpRead read_version(Reader *r, HttpRequest *q) {
  static const char FORM[] = "HTTP/d.d";
  for (size_t i = 0; i < sizeof FORM - 1; i++) {
    if (r->at + i == r->end) return more(r);
    char c = r->at[i];
    bool fits = FORM[i] == 'd' ? c >= '0' && c <= '9' : c == FORM[i];
    if (!fits) return refuse(r, 400, "the request line does not end with HTTP/1.1");
  }
  if (r->at[5] != '1' || r->at[7] > '1') return refuse(r, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
  q->minor = (uint8_t)(r->at[7] - '0');
  r->at += sizeof FORM - 1;
  return read_line_end(r);
}

// ---- What the fields say about the message itself

// RFC 9112, 6.2, without the leave to take equal lists.
static HttpRead set_length(Reader *r, HttpRequest *q, Str value) {
  uint64_t length = 0;
  if (value.len == 0) return refuse(r, 400, "Content-Length must be a number");
  for (size_t i = 0; i < value.len; i++) {
    char c = value.ptr[i];
    if (c < '0' || c > '9') return refuse(r, 400, "Content-Length must be a number");
    if (__builtin_mul_overflow(length, (uint64_t)10, &length) || __builtin_add_overflow(length, (uint64_t)(c - '0'), &length)) {
      return refuse(r, 400, "Content-Length is too great");
    }
  }
  q->content_length = length;
  return HTTP_DONE;
}

// RFC 9112, 6.1. What is not understood is 501; what could be understood in two ways is 400.
static HttpRead set_coding(Reader *r, HttpRequest *q, Str value) {
  if (q->minor == 0) return refuse(r, 400, "HTTP/1.0 has no Transfer-Encoding");
  if (http_name_equal(value, STR("chunked"))) {
    q->chunked = true;
    return HTTP_DONE;
  }
  Str list = value, coding = STR(""), last = STR("");
  unsigned chunked = 0;
  while (http_list_next(&list, &coding)) {
    last = coding;
    chunked += http_name_equal(coding, STR("chunked"));
  }
  bool plain = chunked == 1 && http_name_equal(last, STR("chunked"));
  return plain ? refuse(r, 501, "of the transfer codings only chunked is understood") : refuse(r, 400, "the last transfer coding must be chunked, once");
}

// Looks at each field as it comes, so that a bad one is refused before the head is whole.
static HttpRead look_at_field(Reader *r, HttpRequest *q, const HttpField *field) {
  switch (field->name.len) {
    case 6:
      if (http_name_equal(field->name, STR("expect"))) {
        if (!http_name_equal(field->value, STR("100-continue"))) return refuse(r, 417, "the only expectation understood is 100-continue");
        q->expects_continue = q->minor == 1;
      }
      return HTTP_DONE;
    case 10:
      if (http_name_equal(field->name, STR("connection"))) {
        r->close |= http_list_has(field->value, STR("close"));
        r->keep_alive |= http_list_has(field->value, STR("keep-alive"));
      }
      return HTTP_DONE;
    case 14:
      if (!http_name_equal(field->name, STR("content-length"))) return HTTP_DONE;
      if (r->has_coding) return refuse(r, 400, "Content-Length and Transfer-Encoding exclude each other");
      if (r->has_length) return refuse(r, 400, "Content-Length comes twice");
      r->has_length = true;
      return set_length(r, q, field->value);
    case 17:
      if (!http_name_equal(field->name, STR("transfer-encoding"))) return HTTP_DONE;
      if (r->has_length) return refuse(r, 400, "Content-Length and Transfer-Encoding exclude each other");
      if (r->has_coding) return refuse(r, 400, "Transfer-Encoding comes twice");
      r->has_coding = true;
      return set_coding(r, q, field->value);
    default: return HTTP_DONE;
  }
}

// ---- Fields

static HttpRead read_field(Reader *r, HttpRequest *q) {
  const char *from = r->at;
  r->at = skip(from, r->end, TOKEN);
  Str name = {from, (size_t)(r->at - from)};
  if (r->at == r->end) return more(r);
  if (name.len == 0 && (*r->at == ' ' || *r->at == '\t')) return refuse(r, 400, "a field must not go on in the next line");
  if (*r->at != ':' || name.len == 0) return refuse(r, 400, "a field's name must be followed by a colon");
  do r->at++;
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'));
  from = r->at;
  r->at = skip_value(from, r->end);
  const char *to = r->at;
  HttpRead read = read_line_end(r);
  if (read != HTTP_DONE) return read;
  while (to > from && (to[-1] == ' ' || to[-1] == '\t')) to--;
  if (q->field_count == HTTP_FIELDS_MAX) return refuse(r, 431, "the request has more than 100 fields");
  HttpField *field = &q->fields[q->field_count++];
  *field = (HttpField){name, {from, (size_t)(to - from)}};
  return look_at_field(r, q, field);
}

HttpRead http_read_head(Str bytes, HttpRequest *q, HttpRefusal *out_refusal) {
  bool cut = bytes.len > HTTP_HEAD_BYTES_MAX;
  Reader r = {.at = bytes.ptr, .end = bytes.ptr + (cut ? HTTP_HEAD_BYTES_MAX : bytes.len), .cut = cut, .refusal = out_refusal};
  HttpRead read;
  q->keep_alive = q->chunked = q->expects_continue = false;
  q->content_length = 0;
  q->field_count = 0;
  q->body = STR("");
  while (r.at < r.end && (*r.at == '\r' || *r.at == '\n')) {  // empty lines before a request (RFC 9112, 2.2)
    if ((read = read_line_end(&r)) != HTTP_DONE) return read;
  }
  if ((read = read_method(&r, q)) != HTTP_DONE) return read;
  if ((read = read_target(&r, q)) != HTTP_DONE) return read;
  if ((read = read_version(&r, q)) != HTTP_DONE) return read;
  for (;;) {
    if (r.at == r.end) return more(&r);
    if (*r.at == '\r' || *r.at == '\n') break;
    if ((read = read_field(&r, q)) != HTTP_DONE) return read;
  }
  if ((read = read_line_end(&r)) != HTTP_DONE) return read;
  q->head_bytes = (uint32_t)(r.at - bytes.ptr);
  assert(q->head_bytes <= HTTP_HEAD_BYTES_MAX);
  q->keep_alive = !r.close && (q->minor == 1 || r.keep_alive);
  if (q->host.len == 0) http_field(q, STR("host"), &q->host);
  return HTTP_DONE;
}

bool http_check_host(const HttpRequest *q, HttpRefusal *out_refusal) {
  Str value;
  unsigned count = http_field(q, STR("host"), &value);
  bool fine = count == 1 || (count == 0 && q->minor == 0);
  for (size_t i = 0; fine && count && i < value.len; i++) fine = is(value.ptr[i], HOST);
  if (!fine) *out_refusal = (HttpRefusal){400, "the request needs one Host field with a host's name"};
  return fine;
}

// ---- Names and lists

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

bool http_name_equal(Str a, Str b) {
  if (a.len != b.len) return false;
  for (size_t i = 0; i < a.len; i++) if (lower(a.ptr[i]) != lower(b.ptr[i])) return false;
  return true;
}

unsigned http_field(const HttpRequest *q, Str name, Str *out_value) {
  unsigned count = 0;
  for (unsigned i = 0; i < q->field_count; i++) {
    if (!http_name_equal(q->fields[i].name, name)) continue;
    if (count++ == 0 && out_value) *out_value = q->fields[i].value;
  }
  return count;
}

bool http_list_next(Str *list, Str *out_element) {
  const char *at = list->ptr, *end = at + list->len;
  while (at < end && (*at == ',' || *at == ' ' || *at == '\t')) at++;
  const char *from = at;
  while (at < end && *at != ',') at++;
  const char *to = at;
  while (to > from && (to[-1] == ' ' || to[-1] == '\t')) to--;
  *list = (Str){at, (size_t)(end - at)};
  *out_element = (Str){from, (size_t)(to - from)};
  return to > from;
}

bool http_list_has(Str list, Str token) {
  for (Str element; http_list_next(&list, &element);) if (http_name_equal(element, token)) return true;
  return false;
}

// "q=0.125" in thousandths: a digit 0 or 1, and at most three behind the point.
static int read_weight(Str text) {
  if (text.len < 3 || (text.ptr[0] | 0x20) != 'q' || text.ptr[1] != '=' || text.len > 7) return -1;
  int weight = text.ptr[2] - '0', scale = 100;
  if (weight < 0 || weight > 1 || (text.len > 3 && text.ptr[3] != '.')) return 0;
  weight *= 1000;
  for (size_t i = 4; i < text.len; i++, scale /= 10) {
    if (text.ptr[i] < '0' || text.ptr[i] > '9') return 0;
    weight += (text.ptr[i] - '0') * scale;
  }
  return weight > 1000 ? 0 : weight;
}

static Str trim_space(Str text) {
  while (text.len && (*text.ptr == ' ' || *text.ptr == '\t')) text = str_part(text, 1, text.len);
  while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t')) text.len--;
  return text;
}

// The next parameter of an element, split off at its semicolon.
static Str next_part(Str *element) {
  const char *semicolon = element->len ? memchr(element->ptr, ';', element->len) : NULL;
  size_t len = semicolon ? (size_t)(semicolon - element->ptr) : element->len;
  Str part = trim_space(str_part(*element, 0, len));
  *element = semicolon ? str_part(*element, len + 1, element->len) : (Str){0};
  return part;
}

int http_weight(Str list, Str name) {
  for (Str element; http_list_next(&list, &element);) {
    if (!http_name_equal(next_part(&element), name)) continue;
    int weight = 1000;
    while (element.len) {
      int read = read_weight(next_part(&element));
      if (read >= 0) weight = read;
    }
    return weight;
  }
  return -1;
}
