// The fixed parts of a backup, for its two sides. Bytes: backup.h.
//
// Owns: nothing. Thread: any. Errors: none.
#pragma once
#include "runtime/store/log.h"

static const char BACKUP_MAGIC[8] = {'A', 'U', 'P', 'B', 'A', 'C', 'K', '\n'};
enum { BACKUP_FILE_HEAD_BYTES = 16, BACKUP_HEAD_BYTES = 9, BACKUP_INFO_BYTES = LOG_ID_BYTES + 25, BACKUP_RUN_UNITS = 2048 };
typedef enum BackupKind { BACKUP_INFO = 1, BACKUP_MODULE, BACKUP_ROOT, BACKUP_PAGES, BACKUP_RECORD, BACKUP_END } BackupKind;
