"""The bank's queries on 100,000 accounts: our app in this process, plain C as rows and as columns, SQLite `:memory:`, LuaJIT.

Ours is asked as a request would ask it: by app_view, with JSON out; the others hand out numbers. Each view is compiled in a
module of its own, so that one the compiler refuses leaves the others measured. All must give the same numbers.
"""
import pathlib
import re
import shutil
import statistics
import subprocess

from harness import SERVER_CORE, Failed, program, run_json, scratch

HERE = pathlib.Path(__file__).resolve().parent
TITLES = {
    "per_branch": "per_branch: count, sum and greatest balance of each branch", "in_credit": "in_credit: how many balances are above zero",
    "large": "large: the 100 greatest of those above a limit", "ranks": "ranks: the 20 greatest", "join": "join: sums by a field of the referred branch",
    "of_branch": "of_branch: sum of one branch's balances (by index, kept or both)", "lookup": "lookup: one account's balance",
}
SCANS = ("per_branch", "in_credit", "large", "ranks", "join")
INNER_ROUNDS, INNER_ROUNDS_QUICK = 21, 5


def modules(place):
    """A module for each view: name -> path, or why there is none."""
    head, *views = re.split(r"(?=^view )", (HERE / "bank.aup").read_text(), flags=re.MULTILINE)
    found = {}
    for view in views:
        name = re.match(r"view (\w+)", view)[1]
        source, out = place / f"{name}.aup", place / f"{name}.aupm"
        source.write_text(head + view)
        done = subprocess.run([program("aup"), "build", source, "-o", out], capture_output=True, text=True, check=False)
        found[name] = out if done.returncode == 0 else Failed(f"refused: {(done.stdout + done.stderr).strip().splitlines()[0]}")
    return found


def ask(run, who, built):
    """{query: (median ns, result)} of one process (ours: one a view)."""
    rounds = INNER_ROUNDS_QUICK if run.quick else INNER_ROUNDS
    if who == "aup":
        lines = []
        for name, module in built.items():
            if isinstance(module, Failed):
                run.fail(name, who, module)
                continue
            lines += run_json([program("queries/bank_aup"), module, name, rounds], core=SERVER_CORE)
        return lines
    if who == "luajit":
        if not shutil.which("luajit"):
            raise Failed("not installed")
        return run_json(["luajit", HERE / "bank.lua", rounds], core=SERVER_CORE)
    if who == "sqlite":
        return run_json([program("queries/bank_sqlite"), rounds], core=SERVER_CORE)
    return run_json([program("queries/bank_c"), who.split()[1], rounds], core=SERVER_CORE)


def main(run):
    built = modules(scratch("queries"))
    results = {}
    for _, people in run.orders(["aup", "C rows", "C columns", "sqlite", "luajit"]):
        for who in people:
            try:
                for line in ask(run, who, built):
                    run.add(line["name"], who, us=statistics.median(line["ns"]) / 1000)
                    results[line["name"], who] = line["result"]
            except Failed as reason:
                run.fail("all", who, reason)
    for name, title in TITLES.items():
        run.show(name, ["us"], base="C rows", title=f"{title} (us of CPU)")
        for (query, who), result in results.items():
            if query == name and result != results.get((name, "C rows"), result):
                run.fail(name, who, f"the answer {result} is not {results[name, 'C rows']}")
    run.show("fill", ["us"], title="an input that opens an account, in memory (us of CPU)")
    for name in SCANS:
        run.target(f"{name}: times plain C", run.ratio(name, "aup", "C rows", "us"), most=4)
    run.target("lookup: us", run.median("lookup", "aup", "us"), most=0.2)
    run.target("of_branch (a kept sum): us", run.median("of_branch", "aup", "us"), most=5)
