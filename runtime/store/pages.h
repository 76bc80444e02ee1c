// The page file of a store, `DIR/pages`: the state as of the last checkpoints. Bytes: docs/STORE.md, "The page file".
//
//   | header | slot 0 | slot 1 | images of pages, and the descriptions of roots, in units of 512 bytes … |
//
// Two slots name two whole states, the newest and the one before. A new state is written where neither of them has anything,
// then synced, then the slot of the older one is overwritten. A slot whose space is not known is emptied first.
//
// Owns:   the open file and a map of the space of each slot.
// Thread: one at a time: who opens the store, then the checkpoint.
// Errors: ERR_DAMAGED with file and offset; ERR_VERSION; what the file system says.
// Limits: 2^32 - 1 units (2 TiB).
#pragma once
#include "runtime/base/buf.h"
#include "runtime/base/hash.h"
#include "runtime/store/file.h"
#include "runtime/store/log.h"
#include "runtime/table/persist.h"

enum {
  PAGES_VERSION = 3,             // of the fixed parts, of schemas and of images: a test holds them together
  PAGES_UNIT = 512,
  PAGES_BLOCK = 512,             // of the header and a slot
  PAGES_SLOT_OFFSET = 4096,      // of the first; the second follows at twice that
  PAGES_FIRST_UNIT = 24,
  PAGES_ROOT_BYTES_MAX = 64 << 20,  // of a root's description
};
static const char PAGES_NAME[] = "pages";

// A bit a unit.
typedef struct SpaceMap { uint64_t *words; uint64_t word_count, used; } SpaceMap;
bool space_get(const SpaceMap *map, uint64_t unit);
MUST_USE Err space_mark(SpaceMap *map, PageRef ref, bool *out_was_taken);
void space_free(SpaceMap *map);

typedef struct PagesRoot {
  uint64_t generation;           // one more each checkpoint
  uint64_t number, log_sum;      // the last commit in it, and the checksum of that one's record
  int64_t now_us;
  uint8_t module_hash[HASH_BYTES], schema_hash[HASH_BYTES];
  PageRef description;           // varint length and encoding of the schema, then what persist_write says of the trees
} PagesRoot;

typedef enum SlotState {
  SLOT_EMPTY,
  SLOT_GOOD,                     // its space is known
  SLOT_READ,                     // a root, but its space is not known
  SLOT_BAD,                      // no root, or one that was not certainly written
} SlotState;

typedef struct PageFile {
  FileSystem *fs;
  Dir *dir;
  const char *dir_name;
  bool read_only;
  LogId id;
  ChecksumKey key;
  File *file;
  PagesRoot roots[2];
  uint8_t blocks[2][PAGES_BLOCK]; // of the slots, as they were when the file was opened
  SlotState slots[2];
  SpaceMap maps[2];
  int newest;                    // the slot that the Db rests on; -1: none
  uint64_t since;                // pages of the Db born up to this epoch have their place in the newest
  uint64_t size;                 // of the file
  uint32_t units_max;            // that it may have
  uint64_t bad_at;               // where a root rested on something that could not be read, or 0
} PageFile;

// A file with no state in it. Durable when it returns.
MUST_USE Err pages_create(PageFile *pages);
// Reads header and slots.
MUST_USE Err pages_open(PageFile *pages, ErrText *out_text);
void pages_close(PageFile *pages);
static inline uint64_t pages_slot_offset(int slot) { return (uint64_t)PAGES_SLOT_OFFSET * (unsigned)(slot + 1); }
// The slot to be tried next, the newest first, or -1.
int pages_best_slot(const PageFile *pages);

// Reads and proves what is named. `buf` holds it. Marks its space in the map.
MUST_USE Err pages_read(PageFile *pages, PageRef ref, SpaceMap *map, Buf *buf, ErrText *out_text);
MUST_USE Err pages_write_root(PageFile *pages, int slot, const PagesRoot *root);   // and syncs it; an error leaves the slot bad
// Has a slot been written since the file was opened?
bool pages_moved(const PageFile *pages);
// Writes the newest root once more, and syncs it, for the same reason as log_confirm.
MUST_USE Err pages_confirm(PageFile *pages);
MUST_USE Err pages_clear_slot(PageFile *pages, int slot);                          // the same with nothing
