// Issuing is the one thing in an input that is not made from its seed: who knows the seed (it stands in the log) must not be able to
// make the token again. What the input did comes out the same from the log all the same, since that holds the rows.
#include "runtime/app/tokens.h"

#include <sodium.h>

#include "runtime/app/app_internal.h"
#include "runtime/base/calendar.h"
#include "runtime/base/hash.h"
#include "runtime/base/rng.h"

enum { TOKEN_BYTES = 32, TOKENS_DROPPED_AT_ONCE = 8 };

uint16_t tokens_find(const Schema *schema) {
  static const TypeKind KINDS[TOKENS_COLUMNS] = {[TOKENS_HASH] = TYPE_BYTES, [TOKENS_SUBJECT] = TYPE_TEXT, [TOKENS_ROLES] = TYPE_TEXT, [TOKENS_EXPIRES] = TYPE_TIME};
  int found = schema_find_table(schema, STR("~tokens"));
  if (found < 0) return TOKENS_NONE;
  const TableDef *def = &schema->tables[found];
  bool sound = def->column_count == TOKENS_COLUMNS && def->key_count == 1 && def->key[0] == TOKENS_HASH && def->index_count == 1 &&
               def->indexes[TOKENS_BY_EXPIRY].columns[0].column == TOKENS_EXPIRES && !def->indexes[TOKENS_BY_EXPIRY].columns[0].descending;
  for (uint16_t i = 0; sound && i < TOKENS_COLUMNS; i++) sound = type_kind(&schema->types, def->columns[i].type) == KINDS[i];
  return sound ? (uint16_t)found : TOKENS_NONE;
}

// ---- forgetting -------------------------------------------------------------------------------------

// The key of the first row at or before `now_us`; false: there is none.
static Err first_over(const Reader *reader, const Range *range, Arena *arena, Value *out_key, bool *out_found) {
  Cursor *cursor = NULL;
  TRY(cursor_open(reader, range, arena, &cursor));
  *out_found = cursor_next(cursor);
  return *out_found ? cursor_key(cursor, arena, out_key) : ERR_NONE;
}

Err tokens_drop_before(Txn *txn, uint16_t table, uint16_t index, int64_t now_us, uint32_t most) {
  Range range = {.table = table, .index = index, .has_high = true, .high_inclusive = true, .high = {.i = now_us}};
  Arena arena;
  arena_init(&arena, 0);
  Err err = ERR_NONE;
  bool found = true;
  for (uint32_t i = 0; err == ERR_NONE && i < most; i++) {
    Value key;
    err = first_over(txn_reader(txn), &range, &arena, &key, &found);
    if (err != ERR_NONE || !found) break;
    err = txn_delete(txn, table, key);
    arena_reset(&arena);
  }
  arena_free(&arena);
  return err;
}

// ---- issuing ----------------------------------------------------------------------------------------

// Their names, one a line.
static Str roles_text(const Module *module, uint64_t roles, Arena *arena) {
  Buf names;
  buf_init(&names, 0);
  for (uint16_t i = 0; i < module->role_count; i++) {
    if (!(roles >> i & 1)) continue;
    if (names.len) buf_add_text(&names, "\n");
    buf_add_str(&names, module->roles[i].name);
  }
  Str copy = names.failed ? (Str){0} : arena_copy(arena, buf_str(&names));
  buf_free(&names);
  return copy;
}

static Str new_text(Arena *arena) {
  enum { VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING };
  uint8_t secret[TOKEN_BYTES];
  size_t size = sodium_base64_encoded_len(sizeof secret, VARIANT);
  char *text = arena_alloc(arena, size);
  if (!text) return (Str){0};
  rng_secret(secret, sizeof secret);
  sodium_bin2base64(text, size, secret, sizeof secret, VARIANT);
  sodium_memzero(secret, sizeof secret);
  return (Str){text, size - 1};
}

static HostResult put(Exec *exec, Txn *txn, uint16_t table, Value columns[TOKENS_COLUMNS]) {
  Err err = tokens_drop_before(txn, table, TOKENS_BY_EXPIRY, exec->call.now_us, TOKENS_DROPPED_AT_ONCE);
  if (err == ERR_NONE && reader_row_count(txn_reader(txn), table) >= APP_TOKENS_MAX)
    return vm_reject(exec, ERROR_LIMIT, (Str){0}, "There are too many tokens: 100000 are in use (APP_TOKENS_MAX).");
  if (err == ERR_NONE) err = txn_insert(txn, table, columns);
  if (err == ERR_NONE) return HOST_OK;
  if (err == ERR_LIMIT || err == ERR_FULL) return vm_reject(exec, ERROR_LIMIT, (Str){0}, "There is no room for another token.");
  return vm_fault(exec, err == ERR_MEMORY ? FAULT_BUDGET : FAULT_STORE, err_words(err));
}

HostResult tokens_issue(Exec *exec, Txn *txn, uint16_t table, const NewToken *token, Value *out_text) {
  if (!txn || table == TOKENS_NONE) return vm_fault(exec, FAULT_STORE, "there is no table to put a token into");
  if (!token->subject.len || token->subject.len > APP_TOKEN_SUBJECT_BYTES_MAX)
    return vm_reject(exec, ERROR_LIMIT, (Str){0}, "The subject of a token has 1 to 200 bytes (APP_TOKEN_SUBJECT_BYTES_MAX).");
  if (token->lasts_us <= 0 || token->lasts_us > APP_TOKEN_LASTS_MAX_DAYS * DAY)
    return vm_reject(exec, ERROR_BAD_ARGUMENT, (Str){0}, "A token lasts for more than no time, and at most 3660 days (APP_TOKEN_LASTS_MAX_DAYS).");
  int64_t expires_us;
  if (__builtin_add_overflow(exec->call.now_us, token->lasts_us, &expires_us)) return vm_fault(exec, FAULT_OVERFLOW, NULL);
  Str text = new_text(&exec->arena), names = roles_text(exec->module, token->roles, &exec->arena);
  if (!text.ptr || !names.ptr) return vm_fault(exec, FAULT_BUDGET, "no memory for a token");
  Hash hash = hash_of(text);
  Value columns[TOKENS_COLUMNS] = {[TOKENS_HASH] = {.text = {(const char *)hash.bytes, HASH_BYTES}}, [TOKENS_SUBJECT] = {.text = token->subject},
                                   [TOKENS_ROLES] = {.text = names}, [TOKENS_EXPIRES] = {.i = expires_us}};
  out_text->text = text;
  return put(exec, txn, table, columns);
}

// ---- finding ----------------------------------------------------------------------------------------

// Roles that are gone, or computed by now, are none.
static uint64_t roles_of(const Module *module, Str names) {
  uint64_t roles = 0;
  while (names.len) {
    const char *end = memchr(names.ptr, '\n', names.len);
    Str name = {names.ptr, end ? (size_t)(end - names.ptr) : names.len};
    int role = module_find_role(module, name);
    if (role >= 0 && module->roles[role].function == NO_FUNCTION) roles |= (uint64_t)1 << role;
    size_t taken = name.len + (end != NULL);
    names = (Str){names.ptr + taken, names.len - taken};
  }
  return roles;
}

bool app_find_token(const App *app, const Hash *hash, int64_t now_us, Arena *arena, AppToken *out_token) {
  const Published *published = app->published;
  const Module *module = published->module->module;
  uint16_t table = tokens_find(&module->schema);
  Value key = {.text = {(const char *)hash->bytes, HASH_BYTES}}, subject, roles, expires;
  Row row;
  if (table == TOKENS_NONE || !row_find(snapshot_reader(published->snapshot), table, key, &row)) return false;
  bool read = row_column(&row, TOKENS_SUBJECT, arena, &subject) == ERR_NONE && row_column(&row, TOKENS_ROLES, arena, &roles) == ERR_NONE &&
              row_column(&row, TOKENS_EXPIRES, arena, &expires) == ERR_NONE;
  if (!read || expires.i <= now_us) return false;
  *out_token = (AppToken){.subject = arena_copy(arena, subject.text), .roles = roles_of(module, roles.text), .expires_us = expires.i};
  return out_token->subject.ptr != NULL;
}
