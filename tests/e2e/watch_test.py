#!/usr/bin/env python3
"""`aup watch`: every save is one swap, whatever way it is saved; state stays, streams go on, a broken program changes nothing."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import case, check, equal, run, wait_until  # noqa: E402

# The line that the saves change: the view's value tells which module runs.
VIEW = "view total = count"


def save_by_writing(path, content):
    path.write_text(content)


def save_by_rename(path, content):
    other = path.with_name(".swap~")
    other.write_text(content)
    os.replace(other, path)


def save_by_backup_and_rename(path, content):
    """As vim does: the old file becomes the backup, a new one is written, the backup goes."""
    backup = path.with_name(path.name + "~")
    os.rename(path, backup)
    path.write_text(content)
    backup.unlink()


def save_by_copy(path, content):
    other = path.with_name("other.txt")
    other.write_text(content)
    subprocess.run(["cp", other, path], check=True)


def save_by_sed(path, content):
    wanted = next(line for line in content.splitlines() if line.startswith(VIEW))
    subprocess.run(["sed", "-i", f"s/^{VIEW}.*/{wanted}/", path], check=True)


SAVES = (save_by_writing, save_by_rename, save_by_backup_and_rename, save_by_copy, save_by_sed)


def watching(place):
    source = place.example("counter.aup")
    return source, source.read_text(), place.serve(source, how="watch")


@case("each way to save swaps, and a stream goes on with the new module's value")
def _(place):
    source, text, server = watching(place)
    server.post("/inputs/add", {"by": 7})
    stream = server.stream("/views/total")
    equal(stream.next().json(), 7, "first event")
    added = 0
    for _ in range(4):
        for save in SAVES:
            added += 100
            save(source, text.replace(VIEW, f"{VIEW} + {added}"))
            try:
                stream.wait_for(7 + added)
            except Exception as why:
                raise type(why)(f"{save.__name__}, save {added // 100}: {why}") from None
    equal(server.view("total"), 7 + added, "total")


@case("a program that does not compile leaves the old one running and says why")
def _(place):
    source, text, server = watching(place)
    stream = server.stream("/views/total")
    equal(stream.next().json(), 0, "first event")
    source.write_text(text.replace(VIEW, "view total = cuont"))
    wait_until(lambda: "E101" in server.output(), "the message")
    equal(server.post("/inputs/add", {"by": 2}).status, 204, "add")
    equal(stream.next().json(), 2, "event of the old module")
    source.write_text(text.replace(VIEW, VIEW + " + 10"))
    stream.wait_for(12)


@case("an empty file and a file that goes away for a moment change nothing")
def _(place):
    source, text, server = watching(place)
    server.post("/inputs/add", {"by": 1})
    source.write_text("")
    wait_until(lambda: "error" in server.output().lower(), "the message")
    equal(server.view("total"), 1, "total with an empty file")
    source.unlink()
    time.sleep(0.5)
    equal(server.view("total"), 1, "total without the file")
    source.write_text(text.replace(VIEW, VIEW + " + 5"))
    wait_until(lambda: server.view("total") == 6, "the new value")


@case("added state starts with its default, what was there stays")
def _(place):
    source, text, server = watching(place)
    server.post("/inputs/add", {"by": 3})
    source.write_text(text.replace("state count: int = 0", "state count: int = 0\nstate other: int = 40").replace(VIEW, VIEW + " + other"))
    wait_until(lambda: server.view("total") == 43, "the new value")
    server.post("/inputs/add", {"by": 1})
    equal(server.view("total"), 44, "total")
    server.kill()
    equal(place.serve(source, how="watch").view("total"), 44, "total after kill -9")


@case("added fields of a table have their default in old rows")
def _(place):
    source = place.example("todo.aup")
    text = source.read_text()
    server = place.serve(source, how="watch")
    for number in range(50):
        server.post("/inputs/add", {"title": f"t{number}"})
    source.write_text(text.replace("  created: time = now\n", "  created: time = now\n  stars: int = 3\n")
                      .replace("select { t.id, t.title, t.priority, t.due }", "select { t.id, t.title, t.stars }"))
    wait_until(lambda: server.view("open")[0].get("stars") == 3, "the added field")
    rows = server.view("open")
    equal([(row["title"], row["stars"]) for row in rows], [(f"t{number}", 3) for number in range(50)], "rows")


@case("a change that would lose data is refused with its reason, and the old module runs on")
def _(place):
    source, text, server = watching(place)
    server.post("/inputs/add", {"by": 3})
    before = server.output()
    source.write_text(text.replace("count", "counted").replace("@confirm(\"Set the counted", "@confirm(\"Set the count"))
    wait_until(lambda: "count" in server.output()[len(before):], "the reason")
    equal(server.view("total"), 3, "total")
    equal(server.post("/inputs/add", {"by": 1}).status, 204, "add")
    equal(server.view("total"), 4, "total")


@case("a tighter limit that stored values do not keep is refused with their keys; one that they keep is taken")
def _(place):
    text = ("app limits\ntable Item { id: int key auto, n: int max 100 }\nstate top: int max 90 = 50\n"
            "input add(n: int) { insert Item { n } }\nview all = from i in Item order by i.id take 20 select i.n\n")
    source = place.write("limits.aup", text)
    server = place.serve(source, how="watch")
    for n in (10, 50, 60, 70):
        equal(server.post("/inputs/add", {"n": n}).status, 204, "add")
    source.write_text(text.replace("n: int max 100", "n: int max 55"))
    wait_until(lambda: "2 rows are outside of its new limits, with the keys 3, 4" in server.output(), "the reason")
    source.write_text(text.replace("int max 90", "int max 40"))
    wait_until(lambda: "`top` is outside of its new limits" in server.output(), "the reason")
    equal(server.post("/inputs/add", {"n": 99}).status, 204, "the old module runs on")
    source.write_text(text.replace("n: int max 100", "n: int max 99") + "view swapped = true\n")
    wait_until(lambda: server.get("/views/swapped").status == 200, "the limit that all keep")
    equal(server.post("/inputs/add", {"n": 100}).status, 422, "past the new limit")
    server.kill()
    source.write_text(text.replace("n: int max 100", "n: int max 5"))
    done = place.aup("serve", source, "--data", place.dir / "data", "--listen", "127.0.0.1:0")
    check(done.returncode == 1 and b"5 rows are outside of its new limits, with the keys 1, 2, 3, 4, 5" in done.stderr, done.stderr)


@case("a removed view ends its streams, the others go on")
def _(place):
    source, text, server = watching(place)
    source.write_text(text + "\nview double = count * 2\n")
    wait_until(lambda: server.get("/views/double").status == 200, "the added view")
    gone, stays = server.stream("/views/double"), server.stream("/views/total")
    equal((gone.next().json(), stays.next().json()), (0, 0), "first events")
    source.write_text(text)
    wait_until(lambda: server.get("/views/double").status == 404, "the view to go")
    server.post("/inputs/add", {"by": 5})
    stays.wait_for(5)
    while True:
        event = gone.next(5)
        if event is None:
            break
        check(event.kind == "error", f"an event of a view that is gone: {event.data}")


@case("inputs that go on during twenty swaps are all there, once")
def _(place):
    source, text, server = watching(place)
    acknowledged = 0
    for swap in range(20):
        source.write_text(text.replace(VIEW, f"{VIEW} + {swap + 1} * 1000000"))
        for _ in range(20):
            equal(server.post("/inputs/add", {"by": 1}).status, 204, "add")
            acknowledged += 1
    wait_until(lambda: server.view("total") == 20 * 1000000 + acknowledged, "the last module's value")
    equal(json.loads(server.get("/views/total").body) - 20 * 1000000, acknowledged, "count")


@case("a watched file in a folder that is replaced as a whole")
def _(place):
    (place.dir / "src").mkdir()
    source = place.write("src/counter.aup", place.example("counter.aup").read_bytes())
    text = source.read_text()
    server = place.serve(source, how="watch")
    (place.dir / "new").mkdir()
    place.write("new/counter.aup", text.replace(VIEW, VIEW + " + 9"))
    os.rename(place.dir / "src", place.dir / "old")
    os.rename(place.dir / "new", place.dir / "src")
    shutil.rmtree(place.dir / "old")
    wait_until(lambda: server.view("total") == 9, "the new value")


if __name__ == "__main__":
    run()
