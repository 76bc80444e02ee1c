// The parts of a module file, for the writer and the reader alone. docs/FORMAT.md describes them byte by byte.
//
// Owns:   nothing.
// Thread: any.
#pragma once
#include "runtime/base/hash.h"
#include "runtime/module/format.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "code and numbers are copied as they stand in the file");

// Header: magic 4, format version u16, flags u16 (0), file size u32, section count u32, compiler version 16 (zero-filled),
// hash 32 (over all bytes before and after it). Then one entry a section, then the sections in this order, without gaps,
// each padded with zeros to a multiple of 8.
enum {
  LAYOUT_VERSION_AT = 4, LAYOUT_SIZE_AT = 8, LAYOUT_COMPILER_AT = 16, LAYOUT_COMPILER_BYTES = 16,
  LAYOUT_HASH_AT = 32, LAYOUT_HEADER_BYTES = 64, LAYOUT_ENTRY_BYTES = 16, LAYOUT_ALIGN = 8,
};
#define LAYOUT_MAGIC "AUPM"

typedef enum LayoutSection {
  SECTION_NAMES, SECTION_SCHEMA, SECTION_APP, SECTION_CONSTANTS, SECTION_FUNCTIONS, SECTION_ENTRIES, SECTION_ERRORS, SECTION_ROLES,
  SECTION_TABLES, SECTION_OUTPUTS, SECTION_TIMERS, SECTION_SETTINGS, SECTION_PAGES, SECTION_TESTS, SECTION_ALWAYS, SECTION_FIELDS,
  SECTION_WORDS,
  SECTION_COUNT_
} LayoutSection;
static const char *const LAYOUT_SECTION_NAMES[SECTION_COUNT_] = {
  "names", "schema", "app", "constants", "functions", "entries", "errors", "roles",
  "tables", "outputs", "timers", "settings", "pages", "tests", "always", "fields",
  "words",
};

// The hash that stands in a file of these bytes.
Hash layout_hash(Str file);
