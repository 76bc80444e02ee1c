// Restricted Damerau-Levenshtein with three rows: a swap of neighbours is one mistake, since fingers make it as one.
#include "compiler/suggest.h"

static char fold(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c; }
static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

uint32_t suggest_distance(Str a, Str b, uint32_t limit) {
  uint32_t rows[3][SUGGEST_BYTES_MAX + 1];
  size_t gap = a.len > b.len ? a.len - b.len : b.len - a.len;
  if (a.len > SUGGEST_BYTES_MAX || b.len > SUGGEST_BYTES_MAX || gap > limit) return limit + 1;
  for (size_t j = 0; j <= b.len; j++) rows[0][j] = (uint32_t)j;
  for (size_t i = 1; i <= a.len; i++) {
    uint32_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
    row[0] = (uint32_t)i;
    for (size_t j = 1; j <= b.len; j++) {
      char x = fold(a.ptr[i - 1]), y = fold(b.ptr[j - 1]);
      row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
      bool is_swap = i > 1 && j > 1 && x == fold(b.ptr[j - 2]) && fold(a.ptr[i - 2]) == y;
      if (is_swap) row[j] = least(row[j], second[j - 2] + 1);
    }
  }
  return least(rows[a.len % 3][b.len], limit + 1);
}

Suggest suggest_start(Str wanted) {
  // A third of the letters may be wrong; in a name of two letters none.
  uint32_t near = wanted.len <= 2 ? 0 : wanted.len <= 4 ? 1 : (uint32_t)least((uint32_t)wanted.len / 3, 4);
  return (Suggest){wanted, {"", 0}, near};
}

void suggest_try(Suggest *suggest, Str candidate) {
  if (!candidate.len) return;
  uint32_t distance = suggest_distance(suggest->wanted, candidate, suggest->distance_max);
  bool is_better = distance < suggest->distance_max || (distance == suggest->distance_max && !suggest->best.len);
  if (!is_better) return;
  suggest->best = candidate;
  suggest->distance_max = distance;
}
