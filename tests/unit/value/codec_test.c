#include <criterion/criterion.h>

#include "runtime/base/mem.h"
#include "runtime/value/codec.h"
#include "tests/unit/value/random_values.h"

Test(varint, has_one_form_for_each_number) {
  static const struct { const char *bytes; size_t len; Err err; uint64_t number; } ROWS[] = {
    {"\x00", 1, ERR_NONE, 0}, {"\x7f", 1, ERR_NONE, 127}, {"\x80\x01", 2, ERR_NONE, 128},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, ERR_NONE, UINT64_MAX},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, ERR_FORMAT, 0},  // more than 64 bits
    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, ERR_FORMAT, 0},
    {"\x80\x00", 2, ERR_FORMAT, 0},  // 0, longer than needed
    {"\x80", 1, ERR_FORMAT, 0}, {"", 0, ERR_FORMAT, 0},
  };
  for (size_t i = 0; i < countof(ROWS); i++) {
    Str bytes = {ROWS[i].bytes, ROWS[i].len};
    uint64_t number = 77;
    cr_assert_eq(varint_read(&bytes, &number), ROWS[i].err, "row %zu", i);
    if (ROWS[i].err) { cr_assert_eq(number, 77); cr_assert_eq(bytes.len, ROWS[i].len); continue; }
    cr_assert_eq(number, ROWS[i].number, "row %zu", i);
    cr_assert_eq(bytes.len, 0);
    Buf out;
    buf_init(&out, 0);
    varint_write(&out, number);
    cr_assert(str_equal(buf_str(&out), (Str){ROWS[i].bytes, ROWS[i].len}), "row %zu", i);
    buf_free(&out);
  }
}

static void check_round_trip(const TypeTable *types, TypeId type, Value value, bool share, Arena *arena) {
  Buf first, second;
  buf_init(&first, 0);
  buf_init(&second, 0);
  value_encode(types, type, value, &first);
  cr_assert_not(first.failed);
  cr_assert_geq(first.len, 1);
  Str bytes = buf_str(&first);
  Value back;
  cr_assert_eq(value_decode(types, type, &bytes, arena, share, &back), ERR_NONE);
  cr_assert_eq(bytes.len, 0);
  cr_assert(value_equal(types, type, value, back));
  value_encode(types, type, back, &second);
  cr_assert(str_equal(buf_str(&first), buf_str(&second)));
  Value copy;
  cr_assert(value_copy(types, type, value, arena, &copy));
  cr_assert_eq(value_compare(types, type, copy, back), 0);
  for (size_t cut = 0; cut < first.len; cut++) {  // no start of an encoding is an encoding
    Str start = {first.ptr, cut};
    cr_assert_eq(value_decode(types, type, &start, arena, share, &back), ERR_FORMAT);
  }
  buf_free(&first);
  buf_free(&second);
}

Test(codec, gives_back_any_value_of_any_type) {
  Random random = {1};
  for (int round = 0; round < 60; round++) {
    Arena arena;
    arena_init(&arena, 0);
    const TypeTable *types = random_types(&random, &arena);
    ErrText text;
    cr_assert_eq(type_check_table(types, &text), ERR_NONE, "%s", text.text);
    for (TypeId type = 0; type < types->count; type++)
      for (int i = 0; i < 4; i++) check_round_trip(types, type, random_value(&random, types, type, &arena), i % 2, &arena);
    for (TypeId type = 0; type < types->count; type++) {
      check_round_trip(types, type, value_zero(types, type), false, &arena);
      check_round_trip(types, type, (Value){.text = {0}}, false, &arena);
      cr_assert(value_equal(types, type, value_zero(types, type), (Value){.text = {0}}));
    }
    arena_free(&arena);
  }
}

static void mutate(Random *random, char *bytes, size_t *len) {
  if (*len == 0) return;
  size_t at = random_below(random, *len);
  switch (random_below(random, 4)) {
    case 0: bytes[at] ^= (char)(1 << random_below(random, 8)); break;
    case 1: bytes[at] = (char)random_next(random); break;
    case 2: *len = at; break;
    default: memmove(bytes + at, bytes + at + 1, *len - at - 1); --*len; break;
  }
}

// What a changed encoding decodes to, if anything, must be a sound value: it encodes to just those bytes.
Test(codec, never_trusts_bytes) {
  Random random = {2};
  uint64_t decoded = 0, refused = 0, held = mem_blocks_held();
  for (int round = 0; round < 40; round++) {
    Arena arena;
    arena_init(&arena, 0);
    const TypeTable *types = random_types(&random, &arena);
    for (int i = 0; i < 500; i++) {
      TypeId type = (TypeId)random_below(&random, types->count);
      Buf out;
      buf_init(&out, 0);
      value_encode(types, type, random_value(&random, types, type, &arena), &out);
      for (uint64_t n = 1 + random_below(&random, 3); n > 0; n--) mutate(&random, out.ptr, &out.len);
      Str bytes = buf_str(&out);
      Value value;
      Err err = value_decode(types, type, &bytes, &arena, i % 2, &value);
      if (err == ERR_NONE) {
        Buf again;
        buf_init(&again, 0);
        value_encode(types, type, value, &again);
        cr_assert(str_equal(buf_str(&again), (Str){out.ptr, out.len - bytes.len}));
        buf_free(&again);
        decoded++;
      } else {
        cr_assert_eq(err, ERR_FORMAT);
        refused++;
      }
      buf_free(&out);
    }
    arena_free(&arena);
  }
  cr_assert_gt(decoded, 1000);
  cr_assert_gt(refused, 1000);
  cr_assert_eq(mem_blocks_held(), held);
}

// A list of records without fields: the count is held against the bytes, since each item takes one.
Test(codec, bounds_memory_by_the_bytes_given) {
  static const Type TYPES[] = {{.kind = TYPE_RECORD, .of = 0}, {.kind = TYPE_LIST, .of = 0}};
  static const RecordDef EMPTY = {.field_count = 0};
  TypeTable types = {.types = TYPES, .count = 2, .records = &EMPTY, .record_count = 1};
  Arena arena;
  arena_init(&arena, 4096);
  Str bytes = {"\xff\xff\xff\xff\x0f\x00\x00", 7};
  Value value;
  cr_assert_eq(value_decode(&types, 1, &bytes, &arena, false, &value), ERR_FORMAT);
  Str two = {"\x02\x00\x00", 3};
  cr_assert_eq(value_decode(&types, 1, &two, &arena, false, &value), ERR_NONE);
  cr_assert_eq(list_count(value.list), 2);
  arena_free(&arena);
}

Test(codec, refuses_what_no_value_looks_like) {
  static const Type TYPES[] = {{.kind = TYPE_BOOL}, {.kind = TYPE_FLOAT}, {.kind = TYPE_TEXT}, {.kind = TYPE_SET, .of = 4}, {.kind = TYPE_INT}, {.kind = TYPE_OPTIONAL, .of = 4}};
  TypeTable types = {.types = TYPES, .count = countof(TYPES)};
  static const struct { TypeId type; const char *bytes; size_t len; } ROWS[] = {
    {0, "\x02", 1}, {1, "\0\0\0\0\0\0\xf0\x7f", 8}, {1, "\1\0\0\0\0\0\xf8\xff", 8},      // infinity, not a number
    {1, "\0\0\0\0\0\0\0\x80", 8},                                                      // -0.0
    {2, "\x02\xc0\x80", 3}, {2, "\x03\xed\xa0\x80", 4}, {2, "\x05" "ab", 3},                // overlong, a surrogate, cut
    {3, "\x02\x04\x02", 3}, {3, "\x02\x02\x02", 3}, {5, "\x02\x02", 2},                     // out of order, double
  };
  Arena arena;
  arena_init(&arena, 0);
  for (size_t i = 0; i < countof(ROWS); i++) {
    Str bytes = {ROWS[i].bytes, ROWS[i].len};
    Value value;
    cr_assert_eq(value_decode(&types, ROWS[i].type, &bytes, &arena, false, &value), ERR_FORMAT, "row %zu", i);
  }
  arena_free(&arena);
}

Test(codec, a_decimal_beyond_64_bits_fails_the_buffer) {
  static const Type TYPES[] = {{.kind = TYPE_DECIMAL, .scale = 2}};
  TypeTable types = {.types = TYPES, .count = 1};
  static const struct { __int128 units; bool fails; } ROWS[] = {
    {INT64_MAX, false}, {INT64_MIN, false}, {(__int128)INT64_MAX + 1, true}, {(__int128)INT64_MIN - 1, true}};
  for (size_t i = 0; i < countof(ROWS); i++) {
    Buf out;
    buf_init(&out, 0);
    value_encode(&types, 0, (Value){.dec = ROWS[i].units}, &out);
    cr_assert_eq(out.failed, ROWS[i].fails, "row %zu", i);
    buf_free(&out);
  }
}

Test(codec, reports_no_memory_at_every_allocation) {
  Random random = {3};
  Arena arena;
  arena_init(&arena, 0);
  const TypeTable *types = random_types(&random, &arena);
  for (TypeId type = 0; type < types->count; type++) {
    Buf out;
    buf_init(&out, 0);
    value_encode(types, type, random_value(&random, types, type, &arena), &out);
    for (uint64_t nth = 1; nth < 4; nth++) {
      Arena small;
      arena_init(&small, 0);
      Str bytes = buf_str(&out);
      Value value;
      mem_fail_nth(nth, 1);
      Err err = value_decode(types, type, &bytes, &small, false, &value);
      mem_fail_nth(0, 0);
      cr_assert(err == ERR_NONE || err == ERR_MEMORY);
      arena_free(&small);
    }
    buf_free(&out);
  }
  arena_free(&arena);
}
