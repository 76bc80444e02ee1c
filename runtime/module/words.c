// Old names and what may be lost, beside the module's declarations. They stand in one order, so that those of one thing are
// found by halving; most things have none.
#include "runtime/module/module.h"

static int compare_u16(uint16_t a, uint16_t b) { return (a > b) - (a < b); }

int word_compare(const NameWord *a, const NameWord *b) {
  int by = compare_u16(a->kind, b->kind);
  if (!by) by = compare_u16(a->owner, b->owner);
  if (!by) by = compare_u16(a->part, b->part);
  return by ? by : compare_u16(a->field, b->field);
}

static uint32_t first_not_below(const Module *module, const NameWord *of) {
  uint32_t low = 0, high = module->word_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (word_compare(&module->words[middle], of) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

const NameWord *module_words(const Module *module, NameWord of, uint32_t *out_count) {
  uint32_t first = first_not_below(module, &of), end = first;
  while (end < module->word_count && word_compare(&module->words[end], &of) == 0) end++;
  *out_count = end - first;
  return end > first ? &module->words[first] : NULL;
}

// ---- is it there ----------------------------------------------------------------------------------------

static bool is_case(const TypeTable *types, const NameWord *w) { return w->owner < types->enum_count && w->part < types->enums[w->owner].case_count; }

static bool owner_is_there(const Module *m, const NameWord *w) {
  const TypeTable *types = &m->schema.types;
  switch ((WordKind)w->kind) {
    case WORD_TABLE: case WORD_DROP_COLUMN: return w->owner < m->schema.table_count;
    case WORD_COLUMN: return w->owner < m->schema.table_count && w->part < m->schema.tables[w->owner].column_count;
    case WORD_RECORD: case WORD_DROP_FIELD: return w->owner < types->record_count;
    case WORD_FIELD: return w->owner < types->record_count && w->part < types->records[w->owner].field_count;
    case WORD_ENUM: case WORD_DROP_CASE: return w->owner < types->enum_count;
    case WORD_CASE: return is_case(types, w);
    case WORD_CASE_FIELD: return is_case(types, w) && w->field < types->enums[w->owner].cases[w->part].field_count;
    case WORD_ENTRY: return w->owner < m->entry_count;
    case WORD_PARAM: return w->owner < m->entry_count && w->part < m->entries[w->owner].param_count;
    case WORD_OUTPUT: return w->owner < m->output_count;
    case WORD_OUTPUT_FIELD: return w->owner < m->output_count && w->part < m->outputs[w->owner].field_count;
    case WORD_ERROR: return w->owner < m->error_count;
    case WORD_ERROR_FIELD: return w->owner < m->error_count && w->part < m->errors[w->owner].field_count;
    case WORD_ROLE: return w->owner < m->role_count;
    case WORD_TIMER: return w->owner < m->timer_count;
    case WORD_DROP_TABLE: return true;
    case WORD_KINDS: break;
  }
  return false;
}

bool words_are_sound(const Module *module, uint32_t *out_which) {
  for (uint32_t i = 0; i < module->word_count; i++) {
    const NameWord *word = &module->words[i];
    *out_which = i;
    if (!owner_is_there(module, word) || !word->old.len || word->old.len > MODULE_NAME_BYTES_MAX) return false;
    if (i && word_compare(word - 1, word) > 0) return false;
  }
  return true;
}
