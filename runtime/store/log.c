// Writing at the end of the log. Space is set aside, filled with zeros and synced before a record goes there, so that
// writing a record changes nothing but blocks the file has already: the sync then costs one write of the disk and no
// journal, and a full disk is met while nothing is at stake.
#include "runtime/store/log.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/base/rng.h"
#include "runtime/store/log_format.h"

void log__name(uint64_t first, char out_name[32]) { snprintf(out_name, 32, "log-%016llx", (unsigned long long)first); }

// ---- space ------------------------------------------------------------------------------------
// Zeros from `from` to `to`, on disk. The file may be longer already when an earlier try was cut short.
static Err set_aside(FileSystem *fs, File *file, uint64_t from, uint64_t to) {
  enum { ZEROS = 64 << 10 };
  TRY(fs->preallocate(fs, file, from, to - from));
  void *zeros = mem_alloc_zero(1, ZEROS);
  if (!zeros) return ERR_MEMORY;
  Err err = ERR_NONE;
  for (uint64_t at = from; at < to && err == ERR_NONE; at += ZEROS) err = file_write_all(fs, file, at, zeros, to - at < ZEROS ? to - at : ZEROS);
  mem_free(zeros);
  return err != ERR_NONE ? err : fs->sync(fs, file);
}

static uint64_t padded(uint64_t bytes) { return (bytes + LOG_BLOCK_BYTES - 1) & ~(uint64_t)(LOG_BLOCK_BYTES - 1); }

static uint64_t roll_bytes(void) { return LOG_BLOCK_BYTES; }

// A segment keeps one block for its last record, which names the next one.
bool log_has_room(const Log *log, uint64_t record_bytes) { return log->offset + padded(record_bytes) + roll_bytes() <= log->reserved; }

bool log_is_low(const Log *log) {
  uint64_t free = log->reserved - log->offset, few = log->reserved / 4 < LOG_STEP_BYTES_MAX / 2 ? log->reserved / 4 : LOG_STEP_BYTES_MAX / 2;
  return free < few && log->reserved < log->segment_bytes;
}

Err log_extend(Log *log, uint64_t record_bytes) {
  uint64_t step = log->reserved < LOG_STEP_BYTES_MAX ? log->reserved : LOG_STEP_BYTES_MAX;
  uint64_t need = log->offset + padded(record_bytes) + roll_bytes();
  uint64_t to = log->reserved + step;
  if (to < need) to = need;
  to = (to + 4095) & ~4095ull;
  Err err = set_aside(log->fs, log->file, log->reserved, to);
  if (err == ERR_FULL && need < to && need > log->reserved) {  // as much as there is
    to = (need + 4095) & ~4095ull;
    err = set_aside(log->fs, log->file, log->reserved, to);
  }
  if (err == ERR_NONE) log->reserved = to;
  return err;
}

// ---- segments ---------------------------------------------------------------------------------
static Err fill_segment(Log *log, File *file, const SegmentHeader *header) {
  uint8_t block[LOG_BLOCK_BYTES];
  segment_header_write(header, block);
  TRY(set_aside(log->fs, file, 0, header->reserved));
  TRY(file_write_all(log->fs, file, 0, block, sizeof block));
  return log->fs->sync(log->fs, file);
}

// The file appears under its name whole and synced, or not at all.
static Err create_segment(Log *log, SegmentHeader *header, File **out_file) {
  FileSystem *fs = log->fs;
  char name[32], temporary[40];
  File *file;
  log__name(header->first, name);
  snprintf(temporary, sizeof temporary, "%s.tmp", name);
  Err err = fs->open(fs, log->dir, temporary, FILE_CREATE_NEW, &file);
  if (err == ERR_EXISTS) {
    TRY(fs->remove(fs, log->dir, temporary));
    err = fs->open(fs, log->dir, temporary, FILE_CREATE_NEW, &file);
  }
  if (err != ERR_NONE) return err;
  err = fill_segment(log, file, header);
  if (err == ERR_NONE) {
    err = fs->rename(fs, log->dir, temporary, name);
    if (err == ERR_NONE) err = fs->dir_sync(fs, log->dir);
    // Perhaps it is there all the same, and then the old one must not go on: this is no error that leaves things as they were.
    if (err != ERR_NONE) err = ERR_IO;
  }
  if (err != ERR_NONE) {
    fs->close(fs, file);
    Err removed = fs->remove(fs, log->dir, temporary);
    (void)removed;
    return err;
  }
  *out_file = file;
  return ERR_NONE;
}

static void stand_at_start(Log *log, File *file, const SegmentHeader *header) {
  if (log->file) log->fs->close(log->fs, log->file);
  log->file = file;
  log__name(header->first, log->name);
  log->key = header->key;
  log->offset = LOG_BLOCK_BYTES;
  log->reserved = log->size = header->reserved;
}

Err log_create(Log *log, ErrText *out_text) {
  SegmentHeader header = {.id = log->id, .key = checksum_key_random(), .first = log->number + 1, .reserved = LOG_FIRST_BYTES, .predecessor = log->sum};
  File *file;
  Err err = create_segment(log, &header, &file);
  if (err != ERR_NONE) return err_say(err, out_text, "the log in \"%s\" cannot be made: %s", log->dir_name, err_words(err));
  stand_at_start(log, file, &header);
  log->at_end = true;
  return ERR_NONE;
}

// The next segment is there, whole, before the old one says that it goes on: a log that says so and has no next file has
// lost it. Only its first block is at stake while the old one's last record is written.
static Err roll(Log *log, uint64_t record_bytes) {
  SegmentHeader header = {.id = log->id, .key = checksum_key_random(), .first = log->number + 1, .predecessor = log->sum};
  header.reserved = LOG_FIRST_BYTES;
  while (header.reserved < LOG_BLOCK_BYTES + padded(record_bytes) + roll_bytes()) header.reserved *= 2;
  File *file;
  Buf record;
  buf_init(&record, 0);
  log_begin(&record);
  log_finish(log, &record, LOG_ROLL, log->number + 1);
  Err err = record.failed ? ERR_MEMORY : create_segment(log, &header, &file);
  if (err == ERR_NONE) {
    err = file_write_all(log->fs, log->file, log->offset, record.ptr, record.len);
    if (err == ERR_NONE) err = log->fs->sync(log->fs, log->file);
    if (err != ERR_NONE) {
      err = ERR_IO;  // even a full disk: a record was begun
      log->fs->close(log->fs, file);
    }
  }
  buf_free(&record);
  if (err != ERR_NONE) return err;
  log->bytes_before += log->offset + roll_bytes();
  stand_at_start(log, file, &header);
  return ERR_NONE;
}

Err log_roll(Log *log) {
  assert(log->at_end);
  return log->offset > LOG_BLOCK_BYTES ? roll(log, 0) : ERR_NONE;
}

Err log_reserve(Log *log, uint64_t record_bytes) {
  assert(log->at_end);
  if (log->offset > LOG_BLOCK_BYTES && log->offset + record_bytes > log->segment_bytes) TRY(roll(log, record_bytes));
  if (log_has_room(log, record_bytes)) return ERR_NONE;
  return log_extend(log, record_bytes);
}

// ---- records ----------------------------------------------------------------------------------
void log_begin(Buf *record) {
  buf_clear(record);
  if (buf_room(record, LOG_RECORD_HEADER_BYTES)) {
    memset(record->ptr, 0, LOG_RECORD_HEADER_BYTES);
    record->len = LOG_RECORD_HEADER_BYTES;
  }
}

void log_finish(const Log *log, Buf *record, LogKind kind, uint64_t number) {
  uint64_t body = record->len - LOG_RECORD_HEADER_BYTES, more = padded(record->len) - record->len;
  char *room = buf_room(record, more);
  if (!room) return;
  memset(room, 0, more);
  record->len += more;
  RecordHeader header = {.kind = kind, .body_bytes = body, .number = number, .offset = log->offset, .reserved = log->reserved, .predecessor = log->sum};
  header.body_sum = checksum(&log->key, record->ptr + LOG_RECORD_HEADER_BYTES, body);
  record_header_write(&header, &log->key, (uint8_t *)record->ptr);
}

Err log_write(Log *log, const Buf *record) {
  RecordHeader header;
  bool good = record_header_read((const uint8_t *)record->ptr, &log->key, &header);
  assert(good && header.offset == log->offset && header.number == log->number + 1 && header.predecessor == log->sum);
  assert(log->offset + record->len <= log->reserved);
  (void)good;
  TRY(file_write_all(log->fs, log->file, log->offset, record->ptr, record->len));
  TRY(log->fs->sync(log->fs, log->file));
  log->offset += record->len;
  log->number = header.number;
  log->sum = header.sum;
  log->ended = header.kind == LOG_END;
  return ERR_NONE;
}

void log_close(Log *log) {
  if (log->file) log->fs->close(log->fs, log->file);
  log->file = NULL;
  mem_free(log->segments);
  log->segments = NULL;
  buf_free(&log->read);
}
