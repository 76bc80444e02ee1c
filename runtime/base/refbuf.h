// A RefBuf is a run of bytes that many readers share: an event sent to a thousand subscribers, a cached answer. The
// bytes do not change once a second reader has it.
//
// Owns:   itself; whoever calls refbuf_drop last frees it.
// Thread: counting is atomic, so a RefBuf may pass between threads; the bytes are only read.
// Errors: NULL when there is no memory.
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#include "runtime/base/str.h"

typedef struct RefBuf {
  atomic_uint holders;
  size_t len;
  char bytes[];
} RefBuf;

RefBuf *refbuf_new(size_t len);    // held once; the bytes are not cleared, its maker fills them before sharing
RefBuf *refbuf_copy(Str bytes);    // held once
RefBuf *refbuf_hold(RefBuf *buf);  // one more holder; gives `buf` back
void refbuf_drop(RefBuf *buf);     // one holder less; NULL is fine
static inline Str refbuf_str(const RefBuf *buf) { return (Str){buf->bytes, buf->len}; }
