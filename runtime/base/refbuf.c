// One block for count and bytes. Dropping releases, the last drop acquires, so a reader's last look happens before
// the free, whichever thread does it.
#include "runtime/base/refbuf.h"

#include <assert.h>
#include <stddef.h>

#include "runtime/base/mem.h"

RefBuf *refbuf_new(size_t len) {
  if (len > SIZE_MAX / 2) return NULL;
  RefBuf *buf = mem_alloc(offsetof(RefBuf, bytes) + len);
  if (!buf) return NULL;
  atomic_init(&buf->holders, 1);
  buf->len = len;
  return buf;
}

RefBuf *refbuf_copy(Str bytes) {
  RefBuf *buf = refbuf_new(bytes.len);
  if (buf && bytes.len) memcpy(buf->bytes, bytes.ptr, bytes.len);
  return buf;
}

RefBuf *refbuf_hold(RefBuf *buf) {
  unsigned before = atomic_fetch_add_explicit(&buf->holders, 1, memory_order_relaxed);
  assert(before > 0);
  (void)before;
  return buf;
}

void refbuf_drop(RefBuf *buf) {
  if (!buf) return;
  unsigned before = atomic_fetch_sub_explicit(&buf->holders, 1, memory_order_acq_rel);
  assert(before > 0);
  if (before == 1) mem_free(buf);
}
