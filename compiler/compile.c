// compile_run reads as the list of phases: sources, tree, checked program, module, and the module read back as a stranger
// would read it. Each phase stops the run when it found errors.
#include "compiler/compile.h"

#include "compiler/check/check.h"
#include "compiler/emit/emit.h"
#include "compiler/syntax/parser.h"
#include "runtime/module/format.h"

// ---- sources ----------------------------------------------------------------------------------

static const Source *read_source(Compile *c, const CompileOptions *options, Str path, Span used_at) {
  Str bytes = STR("");
  ErrText text = {.text = ""};
  Err err = options->read_file(options->context, path, &c->arena, &bytes, &text);
  if (err == ERR_MEMORY) { c->diags.failed = true; return NULL; }
  if (err != ERR_NONE) {
    diag_add(&c->diags, DIAG_E024, used_at, "%s", text.text[0] ? text.text : err_words(err));
    return NULL;
  }
  const Source *source = sources_add(&c->sources, path, bytes, &c->diags);
  if (!source && !diag_has_errors(&c->diags)) c->diags.failed = true;
  return source;
}

// The file that `use` names, seen from the file that it stands in.
static Str path_beside(Compile *c, Str from, Str name) {
  size_t dir = from.len;
  while (dir > 0 && from.ptr[dir - 1] != '/') dir--;
  if (dir == 0 || (name.len && name.ptr[0] == '/')) return name;
  Str path = arena_format(&c->arena, STR_FMT STR_FMT, STR_ARG(str_part(from, 0, dir)), STR_ARG(name));
  if (!path.ptr) c->diags.failed = true;
  return path;
}

static uint32_t find_source(const Compile *c, Str path) {
  uint32_t i = 0;
  while (i < c->sources.count && !str_equal(c->sources.items[i]->name, path)) i++;
  return i;
}

// Which file uses which, directly or through others: a bit for each pair, closed each time one is added.
typedef struct Uses { uint64_t bits[SOURCES_MAX][(SOURCES_MAX + 63) / 64]; } Uses;

static bool uses(const Uses *u, uint32_t from, uint32_t to) { return from == to || (u->bits[from][to / 64] >> to % 64 & 1); }

static void add_use(Uses *u, uint32_t from, uint32_t to) {
  for (uint32_t i = 0; i < SOURCES_MAX; i++) {
    if (!uses(u, i, from)) continue;
    u->bits[i][to / 64] |= (uint64_t)1 << to % 64;
    for (uint32_t k = 0; k < countof(u->bits[0]); k++) u->bits[i][k] |= u->bits[to][k];
  }
}

// Files join one app, so a file that is there already is not read again, whoever uses it.
static void read_used(Compile *c, const CompileOptions *options) {
  Uses *known = ARENA_NEW(&c->arena, Uses);
  if (!known) { c->diags.failed = true; return; }
  for (uint32_t i = 0; i < c->ast->decls.count; i++) {
    const Decl *decl = c->ast->decls.items[i];
    if (decl->kind != DECL_USE || !decl->title || decl->title->kind != EXPR_TEXT) continue;
    const Source *from = sources_find(&c->sources, decl->span.start);
    Str path = path_beside(c, from ? from->name : STR(""), decl->title->text);
    if (c->diags.failed) return;
    uint32_t number = find_source(c, path), user = from ? find_source(c, from->name) : 0;
    if (number < c->sources.count && uses(known, number, user)) {
      diag_help(&c->diags, diag_add(&c->diags, DIAG_E024, decl->title->span, "files use each other in a circle: `" STR_FMT "` leads back to this one", STR_ARG(path)), "remove one `use`; each file sees the declarations of all");
      continue;
    }
    if (number < SOURCES_MAX) add_use(known, user, number);
    if (number < c->sources.count) continue;
    if (c->sources.count == SOURCES_MAX) { diag_add(&c->diags, DIAG_E024, decl->title->span, "an app has at most %d files (SOURCES_MAX)", SOURCES_MAX); return; }
    const Source *source = read_source(c, options, path, decl->title->span);
    if (source && !diag_has_errors(&c->diags)) syntax_parse_into(c->ast, source, &c->diags);
  }
}

static bool parse(Compile *c, Str path, const CompileOptions *options) {
  const Source *source = read_source(c, options, path, (Span){0});
  if (!source || diag_has_errors(&c->diags)) return false;
  c->ast = syntax_parse(source, &c->arena, &c->diags);
  if (!c->ast) { c->diags.failed = true; return false; }
  if (!diag_has_errors(&c->diags)) read_used(c, options);
  return !diag_has_errors(&c->diags);
}

// ---- module -----------------------------------------------------------------------------------

static void emit(Compile *c, HProgram *program) {
  Buf bytes;
  buf_init(&bytes, MODULE_BYTES_MAX);
  Err err = emit_module(program, &c->diags, &c->arena, &bytes);
  if (err != ERR_NONE || bytes.failed) {
    if (err == ERR_MEMORY || !diag_has_errors(&c->diags)) c->diags.failed = true;
  } else {
    c->module_bytes = arena_copy(&c->arena, buf_str(&bytes));
    if (!c->module_bytes.ptr) c->diags.failed = true;
  }
  buf_free(&bytes);
}

// What was written must be what a loader accepts; if not, the compiler is wrong and says so.
static void read_back(Compile *c) {
  Module *module = NULL;
  ErrText text;
  Err err = module_read(c->module_bytes, &c->arena, &module, &text);
  if (err == ERR_MEMORY) c->diags.failed = true;
  else if (err != ERR_NONE) diag_add(&c->diags, DIAG_E901, (Span){0}, "the compiled module is not accepted: %s", text.text);
  c->module = err == ERR_NONE ? module : NULL;
  if (err != ERR_NONE) c->module_bytes = (Str){0};
}

void compile_run(Compile *compile, Str path, const CompileOptions *options) {
  *compile = (Compile){.ast = NULL};
  arena_init(&compile->arena, 0);
  sources_init(&compile->sources, &compile->arena);
  diag_init(&compile->diags, &compile->arena);
  if (parse(compile, path, options)) {
    HProgram *program = check_program(compile->ast, &compile->sources, &compile->diags, &compile->arena, options->with_tests);
    if (program) emit(compile, program);
    if (compile->module_bytes.ptr) read_back(compile);
  }
  diag_sort(&compile->diags);
}

void compile_free(Compile *compile) { arena_free(&compile->arena); }
