#!/usr/bin/env python3
"""docs/language.md says what the programs do: its examples are compiled and run, its tables are compared with the sources.

A block fenced as ```aup has words behind it:

  run     a program that compiles, with no message but W304 (examples are too short to have indexes); its tests pass
  E209    a program that gets exactly this message and no other (W304 aside)
  more    the declarations of the `run` blocks above it under the same heading come first

From the first line at the margin that does not begin a declaration, what is left of a block are the statements of a test.
Started as `FILE BUILD_DIR [NAME PART]`.
"""
import concurrent.futures
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from harness import ROOT, add_case, case, check, equal, run  # noqa: E402
import reference  # noqa: E402

PAGE = ROOT / "docs" / "language.md"
TEXT = PAGE.read_text(encoding="utf-8")
DECLARATIONS = ("app use type enum record state table error role setting input receive action fn view output timer page test "
                "always start migrate drop").split()
STARTS = re.compile(r"(?:(?:%s)\b|//|@|[ \t}{)]|$)" % "|".join(DECLARATIONS))
MESSAGE = re.compile(r"(?:error|warning)\[([EW]\d+)\]")
AT_ONCE = 4


class Block:
    def __init__(self, line, words, body):
        self.line, self.words = line, words
        lines = body.split("\n")
        split = next((i for i, text in enumerate(lines) if not STARTS.match(text)), len(lines))
        self.declarations = "\n".join(lines[:split]).strip()
        self.statements = "\n".join("  " + text for text in lines[split:]).rstrip()
        self.before = []

    def program(self):
        parts = [*self.before, self.declarations]
        if self.statements:
            parts.append('test "example" {\n' + self.statements + "\n}")
        return "\n".join(part for part in parts if part) + "\n"


def sections(text):
    """The blocks of each heading: {heading: [Block]}."""
    found, heading, block, body, start = {}, "", None, [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if block is not None:
            if line.startswith("```"):
                found.setdefault(heading, []).append(Block(start, block, "\n".join(body)))
                block = None
            else:
                body.append(line)
        elif line.startswith("```aup"):
            block, body, start = line[6:].split(), [], number
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    for blocks in found.values():
        for i, each in enumerate(blocks):
            if "more" in each.words:
                each.before = [other.declarations for other in blocks[:i] if "run" in other.words]
    return found


def problem_of(place, block):
    """What is wrong with a block, or None."""
    wanted = [word for word in block.words if re.fullmatch(r"[EW]\d+", word)]
    if not wanted and "run" not in block.words:
        return "neither `run` nor a code stands behind ```aup"
    path = place.write(f"line{block.line}.aup", block.program())
    done = place.aup("test", path, "--message-format=short")
    said = (done.stdout + done.stderr).decode()
    codes = [code for code in MESSAGE.findall(said) if code != "W304" or "W304" in wanted]
    if codes != wanted:
        return f"messages {codes}, wanted {wanted}; it said\n{said[-1500:]}"
    if any(code.startswith("E") for code in wanted):
        return None if done.returncode == 1 else f"exit code {done.returncode}"
    passed = re.search(r"(\d+) passed, (\d+) failed", said)
    if done.returncode != 0 or not passed or passed[2] != "0" or (block.statements and passed[1] == "0"):
        return f"its tests: {said[-1500:]}"
    return None


def try_section(blocks):
    def tried(place):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda block: problem_of(place, block), blocks))
        wrong = [f"docs/language.md:{block.line}: {problem}\n{block.program()}" for block, problem in zip(blocks, found) if problem]
        check(not wrong, "\n".join(wrong))
    return tried


for title, found_blocks in sections(TEXT).items():
    add_case(title, try_section(found_blocks))


@case("every function of builtins.def stands in the table of the standard library")
def _(_place):
    equal(reference.between(TEXT, "builtins"), reference.builtins_table(), "the table (tools/reference.py writes it anew)")


@case("limits are those of the sources")
def _(_place):
    rows = re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \| ([0-9,]+)(?: ([KMG])iB)? \|", reference.between(TEXT, "limits"), re.MULTILINE)
    wrong = []
    for name, value, unit in rows:
        wanted = int(value.replace(",", "")) << {"": 0, "K": 10, "M": 20, "G": 30}[unit]
        if reference.constant(name) != wanted:
            wrong.append(f"{name}: the page says {wanted}, the sources {reference.constant(name)}")
    check(len(rows) > 20, f"only {len(rows)} limits found")
    check(not wrong, "\n".join(wrong))


@case("what is not supported yet is what the sources say")
def _(_place):
    here = set(re.findall(r"^\| `([^`]+)` \|", reference.between(TEXT, "unsupported"), re.MULTILINE))
    equal(sorted(here ^ reference.unsupported()), [], "messages of E900 that stand on one side only")


run()
