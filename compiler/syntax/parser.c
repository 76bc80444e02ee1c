// Feeds the automaton. Before a token is given to it, the automaton is asked whether it would take it: so a mistake is
// found before any reduction has spoiled the stack, and the expected set in the message is exact.
//
// After a mistake the grammar drops the item of the innermost list, and this file skips to the line end that closes it:
// the next NL outside brackets that were opened since; between declarations, to the next word in column 1.
#include "compiler/syntax/parser.h"

#include <assert.h>

#include "compiler/syntax/build.h"
#include "compiler/syntax/expect.h"
#include "runtime/base/mem.h"

static bool parser_init(Parser *p, Ast *ast, const Source *source, DiagList *diags, Span part) {
  memset(p, 0, sizeof *p);
  p->ast = ast;
  p->arena = ast->arena;
  p->source = source;
  p->diags = diags;
  p->last_end = span_is_none(part) ? source->base : part.start;
  p->grammar = grammar__new();
  if (!p->grammar) { diags->failed = true; return false; }
  lexer_init(&p->lexer, source, part, ast->arena, diags);
  return true;
}

static void parser_free(Parser *p) {
  grammar__free(p->grammar);
  mem_free(p->scratch);
}

// Gives one token to the automaton and remembers it.
static void feed(Parser *p, Token token) {
  p->current = token;
  grammar__feed(p->grammar, p, token);
  if (p->is_overflown) p->diags->failed = true;  // no memory for the stack: its depth is limited elsewhere
  memmove(p->history + 1, p->history, (PARSER_HISTORY - 1) * sizeof(Token));
  p->history[0] = token;
  if (token.kind != T_NL && !(token.flags & TOKEN_VIRTUAL)) p->last_end = token.end;
}

static bool is_opener(int kind) { return kind == T_LPAREN || kind == T_LBRACK || kind == T_LBRACE || kind == T_STRBEG; }

// Skips to the line end that ends the broken item, whose bracket depth is `depth`. Returns the token behind that NL, with
// which parsing goes on; the NL itself is fed when the automaton still waits for it.
static Token skip_item(Parser *p, Token token, uint32_t depth) {
  bool waits_for_newline = token.kind != T_NL;  // else the automaton has taken it
  for (;;) {
    if (token.kind == T_END) return token;
    if (lexer_depth(&p->lexer) < depth) depth = lexer_depth(&p->lexer);  // out of the parentheses in which it began
    bool ends_item = token.kind == T_NL && lexer_depth(&p->lexer) <= depth;
    Token newline = token;
    token = lexer_next(&p->lexer);
    if (!ends_item) continue;
    bool goes_on = depth > 0 || token.kind == T_END || ((token.flags & TOKEN_FIRST) && token.indent == 0);
    if (!goes_on) continue;
    if (waits_for_newline) feed(p, newline);
    return token;
  }
}

// What the lexer finds wrong inside a skipped item is not told: it follows from the first mistake, or waits for the next run.
static Token recover(Parser *p, Token token) {
  Span region = {token.start, UINT32_MAX};
  uint32_t depth = lexer_depth(&p->lexer) - is_opener(token.kind);
  uint32_t region_index = p->diags->poisoned_count;
  diag_poison(p->diags, region);
  if (token.kind == T_RBRACE) {
    // The item is cut short by the brace that closes its list: end the item, then take the brace.
    Token newline = {p->last_end, p->last_end, T_NL, TOKEN_VIRTUAL, 0};
    feed(p, newline);
    int kind = T_RBRACE;
    if (grammar__accepts(p->grammar, &kind, 1)) {
      if (region_index < p->diags->poisoned_count) p->diags->poisoned[region_index].end = token.end;
      return token;
    }
  }
  feed(p, token);
  token = skip_item(p, token, depth);
  if (region_index < p->diags->poisoned_count) p->diags->poisoned[region_index].end = token.start;
  return token;
}

// Does the token only follow from a mistake that is told already?
static bool is_told(const Parser *p, Token token) {
  const Span since_decl = {p->lexer.decl_start, UINT32_MAX};
  // A closer that the layout put in.
  if ((token.flags & TOKEN_VIRTUAL) && token.kind != T_NL) return diag_has_errors(p->diags);
  if (!(token.flags & TOKEN_FIRST)) return false;
  // What stands indented outside all brackets when its declaration has an error: a brace was lost with it.
  if (lexer_depth(&p->lexer) == 0) return token.indent > 0 && diag_has_error_in(p->diags, since_decl);
  // A statement where none may stand: its block's brace was taken for another.
  bool is_stmt = token.kind == T_LET || token.kind == T_VAR || token.kind == T_RETURN || token.kind == T_REQUIRE || token.kind == T_REJECT ||
                 token.kind == T_DELETE || token.kind == T_INSERT || token.kind == T_FOR;
  return is_stmt && diag_has_error_in(p->diags, (Span){lexer_innermost(&p->lexer).start, UINT32_MAX});
}

static void run(Parser *p) {
  Token token = lexer_next(&p->lexer);
  for (;;) {
    int kind = token.kind;
    if (p->lexer.is_stopped || diag_is_full(p->diags)) return;
    if (!grammar__accepts(p->grammar, &kind, 1)) {
      if (!is_told(p, token)) expect_report(p, token);
      if (kind == T_END) return;
      token = recover(p, token);
      continue;
    }
    feed(p, token);
    if (p->diags->failed) return;
    if (grammar__depth(p->grammar) > PARSER_STACK_MAX) {
      diag_add(p->diags, DIAG_E023, (Span){token.start, token.end}, "this is nested too deeply (more than %d operators, EXPR_DEPTH_MAX)", EXPR_DEPTH_MAX);
      return;
    }
    if (kind == T_END) return;
    token = lexer_next(&p->lexer);
  }
}

Ast *ast_new(Arena *arena) {
  Ast *ast = ARENA_NEW(arena, Ast);
  if (!ast || !intern_init(&ast->names, arena)) return NULL;
  ast->arena = arena;
  return ast;
}

Str ast_str(const Ast *ast, Sym sym) {
  assert(sym < ast->names.count);
  return sym ? ast->names.texts[sym] : STR("");
}

Sym ast_sym(Ast *ast, const char *word) { return intern_add(&ast->names, str_from(word)); }

static DeclList finish_decls(Parser *p) { return FINISH(Decl, p->decls); }

// The declarations of one more source behind those of the others.
static void append_decls(Parser *p) {
  DeclList more = finish_decls(p);
  if (!more.items) return;
  DeclList *all = &p->ast->decls;
  if (!all->count) { *all = more; return; }
  Decl **items = arena_alloc(p->arena, (all->count + more.count) * sizeof *items);
  if (!items) { p->diags->failed = true; return; }
  memcpy(items, all->items, all->count * sizeof *items);
  memcpy(items + all->count, more.items, more.count * sizeof *items);
  *all = (DeclList){items, all->count + more.count};
}

bool syntax_parse_into(Ast *ast, const Source *source, DiagList *diags) {
  Parser p;
  if (!source->is_text || !parser_init(&p, ast, source, diags, (Span){0})) return false;
  p.decls = build__list(&p);
  run(&p);
  if (!p.decls.count && !diag_has_errors(diags)) {
    Diag *diag = diag_add(diags, DIAG_E020, (Span){source->base, source->base}, "there is nothing in this file but spaces and comments");
    diag_help(diags, diag, "the smallest app is one line: view hello = \"Hello\"");
  }
  append_decls(&p);
  parser_free(&p);
  return !diag_has_errors(diags);
}

Ast *syntax_parse(const Source *source, Arena *arena, DiagList *diags) {
  Ast *ast = ast_new(arena);
  if (!ast) { diags->failed = true; return NULL; }
  bool parsed = syntax_parse_into(ast, source, diags);
  assert(parsed == !diag_has_errors(diags));
  (void)parsed;
  return ast;
}

// ---- examples in doc comments -------------------------------------------------------------

static Token made(const Parser *p, int kind) { return (Token){p->last_end, p->last_end, (uint8_t)kind, TOKEN_VIRTUAL, 0}; }

// Parsed as the one statement of a test: `test "" { expect … }`.
Expr *parser__example(Parser *outer, Span part) {
  Parser p;
  if (!parser_init(&p, outer->ast, outer->source, outer->diags, part)) return NULL;
  p.decls = build__list(&p);
  static const int BEFORE[] = {T_TEST, T_STRING, T_LBRACE, T_EXPECT}, BEHIND[] = {T_NL, T_RBRACE, T_NL, T_END};
  for (size_t i = 0; i < countof(BEFORE); i++) feed(&p, made(&p, BEFORE[i]));
  Expr *found = NULL;
  for (;;) {
    Token token = lexer_next(&p.lexer);
    int kind = token.kind;
    if (kind == T_END || p.lexer.is_stopped) break;
    if (kind == T_NL) continue;
    if (!grammar__accepts(p.grammar, &kind, 1)) { expect_report(&p, token); goto done; }
    feed(&p, token);
  }
  for (size_t i = 0; i < countof(BEHIND); i++) {
    Token token = made(&p, BEHIND[i]);
    int kind = token.kind;
    if (!grammar__accepts(p.grammar, &kind, 1)) { expect_report(&p, token); goto done; }
    feed(&p, token);
  }
  DeclList decls = finish_decls(&p);
  if (decls.count == 1 && decls.items) {
    const StmtBlock *block = decls.items[0]->function.block;
    if (block && block->stmts.count == 1 && block->stmts.items[0]->kind == STMT_EXPECT) found = block->stmts.items[0]->value;
  }
done:
  parser_free(&p);
  return found;
}
