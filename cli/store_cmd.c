// aup store: check, stat and repair.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/store_dir.h"
#include "runtime/store/tools.h"

static ExitCode check(const StoreDir *dir) {
  StoreReport report;
  ErrText text = {{0}};
  Err err = store_check(file_system_real(), dir->path, &report, &text);
  if (err != ERR_NONE) return store_say(err, &text);
  printf("%s: well: commit %" PRIu64 ", %" PRIu64 " rows in %" PRIu64 " tables, %" PRIu64 " modules\n", dir->path, report.info.number, report.rows, report.tables, report.modules);
  if (report.info.checkpoint) printf("  checkpoint of commit %" PRIu64 "%s, %" PRIu64 " records after it\n", report.info.checkpoint, report.older_checked ? " and the one before it" : "", report.info.records);
  if (report.info.dropped_at) printf("  a last record that was cut (at offset %" PRIu64 " of the newest log) is not counted: its input was never answered\n", report.info.dropped_at);
  return CLI_OK;
}

static void print_tables(Store *store) {
  const Schema *schema = store_schema(store);
  for (uint16_t t = 1; schema && t < schema->table_count; t++)
    printf("  %12" PRIu64 " rows  " STR_FMT "\n", reader_row_count(txn_reader(db_txn(store_db(store))), t), STR_ARG(schema->tables[t].name));
}

static ExitCode stat_store(const StoreDir *dir) {
  StoreOptions options = {.files = file_system_real(), .dir = dir->path, .read_only = true};
  Store *store;
  ErrText text = {{0}};
  Err err = store_open(&options, &store, &text);
  if (err != ERR_NONE) return store_say(err, &text);
  const StoreInfo *info = store_info(store);
  printf("%s\n  commit       %" PRIu64 "\n  checkpoint   %" PRIu64 "\n  log          %" PRIu64 " bytes, %" PRIu64 " records after the checkpoint\n", dir->path, info->number, info->checkpoint, info->log_bytes, info->records);
  if (store_db(store)) printf("  in memory    %" PRIu64 " bytes\n", db_bytes(store_db(store)));
  printf("  stopped      %s\n", info->was_clean ? "cleanly" : "not cleanly, or it is in use");
  print_tables(store);
  err = store_close(store, &text);
  return err == ERR_NONE ? CLI_OK : store_say(err, &text);
}

static ExitCode repair(const Args *args, StoreDir *dir) {
  uint64_t number;
  if (!args_has(args, OPTION_LOSE_AFTER)) return cli_usage(args->command, "repair needs `--lose-after N`: the commit that becomes the last one");
  if (!read_commit(args->values[OPTION_LOSE_AFTER], &number)) return cli_usage(args->command, "`--lose-after %s` is no number of a commit", args->values[OPTION_LOSE_AFTER]);
  ExitCode code = store_dir_lock(dir);
  if (code != CLI_OK) return code;
  ErrText text = {{0}};
  Err err = store_repair(file_system_real(), dir->path, number, &text);
  store_dir_close(dir);
  if (err != ERR_NONE) return store_say(err, &text);
  printf("%s: commit %" PRIu64 " is the last one now\n", dir->path, number);
  return CLI_OK;
}

ExitCode cli_store(const Args *args) {
  StoreDir dir;
  const char *what = args->operand;
  bool is_check = strcmp(what, "check") == 0, is_stat = strcmp(what, "stat") == 0, is_repair = strcmp(what, "repair") == 0;
  if (!is_check && !is_stat && !is_repair) return cli_usage(args->command, "`%s` is none of check, stat and repair", what);
  if (args_has(args, OPTION_LOSE_AFTER) && !is_repair) return cli_usage(args->command, "`--lose-after` is for repair");
  ExitCode code = store_dir_find(args->operands[1], &dir);
  if (code != CLI_OK) return code;
  return is_check ? check(&dir) : is_stat ? stat_store(&dir) : repair(args, &dir);
}
