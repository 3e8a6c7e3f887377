"""`kinsplit ask`, with a model on a fake server and without one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.language_models.fake_server import FakeServer, Reply

HASH = ("--embedder", "hash")
QUESTION = "What does a while loop ask?"
GOOD = ("A while loop", " asks first [", "1].")


@pytest.fixture
def indexed(cli: Cli, course_index_with_pdf: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.delenv("KINSPLIT_MODEL", raising=False)
    monkeypatch.chdir(course_index_with_pdf)
    return cli


def test_an_answer_is_written_with_its_check_and_its_sources(indexed: Cli, fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=GOOD))
    result = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3", "--top-k", "2")

    lines = result.stdout.splitlines()
    assert (result.exit_code, result.stderr) == (0, "")
    assert lines[0] == "A while loop asks first [1]."
    assert lines[2] == "1 of 1 sentence found in the cited passages."
    assert lines[4] == "Sources:"
    assert lines[5].startswith("[1] course/cs/loops.txt, chunk ")
    assert " (score " in lines[5]
    assert len(lines) == 7
    assert QUESTION in fake.prompts[0]
    assert fake.bodies[0]["model"] == "llama3"


def test_the_sources_are_shown_whole_and_with_the_scores_of_every_stage(indexed: Cli) -> None:
    asked = ("ask", QUESTION, *HASH, "--top-k", "2", "--window", "0")
    short, shown = (indexed(*asked, *options).stdout for options in ((), ("--full", "--explain", "--plain")))
    first, *others = json.loads(indexed(*asked, "--json").stdout)["sources"]

    assert f"    {first['text']}" in shown.splitlines()
    assert f"    {first['text']}" not in short.splitlines()
    (heading,) = (line for line in shown.splitlines() if line.startswith("Source "))
    assert heading.split()[:4] == ["Source", "File", "Chunk", "dense"]
    assert {"dense", "kin"} <= first["hits"][0]["scores"].keys()
    assert f"{first['hits'][0]['scores']['kin']:.3f}" in shown
    assert len(others) == 1
    assert set(short.splitlines()) < set(shown.splitlines())


def test_the_environment_names_the_model(indexed: Cli, fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINSPLIT_MODEL", "ollama:llama3")
    fake.replies.append(Reply(pieces=GOOD))
    assert indexed("ask", QUESTION, *HASH).stdout.startswith("A while loop asks first [1].")


def test_what_was_not_found_is_told(indexed: Cli, fake: FakeServer) -> None:
    reply = "Penguins breed in Antarctica [1]. A while loop asks first. It has 1024 legs [77]."
    fake.replies.append(Reply(reply))
    result = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3")

    assert "0 of 3 sentences found in the cited passages." in result.stdout
    assert "Not found in [1]: Penguins breed in Antarctica." in result.stdout
    assert "Without a citation: A while loop asks first." in result.stdout
    assert "Cites a passage that does not exist, [77]: It has 1024 legs." in result.stdout
    assert "Warning: The answer cites [77], but the passages are numbered 1 to " in result.stderr
    assert result.exit_code == 0


def test_pages_are_told_of_the_passage_and_of_each_sentence(indexed: Cli) -> None:
    question = ("ask", "Which leaf has no children of a tree with a root?", *HASH, "--top-k", "1")
    assert "[1] course/cs/trees.pdf, chunk 2/2, cs > trees.pdf, p. 1-2 (score " in indexed(*question).stdout

    found = json.loads(indexed(*question, "--json").stdout)
    assert found["text"] == "“A leaf has no children.” [1]\n\n“A tree has a root.” [1]"
    assert [citation["pages"] for citation in found["citations"]] == [[2, 2], [1, 1]]
    assert [citation["chunk_index"] for citation in found["citations"]] == [1, 0]


def test_without_a_model_sentences_are_quoted(indexed: Cli) -> None:
    result = indexed("ask", QUESTION, *HASH)

    assert result.exit_code == 0
    assert "“A while loop asks first.” [1]" in result.stdout
    assert result.stderr == "Warning: No model was asked. These are the best sentences that were found.\n"


def test_a_model_that_can_not_be_reached_is_told_and_its_exit_code(
    indexed: Cli, monkeypatch: pytest.MonkeyPatch, fake: FakeServer
) -> None:
    fake.answer = lambda prompt: Reply("model 'llama3' not found", 404)
    result = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3")

    assert result.exit_code == 1
    assert "“A while loop asks first.” [1]" in result.stdout
    assert "Warning: No model answered: ollama:llama3: status 404: model 'llama3' not found." in result.stderr


def test_an_answer_that_breaks_off_is_kept(indexed: Cli, fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=("A while loop asks first [1]. And", " then"), ending=""))
    result = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3")

    assert result.exit_code == 1
    assert result.stdout.startswith("A while loop asks first [1]. And then\n")
    assert result.stderr == ("Warning: The answer broke off: ollama:llama3: the response ended in the middle.\n")


def test_json_holds_the_finished_answer(indexed: Cli, fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=GOOD))
    result = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3", "--json")

    found = json.loads(result.stdout)
    assert result.stderr == ""
    assert (found["question"], found["text"], found["verdict"]) == (QUESTION, "".join(GOOD), "supported")
    assert found["model"] == "ollama:llama3"
    assert found["citations"][0]["file"].endswith("course/cs/loops.txt")
    assert found["checks"][0]["status"] == "found"

    fake.answer = lambda prompt: Reply("gone", 404)
    failed = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3", "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["verdict"] == "quoted"


def test_nothing_found_is_said(indexed: Cli) -> None:
    result = indexed("ask", QUESTION, *HASH, "--where", "file_type=none")
    assert (result.exit_code, result.stdout) == (0, "The passages do not hold the answer.\n")
    there = "The values there: 'json', 'markdown', 'pdf', 'text'."
    assert result.stderr == f"Warning: No passage was found. where: no chunk has file_type = 'none'. {there}\n"


def test_what_a_model_says_can_not_act_on_the_terminal(indexed: Cli, fake: FakeServer) -> None:
    fake.replies.append(Reply("[red]A loop\x1b[2J asks[/red] [1]"))
    result = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3")
    assert result.stdout.startswith("[red]A loop\ufffd[2J asks[/red] [1]\n")


def test_a_terminal_shows_citations_in_colour_and_wrong_ones_in_another(
    indexed: Cli, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    fake.replies.append(Reply(pieces=("A while loop asks [", "1], first [77].")))
    shown = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3").stdout

    assert "\x1b[1;36m[1]\x1b[0m" in shown
    assert "\x1b[1;31m[77]\x1b[0m" in shown


def test_a_narrow_terminal_breaks_lines_between_words(
    indexed: Cli, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "40"}.items():
        monkeypatch.setenv(name, value)
    reply = "A while loop asks its condition before each of its rounds"
    fake.replies.append(Reply(pieces=(reply[:20], reply[20:], " [1]", " and then some more [99].")))
    shown = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3").stdout
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()

    assert [line.rstrip() for line in lines[:3]] == [
        "A while loop asks its condition before",
        "each of its rounds [1] and then some",
        "more [99].",
    ]
    assert max(len(line) for line in lines if not line.startswith("Warning:")) <= 40
    assert any(line.startswith("    ") for line in lines[lines.index("Sources:") :])


def test_passages_that_an_answer_does_not_cite_are_no_sources_of_it(indexed: Cli, fake: FakeServer) -> None:
    fake.replies.append(Reply("The passages do not hold the answer [7]."))
    result = indexed("ask", QUESTION, *HASH, "--model", "ollama:llama3", "--top-k", "1")
    assert result.stdout.splitlines()[2] == "Passages found, none of them cited:"
    assert "Sources:" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([" "], "question: must not be blank"),
        (["x", "--model", "llama3"], "model: must be one of ollama:MODEL, openai:MODEL, hash (got 'llama3')"),
        (["x", "--model", "openai:gpt?base_ur=http://h/v1"], "model: has no option 'base_ur' "),
        (["x", "--model", "openai:gpt?api_key=sk-secret"], "model: must not hold a key"),
        (["x", "--model", "ollama:llama3:8b:temprature=0"], "model: has the option 'temprature' in the wrong place"),
        (["x", "--rerank", "llm:openai:gpt?base_ur=http://h/v1"], "Did you mean 'base_url'? It has: base_url, window"),
        (["x", "--max-tokens", "0"], "max_tokens: must be at least 1"),
        (["x", "--top-k", "0"], "top_k: must be at least 1"),
        (["x", "--where", "pdf"], "--where: must be key=value"),
        (["x", "--rerank", "none:x"], "rerank: must be one of"),
        (["x", "--collection", "none"], "There is no collection 'none'"),
    ],
)
def test_a_wrong_argument_is_one_line(indexed: Cli, arguments: list[str], message: str) -> None:
    result = indexed("ask", *HASH, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
