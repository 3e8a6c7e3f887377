"""Enumerators and closing marks, recognised by their form and by what stands before them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.text.marks import (
    begins_with_closing_mark,
    ends_with_enumerator,
    item_starts,
    without_closing_marks,
)
from tests.generators import texts

# fmt: off
ENUMERATORS = [
    "It ends here. 2.", "It ends here.\n2.1.", "Rent is late. 12.3(b)", "So it goes. (a)", "So it was said. iv)",
    "It was him.\nIV.", "The tenant shall:\n(a)", "or to leave;\nb)", "to leave; and ii.", "TERMINATION\n7.2.",
    "All of it.\n\n3.", "**2.**", "Article 5.", "CHAPTER I.", "§ 3 Abs. 2", "第3条", "完。第十二条", "二、",
    "• 1.", "１．", "Buy milk.\n•", "2.", "§ 3", "Art. 5", "## 2.1.", "- 1.", "Is it? 3.", "It is: 1.",
    "すべて。２．", "Closing    22  2.05.", "Fees 9 Section 3.", "Item 1A.", "Step 2.", "§3", "Art.5", "1.1(a)(ii)",
]
LOOK_ALIKES = [
    "It was in 1999.", "He won 3.", "They won 12.", "He wore No. 5.", "Dr.\nA.", "See Fig. 3.", "It is version 2.1.",
    "pursuant to Section 7.12.", "as set forth in Article IV.", "He lived in house\n12.", "See (a)", "by Smith, A.",
    "So did I.", "It was plan B.", "Nach § 3", "It costs approx. 5.", "at 5 p.m.", "the end -", "Wow!*", "He is 9.",
    "It was so.", "It is in 2019.", "Done. 1999.", "So be it. Mix.", "A pie\n3.14", "Merger Sub II.", "It is: 3.", "8",
    "mix.",
]
MARKS = [
    "[1]", "[2][3]", "[1, 2]", "[1]–[3]", "[1–3]", "[^4]", "[^note]", "[citation needed]", "[note 2]", "[a]", "¹²", "†",
    "‡", "*", "**", "😀", "👍🏽", "👩‍👩‍👧‍👦", "🇩🇪", " 😀", " [1]", ")[1]", "”[1]", "[1]”", "」", "）", "】",
    "[[1]](https://a.org/b)",
]
SENTENCES = [
    ("End. ", "[Note: x] It is."), ("End. ", "(See 3.) It is."), ("End.", "“No.” It is."), ("End. ", "*Now* it is."),
    ("End.\n", "[1] Smith 2010."), ("[1] End. ", "[2] Smith."), ("End.\n", "😀 Smile."), ("😀 End. ", "👍 Smile."),
    ("Page", "[1] of 2."), ("End. ", "[1] says so."), ("end.", "*Now* it is."), ("So ", "![1](a.png) is."),
    ("a,", "* b"), ("End. ", "© 2020 Owls."), ("x", "_y"), ("", "[1] Smith."), ("End. ", "「はい。」"),
]
# fmt: on


@pytest.mark.parametrize("ended", ENUMERATORS)
def test_an_enumerator_of_what_follows_is_recognised(ended: str) -> None:
    text = f"{ended} It goes on."
    assert ends_with_enumerator(text, 0, len(ended))
    assert not ends_with_enumerator(text, 0, len(text))
    assert not ends_with_enumerator(ended, 0, len(ended)), "since nothing follows that it could begin"


@pytest.mark.parametrize("ended", LOOK_ALIKES)
def test_what_looks_like_an_enumerator_may_be_the_end_of_a_sentence(ended: str) -> None:
    assert not ends_with_enumerator(f"{ended} It goes on.", 0, len(ended))


def test_an_enumerator_begins_another_paragraph_only_from_a_line_of_its_own() -> None:
    assert ends_with_enumerator("It ends.\n\nSection 5.18\n\nTaxes are paid.", 0, 22)
    assert not ends_with_enumerator("Taxes 60 Section 5.18\n\nThey are paid.", 0, 21)


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("stop", [".", "!", "?", "。", "។", "۔", "…"])
def test_marks_close_the_sentence_before_them(mark: str, stop: str) -> None:
    text = f"Dogs bark{stop}{mark} Cats purr."
    at = len("Dogs bark") + 1
    begin = at + len(mark) - len(mark.lstrip())
    assert begins_with_closing_mark(text, begin, len(text))
    hidden = without_closing_marks(text, set(text))
    assert len(hidden) == len(text)
    assert hidden[: at + len(mark)].rstrip(" )”") == text[:at]
    assert hidden[at + len(mark) :] == " Cats purr."


@pytest.mark.parametrize(("before", "begun"), SENTENCES)
def test_marks_may_begin_a_sentence(before: str, begun: str) -> None:
    text = before + begun
    assert not begins_with_closing_mark(text, len(before), len(text))
    assert without_closing_marks(text, set(text)).startswith(before + begun[:3])


def test_lines_begin_with_items_behind_a_stop_or_next_to_each_other() -> None:
    def found(text: str) -> list[str]:
        return [text[at:].split("\n")[0] for at in item_starts(text)]

    assert found("The tenant shall:\n(a) pay;\n  (b) stay; and\n(c) leave") == [
        "(a) pay;",
        "(b) stay; and",
        "(c) leave",
    ]
    assert found("Contents\n1. What\n2. Why\nand how\n3. When") == ["1. What", "2. Why"]
    assert found("- milk\n- eggs\nText\n\nMore") == ["- eggs", "More"]
    assert found("It was in\n1999. He was\n12. Then a\nman\n- who was old - came\noften\n2.5 times") == []
    assert found("He met Dr.\nA. Smith and\nhis wife (see\n(a) here) in\nthe USA\nD. Day said") == []
    assert found("**Scope**\n1. It is\nhere,\n(b) there,\nand,\n§ 4 said") == ["1. It is", "(b) there,"]
    assert found("SCOPE\n2.1 It is.\n§ 3 So.\nArt. 4 No.\n• Yes") == ["2.1 It is.", "§ 3 So.", "Art. 4 No.", "• Yes"]


@given(texts(), st.integers(0, 60), st.integers(0, 60))
def test_any_part_of_any_text_is_judged(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    assert ends_with_enumerator(text, start, end) in {True, False}
    assert begins_with_closing_mark(text, start, end) in {True, False}
    hidden = without_closing_marks(text, set(text))
    assert all(new in {old, " ", "a"} for old, new in zip(text, hidden, strict=True))
    assert item_starts(text) == sorted(set(item_starts(text)))
