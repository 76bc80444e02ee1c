// One cell of a page, read and compared where it lies. In a header because every search and every read of a row does little
// else, and a call for each cell would cost more than the cell.
//
// Owns:   nothing.
// Thread: as pages.
// Errors: none.
#pragma once
#include <assert.h>

#include "runtime/table/page.h"

// ---- texts ------------------------------------------------------------------------------------
// A handle: u32 length, then 12 bytes of text, or 4 bytes of it and 8 of offset or address. The top bit of the place tells
// an address in an overflow page (never set in a user address) from an offset.
static const uint64_t HANDLE_OVERFLOW = 1ull << 63;

static inline uint32_t handle_len(const uint8_t *handle) {
  uint32_t len;
  memcpy(&len, handle, 4);
  return len;
}

static inline uint64_t handle_place(const uint8_t *handle) {
  uint64_t place;
  memcpy(&place, handle + 8, 8);
  return place;
}

static inline bool cell_overflows(const Layout *layout, unsigned column, size_t text_len) {
  return column >= layout->key_count && layout->columns[column].kind == CELL_TEXT && text_len > layout->text_heap_max;
}

static inline Str page_text(const Page *page, const uint8_t *handle) {
  uint32_t len = handle_len(handle);
  if (len <= PAGE_TEXT_INLINE_MAX) return (Str){(const char *)handle + 4, len};
  uint64_t place = handle_place(handle);
  if (place & HANDLE_OVERFLOW) return (Str){(const char *)(uintptr_t)(place & ~HANDLE_OVERFLOW), len};
  assert(place >= page->heap_at && place + len <= page->size);
  return (Str){(const char *)page + place, len};
}

// ---- cells ------------------------------------------------------------------------------------
static inline Cell page_cell(const Layout *layout, const Page *page, unsigned column, unsigned slot) {
  assert(slot < page->count && column < layout->column_count);
  const uint8_t *at = page_column(layout, page, column);
  Cell cell = {0};
  switch ((CellKind)layout->columns[column].kind) {
    case CELL_I64: case CELL_F64: memcpy(&cell.i, at + 8 * (size_t)slot, 8); break;
    case CELL_U8: cell.i = at[slot]; break;
    case CELL_U16: { uint16_t n; memcpy(&n, at + 2 * (size_t)slot, 2); cell.i = n; break; }
    case CELL_UUID: memcpy(cell.uuid, at + 16 * (size_t)slot, 16); break;
    case CELL_TEXT: cell.text = page_text(page, at + 16 * (size_t)slot); break;
  }
  return cell;
}

static inline int cell_compare(const LayoutColumn *column, Cell a, Cell b) {
  int order = 0;
  switch ((CellKind)column->kind) {
    case CELL_I64: case CELL_U8: case CELL_U16: order = (a.i > b.i) - (a.i < b.i); break;
    case CELL_F64: order = (a.f > b.f) - (a.f < b.f); break;
    case CELL_UUID: order = memcmp(a.uuid, b.uuid, 16); break;
    case CELL_TEXT: order = str_compare(a.text, b.text); break;
  }
  return column->descending ? -order : order;
}

// Order of a row and `count` cells of a key (fewer than the whole: a prefix).
static inline int page_compare(const Layout *layout, const Page *page, unsigned slot, const Cell *key, unsigned count) {
  assert(count <= layout->key_count);
  for (unsigned c = 0; c < count; c++) {
    int order = cell_compare(&layout->columns[c], page_cell(layout, page, c, slot), key[c]);
    if (order) return order;
  }
  return 0;
}

// A page is about to be searched, and perhaps read or copied whole: its first lines are asked for at once. (GCC takes a
// function that only prefetches for one without effect and drops its calls, unless it is inlined by force.)
__attribute__((always_inline)) static inline void page_fetch(const Page *page, unsigned bytes) {
  for (unsigned at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)page + at);
}
