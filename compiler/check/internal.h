// What the files of the checker share. The phases, in order: declare.c, named.c, tables.c, signatures.c, indexes.c; body.c
// with expr.c and its neighbours; effects.c; assemble.c.
//
// Owns:   nothing; all memory is in the compile's arena.
// Thread: one at a time.
// Errors: reported to the DiagList.
#pragma once
#include "compiler/check/lower.h"

// ---- declare.c --------------------------------------------------------------------------------
void declare_all(Check *check);
// The number in the space's array, or MAP_NOTHING.
static inline uint32_t space_find(const Check *check, Space space, Sym sym) {
  return sym < check->sym_count && check->spaces[space][sym] ? check->spaces[space][sym] - 1 : MAP_NOTHING;
}
Fn *fn_new(Check *check, FunctionKind kind, const Decl *decl, Name name);
ErrorInfo *error_find(Check *check, Sym sym, uint16_t *out_index);  // built-in ones too (then NULL, with the index); index 0xFFFF: none

typedef enum Owner { OWNER_RECORD, OWNER_ENUM, OWNER_COLUMN, OWNER_COMPUTED, OWNER_CASE } Owner;
static inline uint32_t owner_number(Owner kind, uint32_t index) { return (uint32_t)kind << 28 | index; }
uint32_t member_find(const Check *check, Owner kind, uint32_t owner, Sym sym);  // MAP_NOTHING
bool member_add(Check *check, Owner kind, uint32_t owner, Sym sym, uint32_t number);

// ---- named.c: types as they are written -------------------------------------------------------
void named_resolve_all(Check *check);
TypeId type_resolve(Check *check, const TypeExpr *written);
Str type_name(Check *check, TypeId type);          // as a person writes it
const char *type_article(Str name);                // "a " or "an "
Limits limits_of(Check *check, const Field *field, TypeId type);
NamedType *named_find(Check *check, Sym sym);

enum { ENUM_FIELD_CASES_MAX = 256 };               // the cases that may have fields: their numbers stand in one byte of an instruction

// ---- fields.c: defaults and limits of fields of records and cases -----------------------------
void fields_settle(Check *check);                  // of all types that are there by now
const FieldRule *field_rule(Check *check, FieldRule of);  // `of`: owner, tag, field; NULL: it has none
HExpr *field_default(Check *check, FieldRule of, const Field *field, TypeId type, Span span);  // NULL: it must be given
bool constant_value(Check *check, const HExpr *a, Value *out);
Fn *case_maker(Check *check, uint16_t number, uint16_t tag);  // NULL: the case has no limits
void maker_body(Check *check, Fn *fn);
static inline bool limits_any(Limits limits) { return limits.min != NO_CONSTANT || limits.max != NO_CONSTANT; }

// ---- tables.c ---------------------------------------------------------------------------------
void tables_declare(Check *check);                 // numbers and references
void tables_columns(Check *check);                 // columns, keys, computed fields
void tables_indexes(Check *check);                 // indexes, unique rules, hidden columns
TableInfo *table_find(Check *check, Sym sym);
TableInfo *table_of(Check *check, TypeId ref);
uint32_t column_find(const Check *check, const TableInfo *table, Sym sym);    // MAP_NOTHING
ComputedInfo *computed_find(const Check *check, const TableInfo *table, Sym sym);
ColumnInfo *table__add_column(Check *check, TableInfo *table);
IndexInfo *table__add_index(Check *check, TableInfo *table, uint32_t column_count);

// ---- signatures.c -----------------------------------------------------------------------------
void signatures_all(Check *check);
void insert_signatures(Check *check);
Fn *default_fn(Check *check, const Decl *decl, const Field *field, TypeId type);

// ---- effects.c, assemble.c, hints.c -----------------------------------------------------------
void effects_all(Check *check);                    // order of functions, E108, E301, E302
void check_effects(Check *check, Fn *fn);
void check_outside(Check *check);                  // headers, hints, pages
void assemble_module(Check *check);
void words_fill(Check *check, Module *module);     // words.c: `was` and `drop`
void words_check(Check *check);                    // E104 where what is dropped is still there
void pages_check(Check *check);                    // pages.c
void pages_fill(Check *check, Module *module);
Hints hints_of(Check *check, const AnnotList *annots, const Doc *doc);
const Annot *annot_find(Check *check, const AnnotList *annots, const char *name);
void hints_check_say(Check *check);
bool const_int(Check *check, const Expr *expr, TypeId type, int64_t *out);         // a constant int or duration; E215

// ---- near names -------------------------------------------------------------------------------
// Each adds the help "did you mean `x`?" when something is near enough.
void near_space(Check *check, Diag *diag, Space space, Sym wanted);
void near_columns(Check *check, Diag *diag, const TableInfo *table, Name wanted);
void near_syms(Check *check, Diag *diag, Name wanted, const Sym *names, uint32_t count);
void near_texts(Check *check, Diag *diag, Name wanted, const char *const *names, size_t count);
void near_values(Check *check, Diag *diag, Name wanted, bool functions);  // locals, columns of self, values or functions, builtins
