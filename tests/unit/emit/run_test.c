// What emit's code does: run by the machine over tables, compared with the same worked out in C.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/query/query.h"
#include "tests/unit/emit/make.h"

enum { ITEMS = 500, TITLES = 7 };
typedef struct Item { int64_t id, price, due; uint32_t title; bool there; } Item;

static Make make;
static Item items[ITEMS];
static Db *db;
static const char *const TITLE_TEXTS[TITLES] = {"a", "ab", "b", "", "zz", "m", "n"};

static HostResult no_role(Exec *exec, uint16_t role, bool *out) { (void)exec; (void)role; *out = false; return HOST_OK; }

static void fill(void) {
  make_init(&make);
  Module *module = &make.program.module;
  cr_assert_eq(db_open(&module->schema, 0, &db), ERR_NONE);
  uint64_t random = 42;
  for (int i = 0; i < ITEMS; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    items[i] = (Item){.id = i + 1, .price = (int64_t)(random >> 40) % 1000, .due = (int64_t)(random >> 20) % 50, .title = (uint32_t)(random >> 33) % TITLES, .there = true};
    Value columns[4] = {{.i = items[i].id}, {.text = str_from(TITLE_TEXTS[items[i].title])}, {.dec = items[i].price}, {.i = items[i].due}};
    cr_assert_eq(txn_insert(db_txn(db), TABLE_ITEM, columns), ERR_NONE);
  }
}

static void empty(void) {
  db_free(db);
  make_free(&make);
}

TestSuite(run, .init = fill, .fini = empty);

// Emits, reads, runs function 0 with the arguments; the result is copied into the Make's arena.
static Value run(const Value *args) {
  Module *module = make_read(&make);
  VmHost host = {.caller_is = no_role};
  query_install(&host);
  QueryContext context;
  query_context_init(&context, txn_reader(db_txn(db)), db_txn(db));
  Exec exec;
  cr_assert_eq(vm_start(&exec, module, &host, &context, &(VmLimits){.fuel = 1000000000, .memory_bytes = 1 << 28}), ERR_NONE);
  cr_assert_eq(vm_call(&exec, 0, &(VmCall){.seed = 1}, args), ERR_NONE);
  VmStatus status;
  while ((status = vm_run(&exec, 1000)) == VM_SLICE) {}
  cr_assert_eq(status, VM_DONE, "fault %d at %u: %.*s", exec.fault.kind, exec.fault.pc, STR_ARG(exec.fault.note));
  Value result = {0};
  if (module->functions[0].result != TYPE_NONE) cr_assert(value_copy(&module->schema.types, module->functions[0].result, exec.result, &make.build.arena, &result));
  vm_finish(&exec);
  query_context_free(&context);
  return result;
}

static HExpr *compare(HOp op, HExpr *a, HExpr *b) { return make_two(&make, H_COMPARE, (uint8_t)op, T_BOOL, a, b); }
static HExpr *both(HExpr *a, HExpr *b) { return make_two(&make, H_AND, 0, T_BOOL, a, b); }
static void returns(HExpr *value) { make_body(&make, 1, &(HStmt){.kind = HS_RETURN, .a = value}); }
static HExpr *of_title(LocalId row, uint32_t title) { return compare(HOP_EQ, make_column(&make, row, ITEM_TITLE), make_text(&make, TITLE_TEXTS[title])); }

static HExpr *price(int64_t units) {
  HExpr *expr = make_expr(&make, H_CONST, T_DEC2);
  expr->value.dec = units;
  return expr;
}

static int by_price_then_id(const void *a, const void *b) {
  const Item *x = a, *y = b;
  return x->price != y->price ? (x->price < y->price) - (x->price > y->price) : (x->id > y->id) - (x->id < y->id);
}

// from i in Item where i.title == "ab" order by i.price desc select i.id: by an index, ties by key.
Test(run, an_index_then_an_order) {
  make_function(&make, FUNCTION_ALWAYS, 0, T_LIST_INT);
  LocalId row = make_local(&make, T_ITEM);
  HClause clauses[] = {make_rows(row, TABLE_ITEM), make_where(of_title(row, 1)), make_order(&make, make_column(&make, row, ITEM_PRICE), true)};
  returns(make_query(&make, T_LIST_INT, 3, clauses, make_column(&make, row, ITEM_ID)));
  Value got = run(NULL);
  Item wanted[ITEMS];
  uint32_t count = 0;
  for (int i = 0; i < ITEMS; i++) if (items[i].title == 1) wanted[count++] = items[i];
  qsort(wanted, count, sizeof *wanted, by_price_then_id);
  cr_assert_eq(got.list->count, count);
  for (uint32_t i = 0; i < count; i++) cr_assert_eq(got.list->items[i].i, wanted[i].id, "place %u", i);
}

// Without an order the rows come by key, whichever index found them.
Test(run, an_index_gives_rows_in_key_order) {
  make_function(&make, FUNCTION_ALWAYS, 0, T_LIST_INT);
  LocalId row = make_local(&make, T_ITEM);
  HClause clauses[] = {make_rows(row, TABLE_ITEM), make_where(of_title(row, 3))};
  returns(make_query(&make, T_LIST_INT, 2, clauses, make_column(&make, row, ITEM_ID)));
  Value got = run(NULL);
  uint32_t at = 0;
  for (int i = 0; i < ITEMS; i++)
    if (items[i].title == 3) cr_assert_eq(got.list->items[at++].i, items[i].id);
  cr_assert_eq(got.list->count, at);
}

static int64_t run_aggregate(AggregateKind kind, TypeId type, bool with_value, uint32_t column, HExpr *(*where)(LocalId row)) {
  make_function(&make, FUNCTION_ALWAYS, 0, type);
  LocalId row = make_local(&make, T_ITEM);
  HClause clauses[] = {make_rows(row, TABLE_ITEM), make_where(where(row))};
  HExpr *query = make_query(&make, T_LIST_INT, 2, clauses, make_use(&make, row));
  returns(make_aggregate(&make, kind, type, query, with_value ? make_column(&make, row, column) : NULL));
  Value got = run(NULL);
  return type == T_DEC2 ? (int64_t)got.dec : got.i;
}

static HExpr *some_dues(LocalId row) {
  HExpr *due = make_expr(&make, H_CONST, T_TIME);
  due->value.i = 20;
  return both(of_title(row, 2), compare(HOP_LT, make_column(&make, row, ITEM_DUE), due));
}
static bool in_some_dues(const Item *item) { return item->title == 2 && item->due < 20; }
static HExpr *some_prices(LocalId row) { return both(of_title(row, 0), compare(HOP_GE, make_column(&make, row, ITEM_PRICE), price(300))); }
static bool in_some_prices(const Item *item) { return item->title == 0 && item->price >= 300; }

Test(run, counts_by_a_range) {
  int64_t wanted = 0;
  for (int i = 0; i < ITEMS; i++) wanted += in_some_dues(&items[i]);
  cr_assert_eq(run_aggregate(AGGREGATE_COUNT, T_INT, false, 0, some_dues), wanted);
}

Test(run, counts_with_a_filter) {
  int64_t wanted = 0;
  for (int i = 0; i < ITEMS; i++) wanted += in_some_prices(&items[i]);
  cr_assert_eq(run_aggregate(AGGREGATE_COUNT, T_INT, false, 0, some_prices), wanted);
}

Test(run, sums_with_a_filter) {
  int64_t wanted = 0;
  for (int i = 0; i < ITEMS; i++) wanted += in_some_prices(&items[i]) ? items[i].price : 0;
  cr_assert_eq(run_aggregate(AGGREGATE_SUM, T_DEC2, true, ITEM_PRICE, some_prices), wanted);
}

Test(run, the_greatest_by_the_keys_order) {
  int64_t wanted = 0;
  for (int i = 0; i < ITEMS; i++) if (in_some_prices(&items[i])) wanted = items[i].id;
  cr_assert_eq(run_aggregate(AGGREGATE_MAX, T_OPT_INT, true, ITEM_ID, some_prices), wanted);
}

// from i in Item group by t = i.title order by sum(i.price) desc select sum: keys and sums, by a stage each.
Test(run, groups_then_orders) {
  make_function(&make, FUNCTION_ALWAYS, 0, T_LIST_DEC2);
  LocalId row = make_local(&make, T_ITEM), title = make_local(&make, T_TEXT), sum = make_local(&make, T_DEC2), n = make_local(&make, T_INT);
  HKey key = {title, make_column(&make, row, ITEM_TITLE), false};
  HAggregate aggregates[] = {{AGGREGATE_SUM, sum, make_column(&make, row, ITEM_PRICE)}, {AGGREGATE_COUNT, n, NULL}};
  HClause group = {.kind = HC_GROUP, .local = NO_LOCAL, .key_count = 1, .keys = &key, .aggregate_count = 2, .aggregates = aggregates};
  HClause clauses[] = {make_rows(row, TABLE_ITEM), group, make_order(&make, make_use(&make, sum), true)};
  returns(make_query(&make, T_LIST_DEC2, 3, clauses, make_use(&make, sum)));
  Value got = run(NULL);
  int64_t sums[TITLES] = {0};
  for (int i = 0; i < ITEMS; i++) sums[items[i].title] += items[i].price;
  cr_assert_eq(got.list->count, TITLES);
  int64_t last = INT64_MAX, all = 0;
  for (uint32_t i = 0; i < TITLES; i++) {
    int64_t value = (int64_t)got.list->items[i].dec;
    cr_assert_leq(value, last);
    last = value;
    all += value;
  }
  for (int t = 0; t < TITLES; t++) all -= sums[t];
  cr_assert_eq(all, 0);
}

// from i in Item where i.id <= 20 select count(from j in Item where j.title == i.title): a query in another's frame.
Test(run, a_query_for_each_row) {
  make_function(&make, FUNCTION_ALWAYS, 0, T_LIST_INT);
  LocalId row = make_local(&make, T_ITEM), other = make_local(&make, T_ITEM);
  HClause inner[] = {make_rows(other, TABLE_ITEM), make_where(compare(HOP_EQ, make_column(&make, other, ITEM_TITLE), make_column(&make, row, ITEM_TITLE)))};
  HExpr *count = make_aggregate(&make, AGGREGATE_COUNT, T_INT, make_query(&make, T_LIST_INT, 2, inner, make_use(&make, other)), NULL);
  HClause clauses[] = {make_rows(row, TABLE_ITEM), make_where(compare(HOP_LE, make_column(&make, row, ITEM_ID), make_number(&make, 20))),
    make_where(compare(HOP_GT, count, make_number(&make, 0)))};
  returns(make_query(&make, T_LIST_INT, 3, clauses, count));
  Value got = run(NULL);
  cr_assert_eq(got.list->count, 20);
  for (int i = 0; i < 20; i++) {
    int64_t wanted = 0;
    for (int j = 0; j < ITEMS; j++) wanted += items[j].title == items[i].title;
    cr_assert_eq(got.list->items[i].i, wanted);
  }
}

// from i in Item where i.id <= 3 from j in Item where j.title == i.title order by j.price desc, skip 2 take 5 select j.id.
Test(run, a_join_ordered_and_cut) {
  make_function(&make, FUNCTION_ALWAYS, 0, T_LIST_INT);
  LocalId a = make_local(&make, T_ITEM), b = make_local(&make, T_ITEM);
  HClause clauses[] = {make_rows(a, TABLE_ITEM), make_where(compare(HOP_LE, make_column(&make, a, ITEM_ID), make_number(&make, 3))), make_rows(b, TABLE_ITEM),
    make_where(compare(HOP_EQ, make_column(&make, a, ITEM_TITLE), make_column(&make, b, ITEM_TITLE))), make_order(&make, make_column(&make, b, ITEM_PRICE), true),
    {.kind = HC_SKIP, .a = make_number(&make, 2)}, {.kind = HC_TAKE, .a = make_number(&make, 5)}};
  returns(make_query(&make, T_LIST_INT, 7, clauses, make_column(&make, b, ITEM_ID)));
  Value got = run(NULL);
  Item wanted[3 * ITEMS];
  uint32_t count = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < ITEMS; j++) if (items[j].title == items[i].title) wanted[count++] = items[j];
  // Stable, since frames of an earlier i come first among equals.
  for (uint32_t i = 1; i < count; i++)
    for (uint32_t j = i; j > 0 && wanted[j - 1].price < wanted[j].price; j--) { Item swap = wanted[j]; wanted[j] = wanted[j - 1]; wanted[j - 1] = swap; }
  cr_assert_eq(got.list->count, 5);
  for (uint32_t i = 0; i < 5; i++) cr_assert_eq(got.list->items[i].i, wanted[i + 2].id, "place %u", i);
}

// for i in Item where i.title == "m" { delete all of the same due that come later; n += 1 }: rows deleted meanwhile are skipped.
Test(run, a_loop_skips_rows_deleted_meanwhile) {
  make_function(&make, FUNCTION_INPUT, EFFECT_WRITES, T_INT);
  LocalId n = make_local(&make, T_INT), row = make_local(&make, T_ITEM), other = make_local(&make, T_ITEM);
  HExpr *same = both(of_title(other, 5), both(compare(HOP_EQ, make_column(&make, other, ITEM_DUE), make_column(&make, row, ITEM_DUE)),
    compare(HOP_GT, make_column(&make, other, ITEM_ID), make_column(&make, row, ITEM_ID))));
  HClause inner_clauses[] = {make_rows(other, TABLE_ITEM), make_where(same)}, clauses[] = {make_rows(row, TABLE_ITEM), make_where(of_title(row, 5))};
  HStmt remove = {.kind = HS_DELETE, .a = make_use(&make, other)};
  HStmt body[] = {{.kind = HS_FOR, .query = make_query(&make, T_LIST_INT, 2, inner_clauses, make_use(&make, other))->query, .body = make_stmts(&make, 1, &remove)},
    {.kind = HS_SET, .local = n, .a = make_two(&make, H_ARITH, HOP_ADD, T_INT, make_use(&make, n), make_number(&make, 1))}};
  HStmt stmts[] = {{.kind = HS_FOR, .query = make_query(&make, T_LIST_INT, 2, clauses, make_use(&make, row))->query, .body = make_stmts(&make, 2, body)},
    {.kind = HS_RETURN, .a = make_use(&make, n)}};
  make_body(&make, 2, stmts);
  int64_t wanted = 0;
  bool seen[50] = {0};
  for (int i = 0; i < ITEMS; i++) {
    if (items[i].title != 5 || seen[items[i].due]) continue;
    seen[items[i].due] = true;
    wanted++;
  }
  cr_assert_eq(run(NULL).i, wanted);
}

// any stops at the first, all at the first that is not; first gives none over nothing.
Test(run, any_all_first) {
  make_function(&make, FUNCTION_ALWAYS, 0, T_LIST_BOOL);
  LocalId row = make_local(&make, T_ITEM);
  HClause all_rows[] = {make_rows(row, TABLE_ITEM)}, no_rows[] = {make_rows(row, TABLE_ITEM), make_where(compare(HOP_LT, make_column(&make, row, ITEM_ID), make_number(&make, 0)))};
  HExpr *query = make_query(&make, T_LIST_INT, 1, all_rows, make_use(&make, row)), *nothing = make_query(&make, T_LIST_INT, 2, no_rows, make_use(&make, row));
  HExpr *is_7 = compare(HOP_EQ, make_column(&make, row, ITEM_ID), make_number(&make, 7)), *above = compare(HOP_GT, make_column(&make, row, ITEM_ID), make_number(&make, 0));
  HExpr *list = make_expr(&make, H_LIST, T_LIST_BOOL);
  HExpr *parts[] = {make_aggregate(&make, AGGREGATE_ANY, T_BOOL, query, is_7), make_aggregate(&make, AGGREGATE_ALL, T_BOOL, query, is_7),
    make_aggregate(&make, AGGREGATE_ALL, T_BOOL, query, above), make_aggregate(&make, AGGREGATE_ANY, T_BOOL, nothing, NULL), make_aggregate(&make, AGGREGATE_ANY, T_BOOL, query, NULL),
    make_one(&make, H_HAS, 0, T_BOOL, make_aggregate(&make, AGGREGATE_FIRST, T_OPT_INT, nothing, make_column(&make, row, ITEM_ID))),
    make_one(&make, H_HAS, 0, T_BOOL, make_aggregate(&make, AGGREGATE_FIRST, T_OPT_INT, query, make_column(&make, row, ITEM_ID)))};
  static const bool WANTED[] = {true, false, true, false, true, false, true};
  list->args = (HExprs){countof(parts), parts};
  returns(list);
  Value got = run(NULL);
  for (size_t i = 0; i < countof(WANTED); i++) cr_assert_eq(got.list->items[i].i, WANTED[i], "number %zu", i);
}

// `number == 0 or i.title == title`, decided before the plan: both queries give what the one condition says.
static int64_t run_decided(int64_t number) {
  make_function(&make, FUNCTION_FN, 0, T_LIST_INT);
  LocalId n = make_local(&make, T_INT), title = make_local(&make, T_TEXT), row = make_local(&make, T_ITEM);
  make_params(&make, 2);
  HExpr *free = compare(HOP_EQ, make_use(&make, n), make_number(&make, 0)), *bound = compare(HOP_EQ, make_column(&make, row, ITEM_TITLE), make_use(&make, title));
  HClause clauses[] = {make_rows(row, TABLE_ITEM), make_where(both(make_two(&make, H_OR, 0, T_BOOL, free, bound), compare(HOP_GT, make_column(&make, row, ITEM_ID), make_number(&make, 3))))};
  returns(make_query(&make, T_LIST_INT, 2, clauses, make_column(&make, row, ITEM_ID)));
  Value args[] = {{.i = number}, {.text = str_from(TITLE_TEXTS[4])}}, got = run(args);
  int64_t sum = 0;
  for (uint32_t i = 0; i < got.list->count; i++) sum += got.list->items[i].i;
  return sum;
}

static int64_t wanted_decided(int64_t number) {
  int64_t sum = 0;
  for (int i = 0; i < ITEMS; i++) sum += (number == 0 || items[i].title == 4) && items[i].id > 3 ? items[i].id : 0;
  return sum;
}

Test(run, a_condition_that_holds_for_every_row) { cr_assert_eq(run_decided(0), wanted_decided(0)); }
Test(run, a_condition_that_holds_for_no_row) { cr_assert_eq(run_decided(1), wanted_decided(1)); }
