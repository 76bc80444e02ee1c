#!/usr/bin/env python3
"""One-token mistakes over examples/: how many get exactly one message, and how many name the line of the mistake.

A mistake is a token deleted, doubled, swapped with its neighbour, replaced by a near one, a name misspelt, or a bracket
dropped; which, where and of which example is decided by a seed. Programs that still compile are counted apart: nothing is
to be said about them. "Its line" is that of the token, or of the first token behind it: a deleted word at a line's end is
missed at the end of the line before, or where the next line begins.

usage: mistakes_test.py BUILD_DIR              as a test: AUP_MISTAKES of them (200), decided by AUP_SEED
       mistakes_test.py BUILD_DIR --show       and what was said about those that miss
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, Place  # noqa: E402

COUNT = int(os.environ.get("AUP_MISTAKES", "200"))
SEED = int(os.environ.get("AUP_SEED", "1"))
ONE_PERCENT_MIN, LINE_PERCENT_MIN = 90, 94
AT_ONCE = 2
TOKEN = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|@?[A-Za-z_]\w*|@?\d[\w.:+-]*(?<![.:+-])|[=!<>+\-*/]=|=>|->|\.\.|\?\?|\?\.|[^\s\w]')
MESSAGE = re.compile(r":(\d+):\d+: error\[(\w+)\]")
NEAR = {"=": "==", "==": "=", ":": "=", "(": "[", "[": "(", "{": "(", "}": ")", ")": "]", "]": ")", ",": ";", ".": ",", "=>": "->", "->": "=>",
        "+": "-", "-": "+", "<": "<=", ">": ">=", "and": "&&", "or": "||", "not": "!", "let": "var", "if": "when", "int": "integer",
        "text": "string", "bool": "boolean", "from": "form", "where": "were", "select": "selct", "input": "imput", "view": "veiw"}
BRACKETS = "(){}[]"


def tokens(text):
    return [(found.start(), found.end()) for found in TOKEN.finditer(text) if not found[0].startswith("//")]


def misspelt(word, dice):
    at = dice.randrange(len(word))
    if len(word) > 1 and dice.random() < 0.5:
        at = min(at, len(word) - 2)
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    return word[:at] + dice.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1:]


def make_mistake(text, dice):
    """(kind, the changed text, the first and the last line that name it), or None where the dice meet no such token."""
    places = tokens(text)
    kind = dice.choice(("deleted", "doubled", "swapped", "replaced", "misspelt", "dropped"))
    at = dice.randrange(len(places) - 1)
    (start, end), (then, then_end) = places[at], places[at + 1]
    token, line = text[start:end], text.count("\n", 0, start) + 1
    last = text.count("\n", 0, then) + 1
    if kind == "deleted" or (kind == "dropped" and token in BRACKETS):
        return kind, text[:start] + text[end:], line, last
    if kind == "doubled":
        return kind, text[:end] + " " + token + text[end:], line, last
    if kind == "swapped" and text[then:then_end] != token:
        return kind, text[:start] + text[then:then_end] + text[end:then] + token + text[then_end:], line, last
    if kind == "replaced" and token in NEAR:
        return kind, text[:start] + NEAR[token] + text[end:], line, last
    if kind == "misspelt" and re.fullmatch(r"[A-Za-z]\w+", token):
        changed = misspelt(token, dice)
        return None if changed == token else (kind, text[:start] + changed + text[end:], line, last)
    return None


def all_mistakes():
    dice = random.Random(SEED)
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.aup"))}
    found = []
    while len(found) < COUNT:
        name = dice.choice(sorted(texts))
        made = make_mistake(texts[name], dice)
        if made:
            found.append((name, *made))
    return found


def judge(place, number, mistake):
    """(kind, what was said: [(line, code)], the mistake's lines, all of the output)."""
    name, kind, text, first, last = mistake
    path = place.write(f"{number}_{name}", text)
    done = place.aup("check", path, "--message-format=short")
    path.unlink()
    out = (done.stdout + done.stderr).decode()
    said = [(int(line), code) for line, code in MESSAGE.findall(out)]
    assert done.returncode in (0, 1) and (done.returncode == 0) == (not said), f"{name}, {kind} at line {first}: exit code {done.returncode}\n{out}"
    return kind, said, first, last, out


def show(mistake, judged):
    name, kind, text, first, _ = mistake
    print(f"# {name}:{first}: {kind}: {text.splitlines()[first - 1].strip()[:110]}")
    for line in judged[4].splitlines():
        if "error[" in line:
            print("#     " + re.sub(r"^.*?\.aup:", "", line)[:150])


def main():
    place = Place(pathlib.Path(sys.argv[1]).resolve())
    try:
        mistakes = all_mistakes()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            judged = list(pool.map(lambda pair: judge(place, *pair), enumerate(mistakes)))
    finally:
        place.clean()
    wrong = [(mistake, each) for mistake, each in zip(mistakes, judged) if each[1]]
    one = [each for _, each in wrong if len(each[1]) == 1]
    at_line = [each for _, each in wrong if each[1][0][0] in (each[2], each[3])]
    strictly = [each for _, each in wrong if each[1][0][0] == each[2]]
    by_kind = collections.Counter(each[0] for each in judged)
    print(f"# seed {SEED}: {len(mistakes)} mistakes ({', '.join(f'{n} {kind}' for kind, n in sorted(by_kind.items()))}); {len(mistakes) - len(wrong)} still compile")
    print(f"# of the other {len(wrong)}: exactly one message {100 * len(one) / len(wrong):.1f} %, its own line named first {100 * len(at_line) / len(wrong):.1f} % "
          f"({100 * len(strictly) / len(wrong):.1f} % without the next token's)")
    if "--show" in sys.argv:
        for mistake, each in wrong:
            if len(each[1]) != 1 or each[1][0][0] not in (each[2], each[3]):
                show(mistake, each)
    print("1..2")
    fine = [100 * len(one) >= ONE_PERCENT_MIN * len(wrong), 100 * len(at_line) >= LINE_PERCENT_MIN * len(wrong)]
    print(f"{'ok' if fine[0] else 'not ok'} 1 - {ONE_PERCENT_MIN} % of the mistakes get exactly one message")
    print(f"{'ok' if fine[1] else 'not ok'} 2 - {LINE_PERCENT_MIN} % of the mistakes have their own line named first")
    return 0 if all(fine) else 1


sys.exit(main())
