// Hashes and codings of bytes, all by libsodium; addresses percent-encoded as RFC 3986 says; JSON by the value room.
#include <sodium.h>

#include "runtime/base/hash.h"
#include "runtime/base/utf8.h"
#include "runtime/value/json_value.h"
#include "runtime/vm/machine.h"

#define OK(expression) do { HostResult result_ = (expression); if (result_ != HOST_OK) return result_; } while (0)
enum { HASHED_A_FUEL = 2 };  // bytes that are hashed in the time of one plain instruction

static const uint8_t *bytes_of(Str text) { return (const uint8_t *)(text.ptr ? text.ptr : ""); }

static HostResult give_hash(const BuiltinCall *call, const uint8_t *hash, size_t len) {
  char *copy = vm__alloc(call->exec, len);
  if (!copy) return HOST_FAULT;
  memcpy(copy, hash, len);
  call->out->text = (Str){copy, len};
  return HOST_OK;
}

HostResult builtin__SHA256(const BuiltinCall *call) {
  Str x = call->args[0].text;
  uint8_t hash[crypto_hash_sha256_BYTES];
  OK(vm__charge(call->exec, x.len / HASHED_A_FUEL));
  crypto_hash_sha256(hash, bytes_of(x), x.len);
  return give_hash(call, hash, sizeof hash);
}

HostResult builtin__BLAKE2B(const BuiltinCall *call) {
  Str x = call->args[0].text;
  OK(vm__charge(call->exec, x.len / HASHED_A_FUEL));
  Hash hash = hash_of((Str){(const char *)bytes_of(x), x.len});
  return give_hash(call, hash.bytes, sizeof hash.bytes);
}

HostResult builtin__HMAC_SHA256(const BuiltinCall *call) {
  Str key = call->args[0].text, x = call->args[1].text;
  uint8_t hash[crypto_auth_hmacsha256_BYTES];
  crypto_auth_hmacsha256_state state;
  OK(vm__charge(call->exec, key.len / HASHED_A_FUEL + x.len / HASHED_A_FUEL));
  crypto_auth_hmacsha256_init(&state, bytes_of(key), key.len);
  crypto_auth_hmacsha256_update(&state, bytes_of(x), x.len);
  crypto_auth_hmacsha256_final(&state, hash);
  sodium_memzero(&state, sizeof state);
  return give_hash(call, hash, sizeof hash);
}

HostResult builtin__BASE64(const BuiltinCall *call) {
  Str x = call->args[0].text;
  if (x.len > SIZE_MAX / 4) return vm__no_memory(call->exec);
  size_t size = sodium_base64_encoded_len(x.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  OK(vm__charge(call->exec, x.len / 4));
  char *text = vm__alloc(call->exec, size);
  if (!text) return HOST_FAULT;
  sodium_bin2base64(text, size, bytes_of(x), x.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  call->out->text = (Str){text, size - 1};
  return HOST_OK;
}

HostResult builtin__HEX(const BuiltinCall *call) {
  Str x = call->args[0].text;
  if (x.len > SIZE_MAX / 4) return vm__no_memory(call->exec);
  OK(vm__charge(call->exec, x.len / 4));
  char *text = vm__alloc(call->exec, 2 * x.len + 1);
  if (!text) return HOST_FAULT;
  sodium_bin2hex(text, 2 * x.len + 1, bytes_of(x), x.len);
  call->out->text = (Str){text, 2 * x.len};
  return HOST_OK;
}

HostResult builtin__TO_BYTES(const BuiltinCall *call) {
  *call->out = call->args[0];
  return HOST_OK;
}

// Lengths are no secret.
HostResult builtin__CONSTANT_EQUAL(const BuiltinCall *call) {
  Str a = call->args[0].text, b = call->args[1].text;
  OK(vm__charge(call->exec, a.len / 16));
  call->out->i = a.len == b.len && sodium_memcmp(bytes_of(a), bytes_of(b), a.len) == 0;
  return HOST_OK;
}

// ---- addresses --------------------------------------------------------------------------------

static bool is_unreserved(uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

HostResult builtin__URL_ENCODE(const BuiltinCall *call) {
  static const char DIGITS[] = "0123456789ABCDEF";
  Str x = call->args[0].text;
  OK(vm__charge(call->exec, x.len / 4));
  Buf *out = vm__scratch(call->exec);
  for (size_t i = 0; i < x.len && !out->failed; i++) {
    uint8_t c = (uint8_t)x.ptr[i];
    if (is_unreserved(c)) { buf_add_char(out, (char)c); continue; }
    const char coded[3] = {'%', DIGITS[c >> 4], DIGITS[c & 15]};
    buf_add(out, coded, sizeof coded);
  }
  return vm__take_scratch(call->exec, call->out);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// false: a `%` without two digits.
static bool decode(Str x, Buf *out) {
  for (size_t i = 0; i < x.len && !out->failed; i++) {
    if (x.ptr[i] != '%') { buf_add_char(out, x.ptr[i]); continue; }
    int high = i + 2 < x.len ? hex_digit(x.ptr[i + 1]) : -1, low = i + 2 < x.len ? hex_digit(x.ptr[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    buf_add_char(out, (char)(high << 4 | low));
    i += 2;
  }
  return true;
}

HostResult builtin__URL_DECODE(const BuiltinCall *call) {
  Str x = call->args[0].text;
  OK(vm__charge(call->exec, x.len / 4));
  Buf *out = vm__scratch(call->exec);
  Value text;
  bool is_sound = decode(x, out) && (out->failed || utf8_valid(buf_str(out)));
  if (!is_sound) { *call->out = value_none(exec__types(call->exec), call->result); return HOST_OK; }
  OK(vm__take_scratch(call->exec, &text));
  *call->out = value_some(exec__types(call->exec), call->result, text);
  return HOST_OK;
}

HostResult builtin__TO_JSON(const BuiltinCall *call) {
  OK(vm__fit_run(call->exec, call->types, call->args, 1));
  OK(vm__weigh(call->exec, call->types[0], call->args[0]));
  Buf *out = vm__scratch(call->exec);
  value_write_json(exec__types(call->exec), call->types[0], call->args[0], out);
  OK(vm__charge(call->exec, out->len / 8));
  return vm__take_scratch(call->exec, call->out);
}
