// Heads, fields, targets and chunks from any bytes, where the end of the input is the end of readable memory: reading never
// looks past what it was given, more bytes never change a refusal, and what is taken lies inside.
#include <stdlib.h>
#include <string.h>

#include "runtime/net/http.h"

static void must(bool holds) {
  if (!holds) abort();
}

static bool lies_inside(Str part, Str whole) {
  return part.len == 0 || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void try_chunks(Str bytes, size_t step) {
  char *copy = malloc(bytes.len + 1);
  must(copy != NULL);
  if (bytes.len) memcpy(copy, bytes.ptr, bytes.len);
  HttpChunks chunks = http_chunks_new();
  HttpRefusal refusal = {0};
  HttpRead state = HTTP_MORE;
  for (size_t at = 0; at < bytes.len && state == HTTP_MORE;) {
    size_t len = bytes.len - at < step ? bytes.len - at : step;
    state = http_chunks_decode(&chunks, copy + at, (uint32_t)len, &refusal);
    if (state == HTTP_REFUSED) must(refusal.status >= 400 && refusal.reason);
    else must(chunks.consumed <= len && chunks.produced <= chunks.consumed && (state == HTTP_DONE || chunks.consumed == len));
    at += len;
  }
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static HttpRequest request, shorter;
  HttpRefusal refusal = {0};
  Str bytes = {(const char *)data, size};
  HttpRead state = http_read_head(bytes, &request, &refusal);
  if (state == HTTP_REFUSED) must(refusal.status >= 400 && refusal.status < 600 && refusal.reason);
  if (state == HTTP_DONE) {
    Str head = {bytes.ptr, request.head_bytes};
    must(request.head_bytes <= size && request.head_bytes <= HTTP_HEAD_BYTES_MAX && request.field_count <= HTTP_FIELDS_MAX);
    must(lies_inside(request.target, head) && (lies_inside(request.path, head) || str_is(request.path, "/")) && lies_inside(request.query, head) && lies_inside(request.host, head));
    for (uint16_t i = 0; i < request.field_count; i++) must(lies_inside(request.fields[i].name, head) && lies_inside(request.fields[i].value, head));
    must(!(request.chunked && request.content_length));
    // A head that is one byte short is not whole, and is not refused either.
    must(http_read_head((Str){bytes.ptr, request.head_bytes - 1}, &shorter, &refusal) == HTTP_MORE);
    Str value, element;
    if (http_field(&request, STR("connection"), &value)) while (http_list_next(&value, &element)) must(element.len > 0);
  }
  if (size > 1) try_chunks((Str){bytes.ptr + 1, size - 1}, 1 + data[0] % 64);
  return 0;
}
