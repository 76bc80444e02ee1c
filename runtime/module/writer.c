// A module as bytes. The sections are written one after the other into one body, while the names they mention are
// gathered; then header, table of contents, names and body are put together and the hash is set. The same Module always
// gives the same bytes: names are numbered in the order in which they are first met.
#include <assert.h>

#include "runtime/base/hash.h"
#include "runtime/base/mem.h"
#include "runtime/module/layout.h"
#include "runtime/value/codec.h"

// Names by number, with a hash table of open addressing to find them again.
typedef struct NameSet { Str *items; uint32_t count, cap; uint32_t *slots; uint32_t slot_count; bool failed; } NameSet;
typedef struct Writer { const Module *module; Buf body; NameSet names; } Writer;

Hash layout_hash(Str file) {
  HashState state;
  hash_begin(&state);
  hash_add(&state, file.ptr, LAYOUT_HASH_AT);
  hash_add(&state, file.ptr + LAYOUT_HEADER_BYTES, file.len - LAYOUT_HEADER_BYTES);
  return hash_end(&state);
}

// ---- names ------------------------------------------------------------------------------------

static uint32_t name_slot(const NameSet *names, Str name) {
  static const ChecksumKey KEY = {{0}};  // whoever compiles may slow down only the own compiler
  uint32_t slot = (uint32_t)checksum(&KEY, name.ptr, name.len) & (names->slot_count - 1);
  while (names->slots[slot] && !str_equal(names->items[names->slots[slot] - 1], name)) slot = (slot + 1) & (names->slot_count - 1);
  return slot;
}

static bool names_grow(NameSet *names) {
  uint32_t cap = names->cap ? names->cap * 2 : 64;
  Str *items = mem_realloc(names->items, cap * sizeof *items);
  if (!items) return false;
  names->items = items;
  uint32_t *slots = mem_alloc_zero((size_t)cap * 2, sizeof *slots);
  if (!slots) return false;
  mem_free(names->slots);
  names->slots = slots;
  names->slot_count = cap * 2;
  names->cap = cap;
  for (uint32_t i = 0; i < names->count; i++) slots[name_slot(names, items[i])] = i + 1;
  return true;
}

static uint32_t names_add(NameSet *names, Str name) {
  if (names->failed || (names->count == names->cap && !names_grow(names))) {
    names->failed = true;
    return 0;
  }
  uint32_t slot = name_slot(names, name);
  if (!names->slots[slot]) {
    names->items[names->count++] = name;
    names->slots[slot] = names->count;
  }
  return names->slots[slot] - 1;
}

static void write_names(const NameSet *names, Buf *out) {
  buf_add_u32(out, names->count);
  for (uint32_t i = 0; i < names->count; i++) {
    buf_add_u32(out, (uint32_t)names->items[i].len);
    buf_add_str(out, names->items[i]);
  }
}

// ---- pieces -----------------------------------------------------------------------------------

static void put_u8(Writer *w, uint8_t number) { buf_add_char(&w->body, (char)number); }
static void put_u16(Writer *w, uint16_t number) { buf_add_u16(&w->body, number); }
static void put_u32(Writer *w, uint32_t number) { buf_add_u32(&w->body, number); }
static void put_u64(Writer *w, uint64_t number) { buf_add_u64(&w->body, number); }
static void put_name(Writer *w, Str name) { put_u32(w, names_add(&w->names, name)); }
static void put_u16s(Writer *w, const uint16_t *numbers, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) put_u16(w, numbers[i]);
}

static void put_hints(Writer *w, const Hints *hints) {
  put_u16(w, hints->count);
  for (uint32_t i = 0; i < hints->count; i++) {
    put_name(w, hints->items[i].name);
    put_name(w, hints->items[i].arguments);
  }
  put_name(w, hints->doc);
}

static void put_limits(Writer *w, Limits limits) {
  put_u32(w, limits.min);
  put_u32(w, limits.max);
}

static void put_fields(Writer *w, uint16_t count, const FieldDef *fields) {
  put_u16(w, count);
  for (uint32_t i = 0; i < count; i++) {
    put_name(w, fields[i].name);
    put_u16(w, fields[i].type);
    put_u8(w, fields[i].has_default);
  }
}

static void put_named_functions(Writer *w, uint16_t count, const NamedFunction *items) {
  put_u16(w, count);
  for (uint32_t i = 0; i < count; i++) {
    put_name(w, items[i].name);
    put_u16(w, items[i].function);
  }
}

static void put_field_rules(Writer *w, uint32_t count, const FieldRule *items) {
  put_u32(w, count);
  for (uint32_t i = 0; i < count; i++) {
    put_u16s(w, (const uint16_t[]){items[i].owner, items[i].tag, items[i].field}, 3);
    put_limits(w, items[i].limits);
    put_u32(w, items[i].fallback);
  }
}

static void put_words(Writer *w, uint32_t count, const NameWord *items) {
  put_u32(w, count);
  for (uint32_t i = 0; i < count; i++) {
    put_u8(w, items[i].kind);
    put_u16s(w, (const uint16_t[]){items[i].owner, items[i].part, items[i].field}, 3);
    put_name(w, items[i].old);
  }
}

// ---- functions --------------------------------------------------------------------------------

static void put_stage(Writer *w, const Stage *stage) {
  put_u8(w, stage->kind);
  put_u8(w, stage->flags);
  put_u16s(w, (const uint16_t[]){stage->block, stage->from, stage->to, stage->table, stage->index, stage->equal_count,
                                 stage->key_count, stage->carried_count, stage->aggregate_count}, 9);
  put_u16s(w, stage->keys, stage->key_count);
  for (uint32_t i = 0; i < stage->key_count; i++) put_u8(w, stage->descending ? stage->descending[i] : 0);
  put_u16s(w, stage->carried, stage->carried_count);
  for (uint32_t i = 0; i < stage->aggregate_count; i++) {
    put_u8(w, stage->aggregates[i].kind);
    put_u16(w, stage->aggregates[i].from);
    put_u16(w, stage->aggregates[i].to);
  }
}

static void put_lines(Writer *w, const Function *function) {
  LineEntry last = {0};
  put_u32(w, function->line_count);
  for (uint32_t i = 0; i < function->line_count; i++) {
    LineEntry entry = function->lines[i];
    varint_write(&w->body, entry.pc - last.pc);
    varint_write(&w->body, zigzag((int64_t)entry.line - last.line));
    varint_write(&w->body, entry.file);
    last = entry;
  }
}

static void put_function(Writer *w, const Function *function) {
  put_name(w, function->name);
  put_u8(w, function->kind);
  put_u8(w, function->effects);
  put_u16s(w, (const uint16_t[]){function->param_count, function->register_count, function->result, function->block_count, function->plan_count}, 5);
  put_u32(w, function->code_count);
  put_u16s(w, function->registers, function->register_count);
  buf_add(&w->body, function->code, function->code_count * sizeof(Instruction));
  for (uint32_t i = 0; i < function->block_count; i++) {
    put_u32(w, function->blocks[i].start);
    put_u32(w, function->blocks[i].end);
  }
  for (uint32_t i = 0; i < function->plan_count; i++) {
    put_u16(w, function->plans[i].stage_count);
    for (uint32_t k = 0; k < function->plans[i].stage_count; k++) put_stage(w, &function->plans[i].stages[k]);
  }
  put_lines(w, function);
}

static void put_functions(Writer *w) {
  put_u16(w, w->module->function_count);
  for (uint32_t i = 0; i < w->module->function_count; i++) put_function(w, &w->module->functions[i]);
}

static void put_constants(Writer *w) {
  const Module *m = w->module;
  put_u32(w, m->constant_count);
  for (uint32_t i = 0; i < m->constant_count; i++) {
    put_u16(w, m->constants[i].type);
    value_encode(&m->schema.types, m->constants[i].type, m->constants[i].value, &w->body);
  }
}

// ---- declarations -----------------------------------------------------------------------------

static void put_app(Writer *w) {
  const Module *m = w->module;
  put_name(w, m->name);
  put_name(w, m->title);
  put_hints(w, &m->hints);
  put_u16(w, m->start_function);
  put_u16(w, m->file_count);
  for (uint32_t i = 0; i < m->file_count; i++) put_name(w, m->files[i]);
  put_name(w, m->zone.name);
  put_u32(w, (uint32_t)m->zone.first_offset_s);
  put_u32(w, m->zone.count);
  for (uint32_t i = 0; i < m->zone.count; i++) {
    put_u64(w, (uint64_t)m->zone.transitions[i].at);
    put_u32(w, (uint32_t)m->zone.transitions[i].offset_s);
  }
}

static void put_param(Writer *w, const ParamDef *param) {
  put_name(w, param->name);
  put_u16(w, param->type);
  put_u16(w, param->default_function);
  put_limits(w, param->limits);
  put_limits(w, param->item_limits);
  put_hints(w, &param->hints);
}

static void put_entry(Writer *w, const EntryDef *entry) {
  put_u8(w, entry->kind);
  put_u8(w, entry->cost);
  put_name(w, entry->name);
  put_u16(w, entry->function);
  put_u16(w, entry->result);
  put_u8(w, entry->access.everyone);
  put_u8(w, entry->access.signed_in);
  put_u64(w, entry->access.roles);
  put_u32(w, entry->paged);
  put_u64(w, (uint64_t)entry->every_us);
  put_u8(w, entry->per_caller);
  put_hints(w, &entry->hints);
  put_u16(w, entry->param_count);
  for (uint32_t i = 0; i < entry->param_count; i++) put_param(w, &entry->params[i]);
}

static void put_entries(Writer *w) {
  put_u16(w, w->module->entry_count);
  for (uint32_t i = 0; i < w->module->entry_count; i++) put_entry(w, &w->module->entries[i]);
}

static void put_errors(Writer *w) {
  put_u16(w, w->module->error_count);
  for (uint32_t i = 0; i < w->module->error_count; i++) {
    const ErrorDef *error = &w->module->errors[i];
    put_name(w, error->name);
    put_u16(w, error->status);
    put_name(w, error->field);
    put_fields(w, error->field_count, error->fields);
  }
}

static void put_roles(Writer *w) {
  put_u16(w, w->module->role_count);
  for (uint32_t i = 0; i < w->module->role_count; i++) {
    put_name(w, w->module->roles[i].name);
    put_u16(w, w->module->roles[i].function);
  }
}

static void put_column_meta(Writer *w, const ColumnMeta *column) {
  put_u16(w, column->default_function);
  put_limits(w, column->limits);
  put_hints(w, &column->hints);
}

static void put_tables(Writer *w) {
  const Module *m = w->module;
  for (uint32_t i = 0; i < m->schema.table_count; i++) {
    const TableMeta *meta = &m->table_meta[i];
    for (uint32_t k = 0; k < m->schema.tables[i].column_count; k++) put_column_meta(w, &meta->columns[k]);
    put_u16(w, meta->check_function);
    put_hints(w, &meta->hints);
    put_u16(w, meta->computed_count);
    for (uint32_t k = 0; k < meta->computed_count; k++) {
      put_name(w, meta->computed[k].name);
      put_u16(w, meta->computed[k].function);
      put_hints(w, &meta->computed[k].hints);
    }
  }
}

static void put_outputs(Writer *w) {
  put_u16(w, w->module->output_count);
  for (uint32_t i = 0; i < w->module->output_count; i++) {
    const OutputDef *output = &w->module->outputs[i];
    put_name(w, output->name);
    put_fields(w, output->field_count, output->fields);
    put_hints(w, &output->hints);
  }
}

static void put_timers(Writer *w) {
  put_u16(w, w->module->timer_count);
  for (uint32_t i = 0; i < w->module->timer_count; i++) {
    const TimerDef *timer = &w->module->timers[i];
    put_u8(w, timer->kind);
    put_name(w, timer->name);
    put_u64(w, (uint64_t)timer->period_us);
    put_u64(w, (uint64_t)timer->at_us);
    put_u16s(w, (const uint16_t[]){timer->table, timer->column, timer->function, timer->kept, timer->tries, timer->begun}, 6);
  }
}

static void put_settings(Writer *w) {
  put_u16(w, w->module->setting_count);
  for (uint32_t i = 0; i < w->module->setting_count; i++) {
    const SettingDef *setting = &w->module->settings[i];
    put_name(w, setting->name);
    put_u16(w, setting->type);
    put_u16(w, setting->default_function);
    put_u8(w, setting->secret);
    put_hints(w, &setting->hints);
  }
}

static void put_pages(Writer *w) {
  put_u16(w, w->module->page_count);
  for (uint32_t i = 0; i < w->module->page_count; i++) {
    const PageDef *page = &w->module->pages[i];
    put_name(w, page->name);
    put_name(w, page->title);
    put_hints(w, &page->hints);
    put_u16(w, page->item_count);
    for (uint32_t k = 0; k < page->item_count; k++) {
      const PageItem *item = &page->items[k];
      put_name(w, item->word);
      put_hints(w, &item->hints);
      put_u16(w, item->target_count);
      for (uint32_t t = 0; t < item->target_count; t++) put_name(w, item->targets[t]);
    }
  }
}

static void put_section(Writer *w, LayoutSection section) {
  const Module *m = w->module;
  switch (section) {
    case SECTION_NAMES: break;  // put in front when all are known
    case SECTION_SCHEMA: schema_encode(&m->schema, &w->body); break;
    case SECTION_APP: put_app(w); break;
    case SECTION_CONSTANTS: put_constants(w); break;
    case SECTION_FUNCTIONS: put_functions(w); break;
    case SECTION_ENTRIES: put_entries(w); break;
    case SECTION_ERRORS: put_errors(w); break;
    case SECTION_ROLES: put_roles(w); break;
    case SECTION_TABLES: put_tables(w); break;
    case SECTION_OUTPUTS: put_outputs(w); break;
    case SECTION_TIMERS: put_timers(w); break;
    case SECTION_SETTINGS: put_settings(w); break;
    case SECTION_PAGES: put_pages(w); break;
    case SECTION_TESTS: put_named_functions(w, m->test_count, m->tests); break;
    case SECTION_ALWAYS: put_named_functions(w, m->always_count, m->always); break;
    case SECTION_FIELDS: put_field_rules(w, m->field_rule_count, m->field_rules); break;
    case SECTION_WORDS: put_words(w, m->word_count, m->words); break;
    case SECTION_COUNT_: break;
  }
}

// ---- putting together -------------------------------------------------------------------------

static void pad(Buf *buf, size_t base) {
  while ((buf->len - base) % LAYOUT_ALIGN && !buf->failed) buf_add_char(buf, 0);
}

static void put_contents(Buf *out, uint32_t id, uint32_t offset, uint32_t size) {
  buf_add_u32(out, id);
  buf_add_u32(out, offset);
  buf_add_u32(out, size);
  buf_add_u32(out, 0);
}

static void put_header(Buf *out, uint32_t size) {
  char version[LAYOUT_COMPILER_BYTES] = {0}, no_hash[MODULE_HASH_BYTES] = {0};
  memcpy(version, AUP_VERSION, sizeof AUP_VERSION <= sizeof version ? sizeof AUP_VERSION - 1 : sizeof version);
  buf_add_text(out, LAYOUT_MAGIC);
  buf_add_u16(out, MODULE_FORMAT_VERSION);
  buf_add_u16(out, 0);
  buf_add_u32(out, size);
  buf_add_u32(out, SECTION_COUNT_);
  buf_add(out, version, sizeof version);
  buf_add(out, no_hash, sizeof no_hash);
}

// `sizes` are without padding.
static void assemble(Writer *w, const Buf *names, const uint32_t *sizes, Buf *out) {
  size_t base = out->len;
  uint32_t at = LAYOUT_HEADER_BYTES + SECTION_COUNT_ * LAYOUT_ENTRY_BYTES;
  put_header(out, (uint32_t)(at + names->len + w->body.len));
  for (uint32_t i = 0; i < SECTION_COUNT_; i++) {
    put_contents(out, i, at, sizes[i]);
    at += (sizes[i] + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN * LAYOUT_ALIGN;
  }
  buf_add_str(out, buf_str(names));
  buf_add_str(out, buf_str(&w->body));
  if (out->failed) return;
  assert(out->len - base == at);
  Hash hash = layout_hash((Str){out->ptr + base, out->len - base});
  memcpy(out->ptr + base + LAYOUT_HASH_AT, hash.bytes, sizeof hash.bytes);
}

static Err finish(Writer *w, Buf *names, uint32_t *sizes, Buf *out, ErrText *out_text) {
  write_names(&w->names, names);
  sizes[SECTION_NAMES] = (uint32_t)names->len;
  pad(names, 0);
  if (w->names.failed || names->failed || w->body.failed)
    return err_say(ERR_MEMORY, out_text, "the module is larger than %d MiB, or there is no memory for it", MODULE_BYTES_MAX >> 20);
  assemble(w, names, sizes, out);
  return out->failed ? err_say(ERR_MEMORY, out_text, "no memory for the module's bytes") : ERR_NONE;
}

Err module_write(const Module *module, Buf *out, ErrText *out_text) {
  Writer w = {.module = module};
  Buf names;
  uint32_t sizes[SECTION_COUNT_] = {0};
  buf_init(&w.body, MODULE_BYTES_MAX / 2);
  buf_init(&names, MODULE_BYTES_MAX / 2 - 4096);
  names_add(&w.names, STR(""));
  for (uint32_t i = SECTION_NAMES + 1; i < SECTION_COUNT_; i++) {
    size_t start = w.body.len;
    put_section(&w, (LayoutSection)i);
    sizes[i] = (uint32_t)(w.body.len - start);
    pad(&w.body, 0);
  }
  Err err = finish(&w, &names, sizes, out, out_text);
  mem_free(w.names.items);
  mem_free(w.names.slots);
  buf_free(&w.body);
  buf_free(&names);
  return err;
}
