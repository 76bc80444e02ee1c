// What is done with a store from outside: looking at all of it, and giving up its damaged end.
//
// Owns:   nothing beyond the call.
// Thread: any one. store_check changes nothing and needs no lock; store_repair needs that of the root.
// Errors: those of store_open; ERR_DAMAGED with file and offset, or table and rule.
#pragma once
#include "runtime/store/store.h"

typedef struct StoreReport {
  StoreInfo info;
  uint64_t rows, tables, modules;
  uint64_t pages_bytes;      // in memory
  bool older_checked;        // the checkpoint before the newest was proved too, with the log since then
} StoreReport;

// Reads everything: both checkpoints, every record of the log, every module; proves order, counts, kept sums, indexes, and that
// every value is one of its type.
MUST_USE Err store_check(FileSystem *files, const char *dir, StoreReport *out_report, ErrText *out_text);
// Makes commit `number` the last one. Everything up to it must be readable; nothing is changed when it is not.
MUST_USE Err store_repair(FileSystem *files, const char *dir, uint64_t number, ErrText *out_text);
// Every value of a state is one that its type has: what a reader of rows relies on.
MUST_USE Err store_check_values(const Reader *reader, ErrText *out_text);
