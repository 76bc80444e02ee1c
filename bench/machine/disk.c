// What a durable write costs on this disk, by the way it is done. Prints a line of JSON for each: rate and latency of one
// writer that writes and syncs, again and again. usage: disk DIRECTORY SECONDS_EACH
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/bench.h"

enum { RING_BYTES = 64 << 20, CHUNK_BYTES = 1 << 20 };
typedef enum Place { GROWING, FILLED, RESERVED, RENAMED } Place;  // FILLED: written with zeros before; RESERVED: fallocate alone
typedef struct Way { const char *name; uint32_t bytes; int flags; Place place; } Way;

static const Way WAYS[] = {
  {"append 8 bytes, fdatasync", 8, O_APPEND, GROWING},
  {"append 4 KiB, fdatasync", 4096, O_APPEND, GROWING},
  {"4 KiB into a file filled before, fdatasync", 4096, 0, FILLED},
  {"64 KiB into a file filled before, fdatasync", 65536, 0, FILLED},
  {"4 KiB into a file filled before, O_DIRECT and O_DSYNC", 4096, O_DIRECT | O_DSYNC, FILLED},
  {"4 KiB into space only set aside, fdatasync", 4096, 0, RESERVED},
  {"4 KiB into a new file, fdatasync, rename, fsync of the directory", 4096, 0, RENAMED},
};

typedef struct Disk { int dir, fd; off_t at; char *bytes; } Disk;

static void must(bool ok, const char *what) {
  if (!ok) bench_fail("%s: %s", what, strerror(errno));
}

static void prepare(Disk *disk, const Way *way) {
  unlinkat(disk->dir, "ring", 0);
  int fd = openat(disk->dir, "ring", O_CREAT | O_RDWR, 0644);
  must(fd >= 0, "open");
  for (off_t at = 0; way->place == FILLED && at < RING_BYTES; at += CHUNK_BYTES) must(pwrite(fd, disk->bytes, CHUNK_BYTES, at) == CHUNK_BYTES, "fill");
  if (way->place == RESERVED) must(fallocate(fd, 0, 0, RING_BYTES) == 0, "fallocate");
  must(fsync(fd) == 0, "fsync");
  close(fd);
  disk->fd = openat(disk->dir, "ring", O_RDWR | way->flags);
  must(disk->fd >= 0, "open");
  disk->at = 0;
}

static void replace_file(Disk *disk, const Way *way) {
  int fd = openat(disk->dir, "new", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  must(fd >= 0 && write(fd, disk->bytes, way->bytes) == (ssize_t)way->bytes && fdatasync(fd) == 0, "write");
  close(fd);
  must(renameat(disk->dir, "new", disk->dir, "ring") == 0 && fsync(disk->dir) == 0, "rename");
}

static void write_once(Disk *disk, const Way *way) {
  if (way->place == RENAMED) {
    replace_file(disk, way);
    return;
  }
  ssize_t written = way->place == GROWING ? write(disk->fd, disk->bytes, way->bytes) : pwrite(disk->fd, disk->bytes, way->bytes, disk->at);
  must(written == (ssize_t)way->bytes, "write");
  if (!(way->flags & O_DSYNC)) must(fdatasync(disk->fd) == 0, "fdatasync");
  disk->at = disk->at + 2 * (off_t)way->bytes > RING_BYTES ? 0 : disk->at + (off_t)way->bytes;
}

static void run(Disk *disk, const Way *way, double seconds) {
  BenchHistogram *latency = bench_alloc(sizeof *latency);
  prepare(disk, way);
  uint64_t start_ns = bench_now_ns(), now_ns = start_ns;
  while ((double)(now_ns - start_ns) < seconds * 1e9) {
    write_once(disk, way);
    uint64_t done_ns = bench_now_ns();
    bench_histogram_add(latency, (done_ns - now_ns) / 1000);
    now_ns = done_ns;
  }
  printf("{\"name\":\"%s\",\"rate\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f}\n", way->name, (double)latency->count / ((double)(now_ns - start_ns) / 1e9),
         (double)bench_histogram_at(latency, 0.5), (double)bench_histogram_at(latency, 0.99), (double)latency->max);
  free(latency);
  close(disk->fd);
}

int main(int count, char **words) {
  if (count != 3) bench_fail("usage: disk DIRECTORY SECONDS_EACH");
  Disk disk = {.dir = open(words[1], O_RDONLY | O_DIRECTORY), .bytes = aligned_alloc(4096, CHUNK_BYTES)};
  must(disk.dir >= 0 && disk.bytes, words[1]);
  memset(disk.bytes, 'z', CHUNK_BYTES);
  for (unsigned i = 0; i < sizeof WAYS / sizeof *WAYS; i++) run(&disk, &WAYS[i], strtod(words[2], NULL));
  unlinkat(disk.dir, "ring", 0);
  return 0;
}
