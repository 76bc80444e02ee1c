// Header and slots, and reading what they name. A slot is one block, so that it is there or not; all it rests on was synced
// before, and is named with its checksum.
#include "runtime/store/pages.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/mem.h"
#include "runtime/base/rng.h"
#include "runtime/store/bytes.h"

static const char MAGIC[8] = {'A', 'U', 'P', 'P', 'A', 'G', 'E', 'S'};
static const char ROOT_MAGIC[8] = {'A', 'U', 'P', 'R', 'O', 'O', 'T', '\n'};
enum { SUM_AT = 504, FIRST_BYTES = PAGES_FIRST_UNIT * PAGES_UNIT };

// ---- space ------------------------------------------------------------------------------------
static uint64_t units_of(uint32_t bytes) { return ((uint64_t)bytes + PAGES_UNIT - 1) / PAGES_UNIT; }

bool space_get(const SpaceMap *map, uint64_t unit) {
  return unit / 64 < map->word_count && (map->words[unit / 64] >> (unit % 64) & 1);
}

static Err space_grow(SpaceMap *map, uint64_t units) {
  uint64_t words = units / 64 + 1;
  if (words <= map->word_count) return ERR_NONE;
  if (words < 2 * map->word_count) words = 2 * map->word_count;
  uint64_t *grown = mem_realloc(map->words, words * sizeof *grown);
  if (!grown) return ERR_MEMORY;
  memset(grown + map->word_count, 0, (words - map->word_count) * sizeof *grown);
  map->words = grown;
  map->word_count = words;
  return ERR_NONE;
}

Err space_mark(SpaceMap *map, PageRef ref, bool *out_was_taken) {
  uint64_t units = units_of(ref.bytes);
  *out_was_taken = false;
  TRY(space_grow(map, ref.place + units));
  for (uint64_t unit = ref.place; unit < ref.place + units; unit++) {
    if (space_get(map, unit)) *out_was_taken = true;
    else map->used++;
    map->words[unit / 64] |= 1ull << (unit % 64);
  }
  return ERR_NONE;
}

void space_free(SpaceMap *map) {
  mem_free(map->words);
  *map = (SpaceMap){0};
}

// ---- the header -------------------------------------------------------------------------------
static uint64_t header_sum(const uint8_t *block) {
  ChecksumKey key;
  memcpy(key.bytes, block + 16, sizeof key.bytes);
  return checksum(&key, block, SUM_AT);
}

Err pages_create(PageFile *pages) {
  uint8_t *bytes = mem_alloc_zero(1, FIRST_BYTES);
  if (!bytes) return ERR_MEMORY;
  pages->key = checksum_key_random();
  memcpy(bytes, MAGIC, 8);
  put_u32(bytes + 8, PAGES_VERSION);
  memcpy(bytes + 16, pages->id.bytes, LOG_ID_BYTES);
  memcpy(bytes + 32, pages->key.bytes, CHECKSUM_KEY_BYTES);
  put_u64(bytes + SUM_AT, header_sum(bytes));
  Err err = file_replace(pages->fs, pages->dir, PAGES_NAME, (Str){(const char *)bytes, FIRST_BYTES});
  mem_free(bytes);
  pages->newest = -1;
  pages->size = FIRST_BYTES;
  return err != ERR_NONE ? err : pages->fs->open(pages->fs, pages->dir, PAGES_NAME, FILE_WRITE, &pages->file);
}

static Err say_damage(const PageFile *pages, uint64_t offset, ErrText *out_text, const char *what) {
  return err_say(ERR_DAMAGED, out_text, "%s/%s: damaged at offset %llu: %s", pages->dir_name, PAGES_NAME, (unsigned long long)offset, what);
}

static Err say_file(const PageFile *pages, Err err, ErrText *out_text) {
  return err_say(err, out_text, "%s/%s: %s", pages->dir_name, PAGES_NAME, err_words(err));
}

static Err check_header(PageFile *pages, const uint8_t *block, ErrText *out_text) {
  bool good = memcmp(block, MAGIC, 8) == 0 && get_u64(block + SUM_AT) == header_sum(block);
  uint32_t version = get_u32(block + 8);
  if (!good) return say_damage(pages, 0, out_text, "this is no start of a page file");
  if (version > PAGES_VERSION)
    return err_say(ERR_VERSION, out_text, "%s/%s: written by a newer aup (format %u, this one reads %d)", pages->dir_name, PAGES_NAME, version, PAGES_VERSION);
  if (version < PAGES_VERSION)
    return err_say(ERR_VERSION, out_text, "%s/%s: made by an older aup (format %u, this one reads %d): dump it with that one, and load it here", pages->dir_name, PAGES_NAME, version, PAGES_VERSION);
  memcpy(pages->id.bytes, block + 16, LOG_ID_BYTES);
  memcpy(pages->key.bytes, block + 32, CHECKSUM_KEY_BYTES);
  return ERR_NONE;
}

// ---- slots ------------------------------------------------------------------------------------
static void root_write(const PageFile *pages, const PagesRoot *root, uint8_t *block) {
  memset(block, 0, PAGES_BLOCK);
  memcpy(block, ROOT_MAGIC, 8);
  put_u64(block + 16, root->generation);
  put_u64(block + 24, root->number);
  put_u64(block + 32, root->log_sum);
  put_u64(block + 40, (uint64_t)root->now_us);
  memcpy(block + 48, root->module_hash, HASH_BYTES);
  memcpy(block + 80, root->schema_hash, HASH_BYTES);
  put_u32(block + 112, root->description.place);
  put_u32(block + 116, root->description.bytes);
  put_u64(block + 120, root->description.sum);
  put_u64(block + SUM_AT, checksum(&pages->key, block, SUM_AT));
}

static bool root_read(const PageFile *pages, const uint8_t *block, PagesRoot *root) {
  if (memcmp(block, ROOT_MAGIC, 8) != 0 || get_u64(block + SUM_AT) != checksum(&pages->key, block, SUM_AT)) return false;
  root->generation = get_u64(block + 16);
  root->number = get_u64(block + 24);
  root->log_sum = get_u64(block + 32);
  root->now_us = (int64_t)get_u64(block + 40);
  memcpy(root->module_hash, block + 48, HASH_BYTES);
  memcpy(root->schema_hash, block + 80, HASH_BYTES);
  root->description = (PageRef){.place = get_u32(block + 112), .bytes = get_u32(block + 116), .sum = get_u64(block + 120)};
  return true;
}

static Err read_slots(PageFile *pages, ErrText *out_text) {
  static const uint8_t NOTHING[PAGES_BLOCK];
  for (int slot = 0; slot < 2; slot++) {
    uint8_t block[PAGES_BLOCK];
    Err err = file_read_all(pages->fs, pages->file, pages_slot_offset(slot), block, sizeof block);
    if (err == ERR_FORMAT) return say_damage(pages, pages->size, out_text, "the file is cut short");
    if (err != ERR_NONE) return say_file(pages, err, out_text);
    memcpy(pages->blocks[slot], block, sizeof block);
    bool empty = memcmp(block, NOTHING, sizeof block) == 0;
    pages->slots[slot] = empty ? SLOT_EMPTY : root_read(pages, block, &pages->roots[slot]) ? SLOT_READ : SLOT_BAD;
    if (pages->slots[slot] == SLOT_BAD) pages->bad_at = pages_slot_offset(slot);
  }
  return ERR_NONE;
}

Err pages_open(PageFile *pages, ErrText *out_text) {
  uint8_t block[PAGES_BLOCK];
  pages->newest = -1;
  Err err = pages->fs->open(pages->fs, pages->dir, PAGES_NAME, pages->read_only ? FILE_READ : FILE_WRITE, &pages->file);
  if (err != ERR_NONE) return say_file(pages, err, out_text);
  err = pages->fs->size(pages->fs, pages->file, &pages->size);
  if (err == ERR_NONE) err = file_read_all(pages->fs, pages->file, 0, block, sizeof block);
  if (err == ERR_FORMAT) return say_damage(pages, pages->size, out_text, "the file is cut short");
  if (err != ERR_NONE) return say_file(pages, err, out_text);
  TRY(check_header(pages, block, out_text));
  return read_slots(pages, out_text);
}

void pages_close(PageFile *pages) {
  if (pages->file) pages->fs->close(pages->fs, pages->file);
  pages->file = NULL;
  space_free(&pages->maps[0]);
  space_free(&pages->maps[1]);
}

int pages_best_slot(const PageFile *pages) {
  bool first = pages->slots[0] == SLOT_READ || pages->slots[0] == SLOT_GOOD, second = pages->slots[1] == SLOT_READ || pages->slots[1] == SLOT_GOOD;
  if (first && second) return pages->roots[1].generation > pages->roots[0].generation;
  return first ? 0 : second ? 1 : -1;
}

static Err write_slot(PageFile *pages, int slot, const uint8_t *block) {
  assert(slot != pages->newest);
  pages->slots[slot] = SLOT_BAD;  // until it is certain
  space_free(&pages->maps[slot]);
  TRY(file_write_all(pages->fs, pages->file, pages_slot_offset(slot), block, PAGES_BLOCK));
  return pages->fs->sync(pages->fs, pages->file);
}

Err pages_write_root(PageFile *pages, int slot, const PagesRoot *root) {
  uint8_t block[PAGES_BLOCK];
  root_write(pages, root, block);
  TRY(write_slot(pages, slot, block));
  pages->roots[slot] = *root;
  return ERR_NONE;
}

Err pages_clear_slot(PageFile *pages, int slot) {
  static const uint8_t NOTHING[PAGES_BLOCK];
  TRY(write_slot(pages, slot, NOTHING));
  pages->slots[slot] = SLOT_EMPTY;
  return ERR_NONE;
}

bool pages_moved(const PageFile *pages) {
  for (int slot = 0; slot < 2; slot++) {
    uint8_t block[PAGES_BLOCK];
    Err err = file_read_all(pages->fs, pages->file, pages_slot_offset(slot), block, sizeof block);
    if (err == ERR_NONE && memcmp(block, pages->blocks[slot], sizeof block) != 0) return true;
  }
  return false;
}

Err pages_confirm(PageFile *pages) {
  uint8_t block[PAGES_BLOCK];
  if (pages->newest < 0) return ERR_NONE;
  root_write(pages, &pages->roots[pages->newest], block);
  TRY(file_write_all(pages->fs, pages->file, pages_slot_offset(pages->newest), block, sizeof block));
  return pages->fs->sync(pages->fs, pages->file);
}

// ---- what slots name --------------------------------------------------------------------------
Err pages_read(PageFile *pages, PageRef ref, SpaceMap *map, Buf *buf, ErrText *out_text) {
  uint64_t offset = (uint64_t)ref.place * PAGES_UNIT;
  bool taken;
  if (pages->read_only && offset + ref.bytes > pages->size) TRY(pages->fs->size(pages->fs, pages->file, &pages->size));  // a host may have made it longer
  if (ref.bytes == 0 || ref.place < PAGES_FIRST_UNIT || offset > pages->size || ref.bytes > pages->size - offset) {
    pages->bad_at = pages->size;
    return say_damage(pages, pages->size, out_text, "the file is cut short");
  }
  pages->bad_at = offset;
  Err err = space_mark(map, ref, &taken);
  if (err == ERR_NONE && taken) return say_damage(pages, offset, out_text, "two pages at one place");
  buf_clear(buf);
  char *bytes = err == ERR_NONE ? buf_room(buf, ref.bytes) : NULL;
  if (!bytes) return say_file(pages, ERR_MEMORY, out_text);
  err = file_read_all(pages->fs, pages->file, offset, bytes, ref.bytes);
  if (err == ERR_FORMAT) return say_damage(pages, pages->size, out_text, "the file is cut short");
  if (err != ERR_NONE) return say_file(pages, err, out_text);
  buf->len = ref.bytes;
  return checksum(&pages->key, bytes, ref.bytes) == ref.sum ? ERR_NONE : say_damage(pages, offset, out_text, "a page cannot be read");
}
