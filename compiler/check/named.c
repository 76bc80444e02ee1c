// Types as they are written, and the types that have names. Declared ones are resolved when somebody first needs them; a
// record that is needed while it is being resolved contains itself.
#include "compiler/check/internal.h"

#include <assert.h>

NamedType *named_find(Check *check, Sym sym) {
  uint32_t number = space_find(check, SPACE_TYPE, sym);
  return number == MAP_NOTHING ? NULL : &check->named.items[number];
}

Str type_name(Check *check, TypeId type) {
  if (type == ID_NOTHING) return STR("none");
  if (type == ID_EMPTY) return STR("an empty list");
  if (type == TYPE_NONE) return STR("no value");
  if (!type_is_real(type)) return STR("unknown");
  Buf buf;
  buf_init(&buf, 400);
  type_write(&check->types.table, type, &buf);
  Str name = arena_copy(check->arena, buf.len ? buf_str(&buf) : STR("a long type"));
  if (!name.ptr) check->failed = true;
  buf_free(&buf);
  return name;
}

const char *type_article(Str name) {
  if (!name.len || name.ptr[0] == '[' || name.ptr[0] == '{') return "";
  return strchr("aeioAEIO", name.ptr[0]) ? "an " : "a ";
}

// ---- declared types ---------------------------------------------------------------------------

static TypeId resolve_named(Check *check, NamedType *named);

static TypeId resolve_field(Check *check, const Field *field) { return field->type ? type_resolve(check, field->type) : ID_POISON; }

static void say_twice(Check *check, Name name, Span first, const char *what) {
  Diag *diag = diag_add(check->diags, DIAG_E104, name.span, "a %s called `" STR_FMT "` stands here already", what, SYM_ARG(check, name.sym));
  if (!span_is_none(first)) diag_label(check->diags, diag, first, "it was declared here");
}

// What only a field of a table can be. `names`: `was` may stand here.
static void refuse_mods(Check *check, const Field *field, bool names) {
  for (uint32_t i = 0; i < field->mods.count; i++) {
    const Mod *mod = &field->mods.items[i];
    if (mod->kind == MOD_MIN || mod->kind == MOD_MAX || (mod->kind == MOD_WAS && names)) continue;
    Diag *diag = diag_add(check->diags, DIAG_E311, mod->span, mod->kind == MOD_WAS ? "an unnamed record keeps no old names" : "only a field of a table can be this");
    diag_help(check->diags, diag, mod->kind == MOD_WAS ? "declare it as a `record`" : "remove it");
  }
}

// Fields of a record: definitions and names, in order.
static void resolve_fields(Check *check, const FieldList *fields, Owner owner, uint32_t number, FieldDef **out_defs, Sym **out_syms) {
  FieldDef *defs = CHECK_ARRAY(check, FieldDef, fields->count);
  Sym *syms = CHECK_ARRAY(check, Sym, fields->count);
  *out_defs = defs;
  *out_syms = syms;
  if (!defs || !syms) return;
  for (uint32_t i = 0; i < fields->count; i++) {
    const Field *field = &fields->items[i];
    TypeId type = resolve_field(check, field);
    defs[i] = (FieldDef){.name = sym_str(check, field->name.sym), .type = type, .has_default = field->initial != NULL};
    syms[i] = field->name.sym;
    refuse_mods(check, field, true);
    if (!member_add(check, owner, number, field->name.sym, i)) {
      uint32_t first = member_find(check, owner, number, field->name.sym);
      say_twice(check, field->name, fields->items[first].name.span, "field");
    }
  }
}

static bool check_field_count(Check *check, Span span, uint32_t count, uint32_t max, const char *what, const char *limit) {
  if (count <= max) return true;
  diag_add(check->diags, DIAG_E026, span, "%s has at most %u (%s); here are %u", what, max, limit, count);
  return false;
}

static void resolve_record(Check *check, NamedType *named) {
  const Decl *decl = named->decl;
  named->type = types_new_record(&check->types, sym_str(check, decl->name.sym), decl);
  if (named->type == ID_POISON || !check_field_count(check, decl->name.span, decl->record.fields.count, FIELD_COUNT_MAX, "the number of fields of a record", "FIELD_COUNT_MAX")) { named->type = ID_POISON; return; }
  uint32_t number = types_of(&check->types, named->type);
  FieldDef *defs;
  Sym *syms;
  resolve_fields(check, &decl->record.fields, OWNER_RECORD, number, &defs, &syms);
  check->types.records[number].fields = defs;
  check->types.records[number].field_count = (uint16_t)decl->record.fields.count;
  check->types.infos[number].syms = syms;
  types_settle(&check->types, named->type);
}

static void resolve_case(Check *check, const Case *written, CaseDef *out) {
  *out = (CaseDef){.name = sym_str(check, written->name.sym), .field_count = (uint16_t)written->fields.count};
  FieldDef *defs = NULL;
  Sym *syms;
  if (written->fields.count) resolve_fields(check, &written->fields, OWNER_CASE, check->case_owners++, &defs, &syms);
  out->fields = defs;
}

static void resolve_enum(Check *check, NamedType *named) {
  const Decl *decl = named->decl;
  const CaseList *cases = &decl->enumeration.cases;
  named->type = types_new_enum(&check->types, sym_str(check, decl->name.sym), decl);
  if (named->type == ID_POISON || !check_field_count(check, decl->name.span, cases->count, CASE_COUNT_MAX, "the number of cases of an enum", "CASE_COUNT_MAX")) { named->type = ID_POISON; return; }
  if (!cases->count) diag_help(check->diags, diag_add(check->diags, DIAG_E205, decl->name.span, "the enum `" STR_FMT "` has no case", SYM_ARG(check, decl->name.sym)), "write at least one");
  uint32_t number = types_of(&check->types, named->type);
  CaseDef *defs = CHECK_ARRAY(check, CaseDef, cases->count);
  if (!defs) return;
  bool plain = true;
  for (uint32_t i = 0; i < cases->count; i++) {
    resolve_case(check, &cases->items[i], &defs[i]);
    plain &= defs[i].field_count == 0;
    if (i >= ENUM_FIELD_CASES_MAX && defs[i].field_count)
      diag_help(check->diags, diag_add(check->diags, DIAG_E026, cases->items[i].name.span, "the cases with fields are among the first %d of an enum (ENUM_FIELD_CASES_MAX)", ENUM_FIELD_CASES_MAX),
                "write it before those without fields");
    if (!member_add(check, OWNER_ENUM, number, cases->items[i].name.sym, i))
      say_twice(check, cases->items[i].name, cases->items[member_find(check, OWNER_ENUM, number, cases->items[i].name.sym)].name.span, "case");
  }
  check->types.enums[number] = (EnumDef){.name = sym_str(check, decl->name.sym), .case_count = (uint16_t)cases->count, .plain = plain, .cases = defs};
  types_settle(&check->types, named->type);
}

static void resolve_alias(Check *check, NamedType *named) {
  named->type = type_resolve(check, named->decl->type.type);
  for (uint32_t i = 0; i < named->decl->type.mods.count; i++) {
    const Mod *mod = &named->decl->type.mods.items[i];
    if (mod->kind == MOD_MIN) named->min = mod;
    else if (mod->kind == MOD_MAX) named->max = mod;
    else diag_add(check->diags, DIAG_E311, mod->span, "a type can have `min` and `max`, nothing else");
  }
}

static TypeId resolve_named(Check *check, NamedType *named) {
  if (named->progress == PROGRESS_DONE) return named->type;
  Name name = named->decl->name;
  if (named->progress == PROGRESS_BUSY) {
    Diag *diag = diag_add(check->diags, DIAG_E108, name.span, "the type `" STR_FMT "` contains itself", SYM_ARG(check, name.sym));
    diag_help(check->diags, diag, "refer to a row of a table instead");
    return ID_POISON;
  }
  if (check->type_depth >= TYPE_DEPTH_MAX) {
    diag_add(check->diags, DIAG_E023, name.span, "types nest at most %d deep (TYPE_DEPTH_MAX)", TYPE_DEPTH_MAX);
    return ID_POISON;
  }
  named->progress = PROGRESS_BUSY;
  check->type_depth++;
  switch (named->kind) {
    case NAMED_ALIAS: resolve_alias(check, named); break;
    case NAMED_ENUM: resolve_enum(check, named); break;
    case NAMED_RECORD: resolve_record(check, named); break;
    case NAMED_TABLE: named->type = named->table ? named->table->ref : ID_POISON; break;
  }
  check->type_depth--;
  named->progress = PROGRESS_DONE;
  return named->type;
}

void named_resolve_all(Check *check) {
  for (uint32_t i = 0; i < check->named.count; i++) resolve_named(check, &check->named.items[i]);
}

// ---- written types ----------------------------------------------------------------------------

static TypeId unknown_type(Check *check, Name name) {
  if (!check__first_time(check, DIAG_E101, SPACE_TYPE, name.sym)) return ID_POISON;
  Diag *diag = diag_add(check->diags, DIAG_E101, name.span, "there is no type called `" STR_FMT "`", SYM_ARG(check, name.sym));
  near_space(check, diag, SPACE_TYPE, name.sym);
  return ID_POISON;
}

static TypeId resolve_decimal(Check *check, const TypeExpr *written) {
  const TypeExprList *args = &written->named.args;
  if (args->count != 1 || args->items[0]->kind != TYPE_EXPR_NUMBER) {
    Diag *diag = diag_add(check->diags, DIAG_E206, written->span, "a decimal says how many digits it keeps after the point");
    diag_help(check->diags, diag, "write `decimal(2)`, for example");
    return ID_POISON;
  }
  int64_t scale = args->items[0]->number;
  if (scale < 0 || scale > DECIMAL_SCALE_MAX) {
    diag_add(check->diags, DIAG_E203, args->items[0]->span, "a decimal keeps 0 to %d digits after the point (DECIMAL_SCALE_MAX)", DECIMAL_SCALE_MAX);
    return ID_POISON;
  }
  return types_decimal(&check->types, (unsigned)scale);
}

static bool check_arg_count(Check *check, const TypeExpr *written, uint32_t wanted) {
  if (written->named.args.count == wanted) return true;
  diag_add(check->diags, DIAG_E206, written->span, "`" STR_FMT "` takes %u type%s in parentheses, here are %u", SYM_ARG(check, written->named.name.sym),
           wanted, wanted == 1 ? "" : "s", written->named.args.count);
  return false;
}

static TypeId resolve_set(Check *check, const TypeExpr *written) {
  if (!check_arg_count(check, written, 1)) return ID_POISON;
  TypeId of = type_resolve(check, written->named.args.items[0]);
  return of == ID_POISON ? of : types_get(&check->types, (Type){.kind = TYPE_SET, .of = of});
}

static TypeId resolve_map(Check *check, const TypeExpr *written) {
  if (!check_arg_count(check, written, 2)) return ID_POISON;
  TypeId key = type_resolve(check, written->named.args.items[0]), to = type_resolve(check, written->named.args.items[1]);
  if (key == ID_POISON || to == ID_POISON) return ID_POISON;
  return types_get(&check->types, (Type){.kind = TYPE_MAP, .of = key, .to = to});
}

static TypeId resolve_name(Check *check, const TypeExpr *written) {
  Name name = written->named.name;
  NamedType *named = named_find(check, name.sym);
  if (named) return check_arg_count(check, written, 0) ? resolve_named(check, named) : ID_POISON;
  if (name.sym == check->word.decimal) return resolve_decimal(check, written);
  if (name.sym == check->word.set) return resolve_set(check, written);
  if (name.sym == check->word.map) return resolve_map(check, written);
  for (TypeId id = 0; id < ID_SIMPLE_COUNT; id++)
    if (name.sym == check->simple[id]) return check_arg_count(check, written, 0) ? id : ID_POISON;
  return unknown_type(check, name);
}

static TypeId resolve_shape(Check *check, const TypeExpr *written) {
  uint32_t count = written->fields.count;
  if (!check_field_count(check, written->span, count, FIELD_COUNT_MAX, "the number of fields of a record", "FIELD_COUNT_MAX")) return ID_POISON;
  FieldDef *defs = CHECK_ARRAY(check, FieldDef, count);
  Sym *syms = CHECK_ARRAY(check, Sym, count);
  if (!defs || !syms) return ID_POISON;
  bool sound = true, ruled = false;
  for (uint32_t i = 0; i < count; i++) {
    const Field *field = &written->fields.items[i];
    defs[i] = (FieldDef){.name = sym_str(check, field->name.sym), .type = resolve_field(check, field), .has_default = field->initial != NULL};
    syms[i] = field->name.sym;
    refuse_mods(check, field, false);
    ruled |= field->initial || field->mods.count;
    sound &= defs[i].type != ID_POISON;
  }
  TypeId type = !sound ? ID_POISON : ruled ? types_ruled_shape(&check->types, &written->fields, defs, syms) : types_shape(&check->types, count, defs, syms);
  if (type == ID_POISON) return type;
  uint32_t number = types_of(&check->types, type);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t first = member_find(check, OWNER_RECORD, number, syms[i]);
    if (first == MAP_NOTHING) member_add(check, OWNER_RECORD, number, syms[i], i);
    else if (first != i) say_twice(check, written->fields.items[i].name, written->fields.items[first].name.span, "field");
  }
  return type;
}

TypeId type_resolve(Check *check, const TypeExpr *written) {
  check->types.at = written->span;
  switch (written->kind) {
    case TYPE_EXPR_NAME: return resolve_name(check, written);
    case TYPE_EXPR_LIST: return types_list(&check->types, type_resolve(check, written->elem));
    case TYPE_EXPR_RECORD: return resolve_shape(check, written);
    case TYPE_EXPR_OPTIONAL: {
      TypeId of = type_resolve(check, written->elem);
      if (types_is(&check->types, of, TYPE_OPTIONAL)) {
        Diag *diag = diag_add(check->diags, DIAG_E201, written->span, "this is optional already; optionals do not nest");
        diag_help(check->diags, diag, "write one `?`");
      }
      return types_optional(&check->types, of);
    }
    case TYPE_EXPR_NUMBER:
      diag_add(check->diags, DIAG_E201, written->span, "a type is needed here, not a number");
      return ID_POISON;
  }
  return ID_POISON;
}

// ---- min and max ------------------------------------------------------------------------------

static bool counts_items(const TypeBuilder *types, TypeId type) {
  return types_is(types, type, TYPE_TEXT) || types_is(types, type, TYPE_BYTES) || types_is(types, type, TYPE_LIST) || types_is(types, type, TYPE_SET) || types_is(types, type, TYPE_MAP);
}

static uint32_t limit_constant(Check *check, const Mod *mod, TypeId type) {
  TypeId open = types_open(&check->types, type);
  if (open == ID_POISON) return NO_CONSTANT;
  bool counts = counts_items(&check->types, open);
  if (!counts && (!type_is_ordered(&check->types.table, open) || types_is(&check->types, open, TYPE_BOOL) || types_is(&check->types, open, TYPE_REF))) {
    Str name = type_name(check, type);
    diag_add(check->diags, DIAG_E213, mod->span, "`min` and `max` are for numbers, times, texts and lists, not for %s" STR_FMT, type_article(name), STR_ARG(name));
    return NO_CONSTANT;
  }
  TypeId want = counts ? ID_INT : open;
  Why why = {.what = counts ? "a length is counted in" : "it limits", .span = (Span){0}};
  HExpr *value = check_value(check, mod->value, want, &why);
  if (is_poison(value)) return NO_CONSTANT;
  if (value->kind != H_CONST) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E215, mod->value->span, "a limit is known when the app is compiled"), "write a number");
    return NO_CONSTANT;
  }
  check->program->module.schema.types = check->types.table;
  return hir_constant(check->program, want, value->value);
}

Limits limits_of(Check *check, const Field *field, TypeId type) {
  const Mod *min = NULL, *max = NULL;
  const TypeExpr *written = field->type;
  while (written && written->kind == TYPE_EXPR_OPTIONAL) written = written->elem;
  if (written && written->kind == TYPE_EXPR_NAME) {
    NamedType *named = named_find(check, written->named.name.sym);
    if (named && named->kind == NAMED_ALIAS) { min = named->min; max = named->max; }
  }
  for (uint32_t i = 0; i < field->mods.count; i++) {
    if (field->mods.items[i].kind == MOD_MIN) min = &field->mods.items[i];
    if (field->mods.items[i].kind == MOD_MAX) max = &field->mods.items[i];
  }
  Limits limits = {min ? limit_constant(check, min, type) : NO_CONSTANT, max ? limit_constant(check, max, type) : NO_CONSTANT};
  if (limits.min == NO_CONSTANT || limits.max == NO_CONSTANT) return limits;
  const Constant *low = &check->program->constants[limits.min], *high = &check->program->constants[limits.max];
  if (low->type == high->type && value_compare(&check->types.table, low->type, low->value, high->value) > 0)
    diag_help(check->diags, diag_add(check->diags, DIAG_E213, max->span, "`max` is below `min`, so that no value fits"), "swap the two");
  return limits;
}
