// Who calls whom: the order of functions in the module (each calls only earlier ones), circles, the depth of the stack, and
// what each function does beside computing a value. All walks are loops, since a chain of calls can be long.
#include "compiler/check/internal.h"

#include <assert.h>

enum { MARK_NEW, MARK_OPEN, MARK_DONE };
enum { CHAIN_LABELS_MAX = DIAG_LABELS_MAX - 1 };

typedef struct Visit { Fn *fn; uint32_t next; } Visit;

typedef struct Order {
  Visit *stack;
  uint32_t stack_count;
  Fn **sorted;
  uint32_t count;
} Order;

// ---- order ------------------------------------------------------------------------------------

static void say_circle(Check *check, const Order *o, const Call *call) {
  uint32_t start = o->stack_count;
  while (start > 0 && o->stack[start - 1].fn != call->to) start--;
  Str path = call->to->h.name;
  for (uint32_t i = start; i < o->stack_count && path.len < 300; i++) path = arena_format(check->arena, STR_FMT " → " STR_FMT, STR_ARG(path), STR_ARG(o->stack[i].fn->h.name));
  if (start < o->stack_count || o->stack[o->stack_count - 1].fn != call->to) path = arena_format(check->arena, STR_FMT " → " STR_FMT, STR_ARG(path), STR_ARG(call->to->h.name));
  Diag *diag = diag_add(check->diags, DIAG_E108, call->span, "`" STR_FMT "` calls itself: " STR_FMT, STR_ARG(call->to->h.name), STR_ARG(path));
  diag_label(check->diags, diag, call->to->name_span, "it starts here");
  diag_help(check->diags, diag, "use a loop over rows, a list or a range; everything in aup ends");
}

static void leave(Check *check, Order *o, Fn *fn) {
  fn->order_mark = MARK_DONE;
  fn->depth = 1;
  fn->total_effects = fn->own_effects;
  for (uint32_t i = 0; i < fn->call_count; i++) {
    const Fn *to = fn->calls[i].to;
    if (to->order_mark != MARK_DONE) continue;
    fn->total_effects |= to->total_effects;
    if (to->depth + 1 > fn->depth) fn->depth = to->depth + 1;
  }
  if (fn->depth == CALL_DEPTH_MAX + 1)
    diag_help(check->diags, diag_add(check->diags, DIAG_E023, fn->name_span, "calls nest at most %d deep (CALL_DEPTH_MAX)", CALL_DEPTH_MAX), "join some of the functions");
  fn->h.index = (uint16_t)o->count;
  o->sorted[o->count++] = fn;
  check_effects(check, fn);
}

static void visit(Check *check, Order *o, Fn *root) {
  if (root->order_mark != MARK_NEW) return;
  root->order_mark = MARK_OPEN;
  o->stack[o->stack_count++] = (Visit){root, 0};
  while (o->stack_count) {
    Visit *top = &o->stack[o->stack_count - 1];
    if (top->next == top->fn->call_count) {
      o->stack_count--;
      leave(check, o, top->fn);
      continue;
    }
    const Call *call = &top->fn->calls[top->next++];
    if (call->to->order_mark == MARK_OPEN) { say_circle(check, o, call); continue; }
    if (call->to->order_mark != MARK_NEW) continue;
    call->to->order_mark = MARK_OPEN;
    o->stack[o->stack_count++] = (Visit){call->to, 0};
  }
}

// ---- effects ----------------------------------------------------------------------------------

static uint8_t refused(const Fn *fn) {
  const uint8_t changing = EFFECT_NOW | EFFECT_RANDOM | EFFECT_CALLER;
  switch ((FunctionKind)fn->h.kind) {
    case FUNCTION_FN: case FUNCTION_DEFAULT: return EFFECT_WRITES;
    case FUNCTION_VIEW: return EFFECT_WRITES | EFFECT_RANDOM | (fn->decl->header.every ? 0 : EFFECT_NOW);
    case FUNCTION_COMPUTED: case FUNCTION_CHECK: case FUNCTION_ALWAYS: return EFFECT_WRITES | changing;
    case FUNCTION_ROLE: return EFFECT_WRITES | EFFECT_NOW | EFFECT_RANDOM;
    case FUNCTION_INPUT: case FUNCTION_ACTION: case FUNCTION_TIMER: case FUNCTION_START: case FUNCTION_MIGRATE: case FUNCTION_TEST: case FUNCTION_KINDS: break;
  }
  return 0;
}

static const char *kind_words(const Fn *fn) {
  switch ((FunctionKind)fn->h.kind) {
    case FUNCTION_FN: return "a function";
    case FUNCTION_DEFAULT: return "a default";
    case FUNCTION_VIEW: return "a view";
    case FUNCTION_COMPUTED: return "a computed field";
    case FUNCTION_CHECK: return "a check";
    case FUNCTION_ALWAYS: return "`always`";
    case FUNCTION_ROLE: return "a role";
    case FUNCTION_INPUT: case FUNCTION_ACTION: case FUNCTION_TIMER: case FUNCTION_START: case FUNCTION_MIGRATE: case FUNCTION_TEST: case FUNCTION_KINDS: break;
  }
  return "this";
}

static const Call *call_with(const Fn *fn, uint8_t effect) {
  for (uint32_t i = 0; i < fn->call_count; i++)
    if (fn->calls[i].to->total_effects & effect) return &fn->calls[i];
  return NULL;
}

static int bit_of(uint8_t effect) { return __builtin_ctz(effect); }

static void say_effect(Check *check, const Fn *fn, uint8_t effect) {
  bool writes = effect == EFFECT_WRITES;
  const Call *call = fn->own_effects & effect ? NULL : call_with(fn, effect);
  Span span = call ? call->span : fn->effect_spans[bit_of(effect)];
  const Fn *origin = fn;
  while (!(origin->own_effects & effect)) {
    const Call *next = call_with(origin, effect);
    if (!next) return;
    origin = next->to;
  }
  const char *word = origin->effect_words[bit_of(effect)];
  Diag *diag = writes ? diag_add(check->diags, DIAG_E301, span, "%s only reads, but %s%s" STR_FMT "%s", kind_words(fn), call ? "this calls `" : word, call ? "" : "", STR_ARG(call ? call->to->h.name : STR("")), call ? "`, which changes state" : "")
                      : diag_add(check->diags, DIAG_E302, span, "`%s` is not allowed in %s", word, kind_words(fn));
  uint32_t labels = 0;
  for (const Call *at = call; at && labels < CHAIN_LABELS_MAX; labels++) {
    const Fn *to = at->to;
    at = to->own_effects & effect ? NULL : call_with(to, effect);
    if (at) diag_label(check->diags, diag, at->span, "`" STR_FMT "` calls `" STR_FMT "`", STR_ARG(to->h.name), STR_ARG(at->to->h.name));
    else diag_label(check->diags, diag, to->effect_spans[bit_of(effect)], "`" STR_FMT "`: %s", STR_ARG(to->h.name), word);
  }
  if (writes) diag_help(check->diags, diag, fn->h.kind == FUNCTION_FN ? "make it an `action`" : "change state in an `input`, `action`, `receive` or `timer`");
  else if (effect == EFFECT_NOW && fn->h.kind == FUNCTION_VIEW) diag_help(check->diags, diag, "say how fresh the view is: `view " STR_FMT " every 1min …`", STR_ARG(fn->h.name));
  else diag_help(check->diags, diag, "its value must be the same whoever asks, whenever: keep it in a field or pass it in");
}

void check_effects(Check *check, Fn *fn) {
  uint8_t bad = fn->total_effects & refused(fn);
  for (int i = 0; i < OWN_EFFECTS; i++)
    if (bad >> i & 1) say_effect(check, fn, (uint8_t)(1 << i));
  fn->total_effects &= (uint8_t)~bad;  // said once, not again for each caller
}

// ---- never used -------------------------------------------------------------------------------

static void warn_unused(Check *check) {
  for (uint32_t i = 0; i < check->functions.count; i++) {
    const Fn *fn = check->functions.items[i];
    if (fn->used || (fn->h.kind != FUNCTION_FN && fn->h.kind != FUNCTION_ACTION)) continue;
    Diag *diag = diag_add(check->diags, DIAG_W106, fn->name_span, "`" STR_FMT "` is never called", STR_ARG(fn->h.name));
    diag_help(check->diags, diag, "remove it, or call it");
  }
  for (uint32_t i = 0; i < check->errors.count; i++)
    if (!check->errors.items[i].used) diag_help(check->diags, diag_add(check->diags, DIAG_W106, check->errors.items[i].decl->name.span, "nothing rejects with `" STR_FMT "`", SYM_ARG(check, check->errors.items[i].sym)), "remove it, or `reject` with it");
  for (uint32_t i = 0; i < check->outputs.count; i++)
    if (!check->outputs.items[i].used) diag_help(check->diags, diag_add(check->diags, DIAG_W106, check->outputs.items[i].decl->name.span, "nothing is sent to `" STR_FMT "`", SYM_ARG(check, check->outputs.items[i].sym)), "remove it, or `send` to it");
}

static void warn_open_access(Check *check) {
  if (!check->has_roles) return;
  for (uint32_t i = 0; i < check->entries.count; i++) {
    const Decl *decl = check->entries.items[i]->decl;
    if (decl->kind == DECL_RECEIVE || decl->header.roles.count) continue;
    Diag *diag = diag_add(check->diags, DIAG_W310, decl->name.span, "`" STR_FMT "` does not say who may use it, in an app with roles", SYM_ARG(check, decl->name.sym));
    diag_help(check->diags, diag, "write `for signed_in`, `for everyone` or a role behind its parameters");
  }
}

static void add_default_calls(Check *check) {
  for (uint32_t i = 0; i < check->entries.count; i++) {
    Fn *fn = check->entries.items[i];
    for (uint32_t p = 0; p < fn->param_count; p++) {
      if (!fn->params[p].initial) continue;
      Call *call = check__list_add(check, &fn->calls, &fn->call_count, &fn->call_room, sizeof *call);
      if (call) *call = (Call){fn->params[p].initial, fn->params[p].span};
    }
  }
}

void effects_all(Check *check) {
  add_default_calls(check);
  Order o = {.stack = CHECK_ARRAY(check, Visit, check->functions.count), .sorted = CHECK_ARRAY(check, Fn *, check->functions.count)};
  if (!o.stack || !o.sorted) return;
  if (check->functions.count > FUNCTION_COUNT_MAX) {
    diag_add(check->diags, DIAG_E026, check->functions.items[FUNCTION_COUNT_MAX]->name_span, "an app has at most %d functions, defaults and checks included (FUNCTION_COUNT_MAX)", FUNCTION_COUNT_MAX);
    return;
  }
  for (uint32_t i = 0; i < check->functions.count; i++) visit(check, &o, check->functions.items[i]);
  if (check->failed) return;
  if (o.count) memcpy(check->functions.items, o.sorted, o.count * sizeof *o.sorted);
  warn_unused(check);
  warn_open_access(check);
}
