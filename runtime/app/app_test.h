// Runs the `test` blocks of a module: each from a fresh state in memory, with `now` at a fixed time, every role and no
// caller outside `as`. Inputs and views called by a test go the same way as those of a request.
//
// Owns:   texts of the result live in the given arena.
// Thread: any, one test a thread.
// Errors: ERR_MEMORY; a test that fails is a result, not an error.
#pragma once
#include "runtime/app/app.h"

static const int64_t APP_TEST_NOW_US = 1767261600000000;  // 2026-01-01T10:00:00Z

typedef struct AppTestResult { bool passed; Str message, file; uint32_t line; } AppTestResult;

// `settings` as in app_open. ERR_REFUSED: one of them is missing, unknown or wrong.
MUST_USE Err app_test_settings(const Module *module, const AppSettings *settings, ErrText *out_text);
MUST_USE Err app_test_run(const Module *module, const AppSettings *settings, uint16_t test, Arena *arena, AppTestResult *out_result);
