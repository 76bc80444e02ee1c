// Most mistakes are one of a few: a sign of another language, a word out of place, a comma or bracket forgotten. Each has a
// recogniser here, tried in order; the first that knows the mistake words it. What none knows gets the exact set of
// what may stand there.
#include "compiler/syntax/expect.h"

#include <assert.h>
#include <stdio.h>

#include "compiler/suggest.h"
#include "runtime/base/utf8.h"

enum { FOUND_BYTES_MAX = 40, LISTED_MAX = 6 };

typedef struct Mistake {
  Parser *p;
  Token token, before, second_before;  // the one that does not fit, and those fed before it
  Span span;
  bool wants_value, wants_operator, wants_name;
} Mistake;

static bool accepts(const Mistake *m, int kind) { return grammar__accepts(m->p->grammar, &kind, 1); }
static bool accepts_before(const Mistake *m, int kind) { return grammar__accepts(m->p->grammar, (int[]){kind, m->token.kind}, 2); }

static Str text_of(const Mistake *m, Token token) {
  Str text = source_text(m->p->source, token_span(token));
  text.len = utf8_cut(text, FOUND_BYTES_MAX);
  return text;
}
static bool is_text(const Mistake *m, Token token, const char *word) { return token_is_word(token.kind) && str_is(text_of(m, token), word); }

static bool is_end(Token token) { return token.kind == T_NL || token.kind == T_END || (token.flags & TOKEN_VIRTUAL); }

static const char *found_words(const Mistake *m, char out[FOUND_BYTES_MAX + 16]) {
  if (is_end(m->token)) return token_words(m->token.kind == T_END ? T_END : T_NL);
  if (m->token.kind == T_STRING || m->token.kind == T_STRBEG) return "a text";
  if (m->token.kind == T_STRMID || m->token.kind == T_STREND) return "`}`";
  Str text = text_of(m, m->token);
  snprintf(out, FOUND_BYTES_MAX + 16, "`" STR_FMT "`", STR_ARG(text));
  return out;
}

// ---- the expected set ---------------------------------------------------------------------

typedef struct Listing { char text[400]; size_t len; uint32_t count; } Listing;

static void list_one(Listing *list, const char *words, bool is_quoted) {
  const char *glue = list->count ? ", " : "";
  if (list->count++ >= LISTED_MAX) return;
  int len = snprintf(list->text + list->len, sizeof list->text - list->len, is_quoted ? "%s`%s`" : "%s%s", glue, words);
  if (len > 0 && list->len + (size_t)len < sizeof list->text) list->len += (size_t)len;
}

static bool is_operator(int kind) {
  switch (kind) {
    case T_OR: case T_AND: case T_EQEQ: case T_NE: case T_LT: case T_LE: case T_GT: case T_GE: case T_IN: case T_QQ: case T_DOTDOT:
    case T_PLUS: case T_MINUS: case T_STAR: case T_SLASH: case T_PERCENT: case T_DOT: case T_QDOT: case T_LPAREN: case T_LBRACK: return true;
    default: return false;
  }
}
static bool starts_value(int kind) {
  switch (kind) {
    case T_ID: case T_INT: case T_DECIMAL: case T_DURATION: case T_TIME: case T_STRING: case T_STRBEG: case T_TRUE: case T_FALSE: case T_NONE:
    case T_NOT: case T_MINUS: case T_LPAREN: case T_LBRACK: case T_LBRACE: case T_IF: case T_MATCH: case T_FROM: case T_INSERT: return true;
    default: return false;
  }
}
static bool is_clause(int kind) {
  switch (kind) {
    case T_WHERE: case T_WITH: case T_GROUP: case T_ORDER: case T_SKIP: case T_TAKE: case T_SELECT: case T_FROM: return true;
    default: return false;
  }
}
static bool starts_stmt(int kind) {
  switch (kind) {
    case T_LET: case T_VAR: case T_IF: case T_FOR: case T_MATCH: case T_RETURN: case T_REJECT: case T_REQUIRE: case T_INSERT: case T_DELETE: return true;
    default: return false;
  }
}

static Listing list_expected(const Mistake *m) {
  Listing list = {.count = 0};
  bool decl = accepts(m, T_TABLE) && accepts(m, T_VIEW) && accepts(m, T_APP) && !accepts(m, T_INT) && !m->wants_name;
  bool stmt = accepts(m, T_LET) && accepts(m, T_RETURN);
  bool clause = accepts(m, T_WHERE) && accepts(m, T_SELECT) && !m->wants_name;
  if (decl) list_one(&list, "a declaration", false);
  if (stmt) list_one(&list, "a statement", false);
  if (m->wants_value && !stmt) list_one(&list, "a value", false);
  if (m->wants_operator) list_one(&list, "an operator", false);
  if (clause) list_one(&list, "a clause", false);
  for (int pass = 0; pass < 2; pass++) {  // signs first, they are what is forgotten most
    for (int kind = 1; kind < TOKEN_KINDS_MAX; kind++) {
      const char *words = token_words(kind);
      bool is_word = token_is_word(kind) && kind != T_ID, is_plain = words[0] == 'a' && strchr(words, ' ');
      if (!*words || is_word != (pass == 1)) continue;
      bool is_covered = (decl && token_starts_decl(kind)) || (stmt && (starts_stmt(kind) || kind == T_ID)) || (m->wants_value && starts_value(kind)) ||
                        (m->wants_operator && is_operator(kind)) || (clause && is_clause(kind)) || (m->wants_name && token_is_soft(kind)) ||
                        (stmt && token_is_soft(kind)) || kind == T_STRBEG;
      if (is_covered || !accepts(m, kind)) continue;
      list_one(&list, words, !is_plain && kind != T_NL && kind != T_STREND && kind != T_STRMID);
    }
  }
  if (list.count > LISTED_MAX) list.len += (size_t)snprintf(list.text + list.len, sizeof list.text - list.len, " …");
  return list;
}

static void report_expected(const Mistake *m) {
  char found[FOUND_BYTES_MAX + 16];
  Listing list = list_expected(m);
  DiagList *diags = m->p->diags;
  if (list.count) diag_add(diags, DIAG_E001, m->span, "expected %s, found %s", list.text, found_words(m, found));
  else diag_add(diags, DIAG_E001, m->span, "%s does not fit here", found_words(m, found));
}

// ---- recognisers: true when the mistake is theirs -----------------------------------------

static bool know_assign(const Mistake *m) {
  DiagList *diags = m->p->diags;
  Diag *diag;
  if (m->token.kind == T_EQ && accepts(m, T_COLON)) {
    diag = diag_add(diags, DIAG_E005, m->span, "write `:` here: inside `{ }` and `( )` a name and its value are joined by `:`");
    diag_fix(diags, diag, m->span, STR(":"));
    return true;
  }
  if (m->token.kind == T_EQ && accepts(m, T_EQEQ)) {
    diag = diag_add(diags, DIAG_E004, m->span, "`=` gives a value to something; to compare, write `==`");
    diag_fix(diags, diag, m->span, STR("=="));
    return true;
  }
  if (m->token.kind == T_COLON && accepts(m, T_ARROW)) {
    diag = diag_add(diags, DIAG_E001, m->span, "the type of a result stands behind `->`");
    diag_fix(diags, diag, m->span, STR(" ->"));
    return true;
  }
  if (m->token.kind == T_COLON && accepts(m, T_EQ)) {
    diag = diag_add(diags, DIAG_E005, m->span, "write `=` here to give a value; `:` is for types and for named values");
    diag_fix(diags, diag, m->span, STR(" ="));
    return true;
  }
  bool is_value_for_type = m->before.kind == T_COLON && starts_value(m->token.kind) && accepts(m, T_LBRACK) && !accepts(m, T_INT);
  if (!is_value_for_type) return false;
  Token start = m->p->history[2];
  if (start.kind == T_LET || start.kind == T_VAR) {
    diag = diag_add(diags, DIAG_E005, token_span(m->before), "write `=` here to give a value; `:` is for types");
    diag_fix(diags, diag, token_span(m->before), STR(" ="));
    return true;
  }
  diag = diag_add(diags, DIAG_E005, m->span, "a type is expected after `:`");
  diag_help(diags, diag, "a value comes after the type: `" STR_FMT ": int = 1`", STR_ARG(text_of(m, m->second_before)));
  return true;
}

static bool know_query(const Mistake *m) {
  DiagList *diags = m->p->diags;
  for (uint32_t i = 0; i < 3; i++) {
    Token earlier = m->p->history[i];
    if (earlier.kind == T_FROM || earlier.kind == T_NL) break;
    if (earlier.kind != T_SELECT || (i == 0 && is_end(m->token))) continue;
    Diag *diag = diag_add(diags, DIAG_E009, token_span(earlier), "a query starts with its rows, `select` comes last");
    diag_help(diags, diag, "from x in Table where … order by … select { x.field }");
    return true;
  }
  if (m->token.kind == T_FROM && m->wants_value) {
    Diag *diag = diag_add(diags, DIAG_E008, m->span, "an inner query needs parentheses");
    diag_help(diags, diag, "write ( before this `from` and ) behind its last clause");
    return true;
  }
  return false;
}

static bool know_while(const Mistake *m) {
  static const char *const WORDS[] = {"while", "until", "loop", "do", "repeat"};
  for (size_t i = 0; i < countof(WORDS); i++) {
    if (m->before.kind != T_ID || !is_text(m, m->before, WORDS[i]) || !accepts(m, T_EQ)) continue;
    Diag *diag = diag_add(m->p->diags, DIAG_E007, token_span(m->before), "there is no `%s`: everything in aup ends", WORDS[i]);
    diag_help(m->p->diags, diag, "loops run over rows, lists and ranges: for x in 1..10 { }");
    return true;
  }
  return false;
}

static bool know_reserved(const Mistake *m) {
  if (!token_is_reserved(m->token.kind) || m->wants_value || !m->wants_name || accepts(m, T_RETURN)) return false;
  Str word = text_of(m, m->token);
  Diag *diag = diag_add(m->p->diags, DIAG_E010, m->span, "`" STR_FMT "` is a reserved word, so it cannot be a name here", STR_ARG(word));
  diag_help(m->p->diags, diag, "choose another name, `my_" STR_FMT "` for example", STR_ARG(word));
  return true;
}

// Words with which other languages start what aup calls by another word.
static const char *foreign_decl(const Mistake *m) {
  static const struct { const char *theirs, *ours; } WORDS[] = {
    {"def", "fn"}, {"func", "fn"}, {"function", "fn"}, {"fun", "fn"}, {"proc", "action"}, {"class", "table"}, {"struct", "record"},
    {"interface", "record"}, {"entity", "table"}, {"model", "table"}, {"const", "fn"}, {"let", "state"}, {"var", "state"}, {"import", "use"},
    {"include", "use"}, {"query", "view"}, {"get", "view"}, {"post", "input"}, {"command", "input"}, {"event", "output"}, {"cron", "timer"},
    {"invariant", "always"}, {"config", "setting"}, {"migration", "migrate"}, {"init", "start"}, {"union", "enum"}};
  for (size_t i = 0; i < countof(WORDS); i++)
    if (is_text(m, m->token, WORDS[i].theirs)) return WORDS[i].ours;
  return NULL;
}

static bool know_decl(const Mistake *m) {
  bool at_decl = accepts(m, T_TABLE) && accepts(m, T_VIEW) && accepts(m, T_APP) && !m->wants_name;
  if (!at_decl || !token_is_word(m->token.kind)) return false;
  Str word = text_of(m, m->token);
  Suggest suggest = suggest_start(word);
  for (int kind = 1; kind < TOKEN_KINDS_MAX; kind++)
    if (token_starts_decl(kind)) suggest_try(&suggest, str_from(token_words(kind)));
  const char *ours = foreign_decl(m);
  if (ours) suggest.best = str_from(ours);
  DiagList *diags = m->p->diags;
  Diag *diag = diag_add(diags, DIAG_E011, m->span, "no declaration starts with `" STR_FMT "`", STR_ARG(word));
  if (suggest.best.len) {
    diag_help(diags, diag, "did you mean `" STR_FMT "`?", STR_ARG(suggest.best));
    diag_fix(diags, diag, m->span, suggest.best);
  } else {
    diag_help(diags, diag, "a declaration starts with a word like state, table, input, view or test; statements stand inside `{ }`");
  }
  return true;
}

static bool know_word(const Mistake *m) {
  DiagList *diags = m->p->diags;
  bool is_else_if = is_text(m, m->token, "elif") || is_text(m, m->token, "elseif") || is_text(m, m->token, "elsif") || is_text(m, m->before, "elif");
  if (is_else_if && !m->wants_name) {
    Diag *diag = diag_add(diags, DIAG_E001, m->span, "write `else if`");
    diag_fix(diags, diag, m->span, STR("else if"));
    return true;
  }
  if (m->token.kind == T_ELSE) {
    diag_add(diags, DIAG_E001, m->span, "this `else` has no `if`, `require` or `let` before it");
    return true;
  }
  if (starts_stmt(m->token.kind) && m->wants_value) {
    diag_add(diags, DIAG_E001, m->span, "`%s` starts a statement; a value is expected here", token_words(m->token.kind));
    return true;
  }
  bool is_const = m->before.kind == T_ID && (is_text(m, m->before, "const") || is_text(m, m->before, "set") || is_text(m, m->before, "mut"));
  if (is_const && token_is_word(m->token.kind) && accepts(m, T_EQ)) {
    Diag *diag = diag_add(diags, DIAG_E001, token_span(m->before), "a local is declared by `let`, or by `var` when it changes");
    diag_fix(diags, diag, token_span(m->before), STR("let"));
    return true;
  }
  return false;
}

static bool know_operator(const Mistake *m) {
  DiagList *diags = m->p->diags;
  switch (m->token.kind) {
    case T_EQEQ: case T_NE: case T_LT: case T_LE: case T_GT: case T_GE: case T_IN:
      if (!accepts(m, T_AND)) return false;
      diag_help(diags, diag_add(diags, DIAG_E001, m->span, "comparisons do not chain"), "write `a < b and b < c`, or put one of them in parentheses");
      return true;
    case T_QUEST:
      if (!m->wants_operator) return false;
      diag_help(diags, diag_add(diags, DIAG_E001, m->span, "there is no `? :`"), "write `if condition then a else b`");
      return true;
    case T_LBRACE:
      // `if x then {`, `let y = T {`: a type's name before a record.
      if (m->before.kind != T_ID || !m->wants_operator || accepts_before(m, T_RPAREN)) return false;
      diag_help(diags, diag_add(diags, DIAG_E001, m->span, "a `{` does not fit here"),
                "a record is written without the name of its type, `{ a: 1 }`; a row is made by `insert Table { … }`");
      return true;
    default: return false;
  }
}

// The innermost bracket that was open before the token.
static Token open_before(const Mistake *m) {
  const Lexer *lexer = &m->p->lexer;
  uint32_t depth = lexer->depth;
  if (depth && lexer->opens[depth].token.start == m->token.start) depth--;
  return depth ? lexer->opens[depth].token : (Token){.kind = T_END};
}

// Nothing but space stands between the bracket and the end of its line: what follows is meant to have lines of its own.
static bool opens_lines(const Mistake *m, Token open) {
  const char *c = m->p->source->text.ptr + (open.end - m->p->source->base);
  while (*c == ' ' || *c == '\t' || *c == '\r') c++;
  return *c == '\n' || *c == '/';
}

static bool say_unclosed(const Mistake *m, Token open, int closer) {
  char found[FOUND_BYTES_MAX + 16];
  DiagList *diags = m->p->diags;
  Diag *diag = diag_add(diags, DIAG_E002, token_span(open), "this `%s` is not closed", token_words(open.kind));
  diag_label(diags, diag, m->span, "a `%s` is missing before %s", token_words(closer), found_words(m, found));
  diag_fix(diags, diag, (Span){m->p->last_end, m->p->last_end}, str_from(token_words(closer)));
  return true;
}

static int closer_of_small(Token open) { return open.kind == T_LPAREN ? T_RPAREN : open.kind == T_LBRACK ? T_RBRACK : 0; }

// The next line goes on as if the bracket of this one were closed.
static bool know_unclosed(const Mistake *m) {
  Token open = open_before(m);
  int closer = closer_of_small(open);
  bool is_next_line = closer && (m->token.flags & TOKEN_FIRST) && !opens_lines(m, open);
  return is_next_line && accepts(m, closer) && say_unclosed(m, open, closer);
}

static bool know_missing(const Mistake *m) {
  DiagList *diags = m->p->diags;
  char found[FOUND_BYTES_MAX + 16];
  if (is_end(m->token)) return false;
  if (accepts_before(m, T_COMMA)) {
    Diag *diag = diag_add(diags, DIAG_E001, m->span, "a comma is missing before %s", found_words(m, found));
    diag_fix(diags, diag, (Span){m->p->last_end, m->p->last_end}, STR(","));
    return true;
  }
  Token open = open_before(m);
  int closer = closer_of_small(open);
  return closer && accepts_before(m, closer) && say_unclosed(m, open, closer);
}

static bool know_line_end(const Mistake *m) {
  if (!is_end(m->token) || !m->wants_value || m->before.kind == T_NL) return false;
  diag_add(m->p->diags, DIAG_E001, m->span, "the line ends where a value is expected");
  return true;
}

static bool know_optional(const Mistake *m) {
  if (m->token.kind != T_QQ || !accepts(m, T_QUEST)) return false;
  Diag *diag = diag_add(m->p->diags, DIAG_E001, m->span, "an optional of an optional does not exist");
  diag_fix(m->p->diags, diag, m->span, STR("?"));
  return true;
}

void expect_report(Parser *p, Token token) {
  Mistake m = {.p = p, .token = token, .before = p->history[0], .second_before = p->history[1], .span = token_span(token)};
  if (is_end(token)) m.span = (Span){p->last_end, p->last_end};  // the end of what was written, not the line break
  m.wants_name = accepts(&m, T_ID);
  m.wants_value = m.wants_name && accepts(&m, T_INT) && accepts(&m, T_MINUS);
  m.wants_operator = accepts(&m, T_PLUS) && accepts(&m, T_AND);
  static bool (*const RECOGNISERS[])(const Mistake *) = {know_unclosed, know_assign,  know_query,   know_while,    know_reserved, know_decl,
                                                          know_word,     know_missing, know_operator, know_optional, know_line_end};
  for (size_t i = 0; i < countof(RECOGNISERS); i++)
    if (RECOGNISERS[i](&m)) return;
  report_expected(&m);
}
