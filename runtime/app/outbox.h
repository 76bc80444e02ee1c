// Messages that wait to be sent: rows of the table `~outbox` that the compiler puts into the schema of an app with outputs,
// written in the transaction of the input that sends them. A message's body is JSON, as it will go out, so that it means the same
// after the app has changed.
//
// Owns:   what `outbox_list` gives lives in the Exec's arena.
// Thread: the owner's.
// Errors: through the Exec: rejection LIMIT when the outbox or the message is too large.
// Limits: APP_OUTBOX_MESSAGES_MAX, APP_MESSAGE_BYTES_MAX.
#pragma once
#include "runtime/table/table.h"
#include "runtime/vm/vm.h"

enum { APP_OUTBOX_MESSAGES_MAX = 100000, APP_MESSAGE_BYTES_MAX = 64 << 10 };
static const uint16_t OUTBOX_NONE = 0xFFFF;

// The outbox among the tables of a schema; OUTBOX_NONE: there is none, or it is not as it should be.
uint16_t outbox_find(const Schema *schema);
enum { OUTBOX_ID, OUTBOX_OUTPUT, OUTBOX_AT, OUTBOX_BODY, OUTBOX_COLUMNS };

HostResult outbox_send(Exec *exec, Txn *txn, uint16_t table, uint16_t output, const Value *values);
// The messages to one output, oldest first, as records of the list type `list`.
HostResult outbox_list(Exec *exec, const Reader *reader, uint16_t table, uint16_t output, TypeId list, Value *out);
