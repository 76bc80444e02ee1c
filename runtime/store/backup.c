// Taking a backup. Pages are copied as they lie in the file, with their checksums; records of the log as bodies, so that a
// restored log is a new one of its own. Opening the store to be read only has proved both before a byte is written.
#include "runtime/store/backup.h"

#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "runtime/base/hash.h"
#include "runtime/base/mem.h"
#include "runtime/store/backup_format.h"
#include "runtime/store/bytes.h"
#include "runtime/store/state.h"

// ---- the stream -------------------------------------------------------------------------------
typedef struct Packer {
  const BackupOut *out;
  ZSTD_CCtx *zstd;
  uint8_t *room;
  size_t room_bytes;
  HashState hash;
} Packer;

static Err pack(Packer *packer, const void *bytes, size_t size, ZSTD_EndDirective end) {
  ZSTD_inBuffer in = {.src = bytes, .size = size};
  for (;;) {
    ZSTD_outBuffer out = {.dst = packer->room, .size = packer->room_bytes};
    size_t left = ZSTD_compressStream2(packer->zstd, &out, &in, end);
    if (ZSTD_isError(left)) return ERR_MEMORY;
    if (out.pos) TRY(packer->out->write(packer->out->context, packer->room, out.pos));
    if (end == ZSTD_e_end ? left == 0 : in.pos == in.size) return ERR_NONE;
  }
}

static Err pack_hashed(Packer *packer, const void *bytes, size_t size) {
  if (size == 0) return ERR_NONE;
  hash_add(&packer->hash, bytes, size);
  return pack(packer, bytes, size, ZSTD_e_continue);
}

// An entry in two parts.
static Err pack_entry(Packer *packer, BackupKind kind, Str first, Str second) {
  uint8_t head[BACKUP_HEAD_BYTES];
  head[0] = (uint8_t)kind;
  put_u64(head + 1, first.len + second.len);
  TRY(pack_hashed(packer, head, sizeof head));
  TRY(pack_hashed(packer, first.ptr, first.len));
  return pack_hashed(packer, second.ptr, second.len);
}

static Err pack_begin(Packer *packer) {
  uint8_t head[BACKUP_FILE_HEAD_BYTES] = {0};
  memcpy(head, BACKUP_MAGIC, sizeof BACKUP_MAGIC);
  put_u32(head + 8, BACKUP_VERSION);
  packer->room_bytes = ZSTD_CStreamOutSize();
  packer->room = mem_alloc(packer->room_bytes);
  packer->zstd = ZSTD_createCCtx();
  if (!packer->room || !packer->zstd) return ERR_MEMORY;
  ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_checksumFlag, 1);
  hash_begin(&packer->hash);
  return packer->out->write(packer->out->context, head, sizeof head);
}

static Err pack_end(Packer *packer) {
  uint8_t head[BACKUP_HEAD_BYTES] = {BACKUP_END};
  Hash hash = hash_end(&packer->hash);
  put_u64(head + 1, sizeof hash);
  TRY(pack(packer, head, sizeof head, ZSTD_e_continue));
  return pack(packer, &hash, sizeof hash, ZSTD_e_end);
}

// ---- what goes in -----------------------------------------------------------------------------
typedef struct Taker { Store *store; Packer *packer; BackupInfo info; uint8_t slot[PAGES_BLOCK]; ErrText *text; } Taker;

static Err take_info(Taker *taker) {
  uint8_t bytes[BACKUP_INFO_BYTES];
  memcpy(bytes, taker->store->log.id.bytes, LOG_ID_BYTES);
  put_u64(bytes + 16, taker->info.number);
  put_u64(bytes + 24, taker->info.checkpoint);
  bytes[32] = taker->store->pages.newest >= 0;
  put_u64(bytes + 33, taker->store->pages.size);
  return pack_entry(taker->packer, BACKUP_INFO, (Str){(const char *)bytes, sizeof bytes}, (Str){0});
}

static Err take_module(void *context, const char *name) {
  Taker *taker = context;
  uint8_t hash[STORE_HASH_BYTES];
  Arena arena;
  Str bytes;
  if (!store__module_hash(name, hash)) return ERR_NONE;
  arena_init(&arena, 0);
  Err err = store_load_module(taker->store, hash, &arena, &bytes, taker->text);
  if (err == ERR_NONE) err = pack_entry(taker->packer, BACKUP_MODULE, (Str){(const char *)hash, sizeof hash}, bytes);
  taker->info.modules++;
  arena_free(&arena);
  return err;
}

static Err take_modules(Taker *taker) {
  Store *store = taker->store;
  FileSystem *fs = store->options.files;
  if (!store->modules && fs->dir_open(fs, store->dir, "modules", false, &store->modules) != ERR_NONE) return ERR_NONE;  // there are none
  return fs->dir_list(fs, store->modules, take_module, taker);
}

static Err read_slot(const Taker *taker, uint8_t *out_block) {
  const PageFile *pages = &taker->store->pages;
  return file_read_all(pages->fs, pages->file, pages_slot_offset(pages->newest), out_block, PAGES_BLOCK);
}

// Units from `from` on that the newest state has one behind the other.
static uint64_t run_from(const SpaceMap *map, uint64_t from) {
  uint64_t units = 0;
  while (units < BACKUP_RUN_UNITS && space_get(map, from + units)) units++;
  return units;
}

static Err take_run(Taker *taker, uint64_t unit, uint64_t units, uint8_t *bytes) {
  const PageFile *pages = &taker->store->pages;
  uint64_t offset = unit * PAGES_UNIT, size = units * PAGES_UNIT, got;
  uint8_t place[4];
  put_u32(place, (uint32_t)unit);
  TRY(pages->fs->read_at(pages->fs, pages->file, offset, bytes, size, &got));
  memset(bytes + got, 0, size - got);
  return pack_entry(taker->packer, BACKUP_PAGES, (Str){(const char *)place, sizeof place}, (Str){(const char *)bytes, size});
}

static Err take_pages(Taker *taker) {
  PageFile *pages = &taker->store->pages;
  uint8_t header[PAGES_BLOCK];
  TRY(file_read_all(pages->fs, pages->file, 0, header, sizeof header));
  if (pages->newest < 0) return pack_entry(taker->packer, BACKUP_ROOT, (Str){(const char *)header, sizeof header}, (Str){(const char *)taker->slot, sizeof taker->slot});
  TRY(read_slot(taker, taker->slot));
  TRY(pack_entry(taker->packer, BACKUP_ROOT, (Str){(const char *)header, sizeof header}, (Str){(const char *)taker->slot, sizeof taker->slot}));
  const SpaceMap *map = &pages->maps[pages->newest];
  uint8_t *bytes = mem_alloc((size_t)BACKUP_RUN_UNITS * PAGES_UNIT);
  Err err = bytes ? ERR_NONE : ERR_MEMORY;
  for (uint64_t unit = 0, units = 0; unit < map->word_count * 64 && err == ERR_NONE; unit += units ? units : 1) {
    units = run_from(map, unit);
    if (units) err = take_run(taker, unit, units, bytes);
  }
  mem_free(bytes);
  return err;
}

// The records since the checkpoint, up to the one that the store was opened at.
static Err take_records(Taker *taker) {
  const Store *store = taker->store;
  const PagesRoot *root = store->pages.newest >= 0 ? &store->pages.roots[store->pages.newest] : NULL;
  Log log = {.fs = store->options.files, .dir = store->dir, .dir_name = store->dir_name, .id = store->log.id, .read_only = true, .stop_after = taker->info.number};
  buf_init(&log.read, 0);
  Err err = taker->info.number ? log_open(&log, root ? root->number : 0, root ? root->log_sum : 0, taker->text) : ERR_NONE;
  for (bool end = taker->info.number == 0; err == ERR_NONE && !end;) {
    LogRecord record;
    err = log_read_next(&log, &record, &end, taker->text);
    if (err != ERR_NONE || end || (root && record.number <= root->number)) continue;
    uint8_t head[9] = {(uint8_t)record.kind};
    put_u64(head + 1, record.number);
    err = pack_entry(taker->packer, BACKUP_RECORD, (Str){(const char *)head, sizeof head}, record.body);
    taker->info.records++;
  }
  log_close(&log);
  return err;
}

// ERR_AGAIN: the slot was written meanwhile, so what was read may be of two states.
static Err still_the_same(const Taker *taker) {
  uint8_t block[PAGES_BLOCK];
  if (taker->store->pages.newest < 0) return ERR_NONE;
  TRY(read_slot(taker, block));
  return memcmp(block, taker->slot, sizeof block) == 0 ? ERR_NONE : ERR_AGAIN;
}

static Err take_all(Taker *taker) {
  TRY(pack_begin(taker->packer));
  TRY(take_info(taker));
  TRY(take_modules(taker));
  TRY(take_pages(taker));
  TRY(take_records(taker));
  TRY(still_the_same(taker));
  return pack_end(taker->packer);
}

static Err take_once(const StoreOptions *options, const BackupOut *out, BackupInfo *out_info, ErrText *out_text) {
  Store *store;
  TRY(store_open(options, &store, out_text));
  Packer packer = {.out = out};
  Taker taker = {.store = store, .packer = &packer, .text = out_text, .info = {.number = store->info.number, .checkpoint = store->info.checkpoint}};
  if (out_text) out_text->text[0] = 0;
  Err err = take_all(&taker);
  bool moved = err != ERR_NONE && err != ERR_MEMORY && still_the_same(&taker) == ERR_AGAIN;
  ZSTD_freeCCtx(packer.zstd);
  mem_free(packer.room);
  if (err != ERR_NONE && out_text && !out_text->text[0]) err = store__say(store, err, out_text, "the backup could not be taken");
  store_abandon(store);
  *out_info = taker.info;
  return moved ? ERR_AGAIN : err;
}

Err backup_take(FileSystem *files, const char *dir, const BackupOut *out, BackupInfo *out_info, ErrText *out_text) {
  StoreOptions options = {.files = files, .dir = dir, .read_only = true};
  Err err = ERR_AGAIN;
  for (unsigned tries = 0; err == ERR_AGAIN && tries < BACKUP_TRIES; tries++) {
    if (tries) TRY(out->restart(out->context));
    err = take_once(&options, out, out_info, out_text);
  }
  return err;
}
