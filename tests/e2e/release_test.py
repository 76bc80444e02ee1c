#!/usr/bin/env python3
"""What the release build promises of itself: small programs, little memory, no compiler in the host."""
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import case, check, equal, run  # noqa: E402

HOST_BYTES_MAX = 1 << 20
IDLE_RSS_KIB_MAX = 4096


@case("aup-serve is small")
def _(place):
    path = pathlib.Path(place.program("aup-serve"))
    check(path.stat().st_size < HOST_BYTES_MAX, f"{path} has {path.stat().st_size} bytes, {HOST_BYTES_MAX} at most")
    print(f"# aup-serve has {path.stat().st_size} bytes")


@case("aup-serve has no compiler in it")
def _(place):
    said = subprocess.run(["strings", "-n", "6", place.program("aup-serve")], check=True, capture_output=True).stdout.decode()
    for words in ("did you mean", "does not say who may use it", "visits every row"):
        check(words not in said, f"the host holds {words!r}")


@case("an idle host takes little memory")
def _(place):
    server = place.serve(place.module(place.example("counter.aup")))
    equal(server.view("total"), 0, "total")
    time.sleep(0.3)
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    rss = int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])
    print(f"# idle: {rss} KiB")
    check(rss < IDLE_RSS_KIB_MAX, f"{rss} KiB, {IDLE_RSS_KIB_MAX} at most")


@case("an idle host takes no processor time")
def _(place):
    server = place.serve(place.module(place.example("counter.aup")))
    equal(server.view("total"), 0, "total")

    def switches():
        text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", text)))
    time.sleep(0.3)
    before = switches()
    time.sleep(2)
    check(switches() - before <= 50, f"woke up {switches() - before} times in 2 s")


if __name__ == "__main__":
    run()
