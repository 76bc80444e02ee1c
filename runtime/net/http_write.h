// Writing answers: status lines and header lines into a Buf.
//
// Owns:   nothing.
// Thread: any; an HttpDate one at a time.
// Errors: the Buf's own `failed`.
#pragma once
#include "runtime/base/buf.h"
#include "runtime/base/str.h"

// The words of RFC 9110, chapter 15; "Status" for a status that has none there. Static.
const char *http_status_words(unsigned status);
void http_add_status_line(Buf *buf, unsigned status);  // "HTTP/1.1 200 OK\r\n"
// "Name: value\r\n". Control bytes in the value become spaces, so that no value can begin a line of its own.
void http_add_field(Buf *buf, Str name, Str value);
void http_add_field_int(Buf *buf, Str name, int64_t value);

// The Date line, made anew only when the second changes.
enum { HTTP_DATE_LINE_BYTES = 37 };  // "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
typedef struct HttpDate { int64_t second; char line[HTTP_DATE_LINE_BYTES + 1]; } HttpDate;
void http_date_text(int64_t second, char out_text[30]);  // IMF-fixdate, with a zero byte
void http_add_date(Buf *buf, HttpDate *date, int64_t wall_us);
