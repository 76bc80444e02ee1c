// From the log to the Db: the first schema record makes it, later ones change its shape, commits change its rows. No
// module is needed for that, and none is looked at.
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/store/record.h"
#include "runtime/store/state.h"

// ---- schemas ----------------------------------------------------------------------------------
// What no snapshot can see any more is let go.
void store__drop_schemas(Store *store, bool all) {
  SchemaHold **link = all || !store->schema ? &store->schema : &store->schema->older;
  while (*link) {
    SchemaHold *hold = *link;
    *link = hold->older;
    arena_free(&hold->arena);
    mem_free(hold);
  }
}

static Err say_record(const Store *store, const LogRecord *record, Err err, const ErrText *why, ErrText *out_text) {
  bool damage = err == ERR_FORMAT || err == ERR_REFUSED || err == ERR_EXISTS || err == ERR_NOT_FOUND;
  return err_say(damage ? ERR_DAMAGED : err, out_text, "%s/%s: record %llu at offset %llu: %s", store->dir_name, store->log.name,
                 (unsigned long long)record->number, (unsigned long long)record->offset, why && why->text[0] ? why->text : err_words(err));
}

static Err apply_schema(Store *store, const LogRecord *record, SchemaHold *hold, ErrText *text) {
  RecordSchema schema;
  Str mapping;
  const ReshapeTable *tables = NULL;
  TRY(record_read_schema(record->body, &hold->arena, &hold->schema, &schema, &mapping, text));
  if (!store->db) {
    if (mapping.ptr) return ERR_FORMAT;
    TRY(db_open(&hold->schema, store->options.bytes_max, &store->db));
  } else if (mapping.ptr) {
    TRY(record_read_mapping(mapping, db_schema(store->db), &hold->schema, &hold->arena, &tables));
    TRY(db_reshape(store->db, &hold->schema, tables, text));
  }
  memcpy(store->info.module_hash, schema.module_hash, STORE_HASH_BYTES);
  schema_hash(schema.schema, store->info.schema_hash);
  store->info.is_new = false;
  bool used = db_schema(store->db) == &hold->schema;
  if (used) {
    hold->older = store->schema;
    store->schema = hold;
    store__drop_schemas(store, false);
  }
  return used ? ERR_NONE : ERR_AGAIN;  // AGAIN: the hold is not needed
}

static Err replay_schema(Store *store, const LogRecord *record, ErrText *out_text) {
  ErrText text = {{0}};
  SchemaHold *hold = mem_alloc_zero(1, sizeof *hold);
  if (!hold) return ERR_MEMORY;
  arena_init(&hold->arena, 0);
  Err err = apply_schema(store, record, hold, &text);
  if (err == ERR_NONE) return ERR_NONE;
  bool in_use = store->db && db_schema(store->db) == &hold->schema;
  if (in_use) {  // the record was bad behind the schema itself
    hold->older = store->schema;
    store->schema = hold;
  } else {
    arena_free(&hold->arena);
    mem_free(hold);
  }
  return err == ERR_AGAIN ? ERR_NONE : say_record(store, record, err, &text, out_text);
}

// ---- commits ----------------------------------------------------------------------------------
static Err replay_commit(Store *store, const LogRecord *record, ErrText *out_text) {
  RecordCommit commit;
  ErrText text = {{0}};
  Err err = record_read_commit(record->body, NULL, NULL, &commit);
  if (err == ERR_NONE && !store->db) err = ERR_FORMAT;
  if (err == ERR_NONE) err = txn_apply_changes(db_txn(store->db), commit.changes, &text);
  if (err != ERR_NONE) return say_record(store, record, err, &text, out_text);
  if (commit.now_us > store->info.now_us) store->info.now_us = commit.now_us;
  return ERR_NONE;
}

static Err replay(Store *store, const LogRecord *record, ErrText *out_text) {
  Err err = ERR_NONE;
  if (record->kind == LOG_SCHEMA) err = replay_schema(store, record, out_text);
  if (record->kind == LOG_COMMIT) err = replay_commit(store, record, out_text);
  if (err != ERR_NONE) return err;
  if (store->db) txn_seal(db_txn(store->db), record->number);
  store->info.records++;
  return ERR_NONE;
}

Err store__recover(Store *store, ErrText *out_text) {
  if (store->log.at_end) return ERR_NONE;  // just made
  store->info.is_new = true;
  TRY(log_open(&store->log, 0, 0, out_text));
  for (;;) {
    LogRecord record;
    bool end;
    TRY(log_read_next(&store->log, &record, &end, out_text));
    if (end) break;
    TRY(replay(store, &record, out_text));
  }
  buf_free(&store->log.read);
  store->info.number = store->log.number;
  store->info.was_clean = (store->log.ended || store->log.number == 0) && !store->log.dropped_at;
  store->info.dropped_at = store->log.dropped_at;
  store->info.log_bytes = store->log.bytes_before + store->log.offset;
  return ERR_NONE;
}
