// The log of a store: records, one after the other, in files of bounded size (segments). Bytes: docs/STORE.md, "Log".
//
// A Log is either read from its start to its end, or written at its end; log_read_next changes from the first to the
// second by itself when it has met the end.
//
// Owns:   the open file and a buffer for the record being read.
// Thread: one at a time.
// Errors: ERR_DAMAGED with file and offset; ERR_VERSION; ERR_FULL from log_reserve, after which everything is as before;
//         what the file system says.
// Limits: LOG_RECORD_BYTES_MAX.
#pragma once
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/hash.h"
#include "runtime/store/file.h"

enum {
  LOG_BLOCK_BYTES = 512,
  LOG_RECORD_HEADER_BYTES = 64,
  LOG_VERSION = 2,                  // of the fixed parts, of schemas and of changes: a test holds them together
  LOG_FIRST_BYTES = 64 << 10,       // set aside in a new segment
  LOG_STEP_BYTES_MAX = 4 << 20,     // and then doubled, by at most so much
  LOG_ID_BYTES = 16,
};
static const uint64_t LOG_RECORD_BYTES_MAX = 1ull << 30;

typedef enum LogKind { LOG_COMMIT = 1, LOG_SCHEMA = 2, LOG_END = 3, LOG_ROLL = 4 } LogKind;

typedef struct LogId { uint8_t bytes[LOG_ID_BYTES]; } LogId;  // of the store; every file of it carries it

typedef struct Log {
  FileSystem *fs;
  Dir *dir;
  const char *dir_name;             // for messages
  LogId id;
  uint64_t segment_bytes;
  bool read_only;                   // a cut last record is reported but stays
  File *file;
  char name[32];                    // of the segment
  ChecksumKey key;
  uint64_t offset;                  // of the next record
  uint64_t reserved;                // bytes of the file that are set aside, zeroed and synced
  uint64_t size;                    // of the file, as found
  uint64_t number;                  // of the last good record
  uint64_t sum;                     // and its checksum
  uint64_t bytes_before;            // in older segments
  uint64_t *segments;               // found: first numbers, ascending
  uint32_t segment_count, segment_at;
  bool ended;                       // the last good record is an end mark
  bool at_end;                      // reading is done
  uint64_t last_at;                 // offset of the last good record of this segment, or 0
  uint64_t stop_after;              // 0, or the record to stop reading behind; what follows is wiped unless read_only
  uint64_t known;                   // a record with this number was on disk for certain: a log that ends before it is damaged
  uint64_t dropped_at;              // where a cut last record was dropped, or 0
  Buf read;
} Log;

typedef struct LogRecord { LogKind kind; uint64_t number, offset; Str body; } LogRecord;  // the body is good until the next read

// A new, empty log, which goes on from log->number (with log->sum). Durable when it returns.
MUST_USE Err log_create(Log *log, ErrText *out_text);
// Finds the segments, and stands before the record after `number` (whose checksum is `sum`): 0, 0 for the whole log.
MUST_USE Err log_open(Log *log, uint64_t number, uint64_t sum, ErrText *out_text);
MUST_USE Err log_read_next(Log *log, LogRecord *out_record, bool *out_end, ErrText *out_text);
// Writes the last record once more, and syncs it: a sync that failed in an earlier process may have left it in the kernel's
// memory alone, where it reads as if it were on disk.
MUST_USE Err log_confirm(Log *log);
void log_close(Log *log);

// ---- writing ----------------------------------------------------------------------------------
// A record is built in a Buf: log_begin leaves room for the header, the body is added, log_finish pads and seals it.
void log_begin(Buf *record);
// Space for a record of that many bytes at the end of the log, in a new segment when this one is long enough.
MUST_USE Err log_reserve(Log *log, uint64_t record_bytes);
bool log_has_room(const Log *log, uint64_t record_bytes);
bool log_is_low(const Log *log);
// Goes on in a new segment, so that the old ones can be removed when nothing needs them.
MUST_USE Err log_roll(Log *log);
// Removes segments all of whose records have numbers up to `number`. What fails stays for the next time.
MUST_USE Err log_remove_before(FileSystem *fs, Dir *dir, uint64_t number);
MUST_USE Err log_extend(Log *log, uint64_t record_bytes);  // ahead of need
void log_finish(const Log *log, Buf *record, LogKind kind, uint64_t number);
// Writes and syncs the finished record, which becomes the last. Any error: the outcome is unknown, write nothing more.
MUST_USE Err log_write(Log *log, const Buf *record);
