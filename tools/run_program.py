#!/usr/bin/env python3
"""Runs a program that is no test of a build, shows what it says as it goes, and leaves a line for count_tests.py.

usage: run_program.py OUT.json NAME COMMAND...
"""
import json
import pathlib
import subprocess
import sys
import time


def main(out, name, *words):
    began = time.monotonic()
    said = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            said.append(line)
    line = {"name": name, "result": "FAIL" if process.returncode else "OK", "stdout": "".join(said), "duration": time.monotonic() - began}
    with pathlib.Path(out).open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
