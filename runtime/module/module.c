// Look-ups by name and by code position. Modules have few enough names that a scan is quicker than a table would be to
// build; who looks up on every request (routes) keeps its own.
#include "runtime/module/module.h"

int module_find_entry(const Module *module, EntryKind kind, Str name) {
  for (uint32_t i = 0; i < module->entry_count; i++)
    if (module->entries[i].kind == kind && str_equal(module->entries[i].name, name)) return (int)i;
  return -1;
}

int module_find_role(const Module *module, Str name) {
  for (uint32_t i = 0; i < module->role_count; i++)
    if (str_equal(module->roles[i].name, name)) return (int)i;
  return -1;
}

SourcePlace function_place(const Module *module, const Function *function, uint32_t pc) {
  uint32_t low = 0, high = function->line_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (function->lines[middle].pc <= pc) low = middle + 1; else high = middle;
  }
  if (low == 0) return (SourcePlace){{0}, 0};
  const LineEntry *entry = &function->lines[low - 1];
  Str file = entry->file < module->file_count ? module->files[entry->file] : (Str){0};
  return (SourcePlace){file, entry->line};
}
