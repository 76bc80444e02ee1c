// aup backup and aup restore. A backup is written under another name beside its own, synced and renamed, so that a file of
// that name is a whole one.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/store_dir.h"
#include "runtime/store/backup.h"

static Err write_bytes(void *context, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, context) == size ? ERR_NONE : err_from_errno(errno);
}

static Err begin_again(void *context) {
  if (fflush(context) != 0 || ftruncate(fileno(context), 0) != 0) return err_from_errno(errno);
  rewind(context);
  return ERR_NONE;
}

static Err read_bytes(void *context, void *out_bytes, size_t size, size_t *out_got) {
  *out_got = fread(out_bytes, 1, size, context);
  return ferror((FILE *)context) ? ERR_IO : ERR_NONE;
}

static ExitCode say_file(const char *path) {
  cli_say("%s: %s", path, strerror(errno));
  return CLI_ENVIRONMENT;
}

static bool keep_file(FILE *file, const char *temporary, const char *path) {
  bool good = fflush(file) == 0 && fsync(fileno(file)) == 0;
  return fclose(file) == 0 && good && rename(temporary, path) == 0;
}

static ExitCode backup(const StoreDir *dir, const char *path) {
  char temporary[STORE_DIR_BYTES_MAX];
  BackupInfo info;
  ErrText text = {{0}};
  int len = snprintf(temporary, sizeof temporary, "%s.tmp", path);
  if (len < 0 || (size_t)len >= sizeof temporary) return cli_usage(COMMAND_BACKUP, "the name of the file is too long");
  FILE *file = fopen(temporary, "wb");
  if (!file) return say_file(temporary);
  Err err = backup_take(file_system_real(), dir->path, &(BackupOut){file, write_bytes, begin_again}, &info, &text);
  if (err != ERR_NONE) {
    fclose(file);
    unlink(temporary);
    return store_say(err, &text);
  }
  if (!keep_file(file, temporary, path)) {
    ExitCode code = say_file(path);
    unlink(temporary);
    return code;
  }
  printf("%s: commits up to %" PRIu64 ", %" PRIu64 " modules\n", path, info.number, info.modules);
  return CLI_OK;
}

ExitCode cli_backup(const Args *args) {
  StoreDir dir;
  ExitCode code = store_dir_find(args->operand, &dir);
  return code == CLI_OK ? backup(&dir, args->operands[1]) : code;
}

ExitCode cli_restore(const Args *args) {
  uint64_t at = 0;
  BackupInfo info;
  ErrText text = {{0}};
  if (args_has(args, OPTION_AT) && !read_commit(args->values[OPTION_AT], &at)) return cli_usage(args->command, "`--at %s` is no number of a commit", args->values[OPTION_AT]);
  FILE *file = fopen(args->operand, "rb");
  if (!file) return say_file(args->operand);
  store_dir_make_root(args->operands[1]);
  Err err = backup_restore(file_system_real(), args->operands[1], &(BackupIn){file, read_bytes}, at, &info, &text);
  fclose(file);
  if (err != ERR_NONE) {
    cli_say("%s: %s", args->operand, text.text);
    return CLI_ENVIRONMENT;
  }
  printf("%s: commit %" PRIu64 ", %" PRIu64 " modules\n", args->operands[1], info.number, info.modules);
  return CLI_OK;
}
