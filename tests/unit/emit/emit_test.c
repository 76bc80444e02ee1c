// Code that emit makes, read back and verified. What it does at run time is tested where the machine and the tables are
// (tests/unit/query and the examples' own tests).
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/unit/emit/make.h"

static Make make;
static void setup(void) { make_init(&make); }
static void teardown(void) { make_free(&make); }
TestSuite(emit, .init = setup, .fini = teardown);

static void expect_text(const char *name, Str text, const char *part) {
  cr_expect(memmem(text.ptr, text.len, part, strlen(part)) != NULL, "%s: no \"%s\" in\n%.*s", name, part, STR_ARG(text));
}

static HExpr *compare(HOp op, HExpr *a, HExpr *b) { return make_two(&make, H_COMPARE, (uint8_t)op, T_BOOL, a, b); }
static HExpr *both(HExpr *a, HExpr *b) { return make_two(&make, H_AND, 0, T_BOOL, a, b); }

// ---- ways to rows -------------------------------------------------------------------------------
typedef struct WayParts { LocalId row, title, number, due, item; HClause clauses[4]; uint32_t count; } WayParts;

static void by_key(WayParts *p) { p->clauses[p->count++] = make_where(compare(HOP_EQ, make_column(&make, p->row, ITEM_ID), make_use(&make, p->number))); }
static void by_row(WayParts *p) { p->clauses[p->count++] = make_where(compare(HOP_EQ, make_use(&make, p->item), make_use(&make, p->row))); }
static void by_title(WayParts *p) { p->clauses[p->count++] = make_where(compare(HOP_EQ, make_column(&make, p->row, ITEM_TITLE), make_use(&make, p->title))); }
static void by_title_and_due(WayParts *p) {
  HExpr *title = compare(HOP_EQ, make_use(&make, p->title), make_column(&make, p->row, ITEM_TITLE));
  p->clauses[p->count++] = make_where(both(title, compare(HOP_GE, make_use(&make, p->due), make_column(&make, p->row, ITEM_DUE))));
}
static void by_price(WayParts *p) { p->clauses[p->count++] = make_where(compare(HOP_NE, make_column(&make, p->row, ITEM_PRICE), make_column(&make, p->row, ITEM_PRICE))); }
static void key_range(WayParts *p) { p->clauses[p->count++] = make_where(compare(HOP_LT, make_use(&make, p->number), make_column(&make, p->row, ITEM_ID))); }
static void title_by_due(WayParts *p) {
  by_title(p);
  p->clauses[p->count++] = make_order(&make, make_column(&make, p->row, ITEM_DUE), true);
}
static void title_by_due_upwards(WayParts *p) {
  by_title(p);
  p->clauses[p->count++] = make_order(&make, make_column(&make, p->row, ITEM_DUE), false);
}
static void by_id_downwards(WayParts *p) { p->clauses[p->count++] = make_order(&make, make_column(&make, p->row, ITEM_ID), true); }
static void by_title_order(WayParts *p) { p->clauses[p->count++] = make_order(&make, make_column(&make, p->row, ITEM_TITLE), false); }
// A guard stands before a bound that can fail: the bound stays a filter.
static void guarded(WayParts *p) {
  HExpr *guard = compare(HOP_NE, make_use(&make, p->number), make_number(&make, 0));
  HExpr *bound = make_two(&make, H_ARITH, HOP_DIV, T_INT, make_number(&make, 100), make_use(&make, p->number));
  p->clauses[p->count++] = make_where(both(guard, compare(HOP_EQ, make_column(&make, p->row, ITEM_ID), bound)));
}

typedef struct WayCase { const char *name; void (*build)(WayParts *parts); const char *plan, *no; } WayCase;

static void check_way(const WayCase *test, bool counted) {
  setup();
  make_function(&make, FUNCTION_ALWAYS, 0, counted ? T_INT : T_LIST_TEXT);
  WayParts p = {.row = make_local(&make, T_ITEM), .title = make_local(&make, T_TEXT), .number = make_local(&make, T_INT), .due = make_local(&make, T_TIME), .item = make_local(&make, T_ITEM)};
  p.clauses[p.count++] = make_rows(p.row, TABLE_ITEM);
  test->build(&p);
  HExpr *query = make_query(&make, T_LIST_TEXT, p.count, p.clauses, make_column(&make, p.row, ITEM_TITLE));
  HStmt stmt = {.kind = HS_RETURN, .a = counted ? make_aggregate(&make, AGGREGATE_COUNT, T_INT, query, NULL) : query};
  make_body(&make, 1, &stmt);
  Str text = make_disassembly(&make);
  expect_text(test->name, text, test->plan);
  if (test->no) cr_expect(memmem(text.ptr, text.len, test->no, strlen(test->no)) == NULL, "%s: \"%s\" in\n%.*s", test->name, test->no, STR_ARG(text));
  teardown();
}

Test(ways, take_keys_indexes_ranges_and_orders) {
  static const WayCase CASES[] = {
    {"the key", by_key, "scan Item equal 1", "order"},
    {"the row itself", by_row, "scan Item equal 1", "filter"},
    {"an index, then the key order again", by_title, "scan Item index 0 equal 1 flags 0 from", NULL},
    {"an index, then the key order again", by_title, "order block 0 keys", "filter"},
    {"an index and a range", by_title_and_due, "scan Item index 0 equal 1 flags 10 from", "filter"},
    {"only a filter", by_price, "scan Item equal 0", "order"},
    {"a range of the key", key_range, "scan Item equal 0 flags 1 from", "order"},
    {"an order that the index has", title_by_due, "scan Item index 0 equal 1 flags 0", "order"},
    {"against the index, where ties would turn too", title_by_due_upwards, "order block", "flags 16"},
    {"the key backwards", by_id_downwards, "scan Item equal 0 flags 16", "order"},
    {"an index whose further columns break ties", by_title_order, "order block", "scan Item index"},
    {"a guard before a bound that can fail", guarded, "scan Item equal 0", NULL},
    {"a guard before a bound that can fail", guarded, "filter block", NULL},
  };
  for (size_t i = 0; i < countof(CASES); i++) check_way(&CASES[i], false);
}

Test(ways, count_ranges_without_visiting_them) {
  static const WayCase CASES[] = {
    {"by an index", by_title, "count Item index 0 equal 1", "scan"},
    {"by a range", by_title_and_due, "count Item index 0 equal 1 flags 10", "scan"},
    {"order does not matter", title_by_due, "count Item index 0 equal 1", "scan"},
    {"a filter is left", by_price, "aggregate", "count Item"},
  };
  for (size_t i = 0; i < countof(CASES); i++) check_way(&CASES[i], true);
}

// `number == 0 or i.title == title`: two queries, one of which uses the index.
Test(ways, a_condition_without_the_row_is_decided_before) {
  setup();
  make_function(&make, FUNCTION_ALWAYS, 0, T_LIST_TEXT);
  LocalId row = make_local(&make, T_ITEM), number = make_local(&make, T_INT), title = make_local(&make, T_TEXT);
  HExpr *free = compare(HOP_EQ, make_use(&make, number), make_number(&make, 0));
  HExpr *bound = compare(HOP_EQ, make_column(&make, row, ITEM_TITLE), make_use(&make, title));
  HClause clauses[] = {make_rows(row, TABLE_ITEM), make_where(both(make_two(&make, H_OR, 0, T_BOOL, free, bound), compare(HOP_GT, make_column(&make, row, ITEM_ID), make_number(&make, 3))))};
  make_body(&make, 1, &(HStmt){.kind = HS_RETURN, .a = make_query(&make, T_LIST_TEXT, 2, clauses, make_column(&make, row, ITEM_TITLE))});
  Str text = make_disassembly(&make);
  expect_text("without", text, "scan Item equal 0 flags 1 from");
  expect_text("with", text, "scan Item index 0 equal 1 flags 0 from");
  teardown();
}

// ---- expressions ----------------------------------------------------------------------------------
Test(emit, long_chains_take_few_registers) {
  make_function(&make, FUNCTION_FN, 0, T_INT);
  LocalId x = make_local(&make, T_INT);
  make_params(&make, 1);
  HExpr *sum = make_use(&make, x);
  for (int i = 0; i < 100000; i++) sum = make_two(&make, H_ARITH, HOP_ADD, T_INT, sum, make_number(&make, i));
  make_body(&make, 1, &(HStmt){.kind = HS_RETURN, .a = sum});
  Module *module = make_read(&make);
  cr_assert_leq(module->functions[0].register_count, 4);
  cr_assert_leq(module->functions[0].code_count, 200010);
}

Test(emit, long_conditions_are_walked_in_a_loop) {
  make_function(&make, FUNCTION_FN, 0, T_BOOL);
  LocalId x = make_local(&make, T_INT);
  make_params(&make, 1);
  HExpr *all = compare(HOP_LT, make_use(&make, x), make_number(&make, 0));
  for (int i = 0; i < 100000; i++) all = both(all, compare(HOP_NE, make_use(&make, x), make_number(&make, i)));
  make_body(&make, 1, &(HStmt){.kind = HS_RETURN, .a = all});
  cr_assert_leq(make_read(&make)->functions[0].register_count, 6);
}

// `ok = ok2 and ok` must not lose the old `ok` before it is read.
Test(emit, a_local_is_not_overwritten_while_it_is_read) {
  make_function(&make, FUNCTION_FN, 0, T_BOOL);
  LocalId ok = make_local(&make, T_BOOL), other = make_local(&make, T_BOOL);
  make_params(&make, 2);
  HStmt stmts[] = {{.kind = HS_SET, .local = ok, .a = both(make_use(&make, other), make_use(&make, ok))}, {.kind = HS_RETURN, .a = make_use(&make, ok)}};
  make_body(&make, 2, stmts);
  Module *module = make_read(&make);
  const Function *f = &module->functions[0];
  for (uint32_t i = 0; i < f->code_count; i++) {
    if (f->code[i].op == OP_AND) break;
    cr_assert_neq(f->code[i].a, ok);
  }
}

Test(emit, a_right_side_that_can_fail_is_jumped_over) {
  make_function(&make, FUNCTION_FN, 0, T_BOOL);
  LocalId n = make_local(&make, T_INT);
  make_params(&make, 1);
  HExpr *quotient = make_two(&make, H_ARITH, HOP_DIV, T_INT, make_number(&make, 10), make_use(&make, n));
  HExpr *safe = both(compare(HOP_NE, make_use(&make, n), make_number(&make, 0)), compare(HOP_GT, quotient, make_number(&make, 1)));
  make_body(&make, 1, &(HStmt){.kind = HS_RETURN, .a = safe});
  Str text = make_disassembly(&make);
  expect_text("jump", text, "JUMP_IF_NOT");
  cr_expect(memmem(text.ptr, text.len, " AND ", 5) == NULL);
}

// ---- loops -------------------------------------------------------------------------------------------
Test(emit, a_loop_that_deletes_fixes_its_rows_first) {
  make_function(&make, FUNCTION_INPUT, EFFECT_WRITES, TYPE_NONE);
  LocalId row = make_local(&make, T_ITEM);
  HClause clauses[] = {make_rows(row, TABLE_ITEM)};
  HExpr *query = make_query(&make, T_LIST_TEXT, 1, clauses, make_use(&make, row));
  HStmt body = {.kind = HS_DELETE, .a = make_use(&make, row)};
  HStmt loop = {.kind = HS_FOR, .query = query->query, .body = make_stmts(&make, 1, &body)};
  make_body(&make, 1, &loop);
  Str text = make_disassembly(&make);
  expect_text("gathered", text, "order block 0 carries r0");
  expect_text("skipped", text, "ROW_HAS");
  cr_assert_eq(make.diags.warning_count, 1);
  cr_assert_eq(make.diags.items[0]->code, DIAG_W304);
}

Test(emit, a_loop_that_only_reads_goes_on_the_cursor) {
  make_function(&make, FUNCTION_FN, 0, T_INT);
  LocalId n = make_local(&make, T_INT), row = make_local(&make, T_ITEM);
  HClause clauses[] = {make_rows(row, TABLE_ITEM)};
  HExpr *query = make_query(&make, T_LIST_TEXT, 1, clauses, make_use(&make, row));
  HStmt body = {.kind = HS_SET, .local = n, .a = make_two(&make, H_ARITH, HOP_ADD, T_INT, make_use(&make, n), make_column(&make, row, ITEM_ID))};
  HStmt stmts[] = {{.kind = HS_FOR, .query = query->query, .body = make_stmts(&make, 1, &body)}, {.kind = HS_RETURN, .a = make_use(&make, n)}};
  query->query->accepts_scan = true;
  make_body(&make, 2, stmts);
  Str text = make_disassembly(&make);
  expect_text("cursor", text, "CURSOR_COLUMN");
  cr_expect(memmem(text.ptr, text.len, "order", 5) == NULL);
  cr_assert_eq(make.diags.warning_count, 0, "accepted by @scan");
}

// ---- limits ------------------------------------------------------------------------------------------
static Err emit_locals(uint32_t count) {
  make_function(&make, FUNCTION_FN, 0, TYPE_NONE);
  HStmt *stmts = ARENA_ARRAY(&make.build.arena, HStmt, count);
  for (uint32_t i = 0; i < count; i++) stmts[i] = (HStmt){.kind = HS_SET, .local = make_local(&make, T_INT), .a = make_number(&make, (int64_t)i)};
  make_body(&make, count, stmts);
  return make_emit(&make);
}

Test(emit, registers_up_to_the_limit) { cr_assert_eq(emit_locals(FUNCTION_REGISTERS_MAX), ERR_NONE); }

Test(emit, one_register_more_is_told_at_its_place) {
  cr_assert_eq(emit_locals(FUNCTION_REGISTERS_MAX + 1), ERR_REFUSED);
  cr_assert_eq(make.diags.error_count, 1);
  cr_assert_eq(make.diags.items[0]->code, DIAG_E026);
  cr_assert_eq(make.diags.items[0]->span.start, 19);
}

// So many queries in one function.
static Err emit_queries(uint32_t count) {
  make_function(&make, FUNCTION_ALWAYS, 0, TYPE_NONE);
  HStmt *stmts = ARENA_ARRAY(&make.build.arena, HStmt, count);
  LocalId row = make_local(&make, T_ITEM);
  for (uint32_t i = 0; i < count; i++) {
    HClause rows = make_rows(row, TABLE_ITEM);
    HExpr *query = make_query(&make, T_LIST_INT, 1, &rows, make_use(&make, row));
    stmts[i] = (HStmt){.kind = HS_EXPR, .a = make_aggregate(&make, AGGREGATE_COUNT, T_INT, query, NULL)};
  }
  make_body(&make, count, stmts);
  return make_emit(&make);
}

Test(emit, queries_up_to_the_limit) { cr_assert_eq(emit_queries(FUNCTION_PLANS_MAX), ERR_NONE); }

Test(emit, one_query_more_is_told) {
  cr_assert_eq(emit_queries(FUNCTION_PLANS_MAX + 1), ERR_REFUSED);
  cr_assert_eq(make.diags.items[0]->code, DIAG_E026);
}

// An order whose rows are selected with so many columns of other rows: each is carried.
static Err emit_carried(uint32_t count) {
  make_function(&make, FUNCTION_ALWAYS, 0, T_LIST_INT);
  LocalId row = make_local(&make, T_ITEM);
  HClause *clauses = ARENA_ARRAY(&make.build.arena, HClause, 2);
  clauses[0] = make_rows(row, TABLE_ITEM);
  clauses[1] = make_order(&make, make_column(&make, row, ITEM_PRICE), false);
  HExpr *sum = make_number(&make, 0);
  for (uint32_t i = 0; i < count; i++) {
    LocalId with = make_local(&make, T_INT);
    clauses = arena_grow(&make.build.arena, clauses, (i + 2) * sizeof *clauses, (i + 3) * sizeof *clauses);
    clauses[i + 2] = clauses[i + 1];
    clauses[i + 1] = (HClause){.kind = HC_WITH, .local = with, .a = make_column(&make, row, ITEM_ID)};
    sum = make_two(&make, H_ARITH, HOP_ADD, T_INT, sum, make_use(&make, with));
  }
  make_body(&make, 1, &(HStmt){.kind = HS_RETURN, .a = make_query(&make, T_LIST_INT, count + 2, clauses, sum)});
  return make_emit(&make);
}

Test(emit, carried_values_up_to_the_limit) { cr_assert_eq(emit_carried(PLAN_CARRIED_MAX), ERR_NONE, "%s", make.diags.count ? make.diags.items[0]->message.ptr : ""); }
Test(emit, one_carried_value_more_is_told) {
  cr_assert_eq(emit_carried(PLAN_CARRIED_MAX + 1), ERR_REFUSED);
  cr_assert_eq(make.diags.items[0]->code, DIAG_E026);
}

Test(emit, names_the_index_that_would_help) {
  make_function(&make, FUNCTION_VIEW, 0, T_LIST_TEXT);
  LocalId price = make_local(&make, T_DEC2), row = make_local(&make, T_ITEM);
  make_params(&make, 1);
  HClause clauses[] = {make_rows(row, TABLE_ITEM), make_where(compare(HOP_EQ, make_column(&make, row, ITEM_PRICE), make_use(&make, price))),
    make_order(&make, make_column(&make, row, ITEM_DUE), true)};
  make_body(&make, 1, &(HStmt){.kind = HS_RETURN, .a = make_query(&make, T_LIST_TEXT, 3, clauses, make_column(&make, row, ITEM_TITLE))});
  cr_assert_eq(make_emit(&make), ERR_NONE);
  cr_assert_eq(make.diags.warning_count, 1);
  cr_assert(str_is(make.diags.items[0]->help, "add `index price, due desc` to table Item, or accept it with `@scan` on the header"), "%.*s", STR_ARG(make.diags.items[0]->help));
}
