// Types are looked up by number, so almost everything here is a switch over the kind. The one piece of work is the
// check of a table that came from outside: it gives each type a depth and a width, round by round, each round settling
// the types whose parts are settled; what is not settled after TYPE_DEPTH_MAX rounds is too deep or contains itself.
// After that check, code that walks a value by its type may recurse, since the depth is known to be bounded.
#include "runtime/value/type.h"

#include <assert.h>

#include "runtime/base/buf.h"
#include "runtime/base/mem.h"

static const char *const KIND_WORDS[TYPE_KIND_COUNT] = {
#define TYPE(name, words, repr) [TYPE_##name] = words,
#include "runtime/value/types.def"
#undef TYPE
};
static const Repr KIND_REPRS[TYPE_KIND_COUNT] = {
#define TYPE(name, words, repr) [TYPE_##name] = REPR_##repr,
#include "runtime/value/types.def"
#undef TYPE
};

const char *type_kind_words(TypeKind kind) { return (unsigned)kind < TYPE_KIND_COUNT ? KIND_WORDS[kind] : "unknown"; }

TypeId type_of_key(const TypeTable *table, TypeId type) {
  for (uint32_t steps = 0; type_kind(table, type) == TYPE_REF; steps++) {
    assert(steps <= TYPE_DEPTH_MAX);
    type = table->table_keys[table->types[type].of];
  }
  return type;
}

Repr type_repr(const TypeTable *table, TypeId type) {
  if (type_kind(table, type) == TYPE_OPTIONAL) type = table->types[type].of;
  type = type_of_key(table, type);
  Type t = table->types[type];
  if (t.kind == TYPE_ENUM) return table->enums[t.of].plain ? REPR_I64 : REPR_PTR;
  assert(KIND_REPRS[t.kind] != REPR_OF);
  return KIND_REPRS[t.kind];
}

static bool fields_are_ordered(const TypeTable *table, const RecordDef *record) {
  for (uint32_t i = 0; i < record->field_count; i++)
    if (!type_is_ordered(table, record->fields[i].type)) return false;
  return true;
}

bool type_is_ordered(const TypeTable *table, TypeId type) {
  if (type >= table->count) return true;  // a part that the compiler could not make a type of: that was said, and is enough
  Type t = table->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID:
    case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION:
      return true;
    case TYPE_ENUM: return table->enums[t.of].plain;
    case TYPE_RECORD: return fields_are_ordered(table, &table->records[t.of]);
    case TYPE_OPTIONAL: return type_is_ordered(table, t.of);
    case TYPE_REF: return type_is_ordered(table, table->table_keys[t.of]);
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: case TYPE_KIND_COUNT: return false;
  }
  return false;
}

// ---- names ------------------------------------------------------------------------------------

static void write_record(const TypeTable *table, const RecordDef *record, Buf *out) {
  if (record->name.len) { buf_add_str(out, record->name); return; }
  buf_add_text(out, record->field_count ? "{ " : "{");
  for (uint32_t i = 0; i < record->field_count; i++) {
    if (i) buf_add_text(out, ", ");
    buf_add_str(out, record->fields[i].name);
    buf_add_text(out, ": ");
    type_write(table, record->fields[i].type, out);
  }
  buf_add_text(out, record->field_count ? " }" : "}");
}

static void write_around(const TypeTable *table, const char *before, TypeId inner, const char *after, Buf *out) {
  buf_add_text(out, before);
  type_write(table, inner, out);
  buf_add_text(out, after);
}

void type_write(const TypeTable *table, TypeId type, Buf *out) {
  if (type == TYPE_NONE) { buf_add_text(out, "nothing"); return; }
  Type t = table->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_DECIMAL: buf_add_format(out, "decimal(%u)", t.scale); return;
    case TYPE_ENUM: buf_add_str(out, table->enums[t.of].name); return;
    case TYPE_RECORD: write_record(table, &table->records[t.of], out); return;
    case TYPE_OPTIONAL: write_around(table, "", t.of, "?", out); return;
    case TYPE_LIST: write_around(table, "[", t.of, "]", out); return;
    case TYPE_SET: write_around(table, "set(", t.of, ")", out); return;
    case TYPE_MAP:
      write_around(table, "map(", t.of, ", ", out);
      write_around(table, "", t.to, ")", out);
      return;
    case TYPE_REF: buf_add_str(out, table->table_names[t.of]); return;
    case TYPE_BOOL: case TYPE_INT: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID:
    case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: case TYPE_KIND_COUNT:
      buf_add_text(out, type_kind_words((TypeKind)t.kind));
      return;
  }
}

// ---- the check --------------------------------------------------------------------------------

static Err check_fields(const TypeTable *table, uint32_t count, const FieldDef *fields, Str owner, ErrText *out_text) {
  if (count > FIELD_COUNT_MAX) return err_say(ERR_FORMAT, out_text, "\"" STR_FMT "\" has more than %d fields", STR_ARG(owner), FIELD_COUNT_MAX);
  for (uint32_t i = 0; i < count; i++)
    if (fields[i].type >= table->count)
      return err_say(ERR_FORMAT, out_text, "field \"" STR_FMT "\" of \"" STR_FMT "\" has no such type: %u", STR_ARG(fields[i].name), STR_ARG(owner), fields[i].type);
  return ERR_NONE;
}

static Err check_enum(const TypeTable *table, const EnumDef *def, ErrText *out_text) {
  if (def->case_count == 0) return err_say(ERR_FORMAT, out_text, "enum \"" STR_FMT "\" has no case", STR_ARG(def->name));
  if (def->case_count > CASE_COUNT_MAX) return err_say(ERR_FORMAT, out_text, "enum \"" STR_FMT "\" has more than %d cases", STR_ARG(def->name), CASE_COUNT_MAX);
  bool has_fields = false;
  for (uint32_t i = 0; i < def->case_count; i++) {
    TRY(check_fields(table, def->cases[i].field_count, def->cases[i].fields, def->name, out_text));
    has_fields |= def->cases[i].field_count > 0;
  }
  if (has_fields == def->plain) return err_say(ERR_FORMAT, out_text, "enum \"" STR_FMT "\" is wrongly marked as %s fields", STR_ARG(def->name), def->plain ? "without" : "with");
  return ERR_NONE;
}

static Err check_type(const TypeTable *table, TypeId id, ErrText *out_text) {
  Type t = table->types[id];
  switch ((TypeKind)t.kind) {
    case TYPE_BOOL: case TYPE_INT: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID:
    case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION:
      return ERR_NONE;
    case TYPE_DECIMAL:
      if (t.scale <= DECIMAL_SCALE_MAX) return ERR_NONE;
      return err_say(ERR_FORMAT, out_text, "type %u is a decimal of %u digits after the point, more than %d", id, t.scale, DECIMAL_SCALE_MAX);
    case TYPE_ENUM: if (t.of < table->enum_count) return ERR_NONE; break;
    case TYPE_RECORD: if (t.of < table->record_count) return ERR_NONE; break;
    case TYPE_REF: if (t.of < table->table_count) return ERR_NONE; break;
    case TYPE_OPTIONAL:
      if (t.of >= table->count) break;
      if (type_kind(table, t.of) != TYPE_OPTIONAL) return ERR_NONE;
      return err_say(ERR_FORMAT, out_text, "type %u is an optional in an optional", id);
    case TYPE_LIST: case TYPE_SET: if (t.of < table->count) return ERR_NONE; break;
    case TYPE_MAP: if (t.of < table->count && t.to < table->count) return ERR_NONE; break;
    case TYPE_KIND_COUNT: default: return err_say(ERR_FORMAT, out_text, "type %u is of no known kind: %u", id, t.kind);
  }
  return err_say(ERR_FORMAT, out_text, "type %u is made of something that is not there: %u", id, t.of);
}

static Err check_bounds(const TypeTable *table, ErrText *out_text) {
  if (table->count > TYPE_COUNT_MAX) return err_say(ERR_FORMAT, out_text, "more than %d types", TYPE_COUNT_MAX);
  for (uint32_t i = 0; i < table->count; i++) TRY(check_type(table, (TypeId)i, out_text));
  for (uint32_t i = 0; i < table->record_count; i++)
    TRY(check_fields(table, table->records[i].field_count, table->records[i].fields, table->records[i].name, out_text));
  for (uint32_t i = 0; i < table->enum_count; i++) TRY(check_enum(table, &table->enums[i], out_text));
  for (uint32_t i = 0; i < table->table_count; i++) {
    if (table->table_keys[i] >= table->count) return err_say(ERR_FORMAT, out_text, "the key of table \"" STR_FMT "\" has no such type: %u", STR_ARG(table->table_names[i]), table->table_keys[i]);
    if (type_kind(table, table->table_keys[i]) == TYPE_OPTIONAL) return err_say(ERR_FORMAT, out_text, "the key of table \"" STR_FMT "\" is an optional", STR_ARG(table->table_names[i]));
  }
  return ERR_NONE;
}

// What is known of each type in the course of the check. A width of 0: not settled yet.
typedef struct Extent { uint32_t width; } Extent;

static uint32_t width_sum(const Extent *extents, uint32_t count, const FieldDef *fields) {
  uint64_t sum = 1;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t width = extents[fields[i].type].width;
    if (width == 0) return 0;
    sum += width;
  }
  return sum > TYPE_WIDTH_MAX ? TYPE_WIDTH_MAX + 1 : (uint32_t)sum;
}

static uint32_t width_of_enum(const Extent *extents, const EnumDef *def) {
  uint64_t sum = 1;
  if (def->plain) return 1;
  for (uint32_t i = 0; i < def->case_count; i++) {
    uint32_t width = width_sum(extents, def->cases[i].field_count, def->cases[i].fields);
    if (width == 0) return 0;
    sum += width;
  }
  return sum > TYPE_WIDTH_MAX ? TYPE_WIDTH_MAX + 1 : (uint32_t)sum;
}

static uint32_t width_of_map(const Extent *extents, Type map) {
  FieldDef parts[2] = {{.type = map.of}, {.type = map.to}};
  return width_sum(extents, 2, parts);
}

// The parts of the type, each as often as it would be written; 0 while one of them is not settled. It bounds what a
// walk over a type costs, and the values in a record that is all zeros.
static uint32_t width_of(const TypeTable *table, const Extent *extents, TypeId id) {
  Type t = table->types[id];
  switch ((TypeKind)t.kind) {
    case TYPE_RECORD: return width_sum(extents, table->records[t.of].field_count, table->records[t.of].fields);
    case TYPE_ENUM: return width_of_enum(extents, &table->enums[t.of]);
    case TYPE_REF: return extents[table->table_keys[t.of]].width;
    case TYPE_OPTIONAL: case TYPE_LIST: case TYPE_SET: return extents[t.of].width;
    case TYPE_MAP: return width_of_map(extents, t);
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID:
    case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: case TYPE_KIND_COUNT:
      return 1;
  }
  return 1;
}

// One round may settle only from what earlier rounds settled, so that the number of rounds is the depth.
static uint32_t settle_round(const TypeTable *table, Extent *extents, Extent *next) {
  uint32_t open = 0;
  for (uint32_t i = 0; i < table->count; i++) {
    next[i].width = extents[i].width ? extents[i].width : width_of(table, extents, (TypeId)i);
    open += next[i].width == 0;
  }
  for (uint32_t i = 0; i < table->count; i++) extents[i] = next[i];
  return open;
}

static Err check_extents(const TypeTable *table, Extent *extents, ErrText *out_text) {
  uint32_t open = table->count;
  for (uint32_t round = 0; open > 0 && round < TYPE_DEPTH_MAX; round++) open = settle_round(table, extents, extents + table->count);
  for (uint32_t i = 0; i < table->count; i++) {
    if (extents[i].width == 0) return err_say(ERR_FORMAT, out_text, "type %u contains itself or is more than %d types deep", i, TYPE_DEPTH_MAX);
    if (extents[i].width > TYPE_WIDTH_MAX) return err_say(ERR_FORMAT, out_text, "type %u has more than %d parts", i, TYPE_WIDTH_MAX);
  }
  return ERR_NONE;
}

Err type_check_table(const TypeTable *table, ErrText *out_text) {
  TRY(check_bounds(table, out_text));
  Extent *extents = mem_alloc_zero(2 * (size_t)table->count + 1, sizeof *extents);
  if (!extents) return err_say(ERR_MEMORY, out_text, "out of memory");
  Err err = check_extents(table, extents, out_text);
  mem_free(extents);
  return err;
}
