// From a source to tokens with layout: the grammar sees a NL only where a line ends a statement, field or case, and
// words that no keyword fits are names. Tokens come one at a time, so a source of any size needs no list of them.
//
// What the layout does (docs/language.md, "Lexical rules"):
// - Newlines vanish inside ( ) and [ ]; after an opener, comma, operator, `= -> => : else then`; before `. ?. ) ] ,`,
//   operators other than `-`, `else then { | = -> @hint`; and before a clause word inside a query.
// - A virtual NL stands before each `}` and at the end, so that every item ends in a NL or comma.
// - Any word before `:` and after `.` is a name; `from` is a name unless `word in` follows.
// - A declaration word in column 1 closes every open bracket, with a message (E002) that names both places.
//
// Owns:   its doc comments and comment list (arena).
// Thread: one at a time.
// Errors: reported to the DiagList; scanning goes on behind them, so that there is always an end.
// Limits: NESTING_MAX brackets deep (E023, then the lexer ends), NAME_BYTES_MAX a name (E025).
#pragma once
#include "compiler/diag.h"
#include "compiler/source.h"
#include "compiler/syntax/token.h"
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"

enum { NESTING_MAX = 200, NAME_BYTES_MAX = 255, LEXER_AHEAD = 4, KEYWORD_SLOTS = 256 };

typedef struct DocLines { Span span; uint32_t follows; } DocLines;  // follows: where the documented token starts; 0 while unknown

typedef struct Open {
  Token token;
  uint8_t in_query;       // what stands at this depth: 0, T_FROM or T_FOR
} Open;

typedef struct Lexer {
  const Source *source;
  DiagList *diags;
  Arena *arena;
  const char *cursor, *end, *line;  // line: where the cursor's line starts
  uint32_t indent;
  bool line_is_fresh, is_spaced, is_stopped;

  uint8_t modes[NESTING_MAX + 1];   // `{` or `"`: what a `}` closes
  uint32_t mode_starts[NESTING_MAX + 1];
  uint32_t mode_count;

  Token ahead[LEXER_AHEAD];         // scanned, not yet laid out
  uint32_t ahead_first, ahead_count;  // a ring
  Open opens[NESTING_MAX + 1];      // opens[0] is the outside
  uint32_t depth;
  Token previous;                   // the last one given
  uint32_t decl_start;              // where the last word in column 1 outside all brackets stands
  uint32_t closers_due;             // virtual closers to give before the next token
  bool newline_due;
  Token suspect_open, suspect_close;  // a `}` whose indent fits another opener than the one it closes

  DocLines *docs;
  uint32_t doc_count, doc_room;
  bool doc_is_pending;

  bool keep_comments;               // for a formatter: collect `comments`
  Span *comments;
  uint32_t comment_count, comment_room;

  uint8_t keyword_slots[KEYWORD_SLOTS];
} Lexer;

// `part` limits scanning to whole lines of the source; none for all of it.
void lexer_init(Lexer *lexer, const Source *source, Span part, Arena *arena, DiagList *diags);
// The next token; T_END at the end, then again and again.
Token lexer_next(Lexer *lexer);
// How many brackets were open before the last token that was given.
static inline uint32_t lexer_depth(const Lexer *lexer) { return lexer->depth; }
// The innermost open bracket, or a token of kind T_END.
Token lexer_innermost(const Lexer *lexer);
// The doc lines that stand above the token that starts here, or NULL.
const DocLines *lexer_doc(const Lexer *lexer, uint32_t start);

// One token a line, as the grammar sees them: `line:column KIND text`.
void tokens_dump(const Source *source, Arena *arena, DiagList *diags, Buf *out);

// ---- within the room
Token lexer__scan(Lexer *lexer);  // scan.re
int lexer__keyword(const Lexer *lexer, const char *word, size_t len);
