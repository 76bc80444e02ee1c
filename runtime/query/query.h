// Plans at work: the one place that joins the machine and the tables. It gives the machine a VmHost whose row and query
// functions read a Reader (a view: a snapshot) or change a Txn (an input).
//
// A query is a chain of stages, run by walking back and forth: forward with a new frame, back for the next one. It is a
// state machine that keeps its place in its own struct, so it can stop after any row. When a stage needs an expression,
// query_next answers QUERY_BLOCK; the machine runs that block on the frame's registers and calls query_next again.
//
// Owns:   all memory of a query is in the Exec's arena, but for the context's scratch.
// Thread: that of the Exec.
// Errors: through the Exec (faults BUDGET, ROW_GONE, OVERFLOW in sums; rejections DUPLICATE, NOT_FOUND, IN_USE, LIMIT).
// Limits: the call's fuel and memory; QUERY_ROWS_MAX rows gathered by an ORDER or GROUP.
#pragma once
#include "runtime/table/table.h"
#include "runtime/vm/vm.h"

enum { QUERY_ROWS_MAX = 10000000 };

// The first member of every host_context whose Exec uses query_host's functions; the app room puts its own members behind.
typedef struct QueryContext {
  const Reader *reader;      // what is read
  Txn *txn;                  // what is changed; NULL: nothing may be (then changing is fault STORE)
  Buf scratch;               // for values as bytes; empty at first, given back by query_context_free
} QueryContext;
void query_context_init(QueryContext *context, const Reader *reader, Txn *txn);
void query_context_free(QueryContext *context);

// Fills the row, state, query and cursor functions. The caller fills the others.
void query_install(VmHost *host);
