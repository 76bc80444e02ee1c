"""Types and values that both sides know: how a value is written in a program, sent as JSON, and kept in SQLite.

In SQLite an int is an INTEGER, a decimal its units, a bool 0 or 1, an enum the number of its case, a date days and a time or duration
microseconds since 1970, none NULL, a reference the columns of its key. All of these have one order and one equality in both worlds:
NULL first (last with DESC), texts by their bytes.
"""
import datetime
import json
import re
from typing import NamedTuple

INT_MIN, INT_MAX = -2**63, 2**63 - 1
EPOCH = datetime.datetime(1970, 1, 1)
DAY_US = 86_400_000_000


class Ty(NamedTuple):
    kind: str            # int dec bool text enum date time dur ref float list rec
    arg: object = None   # dec: scale, enum: Enum, ref: Table, list: Ty, rec: ((name, Ty), …)
    opt: bool = False

    def some(self):
        return self._replace(opt=False)

    def maybe(self):
        return self._replace(opt=True)

    def aup(self):
        name = {"int": "int", "bool": "bool", "text": "text", "date": "date", "time": "time", "dur": "duration", "float": "float"}.get(self.kind)
        if self.kind == "dec":
            name = f"decimal({self.arg})"
        elif self.kind in ("enum", "ref"):
            name = self.arg.name
        return name + ("?" if self.opt else "")


INT, BOOL, TEXT, DATE, TIME, DUR, FLOAT = (Ty(kind) for kind in ("int", "bool", "text", "date", "time", "dur", "float"))


class Enum(NamedTuple):
    name: str
    cases: tuple


WORDS = ["", "a", "A", "b", "ab", "a b", "z", "ä", "é", "e\u0301", "ß", "日本", "𝄞", "~", "0", "10", "9", "\"q\"", "{x}", "\\", "aa", "aaa", "\u00ff", "\uffff", "\U0010ffff", "none", "line\nend", "tab\t"]
EDGE_INTS = [INT_MIN, INT_MIN + 1, INT_MAX, INT_MAX - 1, 2**53, 2**53 + 1, -2**53 - 1, 2**31, -2**31 - 1, 2**32, 0, 1, -1]


def random_value(ty, rng, wild=False):
    """A value that is no reference; small and often the same, or (wild) often at an edge."""
    if ty.opt and rng.random() < 0.3:
        return None
    if ty.kind in ("int", "dec"):
        if wild and rng.random() < 0.5:
            return rng.choice(EDGE_INTS)
        return rng.choice([0, 1, -1, 2, 5, 10]) if rng.random() < 0.4 else rng.randint(-100, 100)
    if ty.kind == "bool":
        return rng.randint(0, 1)
    if ty.kind == "text":
        return rng.choice(WORDS)
    if ty.kind == "enum":
        return rng.randrange(len(ty.arg.cases))
    if ty.kind == "date":
        return rng.choice([0, -1, 20454, 20455, 20481, 20482, 20512, -719162, 2932896]) if rng.random() < 0.5 else rng.randint(20300, 20700)
    if ty.kind == "time":
        return rng.choice([0, -1, 1767261600000000, 1767225600000000, 1767225599999999, 253402300799999999, 1]) if rng.random() < 0.5 else rng.randint(20300, 20700) * DAY_US + rng.randint(0, 86399) * 1000000
    if ty.kind == "dur":
        return rng.choice([0, 1000, -1000, 60_000_000, 3_600_000_000, DAY_US, 7 * DAY_US, 90 * 60_000_000]) if rng.random() < 0.6 else rng.randint(-10**9, 10**9) * 1000
    raise ValueError(ty)


def units_text(units, scale):
    sign, digits = ("-" if units < 0 else ""), str(abs(units)).rjust(scale + 1, "0")
    return sign + (digits[:-scale] + "." + digits[-scale:] if scale else digits)


def date_text(days):
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=days)).isoformat()


def time_text(us):
    text = (EPOCH + datetime.timedelta(microseconds=us)).isoformat()
    return text + "Z"


DUR_UNITS = {"w": 7 * DAY_US, "d": DAY_US, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1000, "us": 1}


def dur_text(us):
    for unit, size in DUR_UNITS.items():
        if us % size == 0:
            return f"{us // size}{unit}"
    raise ValueError(us)


def quote(text):
    out = ""
    for c in text:
        out += {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "{": "\\{", "}": "\\}"}.get(c, c)
    return f'"{out}"'


def literal(ty, value):
    """As it stands in a program."""
    if value is None:
        return "none"
    text = {
        "int": lambda: str(value), "dec": lambda: units_text(value, ty.arg), "bool": lambda: "true" if value else "false",
        "text": lambda: quote(value), "enum": lambda: f"{ty.arg.name}.{ty.arg.cases[value]}", "date": lambda: "@" + date_text(value),
        "time": lambda: "@" + time_text(value), "dur": lambda: dur_text(value)}[ty.kind]()
    return f"({text})" if text.startswith("-") else text


def sql_literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "(-9223372036854775807 - 1)" if value == INT_MIN else f"({value})"


def to_json(ty, value):
    """What an argument is in a request; references come as the tuple of their key."""
    if value is None:
        return None
    if ty.kind == "ref":
        parts = [to_json(key_ty, part) for key_ty, part in zip(ty.arg.key_types(), value)]
        return parts[0] if len(parts) == 1 else parts
    return {"int": lambda: value, "dec": lambda: units_text(value, ty.arg), "bool": lambda: bool(value), "text": lambda: value,
            "enum": lambda: ty.arg.cases[value], "date": lambda: date_text(value), "time": lambda: time_text(value), "dur": lambda: dur_text(value)}[ty.kind]()


def from_app(ty, value):
    """The app's JSON, read with numbers that have a point as their text, in SQLite's values; lists and records become tuples."""
    if ty.kind == "list":
        return tuple(from_app(ty.arg, item) for item in value)
    if ty.kind == "rec":
        if list(value) != [name for name, _ in ty.arg]:
            raise ValueError(f"members {list(value)}")
        return tuple(from_app(item, value[name]) for name, item in ty.arg)
    if value is None:
        return None
    if ty.kind == "ref":
        types = ty.arg.key_types()
        parts = [value] if len(types) == 1 else value
        return tuple(from_app(key_ty, part) for key_ty, part in zip(types, parts, strict=True))
    return {"int": lambda: checked(value, int), "dec": lambda: units_of(value, ty.arg), "bool": lambda: int(checked(value, bool)), "text": lambda: checked(value, str),
            "enum": lambda: ty.arg.cases.index(value), "date": lambda: (datetime.date.fromisoformat(value) - datetime.date(1970, 1, 1)).days,
            "time": lambda: time_of(value), "dur": lambda: dur_of(value), "float": lambda: float(value)}[ty.kind]()


def checked(value, kind):
    if type(value) is not kind:
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value


def units_of(value, scale):
    whole, _, rest = str(value).partition(".")
    if len(rest) != scale:
        raise ValueError(f"{value} has not {scale} digits")
    return int(whole + rest)


def time_of(text):
    main, _, rest = text.removesuffix("Z").partition(".")
    seconds = (datetime.datetime.fromisoformat(main) - EPOCH) // datetime.timedelta(seconds=1)
    return seconds * 1000000 + int((rest + "000000")[:6])


def dur_of(text):
    found = re.fullmatch(r"(-?)((?:\d+(?:min|ms|us|[wdhs]))+)", text)
    if not found:
        raise ValueError(f"duration {text}")
    total = sum(int(n) * DUR_UNITS[unit] for n, unit in re.findall(r"(\d+)(min|ms|us|[wdhs])", found[2]))
    return -total if found[1] else total


def from_sql(ty, value):
    """A result of SQLite. What is no scalar comes as JSON text, nested ones as text in it."""
    if ty.kind in ("list", "rec") or (ty.kind == "ref" and len(ty.arg.key_types()) > 1):
        if value is None:
            return None
        items = json.loads(value) if isinstance(value, str) else value
        types = [ty.arg] * len(items) if ty.kind == "list" else [item for _, item in ty.arg] if ty.kind == "rec" else ty.arg.key_types()
        return tuple(from_sql(item_ty, item) for item_ty, item in zip(types, items, strict=True))
    if value is not None and ty.kind == "ref":
        return (value,)
    return float(value) if ty.kind == "float" and value is not None else value
