"""What every benchmark here shares: rounds in alternating order, medians and spreads, servers on their own core, tables, targets.

A benchmark is a module with `main(run)`. It gives numbers to `run.add(case, who, …)`, prints each case with `run.show(…)`
and says what was aimed at with `run.target(…)`. All samples go to build/bench-results/NAME.json.
"""
import collections
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "bench"
RESULTS = ROOT / "build" / "bench-results"
NPM = ROOT / "build" / "bench-npm" / "node_modules"
SERVER_CORE, LOAD_CORE = ("0", "1") if len(os.sched_getaffinity(0)) > 1 else (None, None)
START_S, STOP_S, RUN_S = 10, 10, 600
OTHERS_MAX = 0.05  # of the machine; more disturbs


class Failed(Exception):
    """This contestant or case cannot be measured; the reason is printed and the rest goes on."""


def program(name):
    """A program of ours: aup, aup-serve, or a measuring one as `http/load`."""
    path = BUILD / ("cli" if name.startswith("aup") else "bench") / name
    if not path.exists():
        raise Failed(f"{name} is not built")
    return str(path)


def on_core(core):
    return ["taskset", "-c", core] if core else []


def run_json(command, core=LOAD_CORE, **options):
    """The lines of JSON a measuring program prints."""
    done = subprocess.run([*on_core(core), *map(str, command)], capture_output=True, text=True, timeout=RUN_S, check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{pathlib.Path(str(command[0])).name}: {(done.stderr or done.stdout).strip()[-300:] or done.returncode}")
    if done.stderr:
        print(f"    ({done.stderr.strip()[-300:]})")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measure(command):
    """CPU seconds, wall seconds and peak KiB of a whole process that must end well."""
    found = run_json([program("lib/measure"), *command])[0]
    if found["status"] != 0:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        raise Failed(f"ended with {found['status']}: {(done.stdout + done.stderr).strip()[:300]}")
    return found


def scratch(name):
    """An empty directory on the disk that is measured (never /tmp, which may be memory)."""
    place = RESULTS / "data"
    place.mkdir(parents=True, exist_ok=True)
    return pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=place))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process, and its children, on the server's core."""

    def __init__(self, name, command, port, env=None, ready="/views/total"):
        self.name, self.port = name, port
        self.log = open(RESULTS / f"{name}.log", "w+b")
        self.started = time.monotonic()
        self.process = subprocess.Popen([*on_core(SERVER_CORE), *map(str, command)], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        self.wait_ready(ready)
        self.ready_s = time.monotonic() - self.started

    def wait_ready(self, path):
        while True:
            try:
                self.get(path)
                return
            except (OSError, http.client.HTTPException):
                if self.process.poll() is not None or time.monotonic() > self.started + START_S:
                    self.stop()
                    self.log.seek(0)
                    raise Failed(f"{self.name} does not start: {self.log.read()[-300:].decode('utf-8', 'replace').strip()}") from None
                time.sleep(0.002)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body is not None else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, path):
        return self.ask("GET", path)

    def pids(self):
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(str(pid))
            try:
                todo += pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            except OSError:
                pass
        return ",".join(found)

    def memory_kib(self, key):
        total = 0
        for pid in self.pids().split(","):
            found = re.search(rf"^{key}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
            total += int(found[1]) if found else 0
        return total

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.log.close()


class Run:
    """The samples of one benchmark, and what is said of them."""

    def __init__(self, name, rounds, seconds, quick):
        self.name, self.rounds, self.seconds, self.quick = name, rounds, seconds, quick
        self.samples = collections.defaultdict(lambda: collections.defaultdict(list))
        self.targets, self.failures = [], {}
        self.others = []  # what others used of the machine before and after, from 0 to 1

    def orders(self, contestants):
        """The contestants once a round: turned by one each round, and every second round backward."""
        contestants = list(contestants)
        for number in range(self.rounds):
            order = contestants[number % len(contestants):] + contestants[:number % len(contestants)]
            yield number, order if number % 2 == 0 else order[::-1]

    def add(self, case, who, **numbers):
        for what, value in numbers.items():
            if isinstance(value, (int, float)):
                self.samples[case, who][what].append(value)

    def fail(self, case, who, reason):
        if (case, who) not in self.failures:
            print(f"    {case}, {who}: {reason}")
        self.failures[case, who] = str(reason)

    def attempt(self, case, who, work):
        """Adds what `work` returns (a dict of numbers), or the reason why there is nothing."""
        try:
            self.add(case, who, **work())
        except (Failed, OSError, subprocess.TimeoutExpired) as reason:
            self.fail(case, who, reason)

    def median(self, case, who, what):
        values = self.samples.get((case, who), {}).get(what)
        return statistics.median(values) if values else None

    def spread(self, case, who, what):
        values = self.samples[case, who][what]
        middle = statistics.median(values)
        return (max(values) - min(values)) / middle if middle else 0.0

    def ratio(self, case, who, other, what, other_case=None):
        ours, theirs = self.median(case, who, what), self.median(other_case or case, other, what)
        return ours / theirs if ours is not None and theirs else None

    def show(self, case, columns, base=None, title=None):
        """One table: a contestant a line; of the first column the spread and, with `base`, the ratio to that contestant."""
        people = [who for have, who in self.samples if have == case]
        if not people:
            return
        print(f"\n{title or case}")
        main = columns[0]
        heads = [main, "spread", *columns[1:], *([f"{main} / {base}"] if base else [])]
        lines = []
        for who in people:
            cells = [number(self.median(case, who, main)), f"{self.spread(case, who, main) * 100:.0f}%"]
            cells += [number(self.median(case, who, what)) for what in columns[1:]]
            if base:
                ratio = self.ratio(case, who, base, main)
                cells.append("-" if ratio is None else f"{ratio:.2f}")
            lines.append([who, *cells])
        table([["", *heads], *lines])

    def target(self, text, value, most=None, least=None, unit=""):
        self.targets.append({"text": text, "value": value, "most": most, "least": least, "unit": unit})

    def look_around(self):
        self.others.append(busy_part())
        if self.others[-1] > OTHERS_MAX:
            print(f"others use {self.others[-1] * 100:.0f}% of the machine: take the numbers as rough")

    def show_targets(self):
        if not self.targets:
            return
        print("\naimed at")
        lines = []
        for aim in self.targets:
            value, most, least = aim["value"], aim["most"], aim["least"]
            bound = f"at most {number(most)}" if most is not None else f"at least {number(least)}"
            met = None if value is None else value <= most if most is not None else value >= least
            aim["met"] = met
            lines.append([aim["text"], number(value) + aim["unit"], bound + aim["unit"], "not measured" if met is None else "met" if met else "MISSED"])
        table([["", "is", "aim", ""], *lines])

    def save(self):
        RESULTS.mkdir(parents=True, exist_ok=True)
        samples = [{"case": case, "who": who, "numbers": dict(numbers)} for (case, who), numbers in self.samples.items()]
        failures = [{"case": case, "who": who, "reason": reason} for (case, who), reason in self.failures.items()]
        (RESULTS / f"{self.name}.json").write_text(json.dumps({"machine": machine(), "others": self.others, "samples": samples, "failures": failures, "targets": self.targets}, indent=1))


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{0 if value == int(value) else 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1}f}"


def table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  " + line[0].ljust(widths[0]) + "".join("  " + cell.rjust(width) for cell, width in zip(line[1:], widths[1:])))


def machine():
    """What a reader needs to judge the numbers."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    return {"cpu": cpu[1] if cpu else "?", "cores": os.cpu_count(), "kernel": os.uname().release, "commit": commit,
            "at": time.strftime("%Y-%m-%d %H:%M:%S")}


def busy_part(seconds=1.0):
    """The part of all cores that others use while we do nothing (the load average would count our own last run too)."""
    def ticks():
        numbers = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]
    total, idle = ticks()
    time.sleep(seconds)
    total_after, idle_after = ticks()
    return 1 - (idle_after - idle) / max(1, total_after - total)
