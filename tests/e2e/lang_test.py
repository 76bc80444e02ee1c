#!/usr/bin/env python3
"""The language by example: each program of tests/lang, and each example that runs whole, passes its own tests; so does its release twin."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, add_case, check, equal, run  # noqa: E402

PROGRAMS = sorted((ROOT / "tests/lang").glob("*.aup")) + [ROOT / "tests/ledger.aup"] + [ROOT / f"examples/{name}.aup" for name in ("counter", "scoreboard", "todo")]


def passes_its_tests(place, path):
    done = place.aup("test", path, timeout=60)
    said = (done.stdout + done.stderr).decode()
    equal(done.returncode, 0, f"exit code; it said\n{said}")
    last = done.stdout.decode().splitlines()[-1]
    check(last.endswith(" passed, 0 failed") and not last.startswith("0 "), f"no test ran: {last}")


for program in PROGRAMS:
    add_case(f"{program.parent.name}/{program.name}", lambda place, path=program: passes_its_tests(place, path))

if __name__ == "__main__":
    run()
