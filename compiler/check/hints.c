// `@hints` and `///` lines, carried into the module as they are: a hint's arguments become a JSON array, names as texts,
// named ones as objects of one member. What is known of a hint is checked: the slots of `@say`.
#include "compiler/check/internal.h"

#include <assert.h>

#include "runtime/base/decimal.h"

const Annot *annot_find(Check *check, const AnnotList *annots, const char *name) {
  for (uint32_t i = 0; i < annots->count; i++)
    if (str_is(sym_str(check, annots->items[i].name.sym), name)) return &annots->items[i];
  return NULL;
}

// ---- as JSON ----------------------------------------------------------------------------------

static void write_text(Buf *out, Str text) {
  buf_add_char(out, '"');
  for (size_t i = 0; i < text.len; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    if (c == '"' || c == '\\') { buf_add_char(out, '\\'); buf_add_char(out, (char)c); }
    else if (c < 0x20) buf_add_format(out, "\\u%04x", c);
    else buf_add_char(out, (char)c);
  }
  buf_add_char(out, '"');
}

static bool write_arg(Check *check, Buf *out, const Expr *value) {
  switch (value->kind) {
    case EXPR_TEXT: write_text(out, value->text); return true;
    case EXPR_NAME: write_text(out, sym_str(check, value->name.sym)); return true;
    case EXPR_INT: case EXPR_DURATION: buf_add_int(out, value->number); return true;
    case EXPR_BOOL: buf_add_text(out, value->number ? "true" : "false"); return true;
    case EXPR_NONE: buf_add_text(out, "null"); return true;
    case EXPR_DECIMAL: {
      char text[DECIMAL_TEXT_BYTES];
      decimal_format(value->decimal.units, value->decimal.scale, text);
      buf_add_text(out, text);
      return true;
    }
    case EXPR_LIST:
      buf_add_char(out, '[');
      for (uint32_t i = 0; i < value->list.count; i++) {
        if (i) buf_add_char(out, ',');
        if (!write_arg(check, out, value->list.items[i])) return false;
      }
      buf_add_char(out, ']');
      return true;
    case EXPR_INTERP:  // `@say("add {title}")`: the slots as they are written
      buf_add_char(out, '"');
      for (uint32_t i = 0; i < value->list.count; i++) {
        const Expr *part = value->list.items[i];
        if (part->kind != EXPR_TEXT && part->kind != EXPR_NAME) return false;
        Buf inner;
        buf_init(&inner, 0);
        write_text(&inner, part->kind == EXPR_TEXT ? part->text : sym_str(check, part->name.sym));
        if (part->kind == EXPR_NAME) buf_add_char(out, '{');
        if (inner.len > 2) buf_add(out, inner.ptr + 1, inner.len - 2);
        if (part->kind == EXPR_NAME) buf_add_char(out, '}');
        buf_free(&inner);
      }
      buf_add_char(out, '"');
      return true;
    case EXPR_DATE: case EXPR_TIME: case EXPR_FIELD: case EXPR_CALL: case EXPR_INDEX: case EXPR_UNARY: case EXPR_BINARY: case EXPR_IF:
    case EXPR_MATCH: case EXPR_QUERY: case EXPR_INSERT: case EXPR_RECORD: break;
  }
  return false;
}

static Str arguments_of(Check *check, const Annot *annot) {
  Buf out;
  buf_init(&out, 0);
  buf_add_char(&out, '[');
  for (uint32_t i = 0; i < annot->args.count; i++) {
    const Arg *arg = &annot->args.items[i];
    if (i) buf_add_char(&out, ',');
    if (arg->name.sym) { buf_add_char(&out, '{'); write_text(&out, sym_str(check, arg->name.sym)); buf_add_char(&out, ':'); }
    if (!write_arg(check, &out, arg->value)) {
      diag_help(check->diags, diag_add(check->diags, DIAG_E312, arg->value->span, "a hint takes texts, numbers, names and lists of them"), "write it out");
      buf_add_text(&out, "null");
    }
    if (arg->name.sym) buf_add_char(&out, '}');
  }
  buf_add_char(&out, ']');
  Str text = arena_copy(check->arena, buf_str(&out));
  if (out.failed || !text.ptr) check->failed = true;
  buf_free(&out);
  return text;
}

// A hint that nobody reads would be lost in silence.
static void know_hint(Check *check, const Annot *annot) {
  static const char *const KNOWN[] = {"label", "help", "unit", "example", "widget", "hidden", "format", "title", "confirm", "danger", "say",
                                      "chart", "zone", "status", "field", "secret", "scan", "kept", "columns", "route"};
  Str name = sym_str(check, annot->name.sym);
  for (size_t i = 0; i < countof(KNOWN); i++)
    if (str_is(name, KNOWN[i])) return;
  near_texts(check, diag_add(check->diags, DIAG_E101, annot->name.span, "there is no hint called `@" STR_FMT "`", STR_ARG(name)), annot->name, KNOWN, countof(KNOWN));
}

Hints hints_of(Check *check, const AnnotList *annots, const Doc *doc) {
  Hints hints = {.doc = doc ? doc->text : STR("")};
  if (!annots || !annots->count) return hints;
  Hint *items = CHECK_ARRAY(check, Hint, annots->count);
  if (!items) return hints;
  for (uint32_t i = 0; i < annots->count; i++) {
    know_hint(check, &annots->items[i]);
    items[i] = (Hint){sym_str(check, annots->items[i].name.sym), arguments_of(check, &annots->items[i])};
  }
  hints.count = (uint16_t)annots->count;
  hints.items = items;
  return hints;
}

// ---- @say -------------------------------------------------------------------------------------

static bool has_slot(const Expr *template, Sym sym) {
  if (template->kind != EXPR_INTERP) return false;
  for (uint32_t i = 0; i < template->list.count; i++)
    if (template->list.items[i]->kind == EXPR_NAME && template->list.items[i]->name.sym == sym) return true;
  return false;
}

static void check_template(Check *check, const Fn *fn, const Expr *template) {
  bool sound = true;
  if (template->kind != EXPR_TEXT && template->kind != EXPR_INTERP) {
    diag_help(check->diags, diag_add(check->diags, DIAG_E312, template->span, "`@say` takes sentences"), "write them in quotes: `@say(\"add {title}\")`");
    return;
  }
  for (uint32_t i = 0; template->kind == EXPR_INTERP && i < template->list.count; i++) {
    const Expr *slot = template->list.items[i];
    if (slot->kind == EXPR_TEXT) continue;
    bool known = false;
    for (uint32_t p = 0; p < fn->param_count && slot->kind == EXPR_NAME; p++) known |= fn->params[p].sym == slot->name.sym;
    if (known) continue;
    sound = false;
    Diag *diag = diag_add(check->diags, DIAG_E312, slot->span, "a slot of a sentence is a parameter of `" STR_FMT "`", STR_ARG(fn->h.name));
    if (slot->kind != EXPR_NAME) continue;
    Sym syms[ENTRY_PARAMS_MAX];
    for (uint32_t p = 0; p < fn->param_count; p++) syms[p] = fn->params[p].sym;
    near_syms(check, diag, slot->name, syms, fn->param_count);
  }
  for (uint32_t p = 0; p < fn->param_count && sound; p++) {
    const Param *param = &fn->params[p];
    if (param->initial || types_is(&check->types, param->type, TYPE_OPTIONAL) || param->type == ID_POISON || has_slot(template, param->sym)) continue;
    Diag *diag = diag_add(check->diags, DIAG_E312, template->span, "the sentence has no slot for `" STR_FMT "`, which has no default", SYM_ARG(check, param->sym));
    diag_label(check->diags, diag, param->span, "this one");
    diag_help(check->diags, diag, "write `{" STR_FMT "}` in it, or give the parameter a default", SYM_ARG(check, param->sym));
  }
}

// The shape of a sentence: its words, with `{}` for a slot.
static Str shape_of(Check *check, const Expr *template) {
  if (template->kind == EXPR_TEXT) return template->text;
  Str shape = STR("");
  for (uint32_t i = 0; i < template->list.count; i++) {
    const Expr *part = template->list.items[i];
    shape = arena_format(check->arena, STR_FMT STR_FMT, STR_ARG(shape), STR_ARG(part->kind == EXPR_TEXT ? part->text : STR("{}")));
  }
  return shape;
}

void hints_check_say(Check *check) {
  LIST_OF(struct { Str shape; Span span; }) said = {0};
  for (uint32_t i = 0; i < check->entries.count; i++) {
    const Fn *fn = check->entries.items[i];
    const Annot *say = annot_find(check, &fn->decl->header.annots, "say");
    for (uint32_t k = 0; say && k < say->args.count; k++) {
      const Expr *template = say->args.items[k].value;
      check_template(check, fn, template);
      if (template->kind != EXPR_TEXT && template->kind != EXPR_INTERP) continue;
      Str shape = shape_of(check, template);
      for (uint32_t s = 0; s < said.count && said.count < 2000; s++) {
        if (!str_equal(said.items[s].shape, shape)) continue;
        Diag *diag = diag_add(check->diags, DIAG_W309, template->span, "another input has a sentence that reads the same");
        diag_label(check->diags, diag, said.items[s].span, "this one");
        break;
      }
      __typeof__(said.items) item = LIST_ADD(check, &said);
      if (item) { item->shape = shape; item->span = template->span; }
    }
  }
}
