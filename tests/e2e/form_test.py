#!/usr/bin/env python3
"""The form of answers: ETags and 304, gzip, what Accept allows, pages of other sites (CORS), names of requests, Server-Timing."""
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import Server, case, check, equal, run  # noqa: E402

APP = """app shop

table Item { id: int key auto, name: text max 100 }
state opened: int = 0

view items = from i in Item order by i.id select { i.id, i.name }
view small = opened
view large(n: int) = "{n}"

input add(name: text max 100, times: int min 1 max 2000 = 1) {
  for n in 1..times { insert Item { name } }
}
input open() { opened += 1 }
"""


def start(place, *args):
    server = Server([place.program("aup-serve"), str(place.module(place.write("shop.aup", APP), "shop.aupm")), "--data", str(place.dir / "data"), "--listen", "127.0.0.1:0", *args], place.dir, None)
    place.running.append(server)
    server.wait_ready()
    return server


def get(server, path, *headers, method="GET"):
    with server.connect() as connection:
        return connection.ask(method, path, b"", headers)


@case("a value that one has already is not sent again, over commits of something else and restarts")
def etags(place):
    server = start(place)
    first = get(server, "/views/items")
    tag = first.header("etag")
    check(tag.startswith('"') and tag.endswith('"') and len(tag) == 34, tag)
    equal(first.header("cache-control"), "private, no-cache", "to be asked again each time")
    server.post("/inputs/open", {})
    for words in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        again = get(server, "/views/items", ("If-None-Match", words))
        equal((again.status, again.body, again.header("etag")), (304, b"", tag), words)
    equal(get(server, "/views/items", ("If-None-Match", '"x"')).status, 200, "another tag")
    equal(get(server, "/views/items", ("If-None-Match", tag), method="HEAD").status, 304, "HEAD")
    server.stop()
    server = start(place)
    equal(get(server, "/views/items", ("If-None-Match", tag)).status, 304, "after a restart")
    server.post("/inputs/add", {"name": "pen"})
    changed = get(server, "/views/items", ("If-None-Match", tag))
    equal((changed.status, len(changed.json())), (200, 1), "after a change")
    check(changed.header("etag") != tag, "another value, another tag")
    page, app = get(server, "/"), get(server, "/app")
    for path, answer in (("/", page), ("/app", app)):
        equal(get(server, path, ("If-None-Match", answer.header("etag"))).status, 304, path)
    equal(get(server, "/views/large?n=x").header("etag"), None, "an error has none")


@case("answers of a kibibyte and more are packed when that is asked for")
def packed(place):
    server = start(place)
    server.post("/inputs/add", {"name": "a pen with a long name, so that it is worth packing", "times": 300})
    plain = get(server, "/views/items")
    equal((plain.header("content-encoding"), len(plain.json())), (None, 300), "not asked for")
    for words, wanted in (("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("GZIP", True), ("gzip;q=0", False), ("gzip; q=0.000, *", False), ("identity", False), ("br", False),
                          ("gzip;q=2", False), ("gzip;q=x", False), ("", False)):
        answer = get(server, "/views/items", ("Accept-Encoding", words))
        equal(answer.header("content-encoding"), "gzip" if wanted else None, words)
        body = gzip.decompress(answer.body) if wanted else answer.body
        equal(body, plain.body, words)
        check("Accept-Encoding" in answer.header("vary"), words)
        if wanted:
            check(len(answer.body) * 4 < len(plain.body), f"{len(answer.body)} of {len(plain.body)} bytes")
            check(answer.header("etag") != plain.header("etag"), "another form, another tag")
            equal(get(server, "/views/items", ("Accept-Encoding", words), ("If-None-Match", answer.header("etag"))).status, 304, "known")
    equal(get(server, "/views/small", ("Accept-Encoding", "gzip")).header("content-encoding"), None, "too small")
    equal(get(server, "/", ("Accept-Encoding", "gzip")).header("content-encoding"), "gzip", "the page")
    server.post("/inputs/add", {"name": "x" * 100, "times": 2000}), [server.post("/inputs/add", {"name": "y" * 100, "times": 2000}) for _ in range(5)]
    huge = get(server, "/views/items", ("Accept-Encoding", "gzip"))
    check(huge.header("content-encoding") is None and len(huge.body) > 1 << 20, "too large to be packed while others wait")


@case("what is not acceptable is said, and what is comes")
def acceptable(place):
    server = start(place)
    for words, status in (("application/json", 200), ("application/*", 200), ("*/*", 200), ("text/html, */*;q=0.1", 200), ("text/html", 406), ("application/json;q=0", 406),
                          ("application/json;q=0, */*", 406), ("text/*, application/xml", 406), ("APPLICATION/JSON", 200), ("application/json; charset=utf-8", 200)):
        answer = get(server, "/views/small", ("Accept", words))
        equal(answer.status, status, words)
        if status == 406:
            equal(answer.json()["code"], "not_acceptable", words)
    equal(get(server, "/", ("Accept", "text/html")).status, 200, "the page")
    equal(get(server, "/", ("Accept", "image/png")).status, 406, "no picture")


@case("pages of the sites that were named may use the app, and no others")
def cors(place):
    server = start(place, "--cors", "https://example.com,http://localhost:5173")
    ask = ("Access-Control-Request-Method", "POST")
    for origin, welcome in (("https://example.com", True), ("http://localhost:5173", True), ("http://localhost", False), ("https://example.com:444", False), ("http://example.com", False), ("null", False),
                            ("https://evil.example.org", False)):
        answer = get(server, "/views/small", ("Origin", origin))
        equal((answer.status, answer.header("access-control-allow-origin")), (200, origin if welcome else None), origin)
        with server.connect() as connection:
            answer = connection.ask("POST", "/inputs/open", b"{}", (("Origin", origin), ("Content-Type", "application/json")))
            equal(answer.status, 204 if welcome else 403, origin)
            equal(answer.header("access-control-allow-origin"), origin if welcome else None, origin)
        answer = get(server, "/inputs/open", ("Origin", origin), ask, method="OPTIONS")
        equal(answer.header("access-control-allow-origin"), origin if welcome else None, origin)
        if welcome:
            check("POST" in answer.header("access-control-allow-methods") and "Content-Type" in answer.header("access-control-allow-headers"), str(answer.headers))
            check("Origin" in answer.header("vary"), str(answer.headers))
        equal(answer.header("access-control-allow-credentials"), None, "never with cookies")
    equal(get(server, "/views/nothing", ("Origin", "https://example.com")).header("access-control-allow-origin"), "https://example.com", "errors can be read too")
    for wrong in ("*", "example.com", "https://example.com/", "https://"):
        done = place.aup("--cors", wrong, "x.aupm", program="aup-serve")
        check(done.returncode == 2 and b"no origin" in done.stderr, wrong)


@case("a request's name comes back and is logged; a trace is logged")
def names(place):
    server = start(place, "--access-log")
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    equal(get(server, "/views/small", ("X-Request-Id", "a-b.c_1"), ("traceparent", trace)).header("x-request-id"), "a-b.c_1", "as it came")
    for bad in ("a b", "x" * 129, "<script>", ""):
        made = get(server, "/views/small", ("X-Request-Id", bad), ("traceparent", trace.upper())).header("x-request-id")
        check(len(made) == 16 and made != bad, bad)
    lines = [json.loads(line) for line in server.stderr().splitlines() if '"answered"' in line]
    equal([(lines[0]["id"], lines[0]["trace"]), lines[1]["trace"]], [("a-b.c_1", trace), ""], "the log")
    server.stop()
    server = start(place)
    equal(get(server, "/views/small").header("x-request-id"), None, "nobody asked")
    equal(get(server, "/views/small").header("server-timing"), None, "nor for times")


@case("while it is watched, each answer says how long it took")
def timing(place):
    source = place.write("shop.aup", APP)
    server = Server([place.program("aup"), "watch", str(source), "--data", ":memory:", "--listen", "127.0.0.1:0"], place.dir, None)
    place.running.append(server)
    server.wait_ready()
    words = get(server, "/views/small").header("server-timing")
    check(words.startswith("app;dur=") and 0 <= float(words[8:]) < 10000, words)


run()
