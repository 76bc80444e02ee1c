// A VmHost for modules that nobody looked at: every value it gives is a zero, every row stands, every query has a few
// frames and runs all its blocks. For random and mutated modules.
//
// Owns:   nothing.
// Thread: any.
#pragma once
#include "runtime/vm/vm.h"

extern const VmHost ZERO_HOST;

// Runs every function of a verified module on zeros, with this much fuel and 1 MiB each, in slices. Gives how many ended as done.
uint32_t zero_run_all(const Module *module, uint64_t fuel, uint64_t slice);
