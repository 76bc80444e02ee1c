// Reading the log from its start, and what to make of its end.
//
// Record k + 1 is never written before record k is on disk. So a bad record with nothing good behind it is the one that
// a crash cut: it was never acknowledged, and is dropped. A bad record with a good one behind it was on disk once: that
// is damage, and nothing is guessed. A record says how long its file is known to be, so a file that was cut shorter
// shows, even where no record is hurt; and a segment that goes on elsewhere says so, so a lost file shows.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/store/log_format.h"

static Err say_damage(const Log *log, const char *name, uint64_t offset, ErrText *out_text, const char *what) {
  return err_say(ERR_DAMAGED, out_text, "%s/%s: damaged at offset %llu: %s", log->dir_name, name, (unsigned long long)offset, what);
}

static Err say_file(const Log *log, Err err, const char *name, ErrText *out_text) {
  return err_say(err, out_text, "%s/%s: %s", log->dir_name, name, err_words(err));
}

// ---- finding the segments ---------------------------------------------------------------------

static bool parse_name(const char *name, uint64_t *out_first) {
  char again[32], *end;
  if (strncmp(name, "log-", 4) != 0) return false;
  *out_first = strtoull(name + 4, &end, 16);
  log__name(*out_first, again);
  return strcmp(name, again) == 0;
}

typedef struct Found { uint64_t *segments; uint32_t count, cap; } Found;

static Err add_segment(void *context, const char *name) {
  Found *found = context;
  uint64_t first;
  if (!parse_name(name, &first)) return ERR_NONE;
  if (found->count == found->cap) {
    uint32_t cap = found->cap ? 2 * found->cap : 8;
    uint64_t *grown = mem_realloc(found->segments, cap * sizeof *grown);
    if (!grown) return ERR_MEMORY;
    found->segments = grown;
    found->cap = cap;
  }
  found->segments[found->count++] = first;
  return ERR_NONE;
}

static int by_number(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static Err find_segments(FileSystem *fs, Dir *dir, Found *found) {
  Err err = fs->dir_list(fs, dir, add_segment, found);
  if (err == ERR_NONE && found->count) qsort(found->segments, found->count, sizeof found->segments[0], by_number);
  return err;
}

Err log_remove_before(FileSystem *fs, Dir *dir, uint64_t number) {
  Found found = {0};
  Err err = find_segments(fs, dir, &found);
  uint32_t gone = 0;
  // The oldest first: what is there then goes on without a gap, wherever this stops.
  while (err == ERR_NONE && gone + 1 < found.count && found.segments[gone + 1] <= number + 1) {
    char name[32];
    log__name(found.segments[gone++], name);
    err = fs->remove(fs, dir, name);
    if (err == ERR_NONE) err = fs->dir_sync(fs, dir);
  }
  mem_free(found.segments);
  return err;
}

// ---- one segment ------------------------------------------------------------------------------
static Err check_segment(const Log *log, const char *name, const uint8_t *block, uint64_t first, SegmentHeader *header, ErrText *out_text) {
  bool good = segment_header_read(block, header);
  if (!good && header->version > LOG_VERSION)
    return err_say(ERR_VERSION, out_text, "%s/%s: written by a newer aup (format %u, this one reads %d)", log->dir_name, name, header->version, LOG_VERSION);
  if (header->sound && header->version < LOG_VERSION)
    return err_say(ERR_VERSION, out_text, "%s/%s: made by an older aup (format %u, this one reads %d): dump it with that one, and load it here", log->dir_name, name, header->version, LOG_VERSION);
  if (!good) return say_damage(log, name, 0, out_text, "this is no start of a log file");
  if (memcmp(header->id.bytes, log->id.bytes, LOG_ID_BYTES) != 0) return say_damage(log, name, 16, out_text, "this file belongs to the data of another app");
  if (header->first != first) return say_damage(log, name, 48, out_text, "this file has the name of another one");
  return ERR_NONE;
}

static Err open_segment(Log *log, uint32_t at, SegmentHeader *header, ErrText *out_text) {
  char name[32];
  uint8_t block[LOG_BLOCK_BYTES];
  File *file;
  uint64_t size;
  log__name(log->segments[at], name);
  Err err = log->fs->open(log->fs, log->dir, name, log->read_only ? FILE_READ : FILE_WRITE, &file);
  if (err != ERR_NONE) return say_file(log, err, name, out_text);
  err = log->fs->size(log->fs, file, &size);
  if (err == ERR_NONE) err = file_read_all(log->fs, file, 0, block, sizeof block);
  if (err == ERR_FORMAT) err = say_damage(log, name, size, out_text, "the file is cut short");
  else if (err != ERR_NONE) err = say_file(log, err, name, out_text);
  else err = check_segment(log, name, block, log->segments[at], header, out_text);
  if (err != ERR_NONE) {
    log->fs->close(log->fs, file);
    return err;
  }
  if (log->file) log->fs->close(log->fs, log->file);
  log->file = file;
  memcpy(log->name, name, sizeof name);
  log->key = header->key;
  log->offset = LOG_BLOCK_BYTES;
  log->last_at = 0;
  log->reserved = header->reserved;
  log->size = size;
  log->segment_at = at;
  return ERR_NONE;
}

Err log_open(Log *log, uint64_t number, uint64_t sum, ErrText *out_text) {
  Found found = {0};
  Err err = find_segments(log->fs, log->dir, &found);
  log->segments = found.segments;
  log->segment_count = found.count;
  log->known = number;
  if (err != ERR_NONE) return err_say(err, out_text, "%s: %s", log->dir_name, err_words(err));
  uint32_t at = 0;
  while (at + 1 < log->segment_count && log->segments[at + 1] <= number + 1) at++;
  if (log->segment_count == 0 || log->segments[at] > number + 1) {
    char name[32];
    log__name(number + 1, name);
    return err_say(ERR_DAMAGED, out_text, "%s/%s: the file is missing", log->dir_name, number ? "log-*" : name);
  }
  SegmentHeader header;
  TRY(open_segment(log, at, &header, out_text));
  log->number = header.first - 1;
  log->sum = header.predecessor;
  if (log->number == number && log->sum != sum) return say_damage(log, log->name, 64, out_text, "it does not go on from the last checkpoint");
  return ERR_NONE;
}

// ---- the end ----------------------------------------------------------------------------------
static Err next_segment(Log *log, ErrText *out_text) {
  SegmentHeader header;
  uint64_t before = log->offset;
  TRY(open_segment(log, log->segment_at + 1, &header, out_text));
  log->bytes_before += before;
  if (header.first == log->number + 1 && header.predecessor == log->sum) return ERR_NONE;
  return say_damage(log, log->name, 48, out_text, "it does not go on from the file before it");
}

// Is there the head of a later record behind `offset`? Only real heads have a right checksum, so a text never looks like one.
static Err find_later(Log *log, uint64_t offset, uint64_t *out_at) {
  enum { STRIDE = 64 << 10 };
  uint8_t *block = mem_alloc(STRIDE);
  if (!block) return ERR_MEMORY;
  Err err = ERR_NONE;
  *out_at = 0;
  for (uint64_t at = offset; at < log->size && !*out_at && err == ERR_NONE; at += STRIDE) {
    uint64_t got = 0;
    err = log->fs->read_at(log->fs, log->file, at, block, STRIDE, &got);
    for (uint64_t i = 0; i + LOG_RECORD_HEADER_BYTES <= got && !*out_at; i += LOG_BLOCK_BYTES) {
      RecordHeader header;
      bool later = record_header_read(block + i, &log->key, &header) && header.offset == at + i && header.number > log->number;
      if (later && (at + i > offset || header.number > log->number + 1)) *out_at = at + i;
    }
  }
  mem_free(block);
  return err;
}

// What a cut record left is wiped out, so that it is reported once and never taken for anything.
static Err wipe_rest(Log *log, uint64_t end, bool *out_found) {
  enum { STRIDE = 64 << 10 };
  static const uint8_t ZEROS[STRIDE];
  uint8_t *block = mem_alloc(STRIDE);
  if (!block) return ERR_MEMORY;
  Err err = ERR_NONE;
  *out_found = false;
  for (uint64_t at = log->offset; at < end && err == ERR_NONE; at += STRIDE) {
    uint64_t want = end - at < STRIDE ? end - at : STRIDE;
    err = file_read_all(log->fs, log->file, at, block, want);
    if (err != ERR_NONE || memcmp(block, ZEROS, want) == 0) continue;
    *out_found = true;
    if (!log->read_only) err = file_write_all(log->fs, log->file, at, ZEROS, want);
  }
  mem_free(block);
  return err == ERR_NONE && *out_found && !log->read_only ? log->fs->sync(log->fs, log->file) : err;
}

static Err read_record(Log *log, RecordHeader *header);

// Who only looks may see the file grow: what was not there a moment ago is read once more with the file's size of now.
static bool has_come(Log *log) {
  RecordHeader header;
  return log->read_only && log->fs->size(log->fs, log->file, &log->size) == ERR_NONE && read_record(log, &header) == ERR_NONE;
}

static Err measure(Log *log, ErrText *out_text) {
  Err err = log->fs->size(log->fs, log->file, &log->size);
  return err == ERR_NONE ? ERR_NONE : say_file(log, err, log->name, out_text);
}

// The same of the next file.
static Err look_again(Log *log, ErrText *out_text) {
  Found found = {0};
  if (!log->read_only) return ERR_NONE;
  Err err = find_segments(log->fs, log->dir, &found);
  if (err != ERR_NONE) return say_file(log, err, log->name, out_text);
  uint64_t current = log->segments[log->segment_at];
  mem_free(log->segments);
  log->segments = found.segments;
  log->segment_count = found.count;
  for (log->segment_at = 0; log->segment_at + 1 < found.count && found.segments[log->segment_at] != current;) log->segment_at++;
  return ERR_NONE;
}

// Nothing good at log->offset.
static Err meet_end(Log *log, bool *out_more, ErrText *out_text) {
  *out_more = false;
  if (log->segment_at + 1 < log->segment_count) {  // its last record, which says so, was cut; the next file says it too
    uint64_t at = log->offset;
    char name[32];
    memcpy(name, log->name, sizeof name);
    *out_more = true;
    if (log->segments[log->segment_at + 1] == log->number + 1) return next_segment(log, out_text);
    return say_damage(log, name, at, out_text, "a record cannot be read, and a later file exists");
  }
  if (log->size < log->reserved) return say_damage(log, log->name, log->size, out_text, "the file is cut short");
  if (log->number < log->known) return say_damage(log, log->name, log->offset, out_text, "a record cannot be read that was there before the last checkpoint");
  uint64_t later;
  Err err = find_later(log, log->offset, &later);
  if (err != ERR_NONE) return say_file(log, err, log->name, out_text);
  if (later && has_come(log)) {  // [S1] it was there before the later one
    *out_more = true;
    return ERR_NONE;
  }
  if (later) return say_damage(log, log->name, log->offset, out_text, "a record cannot be read, and a later one can");
  bool dropped;
  err = wipe_rest(log, log->reserved, &dropped);
  if (err != ERR_NONE) return say_file(log, err, log->name, out_text);
  if (dropped) log->dropped_at = log->offset;
  log->at_end = true;
  return ERR_NONE;
}

// What comes behind the record that reading stops at. The newest file goes first, so that the log never has a gap.
static Err lose_rest(Log *log, ErrText *out_text) {
  bool found;
  log->at_end = true;
  if (log->read_only) return ERR_NONE;
  for (uint32_t last = log->segment_count; last-- > log->segment_at + 1;) {
    char name[32];
    log__name(log->segments[last], name);
    Err err = log->fs->remove(log->fs, log->dir, name);
    if (err == ERR_NONE) err = log->fs->dir_sync(log->fs, log->dir);
    if (err != ERR_NONE) return say_file(log, err, name, out_text);
  }
  Err err = wipe_rest(log, log->size, &found);
  if (log->size > log->reserved) log->reserved = log->size;
  return err == ERR_NONE ? ERR_NONE : say_file(log, err, log->name, out_text);
}

// ---- records ----------------------------------------------------------------------------------
static bool is_next(const Log *log, const RecordHeader *header) {
  bool known = header->kind == LOG_COMMIT || header->kind == LOG_SCHEMA || header->kind == LOG_END || header->kind == LOG_ROLL;
  return known && header->offset == log->offset && header->number == log->number + 1 && header->predecessor == log->sum &&
         header->body_bytes <= LOG_RECORD_BYTES_MAX && header->body_bytes <= log->size - log->offset - LOG_RECORD_HEADER_BYTES;
}

// The record at log->offset. ERR_FORMAT: there is no good one.
static Err read_record(Log *log, RecordHeader *header) {
  uint8_t block[LOG_BLOCK_BYTES];
  if (log->offset + LOG_BLOCK_BYTES > log->size) return ERR_FORMAT;
  TRY(file_read_all(log->fs, log->file, log->offset, block, sizeof block));
  if (!record_header_read(block, &log->key, header) || !is_next(log, header)) return ERR_FORMAT;
  buf_clear(&log->read);
  char *body = buf_room(&log->read, header->body_bytes + 1);  // an end mark has none
  if (!body) return ERR_MEMORY;
  uint64_t first = header->body_bytes < LOG_BLOCK_BYTES - LOG_RECORD_HEADER_BYTES ? header->body_bytes : LOG_BLOCK_BYTES - LOG_RECORD_HEADER_BYTES;
  memcpy(body, block + LOG_RECORD_HEADER_BYTES, first);
  TRY(file_read_all(log->fs, log->file, log->offset + LOG_BLOCK_BYTES, body + first, header->body_bytes - first));
  log->read.len = header->body_bytes;
  return checksum(&log->key, body, header->body_bytes) == header->body_sum ? ERR_NONE : ERR_FORMAT;
}

Err log_confirm(Log *log) {
  assert(log->at_end && !log->read_only);
  uint64_t at = log->last_at ? log->last_at : 0, size = log->last_at ? log->offset - log->last_at : LOG_BLOCK_BYTES;  // or the segment's head
  buf_clear(&log->read);
  char *bytes = buf_room(&log->read, size);
  if (!bytes) return ERR_MEMORY;
  TRY(file_read_all(log->fs, log->file, at, bytes, size));
  TRY(file_write_all(log->fs, log->file, at, bytes, size));
  TRY(log->fs->sync(log->fs, log->file));
  return log->fs->dir_sync(log->fs, log->dir);
}

Err log_read_next(Log *log, LogRecord *out_record, bool *out_end, ErrText *out_text) {
  assert(!log->at_end);
  for (;;) {
    RecordHeader header;
    if (log->stop_after && log->number >= log->stop_after) {
      *out_end = true;
      return lose_rest(log, out_text);
    }
    Err err = read_record(log, &header);
    if (err == ERR_FORMAT) {
      bool more;
      TRY(meet_end(log, &more, out_text));
      if (more) continue;
      *out_end = true;
      return ERR_NONE;
    }
    if (err != ERR_NONE) return say_file(log, err, log->name, out_text);
    if (header.kind == LOG_ROLL) {
      if (log->segment_at + 1 >= log->segment_count) TRY(look_again(log, out_text));
      if (log->segment_at + 1 >= log->segment_count) {
        char name[32];
        log__name(header.number, name);
        return err_say(ERR_DAMAGED, out_text, "%s/%s: the file is missing", log->dir_name, name);
      }
      TRY(next_segment(log, out_text));
      continue;
    }
    if (header.reserved > log->size && log->read_only) TRY(measure(log, out_text));
    if (header.reserved > log->size) return say_damage(log, log->name, log->size, out_text, "the file is cut short");
    *out_record = (LogRecord){.kind = header.kind, .number = header.number, .offset = log->offset, .body = buf_str(&log->read)};
    if (header.reserved > log->reserved) log->reserved = header.reserved;
    log->last_at = log->offset;
    log->offset += (LOG_RECORD_HEADER_BYTES + header.body_bytes + LOG_BLOCK_BYTES - 1) & ~(uint64_t)(LOG_BLOCK_BYTES - 1);
    log->number = header.number;
    log->sum = header.sum;
    log->ended = header.kind == LOG_END;
    *out_end = false;
    return ERR_NONE;
  }
}
