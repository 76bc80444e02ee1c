#!/usr/bin/env python3
"""Replays the conversations in http/*.http against a host. A file names its app; each conversation is one case.

    app: counter.aup              an example, or a file beside the .http file
    -- A view shows the state     starts a case; all cases of a file talk to one host, in order
    > GET /views/total            a request (a body behind the path is sent as application/json)
    > Accept: text/plain          a header of it; `Content-Type: -` leaves it out, a body line `> | text` is sent as it is
    raw GET / HTTP/1.1\\r\\n\\r\\n    bytes as they are, with Python's escapes, and {N*text} for repetition
    < 200                         the status; several may be listed: < 400 | 431
    < Content-Type: regex         a header matches; `< Name: -` is absent
    = 0                           the body, exactly
    ~ regex                       the body has this
    ! regex                       the body does not have this
    closed                        the host then closes the connection

A connection is kept from request to request, and from case to case, as long as the host keeps it.
"""
import codecs
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, Connection, Failed, add_case, check, request, run, short  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent / "http"


class Conversation:
    """The steps of one case."""

    def __init__(self, title, at):
        self.title, self.at, self.steps = title, at, []


def read_file(path):
    app, conversations = None, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("app:"):
            app = line[4:].strip()
        elif line.startswith("-- "):
            conversations.append(Conversation(line[3:], f"{path.name}:{number}"))
        elif line.strip() and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            check(word in (">", "<", "=", "~", "!", "raw", "closed") and conversations, f"{path.name}:{number}: what is {line!r}?")
            conversations[-1].steps.append((number, word, rest))
    return app, conversations


class Talk:
    """One connection to the host, opened again when the host has closed it."""

    def __init__(self, server):
        self.server, self.connection, self.answer = server, None, None
        self.waiting = None  # the request that is being put together

    def start_request(self, line):
        method, path, *body = line.split(" ", 2)
        self.waiting = (method, path, body[0].encode() if body else None, [("Content-Type", "application/json")] if body else [])

    def add_header(self, line):
        method, path, body, headers = self.waiting
        if line.startswith("| "):
            self.waiting = (method, path, (body or b"") + line[2:].encode(), headers)
            return
        name, _, value = line.partition(":")
        headers = [pair for pair in headers if pair[0].lower() != name.lower()]
        if value.strip() != "-":
            headers.append((name, value.strip()))
        self.waiting = (method, path, body, headers)

    def send(self, data, method):
        if self.connection is None:
            self.connection = Connection(self.server.port)
        try:
            self.connection.send(data)
            self.answer = self.connection.answer(method)
        except ConnectionError as why:
            self.connection = None
            raise Failed(f"the connection broke: {why}") from None
        if (self.answer.header("connection") or "").lower() == "close":
            check(self.connection.is_closed(), "said `Connection: close` and kept it open, or said more")
            self.connection = None

    def flush(self):
        if self.waiting:
            method, path, body, headers = self.waiting
            self.waiting = None
            self.send(request(method, path, body, headers), method)


def raw_bytes(text):
    text = re.sub(r"\{(\d+)\*(.*?)\}", lambda m: m[2] * int(m[1]), text)
    return codecs.decode(text.encode("latin-1", "backslashreplace"), "unicode_escape").encode("latin-1")


def expect(talk, word, rest):
    answer = talk.answer
    body = answer.body.decode("utf-8", "replace")
    if word == "<" and re.fullmatch(r"[\d| ]+", rest):
        check(str(answer.status) in re.split(r"[| ]+", rest), f"status {answer.status}, want {rest}; body {short(body)}")
    elif word == "<":
        name, _, want = rest.partition(":")
        got, want = answer.header(name), want.strip()
        holds = got is None if want == "-" else got is not None and re.fullmatch(want, got)
        check(holds, f"{name}: {got!r}, want {want!r}")
    elif word == "=":
        check(body == rest, f"body {short(body)}, want {short(rest)}")
    elif word == "~":
        check(re.search(rest, body, re.DOTALL), f"body {short(body)} has no {rest}")
    elif word == "!":
        check(not re.search(rest, body, re.DOTALL), f"body {short(body)} has {rest}")


def play(talk, conversation):
    for number, word, rest in conversation.steps:
        try:
            if word == ">" and re.match(r"[A-Z]+ /|OPTIONS \*", rest):
                talk.flush()
                talk.start_request(rest)
            elif word == ">":
                talk.add_header(rest)
            elif word == "raw":
                talk.flush()
                talk.send(raw_bytes(rest), "GET")
            elif word == "closed":
                talk.flush()
                check(talk.connection is None or talk.connection.is_closed(), "the connection stays open")
                talk.connection = None
            else:
                talk.flush()
                expect(talk, word, rest)
        except Failed as why:
            if talk.connection:
                talk.connection.close()
            talk.connection, talk.waiting = None, None
            raise Failed(f"line {number} ({conversation.at}): {why}") from None
    talk.flush()


_talks = {}  # one host for each file, started at its first case and shared by the rest


def add_file(path):
    app, conversations = read_file(path)

    def play_at(place, conversation):
        if path not in _talks:
            source = path.parent / app
            module = place.module(source if source.exists() else ROOT / "examples" / app)
            server = place.serve(module)
            place.keep = True
            _talks[path] = (Talk(server), place)
        play(_talks[path][0], conversation)
        if conversation is conversations[-1]:
            _talks[path][0].server.stop()

    for conversation in conversations:
        add_case(f"{path.stem}: {conversation.title}", lambda place, c=conversation: play_at(place, c))


for file in sorted(HERE.glob("*.http")):
    add_file(file)

if __name__ == "__main__":
    run()
