"""SQLite as the peer: the functions that the app's arithmetic needs beside SQL's, and what differs between the two.

Differences that are modelled here, each in its function:
- SQLite's + - * turn into floats past 64 bits and a division by zero is NULL: the app has faults F01 and F02;
- SQLite's sum() faults when a sum on its way leaves 64 bits and is NULL of nothing: the app sums in 128 bits, 0 of nothing;
- avg() is a float: the app's of decimals is a decimal, rounded half to even; of durations a duration, rounded the same; of ints the nearest float of the exact mean;
- first, last, list, distinct in the order of the frames: aggregates that take the order's values beside the value.
Three-valued logic never arises: the app compares only values that are there, `==` of optionals is IS.
"""
import datetime
import functools
import json
import sqlite3

from values import DAY_US, INT_MAX, INT_MIN, dur_text, units_text, date_text


class Fault(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


def fit(x):
    if not INT_MIN <= x <= INT_MAX:
        raise Fault("F01")
    return x


def divided(a, b):
    if b == 0:
        raise Fault("F02")
    quotient = abs(a) // abs(b)
    return fit(quotient if (a < 0) == (b < 0) else -quotient)


def remainder(a, b):
    if b == 0:
        raise Fault("F02")
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def half_even(n, d):
    """n / d as an int."""
    if d < 0:
        n, d = -n, -d
    floor, rest = divmod(n, d)
    return floor + (1 if rest * 2 > d or (rest * 2 == d and floor % 2) else 0)


def day(days):
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=days)


SCALARS = {
    "add_": lambda a, b: fit(a + b), "sub_": lambda a, b: fit(a - b), "mul_": lambda a, b: fit(a * b), "quo": divided, "rest": remainder,
    "neg": lambda a: fit(-a), "absolute": lambda a: fit(abs(a)), "rescale": lambda a, up: fit(a * 10**up), "rounded": lambda a, down: half_even(a, 10**down),
    "divide_": lambda a, b, up: fit(half_even(a * 10**up, b)), "chars": len, "starts": lambda x, y: x.startswith(y), "ends": lambda x, y: x.endswith(y), "has_part": lambda x, y: y in x,
    "first_chars": lambda x, n: x[:max(n, 0)], "dec_text": units_text, "dur_text": dur_text, "date_text": date_text,
    "year_of": lambda d: day(d).year, "month_of": lambda d: day(d).month, "day_of": lambda d: day(d).day, "weekday_of": lambda d: day(d).isoweekday(),
    "day_of_time": lambda t: t // DAY_US, "numbers": lambda a, b: json.dumps(list(range(a, b + 1))),
}


class Sum:
    def __init__(self):
        self.total, self.count = 0, 0

    def step(self, value):
        if value is not None:
            self.total += value
            self.count += 1

    def finalize(self):
        return fit(self.total)


class MeanInt(Sum):
    def finalize(self):  # as a text: SQLite's JSON writes fifteen digits
        return repr(self.total / self.count) if self.count else None


class MeanUnits:
    """avg(x, up - down): of units that are to have `up` more digits, or (negative) fewer."""

    def __init__(self):
        self.total, self.count, self.up = 0, 0, 0

    def step(self, value, up):
        self.up = up
        if value is not None:
            self.total += value
            self.count += 1

    def finalize(self):
        if not self.count:
            return None
        return fit(half_even(self.total * 10**max(self.up, 0), self.count * 10**max(-self.up, 0)))


class MeanDuration(Sum):
    def finalize(self):
        return half_even(self.total, self.count) if self.count else None


def compare(a, b):
    def rank(x):
        return (0,) if x is None else (1, x) if isinstance(x, (int, float)) else (2, x.encode())
    a, b = rank(a), rank(b)
    return (a > b) - (a < b)


class Ordered:
    """step(order values as JSON, one character for each: + or -, value)."""
    distinct = False

    def __init__(self):
        self.rows = []

    def step(self, keys, directions, value):
        if value is not None:
            self.rows.append((json.loads(keys), directions, value))

    def values(self):
        def order(a, b):
            for x, y, direction in zip(a[0], b[0], a[1]):
                c = compare(x, y)
                if c:
                    return -c if direction == "-" else c
            return 0
        return [row[2] for row in sorted(self.rows, key=functools.cmp_to_key(order))]

    def finalize(self):
        return json.dumps(self.values())


class Distinct(Ordered):
    def finalize(self):
        return json.dumps(list(dict.fromkeys(self.values())))


class First(Ordered):
    def finalize(self):
        values = self.values()
        return values[0] if values else None


class Last(Ordered):
    def finalize(self):
        values = self.values()
        return values[-1] if values else None


class Peer:
    """A connection whose faults keep their code."""

    def __init__(self):
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.fault = None
        for name, function in SCALARS.items():
            self.connection.create_function(name, function.__code__.co_argcount if hasattr(function, "__code__") else 1, self.guard(function), deterministic=True)
        for name, maker, count in (("total_of", Sum, 1), ("mean_int", MeanInt, 1), ("mean_units", MeanUnits, 2), ("mean_dur", MeanDuration, 1),
                                   ("list_of", Ordered, 3), ("distinct_of", Distinct, 3), ("first_of", First, 3), ("last_of", Last, 3)):
            guarded = type(maker.__name__, (maker,), {"finalize": self.guard(maker.finalize)})
            self.connection.create_aggregate(name, count, guarded)

    def guard(self, function):
        @functools.wraps(function)
        def call(*args):
            try:
                return function(*args)
            except Fault as fault:
                self.fault = fault.code
                raise
            except Exception as error:
                self.fault = f"the peer itself: {error!r}"
                raise
        return call

    def all(self, sql, values=()):
        """Raises Fault where the app is to have one."""
        self.fault = None
        try:
            return self.connection.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            if self.fault:
                raise Fault(self.fault) from None
            raise RuntimeError(f"{error}: {sql}") from None

    def can(self, sql, values):
        """False: SQLite's parser has not the depth."""
        try:
            self.connection.execute("EXPLAIN " + sql, values)
            return True
        except sqlite3.OperationalError as error:
            if "stack overflow" in str(error) or "too large" in str(error) or "at most 64 tables" in str(error):
                return False
            raise RuntimeError(f"{error}: {sql}") from None
