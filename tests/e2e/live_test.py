#!/usr/bin/env python3
"""Connections and streams of a running host: order, keep-alive, pipelining, events, clients that go away or send nonsense."""
import json
import os
import pathlib
import random
import resource
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import QUICK, Connection, case, check, equal, request, run, wait_until  # noqa: E402

JSON = (("Content-Type", "application/json"),)
NOTE = '''app note "Note"

state kept: text max 4000 = ""

view words = kept

input write(to: text max 4000) {
  kept = to
}
'''


def counter(place, **options):
    return place.serve(place.module(place.example("counter.aup")), **options)


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


@case("one connection carries many requests")
def _(place):
    server = counter(place)
    with server.connect() as connection:
        for number in range(1, 201):
            equal(connection.post("/inputs/add", {"by": 1}).status, 204, "add")
            equal(connection.ask("GET", "/views/total").json(), number, "total")


@case("pipelined requests are answered in order, and a view sees the input before it")
def _(place):
    server = counter(place)
    rounds = 200 if QUICK else 2000
    with server.connect() as connection:
        sender = threading.Thread(target=connection.send, args=(b"".join(
            request("POST", "/inputs/add", b'{"by": 1}', JSON) + request("GET", "/views/total") for _ in range(rounds)),))
        sender.start()
        for number in range(1, rounds + 1):
            equal(connection.answer("POST").status, 204, "add")
            equal(connection.answer().json(), number, "total")
        sender.join()


@case("a request cut at every byte is the same request")
def _(place):
    server = counter(place)
    whole = request("POST", "/inputs/add", b'{"by": 2}', JSON) + request("GET", "/views/total")
    with server.connect() as connection:
        for number, cut in enumerate(range(1, len(whole)), 1):
            connection.send(whole[:cut])
            time.sleep(0.001)
            connection.send(whole[cut:])
            equal(connection.answer("POST").status, 204, f"add cut at {cut}")
            equal(connection.answer().json(), 2 * number, f"total cut at {cut}")


@case("a stream starts with the value and goes on with each new one, ids grow")
def _(place):
    server = counter(place)
    server.post("/inputs/add", {"by": 5})
    stream = server.stream("/views/total")
    equal(stream.status, 200, "status")
    check(stream.headers.get("content-type", "").startswith("text/event-stream"), f"headers {stream.headers}")
    equal(stream.next().json(), 5, "first event")
    ids = []
    for number in range(6, 16):
        server.post("/inputs/add", {"by": 1})
        event = stream.wait_for(number)[-1]
        ids.append(int(event.id))
    equal(ids, sorted(set(ids)), "ids")


@case("an unchanged value sends nothing")
def _(place):
    server = counter(place)
    stream = server.stream("/views/total")
    equal(stream.next().json(), 0, "first event")
    for _ in range(5):
        server.post("/inputs/reset", {})
    server.post("/inputs/add", {"by": 9})
    equal(stream.next().json(), 9, "second event")


@case("a burst is coalesced and its last value always comes")
def _(place):
    server = counter(place)
    streams = [server.stream("/views/total") for _ in range(20)]
    count = 100 if QUICK else 1000
    with server.connect() as connection:
        connection.send(request("POST", "/inputs/add", b'{"by": 1}', JSON) * count)
        for _ in range(count):
            equal(connection.answer("POST").status, 204, "add")
    for stream in streams:
        values = [event.json() for event in stream.wait_for(count)]
        equal(values, sorted(set(values)), "values")


@case("any Last-Event-ID gets the present value at once")
def _(place):
    server = counter(place)
    server.post("/inputs/add", {"by": 3})
    for last in ("0", "999999999", "text", "", "x" * 4000, "-1"):
        stream = server.stream("/views/total", (("Last-Event-ID", last),))
        equal(stream.next().json(), 3, f"first event after {last[:10]!r}")
        stream.close()


@case("a stream of what is not there is a plain 404")
def _(place):
    server = counter(place)
    answer = server.get("/views/none", (("Accept", "text/event-stream"),))
    equal(answer.status, 404, "status")


@case("a text with line ends is one event and comes back whole")
def _(place):
    server = place.serve(place.module(place.write("note.aup", NOTE)))
    stream = server.stream("/views/words")
    equal(stream.next().json(), "", "first event")
    for words in ("a\rb", "a\nb", "a\r\nb", "data: x", "x\n\nevent: y", " leading", ":colon", "\u2028", "\U0001F600", "a\x01b", "\x7f"):
        equal(server.post("/inputs/write", {"to": words}).status, 204, f"write {words!r}")
        equal(stream.next().json(), words, "event")


@case("a stream is still served when its client never reads")
def _(place):
    server = place.serve(place.module(place.write("note.aup", NOTE)))
    lazy = []
    for _ in range(20):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(request("GET", "/views/words", headers=(("Accept", "text/event-stream"),)))
        lazy.append(sock)
    good = server.stream("/views/words")
    with server.connect() as connection:
        for number in range(300):
            equal(connection.post("/inputs/write", {"to": f"{number} " + "x" * 3000}).status, 204, "write")
    events = good.wait_for("299 " + "x" * 3000)
    check(events, "no events")
    for sock in lazy:
        sock.close()


@case("64 connections that send nonsense leave the others served")
def _(place):
    server = counter(place)
    rng = random.Random(1)
    nonsense = [rng.randbytes(rng.randrange(1, 3000)) for _ in range(50)]
    nonsense += [b"GET / HTTP/1.1\r\n" + rng.randbytes(200), b"\r\n" * 2000, b"POST /inputs/add HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"]
    stop = threading.Event()

    def babble(seed):
        own = random.Random(seed)
        while not stop.is_set():
            try:
                with Connection(server.port, timeout_s=5) as connection:
                    for _ in range(5):
                        connection.send(own.choice(nonsense))
                    connection.socket.recv(4096)
            except OSError:
                pass
    threads = [threading.Thread(target=babble, args=(seed,)) for seed in range(64)]
    for thread in threads:
        thread.start()
    try:
        with server.connect() as connection:
            for number in range(1, 51 if QUICK else 301):
                equal(connection.post("/inputs/add", {"by": 1}).status, 204, "add")
                equal(connection.ask("GET", "/views/total").json(), number, "total")
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@case("mutated requests are answered or cut, and the host lives")
def _(place):
    server = counter(place)
    rng = random.Random(2)
    seeds = [request("GET", "/views/total"), request("POST", "/inputs/add", b'{"by": 5, "x": "\\u00e4"}', JSON), request("GET", "/app"),
             request("GET", "/views/total?a=%20b&c", headers=(("Accept", "*/*"), ("Connection", "keep-alive, x"))), request("HEAD", "/")]
    before = descriptors(server)
    for number in range(500 if QUICK else 10000):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at:at + rng.randrange(1, 9)]
            elif kind == 2:
                data[at:at] = rng.randbytes(rng.randrange(1, 9))
            else:
                data[at:at] = data[at:at + rng.randrange(1, 60)]
            if not data:
                data = bytearray(b"\n")
        try:
            with Connection(server.port) as connection:
                connection.send(bytes(data))
                connection.socket.shutdown(socket.SHUT_WR)
                while connection.more():
                    pass
        except (ConnectionResetError, BrokenPipeError):
            pass
        except socket.timeout:
            check(False, f"hangs on request {number}: {bytes(data)!r}")
        if number % 500 == 0:
            equal(server.get("/app").status, 200, "GET /app")
    wait_until(lambda: descriptors(server) <= before + 1, "the descriptors to come back")


@case("clients that go away in the middle cost nothing")
def _(place):
    server = counter(place)
    before = descriptors(server)
    for number in range(300):
        connection = server.connect()
        connection.send(request("GET", "/" if number % 2 else "/views/total", headers=(("Accept", "text/event-stream"),) if number % 3 == 0 else ()))
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    server.post("/inputs/add", {"by": 1})
    equal(server.view("total"), 1, "total")
    wait_until(lambda: descriptors(server) <= before + 1, "the descriptors to come back")


@case("a request that never ends is cut")
def _(place):
    server = counter(place)
    with Connection(server.port, timeout_s=90) as slow:
        slow.send(b"GET /views/total HTTP/1.1\r\nHost: 127.0.0.1\r\nA: ")
        started = time.monotonic()
        if QUICK:
            equal(server.view("total"), 0, "total meanwhile")
            return
        slow.socket.settimeout(90)
        try:
            while slow.more():
                pass
        except ConnectionResetError:
            pass
        check(time.monotonic() - started < 60, "not cut within a minute")


@case("out of descriptors: those who are served go on, the others come in later")
def _(place):
    server = counter(place, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    first = server.connect()
    equal(first.ask("GET", "/views/total").status, 200, "first")
    crowd = []
    for _ in range(200):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", server.port))
        crowd.append(sock)
    time.sleep(0.5)
    started = cpu_s(server)
    time.sleep(1)
    check(cpu_s(server) - started < 0.5, "the host burns a core while it is full")
    equal(first.post("/inputs/add", {"by": 1}).status, 204, "add on the first connection")
    for sock in crowd:
        sock.close()
    wait_until(lambda: serves(server), "a new connection to be served", 10, every_s=0.2)


def serves(server):
    try:
        with Connection(server.port, timeout_s=2) as connection:
            return connection.ask("GET", "/views/total").status == 200
    except Exception:  # pylint: disable=broad-except  # any way of not being served
        return False


def cpu_s(server):
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@case("a stop lets answers out and ends the streams")
def _(place):
    server = counter(place)
    streams = [server.stream("/views/total") for _ in range(50)]
    for stream in streams:
        equal(stream.next().json(), 0, "first event")
    with server.connect() as connection:
        for _ in range(20):
            connection.post("/inputs/add", {"by": 1})
    server.stop(signal.SIGTERM)
    for stream in streams:
        while stream.next(5):
            pass
    equal(place.serve(place.dir / "app.aupm").view("total"), 20, "total after the restart")


@case("SIGINT ends it as well")
def _(place):
    counter(place).stop(signal.SIGINT)


@case("the description names every view and input with its types")
def _(place):
    server = place.serve(place.module(place.example("todo.aup")))
    words = json.dumps(server.get("/app").json())
    for word in ("open", "counts", "add", "finish", "clear_done", "Priority", "low", "normal", "high", "title", "due"):
        check(word in words, f"/app does not name {word}")


@case("what was acknowledged is there after a clean stop and after kill -9")
def _(place):
    module = place.module(place.example("todo.aup"))
    for how in ("stop", "kill", "stop", "kill"):
        server = place.serve(module)
        count = len(server.view("open"))
        for number in range(10):
            equal(server.post("/inputs/add", {"title": f"{how} {number}", "due": "2026-11-01", "priority": "low"}).status, 200, "add")
        equal(len(server.view("open")), count + 10, "rows")
        getattr(server, how)()
    rows = place.serve(module).view("open")
    equal([row["id"] for row in rows], list(range(1, 41)), "keys")


TIMED = """app timed
state ticks: int = 0
state got: int = 0
table R { id: int key auto, due: time, fired: int = 0 }
timer tick every 100ms { ticks += 1 }
timer ring for r in R at r.due { r.fired += 1 }
input later(after: duration) -> R { return insert R { due: now + after } }
receive parcel(n: int) { got += n }
view count = ticks
view fired = from r in R select r.fired
"""


@case("timers run by themselves, streams see it, and a kill forgets nothing that is due")
def _(place):
    module = place.module(place.write("timed.aup", TIMED))
    server = place.serve(module)
    with server.connect() as connection:
        equal(connection.post("/inputs/later", {"after": "400ms"}).status, 200, "later")
        stream = server.stream("/views/fired")
        stream.wait_for([1])
        stream.close()
        equal(connection.post("/inputs/later", {"after": "200ms"}).status, 200, "later")
    ticks = server.view("count")
    check(ticks >= 2, f"{ticks} ticks")
    server.kill()
    time.sleep(0.5)
    server = place.serve(module)
    stream = server.stream("/views/fired")
    stream.wait_for([1, 1])
    stream.close()
    check(server.view("count") >= ticks, "ticks go on")


@case("a receive is no input")
def _(place):
    server = place.serve(place.module(place.write("timed.aup", TIMED)))
    equal(server.post("/inputs/parcel", {"n": 1}).status, 404, "status")
    check("~" not in json.dumps(server.get("/app").json()), "/app names what is hidden")


if __name__ == "__main__":
    run()
