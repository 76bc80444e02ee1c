// Texts by code points. Where a result is a part of an argument it points into it; nothing is copied.
#include "runtime/base/utf8.h"
#include "runtime/vm/machine.h"

#define OK(expression) do { HostResult result_ = (expression); if (result_ != HOST_OK) return result_; } while (0)
enum { SCANNED_A_FUEL = 16 };  // bytes looked at in the time of one plain instruction

static HostResult charge_scan(const BuiltinCall *call, Str text) { return vm__charge(call->exec, text.len / SCANNED_A_FUEL); }
// Empty, but there: it may become an optional.
static Str present(Str text) { return text.ptr ? text : STR(""); }
static HostResult give(const BuiltinCall *call, Str text) {
  call->out->text = present(text);
  return HOST_OK;
}
static const char *find(Str text, Str part) { return part.len ? memmem(present(text).ptr, text.len, part.ptr, part.len) : present(text).ptr; }

HostResult builtin__TEXT_LEN(const BuiltinCall *call) {
  OK(charge_scan(call, call->args[0].text));
  call->out->i = (int64_t)utf8_count(call->args[0].text);
  return HOST_OK;
}

// ---- white space ------------------------------------------------------------------------------

// Unicode's White_Space.
static bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

static size_t last_point(Str text, uint32_t *out_point) {
  size_t start = text.len - 1;
  while (start > 0 && ((uint8_t)text.ptr[start] & 0xC0) == 0x80) start--;
  return utf8_decode(str_part(text, start, text.len), out_point);
}

HostResult builtin__TRIM(const BuiltinCall *call) {
  Str x = call->args[0].text;
  uint32_t point;
  size_t len;
  OK(charge_scan(call, x));
  while (x.len && (len = utf8_decode(x, &point)) && is_space(point)) x = str_part(x, len, x.len);
  while (x.len && (len = last_point(x, &point)) && is_space(point)) x.len -= len;
  return give(call, x);
}

// ---- searching --------------------------------------------------------------------------------

HostResult builtin__STARTS_WITH(const BuiltinCall *call) {
  OK(charge_scan(call, call->args[1].text));
  call->out->i = call->args[1].text.len == 0 || str_starts(call->args[0].text, call->args[1].text);
  return HOST_OK;
}

HostResult builtin__ENDS_WITH(const BuiltinCall *call) {
  Str x = call->args[0].text, end = call->args[1].text;
  OK(charge_scan(call, end));
  call->out->i = end.len == 0 || (x.len >= end.len && memcmp(x.ptr + x.len - end.len, end.ptr, end.len) == 0);
  return HOST_OK;
}

HostResult builtin__CONTAINS_TEXT(const BuiltinCall *call) {
  OK(charge_scan(call, call->args[0].text));
  call->out->i = find(call->args[0].text, call->args[1].text) != NULL;
  return HOST_OK;
}

// An empty `old` is nowhere.
HostResult builtin__REPLACE(const BuiltinCall *call) {
  Str rest = present(call->args[0].text), old = call->args[1].text, new = call->args[2].text;
  if (!old.len) return give(call, rest);
  Buf *out = vm__scratch(call->exec);
  OK(charge_scan(call, rest));
  for (const char *at; (at = find(rest, old)) && !out->failed;) {
    size_t before = (size_t)(at - rest.ptr);
    OK(vm__charge(call->exec, 1 + new.len / SCANNED_A_FUEL));
    buf_add(out, rest.ptr, before);
    buf_add_str(out, new);
    rest = str_part(rest, before + old.len, rest.len);
  }
  buf_add_str(out, rest);
  return vm__take_scratch(call->exec, call->out);
}

// ---- pieces -----------------------------------------------------------------------------------

// Goes on from `*rest` to behind the next `by`; false at the end.
static bool next_piece(Str *rest, Str by, Str *out_piece) {
  if (!rest->ptr) return false;
  const char *at = find(*rest, by);
  size_t len = at ? (size_t)(at - rest->ptr) : rest->len;
  *out_piece = (Str){rest->ptr, len};
  *rest = at ? str_part(*rest, len + by.len, rest->len) : (Str){0};
  return true;
}

HostResult builtin__SPLIT(const BuiltinCall *call) {
  Str x = present(call->args[0].text), by = call->args[1].text, rest = x, piece;
  if (!by.len) return vm_fault(call->exec, FAULT_RANGE, "split: by an empty text");
  OK(vm__charge(call->exec, 2 * (x.len / SCANNED_A_FUEL)));
  uint64_t count = 0;
  while (next_piece(&rest, by, &piece)) count++;
  List *list = vm__list(call->exec, count);
  if (!list) return HOST_FAULT;
  rest = x;
  for (uint64_t i = 0; next_piece(&rest, by, &piece); i++) list->items[i].text = piece;
  call->out->list = list;
  return HOST_OK;
}

// A line end behind the last line makes no other line; `\r\n` is one end.
static bool next_line(Str *rest, Str *out_line) {
  if (!rest->ptr || !rest->len) return false;
  bool more = next_piece(rest, STR("\n"), out_line);
  if (rest->ptr && out_line->len && out_line->ptr[out_line->len - 1] == '\r') out_line->len--;
  return more;
}

HostResult builtin__LINES(const BuiltinCall *call) {
  Str rest = call->args[0].text, line;
  OK(vm__charge(call->exec, 2 * (rest.len / SCANNED_A_FUEL)));
  uint64_t count = 0;
  while (next_line(&rest, &line)) count++;
  List *list = vm__list(call->exec, count);
  if (!list) return HOST_FAULT;
  rest = call->args[0].text;
  for (uint64_t i = 0; next_line(&rest, &line); i++) list->items[i].text = line;
  call->out->list = list;
  return HOST_OK;
}

HostResult builtin__JOIN(const BuiltinCall *call) {
  const List *list = call->args[0].list;
  Str by = call->args[1].text;
  OK(vm__weigh(call->exec, call->types[0], call->args[0]));
  Buf *out = vm__scratch(call->exec);
  for (uint32_t i = 0; i < list_count(list) && !out->failed; i++) {
    OK(vm__charge(call->exec, 1 + by.len / SCANNED_A_FUEL));
    if (i) buf_add_str(out, by);
    buf_add_str(out, list->items[i].text);
  }
  return vm__take_scratch(call->exec, call->out);
}

// ---- by number --------------------------------------------------------------------------------

static HostResult below_zero(const BuiltinCall *call) { return vm_fault(call->exec, FAULT_RANGE, "a number of characters is below zero"); }

HostResult builtin__TEXT_FIRST(const BuiltinCall *call) {
  Str x = call->args[0].text;
  if (call->args[1].i < 0) return below_zero(call);
  OK(charge_scan(call, x));
  return give(call, str_part(present(x), 0, utf8_offset(x, (size_t)call->args[1].i)));
}

HostResult builtin__TEXT_LAST(const BuiltinCall *call) {
  Str x = call->args[0].text;
  if (call->args[1].i < 0) return below_zero(call);
  OK(vm__charge(call->exec, 2 * (x.len / SCANNED_A_FUEL)));
  size_t count = utf8_count(x), n = (size_t)call->args[1].i;
  return give(call, str_part(present(x), n < count ? utf8_offset(x, count - n) : 0, x.len));
}

HostResult builtin__SLICE(const BuiltinCall *call) {
  Str x = present(call->args[0].text);
  if (call->args[1].i < 0 || call->args[2].i < 0) return below_zero(call);
  OK(vm__charge(call->exec, 2 * (x.len / SCANNED_A_FUEL)));
  Str rest = str_part(x, utf8_offset(x, (size_t)call->args[1].i), x.len);
  return give(call, str_part(rest, 0, utf8_offset(rest, (size_t)call->args[2].i)));
}

// `count` times the text into the scratch.
static HostResult add_repeated(const BuiltinCall *call, Buf *out, Str text, uint64_t count) {
  size_t bytes;
  if (__builtin_mul_overflow(text.len, count, &bytes)) return vm__no_memory(call->exec);
  OK(vm__charge(call->exec, bytes / SCANNED_A_FUEL + (text.len ? count : 0)));
  if (bytes && !buf_room(out, bytes)) return vm__no_memory(call->exec);
  for (uint64_t i = 0; text.len && i < count; i++) buf_add_str(out, text);
  return HOST_OK;
}

HostResult builtin__PAD(const BuiltinCall *call) {
  Str x = call->args[0].text, with = call->args[2].text;
  int64_t n = call->args[1].i;
  OK(vm__charge(call->exec, x.len / SCANNED_A_FUEL + with.len / SCANNED_A_FUEL));
  uint64_t count = utf8_count(x), width = utf8_count(with);
  if (n < 0) return below_zero(call);
  if ((uint64_t)n <= count) return give(call, x);
  if (!width) return vm_fault(call->exec, FAULT_RANGE, "pad: with an empty text");
  uint64_t missing = (uint64_t)n - count;
  Buf *out = vm__scratch(call->exec);
  OK(add_repeated(call, out, with, missing / width));
  buf_add_str(out, str_part(with, 0, utf8_offset(with, (size_t)(missing % width))));
  buf_add_str(out, x);
  return vm__take_scratch(call->exec, call->out);
}

HostResult builtin__REPEAT(const BuiltinCall *call) {
  if (call->args[1].i < 0) return vm_fault(call->exec, FAULT_RANGE, "repeat: a number below zero");
  Buf *out = vm__scratch(call->exec);
  OK(add_repeated(call, out, call->args[0].text, (uint64_t)call->args[1].i));
  return vm__take_scratch(call->exec, call->out);
}

// ---- reading and judging ----------------------------------------------------------------------

HostResult builtin__PARSE_INT(const BuiltinCall *call) {
  const TypeTable *types = exec__types(call->exec);
  int64_t number;
  OK(charge_scan(call, call->args[0].text));
  bool is_int = int_parse(call->args[0].text, &number) == ERR_NONE;
  *call->out = is_int ? value_some(types, call->result, (Value){.i = number}) : value_none(types, call->result);
  return HOST_OK;
}

static bool has_space_or_control(Str x) {
  uint32_t point = 0;
  for (size_t at = 0, len; at < x.len; at += len) {
    len = utf8_decode(str_part(x, at, x.len), &point);
    if (!len || is_space(point) || point < 0x20 || (point >= 0x7F && point < 0xA0)) return true;
  }
  return false;
}

// Labels of at most 63 bytes between dots: letters, digits and dashes (inside), and anything beyond ASCII.
static bool is_host(Str x, bool needs_dot) {
  Str rest = x, label;
  uint32_t labels = 0;
  if (!x.len || x.len > 253) return false;
  for (; next_piece(&rest, STR("."), &label); labels++) {
    if (!label.len || label.len > 63 || label.ptr[0] == '-' || label.ptr[label.len - 1] == '-') return false;
    for (size_t i = 0; i < label.len; i++) {
      uint8_t c = (uint8_t)label.ptr[i];
      bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c >= 0x80;
      if (!fits) return false;
    }
  }
  return labels > 1 || !needs_dot;
}

// What can be told from the text alone: one @, something of at most 64 bytes before it, a host with a dot behind it.
static bool looks_like_email(Str x) {
  const char *at = x.len && x.len <= 254 ? memchr(x.ptr, '@', x.len) : NULL;
  if (!at || has_space_or_control(x)) return false;
  Str local = {x.ptr, (size_t)(at - x.ptr)}, host = str_part(x, local.len + 1, x.len);
  return local.len && local.len <= 64 && local.ptr[0] != '.' && local.ptr[local.len - 1] != '.' && is_host(host, true);
}

HostResult builtin__IS_EMAIL(const BuiltinCall *call) {
  OK(charge_scan(call, call->args[0].text));
  call->out->i = looks_like_email(call->args[0].text);
  return HOST_OK;
}

static bool is_port(Str x) {
  if (!x.len || x.len > 5) return false;
  for (size_t i = 0; i < x.len; i++)
    if (x.ptr[i] < '0' || x.ptr[i] > '9') return false;
  return true;
}

static bool looks_like_url(Str x) {
  size_t scheme = str_starts(x, STR("https://")) ? 8 : str_starts(x, STR("http://")) ? 7 : 0;
  if (!scheme || has_space_or_control(x)) return false;
  Str host = str_part(x, scheme, x.len);
  size_t end = 0;
  while (end < host.len && !strchr("/?#", host.ptr[end])) end++;
  host.len = end;
  const char *colon = host.len ? memrchr(host.ptr, ':', host.len) : NULL;
  if (colon && !is_port(str_part(host, (size_t)(colon - host.ptr) + 1, host.len))) return false;
  if (colon) host.len = (size_t)(colon - host.ptr);
  return is_host(host, false);
}

HostResult builtin__IS_URL(const BuiltinCall *call) {
  OK(charge_scan(call, call->args[0].text));
  call->out->i = looks_like_url(call->args[0].text);
  return HOST_OK;
}

// Goes back to the last `*` only: an earlier one could match nothing more. At worst each character is tried against each.
static bool matches(Str x, Str glob) {
  size_t at = 0, g = 0, star = SIZE_MAX, star_at = 0;
  while (at < x.len) {
    uint32_t point;
    size_t len = utf8_decode(str_part(x, at, x.len), &point);
    if (g < glob.len && glob.ptr[g] == '*') { star = g++; star_at = at; continue; }
    if (g < glob.len && glob.ptr[g] == '?') { g++; at += len; continue; }
    if (g < glob.len && glob.len - g >= len && memcmp(glob.ptr + g, x.ptr + at, len) == 0) { g += len; at += len; continue; }
    if (star == SIZE_MAX) return false;
    star_at += utf8_decode(str_part(x, star_at, x.len), &point);
    at = star_at;
    g = star + 1;
  }
  while (g < glob.len && glob.ptr[g] == '*') g++;
  return g == glob.len;
}

HostResult builtin__MATCHES(const BuiltinCall *call) {
  Str x = call->args[0].text, glob = call->args[1].text;
  uint64_t steps;
  if (__builtin_mul_overflow((uint64_t)x.len + 1, (uint64_t)glob.len + 1, &steps)) steps = UINT64_MAX;
  OK(vm__charge(call->exec, steps / SCANNED_A_FUEL));
  call->out->i = matches(x, glob);
  return HOST_OK;
}
