"""The store beside SQLite in memory, and durable commits beside a raw writer, LMDB and SQLite on disk.

In memory: a million rows of eight fields, put in and asked for in random order; both sides by their C interface, prepared.
Times are CPU nanoseconds an operation. The cost of making a row is measured alone and taken off `insert`.
Durable: 64 changed rows a commit, again and again; every commit is on disk before the next begins.
"""
import statistics

from harness import SERVER_CORE, program, run_json, scratch

ROWS, ROWS_QUICK = 1_000_000, 100_000
CHECKPOINT_MIB, CHECKPOINT_MIB_QUICK = 512, 64
OPERATIONS = {
    "read_one": "point read of one field", "read_whole": "point read of all eight fields", "insert": "insert", "update": "update of one field, 64 a commit",
    "update_inputs": "update of one field, each an input of its own, 64 a commit", "scan": "scan: sum of an int column, a row", "count_all": "count of all rows",
    "count_range": "count of a key range of a tenth of the rows", "sum_range": "sum of a column (kept) over such a range",
}
ALIKE = ("read_one", "read_whole", "scan", "count_all")  # must have the same result on both sides
DURABLE = ("raw", "aup inline", "aup thread", "lmdb", "sqlite")


def rows_of(run, who, order):
    count = ROWS_QUICK if run.quick else ROWS
    found = {line["name"]: line for line in run_json([program(f"store/rows_{who}"), count, order], core=SERVER_CORE)}
    made = statistics.median(found.pop("make")["ns"])
    memory = found.pop("memory")
    for name, line in found.items():
        ns = statistics.median(line["ns"]) - (made if name == "insert" else 0)
        run.add(f"{order} {name}", who, ns=ns)
    run.add(f"{order} memory", who, bytes_a_row=memory["bytes_per_row"], of_raw=memory["bytes_per_row"] / memory["raw_per_row"])
    return {name: line["result"] for name, line in found.items()}


def in_memory(run, order):
    results = {}
    for _, people in run.orders(["aup", "sqlite"]):
        for who in people:
            run.attempt(f"{order} rows", who, lambda who=who: results.__setitem__(who, rows_of(run, who, order)) or {})
    if len(results) == 2:
        for name in ALIKE:
            if results["aup"][name] != results["sqlite"][name]:
                run.fail(f"{order} {name}", "aup", f"{results['aup'][name]} is not SQLite's {results['sqlite'][name]}")


def durable_of(run, who):
    place = scratch("durable")
    name, _, how = who.partition(" ")
    if name == "aup":
        command = [program("store/durable_aup"), how, place, run.seconds]
    else:
        record = run.median("durable", "aup inline", "bytes")
        command = [program("store/durable_peers"), name, place, run.seconds] + ([int(record or 2048)] if name == "raw" else [])
    found = {}
    for line in run_json(command, core=None):  # the thread may use the other core
        found.update(line)
    return found


def main(run):
    in_memory(run, "random")
    for name, title in OPERATIONS.items():
        run.show(f"random {name}", ["ns"], base="sqlite", title=f"{title} (ns of CPU)")
    run.show("random memory", ["bytes_a_row", "of_raw"], base="sqlite", title="memory, rows put in at random")
    run.rounds, rounds = min(run.rounds, 3), run.rounds
    in_memory(run, "ordered")
    run.rounds = rounds
    run.show("ordered memory", ["bytes_a_row", "of_raw"], base="sqlite", title="memory, rows put in by key")
    run.show("ordered insert", ["ns"], base="sqlite", title="insert by key (ns of CPU)")
    run.attempt("durable", "aup inline", lambda: durable_of(run, "aup inline"))  # tells the raw one its record's size
    for _, people in run.orders(DURABLE):
        for who in people:
            run.attempt("durable", who, lambda who=who: durable_of(run, who))
    run.show("durable", ["rate", "p50_us", "p99_us", "cpu_us", "bytes"], base="raw", title="durable commits of 64 changes")
    checkpoint(run)
    aims(run)


def checkpoint(run):
    """Inputs before and during a checkpoint of every page, and waking from it."""
    for _ in range(1 if run.quick else min(run.rounds, 3)):
        found = {line.pop("name"): line for line in run_json([program("store/checkpoint_aup"), scratch("checkpoint") / "x", CHECKPOINT_MIB_QUICK if run.quick else CHECKPOINT_MIB], core=None)}
        for name in ("without", "during"):
            run.add("checkpoint", name, **found[name])
        run.add("waking", "aup", **found["waking"])
    run.show("checkpoint", ["commits_s", "p50_ms", "p99_ms", "most_ms"], base="without", title="commits of 64 updates without and during a checkpoint of all pages")
    run.show("waking", ["mib", "from_pages_s", "s_a_gib", "from_log_s"], title="waking from the page file, and from the log alone")
    run.target("commits during a checkpoint / without", run.ratio("checkpoint", "during", "without", "commits_s"), least=0.5)
    run.target("p99 of a commit during a checkpoint, ms", run.median("checkpoint", "during", "p99_ms"), most=5)
    run.target("longest commit during a checkpoint, ms", run.median("checkpoint", "during", "most_ms"), most=50)
    run.target("waking: seconds a GiB", run.median("waking", "aup", "s_a_gib"), most=2)


def aims(run):
    for name, most_ns, times in (("read_one", 500, 2.5), ("update", 1000, 2.5), ("insert", 1200, 2), ("scan", 0.8, 40)):
        run.target(f"{name}: ns", run.median(f"random {name}", "aup", "ns"), most=most_ns)
        run.target(f"{name}: times quicker than SQLite", run.ratio(f"random {name}", "sqlite", "aup", "ns"), least=times)
    run.target("count of all: ns", run.median("random count_all", "aup", "ns"), most=2000)
    run.target("count of a range: ns", run.median("random count_range", "aup", "ns"), most=2000)
    run.target("sum of a range: ns", run.median("random sum_range", "aup", "ns"), most=2000)
    run.target("memory by key: times the raw bytes", run.median("ordered memory", "aup", "of_raw"), most=1.3)
    run.target("memory at random: times the raw bytes", run.median("random memory", "aup", "of_raw"), most=1.6)
    run.target("durable commits / raw", run.ratio("durable", "aup inline", "raw", "rate"), least=0.9)
    run.target("durable commits / LMDB", run.ratio("durable", "aup inline", "lmdb", "rate"), least=3)
    run.target("durable commits / SQLite", run.ratio("durable", "aup inline", "sqlite", "rate"), least=3)
