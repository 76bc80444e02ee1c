#!/usr/bin/env python3
"""The commands that work on an app's data: check, stat, repair, dump, load, backup, restore."""
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, case, check, equal, run  # noqa: E402

LEDGER = ROOT / "tests/ledger.aup"


def aup(place, *words, code=0):
    """What it printed, or said when it was to fail."""
    done = place.aup(*words)
    equal(done.returncode, code, f"aup {' '.join(map(str, words))}: {(done.stdout + done.stderr).decode()[:400]}")
    if code:
        check(done.stderr.startswith(b"aup: ") and done.stderr.count(b"\n") == 1, f"not one line: {done.stderr!r}")
    return (done.stderr if code else done.stdout).decode()


def rows(text):
    """A dump without its first line, which names the commit."""
    lines = text.splitlines()
    equal(json.loads(lines[0])["aup_dump"], 1, "the first line")
    return lines[1:]


def served(place, inputs=20, **options):
    server = place.serve(place.module(LEDGER), **options)
    for number in range(inputs):
        equal(server.post("/inputs/add", {"mark": f"mark {number}"}).status, 200, "add")
    return server


@case("check and stat, of an app that is served and one that is not")
def check_and_stat(place):
    server = served(place)
    for path in (place.dir / "data", place.dir / "data/ledger"):
        check("well" in aup(place, "store", "check", path) and "20 rows" in aup(place, "store", "check", path), "check")
        check("20 rows  Entry" in aup(place, "store", "stat", path), "stat")
    server.stop()
    check("cleanly" in aup(place, "store", "stat", place.dir / "data"), "stat after a stop")


@case("a backup is taken while inputs go on, and is one state of them")
def backup_online(place):
    server, stop, sent = served(place), threading.Event(), []

    def post():
        with server.connect() as connection:
            while not stop.is_set():
                equal(connection.post("/inputs/add", {"mark": f"more {len(sent)} " + "x" * 2000}).status, 200, "add")
                sent.append(1)

    poster = threading.Thread(target=post)
    poster.start()
    for number in range(3):
        before = 20 + len(sent)
        aup(place, "backup", place.dir / "data", place.dir / f"{number}.backup")
        after = 20 + len(sent) + 1
        aup(place, "restore", place.dir / f"{number}.backup", place.dir / f"again{number}/ledger")
        lines = rows(aup(place, "dump", place.dir / f"again{number}"))
        equal(json.loads(lines[0])["row"]["sum"], len(lines) - 1, "the sum and the rows")
        check(before <= len(lines) - 1 <= after, f"{len(lines) - 1} rows, from {before} to {after} were acknowledged")
    stop.set()
    poster.join()
    server.stop()
    again = place.serve(place.dir / "app.aupm", data="again2")
    equal(again.view("total"), len(rows(aup(place, "dump", place.dir / "again2"))) - 1, "what is served from a backup")
    equal(again.post("/inputs/add", {"mark": "on"}).status, 200, "an input after a restore")


@case("a backup is restored up to a commit; a damaged one, and a folder with something in it, are refused")
def restore_at(place):
    served(place).stop()
    file = place.dir / "b"
    aup(place, "backup", place.dir / "data", file)
    first = int(aup(place, "restore", file, place.dir / "whole").split("commit ")[1].split(",")[0])
    aup(place, "restore", "--at", first - 5, file, place.dir / "part")
    check(len(rows(aup(place, "dump", place.dir / "part"))) < len(rows(aup(place, "dump", place.dir / "whole"))), "fewer rows")
    check("no commit" in aup(place, "restore", "--at", 9999, file, place.dir / "never", code=3), "--at")
    check("something in the folder" in aup(place, "restore", file, place.dir / "whole", code=3), "a folder in use")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    check("damaged" in aup(place, "restore", file, place.dir / "bad", code=3), "a damaged one")
    check("no backup" in aup(place, "restore", LEDGER, place.dir / "bad2", code=3), "another file")
    check(not list((place.dir / "bad").glob("*log*")), "something is left")


@case("what is dumped is loaded again, and mistakes are named by line before anything is on disk")
def dump_and_load(place):
    served(place).stop()
    dumped = aup(place, "dump", place.dir / "data")
    lines = dumped.splitlines()
    place.write("good", dumped)
    check("21 rows" in aup(place, "load", place.dir / "new/ledger", place.dir / "good"), "load")
    equal(rows(aup(place, "dump", place.dir / "new")), rows(dumped), "what was loaded")
    server = place.serve(place.dir / "app.aupm", data="new")
    equal(server.view("total"), 20, "total")
    equal(server.post("/inputs/add", {"mark": "on"}).status, 200, "the next key is a new one")
    server.stop()
    check("not empty" in aup(place, "load", place.dir / "new", place.dir / "good", code=1), "a store with rows")
    bad = {
        "line 3: ": lines[:2] + [lines[2].replace('"id":1', '"id":"x"')],
        "line 4: table Entry has a row with this key": lines[:3] + [lines[2]],
        "line 3: table Entry has no field marc": lines[:2] + [lines[2].replace('"mark"', '"marc"')],
        "line 2: there is no table": [lines[0], lines[1].replace("~state", "none")],
        "line 2: ": [lines[0], lines[1][:-3]],
        "line 1: ": lines[1:],
        "empty": [],
    }
    for number, (words, content) in enumerate(bad.items()):
        path = place.write(f"bad{number}", "".join(line + "\n" for line in content))
        said = aup(place, "load", place.dir / f"new{number}", path, code=1)
        check(words in said, f"{said!r} does not say {words!r}")


@case("damage is named with its file and place, and its end can be given up")
def damage(place):
    server = served(place)
    server.kill()
    log = place.dir / "data/ledger/log-0000000000000001"
    content = bytearray(log.read_bytes())
    offsets = [at for at in range(512, len(content), 512) if content[at:at + 4] == b"AUPR"]
    content[offsets[10] + 100] ^= 1
    log.write_bytes(content)
    said = aup(place, "store", "check", place.dir / "data", code=3)
    check(f"log-0000000000000001: damaged at offset {offsets[10]}" in said, said)
    aup(place, "dump", place.dir / "data", code=3)
    aup(place, "backup", place.dir / "data", place.dir / "b", code=3)
    check(not (place.dir / "b").exists(), "a backup of damaged data")
    aup(place, "store", "repair", place.dir / "data", code=2)
    aup(place, "store", "repair", place.dir / "data", "--lose-after", 11, code=3)
    aup(place, "store", "repair", place.dir / "data", "--lose-after", 10)
    aup(place, "store", "check", place.dir / "data")
    again = place.serve(place.dir / "app.aupm")
    check(0 < again.view("total") < 20, "what is left")
    check("in use" in aup(place, "store", "repair", place.dir / "data", "--lose-after", 5, code=3), "while it is served")


if __name__ == "__main__":
    run()
