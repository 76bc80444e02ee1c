#!/usr/bin/env python3
"""kill -9 at random moments under 64 posting connections: every acknowledged input is there, once, in order; nothing else is.

usage: kill_test.py BUILD_DIR        AUP_CRASH_ROUNDS (8; 2 when AUP_QUICK is set), AUP_CRASH_SEED (random, printed)

Each input leaves one row with a mark of its own and answers with the number of rows, so its answer says where its row must stand.
A connection sends one input at a time. When the host is killed, the input under way is in doubt: its row may be there or not, but
not twice, and all before it must be. Some rounds kill the host again while it recovers. Every tenth round starts a new directory.
"""
import json
import os
import pathlib
import random
import shutil
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import QUICK, ROOT, Connection, Failed, Place, Server, check, equal, request  # noqa: E402

CONNECTIONS = 64
ROUNDS = int(os.environ.get("AUP_CRASH_ROUNDS") or (2 if QUICK else 8))
SEED = int(os.environ.get("AUP_CRASH_SEED") or random.SystemRandom().randrange(1 << 32))
ROUNDS_A_DIRECTORY = 10
RUN_S = (0.05, 0.8)
KILL_AGAIN_S = (0.0, 0.05)
LONG = " " + "x" * 2500
JSON = (("Content-Type", "application/json"),)


class Client(threading.Thread):
    """One connection that posts until it breaks."""

    def __init__(self, port, name):
        super().__init__()
        self.port, self.name_ = port, name
        self.acknowledged = {}  # mark -> the number of rows the host answered with
        self.in_doubt = None
        self.wrong = None

    def run(self):
        try:
            with Connection(self.port) as connection:
                for number in range(1_000_000):
                    self.in_doubt = f"{self.name_}n{number}" + number % 2 * LONG  # so that checkpoints come, and are killed too
                    connection.send(request("POST", "/inputs/add", json.dumps({"mark": self.in_doubt}).encode(), JSON))
                    answer = connection.answer("POST")
                    if answer.status != 200:
                        self.wrong = f"status {answer.status}: {answer.body[:300]!r}"
                        return
                    self.acknowledged[self.in_doubt] = answer.json()
        except (OSError, Failed):
            pass  # killed: what is in doubt stays in doubt


def rows_after(server, last_id):
    rows = []
    while True:
        page = server.view(f"marks?after={last_id}")
        rows += page
        if len(page) < 1000:
            return rows
        last_id = page[-1]["id"]


class Ledger:
    """What one data directory must hold."""

    def __init__(self, number):
        self.data, self.verified, self.last_id = f"data{number}", 0, 0

    def verify(self, server, clients):
        """The rows that came since the last verification against what the clients were told."""
        rows = rows_after(server, self.last_id)
        place = {}
        for at, row in enumerate(rows, self.verified + 1):
            check(row["mark"] not in place, f"{row['mark']} stands twice")
            place[row["mark"]] = at
        doubtful = {client.in_doubt for client in clients}
        lost = wrong = 0
        for client in clients:
            check(client.wrong is None, f"{client.name_}: {client.wrong}")
            for mark, told in client.acknowledged.items():
                lost += mark not in place
                wrong += mark in place and place[mark] != told
        known = {mark for client in clients for mark in client.acknowledged}
        strangers = [mark for mark in place if mark not in known and mark not in doubtful]
        check(not lost and not wrong and not strangers, f"{lost} acknowledged inputs lost, {wrong} out of place, not sent in this round: {strangers[:5]}")
        self.verified += len(rows)
        self.last_id = rows[-1]["id"] if rows else self.last_id
        equal(server.view("total"), self.verified, "total")
        return len(known), len([mark for mark in place if mark not in known])


def kill_while_recovering(place, module, ledger, rng):
    words = [place.program("aup-serve"), str(module), "--data", str(place.dir / ledger.data), "--listen", "127.0.0.1:0"]
    server = Server(words, place.dir)
    place.running.append(server)
    time.sleep(rng.uniform(*KILL_AGAIN_S))
    server.kill()


def one_round(place, module, ledger, rng, number):
    server = place.serve(module, data=ledger.data)
    clients = [Client(server.port, f"r{number}c{index}") for index in range(CONNECTIONS)]
    for client in clients:
        client.start()
    time.sleep(rng.uniform(*RUN_S))
    server.kill()
    for client in clients:
        client.join()
    killed_again = rng.random() < 0.3
    if killed_again:
        kill_while_recovering(place, module, ledger, rng)
    server = place.serve(module, data=ledger.data)
    acknowledged, doubtful = ledger.verify(server, clients)
    server.kill()
    place.running.clear()
    return f"{acknowledged} acknowledged, {doubtful} of {CONNECTIONS} in doubt are there{', killed again while recovering' if killed_again else ''}"


def main():
    rng = random.Random(SEED)
    place = Place(pathlib.Path(sys.argv[1]).resolve())
    print(f"1..{ROUNDS}\n# seed {SEED}", flush=True)
    failed, acknowledged = 0, 0
    try:
        module = place.module(ROOT / "tests/ledger.aup")
        ledger = None
        for number in range(1, ROUNDS + 1):
            if ledger is None or number % ROUNDS_A_DIRECTORY == 0:
                ledger = Ledger(number)
            try:
                words = one_round(place, module, ledger, rng, number)
                acknowledged += int(words.split()[0])
                print(f"ok {number} - round {number}: {words}", flush=True)
            except Failed as why:
                failed += 1
                kept = f"/var/tmp/aup-crash-{SEED}-{number}"
                print(f"not ok {number} - round {number}: {why}\n# the directory is kept in {kept}", flush=True)
                shutil.copytree(place.dir / ledger.data, kept, dirs_exist_ok=True)
                ledger = None
    finally:
        place.clean()
    if acknowledged == 0:
        print("not ok - no input was acknowledged in any round")
        failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
