// The message for a token that does not fit: what was found, what may stand there, and what was probably meant.
//
// Owns:   nothing.
// Thread: one at a time.
#pragma once
#include "compiler/syntax/build.h"

// Reports the token that the automaton does not take; the automaton stands before it.
void expect_report(Parser *p, Token token);
