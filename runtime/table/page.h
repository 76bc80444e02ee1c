// Pages and what lies in them: the block of memory that a tree is made of. A page keeps its rows by column: one
// fixed-width array a stored column, and the bytes of texts in a heap at its end.
//
//   | header 64 | column | column | … (cap slots each) | free | heap: texts |
//                                                              ^ heap_at    ^ size
//
// A stored column ("cell") is one of a few fixed-width kinds; values of the language are taken apart into cells by row.h.
// A text cell is a 16-byte handle: its length; then up to 12 bytes in place; or 4 bytes to compare early and either the
// offset in the heap or, for long texts outside keys, the address of an overflow page that holds nothing else.
//
// Owns:   PagePool owns free blocks; pages belong to the trees they stand in.
// Thread: the owner; reading a page that is not of the current epoch: any.
// Errors: pool_reserve only (ERR_MEMORY); page_new cannot fail within what was reserved.
// Limits: PAGE_BYTES_MAX; a layout's page_bytes_max holds at least four of its rows.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum {
  PAGE_HEADER_BYTES = 64,
  PAGE_CLASSES = 24,
  PAGE_BYTES_MIN = 256,
  PAGE_TEXT_INLINE_MAX = 12,
  LAYOUT_COLUMNS_MAX = 4096,
  LAYOUT_KEY_MAX = 64,  // cells of a key or index entry
  INNER_CELLS_MAX = LAYOUT_KEY_MAX + 2 + 4 * 32,  // key, child, rows, and what is kept (4 each of SCHEMA_KEPT_MAX)
};
#ifdef AUP_HOSTILE
enum { PAGE_ROWS_MAX = 4, PAGE_BYTES_USUAL = 512, PAGE_TEXT_HEAP_MAX = 64 };
#else
enum { PAGE_ROWS_MAX = 4096, PAGE_BYTES_USUAL = 4096, PAGE_TEXT_HEAP_MAX = 512 };
#endif
static const uint64_t PAGE_ALIVE = UINT64_MAX;
enum { PAGE_OVERFLOW = 0xFF };  // the level of a page that holds one long text

typedef struct Page Page;
struct Page {
  uint64_t born;               // the epoch that made it; it is changed in place in that epoch only
  uint64_t died;               // the epoch that replaced it, or PAGE_ALIVE
  union {
    Page *born_prev;           // among the pages of the unsealed batch, with born_next
    uint64_t sum;              // of a page with a place: the checksum of its image (written by the checkpoint alone)
  };
  Page *born_next;
  Page *dead_next;             // among those that died in the batch, or that wait for a snapshot
  uint32_t size;               // header included; at most that of its class
  uint32_t heap_at;
  uint32_t heap_dead;          // bytes of the heap that no row uses any more
  uint32_t place;              // where the last checkpoint put it; 0: nowhere
  uint16_t count, cap;         // rows; slots
  uint8_t level;               // 0 leaf, above it inner pages; PAGE_OVERFLOW
  uint8_t class;
  bool in_chunk;               // its block is a part of a chunk
  uint8_t pad;
};
_Static_assert(sizeof(Page) == PAGE_HEADER_BYTES, "columns start at a fixed place");

typedef enum CellKind { CELL_I64, CELL_F64, CELL_U8, CELL_U16, CELL_UUID, CELL_TEXT } CellKind;
typedef union Cell { int64_t i; double f; Str text; uint8_t uuid[16]; } Cell;  // U8 and U16 in i
_Static_assert(sizeof(Cell) == 16, "a cell is as large as a value");

// A row where it lies.
typedef struct PageRow { const Page *page; unsigned slot; } PageRow;
typedef struct PageSlice { const Page *page; unsigned from, to; } PageSlice;  // rows [from, to)

// The first key_count columns are the key, in order of comparison.
typedef struct LayoutColumn { uint8_t kind, width; bool descending; uint32_t before; } LayoutColumn;  // before: bytes a row of the arrays in front
typedef struct Layout {
  uint16_t column_count, key_count;
  uint32_t row_bytes;
  uint16_t text_count;      // columns with handles
  uint16_t key_text_count;
  uint32_t text_heap_max;   // a longer text outside the key overflows
  uint32_t page_bytes_max;
  uint16_t rows_max;
  uint8_t class_max;
  bool int_key;             // one ascending I64: searched without calls
  LayoutColumn columns[];
} Layout;

// Fills what follows from kinds and order; columns' kind and descending and the two counts are set by the caller.
void layout_finish(Layout *layout, bool is_inner);

// ---- blocks -----------------------------------------------------------------------------------
// A small Db takes each block from the heap; from POOL_CHUNKS_FROM bytes on they are cut from chunks in huge pages.
enum { POOL_CHUNK_BYTES = 2 << 20, POOL_CHUNKS_FROM = 4 << 20 };
typedef struct PoolChunk PoolChunk;
typedef struct PagePool {
  Page *free[PAGE_CLASSES];
  uint32_t count[PAGE_CLASSES];
  uint64_t bytes_free, bytes_used;
  PoolChunk *chunk;                                            // the newest
  uint32_t chunk_at;                                           // bytes of it that were given
  uint32_t chunks_idle;                                        // chunks none of whose blocks is in use
} PagePool;
uint32_t page_class_bytes(unsigned class);
unsigned page_class_for(uint32_t bytes);                       // the smallest that holds so many
MUST_USE Err pool_reserve(PagePool *pool, unsigned class, uint32_t count);
Page *pool_take(PagePool *pool, unsigned class);               // header not cleared; NULL only beyond what was reserved
void pool_give(PagePool *pool, Page *page);
void pool_trim(PagePool *pool, uint64_t bytes_max);            // gives back what is free beyond so much, chunks as wholes
void pool_free(PagePool *pool);                                // all pages must have been given back
Page *pool_take_large(PagePool *pool, uint64_t bytes);         // an overflow page of its own size; may fail

// ---- cells (cell.h reads and compares them) ------------------------------------------------------------------------------------
static inline uint8_t *page_column(const Layout *layout, const Page *page, unsigned column) {
  return (uint8_t *)page + PAGE_HEADER_BYTES + (size_t)page->cap * layout->columns[column].before;
}
// The overflow page of a text cell, or NULL.
Page *page_overflow(const Layout *layout, const Page *page, unsigned column, unsigned slot);
// The first slot in [from, count) whose first `count` cells are >= the key (after: > the key).
unsigned page_search(const Layout *layout, const Page *page, unsigned from, const Cell *key, unsigned count, bool after);

// ---- rows -------------------------------------------------------------------------------------
uint32_t cells_heap_bytes(const Layout *layout, const Cell *cells);         // what the texts of a row take in a heap
uint32_t page_row_heap_bytes(const Layout *layout, const Page *page, unsigned slot);
uint32_t page_used(const Layout *layout, const Page *page);                 // header, rows and live texts
bool page_fits(const Layout *layout, const Page *page, unsigned rows, uint32_t heap_bytes);
// An empty page for about `rows` rows whose texts take `heap_bytes`, in a block of `class`.
void page_format(const Layout *layout, Page *page, unsigned level, unsigned rows, uint32_t heap_bytes);
void page_insert(const Layout *layout, Page *page, unsigned slot, const Cell *cells);
void page_remove(const Layout *layout, Page *page, unsigned slot);
void page_set_cell(const Layout *layout, Page *page, unsigned column, unsigned slot, Cell cell);  // room for a text must be there
void page_append(const Layout *layout, Page *to, const Page *from, unsigned first, unsigned count);  // room must be there
// A column of an empty page, before its rows are counted: rows of another page, whose column is of the same kind, or one value.
// Room must be there, and no text may overflow.
typedef struct PageColumn { const Layout *layout; const Page *page; unsigned column; } PageColumn;
void page_take_column(const Layout *layout, Page *page, unsigned column, PageColumn from);
void page_fill_column(const Layout *layout, Page *page, unsigned column, unsigned count, Cell cell);
