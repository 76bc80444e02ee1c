// The state of one app in memory: a Db of typed, persistent (copy-on-write) trees, one a table and one an index.
// The owner changes it through a Txn; everybody else reads Snapshots, which never change.
//
// Owns:   Db owns all pages. Values read through a Reader point into pages: those of a Snapshot live until it is
//         released; those of a Txn until the next change through it (copy what must live longer).
// Thread: Db and Txn: the owner only. Snapshot: any thread once taken; taking and releasing: the owner.
// Errors: ERR_EXISTS (key taken), ERR_NOT_FOUND (no such row), ERR_LIMIT (rows_max, key too long), ERR_FULL (bytes_max),
//         ERR_MEMORY. A failed change changes nothing.
// Limits: TABLE_KEY_BYTES_MAX for a key or index entry; the Db's bytes_max, which pages that only snapshots see count towards:
//         one change may pass it by the pages it takes, and changes of numbers alone by a quarter. Deletes never fail for it.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/value/schema.h"
#include "runtime/value/value.h"

enum { TABLE_KEY_BYTES_MAX = 1024 };

typedef struct Db Db;
typedef struct Txn Txn;            // the owner's changeable state
typedef struct Snapshot Snapshot;  // a sealed state
typedef struct Reader Reader;      // either of them, for reading

// The schema must outlive the Db (db_reshape replaces it). A new Db is empty but for the row of the state table, all zeros.
MUST_USE Err db_open(const Schema *schema, uint64_t bytes_max, Db **out_db);
void db_free(Db *db);              // no snapshot may be held
const Schema *db_schema(const Db *db);
void db_set_bytes_max(Db *db, uint64_t bytes_max);  // 0: none
uint64_t db_bytes(const Db *db);   // memory of all pages, those only snapshots still see included

Txn *db_txn(Db *db);
const Reader *txn_reader(const Txn *txn);

// ---- changes (owner) --------------------------------------------------------------------------
// `columns`: one Value for each column of the table. Keys are whole values: of the one key column, or a record of them.
MUST_USE Err txn_insert(Txn *txn, uint16_t table, const Value *columns);
// Changes `count` columns of the row. Key columns may be among them only with their old value.
MUST_USE Err txn_update(Txn *txn, uint16_t table, Value key, uint16_t count, const uint16_t *columns, const Value *values);
MUST_USE Err txn_delete(Txn *txn, uint16_t table, Value key);

// A mark is a place in the list of changes since the last seal. Going back to one undoes all that came after.
typedef struct TxnMark { uint32_t change; } TxnMark;
TxnMark txn_mark(const Txn *txn);
void txn_undo(Txn *txn, TxnMark mark);  // cannot fail: what it needs was kept by the changes
uint64_t txn_changed_bytes(const Txn *txn, TxnMark since);

// Rows touched since the mark, each once, in order of table and first touch, whether or not they still stand:
// for the checks at the end of an input. `visit` must not change the Txn; a result other than ERR_NONE stops and is returned.
typedef Err (*TxnVisit)(void *context, uint16_t table, Value key, bool stands);
MUST_USE Err txn_touched(const Txn *txn, TxnMark since, TxnVisit visit, void *context);

// The first unique index that a row touched since the mark breaks. ERR_EXISTS fills `out`.
typedef struct UniqueClash { uint16_t table, index; Value key; } UniqueClash;
MUST_USE Err txn_check_unique(const Txn *txn, TxnMark since, UniqueClash *out_clash);

// The net effect of all changes since the mark as bytes for the log (table and row by key, changed columns only), and
// its replay. What was written with a schema is applied with the same schema. Applying checks everything.
void txn_encode_changes(const Txn *txn, TxnMark since, Buf *out);
MUST_USE Err txn_apply_changes(Txn *txn, Str bytes, ErrText *out_text);

// Ends the batch: its changes become commit `number` (greater than any before), and the undo list is emptied.
void txn_seal(Txn *txn, uint64_t number);

// ---- snapshots --------------------------------------------------------------------------------
// The state as of the last seal (changes made since then are not seen). NULL: no memory.
Snapshot *db_snapshot_take(Db *db);
void snapshot_release(Snapshot *snapshot);
// At most so many pages of it at once, nothing of it may be read any more; true: it is released. For one that many pages wait for.
MUST_USE bool snapshot_release_part(Snapshot *snapshot, uint32_t pages_max);
bool db_has_snapshots(const Db *db);
uint64_t snapshot_number(const Snapshot *snapshot);
const Reader *snapshot_reader(const Snapshot *snapshot);

// ---- reading ----------------------------------------------------------------------------------
const Schema *reader_schema(const Reader *reader);
bool reader_moves(const Reader *reader);  // reads a Txn: values read in place last until its next change, keys until the cursor's next row
uint64_t reader_row_count(const Reader *reader, uint16_t table);
// Proves every rule of the trees from the rows alone: order, counts, what is kept, and that each index has one entry a row
// that is equal to it. ERR_DAMAGED says what is wrong in which table. O(rows · log n).
MUST_USE Err reader_check(const Reader *reader, ErrText *out_text);
// A row in place: valid until the next change through the Txn, or the release of the snapshot.
typedef struct Row { const void *page; const Reader *reader; uint32_t slot; uint16_t table; } Row;
bool row_find(const Reader *reader, uint16_t table, Value key, Row *out_row);
// `arena` holds parts that must be put together (lists, records); texts point into the page. ERR_MEMORY only.
MUST_USE Err row_column(const Row *row, uint16_t column, Arena *arena, Value *out_value);

// A range of a table in key order (index SCHEMA_NO_INDEX) or of an index: the first `equal_count` columns equal to
// `equal`, and then, if asked, the next column between low and high. Bounds are in the column's own order, whatever its direction.
typedef struct Range {
  uint16_t table, index;
  uint16_t equal_count;
  const Value *equal;
  bool has_low, has_high, low_inclusive, high_inclusive;
  Value low, high;
  bool backward;                   // against the order of the tree
} Range;

// A place in a range. It stands on a row after cursor_next has said true. It stays usable when the Txn it reads changes
// (it finds its place again by key; rows put behind it are not seen, rows removed before it are not met).
// The range's values must live as long as the cursor; a cursor holds its own copy of its place in `arena`. `*out_cursor` is NULL,
// or a cursor that was opened before, with the same reader, table, index and arena: then it is used again.
typedef struct Cursor Cursor;
MUST_USE Err cursor_open(const Reader *reader, const Range *range, Arena *arena, Cursor **out_cursor);
bool cursor_next(Cursor *cursor);
MUST_USE Err cursor_key(const Cursor *cursor, Arena *arena, Value *out_key);              // the row's key
MUST_USE Err cursor_column(Cursor *cursor, uint16_t column, Arena *arena, Value *out_value);
MUST_USE Err cursor_skip(Cursor *cursor, uint64_t rows);                                  // O(log n)
uint64_t range_count(const Reader *reader, const Range *range);                           // O(log n)

// ---- summed up --------------------------------------------------------------------------------
// Rows by their place in the order of a tree: the from-th to the one before the to-th. Good until the next change.
typedef struct RankSpan { uint64_t from, to; } RankSpan;
RankSpan range_span(const Reader *reader, const Range *range);                            // O(log n); empty: from == to
// A column over a span: rows, how many of them are not none, and of those the sum (in units of a decimal, µs; of a bool: how
// many are true), the least and the greatest (their Value.i or units; when count is 0, the greatest and the least of all ints).
// Only what schema_kept names for the column is filled; rows always, count of a column that cannot be none too.
typedef struct Summary { uint64_t rows, count; __int128 sum; int64_t least, greatest; } Summary;
// O(log n): a descent for each end. `index`: SCHEMA_NO_INDEX or one of the table's. false: nothing is kept of the column there.
bool span_summary(const Reader *reader, uint16_t table, uint16_t index, RankSpan span, uint16_t column, Summary *out_summary);
bool range_summary(const Reader *reader, const Range *range, uint16_t column, Summary *out_summary);
// Moves to the next group of rows that agree in the first `columns` columns of the tree's order (those of the index, then the
// key), as far as it lies in the range, and stands on its first row (backward: its last), to read what the group has in common.
// What comes next, a group or a row, lies behind the whole group. O(log n). false: no more rows.
bool cursor_next_group(Cursor *cursor, uint16_t columns, RankSpan *out_group);

// ---- another shape ----------------------------------------------------------------------------
// How the tables of a new schema are filled from those of the old one: by table, the old table (or RESHAPE_NEW) and, by
// column, the old column or RESHAPE_NEW with the value every old row gets. Old tables and columns not named are let go.
static const uint16_t RESHAPE_NEW = 0xFFFF;
typedef struct ReshapeColumn { uint16_t from; Value value; } ReshapeColumn;
typedef struct ReshapeTable { uint16_t from; const ReshapeColumn *columns; } ReshapeTable;
// Only what keeps every type, key and key order as it was; the caller has made sure. On an error the Db is as before.
// ERR_FULL when the new state alone is larger than bytes_max. All changes must be sealed. Snapshots taken before stay valid (with the schema they were taken under).
MUST_USE Err db_reshape(Db *db, const Schema *schema, const ReshapeTable *tables, ErrText *out_text);
