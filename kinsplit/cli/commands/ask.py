"""`kinsplit ask`: answer a question from the indexed documents."""

from __future__ import annotations

import warnings
from contextlib import closing
from itertools import chain
from typing import Unpack

import typer

from kinsplit.cli.command import SOME_FAILED
from kinsplit.cli.derive import from_options
from kinsplit.cli.options import STORE
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.terminal import Terminal
from kinsplit.keywords import AnswerKeywords


@from_options()
def ask(
    question: str,
    store: str = STORE,
    collection: str = "default",
    model: str | None = None,
    embedder: str | None = None,
    *,
    full: bool = False,
    explain: bool = False,
    plain: bool = False,
    terminal: Terminal,
    **options: Unpack[AnswerKeywords],
) -> None:
    """Answer a question from the passages found for it, with citations that are checked sentence by sentence.

    The answer is printed as it arrives, followed by its sources; --json prints it once it is complete.
    Exit code 1 means that the model failed: the answer is incomplete, or passages are quoted instead.

    Args:
        question (QUESTION): The question.
        model (SPEC): Language model: ollama:MODEL or openai:MODEL. Default: KINSPLIT_MODEL. Without one, the best
            sentences are quoted.
        embedder (SPEC): Embedding model that the collection was made with. Default: the one that it records, if that
            comes with kinsplit or is one of your Ollama.
        full: Show the whole text of each source, as the model read it.
    """
    from kinsplit.answering import Withheld, answer, collect
    from kinsplit.index import Index
    from kinsplit.stores.filter_check import FilterWarning

    # A notice of the answer says the same.
    silence = warnings.catch_warnings(action="ignore", category=FilterWarning)
    with silence, Index(store, collection=collection, embedder=embedder, must_exist=True) as opened:
        events = answer(opened, question, model, **options)
        with closing(events):
            if terminal.as_json:
                finished = collect(events)
            else:
                from kinsplit.cli.output.answer import AnswerWriter
                from kinsplit.cli.output.passages import QueryWords

                words = QueryWords(question, opened.bm25)
                writer = AnswerWriter(terminal, words, full=full, explain=explain, plain=plain)
                with spinner(terminal.aside, "Searching"):
                    writer.write(next(events))
                # A model takes a while to read the passages.
                with spinner(terminal.aside, "Reading"):
                    first = next(event for event in events if not isinstance(event, Withheld))
                finished = writer.write_all(chain((first,), events))
    if terminal.as_json:
        from kinsplit.wire import answer_row

        terminal.document(answer_row(finished))
    if any(notice.kind == "model_failed" for notice in finished.notices):
        raise typer.Exit(SOME_FAILED)
