#!/usr/bin/env python3
"""A page for each message and fault, made of compiler/diag.def, runtime/module/faults.def and compiler/diag_examples.txt.

usage: tools/diagnostics.py           writes docs/diagnostics/CODE.md and its README.md anew
       tools/diagnostics.py --embed   prints what stands behind the explanations of `aup explain`, as rows of C
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "diagnostics"
TEXT = r'"((?:[^"\\]|\\.)*)"'
DIAG = re.compile(r"^DIAG\((\w+), (\w+), " + TEXT + r",\s*((?:\s*" + TEXT + r")+)\)", re.MULTILINE)
FAULT = re.compile(r"^FAULT\(\w+,\s*" + TEXT + r", " + TEXT + r", " + TEXT + r"\)", re.MULTILINE)


def unquote(text):
    return re.sub(r"\\(.)", r"\1", text)


class Code:
    """One message: its words and its example."""

    def __init__(self, name, kind, title, words):
        self.name, self.kind, self.title, self.words = name, kind, title, words
        self.wrong = self.mended = self.reason = ""
        self.line = 0  # of the wrong program, where the message points at


def read_codes():
    """Every code in the order of its list, without examples."""
    found = {}
    for row in DIAG.finditer((ROOT / "compiler/diag.def").read_text(encoding="utf-8")):
        words = "".join(unquote(part) for part in re.findall(TEXT, row[4]))
        found[row[1]] = Code(row[1], row[2].lower(), unquote(row[3]), words)
    for row in FAULT.finditer((ROOT / "runtime/module/faults.def").read_text(encoding="utf-8")):
        words = "A fault undoes the whole input as if it had not come. To mend it: " + unquote(row[3]) + "."
        found[row[1]] = Code(row[1], "fault", unquote(row[2]), words)
    return found


def read_program(code, lines):
    """The text of a program and the numbers of its marked lines."""
    for line in lines:
        assert line[:1] in (" ", ">"), f"{code.name}: a line of a program stands behind a space or `>`: {line!r}"
    return "".join(line[1:].rstrip() + "\n" for line in lines), [n for n, line in enumerate(lines, 1) if line[0] == ">"]


def read_example(code, body):
    reason = re.match(r"none: (.+)", body)
    if reason:
        code.reason = reason[1]
        return
    parts = re.fullmatch(r"---- wrong\n(.*)\n---- mended\n(.*)", body, re.DOTALL)
    assert parts, f"{code.name}: `---- wrong` and `---- mended`, or `none: why`"
    code.wrong, marked = read_program(code, parts[1].split("\n"))
    code.mended, _ = read_program(code, parts[2].split("\n"))
    assert len(marked) == 1, f"{code.name}: one line is marked, not {len(marked)}"
    code.line = marked[0]


def codes():
    """{name: Code}, each with its example or the reason why there is none."""
    found = read_codes()
    text = (ROOT / "compiler/diag_examples.txt").read_text(encoding="utf-8")
    seen = set()
    for part in re.split(r"^==== ", text, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        assert name in found and name not in seen, f"{name}: there is no such code, or it stands here twice"
        seen.add(name)
        read_example(found[name], body.rstrip("\n"))
    missing = sorted(set(found) - seen)
    assert not missing, f"without an example in compiler/diag_examples.txt: {' '.join(missing)}"
    return found


def page(code):
    out = f"# {code.name}: {code.title}\n\n({code.kind})\n\n{code.words}\n\n"
    if code.reason:
        return out + f"There is no example: {code.reason}\n"
    where = f"line {code.line}" if code.wrong.count("\n") > 1 else "this line"
    return out + f"Wrong; the message points at {where}:\n\n```aup\n{code.wrong}```\n\nMended:\n\n```aup\n{code.mended}```\n"


def contents(found):
    out = "# What the compiler and a running app say\n\nOne page a code, written by `tools/diagnostics.py`. `aup explain CODE` prints the same.\n\n| code | | |\n|---|---|---|\n"
    return out + "".join(f"| [{code.name}]({code.name}.md) | {code.kind} | {code.title.replace('|', chr(92) + '|')} |\n" for code in found.values())


def pages():
    """{file name: text} of everything in docs/diagnostics."""
    found = codes()
    return {"README.md": contents(found), **{f"{code.name}.md": page(code) for code in found.values()}}


def c_text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def embed(found):
    rows = [f"{{{c_text(code.name)}, {c_text(code.title)}, {c_text(code.words)}, {c_text(code.wrong)}, {c_text(code.mended)}, {code.line}}},"
            for code in found.values()]
    return "// Written by tools/diagnostics.py --embed.\n" + "\n".join(rows) + "\n"


def main():
    if sys.argv[1:] == ["--embed"]:
        sys.stdout.write(embed(codes()))
        return
    PAGES.mkdir(exist_ok=True)
    wanted = pages()
    for old in PAGES.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
