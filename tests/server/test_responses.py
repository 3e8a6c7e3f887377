from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kinsplit.server.models import SpanLocator, Utf16Offsets
from kinsplit.spans import Span

# Lone surrogates, both ends of the basic plane, and characters beyond it.
TEXTS = st.text(st.sampled_from("a\n é\ud800\udfff\uffff\U00010000😀\U0010ffff👨‍👩‍👧"), max_size=30)


@given(TEXTS)
def test_units_are_those_of_utf_16(text: str) -> None:
    units = Utf16Offsets(text)
    for at in range(len(text) + 1):
        # Each code point is encoded on its own, since two surrogates together would be read as one character.
        assert units.offset(at) == sum(len(c.encode("utf-16-le", "surrogatepass")) // 2 for c in text[:at])


def test_a_long_text_with_many_pairs() -> None:
    text = "ab😀" * 100_000
    units = Utf16Offsets(text)
    assert [units.offset(at) for at in (0, 2, 3, 150_000, 300_000)] == [0, 2, 4, 200_000, 400_000]


def test_spans_are_found_in_the_slices_that_a_text_was_joined_from() -> None:
    source = "😀 one. Left out. 😀 two."
    text = f"{source[:6]}\n\n{source[17:]}"
    locator = SpanLocator([Span(0, 6), Span(17, len(source))], text)
    (first, second) = locator.locate([Span(2, 20)])
    assert (text[first.start : first.end], text[second.start : second.end]) == ("one.", "😀 t")
    assert (first.utf16_start, first.utf16_end, second.utf16_start, second.utf16_end) == (3, 7, 9, 13)
    assert locator.locate([Span(8, 12)]) == []
