// Every signature of the table parses; matches bind variables and refuse what does not fit.
#include <criterion/criterion.h>
#include <stdio.h>

#include "runtime/base/hash.h"
#include "runtime/module/builtins.h"
#include "runtime/module/format.h"
#include "runtime/module/opcode.h"
#include "tests/unit/module/build.h"

Test(builtins, every_signature_parses) {
  for (int id = 0; id < BUILTIN_AND_FORM_COUNT_; id++) {
    BuiltinSignature signature;
    builtin_signature((BuiltinId)id, &signature);
    cr_assert_leq(signature.required_count, signature.param_count);
    cr_assert_lt(signature.result, signature.node_count);
    cr_assert_eq(builtin_info((BuiltinId)id)->is_form, id >= BUILTIN_COUNT_);
  }
}

Test(builtins, names_have_several) {
  int first = builtin_find(STR("first"), -1), second = builtin_find(STR("first"), first);
  cr_assert_eq(first, BUILTIN_TEXT_FIRST);
  cr_assert_eq(second, BUILTIN_LIST_FIRST);
  cr_assert_eq(builtin_find(STR("first"), second), -1);
  cr_assert_eq(builtin_find(STR("nothing"), -1), -1);
  cr_assert_eq(builtin_find(STR("round"), -1), FORM_ROUND);
}

Test(builtins, match) {
  Build b;
  build_init(&b);
  const TypeTable *types = &b.module.schema.types;
  const struct { BuiltinId id; uint32_t count; TypeId args[4]; TypeId result; bool fits; } rows[] = {
    {BUILTIN_ABS, 1, {T_INT}, T_INT, true},
    {BUILTIN_ABS, 1, {T_DEC2}, T_DEC2, true},
    {BUILTIN_ABS, 1, {T_DEC2}, T_DEC4, false},
    {BUILTIN_ABS, 1, {T_TEXT}, T_TEXT, false},
    {BUILTIN_ABS, 2, {T_INT, T_INT}, T_INT, false},
    {BUILTIN_CLAMP, 3, {T_TIME, T_TIME, T_TIME}, T_TIME, true},
    {BUILTIN_CLAMP, 3, {T_TIME, T_TIME, T_DATE}, T_TIME, false},
    {BUILTIN_MIN_OF, 2, {T_COLOR, T_COLOR}, T_COLOR, true},
    {BUILTIN_MIN_OF, 2, {T_SHAPE, T_SHAPE}, T_SHAPE, false},
    {BUILTIN_PARSE_INT, 1, {T_TEXT}, T_OPT_INT, true},
    {BUILTIN_PARSE_INT, 1, {T_TEXT}, T_INT, false},
    {BUILTIN_JOIN, 2, {T_LIST_TEXT, T_TEXT}, T_TEXT, true},
    {BUILTIN_JOIN, 2, {T_LIST_INT, T_TEXT}, T_TEXT, false},
    {BUILTIN_LIST_FIRST, 1, {T_LIST_INT}, T_OPT_INT, true},
    {BUILTIN_LIST_FIRST, 1, {T_LIST_OPT}, T_OPT_INT, true},
    {BUILTIN_LIST_FIRST, 1, {T_LIST_TEXT}, T_OPT_INT, false},
    {BUILTIN_MAP_HAS, 2, {T_MAP, T_TEXT}, T_BOOL, true},
    {BUILTIN_MAP_HAS, 2, {T_MAP, T_INT}, T_BOOL, false},
    {BUILTIN_MAP_KEYS, 1, {T_MAP}, T_LIST_TEXT, true},
    {BUILTIN_MAP_VALUES, 1, {T_MAP}, T_LIST_INT, true},
    {BUILTIN_MAP_VALUES, 1, {T_MAP}, T_LIST_TEXT, false},
    {BUILTIN_SET_UNION, 2, {T_SET_INT, T_SET_INT}, T_SET_INT, true},
    {BUILTIN_SET_UNION, 2, {T_SET_INT, T_SET_TEXT}, T_SET_INT, false},
    {BUILTIN_TO_JSON, 1, {T_SHAPE}, T_TEXT, true},
    {BUILTIN_PAD, 3, {T_TEXT, T_INT, T_TEXT}, T_TEXT, true},
    {BUILTIN_PAD, 2, {T_TEXT, T_INT}, T_TEXT, false},
  };
  for (size_t i = 0; i < countof(rows); i++)
    cr_assert_eq(builtin_match(types, rows[i].id, rows[i].args, rows[i].count, rows[i].result), rows[i].fits, "row %zu", i);
  build_free(&b);
}

static TypeId intern(void *context, Type type) {
  Build *b = context;
  const TypeTable *types = &b->module.schema.types;
  for (uint16_t i = 0; i < types->count; i++)
    if (memcmp(&types->types[i], &type, sizeof type) == 0) return i;
  return build_type(b, type);
}

Test(builtins, defaults_and_results) {
  Build b;
  build_init(&b);
  BuiltinSignature signature;
  BuiltinBinding binding;
  uint32_t bad = 0;
  builtin_signature(BUILTIN_PAD, &signature);
  cr_assert_eq(signature.required_count, 2);
  cr_assert(str_is(signature.params[2].name, "with"));
  cr_assert(str_is(signature.params[2].default_text, "\" \""));
  const TypeId args[] = {T_TEXT, T_INT, T_INT};
  cr_assert(builtin_unify(&b.module.schema.types, &signature, args, 2, &binding, &bad));
  cr_assert_eq(builtin_result(&signature, &binding, intern, &b), T_TEXT);
  cr_assert_not(builtin_unify(&b.module.schema.types, &signature, args, 3, &binding, &bad));
  cr_assert_eq(bad, 2);
  cr_assert_not(builtin_unify(&b.module.schema.types, &signature, args, 1, &binding, &bad));
  cr_assert_eq(bad, 1);

  builtin_signature(BUILTIN_LIST_FIRST, &signature);
  const TypeId list[] = {T_LIST_TEXT};
  cr_assert(builtin_unify(&b.module.schema.types, &signature, list, 1, &binding, NULL));
  cr_assert_eq(builtin_result(&signature, &binding, intern, &b), T_OPT_TEXT);
  build_free(&b);
}

Test(opcodes, table_is_whole) {
  for (int op = 0; op < 256; op++) {
    const OpcodeInfo *info = opcode_info((uint8_t)op);
    cr_assert_eq(info != NULL, op < OP_COUNT_);
    if (!info) continue;
    cr_assert(info->name && info->words && opcode_rule_words((OpcodeRule)info->rule));
    cr_assert_not(operand_is_wide((OperandKind)info->b) && info->c != OPERAND__, "%s", info->name);
  }
}

// A module names instructions and builtins by their number, so a table that is changed otherwise than at its end gives old
// modules another meaning. Whoever changes one raises MODULE_FORMAT_VERSION and writes down the new sum here.
Test(opcodes, numbers_belong_to_the_format_version) {
  HashState hash;
  hash_begin(&hash);
  for (int op = 0; op < OP_COUNT_; op++) {
    const OpcodeInfo *info = opcode_info((uint8_t)op);
    const uint8_t shape[] = {info->a, info->b, info->c, info->rule};
    hash_add(&hash, info->name, strlen(info->name) + 1);
    hash_add(&hash, shape, sizeof shape);
  }
  for (int id = 0; id < BUILTIN_COUNT_; id++) {
    const BuiltinInfo *info = builtin_info((BuiltinId)id);
    hash_add(&hash, info->name, strlen(info->name) + 1);
    hash_add(&hash, info->signature, strlen(info->signature) + 1);
  }
  Hash sum = hash_end(&hash);
  char words[17];
  for (int i = 0; i < 8; i++) snprintf(words + 2 * i, 3, "%02x", sum.bytes[i]);
  cr_assert_eq(MODULE_FORMAT_VERSION, 3);
  cr_assert_str_eq(words, "12a82463f9ac1097");
}
