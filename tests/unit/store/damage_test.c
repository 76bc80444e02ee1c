// What has its checksum and is wrong all the same: records and roots that somebody forged, or a program wrote that was wrong.
// Each is refused by name, with its place; none is believed, none ends the process. Bodies cut at every byte, and allocations
// that fail while they are read.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/store/log_format.h"
#include "runtime/store/pages.h"
#include "runtime/store/record.h"
#include "runtime/value/codec.h"
#include "tests/unit/store/world.h"

static const char LOG_PATH[] = "app/log-0000000000000001";

// A store with a schema and `commits` commits of one input, its log in one file.
static Sim *make(unsigned version, unsigned commits, uint64_t checkpoint_bytes) {
  Sim *sim = sim_new();
  Store *store;
  ErrText text;
  world_checkpoint_bytes = checkpoint_bytes;
  cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE);
  if (version) cr_assert(world_set_schema(store, version, &text) == ERR_NONE);
  for (unsigned i = 0; i < commits; i++) cr_assert(world_commit(store, 1 + i, 1, &text) == ERR_NONE);
  store_abandon(store);
  return sim;
}

// Puts a record behind the last one, as right as one can be but for what is in it.
static void forge_record(Sim *sim, LogKind kind, Str body, uint64_t reserved) {
  uint64_t size, at = LOG_BLOCK_BYTES, number = 0, sum;
  uint8_t *file = sim_bytes(sim, LOG_PATH, &size);
  SegmentHeader segment;
  RecordHeader header;
  cr_assert(segment_header_read(file, &segment));
  sum = segment.predecessor;
  while (record_header_read(file + at, &segment.key, &header)) {
    at += (LOG_RECORD_HEADER_BYTES + header.body_bytes + LOG_BLOCK_BYTES - 1) / LOG_BLOCK_BYTES * LOG_BLOCK_BYTES;
    number = header.number;
    sum = header.sum;
  }
  cr_assert(at + LOG_RECORD_HEADER_BYTES + body.len <= size);
  if (body.len) memcpy(file + at + LOG_RECORD_HEADER_BYTES, body.ptr, body.len);
  header = (RecordHeader){.kind = kind, .body_bytes = body.len, .number = number + 1, .offset = at, .reserved = reserved, .predecessor = sum};
  header.body_sum = checksum(&segment.key, file + at + LOG_RECORD_HEADER_BYTES, body.len);
  record_header_write(&header, &segment.key, file + at);
}

static void must_refuse(Sim *sim, const char *words) {
  for (int with_text = 0; with_text < 2; with_text++) {
    Store *store;
    ErrText text = {{0}};
    Sim *copy = sim_copy(sim);
    Err err = world_open(sim_files(copy), 0, true, &store, with_text ? &text : NULL);
    cr_assert(err == ERR_DAMAGED, "%s: %s: %s", words, err == ERR_NONE ? "it opened" : err_words(err), text.text);
    bool said = !with_text || strstr(text.text, words) != NULL;
    cr_assert(said, "%s: %s", words, text.text);
    sim_free(copy);
  }
}

static void schema_body(Buf *out, unsigned version, const ReshapeTable *tables) {
  Buf encoded;
  buf_init(&encoded, 0);
  buf_init(out, 0);
  schema_encode(world_schema(version), &encoded);
  record_write_schema(out, &(RecordSchema){.module_hash = {version}, .schema = buf_str(&encoded), .tables = tables}, world_schema(version));
  buf_free(&encoded);
}

static const ReshapeColumn TO_STATE[] = {{.from = 0}, {.from = 1}}, TO_ROW[] = {{.from = 0}, {.from = 1}, {.from = RESHAPE_NEW, .value = {.opt = {7, 1}}}};
static const ReshapeTable MAPPING[] = {{.from = 0, .columns = TO_STATE}, {.from = 1, .columns = TO_ROW}};

Test(damage, records_that_do_not_fit_what_is_there) {
  Buf first, second, mapped;
  schema_body(&first, 1, NULL);
  schema_body(&second, 2, NULL);
  schema_body(&mapped, 2, MAPPING);
  char wrong_row[] = {0, 2, 1, 3, 2, 0}, hash_only[33] = {0};
  const struct { unsigned version; LogKind kind; Str body; const char *words; } ROWS[] = {
    {0, LOG_COMMIT, STR("\0\0"), "record 1 at offset 512"},             // before any schema
    {0, LOG_SCHEMA, STR("short"), "record 1 at offset 512"},
    {0, LOG_SCHEMA, {hash_only, sizeof hash_only}, "record 1 at offset 512"},
    {0, LOG_SCHEMA, buf_str(&mapped), "record 1 at offset 512"},       // nothing is there to be mapped
    {1, LOG_SCHEMA, buf_str(&second), "record 2 at offset 1024"},      // another one without a mapping
    {1, LOG_SCHEMA, {mapped.ptr, mapped.len - 1}, "record 2 at offset 1024"},
    {2, LOG_COMMIT, STR("\xff"), "record 2 at offset 1024"},
    {2, LOG_COMMIT, STR("\0\x09"), "record 2 at offset 1024"},         // a table that is not there
    {2, LOG_COMMIT, {wrong_row, sizeof wrong_row}, "record 2 at offset 1024"},
  };
  for (unsigned i = 0; i < countof(ROWS); i++) {
    Sim *sim = make(ROWS[i].version, 0, UINT64_MAX);
    forge_record(sim, ROWS[i].kind, ROWS[i].body, LOG_FIRST_BYTES);
    must_refuse(sim, ROWS[i].words);
    sim_free(sim);
  }
  buf_free(&first);
  buf_free(&second);
  buf_free(&mapped);
}

// A row twice, and the state's own row deleted: right in their form.
Test(damage, changes_that_cannot_have_been) {
  Sim *sim = make(1, 3, UINT64_MAX);
  uint64_t size;
  const uint8_t *file = sim_bytes(sim, LOG_PATH, &size);
  SegmentHeader segment;
  RecordHeader header;
  uint64_t at = LOG_BLOCK_BYTES;
  cr_assert(segment_header_read(file, &segment));
  for (unsigned n = 0; n < 3; n++) {
    cr_assert(record_header_read(file + at, &segment.key, &header));
    if (n < 2) at += (LOG_RECORD_HEADER_BYTES + header.body_bytes + LOG_BLOCK_BYTES - 1) / LOG_BLOCK_BYTES * LOG_BLOCK_BYTES;
  }
  Str again = {(const char *)file + at + LOG_RECORD_HEADER_BYTES, header.body_bytes};
  Sim *twice = sim_copy(sim);
  forge_record(twice, LOG_COMMIT, again, LOG_FIRST_BYTES);
  must_refuse(twice, "record 5 at offset");
  sim_free(twice);
  sim_free(sim);
}

Test(damage, heads_that_lie) {
  static const struct { LogKind kind; uint64_t reserved; const char *words; } ROWS[] = {
    {LOG_COMMIT, 1 << 30, "the file is cut short"},        // it says that more was set aside than there is
    {LOG_ROLL, LOG_FIRST_BYTES, "the file is missing"},    // it goes on, but where?
  };
  for (unsigned i = 0; i < countof(ROWS); i++) {
    Sim *sim = make(1, 2, UINT64_MAX);
    forge_record(sim, ROWS[i].kind, STR("\0\0"), ROWS[i].reserved);
    must_refuse(sim, ROWS[i].words);
    Store *store;
    ErrText text;
    StoreOptions look = {.files = sim_files(sim), .dir = WORLD_DIR, .read_only = true};
    cr_assert(store_open(&look, &store, &text) == ERR_DAMAGED, "%s", ROWS[i].words);
    sim_free(sim);
  }
  static const LogKind UNKNOWN[] = {(LogKind)0, (LogKind)5};
  for (unsigned i = 0; i < countof(UNKNOWN); i++) {  // taken for one that was cut
    Sim *sim = make(1, 2, UINT64_MAX);
    forge_record(sim, UNKNOWN[i], STR("\0\0"), LOG_FIRST_BYTES);
    Store *store;
    ErrText text;
    cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE, "%s", text.text);
    cr_assert(store_info(store)->dropped_at > 0 && world_count(store) == 2);
    store_abandon(store);
    sim_free(sim);
  }
}

// ---- bodies -----------------------------------------------------------------------------------
static Err count_input(void *context, const StoreInput *input) {
  ++*(unsigned *)context;
  return input->status == 9 ? ERR_CLOSED : ERR_NONE;
}

Test(damage, a_commit_cut_at_any_byte) {
  StoreInput inputs[] = {{.name = STR("add"), .caller = STR("somebody"), .now_us = 50000000, .seed = 300, .args = STR("abc"), .status = 1},
                         {.name = STR("drop"), .now_us = 7, .seed = 1, .args = STR("d"), .status = 9}};
  Db *db;
  cr_assert(db_open(world_schema(1), 0, &db) == ERR_NONE);
  Buf body;
  buf_init(&body, 0);
  record_write_commit(&body, inputs, 2, db_txn(db));
  RecordCommit commit;
  unsigned seen = 0;
  cr_assert(record_read_commit(buf_str(&body), NULL, NULL, &commit) == ERR_NONE);
  cr_assert(commit.input_count == 2 && commit.now_us == 50000000 && commit.changes.len == 1);
  cr_assert(record_read_commit(buf_str(&body), count_input, &seen, &commit) == ERR_CLOSED && seen == 2);
  inputs[1].status = 0;
  buf_clear(&body);
  record_write_commit(&body, inputs, 2, db_txn(db));
  cr_assert(record_read_commit(buf_str(&body), count_input, &seen, &commit) == ERR_NONE && seen == 4);
  for (size_t len = 0; len + 1 < body.len; len++) cr_assert(record_read_commit((Str){body.ptr, len}, NULL, NULL, &commit) == ERR_FORMAT, "%zu bytes", len);
  Buf many;
  buf_init(&many, 0);
  varint_write(&many, STORE_INPUTS_MAX + 1);
  cr_assert(record_read_commit(buf_str(&many), NULL, NULL, &commit) == ERR_FORMAT);
  buf_free(&many);
  buf_free(&body);
  db_free(db);
}

// Reads a schema record with its mapping, from version 1 to 2, into an arena of so many bytes (0: as many as it takes).
static Err read_schema_body(Str body, size_t bytes_max) {
  Arena arena;
  Schema schema;
  RecordSchema record;
  Str mapping;
  ErrText text;
  const ReshapeTable *tables;
  arena_init(&arena, bytes_max);
  Err err = record_read_schema(body, &arena, &schema, &record, &mapping, &text);
  if (err == ERR_NONE && mapping.ptr) err = record_read_mapping(mapping, world_schema(1), &schema, &arena, &tables);
  arena_free(&arena);
  return err;
}

Test(damage, a_schema_cut_at_any_byte_and_without_memory) {
  static const ReshapeColumn NEW_STATE[] = {{.from = RESHAPE_NEW}, {.from = RESHAPE_NEW, .value = {.i = 5}}};
  static const ReshapeTable NEW[] = {{.from = RESHAPE_NEW, .columns = NEW_STATE}, {.from = RESHAPE_NEW, .columns = TO_ROW}}, BARE[] = {{.from = 0, .columns = TO_STATE}, {.from = RESHAPE_NEW}};
  static const ReshapeTable *const MAPPINGS[] = {NULL, MAPPING, NEW, BARE};
  for (unsigned m = 0; m < countof(MAPPINGS); m++) {
    Buf body;
    schema_body(&body, 2, MAPPINGS[m]);
    cr_assert(read_schema_body(buf_str(&body), 0) == ERR_NONE, "mapping %u", m);
    for (size_t len = 0; len < body.len; len++) cr_assert(read_schema_body((Str){body.ptr, len}, 0) == ERR_FORMAT, "mapping %u, %zu bytes", m, len);
    buf_add_char(&body, 0);
    cr_assert(read_schema_body(buf_str(&body), 0) == ERR_FORMAT, "mapping %u, a byte more", m);
    body.len--;
    size_t room = 1;
    for (Err err = ERR_MEMORY; err != ERR_NONE; room += 8) {
      err = read_schema_body(buf_str(&body), room);
      cr_assert(err == ERR_NONE || err == ERR_MEMORY, "%zu bytes", room);
    }
    cr_assert(room > 500);
    buf_free(&body);
  }
}

// One byte of the mapping after the other made another one: refused or another mapping, never more than the schemas have.
Test(damage, a_mapping_with_any_byte_changed) {
  Buf body;
  schema_body(&body, 2, MAPPING);
  size_t mapping = body.len;
  Buf bare;
  schema_body(&bare, 2, NULL);
  mapping = bare.len;
  buf_free(&bare);
  unsigned refused = 0;
  for (size_t at = mapping; at < body.len; at++)
    for (unsigned value = 0; value < 256; value++) {
      char old = body.ptr[at];
      body.ptr[at] = (char)value;
      refused += read_schema_body(buf_str(&body), 0) != ERR_NONE;
      body.ptr[at] = old;
    }
  cr_assert(refused > 1000, "%u", refused);
  buf_free(&body);
}

// ---- roots ------------------------------------------------------------------------------------
typedef struct Roots { uint8_t *file; uint64_t size; ChecksumKey key; uint8_t *root; int slot; } Roots;

static uint32_t get32(const uint8_t *from) {
  uint32_t value;
  memcpy(&value, from, 4);
  return value;
}
static void put32(uint8_t *to, uint32_t value) { memcpy(to, &value, 4); }

// The newest root of a store with checkpoints.
static Roots find_roots(Sim *sim) {
  Roots roots = {0};
  roots.file = sim_bytes(sim, "app/pages", &roots.size);
  memcpy(roots.key.bytes, roots.file + 32, sizeof roots.key.bytes);
  uint64_t first, second;
  memcpy(&first, roots.file + 4096 + 16, 8);
  memcpy(&second, roots.file + 8192 + 16, 8);
  roots.slot = second > first;
  roots.root = roots.file + pages_slot_offset(roots.slot);
  return roots;
}

static void seal(const Roots *roots, bool description) {
  uint8_t *from = roots->file + (uint64_t)get32(roots->root + 112) * PAGES_UNIT;
  uint64_t sum = description ? checksum(&roots->key, from, get32(roots->root + 116)) : 0;
  if (description) memcpy(roots->root + 120, &sum, 8);
  sum = checksum(&roots->key, roots->root, 504);
  memcpy(roots->root + 504, &sum, 8);
}

// Without the root before it, so that nothing makes up for the damage.
static Sim *make_with_root(Roots *out_roots) {
  Sim *sim = make(1, 14, 3000);
  *out_roots = find_roots(sim);
  cr_assert(get32(out_roots->root + 116) > 100);
  memset(out_roots->file + pages_slot_offset(1 - out_roots->slot), 0, PAGES_BLOCK);
  return sim;
}

Test(damage, roots_that_name_what_cannot_be) {
  enum { TOO_LONG, BEHIND_THE_END, IN_THE_HEADER, SCHEMA_TOO_LONG, NO_SCHEMA, NO_VARINT, EMPTY, TWO_AT_ONE_PLACE, ANOTHER_RECORD, CASES };
  static const char *const WORDS[CASES] = {"no description", "cut short", "cut short", "no description", "damaged", "no description", "damaged", "two pages at one place", "does not go on from the last checkpoint"};
  for (unsigned c = 0; c < CASES; c++) {
    Roots roots;
    Sim *sim = make_with_root(&roots);
    uint32_t place = get32(roots.root + 112), bytes = get32(roots.root + 116);
    uint8_t *description = roots.file + (uint64_t)place * PAGES_UNIT;
    if (c == TOO_LONG) put32(roots.root + 116, PAGES_ROOT_BYTES_MAX + 1);
    if (c == BEHIND_THE_END) put32(roots.root + 112, 1 << 30);
    if (c == IN_THE_HEADER) put32(roots.root + 112, 3);
    if (c == SCHEMA_TOO_LONG) memset(description, 0x7f, 1), put32(roots.root + 116, 100);
    if (c == NO_SCHEMA) memset(description + 2, 0xff, 20);
    if (c == NO_VARINT) memset(description, 0xff, bytes);
    if (c == EMPTY) put32(roots.root + 116, 0);
    if (c == TWO_AT_ONE_PLACE) memcpy(description + bytes - 16, description + bytes - 16 - 18, 16);  // the index's root is that of its table
    if (c == ANOTHER_RECORD) roots.root[32] ^= 1;
    bool inside = c != TOO_LONG && c != BEHIND_THE_END && c != IN_THE_HEADER;
    seal(&roots, inside);
    if (c == SCHEMA_TOO_LONG) {
      uint8_t two[2] = {0xff, 0x7f};  // 16,383 bytes of a schema in a description of 100
      memcpy(description, two, 2);
      seal(&roots, true);
    }
    must_refuse(sim, WORDS[c]);
    sim_free(sim);
  }
}

// [S24] The same where the log holds the record that the checkpoint ends with, since a full disk had no room for another file.
Test(damage, a_root_that_ends_with_another_record) {
  Sim *sim = make(1, 6, UINT64_MAX);
  Store *store;
  ErrText text;
  world_checkpoint_bytes = 512;
  cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE);
  sim_space(sim, sim_used(sim) + 30000);
  cr_assert(world_commit(store, 7, 1, &text) == ERR_NONE, "%s", text.text);
  cr_assert(store_info(store)->checkpoint > 0, "%s", err_words(store_info(store)->checkpoint_err));
  store_abandon(store);
  uint64_t size;
  cr_assert(sim_bytes(sim, LOG_PATH, &size));
  Roots roots = find_roots(sim);
  memset(roots.file + pages_slot_offset(1 - roots.slot), 0, PAGES_BLOCK);
  roots.root[32] ^= 1;
  seal(&roots, true);
  must_refuse(sim, "is not the one that the checkpoint ends with");
  sim_free(sim);
}

// Both states are damaged: the first is named, since it is the one that is missed.
Test(damage, two_bad_roots) {
  Sim *sim = make(1, 14, 3000);
  uint64_t size;
  uint8_t *file = sim_bytes(sim, "app/pages", &size);
  for (int slot = 0; slot < 2; slot++) {
    uint64_t at = (uint64_t)get32(file + pages_slot_offset(slot) + 112) * PAGES_UNIT;
    cr_assert(at > 0);
    file[at] ^= 1;
  }
  must_refuse(sim, "a page cannot be read");
  sim_free(sim);
}

// What a slot says that no checkpoint wrote, while the log is whole: it is emptied before the next one is written.
Test(damage, a_slot_that_is_no_root) {
  for (int slot = 0; slot < 2; slot++) {
    Sim *sim = make(1, 5, UINT64_MAX);
    uint64_t size;
    ErrText text;
    Store *store;
    memset(sim_bytes(sim, "app/pages", &size) + pages_slot_offset(slot), 'x', 100);
    world_checkpoint_bytes = 2000;
    cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE, "%s", text.text);
    for (int64_t id = 6; id < 30; id++) cr_assert(world_commit(store, id, 1, &text) == ERR_NONE);
    cr_assert(store_info(store)->checkpoint > 0 && store_info(store)->checkpoint_err == ERR_NONE);
    store_abandon(store);
    cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE, "%s", text.text);
    cr_assert_eq(world_count(store), 29);
    store_abandon(store);
    sim_free(sim);
  }
}

// ---- the log's files --------------------------------------------------------------------------
Test(damage, segments_that_do_not_follow_each_other) {
  Sim *sim = sim_new();
  Store *store;
  ErrText text;
  world_checkpoint_bytes = UINT64_MAX;
  cr_assert(world_open(sim_files(sim), 4096, true, &store, &text) == ERR_NONE);
  cr_assert(world_set_schema(store, 1, &text) == ERR_NONE);
  for (int64_t id = 1; id <= 30; id++) cr_assert(world_commit(store, id, 1, &text) == ERR_NONE);
  store_abandon(store);
  char paths[8][300];
  unsigned count = 0;
  for (unsigned n = 0; sim_path(sim, n) && count < 8; n++)
    if (strstr(sim_path(sim, n), "log-")) strcpy(paths[count++], sim_path(sim, n));
  cr_assert(count >= 4);
  enum { SWAPPED, ANOTHER_PREDECESSOR, ANOTHER_FIRST, LAST_RECORD_GONE, MIDDLE_GONE, CASES };
  for (unsigned c = 0; c < CASES; c++) {
    Sim *copy = sim_copy(sim);
    uint64_t size;
    uint8_t *second = sim_bytes(copy, paths[1], &size);
    SegmentHeader header;
    if (c == SWAPPED) sim_swap(copy, paths[1], paths[2]);
    if (c == ANOTHER_PREDECESSOR || c == ANOTHER_FIRST) {
      cr_assert(segment_header_read(second, &header));
      if (c == ANOTHER_PREDECESSOR) header.predecessor ^= 1;
      else header.first++;
      segment_header_write(&header, second);
    }
    uint64_t at = LOG_BLOCK_BYTES, last = at;
    uint8_t *first = sim_bytes(copy, paths[0], &size);
    while (at < size && memcmp(first + at, "AUPR", 4) == 0) last = at, at += LOG_BLOCK_BYTES;
    if (c == LAST_RECORD_GONE) memset(first + last - LOG_BLOCK_BYTES, 0, 2 * LOG_BLOCK_BYTES);
    if (c == MIDDLE_GONE) sim_remove(copy, paths[1]);
    must_refuse(copy, "damaged");
    sim_free(copy);
  }
  sim_free(sim);
}

// [S9] A last file that was cut shorter than it was set aside, with nothing of a record hurt.
Test(damage, a_log_without_its_end) {
  Sim *sim = make(1, 3, UINT64_MAX);
  sim_resize(sim, LOG_PATH, 8192);
  must_refuse(sim, "the file is cut short");
  sim_free(sim);
}

// Behind a checkpoint the log must reach at least as far as that says.
Test(damage, a_log_that_ends_before_the_checkpoint) {
  Sim *sim = make(1, 6, UINT64_MAX);
  Store *store;
  ErrText text;
  world_checkpoint_bytes = 512;
  cr_assert(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE);
  cr_assert(world_commit(store, 7, 1, &text) == ERR_NONE);
  cr_assert(world_commit(store, 8, 1, &text) == ERR_NONE);
  store_abandon(store);
  unsigned logs = 0;
  char path[300] = "";
  for (unsigned n = 0; sim_path(sim, n); n++)
    if (strstr(sim_path(sim, n), "log-")) strcpy(path, sim_path(sim, n)), logs++;
  cr_assert(logs >= 1);
  uint64_t size;
  uint8_t *file = sim_bytes(sim, path, &size);
  memset(file + LOG_BLOCK_BYTES, 0, size - LOG_BLOCK_BYTES);
  Err err = world_open(sim_files(sim), 0, true, &store, &text);
  if (err == ERR_NONE) {  // the one before the newest and nothing more: what was acknowledged last is a cut record
    cr_assert(world_count(store) >= 7 && store_info(store)->dropped_at == 0);
    store_abandon(store);
  } else {
    cr_assert(err == ERR_DAMAGED, "%s", text.text);
  }
  sim_free(sim);
}
