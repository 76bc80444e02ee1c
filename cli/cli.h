// The commands: each takes its arguments, does its work, and gives what the program ends with.
//
// Owns: nothing. Thread: the main one. Errors: said on standard error.
#pragma once
#include "cli/args.h"

#define COMMAND(id, name, operands, function, words) ExitCode function(const Args *args);
#include "cli/commands.def"
#undef COMMAND
