// aup deploy, apps, logs, start, stop, remove: what a running host's admin API (docs/HTTP.md) does, from a terminal.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/program.h"
#include "runtime/base/json.h"
#include "runtime/base/mem.h"
#include "runtime/module/format.h"

enum { PATH_BYTES_MAX = 300 };
static const char HOST_DEFAULT[] = "http://127.0.0.1:8080";

static const char *host_of(const Args *args, int place) { return args->operand_count > place ? args->operands[place] : HOST_DEFAULT; }

// ---- reading answers --------------------------------------------------------------------------------

// Prints each member of an object that is a text, in order, with tabs between; false at the end of the array around it.
static bool print_row(JsonReader *reader, Arena *arena) {
  if (json_next(reader) != JSON_OBJECT) return false;
  const char *between = "";
  while (json_next(reader) == JSON_KEY) {
    bool is_worker = json_text_is(reader, STR("worker"));
    JsonEvent event = json_next(reader);
    Str text = reader->text;
    if (event == JSON_TEXT && json_text(reader, arena, &text) != ERR_NONE) return false;
    if (is_worker) printf("%sworker " STR_FMT, between, STR_ARG(text));
    else printf("%s" STR_FMT, between, STR_ARG(text));
    between = "\t";
  }
  printf("\n");
  return reader->event == JSON_OBJECT_END;
}

static void print_apps(Str body) {
  Arena arena;
  arena_init(&arena, 0);
  JsonReader reader;
  json_open(&reader, body);
  if (json_next(&reader) == JSON_OBJECT && json_next(&reader) == JSON_KEY && json_next(&reader) == JSON_ARRAY)
    while (print_row(&reader, &arena)) {}
  arena_free(&arena);
}

static ExitCode say_problem(const Answer *answer) {
  Arena arena;
  arena_init(&arena, 0);
  JsonReader reader;
  Str detail = {0};
  json_open(&reader, answer->body);
  if (json_next(&reader) == JSON_OBJECT) {
    while (json_next(&reader) == JSON_KEY) {
      bool is_detail = json_text_is(&reader, STR("detail"));
      if (is_detail && json_next(&reader) == JSON_TEXT && json_text(&reader, &arena, &detail) == ERR_NONE) continue;
      if (json_skip(&reader, NULL) != ERR_NONE) break;
    }
  }
  if (detail.len) cli_say("refused (%u): " STR_FMT, answer->status, STR_ARG(detail));
  else cli_say("the host answered %u", answer->status);
  arena_free(&arena);
  return answer->status >= 500 ? CLI_ENVIRONMENT : CLI_PROGRAM;
}

// ---- commands -----------------------------------------------------------------------------------------

static ExitCode ask(const char *method, const char *base, const char *path, Str body, Answer *answer) {
  ErrText text = {""};
  if (client_ask(method, base, path, body, answer, &text) != ERR_NONE) {
    cli_say("%s", text.text);
    return CLI_ENVIRONMENT;
  }
  if (answer->status < 300) return CLI_OK;
  ExitCode code = say_problem(answer);
  client_free(answer);
  return code;
}

static bool is_plain(Str name) {
  for (size_t i = 0; i < name.len; i++) {
    if (name.ptr[i] <= ' ' || strchr("/?#%\x7f", name.ptr[i]) || (unsigned char)name.ptr[i] > 126) return false;
  }
  return name.len > 0 && name.len < 200;
}

static ExitCode ask_about(const Args *args, const char *method, const char *verb, Answer *answer) {
  char path[PATH_BYTES_MAX];
  if (!is_plain(str_from(args->operand))) return cli_usage(args->command, "`%s` is no name of an app", args->operand);
  snprintf(path, sizeof path, "/_host/apps/%s%s%s", args->operand, *verb ? "/" : "", verb);
  return ask(method, host_of(args, 1), path, (Str){0}, answer);
}

static ExitCode change(const Args *args, const char *method, const char *verb, const char *done) {
  Answer answer;
  ExitCode code = ask_about(args, method, verb, &answer);
  if (code != CLI_OK) return code;
  printf("%s %s\n", done, args->operand);
  client_free(&answer);
  return CLI_OK;
}

static ExitCode put(const Args *args, Str module_bytes) {
  Arena arena;
  arena_init(&arena, 0);
  Module *module;
  ErrText text = {""};
  char path[PATH_BYTES_MAX];
  Answer answer;
  ExitCode code = CLI_PROGRAM;
  if (module_read(module_bytes, &arena, &module, &text) != ERR_NONE) {
    cli_say("%s: %s", args->operand, text.text);
  } else {
    snprintf(path, sizeof path, "/_host/apps/" STR_FMT, STR_ARG(module->name));
    code = ask("PUT", host_of(args, 1), path, module_bytes, &answer);
    if (code == CLI_OK) printf("%s " STR_FMT "\n", answer.status == 201 ? "installed" : "replaced", STR_ARG(module->name));
    if (code == CLI_OK) client_free(&answer);
  }
  arena_free(&arena);
  return code;
}

ExitCode cli_deploy(const Args *args) {
  Str bytes;
  ErrText text;
  if (file_read(args->operand, MODULE_BYTES_MAX, &bytes, &text) != ERR_NONE) {
    cli_say("%s", text.text);
    return CLI_ENVIRONMENT;
  }
  bool is_module = is_module_file(args->operand, bytes);
  ExitCode code = is_module ? put(args, bytes) : CLI_OK;
  mem_free((char *)bytes.ptr);
  if (is_module) return code;
  Program program;
  code = program_load(&program, args->operand, false, RENDER_HUMAN);
  if (code != CLI_OK) return code;
  code = put(args, program.compile.module_bytes);
  program_free(&program);
  return code;
}

ExitCode cli_apps(const Args *args) {
  Answer answer;
  ExitCode code = ask("GET", host_of(args, 0), "/_host/apps", (Str){0}, &answer);
  if (code != CLI_OK) return code;
  print_apps(answer.body);
  client_free(&answer);
  return CLI_OK;
}

ExitCode cli_logs(const Args *args) {
  Answer answer;
  ExitCode code = ask_about(args, "GET", "logs", &answer);
  if (code != CLI_OK) return code;
  fwrite(answer.body.ptr, 1, answer.body.len, stdout);
  client_free(&answer);
  return CLI_OK;
}

ExitCode cli_start(const Args *args) { return change(args, "POST", "start", "started"); }
ExitCode cli_stop(const Args *args) { return change(args, "POST", "stop", "stopped"); }
ExitCode cli_remove(const Args *args) { return change(args, "DELETE", "", "removed"); }
