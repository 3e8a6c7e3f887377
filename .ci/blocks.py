"""Run the blocks of a page in order, in the current folder: `python -P .ci/blocks.py PAGE [FIRST]`, the FIRST or all.

Commands of a console run in bash, and Python in one namespace. The code in a comment `<!-- setup ... -->` runs too, and
a block after `<!-- not run: REASON -->` doesn't. `kinsplit serve` runs until its page answers.
"""

from __future__ import annotations

import doctest
import importlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<kind>python|pycon|console)\n(?P<code>.*?)^```$"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$",
    re.DOTALL | re.MULTILINE,
)
_ADDRESS = re.compile(r"http://[\w.]+:\d+")
_SECONDS = 180


def run(page: Path, first: int | None) -> None:
    text, names = page.read_text(encoding="utf-8"), {"__name__": "blocks"}
    for block in islice(_BLOCK.finditer(text), first):
        line = text.count("\n", 0, block.end("reason") if block["reason"] else block.start()) + 1
        if block["reason"]:
            _tell(page, line, f"not run: {block['reason']}")
        elif block["kind"] == "console":
            for command in _commands(block["code"]):
                begun = time.monotonic()
                _bash(command)
                _tell(page, line, command, time.monotonic() - begun)
        else:
            begun = time.monotonic()
            importlib.invalidate_caches()  # A command may have installed something.
            _python(block["code"] or block["setup"], block["kind"] == "pycon", f"{page.name}:{line}", names)
            _tell(page, line, block["kind"] or "setup", time.monotonic() - begun)


def _tell(page: Path, line: int, what: str, seconds: float | None = None) -> None:
    print(f"{page.name}:{line:<4}{'' if seconds is None else f'{seconds:.1f} s':>8}  {what[:140]}", flush=True)


def _commands(code: str) -> Iterator[str]:
    """Yield the commands, without what they print."""
    for command in re.findall(r"^\$ (.*(?:(?<=\\)\n.*)*)", code, re.MULTILINE):
        yield re.sub(r"\s*\\\n\s*", " ", command)


def _bash(command: str) -> None:
    if command.startswith("kinsplit serve"):
        _serve(command)
        return
    done = subprocess.run(
        ["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\n$ {command}\nEnded with {done.returncode}.")


def _serve(command: str) -> None:
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as service:
        try:
            output = ""
            signal.alarm(_SECONDS)
            while (found := _ADDRESS.search(output)) is None:
                if not (line := service.stdout.readline()):  # type: ignore[union-attr]
                    sys.exit(f"{output}\n$ {command}\nEnded without an address.")
                output += line
            while True:
                try:
                    urllib.request.urlopen(found[0], timeout=10).read()
                    break
                except OSError:
                    time.sleep(0.5)
        finally:
            signal.alarm(0)
            service.terminate()


def _python(code: str, is_session: bool, where: str, names: dict[str, Any]) -> None:
    if not is_session:
        sys.stdout.flush()
        out = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Tests compare what blocks print.
        try:
            exec(compile(code, where, "exec"), names)
            sys.stdout.flush()
        finally:
            os.dup2(out, 1)
            os.close(out)
        return
    test = doctest.DocTestParser().get_doctest(code, names, where, where, 0)
    try:
        doctest.DebugRunner().run(test, clear_globs=False)
    except doctest.UnexpectedException as error:
        raise error.exc_info[1] from None
    names.update(test.globs)


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
