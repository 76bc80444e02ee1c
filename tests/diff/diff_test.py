#!/usr/bin/env python3
"""The app's answers equal SQLite's: random tables, inputs and views, over the same data. Started as `FILE BUILD_DIR [SEED]`.

A seed makes a world: a schema, inputs that change it, views; some moments, with changes (and now and then a restart) between them,
at each of which every view is asked. AUP_DIFF_PAIRS says how many answers to compare (600), AUP_SEED where to begin.
A world that differs is tried again with fewer calls and only the view that differs, and printed.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from peer import Fault, Peer  # noqa: E402
from queries import Writer  # noqa: E402
from schema import Changes, Model, Schema  # noqa: E402
from values import Ty, from_app, from_sql, to_json  # noqa: E402

VIEWS = 24
SHRINK_S = 10


class Differs(Exception):
    pass


class Answers:
    """The program that runs the app."""

    def __init__(self, build):
        self.program = build / "tests" / "diff" / "answers"
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def say(self, line, more=b""):
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(line.encode() + b"\n" + more)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline().decode()
        if not answer:
            _, errors = self.process.communicate()
            self.process = None
            raise Differs(f"the program ended at `{line[:200]}`: {errors.decode(errors='replace')[:3000]}")
        return answer.rstrip("\n")

    def app(self, source):
        text = source.encode()
        answer = self.say(f"app {len(text)}", text)
        if answer != "ok":
            raise Differs(f"the app is refused: {answer}")

    def call(self, kind, name, arguments):
        given = {key: to_json(ty, value) for key, (ty, value) in arguments.items()}
        word, _, rest = self.say(f"{kind} {name} {json.dumps(given)}").partition(" ")
        return word, rest

    def close(self):
        if self.process:
            self.process.stdin.close()
            code = self.process.wait()
            errors = self.process.stderr.read().decode(errors="replace")
            self.process = None
            if code:
                raise Differs(f"the program ended with {code}: {errors[:3000]}")


class World:
    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.seed = seed
        self.schema = Schema(rng)
        self.changes = Changes(self.schema)
        self.large = rng.random() < 0.15
        rows = rng.randint(150, 400) if self.large else rng.randint(4, 30)
        sizes = {t.name: rows for t in self.schema.tables}
        self.rows = rows
        peer = Peer()
        for table in self.schema.tables:
            peer.connection.execute(table.sql())
        self.views = []
        while len(self.views) < VIEWS:
            view = Writer(self.schema, rng, 4000 if self.large else 1500, sizes).view(f"view{len(self.views)}")
            if peer.can(view.sql, {name: None for name, _ in view.params}):
                self.views.append(view)

    def source(self, views=None, inputs=None):
        parts = [f"app diff{self.seed}", self.schema.aup()] + (self.changes.inputs if inputs is None else inputs)
        return "\n\n".join(parts + [v.aup for v in (self.views if views is None else views)]) + "\n"

    def plan(self):
        """Everything that is done, as a list: ("call", call), ("restart",), ("kill",), ("ask", view, arguments). The calls are
        chosen while the peer follows, so that they name rows that are there."""
        rng, steps = self.rng, []
        model = Model(self.schema, Peer())
        for moment in range(3):
            only = ("add",) if moment == 0 else None
            for _ in range(self.rows * len(self.schema.tables) if moment == 0 else rng.randint(5, 25)):
                call = self.changes.call(model.refs(), only)
                model.apply(call)
                steps.append(("call", call))
            if moment and rng.random() < 0.5:
                steps.append((rng.choice(["restart", "kill"]),))
            steps += [("ask", view, view.random_arguments(rng)) for view in self.views]
        return steps


def expected(peer, view, arguments):
    try:
        rows = peer.all(view.sql, {name: value for name, (_, value) in arguments.items()})
    except Fault as fault:
        return "fault", fault.code
    except RuntimeError as error:
        raise Differs(f"{view.name}: {error}") from None
    if view.many:
        return "done", tuple(from_sql(view.ty.arg, row[0]) for row in rows)
    return "done", from_sql(view.ty, rows[0][0])


def compare_view(answers, model, view, arguments):
    want = expected(model.peer, view, arguments)
    word, rest = answers.call("view", view.name, arguments)
    if word == "done":
        try:
            got = word, from_app(view.ty, json.loads(rest, parse_float=str))
        except (ValueError, KeyError, TypeError) as error:
            raise Differs(f"{view.name}: {rest[:600]} is not as its type says: {error!r}") from None
    else:
        got = word, rest.split(" ")[0]
    if got != want:
        given = {name: value for name, (_, value) in arguments.items()}
        raise Differs(f"{view.name} with {given}\n  app:    {got[0]} {got[1]!r}\n  sqlite: {want[0]} {want[1]!r}\n  SQL: {view.sql}")


def compare_call(answers, model, call):
    kind, table, _, arguments = call
    want = model.apply(call)
    word, rest = answers.call("input", f"{kind}_{table.name.lower()}", arguments)
    code = rest.split(" ")[0]
    if want[0] == "rejected":
        same = word == "rejected" and code in want[1]
    else:
        same = word == "done" and (kind != "add" or from_app(Ty("ref", table), json.loads(rest, parse_float=str)) == want[1])
    if not same:
        raise Differs(f"input {kind}_{table.name.lower()} {({n: v for n, (_, v) in arguments.items()})}\n  app:    {word} {rest}\n  model:  {want}")


def run(answers, world, steps, views=None):
    """How many answers were equal; Differs where one is not, with `.step`."""
    pairs = 0
    answers.app(world.source(views))
    model = Model(world.schema, Peer())
    for number, step in enumerate(steps):
        try:
            if step[0] == "call":
                compare_call(answers, model, step[1])
            elif step[0] == "ask":
                compare_view(answers, model, step[1], step[2])
                pairs += 1
            elif (answer := answers.say(step[0])) != "ok":
                raise Differs(f"{step[0]}: {answer}")
        except Differs as differs:
            differs.step = number
            raise
    return pairs


def still_differs(answers, world, steps, views):
    try:
        run(answers, world, steps, views)
        return None
    except Differs as differs:
        return differs


def shrink(answers, world, steps, differs):
    """Fewer steps that end in a difference; the views that are asked."""
    at = getattr(differs, "step", None)
    if at is None:
        views = list(world.views)
        for view in world.views:  # the compiler's matter: the fewest views that it refuses
            fewer = [v for v in views if v is not view]
            found = still_differs(answers, world, [], fewer)
            if found:
                views, differs = fewer, found
        return [], views, differs
    last = steps[at]
    steps = [s for s in steps[:at] if s[0] != "ask"] + [last]
    views = [last[1]] if last[0] == "ask" else []
    found = still_differs(answers, world, steps, views)
    if not found:
        return steps, views, differs
    differs, size, until = found, len(steps) // 2, time.monotonic() + SHRINK_S
    while size and time.monotonic() < until:
        i = 0
        while i < len(steps) - 1 and time.monotonic() < until:
            fewer = steps[:i] + steps[min(i + size, len(steps) - 1):]
            found = still_differs(answers, world, fewer, views)
            if found:
                steps, differs = fewer[:found.step + 1] if hasattr(found, "step") else fewer, found
            else:
                i += size
        size //= 2
    return steps, views, differs


def report(world, steps, views, differs):
    print(f"# seed {world.seed}, shrunk:")
    used = {f"input {s[1][0]}_{s[1][1].name.lower()}(" for s in steps if s[0] == "call"}
    inputs = [text for text in world.changes.inputs if any(text.startswith(name) for name in used)]
    text = world.source(views, inputs)
    for step in steps:
        if step[0] == "call":
            kind, table, _, arguments = step[1]
            text += f"// {kind}_{table.name.lower()} {json.dumps({n: to_json(ty, v) for n, (ty, v) in arguments.items()}, ensure_ascii=False)}\n"
        else:
            text += f"// {step[0]} {step[1].name if len(step) > 1 else ''}\n"
    text += f"{differs}\n"
    print("".join(f"#   {line}\n" for line in text.splitlines()), flush=True)


def main():
    answers = Answers(pathlib.Path(sys.argv[1]).resolve())
    want = int(os.environ.get("AUP_DIFF_PAIRS", "150" if os.environ.get("AUP_QUICK") else "600"))
    first = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("AUP_SEED", "1"))
    worlds, pairs, failed, seed = [], 0, 0, first
    while pairs < want and failed < int(os.environ.get("AUP_DIFF_FAILED", "3")):
        world = World(seed)
        steps = world.plan()
        try:
            done = run(answers, world, steps)
            pairs += done
            worlds.append(f"ok {len(worlds) + 1} - seed {seed}: {done} answers equal SQLite's")
        except Differs as differs:
            failed += 1
            worlds.append(f"not ok {len(worlds) + 1} - seed {seed}")
            report(world, *shrink(answers, world, steps, differs))
        print(worlds[-1], flush=True)
        seed += 1
        if len(sys.argv) > 2:
            break
    answers.close()
    print(f"1..{len(worlds)}")
    print(f"# {pairs} answers compared")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
