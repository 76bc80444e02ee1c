// A module: all that the host needs to know of an app, from one file. Made by the compiler (or by a stranger: module_read
// trusts nothing) and never changed after.
//
// Owns:   module_read puts everything into the given arena; the struct and all below it live as long as that.
// Thread: any, read only.
// Limits: MODULE_*_MAX, those of type.h, schema.h, function.h.
#pragma once
#include "runtime/base/calendar.h"
#include "runtime/module/function.h"
#include "runtime/value/schema.h"

enum {
  MODULE_BYTES_MAX = 64 << 20, MODULE_ROLES_MAX = 64, MODULE_ENTRIES_MAX = 10000, ENTRY_PARAMS_MAX = 63, MODULE_HASH_BYTES = 32,
  MODULE_NAME_BYTES_MAX = 1000,    // of what has a name in the language; titles, hints and docs may be longer
  MODULE_ZONE_TRANSITIONS_MAX = 10000, FIELD_RULES_MAX = 1 << 20, MODULE_WORDS_MAX = 1 << 20,
};
static const uint16_t NO_FUNCTION = 0xFFFF;

typedef enum FaultKind {
#define FAULT(name, code, words, mend) FAULT_##name,
#include "runtime/module/faults.def"
#undef FAULT
  FAULT_KINDS
} FaultKind;
typedef enum BuiltinError {
#define BUILTIN_ERROR(name, aup_name, status, message) ERROR_##name,
#include "runtime/module/errors.def"
#undef BUILTIN_ERROR
  BUILTIN_ERROR_COUNT
} BuiltinError;

typedef struct Constant { TypeId type; Value value; } Constant;
typedef struct Hint { Str name, arguments; } Hint;                 // arguments: a JSON array
typedef struct Hints { uint16_t count; const Hint *items; Str doc; } Hints;  // doc: the `///` text

// Lower and upper limit, each a constant's index or NO_CONSTANT: of texts (code points), lists, sets and maps an int count, else the type's own value.
static const uint32_t NO_CONSTANT = 0xFFFFFFFF;
typedef struct Limits { uint32_t min, max; } Limits;

// Of a field of a record (`tag` NO_CASE) or of a case of an enum: its limits, checked wherever such a value is an argument
// (app/args.h), and its default, a constant or NO_CONSTANT, which module_read makes the field's `fallback`.
static const uint16_t NO_CASE = 0xFFFF;
typedef struct FieldRule { uint16_t owner, tag, field; Limits limits; uint32_t fallback; } FieldRule;

// What somebody was called before (`was`), and what may be lost (`drop`), for the planner of swaps. Who that is: `owner` is the
// index of a table, record, enum, entry …, `part` of its column, field, case or parameter, `field` of a case's field; else 0.
// `old` of a drop is the name that goes; a state value is a column of the state table.
typedef enum WordKind {
  WORD_TABLE, WORD_COLUMN, WORD_RECORD, WORD_FIELD, WORD_ENUM, WORD_CASE, WORD_CASE_FIELD, WORD_ENTRY, WORD_PARAM,
  WORD_OUTPUT, WORD_OUTPUT_FIELD, WORD_ERROR, WORD_ERROR_FIELD, WORD_ROLE, WORD_TIMER,
  WORD_DROP_TABLE, WORD_DROP_COLUMN, WORD_DROP_FIELD, WORD_DROP_CASE, WORD_KINDS
} WordKind;
typedef struct NameWord { uint8_t kind; uint16_t owner, part, field; Str old; } NameWord;

typedef struct ParamDef {
  Str name;
  TypeId type;
  uint16_t default_function;       // FUNCTION_DEFAULT without parameters, or NO_FUNCTION: required unless the type is optional
  Limits limits, item_limits;      // item_limits: reserved for limits of items
  Hints hints;
} ParamDef;

// Who may: everyone; or a token whose subject has one of the roles (bits); or, with neither, one with the read (view) or write (input) right.
typedef struct Access { bool everyone, signed_in; uint64_t roles; } Access;
typedef enum EntryKind { ENTRY_INPUT, ENTRY_VIEW, ENTRY_RECEIVE, ENTRY_KINDS } EntryKind;
typedef enum CostClass { COST_UNTOUCHED, COST_POINT, COST_ORDERED, COST_COUNTED, COST_SCAN, COST_CLASSES } CostClass;

// A view's result is `result`. When `paged` is not 0 the view is a list sent in pages of that many.
typedef struct EntryDef {
  uint8_t kind, cost;
  Str name;
  uint16_t function, param_count;
  const ParamDef *params;
  TypeId result;
  Access access;
  uint32_t paged;
  int64_t every_us;                // a view that reads `now`: how fresh; 0: it does not
  bool per_caller;                 // reads `caller`
  Hints hints;
} EntryDef;

typedef struct ErrorDef { Str name; uint16_t status, field_count; const FieldDef *fields; Str field; } ErrorDef;  // field: of @field(x), or empty
typedef struct RoleDef { Str name; uint16_t function; } RoleDef;                                                // NO_FUNCTION: from tokens
typedef struct ColumnMeta { uint16_t default_function; Limits limits; Hints hints; } ColumnMeta;                 // default: NO_FUNCTION: must be given
typedef struct ComputedDef { Str name; uint16_t function; Hints hints; } ComputedDef;                           // function(ref) gives it
typedef struct TableMeta {          // beside schema.tables, one each
  const ColumnMeta *columns;
  uint16_t check_function;         // (ref), rejects when a rule does not hold; or NO_FUNCTION
  uint16_t computed_count;
  const ComputedDef *computed;
  Hints hints;
} TableMeta;
typedef struct NamedFunction { Str name; uint16_t function; } NamedFunction;                                      // tests, invariants
typedef struct OutputDef { Str name; uint16_t field_count; const FieldDef *fields; Hints hints; } OutputDef;
typedef enum TimerKind { TIMER_EVERY, TIMER_DAILY, TIMER_ROWS, TIMER_EXPIRE, TIMER_KINDS } TimerKind;
// What a timer remembers stands in hidden columns. `kept` of EVERY and DAILY: of the state table, a time: the moment that its
// last run was for. ROWS: of `table`, time?: when the row is due, none when it is not; `tries`: of `table`, an int: its runs that
// faulted in a row; `begun`: of the state table, a bool: rows older than the timer are armed. Rows are found by an index
// that starts with `kept` (ROWS) or `column` (EXPIRE, whose key may start with it too).
typedef struct TimerDef {
  uint8_t kind;
  Str name;
  int64_t period_us, at_us;        // at_us: of DAILY, since midnight in the app's zone
  uint16_t table, column, function;
  uint16_t kept, tries, begun;     // SCHEMA_NO_COLUMN where the kind has none
} TimerDef;
typedef struct PageItem { Str word; uint16_t target_count; const Str *targets; Hints hints; } PageItem;
typedef struct PageDef { Str name, title; uint16_t item_count; const PageItem *items; Hints hints; } PageDef;
typedef struct SettingDef { Str name; TypeId type; uint16_t default_function; bool secret; Hints hints; } SettingDef;

typedef struct Module {
  Str name, title;
  Str compiler_version;            // as the file says
  Hints hints;
  Schema schema;
  Str schema_bytes;                // as encoded: for the store
  const TableMeta *table_meta;
  uint8_t hash[MODULE_HASH_BYTES], schema_hash[32];
  uint32_t constant_count;  const Constant *constants;
  uint16_t function_count;  const Function *functions;
  uint16_t entry_count;     const EntryDef *entries;     // inputs, views and receives, in order of the source
  uint16_t error_count;     const ErrorDef *errors;      // the built-in ones first
  uint16_t role_count;      const RoleDef *roles;
  uint16_t output_count;    const OutputDef *outputs;
  uint16_t timer_count;     const TimerDef *timers;
  uint16_t setting_count;   const SettingDef *settings;
  uint16_t page_count;      const PageDef *pages;
  uint16_t test_count;      const NamedFunction *tests;
  uint16_t always_count;    const NamedFunction *always;
  uint32_t field_rule_count;    const FieldRule *field_rules;
  bool limits_fields;                                    // some rule has a limit
  uint32_t word_count;          const NameWord *words;       // by kind, owner, part, field; the names of one in the order written
  uint16_t start_function;
  uint16_t file_count;      const Str *files;            // source names, for line tables
  Zone zone;                                             // the app's @zone; without a name: UTC
} Module;

// -1 when there is none.
int module_find_entry(const Module *module, EntryKind kind, Str name);
int module_find_role(const Module *module, Str name);
// The words of one (or the drops of a kind and owner, with `part` and `field` 0), and how many; NULL: none.
const NameWord *module_words(const Module *module, NameWord of, uint32_t *out_count);
int word_compare(const NameWord *a, const NameWord *b);  // the order of a module's words
// Each word is of something that is there, has a name, and they are in order; else which is the first that is not. Part of module_verify.
bool words_are_sound(const Module *module, uint32_t *out_which);
// File and line of an instruction, for faults.
typedef struct SourcePlace { Str file; uint32_t line; } SourcePlace;
SourcePlace function_place(const Module *module, const Function *function, uint32_t pc);
