// Recovery on any bytes. Even inputs are laid over a sound log as they are, so that cut, moved and flipped blocks are met;
// odd ones are bodies that get right heads and checksums, so that what stands in a record is met too. Whatever comes: it
// ends, says an error or gives a Db whose every invariant holds, and the same again after it was closed.
#include <stdlib.h>

#include "runtime/store/log_format.h"
#include "runtime/table/tree.h"
#include "tests/unit/store/world.h"

static const char LOG_PATH[] = "app/log-0000000000000001";

static void must(bool holds) {
  if (!holds) abort();
}

// A store with a schema and three commits, made once.
static Sim *sound(void) {
  static Sim *sim;
  Store *store;
  ErrText text;
  if (sim) return sim;
  sim = sim_new();
  must(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE);
  must(world_set_schema(store, 1, &text) == ERR_NONE);
  for (int64_t id = 1; id <= 3; id++) must(world_commit(store, id, 1, &text) == ERR_NONE);
  store_abandon(store);
  return sim;
}

// data: offset in blocks, then what goes there.
static void lay_over(Sim *sim, const uint8_t *data, size_t size) {
  uint64_t file_size, at = (uint64_t)data[0] * 256;
  uint8_t *file = sim_bytes(sim, LOG_PATH, &file_size);
  for (size_t i = 1; i < size && at < file_size; i++, at++) file[at] = data[i];
}

// data: records of (kind, two bytes of length, body), put behind the sound ones.
static void add_records(Sim *sim, const uint8_t *data, size_t size) {
  uint64_t file_size, at = LOG_BLOCK_BYTES, number = 0, sum = 0;
  uint8_t *file = sim_bytes(sim, LOG_PATH, &file_size);
  SegmentHeader segment;
  RecordHeader header;
  must(segment_header_read(file, &segment));
  while (record_header_read(file + at, &segment.key, &header)) {
    at += (LOG_RECORD_HEADER_BYTES + header.body_bytes + LOG_BLOCK_BYTES - 1) / LOG_BLOCK_BYTES * LOG_BLOCK_BYTES;
    number = header.number;
    sum = header.sum;
  }
  while (size >= 3) {
    uint64_t len = data[1] | (uint64_t)data[2] << 8;
    if (len > size - 3) len = size - 3;
    if (at + LOG_RECORD_HEADER_BYTES + len + LOG_BLOCK_BYTES > file_size) return;
    memcpy(file + at + LOG_RECORD_HEADER_BYTES, data + 3, len);
    header = (RecordHeader){.kind = (LogKind)(data[0] % 5), .body_bytes = len, .number = ++number, .offset = at, .reserved = LOG_FIRST_BYTES, .predecessor = sum};
    header.body_sum = checksum(&segment.key, file + at + LOG_RECORD_HEADER_BYTES, len);
    record_header_write(&header, &segment.key, file + at);
    sum = header.sum;
    at += (LOG_RECORD_HEADER_BYTES + len + LOG_BLOCK_BYTES - 1) / LOG_BLOCK_BYTES * LOG_BLOCK_BYTES;
    data += 3 + len;
    size -= 3 + len;
  }
}

static uint64_t open_and_close(Sim *sim, bool *opened) {
  Store *store;
  ErrText text;
  StoreOptions options = {.files = sim_files(sim), .dir = WORLD_DIR, .sync_inline = true, .bytes_max = 64 << 20};
  Err err = store_open(&options, &store, &text);
  *opened = err == ERR_NONE;
  if (err != ERR_NONE) {
    must(text.text[0] != 0);
    return 0;
  }
  uint64_t rows = 0;
  if (store_db(store)) {
    table__assert_db(store_db(store));
    rows = reader_row_count(txn_reader(db_txn(store_db(store))), 0);
  }
  must(store_close(store, &text) == ERR_NONE);
  return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  Sim *sim = sim_copy(sound());
  if (data[0] % 2) add_records(sim, data + 1, size - 1);
  else lay_over(sim, data + 1, size - 1);
  bool opened, again;
  uint64_t rows = open_and_close(sim, &opened);
  if (opened) {
    must(open_and_close(sim, &again) == rows);
    must(again);
  }
  sim_free(sim);
  return 0;
}
