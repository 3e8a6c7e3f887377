"""Untrusted names stay on one line in every report, log and error, whatever characters they contain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinsplit.errors import LoadError, inline
from tests.cli.conftest import Cli, cli

__all__ = ["cli"]

_FORGED = "Error"
_NAME = f"a\n{_FORGED}: forged\u202e\x1b[2K\u2028\x85"
#: Names of a readable and of an unreadable file, and the id of a row.
_GOOD, _BAD, _ROW = f"{_NAME}.md", f"{_NAME}.pdf", f"row {_NAME}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é \u00a0日本 👩\u200d💻 \u0645\u200c\u06cc", None),
        ("a\nb\r\tc\x1b[2K\x85", r"a\nb\r\tc\x1b[2K\x85"),
        ("exe.\u202etxt\u2066\u200f\u061c", r"exe.\u202etxt\u2066\u200f\u061c"),
        ("\u2028\u2029\ufeff\u200b\U000e0041", r"\u2028\u2029\ufeff\u200b\U000e0041"),
        ("caf\udce9", r"caf\udce9"),
    ],
)
def test_what_would_act_on_a_line_becomes_an_escape(text, shown):
    assert inline(text) == (text if shown is None else shown)


def test_an_error_is_one_line_whatever_the_file_is_called():
    assert str(LoadError(Path(_BAD), "is broken")) == r"a\nError: forged\u202e\x1b[2K\u2028\x85.pdf: is broken"


@pytest.fixture
def named(tmp_path: Path) -> Path:
    folder = tmp_path / "named"
    folder.mkdir()
    try:
        (folder / _GOOD).write_text("A loop repeats.")
        (folder / _BAD).write_bytes(b"%PDF-broken")
    except OSError:
        pytest.skip("this file system takes no such names")
    rows = [{"docid": _ROW, "text": "A row that holds NUL \0."}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


_COMMANDS = [
    ["index", "named", "--embedder", "hash"],
    ["chunk", "named"],
    ["chunk", "named", "--output", "rows.out"],
    ["chunk", "named", "--dry-run"],
    ["search", "loop", "--embedder", "hash", "--explain"],
    ["search", "row", "--embedder", "hash", "--full"],
    ["ask", "What does a loop do?", "--embedder", "hash"],
    ["info"],
    ["verify"],
]
_DELETE = ["delete", f"named/{_GOOD}", _ROW, "none\nError: forged"]


def test_no_command_lets_a_name_forge_a_line_or_turn_the_direction(cli: Cli, named: Path) -> None:
    for command in [*_COMMANDS, *([*command, "--json"] for command in _COMMANDS), _DELETE]:
        result = cli(*command)
        assert result.exit_code in (0, 1), (command, result.output)
        for line in (*result.stdout.split("\n"), *result.stderr.split("\n")):
            assert line.isprintable(), (command, line)
            assert not line.startswith(_FORGED) or "forged" not in line.partition(":")[2][:9], (command, line)
