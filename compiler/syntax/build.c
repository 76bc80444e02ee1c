// The grammar's actions for names, types, fields and declarations, and the scratch stack on which lists grow.
#include "compiler/syntax/build.h"

#include <assert.h>
#include <utf8proc.h>

#include "runtime/base/mem.h"

// ---- lists --------------------------------------------------------------------------------

List build__list(Parser *p) { return (List){(uint32_t)p->scratch_len, 0}; }

List build__push(Parser *p, List list, const void *item, size_t size) {
  size_t at = list.start + list.count * size, end = at + size;
  assert(at <= p->scratch_len || p->diags->failed);
  if (end > p->scratch_room) {
    size_t room = end * 2 < 1024 ? 1024 : end * 2;
    char *grown = mem_realloc(p->scratch, room);
    if (!grown) { p->diags->failed = true; return list; }
    p->scratch = grown;
    p->scratch_room = room;
  }
  memcpy(p->scratch + at, item, size);
  p->scratch_len = end;
  return (List){list.start, list.count + 1};
}

void *build__finish(Parser *p, List list, size_t size) {
  p->scratch_len = list.start;
  if (!list.count) return NULL;
  void *items = arena_alloc(p->arena, list.count * size);
  if (items) memcpy(items, p->scratch + list.start, list.count * size);
  else p->diags->failed = true;
  return items;
}

// Memory for a list whose length is known. NULL when count is 0 or there is none.
static void *new_items(Parser *p, uint32_t count, size_t size) {
  if (!count) return NULL;
  void *items = arena_alloc_zero(p->arena, count, size);
  if (!items) p->diags->failed = true;
  return items;
}
#define NEW_ITEMS(T, count) ((T##List){new_items(p, (count), sizeof(*((T##List *)0)->items)), 0})
// Adds to a list from NEW_ITEMS; without memory nothing.
#define ADD(list, item) do { if ((list).items) (list).items[(list).count++] = (item); } while (0)

void *build__node(Parser *p, size_t size) {
  void *node = arena_alloc_zero(p->arena, 1, size);
  if (!node) p->diags->failed = true;
  return node;
}

// ---- names and small parts ----------------------------------------------------------------

// Names are equal when they are equal in NFC, so that one typed on another keyboard is the same name.
static Str normalize(Parser *p, Str text) {
  bool is_ascii = true;
  for (size_t i = 0; i < text.len; i++) is_ascii &= (uint8_t)text.ptr[i] < 0x80;
  if (is_ascii || intern_find(&p->ast->names, text)) return text;
  enum { ROOM = NAME_BYTES_MAX * 4 };
  utf8proc_int32_t points[ROOM];
  utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
  utf8proc_ssize_t count = utf8proc_decompose((const utf8proc_uint8_t *)text.ptr, (utf8proc_ssize_t)text.len, points, ROOM - 1, options);
  if (count < 0 || count >= ROOM) return text;  // longer than a name may be: reported by the scanner
  utf8proc_ssize_t len = utf8proc_reencode(points, count, options);
  Str composed = len < 0 ? text : (Str){(const char *)points, (size_t)len};
  return str_equal(composed, text) ? text : arena_copy(p->arena, composed);
}

static Sym intern_span(Parser *p, Span span) {
  Str text = normalize(p, source_text(p->source, span));
  Sym sym = text.ptr ? intern_add(&p->ast->names, text) : 0;
  if (!sym) p->diags->failed = true;
  return sym;
}

Name build__name(Parser *p, Token token) {
  if (!token.kind) return (Name){0};
  return (Name){intern_span(p, token_span(token)), token_span(token), 0};
}

Name build__def(Parser *p, Token token) {
  Name name = build__name(p, token);
  if (token.kind) name.id = ++p->ast->def_count;
  return name;
}

NameList build__defs(Parser *p, List names) {
  NameList list = FINISH(Name, names);
  for (uint32_t i = 0; list.items && i < list.count; i++) list.items[i].id = ++p->ast->def_count;
  return list;
}

Span build__since(const Parser *p, uint32_t start) { return (Span){start, p->last_end > start ? p->last_end : start}; }

Annot build__annot(Parser *p, Token name, ArgList args) {
  Token word = name;
  word.start++;  // without the @
  return (Annot){build__name(p, word), args, build__since(p, name.start)};
}

ErrorUse *build__error(Parser *p, Expr *text, Token name, ArgList args) {
  ErrorUse *error = build__node(p, sizeof *error);
  if (!error) return NULL;
  uint32_t start = text ? text->span.start : name.start;
  *error = (ErrorUse){text, build__name(p, name), args, build__since(p, start)};
  return error;
}

StmtBlock build__block(Parser *p, Token open, List stmts) {
  StmtList list = FINISH(Stmt, stmts);
  return (StmtBlock){list, build__since(p, open.start)};
}

StmtBlock *build__block_copy(Parser *p, StmtBlock block) {
  StmtBlock *copy = build__node(p, sizeof *copy);
  if (copy) *copy = block;
  return copy;
}

// ---- documentation ------------------------------------------------------------------------

// The next line of the doc, without its slashes; false at the end. Other lines in between are passed over.
static bool next_doc_line(Str *rest, Str *out_line) {
  while (rest->len) {
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    Str line = str_part(*rest, 0, len);
    *rest = str_part(*rest, end ? len + 1 : len, rest->len);
    while (line.len && (*line.ptr == ' ' || *line.ptr == '\t')) line = str_part(line, 1, line.len);
    while (line.len && (line.ptr[line.len - 1] == '\r' || line.ptr[line.len - 1] == ' ')) line.len--;
    if (!str_starts(line, STR("///"))) continue;
    *out_line = str_part(line, str_starts(line, STR("/// ")) ? 4 : 3, line.len);
    return true;
  }
  return false;
}

static bool is_example(Str line) { return str_starts(line, STR("> ")); }

const Doc *build__doc(Parser *p, uint32_t start) {
  const DocLines *lines = lexer_doc(&p->lexer, start);
  if (!lines) return NULL;
  Doc *doc = build__node(p, sizeof *doc);
  Str rest = source_text(p->source, lines->span), line;
  char *text = arena_alloc(p->arena, rest.len + 1);
  if (!doc || !text) { p->diags->failed = true; return NULL; }
  uint32_t examples = 0;
  doc->span = lines->span;
  doc->text.ptr = text;
  while (next_doc_line(&rest, &line)) {
    if (is_example(line)) { examples++; continue; }
    if (doc->text.len) text[doc->text.len++] = '\n';
    memcpy(text + doc->text.len, line.ptr, line.len);
    doc->text.len += line.len;
  }
  doc->examples = NEW_ITEMS(Expr, examples);
  rest = source_text(p->source, lines->span);
  while (examples && next_doc_line(&rest, &line)) {
    if (!is_example(line)) continue;
    uint32_t from = p->source->base + (uint32_t)(line.ptr - p->source->text.ptr) + 2;
    Expr *example = parser__example(p, (Span){from, from + (uint32_t)line.len - 2});
    if (example) ADD(doc->examples, example);
  }
  return doc;
}

// ---- types --------------------------------------------------------------------------------

TypeExpr *build__type(Parser *p, TypeExprKind kind, uint32_t start) {
  TypeExpr *type = build__node(p, sizeof *type);
  if (!type) return NULL;
  type->kind = kind;
  type->span = build__since(p, start);
  return type;
}

TypeExpr *build__type_name(Parser *p, Token name, List args) {
  TypeExprList list = FINISH(TypeExpr, args);
  TypeExpr *type = build__type(p, TYPE_EXPR_NAME, name.start);
  if (!type) return NULL;
  type->named.name = build__name(p, name);
  type->named.args = list;
  return type;
}

TypeExpr *build__type_number(Parser *p, Token number) {
  Expr *literal = build__literal(p, number);
  TypeExpr *type = build__type(p, TYPE_EXPR_NUMBER, number.start);
  if (type && literal) type->number = literal->number;
  return type;
}

// ---- what stands behind names and types ---------------------------------------------------

static List push_suffix(Parser *p, List suffixes, Suffix suffix) { return PUSH(suffixes, suffix); }

List build__mod(Parser *p, List suffixes, ModKind kind, Token first, Expr *value) {
  Mod mod = {.kind = kind, .span = build__since(p, first.start), .value = value};
  return push_suffix(p, suffixes, (Suffix){.kind = SUFFIX_MOD, .mod = mod});
}

List build__mod_was(Parser *p, List suffixes, Token first, Token name) {
  Mod mod = {.kind = MOD_WAS, .span = build__since(p, first.start), .name = build__name(p, name)};
  return push_suffix(p, suffixes, (Suffix){.kind = SUFFIX_MOD, .mod = mod});
}

List build__mod_on_delete(Parser *p, List suffixes, Token first, DeleteRule what) {
  Mod mod = {.kind = MOD_ON_DELETE, .on_delete = what, .span = build__since(p, first.start)};
  return push_suffix(p, suffixes, (Suffix){.kind = SUFFIX_MOD, .mod = mod});
}

List build__suffix(Parser *p, List suffixes, SuffixKind kind, Token first, Expr *value) {
  return push_suffix(p, suffixes, (Suffix){.kind = kind, .span = build__since(p, first.start), .value = value});
}

List build__suffix_name(Parser *p, List suffixes, SuffixKind kind, Token first, Token name) {
  return push_suffix(p, suffixes, (Suffix){.kind = kind, .span = build__since(p, first.start), .name = build__name(p, name)});
}

List build__suffix_names(Parser *p, List suffixes, SuffixKind kind, Token first, List names) {
  NameList list = FINISH(Name, names);
  Span span = build__since(p, first.start);
  for (uint32_t i = 0; list.items && i < list.count; i++)
    suffixes = push_suffix(p, suffixes, (Suffix){.kind = kind, .span = span, .name = list.items[i]});
  return suffixes;
}

List build__suffix_annot(Parser *p, List suffixes, Annot annot) {
  return push_suffix(p, suffixes, (Suffix){.kind = SUFFIX_ANNOT, .annot = annot});
}

// The suffixes leave the scratch stack; they stay readable until something else is pushed.
static const Suffix *take_suffixes(Parser *p, List list) {
  p->scratch_len = list.start;
  return list.count ? (const Suffix *)(const void *)(p->scratch + list.start) : NULL;
}

static uint32_t count_kind(const Suffix *suffixes, uint32_t count, SuffixKind kind) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) found += suffixes[i].kind == kind;
  return found;
}

Suffixes build__suffixes(Parser *p, List list) {
  const Suffix *suffixes = take_suffixes(p, list);
  Suffixes sorted = {NEW_ITEMS(Mod, count_kind(suffixes, list.count, SUFFIX_MOD)), NEW_ITEMS(Annot, count_kind(suffixes, list.count, SUFFIX_ANNOT))};
  for (uint32_t i = 0; i < list.count; i++) {
    if (suffixes[i].kind == SUFFIX_MOD) ADD(sorted.mods, suffixes[i].mod);
    else ADD(sorted.annots, suffixes[i].annot);
  }
  return sorted;
}

Suffixes build__join(Parser *p, Suffixes before, Suffixes after) {
  if (!before.mods.count && !before.annots.count) return after;
  Suffixes both = {NEW_ITEMS(Mod, before.mods.count + after.mods.count), NEW_ITEMS(Annot, before.annots.count + after.annots.count)};
  for (uint32_t i = 0; i < before.mods.count; i++) ADD(both.mods, before.mods.items[i]);
  for (uint32_t i = 0; i < after.mods.count; i++) ADD(both.mods, after.mods.items[i]);
  for (uint32_t i = 0; i < before.annots.count; i++) ADD(both.annots, before.annots.items[i]);
  for (uint32_t i = 0; i < after.annots.count; i++) ADD(both.annots, after.annots.items[i]);
  return both;
}

// `every`, `paged`, `max`: each once.
static void set_once(Parser *p, Expr **place, const Suffix *suffix, const char *word) {
  if (*place) diag_add(p->diags, DIAG_E001, suffix->span, "`%s` is said twice here", word);
  *place = suffix->value;
}

static void sort_suffix(Parser *p, Header *header, const Suffix *suffix) {
  switch (suffix->kind) {
    case SUFFIX_FOR:
      ADD(header->roles, suffix->name);
      header->for_span = suffix->span;
      break;
    case SUFFIX_WAS: ADD(header->was, suffix->name); break;
    case SUFFIX_ANNOT: ADD(header->annots, suffix->annot); break;
    case SUFFIX_PAGED: set_once(p, &header->paged, suffix, "paged"); break;
    case SUFFIX_EVERY: set_once(p, &header->every, suffix, "every"); break;
    case SUFFIX_MAX: set_once(p, &header->max, suffix, "max"); break;
    case SUFFIX_MOD: assert(!"headers have no field words"); break;
  }
}

Header *build__header(Parser *p, List list) {
  const Suffix *suffixes = take_suffixes(p, list);
  Header *header = build__node(p, sizeof *header);
  if (!header) return NULL;
  header->roles = NEW_ITEMS(Name, count_kind(suffixes, list.count, SUFFIX_FOR));
  header->was = NEW_ITEMS(Name, count_kind(suffixes, list.count, SUFFIX_WAS));
  header->annots = NEW_ITEMS(Annot, count_kind(suffixes, list.count, SUFFIX_ANNOT));
  for (uint32_t i = 0; i < list.count; i++) sort_suffix(p, header, &suffixes[i]);
  return header;
}

// ---- fields and what else stands in a body ------------------------------------------------

Field build__field(Parser *p, Token name, TypeExpr *type, Expr *initial, Suffixes suffixes) {
  return (Field){build__def(p, name), type, initial, suffixes.mods, suffixes.annots, build__doc(p, name.start), build__since(p, name.start)};
}

List build__entry_field(Parser *p, List entries, Field field) {
  Entry entry = {.kind = ENTRY_FIELD, .field = field};
  return PUSH(entries, entry);
}

TableItem build__item(Parser *p, TableItemKind kind, Token first) {
  return (TableItem){.kind = kind, .span = build__since(p, first.start), .doc = build__doc(p, first.start)};
}

List build__entry_item(Parser *p, List entries, TableItem item) {
  Entry entry = {.kind = ENTRY_ITEM, .item = item};
  return PUSH(entries, entry);
}

List build__entry_case(Parser *p, List entries, Token name, List params, List suffixes) {
  Header *header = build__header(p, suffixes);
  FieldList fields = FINISH(Field, params);
  if (!header) return entries;
  Entry entry = {.kind = ENTRY_CASE, .a_case = {build__def(p, name), fields, header->was, header->annots, build__doc(p, name.start), build__since(p, name.start)}};
  return PUSH(entries, entry);
}

List build__push_names(Parser *p, List entries, List names) {
  NameList list = FINISH(Name, names);
  for (uint32_t i = 0; list.items && i < list.count; i++) {
    Entry entry = {.kind = ENTRY_DROP, .name = list.items[i]};
    entries = PUSH(entries, entry);
  }
  return entries;
}

typedef struct Body { FieldList fields; TableItemList items; CaseList cases; NameList drops; } Body;

static Body sort_entries(Parser *p, List list) {
  p->scratch_len = list.start;
  const Entry *entries = (const Entry *)(const void *)(p->scratch + list.start);
  uint32_t counts[4] = {0};
  for (uint32_t i = 0; i < list.count; i++) counts[entries[i].kind]++;
  Body body = {NEW_ITEMS(Field, counts[ENTRY_FIELD]), NEW_ITEMS(TableItem, counts[ENTRY_ITEM]), NEW_ITEMS(Case, counts[ENTRY_CASE]), NEW_ITEMS(Name, counts[ENTRY_DROP])};
  for (uint32_t i = 0; i < list.count; i++) {
    switch (entries[i].kind) {
      case ENTRY_FIELD: ADD(body.fields, entries[i].field); break;
      case ENTRY_ITEM: ADD(body.items, entries[i].item); break;
      case ENTRY_CASE: ADD(body.cases, entries[i].a_case); break;
      case ENTRY_DROP: ADD(body.drops, entries[i].name); break;
    }
  }
  return body;
}

TypeExpr *build__type_record(Parser *p, Token open, List entries) {
  Body body = sort_entries(p, entries);
  TypeExpr *type = build__type(p, TYPE_EXPR_RECORD, open.start);
  if (type) type->fields = body.fields;
  return type;
}

// ---- declarations -------------------------------------------------------------------------

// Which declarations a word of the header fits. The grammar takes them all after any name, so that one that does not fit
// gets a message of its own.
static void check_header(Parser *p, const Decl *decl) {
  const Header *header = &decl->header;
  bool is_view = decl->kind == DECL_VIEW, is_table = decl->kind == DECL_TABLE;
  bool has_users = is_view || decl->kind == DECL_INPUT || decl->kind == DECL_PAGE;
  Diag *diag;
  if (header->paged && !is_view) {
    diag = diag_add(p->diags, DIAG_E001, header->paged->span, "`paged` belongs to a view");
    diag_help(p->diags, diag, "it says how many rows of a list are sent at once");
  }
  if (header->every && !is_view) {
    diag = diag_add(p->diags, DIAG_E001, header->every->span, "`every` belongs to a view or a timer");
    diag_help(p->diags, diag, "timer name every 5min { … }");
  }
  if (header->max && !is_table) {
    diag = diag_add(p->diags, DIAG_E001, header->max->span, "`max` stands behind the name of a table or the type of a field");
    diag_help(p->diags, diag, "table Room max 1_000 { … }");
  }
  if (!span_is_none(header->for_span) && !has_users) {
    diag = diag_add(p->diags, DIAG_E001, header->for_span, "`for` belongs to an input, a view or a page");
    diag_help(p->diags, diag, "only what a client can ask for has users");
  }
}

Decl *build__decl(Parser *p, DeclKind kind, Token first, Token name, List suffixes) {
  Header *header = build__header(p, suffixes);
  Decl *decl = build__node(p, sizeof *decl);
  if (!decl || !header) return NULL;
  decl->kind = kind;
  decl->span = build__since(p, first.start);
  decl->name = build__def(p, name);
  decl->doc = build__doc(p, first.start);
  decl->header = *header;
  check_header(p, decl);
  return decl;
}

Decl *build__titled(Parser *p, DeclKind kind, Token first, Token title) {
  Expr *text = build__text(p, title);
  Decl *decl = build__decl(p, kind, first, (Token){0}, build__list(p));
  if (decl) decl->title = text;
  return decl;
}

Decl *build__function(Parser *p, DeclKind kind, Token first, Signature signature) {
  Decl *decl = build__decl(p, kind, first, signature.name, signature.suffixes);
  FieldList params = FINISH(Field, signature.params);
  if (!decl) return NULL;
  decl->function.params = params;
  decl->function.result = signature.result;
  return decl;
}

Decl *build__one_field(Parser *p, DeclKind kind, Token first, Field field) {
  Decl *decl = build__decl(p, kind, first, (Token){0}, build__list(p));
  if (!decl) return NULL;
  if (!field.doc) field.doc = decl->doc;  // the line above `state count: int` documents the value
  decl->record.fields = NEW_ITEMS(Field, 1);
  ADD(decl->record.fields, field);
  return decl;
}

Decl *build__record_decl(Parser *p, Token first, Token name, List suffixes, List entries) {
  Body body = sort_entries(p, entries);
  Decl *decl = build__decl(p, DECL_RECORD, first, name, suffixes);
  if (!decl) return NULL;
  decl->record.fields = body.fields;
  decl->record.drops = body.drops;
  return decl;
}

Decl *build__state_decl(Parser *p, Token first, List entries) {
  Decl *decl = build__record_decl(p, first, (Token){0}, build__list(p), entries);
  if (decl) decl->kind = DECL_STATE;
  return decl;
}

Decl *build__table(Parser *p, Token first, Token name, List suffixes, List entries) {
  Body body = sort_entries(p, entries);
  Decl *decl = build__decl(p, DECL_TABLE, first, name, suffixes);
  if (!decl) return NULL;
  decl->table.fields = body.fields;
  decl->table.items = body.items;
  decl->table.drops = body.drops;
  return decl;
}

Decl *build__enum(Parser *p, Token first, Token name, List suffixes, List entries) {
  Body body = sort_entries(p, entries);
  Decl *decl = build__decl(p, DECL_ENUM, first, name, suffixes);
  if (!decl) return NULL;
  decl->enumeration.cases = body.cases;
  decl->enumeration.drops = body.drops;
  return decl;
}

Decl *build__migrate(Parser *p, Token first, TokenPair names, List params, StmtBlock block) {
  FieldList fields = FINISH(Field, params);
  Decl *decl = build__decl(p, DECL_MIGRATE, first, names.first, build__list(p));
  if (!decl) return NULL;
  decl->migrate.target = build__name(p, names.second);
  decl->migrate.params = fields;
  decl->migrate.block = block;
  return decl;
}

PageEntry build__page_item(Parser *p, Token word, List annots) {
  Suffixes suffixes = build__suffixes(p, annots);
  return (PageEntry){.word = build__name(p, word), .annots = suffixes.annots, .span = build__since(p, word.start)};
}

void build__add_decl(Parser *p, Decl *decl) {
  if (decl) p->decls = PUSH(p->decls, decl);
}
