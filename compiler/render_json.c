// Diagnostics for programs: rustc's JSON, which many editors read already, and SARIF 2.1.0 (OASIS), which code hosts read.
#include "compiler/render.h"
#include "runtime/base/json.h"
#include "runtime/base/utf8.h"

static void add_text_member(JsonWriter *writer, const char *name, Str text) {
  json_write_key(writer, str_from(name));
  json_write_text(writer, text);
}
static void add_int_member(JsonWriter *writer, const char *name, uint32_t number) {
  json_write_key(writer, str_from(name));
  json_write_int(writer, number);
}
static void add_null_member(JsonWriter *writer, const char *name) {
  json_write_key(writer, str_from(name));
  json_write_null(writer);
}

// File names are bytes; JSON is text.
static void add_name_member(JsonWriter *writer, const char *name, Str path) {
  Buf shown;
  buf_init(&shown, 0);
  if (!utf8_valid(path)) render__visible(&shown, path);
  add_text_member(writer, name, shown.len ? buf_str(&shown) : path);
  buf_free(&shown);
}

static Str level_of(const Diag *diag) { return diag->severity == SEVERITY_ERROR ? STR("error") : STR("warning"); }

// ---- rustc's shape ------------------------------------------------------------------------

static void add_span_text(JsonWriter *writer, const Region *region) {
  json_write_key(writer, STR("text"));
  json_write_array(writer);
  if (region->lines) {
    Str line = lines_text(region->lines, region->start.line);
    uint32_t end = region->end.line == region->start.line ? region->end.column : (uint32_t)utf8_count(line) + 1;
    enum { SHOWN_BYTES_MAX = 1000 };
    json_write_object(writer);
    add_text_member(writer, "text", str_part(line, 0, utf8_cut(line, SHOWN_BYTES_MAX)));
    add_int_member(writer, "highlight_start", region->start.column);
    add_int_member(writer, "highlight_end", end);
    json_write_object_end(writer);
  }
  json_write_array_end(writer);
}

typedef struct SpanFacts { bool is_primary; Str label, replacement; } SpanFacts;  // ptr NULL: null

static void add_span(Render *r, JsonWriter *writer, Span span, SpanFacts facts) {
  Region region = render__region(r, span);
  json_write_object(writer);
  add_name_member(writer, "file_name", region.name);
  add_int_member(writer, "byte_start", region.byte_start);
  add_int_member(writer, "byte_end", region.byte_end);
  add_int_member(writer, "line_start", region.start.line);
  add_int_member(writer, "line_end", region.end.line);
  add_int_member(writer, "column_start", region.start.column);
  add_int_member(writer, "column_end", region.end.column);
  json_write_key(writer, STR("is_primary"));
  json_write_bool(writer, facts.is_primary);
  add_span_text(writer, &region);
  if (facts.label.ptr) add_text_member(writer, "label", facts.label);
  else add_null_member(writer, "label");
  if (facts.replacement.ptr) add_text_member(writer, "suggested_replacement", facts.replacement);
  else add_null_member(writer, "suggested_replacement");
  if (facts.replacement.ptr) add_text_member(writer, "suggestion_applicability", STR("MaybeIncorrect"));
  else add_null_member(writer, "suggestion_applicability");
  add_null_member(writer, "expansion");
  json_write_object_end(writer);
}

// A note or help without a span, or a fix with one.
static void add_child(Render *r, JsonWriter *writer, Str level, Str message, const Diag *fix) {
  json_write_object(writer);
  add_text_member(writer, "message", message);
  add_null_member(writer, "code");
  add_text_member(writer, "level", level);
  json_write_key(writer, STR("spans"));
  json_write_array(writer);
  if (fix) add_span(r, writer, fix->fix_span, (SpanFacts){true, {NULL, 0}, fix->fix_text});
  json_write_array_end(writer);
  json_write_key(writer, STR("children"));
  json_write_array(writer);
  json_write_array_end(writer);
  add_null_member(writer, "rendered");
  json_write_object_end(writer);
}

static void add_rendered(Render *r, JsonWriter *writer, const Diag *diag) {
  Buf text;
  buf_init(&text, 0);
  Render plain = {.diags = r->diags, .sources = r->sources, .out = &text};
  arena_init(&plain.arena, 0);
  render__human(&plain, diag);
  add_text_member(writer, "rendered", buf_str(&text));
  r->out->failed |= text.failed;
  arena_free(&plain.arena);
  buf_free(&text);
}

void render__json(Render *r, const Diag *diag) {
  JsonWriter writer = json_writer(r->out);
  json_write_object(&writer);
  add_text_member(&writer, "message", diag->message);
  json_write_key(&writer, STR("code"));
  json_write_object(&writer);
  add_text_member(&writer, "code", str_from(diag_code_name(diag->code)));
  add_text_member(&writer, "explanation", str_from(diag_explanation(diag->code)));
  json_write_object_end(&writer);
  add_text_member(&writer, "level", level_of(diag));
  json_write_key(&writer, STR("spans"));
  json_write_array(&writer);
  add_span(r, &writer, diag->span, (SpanFacts){.is_primary = true});
  for (uint32_t i = 0; i < diag->label_count; i++) add_span(r, &writer, diag->labels[i].span, (SpanFacts){false, diag->labels[i].text, {NULL, 0}});
  json_write_array_end(&writer);
  json_write_key(&writer, STR("children"));
  json_write_array(&writer);
  if (diag->note.len) add_child(r, &writer, STR("note"), diag->note, NULL);
  if (diag->help.len) add_child(r, &writer, STR("help"), diag->help, NULL);
  if (diag->has_fix) add_child(r, &writer, STR("help"), STR("replace"), diag);
  json_write_array_end(&writer);
  add_rendered(r, &writer, diag);
  json_write_object_end(&writer);
  buf_add_char(r->out, '\n');
}

// ---- SARIF --------------------------------------------------------------------------------

static void add_message(JsonWriter *writer, const char *name, Str text) {
  json_write_key(writer, str_from(name));
  json_write_object(writer);
  add_text_member(writer, "text", text);
  json_write_object_end(writer);
}

static void add_region(JsonWriter *writer, const char *name, const Region *region) {
  json_write_key(writer, str_from(name));
  json_write_object(writer);
  add_int_member(writer, "startLine", region->start.line);
  add_int_member(writer, "startColumn", region->start.column);
  add_int_member(writer, "endLine", region->end.line);
  add_int_member(writer, "endColumn", region->end.column);
  json_write_object_end(writer);
}

static void add_artifact(JsonWriter *writer, Str name) {
  json_write_key(writer, STR("artifactLocation"));
  json_write_object(writer);
  add_name_member(writer, "uri", name);
  json_write_object_end(writer);
}

static void add_location(Render *r, JsonWriter *writer, Span span, Str message) {
  Region region = render__region(r, span);
  json_write_object(writer);
  json_write_key(writer, STR("physicalLocation"));
  json_write_object(writer);
  add_artifact(writer, region.name);
  add_region(writer, "region", &region);
  json_write_object_end(writer);
  if (message.ptr) add_message(writer, "message", message);
  json_write_object_end(writer);
}

static void add_sarif_fix(Render *r, JsonWriter *writer, const Diag *diag) {
  Region region = render__region(r, diag->fix_span);
  json_write_key(writer, STR("fixes"));
  json_write_array(writer);
  json_write_object(writer);
  json_write_key(writer, STR("artifactChanges"));
  json_write_array(writer);
  json_write_object(writer);
  add_artifact(writer, region.name);
  json_write_key(writer, STR("replacements"));
  json_write_array(writer);
  json_write_object(writer);
  add_region(writer, "deletedRegion", &region);
  add_message(writer, "insertedContent", diag->fix_text);
  json_write_object_end(writer);
  json_write_array_end(writer);
  json_write_object_end(writer);
  json_write_array_end(writer);
  json_write_object_end(writer);
  json_write_array_end(writer);
}

static void add_result(Render *r, JsonWriter *writer, const Diag *diag) {
  json_write_object(writer);
  add_text_member(writer, "ruleId", str_from(diag_code_name(diag->code)));
  add_text_member(writer, "level", level_of(diag));
  Str message = diag->message;
  if (diag->help.len) message = arena_format(&r->arena, STR_FMT ". " STR_FMT, STR_ARG(diag->message), STR_ARG(diag->help));
  add_message(writer, "message", message.ptr ? message : diag->message);
  json_write_key(writer, STR("locations"));
  json_write_array(writer);
  add_location(r, writer, diag->span, (Str){NULL, 0});
  json_write_array_end(writer);
  json_write_key(writer, STR("relatedLocations"));
  json_write_array(writer);
  for (uint32_t i = 0; i < diag->label_count; i++) add_location(r, writer, diag->labels[i].span, diag->labels[i].text);
  json_write_array_end(writer);
  if (diag->has_fix) add_sarif_fix(r, writer, diag);
  json_write_object_end(writer);
}

static void add_rules(Render *r, JsonWriter *writer) {
  bool is_used[DIAG_CODE_COUNT] = {false};
  for (uint32_t i = 0; i < r->diags->count; i++) is_used[r->diags->items[i]->code] = true;
  json_write_key(writer, STR("rules"));
  json_write_array(writer);
  for (size_t code = 0; code < DIAG_CODE_COUNT; code++) {
    if (!is_used[code]) continue;
    json_write_object(writer);
    add_text_member(writer, "id", str_from(diag_code_name((DiagCode)code)));
    add_message(writer, "shortDescription", str_from(diag_title((DiagCode)code)));
    add_message(writer, "fullDescription", str_from(diag_explanation((DiagCode)code)));
    json_write_object_end(writer);
  }
  json_write_array_end(writer);
}

void render__sarif(Render *r) {
  JsonWriter writer = json_writer(r->out);
  json_write_object(&writer);
  add_text_member(&writer, "$schema", STR("https://json.schemastore.org/sarif-2.1.0.json"));
  add_text_member(&writer, "version", STR("2.1.0"));
  json_write_key(&writer, STR("runs"));
  json_write_array(&writer);
  json_write_object(&writer);
  json_write_key(&writer, STR("tool"));
  json_write_object(&writer);
  json_write_key(&writer, STR("driver"));
  json_write_object(&writer);
  add_text_member(&writer, "name", STR("aup"));
  add_text_member(&writer, "version", STR(AUP_VERSION));
  add_rules(r, &writer);
  json_write_object_end(&writer);
  json_write_object_end(&writer);
  add_text_member(&writer, "columnKind", STR("unicodeCodePoints"));
  json_write_key(&writer, STR("results"));
  json_write_array(&writer);
  for (uint32_t i = 0; i < r->diags->count; i++) add_result(r, &writer, r->diags->items[i]);
  json_write_array_end(&writer);
  json_write_object_end(&writer);
  json_write_array_end(&writer);
  json_write_object_end(&writer);
  buf_add_char(r->out, '\n');
}
