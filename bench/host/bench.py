"""Many apps in one host: what a neighbour costs, what an app costs awake and asleep, what an idle connection costs.

Isolation is measured as the p99 of one connection to a quiet app while another app is busy: in one host, and as two
processes on the same core. The server has core 0 and the load core 1.
"""
import pathlib
import resource
import shutil
import socket
import subprocess
import threading
import time

from harness import LOAD_CORE, SERVER_CORE, Failed, Server, free_port, on_core, program, run_json, scratch

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = """app {name}

state total: int = 0

view sum = total

view spin(n: int) {{
  var sum = 0
  for i in 1..n {{
    sum += i
  }}
  return sum
}}

input add(by: int = 1) {{
  total += by
}}
"""
APPS, CONNECTIONS = 200, 5000
BUSY = {"writes": 'POST /{name}/inputs/add {{"by":1}}', "long views": "GET /{name}/views/spin?n=30000000"}


def build(place, name):
    source, out = place / f"{name}.aup", place / f"{name}.aupm"
    source.write_text(SOURCE.format(name=name))
    done = subprocess.run([program("aup"), "build", source, "-o", out], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr[:300])
    return out


def host(place, port, modules, data, *more):
    return [program("aup-serve"), *modules, "--data", place / data, "--listen", f"127.0.0.1:{port}", "--workers", "1", *more]


def quiet(run, port):
    """p50 and p99 of durable inputs of one connection to the quiet app."""
    return run_json([program("http/load"), "-p", port, "-c", "1", "-d", run.seconds, "-w", "0.3", "-r", 'POST /quiet/inputs/add {"by":1}'])[0]


def while_busy(run, port, busy_port, words):
    command = [*on_core(LOAD_CORE), program("http/load"), "-p", busy_port, "-c", "64", "-d", run.seconds + 1, "-w", "0", "-r", words]
    flood = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.2)
    try:
        return quiet(run, port)
    finally:
        flood.kill()
        flood.wait()


def isolation(run, place, modules):
    ports = free_port(), free_port(), free_port()
    with Server("one", host(place, ports[0], modules, "both"), ports[0]):
        run.add("alone", "one host", **quiet(run, ports[0]))
        for kind, words in BUSY.items():
            run.add(kind, "one host", **while_busy(run, ports[0], ports[0], words.format(name="busy")))
    with Server("quiet", host(place, ports[1], modules[:1], "left"), ports[1]), Server("busy", host(place, ports[2], modules[1:], "right"), ports[2]):
        for kind, words in BUSY.items():
            run.add(kind, "two processes", **while_busy(run, ports[1], ports[2], words.format(name="busy")))


def private_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(("Private_Dirty:", "Private_Clean:")))


def threads(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


def settle(server, wanted, timeout_s=60):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        found = subprocess.run(["curl", "-s", f"http://127.0.0.1:{server.port}/_host/apps"], capture_output=True, text=True, check=False).stdout
        if found.count(f'"{wanted}"') >= APPS:
            return
        time.sleep(0.2)
    raise Failed(f"not all apps are {wanted} after {timeout_s} s")


def cost(run, place):
    modules = [build(place, f"app{i}") for i in range(APPS)]
    port = free_port()
    with Server("empty", host(place, port, [], "none"), port) as server:
        base, base_threads = private_kib(server.process.pid), threads(server.process.pid)
    port = free_port()
    with Server("many", host(place, port, modules, "many", "--sleep-after", "3"), port) as server:
        run.add("an app", "awake", kib=(private_kib(server.process.pid) - base) / APPS, threads=threads(server.process.pid) - base_threads)
        settle(server, "asleep")
        time.sleep(0.5)
        run.add("an app", "asleep", kib=(private_kib(server.process.pid) - base) / APPS, threads=threads(server.process.pid) - base_threads)


def idle(run, place, modules):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(CONNECTIONS, hard - 200)
    port = free_port()
    with Server("idle", host(place, port, modules[:1], "idle"), port) as server:
        before = private_kib(server.process.pid)
        clients = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(b"GET /views/sum HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(client)
        for client in clients:
            client.recv(4096)
        run.add("an idle connection", "one host", kib=(private_kib(server.process.pid) - before) / count)
        for client in clients:
            client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def main(run):
    for _ in range(run.rounds):
        place = scratch("host")
        modules = [build(place, "quiet"), build(place, "busy")]
        run.attempt("isolation", "one host", lambda place=place, modules=modules: isolation(run, place, modules) or {})
        run.attempt("idle", "one host", lambda place=place, modules=modules: idle(run, place, modules) or {})
        run.attempt("cost", "one host", lambda place=place: cost(run, place) or {})
        shutil.rmtree(place, ignore_errors=True)
    run.show("alone", ["rate", "p50_us", "p99_us"], title="a quiet app, one connection of durable inputs, nothing else")
    for kind in BUSY:
        run.show(kind, ["rate", "p50_us", "p99_us"], base="two processes", title=f"the same while another app has 64 connections of {kind}")
        run.target(f"{kind}: p99 of the quiet app / as two processes", run.ratio(kind, "one host", "two processes", "p99_us"), most=0.5)
    run.show("an app", ["kib", "threads"], title=f"private memory of an app among {APPS}, and threads of all")
    run.show("an idle connection", ["kib"], title="private memory of a connection that waits")
