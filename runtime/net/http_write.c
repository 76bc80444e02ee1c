// The status line and the date are the only texts that every answer has; both are cheap.
#include "runtime/net/http_write.h"

#include <stdio.h>
#include <time.h>

const char *http_status_words(unsigned status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 418: return "I'm a teapot";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 423: return "Locked";
    case 425: return "Too Early";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 451: return "Unavailable For Legal Reasons";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Status";
  }
}

void http_add_status_line(Buf *buf, unsigned status) {
  if (status == 200) {
    buf_add_str(buf, STR("HTTP/1.1 200 OK\r\n"));
    return;
  }
  buf_add_str(buf, STR("HTTP/1.1 "));
  buf_add_int(buf, status);
  buf_add_char(buf, ' ');
  buf_add_text(buf, http_status_words(status));
  buf_add_str(buf, STR("\r\n"));
}

void http_add_field(Buf *buf, Str name, Str value) {
  buf_add_str(buf, name);
  buf_add_str(buf, STR(": "));
  char *room = buf_room(buf, value.len);
  if (!room) return;
  for (size_t i = 0; i < value.len; i++) {
    uint8_t c = (uint8_t)value.ptr[i];
    room[i] = c < 0x20 || c == 0x7F ? ' ' : (char)c;
  }
  buf->len += value.len;
  buf_add_str(buf, STR("\r\n"));
}

void http_add_field_int(Buf *buf, Str name, int64_t value) {
  buf_add_str(buf, name);
  buf_add_str(buf, STR(": "));
  buf_add_int(buf, value);
  buf_add_str(buf, STR("\r\n"));
}

void http_date_text(int64_t second, char out_text[30]) {
  static const char DAYS[] = "SunMonTueWedThuFriSat", MONTHS[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  time_t time = (time_t)second;
  struct tm when;
  if (!gmtime_r(&time, &when)) when = (struct tm){.tm_mday = 1, .tm_year = 70, .tm_wday = 4};
  snprintf(out_text, 30, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT", DAYS + 3 * when.tm_wday, (unsigned)when.tm_mday % 100, MONTHS + 3 * when.tm_mon,
           (unsigned)(when.tm_year + 1900) % 10000, (unsigned)when.tm_hour % 100, (unsigned)when.tm_min % 100, (unsigned)when.tm_sec % 100);
}

void http_add_date(Buf *buf, HttpDate *date, int64_t wall_us) {
  int64_t second = wall_us / 1000000;
  if (second != date->second || !date->line[0]) {
    char text[30];
    http_date_text(second, text);
    date->second = second;
    snprintf(date->line, sizeof date->line, "Date: %s\r\n", text);
  }
  buf_add(buf, date->line, HTTP_DATE_LINE_BYTES);
}
