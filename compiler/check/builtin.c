// Calls of the functions in builtins.def. A name can stand for several; the first argument and the number of arguments
// choose. Variables of a signature are bound by the arguments, and all that name one variable get one type.
#include "compiler/check/internal.h"

#include <assert.h>

#include "runtime/module/builtins.h"

typedef struct BuiltinCall {
  const Expr *call;
  Name name;
  int id;
  BuiltinSignature signature;
  BuiltinBinding binding;
  const Expr *written[BUILTIN_PARAMS_MAX];  // by parameter; NULL: the receiver, or a default
  HExpr *values[BUILTIN_PARAMS_MAX];
  bool poisoned;
} BuiltinCall;

bool builtin_is(Str name) { return builtin_find(name, -1) >= 0; }

// ---- types of signatures ----------------------------------------------------------------------

static TypeId *variable(BuiltinCall *b, SigNode node) { return &b->binding.types[node.kind - SIG_DECIMAL]; }

static TypeId intern(void *context, Type type) { return types_get(context, type); }

// The type of a node under the binding; TYPE_NONE when it is not known yet.
static TypeId node_type(Check *check, BuiltinCall *b, uint8_t index) {
  SigNode node = b->signature.nodes[index];
  Type type = {.kind = node.type};
  switch ((SigKind)node.kind) {
    case SIG_TYPE: return types_get(&check->types, type);
    case SIG_DECIMAL: case SIG_ANY: case SIG_VALUE: case SIG_NUMBER: case SIG_ORDERED: return *variable(b, node);
    case SIG_OPTIONAL: type.kind = TYPE_OPTIONAL; break;
    case SIG_LIST: type.kind = TYPE_LIST; break;
    case SIG_SET: type.kind = TYPE_SET; break;
    case SIG_MAP: type.kind = TYPE_MAP; break;
    case SIG_LITERAL: case SIG_ROLE: case SIG_RANGE: return TYPE_NONE;
  }
  type.of = node_type(check, b, node.of);
  if (type.kind == TYPE_MAP) type.to = node_type(check, b, node.to);
  if (type.of == TYPE_NONE || (type.kind == TYPE_MAP && type.to == TYPE_NONE)) return TYPE_NONE;
  return type.kind == TYPE_OPTIONAL ? types_optional(&check->types, type.of) : types_get(&check->types, type);
}

static bool suits_variable(const Check *check, SigKind kind, TypeId type) {
  if (!type_is_real(type)) return false;
  TypeKind t = (TypeKind)check->types.types[type].kind;
  switch (kind) {
    case SIG_DECIMAL: return t == TYPE_DECIMAL || t == TYPE_INT;
    case SIG_NUMBER: return t == TYPE_INT || t == TYPE_DECIMAL || t == TYPE_FLOAT || t == TYPE_DURATION;
    case SIG_ORDERED: return type_is_ordered(&check->types.table, type);
    case SIG_ANY: case SIG_VALUE: return true;
    case SIG_TYPE: case SIG_OPTIONAL: case SIG_LIST: case SIG_SET: case SIG_MAP: case SIG_LITERAL: case SIG_ROLE: case SIG_RANGE: break;
  }
  return false;
}

// Does the value suit the node? Binds what it names. False leaves the binding as it was.
static bool bind(Check *check, BuiltinCall *b, uint8_t index, const HExpr *value) {
  SigNode node = b->signature.nodes[index];
  TypeId type = value->type;
  switch ((SigKind)node.kind) {
    case SIG_TYPE: {
      TypeId want = types_get(&check->types, (Type){.kind = node.type});
      return type == want || (want == ID_FLOAT && type_is_real(type) && (type == ID_INT || (value->kind == H_CONST && types_is(&check->types, type, TYPE_DECIMAL))));
    }
    case SIG_DECIMAL: case SIG_ANY: case SIG_VALUE: case SIG_NUMBER: case SIG_ORDERED: {
      TypeId *bound = variable(b, node);
      if (*bound == TYPE_NONE) { if (!suits_variable(check, (SigKind)node.kind, type)) return false; *bound = type; return true; }
      TypeId both = unify(check, &(HExpr){.kind = H_LOCAL, .type = *bound}, value);
      if (!suits_variable(check, (SigKind)node.kind, both)) return false;
      *bound = both;
      return true;
    }
    case SIG_OPTIONAL: {
      HExpr inside = *value;
      inside.type = types_open(&check->types, type);
      return bind(check, b, node.of, &inside);
    }
    case SIG_LIST: case SIG_SET: {
      TypeKind kind = node.kind == SIG_LIST ? TYPE_LIST : TYPE_SET;
      if (type == ID_EMPTY) return true;
      return types_is(&check->types, type, kind) && bind(check, b, node.of, &(HExpr){.kind = H_LOCAL, .type = types_of(&check->types, type)});
    }
    case SIG_MAP:
      return types_is(&check->types, type, TYPE_MAP) && bind(check, b, node.of, &(HExpr){.kind = H_LOCAL, .type = types_of(&check->types, type)}) &&
             bind(check, b, node.to, &(HExpr){.kind = H_LOCAL, .type = check->types.types[type].to});
    case SIG_LITERAL: case SIG_ROLE: case SIG_RANGE: return true;
  }
  return false;
}

// ---- arguments --------------------------------------------------------------------------------

static void check_rest(Check *check, const ArgList *args, uint32_t from) {
  for (uint32_t i = from; i < args->count; i++) check_expr(check, args->items[i].value, TYPE_NONE);
}

static int place_of(Check *check, BuiltinCall *b, const Arg *arg, uint32_t position) {
  if (!arg->name.sym) return position < b->signature.param_count ? (int)position : -1;
  for (uint32_t i = 0; i < b->signature.param_count; i++)
    if (str_equal(b->signature.params[i].name, sym_str(check, arg->name.sym))) return (int)i;
  return -1;
}

static void say_count(Check *check, BuiltinCall *b, Span span) {
  Diag *diag = diag_add(check->diags, DIAG_E206, span, "the arguments do not fit `" STR_FMT "`", SYM_ARG(check, b->name.sym));
  diag_help(check->diags, diag, "it is `" STR_FMT "%s`", SYM_ARG(check, b->name.sym), builtin_info((BuiltinId)b->id)->signature);
}

static bool place_args(Check *check, BuiltinCall *b, const HExpr *receiver) {
  const ArgList *args = &b->call->call.args;
  uint32_t position = receiver != NULL;
  bool sound = true, filled[BUILTIN_PARAMS_MAX] = {receiver != NULL};
  for (uint32_t i = 0; i < args->count && sound; i++) {
    int place = place_of(check, b, &args->items[i], position++);
    sound = place >= 0 && !filled[place];
    if (!sound) break;
    filled[place] = true;
    b->written[place] = args->items[i].value;
  }
  for (uint32_t i = 0; i < b->signature.required_count; i++) sound &= filled[i];
  return sound;
}

static HExpr *default_literal(Check *check, const BuiltinCall *b, const BuiltinParam *param) {
  Str text = param->default_text;
  if (text.len && text.ptr[0] == '"') return h_text(check, str_part(text, 1, text.len - 1), b->call->span);
  int64_t number = 0;
  for (size_t i = 0; i < text.len; i++) number = number * 10 + (text.ptr[i] - '0');
  return h_int(check, number, b->call->span);
}

static void say_bad(Check *check, BuiltinCall *b, uint32_t i) {
  HExpr *value = b->values[i];
  Str found = type_name(check, value->type);
  b->poisoned = true;
  if (is_poison(value)) return;
  if (types_is(&check->types, value->type, TYPE_OPTIONAL) || value->type == ID_NOTHING) { need_open(check, value, "as an argument"); return; }
  Diag *diag = diag_add(check->diags, DIAG_E201, value->span, "`" STR_FMT "` does not take %s" STR_FMT " here", SYM_ARG(check, b->name.sym), type_article(found), STR_ARG(found));
  diag_help(check->diags, diag, "it is `" STR_FMT "%s`", SYM_ARG(check, b->name.sym), builtin_info((BuiltinId)b->id)->signature);
}

static void check_values(Check *check, BuiltinCall *b) {
  for (uint32_t i = 0; i < b->signature.param_count; i++) {
    const BuiltinParam *param = &b->signature.params[i];
    if (!b->values[i]) b->values[i] = b->written[i] ? check_expr(check, b->written[i], node_type(check, b, param->node)) : default_literal(check, b, param);
    if (is_poison(b->values[i]) || !bind(check, b, param->node, b->values[i])) say_bad(check, b, i);
  }
}

static HExpr *make_call(Check *check, BuiltinCall *b) {
  HExpr *made = h_args(check, H_BUILTIN, ID_POISON, b->signature.param_count, b->call->span);
  for (uint32_t i = 0; i < made->args.count && !b->poisoned; i++) {
    TypeId want = node_type(check, b, b->signature.params[i].node);
    if (want == TYPE_NONE) { say_bad(check, b, i); break; }
    made->args.items[i] = coerce(check, b->values[i], want, NULL);
    b->poisoned |= is_poison(made->args.items[i]);
  }
  if (b->poisoned) return h_poison(check, b->call->span);
  made->index = (uint32_t)b->id;
  made->type = builtin_result(&b->signature, &b->binding, intern, &check->types);
  return made;
}

// ---- which one is meant -----------------------------------------------------------------------

static bool could_be(Check *check, BuiltinCall *b, int id, const HExpr *first, uint32_t count) {
  b->id = id;
  builtin_signature((BuiltinId)id, &b->signature);
  for (int i = 0; i < SIG_VARIABLES; i++) b->binding.types[i] = TYPE_NONE;
  if (count < b->signature.required_count || count > b->signature.param_count) return false;
  if (!first || !b->signature.param_count) return true;
  bool suits = bind(check, b, b->signature.params[0].node, first);
  for (int i = 0; i < SIG_VARIABLES; i++) b->binding.types[i] = TYPE_NONE;
  return suits;
}

// Chooses among several of one name. False: none suits, `b` is then the first of them.
static bool choose(Check *check, BuiltinCall *b, const HExpr *first, uint32_t count) {
  int start = builtin_find(sym_str(check, b->name.sym), -1);
  for (int id = start; id >= 0; id = builtin_find(sym_str(check, b->name.sym), id))
    if (could_be(check, b, id, first, count)) return true;
  could_be(check, b, start, NULL, count);
  return false;
}

HExpr *check_builtin(Check *check, const Expr *call, Name name, HExpr *receiver, TypeId want, bool *out_found) {
  Str text = sym_str(check, name.sym);
  int id = builtin_find(text, -1);
  const ArgList *args = &call->call.args;
  *out_found = id >= 0;
  if (id < 0) return NULL;
  if (receiver && is_poison(receiver)) { check_rest(check, args, 0); return receiver; }
  if (builtin_info((BuiltinId)id)->is_form) return check_form(check, id, call, name, receiver, want);
  BuiltinCall b = {.call = call, .name = name};
  bool several = builtin_find(text, id) >= 0;
  HExpr *first = receiver;
  if (several && !receiver && args->count && !args->items[0].name.sym) first = check_expr(check, args->items[0].value, TYPE_NONE);
  if (first && is_poison(first)) { check_rest(check, args, receiver ? 0 : 1); return first; }
  bool chosen = choose(check, &b, first, args->count + (receiver != NULL));
  b.values[0] = first;
  if (!chosen && first && several) {
    check_rest(check, args, receiver ? 0 : 1);
    say_bad(check, &b, 0);
    return h_poison(check, call->span);
  }
  if (!place_args(check, &b, receiver)) {
    check_rest(check, args, 0);
    say_count(check, &b, name.span);
    return h_poison(check, call->span);
  }
  check_values(check, &b);
  return make_call(check, &b);
}
