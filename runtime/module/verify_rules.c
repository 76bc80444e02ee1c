// One small function a rule of rules.def. When one runs, the verifier has checked every operand by its kind already:
// registers are there and of their class, indexes name something that is there. `base` operands alone are checked here,
// since only the rule knows how many registers follow.
#include <assert.h>

#include "runtime/base/decimal.h"
#include "runtime/module/verify.h"

#define BAD(...) verify__fail(v, __VA_ARGS__)

static TypeId type_a(const Verifier *v) { return verify__register(v, v->at.a); }
static TypeId type_b(const Verifier *v) { return verify__register(v, v->at.b); }
static TypeId type_c(const Verifier *v) { return verify__register(v, v->at.c); }
static Type kind_a(const Verifier *v) { return verify__type(v, type_a(v)); }
static Type kind_b(const Verifier *v) { return verify__type(v, type_b(v)); }
static Type kind_c(const Verifier *v) { return verify__type(v, type_c(v)); }

// ---- runs of registers ------------------------------------------------------------------------

static Err check_run(Verifier *v, uint32_t base, uint32_t count) {
  if (base + count > v->function->register_count) return BAD("needs %u registers from r%u, there are %u", count, base, v->function->register_count);
  return ERR_NONE;
}

static Err check_run_of(Verifier *v, uint32_t base, uint32_t count, TypeId type) {
  TRY(check_run(v, base, count));
  for (uint32_t i = 0; i < count; i++)
    if (verify__register(v, base + i) != type) return BAD("r%u is not of the items' type", base + i);
  return ERR_NONE;
}

static Err check_run_kind(Verifier *v, uint32_t base, uint32_t count, TypeKind kind) {
  TRY(check_run(v, base, count));
  for (uint32_t i = 0; i < count; i++)
    if (verify__type(v, verify__register(v, base + i)).kind != kind) return BAD("r%u is not of type %s", base + i, type_kind_words(kind));
  return ERR_NONE;
}

static Err check_run_fields(Verifier *v, uint32_t base, uint32_t count, const FieldDef *fields) {
  TRY(check_run(v, base, count));
  for (uint32_t i = 0; i < count; i++)
    if (verify__register(v, base + i) != fields[i].type) return BAD("r%u does not have the type of field %u", base + i, i);
  return ERR_NONE;
}

// ---- same types, constants, optionals ---------------------------------------------------------

static Err check_NONE(Verifier *v) { (void)v; return ERR_NONE; }
static Err check_SAME_AB(Verifier *v) { return type_a(v) == type_b(v) ? ERR_NONE : BAD("a and b have different types"); }
static Err check_SAME_BC(Verifier *v) { return type_b(v) == type_c(v) ? ERR_NONE : BAD("b and c have different types"); }
static Err check_SAME_ABC(Verifier *v) {
  return type_a(v) == type_b(v) && type_b(v) == type_c(v) ? ERR_NONE : BAD("a, b and c have different types");
}
static Err check_BOOL(Verifier *v) { return v->at.b <= 1 ? ERR_NONE : BAD("%u is neither 0 nor 1", v->at.b); }

static Err check_ENUM(Verifier *v) {
  const EnumDef *def = &v->types->enums[kind_a(v).of];
  if (!def->plain) return BAD("a's enum has fields");
  return v->at.b < def->case_count ? ERR_NONE : BAD("case %u of %u", v->at.b, def->case_count);
}

static Err check_CONST(Verifier *v) {
  return v->module->constants[v->at.k].type == type_a(v) ? ERR_NONE : BAD("constant %u does not have a's type", v->at.k);
}
static Err check_SOME(Verifier *v) {
  return kind_a(v).of == type_b(v) ? ERR_NONE : BAD("a is not an optional of b's type");
}
static Err check_OPEN(Verifier *v) {
  return kind_b(v).of == type_a(v) ? ERR_NONE : BAD("b is not an optional of a's type");
}

// ---- going on elsewhere -----------------------------------------------------------------------

static Err check_CALL(Verifier *v) {
  const Function *callee = &v->module->functions[v->at.b];
  if (callee->kind == FUNCTION_TEST) return BAD("a test cannot be called");
  TRY(check_run(v, v->at.c, callee->param_count));
  for (uint32_t i = 0; i < callee->param_count; i++)
    if (verify__register(v, v->at.c + i) != callee->registers[i]) return BAD("r%u does not have the type of parameter %u", v->at.c + i, i);
  if (v->at.op == OP_CALL && callee->result != type_a(v)) return BAD("a does not have the type of the result");
  return ERR_NONE;
}

static Err check_RETURN(Verifier *v) {
  if (v->regions[v->pc] != NO_BLOCK) return BAD("leaves the function from within a block");
  TypeId result = v->at.op == OP_RETURN ? type_a(v) : TYPE_NONE;
  return result == v->function->result ? ERR_NONE : BAD("not the function's type of result");
}

static Err check_REJECT(Verifier *v) {
  const ErrorDef *error = &v->module->errors[v->at.a];
  TRY(check_run_kind(v, v->at.b, 1, TYPE_TEXT));
  return check_run_fields(v, v->at.b + 1u, error->field_count, error->fields);
}

static Err check_BLOCK(Verifier *v) {
  uint16_t block = v->regions[v->pc];
  bool is_last = block != NO_BLOCK && v->function->blocks[block].end == v->pc + 1;
  return is_last ? ERR_NONE : BAD("not the last instruction of a block");
}

static Err check_CATCH(Verifier *v) { return v->regions[v->pc] == NO_BLOCK ? ERR_NONE : BAD("in a block"); }

// ---- numbers ----------------------------------------------------------------------------------

static Err check_MUL_D(Verifier *v) {
  return kind_a(v).scale == kind_b(v).scale + kind_c(v).scale ? ERR_NONE : BAD("a's scale is not the sum of the others");
}
static Err check_SCALE_D(Verifier *v) { return kind_a(v).scale >= kind_b(v).scale ? ERR_NONE : BAD("a's scale is smaller than b's"); }
static Err check_ROUND_D(Verifier *v) { return v->at.c < DECIMAL_ROUNDING_COUNT ? ERR_NONE : BAD("%u is no way of rounding", v->at.c); }

static Err check_ORDERED(Verifier *v) {
  TRY(check_SAME_BC(v));
  return type_is_ordered(v->types, type_b(v)) ? ERR_NONE : BAD("values of this type have no order");
}

// ---- texts, lists, records, enums -------------------------------------------------------------

static Err check_JOIN(Verifier *v) { return check_run_kind(v, v->at.b, v->at.c, TYPE_TEXT); }

static Err check_BUILTIN(Verifier *v) {
  BuiltinSignature *signature = &v->signatures[v->at.b];
  if (signature->node_count == 0) builtin_signature((BuiltinId)v->at.b, signature);
  BuiltinBinding binding;
  uint32_t bad = 0;
  TRY(check_run(v, v->at.c, signature->param_count));
  if (!builtin_unify(v->types, signature, v->function->registers + v->at.c, signature->param_count, &binding, &bad))
    return BAD("r%u does not fit parameter %u of %s", v->at.c + bad, bad, builtin_info((BuiltinId)v->at.b)->name);
  return builtin_result_is(v->types, signature, &binding, type_a(v)) ? ERR_NONE : BAD("a does not fit the result of %s", builtin_info((BuiltinId)v->at.b)->name);
}

static Err check_RECORD(Verifier *v) {
  const RecordDef *def = &v->types->records[kind_a(v).of];
  return check_run_fields(v, v->at.b, def->field_count, def->fields);
}

static Err check_field(Verifier *v, uint32_t count, const FieldDef *fields) {
  if (v->at.c >= count) return BAD("field %u of %u", v->at.c, count);
  return fields[v->at.c].type == type_a(v) ? ERR_NONE : BAD("a does not have the type of field %u", v->at.c);
}

static Err check_FIELD(Verifier *v) {
  const RecordDef *def = &v->types->records[kind_b(v).of];
  return check_field(v, def->field_count, def->fields);
}

static Err find_case(Verifier *v, Type type, uint32_t tag, const CaseDef **out_case) {
  const EnumDef *def = &v->types->enums[type.of];
  if (def->plain) return BAD("the enum has no fields");
  if (tag >= def->case_count) return BAD("case %u of %u", tag, def->case_count);
  *out_case = &def->cases[tag];
  return ERR_NONE;
}

static Err check_VARIANT(Verifier *v) {
  const CaseDef *def = NULL;
  TRY(find_case(v, kind_a(v), v->at.b, &def));
  return check_run_fields(v, v->at.c, def->field_count, def->fields);
}

static Err check_VARIANT_GET(Verifier *v) {
  const CaseDef *def = NULL;
  TRY(find_case(v, kind_b(v), v->at.x, &def));
  return check_field(v, def->field_count, def->fields);
}

static Err check_LIST(Verifier *v) { return check_run_of(v, v->at.b, v->at.c, kind_a(v).of); }
static Err check_ITEM_AB(Verifier *v) { return kind_a(v).of == type_b(v) ? ERR_NONE : BAD("b does not have the type of a's items"); }
static Err check_LIST_GET(Verifier *v) {
  return verify__is_optional_of(v, type_a(v), kind_b(v).of) ? ERR_NONE : BAD("a is not an optional of b's items");
}
static Err check_LIST_AT(Verifier *v) { return kind_b(v).of == type_a(v) ? ERR_NONE : BAD("a does not have the type of b's items"); }
static Err check_RANGE(Verifier *v) { return verify__type(v, kind_a(v).of).kind == TYPE_INT ? ERR_NONE : BAD("a is not a list of ints"); }
static Err check_CONTAINS(Verifier *v) { return kind_c(v).of == type_b(v) ? ERR_NONE : BAD("b does not have the type of c's items"); }

static Err check_SET_OF(Verifier *v) {
  return kind_a(v).kind == TYPE_SET && kind_a(v).of == kind_b(v).of ? ERR_NONE : BAD("a is not a set of b's items");
}

static Err check_MAP_OF(Verifier *v) {
  if (kind_a(v).kind != TYPE_MAP) return BAD("a is not a map");
  TRY(check_run(v, v->at.b, 2u * v->at.c));
  for (uint32_t i = 0; i < v->at.c; i++)
    if (verify__register(v, v->at.b + 2 * i) != kind_a(v).of || verify__register(v, v->at.b + 2 * i + 1) != kind_a(v).to)
      return BAD("pair %u does not have the map's types", i);
  return ERR_NONE;
}

static Err check_MAP_GET(Verifier *v) {
  if (kind_b(v).kind != TYPE_MAP || kind_b(v).of != type_c(v)) return BAD("b is not a map with keys of c's type");
  return verify__is_optional_of(v, type_a(v), kind_b(v).to) ? ERR_NONE : BAD("a is not an optional of b's values");
}

// ---- state ------------------------------------------------------------------------------------

static bool is_key_column(const TableDef *table, uint32_t column) {
  for (uint32_t i = 0; i < table->key_count; i++)
    if (table->key[i] == column) return true;
  return false;
}

static Err check_column(Verifier *v, uint32_t table, uint32_t column) {
  const TableDef *def = &v->module->schema.tables[table];
  if (column >= def->column_count) return BAD("column %u of %u", column, def->column_count);
  return def->columns[column].type == type_a(v) ? ERR_NONE : BAD("a does not have the type of the column");
}

static Err check_STATE(Verifier *v) {
  const TableDef *state = &v->module->schema.tables[SCHEMA_STATE_TABLE];
  TRY(check_column(v, SCHEMA_STATE_TABLE, v->at.b));
  if (v->at.op == OP_STATE_SET && (is_key_column(state, v->at.b) || state->columns[v->at.b].hidden)) return BAD("column %u of the state is not the app's to set", v->at.b);
  return ERR_NONE;
}

static Err check_key(Verifier *v, Type ref, TypeId key) {
  return v->types->table_keys[ref.of] == key ? ERR_NONE : BAD("not the type of the table's key");
}
static Err check_TO_REF(Verifier *v) { return check_key(v, kind_a(v), type_b(v)); }
static Err check_TO_KEY(Verifier *v) { return check_key(v, kind_b(v), type_a(v)); }
static Err check_ROW_FIND(Verifier *v) {
  Type ref = verify__type(v, kind_a(v).of);
  return ref.kind == TYPE_REF ? check_key(v, ref, type_b(v)) : BAD("a is not an optional reference");
}
static Err check_COLUMN(Verifier *v) { return check_column(v, kind_b(v).of, v->at.c); }
static Err check_COLUMN_SET(Verifier *v) {
  TRY(check_COLUMN(v));
  return is_key_column(&v->module->schema.tables[kind_b(v).of], v->at.c) ? BAD("column %u is part of the key", v->at.c) : ERR_NONE;
}

static Err check_INSERT(Verifier *v) {
  const TableDef *table = &v->module->schema.tables[v->at.b];
  if (v->at.b == SCHEMA_STATE_TABLE || kind_a(v).of != v->at.b) return BAD("a is not a reference to table %u", v->at.b);
  TRY(check_run(v, v->at.c, table->column_count));
  for (uint32_t i = 0; i < table->column_count; i++)
    if (verify__register(v, v->at.c + i) != table->columns[i].type) return BAD("r%u does not have the type of column %u", v->at.c + i, i);
  return ERR_NONE;
}

static Err find_scan(Verifier *v, const Stage **out_stage) {
  const Plan *plan = &v->function->plans[v->at.b];
  if (v->at.x >= plan->stage_count || plan->stages[v->at.x].kind != STAGE_SCAN) return BAD("stage %u of plan %u is no scan", v->at.x, v->at.b);
  *out_stage = &plan->stages[v->at.x];
  return ERR_NONE;
}

static Err check_CURSOR_KEY(Verifier *v) {
  const Stage *stage = NULL;
  TRY(find_scan(v, &stage));
  return kind_a(v).of == stage->table ? ERR_NONE : BAD("a is not a reference to the scan's table");
}
static Err check_CURSOR_COLUMN(Verifier *v) {
  const Stage *stage = NULL;
  TRY(find_scan(v, &stage));
  return check_column(v, stage->table, v->at.c);
}

// ---- the call's surroundings, tests -----------------------------------------------------------

static Err check_kind_a(Verifier *v, TypeKind kind) {
  return kind_a(v).kind == kind ? ERR_NONE : BAD("a is not of type %s", type_kind_words(kind));
}
static Err check_NOW(Verifier *v) { return check_kind_a(v, TYPE_TIME); }
static Err check_UUID(Verifier *v) { return check_kind_a(v, TYPE_UUID); }
static Err check_DURATION(Verifier *v) { return check_kind_a(v, TYPE_DURATION); }
static Err check_CALLER(Verifier *v) { return verify__type(v, kind_a(v).of).kind == TYPE_TEXT ? ERR_NONE : BAD("a is not text?"); }

static Err check_PARAM(Verifier *v) {
  bool is_entry = v->function->kind == FUNCTION_INPUT || v->function->kind == FUNCTION_VIEW;
  if (!is_entry || v->function->param_count > ENTRY_PARAMS_MAX) return BAD("not in a function that a caller's parameters reach");
  return v->at.b < v->function->param_count ? ERR_NONE : BAD("parameter %u of %u", v->at.b, v->function->param_count);
}

static Err check_SEND(Verifier *v) {
  const OutputDef *output = &v->module->outputs[v->at.b];
  return check_run_fields(v, v->at.c, output->field_count, output->fields);
}

static Err check_SENT(Verifier *v) {
  const OutputDef *output = &v->module->outputs[v->at.b];
  Type item = verify__type(v, kind_a(v).of);
  if (item.kind != TYPE_RECORD) return BAD("a is not a list of records");
  const RecordDef *record = &v->types->records[item.of];
  bool same = record->field_count == output->field_count;
  for (uint32_t i = 0; same && i < record->field_count; i++) same = record->fields[i].type == output->fields[i].type && str_equal(record->fields[i].name, output->fields[i].name);
  return same ? ERR_NONE : BAD("a's records do not have the fields of output %u", v->at.b);
}

static Err check_TOKEN(Verifier *v) {
  TRY(check_run_kind(v, v->at.b, 1, TYPE_TEXT));
  TRY(check_run_kind(v, v->at.b + 1u, 1, TYPE_INT));
  return check_run_kind(v, v->at.b + 2u, 1, TYPE_DURATION);
}

static Err check_ENTRY(Verifier *v) {
  const EntryDef *entry = &v->module->entries[v->at.b];
  TRY(check_run_kind(v, v->at.c, 1, TYPE_INT));
  TRY(check_run(v, v->at.c + 1u, entry->param_count));
  for (uint32_t i = 0; i < entry->param_count; i++)
    if (verify__register(v, v->at.c + 1u + i) != entry->params[i].type) return BAD("r%u does not have the type of parameter %u", v->at.c + 1u + i, i);
  if (v->at.op == OP_CALL_ENTRY && entry->result != type_a(v)) return BAD("a does not have the type of the result");
  return ERR_NONE;
}

static Err check_AS_ROLES(Verifier *v) {
  return verify__type(v, v->module->constants[v->at.k].type).kind == TYPE_INT ? ERR_NONE : BAD("constant %u is not an int", v->at.k);
}

const RuleCheck VERIFY__RULES[RULE_COUNT_] = {
#define RULE(name, words) [RULE_##name] = check_##name,
#include "runtime/module/rules.def"
#undef RULE
};
