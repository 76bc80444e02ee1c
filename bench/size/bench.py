"""What is small or quick once: sizes of the programs, an idle server's memory, its start, and from saving a file to its being live."""
import os
import re
import shutil
import subprocess
import time

from harness import ROOT, Failed, Server, free_port, measure, program, scratch

SAVES_A_ROUND = 5
POLL_S = 0.001


def sizes(run, place):
    for name in ("aup", "aup-serve"):
        stripped = place / name
        subprocess.run(["strip", "-o", stripped, program(name)], check=True)
        run.add("size", name, kib=stripped.stat().st_size / 1024)
    run.show("size", ["kib"], title="programs, stripped (KiB)")
    run.target("aup-serve stripped: KiB", run.median("size", "aup-serve", "kib"), most=1024)


def module(place):
    out = place / "counter.aupm"
    measure([program("aup"), "build", ROOT / "examples" / "counter.aup", "-o", out])
    return out


def idle(run, built):
    def one():
        place, port = scratch("size"), free_port()
        with Server("aup-serve", [program("aup-serve"), built, "--data", place / "data", "--listen", f"127.0.0.1:{port}"], port) as server:
            time.sleep(0.5)
            return {"rss_kib": server.memory_kib("Rss"), "private_dirty_kib": server.memory_kib("Private_Dirty"), "pss_kib": server.memory_kib("Pss"),
                    "start_ms": server.ready_s * 1000}

    def limit():
        place, port = scratch("size"), free_port()
        with Server("limit", [program("http/limit"), port, place, "thread"], port) as server:
            time.sleep(0.5)
            return {"rss_kib": server.memory_kib("Rss"), "private_dirty_kib": server.memory_kib("Private_Dirty"), "pss_kib": server.memory_kib("Pss")}
    for _, people in run.orders(["aup-serve", "limit thread"]):
        for who in people:
            run.attempt("idle", who, one if who == "aup-serve" else limit)
    run.show("idle", ["rss_kib", "private_dirty_kib", "pss_kib", "start_ms"], base="limit thread", title="an idle server with the counter, after one GET (KiB); start: from exec to the first answer (ms)")
    run.target("idle aup-serve with the counter: RSS KiB", run.median("idle", "aup-serve", "rss_kib"), most=4096)
    run.target("the same, the closer aim: RSS KiB", run.median("idle", "aup-serve", "rss_kib"), most=3072)
    run.target("idle aup-serve on epoll: private dirty KiB", run.median("idle", "aup-serve", "private_dirty_kib"), most=1536)


def quick_commands(run):
    counter = ROOT / "examples" / "counter.aup"
    for _ in range(run.rounds):
        run.attempt("check", "aup check counter.aup", lambda: scale(measure([program("aup"), "check", counter])))
        run.attempt("check", "aup test counter.aup", lambda: scale(measure([program("aup"), "test", counter])))
        run.attempt("check", "true", lambda: scale(measure(["true"])))
    run.show("check", ["wall_ms", "cpu_ms", "peak_kib"], base="true", title="a whole process")
    run.target("aup check counter.aup: ms", run.median("check", "aup check counter.aup", "wall_ms"), most=5)


def scale(found):
    return {"wall_ms": found["wall_s"] * 1000, "cpu_ms": found["cpu_s"] * 1000, "peak_kib": found["peak_kib"]}


def replace(path, text):
    """As an editor saves: a new file in the old one's place."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def watch(run):
    place, port = scratch("watch"), free_port()
    source = place / "counter.aup"
    text = (ROOT / "examples" / "counter.aup").read_text()
    source.write_text(text)
    command = [program("aup"), "watch", source, "--data", place / "data", "--listen", f"127.0.0.1:{port}"]
    with Server("aup-watch", command, port) as server:
        time.sleep(0.3)
        for number in range(1, run.rounds * SAVES_A_ROUND + 1):
            run.attempt("watch", "aup watch", lambda number=number: {"ms": save_to_live(server, source, text, number)})
    shutil.rmtree(place, ignore_errors=True)
    run.show("watch", ["ms"], title="aup watch: from saving the file to the new module's answer (ms)")
    run.target("save to live: ms", run.median("watch", "aup watch", "ms"), most=200)


def save_to_live(server, source, text, number):
    start = time.monotonic()
    replace(source, re.sub(r"^view total = count$", f"view total = count + {number}", text, flags=re.MULTILINE))
    while server.get("/views/total")[1].strip() != str(number):
        if time.monotonic() > start + 5:
            raise Failed("not live within 5 s")
        time.sleep(POLL_S)
    return (time.monotonic() - start) * 1000


def main(run):
    place = scratch("size")
    steps = (("size", lambda: sizes(run, place)), ("idle", lambda: idle(run, module(place))), ("check", lambda: quick_commands(run)), ("watch", lambda: watch(run)))
    for name, step in steps:
        try:
            step()
        except Failed as reason:
            run.fail(name, "aup", reason)
