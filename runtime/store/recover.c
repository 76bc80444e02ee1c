// From the page file and the log to the Db: the newest checkpoint that can be read, then the records since. In the log the first schema record makes it, later ones change its shape, commits change its rows. No
// module is needed for that, and none is looked at.
#include <assert.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/store/record.h"
#include "runtime/store/state.h"
#include "runtime/value/codec.h"

// ---- schemas ----------------------------------------------------------------------------------
// What no snapshot can see any more is let go.
void store__drop_schemas(Store *store, bool all) {
  SchemaHold **link = all ? &store->schema : &store->schema->older;
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

static bool is_same_schema(const Store *store, Str encoded) {
  uint8_t hash[STORE_HASH_BYTES];
  schema_hash(encoded, hash);
  return memcmp(hash, store->info.schema_hash, sizeof hash) == 0;
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
    db_set_bytes_max(store->db, 0);  // what was done once is done again, however full the pages are this time
    Err err = db_reshape(store->db, &hold->schema, tables, text);
    db_set_bytes_max(store->db, store->options.bytes_max);
    if (err != ERR_NONE) return err;
  } else if (!is_same_schema(store, schema.schema)) {
    return ERR_FORMAT;  // another one needs a mapping
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
  assert(!store->db || db_schema(store->db) != &hold->schema);
  arena_free(&hold->arena);
  mem_free(hold);
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

// ---- the page file ----------------------------------------------------------------------------
typedef struct Load { Store *store; SpaceMap *map; Buf image; ErrText *text; bool said; } Load;

static Err get_page(void *context, PageRef ref, const uint8_t **out_image) {
  Load *load = context;
  Err err = pages_read(&load->store->pages, ref, load->map, &load->image, load->text);
  load->said = err != ERR_NONE;
  *out_image = (const uint8_t *)load->image.ptr;
  return err;
}

static Err load_trees(Load *load, const PagesRoot *root, SchemaHold *hold) {
  Store *store = load->store;
  uint64_t len;
  if (root->description.bytes > PAGES_ROOT_BYTES_MAX) return ERR_FORMAT;
  const uint8_t *bytes;
  TRY(get_page(load, root->description, &bytes));
  Str rest = arena_copy(&hold->arena, (Str){(const char *)bytes, root->description.bytes});
  if (!rest.ptr) return ERR_MEMORY;
  TRY(varint_read(&rest, &len));
  if (len > rest.len) return ERR_FORMAT;
  TRY(schema_decode((Str){rest.ptr, len}, &hold->arena, &hold->schema, load->text));
  PersistSource source = {.context = load, .get = get_page};
  PersistState state = {.schema = &hold->schema, .bytes_max = store->options.bytes_max, .number = root->number, .roots = str_part(rest, len, rest.len)};
  return persist_load(&state, &source, &store->db, load->text);
}

static Err load_slot(Store *store, int slot, ErrText *out_text) {
  PageFile *pages = &store->pages;
  const PagesRoot *root = &pages->roots[slot];
  ErrText text = {{0}};
  Load load = {.store = store, .map = &pages->maps[slot], .text = &text};
  SchemaHold *hold = mem_alloc_zero(1, sizeof *hold);
  if (!hold) return ERR_MEMORY;
  arena_init(&hold->arena, 0);
  buf_init(&load.image, 0);
  pages->bad_at = pages_slot_offset(slot);
  Err err = load_trees(&load, root, hold);
  buf_free(&load.image);
  if (err != ERR_NONE) {
    arena_free(&hold->arena);
    mem_free(hold);
    space_free(&pages->maps[slot]);
    if (load.said) return *out_text = text, err;
    if (err != ERR_FORMAT) return err;
    return err_say(ERR_DAMAGED, out_text, "%s/%s: damaged at offset %llu: %s", store->dir_name, PAGES_NAME, (unsigned long long)pages->bad_at,
                   text.text[0] ? text.text : "this is no description of a state");
  }
  hold->older = store->schema;
  store->schema = hold;
  pages->slots[slot] = SLOT_GOOD;
  pages->newest = slot;
  pages->since = db_sealed_epoch(store->db);
  return ERR_NONE;
}

// Roots that are not to be used: beyond where reading stops (then they go for good, before anything of the log does), or the
// newest when the one before it is asked for.
static Err leave_out(Store *store) {
  PageFile *pages = &store->pages;
  int newest = pages_best_slot(pages);
  for (int slot = 0; slot < 2; slot++) {
    bool beyond = pages->slots[slot] == SLOT_READ && store->options.stop_after && pages->roots[slot].number > store->options.stop_after;
    if (beyond && !store->options.read_only) TRY(pages_clear_slot(pages, slot));
    if (beyond || (store->options.older && slot == newest)) pages->slots[slot] = SLOT_BAD;
  }
  return ERR_NONE;
}

// The newest state that can be read. [S23] One that cannot is made up for by the one before it and the log since then, which
// is kept as long as that one is.
static Err load_state(Store *store, ErrText *out_text) {
  PageFile *pages = &store->pages;
  TRY(leave_out(store));
  uint64_t bad_at = 0;
  for (int slot; (slot = pages_best_slot(pages)) >= 0;) {
    ErrText *text = store->info.fell_back ? NULL : out_text;  // the first is the one to tell
    Err err = load_slot(store, slot, text ? text : &(ErrText){{0}});
    if (err == ERR_NONE) {
      const PagesRoot *root = &pages->roots[slot];
      store->info.is_new = false;
      store->info.checkpoint = root->number;
      store->info.checkpoint_before = pages->slots[1 - slot] == SLOT_READ ? pages->roots[1 - slot].number : 0;
      store->info.now_us = root->now_us;
      memcpy(store->info.module_hash, root->module_hash, STORE_HASH_BYTES);
      memcpy(store->info.schema_hash, root->schema_hash, STORE_HASH_BYTES);
      pages->bad_at = bad_at;
      return ERR_NONE;
    }
    if (err != ERR_DAMAGED) return err;
    pages->slots[slot] = SLOT_BAD;
    if (!store->info.fell_back) bad_at = pages->bad_at;
    store->info.fell_back = true;
  }
  return ERR_NONE;
}

// ---- all of it --------------------------------------------------------------------------------
// [S24] The log must hold the record that the checkpoint ends with, or begin right behind it.
static Err check_seam(Store *store, const PagesRoot *root, ErrText *out_text) {
  if (store->log.number == root->number && store->log.sum != root->log_sum)
    return err_say(ERR_DAMAGED, out_text, "%s/%s: record %llu is not the one that the checkpoint ends with", store->dir_name, store->log.name, (unsigned long long)root->number);
  return ERR_NONE;
}

static Err replay_log(Store *store, const PagesRoot *root, ErrText *out_text) {
  TRY(log_open(&store->log, root->number, root->log_sum, out_text));
  for (;;) {
    LogRecord record;
    bool end;
    TRY(log_read_next(&store->log, &record, &end, out_text));
    if (end) break;
    TRY(check_seam(store, root, out_text));
    if (record.number > root->number) TRY(replay(store, &record, out_text));
  }
  if (store->options.stop_after && store->log.number != store->options.stop_after)
    return err_say(ERR_NOT_FOUND, out_text, "%s: there is no commit %llu: the last one is %llu", store->dir_name, (unsigned long long)store->options.stop_after, (unsigned long long)store->log.number);
  return ERR_NONE;
}

// [S25] What an earlier process wrote without being told that it is on disk is written again before anything rests on it.
static Err confirm(Store *store, ErrText *out_text) {
  Err err = pages_confirm(&store->pages);
  if (err == ERR_NONE) err = log_confirm(&store->log);
  return err == ERR_NONE ? ERR_NONE : store__say(store, err, out_text, "what was read cannot be written again");
}

Err store__recover(Store *store, ErrText *out_text) {
  static const PagesRoot NOTHING;
  ErrText page_text = {{0}}, text = {{0}};
  if (store->log.at_end) return ERR_NONE;  // just made
  store->info.is_new = true;
  Err err = load_state(store, &page_text);
  if (err == ERR_NONE) err = replay_log(store, store->pages.newest >= 0 ? &store->pages.roots[store->pages.newest] : &NOTHING, &text);
  if (err != ERR_NONE) {
    if (out_text) *out_text = page_text.text[0] ? page_text : text;
    return err;
  }
  if (!store->options.read_only) TRY(confirm(store, out_text));
  buf_free(&store->log.read);
  store->info.number = store->log.number;
  store->info.was_clean = (store->log.ended || store->log.number == 0) && !store->log.dropped_at;
  store->info.dropped_at = store->log.dropped_at;
  store->info.log_bytes = store->log.bytes_before + store->log.offset;
  store->page_bytes = store->pages.size;
  return ERR_NONE;
}
