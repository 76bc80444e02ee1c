#!/usr/bin/env python3
"""The parts of the reference that are made from the sources: builtins.def's table, named limits, what E900 refuses.

usage: tools/reference.py     writes the table of the standard library in docs/language.md anew
"""
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "language.md"
ROW = re.compile(r'^(BUILTIN|FORM)\(\w+,\s*"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)",\s*(?:\d+,\s*)?"((?:[^"\\]|\\.)*)"\)', re.MULTILINE)
GROUP = re.compile(r"^// ---- (.*)$")


def unquote(text):
    return re.sub(r"\\(.)", r"\1", text)


def between(text, name):
    """What stands between <!-- NAME --> and <!-- /NAME -->."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)
    return found[1] if found else ""


def builtins_table():
    out = ["| function | |", "|---|---|"]
    for line in (ROOT / "runtime/module/builtins.def").read_text(encoding="utf-8").split("\n"):
        row = ROW.match(line)
        if row:
            out.append(f"| `{unquote(row[2])}{unquote(row[3])}` | {unquote(row[4])} |".replace("\\|", "|"))
    return "\n".join(out) + "\n"


@functools.lru_cache(None)
def sources():
    """The text of every C file, without what a hostile build puts in place of the usual values."""
    texts = []
    for room in ("runtime", "compiler", "cli"):
        for path in sorted((ROOT / room).rglob("*.[chy]")):
            text = path.read_text(encoding="utf-8")
            texts.append(re.sub(r"#if(?:def AUP_HOSTILE| AUP_HOSTILE| defined\(AUP_HOSTILE\)).*?#else", "", text, flags=re.DOTALL))
    return "\n".join(texts)


def constant(name):
    """The value of a named constant of the sources, or None."""
    found = re.search(rf"\b{name}\s*=(?!=)\s*([^,;}}\n]+?)\s*(?:[,;}}\n]|//)", sources())
    if not found:
        return None
    words = re.sub(r"\([a-z0-9_]+\)|(?<=\d)[uUlL]+", "", found[1]).strip()
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", words):
        return constant(words)
    return eval(words, {}) if re.fullmatch(r"[0-9 +*<()-]+", words) else None  # pylint: disable=eval-used  # digits and signs only


def unsupported():
    """What the compiler says behind `not supported yet: `, with … for what it fills in."""
    found = re.findall(r'"not supported yet: ((?:[^"\\]|\\.)+)"', sources())
    plain = {unquote(re.sub(r"%\.?\*?[a-z]", "…", text)).replace("`", "'") for text in found}
    return {text for text in plain if text not in ("", "…")}


def main():
    text = PAGE.read_text(encoding="utf-8")
    old = between(text, "builtins")
    PAGE.write_text(text.replace(f"<!-- builtins -->\n{old}", f"<!-- builtins -->\n{builtins_table()}"), encoding="utf-8")


if __name__ == "__main__":
    main()
