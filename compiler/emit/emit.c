// One pass over the functions, callees first, then the module around them.
#include "compiler/emit/emit.h"

#include <assert.h>

#include "compiler/emit/lower.h"
#include "runtime/base/mem.h"
#include "runtime/module/format.h"

static TypeId find_type(const TypeTable *types, TypeKind kind) {
  for (uint16_t i = 0; i < types->count; i++)
    if (types->types[i].kind == kind) return i;
  return TYPE_NONE;
}

static bool emit_begin(Emit *e, HProgram *program, DiagList *diags, Arena *arena) {
  const TypeTable *types = &program->module.schema.types;
  *e = (Emit){.program = program, .diags = diags, .arena = arena, .schema = &program->module.schema, .types = types};
  arena_init(&e->scratch, 0);
  e->type_bool = find_type(types, TYPE_BOOL);
  e->type_int = find_type(types, TYPE_INT);
  e->type_text = find_type(types, TYPE_TEXT);
  assert(e->type_bool != TYPE_NONE && e->type_int != TYPE_NONE && e->type_text != TYPE_NONE && "check puts the simple types first");
  uint32_t sources = program->sources ? program->sources->count : 0;
  e->line_starts = ARENA_ARRAY(arena, uint32_t *, sources + 1);
  e->costs = ARENA_ARRAY(arena, uint8_t, program->function_count + 1);
  return e->line_starts && e->costs;
}

// What falls off the end. Of a function with a result nothing does, but the verifier need not know that.
static void lower_end(Emit *e, const HFunction *function) {
  if (code_ended(e)) return;
  if (function->result == TYPE_NONE) {
    code_op(e, OP_RETURN_VOID, 0, 0, 0);
    return;
  }
  Reg zero = reg_temp(e, function->result);
  code_op(e, OP_ZERO, zero, 0, 0);
  code_op(e, OP_RETURN, zero, 0, 0);
  reg_free(e, zero);
}

static void lower_function(Emit *e, HFunction *function, Function *out) {
  if (!code_begin_function(e, function)) return;
  lower_stmts(e, &function->body);
  lower_end(e, function);
  e->costs[function->index] = (uint8_t)e->cost;
  code_end_function(e, out);
}

static const EntryDef *entries_with_costs(const Emit *e) {
  const Module *module = &e->program->module;
  EntryDef *entries = ARENA_ARRAY(e->arena, EntryDef, module->entry_count);
  if (!entries) return NULL;
  if (module->entry_count) memcpy(entries, module->entries, module->entry_count * sizeof *entries);
  for (uint16_t i = 0; i < module->entry_count; i++)
    if (entries[i].function < e->program->function_count) entries[i].cost = e->costs[entries[i].function];
  return entries;
}

static bool fill_files(const Emit *e, Module *module) {
  const Sources *sources = e->program->sources;
  if (module->file_count || !sources) return true;
  Str *files = ARENA_ARRAY(e->arena, Str, sources->count);
  if (!files) return false;
  for (uint32_t i = 0; i < sources->count; i++) files[i] = sources->items[i]->name;
  module->files = files;
  module->file_count = (uint16_t)sources->count;
  return true;
}

static Err write_module(const Emit *e, const Function *functions, Buf *out_bytes) {
  Module module = e->program->module;
  module.functions = functions;
  module.function_count = (uint16_t)e->program->function_count;
  module.constants = e->program->constants;
  module.constant_count = e->program->constant_count;
  module.entries = entries_with_costs(e);
  if (!module.entries || !fill_files(e, &module)) return ERR_MEMORY;
  ErrText text;
  Err err = module_write(&module, out_bytes, &text);
  if (err == ERR_NONE || err == ERR_MEMORY) return err;
  Span span = e->program->function_count ? e->program->functions[0]->span : (Span){1, 1};
  diag_add(e->diags, DIAG_E026, span, "the module cannot be written: %s", text.text);
  return ERR_REFUSED;
}

Err emit_module(HProgram *program, DiagList *diags, Arena *arena, Buf *out_bytes) {
  Emit e;
  uint32_t errors = diags->error_count + diags->errors_left_out;
  Function *functions = ARENA_ARRAY(arena, Function, program->function_count);
  bool begun = emit_begin(&e, program, diags, arena);
  if (!functions || !begun) e.failed = ERR_MEMORY;
  for (uint32_t i = 0; i < program->function_count && e.failed == ERR_NONE; i++) {
    assert(program->functions[i]->index == i && "functions stand in the order of their indexes");
    lower_function(&e, program->functions[i], &functions[i]);
  }
  Err err = e.failed;
  if (err == ERR_NONE && diags->error_count + diags->errors_left_out > errors) err = ERR_REFUSED;
  if (err == ERR_NONE) err = write_module(&e, functions, out_bytes);
  code_free(&e);
  return err;
}
