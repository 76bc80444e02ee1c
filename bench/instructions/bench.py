"""Instructions, counted by valgrind: what time cannot settle. The same program gives the same count on a busy machine too,
and a change of one per cent shows. What is counted knows nothing of caches or the kernel: a count is no time.

In queries and store: instructions an operation, counted inside bench_run only. http: user-space instructions of the server
a request, its start taken off. compile: of the whole process, a source byte.
"""
import importlib.util
import pathlib
import re
import shutil
import subprocess
import time

import harness
from harness import Failed, free_port, program, run_json, scratch

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROWS = 20_000
SERVER_S, SERVER_CONNECTIONS = 4, 16


def other(name):
    """The module of another benchmark, for what it knows."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / name / "bench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def valgrind(out, *options):
    if not shutil.which("valgrind"):
        raise Failed("valgrind is not installed")
    return ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *options]


def totals(path):
    found = re.search(r"^(?:totals|summary): (\d+)", path.read_text(errors="replace"), re.MULTILINE)
    return int(found[1]) if found else 0


def inside(place, command):
    """{name: instructions an operation} of a program that measures with bench_run: each call of it is dumped by itself."""
    for old in place.glob("out*"):
        old.unlink()
    prefix = valgrind(place / "out", "--collect-atstart=no", "--toggle-collect=bench_run", "--dump-after=bench_run")
    lines = [line for line in run_json([*prefix, *command]) if "operations" in line]
    # The dump number 1 is that of the first call; the one without a number is what came after the last.
    return {line["name"]: totals(place / f"out.{number}") / line["operations"] for number, line in enumerate(lines, 1)}


def queries(run, place):
    built = other("queries").modules(place)
    for name, module in built.items():
        if isinstance(module, Failed):
            run.fail(name, "aup", module)
        else:
            for case, count in inside(place, [program("queries/bank_aup"), module, name, 3]).items():
                run.add(f"query {case}", "aup", instructions=count)
    for who, command in (("C rows", [program("queries/bank_c"), "rows", 3]), ("sqlite", [program("queries/bank_sqlite"), 1])):
        for case, count in inside(place, command).items():
            run.add(f"query {case}", who, instructions=count)
    for name in built:
        run.show(f"query {name}", ["instructions"], base="C rows", title=f"{name}: instructions")
    run.show("query fill", ["instructions"], title="an input that opens an account: instructions")


def store(run, place):
    for who in ("aup", "sqlite"):
        for case, count in inside(place, [program(f"store/rows_{who}"), ROWS, "random"]).items():
            run.add(f"row {case}", who, instructions=count)
    for case, who in list(run.samples):
        if case.startswith("row ") and who == "aup":
            run.show(case, ["instructions"], base="sqlite", title=f"{case[4:]}, {ROWS:,} rows: instructions")


def serve(place, command, port, request):
    """Instructions of a server that answers `request` for a while, and how many it answered; without one: of its start and end."""
    out = place / "server"
    process = subprocess.Popen([*valgrind(out), *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            time.sleep(0.1)
            if subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{port}/views/total"], check=False).returncode == 0:
                break
        answered = 0
        if request:
            found = run_json([program("http/load"), "-p", port, "-c", SERVER_CONNECTIONS, "-d", SERVER_S, "-w", 0, "-r", request])[0]
            answered = found["rate"] * SERVER_S
    finally:
        process.terminate()
        process.wait(60)
    return totals(out), answered


def http(run):
    known = other("http")
    for case, request in (("GET of 64 bytes", "GET /views/small"), ("GET of the count", "GET /views/total"), ("durable POST", known.ADD)):
        place, port = scratch("instructions"), free_port()
        command, _ = known.aup(place, port)
        idle, _ = serve(place, command, port, None)
        busy, answered = serve(place, command, port, request)
        run.add("server", case, instructions=(busy - idle) / answered)
    run.show("server", ["instructions"], title="aup-serve: user-space instructions a request")


def compile_(run, place):
    generate = importlib.util.spec_from_file_location("generate", BENCH / "compile" / "generate.py")
    module = importlib.util.module_from_spec(generate)
    generate.loader.exec_module(module)
    source = place / "large.aup"
    source.write_text(module.text("aup", 10_000))
    for what in ("check", "build"):
        words = [program("aup"), what, source] + (["-o", place / "large.aupm"] if what == "build" else [])
        done = subprocess.run([*valgrind(place / "compile"), *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"aup {what}: {(done.stdout + done.stderr)[:200]}")
        count = totals(place / "compile")
        run.add("compile", f"aup {what}", instructions=count, a_byte=count / source.stat().st_size)
    run.show("compile", ["instructions", "a_byte"], title="10,000 lines: instructions")


def main(run):
    harness.LOAD_CORE = None
    place = scratch("instructions")
    for name, step in (("compile", lambda: compile_(run, place)), ("queries", lambda: queries(run, place)), ("store", lambda: store(run, place)), ("http", lambda: http(run))):
        try:
            step()
        except (Failed, OSError) as reason:
            run.fail(name, "aup", reason)
