// See fake_host.h.
#include "tests/unit/vm/fake_host.h"

static FakeHost *fake(Exec *exec) { return exec->host_context; }

static HostResult state_get(Exec *exec, uint16_t column, Value *out) {
  if (fake(exec)->charge && !vm_charge(exec, fake(exec)->charge)) return vm_fault(exec, FAULT_BUDGET, "state");
  *out = fake(exec)->state[column];
  return HOST_OK;
}
static HostResult state_set(Exec *exec, uint16_t column, Value value) {
  fake(exec)->state[column] = value;
  return HOST_OK;
}
static FakeRow *find_row(Exec *exec, Value key) {
  for (uint32_t i = 0; i < fake(exec)->row_count; i++)
    if (fake(exec)->rows[i].stands && fake(exec)->rows[i].id == key.i) return &fake(exec)->rows[i];
  return NULL;
}
static HostResult row_has(Exec *exec, uint16_t table, Value key, bool *out) {
  (void)table;
  *out = find_row(exec, key) != NULL;
  return HOST_OK;
}
static HostResult column_get(Exec *exec, uint16_t table, Value key, uint16_t column, Value *out) {
  (void)table;
  FakeRow *row = find_row(exec, key);
  if (!row) return vm_fault(exec, FAULT_ROW_GONE, "gone");
  *out = row->columns[column];
  return HOST_OK;
}
static HostResult column_set(Exec *exec, uint16_t table, Value key, uint16_t column, Value value) {
  (void)table;
  FakeRow *row = find_row(exec, key);
  if (!row) return vm_fault(exec, FAULT_ROW_GONE, NULL);
  row->columns[column] = value;
  return HOST_OK;
}
static HostResult insert(Exec *exec, uint16_t table, const Value *columns, Value *out_key) {
  (void)table;
  FakeHost *host = fake(exec);
  if (host->row_count == FAKE_ROWS) return vm_reject(exec, ERROR_LIMIT, STR("Item"), NULL);
  FakeRow *row = &host->rows[host->row_count++];
  *row = (FakeRow){.stands = true, .id = host->row_count};
  for (int i = 0; i < 4; i++) row->columns[i] = columns[i];
  *out_key = (Value){.i = row->id};
  return HOST_OK;
}
static HostResult delete_row(Exec *exec, uint16_t table, Value key) {
  (void)table;
  FakeRow *row = find_row(exec, key);
  if (!row) return vm_fault(exec, FAULT_ROW_GONE, NULL);
  row->stands = false;
  fake(exec)->deleted++;
  return HOST_OK;
}

// ---- queries: number of frames given, and the stage whose block runs next ---------------------
typedef struct FakeQuery { const Function *function; uint16_t plan, stage; int64_t given; bool waits; } FakeQuery;

static HostResult query_open(Exec *exec, const Function *function, uint16_t plan, void **slot) {
  FakeQuery *query = *slot ? *slot : arena_alloc(&exec->arena, sizeof *query);
  if (!query) return vm_fault(exec, FAULT_BUDGET, NULL);
  *query = (FakeQuery){.function = function, .plan = plan};
  *slot = query;
  fake(exec)->opened++;
  return HOST_OK;
}
static QueryStep query_next(Exec *exec, void *slot, Value *registers) {
  FakeQuery *query = slot;
  FakeHost *host = fake(exec);
  const Plan *plan = &query->function->plans[query->plan];
  host->steps++;
  if (query->given == host->frames) return (QueryStep){QUERY_END, 0};
  if (!vm_charge(exec, 1)) { vm_fault(exec, FAULT_BUDGET, "query"); return (QueryStep){QUERY_FAILED, 0}; }
  if (host->again && !query->waits) { query->waits = true; return (QueryStep){QUERY_AGAIN, 0}; }
  while (query->stage < plan->stage_count) {
    const Stage *stage = &plan->stages[query->stage++];
    if (query->stage == 1) registers[stage->to].i = query->given;
    if (stage->block != NO_BLOCK) return (QueryStep){QUERY_BLOCK, stage->block};
  }
  query->stage = 0;
  query->waits = false;
  query->given++;
  return (QueryStep){QUERY_FRAME, 0};
}
static void query_close(Exec *exec, void *slot) {
  (void)slot;
  fake(exec)->closed++;
}
static HostResult cursor_key(Exec *exec, void *slot, uint8_t stage, Value *out) {
  (void)exec, (void)stage;
  out->i = slot ? ((FakeQuery *)slot)->given : -1;
  return HOST_OK;
}
static HostResult cursor_column(Exec *exec, void *slot, uint8_t stage, uint16_t column, Value *out) {
  (void)exec, (void)stage;
  out->i = slot ? ((FakeQuery *)slot)->given * 100 + column : -1;
  return HOST_OK;
}

// ---- surroundings and tests -------------------------------------------------------------------
static HostResult caller_is(Exec *exec, uint16_t role, bool *out) {
  (void)exec;
  *out = role == 0;
  return HOST_OK;
}
static HostResult send(Exec *exec, uint16_t output, const Value *values) {
  (void)output;
  fake(exec)->sent += (uint32_t)values[1].i;
  return HOST_OK;
}
static HostResult call_entry(Exec *exec, uint16_t entry, uint64_t given, const Value *args, Value *out) {
  FakeHost *host = fake(exec);
  host->entry = entry;
  host->given = given;
  host->called++;
  if (host->entry_result == HOST_REJECT) return vm_reject(exec, host->entry_error, STR("p0"), NULL);
  out->i = args[0].i + 1;
  return HOST_OK;
}
static uint32_t mark(Exec *exec) { return ++fake(exec)->marks; }
static void undo(Exec *exec, uint32_t to) { fake(exec)->undone = to; }
static HostResult advance(Exec *exec, int64_t duration_us) {
  fake(exec)->advanced += duration_us;
  return HOST_OK;
}
static HostResult as_begin(Exec *exec, Str caller, uint64_t roles) {
  fake(exec)->as = caller;
  fake(exec)->as_roles = roles;
  return HOST_OK;
}
static void as_end(Exec *exec) { fake(exec)->as = (Str){0}; }
static HostResult sent(Exec *exec, uint16_t output, TypeId list, Value *out) {
  if (exec->module->schema.types.types[list].kind != TYPE_LIST) return vm_fault(exec, FAULT_RANGE, NULL);
  List *items = list_new(&exec->arena, output + 3u);
  out->list = items;
  return items ? HOST_OK : vm_fault(exec, FAULT_BUDGET, NULL);
}

static HostResult issue_token(Exec *exec, Str subject, uint64_t roles, int64_t lasts_us, Value *out) {
  out->text = arena_format(&exec->arena, STR_FMT " %llu %lld", STR_ARG(subject), (unsigned long long)roles, (long long)lasts_us);
  return HOST_OK;
}

const VmHost FAKE_HOST = {
  state_get, state_set, row_has, column_get, column_set, insert, delete_row, query_open, query_next, query_close, cursor_key, cursor_column,
  caller_is, send, issue_token, call_entry, mark, undo, advance, as_begin, as_end, sent,
};
