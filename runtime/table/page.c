// A page is a little table by column. Rows move with one memmove a column, which for a few dozen rows costs less than
// any scheme of holes; texts are copied into the heap from its end down, and what an update leaves behind is only
// counted until the page is built anew. Handles hold offsets, so a page is copied with one memcpy.
//
// Presence of optionals is a byte and not a bit: it moves like any other column, and a vector loop reads it as it is.
#include "runtime/table/page.h"

#include <assert.h>
#include <sys/mman.h>

#include "runtime/base/mem.h"
#include "runtime/table/cell.h"

// ---- classes ----------------------------------------------------------------------------------
// 256, 384, 512, 768, 1024, 1536 … : each step is at most a half more, so a page wastes little.
uint32_t page_class_bytes(unsigned class) {
  assert(class < PAGE_CLASSES);
  uint32_t base = (uint32_t)PAGE_BYTES_MIN << (class / 2);
  return class % 2 ? base + base / 2 : base;
}

unsigned page_class_for(uint32_t bytes) {
  if (bytes <= PAGE_BYTES_MIN) return 0;
  unsigned top = 31 - (unsigned)__builtin_clz(bytes - 1);  // 2^top < bytes <= 2^(top + 1)
  unsigned class = 2 * (top - 8) + (bytes <= 3u << (top - 1) ? 1 : 2);
  assert(class < PAGE_CLASSES && page_class_bytes(class) >= bytes && page_class_bytes(class - 1) < bytes);
  return class;
}
_Static_assert(PAGE_BYTES_MIN == 1 << 8, "page_class_for counts from it");

static uint64_t block_bytes(const Page *page);

// With many pages it is the address translation that costs: a page in a huge page misses half as often. A chunk goes back to
// the system when none of its blocks is in use and there is more free than is wanted.
struct PoolChunk { PoolChunk *older; uint32_t in_use; bool going; };
enum { CHUNK_HEAD_BYTES = 64 };

static PoolChunk *chunk_of(const Page *page) { return (PoolChunk *)((uintptr_t)page & ~(uintptr_t)(POOL_CHUNK_BYTES - 1)); }

static Page *cut_block(PagePool *pool, uint32_t bytes) {
  if (!pool->chunk || pool->chunk_at + bytes > POOL_CHUNK_BYTES) {
    PoolChunk *chunk = mem_map(POOL_CHUNK_BYTES);
    if (!chunk) return NULL;
    (void)madvise(chunk, POOL_CHUNK_BYTES, MADV_HUGEPAGE);  // a wish; without it all is as before
    *chunk = (PoolChunk){.older = pool->chunk};
    pool->chunk = chunk;
    pool->chunk_at = CHUNK_HEAD_BYTES;
    pool->chunks_idle++;
  }
  Page *page = (Page *)(void *)((uint8_t *)pool->chunk + pool->chunk_at);
  pool->chunk_at += bytes;
  return page;
}

static Page *new_block(PagePool *pool, unsigned class) {
  uint32_t bytes = page_class_bytes(class);
  bool many = pool->bytes_used + pool->bytes_free >= POOL_CHUNKS_FROM && bytes <= POOL_CHUNK_BYTES / 16;
  Page *page = many ? cut_block(pool, bytes) : NULL;
  bool in_chunk = page != NULL;
  if (!page) page = mem_alloc(bytes);
  if (page) page->in_chunk = in_chunk;
  return page;
}

Err pool_reserve(PagePool *pool, unsigned class, uint32_t count) {
  while (pool->count[class] < count) {
    Page *page = new_block(pool, class);
    if (!page) return ERR_MEMORY;
    page->class = (uint8_t)class;
    page->size = page_class_bytes(class);
    page->dead_next = pool->free[class];
    pool->free[class] = page;
    pool->count[class]++;
    pool->bytes_free += block_bytes(page);
  }
  return ERR_NONE;
}

// Of the block, which may be larger than the page that was made in it.
static uint64_t block_bytes(const Page *page) { return page->class == PAGE_CLASSES ? page->size : page_class_bytes(page->class); }

static Page *pop(PagePool *pool, unsigned class) {
  Page *page = pool->free[class];
  pool->free[class] = page->dead_next;
  pool->count[class]--;
  pool->bytes_free -= block_bytes(page);
  pool->bytes_used += block_bytes(page);
  page->size = page_class_bytes(class);
  if (page->in_chunk && chunk_of(page)->in_use++ == 0) pool->chunks_idle--;
  return page;
}

// A larger block serves when there is no memory for one of the class: so a reserve of large ones is enough for all.
Page *pool_take(PagePool *pool, unsigned class) {
  if (pool->free[class]) return pop(pool, class);
  if (pool_reserve(pool, class, 1) == ERR_NONE) return pop(pool, class);
  while (++class < PAGE_CLASSES)
    if (pool->free[class]) return pop(pool, class);
  return NULL;
}

Page *pool_take_large(PagePool *pool, uint64_t bytes) {
  if (bytes > UINT32_MAX - PAGE_HEADER_BYTES) return NULL;
  Page *page = mem_alloc(PAGE_HEADER_BYTES + bytes);
  if (!page) return NULL;
  *page = (Page){.died = PAGE_ALIVE, .size = (uint32_t)(PAGE_HEADER_BYTES + bytes), .level = PAGE_OVERFLOW, .class = PAGE_CLASSES};
  pool->bytes_used += page->size;
  return page;
}

void pool_give(PagePool *pool, Page *page) {
  pool->bytes_used -= block_bytes(page);
  if (page->class == PAGE_CLASSES) {
    mem_free(page);
    return;
  }
  if (page->in_chunk && --chunk_of(page)->in_use == 0) pool->chunks_idle++;
  page->dead_next = pool->free[page->class];
  pool->free[page->class] = page;
  pool->count[page->class]++;
  pool->bytes_free += block_bytes(page);
}

// Takes the blocks of chunks that go out of a list of free ones.
static void sweep_list(PagePool *pool, unsigned class) {
  Page **link = &pool->free[class];
  while (*link) {
    Page *page = *link;
    if (!page->in_chunk || !chunk_of(page)->going) {
      link = &page->dead_next;
      continue;
    }
    *link = page->dead_next;
    pool->count[class]--;
    pool->bytes_free -= block_bytes(page);
  }
}

// Marks idle chunks until enough will be free, sweeps their blocks out of the lists, and lets them go. A walk over all that
// is free: seldom, since only a state that has shrunk by whole chunks has idle ones.
static void release_chunks(PagePool *pool, uint64_t bytes_max) {
  uint64_t surplus = pool->bytes_free - bytes_max;
  bool any = false;
  for (PoolChunk *chunk = pool->chunk; chunk; chunk = chunk->older) {
    chunk->going = chunk->in_use == 0 && surplus >= POOL_CHUNK_BYTES;
    if (!chunk->going) continue;
    surplus -= POOL_CHUNK_BYTES;
    any = true;
  }
  if (!any) return;
  for (unsigned class = 0; class < PAGE_CLASSES; class++) sweep_list(pool, class);
  if (pool->chunk->going) pool->chunk_at = POOL_CHUNK_BYTES;  // the next newest is full
  for (PoolChunk **link = &pool->chunk; *link;) {
    PoolChunk *chunk = *link;
    if (!chunk->going) {
      link = &chunk->older;
      continue;
    }
    *link = chunk->older;
    pool->chunks_idle--;
    mem_unmap(chunk, POOL_CHUNK_BYTES);
  }
}

void pool_trim(PagePool *pool, uint64_t bytes_max) {
  if (pool->chunks_idle && pool->bytes_free >= bytes_max + POOL_CHUNK_BYTES) release_chunks(pool, bytes_max);
  for (unsigned class = PAGE_CLASSES; class-- > 0;)
    while (pool->bytes_free > bytes_max && pool->free[class] && !pool->free[class]->in_chunk) {
      Page *page = pop(pool, class);
      pool->bytes_used -= block_bytes(page);
      mem_free(page);
    }
}

void pool_free(PagePool *pool) {
  assert(pool->bytes_used == 0);
  for (unsigned class = 0; class < PAGE_CLASSES; class++)
    while (pool->free[class]) {
      Page *page = pop(pool, class);
      if (!page->in_chunk) mem_free(page);
    }
  while (pool->chunk) {
    PoolChunk *older = pool->chunk->older;
    mem_unmap(pool->chunk, POOL_CHUNK_BYTES);
    pool->chunk = older;
  }
  *pool = (PagePool){0};
}

// ---- layouts ----------------------------------------------------------------------------------
static uint8_t kind_width(CellKind kind) {
  switch (kind) {
    case CELL_I64: case CELL_F64: return 8;
    case CELL_U8: return 1;
    case CELL_U16: return 2;
    case CELL_UUID: case CELL_TEXT: return 16;
  }
  assert(false);
  return 0;
}

static void place_column(Layout *layout, unsigned c) {
  layout->columns[c].before = layout->row_bytes;
  layout->row_bytes += layout->columns[c].width;
}

// Wide arrays first, so that numbers start aligned whatever the number of slots. Wide keys stand before all: then a search
// knows where they are from the page's address alone, and need not wait for its header to come from memory.
static void place_columns(Layout *layout) {
  static const uint8_t WIDTHS[] = {16, 8, 2, 1};
  layout->row_bytes = 0;
  for (unsigned c = 0; c < layout->column_count; c++) {
    layout->columns[c].width = kind_width((CellKind)layout->columns[c].kind);
    if (c < layout->key_count && layout->columns[c].width >= 8) place_column(layout, c);
  }
  for (unsigned w = 0; w < countof(WIDTHS); w++)
    for (unsigned c = 0; c < layout->column_count; c++)
      if (layout->columns[c].width == WIDTHS[w] && (c >= layout->key_count || WIDTHS[w] < 8)) place_column(layout, c);
}

// Keys are at most 1 KiB and never overflow; the other texts of a row get a share of a page that leaves room for four
// rows. Wide tables have larger pages.
void layout_finish(Layout *layout, bool is_inner) {
  place_columns(layout);
  layout->text_count = layout->key_text_count = 0;
  for (unsigned c = 0; c < layout->column_count; c++)
    if (layout->columns[c].kind == CELL_TEXT) {
      layout->text_count++;
      if (c < layout->key_count) layout->key_text_count++;
    }
  uint32_t others = layout->text_count - layout->key_text_count;
  layout->text_heap_max = others ? 2 * PAGE_TEXT_HEAP_MAX / others : 0;
  if (layout->text_heap_max > PAGE_TEXT_HEAP_MAX) layout->text_heap_max = PAGE_TEXT_HEAP_MAX;
  if (layout->text_heap_max < 32) layout->text_heap_max = 32;
  uint32_t row_max = layout->row_bytes + (layout->key_text_count ? 1024 : 0) + others * layout->text_heap_max;
  uint32_t need = PAGE_HEADER_BYTES + 4 * row_max;
  layout->class_max = (uint8_t)page_class_for(need > PAGE_BYTES_USUAL ? need : PAGE_BYTES_USUAL);
  layout->page_bytes_max = page_class_bytes(layout->class_max);
  layout->rows_max = PAGE_ROWS_MAX;
  const LayoutColumn *first = &layout->columns[0];
  layout->int_key = layout->key_count == 1 && first->kind == CELL_I64 && !first->descending;
  (void)is_inner;
}

// ---- cells ------------------------------------------------------------------------------------
Page *page_overflow(const Layout *layout, const Page *page, unsigned column, unsigned slot) {
  if (layout->columns[column].kind != CELL_TEXT) return NULL;
  const uint8_t *handle = page_column(layout, page, column) + 16 * (size_t)slot;
  if (handle_len(handle) <= PAGE_TEXT_INLINE_MAX) return NULL;
  uint64_t place = handle_place(handle);
  return place & HANDLE_OVERFLOW ? (Page *)((uintptr_t)(place & ~HANDLE_OVERFLOW) - PAGE_HEADER_BYTES) : NULL;
}

// How many of `count` sorted keys lie below the bound. Every eighth key is looked at, then the eight in front of the first
// that does not lie below: twice as many comparisons as halving would make, but none waits for another, so that the lines of a
// page that is not in the cache come all at once.
static unsigned count_below(const int64_t *keys, unsigned count, int64_t bound) {
  enum { STEP = 8 };  // keys of a line
  if (count < STEP) {
    unsigned below = 0;
    for (unsigned i = 0; i < count; i++) below += keys[i] < bound;
    return below;
  }
  unsigned from = 0;
  for (unsigned i = STEP - 1; i < count; i += STEP) from += keys[i] < bound ? STEP : 0;
  if (from > count - STEP) from = count - STEP;  // those in front lie below too
  unsigned below = 0;
  for (unsigned i = 0; i < STEP; i++) below += keys[from + i] < bound;
  return from + below;
}

static unsigned search_int(const int64_t *keys, unsigned from, unsigned count, int64_t key, bool after) {
  if (after && key == INT64_MAX) return count;
  return from + count_below(keys + from, count - from, after ? key + 1 : key);
}

unsigned page_search(const Layout *layout, const Page *page, unsigned from, const Cell *key, unsigned count, bool after) {
  assert(from <= page->count);
  if (layout->int_key && count == 1)
    return search_int((const int64_t *)(const void *)((const uint8_t *)page + PAGE_HEADER_BYTES), from, page->count, key[0].i, after);
  unsigned low = from, high = page->count;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    int order = page_compare(layout, page, middle, key, count);
    if (order < 0 || (after && order == 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// ---- rows -------------------------------------------------------------------------------------
static uint32_t text_heap_bytes(const Layout *layout, unsigned column, size_t len) {
  return len <= PAGE_TEXT_INLINE_MAX || cell_overflows(layout, column, len) ? 0 : (uint32_t)len;
}

uint32_t cells_heap_bytes(const Layout *layout, const Cell *cells) {
  uint32_t bytes = 0;
  if (layout->text_count)
    for (unsigned c = 0; c < layout->column_count; c++)
      if (layout->columns[c].kind == CELL_TEXT) bytes += text_heap_bytes(layout, c, cells[c].text.len);
  return bytes;
}

uint32_t page_row_heap_bytes(const Layout *layout, const Page *page, unsigned slot) {
  uint32_t bytes = 0;
  if (layout->text_count)
    for (unsigned c = 0; c < layout->column_count; c++)
      if (layout->columns[c].kind == CELL_TEXT)
        bytes += text_heap_bytes(layout, c, handle_len(page_column(layout, page, c) + 16 * (size_t)slot));
  return bytes;
}

static uint32_t columns_end(const Layout *layout, const Page *page) { return PAGE_HEADER_BYTES + page->cap * layout->row_bytes; }

uint32_t page_used(const Layout *layout, const Page *page) {
  return PAGE_HEADER_BYTES + page->count * layout->row_bytes + (page->size - page->heap_at - page->heap_dead);
}

bool page_fits(const Layout *layout, const Page *page, unsigned rows, uint32_t heap_bytes) {
  return page->count + rows <= page->cap && page->heap_at - columns_end(layout, page) >= heap_bytes;
}

void page_format(const Layout *layout, Page *page, unsigned level, unsigned rows, uint32_t heap_bytes) {
  uint32_t room = page->size - PAGE_HEADER_BYTES;
  uint64_t each = layout->row_bytes + (rows ? (heap_bytes + rows - 1) / rows : 0);
  assert(rows * layout->row_bytes + heap_bytes <= room);
  uint64_t cap = room / (each ? each : 1);
  uint64_t cap_max = (room - heap_bytes) / layout->row_bytes;
  if (cap < rows) cap = rows;
  if (cap > cap_max) cap = cap_max;
  if (cap > layout->rows_max) cap = layout->rows_max;
  page->level = (uint8_t)level;
  page->count = 0;
  page->cap = (uint16_t)cap;
  page->heap_at = page->size;
  page->heap_dead = 0;
  page->place = 0;
}

static void put_text(const Layout *layout, Page *page, unsigned column, uint8_t *handle, Str text) {
  uint32_t len = (uint32_t)text.len;
  memset(handle, 0, 16);
  memcpy(handle, &len, 4);
  if (len <= PAGE_TEXT_INLINE_MAX) {
    if (len) memcpy(handle + 4, text.ptr, len);
    return;
  }
  memcpy(handle + 4, text.ptr, 4);
  uint64_t place;
  if (cell_overflows(layout, column, len)) {
    place = (uint64_t)(uintptr_t)text.ptr | HANDLE_OVERFLOW;  // the caller has put it into a page of its own
  } else {
    assert(page->heap_at - columns_end(layout, page) >= len);
    page->heap_at -= len;
    memcpy((uint8_t *)page + page->heap_at, text.ptr, len);
    place = page->heap_at;
  }
  memcpy(handle + 8, &place, 8);
}

static void put_cell(const Layout *layout, Page *page, unsigned column, unsigned slot, Cell cell) {
  uint8_t *at = page_column(layout, page, column);
  switch ((CellKind)layout->columns[column].kind) {
    case CELL_I64: case CELL_F64: memcpy(at + 8 * (size_t)slot, &cell.i, 8); break;
    case CELL_U8: at[slot] = (uint8_t)cell.i; break;
    case CELL_U16: { uint16_t n = (uint16_t)cell.i; memcpy(at + 2 * (size_t)slot, &n, 2); break; }
    case CELL_UUID: memcpy(at + 16 * (size_t)slot, cell.uuid, 16); break;
    case CELL_TEXT: put_text(layout, page, column, at + 16 * (size_t)slot, cell.text); break;
  }
}

void page_set_cell(const Layout *layout, Page *page, unsigned column, unsigned slot, Cell cell) {
  assert(slot < page->count);
  if (layout->columns[column].kind == CELL_TEXT)
    page->heap_dead += text_heap_bytes(layout, column, handle_len(page_column(layout, page, column) + 16 * (size_t)slot));
  put_cell(layout, page, column, slot, cell);
}

void page_insert(const Layout *layout, Page *page, unsigned slot, const Cell *cells) {
  assert(page->count < page->cap && slot <= page->count);
  for (unsigned c = 0; c < layout->column_count; c++) {
    uint8_t *at = page_column(layout, page, c) + (size_t)slot * layout->columns[c].width;
    memmove(at + layout->columns[c].width, at, (size_t)(page->count - slot) * layout->columns[c].width);
    put_cell(layout, page, c, slot, cells[c]);
  }
  page->count++;
}

void page_remove(const Layout *layout, Page *page, unsigned slot) {
  assert(slot < page->count);
  page->heap_dead += page_row_heap_bytes(layout, page, slot);
  for (unsigned c = 0; c < layout->column_count; c++) {
    uint8_t *at = page_column(layout, page, c) + (size_t)slot * layout->columns[c].width;
    memmove(at, at + layout->columns[c].width, (size_t)(page->count - slot - 1) * layout->columns[c].width);
  }
  page->count--;
  if (page->count == 0) {
    page->heap_at = page->size;
    page->heap_dead = 0;
  }
}

void page_append(const Layout *layout, Page *to, const Page *from, unsigned first, unsigned count) {
  assert(first + count <= from->count && to->count + count <= to->cap);
  for (unsigned c = 0; c < layout->column_count; c++) {
    size_t width = layout->columns[c].width;
    uint8_t *at = page_column(layout, to, c) + to->count * width;
    memcpy(at, page_column(layout, from, c) + first * width, count * width);
    if (layout->columns[c].kind != CELL_TEXT) continue;
    for (unsigned i = 0; i < count; i++, at += 16)
      if (text_heap_bytes(layout, c, handle_len(at))) put_text(layout, to, c, at, page_text(from, page_column(layout, from, c) + 16 * (size_t)(first + i)));
  }
  to->count = (uint16_t)(to->count + count);
}

void page_take_column(const Layout *layout, Page *page, unsigned column, PageColumn from) {
  unsigned count = from.page->count;
  size_t width = layout->columns[column].width;
  assert(page->count == 0 && count <= page->cap && layout->columns[column].kind == from.layout->columns[from.column].kind);
  uint8_t *at = page_column(layout, page, column);
  const uint8_t *old = page_column(from.layout, from.page, from.column);
  memcpy(at, old, count * width);
  if (layout->columns[column].kind != CELL_TEXT) return;
  for (unsigned i = 0; i < count; i++, at += 16)
    if (handle_len(at) > PAGE_TEXT_INLINE_MAX) put_text(layout, page, column, at, page_text(from.page, old + 16 * (size_t)i));
}

void page_fill_column(const Layout *layout, Page *page, unsigned column, unsigned count, Cell cell) {
  assert(page->count == 0 && count <= page->cap);
  for (unsigned i = 0; i < count; i++) put_cell(layout, page, column, i, cell);
}
