// Pages: lines that name views and inputs. A `group` becomes a line "group", its lines, and a line "end", so that the
// module's list of lines stays flat and nothing is lost.
#include "compiler/check/internal.h"

#include <assert.h>

typedef LIST_OF(PageItem) PageItems;

static void check_target(Check *check, Name word, Name target) {
  Str w = sym_str(check, word.sym);
  bool wants_view = str_is(w, "show") || str_is(w, "text");
  uint32_t number = space_find(check, SPACE_VALUE, target.sym);
  const Fn *fn = number != MAP_NOTHING ? check->values.items[number].fn : NULL;
  if (fn && fn->is_entry && (fn->decl->kind == DECL_VIEW) == wants_view && fn->decl->kind != DECL_RECEIVE) return;
  Diag *diag = diag_add(check->diags, DIAG_E101, target.span, "there is no %s called `" STR_FMT "`", wants_view ? "view" : "input", SYM_ARG(check, target.sym));
  near_space(check, diag, SPACE_VALUE, target.sym);
}

static void check_entries(Check *check, const PageEntryList *entries) {
  for (uint32_t i = 0; i < entries->count; i++) {
    const PageEntry *entry = &entries->items[i];
    Str word = sym_str(check, entry->word.sym);
    bool group = str_is(word, "group"), known = group || str_is(word, "show") || str_is(word, "form") || str_is(word, "button") || str_is(word, "text");
    if (!known) {
      Diag *diag = diag_add(check->diags, DIAG_E101, entry->word.span, "a page has no line `" STR_FMT "`", STR_ARG(word));
      diag_help(check->diags, diag, "a line starts with `show`, `text`, `form`, `button` or `group`");
      continue;
    }
    for (uint32_t k = 0; !group && k < entry->names.count; k++) check_target(check, entry->word, entry->names.items[k]);
    if (group && depth_enter(check, entry->span)) { check_entries(check, &entry->items); depth_leave(check); }
  }
}

void pages_check(Check *check) {
  for (uint32_t i = 0; i < check->pages.count; i++) check_entries(check, &check->pages.items[i]->page.items);
}

static void add_item(Check *check, PageItems *items, Str word, const Str *targets, uint32_t count, Hints hints) {
  PageItem *item = LIST_ADD(check, items);
  if (item) *item = (PageItem){.word = word, .target_count = (uint16_t)count, .targets = targets, .hints = hints};
}

static void fill_items(Check *check, const PageEntryList *entries, PageItems *items) {
  for (uint32_t i = 0; i < entries->count; i++) {
    const PageEntry *entry = &entries->items[i];
    bool titled = entry->title && entry->title->kind == EXPR_TEXT;
    uint32_t count = entry->names.count + titled;
    Str *targets = CHECK_ARRAY(check, Str, count);
    if (!targets) return;
    if (titled) targets[0] = entry->title->text;
    for (uint32_t k = 0; k < entry->names.count; k++) targets[k + titled] = sym_str(check, entry->names.items[k].sym);
    add_item(check, items, sym_str(check, entry->word.sym), targets, count, hints_of(check, &entry->annots, NULL));
    if (!str_is(sym_str(check, entry->word.sym), "group")) continue;
    fill_items(check, &entry->items, items);
    add_item(check, items, STR("end"), NULL, 0, (Hints){.doc = STR("")});
  }
}

void pages_fill(Check *check, Module *module) {
  PageDef *pages = CHECK_ARRAY(check, PageDef, check->pages.count);
  for (uint32_t i = 0; pages && i < check->pages.count; i++) {
    const Decl *decl = check->pages.items[i];
    PageItems items = {0};
    fill_items(check, &decl->page.items, &items);
    pages[i] = (PageDef){.name = sym_str(check, decl->name.sym), .title = decl->title && decl->title->kind == EXPR_TEXT ? decl->title->text : sym_str(check, decl->name.sym),
                         .item_count = (uint16_t)items.count, .items = items.items, .hints = hints_of(check, &decl->header.annots, decl->doc)};
  }
  module->pages = pages;
  module->page_count = (uint16_t)check->pages.count;
}
