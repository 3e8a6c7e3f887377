"""Tests of what can be quoted from a source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kinsplit.answering.checking import LONGEST, SourcePart, statements
from kinsplit.answering.run import quotation, quotes
from kinsplit.answering.values import Source
from kinsplit.embedding import create
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.spans import Span
from tests.answering.helpers import source

LECTURE = """\
# Lecture 3: Sorting

---

Merge sort divides the list. It takes n log n steps.

The steps are:

1. Cut the list in halves.
2. Sort each half by itself.
3. Merge the sorted halves.

What would happen with an empty list?

```python
def merge(left, right):

    return sorted(left + right)
```

| Sort | Steps |
| --- | --- |
| merge | n log n |

1. Write merge sort yourself.
2. How many steps does it take?
"""

SLIDES = """\
TYPES OF KNOWLEDGE

▪ declarative knowledge is statements of fact.
▪ imperative knowledge is a recipe or a way to do it.

Variables and memory
A name is bound to a value, and the value stays in memory as long
as there is a name that is bound to it.
"""


def texts(of: Source) -> list[list[str]]:
    return [[of.text[span.start : span.end] for span in group] for group in statements(of)]


def code_file(text: str) -> Source:
    made = source(1, text)
    return replace(made, best=replace(made.best, metadata={"file_type": "code"}))


def test_a_lecture_gives_sentences_lists_with_their_lead_in_code_and_tables() -> None:
    assert texts(source(1, LECTURE)) == [
        ["Merge sort divides the list.", "It takes n log n steps."],
        ["The steps are:\n\n1. Cut the list in halves.\n2. Sort each half by itself.\n3. Merge the sorted halves."],
        ["```python\ndef merge(left, right):\n\n    return sorted(left + right)\n```"],
        ["| Sort | Steps |\n| --- | --- |\n| merge | n log n |"],
    ]


def test_slides_give_bullets_and_no_headings() -> None:
    assert texts(source(1, SLIDES)) == [
        ["▪ declarative knowledge is statements of fact.", "▪ imperative knowledge is a recipe or a way to do it."],
        [SLIDES.partition("memory\n")[2].rstrip()],
    ]


def test_a_passage_that_begins_inside_code_gives_its_code_and_its_sentences() -> None:
    assert texts(source(1, "    return first + second\n```\nThe function adds two numbers.")) == [
        ["    return first + second\n```"],
        ["The function adds two numbers."],
    ]


def test_a_file_of_code_is_quoted_by_its_paragraphs_and_lines() -> None:
    code = code_file("def add(a, b):\n    return a + b\n\nprint(add(1, 2), 'is the sum')\n")
    first, second = texts(code)
    assert (first, second) == (["def add(a, b):\n    return a + b"], ["print(add(1, 2), 'is the sum')"])
    assert quotation(SourcePart(code, Span(0, len(first[0])))) == f"“{first[0]}”"


@pytest.mark.parametrize(
    "text", ["# Heading", "***", "The reasons are as follows:", "Is it so?", "- a\n- b?", "Course policies", ""]
)
def test_what_says_nothing_by_itself_is_no_statement(text: str) -> None:
    assert texts(source(1, text)) == []


def test_of_a_long_list_items_are_quoted() -> None:
    items = [f"- This is item number {number} of many." for number in range(LONGEST // 20)]
    assert texts(source(1, "They are:\n\n" + "\n".join(items))) == [items]


def test_long_quotations_end_between_lines_or_words() -> None:
    prose, table = "word " * 200, "| a | b |\n| --- | --- |\n" + "| first | second |\n" * 60
    assert quotation(SourcePart(source(1, prose), Span(0, len(prose)))).endswith("word …”")
    assert quotation(SourcePart(source(1, table), Span(0, len(table)))).endswith("| first | second | …”")


def test_the_answer_is_the_list_and_not_its_lead_in_or_heading() -> None:
    (best, *_) = quotes("Are the halves cut and merged in steps?", [source(1, LECTURE)], create("hash"), Bm25Embedder())
    assert best.text.startswith("The steps are:\n\n1. Cut")


def test_a_heading_is_quoted_if_there_is_nothing_else() -> None:
    (only,) = quotes("sorting", [source(1, "# Sorting")], create("hash"), Bm25Embedder())
    assert only.text == "# Sorting"
