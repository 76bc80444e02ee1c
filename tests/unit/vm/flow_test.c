// Jumps, calls, slices, faults, rejections, queries with blocks: the machine's flow.
#include <criterion/criterion.h>

#include "runtime/base/mem.h"
#include "tests/unit/vm/run.h"

// fn sum(n) = 1 + 2 + … n, by a loop.
static uint16_t build_sum(Build *b) {
  uint16_t f = build_begin(b, FUNCTION_FN, T_INT);
  uint16_t n = build_param(b, T_INT), sum = build_register(b, T_INT), one = build_register(b, T_INT), more = build_register(b, T_BOOL), zero = build_register(b, T_INT);
  build_emit(b, OP_INT, one, 1, 0);
  uint32_t top = build_emit(b, OP_LT_I, more, zero, n);
  uint32_t out = build_emit(b, OP_JUMP_IF_NOT, more, 0, 0);
  build_emit(b, OP_ADD_I, sum, sum, n);
  build_emit(b, OP_SUB_I, n, n, one);
  build_emit(b, OP_JUMP, 0, top, 0);
  build_patch(b, out);
  build_emit(b, OP_RETURN, sum, 0, 0);
  build_end(b);
  return f;
}

Test(flow, loop_in_slices_of_any_size) {
  Build b;
  build_init(&b);
  uint16_t f = build_sum(&b);
  Module *m = build_finish(&b);
  uint64_t fuel = 0;
  for (uint64_t slice = 0; slice < 12; slice++) {
    Run run = {0};
    cr_assert_eq(run_on(&run, m, f, &(Value){.i = 100}, slice), VM_DONE);
    cr_assert_eq(run.exec.result.i, 5050);
    if (slice == 0) fuel = run.exec.fuel_used;
    cr_assert_eq(run.exec.fuel_used, fuel, "a slice costs nothing");
    if (slice == 1) cr_assert_gt(run.slices, 400);
    run_end(&run);
  }
  build_free(&b);
}

Test(flow, calls_to_the_greatest_depth) {
  Build b;
  build_init(&b);
  for (int i = 0; i < CALL_DEPTH_MAX; i++) {
    uint16_t f = build_begin(&b, FUNCTION_FN, T_INT);
    uint16_t x = build_param(&b, T_INT), junk = build_register(&b, T_INT), one = build_register(&b, T_INT);
    build_emit(&b, OP_ADD_I, x, x, junk);  // junk is zero whatever stood on the stack before
    if (f > 0) build_emit(&b, OP_CALL, x, f - 1u, x);
    build_emit(&b, OP_INT, junk, 999, 0);
    build_emit(&b, OP_INT, one, 1, 0);
    build_emit(&b, OP_ADD_I, x, x, one);
    build_emit(&b, OP_RETURN, x, 0, 0);
    build_end(&b);
  }
  Module *m = build_finish(&b);
  cr_assert_eq(m->functions[CALL_DEPTH_MAX - 1].depth, CALL_DEPTH_MAX);
  for (uint64_t slice = 0; slice < 3; slice++) {
    Run run = {0};
    cr_assert_eq(run_on(&run, m, CALL_DEPTH_MAX - 1, &(Value){.i = 5}, slice), VM_DONE);
    cr_assert_eq(run.exec.result.i, 5 + CALL_DEPTH_MAX);
    run_end(&run);
  }
  uint16_t f = build_begin(&b, FUNCTION_FN, T_INT);
  uint16_t x = build_param(&b, T_INT);
  build_emit(&b, OP_CALL, x, f - 1u, x);
  build_emit(&b, OP_RETURN, x, 0, 0);
  build_end(&b);
  ErrText text = {{0}};
  cr_assert_eq(build_try(&b, &text), ERR_FORMAT);
  cr_assert(strstr(text.text, "CALL_DEPTH_MAX"), "%s", text.text);
  build_free(&b);
}

Test(flow, fault_names_its_place) {
  Build b;
  build_init(&b);
  uint16_t inner = build_begin(&b, FUNCTION_FN, T_INT);
  uint16_t x = build_param(&b, T_INT), zero = build_register(&b, T_INT);
  build_line(&b, 10);
  build_emit(&b, OP_ADD_I, x, x, x);
  build_line(&b, 11);
  build_emit(&b, OP_DIV_I, x, x, zero);
  build_emit(&b, OP_RETURN, x, 0, 0);
  build_end(&b);
  uint16_t outer = build_begin(&b, FUNCTION_FN, T_INT);
  x = build_param(&b, T_INT);
  build_emit(&b, OP_CALL, x, inner, x);
  build_emit(&b, OP_RETURN, x, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  const struct { int64_t arg; FaultKind kind; uint32_t pc, line; } rows[] = {{1, FAULT_DIVISION, 1, 11}, {INT64_MAX, FAULT_OVERFLOW, 0, 10}, {INT64_MIN, FAULT_OVERFLOW, 0, 10}};
  for (size_t i = 0; i < countof(rows); i++) {
    for (uint64_t slice = 0; slice < 2; slice++) {
      Run run = {0};
      cr_assert_eq(run_on(&run, m, outer, &(Value){.i = rows[i].arg}, slice), VM_FAULT);
      cr_assert_eq(run.exec.fault.kind, rows[i].kind);
      cr_assert_eq(run.exec.fault.function, inner);
      cr_assert_eq(run.exec.fault.pc, rows[i].pc);
      cr_assert_eq(function_place(m, &m->functions[run.exec.fault.function], run.exec.fault.pc).line, rows[i].line);
      run_end(&run);
    }
  }
  build_free(&b);
}

Test(flow, endless_loop_meets_the_budget) {
  Build b;
  build_init(&b);
  uint16_t f = build_begin(&b, FUNCTION_FN, TYPE_NONE);
  build_emit(&b, OP_JUMP, 0, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  for (uint64_t slice = 0; slice < 2000; slice += 999) {
    Run run = {0};
    cr_assert_eq(run_on(&run, m, f, NULL, slice), VM_FAULT);
    cr_assert_eq(run.exec.fault.kind, FAULT_BUDGET);
    cr_assert_eq(run.exec.fuel_used, 1000000);
    run_end(&run);
  }
  build_free(&b);
}

Test(flow, memory_meets_the_budget) {
  Build b;
  build_init(&b);
  uint16_t f = build_begin(&b, FUNCTION_FN, TYPE_NONE);
  uint16_t text = build_register(&b, T_TEXT), same = build_register(&b, T_TEXT);
  build_emit(&b, OP_CONST, text, build_constant(&b, T_TEXT, (Value){.text = STR("twice as long each time")}), 0);
  uint32_t top = build_emit(&b, OP_MOVE, same, text, 0);
  build_emit(&b, OP_TEXT_JOIN, text, text, 2);
  build_emit(&b, OP_JUMP, 0, top, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  Run run = {0};
  cr_assert_eq(run_on(&run, m, f, NULL, 0), VM_FAULT);
  cr_assert_eq(run.exec.fault.kind, FAULT_BUDGET);
  cr_assert_leq(run.exec.arena.bytes_used, 1 << 20);
  run_end(&run);
  build_free(&b);
}

Test(flow, exec_is_used_again) {
  Build b;
  build_init(&b);
  uint16_t f = build_sum(&b);
  Module *m = build_finish(&b);
  Run run = {0};
  run_on(&run, m, f, &(Value){.i = 10}, 0);
  for (int64_t n = 0; n < 20; n++) {
    vm_reset(&run.exec);
    cr_assert_eq(vm_call(&run.exec, f, &RUN_CALL, &(Value){.i = n}), ERR_NONE);
    if (n % 3 == 2) { vm_run(&run.exec, 5); continue; }  // and left in the middle
    cr_assert_eq(vm_run(&run.exec, 100000), VM_DONE);
    cr_assert_eq(run.exec.result.i, n * (n + 1) / 2);
  }
  run_end(&run);
  build_free(&b);
}

// ---- queries ----------------------------------------------------------------------------------

// view: for each row of plan 0 (block: yes = true; a nested query over plan 1 in the block), sum up the cursor's columns.
static uint16_t build_nested(Build *b) {
  uint16_t f = build_begin(b, FUNCTION_VIEW, T_INT);
  uint16_t row = build_register(b, T_ITEM), sum = build_register(b, T_INT), one = build_register(b, T_INT), yes = build_register(b, T_BOOL), inner = build_register(b, T_INT);
  uint16_t id = build_register(b, T_INT), to = build_register(b, T_INT);
  build_emit(b, OP_INT, one, 1, 0);
  build_emit(b, OP_QUERY_OPEN, 0, 0, 0);
  uint32_t next = build_emit(b, OP_QUERY_NEXT, 0, 0, 0);
  build_emit_x(b, OP_CURSOR_COLUMN, 0, id, 0, ITEM_ID);
  build_emit(b, OP_ADD_I, sum, sum, id);
  build_emit(b, OP_JUMP, 0, next, 0);
  build_patch(b, next);
  build_emit(b, OP_MUL_I, inner, inner, one);
  build_emit(b, OP_ADD_I, sum, sum, inner);
  build_emit(b, OP_RETURN, sum, 0, 0);
  uint16_t outer_block = build_block_begin(b);
  build_emit(b, OP_BOOL, yes, 1, 0);
  build_emit(b, OP_QUERY_OPEN, 1, 0, 0);
  uint32_t again = build_emit(b, OP_QUERY_NEXT, 1, 0, 0);
  build_emit(b, OP_ADD_I, inner, inner, to);
  build_emit(b, OP_JUMP, 0, again, 0);
  build_patch(b, again);
  build_block_end(b);
  uint16_t inner_block = build_block_begin(b);
  build_emit(b, OP_ADD_I, to, to, one);
  build_block_end(b);
  build_plan(b, 2, (Stage[]){{.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = SCHEMA_NO_INDEX, .block = NO_BLOCK, .from = NO_REGISTER, .to = row},
                             {.kind = STAGE_FILTER, .block = outer_block, .from = yes, .to = NO_REGISTER}});
  build_plan(b, 2, (Stage[]){{.kind = STAGE_NUMBERS, .block = NO_BLOCK, .from = sum, .to = to}, {.kind = STAGE_EVAL, .block = inner_block, .from = NO_REGISTER, .to = NO_REGISTER}});
  build_end(b);
  return f;
}

Test(flow, queries_in_blocks_of_queries) {
  Build b;
  build_init(&b);
  uint16_t f = build_nested(&b);
  Module *m = build_finish(&b);
  for (int again = 0; again < 2; again++) {
    for (uint64_t slice = 0; slice < 5; slice++) {
      Run run = {.host = {.frames = 3, .again = again}};
      cr_assert_eq(run_on(&run, m, f, NULL, slice), VM_DONE);
      // outer: 100 + 200 + 300; inner, three times: 1 + 2 + 3
      cr_assert_eq(run.exec.result.i, 600 + 3 * 6);
      cr_assert_eq(run.host.opened, 4);
      run_end(&run);
    }
  }
  build_free(&b);
}

Test(flow, query_not_opened_is_empty) {
  Build b;
  build_init(&b);
  uint16_t f = build_begin(&b, FUNCTION_VIEW, T_ITEM);
  uint16_t row = build_register(&b, T_ITEM);
  build_emit(&b, OP_QUERY_CLOSE, 0, 0, 0);
  build_emit(&b, OP_CURSOR_KEY, row, 0, 0);
  uint32_t next = build_emit(&b, OP_QUERY_NEXT, 0, 0, 0);
  build_emit(&b, OP_JUMP, 0, next, 0);
  build_patch(&b, next);
  build_emit(&b, OP_RETURN, row, 0, 0);
  build_plan(&b, 1, (Stage[]){{.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = SCHEMA_NO_INDEX, .block = NO_BLOCK, .from = NO_REGISTER, .to = row}});
  build_end(&b);
  Module *m = build_finish(&b);
  Run run = {.host = {.frames = 3}};
  cr_assert_eq(run_on(&run, m, f, NULL, 0), VM_DONE);
  cr_assert_eq(run.exec.result.i, 0);
  cr_assert_eq(run.host.steps, 0);
  run_end(&run);
  build_free(&b);
}

Test(flow, leaving_closes_queries) {
  Build b;
  build_init(&b);
  uint16_t inner = build_begin(&b, FUNCTION_FN, T_INT);
  uint16_t zero = build_register(&b, T_INT), row = build_register(&b, T_ITEM);
  build_emit(&b, OP_QUERY_OPEN, 0, 0, 0);
  build_emit(&b, OP_QUERY_OPEN, 0, 0, 0);
  build_emit(&b, OP_QUERY_NEXT, 0, 3, 0);
  build_emit(&b, OP_RETURN, zero, 0, 0);
  build_plan(&b, 1, (Stage[]){{.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = SCHEMA_NO_INDEX, .block = NO_BLOCK, .from = NO_REGISTER, .to = row}});
  build_end(&b);
  uint16_t outer = build_begin(&b, FUNCTION_FN, T_INT);
  zero = build_register(&b, T_INT);
  build_emit(&b, OP_CALL, zero, inner, 0);
  build_emit(&b, OP_CALL, zero, inner, 0);
  build_emit(&b, OP_RETURN, zero, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  Run run = {.host = {.frames = 3}};
  cr_assert_eq(run_on(&run, m, outer, NULL, 0), VM_DONE);
  cr_assert_eq(run.host.opened, 4);
  cr_assert_eq(run.host.closed, 4);
  run_end(&run);
  build_free(&b);
}

// ---- rejections and catches -------------------------------------------------------------------

// fn full(n): rejects with error `full(have: n)` and a message.
static uint16_t build_full(Build *b) {
  uint16_t f = build_begin(b, FUNCTION_ACTION, TYPE_NONE);
  uint16_t n = build_param(b, T_INT), message = build_register(b, T_TEXT), have = build_register(b, T_INT);
  build_emit(b, OP_MOVE, have, n, 0);
  build_emit(b, OP_TO_TEXT, message, n, 0);
  build_emit(b, OP_REJECT, BUILTIN_ERROR_COUNT, message, 0);
  build_end(b);
  return f;
}

Test(flow, rejection_carries_its_parameters) {
  Build b;
  build_init(&b);
  uint16_t full = build_full(&b);
  uint16_t f = build_begin(&b, FUNCTION_INPUT, TYPE_NONE);
  build_param(&b, T_INT);
  build_emit(&b, OP_CALL_VOID, 0, full, 0);
  build_emit(&b, OP_RETURN_VOID, 0, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  Run run = {0};
  cr_assert_eq(run_on(&run, m, f, &(Value){.i = 7}, 0), VM_REJECTED);
  cr_assert_eq(run.exec.rejection.error, BUILTIN_ERROR_COUNT);
  cr_assert(str_is(run.exec.rejection.message, "7"));
  cr_assert_eq(run.exec.rejection.count, 1);
  cr_assert_eq(run.exec.rejection.values[0].i, 7);
  cr_assert(str_is(run.exec.rejection.field, "have"));
  run_end(&run);
  build_free(&b);
}

Test(flow, catch_goes_on_after_a_rejection) {
  Build b;
  build_init(&b);
  uint16_t full = build_full(&b);
  uint16_t f = build_begin(&b, FUNCTION_TEST, TYPE_NONE);
  uint16_t error = build_register(&b, T_INT), n = build_register(&b, T_INT), wanted = build_register(&b, T_INT), same = build_register(&b, T_BOOL), words = build_register(&b, T_TEXT);
  build_emit(&b, OP_INT, n, 7, 0);
  uint32_t outer = build_emit(&b, OP_CATCH, error, 0, 0);
  uint32_t catch = build_emit(&b, OP_CATCH, error, 0, 0);
  build_emit(&b, OP_CALL_VOID, 0, full, n);
  build_emit(&b, OP_CATCH_END, 0, 0, 0);
  build_emit(&b, OP_CONST, words, build_constant(&b, T_TEXT, (Value){.text = STR("not rejected")}), 0);
  build_emit(&b, OP_EXPECT_FAILED, words, 0, 0);
  build_patch(&b, catch);
  build_emit(&b, OP_INT, wanted, BUILTIN_ERROR_COUNT, 0);
  build_emit(&b, OP_EQ_I, same, error, wanted);
  uint32_t ok = build_emit(&b, OP_JUMP_IF, same, 0, 0);
  build_patch(&b, outer);
  build_emit(&b, OP_TO_TEXT, words, error, 0);
  build_emit(&b, OP_EXPECT_FAILED, words, 0, 0);
  build_patch(&b, ok);
  build_emit(&b, OP_CATCH_END, 0, 0, 0);
  build_emit(&b, OP_RETURN_VOID, 0, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  for (uint64_t slice = 0; slice < 3; slice++) {
    Run run = {0};
    cr_assert_eq(run_on(&run, m, f, NULL, slice), VM_DONE, "%.*s", STR_ARG(run.exec.fault.note));
    cr_assert_eq(run.host.marks, 2);
    cr_assert_eq(run.host.undone, 2);
    run_end(&run);
  }
  build_free(&b);
}

Test(flow, catch_in_the_middle_of_a_block) {
  Build b;
  build_init(&b);
  uint16_t full = build_full(&b);
  uint16_t f = build_begin(&b, FUNCTION_TEST, TYPE_NONE);
  uint16_t error = build_register(&b, T_INT), row = build_register(&b, T_ITEM);
  uint32_t catch = build_emit(&b, OP_CATCH, error, 0, 0);
  build_emit(&b, OP_QUERY_OPEN, 0, 0, 0);
  uint32_t next = build_emit(&b, OP_QUERY_NEXT, 0, 0, 0);
  build_patch(&b, catch);
  build_patch(&b, next);
  build_emit(&b, OP_RETURN_VOID, 0, 0, 0);
  uint16_t block = build_block_begin(&b);
  build_emit(&b, OP_CALL_VOID, 0, full, error);
  build_block_end(&b);
  build_plan(&b, 1, (Stage[]){{.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = SCHEMA_NO_INDEX, .block = block, .from = NO_REGISTER, .to = row}});
  build_end(&b);
  Module *m = build_finish(&b);
  Run run = {.host = {.frames = 3}};
  cr_assert_eq(run_on(&run, m, f, NULL, 0), VM_DONE);
  cr_assert_eq(run.host.closed, 1);
  run_end(&run);
  build_free(&b);
}

Test(flow, catches_have_a_limit_and_an_end) {
  Build b;
  build_init(&b);
  uint16_t nest = build_begin(&b, FUNCTION_TEST, TYPE_NONE);
  uint16_t error = build_register(&b, T_INT);
  for (int i = 0; i < VM_CATCHES_MAX; i++) build_emit(&b, OP_CATCH, error, 0, 0);
  build_emit(&b, OP_RETURN_VOID, 0, 0, 0);
  build_end(&b);
  uint16_t too_deep = build_begin(&b, FUNCTION_TEST, TYPE_NONE);
  error = build_register(&b, T_INT);
  build_emit(&b, OP_CATCH, error, 0, 0);
  build_emit(&b, OP_JUMP, 0, 0, 0);
  build_end(&b);
  uint16_t no_begin = build_begin(&b, FUNCTION_TEST, TYPE_NONE);
  build_emit(&b, OP_CATCH_END, 0, 0, 0);
  build_emit(&b, OP_RETURN_VOID, 0, 0, 0);
  build_end(&b);
  Module *m = build_finish(&b);
  const struct { uint16_t function; VmStatus status; } rows[] = {{nest, VM_DONE}, {too_deep, VM_FAULT}, {no_begin, VM_FAULT}};
  for (size_t i = 0; i < countof(rows); i++) {
    Run run = {0};
    cr_assert_eq(run_on(&run, m, rows[i].function, NULL, 0), rows[i].status);
    if (run.status == VM_FAULT) cr_assert_eq(run.exec.fault.kind, FAULT_EXPECT);
    run_end(&run);
  }
  build_free(&b);
}

// Every allocation of a call that opens queries, makes texts and lists fails once: a fault, never anything worse.
Test(flow, no_memory) {
  Build b;
  build_init(&b);
  uint16_t f = build_begin(&b, FUNCTION_FN, T_TEXT);
  uint16_t n = build_register(&b, T_INT), list = build_register(&b, T_LIST_INT), set = build_register(&b, T_SET_INT), text = build_register(&b, T_TEXT), row = build_register(&b, T_ITEM), end = build_register(&b, T_INT);
  build_emit(&b, OP_INT, end, 2000, 0);
  build_emit(&b, OP_RANGE, list, n, end);
  build_emit(&b, OP_LIST_PUSH, list, n, 0);
  build_emit(&b, OP_SET_OF, set, list, 0);
  build_emit(&b, OP_QUERY_OPEN, 0, 0, 0);
  build_emit(&b, OP_QUERY_NEXT, 0, 6, 0);
  build_emit(&b, OP_TO_TEXT, text, set, 0);
  build_emit(&b, OP_RETURN, text, 0, 0);
  build_plan(&b, 1, (Stage[]){{.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = SCHEMA_NO_INDEX, .block = NO_BLOCK, .from = NO_REGISTER, .to = row}});
  build_end(&b);
  Module *m = build_finish(&b);
  uint64_t held = mem_blocks_held();
  VmStatus status = VM_FAULT;
  uint64_t failures = 0;
  for (uint64_t nth = 1; status != VM_DONE; nth++) {
    Run run = {.host = {.frames = 1}};
    mem_fail_nth(nth, 0);
    status = run_on(&run, m, f, NULL, 0);
    mem_fail_nth(0, 0);
    failures += status == VM_FAULT;
    cr_assert(status == VM_DONE || status == VM_FAULT);
    run_end(&run);
    cr_assert_eq(mem_blocks_held(), held);
    cr_assert_lt(nth, 1000);
  }
  cr_assert_gt(failures, 5);
  build_free(&b);
}
