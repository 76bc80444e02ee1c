// Calls of an app's code. The order inside a call is the language's: permission before any look-up, then references,
// then defaults, then the body; for an input, at its end, limits and checks of the touched rows and unique rules.
#include "runtime/app/call.h"

#include <assert.h>

#include "runtime/app/args.h"
#include "runtime/app/outbox.h"
#include "runtime/app/settings.h"
#include "runtime/app/tokens.h"

enum { REFERENCE_PATH_BYTES_MAX = 400 };

static HostResult host_caller_is(Exec *exec, uint16_t role, bool *out) {
  CallContext *context = exec->host_context;
  *out = runner_has_role(context->runner, role);
  return HOST_OK;
}

static HostResult host_send(Exec *exec, uint16_t output, const Value *values) {
  CallContext *context = exec->host_context;
  return outbox_send(exec, context->query.txn, context->runner->outbox, output, values);
}

static HostResult host_issue_token(Exec *exec, Str subject, uint64_t roles, int64_t lasts_us, Value *out_text) {
  CallContext *context = exec->host_context;
  context->runner->issued_token = true;
  NewToken token = {subject, roles, lasts_us};
  return tokens_issue(exec, context->query.txn, context->runner->tokens, &token, out_text);
}

// A secret setting stands in no state.
static HostResult host_state_get(Exec *exec, uint16_t column, Value *out) {
  const Runner *runner = ((CallContext *)exec->host_context)->runner;
  const Settings *settings = runner->settings;
  if (settings && settings->secret_count && settings_secret(settings, column, out)) return HOST_OK;
  return runner->state_get(exec, column, out);
}

void runner_init(Runner *runner, const VmLimits *limits, const Log *log) {
  *runner = (Runner){.limits = *limits, .log = log};
  query_install(&runner->host);
  runner->host.caller_is = host_caller_is;
  runner->state_get = runner->host.state_get;
  runner->host.state_get = host_state_get;
  runner->host.send = host_send;
  runner->host.issue_token = host_issue_token;
}

static void finish_execs(Runner *runner) {
  if (runner->main_ready) vm_finish(&runner->main);
  if (runner->inner_ready) vm_finish(&runner->inner);
  if (runner->role_ready) vm_finish(&runner->role);
  runner->main_ready = runner->inner_ready = runner->role_ready = false;
}

void runner_free(Runner *runner) {
  finish_execs(runner);
  query_context_free(&runner->context.query);
}

void runner_use(Runner *runner, const Module *module, const Reader *reader, Txn *txn) {
  if (runner->module != module) {
    finish_execs(runner);
    runner->outbox = outbox_find(&module->schema);
    runner->tokens = tokens_find(&module->schema);
  }
  runner->module = module;
  runner->context.runner = runner;
  runner->context.query.reader = reader;
  runner->context.query.txn = txn;
}

static VmStatus no_memory(Exec *exec) {
  exec->fault = (VmFault){.kind = FAULT_BUDGET, .note = STR("no memory to begin a call")};
  return VM_FAULT;
}

// Makes an Exec of the runner ready for a call.
static bool ready_exec(Runner *runner, RunnerLevel level, Exec **out_exec) {
  Exec *exec = level == RUN_MAIN ? &runner->main : level == RUN_INNER ? &runner->inner : &runner->role;
  bool *ready = level == RUN_MAIN ? &runner->main_ready : level == RUN_INNER ? &runner->inner_ready : &runner->role_ready;
  *out_exec = exec;
  if (*ready) vm_reset(exec);
  else *ready = vm_start(exec, runner->module, &runner->host, &runner->context, &runner->limits) == ERR_NONE;
  return *ready;
}

VmStatus runner_run(Runner *runner, RunnerLevel level, uint16_t function, const VmCall *call, const Value *args, Exec **out_exec) {
  Exec *exec;
  bool ready = ready_exec(runner, level, &exec);
  *out_exec = exec;
  if (!ready) return no_memory(exec);
  if (vm_call(exec, function, call, args) != ERR_NONE) return no_memory(exec);
  VmStatus status;
  do status = vm_run(exec, runner->limits.fuel); while (status == VM_SLICE);
  return status;
}

bool runner_has_role(Runner *runner, uint16_t role) {
  const RoleDef *def = &runner->module->roles[role];
  if (def->function == NO_FUNCTION) return runner->context.caller.roles >> role & 1;
  Exec *exec;
  VmCall call = {.caller = runner->context.caller.subject};
  VmStatus status = runner_run(runner, RUN_ROLE, def->function, &call, NULL, &exec);
  return status == VM_DONE && exec->result.i;  // one that cannot be found out is not had
}

bool runner_may(Runner *runner, const EntryDef *entry) {
  const AppCaller *caller = &runner->context.caller;
  const Access *access = &entry->access;
  if (access->everyone) return true;
  if (!access->roles && !access->signed_in) return entry->kind == ENTRY_VIEW ? caller->may_read : caller->may_write;
  if (access->signed_in && caller->signed_in) return true;
  for (uint16_t role = 0; role < runner->module->role_count; role++) {
    if (access->roles >> role & 1 && runner_has_role(runner, role)) return true;
  }
  return false;
}

// ---- references -----------------------------------------------------------------------------------

// Looks for a reference to nowhere inside a value, parts by parts; types are not deeper than VALUE_DEPTH_MAX.
static bool references_hold(const Runner *runner, TypeId type, Value value, Buf *path, unsigned depth);

static bool item_holds(const Runner *runner, TypeId type, Value item, uint32_t number, Buf *path, unsigned depth) {
  size_t len = path->len;
  buf_add_format(path, "[%u]", number);
  if (!references_hold(runner, type, item, path, depth)) return false;
  path->len = len;
  return true;
}

static bool items_hold(const Runner *runner, const Type *type, const List *list, Buf *path, unsigned depth) {
  bool is_map = type->kind == TYPE_MAP;
  for (uint32_t i = 0; list && i < list->count; i++) {
    if (!item_holds(runner, is_map && i % 2 ? type->to : type->of, list->items[i], is_map ? i / 2 : i, path, depth)) return false;
  }
  return true;
}

static bool fields_hold(const Runner *runner, uint16_t count, const FieldDef *fields, const Value *values, Buf *path, unsigned depth) {
  for (uint16_t i = 0; values && i < count; i++) {
    size_t len = path->len;
    buf_add_format(path, path->len ? "." STR_FMT : STR_FMT, STR_ARG(fields[i].name));
    if (!references_hold(runner, fields[i].type, values[i], path, depth)) return false;
    path->len = len;
  }
  return true;
}

static bool references_hold(const Runner *runner, TypeId type_id, Value value, Buf *path, unsigned depth) {
  const TypeTable *types = &runner->module->schema.types;
  const Type *type = &types->types[type_id];
  Row row;
  if (depth == VALUE_DEPTH_MAX) return true;
  switch ((TypeKind)type->kind) {
    case TYPE_REF: return row_find(runner->context.query.reader, type->of, value, &row);
    case TYPE_OPTIONAL:
      return !value_is_some(types, type_id, value) || references_hold(runner, type->of, value_open(types, type_id, value), path, depth + 1);
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return items_hold(runner, type, value.list, path, depth + 1);
    case TYPE_RECORD: return fields_hold(runner, types->records[type->of].field_count, types->records[type->of].fields, value.record, path, depth + 1);
    case TYPE_ENUM: {
      const EnumDef *def = &types->enums[type->of];
      if (def->plain || !value.variant) return true;
      const CaseDef *one = &def->cases[value.variant->tag];
      return fields_hold(runner, one->field_count, one->fields, value.variant->fields, path, depth + 1);
    }
    case TYPE_BOOL: case TYPE_INT: case TYPE_DECIMAL: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: case TYPE_TIME:
    case TYPE_DATE: case TYPE_DURATION: case TYPE_KIND_COUNT: return true;
  }
  return true;
}

static bool check_references(const Runner *runner, const EntryDef *entry, const VmCall *call, const Value *args, AppOutcome *outcome, Arena *arena) {
  Buf path;
  buf_init(&path, REFERENCE_PATH_BYTES_MAX);
  bool hold = true;
  for (uint16_t i = 0; hold && i < entry->param_count; i++) {
    if (!(call->given >> i & 1)) continue;
    buf_clear(&path);
    buf_add_str(&path, entry->params[i].name);
    hold = references_hold(runner, entry->params[i].type, args[i], &path, 0);
  }
  if (!hold) outcome_reject(outcome, ERROR_NOT_FOUND, arena_copy(arena, buf_str(&path)), NULL);
  buf_free(&path);
  return hold;
}

// ---- entries ----------------------------------------------------------------------------------------

static VmStatus outcome_from(Runner *runner, VmStatus status, const Exec *exec, AppOutcome *outcome, Arena *arena) {
  if (status == VM_REJECTED) outcome_rejected(outcome, runner->module, &exec->rejection, arena);
  if (status == VM_FAULT) outcome_fault(outcome, runner->module, &exec->fault, runner->log, arena);
  return status;
}

// Fills what was not given: with its default, or none, which is the zero of an optional.
static VmStatus fill_defaults(Runner *runner, const EntryDef *entry, const VmCall *call, Value *args, AppOutcome *outcome, Arena *arena) {
  for (uint16_t i = 0; i < entry->param_count; i++) {
    const ParamDef *param = &entry->params[i];
    if (call->given >> i & 1) continue;
    args[i] = value_zero(&runner->module->schema.types, param->type);
    if (param->default_function == NO_FUNCTION) continue;
    Exec *exec;
    VmCall inner = *call;
    inner.seed ^= (uint64_t)(i + 1) << 32;  // two defaults of new_uuid() differ
    VmStatus status = runner_run(runner, RUN_INNER, param->default_function, &inner, NULL, &exec);
    if (status != VM_DONE) return outcome_from(runner, status, exec, outcome, arena);
    if (!value_copy(&runner->module->schema.types, param->type, exec->result, arena, &args[i])) {
      outcome_unavailable(outcome, "no memory for an argument");
      return VM_FAULT;
    }
  }
  return VM_DONE;
}

VmStatus runner_begin_entry(Runner *runner, const EntryDef *entry, const VmCall *call, const Value *args, AppOutcome *outcome, Arena *arena) {
  runner->issued_token = false;
  if (!runner_may(runner, entry)) {
    outcome_reject(outcome, ERROR_FORBIDDEN, (Str){0}, NULL);
    return VM_REJECTED;
  }
  if (!check_references(runner, entry, call, args, outcome, arena)) return VM_REJECTED;
  Value *filled = ARENA_ARRAY(arena, Value, entry->param_count + 1);
  if (!filled) {
    outcome_unavailable(outcome, "no memory for the arguments");
    return VM_FAULT;
  }
  for (uint16_t i = 0; i < entry->param_count; i++) {
    if (call->given >> i & 1) filled[i] = args[i];
  }
  VmStatus status = fill_defaults(runner, entry, call, filled, outcome, arena);
  if (status != VM_DONE) return status;
  Exec *exec;
  bool ready = ready_exec(runner, RUN_MAIN, &exec) && vm_call(exec, entry->function, call, filled) == ERR_NONE;
  return ready ? VM_SLICE : outcome_from(runner, no_memory(exec), exec, outcome, arena);
}

VmStatus runner_go_on(Runner *runner, uint64_t slice_fuel, AppOutcome *outcome, Arena *arena) {
  VmStatus status = vm_run(&runner->main, slice_fuel);
  return outcome_from(runner, status, &runner->main, outcome, arena);
}

VmStatus runner_call_entry(Runner *runner, const EntryDef *entry, const VmCall *call, const Value *args, AppOutcome *outcome, Arena *arena) {
  VmStatus status = runner_begin_entry(runner, entry, call, args, outcome, arena);
  while (status == VM_SLICE) status = runner_go_on(runner, runner->limits.fuel, outcome, arena);
  return status;
}

void runner_rest(Runner *runner) {
  if (runner->main_ready) vm_reset(&runner->main);
  if (runner->inner_ready) vm_reset(&runner->inner);
  if (runner->role_ready) vm_reset(&runner->role);
}

VmStatus runner_call_function(Runner *runner, uint16_t function, const VmCall *call, const Value *args, AppOutcome *outcome, Arena *arena) {
  Exec *exec;
  *outcome = (AppOutcome){.kind = APP_DONE};
  VmStatus status = runner_run(runner, RUN_MAIN, function, call, args, &exec);
  return outcome_from(runner, status, exec, outcome, arena);
}

VmStatus runner_delete_row(Runner *runner, uint16_t table, Value key, const VmCall *call, AppOutcome *outcome, Arena *arena) {
  Exec *exec;
  *outcome = (AppOutcome){.kind = APP_DONE};
  if (!ready_exec(runner, RUN_MAIN, &exec)) {
    outcome_unavailable(outcome, "no memory to delete a row");
    return VM_FAULT;
  }
  exec->call = *call;
  HostResult result = runner->host.delete_row(exec, table, key);
  if (result == HOST_REJECT) return outcome_from(runner, VM_REJECTED, exec, outcome, arena);
  if (result == HOST_OK) return VM_DONE;
  outcome_unavailable(outcome, "a row could not be deleted");  // no code of the app ran, so there is no place to name
  return VM_FAULT;
}

// ---- the end of an input ------------------------------------------------------------------------------

typedef struct EndCheck {
  Runner *runner;
  const VmCall *call;
  AppOutcome *outcome;
  Arena *arena;
  VmStatus status;
} EndCheck;

static bool row_within_limits(EndCheck *check, uint16_t table, Value key) {
  const Module *module = check->runner->module;
  const TableDef *def = &module->schema.tables[table];
  const TableMeta *meta = &module->table_meta[table];
  ValueProblems problems = {.arena = check->arena};
  Row row;
  if (!row_find(check->runner->context.query.reader, table, key, &row)) return true;
  for (uint16_t i = 0; i < def->column_count; i++) {
    Limits limits = meta->columns[i].limits;
    if (def->columns[i].hidden) continue;  // a setting, which was checked when it was given
    if (limits.min == NO_CONSTANT && limits.max == NO_CONSTANT) continue;
    Value value;
    if (row_column(&row, i, check->arena, &value) != ERR_NONE) continue;
    if (limits_check(module, def->columns[i].type, limits, value, def->columns[i].name, &problems)) continue;
    outcome_reject(check->outcome, ERROR_CHECK_FAILED, def->columns[i].name, NULL);
    if (problems.count) check->outcome->problem.detail = problems.items[0].message;
    return false;
  }
  return true;
}

// An error stops the visit; `status` says what it was.
static Err check_row(void *context, uint16_t table, Value key, bool stands) {
  EndCheck *check = context;
  const TableMeta *meta = &check->runner->module->table_meta[table];
  if (!stands) return ERR_NONE;
  if (!row_within_limits(check, table, key)) {
    check->status = VM_REJECTED;
    return ERR_REFUSED;
  }
  if (meta->check_function == NO_FUNCTION) return ERR_NONE;
  Exec *exec;
  check->status = runner_run(check->runner, RUN_INNER, meta->check_function, check->call, &key, &exec);
  if (check->status == VM_DONE) return ERR_NONE;
  outcome_from(check->runner, check->status, exec, check->outcome, check->arena);
  return ERR_REFUSED;
}

static void outcome_clash(const Module *module, const UniqueClash *clash, AppOutcome *outcome, Arena *arena) {
  const TableDef *def = &module->schema.tables[clash->table];
  const IndexDef *index = &def->indexes[clash->index];
  Buf field;
  buf_init(&field, 0);
  for (uint16_t i = 0; i < index->column_count; i++) {
    if (i) buf_add_text(&field, ", ");
    buf_add_str(&field, def->columns[index->columns[i].column].name);
  }
  outcome_reject(outcome, ERROR_DUPLICATE, arena_copy(arena, buf_str(&field)), NULL);
  buf_free(&field);
}

VmStatus runner_check_end(Runner *runner, TxnMark mark, const VmCall *call, AppOutcome *outcome, Arena *arena) {
  Txn *txn = runner->context.query.txn;
  EndCheck check = {.runner = runner, .call = call, .outcome = outcome, .arena = arena, .status = VM_DONE};
  Err err = txn_touched(txn, mark, check_row, &check);
  if (check.status != VM_DONE) return check.status;
  UniqueClash clash;
  if (err == ERR_NONE) err = txn_check_unique(txn, mark, &clash);
  if (err == ERR_NONE) return VM_DONE;
  if (err == ERR_EXISTS) {
    outcome_clash(runner->module, &clash, outcome, arena);
    return VM_REJECTED;
  }
  outcome_unavailable(outcome, err_words(err));
  return VM_FAULT;
}

// ---- the first state ------------------------------------------------------------------------------------

static VmStatus fill_state_value(Runner *runner, uint16_t column, const VmCall *call, AppOutcome *outcome, Arena *arena) {
  uint16_t function = runner->module->table_meta[SCHEMA_STATE_TABLE].columns[column].default_function;
  if (function == NO_FUNCTION) return VM_DONE;
  Exec *exec;
  VmStatus status = runner_run(runner, RUN_INNER, function, call, NULL, &exec);
  if (status != VM_DONE) return outcome_from(runner, status, exec, outcome, arena);
  Value key = {.i = 0};
  Err err = txn_update(runner->context.query.txn, SCHEMA_STATE_TABLE, key, 1, &column, &exec->result);
  if (err == ERR_NONE) return VM_DONE;
  outcome_unavailable(outcome, err_words(err));
  return VM_FAULT;
}

VmStatus runner_start_state(Runner *runner, const VmCall *call, AppOutcome *outcome, Arena *arena) {
  const Module *module = runner->module;
  TxnMark mark = txn_mark(runner->context.query.txn);
  for (uint16_t column = 1; column < module->schema.tables[SCHEMA_STATE_TABLE].column_count; column++) {
    if (settings_is_column(module->schema.tables[SCHEMA_STATE_TABLE].columns[column].name)) continue;  // written before
    VmStatus status = fill_state_value(runner, column, call, outcome, arena);
    if (status != VM_DONE) return status;
  }
  if (module->start_function != NO_FUNCTION) {
    Exec *exec;
    VmStatus status = runner_run(runner, RUN_MAIN, module->start_function, call, NULL, &exec);
    if (status != VM_DONE) return outcome_from(runner, status, exec, outcome, arena);
  }
  return runner_check_end(runner, mark, call, outcome, arena);
}
