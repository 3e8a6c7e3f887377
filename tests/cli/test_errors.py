"""Errors of a call: one line on stderr, and exit code 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinsplit
from kinsplit import loaders
from kinsplit.cli import main
from kinsplit.cli.command import EXIT_CODES
from kinsplit.embedding.hashing import HashEmbedder
from tests.cli.conftest import Cli, environment


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strategy", "magic"], "strategy: must be the name of a strategy (got 'magic')"),
        (["--set", "chunk_sise=3"], 'chunk_sise: is not a parameter of "sentence"'),
        (["--set", "chunk_size=0"], "chunk_size: "),
        (["--set", "chunk_size=-5"], "chunk_size: "),
        (["--set", "chunk_size=many"], "chunk_size: must be a valid integer (got 'many')"),
        (
            ["--set", "chunk_size=10", "--set", "chunk_overlap=10"],
            "chunk_overlap: must be smaller than chunk_size (10)",
        ),
        (["--strategy", "token", "--set", "tail=none"], "tail: "),
        (["--set", "tokenizer=nowhere.json"], "tokenizer: 'nowhere.json' is neither a known name"),
        (["--set", "chunk_size"], "--set: must be key=value (got 'chunk_size')"),
        (["--set", "=3"], "--set: must be key=value (got '=3')"),
        (["--limit", "seconds"], "--limit: must be key=value (got 'seconds'). For example: --limit memory=4GiB"),
        (["--limit", "pages=3"], "limits: must be size, text, memory or seconds (got 'pages')"),
        (["--limit", "memory=much"], "limits.memory: must be a number of bytes, with or without a unit"),
        (["--limit", "seconds=long"], "limits.seconds: must be a number (got 'long')"),
        (["--limit", "seconds=1", "--limit", "seconds=2"], "--limit: can't set seconds twice (got '2')"),
        (["--limit", "seconds=0"], "seconds: must be positive (got 0.0)"),
        (["--set", "chunk_size=3", "--set", "chunk_size=4"], "--set: can't set chunk_size twice"),
        (["--subjects", ","], "--subjects: must have at least one name (got ',')"),
        (["--subjects", ""], "--subjects: must have at least one name (got '')"),
        (["--subjects", "physics"], "has no folder for the subject 'physics'. Those there: cs, math."),
    ],
)
@pytest.mark.parametrize("command", ["chunk", "index"])
def test_a_wrong_argument_is_one_line_that_names_it(
    cli: Cli, folder: Path, tmp_path: Path, command: str, arguments: list[str], message: str
) -> None:
    result = cli(command, folder, *arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "kinsplit-data").exists()


@pytest.mark.parametrize("command", ["chunk", "index"])
def test_paths_that_hold_nothing_are_refused(cli: Cli, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "photo.jpeg").write_bytes(b"\xff\xd8")

    for path, message in (
        ("nowhere", "doesn't exist"),
        ("empty", "holds no file that can be loaded"),
        ("photo.jpeg", "has an unknown suffix"),
    ):
        result = cli(command, path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"Error: {path}: {message}")
    assert not (tmp_path / "kinsplit-data").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["chunk", "course", "--strategy", "magic"],
        ["index", "nowhere"],
        ["search", "loops", "--collection", "none"],
        ["strategies", "magic"],
        ["demo", "--course", "nowhere"],
    ],
)
def test_with_json_an_error_is_an_object_on_stderr(cli: Cli, folder: Path, arguments: list[str]) -> None:
    result = cli(*arguments, "--json")

    assert result.exit_code == 2
    assert result.stdout == ""
    error = json.loads(result.stderr)["error"]
    assert error["type"] in {"InvalidParameterError", "LoadError", "CollectionNotFoundError"}
    assert error["message"]


def test_wrong_usage_is_2_and_no_arguments_show_the_help(cli: Cli) -> None:
    assert cli("chunk").exit_code == 2
    assert cli("search", "a", "--top-k", "three").exit_code == 2
    assert cli("fly").exit_code == 2
    assert "strategies" in cli().output
    assert cli("--help").exit_code == 0


def test_the_version_is_shown(cli: Cli) -> None:
    assert cli("--version").stdout == f"kinsplit {kinsplit.__version__}\n"


def test_ctrl_c_is_130_without_a_traceback(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loaders, "discover", interrupt)
    for command in ("chunk", "index"):
        result = cli(command, folder)
        assert (result.exit_code, result.stderr) == (130, "Warning: Stopped.\n")


def test_an_interrupted_run_says_what_is_stored_and_how_to_go_on(cli: Cli, folder: Path) -> None:
    calls = 0

    def embed(self: object, texts: list[str]) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise KeyboardInterrupt
        return real(self, texts)

    real = HashEmbedder.embed
    (folder / "long.md").write_text("Larks sing at dawn. " * 20_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HashEmbedder, "embed", embed)
        result = cli("index", folder, "--embedder", "hash")
    assert result.exit_code == 130
    assert re.search(
        r"Stopped\. \d+ documents? (is|are) stored; the same command goes on with the others\.", result.stderr
    )
    assert cli("index", folder, "--embedder", "hash").exit_code == 0


def test_quiet_leaves_the_result_and_errors(cli: Cli, folder: Path) -> None:
    (folder / "notes.xyz").write_text("unknown")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4")
    loud, quiet = (cli("index", folder, "--embedder", "hash", "--collection", name, *more) for name, more in QUIET)
    assert "Warning: 1 file" in loud.stderr
    assert "Warning" not in quiet.stderr
    assert "broken.pdf" in quiet.stderr
    assert len(quiet.stdout.splitlines()) < len(loud.stdout.splitlines())
    assert quiet.exit_code == loud.exit_code == 1


QUIET = (("loud", []), ("quiet", ["-q"]))


def test_the_docs_and_the_help_list_the_exit_codes(cli: Cli) -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    shown = " ".join(cli("--help").stdout.split())
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning} |" in page
        assert f"{code} {meaning}" in shown


def test_an_empty_path_is_not_the_folder_one_is_in(cli: Cli, folder: Path) -> None:
    for arguments in (["chunk", ""], ["index", folder, "", "--embedder", "hash"]):
        result = cli(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "A path is empty." in result.stderr


def test_json_holds_no_control_character_that_a_terminal_may_act_on(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("red \x9b31m and \x1b[0m \x7f")

    result = cli("chunk", "a.txt")

    assert not any(character in result.stdout for character in "\x1b\x7f\x9b")
    assert json.loads(result.stdout)["text"] == "red \x9b31m and \x1b[0m \x7f"


def test_an_unknown_language_is_reported_with_its_option(cli: Cli, folder: Path) -> None:
    assert cli("index", folder, "--language", "klingon").stderr.startswith(
        "Error: language: must name a known language"
    )


def test_control_characters_in_names_do_not_reach_the_terminal(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31mb.json").write_text("{}")

    result = cli("chunk", tmp_path)

    assert "\x1b" not in result.stderr
    assert r"a\x1b[31mb.json" in result.stderr


def test_what_is_empty_or_of_an_unknown_kind_is_told_in_a_line(cli: Cli, folder: Path) -> None:
    for name in ("a.docx", "b.pdf", "c.ipynb", "d.srt"):
        (folder / name).write_bytes(b"")
    (folder / "package.json").write_bytes(b"")
    for name in ("film.mp4", "photo.PNG", "other.png", "LICENSE"):
        (folder / name).write_bytes(b"x")

    for command in (["chunk", folder, "--output", "rows.jsonl"], ["index", folder, "--embedder", "hash"]):
        result = cli(*command)
        lines = result.stderr.splitlines()
        assert result.exit_code == 1
        assert lines[0] == "Warning: 4 files or links of unknown types skipped: .png (2), no suffix (1), .mp4 (1)"
        assert [line.partition(": is empty")[1] != "" for line in lines[1:5]] == [True] * 4
        assert "package.json: skipped, since it holds no rows of documents (is empty)" in lines[5]
        assert len(lines) == 6


def test_an_unknown_suffix_names_the_formats_and_not_every_language(cli: Cli, folder: Path) -> None:
    (folder / "photo.png").write_bytes(b"x")

    message = cli("index", folder / "photo.png").stderr

    assert ".pptx" in message
    assert ".erl" not in message
    assert "of source code." in message


def test_a_place_in_a_toml_file_or_an_option_that_may_be_left_out_says_so(cli: Cli, folder: Path) -> None:
    (folder / "course.toml").write_text("course = 3\n")

    assert "course: must be a valid string (got 3). Leave it out." in cli("chunk", folder).stderr


def test_help_keeps_brackets_and_joins_lines(cli: Cli) -> None:
    words = {
        name: " ".join(cli(name, "--help").stdout.replace("│", " ").split()) for name in ("index", "serve", "tune")
    }

    assert "in its table [index], and for --set in [index.parameters]" in words["index"]
    assert "in a table [service]" in words["serve"]
    assert "reports the best so far; another run" in words["tune"]


@pytest.mark.parametrize("command", [(), ("search",), ("chunk",)])
def test_h_is_help(cli: Cli, command: tuple[str, ...]) -> None:
    assert cli(*command, "-h").stdout == cli(*command, "--help").stdout != ""


def _run_main(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[object, str]:
    monkeypatch.setattr(sys, "argv", ["kinsplit", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr().err


def test_an_unforeseen_error_is_one_line_that_says_how_to_report_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("faulthandler.enable", lambda: None)  # It writes to a file alone.
    monkeypatch.setattr(loaders, "discover", lambda *_, **__: 1 / 0)
    code, errors = _run_main(monkeypatch, capsys, "index", "course")
    assert (code, errors.count("\n")) == (70, 1)
    assert errors.startswith("Error: This is a bug in kinsplit: ZeroDivisionError: division by zero.")
    assert "/issues with the command and its traceback, which KINSPLIT_TRACEBACK=1 shows." in errors
    code, errors = _run_main(monkeypatch, capsys, "index", "course", "--json")
    assert (code, json.loads(errors)["error"]["type"]) == (70, "ZeroDivisionError")
    monkeypatch.setenv("KINSPLIT_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main()


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_error(tmp_path: Path, closed: str) -> None:
    command = f'"{sys.executable}" -m kinsplit strategies --json {closed}'
    result = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment(), capture_output=True)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["watch", "course", "--settle", "inf"], "Invalid value for '--settle'"),
        (["search", "loops", "--diversity", "nan"], "Invalid value for '--diversity': nan is not a finite number."),
        (["search", "\udcff"], "Invalid value for 'QUERY': The text is not valid UTF-8."),
        (["chunk", "a\x00b"], "An argument holds a NUL character."),
        (["collections", "--store", "qdrant:http://["], "store: must be the URL of a server"),
        (["collections", "--store", "qdrant:http://127.0.0.1:99999"], "store: must be the URL of a server"),
        (["collections", "--store", "qdrant:http://a b"], "store: must be the URL of a server"),
    ],
)
def test_values_that_nothing_could_mean(cli: Cli, folder: Path, arguments: list[str], message: str) -> None:
    result = cli(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.replace("│", " ").split())
