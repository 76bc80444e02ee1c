// Taking apart and putting together go by the type, in the same order, so that the cells of a column are a run in its
// table's layout. Key columns stand first, in the order of the key: then rows of a page, separators and bounds of
// ranges are all compared cell by cell, without a value ever being built.
#include "runtime/table/shape.h"

#include <assert.h>

#include "runtime/base/mem.h"
#include "runtime/table/table.h"
#include "runtime/value/codec.h"

// ---- layouts ----------------------------------------------------------------------------------
typedef struct Cells { uint8_t kinds[LAYOUT_COLUMNS_MAX]; bool descending[LAYOUT_COLUMNS_MAX]; uint16_t source[LAYOUT_COLUMNS_MAX]; unsigned count; } Cells;

static bool add_cell(Cells *cells, CellKind kind) {
  if (cells->count == LAYOUT_COLUMNS_MAX) return false;
  cells->descending[cells->count] = false;
  cells->kinds[cells->count++] = (uint8_t)kind;
  return true;
}

static bool add_type(const TypeTable *types, TypeId type, Cells *cells, unsigned depth) {
  if (depth > VALUE_DEPTH_MAX) return false;
  type = type_of_key(types, type);
  const Type *t = &types->types[type];
  switch ((TypeKind)t->kind) {
    case TYPE_BOOL: return add_cell(cells, CELL_U8);
    case TYPE_INT: case TYPE_DECIMAL: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: return add_cell(cells, CELL_I64);
    case TYPE_FLOAT: return add_cell(cells, CELL_F64);
    case TYPE_UUID: return add_cell(cells, CELL_UUID);
    case TYPE_ENUM: {
      const EnumDef *def = &types->enums[t->of];
      return add_cell(cells, !def->plain ? CELL_TEXT : def->case_count <= 256 ? CELL_U8 : CELL_U16);
    }
    case TYPE_RECORD: {
      const RecordDef *def = &types->records[t->of];
      for (unsigned f = 0; f < def->field_count; f++)
        if (!add_type(types, def->fields[f].type, cells, depth + 1)) return false;
      return true;
    }
    case TYPE_OPTIONAL: return add_cell(cells, CELL_U8) && add_type(types, t->of, cells, depth + 1);
    case TYPE_TEXT: case TYPE_BYTES: case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return add_cell(cells, CELL_TEXT);
    case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  assert(false);
  return false;
}

static uint8_t flat_kind(const TypeTable *types, TypeId type) {
  const Type *t = &types->types[type];
  switch ((TypeKind)t->kind) {
    case TYPE_BOOL: case TYPE_INT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: return FLAT_INT;
    case TYPE_DECIMAL: return FLAT_DECIMAL;
    case TYPE_FLOAT: return FLAT_FLOAT;
    case TYPE_UUID: return FLAT_UUID;
    case TYPE_TEXT: case TYPE_BYTES: return FLAT_TEXT;
    case TYPE_ENUM: return types->enums[t->of].plain ? FLAT_INT : FLAT_NOT;
    case TYPE_RECORD: case TYPE_OPTIONAL: case TYPE_LIST: case TYPE_SET: case TYPE_MAP: case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  return FLAT_NOT;
}

static Layout *layout_new(Arena *arena, unsigned count, unsigned key_count) {
  Layout *layout = arena_alloc_zero(arena, 1, sizeof *layout + count * sizeof layout->columns[0]);
  if (!layout) return NULL;
  layout->column_count = (uint16_t)count;
  layout->key_count = (uint16_t)key_count;
  return layout;
}

static uint16_t add_kept(Layout *inner, unsigned *at, CellKind kind) {
  inner->columns[*at] = (LayoutColumn){.kind = (uint8_t)kind};
  return (uint16_t)(*at)++;
}

// 128-bit sums lie in cells of 16 bytes, as uuids do.
static KeptShape make_kept(const TableShape *table, const TreeShape *tree, KeptDef def, unsigned *at) {
  const ColumnShape *column = &table->columns[def.column];
  uint16_t cells = tree->index == SCHEMA_NO_INDEX ? column->at : tree->entry_at[def.column];
  bool optional = column->optional;
  KeptShape kept = {.column = def.column, .present = SCHEMA_NO_COLUMN, .value = (uint16_t)(cells + optional)};
  kept.count_at = kept.sum_at = kept.least_at = kept.greatest_at = SCHEMA_NO_COLUMN;
  if (optional) {
    kept.present = cells;
    kept.count_at = add_kept(tree->inner, at, CELL_I64);
  }
  if (def.kinds & KEPT_SUM) kept.sum_at = add_kept(tree->inner, at, CELL_UUID);
  if (def.kinds & KEPT_MIN) kept.least_at = add_kept(tree->inner, at, CELL_I64);
  if (def.kinds & KEPT_MAX) kept.greatest_at = add_kept(tree->inner, at, CELL_I64);
  return kept;
}

static unsigned kept_cells(const TableShape *table, const KeptDef *kept, unsigned count) {
  unsigned cells = 0;
  for (unsigned k = 0; k < count; k++)
    cells += table->columns[kept[k].column].optional + !!(kept[k].kinds & KEPT_SUM) + !!(kept[k].kinds & KEPT_MIN) + !!(kept[k].kinds & KEPT_MAX);
  return cells;
}

// `tree` knows its table and index, and where columns stand in an entry.
static bool make_layouts(Shape *shape, const Cells *cells, unsigned key_count, TreeShape *tree) {
  const TableDef *def = &shape->schema->tables[tree->table];
  const TableShape *table = &shape->tables[tree->table];
  const IndexDef *index = tree->index == SCHEMA_NO_INDEX ? NULL : &def->indexes[tree->index];
  unsigned kept_count = index ? index->kept_count : def->kept_count;
  const KeptDef *kept = index ? index->kept : def->kept;
  tree->leaf = layout_new(&shape->arena, cells->count, key_count);
  tree->inner = layout_new(&shape->arena, key_count + 2 + kept_cells(table, kept, kept_count), key_count);
  tree->kept = ARENA_ARRAY(&shape->arena, KeptShape, kept_count);
  if (!tree->leaf || !tree->inner || (kept_count && !tree->kept)) return false;
  for (unsigned c = 0; c < cells->count; c++) {
    tree->leaf->columns[c] = (LayoutColumn){.kind = cells->kinds[c], .descending = cells->descending[c]};
    if (c < key_count) tree->inner->columns[c] = tree->leaf->columns[c];
  }
  unsigned at = key_count;
  add_kept(tree->inner, &at, CELL_I64);
  add_kept(tree->inner, &at, CELL_I64);
  for (unsigned k = 0; k < kept_count; k++) tree->kept[k] = make_kept(table, tree, kept[k], &at);
  tree->kept_count = (uint16_t)kept_count;
  assert(at == tree->inner->column_count && at <= INNER_CELLS_MAX);
  layout_finish(tree->leaf, false);
  layout_finish(tree->inner, true);
  return true;
}

static bool is_key_column(const TableDef *def, unsigned column) {
  for (unsigned k = 0; k < def->key_count; k++)
    if (def->key[k] == column) return true;
  return false;
}

static Err add_column(const Shape *shape, const TableDef *def, unsigned column, Cells *cells, ColumnShape *out) {
  const TypeTable *types = &shape->schema->types;
  TypeId type = type_of_key(types, def->columns[column].type);
  unsigned at = cells->count;
  if (!add_type(types, type, cells, 0)) return ERR_LIMIT;
  bool optional = types->types[type].kind == TYPE_OPTIONAL;
  TypeId inside = optional ? type_of_key(types, types->types[type].of) : type;
  *out = (ColumnShape){.type = type, .at = (uint16_t)at, .count = (uint16_t)(cells->count - at), .flat = flat_kind(types, type), .optional = optional, .is_array = flat_kind(types, inside) != FLAT_NOT};
  return ERR_NONE;
}

static Err build_table(Shape *shape, unsigned t, Cells *cells) {
  const TableDef *def = &shape->schema->tables[t];
  TableShape *table = &shape->tables[t];
  table->columns = ARENA_ARRAY(&shape->arena, ColumnShape, def->column_count);
  if (!table->columns) return ERR_MEMORY;
  cells->count = 0;
  for (unsigned k = 0; k < def->key_count; k++) TRY(add_column(shape, def, def->key[k], cells, &table->columns[def->key[k]]));
  if (cells->count > LAYOUT_KEY_MAX || cells->count == 0) return ERR_LIMIT;
  table->key_cells = (uint16_t)cells->count;
  for (unsigned c = 0; c < def->column_count; c++)
    if (!is_key_column(def, c)) TRY(add_column(shape, def, c, cells, &table->columns[c]));
  table->index_count = def->index_count;
  table->key_type = def->key_count == 1 ? table->columns[def->key[0]].type : TYPE_NONE;
  if (cells->count > shape->cells_max) shape->cells_max = cells->count;
  TreeShape *tree = &shape->trees[table->tree];
  *tree = (TreeShape){.table = (uint16_t)t, .index = SCHEMA_NO_INDEX};
  return make_layouts(shape, cells, table->key_cells, tree) ? ERR_NONE : ERR_MEMORY;
}

// Copies the cells of one column of the table into an entry.
static bool add_entry_cells(const Layout *table, const ColumnShape *column, bool descending, Cells *cells) {
  for (unsigned i = 0; i < column->count; i++) {
    if (cells->count == LAYOUT_COLUMNS_MAX) return false;
    cells->kinds[cells->count] = table->columns[column->at + i].kind;
    cells->descending[cells->count] = descending;
    cells->source[cells->count++] = (uint16_t)(column->at + i);
  }
  return true;
}

static uint16_t entry_position(const ColumnShape *column, const Cells *cells) {
  for (unsigned c = 0; column->count && c < cells->count; c++)
    if (cells->source[c] == column->at) return (uint16_t)c;
  return SCHEMA_NO_COLUMN;
}

static Err build_index(Shape *shape, unsigned t, unsigned i, Cells *cells) {
  const TableDef *def = &shape->schema->tables[t];
  const TableShape *table = &shape->tables[t];
  const IndexDef *index = &def->indexes[i];
  const Layout *rows = shape->trees[table->tree].leaf;
  bool fits = true;
  cells->count = 0;
  for (unsigned c = 0; c < index->column_count; c++)
    fits = fits && add_entry_cells(rows, &table->columns[index->columns[c].column], index->columns[c].descending, cells);
  for (unsigned k = 0; k < def->key_count; k++) fits = fits && add_entry_cells(rows, &table->columns[def->key[k]], false, cells);
  unsigned key_count = cells->count;
  for (unsigned c = 0; c < index->carried_count; c++) fits = fits && add_entry_cells(rows, &table->columns[index->carried[c]], false, cells);
  if (!fits || key_count > LAYOUT_KEY_MAX) return ERR_LIMIT;
  TreeShape *tree = &shape->trees[table->tree + 1 + i];
  *tree = (TreeShape){.table = (uint16_t)t, .index = (uint16_t)i};
  tree->source = arena_alloc(&shape->arena, cells->count * sizeof tree->source[0]);
  tree->entry_at = arena_alloc(&shape->arena, def->column_count * sizeof tree->entry_at[0]);
  if (!tree->source || !tree->entry_at) return ERR_MEMORY;
  for (unsigned c = 0; c < def->column_count; c++) tree->entry_at[c] = entry_position(&table->columns[c], cells);
  memcpy(tree->source, cells->source, cells->count * sizeof tree->source[0]);
  return make_layouts(shape, cells, key_count, tree) ? ERR_NONE : ERR_MEMORY;
}

static Err build(Shape *shape, Cells *cells) {
  const Schema *schema = shape->schema;
  shape->tables = ARENA_ARRAY(&shape->arena, TableShape, schema->table_count);
  if (!shape->tables) return ERR_MEMORY;
  for (unsigned t = 0; t < schema->table_count; t++) {
    shape->tables[t].tree = shape->tree_count;
    shape->tree_count += 1u + schema->tables[t].index_count;
  }
  shape->trees = ARENA_ARRAY(&shape->arena, TreeShape, shape->tree_count);
  if (!shape->trees) return ERR_MEMORY;
  for (unsigned t = 0; t < schema->table_count; t++) {
    TRY(build_table(shape, t, cells));
    uint32_t entries = 0;
    for (unsigned i = 0; i < schema->tables[t].index_count; i++) {
      TRY(build_index(shape, t, i, cells));
      entries += cells->count;
    }
    if (entries > shape->entries_max) shape->entries_max = entries;
  }
  return ERR_NONE;
}

Err shape_build(const Schema *schema, Shape **out_shape) {
  Shape *shape = mem_alloc_zero(1, sizeof *shape);
  Cells *cells = mem_alloc(sizeof *cells);
  if (!shape || !cells) {
    mem_free(shape);
    mem_free(cells);
    return ERR_MEMORY;
  }
  shape->schema = schema;
  shape->refs = 1;
  arena_init(&shape->arena, 0);
  Err err = build(shape, cells);
  mem_free(cells);
  if (err != ERR_NONE) shape_release(shape);
  else *out_shape = shape;
  return err;
}

void shape_release(Shape *shape) {
  assert(shape->refs > 0);
  if (--shape->refs) return;
  arena_free(&shape->arena);
  mem_free(shape);
}

bool layout_equal(const Layout *a, const Layout *b) {
  if (a->column_count != b->column_count || a->key_count != b->key_count) return false;
  for (unsigned c = 0; c < a->column_count; c++)
    if (a->columns[c].kind != b->columns[c].kind || a->columns[c].descending != b->columns[c].descending) return false;
  return true;
}

// ---- values to cells --------------------------------------------------------------------------
static Err put_encoded(const TypeTable *types, TypeId type, Value value, Arena *arena, Cell *out) {
  Buf buf;
  buf_init(&buf, 0);
  value_encode(types, type, value, &buf);
  Str copy = buf.failed ? (Str){0} : arena_copy(arena, buf_str(&buf));
  buf_free(&buf);
  if (!copy.ptr) return ERR_MEMORY;
  out->text = copy;
  return copy.len > UINT32_MAX ? ERR_LIMIT : ERR_NONE;
}

// Moves `*at` past the cells of the type.
static Err put_value(const TypeTable *types, TypeId type, Value value, Arena *arena, Cell **at, unsigned depth) {
  assert(depth <= VALUE_DEPTH_MAX);
  type = type_of_key(types, type);
  const Type *t = &types->types[type];
  Cell *out = *at;
  switch ((TypeKind)t->kind) {
    case TYPE_BOOL: case TYPE_INT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION:
      *(*at)++ = (Cell){.i = value.i};
      return ERR_NONE;
    case TYPE_DECIMAL:
      *(*at)++ = (Cell){.i = (int64_t)value.dec};
      return value.dec == (int64_t)value.dec ? ERR_NONE : ERR_LIMIT;
    case TYPE_FLOAT: *(*at)++ = (Cell){.f = value.f}; return ERR_NONE;
    case TYPE_UUID:
      memset(out, 0, sizeof *out);
      if (value.text.len == 16) memcpy(out->uuid, value.text.ptr, 16);
      (*at)++;
      return ERR_NONE;
    case TYPE_TEXT: case TYPE_BYTES:
      *(*at)++ = (Cell){.text = value.text};
      return value.text.len > UINT32_MAX ? ERR_LIMIT : ERR_NONE;
    case TYPE_ENUM:
      (*at)++;
      if (!types->enums[t->of].plain) return put_encoded(types, type, value, arena, out);
      *out = (Cell){.i = value.i};
      return ERR_NONE;
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: (*at)++; return put_encoded(types, type, value, arena, out);
    case TYPE_RECORD: {
      const RecordDef *def = &types->records[t->of];
      for (unsigned f = 0; f < def->field_count; f++) {
        TypeId field = def->fields[f].type;
        TRY(put_value(types, field, value.record ? value.record[f] : value_zero(types, field), arena, at, depth + 1));
      }
      return ERR_NONE;
    }
    case TYPE_OPTIONAL: {
      bool some = value_is_some(types, type, value);
      *(*at)++ = (Cell){.i = some};
      return put_value(types, t->of, some ? value_open(types, type, value) : value_zero(types, t->of), arena, at, depth + 1);
    }
    case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  assert(false);
  return ERR_FORMAT;
}

Err cells_from_column(const Shape *shape, const ColumnShape *column, Value value, Arena *arena, Cell *out_cells) {
  switch ((FlatKind)column->flat) {
    case FLAT_INT: out_cells->i = value.i; return ERR_NONE;
    case FLAT_FLOAT: out_cells->f = value.f; return ERR_NONE;
    case FLAT_TEXT: out_cells->text = value.text; return value.text.len > UINT32_MAX ? ERR_LIMIT : ERR_NONE;
    case FLAT_DECIMAL: case FLAT_UUID: case FLAT_NOT: break;
  }
  Cell *at = out_cells;
  Err err = put_value(&shape->schema->types, column->type, value, arena, &at, 0);
  assert(err != ERR_NONE || at == out_cells + column->count);
  return err;
}

Err cells_from_key(const Shape *shape, const TableShape *table, Value key, Cell *out_cells) {
  const TableDef *def = &shape->schema->tables[table - shape->tables];
  if (def->key_count == 1) return cells_from_column(shape, &table->columns[def->key[0]], key, NULL, out_cells);
  unsigned at = 0;
  for (unsigned k = 0; k < def->key_count; k++) {
    const ColumnShape *column = &table->columns[def->key[k]];
    Value part = key.record ? key.record[k] : value_zero(&shape->schema->types, column->type);
    TRY(cells_from_column(shape, column, part, NULL, out_cells + at));
    at += column->count;
  }
  assert(at == table->key_cells);
  return ERR_NONE;
}

uint32_t cells_key_bytes(const Layout *layout, const Cell *cells) {
  uint64_t bytes = 0;
  for (unsigned c = 0; c < layout->key_count; c++)
    bytes += layout->columns[c].kind == CELL_TEXT ? cells[c].text.len : layout->columns[c].width;
  return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

// ---- cells to values --------------------------------------------------------------------------
// Where cells come from: an array, or a row of a page.
typedef struct CellSource { const Cell *cells; const Layout *layout; const Page *page; unsigned at, slot; } CellSource;

static Cell next_cell(CellSource *source) {
  unsigned at = source->at++;
  return source->cells ? source->cells[at] : page_cell(source->layout, source->page, at, source->slot);
}

// A 16-byte uuid cannot be pointed to in a copied cell; in a page it can.
static Err take_uuid(CellSource *source, Arena *arena, Value *out) {
  unsigned at = source->at++;
  const void *bytes = source->cells ? source->cells[at].uuid
                                    : page_column(source->layout, source->page, at) + 16 * (size_t)source->slot;
  if (source->cells) {
    Str copy = arena_copy(arena, (Str){bytes, 16});
    if (!copy.ptr) return ERR_MEMORY;
    bytes = copy.ptr;
  }
  out->text = (Str){bytes, 16};
  return ERR_NONE;
}

static Err take_encoded(const TypeTable *types, TypeId type, CellSource *source, Arena *arena, Value *out) {
  Str bytes = next_cell(source).text;
  if (bytes.len == 0) {
    *out = value_zero(types, type);
    return ERR_NONE;
  }
  return value_decode(types, type, &bytes, arena, true, out);
}

static Err take_value(const TypeTable *types, TypeId type, CellSource *source, Arena *arena, Value *out, unsigned depth);

static Err take_record(const TypeTable *types, const RecordDef *def, CellSource *source, Arena *arena, Value *out, unsigned depth) {
  Value *fields = ARENA_ARRAY(arena, Value, def->field_count);
  if (!fields) return ERR_MEMORY;
  for (unsigned f = 0; f < def->field_count; f++) TRY(take_value(types, def->fields[f].type, source, arena, &fields[f], depth + 1));
  out->record = fields;
  return ERR_NONE;
}

static Err take_value(const TypeTable *types, TypeId type, CellSource *source, Arena *arena, Value *out, unsigned depth) {
  assert(depth <= VALUE_DEPTH_MAX);
  type = type_of_key(types, type);
  const Type *t = &types->types[type];
  *out = (Value){0};
  switch ((TypeKind)t->kind) {
    case TYPE_BOOL: case TYPE_INT: case TYPE_TIME: case TYPE_DATE: case TYPE_DURATION: out->i = next_cell(source).i; return ERR_NONE;
    case TYPE_DECIMAL: out->dec = next_cell(source).i; return ERR_NONE;
    case TYPE_FLOAT: out->f = next_cell(source).f; return ERR_NONE;
    case TYPE_UUID: return take_uuid(source, arena, out);
    case TYPE_TEXT: case TYPE_BYTES: out->text = next_cell(source).text; return ERR_NONE;
    case TYPE_ENUM:
      if (!types->enums[t->of].plain) return take_encoded(types, type, source, arena, out);
      out->i = next_cell(source).i;
      return ERR_NONE;
    case TYPE_LIST: case TYPE_SET: case TYPE_MAP: return take_encoded(types, type, source, arena, out);
    case TYPE_RECORD: return take_record(types, &types->records[t->of], source, arena, out, depth);
    case TYPE_OPTIONAL: {
      bool some = next_cell(source).i;
      Value inside;
      TRY(take_value(types, t->of, source, arena, &inside, depth + 1));
      *out = some ? value_some(types, type, inside) : value_none(types, type);
      return ERR_NONE;
    }
    case TYPE_REF: case TYPE_KIND_COUNT: break;
  }
  assert(false);
  return ERR_FORMAT;
}

Err value_from_cells(const Shape *shape, const ColumnShape *column, const Cell *cells, Arena *arena, Value *out_value) {
  CellSource source = {.cells = cells};
  return take_value(&shape->schema->types, column->type, &source, arena, out_value, 0);
}

Err value_from_page(const Shape *shape, const ColumnShape *column, CellRun run, Arena *arena, Value *out_value) {
  const Page *page = run.row.page;
  unsigned slot = run.row.slot;
  switch ((FlatKind)column->flat) {
    case FLAT_INT: *out_value = (Value){.i = page_cell(run.layout, page, run.at, slot).i}; return ERR_NONE;
    case FLAT_DECIMAL: *out_value = (Value){.dec = page_cell(run.layout, page, run.at, slot).i}; return ERR_NONE;
    case FLAT_FLOAT: *out_value = (Value){.f = page_cell(run.layout, page, run.at, slot).f}; return ERR_NONE;
    case FLAT_TEXT: *out_value = (Value){.text = page_cell(run.layout, page, run.at, slot).text}; return ERR_NONE;
    case FLAT_UUID: *out_value = (Value){.text = {(const char *)page_column(run.layout, page, run.at) + 16 * (size_t)slot, 16}}; return ERR_NONE;
    case FLAT_NOT: break;
  }
  CellSource source = {.layout = run.layout, .page = page, .at = run.at, .slot = slot};
  return take_value(&shape->schema->types, column->type, &source, arena, out_value, 0);
}
