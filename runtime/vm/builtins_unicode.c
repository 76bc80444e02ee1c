// What needs the tables of Unicode, through utf8proc: case, normal forms, slugs. Plain ASCII takes a short way.
//
// Decomposed code points are gathered in the call's arena rather than by utf8proc's own allocation, so that they count
// against the call. Putting marks into their canonical order takes utf8proc time that grows with the square of a run of
// marks; such runs are charged for before.
#include <utf8proc.h>

#include "runtime/base/utf8.h"
#include "runtime/vm/machine.h"

#define OK(expression) do { HostResult result_ = (expression); if (result_ != HOST_OK) return result_; } while (0)
enum { POINTS_A_FUEL = 1, ASCII_A_FUEL = 8 };

static bool is_ascii(Str x) {
  for (size_t i = 0; i < x.len; i++)
    if ((uint8_t)x.ptr[i] >= 0x80) return false;
  return true;
}

static void add_point(Buf *out, uint32_t point) {
  char bytes[UTF8_CHAR_BYTES_MAX];
  buf_add(out, bytes, utf8_encode(point, bytes));
}

// ---- case -------------------------------------------------------------------------------------

static utf8proc_int32_t ascii_lower(utf8proc_int32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
static utf8proc_int32_t ascii_upper(utf8proc_int32_t c) { return c >= 'a' && c <= 'z' ? c - 32 : c; }

static HostResult map_points(const BuiltinCall *call, utf8proc_int32_t (*ascii)(utf8proc_int32_t), utf8proc_int32_t (*any)(utf8proc_int32_t)) {
  Str x = call->args[0].text;
  uint32_t point = 0;
  OK(vm__charge(call->exec, x.len / ASCII_A_FUEL));
  Buf *out = vm__scratch(call->exec);
  for (size_t at = 0, len; at < x.len && !out->failed; at += len) {
    len = utf8_decode(str_part(x, at, x.len), &point);
    if (!len) break;  // texts are whole UTF-8
    if (len == 1) buf_add_char(out, (char)ascii((utf8proc_int32_t)point));
    else add_point(out, (uint32_t)any((utf8proc_int32_t)point));
  }
  return vm__take_scratch(call->exec, call->out);
}

HostResult builtin__LOWER(const BuiltinCall *call) { return map_points(call, ascii_lower, utf8proc_tolower); }
HostResult builtin__UPPER(const BuiltinCall *call) { return map_points(call, ascii_upper, utf8proc_toupper); }

// ---- normal forms -----------------------------------------------------------------------------

static HostResult charge_marks(const BuiltinCall *call, Str x) {
  uint64_t run = 0;
  uint32_t point = 0;
  OK(vm__charge(call->exec, x.len / POINTS_A_FUEL));
  for (size_t at = 0, len; at < x.len; at += len) {
    len = utf8_decode(str_part(x, at, x.len), &point);
    if (!len) break;
    run = utf8proc_get_property((utf8proc_int32_t)point)->combining_class ? run + 1 : 0;
    if (run > 16) OK(vm__charge(call->exec, run));
  }
  return HOST_OK;
}

static HostResult normalise(const BuiltinCall *call, Str x, utf8proc_option_t options) {
  const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)x.ptr;
  OK(charge_marks(call, x));
  utf8proc_ssize_t count = utf8proc_decompose(bytes, (utf8proc_ssize_t)x.len, NULL, 0, options);
  if (count < 0 || (uint64_t)count > SIZE_MAX / 8) return vm__no_memory(call->exec);
  // utf8proc_reencode writes UTF-8 and a zero byte over the code points: four bytes each, and one.
  utf8proc_int32_t *points = vm__alloc(call->exec, (size_t)count * sizeof *points + 1);
  if (!points) return HOST_FAULT;
  if (utf8proc_decompose(bytes, (utf8proc_ssize_t)x.len, points, count, options) != count) return vm_fault(call->exec, FAULT_RANGE, "the text cannot be normalised");
  utf8proc_ssize_t len = utf8proc_reencode(points, count, options);
  if (len < 0) return vm_fault(call->exec, FAULT_RANGE, "the text cannot be normalised");
  call->out->text = (Str){(const char *)points, (size_t)len};
  return HOST_OK;
}

HostResult builtin__NFC(const BuiltinCall *call) {
  Str x = call->args[0].text;
  OK(vm__charge(call->exec, x.len / ASCII_A_FUEL));
  if (is_ascii(x)) { *call->out = call->args[0]; return HOST_OK; }
  return normalise(call, x, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

HostResult builtin__FOLD(const BuiltinCall *call) {
  if (is_ascii(call->args[0].text)) return builtin__LOWER(call);
  return normalise(call, call->args[0].text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
}

// ---- slugs ------------------------------------------------------------------------------------

static bool is_letter_digit_or_mark(utf8proc_int32_t point) {
  utf8proc_category_t category = utf8proc_category(point);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;  // L*, M*, N* stand together
}

static bool is_ascii_letter(utf8proc_int32_t point) { return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z'); }

static bool is_mark(utf8proc_int32_t point) {
  utf8proc_category_t category = utf8proc_category(point);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

// One character: folded; a Latin letter without its marks (é is e, ß is ss), others as they are.
static void add_slug_point(Buf *out, utf8proc_int32_t point) {
  enum { PARTS_MAX = 18 };  // the longest decomposition in Unicode
  utf8proc_int32_t parts[PARTS_MAX];
  int boundary = UTF8PROC_BOUNDCLASS_START;
  if (is_mark(point) && out->len && is_ascii_letter(out->ptr[out->len - 1])) return;
  utf8proc_ssize_t count = utf8proc_decompose_char(point, parts, PARTS_MAX, UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD, &boundary);
  bool is_latin = count > 0 && count <= PARTS_MAX && is_ascii_letter(parts[0]);
  if (!is_latin) { add_point(out, (uint32_t)utf8proc_tolower(point)); return; }
  for (utf8proc_ssize_t i = 0; i < count; i++)
    if (is_ascii_letter(parts[i])) buf_add_char(out, (char)parts[i]);
}

HostResult builtin__SLUG(const BuiltinCall *call) {
  Str x = call->args[0].text;
  uint32_t point = 0;
  bool wants_dash = false;
  OK(vm__charge(call->exec, x.len / POINTS_A_FUEL));
  Buf *out = vm__scratch(call->exec);
  for (size_t at = 0, len; at < x.len && !out->failed; at += len) {
    len = utf8_decode(str_part(x, at, x.len), &point);
    if (!len) break;
    if (!is_letter_digit_or_mark((utf8proc_int32_t)point)) { wants_dash = true; continue; }
    if (wants_dash && out->len) buf_add_char(out, '-');
    wants_dash = false;
    add_slug_point(out, (utf8proc_int32_t)point);
  }
  return vm__take_scratch(call->exec, call->out);
}
