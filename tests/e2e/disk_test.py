#!/usr/bin/env python3
"""Disks that are full and files that are damaged: inputs are refused, reads go on, and nothing acknowledged is lost."""
import os
import pathlib
import resource
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, Skipped, case, check, equal, run  # noqa: E402

LEDGER = ROOT / "tests/ledger.aup"
POSTS_MAX = 20_000


def marks(server):
    """Every row, page by page."""
    rows, after = [], 0
    while True:
        page = server.view(f"marks?after={after}")
        rows += [row["mark"] for row in page]
        if len(page) < 1000:
            return rows
        after = page[-1]["id"]


def fill(server):
    """Posts until one is refused; returns the marks that were acknowledged."""
    acknowledged = []
    with server.connect() as connection:
        for number in range(POSTS_MAX):
            mark = f"{number} " + "x" * 3000
            answer = connection.post("/inputs/add", {"mark": mark})
            if answer.status == 503:
                return acknowledged
            equal(answer.status, 200, f"add {number}")
            acknowledged.append(mark)
    check(False, f"the disk was not full after {POSTS_MAX} inputs")
    return acknowledged


def nothing_lost(rows, acknowledged):
    equal(len(rows) >= len(acknowledged), True, f"{len(rows)} rows for {len(acknowledged)} acknowledged")
    equal(rows[:len(acknowledged)] == acknowledged, True, "the acknowledged marks, in order")
    check(len(set(rows)) == len(rows), "a mark stands twice")


def full_disk(place, server, module, free, **options):
    """The whole story, with a way to make room again."""
    acknowledged = fill(server)
    check(len(acknowledged) > 10, f"only {len(acknowledged)} inputs before the disk was full")
    rows = marks(server)
    equal(rows == acknowledged, True, "what is read while the disk is full")
    for _ in range(5):
        equal(server.post("/inputs/add", {"mark": "more " + "x" * 3000}).status, 503, "another input")
    equal(server.get("/app").status, 200, "GET /app")
    stream = server.stream("/views/total")
    equal(stream.next().json(), len(acknowledged), "a stream's first event")
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    free()
    again = place.serve(module, **options)
    rows = marks(again)
    nothing_lost(rows, acknowledged)
    equal(again.post("/inputs/add", {"mark": "after"}).status, 200, "an input after the restart")
    equal(again.view("total"), len(rows) + 1, "total")


@case("a full disk")
def _(place):
    module = place.module(LEDGER)
    (place.dir / "disk").mkdir()
    mounted = os.getuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", place.dir / "disk"], check=False, capture_output=True).returncode == 0
    if not mounted:
        raise Skipped("no right to mount a small disk; the next case does it with a limit on file size")
    place.undo.append(lambda: subprocess.run(["umount", "-l", place.dir / "disk"], check=False))
    server = place.serve(module, data="disk/data")
    free_bytes = os.statvfs(place.dir / "disk").f_bavail * os.statvfs(place.dir / "disk").f_frsize
    ballast = place.dir / "disk" / "ballast"
    ballast.write_bytes(bytes(max(0, free_bytes - 300_000)))
    full_disk(place, server, module, ballast.unlink, data="disk/data")


@case("a file that may not grow")
def _(place):
    module = place.module(LEDGER)
    place.serve(module).stop()
    largest = max(path.stat().st_size for path in (place.dir / "data").rglob("*") if path.is_file())
    limit = largest + 200_000
    server = place.serve(module, preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    full_disk(place, server, module, lambda: None)


@case("a data directory with a damaged file is refused or read, never silently emptied")
def _(place):
    module = place.module(LEDGER)
    server = place.serve(module)
    acknowledged = [f"mark {number}" for number in range(50)]
    for mark in acknowledged:
        equal(server.post("/inputs/add", {"mark": mark}).status, 200, "add")
    server.stop()
    files = sorted(path for path in (place.dir / "data").rglob("*") if path.is_file() and path.stat().st_size)
    for path in files:
        good = path.read_bytes()
        end = len(good.rstrip(b"\0"))
        for what, bad in (("cut to nothing", b""), ("cut to half", good[:end // 2]), ("a flipped bit", flipped(good, end // 3)), ("zeros behind", good + bytes(5000)),
                          ("noise behind", good[:end] + os.urandom(3000))):
            path.write_bytes(bad)
            done = Attempt(place, module)
            if done.rows is not None:
                check(done.rows in (acknowledged, acknowledged[:len(done.rows)]), f"{path.name} {what}: other rows")
                full = what in ("zeros behind", "noise behind")
                check(not full or done.rows == acknowledged, f"{path.name} {what}: {len(done.rows)} of {len(acknowledged)} rows")
                check(full or done.rows == acknowledged or done.said, f"{path.name} {what}: {len(done.rows)} rows and not a word")
            path.write_bytes(good)
    equal(marks(place.serve(module)), acknowledged, "the undamaged directory")


def flipped(content, at):
    odd = bytearray(content)
    odd[at] ^= 0x10
    return bytes(odd)


class Attempt:
    """A start on a damaged directory: the rows it serves, or None when it was refused with a reason."""

    def __init__(self, place, module):
        self.rows, self.said = None, ""
        try:
            server = place.serve(module)
        except Exception:  # pylint: disable=broad-except  # not ready: looked at below
            server = place.running[-1]
            self.said = server.stderr()
            check(server.process.poll() in (1, 3), f"ended with {server.process.poll()}: {server.output()[-800:]}")
            check(self.said.strip(), "refused without a word")
            return
        self.rows = marks(server)
        server.kill()
        self.said = server.stderr()


if __name__ == "__main__":
    run()
