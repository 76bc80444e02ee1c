// What stands in the bodies of the log's records. Bytes: docs/STORE.md, "Records".
//
// Owns:   decoded schemas and values live in the arena.
// Thread: any.
// Errors: ERR_FORMAT for a body that is not one, ERR_MEMORY. Writers set failed in their Buf.
#pragma once
#include "runtime/store/store.h"

void record_write_commit(Buf *out, const StoreInput *inputs, uint32_t count, const Txn *txn);
// The last part, the changes, and the greatest `now` of the inputs. `visit` (may be NULL) sees each input.
typedef Err (*RecordVisit)(void *context, const StoreInput *input);
typedef struct RecordCommit { int64_t now_us; uint32_t input_count; Str changes; } RecordCommit;
MUST_USE Err record_read_commit(Str body, RecordVisit visit, void *context, RecordCommit *out_commit);

typedef struct RecordSchema {
  uint8_t module_hash[STORE_HASH_BYTES];
  Str schema;                    // its encoding
  const ReshapeTable *tables;    // NULL: the first schema, or the same one
} RecordSchema;
void record_write_schema(Buf *out, const RecordSchema *record, const Schema *schema);
// In two steps, since the values of a mapping need the schema to be read.
MUST_USE Err record_read_schema(Str body, Arena *arena, Schema *out_schema, RecordSchema *out_record, Str *out_mapping, ErrText *out_text);
MUST_USE Err record_read_mapping(Str mapping, const Schema *from, const Schema *to, Arena *arena, const ReshapeTable **out_tables);
