// A backup becomes a store: modules, the log, and last the page file under its name, as when a store is made. Nothing of the
// file is believed before its hash at the end was right, and then the store is opened and proved like any other.
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "runtime/base/hash.h"
#include "runtime/base/mem.h"
#include "runtime/store/backup.h"
#include "runtime/store/backup_format.h"
#include "runtime/store/bytes.h"
#include "runtime/store/state.h"
#include "runtime/store/tools.h"

static const char PAGES_TEMPORARY[] = "pages.tmp";

typedef struct Restore {
  FileSystem *fs;
  Dir *dir;
  const char *dir_name;
  const BackupIn *in;
  uint64_t at;
  BackupInfo info;
  ErrText *text;
  ZSTD_DCtx *zstd;
  uint8_t *packed;               // of the file, not yet unpacked
  ZSTD_inBuffer input;
  bool input_over, frame_over;
  HashState hash;
  Buf body;                      // of the entry
  Buf record;
  FileSystem quiet;              // the same, but its syncs do nothing: the log is synced once, at the end
  Log log;
  File *pages;
  uint64_t pages_bytes;          // of the page file, at most
  uint64_t seen;                 // number of the last record
  uint64_t removed;              // files, by undoing
  bool has_info, has_root, has_checkpoint, ended;
} Restore;

static Err refuse(Restore *restore, const char *what) { return err_say(ERR_DAMAGED, restore->text, "the backup is damaged: %s", what); }
static Err say(Restore *restore, Err err, const char *what) { return err_say(err, restore->text, "%s: %s: %s", restore->dir_name, what, err_words(err)); }

// ---- the stream -------------------------------------------------------------------------------
static Err more_input(Restore *restore) {
  size_t got = 0;
  TRY(restore->in->read(restore->in->context, restore->packed, ZSTD_DStreamInSize(), &got));
  restore->input = (ZSTD_inBuffer){.src = restore->packed, .size = got};
  restore->input_over = got == 0;
  return ERR_NONE;
}

static Err unpack(Restore *restore, void *bytes, size_t size) {
  ZSTD_outBuffer out = {.dst = bytes, .size = size};
  while (out.pos < out.size) {
    if (restore->frame_over) return refuse(restore, "it ends too early");
    if (restore->input.pos == restore->input.size) TRY(more_input(restore));
    if (restore->input_over) return refuse(restore, "it is cut short");
    size_t left = ZSTD_decompressStream(restore->zstd, &out, &restore->input);
    if (ZSTD_isError(left)) return refuse(restore, "its compressed bytes are wrong");
    restore->frame_over = left == 0;
  }
  return ERR_NONE;
}

// Behind the last entry the frame must end, with its checksum, and the file with it.
static Err unpack_end(Restore *restore) {
  uint8_t more;
  while (!restore->frame_over) {
    ZSTD_outBuffer out = {.dst = &more, .size = sizeof more};
    if (restore->input.pos == restore->input.size) TRY(more_input(restore));
    if (restore->input_over) return refuse(restore, "it is cut short");
    size_t left = ZSTD_decompressStream(restore->zstd, &out, &restore->input);
    if (ZSTD_isError(left)) return refuse(restore, "its compressed bytes are wrong");
    if (out.pos > 0) return refuse(restore, "something follows its last entry");
    restore->frame_over = left == 0;
  }
  if (restore->input.pos == restore->input.size) TRY(more_input(restore));
  return restore->input_over ? ERR_NONE : refuse(restore, "something follows its last entry");
}

static Err unpack_head(Restore *restore) {
  uint8_t head[BACKUP_FILE_HEAD_BYTES];
  size_t got = 0;
  TRY(restore->in->read(restore->in->context, head, sizeof head, &got));
  if (got < sizeof head || memcmp(head, BACKUP_MAGIC, sizeof BACKUP_MAGIC) != 0) return err_say(ERR_FORMAT, restore->text, "this is no backup of aup");
  uint32_t version = get_u32(head + 8);
  if (version > BACKUP_VERSION) return err_say(ERR_VERSION, restore->text, "the backup was written by a newer aup (format %u, this one reads %d)", version, BACKUP_VERSION);
  if (version < BACKUP_VERSION) return err_say(ERR_VERSION, restore->text, "the backup was made by an older aup (format %u, this one reads %d): restore it with that one, dump that, and load it here", version, BACKUP_VERSION);
  return get_u32(head + 12) == 0 ? ERR_NONE : refuse(restore, "its head is wrong");
}

// Grows with what is really there, not with what a length says.
static Err unpack_body(Restore *restore, uint64_t size) {
  enum { STEP = 1 << 20 };
  buf_clear(&restore->body);
  while (restore->body.len < size) {
    size_t part = size - restore->body.len < STEP ? (size_t)(size - restore->body.len) : STEP;
    char *room = buf_room(&restore->body, part);
    if (!room) return say(restore, ERR_MEMORY, "the backup cannot be read");
    TRY(unpack(restore, room, part));
    restore->body.len += part;
  }
  return ERR_NONE;
}

// ---- entries ----------------------------------------------------------------------------------
static Err put_info(Restore *restore, const uint8_t *bytes, uint64_t size) {
  if (restore->has_info || size != BACKUP_INFO_BYTES || bytes[32] > 1) return refuse(restore, "it does not say what it is");
  restore->has_info = true;
  memcpy(restore->log.id.bytes, bytes, LOG_ID_BYTES);
  restore->info.number = get_u64(bytes + 16);
  restore->info.checkpoint = get_u64(bytes + 24);
  restore->has_checkpoint = bytes[32];
  restore->pages_bytes = get_u64(bytes + 33);
  if (restore->at == 0 || (restore->at >= restore->info.checkpoint && restore->at <= restore->info.number)) return ERR_NONE;
  return err_say(ERR_NOT_FOUND, restore->text, "the backup has no commit %llu: it holds those from %llu to %llu", (unsigned long long)restore->at,
                 (unsigned long long)(restore->info.checkpoint ? restore->info.checkpoint : 1), (unsigned long long)restore->info.number);
}

static Err put_module(Restore *restore, const char *bytes, uint64_t size) {
  char name[STORE_HASH_BYTES * 2 + 8];
  Dir *modules;
  if (size < STORE_HASH_BYTES || size > STORE_HASH_BYTES + (uint64_t)STORE_MODULE_BYTES_MAX) return refuse(restore, "a module has an impossible length");
  store__module_name((const uint8_t *)bytes, name);
  Err err = restore->fs->dir_open(restore->fs, restore->dir, "modules", true, &modules);
  if (err != ERR_NONE) return say(restore, err, "modules");
  err = file_replace(restore->fs, modules, name, (Str){bytes + STORE_HASH_BYTES, size - STORE_HASH_BYTES});
  restore->fs->dir_close(restore->fs, modules);
  restore->info.modules++;
  return err == ERR_NONE ? ERR_NONE : say(restore, err, name);
}

static Err write_pages(Restore *restore, uint64_t offset, const void *bytes, uint64_t size) {
  Err err = file_write_all(restore->fs, restore->pages, offset, bytes, size);
  return err == ERR_NONE ? ERR_NONE : say(restore, err, PAGES_TEMPORARY);
}

// The page file, with the state's root in its first slot; and the log, which goes on from there.
static Err put_root(Restore *restore, const uint8_t *bytes, uint64_t size) {
  static const uint8_t ZEROS[PAGES_FIRST_UNIT * PAGES_UNIT];
  if (!restore->has_info || restore->has_root || size != 2 * PAGES_BLOCK) return refuse(restore, "it has no root where one must be");
  restore->has_root = true;
  Err err = restore->fs->open(restore->fs, restore->dir, PAGES_TEMPORARY, FILE_CREATE_NEW, &restore->pages);
  if (err != ERR_NONE) return say(restore, err, PAGES_TEMPORARY);
  TRY(write_pages(restore, 0, ZEROS, sizeof ZEROS));
  TRY(write_pages(restore, 0, bytes, PAGES_BLOCK));
  if (restore->has_checkpoint) TRY(write_pages(restore, pages_slot_offset(0), bytes + PAGES_BLOCK, PAGES_BLOCK));
  restore->log.number = restore->has_checkpoint ? get_u64(bytes + PAGES_BLOCK + 24) : 0;
  restore->log.sum = restore->has_checkpoint ? get_u64(bytes + PAGES_BLOCK + 32) : 0;
  restore->seen = restore->log.number;
  if (restore->log.number != restore->info.checkpoint) return refuse(restore, "its root is that of another commit than it says");
  return log_create(&restore->log, restore->text);
}

static Err put_pages(Restore *restore, const uint8_t *bytes, uint64_t size) {
  uint64_t place = size > 4 ? get_u32(bytes) : 0;
  bool good = restore->has_root && restore->has_checkpoint && place >= PAGES_FIRST_UNIT && (size - 4) % PAGES_UNIT == 0 && size - 4 <= (uint64_t)BACKUP_RUN_UNITS * PAGES_UNIT;
  good = good && place * PAGES_UNIT + size - 4 <= (restore->pages_bytes + PAGES_UNIT - 1) / PAGES_UNIT * PAGES_UNIT;
  return good ? write_pages(restore, place * PAGES_UNIT, bytes + 4, size - 4) : refuse(restore, "pages where none can be");
}

static Err put_record(Restore *restore, const uint8_t *bytes, uint64_t size) {
  if (!restore->has_root || size < 9 || size > LOG_RECORD_BYTES_MAX) return refuse(restore, "a record where none can be");
  uint64_t number = get_u64(bytes + 1);
  LogKind kind = (LogKind)bytes[0];
  if (number != restore->seen + 1 || (kind != LOG_COMMIT && kind != LOG_SCHEMA && kind != LOG_END)) return refuse(restore, "a record is not the next one");
  restore->seen = number;
  if (restore->at && number > restore->at) return ERR_NONE;
  log_begin(&restore->record);
  buf_add(&restore->record, bytes + 9, size - 9);
  Err err = restore->record.failed ? ERR_MEMORY : log_reserve(&restore->log, restore->record.len);
  if (err == ERR_NONE) log_finish(&restore->log, &restore->record, kind, number);
  if (err == ERR_NONE) err = restore->record.failed ? ERR_MEMORY : log_write(&restore->log, &restore->record);
  restore->info.records++;
  return err == ERR_NONE ? ERR_NONE : say(restore, err, "the log cannot be written");
}

static Err put_end(Restore *restore, const uint8_t *bytes, uint64_t size) {
  Hash hash = hash_end(&restore->hash);
  if (size != sizeof hash || memcmp(bytes, &hash, sizeof hash) != 0) return refuse(restore, "it does not have the hash it says");
  if (!restore->has_root || restore->seen != restore->info.number) return refuse(restore, "commits are missing");
  restore->ended = true;
  return ERR_NONE;
}

static Err put_entry(Restore *restore, uint8_t kind) {
  const uint8_t *bytes = (const uint8_t *)restore->body.ptr;
  uint64_t size = restore->body.len;
  switch (kind) {
    case BACKUP_INFO: return put_info(restore, bytes, size);
    case BACKUP_MODULE: return put_module(restore, restore->body.ptr, size);
    case BACKUP_ROOT: return put_root(restore, bytes, size);
    case BACKUP_PAGES: return put_pages(restore, bytes, size);
    case BACKUP_RECORD: return put_record(restore, bytes, size);
    case BACKUP_END: return put_end(restore, bytes, size);
    default: return refuse(restore, "an entry of an unknown kind");
  }
}

static Err read_all(Restore *restore) {
  TRY(unpack_head(restore));
  hash_begin(&restore->hash);
  while (!restore->ended) {
    uint8_t head[BACKUP_HEAD_BYTES];
    TRY(unpack(restore, head, sizeof head));
    uint64_t size = get_u64(head + 1);
    if (size > BACKUP_ENTRY_BYTES_MAX) return refuse(restore, "an entry has an impossible length");
    TRY(unpack_body(restore, size));
    if (head[0] != BACKUP_END) {
      hash_add(&restore->hash, head, sizeof head);
      hash_add(&restore->hash, restore->body.ptr, restore->body.len);
    }
    TRY(put_entry(restore, head[0]));
  }
  return unpack_end(restore);
}

// ---- the store --------------------------------------------------------------------------------
// Where the log stands alone a state is a store without its page file; so that comes last, when all else is on disk.
static Err finish(Restore *restore) {
  FileSystem *fs = restore->fs;
  Err err = fs->sync(fs, restore->log.file);
  if (err == ERR_NONE) err = fs->sync(fs, restore->pages);
  if (err == ERR_NONE) err = fs->rename(fs, restore->dir, PAGES_TEMPORARY, PAGES_NAME);
  if (err == ERR_NONE) err = fs->dir_sync(fs, restore->dir);
  return err == ERR_NONE ? ERR_NONE : say(restore, err, "the store cannot be written");
}

static Err no_sync(FileSystem *fs, File *file) {
  (void)fs;
  (void)file;
  return ERR_NONE;
}

static Err see_file(void *context, const char *name) {
  (void)name;
  *(bool *)context = true;
  return ERR_NONE;
}

static Err open_dir(Restore *restore) {
  bool found = false;
  Err err = restore->fs->dir_open(restore->fs, NULL, restore->dir_name, true, &restore->dir);
  if (err == ERR_NONE) err = restore->fs->dir_list(restore->fs, restore->dir, see_file, &found);
  if (err != ERR_NONE) return say(restore, err, "the folder cannot be used");
  return found ? err_say(ERR_EXISTS, restore->text, "%s: there is something in the folder already", restore->dir_name) : ERR_NONE;
}

static Err begin(Restore *restore) {
  buf_init(&restore->body, 0);
  buf_init(&restore->record, 0);
  restore->packed = mem_alloc(ZSTD_DStreamInSize());
  restore->zstd = ZSTD_createDCtx();
  if (!restore->packed || !restore->zstd) return say(restore, ERR_MEMORY, "the backup cannot be read");
  ZSTD_DCtx_setParameter(restore->zstd, ZSTD_d_windowLogMax, 27);
  TRY(open_dir(restore));
  restore->quiet = *restore->fs;
  restore->quiet.sync = no_sync;
  restore->log.fs = &restore->quiet;
  restore->log.dir = restore->dir;
  restore->log.dir_name = restore->dir_name;
  restore->log.segment_bytes = UINT64_MAX;
  return read_all(restore);
}

static Err remove_one(void *context, const char *name) {
  Restore *restore = context;
  TRY(restore->fs->remove(restore->fs, restore->dir, name));
  restore->removed++;
  return ERR_NONE;
}

// What was made, as far as it goes: an empty folder may stay.
static void undo(Restore *restore) {
  FileSystem *fs = restore->fs;
  Dir *dir = restore->dir, *modules;
  if (!dir) return;
  if (fs->dir_open(fs, dir, "modules", false, &modules) == ERR_NONE) {
    restore->dir = modules;
    do restore->removed = 0;  // a listing may pass over a name while others go
    while (fs->dir_list(fs, modules, remove_one, restore) == ERR_NONE && restore->removed);
    fs->dir_close(fs, modules);
  }
  restore->dir = dir;
  static const char *const NAMES[] = {PAGES_TEMPORARY, PAGES_NAME};
  for (unsigned i = 0; i < countof(NAMES); i++)
    if (fs->remove(fs, dir, NAMES[i]) != ERR_NONE) continue;
  if (restore->log.name[0] && fs->remove(fs, dir, restore->log.name) != ERR_NONE) return;
}

Err backup_restore(FileSystem *files, const char *dir, const BackupIn *in, uint64_t at, BackupInfo *out_info, ErrText *out_text) {
  Restore *restore = mem_alloc_zero(1, sizeof *restore);
  if (!restore) return err_say(ERR_MEMORY, out_text, "%s: out of memory", dir);
  restore->fs = files;
  restore->dir_name = dir;
  restore->in = in;
  restore->at = at;
  restore->text = out_text;
  if (out_text) out_text->text[0] = 0;
  Err err = begin(restore);
  bool made = err != ERR_EXISTS && restore->dir;
  if (err == ERR_NONE) err = finish(restore);
  log_close(&restore->log);
  if (restore->pages) files->close(files, restore->pages);
  StoreReport report;
  if (err == ERR_NONE) err = store_check(files, dir, &report, out_text);
  if (err != ERR_NONE && out_text && !out_text->text[0]) err = say(restore, err, "the backup could not be restored");
  if (err != ERR_NONE && made) undo(restore);
  *out_info = restore->info;
  if (at) out_info->number = at;
  if (restore->dir) files->dir_close(files, restore->dir);
  ZSTD_freeDCtx(restore->zstd);
  mem_free(restore->packed);
  buf_free(&restore->body);
  buf_free(&restore->record);
  mem_free(restore);
  return err;
}
