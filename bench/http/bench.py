"""Our server over loopback beside the least a server can do, nginx, and a service on node: small GETs, durable POSTs, live readers.

The server has core 0 and the load core 1. CPU is the server's own, all its threads, from /proc/PID/stat: `server_us` is
microseconds a request (or event). Everyone answers the same requests with the same bodies, and every POST is on disk
before its answer, but not in the same way: each contestant's line in bench/README.md says how.
"""
import pathlib
import shutil
import subprocess
import time

from harness import NPM, Failed, Server, free_port, program, run_json, scratch

HERE = pathlib.Path(__file__).resolve().parent
ADD = 'POST /inputs/add {"by":1}'
# case: (title, load's arguments, who is left out)
LOADS = {
    "small64": ("GET of 64 bytes, 64 connections", ["-c", "64", "-r", "GET /views/small"], ("limit each", "limit turn", "fastify each")),
    "total64": ("GET of the count, 64 connections", ["-c", "64", "-r", "GET /views/total"], ("limit each", "limit turn", "fastify each", "nginx")),
    "total1": ("GET of the count, 1 connection", ["-c", "1", "-r", "GET /views/total"], ("limit each", "limit turn", "fastify each", "nginx")),
    "add64": ("durable POST, 64 connections", ["-c", "64", "-r", ADD], ("nginx",)),
    "add1": ("durable POST, 1 connection", ["-c", "1", "-r", ADD], ("nginx",)),
    "mix64": ("90% GET, 10% durable POST, 64 connections", ["-c", "64", "-r", "GET /views/total", "-R", ADD, "-m", "10"], ("nginx", "limit each", "limit turn", "fastify each")),
}
SUBSCRIBERS, WRITES_PER_S = 1000, 10
LIVE_TITLE = f"live: {SUBSCRIBERS:,} readers of one count, {WRITES_PER_S} durable writes a second"


def build_service(place):
    out = place / "service.aupm"
    done = subprocess.run([program("aup"), "build", HERE / "service.aup", "-o", out], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"aup build: {(done.stdout + done.stderr)[:300]}")
    return out


def aup(place, port):
    return [program("aup-serve"), build_service(place), "--data", place / "data", "--listen", f"127.0.0.1:{port}"], None


def limit(way):
    return lambda place, port: ([program("http/limit"), port, place, way], None)


def fastify(way):
    def command(place, port):
        if not shutil.which("node") or not (NPM / "fastify").exists():
            raise Failed("not installed (./dev bench peers)")
        return ["node", HERE / "peers" / "fastify.js", port, place, way], {"NODE_PATH": str(NPM), "NODE_ENV": "production"}
    return command


def nginx(place, port):
    path = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not path:
        raise Failed("not installed")
    config = place / "nginx.conf"
    config.write_text((HERE / "peers" / "nginx.conf").read_text().replace("PORT", str(port)).replace("DIR", str(place)))
    return [path, "-c", config], None


CONTESTANTS = {"aup": aup, "limit thread": limit("thread"), "limit turn": limit("turn"), "limit each": limit("each"), "nginx": nginx,
               "fastify turn": fastify("turn"), "fastify each": fastify("each")}


def load(run, server, arguments):
    found = run_json([program("http/load"), "-p", server.port, "-d", run.seconds, "-P", server.pids(), *arguments])[0]
    if found["refused"] or found["errors"]:
        raise Failed(f"{found['refused']} answers were not 2xx and {found['errors']} connections were lost")
    return found


def live(run, server):
    found = run_json([program("http/watch"), "-p", server.port, "-n", SUBSCRIBERS, "-f", WRITES_PER_S, "-d", max(2, run.seconds), "-P", server.pids(),
                      "-s", "/views/total", "-r", "/inputs/add", "-b", '{"by":1}'])[0]
    if found["lost"]:
        raise Failed(f"{found['lost']} streams were lost")
    return found


def one_round(run, who, place):
    port = free_port()
    command, env = CONTESTANTS[who](place, port)
    with Server(who.replace(" ", "-"), command, port, env=env) as server:
        time.sleep(0.3)
        for case, (_, arguments, without) in LOADS.items():
            if who not in without:
                run.attempt(case, who, lambda arguments=arguments: load(run, server, arguments))
        if who in ("aup", "limit thread", "fastify turn"):
            run.attempt("live", who, lambda: live(run, server))


def main(run):
    for number, order in run.orders(CONTESTANTS):
        for who in order:
            if ("start", who) in run.failures:
                continue
            place = scratch("http")
            try:
                one_round(run, who, place)
            except Failed as reason:
                run.fail("start", who, reason)
            finally:
                shutil.rmtree(place, ignore_errors=True)
    for case, (title, _, _) in LOADS.items():
        columns = ["server_us", "rate", "p50_us", "p99_us", "server_busy", "load_busy"] + (["second_p50_us", "second_p99_us"] if case == "mix64" else [])
        run.show(case, columns, base="limit thread", title=title)
    run.show("live", ["sent_p99_ms", "sent_p50_ms", "last_p50_ms", "last_p99_ms", "server_us", "kib_per_subscriber", "late"], base="limit thread", title=LIVE_TITLE)
    run.target("add64: rate / one fdatasync a request (limit each)", run.ratio("add64", "aup", "limit each", "rate"), least=10)
    run.target("add64: rate / limit on the same commit path (limit thread)", run.ratio("add64", "aup", "limit thread", "rate"), least=0.6)
    run.target("add64: CPU a request / limit thread", run.ratio("add64", "aup", "limit thread", "server_us"), most=1.6)
    run.target("small64: CPU a request / limit thread", run.ratio("small64", "aup", "limit thread", "server_us"), most=1.4)
