// Limits and defaults of the fields of records and cases. A host fills in and holds against them what comes in as JSON, so
// they stand in the module as constants; within the app a literal that leaves a field out gets the same constant. They are
// found out when they are first needed, since unnamed records come up in bodies too.
//
// A case whose fields have limits is made by a function of its own, which looks at them; so a value past them is nowhere.
#include "compiler/check/internal.h"

#include <assert.h>

static uint64_t rule_key(FieldRule of) { return (uint64_t)of.owner << 32 | (uint64_t)of.tag << 16 | of.field; }

// ---- constants --------------------------------------------------------------------------------

static bool constants_of(Check *check, const HExprs *args, Value *out) {
  for (uint32_t i = 0; i < args->count; i++)
    if (!constant_value(check, args->items[i], &out[i])) return false;
  return true;
}

bool constant_value(Check *check, const HExpr *a, Value *out) {
  if (is_poison(a)) return false;
  if (a->kind == H_CONST) {
    *out = a->value;
    return true;
  }
  if (a->kind == H_CONVERT && a->op == CONVERT_SOME) {
    if (!constant_value(check, a->a, out)) return false;
    *out = value_some(&check->types.table, a->type, *out);
    return true;
  }
  if (a->kind == H_RECORD) {
    Value *record = record_new(check->arena, a->args.count);
    out->record = record;
    return record && constants_of(check, &a->args, record);
  }
  if (a->kind == H_LIST) {
    List *list = list_new(check->arena, a->args.count);
    out->list = list;
    return list && constants_of(check, &a->args, list->items);
  }
  if (a->kind != H_VARIANT) return false;
  Variant *variant = variant_new(check->arena, a->index, a->args.count);
  out->variant = variant;
  return variant && constants_of(check, &a->args, variant->fields);
}

static uint32_t fallback_of(Check *check, const Field *field, TypeId type) {
  HExpr *value = check_value(check, field->initial, type, &(Why){.what = "the field", .name = field->name.sym, .span = field->name.span});
  Value constant = {.dec = 0};
  if (is_poison(value)) return NO_CONSTANT;
  if (!constant_value(check, value, &constant)) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E215, field->initial->span, "the default of a record's or case's field is known when the app is compiled"),
              "write a constant, or leave the default away and give the field where the value is made");
    return NO_CONSTANT;
  }
  check->program->module.schema.types = check->types.table;
  return hir_constant(check->program, type, constant);
}

// ---- rules ------------------------------------------------------------------------------------

static void settle_field(Check *check, FieldRule of, const Field *field, TypeId type) {
  if (type == ID_POISON) return;
  of.limits = limits_of(check, field, type);
  of.fallback = field->initial ? fallback_of(check, field, type) : NO_CONSTANT;
  if (!limits_any(of.limits) && of.fallback == NO_CONSTANT) return;
  FieldRule *rule = LIST_ADD(check, &check->field_rules);
  if (!rule) return;
  *rule = of;
  if (!map_put(&check->rule_numbers, rule_key(of), check->field_rules.count - 1)) check->failed = true;
}

static void settle_record(Check *check, uint32_t number) {
  RecordInfo *info = &check->types.infos[number];
  if (info->settled || !info->fields) return;
  info->settled = true;
  const RecordDef def = check->types.records[number];  // its array may move while defaults are checked
  const FieldList *fields = info->fields;
  for (uint32_t i = 0; i < def.field_count; i++)
    settle_field(check, (FieldRule){.owner = (uint16_t)number, .tag = NO_CASE, .field = (uint16_t)i}, &fields->items[i], def.fields[i].type);
}

static void settle_enum(Check *check, uint32_t number) {
  const CaseList *cases = &check->types.enum_decls[number]->enumeration.cases;
  const EnumDef def = check->types.enums[number];
  for (uint32_t tag = 0; tag < def.case_count; tag++) {
    for (uint32_t i = 0; i < def.cases[tag].field_count; i++)
      settle_field(check, (FieldRule){.owner = (uint16_t)number, .tag = (uint16_t)tag, .field = (uint16_t)i}, &cases->items[tag].fields.items[i], def.cases[tag].fields[i].type);
  }
}

void fields_settle(Check *check) {
  for (; check->settled_enums < check->types.table.enum_count && !check->failed; check->settled_enums++) settle_enum(check, check->settled_enums);
  for (uint32_t i = 0; i < check->types.table.record_count && !check->failed; i++) settle_record(check, i);
}

const FieldRule *field_rule(Check *check, FieldRule of) {
  if (of.tag == NO_CASE) settle_record(check, of.owner);
  uint32_t number = map_get(&check->rule_numbers, rule_key(of));
  return number == MAP_NOTHING ? NULL : &check->field_rules.items[number];
}

HExpr *field_default(Check *check, FieldRule of, const Field *field, TypeId type, Span span) {
  const FieldRule *rule = field && field->initial ? field_rule(check, of) : NULL;
  if (!field || !field->initial) return types_is(&check->types, type, TYPE_OPTIONAL) ? h_none(check, type, span) : NULL;
  if (!rule || rule->fallback == NO_CONSTANT) return h_poison(check, span);  // what is wrong was said
  return h_const(check, type, check->program->constants[rule->fallback].value, span);
}

// ---- cases with limits ------------------------------------------------------------------------

static bool case_has_limits(Check *check, uint16_t number, uint16_t tag, const CaseDef *def) {
  for (uint16_t i = 0; i < def->field_count; i++) {
    const FieldRule *rule = field_rule(check, (FieldRule){.owner = number, .tag = tag, .field = i});
    if (rule && limits_any(rule->limits)) return true;
  }
  return false;
}

Fn *case_maker(Check *check, uint16_t number, uint16_t tag) {
  const CaseDef *def = &check->types.enums[number].cases[tag];
  uint64_t key = (uint64_t)number << 16 | tag;
  uint32_t known = map_get(&check->makers, key);
  if (known != MAP_NOTHING) return check->functions.items[known];
  if (!case_has_limits(check, number, tag, def)) return NULL;
  const Decl *decl = check->types.enum_decls[number];
  const Case *written = &decl->enumeration.cases.items[tag];
  Fn *fn = fn_new(check, FUNCTION_FN, decl, written->name);
  Param *params = CHECK_ARRAY(check, Param, def->field_count);
  if (!fn || !params || !map_put(&check->makers, key, check->functions.count - 1)) { check->failed = true; return NULL; }
  for (uint32_t i = 0; i < def->field_count; i++) {
    const FieldRule *rule = field_rule(check, (FieldRule){.owner = number, .tag = tag, .field = (uint16_t)i});
    params[i] = (Param){.sym = written->fields.items[i].name.sym, .span = written->fields.items[i].name.span, .type = def->fields[i].type,
                        .limits = rule ? rule->limits : (Limits){NO_CONSTANT, NO_CONSTANT}};
  }
  fn->h.name = arena_format(check->arena, STR_FMT "." STR_FMT, SYM_ARG(check, decl->name.sym), STR_ARG(def->name));
  fn->params = params;
  fn->param_count = def->field_count;
  fn->makes_case = true;
  fn->case_tag = tag;
  fn->used = fn->result_known = true;
  fn->h.result = types_get(&check->types, (Type){.kind = TYPE_ENUM, .of = number});
  return fn;
}

void maker_body(Check *check, Fn *fn) {
  HExpr *made = h_args(check, H_VARIANT, fn->h.result, fn->param_count, fn->name_span);
  HStmt *stmt = CHECK_NEW(check, HStmt);
  if (!stmt || !made->args.count) return;
  made->index = fn->case_tag;
  for (uint32_t i = 0; i < fn->param_count; i++) made->args.items[i] = h_local(check, i, fn->params[i].span);
  *stmt = (HStmt){.kind = HS_RETURN, .a = made, .span = fn->name_span, .local = NO_LOCAL};
  fn->h.body = (HStmts){.count = 1, .items = stmt};
}
