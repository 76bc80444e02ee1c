// A program compiled for a command: the source is read from its file, what it uses from beside it, and what the compiler
// has to say is shown.
//
// Owns:   a Program owns its Compile until program_free.
// Thread: one at a time.
// Errors: said on standard error; CLI_PROGRAM when the program has errors, CLI_ENVIRONMENT when its file cannot be read.
// Limits: SOURCE_BYTES_MAX and SOURCES_MAX of compiler/source.h.
#pragma once
#include "cli/args.h"
#include "cli/files.h"
#include "compiler/compile.h"
#include "compiler/render.h"

typedef struct Program {
  Compile compile;
  const char *path;   // of its first source
  Str bytes;          // of that, as read
} Program;

// Reads and compiles; nothing is shown yet. With CLI_OK or CLI_PROGRAM there is something to show and to free.
ExitCode program_compile(Program *program, const char *path, bool with_tests);
// The messages: for people (human, short) on standard error, for machines on standard output.
void program_show(const Program *program, RenderFormat format);
void program_free(Program *program);
// The form that --message-format asks for. False: there is none of that name, which was said.
bool program_format(const Args *args, RenderFormat *out_format);
// program_compile and program_show. Anything but CLI_OK: nothing is left to free.
ExitCode program_load(Program *program, const char *path, bool with_tests, RenderFormat format);

// Is it a module file, by its first bytes or its name?
bool is_module_file(const char *path, Str bytes);