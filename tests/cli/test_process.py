"""Tests that need a real process: pipes, locks, terminals and imports."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import kinsplit
from kinsplit.cli.app import _MODULES, NAMES
from tests.cli.conftest import COURSE, Cli, environment

KINSPLIT = (sys.executable, "-c", "from kinsplit.cli import main; main()")


def run(*arguments: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*KINSPLIT, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(**variables), capture_output=True, encoding="utf-8")


def test_a_command_loads_no_other_and_help_no_model_and_no_store(tmp_path: Path) -> None:
    probe = (
        "import sys; from kinsplit.cli import app\n"
        "heavy = {'torch', 'sentence_transformers', 'qdrant_edge', 'pypdfium2', 'llama_index', 'langchain_core'}\n"
        "for arguments in (['strategies', 'token'], ['--help']):\n"
        "    app(arguments, standalone_mode=False)\n"
        "    commands = [name for name in sys.modules if name.startswith('kinsplit.cli.commands.')]\n"
        "    print(len(commands), sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", probe]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert "chunk_overlap" in done.stdout
    assert "fetch-wikipedia" in done.stdout
    modules = {_MODULES.get(name, name) for name in NAMES}
    assert done.stderr == f"1 []\n{len(modules)} []\n"


def test_commands_and_values_are_completed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'kinsplit'; from kinsplit.cli import main; main()"]
    for words, expected in (
        ("kinsplit se", ["search", "serve", "settings"]),
        ("kinsplit index --strategy se", ["sentence", "semantic"]),
        ("kinsplit search --ranking k", ["kin"]),
    ):
        typed = str(len(words.split()) - 1)
        asked = {"_KINSPLIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": typed}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(**asked), capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == expected


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kinsplit"]
    shown, wrong = (
        subprocess.run([*command, *more], cwd=tmp_path, env=environment(), capture_output=True, text=True)
        for more in (["--version"], ["strategies", "magic"])
    )
    assert (shown.returncode, shown.stdout) == (0, f"kinsplit {kinsplit.__version__}\n")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("Error: strategy: must be the name of a strategy")


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path) -> None:
    for arguments in (["chunk", COURSE / "syllabus.md"], ["index", COURSE / "syllabus.md", "--embedder", "hash"]):
        reading, writing = os.pipe()
        os.close(reading)
        command = [*KINSPLIT, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), stdout=writing, stderr=subprocess.PIPE, text=True
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (141, "")


def test_stdout_is_kept_from_libraries_and_processes(tmp_path: Path) -> None:
    probe = (
        "import os, subprocess, sys\n"
        "from kinsplit.cli.output.terminal import Terminal\n"
        "terminal, kept = Terminal(as_json=False), sys.stdout\n"
        "with terminal.own_stdout():\n"
        "    print('a library', flush=True)\n"
        "    os.write(1, b'a thread\\n')\n"
        "    subprocess.run(['echo', 'a process'], check=True)\n"
        "    terminal.line('own')\n"
        "    kept.write('an object\\n')\n"
        "terminal.line('later')\n"
        "print('last')"
    )
    command = [sys.executable, "-c", probe]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "own\nlater\nlast\n"
    assert done.stderr == "a library\na thread\na process\nan object\n"


def test_json_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "é.txt").write_text("Das Maß ist voll. 東京", encoding="utf-8")

    rows = run("chunk", "é.txt", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0").stdout
    shown = run("index", "é.txt", "--embedder", "hash", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert json.loads(rows)["text"] == "Das Maß ist voll. 東京"
    assert shown.returncode == 0
    assert "?.txt  Split into 1 chunk  +1" in shown.stdout


def test_a_locked_store_is_one_line(tmp_path: Path, folder: Path, cli: Cli) -> None:
    cli("index", folder, "--embedder", "hash")
    holder = "from kinsplit import Index; i = Index(embedder='hash'); print('open', flush=True); input()"
    command = [sys.executable, "-c", holder]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        results = [cli(*a, "--embedder", "hash") for a in (("index", folder), ("search", "loops"))]
        process.communicate("\n")

    for result in results:
        assert (result.exit_code, result.stdout) == (2, "")
        assert "is open in another process" in result.stderr
        assert result.stderr.count("\n") == 1
    assert cli("search", "loops", "--embedder", "hash").exit_code == 0


def on_terminal(columns: int, cwd: Path, *arguments: str) -> str:
    """Run a command on its own terminal and return its output there."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {key: value for key, value in environment(TERM="xterm-256color").items() if key != "NO_COLOR"}
    with subprocess.Popen([*KINSPLIT, *arguments], cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave):
        os.close(slave)
        written = b""
        while data := _read(master):
            written += data
    os.close(master)
    return written.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux raises it when the other side is closed.
        return b""


def test_a_terminal_gets_colours_and_a_bar_and_a_pipe_gets_neither(tmp_path: Path, folder: Path, cli: Cli) -> None:
    (folder / "bad.json").write_text('{"docid": 3}')
    indexed = on_terminal(40, tmp_path, "index", "course", "--embedder", "hash")
    found = on_terminal(100, tmp_path, "search", "a while loop", "--embedder", "hash")
    piped = cli("search", "a while loop", "--embedder", "hash")

    assert "Indexing" in indexed
    assert "\x1b[1;31mError:\x1b[0m" in indexed
    assert indexed.count("course/cs/loops.txt") == 1
    assert "\x1b[1;33mwhile\x1b[0m" not in found, "a stop word is no query word"
    assert "\x1b[1;33mloop\x1b[0m" in found
    assert "\x1b" not in piped.stdout + piped.stderr


@pytest.mark.parametrize("columns", [50, 100])
def test_tables_fit_a_narrow_terminal_without_losing_a_character(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    wide = cli("strategies", "--json").stdout
    monkeypatch.setenv("COLUMNS", str(columns))
    narrow = cli("strategies").stdout

    table = narrow[: narrow.index("For the parameters of a strategy")]
    assert max(map(len, table.splitlines())) <= columns
    for strategy in json.loads(wide):
        for word in f"{strategy['name']} {strategy['summary']}".split():
            assert word in table
    assert "…" not in table
