// A walk that writes and a stack that reads. Writing goes children first, so that a page can name them; a page that is on
// disk already is not written again, and its children are only said to be kept. All pages of the state are walked each
// time: that costs a cache miss each, on a thread of its own, and saves keeping account of what died.
//
// Reading makes pages as large as their rows need, so that a loaded state is dense. What lies in an image is not believed
// where memory depends on it: counts, sizes, offsets, levels and order are checked here. Damage is found before, by the
// checksums; these checks are for files that somebody made.
#include "runtime/table/persist.h"

#include <assert.h>

#include "runtime/base/mem.h"
#include "runtime/table/tree.h"
#include "runtime/value/codec.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are written as they lie in memory");

static const uint64_t IMAGE_OVERFLOW = 1ull << 63;  // in a text's place: of an image of its own, not in the heap

typedef struct ImageHead { uint32_t bytes; uint8_t level, zero; uint16_t count; uint32_t heap_bytes, heap_dead, long_texts, zeros; } ImageHead;
_Static_assert(sizeof(ImageHead) == PERSIST_HEAD_BYTES, "a head is as it lies in the file");
_Static_assert(sizeof(PageRef) == PERSIST_REF_BYTES, "a reference too");

uint64_t snapshot_epoch(const Snapshot *snapshot) { return snapshot->epoch; }
uint64_t db_sealed_epoch(const Db *db) { return db->sealed_epoch; }

static const Layout *layout_of(const TreeShape *shape, unsigned level) { return level ? shape->inner : shape->leaf; }
static bool is_child_column(const TreeShape *shape, unsigned level, unsigned column) { return level > 0 && column == shape->inner->key_count; }
static unsigned image_width(const TreeShape *shape, unsigned level, unsigned column) {
  return is_child_column(shape, level, column) ? PERSIST_REF_BYTES : layout_of(shape, level)->columns[column].width;
}

// Bytes a row of all columns, as they stand in an image.
static uint32_t image_row_bytes(const TreeShape *shape, unsigned level) {
  return layout_of(shape, level)->row_bytes + (level ? PERSIST_REF_BYTES - sizeof(void *) : 0);
}

static uint32_t text_len(const uint8_t *handle) {
  uint32_t len;
  memcpy(&len, handle, sizeof len);
  return len;
}

// ---- writing ----------------------------------------------------------------------------------
typedef struct Writer { const PersistSink *sink; const TreeShape *shape; Buf image; } Writer;

static bool is_kept(const Writer *writer, const Page *page) { return page->born <= writer->sink->since && page->place != 0; }

static uint32_t count_long_texts(const TreeShape *shape, const Page *page) {
  uint32_t count = 0;
  if (page->level || shape->leaf->text_count == shape->leaf->key_text_count) return 0;
  for (unsigned c = shape->leaf->key_count; c < shape->leaf->column_count; c++) {
    if (shape->leaf->columns[c].kind != CELL_TEXT) continue;
    for (unsigned slot = 0; slot < page->count; slot++) count += page_overflow(shape->leaf, page, c, slot) != NULL;
  }
  return count;
}

static uint32_t image_bytes(const TreeShape *shape, const Page *page, uint32_t long_texts) {
  if (page->level == PAGE_OVERFLOW) return PERSIST_HEAD_BYTES + page->size - PAGE_HEADER_BYTES;
  return PERSIST_HEAD_BYTES + page->count * image_row_bytes(shape, page->level) + 8 * long_texts + page->size - page->heap_at;
}

static PageRef ref_of(const TreeShape *shape, const Page *page) {
  uint32_t long_texts = page->level == PAGE_OVERFLOW ? 0 : count_long_texts(shape, page);
  return (PageRef){.place = page->place, .bytes = image_bytes(shape, page, long_texts), .sum = page->sum};
}

static Err put_image(Writer *writer, Page *page) {
  PageRef ref;
  if (writer->image.failed) return ERR_MEMORY;
  TRY(writer->sink->put(writer->sink->context, (const uint8_t *)writer->image.ptr, (uint32_t)writer->image.len, &ref));
  assert(ref.place && ref.bytes == writer->image.len);
  page->place = ref.place;
  page->sum = ref.sum;
  return ERR_NONE;
}

static Err write_long_text(Writer *writer, Page *page) {
  if (is_kept(writer, page)) return writer->sink->keep(writer->sink->context, ref_of(writer->shape, page));
  ImageHead head = {.bytes = image_bytes(writer->shape, page, 0), .level = PAGE_OVERFLOW, .heap_bytes = page->size - PAGE_HEADER_BYTES};
  buf_clear(&writer->image);
  buf_add(&writer->image, &head, sizeof head);
  buf_add(&writer->image, (const uint8_t *)page + PAGE_HEADER_BYTES, head.heap_bytes);
  return put_image(writer, page);
}

static Err write_long_texts(Writer *writer, const Page *page) {
  const Layout *leaf = writer->shape->leaf;
  if (page->level || leaf->text_count == leaf->key_text_count) return ERR_NONE;
  for (unsigned c = leaf->key_count; c < leaf->column_count; c++) {
    if (leaf->columns[c].kind != CELL_TEXT) continue;
    for (unsigned slot = 0; slot < page->count; slot++) {
      Page *text = page_overflow(leaf, page, c, slot);
      if (text) TRY(write_long_text(writer, text));
    }
  }
  return ERR_NONE;
}

// Handles with places that mean something in the image. `sums` gets the checksums of long texts.
static void write_texts(Writer *writer, const Page *page, unsigned column, uint64_t *sums, uint32_t *sum_count) {
  const Layout *layout = layout_of(writer->shape, page->level);
  const uint8_t *at = page_column(layout, page, column);
  for (unsigned slot = 0; slot < page->count; slot++, at += 16) {
    uint8_t handle[16];
    memcpy(handle, at, sizeof handle);
    if (text_len(handle) > PAGE_TEXT_INLINE_MAX) {
      const Page *text = page_overflow(layout, page, column, slot);
      uint64_t place;
      memcpy(&place, handle + 8, sizeof place);
      place = text ? text->place | IMAGE_OVERFLOW : place - page->heap_at;
      if (text) sums[(*sum_count)++] = text->sum;
      memcpy(handle + 8, &place, sizeof place);
    }
    buf_add(&writer->image, handle, sizeof handle);
  }
}

static void write_children(Writer *writer, const Page *page) {
  for (unsigned slot = 0; slot < page->count; slot++) {
    PageRef ref = ref_of(writer->shape, inner_child(writer->shape, page, slot));
    buf_add(&writer->image, &ref, sizeof ref);
  }
}

// What the page rests on has its place.
static Err write_page(Writer *writer, Page *page) {
  const Layout *layout = layout_of(writer->shape, page->level);
  if (is_kept(writer, page)) return writer->sink->keep(writer->sink->context, ref_of(writer->shape, page));
  uint32_t long_texts = count_long_texts(writer->shape, page), sum_count = 0;
  uint64_t *sums = long_texts ? mem_alloc(long_texts * sizeof *sums) : NULL;
  if (long_texts && !sums) return ERR_MEMORY;
  ImageHead head = {.bytes = image_bytes(writer->shape, page, long_texts), .level = page->level, .count = page->count,
                    .heap_bytes = page->size - page->heap_at, .heap_dead = page->heap_dead, .long_texts = long_texts};
  buf_clear(&writer->image);
  buf_add(&writer->image, &head, sizeof head);
  for (unsigned c = 0; c < layout->column_count; c++) {
    if (is_child_column(writer->shape, page->level, c)) write_children(writer, page);
    else if (layout->columns[c].kind == CELL_TEXT) write_texts(writer, page, c, sums, &sum_count);
    else buf_add(&writer->image, page_column(layout, page, c), (size_t)page->count * layout->columns[c].width);
  }
  assert(sum_count == long_texts);
  buf_add(&writer->image, sums, long_texts * sizeof *sums);
  buf_add(&writer->image, (const uint8_t *)page + page->heap_at, head.heap_bytes);
  mem_free(sums);
  assert(writer->image.failed || writer->image.len == head.bytes);
  return put_image(writer, page);
}

static Err write_tree(Writer *writer, TreeRoot root) {
  Path path = {.height = root.height};
  unsigned level = 0;
  path.pages[0] = root.page;
  path.slots[0] = 0;
  for (;;) {
    Page *page = path.pages[level];
    if (page->level > 0 && path.slots[level] < page->count) {
      path.pages[level + 1] = inner_child(writer->shape, page, path.slots[level]++);
      path.slots[++level] = 0;
      continue;
    }
    TRY(write_long_texts(writer, page));
    TRY(write_page(writer, page));
    if (level == 0) return ERR_NONE;
    level--;
  }
}

Err persist_write(const Snapshot *snapshot, const PersistSink *sink, Buf *out_roots) {
  const Shape *shape = snapshot->shape;
  Writer writer = {.sink = sink};
  Err err = ERR_NONE;
  buf_init(&writer.image, 0);
  varint_write(out_roots, shape->tree_count);
  for (uint32_t t = 0; t < shape->tree_count && err == ERR_NONE; t++) {
    TreeRoot root = snapshot->roots[t];
    writer.shape = &shape->trees[t];
    varint_write(out_roots, root.height);
    if (!root.page) continue;
    err = write_tree(&writer, root);
    PageRef ref = err == ERR_NONE ? ref_of(writer.shape, root.page) : (PageRef){0};
    varint_write(out_roots, root.rows);
    buf_add(out_roots, &ref, sizeof ref);
  }
  buf_free(&writer.image);
  return err != ERR_NONE ? err : out_roots->failed ? ERR_MEMORY : ERR_NONE;
}

// ---- reading: one image -----------------------------------------------------------------------
// `sum_at` and `live` count what was taken of it: checksums of long texts, and bytes of the heap.
typedef struct Image { ImageHead head; const uint8_t *columns, *sums, *heap; uint32_t sum_at; uint64_t live; } Image;

// A page that is to be read, and where it belongs.
typedef struct Wanted { PageRef ref; Page *parent; uint32_t slot; uint32_t level; uint64_t rows; } Wanted;

typedef struct Loader {
  Db *db;
  const PersistSource *source;
  const TreeShape *shape;
  TreeRoot *root;
  Wanted *wanted;
  uint32_t wanted_count, wanted_cap;
  Page *made;              // all pages so far, by born_next: their sums stand where the list of a batch has its other link
  Buf copy;                // of the image of a leaf with long texts, since reading those takes the source's place
  ErrText *text;
} Loader;

static Err wrong(const Loader *loader, const char *what) { return err_say(ERR_FORMAT, loader->text, "%s", what); }

static Err open_image(const Loader *loader, const uint8_t *bytes, const Wanted *wanted, Image *out) {
  ImageHead head;
  memcpy(&head, bytes, sizeof head);
  const Layout *layout = layout_of(loader->shape, wanted->level);
  if (head.bytes != wanted->ref.bytes || head.level != wanted->level || head.zero || head.zeros) return wrong(loader, "a page is not what its parent says");
  if (head.count == 0 || head.count > layout->rows_max) return wrong(loader, "a page has an impossible number of rows");
  uint64_t need = PAGE_HEADER_BYTES + (uint64_t)head.count * layout->row_bytes + head.heap_bytes;
  uint64_t bytes_all = PERSIST_HEAD_BYTES + (uint64_t)head.count * image_row_bytes(loader->shape, wanted->level) + 8ull * head.long_texts + head.heap_bytes;
  if (need > layout->page_bytes_max || bytes_all != head.bytes) return wrong(loader, "a page's parts do not fit it");
  if (wanted->level && head.long_texts) return wrong(loader, "an inner page has long texts");
  *out = (Image){.head = head, .columns = bytes + PERSIST_HEAD_BYTES};
  out->sums = out->columns + (size_t)head.count * image_row_bytes(loader->shape, wanted->level);
  out->heap = out->sums + 8ull * head.long_texts;
  return ERR_NONE;
}

static Page *note_made(Loader *loader, Page *page, PageRef ref) {
  loader->db->born = NULL;
  page->born_next = loader->made;
  page->place = ref.place;
  page->sum = ref.sum;
  loader->made = page;
  return page;
}

static Page *new_page(Loader *loader, const Layout *layout, const ImageHead *head, PageRef ref) {
  unsigned class = page_class_for(PAGE_HEADER_BYTES + head->count * layout->row_bytes + head->heap_bytes);
  if (pool_reserve(&loader->db->pool, class, 1) != ERR_NONE) return NULL;
  Page *page = db__page_new(loader->db, class);
  page_format(layout, page, head->level, head->count, head->heap_bytes);
  page->count = head->count;
  page->heap_at = page->size - head->heap_bytes;
  page->heap_dead = head->heap_dead;
  return note_made(loader, page, ref);
}

static Err load_long_text(Loader *loader, PageRef ref, uint32_t len, Page **out_page) {
  const uint8_t *bytes;
  ImageHead head;
  ref.bytes = len + PERSIST_HEAD_BYTES;
  if (len > UINT32_MAX - PERSIST_HEAD_BYTES - PAGE_HEADER_BYTES) return wrong(loader, "a text is too long");
  TRY(loader->source->get(loader->source->context, ref, &bytes));
  memcpy(&head, bytes, sizeof head);
  if (head.bytes != ref.bytes || head.level != PAGE_OVERFLOW || head.heap_bytes != len || head.count || head.zero || head.zeros || head.heap_dead || head.long_texts)
    return wrong(loader, "a long text is not what its row says");
  Page *page = db__page_new_large(loader->db, len);
  if (!page) return ERR_MEMORY;
  memcpy((uint8_t *)page + PAGE_HEADER_BYTES, bytes + PERSIST_HEAD_BYTES, len);
  *out_page = note_made(loader, page, ref);
  return ERR_NONE;
}

// One handle, its place made one of the page in memory.
static Err load_text(Loader *loader, Image *image, Page *page, unsigned column, uint8_t *handle) {
  const Layout *layout = layout_of(loader->shape, page->level);
  uint32_t len = text_len(handle);
  uint64_t place;
  if (len <= PAGE_TEXT_INLINE_MAX) return ERR_NONE;
  memcpy(&place, handle + 8, sizeof place);
  bool is_long = cell_overflows(layout, column, len);
  const uint8_t *bytes;
  if (is_long != ((place & IMAGE_OVERFLOW) != 0)) return wrong(loader, "a text lies where it must not");
  if (is_long) {
    PageRef ref = {.place = (uint32_t)place};
    Page *text = NULL;
    if (image->sum_at == image->head.long_texts || (place & ~IMAGE_OVERFLOW) > UINT32_MAX) return wrong(loader, "a page has more long texts than it says");
    memcpy(&ref.sum, image->sums + 8ull * image->sum_at++, sizeof ref.sum);
    TRY(load_long_text(loader, ref, len, &text));
    bytes = (const uint8_t *)text + PAGE_HEADER_BYTES;
    place = (uint64_t)(uintptr_t)bytes | IMAGE_OVERFLOW;
  } else {
    if (place > image->head.heap_bytes || len > image->head.heap_bytes - place) return wrong(loader, "a text lies outside of its page");
    bytes = image->heap + place;
    place += page->heap_at;
    image->live += len;
  }
  if (memcmp(handle + 4, bytes, 4) != 0) return wrong(loader, "a text does not begin as its row says");
  memcpy(handle + 8, &place, sizeof place);
  return ERR_NONE;
}

static Err load_columns(Loader *loader, Image *image, Page *page) {
  const Layout *layout = layout_of(loader->shape, page->level);
  const uint8_t *from = image->columns;
  memcpy((uint8_t *)page + page->heap_at, image->heap, image->head.heap_bytes);
  for (unsigned c = 0; c < layout->column_count; c++) {
    uint8_t *to = page_column(layout, page, c);
    unsigned width = image_width(loader->shape, page->level, c);
    if (is_child_column(loader->shape, page->level, c)) memset(to, 0, page->count * sizeof(void *));
    else memcpy(to, from, (size_t)page->count * width);
    from += (size_t)page->count * width;
    for (unsigned slot = 0; layout->columns[c].kind == CELL_TEXT && slot < page->count; slot++) TRY(load_text(loader, image, page, c, to + 16 * (size_t)slot));
  }
  if (image->sum_at != image->head.long_texts) return wrong(loader, "a page has fewer long texts than it says");
  return image->live + page->heap_dead == image->head.heap_bytes ? ERR_NONE : wrong(loader, "a page's texts are not as long as it counts");
}

// ---- reading: the tree ------------------------------------------------------------------------
static void read_key(const Layout *layout, const Page *page, unsigned slot, Cell *out_key) {
  for (unsigned c = 0; c < layout->key_count; c++) out_key[c] = page_cell(layout, page, c, slot);
}

// The first key of an inner page is never looked at.
static Err check_order(const Loader *loader, const Page *page, const Wanted *wanted) {
  const Layout *layout = layout_of(loader->shape, page->level), *inner = loader->shape->inner;
  Cell key[LAYOUT_KEY_MAX];
  unsigned first = page->level ? 1 : 0;
  for (unsigned slot = first + 1; slot < page->count; slot++) {
    read_key(layout, page, slot, key);
    if (page_compare(layout, page, slot - 1, key, layout->key_count) >= 0) return wrong(loader, "two rows are not in order");
  }
  if (!wanted->parent || first >= page->count) return ERR_NONE;
  if (wanted->slot > 0) {
    read_key(inner, wanted->parent, wanted->slot, key);
    if (page_compare(layout, page, first, key, layout->key_count) < 0) return wrong(loader, "a row stands left of where its page begins");
  }
  if (wanted->slot + 1 == wanted->parent->count) return ERR_NONE;
  read_key(inner, wanted->parent, wanted->slot + 1, key);
  return page_compare(layout, page, page->count - 1u, key, layout->key_count) < 0 ? ERR_NONE : wrong(loader, "a row stands right of where its page ends");
}

static Err check_rows(const Loader *loader, const Page *page, uint64_t rows) {
  uint64_t sum = page->level ? 0 : page->count;
  for (unsigned slot = 0; page->level && slot < page->count; slot++)
    if (__builtin_add_overflow(sum, inner_rows(loader->shape, page, slot), &sum)) return wrong(loader, "a page counts too many rows");
  return sum == rows ? ERR_NONE : wrong(loader, "a page has not the rows its parent counts");
}

static Err want(Loader *loader, Wanted wanted) {
  if (loader->wanted_count == loader->wanted_cap) {
    uint32_t cap = loader->wanted_cap ? 2 * loader->wanted_cap : 64;
    Wanted *grown = cap > loader->wanted_cap ? mem_realloc(loader->wanted, cap * sizeof *grown) : NULL;
    if (!grown) return ERR_MEMORY;
    loader->wanted = grown;
    loader->wanted_cap = cap;
  }
  loader->wanted[loader->wanted_count++] = wanted;
  return ERR_NONE;
}

// Children from the last to the first, so that they are read from the first to the last.
static Err want_children(Loader *loader, const Image *image, Page *page) {
  const Layout *inner = loader->shape->inner;
  const uint8_t *refs = image->columns;
  for (unsigned c = 0; c < inner->key_count; c++) refs += (size_t)page->count * inner->columns[c].width;
  for (unsigned slot = page->count; slot-- > 0;) {
    Wanted child = {.parent = page, .slot = slot, .level = page->level - 1u, .rows = inner_rows(loader->shape, page, slot)};
    memcpy(&child.ref, refs + slot * sizeof child.ref, sizeof child.ref);
    TRY(want(loader, child));
  }
  return ERR_NONE;
}

static Err load_page(Loader *loader, const Wanted *wanted) {
  const uint8_t *bytes;
  Image image;
  if (wanted->ref.bytes < PERSIST_HEAD_BYTES) return wrong(loader, "a page is too small");
  TRY(loader->source->get(loader->source->context, wanted->ref, &bytes));
  TRY(open_image(loader, bytes, wanted, &image));
  if (image.head.long_texts) {
    buf_clear(&loader->copy);
    buf_add(&loader->copy, bytes, wanted->ref.bytes);
    if (loader->copy.failed) return ERR_MEMORY;
    TRY(open_image(loader, (const uint8_t *)loader->copy.ptr, wanted, &image));
  }
  Page *page = new_page(loader, layout_of(loader->shape, wanted->level), &image.head, wanted->ref);
  if (!page) return ERR_MEMORY;
  if (wanted->parent) page_set_cell(loader->shape->inner, wanted->parent, loader->shape->inner->key_count, wanted->slot, (Cell){.i = (int64_t)(intptr_t)page});
  else loader->root->page = page;
  TRY(load_columns(loader, &image, page));
  TRY(check_order(loader, page, wanted));
  TRY(check_rows(loader, page, wanted->rows));
  return page->level ? want_children(loader, &image, page) : ERR_NONE;
}

static Err load_tree(Loader *loader, PageRef ref) {
  TreeRoot *root = loader->root;
  if (root->height > TREE_HEIGHT_MAX || root->rows == 0) return wrong(loader, "a tree has an impossible height");
  TRY(want(loader, (Wanted){.ref = ref, .level = root->height - 1, .rows = root->rows}));
  while (loader->wanted_count) {
    Wanted next = loader->wanted[--loader->wanted_count];
    TRY(load_page(loader, &next));
  }
  return root->height == 1 || root->page->count > 1 ? ERR_NONE : wrong(loader, "a tree is higher than it must be");
}

static Err load_trees(Loader *loader, Str roots) {
  uint64_t count, height;
  const Shape *shape = loader->db->shape;
  TRY(varint_read(&roots, &count));
  if (count != shape->tree_count) return wrong(loader, "another number of trees than the schema has");
  for (uint32_t t = 0; t < count; t++) {
    PageRef ref;
    loader->shape = &shape->trees[t];
    loader->root = &loader->db->txn.roots[t];
    TRY(varint_read(&roots, &height));
    if (height == 0) continue;
    TRY(varint_read(&roots, &loader->root->rows));
    if (height > TREE_HEIGHT_MAX || roots.len < sizeof ref) return ERR_FORMAT;
    loader->root->height = (uint32_t)height;
    memcpy(&ref, roots.ptr, sizeof ref);
    roots = str_part(roots, sizeof ref, roots.len);
    TRY(load_tree(loader, ref));
  }
  return roots.len ? ERR_FORMAT : ERR_NONE;
}

// The state that tables always have, whatever else: the one row of the state's table, and as many entries as rows.
static Err check_counts(const Loader *loader) {
  const Db *db = loader->db;
  const Shape *shape = db->shape;
  if (db->txn.roots[shape->tables[SCHEMA_STATE_TABLE].tree].rows != 1) return wrong(loader, "the state has not one row");
  for (unsigned t = 0; t < shape->schema->table_count; t++)
    for (unsigned i = 1; i <= shape->tables[t].index_count; i++)
      if (db->txn.roots[shape->tables[t].tree + i].rows != db->txn.roots[shape->tables[t].tree].rows) return wrong(loader, "an index has not the rows of its table");
  return ERR_NONE;
}

static void take_sealed(Db *db, uint64_t number) {
  memcpy(db->sealed, db->txn.roots, db->shape->tree_count * sizeof(TreeRoot));
  db__seal_pages(db);
  db->sealed_number = number;
}

// A tree that is only half there has no right addresses: its pages are given back by the list they stand in.
static void drop(Db *db, Page *made) {
  memset(db->txn.roots, 0, db->shape->tree_count * sizeof(TreeRoot));
  while (made) {
    Page *page = made;
    made = page->born_next;
    pool_give(&db->pool, page);
  }
  db_free(db);
}

Err persist_load(const PersistState *state, const PersistSource *source, Db **out_db, ErrText *out_text) {
  Db *db;
  TRY(db__new(state->schema, state->bytes_max, &db));
  Loader loader = {.db = db, .source = source, .text = out_text};
  buf_init(&loader.copy, 0);
  Err err = load_trees(&loader, state->roots);
  if (err == ERR_NONE) err = check_counts(&loader);
  mem_free(loader.wanted);
  buf_free(&loader.copy);
  if (err != ERR_NONE) {
    drop(db, loader.made);
    return err;
  }
  take_sealed(db, state->number);
  *out_db = db;
  return ERR_NONE;
}
