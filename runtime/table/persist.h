// Pages as bytes that can be kept outside: writing those of a snapshot that are not kept yet, and making a Db of them again.
// This room knows the bytes of a page's image; where images lie, and what their checksums are, is the caller's.
//
//   image of a page:  0 u32 bytes of the image · 4 u8 level · 5 u8 0 · 6 u16 rows · 8 u32 bytes of the heap · 12 u32 of them
//                     unused · 16 u32 long texts · 20 u32 0 · 24 the columns in the order of the layout, each as one array ·
//                     the checksums of the long texts, u64 each, by column and row · the heap
//   of a long text:   0 u32 bytes of the image · 4 u8 0xFF · 5 zeros · 8 u32 bytes of the text · 12 zeros · 24 the text
//
// A text of more than 12 bytes has its offset in the heap where the page in memory has it from the page's start, or the top
// bit and the place of its image. A child's address is written as a PageRef. So an image names all it rests on with their
// checksums: a root with a right checksum is a whole state, and no older image of the same place passes for the right one.
//
// Owns:   persist_load gives a Db to its caller.
// Thread: persist_write: any one, while the snapshot is held; persist_load: one.
// Errors: what sink and source say; ERR_MEMORY; ERR_FORMAT (with a line) for images that are no tree.
// Limits: an image of less than 4 GiB.
#pragma once
#include "runtime/base/buf.h"
#include "runtime/table/table.h"

enum { PERSIST_HEAD_BYTES = 24, PERSIST_REF_BYTES = 16 };

// On disk: u32 place, u32 bytes, u64 checksum. Place 0: none.
typedef struct PageRef { uint32_t place, bytes; uint64_t sum; } PageRef;

typedef struct PersistSink {
  void *context;
  uint64_t since;                                                                        // pages born up to this epoch have their places
  Err (*keep)(void *context, PageRef ref);                                               // such a page is part of the state
  Err (*put)(void *context, const uint8_t *image, uint32_t bytes, PageRef *out_ref);     // a new one
} PersistSink;
typedef struct PersistSource {
  void *context;
  Err (*get)(void *context, PageRef ref, const uint8_t **out_image);                     // ref.bytes of them, good until the next call
} PersistSource;

// Every page of the snapshot, what it rests on before it. `out_roots` gets varint trees, and for each of them varint height,
// and if that is not 0 varint rows and the PageRef of its root.
MUST_USE Err persist_write(const Snapshot *snapshot, const PersistSink *sink, Buf *out_roots);
typedef struct PersistState { const Schema *schema; uint64_t bytes_max, number; Str roots; } PersistState;
// The state that was written, sealed as commit `state->number`. Structure, order and counts are checked; reader_check proves the rest.
// The budget is not asked: what was saved can be loaded.
MUST_USE Err persist_load(const PersistState *state, const PersistSource *source, Db **out_db, ErrText *out_text);
// The epoch of a state: pages born later are not part of it.
uint64_t snapshot_epoch(const Snapshot *snapshot);
uint64_t db_sealed_epoch(const Db *db);
