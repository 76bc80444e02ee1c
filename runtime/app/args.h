// From what a client sent to typed arguments: every bad one is found at once, none reaches the app.
//
//   POST body: one JSON object; a member a parameter. Unknown and doubled members are refused.
//   GET query: name=value pairs (decoded); a list's items by repetition; scalars in text form, the rest as JSON text.
//
// A parameter that is absent (or null where its type is no optional) and has a default or an optional type is left out of
// `given`; the app fills it when it runs. Limits of the parameters are checked here for what was given.
//
// Owns:   values live in the arena; texts may point into the input.
// Thread: any.
// Errors: ERR_FORMAT: `problems` says what is wrong with which.
#pragma once
#include "runtime/module/module.h"
#include "runtime/value/json_value.h"

typedef struct Args { uint64_t given; Value *values; } Args;
typedef struct ArgPair { Str name, value; } ArgPair;

MUST_USE Err args_read_json(const Module *module, const EntryDef *entry, Str body, ValueProblems *problems, Args *out_args);
MUST_USE Err args_read_pairs(const Module *module, const EntryDef *entry, const ArgPair *pairs, uint32_t count, ValueProblems *problems, Args *out_args);
// Adds a problem when the value, or a field of a record in it, is below or above its limits. `path` names it.
bool limits_check(const Module *module, TypeId type, Limits limits, Value value, Str path, ValueProblems *problems);
