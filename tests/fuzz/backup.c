// Backups from anywhere: the input as the file, or, when its first byte is odd, as what stands in a sound zstd stream. Whatever
// comes: it is refused with words and nothing is left, or gives a store that passes its own check.
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "runtime/store/backup.h"
#include "runtime/store/backup_format.h"
#include "runtime/store/tools.h"
#include "tests/unit/store/world.h"

static void must(bool holds) {
  if (!holds) abort();
}

typedef struct Tape { const uint8_t *bytes; size_t left; } Tape;

static Err read_tape(void *context, void *out_bytes, size_t size, size_t *out_got) {
  Tape *tape = context;
  *out_got = tape->left < size ? tape->left : size;
  memcpy(out_bytes, tape->bytes, *out_got);
  tape->bytes += *out_got;
  tape->left -= *out_got;
  return ERR_NONE;
}

static void restore(const uint8_t *bytes, size_t size) {
  Sim *sim = sim_new();
  Tape tape = {bytes, size};
  BackupInfo info;
  ErrText text = {{0}};
  sim_space(sim, 32 << 20);  // a place far behind makes a long file
  Err err = backup_restore(sim_files(sim), WORLD_DIR, &(BackupIn){&tape, read_tape}, 0, &info, &text);
  StoreReport report;
  if (err == ERR_NONE) must(store_check(sim_files(sim), WORLD_DIR, &report, &text) == ERR_NONE);
  else must(text.text[0] && !sim_path(sim, 0));
  sim_free(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  if (data[0] % 2 == 0) {
    restore(data + 1, size - 1);
    return 0;
  }
  size_t room = ZSTD_compressBound(size);
  uint8_t *file = calloc(1, BACKUP_FILE_HEAD_BYTES + room);
  memcpy(file, BACKUP_MAGIC, sizeof BACKUP_MAGIC);
  file[8] = BACKUP_VERSION;
  size_t packed = ZSTD_compress(file + BACKUP_FILE_HEAD_BYTES, room, data + 1, size - 1, 1);
  must(!ZSTD_isError(packed));
  restore(file, BACKUP_FILE_HEAD_BYTES + packed);
  free(file);
  return 0;
}
