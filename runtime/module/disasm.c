// A module as lines of text, for people: what is declared, then every function with its registers, plans and code.
// Works on verified modules only.
#include "runtime/module/builtins.h"
#include "runtime/module/format.h"
#include "runtime/module/opcode.h"
#include "runtime/value/json_value.h"

static const char *const FUNCTION_WORDS[FUNCTION_KINDS] = {
  "fn", "view", "input", "action", "default", "computed", "check", "always", "role", "timer", "start", "migrate", "test",
};
static const char *const ENTRY_WORDS[ENTRY_KINDS] = {"input", "view", "receive"};
static const char *const COST_WORDS[COST_CLASSES] = {"untouched", "point", "ordered", "counted", "scan"};
static const char *const TIMER_WORDS[TIMER_KINDS] = {"every", "daily", "rows", "expire"};
static const char *const STAGE_WORDS[STAGE_KINDS] = {"scan", "list", "numbers", "filter", "eval", "skip", "take", "order", "group", "aggregate", "count"};
static const char *const AGGREGATE_WORDS[AGGREGATE_KINDS] = {"count", "count_if", "sum", "min", "max", "avg", "first", "last", "list", "distinct", "any", "all"};
static const struct { uint8_t bit; const char *word; } EFFECTS[] = {
  {EFFECT_WRITES, "writes"}, {EFFECT_NOW, "now"}, {EFFECT_RANDOM, "random"}, {EFFECT_CALLER, "caller"}, {EFFECT_TEST, "test"},
};

// ---- functions --------------------------------------------------------------------------------

static void write_operand(const Module *m, OperandKind kind, uint32_t value, Buf *out) {
  if (operand_is_read(kind) || operand_is_written(kind) || kind == OPERAND_base) { buf_add_format(out, " r%u", value); return; }
  switch ((int)kind) {
    case OPERAND__: return;
    case OPERAND_w32: buf_add_format(out, " %d", (int32_t)value); return;
    case OPERAND_jmp: buf_add_format(out, " ->%u", value); return;
    case OPERAND_con: buf_add_format(out, " const %u ", value); value_write_text(&m->schema.types, m->constants[value].type, m->constants[value].value, out); return;
    case OPERAND_fun: buf_add_format(out, " " STR_FMT, STR_ARG(m->functions[value].name)); return;
    case OPERAND_table: buf_add_format(out, " " STR_FMT, STR_ARG(m->schema.tables[value].name)); return;
    case OPERAND_err: buf_add_format(out, " " STR_FMT, STR_ARG(m->errors[value].name)); return;
    case OPERAND_role: buf_add_format(out, " " STR_FMT, STR_ARG(m->roles[value].name)); return;
    case OPERAND_out: buf_add_format(out, " " STR_FMT, STR_ARG(m->outputs[value].name)); return;
    case OPERAND_entry: buf_add_format(out, " " STR_FMT, STR_ARG(m->entries[value].name)); return;
    case OPERAND_blt: buf_add_format(out, " %s", builtin_info((BuiltinId)value)->name); return;
    case OPERAND_plan: buf_add_format(out, " plan %u", value); return;
    case OPERAND_col: buf_add_format(out, " column %u", value); return;
    case OPERAND_field: buf_add_format(out, " field %u", value); return;
    case OPERAND_tag: buf_add_format(out, " case %u", value); return;
    case OPERAND_param: buf_add_format(out, " parameter %u", value); return;
    default: buf_add_format(out, " %u", value); return;
  }
}

static void write_instruction(const Module *m, const Function *f, uint32_t pc, Buf *out) {
  Instruction at = f->code[pc];
  const OpcodeInfo *info = opcode_info(at.op);
  buf_add_format(out, "  %5u  %-15s", pc, info->name);
  write_operand(m, (OperandKind)info->a, at.a, out);
  if (operand_is_wide((OperandKind)info->b)) write_operand(m, (OperandKind)info->b, at.k, out);
  else {
    write_operand(m, (OperandKind)info->b, at.b, out);
    write_operand(m, (OperandKind)info->c, at.c, out);
  }
  if (at.x) buf_add_format(out, " x=%u", at.x);
  buf_add_char(out, '\n');
}

static void write_numbers(const char *word, uint32_t count, const uint16_t *registers, Buf *out) {
  if (count) buf_add_format(out, " %s", word);
  for (uint32_t i = 0; i < count; i++) buf_add_format(out, " r%u", registers[i]);
}

static void write_stage(const Module *m, const Stage *stage, Buf *out) {
  buf_add_format(out, "    %s", STAGE_WORDS[stage->kind]);
  if (stage->kind == STAGE_SCAN || stage->kind == STAGE_COUNT) {
    buf_add_format(out, " " STR_FMT, STR_ARG(m->schema.tables[stage->table].name));
    if (stage->index != SCHEMA_NO_INDEX) buf_add_format(out, " index %u", stage->index);
    buf_add_format(out, " equal %u flags %u", stage->equal_count, stage->flags);
  }
  if (stage->block != NO_BLOCK) buf_add_format(out, " block %u", stage->block);
  if (stage->from != NO_REGISTER) buf_add_format(out, " from r%u", stage->from);
  if (stage->to != NO_REGISTER) buf_add_format(out, " to r%u", stage->to);
  write_numbers("keys", stage->key_count, stage->keys, out);
  for (uint32_t i = 0; stage->kind == STAGE_ORDER && i < stage->key_count; i++)
    if (stage->descending[i]) buf_add_format(out, " desc(r%u)", stage->keys[i]);
  write_numbers("carries", stage->carried_count, stage->carried, out);
  for (uint32_t i = 0; i < stage->aggregate_count; i++)
    buf_add_format(out, " r%u=%s(r%u)", stage->aggregates[i].to, AGGREGATE_WORDS[stage->aggregates[i].kind], stage->aggregates[i].from);
  buf_add_char(out, '\n');
}

static void write_registers(const Module *m, const Function *f, Buf *out) {
  for (uint32_t i = 0; i < f->register_count; i++) {
    buf_add_format(out, i == 0 ? "  r%u: " : i % 6 ? ", r%u: " : ",\n  r%u: ", i);
    type_write(&m->schema.types, f->registers[i], out);
  }
  if (f->register_count) buf_add_char(out, '\n');
}

static void write_code(const Module *m, const Function *f, Buf *out) {
  uint32_t block = 0, line = 0;
  for (uint32_t pc = 0; pc < f->code_count; pc++) {
    if (line < f->line_count && f->lines[line].pc == pc) {
      SourcePlace place = function_place(m, f, pc);
      buf_add_format(out, "  ; " STR_FMT ":%u\n", STR_ARG(place.file), place.line);
      line++;
    }
    if (block < f->block_count && f->blocks[block].start == pc) buf_add_format(out, "  block %u:\n", block++);
    write_instruction(m, f, pc, out);
  }
}

static void write_function(const Module *m, uint32_t index, Buf *out) {
  const Function *f = &m->functions[index];
  buf_add_format(out, "\n%s " STR_FMT " (function %u, %u parameters) -> ", FUNCTION_WORDS[f->kind], STR_ARG(f->name), index, f->param_count);
  type_write(&m->schema.types, f->result, out);
  buf_add_format(out, "  depth %u", f->depth);
  for (size_t i = 0; i < countof(EFFECTS); i++)
    if (f->effects & EFFECTS[i].bit) buf_add_format(out, " %s", EFFECTS[i].word);
  buf_add_char(out, '\n');
  write_registers(m, f, out);
  for (uint32_t i = 0; i < f->plan_count; i++) {
    buf_add_format(out, "  plan %u:\n", i);
    for (uint32_t k = 0; k < f->plans[i].stage_count; k++) write_stage(m, &f->plans[i].stages[k], out);
  }
  write_code(m, f, out);
}

// ---- declarations -----------------------------------------------------------------------------

static void write_column(const Module *m, const ColumnDef *column, Buf *out) {
  buf_add_format(out, "  " STR_FMT ": ", STR_ARG(column->name));
  type_write(&m->schema.types, column->type, out);
  buf_add_text(out, column->hidden ? " hidden\n" : "\n");
}

static void write_index(const TableDef *table, uint32_t number, Buf *out) {
  const IndexDef *index = &table->indexes[number];
  buf_add_format(out, "  %s %u", index->unique ? "unique" : "index", number);
  for (uint32_t i = 0; i < index->column_count; i++)
    buf_add_format(out, " " STR_FMT "%s", STR_ARG(table->columns[index->columns[i].column].name), index->columns[i].descending ? " desc" : "");
  for (uint32_t i = 0; i < index->carried_count; i++) buf_add_format(out, " +" STR_FMT, STR_ARG(table->columns[index->carried[i]].name));
  buf_add_char(out, '\n');
}

static void write_table(const Module *m, uint32_t index, Buf *out) {
  const TableDef *table = &m->schema.tables[index];
  buf_add_format(out, "table " STR_FMT " (%u) key", STR_ARG(table->name), index);
  for (uint32_t i = 0; i < table->key_count; i++) buf_add_format(out, " " STR_FMT, STR_ARG(table->columns[table->key[i]].name));
  buf_add_text(out, table->auto_key ? " auto\n" : "\n");
  for (uint32_t i = 0; i < table->column_count; i++) write_column(m, &table->columns[i], out);
  for (uint32_t i = 0; i < table->index_count; i++) write_index(table, i, out);
}

static void write_entry(const Module *m, const EntryDef *entry, Buf *out) {
  buf_add_format(out, "%s " STR_FMT "(", ENTRY_WORDS[entry->kind], STR_ARG(entry->name));
  for (uint32_t i = 0; i < entry->param_count; i++) {
    buf_add_format(out, "%s" STR_FMT ": ", i ? ", " : "", STR_ARG(entry->params[i].name));
    type_write(&m->schema.types, entry->params[i].type, out);
    if (entry->params[i].default_function != NO_FUNCTION) buf_add_text(out, " = …");
  }
  buf_add_text(out, ") -> ");
  type_write(&m->schema.types, entry->result, out);
  buf_add_format(out, "  function %u, %s\n", entry->function, COST_WORDS[entry->cost]);
}

void module_disassemble(const Module *m, Buf *out) {
  buf_add_format(out, "app " STR_FMT " \"" STR_FMT "\" by aup " STR_FMT "\n", STR_ARG(m->name), STR_ARG(m->title), STR_ARG(m->compiler_version));
  for (uint32_t i = 0; i < m->schema.table_count; i++) write_table(m, i, out);
  for (uint32_t i = 0; i < m->entry_count; i++) write_entry(m, &m->entries[i], out);
  for (uint32_t i = 0; i < m->error_count; i++) buf_add_format(out, "error " STR_FMT " %u\n", STR_ARG(m->errors[i].name), m->errors[i].status);
  for (uint32_t i = 0; i < m->role_count; i++) buf_add_format(out, "role " STR_FMT "\n", STR_ARG(m->roles[i].name));
  for (uint32_t i = 0; i < m->output_count; i++) buf_add_format(out, "output " STR_FMT "\n", STR_ARG(m->outputs[i].name));
  for (uint32_t i = 0; i < m->timer_count; i++) buf_add_format(out, "timer " STR_FMT " %s\n", STR_ARG(m->timers[i].name), TIMER_WORDS[m->timers[i].kind]);
  for (uint32_t i = 0; i < m->setting_count; i++) buf_add_format(out, "setting " STR_FMT "%s\n", STR_ARG(m->settings[i].name), m->settings[i].secret ? " secret" : "");
  for (uint32_t i = 0; i < m->page_count; i++) buf_add_format(out, "page " STR_FMT "\n", STR_ARG(m->pages[i].name));
  for (uint32_t i = 0; i < m->test_count; i++) buf_add_format(out, "test \"" STR_FMT "\" function %u\n", STR_ARG(m->tests[i].name), m->tests[i].function);
  for (uint32_t i = 0; i < m->always_count; i++) buf_add_format(out, "always \"" STR_FMT "\" function %u\n", STR_ARG(m->always[i].name), m->always[i].function);
  for (uint32_t i = 0; i < m->function_count; i++) write_function(m, i, out);
}
