// The layout pass: decides which line ends count, makes names of words that no keyword fits, and repairs brackets.
//
// One token of context behind and up to three ahead are enough for every rule, so tokens are never stored. Brackets are
// balanced here, before the grammar sees them: a missing one is reported with both its places and put in as a virtual
// token, a stray one is reported and left out, and the parser's own recovery may count on pairs.
#include <assert.h>

#include "compiler/syntax/lexer.h"

typedef struct TokenFacts { const char *name, *words; bool is_reserved, is_soft; } TokenFacts;

static const TokenFacts FACTS[TOKEN_KINDS_MAX] = {
  [T_END] = {"END", "the end of the file", false, false},
#define RESERVED(token, words) [T_##token] = {#token, words, true, false},
#define SOFT(token, words) [T_##token] = {#token, words, false, true},
#define SIGN(token, words) [T_##token] = {#token, words, false, false},
#define OTHER(token, words) [T_##token] = {#token, words, false, false},
#include "compiler/syntax/token.def"
#undef RESERVED
#undef SOFT
#undef SIGN
#undef OTHER
};

const char *token_words(int kind) {
  assert(kind >= 0 && kind < TOKEN_KINDS_MAX);
  return FACTS[kind].words ? FACTS[kind].words : "";
}
const char *token_name(int kind) { return FACTS[kind].name ? FACTS[kind].name : ""; }
bool token_is_reserved(int kind) { return FACTS[kind].is_reserved; }
bool token_is_soft(int kind) { return FACTS[kind].is_soft; }

bool token_starts_decl(int kind) {
  switch (kind) {
    case T_APP: case T_USE: case T_TYPE: case T_ENUM: case T_RECORD: case T_STATE: case T_TABLE: case T_ERROR: case T_ROLE:
    case T_SETTING: case T_INPUT: case T_RECEIVE: case T_ACTION: case T_FN: case T_VIEW: case T_OUTPUT: case T_TIMER:
    case T_PAGE: case T_TEST: case T_ALWAYS: case T_START: case T_MIGRATE: case T_DROP: return true;
    default: return false;
  }
}

static uint32_t hash_word(const char *word, size_t len) {
  uint32_t hash = (uint32_t)len;
  for (size_t i = 0; i < len; i++) hash = hash * 31 + (uint8_t)word[i];
  return hash % KEYWORD_SLOTS;
}

static void fill_keywords(Lexer *lexer) {
  for (int kind = 1; kind < TOKEN_KINDS_MAX; kind++) {
    if (!FACTS[kind].is_reserved && !FACTS[kind].is_soft) continue;
    uint32_t slot = hash_word(FACTS[kind].words, strlen(FACTS[kind].words));
    while (lexer->keyword_slots[slot]) slot = (slot + 1) % KEYWORD_SLOTS;
    lexer->keyword_slots[slot] = (uint8_t)kind;
  }
}

int lexer__keyword(const Lexer *lexer, const char *word, size_t len) {
  for (uint32_t slot = hash_word(word, len);; slot = (slot + 1) % KEYWORD_SLOTS) {
    int kind = lexer->keyword_slots[slot];
    if (!kind) return T_ID;
    const char *known = FACTS[kind].words;
    if (strncmp(known, word, len) == 0 && !known[len]) return kind;
  }
}

void lexer_init(Lexer *lexer, const Source *source, Span part, Arena *arena, DiagList *diags) {
  memset(lexer, 0, sizeof *lexer);
  lexer->source = source;
  lexer->arena = arena;
  lexer->diags = diags;
  lexer->cursor = lexer->line = source->text.ptr + (span_is_none(part) ? 0 : part.start - source->base);
  lexer->end = span_is_none(part) ? source->text.ptr + source->text.len : source->text.ptr + (part.end - source->base);
  lexer->line_is_fresh = true;
  lexer->previous = (Token){.start = source->base, .end = source->base, .kind = T_NL};
  fill_keywords(lexer);
}

// ---- looking ahead ------------------------------------------------------------------------

static Token *ahead_at(Lexer *lexer, uint32_t index) { return &lexer->ahead[(lexer->ahead_first + index) % LEXER_AHEAD]; }

static void scan_ahead(Lexer *lexer, uint32_t index) {
  while (lexer->ahead_count <= index) {
    Token token = lexer__scan(lexer);
    bool is_second_newline = token.kind == T_NL && lexer->ahead_count && ahead_at(lexer, lexer->ahead_count - 1)->kind == T_NL;
    if (!is_second_newline) *ahead_at(lexer, lexer->ahead_count++) = token;
  }
}

static inline Token peek(Lexer *lexer, uint32_t index) {
  assert(index < LEXER_AHEAD);
  if (lexer->ahead_count <= index) scan_ahead(lexer, index);
  return *ahead_at(lexer, index);
}

static void drop_first(Lexer *lexer) {
  assert(lexer->ahead_count > 0);
  lexer->ahead_count--;
  lexer->ahead_first = (lexer->ahead_first + 1) % LEXER_AHEAD;
}

// A declaration word in column 1 with what must follow it; `index` is its place ahead.
static bool is_declaration(Lexer *lexer, uint32_t index) {
  Token token = peek(lexer, index);
  if (token.indent != 0 || !(token.flags & TOKEN_FIRST) || !token_starts_decl(token.kind)) return false;
  int next = peek(lexer, index + 1).kind;
  switch (token.kind) {
    case T_TEST: case T_ALWAYS: case T_USE: return next == T_STRING || next == T_STRBEG;
    case T_START: return next == T_LBRACE;
    case T_STATE: return next == T_LBRACE || token_is_word(next);
    case T_DROP: return next == T_TABLE || next == T_STATE;
    default: return token_is_word(next);
  }
}

// ---- line ends ----------------------------------------------------------------------------

static bool goes_on_after(int kind) {
  switch (kind) {
    case T_NL: case T_LBRACE: case T_LPAREN: case T_LBRACK: case T_COMMA: case T_EQ: case T_PLUSEQ: case T_MINUSEQ: case T_STAREQ:
    case T_ARROW: case T_FATARROW: case T_COLON: case T_DOT: case T_QDOT: case T_OR: case T_AND: case T_NOT: case T_EQEQ: case T_NE:
    case T_LT: case T_LE: case T_GT: case T_GE: case T_IN: case T_QQ: case T_DOTDOT: case T_PLUS: case T_MINUS: case T_STAR:
    case T_SLASH: case T_PERCENT: case T_ELSE: case T_THEN: case T_PIPE: return true;
    default: return false;
  }
}

static bool goes_on_before(int kind) {
  switch (kind) {
    case T_DOT: case T_QDOT: case T_RPAREN: case T_RBRACK: case T_COMMA: case T_OR: case T_AND: case T_IN: case T_ELSE: case T_THEN:
    case T_QQ: case T_PLUS: case T_STAR: case T_SLASH: case T_PERCENT: case T_EQEQ: case T_NE: case T_LT: case T_LE: case T_GT:
    case T_GE: case T_DOTDOT: case T_LBRACE: case T_PIPE: case T_EQ: case T_ARROW: case T_FATARROW: case T_ANNOT: return true;
    default: return false;
  }
}

static bool is_clause_word(int kind) {
  return kind == T_WHERE || kind == T_ORDER || kind == T_GROUP || kind == T_SKIP || kind == T_TAKE || kind == T_SELECT || kind == T_WITH;
}

// The next line begins what cannot go on with this one, a statement or `name: …`: so the value that is missing is missed
// here, not there.
static bool breaks_off(Lexer *lexer, int previous) {
  switch (previous) {
    case T_NL: case T_LBRACE: case T_COMMA: case T_FATARROW: case T_ELSE: case T_PIPE: return false;
    default: break;
  }
  if (lexer->opens[lexer->depth].token.kind != T_LBRACE) return false;
  int next = peek(lexer, 1).kind;
  bool is_stmt = next == T_LET || next == T_VAR || next == T_RETURN || next == T_REJECT || next == T_REQUIRE || next == T_DELETE || next == T_FOR;
  return is_stmt || next == T_RBRACE || (token_is_word(next) && peek(lexer, 2).kind == T_COLON);
}

// Does the line end (the first token ahead) end a statement, field or case?
static bool newline_counts(Lexer *lexer) {
  int previous = lexer->previous.kind, open = lexer->opens[lexer->depth].token.kind;
  if (previous == T_NL) return false;
  if (lexer->depth == 0 && is_declaration(lexer, 1)) return true;
  if (open == T_LPAREN || open == T_LBRACK) return false;
  if (goes_on_after(previous)) return breaks_off(lexer, previous);
  bool in_query = lexer->opens[lexer->depth].in_query != 0;
  if (in_query && (previous == T_BY || (is_clause_word(previous) && previous != T_ORDER && previous != T_GROUP && previous != T_WITH))) return false;
  int next = peek(lexer, 1).kind, second = peek(lexer, 2).kind;
  if (next == T_RBRACE) return false;  // a virtual one is put before it
  bool is_name = token_is_word(next) && second == T_COLON;
  // `..x` on a line of its own is a member of a record.
  if (next == T_DOTDOT && open == T_LBRACE) return true;
  if (goes_on_before(next) && !is_name) return false;
  if (!in_query || is_name) return true;
  bool goes_on = (is_clause_word(next) && second != T_EQ) || (next == T_FROM && peek(lexer, 3).kind == T_IN);
  return !goes_on;
}

// ---- words --------------------------------------------------------------------------------

// A keyword that cannot be one here becomes a name.
static void settle_word(Lexer *lexer, Token *token) {
  int kind = token->kind, previous = lexer->previous.kind, next = peek(lexer, 1).kind;
  if (kind == T_ID || !token_is_word(kind)) return;
  bool is_name = previous == T_DOT || previous == T_QDOT || (next == T_COLON && kind != T_UNDERSCORE);
  switch (kind) {
    case T_FROM: is_name |= !(token_is_word(next) && peek(lexer, 2).kind == T_IN); break;
    case T_SEND: case T_UPDATE: case T_RECEIVE: is_name |= next == T_LPAREN; /* fall through */
    case T_EXPECT: case T_ADVANCE: case T_AS:
      is_name |= next == T_EQ || next == T_PLUSEQ || next == T_MINUSEQ || next == T_STAREQ || next == T_DOT || next == T_QDOT;
      break;
    default: break;
  }
  if (is_name) token->kind = T_ID;
}

// ---- brackets -----------------------------------------------------------------------------

static int opener_of(int closer) {
  return closer == T_RPAREN ? T_LPAREN : closer == T_RBRACK ? T_LBRACK : closer == T_RBRACE ? T_LBRACE : T_STRBEG;
}
static int closer_of(int opener) {
  return opener == T_LPAREN ? T_RPAREN : opener == T_LBRACK ? T_RBRACK : opener == T_LBRACE ? T_RBRACE : T_STREND;
}

Token lexer_innermost(const Lexer *lexer) {
  return lexer->depth ? lexer->opens[lexer->depth].token : (Token){.kind = T_END};
}

// An error told already explains why this bracket has no partner: one on the line of a brace, or on the line of a ( or [
// and behind it.
static bool is_explained(const Lexer *lexer, Token open) {
  const char *text = lexer->source->text.ptr, *from = text + (open.start - lexer->source->base);
  const char *line_end = memchr(from, '\n', (size_t)(lexer->end - from));
  while (from > text && from[-1] != '\n') from--;
  Span region = {lexer->source->base + (uint32_t)(from - text), UINT32_MAX};
  if (open.kind == T_LBRACE) region.start = open.start;
  if (open.kind == T_LBRACE && line_end) region.end = lexer->source->base + (uint32_t)(line_end - text);
  return diag_has_error_in(lexer->diags, region);
}

// The innermost open bracket has no partner; `here` shows it.
static void report_unclosed(Lexer *lexer, Token here, const char *why) {
  Token open = lexer->opens[lexer->depth].token;
  bool is_brace = open.kind == T_LBRACE;
  Token suspect = lexer->suspect_open;
  bool has_suspect = is_brace && suspect.kind && suspect.start > open.start;
  Token blamed = has_suspect ? suspect : open;
  if (open.kind == T_STRBEG || is_explained(lexer, blamed)) return;
  Diag *diag = diag_add(lexer->diags, DIAG_E002, token_span(blamed), "this `%s` is not closed", token_words(blamed.kind));
  if (has_suspect)
    diag_label(lexer->diags, diag, token_span(lexer->suspect_close), "this `}` stands further left than the line of that `{`, so it seems to close an outer one");
  diag_label(lexer->diags, diag, token_span(here), "%s", why);
  diag_help(lexer->diags, diag, "put a `%s` where it ends", token_words(closer_of(blamed.kind)));
}

static Token give(Lexer *lexer, Token token) {
  if (lexer->depth == 0 && (token.flags & TOKEN_FIRST) && token.indent == 0) lexer->decl_start = token.start;
  lexer->previous = token;
  return token;
}

static Token give_virtual(Lexer *lexer, int kind) {
  uint32_t place = lexer->previous.end;
  return give(lexer, (Token){place, place, (uint8_t)kind, TOKEN_VIRTUAL, lexer->previous.indent});
}

// One of the closers that are due.
static Token give_closer(Lexer *lexer) {
  int open = lexer->opens[lexer->depth].token.kind, previous = lexer->previous.kind;
  assert(lexer->depth > 0 && lexer->closers_due <= lexer->depth);
  if (open == T_LBRACE && previous != T_NL && previous != T_LBRACE && previous != T_COMMA) return give_virtual(lexer, T_NL);
  lexer->depth--;
  lexer->closers_due--;
  return give_virtual(lexer, closer_of(open));
}

static Token give_opener(Lexer *lexer, Token token) {
  if (lexer->depth == NESTING_MAX) {
    diag_add(lexer->diags, DIAG_E023, token_span(token), "brackets nest more than %d deep here (NESTING_MAX)", NESTING_MAX);
    lexer->is_stopped = true;
    lexer->ahead_count = 0;
    return give(lexer, (Token){token.start, token.start, T_END, TOKEN_VIRTUAL, 0});
  }
  lexer->opens[++lexer->depth] = (Open){token, 0};
  return give(lexer, token);
}

// How far down the stack a partner for the closer stands; 0 when there is none. A text's braces are a wall.
static uint32_t find_partner(const Lexer *lexer, int closer) {
  int opener = opener_of(closer);
  for (uint32_t at = lexer->depth; at > 0; at--) {
    int kind = lexer->opens[at].token.kind;
    if (kind == opener) return at;
    if (kind == T_STRBEG) return 0;
  }
  return 0;
}

static void note_suspect(Lexer *lexer, Token closer, Token opener) {
  if (closer.kind != T_RBRACE || !(closer.flags & TOKEN_FIRST) || closer.indent >= opener.indent || lexer->suspect_open.kind) return;
  lexer->suspect_open = opener;
  lexer->suspect_close = closer;
}

// A closer without a partner stands where the innermost bracket is due to be closed: then it is taken for a slip of the
// finger. A `(` or `[` is, always; a `{` when the closer ends its line, and stands first in it or the `{` on the same line.
static bool is_mistyped_closer(Lexer *lexer, Token closer) {
  Token open = lexer->opens[lexer->depth].token;
  if (!lexer->depth || open.kind == T_STRBEG || closer.kind == T_STREND) return false;
  if (open.kind != T_LBRACE) return true;
  const char *text = lexer->source->text.ptr;
  uint32_t from = open.start - lexer->source->base, to = closer.start - lexer->source->base;
  int next = peek(lexer, 1).kind;
  return (next == T_NL || next == T_END) && ((closer.flags & TOKEN_FIRST) || !memchr(text + from, '\n', to - from));
}

// Makes the first token ahead the closer that it should be.
static void mend_closer(Lexer *lexer, Token closer) {
  Token open = lexer->opens[lexer->depth].token;
  int wanted = closer_of(open.kind);
  if (!diag_has_error_in(lexer->diags, (Span){lexer->decl_start, UINT32_MAX})) {
    Diag *diag = diag_add(lexer->diags, DIAG_E002, token_span(closer), "this `%s` cannot close a `%s`", token_words(closer.kind), token_words(open.kind));
    diag_label(lexer->diags, diag, token_span(open), "open here is this `%s`", token_words(open.kind));
    diag_fix(lexer->diags, diag, token_span(closer), str_from(token_words(wanted)));
  }
  ahead_at(lexer, 0)->kind = (uint8_t)wanted;
}

// A closer that was written. False: it was left out or mended, or others come first.
static bool take_closer(Lexer *lexer, Token token, Token *out_token) {
  uint32_t partner = find_partner(lexer, token.kind);
  if (!partner && is_mistyped_closer(lexer, token)) { mend_closer(lexer, token); return false; }
  if (!partner) {
    drop_first(lexer);
    // After a mistake in this declaration its brackets are not to be trusted.
    if (diag_has_error_in(lexer->diags, (Span){lexer->decl_start, UINT32_MAX})) return false;
    Diag *diag = diag_add(lexer->diags, DIAG_E001, token_span(token), "this `%s` closes nothing", token_words(token.kind));
    if (lexer->depth) {
      Token open = lexer->opens[lexer->depth].token;
      diag_label(lexer->diags, diag, token_span(open), "open here is this `%s`", open.kind == T_STRBEG ? "{" : token_words(open.kind));
    }
    diag_help(lexer->diags, diag, "remove it");
    return false;
  }
  if (partner < lexer->depth) {
    report_unclosed(lexer, token, "it is still open here");
    lexer->closers_due = lexer->depth - partner;
    return false;
  }
  int previous = lexer->previous.kind;
  if (token.kind == T_RBRACE && previous != T_NL && previous != T_LBRACE && previous != T_COMMA) {
    *out_token = give_virtual(lexer, T_NL);
    return true;
  }
  note_suspect(lexer, token, lexer->opens[lexer->depth].token);
  drop_first(lexer);
  lexer->depth--;
  if (lexer->opens[lexer->depth].in_query == T_FOR) lexer->opens[lexer->depth].in_query = 0;
  *out_token = give(lexer, token);
  return true;
}

// The end of the file, or a declaration, while brackets are open.
static void close_all(Lexer *lexer, Token here, bool is_end) {
  if (is_end) report_unclosed(lexer, here, "it is still open at the end of the file");
  else report_unclosed(lexer, here, "it is still open here, where a declaration starts");
  lexer->closers_due = lexer->depth;
  lexer->suspect_open.kind = 0;
}

// A semicolon, which is a line's end elsewhere, between things that are listed.
static bool is_listing_semicolon(const Lexer *lexer, Token token) {
  int open = lexer->opens[lexer->depth].token.kind;
  return token.kind == T_NL && (open == T_LPAREN || open == T_LBRACK) && token.end > token.start && lexer->source->text.ptr[token.start - lexer->source->base] == ';';
}

// It stands for a comma: the message about it, told when it was scanned, says so.
static void make_comma(Lexer *lexer, Token token) {
  ahead_at(lexer, 0)->kind = T_COMMA;
  for (uint32_t i = lexer->diags->count; i > 0; i--) {
    Diag *diag = lexer->diags->items[i - 1];
    if (diag->code != DIAG_E006 || diag->span.start != token.start) continue;
    diag->fix_text = STR(",");
    return;
  }
}

// ---- the pass -----------------------------------------------------------------------------

// Gives the first token ahead, or changes something and returns false.
static bool step(Lexer *lexer, Token *out_token) {
  if (lexer->closers_due) { *out_token = give_closer(lexer); return true; }
  Token token = peek(lexer, 0);
  bool is_end = token.kind == T_END;
  if (is_listing_semicolon(lexer, token)) {
    make_comma(lexer, token);
    token.kind = T_COMMA;
  }
  if (token.kind == T_NL) {
    bool counts = newline_counts(lexer);
    drop_first(lexer);
    if (!counts) return false;
    lexer->opens[lexer->depth].in_query = 0;
    if (lexer->depth == 0) lexer->suspect_open.kind = 0;
    *out_token = give(lexer, token);
    return true;
  }
  if (lexer->depth && !lexer->is_stopped && (is_end || is_declaration(lexer, 0))) { close_all(lexer, token, is_end); return false; }
  bool needs_newline = lexer->previous.kind != T_NL && (is_end || (lexer->depth == 0 && is_declaration(lexer, 0)));
  if (needs_newline) { *out_token = give_virtual(lexer, T_NL); return true; }
  settle_word(lexer, &token);
  switch (token.kind) {
    case T_END: *out_token = give(lexer, token); return true;
    case T_RPAREN: case T_RBRACK: case T_RBRACE: case T_STREND: return take_closer(lexer, token, out_token);
    case T_FROM: case T_FOR: lexer->opens[lexer->depth].in_query = token.kind; break;
    default: break;
  }
  drop_first(lexer);
  bool opens = token.kind == T_LPAREN || token.kind == T_LBRACK || token.kind == T_LBRACE || token.kind == T_STRBEG;
  *out_token = opens ? give_opener(lexer, token) : give(lexer, token);
  return true;
}

Token lexer_next(Lexer *lexer) {
  Token token;
  if (lexer->previous.kind == T_END) return lexer->previous;
  while (!step(lexer, &token)) {}
  return token;
}

const DocLines *lexer_doc(const Lexer *lexer, uint32_t start) {
  uint32_t low = 0, high = lexer->doc_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    uint32_t follows = lexer->docs[middle].follows;
    if (follows && follows < start) low = middle + 1;
    else high = middle;
  }
  return low < lexer->doc_count && lexer->docs[low].follows == start ? &lexer->docs[low] : NULL;
}
