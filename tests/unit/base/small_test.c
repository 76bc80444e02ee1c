// Clock, random numbers, hashes, shared bytes and the log.
#include <criterion/criterion.h>
#include <sodium.h>

#include "runtime/base/buf.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/mem.h"
#include "runtime/base/refbuf.h"
#include "runtime/base/rng.h"
#include "runtime/base/utf8.h"

Test(clock, goes_on_by_itself_or_only_when_told) {
  const Clock *clock = clock_system();
  int64_t before = clock_mono_us(clock);
  cr_assert_geq(clock_mono_us(clock), before);
  cr_assert_gt(clock_wall_us(clock), 1700000000000000);
  cr_assert_geq(clock_cpu_us(clock), 0);
  ClockFake fake;
  clock_fake_init(&fake, 5);
  clock_fake_advance(&fake, 10);
  cr_assert_eq(clock_wall_us(&fake.clock), 15);
  cr_assert_eq(clock_mono_us(&fake.clock), 10);
}

Test(rng, gives_the_numbers_of_its_papers) {
  Rng rng = {{1, 2, 3, 4}};
  static const uint64_t FIRST[] = {11520, 0, 1509978240, 1215971899390074240u};
  for (size_t i = 0; i < countof(FIRST); i++) cr_expect_eq(rng_next(&rng), FIRST[i]);
  static const uint64_t SPLITMIX[] = {0xE220A8397B1DCDAFu, 0x6E789E6AA1B965F4u, 0x06C45D188009454Fu, 0xF88BB8A8724C81ECu};
  rng_seed(&rng, 0);
  for (size_t i = 0; i < countof(SPLITMIX); i++) cr_expect_eq(rng.state[i], SPLITMIX[i]);
}

Test(rng, stays_in_its_bounds_and_meets_all_of_them) {
  Rng rng;
  rng_seed(&rng, 7);
  unsigned seen = 0;
  for (int i = 0; i < 1000; i++) {
    uint64_t below = rng_below(&rng, 6);
    cr_assert_lt(below, 6);
    seen |= 1u << below;
    int64_t between = rng_between(&rng, -3, 3);
    cr_assert(between >= -3 && between <= 3);
    double unit = rng_unit(&rng);
    cr_assert(unit >= 0 && unit < 1);
  }
  cr_assert_eq(seen, 63);
  cr_assert_eq(rng_between(&rng, INT64_MIN, INT64_MIN), INT64_MIN);
  (void)rng_between(&rng, INT64_MIN, INT64_MAX);
  cr_assert_eq(rng_below(&rng, 1), 0);
}

Test(rng, secrets_differ_and_a_fill_replays) {
  cr_assert_eq(rng_startup(), ERR_NONE);
  cr_assert_neq(rng_secret_u64(), rng_secret_u64());
  Rng a, b;
  rng_seed(&a, 9);
  rng_seed(&b, 9);
  uint8_t one[13], two[13];
  rng_fill(&a, one, sizeof one);
  rng_fill(&b, two, sizeof two);
  cr_assert_arr_eq(one, two, sizeof one);
}

Test(hash, gives_known_values_in_one_piece_or_many) {
  char hex[HASH_HEX_BYTES];
  Hash empty = hash_of(STR(""));
  hash_hex(&empty, hex);
  cr_assert_str_eq(hex, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  HashState state;
  hash_begin(&state);
  hash_add(&state, "he", 2);
  hash_add(&state, "llo", 3);
  Hash pieces = hash_end(&state), whole = hash_of(STR("hello"));
  cr_assert(hash_equal(&pieces, &whole));
  cr_assert_not(hash_equal(&pieces, &empty));
}

Test(checksum, is_siphash_and_depends_on_its_key) {
  ChecksumKey key;
  uint8_t input[15];
  for (uint8_t i = 0; i < 16; i++) key.bytes[i] = i;
  for (uint8_t i = 0; i < 15; i++) input[i] = i;
  cr_assert_eq(checksum(&key, input, sizeof input), 0xa129ca6149be45e5u);  // the example of the SipHash paper
  ChecksumKey other = checksum_key_random();
  cr_assert_neq(checksum(&other, input, sizeof input), 0xa129ca6149be45e5u);
}

Test(refbuf, the_last_holder_frees_it) {
  uint64_t held = mem_blocks_held();
  RefBuf *buf = refbuf_copy(STR("event"));
  cr_assert(str_is(refbuf_str(refbuf_hold(buf)), "event"));
  refbuf_drop(buf);
  cr_assert(str_is(refbuf_str(buf), "event"));
  refbuf_drop(buf);
  refbuf_drop(NULL);
  cr_assert_eq(mem_blocks_held(), held);
  mem_fail_nth(1, 0);
  cr_assert_null(refbuf_copy(STR("x")));
  cr_assert_null(refbuf_new(SIZE_MAX));
}

static void keep_line(void *ctx, Str line) { buf_add_str(ctx, line); }

Test(log, writes_one_line_that_cannot_be_forged) {
  Buf out;
  buf_init(&out, 0);
  ClockFake fake;
  clock_fake_init(&fake, 1769862605123456);
  Log log = {.clock = &fake.clock, .level = LOG_INFO, .json = true, .sink = keep_line, .ctx = &out};
  LOG_EVENT(&log, LOG_WARN, "two\nlines \"\x1b[31m", LOG_TEXT("app", STR("sh\xFFop\\")), LOG_INT("held", -64));
  cr_assert(str_is(buf_str(&out), "{\"time\":\"2026-01-31T12:30:05.123456Z\",\"level\":\"warn\",\"message\":\"two\\u000alines \\\"\\u001b[31m\","
                                  "\"app\":\"sh\\ufffdop\\\\\",\"held\":-64}\n"), STR_FMT, STR_ARG(buf_str(&out)));
  buf_clear(&out);
  log.json = false;
  LOG_EVENT(&log, LOG_ERROR, "a\r\nb", LOG_TEXT("x", STR("\x1b\x7f\xC2\x9B")), LOG_INT("n", 1));
  cr_assert(str_is(str_part(buf_str(&out), 8, out.len), " error a\\x0d\\x0ab  x=\\x1b\\x7f\\xc2\\x9b n=1\n"), STR_FMT, STR_ARG(buf_str(&out)));
  buf_clear(&out);
  log_say(&log, LOG_DEBUG, "hidden %d", 1);
  log_say(NULL, LOG_ERROR, "nowhere");
  cr_assert_eq(out.len, 0);
  buf_free(&out);
}

Test(log, cuts_a_long_line_at_a_character) {
  Buf out;
  buf_init(&out, 0);
  char text[6000];
  for (size_t i = 0; i + 1 < sizeof text; i += 2) memcpy(text + i, "\xC3\xA9", 2);
  for (int json = 0; json < 2; json++) {
    for (size_t len = 3900; len < 4200; len += 2) {
      Log log = {.clock = clock_system(), .json = json, .sink = keep_line, .ctx = &out};
      buf_clear(&out);
      LogField field = LOG_TEXT("t", ((Str){text, len}));
      log_event(&log, LOG_INFO, (Str){text, len}, &field, 1);
      cr_assert_leq(out.len, (size_t)LOG_LINE_BYTES_MAX);
      cr_assert(utf8_valid(buf_str(&out)));
      cr_assert_eq(out.ptr[out.len - 1], '\n');
      JsonReader reader;
      json_open(&reader, buf_str(&out));
      cr_assert(!json || (json_skip(&reader, NULL) == ERR_NONE && json_next(&reader) == JSON_END));
    }
  }
  buf_free(&out);
}

Test(log, levels_have_names) {
  LogLevel level = LOG_OFF;
  for (LogLevel i = LOG_DEBUG; i <= LOG_OFF; i++) {
    cr_assert(log_level_parse(str_from(log_level_name(i)), &level));
    cr_assert_eq(level, i);
  }
  cr_assert_not(log_level_parse(STR("loud"), &level));
}
