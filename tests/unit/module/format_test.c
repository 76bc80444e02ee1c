// Modules there and back, and bytes that are cut, flipped, or whose counts lie.
#include <criterion/criterion.h>

#include "runtime/base/mem.h"
#include "runtime/module/layout.h"
#include "tests/unit/module/build.h"

// One of everything that the format can hold.
static void build_everything(Build *b) {
  build_init(b);
  Module *m = &b->module;
  build_constant(b, T_INT, (Value){.i = -3});
  build_constant(b, T_TEXT, (Value){.text = STR("grüße")});

  uint16_t value = build_begin(b, FUNCTION_DEFAULT, T_INT);
  build_emit(b, OP_INT, build_register(b, T_INT), 7, 0);
  build_emit(b, OP_RETURN, 0, 0, 0);
  build_end(b);

  uint16_t view = build_begin(b, FUNCTION_VIEW, T_LIST_INT);
  build_param(b, T_INT);
  uint16_t list = build_register(b, T_LIST_INT), row = build_register(b, T_ITEM), yes = build_register(b, T_BOOL), price = build_register(b, T_DEC2), n = build_register(b, T_INT);
  build_line(b, 3);
  build_emit(b, OP_QUERY_OPEN, 0, 0, 0);
  uint32_t next = build_emit(b, OP_QUERY_NEXT, 0, 0, 0);
  build_line(b, 4);
  build_emit(b, OP_LIST_PUSH, list, n, 0);
  build_emit(b, OP_JUMP, 0, next, 0);
  build_patch(b, next);
  build_emit(b, OP_RETURN, list, 0, 0);
  uint16_t block = build_block_begin(b);
  build_emit(b, OP_COLUMN_GET, price, row, ITEM_PRICE);
  build_emit(b, OP_BOOL, yes, 1, 0);
  build_block_end(b);
  Stage stages[] = {
    {.kind = STAGE_SCAN, .table = TABLE_ITEM, .index = SCHEMA_NO_INDEX, .block = NO_BLOCK, .from = NO_REGISTER, .to = row},
    {.kind = STAGE_FILTER, .block = block, .from = yes, .to = NO_REGISTER},
    {.kind = STAGE_GROUP, .block = NO_BLOCK, .from = NO_REGISTER, .to = NO_REGISTER, .key_count = 1, .keys = (uint16_t[]){price},
     .aggregate_count = 1, .aggregates = (Aggregate[]){{AGGREGATE_COUNT, NO_REGISTER, n}}},
    {.kind = STAGE_ORDER, .block = NO_BLOCK, .from = NO_REGISTER, .to = NO_REGISTER, .key_count = 1, .keys = (uint16_t[]){n}, .descending = (uint8_t[]){1},
     .carried_count = 1, .carried = (uint16_t[]){price}},
  };
  build_plan(b, countof(stages), stages);
  build_end(b);

  uint16_t test = build_begin(b, FUNCTION_TEST, TYPE_NONE);
  build_emit(b, OP_RETURN_VOID, 0, 0, 0);
  build_end(b);

  static const Hint HINTS[] = {{{"label", 5}, {"[\"Top\"]", 7}}};
  EntryDef *entry = build_entry(b, ENTRY_VIEW, "top", view);
  ((ParamDef *)entry->params)[0].default_function = value;
  ((ParamDef *)entry->params)[0].limits.min = 0;
  entry->hints = (Hints){1, HINTS, STR("What is on top.")};
  entry->paged = 50;
  entry->access.roles = 1;
  b->tests[0] = (NamedFunction){STR("it works"), test};
  m->test_count = 1;
  b->settings[0] = (SettingDef){.name = STR("size"), .type = T_INT, .default_function = value, .secret = true};
  m->setting_count = 1;
  build_timed_tables(b);
  b->timers[0] = (TimerDef){.kind = TIMER_EXPIRE, .name = STR("expire Item"), .period_us = 5, .table = TABLE_ITEM, .column = ITEM_DUE, .function = NO_FUNCTION, .kept = SCHEMA_NO_COLUMN, .tries = SCHEMA_NO_COLUMN, .begun = SCHEMA_NO_COLUMN};
  m->timer_count = 1;
  static const Str TARGETS[] = {{"top", 3}};
  static const PageItem ITEMS[] = {{{"show", 4}, 1, TARGETS, {0}}};
  b->pages[0] = (PageDef){.name = STR("main"), .title = STR("Main"), .item_count = 1, .items = ITEMS};
  m->page_count = 1;
  b->columns[TABLE_ITEM][ITEM_TITLE].limits.max = 0;
  static const NameWord WORDS[] = {{.kind = WORD_COLUMN, .owner = TABLE_ITEM, .part = ITEM_TITLE, .old = {"name", 4}}, {.kind = WORD_ENTRY, .old = {"best", 4}},
                               {.kind = WORD_ENTRY, .old = {"first", 5}}, {.kind = WORD_DROP_TABLE, .old = {"Fax", 3}}};
  m->words = WORDS;
  m->word_count = countof(WORDS);
  static const ZoneTransition TRANSITIONS[] = {{-5, 3600}, {7, 7200}};
  m->zone = (Zone){STR("Europe/Berlin"), 3208, 2, TRANSITIONS};
}

Test(format, there_and_back) {
  Build b;
  build_everything(&b);
  Buf first = build_bytes(&b), second;
  Module *m = build_finish(&b);
  ErrText text;
  buf_init(&second, 0);
  cr_assert_eq(module_write(m, &second, &text), ERR_NONE);
  cr_assert(str_equal(buf_str(&first), buf_str(&second)), "what was read is written as the same bytes");
  cr_assert(str_is(m->compiler_version, AUP_VERSION));
  int top = module_find_entry(m, ENTRY_VIEW, STR("top"));
  cr_assert_eq(top, 0);
  cr_assert_eq(module_find_entry(m, ENTRY_INPUT, STR("top")), -1);
  cr_assert_eq(module_find_role(m, STR("clerk")), 0);
  cr_assert_eq(m->entries[top].paged, 50);
  uint32_t names;
  const NameWord *old = module_words(m, (NameWord){.kind = WORD_ENTRY, .owner = (uint16_t)top}, &names);
  cr_assert(names == 2 && str_is(old[0].old, "best") && str_is(old[1].old, "first"));
  cr_assert_null(module_words(m, (NameWord){.kind = WORD_TABLE, .owner = TABLE_ITEM}, &names));
  cr_assert(str_is(m->entries[top].hints.doc, "What is on top."));
  const Function *view = &m->functions[m->entries[top].function];
  cr_assert_eq(view->depth, 1);
  cr_assert_eq(view->stack_registers, view->register_count);
  cr_assert_eq(function_place(m, view, 0).line, 3);
  cr_assert_eq(function_place(m, view, 2).line, 4);
  cr_assert(str_is(function_place(m, view, 5).file, "test.aup"));
  cr_assert_eq(m->zone.transitions[1].offset_s, 7200);
  cr_assert(memcmp(m->hash, first.ptr + LAYOUT_HASH_AT, sizeof m->hash) == 0);
  buf_free(&first);
  buf_free(&second);
  build_free(&b);
}

// Refused, or accepted with memory bounded by the file's size.
static bool read_bounded(const char *bytes, size_t len) {
  Arena arena;
  ErrText text = {{0}};
  Module *module;
  arena_init(&arena, 0);
  Err err = module_read((Str){bytes, len}, &arena, &module, &text);
  cr_assert(err == ERR_NONE || text.text[0], "a refusal has a reason");
  cr_assert_leq(arena.bytes_used, 64 * len + 65536);
  arena_free(&arena);
  return err == ERR_NONE;
}

Test(format, cut_at_every_byte) {
  Build b;
  build_everything(&b);
  Buf bytes = build_bytes(&b);
  for (size_t len = 0; len < bytes.len; len++) {
    cr_assert_not(read_bounded(bytes.ptr, len));
    char *cut = malloc(len + 1);  // the end of the block is where reading past it is seen
    memcpy(cut, bytes.ptr, len);
    uint32_t size = (uint32_t)len;
    if (len >= LAYOUT_HEADER_BYTES) memcpy(cut + LAYOUT_SIZE_AT, &size, sizeof size);
    build_seal(cut, len);
    cr_assert_not(read_bounded(cut, len));
    free(cut);
  }
  buf_free(&bytes);
  build_free(&b);
}

Test(format, every_bit_flipped) {
  Build b;
  build_everything(&b);
  Buf bytes = build_bytes(&b);
  for (size_t bit = 0; bit < bytes.len * 8; bit++) {
    bytes.ptr[bit / 8] ^= (char)(1 << bit % 8);
    if (bit % 8 == 0) cr_assert_not(read_bounded(bytes.ptr, bytes.len), "the hash tells that byte %zu is not as written", bit / 8);
    bytes.ptr[bit / 8] ^= (char)(1 << bit % 8);
  }
  buf_free(&bytes);
  build_free(&b);
}

Test(format, every_number_set_to_extremes) {
  Build b;
  build_everything(&b);
  Buf bytes = build_bytes(&b);
  uint32_t accepted = 0;
  for (size_t at = LAYOUT_HEADER_BYTES; at + 4 <= bytes.len; at++) {
    uint32_t old;
    memcpy(&old, bytes.ptr + at, 4);
    const uint32_t values[] = {0, old + 1, old - 1, old * 2, 0x80000000u, 0xFFFFFFFFu, (old & 0xFFFF0000u) | 0xFFFFu, old ^ 0x80};
    for (size_t i = 0; i < countof(values); i++) {
      memcpy(bytes.ptr + at, &values[i], 4);
      build_seal(bytes.ptr, bytes.len);
      accepted += read_bounded(bytes.ptr, bytes.len);
    }
    memcpy(bytes.ptr + at, &old, 4);
  }
  cr_assert_gt(accepted, 0, "texts and numbers may be any");
  buf_free(&bytes);
  build_free(&b);
}

Test(format, header_says_why) {
  Build b;
  build_everything(&b);
  Buf bytes = build_bytes(&b);
  const struct { size_t at; uint8_t value; Err err; const char *part; } rows[] = {
    {0, 'X', ERR_FORMAT, "does not begin with"},
    {LAYOUT_VERSION_AT, MODULE_FORMAT_VERSION + 1, ERR_VERSION, "format version 4"},
    {LAYOUT_VERSION_AT, MODULE_FORMAT_VERSION - 1, ERR_VERSION, "format version 2"},
    {LAYOUT_VERSION_AT, 0, ERR_VERSION, "format version 0"},
    {LAYOUT_VERSION_AT + 2, 1, ERR_VERSION, "flags"},
    {LAYOUT_SIZE_AT, 1, ERR_FORMAT, "cut or lengthened"},
    {LAYOUT_COMPILER_AT, 7, ERR_FORMAT, "compiler's version"},
    {LAYOUT_HASH_AT, 1, ERR_FORMAT, "damaged"},
    {LAYOUT_HEADER_BYTES, 9, ERR_FORMAT, "damaged"},
  };
  for (size_t i = 0; i < countof(rows); i++) {
    char old = bytes.ptr[rows[i].at];
    Arena arena;
    Module *module;
    ErrText text = {{0}};
    arena_init(&arena, 0);
    bytes.ptr[rows[i].at] = (char)(rows[i].value == (uint8_t)old ? rows[i].value + 1 : rows[i].value);
    cr_assert_eq(module_read(buf_str(&bytes), &arena, &module, &text), rows[i].err, "row %zu: %s", i, text.text);
    cr_assert(strstr(text.text, rows[i].part), "row %zu: %s", i, text.text);
    bytes.ptr[rows[i].at] = old;
    arena_free(&arena);
  }
  buf_free(&bytes);
  build_free(&b);
}

// Every allocation fails once: each is an error with its reason, and nothing is kept.
Test(format, no_memory) {
  Build b;
  build_everything(&b);
  Buf bytes = build_bytes(&b), again;
  uint64_t held = mem_blocks_held();
  Err err = ERR_MEMORY;
  for (uint64_t n = 1; err != ERR_NONE; n++) {
    ErrText text = {{0}};
    buf_init(&again, 0);
    mem_fail_nth(n, 0);
    err = module_write(&b.module, &again, &text);
    mem_fail_nth(0, 0);
    cr_assert(err == ERR_NONE || (err == ERR_MEMORY && text.text[0]), "write %lu: %s", n, text.text);
    buf_free(&again);
    cr_assert_eq(mem_blocks_held(), held);
    cr_assert_lt(n, 1000);
  }
  err = ERR_MEMORY;
  for (uint64_t n = 1; err != ERR_NONE; n++) {
    ErrText text = {{0}};
    Arena arena;
    Module *module;
    arena_init(&arena, 0);
    mem_fail_nth(n, 0);
    err = module_read(buf_str(&bytes), &arena, &module, &text);
    mem_fail_nth(0, 0);
    cr_assert(err == ERR_NONE || (err == ERR_MEMORY && text.text[0]), "read %lu: %s", n, text.text);
    arena_free(&arena);
    cr_assert_eq(mem_blocks_held(), held);
    cr_assert_lt(n, 1000);
  }
  buf_free(&bytes);
  build_free(&b);
}

Test(format, disassembly_names_everything) {
  Build b;
  build_everything(&b);
  Module *m = build_finish(&b);
  Buf out;
  buf_init(&out, 0);
  module_disassemble(m, &out);
  buf_add_char(&out, 0);
  cr_assert_not(out.failed);
  const char *parts[] = {"app test \"A test\"", "table Item (1) key id auto", "  index 0 title due desc", "view top(p0: int = …) -> [int]", "error full 409", "role clerk", "output note",
                         "timer expire Item expire", "setting size secret", "page main", "test \"it works\"", "view f1 (function 1, 1 parameters) -> [int]", "    scan Item", "QUERY_NEXT", "; test.aup:4", "block 0:"};
  for (size_t i = 0; i < countof(parts); i++) {
    cr_assert(strstr(out.ptr, parts[i]), "%s\n%s", parts[i], out.ptr);
  }
  buf_free(&out);
  build_free(&b);
}
