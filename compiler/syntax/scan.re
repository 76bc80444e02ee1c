// The scanner: bytes to raw tokens, newlines included (layout.c decides which of them count). Tokens never span lines,
// and a zero byte stands behind every source, so no rule can run past the end.
#include "compiler/syntax/lexer.h"
#include "runtime/base/utf8.h"

/*!include:re2c "unicode_categories.re" */

static uint32_t at(const Lexer *lexer, const char *place) { return lexer->source->base + (uint32_t)(place - lexer->source->text.ptr); }

static Token make(Lexer *lexer, int kind, const char *from, const char *to) {
  Token token = {at(lexer, from), at(lexer, to), (uint8_t)kind, 0, 0};
  if (lexer->line_is_fresh && kind != T_NL) {
    lexer->line_is_fresh = false;
    size_t indent = (size_t)(from - lexer->line);
    lexer->indent = indent > UINT16_MAX ? UINT16_MAX : (uint32_t)indent;
    token.flags |= TOKEN_FIRST;
  }
  if (lexer->is_spaced) token.flags |= TOKEN_SPACED;
  lexer->is_spaced = false;
  token.indent = (uint16_t)lexer->indent;
  if (lexer->doc_is_pending && kind != T_NL) {
    lexer->docs[lexer->doc_count - 1].follows = token.start;
    lexer->doc_is_pending = false;
  }
  return token;
}

static Diag *complain(Lexer *lexer, DiagCode code, const char *from, const char *to, const char *words) {
  return diag_add(lexer->diags, code, (Span){at(lexer, from), at(lexer, to)}, "%s", words);
}

// A sign of another language: one message with its fix.
static void foreign(Lexer *lexer, const char *from, const char *words, const char *replacement) {
  Diag *diag = complain(lexer, DIAG_E006, from, lexer->cursor, words);
  diag_fix(lexer->diags, diag, (Span){at(lexer, from), at(lexer, lexer->cursor)}, str_from(replacement));
}

static bool push_mode(Lexer *lexer, char mode, const char *from) {
  if (lexer->mode_count == NESTING_MAX) {
    complain(lexer, DIAG_E023, from, from + 1, "brackets nest more than 200 deep here (NESTING_MAX)");
    lexer->is_stopped = true;
    return false;
  }
  lexer->modes[lexer->mode_count] = (uint8_t)mode;
  lexer->mode_starts[lexer->mode_count++] = at(lexer, from);
  return true;
}

// Grows a list in the arena by doubling; false when there is no memory.
static bool make_room(Lexer *lexer, void **items, uint32_t *room, uint32_t count, size_t size) {
  if (count < *room) return true;
  uint32_t more = *room ? *room * 2 : 32;
  void *grown = arena_grow(lexer->arena, *items, *room * size, more * size);
  if (!grown) { lexer->diags->failed = true; return false; }
  *items = grown;
  *room = more;
  return true;
}

static void keep_comment(Lexer *lexer, const char *from) {
  if (!lexer->keep_comments) return;
  if (!make_room(lexer, (void **)&lexer->comments, &lexer->comment_room, lexer->comment_count, sizeof(Span))) return;
  lexer->comments[lexer->comment_count++] = (Span){at(lexer, from), at(lexer, lexer->cursor)};
}

static void keep_doc(Lexer *lexer, const char *from) {
  keep_comment(lexer, from);
  if (lexer->doc_is_pending) { lexer->docs[lexer->doc_count - 1].span.end = at(lexer, lexer->cursor); return; }
  if (!make_room(lexer, (void **)&lexer->docs, &lexer->doc_room, lexer->doc_count, sizeof(DocLines))) return;
  lexer->docs[lexer->doc_count++] = (DocLines){{at(lexer, from), at(lexer, lexer->cursor)}, 0};
  lexer->doc_is_pending = true;
}

static bool text_is_open(const Lexer *lexer) {
  for (uint32_t i = lexer->mode_count; i > 0; i--)
    if (lexer->modes[i - 1] == '"') return true;
  return false;
}

// The rest of a text from the cursor on, which stands behind its `"` or behind the `}` of an interpolation.
static Token scan_text(Lexer *lexer, const char *from, bool is_first) {
  for (const char *c = lexer->cursor;;) {
    switch (*c) {
      case 0: case '\n': {
        const char *end = c > from && c[-1] == '\r' ? c - 1 : c;
        if (!text_is_open(lexer)) {  // inside the braces of another text it is that brace which is not closed
          Diag *diag = complain(lexer, DIAG_E003, from, is_first ? from + 1 : end, "this text is not closed before the end of its line");
          diag_help(lexer->diags, diag, "put a `\"` at its end; write \\n for a line break inside a text");
        }
        diag_poison(lexer->diags, (Span){at(lexer, from), at(lexer, c)});
        lexer->cursor = c;
        return make(lexer, is_first ? T_STRING : T_STREND, from, end);
      }
      case '\\':
        c++;
        if (c[0] == 'u' && c[1] == '{') {
          c += 2;
          while (*c && *c != '}' && *c != '"' && *c != '\n') c++;
          if (*c == '}') c++;
        } else if (*c && *c != '\n') {
          c++;
        }
        break;
      case '"':
        lexer->cursor = c + 1;
        return make(lexer, is_first ? T_STRING : T_STREND, from, c + 1);
      case '{':
        lexer->cursor = c + 1;
        if (!push_mode(lexer, '"', c)) return make(lexer, T_END, c, c);
        return make(lexer, is_first ? T_STRBEG : T_STRMID, from, c + 1);
      default: c++;
    }
  }
}

// A line ends inside the `{ }` of a text: closes the texts that are open, innermost first, one a call.
static Token close_text(Lexer *lexer, const char *here) {
  while (lexer->modes[lexer->mode_count - 1] != '"') lexer->mode_count--;
  uint32_t brace = lexer->mode_starts[--lexer->mode_count];
  diag_drop_errors_in(lexer->diags, (Span){brace + 1, at(lexer, here) + 1});
  Diag *diag = diag_add(lexer->diags, DIAG_E003, (Span){brace, brace + 1}, "this `{` inside a text is not closed before the end of its line");
  diag_help(lexer->diags, diag, "close it with `}` and the text with `\"`; a brace that is meant as a letter is written \\{");
  lexer->cursor = here;
  Token token = make(lexer, T_STREND, here, here);
  token.flags |= TOKEN_VIRTUAL;
  return token;
}

// 'text' or `text`, on one line: taken as a text, with a message.
static Token scan_foreign_text(Lexer *lexer, const char *from, char quote) {
  const char *c = lexer->cursor;
  while (*c && *c != '\n' && *c != quote) c++;
  if (*c != quote) {
    complain(lexer, DIAG_E006, from, from + 1, "texts stand in double quotes");
    return make(lexer, T_STRING, from, lexer->cursor);
  }
  lexer->cursor = c + 1;
  Diag *diag = complain(lexer, DIAG_E006, from, c + 1, "texts stand in double quotes");
  if (diag == &lexer->diags->spare) return make(lexer, T_STRING, from, c + 1);
  Str fixed = arena_format(lexer->arena, "\"%.*s\"", (int)(c - from - 1), from + 1);
  diag_fix(lexer->diags, diag, (Span){at(lexer, from), at(lexer, c + 1)}, fixed.ptr ? fixed : STR("\"\""));
  return make(lexer, T_STRING, from, c + 1);
}

static void poison_line(Lexer *lexer, const char *from) {
  const char *end = memchr(from, '\n', (size_t)(lexer->end - from));
  diag_poison(lexer->diags, (Span){at(lexer, from), at(lexer, end ? end : lexer->end)});
}

// A character that belongs nowhere. What else seems wrong on its line follows from it.
static void strange(Lexer *lexer, const char *from) {
  uint32_t point = 0;
  size_t rest = lexer->source->text.len - (size_t)(from - lexer->source->text.ptr);
  size_t len = utf8_decode((Str){from, rest}, &point);
  if (!len) len = 1;
  lexer->cursor = from + len;
  Diag *diag;
  if (point > 0x20 && point < 0x7F)
    diag = diag_add(lexer->diags, DIAG_E016, (Span){at(lexer, from), at(lexer, lexer->cursor)}, "`%c` means nothing here", (int)point);
  else
    diag = diag_add(lexer->diags, DIAG_E016, (Span){at(lexer, from), at(lexer, lexer->cursor)}, "the character U+%04X means nothing here", point);
  if (point >= 0x7F || point < 0x20) {
    diag_help(lexer->diags, diag, "remove it; inside a text it may stand as \\u{%X}", point);
    diag_fix(lexer->diags, diag, (Span){at(lexer, from), at(lexer, lexer->cursor)}, STR(""));
  }
  if (diag != &lexer->diags->spare) poison_line(lexer, from);
}

static void check_name(Lexer *lexer, const char *from) {
  if (lexer->cursor - from <= NAME_BYTES_MAX) return;
  complain(lexer, DIAG_E025, from, from + 1, "this name is longer than 255 bytes (NAME_BYTES_MAX)");
}

// The automaton runs on a local; TAKE hands its place to the functions above.
#define TAKE lexer->cursor = cursor
#define GIVE(kind) do { TAKE; return make(lexer, kind, from, cursor); } while (0)

Token lexer__scan(Lexer *lexer) {
  const char *YYMARKER, *YYCTXMARKER, *from, *cursor;
  for (;;) {
    from = cursor = lexer->cursor;
    if (diag_is_full(lexer->diags)) lexer->is_stopped = true;  // nothing more would be told
    if (from >= lexer->end || lexer->is_stopped) {
      if (lexer->mode_count && text_is_open(lexer) && !lexer->is_stopped) return close_text(lexer, from);
      return make(lexer, T_END, from, from);
    }
/*!re2c
  re2c:define:YYCTYPE = 'unsigned char';
  re2c:define:YYCURSOR = 'cursor';
  re2c:yyfill:enable = 0;

  id_start = L | Nl | "_";
  id_cont = id_start | Mn | Mc | Nd;
  d = [0-9];
  int = d ("_"? d)*;
  unit = "us" | "ms" | "s" | "min" | "h" | "d" | "w";
  date = d{4} "-" d{2} "-" d{2};
  time_of_day = d{2} ":" d{2} (":" d{2} ("." d+)?)?;
  zone = "Z" | [+-] d{2} ":" d{2};

  [ \t]+            { TAKE; lexer->is_spaced = true; continue; }
  "\r"? "\n"        { TAKE; if (lexer->mode_count && text_is_open(lexer)) return close_text(lexer, from);
                      Token newline = make(lexer, T_NL, from, lexer->cursor);
                      lexer->line = lexer->cursor; lexer->line_is_fresh = true; lexer->is_spaced = true;
                      return newline; }
  "///" ([^/\n\x00] [^\n\x00]*)? { TAKE; keep_doc(lexer, from); lexer->is_spaced = true; continue; }
  "//" [^\n\x00]*   { TAKE; keep_comment(lexer, from); lexer->is_spaced = true; continue; }
  "/*"              { TAKE; while (*lexer->cursor && lexer->cursor < lexer->end && !(lexer->cursor[0] == '*' && lexer->cursor[1] == '/')) lexer->cursor++;
                      if (lexer->cursor < lexer->end) lexer->cursor += 2;
                      complain(lexer, DIAG_E006, from, from + 2, "a comment starts with // and ends with its line");
                      lexer->is_spaced = true; continue; }
  "#" [^\n\x00]*    { TAKE; complain(lexer, DIAG_E006, from, from + 1, "a comment starts with //"); lexer->is_spaced = true; continue; }

  "@" date ("T" time_of_day zone)? { GIVE(T_TIME); }
  "@" d ([0-9A-Za-z:+-] | "." d)* { TAKE; complain(lexer, DIAG_E014, from, lexer->cursor, "a date is written @2026-10-04, a time @2026-10-04T09:00Z or with +02:00 at its end"); GIVE(T_TIME); }
  "@" id_start id_cont* { TAKE; check_name(lexer, from + 1); GIVE(T_ANNOT); }
  int unit          { GIVE(T_DURATION); }
  int "." int       { GIVE(T_DECIMAL); }
  int               { GIVE(T_INT); }
  int ("." int)? id_start id_cont* { TAKE; complain(lexer, DIAG_E013, from, lexer->cursor, "a number runs into letters here"); 
                      GIVE(T_INT); }
  id_start id_cont* { TAKE; int kind = lexer__keyword(lexer, from, (size_t)(lexer->cursor - from)); check_name(lexer, from); GIVE(kind); }

  "\""              { TAKE; return scan_text(lexer, from, true); }
  "{"               { TAKE; if (!push_mode(lexer, '{', from)) continue; GIVE(T_LBRACE); }
  "}"               { TAKE; if (lexer->mode_count && lexer->modes[lexer->mode_count - 1] == '"') { lexer->mode_count--; return scan_text(lexer, from, false); }
                      if (lexer->mode_count) lexer->mode_count--;
                      GIVE(T_RBRACE); }
  "("  { GIVE(T_LPAREN); }   ")"  { GIVE(T_RPAREN); }   "["  { GIVE(T_LBRACK); }  "]"  { GIVE(T_RBRACK); }
  ".." { GIVE(T_DOTDOT); }   "."  { GIVE(T_DOT); }      "?." { GIVE(T_QDOT); }    "??" { GIVE(T_QQ); }
  "?"  { GIVE(T_QUEST); }    "=>" { GIVE(T_FATARROW); } "->" { GIVE(T_ARROW); }   "==" { GIVE(T_EQEQ); }
  "!=" { GIVE(T_NE); }       "<=" { GIVE(T_LE); }       ">=" { GIVE(T_GE); }      "<"  { GIVE(T_LT); }
  ">"  { GIVE(T_GT); }       "+=" { GIVE(T_PLUSEQ); }   "-=" { GIVE(T_MINUSEQ); } "*=" { GIVE(T_STAREQ); }
  "="  { GIVE(T_EQ); }       "+"  { GIVE(T_PLUS); }     "-"  { GIVE(T_MINUS); }   "*"  { GIVE(T_STAR); }
  "/"  { GIVE(T_SLASH); }    "%"  { GIVE(T_PERCENT); }  ","  { GIVE(T_COMMA); }   ":"  { GIVE(T_COLON); }
  "|"  { GIVE(T_PIPE); }

  ";"               { TAKE; foreign(lexer, from, "there are no semicolons: a line ends a statement", ""); GIVE(T_NL); }
  "&&"              { TAKE; foreign(lexer, from, "write `and` for `&&`", "and"); GIVE(T_AND); }
  "||"              { TAKE; foreign(lexer, from, "write `or` for `||`", "or"); GIVE(T_OR); }
  "!"               { TAKE; foreign(lexer, from, "write `not` for `!`", "not "); GIVE(T_NOT); }
  "==="             { TAKE; foreign(lexer, from, "write `==` for `===`", "=="); GIVE(T_EQEQ); }
  "!==" | "<>"      { TAKE; foreign(lexer, from, "two values differ when `!=` holds", "!="); GIVE(T_NE); }
  ":="              { TAKE; foreign(lexer, from, "write `=` for `:=`", "="); GIVE(T_EQ); }
  "++"              { TAKE; foreign(lexer, from, "write `x += 1` for `x++`", " += 1"); continue; }
  "--" / [ \t\r]* [;\n)}] { TAKE; foreign(lexer, from, "write `x -= 1` for `x--`", " -= 1"); continue; }
  "'"               { TAKE; return scan_foreign_text(lexer, from, '\''); }
  "`"               { TAKE; return scan_foreign_text(lexer, from, '`'); }
  "\u201c" | "\u201d" | "\u201e" { TAKE; foreign(lexer, from, "texts stand in straight double quotes", "\""); poison_line(lexer, from); continue; }
  "\x00"            { TAKE; return make(lexer, T_END, from, from); }
  *                 { TAKE; strange(lexer, from); continue; }
*/
  }
}
