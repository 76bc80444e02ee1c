#!/usr/bin/env python3
"""One host for many apps: names, deploying, stopping, sleeping, connections that ask several apps, damage that stays where it is."""
import json
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import QUICK, ROOT, Connection, Server, case, check, equal, run, wait_until  # noqa: E402

APP = """app {name}

state total: int = 0

view sum = total

input add(by: int = 1) -> int {{
  total += by
  return total
}}
{more}
"""


def source(place, name, more="", text=APP):
    return place.write(f"{name}.aup", text.format(name=name, more=more))


def module(place, name, more=""):
    return place.module(source(place, name, more), f"{name}.aupm")


def start(place, operands, *args, data="data", how="aup-serve"):
    words = [place.program("aup-serve")] if how == "aup-serve" else [place.program("aup"), how]
    server = Server(words + [str(one) for one in operands] + ["--data", str(place.dir / data), "--listen", "127.0.0.1:0", *map(str, args)], place.dir, None)
    place.running.append(server)
    server.wait_ready()
    return server


def states(server):
    return {one["name"]: one["state"] for one in server.get("/_host/apps").json()["apps"]}


def put(server, name, path, headers=()):
    with server.connect() as connection:
        return connection.ask("PUT", f"/_host/apps/{name}", path.read_bytes(), headers)


def add(server, name, by=1):
    answer = server.post(f"/{name}/inputs/add", {"by": by})
    equal(answer.status, 200, f"add to {name}: {answer.body!r}")
    return answer.json()


def total(server, name):
    answer = server.get(f"/{name}/views/sum")
    equal(answer.status, 200, f"sum of {name}: {answer.body!r}")
    return answer.json()


@case("apps by name, each with its own state; with one app also without the name")
def by_name(place):
    names = [f"app{i}" for i in range(6)]
    server = start(place, [module(place, name) for name in names], "--workers", 3)
    for i, name in enumerate(names):
        equal(add(server, name, i), i, name)
    for i, name in enumerate(names):
        equal(total(server, name), i, name)
    equal(server.get("/views/sum").status, 404, "no name and several apps")
    equal(server.get("/nobody/views/sum").status, 404, "no such app")
    equal(states(server), {name: "awake" for name in names}, "states")
    server.stop()
    server = start(place, [place.dir / "app3.aupm"], data="one")
    equal(server.view("sum"), 0, "without the name")
    equal(total(server, "app3"), 0, "with it")


@case("a folder of sources and modules; one that does not compile keeps none of the others out")
def folder(place):
    (place.dir / "all").mkdir()
    for name in ("left", "right"):
        source(place, name).rename(place.dir / "all" / f"{name}.aup")
    module(place, "middle").rename(place.dir / "all" / "middle.aupm")
    (place.dir / "all" / "wrong.aup").write_text("app wrong\n\nview x = nothing\n")
    server = start(place, [place.dir / "all"], how="serve")
    equal(states(server), {"left": "awake", "right": "awake", "middle": "awake"}, "states")
    check("wrong.aup is not served" in server.stderr(), server.stderr())


@case("one connection that asks apps of several workers gets its answers in order, and reads what it wrote")
def mixed(place):
    names = [f"app{i}" for i in range(5)]
    server = start(place, [module(place, name) for name in names], "--workers", 4)
    rounds = 40 if QUICK else 200
    with server.connect() as connection:
        wanted, sent = [], b""
        totals = dict.fromkeys(names, 0)
        for i in range(rounds):
            name = names[i * 7 % 5]
            body = json.dumps({"by": i}).encode()
            totals[name] += i
            sent += (f"POST /{name}/inputs/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
            sent += f"GET /{name}/views/sum HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            wanted += [totals[name], totals[name]]
        writer = threading.Thread(target=lambda: [connection.send(sent[at:at + 997]) for at in range(0, len(sent), 997)])
        writer.start()
        for i, want in enumerate(wanted):
            answer = connection.answer()
            equal((answer.status, answer.json()), (200, want), f"answer {i}")
        writer.join()


def metrics(server):
    """name{labels} -> number; checks the format on the way."""
    answer = server.get("/metrics")
    equal((answer.status, answer.header("content-type")), (200, "text/plain; version=0.0.4; charset=utf-8"), "metrics")
    found, family, seen = {}, "", set()
    for line in answer.body.decode().splitlines():
        if line.startswith("# TYPE "):
            family = line.split()[2]
            check(family not in seen, f"{family} is in one place")
            seen.add(family)
        elif not line.startswith("#"):
            name, number = line.rsplit(" ", 1)
            check(name.startswith(family), line)
            check(name not in found, f"{name} is there once")
            found[name] = float(number)
    return found, seen


@case("numbers about each app, and whether the host is well")
def numbers(place):
    names = ["left", "right", "third"]
    server = start(place, [module(place, name) for name in names], "--workers", 3, "--app-rate", 30, "--access-log")
    for name, times in zip(names, (1, 5, 0)):
        for _ in range(times):
            add(server, name)
    equal(server.post("/left/inputs/add", {"by": "x"}).status, 400, "a bad argument")
    stream = server.stream("/right/views/sum")
    stream.next()
    limited = sum(server.get("/third/views/sum").status == 429 for _ in range(100))
    found, families = metrics(server)

    def of(name, app, labels=""):
        return found.get(f'{name}{{app="{app}"{labels}}}')

    equal([of("aup_inputs_done_total", name) for name in names], [1, 5, 0], "inputs")
    equal([of("aup_committed_inputs_total", name) for name in names], [1, 5, 0], "committed inputs")
    equal([of("aup_subscribers", name) for name in names], [0, 1, 0], "streams")
    equal([of("aup_up", name) for name in names], [1, 1, 1], "up")
    equal(of("aup_http_requests_total", "left", ',route="input",status="200"'), 1, "answers")
    equal(of("aup_http_requests_total", "left", ',route="input",status="400"'), 1, "refused ones")
    check(limited > 0, "some were refused")
    equal(of("aup_budget_refusals_total", "third", ',budget="app-rate"'), limited, "refusals")
    equal(of("aup_http_request_duration_seconds_count", "right", ',route="input"'), 5, "timed answers")
    equal(of("aup_http_request_duration_seconds_bucket", "right", ',route="input",le="+Inf"'), 5, "the last bucket")
    check(of("aup_stored_bytes", "right") > of("aup_stored_bytes", "third") > 0, "bytes on disk")
    documented = set(re.findall(r"^\| `([a-z_]+)` \| (?:counter|gauge|histogram)", (ROOT / "docs/OPERATIONS.md").read_text(), re.M))
    equal(families, documented, "all that is said is documented, and the other way round")
    equal((server.get("/livez").status, server.get("/readyz").body), (200, b"ok\n"), "well")
    equal(server.post("/livez", {}).status, 405, "only to be read")
    lines = [json.loads(line) for line in server.stderr().splitlines() if '"answered"' in line]
    check(any(line["request"] == "POST /left/inputs/add" and line["status"] == 400 for line in lines), "the access log")
    stream.close()
    server.stop()
    for path in (place.dir / "data" / "left").glob("log-*"):
        path.write_bytes(b"")
    server = start(place, [], "--workers", 3)
    answer = server.get("/readyz")
    equal((answer.status, answer.body), (503, b"1 of 3 apps cannot be opened\n"), "not well")
    found, _ = metrics(server)
    equal([found[f'aup_up{{app="{name}"}}'] for name in names], [0, 1, 1], "which")


@case("deploying installs and replaces, keeps state, refuses with reasons, and outlives the host")
def deploying(place):
    server = start(place, [], "--workers", 2)
    equal(server.get("/").status, 404, "nothing there yet")
    shop = module(place, "shop")
    answer = put(server, "shop", shop)
    equal((answer.status, answer.json()["state"]), (201, "awake"), answer.body)
    equal(add(server, "shop", 5), 5, "an input")
    answer = put(server, "shop", module(place, "shop", "\nview twice = total * 2\n"))
    equal(answer.status, 200, answer.body)
    equal(server.get("/shop/views/twice").json(), 10, "the new view sees the old state")
    lossy = place.write("lossy.aup", "app shop\n\nstate other: int = 1\n\nview sum = other\n")
    answer = put(server, "shop", place.module(lossy, "lossy.aupm"))
    equal((answer.status, answer.json()["code"]), (409, "refused"), answer.body)
    check("total" in answer.json()["detail"], answer.body)
    equal(total(server, "shop"), 5, "nothing changed")
    equal(put(server, "till", shop).status, 409, "a module of another name")
    equal(put(server, "9x", shop).status, 400, "no name for an app")
    equal(put(server, "shop", place.write("junk", b"AUPM junk")).status, 422, "no module")
    equal(put(server, "shop", shop, (("Origin", "http://example.com"),)).json()["code"], "foreign_origin", "another site's page")
    equal(put(server, "till", module(place, "till")).status, 201, "a second app")
    server.stop()
    server = start(place, [])
    equal(states(server), {"shop": "awake", "till": "awake"}, "after a restart without operands")
    equal((total(server, "shop"), total(server, "till")), (5, 0), "state after a restart")
    server.kill()
    server = start(place, [])
    equal(total(server, "shop"), 5, "state after a kill")


@case("the commands: deploy, apps, logs, stop, start, remove")
def commands(place):
    server = start(place, [module(place, "first")])
    url = f"http://127.0.0.1:{server.port}"
    source(place, "second")

    def ok(*words):
        done = place.aup(*words, url)
        equal(done.returncode, 0, f"aup {words}: {done.stderr!r}")
        return done.stdout.decode()

    equal(ok("deploy", place.dir / "second.aup"), "installed second\n", "deploy of a source")
    equal(ok("deploy", place.dir / "first.aupm"), "replaced first\n", "deploy of a module")
    equal([line.split("\t")[:2] for line in ok("apps").splitlines()], [["first", "awake"], ["second", "awake"]], "apps")
    stream = server.stream("/second/views/sum")
    equal(stream.next().json(), 0, "a stream's first event")
    equal(ok("stop", "second"), "stopped second\n", "stop")
    event = stream.next()
    equal((event.kind, event.json()["code"]), ("error", "stopped"), "the stream's last event")
    equal(server.get("/second/views/sum").json()["code"], "stopped", "a request while stopped")
    equal(total(server, "first"), 0, "the other one goes on")
    ok("start", "second")
    equal(add(server, "second", 3), 3, "after the start")
    check("stopped" in ok("logs", "second") and "first" not in ok("logs", "second"), ok("logs", "second"))
    ok("remove", "second")
    equal(server.get("/second/views/sum").status, 404, "removed") if len(states(server)) != 1 else None
    equal(states(server), {"first": "awake"}, "states")
    ok("deploy", place.dir / "second.aup")
    equal(total(server, "second"), 3, "its data had stayed")
    done = place.aup("stop", "nobody", url)
    check(done.returncode == 1 and b"no app" in done.stderr, done.stderr)
    done = place.aup("apps", "http://127.0.0.1:1")
    check(done.returncode == 3 and b"cannot be reached" in done.stderr, done.stderr)


@case("a damaged app says what is wrong, and the others start")
def damaged(place):
    server = start(place, [module(place, name) for name in ("good", "bad")])
    add(server, "good", 2)
    add(server, "bad", 2)
    server.stop()
    for path in (place.dir / "data" / "bad").glob("log-*"):
        path.write_bytes(b"")
    server = start(place, [])
    equal(states(server), {"good": "awake", "bad": "failed"}, "states")
    equal(total(server, "good"), 2, "the good one")
    answer = server.get("/bad/views/sum")
    equal(answer.status, 503, "the bad one")
    check("bad" in answer.json()["detail"] and "log-" in answer.json()["detail"], answer.body)
    server.stop()
    (place.dir / "data" / "apps.list").write_text("aup apps 1\ngood running\n../etc running\nend\n")
    done = place.aup("--data", place.dir / "data", "--listen", "127.0.0.1:0", program="aup-serve")
    check(done.returncode == 1 and b"apps.list: line 3" in done.stderr, done.stderr)


@case("an app without work sleeps; requests wake it, many at once; what it had is there")
def sleeping(place):
    server = start(place, [module(place, name) for name in ("one", "two")], "--sleep-after", 1, "--workers", 2)
    add(server, "one", 4)
    stream = server.stream("/two/views/sum")
    stream.next()
    wait_until(lambda: states(server)["one"] == "asleep", "sleep", 20)
    equal(states(server)["two"], "awake", "an open stream keeps it awake")
    equal(total(server, "one"), 4, "after waking")
    wait_until(lambda: states(server)["one"] == "asleep", "sleep again", 20)
    connections = [server.connect() for _ in range(30)]
    for connection in connections:
        connection.send(b"POST /one/inputs/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
    equal(sorted(connection.answer().json() for connection in connections), list(range(5, 35)), "thirty at once")
    stream.close()
    wait_until(lambda: states(server) == {"one": "asleep", "two": "asleep"}, "both asleep", 20)
    server.stop()
    server = start(place, [])
    equal(states(server), {"one": "asleep", "two": "asleep"}, "who slept sleeps on after a restart")
    equal(total(server, "one"), 34, "and wakes")


@case("a timer wakes its app")
def timers(place):
    path = place.write("ticker.aup", "app ticker\n\nstate ticks: int = 0\n\ntimer tick every 5s {\n  ticks += 1\n}\n\nview count = ticks\n")
    server = start(place, [place.module(path, "ticker.aupm"), module(place, "other")], "--sleep-after", 1)
    wait_until(lambda: states(server)["ticker"] == "asleep", "sleep", 20)
    before = time.monotonic()
    wait_until(lambda: states(server)["ticker"] != "asleep", "woken by its timer", 20)
    check(time.monotonic() - before < 10, "woke too late")
    wait_until(lambda: server.get("/ticker/views/count").json() >= 1, "a tick")


@case("apps come, change and go under load; the others do not notice")
def churn(place):
    names = [f"app{i}" for i in range(4)]
    modules = [module(place, name) for name in names]
    other = module(place, "other")
    server = start(place, modules, "--workers", 3)
    streams = [server.stream(f"/{name}/views/sum") for name in names]
    counts, failures, stop = dict.fromkeys(names, 0), [], threading.Event()

    def post(name):
        with server.connect() as connection:
            while not stop.is_set():
                answer = connection.post(f"/{name}/inputs/add", {"by": 1})
                if answer.status != 200:
                    failures.append((name, answer.status, answer.body))
                    return
                counts[name] += 1

    threads = [threading.Thread(target=post, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for i in range(5 if QUICK else 20):
        equal(put(server, "other", other).status, 201, f"install {i}")
        equal(put(server, "app0", modules[0]).status, 200, f"replace {i}")
        with server.connect() as connection:
            equal(connection.ask("DELETE", "/_host/apps/other").status, 204, f"remove {i}")
    stop.set()
    for thread in threads:
        thread.join()
    equal(failures, [], "failures")
    for name, stream in zip(names, streams):
        equal(total(server, name), counts[name], f"sum of {name}")
        stream.wait_for(counts[name])


BUSY = """
view spin(n: int) {{
  var sum = 0
  for i in 1..n {{
    sum += i
  }}
  return sum
}}

input grind(n: int) -> int {{
  for i in 1..n {{
    total += 1
  }}
  return total
}}
"""


def slowest(server, name, until):
    worst = 0.0
    with server.connect() as connection:
        while not until.is_set():
            started = time.monotonic()
            equal(connection.ask("GET", f"/{name}/views/sum").status, 200, "a short view")
            worst = max(worst, time.monotonic() - started)
            started = time.monotonic()
            equal(connection.post(f"/{name}/inputs/add", {"by": 1}).status, 200, "a short input")
            worst = max(worst, time.monotonic() - started)
    return worst


@case("long views and inputs of an app keep neither another app nor its own short views waiting; they end as they must")
def fair(place):
    greedy = place.module(source(place, "greedy", BUSY.replace("{{", "{").replace("}}", "}")), "greedy.aupm")
    server = start(place, [greedy, module(place, "meek")], "--workers", 1)
    done, worst, answers = threading.Event(), [], []
    thread = threading.Thread(target=lambda: worst.append(slowest(server, "meek", done)))
    thread.start()
    connections = [server.connect() for _ in range(8)]
    n = 150_000
    for i, connection in enumerate(connections):
        if i % 2:
            connection.send(f"GET /greedy/views/spin?n={n} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        else:
            body = json.dumps({"n": n}).encode()
            connection.send(f"POST /greedy/inputs/grind HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    started = time.monotonic()
    equal(server.get("/greedy/views/sum").status, 200, "a short view of the same app")
    short_took = time.monotonic() - started
    answers = [connection.answer() for connection in connections]
    took = time.monotonic() - started
    done.set()
    thread.join()
    equal([answer.status for answer in answers], [200] * 8, answers[0].body)
    equal(sorted(answer.json() for answer in answers[::2]), [n * i for i in range(1, 5)], "inputs, one after the other")
    equal([answer.json() for answer in answers[1::2]], [n * (n + 1) // 2] * 4, "views")
    equal(total(server, "greedy"), 4 * n, "the state")
    check(worst[0] < took / 4, f"the other app waited {worst[0]:.3f} s of {took:.3f} s")
    check(short_took < took / 4, f"a short view waited {short_took:.3f} s of {took:.3f} s")
    server.stop()
    server = start(place, [])
    equal(total(server, "greedy"), 4 * n, "after a restart")


@case("budgets of an app: fuel of a call, requests a second, streams, what waits; each says its name and changes nothing")
def budgets(place):
    greedy = place.module(source(place, "greedy", BUSY.replace("{{", "{").replace("}}", "}")), "greedy.aupm")
    server = start(place, [greedy], "--app-fuel", 3, "--app-streams", 2, "--app-queue", 3)
    answer = server.post("/greedy/inputs/grind", {"n": 100_000_000})
    equal((answer.status, answer.json()["code"]), (503, "F04"), answer.body)
    answer = server.get("/greedy/views/spin?n=100000000")
    equal((answer.status, answer.json()["code"]), (503, "F04"), answer.body)
    equal(total(server, "greedy"), 0, "nothing changed")
    equal(add(server, "greedy", 1), 1, "the next one goes on")
    streams = [server.stream("/greedy/views/sum") for _ in range(3)]
    equal([stream.status for stream in streams], [200, 200, 429], "streams")
    connections = [server.connect() for _ in range(40)]
    for connection in connections:
        connection.send(b"GET /greedy/views/spin?n=300000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answers = [connection.answer() for connection in connections]
    statuses = {answer.status for answer in answers}
    equal(statuses, {200, 503}, "some wait, some are told to come again")
    check(all(answer.header("Retry-After") and answer.json()["code"] == "busy" for answer in answers if answer.status == 503), answers[-1].body)
    server.stop()
    server = start(place, [], "--app-rate", 5)
    answers = [server.get("/greedy/views/sum") for _ in range(12)]
    check(answers[0].status == 200 and answers[-1].status == 429, [answer.status for answer in answers])
    equal(answers[-1].header("Retry-After"), "1", "when to come again")
    time.sleep(1.2)
    equal(server.get("/greedy/views/sum").status, 200, "a second later")


@case("options: a flag wins over the environment, that over aup.toml; --print-config says so; HUP rereads budgets")
def options(place):
    app = module(place, "shop")
    toml = place.write("aup.toml", "# how this host is set up\napp-rate = 5   # low\nworkers = 2\nlisten = \"127.0.0.1:1\"\nsleep-after = \"never\"\n")
    os.environ["AUP_WORKERS"] = "3"
    os.environ["AUP_SLEEP_AFTER"] = "77"
    try:
        done = place.aup("--print-config", "--listen", "127.0.0.1:0", program="aup-serve")
        server = start(place, [app])
    finally:
        del os.environ["AUP_WORKERS"], os.environ["AUP_SLEEP_AFTER"]
    said = done.stdout.decode().splitlines()
    equal(done.returncode, 0, done.stderr)
    for line in ('listen = "127.0.0.1:0"  # flag', 'workers = "3"  # AUP_WORKERS', 'sleep-after = "77"  # AUP_SLEEP_AFTER', 'app-rate = "5"  # aup.toml:2'):
        check(line in said, f"{line!r} in {said}")
    check([server.get("/shop/views/sum").status for _ in range(12)][-1] == 429, "the rate of aup.toml")
    toml.write_text("app-rate = 100000\n")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "settings reread" in server.stderr(), "HUP")
    time.sleep(0.1)
    equal({server.get("/shop/views/sum").status for _ in range(30)}, {200}, "the new rate")
    toml.write_text("app-rate = 1\nnonsense\n")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "stay as they were" in server.stderr(), "HUP with a mistake")
    check("aup.toml:2: write `key" in server.stderr(), server.stderr())
    for text, words in (("colour = \"red\"\n", "no setting `colour`"), ("workers = 0\n", "--workers 0"), ("allow-remote = maybe\n", "neither true nor false")):
        toml.write_text(text)
        done = place.aup(app, "--listen", "127.0.0.1:0", program="aup-serve")
        check(done.returncode == 2 and words in done.stderr.decode(), done.stderr)


SETTING = 'app %s\nsetting fee: decimal(2) max 9\nsetting key: text @secret\nstate n: int = 0\nview shown = "{fee} {len(key)}"\ninput add { n += 1 }\n'


@case("settings of apps: by flag, environment and aup.toml; one that lacks a value is not served; values are shown nowhere")
def settings(place):
    modules = [place.module(place.write(f"{name}.aup", SETTING % name), f"{name}.aupm") for name in ("shop", "till")]
    toml = place.write("aup.toml", "workers = 2\n[app.shop.settings]\nfee = 1.5\nkey = \"hush-toml\"\n\n[app.till.settings]\nfee = \"2\"\n")
    os.environ["AUP_SET_till__key"] = "hush-environment"
    try:
        server = start(place, modules, "--set", "shop.fee=3")
        printed = place.aup("--print-config", program="aup-serve")
        equal([server.get(f"/{name}/views/shown").json() for name in ("shop", "till")], ["3.00 9", "2.00 16"], "settings")
        equal(server.post("/shop/inputs/add", {}).status, 204, "an input")
        server.stop()
    finally:
        del os.environ["AUP_SET_till__key"]
    for line in ("# set till.key: given  # AUP_SET_till__key", "# set shop.fee: given  # aup.toml:3"):
        check(line in printed.stdout.decode().splitlines(), printed.stdout)
    toml.write_text(toml.read_text().replace("fee = 1.5", "fee = 10").replace("key =", "keys ="))
    server = start(place, modules, "--set", "till.key=hush-flag")
    for words in ("the setting `fee` must be at most 9.00", "no setting `keys`, is it `key`?", "settings without a value: `key`"):
        check(words in server.stderr(), server.stderr())
    equal(server.get("/till/views/shown").json(), "2.00 9", "the other app")
    server.stop()
    done = place.aup(*modules, "--data", "data", "--listen", "127.0.0.1:0", "--set", "fee=3", program="aup-serve")
    check(done.returncode == 2 and "of which app?" in done.stderr.decode(), done.stderr)
    written = [path.read_bytes() for path in (place.dir / "data").rglob("*") if path.is_file()]
    check(written and not any(b"hush-" in one for one in written), "a secret on the disk")
    check("hush-" not in printed.stdout.decode() + server.output(), "a secret is shown")


@case("a service manager hands over its socket and is told when the host is ready and when it stops")
def manager(place):
    app = module(place, "shop")
    path = str(place.dir / "notify")
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(path)
    told.settimeout(20)
    listener = socket.create_server(("127.0.0.1", 0))

    def hand_over():
        os.dup2(listener.fileno(), 3)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", NOTIFY_SOCKET=path)
        os.execv(place.program("aup-serve"), ["aup-serve", str(app), "--data", str(place.dir / "data")])

    pid = os.fork()
    if pid == 0:
        hand_over()
    try:
        equal(told.recv(100), b"READY=1", "ready")
        with Connection(listener.getsockname()[1]) as connection:
            equal(connection.ask("GET", "/views/sum").json(), 0, "over the handed-over socket")
        os.kill(pid, signal.SIGTERM)
        equal(told.recv(100), b"STOPPING=1", "stopping")
    finally:
        os.kill(pid, signal.SIGTERM)
        equal(os.waitpid(pid, 0)[1], 0, "exit")


@case("TERM lets what is in hand be answered and ends streams; a second one ends at once")
def term(place):
    server = start(place, [module(place, name) for name in ("one", "two")], "--workers", 2)
    streams = [server.stream(f"/{name}/views/sum") for name in ("one", "two") * 50]
    half = server.connect()
    half.send(b"POST /two/inputs/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"by\"")
    time.sleep(0.3)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    half.send(b": 7}")
    equal(half.answer().json(), 7, "the request in hand")
    for stream in streams:
        stream.next()
        check(stream.next() is None, "a stream ends")
    equal(server.process.wait(20), 0, "exit code")
    server = start(place, [])
    equal(total(server, "two"), 7, "it is kept")
    half = server.connect()
    half.send(b"POST /two/inputs/add HTTP/1.1\r\nHost: localhost\r\n")
    time.sleep(0.2)
    before = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    os.kill(server.process.pid, signal.SIGTERM)
    equal(server.process.wait(20), 0, "exit code")
    check(time.monotonic() - before < 5, "at once")


run()
