// Programs with one thing wrong: words left out, doubled or swapped, texts cut short. Whatever comes out is a module that
// the loader accepts, or located errors; never a crash, never the compiler's own mistake (E901).
// AUP_MUTATIONS sets how many a file gets.
#include <dirent.h>

#include "compiler/compile.h"
#include "runtime/base/rng.h"
#include "tests/unit/syntax/support.h"

enum { MUTATIONS = 310, SPANS_MAX = 20000 };

typedef struct Word { uint32_t start, end; } Word;

static Err give_text(void *context, Str path, Arena *arena, Str *out_bytes, ErrText *out_text) {
  (void)path, (void)arena, (void)out_text;
  *out_bytes = *(const Str *)context;
  return ERR_NONE;
}

static void compile_text(Str text, const char *name, uint64_t number) {
  Compile c;
  CompileOptions options = {.read_file = give_text, .context = &text, .with_tests = true};
  compile_run(&c, STR("mutated.aup"), &options);
  cr_expect(c.diags.failed == false, "%s, mutation %llu: no memory", name, (unsigned long long)number);
  cr_expect((c.module != NULL) == (c.diags.error_count == 0), "%s, mutation %llu: %u errors", name, (unsigned long long)number, c.diags.error_count);
  for (uint32_t i = 0; i < c.diags.count; i++) {
    const Diag *diag = c.diags.items[i];
    bool ours = diag->code == DIAG_E901;
    if (ours && getenv("AUP_MUTATIONS")) fprintf(stderr, "----\n" STR_FMT "\n", STR_ARG(text));
    cr_expect(!ours, "%s, mutation %llu: " STR_FMT, name, (unsigned long long)number, STR_ARG(diag->message));
  }
  compile_free(&c);
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

static uint32_t find_words(Str text, Word *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < text.len && count < SPANS_MAX;) {
    if (text.ptr[i] == ' ' || text.ptr[i] == '\n') { i++; continue; }
    Word word = {i, i + 1};
    while (word.end < text.len && is_word(text.ptr[i]) && is_word(text.ptr[word.end])) word.end++;
    out[count++] = word;
    i = word.end;
  }
  return count;
}

static void mutate(Str text, const Word *words, uint32_t count, Rng *rng, Buf *out) {
  Word a = words[rng_below(rng, count)], b = words[rng_below(rng, count)];
  if (a.start > b.start) { Word t = a; a = b; b = t; }
  switch (rng_below(rng, 5)) {
    case 0:  // left out
      buf_add_str(out, str_part(text, 0, a.start));
      buf_add_str(out, str_part(text, a.end, text.len));
      return;
    case 1:  // doubled
      buf_add_str(out, str_part(text, 0, a.end));
      buf_add_char(out, ' ');
      buf_add_str(out, str_part(text, a.start, text.len));
      return;
    case 2:  // swapped
      if (a.start == b.start) break;
      buf_add_str(out, str_part(text, 0, a.start));
      buf_add_str(out, str_part(text, b.start, b.end));
      buf_add_str(out, str_part(text, a.end, b.start));
      buf_add_str(out, str_part(text, a.start, a.end));
      buf_add_str(out, str_part(text, b.end, text.len));
      return;
    case 3:  // another word in its place
      buf_add_str(out, str_part(text, 0, a.start));
      buf_add_str(out, str_part(text, b.start, b.end));
      buf_add_str(out, str_part(text, a.end, text.len));
      return;
    default: break;
  }
  buf_add_str(out, str_part(text, 0, a.start));  // cut
}

static void mutate_file(const char *folder, const char *name, int mutations) {
  static Word words[SPANS_MAX];
  char path[1000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  Str text = read_file(path);
  uint32_t count = find_words(text, words);
  Rng rng;
  rng_seed(&rng, 20260 + (uint64_t)name[0] * 256 + (uint64_t)name[1]);
  for (int i = 0; i < mutations && count; i++) {
    Buf out;
    buf_init(&out, 0);
    mutate(text, words, count, &rng, &out);
    if (out.len) compile_text(buf_str(&out), name, (uint64_t)i);
    buf_free(&out);
  }
  mem_free((void *)(uintptr_t)text.ptr);
}

static void mutate_folder(const char *folder, int mutations) {
  DIR *dir = opendir(folder);
  cr_assert_not_null(dir);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    size_t len = strlen(entry->d_name);
    if (len > 4 && strcmp(entry->d_name + len - 4, ".aup") == 0) mutate_file(folder, entry->d_name, mutations);
  }
  closedir(dir);
}

static int mutations(void) { return getenv("AUP_MUTATIONS") ? atoi(getenv("AUP_MUTATIONS")) : MUTATIONS; }

Test(check_mutations, of_examples_give_errors_or_modules) { mutate_folder(SOURCE_ROOT "/examples", mutations()); }
Test(check_mutations, of_mistakes_give_errors_or_modules) { mutate_folder(SOURCE_ROOT "/tests/golden/check", mutations()); }
