#include <criterion/criterion.h>

#include "runtime/base/err.h"
#include "runtime/base/utf8.h"

Test(utf8, finds_the_first_byte_that_is_no_character) {
  static const struct { Str text; size_t at; } ROWS[] = {
    {{"", 0}, 0}, {{"plain", 5}, 5}, {{"j\xC3\xBCrgen", 7}, 7}, {{"\xE2\x82\xAC", 3}, 3}, {{"\xF0\x9F\x94\xA5", 4}, 4},
    {{"a\x80", 2}, 1}, {{"\xC0\xAF", 2}, 0}, {{"\xC1\xBF", 2}, 0}, {{"\xE0\x9F\xBF", 3}, 0}, {{"\xED\xA0\x80", 3}, 0},
    {{"\xED\x9F\xBF", 3}, 3}, {{"\xF0\x8F\xBF\xBF", 4}, 0}, {{"\xF4\x8F\xBF\xBF", 4}, 4}, {{"\xF4\x90\x80\x80", 4}, 0},
    {{"\xF5\x80\x80\x80", 4}, 0}, {{"ab\xE2\x82", 4}, 2}, {{"\xC3", 1}, 0}, {{"\xFF", 1}, 0}, {{"\0", 1}, 1},
    {{"12345678\xFF", 9}, 8}, {{"1234567\xC3\xA9" "9", 10}, 10}, {{"1234567\xC3" "9", 9}, 7},
  };
  for (size_t i = 0; i < countof(ROWS); i++) cr_expect_eq(utf8_invalid_at(ROWS[i].text), ROWS[i].at, "row %zu", i);
}

Test(utf8, every_code_point_comes_back_and_no_surrogate_goes_in) {
  for (uint32_t point = 0; point < 0x110010; point++) {
    char bytes[4];
    size_t len = utf8_encode(point, bytes);
    bool legal = (point < 0xD800 || point > 0xDFFF) && point <= 0x10FFFF;
    if (!legal) {
      cr_assert_eq(len, 0, "%x", point);
      continue;
    }
    uint32_t back = 0;
    cr_assert_eq(utf8_decode((Str){bytes, len}, &back), len, "%x", point);
    cr_assert_eq(back, point);
    cr_assert_eq(utf8_decode((Str){bytes, len - 1}, &back), 0, "cut %x", point);
  }
}

Test(utf8, counts_offsets_and_cuts_by_character) {
  Str text = STR("aé€🔥 plain ascii after, and ü");
  size_t count = utf8_count(text);
  cr_assert_eq(count, text.len - 1 - 2 - 3 - 1);
  uint32_t point;
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    cr_expect_eq(utf8_offset(text, i), at, "%zu", i);
    at += utf8_decode(str_part(text, at, text.len), &point);
  }
  cr_expect_eq(utf8_offset(text, count), text.len);
  cr_expect_eq(utf8_offset(text, count + 9), text.len);
  for (size_t max = 0; max <= text.len + 2; max++) {
    size_t len = utf8_cut(text, max);
    cr_expect(len <= max && utf8_valid(str_part(text, 0, len)));
    cr_expect(len == text.len || len + 4 > max);
  }
}
