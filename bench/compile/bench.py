"""How quick the compiler is, and how much memory it takes, on 10,000 and 100,000 lines; beside gcc and node on as many bytes.

gcc only checks (`-fsyntax-only`), which is what `aup check` does; node only parses (`--check`); `aup build` makes the module
too and proves it with its own verifier. CPU of the whole process; memory is its peak without that of an empty run.
"""
import shutil
import tempfile
import pathlib

import generate
from harness import RESULTS, ROOT, Failed, measure, program

LINES = (10_000, 100_000)


def whole(command, size, base_kib):
    found = measure(command)
    return {"cpu_ms": found["cpu_s"] * 1000, "wall_ms": found["wall_s"] * 1000, "ns_a_byte": found["cpu_s"] * 1e9 / size, "peak_mib": found["peak_kib"] / 1024,
            "peak_a_byte": (found["peak_kib"] - base_kib) * 1024 / size}


def commands(place, lines):
    """The contestants on sources of one size: name -> (command, bytes, command on next to nothing)."""
    sources = {"aup": place / f"large-{lines}.aup", "c": place / f"large-{lines}.c", "js": place / f"large-{lines}.js"}
    sources["aup"].write_text(generate.text("aup", lines))
    size = sources["aup"].stat().st_size
    for kind in ("c", "js"):
        sources[kind].write_text(generate.text(kind, size))
    empty = {"aup": ROOT / "examples" / "counter.aup", "c": place / "empty.c", "js": place / "empty.js"}
    empty["c"].write_text("int none;\n")
    empty["js"].write_text("\n")
    out = place / "out.aupm"
    found = {
        "aup check": ([program("aup"), "check", sources["aup"]], size, [program("aup"), "check", empty["aup"]]),
        "aup build": ([program("aup"), "build", sources["aup"], "-o", out], size, [program("aup"), "build", empty["aup"], "-o", out]),
        "gcc -fsyntax-only": (["gcc", "-fsyntax-only", sources["c"]], sources["c"].stat().st_size, ["gcc", "-fsyntax-only", empty["c"]]),
    }
    if shutil.which("node"):
        found["node --check"] = (["node", "--check", sources["js"]], sources["js"].stat().st_size, ["node", "--check", empty["js"]])
    return found, size


def main(run):
    place = pathlib.Path(tempfile.mkdtemp(prefix="compile-", dir=RESULTS))
    for lines in LINES:
        found, size = commands(place, lines)
        case = f"{lines} lines"
        base = {}
        for name, (_, _, nothing) in found.items():
            try:
                base[name] = measure(nothing)["peak_kib"]
            except Failed as reason:
                run.fail(case, name, reason)
        for _, people in run.orders(base):
            for who in people:
                command, bytes_, _ = found[who]
                run.attempt(case, who, lambda command=command, bytes_=bytes_, who=who: whole(command, bytes_, base[who]))
        run.show(case, ["cpu_ms", "wall_ms", "ns_a_byte", "peak_mib", "peak_a_byte"], base="aup check", title=f"{lines:,} lines, {size:,} bytes")
    shutil.rmtree(place)
    aims(run)


def aims(run):
    small, large = (f"{lines} lines" for lines in LINES)
    run.target("10,000 lines checked: ms of CPU", run.median(small, "aup check", "cpu_ms"), most=25)
    run.target("10,000 lines built: ms of CPU", run.median(small, "aup build", "cpu_ms"), most=50)
    run.target("peak memory: bytes a source byte, check", run.median(large, "aup check", "peak_a_byte"), most=60)
    run.target("peak memory: bytes a source byte, build", run.median(large, "aup build", "peak_a_byte"), most=60)
    for who in ("aup check", "aup build"):
        growth = run.ratio(large, who, who, "cpu_ms", other_case=small)
        run.target(f"linear: {who}, ten times the lines: times the CPU / 10", None if growth is None else growth / 10, most=1.3)
