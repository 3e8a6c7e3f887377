"""Every command of the registry with wrong, odd and missing arguments: no input reaches a user as a traceback."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import traceback
from pathlib import Path
from typing import Any

import pytest
import typer
import uvicorn
import watchfiles
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver import MCPServer
from typer.testing import CliRunner, Result

from kinsplit.cli import app
from kinsplit.cli.app import NAMES
from kinsplit.indexing.configuration import IndexSettings
from kinsplit.server.settings import ServiceSettings
from tests.cli.conftest import make_course, run_command

#: A few in a run of all tests, thousands to look for faults.
EXAMPLES = int(os.environ.get("KINSPLIT_TEST_EXAMPLES", "3"))
STORE = "memory:every-command"
#: An argument that is right wherever one is needed, by the name of its parameter.
RIGHT = {
    "paths": "course",
    "docs": "set",
    "results": "results.json",
    "file": "notes.parquet",
    "query": "Which sort merges halves?",
    "question": "Which sort merges halves?",
    "collection": "default",
    "model": "hash",
}
FILES = ["course", "set", "course/cs/loops.txt", "results.json", "set/queries.jsonl", "config.toml", "notes.parquet"]
ODD_FILES = [
    *("", ".", "..", "-", "nowhere", "course/cs/loops.txt/x", "dangling", "circle", "pipe", "empty.json", "noise.bin"),
    *(
        "a\x00b",
        "\udcff",
        "x" * 300,
        "x/" * 3000,
        "~",
        "~nobody/x",
        "/dev/null",
        "s3://x/y",
        "file:///x",
        "*",
        "[",
        "c:x",
    ),
]
NUMBERS = ["0", "1", "-1", "2", "30", "1e3", str(2**31), str(2**63), str(-(2**63) - 1), "9" * 30, "9" * 5000]
REALS = ["0", "0.5", "1", "-0.5", "2", "nan", "inf", "-inf", "1e400", "1e308", "5e-324", "-0.0"]
WORDS = [
    *(
        "default",
        "demo",
        "hash",
        "hash:8",
        "hash:0",
        "hash:-1",
        "hash:x",
        "hash:99999999999",
        "bundled?x=1",
        "hash?x=1",
    ),
    *("none", "late", "kin", "dense", "terms", "hybrid", "headings", "english", "any", "klingon", "sentence", "word"),
    *(
        "st:",
        "st:nowhere",
        "static:",
        "openai:",
        "openai:x",
        "ollama:",
        "litellm:",
        "llm:",
        "llm:hash",
        "cross-encoder:",
    ),
    *(
        STORE,
        "memory:",
        "edge:",
        "edge:course/cs/loops.txt",
        "edge:\x00",
        "qdrant:",
        "qdrant::",
        "qdrant:http://[",
        "nowhere:x",
    ),
    *(
        "qdrant:http://127.0.0.1:1",
        "qdrant:http://127.0.0.1:99999",
        "pgvector:",
        "pgvector:x",
        "pgvector:host=127.0.0.1 port=1",
    ),
    *(
        "=",
        "a=",
        "=b",
        "a=b",
        "a==b",
        "chunk_size=3",
        "chunk_size=NaN",
        "chunk_size=1e400",
        "chunk_size=null",
        "size=1e400B",
    ),
    *(
        "chunk_size=" + "[" * 20_000,
        'chunk_size={"a": 1}',
        "chunk_size=" + "9" * 5000,
        "seconds=nan",
        "memory=-1",
        "x>=1",
    ),
    *(
        "docid=loops.txt",
        "year>1",
        "year<=x",
        "year!=",
        "a=" + "[" * 20_000,
        ":",
        "a:b",
        "word:",
        "word:chunk_size",
        "x=word",
    ),
    *(
        "word:chunk_size=3",
        "sentence:chunk_size=9,chunk_overlap=0",
        "langchain:",
        "langchain:X",
        "python:",
        "python:x:y",
    ),
    *(
        "llama-index:",
        "chonkie:",
        "token,word",
        ",",
        "a,b",
        "sc-qrels",
        "local",
        "http://127.0.0.1:1",
        "http://[",
        "auto",
    ),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind that a command reads; its copies lie at one place, as the index knows it."""
    parent = tmp_path_factory.mktemp("made") / "first"
    parent.mkdir()
    make_course(parent)
    texts = {"loops.md": "A loop repeats. A while loop asks first.", "sorting.txt": "Merge sort halves a list."}
    spans = {"Which loop asks first?": ("loops.md", [16, 40]), "Which sort merges halves?": ("sorting.txt", [0, 25])}
    (parent / "set").mkdir()
    rows = [{"docid": name, "text": text} for name, text in texts.items()]
    questions = [{"query": query, "docid": name, "spans": [span]} for query, (name, span) in spans.items()]
    for name, lines in (("docs", rows), ("queries", questions)):
        (parent / "set" / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (parent / "config.toml").write_text(
        '[index]\nstrategy = "word"\nembedder = "hash"\n[index.parameters]\nchunk_size = 6\n[service]\nport = 0\n'
    )
    (parent / "empty.json").write_bytes(b"")
    (parent / "noise.bin").write_bytes(bytes(range(256)) * 20)
    (parent / "dangling").symlink_to("nowhere")
    (parent / "circle").symlink_to("circle")
    os.mkfifo(parent / "pipe")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(parent)
        for command in (
            ("index", "course", "--store", STORE, "--embedder", "hash"),
            (
                "evaluate",
                "--docs",
                "set",
                "--embedder",
                "hash",
                "--no-cache",
                "--strategy",
                "word",
                "--strategy",
                "token",
            ),
            ("chunk", "set/docs.jsonl", "--output", "chunks.jsonl"),
            ("backup", "default", "notes.parquet", "--store", STORE),
        ):
            result = run_command(*command)
            assert result.exit_code == 0, result.output
        shutil.move("evaluation_results.json", "results.json")
        assert run_command("drop", "default", "--store", STORE, "--yes").exit_code == 0
    return parent


def renew(made: Path) -> None:
    """Make a fresh copy of the folder, with its collection, and go there."""
    folder = made.parent / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(made, folder, symlinks=True, ignore=shutil.ignore_patterns("pipe"))
    os.mkfifo(folder / "pipe")
    os.chdir(folder)
    result = run_command("index", "course", "--store", STORE, "--embedder", "hash")
    assert result.exit_code == 0, result.output


@pytest.fixture
def offline(
    made: Path, monkeypatch: pytest.MonkeyPatch, socket_enabled: None, fast_models: None, tmp_path: Path
) -> None:
    """A machine without a network, on which no server and no watch runs on."""
    monkeypatch.chdir(made)  # Goes back at the end.

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("kinsplit.server.run.configure_logs", lambda **_: None)
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    monkeypatch.setattr(MCPServer, "run", lambda *_, **__: None)
    monkeypatch.setattr(watchfiles, "watch", lambda *_, **__: iter(()))
    for name in ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


Params = list[Any]


def params_of(name: str) -> Params:
    """Return the parameters of a command that take a value."""
    return [each for each in typer.main.get_command(app).commands[name].params if not getattr(each, "is_flag", False)]  # type: ignore[attr-defined]


def spell(param: Any, value: str) -> list[str]:
    """Return an argument or an option as words of the command line."""
    return [value] if param.param_type_name == "argument" else [f"{param.opts[0]}={value}"]


def run(name: str, *arguments: str) -> Result:
    """Run a command, which must not end with an exception that it doesn't expect."""
    result = CliRunner().invoke(app, [name, *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        traceback.print_exception(result.exception)
        raise result.exception
    assert "Traceback" not in result.output
    assert result.exit_code in (0, 1, 2)
    return result


@pytest.mark.parametrize("name", NAMES)
def test_bare_a_command_names_what_it_needs(
    offline: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    required = [param for param in params_of(name) if param.required]
    for left_out in required:
        others = [param for param in required if param is not left_out]
        result = run(name, *(word for each in others for word in spell(each, RIGHT.get(each.name, "default"))))
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Missing" in result.stderr
        assert (left_out.metavar if left_out.param_type_name == "argument" else left_out.opts[0]) in result.stderr
        assert f"kinsplit {name} -h" in result.stderr
    bare = run(name)
    assert not required or bare.exit_code == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_value_of_the_wrong_type_is_named(
    offline: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    required = [
        word for each in params_of(name) if each.required for word in spell(each, RIGHT.get(each.name, "default"))
    ]
    for param in params_of(name):
        if kind_of(param) in (int, float):
            result = run(name, *required, *spell(param, "three"))
            assert (result.exit_code, result.stdout) == (2, "")
            assert f"Invalid value for '{param.opts[0]}'" in result.stderr
            assert "three" in result.stderr or hasattr(param, "type_descriptor")  # Newer ones don't repeat a value.


@pytest.mark.parametrize("name", NAMES)
def test_a_required_argument_that_names_nothing_is_named(
    offline: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    required = [param for param in params_of(name) if param.required]
    for param in required:
        for value in ("", "nowhere"):
            words = (spell(each, value if each is param else RIGHT.get(each.name, "default")) for each in required)
            result = run(name, *itertools.chain(*words))
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr.endswith((".\n", "╯\n"))


def kind_of(param: Any) -> Any:
    """Return the type of a value, which Typer names up to 0.28, and describes since."""
    if hasattr(param, "type_descriptor"):
        return param.type_descriptor.annotation
    return {"integer": int, "float": float}.get(param.type.name.partition(" ")[0], str)


def value_of(param: Any) -> st.SearchStrategy[str]:
    text = st.text(st.characters(), max_size=20).filter(lambda text: ".." not in text and "/" not in text)
    if kind_of(param) is int:
        return st.sampled_from(NUMBERS)
    if kind_of(param) is float:
        return st.sampled_from(REALS)
    odd = st.sampled_from(ODD_FILES) | st.sampled_from(WORDS) | text
    if param.name in RIGHT:
        return st.just(RIGHT[param.name]) | st.just(RIGHT[param.name]) | st.sampled_from(FILES) | odd
    return st.sampled_from(FILES) | odd


@st.composite
def command_line(draw: st.DrawFn, name: str) -> list[str]:
    """Draw the arguments of a command."""
    words: list[str] = []
    for param in typer.main.get_command(app).commands[name].params:  # type: ignore[attr-defined]
        if param.name == "help":
            continue
        if getattr(param, "is_flag", False):
            words += [param.opts[0]] if draw(st.integers(0, 3)) == 0 else []
        elif param.required or draw(st.integers(0, 5)) == 0:
            most = 2 if param.nargs == -1 or getattr(param, "multiple", False) else 1
            for value in draw(st.lists(value_of(param), min_size=1, max_size=most)):
                words += spell(param, value)
        elif param.name == "embedder":
            words.append("--embedder=hash")
        elif param.name == "store":
            words.append(f"--store={STORE}")
    return words


@pytest.mark.parametrize("name", NAMES)
def test_no_argument_is_a_traceback(made: Path, offline: None, name: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(command_line(name))
    def check(words: list[str]) -> None:
        renew(made)
        run(name, *words)

    check()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 1, 2**63, 10**30, 0.5, float("nan"), float("inf"), -1e308])
    | st.sampled_from(["", "x", "a\x00b", "\ud800", "loops.md", "nowhere"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["query", "docid", "x", ""]), inner),
    max_leaves=4,
)


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """Draw a JSON value in which something has been replaced or left out."""
    children = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not children or draw(st.integers(0, 5)) == 0:
        return draw(JSON)
    key, copy = draw(st.sampled_from(children)), value.copy()
    if draw(st.integers(0, 5)) == 0:
        del copy[key]
    else:
        copy[key] = draw(changed(value[key]))
    return copy


@st.composite
def broken(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw a file in which some bytes have been replaced, added or cut off."""
    start = draw(st.integers(0, len(content)))
    end = draw(st.sampled_from([start, start + 1, start + 30, len(content)]))
    return content[:start] + draw(st.binary(max_size=4) | st.just(b'"\\ud800') | st.just(b"[" * 20_000)) + content[end:]


#: Commands that read a file.
READERS: dict[str, list[list[str]]] = {
    "results.json": [["show", "results.json"], ["show", "results.json", "--json"], ["report", "results.json"]],
    "set/queries.jsonl": [
        ["evaluate", "--docs", "set", "--strategy", "word", "--no-cache", "--embedder=hash"],
        ["qrels", "set", "--strategy", "word"],
    ],
    "set/docs.jsonl": [
        ["evaluate", "--docs", "set", "--strategy", "word", "--no-cache", "--embedder=hash"],
        ["index", "set/docs.jsonl", "--store=memory:", "--embedder=hash"],
        ["chunk", "set/docs.jsonl"],
    ],
    "chunks.jsonl": [["qrels", "set", "--manifest", "chunks.jsonl"]],
    "notes.parquet": [["restore", "notes.parquet", "--store", "memory:restored", "--as", "x", "--replace"]],
    "config.toml": [
        ["index", "course", "--store=memory:", "--config", "config.toml"],
        ["chunk", "course", "--config", "config.toml"],
        ["serve", "--store", STORE, "--config", "config.toml"],
    ],
}


@st.composite
def content_of(draw: st.DrawFn, name: str, content: bytes) -> bytes:
    """Draw the content of a file that is almost right."""
    if name == "notes.parquet" or draw(st.integers(0, 2)) == 0:
        return draw(broken(content))
    if name == "config.toml":
        keys = [*IndexSettings.model_fields, *ServiceSettings.model_fields]
        lines = draw(st.lists(st.sampled_from(keys), min_size=1, max_size=3, unique=True))
        settings = {key: draw(JSON) for key in lines}
        table = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        head = draw(st.sampled_from(["[index]", "[index.parameters]", "[service]", ""]))
        return "\n".join([head, *table]).encode()
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in content.splitlines()]
        at = draw(st.integers(0, len(rows) - 1))
        rows[at] = draw(changed(rows[at]))
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    return json.dumps(draw(changed(json.loads(content)))).encode()


@pytest.mark.parametrize("file", READERS)
def test_no_file_is_a_traceback(made: Path, offline: None, file: str) -> None:
    renew(made)

    @settings(max_examples=EXAMPLES)
    @given(content_of(file, (made / file).read_bytes()), st.sampled_from(READERS[file]))
    def check(content: bytes, words: list[str]) -> None:
        Path(file).write_bytes(content)
        run(*words)

    check()
