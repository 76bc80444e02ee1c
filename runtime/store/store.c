// Opening, committing and closing, in the order that makes the promises of docs/STORE.md true: space first, while nothing
// is at stake; then the change in memory, which only snapshots of the owner can see; then the record and its sync; and
// only then does the durable number let answers go.
#include "runtime/store/store.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/store/record.h"
#include "runtime/store/state.h"

// ---- opening and closing ----------------------------------------------------------------------
static void free_store(Store *store) {
  store__end_syncing(store);
  if (store->options.files) store__close_files(store);
  db_free(store->db);
  store__drop_schemas(store, true);
  buf_free(&store->record);
  mem_free(store->dir_name);
  mem_free(store);
}

static Err open_all(Store *store, ErrText *out_text) {
  store->info.now_us = INT64_MIN;
  if (store->options.files) {
    size_t len = strlen(store->options.dir);
    store->dir_name = mem_alloc(len + 1);
    if (!store->dir_name) return err_say(ERR_MEMORY, out_text, "%s: out of memory", store->options.dir);
    memcpy(store->dir_name, store->options.dir, len + 1);
    TRY(store__open_files(store, out_text));
    TRY(store__recover(store, out_text));
  } else {
    store->info.is_new = store->info.was_clean = true;
  }
  atomic_store(&store->durable, store->info.number);
  Err err = store__start_syncing(store);
  return err == ERR_NONE ? ERR_NONE : store__say(store, err, out_text, "there is no memory for its threads");
}

static Err open_once(const StoreOptions *options, Store **out_store, bool *out_moved, ErrText *out_text) {
  Store *store = mem_alloc_zero(1, sizeof *store);
  if (!store) return err_say(ERR_MEMORY, out_text, "%s: out of memory", options->dir ? options->dir : ":memory:");
  store->options = *options;
  if (!store->options.segment_bytes) store->options.segment_bytes = STORE_SEGMENT_BYTES;
  if (!store->options.record_bytes_max) store->options.record_bytes_max = STORE_RECORD_BYTES_MAX;
  store->pages.units_max = store->options.page_units_max ? store->options.page_units_max : UINT32_MAX;
  buf_init(&store->record, 0);
  buf_init(&store->log.read, 0);
  if (out_text) out_text->text[0] = 0;
  Err err = open_all(store, out_text);
  if (err != ERR_NONE) {
    *out_moved = options->read_only && store->pages.file && pages_moved(&store->pages);
    assert(options->files);  // in memory nothing else fails
    if (out_text && !out_text->text[0]) err_say(err, out_text, "%s: %s", options->dir, err_words(err));
    free_store(store);
    return err;
  }
  *out_store = store;
  return ERR_NONE;
}

// Who only looks, beside a host, may find that a checkpoint has taken away what was being read: then it begins again.
Err store_open(const StoreOptions *options, Store **out_store, ErrText *out_text) {
  enum { TRIES = 8 };
  bool moved = false;
  Err err = open_once(options, out_store, &moved, out_text);
  for (unsigned tries = 1; err != ERR_NONE && moved && tries < TRIES; tries++) {
    moved = false;
    err = open_once(options, out_store, &moved, out_text);
  }
  return err;
}

static Err write_end(Store *store, ErrText *out_text) {
  TRY(store_error(store, out_text));
  if (!store->options.files || store->options.read_only || store->log.ended || store->log.number == 0) return ERR_NONE;
  log_begin(&store->record);
  TRY(store__reserve(store, LOG_RECORD_HEADER_BYTES, out_text));
  log_finish(&store->log, &store->record, LOG_END, store->log.number + 1);
  if (store->record.failed) return store__say(store, ERR_MEMORY, out_text, "the end mark cannot be written");
  Err err = log_write(&store->log, &store->record);
  return err == ERR_NONE ? ERR_NONE : store__say(store, err, out_text, "the end mark cannot be written");
}

Err store_close(Store *store, ErrText *out_text) {
  store_wait(store);
  store__end_checkpoint(store);
  store__last_checkpoint(store);
  Err err = write_end(store, out_text);
  free_store(store);
  return err;
}

void store_abandon(Store *store) {
  store_wait(store);
  store__end_checkpoint(store);
  free_store(store);
}

const StoreInfo *store_info(const Store *store) { return &store->info; }
uint64_t store_disk_bytes(const Store *store) { return store->info.log_bytes + store->page_bytes; }
Db *store_db(Store *store) { return store->db; }
const Schema *store_schema(const Store *store) { return store->db ? db_schema(store->db) : NULL; }

// ---- commits ----------------------------------------------------------------------------------
static Err may_write(Store *store, ErrText *out_text) {
  Err err = store_error(store, out_text);
  if (err != ERR_NONE) return ERR_CLOSED;
  if (store->options.read_only) return err_say(ERR_REFUSED, out_text, "%s: opened to be read only", store->options.dir);
  if (store_busy(store)) return err_say(ERR_AGAIN, out_text, "the last commit is not on disk yet");
  return ERR_NONE;
}

static Err say_record_size(const Store *store, ErrText *out_text) {
  return err_say(ERR_LIMIT, out_text, "%s: a commit of more than %llu bytes", store->dir_name, (unsigned long long)store->options.record_bytes_max);
}

// Builds, sizes and seals the record; the log has room for it then.
static Err prepare(Store *store, LogKind kind, uint64_t number, ErrText *out_text) {
  if (store->record.failed) return store__say(store, ERR_MEMORY, out_text, "a record cannot be built");
  if (store->record.len > store->options.record_bytes_max - LOG_BLOCK_BYTES) return say_record_size(store, out_text);
  TRY(store__reserve(store, store->record.len, out_text));
  log_finish(&store->log, &store->record, kind, number);
  return store->record.failed ? store__say(store, ERR_MEMORY, out_text, "a record cannot be built") : ERR_NONE;
}

static void keep_small(Buf *record) {
  enum { RECORD_KEPT_BYTES = 1 << 20 };
  if (record->cap > RECORD_KEPT_BYTES) buf_free(record);
}

Err store_commit(Store *store, const StoreInput *inputs, uint32_t count, uint64_t *out_number, ErrText *out_text) {
  assert(store->db);
  uint64_t number = store->info.number + 1;
  TRY(may_write(store, out_text));
  if (count > STORE_INPUTS_MAX) return err_say(ERR_LIMIT, out_text, "more than %d inputs in one commit", STORE_INPUTS_MAX);
  TRY(store__tend_checkpoint(store, out_text));
  if (store->options.files) {
    keep_small(&store->record);
    log_begin(&store->record);
    record_write_commit(&store->record, inputs, count, db_txn(store->db));
    TRY(prepare(store, LOG_COMMIT, number, out_text));
    store->info.log_bytes = store->log.bytes_before + store->log.offset + store->record.len - store->checkpoint.log_from;
  }
  txn_seal(db_txn(store->db), number);
  store->info.number = number;
  for (uint32_t i = 0; i < count; i++)
    if (inputs[i].now_us > store->info.now_us) store->info.now_us = inputs[i].now_us;
  *out_number = number;
  store__submit(store, number);
  return ERR_NONE;
}

// ---- schemas ----------------------------------------------------------------------------------
static Err copy_schema(const Schema *schema, SchemaHold *hold, Str *out_bytes, ErrText *out_text) {
  Buf bytes;
  buf_init(&bytes, 0);
  schema_encode(schema, &bytes);
  *out_bytes = bytes.failed ? (Str){0} : arena_copy(&hold->arena, buf_str(&bytes));
  buf_free(&bytes);
  if (!out_bytes->ptr) return ERR_MEMORY;
  return schema_decode(*out_bytes, &hold->arena, &hold->schema, out_text);
}

static Err change_db(Store *store, SchemaHold *hold, const ReshapeTable *tables, ErrText *out_text) {
  if (!store->db) return db_open(&hold->schema, store->options.bytes_max, &store->db);
  if (tables) return db_reshape(store->db, &hold->schema, tables, out_text);
  return ERR_NONE;
}

static Err set_schema(Store *store, SchemaHold *hold, const Schema *schema, RecordSchema *record, ErrText *out_text) {
  uint8_t hash[STORE_HASH_BYTES];
  uint64_t number = store->info.number + 1;
  TRY(copy_schema(schema, hold, &record->schema, out_text));
  schema_hash(record->schema, hash);
  if (store->db && !record->tables && memcmp(hash, store->info.schema_hash, sizeof hash) != 0)
    return err_say(ERR_REFUSED, out_text, "another schema needs a mapping of its tables");
  if (!store->db) record->tables = NULL;
  log_begin(&store->record);
  record_write_schema(&store->record, record, &hold->schema);
  if (store->options.files) TRY(prepare(store, LOG_SCHEMA, number, out_text));
  TRY(change_db(store, hold, record->tables, out_text));
  txn_seal(db_txn(store->db), number);
  store->info.number = number;
  store->info.is_new = false;
  memcpy(store->info.schema_hash, hash, sizeof hash);
  memcpy(store->info.module_hash, record->module_hash, STORE_HASH_BYTES);
  store__submit(store, number);
  store_wait(store);
  return ERR_NONE;
}

Err store_set_schema(Store *store, const Schema *schema, const uint8_t module_hash[STORE_HASH_BYTES], const ReshapeTable *tables, ErrText *out_text) {
  store_wait(store);
  TRY(may_write(store, out_text));
  if (out_text) out_text->text[0] = 0;
  SchemaHold *hold = mem_alloc_zero(1, sizeof *hold);
  if (!hold) return store__say(store, ERR_MEMORY, out_text, "the schema cannot be changed");
  arena_init(&hold->arena, 0);
  RecordSchema record = {.tables = tables};
  memcpy(record.module_hash, module_hash, STORE_HASH_BYTES);
  Err err = set_schema(store, hold, schema, &record, out_text);
  if (store->db && db_schema(store->db) == &hold->schema) {
    hold->older = store->schema;
    store->schema = hold;
    if (!db_has_snapshots(store->db)) store__drop_schemas(store, false);
  } else {
    arena_free(&hold->arena);
    mem_free(hold);
  }
  if (err != ERR_NONE) return out_text && !out_text->text[0] ? store__say(store, err, out_text, "the schema cannot be changed") : err;
  return store_error(store, out_text);
}
