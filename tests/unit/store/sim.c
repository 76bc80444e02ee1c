#include "tests/unit/store/sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512, NODES = 400, NAMES = 32 };

typedef struct Write { uint64_t offset, size; uint8_t *bytes; bool lost; } Write;  // bytes NULL: a new size in `offset`; lost: a sync that failed
typedef struct Node { uint8_t *now, *disk; uint64_t now_size, disk_size; Write *writes; unsigned write_count; bool locked; bool used; } Node;
typedef struct Name { char name[96]; int node; } Name;
typedef enum NameOpKind { NAME_ADD, NAME_MOVE, NAME_GONE } NameOpKind;
typedef struct NameOp { NameOpKind kind; char name[96], to[96]; int node; } NameOp;
typedef struct Folder { char path[400]; Name now[NAMES], disk[NAMES]; unsigned now_count, disk_count; NameOp *ops; unsigned op_count; } Folder;

struct Dir { int folder; };
struct File { int node; bool locks; };
struct Sim {
  FileSystem fs;
  Node nodes[NODES];
  Folder folders[3];
  unsigned folder_count;
  uint64_t calls, fail_at, cut_at, space, writes;
  bool for_ever, off;
  Err err;
  unsigned short_every;
  uint64_t random;
};

static uint64_t roll_dice(Sim *sim, uint64_t bound) {
  uint64_t z = (sim->random += 0x9E3779B97F4A7C15ull);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return (z ^ z >> 31) % bound;
}

// Counts a call. ERR_NONE: do it; `*last`: do it and fail all the same.
static Err call(Sim *sim, bool *last) {
  *last = false;
  sim->calls++;
  if (sim->off) return ERR_IO;
  if (sim->cut_at && sim->calls == sim->cut_at) {
    sim->off = *last = true;
    return ERR_NONE;
  }
  bool fails = sim->fail_at && (sim->calls == sim->fail_at || (sim->for_ever && sim->calls > sim->fail_at));
  return fails ? sim->err : ERR_NONE;
}

#define CALL(fs_)                         \
  Sim *sim = (fs_)->context;              \
  bool last_;                             \
  Err err_ = call(sim, &last_);           \
  if (err_ != ERR_NONE) return err_

// ---- names ------------------------------------------------------------------------------------
static Name *find_name(Name *names, unsigned count, const char *name) {
  for (unsigned i = 0; i < count; i++)
    if (strcmp(names[i].name, name) == 0) return &names[i];
  return NULL;
}

static void apply_op(Name *names, unsigned *count, const NameOp *op) {
  Name *old = find_name(names, *count, op->kind == NAME_MOVE ? op->to : op->name);
  if (op->kind == NAME_MOVE && !find_name(names, *count, op->name)) return;  // what it moves never reached the disk
  if (old) *old = names[--*count];
  if (op->kind == NAME_GONE) return;
  if (op->kind == NAME_MOVE) {
    Name *from = find_name(names, *count, op->name);
    snprintf(from->name, sizeof from->name, "%s", op->to);
    return;
  }
  assert(*count < NAMES);
  snprintf(names[*count].name, sizeof names[0].name, "%s", op->name);
  names[(*count)++].node = op->node;
}

static void do_op(Folder *folder, NameOp op) {
  apply_op(folder->now, &folder->now_count, &op);
  folder->ops = realloc(folder->ops, (folder->op_count + 1) * sizeof op);
  folder->ops[folder->op_count++] = op;
}

static Err sim_dir_open(FileSystem *fs, Dir *parent, const char *name, bool create, Dir **out_dir) {
  CALL(fs);
  char path[400];
  int len = parent ? snprintf(path, sizeof path, "%s/%s", sim->folders[parent->folder].path, name) : 0;
  assert(len >= 0 && (size_t)len < sizeof path);
  (void)len;
  if (!parent) snprintf(path, sizeof path, "%s", name);
  unsigned at = 0;
  while (at < sim->folder_count && strcmp(sim->folders[at].path, path) != 0) at++;
  if (at == sim->folder_count) {
    if (!create) return ERR_NOT_FOUND;
    assert(sim->folder_count < countof(sim->folders));
    snprintf(sim->folders[sim->folder_count++].path, sizeof sim->folders[0].path, "%s", path);
  }
  if (last_) return ERR_IO;
  *out_dir = malloc(sizeof **out_dir);
  (*out_dir)->folder = (int)at;
  return ERR_NONE;
}

static void sim_dir_close(FileSystem *fs, Dir *dir) {
  (void)fs;
  free(dir);
}

static Err sim_dir_sync(FileSystem *fs, Dir *dir) {
  CALL(fs);
  if (last_) return ERR_IO;
  Folder *folder = &sim->folders[dir->folder];
  memcpy(folder->disk, folder->now, sizeof folder->now);
  folder->disk_count = folder->now_count;
  folder->op_count = 0;
  return ERR_NONE;
}

static Err sim_dir_list(FileSystem *fs, Dir *dir, FileVisit visit, void *context) {
  CALL(fs);
  if (last_) return ERR_IO;
  const Folder *folder = &sim->folders[dir->folder];
  for (unsigned i = 0; i < folder->now_count; i++) TRY(visit(context, folder->now[i].name));
  size_t len = strlen(folder->path);
  for (unsigned i = 0; i < sim->folder_count; i++)
    if (strncmp(sim->folders[i].path, folder->path, len) == 0 && sim->folders[i].path[len] == '/') TRY(visit(context, sim->folders[i].path + len + 1));
  return ERR_NONE;
}

static Err sim_dir_free_bytes(FileSystem *fs, Dir *dir, uint64_t *out_bytes) {
  (void)dir;
  CALL(fs);
  if (last_) return ERR_IO;
  *out_bytes = sim->space ? sim->space - sim_used(sim) : UINT64_MAX;
  return ERR_NONE;
}

static Err sim_rename(FileSystem *fs, Dir *dir, const char *from, const char *to) {
  CALL(fs);
  Folder *folder = &sim->folders[dir->folder];
  if (!find_name(folder->now, folder->now_count, from)) return ERR_NOT_FOUND;
  NameOp op = {.kind = NAME_MOVE};
  snprintf(op.name, sizeof op.name, "%s", from);
  snprintf(op.to, sizeof op.to, "%s", to);
  do_op(folder, op);
  return last_ ? ERR_IO : ERR_NONE;
}

static Err sim_remove_name(FileSystem *fs, Dir *dir, const char *name) {
  CALL(fs);
  Folder *folder = &sim->folders[dir->folder];
  if (!find_name(folder->now, folder->now_count, name)) return ERR_NOT_FOUND;
  NameOp op = {.kind = NAME_GONE};
  snprintf(op.name, sizeof op.name, "%s", name);
  do_op(folder, op);
  return last_ ? ERR_IO : ERR_NONE;
}

// ---- files ------------------------------------------------------------------------------------
static Err sim_open(FileSystem *fs, Dir *dir, const char *name, FileMode mode, File **out_file) {
  CALL(fs);
  Folder *folder = &sim->folders[dir->folder];
  Name *found = find_name(folder->now, folder->now_count, name);
  if (mode == FILE_CREATE_NEW ? found != NULL : found == NULL) return found ? ERR_EXISTS : ERR_NOT_FOUND;
  int node = found ? found->node : 0;
  if (!found) {
    while (sim->nodes[node].used) node++;
    assert(node < NODES);
    sim->nodes[node].used = true;
    NameOp op = {.kind = NAME_ADD, .node = node};
    snprintf(op.name, sizeof op.name, "%s", name);
    do_op(folder, op);
  }
  if (last_) return ERR_IO;
  *out_file = malloc(sizeof **out_file);
  **out_file = (File){.node = node};
  return ERR_NONE;
}

static void sim_close(FileSystem *fs, File *file) {
  Sim *sim = fs->context;
  if (file->locks) sim->nodes[file->node].locked = false;
  free(file);
}

static void set_size(uint8_t **bytes, uint64_t *size, uint64_t new_size) {
  *bytes = realloc(*bytes, new_size ? new_size : 1);
  if (new_size > *size) memset(*bytes + *size, 0, new_size - *size);
  *size = new_size;
}

static void apply_part(uint8_t **bytes, uint64_t *size, uint64_t offset, const uint8_t *from, uint64_t len) {
  if (offset + len > *size) set_size(bytes, size, offset + len);
  memcpy(*bytes + offset, from, len);
}

static void apply_write(uint8_t **bytes, uint64_t *size, const Write *write) {
  if (write->bytes) apply_part(bytes, size, write->offset, write->bytes, write->size);
  else set_size(bytes, size, write->offset);
}

static void add_write(Node *node, Write write) {
  apply_write(&node->now, &node->now_size, &write);
  node->writes = realloc(node->writes, (node->write_count + 1) * sizeof write);
  node->writes[node->write_count++] = write;
}

static Err sim_read_at(FileSystem *fs, File *file, uint64_t offset, void *out_bytes, uint64_t size, uint64_t *out_read) {
  CALL(fs);
  if (last_) return ERR_IO;
  const Node *node = &sim->nodes[file->node];
  uint64_t got = offset >= node->now_size ? 0 : node->now_size - offset < size ? node->now_size - offset : size;
  if (got) memcpy(out_bytes, node->now + offset, got);
  *out_read = got;
  return ERR_NONE;
}

static Err take_space(Sim *sim, const Node *node, uint64_t end) {
  if (!sim->space || end <= node->now_size) return ERR_NONE;
  return sim_used(sim) + end - node->now_size > sim->space ? ERR_FULL : ERR_NONE;
}

static Err sim_write_at(FileSystem *fs, File *file, uint64_t offset, const void *bytes, uint64_t size, uint64_t *out_written) {
  CALL(fs);
  Node *node = &sim->nodes[file->node];
  TRY(take_space(sim, node, offset + size));
  if (sim->short_every && ++sim->writes % sim->short_every == 0 && size > 1) size = 1 + roll_dice(sim, size - 1);
  Write write = {.offset = offset, .size = size, .bytes = malloc(size ? size : 1)};
  memcpy(write.bytes, bytes, size);
  add_write(node, write);
  *out_written = size;
  return last_ ? ERR_IO : ERR_NONE;
}

// What was written again and synced is certain, whatever became of an earlier write of it.
static void supersede(Node *node, unsigned lost_count, uint64_t from, uint64_t to) {
  for (unsigned i = 0; i < lost_count; i++) {
    Write *old = &node->writes[i];
    uint64_t end = old->offset + old->size;
    if (!old->bytes || !old->lost || old->offset >= to || end <= from) continue;
    if (end > to) {
      Write tail = {.offset = to, .size = end - to, .lost = true, .bytes = malloc(end - to)};
      memcpy(tail.bytes, old->bytes + (to - old->offset), end - to);
      node->writes = realloc(node->writes, (node->write_count + 1) * sizeof tail);
      node->writes[node->write_count++] = tail;
      old = &node->writes[i];
    }
    old->size = from > old->offset ? from - old->offset : 0;
  }
}

static Err sim_sync(FileSystem *fs, File *file) {
  Sim *sim = fs->context;
  bool last;
  Err err = call(sim, &last);
  Node *node = &sim->nodes[file->node];
  if (err != ERR_NONE || last) {  // what it did not write is forgotten by the kernel, and not written by a later sync
    for (unsigned i = 0; i < node->write_count; i++) node->writes[i].lost = true;
    return err != ERR_NONE ? err : ERR_IO;
  }
  unsigned kept = 0;
  for (unsigned i = 0; i < node->write_count; i++) {  // which may become more on the way
    Write *write = &node->writes[i];
    if (!write->lost && write->bytes) supersede(node, kept, write->offset, write->offset + write->size);
    if (node->writes[i].lost) {
      node->writes[kept++] = node->writes[i];
      continue;
    }
    apply_write(&node->disk, &node->disk_size, &node->writes[i]);
    free(node->writes[i].bytes);
  }
  node->write_count = kept;
  return ERR_NONE;
}

static Err sim_size(FileSystem *fs, File *file, uint64_t *out_size) {
  CALL(fs);
  if (last_) return ERR_IO;
  *out_size = sim->nodes[file->node].now_size;
  return ERR_NONE;
}

static Err sim_preallocate(FileSystem *fs, File *file, uint64_t offset, uint64_t size) {
  CALL(fs);
  Node *node = &sim->nodes[file->node];
  TRY(take_space(sim, node, offset + size));
  if (offset + size > node->now_size) add_write(node, (Write){.offset = offset + size});
  return last_ ? ERR_IO : ERR_NONE;
}

static Err sim_truncate(FileSystem *fs, File *file, uint64_t size) {
  CALL(fs);
  add_write(&sim->nodes[file->node], (Write){.offset = size});
  return last_ ? ERR_IO : ERR_NONE;
}

static Err sim_lock(FileSystem *fs, File *file) {
  CALL(fs);
  if (last_) return ERR_IO;
  if (sim->nodes[file->node].locked) return ERR_BUSY;
  sim->nodes[file->node].locked = file->locks = true;
  return ERR_NONE;
}

// ---- the disk itself --------------------------------------------------------------------------
Sim *sim_new(void) {
  Sim *sim = calloc(1, sizeof *sim);
  sim->fs = (FileSystem){
    .context = sim, .dir_open = sim_dir_open, .dir_close = sim_dir_close, .dir_sync = sim_dir_sync, .dir_list = sim_dir_list, .dir_free_bytes = sim_dir_free_bytes,
    .rename = sim_rename, .remove = sim_remove_name, .open = sim_open, .close = sim_close, .read_at = sim_read_at, .write_at = sim_write_at, .sync = sim_sync,
    .size = sim_size, .preallocate = sim_preallocate, .truncate = sim_truncate, .lock = sim_lock};
  return sim;
}

static void forget_writes(Node *node) {
  for (unsigned i = 0; i < node->write_count; i++) free(node->writes[i].bytes);
  free(node->writes);
  node->writes = NULL;
  node->write_count = 0;
}

void sim_free(Sim *sim) {
  for (unsigned i = 0; i < NODES; i++) {
    forget_writes(&sim->nodes[i]);
    free(sim->nodes[i].now);
    free(sim->nodes[i].disk);
  }
  for (unsigned f = 0; f < countof(sim->folders); f++) free(sim->folders[f].ops);
  free(sim);
}

FileSystem *sim_files(Sim *sim) { return &sim->fs; }
uint64_t sim_calls(const Sim *sim) { return sim->calls; }
void sim_reset_calls(Sim *sim) { sim->calls = 0; }

void sim_fail_nth(Sim *sim, uint64_t nth, bool for_ever, Err err) {
  sim->fail_at = nth ? sim->calls + nth : 0;
  sim->for_ever = for_ever;
  sim->err = err;
}

void sim_cut_nth(Sim *sim, uint64_t nth) { sim->cut_at = nth ? sim->calls + nth : 0; }
void sim_short_writes(Sim *sim, unsigned every) { sim->short_every = every; }
void sim_space(Sim *sim, uint64_t bytes) { sim->space = bytes; }

uint64_t sim_used(const Sim *sim) {
  uint64_t used = 0;
  for (unsigned f = 0; f < sim->folder_count; f++)
    for (unsigned i = 0; i < sim->folders[f].now_count; i++) used += sim->nodes[sim->folders[f].now[i].node].now_size;
  return used;
}

static void crash_write(Sim *sim, Node *node, const Write *write) {
  uint64_t dice = roll_dice(sim, 4);
  if (dice == 0) return;
  if (dice == 1 || !write->bytes) {
    apply_write(&node->disk, &node->disk_size, write);
    return;
  }
  for (uint64_t at = 0; at < write->size;) {  // some of its sectors
    uint64_t end = ((write->offset + at) / SECTOR + 1) * SECTOR - write->offset;
    if (end > write->size) end = write->size;
    if (roll_dice(sim, 2)) apply_part(&node->disk, &node->disk_size, write->offset + at, write->bytes + at, end - at);
    at = end;
  }
}

static void crash_node(Sim *sim, Node *node) {
  bool shuffled = roll_dice(sim, 2);
  for (unsigned i = node->write_count; shuffled && i > 1; i--) {
    unsigned other = (unsigned)roll_dice(sim, i);
    Write swap = node->writes[i - 1];
    node->writes[i - 1] = node->writes[other];
    node->writes[other] = swap;
  }
  for (unsigned i = 0; i < node->write_count; i++) crash_write(sim, node, &node->writes[i]);
  forget_writes(node);
  uint64_t size = 0;
  set_size(&node->now, &size, node->disk_size);
  if (size) memcpy(node->now, node->disk, size);
  node->now_size = size;
  node->locked = false;
}

static void power_on(Sim *sim) {
  sim->off = false;
  sim->cut_at = sim->fail_at = 0;
  for (unsigned i = 0; i < NODES; i++) sim->nodes[i].locked = false;
}

void sim_crash(Sim *sim, uint64_t seed) {
  sim->random = seed;
  for (unsigned f = 0; f < sim->folder_count; f++) {
    Folder *folder = &sim->folders[f];
    unsigned reached = (unsigned)roll_dice(sim, folder->op_count + 1);
    for (unsigned i = 0; i < reached; i++) apply_op(folder->disk, &folder->disk_count, &folder->ops[i]);
    memcpy(folder->now, folder->disk, sizeof folder->disk);
    folder->now_count = folder->disk_count;
    folder->op_count = 0;
  }
  for (unsigned i = 0; i < NODES; i++)
    if (sim->nodes[i].used) crash_node(sim, &sim->nodes[i]);
  power_on(sim);
}

void sim_kill(Sim *sim) { power_on(sim); }

static int node_of(Sim *sim, const char *path) {
  for (unsigned f = 0; f < sim->folder_count; f++) {
    size_t len = strlen(sim->folders[f].path);
    if (strncmp(path, sim->folders[f].path, len) != 0 || path[len] != '/') continue;
    Name *name = find_name(sim->folders[f].now, sim->folders[f].now_count, path + len + 1);
    if (name) return name->node;
  }
  return -1;
}

uint8_t *sim_bytes(Sim *sim, const char *path, uint64_t *out_size) {
  int node = node_of(sim, path);
  if (node < 0) return NULL;
  *out_size = sim->nodes[node].now_size;
  return sim->nodes[node].now;
}

void sim_resize(Sim *sim, const char *path, uint64_t size) {
  Node *node = &sim->nodes[node_of(sim, path)];
  set_size(&node->now, &node->now_size, size);
}

void sim_remove(Sim *sim, const char *path) {
  for (unsigned f = 0; f < sim->folder_count; f++) {
    size_t len = strlen(sim->folders[f].path);
    if (strncmp(path, sim->folders[f].path, len) != 0 || path[len] != '/') continue;
    Name *name = find_name(sim->folders[f].now, sim->folders[f].now_count, path + len + 1);
    if (name) *name = sim->folders[f].now[--sim->folders[f].now_count];
  }
}

void sim_swap(Sim *sim, const char *path, const char *other) {
  Node *a = &sim->nodes[node_of(sim, path)], *b = &sim->nodes[node_of(sim, other)], swap = *a;
  *a = *b;
  *b = swap;
}

const char *sim_path(Sim *sim, unsigned n) {
  static char path[512];
  for (unsigned f = 0; f < sim->folder_count; f++)
    for (unsigned i = 0; i < sim->folders[f].now_count; i++)
      if (n-- == 0) {
        snprintf(path, sizeof path, "%s/%s", sim->folders[f].path, sim->folders[f].now[i].name);
        return path;
      }
  return NULL;
}

// Everything as it stands, as if it had been synced.
Sim *sim_copy(Sim *sim) {
  Sim *copy = sim_new();
  FileSystem fs = copy->fs;
  *copy = *sim;
  copy->fs = fs;
  for (unsigned i = 0; i < NODES; i++) {
    Node *node = &copy->nodes[i];
    node->writes = NULL;
    node->write_count = 0;
    const Node *from = &sim->nodes[i];
    node->now = node->disk = NULL;
    node->now_size = node->disk_size = 0;
    set_size(&node->now, &node->now_size, from->now_size);
    set_size(&node->disk, &node->disk_size, from->now_size);
    if (from->now_size) {
      memcpy(node->now, from->now, from->now_size);
      memcpy(node->disk, from->now, from->now_size);
    }
  }
  for (unsigned f = 0; f < copy->folder_count; f++) {
    Folder *folder = &copy->folders[f];
    memcpy(folder->disk, folder->now, sizeof folder->now);
    folder->disk_count = folder->now_count;
    folder->op_count = 0;
    folder->ops = NULL;
  }
  power_on(copy);
  return copy;
}
