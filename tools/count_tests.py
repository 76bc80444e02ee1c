#!/usr/bin/env python3
"""Sums what the test programs of one `./dev test` said, and shows what failed.

usage: count_tests.py DIR [BUDGETS]

DIR has one NAME.json for each build (the log `meson test` writes, one JSON object a line, one for each test program)
and perhaps `broken`: steps that failed outside a test program, one a line. A program says how many cases it
ran in Criterion's closing line or in TAP lines; one that says nothing is one case. One that ends badly without
naming a failed case has one failed case more, so that nothing fails unseen.
"""
import json
import pathlib
import re
import sys

CRITERION = re.compile(r"Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)")
TAP = re.compile(r"^(ok|not ok)\b(?! .*# SKIP)", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TAIL_LINES = 60


def cases(test):
    """(passed, failed) of one test program."""
    said = COLOUR.sub("", (test.get("stdout") or "") + "\n" + (test.get("stderr") or ""))
    passed = failed = 0
    for line in CRITERION.finditer(said):
        tested, passing, _, _ = map(int, line.groups())
        nothing_ran = tested == 0  # a program of tests without a test has lost them
        passed, failed = passed + passing, failed + tested - passing + nothing_ran
    for line in TAP.finditer(said):
        passed, failed = passed + (line[1] == "ok"), failed + (line[1] != "ok")
    went_well = test["result"] in ("OK", "EXPECTEDFAIL")
    if not went_well and test["result"] != "SKIP" and failed == 0:
        failed = 1
    if went_well and passed + failed == 0:
        passed = 1
    return passed, failed


def show_failure(build, test):
    print(f"\n---- {build}: {test['name']} ({test['result']}) ----")
    said = COLOUR.sub("", (test.get("stdout") or "") + (test.get("stderr") or "")).splitlines()
    print("\n".join(said[-TAIL_LINES:]))


def read_budgets(path):
    """name -> seconds"""
    budgets = {}
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            budgets[" ".join(words[:-1])] = float(words[-1])
    return budgets


def main(directory, budgets_path=None):
    budgets = read_budgets(budgets_path) if budgets_path else {"default": float("inf")}
    total_passed = total_failed = 0
    over, failures = [], []
    for log in sorted(pathlib.Path(directory).glob("*.json")):
        build = log.stem
        for line in log.read_text().splitlines():
            test = json.loads(line)
            test["name"] = test["name"].split(" / ")[-1]
            passed, failed = cases(test)
            total_passed, total_failed = total_passed + passed, total_failed + failed
            state = "ok" if failed == 0 else "FAILED"
            print(f"{state:6} {build:8} {test['name']:24} {passed:5} passed {failed:3} failed {test['duration']:7.1f} s")
            if failed:
                failures.append((build, test))
            budget = budgets.get(test["name"], budgets["default"])
            if test["duration"] > budget:
                over.append(f"{build}: {test['name']} took {test['duration']:.1f} s, its budget is {budget:g} s")
    for build, test in failures:
        show_failure(build, test)
    broken = pathlib.Path(directory, "broken")
    for step in broken.read_text().splitlines() if broken.exists() else []:
        print(f"FAILED {step}")
        total_failed += 1
    for line in over:
        print(f"over budget: {line} (tests/budgets.txt)")
    if total_passed == 0:
        total_failed = max(total_failed, 1)
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
