// The state of a check: what is declared, and the body that is being checked, with its locals, scopes and facts.
//
// Owns:   nothing; all memory is in the compile's arena.
// Thread: one at a time.
// Errors: `failed` when memory ran out; every phase then stops.
#pragma once
#include "compiler/check/declared.h"

typedef struct Body Body;
typedef struct QueryScope QueryScope;

// ---- bodies -----------------------------------------------------------------------------------
typedef enum LocalKind { LOCAL_PARAM, LOCAL_LET, LOCAL_VAR, LOCAL_ROW, LOCAL_WITH, LOCAL_KEY, LOCAL_HIDDEN } LocalKind;
typedef struct LocalInfo {
  HLocal h;
  Sym sym;
  LocalKind kind;
  bool used, quiet, is_grouped;   // quiet: no warning when it is not used; grouped: it stands for many rows now
  uint16_t param;
  QueryScope *query;              // of ROW, WITH, KEY
} LocalInfo;

typedef struct Binding { Sym sym; uint32_t before, hidden; } Binding;  // what `binding[sym]` was before, and while another body is checked

// `path` is known not to be none.
typedef struct Fact { const HExpr *path; bool dead; } Fact;

struct QueryScope {
  QueryScope *outer;
  HClause *group;         // the last `group by`, whose aggregates may still grow
  bool lifted, touched;   // in an aggregate's argument; it used a row of the group
  bool no_frames;         // in skip and take: its rows are not known
  bool has_position;      // position() may stand here
};

struct Body {
  Body *outer;
  Fn *fn;
  uint32_t local_base, binding_base, fact_base;
  TypeId result;          // TYPE_NONE: none, or not known yet
  Span result_span;
  bool result_known, has_return, in_test, keys_as_refs, caller_set;
  LocalId self;
  QueryScope *query;
  uint32_t loop_depth;
};

// Why a place wants its type, for the label of E201: "the parameter `x` is an int".
typedef struct Why { const char *what; Sym name; Span span; } Why;

struct Check {
  Ast *ast;
  Arena *arena;
  DiagList *diags;
  const Sources *sources;
  HProgram *program;
  TypeBuilder types;
  uint32_t sym_count;
  uint32_t *spaces[SPACE_COUNT];
  Map members;            // (kind and number of the owner, sym) -> number of field, case, column or computed field
  Map said;               // what is unknown and was said: (code and owner, sym)
  LIST_OF(ValueDecl) values;
  LIST_OF(NamedType) named;
  LIST_OF(TableInfo *) tables;
  LIST_OF(Fn *) functions;
  LIST_OF(Fn *) entries;
  LIST_OF(ErrorInfo) errors;
  LIST_OF(RoleInfo) roles;
  LIST_OF(OutputInfo) outputs;
  LIST_OF(SettingInfo) settings;
  LIST_OF(TimerInfo) timers;
  LIST_OF(const Decl *) pages;
  LIST_OF(FnRef) tests;
  LIST_OF(FnRef) always;
  LIST_OF(FieldRule) field_rules;
  LIST_OF(const Decl *) drops;
  Map rule_numbers;       // owner, tag and field -> number of the field_rule
  Map makers;             // enum and case -> number of the function that makes it
  uint32_t settled_enums;
  Fn *start;
  const Decl *app;
  uint16_t outbox_counter;  // column of the state table
  bool issues_tokens;       // somewhere
  // bodies
  Body *body;
  uint32_t *binding;      // by sym: local of the current body + 1
  LIST_OF(LocalInfo) locals;
  LIST_OF(Binding) bindings;
  LIST_OF(Fact) facts;
  uint32_t depth;
  uint32_t type_depth, case_owners;
  bool failed, has_roles, said_depth, with_tests;
  // words that are looked for
  Sym simple[ID_SIMPLE_COUNT];
  struct { Sym self, caller, now, everyone, signed_in, forbidden, decimal, set, map, count, count_if, sender; } word;
};

void *check__list_add(Check *check, void *items, uint32_t *count, uint32_t *room, size_t size);
// Is this the first time that `sym` was not found in `owner` (a number that means something with the code)?
bool check__first_time(Check *check, DiagCode code, uint32_t owner, Sym sym);
// Cleared memory; NULL sets `failed`.
void *check__alloc(Check *check, size_t count, size_t size);
#define CHECK_NEW(check, T) ((T *)check__alloc((check), 1, sizeof(T)))
#define CHECK_ARRAY(check, T, count) ((T *)check__alloc((check), (count), sizeof(T)))
static inline Str sym_str(const Check *check, Sym sym) { return ast_str(check->ast, sym); }
#define SYM_ARG(check, sym) STR_ARG(sym_str((check), (sym)))
