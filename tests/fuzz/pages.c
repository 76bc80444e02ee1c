// Pages from anywhere. The first byte chooses: images as they come, each asked for taken from the input, so that no checksum
// stands in the way of what is wrong in them; or the input laid over the page file of a sound store with two checkpoints.
// Whatever comes: it ends, says an error, or gives a state that can be walked from end to end.
#include <stdlib.h>

#include "runtime/store/tools.h"
#include "runtime/table/persist.h"
#include "tests/unit/store/world.h"

static void must(bool holds) {
  if (!holds) abort();
}

typedef struct Images { const uint8_t *data; size_t left; } Images;

static Err next_image(void *context, PageRef ref, const uint8_t **out_image) {
  Images *images = context;
  if (ref.bytes > images->left) return ERR_DAMAGED;
  *out_image = images->data;
  images->data += ref.bytes;
  images->left -= ref.bytes;
  return ERR_NONE;
}

// data: length of the roots, the roots, then images.
static void load_images(const uint8_t *data, size_t size) {
  size_t roots = data[0] < size - 1 ? data[0] : size - 1;
  Images images = {.data = data + 1 + roots, .left = size - 1 - roots};
  PersistSource source = {.context = &images, .get = next_image};
  PersistState state = {.schema = world_schema(2), .number = 1, .roots = {(const char *)data + 1, roots}};
  ErrText text;
  Db *db;
  if (persist_load(&state, &source, &db, &text) != ERR_NONE) return;
  Err ignored = reader_check(txn_reader(db_txn(db)), &text);
  ignored = store_check_values(txn_reader(db_txn(db)), &text);
  (void)ignored;  // either may find something: what counts is that they come to an end
  db_free(db);
}

static Sim *sound(void) {
  static Sim *sim;
  Store *store;
  ErrText text;
  if (sim) return sim;
  sim = sim_new();
  world_checkpoint_bytes = 3000;
  must(world_open(sim_files(sim), 0, true, &store, &text) == ERR_NONE);
  must(world_set_schema(store, 1, &text) == ERR_NONE);
  for (int64_t id = 1; id <= 14; id++) must(world_commit(store, id, 1, &text) == ERR_NONE);
  must(store_info(store)->checkpoint > 0);
  store_abandon(store);
  return sim;
}

// data: offset in units of 16, then what goes there.
static void lay_over(const uint8_t *data, size_t size) {
  Sim *sim = sim_copy(sound());
  uint64_t file_size, at = ((uint64_t)data[0] | (uint64_t)data[1] << 8) * 16;
  uint8_t *file = sim_bytes(sim, "app/pages", &file_size);
  for (size_t i = 2; i < size && at < file_size; i++, at++) file[at] = data[i];
  Store *store;
  ErrText text;
  Err err = world_open(sim_files(sim), 0, true, &store, &text);
  if (err == ERR_NONE) {
    must(world_count(store) == 14);
    store_abandon(store);
  }
  sim_free(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4) return 0;
  if (data[0] % 2) load_images(data + 1, size - 1);
  else lay_over(data + 1, size - 1);
  return 0;
}
