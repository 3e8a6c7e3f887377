"""The command line; `kinsplit --help` lists the commands.

**Output.** Results go to stdout; progress, warnings and errors go to stderr. With `--json`, stdout holds only JSON in
UTF-8, and every line on stderr is an object: `{"warning": "..."}` or
`{"error": {"type": "LoadError", "message": "..."}}`. Only wrong usage of the command line itself is reported as plain
text.

**Exit codes.**

| code | meaning |
|---|---|
| 0 | success |
| 1 | some files failed, but the rest were processed; or the demo gave a wrong answer |
| 2 | nothing was done: wrong usage, an invalid argument, no readable file, a store that can't be opened |
| 70 | a bug in kinsplit; with `KINSPLIT_TRACEBACK=1` its traceback is shown |
| 130 | interrupted by Ctrl-C; what was stored before stays stored |
| 141 | the reader of the output closed the pipe, as `head` does |
"""

from __future__ import annotations

from kinsplit.cli.app import app, main

__all__ = ["app", "main"]
