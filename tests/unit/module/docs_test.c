// The tables in docs/FORMAT.md say what the .def files say. With AUP_WRITE_DOCS set they are written anew.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/module/opcode.h"

static const char PATH[] = SOURCE_ROOT "/docs/FORMAT.md";

static const char *const OPERAND_NAMES[OPERAND_KINDS] = {
  [OPERAND__] = "",
#define X(class) [OPERAND_w##class] = "w" #class, [OPERAND_r##class] = "r" #class,
  REGISTER_CLASSES(X)
#undef X
  [OPERAND_i16] = "i16", [OPERAND_w32] = "w32", [OPERAND_jmp] = "jmp", [OPERAND_con] = "con", [OPERAND_fun] = "fun", [OPERAND_plan] = "plan", [OPERAND_table] = "table", [OPERAND_err] = "err",
  [OPERAND_role] = "role", [OPERAND_param] = "param", [OPERAND_out] = "out", [OPERAND_entry] = "entry", [OPERAND_blt] = "blt", [OPERAND_col] = "col", [OPERAND_field] = "field", [OPERAND_tag] = "tag", [OPERAND_base] = "base",
};
static const char *const RULE_NAMES[RULE_COUNT_] = {
#define RULE(name, words) #name,
#include "runtime/module/rules.def"
#undef RULE
};

static void write_opcodes(Buf *out) {
  buf_add_text(out, "| no. | name | fuel | a | b | c | rule | what |\n|---|---|---|---|---|---|---|---|\n");
  for (int op = 0; op < OP_COUNT_; op++) {
    const OpcodeInfo *info = opcode_info((uint8_t)op);
    buf_add_format(out, "| %d | %s | %u | %s | %s | %s | %s | %s |\n", op, info->name, info->fuel, OPERAND_NAMES[info->a], OPERAND_NAMES[info->b], OPERAND_NAMES[info->c],
                   info->rule ? RULE_NAMES[info->rule] : "", info->words);
  }
}

static void write_rules(Buf *out) {
  buf_add_text(out, "| rule | what it asks |\n|---|---|\n");
  for (int rule = 1; rule < RULE_COUNT_; rule++) buf_add_format(out, "| %s | %s |\n", RULE_NAMES[rule], opcode_rule_words((OpcodeRule)rule));
}

static Buf read_file(void) {
  Buf text;
  buf_init(&text, 0);
  FILE *file = fopen(PATH, "r");
  cr_assert(file, "%s", PATH);
  char part[4096];
  for (size_t len; (len = fread(part, 1, sizeof part, file)) > 0;) buf_add(&text, part, len);
  fclose(file);
  buf_add_char(&text, 0);
  return text;
}

// Compares (or writes) what stands between the line that begins with `begin` and the line `end`.
static void check_part(const char *begin, const char *end, void (*write)(Buf *out)) {
  Buf text = read_file(), table;
  buf_init(&table, 0);
  write(&table);
  char *from = strstr(text.ptr, begin), *to = strstr(text.ptr, end);
  cr_assert(from && to);
  from = strchr(from, '\n') + 1;
  if (getenv("AUP_WRITE_DOCS")) {
    FILE *file = fopen(PATH, "w");
    cr_assert(file);
    fprintf(file, "%.*s%.*s%s", (int)(from - text.ptr), text.ptr, (int)table.len, table.ptr, to);
    fclose(file);
  } else {
    cr_assert(str_equal((Str){from, (size_t)(to - from)}, buf_str(&table)), "docs/FORMAT.md: %s is not what the tables say; AUP_WRITE_DOCS=1 writes it", begin);
  }
  buf_free(&text);
  buf_free(&table);
}

Test(docs, format_tables) {
  check_part("<!-- opcodes:", "<!-- end of opcodes -->", write_opcodes);
  check_part("<!-- rules:", "<!-- end of rules -->", write_rules);
}
