// Makes what `log`, `pages` and `backup` start from: store_seeds CORPUS_DIR, whose folders log, pages and backup get files of
// today's formats. To be run again when a format's version rises (the old files removed first), and the result committed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "runtime/base/buf.h"
#include "runtime/base/mem.h"
#include "runtime/store/backup.h"
#include "runtime/store/backup_format.h"
#include "runtime/store/log_format.h"
#include "runtime/table/persist.h"
#include "tests/unit/store/world.h"

static const char LOG_PATH[] = "app/log-0000000000000001";
static const char *corpus;

static void must(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "store_seeds: %s\n", what);
  exit(1);
}

static void write_seed(const char *fuzzer, const char *name, unsigned number, const Buf *bytes) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s/%s%u", corpus, fuzzer, name, number);
  FILE *file = fopen(path, "wb");
  must(file && !bytes->failed && fwrite(bytes->ptr, 1, bytes->len, file) == bytes->len && fclose(file) == 0, path);
}

// A store with both schemas and `commits` commits of two inputs.
static Sim *make(unsigned commits, uint64_t checkpoint_bytes, Store **out_store) {
  Sim *sim = sim_new();
  ErrText text;
  world_checkpoint_bytes = checkpoint_bytes;
  must(world_open(sim_files(sim), 0, true, out_store, &text) == ERR_NONE && world_set_schema(*out_store, 1, &text) == ERR_NONE, "a store");
  for (unsigned i = 0; i < commits; i++) {
    if (i == commits / 2) must(world_set_schema(*out_store, 2, &text) == ERR_NONE, "another schema");
    must(world_commit(*out_store, 1 + 2 * (int64_t)i, 2, &text) == ERR_NONE, "a commit");
  }
  return sim;
}

// Records as the fuzzer takes them (kind, two bytes of length, body), each alone and all together; and blocks as they lie.
static void log_seeds(void) {
  Store *store;
  Sim *sim = make(4, UINT64_MAX, &store);
  store_abandon(store);
  uint64_t size, at = LOG_BLOCK_BYTES;
  const uint8_t *file = sim_bytes(sim, LOG_PATH, &size);
  SegmentHeader segment;
  RecordHeader header;
  Buf all, one;
  buf_init(&all, 0);
  buf_init(&one, 0);
  buf_add_char(&all, 1);
  must(segment_header_read(file, &segment), "a segment");
  for (unsigned n = 0; record_header_read(file + at, &segment.key, &header); n++) {
    char head[3] = {(char)header.kind, (char)header.body_bytes, (char)(header.body_bytes >> 8)};
    buf_clear(&one);
    buf_add_char(&one, 1);
    buf_add(&one, head, sizeof head);
    buf_add(&one, file + at + LOG_RECORD_HEADER_BYTES, header.body_bytes);
    buf_add(&all, one.ptr + 1, one.len - 1);
    write_seed("log", "record", n, &one);
    buf_clear(&one);
    buf_add_char(&one, 0);
    buf_add_char(&one, (char)(at / 256));
    buf_add(&one, file + at, LOG_BLOCK_BYTES);
    write_seed("log", "block", n, &one);
    at += (LOG_RECORD_HEADER_BYTES + header.body_bytes + LOG_BLOCK_BYTES - 1) / LOG_BLOCK_BYTES * LOG_BLOCK_BYTES;
  }
  write_seed("log", "all", 0, &all);
  buf_free(&all);
  buf_free(&one);
  sim_free(sim);
}

// ---- pages ------------------------------------------------------------------------------------
// Images in the order in which loading asks for them: a page before its children. Writing goes the other way.
typedef struct Images { Buf images[400]; PageRef refs[400]; unsigned count; } Images;

static Err keep_image(void *context, const uint8_t *image, uint32_t bytes, PageRef *out_ref) {
  Images *images = context;
  must(images->count < 400, "too many pages");
  Buf *copy = &images->images[images->count];
  buf_init(copy, 0);
  buf_add(copy, image, bytes);
  *out_ref = images->refs[images->count++] = (PageRef){.place = images->count, .bytes = bytes};
  return ERR_NONE;
}

static Err keep_none(void *context, PageRef ref) {
  (void)context;
  (void)ref;
  return ERR_DAMAGED;
}

typedef struct Order { Images *images; Buf *out; } Order;

static Err give_image(void *context, PageRef ref, const uint8_t **out_image) {
  Order *order = context;
  const Buf *image = &order->images->images[ref.place - 1];
  buf_add(order->out, image->ptr, image->len);
  *out_image = (const uint8_t *)image->ptr;
  return ERR_NONE;
}

static void page_seeds(unsigned commits) {
  static Images images;
  Store *store;
  Sim *sim = make(commits, UINT64_MAX, &store);
  Snapshot *snapshot = db_snapshot_take(store_db(store));
  PersistSink sink = {.context = &images, .keep = keep_none, .put = keep_image};
  Buf roots, seed;
  buf_init(&roots, 255);
  buf_init(&seed, 0);
  images.count = 0;
  must(persist_write(snapshot, &sink, &roots) == ERR_NONE && !roots.failed, "pages");
  snapshot_release(snapshot);
  buf_add_char(&seed, 1);
  buf_add_char(&seed, (char)roots.len);
  buf_add_str(&seed, buf_str(&roots));
  Order order = {&images, &seed};
  PersistSource source = {.context = &order, .get = give_image};
  PersistState state = {.schema = world_schema(2), .number = 1, .roots = buf_str(&roots)};
  ErrText text;
  Db *db;
  must(persist_load(&state, &source, &db, &text) == ERR_NONE, "the pages again");
  db_free(db);
  write_seed("pages", "images", commits, &seed);
  for (unsigned i = 0; i < images.count; i++) buf_free(&images.images[i]);
  buf_free(&seed);
  buf_free(&roots);
  store_abandon(store);
  sim_free(sim);
}

// A slot and the start of the pages, as they lie in the fuzzer's own store but for their checksums.
static void file_seeds(void) {
  Store *store;
  Sim *sim = make(20, 3000, &store);
  store_abandon(store);
  uint64_t size;
  const uint8_t *file = sim_bytes(sim, "app/pages", &size);
  for (unsigned n = 0; n < 4; n++) {
    uint64_t at = n == 3 ? 12288 : 4096 * n;
    Buf seed;
    buf_init(&seed, 0);
    buf_add_char(&seed, 0);
    buf_add_char(&seed, (char)(at / 16));
    buf_add_char(&seed, (char)(at / 16 >> 8));
    buf_add(&seed, file + at, 512);
    write_seed("pages", "file", n, &seed);
    buf_free(&seed);
  }
  sim_free(sim);
}

// ---- backups ----------------------------------------------------------------------------------
static Err add_bytes(void *context, const void *bytes, size_t size) {
  buf_add(context, bytes, size);
  return ERR_NONE;
}

static Err add_anew(void *context) {
  buf_clear(context);
  return ERR_NONE;
}

static void backup_seeds(unsigned commits) {
  Store *store;
  Sim *sim = make(commits, commits > 10 ? 4000 : UINT64_MAX, &store);
  ErrText text;
  uint8_t hash[STORE_HASH_BYTES] = {7};
  must(store_save_module(store, hash, STR("a module"), &text) == ERR_NONE, "a module");
  store_abandon(store);
  Buf file, seed;
  BackupInfo info;
  buf_init(&file, 0);
  buf_init(&seed, 0);
  must(backup_take(sim_files(sim), WORLD_DIR, &(BackupOut){&file, add_bytes, add_anew}, &info, &text) == ERR_NONE, "a backup");
  buf_add_char(&seed, 0);
  buf_add(&seed, file.ptr, file.len);
  write_seed("backup", "file", commits, &seed);
  enum { ENTRIES_MAX = 1 << 20 };
  char *entries = malloc(ENTRIES_MAX);
  size_t len = 0;
  ZSTD_DCtx *zstd = ZSTD_createDCtx();
  ZSTD_inBuffer in = {file.ptr + BACKUP_FILE_HEAD_BYTES, file.len - BACKUP_FILE_HEAD_BYTES, 0};
  ZSTD_outBuffer out = {entries, ENTRIES_MAX, 0};
  len = ZSTD_decompressStream(zstd, &out, &in);
  must(len == 0, "the entries of a backup");
  buf_clear(&seed);
  buf_add_char(&seed, 1);
  buf_add(&seed, entries, out.pos);
  write_seed("backup", "entries", commits, &seed);
  ZSTD_freeDCtx(zstd);
  free(entries);
  buf_free(&seed);
  buf_free(&file);
  sim_free(sim);
}

int main(int count, char **words) {
  must(count == 2, "usage: store_seeds CORPUS_DIR");
  corpus = words[1];
  log_seeds();
  page_seeds(2);
  for (unsigned commits = 30; commits <= 90; commits += 30) {
    page_seeds(commits);
    backup_seeds(commits);
  }
  backup_seeds(3);
  file_seeds();
  return 0;
}
