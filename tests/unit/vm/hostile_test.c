// Programs that nobody wrote: instructions put together at random as far as the verifier lets them, and modules whose
// bytes were changed. What is accepted must run without harm (the sanitizers watch) and end with its fuel.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "runtime/base/rng.h"
#include "runtime/module/builtins.h"
#include "runtime/module/layout.h"
#include "runtime/module/opcode.h"
#include "tests/unit/module/build.h"
#include "tests/unit/vm/zero_host.h"

enum { CODE = 40, BLOCK_AT = 28 };

// A test function with two registers of every type, a plan over a scan with a block and one over numbers, and code that
// does nothing yet; before it a fn that it may call and an entry.
static void build_blank(Build *b) {
  build_init(b);
  build_constant(b, T_INT, (Value){.i = 3});
  build_constant(b, T_TEXT, (Value){.text = STR("añ b,c")});
  build_constant(b, T_DEC2, (Value){.dec = INT64_MAX});
  build_begin(b, FUNCTION_FN, T_TEXT);
  build_param(b, T_TEXT);
  uint16_t text = build_register(b, T_TEXT);
  build_emit(b, OP_TEXT_JOIN, text, 0, 2);
  build_emit(b, OP_RETURN, text, 0, 0);
  build_end(b);
  build_begin(b, FUNCTION_INPUT, T_INT);
  build_param(b, T_INT);
  build_emit(b, OP_RETURN, 0, 0, 0);
  build_end(b);
  build_entry(b, ENTRY_INPUT, "i", 1);
  build_begin(b, FUNCTION_TEST, T_INT);
  for (uint16_t i = 0; i < 2 * T_BASE_COUNT; i++) build_register(b, i % T_BASE_COUNT);
  for (uint32_t i = 0; i < BLOCK_AT - 1; i++) build_emit(b, OP_MOVE, T_INT, T_INT, 0);
  build_emit(b, OP_RETURN, T_INT, 0, 0);
  for (int k = 0; k < 2; k++) {
    build_block_begin(b);
    for (int i = 0; i < (CODE - BLOCK_AT) / 2 - 1; i++) build_emit(b, OP_MOVE, T_INT, T_INT, 0);
    build_block_end(b);
  }
  build_plan(b, 2, (Stage[]){{.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = SCHEMA_NO_INDEX, .block = NO_BLOCK, .from = NO_REGISTER, .to = T_ITEM},
                             {.kind = STAGE_FILTER, .block = 0, .from = T_BOOL, .to = NO_REGISTER}});
  build_plan(b, 1, (Stage[]){{.kind = STAGE_LIST, .block = 1, .from = T_LIST_INT, .to = T_INT}});
  build_end(b);
}

static const TypeId CLASSES[][8] = {
  {T_BOOL}, {T_INT}, {T_INT, T_INT, T_TIME, T_DURATION}, {T_DEC2, T_DEC4, T_DEC0, T_DEC2}, {T_FLOAT}, {T_TEXT}, {T_OPT_INT, T_OPT_TEXT, T_OPT_ITEM, T_OPT_POINT}, {T_LIST_INT, T_LIST_TEXT, T_LIST_OPT, T_LIST_INT},
  {T_LIST_INT, T_SET_INT, T_MAP, T_LIST_TEXT}, {T_POINT, T_PAIR_KEY}, {T_COLOR, T_SHAPE}, {T_ITEM, T_PAIR}, {T_INT, T_COLOR, T_BOOL, T_TIME},
};

// A register of the class where the class is narrow, so that more than one in ten instructions fits.
static uint16_t random_operand(Rng *rng, OperandKind kind) {
  if (kind == OPERAND__) return 0;
  size_t class = (size_t)(operand_class(kind) - OPERAND_wB);
  bool is_register = operand_is_read(kind) || operand_is_written(kind);
  if (is_register && class < countof(CLASSES)) {
    uint64_t pick = rng_below(rng, 4);
    return (uint16_t)((CLASSES[class][pick] ? CLASSES[class][pick] : CLASSES[class][0]) + rng_below(rng, 2) * T_BASE_COUNT);
  }
  if (is_register || kind == OPERAND_base) return (uint16_t)rng_below(rng, 2 * T_BASE_COUNT);
  if (kind == OPERAND_blt) return (uint16_t)rng_below(rng, BUILTIN_COUNT_);
  return (uint16_t)rng_below(rng, 8);
}

static Instruction random_instruction(Rng *rng) {
  Instruction at = {.op = (uint8_t)rng_below(rng, OP_COUNT_)};
  const OpcodeInfo *info = opcode_info(at.op);
  at.a = random_operand(rng, (OperandKind)info->a);
  if (info->b == OPERAND_jmp) at.k = (uint32_t)rng_below(rng, CODE);
  else if (info->b == OPERAND_w32) at.k = (uint32_t)rng_next(rng);
  else if (info->b == OPERAND_con) at.k = (uint32_t)rng_below(rng, 3);
  else { at.b = random_operand(rng, (OperandKind)info->b); at.c = random_operand(rng, (OperandKind)info->c); }
  bool has_x = at.op == OP_VARIANT_GET || at.op == OP_CURSOR_KEY || at.op == OP_CURSOR_COLUMN;
  at.x = has_x ? (uint8_t)rng_below(rng, 3) : 0;
  return at;
}

// The effects that the function has now, so that they do not stand in the way.
static void set_effects(Function *f) {
  f->effects = 0;
  for (uint32_t i = 0; i < f->code_count; i++) f->effects |= opcode_effects(f->code[i].op);
}

Test(hostile, random_programs) {
  enum { PROGRAMS = 25, STEPS = 1000 };
  Build *b = malloc(sizeof *b);
  Rng rng;
  bool seen[OP_COUNT_] = {false};
  uint32_t accepted = 0;
  rng_seed(&rng, 7);
  for (int program = 0; program < PROGRAMS; program++) {
    build_blank(b);
    Function *f = &b->functions[2];
    for (int step = 0; step < STEPS; step++) {
      Instruction *at = (Instruction *)&f->code[rng_below(&rng, CODE)], old = *at;
      uint8_t effects = f->effects;
      *at = random_instruction(&rng);
      set_effects(f);
      if (module_verify(&b->module, NULL) == ERR_NONE) { seen[at->op] = true; accepted++; continue; }
      *at = old;
      f->effects = effects;
    }
    cr_assert_eq(module_verify(&b->module, NULL), ERR_NONE);
    zero_run_all(&b->module, 20000, 1 + rng_below(&rng, 50));
    build_free(b);
  }
  cr_assert_gt(accepted, PROGRAMS * 10);
  uint32_t kinds = 0;
  for (int op = 0; op < OP_COUNT_; op++) kinds += seen[op];
  cr_assert_gt(kinds, OP_COUNT_ * 8 / 10, "%u of %u instructions were met", kinds, (unsigned)OP_COUNT_);
  free(b);
}

// A test function with as much in it as the verifier lets through.
static void build_dense(Build *b, Rng *rng) {
  build_blank(b);
  Function *f = &b->functions[2];
  for (int step = 0; step < 1500; step++) {
    Instruction *at = (Instruction *)&f->code[rng_below(rng, CODE)], old = *at;
    *at = random_instruction(rng);
    set_effects(f);
    if (module_verify(&b->module, NULL) != ERR_NONE) *at = old;
    set_effects(f);
  }
}

// Seals the bytes; 1 when the module is accepted, and then all of it has run.
static uint32_t run_bytes(char *bytes, size_t len) {
  Arena arena;
  Module *module;
  build_seal(bytes, len);
  arena_init(&arena, 0);
  bool is_sound = module_read((Str){bytes, len}, &arena, &module, NULL) == ERR_NONE;
  if (is_sound) zero_run_all(module, 20000, 1000);
  arena_free(&arena);
  return is_sound;
}

Test(hostile, changed_modules) {
  enum { ROUNDS = 3000 };
  Build *b = malloc(sizeof *b);
  Rng rng;
  uint32_t accepted = 0;
  rng_seed(&rng, 11);
  build_dense(b, &rng);
  Buf bytes = build_bytes(b);
  char *copy = malloc(bytes.len);
  for (int round = 0; round < ROUNDS; round++) {
    memcpy(copy, bytes.ptr, bytes.len);
    for (uint64_t n = 1 + rng_below(&rng, 3); n; n--) copy[LAYOUT_HEADER_BYTES + rng_below(&rng, bytes.len - LAYOUT_HEADER_BYTES)] ^= (char)(1 << rng_below(&rng, 8));
    accepted += run_bytes(copy, bytes.len);
  }
  cr_assert_gt(accepted, 10);
  buf_free(&bytes);
  build_free(b);
  free(copy);
  free(b);
}

Test(hostile, every_byte_one_more) {
  Build *b = malloc(sizeof *b);
  Rng rng;
  uint32_t accepted = 0;
  rng_seed(&rng, 12);
  build_dense(b, &rng);
  Buf bytes = build_bytes(b);
  for (size_t at = LAYOUT_HEADER_BYTES; at < bytes.len; at++) {
    bytes.ptr[at]++;
    accepted += run_bytes(bytes.ptr, bytes.len);
    bytes.ptr[at]--;
  }
  cr_assert_gt(accepted, 10);
  cr_assert_eq(run_bytes(bytes.ptr, bytes.len), 1);
  buf_free(&bytes);
  build_free(b);
  free(b);
}
