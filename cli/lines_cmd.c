// aup dump DIR and aup load: an app's data as lines of JSON. A load goes into memory first, so that a mistake in the file is
// met before anything is on disk.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/store_dir.h"
#include "runtime/store/lines.h"

static Err print_line(void *context, Str line) {
  return fwrite(line.ptr, 1, line.len, context) == line.len ? ERR_NONE : err_from_errno(errno);
}

ExitCode dump_data(const Args *args) {
  StoreDir dir;
  Store *store;
  ErrText text = {{0}};
  ExitCode code = store_dir_find(args->operand, &dir);
  if (code != CLI_OK) return code;
  StoreOptions options = {.files = file_system_real(), .dir = dir.path, .read_only = true};
  Err err = store_open(&options, &store, &text);
  if (err != ERR_NONE) return store_say(err, &text);
  err = lines_dump(store, print_line, stdout);
  if (err == ERR_NONE && fflush(stdout) != 0) err = err_from_errno(errno);
  store_abandon(store);
  return err == ERR_NONE ? CLI_OK : store_say(err, &text);
}

// false: the end. A longer line than may be comes in part, and is refused as too long.
static bool read_line(FILE *file, Buf *line) {
  int c;
  buf_clear(line);
  while ((c = getc(file)) != EOF && c != '\n' && line->len <= LINES_LINE_BYTES_MAX) buf_add_char(line, (char)c);
  return c != EOF || line->len > 0;
}

static Err load_lines(Store *store, FILE *file, LinesLoad *load, ErrText *out_text) {
  Buf line;
  TRY(lines_load_begin(load, store, out_text));
  Err err = ERR_NONE;
  buf_init(&line, 0);
  while (err == ERR_NONE && read_line(file, &line)) err = line.failed ? ERR_MEMORY : lines_load_line(load, buf_str(&line), out_text);
  buf_free(&line);
  if (err == ERR_NONE && ferror(file)) err = err_say(ERR_IO, out_text, "the file cannot be read");
  return err == ERR_NONE ? lines_load_end(load, out_text) : err;
}

static Err try_in_memory(Store *like, FILE *file, ErrText *out_text) {
  StoreOptions options = {.files = NULL};
  LinesLoad load;
  Store *store;
  TRY(store_open(&options, &store, out_text));
  const StoreInfo *info = store_info(like);
  Err err = info->is_new ? ERR_NONE : store_set_schema(store, store_schema(like), info->module_hash, NULL, out_text);
  if (err == ERR_NONE) err = load_lines(store, file, &load, out_text);
  store_abandon(store);
  rewind(file);
  return err;
}

static ExitCode load_into(const char *path, FILE *file, const char *file_path) {
  StoreOptions options = {.files = file_system_real(), .dir = path};
  LinesLoad load = {0};
  Store *store;
  ErrText text = {{0}}, closing = {{0}};
  Err err = store_open(&options, &store, &text);
  if (err != ERR_NONE) return store_say(err, &text);
  err = try_in_memory(store, file, &text);
  if (err == ERR_NONE) err = load_lines(store, file, &load, &text);
  if (err != ERR_NONE && store_db(store)) txn_undo(db_txn(store_db(store)), (TxnMark){0});
  Err closed = store_close(store, &closing);
  if (err != ERR_NONE) {
    cli_say("%s: %s", file_path, text.text);
    return err == ERR_FORMAT || err == ERR_EXISTS ? CLI_PROGRAM : CLI_ENVIRONMENT;
  }
  if (closed != ERR_NONE) return store_say(closed, &closing);
  printf("%s: %" PRIu64 " rows\n", path, load.rows);
  return CLI_OK;
}

ExitCode cli_load(const Args *args) {
  StoreDir dir;
  FILE *file = fopen(args->operands[1], "rb");
  if (!file) {
    cli_say("%s: %s", args->operands[1], strerror(errno));
    return CLI_ENVIRONMENT;
  }
  ExitCode code = is_folder(args->operand) ? store_dir_find(args->operand, &dir) : CLI_OK;
  if (!is_folder(args->operand)) {
    dir = (StoreDir){.lock = NULL};
    snprintf(dir.path, sizeof dir.path, "%s", args->operand);
    store_dir_make_root(dir.path);
  }
  if (code == CLI_OK) code = store_dir_lock(&dir);
  if (code == CLI_OK) code = load_into(dir.path, file, args->operands[1]);
  store_dir_close(&dir);
  fclose(file);
  return code;
}
