// The query functions of a VmHost, for rows.c, which installs them.
//
// Owns:   see query.h.
// Thread: that of the Exec.
// Errors: see vm.h's VmHost.
#pragma once
#include "runtime/query/query.h"

HostResult query__open(Exec *exec, const Function *function, uint16_t plan, void **slot);
QueryStep query__next(Exec *exec, void *slot, Value *registers);
void query__close(Exec *exec, void *slot);
HostResult query__cursor_key(Exec *exec, void *slot, uint8_t stage, Value *out);
HostResult query__cursor_column(Exec *exec, void *slot, uint8_t stage, uint16_t column, Value *out);
