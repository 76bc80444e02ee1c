// Around the compiler, which itself reads no file and prints nothing.
#include "cli/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/mem.h"

bool is_module_file(const char *path, Str bytes) {
  size_t len = strlen(path);
  return str_starts(bytes, STR("AUPM")) || (len > 5 && strcmp(path + len - 5, ".aupm") == 0);
}

// The first source was read already: a file that is not there is the caller's matter, not a mistake in a program. The
// compiler has put the folder of the using file in front of what `use` names.
static Err read_source(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text) {
  const Program *program = context;
  if (str_is(path, program->path)) {
    *out_bytes = program->bytes;
    return ERR_NONE;
  }
  Str name = arena_copy(arena, path), bytes;  // with a zero byte behind it
  if (!name.ptr) return err_say(ERR_MEMORY, out_text, "no memory");
  TRY(file_read_start(name.ptr, SOURCE_BYTES_MAX, &bytes, out_text));
  *out_bytes = arena_copy(arena, bytes);
  mem_free((char *)bytes.ptr);
  return out_bytes->ptr ? ERR_NONE : err_say(ERR_MEMORY, out_text, "no memory");
}

ExitCode program_compile(Program *program, const char *path, bool with_tests) {
  *program = (Program){.path = path};
  ErrText text;
  if (file_read_start(path, SOURCE_BYTES_MAX, &program->bytes, &text) != ERR_NONE) {
    cli_say("%s", text.text);
    return CLI_ENVIRONMENT;
  }
  compile_run(&program->compile, str_from(path), &(CompileOptions){.read_file = read_source, .context = program, .with_tests = with_tests});
  return program->compile.module_bytes.ptr ? CLI_OK : CLI_PROGRAM;
}

void program_free(Program *program) {
  compile_free(&program->compile);
  mem_free((char *)program->bytes.ptr);
}

static bool wants_colour(int fd) {
  const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
  return isatty(fd) && !(no_colour && *no_colour) && !(terminal && strcmp(terminal, "dumb") == 0);
}

void program_show(const Program *program, RenderFormat format) {
  const Compile *compile = &program->compile;
  bool for_people = format == RENDER_HUMAN || format == RENDER_SHORT;
  Buf out;
  buf_init(&out, 0);
  render_diags(&compile->diags, &compile->sources, format, for_people && wants_colour(STDERR_FILENO), &out);
  if (out.len) fwrite(out.ptr, 1, out.len, for_people ? stderr : stdout);
  bool failed = out.failed || compile->diags.failed;
  buf_free(&out);
  if (failed) cli_say("no memory left to compile %s", program->path);
}

bool program_format(const Args *args, RenderFormat *out_format) {
  const char *name = args->values[OPTION_MESSAGE_FORMAT];
  *out_format = RENDER_HUMAN;
  if (!name || render_find_format(str_from(name), out_format)) return true;
  cli_usage(args->command, "there is no message format `%s`: take human, short, json, github or sarif", name);
  return false;
}

ExitCode program_load(Program *program, const char *path, bool with_tests, RenderFormat format) {
  ExitCode code = program_compile(program, path, with_tests);
  if (code == CLI_ENVIRONMENT) return code;
  program_show(program, format);
  if (code != CLI_OK) program_free(program);
  return code;
}
