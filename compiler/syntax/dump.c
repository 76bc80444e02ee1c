// The tree and the tokens as text, for `aup dump` and for tests that compare. One node a line, children indented; what a
// line says after its kind is what the node itself knows (names, values, operators). The form is stable: a test that
// compares it shows what a change of the grammar does.
#include <assert.h>
#include <inttypes.h>

#include "compiler/lines.h"
#include "compiler/syntax/ast.h"
#include "compiler/syntax/lexer.h"

typedef struct Dump { const Ast *ast; Buf *out; int indent; } Dump;

static void dump_expr(Dump *d, const char *role, const Expr *expr);
static void dump_block(Dump *d, const char *role, const StmtBlock *block);
static void dump_type(Dump *d, const TypeExpr *type);

// ---- lines --------------------------------------------------------------------------------

static void begin(Dump *d, const char *role, const char *kind) {
  buf_add_format(d->out, "%*s", d->indent * 2, "");
  if (role && *role) buf_add_format(d->out, "%s: ", role);
  buf_add_text(d->out, kind);
}
static void end(Dump *d) { buf_add_char(d->out, '\n'); }
static void add_name(Dump *d, Name name) {
  if (!name.sym) return;
  buf_add_char(d->out, ' ');
  buf_add_str(d->out, ast_str(d->ast, name.sym));
}
static void add_names(Dump *d, NameList names) {
  for (uint32_t i = 0; i < names.count; i++) {
    if (names.items[i].sym) add_name(d, names.items[i]);
    else buf_add_text(d->out, " _");
  }
}

// In quotes, with what would break the line as escapes.
static void add_quoted(Dump *d, Str text) {
  buf_add_text(d->out, " \"");
  for (size_t i = 0; i < text.len; i++) {
    uint8_t c = (uint8_t)text.ptr[i];
    if (c == '"' || c == '\\') buf_add_format(d->out, "\\%c", c);
    else if (c < 0x20 || c == 0x7F) buf_add_format(d->out, "\\u{%X}", c);
    else buf_add_char(d->out, (char)c);
  }
  buf_add_char(d->out, '"');
}

static void dump_names(Dump *d, const char *role, NameList names) {
  if (!names.count) return;
  begin(d, "", role);
  add_names(d, names);
  end(d);
}

static void dump_doc(Dump *d, const Doc *doc) {
  if (!doc) return;
  begin(d, "", "doc");
  add_quoted(d, doc->text);
  end(d);
  d->indent++;
  for (uint32_t i = 0; i < doc->examples.count; i++) dump_expr(d, "example", doc->examples.items[i]);
  d->indent--;
}

// ---- small parts --------------------------------------------------------------------------

static void dump_args(Dump *d, ArgList args) {
  for (uint32_t i = 0; i < args.count; i++) {
    const Arg *arg = &args.items[i];
    if (!arg->name.sym) { dump_expr(d, "arg", arg->value); continue; }
    begin(d, "arg", "named");
    add_name(d, arg->name);
    end(d);
    d->indent++;
    dump_expr(d, "", arg->value);
    d->indent--;
  }
}

static void dump_annots(Dump *d, AnnotList annots) {
  for (uint32_t i = 0; i < annots.count; i++) {
    begin(d, "", "hint");
    add_name(d, annots.items[i].name);
    end(d);
    d->indent++;
    dump_args(d, annots.items[i].args);
    d->indent--;
  }
}

static void dump_error(Dump *d, const ErrorUse *error) {
  if (!error) return;
  begin(d, "", "error");
  add_name(d, error->name);
  end(d);
  d->indent++;
  if (error->text) dump_expr(d, "", error->text);
  dump_args(d, error->args);
  d->indent--;
}

static void dump_mods(Dump *d, ModList mods) {
  static const char *const KINDS[] = {[MOD_KEY] = "key", [MOD_AUTO] = "auto", [MOD_UNIQUE] = "unique", [MOD_INDEX] = "index",
                                      [MOD_MIN] = "min", [MOD_MAX] = "max", [MOD_WAS] = "was", [MOD_ON_DELETE] = "on delete"};
  static const char *const RULES[] = {[DELETE_CASCADE] = " cascade", [DELETE_CLEAR] = " clear", [DELETE_RESTRICT] = " restrict"};
  for (uint32_t i = 0; i < mods.count; i++) {
    begin(d, "", KINDS[mods.items[i].kind]);
    if (mods.items[i].kind == MOD_ON_DELETE) buf_add_text(d->out, RULES[mods.items[i].on_delete]);
    add_name(d, mods.items[i].name);
    end(d);
    d->indent++;
    if (mods.items[i].value) dump_expr(d, "", mods.items[i].value);
    d->indent--;
  }
}

static void dump_fields(Dump *d, const char *role, FieldList fields) {
  for (uint32_t i = 0; i < fields.count; i++) {
    const Field *field = &fields.items[i];
    begin(d, "", role);
    add_name(d, field->name);
    end(d);
    d->indent++;
    dump_doc(d, field->doc);
    dump_type(d, field->type);
    if (field->initial) dump_expr(d, "default", field->initial);
    dump_mods(d, field->mods);
    dump_annots(d, field->annots);
    d->indent--;
  }
}

static void dump_type(Dump *d, const TypeExpr *type) {
  if (!type) return;
  static const char *const KINDS[] = {[TYPE_EXPR_NAME] = "", [TYPE_EXPR_NUMBER] = "number", [TYPE_EXPR_LIST] = "list", [TYPE_EXPR_OPTIONAL] = "optional", [TYPE_EXPR_RECORD] = "record"};
  begin(d, "", "type");
  if (*KINDS[type->kind]) buf_add_format(d->out, " %s", KINDS[type->kind]);
  if (type->kind == TYPE_EXPR_NAME) add_name(d, type->named.name);
  if (type->kind == TYPE_EXPR_NUMBER) buf_add_format(d->out, " %" PRId64, type->number);
  end(d);
  d->indent++;
  switch (type->kind) {
    case TYPE_EXPR_NAME:
      for (uint32_t i = 0; i < type->named.args.count; i++) dump_type(d, type->named.args.items[i]);
      break;
    case TYPE_EXPR_NUMBER: break;
    case TYPE_EXPR_LIST: case TYPE_EXPR_OPTIONAL: dump_type(d, type->elem); break;
    case TYPE_EXPR_RECORD: dump_fields(d, "field", type->fields); break;
  }
  d->indent--;
}

// ---- patterns and clauses -----------------------------------------------------------------

static void dump_pattern(Dump *d, const Pattern *pattern) {
  if (!pattern) return;
  static const char *const KINDS[] = {[PATTERN_ANY] = "any", [PATTERN_CASE] = "case", [PATTERN_NONE] = "none", [PATTERN_SOME] = "some", [PATTERN_LITERAL] = "literal", [PATTERN_OR] = "or"};
  begin(d, "pattern", KINDS[pattern->kind]);
  add_name(d, pattern->enum_name);
  add_name(d, pattern->name);
  if (pattern->has_parens) {
    buf_add_text(d->out, " (");
    add_names(d, pattern->bindings);
    buf_add_text(d->out, " )");
  }
  end(d);
  d->indent++;
  if (pattern->literal) dump_expr(d, "", pattern->literal);
  for (uint32_t i = 0; i < pattern->alternatives.count; i++) dump_pattern(d, pattern->alternatives.items[i]);
  d->indent--;
}

static void dump_arms(Dump *d, MatchArmList arms) {
  for (uint32_t i = 0; i < arms.count; i++) {
    begin(d, "", "arm");
    end(d);
    d->indent++;
    dump_pattern(d, arms.items[i].pattern);
    if (arms.items[i].value) dump_expr(d, "", arms.items[i].value);
    else dump_block(d, "", &arms.items[i].body);
    d->indent--;
  }
}

static void dump_orders(Dump *d, OrderKeyList orders) {
  for (uint32_t i = 0; i < orders.count; i++) dump_expr(d, orders.items[i].descending ? "descending" : "ascending", orders.items[i].key);
}

static void dump_clauses(Dump *d, ClauseList clauses) {
  static const char *const KINDS[] = {[CLAUSE_FROM] = "from", [CLAUSE_WHERE] = "where", [CLAUSE_WITH] = "with", [CLAUSE_GROUP] = "group by",
                                      [CLAUSE_ORDER] = "order by", [CLAUSE_SKIP] = "skip", [CLAUSE_TAKE] = "take", [CLAUSE_SELECT] = "select"};
  for (uint32_t i = 0; i < clauses.count; i++) {
    const Clause *clause = &clauses.items[i];
    begin(d, "", KINDS[clause->kind]);
    add_name(d, clause->name);
    end(d);
    d->indent++;
    if (clause->value) dump_expr(d, "", clause->value);
    if (clause->kind == CLAUSE_ORDER) dump_orders(d, clause->orders);
    for (uint32_t k = 0; clause->kind == CLAUSE_GROUP && k < clause->groups.count; k++) {
      begin(d, "", "key");
      add_name(d, clause->groups.items[k].name);
      end(d);
      d->indent++;
      dump_expr(d, "", clause->groups.items[k].value);
      d->indent--;
    }
    d->indent--;
  }
}

// ---- expressions --------------------------------------------------------------------------

static const char *oper_words(Oper op) {
  static const char *const WORDS[] = {
    [OPER_NOTHING] = "", [OPER_OR] = "or", [OPER_AND] = "and", [OPER_EQ] = "==", [OPER_NE] = "!=", [OPER_LT] = "<", [OPER_LE] = "<=",
    [OPER_GT] = ">", [OPER_GE] = ">=", [OPER_IN] = "in", [OPER_ELSE] = "??", [OPER_RANGE] = "..", [OPER_ADD] = "+", [OPER_SUB] = "-",
    [OPER_MUL] = "*", [OPER_DIV] = "/", [OPER_MOD] = "%", [OPER_NOT] = "not", [OPER_NEG] = "-", [OPER_OPEN] = "?."};
  return WORDS[op];
}

static const char *const EXPR_KINDS[] = {
  [EXPR_INT] = "int", [EXPR_DECIMAL] = "decimal", [EXPR_TEXT] = "text", [EXPR_BOOL] = "bool", [EXPR_NONE] = "none", [EXPR_DURATION] = "duration",
  [EXPR_DATE] = "date", [EXPR_TIME] = "time", [EXPR_INTERP] = "interpolation", [EXPR_NAME] = "name", [EXPR_FIELD] = "field", [EXPR_CALL] = "call",
  [EXPR_INDEX] = "index", [EXPR_UNARY] = "unary", [EXPR_BINARY] = "binary", [EXPR_IF] = "if", [EXPR_MATCH] = "match", [EXPR_QUERY] = "query",
  [EXPR_INSERT] = "insert", [EXPR_RECORD] = "record", [EXPR_LIST] = "list"};

// What the line of the node says behind its kind.
static void add_facts(Dump *d, const Expr *expr) {
  switch (expr->kind) {
    case EXPR_INT: case EXPR_DURATION: case EXPR_DATE: case EXPR_TIME: buf_add_format(d->out, " %" PRId64, expr->number); break;
    case EXPR_DECIMAL: buf_add_format(d->out, " %" PRId64 " scale %u", expr->decimal.units, expr->decimal.scale); break;
    case EXPR_BOOL: buf_add_text(d->out, expr->number ? " true" : " false"); break;
    case EXPR_TEXT: add_quoted(d, expr->text); break;
    case EXPR_NAME: add_name(d, expr->name); break;
    case EXPR_FIELD:
      if (expr->op == OPER_OPEN) buf_add_text(d->out, " ?.");
      add_name(d, expr->field.name);
      break;
    case EXPR_UNARY: case EXPR_BINARY: buf_add_format(d->out, " %s", oper_words(expr->op)); break;
    case EXPR_INSERT: add_name(d, expr->insert.table); break;
    case EXPR_IF:
      if (!expr->branch.let) break;
      buf_add_text(d->out, " let");
      add_name(d, *expr->branch.let);
      break;
    case EXPR_NONE: case EXPR_INTERP: case EXPR_CALL: case EXPR_INDEX: case EXPR_MATCH: case EXPR_QUERY: case EXPR_RECORD: case EXPR_LIST: break;
  }
}

static void dump_members(Dump *d, MemberList members) {
  for (uint32_t i = 0; i < members.count; i++) {
    const Member *member = &members.items[i];
    begin(d, "", member->is_rest ? "rest" : "member");
    add_name(d, member->name);
    if (member->is_short) buf_add_text(d->out, " short");
    end(d);
    d->indent++;
    dump_expr(d, "", member->value);
    d->indent--;
  }
}

static void dump_children(Dump *d, const Expr *expr) {
  switch (expr->kind) {
    case EXPR_INTERP: case EXPR_LIST:
      for (uint32_t i = 0; i < expr->list.count; i++) dump_expr(d, "", expr->list.items[i]);
      break;
    case EXPR_FIELD: dump_expr(d, "", expr->field.base); break;
    case EXPR_CALL: case EXPR_INDEX:
      dump_expr(d, "of", expr->call.callee);
      dump_args(d, expr->call.args);
      break;
    case EXPR_UNARY: dump_expr(d, "", expr->unary); break;
    case EXPR_BINARY:
      dump_expr(d, "", expr->binary.left);
      dump_expr(d, "", expr->binary.right);
      break;
    case EXPR_IF:
      dump_expr(d, "", expr->branch.condition);
      dump_expr(d, "then", expr->branch.then);
      dump_expr(d, "else", expr->branch.otherwise);
      break;
    case EXPR_MATCH:
      dump_expr(d, "", expr->match.value);
      dump_arms(d, expr->match.arms);
      break;
    case EXPR_QUERY: dump_clauses(d, expr->clauses); break;
    case EXPR_INSERT: dump_expr(d, "", expr->insert.record); break;
    case EXPR_RECORD: dump_members(d, expr->members); break;
    case EXPR_INT: case EXPR_DECIMAL: case EXPR_TEXT: case EXPR_BOOL: case EXPR_NONE: case EXPR_DURATION: case EXPR_DATE: case EXPR_TIME: case EXPR_NAME: break;
  }
}

static void dump_expr(Dump *d, const char *role, const Expr *expr) {
  if (!expr) return;
  begin(d, role, EXPR_KINDS[expr->kind]);
  add_facts(d, expr);
  end(d);
  d->indent++;
  dump_children(d, expr);
  d->indent--;
}

// ---- statements ---------------------------------------------------------------------------

static const char *const STMT_KINDS[] = {
  [STMT_LET] = "let", [STMT_VAR] = "var", [STMT_EXPR] = "do", [STMT_ASSIGN] = "assign", [STMT_IF] = "if", [STMT_FOR] = "for", [STMT_MATCH] = "match",
  [STMT_RETURN] = "return", [STMT_REJECT] = "reject", [STMT_REQUIRE] = "require", [STMT_DELETE] = "delete", [STMT_UPDATE] = "update",
  [STMT_SEND] = "send", [STMT_EXPECT] = "expect", [STMT_EXPECT_REJECT] = "expect reject", [STMT_ADVANCE] = "advance", [STMT_AS] = "as", [STMT_RECEIVE] = "receive"};

static void dump_let(Dump *d, const Stmt *stmt) {
  static const char *const OTHERS[] = {[LET_ELSE_NOTHING] = "", [LET_ELSE_REJECT] = "else reject", [LET_ELSE_RETURN] = "else return", [LET_ELSE_INSERT] = "else insert"};
  dump_type(d, stmt->let.type);
  dump_expr(d, "", stmt->let.value);
  if (stmt->let_else == LET_ELSE_NOTHING) return;
  begin(d, "", OTHERS[stmt->let_else]);
  end(d);
  d->indent++;
  dump_expr(d, "", stmt->let.else_value);
  dump_error(d, stmt->let.else_error);
  d->indent--;
}

static void dump_if(Dump *d, const Stmt *stmt) {
  for (uint32_t i = 0; i < stmt->branch.branches.count; i++) {
    const IfBranch *branch = &stmt->branch.branches.items[i];
    begin(d, "", "branch");
    if (branch->let.sym) buf_add_text(d->out, " let");
    add_name(d, branch->let);
    end(d);
    d->indent++;
    dump_expr(d, "", branch->condition);
    dump_block(d, "", &branch->block);
    d->indent--;
  }
  if (stmt->branch.otherwise) dump_block(d, "else", stmt->branch.otherwise);
}

static void add_stmt_facts(Dump *d, const Stmt *stmt) {
  bool is_let = stmt->kind == STMT_LET || stmt->kind == STMT_VAR, is_send = stmt->kind == STMT_SEND || stmt->kind == STMT_RECEIVE;
  if (is_let) add_name(d, stmt->let.name);
  if (is_send) add_name(d, stmt->send.name);
  if (stmt->kind == STMT_ASSIGN) buf_add_format(d->out, " %s=", oper_words(stmt->op));
  if (stmt->kind == STMT_EXPECT_REJECT && stmt->expect.is_receive) buf_add_text(d->out, " receive");
  if (stmt->kind == STMT_EXPECT_REJECT) add_name(d, stmt->expect.error);
}

static void dump_stmt(Dump *d, const Stmt *stmt) {
  begin(d, "", STMT_KINDS[stmt->kind]);
  add_stmt_facts(d, stmt);
  end(d);
  d->indent++;
  switch (stmt->kind) {
    case STMT_LET: case STMT_VAR: dump_let(d, stmt); break;
    case STMT_EXPR: case STMT_RETURN: case STMT_DELETE: case STMT_EXPECT: case STMT_ADVANCE: dump_expr(d, "", stmt->value); break;
    case STMT_ASSIGN:
      dump_expr(d, "", stmt->assign.target);
      dump_expr(d, "", stmt->assign.value);
      break;
    case STMT_IF: dump_if(d, stmt); break;
    case STMT_FOR:
      dump_clauses(d, stmt->loop.clauses);
      dump_block(d, "", &stmt->loop.block);
      break;
    case STMT_MATCH:
      dump_expr(d, "", stmt->match.value);
      dump_arms(d, stmt->match.arms);
      break;
    case STMT_REJECT: dump_error(d, &stmt->error); break;
    case STMT_REQUIRE:
      dump_expr(d, "", stmt->require.condition);
      dump_error(d, stmt->require.error);
      break;
    case STMT_UPDATE:
      dump_expr(d, "", stmt->update.target);
      dump_expr(d, "", stmt->update.record);
      break;
    case STMT_SEND: case STMT_RECEIVE: dump_args(d, stmt->send.args); break;
    case STMT_EXPECT_REJECT: dump_expr(d, "", stmt->expect.call); break;
    case STMT_AS:
      for (uint32_t i = 0; i < stmt->as.who.count; i++) dump_expr(d, "who", stmt->as.who.items[i]);
      dump_block(d, "", &stmt->as.block);
      break;
  }
  d->indent--;
}

static void dump_block(Dump *d, const char *role, const StmtBlock *block) {
  begin(d, role, "block");
  end(d);
  d->indent++;
  for (uint32_t i = 0; i < block->stmts.count; i++) dump_stmt(d, block->stmts.items[i]);
  d->indent--;
}

// ---- declarations -------------------------------------------------------------------------

static const char *const DECL_KINDS[] = {
  [DECL_APP] = "app", [DECL_USE] = "use", [DECL_TYPE] = "type", [DECL_ENUM] = "enum", [DECL_RECORD] = "record", [DECL_STATE] = "state",
  [DECL_TABLE] = "table", [DECL_ERROR] = "error", [DECL_ROLE] = "role", [DECL_SETTING] = "setting", [DECL_INPUT] = "input", [DECL_RECEIVE] = "receive",
  [DECL_ACTION] = "action", [DECL_FN] = "fn", [DECL_VIEW] = "view", [DECL_OUTPUT] = "output", [DECL_TIMER] = "timer", [DECL_PAGE] = "page",
  [DECL_TEST] = "test", [DECL_ALWAYS] = "always", [DECL_START] = "start", [DECL_MIGRATE] = "migrate", [DECL_DROP] = "drop"};

static void dump_header(Dump *d, const Header *header) {
  dump_names(d, "for", header->roles);
  dump_names(d, "was", header->was);
  if (header->max) dump_expr(d, "max", header->max);
  if (header->paged) dump_expr(d, "paged", header->paged);
  if (header->every) dump_expr(d, "every", header->every);
  dump_annots(d, header->annots);
}

static void dump_cases(Dump *d, CaseList cases) {
  for (uint32_t i = 0; i < cases.count; i++) {
    begin(d, "", "case");
    add_name(d, cases.items[i].name);
    end(d);
    d->indent++;
    dump_doc(d, cases.items[i].doc);
    dump_fields(d, "field", cases.items[i].fields);
    dump_names(d, "was", cases.items[i].was);
    dump_annots(d, cases.items[i].annots);
    d->indent--;
  }
}

static void dump_items(Dump *d, TableItemList items) {
  static const char *const KINDS[] = {[TABLE_LET] = "let", [TABLE_KEY] = "key", [TABLE_UNIQUE] = "unique", [TABLE_INDEX] = "index", [TABLE_CHECK] = "check", [TABLE_EXPIRE] = "expire"};
  for (uint32_t i = 0; i < items.count; i++) {
    const TableItem *item = &items.items[i];
    begin(d, "", KINDS[item->kind]);
    add_name(d, item->name);
    add_names(d, item->names);
    end(d);
    d->indent++;
    dump_doc(d, item->doc);
    dump_type(d, item->type);
    if (item->value) dump_expr(d, "", item->value);
    dump_orders(d, item->orders);
    dump_error(d, item->error);
    d->indent--;
  }
}

static void dump_page(Dump *d, PageEntryList items) {
  for (uint32_t i = 0; i < items.count; i++) {
    begin(d, "", "item");
    add_name(d, items.items[i].word);
    add_names(d, items.items[i].names);
    end(d);
    d->indent++;
    if (items.items[i].title) dump_expr(d, "title", items.items[i].title);
    dump_annots(d, items.items[i].annots);
    dump_page(d, items.items[i].items);
    d->indent--;
  }
}

static void dump_function(Dump *d, const Decl *decl) {
  dump_fields(d, "param", decl->function.params);
  if (decl->function.result) {
    begin(d, "", "result");
    end(d);
    d->indent++;
    dump_type(d, decl->function.result);
    d->indent--;
  }
  if (decl->function.value) dump_expr(d, "", decl->function.value);
  if (decl->function.block) dump_block(d, "", decl->function.block);
}

static void dump_timer(Dump *d, const Decl *decl) {
  if (decl->timer.row.sym) {
    begin(d, "", "for");
    add_name(d, decl->timer.row);
    add_name(d, decl->timer.table);
    end(d);
  }
  if (decl->timer.every) dump_expr(d, "every", decl->timer.every);
  if (decl->timer.at) dump_expr(d, "at", decl->timer.at);
  dump_block(d, "", &decl->timer.block);
}

static void dump_migrate(Dump *d, const Decl *decl) {
  begin(d, "", "into");
  add_name(d, decl->migrate.target);
  add_name(d, decl->migrate.row);
  add_name(d, decl->migrate.table);
  end(d);
  dump_fields(d, "param", decl->migrate.params);
  dump_block(d, "", &decl->migrate.block);
}

static void dump_body(Dump *d, const Decl *decl) {
  switch (decl->kind) {
    case DECL_APP: case DECL_USE: break;
    case DECL_TYPE:
      dump_type(d, decl->type.type);
      dump_mods(d, decl->type.mods);
      break;
    case DECL_ENUM:
      dump_cases(d, decl->enumeration.cases);
      dump_names(d, "drop", decl->enumeration.drops);
      break;
    case DECL_RECORD: case DECL_STATE: case DECL_SETTING:
      dump_fields(d, "field", decl->record.fields);
      dump_names(d, "drop", decl->record.drops);
      break;
    case DECL_TABLE:
      dump_fields(d, "field", decl->table.fields);
      dump_items(d, decl->table.items);
      dump_names(d, "drop", decl->table.drops);
      break;
    case DECL_ROLE:
      dump_names(d, "names", decl->role.names);
      if (decl->role.value) dump_expr(d, "", decl->role.value);
      break;
    case DECL_TIMER: dump_timer(d, decl); break;
    case DECL_PAGE: dump_page(d, decl->page.items); break;
    case DECL_MIGRATE: dump_migrate(d, decl); break;
    case DECL_DROP: dump_names(d, decl->drop.is_state ? "state" : "table", decl->drop.names); break;
    case DECL_ERROR: case DECL_INPUT: case DECL_RECEIVE: case DECL_ACTION: case DECL_FN: case DECL_VIEW: case DECL_OUTPUT: case DECL_TEST:
    case DECL_ALWAYS: case DECL_START: dump_function(d, decl); break;
  }
}

void ast_dump(const Ast *ast, Buf *out) {
  Dump d = {ast, out, 0};
  for (uint32_t i = 0; i < ast->decls.count; i++) {
    const Decl *decl = ast->decls.items[i];
    begin(&d, "", DECL_KINDS[decl->kind]);
    add_name(&d, decl->name);
    end(&d);
    d.indent++;
    dump_doc(&d, decl->doc);
    if (decl->title) dump_expr(&d, "title", decl->title);
    dump_header(&d, &decl->header);
    dump_body(&d, decl);
    d.indent--;
  }
}

void tokens_dump(const Source *source, Arena *arena, DiagList *diags, Buf *out) {
  Lexer *lexer = ARENA_NEW(arena, Lexer);
  Lines lines;
  if (!lexer || !lines_init(&lines, source, arena)) { diags->failed = true; return; }
  lexer_init(lexer, source, (Span){0}, arena, diags);
  for (;;) {
    Token token = lexer_next(lexer);
    Place place = lines_place(&lines, token.start);
    buf_add_format(out, "%u:%u %s", place.line, place.column, token_name(token.kind));
    bool has_text = token.kind != T_NL && token.kind != T_END && !(token.flags & TOKEN_VIRTUAL);
    if (has_text) {
      buf_add_char(out, ' ');
      buf_add_str(out, source_text(source, token_span(token)));
    }
    buf_add_text(out, token.flags & TOKEN_VIRTUAL ? " (put in)\n" : "\n");
    if (token.kind == T_END) break;
  }
}
