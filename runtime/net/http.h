// Reading HTTP/1.1 requests (RFC 9110, RFC 9112), strictly: whatever two programs on the way could understand in two
// ways is refused, since that is how one request is made to look like two.
//
//   one CRLF ends a line, nothing else · no folded fields · no space before a colon · Content-Length is digits, once ·
//   Content-Length with Transfer-Encoding is refused · of the codings only "chunked", once, in HTTP/1.1
//
// Reading keeps no state: the caller gives all bytes so far, and asks again when there are more. A head costs one pass.
//
// Owns:   nothing. Slices of a request point into the bytes, which must stay.
// Thread: any.
// Errors: HttpRefusal: the status to answer and one sentence for the client; the connection is closed after it.
// Limits: HTTP_HEAD_BYTES_MAX (431), HTTP_TARGET_BYTES_MAX (414), HTTP_FIELDS_MAX (431), HTTP_PATH_SEGMENTS_MAX (400);
//         a body's limit is its caller's (413).
//
// By hand: http-parser in Debian 12 is no longer maintained, llhttp and picohttpparser are not in it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum {
  HTTP_HEAD_BYTES_MAX = 16 * 1024,    // request line and fields, with the empty line at their end
  HTTP_TARGET_BYTES_MAX = 8 * 1024,
  HTTP_METHOD_BYTES_MAX = 32,         // 501 when longer
  HTTP_FIELDS_MAX = 100,
  HTTP_PATH_SEGMENTS_MAX = 32,
  HTTP_CHUNK_SIZE_DIGITS_MAX = 15,    // hexadecimal; more never fit a body anyway
  HTTP_CHUNK_EXTENSION_BYTES_MAX = 256,
  HTTP_TRAILER_BYTES_MAX = 4096,      // all lines behind the last chunk
};

typedef enum HttpMethod { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_DELETE, HTTP_OPTIONS, HTTP_PATCH, HTTP_OTHER } HttpMethod;

typedef struct HttpField { Str name, value; } HttpField;  // value without the white space around it

typedef struct HttpRefusal { uint16_t status; const char *reason; } HttpRefusal;  // reason: static

typedef struct HttpRequest {
  HttpMethod method;
  Str method_text;
  Str target;              // as sent
  Str path;                // of the target, still percent-encoded; "*" for OPTIONS *
  Str query;               // behind its "?", still percent-encoded; empty when there is none
  Str host;                // of the target, else of the Host field; empty when there is none
  uint8_t minor;           // HTTP/1.minor: 0 or 1
  bool keep_alive;         // the client wants, and may have, another request on this connection
  bool chunked;            // the body comes in chunks
  bool expects_continue;   // waits for 100 before it sends its body
  uint64_t content_length; // 0 when there is none
  uint32_t head_bytes;
  uint16_t field_count;
  HttpField fields[HTTP_FIELDS_MAX];
  Str body;                // whole and without chunks; set by the connection
} HttpRequest;

typedef enum HttpRead { HTTP_DONE, HTTP_MORE, HTTP_REFUSED } HttpRead;

// Reads the head at the start of `bytes`. HTTP_MORE: not whole yet, and what is there is not wrong so far (`request` is
// then in no defined state). Paths with "..", ".", encoded slashes, backslashes, NUL or broken escapes are refused here.
HttpRead http_read_head(Str bytes, HttpRequest *request, HttpRefusal *out_refusal);
// A request of HTTP/1.1 must have one Host field (RFC 9112, 3.2); both versions at most one.
bool http_check_host(const HttpRequest *request, HttpRefusal *out_refusal);

// How often the field is there; `out_value` (may be NULL) gets the first. Names are compared without case.
unsigned http_field(const HttpRequest *request, Str name, Str *out_value);
bool http_name_equal(Str a, Str b);                // without case, ASCII
// Whether a comma-separated list has the token, without case ("close, x" has "close").
bool http_list_has(Str list, Str token);
// The weight of `name` in a list like that of Accept-Encoding (RFC 9110, 12.4.2), from 0 to 1000; -1: it is not there. A broken weight counts as 0.
int http_weight(Str list, Str name);
// The next element of a comma-separated list, without white space around it; false at the end. Empty ones are passed over.
bool http_list_next(Str *list, Str *out_element);

// ---- Bodies in chunks (RFC 9112, 7.1). Decoding happens in place.
typedef struct HttpChunks {
  uint64_t left;                // bytes of the current chunk that are still to come
  uint32_t consumed, produced;  // by the last call: bytes that belonged to the body, and bytes of body they held
  uint16_t trailer_bytes, extension_bytes;
  uint8_t digits, state;
} HttpChunks;

static inline HttpChunks http_chunks_new(void) { return (HttpChunks){0}; }
// Decodes `len` bytes at `bytes`: the first `produced` bytes there are then body. HTTP_MORE: all was consumed. HTTP_DONE: the
// body is whole, `consumed` bytes belonged to it, what follows stays where it is.
HttpRead http_chunks_decode(HttpChunks *chunks, char *bytes, uint32_t len, HttpRefusal *out_refusal);
