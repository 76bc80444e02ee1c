#!/usr/bin/env python3
"""How much of the store's commit, checkpoint and recovery its tests run, by line and by branch.

usage: store_coverage.py BUILD_DIR      a build with -Db_coverage=true -Db_ndebug=true (so that asserts are no branches)

Runs the room's tests and the long run, then prints what gcov counted. Branches that TRY and allocation failures make count too.
"""
import pathlib
import re
import subprocess
import sys

FILES = {
    "commit": ["store.c", "sync.c", "log.c", "log_format.c", "record.c", "file.c"],
    "checkpoint": ["checkpoint.c", "pages_write.c", "pages.c"],
    "recovery": ["recover.c", "log_read.c", "files.c"],
}
COUNT = re.compile(r"^(Lines executed|Taken at least once):([\d.]+)% of (\d+)", re.M)


def counts(objects, name):
    """((lines run, all), (branches taken, all)) of one source file."""
    text = subprocess.run(["gcov", "-b", "-n", "-o", objects, f"{objects}/{name}.gcda"], capture_output=True, text=True, check=True).stdout
    own = next(part for part in text.split("File '")[1:] if part.split("'")[0].endswith("runtime/store/" + name))
    found = {what: (round(float(share) * int(total) / 100), int(total)) for what, share, total in COUNT.findall(own)}
    return found["Lines executed"], found.get("Taken at least once", (0, 0))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    subprocess.run([build / "tests/unit/store/unit_store", "-j2", "--quiet"], check=True)
    subprocess.run([build / "tests/unit/store/store_race"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([build / "tests/unit/store/store_long_run", "100000", "1"], check=True)
    objects = build / "runtime/store/libstore.a.p"
    for part, names in FILES.items():
        for name in names:
            lines, branches = counts(objects, name)
            print(f"{part:11} {name:14} lines {100 * lines[0] / lines[1]:5.1f}% of {lines[1]:4}   branches {100 * branches[0] / max(branches[1], 1):5.1f}% of {branches[1]:4}")


if __name__ == "__main__":
    main()
