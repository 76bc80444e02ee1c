#!/usr/bin/env python3
"""Sources and modules that nobody would write: located messages and refusals, in bounded time, never a crash."""
import pathlib
import random
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import QUICK, ROOT, add_case, case, check, equal, run  # noqa: E402

COUNTER = (ROOT / "examples/counter.aup").read_bytes()
MIB = 1 << 20
DEEP = 100_000
HEAD = b'app x "X"\n\n'
# Bounded time, with room for a sanitizer on a busy machine.
SOURCE_S = 60

WRONG_SOURCES = {
    "empty": b"",
    "only a line end": b"\n",
    "only spaces": b"   \n  \n",
    "16 MiB of letters": b"a" * (16 * MIB),
    "16 MiB of lines": HEAD + b"view a = 1 +\n" * (16 * MIB // 13),
    "16 MiB of good declarations too many": HEAD + b"".join(b"state a%d: int = 0\n" % number for number in range(700_000)),
    "binary": bytes(range(256)) * 100,
    "random bytes": random.Random(3).randbytes(100_000),
    "zero bytes": bytes(10_000),
    "a zero byte inside": COUNTER[:60] + b"\0" + COUNTER[60:],
    "bad UTF-8": COUNTER.replace(b"Counter", b"Count\xff\xfeer"),
    "UTF-16": COUNTER.decode().encode("utf-16"),
    "an unclosed brace": COUNTER.replace(b"  count += by\n}", b"  count += by\n"),
    "an unclosed text": COUNTER.replace(b'"Counter"', b'"Counter'),
    "an unclosed bracket": HEAD + b"view a = (1 + 2\n\nview b = 3\n",
    "nested parentheses": HEAD + b"view a = " + b"(" * DEEP + b"1" + b")" * DEEP + b"\n",
    "nested lists": HEAD + b"view a = " + b"[" * DEEP + b"]" * DEEP + b"\n",
    "nested blocks": HEAD + b"input a {\n" + b"if true {\n" * DEEP + b"}\n" * DEEP + b"}\n",
    "nested records": HEAD + b"view a = " + b"{ a: " * DEEP + b"1" + b" }" * DEEP + b"\n",
    "nested interpolations": HEAD + b"view a = " + b'"{' * DEEP + b"1" + b'}"' * DEEP + b"\n",
    "nested types": HEAD + b"view a(b: " + b"[" * DEEP + b"int" + b"]" * DEEP + b") = 1\n",
    "only open braces": b"{" * MIB,
    "only open parentheses": b"(" * MIB,
    "only open brackets": b"[" * MIB,
    "only quotes": b'"' * MIB,
    "a chain of minus": HEAD + b"view a = " + b"-" * DEEP + b"1\n",
    "a chain of not": HEAD + b"view a = " + b"not " * DEEP + b"true\n",
    "a chain of if else": HEAD + b"view a = " + b"if true then 1 else " * DEEP + b"\n",
    "a number too large": HEAD + b"state a: int = 99999999999999999999\n",
    "a million names on one line": HEAD + b"view a = " + b"b " * MIB + b"\n",
}


def try_source(place, content):
    """Refused with located messages (at most 20), within bounded time."""
    place.write("odd.aup", content)
    done = place.aup("check", "odd.aup", "--message-format=short", timeout=SOURCE_S)
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    equal(done.returncode, 1, f"exit code; it said {said[-600:]!r}")
    errors = re.findall(r"^odd\.aup:\d+:\d+: error\[E\d+\]: .+$", said, re.MULTILINE)
    check(1 <= len(errors) <= 20, f"{len(errors)} located errors; it said {said[:600]!r}")
    check(len(said) < 20_000, f"it said {len(said)} bytes")
    if len(content) > MIB:
        return
    done = place.aup("check", "odd.aup", timeout=SOURCE_S)
    equal(done.returncode, 1, "exit code with human messages")
    check(len(done.stdout + done.stderr) < 60_000, f"human messages have {len(done.stdout + done.stderr)} bytes")


for title, source in WRONG_SOURCES.items():
    add_case(f"source: {title}", lambda place, content=source: try_source(place, content))


@case("source: the same module with a byte order mark, CRLF, and without a last line end")
def _(place):
    modules = {}
    for name, content in (("plain", COUNTER), ("bom", b"\xef\xbb\xbf" + COUNTER), ("crlf", COUNTER.replace(b"\n", b"\r\n")), ("noend", COUNTER.rstrip(b"\n"))):
        folder = place.dir / name
        folder.mkdir()
        place.write(f"{name}/counter.aup", content)
        done = place.aup("build", "counter.aup", "-o", "counter.aupm", cwd=folder)
        equal(done.returncode, 0, f"{name}: {done.stderr.decode()}")
        modules[name] = (folder / "counter.aupm").read_bytes()
        check(modules[name] == modules["plain"], f"{name}: another module")


@case("source: a column counts characters, after a byte order mark and with CRLF too")
def _(place):
    line = 'view total = "äöü" + cuont'
    for start, end in (("", "\n"), ("\ufeff", "\n"), ("", "\r\n")):
        content = start + end.join(['app x "X"', "", line, ""])
        done = place.aup("check", place.write("col.aup", content), "--message-format=short")
        said = (done.stdout + done.stderr).decode()
        check(re.search(rf"col\.aup:3:{line.index('cuont') + 1}: error\[E101\]", said), f"{said!r}")


@case("source: 4,096 operators compile in bounded time")
def _(place):
    for operator in (" + ", " * ", " and "):
        atom = "true" if "and" in operator else "1"
        done = place.aup("check", place.write("chain.aup", HEAD.decode() + "view a = " + operator.join([atom] * 4097) + "\n"), timeout=SOURCE_S)
        check(done.returncode in (0, 1), f"exit code {done.returncode}")


@case("source: the counter cut at every byte is good or has located errors")
def _(place):
    for cut in range(0, len(COUNTER), 37 if QUICK else 7):
        done = place.aup("check", place.write("cut.aup", COUNTER[:cut]), "--message-format=short")
        check(done.returncode in (0, 1), f"cut at {cut}: exit code {done.returncode}: {done.stderr[-500:]}")
        check(done.returncode == 0 or b"error[E" in done.stdout + done.stderr, f"cut at {cut}: nothing said")


def refused(place, content, what):
    """A module that the host must refuse: with a reason, exit 1, before it serves."""
    done = place.aup(place.write("odd.aupm", content), "--data", place.dir / "data", "--listen", "127.0.0.1:0", program="aup-serve", timeout=SOURCE_S)
    said = done.stderr.decode("utf-8", "replace").strip()
    equal(done.returncode, 1, f"{what}: exit code; it said {said[-600:]!r}")
    check(said, f"{what}: no reason")


@case("module: empty, text, random bytes are refused")
def _(place):
    for what, content in (("empty", b""), ("a source", COUNTER), ("random", random.Random(4).randbytes(5000)), ("zeros", bytes(4096))):
        refused(place, content, what)


@case("module: cut anywhere is refused")
def _(place):
    good = place.module(place.write("counter.aup", COUNTER)).read_bytes()
    cuts = [1, 2, 4, 8, 16, 32, 64, len(good) - 1, len(good) // 2]
    cuts += range(100, len(good), max(1, len(good) // (10 if QUICK else 40)))
    for cut in cuts:
        refused(place, good[:cut], f"cut at {cut} of {len(good)}")
    refused(place, good + b"\0", "one byte more")


@case("module: a flipped bit is refused, wherever it is")
def _(place):
    good = place.module(place.write("counter.aup", COUNTER)).read_bytes()
    rng = random.Random(5)
    for _ in range(20 if QUICK else 100):
        at, bit = rng.randrange(len(good)), rng.randrange(8)
        odd = bytearray(good)
        odd[at] ^= 1 << bit
        refused(place, bytes(odd), f"bit {bit} of byte {at}")


@case("module: another format version is refused by name")
def _(place):
    good = bytearray(place.module(place.write("counter.aup", COUNTER)).read_bytes())
    struct.pack_into("<I", good, 4, 0xFFFF)
    refused(place, bytes(good), "version")


if __name__ == "__main__":
    run()
