// The signatures in builtins.def are written for people; here they are read by a small recursive descent (three levels
// at most, over texts of this program) and matched against types by walking pattern and type together.
#include "runtime/module/builtins.h"

#include <assert.h>

#include "runtime/base/err.h"

static const BuiltinInfo INFOS[BUILTIN_AND_FORM_COUNT_] = {
#define BUILTIN(id, aup_name, sig, cost, help) [BUILTIN_##id] = {.name = aup_name, .signature = sig, .words = help, .fuel = cost},
#define FORM(id, aup_name, sig, help) [FORM_##id] = {.name = aup_name, .signature = sig, .words = help, .is_form = true},
#include "runtime/module/builtins.def"
#undef BUILTIN
#undef FORM
};

const BuiltinInfo *builtin_info(BuiltinId id) {
  assert((unsigned)id < BUILTIN_AND_FORM_COUNT_);
  return &INFOS[id];
}

int builtin_find(Str name, int after) {
  for (int id = after + 1; id < BUILTIN_AND_FORM_COUNT_; id++)
    if (str_is(name, INFOS[id].name)) return id;
  return -1;
}

// ---- reading a signature ----------------------------------------------------------------------

typedef struct SignatureReader { const char *at; BuiltinSignature *out; } SignatureReader;

static const struct { const char *word; uint8_t kind, type; } WORDS[] = {
  {"bool", SIG_TYPE, TYPE_BOOL}, {"int", SIG_TYPE, TYPE_INT}, {"float", SIG_TYPE, TYPE_FLOAT}, {"text", SIG_TYPE, TYPE_TEXT},
  {"bytes", SIG_TYPE, TYPE_BYTES}, {"uuid", SIG_TYPE, TYPE_UUID}, {"time", SIG_TYPE, TYPE_TIME}, {"date", SIG_TYPE, TYPE_DATE},
  {"duration", SIG_TYPE, TYPE_DURATION}, {"D", SIG_DECIMAL, 0}, {"T", SIG_ANY, 0}, {"V", SIG_VALUE, 0},
  {"N", SIG_NUMBER, 0}, {"O", SIG_ORDERED, 0}, {"s", SIG_LITERAL, 0}, {"role", SIG_ROLE, 0}, {"range", SIG_RANGE, 0},
};

static void skip_spaces(SignatureReader *r) { while (*r->at == ' ') r->at++; }

static bool take(SignatureReader *r, char c) {
  skip_spaces(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

static void expect(SignatureReader *r, char c) {
  bool found = take(r, c);
  assert(found && "a signature in builtins.def is not well-formed");
  (void)found;
}

static Str read_word(SignatureReader *r) {
  skip_spaces(r);
  const char *start = r->at;
  while ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z') || *r->at == '_') r->at++;
  return (Str){start, (size_t)(r->at - start)};
}

static uint8_t add_node(SignatureReader *r, SigNode node) {
  assert(r->out->node_count < BUILTIN_NODES_MAX);
  r->out->nodes[r->out->node_count] = node;
  return r->out->node_count++;
}

static uint8_t word_node(SignatureReader *r, Str word) {
  for (size_t i = 0; i < countof(WORDS); i++)
    if (str_is(word, WORDS[i].word)) return add_node(r, (SigNode){.kind = WORDS[i].kind, .type = WORDS[i].type});
  assert(!"a signature in builtins.def names an unknown type");
  return 0;
}

static uint8_t read_pattern(SignatureReader *r) {
  uint8_t node;
  if (take(r, '[')) {
    uint8_t of = read_pattern(r);
    expect(r, ']');
    node = add_node(r, (SigNode){.kind = SIG_LIST, .of = of});
  } else {
    Str word = read_word(r);
    if (*r->at == '(') {
      bool is_map = str_is(word, "map");
      SigNode composite = {.kind = is_map ? SIG_MAP : SIG_SET};
      expect(r, '(');
      composite.of = read_pattern(r);
      if (is_map) { expect(r, ','); composite.to = read_pattern(r); }
      expect(r, ')');
      node = add_node(r, composite);
    } else {
      node = word_node(r, word);
    }
  }
  return *r->at == '?' ? (r->at++, add_node(r, (SigNode){.kind = SIG_OPTIONAL, .of = node})) : node;
}

static void read_default(SignatureReader *r, BuiltinParam *param) {
  skip_spaces(r);
  const char *start = r->at;
  bool in_text = false;
  while (*r->at && (in_text || (*r->at != ',' && *r->at != ')'))) in_text ^= *r->at++ == '"';
  param->has_default = true;
  param->default_text = (Str){start, (size_t)(r->at - start)};
}

static void read_param(SignatureReader *r) {
  assert(r->out->param_count < BUILTIN_PARAMS_MAX);
  BuiltinParam *param = &r->out->params[r->out->param_count++];
  param->name = read_word(r);
  if (take(r, ':')) param->node = read_pattern(r);
  else param->node = word_node(r, param->name);  // `s`, `role`, `range`: the name is the pattern
  if (take(r, '=')) read_default(r, param);
  else r->out->required_count = r->out->param_count;
}

void builtin_signature(BuiltinId id, BuiltinSignature *out) {
  *out = (BuiltinSignature){0};
  SignatureReader r = {builtin_info(id)->signature, out};
  expect(&r, '(');
  while (!take(&r, ')')) {
    if (out->param_count) expect(&r, ',');
    read_param(&r);
  }
  expect(&r, '-');
  expect(&r, '>');
  out->result = read_pattern(&r);
  assert(*r.at == 0);
}

// ---- matching ---------------------------------------------------------------------------------

static bool is_number(TypeKind kind) { return kind == TYPE_INT || kind == TYPE_DECIMAL || kind == TYPE_FLOAT || kind == TYPE_DURATION; }

static bool fits_variable(const TypeTable *types, SigKind variable, TypeId type) {
  switch (variable) {
    case SIG_DECIMAL: return type_kind(types, type) == TYPE_DECIMAL;
    case SIG_NUMBER: return is_number(type_kind(types, type));
    case SIG_ORDERED: return type_is_ordered(types, type);
    case SIG_ANY: case SIG_VALUE: return true;
    case SIG_TYPE: case SIG_OPTIONAL: case SIG_LIST: case SIG_SET: case SIG_MAP: case SIG_LITERAL:
    case SIG_ROLE: case SIG_RANGE:
      break;
  }
  return false;
}

// `types` NULL-kind nodes walk down at most the depth of the pattern.
static bool unify(const TypeTable *types, const BuiltinSignature *signature, uint8_t node_index, TypeId type, BuiltinBinding *binding) {
  SigNode node = signature->nodes[node_index];
  if (type >= types->count) return node.kind >= SIG_LITERAL;
  Type t = types->types[type];
  switch ((SigKind)node.kind) {
    case SIG_TYPE: return t.kind == node.type;
    case SIG_OPTIONAL:
      if (t.kind == TYPE_OPTIONAL) return unify(types, signature, node.of, t.of, binding) || unify(types, signature, node.of, type, binding);
      return false;
    case SIG_LIST: return t.kind == TYPE_LIST && unify(types, signature, node.of, t.of, binding);
    case SIG_SET: return t.kind == TYPE_SET && unify(types, signature, node.of, t.of, binding);
    case SIG_MAP: return t.kind == TYPE_MAP && unify(types, signature, node.of, t.of, binding) && unify(types, signature, node.to, t.to, binding);
    case SIG_DECIMAL: case SIG_ANY: case SIG_VALUE: case SIG_NUMBER: case SIG_ORDERED: {
      TypeId *bound = &binding->types[node.kind - SIG_DECIMAL];
      if (*bound != TYPE_NONE) return *bound == type;
      if (!fits_variable(types, (SigKind)node.kind, type)) return false;
      *bound = type;
      return true;
    }
    case SIG_LITERAL: case SIG_ROLE: case SIG_RANGE: return true;
  }
  return false;
}

bool builtin_unify(const TypeTable *types, const BuiltinSignature *signature, const TypeId *args, uint32_t count, BuiltinBinding *out, uint32_t *out_bad) {
  for (int i = 0; i < SIG_VARIABLES; i++) out->types[i] = TYPE_NONE;
  bool fits = count >= signature->required_count && count <= signature->param_count;
  uint32_t bad = count;
  for (uint32_t i = 0; fits && i < count; i++)
    if (!unify(types, signature, signature->params[i].node, args[i], out)) { fits = false; bad = i; }
  if (!fits && out_bad) *out_bad = bad;
  return fits;
}

bool builtin_result_is(const TypeTable *types, const BuiltinSignature *signature, const BuiltinBinding *binding, TypeId result) {
  BuiltinBinding copy = *binding;
  return unify(types, signature, signature->result, result, &copy);
}

static TypeId make_type(const BuiltinSignature *signature, const BuiltinBinding *binding, uint8_t node_index, BuiltinIntern intern, void *context) {
  SigNode node = signature->nodes[node_index];
  Type type = {.kind = node.type};
  switch ((SigKind)node.kind) {
    case SIG_TYPE: return intern(context, type);
    case SIG_DECIMAL: case SIG_ANY: case SIG_VALUE: case SIG_NUMBER: case SIG_ORDERED:
      return binding->types[node.kind - SIG_DECIMAL];
    case SIG_OPTIONAL: type.kind = TYPE_OPTIONAL; break;
    case SIG_LIST: type.kind = TYPE_LIST; break;
    case SIG_SET: type.kind = TYPE_SET; break;
    case SIG_MAP: type.kind = TYPE_MAP; break;
    case SIG_LITERAL: case SIG_ROLE: case SIG_RANGE: assert(false); return TYPE_NONE;
  }
  type.of = make_type(signature, binding, node.of, intern, context);
  if (node.kind == SIG_MAP) type.to = make_type(signature, binding, node.to, intern, context);
  return intern(context, type);
}

TypeId builtin_result(const BuiltinSignature *signature, const BuiltinBinding *binding, BuiltinIntern intern, void *context) {
  return make_type(signature, binding, signature->result, intern, context);
}

bool builtin_match(const TypeTable *types, BuiltinId id, const TypeId *args, uint32_t count, TypeId result) {
  BuiltinSignature signature;
  BuiltinBinding binding;
  builtin_signature(id, &signature);
  return count == signature.param_count && builtin_unify(types, &signature, args, count, &binding, NULL) &&
         builtin_result_is(types, &signature, &binding, result);
}
