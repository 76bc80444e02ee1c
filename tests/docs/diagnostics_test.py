#!/usr/bin/env python3
"""docs/diagnostics against the compiler: each wrong example gets its code once, at the marked line; each mended one gets no message.

A fault's example is run: its wrong program fails a test with that fault, its mended one passes. The pages are what
tools/diagnostics.py writes, and `aup explain` says the same. Started as `FILE BUILD_DIR [NAME PART]`.
"""
import concurrent.futures
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from harness import ROOT, case, check, equal, run  # noqa: E402
import diagnostics  # noqa: E402

CODES = diagnostics.codes()
MESSAGE = re.compile(r":(\d+):\d+: (?:error|warning)\[([EW]\d+)\]")
AT_ONCE = 4
# Codes without an example, so that none loses its own unseen.
WITHOUT = "E021 E022 E023 E025 E026 E401 E402 E900 E901 F04 F07".split()


def said(place, command, name, text):
    path = place.write(name, text)
    done = place.aup(command, path, "--message-format=short")
    return done.returncode, (done.stdout + done.stderr).decode()


def problem_of(place, code):
    """What is wrong with the example of a code, or None."""
    if code.kind == "fault":
        status, wrong = said(place, "test", f"wrong_{code.name.lower()}.aup", code.wrong)
        words = "left:" if code.name == "F06" else code.title
        if status == 0 or words not in wrong or f":{code.line}:" not in wrong:
            return f"its wrong program, at line {code.line}, said\n{wrong}"
        status, mended = said(place, "test", f"mended_{code.name.lower()}.aup", code.mended)
        return None if status == 0 and "1 passed, 0 failed" in mended else f"its mended program said\n{mended}"
    _, wrong = said(place, "check", f"wrong_{code.name.lower()}.aup", code.wrong)
    found = [(name, int(line)) for line, name in MESSAGE.findall(wrong)]
    if found != [(code.name, code.line)]:
        return f"its wrong program, at line {code.line}, said\n{wrong}"
    status, mended = said(place, "check", f"mended_{code.name.lower()}.aup", code.mended)
    return None if status == 0 and not MESSAGE.search(mended) else f"its mended program said\n{mended}"


@case("each wrong example gets its code once where it is marked, each mended one gets nothing")
def _(place):
    chosen = [code for code in CODES.values() if code.wrong]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda code: problem_of(place, code), chosen))
    check(len(chosen) > 60, f"only {len(chosen)} examples")
    bad = [f"{code.name}: {problem}" for code, problem in zip(chosen, found) if problem]
    check(not bad, "\n".join(bad))


@case("a code without an example is one of those that can have none")
def _(_place):
    equal([code.name for code in CODES.values() if not code.wrong], WITHOUT, "codes")


@case("the pages are what the tool writes")
def _(_place):
    wanted = diagnostics.pages()
    here = {path.name: path.read_text(encoding="utf-8") for path in diagnostics.PAGES.iterdir()}
    odd = sorted(name for name in wanted.keys() | here.keys() if wanted.get(name) != here.get(name))
    equal(odd, [], "pages that tools/diagnostics.py would write otherwise")


@case("explain says what the page says")
def _(place):
    def squeezed(text):
        return re.sub(r"\s+", " ", text).strip()
    for code in CODES.values():
        done = place.aup("explain", code.name.lower())
        out = done.stdout.decode()
        equal(done.returncode, 0, f"the exit code of explain {code.name}")
        for part in (f"{code.name}: {code.title}", code.words, code.wrong, code.mended):
            check(squeezed(part) in squeezed(re.sub(r"^  > ", "    ", out, flags=re.MULTILINE)), f"explain {code.name} does not say {part!r}; it says\n{out}")


@case("an unknown code gets a near one")
def _(place):
    for wrong, near in (("E104x", b"`E104`"), ("e20l", b"`E201`"), ("nothing", b"codes are E or W"), ("E10444444444444", b"codes are E or W")):
        done = place.aup("explain", wrong)
        equal(done.returncode, 2, "the exit code")
        check(near in done.stderr, done.stderr.decode())


run()
