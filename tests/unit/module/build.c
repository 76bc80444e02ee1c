// See build.h. Arrays of fixed size inside the Build, copied into its arena when a function ends.
#include "tests/unit/module/build.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/hash.h"
#include "runtime/module/builtins.h"
#include "runtime/module/layout.h"
#include "runtime/module/opcode.h"

#define MUST(holds) do { if (!(holds)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds); abort(); } } while (0)
#define LIMITS_NONE ((Limits){NO_CONSTANT, NO_CONSTANT})

static const Type BASE_TYPES[T_BASE_COUNT] = {
  [T_BOOL] = {TYPE_BOOL}, [T_INT] = {TYPE_INT}, [T_DEC2] = {TYPE_DECIMAL, .scale = 2}, [T_DEC4] = {TYPE_DECIMAL, .scale = 4}, [T_FLOAT] = {TYPE_FLOAT},
  [T_TEXT] = {TYPE_TEXT}, [T_BYTES] = {TYPE_BYTES}, [T_UUID] = {TYPE_UUID}, [T_TIME] = {TYPE_TIME}, [T_DATE] = {TYPE_DATE}, [T_DURATION] = {TYPE_DURATION},
  [T_COLOR] = {TYPE_ENUM, .of = 0}, [T_SHAPE] = {TYPE_ENUM, .of = 1}, [T_POINT] = {TYPE_RECORD, .of = 0},
  [T_OPT_INT] = {TYPE_OPTIONAL, .of = T_INT}, [T_OPT_TEXT] = {TYPE_OPTIONAL, .of = T_TEXT}, [T_OPT_DEC2] = {TYPE_OPTIONAL, .of = T_DEC2},
  [T_OPT_POINT] = {TYPE_OPTIONAL, .of = T_POINT}, [T_OPT_FLOAT] = {TYPE_OPTIONAL, .of = T_FLOAT},
  [T_LIST_INT] = {TYPE_LIST, .of = T_INT}, [T_LIST_TEXT] = {TYPE_LIST, .of = T_TEXT}, [T_LIST_OPT] = {TYPE_LIST, .of = T_OPT_INT},
  [T_LIST_BOOL] = {TYPE_LIST, .of = T_BOOL}, [T_LIST_DEC2] = {TYPE_LIST, .of = T_DEC2}, [T_LIST_FLOAT] = {TYPE_LIST, .of = T_FLOAT}, [T_LIST_LIST] = {TYPE_LIST, .of = T_LIST_INT},
  [T_SET_INT] = {TYPE_SET, .of = T_INT}, [T_SET_TEXT] = {TYPE_SET, .of = T_TEXT}, [T_MAP] = {TYPE_MAP, .of = T_TEXT, .to = T_INT},
  [T_ITEM] = {TYPE_REF, .of = TABLE_ITEM}, [T_OPT_ITEM] = {TYPE_OPTIONAL, .of = T_ITEM}, [T_PAIR] = {TYPE_REF, .of = TABLE_PAIR}, [T_PAIR_KEY] = {TYPE_RECORD, .of = 1},
  [T_DEC0] = {TYPE_DECIMAL, .scale = 0}, [T_DEC6] = {TYPE_DECIMAL, .scale = 6}, [T_OPT_BOOL] = {TYPE_OPTIONAL, .of = T_BOOL}, [T_DEC18] = {TYPE_DECIMAL, .scale = 18},
  [T_OPT_TIME] = {TYPE_OPTIONAL, .of = T_TIME}, [T_NOTE] = {TYPE_RECORD, .of = 2}, [T_LIST_NOTE] = {TYPE_LIST, .of = T_NOTE}, [T_LIST_POINT] = {TYPE_LIST, .of = T_POINT},
};
#define NAME(literal) {"" literal, sizeof(literal) - 1}
static const FieldDef POINT_FIELDS[] = {{NAME("x"), T_INT, false}, {NAME("y"), T_DEC2, false}};
static const FieldDef KEY_FIELDS[] = {{NAME("a"), T_INT, false}, {NAME("b"), T_TEXT, false}};
static const FieldDef CIRCLE_FIELDS[] = {{NAME("r"), T_INT, false}}, BOX_FIELDS[] = {{NAME("w"), T_INT, false}, {NAME("label"), T_TEXT, false}};
static const CaseDef COLORS[] = {{NAME("red"), 0, NULL}, {NAME("green"), 0, NULL}, {NAME("blue"), 0, NULL}};
static const CaseDef SHAPES[] = {{NAME("dot"), 0, NULL}, {NAME("circle"), 1, CIRCLE_FIELDS}, {NAME("box"), 2, BOX_FIELDS}};
static const EnumDef ENUMS[] = {{NAME("Color"), 3, true, COLORS}, {NAME("Shape"), 3, false, SHAPES}};
static const FieldDef NOTE_FIELDS[] = {{NAME("words"), T_TEXT, false}, {NAME("n"), T_INT, false}};
static const RecordDef RECORDS[] = {{NAME("Point"), 2, POINT_FIELDS}, {NAME(""), 2, KEY_FIELDS}, {NAME(""), 2, NOTE_FIELDS}};
static const TypeId TABLE_KEYS[] = {T_INT, T_INT, T_PAIR_KEY};
static const Str TABLE_NAMES[] = {NAME("state"), NAME("Item"), NAME("Pair")};
static const ColumnDef STATE_COLUMNS[] = {{NAME("key"), T_INT, 0, false}, {NAME("count"), T_INT, 0, false}, {NAME("name"), T_TEXT, 0, false}, {NAME("Item.id"), T_INT, 0, true}};
static const ColumnDef ITEM_COLUMNS[] = {{NAME("id"), T_INT, 0, false}, {NAME("title"), T_TEXT, 0, false}, {NAME("price"), T_DEC2, 0, false}, {NAME("due"), T_TIME, 0, false}};
static const ColumnDef PAIR_COLUMNS[] = {{NAME("a"), T_INT, 0, false}, {NAME("b"), T_TEXT, 0, false}};
static const uint16_t FIRST[] = {0}, BOTH[] = {0, 1};
static const IndexColumn TITLE_DUE[] = {{ITEM_TITLE, false}, {ITEM_DUE, true}};
static const IndexDef ITEM_INDEXES[] = {{2, TITLE_DUE, false, 0xFFFF, 0, NULL}};
static const TableDef TABLES[] = {
  {.name = NAME("state"), .column_count = 4, .columns = STATE_COLUMNS, .key_count = 1, .key = FIRST},
  {.name = NAME("Item"), .column_count = 4, .columns = ITEM_COLUMNS, .key_count = 1, .key = FIRST, .auto_key = true, .auto_column = STATE_COUNTER, .index_count = 1, .indexes = ITEM_INDEXES},
  {.name = NAME("Pair"), .column_count = 2, .columns = PAIR_COLUMNS, .key_count = 2, .key = BOTH},
};
static const ColumnDef TIMED_STATE_COLUMNS[] = {
  {NAME("key"), T_INT, 0, false}, {NAME("count"), T_INT, 0, false}, {NAME("name"), T_TEXT, 0, false}, {NAME("Item.id"), T_INT, 0, true},
  {NAME("~tick"), T_TIME, 0, true}, {NAME("~begun"), T_BOOL, 0, true}};
static const ColumnDef TIMED_ITEM_COLUMNS[] = {
  {NAME("id"), T_INT, 0, false}, {NAME("title"), T_TEXT, 0, false}, {NAME("price"), T_DEC2, 0, false}, {NAME("due"), T_TIME, 0, false},
  {NAME("~due"), T_OPT_TIME, 0, true}, {NAME("~tries"), T_INT, 0, true}};
static const IndexColumn KEPT_INDEX[] = {{ITEM_KEPT, false}}, DUE_INDEX[] = {{ITEM_DUE, false}};
static const IndexDef TIMED_INDEXES[] = {{2, TITLE_DUE, false, 0xFFFF, 0, NULL}, {1, KEPT_INDEX, false, 0xFFFF, 0, NULL}, {1, DUE_INDEX, false, 0xFFFF, 0, NULL}};
static const TableDef TIMED_TABLES[] = {
  {.name = NAME("state"), .column_count = 6, .columns = TIMED_STATE_COLUMNS, .key_count = 1, .key = FIRST},
  {.name = NAME("Item"), .column_count = 6, .columns = TIMED_ITEM_COLUMNS, .key_count = 1, .key = FIRST, .auto_key = true, .auto_column = STATE_COUNTER, .index_count = 3, .indexes = TIMED_INDEXES},
  {.name = NAME("Pair"), .column_count = 2, .columns = PAIR_COLUMNS, .key_count = 2, .key = BOTH},
};
static const FieldDef FULL_FIELDS[] = {{NAME("have"), T_INT, false}};
static const ErrorDef ERRORS[] = {
#define BUILTIN_ERROR(id, aup_name, http, message) {.name = NAME(aup_name), .status = http},
#include "runtime/module/errors.def"
#undef BUILTIN_ERROR
  {.name = NAME("full"), .status = 409, .field_count = 1, .fields = FULL_FIELDS, .field = NAME("have")},
};
static const Str FILES[] = {NAME("test.aup")};

static void init_tables(Build *b) {
  Module *m = &b->module;
  memcpy(b->types, BASE_TYPES, sizeof BASE_TYPES);
  m->schema.types = (TypeTable){b->types, T_BASE_COUNT, RECORDS, countof(RECORDS), ENUMS, countof(ENUMS), TABLE_KEYS, TABLE_NAMES, countof(TABLES)};
  m->schema.table_count = countof(TABLES);
  m->schema.tables = TABLES;
  for (uint32_t t = 0; t < countof(TABLES); t++) {
    for (uint32_t c = 0; c < 8; c++) b->columns[t][c] = (ColumnMeta){.default_function = NO_FUNCTION, .limits = LIMITS_NONE};
    b->table_meta[t] = (TableMeta){.columns = b->columns[t], .check_function = NO_FUNCTION};
  }
  m->table_meta = b->table_meta;
}

void build_init(Build *b) {
  memset(b, 0, sizeof *b);
  arena_init(&b->arena, 0);
  init_tables(b);
  Module *m = &b->module;
  m->name = STR("test");
  m->title = STR("A test");
  m->start_function = NO_FUNCTION;
  m->files = FILES;
  m->file_count = 1;
  m->functions = b->functions;
  m->constants = b->constants;
  memcpy(b->errors, ERRORS, sizeof ERRORS);
  m->errors = b->errors;
  m->error_count = countof(ERRORS);
  b->roles[0] = (RoleDef){STR("clerk"), NO_FUNCTION};
  m->roles = b->roles;
  m->role_count = 1;
  b->outputs[0] = (OutputDef){.name = STR("note"), .field_count = 2, .fields = NOTE_FIELDS};
  m->outputs = b->outputs;
  m->output_count = 1;
  m->entries = b->entries;
  m->tests = b->tests;
  m->always = b->always;
  m->timers = b->timers;
  m->settings = b->settings;
  m->pages = b->pages;
}

void build_timed_tables(Build *b) { b->module.schema.tables = TIMED_TABLES; }
void build_free(Build *b) { arena_free(&b->arena); }

static void *keep(Build *b, const void *bytes, size_t size) {
  void *copy = arena_alloc(&b->arena, size + 1);
  MUST(copy);
  if (size) memcpy(copy, bytes, size);
  return copy;
}

uint16_t build_type(Build *b, Type type) {
  uint16_t id = b->module.schema.types.count++;
  MUST(id < countof(b->types));
  b->types[id] = type;
  return id;
}

uint32_t build_constant(Build *b, TypeId type, Value value) {
  MUST(b->module.constant_count < BUILD_CONSTANTS_MAX);
  b->constants[b->module.constant_count] = (Constant){type, value};
  return b->module.constant_count++;
}

uint16_t build_begin(Build *b, FunctionKind kind, TypeId result) {
  MUST(b->module.function_count < BUILD_FUNCTIONS_MAX);
  uint16_t index = b->module.function_count++;
  b->function = &b->functions[index];
  *b->function = (Function){.name = arena_format(&b->arena, "f%u", index), .kind = kind, .result = result};
  return index;
}

uint16_t build_register(Build *b, TypeId type) {
  MUST(b->function->register_count < BUILD_REGISTERS_MAX);
  b->registers[b->function->register_count] = type;
  return b->function->register_count++;
}

uint16_t build_param(Build *b, TypeId type) {
  MUST(b->function->param_count == b->function->register_count);
  b->function->param_count++;
  return build_register(b, type);
}

uint32_t build_emit_x(Build *b, Opcode op, uint8_t x, uint32_t a, uint32_t b_operand, uint32_t c) {
  MUST(b->function->code_count < BUILD_CODE_MAX);
  Instruction at = {.op = op, .x = x, .a = (uint16_t)a};
  if (operand_is_wide((OperandKind)opcode_info(op)->b)) at.k = b_operand;
  else { at.b = (uint16_t)b_operand; at.c = (uint16_t)c; }
  b->code[b->function->code_count] = at;
  return b->function->code_count++;
}

uint32_t build_emit(Build *b, Opcode op, uint32_t a, uint32_t b_operand, uint32_t c) { return build_emit_x(b, op, 0, a, b_operand, c); }
uint32_t build_here(const Build *b) { return b->function->code_count; }
void build_patch(Build *b, uint32_t pc) { b->code[pc].k = b->function->code_count; }

uint16_t build_block_begin(Build *b) {
  MUST(b->function->block_count < BUILD_BLOCKS_MAX);
  b->blocks[b->function->block_count].start = build_here(b);
  return b->function->block_count++;
}

void build_block_end(Build *b) {
  build_emit(b, OP_BLOCK_END, 0, 0, 0);
  b->blocks[b->function->block_count - 1].end = build_here(b);
}

uint16_t build_plan(Build *b, uint16_t stage_count, const Stage *stages) {
  MUST(b->function->plan_count < BUILD_PLANS_MAX);
  Stage *copy = keep(b, stages, stage_count * sizeof *copy);
  for (uint32_t i = 0; i < stage_count; i++) {
    if (copy[i].keys) copy[i].keys = keep(b, copy[i].keys, copy[i].key_count * sizeof(uint16_t));
    if (copy[i].descending) copy[i].descending = keep(b, copy[i].descending, copy[i].key_count);
    if (copy[i].carried) copy[i].carried = keep(b, copy[i].carried, copy[i].carried_count * sizeof(uint16_t));
    if (copy[i].aggregates) copy[i].aggregates = keep(b, copy[i].aggregates, copy[i].aggregate_count * sizeof(Aggregate));
  }
  b->plans[b->function->plan_count] = (Plan){stage_count, copy};
  return b->function->plan_count++;
}

void build_line(Build *b, uint32_t line) {
  MUST(b->function->line_count < countof(b->lines));
  b->lines[b->function->line_count++] = (LineEntry){build_here(b), line, 0};
}

void build_end(Build *b) {
  Function *f = b->function;
  for (uint32_t i = 0; i < f->code_count; i++) {
    uint8_t op = b->code[i].op;
    f->effects |= opcode_effects(op);
    if ((op == OP_CALL || op == OP_CALL_VOID) && b->code[i].b < b->module.function_count) f->effects |= b->functions[b->code[i].b].effects;
  }
  f->registers = keep(b, b->registers, f->register_count * sizeof(TypeId));
  f->code = keep(b, b->code, f->code_count * sizeof(Instruction));
  f->blocks = keep(b, b->blocks, f->block_count * sizeof(Block));
  f->plans = keep(b, b->plans, f->plan_count * sizeof(Plan));
  f->lines = keep(b, b->lines, f->line_count * sizeof(LineEntry));
  b->function = NULL;
}

EntryDef *build_entry(Build *b, EntryKind kind, const char *name, uint16_t function) {
  MUST(b->module.entry_count < countof(b->entries));
  const Function *f = &b->functions[function];
  ParamDef *params = arena_alloc_zero(&b->arena, f->param_count + 1u, sizeof *params);
  MUST(params);
  for (uint32_t i = 0; i < f->param_count; i++)
    params[i] = (ParamDef){.name = arena_format(&b->arena, "p%u", i), .type = f->registers[i], .default_function = NO_FUNCTION, .limits = LIMITS_NONE, .item_limits = LIMITS_NONE};
  EntryDef *entry = &b->entries[b->module.entry_count++];
  *entry = (EntryDef){.kind = kind, .cost = COST_SCAN, .name = str_from(name), .function = function, .param_count = f->param_count, .params = params, .result = f->result};
  return entry;
}

Buf build_bytes(Build *b) {
  Buf bytes;
  ErrText text = {{0}};
  buf_init(&bytes, 0);
  Err err = module_write(&b->module, &bytes, &text);
  if (err) fprintf(stderr, "module_write: %s\n", text.text);
  MUST(err == ERR_NONE);
  return bytes;
}

Err build_try(Build *b, ErrText *out_text) {
  Buf bytes = build_bytes(b);
  Module *module;
  Err err = module_read(buf_str(&bytes), &b->arena, &module, out_text);
  buf_free(&bytes);
  return err;
}

Module *build_finish(Build *b) {
  Buf bytes = build_bytes(b);
  Module *module = NULL;
  ErrText text = {{0}};
  Err err = module_read(buf_str(&bytes), &b->arena, &module, &text);
  buf_free(&bytes);
  if (err) fprintf(stderr, "module_read: %s\n", text.text);
  MUST(err == ERR_NONE);
  return module;
}

void build_seal(char *bytes, size_t len) {
  if (len < LAYOUT_HEADER_BYTES) return;
  Hash hash = layout_hash((Str){bytes, len});
  memcpy(bytes + LAYOUT_HASH_AT, hash.bytes, sizeof hash.bytes);
}
