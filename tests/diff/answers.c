// One app that is told what to do over its standard input, for tests that compare its answers with another program's: the app is
// compiled and lives in this process, its data on the simulated disk, so that a question costs microseconds and a restart as much.
// Each command is a line, and so is each answer:
//
//   app BYTES\n<source>     compile and open on a new disk     -> ok | bad WORDS
//   input NAME {json}                                          -> done JSON | rejected CODE WORDS | fault CODE WORDS
//   view NAME {json}                                           -> the same
//   restart                 close and open the saved data      -> ok | bad WORDS
//   kill                    the same, but the process "dies"   -> ok | bad WORDS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile.h"
#include "runtime/app/app.h"
#include "runtime/app/args.h"
#include "tests/unit/store/sim.h"

static const AppCaller ANYBODY = {.roles = UINT64_MAX, .may_read = true, .may_write = true, .signed_in = true};
static const int64_t START_US = 1767261600000000;  // 2026-01-01T10:00:00Z

typedef struct Peer { Sim *sim; ClockFake clock; App *app; Arena arena; } Peer;

static void say_line(const char *word, Str words) {
  printf("%s ", word);
  for (size_t i = 0; i < words.len; i++) putchar(words.ptr[i] == '\n' ? ' ' : words.ptr[i]);
  putchar('\n');
}

static Err give_source(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text) {
  (void)path, (void)arena, (void)out_text;
  *out_bytes = *(Str *)context;
  return ERR_NONE;
}

// An empty module: the one that is saved with the data.
static Err open_app(Peer *peer, Str module, ErrText *out_text) {
  AppOptions options = {.files = sim_files(peer->sim), .dir = "data", .clock = &peer->clock.clock, .sync_inline = true};
  return app_open(&options, module, &peer->app, out_text);
}

static void close_app(Peer *peer) {
  if (!peer->app) return;
  Err err = app_close(peer->app, NULL);  // after a kill it says that not all was saved
  (void)err;
  peer->app = NULL;
}

static void say_opened(Err err, const ErrText *text) {
  if (err == ERR_NONE) puts("ok");
  else say_line("bad", str_from(text->text));
}

static void begin_app(Peer *peer, Str source) {
  close_app(peer);
  if (peer->sim) sim_free(peer->sim);
  peer->sim = sim_new();
  clock_fake_init(&peer->clock, START_US);
  CompileOptions options = {.read_file = give_source, .context = &source};
  Compile compile;
  compile_run(&compile, STR("diff.aup"), &options);
  if (!compile.module_bytes.ptr) {
    const Diag *diag = compile.diags.count ? compile.diags.items[0] : NULL;
    printf("bad at byte %u: ", diag ? (unsigned)diag->span.start : 0);
    say_line("", diag ? diag->message : STR("no memory"));
  } else {
    ErrText text = {{0}};
    Err err = open_app(peer, compile.module_bytes, &text);
    say_opened(err, &text);
  }
  compile_free(&compile);
}

static void open_again(Peer *peer, bool dies) {
  ErrText text = {{0}};
  if (dies) sim_fail_nth(peer->sim, 1, true, ERR_IO);
  close_app(peer);
  sim_fail_nth(peer->sim, 0, false, ERR_NONE);
  if (dies) sim_kill(peer->sim);
  Err err = open_app(peer, (Str){0}, &text);
  say_opened(err, &text);
}

static void say_outcome(Arena *arena, const AppOutcome *outcome) {
  const char *word = outcome->kind == APP_REJECTED ? "rejected" : outcome->kind == APP_FAULT ? "fault" : "unavailable";
  const AppProblem *problem = &outcome->problem;
  if (outcome->kind == APP_DONE) say_line("done", outcome->body);
  else say_line(word, arena_format(arena, STR_FMT " " STR_FMT, STR_ARG(problem->code), STR_ARG(problem->detail)));
}

static void on_input(AppInput *input) { *(bool *)input->context = true; }

static void run_input(Peer *peer, uint16_t entry, const Args *args) {
  bool done = false;
  AppInput input = {.entry = entry, .given = args->given, .args = args->values, .caller = ANYBODY, .arena = &peer->arena, .answered = on_input, .context = &done};
  if (app_submit(peer->app, &input) != ERR_NONE) { puts("unavailable"); return; }
  while (!done) app_turn(peer->app);
  say_outcome(&peer->arena, &input.outcome);
}

static void run_view(Peer *peer, uint16_t entry, const Args *args) {
  AppView view = {.entry = entry, .given = args->given, .args = args->values, .caller = ANYBODY, .arena = &peer->arena};
  app_view(peer->app, &view);
  say_outcome(&peer->arena, &view.outcome);
}

// `rest`: the name and the arguments.
static void call(Peer *peer, EntryKind kind, char *rest) {
  char *space = strchr(rest, ' ');
  if (!peer->app || !space) { puts("bad call"); return; }
  *space = 0;
  int entry = module_find_entry(app_module(peer->app), kind, str_from(rest));
  if (entry < 0) { puts("bad name"); return; }
  arena_reset(&peer->arena);
  Args args;
  ValueProblems problems = {.arena = &peer->arena};
  if (args_read_json(app_module(peer->app), &app_module(peer->app)->entries[entry], str_from(space + 1), &problems, &args) != ERR_NONE) {
    puts("rejected bad_argument");
  } else if (kind == ENTRY_INPUT) {
    run_input(peer, (uint16_t)entry, &args);
  } else {
    run_view(peer, (uint16_t)entry, &args);
  }
}

static void read_app(Peer *peer, size_t bytes) {
  char *source = malloc(bytes + 1);
  if (!source || fread(source, 1, bytes, stdin) != bytes) exit(1);
  begin_app(peer, (Str){source, bytes});
  free(source);
}

int main(void) {
  Peer peer = {0};
  char *line = NULL;
  size_t cap = 0;
  arena_init(&peer.arena, 0);
  for (ssize_t len; (len = getline(&line, &cap, stdin)) > 0;) {
    if (line[len - 1] == '\n') line[len - 1] = 0;
    if (strncmp(line, "app ", 4) == 0) read_app(&peer, strtoul(line + 4, NULL, 10));
    else if (strncmp(line, "input ", 6) == 0) call(&peer, ENTRY_INPUT, line + 6);
    else if (strncmp(line, "view ", 5) == 0) call(&peer, ENTRY_VIEW, line + 5);
    else if (strcmp(line, "restart") == 0) open_again(&peer, false);
    else if (strcmp(line, "kill") == 0) open_again(&peer, true);
    else puts("bad command");
    fflush(stdout);
  }
  close_app(&peer);
  if (peer.sim) sim_free(peer.sim);
  arena_free(&peer.arena);
  free(line);
  return 0;
}
