// Records, lists and new rows. Fields are given by name; what is left out takes its default.
#include "compiler/check/internal.h"

#include <assert.h>

// ---- members by name --------------------------------------------------------------------------

typedef struct Slot { Sym sym; Span span; TypeId type; HExpr *value; } Slot;

// The values of a literal, put into the slots that have their names. `kind` and `owner` say where the names are found.
typedef struct Filler {
  Slot *slots;
  uint32_t count;
  Owner kind;
  uint32_t owner;
  const Expr *literal;
  TypeId type;           // the record, or a reference to the table
  bool poisoned;
} Filler;

static void say_unknown_member(Check *check, Filler *f, Name name) {
  f->poisoned = true;
  if (!check__first_time(check, DIAG_E102, f->type, name.sym)) return;  // `x.field` may have said it
  Str type = type_name(check, f->type);
  Diag *diag = diag_add(check->diags, DIAG_E205, name.span, "`" STR_FMT "` has no field `" STR_FMT "`", STR_ARG(type), SYM_ARG(check, name.sym));
  Sym *syms = CHECK_ARRAY(check, Sym, f->count);
  for (uint32_t i = 0; syms && i < f->count; i++) syms[i] = f->slots[i].sym;
  if (syms) near_syms(check, diag, name, syms, f->count);
}

static uint32_t slot_of(Check *check, const Filler *f, Sym sym) {
  uint32_t slot = member_find(check, f->kind, f->owner, sym);
  if (slot != MAP_NOTHING || f->kind != OWNER_RECORD) return slot;
  for (uint32_t i = 0; i < f->count; i++)  // an unnamed record has no entries
    if (f->slots[i].sym == sym) return i;
  return MAP_NOTHING;
}

static void fill_member(Check *check, Filler *f, const Member *member) {
  uint32_t i = slot_of(check, f, member->name.sym);
  if (i == MAP_NOTHING || i >= f->count) {
    check_expr(check, member->value, TYPE_NONE);
    say_unknown_member(check, f, member->name);
    return;
  }
  Slot *slot = &f->slots[i];
  HExpr *value = check_value(check, member->value, slot->type, &(Why){.what = "the field", .name = slot->sym, .span = slot->span});
  if (slot->value) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E205, member->name.span, "`" STR_FMT "` is given twice", SYM_ARG(check, slot->sym)), "remove one");
    f->poisoned = true;
  }
  f->poisoned |= is_poison(value);
  slot->value = value;
}

bool has_member(Check *check, TypeId type, Sym sym) {
  const TableInfo *table = table_of(check, type);
  if (table) return column_find(check, table, sym) != MAP_NOTHING;
  uint32_t record = types_of(&check->types, type);
  for (uint32_t k = 0; k < check->types.records[record].field_count; k++)
    if (check->types.infos[record].syms[k] == sym) return true;
  return false;
}

bool has_members(Check *check, const HExpr *rest, Span span) {
  if (table_of(check, rest->type) || types_is(&check->types, rest->type, TYPE_RECORD)) return true;
  Str name = type_name(check, rest->type);
  if (!is_poison(rest)) diag_add(check->diags, DIAG_E201, span, "`..` takes the fields of a record or row, this is %s" STR_FMT, type_article(name), STR_ARG(name));
  return false;
}

// `..x`: the members of x that are not written.
static void fill_rest(Check *check, Filler *f, HExpr *rest, Span span) {
  if (!has_members(check, rest, span)) {
    f->poisoned = true;
    return;
  }
  for (uint32_t i = 0; i < f->count; i++) {
    Slot *slot = &f->slots[i];
    if (slot->value || !slot->sym || !has_member(check, rest->type, slot->sym)) continue;
    HExpr *field = field_of(check, rest, (Name){.sym = slot->sym, .span = span}, span);
    slot->value = coerce(check, field, slot->type, &(Why){.what = "the field", .name = slot->sym, .span = slot->span});
    f->poisoned |= is_poison(slot->value);
  }
}

// Gives back the value that `..` is about, to be evaluated once, or NULL.
static HExpr *fill(Check *check, Filler *f, LocalId *out_local) {
  HExpr *rest = NULL;
  Span span = f->literal->span;
  for (uint32_t i = 0; i < f->literal->members.count; i++) {
    const Member *member = &f->literal->members.items[i];
    if (!member->is_rest) { fill_member(check, f, member); continue; }
    if (rest) { diag_add(check->diags, DIAG_E205, member->span, "one `..` is enough"); f->poisoned = true; continue; }
    rest = need_open(check, check_expr(check, member->value, TYPE_NONE), "behind `..`");
    span = member->span;
  }
  *out_local = NO_LOCAL;
  if (rest) fill_rest(check, f, h_let_begin(check, rest, out_local), span);
  return rest;
}

static void say_missing(Check *check, Filler *f, const Slot *slot, Span span) {
  if (f->poisoned) return;
  f->poisoned = true;
  Str type = type_name(check, slot->type);
  Diag *diag = diag_add(check->diags, DIAG_E205, span, "the field `" STR_FMT "` is missing", SYM_ARG(check, slot->sym));
  if (!span_is_none(slot->span)) diag_label(check->diags, diag, slot->span, "it is %s" STR_FMT " without a default", type_article(type), STR_ARG(type));
  diag_help(check->diags, diag, "write `" STR_FMT ": …`", SYM_ARG(check, slot->sym));
}

// ---- records ----------------------------------------------------------------------------------

static HExpr *record_as(Check *check, const Expr *expr, TypeId want) {
  uint32_t number = types_of(&check->types, want);
  const RecordDef *def = &check->types.records[number];
  const FieldList *fields = check->types.infos[number].fields;
  Filler f = {.slots = CHECK_ARRAY(check, Slot, def->field_count), .count = def->field_count, .kind = OWNER_RECORD, .owner = number, .literal = expr, .type = want};
  if (!f.slots) return h_poison(check, expr->span);
  for (uint32_t i = 0; i < f.count; i++)
    f.slots[i] = (Slot){.sym = check->types.infos[number].syms[i], .span = fields ? fields->items[i].name.span : (Span){0}, .type = def->fields[i].type};
  LocalId local;
  HExpr *rest = fill(check, &f, &local), *made = h_args(check, H_RECORD, want, f.count, expr->span);
  for (uint32_t i = 0; i < made->args.count; i++) {
    if (!f.slots[i].value) f.slots[i].value = field_default(check, (FieldRule){.owner = (uint16_t)number, .tag = NO_CASE, .field = (uint16_t)i}, fields ? &fields->items[i] : NULL, f.slots[i].type, expr->span);
    if (!f.slots[i].value) say_missing(check, &f, &f.slots[i], (Span){expr->span.start, expr->span.start + 1});
    made->args.items[i] = f.slots[i].value;
  }
  if (f.poisoned) return h_poison(check, expr->span);
  return rest ? h_let_end(check, local, rest, made) : made;
}

typedef struct Shape { FieldDef *fields; Sym *syms; HExpr **values; uint32_t count; bool poisoned; } Shape;

static void add_to_shape(Check *check, Shape *s, Sym sym, HExpr *value, Span span) {
  for (uint32_t i = 0; i < s->count && s->count < 512; i++) {
    if (s->syms[i] != sym) continue;
    diag_help(check->diags, diag_add(check->diags, DIAG_E205, span, "`" STR_FMT "` is given twice", SYM_ARG(check, sym)), "name one of them: `name: …`");
    s->poisoned = true;
    return;
  }
  if (!is_poison(value) && !type_is_real(value->type)) {
    diag_add(check->diags, DIAG_E212, value->span, "the type of this cannot be known");
    value = h_poison(check, value->span);
  }
  s->poisoned |= is_poison(value);
  s->syms[s->count] = sym;
  s->fields[s->count] = (FieldDef){.name = sym_str(check, sym), .type = value->type};
  s->values[s->count++] = fit(check, value);
}

static bool is_written(const Expr *expr, Sym sym) {
  for (uint32_t i = 0; i < expr->members.count; i++)
    if (!expr->members.items[i].is_rest && expr->members.items[i].name.sym == sym) return true;
  return false;
}

// The fields of what `..` copies: all of a record; of a row those that are columns of the language.
static uint32_t member_syms(Check *check, TypeId type, const Sym **out_syms) {
  const TableInfo *table = table_of(check, type);
  if (!table) {
    uint32_t record = types_of(&check->types, type);
    *out_syms = check->types.infos[record].syms;
    return check->types.records[record].field_count;
  }
  Sym *syms = CHECK_ARRAY(check, Sym, table->column_count);
  uint32_t count = 0;
  for (uint32_t i = 0; syms && i < table->column_count; i++)
    if (!table->columns[i].hidden) syms[count++] = table->columns[i].sym;
  *out_syms = syms;
  return count;
}

// What `..` copies stands first, in its own order; `rest` is simple.
static void add_rest_to_shape(Check *check, const Expr *expr, Shape *s, HExpr *rest, Span span) {
  const Sym *syms;
  uint32_t count = member_syms(check, rest->type, &syms);
  for (uint32_t i = 0; syms && i < count; i++)
    if (!is_written(expr, syms[i])) add_to_shape(check, s, syms[i], field_of(check, rest, (Name){.sym = syms[i], .span = span}, span), span);
}

static uint32_t rest_count(Check *check, TypeId type) {
  const Sym *syms;
  return member_syms(check, type, &syms);
}

static const Member *rest_of(Check *check, const Expr *expr) {
  const Member *rest = NULL;
  for (uint32_t i = 0; i < expr->members.count; i++) {
    const Member *member = &expr->members.items[i];
    if (!member->is_rest) continue;
    if (rest) diag_add(check->diags, DIAG_E205, member->span, "one `..` is enough");
    else rest = member;
  }
  return rest;
}

static HExpr *record_inferred(Check *check, const Expr *expr) {
  const Member *rest = rest_of(check, expr);
  HExpr *copied = rest ? need_open(check, check_expr(check, rest->value, TYPE_NONE), "behind `..`") : NULL;
  bool sound = !rest || has_members(check, copied, rest->span);
  uint64_t count = expr->members.count + (rest && sound ? rest_count(check, copied->type) : 0);
  if (count > FIELD_COUNT_MAX) { diag_add(check->diags, DIAG_E026, expr->span, "a record has at most %d fields (FIELD_COUNT_MAX)", FIELD_COUNT_MAX); return h_poison(check, expr->span); }
  Shape s = {CHECK_ARRAY(check, FieldDef, count), CHECK_ARRAY(check, Sym, count), CHECK_ARRAY(check, HExpr *, count), 0, !sound};
  if (!s.fields || !s.syms || !s.values) return h_poison(check, expr->span);
  LocalId local = NO_LOCAL;
  if (rest && sound) add_rest_to_shape(check, expr, &s, h_let_begin(check, copied, &local), rest->span);
  for (uint32_t i = 0; i < expr->members.count; i++) {
    const Member *member = &expr->members.items[i];
    if (!member->is_rest) add_to_shape(check, &s, member->name.sym, check_expr(check, member->value, TYPE_NONE), member->name.span);
  }
  if (s.poisoned) return h_poison(check, expr->span);
  HExpr *made = h_new(check, H_RECORD, types_shape(&check->types, s.count, s.fields, s.syms), expr->span);
  made->args = (HExprs){.count = s.count, .items = s.values};
  return rest ? h_let_end(check, local, copied, made) : made;
}

// Where a map from texts is wanted the names are its keys: `{ small: 1, large: 2 }`.
static HExpr *map_of_names(Check *check, const Expr *expr, TypeId want) {
  TypeId item = check->types.types[want].to;
  HExpr *made = h_args(check, H_MAP, want, 2 * expr->members.count, expr->span);
  bool poisoned = false;
  for (uint32_t i = 0; 2 * i < made->args.count; i++) {
    const Member *member = &expr->members.items[i];
    for (uint32_t k = 0; k < i && !member->is_rest; k++) {
      if (expr->members.items[k].name.sym != member->name.sym) continue;
      diag_help(check->diags, diag_add(check->diags, DIAG_E205, member->name.span, "`" STR_FMT "` is given twice", SYM_ARG(check, member->name.sym)), "remove one of them");
      poisoned = true;
    }
    if (member->is_rest) {
      diag_help(check->diags, diag_add(check->diags, DIAG_E205, member->span, "`..` copies fields of records and rows, this is a map"), "add to a map with `put(m, key, value)`");
      poisoned = true;
    }
    made->args.items[2 * i] = h_const(check, ID_TEXT, (Value){.text = sym_str(check, member->name.sym)}, member->span);
    made->args.items[2 * i + 1] = check_value(check, member->value, item, &(Why){.what = "the map's values are"});
    poisoned |= is_poison(made->args.items[2 * i + 1]);
  }
  return poisoned || (expr->members.count && !made->args.count) ? h_poison(check, expr->span) : made;
}

HExpr *check_record(Check *check, const Expr *expr, TypeId want) {
  TypeId open = types_open(&check->types, want);
  if (types_is(&check->types, open, TYPE_MAP) && (types_of(&check->types, open) == ID_TEXT || !expr->members.count))
    return expr->members.count ? map_of_names(check, expr, open) : h_zero(check, open, expr->span);
  return types_is(&check->types, open, TYPE_RECORD) ? record_as(check, expr, open) : record_inferred(check, expr);
}

// ---- lists ------------------------------------------------------------------------------------

static TypeId item_type(Check *check, HExpr *const *items, uint32_t count, TypeId want) {
  if (type_is_real(want)) return want;
  HExpr so_far = *items[0];
  for (uint32_t i = 1; i < count; i++) {
    TypeId both = unify(check, &so_far, items[i]);
    if (both == ID_POISON) return so_far.type;  // coerce says which one does not fit
    so_far.type = both;
    if (items[i]->kind != H_CONST) so_far.kind = H_LOCAL;
  }
  return so_far.type;
}

HExpr *check_list(Check *check, const Expr *expr, TypeId want) {
  TypeId open = types_open(&check->types, want);
  bool is_set = types_is(&check->types, open, TYPE_SET), wanted = is_set || types_is(&check->types, open, TYPE_LIST);
  TypeId item_want = wanted ? types_of(&check->types, open) : TYPE_NONE;
  uint32_t count = expr->list.count;
  if (!count) return wanted || types_is(&check->types, open, TYPE_MAP) ? h_zero(check, open, expr->span) : h_const(check, ID_EMPTY, (Value){.i = 0}, expr->span);
  HExpr *made = h_args(check, H_LIST, ID_POISON, count, expr->span);
  bool poisoned = !made->args.count;
  for (uint32_t i = 0; i < made->args.count; i++) {
    made->args.items[i] = check_expr(check, expr->list.items[i], item_want);
    poisoned |= is_poison(made->args.items[i]);
  }
  if (poisoned) return h_poison(check, expr->span);
  TypeId type = item_type(check, made->args.items, count, item_want);
  if (!type_is_real(type)) {
    if (type != ID_POISON) diag_help(check->diags, diag_add(check->diags, DIAG_E212, expr->span, "the type of the items cannot be known"), "say it: `let xs: [int?] = …`");
    return h_poison(check, expr->span);
  }
  Why why = {.what = wanted ? "the items are" : "the first item is", .span = wanted ? (Span){0} : made->args.items[0]->span};
  for (uint32_t i = 0; i < count; i++) {
    made->args.items[i] = coerce(check, made->args.items[i], type, &why);
    poisoned |= is_poison(made->args.items[i]);
  }
  if (poisoned) return h_poison(check, expr->span);
  made->type = types_list(&check->types, type);
  return is_set ? h_unary(check, H_SET, open, made, expr->span) : made;
}

// ---- rows -------------------------------------------------------------------------------------

static HExpr *insert_row(Check *check, TableInfo *table, Filler *f, Span span) {
  HExpr *made = h_args(check, H_INSERT, table->ref, table->has_hidden ? f->count : table->column_count, span);
  for (uint32_t i = 0; i < made->args.count; i++) {
    const ColumnInfo *column = &table->columns[i];
    bool is_auto = table->auto_key && table->key[0] == i;
    if (is_auto) { made->args.items[i] = table->has_hidden ? h_int(check, 0, span) : NULL; continue; }
    if (!f->slots[i].value && (column->initial || types_is(&check->types, column->type, TYPE_OPTIONAL))) f->slots[i].value = default_value(check, column->initial, column->type, span);
    if (!f->slots[i].value) { say_missing(check, f, &f->slots[i], f->literal->span); continue; }
    f->poisoned |= is_poison(f->slots[i].value);
    made->args.items[i] = f->slots[i].value;
  }
  if (f->poisoned) return h_poison(check, span);
  if (table->has_hidden) return call_fn(check, table->insert, made->args.items, made->args.count, span);
  made->table = table->id;
  return made;
}

HExpr *check_insert(Check *check, const Expr *expr) {
  Name name = expr->insert.table;
  TableInfo *table = table_find(check, name.sym);
  if (!table) {
    Diag *diag = diag_add(check->diags, DIAG_E107, name.span, "there is no table called `" STR_FMT "`", SYM_ARG(check, name.sym));
    near_space(check, diag, SPACE_TYPE, name.sym);
    check_expr(check, expr->insert.record, TYPE_NONE);
    return h_poison(check, expr->span);
  }
  effect_note(check, EFFECT_WRITES, expr->span, "it inserts a row");
  uint32_t count = 0;
  while (count < table->column_count && !table->columns[count].hidden) count++;
  Filler f = {.slots = CHECK_ARRAY(check, Slot, count), .count = count, .kind = OWNER_COLUMN, .owner = table->id, .literal = expr->insert.record, .type = table->ref};
  if (!f.slots) return h_poison(check, expr->span);
  for (uint32_t i = 0; i < count; i++) {
    f.slots[i] = (Slot){.sym = table->columns[i].sym, .span = table->columns[i].span, .type = table->columns[i].type};
  }
  if (table->auto_key) {
    f.slots[table->key[0]].sym = 0;  // `..row` does not copy it
    for (uint32_t i = 0; i < expr->insert.record->members.count; i++) {
      const Member *member = &expr->insert.record->members.items[i];
      if (member->is_rest || member->name.sym != table->columns[table->key[0]].sym) continue;
      diag_help(check->diags, diag_add(check->diags, DIAG_E205, member->name.span, "`" STR_FMT "` is numbered by itself (`auto`)", SYM_ARG(check, member->name.sym)), "leave it out");
      return h_poison(check, expr->span);
    }
  }
  LocalId local;
  HExpr *rest = fill(check, &f, &local);
  HExpr *made = insert_row(check, table, &f, expr->span);
  return rest ? h_let_end(check, local, rest, made) : made;
}
