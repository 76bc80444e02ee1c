// The plain page at /. It is written out on the server: a list of views with their values and of inputs with a form each, so
// that it can be read without scripts; one short script keeps the values fresh and sends the forms. A browser allows
// six connections to one origin, so only the first PAGE_LIVE_VIEWS_MAX views are live; the page marks them and says why.
#include "runtime/serve/describe.h"

enum { PAGE_LIVE_VIEWS_MAX = 4 };

static void add_escaped(Buf *out, Str text) {
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    if (c == '&') buf_add_text(out, "&amp;");
    else if (c == '<') buf_add_text(out, "&lt;");
    else if (c == '>') buf_add_text(out, "&gt;");
    else if (c == '"') buf_add_text(out, "&quot;");
    else if (c == '\'') buf_add_text(out, "&#39;");
    else buf_add_char(out, c);
  }
}

static const char HEAD[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>";
static const char STYLE[] =
    "</title><style>"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}"
    "h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}section{border-top:1px solid #ddd;padding:.7rem 0}"
    "h3{font-size:1rem;margin:0}p{margin:.2rem 0;color:#666}pre{background:#f5f5f4;padding:.5rem;overflow:auto;margin:.4rem 0}"
    "label{display:inline-block;margin:.2rem .8rem .2rem 0}input{font:inherit;padding:.2rem .4rem;width:12rem}"
    "button{font:inherit;padding:.2rem .8rem}.bad{color:#b00020}.live::after{content:\" \\2022  live\";color:#2a7d46;font-size:.8rem}"
    "</style></head><body>\n";
// Values are laid out as the text they came as, since JSON.parse would lose digits of decimals and large ints.
static const char SCRIPT[] =
    "<script>\n"
    "function layOut(json) {\n"
    "  let out = '', depth = 0, inText = false\n"
    "  const line = () => '\\n' + ' '.repeat(depth)\n"
    "  for (let i = 0; i < json.length; i++) {\n"
    "    const c = json[i]\n"
    "    if (inText) { out += c; if (c === '\\\\') out += json[++i]; else if (c === '\"') inText = false }\n"
    "    else if (c === '\"') { inText = true; out += c }\n"
    "    else if (c === '{' || c === '[') {\n"
    "      if (json[i + 1] === '}' || json[i + 1] === ']') out += c + json[++i]\n"
    "      else { depth++; out += c + line() }\n"
    "    } else if (c === '}' || c === ']') { depth--; out += line() + c }\n"
    "    else out += c === ',' ? ',' + line() : c === ':' ? ': ' : c\n"
    "  }\n"
    "  return out\n"
    "}\n"
    "function isJson(text) { try { JSON.parse(text); return true } catch { return false } }\n"
    "for (const p of document.querySelectorAll('pre[data-view]')) {\n"
    "  const url = 'views/' + p.dataset.view, show = t => { p.textContent = layOut(t) }\n"
    "  if (p.dataset.live) new EventSource(url).onmessage = e => show(e.data)\n"
    "  else fetch(url).then(r => r.text()).then(show)\n"
    "}\n"
    "for (const f of document.forms) f.onsubmit = async e => {\n"
    "  e.preventDefault()\n"
    "  const members = [], said = f.querySelector('output')\n"
    "  for (const i of f.querySelectorAll('input')) if (i.value !== '') {\n"
    "    const raw = i.dataset.kind === 'json' && isJson(i.value)\n"
    "    members.push(JSON.stringify(i.name) + ':' + (raw ? i.value : JSON.stringify(i.value)))\n"
    "  }\n"
    "  const r = await fetch('inputs/' + f.dataset.input, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{' + members.join(',') + '}' })\n"
    "  const t = await r.text(), problem = r.ok ? null : JSON.parse(t)\n"
    "  said.className = r.ok ? '' : 'bad'\n"
    "  said.textContent = r.ok ? (t || 'done') : (problem.errors ? problem.errors.map(x => x.field + ' ' + x.detail).join('; ') : problem.detail)\n"
    "}\n"
    "</script>\n";

static void add_title(const EntryDef *entry, bool live, Buf *out) {
  buf_add_text(out, live ? "<h3 class=\"live\">" : "<h3>");
  add_escaped(out, entry->name);
  buf_add_text(out, "</h3>");
  if (!entry->hints.doc.len) return;
  buf_add_text(out, "<p>");
  add_escaped(out, entry->hints.doc);
  buf_add_text(out, "</p>");
}

static bool is_required(const Module *module, const ParamDef *param) {
  return param->default_function == NO_FUNCTION && type_kind(&module->schema.types, param->type) != TYPE_OPTIONAL;
}

static bool needs_arguments(const Module *module, const EntryDef *entry) {
  for (uint16_t i = 0; i < entry->param_count; i++) {
    if (is_required(module, &entry->params[i])) return true;
  }
  return false;
}

static void add_view(const Module *module, const EntryDef *entry, uint32_t *live_count, Buf *out) {
  bool shown = !needs_arguments(module, entry);
  bool live = shown && *live_count < PAGE_LIVE_VIEWS_MAX;
  *live_count += live;
  buf_add_text(out, "<section>");
  add_title(entry, live, out);
  buf_add_text(out, "<p><a href=\"views/");
  add_escaped(out, entry->name);
  buf_add_text(out, "\">views/");
  add_escaped(out, entry->name);
  buf_add_text(out, "</a>");
  for (uint16_t i = 0; i < entry->param_count; i++) {
    buf_add_text(out, i ? "&amp;" : "?");
    add_escaped(out, entry->params[i].name);
    buf_add_text(out, "=…");
  }
  buf_add_text(out, "</p>");
  if (shown) {
    buf_add_text(out, "<pre data-view=\"");
    add_escaped(out, entry->name);
    buf_add_text(out, live ? "\" data-live=\"1\"></pre>" : "\"></pre>");
  }
  buf_add_text(out, "</section>\n");
}

// Lists, records and the like are typed as JSON; the rest as it is.
static bool is_json_kind(const TypeTable *types, TypeId type) {
  TypeKind kind = type_kind(types, type);
  if (kind == TYPE_OPTIONAL) return is_json_kind(types, types->types[type].of);
  return kind == TYPE_LIST || kind == TYPE_SET || kind == TYPE_MAP || kind == TYPE_RECORD || kind == TYPE_BOOL || kind == TYPE_FLOAT || kind == TYPE_REF;
}

static void add_field(const Module *module, const ParamDef *param, Buf *out) {
  Buf type;
  buf_init(&type, 0);
  type_write(&module->schema.types, param->type, &type);
  buf_add_text(out, "<label>");
  add_escaped(out, param->name);
  buf_add_text(out, " <input name=\"");
  add_escaped(out, param->name);
  buf_add_text(out, "\" placeholder=\"");
  add_escaped(out, buf_str(&type));
  buf_add_text(out, is_json_kind(&module->schema.types, param->type) ? "\" data-kind=\"json\"" : "\"");
  buf_add_text(out, is_required(module, param) ? " required></label>" : "></label>");
  buf_free(&type);
}

static void add_input(const Module *module, const EntryDef *entry, Buf *out) {
  buf_add_text(out, "<section><form data-input=\"");
  add_escaped(out, entry->name);
  buf_add_text(out, "\">");
  add_title(entry, false, out);
  for (uint16_t i = 0; i < entry->param_count; i++) add_field(module, &entry->params[i], out);
  buf_add_text(out, "<button>");
  add_escaped(out, entry->name);
  buf_add_text(out, "</button> <output></output></form></section>\n");
}

void describe_page(const Module *module, Buf *out) {
  Str title = module->title.len ? module->title : module->name;
  uint32_t live_count = 0;
  buf_add_text(out, HEAD);
  add_escaped(out, title);
  buf_add_text(out, STYLE);
  buf_add_text(out, "<h1>");
  add_escaped(out, title);
  buf_add_text(out, "</h1><h2>Views</h2>\n");
  for (uint16_t i = 0; i < module->entry_count; i++) {
    if (module->entries[i].kind == ENTRY_VIEW) add_view(module, &module->entries[i], &live_count, out);
  }
  buf_add_text(out, "<h2>Inputs</h2>\n");
  for (uint16_t i = 0; i < module->entry_count; i++) {
    if (module->entries[i].kind == ENTRY_INPUT) add_input(module, &module->entries[i], out);
  }
  buf_add_format(out, "<p>At most %d views are live here, since a browser opens few streams to one place; reload for the others.</p>\n", PAGE_LIVE_VIEWS_MAX);
  buf_add_text(out, "<p>The whole description: <a href=\"app\">app</a></p>\n");
  buf_add_text(out, SCRIPT);
  buf_add_text(out, "</body></html>\n");
}
