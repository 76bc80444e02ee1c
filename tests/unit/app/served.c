// See served.h.
#include "tests/unit/app/served.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/compile.h"
#include "runtime/app/args.h"

static Err read_source(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text) {
  (void)path, (void)arena, (void)out_text;
  *out_bytes = str_from(context);
  return ERR_NONE;
}

static void compile_source(Compile *compile, const char *source) {
  CompileOptions options = {.read_file = read_source, .context = (void *)source};
  compile_run(compile, STR("test.aup"), &options);
  cr_assert(compile->module_bytes.ptr, "the program compiles: %s", compile->diags.count ? compile->diags.items[0]->message.ptr : "no memory");
}

static Err open_app(Served *served, const char *source, ErrText *out_text) {
  AppOptions options = {.files = sim_files(served->sim), .dir = "data", .clock = &served->clock.clock, .sync_inline = true, .settings = served->settings};
  Compile compile;
  if (source) compile_source(&compile, source);
  Err err = app_open(&options, source ? compile.module_bytes : (Str){0}, &served->app, out_text);
  if (source) compile_free(&compile);
  return err;
}

void served_new(Served *served) {
  *served = (Served){.sim = sim_new()};
  clock_fake_init(&served->clock, SERVED_START_US);
}

void served_open(Served *served, const char *source) {
  served_new(served);
  served_open_again(served, source);
}

void served_open_again(Served *served, const char *source) {
  ErrText text = {{0}};
  Err err = open_app(served, source, &text);
  cr_assert_eq(err, ERR_NONE, "%s", text.text);
}

Err served_open_says(Served *served, const char *source, ErrText *out_text) { return open_app(served, source, out_text); }

bool served_try_open(Served *served, const char *source) {
  ErrText text;
  return open_app(served, source, &text) == ERR_NONE;
}

void served_close(Served *served) {
  Err err = app_close(served->app, NULL);  // after a crash it says so
  (void)err;
  served->app = NULL;
}

bool served_disk_holds(Served *served, const char *bytes, size_t len) {
  bool holds = false;
  for (unsigned i = 0; sim_path(served->sim, i); i++) {
    uint64_t size;
    const uint8_t *file = sim_bytes(served->sim, sim_path(served->sim, i), &size);
    holds |= file && memmem(file, size, bytes, len);
  }
  return holds;
}

void served_free(Served *served) { sim_free(served->sim); }

// The old App closes on a disk that takes nothing more, as a process that is gone.
void served_kill(Served *served) {
  sim_fail_nth(served->sim, 1, true, ERR_IO);
  served_close(served);
  sim_fail_nth(served->sim, 0, false, ERR_NONE);
  sim_kill(served->sim);
}

Err served_swap(Served *served, const char *source, ErrText *out_text) {
  Compile compile;
  compile_source(&compile, source);
  Err err = app_swap(served->app, compile.module_bytes, out_text);
  compile_free(&compile);
  return err;
}

void served_settle(Served *served, uint32_t most) {
  served->turns = 0;
  do {
    app_turn(served->app);
    served->turns++;
  } while (served->turns < most && (app_wait_us(served->app) == 0 || app_is_busy(served->app)));
}

void served_advance(Served *served, int64_t by_us) {
  clock_fake_advance(&served->clock, by_us);
  served_settle(served, 1000);
}

static void on_answer(AppInput *input) { *(bool *)input->context = true; }
static const AppCaller ANYBODY = {.roles = UINT64_MAX, .may_read = true, .may_write = true};

static void copy_text(char *to, size_t room, Str text) { snprintf(to, room, "%.*s", STR_ARG(text)); }

Posted served_post(Served *served, const char *subject, const char *name, const char *text) {
  Arena arena;
  arena_init(&arena, 0);
  const Module *module = app_module(served->app);
  int entry = module_find_entry(module, ENTRY_INPUT, str_from(name));
  cr_assert(entry >= 0, "%s", name);
  Args args;
  ValueProblems problems = {.arena = &arena};
  cr_assert_eq(args_read_json(module, &module->entries[entry], str_from(text), &problems, &args), ERR_NONE, "%s", text);
  bool done = false;
  AppCaller caller = ANYBODY;
  if (subject) caller.subject = str_from(subject);
  AppInput input = {.entry = (uint16_t)entry, .given = args.given, .args = args.values, .caller = caller, .arena = &arena, .answered = on_answer, .context = &done};
  cr_assert_eq(app_submit(served->app, &input), ERR_NONE);
  for (int i = 0; i < 100000 && !done; i++) app_turn(served->app);
  cr_assert(done);
  Posted posted = {.kind = input.outcome.kind, .status = input.outcome.problem.status, .commit = input.outcome.commit};
  copy_text(posted.code, sizeof posted.code, input.outcome.problem.code);
  copy_text(posted.body, sizeof posted.body, input.outcome.body);
  arena_free(&arena);
  return posted;
}

AppOutcomeKind served_input(Served *served, const char *name, const char *text) { return served_post(served, NULL, name, text).kind; }

int64_t served_number(Served *served, const char *name) {
  Arena arena;
  arena_init(&arena, 0);
  int entry = module_find_entry(app_module(served->app), ENTRY_VIEW, str_from(name));
  cr_assert(entry >= 0, "%s", name);
  AppView view = {.entry = (uint16_t)entry, .caller = ANYBODY, .arena = &arena};
  app_view(served->app, &view);
  cr_assert_eq(view.outcome.kind, APP_DONE, "%s: %.*s", name, STR_ARG(view.outcome.problem.detail));
  Str copy = arena_format(&arena, STR_FMT, STR_ARG(view.outcome.body));
  int64_t number = strtoll(copy.ptr, NULL, 10);
  arena_free(&arena);
  return number;
}
