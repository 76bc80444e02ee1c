// The shape of an app's state: types, tables, columns, keys, indexes. It stands in the module, in the log and page file
// of its data (so that the data can be read without any module), and drives the tables, the planner of swaps and GET /app.
//
// Tables[SCHEMA_STATE_TABLE] is always there and always first: it holds the one row of the app's `state` values. Its
// column 0 is the key, an int that is 0; then one column a state value; then, for each table whose key is `auto`, a
// hidden int column `Table.column` with the next number to give. So state values, counters and rows are all saved,
// undone and migrated by the same code.
//
// Owns:   nothing; arrays and names live in the arena of who built or decoded the schema.
// Thread: any, read only once built.
// Errors: ERR_FORMAT with a line that says what is wrong, for bytes that are not a sound schema; ERR_MEMORY.
// Limits: SCHEMA_*_MAX; those of type.h.
#pragma once
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/value/type.h"
#include "runtime/value/value.h"

enum {
  SCHEMA_STATE_TABLE = 0,
  SCHEMA_TABLES_MAX = 10000,
  SCHEMA_COLUMNS_MAX = 1000,       // in a table; a record of more fields cannot be stored
  SCHEMA_KEY_COLUMNS_MAX = 16,
  SCHEMA_INDEXES_MAX = 64,         // in a table
  SCHEMA_INDEX_COLUMNS_MAX = 16,
  SCHEMA_KEPT_MAX = 32,            // columns of a table or index that are kept summed up
};
static const uint16_t SCHEMA_NO_INDEX = 0xFFFF;  // in a range: the table itself, in key order

typedef enum OnDelete { ON_DELETE_RESTRICT, ON_DELETE_CASCADE, ON_DELETE_CLEAR } OnDelete;

// `hidden`: kept for an index, a unique rule or a counter; never shown, never a name of the language.
typedef struct ColumnDef {
  Str name;
  TypeId type;
  OnDelete on_delete;  // of a reference
  bool hidden;
} ColumnDef;

// What the inner pages of a tree keep of a column, beside the number of rows, so that a range is summed up in O(log n):
// how many are not none (of an optional; all three others keep it too), the sum (int, decimal, duration; of a bool: how many
// are true), the least and the greatest (those, time, date, plain enum). Of an optional, or of a reference to a key of such a
// type, as well. Floats are never kept: what is added and taken away again would not come out even.
enum { KEPT_COUNT = 1, KEPT_SUM = 2, KEPT_MIN = 4, KEPT_MAX = 8, KEPT_ALL = 15 };
typedef struct KeptDef { uint16_t column; uint8_t kinds; } KeptDef;

typedef struct IndexColumn { uint16_t column; bool descending; } IndexColumn;
// Entries are ordered by these columns, then by the key. A unique index is checked at the end of an input
// (none never collides). `condition`: a hidden bool column; only rows where it is true count for `unique`; SCHEMA_NO_COLUMN: all.
static const uint16_t SCHEMA_NO_COLUMN = 0xFFFF;
typedef struct IndexDef {
  uint16_t column_count;
  const IndexColumn *columns;
  bool unique;
  uint16_t condition;
  uint16_t carried_count;         // columns kept in the entry beside the key, for reads that need no row
  const uint16_t *carried;
  uint16_t kept_count;            // of columns that the entry has: its own, those of the key, carried ones
  const KeptDef *kept;
} IndexDef;

typedef struct TableDef {
  Str name;
  uint16_t column_count;
  const ColumnDef *columns;
  uint16_t key_count;
  const uint16_t *key;            // columns, in order
  bool auto_key;                  // the one int key column is given by the host: 1, 2, 3 …
  uint16_t auto_column;           // with auto_key: the column of the state table that holds the next number
  uint16_t index_count;
  const IndexDef *indexes;
  uint64_t rows_max;              // 0: no cap
  uint16_t kept_count;            // by the table's own tree, each column once
  const KeptDef *kept;
} TableDef;

typedef struct Schema {
  TypeTable types;                // its table_keys and table_names are those of `tables`
  uint16_t table_count;
  const TableDef *tables;
} Schema;

void schema_encode(const Schema *schema, Buf *out);
MUST_USE Err schema_decode(Str bytes, Arena *arena, Schema *out_schema, ErrText *out_text);
// Every index, type and count within its bounds; keys ordered; the state table as above. Done by schema_decode too.
MUST_USE Err schema_check(const Schema *schema, ErrText *out_text);
// 32 bytes of BLAKE2b over the encoding: two schemas with the same hash are the same.
void schema_hash(Str encoded, uint8_t out_hash[32]);
// -1 when there is none of that name.
int schema_find_table(const Schema *schema, Str name);
int schema_find_column(const TableDef *table, Str name);
// The KEPT_* of a column in an index, or in the table's own tree with SCHEMA_NO_INDEX; 0: nothing.
unsigned schema_kept(const TableDef *table, uint16_t index, uint16_t column);
// The KEPT_* that a column of the type could have.
unsigned schema_keepable(const TypeTable *types, TypeId type);
