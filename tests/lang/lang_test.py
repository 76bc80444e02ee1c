#!/usr/bin/env python3
"""Every app of this folder passes its own tests, without a warning. Started as `FILE BUILD_DIR [NAME PART]`."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import add_case, check, equal, run  # noqa: E402


def passes(path):
    def tried(place):
        done = place.aup("test", path)
        said = (done.stdout + done.stderr).decode()
        equal(done.returncode, 0, f"exit code; it said {said[-1500:]}")
        check(not done.stderr, f"a message: {done.stderr.decode()[:1500]}")
        check(" passed, 0 failed" in said and not said.endswith("0 passed, 0 failed\n"), f"no tests ran: {said[-300:]}")
    return tried


for app in sorted(pathlib.Path(__file__).resolve().parent.glob("*.aup")):
    add_case(app.stem, passes(app))
run()
