#!/usr/bin/env python3
"""What was acknowledged is there after the power went, on a real file system. Needs root, loop devices and ext4; each part says why it is skipped.

usage: disk_test.py BUILD_DIR     AUP_DISK_ROUNDS (10), AUP_DISK_CUTS (40), AUP_DISK_SEED (random, printed)

copied    a host on a loop-mounted ext4 is killed under posting connections, the device's file copied as it is (what the kernel had not given to the
          device is lost), and a host recovers on the copy.
replayed  the device remembers its writes and flushes (block_log.py); then the disk is made again as of random moments, with any sectors of what was
          not flushed, mounted, proved by `aup store check` and served.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent), str(pathlib.Path(__file__).resolve().parent.parent / "crash")]
from block_log import BlockLog  # noqa: E402
from harness import ROOT, Failed, Place, check, equal, wait_until  # noqa: E402
from kill_test import Client, rows_after  # noqa: E402

ROUNDS = int(os.environ.get("AUP_DISK_ROUNDS") or 10)
CUTS = int(os.environ.get("AUP_DISK_CUTS") or 40)
SEED = int(os.environ.get("AUP_DISK_SEED") or random.SystemRandom().randrange(1 << 32))
CONNECTIONS = 16
IMAGE_MIB = 96
RUN_S = (0.3, 1.5)


class Skip(Exception):
    pass


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    if done.returncode:
        raise Skip(f"`{' '.join(map(str, words))}`: {done.stderr.decode(errors='replace').strip()[:200] or done.returncode}")
    return done.stdout.decode().strip()


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"there is no {program}")
    if os.geteuid() != 0:
        raise Skip("only root may mount")


class Mounted:
    """An image on a loop device, mounted."""

    def __init__(self, image, where):
        self.where = where
        where.mkdir(exist_ok=True)
        self.device = command("losetup", "--find", "--show", image)
        try:
            command("mount", "-t", "ext4", "-o", "commit=300", self.device, where)
        except Skip:
            subprocess.run(["losetup", "--detach", self.device], check=False)
            raise

    def __enter__(self):
        return self.where

    def __exit__(self, *_):
        for _ in range(50):  # a killed host's files go a moment later
            if subprocess.run(["umount", self.where], check=False, capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        subprocess.run(["losetup", "--detach", self.device], check=False)


def new_image(place, name):
    image = place.dir / name
    with open(image, "wb") as file:
        file.truncate(IMAGE_MIB << 20)
    command("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
    return image


class Stamped(dict):
    """Answers, with how much of the device's log there was when each had come."""

    def __init__(self, position):
        super().__init__()
        self.position, self.at = position, {}

    def __setitem__(self, mark, told):
        super().__setitem__(mark, told)
        self.at[mark] = self.position()


def post_for(server, seconds, name, position=lambda: 0):
    clients = [Client(server.port, f"{name}c{index}") for index in range(CONNECTIONS)]
    for client in clients:
        client.acknowledged = Stamped(position)
        client.start()
    time.sleep(seconds)
    server.kill()
    for client in clients:
        client.join()
        check(client.wrong is None, f"{client.name_}: {client.wrong}")
    return clients


def verify(world, data, clients, until=None):
    """Every acknowledged row (until that position of the log) stands at its place; nothing stands twice, nothing is a stranger's."""
    place, module = world
    done = place.aup("store", "check", data)
    # Before the host made its store there is none, and nothing can have been acknowledged.
    required = {mark: told for client in clients for mark, told in client.acknowledged.items() if until is None or client.acknowledged.at[mark] <= until}
    if done.returncode and not required and not data.exists():
        return 0
    check(done.returncode == 0 or not required, f"aup store check: {done.returncode}: {done.stderr.decode()[:400]}")
    server = place.serve(module, data=data)
    rows = rows_after(server, 0)
    at = {}
    for number, row in enumerate(rows, 1):
        check(row["mark"] not in at, f"{row['mark'][:20]} stands twice")
        at[row["mark"]] = number
    wrong = [mark[:20] for mark, told in required.items() if at.get(mark) != told]
    check(not wrong, f"{len(wrong)} of {len(required)} acknowledged inputs are lost or out of place: {wrong[:5]}")
    sent = {mark for client in clients for mark in client.acknowledged} | {client.in_doubt for client in clients}
    strangers = [mark[:20] for mark in at if mark not in sent]
    check(not strangers, f"rows that nobody sent: {strangers[:5]}")
    equal(server.view("total"), len(rows), "total")
    server.kill()
    return len(required)


def copied(place, module, rng):
    need("losetup", "mkfs.ext4", "mount")
    image = new_image(place, "disk.img")
    clients, rows = [], 0
    for number in range(ROUNDS):
        with Mounted(image, place.dir / "mnt") as where:
            server = place.serve(module, data=where / "data")
            clients += post_for(server, rng.uniform(*RUN_S), f"r{number}")
            copy = place.dir / "copy.img"
            shutil.copyfile(image, copy)
        with Mounted(copy, place.dir / "mnt2") as where:
            rows = verify((place, module), where / "data", clients)
        place.running.clear()
        copy.rename(image)  # the next round goes on from what the power cut left
    check(rows > 0, "no input was acknowledged")
    return f"{ROUNDS} rounds, {rows} acknowledged inputs"


def replayed(place, module, rng):
    need("losetup", "mkfs.ext4", "mount", "nbdfuse", "fusermount3")
    if not os.path.exists("/dev/fuse"):
        raise Skip("there is no /dev/fuse")
    log = BlockLog(new_image(place, "logged.img"), place.dir)
    place.undo.append(log.close)
    wait_until(lambda: log.pid_file.exists() or log.fuse.poll() is not None, "nbdfuse", 10)
    if log.fuse.poll() is not None:
        raise Skip(f"nbdfuse: {log.fuse.stderr.read().decode(errors='replace')[:200]}")
    with Mounted(log.file, place.dir / "mnt") as where:
        begun = log.position()
        server = place.serve(module, data=where / "data")
        clients = post_for(server, 3, "b", log.position)
        ended = log.position()
    check(len(log.flushes) > 20, f"only {len(log.flushes)} flushes reached the device")
    proved = late = 0
    for number in range(CUTS):
        position = rng.randint(begun, ended)
        disk, unsure = log.cut(position, rng)
        cut = place.write("cut.img", bytes(disk))
        with Mounted(cut, place.dir / "mnt2") as where:
            try:
                proved += verify((place, module), where / "data", clients, position)
            except Failed as why:
                kept = f"/var/tmp/aup-disk-{SEED}-{number}.img"
                shutil.copyfile(cut, kept)
                raise Failed(f"cut after {position} of {len(log.log)} entries: {why} (kept in {kept})") from None
        late += unsure
        place.running.clear()
    check(proved > 0, "no cut came behind an acknowledged input")
    return f"{CUTS} cuts of {len(log.log)} writes and flushes, {late} writes lost, torn or reordered, {proved} acknowledgements kept"


def main():
    rng = random.Random(SEED)
    failed = 0
    print(f"1..2\n# seed {SEED}", flush=True)
    for number, part in enumerate((copied, replayed), 1):
        place = Place(pathlib.Path(sys.argv[1]).resolve())
        try:
            print(f"ok {number} - {part.__name__}: {part(place, place.module(ROOT / 'tests/ledger.aup'), rng)}", flush=True)
        except Skip as why:
            print(f"ok {number} - {part.__name__} # SKIP {why}", flush=True)
        except Failed as why:
            failed += 1
            print(f"not ok {number} - {part.__name__}: {why}", flush=True)
        finally:
            place.clean()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
