"""A block device that remembers every write and flush, so that the disk can be made again as it may have been at any moment.

A small NBD server (fixed newstyle, one connection, https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md) that `nbdfuse` shows as
a file and `losetup` as a device; neither needs a kernel with nbd. nbdkit's filter "log" writes down where a write went but not what it wrote.
"""
import bisect
import pathlib
import random
import socket
import struct
import subprocess
import threading

SECTOR = 512
FLUSH = None  # in the place of a write's bytes
READ, WRITE, DISCONNECT, FLUSH_COMMAND = 0, 1, 2, 3
HAS_FLAGS, SEND_FLUSH, SEND_FUA = 1, 4, 8
OPT_EXPORT_NAME, OPT_ABORT, OPT_INFO, OPT_GO = 1, 2, 6, 7
REP_ACK, REP_INFO, REP_ERR_UNSUP = 1, 3, 0x80000001
FUA = 1 << 0


class BlockLog:
    """`log` holds (offset, bytes) in the order of arrival; (0, FLUSH) means that all before it is on the disk."""

    def __init__(self, image, directory):
        self.start = pathlib.Path(image).read_bytes()
        self.now = bytearray(self.start)
        self.log, self.flushes = [], []
        self.file = directory / "device" / "image"
        self.file.parent.mkdir()
        sock = directory / "nbd.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(sock))
        self.listener.listen(1)
        threading.Thread(target=self.serve, daemon=True).start()
        self.fuse = subprocess.Popen(["nbdfuse", "-P", str(directory / "nbdfuse.pid"), str(self.file), "--unix", str(sock)], stderr=subprocess.PIPE)
        self.pid_file = directory / "nbdfuse.pid"

    def position(self):
        return len(self.log)

    def close(self):
        subprocess.run(["fusermount3", "-u", str(self.file.parent)], check=False, capture_output=True)
        try:
            self.fuse.wait(5)
        except subprocess.TimeoutExpired:
            self.fuse.kill()
        self.listener.close()

    # ---- the protocol --------------------------------------------------------------------------
    def serve(self):
        link, _ = self.listener.accept()
        with link:
            try:
                self.shake_hands(link)
                while self.command(link):
                    pass
            except (EOFError, OSError):
                pass

    @staticmethod
    def take(link, size):
        parts = []
        while size:
            part = link.recv(size)
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def shake_hands(self, link):
        flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA
        link.sendall(b"NBDMAGIC" + b"IHAVEOPT" + struct.pack(">H", 3))
        self.take(link, 4)
        while True:
            _, option, size = struct.unpack(">8sII", self.take(link, 16))
            self.take(link, size)
            head = b"\x00\x03\xe8\x89\x04\x55\x65\xa9" + struct.pack(">I", option)
            if option == OPT_EXPORT_NAME:
                link.sendall(struct.pack(">QH", len(self.now), flags))
                return
            if option == OPT_ABORT:
                link.sendall(head + struct.pack(">II", REP_ACK, 0))
                raise EOFError
            if option in (OPT_INFO, OPT_GO):
                link.sendall(head + struct.pack(">IIHQH", REP_INFO, 12, 0, len(self.now), flags) + head + struct.pack(">II", REP_ACK, 0))
                if option == OPT_GO:
                    return
            else:
                link.sendall(head + struct.pack(">II", REP_ERR_UNSUP, 0))

    def command(self, link):
        _, flags, kind, handle, offset, size = struct.unpack(">IHHQQI", self.take(link, 28))
        reply = struct.pack(">IIQ", 0x67446698, 0, handle)
        if kind == DISCONNECT:
            return False
        if kind == READ:
            reply += bytes(self.now[offset:offset + size])
        if kind == WRITE:
            written = self.take(link, size)
            self.now[offset:offset + size] = written
            self.log.append((offset, written))
        if kind == FLUSH_COMMAND or flags & FUA:
            self.flushes.append(len(self.log))
            self.log.append((0, FLUSH))
        link.sendall(reply)
        return True

    # ---- the past ------------------------------------------------------------------------------
    def cut(self, position, rng: random.Random):
        """The disk as it may be when the power goes after `position` entries: what was flushed, and of the rest any sectors."""
        disk = bytearray(self.start)
        at = bisect.bisect_left(self.flushes, position)
        flushed = self.flushes[at - 1] if at else 0
        for offset, written in self.log[:flushed]:
            if written is not FLUSH:
                disk[offset:offset + len(written)] = written
        late = [entry for entry in self.log[flushed:position] if entry[1] is not FLUSH]
        how = rng.random()
        for offset, written in late:
            if rng.random() < how:
                continue
            for sector in range(0, len(written), SECTOR):
                if rng.random() < 0.9:
                    disk[offset + sector:offset + sector + SECTOR] = written[sector:sector + SECTOR]
        return disk, len(late)
