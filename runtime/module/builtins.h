// The functions of builtins.def: their numbers, names and parsed signatures, and the match of a signature against the
// types of arguments. Checker and verifier ask here; the machine runs those that are not forms.
//
// A signature's types are *patterns*: small trees of SigNodes, whose variables stand for the types that a match
// finds. Parsing takes well under a microsecond, so there is no table in memory; who matches many calls parses once
// into its own array (builtin_signature) and uses builtin_unify.
//
// Owns:   nothing; the texts are constants of the program.
// Thread: any.
// Limits: BUILTIN_PARAMS_MAX, BUILTIN_NODES_MAX (a unit test parses every line of the table).
#pragma once
#include "runtime/value/type.h"

// OP_BUILTIN names the first kind by number; forms follow.
typedef enum BuiltinId {
#define BUILTIN(name, aup_name, signature, fuel, words) BUILTIN_##name,
#define FORM(name, aup_name, signature, words)
#include "runtime/module/builtins.def"
#undef BUILTIN
#undef FORM
  BUILTIN_COUNT_,
  FORM_BEFORE_FIRST_ = BUILTIN_COUNT_ - 1,
#define BUILTIN(name, aup_name, signature, fuel, words)
#define FORM(name, aup_name, signature, words) FORM_##name,
#include "runtime/module/builtins.def"
#undef BUILTIN
#undef FORM
  BUILTIN_AND_FORM_COUNT_
} BuiltinId;

typedef struct BuiltinInfo { const char *name, *signature, *words; uint8_t fuel; bool is_form; } BuiltinInfo;
const BuiltinInfo *builtin_info(BuiltinId id);
// The next builtin or form of that name after `after` (-1: the first); -1 when there is none. A name can have several.
int builtin_find(Str name, int after);

enum { BUILTIN_PARAMS_MAX = 4, BUILTIN_NODES_MAX = 16 };

// Names keep clear of those of compiler/syntax/ast.h, whose PatternKind is another.
typedef enum SigKind {
  SIG_TYPE,                                       // the kind `type`
  SIG_OPTIONAL, SIG_LIST, SIG_SET, SIG_MAP,  // of `of` (a node), MAP to `to`
  SIG_DECIMAL, SIG_ANY, SIG_VALUE, SIG_NUMBER, SIG_ORDERED,  // the variables D, T, V, N, O
  SIG_LITERAL,                                    // `s`: an int literal
  SIG_ROLE, SIG_RANGE,                        // of forms: a role's name, a range
} SigKind;
enum { SIG_VARIABLES = 5 };                       // SIG_DECIMAL … SIG_ORDERED

typedef struct SigNode { uint8_t kind, type, of, to; } SigNode;
typedef struct BuiltinParam { Str name; uint8_t node; bool has_default; Str default_text; } BuiltinParam;  // `" "`, `1`: as aup writes it
typedef struct BuiltinSignature {
  uint8_t param_count, required_count, result, node_count;
  BuiltinParam params[BUILTIN_PARAMS_MAX];
  SigNode nodes[BUILTIN_NODES_MAX];
} BuiltinSignature;

// What each variable stands for (by SigKind - SIG_DECIMAL), or TYPE_NONE.
typedef struct BuiltinBinding { TypeId types[SIG_VARIABLES]; } BuiltinBinding;

void builtin_signature(BuiltinId id, BuiltinSignature *out);
// Do `count` arguments of these types fit the first `count` parameters (those behind must have defaults)? A parameter that
// is a LITERAL, ROLE or RANGE fits any type here: the compiler looks at the argument itself. On false `*out_bad` (may be
// NULL) is the number of the first argument that does not fit, or `count` when the number is wrong.
bool builtin_unify(const TypeTable *types, const BuiltinSignature *signature, const TypeId *args, uint32_t count, BuiltinBinding *out, uint32_t *out_bad);
// Is `result` the type that the signature gives under the binding?
bool builtin_result_is(const TypeTable *types, const BuiltinSignature *signature, const BuiltinBinding *binding, TypeId result);
// The result's type, made through `intern`, which gives the number of a type (of the parts first).
typedef TypeId (*BuiltinIntern)(void *context, Type type);
TypeId builtin_result(const BuiltinSignature *signature, const BuiltinBinding *binding, BuiltinIntern intern, void *context);

// All in one for a single call, all parameters given: is it well typed, with this result?
bool builtin_match(const TypeTable *types, BuiltinId id, const TypeId *args, uint32_t count, TypeId result);
