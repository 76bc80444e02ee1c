// Tables: their columns, keys and references. Table 0 holds the app's state values and the counters of `auto` keys, so
// that rows, values and counters are saved and undone by the same code (schema.h). Names that no app can write start with
// `~`. Indexes and what they need are in indexes.c.
#include "compiler/check/internal.h"

#include <assert.h>

TableInfo *table_find(Check *check, Sym sym) {
  NamedType *named = named_find(check, sym);
  return named && named->kind == NAMED_TABLE ? named->table : NULL;
}

TableInfo *table_of(Check *check, TypeId ref) {
  return types_is(&check->types, ref, TYPE_REF) ? check->tables.items[types_of(&check->types, ref)] : NULL;
}

uint32_t column_find(const Check *check, const TableInfo *table, Sym sym) { return member_find(check, OWNER_COLUMN, table->id, sym); }

ComputedInfo *computed_find(const Check *check, const TableInfo *table, Sym sym) {
  uint32_t number = member_find(check, OWNER_COMPUTED, table->id, sym);
  return number == MAP_NOTHING ? NULL : &table->computed[number];
}

ColumnInfo *table__add_column(Check *check, TableInfo *table) {
  ColumnInfo *column = check__list_add(check, &table->columns, &table->column_count, &table->column_room, sizeof *column);
  if (column) *column = (ColumnInfo){.type = ID_POISON, .limits = {NO_CONSTANT, NO_CONSTANT}};
  return column;
}

IndexInfo *table__add_index(Check *check, TableInfo *table, uint32_t column_count) {
  IndexInfo *index = check__list_add(check, &table->indexes, &table->index_count, &table->index_room, sizeof *index);
  if (!index) return NULL;
  *index = (IndexInfo){.column_count = column_count, .columns = CHECK_ARRAY(check, IndexColumn, column_count), .condition = SCHEMA_NO_COLUMN};
  return index->columns ? index : NULL;
}

// ---- numbers ----------------------------------------------------------------------------------

static TableInfo *new_table(Check *check, const Decl *decl, Str name) {
  TableInfo *table = CHECK_NEW(check, TableInfo), **slot = LIST_ADD(check, &check->tables);
  if (!table || !slot) return NULL;
  *table = (TableInfo){.id = (uint16_t)(check->tables.count - 1), .decl = decl, .name = name, .ref = ID_POISON, .key_type = ID_INT};
  if (decl) table->sym = decl->name.sym;
  return *slot = table;
}

void tables_declare(Check *check) {
  new_table(check, NULL, STR("~state"));
  for (uint32_t i = 0; i < check->named.count; i++) {
    NamedType *named = &check->named.items[i];
    if (named->kind != NAMED_TABLE) continue;
    if (check->tables.count >= SCHEMA_TABLES_MAX - KEPT_TABLES_MAX) {
      diag_add(check->diags, DIAG_E026, named->decl->name.span, "an app has at most %d tables (SCHEMA_TABLES_MAX less those that its host keeps)", SCHEMA_TABLES_MAX - KEPT_TABLES_MAX - 1);
      break;
    }
    named->table = new_table(check, named->decl, sym_str(check, named->decl->name.sym));
  }
  uint32_t count = check->tables.count;
  TypeId *keys = CHECK_ARRAY(check, TypeId, count + KEPT_TABLES_MAX);  // kept.c adds its own at the end
  Str *names = CHECK_ARRAY(check, Str, count + KEPT_TABLES_MAX);
  if (!keys || !names) return;
  for (uint32_t i = 0; i < count; i++) {
    keys[i] = ID_INT;  // until it is known
    names[i] = check->tables.items[i]->name;
  }
  check->types.table.table_keys = keys;
  check->types.table.table_names = names;
  check->types.table.table_count = (uint16_t)count;
  for (uint32_t i = 1; i < count; i++) check->tables.items[i]->ref = types_ref(&check->types, i);
}

// ---- columns ----------------------------------------------------------------------------------

static OnDelete delete_rule(Check *check, const Mod *mod, const ColumnInfo *column) {
  TypeId open = types_open(&check->types, column->type);
  if (column->type != ID_POISON && !types_is(&check->types, open, TYPE_REF)) {
    Diag *diag = diag_add(check->diags, DIAG_E311, mod->span, "`on delete` is for references, this is %s" STR_FMT, type_article(type_name(check, column->type)), STR_ARG(type_name(check, column->type)));
    diag_help(check->diags, diag, "remove it");
    return ON_DELETE_RESTRICT;
  }
  switch (mod->on_delete) {
    case DELETE_CASCADE: return ON_DELETE_CASCADE;
    case DELETE_RESTRICT: return ON_DELETE_RESTRICT;
    case DELETE_CLEAR: break;
  }
  if (column->type == ID_POISON || types_is(&check->types, column->type, TYPE_OPTIONAL)) return ON_DELETE_CLEAR;
  Diag *diag = diag_add(check->diags, DIAG_E307, mod->span, "`" STR_FMT "` can never be none, so it cannot be cleared", SYM_ARG(check, column->sym));
  if (column->field->type) {
    diag_help(check->diags, diag, "make it optional with `?`, or write `on delete cascade`");
    diag_fix(check->diags, diag, (Span){column->field->type->span.end, column->field->type->span.end}, STR("?"));
  }
  return ON_DELETE_RESTRICT;
}

// References stand only as fields of their own, so that deleting a row finds those who point at it.
static bool holds_reference(const TypeTable *types, TypeId type, uint32_t depth) {
  if (!type_is_real(type) || depth > TYPE_DEPTH_MAX) return false;
  Type t = types->types[type];
  switch ((TypeKind)t.kind) {
    case TYPE_REF: return true;
    case TYPE_OPTIONAL: case TYPE_LIST: case TYPE_SET: return holds_reference(types, t.of, depth + 1);
    case TYPE_MAP: return holds_reference(types, t.of, depth + 1) || holds_reference(types, t.to, depth + 1);
    case TYPE_RECORD:
      for (uint32_t i = 0; i < types->records[t.of].field_count; i++)
        if (holds_reference(types, types->records[t.of].fields[i].type, depth + 1)) return true;
      return false;
    case TYPE_ENUM:
      for (uint32_t c = 0; c < types->enums[t.of].case_count; c++)
        for (uint32_t i = 0; i < types->enums[t.of].cases[c].field_count; i++)
          if (holds_reference(types, types->enums[t.of].cases[c].fields[i].type, depth + 1)) return true;
      return false;
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: case TYPE_TIME:
    case TYPE_DATE: case TYPE_DURATION: case TYPE_KIND_COUNT: break;
  }
  return false;
}

static void check_stored(Check *check, const ColumnInfo *column, bool is_state) {
  TypeId open = types_open(&check->types, column->type);
  bool is_ref = types_is(&check->types, open, TYPE_REF);
  if (is_ref ? !is_state : !holds_reference(&check->types.table, column->type, 0)) return;
  Diag *diag = diag_add(check->diags, DIAG_E311, column->field->type ? column->field->type->span : column->span,
                        "a reference is stored only as a field of a table, not inside %s", is_state ? "a state value" : "another value");
  diag_help(check->diags, diag, "make a table whose rows hold the references");
}

static void say_column_twice(Check *check, const TableInfo *table, Name name) {
  uint32_t first = column_find(check, table, name.sym);
  Diag *diag = diag_add(check->diags, DIAG_E104, name.span, "`" STR_FMT "` stands in this table already", SYM_ARG(check, name.sym));
  if (first != MAP_NOTHING) diag_label(check->diags, diag, table->columns[first].span, "here");
}

static ColumnInfo *add_field(Check *check, TableInfo *table, const Field *field) {
  if (!member_add(check, OWNER_COLUMN, table->id, field->name.sym, table->column_count)) { say_column_twice(check, table, field->name); return NULL; }
  ColumnInfo *column = table__add_column(check, table);
  if (!column) return NULL;
  column->sym = field->name.sym;
  column->span = field->name.span;
  column->field = field;
  column->type = field->type ? type_resolve(check, field->type) : ID_POISON;
  for (uint32_t i = 0; i < field->mods.count; i++) {
    const Mod *mod = &field->mods.items[i];
    if (mod->kind == MOD_KEY) column->is_key = true;
    if (mod->kind == MOD_AUTO) column->is_auto = true;
    if (mod->kind == MOD_ON_DELETE) column->on_delete = delete_rule(check, mod, column);
  }
  check_stored(check, column, table->decl == NULL);
  return column;
}

static Span mod_span(const Field *field, ModKind kind) {
  for (uint32_t i = 0; i < field->mods.count; i++)
    if (field->mods.items[i].kind == kind) return field->mods.items[i].span;
  return field->name.span;
}

static void add_fields(Check *check, TableInfo *table, const FieldList *fields) {
  if (fields->count > SCHEMA_COLUMNS_MAX) {
    diag_add(check->diags, DIAG_E026, table->decl->name.span, "a table has at most %d fields (SCHEMA_COLUMNS_MAX), here are %u", SCHEMA_COLUMNS_MAX, fields->count);
    return;
  }
  for (uint32_t i = 0; i < fields->count; i++) add_field(check, table, &fields->items[i]);
}

// ---- computed fields --------------------------------------------------------------------------

static void add_computed(Check *check, TableInfo *table, const TableItemList *items) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < items->count; i++) count += items->items[i].kind == TABLE_LET;
  table->computed = CHECK_ARRAY(check, ComputedInfo, count);
  if (!table->computed) return;
  for (uint32_t i = 0; i < items->count; i++) {
    const TableItem *item = &items->items[i];
    if (item->kind != TABLE_LET) continue;
    if (column_find(check, table, item->name.sym) != MAP_NOTHING || !member_add(check, OWNER_COMPUTED, table->id, item->name.sym, table->computed_count)) {
      say_column_twice(check, table, item->name);
      continue;
    }
    Fn *fn = fn_new(check, FUNCTION_COMPUTED, table->decl, item->name);
    if (!fn) return;
    fn->used = true;
    fn->self = table;
    fn->value = item->value;
    if (item->type) { fn->h.result = type_resolve(check, item->type); fn->result_known = true; }
    table->computed[table->computed_count++] = (ComputedInfo){.sym = item->name.sym, .span = item->name.span, .item = item, .type = ID_POISON, .fn = fn};
  }
}

// ---- keys -------------------------------------------------------------------------------------

static bool set_key(Check *check, TableInfo *table, uint32_t count, Span span) {
  if (table->key_count) {
    Diag *diag = diag_add(check->diags, DIAG_E311, span, "the table `" STR_FMT "` has a key already", STR_ARG(table->name));
    diag_help(check->diags, diag, "for a key of several fields write one line `key a, b`");
    return false;
  }
  if (count > SCHEMA_KEY_COLUMNS_MAX) {
    diag_add(check->diags, DIAG_E026, span, "a key has at most %d fields (SCHEMA_KEY_COLUMNS_MAX)", SCHEMA_KEY_COLUMNS_MAX);
    return false;
  }
  table->key = CHECK_ARRAY(check, uint16_t, count);
  return table->key != NULL;
}

static void set_key_names(Check *check, TableInfo *table, const TableItem *item) {
  if (!set_key(check, table, item->names.count, item->span)) return;
  for (uint32_t i = 0; i < item->names.count; i++) {
    Name name = item->names.items[i];
    uint32_t column = column_find(check, table, name.sym);
    if (column == MAP_NOTHING) {
      if (!check__first_time(check, DIAG_E102, table->ref, name.sym)) continue;
      Diag *diag = diag_add(check->diags, DIAG_E102, name.span, "the table `" STR_FMT "` has no field `" STR_FMT "`", STR_ARG(table->name), SYM_ARG(check, name.sym));
      near_columns(check, diag, table, name);
      continue;
    }
    if (table->columns[column].is_key) { say_column_twice(check, table, name); continue; }
    table->columns[column].is_key = true;
    table->key[table->key_count++] = (uint16_t)column;
  }
}

static void find_key(Check *check, TableInfo *table) {
  uint32_t on_fields = 0;
  for (uint32_t i = 0; i < table->column_count; i++) on_fields += table->columns[i].is_key;
  for (uint32_t i = 0; i < table->column_count && on_fields; i++) {
    if (!table->columns[i].is_key) continue;
    if (!set_key(check, table, 1, table->columns[i].span)) break;
    table->key[table->key_count++] = (uint16_t)i;
  }
  bool said = false;
  for (uint32_t i = 0; i < table->decl->table.items.count; i++) {
    const TableItem *item = &table->decl->table.items.items[i];
    if (item->kind == TABLE_KEY) { set_key_names(check, table, item); said = true; }
  }
  if (table->key_count || said || table->column_count == 0) {
    if (!table->column_count && !said) diag_help(check->diags, diag_add(check->diags, DIAG_E311, table->decl->name.span, "the table `" STR_FMT "` has no field", STR_ARG(table->name)), "give it at least a key: `id: int key auto`");
    return;
  }
  Diag *diag = diag_add(check->diags, DIAG_E311, table->decl->name.span, "the table `" STR_FMT "` has no key", STR_ARG(table->name));
  diag_help(check->diags, diag, "write `key` behind the field that is different in each row, or add `id: int key auto`");
}

static void check_key_columns(Check *check, TableInfo *table) {
  for (uint32_t i = 0; i < table->key_count; i++) {
    const ColumnInfo *column = &table->columns[table->key[i]];
    if (column->type == ID_POISON) continue;
    if (types_is(&check->types, column->type, TYPE_OPTIONAL)) {
      diag_help(check->diags, diag_add(check->diags, DIAG_E311, column->span, "a field of a key is never none"), "remove the `?`");
    } else if (!type_is_ordered(&check->types.table, column->type)) {
      Str name = type_name(check, column->type);
      diag_add(check->diags, DIAG_E311, column->span, "%s" STR_FMT " has no order, so it cannot be a key", type_article(name), STR_ARG(name));
    }
  }
}

// The key's type, after those of the tables that it refers to.
static void resolve_key(Check *check, TableInfo *table) {
  if (table->key_progress == PROGRESS_DONE) return;
  if (table->key_progress == PROGRESS_BUSY || check->type_depth >= TYPE_DEPTH_MAX) {
    if (table->key_progress == PROGRESS_BUSY) diag_add(check->diags, DIAG_E108, table->decl->name.span, "the key of `" STR_FMT "` refers to itself, round in a circle", STR_ARG(table->name));
    else diag_add(check->diags, DIAG_E023, table->decl->name.span, "keys refer to keys at most %d deep (TYPE_DEPTH_MAX)", TYPE_DEPTH_MAX);
    return;
  }
  table->key_progress = PROGRESS_BUSY;
  check->type_depth++;
  FieldDef *fields = CHECK_ARRAY(check, FieldDef, table->key_count);
  Sym *syms = CHECK_ARRAY(check, Sym, table->key_count);
  bool sound = fields && syms && table->key_count > 0;
  for (uint32_t i = 0; sound && i < table->key_count; i++) {
    const ColumnInfo *column = &table->columns[table->key[i]];
    TableInfo *to = table_of(check, column->type);
    if (to) {
      bool circle = to->key_progress == PROGRESS_BUSY;
      resolve_key(check, to);
      sound &= !circle;
    }
    sound &= type_is_real(column->type);
    fields[i] = (FieldDef){.name = sym_str(check, column->sym), .type = column->type};
    syms[i] = column->sym;
  }
  check->types.at = table->decl->name.span;
  if (sound) table->key_type = table->key_count == 1 ? fields[0].type : types_shape(&check->types, table->key_count, fields, syms);
  if (sound && type_is_real(table->key_type)) {
    ((TypeId *)check->types.table.table_keys)[table->id] = table->key_type;
    types_settle_key(&check->types, table->ref, table->key_type);
    check_key_columns(check, table);
  }
  check->type_depth--;
  table->key_progress = PROGRESS_DONE;
}

static void check_auto(Check *check, TableInfo *table) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    ColumnInfo *column = &table->columns[i];
    if (!column->is_auto || column->type == ID_POISON) continue;
    bool alone = table->key_count == 1 && table->key[0] == i && column->type == ID_INT;
    if (alone) { table->auto_key = true; continue; }
    Diag *diag = diag_add(check->diags, DIAG_E308, mod_span(column->field, MOD_AUTO), "`auto` numbers the rows, so the field is an int and the whole key");
    diag_help(check->diags, diag, "write `" STR_FMT ": int key auto`", SYM_ARG(check, column->sym));
  }
}

static void rows_max(Check *check, TableInfo *table) {
  int64_t max;
  if (!table->decl->header.max || !const_int(check, table->decl->header.max, ID_INT, &max)) return;
  if (max < 1) diag_help(check->diags, diag_add(check->diags, DIAG_E213, table->decl->header.max->span, "a table has room for at least one row"), "write a number above 0");
  else table->rows_max = (uint64_t)max;
}

// ---- the state table --------------------------------------------------------------------------

static void state_columns(Check *check, TableInfo *state) {
  ColumnInfo *key = table__add_column(check, state);
  state->key = CHECK_ARRAY(check, uint16_t, 1);
  if (!key || !state->key) return;
  key->type = ID_INT;
  key->hidden = key->is_key = true;
  state->key_count = 1;
  state->key_progress = PROGRESS_DONE;
  for (uint32_t d = 0; d < check->ast->decls.count; d++) {
    const Decl *decl = check->ast->decls.items[d];
    if (decl->kind != DECL_STATE) continue;
    for (uint32_t i = 0; i < decl->record.fields.count; i++) {
      const Field *field = &decl->record.fields.items[i];
      uint32_t number = space_find(check, SPACE_VALUE, field->name.sym);
      if (number == MAP_NOTHING || check->values.items[number].span.start != field->name.span.start) continue;  // declared twice
      if (state->column_count >= SCHEMA_COLUMNS_MAX) {
        diag_add(check->diags, DIAG_E026, field->name.span, "an app has at most %d state values and `auto` keys (SCHEMA_COLUMNS_MAX)", SCHEMA_COLUMNS_MAX - 1);
        return;
      }
      check->values.items[number].index = state->column_count;
      const ColumnInfo *column = add_field(check, state, field);
      if (column && (column->is_key || column->is_auto)) diag_add(check->diags, DIAG_E311, field->name.span, "a state value is one value, it has no key");
    }
  }
}

static void add_counter(Check *check, TableInfo *state, TableInfo *table) {
  if (state->column_count >= SCHEMA_COLUMNS_MAX) {
    diag_add(check->diags, DIAG_E026, table->decl->name.span, "an app has at most %d state values and `auto` keys (SCHEMA_COLUMNS_MAX)", SCHEMA_COLUMNS_MAX - 1);
    return;
  }
  ColumnInfo *counter = table__add_column(check, state);
  if (!counter) return;
  table->auto_column = (uint16_t)(state->column_count - 1);
  counter->type = ID_INT;
  counter->hidden = true;
}

void tables_columns(Check *check) {
  if (!check->tables.count) return;
  TableInfo *state = check->tables.items[SCHEMA_STATE_TABLE];
  for (uint32_t i = 1; i < check->tables.count && !check->failed; i++) {
    TableInfo *table = check->tables.items[i];
    add_fields(check, table, &table->decl->table.fields);
    add_computed(check, table, &table->decl->table.items);
    find_key(check, table);
  }
  for (uint32_t i = 1; i < check->tables.count && !check->failed; i++) {
    resolve_key(check, check->tables.items[i]);
    check_auto(check, check->tables.items[i]);
    rows_max(check, check->tables.items[i]);
  }
  state_columns(check, state);
  for (uint32_t i = 1; i < check->tables.count && !check->failed; i++)
    if (check->tables.items[i]->auto_key) add_counter(check, state, check->tables.items[i]);
}
