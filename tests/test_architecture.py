"""The page on the architecture says what the code does."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import FrameType

import pytest

from kinsplit import Index
from kinsplit.options import Ranked
from kinsplit.wire import passage_row
from tests.snippets import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def stops(heading: str) -> list[str]:
    """Return the functions in the numbered list under a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE)


def trace(call: Callable[[], object]) -> list[str]:
    """Return the functions of the package that a call enters, in the order in which each is first entered."""
    seen: dict[str, None] = {}

    def enter(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("kinsplit."):
            seen.setdefault(f"{module.removeprefix('kinsplit.')}.{frame.f_code.co_qualname}")

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


def test_the_walks_are_those_of_the_code(tmp_path: Path) -> None:
    (tmp_path / "birds.md").write_text("# Owls\n\nOwls hunt at night.\n\n# Larks\n\nLarks sing at dawn.\n")
    with Index("memory:", embedder="hash") as index:
        indexed = trace(lambda: index.add(tmp_path))
        asked = trace(lambda: [passage_row(each) for each in index.search("When do larks sing?", rerank=Reversing())])
    for heading, walked in (("How a question is answered", asked), ("How a file is indexed", indexed)):
        listed = stops(heading)
        assert len(listed) >= 10
        at = -1
        for stop in listed:
            found = [place for place, name in enumerate(walked) if fnmatchcase(name, stop)]
            assert found, f"{heading}: {stop} is not entered"
            assert max(found) > at, f"{heading}: {stop} comes earlier"
            at = next(place for place in found if place > at)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:kinsplit|tests|examples|docs)/[\w/.]+)`", PAGE))))
def test_a_file_that_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).exists()
