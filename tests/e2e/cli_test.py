#!/usr/bin/env python3
"""The command line: what it makes, what it says, and the numbers it ends with (0 well, 1 the program is wrong, 2 usage, 3 environment)."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, add_case, case, check, equal, run  # noqa: E402

EXAMPLES = sorted((ROOT / "examples").glob("*.aup"))
WHOLE = ("counter", "scoreboard", "todo")  # examples that run whole today, their tests included
BROKEN = 'app broken "Broken"\n\nstate count: int = 0\n\nview total = cuont\n\ninput add {\n  count = "x"\n}\n'


def one_line(done):
    """What a failing program said, which must be one line."""
    said = done.stderr.decode().strip()
    check(said and "\n" not in said, f"not one line on standard error: {said!r}")
    return said


def ends_with(done, code):
    equal(done.returncode, code, f"exit code; it said {(done.stdout + done.stderr).decode()[-600:]!r}")


@case("build writes a module, twice the same")
def _(place):
    for name in ("one.aupm", "two.aupm"):
        ends_with(place.aup("build", place.example("counter.aup"), "-o", place.dir / name), 0)
    equal((place.dir / "one.aupm").read_bytes(), (place.dir / "two.aupm").read_bytes(), "the second module")


@case("settings of a test: given by --set, and all that is wrong with them in one line that shows no value")
def _(place):
    app = place.write("s.aup", 'app s\nsetting fee: int max 9\nsetting key: text @secret min 3\ntest "a" { expect fee == 4 and key == "abc" }\n')
    ends_with(place.aup("test", app, "--set", "fee=4", "--set", "s.key=abc", "--set=other.key=x"), 0)
    done = place.aup("test", app, "--set", "fees=1", "--set", "key=zq")
    ends_with(done, 2)
    said = one_line(done)
    for words in ("no setting `fees`, is it `fee`?", "`key` is not what it must be", "settings without a value: `fee`"):
        check(words in said, said)
    for wrong in (["--set", "secret"], ["--set", "=x"], ["--set", "a b=x"], ["--set", "a.b.c=x"], ["--set", "fee=1", "--set", "fee=2"], ["--set"]):
        done = place.aup("test", app, *wrong)
        ends_with(done, 2)
        check("secret" not in one_line(done), one_line(done))


@case("build of a wrong program writes nothing")
def _(place):
    ends_with(place.aup("build", place.write("broken.aup", BROKEN), "-o", place.dir / "broken.aupm"), 1)
    check(not (place.dir / "broken.aupm").exists(), "a module was written")
    check(not [path for path in place.dir.iterdir() if path.name != "broken.aup"], f"left behind: {list(place.dir.iterdir())}")


@case("check of a good program is quiet")
def _(place):
    done = place.aup("check", place.example("counter.aup"))
    ends_with(done, 0)
    equal(done.stderr, b"", "standard error")


@case("check locates each mistake")
def _(place):
    place.write("broken.aup", BROKEN)
    done = place.aup("check", "broken.aup")
    ends_with(done, 1)
    said = (done.stdout + done.stderr).decode()
    check("E101" in said and "cuont" in said and "count" in said, f"no E101 with the near name: {said}")
    check("E201" in said, f"no E201: {said}")


@case("check --message-format=short is one line a message")
def _(place):
    place.write("broken.aup", BROKEN)
    done = place.aup("check", "broken.aup", "--message-format=short")
    ends_with(done, 1)
    lines = [line for line in (done.stdout + done.stderr).decode().splitlines() if re.match(r"broken\.aup:\d+:\d+: error\[E\d+\]: ", line)]
    equal([line.split(":")[1] for line in lines], ["5", "8"], "the lines named")


@case("check --message-format=json is JSON")
def _(place):
    place.write("broken.aup", BROKEN)
    done = place.aup("check", "broken.aup", "--message-format=json")
    ends_with(done, 1)
    text = done.stdout.decode()
    try:
        values = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        values = json.loads(text)
    found = json.dumps(values)
    check("E101" in found and "E201" in found, f"codes are missing: {text[:500]}")


@case("check --message-format=sarif is SARIF")
def _(place):
    place.write("broken.aup", BROKEN)
    done = place.aup("check", "broken.aup", "--message-format=sarif")
    ends_with(done, 1)
    log = json.loads(done.stdout)
    equal(log["version"], "2.1.0", "version")
    equal(sorted(result["ruleId"] for result in log["runs"][0]["results"]), ["E101", "E201"], "rules")
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    equal(region["startLine"], 5, "line")


@case("check --message-format=github is workflow commands")
def _(place):
    place.write("broken.aup", BROKEN)
    done = place.aup("check", "broken.aup", "--message-format=github")
    ends_with(done, 1)
    lines = [line for line in (done.stdout + done.stderr).decode().splitlines() if line.startswith("::error ")]
    equal(len(lines), 2, "lines that start with ::error")
    check("file=broken.aup" in lines[0] and "line=5" in lines[0], lines[0])


@case("an unknown message format is a usage error")
def _(place):
    ends_with(place.aup("check", place.example("counter.aup"), "--message-format=loud"), 2)


def check_example(place, path):
    """An example compiles, or is refused as not supported yet, at a place; never anything else."""
    done = place.aup("check", place.example(path.name), "--message-format=short")
    said = (done.stdout + done.stderr).decode()
    if path.stem in WHOLE:
        ends_with(done, 0)
    elif done.returncode != 0:
        ends_with(done, 1)
        for line in said.splitlines():
            check("error[" not in line or "not supported yet" in line, f"{path.name}: {line}")


for example in EXAMPLES:
    add_case(f"check {example.name}", lambda place, path=example: check_example(place, path))


@case("test runs the test blocks")
def _(place):
    for name in WHOLE:
        ends_with(place.aup("test", place.example(name + ".aup")), 0)
    ends_with(place.aup("test", ROOT / "tests/ledger.aup"), 0)


@case("a test that fails shows both sides")
def _(place):
    source = (ROOT / "examples/counter.aup").read_text().replace("expect total() == 5", "expect total() == 7")
    done = place.aup("test", place.write("counter.aup", source))
    ends_with(done, 1)
    said = (done.stdout + done.stderr).decode()
    check("5" in said and "7" in said and "counting" in said, f"no value, no name: {said}")
    check(re.search(r"counter\.aup:\d+", said), f"no place: {said}")


@case("an `always` that an input or a timer breaks fails the test")
def _(place):
    source = """app small
state n: int = 0
input up { n += 1 }
timer grow every 1h { n += 5 }
view all = n
always "n stays small" = n < 3
test "inputs" { up() up() }
test "a timer" { advance 1h }
test "too many" { up() up() up() }
""".replace("() up", "()\n up")
    done = place.aup("test", place.write("small.aup", source))
    said = (done.stdout + done.stderr).decode()
    ends_with(done, 1)
    check(re.search("ok +inputs", said), said)
    check("`always \"n stays small\"` does not hold after `grow`" in said and "does not hold after `up`" in said, said)


@case("a call that should be rejected and is not fails the test")
def _(place):
    source = (ROOT / "examples/counter.aup").read_text().replace("expect reject add(by: 0)", "expect reject add(by: 1)")
    ends_with(place.aup("test", place.write("counter.aup", source)), 1)


@case("dump shows each stage")
def _(place):
    source = place.example("counter.aup")
    for stage, words in (("--tokens", ["count"]), ("--ast", ["count"]), ("--module", ["count", "total", "add"])):
        done = place.aup("dump", stage, source)
        ends_with(done, 0)
        for word in words:
            check(word in done.stdout.decode(), f"dump {stage} does not show {word}")


@case("dump --module shows a module file too")
def _(place):
    done = place.aup("dump", "--module", place.module(place.example("counter.aup")))
    ends_with(done, 0)
    check("total" in done.stdout.decode(), "no total")


@case("what is not asked right is a usage error")
def _(place):
    source = place.example("counter.aup")
    for words in ((), ("nothing",), ("build",), ("build", source, "--wrong"), ("check",), ("dump", source), ("serve",), ("serve", source, "--listen", "nowhere"),
                  ("serve", source, "--data", place.dir / "d", "--listen", "127.0.0.1:99999"), ("serve", source, "--data")):
        done = place.aup(*words)
        ends_with(done, 2)
        check(done.stderr.strip(), f"{words}: says nothing")
    for words in ((), ("--wrong",)):
        ends_with(place.aup(*words, program="aup-serve"), 2)


@case("help and version")
def _(place):
    for words in (("--help",), ("help",), ("--version",)):
        done = place.aup(*words)
        ends_with(done, 0)
        check(done.stdout.strip(), f"{words}: says nothing")


@case("a file that is not there")
def _(place):
    for program, words in (("aup", ("check", "none.aup")), ("aup", ("build", "none.aup", "-o", "x.aupm")), ("aup", ("serve", "none.aup", "--data", "d")),
                           ("aup", ("watch", "none.aup", "--data", "d")), ("aup-serve", ("none.aupm", "--data", "d"))):
        done = place.aup(*words, program=program)
        ends_with(done, 3)
        check("none.aup" in one_line(done), f"{words}: does not name the file")


@case("a folder in place of a file")
def _(place):
    (place.dir / "dir.aup").mkdir()
    done = place.aup("check", "dir.aup")
    ends_with(done, 3)
    one_line(done)


def without_rights():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


@case("a file or folder without permission")
def _(place):
    source = place.example("counter.aup")
    module = place.module(source)
    lower = None
    if os.getuid() == 0:  # root may read everything, so the program runs as nobody
        lower = without_rights
        os.chmod(place.dir, 0o755)
        module.chmod(0o644)
        programs = place.dir / "programs"  # the tree may lie where nobody may go, in root's home for example
        programs.mkdir()
        for name in ("aup", "aup-serve"):
            shutil.copy(place.program(name), programs / name)
        place.build = programs
        check(subprocess.run([place.program("aup"), "--version"], preexec_fn=lower, capture_output=True, check=False, cwd="/").returncode == 0,
              "cannot run the program as nobody")
    (place.dir / "closed").mkdir(mode=0o500)
    source.chmod(0)
    done = place.aup("check", source, preexec=lower)
    ends_with(done, 3)
    check("counter.aup" in one_line(done), "does not name the file")
    done = place.aup(module, "--data", place.dir / "closed" / "data", "--listen", "127.0.0.1:0", program="aup-serve", preexec=lower)
    ends_with(done, 3)
    check("closed" in one_line(done), "does not name the folder")
    source.chmod(0o644)
    done = place.aup("build", source, "-o", place.dir / "closed" / "x.aupm", preexec=lower)
    ends_with(done, 3)
    one_line(done)


@case("a port that is taken")
def _(place):
    module = place.module(place.example("counter.aup"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = place.aup(module, "--data", place.dir / "data", "--listen", f"127.0.0.1:{port}", program="aup-serve")
        ends_with(done, 3)
        check(str(port) in one_line(done), "does not name the port")


@case("a data directory in use by another host")
def _(place):
    module = place.module(place.example("counter.aup"))
    server = place.serve(module)
    for program, words in (("aup-serve", (module,)), ("aup", ("serve", module))):
        done = place.aup(*words, "--data", place.dir / "data", "--listen", "127.0.0.1:0", program=program)
        ends_with(done, 3)
        check("data" in one_line(done), "does not name the directory")
    equal(server.view("total"), 0, "the first host's view")


@case("a lock left by kill -9 does not block")
def _(place):
    module = place.module(place.example("counter.aup"))
    server = place.serve(module)
    equal(server.post("/inputs/add", {"by": 3}).status, 204, "add")
    server.kill()
    equal(place.serve(module).view("total"), 3, "total after the restart")


@case("serve hosts a source and a module, on one data directory")
def _(place):
    source = place.example("counter.aup")
    server = place.serve(source, how="serve")
    server.post("/inputs/add", {"by": 4})
    server.stop()
    server = place.serve(place.module(source), how="serve")
    equal(server.view("total"), 4, "total")
    server.post("/inputs/add", {"by": 1})
    server.stop()
    equal(place.serve(place.dir / "app.aupm").view("total"), 5, "total in aup-serve")


@case("the ready lines say where to go")
def _(place):
    server = place.serve(place.example("counter.aup"), how="serve")
    said = server.output()
    check(f"serving counter on http://127.0.0.1:{server.port}/" in said, said)


@case("serve of a wrong program prints why and ends with 1")
def _(place):
    done = place.aup("serve", place.write("broken.aup", BROKEN), "--data", place.dir / "data", "--listen", "127.0.0.1:0")
    ends_with(done, 1)
    check(b"E101" in done.stdout + done.stderr, "no E101")


@case("curl does what the README says")
def _(place):
    server = place.serve(place.example("counter.aup"), how="serve")
    base = f"localhost:{server.port}"

    def curl(*words):
        done = subprocess.run(["curl", "-s", "--max-time", "20", *words], capture_output=True, check=False)
        check(done.returncode in (0, 28), f"curl ended with {done.returncode}")
        return done.stdout.decode()
    equal(curl(f"{base}/views/total"), "0", "total")
    equal(curl("--json", '{"by": 5}', f"{base}/inputs/add"), "", "answer of add")
    equal(curl(f"{base}/views/total"), "5", "total")
    said = curl("-N", "--max-time", "1", "-H", "Accept: text/event-stream", f"{base}/views/total")
    check(re.search(r"^data: ?5$", said, re.MULTILINE), f"stream: {said!r}")


if __name__ == "__main__":
    run()
