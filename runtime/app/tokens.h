// Tokens that an app issues (`issue_token`): rows of the table `~tokens` that the compiler puts into the schema of an app that
// issues some, written in the transaction of the input that does. A row holds the hash of the token's text alone, so that neither
// the data nor a backup lets anybody in.
//
// Roles are kept by name, since their numbers are another module's tomorrow. Rows whose time is over go when others are issued.
//
// Owns:   nothing.
// Thread: the owner's.
// Errors: through the Exec: rejection LIMIT when too many tokens are in use or a subject is too long, BAD_ARGUMENT for a time that is no time.
// Limits: APP_TOKENS_MAX, APP_TOKEN_SUBJECT_BYTES_MAX, APP_TOKEN_LASTS_MAX_DAYS.
#pragma once
#include "runtime/table/table.h"
#include "runtime/vm/vm.h"

enum { APP_TOKENS_MAX = 100000, APP_TOKEN_SUBJECT_BYTES_MAX = 200, APP_TOKEN_LASTS_MAX_DAYS = 3660 };
static const uint16_t TOKENS_NONE = 0xFFFF;

// Subject, roles and so on as columns; the index TOKENS_BY_EXPIRY has those that are over first.
enum { TOKENS_HASH, TOKENS_SUBJECT, TOKENS_ROLES, TOKENS_EXPIRES, TOKENS_COLUMNS };
enum { TOKENS_BY_EXPIRY = 0 };

// The table among those of a schema; TOKENS_NONE: there is none, or it is not as it should be.
uint16_t tokens_find(const Schema *schema);

// Roles are bits of the module's roles. `*out_text` is the token's text, from the kernel's random bytes: it stands nowhere else.
typedef struct NewToken { Str subject; uint64_t roles; int64_t lasts_us; } NewToken;
HostResult tokens_issue(Exec *exec, Txn *txn, uint16_t table, const NewToken *token, Value *out_text);

// Takes at most `most` rows out of a table whose key is column 0 and whose index `index` starts with the time `column`: those
// at or before `now_us`. Also what other hidden tables forget by.
MUST_USE Err tokens_drop_before(Txn *txn, uint16_t table, uint16_t index, int64_t now_us, uint32_t most);
