// A check opens the store as its owner would, but to be read only, and then looks at what opening takes on trust: rows against
// kept sums and indexes, values against their types, the checkpoint before the newest, and the modules.
#include "runtime/store/tools.h"

#include <string.h>

#include "runtime/store/state.h"
#include "runtime/value/codec.h"

// ---- values -----------------------------------------------------------------------------------
// The codec refuses what is no value of its type; so a value that was written and reads back is one.
static Err check_value(const TypeTable *types, TypeId type, Value value, Arena *arena, Buf *buf) {
  Value again = {.text = {0}};
  buf_clear(buf);
  value_encode(types, type, value, buf);
  if (buf->failed) return ERR_MEMORY;
  Str bytes = buf_str(buf);
  TRY(value_decode(types, type, &bytes, arena, true, &again));
  return bytes.len ? ERR_FORMAT : ERR_NONE;
}

static Err check_row(Cursor *cursor, const Schema *schema, uint16_t table, Arena *arena, Buf *buf) {
  const TableDef *def = &schema->tables[table];
  for (uint16_t c = 0; c < def->column_count; c++) {
    Value value;
    TRY(cursor_column(cursor, c, arena, &value));
    TRY(check_value(&schema->types, def->columns[c].type, value, arena, buf));
  }
  return ERR_NONE;
}

static Err check_table(const Reader *reader, uint16_t table, Arena *arena, Buf *buf) {
  Arena row;
  Cursor *cursor = NULL;
  Range all = {.table = table, .index = SCHEMA_NO_INDEX};
  TRY(cursor_open(reader, &all, arena, &cursor));
  arena_init(&row, 0);
  Err err = ERR_NONE;
  while (err == ERR_NONE && cursor_next(cursor)) {
    arena_reset(&row);
    err = check_row(cursor, reader_schema(reader), table, &row, buf);
  }
  arena_free(&row);
  return err;
}

Err store_check_values(const Reader *reader, ErrText *out_text) {
  const Schema *schema = reader_schema(reader);
  Err err = ERR_NONE;
  Buf buf;
  Arena arena;
  buf_init(&buf, 0);
  arena_init(&arena, 0);
  for (uint16_t t = 0; t < schema->table_count && err == ERR_NONE; t++) {
    arena_reset(&arena);
    err = check_table(reader, t, &arena, &buf);
    if (err == ERR_FORMAT) err = err_say(ERR_DAMAGED, out_text, "table " STR_FMT ": a value is none of its type", STR_ARG(schema->tables[t].name));
    else if (err != ERR_NONE) err = err_say(err, out_text, "table " STR_FMT ": %s", STR_ARG(schema->tables[t].name), err_words(err));
  }
  arena_free(&arena);
  buf_free(&buf);
  return err;
}

// ---- modules ----------------------------------------------------------------------------------
typedef struct Modules { Store *store; uint64_t count; ErrText *text; } Modules;

static Err check_module(void *context, const char *name) {
  Modules *modules = context;
  uint8_t hash[STORE_HASH_BYTES];
  Arena arena;
  Str bytes;
  if (!store__module_hash(name, hash)) return ERR_NONE;
  arena_init(&arena, 0);
  Err err = store_load_module(modules->store, hash, &arena, &bytes, modules->text);
  modules->count++;
  arena_free(&arena);
  return err;
}

// ---- all of it --------------------------------------------------------------------------------
static Err check_state(Store *store, ErrText *out_text) {
  if (!store->db) return ERR_NONE;
  ErrText text = {{0}};
  Err err = reader_check(txn_reader(db_txn(store->db)), &text);
  if (err == ERR_NONE) err = store_check_values(txn_reader(db_txn(store->db)), &text);
  return err == ERR_NONE ? ERR_NONE : err_say(err, out_text, "%s: %s", store->dir_name, text.text);
}

static void count_rows(const Store *store, StoreReport *report) {
  const Schema *schema = store_schema(store);
  for (uint16_t t = 1; schema && t < schema->table_count; t++) {
    report->tables++;
    report->rows += reader_row_count(txn_reader(db_txn(store->db)), t);
  }
  report->pages_bytes = store->db ? db_bytes(store->db) : 0;
}

static Err check_one(const StoreOptions *options, StoreReport *report, ErrText *out_text) {
  Store *store;
  TRY(store_open(options, &store, out_text));
  report->info = *store_info(store);
  if (store->info.fell_back) {
    Err said = err_say(ERR_DAMAGED, out_text, "%s/%s: damaged at offset %llu: the newest checkpoint cannot be read; the one before it and the log make up for it", store->dir_name, PAGES_NAME,
            (unsigned long long)store->pages.bad_at);
    store_abandon(store);
    return said;
  }
  count_rows(store, report);
  Err err = check_state(store, out_text);
  Modules modules = {.store = store, .text = out_text};
  if (err == ERR_NONE && store->options.files->dir_open(options->files, store->dir, "modules", false, &store->modules) == ERR_NONE)
    err = options->files->dir_list(options->files, store->modules, check_module, &modules);
  report->modules = modules.count;
  store_abandon(store);
  return err;
}

Err store_check(FileSystem *files, const char *dir, StoreReport *out_report, ErrText *out_text) {
  StoreOptions options = {.files = files, .dir = dir, .read_only = true};
  StoreReport older = {0};
  *out_report = (StoreReport){0};
  TRY(check_one(&options, out_report, out_text));
  if (!out_report->info.checkpoint_before) return ERR_NONE;
  options.older = true;
  TRY(check_one(&options, &older, out_text));
  out_report->older_checked = true;
  return ERR_NONE;
}

Err store_repair(FileSystem *files, const char *dir, uint64_t number, ErrText *out_text) {
  StoreOptions options = {.files = files, .dir = dir, .read_only = true, .stop_after = number};
  Store *store;
  if (number == 0) return err_say(ERR_REFUSED, out_text, "%s: the first commit is number 1", dir);
  TRY(store_open(&options, &store, out_text));
  Err err = check_state(store, out_text);
  store_abandon(store);
  if (err != ERR_NONE) return err;
  options.read_only = false;
  options.sync_inline = true;
  options.checkpoint_bytes = UINT64_MAX;
  TRY(store_open(&options, &store, out_text));
  return store_close(store, out_text);
}
