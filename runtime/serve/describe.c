// The description is written from the module alone; nothing in it depends on state or caller, so that one copy serves all.
#include "runtime/serve/describe.h"

#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/value/json_value.h"

static void key(JsonWriter *w, const char *name) { json_write_key(w, str_from(name)); }

static void text_member(JsonWriter *w, const char *name, Str text) {
  if (!text.len) return;
  key(w, name);
  json_write_text(w, text);
}

static void write_type(const TypeTable *types, TypeId id, JsonWriter *w);

static void write_fields(const TypeTable *types, uint16_t count, const FieldDef *fields, JsonWriter *w) {
  json_write_array(w);
  for (uint16_t i = 0; i < count; i++) {
    json_write_object(w);
    text_member(w, "name", fields[i].name);
    key(w, "type");
    write_type(types, fields[i].type, w);
    json_write_object_end(w);
  }
  json_write_array_end(w);
}

static void write_named(JsonWriter *w, const char *kind, Str name) {
  json_write_object(w);
  text_member(w, kind, name);
  json_write_object_end(w);
}

static void write_wrapped(const TypeTable *types, const char *kind, TypeId inside, JsonWriter *w) {
  json_write_object(w);
  key(w, kind);
  write_type(types, inside, w);
  json_write_object_end(w);
}

// Types nest at most TYPE_DEPTH_MAX deep (schema_check), and so does this.
static void write_type(const TypeTable *types, TypeId id, JsonWriter *w) {
  const Type *type = &types->types[id];
  switch ((TypeKind)type->kind) {
    case TYPE_DECIMAL:
      json_write_object(w);
      key(w, "decimal");
      json_write_int(w, type->scale);
      json_write_object_end(w);
      return;
    case TYPE_ENUM: write_named(w, "enum", types->enums[type->of].name); return;
    case TYPE_REF: write_named(w, "reference", types->table_names[type->of]); return;
    case TYPE_OPTIONAL: write_wrapped(types, "optional", type->of, w); return;
    case TYPE_LIST: write_wrapped(types, "list", type->of, w); return;
    case TYPE_SET: write_wrapped(types, "set", type->of, w); return;
    case TYPE_MAP:
      json_write_object(w);
      key(w, "map");
      json_write_array(w);
      write_type(types, type->of, w);
      write_type(types, type->to, w);
      json_write_array_end(w);
      json_write_object_end(w);
      return;
    case TYPE_RECORD:
      json_write_object(w);
      key(w, "record");
      write_fields(types, types->records[type->of].field_count, types->records[type->of].fields, w);
      json_write_object_end(w);
      return;
    case TYPE_BOOL: case TYPE_INT: case TYPE_FLOAT: case TYPE_TEXT: case TYPE_BYTES: case TYPE_UUID: case TYPE_TIME: case TYPE_DATE:
    case TYPE_DURATION: case TYPE_KIND_COUNT: json_write_text(w, str_from(type_kind_words((TypeKind)type->kind))); return;
  }
}

static void write_hints(const Hints *hints, JsonWriter *w) {
  text_member(w, "doc", hints->doc);
  if (!hints->count) return;
  key(w, "hints");
  json_write_array(w);
  for (uint16_t i = 0; i < hints->count; i++) {
    json_write_object(w);
    text_member(w, "name", hints->items[i].name);
    if (hints->items[i].arguments.len) {
      key(w, "arguments");
      json_write_raw(w, hints->items[i].arguments);
    }
    json_write_object_end(w);
  }
  json_write_array_end(w);
}

static void write_limit(const Module *module, const char *name, uint32_t constant, JsonWriter *w) {
  if (constant == NO_CONSTANT) return;
  key(w, name);
  value_write_json(&module->schema.types, module->constants[constant].type, module->constants[constant].value, w->buf);
  w->comma = true;
}

static void write_param(const Module *module, const ParamDef *param, JsonWriter *w) {
  const TypeTable *types = &module->schema.types;
  json_write_object(w);
  text_member(w, "name", param->name);
  key(w, "type");
  write_type(types, param->type, w);
  key(w, "required");
  json_write_bool(w, param->default_function == NO_FUNCTION && type_kind(types, param->type) != TYPE_OPTIONAL);
  write_limit(module, "min", param->limits.min, w);
  write_limit(module, "max", param->limits.max, w);
  write_hints(&param->hints, w);
  json_write_object_end(w);
}

static void write_access(const Module *module, const Access *access, JsonWriter *w) {
  key(w, "access");
  if (access->everyone) { json_write_text(w, STR("everyone")); return; }
  if (access->signed_in) { json_write_text(w, STR("signed_in")); return; }
  json_write_array(w);
  for (uint16_t i = 0; i < module->role_count; i++) {
    if (access->roles >> i & 1) json_write_text(w, module->roles[i].name);
  }
  json_write_array_end(w);
}

static Str old_name(const Module *module, const EntryDef *entry) {
  uint32_t count;
  const NameWord *words = module_words(module, (NameWord){.kind = WORD_ENTRY, .owner = (uint16_t)(entry - module->entries)}, &count);
  return count ? words[0].old : (Str){0};
}

static void write_entry(const Module *module, const EntryDef *entry, JsonWriter *w) {
  json_write_object(w);
  text_member(w, "name", entry->name);
  text_member(w, "was", old_name(module, entry));
  key(w, "params");
  json_write_array(w);
  for (uint16_t i = 0; i < entry->param_count; i++) write_param(module, &entry->params[i], w);
  json_write_array_end(w);
  if (entry->result != TYPE_NONE) {
    key(w, "result");
    write_type(&module->schema.types, entry->result, w);
  }
  write_access(module, &entry->access, w);
  if (entry->paged) {
    key(w, "paged");
    json_write_int(w, entry->paged);
  }
  if (entry->kind == ENTRY_VIEW) {
    key(w, "per_caller");
    json_write_bool(w, entry->per_caller);
  }
  write_hints(&entry->hints, w);
  json_write_object_end(w);
}

static void write_entries(const Module *module, const char *name, EntryKind kind, JsonWriter *w) {
  key(w, name);
  json_write_array(w);
  for (uint16_t i = 0; i < module->entry_count; i++) {
    if (module->entries[i].kind == kind) write_entry(module, &module->entries[i], w);
  }
  json_write_array_end(w);
}

static void write_enum(const TypeTable *types, const EnumDef *def, JsonWriter *w) {
  json_write_key(w, def->name);
  json_write_object(w);
  key(w, "enum");
  json_write_array(w);
  for (uint16_t i = 0; i < def->case_count; i++) {
    json_write_object(w);
    text_member(w, "name", def->cases[i].name);
    if (def->cases[i].field_count) {
      key(w, "fields");
      write_fields(types, def->cases[i].field_count, def->cases[i].fields, w);
    }
    json_write_object_end(w);
  }
  json_write_array_end(w);
  json_write_object_end(w);
}

static void write_table(const Module *module, uint16_t index, JsonWriter *w) {
  const TableDef *def = &module->schema.tables[index];
  const TableMeta *meta = &module->table_meta[index];
  json_write_key(w, def->name);
  json_write_object(w);
  key(w, "table");
  json_write_array(w);
  for (uint16_t i = 0; i < def->column_count; i++) {
    if (def->columns[i].hidden) continue;
    json_write_object(w);
    text_member(w, "name", def->columns[i].name);
    key(w, "type");
    write_type(&module->schema.types, def->columns[i].type, w);
    write_limit(module, "min", meta->columns[i].limits.min, w);
    write_limit(module, "max", meta->columns[i].limits.max, w);
    write_hints(&meta->columns[i].hints, w);
    json_write_object_end(w);
  }
  json_write_array_end(w);
  key(w, "key");
  json_write_array(w);
  for (uint16_t i = 0; i < def->key_count; i++) json_write_text(w, def->columns[def->key[i]].name);
  json_write_array_end(w);
  write_hints(&meta->hints, w);
  json_write_object_end(w);
}

static void write_types(const Module *module, JsonWriter *w) {
  const TypeTable *types = &module->schema.types;
  key(w, "types");
  json_write_object(w);
  for (uint16_t i = 0; i < types->enum_count; i++) write_enum(types, &types->enums[i], w);
  for (uint16_t i = 1; i < module->schema.table_count; i++)
    if (module->schema.tables[i].name.ptr[0] != '~') write_table(module, i, w);  // those are the host's own
  json_write_object_end(w);
}

static void write_errors(const Module *module, JsonWriter *w) {
  key(w, "errors");
  json_write_array(w);
  for (uint16_t i = 0; i < module->error_count; i++) {
    json_write_object(w);
    text_member(w, "name", module->errors[i].name);
    key(w, "status");
    json_write_int(w, module->errors[i].status);
    key(w, "params");
    write_fields(&module->schema.types, module->errors[i].field_count, module->errors[i].fields, w);
    json_write_object_end(w);
  }
  json_write_array_end(w);
}

static void write_page(const PageDef *page, JsonWriter *w) {
  json_write_object(w);
  text_member(w, "name", page->name);
  text_member(w, "title", page->title);
  key(w, "items");
  json_write_array(w);
  for (uint16_t i = 0; i < page->item_count; i++) {
    json_write_object(w);
    text_member(w, "word", page->items[i].word);
    key(w, "targets");
    json_write_array(w);
    for (uint16_t t = 0; t < page->items[i].target_count; t++) json_write_text(w, page->items[i].targets[t]);
    json_write_array_end(w);
    write_hints(&page->items[i].hints, w);
    json_write_object_end(w);
  }
  json_write_array_end(w);
  write_hints(&page->hints, w);
  json_write_object_end(w);
}

static void write_roles_and_pages(const Module *module, JsonWriter *w) {
  key(w, "roles");
  json_write_array(w);
  for (uint16_t i = 0; i < module->role_count; i++) json_write_text(w, module->roles[i].name);
  json_write_array_end(w);
  key(w, "pages");
  json_write_array(w);
  for (uint16_t i = 0; i < module->page_count; i++) write_page(&module->pages[i], w);
  json_write_array_end(w);
}

static void hash_member(JsonWriter *w, const char *name, const uint8_t bytes[HASH_BYTES]) {
  Hash hash;
  char hex[HASH_HEX_BYTES];
  memcpy(hash.bytes, bytes, sizeof hash.bytes);
  hash_hex(&hash, hex);
  text_member(w, name, str_from(hex));
}

void describe_app(const Module *module, Buf *out) {
  JsonWriter w = json_writer(out);
  json_write_object(&w);
  text_member(&w, "name", module->name);
  text_member(&w, "title", module->title);
  hash_member(&w, "hash", module->hash);
  hash_member(&w, "schema_hash", module->schema_hash);
  write_types(module, &w);
  write_entries(module, "inputs", ENTRY_INPUT, &w);
  write_entries(module, "views", ENTRY_VIEW, &w);
  write_errors(module, &w);
  write_roles_and_pages(module, &w);
  write_hints(&module->hints, &w);
  json_write_object_end(&w);
}
