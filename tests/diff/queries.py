"""Random expressions and queries, each written twice. A query is a relation in SQL whose columns are the names of its frames
(`row__field`), and the list of columns that its order is; every clause wraps the relation once more, so that the order of clauses is
the order of SQL's subqueries. `and`, `or` and `where` behind `where` become CASE, so that the right side is not computed where
the app does not compute it.
"""
from typing import NamedTuple

from values import BOOL, DATE, INT, INT_MIN, TEXT, Ty, literal, random_value, sql_literal


class E(NamedTuple):
    aup: str
    sql: list      # a column each; a reference has one for each part of its key
    ty: Ty

    @property
    def one(self):
        return self.sql[0]

    def whole(self):
        """As one SQL value."""
        if len(self.sql) == 1:
            return self.sql[0]
        packed = f"json_array({', '.join(self.sql)})"
        return f"CASE WHEN {self.sql[0]} IS NULL THEN NULL ELSE {packed} END" if self.ty.opt else packed


class Row(NamedTuple):
    name: str
    table: object
    sql: list      # its key


class Scope:
    def __init__(self, above=None):
        self.rows = list(above.rows) if above else []
        self.values = list(above.values) if above else []    # E
        self.open = set(above.open) if above else set()      # texts of optionals that are known to be there

    def fields(self):
        """Everything that can be named, as E."""
        out = list(self.values)
        for row in self.rows:
            for field in row.table.all_fields():
                out.append(self.field_of(row, field))
            out += [E(f"{row.name}.{c.name}", [f"{row.name}__{c.name}"], c.ty) for c in row.table.computed if row.sql is None]
        return [e._replace(ty=e.ty.some()) if e.aup in self.open else e for e in out]

    @staticmethod
    def field_of(row, field):
        if row.sql is None:
            return E(f"{row.name}.{field.name}", [f"{row.name}__{c}" for c in field.columns()], field.ty)
        return follow(E(row.name, row.sql, Ty("ref", row.table)), field)


def follow(ref, field):
    table = ref.ty.arg
    at = " AND ".join(f"{c} = {v}" for c, v in zip(table.key_columns(), ref.sql))
    dot, ty = ("?.", field.ty.maybe()) if ref.ty.opt else (".", field.ty)
    return E(f"{ref.aup}{dot}{field.name}", [f"(SELECT {c} FROM {table.name} WHERE {at})" for c in field.columns()], ty)


class Query:
    def __init__(self, aup, sql, order, scope, last):
        self.aup, self.sql, self.order, self.scope, self.last = aup, sql, order, scope, last
        self.has_order = False

    def order_sql(self, reverse=False):
        return ", ".join(f"{column}{' DESC' if down != reverse else ''}" for column, down in self.order) or "1"

    def keys(self):
        """For the ordered aggregates."""
        return f"json_array({', '.join(column for column, _ in self.order)}), '{''.join('-' if down else '+' for _, down in self.order)}'"


class Writer:
    """Writes one view."""

    def __init__(self, schema, rng, most_frames, sizes):
        self.schema, self.rng, self.most_frames, self.sizes = schema, rng, most_frames, sizes
        self.names = 0
        self.params = []       # (name, Ty)
        self.tested = set()    # texts that were compared with none: what the compiler then knows of them is its matter

    def fresh(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    # ---- expressions ----------------------------------------------------------------------------

    def constant(self, ty):
        if not ty.opt and self.rng.random() < 0.12 and len(self.params) < 3 and ty.kind in ("int", "text", "enum", "date", "bool"):
            name = self.fresh("p")
            self.params.append((name, ty))
            return E(name, [":" + name], ty)
        value = random_value(ty, self.rng)
        if ty.kind == "text":
            value = value if len(value) < 20 else ""
        return E(literal(ty, value), [sql_literal(value)], ty)

    def named(self, scope, test):
        found = [e for e in scope.fields() + [self.followed(scope), self.followed(scope)] if e and test(e.ty) and not self.is_tested(e, scope)]
        return self.rng.choice(found) if found else None

    def is_tested(self, e, scope):
        return any(e.aup == text or e.aup.startswith((text + ".", text + "?.")) for text in self.tested - scope.open)

    def followed(self, scope):
        refs = [e for e in scope.fields() if e.ty.kind == "ref" and not self.is_tested(e, scope)]
        if not refs:
            return None
        ref = self.rng.choice(refs)
        e = follow(ref, self.rng.choice(ref.ty.arg.all_fields()))
        return e._replace(ty=e.ty.some()) if e.aup in scope.open else e

    def value(self, ty, scope, depth=2):
        """Of exactly this type, not optional; tame."""
        rng = self.rng
        roll = rng.random()
        if roll < 0.5 or depth == 0:
            found = self.named(scope, lambda t: t == ty)
            if found and not self.is_wild(found):
                return found
        if roll < 0.6:
            found = self.named(scope, lambda t: t == ty.maybe())
            if found and not self.is_wild(found):
                other = self.constant(ty)
                return E(f"({found.aup} ?? {other.aup})", [f"coalesce({found.one}, {other.one})"], ty)
        if roll < 0.66 and depth:
            c = self.condition(scope, depth - 1)
            a, b = self.value(ty, scope, depth - 1), self.value(ty, scope, depth - 1)
            return E(f"(if {c.aup} then {a.aup} else {b.aup})", [f"(CASE WHEN {c.one} THEN {a.one} ELSE {b.one} END)"], ty)
        if roll < 0.7 and depth:
            found = self.named(scope, lambda t: t.kind == "enum" and not t.opt)
            if found:
                cases = [self.value(ty, scope, 0) for _ in found.ty.arg.cases]
                arms = ", ".join(f"{case} => {e.aup}" for case, e in zip(found.ty.arg.cases, cases))
                whens = " ".join(f"WHEN {i} THEN {e.one}" for i, e in enumerate(cases))
                return E(f"(match {found.aup} {{ {arms} }})", [f"(CASE {found.one} {whens} END)"], ty)
        maker = getattr(self, "make_" + ty.kind, None)
        return maker(ty, scope, depth) if maker and depth else self.constant(ty)

    def is_wild(self, e):
        name = e.aup.replace("?.", ".").rsplit(".", 1)[-1]
        return any(f.name == name and f.wild for t in self.schema.tables for f in t.fields) or e.aup in self.wild_names

    wild_names = frozenset()

    def make_int(self, ty, scope, depth):
        rng = self.rng
        kind = rng.choice(["add", "sub", "mul", "quo", "rest", "neg", "len", "date", "count", "minmax", "abs"])
        sub = lambda: self.value(INT, scope, depth - 1)
        if kind in ("add", "sub", "mul"):
            a, b = sub(), sub()
            return E(f"({a.aup} {dict(add='+', sub='-', mul='*')[kind]} {b.aup})", [f"{kind}_({a.one}, {b.one})"], ty)
        if kind in ("quo", "rest"):
            a, n = sub(), rng.choice([2, 3, 7, -3])
            return E(f"({a.aup} {'/' if kind == 'quo' else '%'} {literal(INT, n)})", [f"{kind}({a.one}, {n})"], ty)
        if kind in ("neg", "abs"):
            a = sub()
            return E(f"(-{a.aup})" if kind == "neg" and not a.aup.startswith("-") else f"abs({a.aup})", [f"{'neg' if kind == 'neg' else 'absolute'}({a.one})"], ty)
        if kind == "len":
            a = self.value(TEXT, scope, depth - 1)
            return E(f"len({a.aup})", [f"chars({a.one})"], ty)
        if kind == "date":
            a, name = self.named(scope, lambda t: t == DATE), rng.choice(["year", "month", "day", "weekday"])
            return E(f"{name}({a.aup})", [f"{name}_of({a.one})"], ty) if a else self.constant(ty)
        if kind == "minmax":
            a, b, least = sub(), sub(), rng.random() < 0.5
            return E(f"{'min_of' if least else 'max_of'}({a.aup}, {b.aup})", [f"{'min' if least else 'max'}({a.one}, {b.one})"], ty)
        return self.nested_number(ty, scope)

    def make_dec(self, ty, scope, depth):
        rng = self.rng
        kind = rng.choice(["add", "sub", "times", "round", "divide", "sum"])
        if kind in ("add", "sub"):
            a, b = self.value(ty, scope, depth - 1), self.value(ty, scope, depth - 1)
            return E(f"({a.aup} {'+' if kind == 'add' else '-'} {b.aup})", [f"{kind}_({a.one}, {b.one})"], ty)
        if kind == "times":
            a, b = self.value(ty, scope, depth - 1), self.value(INT, scope, 0)
            return E(f"({a.aup} * {b.aup})", [f"mul_({a.one}, {b.one})"], ty)
        if kind == "round" and ty.arg < 18:
            a = self.named(scope, lambda t: t.kind == "dec" and t.arg > ty.arg and not t.opt)
            if a and not self.is_wild(a):
                return E(f"round({a.aup}, {ty.arg})", [f"rounded({a.one}, {a.ty.arg - ty.arg})"], ty)
        if kind == "divide":
            a, n = self.value(INT, scope, depth - 1), rng.choice([3, 7, -6])
            return E(f"divide({a.aup}, {literal(INT, n)}, {ty.arg})", [f"divide_({a.one}, {n}, {ty.arg})"], ty)
        if kind == "sum":
            return self.nested_number(ty, scope)
        return self.constant(ty)

    def make_text(self, ty, scope, depth):
        if self.rng.random() < 0.5:
            a, n = self.value(TEXT, scope, depth - 1), self.rng.randint(0, 3)
            return E(f"first({a.aup}, {n})", [f"first_chars({a.one}, {n})"], ty)
        a, b = self.value(TEXT, scope, depth - 1), self.value(INT, scope, depth - 1)
        if any(c in a.aup + b.aup for c in '"\n'):
            return a
        return E(f'"{{{a.aup}}}-{{{b.aup}}}"', [f"({a.one} || '-' || {b.one})"], ty)

    def make_bool(self, _, scope, depth):
        return self.condition(scope, depth)

    def nested_number(self, ty, scope):
        """count, sum, … of a query over the rows around it."""
        if self.nesting or not scope.rows:
            return self.constant(ty)
        query = self.query(scope, 1)
        return self.fold(query, "count" if ty == INT and self.rng.random() < 0.6 else "sum", ty)

    nesting = 0

    def condition(self, scope, depth=2):
        rng = self.rng
        if depth and rng.random() < 0.35:
            kind = rng.choice(["and", "or", "not", "and", "or"])
            a = self.condition(scope, depth - 1)
            if kind == "not":
                return E(f"(not {a.aup})", [f"(NOT {a.one})"], BOOL)
            inner = scope
            b = self.condition(inner, depth - 1)
            return E(f"({a.aup} {kind} {b.aup})", [f"(CASE WHEN {a.one} THEN {b.one} ELSE 0 END)" if kind == "and" else f"(CASE WHEN {a.one} THEN 1 ELSE {b.one} END)"], BOOL)
        for _ in range(4):
            made = getattr(self, "test_" + rng.choice(["order", "order", "order", "equal", "none", "range", "flag", "text", "ref", "list", "guarded", "nested", "lookup"]))(scope, depth)
            if made:
                return made
        a = self.value(INT, scope, 0)
        return E(f"({a.aup} >= 0)", [f"({a.one} >= 0)"], BOOL)

    def comparable(self, scope, opt):
        return self.named(scope, lambda t: t.kind in ("int", "dec", "text", "enum", "date", "time", "dur") and t.opt == opt)

    def like(self, a, scope, depth):
        """Something to compare with."""
        if self.is_wild(a):
            other = self.named(scope, lambda t: t == a.ty.some())
            if other and self.rng.random() < 0.4:
                return other
            value = random_value(a.ty.some(), self.rng, True)
            if a.ty.kind == "dec" and value == INT_MIN:
                value += 1
            return E(literal(a.ty.some(), value), [sql_literal(value)], a.ty.some())
        return self.value(a.ty.some(), scope, depth and depth - 1)

    def test_order(self, scope, depth):
        a = self.comparable(scope, False)
        if not a:
            return None
        b, op = self.like(a, scope, depth), self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return E(f"({a.aup} {op} {b.aup})", [f"({a.one} {dict([('==', '='), ('!=', '<>')]).get(op, op)} {b.one})"], BOOL)

    def test_equal(self, scope, depth):
        a = self.comparable(scope, True)
        if not a:
            return None
        other = self.named(scope, lambda t: t == a.ty) if self.rng.random() < 0.3 else None
        b, no = other or self.like(a, scope, depth), self.rng.random() < 0.3
        return E(f"({a.aup} {'!=' if no else '=='} {b.aup})", [f"({a.one} IS {'NOT ' if no else ''}{b.one})"], BOOL)

    def test_none(self, scope, _):
        a = self.named(scope, lambda t: t.opt)
        no = self.rng.random() < 0.5
        self.tested.add(a.aup if a else "")
        return a and E(f"({a.aup} {'!=' if no else '=='} none)", [f"({a.one} IS {'NOT ' if no else ''}NULL)"], BOOL)

    def test_range(self, scope, _):
        a = self.named(scope, lambda t: t.kind in ("int", "dec", "date") and not t.opt)
        if not a or self.is_wild(a):
            return None
        b, c = self.constant(a.ty), self.constant(a.ty)
        return E(f"({a.aup} >= {b.aup} and {a.aup} <= {c.aup})", [f"({a.one} >= {b.one} AND {a.one} <= {c.one})"], BOOL)

    def test_flag(self, scope, _):
        a = self.named(scope, lambda t: t == BOOL)
        return a

    def test_text(self, scope, _):
        a = self.named(scope, lambda t: t == TEXT)
        if not a:
            return None
        b = self.constant(TEXT)
        name = self.rng.choice(["starts_with", "ends_with", "contains"])
        return E(f"{name}({a.aup}, {b.aup})", [f"{dict(starts_with='starts', ends_with='ends', contains='has_part')[name]}({a.one}, {b.one})"], BOOL)

    def refs_to(self, scope):
        """Rows and references that can be compared: (table, E)."""
        return [E(row.name, row.sql or [f"{row.name}__{c}" for c in row.table.key_columns()], Ty("ref", row.table)) for row in scope.rows] + [e for e in scope.fields() if e.ty.kind == "ref" and not self.is_tested(e, scope)]

    def test_ref(self, scope, _):
        refs = self.refs_to(scope)
        self.rng.shuffle(refs)
        for i, a in enumerate(refs):
            for b in refs[i + 1:]:
                if a.ty.arg is b.ty.arg and a.aup != b.aup and b.aup not in scope.open:
                    no = self.rng.random() < 0.2
                    same = " AND ".join(f"{x} IS {y}" for x, y in zip(a.sql, b.sql))
                    return E(f"({a.aup} {'!=' if no else '=='} {b.aup})", [f"({'NOT ' if no else ''}({same}))"], BOOL)
        return None

    def test_list(self, scope, _):
        a = self.named(scope, lambda t: t.kind in ("int", "enum", "text", "date") and not t.opt)
        if not a or self.is_wild(a):
            return None
        items = [self.constant(a.ty) for _ in range(self.rng.randint(1, 4))]
        return E(f"({a.aup} in [{', '.join(i.aup for i in items)}])", [f"({a.one} IN ({', '.join(i.one for i in items)}))"], BOOL)

    def test_guarded(self, scope, _):
        a = self.named(scope, lambda t: t.opt and t.kind in ("int", "date", "text", "dec"))
        if not a or self.is_wild(a) or "?." in a.aup or ":" in a.aup:
            return None
        self.tested.add(a.aup)
        b, either, op = self.constant(a.ty.some()), self.rng.random() < 0.5, self.rng.choice(["<", ">="])
        if either:
            return E(f"({a.aup} == none or {a.aup} {op} {b.aup})", [f"({a.one} IS NULL OR {a.one} {op} {b.one})"], BOOL)
        return E(f"({a.aup} != none and {a.aup} {op} {b.aup})", [f"({a.one} IS NOT NULL AND {a.one} {op} {b.one})"], BOOL)

    def test_nested(self, scope, _):
        if self.nesting or not scope.rows:
            return None
        query, kind = self.query(scope, 1), self.rng.choice(["any", "all", "count", "in"])
        if kind == "count":
            n = self.rng.randint(0, 2)
            count = self.fold(query, "count", INT)
            return E(f"({count.aup} > {n})", [f"({count.one} > {n})"], BOOL)
        if kind == "in":
            a = self.named(scope, lambda t: t.kind in ("int", "enum", "text", "date") and not t.opt)
            if not a or self.is_wild(a):
                return None
            e = self.value(a.ty, query.scope, 1)
            return E(f"({a.aup} in ({query.aup} select {e.aup}))", [f"({a.one} IN (SELECT {e.one} FROM ({query.sql})))"], BOOL)
        return self.fold(query, kind, BOOL)

    def test_lookup(self, scope, _):
        tables = [t for t in self.schema.tables if len(t.key) == 1 and t.key[0].ty.kind in ("int", "enum", "date", "text")]
        if not tables:
            return None
        table = self.rng.choice(tables)
        key = self.value(table.key[0].ty, scope, 0)
        return E(f"({table.name}[{key.aup}] != none)", [f"(EXISTS (SELECT 1 FROM {table.name} WHERE {table.key_columns()[0]} = {key.one}))"], BOOL)

    # ---- queries --------------------------------------------------------------------------------

    def query(self, above=None, nested=0):
        """Clauses up to, not with, select."""
        self.nesting += nested
        rng = self.rng
        query = Query("", "SELECT 1 AS one__", [], Scope(above), None)
        frames = self.add_from(query, 1, correlate=bool(above))
        clauses = rng.choice([0, 1, 1, 2, 2, 3, 4]) if not nested else rng.choice([0, 1, 1, 2])
        for _ in range(clauses):
            kind = rng.choice(["where", "where", "where", "from", "with", "group", "order", "order", "take"])
            if kind == "from" and not nested and frames < self.most_frames:
                frames = self.add_from(query, frames)
            elif kind == "with":
                self.add_with(query)
            elif kind == "group" and not nested and query.scope.rows:
                self.add_group(query)
            elif kind == "order":
                self.add_order(query)
            elif kind == "take" and query.has_order:
                self.add_take(query)
            else:
                self.add_where(query)
        self.nesting -= nested
        return query

    def wrap(self, query, select, rest=""):
        query.sql = f"SELECT {select} FROM ({query.sql}) {rest}"

    def add_from(self, query, frames, correlate=False):
        rng = self.rng
        query.has_order = False  # `take` wants an order by behind the last from
        kind = rng.choices(["table", "range", "list", "query"], [12, 1, 1, 1.2 if not self.nesting else 0])[0]
        small = [t for t in self.schema.tables if frames * self.sizes.get(t.name, 10) <= self.most_frames]
        if kind == "table" and (small or not query.aup):
            table = rng.choice(small or self.schema.tables)
            name = self.fresh("r")
            around = list(query.scope.rows)
            query.aup += f"\n  from {name} in {table.name}"
            query.sql = f"SELECT * FROM ({query.sql}) CROSS JOIN ({table.relation(name)})"
            query.scope.rows.append(Row(name, table, None))
            query.order += [(f"{name}__{c}", False) for c in table.key_columns()]
            query.last = name
            if around and (correlate or rng.random() < 0.7):
                self.add_join(query, name, table)
            return frames * self.sizes.get(table.name, 10)
        name = self.fresh("n")
        if kind == "query":
            return self.add_from_query(query, name, frames)
        if kind == "range":
            low, high = rng.randint(-2, 3), rng.randint(0, 5)
            ty, items, aup = INT, list(range(low, high + 1)), f"{literal(INT, low)}..{high}"
        else:
            ty = rng.choice([INT, TEXT, Ty("enum", self.schema.enums[0])])
            items = [random_value(ty, rng) for _ in range(rng.randint(1, 4))]
            aup = f"[{', '.join(literal(ty, v) for v in items)}]"
        values = " UNION ALL ".join(f"SELECT {i} AS {name}__at, {sql_literal(v)} AS {name}" for i, v in enumerate(items)) or f"SELECT 0 AS {name}__at, 0 AS {name} WHERE 0"
        query.aup += f"\n  from {name} in {aup}"
        query.sql = f"SELECT * FROM ({query.sql}) CROSS JOIN ({values})"
        query.scope.values.append(E(name, [name], ty))
        query.order.append((f"{name}__at", False))
        query.last = name
        return frames * max(len(items), 1)

    def add_from_query(self, query, name, frames):
        """from n in (from … select { … })."""
        self.nesting += 1
        inner = self.query(None)
        fields = [self.any_scalar(inner.scope) for _ in range(self.rng.randint(1, 3))]
        self.nesting -= 1
        members = ", ".join(f"m{i}: {e.aup}" for i, e in enumerate(fields))
        columns = ", ".join(f"{e.one} AS {name}__m{i}" for i, e in enumerate(fields))
        query.aup += f"\n  from {name} in ({inner.aup}\n  select {{ {members} }})"
        ordered = f"SELECT {columns}, row_number() OVER (ORDER BY {inner.order_sql()}) AS {name}__at FROM ({inner.sql})"
        query.sql = f"SELECT * FROM ({query.sql}) CROSS JOIN ({ordered})"
        for i, e in enumerate(fields):
            query.scope.values.append(E(f"{name}.m{i}", [f"{name}__m{i}"], e.ty))
            if self.is_wild(e):
                self.wild_names = self.wild_names | {f"{name}.m{i}"}
        query.order.append((f"{name}__at", False))
        query.last = None
        return frames * 20

    def any_scalar(self, scope):
        """A field as it is, or something computed; no reference."""
        if self.rng.random() < 0.6:
            found = self.named(scope, lambda t: t.kind not in ("ref", "list", "float"))
            if found:
                return found
        return self.value(self.rng.choice([INT, TEXT, BOOL, Ty("dec", 2)]), scope)

    def add_join(self, query, name, table):
        """A where that ties the new row to those before it."""
        scope, rng = query.scope, self.rng
        mine = [E(name, [f"{name}__{c}" for c in table.key_columns()], Ty("ref", table))]
        mine += [e for e in scope.fields() if e.aup.startswith(name + ".") and not self.is_wild(e) and not self.is_tested(e, scope)]
        others = [e for e in self.refs_to(scope) + scope.fields() if not e.aup.startswith(name + ".") and e.aup != name and not self.is_wild(e) and not self.is_tested(e, scope)]
        pairs = [(a, b) for a in mine for b in others if a.ty.some() == b.ty.some() and a.ty.kind not in ("bool", "list", "float")]
        refs = [p for p in pairs if p[0].ty.kind == "ref"]
        if not pairs:
            return
        a, b = rng.choice(refs) if refs and rng.random() < 0.7 else rng.choice(pairs)
        if rng.random() < 0.3:
            a, b = b, a
        same = " AND ".join(f"{x} IS {y}" for x, y in zip(a.sql, b.sql))
        query.aup += f"\n  where {a.aup} == {b.aup}"
        self.wrap(query, "*", f"WHERE {same}")

    def add_where(self, query):
        if self.rng.random() < 0.2:
            a = self.named(query.scope, lambda t: t.opt)
            if a and "?." not in a.aup:
                query.aup += f"\n  where {a.aup} != none"
                self.wrap(query, "*", f"WHERE {a.one} IS NOT NULL")
                query.scope.open.add(a.aup)
                return
        c = self.condition(query.scope, 2)
        query.aup += f"\n  where {c.aup}"
        self.wrap(query, "*", f"WHERE {c.one}")

    def add_with(self, query):
        e, name = self.any_scalar(query.scope), self.fresh("w")
        query.aup += f"\n  with {name} = {e.aup}"
        self.wrap(query, f"*, {e.one} AS {name}")
        query.scope.values.append(E(name, [name], e.ty))
        if self.is_wild(e):
            self.wild_names = self.wild_names | {name}

    def add_order(self, query):
        chosen = []
        for _ in range(self.rng.randint(1, 2)):
            refs = [e for e in query.scope.fields() if e.ty.kind == "ref" and not self.is_tested(e, query.scope)]
            e = self.rng.choice(refs) if refs and self.rng.random() < 0.15 else self.any_scalar(query.scope)
            chosen.append((e, self.rng.random() < 0.4))
        self.order_by(query, chosen)

    def order_by(self, query, chosen):
        items, columns = [], []
        for e, down in chosen:
            items.append(e.aup + (" desc" if down else ""))
            for sql in e.sql:
                name = self.fresh("o")
                columns.append((f"{name}__", sql, down))
        query.aup += f"\n  order by {', '.join(items)}"
        self.wrap(query, ", ".join(["*"] + [f"{sql} AS {name}" for name, sql, _ in columns]))
        query.order = [(name, down) for name, _, down in columns] + query.order
        query.has_order = True

    def add_take(self, query):
        skip, take = self.rng.choice([0, 0, 1, 3]), self.rng.choice([0, 1, 2, 5, 40])
        name = None
        if self.rng.random() < 0.2 and len(self.params) < 3:
            name = self.fresh("p")
            self.params.append((name, INT))
        query.aup += (f"\n  skip {skip}" if skip else "") + f"\n  take {name or take}"
        self.wrap(query, "*", f"ORDER BY {query.order_sql()} LIMIT {f'max(:{name}, 0)' if name else take} OFFSET {skip}")

    def add_group(self, query):
        """The group, what is folded of it, and the scope behind it: its keys and these aggregates by the names of a `with`."""
        rng = self.rng
        frame, keys, columns = Scope(query.scope), [], []
        for _ in range(rng.choice([1, 1, 1, 2])):
            refs = [e for e in query.scope.fields() if e.ty.kind == "ref" and not self.is_tested(e, query.scope)]
            e = rng.choice(refs) if refs and rng.random() < 0.3 else self.any_scalar(query.scope)
            if any(e.aup == other.aup for _, other in keys):
                continue
            keys.append((self.fresh("g"), e))
        if not keys:
            return
        around = [row for row in query.scope.rows if f"from {row.name} in" not in query.aup]
        outer = [e for e in query.scope.values if f"from {e.aup.split('.')[0]} in" not in query.aup and f"with {e.aup} =" not in query.aup and not e.aup.startswith("g")]
        scope = Scope()
        scope.rows, scope.values = around, outer
        for name, e in keys:
            columns += [(f"{name}_{i}__", sql) for i, sql in enumerate(e.sql)]
            scope.values.append(E(name, [f"{name}_{i}__" for i in range(len(e.sql))], e.ty))
            if self.is_wild(e):
                self.wild_names = self.wild_names | {name}
        folds = [(self.fresh("a"), self.group_fold(query, frame)) for _ in range(rng.randint(1, 4))]
        inner = f"SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in columns)} FROM ({query.sql})"
        names = ", ".join(name for name, _ in columns)
        query.sql = f"SELECT {names}, {', '.join(f'{e.one} AS {name}' for name, e in folds)} FROM ({inner}) GROUP BY {names}"
        query.aup += f"\n  group by {', '.join(f'{name} = {e.aup}' for name, e in keys)}" + "".join(f"\n  with {name} = {e.aup}" for name, e in folds)
        for name, e in folds:
            scope.values.append(E(name, [name], e.ty))
            self.wild_names = self.wild_names | {name}
        query.scope, query.order, query.last, query.has_order = scope, [(name, False) for name, _ in columns], None, False

    def group_fold(self, query, frame):
        """Of something in the frames: what is the same for all of them is no aggregate."""
        for _ in range(20):
            e = self.any_fold(query, frame)
            if any(f.aup in e.aup for f in frame.fields()):
                return e
        row = frame.rows[0]
        return E(f"count({row.name}.{row.table.key[0].name})", ["count(*)"], INT)

    def any_fold(self, query, frame):
        return self.folded(query, frame, self.rng.choice(["count", "count", "sum", "sum", "min", "max", "avg", "first", "last", "list", "distinct", "any", "all", "count_if"]), group=True)

    def argument(self, scope, kind):
        """What an aggregate of the kind is of."""
        rng = self.rng
        if kind in ("any", "all", "count_if"):
            return self.condition(scope, 1)
        if kind in ("sum", "avg"):
            found = self.named(scope, lambda t: t.kind in ("int", "dec", "dur")) if rng.random() < 0.7 else None
            return found or self.value(rng.choice([INT, Ty("dec", 2)]), scope, 1)
        return self.any_scalar(scope)

    def folded(self, query, scope, kind, group, e=None):
        """An aggregate over the relation `query`: (aup's argument, the SQL aggregate)."""
        e = e or self.argument(scope, kind)
        aup, some = f"{kind}({e.aup})", e.ty.some()
        if kind in ("any", "all"):
            return E(aup, [f"coalesce({'max' if kind == 'any' else 'min'}({e.one}), {int(kind == 'all')})"], BOOL)
        if kind == "count":
            return E(aup, [f"count({e.one})"], INT)
        if kind == "count_if":
            return E(aup, [f"count(CASE WHEN {e.one} THEN 1 END)"], INT)
        if kind == "sum":
            return E(aup, [f"coalesce(total_of({e.one}), 0)"], some)  # of nothing Python's aggregates give NULL
        opt = some._replace(opt=e.ty.opt or not group)
        if kind == "avg":
            if some.kind == "dec" or (some.kind == "int" and self.rng.random() < 0.3):
                digits = self.rng.choice([some.arg or 0, some.arg or 0, 1, 3])
                up = digits - (some.arg or 0)
                aup = f"avg({e.aup}, {digits})" if group else f"avg(({{}}), {digits})"
                return E(aup, [f"mean_units({e.one}, {up})"], Ty("dec", digits, opt.opt))
            return E(aup, [f"{'mean_dur' if some.kind == 'dur' else 'mean_int'}({e.one})"], Ty("float", None, opt.opt) if some.kind == "int" else opt)
        if kind in ("min", "max"):
            return E(aup, [f"{kind}({e.one})"], opt)
        if kind in ("list", "distinct"):
            return E(aup, [f"coalesce({kind}_of({query.keys()}, {e.one}), '[]')"], Ty("list", some))
        return E(aup, [f"{kind}_of({query.keys()}, {e.one})"], opt)

    def fold(self, query, kind, ty):
        """An aggregate over a whole query, of a wanted type (or any: None)."""
        if ty in (INT,) and kind == "sum":
            e = self.value(INT, query.scope, 1)
        elif ty and ty.kind == "dec":
            e = self.value(ty, query.scope, 1)
        else:
            e = self.argument(query.scope, kind)
        x = self.fresh("x") + "__"  # under a name of its own: SQL gives an aggregate of outer columns alone to the outer query
        made = self.folded(query, query.scope, kind, False, e._replace(sql=[x]))
        inner = f"{query.aup} select {e.aup}"
        aup = made.aup.format(inner) if "{}" in made.aup and kind == "avg" else f"{kind}({inner})"
        return E(aup, [f"(SELECT {made.one} FROM (SELECT *, {e.one} AS {x} FROM ({query.sql})))"], made.ty)

    # ---- views ----------------------------------------------------------------------------------

    def selected(self, query):
        """What a frame gives: (text, SQL, type)."""
        rng = self.rng
        fields = []
        for i in range(rng.choice([1, 2, 3, 5])):
            roll = rng.random()
            refs = [e for e in query.scope.fields() if e.ty.kind == "ref" and not self.is_tested(e, query.scope)] + [E(r.name, r.sql or [f"{r.name}__{c}" for c in r.table.key_columns()], Ty("ref", r.table)) for r in query.scope.rows]
            if roll < 0.12 and refs:
                e = rng.choice(refs)
            elif roll < 0.2:
                e = E("position()", [f"row_number() OVER (ORDER BY {query.order_sql()})"], INT)
            elif roll < 0.3 and query.scope.rows and not self.nesting:
                inner = self.query(query.scope, 1)
                what = self.any_scalar(inner.scope)
                e = E(f"({inner.aup} select {what.aup})", [self.as_list(inner, what)], Ty("list", what.ty))
            elif roll < 0.7 and any(not self.is_tested(v, query.scope) for v in query.scope.values):
                e = rng.choice([v for v in query.scope.values if not self.is_tested(v, query.scope)])
            else:
                e = self.any_scalar(query.scope)
            fields.append((f"s{i}", e))
        if len(fields) == 1 and rng.random() < 0.5:
            return fields[0][1].aup, fields[0][1].whole(), fields[0][1].ty
        aup = ", ".join(f"{name}: {e.aup}" for name, e in fields)
        return f"{{ {aup} }}", f"json_array({', '.join(e.whole() for _, e in fields)})", Ty("rec", tuple((name, e.ty) for name, e in fields))

    @staticmethod
    def as_list(query, e):
        """All, none included, in order."""
        return f"(SELECT json_group_array(x) FROM (SELECT {e.one} AS x FROM ({query.sql}) ORDER BY {query.order_sql()}))"

    def plain_query(self):
        """One table: what indexes, ranges and kept values are for."""
        rng, query = self.rng, Query("", "SELECT 1 AS one__", [], Scope(), None)
        table, name = rng.choice(self.schema.tables), self.fresh("r")
        query.aup = f"\n  from {name} in {table.name}"
        query.sql = f"SELECT * FROM ({query.sql}) CROSS JOIN ({table.relation(name)})"
        query.scope.rows, query.last = [Row(name, table, None)], name
        query.order = [(f"{name}__{c}", False) for c in table.key_columns()]
        lines = table.indexes + [[(f.name, False) for f in table.key]]
        fields = {e.aup: e for e in query.scope.fields()}
        line = [(fields[f"{name}.{field}"], down) for field, down in rng.choice(lines)]
        tests = rng.randint(0, len(line))
        terms = [self.index_term(e, query.scope, i == tests - 1) for i, (e, _) in enumerate(line[:tests])]
        terms = [term for term in terms if term]
        if terms:
            together = rng.random() < 0.5
            query.aup += "".join(f"\n  {'and' if together and i else 'where'} {aup}" for i, (aup, _) in enumerate(terms))
            self.wrap(query, "*", "WHERE " + " AND ".join(sql for _, sql in terms))
        if rng.random() < 0.3:
            self.add_where(query)
        if rng.random() < 0.3:
            self.add_group(query)
        elif rng.random() < 0.7:
            turn = rng.random() < 0.4
            self.order_by(query, [(e, down != turn) for e, down in line[rng.choice([0, min(tests, len(line) - 1)]):]])
            if rng.random() < 0.5:
                self.add_take(query)
        return query

    def index_term(self, e, scope, last):
        """A test of a field of an index: equality, and of the last one maybe a range."""
        if e.ty.kind == "ref":
            same = [other for other in self.refs_to(scope) if other.ty.some() == e.ty.some() and other.aup != e.aup]
            return (f"{e.aup} == none", f"{e.one} IS NULL") if e.ty.opt and not self.tested else (f"{e.aup} == {same[0].aup}", " AND ".join(f"{a} IS {b}" for a, b in zip(e.sql, same[0].sql))) if same else None
        value = self.like(e, Scope(), 1)
        if last and not e.ty.opt and e.ty.kind != "bool" and self.rng.random() < 0.6:
            op, other = self.rng.choice(["<", "<=", ">", ">="]), self.like(e, Scope(), 1)
            both = self.rng.random() < 0.4
            back = self.rng.choice(["<", "<="] if op[0] == ">" else [">", ">="])
            return (f"{e.aup} {op} {value.aup}" + (f" and {e.aup} {back} {other.aup}" if both else ""), f"{e.one} {op} {value.one}" + (f" AND {e.one} {back} {other.one}" if both else ""))
        return f"{e.aup} == {value.aup}", f"{e.one} IS {value.one}"

    def view(self, name):
        rng = self.rng
        query = self.plain_query() if rng.random() < 0.35 else self.query()
        if rng.random() < 0.3:
            kind = rng.choice(["count", "sum", "min", "max", "avg", "first", "last", "any", "all", "list", "distinct"])
            e = self.fold(query, kind, None)
            aup, sql, ty, many = e.aup, f"SELECT {e.one}", e.ty, False
        elif rng.random() < 0.1 and query.last and any(r.name == query.last for r in query.scope.rows):
            row = next(r for r in query.scope.rows if r.name == query.last)
            e = E("", [f"{row.name}__{c}" for c in row.table.key_columns()], Ty("ref", row.table))
            aup, sql, ty, many = query.aup, f"SELECT {e.whole()} FROM ({query.sql}) ORDER BY {query.order_sql()}", e.ty, True
        else:
            text, what, ty = self.selected(query)
            aup, sql, many = f"{query.aup}\n  select {text}", f"SELECT {what} FROM ({query.sql}) ORDER BY {query.order_sql()}", True
        params = ", ".join(f"{p}: {t.aup()}" + (" max 20" if t.kind == "text" else "") for p, t in self.params)
        return View(name, f"view {name}{f'({params})' if params else ''} @scan = {aup}", sql, Ty("list", ty) if many else ty, list(self.params), many)


class View(NamedTuple):
    name: str
    aup: str
    sql: str
    ty: Ty
    params: list
    many: bool      # a row of SQL for each item

    def random_arguments(self, rng):
        return {name: (ty, random_value(ty, rng)) for name, ty in self.params}
