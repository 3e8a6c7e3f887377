"""`kinsplit demo`: index the sample course and search it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.text import Text

from kinsplit.cli.command import SOME_FAILED
from kinsplit.cli.commands.index import add
from kinsplit.cli.commands.sample import sample_folder
from kinsplit.cli.options import STORE
from kinsplit.cli.output.index_report import to_dict as report_to_dict
from kinsplit.cli.output.passages import QueryWords, chunk_of, file_of, show
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import LoadError

if TYPE_CHECKING:
    from kinsplit.index import AddReport
    from kinsplit.retrieval import Passage

_COLLECTION = "demo"
#: Tokens per chunk: the window of the bundled model, so that few vectors are means of several windows.
_CHUNK_SIZE = 254
#: Length of a preview in characters.
_PREVIEW = 200


class _Answer(NamedTuple):
    """A question, the group of the files that answer it, and the passages found, best first."""

    question: str
    answer_in: str
    passages: Sequence[Passage]

    @property
    def right(self) -> bool:
        return bool(self.passages) and self.passages[0].metadata.get("group_id") == self.answer_in


def demo(store: str = STORE, course: Path | None = None, embedder: str = "bundled", *, terminal: Terminal) -> None:
    """Index the sample course in an embedded Qdrant (collection "demo") and search it for five questions.

    The first run on a machine downloads the embedding model, and a second run embeds nothing.

    Args:
        course (DIR): Folder of a course, with DIR_questions.json next to it. Default: the sample course.
    """
    from kinsplit.index import Index
    from kinsplit.loaders import discover
    from kinsplit.parsers import create

    folder = course or sample_folder() / "course"
    found = discover(folder)  # Reports a missing folder before missing questions.
    questions = _questions(folder)
    strategy = create("structure", unit="token", chunk_size=_CHUNK_SIZE)
    with Index(store, collection=_COLLECTION, strategy=strategy, embedder=embedder) as opened:
        report, documents = add(opened, [folder], terminal, files=len(found.files), prune=True)
        if not terminal.as_json:
            terminal.line(_embedded(report))
        answers = []
        for number, row in enumerate(questions, 1):
            answers.append(answer := _Answer(**row, passages=opened.search(row["question"])))
            if not terminal.as_json:
                words = QueryWords(answer.question, opened.bm25)
                _show(terminal, f"Question {number}/{len(questions)}", answer, words)
    right = sum(answer.right for answer in answers)
    option = "" if store == STORE else f" --store {shlex.quote(store)}"
    made = {"index": report_to_dict(report, documents), "answers": [_to_dict(answer) for answer in answers]}
    score = f"{right} of {len(answers)} questions were answered from the right lecture."
    own = f"Try your own: kinsplit search 'How do I open a file?' --collection {_COLLECTION}{option}"
    terminal.outcome(made, "", score, own)
    if right < len(answers) or report.failures:
        raise typer.Exit(SOME_FAILED)


def _questions(folder: Path) -> list[dict[str, str]]:
    path = folder.absolute().with_name(f"{folder.absolute().name}_questions.json")
    shape = '[{"question": "...", "answer_in": "lecture_01"}, ...]'
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [{"question": str(row["question"]), "answer_in": str(row["answer_in"])} for row in rows]
    except OSError as error:
        raise LoadError(path, f"can't be read: {error.strerror}. It must hold the questions, as {shape}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(path, f"has no questions for the demo. Write them as {shape}.") from error


def _embedded(report: AddReport) -> str:
    if report.embedded:
        return f"Embedded {counted(report.embedded, 'text')} in {report.seconds:.1f} s."
    return f"Nothing to embed: {counted(report.unchanged, 'chunk')} already indexed."


def _show(terminal: Terminal, label: str, answer: _Answer, words: QueryWords) -> None:
    terminal.line("")
    terminal.line(Text(f"{label}: {answer.question}", "bold"))
    for rank, passage in enumerate(answer.passages, 1):
        if rank == 1:
            show(terminal, rank, passage, words, _PREVIEW)
        else:
            found = f"[Result {rank}] (score {passage.score:.4f}) {file_of(passage)}, chunk {chunk_of(passage)}"
            terminal.line(Text(found, "dim"))
    if answer.right:
        terminal.line(Text(f"Correct: the answer is in {answer.answer_in}.", "green"))
    else:
        terminal.line(Text(f"Wrong: the answer is in {answer.answer_in}.", "bold red"))


def _to_dict(answer: _Answer) -> dict[str, Any]:
    from kinsplit.wire import passage_row

    passages = [passage_row(passage, rank) for rank, passage in enumerate(answer.passages, 1)]
    return {"question": answer.question, "answer_in": answer.answer_in, "right": answer.right, "passages": passages}
