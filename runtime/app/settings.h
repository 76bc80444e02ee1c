// The values of an app's settings: texts from whoever runs it, read by their types, or the app's defaults.
//
// Each setting is a hidden column `~setting NAME` of the state table, which the code of the app reads like any state value. What was given
// is written there when the app is opened or gets another module, and so stands in the log where it changed: whatever an input read
// is known afterwards. A `@secret` one's column stays zero; its value is in memory alone, never in the data or a backup.
//
// Owns:   Settings live in the arena they were read into.
// Thread: the owner's; reading values any.
// Errors: ERR_REFUSED with one line that names all that is missing, unknown or wrong, never the value of a secret.
// Limits: those of the settings' types and of `min` and `max`.
#pragma once
#include "runtime/app/app.h"
#include "runtime/table/table.h"
#include "runtime/vm/vm.h"

typedef struct SettingValue { uint16_t column; bool given, secret; Value value; } SettingValue;
typedef struct Settings { uint16_t count, secret_count; SettingValue *items; } Settings;  // one each of the module's

// Reads what was given; what was not and has no default is missing.
MUST_USE Err settings_read(const Module *module, const AppSettings *given, Arena *arena, Settings *out_settings, ErrText *out_text);

// Writes values that are not what stands there already, defaults where nothing was given. The runner uses the module and `txn`.
struct Runner;
typedef struct SettingsWrite { struct Runner *runner; Txn *txn; const VmCall *call; Arena *arena; } SettingsWrite;
MUST_USE Err settings_write(const SettingsWrite *write, Settings *settings, bool *out_changed, ErrText *out_text);

// Is it the column of a setting?
bool settings_is_column(Str name);
// The value of a secret setting, by its column; false: the column is none.
static inline bool settings_secret(const Settings *settings, uint16_t column, Value *out) {
  for (uint16_t i = 0; i < settings->count; i++) {
    if (settings->items[i].column != column || !settings->items[i].secret) continue;
    *out = settings->items[i].value;
    return true;
  }
  return false;
}
