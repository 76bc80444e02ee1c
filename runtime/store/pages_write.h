// Writing a whole state into the page file: what is not there yet goes where neither slot has anything, then its root takes
// the place of the older one.
//
// Owns:   nothing beyond the call.
// Thread: the checkpoint's; the snapshot is held meanwhile.
// Errors: the state of before stands after any of them. ERR_FULL, ERR_IO and what else the file system says.
#pragma once
#include "runtime/store/pages.h"

enum { PAGES_SLICE_BYTES = 64 << 10 };  // written and synced at once, between rests

typedef struct PagesJob {
  const Snapshot *snapshot;
  PagesRoot root;                // all but generation and description
  Str schema;                    // its encoding
  bool paced;                    // rests as long as each slice took, so that at most half of the disk's time is taken
} PagesJob;
MUST_USE Err pages_write_state(PageFile *pages, const PagesJob *job);
