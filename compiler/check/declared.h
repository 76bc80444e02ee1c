// What a program declares, as the checker keeps it: values and functions, types, tables, errors, roles, outputs, timers.
// Filled by declare.c, named.c, tables.c, indexes.c and signatures.c, read by all later phases.
//
// Owns:   nothing; all memory is in the compile's arena.
// Thread: one at a time.
// Errors: what is wrong has the type ID_POISON.
// Limits: those of module.h and schema.h.
#pragma once
#include "compiler/check/check.h"
#include "compiler/check/map.h"
#include "compiler/check/types.h"

typedef struct Check Check;
typedef struct Fn Fn;
typedef struct TableInfo TableInfo;

// ---- declared things --------------------------------------------------------------------------
// Each space maps a Sym to a number in its array, + 1; 0: not declared.
typedef enum Space { SPACE_VALUE, SPACE_TYPE, SPACE_ERROR, SPACE_ROLE, SPACE_OUTPUT, SPACE_TIMER, SPACE_PAGE, SPACE_COUNT } Space;

typedef enum ValueKind { VALUE_STATE, VALUE_SETTING, VALUE_FUNCTION } ValueKind;
typedef struct ValueDecl { ValueKind kind; uint32_t index; Span span; Fn *fn; } ValueDecl;  // index: column of the state table, setting

typedef enum NamedKind { NAMED_ALIAS, NAMED_ENUM, NAMED_RECORD, NAMED_TABLE } NamedKind;
typedef enum Progress { PROGRESS_NEW, PROGRESS_BUSY, PROGRESS_DONE } Progress;
typedef struct NamedType {
  NamedKind kind;
  Progress progress;
  const Decl *decl;
  TypeId type;
  TableInfo *table;
  const Mod *min, *max;  // of an alias
} NamedType;

typedef struct Param {
  Sym sym;
  Span span;
  TypeId type;
  const Field *field;    // NULL: made by the checker
  Fn *initial;           // FUNCTION_DEFAULT, or NULL
  HExpr *fallback;       // the default of a case's field, or NULL
  Limits limits;
} Param;

typedef struct Call { Fn *to; Span span; } Call;
enum { OWN_EFFECTS = 5 };  // bits of EFFECT_*

// A function: declared, or made for a default, a computed field, a role … How its body is made depends on what is set.
struct Fn {
  HFunction h;           // first: an HFunction of the checker is an Fn
  const Decl *decl;      // the declaration it is or stands in
  Sym sym;               // its name, or what it is the default of; 0: none
  Span name_span;
  Progress progress;
  bool used, result_known, is_entry;
  uint32_t param_count;
  Param *params;
  const Expr *value;     // one of value, block; neither: `rules` of the table
  const StmtBlock *block;
  TableInfo *self;       // names of its columns are values in the body
  bool self_is_params;   // its parameters are the columns of a row that is not there yet
  bool makes_case;       // it makes the case `case_tag` of its result, whose fields have limits
  uint16_t case_tag;
  uint16_t entry;        // when is_entry
  uint32_t call_count, call_room;
  Call *calls;
  uint8_t own_effects, total_effects;
  Span effect_spans[OWN_EFFECTS];  // where each own effect is first
  const char *effect_words[OWN_EFFECTS];
  Fn *next_on_path;      // for the chain of a message
  uint32_t order_mark, depth;
};

typedef struct ColumnInfo {
  Sym sym;
  Span span;
  const Field *field;    // NULL: made by the checker
  TypeId type;
  OnDelete on_delete;
  bool hidden, is_key, is_auto;
  Fn *initial;           // default
  Limits limits;
  Fn *computed;          // hidden: gives its value
  Str name, was;         // hidden, of kept.c
  uint32_t follows;      // hidden: the field + 1 of whose time it is the due time (kept.c); `tries` is the column beside it
  uint16_t tries;
  uint32_t setting;      // hidden: the setting + 1 whose value it is
} ColumnInfo;
typedef struct ComputedInfo { Sym sym; Span span; const TableItem *item; TypeId type; Fn *fn; uint32_t hidden; } ComputedInfo;  // hidden: column + 1
typedef struct IndexInfo { uint32_t column_count; IndexColumn *columns; bool unique; uint16_t condition; Span span; } IndexInfo;
struct TableInfo {
  uint16_t id;           // in the schema
  Sym sym;
  const Decl *decl;      // NULL: the state table
  Str name;
  TypeId ref, key_type;
  Progress key_progress;
  uint32_t column_count, column_room, computed_count, index_count, index_room, key_count;
  ColumnInfo *columns;
  ComputedInfo *computed;
  IndexInfo *indexes;
  uint16_t *key;
  bool auto_key, has_hidden, has_watch;  // has_watch: some column `follows` another
  uint16_t auto_column;
  uint64_t rows_max;
  int64_t key_bytes;     // at most; 0: not known yet
  Fn *rules;             // the check function, or NULL
  Fn *insert;            // with hidden columns: makes a row from the others
};

typedef struct ErrorInfo { Sym sym; const Decl *decl; Param *params; uint32_t param_count; uint16_t status; Sym field; bool used; FieldDef *fields; Fn *message; } ErrorInfo;
typedef struct RoleInfo { Sym sym; Span span; const Decl *decl; Fn *fn; } RoleInfo;
typedef struct OutputInfo { Sym sym; const Decl *decl; Param *params; uint32_t param_count; FieldDef *fields; TypeId record; bool used; } OutputInfo;
typedef struct SettingInfo { Sym sym; const Field *field; TypeId type; Fn *initial; Limits limits; uint16_t column; } SettingInfo;  // column: of the state table
typedef struct TimerInfo { Sym sym; Str name; const Decl *decl; uint8_t kind; int64_t period_us, at_us; TableInfo *table; uint16_t column, kept, tries, begun; Fn *fn; } TimerInfo;
typedef struct FnRef { const Decl *decl; Fn *fn; Str name; bool of_doc; } FnRef;  // of_doc: a test of the lines `/// > …` above decl

// A growing array in the arena.
#define LIST_OF(T) struct { T *items; uint32_t count, room; }
// Room for one more at the end, cleared; NULL without memory (then `check->failed`).
#define LIST_ADD(check, list) ((__typeof__((list)->items))check__list_add((check), &(list)->items, &(list)->count, &(list)->room, sizeof *(list)->items))
