// The modules to serve, from the operands of a command: modules, folders of them, and, in aup, sources, which are compiled.
//
// Owns:   a Modules owns what it holds until modules_free.
// Thread: the main one.
// Errors: said on standard error. One operand that cannot be served ends the command; of several, or in a folder, the others go on.
// Limits: MODULES_MAX.
#pragma once
#include "cli/hosting.h"

enum { MODULES_MAX = 10000 };

typedef struct Modules { HostedModule *items; int count, room; Arena arena; } Modules;

// Turns a source file into a module (mem_free); NULL: sources are not taken.
typedef ExitCode (*CompileSource)(const char *path, Str *out_module);

ExitCode modules_read(const Args *args, CompileSource compile, Modules *out_modules);
void modules_free(Modules *modules);
// modules_read, hosting_open, hosting_run, hosting_close.
ExitCode modules_serve(const Args *args, CompileSource compile);
