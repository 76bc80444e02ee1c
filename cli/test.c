// aup test: runs the `test` blocks of a program, each from a fresh state in memory.
#include <stdio.h>

#include "cli/cli.h"
#include "cli/program.h"
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

static ExitCode run_one(const Module *module, uint16_t index, TestCount *count) {
  Arena arena;
  arena_init(&arena, 0);
  AppTestResult result;
  int64_t start_us = clock_mono_us(clock_system());
  Err err = app_test_run(module, index, &arena, &result);
  if (err == ERR_NONE) {
    show_result(&module->tests[index], &result, clock_mono_us(clock_system()) - start_us);
    if (result.passed) count->passed++; else count->failed++;
  } else {
    cli_say("cannot run test \"" STR_FMT "\": %s", STR_ARG(module->tests[index].name), err_words(err));
  }
  arena_free(&arena);
  return err == ERR_NONE ? CLI_OK : CLI_ENVIRONMENT;
}

ExitCode cli_test(const Args *args) {
  RenderFormat format;
  Program program;
  if (!program_format(args, &format)) return CLI_USAGE;
  ExitCode code = program_load(&program, args->operand, true, format);
  if (code != CLI_OK) return code;
  const Module *module = program.compile.module;
  Str only = str_from(args_has(args, OPTION_ONLY) ? args->values[OPTION_ONLY] : "");
  TestCount count = {0};
  for (uint16_t i = 0; i < module->test_count && code == CLI_OK; i++) {
    if (only.len && !memmem(module->tests[i].name.ptr, module->tests[i].name.len, only.ptr, only.len)) continue;
    code = run_one(module, i, &count);
  }
  if (code == CLI_OK) {
    printf("%u passed, %u failed\n", count.passed, count.failed);
    if (count.failed) code = CLI_PROGRAM;
  }
  program_free(&program);
  return code;
}
