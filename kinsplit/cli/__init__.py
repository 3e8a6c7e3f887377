"""The command line: `kinsplit strategies`, `chunk`, `index`, `search`, `demo`.

**Output.** Results go to stdout; progress, warnings and errors go to stderr. With `--json`, stdout holds JSON in UTF-8
and nothing else, and every line on stderr is an object: `{"warning": "..."}` or
`{"error": {"type": "LoadError", "message": "..."}}`. Only a call that breaks the command line's own grammar is answered
by plain usage text.

**Exit codes.**

| code | meaning |
|---|---|
| 0 | everything was done |
| 1 | some files failed and the rest were done; or the demo's answers are not all right |
| 2 | nothing was done: wrong usage, a wrong argument, no file that could be read, a store that can't be opened |
| 130 | stopped by Ctrl-C; what was stored before stays stored |
| 141 | whoever read the output stopped reading, as `head` does |
"""

from __future__ import annotations

from kinsplit.cli.app import app, main

__all__ = ["app", "main"]
