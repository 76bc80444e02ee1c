#!/usr/bin/env python3
"""A browser's own EventSource (Debian's Chromium, driven through chromedriver): sees each value, survives a swap without reconnecting."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import case, check, equal, lasting_port, run, wait_until  # noqa: E402

# What the page does: one EventSource, all it gets noted.
SUBSCRIBE = """
  window.seen = []; window.opened = 0; window.failed = 0;
  window.source = new EventSource(arguments[0]);
  source.onopen = () => { opened++ };
  source.onerror = () => { failed++ };
  source.onmessage = event => seen.push([JSON.parse(event.data), event.lastEventId]);
"""


class Browser:
    """A session of headless Chromium."""

    def __init__(self, place):
        self.profile = tempfile.TemporaryDirectory(prefix="aup-browser-")
        self.log = place.dir / "chromedriver.log"
        with open(self.log, "ab") as log:
            self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        place.undo.append(self.close)
        self.base = f"http://127.0.0.1:{wait_until(self.find_port, 'chromedriver')}"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self.profile.name}"]}
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})["sessionId"]

    def find_port(self):
        found = re.search(rb"successfully on port (\d+)", self.log.read_bytes())
        check(found or self.driver.poll() is None, "chromedriver ended")
        return found and int(found[1])

    def call(self, method, path, value=None):
        data = None if value is None else json.dumps(value).encode()
        asked = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url):
        self.call("POST", f"/session/{self.session}/url", {"url": url})

    def execute(self, script, *args):
        return self.call("POST", f"/session/{self.session}/execute/sync", {"script": script, "args": list(args)})

    def seen(self):
        return self.execute("return [seen, opened, failed]")

    def close(self):
        try:
            self.call("DELETE", f"/session/{self.session}")
        except (OSError, AttributeError):
            pass
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()


@case("an EventSource shows the counter changing and survives a swap without reconnecting")
def _(place):
    source = place.example("counter.aup")
    server = place.serve(source, how="watch")
    browser = Browser(place)
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.execute(SUBSCRIBE, "/views/total")

    def shows(value):
        return wait_until(lambda: [value] == [pair[0] for pair in browser.seen()[0]][-1:], f"the browser to show {value}")
    shows(0)
    for number in range(1, 6):
        server.post("/inputs/add", {"by": 1})
        shows(number)
    source.write_text(source.read_text().replace("view total = count", "view total = count + 100"))
    shows(105)
    server.post("/inputs/add", {"by": 2})
    shows(107)
    seen, opened, failed = browser.seen()
    equal((opened, failed), (1, 0), "times opened and failed")
    equal([pair[0] for pair in seen], [0, 1, 2, 3, 4, 5, 105, 107], "values")
    ids = [int(pair[1]) for pair in seen]
    equal(ids, sorted(ids), "ids")


@case("an EventSource comes back by itself after kill -9 and shows the saved value")
def _(place):
    source = place.example("counter.aup")
    server = place.serve(source, how="serve", port=lasting_port())
    browser = Browser(place)
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.execute(SUBSCRIBE, "/views/total")
    equal(server.post("/inputs/add", {"by": 3}).status, 204, "add")
    wait_until(lambda: browser.seen()[0][-1:] and browser.seen()[0][-1][0] == 3, "the browser to show 3")
    server.kill()
    again = place.serve(source, how="serve", port=server.port)
    again.post("/inputs/add", {"by": 1})
    wait_until(lambda: browser.seen()[0][-1][0] == 4, "the browser to show 4")


@case("the front page works in a browser")
def _(place):
    server = place.serve(place.example("counter.aup"), how="serve")
    browser = Browser(place)
    browser.open(f"http://127.0.0.1:{server.port}/")
    text = browser.execute("return document.body.innerText + document.title")
    for word in ("total", "add", "reset"):
        check(word in text, f"the page does not name {word}")


if __name__ == "__main__":
    run()
