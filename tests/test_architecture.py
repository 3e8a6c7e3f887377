"""The page on the architecture says what the code does."""

from __future__ import annotations

import inspect
import re
import sys
import threading
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from types import FrameType
from typing import NamedTuple

import pytest

from kinsplit import Index
from kinsplit.options import Ranked
from kinsplit.wire import passage_row
from tests.snippets import ROOT
from tests.test_imports import LAYERS

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def stops(heading: str) -> list[str]:
    """Return the functions in the numbered list under a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE)


class Step(NamedTuple):
    """A function of the package that was entered, and the one that called it, if any."""

    module: str
    name: str
    caller: str
    resumes: bool  # A generator, which another function may ask for its next item.

    @property
    def place(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def climbs(self) -> bool:
        """Whether it lies in a higher room than its caller."""
        rooms = list(LAYERS)
        called, calling = (module.partition(".")[0] for module in (self.module, self.caller or self.module))
        return rooms.index(called) > rooms.index(calling)


def module_of(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.removeprefix("kinsplit.") if name.startswith("kinsplit.") else ""


def trace(call: Callable[[], object]) -> list[Step]:
    """Return the functions of the package that a call enters, in the order in which each is first entered."""
    seen: dict[Step, None] = {}

    def enter(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (module := module_of(frame)):
            caller = frame.f_back
            while caller is not None and not module_of(caller):
                caller = caller.f_back
            resumes = bool(frame.f_code.co_flags & inspect.CO_GENERATOR)
            seen.setdefault(Step(module, frame.f_code.co_qualname, module_of(caller) if caller else "", resumes))

    before = sys.getprofile(), threading.getprofile()
    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])
    return list(seen)


class Reversing:
    """A reranker that likes the last text best."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        return [Ranked(index, float(index)) for index in range(len(texts))]


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Step]]:
    """The steps of each walk, by its heading, in an index that has been used before."""
    folder = tmp_path_factory.mktemp("notes")
    text = "# Owls\n\nOwls hunt at night.\n\n# Larks\n\nLarks sing at {}.\n"
    (folder / "birds.md").write_text(text.format("noon"))
    with Index("memory:", embedder="hash") as index:
        index.add(folder)
        index.search("Do larks sing?")
        (folder / "birds.md").write_text(text.format("dawn"))
        return {
            "How a file is indexed": trace(lambda: index.add(folder)),
            "How a question is answered": trace(lambda: index.search("When do larks sing?")),
            "reranked": trace(
                lambda: [passage_row(p) for p in index.search("When do larks sing?", rerank=Reversing())]
            ),
        }


@pytest.mark.parametrize("heading", ["How a question is answered", "How a file is indexed"])
def test_the_walks_are_those_of_the_code(walks: dict[str, list[Step]], heading: str) -> None:
    walked = [step.place for step in walks["reranked" if "question" in heading else heading]]
    listed = stops(heading)
    assert len(listed) >= 10
    at = -1
    for stop in listed:
        found = [place for place, name in enumerate(walked) if fnmatchcase(name, stop)]
        assert found, f"{heading}: {stop} is not entered"
        assert max(found) > at, f"{heading}: {stop} comes earlier"
        at = next(place for place in found if place > at)


#: Most modules that each walk enters.
MOST = {"How a question is answered": 28, "How a file is indexed": 53}
#: Functions of a higher room that a lower one calls back: what it was given, and what pydantic calls.
CALLED_BACK = {
    "options.ExpansionOptions._check_share",
    "options.SearchOptions._check",
    "indexing.indexer.Indexer.run.<locals>.show",
    "indexing.indexer._entries",
    "index.Index.add.<locals>.<lambda>",
    "index._find",
    "embedding.hashing.HashEmbedder.embed_query",
}


@pytest.mark.parametrize("heading", MOST)
def test_a_walk_enters_few_modules_and_never_climbs(walks: dict[str, list[Step]], heading: str) -> None:
    assert len({step.module for step in walks[heading]}) <= MOST[heading]
    assert {step.place for step in walks[heading] if step.climbs and not step.resumes} <= CALLED_BACK


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:kinsplit|tests|examples|docs)/[\w/.]+)`", PAGE))))
def test_a_file_that_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).exists()
