// What a host keeps for an app beside its own data stands in its schema too, under names that no app can write, so that it is
// saved, undone and moved by the same code: hidden columns of timers, and the table of messages that wait to be sent.
//
//   every, daily   state table: `~timer NAME PERIOD …`: time, what the last run was for; a new one starts with `now`. A changed
//                  rhythm has another name, so that it starts anew and runs for no time that is past
//   for rows       their table: `~timer NAME FIELD`: time?, indexed: when the row is due; none once its timer ran
//                               `~tries NAME FIELD`: int: how often that failed since
//                  state table: `~begun NAME TABLE.FIELD`: bool: the host has armed the rows that were there before the timer
//   setting        state table: `~setting NAME`: its value, written by the host
//   outputs        `~outbox`: id, output, at, body; its counter is in the state table
//   issue_token    `~tokens`: hash, subject, roles, expires; indexed by the last
//
// A row is armed by the code that writes its field, here: an insert, and an assignment that changes the field or sets it
// to a time that is not past. It is armed for `now` at the earliest, so that rows fire in the order in which they came due.
#include "compiler/check/internal.h"

#include <assert.h>

#include "runtime/base/calendar.h"

// ---- columns ----------------------------------------------------------------------------------

static uint16_t add_hidden(Check *check, TableInfo *table, TypeId type, Str name, Str was, Span span) {
  if (table->column_count >= SCHEMA_COLUMNS_MAX) {
    diag_add(check->diags, DIAG_E026, span, "`" STR_FMT "` has no room for what is kept for this: a table has at most %d columns (SCHEMA_COLUMNS_MAX)", STR_ARG(table->name), SCHEMA_COLUMNS_MAX);
    return SCHEMA_NO_COLUMN;
  }
  ColumnInfo *column = table__add_column(check, table);
  if (!column) return SCHEMA_NO_COLUMN;
  column->type = type;
  column->hidden = true;
  column->name = name;
  column->was = was;
  column->span = span;
  return (uint16_t)(table->column_count - 1);
}

// A default that nobody wrote: `value` alone.
static Fn *default_of(Check *check, HExprKind kind, TypeId type, Span span) {
  Fn *fn = fn_new(check, FUNCTION_DEFAULT, NULL, (Name){.span = span});
  HStmt *stmt = CHECK_NEW(check, HStmt);
  if (!fn || !stmt) return NULL;
  *stmt = (HStmt){.kind = HS_RETURN, .a = h_new(check, kind, type, span), .span = span, .local = NO_LOCAL};
  fn->h.name = STR("timer");
  fn->h.result = type;
  fn->h.body = (HStmts){.count = 1, .items = stmt};
  fn->used = fn->result_known = true;
  fn->progress = PROGRESS_DONE;
  if (kind == H_NOW) fn->own_effects = EFFECT_NOW;
  return fn;
}

static void keep_last_run(Check *check, TimerInfo *timer) {
  const char *const format = "~timer " STR_FMT " %lld %lld";  // of a timer without a time of the day, that is 0
  Str name = arena_format(check->arena, format, SYM_ARG(check, timer->sym), (long long)timer->period_us, (long long)timer->at_us);
  Str was = STR("");
  if (timer->decl->header.was.count) {
    was = arena_format(check->arena, format, SYM_ARG(check, timer->decl->header.was.items[0].sym), (long long)timer->period_us, (long long)timer->at_us);
  }
  TableInfo *state = check->tables.items[SCHEMA_STATE_TABLE];
  timer->kept = add_hidden(check, state, ID_TIME, name, was, timer->decl->name.span);
  if (timer->kept != SCHEMA_NO_COLUMN) state->columns[timer->kept].initial = default_of(check, H_NOW, ID_TIME, timer->decl->name.span);
}

// The field's old name, or empty.
static Str field_was(Check *check, const Field *field) {
  for (uint32_t i = 0; field && i < field->mods.count; i++)
    if (field->mods.items[i].kind == MOD_WAS) return sym_str(check, field->mods.items[i].name.sym);
  return STR("");
}

static void keep_due_rows(Check *check, TimerInfo *timer) {
  TableInfo *table = timer->table;
  Span span = timer->decl->name.span;
  const ColumnInfo *field = &table->columns[timer->column];
  Str name = sym_str(check, timer->sym), of = sym_str(check, field->sym);
  Str old_of = field_was(check, field->field), old_name = timer->decl->header.was.count ? sym_str(check, timer->decl->header.was.items[0].sym) : STR("");
  bool renamed = old_of.len || old_name.len;
  if (!old_of.len) old_of = of;
  if (!old_name.len) old_name = name;
  static const char *const KEPT = "~timer " STR_FMT " " STR_FMT, *const TRIES = "~tries " STR_FMT " " STR_FMT;
  Str kept_was = renamed ? arena_format(check->arena, KEPT, STR_ARG(old_name), STR_ARG(old_of)) : STR("");
  Str tries_was = renamed ? arena_format(check->arena, TRIES, STR_ARG(old_name), STR_ARG(old_of)) : STR("");
  timer->kept = add_hidden(check, table, types_optional(&check->types, ID_TIME), arena_format(check->arena, KEPT, STR_ARG(name), STR_ARG(of)), kept_was, span);
  timer->tries = add_hidden(check, table, ID_INT, arena_format(check->arena, TRIES, STR_ARG(name), STR_ARG(of)), tries_was, span);
  Str begun = arena_format(check->arena, "~begun " STR_FMT " " STR_FMT "." STR_FMT, STR_ARG(name), STR_ARG(table->name), STR_ARG(of));
  timer->begun = add_hidden(check, check->tables.items[SCHEMA_STATE_TABLE], ID_BOOL, begun, STR(""), span);
  if (timer->begun == SCHEMA_NO_COLUMN || timer->kept == SCHEMA_NO_COLUMN || timer->tries == SCHEMA_NO_COLUMN) return;
  table->columns[timer->kept].follows = timer->column + 1u;
  table->columns[timer->kept].tries = timer->tries;
  table->columns[timer->tries].initial = default_of(check, H_CONST, ID_INT, span);
  table->has_hidden = table->has_watch = true;
}

void kept_setting(Check *check, SettingInfo *setting) {
  Str name = arena_format(check->arena, "~setting " STR_FMT, SYM_ARG(check, setting->sym));
  TableInfo *state = check->tables.items[SCHEMA_STATE_TABLE];
  setting->column = add_hidden(check, state, setting->type, name, STR(""), setting->field->name.span);
  if (setting->column == SCHEMA_NO_COLUMN) return;
  state->columns[setting->column].initial = setting->initial;
  state->columns[setting->column].setting = (uint32_t)(setting - check->settings.items) + 1;
}

void kept_columns(Check *check) {
  for (uint32_t i = 0; i < check->timers.count && !check->failed; i++) {
    TimerInfo *timer = &check->timers.items[i];
    timer->kept = timer->tries = timer->begun = SCHEMA_NO_COLUMN;
    if (timer->kind == TIMER_EVERY || timer->kind == TIMER_DAILY) keep_last_run(check, timer);
    else if (timer->kind == TIMER_ROWS && timer->table && timer->column < timer->table->column_count) keep_due_rows(check, timer);
  }
  if (!check->outputs.count || check->failed) return;
  check->outbox_counter = add_hidden(check, check->tables.items[SCHEMA_STATE_TABLE], ID_INT, STR("~outbox.id"), STR(""), check->outputs.items[0].decl->name.span);
}

// ---- arming rows ------------------------------------------------------------------------------

static HExpr *now_of(Check *check, Span span) {
  effect_note(check, EFFECT_NOW, span, "now");
  return h_new(check, H_NOW, ID_TIME, span);
}

static HExpr *at_least_now(Check *check, HExpr *time, Span span) {
  HExpr *past = h_binary(check, H_COMPARE, HOP_LT, ID_BOOL, time, now_of(check, span), span);
  return h_some(check, h_if(check, past, now_of(check, span), time));
}

// When a row whose field has that value is due. `value` is simple: it stands here several times.
HExpr *kept_due(Check *check, HExpr *value, Span span) {
  if (value->type == ID_TIME) return at_least_now(check, value, span);
  LocalId inside = local_hidden(check, ID_TIME, span);
  return h_if_some(check, inside, value, at_least_now(check, h_local(check, inside, span), span), h_none(check, types_optional(&check->types, ID_TIME), span));
}

static HExpr *not_past(Check *check, HExpr *value, Span span) {
  if (value->type == ID_TIME) return h_binary(check, H_COMPARE, HOP_GE, ID_BOOL, value, now_of(check, span), span);
  LocalId inside = local_hidden(check, ID_TIME, span);
  HExpr *later = h_binary(check, H_COMPARE, HOP_GE, ID_BOOL, h_local(check, inside, span), now_of(check, span), span);
  return h_if_some(check, inside, value, later, h_bool(check, false, span));
}

static void add_set(Check *check, HStmtList *out, HExpr *row, uint32_t column, HExpr *value, Span span) {
  HStmt *made = stmt_add(check, out, HS_SET_COLUMN, span);
  if (!made) return;
  made->b = row;
  made->index = column;
  made->a = value;
}

// if row.field != value or value >= now { ~timer = …; ~tries = 0 }
static void arm(Check *check, HStmtList *out, const TableInfo *table, uint32_t kept, const KeptWrite *write) {
  const ColumnInfo *column = &table->columns[kept];
  HExpr *before = h_unary(check, H_COLUMN, table->columns[write->column].type, write->row, write->span);
  before->table = table->id;
  before->index = write->column;
  HExpr *changes = h_binary(check, H_COMPARE, HOP_NE, ID_BOOL, before, write->value, write->span);
  HExpr *arms = h_binary(check, H_OR, HOP_EQ, ID_BOOL, changes, not_past(check, write->value, write->span), write->span);
  HStmtList body = {0};
  add_set(check, &body, write->row, kept, kept_due(check, write->value, write->span), write->span);
  add_set(check, &body, write->row, column->tries, h_int(check, 0, write->span), write->span);
  HStmt *made = stmt_add(check, out, HS_IF, write->span);
  if (!made) return;
  made->a = arms;
  made->body = (HStmts){.count = body.count, .items = body.items};
}

bool kept_follows(const TableInfo *table, uint32_t column) {
  for (uint32_t i = 0; table->has_watch && i < table->column_count; i++)
    if (table->columns[i].follows == column + 1) return true;
  return false;
}

void kept_write(Check *check, HStmtList *out, const TableInfo *table, const KeptWrite *write) {
  assert(h_is_simple(write->value) && h_is_simple(write->row));
  for (uint32_t i = 0; i < table->column_count; i++)
    if (table->columns[i].follows == write->column + 1) arm(check, out, table, i, write);
}

// ---- tables -----------------------------------------------------------------------------------

// What a host keeps a table of, and the app that needs it.
enum { KEPT_COLUMNS_MAX = 4 };
typedef struct KeptTable {
  const char *name;
  uint32_t column_count;
  ColumnDef columns[KEPT_COLUMNS_MAX];  // the first is the key
  uint16_t expires;                     // column that an index is on, or SCHEMA_NO_COLUMN
} KeptTable;
#define KEPT(text, id) {.name = {text, sizeof(text) - 1}, .type = id}
static const KeptTable OUTBOX = {"~outbox", 4, {KEPT("id", ID_INT), KEPT("output", ID_TEXT), KEPT("at", ID_TIME), KEPT("body", ID_TEXT)}, SCHEMA_NO_COLUMN};
static const KeptTable TOKENS = {"~tokens", 4, {KEPT("hash", ID_BYTES), KEPT("subject", ID_TEXT), KEPT("roles", ID_TEXT), KEPT("expires", ID_TIME)}, 3};
#undef KEPT

static void add_table(Check *check, const KeptTable *kept, TableDef *out_table, TableMeta *out_meta) {
  static const uint16_t KEY[] = {0};
  ColumnMeta *metas = CHECK_ARRAY(check, ColumnMeta, kept->column_count);
  IndexColumn *column = CHECK_NEW(check, IndexColumn);
  IndexDef *index = CHECK_NEW(check, IndexDef);
  if (!metas || !column || !index) return;
  for (uint32_t i = 0; i < kept->column_count; i++) metas[i] = (ColumnMeta){.default_function = NO_FUNCTION, .limits = {NO_CONSTANT, NO_CONSTANT}};
  *out_table = (TableDef){.name = str_from(kept->name), .column_count = (uint16_t)kept->column_count, .columns = kept->columns, .key_count = 1, .key = KEY};
  *out_meta = (TableMeta){.columns = metas, .check_function = NO_FUNCTION};
  if (kept->expires != SCHEMA_NO_COLUMN) {
    *column = (IndexColumn){.column = kept->expires};
    *index = (IndexDef){.column_count = 1, .columns = column, .condition = SCHEMA_NO_COLUMN};
    out_table->index_count = 1;
    out_table->indexes = index;
  }
  TypeTable *types = &check->types.table;
  ((TypeId *)types->table_keys)[types->table_count] = kept->columns[0].type;
  ((Str *)types->table_names)[types->table_count] = out_table->name;
  types->table_count++;
}

uint32_t kept_tables(Check *check, TableDef *out_tables, TableMeta *out_metas) {
  uint32_t count = 0;
  if (check->outputs.count) {
    add_table(check, &OUTBOX, &out_tables[count], &out_metas[count]);
    out_tables[count].auto_key = true;
    out_tables[count++].auto_column = check->outbox_counter;
  }
  if (check->issues_tokens) {
    add_table(check, &TOKENS, &out_tables[count], &out_metas[count]);
    count++;
  }
  return count;
}
