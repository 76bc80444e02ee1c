// Expressions become instructions. lower_expr gives the register that holds the value: a local's own when it stands in
// one, else a temporary that the caller gives back; lower_into writes to a register that the caller has chosen.
//
// Most kinds write their destination once, as the last thing they do, so that it may be a local that they read. Those
// that write it early (`early_write`) get a temporary when it is one. Chains of binary operators are walked in a loop.
#include <assert.h>

#include "compiler/emit/lower.h"

static const int64_t DAY_US = 86400000000;

static void run_out(Emit *e) { if (e->failed == ERR_NONE) e->failed = ERR_MEMORY; }
static void cost_at_least(Emit *e, CostClass cost) { if (cost > e->cost) e->cost = cost; }
static TypeKind kind_of(const Emit *e, TypeId type) { return type_kind(e->types, type); }

// ---- constants ------------------------------------------------------------------------------------
static bool is_zero(const Emit *e, TypeId type, Value value) {
  switch (kind_of(e, type)) {
    case TYPE_DECIMAL: return value.dec == 0;
    case TYPE_TEXT: case TYPE_BYTES: return value.text.len == 0;
    case TYPE_OPTIONAL: return !value_is_some(e->types, type, value);
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return !value.list || value.list->count == 0;
    case TYPE_BOOL: case TYPE_INT: case TYPE_FLOAT: case TYPE_UUID: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: case TYPE_ENUM: case TYPE_RECORD:
    case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  return false;
}

static bool is_plain_enum(const Emit *e, TypeId type) {
  return kind_of(e, type) == TYPE_ENUM && e->types->enums[e->types->types[type].of].plain;
}

static void load_const(Emit *e, TypeId type, Value value, Reg dest) {
  if (kind_of(e, type) == TYPE_INT && value.i == (int32_t)value.i) code_wide(e, OP_INT, dest, (uint32_t)(int32_t)value.i);
  else if (kind_of(e, type) == TYPE_BOOL) code_op(e, OP_BOOL, dest, value.i != 0, 0);
  else if (is_plain_enum(e, type)) code_op(e, OP_ENUM, dest, (uint16_t)value.i, 0);
  else if (is_zero(e, type, value)) code_op(e, OP_ZERO, dest, 0, 0);
  else code_wide(e, OP_CONST, dest, const_index(e, type, value));
}

// A constant that a loop or block uses is loaded once, in the prologue.
static Operand hoist_const(Emit *e, TypeId type, Value value) {
  uint32_t constant = const_index(e, type, value);
  for (uint32_t i = 0; i < e->hoisted_count; i++)
    if (e->hoisted[i].constant == constant) return (Operand){e->hoisted[i].reg, false};
  Reg reg = reg_fixed(e, type);
  uint32_t outer = e->segment;
  e->segment = SEGMENT_PROLOGUE;
  load_const(e, type, value, reg);
  e->segment = outer;
  e->hoisted[e->hoisted_count++] = (HoistedConst){constant, reg};
  return (Operand){reg, false};
}

static Operand number(Emit *e, int64_t value) {
  if (e->loop_depth > 0 && e->hoisted_count < HOISTED_MAX) return hoist_const(e, e->type_int, (Value){.i = value});
  Reg reg = reg_temp(e, e->type_int);
  load_const(e, e->type_int, (Value){.i = value}, reg);
  return (Operand){reg, true};
}

// ---- arithmetic -----------------------------------------------------------------------------------
static Opcode arith_op(const Emit *e, const HExpr *expr) {
  static const uint8_t OPS[][3] = {
    [HOP_ADD] = {OP_ADD_I, OP_ADD_D, OP_ADD_F}, [HOP_SUB] = {OP_SUB_I, OP_SUB_D, OP_SUB_F}, [HOP_MUL] = {OP_MUL_I, OP_MUL_D, OP_MUL_F},
    [HOP_DIV] = {OP_DIV_I, OP_DIV_D, OP_DIV_F}, [HOP_MOD] = {OP_MOD_I, OP_COUNT_ & 0xFF, OP_COUNT_ & 0xFF},
  };
  TypeKind kind = kind_of(e, expr->a->type);
  return (Opcode)OPS[expr->op][kind == TYPE_DECIMAL ? 1 : kind == TYPE_FLOAT ? 2 : 0];
}

// date ± duration counts whole days (anything else is a fault: division by the zero that `day > rest` leaves), and
// date - date is a duration.
static bool is_date_math(const Emit *e, const HExpr *expr) {
  return kind_of(e, expr->a->type) == TYPE_DATE && (kind_of(e, expr->b->type) == TYPE_DURATION || kind_of(e, expr->type) == TYPE_DURATION);
}

static void date_and_days(Emit *e, const HExpr *expr, Reg a, Reg b, Reg dest) {
  Operand day = number(e, DAY_US);
  Reg rest = reg_temp(e, e->type_int), whole = reg_temp(e, e->type_bool), zero = reg_temp(e, e->type_int);
  Label fine = {0};
  code_op(e, OP_MOD_I, rest, b, day.reg);
  code_op(e, OP_ZERO, zero, 0, 0);
  code_op(e, OP_EQ_I, whole, rest, zero);
  code_jump(e, OP_JUMP_IF, whole, &fine);
  code_op(e, OP_DIV_I, rest, rest, zero);
  code_bind(e, &fine);
  code_op(e, OP_DIV_I, rest, b, day.reg);
  code_op(e, expr->op == HOP_SUB ? OP_SUB_I : OP_ADD_I, dest, a, rest);
  reg_free(e, rest);
  reg_free(e, whole);
  reg_free(e, zero);
  operand_free(e, day);
}

static void date_math(Emit *e, const HExpr *expr, Reg a, Reg b, Reg dest) {
  if (kind_of(e, expr->b->type) == TYPE_DURATION) {
    date_and_days(e, expr, a, b, dest);
    return;
  }
  Operand day = number(e, DAY_US);
  Reg days = reg_temp(e, e->type_int);
  code_op(e, OP_SUB_I, days, a, b);
  code_op(e, OP_MUL_I, dest, days, day.reg);
  reg_free(e, days);
  operand_free(e, day);
}

static void binary(Emit *e, const HExpr *expr, Reg a, Reg b, Reg dest) {
  e->span = expr->span;
  if (expr->kind == H_JOIN) code_op(e, OP_LIST_JOIN, dest, a, b);
  else if (is_date_math(e, expr)) date_math(e, expr, a, b, dest);
  else code_op(e, arith_op(e, expr), dest, a, b);
}

static bool is_chain(const HExpr *expr) { return expr->kind == H_ARITH || expr->kind == H_JOIN; }

// a op b op c …: from the left, with one accumulator a type.
static void lower_chain(Emit *e, const HExpr *expr, Reg dest) {
  uint32_t count = 0;
  for (const HExpr *at = expr; is_chain(at); at = at->a) count++;
  const HExpr **levels = ARENA_ARRAY(&e->scratch, const HExpr *, count);
  if (!levels) {
    run_out(e);
    return;
  }
  uint32_t place = count;
  for (const HExpr *at = expr; is_chain(at); at = at->a) levels[--place] = at;
  Operand sum = lower_expr(e, levels[0]->a);
  for (uint32_t i = 0; i < count; i++) {
    const HExpr *level = levels[i];
    Operand right = lower_expr(e, level->b);
    bool last = i + 1 == count, again = sum.temp && level->type == level->a->type;
    Reg target = last ? dest : again ? sum.reg : reg_temp(e, level->type);
    binary(e, level, sum.reg, right.reg, target);
    operand_free(e, right);
    if (sum.temp && target != sum.reg) reg_free(e, sum.reg);
    sum = (Operand){target, !last};
  }
}

// ---- comparing --------------------------------------------------------------------------------------
static bool is_word(const Emit *e, TypeId type) {
  switch (kind_of(e, type)) {
    case TYPE_BOOL: case TYPE_INT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: return true;
    case TYPE_ENUM: return is_plain_enum(e, type);
    case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: case TYPE_RECORD: case TYPE_OPTIONAL: case TYPE_LIST: case TYPE_SET:
    case TYPE_MAP: case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  return false;
}

static void compare(Emit *e, HOp op, TypeId type, Operand a, Operand b, Reg dest) {
  bool word = is_word(e, type);
  switch (op) {
    case HOP_EQ: code_op(e, word ? OP_EQ_I : OP_EQ, dest, a.reg, b.reg); return;
    case HOP_NE: code_op(e, word ? OP_NE_I : OP_NE, dest, a.reg, b.reg); return;
    case HOP_LT: code_op(e, word ? OP_LT_I : OP_LT, dest, a.reg, b.reg); return;
    case HOP_LE: code_op(e, word ? OP_LE_I : OP_LE, dest, a.reg, b.reg); return;
    case HOP_GT: code_op(e, word ? OP_LT_I : OP_LT, dest, b.reg, a.reg); return;
    case HOP_GE: code_op(e, word ? OP_LE_I : OP_LE, dest, b.reg, a.reg); return;
    case HOP_ADD: case HOP_SUB: case HOP_MUL: case HOP_DIV: case HOP_MOD: break;
  }
  assert(!"an arithmetic operator in a comparison");
}

static void lower_compare(Emit *e, const HExpr *expr, Reg dest) {
  Operand a = lower_expr(e, expr->a), b = lower_expr(e, expr->b);
  e->span = expr->span;
  compare(e, (HOp)expr->op, expr->a->type, a, b, dest);
  operand_free(e, a);
  operand_free(e, b);
}

// ---- and, or ------------------------------------------------------------------------------------------
// a and b and c: terms in order. A simple term is computed whatever came before (AND, OR); one that can fail or costs
// something is jumped over.
static void lower_logic(Emit *e, const HExpr *expr, Reg dest) {
  HExprKind kind = (HExprKind)expr->kind;
  uint32_t count = 0;
  for (const HExpr *at = expr; at->kind == kind; at = at->a) count++;
  const HExpr **terms = ARENA_ARRAY(&e->scratch, const HExpr *, count);
  if (!terms) {
    run_out(e);
    return;
  }
  uint32_t place = count;
  const HExpr *first = expr;
  for (; first->kind == kind; first = first->a) terms[--place] = first->b;
  Label end = {0};
  lower_into(e, first, dest);
  for (uint32_t i = 0; i < count; i++) {
    if (expr_is_simple(e, terms[i])) {
      Operand term = lower_expr(e, terms[i]);
      code_op(e, kind == H_AND ? OP_AND : OP_OR, dest, dest, term.reg);
      operand_free(e, term);
    } else {
      code_jump(e, kind == H_AND ? OP_JUMP_IF_NOT : OP_JUMP_IF, dest, &end);
      lower_into(e, terms[i], dest);
    }
  }
  code_bind(e, &end);
}

static void branch_logic(Emit *e, const HExpr *expr, bool sense, Label *label) {
  HExprKind kind = (HExprKind)expr->kind;
  uint32_t count = 1;
  for (const HExpr *at = expr; at->kind == kind; at = at->a) count++;
  const HExpr **terms = ARENA_ARRAY(&e->scratch, const HExpr *, count);
  if (!terms) {
    run_out(e);
    return;
  }
  const HExpr *at = expr;
  for (uint32_t i = count; i-- > 1; at = at->a) terms[i] = at->b;
  terms[0] = at;
  bool decides = kind == H_OR;  // one term with this value settles the whole
  Label past = {0};
  for (uint32_t i = 0; i < count; i++) {
    if (sense == decides || i + 1 == count) lower_branch(e, terms[i], sense, label);
    else lower_branch(e, terms[i], decides, &past);
  }
  code_bind(e, &past);
}

void lower_branch(Emit *e, const HExpr *expr, bool sense, Label *label) {
  while (expr->kind == H_NOT && !invariant_find(e, expr)) {
    expr = expr->a;
    sense = !sense;
  }
  if ((expr->kind == H_AND || expr->kind == H_OR) && !invariant_find(e, expr)) {
    branch_logic(e, expr, sense, label);
    return;
  }
  if (expr->kind == H_CONST) {
    if ((expr->value.i != 0) == sense) code_jump(e, OP_JUMP, 0, label);
    return;
  }
  bool has = expr->kind == H_HAS && !sense && !invariant_find(e, expr);
  Operand value = lower_expr(e, has ? expr->a : expr);
  code_jump(e, has ? OP_JUMP_NONE : sense ? OP_JUMP_IF : OP_JUMP_IF_NOT, value.reg, label);
  operand_free(e, value);
}

// ---- choices --------------------------------------------------------------------------------------------
static void lower_if(Emit *e, const HExpr *expr, Reg dest) {
  Label end = {0};
  while (expr->kind == H_IF) {  // else if …
    Label other = {0};
    lower_branch(e, expr->a, false, &other);
    lower_into(e, expr->b, dest);
    code_jump(e, OP_JUMP, 0, &end);
    code_bind(e, &other);
    expr = expr->c;
  }
  lower_into(e, expr, dest);
  code_bind(e, &end);
}

static void lower_if_some(Emit *e, const HExpr *expr, Reg dest) {
  Label none = {0}, end = {0};
  Operand value = lower_expr(e, expr->a);
  code_jump(e, OP_JUMP_NONE, value.reg, &none);
  code_op(e, OP_OPEN, local_reg(e, expr->local), value.reg, 0);
  operand_free(e, value);
  lower_into(e, expr->b, dest);
  code_jump(e, OP_JUMP, 0, &end);
  code_bind(e, &none);
  lower_into(e, expr->c, dest);
  code_bind(e, &end);
}

// The number of the case, once for all arms; a plain enum is compared as it is.
Operand lower_match_tag(Emit *e, const HExpr *matched, const HArms *arms, Operand value) {
  bool wanted = false;
  for (uint32_t i = 0; i < arms->count; i++)
    for (uint32_t j = 0; j < arms->items[i].pattern_count; j++) wanted = wanted || arms->items[i].patterns[j].kind == HPAT_CASE;
  if (!wanted || kind_of(e, matched->type) != TYPE_ENUM) return (Operand){0};
  Reg tag = reg_temp(e, e->type_int);
  code_op(e, OP_ENUM_TAG, tag, value.reg, 0);
  return (Operand){tag, true};
}

static void bind_case(Emit *e, const HPattern *pattern, Reg value) {
  for (uint32_t i = 0; i < pattern->bind_count; i++)
    if (pattern->binds[i] != NO_LOCAL) code_op_x(e, OP_VARIANT_GET, (uint8_t)pattern->tag, local_reg(e, pattern->binds[i]), value | i << 16);
}

// Goes to `no` when the pattern does not fit, else falls through with its locals set.
static void test_pattern(Emit *e, const HPattern *pattern, Operand matched, Operand tag, Label *no) {
  switch (pattern->kind) {
    case HPAT_ANY: return;
    case HPAT_SOME:
      code_jump(e, OP_JUMP_NONE, matched.reg, no);
      if (pattern->bind_count && pattern->binds[0] != NO_LOCAL) code_op(e, OP_OPEN, local_reg(e, pattern->binds[0]), matched.reg, 0);
      return;
    case HPAT_NONE: {
      Label is_none = {0};
      code_jump(e, OP_JUMP_NONE, matched.reg, &is_none);
      code_jump(e, OP_JUMP, 0, no);
      code_bind(e, &is_none);
      return;
    }
    case HPAT_CASE: case HPAT_VALUE: break;
  }
  Operand wanted = pattern->kind == HPAT_CASE ? number(e, pattern->tag) : lower_expr(e, pattern->value);
  Reg same = reg_temp(e, e->type_bool);
  if (pattern->kind == HPAT_CASE) code_op(e, OP_EQ_I, same, tag.reg, wanted.reg);
  else compare(e, HOP_EQ, pattern->value->type, matched, wanted, same);
  code_jump(e, OP_JUMP_IF_NOT, same, no);
  reg_free(e, same);
  operand_free(e, wanted);
  if (pattern->kind == HPAT_CASE) bind_case(e, pattern, matched.reg);
}

void lower_patterns(Emit *e, const HArm *arm, Operand matched, Operand tag, Label *next_arm) {
  Label fits = {0};
  for (uint32_t i = 0; i < arm->pattern_count; i++) {
    const HPattern *pattern = &arm->patterns[i];
    assert((pattern->kind != HPAT_CASE || (tag.temp && (pattern->tag < 256 || !pattern->bind_count))) && "check sees to it (ENUM_FIELD_CASES_MAX)");
    if (i + 1 == arm->pattern_count) {
      test_pattern(e, pattern, matched, tag, next_arm);
    } else {
      Label other = {0};
      test_pattern(e, pattern, matched, tag, &other);
      code_jump(e, OP_JUMP, 0, &fits);
      if (!other.bound) code_bind(e, &other);
    }
  }
  code_bind(e, &fits);
}

static void lower_match(Emit *e, const HExpr *expr, Reg dest) {
  Operand matched = lower_expr(e, expr->matched), tag = lower_match_tag(e, expr->matched, &expr->arms, matched);
  Label end = {0};
  for (uint32_t i = 0; i < expr->arms.count; i++) {
    Label next_arm = {0};
    e->span = expr->span;
    lower_patterns(e, &expr->arms.items[i], matched, tag, &next_arm);
    lower_into(e, expr->arms.items[i].value, dest);
    if (i + 1 < expr->arms.count) code_jump(e, OP_JUMP, 0, &end);
    code_bind(e, &next_arm);
  }
  code_bind(e, &end);
  operand_free(e, matched);
  operand_free(e, tag);
}

// ---- runs of arguments ------------------------------------------------------------------------------------
static TypeId arg_type(const Emit *e, const HExpr *expr, uint32_t i) {
  const HExpr *arg = expr->args.items[i];
  return arg ? arg->type : e->schema->tables[expr->table].columns[i].type;
}

// Arguments in neighbouring registers, `extra` first when it is not NULL. An argument that is left out (an auto key) is zero.
typedef struct Run { Reg base; uint32_t count; } Run;
static Run lower_run(Emit *e, const HExpr *expr) {
  uint32_t count = expr->args.count;
  TypeId *types = ARENA_ARRAY(&e->scratch, TypeId, count);
  if (!types) {
    run_out(e);
    return (Run){0};
  }
  for (uint32_t i = 0; i < count; i++) types[i] = arg_type(e, expr, i);
  Run run = {run_take(e, types, count), count};
  if (e->limit_told) return run;
  for (uint32_t i = 0; i < count; i++) {
    if (expr->args.items[i]) lower_into(e, expr->args.items[i], (Reg)(run.base + i));
    else code_op(e, OP_ZERO, (Reg)(run.base + i), 0, 0);
  }
  e->span = expr->span;
  return run;
}

enum { LIST_RUN_MAX = 32 };
static void lower_list(Emit *e, const HExpr *expr, Reg dest) {
  if (expr->args.count <= LIST_RUN_MAX) {
    Run run = lower_run(e, expr);
    code_op(e, OP_LIST_NEW, dest, run.base, (uint16_t)run.count);
    run_free(e, run.base, run.count);
    return;
  }
  code_op(e, OP_ZERO, dest, 0, 0);
  for (uint32_t i = 0; i < expr->args.count; i++) {
    Operand item = lower_expr(e, expr->args.items[i]);
    code_op(e, OP_LIST_PUSH, dest, item.reg, 0);
    operand_free(e, item);
  }
}

static void lower_with_run(Emit *e, const HExpr *expr, Reg dest) {
  Run run = lower_run(e, expr);
  switch (expr->kind) {
    case H_CALL:
      cost_at_least(e, (CostClass)e->costs[expr->function->index]);
      code_op(e, OP_CALL, dest, expr->function->index, run.base);
      break;
    case H_BUILTIN: code_op(e, OP_BUILTIN, dest, (uint16_t)expr->index, run.base); break;
    case H_TEXT: code_op(e, OP_TEXT_JOIN, dest, run.base, (uint16_t)run.count); break;
    case H_RECORD: code_op(e, OP_RECORD_NEW, dest, run.base, 0); break;
    case H_VARIANT: code_op(e, OP_VARIANT_NEW, dest, (uint16_t)expr->index, run.base); break;
    case H_MAP: code_op(e, OP_MAP_OF, dest, run.base, (uint16_t)(run.count / 2)); break;
    case H_INSERT: cost_at_least(e, COST_POINT); code_op(e, OP_INSERT, dest, expr->table, run.base); break;
    case H_ISSUE_TOKEN: code_op(e, OP_ISSUE_TOKEN, dest, run.base, 0); break;
    default: assert(!"has no arguments"); break;
  }
  run_free(e, run.base, run.count);
}

// A text of very many pieces is joined in groups, so that it does not need a register for each piece at once.
enum { TEXT_RUN_MAX = 64 };
static void lower_text(Emit *e, const HExpr *expr, Reg dest) {
  if (expr->args.count <= TEXT_RUN_MAX) {
    lower_with_run(e, expr, dest);
    return;
  }
  uint32_t groups = (expr->args.count + TEXT_RUN_MAX - 1) / TEXT_RUN_MAX;
  TypeId *types = ARENA_ARRAY(&e->scratch, TypeId, groups);
  if (!types) {
    run_out(e);
    return;
  }
  for (uint32_t i = 0; i < groups; i++) types[i] = expr->type;
  Reg base = run_take(e, types, groups);
  for (uint32_t i = 0; i < groups && !e->limit_told; i++) {
    HExpr group = *expr;
    uint32_t left = expr->args.count - i * TEXT_RUN_MAX;
    group.args = (HExprs){left < TEXT_RUN_MAX ? left : TEXT_RUN_MAX, expr->args.items + i * TEXT_RUN_MAX};
    lower_with_run(e, &group, (Reg)(base + i));
  }
  code_op(e, OP_TEXT_JOIN, dest, base, (uint16_t)groups);
  run_free(e, base, groups);
}

// A test's call: the bits of the given parameters stand in front of the arguments.
static void lower_call_entry(Emit *e, const HExpr *expr, Reg dest) {
  uint32_t count = expr->args.count + 1;
  TypeId types[ENTRY_PARAMS_MAX + 1] = {e->type_int};
  assert(count <= ENTRY_PARAMS_MAX + 1);
  for (uint32_t i = 1; i < count; i++) types[i] = expr->args.items[i - 1]->type;
  Reg base = run_take(e, types, count);
  if (e->limit_told) return;
  load_const(e, e->type_int, (Value){.i = (int64_t)expr->given}, base);
  for (uint32_t i = 1; i < count; i++) lower_into(e, expr->args.items[i - 1], (Reg)(base + i));
  e->span = expr->span;
  code_op(e, dest == NO_REGISTER ? OP_CALL_ENTRY_VOID : OP_CALL_ENTRY, dest == NO_REGISTER ? 0 : dest, (uint16_t)expr->index, base);
  run_free(e, base, count);
}

// ---- one and two operands -----------------------------------------------------------------------------------
static void lower_two(Emit *e, const HExpr *expr, Opcode op, Reg dest) {
  Operand a = lower_expr(e, expr->a), b = lower_expr(e, expr->b);
  e->span = expr->span;
  code_op(e, op, dest, a.reg, b.reg);
  operand_free(e, a);
  operand_free(e, b);
}

static void lower_one(Emit *e, const HExpr *expr, Opcode op, uint16_t c, Reg dest) {
  Operand a = lower_expr(e, expr->a);
  e->span = expr->span;
  code_op(e, op, dest, a.reg, c);
  operand_free(e, a);
}

static Opcode convert_op(HConvert convert) {
  switch (convert) {
    case CONVERT_SOME: return OP_SOME;
    case CONVERT_INT_TO_DECIMAL: return OP_INT_TO_D;
    case CONVERT_SCALE: return OP_SCALE_D;
    case CONVERT_FIT: return OP_FIT_D;
    case CONVERT_INT_TO_FLOAT: return OP_INT_TO_F;
    case CONVERT_TO_TEXT: return OP_TO_TEXT;
    case CONVERT_TO_KEY: return OP_TO_KEY;
    case CONVERT_TO_REF: return OP_TO_REF;
    case CONVERT_ENUM_TO_INT: return OP_ENUM_TAG;
  }
  return OP_MOVE;
}

static Opcode neg_op(const Emit *e, TypeId type) {
  return kind_of(e, type) == TYPE_DECIMAL ? OP_NEG_D : kind_of(e, type) == TYPE_FLOAT ? OP_NEG_F : OP_NEG_I;
}

static const ColumnReg *carried_column(const Emit *e, const HExpr *expr) {
  if (expr->kind != H_COLUMN || expr->a->kind != H_LOCAL) return NULL;
  for (const ColumnReg *at = e->locals[expr->a->local].columns; at; at = at->next)
    if (at->column == expr->index) return at;
  return NULL;
}

static void lower_column(Emit *e, const HExpr *expr, Reg dest) {
  const ColumnReg *carried = carried_column(e, expr);
  if (carried) {
    code_op(e, OP_MOVE, dest, carried->reg, 0);
    return;
  }
  const LocalState *row = expr->a->kind == H_LOCAL ? &e->locals[expr->a->local] : NULL;
  if (row && row->at_cursor) {
    e->span = expr->span;
    code_op_x(e, OP_CURSOR_COLUMN, row->stage, dest, row->plan | expr->index << 16);
    return;
  }
  cost_at_least(e, COST_POINT);
  lower_one(e, expr, OP_COLUMN_GET, (uint16_t)expr->index, dest);
}

static void lower_local(Emit *e, const HExpr *expr, Reg dest) {
  const LocalState *state = &e->locals[expr->local];
  if (state->at_cursor) code_op_x(e, OP_CURSOR_KEY, state->stage, dest, state->plan);
  else if (local_reg(e, expr->local) != dest) code_op(e, OP_MOVE, dest, local_reg(e, expr->local), 0);
}

// ---- every kind ---------------------------------------------------------------------------------------------
static void lower_kind(Emit *e, const HExpr *expr, Reg dest) {
  switch ((HExprKind)expr->kind) {
    case H_CONST: load_const(e, expr->type, expr->value, dest); return;
    case H_LOCAL: lower_local(e, expr, dest); return;
    case H_STATE: cost_at_least(e, COST_POINT); code_op(e, OP_STATE_GET, dest, (uint16_t)expr->index, 0); return;
    case H_ARITH: case H_JOIN: lower_chain(e, expr, dest); return;
    case H_NEG: lower_one(e, expr, neg_op(e, expr->type), 0, dest); return;
    case H_COMPARE: lower_compare(e, expr, dest); return;
    case H_AND: case H_OR: lower_logic(e, expr, dest); return;
    case H_NOT: lower_one(e, expr, OP_NOT, 0, dest); return;
    case H_CONVERT: lower_one(e, expr, convert_op((HConvert)expr->op), 0, dest); return;
    case H_OPEN: lower_one(e, expr, OP_OPEN, 0, dest); return;
    case H_HAS: lower_one(e, expr, OP_HAS, 0, dest); return;
    case H_IF: lower_if(e, expr, dest); return;
    case H_IF_SOME: lower_if_some(e, expr, dest); return;
    case H_MATCH: lower_match(e, expr, dest); return;
    case H_TEXT: lower_text(e, expr, dest); return;
    case H_CALL: case H_BUILTIN: case H_RECORD: case H_VARIANT: case H_MAP: case H_INSERT: case H_ISSUE_TOKEN: lower_with_run(e, expr, dest); return;
    case H_DIVIDE: lower_two(e, expr, OP_DIV_D, dest); return;
    case H_ROUND: lower_one(e, expr, OP_ROUND_D, expr->op, dest); return;
    case H_FIELD: lower_one(e, expr, OP_RECORD_GET, (uint16_t)expr->index, dest); return;
    case H_LIST: lower_list(e, expr, dest); return;
    case H_SET: lower_one(e, expr, OP_SET_OF, 0, dest); return;
    case H_RANGE: lower_two(e, expr, OP_RANGE, dest); return;
    case H_ITEM: lower_two(e, expr, OP_LIST_GET, dest); return;
    case H_LOOKUP: lower_two(e, expr, OP_MAP_GET, dest); return;
    case H_COUNT: lower_one(e, expr, OP_COUNT, 0, dest); return;
    case H_IN: lower_two(e, expr, OP_CONTAINS, dest); return;
    case H_FIND: cost_at_least(e, COST_POINT); lower_one(e, expr, OP_ROW_FIND, 0, dest); return;
    case H_FIND_UNIQUE: lower_find_unique(e, expr, dest); return;
    case H_COLUMN: lower_column(e, expr, dest); return;
    case H_QUERY: lower_query_list(e, expr, dest); return;
    case H_AGGREGATE: lower_aggregate(e, expr, dest); return;
    case H_NOW: code_op(e, OP_NOW, dest, 0, 0); return;
    case H_CALLER: code_op(e, OP_CALLER, dest, 0, 0); return;
    case H_NEW_UUID: code_op(e, OP_NEW_UUID, dest, 0, 0); return;
    case H_CALLER_IS: code_op(e, OP_CALLER_IS, dest, (uint16_t)expr->index, 0); return;
    case H_RANDOM: lower_two(e, expr, OP_RANDOM, dest); return;
    case H_GIVEN: code_op(e, OP_GIVEN, dest, (uint16_t)expr->index, 0); return;
    case H_POSITION:
      assert(e->position != NO_REGISTER && "the checker lets it stand in a select only");
      code_op(e, OP_MOVE, dest, e->position, 0);
      return;
    case H_CALL_ENTRY: lower_call_entry(e, expr, dest); return;
    case H_SENT: code_op(e, OP_SENT, dest, (uint16_t)expr->index, 0); return;
    case H_KINDS: break;
  }
  assert(!"every kind of expression stands above");
}

// Kinds that write their destination before they have read everything.
static bool early_write(const HExpr *expr) {
  switch (expr->kind) {
    case H_AND: case H_OR: case H_LIST: case H_QUERY: case H_AGGREGATE: return true;
    default: return false;
  }
}

void lower_into(Emit *e, const HExpr *expr, Reg dest) {
  if (e->limit_told || e->failed != ERR_NONE) return;
  Span outer = e->span;
  if (!span_is_none(expr->span)) e->span = expr->span;
  const Invariant *invariant = invariant_find(e, expr);
  if (invariant) {
    code_op(e, OP_MOVE, dest, invariant->reg, 0);
  } else if (early_write(expr) && reg_is_fixed(e, dest)) {
    Reg temp = reg_temp(e, expr->type);
    lower_kind(e, expr, temp);
    code_op(e, OP_MOVE, dest, temp, 0);
    reg_free(e, temp);
  } else {
    lower_kind(e, expr, dest);
  }
  e->span = outer;
}

Operand lower_expr(Emit *e, const HExpr *expr) {
  if (expr->kind == H_LOCAL && !e->locals[expr->local].at_cursor) return (Operand){local_reg(e, expr->local), false};
  const ColumnReg *carried = carried_column(e, expr);
  if (carried) return (Operand){carried->reg, false};
  const Invariant *invariant = invariant_find(e, expr);
  if (invariant) return (Operand){invariant->reg, false};
  if (expr->kind == H_CONST && e->loop_depth > 0 && e->hoisted_count < HOISTED_MAX) return hoist_const(e, expr->type, expr->value);
  Reg temp = reg_temp(e, expr->type);
  lower_into(e, expr, temp);
  return (Operand){temp, true};
}

void lower_drop(Emit *e, const HExpr *expr) {
  if (expr->kind == H_CALL_ENTRY) {
    lower_call_entry(e, expr, NO_REGISTER);
  } else if (expr->kind == H_CALL && expr->function->result == TYPE_NONE) {
    Run run = lower_run(e, expr);
    cost_at_least(e, (CostClass)e->costs[expr->function->index]);
    code_op(e, OP_CALL_VOID, 0, expr->function->index, run.base);
    run_free(e, run.base, run.count);
  } else {
    operand_free(e, lower_expr(e, expr));
  }
}
