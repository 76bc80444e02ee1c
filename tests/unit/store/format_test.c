// Which files are read: those of this version, byte for byte the same as long as the version is; others are refused by name.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/mem.h"
#include "runtime/store/backup.h"
#include "runtime/store/log_format.h"
#include "runtime/store/pages.h"
#include "runtime/store/record.h"
#include "runtime/table/persist.h"
#include "tests/unit/store/world.h"

static Err tape_read(void *context, void *out_bytes, size_t size, size_t *out_got) {
  Str *tape = context;
  *out_got = tape->len < size ? tape->len : size;
  memcpy(out_bytes, tape->ptr, *out_got);
  *tape = str_part(*tape, *out_got, tape->len);
  return ERR_NONE;
}

// A sound first block that says another version, with the checksum that it must have (its key stands in it at `key_at`).
static void set_version(uint8_t *block, unsigned key_at, uint32_t version) {
  ChecksumKey key;
  memcpy(block + 8, &version, sizeof version);
  memcpy(key.bytes, block + key_at, sizeof key.bytes);
  uint64_t sum = checksum(&key, block, 504);
  memcpy(block + 504, &sum, sizeof sum);
}

Test(format, files_of_another_version_are_refused_by_name) {
  static const struct { const char *path; unsigned key_at; uint32_t version; const char *words; } ROWS[] = {
    {"app/pages", 16, PAGES_VERSION - 1, "app/pages: made by an older aup (format 2, this one reads 3)"},
    {"app/pages", 16, 1, "app/pages: made by an older aup (format 1, this one reads 3)"},
    {"app/pages", 16, PAGES_VERSION + 1, "app/pages: written by a newer aup (format 4, this one reads 3)"},
    {"app/log-0000000000000001", 32, LOG_VERSION - 1, "app/log-0000000000000001: made by an older aup (format 1, this one reads 2)"},
    {"app/log-0000000000000001", 32, LOG_VERSION + 1, "app/log-0000000000000001: written by a newer aup (format 3, this one reads 2)"},
  };
  for (unsigned i = 0; i < countof(ROWS); i++)
    for (int read_only = 0; read_only < 2; read_only++) {
      Sim *sim = sim_new();
      Store *store;
      ErrText text;
      uint64_t size;
      cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE);
      cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
      store_abandon(store);
      set_version(sim_bytes(sim, ROWS[i].path, &size), ROWS[i].key_at, ROWS[i].version);
      StoreOptions options = {.files = sim_files(sim), .dir = WORLD_DIR, .sync_inline = true, .read_only = read_only};
      Err err = store_open(&options, &store, &text);
      cr_assert(err == ERR_VERSION, "%s", ROWS[i].words);
      bool named = strncmp(text.text, ROWS[i].words, strlen(ROWS[i].words)) == 0;
      cr_assert(named, "%s", text.text);
      sim_free(sim);
    }
}

Test(format, a_backup_of_another_version_is_refused) {
  static const struct { uint32_t version; const char *words; } ROWS[] = {{1, "made by an older aup (format 1, this one reads 2)"}, {3, "written by a newer aup (format 3, this one reads 2)"}};
  for (unsigned i = 0; i < countof(ROWS); i++) {
    Sim *sim = sim_new();
    char head[16] = "AUPBACK\n";
    memcpy(head + 8, &ROWS[i].version, 4);
    Str tape = {head, sizeof head};
    BackupInfo info;
    ErrText text;
    cr_assert(backup_restore(sim_files(sim), WORLD_DIR, &(BackupIn){&tape, tape_read}, 0, &info, &text) == ERR_VERSION);
    bool named = strstr(text.text, ROWS[i].words) != NULL;
    cr_assert(named, "%s", text.text);
    sim_free(sim);
  }
}

// ---- the bytes of this version ----------------------------------------------------------------
enum { T_INT, T_TEXT, T_OPT, T_DECIMAL, T_LIST, T_RECORD, T_ENUM, T_MAP, TYPES };
static const Type TYPE_LIST_ALL[TYPES] = {
  {.kind = TYPE_INT}, {.kind = TYPE_TEXT}, {.kind = TYPE_OPTIONAL, .of = T_INT}, {.kind = TYPE_DECIMAL, .scale = 2}, {.kind = TYPE_LIST, .of = T_INT}, {.kind = TYPE_RECORD, .of = 0},
  {.kind = TYPE_ENUM, .of = 0}, {.kind = TYPE_MAP, .of = T_INT, .to = T_TEXT}};
static const FieldDef FIELDS[] = {{.name = STR("x"), .type = T_INT, .has_default = true}, {.name = STR("y"), .type = T_TEXT}};
static const RecordDef RECORDS[] = {{.name = STR("Point"), .field_count = 2, .fields = FIELDS}};
static const CaseDef CASES[] = {{.name = STR("red")}, {.name = STR("blue")}};
static const EnumDef ENUMS[] = {{.name = STR("Colour"), .case_count = 2, .cases = CASES, .plain = true}};
static const TypeId KEYS[] = {T_INT, T_INT};
static const Str NAMES[] = {STR("state"), STR("Row")};
static const ColumnDef STATE[] = {{.name = STR("key"), .type = T_INT}, {.name = STR("Row.id"), .type = T_INT, .hidden = true}};
static const ColumnDef ROW[] = {{.name = STR("id"), .type = T_INT}, {.name = STR("text"), .type = T_TEXT}, {.name = STR("more"), .type = T_OPT}, {.name = STR("cost"), .type = T_DECIMAL},
  {.name = STR("list"), .type = T_LIST}, {.name = STR("at"), .type = T_RECORD}, {.name = STR("colour"), .type = T_ENUM}, {.name = STR("map"), .type = T_MAP}};
static const uint16_t KEY[] = {0}, CARRIED[] = {3};
static const IndexColumn BY_TEXT[] = {{1, true}};
static const KeptDef INDEX_KEPT[] = {{3, KEPT_SUM}}, ROW_KEPT[] = {{2, KEPT_COUNT | KEPT_SUM}, {3, KEPT_ALL}};
static const IndexDef INDEXES[] = {{.column_count = 1, .columns = BY_TEXT, .unique = true, .condition = 0xFFFF, .carried_count = 1, .carried = CARRIED, .kept_count = 1, .kept = INDEX_KEPT}};
static const TableDef TABLES[] = {{.name = STR("state"), .column_count = 2, .columns = STATE, .key_count = 1, .key = KEY},
  {.name = STR("Row"), .column_count = 8, .columns = ROW, .key_count = 1, .key = KEY, .auto_key = true, .auto_column = 1, .index_count = 1, .indexes = INDEXES, .rows_max = 100000, .kept_count = 2, .kept = ROW_KEPT}};
static const Schema EVERYTHING = {
  .types = {.types = TYPE_LIST_ALL, .count = TYPES, .records = RECORDS, .record_count = 1, .enums = ENUMS, .enum_count = 1, .table_keys = KEYS, .table_names = NAMES, .table_count = 2},
  .table_count = 2, .tables = TABLES};

typedef struct Images { HashState hash; uint32_t place; } Images;

static Err hash_image(void *context, const uint8_t *image, uint32_t bytes, PageRef *out_ref) {
  Images *images = context;
  hash_add(&images->hash, image, bytes);
  *out_ref = (PageRef){.place = ++images->place, .bytes = bytes, .sum = images->place};
  return ERR_NONE;
}

static Err keep_none(void *context, PageRef ref) {
  (void)context;
  (void)ref;
  return ERR_DAMAGED;
}

static void put_rows(Txn *txn, int64_t count) {
  static const Value POINT[] = {{.i = 3}, {.text = STR("a point")}};
  Arena arena;
  arena_init(&arena, 0);
  List *numbers = list_new(&arena, 2), *map = list_new(&arena, 2);
  cr_assert(numbers && map);
  numbers->items[0].i = 1;
  numbers->items[1].i = -2;
  map->items[0].i = 5;
  map->items[1].text = STR("five");
  char text[110];
  for (int64_t id = 1; id <= count; id++) {
    snprintf(text, sizeof text, "row %-100lld", (long long)id);
    Value row[8] = {{.i = id}, {.text = {text, 20 + (size_t)id % 80}}, {.opt = {id, id % 2}}, {.dec = id * 100}, {.list = numbers}, {.record = POINT}, {.i = id % 2}, {.list = map}};
    cr_assert(txn_insert(txn, 1, row) == ERR_NONE, "row %lld", (long long)id);
  }
  arena_free(&arena);
}

// The fixed parts, a schema, changes of rows, a commit's record and the images of pages; the last with inner pages and long
// texts only where pages have their ordinary size. Whoever changes any of it raises LOG_VERSION, PAGES_VERSION and
// BACKUP_VERSION and writes down the new sum here; rows go from the old to the new by `dump` and `load`.
Test(format, bytes_belong_to_the_versions) {
  Images images = {.place = 0};
  Buf bytes;
  buf_init(&bytes, 0);
  hash_begin(&images.hash);
  for (unsigned i = 0; i < TYPE_KIND_COUNT; i++) hash_add(&images.hash, type_kind_words((TypeKind)i), strlen(type_kind_words((TypeKind)i)));
  uint8_t block[LOG_BLOCK_BYTES], head[LOG_RECORD_HEADER_BYTES];
  segment_header_write(&(SegmentHeader){.id = {{1}}, .key = {{2}}, .first = 3, .reserved = 4, .predecessor = 5}, block);
  RecordHeader record = {.kind = LOG_ROLL, .body_bytes = 6, .number = 7, .offset = 8, .reserved = 9, .predecessor = 10, .body_sum = 11};
  record_header_write(&record, &(ChecksumKey){{3}}, head);
  hash_add(&images.hash, block, sizeof block);
  hash_add(&images.hash, head, sizeof head);
  schema_encode(&EVERYTHING, &bytes);
  Db *db;
  cr_assert(db_open(&EVERYTHING, 0, &db) == ERR_NONE);
#ifdef AUP_HOSTILE
  put_rows(db_txn(db), 3);
#else
  put_rows(db_txn(db), 300);
#endif
  StoreInput input = {.name = STR("add"), .caller = STR("me"), .now_us = -5, .seed = 300, .args = STR("\x01"), .status = 2};
  RecordSchema schema = {.module_hash = {9}, .schema = buf_str(&bytes)};
  Buf bodies;
  buf_init(&bodies, 0);
  record_write_schema(&bodies, &schema, &EVERYTHING);
  record_write_commit(&bodies, &input, 1, db_txn(db));
  hash_add(&images.hash, bodies.ptr, bodies.len);
  txn_seal(db_txn(db), 1);
  Snapshot *snapshot = db_snapshot_take(db);
  PersistSink sink = {.context = &images, .keep = keep_none, .put = hash_image};
  buf_clear(&bytes);
  cr_assert(persist_write(snapshot, &sink, &bytes) == ERR_NONE);
  hash_add(&images.hash, bytes.ptr, bytes.len);
  snapshot_release(snapshot);
  db_free(db);
  buf_free(&bytes);
  buf_free(&bodies);
  Hash sum = hash_end(&images.hash);
  char words[17];
  for (int i = 0; i < 8; i++) snprintf(words + 2 * i, 3, "%02x", sum.bytes[i]);
  cr_assert(LOG_VERSION == 2 && PAGES_VERSION == 3 && BACKUP_VERSION == 2);
#ifdef AUP_HOSTILE
  cr_assert_str_eq(words, "115555a362e3a442");
#else
  cr_assert_str_eq(words, "314ea4e075efb0f0");
#endif
}
