"""What the end-to-end and crash tests share: cases in TAP, a scratch folder, the programs, HTTP and event streams over raw sockets.

A test file declares its cases with @case and ends in run(). It is started as `FILE BUILD_DIR [NAME PART]`; the programs are
looked up in BUILD_DIR (build/release/aup, or build/debug/cli/aup as ninja leaves it). AUP_QUICK=1 asks for short forms.
Python's own HTTP client hides what is tested here (header bytes, keep-alive, order of answers), hence raw sockets.
"""
import atexit
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUICK = bool(os.environ.get("AUP_QUICK"))
# Generous, since a sanitizer build on a busy machine is slow: these say "it hangs", not "it is slow".
START_S = 20
ANSWER_S = 20
EXIT_S = 30

_cases = []


class Failed(Exception):
    """A check did not hold."""


class Skipped(Exception):
    """The case cannot be tried on this machine, for a reason; it counts neither as passed nor as failed."""


def case(name):
    """Declares a test case: a function that takes a Place."""
    def note(function):
        _cases.append((name, function))
        return function
    return note


def add_case(name, function):
    _cases.append((name, function))


def check(holds, words):
    if not holds:
        raise Failed(words)


def equal(got, want, what):
    if got != want:
        raise Failed(f"{what}: got {short(got)}, want {short(want)}")


def short(value, most=300):
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"


def run():
    """Runs the declared cases, prints TAP, exits 1 when one failed."""
    build = pathlib.Path(sys.argv[1]).resolve()
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = [(name, function) for name, function in _cases if part in name]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, (name, function) in enumerate(chosen, 1):
        place = Place(build)
        started = time.monotonic()
        try:
            function(place)
            place.close()
            print(f"ok {number} - {name}  # {time.monotonic() - started:.1f} s", flush=True)
        except Skipped as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception as why:  # pylint: disable=broad-except  # whatever a case throws is a failed case
            failed += 1
            print(f"not ok {number} - {name}")
            words = str(why) if isinstance(why, Failed) else traceback.format_exc()
            print("\n".join("# " + line for line in words.splitlines()[-25:]))
            for line in place.told()[-25:]:
                print("# | " + line)
            sys.stdout.flush()
        finally:
            place.clean()
    sys.exit(1 if failed else 0)


class Place:
    """A scratch folder with the programs at hand; what is started here is stopped here."""

    def __init__(self, build):
        self.build = build
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="aup-test-"))
        self.running = []
        self.undo = []
        self.keep = False  # later cases go on with what runs here; it ends with the program

    def program(self, name):
        for path in (self.build / name, self.build / "cli" / name):
            if path.is_file():
                return str(path)
        raise Failed(f"{self.build} has no {name}")

    def write(self, name, content):
        path = self.dir / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def example(self, name):
        """A copy of an example, free to be changed."""
        return self.write(name, (ROOT / "examples" / name).read_bytes())

    def aup(self, *args, program="aup", timeout=EXIT_S, cwd=None, preexec=None):
        """Runs a program to its end."""
        words = [self.program(program), *map(str, args)]
        try:
            return subprocess.run(words, cwd=cwd or self.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False, preexec_fn=preexec)
        except subprocess.TimeoutExpired:
            raise Failed(f"no end after {timeout} s: {' '.join(words)[:200]}") from None

    def module(self, source, name="app.aupm"):
        """Compiles a source file."""
        target = self.dir / name
        done = self.aup("build", source, "-o", target)
        equal(done.returncode, 0, f"aup build {source}: {done.stderr.decode()[:500]}")
        return target

    def serve(self, what, *args, how="aup-serve", data="data", preexec=None, port=0):
        """Starts a host (`how`: aup-serve, serve or watch) and waits for its ready line."""
        words = [self.program("aup-serve")] if how == "aup-serve" else [self.program("aup"), how]
        words += [str(what), "--data", str(self.dir / data), "--listen", f"127.0.0.1:{port}", *map(str, args)]
        server = Server(words, self.dir, preexec)
        self.running.append(server)
        server.wait_ready()
        return server

    def told(self):
        """What the programs wrote, for a failed case."""
        return [line for server in self.running for line in server.output().splitlines()]

    def close(self):
        """The quiet end of a case that went well: each host still running must stop cleanly when asked."""
        if self.keep:
            return
        for server in self.running:
            if server.process.poll() is None:
                server.stop()

    def clean(self):
        if self.keep:
            self.keep = False
            atexit.register(self.clean)
            return
        for server in self.running:
            server.kill()
        for step in reversed(self.undo):
            step()
        shutil.rmtree(self.dir, ignore_errors=True)


def lasting_port():
    """A free port for a server that comes back at the same place: none of those the system gives to connections, since one of
    them may take it while nobody listens."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in range(20000 + os.getpid() % 4000, lowest):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    return 0  # the system gives all of them to connections: then any is as good


class Server:
    """A running host."""

    def __init__(self, words, directory, preexec=None):
        self.words = words
        self.said = pathlib.Path(tempfile.mkdtemp(dir=directory, prefix="said-"))
        with open(self.said / "stdout", "wb") as out, open(self.said / "stderr", "wb") as err:
            self.process = subprocess.Popen(words, cwd=directory, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=preexec)
        self.port = 0

    def stdout(self):
        return (self.said / "stdout").read_text("utf-8", "replace")

    def stderr(self):
        return (self.said / "stderr").read_text("utf-8", "replace")

    def output(self):
        return self.stdout() + self.stderr()

    def wait_ready(self):
        def ready():
            found = re.search(r"^serving [^\n]+? on http://[^\s:]+:(\d+)/", self.stdout(), re.MULTILINE)
            if found:
                self.port = int(found[1])
            check(found or self.process.poll() is None, f"ended with {self.process.poll()} before it was ready: {self.output()[-800:]}")
            return found
        wait_until(ready, "the ready line", START_S, every_s=0.01)

    def connect(self):
        return Connection(self.port)

    def get(self, path, headers=()):
        with self.connect() as connection:
            return connection.ask("GET", path, headers=headers)

    def post(self, path, value=None, headers=()):
        with self.connect() as connection:
            return connection.post(path, value, headers)

    def view(self, path):
        """The value of a view."""
        answer = self.get("/views/" + path)
        equal(answer.status, 200, f"GET /views/{path}: {short(answer.body)}")
        return json.loads(answer.body)

    def stream(self, path, headers=()):
        return Stream(self.port, path, headers)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def stop(self, how=signal.SIGTERM):
        """Asks the host to end; a sanitizer's last word (a leak) makes the exit code wrong."""
        self.process.send_signal(how)
        try:
            self.process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"does not stop within {EXIT_S} s of {how!r}") from None
        equal(self.process.returncode, 0, f"exit code after {how.name}; it said: {self.output()[-1500:]}")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def header(self, name):
        return self.headers.get(name.lower())

    def json(self):
        return json.loads(self.body)


class Connection:
    """One connection; answers are read in order, and nothing is read that the answer does not own."""

    def __init__(self, port, timeout_s=ANSWER_S):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, method, path, body=None, headers=()):
        self.send(request(method, path, body, headers))
        return self.answer(method)

    def post(self, path, value=None, headers=()):
        body = json.dumps({} if value is None else value).encode()
        return self.ask("POST", path, body, (("Content-Type", "application/json"), *headers))

    def more(self):
        data = self.socket.recv(65536)
        self.pending += data
        return bool(data)

    def head(self):
        while b"\r\n\r\n" not in self.pending:
            check(self.more(), f"the connection ended inside a head: {short(self.pending)}")
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        first, *rest = head.decode("latin-1").split("\r\n")
        found = re.fullmatch(r"HTTP/1\.1 (\d{3})(?: .*)?", first)
        check(found, f"not a status line: {first!r}")
        headers = {}
        for line in rest:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(found[1]), headers

    def answer(self, method="GET"):
        status, headers = self.head()
        body = b""
        if method != "HEAD" and status not in (204, 304):
            check("content-length" in headers, f"{status} without Content-Length: {headers}")
            length = int(headers["content-length"])
            while len(self.pending) < length:
                check(self.more(), f"the connection ended inside a body of {length} bytes: {short(self.pending)}")
            body, self.pending = self.pending[:length], self.pending[length:]
        return Answer(status, headers, body)

    def is_closed(self, timeout_s=ANSWER_S):
        """Whether the other side ends the connection without saying more."""
        self.socket.settimeout(timeout_s)
        try:
            return not self.pending and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except socket.timeout:
            return False


def request(method, path, body=None, headers=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


class Event:
    def __init__(self, id_, kind, data):
        self.id, self.kind, self.data = id_, kind, data

    def json(self):
        return json.loads(self.data)


class Stream:
    """A subscription, read as the HTML standard says an EventSource reads."""

    def __init__(self, port, path, headers=()):
        self.connection = Connection(port)
        self.connection.send(request("GET", path, headers=(("Accept", "text/event-stream"), *headers)))
        self.status, self.headers = self.connection.head()
        self.is_chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        self.text = b""

    def close(self):
        self.connection.close()

    def fill(self, timeout_s):
        """Moves more bytes into self.text; False at the end of the stream or when none come in time."""
        if not self.is_chunked:
            if not self.connection.pending and not (readable(self.connection.socket, timeout_s) and self.connection.more()):
                return False
            self.text, self.connection.pending = self.text + self.connection.pending, b""
            return True
        while True:
            size, found, rest = self.connection.pending.partition(b"\r\n")
            length = int(size.split(b";")[0], 16) if found else 0
            if found and len(rest) >= length + 2:
                self.text, self.connection.pending = self.text + rest[:length], rest[length + 2:]
                return length > 0
            if not (readable(self.connection.socket, timeout_s) and self.connection.more()):
                return False

    def next(self, timeout_s=ANSWER_S):
        """The next event, or None when the stream ends or nothing comes in time."""
        end_by = time.monotonic() + timeout_s
        while True:
            block = re.match(rb"(.*?)(?:\r\n|\n|\r)(?:\r\n|\n|\r)", self.text, re.DOTALL)
            if block:
                self.text = self.text[block.end():]
                event = parse_event(block[1].decode())
                if event:
                    return event
                continue
            left = end_by - time.monotonic()
            if left <= 0 or not self.fill(left):
                return None

    def wait_for(self, value, timeout_s=ANSWER_S):
        """Reads events until one has this value; returns all that came, that one last."""
        events = []
        while True:
            event = self.next(timeout_s)
            check(event, f"no event with {short(value)}; there came {[e.data for e in events][-10:]}")
            events.append(event)
            if event.json() == value:
                return events


def parse_event(block):
    data, id_, kind = [], None, "message"
    for line in re.split(r"\r\n|\n|\r", block):
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            data.append(value)
        elif name == "id":
            id_ = value
        elif name == "event":
            kind = value
    return Event(id_, kind, "\n".join(data)) if data else None


def readable(sock, timeout_s):
    return bool(select.select([sock], [], [], max(0, timeout_s))[0])


def wait_until(holds, what, timeout_s=ANSWER_S, every_s=0.02):
    end_by = time.monotonic() + timeout_s
    while True:
        result = holds()
        if result:
            return result
        check(time.monotonic() < end_by, f"{what}: not within {timeout_s} s")
        time.sleep(every_s)
