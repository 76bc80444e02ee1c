#!/usr/bin/env python3
"""The rules of the house that a compiler does not check. Each rule is one case (TAP); each breach is one line `file:line: reason`.

usage: tidy.py ROOT

Only files known to git are read. The facts a person may want to change (ranks, limits, banned calls) stand first;
exceptions.txt beside this file names the few places that may break a rule, each with its reason, and an exception
that nothing needs any more is a breach too.
"""
import pathlib
import re
import subprocess
import sys

# A file includes its own room and rooms of a lower rank. Rooms of one rank do not know each other.
RANKS = {
    "runtime/base": 0,
    "runtime/value": 1,
    "runtime/module": 2,
    "runtime/vm": 3, "runtime/table": 3, "runtime/net": 3,
    "runtime/query": 4, "runtime/store": 4,
    "runtime/app": 5,
    "runtime/serve": 6, "runtime/send": 6, "runtime/face": 6,
    "runtime/host": 7,
    "cli": 8,
}
# What a room may include, where the ranks allow more than is meant.
ONLY = {
    "runtime/net": {"runtime/base"},
    "runtime/table": {"runtime/base", "runtime/value"},
    "runtime/vm": {"runtime/base", "runtime/value", "runtime/module"},
}
COMPILER_MAY_INCLUDE = {"runtime/base", "runtime/value", "runtime/module"}
# In compiler/ itself, sources and diagnostics are the ground the phases stand on; the rest (compile.c) stands above them.
COMPILER_GROUND = ("source", "lines", "diag", "render", "suggest")
COMPILER_ORDER = {"compiler ground": 0, "compiler/syntax": 1, "compiler/check": 2, "compiler/emit": 3, "compiler": 4}

FILE_LINES_MAX = 1000
HEADER_LINES_MAX = 170
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 6  # five is the aim
TRACKED_BYTES_MAX = 1_000_000

HEADER_WORDS = ("Owns:", "Thread:")  # and "Errors" where a function can fail

BANNED_EVERYWHERE = {
    "strcpy": "says no length", "strcat": "says no length", "sprintf": "says no length", "vsprintf": "says no length", "gets": "says no length",
    "strtok": "keeps hidden state", "alloca": "the stack has no error", "setjmp": "hides control flow", "longjmp": "hides control flow",
    "malloc": "use runtime/base/mem.h or an arena", "calloc": "use runtime/base/mem.h or an arena", "realloc": "use runtime/base/mem.h or an arena",
    "free": "use runtime/base/mem.h or an arena", "strdup": "use runtime/base/mem.h or an arena", "strndup": "use runtime/base/mem.h or an arena",
    "atoi": "hides errors", "atol": "hides errors",
}
BANNED_IN_RUNTIME = {"system": "starts a shell", "popen": "starts a shell", "exit": "only the command line ends the program"}
HEAP_HOME = "runtime/base/mem.c"

# Written in pieces so that this file does not break its own rules.
LEFTOVERS = ("FIX" + "ME", "XX" + "X", "HA" + "CK", "TO" + "DO")
FORBIDDEN_WORDS = ("sub" + "agent", "/wo" + "rk/", "../sha" + "red")
URL_HOSTS = {
    "127.0.0.1", "localhost", "example.org", "evil.example.org", "example.com", "www.apache.org", "www.rfc-editor.org", "datatracker.ietf.org", "json.schemastore.org",
    "docs.oasis-open.org", "raw.githubusercontent.com", "github.com", "html.spec.whatwg.org", "www.unicode.org", "www.sqlite.org",
}
GENERATED = re.compile(r"\.(o|a|so|aupm|gcda|gcno|out|orig|rej|pyc)$")

HERE = pathlib.Path(__file__).resolve().parent


class Tree:
    """The files git knows, their text, and the exceptions."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                check=True, capture_output=True).stdout
        self.files = sorted(name for name in listed.decode().split("\0") if name and (self.root / name).is_file())
        self.texts = {}
        self.exceptions = self.read_exceptions()
        self.used = set()

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = (self.root / name).read_bytes().decode("utf-8", "surrogateescape")
        return self.texts[name]

    def is_binary(self, name):
        return "\0" in self.text(name)[:8192]

    def code(self, *suffixes, places=("runtime/", "compiler/", "cli/")):
        return [name for name in self.files if name.endswith(suffixes) and name.startswith(places)]

    def read_exceptions(self):
        found = {}
        for number, line in enumerate((HERE / "exceptions.txt").read_text().splitlines(), 1):
            words = line.split(None, 2)
            if words and not line.startswith("#"):
                assert len(words) == 3, f"exceptions.txt:{number}: rule, place and reason, please"
                found[(words[0], words[1])] = number
        return found

    def excepted(self, rule, place):
        key = (rule, place)
        if key in self.exceptions:
            self.used.add(key)
            return True
        return False


# ---- a little C --------------------------------------------------------------------------------

C_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def scrub(text):
    """The text with comments, strings and characters blanked; lines stay where they are."""
    return C_NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def without_preprocessor(text):
    lines, skipping = [], False
    for line in text.split("\n"):
        is_directive = skipping or line.lstrip().startswith("#")
        skipping = is_directive and line.endswith("\\")
        lines.append("" if is_directive else line)
    return "\n".join(lines)


def functions(text):
    """(name, parameter text, first line, last line) of each function defined in a C file."""
    code = without_preprocessor(scrub(text))
    depth, head_start, opened = 0, 0, None
    for at, char in enumerate(code):
        if char == "{":
            if depth == 0:
                opened = (code[head_start:at], code.count("\n", 0, head_start + len(code[head_start:at]) - len(code[head_start:at].lstrip())) + 1)
            depth += 1
        elif char == "}":
            depth = max(0, depth - 1)
            if depth == 0 and opened:
                head = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", opened[0], flags=re.DOTALL).strip()
                shape = re.match(r"[^=;{}(]*?\b(\w+)\s*\((.*)\)\s*$", head, re.DOTALL)
                if shape and shape[1] not in ("Test", "ParameterizedTest"):
                    yield shape[1], shape[2], opened[1], code.count("\n", 0, at) + 1
                opened, head_start = None, at + 1
        elif char == ";" and depth == 0:
            head_start = at + 1


def count_parameters(text):
    if text.strip() in ("", "void"):
        return 0
    depth = commas = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        commas += char == "," and depth == 0
    return commas + 1


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def lines_matching(tree, names, pattern):
    for name in names:
        if tree.is_binary(name):
            continue
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            found = pattern.search(line)
            if found:
                yield name, number, found[0]


# ---- rules: each yields (file, line, reason) -----------------------------------------------------

def room_of(path):
    parts = path.split("/")
    if parts[0] == "cli":
        return "cli"
    if parts[0] == "compiler":
        on_ground = len(parts) == 2 and parts[1].startswith(COMPILER_GROUND)
        return "/".join(parts[:2]) if len(parts) > 2 else "compiler ground" if on_ground else "compiler"
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def include_breach(room, other):
    """Why a file of `room` may not include one of `other`, or None."""
    if room == other:
        return None
    if room.startswith("compiler"):
        if other.startswith("compiler"):
            if room not in COMPILER_ORDER or other not in COMPILER_ORDER:
                return f"{room if room not in COMPILER_ORDER else other} has no rank"
            return None if COMPILER_ORDER[other] < COMPILER_ORDER[room] else f"{room} stands below {other}"
        return None if other in COMPILER_MAY_INCLUDE else f"the compiler may not know {other}"
    if other.startswith("compiler"):
        return None if room == "cli" else "the runtime may not know the compiler"
    if room not in RANKS or other not in RANKS:
        return f"{room if room not in RANKS else other} has no rank"
    if room in ONLY and other not in ONLY[room]:
        return f"{room} may include only {', '.join(sorted(ONLY[room]))}"
    return None if RANKS[other] < RANKS[room] else f"{room} does not stand above {other}"


def rule_room_order(tree):
    """a file includes only its own room and lower ones, by paths from the root"""
    for name in tree.code(".c", ".h", ".re", ".y", ".def"):
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not found:
                continue
            if not found[1].startswith(("runtime/", "compiler/", "cli/")):
                yield name, number, f'"{found[1]}": write the path from the tree\'s root'
                continue
            if tree.excepted("room-order", f"{name}>{found[1]}"):
                continue
            why = include_breach(room_of(name), room_of(found[1]))
            if why:
                yield name, number, f'"{found[1]}": {why}'


def rule_file_size(tree):
    """no file of code is longer than a reader can hold"""
    for name in tree.code(".c", ".h", ".re", ".y", places=("runtime/", "compiler/", "cli/", "tests/", "bench/")):
        lines = tree.text(name).count("\n")
        most = HEADER_LINES_MAX if name.endswith(".h") else FILE_LINES_MAX
        if lines > most and not tree.excepted("file-size", name):
            yield name, 1, f"{lines} lines, {most} at most"


def rule_function_size(tree):
    """no function is longer than a page"""
    for name in tree.code(".c", ".h"):
        for function, _, first, last in functions(tree.text(name)):
            if last - first + 1 > FUNCTION_LINES_MAX and not tree.excepted("function-size", f"{name}:{function}"):
                yield name, first, f"{function} has {last - first + 1} lines, {FUNCTION_LINES_MAX} at most"


def rule_parameters(tree):
    """no function takes more parameters than a reader can tell apart"""
    for name in tree.code(".c", ".h"):
        for function, parameters, first, _ in functions(tree.text(name)):
            count = count_parameters(parameters)
            if count > PARAMETERS_MAX and not tree.excepted("parameters", f"{name}:{function}"):
                yield name, first, f"{function} has {count} parameters, {PARAMETERS_MAX} at most"


def opening_comment(text):
    lines = []
    for line in text.split("\n"):
        if not line.startswith("//"):
            break
        lines.append(line)
    return "\n".join(lines)


def rule_header_essay(tree):
    """each header says what it is, what it owns, which thread may call it and how it fails"""
    for name in tree.code(".h"):
        can_fail = "MUST_USE" in without_preprocessor(scrub(tree.text(name)))
        words = HEADER_WORDS + (("Errors",) if can_fail else ())
        missing = [word for word in words if word not in opening_comment(tree.text(name))]
        if missing:
            yield name, 1, f"the comment on top lacks {' '.join(missing)}"


def rule_source_essay(tree):
    """each source file starts with what it does and why this way"""
    for name in tree.code(".c"):
        if not tree.text(name).startswith("//"):
            yield name, 1, "no essay on top"


def rule_banned_calls(tree):
    """no call that hides a length, an error or an allocation"""
    for name in tree.code(".c", ".h", ".re", ".y"):
        banned = dict(BANNED_EVERYWHERE)
        if name.startswith("runtime/"):
            banned.update(BANNED_IN_RUNTIME)
        if name == HEAP_HOME:
            banned = {call: why for call, why in banned.items() if "mem.h" not in why}
        pattern = re.compile(r"(?<![\w.>])(" + "|".join(banned) + r")\s*\(")
        text = scrub(tree.text(name))
        for found in pattern.finditer(text):
            if not tree.excepted("banned-call", f"{name}:{found[1]}"):
                yield name, line_of(text, found.start()), f"{found[1]}: {banned[found[1]]}"


def rule_own_type_names(tree):
    """our types are CamelCase, without _t, which is the system's"""
    pattern = re.compile(r"(?:\btypedef\b[^;{]*?\b|\}\s*)(\w+_t)\s*;")
    for name in tree.code(".c", ".h"):
        text = scrub(tree.text(name))
        for found in pattern.finditer(text):
            yield name, line_of(text, found.start()), f"{found[1]}: our types have no _t"


def rule_leftovers(tree):
    """no note to oneself is left in the tree"""
    pattern = re.compile(r"\b(" + "|".join(LEFTOVERS) + r")\b")
    for name, number, word in lines_matching(tree, tree.files, pattern):
        yield name, number, f"{word}: finish it, or say in the documents what is missing"


def rule_forbidden_words(tree):
    """nothing in the tree speaks of the machine or the way it was made on"""
    pattern = re.compile("|".join(re.escape(word) for word in FORBIDDEN_WORDS))
    for name, number, word in lines_matching(tree, tree.files, pattern):
        yield name, number, f"{word}: does not belong in the project"


def rule_url_hosts(tree):
    """every address in the tree names a public, lasting place"""
    pattern = re.compile(r"https?://([A-Za-z0-9.-]+)")
    for name in tree.files:
        if tree.is_binary(name) or name.startswith(("tests/unit/", "tests/fuzz/", "tests/golden/")):  # made-up addresses in test data
            continue
        text = tree.text(name)
        for found in pattern.finditer(text):
            if "." in found[1] and found[1].rstrip(".").lower() not in URL_HOSTS and not tree.excepted("url-host", f"{name}:{found[1]}"):
                yield name, line_of(text, found.start()), f"{found[1]}: not on the list of hosts in tests/tidy/tidy.py"


def rule_nothing_generated(tree):
    """no generated, binary or large file is in git"""
    for name in tree.files:
        if GENERATED.search(name):
            yield name, 1, "generated"
        elif (tree.root / name).stat().st_size > TRACKED_BYTES_MAX:
            yield name, 1, f"over {TRACKED_BYTES_MAX} bytes"
        elif tree.is_binary(name) and not tree.excepted("binary", name) and "/corpus/" not in name:
            yield name, 1, "binary"


def anchors(text):
    """The names a Markdown file's headings can be linked by."""
    found = set()
    for heading in re.findall(r"^#+\s+(.*)$", text, re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(words.replace(" ", "-"))
    return found


def rule_links(tree):
    """every link in a document leads somewhere"""
    for name in (file for file in tree.files if file.endswith(".md")):
        text = re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), tree.text(name), flags=re.DOTALL)
        for found in re.finditer(r"\[[^\]]*\]\(([^)\s]+)\)", text):
            target, _, anchor = found[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            place = (tree.root / name).parent / target if target else tree.root / name
            if not place.exists():
                yield name, line_of(text, found.start()), f"{found[1]}: no such file"
            elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text()):
                yield name, line_of(text, found.start()), f"{found[1]}: no such heading"


def rule_documents_name_files(tree):
    """a path in backquotes in a document is a file or folder of the tree"""
    known = set(tree.files)
    folders = {str(parent) for file in tree.files for parent in pathlib.PurePosixPath(file).parents}
    pattern = re.compile(r"`((?:runtime|compiler|cli|tests|docs|examples|tools|bench|stdlib)/[\w./-]+)`")
    for name in (file for file in tree.files if file.endswith(".md")):
        text = tree.text(name)
        for found in pattern.finditer(text):
            path = found[1].rstrip("/.")
            if path not in known and path not in folders:
                yield name, line_of(text, found.start()), f"{found[1]}: not in the tree"


def rule_exceptions_needed(tree):
    """every exception is still needed"""
    for (rule, place), number in tree.exceptions.items():
        if (rule, place) not in tree.used:
            yield "tests/tidy/exceptions.txt", number, f"{rule} {place}: nothing breaks this rule there any more"


RULES = [rule_room_order, rule_file_size, rule_function_size, rule_parameters, rule_header_essay, rule_source_essay, rule_banned_calls,
         rule_own_type_names, rule_leftovers, rule_forbidden_words, rule_url_hosts, rule_nothing_generated, rule_links,
         rule_documents_name_files, rule_exceptions_needed]


# ---- the rules' own test -------------------------------------------------------------------------

class Sample:
    """A tree of one file, for trying a rule."""

    def __init__(self, name, text):
        self.files, self.texts, self.used = [name], {name: text}, set()
        self.root, self.exceptions = pathlib.Path("/nonexistent"), {}

    text = Tree.text
    is_binary = Tree.is_binary
    code = Tree.code
    excepted = Tree.excepted


BREACHES = [
    (rule_room_order, "runtime/base/a.c", '#include "runtime/value/value.h"\n'),
    (rule_room_order, "runtime/table/a.c", '#include "runtime/vm/vm.h"\n'),
    (rule_room_order, "runtime/net/a.c", '#include "runtime/value/value.h"\n'),
    (rule_room_order, "runtime/query/a.c", '#include "runtime/store/store.h"\n'),
    (rule_room_order, "runtime/host/a.c", '#include "compiler/compile.h"\n'),
    (rule_room_order, "compiler/check/a.c", '#include "runtime/vm/vm.h"\n'),
    (rule_room_order, "compiler/syntax/a.c", '#include "compiler/emit/emit.h"\n'),
    (rule_room_order, "runtime/base/a.c", '#include "arena.h"\n'),
    (rule_file_size, "runtime/base/a.c", "//\n" * (FILE_LINES_MAX + 1)),
    (rule_function_size, "cli/a.c", "static int f(int a) {\n" + "  a++;\n" * FUNCTION_LINES_MAX + "}\n"),
    (rule_parameters, "cli/a.c", "int f(int a, int b, int (*c)(int, int), int d, int e, int g, int h) { return 0; }\n"),
    (rule_header_essay, "cli/a.h", "// Owns: nothing. Thread: any.\n#pragma once\nMUST_USE Err a_read(void);\n"),
    (rule_source_essay, "cli/a.c", "#include <stdio.h>\n"),
    (rule_banned_calls, "cli/a.c", "void f(void) { free(0); }\n"),
    (rule_banned_calls, "runtime/base/mem.c", "void f(char *a) { strcpy(a, a); }\n"),
    (rule_banned_calls, "runtime/base/a.c", "void f(void) { system(0); }\n"),
    (rule_own_type_names, "cli/a.h", "typedef struct A { int a; } a_t;\n"),
    (rule_leftovers, "cli/a.c", "// " + LEFTOVERS[3] + " later\n"),
    (rule_forbidden_words, "cli/a.c", "// a " + FORBIDDEN_WORDS[0] + "\n"),
    (rule_url_hosts, "README.md", "see https://" + "packages.inside.test/x\n"),
    (rule_documents_name_files, "README.md", "see `runtime/" + "nowhere.c`\n"),
]


def rule_rules_bite(_tree):
    """each rule finds a breach made for it"""
    for number, (rule, name, text) in enumerate(BREACHES, 1):
        if not list(rule(Sample(name, text))):
            yield "tests/tidy/tidy.py", number, f"{rule.__name__} does not see sample {number}"


def main(root):
    tree = Tree(root)
    rules = RULES + [rule_rules_bite]
    print(f"1..{len(rules)}")
    failed = 0
    for number, rule in enumerate(rules, 1):
        breaches = list(rule(tree))
        failed += bool(breaches)
        print(f"{'not ok' if breaches else 'ok'} {number} - {rule.__doc__}")
        for name, line, reason in breaches:
            print(f"# {name}:{line}: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
