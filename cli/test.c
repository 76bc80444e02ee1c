// aup test: runs the `test` blocks of a program, each from a fresh state in memory.
#include <stdio.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "cli/settings.h"
#include "runtime/app/app_test.h"
#include "runtime/base/clock.h"

typedef struct TestCount { uint32_t passed, failed; } TestCount;

static void show_result(const NamedFunction *test, const AppTestResult *result, int64_t took_us) {
  printf("%s  " STR_FMT " (%lld.%lld ms)\n", result->passed ? "ok    " : "FAILED", STR_ARG(test->name), (long long)took_us / 1000, (long long)took_us / 100 % 10);
  if (result->passed) return;
  if (result->line) printf("        " STR_FMT ":%u: ", STR_ARG(result->file), result->line);
  else printf("        ");
  printf(STR_FMT "\n", STR_ARG(result->message));
}

static ExitCode run_one(const Module *module, const AppSettings *settings, uint16_t index, TestCount *count) {
  Arena arena;
  arena_init(&arena, 0);
  AppTestResult result;
  int64_t start_us = clock_mono_us(clock_system());
  Err err = app_test_run(module, settings, index, &arena, &result);
  if (err == ERR_NONE) {
    show_result(&module->tests[index], &result, clock_mono_us(clock_system()) - start_us);
    if (result.passed) count->passed++; else count->failed++;
  } else {
    cli_say("cannot run test \"" STR_FMT "\": %s", STR_ARG(module->tests[index].name), err_words(err));
  }
  arena_free(&arena);
  return err == ERR_NONE ? CLI_OK : CLI_ENVIRONMENT;
}

// The `--set`s for the app; one for another app is none of its.
static ExitCode read_settings(const Args *args, const Module *module, Arena *arena, AppSettings *out) {
  CliSettings given = {0};
  ExitCode code = settings_add_flags(&given, arena, args);
  AppSetting *items = ARENA_ARRAY(arena, AppSetting, given.count + 1);
  if (code != CLI_OK || !items) return code != CLI_OK ? code : CLI_ENVIRONMENT;
  *out = (AppSettings){.items = items};
  for (uint32_t i = 0; i < given.count; i++)
    if (!given.items[i].app.len || str_equal(given.items[i].app, module->name)) items[out->count++] = (AppSetting){given.items[i].name, given.items[i].value};
  ErrText text;
  if (!module->test_count || app_test_settings(module, out, &text) == ERR_NONE) return CLI_OK;
  cli_say("%s", text.text);
  return CLI_USAGE;
}

static ExitCode run_all(const Args *args, const Module *module, TestCount *count) {
  Arena arena;
  AppSettings settings;
  arena_init(&arena, 0);
  ExitCode code = read_settings(args, module, &arena, &settings);
  Str only = str_from(args_has(args, OPTION_ONLY) ? args->values[OPTION_ONLY] : "");
  for (uint16_t i = 0; i < module->test_count && code == CLI_OK; i++) {
    if (only.len && !memmem(module->tests[i].name.ptr, module->tests[i].name.len, only.ptr, only.len)) continue;
    code = run_one(module, &settings, i, count);
  }
  arena_free(&arena);
  return code;
}

ExitCode cli_test(const Args *args) {
  RenderFormat format;
  Program program;
  if (!program_format(args, &format)) return CLI_USAGE;
  ExitCode code = program_load(&program, args->operand, true, format);
  if (code != CLI_OK) return code;
  TestCount count = {0};
  code = run_all(args, program.compile.module, &count);
  if (code == CLI_OK) {
    printf("%u passed, %u failed\n", count.passed, count.failed);
    if (count.failed) code = CLI_PROGRAM;
  }
  program_free(&program);
  return code;
}
