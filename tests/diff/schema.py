"""Random tables, and what an input does to them, written twice: as an app and as SQL."""
from typing import NamedTuple

from values import BOOL, DATE, INT, TEXT, Enum, Ty, literal, random_value


class Field(NamedTuple):
    name: str
    ty: Ty
    wild: bool = False          # values at the edges; kept out of arithmetic
    on_delete: str = "restrict"
    least: object = None        # min and max of an int
    most: object = None

    def columns(self):
        if self.ty.kind != "ref":
            return [self.name]
        return [f"{self.name}_{i}" for i in range(len(self.ty.arg.key_types()))]


class Computed(NamedTuple):
    name: str
    ty: Ty
    aup: str
    sql: str                    # in terms of the table's columns


class Table:
    def __init__(self, name):
        self.name = name
        self.key, self.fields, self.computed, self.lines = [], [], [], []
        self.auto = False
        self.indexes = []       # [(field, whether it goes down)]
        self.uniques = []       # (columns, condition in SQL)
        self.checks = []        # conditions in SQL
        self.single_unique = [] # fields that are unique by themselves
        self.rows_max = None

    def key_types(self):
        types = []
        for field in self.key:
            types += field.ty.arg.key_types() if field.ty.kind == "ref" else [field.ty]
        return types

    def key_columns(self):
        return [column for field in self.key for column in field.columns()]

    def all_fields(self):
        return self.key + self.fields

    def columns(self):
        return [column for field in self.all_fields() for column in field.columns()]

    def aup(self):
        out = [f"table {self.name}{f' max {self.rows_max}' if self.rows_max else ''} {{"]
        for field in self.all_fields():
            words = field.ty.aup()
            if field.ty.kind == "text":
                words += " max 20"
            if field.least is not None:
                words += f" min {field.least} max {field.most}"
            if field.ty.kind == "ref" and field.on_delete != "restrict":
                words += f" on delete {field.on_delete}"
            if len(self.key) == 1 and field is self.key[0]:
                words += " key auto" if self.auto else " key"
            if field.name in self.single_unique:
                words += " unique"
            out.append(f"  {field.name}: {words}")
        if len(self.key) > 1:
            out.append("  key " + ", ".join(field.name for field in self.key))
        out += [f"  let {c.name} = {c.aup}" for c in self.computed]
        return "\n".join(out + ["  " + line for line in self.lines] + ["}"])

    def sql(self):
        return f"CREATE TABLE {self.name}({', '.join(self.columns())}, PRIMARY KEY({', '.join(self.key_columns())})) WITHOUT ROWID"

    def relation(self, prefix, condition="1"):
        """Its rows with every column under a name of its own: prefix__column."""
        parts = [f"{column} AS {prefix}__{column}" for column in self.columns()] + [f"({c.sql}) AS {prefix}__{c.name}" for c in self.computed]
        return f"SELECT {', '.join(parts)} FROM {self.name} WHERE {condition}"


class Schema:
    def __init__(self, rng):
        self.rng = rng
        self.enums = [Enum("Kind", ("red", "green", "blue")), Enum("State", ("open", "done"))]
        self.tables = []
        for i in range(rng.randint(2, 4)):
            self.tables.append(self.make_table(i))

    def scalar(self, for_key=False):
        rng = self.rng
        kind = rng.choice(["int"] * 4 + ["dec"] * 3 + ["text"] * 3 + ["enum"] * 2 + ["date", "time", "dur"] + ([] if for_key else ["bool", "bool"]))
        arg = rng.choice([2, 2, 0, 1, 4]) if kind == "dec" else rng.choice(self.enums) if kind == "enum" else None
        return Ty(kind, arg)

    def make_table(self, number):
        rng, table = self.rng, Table(f"T{number}")
        letter = "abcd"[number]
        simple = [t for t in self.tables if len(t.key_types()) == 1]
        shape = rng.choice(["auto", "auto", "int", "scalar", "pair", "pair", "with ref"])
        if shape == "with ref" and not simple:
            shape = "pair"
        if shape in ("auto", "int"):
            table.auto = shape == "auto"
            table.key = [Field(f"{letter}k", INT)]
        elif shape == "scalar":
            table.key = [Field(f"{letter}k", self.scalar(True))]
        elif shape == "pair":
            table.key = [Field(f"{letter}k{i}", self.scalar(True)) for i in range(rng.randint(2, 3))]
        else:
            table.key = [Field(f"{letter}kr", Ty("ref", rng.choice(simple)), on_delete=rng.choice(["cascade", "restrict"])), Field(f"{letter}k", rng.choice([INT, TEXT, DATE]))]
        for i in range(rng.randint(3, 7)):
            table.fields.append(self.make_field(table, f"{letter}{i}"))
        self.add_computed(table, letter)
        self.add_rules(table)
        return table

    def make_field(self, table, name):
        rng = self.rng
        if (self.tables or table.key) and rng.random() < 0.3:
            target = rng.choice(self.tables + [table])
            opt = target is table or rng.random() < 0.4
            return Field(name, Ty("ref", target, opt), on_delete=rng.choice(["restrict", "cascade"] + (["clear", "clear"] if opt else [])))
        ty = self.scalar()._replace(opt=rng.random() < 0.3)
        if ty.kind in ("int", "dec") and rng.random() < 0.25:
            return Field(name, Ty("dec", rng.choice([9, 18, 2]), ty.opt) if ty.kind == "dec" else ty, wild=True)
        if ty.kind == "int" and rng.random() < 0.2:
            return Field(name, ty, least=-90, most=90)
        return Field(name, ty)

    def add_computed(self, table, letter):
        ints = [f for f in table.fields if f.ty == INT and not f.wild]
        bools = [f for f in table.fields if f.ty == BOOL]
        texts = [f for f in table.fields if f.ty == TEXT]
        if ints and self.rng.random() < 0.5:
            f = self.rng.choice(ints)
            table.computed.append(Computed(f"{letter}c0", INT, f"{f.name} * 3 - 1", f"{f.name} * 3 - 1"))
        if ints and bools and self.rng.random() < 0.5:
            f, b = self.rng.choice(ints), self.rng.choice(bools)
            table.computed.append(Computed(f"{letter}c1", BOOL, f"{b.name} or {f.name} > 5", f"({b.name} OR {f.name} > 5)"))
        if texts and self.rng.random() < 0.3:
            f = self.rng.choice(texts)
            table.computed.append(Computed(f"{letter}c2", INT, f"len({f.name})", f"chars({f.name})"))

    def add_rules(self, table):
        rng = self.rng
        names = [(f.name, f) for f in table.all_fields()] + [(c.name, c) for c in table.computed]
        for _ in range(rng.randint(0, 3)):
            chosen = rng.sample(names, min(len(names), rng.randint(1, 3)))
            index = [(name, rng.random() < 0.3) for name, _ in chosen]
            table.indexes.append(index)
            table.lines.append("index " + ", ".join(name + (" desc" if down else "") for name, down in index))
        if rng.random() < 0.4:
            single = [f for f in table.fields if f.ty.kind in ("int", "text", "date", "ref")]
            if single:
                field = rng.choice(single)
                table.single_unique.append(field.name)
                table.uniques.append((field.columns(), "1"))
        if rng.random() < 0.4:
            chosen = rng.sample(table.all_fields(), min(len(table.all_fields()), 2))
            columns = [column for f in chosen for column in f.columns()]
            flags = [f for f in table.fields if f.ty == BOOL]
            if flags and rng.random() < 0.7:
                flag = rng.choice(flags)
                table.lines.append(f"unique {', '.join(f.name for f in chosen)} where not {flag.name}")
                table.uniques.append((columns, f"NOT {flag.name}"))
            else:
                table.lines.append(f"unique {', '.join(f.name for f in chosen)}")
                table.uniques.append((columns, "1"))
        ints = [f for f in table.fields if f.ty == INT]
        if ints and rng.random() < 0.3:
            field = rng.choice(ints)
            table.lines.append(f'check {field.name} != 77 else "No 77."')
            table.checks.append(f"{field.name} <> 77")
        for f in table.fields:
            if f.least is not None:
                table.checks.append(f"({f.name} IS NULL OR {f.name} BETWEEN {f.least} AND {f.most})")

    def value(self, field, refs):
        """A value for a field; `refs`: keys that are there, by table."""
        if field.ty.kind == "ref":
            there = refs.get(field.ty.arg.name, [])
            if field.ty.opt and (not there or self.rng.random() < 0.3):
                return None
            return self.rng.choice(there) if there and self.rng.random() < 0.97 else tuple(random_value(t, self.rng) for t in field.ty.arg.key_types())
        return random_value(field.ty, self.rng, field.wild)

    def aup(self):
        enums = [f"enum {e.name} {{ {', '.join(e.cases)} }}" for e in self.enums]
        return "\n".join(enums + [t.aup() for t in self.tables])


class Changes:
    """The inputs of an app and what they are to do. A call is (input's name, arguments, how it works on the SQL side)."""

    def __init__(self, schema):
        self.schema, self.rng, self.inputs, self.makers = schema, schema.rng, [], []
        for table in schema.tables:
            self.for_table(table)

    def declare(self, name, params, body, result=""):
        self.inputs.append(f"input {name}({', '.join(params)}){result} {{\n{body}\n}}")

    def for_table(self, table):
        given = [f for f in table.all_fields() if not (table.auto and f is table.key[0])]
        params = [f"{f.name}: {f.ty.aup()}" + (" max 20" if f.ty.kind == "text" else "") for f in given]
        new = f"insert {table.name} {{ {', '.join(f.name for f in given)} }}"
        name = table.name.lower()
        self.declare(f"add_{name}", params, f"  return {new}", f" -> {table.name}")
        self.declare(f"undo_{name}", params, f"  let made = {new}\n  reject \"No {{made == made}}.\"")
        self.makers.append(("add", table, given, 6))
        self.makers.append(("undo", table, given, 1))
        for part in range(2):
            chosen = self.rng.sample(table.fields, self.rng.randint(1, min(3, len(table.fields))))
            sets = [f"{f.name}: {f.ty.aup()}" + (" max 20" if f.ty.kind == "text" else "") for f in chosen]
            body = f"  update row {{ {', '.join(f.name for f in chosen)} }}" if part else "\n".join(f"  row.{f.name} = {f.name}" for f in chosen)
            self.declare(f"set{part}_{name}", [f"row: {table.name}"] + sets, body)
            self.makers.append((f"set{part}", table, chosen, 2))
        self.declare(f"del_{name}", [f"row: {table.name}"], "  delete row")
        self.makers.append(("del", table, [], 1))
        self.bulk(table, name)

    def bulk(self, table, name):
        """Many rows at once: by a condition with a parameter."""
        tests = [f for f in table.all_fields() if f.ty.kind in ("int", "date", "enum", "text") and not f.ty.opt]
        ints = [f for f in table.fields if f.ty == INT and not f.wild]
        if tests:
            f = self.rng.choice(tests)
            op = self.rng.choice(["==", "<", ">"])
            self.declare(f"drop_{name}", [f"limit: {f.ty.aup()}"], f"  delete from x in {table.name} where x.{f.name} {op} limit")
            self.makers.append(("drop", table, [(f, "=" if op == "==" else op)], 0.4))
            if ints:
                g, by = self.rng.choice(ints), self.rng.choice([1, -1, 3])
                self.declare(f"bump_{name}", [f"limit: {f.ty.aup()}"], f"  for x in {table.name} where x.{f.name} {op} limit {{ x.{g.name} = (x.{g.name} + {literal(INT, by)}) % 100 }}")
                self.makers.append(("bump", table, [(f, "=" if op == "==" else op), (g, by)], 1.5))

    def call(self, refs, only=None):
        """A random one: (kind, table, arguments by name)."""
        makers = [m for m in self.makers if only is None or m[0] in only]
        kind, table, about, _ = self.rng.choices(makers, [m[3] for m in makers])[0]
        arguments = {}
        if kind in ("add", "undo"):
            arguments = {f.name: (f.ty, self.schema.value(f, refs)) for f in about}
        elif kind in ("drop", "bump"):
            arguments = {"limit": (about[0][0].ty, self.schema.value(about[0][0], refs))}
        else:
            there = refs.get(table.name, [])
            row = self.rng.choice(there) if there and self.rng.random() < 0.95 else tuple(random_value(t, self.rng) for t in table.key_types())
            arguments = {"row": (Ty("ref", table), row)} | {f.name: (f.ty, self.schema.value(f, refs)) for f in about}
        return kind, table, about, arguments


class Rejected(Exception):
    def __init__(self, *codes):
        super().__init__(codes)
        self.codes = codes


class Model:
    """What the inputs do, in SQLite. `apply` gives ("done", result) or ("rejected", the codes that would be right)."""

    def __init__(self, schema, peer):
        self.schema, self.peer = schema, peer
        self.next_auto = {t.name: 1 for t in schema.tables}
        for table in schema.tables:
            peer.connection.execute(table.sql())

    def refs(self):
        return {t.name: self.peer.all(f"SELECT {', '.join(t.key_columns())} FROM {t.name} ORDER BY {', '.join(t.key_columns())}") for t in self.schema.tables}

    def apply(self, call):
        kind, table, about, arguments = call
        before = dict(self.next_auto)
        self.peer.connection.execute("SAVEPOINT call")
        try:
            for ty, value in arguments.values():
                if ty.kind == "ref" and value is not None and not self.has(ty.arg, value):
                    raise Rejected("not_found")
            result = self.run(kind, table, about, arguments)
            self.check_end()
            self.peer.connection.execute("RELEASE call")
            return "done", result
        except Rejected as rejected:
            self.peer.connection.execute("ROLLBACK TO call")
            self.peer.connection.execute("RELEASE call")
            self.next_auto = before
            return "rejected", rejected.codes

    def has(self, table, key):
        return bool(self.peer.all(f"SELECT 1 FROM {table.name} WHERE {self.at(table)}", key))

    @staticmethod
    def at(table):
        return " AND ".join(f"{column} = ?" for column in table.key_columns())

    def run(self, kind, table, about, arguments):
        if kind in ("add", "undo"):
            key = self.insert(table, {name: value for name, (_, value) in arguments.items()})
            if kind == "undo":
                raise Rejected("rejected")
            return key
        if kind == "del":
            return self.delete(table, arguments["row"][1])
        if kind in ("drop", "bump"):
            field, op = about[0]
            rows = self.peer.all(f"SELECT {', '.join(table.key_columns())} FROM {table.name} WHERE {field.name} {op} ? ORDER BY {', '.join(table.key_columns())}", (arguments["limit"][1],))
            for row in rows:
                if kind == "bump":
                    g, by = about[1]
                    self.peer.all(f"UPDATE {table.name} SET {g.name} = ({g.name} + {by}) % 100 WHERE {self.at(table)}", row)
                elif self.has(table, row):
                    self.delete(table, row)
            return None
        for field in about:
            value = arguments[field.name][1]
            values = [value] if field.ty.kind != "ref" else value if value is not None else [None] * len(field.columns())
            self.peer.all(f"UPDATE {table.name} SET {', '.join(c + ' = ?' for c in field.columns())} WHERE {self.at(table)}", (*values, *arguments["row"][1]))
        return None

    def insert(self, table, values):
        if table.auto:
            values = {table.key[0].name: self.next_auto[table.name]} | values
            self.next_auto[table.name] += 1
        row = []
        for field in table.all_fields():
            value = values[field.name]
            row += [value] if field.ty.kind != "ref" else value if value is not None else [None] * len(field.columns())
        key = tuple(row[:len(table.key_types())])
        if self.has(table, key):
            raise Rejected("duplicate")
        self.peer.all(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(row))})", row)
        if table.rows_max and self.peer.all(f"SELECT count(*) FROM {table.name}")[0][0] > table.rows_max:
            raise Rejected("limit")
        return key

    def delete(self, table, key):
        """At once: the row goes, then what refers to it is refused, deleted or cleared."""
        self.peer.all(f"DELETE FROM {table.name} WHERE {self.at(table)}", key)
        for other in self.schema.tables:
            for field in other.all_fields():
                if field.ty.kind != "ref" or field.ty.arg is not table:
                    continue
                meets = " AND ".join(f"{column} = ?" for column in field.columns())
                rows = self.peer.all(f"SELECT {', '.join(other.key_columns())} FROM {other.name} WHERE {meets}", key)
                if rows and field.on_delete == "restrict":
                    raise Rejected("in_use")
                for row in rows if field.on_delete == "cascade" else []:
                    if self.has(other, row):
                        self.delete(other, row)
                if field.on_delete == "clear":
                    self.peer.all(f"UPDATE {other.name} SET {', '.join(c + ' = NULL' for c in field.columns())} WHERE {meets}", key)

    def check_end(self):
        codes = []
        for table in self.schema.tables:
            for columns, condition in table.uniques:
                there = " AND ".join(f"{c} IS NOT NULL" for c in columns)
                if self.peer.all(f"SELECT 1 FROM {table.name} WHERE {there} AND {condition} GROUP BY {', '.join(columns)} HAVING count(*) > 1 LIMIT 1"):
                    codes.append("duplicate")
            for check in table.checks:
                if self.peer.all(f"SELECT 1 FROM {table.name} WHERE NOT ({check}) LIMIT 1"):
                    codes += ["check_failed", "rejected", "bad_argument"]
        if codes:
            raise Rejected(*codes)
