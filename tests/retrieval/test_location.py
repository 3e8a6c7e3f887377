"""The line that says where a text is: course, title, section and pages or time."""

from __future__ import annotations

from typing import Any

import pytest

from kinsplit import Document, Index
from kinsplit.answering import ask
from kinsplit.chunk import Beside, Heading
from kinsplit.integrations.langchain import KinsplitRetriever as LangChainRetriever
from kinsplit.integrations.llama_index import KinsplitRetriever as LlamaIndexRetriever
from kinsplit.retrieval.passage import locate, location_of
from kinsplit.wire import answer_row, passage_row

COURSE = {"course": "6.0001", "title": "Branching"}


@pytest.mark.parametrize(
    ("metadata", "beside", "pages", "times", "expected"),
    [
        (COURSE, Beside(("Loops", "While \n loops")), (3, 4), None, "6.0001 > Branching > Loops > While loops, p. 3-4"),
        (COURSE, Beside(("Branching", "Loops")), (3, 3), None, "6.0001 > Branching > Loops, p. 3"),
        (COURSE, Beside(), None, (59.0, 3725.9), "6.0001 > Branching, 0:59-1:02:05"),
        ({"course": "6.0001"}, Beside(("Loops",)), None, None, "6.0001 > Loops"),
        ({"course": "6.0001", "file_path": "c/lec1.pdf"}, Beside(), (1, 1), None, "6.0001 > lec1.pdf, p. 1"),
        ({}, Beside(note="a.py\nclass Stack > def push"), None, None, "a.py > class Stack > def push"),
        (
            {},
            Beside(("Prices",), header="| a | b |\n|---|---|", language="python", speaker="Ann"),
            None,
            None,
            "Prices",
        ),
        ({}, Beside(), None, None, "a.py"),
        ({"course": "", "title": None}, Beside(), None, None, "a.py"),
    ],
)
def test_a_line_says_where_a_text_is(
    metadata: dict[str, Any], beside: Beside, pages: Any, times: Any, expected: str
) -> None:
    assert locate("c/a.py", metadata, beside, pages, times) == expected


def test_every_door_says_where_a_hit_and_a_passage_is() -> None:
    text = "Loops\n\nA loop repeats its body while a condition holds."
    document = Document("lec2.pdf", text, COURSE, pages=(0,), headings=(Heading(0, 5, 1, "Loops"),))
    expected = "6.0001 > Branching > Loops, p. 1"
    with Index("memory:", embedder="hash") as index:
        index.add(document)
        (passage,) = index.search("What repeats its body?")
        row = passage_row(passage)
        answer = ask(index, "What repeats its body?")
        chained = LangChainRetriever(index).invoke("What repeats its body?")
        nodes = LlamaIndexRetriever(index).retrieve("What repeats its body?")

    assert passage.location == location_of(passage.best.chunk) == expected
    assert [row["location"], row["hits"][0]["location"]] == [expected, expected]
    assert answer_row(answer)["sources"][0]["location"] == expected
    assert chained[0].metadata["location"] == nodes[0].node.metadata["location"] == expected
