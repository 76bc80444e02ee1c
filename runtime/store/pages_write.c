// Space is found from the start of the file on, so that it stays short. It must be free in both slots and in what is being
// written. What the file may take is bounded: when the two slots differ in more than a quarter of the newest, or the file has
// become much larger than the state, the older slot is emptied first, and in the second case every page is written anew, low
// in the file, and the rest cut off.
//
// Images are gathered into runs and written a slice at a time, each slice synced, so that the disk never has much to do
// before it can do the log's next write (measured: slices of 1 MiB leave inputs a p99 of 12 ms, of 64 KiB 4.5).
#include "runtime/store/pages_write.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "runtime/base/mem.h"
#include "runtime/value/codec.h"

enum { SPARE_UNITS = (4 << 20) / PAGES_UNIT };

typedef struct Work {
  PageFile *pages;
  const PagesJob *job;
  SpaceMap map;              // of the state being written
  uint64_t cursor;           // units before it are not looked at again
  Buf run;                   // images that lie one behind the other, from run_unit on
  uint64_t run_unit, unsynced;
  int64_t slice_began_ns;
} Work;

// ---- rests ------------------------------------------------------------------------------------
static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void rest(Work *work) {
  enum { REST_NS_MAX = 200000000 };
  if (!work->job->paced) return;
  int64_t took = now_ns() - work->slice_began_ns;
  if (took > REST_NS_MAX) took = REST_NS_MAX;
  nanosleep(&(struct timespec){.tv_nsec = took > 0 ? took : 0}, NULL);
  work->slice_began_ns = now_ns();
}

static Err sync_slice(Work *work) {
  TRY(work->pages->fs->sync(work->pages->fs, work->pages->file));
  work->unsynced = 0;
  rest(work);
  return ERR_NONE;
}

static Err flush_run(Work *work) {
  uint64_t offset = work->run_unit * PAGES_UNIT;
  TRY(file_write_all(work->pages->fs, work->pages->file, offset, work->run.ptr, work->run.len));
  if (offset + work->run.len > work->pages->size) work->pages->size = offset + work->run.len;
  work->unsynced += work->run.len;
  buf_clear(&work->run);
  return work->unsynced >= PAGES_SLICE_BYTES ? sync_slice(work) : ERR_NONE;
}

// ---- space ------------------------------------------------------------------------------------
// What the state itself has so far is in the newest slot's map too, or lies before the cursor.
static bool is_free(const Work *work, uint64_t unit) { return !space_get(&work->pages->maps[0], unit) && !space_get(&work->pages->maps[1], unit); }

// [S20] Nothing that a slot rests on is written over.
static Err find_space(Work *work, uint32_t bytes, uint32_t *out_place) {
  uint64_t units = ((uint64_t)bytes + PAGES_UNIT - 1) / PAGES_UNIT, from = work->cursor, length = 0;
  for (uint64_t unit = from; length < units; unit++) {
    if (unit >= work->pages->units_max) return ERR_FULL;
    if (is_free(work, unit)) length++;
    else from = unit + 1, length = 0;
  }
  *out_place = (uint32_t)from;
  work->cursor = from + units;
  return ERR_NONE;
}

static Err put(void *context, const uint8_t *image, uint32_t bytes, PageRef *out_ref) {
  static const uint8_t ZEROS[PAGES_UNIT];
  Work *work = context;
  PageRef ref = {.bytes = bytes, .sum = checksum(&work->pages->key, image, bytes)};
  bool taken;
  TRY(find_space(work, bytes, &ref.place));
  TRY(space_mark(&work->map, ref, &taken));
  assert(!taken);
  if (work->run.len && work->run_unit * PAGES_UNIT + work->run.len != (uint64_t)ref.place * PAGES_UNIT) TRY(flush_run(work));
  if (work->run.len == 0) work->run_unit = ref.place;
  buf_add(&work->run, image, bytes);
  buf_add(&work->run, ZEROS, (PAGES_UNIT - bytes % PAGES_UNIT) % PAGES_UNIT);
  if (work->run.failed) return ERR_MEMORY;
  *out_ref = ref;
  return work->run.len >= PAGES_SLICE_BYTES ? flush_run(work) : ERR_NONE;
}

static Err keep(void *context, PageRef ref) {
  Work *work = context;
  bool taken;
  TRY(space_mark(&work->map, ref, &taken));
  assert(!taken);
  return ERR_NONE;
}

// Units that the newest slot needs and the other one has besides.
static uint64_t units_beyond(const PageFile *pages, int other) {
  uint64_t beyond = 0;
  const SpaceMap *map = &pages->maps[other], *newest = &pages->maps[pages->newest];
  for (uint64_t i = 0; i < map->word_count; i++) beyond += (unsigned)__builtin_popcountll(map->words[i] & ~(i < newest->word_count ? newest->words[i] : 0));
  return beyond;
}

// Empties the slot that is to be written when its space is unknown or not to be afforded. `*out_anew`: write all pages.
static Err make_space(PageFile *pages, int target, bool *out_anew) {
  bool known = pages->slots[target] == SLOT_EMPTY || pages->slots[target] == SLOT_GOOD;
  *out_anew = false;
  if (pages->newest >= 0) {
    uint64_t used = pages->maps[pages->newest].used;
    bool too_large = pages->size / PAGES_UNIT > 2 * used + 2 * SPARE_UNITS;
    *out_anew = too_large;
    if (pages->slots[target] == SLOT_GOOD && (too_large || units_beyond(pages, target) > used / 4 + SPARE_UNITS)) known = false;
  }
  return known ? ERR_NONE : pages_clear_slot(pages, target);
}

static uint64_t end_of(const SpaceMap *map) {
  for (uint64_t i = map->word_count; i-- > 0;)
    if (map->words[i]) return 64 * i + 64 - (unsigned)__builtin_clzll(map->words[i]);
  return PAGES_FIRST_UNIT;
}

// What lies behind all that slots need. A failure only leaves the file long.
static Err cut_off(PageFile *pages) {
  uint64_t first = end_of(&pages->maps[0]), second = end_of(&pages->maps[1]);
  uint64_t end = (first > second ? first : second) * PAGES_UNIT;
  if (pages->size < end + (uint64_t)SPARE_UNITS * PAGES_UNIT) return ERR_NONE;
  TRY(pages->fs->truncate(pages->fs, pages->file, end));
  pages->size = end;
  return pages->fs->sync(pages->fs, pages->file);
}

// ---- the state --------------------------------------------------------------------------------
static Err write_all(Work *work, uint64_t since, PageRef *out_description) {
  PersistSink sink = {.context = work, .since = since, .keep = keep, .put = put};
  Buf description;
  buf_init(&description, PAGES_ROOT_BYTES_MAX);
  varint_write(&description, work->job->schema.len);
  buf_add_str(&description, work->job->schema);
  Err err = persist_write(work->job->snapshot, &sink, &description);
  if (err == ERR_NONE) err = put(work, (const uint8_t *)description.ptr, (uint32_t)description.len, out_description);
  buf_free(&description);
  if (err == ERR_NONE) err = flush_run(work);
  return err == ERR_NONE ? sync_slice(work) : err;
}

static Err write_state(Work *work, int target) {
  PageFile *pages = work->pages;
  PagesRoot root = work->job->root;
  int newest = pages->newest;
  bool anew;
  TRY(make_space(pages, target, &anew));
  if (anew) pages->since = 0;  // places are given again: until this has succeeded, none of them counts
  TRY(write_all(work, pages->since, &root.description));
  root.generation = newest >= 0 ? pages->roots[newest].generation + 1 : 1;
  TRY(pages_write_root(pages, target, &root));  // [S21] all it names is on disk
  pages->slots[target] = SLOT_GOOD;
  pages->maps[target] = work->map;
  work->map = (SpaceMap){0};
  pages->newest = target;
  pages->since = snapshot_epoch(work->job->snapshot);
  if (anew) {
    Err tidy = pages_clear_slot(pages, newest);
    if (tidy == ERR_NONE) tidy = cut_off(pages);
    (void)tidy;  // the state is there; the next one tries again
  }
  return ERR_NONE;
}

Err pages_write_state(PageFile *pages, const PagesJob *job) {
  Work work = {.pages = pages, .job = job, .cursor = PAGES_FIRST_UNIT, .slice_began_ns = now_ns()};
  buf_init(&work.run, 0);
  int target = pages->newest == 0 ? 1 : 0;
  Err err = pages->slots[1 - target] == SLOT_BAD && pages->newest != 1 - target ? pages_clear_slot(pages, 1 - target) : ERR_NONE;
  if (err == ERR_NONE) err = write_state(&work, target);
  buf_free(&work.run);
  space_free(&work.map);
  return err;
}
